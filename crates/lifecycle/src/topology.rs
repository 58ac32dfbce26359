//! What is due for one ClusterTopology: its finalizer, the scheduler backend's own topology object, and its status.
//!
//! The finalizer holds a topology as long as PodCliqueSets speak of it; the default one also as long as topology-aware scheduling is on.
//! Levels of the default topology are brought to what the configuration says at start only, so nothing here writes a spec.

mod kai;
mod labels;
#[cfg(test)]
mod tests;

pub use kai::{KaiDue, KaiJudgement, KaiTopologySeen, judge_kai};
pub use labels::NodeLabels;

use crate::diff;
use crate::plan::{Action, Kind, Note, Plan, Target, Write, site};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use labels::LabelCheck;
use serde_json::{Map, json};
use trellis_api::kinds::{BackendTopologyStatus, ClusterTopology, ClusterTopologyStatus};
use trellis_api::names::{DEFAULT_TOPOLOGY, finalizer, profile};
use trellis_api::settings::Settings;

/// How many names of sets or nodes a message or a status lists.
const LISTED: usize = 10;

/// The conditions that we write, in their order; others' conditions are left alone.
const CONDITIONS: [&str; 3] = [NODES_LABELLED, SCHEDULER_TOPOLOGY_IN_SYNC, DELETION_BLOCKED];
/// Whether nodes carry the topology's labels, nested as they should be.
pub const NODES_LABELLED: &str = "NodesLabelled";
/// Whether the scheduler backend's own topology object says what ours says.
pub const SCHEDULER_TOPOLOGY_IN_SYNC: &str = "SchedulerTopologyInSync";
/// Whether a deletion that was asked for has to wait; only there while one is.
pub const DELETION_BLOCKED: &str = "DeletionBlocked";

/// A topology as it was seen, with what its decisions look at.
#[derive(Clone, Debug)]
pub struct TopologyObserved<'a> {
    /// The topology.
    pub topology: &'a ClusterTopology,
    /// Namespace and name of every PodCliqueSet that references it, those that are being deleted among them. For a topology that is
    /// being deleted they come from a fresh list: its finalizer goes by them, and a deletion never rests on a cache alone.
    pub users: Vec<(String, String)>,
    /// Every node.
    pub nodes: &'a [NodeLabels],
    /// KAI's Topology of the same name.
    pub kai: KaiTopologySeen<'a>,
}

/// What is due for one topology.
pub fn decide(seen: &TopologyObserved<'_>, settings: &Settings, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    let metadata = &seen.topology.metadata;
    let stay = Stay::of(seen, settings);
    match &stay {
        Stay::Goes => {
            plan.writes.extend(change_finalizer(seen.topology, false));
            return plan;
        }
        Stay::Lives => plan.writes.extend(change_finalizer(seen.topology, true)),
        Stay::Unwanted | Stay::Blocked { .. } => {}
    }
    let backend = keeps_kai_topology(&stay, settings).then(|| judge_kai(seen.topology, seen.kai));
    if let (Stay::Lives, Some(judgement)) = (&stay, &backend) {
        write_backend(seen, judgement, &mut plan);
    }
    let check = LabelCheck::of(&seen.topology.spec, seen.nodes);
    let mut findings = vec![check.finding(), kai::finding(backend.as_ref(), settings)];
    findings.extend(stay.finding());

    let old = seen.topology.status.as_ref();
    let status = status(seen.topology, &findings, &check, backend.as_ref(), now);
    note_changes(seen.topology, findings, &mut plan);
    note_left_out(seen.topology, backend.as_ref(), &mut plan);
    let live = old.map_or_else(|| json!({}), |old| json!(old));
    if let Some(changes) = diff::merge(&live, &json!(status)) {
        let body = Map::from_iter([("status".to_owned(), changes)]);
        let patch = diff::patch(metadata, metadata, body).map(Action::PatchStatus);
        let target = Target::of(Kind::ClusterTopology, metadata);
        plan.statuses.extend(patch.map(|action| Write { site: site::TOPOLOGY_STATUS, target, action }));
    }
    plan
}

