//! Nodes that fall silent and come back.

use serde_json::{Value, json};

use crate::cluster::{Cluster, START, condition, node, pod};

const NODE: &str = "/api/v1/nodes/n";
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n";

/// The status of a node that is as it should be, or not.
fn posted(ready: &str, time: &str) -> Value {
    let condition = |kind: &str, status: &str| json!({"type": kind, "status": status, "reason": "Kubelet", "message": "m", "lastHeartbeatTime": time, "lastTransitionTime": START});
    json!({"status": {"conditions": [condition("MemoryPressure", "False"), condition("Ready", ready)]}})
}

async fn renew(cluster: &Cluster) {
    let time = cluster.api.clock().now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string();
    cluster.patch(LEASE, &json!({"spec": {"renewTime": time}})).await;
}

/// A node that is ready, with a lease.
async fn cluster_with_node() -> Cluster {
    let cluster = Cluster::new().await;
    cluster.make(&node("n")).await;
    cluster.patch(&format!("{NODE}/status"), &posted("True", START)).await;
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "n", "namespace": "kube-node-lease"},
        "spec": {"holderIdentity": "n", "leaseDurationSeconds": 40, "renewTime": "2026-01-01T00:00:00.000000Z"},
    });
    cluster.make(&lease).await;
    cluster.settle().await;
    cluster
}

/// `key:effect` of every taint, without the common prefix.
fn taints(node: &Value) -> Vec<String> {
    let shown = |taint: &Value| {
        let key = taint["key"].as_str().unwrap().trim_start_matches("node.kubernetes.io/");
        format!("{key}:{}", taint["effect"].as_str().unwrap())
    };
    node["spec"]["taints"].as_array().into_iter().flatten().map(shown).collect()
}

fn ready(node: Option<&Value>) -> Value {
    node.map(|node| condition(node, "Ready")["status"].clone()).unwrap_or_default()
}

const UNREACHABLE: [&str; 2] = ["unreachable:NoSchedule", "unreachable:NoExecute"];

#[tokio::test(start_paused = true)]
async fn a_node_that_falls_silent_is_tainted_and_its_pods_are_not_ready() {
    let cluster = cluster_with_node().await;
    cluster.running(&pod("p", "n", &json!({}))).await;
    for _ in 0..10 {
        cluster.pass(10).await;
        renew(&cluster).await;
    }
    assert_eq!(ready(cluster.get(NODE).await.as_ref()), "True", "the lease is enough");
    let found = cluster.until(NODE, |node| taints(node.unwrap()) == UNREACHABLE).await.unwrap();
    let silent = cluster.seconds() - 100;
    assert!((50..=55).contains(&silent), "after {silent} s");
    let unknown = json!({
        "type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status.",
    });
    assert_eq!(condition(&found, "Ready"), unknown);
    let never = json!({
        "type": "DiskPressure", "status": "Unknown", "reason": "NodeStatusNeverUpdated",
        "message": "Kubelet never posted node status.",
    });
    assert_eq!(condition(&found, "DiskPressure"), never);
    assert!(found["spec"]["taints"][1]["timeAdded"].is_string());
    cluster.until("/api/v1/namespaces/a/pods/p", |pod| condition(pod.unwrap(), "Ready")["status"] == "False").await;

    assert_eq!(cluster.events("default").await, ["Node n NodeNotReady Node n status is now: NodeNotReady"]);
    assert_eq!(cluster.events("a").await, ["Pod p NodeNotReady Node is not ready"]);

    // Silence is not said twice; a lease alone brings no news of the conditions.
    let revision = cluster.api.store().revision();
    cluster.pass(120).await;
    assert_eq!(cluster.api.store().revision(), revision);
    renew(&cluster).await;
    cluster.settle().await;
    assert_eq!(taints(&cluster.get(NODE).await.unwrap()), UNREACHABLE);

    cluster.patch(&format!("{NODE}/status"), &posted("True", "2026-01-01T00:05:00Z")).await;
    cluster.until(NODE, |node| taints(node.unwrap()).is_empty()).await;
    let back = cluster.seconds();
    cluster.until(NODE, |node| ready(node) == "Unknown").await;
    let silent = cluster.seconds() - back;
    assert!((50..=55).contains(&silent), "after {silent} s");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_says_so_is_not_ready() {
    let cluster = cluster_with_node().await;
    cluster.patch(&format!("{NODE}/status"), &posted("False", "2026-01-01T00:00:01Z")).await;
    let not_ready = ["not-ready:NoSchedule", "not-ready:NoExecute"];
    cluster.until(NODE, |node| taints(node.unwrap()) == not_ready).await;
    cluster.until(NODE, |node| taints(node.unwrap()) == UNREACHABLE).await;
    cluster.patch(&format!("{NODE}/status"), &posted("True", "2026-01-01T00:02:00Z")).await;
    cluster.until(NODE, |node| taints(node.unwrap()).is_empty()).await;
}

#[tokio::test(start_paused = true)]
async fn a_node_that_never_spoke_is_left_alone_but_for_its_cordon() {
    let cluster = Cluster::new().await;
    cluster.make(&node("n")).await;
    let revision = cluster.api.store().revision();
    cluster.pass(3_600).await;
    assert_eq!(cluster.api.store().revision(), revision);
    cluster.patch(NODE, &json!({"spec": {"unschedulable": true}})).await;
    let found = cluster.until(NODE, |node| taints(node.unwrap()) == ["unschedulable:NoSchedule"]).await.unwrap();
    assert_eq!(found["spec"]["taints"][0]["timeAdded"], "2026-01-01T01:00:00Z");
    cluster.patch(NODE, &json!({"spec": {"unschedulable": null}})).await;
    cluster.until(NODE, |node| taints(node.unwrap()).is_empty()).await;
}

#[tokio::test(start_paused = true)]
async fn a_node_that_has_a_lease_and_never_posted_is_silent_after_a_minute() {
    let cluster = Cluster::new().await;
    cluster.make(&node("n")).await;
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "n", "namespace": "kube-node-lease"},
        "spec": {"holderIdentity": "n", "renewTime": "2026-01-01T00:00:00.000000Z"},
    });
    cluster.make(&lease).await;
    let found = cluster.until(NODE, |node| taints(node.unwrap()) == UNREACHABLE).await.unwrap();
    assert!((60..=65).contains(&cluster.seconds()));
    assert_eq!(condition(&found, "Ready")["reason"], "NodeStatusNeverUpdated");
}

#[tokio::test(start_paused = true)]
async fn whoever_takes_over_gives_nodes_their_time_again() {
    let mut cluster = cluster_with_node().await;
    cluster.pass(30).await;
    cluster.stop().await;
    cluster.start();
    cluster.until(NODE, |node| ready(node) == "Unknown").await;
    let silent = cluster.seconds() - 30;
    assert!((50..=55).contains(&silent), "after {silent} s");
}
