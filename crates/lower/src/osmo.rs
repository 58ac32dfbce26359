//! OSMO's pools and workflows: what objects follow from them, and what is due for a workflow that runs.
//!
//! A pool becomes queues and a Topology, a group of tasks a PodGroup with the tree of document 004, and pods that name
//! their leaves of it. [`decide`] is the whole of a workflow's life, as a pure function of what was seen of it.

mod decide;
mod feasible;
mod group;
mod pods;
mod pool;
mod pool_status;
mod seen;
mod status;
mod tree;

pub use decide::{Plan, RETRIES_MAX, decide};
pub use feasible::{Cluster, never_fits};
pub use group::{GroupObjects, group_objects, groups, speak_of, workflow_objects};
pub use pods::task_pod;
pub use pool::{PoolObjects, is_current, pool_objects, priority_classes};
pub use pool_status::{levels, read_levels, written_levels};
pub use seen::{Seen, SeenPod, Waiting};
pub use tree::{Node, Tree, tree};
pub use trellis_api::names::osmo::CONTAINER;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::collections::BTreeMap;
use trellis_api::kinds::osmo::{Pool, Workflow};
use trellis_api::names::{MANAGED_BY, label, osmo};

/// The name of a pool's object.
fn pool_name(pool: &Pool) -> &str {
    pool.metadata.name.as_deref().unwrap_or_default()
}

/// The name of a workflow's object.
fn name(workflow: &Workflow) -> &str {
    workflow.metadata.name.as_deref().unwrap_or_default()
}

/// The namespace of a workflow and of everything that follows from it.
fn namespace(workflow: &Workflow) -> &str {
    workflow.metadata.namespace.as_deref().unwrap_or("default")
}

/// Labels of what belongs to a group.
fn group_labels(workflow: &Workflow, group: &str) -> BTreeMap<String, String> {
    BTreeMap::from([
        (label::MANAGED_BY.to_owned(), MANAGED_BY.to_owned()),
        (label::PART_OF.to_owned(), name(workflow).to_owned()),
        (osmo::label::WORKFLOW.to_owned(), osmo::label_value(name(workflow))),
        (osmo::label::GROUP.to_owned(), osmo::label_value(group)),
    ])
}

/// Metadata of an object that the workflow owns.
fn owned(workflow: &Workflow, name: String, labels: BTreeMap<String, String>) -> ObjectMeta {
    ObjectMeta {
        name: Some(name),
        namespace: Some(namespace(workflow).to_owned()),
        labels: Some(labels),
        owner_references: crate::owner_reference(workflow).map(|owner| vec![owner]),
        ..ObjectMeta::default()
    }
}
