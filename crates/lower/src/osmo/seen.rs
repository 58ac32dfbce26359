//! What was seen of a workflow: itself, its pool, its pods, and which of the objects around them are there.

use k8s_openapi::api::core::v1::Pod;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use trellis_api::kinds::osmo::{Pool, TopologyKey, Workflow};
use trellis_api::names::osmo;

/// What was seen.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The workflow, with the status that was written last.
    pub workflow: Workflow,
    /// Its pool, if it is there.
    pub pool: Option<Pool>,
    /// Its pods by name.
    pub pods: BTreeMap<String, SeenPod>,
    /// Names of its PodGroups.
    pub pod_groups: BTreeSet<String>,
    /// Names of its Services.
    pub services: BTreeSet<String>,
    /// Names of its ConfigMaps.
    pub files: BTreeSet<String>,
    /// Why gangs wait, by the names of their PodGroups.
    pub explanations: BTreeMap<String, String>,
    /// The pool's levels that gangs were made for, by the names of their PodGroups: the pool may have others by now.
    pub levels: BTreeMap<String, Vec<TopologyKey>>,
    /// What could not be written when it was last tried.
    pub trouble: Option<String>,
}

/// A pod, as far as decisions look at it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenPod {
    /// Its uid.
    pub uid: String,
    /// Node that it was bound to.
    pub node: Option<String>,
    /// `Pending`, `Running`, `Succeeded` or `Failed`.
    pub phase: String,
    /// Whether it is on its way out.
    pub is_terminating: bool,
    /// Whether it was made to leave: preempted, evicted, or its node was lost.
    pub is_disrupted: bool,
    /// Exit code of its container, once it has ended.
    pub exit_code: Option<i32>,
    /// What the pod says of its end.
    pub message: Option<String>,
    /// Why its container does not run yet, if something is wrong.
    pub waiting: Option<Waiting>,
}

/// Why a container does not run yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// In a word, such as `ErrImagePull`.
    pub reason: String,
    /// In a sentence.
    pub message: Option<String>,
}

impl Waiting {
    /// What a container says of its waiting; nothing while all is well.
    pub fn of(reason: Option<&str>, message: Option<&str>) -> Option<Self> {
        let reason = reason.filter(|reason| !["", "ContainerCreating", "PodInitializing"].contains(reason))?;
        let message = message.filter(|message| !message.is_empty()).map(str::to_owned);
        Some(Self { reason: reason.to_owned(), message })
    }
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.message {
            Some(message) => write!(f, "{}: {message}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

impl SeenPod {
    /// What decisions look at in a pod.
    pub fn of(pod: &Pod) -> Self {
        let status = pod.status.clone().unwrap_or_default();
        let containers = status.container_statuses.iter().flatten();
        let mut task = containers.filter(|container| container.name == osmo::CONTAINER);
        let state = task.find_map(|container| container.state.as_ref());
        let ended = state.and_then(|state| state.terminated.as_ref());
        let waiting = state.and_then(|state| state.waiting.as_ref());
        let disrupted = |condition: &&_| {
            let condition: &k8s_openapi::api::core::v1::PodCondition = condition;
            condition.type_ == "DisruptionTarget" && condition.status == "True"
        };
        let reason = status.reason.clone().unwrap_or_default();
        Self {
            uid: pod.metadata.uid.clone().unwrap_or_default(),
            node: pod.spec.as_ref().and_then(|spec| spec.node_name.clone()).filter(|node| !node.is_empty()),
            phase: status.phase.unwrap_or_else(|| "Pending".to_owned()),
            is_terminating: pod.metadata.deletion_timestamp.is_some(),
            is_disrupted: status.conditions.iter().flatten().any(|condition| disrupted(&condition))
                || ["Evicted", "NodeLost", "Preempted", "Shutdown"].contains(&reason.as_str()),
            exit_code: ended.map(|ended| ended.exit_code),
            message: ended.and_then(|ended| ended.message.clone()).or(status.message),
            waiting: waiting.and_then(|it| Waiting::of(it.reason.as_deref(), it.message.as_deref())),
        }
    }

    /// Whether it has ended.
    pub fn is_finished(&self) -> bool {
        self.phase == "Succeeded" || self.phase == "Failed"
    }
}
