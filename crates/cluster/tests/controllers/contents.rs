//! Namespaces and definitions go with all that is in them; every namespace has its account; events are kept for an hour.

use http::Method;
use serde_json::{Value, json};

use crate::cluster::{Cluster, namespace, pod};

#[tokio::test(start_paused = true)]
async fn a_namespace_goes_when_all_that_is_in_it_is_gone() {
    let cluster = Cluster::new().await;
    cluster.define_kinds().await;
    cluster.make(&namespace("b")).await;
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "held", "namespace": "b", "finalizers": ["example.com/x"]},
    });
    cluster.make(&map).await;
    let mut running = pod("running", "", &json!({}));
    running["metadata"]["namespace"] = "b".into();
    cluster.make(&running).await;
    cluster
        .make(
            &json!({"apiVersion": "controllers.test/v1", "kind": "Flock", "metadata": {"name": "f", "namespace": "b"}}),
        )
        .await;
    cluster.delete("/api/v1/namespaces/b", &Value::Null).await;
    cluster.settle().await;
    let left = cluster.get("/api/v1/namespaces/b").await.unwrap();
    assert_eq!(left["status"]["phase"], "Terminating");
    assert_eq!(cluster.api.store().shelves_in("b"), ["configmaps".into()]);
    let (code, refused) =
        cluster.ask(Method::POST, "/api/v1/namespaces/b/configmaps", &json!({"metadata": {"name": "new"}})).await;
    assert_eq!((code, &refused["reason"]), (403, &json!("Forbidden")));
    cluster.patch("/api/v1/namespaces/b/configmaps/held", &json!({"metadata": {"finalizers": null}})).await;
    cluster.until_gone("/api/v1/namespaces/b").await;
    assert_eq!(cluster.api.store().shelves_in("b"), [""; 0].map(Into::into));
}

#[tokio::test(start_paused = true)]
async fn a_definition_goes_when_its_objects_are_gone() {
    let cluster = Cluster::new().await;
    cluster.define_kinds().await;
    for (name, finalizers) in [("free", json!([])), ("held", json!(["example.com/x"]))] {
        let metadata = json!({"name": name, "namespace": "a", "finalizers": finalizers});
        cluster.make(&json!({"apiVersion": "controllers.test/v1", "kind": "Flock", "metadata": metadata})).await;
    }
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/flocks.controllers.test";
    cluster.delete(path, &Value::Null).await;
    cluster.settle().await;
    assert_eq!(cluster.names("flocks.controllers.test", "a"), ["held"]);
    assert!(cluster.get(path).await.is_some());
    let held = "/apis/controllers.test/v1/namespaces/a/flocks/held";
    cluster.patch(held, &json!({"metadata": {"finalizers": null}})).await;
    cluster.until_gone(path).await;
    let (code, _) = cluster.ask(Method::GET, "/apis/controllers.test/v1/namespaces/a/flocks", &Value::Null).await;
    assert_eq!(code, 404);
    let stones = "/apis/controllers.test/v1/namespaces/a/stones";
    assert_eq!(cluster.ask(Method::GET, stones, &Value::Null).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn every_namespace_has_its_account() {
    let cluster = Cluster::new().await;
    let path = "/api/v1/namespaces/a/serviceaccounts/default";
    let first = cluster.get(path).await.unwrap();
    assert_eq!(
        first["metadata"].as_object().unwrap().keys().collect::<Vec<_>>(),
        ["creationTimestamp", "name", "namespace", "resourceVersion", "uid"]
    );
    for namespace in ["default", "kube-system", "kube-node-lease", "kube-public"] {
        assert_eq!(cluster.names("serviceaccounts", namespace), ["default"], "{namespace}");
    }
    cluster.delete(path, &Value::Null).await;
    let second = cluster.until(path, |found| found.is_some()).await.unwrap();
    assert_ne!(first["metadata"]["uid"], second["metadata"]["uid"]);
    cluster.delete("/api/v1/namespaces/a", &Value::Null).await;
    cluster.until_gone("/api/v1/namespaces/a").await;
    assert_eq!(cluster.names("serviceaccounts", "a"), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn events_are_kept_for_an_hour_after_their_last_change() {
    let mut cluster = Cluster::new().await;
    let event = |name: &str| {
        json!({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": "a"}, "reason": "Because",
            "involvedObject": {"apiVersion": "v1", "kind": "Pod", "name": "p", "namespace": "a"},
            "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z",
        })
    };
    cluster.make(&event("still")).await;
    cluster.make(&event("again")).await;
    cluster.pass(1_800).await;
    cluster
        .patch("/api/v1/namespaces/a/events/again", &json!({"count": 2, "lastTimestamp": "2026-01-01T00:30:00Z"}))
        .await;
    cluster.until_gone("/api/v1/namespaces/a/events/still").await;
    assert_eq!(cluster.seconds(), 3_600);
    assert_eq!(cluster.names("events", "a"), ["again"]);
    // Whoever takes over goes by what the event says.
    cluster.stop().await;
    cluster.start();
    cluster.until_gone("/api/v1/namespaces/a/events/again").await;
    assert_eq!(cluster.seconds(), 5_400);
}
