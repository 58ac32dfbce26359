//! The label `grove.io/topology-name`: "Mutation Webhook" and "Label Immutability" of 002, decisions 16 and 36.

use crate::harness::set;

const H100: &str = "clusterTopologyName: h100";
const FULL: &str = "clusterTopologyName: full";
const RACK: &str = "topologyConstraint: {packDomain: rack}";

fn label(value: &str) -> String {
    format!("metadata.labels[grove.io/topology-name]: {value}")
}

fn refused(value: &str, resolved: &str) -> String {
    format!(
        "metadata.labels[grove.io/topology-name]: Invalid value: \"{value}\": must be \"{resolved}\", the topology of the set; \
         the label follows `clusterTopologyName` by itself"
    )
}

#[test]
fn s002_label_is_added_on_create() {
    let check = |edits: &[&str], stored: &str| {
        set(edits).gives(&[]);
        set(edits).stores(&[stored]);
    };
    let none = "-metadata.labels";
    check(&[RACK], &label("grove-topology"));
    check(&[H100, RACK], &label("h100"));
    check(&["cliques[1].topologyConstraint: {packDomain: rack}"], &label("grove-topology"));
    check(&["cliques[1].topologyConstraint: {topologyName: h100, pack: {preferred: rack}}"], &label("h100"));
    check(
        &[RACK, "metadata.labels: {team: ml}"],
        "metadata.labels: {team: ml, grove.io/topology-name: grove-topology}",
    );
    // Topology does not apply to a set without constraints.
    check(&[], none);
    check(&[&label("mine")], &label("mine"));
}

/// "No Topology: If topology disabled, no label is added."
#[test]
fn s002_label_is_not_added_while_topology_is_off() {
    set(&[RACK]).topology_off().stores(&["-metadata.labels"]);
    set(&[RACK]).old(&[RACK]).topology_off().stores(&["-metadata.labels"]);
}

#[test]
fn d36_label_on_create_is_overwritten_with_a_warning() {
    set(&[H100, RACK, &label("h100")]).gives(&[]);
    let case = set(&[H100, RACK, &label("full")]);
    case.stores(&[&label("h100")]);
    case.warns(&[
        "metadata.labels[grove.io/topology-name]: \"full\" was replaced by \"h100\", the topology of the set",
    ])
    .gives(&[]);
}

#[test]
fn s002_label_cannot_be_changed() {
    let old = [H100, RACK, &label("h100")];
    let update = |edits: &[&str], errors: &[&str]| {
        set(&[&[H100, RACK], edits].concat()).old(&old).gives(errors);
    };
    update(&[&label("h100")], &[]);
    update(&[&label("full")], &[&refused("full", "h100")]);
    // Also together with a change of the spec, and while pods have nodes.
    update(&[&label("full"), "spec.replicas: 2"], &[&refused("full", "h100")]);
    set(&[H100, RACK, &label("full")]).old(&old).scheduled("default", "demo").gives(&[&refused("full", "h100")]);
    update(&[&label("''")], &[&refused("", "h100")]);
    // Added by the request where there was none.
    let without = "metadata.labels: {team: ml}";
    set(&[H100, RACK, &label("full")]).old(&[H100, RACK, without]).gives(&[&refused("full", "h100")]);
    set(&[H100, RACK, &label("h100")]).old(&[H100, RACK, without]).gives(&[]);
    // Without constraints the label means nothing.
    set(&[&label("x")]).old(&[&label("y")]).gives(&[]);
}

#[test]
fn d36_removed_label_is_put_back() {
    let case = set(&[H100, RACK]).old(&[H100, RACK, &label("h100")]);
    case.stores(&[&label("h100")]);
    case.gives(&[]);
}

#[test]
fn d36_stale_label_is_rewritten() {
    // The name changed and the label did not.
    let case = set(&[FULL, RACK, &label("h100")]).old(&[H100, RACK, &label("h100")]);
    case.stores(&[&label("full")]);
    case.gives(&[]);
    // Stale before the request already.
    let case = set(&[FULL, RACK, &label("h100"), "metadata.annotations: {a: b}"]).old(&[FULL, RACK, &label("h100")]);
    case.stores(&[&label("full")]);
    case.gives(&[]);
    // While topology is off nobody rewrites it, and nobody is refused for what he did not do.
    let case = case.topology_off();
    case.stores(&[&label("h100")]);
    case.gives(&[]);
    // Name and label changed together, to the same and to different values.
    set(&[FULL, RACK, &label("full")]).old(&[H100, RACK, &label("h100")]).gives(&[]);
    let apart = set(&[FULL, RACK, &label("grove-topology")]).old(&[H100, RACK, &label("h100")]);
    apart.gives(&[&refused("grove-topology", "full")]);
}

#[test]
fn d36_label_of_a_set_being_deleted_holds_nobody_up() {
    let deleted = "metadata.deletionTimestamp: '2026-01-01T00:00:00Z'";
    let case = set(&[deleted, H100, RACK, &label("full")]).old(&[deleted, H100, RACK, &label("h100")]);
    case.gives(&[]);
    case.stores(&[&label("full")]);
    set(&[deleted, H100, RACK]).stores(&["-metadata.labels"]);
}
