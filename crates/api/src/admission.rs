//! What is allowed: default, then validate, over an object, its old version and a view of the cluster.
//!
//! Pure functions; webhooks, the CLI and the operator itself call the same ones. All faults are collected, in a fixed
//! order.

mod cluster_topology;
mod config;
pub mod dynamo;
pub(crate) mod form;
pub mod object;
mod pod_clique_set;
mod pool;
pub mod review;
mod workflow;

pub use cluster_topology::{default_cluster_topology, validate_cluster_topology};
pub use config::validate_operator_configuration;
pub use pod_clique_set::{default_pod_clique_set, structure as pod_clique_set_structure, validate_pod_clique_set};
pub use pool::validate_pool;
pub use workflow::{Pools, WorkflowNames, exit_codes, missing_rights, pool as pool_of_workflow, validate_workflow};

use crate::field::FieldError;
use crate::kinds::{ClusterTopology, PodCliqueSet};
use std::collections::{BTreeMap, BTreeSet};

/// What admission knows of the cluster.
#[derive(Clone, Debug, Default)]
pub struct ClusterView {
    /// ClusterTopologies by name, the default one included.
    pub topologies: BTreeMap<String, ClusterTopology>,
    /// PodCliqueSets of all namespaces.
    pub sets: Vec<PodCliqueSet>,
    /// Namespace and name of the sets that have a live pod on a node; terminating pods count, finished ones do not.
    pub scheduled: BTreeSet<(String, String)>,
    /// OSMO's pools by name.
    pub pools: Pools,
    /// What the objects of workflows are called.
    pub workflows: WorkflowNames,
}

impl ClusterView {
    /// Whether a live pod of the set has a node.
    pub fn is_scheduled(&self, set: &PodCliqueSet) -> bool {
        let namespace = set.metadata.namespace.as_deref().unwrap_or("default");
        let name = set.metadata.name.as_deref().unwrap_or_default();
        self.scheduled.contains(&(namespace.to_owned(), name.to_owned()))
    }
}

/// What admission says of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Faults; the object is refused if there is any.
    pub errors: Vec<FieldError>,
    /// What is allowed and probably not meant.
    pub warnings: Vec<String>,
}

impl Verdict {
    /// Whether the object is admitted.
    pub fn allowed(&self) -> bool {
        self.errors.is_empty()
    }
}
