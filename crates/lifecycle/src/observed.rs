//! What was seen of one set and of what belongs to it.

use crate::pod::Pod;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::{Service, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube_core::DynamicObject;
use std::collections::BTreeMap;
use std::sync::Arc;
use trellis_api::kinds::{PodClique, PodCliqueScalingGroup, PodCliqueSet, PodGang, kai::KaiPodGroup};

/// Objects of one kind by name.
pub type ByName<T> = BTreeMap<String, Arc<T>>;

/// A set as it was seen, with everything that carries its name as a label in its namespace.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The set; none if it is gone.
    pub set: Option<Arc<PodCliqueSet>>,
    /// Its scaling groups.
    pub groups: ByName<PodCliqueScalingGroup>,
    /// Its cliques.
    pub cliques: ByName<PodClique>,
    /// Its gangs.
    pub gangs: ByName<PodGang>,
    /// Its pods, by the clique that they name.
    pub pods: BTreeMap<String, Vec<Arc<Pod>>>,
    /// Its headless Services.
    pub services: ByName<Service>,
    /// Accounts of pods that wait for others.
    pub accounts: ByName<ServiceAccount>,
    /// What those may read.
    pub roles: ByName<Role>,
    /// Who may.
    pub bindings: ByName<RoleBinding>,
    /// Its autoscalers.
    pub autoscalers: ByName<HorizontalPodAutoscaler>,
    /// Claims that its pods share.
    pub claims: ByName<DynamicObject>,
    /// KAI's form of its gangs.
    pub kai_pod_groups: ByName<KaiPodGroup>,
}

impl Observed {
    /// All pods, clique by clique.
    pub fn all_pods(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.pods.values().flatten()
    }
}

/// A write that could not be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Code for programs, such as `ERR_CREATE_POD`.
    pub code: String,
    /// What went wrong, for people.
    pub description: String,
}
