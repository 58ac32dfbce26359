//! KAI's PodGroups, and how they stand beside PodGangs.

use crate::gangs::{cluster_topology, merge, pod};
use crate::support::{anywhere, posed};
use crate::world::outline;
use serde_json::{Value, json};

fn group(name: &str, spec: &Value) -> Value {
    json!({ "kind": "PodGroup", "metadata": { "name": name, "namespace": "team" }, "spec": spec })
}

fn member(name: &str, group: &str, sub_group: &str) -> Value {
    let labels = if sub_group.is_empty() { json!({}) } else { json!({ "kai.scheduler/subgroup-name": sub_group }) };
    pod(name, &json!({ "metadata": { "annotations": { "pod-group-name": group }, "labels": labels } }))
}

fn topology(name: &str, levels: &Value) -> Value {
    json!({ "kind": "Topology", "metadata": { "name": name }, "spec": { "levels": levels } })
}

fn at(topology: &str, required: &str, preferred: &str) -> Value {
    json!({ "topology": topology, "requiredTopologyLevel": required, "preferredTopologyLevel": preferred })
}

fn check(values: &[Value], expected: &str, warnings: &[&str]) {
    let problem = posed(values);
    assert_eq!(outline(&problem).trim(), expected.trim());
    assert_eq!(problem.warnings, warnings);
    let mut reversed = values.to_vec();
    reversed.reverse();
    assert_eq!(anywhere(posed(&reversed)), anywhere(problem), "the order of objects decides nothing");
}

#[test]
fn a_group_without_subgroups_has_one_leaf() {
    let values = [
        group("pg", &json!({ "minMember": 2, "topologyConstraint": at("t", "rack", "host") })),
        group("unsaid", &json!({})),
        topology("t", &json!([{ "nodeLabel": "x/rack", "alias": "rack" }, { "nodeLabel": "host" }])),
        member("a", "pg", ""),
        member("b", "pg", "whatever"),
    ];
    let expected = "
team/pg prio 50
  pg groups 1 required t/rack preferred t/host
    default min 2: a, b
team/unsaid prio 50
  unsaid groups 1
    default min 1";
    check(&values, expected, &[]);
}

#[test]
fn subgroups_are_a_tree_by_their_parents() {
    let sub_groups = json!([
        { "name": "leaf-of-all", "minMember": 3 },
        { "name": "workers", "parent": "Segment", "minMember": 4, "topologyConstraint": at("t", "x/rack", "") },
        { "name": "leader", "parent": "segment" },
        { "name": "segment", "minSubGroup": 1, "minMember": 9, "topologyConstraint": at("t", "x/zone", "") },
    ]);
    let values = [
        group("pg", &json!({ "minMember": 5, "queue": "q", "subGroups": sub_groups })),
        topology("t", &json!([{ "nodeLabel": "x/zone" }, { "nodeLabel": "x/rack" }])),
        member("a", "pg", "workers"),
        member("b", "pg", "leader"),
        member("c", "pg", "segment"),
        member("d", "pg", ""),
        member("e", "pg", "Leader"),
    ];
    let expected = "
team/pg prio 50
  pg groups 2
    leaf-of-all min 3
    segment groups 1 required t/x/zone
      workers min 4 required t/x/rack: a
      leader min 1: b";
    let warnings = [
        "queues are read and, at this time, not enforced",
        "pod team/c is in no subgroup of its PodGroup and waits (2 more like it)",
    ];
    check(&values, expected, &warnings);
}

#[test]
fn more_subgroups_than_there_are_make_the_gang_wait() {
    let sub_groups = json!([{ "name": "a" }, { "name": "b" }]);
    let values = [
        group("elastic", &json!({ "minSubGroup": 0, "subGroups": sub_groups })),
        group("pg", &json!({ "minSubGroup": 3, "subGroups": sub_groups })),
    ];
    let expected = "
team/elastic prio 50
  elastic groups 0
    a min 1
    b min 1
team/pg prio 50 waits: Unsupported { text: \"spec.minSubGroup is 3, and there are 2 subgroups\" }
  pg groups 2
    a min 1
    b min 1";
    check(&values, expected, &[]);
}

#[test]
fn constraints_without_a_topology_are_none() {
    let values = [
        group("level", &json!({ "topologyConstraint": at("", "x/rack", "") })),
        group("topology", &json!({ "topologyConstraint": at("t", "", "") })),
        json!({ "kind": "Queue" }),
    ];
    let expected = "
team/level prio 50
  level groups 1
    default min 1
team/topology prio 50
  topology groups 1
    default min 1";
    let warnings = [
        "queues are read and, at this time, not enforced",
        "PodGroup team/level names a level but no topology, which is no constraint",
    ];
    check(&values, expected, &warnings);
}

#[test]
fn topologies_of_one_name_are_one_if_their_keys_are() {
    let name = "grove-topology";
    let keys = |keys: &[&str]| -> Value { keys.iter().map(|key| json!({ "nodeLabel": key })).collect() };
    let mirror = topology(name, &keys(&["x/zone", "x/rack", "kubernetes.io/hostname"]));
    let other = topology(name, &keys(&["x/rack"]));
    let check = |kai: &Value, count: usize, of_gang: usize, of_group: usize| {
        let gang = json!({ "kind": "PodGang", "metadata": { "name": "a" }, "spec": { "podgroups": [],
                           "topologyConstraint": { "packConstraint": { "required": "x/rack" } } } });
        let group = group("b", &json!({ "topologyConstraint": at(name, "x/rack", "") }));
        let problem = posed(&[cluster_topology(), kai.clone(), gang, group]);
        let used: Vec<usize> =
            problem.gangs.iter().map(|gang| gang.groups[0].constraint.expect("constrained").topology).collect();
        assert_eq!((problem.cluster.topologies.len(), used), (count, vec![of_gang, of_group]));
    };
    check(&mirror, 1, 0, 0);
    check(&other, 2, 0, 1);
}

#[test]
fn a_pod_gang_goes_before_a_pod_group() {
    let refer = |name: &str| json!([{ "name": "w", "minReplicas": 1, "podReferences": [{ "namespace": "team", "name": name }] }]);
    let gang = |name: &str, pod: &str| json!({ "kind": "PodGang", "metadata": { "name": name, "namespace": "team" }, "spec": { "podgroups": refer(pod) } });
    let mut owned = group("pg-b-1234", &json!({}));
    merge(&mut owned, &json!({ "metadata": { "ownerReferences": [{ "kind": "PodGang", "name": "b" }] } }));
    let values = [
        gang("a", "a-0"),
        gang("b", "b-0"),
        gang("c", "c-0"),
        // The operator's, KAI's, one that has lost all its pods to a gang, and one that has not.
        group("a", &json!({})),
        owned,
        group("pg-c", &json!({})),
        group("pg-d", &json!({})),
        member("a-0", "a", ""),
        member("a-1", "a", ""),
        member("b-0", "pg-b-1234", ""),
        member("c-0", "pg-c", ""),
        member("d-0", "pg-d", ""),
    ];
    let expected = "
team/a prio 0
  a groups 1
    w min 1: a-0
team/b prio 0
  b groups 1
    w min 1: b-0
team/c prio 0
  c groups 1
    w min 1: c-0
team/pg-d prio 50
  pg-d groups 1
    default min 1: d-0";
    check(&values, expected, &["pod team/a-1 names a gang that is not there or does not list it, and waits"]);
}
