//! What is broken, for how long, and how much has to go for it.
//!
//! A clique is broken while fewer pods than its minimum are on a node and can do their work. Since when, its stored condition
//! `MinAvailableBreached` says; a breach that no status tells of yet has just begun. What was broken before the gang had its present
//! place does not count, nor does anything in a replica of the set that is being updated.

use super::{is_preempted, placed_at};
use crate::picture::{Clique, Counts, Gang, Group, Picture};
use crate::plan::{Kind, Plan};
use crate::pod::Pod;
use crate::update::stuck_since;
use jiff::Timestamp;
use std::sync::Arc;
use std::time::Duration;
use trellis_api::duration;

/// How long a gang may be broken where the set does not say.
const DEFAULT_DELAY: Duration = Duration::from_hours(4);
/// Shorter delays than stored times can tell would make a gang go down again the moment that it is back.
const SHORTEST_DELAY: Duration = Duration::from_secs(1);

const BROKEN: &str = "it has been below its minimum for longer than `terminationDelay`";
const STUCK: &str = "a pod of the new template has found no room for longer than `terminationDelay`";
/// Why pods of a single replica of a scaling group are replaced.
pub const BROKEN_REPLICA: &str =
    "a replica of a scaling group has been below its minimum for longer than `terminationDelay`, the others go on";

/// What has to be done about a gang.
pub enum Verdict<'a> {
    /// Nothing, for now.
    Leave,
    /// It gives up its place, for this reason.
    TakeDown(&'static str),
    /// It stays, and only these pods of it are made anew.
    Replace(Vec<&'a Arc<Pod>>),
}

/// Whether fewer pods than the minimum are on a node and can do their work. Those that succeeded have done it.
pub(crate) fn is_breached(counts: &Counts) -> bool {
    counts.scheduled.saturating_sub(counts.failing) < counts.min
}

/// What has to be done about a base gang. If the whole of it has to go, so have its scaled gangs.
pub fn of_base<'a>(picture: &Picture<'a>, base: &Gang<'_>, is_updating: bool, plan: &mut Plan) -> Verdict<'a> {
    if is_updating || is_preempted(base) || placed_at(base).is_none() {
        return stuck(picture, base, is_updating, plan);
    }
    let alone = picture.members(base).iter().filter(|clique| clique.instance.group.is_none());
    let of_cliques = alone.filter_map(|clique| deadline(picture, clique));
    let groups = groups_of(picture, base.set_index);
    let of_groups = groups.iter().filter_map(|group| group_deadline(picture, group));
    if of_cliques.chain(of_groups).any(|deadline| has_passed(picture, deadline, plan)) {
        return Verdict::TakeDown(BROKEN);
    }
    let enough = groups.iter().filter(|group| group_deadline(picture, group).is_none());
    let pods: Vec<_> = enough.flat_map(|group| broken_replicas(picture, group, plan)).collect();
    if pods.is_empty() { Verdict::Leave } else { Verdict::Replace(pods) }
}

/// The scaling groups of a replica of the set; they are in the order of the replicas.
fn groups_of<'p, 'a>(picture: &'p Picture<'a>, set_index: usize) -> &'p [Group<'a>] {
    let at = |index| picture.groups.partition_point(|group| group.set_index < index);
    &picture.groups[at(set_index)..at(set_index + 1)]
}

/// What has to be done about a scaled gang, a replica of its group like others: it goes alone.
pub fn of_scaled<'a>(picture: &Picture<'a>, gang: &Gang<'_>, is_updating: bool, plan: &mut Plan) -> Verdict<'a> {
    if is_updating || is_preempted(gang) || placed_at(gang).is_none() {
        return stuck(picture, gang, is_updating, plan);
    }
    let deadlines = picture.members(gang).iter().filter_map(|clique| deadline(picture, clique));
    match deadlines.min() {
        Some(deadline) if has_passed(picture, deadline, plan) => Verdict::TakeDown(BROKEN),
        _ => Verdict::Leave,
    }
}

