//! KAI's Topology beside the ClusterTopology that it is made from.
//!
//! KAI does not let levels change, so one that differs is deleted and made anew. One that somebody else made is never touched.

use super::{Finding, SCHEDULER_TOPOLOGY_IN_SYNC};
use crate::picture::is_owned_by;
use trellis_api::kinds::ClusterTopology;
use trellis_api::kinds::kai::Topology;
use trellis_api::names::{group, label, profile};
use trellis_api::settings::Settings;
use trellis_lower::kai;

/// What was seen of KAI's Topology.
#[derive(Clone, Copy, Debug)]
pub enum KaiTopologySeen<'a> {
    /// The cluster does not know the kind.
    NotServed,
    /// There is none of this name.
    Absent,
    /// There is one of this name.
    There(&'a Topology),
}

/// What is to be done about KAI's Topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KaiDue {
    /// It is as it should be.
    Nothing,
    /// It is made.
    Create,
    /// It is deleted, to be made anew once it is gone.
    Delete,
    /// It is on its way out.
    Wait,
    /// It belongs to somebody else.
    Foreign,
    /// There cannot be one.
    NotServed,
}

/// How KAI's Topology stands to the ClusterTopology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KaiJudgement {
    /// What is to be done.
    pub due: KaiDue,
    /// Why, or what KAI cannot take; for people.
    pub message: String,
    /// Domains that KAI cannot take.
    pub left_out: Vec<&'static str>,
    /// Generation of KAI's Topology.
    pub generation: Option<i64>,
}

/// Judges KAI's Topology by the ClusterTopology of its name.
pub fn judge_kai(topology: &ClusterTopology, seen: KaiTopologySeen<'_>) -> KaiJudgement {
    let left_out: Vec<&str> = kai::levels(topology).1.into_iter().map(|level| level.domain.as_str()).collect();
    let name = topology.metadata.name.as_deref().unwrap_or_default();
    let due = match seen {
        KaiTopologySeen::NotServed => KaiDue::NotServed,
        KaiTopologySeen::Absent => KaiDue::Create,
        KaiTopologySeen::There(live) => due(topology, live),
    };
    let message = match due {
        KaiDue::Nothing | KaiDue::Create if !left_out.is_empty() => {
            format!("KAI takes no level below {}; left out: {}", label::HOSTNAME, left_out.join(", "))
        }
        KaiDue::Nothing => String::new(),
        KaiDue::Create => format!("KAI Topology `{name}` is not there"),
        KaiDue::Delete => {
            format!("KAI Topology `{name}` is not made from the present levels and cannot be changed; it is made anew")
        }
        KaiDue::Wait => format!("KAI Topology `{name}` is being deleted; it is made anew once it is gone"),
        KaiDue::Foreign => format!(
            "KAI Topology `{name}` is not owned by ClusterTopology `{name}` and is left alone; hint: delete it, or set \
             createTopologyResources of profile `{}` to false",
            profile::KAI
        ),
        KaiDue::NotServed => format!(
            "the cluster does not serve Topology of {}/{}; hint: install KAI, or leave profile `{}` out of the configuration",
            group::KAI,
            group::V1ALPHA1,
            profile::KAI
        ),
    };
    let generation = match seen {
        KaiTopologySeen::There(live) => live.metadata.generation,
        KaiTopologySeen::NotServed | KaiTopologySeen::Absent => None,
    };
    KaiJudgement { due, message, left_out, generation }
}

fn due(topology: &ClusterTopology, live: &Topology) -> KaiDue {
    let is_ours = is_owned_by(&live.metadata, topology.metadata.uid.as_deref());
    if !is_ours && !is_left_behind(topology, live) {
        return KaiDue::Foreign;
    }
    if live.metadata.deletion_timestamp.is_some() {
        return KaiDue::Wait;
    }
    let wanted = kai::levels(topology).0.into_iter().map(|level| level.key.as_str());
    let is_same = wanted.eq(live.spec.levels.iter().map(|level| level.node_label.as_str()));
    if is_ours && is_same { KaiDue::Nothing } else { KaiDue::Delete }
}

/// Whether it was made for a ClusterTopology of this name that has gone since. Names are unique, so its owner no longer lives and
/// garbage collection is about to take it.
fn is_left_behind(topology: &ClusterTopology, live: &Topology) -> bool {
    let mut owners = live.metadata.owner_references.iter().flatten();
    owners.any(|owner| {
        owner.controller == Some(true)
            && owner.kind == "ClusterTopology"
            && owner.api_version.split('/').next() == Some(group::GROVE)
            && Some(owner.name.as_str()) == topology.metadata.name.as_deref()
    })
}

/// What the condition is to say. Without a judgement no backend has a topology object of its own.
pub(super) fn finding(judgement: Option<&KaiJudgement>, settings: &Settings) -> Finding {
    let finding = |status, reason, message: &str, note| Finding {
        type_: SCHEDULER_TOPOLOGY_IN_SYNC,
        status,
        reason,
        message: message.to_owned(),
        note,
    };
    let Some(judgement) = judgement else {
        let message = match settings.is_enabled(profile::KAI) && !settings.create_kai_topologies {
            true => "createTopologyResources of profile `kai-scheduler` is false",
            false => "no scheduler needs an object of its own for this topology",
        };
        return finding("True", "NothingToSync", message, None);
    };
    let message = judgement.message.as_str();
    let drift = || Some((true, "TopologyDriftDetected", judgement.message.clone()));
    match judgement.due {
        KaiDue::Nothing => {
            let agrees = "KAI's Topology has the levels of this topology";
            let told = Some((false, "TopologyInSync", agrees.to_owned()));
            finding("True", "InSync", if message.is_empty() { agrees } else { message }, told)
        }
        KaiDue::Create => finding("False", "TopologyNotFound", message, None),
        KaiDue::Delete => finding("False", "Drift", message, drift()),
        KaiDue::Wait => finding("False", "Recreating", message, None),
        KaiDue::Foreign => finding("False", "NotOwned", message, drift()),
        KaiDue::NotServed => {
            finding("Unknown", "KindNotServed", message, Some((true, "TopologyKindNotServed", message.to_owned())))
        }
    }
}
