//! The status of a PodCliqueScalingGroup.

use super::clique::is_intact;
use super::conditions::{Said, Truth, kind, merged};
use super::progress::{Seen, Step, count, is_available, is_behind, is_current, replicas_that, was_replica_placed};
use super::{Pass, selector, write};
use crate::picture::{Clique, Group};
use crate::plan::{Kind, Plan, site};
use crate::terminate::is_terminating;
use crate::update::outdated;
use trellis_api::kinds::{GroupUpdateProgress, PodCliqueScalingGroupStatus};
use trellis_api::names::label;

const OURS: [&str; 2] = [kind::MIN_AVAILABLE_BREACHED, kind::GANG_TERMINATION_IN_PROGRESS];

pub fn decide(pass: &Pass<'_, '_>, group: &Group<'_>, plan: &mut Plan) {
    let Some(live) = group.live else { return };
    let picture = pass.picture;
    let stored = live.status.clone().unwrap_or_default();
    let step = step(pass, group, &stored);
    let generation = live.metadata.generation;
    let updating = step == Step::Run && pass.turn == Some(group.set_index);
    let said = [Some(breached(pass, group, updating)), terminating(pass, group)];
    let said = said.into_iter().flatten().collect();
    let has_nodes = |clique: &Clique<'_>| clique.live.is_some() && clique.counts.is_scheduled();
    let mut status = PodCliqueScalingGroupStatus {
        observed_generation: generation,
        last_errors: Vec::new(),
        conditions: merged(&stored.conditions, &OURS, said, generation, &pass.now),
        replicas: count(replicas_that(picture, group, |clique| clique.live.is_some())),
        scheduled_replicas: count(replicas_that(picture, group, has_nodes)),
        available_replicas: count(replicas_that(picture, group, is_available)),
        updated_replicas: count(replicas_that(picture, group, is_current)),
        selector: Some(selector(picture, Some((label::SCALING_GROUP, group.name())))),
        ..stored
    };
    advance(pass, group, step, &mut status);
    write(site::GROUP_STATUS, Kind::ScalingGroup, &live.metadata, live.status.as_ref(), &status, plan);
}

/// The cliques of all replicas of a group.
fn members<'a, 'b>(pass: &'b Pass<'a, 'b>, group: &'b Group<'_>) -> impl Iterator<Item = &'b Clique<'a>> {
    group.replicas.iter().flatten().map(|position| &pass.picture.cliques[*position])
}

/// Whether a group has as many available replicas as it must have.
pub fn is_group_available(pass: &Pass<'_, '_>, group: &Group<'_>) -> bool {
    replicas_that(pass.picture, group, is_available) >= group.min_available()
}

fn step(pass: &Pass<'_, '_>, group: &Group<'_>, stored: &PodCliqueScalingGroupStatus) -> Step {
    let begun = stored.update_progress.as_ref().is_some_and(|progress| progress.update_ended_at.is_none());
    let behind = members(pass, group).any(|clique| is_behind(pass.picture, clique));
    let turn =
        pass.turn == Some(group.set_index) || members(pass, group).all(|clique| outdated(clique).next().is_none());
    let serves = was_replica_placed(pass.picture, group.set_index);
    let whole = members(pass, group).all(is_current) && (is_group_available(pass, group) || !serves);
    Step::of(pass.picture, Seen { begun, behind, turn, whole })
}

fn advance(pass: &Pass<'_, '_>, group: &Group<'_>, step: Step, status: &mut PodCliqueScalingGroupStatus) {
    let target = &pass.picture.generation_hash;
    if matches!(step, Step::Rest | Step::End) {
        status.current_pod_clique_set_generation_hash = Some(target.clone());
    }
    if !matches!(step, Step::Run | Step::End) {
        return;
    }
    let running = |progress: &GroupUpdateProgress| {
        progress.update_ended_at.is_none() && progress.pod_clique_set_generation_hash == *target
    };
    let started = status.update_progress.take().filter(running).and_then(|progress| progress.update_started_at);
    status.update_progress = Some(GroupUpdateProgress {
        update_started_at: started.or_else(|| Some(pass.now.clone())),
        update_ended_at: (step == Step::End).then(|| pass.now.clone()),
        pod_clique_set_generation_hash: target.clone(),
        updated_pod_cliques_count: count(members(pass, group).filter(|clique| is_current(clique)).count()),
        total_pod_cliques_count: count(members(pass, group).count()),
        ready_replica_indices_selected_to_update: None,
    });
}

fn breached(pass: &Pass<'_, '_>, group: &Group<'_>, updating: bool) -> Said {
    let intact = replicas_that(pass.picture, group, is_intact);
    let (truth, reason, message) = if updating {
        (Truth::Unknown, "UpdateInProgress", "the scaling group is being updated".to_owned())
    } else if intact < group.min_available() {
        let message = format!("{intact} of at least {} replicas are ready or starting", group.min_available());
        (Truth::True, "InsufficientAvailablePodCliqueScalingGroupReplicas", message)
    } else {
        let message = format!("at least {} replicas are ready or starting", group.min_available());
        (Truth::False, "SufficientAvailablePodCliqueScalingGroupReplicas", message)
    };
    Said::new(kind::MIN_AVAILABLE_BREACHED, truth, reason, message)
}

/// Said only while it is so.
fn terminating(pass: &Pass<'_, '_>, group: &Group<'_>) -> Option<Said> {
    let mut gangs = members(pass, group).map(|clique| &pass.picture.gangs[clique.gang]);
    let gang = gangs.find(|gang| is_terminating(gang))?;
    let message = format!("PodGang {:?} is being taken down, to be placed anew", gang.name);
    Some(Said::new(kind::GANG_TERMINATION_IN_PROGRESS, Truth::True, "GangTerminationActive", message))
}
