//! What is said of each component, and in which way one is not ready.

use super::DynamoObserved;
use crate::status::conditions::{find, kind};
use trellis_api::kinds::dynamo::{Component, ComponentKind, ComponentStatus};
use trellis_lower::dynamo::object;

/// How a component is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doing {
    /// All replicas are there and ready.
    Ready,
    /// Its object is not there, or nothing was said of it yet.
    Unknown,
    /// Some pods have no node.
    Waits,
    /// Pods are being replaced, made or taken away.
    Changes,
    /// Pods have nodes and are not ready.
    Starts,
}

impl Doing {
    /// The reason of a deployment that is not ready for this alone.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Ready => "all_resources_are_ready",
            Self::Unknown => "some_resources_are_not_ready",
            Self::Waits => "insufficient_capacity",
            Self::Changes => "updating",
            Self::Starts => "pods_not_ready",
        }
    }

    /// The same for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Unknown => "not made yet",
            Self::Waits => "waiting for nodes",
            Self::Changes => "being changed",
            Self::Starts => "starting",
        }
    }
}

/// What was counted of a component's object.
struct Counted {
    is_current: bool,
    gated: bool,
    replicas: i32,
    updated: i32,
    working: i32,
    scheduled: i32,
}

/// What is said of a component, and how it is doing.
pub fn component(seen: &DynamoObserved, set: &str, component: &Component) -> (ComponentStatus, Doing) {
    let (kind, name) = object(set, component);
    let counted = match kind {
        ComponentKind::PodCliqueScalingGroup => group(seen, &name),
        _ => clique(seen, &name),
    };
    let mut status =
        ComponentStatus { component_kind: kind, component_names: vec![name], ..ComponentStatus::default() };
    let Some(counted) = counted else { return (status, Doing::Unknown) };
    status.replicas = counted.replicas;
    status.updated_replicas = counted.updated;
    status.scheduled_replicas = Some(counted.scheduled);
    match kind {
        ComponentKind::PodCliqueScalingGroup => status.available_replicas = Some(counted.working),
        _ => status.ready_replicas = Some(counted.working),
    }
    (status, doing(&counted, component.count()))
}

fn doing(counted: &Counted, wanted: i32) -> Doing {
    let Counted { is_current, gated, replicas, updated, working, scheduled } = *counted;
    if !is_current {
        Doing::Unknown
    } else if wanted == 0 || (replicas == wanted && updated == wanted && working == wanted) {
        Doing::Ready
    } else if gated || scheduled < wanted.min(replicas) {
        Doing::Waits
    } else if updated != wanted || replicas != wanted {
        Doing::Changes
    } else {
        Doing::Starts
    }
}

fn clique(seen: &DynamoObserved, name: &str) -> Option<Counted> {
    let clique = seen.cliques.get(name)?;
    let status = clique.status.as_ref()?;
    let is_short = find(&status.conditions, kind::POD_CLIQUE_SCHEDULED).is_some_and(|said| said.status == "False");
    Some(Counted {
        is_current: status.observed_generation.is_some() && status.observed_generation >= clique.metadata.generation,
        // Pods that were never made do not wait for nodes.
        gated: status.schedule_gated_replicas > 0 || (is_short && status.replicas > 0),
        replicas: status.replicas,
        updated: status.updated_replicas,
        working: status.ready_replicas,
        scheduled: status.scheduled_replicas,
    })
}

fn group(seen: &DynamoObserved, name: &str) -> Option<Counted> {
    let group = seen.groups.get(name)?;
    let status = group.status.as_ref()?;
    Some(Counted {
        is_current: status.observed_generation.is_some() && status.observed_generation >= group.metadata.generation,
        gated: false,
        replicas: status.replicas,
        updated: status.updated_replicas,
        working: status.available_replicas,
        scheduled: status.scheduled_replicas,
    })
}
