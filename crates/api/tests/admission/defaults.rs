//! What is filled in: section 4.2 of the Grove reference, decisions 13 and 41.

use crate::edit::texts;
use crate::harness::set;
use trellis_api::admission::default_pod_clique_set;
use trellis_api::kinds::PodCliqueSet;
use trellis_api::settings::Settings;

#[test]
fn grove4_2_defaults_of_the_set() {
    set(&["-metadata.namespace"]).stores(&["metadata.namespace: default"]);
    set(&["metadata.namespace: ''"]).stores(&["metadata.namespace: default"]);
    set(&["metadata.namespace: prod"]).stores(&["metadata.namespace: prod"]);
    set(&[]).stores(&["terminationDelay: 4h", "headlessServiceConfig: {publishNotReadyAddresses: true}"]);
    set(&["terminationDelay: null"]).stores(&["terminationDelay: 4h"]);
    set(&["terminationDelay: 10m"]).stores(&["terminationDelay: 10m"]);
    set(&["headlessServiceConfig: {}"]).stores(&["headlessServiceConfig: {publishNotReadyAddresses: true}"]);
    let unpublished = "headlessServiceConfig: {publishNotReadyAddresses: false}";
    set(&[unpublished]).stores(&[unpublished]);
    set(&[]).stores(&["cliqueStartupType: CliqueStartupTypeAnyOrder", "spec.updateStrategy: {type: RollingRecreate}"]);
    set(&["spec.updateStrategy: {}"]).stores(&["spec.updateStrategy: {type: RollingRecreate}"]);
    set(&["spec.updateStrategy: {type: OnDelete}"]).stores(&["spec.updateStrategy: {type: OnDelete}"]);
    set(&["cliqueStartupType: CliqueStartupTypeInOrder"]).stores(&["cliqueStartupType: CliqueStartupTypeInOrder"]);
}

#[test]
fn d13_replicas_of_a_set_default_to_one() {
    set(&["-spec.replicas"]).stores(&["spec.replicas: 1"]);
    set(&["spec.replicas: null"]).stores(&["spec.replicas: 1"]);
    set(&["spec.replicas: 0"]).stores(&["spec.replicas: 0"]);
    set(&["spec.replicas: 3"]).stores(&["spec.replicas: 3"]);
}

#[test]
fn grove4_2_defaults_of_a_pod() {
    let pod = "cliques[0].spec.podSpec";
    let check = |edit: &str, stored: &str| {
        let edits = if edit.is_empty() { vec![] } else { vec![format!("{pod}.{edit}")] };
        set(&texts(&edits)).stores(&[&format!("{pod}.{stored}")]);
    };
    check("", "restartPolicy: Always");
    check("restartPolicy: ''", "restartPolicy: Always");
    check("restartPolicy: null", "restartPolicy: Always");
    check("restartPolicy: OnFailure", "restartPolicy: OnFailure");
    check("", "terminationGracePeriodSeconds: 30");
    check("terminationGracePeriodSeconds: null", "terminationGracePeriodSeconds: 30");
    check("terminationGracePeriodSeconds: 0", "terminationGracePeriodSeconds: 0");
    check("terminationGracePeriodSeconds: 5", "terminationGracePeriodSeconds: 5");
}

#[test]
fn d41_counts_of_a_clique() {
    let spec = "cliques[0].spec";
    let check = |edits: &[&str], replicas: i32, min_available: i32| {
        let edits: Vec<String> = edits
            .iter()
            .map(|edit| edit.strip_prefix('-').map_or(format!("{spec}.{edit}"), |field| format!("-{spec}.{field}")))
            .collect();
        let case = set(&texts(&edits));
        case.gives(&[]);
        case.stores(&[&format!("{spec}.replicas: {replicas}"), &format!("{spec}.minAvailable: {min_available}")]);
    };
    check(&["replicas: 3"], 3, 3);
    check(&["replicas: 3", "minAvailable: 2"], 3, 2);
    check(&["replicas: 3", "minAvailable: null"], 3, 3);
    // Not the original 0, as Grove has it, which validation would then refuse.
    check(&["-replicas"], 1, 1);
    check(&["replicas: 0"], 1, 1);
    check(&["replicas: null", "minAvailable: 1"], 1, 1);
}

