//! The traps of placers that take one group after another and never look back.

use super::check;

#[test]
fn siblings_that_fit_only_in_one_order() {
    // 3 and 3 into the rack of 6, 4 into the rack of 4; a 3 in the rack of 4 leaves no room for the 4.
    check(
        "topology t: rack host
         r4/*: a1..a4 gpu=1
         r6/*: b1..b6 gpu=1",
        "gang
         - g1 required=rack: 3 x gpu=1
         - g2 required=rack: 3 x gpu=1
         - g3 required=rack: 4 x gpu=1",
        "gang: 10 placed
         g1 at rack: r6
         g2 at rack: r6
         g3 at rack: r4",
    );
}

#[test]
fn a_sibling_too_many_for_the_racks() {
    check(
        "topology t: rack host
         r4/*: a1..a4 gpu=1
         r5/*: b1..b5 gpu=1",
        "gang
         - g1 required=rack: 3 x gpu=1
         - g2 required=rack: 3 x gpu=1
         - g3 required=rack: 3 x gpu=1",
        "gang: waits",
    );
}

#[test]
fn required_level_equal_to_what_the_parent_fixed() {
    check(
        "topology t: zone rack host
         z/r1/*: a1 a2 gpu=1
         z/r2/*: b1..b3 gpu=1",
        "gang required=rack
         - g1 required=rack: 2 x gpu=1
         - g2 required=rack: 1 x gpu=1",
        "gang: 3 placed
         gang at rack: z/r2",
    );
}

#[test]
fn required_level_wider_than_what_the_parent_fixed() {
    check(
        "topology t: zone rack host
         z1/r1/*: a1 a2 gpu=1
         z2/r1/*: b1..b3 gpu=1",
        "gang required=rack
         - g1 required=zone: 2 x gpu=1
         - g2 required=zone: 1 x gpu=1",
        "gang: 3 placed
         gang at rack: z2/r1",
    );
}

#[test]
fn one_zone_with_one_rack() {
    // The lowest common domain of all nodes is narrower than the level asked for.
    for level in ["zone", "block", "rack"] {
        check(
            "topology t: zone block rack host
             z/b/r/*: a1..a3 gpu=4",
            &format!("gang required={level}\n - g1 required={level}: 3 x gpu=4"),
            "gang: 3 placed
             gang at rack: z/b/r",
        );
    }
}

#[test]
fn pods_of_8_and_1_gpus_on_nodes_of_8_and_4() {
    // The small pods must keep off the one node that takes the large one.
    check(
        "topology t: rack host
         r/*: a1 gpu=8
         r/*: b1 gpu=4",
        "gang required=rack
         - large: 1 x gpu=8
         - small: 4 x gpu=1",
        "gang: 5 placed
         large on: a1
         small on: b1",
    );
    // The same within one leaf, whichever pod comes first.
    check(
        "topology t: rack host
         r/*: a1 gpu=8
         r/*: b1 gpu=4",
        "gang required=rack: 4 x gpu=1 + 1 x gpu=8",
        "gang: 5 placed
         gang on: a1 b1",
    );
}

#[test]
fn the_sum_over_a_rack_is_no_room() {
    check(
        "topology t: rack host
         r/*: a1..a4 gpu=3",
        "gang required=rack: 3 x gpu=4",
        "gang: waits",
    );
}

#[test]
fn an_unconstrained_sibling_does_not_steal_the_constrained_ones_nodes() {
    check(
        "topology t: rack host
         r1/*: a1 a2 gpu=1
         r2/*: b1 gpu=1
         r3/*: c1 gpu=1",
        "gang
         - anywhere: 2 x gpu=1
         - together required=rack: 2 x gpu=1",
        "gang: 4 placed
         together on: a1 a2
         anywhere on: b1 c1",
    );
}

#[test]
fn cpu_only_leader_beside_gpu_workers() {
    // The GPU nodes of r1 have no processor left for the leader; r2 has a node for it.
    check(
        "topology t: rack host
         r1/*: a1..a4 gpu=8,cpu=4
         r2/*: b1..b4 gpu=8,cpu=4
         r2/*: b5 cpu=2",
        "gang required=rack
         - leader: 1 x cpu=2
         - worker: 4 x gpu=8,cpu=4",
        "gang: 5 placed
         leader on: b5
         worker on: b1 b2 b3 b4",
    );
}

#[test]
fn preferred_with_unlabelled_nodes() {
    // Nodes without the label are legal; each is a domain of its own.
    check(
        "topology t: rack host
         r1/*: a1 gpu=1
         -: u1 u2 gpu=1",
        "gang preferred=rack: 3 x gpu=1",
        "gang: 3 placed
         gang at rack: node:u1 node:u2 r1",
    );
    // And are not used where a rack does.
    check(
        "topology t: rack host
         -: a1 a2 gpu=1
         r1/*: b1 b2 gpu=1",
        "gang preferred=rack: 2 x gpu=1",
        "gang: 2 placed
         gang at rack: r1",
    );
    // A required level is kept by labels alone.
    check(
        "topology t: rack host
         -: u1 gpu=4",
        "gang required=rack: 2 x gpu=1",
        "gang: waits",
    );
}

#[test]
fn equal_names_in_different_parents() {
    // Four nodes are in racks called r1, but no two of them in one rack with a third.
    let cluster = "topology t: zone rack host
                   z1/r1/*: a1 a2 gpu=1
                   z2/r1/*: b1 b2 gpu=1";
    check(cluster, "gang required=rack: 3 x gpu=1", "gang: waits");
    check(cluster, "gang preferred=rack: 4 x gpu=1", "gang: 4 placed\n gang at rack: z1/r1 z2/r1");
}

#[test]
fn two_topologies_in_one_gang() {
    // Of the racks only r1 and r2 share enough nodes with one fabric.
    check(
        "topology fabric: leaf host
         topology racks: rack host
         f1/*, r1/*: a1 a2 gpu=1
         f1/*, r2/*: b1 gpu=1
         f2/*, r2/*: c1 gpu=1
         f2/*, r3/*: d1 gpu=1",
        "gang required=fabric/leaf
         - g1 required=racks/rack: 2 x gpu=1
         - g2 required=racks/rack: 1 x gpu=1",
        "gang: 3 placed
         gang at fabric/leaf: f1
         g1 on: a1 a2
         g2 on: b1",
    );
    check(
        "topology fabric: leaf host
         topology racks: rack host
         f1/*, r1/*: a1 gpu=1
         f2/*, r1/*: b1 gpu=1",
        "gang required=fabric/leaf
         - g1 required=racks/rack: 2 x gpu=1",
        "gang: waits",
    );
}
