//! Pods and the taints that drive them away.

use serde_json::{Value, json};

use crate::cluster::{Cluster, START, condition, node, pod};

const NODE: &str = "/api/v1/nodes/n";

fn taint(patch: &Value) -> Value {
    let mut taint = json!({"key": "k", "effect": "NoExecute", "timeAdded": START});
    crate::cluster::merge(&mut taint, patch);
    json!({"spec": {"taints": [taint]}})
}

fn tolerating(seconds: Option<i64>) -> Value {
    let mut toleration = json!({"key": "k", "operator": "Exists", "effect": "NoExecute"});
    if let Some(seconds) = seconds {
        toleration["tolerationSeconds"] = seconds.into();
    }
    json!({"spec": {"tolerations": [toleration]}})
}

fn path(name: &str) -> String {
    format!("/api/v1/namespaces/a/pods/{name}")
}

fn is_going(pod: Option<&Value>) -> bool {
    pod.is_some_and(|pod| pod["metadata"]["deletionTimestamp"].is_string())
}

async fn cluster() -> Cluster {
    let cluster = Cluster::new().await;
    cluster.make(&node("n")).await;
    cluster.make(&node("other")).await;
    cluster
}

#[tokio::test(start_paused = true)]
async fn pods_leave_a_tainted_node_when_they_no_longer_tolerate_it() {
    let cluster = cluster().await;
    for (name, seconds) in
        [("forever", Some(None)), ("minute", Some(Some(60))), ("hour", Some(Some(3_600))), ("never", None)]
    {
        cluster.running(&pod(name, "n", &seconds.map_or_else(|| json!({}), tolerating))).await;
    }
    cluster.running(&pod("elsewhere", "other", &json!({}))).await;
    cluster.patch(NODE, &taint(&json!({}))).await;
    let found = cluster.until(&path("never"), is_going).await.unwrap();
    assert_eq!(cluster.seconds(), 0);
    let expected = json!({
        "type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager",
        "message": "Taint manager: deleting due to NoExecute taint", "observedGeneration": 1,
    });
    assert_eq!(condition(&found, "DisruptionTarget"), expected);
    assert_eq!(found["metadata"]["deletionGracePeriodSeconds"], 30);
    assert_eq!(found["status"].get("observedGeneration"), None);
    assert_eq!(cluster.events("a").await, ["Pod never TaintManagerEviction Marking for deletion Pod a/never"]);
    cluster.until(&path("minute"), is_going).await;
    assert_eq!(cluster.seconds(), 60);
    cluster.until(&path("hour"), is_going).await;
    assert_eq!(cluster.seconds(), 3_600);
    cluster.pass(3_600).await;
    for name in ["forever", "elsewhere"] {
        assert!(!is_going(cluster.get(&path(name)).await.as_ref()), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_taint_that_goes_drives_nobody_away() {
    let cluster = cluster().await;
    cluster.running(&pod("p", "n", &tolerating(Some(60)))).await;
    cluster.patch(NODE, &taint(&json!({}))).await;
    cluster.pass(30).await;
    cluster.patch(NODE, &json!({"spec": {"taints": null}})).await;
    cluster.pass(3_600).await;
    assert!(!is_going(cluster.get(&path("p")).await.as_ref()));
    // A new taint counts anew.
    cluster.patch(NODE, &taint(&json!({"timeAdded": "2026-01-01T01:00:30Z"}))).await;
    cluster.until(&path("p"), is_going).await;
    assert_eq!(cluster.seconds(), 3_690);
}

#[tokio::test(start_paused = true)]
async fn tolerance_counts_from_the_taint_or_from_the_pods_arrival() {
    let cluster = cluster().await;
    // A taint without a time counts from when it is seen.
    cluster.running(&pod("first", "n", &tolerating(Some(60)))).await;
    cluster.pass(100).await;
    cluster.patch(NODE, &taint(&json!({"timeAdded": null}))).await;
    cluster.until(&path("first"), is_going).await;
    assert_eq!(cluster.seconds(), 160);
    cluster.running(&pod("second", "n", &tolerating(Some(60)))).await;
    cluster.until(&path("second"), is_going).await;
    assert_eq!(cluster.seconds(), 220);
}

#[tokio::test(start_paused = true)]
async fn other_taints_and_other_effects_drive_nobody_away() {
    let cluster = cluster().await;
    cluster.running(&pod("p", "n", &json!({}))).await;
    for effect in ["NoSchedule", "PreferNoSchedule"] {
        cluster.patch(NODE, &taint(&json!({"effect": effect, "timeAdded": null}))).await;
        cluster.pass(3_600).await;
        assert!(!is_going(cluster.get(&path("p")).await.as_ref()), "{effect}");
    }
}

#[tokio::test(start_paused = true)]
async fn pods_of_a_silent_node_leave_after_five_minutes() {
    let cluster = cluster().await;
    cluster.running(&pod("p", "n", &json!({}))).await;
    let ready = json!({"type": "Ready", "status": "True", "lastHeartbeatTime": START, "lastTransitionTime": START});
    cluster.patch(&format!("{NODE}/status"), &json!({"status": {"conditions": [ready]}})).await;
    cluster.until(&path("p"), is_going).await;
    let after = cluster.seconds();
    assert!((350..=356).contains(&after), "after {after} s");
}
