//! The tree of 004, step by step.

use crate::support::{KEYS, first_group, pool, requirements, workflow};
use std::fmt::Write as _;
use trellis_lower::osmo::{Tree, tree};

/// A tree in words: what is shared, then each node with its parent, its level and its tasks.
fn shown(tree: &Tree) -> String {
    let level =
        |level: Option<usize>, mark: &str| level.map_or("-".to_owned(), |level| format!("{}{mark}", KEYS[level]));
    let mut text = format!("{} {}\n", level(tree.required, "!"), level(tree.preferred, "?"));
    for node in &tree.nodes {
        let parent = node.parent.map_or(".", |parent| tree.nodes[parent].name.as_str());
        let mark = if node.required { '!' } else { '?' };
        write!(text, "{} {parent} {}{mark}", node.name, KEYS[node.level]).expect("a string");
        match node.tasks {
            Some(tasks) => writeln!(text, " {tasks}").expect("a string"),
            None => text.push('\n'),
        }
    }
    let leaf = |leaf: &Option<usize>| leaf.map_or("-", |leaf| tree.nodes[leaf].name.as_str());
    text + &tree.leaf_of.iter().map(leaf).collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn check(tasks: &[&str], expected: &str) {
    let tasks: Vec<_> = tasks.iter().map(|text| requirements(text)).collect();
    let workflow = workflow(&tasks);
    let tree = tree(first_group(&workflow), &workflow.spec, &pool().spec);
    let expected: Vec<&str> = expected.trim().lines().map(str::trim).collect();
    assert_eq!(shown(&tree), expected.join("\n"), "{tasks:?}");
}

#[test]
fn s004_usecase_1_all_share_one_level() {
    check(&["rack=default!"; 4], "rack! -\n- - - -");
}

#[test]
fn s004_usecase_2_two_groups_at_one_level() {
    check(
        &["rack=m1!", "rack=m1!", "rack=m2!", "rack=m2!"],
        "- -
         m1 . rack! 2
         m2 . rack! 2
         m1 m1 m2 m2",
    );
}

#[test]
fn s004_usecase_3_two_groups_within_a_shared_level() {
    check(
        &["rack=m1! zone=w!", "rack=m1! zone=w!", "zone=w! rack=m2!", "zone=w! rack=m2!"],
        "zone! -
         w-m1 . rack! 2
         w-m2 . rack! 2
         w-m1 w-m1 w-m2 w-m2",
    );
}

#[test]
fn s004_usecase_4_the_same_preferred() {
    check(
        &["rack=m1? spine=w?", "rack=m2? spine=w?"],
        "- spine?
         w-m1 . rack? 1
         w-m2 . rack? 1
         w-m1 w-m2",
    );
}

#[test]
fn s004_step_1_no_requirements_no_tree() {
    check(&["", ""], "- -\n- -");
}

#[test]
fn s004_step_2_one_name_under_two_parents_is_two_groups() {
    check(
        &["zone=z1! rack=r1!", "zone=z2! rack=r1!"],
        "- -
         z1 . zone!
         z1-r1 z1 rack! 1
         z2 . zone!
         z2-r1 z2 rack! 1
         z1-r1 z2-r1",
    );
}

#[test]
fn s004_step_3_the_finest_shared_level_and_nothing_required_is_lost() {
    check(&["zone=a! rack=b!"; 2], "rack! -\n- -");
    // OSMO of today loses the zone here.
    check(&["zone=a! rack=b?"; 2], "zone! rack?\n- -");
    check(&["zone=a? rack=b!"; 2], "rack! -\n- -");
    check(&["zone=a? rack=b?"; 2], "- rack?\n- -");
    check(&["zone=a! spine=b? rack=c! host=d?"; 2], "rack! host?\n- -");
    check(
        &["zone=a! spine=b? rack=c!", "zone=a! spine=b? rack=d!"],
        "zone! spine?
         a-b-c . rack! 1
         a-b-d . rack! 1
         a-b-c a-b-d",
    );
}

#[test]
fn s004_step_4_inner_nodes_are_kept_with_one_child_too() {
    check(
        &["zone=a! spine=s! rack=r!", "zone=b! spine=s! rack=r!", "zone=b! spine=s! rack=q!"],
        "- -
         a . zone!
         a-s a spine!
         a-s-r a-s rack! 1
         b . zone!
         b-s b spine!
         b-s-r b-s rack! 1
         b-s-q b-s rack! 1
         a-s-r b-s-r b-s-q",
    );
}

#[test]
fn s004_step_5_tasks_without_requirements_are_in_a_catch_all() {
    check(
        &["rack=m1!", "rack=m1!", ""],
        "- -
         m1 . rack! 2
         unconstrained . rack? 1
         m1 m1 unconstrained",
    );
    check(
        &["zone=a! rack=m1!", ""],
        "- -
         a . zone!
         a-m1 a rack! 1
         unconstrained . zone?
         unconstrained-unconstrained unconstrained rack? 1
         a-m1 unconstrained-unconstrained",
    );
}

#[test]
fn s004_step_5_fewer_levels_are_padded() {
    check(
        &["zone=a! rack=m1!", "zone=a!", "zone=a!"],
        "zone! -
         a-m1 . rack! 1
         a-unconstrained . rack? 2
         a-m1 a-unconstrained a-unconstrained",
    );
}

/// The pool's order decides, neither the task's nor the alphabet's.
#[test]
fn s004_requirements_configure_allowed_topology_keys_and_their_ordering() {
    let expected = |first: &str, second: &str, mark: &str| {
        format!("{first}! -\n{mark} . {second}! 1\n{mark}2 . {second}! 1\n{mark} {mark}2")
    };
    for tasks in [["zone=a! rack=r!", "zone=a! rack=r2!"], ["rack=r! zone=a!", "rack=r2! zone=a!"]] {
        check(&tasks, &expected("zone", "rack", "a-r"));
    }
    // Where racks are the wider level, zones are within them.
    let tasks = ["zone=a! rack=r!", "zone=a2! rack=r!"].map(requirements);
    let workflow = workflow(&tasks);
    let mut pool = pool();
    pool.spec.topology_keys.reverse();
    let tree = tree(first_group(&workflow), &workflow.spec, &pool.spec);
    let key = |level: usize| pool.spec.topology_keys[level].key.as_str();
    let nodes: Vec<(&str, &str)> = tree.nodes.iter().map(|node| (node.name.as_str(), key(node.level))).collect();
    assert_eq!((tree.required.map(key), nodes), (Some("rack"), vec![("r-a", "zone"), ("r-a2", "zone")]));
}

#[test]
fn osmo3_9_coarser_levels_are_padded_too() {
    check(
        &["zone=a! rack=r!", "rack=r!"],
        "- -
         a . zone!
         a-r a rack! 1
         unconstrained . zone?
         unconstrained-r unconstrained rack! 1
         a-r unconstrained-r",
    );
}

#[test]
fn osmo3_8_required_by_one_is_required_of_all_whoever_comes_first() {
    check(&["rack=a?", "rack=a!"], "rack! -\n- -");
    check(&["rack=a!", "rack=a?"], "rack! -\n- -");
}

#[test]
fn osmo3_8_paths_are_not_joined_names() {
    // OSMO of today fails on the first and forces the second onto one rack.
    check(
        &["zone=a! rack=b-c!", "zone=a-b! rack=c!"],
        "- -
         a . zone!
         a-b-c-b88f83c8 a rack! 1
         a-b . zone!
         a-b-c-4e84717d a-b rack! 1
         a-b-c-b88f83c8 a-b-c-4e84717d",
    );
}

#[test]
fn d33_no_subgroup_is_called_default() {
    check(
        &["rack=default!", "rack=b!"],
        "- -
         default-37a8eec1 . rack! 1
         b . rack! 1
         default-37a8eec1 b",
    );
    check(&["rack=default!"; 2], "rack! -\n- -");
}

#[test]
fn d33_long_names_are_cut_and_hashed() {
    let (a, b) = ("a".repeat(63), "b".repeat(10));
    let tasks = [format!("zone={a}! rack={b}!"), format!("zone={a}! rack=c!")];
    let workflow = workflow(&tasks.map(|task| requirements(&task)));
    let tree = tree(first_group(&workflow), &workflow.spec, &pool().spec);
    let names: Vec<&str> = tree.nodes.iter().map(|node| node.name.as_str()).collect();
    assert!(names.iter().all(|name| name.len() == 63 && name.starts_with(&"a".repeat(54))), "{names:?}");
    assert_ne!(names[0], names[1]);
}
