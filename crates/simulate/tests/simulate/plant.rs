//! Each of five violations is planted by hand into a healthy run, and the checker finds it and calls it by its name.
//!
//! Pods that are planted name a scheduler that is not there, so nobody but the test gives them nodes.

use std::sync::Arc;

use futures::FutureExt as _;
use http::Method;
use serde_json::{Value, json};
use trellis_cluster::api::Api;
use trellis_simulate::check::Rule;
use trellis_simulate::{Hook, NAMESPACE, Options, node_name, run, send};

/// Does something before one event.
pub fn at<F: Future<Output = ()> + Send + 'static>(event: usize, plant: fn(Api) -> F) -> Hook {
    Arc::new(move |number, api| if number == event { plant(api).boxed() } else { async {}.boxed() })
}

const GROUPS: &str = "/apis/scheduling.run.ai/v2alpha2/namespaces/default/podgroups";
const PODS: &str = "/api/v1/namespaces/default/pods";

async fn post(api: &Api, path: &str, object: &Value) -> Value {
    let (code, answer) = send(api, Method::POST, path, object).await;
    assert!(code < 300, "{path}: {answer}");
    answer
}

/// A PodGroup that requires a level, if one is named.
async fn group(api: &Api, name: &str, min: usize, level: Option<&str>) {
    let mut spec = json!({ "minMember": min });
    if let Some(level) = level {
        spec["topologyConstraint"] = json!({ "topology": "grove-topology", "requiredTopologyLevel": level });
    }
    let metadata = json!({ "name": name, "namespace": NAMESPACE });
    let kind = "PodGroup";
    let object =
        json!({ "apiVersion": "scheduling.run.ai/v2alpha2", "kind": kind, "metadata": metadata, "spec": spec });
    post(api, GROUPS, &object).await;
}

/// A pod that nobody serves; its uid.
async fn pod(api: &Api, name: &str, group: Option<&str>, request: &Value) -> String {
    let mut metadata = json!({ "name": name, "namespace": NAMESPACE });
    if let Some(group) = group {
        metadata["annotations"] = json!({ "pod-group-name": group });
    }
    let container = json!({ "name": "app", "image": "app", "resources": { "requests": request, "limits": request } });
    let spec = json!({ "schedulerName": "nobody", "containers": [container] });
    let made = post(api, PODS, &json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec })).await;
    made["metadata"]["uid"].as_str().expect("a uid").to_owned()
}

/// Writes a plan record: for each pod its name, uid and node.
async fn write_record(api: &Api, group: &str, more: Value, pods: &[(&str, &str, usize)]) {
    let mut nodes = serde_json::Map::new();
    for (name, uid, node) in pods {
        nodes.insert(node_name(*node), format!("{name}:{}", &uid[..8]).into());
    }
    let mut record = json!({ "version": 1, "by": "a test", "at": "2026-01-01T00:00:00Z" });
    if !nodes.is_empty() {
        record["members"] = json!([{ "group": "default", "request": { "pods": 1 }, "nodes": nodes }]);
    }
    record.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
    let patch = json!({ "metadata": { "annotations": { "trellis.dev/placement": record.to_string() } } });
    let (code, answer) = send(api, Method::PATCH, &format!("{GROUPS}/{group}"), &patch).await;
    assert!(code < 300, "{answer}");
}

async fn bind(api: &Api, pod: &str, node: usize) {
    let target = json!({ "kind": "Node", "name": node_name(node) });
    let binding = json!({ "apiVersion": "v1", "kind": "Binding", "metadata": { "name": pod }, "target": target });
    post(api, &format!("{PODS}/{pod}/binding"), &binding).await;
}

/// One of two members gets a node, and nothing was written down.
pub async fn half_gang(api: Api) {
    group(&api, "planted", 2, None).await;
    for name in ["planted-0", "planted-1"] {
        pod(&api, name, Some("planted"), &json!({})).await;
    }
    bind(&api, "planted-0", 0).await;
}

/// Two pods on one node, each of which asks for all that it has.
async fn double_booking(api: Api) {
    for name in ["planted-0", "planted-1"] {
        pod(&api, name, None, &json!({ "memory": "200Gi" })).await;
        bind(&api, name, 4).await;
    }
}

/// Two members of a gang that has to share a rack, as written down, in two racks.
async fn wrong_rack(api: Api) {
    group(&api, "planted", 2, Some("simulate.trellis.dev/rack")).await;
    let one = pod(&api, "planted-0", Some("planted"), &json!({})).await;
    let two = pod(&api, "planted-1", Some("planted"), &json!({})).await;
    write_record(&api, "planted", json!({}), &[("planted-0", &one, 0), ("planted-1", &two, 11)]).await;
    bind(&api, "planted-0", 0).await;
    bind(&api, "planted-1", 11).await;
}

/// A pod takes what is held for a member that vanished.
async fn lost_hold(api: Api) {
    group(&api, "planted", 1, None).await;
    let places = json!({ "group": "default", "request": { "memory": 250_u64 << 30 }, "nodes": { node_name(5): "was:12345678" } });
    let mut held = places;
    held["until"] = "2027-01-01T00:00:00Z".into();
    write_record(&api, "planted", json!({ "held": [held] }), &[]).await;
    pod(&api, "planted-0", None, &json!({ "memory": "100Gi" })).await;
    bind(&api, "planted-0", 5).await;
}

/// A plan is written down, and nobody carries it out.
async fn orphan_plan(api: Api) {
    group(&api, "planted", 1, None).await;
    let uid = pod(&api, "planted-0", Some("planted"), &json!({})).await;
    write_record(&api, "planted", json!({}), &[("planted-0", &uid, 7)]).await;
}

fn check<F: Future<Output = ()> + Send + 'static>(plant: fn(Api) -> F, rule: Rule) {
    let healthy = Options { seed: 1, events: 30, ..Options::default() };
    let options = Options { hook: Some(at(20, plant)), ..healthy.clone() };
    let report = run(&options, &|_| ()).expect("it runs");
    let first = report.violations.first().unwrap_or_else(|| panic!("{} is not found", rule.name()));
    assert_eq!(first.rule, rule, "{:#?}", report.violations);
    assert!(first.objects.iter().any(|object| object.contains("planted")), "{first:#?}");
    assert!(first.event >= 20 && first.revision > 0, "{first:#?}");
    let report = run(&healthy, &|_| ()).expect("it runs");
    assert!(report.violations.is_empty(), "without what is planted: {:#?}", report.violations);
}

#[test]
fn a_half_gang_is_found() {
    check(half_gang, Rule::HalfGang);
}

#[test]
fn a_double_booking_is_found() {
    check(double_booking, Rule::DoubleBooking);
}

#[test]
fn a_wrong_rack_is_found() {
    check(wrong_rack, Rule::WrongRack);
}

#[test]
fn a_lost_hold_is_found() {
    check(lost_hold, Rule::LostHold);
}

#[test]
fn an_orphan_plan_is_found() {
    check(orphan_plan, Rule::OrphanPlan);
}
