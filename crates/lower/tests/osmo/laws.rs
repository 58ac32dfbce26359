//! Laws that hold for the tree of any group, whatever its tasks ask for.

use crate::support::{KEYS, Requirement, first_group, pool, workflow};
use k8s_openapi::api::core::v1::Pod;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::collections::{BTreeMap, BTreeSet};
use trellis_api::admission::validate_workflow;
use trellis_api::kinds::kai::{KaiSubGroup, KaiTopologyConstraint};
use trellis_lower::osmo::{Tree, group_objects, tree};

/// Used where `TRELLIS_SEED` names no other.
const SEED: u64 = 20_261_116;
const CASES: u32 = 3_000;

/// Names that join to one another, that are KAI's own, that are long.
const GROUPS: [&str; 8] = [
    "a",
    "b",
    "a-b",
    "b-a",
    "a-b-a",
    "default",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab",
];

fn task() -> impl Strategy<Value = Vec<Requirement>> {
    let level = |key: &'static str| {
        prop::option::weighted(0.6, (prop::sample::select(&GROUPS[..]), any::<bool>()))
            .prop_map(move |asked| asked.map(|(group, must)| (key.to_owned(), group.to_owned(), must)))
    };
    (KEYS.map(level), any::<bool>()).prop_map(|(levels, reversed)| {
        let mut found: Vec<Requirement> = levels.into_iter().flatten().collect();
        if reversed {
            found.reverse();
        }
        found
    })
}

