//! What makes pods run: the main container, its image and its engine. The rest of a pod is judged as a part of the PodCliqueSet.

use crate::dynamo::{Graph, POD_FIELDS, Shape};
use crate::field::{FieldError, Path};
use crate::kinds::dynamo::{Backend, Component};
use crate::names::dynamo::MAIN_CONTAINER;
use crate::quantity;
use serde_json::Value;

pub fn check(graph: &Graph, errors: &mut Vec<FieldError>) {
    for (i, component) in graph.components().iter().enumerate() {
        two_templates(graph, i, errors);
        main_container(graph, i, component, errors);
        shared_memory(graph, i, component, errors);
    }
    backends(graph, errors);
}

fn is_set(value: &Value, field: &str) -> bool {
    value.get(field).is_some_and(|value| !value.is_null())
}

/// A service has fields of its own for its pods; a pod template beside them would leave open which counts.
fn two_templates(graph: &Graph, i: usize, errors: &mut Vec<FieldError>) {
    let written = graph.written(i);
    if graph.shape == Shape::Components || !is_set(written, "podTemplate") {
        return;
    }
    if let Some(other) = POD_FIELDS.into_iter().find(|field| is_set(written, field)) {
        let message = format!("must not be set together with `{other}`");
        errors.push(FieldError::forbidden(&graph.path(i).child("podTemplate"), message));
    }
}

/// Where pods are described, they need an image.
fn main_container(graph: &Graph, i: usize, component: &Component, errors: &mut Vec<FieldError>) {
    let written = graph.written(i);
    if !is_set(written, "podTemplate") && !is_set(written, "extraPodSpec") {
        return;
    }
    let Some((at, main)) = component.main_container() else {
        let message = format!("must have a container named {MAIN_CONTAINER:?}, which runs the component");
        errors.push(FieldError::required(&graph.pod_path(i, "containers"), message));
        return;
    };
    if main.get("image").is_none_or(|image| image.is_null() || image == "") {
        let path = graph.pod_path(i, &format!("containers[{at}].image"));
        errors.push(FieldError::required(&path, "the main container needs an image"));
    }
}

fn shared_memory(graph: &Graph, i: usize, component: &Component, errors: &mut Vec<FieldError>) {
    let Some(size) = &component.shared_memory_size else { return };
    let text = size.as_str().map_or_else(|| size.to_string(), str::to_owned);
    if quantity::parse(&text).is_ok_and(|nanos| nanos >= 0) {
        return;
    }
    let is_old = is_set(graph.written(i), "sharedMemory");
    let path = if is_old {
        graph.path(i).child("sharedMemory").child("size")
    } else {
        graph.path(i).child("sharedMemorySize")
    };
    let message = "must be an amount of memory that is not negative (e.g. '16Gi'), or 0 for none";
    errors.push(FieldError::invalid(&path, size.clone(), message));
}

/// An engine that is named must be the one that runs.
fn backends(graph: &Graph, errors: &mut Vec<FieldError>) {
    let Some(named) = graph.object.spec.backend_framework else { return };
    let other = |component: &&Component| {
        component.may_run_engine() && component.started_backend().is_some_and(|started| started != named)
    };
    if let Some(component) = graph.components().iter().find(other) {
        let started = component.started_backend().map_or("", Backend::as_str);
        let message = format!("the command of {:?} starts dynamo.{started}", component.name);
        errors.push(FieldError::invalid(&Path::new("spec.backendFramework"), named.as_str(), message));
    }
}
