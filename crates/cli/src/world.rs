//! The cluster that the input describes, as admission and lowering see it.

use crate::objects::{Object, Role};
use crate::osmo;
use serde_json::Value;
use trellis_api::admission::object::{Decoded, Kind, decode};
use trellis_api::admission::review::{self, Defaulted};
use trellis_api::admission::{ClusterView, default_cluster_topology, default_pod_clique_set};
use trellis_api::dynamo::Graph;
use trellis_api::kinds::config::OperatorConfiguration;
use trellis_api::kinds::osmo::Pool;
use trellis_api::kinds::{ClusterTopology, PodClique, PodCliqueScalingGroup, PodCliqueSet};
use trellis_api::names::label;
use trellis_api::settings::Settings;

/// Reads and defaults a set that replaces `old`, if there is an old one.
pub fn pod_clique_set(object: &Object, old: Option<&PodCliqueSet>, settings: &Settings) -> Defaulted {
    review::defaulted(&object.document.value, old, settings)
}

/// The set that a deployment becomes, as it would be stored.
pub fn set_of_deployment(object: &Object, settings: &Settings) -> Option<PodCliqueSet> {
    let graph = Graph::read(&object.document.value).object?;
    Some(made(&graph, settings))
}

/// The same of a deployment that was read.
pub fn made(graph: &Graph, settings: &Settings) -> PodCliqueSet {
    let mut set = trellis_lower::dynamo::pod_clique_set(graph, settings);
    default_pod_clique_set(&mut set, None, settings);
    set
}

/// Reads a set that is stored already: it has its defaults, and the label that it has is the label that it had.
pub fn stored_pod_clique_set(object: &Object, settings: &Settings) -> Decoded<PodCliqueSet> {
    review::stored(&object.document.value, settings)
}

/// Reads a topology as it is written; sorted levels would put its faults on other lines.
pub fn cluster_topology(object: &Object) -> Decoded<ClusterTopology> {
    decode(Kind::ClusterTopology, object.document.value.clone())
}

/// Reads the configuration and what it comes to; without one, everything is on.
pub fn settings(config: Option<&Object>) -> Settings {
    let Some(config) = config else { return Settings::default() };
    let decoded: Decoded<OperatorConfiguration> = decode(Kind::OperatorConfiguration, config.document.value.clone());
    Settings::of(&decoded.object.unwrap_or_default())
}

/// What admission may know of the cluster: all objects of the input, and the default topology of the configuration.
pub fn view(objects: &[&Object], settings: &Settings) -> ClusterView {
    let mut view = ClusterView::default();
    for object in objects {
        match object.role {
            Role::Judged(Kind::ClusterTopology) => {
                // One that is refused for its form is not in the cluster.
                if let Some(mut topology) = cluster_topology(object).whole() {
                    default_cluster_topology(&mut topology);
                    view.topologies.insert(object.name.clone(), topology);
                }
            }
            Role::Judged(Kind::PodCliqueSet) => {
                view.sets.extend(pod_clique_set(object, None, settings).decoded.object);
            }
            Role::Judged(Kind::DynamoGraphDeployment) => view.sets.extend(set_of_deployment(object, settings)),
            Role::Judged(Kind::Pool) => {
                let pool = decode::<Pool>(Kind::Pool, object.document.value.clone()).object;
                view.pools.extend(pool.map(|pool| (object.name.clone(), pool)));
            }
            Role::Pod => view.scheduled.extend(scheduled_set(object)),
            Role::Judged(_) | Role::Unknown | Role::Foreign => {}
        }
    }
    // A workflow lives where its pool does, so all pools are read by now.
    let workflows = objects.iter().filter(|object| object.role == Role::Judged(Kind::Workflow));
    for (workflow, _) in workflows.filter_map(|object| osmo::with_pool(object, &view.pools)) {
        view.workflows.add(&workflow);
    }
    if let Some(topology) = settings.default_topology() {
        view.topologies.insert(topology.metadata.name.clone().unwrap_or_default(), topology);
    }
    view
}

/// The set whose pod this is, if the pod has a node and is not finished.
fn scheduled_set(pod: &Object) -> Option<(String, String)> {
    let value = &pod.document.value;
    let set = value["metadata"]["labels"].get(label::PART_OF)?.as_str()?;
    let has_node = value["spec"]["nodeName"].as_str().is_some_and(|node| !node.is_empty());
    let is_finished = matches!(value["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    (has_node && !is_finished).then(|| (pod.namespace.clone(), set.to_owned()))
}

/// Live cliques and scaling groups of the input.
pub fn children(objects: &[&Object]) -> (Vec<PodClique>, Vec<PodCliqueScalingGroup>) {
    let of = |kind: Kind| objects.iter().filter(move |object| object.role == Role::Judged(kind));
    let value = |object: &&&Object| -> Value { object.document.value.clone() };
    (
        of(Kind::PodClique).filter_map(|object| decode(Kind::PodClique, value(&object)).object).collect(),
        of(Kind::PodCliqueScalingGroup)
            .filter_map(|object| decode(Kind::PodCliqueScalingGroup, value(&object)).object)
            .collect(),
    )
}
