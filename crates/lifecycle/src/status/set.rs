//! The status of a PodCliqueSet, and what people are told when it changes.

use super::conditions::{Said, Truth, bounded, find, first_few, kind, merged};
use super::group::is_group_available;
use super::progress::{Seen, Step, count, is_available, is_current, waits_for_deletion, was_replica_placed};
use super::{Pass, faults_text, selector, write};
use crate::observed::Failure;
use crate::picture::{Clique, Picture};
use crate::plan::{Kind, Note, Plan, Target, site};
use trellis_api::admission::Verdict;
use trellis_api::kinds::{LastError, PodCliqueSetStatus, ReplicaUpdate, SetUpdateProgress};
use trellis_lower::DriftState;

const OURS: [&str; 3] = [kind::READY, kind::TOPOLOGY_LEVELS_UNAVAILABLE, kind::ADMITTED];
/// Most errors that are kept.
const ERRORS_MAX: usize = 10;
/// Longest description of an error, in characters.
const DESCRIPTION_MAX: usize = 1024;

pub fn decide(pass: &Pass<'_, '_>, verdict: &Verdict, failures: &[Failure], plan: &mut Plan) {
    let set = pass.picture.set;
    let stored = set.status.clone().unwrap_or_default();
    let last_errors = last_errors(pass, &stored.last_errors, failures);
    let status = PodCliqueSetStatus { observed_generation: set.metadata.generation, last_errors, ..stored };
    let status = if verdict.allowed() { admitted(pass, status) } else { refused(pass, verdict, status) };
    // Passes that write something else are followed by another one, which says it.
    if plan.writes.is_empty() || !failures.is_empty() {
        notes(pass, &status, plan);
    }
    write(site::SET_STATUS, Kind::PodCliqueSet, &set.metadata, set.status.as_ref(), &status, plan);
}

/// The status of a set that is served.
fn admitted(pass: &Pass<'_, '_>, mut status: PodCliqueSetStatus) -> PodCliqueSetStatus {
    let picture = pass.picture;
    let replicas = Replica::all(pass);
    let step = step(pass, &status, &replicas);
    status.replicas = picture.set.spec.replicas;
    status.available_replicas = count(replicas.iter().filter(|replica| replica.is_available()).count());
    status.updated_replicas =
        count(replicas.iter().filter(|replica| replica.is_available() && replica.is_current).count());
    status.hpa_pod_selector = Some(selector(picture, None));
    let mut said = vec![readiness(pass, step, &replicas), topology(picture)];
    if picture.around.judges {
        said.push(Said::new(kind::ADMITTED, Truth::True, "Valid", "the set is served as it is"));
    }
    status.conditions = merged(&status.conditions, &OURS, said, picture.set.metadata.generation, &pass.now);
    advance(pass, step, &mut status);
    status
}

/// The status of a set that may not be as it is: what was said of its replicas stays, for nothing is done to them.
fn refused(pass: &Pass<'_, '_>, verdict: &Verdict, mut status: PodCliqueSetStatus) -> PodCliqueSetStatus {
    let said = vec![
        Said::new(kind::READY, Truth::False, "NotAdmitted", "the set is refused; its condition Admitted says why"),
        Said::new(kind::ADMITTED, Truth::False, "Invalid", faults_text(&verdict.errors)),
    ];
    let ours = [kind::READY, kind::ADMITTED];
    status.conditions = merged(&status.conditions, &ours, said, pass.picture.set.metadata.generation, &pass.now);
    status
}

/// One replica of the set.
struct Replica<'a, 'b> {
    /// Cliques for want of which it is not available.
    lacking: Vec<&'b Clique<'a>>,
    /// Scaling groups that have fewer replicas than they must have.
    scaled_in: Vec<&'b str>,
    /// Whether every pod is there and made from the current template.
    is_current: bool,
}

impl<'a, 'b> Replica<'a, 'b> {
    fn all(pass: &'b Pass<'a, 'b>) -> Vec<Self> {
        let picture = pass.picture;
        let replicas = 0..picture.set_replicas();
        let empty = |_| Self { lacking: Vec::new(), scaled_in: Vec::new(), is_current: true };
        let mut replicas: Vec<Self> = replicas.map(empty).collect();
        for clique in &picture.cliques {
            let Some(replica) = replicas.get_mut(clique.instance.set_index) else { continue };
            replica.is_current &= is_current(clique);
            if clique.instance.group.is_none() && !is_available(clique) {
                replica.lacking.push(clique);
            }
        }
        for group in picture.groups.iter().filter(|group| !is_group_available(pass, group)) {
            let Some(replica) = replicas.get_mut(group.set_index) else { continue };
            let members = group.replicas.iter().flatten().map(|position| &picture.cliques[*position]);
            replica.lacking.extend(members.filter(|clique| !is_available(clique)));
            if group.replicas.len() < group.min_available() {
                replica.scaled_in.push(group.name());
            }
        }
        replicas
    }

