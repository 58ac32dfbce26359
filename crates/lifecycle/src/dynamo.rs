//! What is due for a DynamoGraphDeployment: its PodCliqueSet, the numbers of replicas in it, and what its status says.
//!
//! Everything that is said of pods was said of the set before; here it is told in the words of the deployment. Whether its constraints are
//! enforced is read from the set too: nothing here looks at a topology.

mod components;
mod status;
#[cfg(test)]
mod tests;

pub use status::{ENFORCED, READY};

use jiff::Timestamp;
use std::collections::BTreeMap;
use trellis_api::admission::default_pod_clique_set;
use trellis_api::dynamo::Graph;
use trellis_api::kinds::dynamo::DynamoGraphDeploymentStatus;
use trellis_api::kinds::{PodClique, PodCliqueScalingGroup, PodCliqueSet};
use trellis_api::settings::Settings;
use trellis_lower::dynamo::{Scaling, pod_clique_set, update};

/// A deployment as it was seen, with what its decisions look at.
#[derive(Clone, Copy, Debug)]
pub struct DynamoObserved<'a> {
    /// The deployment.
    pub graph: &'a Graph,
    /// The PodCliqueSet of the name that it should have.
    pub set: Option<&'a PodCliqueSet>,
    /// The set's PodCliques by name.
    pub cliques: &'a BTreeMap<String, PodClique>,
    /// The set's PodCliqueScalingGroups by name.
    pub groups: &'a BTreeMap<String, PodCliqueScalingGroup>,
    /// What could not be carried out in the last pass, in words.
    pub failures: &'a [String],
}

/// What has to be done about the set.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum SetDue {
    /// It is as it should be, or the deployment is going.
    #[default]
    Nothing,
    /// It is not there.
    Create(Box<PodCliqueSet>),
    /// It has to be changed to this, from the version that was seen.
    Change(Box<PodCliqueSet>),
    /// One of that name belongs to somebody else.
    Foreign,
}

/// What people are told, as an Event and in the log, when it begins to be so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DynamoNote {
    /// Whether something is wrong.
    pub warning: bool,
    /// One word for programs.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
}

/// What is due.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DynamoPlan {
    /// What has to be done about the set.
    pub set: SetDue,
    /// Numbers of replicas to write through scale subresources.
    pub scalings: Vec<Scaling>,
    /// What the status is to say, if that differs from what it says.
    pub status: Option<DynamoGraphDeploymentStatus>,
    /// What people are told once the status is written.
    pub notes: Vec<DynamoNote>,
}

/// What is due for a deployment.
pub fn decide(seen: &DynamoObserved<'_>, settings: &Settings, now: Timestamp) -> DynamoPlan {
    if seen.graph.object.metadata.deletion_timestamp.is_some() {
        // What it owns goes with it.
        return DynamoPlan::default();
    }
    let (set, scalings) = due(seen, settings);
    let (status, notes) = status::decide(seen, &set, now);
    DynamoPlan { set, scalings, status, notes }
}

fn due(seen: &DynamoObserved<'_>, settings: &Settings) -> (SetDue, Vec<Scaling>) {
    let mut desired = pod_clique_set(seen.graph, settings);
    let Some(live) = seen.set else {
        default_pod_clique_set(&mut desired, None, settings);
        return (SetDue::Create(Box::new(desired)), Vec::new());
    };
    if !is_ours(seen.graph, live) {
        return (SetDue::Foreign, Vec::new());
    }
    if live.metadata.deletion_timestamp.is_some() {
        return (SetDue::Nothing, Vec::new());
    }
    let cliques = seen.cliques.iter().filter_map(|(name, clique)| Some((name.clone(), clique.spec.replicas?)));
    let groups = seen.groups.iter().map(|(name, group)| (name.clone(), group.spec.replicas));
    let change = update(seen.graph, desired, live, &cliques.chain(groups).collect());
    let mut set = change.set;
    default_pod_clique_set(&mut set, Some(live), settings);
    let set = with_metadata_of(live, set);
    let is_same = set.spec == live.spec
        && set.metadata.labels == live.metadata.labels
        && set.metadata.annotations == live.metadata.annotations;
    let due = if is_same { SetDue::Nothing } else { SetDue::Change(Box::new(set)) };
    (due, change.scalings)
}

/// Whether the set was made for this deployment. One in a file has no uid, and belongs to whoever has its name.
fn is_ours(graph: &Graph, set: &PodCliqueSet) -> bool {
    let Some(uid) = &graph.object.metadata.uid else { return true };
    set.metadata.owner_references.iter().flatten().any(|owner| owner.uid == *uid && owner.controller == Some(true))
}

/// The live object's metadata, with our labels and annotations over those that it has.
fn with_metadata_of(live: &PodCliqueSet, mut set: PodCliqueSet) -> PodCliqueSet {
    let mut metadata = live.metadata.clone();
    for (kept, ours) in
        [(&mut metadata.labels, set.metadata.labels), (&mut metadata.annotations, set.metadata.annotations)]
    {
        if let Some(ours) = ours {
            kept.get_or_insert_default().extend(ours);
        }
    }
    set.metadata = metadata;
    set.status.clone_from(&live.status);
    set
}
