//! The reference to a topology: rule 3 of 000, "Admission Control" of 001, "Topology Enablement" of 002, decisions 8, 14,
//! 15, 17, 42 and 43.

use crate::harness::set;

const H100: &str = "clusterTopologyName: h100";
const FULL: &str = "clusterTopologyName: full";
const RACK: &str = "topologyConstraint: {packDomain: rack}";
const NAME: &str = "spec.template.clusterTopologyName";
const OFF: &str = "topology support is not enabled in the operator";

#[test]
fn s000_rule3_topology_must_exist_on_create() {
    set(&[H100, RACK]).gives(&[]);
    set(&["clusterTopologyName: grove-topology", RACK]).gives(&[]);
    set(&["clusterTopologyName: nowhere", RACK]).gives(&[
        "spec.template.clusterTopologyName: Not found: \"nowhere\": no such ClusterTopology; there are: full, grove-topology, h100",
    ]);
    set(&[H100, RACK]).without_topologies().gives(&[
        "spec.template.clusterTopologyName: Not found: \"h100\": no such ClusterTopology, and there is none at all",
    ]);
    set(&["topologyConstraint: {topologyName: nowhere, packDomain: rack}"])
        .gives(&["spec.template.topologyConstraint.topologyName: Not found: \"nowhere\": …"]);
}

/// Without a constraint topology does not apply, with one and no name it is the default.
#[test]
fn d14_resolution() {
    set(&[]).without_topologies().gives(&[]);
    set(&[RACK]).gives(&[]);
    set(&["clusterTopologyName: ''", RACK]).gives(&[]);
    set(&[RACK]).without_topologies().topology("h100", "zone rack").gives(&[
        "spec.template.clusterTopologyName: Not found: \"grove-topology\": no such ClusterTopology; there are: h100",
    ]);
}

#[test]
fn s000_rule3_name_needs_a_constraint() {
    let alone = "spec.template.clusterTopologyName: Invalid value: \"h100\": must not be set when no topologyConstraint is \
                 specified on the PodCliqueSet, any PodCliqueScalingGroup or any PodClique";
    set(&[H100]).gives(&[alone]);
    set(&["clusterTopologyName: ''"]).gives(&[]);
    for place in ["topologyConstraint", "podCliqueScalingGroups[0].topologyConstraint", "cliques[2].topologyConstraint"]
    {
        set(&[H100, &format!("{place}: {{packDomain: rack}}")]).gives(&[]);
        set(&[H100, &format!("{place}: {{pack: {{preferred: rack}}}}")]).gives(&[]);
    }
    set(&[H100, "spec.replicas: 2"]).old(&[]).gives(&[alone]);
}

#[test]
fn s000_rule3_name_change_needs_no_scheduled_pod() {
    let locked = |from: &str, to: &str| {
        format!(
            "{NAME}: Forbidden: cannot be changed from '{from}' to '{to}' while pods of the PodCliqueSet are scheduled"
        )
    };
    let unset = "-clusterTopologyName";
    for (old, new, from, to) in
        [(H100, FULL, "h100", "full"), (H100, unset, "h100", "grove-topology"), (unset, H100, "grove-topology", "h100")]
    {
        let change = set(&[new, RACK]).old(&[old, RACK]);
        change.gives(&[]);
        change.clone().scheduled("default", "demo").gives(&[&locked(from, to)]);
        // Pods of another set, or of a set of the same name elsewhere, lock nothing.
        change.scheduled("default", "demo-2").scheduled("prod", "demo").gives(&[]);
    }
    // The default by name is the default without one.
    set(&["clusterTopologyName: grove-topology", RACK]).old(&[RACK]).scheduled("default", "demo").gives(&[]);
    set(&[RACK]).old(&["clusterTopologyName: grove-topology", RACK]).scheduled("default", "demo").gives(&[]);
    // Other changes are free.
    set(&[H100, RACK, "spec.replicas: 2"]).old(&[H100, RACK]).scheduled("default", "demo").gives(&[]);
}

#[test]
fn s000_rule3_new_topology_must_exist_on_update() {
    set(&["clusterTopologyName: nowhere", RACK]).old(&[H100, RACK]).gives(&[
        "spec.template.clusterTopologyName: Not found: \"nowhere\": no such ClusterTopology; there are: full, grove-topology, h100",
    ]);
    set(&["clusterTopologyName: nowhere", RACK]).old(&[H100, RACK]).scheduled("default", "demo").gives(&[
        "spec.template.clusterTopologyName: Not found: \"nowhere\": …",
        "spec.template.clusterTopologyName: Forbidden: cannot be changed from 'h100' to 'nowhere' …",
    ]);
}

