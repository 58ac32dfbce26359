//! What is refused, and how it is told.

use crate::gangs::{merge, node, pod};
use crate::support::faults;
use serde_json::{Value, json};

fn check(values: &[Value], expected: &[&str]) {
    assert_eq!(faults(values), expected);
    let mut reversed = values.to_vec();
    reversed.reverse();
    assert_eq!(faults(&reversed).len(), expected.len());
}

fn named(kind: &str, name: &str, more: &Value) -> Value {
    let mut value = json!({ "kind": kind, "metadata": { "name": name } });
    merge(&mut value, more);
    value
}

#[test]
fn names_are_there_once() {
    check(
        &[node("n", &json!({})), node("n", &json!({})), node("m", &json!({}))],
        &["Node n: metadata.name: Duplicate value: \"n\""],
    );
    check(&[pod("p", &json!({})), pod("p", &json!({}))], &["Pod team/p: metadata.name: Duplicate value: \"p\""]);
    let gang = named("PodGang", "g", &json!({ "spec": { "podgroups": [] } }));
    check(&[gang.clone(), gang], &["PodGang g: metadata.name: Duplicate value: \"g\""]);
    let group = named("PodGroup", "g", &json!({ "spec": {} }));
    check(&[group.clone(), group], &["PodGroup g: metadata.name: Duplicate value: \"g\""]);
    let topology = named("ClusterTopology", "t", &json!({ "spec": { "levels": [] } }));
    check(&[topology.clone(), topology], &["ClusterTopology t: metadata.name: Duplicate value: \"t\""]);
    let zones = named("NodeResourceTopology", "n", &json!({}));
    check(&[zones.clone(), zones], &["NodeResourceTopology n: metadata.name: Duplicate value: \"n\""]);
    let class = named("PriorityClass", "c", &json!({ "value": 1 }));
    check(&[class.clone(), class], &["PriorityClass c: metadata.name: Duplicate value: \"c\""]);
    check(
        &[
            json!({ "kind": "Pod" }),
            json!({ "kind": "Node" }),
            json!({ "kind": "PodGang", "metadata": {}, "spec": { "podgroups": [] } }),
        ],
        &[
            "Node : metadata.name: Required value: objects are told apart by their names",
            "Pod : metadata.name: Required value: objects are told apart by their names",
            "PodGang : metadata.name: Required value: objects are told apart by their names",
        ],
    );
}

#[test]
fn quantities() {
    let offers = |cpu: &str| named("Node", "n", &json!({ "status": { "allocatable": { "cpu": cpu } } }));
    check(&[offers("-1")], &["Node n: status.allocatable[cpu]: Invalid value: \"-1\": must not be negative"]);
    let asks = json!({ "spec": { "containers": [{ "name": "c", "resources": { "limits": { "cpu": "-2" } } }] } });
    check(
        &[pod("p", &asks)],
        &["Pod team/p: spec.containers[0].resources.limits[cpu]: Invalid value: \"-2\": must not be negative"],
    );
    let zones = json!({ "zones": [{ "name": "z", "type": "Node", "resources": [{ "name": "cpu", "available": "-3" }, { "name": "x" }] }] });
    check(
        &[named("NodeResourceTopology", "n", &zones)],
        &[
            "NodeResourceTopology n: zones[0].resources[0].available: Invalid value: \"-3\": must not be negative",
            "NodeResourceTopology n: zones[0].resources[1].available: Required value: what is free of the resource (e.g. '4')",
        ],
    );
}

#[test]
fn sums_are_numbers_and_the_largest_is_at_fault() {
    let offers = |name: &str, disk: &str| {
        named("Node", name, &json!({ "status": { "allocatable": { "ephemeral-storage": disk } } }))
    };
    check(
        &[offers("a", "2Ei"), offers("b", "3Ei")],
        &["Node b: status.allocatable[ephemeral-storage]: Invalid value: \"3Ei\": all nodes together have more \
           ephemeral-storage than can be counted"],
    );
    let asks = |name: &str, memory: &str| {
        pod(
            name,
            &json!({ "spec": { "containers": [{ "name": "c", "resources": { "requests": { "memory": memory } } }] } }),
        )
    };
    check(
        &[asks("a", "3Ei"), asks("b", "1Ei")],
        &[
            "Pod team/a: spec.containers: Invalid value: \"memory: 3Ei\": all pods together ask for more memory than can be counted",
        ],
    );
    let zone = |disk: &str| json!({ "zones": [{ "name": "z", "type": "Node", "resources": [{ "name": "d", "available": disk }] }] });
    check(
        &[named("NodeResourceTopology", "a", &zone("2Ei")), named("NodeResourceTopology", "b", &zone("3Ei"))],
        &[
            "NodeResourceTopology b: zones[0].resources[0].available: Invalid value: \"3458764513820540928\": all zones \
           together have more d than can be counted",
        ],
    );
    let pool = json!({ "spec": { "pools": [{ "name": "p", "hosts": 5, "resources": { "memory": "1Ei" } }] } });
    check(
        &[named("SimulatedCluster", "s", &pool)],
        &[
            "SimulatedCluster s: spec.pools[0].resources[memory]: Invalid value: \"1Ei\": all nodes together have more memory \
           than can be counted",
        ],
    );
}

