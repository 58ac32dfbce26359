//! All that Kubernetes' own scheduler looks at in a pod is honoured or refused in words; the little that is passed over is said.

use crate::gangs::{gang, group, merge, node, pod};
use crate::support::{anywhere, posed};
use serde_json::{Value, json};
use trellis_lower::problem::{Problem, passed_over};

/// The problem of a gang of two pods like this, beside one that is placed and has what they could speak of.
fn problem(more: &Value) -> Problem {
    let there = json!({ "metadata": { "labels": { "app": "x" } }, "spec": { "nodeName": "n0" } });
    let labels = json!({ "metadata": { "labels": { "app": "x" } } });
    let waiting = |name: &str| {
        let mut waiting = pod(name, &labels);
        merge(&mut waiting, more);
        waiting
    };
    let values = [
        node("n0", &json!({ "kubernetes.io/hostname": "n0", "gpu": "a" })),
        node("n1", &json!({ "kubernetes.io/hostname": "n1", "gpu": "b" })),
        json!({ "kind": "Node", "metadata": { "name": "n2" }, "spec": { "taints": [{ "key": "t", "effect": "NoSchedule" }] } }),
        json!({ "kind": "PriorityClass", "metadata": { "name": "high" }, "value": 7 }),
        pod("there", &there),
        gang("g", &json!([group("w", 2, &["p", "q"])]), &json!({})),
        waiting("p"),
        waiting("q"),
    ];
    anywhere(posed(&values))
}

/// Whether a field is honoured or refused shows in the problem; what is passed over leaves it as it is, and is said.
#[track_caller]
fn check(field: &str, spec: &Value, is_passed_over: bool) {
    let (plain, with) = (problem(&json!({})), problem(&json!({ "spec": spec })));
    let without_words = |problem: &Problem| Problem { warnings: Vec::new(), ..problem.clone() };
    assert_eq!(without_words(&plain) == without_words(&with), is_passed_over, "{field}");
    let read: k8s_openapi::api::core::v1::Pod =
        serde_json::from_value(pod("p", &json!({ "spec": spec }))).expect("a pod");
    assert_eq!(passed_over(&read).is_some_and(|text| text.contains(field)), is_passed_over, "{field}");
    assert_eq!(
        with.warnings.iter().any(|text| text.contains("is not looked at")),
        is_passed_over,
        "{:?}",
        with.warnings
    );
}

#[test]
fn no_field_is_ignored() {
    let term = |key: &str| json!([{ "topologyKey": key, "labelSelector": { "matchLabels": { "app": "x" } } }]);
    let gpu = json!([{ "matchExpressions": [{ "key": "gpu", "operator": "In", "values": ["a"] }] }]);
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let container = |more: Value| {
        let mut container = json!({ "name": "c", "resources": { "requests": { "cpu": "1" } } });
        merge(&mut container, &more);
        json!([container])
    };
    let host = "kubernetes.io/hostname";
    let cases = [
        ("nodeName", json!({ "nodeName": "n1" })),
        ("nodeSelector", json!({ "nodeSelector": { "gpu": "a" } })),
        ("nodeAffinity", json!({ "affinity": { "nodeAffinity": { required: { "nodeSelectorTerms": gpu } } } })),
        (
            "nodeAffinity that is preferred",
            json!({ "affinity": { "nodeAffinity": { "preferredDuringSchedulingIgnoredDuringExecution":
                [{ "weight": 1, "preference": gpu[0] }] } } }),
        ),
        ("podAffinity", json!({ "affinity": { "podAffinity": { required: term(host) } } })),
        ("podAntiAffinity", json!({ "affinity": { "podAntiAffinity": { required: term(host) } } })),
        ("podAntiAffinity by another key", json!({ "affinity": { "podAntiAffinity": { required: term("gpu") } } })),
        ("tolerations", json!({ "tolerations": [{ "operator": "Exists" }] })),
        ("hostPort", json!({ "containers": container(json!({ "ports": [{ "containerPort": 1, "hostPort": 2 }] })) })),
        (
            "hostNetwork",
            json!({ "hostNetwork": true, "containers": container(json!({ "ports": [{ "containerPort": 1 }] })) }),
        ),
        ("containers", json!({ "containers": container(json!({ "resources": { "requests": { "cpu": "2" } } })) })),
        (
            "initContainers",
            json!({ "initContainers": container(json!({ "resources": { "requests": { "cpu": "2" } } })) }),
        ),
        ("overhead", json!({ "overhead": { "cpu": "1" } })),
        ("resources", json!({ "resources": { "requests": { "cpu": "3" } } })),
        ("volumes", json!({ "volumes": [{ "name": "v", "persistentVolumeClaim": { "claimName": "c" } }] })),
        ("ephemeral", json!({ "volumes": [{ "name": "v", "ephemeral": {} }] })),
        ("resourceClaims", json!({ "resourceClaims": [{ "name": "gpu" }] })),
        ("schedulingGates", json!({ "schedulingGates": [{ "name": "x/y" }] })),
        (
            "topologySpreadConstraints",
            json!({ "topologySpreadConstraints": [{ "maxSkew": 1, "topologyKey": host, "whenUnsatisfiable": "DoNotSchedule" }] }),
        ),
    ];
    for (field, spec) in cases {
        check(field, &spec, false);
    }
}

#[test]
fn what_is_passed_over_is_said() {
    let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    let near = json!([{ "weight": 1, "podAffinityTerm": { "topologyKey": "kubernetes.io/hostname" } }]);
    let cases = [
        ("podAffinity", json!({ "affinity": { "podAffinity": { preferred: near } } })),
        ("podAntiAffinity", json!({ "affinity": { "podAntiAffinity": { preferred: near } } })),
        (
            "topologySpreadConstraints[0]",
            json!({ "topologySpreadConstraints": [{ "maxSkew": 1, "topologyKey": "x", "whenUnsatisfiable": "ScheduleAnyway" }] }),
        ),
    ];
    for (field, spec) in cases {
        check(field, &spec, true);
    }
}