/// Whether a topology stays.
enum Stay {
    /// Nobody asked for its deletion.
    Lives,
    /// The same, but it is the default one and topology-aware scheduling is off: the next start deletes it.
    Unwanted,
    /// Its deletion was asked for, and has to wait.
    Blocked { reason: &'static str, message: String, note: &'static str },
    /// Its deletion was asked for, and nothing stands in the way.
    Goes,
}

impl Stay {
    fn of(seen: &TopologyObserved<'_>, settings: &Settings) -> Self {
        let metadata = &seen.topology.metadata;
        let is_default = metadata.name.as_deref() == Some(DEFAULT_TOPOLOGY);
        let is_off = is_default && !settings.topology_enabled;
        if metadata.deletion_timestamp.is_none() {
            return if is_off { Self::Unwanted } else { Self::Lives };
        }
        let holds = metadata.finalizers.iter().flatten().any(|name| name == finalizer::CLUSTER_TOPOLOGY);
        if is_off || !holds {
            return Self::Goes;
        }
        if !seen.users.is_empty() {
            return Self::Blocked {
                reason: "Referenced",
                message: format!("PodCliqueSets reference it: {}", listed(&seen.users)),
                note: "deletion waits until no PodCliqueSet references the topology; condition DeletionBlocked names those that do",
            };
        }
        // One that came with the objects, where no configuration owns it, is a topology like others.
        if is_default && settings.default_topology().is_some() {
            return Self::Blocked {
                reason: "TopologyAwareSchedulingEnabled",
                message: format!(
                    "the operator keeps `{DEFAULT_TOPOLOGY}` while topology-aware scheduling is on, and makes it anew at its next start"
                ),
                note: "deletion waits: the operator keeps its default topology while topology-aware scheduling is on",
            };
        }
        Self::Goes
    }

    fn finding(&self) -> Option<Finding> {
        let Self::Blocked { reason, message, note } = self else { return None };
        Some(Finding {
            type_: DELETION_BLOCKED,
            status: "True",
            reason,
            message: message.clone(),
            note: Some((true, "DeletionBlocked", (*note).to_owned())),
        })
    }
}

/// The first of the sets or gangs in their order, and how many more there are.
pub(crate) fn listed(users: &[(String, String)]) -> String {
    let mut names: Vec<String> = users.iter().map(|(namespace, name)| format!("{namespace}/{name}")).collect();
    names.sort();
    names.dedup();
    let more = names.len().saturating_sub(LISTED);
    names.truncate(LISTED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    names.join(", ") + &more
}

/// Puts our finalizer on, or takes it off. The list is replaced as a whole, for the version that was seen.
fn change_finalizer(topology: &ClusterTopology, wanted: bool) -> Option<Write> {
    let metadata = &topology.metadata;
    let mut finalizers = metadata.finalizers.clone().unwrap_or_default();
    let is_ours = |name: &String| name == finalizer::CLUSTER_TOPOLOGY;
    if finalizers.iter().any(is_ours) == wanted {
        return None;
    }
    if wanted {
        finalizers.push(finalizer::CLUSTER_TOPOLOGY.to_owned());
    } else {
        finalizers.retain(|name| !is_ours(name));
    }
    let patch = json!({"metadata": {
        "finalizers": finalizers, "resourceVersion": metadata.resource_version, "uid": metadata.uid,
    }});
    let target = Target::of(Kind::ClusterTopology, metadata);
    Some(Write { site: site::TOPOLOGY_FINALIZER, target, action: Action::Patch(patch) })
}

/// Whether KAI has a Topology for this one.
fn keeps_kai_topology(stay: &Stay, settings: &Settings) -> bool {
    !matches!(stay, Stay::Unwanted) && settings.is_enabled(profile::KAI) && settings.create_kai_topologies
}

fn write_backend(seen: &TopologyObserved<'_>, judgement: &KaiJudgement, plan: &mut Plan) {
    match (&judgement.due, seen.kai) {
        (KaiDue::Create, _) => {
            let desired = trellis_lower::kai::topology(seen.topology);
            let target = Target::of(Kind::KaiTopology, &desired.metadata);
            let action = Action::Create(json!(desired));
            plan.writes.push(Write { site: site::BACKEND_TOPOLOGY, target, action });
        }
        // Its levels cannot be changed. Once it is seen to be gone, it is made anew.
        (KaiDue::Delete, KaiTopologySeen::There(live)) => {
            plan.delete(site::BACKEND_TOPOLOGY, Kind::KaiTopology, &live.metadata, true);
            plan.confirm(Kind::ClusterTopology, &seen.topology.metadata);
        }
        _ => {}
    }
}

/// What a condition is to say.
struct Finding {
    type_: &'static str,
    status: &'static str,
    reason: &'static str,
    message: String,
    /// What people are told when the condition comes to say so: whether something is wrong, the reason, the message.
    note: Option<(bool, &'static str, String)>,
}

fn old_condition<'a>(topology: &'a ClusterTopology, type_: &str) -> Option<&'a Condition> {
    topology.status.as_ref()?.conditions.iter().find(|condition| condition.type_ == type_)
}

