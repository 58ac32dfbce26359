//! Which replica of the set is updated now.

use super::outdated;
use crate::picture::{Clique, Counts, Group, Picture};
use crate::terminate::{is_breached, was_placed};
use std::collections::BTreeSet;
use trellis_api::kinds::UpdateStrategyType;

/// The replica of the set that is being updated, or is to be next: the one that the status names, until it is done; else one that was
/// begun, as after a crash; else, of those with outdated pods, first one that has no node, then one that is broken, then the lowest.
/// None when nothing is outdated, or when updating is left to whoever deletes pods.
pub(crate) fn current_replica(picture: &Picture<'_>) -> Option<usize> {
    let strategy = picture.set.spec.update_strategy.as_ref();
    if strategy.is_some_and(|strategy| strategy.type_ == UpdateStrategyType::OnDelete) {
        return None;
    }
    let replicas = survey(picture);
    let named = named(picture).filter(|index| replicas.get(*index).is_some_and(|replica| !replica.is_done()));
    if named.is_some() || replicas.iter().all(|replica| replica.outdated == 0) {
        return named;
    }
    let begun = replicas.iter().position(|replica| replica.updated > 0 && replica.was_placed && !replica.is_done());
    let next = || {
        let behind = replicas.iter().enumerate().filter(|(_, replica)| replica.outdated > 0);
        behind
            .min_by_key(|(index, replica)| (replica.scheduled > 0, !replica.is_broken, *index))
            .map(|(index, _)| index)
    };
    begun.or_else(next)
}

/// The replica that the status names as being updated.
fn named(picture: &Picture<'_>) -> Option<usize> {
    let progress = picture.set.status.as_ref()?.update_progress.as_ref()?;
    let running = progress.currently_updating.iter().find(|replica| replica.update_ended_at.is_none());
    let running = running.filter(|_| progress.update_ended_at.is_none())?;
    usize::try_from(running.replica_index).ok()
}

/// How far a replica of the set is.
#[derive(Clone, Copy, Debug)]
struct Replica {
    outdated: usize,
    updated: usize,
    scheduled: usize,
    is_broken: bool,
    is_available: bool,
    was_placed: bool,
}

impl Replica {
    /// Whether the next one may have its turn. A replica that never had a place serves nobody and may wait for one for ever, so nobody
    /// waits for it; one that has lost its place does count, or a template that fits nowhere would take down one after the other.
    fn is_done(&self) -> bool {
        self.outdated == 0 && (self.is_available || !self.was_placed)
    }
}

fn survey(picture: &Picture<'_>) -> Vec<Replica> {
    let fresh =
        Replica { outdated: 0, updated: 0, scheduled: 0, is_broken: false, is_available: true, was_placed: false };
    let mut replicas = vec![fresh; picture.set_replicas()];
    let behind = picture.cliques.iter().filter(|clique| outdated(clique).next().is_some());
    // Pods of the cliques that did not change are no sign that a replica was begun.
    let changed: BTreeSet<&str> = behind.map(|clique| clique.instance.template.name.as_str()).collect();
    for clique in &picture.cliques {
        let Some(replica) = replicas.get_mut(clique.instance.set_index) else { continue };
        replica.outdated += outdated(clique).count();
        if changed.contains(clique.instance.template.name.as_str()) {
            replica.updated += clique.counts.updated;
        }
        replica.scheduled += clique.counts.scheduled;
        if clique.instance.group.is_none() {
            replica.is_broken |= is_breached(&clique.counts);
            replica.is_available &= clique.counts.is_available();
        }
    }
    for group in &picture.groups {
        let Some(replica) = replicas.get_mut(group.set_index) else { continue };
        replica.is_broken |= !enough(picture, group, |counts| !is_breached(counts));
        replica.is_available &= enough(picture, group, Counts::is_available);
    }
    for gang in picture.gangs.iter().filter(|gang| gang.base.is_none()) {
        let Some(replica) = replicas.get_mut(gang.set_index) else { continue };
        replica.was_placed |= was_placed(gang);
    }
    replicas
}

/// Whether the minimum of a scaling group's replicas pass, each with all its cliques.
fn enough(picture: &Picture<'_>, group: &Group<'_>, passes: impl Fn(&Counts) -> bool) -> bool {
    let passes = |clique: &Clique<'_>| passes(&clique.counts);
    let sound = group.replicas.iter().filter(|replica| replica.iter().all(|at| passes(&picture.cliques[*at])));
    sound.count() >= group.min_available().min(group.replicas.len())
}
