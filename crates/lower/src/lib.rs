//! Every translation: total functions from objects to the objects that follow from them.
//!
//! [`lower`] takes a defaulted PodCliqueSet, the topologies, the live replica counts and the settings, and returns every
//! object the operator would make. Nothing here can fail; what has to be left out is reported as [`Drift`].

mod claims;
mod cliques;
pub mod dynamo;
mod expand;
pub mod explanation;
mod gangs;
mod hash;
pub mod kai;
pub mod named;
pub mod osmo;
mod pods;
pub mod problem;
mod rbac;
mod scaling;
mod services;
mod startup;
mod topology;

pub use claims::claims;
pub use cliques::pod_clique;
pub use expand::{GroupReplica, Instance, LiveReplicas, by_gang, expand};
pub use gangs::{PodNames, pod_gang};
pub use hash::{generation_hash, pod_template_hash};
pub use pods::{Pod, PodMaker};
pub use rbac::{Rbac, rbac};
pub use scaling::{autoscalers, scaling_groups};
pub use services::services;
pub use startup::{Parent, parents};
pub use topology::{Drift, DriftState, Translation};

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::{Service, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube_core::DynamicObject;
use std::collections::BTreeMap;
use trellis_api::kinds::{ClusterTopology, PodClique, PodCliqueScalingGroup, PodCliqueSet, PodGang, kai::KaiPodGroup};
use trellis_api::names::{self, MANAGED_BY, label, profile};
use trellis_api::settings::Settings;

/// What lowering looks at beside the set itself.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// ClusterTopologies by name.
    pub topologies: &'a BTreeMap<String, ClusterTopology>,
    /// Replica counts that autoscalers gave to live cliques and groups.
    pub live: &'a LiveReplicas,
    /// The configuration in force.
    pub settings: &'a Settings,
}

/// Everything that follows from a PodCliqueSet.
#[derive(Debug, Default)]
pub struct Lowered {
    /// Account for pods that wait for others and name none.
    pub service_account: Option<ServiceAccount>,
    /// What pods that wait for others may read.
    pub role: Option<Role>,
    /// Who may read it.
    pub role_binding: Option<RoleBinding>,
    /// A headless Service for each replica.
    pub services: Vec<Service>,
    /// Autoscalers of cliques and groups.
    pub autoscalers: Vec<HorizontalPodAutoscaler>,
    /// Resource claims that pods share.
    pub claims: Vec<DynamicObject>,
    /// The cliques.
    pub pod_cliques: Vec<PodClique>,
    /// The scaling groups.
    pub scaling_groups: Vec<PodCliqueScalingGroup>,
    /// The gangs, with references to all their pods.
    pub gangs: Vec<PodGang>,
    /// The pods, as they are created.
    pub pods: Vec<Pod>,
    /// KAI's form of the gangs, where KAI serves the set.
    pub kai_pod_groups: Vec<KaiPodGroup>,
    /// What could not be translated, and why.
    pub drift: Drift,
}

/// Everything that follows from a defaulted PodCliqueSet. Pods are named `<podclique>-<index>`.
pub fn lower(set: &PodCliqueSet, around: &Surroundings<'_>) -> Lowered {
    let settings = around.settings;
    let instances = expand(set, around.live);
    let translation = topology::Translation::of(set, around.topologies, settings);
    let (mut gangs, mut pod_cliques, mut pods) = (Vec::new(), Vec::new(), Vec::new());
    for members in expand::by_gang(&instances) {
        gangs.push(gangs::pod_gang(set, &members, &translation, settings, &gangs::by_index));
        for instance in &members {
            let parents = startup::parents(set, instance, &members);
            let clique = cliques::pod_clique(set, instance, &parents);
            let maker = PodMaker::new(set, instance, &clique, &parents, settings);
            pods.extend((0..instance.replicas).map(|k| maker.pod(k, names::pod(&instance.name, k))));
            pod_cliques.push(clique);
        }
    }
    let kai_pod_groups = match scheduler(set, settings) {
        profile::KAI => gangs.iter().map(|gang| kai::pod_group(set, gang, around.topologies)).collect(),
        _ => Vec::new(),
    };
    let rbac = rbac::rbac(set);
    Lowered {
        service_account: rbac.service_account,
        role: rbac.role,
        role_binding: rbac.role_binding,
        services: services::services(set),
        autoscalers: scaling::autoscalers(set),
        claims: claims::claims(set, &instances),
        pod_cliques,
        scaling_groups: scaling::scaling_groups(set, around.live),
        gangs,
        pods,
        kai_pod_groups,
        drift: translation.drift(),
    }
}

/// The scheduler profile that serves a set.
pub fn scheduler<'a>(set: &'a PodCliqueSet, settings: &'a Settings) -> &'a str {
    let first = set.spec.template.cliques.first();
    settings.profile(first.and_then(|clique| clique.spec.pod_spec.scheduler_name()))
}

fn namespace(set: &PodCliqueSet) -> &str {
    set.metadata.namespace.as_deref().unwrap_or("default")
}

fn name(set: &PodCliqueSet) -> &str {
    set.metadata.name.as_deref().unwrap_or_default()
}

/// A count from a spec, where negative ones count as none.
fn count(n: i32) -> usize {
    usize::try_from(n).unwrap_or(0)
}

/// Labels that every child of a set carries.
fn child_labels(set: &PodCliqueSet, component: &str) -> BTreeMap<String, String> {
    BTreeMap::from([
        (label::MANAGED_BY.to_owned(), MANAGED_BY.to_owned()),
        (label::PART_OF.to_owned(), name(set).to_owned()),
        (label::COMPONENT.to_owned(), component.to_owned()),
    ])
}

/// Metadata of a child that the set owns. Without a uid, as in a file, there is no owner to refer to.
fn child_metadata(set: &PodCliqueSet, name: &str, component: &str) -> ObjectMeta {
    let mut labels = child_labels(set, component);
    // A role's name has colons, which label values cannot have.
    labels.insert(label::NAME.to_owned(), name.replace(':', "-"));
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some(namespace(set).to_owned()),
        labels: Some(labels),
        owner_references: owner_reference(set).map(|owner| vec![owner]),
        ..ObjectMeta::default()
    }
}

/// The reference by which children name their owner, if the owner lives in a cluster.
pub fn owner_reference<T: kube_core::Resource<DynamicType = ()>>(owner: &T) -> Option<OwnerReference> {
    owner.controller_owner_ref(&()).map(|owner| OwnerReference { block_owner_deletion: Some(true), ..owner })
}