fn condition(topology: &ClusterTopology, finding: &Finding, now: Timestamp) -> Condition {
    let since = old_condition(topology, finding.type_).filter(|old| old.status == finding.status);
    Condition {
        last_transition_time: since.map_or(Time(now), |old| old.last_transition_time.clone()),
        message: finding.message.clone(),
        observed_generation: topology.metadata.generation,
        reason: finding.reason.to_owned(),
        status: finding.status.to_owned(),
        type_: finding.type_.to_owned(),
    }
}

fn status(
    topology: &ClusterTopology,
    findings: &[Finding],
    check: &LabelCheck,
    backend: Option<&KaiJudgement>,
    now: Timestamp,
) -> ClusterTopologyStatus {
    let old = topology.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let mut conditions: Vec<Condition> = findings.iter().map(|finding| condition(topology, finding, now)).collect();
    conditions.extend(old.iter().filter(|old| !CONDITIONS.contains(&old.type_.as_str())).cloned());
    let count = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
    let backend = backend.map(|judgement| BackendTopologyStatus {
        scheduler_name: profile::KAI.to_owned(),
        topology_reference: topology.metadata.name.clone().unwrap_or_default(),
        in_sync: judgement.due == KaiDue::Nothing,
        scheduler_backend_topology_observed_generation: judgement.generation,
        message: Some(judgement.message.clone()).filter(|message| !message.is_empty()),
    });
    ClusterTopologyStatus {
        observed_generation: topology.metadata.generation,
        conditions,
        labelled_nodes: count(check.labelled),
        partially_labelled_nodes: count(check.partial),
        partially_labelled: check.first_partial.clone(),
        broken_nesting: check.first_broken.clone(),
        scheduler_topology_statuses: backend.into_iter().collect(),
    }
}

/// Tells people what has changed since the status was written.
fn note_changes(topology: &ClusterTopology, findings: Vec<Finding>, plan: &mut Plan) {
    for finding in findings {
        let old = old_condition(topology, finding.type_).map(|old| (old.status.as_str(), old.reason.as_str()));
        let told = finding.note.filter(|_| old != Some((finding.status, finding.reason)));
        if let Some(told) = told {
            note(topology, told, plan);
        }
    }
}

/// Tells people once that the backend's object has fewer levels than the topology.
fn note_left_out(topology: &ClusterTopology, backend: Option<&KaiJudgement>, plan: &mut Plan) {
    let left_out = |judgement: &&KaiJudgement| judgement.due == KaiDue::Nothing && !judgement.left_out.is_empty();
    let Some(judgement) = backend.filter(left_out) else { return };
    let said = topology.status.iter().flat_map(|status| &status.scheduler_topology_statuses);
    if !said.flat_map(|backend| &backend.message).any(|message| *message == judgement.message) {
        note(topology, (true, "LevelsLeftOut", judgement.message.clone()), plan);
    }
}

fn note(topology: &ClusterTopology, (warning, reason, message): (bool, &'static str, String), plan: &mut Plan) {
    let about = Target::of(Kind::ClusterTopology, &topology.metadata);
    plan.status_notes.push(Note { about, warning, reason, message });
}
