//! Which of several placements is the better one, and what belongs to the minimum.

use super::check;

#[test]
fn room_for_all_four_beats_room_for_the_minimum_of_two() {
    // r1 is the tighter one for the minimum, and comes first by name.
    check(
        "topology t: rack host
         r1/*: a1 a2 gpu=1
         r2/*: b1..b5 gpu=1",
        "gang required=rack min=2: 4 x gpu=1",
        "gang: 4 placed
         gang at rack: r2",
    );
    check(
        "topology t: rack host
         r1/*: a1 gpu=1
         r2/*: b1..b3 gpu=1",
        "gang required=rack min=2: 4 x gpu=1",
        "gang: 3 placed
         gang at rack: r2",
    );
}

#[test]
fn fewest_racks_then_fewest_hosts() {
    // One rack takes all on four hosts; two hosts in two racks would do as well.
    check(
        "topology t: rack host
         r1/*: a1 gpu=2
         r2/*: b1..b4 gpu=1
         r3/*: c1 gpu=2",
        "gang preferred=rack: 4 x gpu=1",
        "gang: 4 placed
         gang at rack: r2",
    );
    // The root's racks count before the leaf's hosts.
    check(
        "topology t: rack host
         r1/*: a1 gpu=2
         r2/*: b1..b4 gpu=1
         r3/*: c1 gpu=2",
        "gang preferred=rack
         - g1 preferred=host: 4 x gpu=1",
        "gang: 4 placed
         gang at rack: r2
         g1 at host: 4",
    );
    // In one rack the fewest hosts.
    check(
        "topology t: rack host
         r1/*: a1..a4 gpu=1
         r1/*: a5 gpu=3
         r1/*: a6 gpu=2",
        "gang preferred=host: 4 x gpu=1",
        "gang: 4 placed
         gang at host: 2",
    );
    // Equal hosts, fewer racks: ties go to the wider level.
    check(
        "topology t: rack host
         r1/*: a1 gpu=2
         r2/*: b1 b2 gpu=2",
        "gang preferred=host: 4 x gpu=1",
        "gang: 4 placed
         gang on: b1 b2",
    );
}

#[test]
fn a_child_beyond_the_minimum_is_placed_whole_or_not_at_all() {
    let gang = "gang min=1
                - g1: 2 x gpu=1
                - g2: 2 x gpu=1";
    check("topology t: rack host\n r/*: a1..a3 gpu=1", gang, "gang: 2 placed");
    check("topology t: rack host\n r/*: a1..a4 gpu=1", gang, "gang: 4 placed");
    check("topology t: rack host\n r/*: a1 gpu=1", gang, "gang: waits");
}

#[test]
fn of_optional_children_those_with_most_members() {
    // g1 and g2 together have fewer members than g3 alone.
    check(
        "topology t: rack host
         r/*: a1..a5 gpu=1",
        "gang min=1
         - g1: 2 x gpu=1
         - g2: 2 x gpu=1
         - g3: 5 x gpu=1",
        "gang: 5 placed
         g3 at host: 5",
    );
}

#[test]
fn a_child_that_cannot_be_placed_does_not_count_to_the_minimum() {
    check(
        "topology t: rack host
         r1/*: a1 a2 gpu=1
         r2/*: b1 b2 gpu=1",
        "gang min=2
         - g1 required=rack: 3 x gpu=1
         - g2 required=rack: 2 x gpu=1
         - g3 required=rack: 2 x gpu=1",
        "gang: 4 placed
         g1 at rack: 0
         g2 at rack: 1
         g3 at rack: 1",
    );
}

#[test]
fn a_clique_packed_by_numa_is_in_one_zone_of_one_host() {
    // b1 has as much, but not in one zone.
    check(
        "topology t: rack host numa
         r/*: a1 gpu=4 numa(gpu=4) numa(gpu=0)
         r/*: b1 gpu=8 numa(gpu=2) numa(gpu=2)",
        "gang required=numa: 3 x gpu=1",
        "gang: 3 placed
         gang at numa: a1.0",
    );
    // What is free on the node counts as well.
    check(
        "topology t: rack host numa
         r/*: a1 gpu=4 numa(gpu=4) numa(gpu=4)
         occupant a1 gpu=2",
        "gang required=numa: 3 x gpu=1",
        "gang: waits",
    );
    // Preferred only: where there are no zones, the node will do.
    check(
        "topology t: rack host numa
         r/*: a1 gpu=2
         r/*: b1 gpu=2 numa(gpu=1) numa(gpu=1)",
        "gang preferred=numa: 3 x gpu=1",
        "gang: 3 placed
         gang at numa: 2",
    );
}

#[test]
fn two_cliques_share_the_zones_of_a_host() {
    check(
        "topology t: rack host numa
         r/*: a1 gpu=8 numa(gpu=4) numa(gpu=4)",
        "gang required=host
         - g1 required=numa: 3 x gpu=1
         - g2 required=numa: 3 x gpu=1
         - g3 required=numa: 2 x gpu=1",
        "gang: waits",
    );
    check(
        "topology t: rack host numa
         r/*: a1 gpu=8 numa(gpu=4) numa(gpu=4)",
        "gang required=host
         - g1 required=numa: 2 x gpu=1
         - g2 required=numa: 4 x gpu=1
         - g3 required=numa: 2 x gpu=1",
        "gang: 8 placed
         g1 at numa: 1
         g2 at numa: 1
         g3 at numa: 1",
    );
}
