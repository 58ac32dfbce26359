//! What comes in, and who is woken by it.

use super::*;
use crate::plan::Version;
use serde_json::{Value, json};

fn node(value: &Value) -> Node {
    let mut object = json!({
        "metadata": { "name": "n1", "uid": "node", "resourceVersion": "1", "labels": { "rack": "a" } },
        "spec": { "taints": [{ "key": "k", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z" }] },
        "status": {
            "allocatable": { "cpu": "4" },
            "conditions": [
                { "type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z" },
                { "type": "DiskPressure", "status": "False" },
            ],
            "images": [{ "names": ["large"] }],
        },
    });
    merge(&mut object, value);
    serde_json::from_value(object).expect("a node")
}

fn pod(value: &Value) -> Pod {
    let mut object = json!({
        "metadata": { "name": "p", "namespace": "d", "uid": "pod", "resourceVersion": "1" },
        "spec": {
            "containers": [{ "name": "c", "image": "i", "resources": { "requests": { "cpu": "1" } } }],
            "nodeSelector": { "rack": "a" },
            "volumes": [{ "name": "v", "emptyDir": {} }, { "name": "w", "persistentVolumeClaim": { "claimName": "w" } }],
        },
        "status": { "phase": "Pending", "hostIP": "10.0.0.1" },
    });
    merge(&mut object, value);
    serde_json::from_value(object).expect("a pod")
}

fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

/// Whether a second version of a node or pod, which differs in this, wakes.
fn check(is_node: bool, change: Value, wakes: bool) {
    let index = Index::default();
    let mut change = change;
    merge(&mut change, &json!({ "metadata": { "resourceVersion": "2" } }));
    let before = if is_node {
        index.put(node(&json!({})));
        let before = index.generation();
        index.put(node(&change));
        before
    } else {
        index.put(pod(&json!({})));
        let before = index.generation();
        index.put(pod(&change));
        let seen = index.seen();
        let shown = &seen.pods[&Key::new("d", "p")];
        assert_eq!(shown.metadata.resource_version.as_deref(), Some("2"), "the last version is known: {change}");
        before
    };
    assert_eq!(index.generation() != before, wakes, "{change}");
}

#[test]
fn only_what_could_change_a_decision_wakes() {
    let ready = |status: &str, time: &str| json!([{ "type": "Ready", "status": status, "lastHeartbeatTime": time }]);
    check(true, json!({}), false);
    check(true, json!({ "status": { "conditions": ready("True", "2026-01-01T00:00:10Z") } }), false);
    check(true, json!({ "metadata": { "annotations": { "a": "b" } } }), false);
    check(true, json!({ "status": { "images": [] } }), false);
    check(true, json!({ "status": { "conditions": ready("Unknown", "2026-01-01T00:00:00Z") } }), true);
    check(true, json!({ "metadata": { "labels": { "rack": "b" } } }), true);
    check(true, json!({ "spec": { "unschedulable": true } }), true);
    check(true, json!({ "spec": { "taints": [] } }), true);
    check(true, json!({ "status": { "allocatable": { "cpu": "8" } } }), true);

    let condition = |kind: &str| json!({ "status": { "conditions": [{ "type": kind, "status": "True" }] } });
    check(false, json!({}), false);
    check(false, json!({ "status": { "hostIP": "10.0.0.2", "podIP": "10.0.0.3" } }), false);
    check(false, condition("Ready"), false);
    check(false, condition("PodScheduled"), true);
    check(false, json!({ "status": { "phase": "Succeeded" } }), true);
    check(false, json!({ "spec": { "nodeName": "n1" } }), true);
    check(false, json!({ "metadata": { "labels": { "grove.io/podgang": "g" } } }), true);
    check(false, json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } }), true);
}

#[test]
fn a_node_that_says_the_same_stays_the_same() {
    let index = Index::default();
    index.put(node(&json!({})));
    let then = index.seen();
    index.put(node(&json!({ "metadata": { "resourceVersion": "2", "annotations": { "a": "b" } } })));
    assert!(index.stands(&then, "n1"));
    assert!(!index.stands(&then, "n2"));
    index.put(node(&json!({ "metadata": { "resourceVersion": "3", "labels": { "rack": "b" } } })));
    assert!(!index.stands(&then, "n1"), "it is another place now");
    let then = index.seen();
    index.put::<Topology>(serde_json::from_value(json!({
        "apiVersion": "kai.scheduler/v1alpha1", "kind": "Topology", "metadata": { "name": "t" }, "spec": { "levels": [] },
    })).expect("a topology"));
    assert!(!index.stands(&then, "n1"), "its place is called otherwise now");
}

#[test]
fn what_pods_are_trimmed_to_is_what_is_asked_of_them() {
    let index = Index::default();
    index.put(pod(&json!({})));
    let seen = index.seen();
    let spec = seen.pods[&Key::new("d", "p")].spec.as_ref().expect("a spec");
    assert_eq!((spec.containers[0].image.as_ref(), spec.containers[0].name.as_str()), (None, "c"));
    assert!(spec.containers[0].resources.is_some() && spec.node_selector.is_some());
    let volumes = spec.volumes.as_ref().expect("volumes");
    assert_eq!(volumes.len(), 2, "which one it is shows in its place");
    assert!(volumes[0].empty_dir.is_none() && volumes[1].persistent_volume_claim.is_some());
}

fn bind() -> Bind {
    Bind {
        namespace: "d".to_owned(),
        pod: "p".to_owned(),
        version: Version { uid: "pod".to_owned(), resource_version: "1".to_owned() },
        node: "n1".to_owned(),
        zone: Some("z0".to_owned()),
    }
}

#[test]
fn a_bind_is_known_before_a_watch_tells_of_it() {
    let index = Index::default();
    index.put(pod(&json!({})));
    index.bound(&bind());
    let place = || {
        let seen = index.seen();
        let pod = seen.pods.get(&Key::new("d", "p"))?;
        let zone = pod.metadata.annotations.as_ref().and_then(|all| all.get(annotation::NUMA_ZONE)).cloned();
        Some((pod.spec.as_ref()?.node_name.clone()?, zone))
    };
    assert_eq!(place(), Some(("n1".to_owned(), Some("z0".to_owned()))));
    // An event that is late does not take it back; a later one counts.
    index.put(pod(&json!({})));
    assert_eq!(place(), Some(("n1".to_owned(), Some("z0".to_owned()))));
    index.put(pod(&json!({ "metadata": { "resourceVersion": "5" }, "spec": { "nodeName": "n1" } })));
    assert_eq!(place(), Some(("n1".to_owned(), None)));
}

#[test]
fn a_refusal_is_known_as_long_as_the_pod() {
    let index = Index::default();
    index.put(pod(&json!({})));
    index.refused(&bind());
    assert!(index.seen().refused.contains(&("pod".into(), "n1".into())));
    index.forget::<Pod>(&("d".to_owned(), "p".to_owned()), "other");
    assert_eq!(index.seen().refused.len(), 1);
    index.forget::<Pod>(&("d".to_owned(), "p".to_owned()), "pod");
    assert!(index.seen().refused.is_empty() && index.seen().pods.is_empty());
}

#[test]
fn a_gang_is_under_way_once() {
    let index = Index::default();
    let target = Target { kind: Kind::PodGang, namespace: "d".to_owned(), name: "g".to_owned() };
    assert!(index.begin(&target, "ledger"));
    assert!(!index.begin(&target, "another"));
    assert_eq!(index.seen().under_way[&target].as_ref(), "ledger");
    let before = index.generation();
    index.end(&target);
    assert!(index.seen().under_way.is_empty() && index.generation() != before);
}
