//! Nodes that pods like better than others: after spans, before tightness.

use super::check;

#[test]
fn what_is_liked_is_taken_where_it_costs_no_spans() {
    // Without the wish the tighter rack would be taken.
    check(
        "topology t: rack host
         r1/*: a1..a2 gpu=1
         r2/*: b1..b4 gpu=1
         liked b1..b4 1",
        "gang required=rack: 2 x gpu=1",
        "gang at rack: r2",
    );
    // Few domains of the preferred level count for more.
    check(
        "topology t: rack host
         r1/*: a1..a2 gpu=1
         r2/*: b1 gpu=1
         r3/*: c1 gpu=1
         liked b1 100
         liked c1 100",
        "gang preferred=rack: 2 x gpu=1",
        "gang at rack: r1",
    );
    // And so do members.
    check(
        "topology t: rack host
         r1/*: a1..a3 gpu=1
         r2/*: b1..b2 gpu=1
         liked b1..b2 100",
        "gang required=rack min=2: 3 x gpu=1",
        "gang: 3 placed
         gang at rack: r1",
    );
}

#[test]
fn weights_of_all_pods_add_up() {
    // One that is liked very much against two that are liked a little.
    check(
        "topology t: rack host
         r1/*: a1..a2 gpu=1
         r2/*: b1..b2 gpu=1
         liked a1 50
         liked b1..b2 20",
        "gang required=rack: 2 x gpu=1",
        "gang at rack: r1",
    );
    check(
        "topology t: rack host
         r1/*: a1..a2 gpu=1
         r2/*: b1..b2 gpu=1
         liked a1 50
         liked b1..b2 30",
        "gang required=rack: 2 x gpu=1",
        "gang at rack: r2",
    );
}

#[test]
fn few_nodes_count_for_less_than_what_is_liked() {
    check(
        "topology t: rack host
         r1/*: a1 gpu=4
         r1/*: a2..a3 gpu=1
         liked a2..a3 1",
        "gang: 2 x gpu=1",
        "gang on: a2 a3",
    );
}
