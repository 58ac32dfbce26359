//! Where pods may run.

use crate::support::{only, posed};
use serde_json::{Value, json};

fn nodes() -> Vec<Value> {
    let node = |name: &str, labels: Value, spec: Value, status: Value| {
        let metadata = json!({ "name": name, "labels": labels });
        json!({ "kind": "Node", "metadata": metadata, "spec": spec, "status": status })
    };
    let taint =
        |key: &str, value: &str, effect: &str| json!({ "taints": [{ "key": key, "value": value, "effect": effect }] });
    let ready = |status: &str| json!({ "conditions": [{ "type": "Ready", "status": status }] });
    vec![
        node("bare", json!({}), json!({}), json!({})),
        node("cordoned", json!({ "gpu": "h100", "n": "4" }), json!({ "unschedulable": true }), ready("True")),
        node("evicting", json!({ "gpu": "h100", "n": "8" }), taint("team", "red", "NoExecute"), json!({})),
        node("h100", json!({ "gpu": "h100", "n": "8" }), json!({}), ready("True")),
        node("lost", json!({ "gpu": "h100" }), json!({}), ready("Unknown")),
        node("soft", json!({ "gpu": "gb200", "n": "72" }), taint("team", "red", "PreferNoSchedule"), json!({})),
        node("tainted", json!({ "gpu": "gb200", "n": "x" }), taint("team", "red", "NoSchedule"), json!({})),
        node("unready", json!({ "gpu": "h100", "n": "-3" }), json!({}), ready("False")),
    ]
}

const CLOSED: &str = "cordoned evicting lost tainted unready";

