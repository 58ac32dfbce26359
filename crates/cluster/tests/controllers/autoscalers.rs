//! Autoscalers without metrics. What is expected is what a real cluster without a metrics API wrote.

use serde_json::{Value, json};

use crate::cluster::{Cluster, condition, node, pod};

const NO_RESOURCE_API: &str = "unable to fetch metrics from resource metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)";
const NO_CUSTOM_API: &str =
    "unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered";

fn path(name: &str) -> String {
    format!("/apis/autoscaling/v2/namespaces/a/horizontalpodautoscalers/{name}")
}

async fn flock(cluster: &Cluster, name: &str, replicas: Option<i64>, selector: &str) {
    let spec = replicas.map_or_else(|| json!({}), |replicas| json!({"replicas": replicas}));
    let metadata = json!({"name": name, "namespace": "a"});
    cluster
        .make(&json!({"apiVersion": "controllers.test/v1", "kind": "Flock", "metadata": metadata, "spec": spec}))
        .await;
    let status = format!("/apis/controllers.test/v1/namespaces/a/flocks/{name}/status");
    cluster.patch(&status, &json!({"status": {"replicas": 7, "selector": selector}})).await;
}

async fn autoscaler(cluster: &Cluster, name: &str, kind: &str, least: i64, metrics: &Value) {
    let mut spec = json!({
        "scaleTargetRef": {"apiVersion": "controllers.test/v1", "kind": kind, "name": name},
        "minReplicas": least, "maxReplicas": 3,
    });
    if !metrics.is_null() {
        spec["metrics"] = metrics.clone();
    }
    let metadata = json!({"name": name, "namespace": "a"});
    cluster
        .make(&json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": spec}))
        .await;
}

/// The status less its conditions, and the reasons and messages of these.
async fn status(cluster: &Cluster, name: &str) -> (Value, Vec<[String; 4]>) {
    let found = cluster.get(&path(name)).await.unwrap();
    let mut status = found["status"].clone();
    let conditions = status.as_object_mut().and_then(|status| status.remove("conditions")).unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let fields = |condition: &Value| ["type", "status", "reason", "message"].map(|field| text(&condition[field]));
    (status, conditions.as_array().into_iter().flatten().map(fields).collect())
}

fn able(reason: &str, message: &str) -> [String; 4] {
    let truth = if reason.starts_with("Failed") { "False" } else { "True" };
    ["AbleToScale", truth, reason, message].map(str::to_owned)
}

fn inactive(reason: &str, message: &str) -> [String; 4] {
    ["ScalingActive", "False", reason, message].map(str::to_owned)
}

const GOT: &str = "the HPA controller was able to get the target's current scale";

#[tokio::test(start_paused = true)]
async fn replicas_are_brought_inside_the_limits_every_fifteen_seconds() {
    let cluster = Cluster::new().await;
    cluster.define_kinds().await;
    flock(&cluster, "high", Some(9), "app=high").await;
    flock(&cluster, "low", Some(1), "app=low").await;
    flock(&cluster, "zero", Some(0), "app=zero").await;
    for name in ["high", "low", "zero"] {
        autoscaler(&cluster, name, "Flock", 2, &Value::Null).await;
    }
    cluster.pass(14).await;
    assert_eq!(status(&cluster, "high").await.1.len(), 0);
    cluster.pass(1).await;
    let replicas = async |name: &str| {
        let flock = cluster.get(&format!("/apis/controllers.test/v1/namespaces/a/flocks/{name}")).await.unwrap();
        flock["spec"]["replicas"].as_i64().unwrap()
    };
    assert_eq!((replicas("high").await, replicas("low").await, replicas("zero").await), (3, 2, 0));
    let scaled = |size: i64| {
        able("SucceededRescale", &format!("the HPA controller was able to update the target scale to {size}"))
    };
    let time = "2026-01-01T00:00:15Z";
    let at = json!({"currentReplicas": 9, "desiredReplicas": 3, "currentMetrics": null, "lastScaleTime": time});
    assert_eq!(status(&cluster, "high").await, (at, vec![scaled(3)]));
    let at = json!({"currentReplicas": 1, "desiredReplicas": 2, "currentMetrics": null, "lastScaleTime": time});
    assert_eq!(status(&cluster, "low").await, (at, vec![scaled(2)]));
    let disabled = inactive("ScalingDisabled", "scaling is disabled since the replica count of the target is zero");
    let at = json!({"desiredReplicas": 0, "currentMetrics": null});
    assert_eq!(status(&cluster, "zero").await, (at, vec![able("SucceededGetScale", GOT), disabled]));

    let resized = |name: &str, size: i64, limit: &str| {
        format!(
            "HorizontalPodAutoscaler {name} SuccessfulRescale New size: {size}; reason: Current number of replicas {limit}"
        )
    };
    let expected = [resized("high", 3, "above Spec.MaxReplicas"), resized("low", 2, "below Spec.MinReplicas")];
    assert_eq!(cluster.events("a").await, expected);

    cluster.pass(15).await;
    let missing = format!(
        "the HPA was unable to compute the replica count: failed to get cpu utilization: unable to get metrics for resource cpu: \
         {NO_RESOURCE_API}"
    );
    let measured = json!({
        "currentReplicas": 3, "desiredReplicas": 3, "currentMetrics": [{"type": ""}], "lastScaleTime": time,
    });
    let conditions = vec![able("SucceededGetScale", GOT), inactive("FailedGetResourceMetric", &missing)];
    assert_eq!(status(&cluster, "high").await, (measured, conditions));
    let revision = cluster.api.store().revision();
    cluster.pass(1_800).await;
    assert_eq!(cluster.api.store().revision(), revision, "nothing is written while nothing changes");

    // The scale belongs to the controller now.
    let flock = cluster.get("/apis/controllers.test/v1/namespaces/a/flocks/high").await.unwrap();
    let managers = flock["metadata"]["managedFields"].as_array().unwrap();
    let scale = managers.iter().find(|entry| entry["subresource"] == "scale").unwrap();
    assert_eq!(
        (&scale["manager"], &scale["fieldsV1"]),
        (&json!("kube-controller-manager"), &json!({"f:spec": {"f:replicas": {}}}))
    );
}

#[tokio::test(start_paused = true)]
async fn a_target_without_a_scale_is_said_in_words() {
    let cluster = Cluster::new().await;
    cluster.define_kinds().await;
    flock(&cluster, "badsel", Some(2), "a in (").await;
    flock(&cluster, "nosel", Some(2), "").await;
    cluster.make(&json!({"apiVersion": "controllers.test/v1", "kind": "Stone", "metadata": {"name": "stone", "namespace": "a"}})).await;
    for (name, kind) in
        [("badsel", "Flock"), ("nosel", "Flock"), ("missing", "Flock"), ("ghost", "Ghost"), ("stone", "Stone")]
    {
        autoscaler(&cluster, name, kind, 1, &Value::Null).await;
    }
    cluster.pass(16).await;
    let untold = json!({"desiredReplicas": 0, "currentMetrics": null});
    let cases = [
        ("missing", "flocks.controllers.test \"missing\" not found"),
        ("stone", "stones.controllers.test \"stone\" not found"),
        ("ghost", "no matches for kind \"Ghost\" in group \"controllers.test\""),
        (
            "badsel",
            "received an object from a /scale endpoint which was not convertible to autoscaling Scale: failed to parse target \
             selector: couldn't parse the selector string \"a in (\": unable to parse requirement: found '', expected: ',', ')' or \
             identifier",
        ),
    ];
    for (name, why) in cases {
        let message = format!("the HPA controller was unable to get the target's current scale: {why}");
        assert_eq!(status(&cluster, name).await, (untold.clone(), vec![able("FailedGetScale", &message)]), "{name}");
    }
    let conditions = vec![
        able("SucceededGetScale", GOT),
        inactive("InvalidSelector", "the HPA target's scale is missing a selector"),
    ];
    let at = json!({"currentReplicas": 2, "desiredReplicas": 0, "currentMetrics": null});
    assert_eq!(status(&cluster, "nosel").await, (at, conditions));
}

#[tokio::test(start_paused = true)]
async fn every_kind_of_metric_is_missing_in_its_own_words() {
    let cluster = Cluster::new().await;
    cluster.define_kinds().await;
    let (share, value) = (
        json!({"type": "Utilization", "averageUtilization": 50}),
        json!({"type": "AverageValue", "averageValue": "10"}),
    );
    let service = json!({"apiVersion": "v1", "kind": "Service", "name": "x"});
    let external = "unable to get external metric a/qps/nil: unable to fetch metrics from external metrics API: the server could not \
                    find the requested resource (get qps.external.metrics.k8s.io)";
    let resource = |name: &str, what: &str| {
        format!("failed to get {name} {what}: unable to get metrics for resource {name}: {NO_RESOURCE_API}")
    };
    let pods = json!({"type": "Pods", "pods": {"metric": {"name": "qps"}, "target": value}});
    let memory = json!({"type": "Resource", "resource": {"name": "memory", "target": share}});
    let cases = [
        ("mem", json!([memory]), "FailedGetResourceMetric", resource("memory", "utilization")),
        (
            "memv",
            json!([{"type": "Resource", "resource": {"name": "memory", "target": value}}]),
            "FailedGetResourceMetric",
            resource("memory", "usage"),
        ),
        (
            "cont",
            json!([{"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "c", "target": share}}]),
            "FailedGetContainerResourceMetric",
            resource("cpu", "utilization"),
        ),
        ("pods", json!([pods]), "FailedGetPodsMetric", format!("unable to get metric qps: {NO_CUSTOM_API}")),
        (
            "obj",
            json!([{"type": "Object", "object": {"metric": {"name": "qps"}, "describedObject": service, "target": value}}]),
            "FailedGetObjectMetric",
            format!("unable to get metric qps: Service on a x/{NO_CUSTOM_API}"),
        ),
        (
            "ext",
            json!([{"type": "External", "external": {"metric": {"name": "qps"}, "target": value}}]),
            "FailedGetExternalMetric",
            external.to_owned(),
        ),
        ("two", json!([pods, memory]), "FailedGetPodsMetric", format!("unable to get metric qps: {NO_CUSTOM_API}")),
    ];
    for (name, metrics, _, _) in &cases {
        flock(&cluster, name, Some(2), &format!("app={name}")).await;
        autoscaler(&cluster, name, "Flock", 1, metrics).await;
    }
    cluster.pass(16).await;
    for (name, metrics, reason, why) in &cases {
        let unmeasured: Vec<Value> = metrics.as_array().unwrap().iter().map(|_| json!({"type": ""})).collect();
        let at = json!({"currentReplicas": 2, "desiredReplicas": 0, "currentMetrics": unmeasured});
        let message = format!("the HPA was unable to compute the replica count: {why}");
        let conditions = vec![able("SucceededGetScale", GOT), inactive(reason, &message)];
        assert_eq!(status(&cluster, name).await, (at, conditions), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn two_autoscalers_of_the_same_pods_stand_still() {
    let cluster = Cluster::new().await;
    cluster.define_kinds().await;
    cluster.make(&node("n")).await;
    cluster.make(&pod("p", "n", &json!({"metadata": {"labels": {"app": "same"}}}))).await;
    for name in ["same1", "same2"] {
        flock(&cluster, name, Some(2), "app=same").await;
        autoscaler(&cluster, name, "Flock", 1, &Value::Null).await;
    }
    cluster.pass(31).await;
    for name in ["same1", "same2"] {
        let found = cluster.get(&path(name)).await.unwrap();
        let active = condition(&found, "ScalingActive");
        assert_eq!(active["reason"], "AmbiguousSelector");
        assert_eq!(active["message"], "pods by selector app=same are controlled by multiple HPAs: [a/same1 a/same2]");
        assert_eq!(found["status"]["currentMetrics"], Value::Null);
    }
    cluster.delete(&path("same2"), &Value::Null).await;
    cluster.pass(16).await;
    let found = cluster.get(&path("same1")).await.unwrap();
    assert_eq!(condition(&found, "ScalingActive")["reason"], "FailedGetResourceMetric");
}
