//! From a DynamoGraphDeployment to the PodCliqueSet that it becomes.
//!
//! [`pod_clique_set`] is a total function of the deployment and the settings. [`follow`] has admission judge the set and tells its faults
//! of the places in the deployment that they come from; [`update`] is what follows for a set that is there already.

mod cliques;
mod environment;
mod follow;
mod metadata;
mod multinode;
mod pods;
mod probes;
mod update;

pub use follow::{follow, follow_structure};
pub use update::{Scaling, Update, object, update};

use crate::owner_reference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use trellis_api::Domain;
use trellis_api::dynamo::Graph;
use trellis_api::kinds::dynamo::Component;
use trellis_api::kinds::{
    HeadlessServiceConfig, PodCliqueSet, PodCliqueSetSpec, PodCliqueSetTemplate, StartupType, TopologyConstraint,
    UpdateStrategy, UpdateStrategyType,
};
use trellis_api::names::dynamo::{annotation, label};
use trellis_api::names::{self, dynamo};
use trellis_api::settings::Settings;

/// Which pods of a component a clique holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// All of them: a replica is one pod.
    Single,
    /// The first of a replica that spans several nodes.
    Leader,
    /// The others of such a replica.
    Worker,
}

impl Role {
    /// The cliques of a component, in their order.
    fn of(component: &Component) -> &'static [Self] {
        if component.is_multinode() { &[Self::Leader, Self::Worker] } else { &[Self::Single] }
    }

    fn clique(self, component: &Component) -> String {
        match self {
            Self::Single => dynamo::clique(&component.name),
            Self::Leader => dynamo::leader(&component.name),
            Self::Worker => dynamo::worker(&component.name),
        }
    }
}

/// Component and role of every clique of the set, in the order of its cliques.
fn places(graph: &Graph) -> impl Iterator<Item = (usize, &Component, Role)> {
    let components = graph.components().iter().enumerate();
    components.flat_map(|(i, component)| Role::of(component).iter().map(move |role| (i, component, *role)))
}

/// The PodCliqueSet of a deployment: one replica, a clique or a scaling group for each component.
pub fn pod_clique_set(graph: &Graph, settings: &Settings) -> PodCliqueSet {
    let spec = &graph.object.spec;
    let cliques = cliques::cliques(graph, settings);
    let is_ordered = cliques.iter().any(|clique| !clique.spec.starts_after.is_empty());
    PodCliqueSet {
        metadata: metadata(graph),
        spec: PodCliqueSetSpec {
            replicas: 1,
            update_strategy: update_strategy(graph),
            template: PodCliqueSetTemplate {
                cliques,
                clique_startup_type: if is_ordered { StartupType::Explicit } else { StartupType::AnyOrder },
                priority_class_name: spec.priority_class_name.clone(),
                headless_service_config: Some(HeadlessServiceConfig { publish_not_ready_addresses: true }),
                cluster_topology_name: graph.written_topology().filter(|_| graph.is_constrained()).map(str::to_owned),
                topology_constraint: graph.domain().map(constraint),
                pod_clique_scaling_groups: cliques::groups(graph),
                ..PodCliqueSetTemplate::default()
            },
        },
        status: None,
    }
}

fn metadata(graph: &Graph) -> ObjectMeta {
    let spec = &graph.object.spec;
    let mut labels = spec.labels.clone();
    // It follows the constraints by itself.
    labels.remove(names::label::TOPOLOGY_NAME);
    labels.insert(label::DEPLOYMENT.to_owned(), dynamo::label_value(&graph.name()));
    ObjectMeta {
        name: Some(graph.set_name()),
        namespace: Some(graph.namespace().to_owned()),
        labels: Some(labels),
        annotations: Some(spec.annotations.clone()).filter(|annotations| !annotations.is_empty()),
        owner_references: owner_reference(&graph.object).map(|owner| vec![owner]),
        ..ObjectMeta::default()
    }
}

fn update_strategy(graph: &Graph) -> Option<UpdateStrategy> {
    let type_ = match graph.annotation(annotation::UPDATE_STRATEGY)? {
        "RollingRecreate" => UpdateStrategyType::RollingRecreate,
        "OnDelete" => UpdateStrategyType::OnDelete,
        _ => return None,
    };
    Some(UpdateStrategy { type_ })
}

/// A deployment's constraint in the words of a set; its domains are the same.
fn constraint(domain: Domain) -> TopologyConstraint {
    TopologyConstraint { topology_name: None, pack_domain: Some(domain), pack: None }
}
