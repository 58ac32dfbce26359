//! Admission of DynamoGraphDeployments: document 003, and what a deployment needs to become a PodCliqueSet that runs.
//!
//! What the PodCliqueSet itself would be refused for is found where it is made, in `trellis-lower`, and told of the place in the deployment
//! that it comes from. [`DynamoReview`] puts both together.

mod counts;
mod fields;
mod immutable;
mod names;
mod pods;
mod review;
mod topology;

pub use review::DynamoReview;
pub use topology::TopologyRead;

use super::Verdict;
use crate::dynamo::{Graph, Shape};
use crate::settings::Settings;
use serde_json::Value;

/// Faults and oddities that show in the deployment alone, whatever the cluster looks like.
pub fn structure(graph: &Graph) -> Verdict {
    let mut verdict = Verdict::default();
    names::check(graph, &mut verdict.errors);
    counts::check(graph, &mut verdict.errors);
    pods::check(graph, &mut verdict.errors);
    topology::check_shape(graph, &mut verdict.errors);
    fields::check(graph, &mut verdict);
    verdict
}

/// Whether the deployment may be created, or may replace `old`. The topology is looked at on creation only: it may have changed since, and
/// an update cannot change what is asked of it. An update that leaves the spec alone is judged by the annotations that it changes.
pub fn validate(graph: &Graph, old: Option<&Graph>, topology: &TopologyRead<'_>, settings: &Settings) -> Verdict {
    if graph.object.metadata.deletion_timestamp.is_some() {
        return Verdict::default();
    }
    if let Some(old) = old.filter(|old| old.object.spec == graph.object.spec) {
        let mut verdict = Verdict::default();
        fields::annotations(graph, Some(old), &mut verdict);
        return verdict;
    }
    let mut verdict = structure(graph);
    match old {
        None => topology::check_cluster(graph, topology, settings, &mut verdict.errors),
        Some(old) => immutable::check(graph, old, &mut verdict.errors),
    }
    verdict
}

/// Fills in what the user left out, in the shape that the user chose. Doing it twice changes nothing.
pub fn default(object: &mut Value) {
    let api_version = object["apiVersion"].as_str().unwrap_or_default().to_owned();
    let shape = Shape::of(&object["spec"], &api_version);
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let components: Vec<&mut Value> = match spec.get_mut(shape.field()) {
        Some(Value::Array(items)) => items.iter_mut().collect(),
        Some(Value::Object(services)) => services.values_mut().collect(),
        _ => return,
    };
    for component in components.into_iter().filter_map(Value::as_object_mut) {
        if component.get("replicas").is_none_or(Value::is_null) {
            component.insert("replicas".to_owned(), 1.into());
        }
        if shape == Shape::Components
            && let Some(Value::Object(multinode)) = component.get_mut("multinode")
            && multinode.get("nodeCount").is_none_or(Value::is_null)
        {
            multinode.insert("nodeCount".to_owned(), 2.into());
        }
    }
}
