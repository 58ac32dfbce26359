//! PodGangs and their pods, pods of no gang, and what is on the nodes.

use crate::support::{anywhere, live, only, posed};
use crate::world::outline;
use serde_json::{Value, json};

pub fn node(name: &str, labels: &Value) -> Value {
    let status = json!({ "allocatable": { "cpu": "8", "memory": "64Gi", "pods": "110" } });
    json!({ "kind": "Node", "metadata": { "name": name, "labels": labels }, "status": status })
}

pub fn cluster_topology() -> Value {
    // In another order than widest first.
    let levels = json!([{ "domain": "rack", "key": "x/rack" }, { "domain": "zone", "key": "x/zone" },
                        { "domain": "numa", "key": "x/numa" }, { "domain": "host", "key": "kubernetes.io/hostname" }]);
    json!({ "kind": "ClusterTopology", "metadata": { "name": "grove-topology" }, "spec": { "levels": levels } })
}

pub fn pod(name: &str, more: &Value) -> Value {
    let mut pod = json!({ "kind": "Pod", "metadata": { "name": name, "namespace": "team" },
                          "spec": { "containers": [{ "name": "c", "resources": { "requests": { "cpu": "1" } } }] } });
    merge(&mut pod, more);
    pod
}

/// Puts the fields of an object into another one.
pub fn merge(into: &mut Value, more: &Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            more.iter().for_each(|(key, value)| merge(into.entry(key).or_insert(Value::Null), value));
        }
        (into, more) => *into = more.clone(),
    }
}

fn refer(names: &[&str]) -> Value {
    names.iter().map(|name| json!({ "namespace": "team", "name": name })).collect()
}

pub fn group(name: &str, min: i32, pods: &[&str]) -> Value {
    json!({ "name": name, "minReplicas": min, "podReferences": refer(pods) })
}

pub fn gang(name: &str, groups: &Value, more: &Value) -> Value {
    let mut gang = json!({ "kind": "PodGang", "metadata": { "name": name, "namespace": "team" },
                           "spec": { "podgroups": groups } });
    merge(&mut gang, more);
    gang
}

