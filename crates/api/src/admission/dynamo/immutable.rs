//! What an update may not change. Components are matched by name, so their order is free.

use crate::dynamo::Graph;
use crate::field::{FieldError, Path};
use crate::kinds::dynamo::{Component, DeploymentTopology};
use serde_json::{Value, json};

const CONSTRAINT: &str = "is immutable and cannot be added, removed, or changed after creation; delete and recreate the \
                          DynamoGraphDeployment to change topology constraints";
const IMMUTABLE: &str = "field is immutable";

pub fn check(graph: &Graph, old: &Graph, errors: &mut Vec<FieldError>) {
    let said = |constraint: Option<&DeploymentTopology>| {
        let constraint = constraint?;
        let name = constraint.cluster_topology_name.clone().filter(|name| !name.is_empty());
        Some((name, constraint.pack_domain))
    };
    let (new, before) = (&graph.object.spec, &old.object.spec);
    if said(new.topology_constraint.as_ref()) != said(before.topology_constraint.as_ref()) {
        let written = graph.written_spec()["topologyConstraint"].clone();
        errors.push(FieldError::invalid(&Path::new("spec.topologyConstraint"), written, CONSTRAINT));
    }
    if new.backend_framework != before.backend_framework {
        let value = json!(new.backend_framework);
        errors.push(FieldError::invalid(&Path::new("spec.backendFramework"), value, IMMUTABLE));
    }
    composition(graph, old, errors);
    for (i, component) in graph.components().iter().enumerate() {
        if let Some(before) = old.component(&component.name) {
            component_check(graph, i, component, before, errors);
        }
    }
}

/// The set of components is for life.
fn composition(graph: &Graph, old: &Graph, errors: &mut Vec<FieldError>) {
    for (i, component) in graph.components().iter().enumerate() {
        if old.component(&component.name).is_none() {
            let message = format!(
                "{:?} cannot be added after creation; delete and recreate the DynamoGraphDeployment",
                component.name
            );
            errors.push(FieldError::forbidden(&graph.name_path(i), message));
        }
    }
    for gone in old.components().iter().filter(|component| graph.component(&component.name).is_none()) {
        let message =
            format!("{:?} cannot be removed after creation; delete and recreate the DynamoGraphDeployment", gone.name);
        errors.push(FieldError::forbidden(&graph.components_path(), message));
    }
}

fn component_check(graph: &Graph, i: usize, new: &Component, old: &Component, errors: &mut Vec<FieldError>) {
    let path = graph.path(i);
    if new.domain() != old.domain() {
        let written = graph.written(i)["topologyConstraint"].clone();
        errors.push(FieldError::invalid(&path.child("topologyConstraint"), written, CONSTRAINT));
    }
    if new.is_multinode() != old.is_multinode() {
        let message = "cannot change between one node and several nodes after creation";
        errors.push(FieldError::forbidden(&path.child("multinode"), message));
    } else if new.nodes() != old.nodes() {
        let message = format!(
            "cannot be changed from {} to {} after creation: all nodes of a replica start together",
            old.nodes(),
            new.nodes()
        );
        errors.push(FieldError::forbidden(&path.child("multinode").child("nodeCount"), message));
    }
    if new.minimum() != old.minimum() {
        let value = new.min_available.map_or(Value::Null, Value::from);
        errors.push(FieldError::invalid(&path.child("minAvailable"), value, IMMUTABLE));
    }
    if new.forces_group() != old.forces_group() {
        let path = path.child("experimental").child("grove").child("forceScalingGroup");
        errors.push(FieldError::forbidden(&path, "cannot be switched on or off after creation"));
    }
}
