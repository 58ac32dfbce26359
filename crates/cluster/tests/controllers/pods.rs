//! Pods that nobody looks after.

use std::time::Duration;

use serde_json::{Value, json};
use trellis_cluster::controllers::Options;

use crate::cluster::{Cluster, condition, node, pod};

fn path(name: &str) -> String {
    format!("/api/v1/namespaces/a/pods/{name}")
}

fn held() -> Value {
    json!({"metadata": {"finalizers": ["example.com/x"]}})
}

fn is_going(pod: Option<&Value>) -> bool {
    pod.is_some_and(|pod| pod["metadata"]["deletionTimestamp"].is_string())
}

#[tokio::test(start_paused = true)]
async fn pods_of_nodes_that_do_not_exist_are_deleted_by_force() {
    let cluster = Cluster::new().await;
    cluster.make(&node("n")).await;
    cluster.running(&pod("here", "n", &json!({}))).await;
    cluster.running(&pod("lost", "nowhere", &json!({}))).await;
    cluster.make(&pod("held", "nowhere", &held())).await;
    let done = cluster.make(&pod("done", "nowhere", &held())).await;
    cluster.patch(&format!("{}/status", path("done")), &json!({"status": {"phase": "Succeeded"}})).await;
    cluster.make(&pod("waiting", "", &json!({}))).await;
    cluster.until_gone(&path("lost")).await;
    assert_eq!(cluster.seconds(), 40);
    cluster.settle().await;
    let found = cluster.get(&path("held")).await.unwrap();
    assert_eq!(found["status"]["phase"], "Failed");
    assert_eq!(found["status"]["observedGeneration"], 1);
    assert_eq!(found["metadata"]["deletionGracePeriodSeconds"], 0);
    let expected = json!({
        "type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC", "message": "PodGC: node no longer exists",
        "observedGeneration": 1,
    });
    assert_eq!(condition(&found, "DisruptionTarget"), expected);
    let found = cluster.get(&path("done")).await.unwrap();
    assert!(is_going(Some(&found)) && done["metadata"]["uid"] == found["metadata"]["uid"]);
    assert_eq!((&found["status"]["phase"], condition(&found, "DisruptionTarget")), (&json!("Succeeded"), Value::Null));

    let waiting = cluster.get(&path("waiting")).await;
    assert!(waiting.is_some() && !is_going(waiting.as_ref()));
    cluster.delete("/api/v1/nodes/n", &Value::Null).await;
    cluster.until_gone(&path("here")).await;
    assert_eq!(cluster.seconds(), 80);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_comes_in_time_keeps_its_pods() {
    let cluster = Cluster::new().await;
    cluster.running(&pod("early", "n", &json!({}))).await;
    cluster.pass(39).await;
    cluster.make(&node("n")).await;
    cluster.pass(3_600).await;
    assert!(!is_going(cluster.get(&path("early")).await.as_ref()));
}

#[tokio::test(start_paused = true)]
async fn pods_that_end_without_a_node_have_failed() {
    let cluster = Cluster::new().await;
    cluster.make(&pod("p", "", &held())).await;
    cluster.delete(&path("p"), &Value::Null).await;
    let found = cluster.until(&path("p"), |pod| pod.unwrap()["status"]["phase"] == "Failed").await.unwrap();
    assert_eq!(cluster.seconds(), 20);
    assert_eq!(condition(&found, "DisruptionTarget"), Value::Null);
}

#[tokio::test(start_paused = true)]
async fn the_oldest_of_too_many_pods_that_are_done_go() {
    let options = Options { done_pods: 3, pod_period: Duration::from_secs(20), ..Options::default() };
    let cluster = Cluster::with(options).await;
    cluster.make(&node("n")).await;
    for (name, status) in [
        ("p1", json!({"phase": "Succeeded"})),
        ("p2", json!({"phase": "Running"})),
        ("p3", json!({"phase": "Failed"})),
        ("p4", json!({"phase": "Failed", "reason": "Evicted"})),
        ("p5", json!({"phase": "Failed"})),
    ] {
        cluster.make(&pod(name, "n", &json!({}))).await;
        cluster.patch(&format!("{}/status", path(name)), &json!({"status": status})).await;
        cluster.pass(1).await;
    }
    cluster.until_gone(&path("p4")).await;
    assert_eq!(cluster.names("pods", "a"), ["p1", "p2", "p3", "p5"]);
    cluster.patch(&format!("{}/status", path("p2")), &json!({"status": {"phase": "Succeeded"}})).await;
    cluster.until_gone(&path("p1")).await;
    cluster.pass(3_600).await;
    assert_eq!(cluster.names("pods", "a"), ["p2", "p3", "p5"]);
}