    fn is_available(&self) -> bool {
        self.lacking.is_empty() && self.scaled_in.is_empty()
    }
}

fn step(pass: &Pass<'_, '_>, stored: &PodCliqueSetStatus, replicas: &[Replica<'_, '_>]) -> Step {
    let begun = stored.update_progress.as_ref().is_some_and(|progress| progress.update_ended_at.is_none());
    let current = stored.current_generation_hash.as_ref();
    let behind = current.is_some_and(|current| *current != pass.picture.generation_hash) || pass.turn.is_some();
    let serves = |index| was_replica_placed(pass.picture, index);
    let is_whole =
        |(index, replica): (usize, &Replica<'_, '_>)| replica.is_current && (replica.is_available() || !serves(index));
    let whole = replicas.iter().enumerate().all(is_whole);
    Step::of(pass.picture, Seen { begun, behind, turn: true, whole })
}

/// Brings hash and progress to where the update stands.
fn advance(pass: &Pass<'_, '_>, step: Step, status: &mut PodCliqueSetStatus) {
    let picture = pass.picture;
    if matches!(step, Step::Rest | Step::End) {
        status.current_generation_hash = Some(picture.generation_hash.clone());
    }
    if !matches!(step, Step::Run | Step::End) {
        return;
    }
    let running = |progress: &SetUpdateProgress| progress.update_ended_at.is_none();
    let before = status.update_progress.take().filter(running).unwrap_or_default();
    let groups = &picture.groups;
    let of_group = |positions: &[Vec<usize>]| positions.iter().flatten().all(|at| is_current(&picture.cliques[*at]));
    let turn = pass.turn.filter(|_| step == Step::Run);
    status.update_progress = Some(SetUpdateProgress {
        update_started_at: before.update_started_at.or_else(|| Some(pass.now.clone())),
        update_ended_at: (step == Step::End).then(|| pass.now.clone()),
        updated_pod_cliques_count: count(picture.cliques.iter().filter(|clique| is_current(clique)).count()),
        total_pod_cliques_count: count(picture.cliques.len()),
        updated_pod_clique_scaling_groups_count: count(groups.iter().filter(|group| of_group(&group.replicas)).count()),
        total_pod_clique_scaling_groups_count: count(groups.len()),
        currently_updating: turn
            .map(|index| {
                let known = before.currently_updating.iter().find(|known| known.replica_index == count(index));
                known.cloned().unwrap_or_else(|| ReplicaUpdate {
                    replica_index: count(index),
                    update_started_at: Some(pass.now.clone()),
                    update_ended_at: None,
                })
            })
            .into_iter()
            .collect(),
    });
}

fn readiness(pass: &Pass<'_, '_>, step: Step, replicas: &[Replica<'_, '_>]) -> Said {
    if step == Step::Run {
        let message = match pass.turn {
            Some(index) => format!("replica {index} is being brought to the template"),
            None => "not all replicas are available after being brought to the template".to_owned(),
        };
        return Said::new(kind::READY, Truth::False, "UpdateInProgress", message);
    }
    if replicas.iter().all(Replica::is_available) {
        return Said::new(kind::READY, Truth::True, "AllReplicasAvailable", "all replicas are available");
    }
    Said::new(kind::READY, Truth::False, "ReplicasUnavailable", shortage(replicas))
}

/// What is lacking, by how far it is.
fn shortage(replicas: &[Replica<'_, '_>]) -> String {
    let lacking = || replicas.iter().flat_map(|replica| replica.lacking.iter());
    let stage = |clique: &Clique<'_>| match clique.counts {
        counts if clique.live.is_none() || counts.members < counts.min => 0,
        counts if !counts.is_scheduled() && counts.gated > 0 => 1,
        counts if !counts.is_scheduled() => 2,
        _ => 3,
    };
    let stages = ["too few pods made", "pods held by their gate", "too few pods with nodes", "too few ready pods"];
    let mut found: Vec<(&str, String)> = Vec::new();
    for (at, what) in stages.into_iter().enumerate() {
        let names = lacking().filter(|clique| stage(clique) == at).map(|clique| clique.instance.name.as_str());
        found.push((what, first_few(names)));
    }
    let groups = replicas.iter().flat_map(|replica| replica.scaled_in.iter().copied());
    found.push(("scaled in below the minimum", first_few(groups)));
    let found = found.into_iter().filter(|(_, names)| !names.is_empty());
    found.map(|(what, names)| format!("{what}: {names}")).collect::<Vec<_>>().join("; ")
}