/// While a gang is being updated it is below its minimum on purpose; it has to go only if the update cannot go on.
fn stuck<'a>(picture: &Picture<'a>, gang: &Gang<'_>, is_updating: bool, plan: &mut Plan) -> Verdict<'a> {
    let since = stuck_since(picture, gang).filter(|_| is_updating && !is_preempted(gang));
    match since.and_then(|since| later(picture, since)) {
        Some(deadline) if has_passed(picture, deadline, plan) => Verdict::TakeDown(STUCK),
        _ => Verdict::Leave,
    }
}

/// When a broken clique will have been so for too long. None if it is sound, or its gang has no place to give up.
fn deadline(picture: &Picture<'_>, clique: &Clique<'_>) -> Option<Timestamp> {
    let placed = placed_at(&picture.gangs[clique.gang])?;
    if !is_breached(&clique.counts) {
        return None;
    }
    let status = clique.live.and_then(|live| live.status.as_ref());
    let told = status.into_iter().flat_map(|status| &status.conditions);
    let told = told.filter(|condition| condition.type_ == "MinAvailableBreached" && condition.status == "True");
    let since = told.map(|condition| condition.last_transition_time.0.max(placed)).next();
    later(picture, since.unwrap_or(picture.around.now))
}

/// When a scaling group will have had fewer sound replicas than its minimum for too long. None if it has enough.
fn group_deadline(picture: &Picture<'_>, group: &Group<'_>) -> Option<Timestamp> {
    let mut deadlines: Vec<Timestamp> = group.replicas.iter().filter_map(|at| replica_deadline(picture, at)).collect();
    deadlines.sort_unstable();
    // The group is broken from the moment that one more than it can spare is.
    deadlines.get(group.replicas.len().saturating_sub(group.min_available())).copied()
}

/// The same for a replica of a scaling group, given its cliques. One that has no place has never been sound.
fn replica_deadline(picture: &Picture<'_>, cliques: &[usize]) -> Option<Timestamp> {
    let cliques = || cliques.iter().map(|at| &picture.cliques[*at]);
    let without_place =
        cliques().any(|clique| is_breached(&clique.counts) && placed_at(&picture.gangs[clique.gang]).is_none());
    if without_place { Some(Timestamp::MIN) } else { cliques().filter_map(|clique| deadline(picture, clique)).min() }
}

/// Pods of those replicas of a group that are in the base gang, are broken, and can be spared: they are replaced while the gang stays.
/// Only pods that have a node go, and none before it has stood there for the delay: those made anew are not in the way.
fn broken_replicas<'a>(picture: &Picture<'a>, group: &Group<'_>, plan: &mut Plan) -> Vec<&'a Arc<Pod>> {
    let mut found = Vec::new();
    for replica in group.replicas.iter().take(group.min_available()) {
        let cliques = || replica.iter().map(|at| &picture.cliques[*at]);
        let Some(deadline) = replica_deadline(picture, replica) else { continue };
        let placed: Vec<&'a Arc<Pod>> = cliques()
            .flat_map(|clique| clique.pods.iter().copied())
            .filter(|pod| pod.is_member() && pod.is_scheduled() && !pod.has_succeeded())
            .collect();
        let Some(oldest) = placed.iter().filter_map(|pod| pod.created()).min() else { continue };
        let Some(stood) = later(picture, oldest) else { continue };
        if has_passed(picture, deadline.max(stood), plan) {
            for live in cliques().filter(|clique| is_breached(&clique.counts)).filter_map(|clique| clique.live) {
                plan.confirm(Kind::PodClique, &live.metadata);
            }
            found.extend(placed);
        }
    }
    found
}

/// The delay after a moment; none if that is beyond all time.
fn later(picture: &Picture<'_>, moment: Timestamp) -> Option<Timestamp> {
    let delay = picture.set.spec.template.termination_delay.as_deref().and_then(duration::parse);
    moment.checked_add(delay.unwrap_or(DEFAULT_DELAY).max(SHORTEST_DELAY)).ok()
}

/// Whether it is time; if not, it will be looked at again when it is.
fn has_passed(picture: &Picture<'_>, deadline: Timestamp, plan: &mut Plan) -> bool {
    let passed = deadline <= picture.around.now;
    if !passed {
        plan.wake(deadline);
    }
    passed
}