fn pack(required: &str, preferred: &str) -> Value {
    json!({ "packConstraint": { "required": required, "preferred": preferred } })
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
fn a_gang_is_a_tree_of_configs_and_groups() {
    let groups =
        json!([group("lead", 1, &["lead-0"]), group("w-0", 2, &["w-0-a", "w-0-b", "w-0-gone"]), group("w-1", 0, &[])]);
    let mut groups = groups;
    groups[1]["topologyConstraint"] = pack("kubernetes.io/hostname", "");
    let configs = json!([
        { "name": "workers", "podGroupNames": ["w-0", "w-1"], "topologyConstraint": pack("rack", "host") },
        { "name": "nobody", "podGroupNames": [] },
    ]);
    let spec = json!({ "spec": { "topologyConstraint": pack("x/zone", "x/rack"), "topologyConstraintGroupConfigs": configs } });
    let expected = "
team/g prio 0
  g groups 2 required grove-topology/zone preferred grove-topology/rack
    workers groups 2 required grove-topology/rack preferred grove-topology/host
    lead min 1: lead-0
      w-0 min 2 required grove-topology/host: w-0-a, w-0-b
      w-1 min 0";
    let pods = [pod("lead-0", &json!({})), pod("w-0-b", &json!({})), pod("w-0-a", &json!({}))];
    let values = [&[cluster_topology(), gang("g", &groups, &spec)], pods.as_slice()].concat();
    check(&values, expected, &[]);
}

#[test]
fn a_gang_has_class_base_and_reservation() {
    let class = |name: &str, value: i32, default: bool| json!({ "kind": "PriorityClass", "metadata": { "name": name }, "value": value, "globalDefault": default });
    let labelled = json!({ "metadata": { "labels": { "grove.io/base-podgang": "base" } } });
    let values = [
        gang("base", &json!([]), &json!({ "spec": { "priorityClassName": "high" } })),
        gang("by-label", &json!([]), &labelled),
        gang("by-pod", &json!([group("a", 1, &["p"])]), &json!({ "spec": { "priorityClassName": "none" } })),
        gang("critical", &json!([]), &json!({ "spec": { "priorityClassName": "system-node-critical" } })),
        gang("kept", &json!([]), &json!({ "metadata": { "annotations": { "trellis.dev/reserve": "true" } } })),
        pod("p", &labelled),
        class("high", 1000, false),
        class("usual", 7, true),
        class("other", 9, true),
    ];
    let expected = "
team/base prio 1000
  base groups 0
team/by-label prio 7 base base
  by-label groups 0
team/by-pod prio 7 base base
  by-pod groups 1
    a min 1: p
team/critical prio 2000001000
  critical groups 0
team/kept prio 7 reserve
  kept groups 0";
    check(&values, expected, &["PriorityClass none is not there; 1 gang names it and has the default priority"]);
}

#[test]
fn age_is_in_seconds_and_what_is_not_created_is_youngest() {
    let created = json!({ "metadata": { "creationTimestamp": "2026-01-02T03:04:05Z" } });
    let problem = posed(&[gang("old", &json!([]), &created), gang("new", &json!([]), &json!({}))]);
    let ages: Vec<i64> = problem.gangs.iter().map(|gang| gang.created).collect();
    assert_eq!(ages, [i64::MAX, 1_767_323_045]);
}

#[test]
fn levels_that_are_not_there_make_the_gang_wait() {
    let check = |annotation: &str, constraint: Value, expected: &str| {
        let metadata = json!({ "annotations": { "grove.io/topology-name": annotation } });
        let more = json!({ "metadata": metadata, "spec": { "topologyConstraint": constraint } });
        let problem = posed(&[cluster_topology(), gang("g", &json!([group("a", 1, &[])]), &more)]);
        let unready = only(problem.gangs).unready.map(|unready| format!("{unready:?}")).unwrap_or_default();
        assert_eq!(unready, expected);
    };
    check("", pack("x/rack", ""), "");
    check("grove-topology", pack("x/rack", "x/zone"), "");
    check("other", pack("", ""), "");
    check("other", pack("x/rack", ""), r#"UnknownTopology { group: "g", topology: "other" }"#);
    let unknown =
        |level: &str| format!(r#"UnknownLevel {{ group: "g", topology: "grove-topology", level: "{level}" }}"#);
    check("grove-topology", pack("x/block", ""), &unknown("x/block"));
    check("grove-topology", pack("x/rack", "x/block"), &unknown("x/block"));
    check("grove-topology", pack("", "block"), &unknown("block"));
}

#[test]
fn members_are_pods_that_wait_or_run() {
    let spec = |spec: Value| json!({ "spec": spec });
    let on = |node: &str| spec(json!({ "nodeName": node }));
    let gated = |gate: &str| spec(json!({ "schedulingGates": [{ "name": gate }] }));
    let phase = |phase: &str| json!({ "spec": { "nodeName": "n0" }, "status": { "phase": phase } });
    let leaving = |node: &str| {
        let metadata = json!({ "deletionTimestamp": "2026-01-02T03:04:05Z" });
        json!({ "metadata": metadata, "spec": { "nodeName": node } })
    };
    let owned = |api_version: &str, kind: &str| {
        let owner = json!({ "apiVersion": api_version, "kind": kind, "name": "unseen", "uid": "u" });
        json!({ "metadata": { "ownerReferences": [owner] }, "spec": { "schedulerName": "trellis" } })
    };
    let names = ["bound", "done", "failed", "gated", "going", "gone", "lost", "ours", "waits"];
    let mut values = vec![
        node("n0", &json!({})),
        gang("g", &json!([group("a", 5, &names), group("b", 1, &["finished", "finished-too"])]), &json!({})),
        pod("bound", &on("n0")),
        pod("done", &phase("Succeeded")),
        pod("failed", &phase("Failed")),
        pod("gated", &gated("example.com/quota")),
        pod("going", &leaving("n0")),
        pod("gone", &leaving("")),
        pod("lost", &on("n9")),
        pod("ours", &gated("grove.io/podgang-pending-creation")),
        pod("waits", &json!({})),
        pod("finished", &phase("Succeeded")),
        pod("finished-too", &phase("Succeeded")),
        // Pods of no gang.
        pod("daemon", &on("n0")),
        pod("elsewhere", &on("n8")),
        pod("other", &json!({})),
        pod("another", &json!({})),
        pod("alone", &spec(json!({ "schedulerName": "trellis", "priority": 3 }))),
        pod("g", &spec(json!({ "schedulerName": "trellis" }))),
        pod("held", &spec(json!({ "schedulerName": "trellis", "schedulingGates": [{ "name": "x" }] }))),
        pod(
            "early",
            &json!({ "metadata": { "labels": { "grove.io/podgang": "g" } }, "spec": { "schedulerName": "trellis" } }),
        ),
        pod(
            "orphan",
            &json!({ "metadata": { "annotations": { "pod-group-name": "pg" } }, "spec": { "schedulerName": "trellis" } }),
        ),
        pod("owned", &owned("scheduler.grove.io/v1alpha1", "PodGang")),
        pod("owned-too", &owned("scheduling.run.ai/v2alpha2", "PodGroup")),
        pod("owned-by-others", &owned("other.io/v1", "PodGroup")),
    ];
    let expected = "
team/alone prio 3
  alone groups 1
    default min 1: alone
team/g prio 0
  g groups 2
    a min 4: bound@n0, ours, waits
    b min 0
team/owned-by-others prio 0
  owned-by-others groups 1
    default min 1: owned-by-others
team/pod/g prio 0
  pod/g groups 1
    default min 1: g";
    let warnings = [
        "pod team/early names a gang that is not there or does not list it, and waits (3 more like it)",
        "pod team/held is held by a scheduling gate and counts as not there (1 more like it)",
        "pod team/another waits for another scheduler and is not looked at (1 more like it)",
        "pod team/elsewhere on n8 runs on a node that is not there and is not looked at (1 more like it)",
    ];
    check(&values, expected, &warnings);
    let problem = posed(&values);
    let occupants: Vec<&str> = problem.cluster.occupants.iter().map(|occupant| occupant.name.as_str()).collect();
    assert_eq!(occupants, ["daemon", "going"]);
    assert_eq!(*problem.cluster.occupants[0].request, [1000, 0, 1]);
    values.clear();
    assert_eq!(posed(&values).cluster.resources, ["pods"]);
}

#[test]
fn what_is_not_done_makes_the_gang_wait_in_words() {
    let check = |more: Value, expected: &str| {
        let values = [gang("g", &json!([group("a", 1, &["p"])]), &json!({})), pod("p", &more)];
        let unready = only(posed(&values).gangs).unready;
        let text = match &unready {
            Some(trellis_engine::Unready::Unsupported { text }) => text.as_str(),
            None => "",
            other => panic!("{other:?}"),
        };
        assert_eq!(text, expected);
    };
    let spec = |spec: Value| json!({ "spec": spec });
    check(json!({}), "");
    check(
        spec(json!({ "resourceClaims": [{ "name": "gpu" }] })),
        "pod p asks for the resource claim gpu (spec.resourceClaims[0]); resource claims are not planned",
    );
    let spread = |when: &str| json!({ "topologySpreadConstraints": [{ "whenUnsatisfiable": when }] });
    check(spec(spread("ScheduleAnyway")), "");
    check(
        spec(spread("DoNotSchedule")),
        "pod p has to be spread (spec.topologySpreadConstraints[0].whenUnsatisfiable: DoNotSchedule); spreading is not planned",
    );
    check(
        json!({ "metadata": { "annotations": { "gpu-fraction": "0.5" } } }),
        "pod p asks for a part of a GPU (metadata.annotations[gpu-fraction]); sharing of GPUs is not planned",
    );
    // Pods that run are where they are.
    check(spec(json!({ "nodeName": "n", "resourceClaims": [{ "name": "gpu" }] })), "");
}

#[test]
fn nodes_have_paths_up_to_the_first_missing_label() {
    let full = json!({ "x/zone": "z", "x/rack": "r", "kubernetes.io/hostname": "n0" });
    let values = [
        cluster_topology(),
        node("n0", &full),
        node("n1", &json!({ "x/zone": "z", "kubernetes.io/hostname": "n1" })),
        node("n2", &json!({ "x/rack": "r" })),
        json!({ "kind": "Node", "metadata": { "name": "n3" }, "status": { "capacity": { "nvidia.com/gpu": 4, "memory": "0" } } }),
    ];
    let cluster = posed(&values).cluster;
    let paths: Vec<&[String]> = cluster.nodes.iter().map(|node| node.paths[0].as_slice()).collect();
    assert_eq!(paths, [&["z".to_owned(), "r".to_owned(), "n0".to_owned()][..], &["z".to_owned()], &[], &[]]);
    assert_eq!(cluster.resources, ["cpu", "memory", "nvidia.com/gpu", "pods"]);
    assert_eq!(cluster.nodes[0].allocatable, [8000, 64 << 30, 0, 110]);
    assert_eq!(cluster.nodes[3].allocatable, [0, 0, 4, 110]);
    let levels: Vec<(&str, bool)> = cluster.topologies[0].levels.iter().map(|l| (l.name.as_str(), l.is_zone)).collect();
    assert_eq!(levels, [("zone", false), ("rack", false), ("host", false), ("numa", true)]);
}

#[test]
fn zones_come_from_node_resource_topologies() {
    let zone = |name: &str, cpu: Value| {
        json!({ "name": name, "type": "Node", "resources": [{ "name": "cpu", "capacity": 8, "allocatable": 8, "available": cpu },
                                                            { "name": "unheard-of", "available": "1" }] })
    };
    let zones =
        json!([zone("node-1", json!("3500m")), zone("node-0", json!(0)), { "name": "socket", "type": "Socket" }]);
    let in_zone = |name: &str, zone: &str| {
        let metadata = json!({ "annotations": { "trellis.dev/numa-zone": zone } });
        pod(name, &json!({ "metadata": metadata, "spec": { "nodeName": "n0" } }))
    };
    let groups = json!([{ "name": "a", "minReplicas": 1, "podReferences": refer(&["p", "q", "r"]),
                          "topologyConstraint": pack("numa", "") }]);
    let values = [
        cluster_topology(),
        node("n0", &json!({})),
        json!({ "kind": "NodeResourceTopology", "metadata": { "name": "n0" }, "zones": zones }),
        gang("g", &groups, &json!({})),
        in_zone("p", "node-1"),
        in_zone("q", "node-7"),
        pod("r", &json!({ "spec": { "nodeName": "n0" } })),
    ];
    let expected = "
team/g prio 0
  g groups 1
    a min 1 required grove-topology/numa: p@n0/node-1, q@n0, r@n0";
    check(&values, expected, &["pod team/q in node-7 of n0 names a zone that its node does not have"]);
    let cluster = posed(&values).cluster;
    let zones: Vec<_> =
        cluster.nodes[0].zones.iter().map(|zone| (zone.name.as_str(), zone.available.clone())).collect();
    let free = |cpu: i64| vec![Some(cpu), None, None];
    assert_eq!(zones, [("node-0", free(0)), ("node-1", free(3500))]);
}

/// What is free is reported some time after a pod has come; until then the pod is taken off all that there is.
#[test]
fn what_pods_were_given_in_a_zone_is_not_free_whatever_is_reported() {
    let zone = |name: &str, cpu: Value| json!({ "name": name, "type": "Node", "resources": [cpu] });
    let zones = json!([
        zone("a", json!({ "name": "cpu", "capacity": 9, "allocatable": 8, "available": 8 })),
        zone("b", json!({ "name": "cpu", "capacity": 8, "available": 1 })),
        zone("c", json!({ "name": "cpu", "allocatable": 8 })),
        zone("d", json!({ "name": "cpu", "available": 8 })),
        zone("e", json!({ "name": "cpu", "allocatable": 1, "available": 1 })),
    ]);
    let in_zone = |name: &str, zone: &str, more: Value| {
        let mut object = pod(
            name,
            &json!({
                "metadata": { "annotations": { "trellis.dev/numa-zone": zone } },
                "spec": { "nodeName": "n0", "containers": [{ "resources": { "requests": { "cpu": 3 } } }] },
            }),
        );
        merge(&mut object, &more);
        object
    };
    let values = [
        node("n0", &json!({})),
        json!({ "kind": "NodeResourceTopology", "metadata": { "name": "n0" }, "zones": zones }),
        in_zone("a0", "a", json!({})),
        // On its way out it is still there, and once it is done it is not.
        in_zone("a1", "a", json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } })),
        in_zone("a2", "a", json!({ "status": { "phase": "Succeeded" } })),
        in_zone("b0", "b", json!({})),
        in_zone("c0", "c", json!({})),
        in_zone("d0", "d", json!({})),
        in_zone("e0", "e", json!({})),
    ];
    let cluster = posed(&values).cluster;
    let cpu = cluster.resources.iter().position(|name| name == "cpu").expect("cpu");
    let free: Vec<_> = cluster.nodes[0].zones.iter().map(|zone| (zone.name.as_str(), zone.available[cpu])).collect();
    let thousands = [("a", 2), ("b", 1), ("c", 5), ("d", 8), ("e", 0)];
    assert_eq!(free, thousands.map(|(name, cores)| (name, Some(cores * 1000))));
}

