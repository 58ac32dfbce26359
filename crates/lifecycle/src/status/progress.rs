//! How far an update is. Pods show what they were made from; stored status only remembers what was begun and when.

use crate::picture::{Clique, Group, Picture};
use crate::terminate::was_placed;
use crate::update::outdated;
use trellis_api::kinds::{PodCliqueStatus, UpdateStrategyType};

/// Where an update of a clique, a scaling group or a set stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// There is nothing to update, and nothing was begun.
    Rest,
    /// There is, and it is not its turn yet.
    Wait,
    /// It is being updated.
    Run,
    /// It has just been updated, or is left to whoever deletes pods.
    End,
}

/// What the step of an update follows from.
#[derive(Clone, Copy, Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "four questions with yes or no for an answer, named where they are answered"
)]
pub struct Seen {
    /// Whether one was begun and not ended.
    pub begun: bool,
    /// Whether there is anything to update.
    pub behind: bool,
    /// Whether its turn has come.
    pub turn: bool,
    /// Whether it is whole again.
    pub whole: bool,
}

impl Step {
    /// The step that an update is at.
    pub fn of(picture: &Picture<'_>, seen: Seen) -> Self {
        match (seen.begun, seen.behind) {
            (false, false) => Self::Rest,
            _ if waits_for_deletion(picture) || seen.whole => Self::End,
            (true, _) => Self::Run,
            _ if seen.turn => Self::Run,
            _ => Self::Wait,
        }
    }
}

/// Whether pods are updated only as somebody deletes them.
pub fn waits_for_deletion(picture: &Picture<'_>) -> bool {
    let strategy = picture.set.spec.update_strategy.as_ref();
    strategy.is_some_and(|strategy| strategy.type_ == UpdateStrategyType::OnDelete)
}

/// Whether a clique has all its pods, made from the current template.
pub fn is_current(clique: &Clique<'_>) -> bool {
    clique.live.is_some() && clique.counts.members >= clique.counts.replicas && outdated(clique).next().is_none()
}

/// Whether a clique has pods to be updated, or was seen at another template.
pub fn is_behind(picture: &Picture<'_>, clique: &Clique<'_>) -> bool {
    let target = &clique.instance.template_hash;
    let stored = clique.live.and_then(|live| live.status.as_ref());
    let hash = stored.and_then(|status| status.current_pod_template_hash.as_ref());
    // With OnDelete, pods of another template stay after the update has ended.
    let left = waits_for_deletion(picture) && stored.is_some_and(|status| has_ended(status, target));
    hash.is_some_and(|hash| hash != target) || (!left && outdated(clique).next().is_some())
}

/// Whether an update to this template has ended.
fn has_ended(status: &PodCliqueStatus, template_hash: &str) -> bool {
    let progress = status.update_progress.as_ref();
    progress.is_some_and(|progress| progress.update_ended_at.is_some() && progress.pod_template_hash == template_hash)
}

/// Whether a clique is there and its minimum is ready.
pub fn is_available(clique: &Clique<'_>) -> bool {
    clique.live.is_some() && clique.counts.is_available()
}

/// Whether a replica of the set has ever had a place. One that never had serves nobody, so no update waits until it does.
pub fn was_replica_placed(picture: &Picture<'_>, set_index: usize) -> bool {
    let mut bases = picture.gangs.iter().filter(|gang| gang.base.is_none());
    bases.any(|gang| gang.set_index == set_index && was_placed(gang))
}

/// Replicas of a scaling group whose cliques all pass.
pub fn replicas_that<'a>(picture: &Picture<'a>, group: &Group<'_>, pass: impl Fn(&Clique<'a>) -> bool) -> usize {
    group.replicas.iter().filter(|replica| replica.iter().all(|position| pass(&picture.cliques[*position]))).count()
}

/// A count as a status has it.
pub fn count(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}
