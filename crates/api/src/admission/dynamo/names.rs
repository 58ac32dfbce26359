//! Names: of the deployment, of its components, and how long they are together.

use super::super::form;
use crate::dynamo::{Graph, Shape};
use crate::field::{FieldError, Path};
use crate::kinds::dynamo::{Component, ComponentType};
use crate::names::{COMBINED_NAME_MAX, dynamo};
use std::collections::BTreeMap;

/// Most components of a deployment.
const COMPONENTS_MAX: usize = 25;
const NAME_MAX: usize = 63;

pub fn check(graph: &Graph, errors: &mut Vec<FieldError>) {
    form::metadata(&graph.object.metadata, "DynamoGraphDeployment", errors);
    both_shapes(graph, errors);
    let (path, components) = (graph.components_path(), graph.components());
    if components.is_empty() {
        errors
            .push(FieldError::required(&path, format!("at least one of the {} must be defined", graph.shape.field())));
    }
    // Lists of components are counted by their schema.
    if components.len() > COMPONENTS_MAX && graph.shape != Shape::Components {
        let message = format!("must have at most {COMPONENTS_MAX} items");
        errors.push(FieldError::too_many(&path, components.len(), message));
    }
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for (i, component) in components.iter().enumerate() {
        let (path, name) = (graph.name_path(i), component.name.as_str());
        if !is_name(name) {
            let message = "must be letters, digits and '-', starting and ending with a letter or digit, at most 63 characters \
                           (e.g. 'VllmWorker')";
            errors.push(FieldError::invalid(&path, name, message));
            continue;
        }
        if let Some(other) = seen.insert(dynamo::clique(name), name) {
            let message = format!("names must be unique whatever their case, and there is {other:?} already");
            errors.push(FieldError { message, ..FieldError::duplicate(&path, name) });
        }
    }
    made_names(graph, errors);
    lengths(graph, errors);
    one_picker(graph, errors);
}

fn is_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    bytes.len() <= NAME_MAX
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
        && edge(bytes.first())
        && edge(bytes.last())
}

fn both_shapes(graph: &Graph, errors: &mut Vec<FieldError>) {
    let has = |field: &str| graph.written_spec().get(field).is_some_and(|value| !value.is_null());
    if has("services") && has("components") {
        let message = "must not be set together with spec.components: both say what the deployment consists of";
        errors.push(FieldError::forbidden(&Path::new("spec.services"), message));
    }
}

/// `a` over several nodes has the groups `a-ldr` and `a-wkr`, and no other component may be called so.
fn made_names(graph: &Graph, errors: &mut Vec<FieldError>) {
    for (i, component) in graph.components().iter().enumerate() {
        let own = dynamo::clique(&component.name);
        let takes = graph.components().iter().find(|other| {
            other.is_multinode() && [dynamo::leader(&other.name), dynamo::worker(&other.name)].contains(&own)
        });
        if let (Some(other), false) = (takes, component.is_multinode()) {
            let message =
                format!("its pods would have the names of pods of {:?}, which spans several nodes", other.name);
            let path = graph.name_path(i);
            errors.push(FieldError { message, ..FieldError::duplicate(&path, component.name.as_str()) });
        }
    }
}

/// Pods are called by the deployment and the component; the deployment's name is cut to fit, the component's is not.
fn lengths(graph: &Graph, errors: &mut Vec<FieldError>) {
    let set = graph.set_name();
    for (i, component) in graph.components().iter().enumerate() {
        let length = set.len() + component.name_length();
        if length <= COMBINED_NAME_MAX {
            continue;
        }
        let message = format!(
            "combined resource name length {length} exceeds the {COMBINED_NAME_MAX}-character limit required for pod naming; {}",
            shorter(graph, &set, component, length - COMBINED_NAME_MAX)
        );
        errors.push(FieldError::invalid(&graph.name_path(i), component.name.as_str(), message));
    }
}

/// What to shorten: the deployment's name only where it was not cut already, and where that would do.
fn shorter(graph: &Graph, set: &str, component: &Component, excess: usize) -> String {
    let (deployment, name) = (graph.name(), &component.name);
    if deployment == set && excess < set.len() {
        return format!("shorten DynamoGraphDeployment name {deployment:?} or component name {name:?}");
    }
    // In a group, the name stands there twice.
    let by = if component.is_group() { excess.div_ceil(2) } else { excess };
    format!("shorten component name {name:?} by at least {by}; the deployment's name counts as {} already", set.len())
}

fn one_picker(graph: &Graph, errors: &mut Vec<FieldError>) {
    let pickers = graph.components().iter().enumerate().filter(|(_, c)| c.type_ == Some(ComponentType::Epp));
    for (i, _) in pickers.skip(1) {
        let field = if graph.written(i).get("componentType").is_some() { "componentType" } else { "type" };
        errors.push(FieldError::forbidden(&graph.path(i).child(field), "only one component may be of type \"epp\""));
    }
}
