//! Labels and annotations of cliques and their pods. What the user says of the pods goes before what is said of the deployment; labels
//! by which Dynamo's parts find each other go before both.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use trellis_api::dynamo::Graph;
use trellis_api::kinds::dynamo::{Component, ComponentType};
use trellis_api::names::dynamo::{annotation, label};
use trellis_api::names::{self, dynamo, profile};
use trellis_api::settings::Settings;

/// How components find each other where nobody says.
const KUBERNETES: &str = "kubernetes";

pub fn labels(
    graph: &Graph,
    component: &Component,
    worker_hash: &str,
    settings: &Settings,
) -> BTreeMap<String, String> {
    let mut labels = graph.object.spec.labels.clone();
    if let Some(template) = &component.pod_template {
        labels.extend(template.metadata.labels.clone());
    }
    let queue = labels.get(names::label::KAI_QUEUE).cloned();
    let mut put = |key: &str, value: String| drop(labels.insert(key.to_owned(), value));
    put(label::SELECTOR, dynamo::selector(&graph.name(), &component.name));
    put(label::DEPLOYMENT, dynamo::label_value(&graph.name()));
    put(label::COMPONENT, component.name.clone());
    if let Some(type_) = type_name(component) {
        put(label::COMPONENT_TYPE, type_.to_owned());
    }
    if let Some(sub) = sub_type(component) {
        put(label::SUB_COMPONENT_TYPE, sub.to_owned());
    }
    put(label::DYNAMO_NAMESPACE, dynamo_namespace(graph, component));
    if graph.annotation(annotation::ENABLE_METRICS) != Some("false") {
        put(label::METRICS_ENABLED, "true".to_owned());
    }
    if discovery(graph) == KUBERNETES {
        put(label::DISCOVERY_BACKEND, KUBERNETES.to_owned());
        put(label::DISCOVERY_ENABLED, "true".to_owned());
    }
    if component.is_worker() {
        put(label::WORKER_HASH, worker_hash.to_owned());
    }
    let scheduler = component.pod_template.as_ref().and_then(|template| template.spec.scheduler_name());
    if settings.profile(scheduler) == profile::KAI {
        let queue = named_queue(graph).map(str::to_owned).or(queue).unwrap_or_else(|| dynamo::DEFAULT_QUEUE.to_owned());
        put(names::label::KAI_QUEUE, queue);
    }
    labels
}

/// The queue that the deployment's annotation names.
pub fn named_queue(graph: &Graph) -> Option<&str> {
    graph.annotation(annotation::KAI_QUEUE).map(str::trim).filter(|named| !named.is_empty())
}

pub fn annotations(graph: &Graph, component: &Component) -> BTreeMap<String, String> {
    let mut annotations = graph.object.spec.annotations.clone();
    if let Some(template) = &component.pod_template {
        annotations.extend(template.metadata.annotations.clone());
    }
    for key in annotation::PROPAGATED {
        if let Some(value) = graph.annotation(key) {
            annotations.entry(key.to_owned()).or_insert_with(|| value.to_owned());
        }
    }
    annotations
}

/// What the component is for; a word of the user's own counts if a label can hold it.
pub fn type_name(component: &Component) -> Option<&str> {
    let own = || component.other.get("componentType").and_then(Value::as_str).filter(|own| fits_label(own));
    component.type_.map(ComponentType::as_str).or_else(own)
}

fn sub_type(component: &Component) -> Option<&str> {
    match component.type_ {
        Some(type_ @ (ComponentType::Prefill | ComponentType::Decode)) => Some(type_.as_str()),
        _ => component.other.get("subComponentType").and_then(Value::as_str).filter(|own| fits_label(own)),
    }
}

fn fits_label(text: &str) -> bool {
    let edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    text.len() <= names::LABEL_VALUE_MAX
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        && edge(text.bytes().next())
        && edge(text.bytes().last())
}

/// How components find each other.
pub fn discovery(graph: &Graph) -> &str {
    graph.annotation(annotation::DISCOVERY_BACKEND).filter(|given| !given.is_empty()).unwrap_or(KUBERNETES)
}

/// The namespace inside Dynamo.
pub fn dynamo_namespace(graph: &Graph, component: &Component) -> String {
    match component.global_dynamo_namespace {
        Some(true) => dynamo::GLOBAL_NAMESPACE.to_owned(),
        _ => dynamo::dynamo_namespace(graph.namespace(), &graph.name()),
    }
}

/// Hash of what all workers are made from: workers of two generations do not talk to each other. Replicas are no part of it.
pub fn worker_hash(graph: &Graph) -> String {
    let workers = graph.components().iter().filter(|component| component.is_worker());
    let made: Vec<Value> = workers.map(|worker| json!([worker.name, worker.pod_template])).collect();
    dynamo::worker_hash(&crate::hash::canonical(&json!([graph.object.spec.env, made])))
}