#[test]
fn affinities_taints_and_tolerations() {
    let terms = json!([{ "matchExpressions": [{ "key": "a", "operator": "Is", "values": ["b"] }, { "key": "a", "operator": "In" },
                                              { "key": "a", "operator": "Gt", "values": ["b"] }],
                         "matchFields": [{ "key": "spec.x", "operator": "Exists" }] }]);
    let required = json!({ "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": terms } });
    let spec = json!({ "schedulerName": "trellis", "affinity": { "nodeAffinity": required },
                       "tolerations": [{ "operator": "Has" }] });
    let at =
        "Pod team/p: spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]";
    let operators = "supported values: \"In\", \"NotIn\", \"Exists\", \"DoesNotExist\", \"Gt\", \"Lt\"";
    check(
        &[pod("p", &json!({ "spec": spec }))],
        &[
            &format!("{at}.matchExpressions[0].operator: Unsupported value: \"Is\": {operators}"),
            &format!("{at}.matchExpressions[1].values: Required value: operator In needs at least one value"),
            &format!(
                "{at}.matchExpressions[2].values: Invalid value: [\"b\"]: operator Gt needs exactly one whole number"
            ),
            &format!("{at}.matchFields[0].key: Unsupported value: \"spec.x\": supported values: \"metadata.name\""),
            &format!(
                "{at}.matchFields[0].operator: Unsupported value: \"Exists\": supported values: \"In\", \"NotIn\""
            ),
            "Pod team/p: spec.tolerations[0].operator: Unsupported value: \"Has\": supported values: \"Equal\", \"Exists\"",
        ],
    );
    let taints = json!({ "spec": { "taints": [{ "key": "a", "effect": "Never" }] } });
    check(
        &[named("Node", "n", &taints)],
        &["Node n: spec.taints[0].effect: Unsupported value: \"Never\": supported values: \"NoSchedule\", \
           \"PreferNoSchedule\", \"NoExecute\""],
    );
}

#[test]
fn pods_are_in_one_gang() {
    let gang = |name: &str, groups: Value, configs: Value| {
        named("PodGang", name, &json!({ "spec": { "podgroups": groups, "topologyConstraintGroupConfigs": configs } }))
    };
    let group = |name: &str, min: i32, pods: &[&str]| {
        let pods: Value = pods.iter().map(|name| json!({ "namespace": "default", "name": name })).collect();
        json!({ "name": name, "minReplicas": min, "podReferences": pods })
    };
    check(
        &[
            gang("a", json!([group("x", 1, &["p"])]), json!([])),
            gang("b", json!([group("x", 1, &["q", "p"])]), json!([])),
        ],
        &[
            "PodGang b: spec.podgroups[0].podReferences[1]: Invalid value: \"p\": the pod is a member of PodGang default/a \
           already (spec.podgroups[0].podReferences[0]); a pod is in one gang, and once",
        ],
    );
    check(
        &[gang("a", json!([group("x", 1, &["p"]), group("y", -1, &["p"])]), json!([]))],
        &[
            "PodGang a: spec.podgroups[1].minReplicas: Invalid value: -1: must be 0 or more",
            "PodGang a: spec.podgroups[1].podReferences[0]: Invalid value: \"p\": the pod is a member of PodGang default/a \
             already (spec.podgroups[0].podReferences[0]); a pod is in one gang, and once",
        ],
    );
    let configs = json!([{ "name": "c", "podGroupNames": ["x"] }, { "name": "c", "podGroupNames": ["x", "z"] }]);
    check(
        &[gang("a", json!([group("x", 1, &[]), group("x", 1, &[])]), configs)],
        &[
            "PodGang a: spec.podgroups[1].name: Duplicate value: \"x\"",
            "PodGang a: spec.topologyConstraintGroupConfigs[1].name: Duplicate value: \"c\"",
            "PodGang a: spec.topologyConstraintGroupConfigs[1].podGroupNames[0]: Invalid value: \"x\": the pod group is in \
             config c already; it can be in one",
            "PodGang a: spec.topologyConstraintGroupConfigs[1].podGroupNames[1]: Not found: \"z\": must be the name of a pod \
             group of this gang",
        ],
    );
    let elsewhere =
        json!([{ "name": "x", "minReplicas": 1, "podReferences": [{ "namespace": "other", "name": "p" }] }]);
    check(
        &[gang("a", elsewhere, json!([]))],
        &[
            "PodGang a: spec.podgroups[0].podReferences[0].namespace: Invalid value: \"other\": must be default: the pods of a \
           gang are in its namespace",
        ],
    );
}

