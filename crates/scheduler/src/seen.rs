//! What was seen: the objects of the cluster as the watches and the answers to our own writes have told of them.
//!
//! Everything that decisions rest on is in here or in an argument. Objects are shared, so that a copy of the whole is cheap.

use crate::plan::Target;
use k8s_openapi::api::core::v1::{Node, PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use trellis_api::kinds::kai::{KaiPodGroup, Topology};
use trellis_api::kinds::{ClusterTopology, NodeResourceTopology, PodGang};

/// Namespace and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Namespace of the object.
    pub namespace: Arc<str>,
    /// Name of the object.
    pub name: Arc<str>,
}

impl Key {
    /// An object by namespace and name.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

/// Whatever has a namespace and a name: objects are found by these without a key being made of them.
pub trait Named {
    /// Namespace and name.
    fn parts(&self) -> (&str, &str);
}

impl Named for Key {
    fn parts(&self) -> (&str, &str) {
        (&self.namespace, &self.name)
    }
}

impl Named for (&str, &str) {
    fn parts(&self) -> (&str, &str) {
        *self
    }
}

impl<'a> Borrow<dyn Named + 'a> for Key {
    fn borrow(&self) -> &(dyn Named + 'a) {
        self
    }
}

impl PartialEq for dyn Named + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for dyn Named + '_ {}

impl PartialOrd for dyn Named + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for dyn Named + '_ {
    fn cmp(&self, other: &Self) -> Ordering {
        self.parts().cmp(&other.parts())
    }
}

/// Objects of a kind without namespaces, by name.
pub type ByName<T> = BTreeMap<Arc<str>, Arc<T>>;
/// Objects of a kind with namespaces.
pub type ByKey<T> = BTreeMap<Key, Arc<T>>;

/// The cluster as it was seen.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Nodes.
    pub nodes: ByName<Node>,
    /// All pods, also those of other schedulers. A pod whose bind was answered has its node here, whether or not a watch has told of it.
    pub pods: ByKey<Pod>,
    /// PodGangs.
    pub pod_gangs: ByKey<PodGang>,
    /// KAI's PodGroups.
    pub pod_groups: ByKey<KaiPodGroup>,
    /// ClusterTopologies.
    pub cluster_topologies: ByName<ClusterTopology>,
    /// KAI's Topologies.
    pub kai_topologies: ByName<Topology>,
    /// PriorityClasses.
    pub priority_classes: ByName<PriorityClass>,
    /// PodDisruptionBudgets.
    pub budgets: ByKey<PodDisruptionBudget>,
    /// Zones inside nodes, by the nodes' names.
    pub node_resource_topologies: ByName<NodeResourceTopology>,
    /// Claims of volumes.
    pub claims: ByKey<PersistentVolumeClaim>,
    /// Volumes.
    pub volumes: ByName<PersistentVolume>,
    /// Gangs whose plan is being carried out at this moment, each with the ledger that the plan assumes
    /// ([`GangPlan::assumed`](crate::plan::GangPlan::assumed)).
    /// They are charged by it and otherwise left alone. A gang leaves when all its requests were answered, or when those that were not
    /// can no longer take effect (the pod was written to since).
    pub under_way: BTreeMap<Target, Arc<str>>,
    /// Uids of pods whose deletion we have asked for.
    pub deleting: BTreeSet<Arc<str>>,
    /// Binds that were refused for good: the uid of the pod, and the node. The pod is not sent there again.
    pub refused: BTreeSet<(Arc<str>, Arc<str>)>,
}

impl Seen {
    /// A pod by namespace and name.
    pub fn pod(&self, namespace: &str, name: &str) -> Option<&Arc<Pod>> {
        self.pods.get(&(namespace, name) as &dyn Named)
    }
}