/// In a running cluster our gate holds pods back; those of a scaled gang are known, so that their base can reckon with them.
#[test]
fn members_of_a_scaled_gang_that_are_held_back_are_known() {
    let ours = "grove.io/podgang-pending-creation";
    let gated = |gates: &[&str], labels: Value| {
        let gates: Value = gates.iter().map(|name| json!({ "name": name })).collect();
        json!({ "metadata": { "labels": labels }, "spec": { "schedulingGates": gates } })
    };
    let scaled = json!({ "grove.io/base-podgang": "base" });
    let values = [
        node("n1", &json!({})),
        gang("base", &json!([group("w", 1, &["base-0"])]), &json!({})),
        gang(
            "more",
            &json!([group("w", 2, &["more-0", "more-1", "more-2"])]),
            &json!({ "metadata": { "labels": scaled } }),
        ),
        pod("base-0", &gated(&[ours], json!({}))),
        pod("more-0", &gated(&[ours], scaled.clone())),
        pod("more-1", &gated(&[ours, "example.com/quota"], scaled.clone())),
        pod("more-2", &gated(&[], scaled.clone())),
    ];
    let names = |pods: &[trellis_engine::Pod]| pods.iter().map(|pod| pod.name.clone()).collect::<Vec<_>>();
    let gangs = live(&values).gangs;
    let found: Vec<_> = gangs.iter().map(|gang| (names(&gang.pods), names(&gang.coming))).collect();
    let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(found, [(list(&[]), list(&[])), (list(&["more-2"]), list(&["more-0"]))]);
    assert_eq!(gangs[1].coming[0].request, gangs[1].pods[0].request);
    // Of files the gate says nothing.
    let gangs = posed(&values).gangs;
    let found: Vec<_> = gangs.iter().map(|gang| (names(&gang.pods), gang.coming.len())).collect();
    assert_eq!(found, [(list(&["base-0"]), 0), (list(&["more-0", "more-2"]), 0)]);
}