/// "then domains are checked anew": constraints are immutable, so the new topology has to have their levels.
#[test]
fn d15_domains_are_checked_anew_when_the_name_changes() {
    let block = "cliques[0].topologyConstraint: {packDomain: block}";
    set(&[FULL, block]).old(&[block]).gives(&[]);
    set(&[H100, block]).old(&[FULL, block]).gives(&[
        "spec.template.cliques[0].topologyConstraint.packDomain: Invalid value: \"block\": topology domain 'block' does not \
         exist in cluster topology 'h100' [zone rack host]",
    ]);
    let preferred = "topologyConstraint: {pack: {required: zone, preferred: numa}}";
    set(&[H100, preferred]).old(&[FULL, preferred]).gives(&[
        "spec.template.topologyConstraint.pack.preferred: Invalid value: \"numa\": topology domain 'numa' does not exist in \
         cluster topology 'h100' [zone rack host]",
    ]);
}

#[test]
fn d8_topology_being_deleted_takes_no_new_sets() {
    let going = |name: &str| format!("{NAME}: Forbidden: ClusterTopology \"{name}\" is being deleted");
    set(&[H100, RACK]).deleted_topology("h100", "zone rack").gives(&[&going("h100")]);
    set(&[RACK]).deleted_topology("grove-topology", "zone rack").gives(&[&going("grove-topology")]);
    set(&[H100, RACK]).old(&[RACK]).deleted_topology("h100", "zone rack").gives(&[&going("h100")]);
    // A set that was there already goes on, and may leave.
    set(&[H100, RACK, "spec.replicas: 2"]).old(&[H100, RACK]).deleted_topology("h100", "zone rack").gives(&[]);
    set(&[RACK]).old(&[H100, RACK]).deleted_topology("h100", "zone rack").gives(&[]);
    set(&[]).deleted_topology("grove-topology", "zone rack").gives(&[]);
}

#[test]
fn s000_rule3_nothing_of_topology_while_it_is_off() {
    set(&[]).topology_off().gives(&[]);
    let at = |path: &str, value: &str| format!("spec.template.{path}: Invalid value: \"{value}\": {OFF}");
    set(&[RACK]).topology_off().gives(&[&at("topologyConstraint", "rack")]);
    set(&["topologyConstraint: {pack: {preferred: host}}"]).topology_off().gives(&[&at("topologyConstraint", "host")]);
    set(&[H100, RACK]).topology_off().gives(&[&at("clusterTopologyName", "h100"), &at("topologyConstraint", "rack")]);
    set(&[
        RACK,
        "cliques[2].topologyConstraint: {packDomain: host}",
        "podCliqueScalingGroups[0].topologyConstraint: {packDomain: rack}",
    ])
    .topology_off()
    .gives(&[
        &at("topologyConstraint", "rack"),
        &at("podCliqueScalingGroups[0].topologyConstraint", "rack"),
        &at("cliques[2].topologyConstraint", "host"),
    ]);
    set(&[H100]).topology_off().gives(&[
        "spec.template.clusterTopologyName: Invalid value: \"h100\": must not be set when no topologyConstraint …",
        &at("clusterTopologyName", "h100"),
    ]);
}

#[test]
fn d42_topology_off_is_held_against_what_an_update_adds() {
    set(&[H100, RACK, "spec.replicas: 2"]).old(&[H100, RACK]).topology_off().gives(&[]);
    set(&["spec.replicas: 2"]).old(&[]).topology_off().gives(&[]);
    set(&[RACK]).old(&[]).topology_off().gives(&[
        &format!("spec.template.topologyConstraint: Invalid value: \"rack\": {OFF}"),
        "spec.template.topologyConstraint: Forbidden: PodCliqueSet topology constraint cannot be added after creation",
    ]);
}

/// "This runs even when TAS is off" (4.3).
#[test]
fn s001_constraints_are_immutable_while_topology_is_off() {
    let host = "topologyConstraint: {packDomain: host}";
    set(&[host]).old(&[RACK]).topology_off().gives(&[
        &format!("spec.template.topologyConstraint: Invalid value: \"host\": {OFF}"),
        "spec.template.topologyConstraint: Forbidden: PodCliqueSet topology constraint cannot be changed from 'rack' to 'host'",
    ]);
    set(&[]).old(&[RACK]).topology_off().gives(&[
        "spec.template.topologyConstraint: Forbidden: PodCliqueSet topology constraint cannot be removed after creation",
    ]);
}