#[test]
fn d41_counts_of_a_scaling_group() {
    let group = "podCliqueScalingGroups[0]";
    let check = |edits: &[&str], replicas: i32, min_available: i32| {
        let case = set(edits);
        case.gives(&[]);
        case.stores(&[&format!("{group}.replicas: {replicas}"), &format!("{group}.minAvailable: {min_available}")]);
    };
    check(&["-podCliqueScalingGroups[0].replicas", "-podCliqueScalingGroups[0].minAvailable"], 1, 1);
    check(&["-podCliqueScalingGroups[0].minAvailable"], 2, 1);
    check(&["-podCliqueScalingGroups[0].replicas"], 1, 1);
    check(&["podCliqueScalingGroups[0].minAvailable: 2"], 2, 2);
}

/// `minAvailable` is immutable, so one that is left out on update can only mean the old value.
#[test]
fn d41_omitted_minimum_keeps_its_old_value_on_update() {
    let case = set(&["cliques[2].spec.replicas: 6"]).old(&["cliques[2].spec.minAvailable: 3"]);
    case.stores(&["cliques[2].spec.minAvailable: 3"]);
    case.gives(&[]);
    // The old value was itself a default.
    let case = set(&["cliques[2].spec.replicas: 6"]).old(&[]);
    case.stores(&["cliques[2].spec.minAvailable: 4"]);
    case.gives(&[]);
    let group = "podCliqueScalingGroups[0]";
    let case = set(&["podCliqueScalingGroups[0].replicas: 3", "-podCliqueScalingGroups[0].minAvailable"])
        .old(&["podCliqueScalingGroups[0].minAvailable: 2"]);
    case.stores(&[&format!("{group}.minAvailable: 2"), &format!("{group}.replicas: 3")]);
    case.gives(&[]);
    // By name, not by position.
    let swapped = [
        "cliques[0]: {name: leader, spec: {roleName: leader, replicas: 2, podSpec: {containers: [{name: m, image: b}]}}}",
        "cliques[1]: {name: router, spec: {roleName: router, replicas: 3, podSpec: {containers: [{name: m, image: b}]}}}",
    ];
    let case = set(&swapped).old(&["cliques[0].spec.minAvailable: 2"]);
    case.stores(&["cliques[0].spec.minAvailable: 1", "cliques[1].spec.minAvailable: 2"]);
    case.gives(&[]);
}

#[test]
fn grove4_2_defaults_of_autoscaling() {
    let auto = "cliques[0].spec.autoScalingConfig";
    set(&["cliques[0].spec.autoScalingConfig: {maxReplicas: 5}"]).stores(&[&format!("{auto}.minReplicas: 2")]);
    set(&["cliques[0].spec.autoScalingConfig: {minReplicas: 3, maxReplicas: 5}"])
        .stores(&[&format!("{auto}.minReplicas: 3")]);
    // The defaulted replicas, not the omitted ones.
    set(&["-cliques[0].spec.replicas", "cliques[0].spec.autoScalingConfig: {maxReplicas: 5}"])
        .stores(&[&format!("{auto}.minReplicas: 1")]);
    let scale = "podCliqueScalingGroups[0].scaleConfig";
    set(&["podCliqueScalingGroups[0].scaleConfig: {maxReplicas: 5}"]).stores(&[&format!("{scale}.minReplicas: 2")]);
    set(&["podCliqueScalingGroups[0].scaleConfig: {minReplicas: 1, maxReplicas: 5}"])
        .stores(&[&format!("{scale}.minReplicas: 1")]);
}

#[test]
fn grove4_2_defaulting_twice_changes_nothing() {
    let edits = [
        "-metadata.namespace",
        "-cliques[0].spec.replicas",
        "cliques[0].spec.autoScalingConfig: {maxReplicas: 5}",
        "clusterTopologyName: h100",
        "topologyConstraint: {packDomain: rack}",
        "-podCliqueScalingGroups[0].minAvailable",
    ];
    let once = set(&edits).stored();
    let mut again: PodCliqueSet = serde_json::from_value(once.clone()).expect("a set");
    let warnings = default_pod_clique_set(&mut again, None, &Settings::default());
    assert_eq!(serde_json::to_value(&again).expect("JSON"), once);
    assert!(warnings.is_empty(), "{warnings:?}");
}
