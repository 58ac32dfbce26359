//! Cliques and scaling groups of the components.
//!
//! A component on one node is a clique. One over several nodes is a scaling group of a leader and workers, whose replicas are placed one
//! by one; its constraint stands on the group and binds each replica, and its cliques have none.

use super::{Role, constraint, metadata, multinode, places, pods};
use std::sync::Arc;
use trellis_api::dynamo::Graph;
use trellis_api::kinds::dynamo::Component;
use trellis_api::kinds::{CliqueTemplate, PodCliqueSpec, PodSpec, ScalingGroupTemplate};
use trellis_api::names::dynamo;
use trellis_api::settings::Settings;

pub fn cliques(graph: &Graph, settings: &Settings) -> Vec<CliqueTemplate> {
    let worker_hash = metadata::worker_hash(graph);
    places(graph)
        .map(|(_, component, role)| {
            let name = role.clique(component);
            let (replicas, min_available) = counts(component, role);
            let domain = component.domain().filter(|_| !component.is_group());
            CliqueTemplate {
                labels: metadata::labels(graph, component, &worker_hash, settings),
                annotations: metadata::annotations(graph, component),
                topology_constraint: domain.map(constraint),
                resource_sharing: Vec::new(),
                spec: PodCliqueSpec {
                    role_name: name.clone(),
                    pod_spec: PodSpec(Arc::new(pods::pod_spec(graph, component, role, &worker_hash))),
                    replicas: Some(replicas),
                    min_available: Some(min_available),
                    starts_after: multinode::starts_after(graph, component, role),
                    auto_scaling_config: None,
                },
                name,
            }
        })
        .collect()
}

/// Pods of a clique, and how many of them must run together.
fn counts(component: &Component, role: Role) -> (i32, i32) {
    match role {
        Role::Single if !component.is_group() => (component.count(), component.minimum()),
        Role::Single | Role::Leader => (1, 1),
        // Without all of its workers a replica is of no use.
        Role::Worker => (component.nodes() - 1, component.nodes() - 1),
    }
}

pub fn groups(graph: &Graph) -> Vec<ScalingGroupTemplate> {
    let grouped = graph.components().iter().filter(|component| component.is_group());
    grouped
        .map(|component| ScalingGroupTemplate {
            name: dynamo::clique(&component.name),
            clique_names: Role::of(component).iter().map(|role| role.clique(component)).collect(),
            replicas: Some(component.count()),
            min_available: Some(component.minimum()),
            topology_constraint: component.domain().map(constraint),
            ..ScalingGroupTemplate::default()
        })
        .collect()
}
