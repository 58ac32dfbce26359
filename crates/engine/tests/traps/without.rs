//! Whether a gang would fit if others were away, as preemption asks.

use super::notation;
use std::sync::Arc;
use trellis_engine::{Options, Outcome, Snapshot, fits_without, plan, plan_on};

/// Plans, asks for the last gang without the gangs named, and compares: the nodes it would take, or nothing.
#[track_caller]
fn check(cluster: &str, gangs: &str, away: &[&str], expected: &str) {
    let problem = notation::problem(cluster, gangs);
    let last = problem.gangs.len() - 1;
    let mut snapshot = Snapshot::with_gangs(Arc::new(problem.cluster.clone()), &problem.gangs);
    let planned = plan_on(&mut snapshot, &problem.gangs, Options::default());
    assert!(planned.decisions[last].outcome != Outcome::Placed, "{planned:?}");
    let number = |name: &&str| problem.gangs.iter().position(|gang| gang.id.name == **name).expect("a gang");
    let victims: Vec<usize> = away.iter().map(number).collect();
    let ask = |snapshot: &mut Snapshot, victims: &[usize]| {
        fits_without(snapshot, &problem.gangs, &planned, last, victims, Options::default())
    };
    let found = ask(&mut snapshot, &victims);
    let node = |node: u32| problem.cluster.nodes[node as usize].name.as_str();
    let mut nodes: Vec<&str> = found.iter().flatten().map(|(_, place)| node(place.node)).collect();
    nodes.sort_unstable();
    assert_eq!(nodes.join(" "), expected, "{problem}");
    // The snapshot is as it was: nothing fits without anybody gone, and the same answer comes again.
    assert_eq!(ask(&mut snapshot, &[]), None);
    assert_eq!(ask(&mut snapshot, &victims), found);
    // What it says is true of the problem without them.
    let mut rest = problem.clone();
    let gone = |name: &str| away.contains(&name);
    rest.gangs.retain(|gang| !gone(&gang.id.name));
    let again = plan(&rest.cluster, &rest.gangs, Options::default());
    let outcome = &again.decisions[rest.gangs.len() - 1].outcome;
    assert_eq!(*outcome == Outcome::Placed, found.is_some(), "{outcome:?}");
}

const RACKS: &str = "topology t: rack host
                     r1/*: a1 a2 gpu=1
                     r2/*: b1 b2 gpu=1";

#[test]
fn as_many_as_are_needed() {
    let gangs = "low1 priority=-1: 1 x gpu=1 @a1 + 1 x gpu=1 @a2
                 low2 priority=-1: 1 x gpu=1 @b1
                 gang required=rack: 2 x gpu=1";
    check(RACKS, gangs, &["low1"], "a1 a2");
    check(RACKS, gangs, &["low2"], "b1 b2");
    check(RACKS, gangs, &[], "");
}

#[test]
fn members_stay_where_they_are() {
    let gangs = "low1 priority=-1: 1 x gpu=1 @a2
                 low2 priority=-1: 1 x gpu=1 @b1
                 gang required=rack: 1 x gpu=1 @a1 + 1 x gpu=1";
    check(RACKS, gangs, &["low1"], "a2");
    check(RACKS, gangs, &["low2"], "");
    let gangs = "low1 priority=-1: 1 x gpu=1 @a1 + 1 x gpu=1 @a2
                 gang required=rack: 1 x gpu=1 + 1 x gpu=1 ~a1";
    check(RACKS, gangs, &["low1"], "a1");
}

#[test]
fn what_is_held_against_it_stays_held() {
    let gangs = "low priority=-1: 1 x gpu=1 @a1
                 equal min=0: 0 x gpu=1 + 1 x gpu=1 ~a2 + 1 x gpu=1 ~b1
                 gang required=rack: 2 x gpu=1";
    check(RACKS, gangs, &["low"], "");
    check(RACKS, gangs, &["low", "equal"], "a1 a2");
}

#[test]
fn a_scaled_gang_needs_its_base() {
    let gangs = "base required=rack: 1 x gpu=1 @a1
                 low priority=-1: 1 x gpu=1 @a2
                 gang base=base: 1 x gpu=1";
    check(RACKS, gangs, &["low"], "a2");
}
