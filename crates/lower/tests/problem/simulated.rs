//! SimulatedClusters.

use crate::gangs::{merge, node};
use crate::support::{faults, object, posed};
use serde_json::{Value, json};
use trellis_api::kinds::SimulatedCluster;
use trellis_lower::problem::simulated::nodes;

fn cluster(name: &str, pools: &Value) -> Value {
    json!({ "kind": "SimulatedCluster", "metadata": { "name": name }, "spec": { "pools": pools } })
}

/// The pool of the issue.
fn gb200() -> Value {
    json!({
        "name": "gb200",
        "levels": [
            { "key": "topology.kubernetes.io/zone", "count": 1 },
            { "key": "example.com/block", "count": 2 },
            { "key": "example.com/rack", "count": 4, "prefix": "r" },
        ],
        "hosts": 18,
        "resources": { "cpu": "128", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": 4 },
        "labels": { "gpu": "gb200" },
        "taints": [{ "key": "gpu", "effect": "NoSchedule" }],
    })
}

#[test]
fn domains_are_numbered_through_the_pool() {
    let cluster: SimulatedCluster =
        object(&cluster("demo", &json!([gb200(), { "name": "cpu", "hosts": 2 }, { "name": "off", "hosts": 0 }])));
    let nodes: Vec<_> = nodes(&cluster).expect("no fault").collect();
    assert_eq!(nodes.len(), 8 * 18 + 2);
    let check = |i: usize, expected: &Value| {
        assert_eq!(serde_json::to_value(&nodes[i].metadata).expect("JSON"), *expected);
    };
    let labels = |host: &str, block: &str, rack: &str| {
        json!({ "gpu": "gb200", "kubernetes.io/hostname": host, "topology.kubernetes.io/zone": "zone0",
                "example.com/block": block, "example.com/rack": rack })
    };
    check(0, &json!({ "name": "gb200-0", "labels": labels("gb200-0", "block0", "r0") }));
    check(17, &json!({ "name": "gb200-17", "labels": labels("gb200-17", "block0", "r0") }));
    check(18, &json!({ "name": "gb200-18", "labels": labels("gb200-18", "block0", "r1") }));
    check(72, &json!({ "name": "gb200-72", "labels": labels("gb200-72", "block1", "r4") }));
    check(143, &json!({ "name": "gb200-143", "labels": labels("gb200-143", "block1", "r7") }));
    check(145, &json!({ "name": "cpu-1", "labels": { "kubernetes.io/hostname": "cpu-1" } }));
    let status = json!({ "allocatable": { "cpu": "128", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": "4" } });
    assert_eq!(serde_json::to_value(&nodes[0].status).expect("JSON"), status);
    let spec = json!({ "taints": [{ "key": "gpu", "effect": "NoSchedule" }] });
    assert_eq!(serde_json::to_value(&nodes[0].spec).expect("JSON"), spec);
}

#[test]
fn simulated_nodes_are_nodes() {
    let problem = posed(&[cluster("demo", &json!([gb200()])), node("real", &json!({}))]);
    assert_eq!(problem.cluster.nodes.len(), 8 * 18 + 1);
    assert_eq!(problem.cluster.resources, ["cpu", "memory", "nvidia.com/gpu", "pods"]);
    assert_eq!(problem.cluster.nodes[0].allocatable, [128_000, 1 << 40, 4, 110]);
}

/// Spoils the pool and compares what is told.
fn check(more: &Value, expected: &[&str]) {
    let mut pool = gb200();
    merge(&mut pool, more);
    let expected: Vec<String> =
        expected.iter().map(|fault| format!("SimulatedCluster demo: spec.pools{fault}")).collect();
    assert_eq!(faults(&[cluster("demo", &json!([pool]))]), expected);
}

#[test]
fn faults_name_the_field() {
    check(&json!({ "hosts": -1 }), &["[0].hosts: Invalid value: -1: must be 0 or more"]);
    let level =
        |key: &str, count: i64, prefix: &Value| json!({ "levels": [{ "key": key, "count": count, "prefix": prefix }] });
    check(&level("rack", 0, &Value::Null), &["[0].levels[0].count: Invalid value: 0: must be 1 or more"]);
    check(&level("rack", -5, &Value::Null), &["[0].levels[0].count: Invalid value: -5: must be 1 or more"]);
    check(
        &level("kubernetes.io/hostname", 1, &Value::Null),
        &[
            "[0].levels[0].key: Invalid value: \"kubernetes.io/hostname\": is set to the name of the node; levels are wider than that",
        ],
    );
    let label_key = "must be a label key: an optional prefix and '/', and 1 to 63 letters, digits, '-', '_' or '.', starting \
                     and ending with a letter or digit (e.g. 'topology.kubernetes.io/zone')";
    let label_value = "must be a label value: at most 63 letters, digits, '-', '_' or '.', starting and ending with a letter or digit";
    check(&level("a/b/c", 1, &json!("r")), &[&format!("[0].levels[0].key: Invalid value: \"a/b/c\": {label_key}")]);
    check(
        &level("rack", 1, &json!("-r")),
        &[&format!("[0].levels[0].prefix: Invalid value: \"-r\": a number follows, and together they {label_value}")],
    );
    let long = "r".repeat(60);
    check(
        &level(&long, 1, &Value::Null),
        &["[0].levels[0].prefix: Required value: is needed: the key is too long to make label values of"],
    );
    check(
        &json!({ "levels": [{ "key": "a", "count": 1 }, { "key": "a", "count": 1 }] }),
        &["[0].levels[1].key: Duplicate value: \"a\""],
    );
    check(
        &json!({ "labels": { "example.com/rack": "r", "kubernetes.io/hostname": "n", "a": "b c" } }),
        &[
            &format!("[0].labels[a]: Invalid value: \"b c\": {label_value}"),
            "[0].labels[example.com/rack]: Forbidden: is a level of the pool or the name of the node, and may not be set",
            "[0].labels[kubernetes.io/hostname]: Forbidden: is a level of the pool or the name of the node, and may not be set",
        ],
    );
    check(
        &json!({ "resources": { "cpu": "-1" } }),
        &["[0].resources[cpu]: Invalid value: \"-1\": must not be negative"],
    );
    check(
        &json!({ "taints": [{ "key": "", "effect": "No" }] }),
        &[
            "[0].taints[0].effect: Unsupported value: \"No\": supported values: \"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\"",
            &format!("[0].taints[0].key: Invalid value: \"\": {label_key}"),
        ],
    );
    let name = "must be lower case letters, digits and '-', starting with a letter or digit (e.g. 'gb200'); nodes are called \
                <name>-<number>";
    for text in ["", "A", "-a", "a.b", "ä"] {
        check(&json!({ "name": text }), &[&format!("[0].name: Invalid value: {text:?}: {name}")]);
    }
    let long = "a".repeat(60);
    check(
        &json!({ "name": long }),
        &[&format!(
            "[0].name: Invalid value: {long:?}: must leave room for '-' and a number: at most 63 characters in all"
        )],
    );
}

#[test]
fn a_million_nodes_and_no_more() {
    check(&json!({ "hosts": 125_001 }), &[": Too many: 1000008: must have at most 1000000 nodes in all"]);
    check(&json!({ "hosts": i64::MAX }), &[": Too many: \"uncountable\": must have at most 1000000 nodes in all"]);
    let most: SimulatedCluster = object(&cluster("most", &json!([{ "name": "a", "hosts": 1_000_000 }])));
    assert_eq!(nodes(&most).expect("no fault").take(10).count(), 10);
}

#[test]
fn nodes_of_one_name_are_refused() {
    let two = cluster("demo", &json!([{ "name": "a", "hosts": 1 }, { "name": "a", "hosts": 1 }]));
    assert_eq!(faults(&[two]), ["SimulatedCluster demo: spec.pools[1].name: Duplicate value: \"a\""]);
    let pool = |name: &str| cluster(name, &json!([{ "name": "a", "hosts": 3 }]));
    assert_eq!(faults(&[pool("x"), pool("y")]), ["SimulatedCluster y: spec.pools[0].name: Duplicate value: \"a\""]);
    assert_eq!(faults(&[pool("x"), node("a-1", &json!({}))]), ["Node a-1: metadata.name: Duplicate value: \"a-1\""]);
}
