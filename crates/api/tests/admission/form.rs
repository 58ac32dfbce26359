//! Types, ranges and unknown fields: decision 47.

use crate::edit::yaml;
use crate::harness::{config, set, topology, written};
use serde_json::json;
use trellis_api::admission::Verdict;
use trellis_api::admission::object::{Decoded, Kind, decode};
use trellis_api::field::{FieldError, Path, aggregate};
use trellis_api::kinds::{PodClique, PodCliqueScalingGroup, PodGang};

#[test]
fn d47_wrong_types() {
    let check = |edit: &str, error: &str| set(&[edit]).gives(&[error]);
    check("spec.replicas: two", "spec.replicas: Invalid value: \"two\": must be of type integer");
    check("spec.replicas: 1.5", "spec.replicas: Invalid value: 1.5: must be of type integer");
    check("spec.replicas: true", "spec.replicas: Invalid value: true: must be of type integer");
    check("priorityClassName: 5", "spec.template.priorityClassName: Invalid value: 5: must be of type string");
    check("cliques[0].spec: []", "spec.template.cliques[0].spec: Invalid value: []: must be of type object");
    check("cliques: {}", "spec.template.cliques: Invalid value: {}: must be of type array");
    check("cliques[0].labels: {a: 5}", "spec.template.cliques[0].labels[a]: Invalid value: 5: must be of type string");
    check(
        "topologyConstraint: rack",
        "spec.template.topologyConstraint: Invalid value: \"rack\": must be of type object",
    );
    check(
        "topologyConstraint: {packDomain: 5}",
        "spec.template.topologyConstraint.packDomain: Invalid value: 5: must be of \
        type string",
    );
    check(
        "headlessServiceConfig: {publishNotReadyAddresses: 'yes'}",
        "spec.template.headlessServiceConfig.\
        publishNotReadyAddresses: Invalid value: \"yes\": must be of type boolean",
    );
    check("spec: 5", "spec: Invalid value: 5: must be of type object");
    topology(&["spec.levels: rack"]).gives(&["spec.levels: Invalid value: \"rack\": must be of type array"]);
    config(&["logLevel: 3"]).gives(&["logLevel: Invalid value: 3: must be of type string"]);
}

#[test]
fn d47_ranges() {
    let check = |edit: &str, error: &str| set(&[edit]).gives(&[error]);
    check("spec.replicas: 3000000000", "spec.replicas: Invalid value: 3000000000: must fit in 32 bits");
    check("spec.replicas: -3000000000", "spec.replicas: Invalid value: -3000000000: must fit in 32 bits");
    check(
        "cliques[0].spec.minAvailable: 3000000000",
        "spec.template.cliques[0].spec.minAvailable: Invalid value: 3000000000: \
        must fit in 32 bits",
    );
    topology(&["spec.levels[0].key: ''"]).gives(&["spec.levels[0].key: Required value: a node label key is needed"]);
}

/// A value that had to be cut out is a fault of its own; what only follows from its absence is not told.
#[test]
fn d47_cut_constraint_has_no_consequences() {
    let shelf = "topologyConstraint: {packDomain: shelf}";
    let error = "spec.template.topologyConstraint.packDomain: Unsupported value: \"shelf\": …";
    set(&[shelf, "clusterTopologyName: h100"]).gives(&[error]);
    set(&[shelf]).old(&["topologyConstraint: {packDomain: rack}"]).gives(&[error]);
    set(&[shelf]).topology_off().gives(&[error]);
}

#[test]
fn d47_cut_replicas_are_not_held_against_the_minimum() {
    set(&["cliques[2].spec.replicas: four", "cliques[2].spec.minAvailable: 3"])
        .gives(&["spec.template.cliques[2].spec.replicas: Invalid value: \"four\": must be of type integer"]);
}

/// "All create errors are collected" (4.1): a value that was cut out hides no fault of the list around it.
#[test]
fn grove4_1_cut_value_hides_no_other_fault() {
    set(&[
        "cliques[0].labels: {a: 5}",
        "cliqueStartupType: CliqueStartupTypeExplicit",
        "cliques[1].spec.startsAfter: [worker]",
        "cliques[2].spec.startsAfter: [leader]",
    ])
    .gives(&[
        "spec.template.cliques[0].labels[a]: Invalid value: 5: must be of type string",
        "spec.template.cliques: Invalid value: \"leader, worker\": clique must not have circular dependencies",
    ]);
}

/// Form and rules are told together, the form first.
#[test]
fn d47_form_and_rules_are_both_told() {
    set(&["priorityClassName: 5", "terminationDelay: 0s", "spec.shoes: 2"]).gives(&[
        "spec.shoes: Invalid value: 2: unknown field",
        "spec.template.priorityClassName: Invalid value: 5: must be of type string",
        "spec.template.terminationDelay: Invalid value: \"0s\": terminationDelay must be greater than 0",
    ]);
}

#[test]
fn d47_unknown_fields() {
    let check = |edit: &str, error: &str| set(&[edit]).gives(&[error]);
    check("shoes: 2", "spec.template.shoes: Invalid value: 2: unknown field");
    check(
        "cliques[0].spec.minAvailible: 1",
        "spec.template.cliques[0].spec.minAvailible: Invalid value: 1: unknown field; did \
        you mean `minAvailable`?",
    );
    check(
        "topologyConstraint: {packDomain: rack, domain: rack}",
        "spec.template.topologyConstraint.domain: Invalid value: \
        \"rack\": unknown field",
    );
    check(
        "podCliqueScalingGroupConfigs: []",
        "spec.template.podCliqueScalingGroupConfigs: Invalid value: []: unknown field; did you mean \
         `podCliqueScalingGroups`?",
    );
    check("metadata.nmae: x", "metadata.nmae: Invalid value: \"x\": unknown field");
    check(
        "cliques[0].spec.podSpecs: {}",
        "spec.template.cliques[0].spec.podSpecs: Invalid value: {}: unknown field; did you \
        mean `podSpec`?",
    );
    topology(&["spec.level: []"]).gives(&["spec.level: Invalid value: []: unknown field; did you mean `levels`?"]);
    // 002: these were removed from the API.
    check("schedulingPolicyConfig: {}", "spec.template.schedulingPolicyConfig: Invalid value: {}: unknown field");
    check("spec.replicaSpreadConstraints: []", "spec.replicaSpreadConstraints: Invalid value: []: unknown field");
}

