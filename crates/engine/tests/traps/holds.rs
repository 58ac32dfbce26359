//! Members that were lost and come back, and places that are held for them.

use super::{check, notation};
use std::sync::Arc;
use trellis_engine::{Options, Snapshot, explain_on, plan_on};

#[test]
fn a_returning_pod_goes_back_into_its_rack_although_another_is_emptier() {
    let cluster = "topology t: rack host
                   r1/*: a1 a2 gpu=2
                   r2/*: b1..b8 gpu=8";
    // One of two is lost, or both at once.
    check(cluster, "gang required=rack: 1 x gpu=2 + 1 x gpu=2 @a1 + 1 x gpu=2 ~a2", "gang: 1 placed\n gang on: a1 a2");
    check(cluster, "gang required=rack: 2 x gpu=2 + 1 x gpu=2 ~a1 + 1 x gpu=2 ~a2", "gang: 2 placed\n gang on: a1 a2");
    // Preferred, or by no level at all: it goes where it was as long as there is room.
    check(cluster, "gang preferred=rack: 2 x gpu=2 + 1 x gpu=2 ~a1 + 1 x gpu=2 ~a2", "gang on: a1 a2");
    check(cluster, "gang: 2 x gpu=2 + 1 x gpu=2 ~a1 + 1 x gpu=2 ~a2", "gang on: a1 a2");
}

#[test]
fn a_returning_pod_waits_when_its_rack_is_full() {
    check(
        "topology t: rack host
         r1/*: a1 gpu=2
         r2/*: b1..b8 gpu=8
         occupant a1 gpu=1",
        "gang required=rack: 1 x gpu=2 + 1 x gpu=2 ~a1",
        "gang: waits",
    );
}

#[test]
fn the_very_place_is_taken_if_others_are_no_better() {
    check(
        "topology t: rack host
         r1/*: a1..a4 gpu=2",
        "gang required=rack: 1 x gpu=2 + 1 x gpu=2 @a2 + 1 x gpu=2 ~a4",
        "gang on: a2 a4",
    );
}

#[test]
fn a_lower_or_equal_gang_does_not_take_a_held_place() {
    // The owner has nothing that waits: its pod is not there yet.
    for priority in [0, -1] {
        check(
            "topology t: rack host
             r1/*: a1 a2 gpu=1",
            &format!("owner required=rack min=1: 1 x gpu=1 @a1 + 1 x gpu=1 ~a2\n other priority={priority}: 1 x gpu=1"),
            "other: waits",
        );
    }
    // Room beside the place is for everybody.
    check(
        "topology t: rack host
         r1/*: a1 a2 gpu=2",
        "owner required=rack min=1: 1 x gpu=2 @a1 + 1 x gpu=1 ~a2
         other: 1 x gpu=1",
        "other: 1 placed",
    );
}

#[test]
fn a_higher_gang_takes_a_held_place() {
    check(
        "topology t: rack host
         r1/*: a1 a2 gpu=1",
        "owner required=rack min=1: 1 x gpu=1 @a1 + 1 x gpu=1 ~a2
         other priority=1: 1 x gpu=1",
        "other: 1 placed",
    );
    // And then there is none left for those between.
    check(
        "topology t: rack host
         r1/*: a1 a2 gpu=1",
        "owner required=rack min=1: 1 x gpu=1 @a1 + 1 x gpu=1 + 1 x gpu=1 ~a2
         other priority=1: 1 x gpu=1
         third: 1 x gpu=1",
        "other: 1 placed
         owner: 0 placed
         third: waits",
    );
}

#[test]
fn a_place_is_held_against_older_gangs_too() {
    // The other is planned first, and would take the place.
    check(
        "topology t: rack host
         r1/*: a1 a2 gpu=1",
        "another: 1 x gpu=1
         owner required=rack: 1 x gpu=1 @a1 + 1 x gpu=1 + 1 x gpu=1 ~a2",
        "another: waits
         owner: 1 placed
         owner on: a1 a2",
    );
}

#[test]
fn several_lost_at_once_return_inside_nested_constraints() {
    // Every replica has lost its leader or all of its workers; the racks of a stay theirs though c is free.
    check(
        "topology t: block rack host
         a/r1/*: a1..a4 gpu=8
         a/r2/*: b1..b4 gpu=8
         c/r3/*: c1..c9 gpu=8",
        "gang required=block
         - one required=rack
         -- leader1: 1 x gpu=1 + 1 x gpu=1 ~a4
         -- workers1: 1 x gpu=8 @a1 + 1 x gpu=8 @a2 + 1 x gpu=8 @a3
         - two required=rack
         -- leader2: 1 x gpu=1 @b1
         -- workers2: 3 x gpu=8 + 1 x gpu=8 ~b2 + 1 x gpu=8 ~b3 + 1 x gpu=8 ~b4
         another required=rack: 2 x gpu=8",
        "gang: 4 placed
         leader1 at rack: a/r1
         workers2 on: b2 b3 b4
         another at rack: c/r3",
    );
}

#[test]
fn a_whole_gang_that_was_lost_returns_to_its_domain() {
    let cluster = "topology t: rack host
                   r1/*: a1..a4 gpu=1
                   r2/*: b1..b4 gpu=1
                   r3/*: c1..c9 gpu=1";
    let gang = "gang required=rack: 3 x gpu=1 + 1 x gpu=1 ~b1 + 1 x gpu=1 ~b2 + 1 x gpu=1 ~b3";
    check(cluster, gang, "gang on: b1 b2 b3");
    // Also when one of its nodes has no room any more.
    check(&format!("{cluster}\n occupant b2 gpu=1"), gang, "gang on: b1 b3 b4");
    // Or it waits.
    check(&format!("{cluster}\n occupant b2 gpu=1\n occupant b4 gpu=1"), gang, "gang: waits");
}

#[test]
fn holds_in_two_domains_of_a_required_level_wait() {
    check(
        "topology t: rack host
         r1/*: a1 gpu=1
         r2/*: b1 gpu=1",
        "gang required=rack min=1: 1 x gpu=1 + 1 x gpu=1 ~a1 + 1 x gpu=1 ~b1",
        "gang: waits",
    );
}

#[test]
fn a_scaled_gang_is_anchored_by_the_holds_of_its_base() {
    // Nothing of the base has to run, and nothing does; r1 would be the tighter rack.
    check(
        "topology t: rack host
         r1/*: a1 a2 gpu=1
         r2/*: b1..b4 gpu=1",
        "base required=rack min=0: 0 x gpu=1 + 1 x gpu=1 ~b1
         scaled base=base: 2 x gpu=1",
        "scaled: 2 placed
         scaled on: b2 b3",
    );
    // Both are lost, and both come back.
    check(
        "topology t: rack host
         r1/*: a1..a3 gpu=1
         r2/*: b1..b4 gpu=1",
        "base required=rack: 1 x gpu=1 + 1 x gpu=1 ~b1
         scaled base=base: 2 x gpu=1 + 1 x gpu=1 ~b2 + 1 x gpu=1 ~b3",
        "base on: b1
         scaled on: b2 b3",
    );
    // A hold is no pod: the base waits, and what is scaled from it waits too.
    check(
        "topology t: rack host
         r1/*: a1..a4 gpu=1",
        "base required=rack min=1: 0 x gpu=1 + 1 x gpu=1 ~a1
         scaled base=base: 1 x gpu=1",
        "base: waits
         scaled: waits",
    );
}

#[test]
fn held_room_that_is_given_back_goes_to_those_who_waited() {
    // The owner has grown and comes back to a2; a1 is free then for the gang that came before it and needs its disk.
    check(
        "topology t: rack host
         r1/*: a1 gpu=1 disk=1
         r1/*: a2 gpu=2",
        "another: 1 x gpu=1,disk=1
         owner required=rack: 1 x gpu=2 + 1 x gpu=1 ~a1",
        "owner on: a2
         another on: a1",
    );
}

#[test]
fn a_reservation_is_no_bar_to_the_owner_of_a_hold() {
    // The reserving gang is ahead and would close both nodes.
    check(
        "topology t: rack host
         r1/*: a1 a2 gpu=1",
        "ahead reserve=true: 2 x gpu=1
         owner: 1 x gpu=1 @a1 + 1 x gpu=1 + 1 x gpu=1 ~a2",
        "ahead: waits
         owner on: a1 a2",
    );
}

#[test]
fn held_room_is_told_as_held() {
    let problem = notation::problem(
        "topology t: rack host
         r1/*: a1 a2 gpu=1",
        "owner required=rack min=1: 1 x gpu=1 @a1 + 1 x gpu=1 ~a2
         other required=rack: 1 x gpu=1",
    );
    let mut snapshot = Snapshot::with_gangs(Arc::new(problem.cluster.clone()), &problem.gangs);
    let before = format!("{snapshot:?}");
    let plan = plan_on(&mut snapshot, &problem.gangs, Options::default());
    let told = explain_on(&mut snapshot, &problem.gangs, &plan, Options::default());
    let holders = &told[1].domains[0].holders;
    assert_eq!((holders[0].name.name.as_str(), holders[0].pods, holders[0].held), ("owner", 1, 1));
    let text = &told[1].text;
    assert!(text.contains("held by default/owner with 1 place held for its returning pods"), "{text}");
    assert!(before.contains("free: [0, 99, 1, 100]"), "{before}");
    assert!(format!("{snapshot:?}").contains("free: [0, 99, 1, 100]"), "holds are charged to nobody in the end");
}

#[test]
fn only_those_whose_leaving_would_help_are_told_as_holders() {
    let mut problem = notation::problem(
        "topology t: rack host
         r1/*: a1 gpu=1 cpu=4
         r1/*: a2 gpu=1 cpu=4
         r1/*: a3 gpu=0 cpu=4",
        "closed: 1 x gpu=1,cpu=1 @a1
         useful: 1 x gpu=1,cpu=1 @a2
         plain: 1 x cpu=1 @a2
         small: 1 x cpu=4 @a3
         waits required=rack: 1 x gpu=1,cpu=1",
    );
    // The waiting pod may not go to the first node; the last has no device even when it is empty.
    problem.cluster.eligibility[0].allowed.set(0, false);
    let mut snapshot = Snapshot::with_gangs(Arc::new(problem.cluster.clone()), &problem.gangs);
    let plan = plan_on(&mut snapshot, &problem.gangs, Options::default());
    let told = explain_on(&mut snapshot, &problem.gangs, &plan, Options::default());
    let holders: Vec<&str> = told[4].domains[0].holders.iter().map(|holder| holder.name.name.as_str()).collect();
    assert_eq!(holders, ["useful"]);
    assert!(told[4].text.contains("held by default/useful."), "{}", told[4].text);
}