fn check(name: &str, property: impl Fn(Vec<Vec<Requirement>>) -> Result<(), TestCaseError>) {
    let seed = std::env::var("TRELLIS_SEED").ok().map_or(SEED, |text| text.parse().expect("TRELLIS_SEED is a number"));
    let factor: u32 =
        std::env::var("TRELLIS_CASES").ok().map_or(1, |text| text.parse().expect("TRELLIS_CASES is a number"));
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config { cases: CASES * factor, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let tasks = prop::collection::vec(task(), 1..8);
    if let Err(error) = runner.run(&tasks, property) {
        panic!("{name}, TRELLIS_SEED={seed}: {error}");
    }
}

fn tree_of(tasks: &[Vec<Requirement>]) -> Tree {
    let workflow = workflow(tasks);
    tree(first_group(&workflow), &workflow.spec, &pool().spec)
}

/// The nodes from the one given up to the root.
fn way_up(tree: &Tree, node: usize) -> Vec<usize> {
    std::iter::successors(Some(node), |node| tree.nodes[*node].parent).collect()
}

#[test]
fn every_generated_workflow_is_admitted() {
    check("admitted", |tasks| {
        let verdict = validate_workflow(&workflow(&tasks), None, &[("p".to_owned(), pool())].into());
        prop_assert!(verdict.allowed(), "{:?}", verdict.errors);
        Ok(())
    });
}

#[test]
fn every_tasks_pod_carries_the_name_of_a_leaf() {
    check("leaves", |tasks| {
        let workflow = workflow(&tasks);
        let objects = group_objects(&workflow, first_group(&workflow), &pool());
        let group = objects.pod_group.expect("a gang");
        let parents: BTreeSet<&String> = group.spec.sub_groups.iter().filter_map(|sub| sub.parent.as_ref()).collect();
        let mut members: BTreeMap<String, i32> = BTreeMap::new();
        for pod in &objects.pods {
            let label = pod.metadata.labels.as_ref().and_then(|labels| labels.get("kai.scheduler/subgroup-name"));
            prop_assert_eq!(label.is_some(), !group.spec.sub_groups.is_empty());
            *members.entry(label.cloned().unwrap_or_default()).or_default() += 1;
        }
        for sub in &group.spec.sub_groups {
            let is_leaf = !parents.contains(&sub.name);
            prop_assert_eq!(sub.min_member, is_leaf.then(|| members[&sub.name]), "{}", sub.name);
            members.remove(&sub.name);
        }
        members.remove("");
        prop_assert!(members.is_empty(), "{members:?}");
        prop_assert_eq!(group.spec.min_member.is_some(), group.spec.sub_groups.is_empty());
        Ok(())
    });
}

#[test]
fn names_are_unique_and_legal() {
    check("names", |tasks| {
        let tree = tree_of(&tasks);
        let names: BTreeSet<&str> = tree.nodes.iter().map(|node| node.name.as_str()).collect();
        prop_assert_eq!(names.len(), tree.nodes.len());
        for name in names {
            let is_fit = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
            let edges = !name.starts_with('-') && !name.ends_with('-') && !name.is_empty();
            prop_assert!(is_fit && edges && name.len() <= 63 && name != "default", "{name}");
        }
        Ok(())
    });
}

#[test]
fn all_leaves_are_at_one_depth() {
    check("depth", |tasks| {
        let tree = tree_of(&tasks);
        let depths: BTreeSet<usize> = tree.leaf_of.iter().flatten().map(|leaf| way_up(&tree, *leaf).len()).collect();
        prop_assert!(depths.len() <= 1, "{depths:?}");
        let all = tree.leaf_of.iter().all(Option::is_some);
        prop_assert_eq!(all, !tree.nodes.is_empty());
        prop_assert_eq!(tree.leaf_of.iter().any(Option::is_some), all);
        Ok(())
    });
}

/// A level is finer the deeper it stands, so that nothing asks for what is decided above it.
#[test]
fn levels_become_finer_on_the_way_down() {
    check("finer", |tasks| {
        let tree = tree_of(&tasks);
        if let (Some(required), Some(preferred)) = (tree.required, tree.preferred) {
            prop_assert!(preferred > required);
        }
        for node in &tree.nodes {
            let above = node.parent.map(|parent| tree.nodes[parent].level).or(tree.required.max(tree.preferred));
            prop_assert!(above.is_none_or(|above| above < node.level), "{tree:?}");
        }
        Ok(())
    });
}

/// Two tasks that name the same groups down to a level that either of them requires are held in one domain of that level, or
/// of a finer one.
#[test]
fn required_is_never_lost_or_widened() {
    check("required", |tasks| {
        let tree = tree_of(&tasks);
        for (i, a) in tasks.iter().enumerate() {
            for (j, b) in tasks.iter().enumerate() {
                let Some(level) = must_share(a, b, &tasks) else { continue };
                let held = held(&tree, i, j);
                prop_assert!(held.is_some_and(|held| held >= level), "t{i} t{j} {}: {tree:?}", KEYS[level]);
            }
        }
        Ok(())
    });
}

/// The same of the gang that a scheduler is given: what is required of the whole, or of a subgroup that both pods are in.
#[test]
fn required_is_never_lost_in_the_gang() {
    check("required of the gang", |tasks| {
        let workflow = workflow(&tasks);
        let objects = group_objects(&workflow, first_group(&workflow), &pool());
        let gang = objects.pod_group.expect("a gang").spec;
        let level = |constraint: Option<&KaiTopologyConstraint>| {
            let label = constraint?.required_topology_level.as_deref()?;
            KEYS.iter().position(|key| label == format!("l/{key}"))
        };
        let subs: BTreeMap<&str, &KaiSubGroup> = gang.sub_groups.iter().map(|sub| (sub.name.as_str(), sub)).collect();
        let way_up = |pod: &Pod| -> BTreeSet<&str> {
            let leaf = pod.metadata.labels.as_ref().and_then(|labels| labels.get("kai.scheduler/subgroup-name"));
            let leaf = leaf.and_then(|leaf| subs.get(leaf.as_str()));
            let up = std::iter::successors(leaf, |sub| subs.get(sub.parent.as_deref()?));
            up.map(|sub| sub.name.as_str()).collect()
        };
        for (i, a) in tasks.iter().enumerate() {
            for (j, b) in tasks.iter().enumerate() {
                let Some(shared) = must_share(a, b, &tasks) else { continue };
                let (a, b) = (way_up(&objects.pods[i]), way_up(&objects.pods[j]));
                let common = a.intersection(&b).filter_map(|name| level(subs[name].topology_constraint.as_ref()));
                let held = common.chain(level(gang.topology_constraint.as_ref())).max();
                prop_assert!(held.is_some_and(|held| held >= shared), "t{i} t{j} {}: {gang:?}", KEYS[shared]);
            }
        }
        Ok(())
    });
}

/// The finest level that two tasks share, with all coarser ones, and that one of those who share it requires.
fn must_share(a: &[Requirement], b: &[Requirement], all: &[Vec<Requirement>]) -> Option<usize> {
    let group = |task: &[Requirement], level: usize| {
        task.iter().find(|(key, _, _)| key == KEYS[level]).map(|(_, group, _)| group.clone())
    };
    let must = |task: &[Requirement], level: usize| task.iter().any(|(key, _, must)| key == KEYS[level] && *must);
    let same = |a: &[Requirement], b: &[Requirement], level: usize| (0..=level).all(|l| group(a, l) == group(b, l));
    (0..KEYS.len())
        .rev()
        .find(|level| same(a, b, *level) && all.iter().any(|other| same(a, other, *level) && must(other, *level)))
}

/// The finest level that holds both tasks in one domain.
fn held(tree: &Tree, i: usize, j: usize) -> Option<usize> {
    let (Some(a), Some(b)) = (tree.leaf_of[i], tree.leaf_of[j]) else { return tree.required };
    let b: BTreeSet<usize> = way_up(tree, b).into_iter().collect();
    let common = way_up(tree, a).into_iter().filter(|node| b.contains(node) && tree.nodes[*node].required);
    common.map(|node| tree.nodes[node].level).max().or(tree.required)
}

/// Tasks that share no group are held together by nothing that they did not ask for.
#[test]
fn nobody_is_held_to_what_he_did_not_ask_for() {
    check("asked", |tasks| {
        let tree = tree_of(&tasks);
        let asks = |task: &[Requirement], level: usize| task.iter().any(|(key, _, _)| key == KEYS[level]);
        for (i, task) in tasks.iter().enumerate() {
            let own = tree.leaf_of[i].map(|leaf| way_up(&tree, leaf)).unwrap_or_default();
            let required = own.into_iter().filter(|node| tree.nodes[*node].required).map(|node| tree.nodes[node].level);
            for level in required.chain(tree.required) {
                prop_assert!(asks(task, level), "t{i} {}: {tree:?}", KEYS[level]);
            }
        }
        Ok(())
    });
}

#[test]
fn the_order_of_requirements_decides_nothing() {
    check("order of requirements", |tasks| {
        let reversed: Vec<Vec<Requirement>> = tasks.iter().map(|task| task.iter().rev().cloned().collect()).collect();
        prop_assert_eq!(tree_of(&tasks), tree_of(&reversed));
        Ok(())
    });
}

/// The order of tasks decides nothing but the order of the list.
#[test]
fn the_order_of_tasks_decides_only_the_order_of_nodes() {
    check("order of tasks", |tasks| {
        let reversed: Vec<Vec<Requirement>> = tasks.iter().rev().cloned().collect();
        let (one, mut other) = (tree_of(&tasks), tree_of(&reversed));
        other.leaf_of.reverse();
        prop_assert_eq!((one.required, one.preferred), (other.required, other.preferred));
        let nodes = |tree: &Tree| -> BTreeSet<String> {
            let parent = |parent: Option<usize>| parent.map(|parent| tree.nodes[parent].name.clone());
            tree.nodes
                .iter()
                .map(|n| format!("{} {:?} {} {} {:?}", n.name, parent(n.parent), n.level, n.required, n.tasks))
                .collect()
        };
        prop_assert_eq!(nodes(&one), nodes(&other));
        let leaves = |tree: &Tree| -> Vec<Option<String>> {
            tree.leaf_of.iter().map(|leaf| leaf.map(|leaf| tree.nodes[leaf].name.clone())).collect()
        };
        prop_assert_eq!(leaves(&one), leaves(&other));
        Ok(())
    });
}
