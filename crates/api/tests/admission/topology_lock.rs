//! Levels of a topology in use stay as they are: 000 "ClusterTopology Lifecycle", 001 "Admission Control", section 4.4 of
//! the Grove reference, decisions 7, 9, 10, 39.

use crate::harness::{Case, topology};

const CHANGED: &str = "spec.levels[1].key: example.com/other-rack";
const NAMED: &str = "clusterTopologyName: h100";
const RACK: &str = "topologyConstraint: {packDomain: rack}";

fn blocked_by(sets: &str) -> String {
    let why = "levels cannot be changed while the topology is in use by PodCliqueSets with scheduled pods";
    format!("spec.levels: Forbidden: {why}: {sets}")
}

/// A change of the levels of `h100`.
fn change() -> Case {
    topology(&[CHANGED]).old(&[])
}

#[test]
fn s000_levels_locked_while_a_referencing_set_is_scheduled() {
    let blocked = blocked_by("default/demo");
    change().gives(&[]);
    change().beside(&[NAMED, RACK]).gives(&[]);
    change().beside(&[NAMED, RACK]).scheduled("default", "demo").gives(&[&blocked]);
    // Scheduled pods of others, or of a set of that name elsewhere, do not count.
    change().beside(&[NAMED, RACK]).scheduled("default", "other").gives(&[]);
    change().beside(&[NAMED, RACK]).scheduled("prod", "demo").gives(&[]);
    change().beside(&["clusterTopologyName: full", RACK]).scheduled("default", "demo").gives(&[]);
    change().beside(&[RACK]).scheduled("default", "demo").gives(&[]);
    change().beside(&[]).scheduled("default", "demo").gives(&[]);
}

#[test]
fn s000_levels_locked_against_every_kind_of_level_change() {
    let blocked = blocked_by("default/demo");
    let check = |edits: &[&str], errors: &[&str]| {
        topology(edits).old(&[]).beside(&[NAMED, RACK]).scheduled("default", "demo").gives(errors);
    };
    check(&["spec.levels[3]: {domain: numa, key: example.com/numa}"], &[&blocked]);
    check(&["-spec.levels[0]"], &[&blocked]);
    check(&["spec.levels[1].domain: block"], &[&blocked]);
    check(&[CHANGED], &[&blocked]);
    // "Metadata changes (labels, annotations) are not blocked", and another order is no change.
    check(&["metadata.labels: {team: ml}"], &[]);
    check(&["metadata.annotations: {note: x}"], &[]);
    check(&["metadata.finalizers: [grove.io/clustertopology]"], &[]);
    let reordered = "spec.levels: [{domain: host, key: kubernetes.io/hostname}, {domain: zone, key: \
                     topology.kubernetes.io/zone}, {domain: rack, key: example.com/rack}]";
    check(&[reordered], &[]);
    check(&[], &[]);
}

#[test]
fn d10_blocking_sets_are_named() {
    let set =
        |namespace: &str, name: &str| (format!("metadata.namespace: {namespace}"), format!("metadata.name: {name}"));
    let mut case = change();
    for (namespace, name) in [("prod", "b"), ("default", "c"), ("prod", "a"), ("prod", "pending")] {
        let (namespace_edit, name_edit) = set(namespace, name);
        case = case.beside(&[&namespace_edit, &name_edit, NAMED, RACK]);
        if name != "pending" {
            case = case.scheduled(namespace, name);
        }
    }
    case.gives(&[&blocked_by("default/c, prod/a, prod/b")]);
}

/// A set references a topology by either spelling of its name, or by default.
#[test]
fn d7_references_by_name_and_by_default() {
    let inner = "cliques[0].topologyConstraint: {topologyName: h100, packDomain: rack}";
    change().beside(&[inner]).scheduled("default", "demo").gives(&[&blocked_by("default/demo")]);
    let default = "metadata.name: grove-topology";
    let change = || topology(&[default, CHANGED]).old(&[default]);
    change().beside(&[RACK]).scheduled("default", "demo").gives(&[&blocked_by("default/demo")]);
    change()
        .beside(&["clusterTopologyName: grove-topology", RACK])
        .scheduled("default", "demo")
        .gives(&[&blocked_by("default/demo")]);
    change().beside(&[NAMED, RACK]).scheduled("default", "demo").gives(&[]);
    // Without any constraint, topology does not apply to the set (14).
    change().beside(&[]).scheduled("default", "demo").gives(&[]);
}

#[test]
fn d39_operator_is_not_held_by_the_lock() {
    let default = "metadata.name: grove-topology";
    let change = topology(&[default, CHANGED]).old(&[default]).config(&[]).beside(&[RACK]).scheduled("default", "demo");
    change.clone().by_operator().gives(&[]);
    change.gives(&["metadata.name: Forbidden: \"grove-topology\" is kept …", &blocked_by("default/demo")]);
}

/// A fault in the new levels is told beside the lock.
#[test]
fn s001_lock_and_faults_are_both_told() {
    topology(&["spec.levels[1].domain: zone"])
        .old(&[])
        .beside(&[NAMED, RACK])
        .scheduled("default", "demo")
        .gives(&["spec.levels[1].domain: Duplicate value: \"zone\"", &blocked_by("default/demo")]);
}

#[test]
fn d19_topology_being_deleted_is_not_judged() {
    let deleted = "metadata.deletionTimestamp: '2026-01-01T00:00:00Z'";
    let twice = "spec.levels[1].domain: zone";
    topology(&[twice]).old(&[]).gives(&["spec.levels[1].domain: Duplicate value: \"zone\""]);
    topology(&[twice, deleted]).old(&[deleted]).gives(&[]);
}