/// Compares the nodes that a pod with this spec may run on, and those that only a taint closes to it.
fn check(spec: Value, allowed: &str, barred: &str) {
    let mut values = nodes();
    let mut spec = spec;
    spec["schedulerName"] = "trellis".into();
    values.push(json!({ "kind": "Pod", "metadata": { "name": "p" }, "spec": spec }));
    let problem = posed(&values);
    let kind = only(problem.cluster.eligibility);
    let names = |set: &fixedbitset::FixedBitSet| {
        set.ones().map(|i| problem.cluster.nodes[i].name.as_str()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!((names(&kind.allowed).as_str(), names(&kind.barred).as_str()), (allowed, barred), "{spec:#}");
}

#[test]
fn node_selectors() {
    let check =
        |selector: Value, allowed: &str, barred: &str| check(json!({ "nodeSelector": selector }), allowed, barred);
    check(json!({}), "bare h100 soft", CLOSED);
    check(json!({ "gpu": "h100" }), "h100", "cordoned evicting lost unready");
    check(json!({ "gpu": "h100", "n": "8" }), "h100", "evicting");
    check(json!({ "gpu": "a100" }), "", "");
    check(json!({ "rack": "r1" }), "", "");
    check(json!({ "gpu": "" }), "", "");
}

fn affinity(terms: &Value) -> Value {
    let required = json!({ "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": terms } });
    json!({ "affinity": { "nodeAffinity": required } })
}

#[test]
fn affinity_operators() {
    let check = |key: &str, operator: &str, values: &[&str], allowed: &str, barred: &str| {
        let expression = json!({ "key": key, "operator": operator, "values": values });
        check(affinity(&json!([{ "matchExpressions": [expression] }])), allowed, barred);
    };
    check("gpu", "In", &["h100", "a100"], "h100", "cordoned evicting lost unready");
    check("gpu", "In", &["h100", "gb200"], "h100 soft", CLOSED);
    check("gpu", "NotIn", &["h100"], "bare soft", "tainted");
    check("rack", "NotIn", &["r"], "bare h100 soft", CLOSED);
    check("gpu", "Exists", &[], "h100 soft", CLOSED);
    check("rack", "Exists", &[], "", "");
    check("gpu", "DoesNotExist", &[], "bare", "");
    check("n", "Gt", &["8"], "soft", "");
    check("n", "Gt", &["7"], "h100 soft", "evicting");
    check("n", "Lt", &["8"], "", "cordoned unready");
    check("n", "Lt", &["-2"], "", "unready");
}

#[test]
fn affinity_terms() {
    let check = |terms: Value, allowed: &str, barred: &str| check(affinity(&terms), allowed, barred);
    let gpu = json!({ "key": "gpu", "operator": "In", "values": ["h100"] });
    let eight = json!({ "key": "n", "operator": "In", "values": ["8"] });
    let named = |operator: &str, name: &str| json!({ "key": "metadata.name", "operator": operator, "values": [name] });
    // Terms are alternatives; what stands in one term holds together.
    check(json!([{ "matchExpressions": [gpu, eight] }]), "h100", "evicting");
    check(
        json!([{ "matchExpressions": [gpu] }, { "matchExpressions": [eight] }]),
        "h100",
        "cordoned evicting lost unready",
    );
    check(json!([{ "matchFields": [named("In", "soft")] }]), "soft", "");
    check(json!([{ "matchFields": [named("NotIn", "soft")] }]), "bare h100", CLOSED);
    check(json!([{ "matchExpressions": [gpu], "matchFields": [named("In", "soft")] }]), "", "");
    check(
        json!([{ "matchExpressions": [gpu] }, { "matchFields": [named("In", "soft")] }]),
        "h100 soft",
        "cordoned evicting lost unready",
    );
    // A term that asks for nothing matches nothing, and so do no terms.
    check(json!([{}]), "", "");
    check(json!([{ "matchExpressions": [], "matchFields": [] }]), "", "");
    check(json!([{}, { "matchExpressions": [eight] }]), "h100", "evicting");
    check(json!([]), "", "");
    // What is preferred only closes nothing.
    let preferred = json!([{ "weight": 1, "preference": { "matchExpressions": [gpu] } }]);
    let spec =
        json!({ "affinity": { "nodeAffinity": { "preferredDuringSchedulingIgnoredDuringExecution": preferred } } });
    super::eligibility::check(spec, "bare h100 soft", CLOSED);
}

#[test]
fn weights_of_preferred_terms_add_up() {
    let check = |terms: Value, expected: &[u32]| {
        let mut values = nodes();
        let affinity = json!({ "nodeAffinity": { "preferredDuringSchedulingIgnoredDuringExecution": terms } });
        let spec = json!({ "schedulerName": "trellis", "affinity": affinity });
        values.push(json!({ "kind": "Pod", "metadata": { "name": "p" }, "spec": spec }));
        assert_eq!(only(posed(&values).cluster.eligibility).weights, expected, "{terms:#}");
    };
    let wish = |weight: i32, key: &str, value: &str| {
        let expression = json!({ "key": key, "operator": "In", "values": [value] });
        json!({ "weight": weight, "preference": { "matchExpressions": [expression] } })
    };
    // In the order of the names: bare, cordoned, evicting, h100, lost, soft, tainted, unready.
    check(json!([wish(5, "gpu", "h100")]), &[0, 5, 5, 5, 5, 0, 0, 5]);
    check(json!([wish(5, "gpu", "h100"), wish(30, "n", "8")]), &[0, 5, 35, 35, 5, 0, 0, 5]);
    let named = json!({ "key": "metadata.name", "operator": "In", "values": ["soft"] });
    check(json!([{ "weight": 7, "preference": { "matchFields": [named] } }]), &[0, 0, 0, 0, 0, 7, 0, 0]);
    // A term that asks for nothing matches nothing; where all nodes are liked alike there is no wish.
    check(json!([{ "weight": 100, "preference": {} }]), &[]);
    let any = json!({ "key": "none", "operator": "DoesNotExist" });
    check(json!([{ "weight": 100, "preference": { "matchExpressions": [any] } }]), &[]);
}

#[test]
fn tolerations() {
    let check = |tolerations: Value, allowed: &str, barred: &str| {
        check(json!({ "tolerations": tolerations }), allowed, barred);
    };
    check(json!([{ "operator": "Exists" }]), "bare cordoned evicting h100 lost soft tainted unready", "");
    check(json!([{ "key": "team", "operator": "Exists" }]), "bare evicting h100 soft tainted", "cordoned lost unready");
    check(
        json!([{ "key": "team", "value": "red", "effect": "NoSchedule" }]),
        "bare h100 soft tainted",
        "cordoned evicting lost unready",
    );
    check(
        json!([{ "key": "team", "operator": "Equal", "value": "red", "effect": "NoExecute", "tolerationSeconds": 5 }]),
        "bare evicting h100 soft",
        "cordoned lost tainted unready",
    );
    check(json!([{ "key": "team", "value": "blue" }]), "bare h100 soft", CLOSED);
    check(json!([{ "key": "team" }]), "bare h100 soft", CLOSED);
    check(
        json!([{ "key": "node.kubernetes.io/unschedulable", "operator": "Exists" }]),
        "bare cordoned h100 soft",
        "evicting lost tainted unready",
    );
    // What every pod gets from Kubernetes: such pods stay for a while, but are not placed anew.
    let stay = |key: &str| json!({ "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 });
    let usual = json!([stay("node.kubernetes.io/not-ready"), stay("node.kubernetes.io/unreachable")]);
    check(usual, "bare h100 soft", CLOSED);
    check(
        json!([{ "key": "node.kubernetes.io/not-ready", "operator": "Exists" }]),
        "bare h100 lost soft unready",
        "cordoned evicting tainted",
    );
}

#[test]
fn kinds_that_come_to_the_same_nodes_are_one() {
    let pod = |name: &str, spec: Value| {
        let mut spec = spec;
        spec["schedulerName"] = "trellis".into();
        json!({ "kind": "Pod", "metadata": { "name": name }, "spec": spec })
    };
    let mut values = nodes();
    values.push(pod("a", json!({ "nodeSelector": { "gpu": "h100" } })));
    values.push(pod(
        "b",
        affinity(&json!([{ "matchExpressions": [{ "key": "gpu", "operator": "In", "values": ["h100"] }] }])),
    ));
    values.push(pod("c", json!({ "nodeSelector": { "gpu": "gb200" } })));
    let problem = posed(&values);
    let used: Vec<usize> = problem.gangs.iter().flat_map(|gang| gang.pods.iter().map(|pod| pod.eligibility)).collect();
    assert_eq!((used, problem.cluster.eligibility.len()), (vec![0, 0, 1], 2));
}