/// Whether the levels that the set asks for are in its topology.
fn topology(picture: &Picture<'_>) -> Said {
    let drift = picture.translation.drift();
    let name = drift.topology.as_deref().unwrap_or_default();
    let (truth, reason, message) = match drift.state {
        DriftState::NotConstrained => {
            (Truth::False, "AllClusterTopologyLevelsAvailable", "No topology constraints defined".to_owned())
        }
        DriftState::Disabled => {
            let message =
                "the set has topology constraints, and topology-aware scheduling is off: they are not in force";
            (Truth::Unknown, "TopologyAwareSchedulingDisabled", message.to_owned())
        }
        DriftState::NotFound => {
            let message =
                format!("there is no ClusterTopology {name:?}: the set's topology constraints are not in force");
            (Truth::Unknown, "ClusterTopologyNotFound", message)
        }
        DriftState::LevelsMissing => {
            let missing: Vec<&str> = drift.missing.iter().map(|domain| domain.as_str()).collect();
            let message = format!(
                "ClusterTopology {name:?} does not have these levels, whose constraints are not in force: {}",
                missing.join(", ")
            );
            (Truth::True, "ClusterTopologyLevelsUnavailable", message)
        }
        DriftState::InSync => {
            let message = format!("ClusterTopology {name:?} has every level that the set asks for");
            (Truth::False, "AllClusterTopologyLevelsAvailable", message)
        }
    };
    Said::new(kind::TOPOLOGY_LEVELS_UNAVAILABLE, truth, reason, message)
}

/// The writes that failed, each with the time when it was first seen to.
fn last_errors(pass: &Pass<'_, '_>, stored: &[LastError], failures: &[Failure]) -> Vec<LastError> {
    let mut errors: Vec<LastError> = Vec::new();
    for failure in failures {
        let same = |error: &&LastError| error.code == failure.code && error.description == description(failure);
        if errors.len() < ERRORS_MAX && !errors.iter().any(|error| same(&error)) {
            let known = stored.iter().find(same).map(|error| error.observed_at.clone());
            errors.push(LastError {
                code: failure.code.clone(),
                description: description(failure),
                observed_at: known.unwrap_or_else(|| pass.now.clone()),
            });
        }
    }
    errors
}

fn description(failure: &Failure) -> String {
    bounded(&failure.description, DESCRIPTION_MAX)
}

/// What people are told: what has changed since the stored status.
fn notes(pass: &Pass<'_, '_>, status: &PodCliqueSetStatus, plan: &mut Plan) {
    let set = pass.picture.set;
    let stored = set.status.clone().unwrap_or_default();
    let mut note = |warning, reason, message: String| {
        plan.status_notes.push(Note { about: Target::of(Kind::PodCliqueSet, &set.metadata), warning, reason, message });
    };
    let turned = |kind| {
        let (before, after) = (find(&stored.conditions, kind), find(&status.conditions, kind)?);
        (before.map(|before| &before.status) != Some(&after.status)).then_some((before.is_some(), after))
    };
    if let Some((_, admitted)) = turned(kind::ADMITTED).filter(|(_, after)| after.status == Truth::False.as_str()) {
        note(true, "NotAdmitted", admitted.message.clone());
    }
    if let Some((known, levels)) = turned(kind::TOPOLOGY_LEVELS_UNAVAILABLE) {
        match levels.status == Truth::False.as_str() {
            false => note(true, "TopologyDriftDetected", levels.message.clone()),
            true if known => note(false, "TopologyInSync", levels.message.clone()),
            true => {}
        }
    }
    let (before, after) = (stored.update_progress.as_ref(), status.update_progress.as_ref());
    let started =
        |progress: Option<&SetUpdateProgress>| progress.and_then(|progress| progress.update_started_at.clone());
    let ended = |progress: Option<&SetUpdateProgress>| progress.and_then(|progress| progress.update_ended_at.clone());
    if started(after).is_some() && started(before) != started(after) {
        let how = match waits_for_deletion(pass.picture) {
            true => "the template has changed; pods follow as they are deleted (OnDelete)",
            false => "the template has changed; pods are replaced, one replica of the set after the other",
        };
        note(false, "UpdateStarted", how.to_owned());
    }
    if ended(after).is_some() && ended(before) != ended(after) && !waits_for_deletion(pass.picture) {
        note(false, "UpdateFinished", "every pod is made from the current template".to_owned());
    }
}
