//! The status of disruption budgets. The numbers are those that a real cluster wrote for the same objects.

use http::Method;
use serde_json::{Value, json};

use crate::cluster::{Cluster, condition, node, owned_by, pod};

fn path(name: &str) -> String {
    format!("/apis/policy/v1/namespaces/a/poddisruptionbudgets/{name}")
}

async fn budget(cluster: &Cluster, name: &str, app: &str, demand: &Value) {
    let mut spec = json!({"selector": {"matchLabels": {"app": app}}});
    crate::cluster::merge(&mut spec, demand);
    let metadata = json!({"name": name, "namespace": "a"});
    cluster
        .make(&json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec}))
        .await;
}

async fn labelled(cluster: &Cluster, name: &str, app: &str, owner: Option<Value>, ready: bool) {
    let metadata =
        json!({"labels": {"app": app}, "ownerReferences": owner.map(|owner| vec![owner]).unwrap_or_default()});
    let pod = pod(name, "n", &json!({"metadata": metadata}));
    if ready {
        cluster.running(&pod).await;
    } else {
        cluster.make(&pod).await;
    }
}

/// Allowed, healthy, desired and expected; and the reason of the condition.
fn numbers(budget: &Value) -> (Vec<i64>, String) {
    let status = &budget["status"];
    let numbers = ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"];
    let numbers = numbers.iter().map(|field| status[*field].as_i64().unwrap_or(-1)).collect();
    let condition = condition(budget, "DisruptionAllowed");
    let allowed = condition["status"] == "True";
    assert_eq!(allowed, condition["reason"] == "SufficientPods");
    (numbers, condition["reason"].as_str().unwrap_or_default().to_owned())
}

async fn check(cluster: &Cluster, name: &str, expected: [i64; 4], reason: &str, message: &str) {
    let found = cluster.get(&path(name)).await.unwrap();
    assert_eq!(numbers(&found), (expected.to_vec(), reason.to_owned()), "{name}");
    assert_eq!(condition(&found, "DisruptionAllowed")["message"], message, "{name}");
    let observed = if reason == "SyncFailed" { Value::Null } else { 1.into() };
    assert_eq!(found["status"]["observedGeneration"], observed, "{name}");
}

async fn flock(cluster: &Cluster, replicas: i64) -> Value {
    let metadata = json!({"name": "f", "namespace": "a"});
    let flock = json!({
        "apiVersion": "controllers.test/v1", "kind": "Flock", "metadata": metadata, "spec": {"replicas": replicas},
    });
    cluster.make(&flock).await
}

#[tokio::test(start_paused = true)]
async fn a_budget_counts_pods_and_what_their_controllers_want() {
    let cluster = Cluster::new().await;
    cluster.define_kinds().await;
    cluster.make(&node("n")).await;
    let flock = flock(&cluster, 4).await;
    let stone =
        json!({"apiVersion": "controllers.test/v1", "kind": "Stone", "metadata": {"name": "s", "namespace": "a"}});
    let stone = cluster.make(&stone).await;
    let controlled = |owner: &Value| Some(owned_by(owner, &json!({"controller": true})));
    for (name, ready) in [("m0", true), ("m1", true), ("m2", false)] {
        labelled(&cluster, name, "flock", controlled(&flock), ready).await;
    }
    for name in ["u0", "u1"] {
        labelled(&cluster, name, "bare", None, true).await;
    }
    labelled(&cluster, "st0", "stone", controlled(&stone), true).await;
    let ghost = owned_by(&stone, &json!({"controller": true, "kind": "Ghost"}));
    labelled(&cluster, "gh0", "ghost", Some(ghost), true).await;
    labelled(&cluster, "mix0", "mix", controlled(&flock), true).await;
    labelled(&cluster, "mix1", "mix", None, true).await;
    budget(&cluster, "p-int", "flock", &json!({"minAvailable": 1})).await;
    budget(&cluster, "p-pct", "flock", &json!({"minAvailable": "50%"})).await;
    budget(&cluster, "p-max", "flock", &json!({"maxUnavailable": 1})).await;
    budget(&cluster, "p-maxpct", "flock", &json!({"maxUnavailable": "30%"})).await;
    budget(&cluster, "b-int", "bare", &json!({"minAvailable": 1})).await;
    budget(&cluster, "b-pct", "bare", &json!({"minAvailable": "50%"})).await;
    budget(&cluster, "b-max", "bare", &json!({"maxUnavailable": 1})).await;
    budget(&cluster, "s-pct", "stone", &json!({"minAvailable": "50%"})).await;
    budget(&cluster, "g-pct", "ghost", &json!({"minAvailable": "50%"})).await;
    budget(&cluster, "mix", "mix", &json!({"maxUnavailable": 1})).await;
    budget(&cluster, "none", "nobody", &json!({"maxUnavailable": 1})).await;
    budget(&cluster, "none-i", "nobody", &json!({"minAvailable": 2})).await;
    budget(&cluster, "neither", "bare", &json!({})).await;
    cluster.settle().await;
    let (enough, lacking, failed) = ("SufficientPods", "InsufficientPods", "SyncFailed");
    check(&cluster, "p-int", [1, 2, 1, 3], enough, "").await;
    check(&cluster, "p-pct", [0, 2, 2, 4], lacking, "").await;
    check(&cluster, "p-max", [0, 2, 3, 4], lacking, "").await;
    check(&cluster, "p-maxpct", [0, 2, 2, 4], lacking, "").await;
    check(&cluster, "b-int", [1, 2, 1, 2], enough, "").await;
    check(&cluster, "b-pct", [0, 2, 0, 0], lacking, "").await;
    check(&cluster, "b-max", [0, 2, 0, 0], lacking, "").await;
    check(&cluster, "mix", [0, 2, 3, 4], lacking, "").await;
    check(&cluster, "none", [0, 0, 0, 0], lacking, "").await;
    check(&cluster, "none-i", [0, 0, 2, 0], lacking, "").await;
    check(&cluster, "neither", [0, 2, 0, 0], lacking, "").await;
    let why = "stones.controllers.test does not implement the scale subresource";
    check(&cluster, "s-pct", [0, 0, 0, 0], failed, why).await;
    let why = "no matches for kind \"Ghost\" in version \"controllers.test/v1\"";
    check(&cluster, "g-pct", [0, 0, 0, 0], failed, why).await;

    let written = cluster.get(&path("p-int")).await.unwrap();
    let manager = |entry: &&Value| entry["subresource"] == "status";
    let entry = written["metadata"]["managedFields"].as_array().unwrap().iter().find(manager).unwrap();
    assert_eq!((&entry["manager"], &entry["operation"]), (&json!("kube-controller-manager"), &json!("Update")));
}