#[test]
fn bases_and_parents_do_not_go_in_circles() {
    let based = |name: &str, base: &str| {
        let metadata = json!({ "labels": { "grove.io/base-podgang": base } });
        named("PodGang", name, &json!({ "metadata": metadata, "spec": { "podgroups": [] } }))
    };
    let fault = |name: &str, base: &str| {
        format!(
            "PodGang {name}: metadata.labels[grove.io/base-podgang]: Invalid value: \"{base}\": a gang cannot be its own base, \
             also not by way of others"
        )
    };
    check(
        &[based("a", "b"), based("b", "c"), based("c", "b"), based("d", "d"), based("e", "gone")],
        &[&fault("b", "c"), &fault("c", "b"), &fault("d", "d")],
    );
    let group = |sub_groups: Value| named("PodGroup", "g", &json!({ "spec": { "subGroups": sub_groups } }));
    check(
        &[group(
            json!([{ "name": "a", "parent": "b" }, { "name": "b", "parent": "A" }, { "name": "c", "parent": "c" },
                       { "name": "d", "parent": "a" }]),
        )],
        &[
            "PodGroup g: spec.subGroups[0].parent: Invalid value: \"b\": a subgroup cannot be its own parent, also not by way \
             of others",
            "PodGroup g: spec.subGroups[1].parent: Invalid value: \"A\": a subgroup cannot be its own parent, also not by way \
             of others",
            "PodGroup g: spec.subGroups[2].parent: Invalid value: \"c\": a subgroup cannot be its own parent, also not by way \
             of others",
        ],
    );
    check(
        &[group(json!([{ "name": "a" }, { "name": "a", "minMember": -1 }, { "name": "", "parent": "x" }]))],
        &[
            "PodGroup g: spec.subGroups[1].name: Duplicate value: \"a\"",
            "PodGroup g: spec.subGroups[2].name: Required value: subgroups are told apart by their names",
            "PodGroup g: spec.subGroups[2].parent: Not found: \"x\": must be the name of a subgroup of this group",
        ],
    );
    check(
        &[group(
            json!([{ "name": "a", "minMember": -1 }, { "name": "b", "minSubGroup": -1 }, { "name": "c", "parent": "b" }]),
        )],
        &[
            "PodGroup g: spec.subGroups[0].minMember: Invalid value: -1: must be 1 or more",
            "PodGroup g: spec.subGroups[1].minSubGroup: Invalid value: -1: must be 0 or more",
        ],
    );
    let chain: Value = (0..70)
        .map(
            |i| json!({ "name": format!("g{i}"), "parent": if i > 0 { format!("g{}", i - 1) } else { String::new() } }),
        )
        .collect();
    check(
        &[group(chain)],
        &["PodGroup g: spec.subGroups[64].parent: Invalid value: \"g63\": subgroups can be nested 64 deep"],
    );
}

#[test]
fn topologies_have_a_level_once() {
    let levels =
        json!([{ "domain": "zone", "key": "z" }, { "domain": "zone", "key": "y" }, { "domain": "rack", "key": "z" }]);
    let kai = json!([{ "nodeLabel": "z" }, { "nodeLabel": "z" }]);
    check(
        &[
            named("ClusterTopology", "t", &json!({ "spec": { "levels": levels } })),
            named("Topology", "t", &json!({ "spec": { "levels": kai } })),
        ],
        &[
            "ClusterTopology t: spec.levels[1].domain: Duplicate value: \"zone\"",
            "ClusterTopology t: spec.levels[2].key: Duplicate value: \"z\"",
            "Topology t: spec.levels[1].nodeLabel: Duplicate value: \"z\"",
        ],
    );
    let zones =
        json!({ "zones": [{ "name": "z", "type": "Node" }, { "name": "z", "type": "Node" }, { "type": "Node" }] });
    check(
        &[named("NodeResourceTopology", "n", &zones)],
        &[
            "NodeResourceTopology n: zones[1].name: Duplicate value: \"z\"",
            "NodeResourceTopology n: zones[2].name: Required value: zones are told apart by their names",
        ],
    );
}
