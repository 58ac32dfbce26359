//! What an update of a DynamoGraphDeployment may not change: "On UPDATE" in document 003, decisions 19 and 31.

use crate::dynamo::{SHAPES, Shape};

const SENTENCE: &str = "is immutable and cannot be added, removed, or changed after creation; delete and recreate the \
                        DynamoGraphDeployment to change topology constraints";

/// From old edits to new ones, in every shape. A label is changed as well, so that the spec differs in any case.
#[track_caller]
fn check(old: &[&str], new: &[&str], errors: &[&str]) {
    for shape in SHAPES {
        one(&shape, old, new, errors);
    }
}

#[track_caller]
fn one(shape: &Shape, old: &[&str], new: &[&str], errors: &[&str]) {
    let mut new = new.to_vec();
    new.push("spec.labels: {changed: 'true'}");
    shape.gives(&shape.old(shape.case(&new), old), errors);
}

#[test]
fn s003_update_spec_constraint() {
    let zone = "spec.topologyConstraint: {packDomain: zone}";
    let error = |value: &str| format!("spec.topologyConstraint: Invalid value: {value}: {SENTENCE}");
    check(&[zone], &[zone], &[]);
    check(&[], &[zone], &[&error(r#"{"packDomain":"zone"}"#)]);
    check(&[zone], &[], &[&error("null")]);
    check(&[zone], &["spec.topologyConstraint: {packDomain: rack}"], &[&error(r#"{"packDomain":"rack"}"#)]);
    let named = "spec.topologyConstraint: {clusterTopologyName: h100, packDomain: zone}";
    check(&[zone], &[named], &[&error(r#"{"clusterTopologyName":"h100","packDomain":"zone"}"#)]);
    // The same in the other version's words is no change.
    check(&[named], &["spec.topologyConstraint: {topologyProfile: h100, packDomain: zone}"], &[]);
}

#[test]
fn s003_update_service_constraint() {
    let rack = "WORK.topologyConstraint: {packDomain: rack}";
    let error = |value: &str| format!("WORK.topologyConstraint: Invalid value: {value}: {SENTENCE}");
    check(&[rack], &[rack], &[]);
    check(&[], &[rack], &[&error(r#"{"packDomain":"rack"}"#)]);
    check(&[rack], &[], &[&error("null")]);
    check(&[rack], &["WORK.topologyConstraint: {packDomain: host}"], &[&error(r#"{"packDomain":"host"}"#)]);
    check(
        &[rack],
        &["FRONT.topologyConstraint: {packDomain: rack}"],
        &[&format!("FRONT.topologyConstraint: Invalid value: {{\"packDomain\":\"rack\"}}: {SENTENCE}"), &error("null")],
    );
}

/// Whoever wants constraints for a deployment that is there has to make it anew; without, it goes on as it was.
#[test]
fn s003_req7_existing_deployments() {
    check(&[], &["FRONT.replicas: 3"], &[]);
    let error = |path: &str| format!("{path}: Invalid value: {{\"packDomain\":\"rack\"}}: {SENTENCE}");
    for path in ["spec.topologyConstraint", "FRONT.topologyConstraint", "WORK.topologyConstraint"] {
        check(&[], &[&format!("{path}: {{packDomain: rack}}")], &[&error(path)]);
    }
}

#[test]
fn s003_update_matches_services_by_name() {
    for (shape, list, kind) in [(&SHAPES[0], "spec.services", "componentType"), (&SHAPES[2], "spec.components", "type")]
    {
        let front = format!("{{name: Frontend, {kind}: frontend, replicas: 1}}");
        let worker = format!(
            "{{name: VllmWorker, {kind}: worker, replicas: 2, multinode: {{nodeCount: 4}}, topologyConstraint: {{packDomain: rack}}}}"
        );
        let old = format!("{list}: [{front}, {worker}]");
        one(shape, &[&old], &[&format!("{list}: [{worker}, {front}]")], &[]);
        let moved = worker.replace("rack", "host");
        let error = format!("{list}[0].topologyConstraint: Invalid value: {{\"packDomain\":\"host\"}}: {SENTENCE}");
        one(shape, &[&old], &[&format!("{list}: [{moved}, {front}]")], &[&error]);
    }
}

/// The topology is looked at on creation only.
#[test]
fn s003_update_does_not_look_at_the_topology() {
    let zone = "spec.topologyConstraint: {packDomain: zone}";
    for shape in SHAPES {
        let update = || shape.old(shape.case(&[zone, "FRONT.replicas: 3"]), &[zone]);
        shape.gives(&update().without_topologies(), &[]);
        shape.gives(&update().topology_off(), &[]);
        shape.gives(&update().unreadable(403, true, "no"), &[]);
    }
}

#[test]
fn d31_update_set_of_services() {
    for shape in SHAPES {
        let third = shape.third.replace("NAME", "Planner");
        let path = match shape.third.contains("[NAME]") {
            true => format!("{}[Planner]", shape.all),
            false => format!("{}[2].name", shape.all),
        };
        one(
            &shape,
            &[],
            &[&third],
            &[&format!(
                "{path}: Forbidden: \"Planner\" cannot be added after creation; delete and recreate the DynamoGraphDeployment"
            )],
        );
        one(
            &shape,
            &[&third],
            &[],
            &[
                "ALL: Forbidden: \"Planner\" cannot be removed after creation; delete and recreate the DynamoGraphDeployment",
            ],
        );
    }
}

#[test]
fn d31_update_nodes() {
    let switched = "Forbidden: cannot change between one node and several nodes after creation";
    check(&[], &["-WORK.multinode"], &[&format!("WORK.multinode: {switched}")]);
    check(&[], &["FRONT.multinode: {nodeCount: 2}"], &[&format!("FRONT.multinode: {switched}")]);
    check(
        &[],
        &["WORK.multinode.nodeCount: 8"],
        &[
            "WORK.multinode.nodeCount: Forbidden: cannot be changed from 4 to 8 after creation: all nodes of a replica start together",
        ],
    );
    one(&SHAPES[2], &["spec.components[1].multinode: {}"], &["spec.components[1].multinode: {nodeCount: 2}"], &[]);
}

#[test]
fn dynamo3_4_update_other_fields() {
    check(&[], &["WORK.replicas: 5"], &[]);
    check(
        &[],
        &["spec.backendFramework: vllm"],
        &["spec.backendFramework: Invalid value: \"vllm\": field is immutable"],
    );
    check(&["WORK.minAvailable: 2"], &["WORK.minAvailable: 2"], &[]);
    check(
        &["WORK.minAvailable: 2"],
        &["WORK.minAvailable: 1"],
        &["WORK.minAvailable: Invalid value: 1: field is immutable"],
    );
    // Left out is 1.
    check(&[], &["WORK.minAvailable: 1"], &[]);
    one(
        &SHAPES[2],
        &[],
        &["spec.components[0].experimental: {grove: {forceScalingGroup: true}}"],
        &[
            "spec.components[0].experimental.grove.forceScalingGroup: Forbidden: cannot be switched on or off after creation",
        ],
    );
}

#[test]
fn d19_update_that_leaves_the_spec_alone() {
    for shape in SHAPES {
        // It could not be created so.
        let wrong = "FRONT.topologyConstraint: {packDomain: region}";
        let case = shape.old(shape.case(&[wrong, "metadata.annotations: {note: x}"]), &[wrong]);
        shape.gives(&case.without_topologies(), &[]);
        let deleted = "metadata.deletionTimestamp: '2026-01-01T00:00:00Z'";
        shape.gives(&shape.old(shape.case(&["spec.topologyConstraint: {packDomain: rack}", deleted]), &[]), &[]);
    }
}