#[tokio::test(start_paused = true)]
async fn a_budget_follows_its_pods_and_its_selector() {
    let cluster = Cluster::new().await;
    cluster.make(&node("n")).await;
    budget(&cluster, "b", "web", &json!({"minAvailable": 1})).await;
    for name in ["p0", "p1"] {
        labelled(&cluster, name, "web", None, true).await;
    }
    labelled(&cluster, "p2", "db", None, true).await;
    let numbers = |found: Option<&Value>| found.map(numbers).unwrap_or_default().0;
    cluster.until(&path("b"), |found| numbers(found) == [1, 2, 1, 2]).await;
    let unready = json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}});
    cluster.patch("/api/v1/namespaces/a/pods/p0/status", &unready).await;
    cluster.until(&path("b"), |found| numbers(found) == [0, 1, 1, 2]).await;
    cluster.patch("/api/v1/namespaces/a/pods/p2", &json!({"metadata": {"labels": {"app": "web"}}})).await;
    cluster.until(&path("b"), |found| numbers(found) == [1, 2, 1, 3]).await;
    cluster.patch("/api/v1/namespaces/a/pods/p1", &json!({"metadata": {"labels": null}})).await;
    cluster.until(&path("b"), |found| numbers(found) == [0, 1, 1, 2]).await;
    cluster.patch(&path("b"), &json!({"spec": {"minAvailable": 0, "selector": {"matchLabels": {}}}})).await;
    cluster.until(&path("b"), |found| numbers(found) == [1, 1, 0, 2]).await;
    // A pod on its way out is no longer healthy, though it still counts.
    cluster.delete("/api/v1/namespaces/a/pods/p2", &Value::Null).await;
    let found = cluster.until(&path("b"), |found| numbers(found) == [0, 0, 0, 2]).await.unwrap();
    assert_eq!(found["status"]["observedGeneration"], 2);
    cluster.delete("/api/v1/namespaces/a/pods/p2", &json!({"gracePeriodSeconds": 0})).await;
    cluster.until(&path("b"), |found| numbers(found) == [0, 0, 0, 1]).await;
}

#[tokio::test(start_paused = true)]
async fn an_eviction_that_was_granted_counts_until_the_pod_goes_or_for_two_minutes() {
    let cluster = Cluster::new().await;
    cluster.make(&node("n")).await;
    budget(&cluster, "b", "web", &json!({"minAvailable": 1})).await;
    for name in ["p0", "p1", "p2"] {
        labelled(&cluster, name, "web", None, true).await;
    }
    let status = |found: Option<&Value>| found.map(|found| found["status"].clone()).unwrap_or_default();
    cluster.until(&path("b"), |found| status(found)["disruptionsAllowed"] == 2).await;
    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p0", "namespace": "a"}});
    let (code, _) = cluster.ask(Method::POST, "/api/v1/namespaces/a/pods/p0/eviction", &eviction).await;
    assert_eq!(code, 201);
    cluster.settle().await;
    let found = cluster.get(&path("b")).await.unwrap();
    assert_eq!(numbers(&found).0, [1, 2, 1, 3], "the pod goes, so it is not kept in mind");
    assert_eq!(found["status"].get("disruptedPods"), None);

    // Granted, and then not deleted after all.
    let granted = json!({"status": {"disruptionsAllowed": 0, "disruptedPods": {"p1": "2026-01-01T00:00:00Z"}}});
    cluster.patch(&format!("{}/status", path("b")), &granted).await;
    cluster.settle().await;
    let found = cluster.get(&path("b")).await.unwrap();
    assert_eq!(numbers(&found).0, [0, 1, 1, 3]);
    assert_eq!(found["status"]["disruptedPods"], json!({"p1": "2026-01-01T00:00:00Z"}));
    let found = cluster.until(&path("b"), |found| status(found)["disruptionsAllowed"] == 1).await.unwrap();
    assert_eq!(found["status"].get("disruptedPods"), None);
    assert_eq!(cluster.seconds(), 121);
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_outlives_its_disruption_is_no_target_any_more() {
    let cluster = Cluster::new().await;
    cluster.make(&node("n")).await;
    labelled(&cluster, "p", "web", None, true).await;
    let marked = json!({"status": {"conditions": [
        {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"},
    ]}});
    let path = "/api/v1/namespaces/a/pods/p";
    cluster.patch(&format!("{path}/status"), &marked).await;
    let target = |found: Option<&Value>| condition(found.unwrap(), "DisruptionTarget");
    let found = cluster.until(path, |found| target(found)["status"] == "False").await;
    assert_eq!(cluster.seconds(), 120);
    assert_eq!(target(found.as_ref()).get("reason"), None);
}
