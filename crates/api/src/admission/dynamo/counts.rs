//! Replicas, minima and nodes.

use crate::dynamo::Graph;
use crate::field::FieldError;
use crate::names::GANG_PODS_MAX;

pub fn check(graph: &Graph, errors: &mut Vec<FieldError>) {
    for (i, component) in graph.components().iter().enumerate() {
        let path = graph.path(i);
        let replicas = component.count();
        if replicas == 0 {
            let message = "must be at least 1: a component without pods leaves a gang that can never be placed as a whole; delete the \
                           deployment, or leave the component out of a new one";
            errors.push(FieldError::invalid(&path.child("replicas"), 0, message));
        }
        match component.min_available {
            Some(min) if min > replicas && replicas > 0 => {
                let message = format!("must be less than or equal to replicas, which are {replicas}");
                errors.push(FieldError::invalid(&path.child("minAvailable"), min, message));
            }
            _ => {}
        }
        let nodes = component.multinode.as_ref().and_then(|multinode| multinode.node_count);
        let path = path.child("multinode").child("nodeCount");
        match nodes {
            Some(nodes) if nodes < 2 => {
                let message = "must be at least 2; leave `multinode` out for a component on one node";
                errors.push(FieldError::invalid(&path, nodes, message));
            }
            Some(nodes) if i64::from(nodes) > GANG_PODS_MAX => {
                let message = format!("one replica is a gang, and a gang may have at most {GANG_PODS_MAX} pods");
                errors.push(FieldError::too_many(&path, nodes, message));
            }
            _ => {}
        }
    }
}