/// The constraint was there; only the name is new.
#[test]
fn d42_topology_off_and_a_new_name() {
    set(&[FULL, RACK])
        .old(&[H100, RACK])
        .topology_off()
        .gives(&[&format!("spec.template.clusterTopologyName: Invalid value: \"full\": {OFF}")]);
    // Nothing is new where the name goes.
    set(&[RACK]).old(&[H100, RACK]).topology_off().gives(&[]);
}

#[test]
fn d42_level_or_topology_that_has_gone() {
    let update = |edits: &[&str]| set(edits).old(&[H100, RACK]);
    update(&[H100, RACK, "spec.replicas: 2"]).topology("h100", "zone host").gives(&[]);
    update(&[H100, RACK, "spec.replicas: 2"]).without_topologies().gives(&[]);
    // What the update adds is judged by the topology as it is.
    let host = "cliques[0].topologyConstraint: {packDomain: host}";
    update(&[H100, RACK, host]).topology("h100", "zone").gives(&[
        "spec.template.cliques[0].topologyConstraint.packDomain: Invalid value: \"host\": topology domain 'host' does not \
         exist in cluster topology 'h100' [zone]",
        "spec.template.cliques[0].topologyConstraint: Forbidden: PodClique 'router' topology constraint cannot be added after \
         creation",
    ]);
    update(&[H100, RACK, host]).without_topologies().gives(&[
        "spec.template.clusterTopologyName: Not found: \"h100\": no such ClusterTopology, and there is none at all",
        "spec.template.cliques[0].topologyConstraint: Forbidden: PodClique 'router' topology constraint cannot be added after \
         creation",
    ]);
}

#[test]
fn d43_one_name_wherever_it_is_written() {
    let inner = |place: &str, name: &str| format!("{place}: {{topologyName: {name}, packDomain: rack}}");
    let group = "podCliqueScalingGroups[0].topologyConstraint";
    set(&[&inner("topologyConstraint", "h100")]).gives(&[]);
    set(&[H100, &inner("topologyConstraint", "h100"), &inner("cliques[0].topologyConstraint", "h100")]).gives(&[]);
    // A name on any constraint counts for the whole set: `block` is in the default topology, and not in h100.
    set(&[&inner("cliques[0].topologyConstraint", "h100"), "topologyConstraint: {packDomain: block}"])
        .gives(&["spec.template.topologyConstraint.packDomain: Invalid value: \"block\": … 'h100' [zone rack host]"]);
    let differs = |place: &str, name: &str, first: &str, value: &str| {
        format!(
            "spec.template.{place}.topologyName: Invalid value: \"{name}\": all topology names within a PodCliqueSet must be \
             equal, and spec.template.{first} is \"{value}\""
        )
    };
    set(&[H100, &inner("topologyConstraint", "full")]).gives(&[&differs(
        "topologyConstraint",
        "full",
        "clusterTopologyName",
        "h100",
    )]);
    set(&[&inner(group, "h100"), &inner("cliques[0].topologyConstraint", "full")]).gives(&[&differs(
        "cliques[0].topologyConstraint",
        "full",
        "podCliqueScalingGroups[0].topologyConstraint.topologyName",
        "h100",
    )]);
}

/// A name moved to its other field is no change; a changed one is the same change in either.
#[test]
fn d43_name_changes_in_either_spelling() {
    let inner = |name: &str| format!("topologyConstraint: {{topologyName: {name}, packDomain: rack}}");
    set(&[&inner("h100")]).old(&[H100, RACK]).scheduled("default", "demo").gives(&[]);
    set(&[H100, RACK]).old(&[&inner("h100")]).scheduled("default", "demo").gives(&[]);
    set(&[&inner("full")]).old(&[&inner("h100")]).gives(&[]);
    set(&[&inner("full")]).old(&[&inner("h100")]).scheduled("default", "demo").gives(&[
        "spec.template.topologyConstraint.topologyName: Forbidden: cannot be changed from 'h100' to 'full' while pods of the \
         PodCliqueSet are scheduled",
    ]);
}