#[test]
fn d47_metadata() {
    set(&["metadata.labels: []"]).gives(&["metadata.labels: Invalid value: …"]);
    set(&["metadata.labels: {a: 5}"]).gives(&["metadata.labels.a: Invalid value: …"]);
    set(&["metadata: demo"]).gives(&["metadata: Invalid value: …"]);
    set(&["metadata.name: 5"]).gives(&["metadata.name: Invalid value: …"]);
}

/// An explicit null is a field left out.
#[test]
fn d47_null_counts_as_omitted() {
    set(&[
        "priorityClassName: null",
        "topologyConstraint: null",
        "cliques[0].topologyConstraint: null",
        "status: null",
    ])
    .gives(&[]);
    set(&["podCliqueScalingGroups: null"]).gives(&[]);
    set(&["spec.template: null"]).gives(&["spec.template: Required value"]);
    topology(&["metadata.labels: null"]).gives(&[]);
}

#[test]
fn d47_objects_that_are_none() {
    for kind in Kind::ALL {
        let decoded: Decoded<serde_json::Value> = decode(kind, json!([1]));
        assert!(decoded.object.is_none());
        let verdict = decoded.judged(Verdict::default());
        assert_eq!(verdict.errors, [FieldError::invalid(&Path::root(), serde_json::Value::Null, "must be an object")]);
    }
    written(Kind::PodCliqueSet, "{}", &[]).gives(&["spec: Required value"]);
    written(Kind::ClusterTopology, "{}", &[]).gives(&["spec: Required value"]);
    written(Kind::OperatorConfiguration, "{}", &[]).gives(&[]);
}

/// The operator's own kinds are judged by their form alone.
#[test]
fn d47_form_of_the_operators_kinds() {
    fn check<T: serde::de::DeserializeOwned>(kind: Kind, spec: &str, expected: &[&str]) {
        let decoded: Decoded<T> = decode(kind, yaml(&format!("{{metadata: {{name: x}}, spec: {spec}}}")));
        let errors: Vec<String> = decoded.judged(Verdict::default()).errors.iter().map(ToString::to_string).collect();
        assert_eq!(errors, expected, "{spec}");
    }
    let group = |spec: &str, errors: &[&str]| check::<PodCliqueScalingGroup>(Kind::PodCliqueScalingGroup, spec, errors);
    group("{cliqueNames: [a]}", &[]);
    group("{}", &["spec.cliqueNames: Required value"]);
    group("{cliqueNames: []}", &["spec.cliqueNames: Required value: must have at least 1 items"]);
    let clique = |spec: &str, errors: &[&str]| check::<PodClique>(Kind::PodClique, spec, errors);
    clique("{roleName: a, replicas: 1, podSpec: {containers: [{name: a}]}}", &[]);
    clique("{podSpec: {containers: [{name: a}]}}", &["spec.roleName: Required value"]);
    let gang = |spec: &str, errors: &[&str]| check::<PodGang>(Kind::PodGang, spec, errors);
    gang("{podgroups: [{name: a, podReferences: [], minReplicas: 1}]}", &[]);
    let missing = ["spec.podgroups[0].minReplicas: Required value", "spec.podgroups[0].podReferences: Required value"];
    gang("{podgroups: [{name: a}]}", &missing);
}

/// `type` is the word in Kubernetes' message, in text as in JSON.
#[test]
fn d47_words_for_types() {
    let path = Path::new("spec").child("a").index(1).key("k");
    let check = |error: FieldError, word: &str, text: &str| {
        assert_eq!(error.to_string(), format!("spec.a[1][k]: {text}"));
        let json = serde_json::to_value(&error).expect("JSON");
        assert_eq!((json["type"].as_str(), json["field"].as_str()), (Some(word), Some("spec.a[1][k]")));
        assert_eq!(error.type_.as_str(), word);
    };
    check(FieldError::invalid(&path, "v", "why"), "Invalid value", "Invalid value: \"v\": why");
    check(FieldError::required(&path, "why"), "Required value", "Required value: why");
    check(FieldError::required(&path, ""), "Required value", "Required value");
    check(FieldError::forbidden(&path, "why"), "Forbidden", "Forbidden: why");
    check(FieldError::duplicate(&path, 5), "Duplicate value", "Duplicate value: 5");
    check(FieldError::not_found(&path, "v", "why"), "Not found", "Not found: \"v\": why");
    check(
        FieldError::not_supported(&path, "v", &["a", "b"]),
        "Unsupported value",
        "Unsupported value: \"v\": supported \
        values: \"a\", \"b\"",
    );
    check(FieldError::too_long(&path, "v", 3), "Too long", "Too long: may not be more than 3 characters");
    check(FieldError::too_many(&path, 9, "why"), "Too many", "Too many: 9: why");
    let one = FieldError::forbidden(&path, "why");
    assert_eq!(aggregate(std::slice::from_ref(&one)), "spec.a[1][k]: Forbidden: why");
    assert_eq!(aggregate(&[one.clone(), one]), "[spec.a[1][k]: Forbidden: why, spec.a[1][k]: Forbidden: why]");
}
