//! What is not judged: decision 19; and what the set alone shows: decision 37.

use crate::harness::set;
use trellis_api::admission::pod_clique_set_structure;
use trellis_api::kinds::PodCliqueSet;
use trellis_api::settings::Settings;

const DELETED: &str = "metadata.deletionTimestamp: '2026-01-01T00:00:00Z'";

/// Rules, one for each area, that a stored set may have come to break.
const BROKEN: [&[&str]; 6] = [
    &["clusterTopologyName: nowhere", "topologyConstraint: {packDomain: rack}"],
    &["cliques[0].spec.podSpec.nodeName: node-1"],
    &["cliques[0].spec.podSpec.schedulerName: volcano"],
    &["cliques[0].spec.minAvailable: 9"],
    &["podCliqueScalingGroups[0].cliqueNames: [nobody]"],
    &["terminationDelay: 0s"],
];

#[test]
fn d19_update_that_leaves_the_spec_alone() {
    for broken in BROKEN {
        let with = |more: &'static str| [broken, &[more]].concat();
        for change in ["metadata.annotations: {a: b}", "metadata.finalizers: [grove.io/podcliqueset.grove.io]"] {
            set(&with(change)).old(broken).gives(&[]);
            set(&with(change)).old(broken).scheduled("default", "demo").gives(&[]);
            set(&with(change)).old(broken).topology_off().gives(&[]);
        }
        // The same fault counts as soon as the spec changes, and on create.
        assert!(!set(broken).verdict().allowed(), "{broken:?} is not broken");
    }
    // A default that is written out is no change of the spec.
    set(&["terminationDelay: 4h", "cliques[0].spec.minAvailable: 2", "cliques[0].spec.podSpec.nodeName: n"])
        .old(&["cliques[0].spec.podSpec.nodeName: n"])
        .gives(&[]);
}

#[test]
fn d19_set_being_deleted() {
    for broken in BROKEN {
        let edits = [broken, &[DELETED]].concat();
        set(&edits).gives(&[]);
        // Whatever the update changes, and whatever has become of the cluster.
        set(&edits).old(&[DELETED]).gives(&[]);
        set(&[DELETED]).old(&edits).without_topologies().topology_off().gives(&[]);
    }
    let rack = "topologyConstraint: {packDomain: rack}";
    set(&[DELETED, "clusterTopologyName: full", rack])
        .old(&["clusterTopologyName: h100", rack])
        .scheduled("default", "demo")
        .gives(&[]);
}

/// Rendering "refuses structural faults only": what depends on the cluster is not among them.
#[test]
fn d37_structure_knows_no_cluster() {
    let structure = |edits: &[&str], settings: &Settings| -> Vec<String> {
        let set: PodCliqueSet = serde_json::from_value(set(edits).stored()).expect("a set");
        pod_clique_set_structure(&set, None, settings).errors.iter().map(ToString::to_string).collect()
    };
    let off = Settings { topology_enabled: false, ..Settings::default() };
    let missing = ["clusterTopologyName: nowhere", "topologyConstraint: {packDomain: region}"];
    assert_eq!(structure(&missing, &Settings::default()), [""; 0]);
    assert_eq!(structure(&missing, &off), [""; 0]);
    let narrow = ["topologyConstraint: {packDomain: host}", "cliques[0].topologyConstraint: {packDomain: rack}"];
    assert_eq!(structure(&narrow, &off).len(), 1);
    assert_eq!(structure(&["terminationDelay: 0s"], &off).len(), 1);
}
