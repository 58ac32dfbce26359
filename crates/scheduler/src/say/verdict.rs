//! Whether a gang has its place, and in one word why not.

use super::is_silent;
use crate::begun::domain;
use crate::decide::Round;
use crate::picture::{Bar, Picture};
use trellis_engine::{Claim, Constraint, Gang, Outcome, Unready};

/// What is said of a gang's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub is_scheduled: bool,
    /// One word for programs.
    pub reason: &'static str,
    /// A sentence without numbers.
    pub message: String,
    /// Whether there is more to be told of why it waits.
    pub is_explained: bool,
}

/// What is said of a gang; none if that is about to change, or nothing is to be said.
pub(super) fn of(picture: &Picture<'_>, round: &Round, gang: usize) -> Option<Verdict> {
    let who = &picture.whos[gang];
    if is_silent(who) {
        return None;
    }
    let verdict = |reason, message: &str| Verdict {
        is_scheduled: false,
        reason,
        message: message.to_owned(),
        is_explained: false,
    };
    if picture.stands(gang) {
        let apart = apart(picture, gang);
        let (reason, message) = match apart {
            None => ("MinimumScheduled", "the minimum of every group has nodes".to_owned()),
            Some(message) => ("LabelsChanged", message),
        };
        return Some(Verdict { is_scheduled: true, reason, message, is_explained: false });
    }
    let draft = &round.drafts[gang];
    if let Some(bar) = &who.bar {
        return barred(bar, &verdict);
    }
    if draft.is_placed || !draft.binds.is_empty() {
        return None;
    }
    if draft.after.is_undone {
        return Some(verdict("PlacementUndone", "a placement that was begun cannot be finished, and is undone"));
    }
    let outcome = &round.engine.decisions[gang].outcome;
    if picture.has_to_be_undone(gang, outcome)
        && let Some(pod) = picture.without_owner(gang)
    {
        let message = format!(
            "a placement that was begun cannot be finished, and is not undone either: pod `{pod}` has no owner that would \
             make it anew"
        );
        return Some(Verdict { is_explained: true, ..verdict("PlacementStuck", &message) });
    }
    match outcome {
        Outcome::Placed if !round.may_give || round.late.contains(&gang) => None,
        // What is being given up may be what it waits for; that is decided at once.
        Outcome::CannotFit(_) | Outcome::Undecided if !picture.given_up.is_empty() => None,
        Outcome::Placed => Some(verdict("BaseWaits", "the gang that this one belongs to has no place yet")),
        Outcome::Undecided => Some(Verdict {
            is_explained: true,
            ..verdict("Undecided", "neither a place nor a proof that there is none was found")
        }),
        Outcome::CannotFit(_) if draft.after.nominated.is_some() => {
            Some(Verdict { is_explained: true, ..verdict("Preempting", "gangs of lower priority are making room") })
        }
        Outcome::CannotFit(claim) => {
            Some(Verdict { is_explained: true, ..refused(&picture.gangs[gang], claim, &verdict) })
        }
    }
}

fn refused(gang: &Gang, claim: &Claim, verdict: &dyn Fn(&'static str, &str) -> Verdict) -> Verdict {
    match claim {
        Claim::Unready(Unready::UnknownTopology { topology, .. }) => {
            verdict("TopologyNotFound", &format!("topology `{topology}` is not there"))
        }
        Claim::Unready(Unready::UnknownLevel { topology, level, .. }) => {
            verdict("TopologyLevelNotFound", &format!("topology `{topology}` has no level `{level}`"))
        }
        Claim::Unready(Unready::Unsupported { text }) => verdict("Unsupported", text),
        Claim::Unready(Unready::Missing { text }) => verdict("Missing", text),
        Claim::BaseWaits(_) => verdict("BaseWaits", "the gang that this one belongs to has no place yet"),
        Claim::TooFewPods { .. } => verdict("Incomplete", "not all pods that must start together are there"),
        Claim::BoundApart { .. } if gang.base.is_some() && gang.pods.iter().all(|pod| pod.bound.is_none()) => verdict(
            "BaseApart",
            "the gang that it is scaled from runs in different domains of a level that it requires",
        ),
        Claim::BoundApart { .. } => {
            verdict("MembersApart", "its pods run in different domains of a level that it requires")
        }
        _ => verdict("Unschedulable", "there is no room for it"),
    }
}

fn barred(bar: &Bar, verdict: &dyn Fn(&'static str, &str) -> Verdict) -> Option<Verdict> {
    Some(match bar {
        Bar::UnderWay | Bar::Deleted | Bar::Unfenced | Bar::Untouched => return None,
        Bar::Undone => verdict("PlacementUndone", "a placement that was begun cannot be finished, and is undone"),
        Bar::Preempted => verdict("Preempted", "the gang makes room for one of higher priority"),
        Bar::Disrupted => verdict("Disrupted", "the gang is being taken down, and will be placed anew"),
        Bar::Incomplete | Bar::Gated => verdict("Incomplete", "not all pods that must start together are there"),
        Bar::Foreign(pod) => verdict("ForeignPod", &format!("pod `{pod}` of the gang waits for another scheduler")),
        Bar::BaseMissing(base) => {
            verdict("BaseMissing", &format!("PodGang `{base}`, which it is scaled from, is not there"))
        }
    })
}

/// A group that requires one domain and whose pods are in several by the labels of now: labels have changed since they were bound.
fn apart(picture: &Picture<'_>, gang: usize) -> Option<String> {
    let (who, it) = (&picture.whos[gang], &picture.gangs[gang]);
    it.groups.iter().enumerate().find_map(|(at, group)| {
        let Constraint { topology, required, .. } = group.constraint?;
        let level = required?;
        let under = |leaf: usize| it.ancestry(leaf).any(|above| above == at);
        let bound = it.pods.iter().filter(|pod| !who.is_begun(&pod.name) && under(pod.group));
        let mut domains = bound.filter_map(|pod| pod.bound).map(|place| domain(picture, place, topology, level));
        let first = domains.next()?;
        let is_apart = first.is_none() || domains.any(|other| other != first);
        let name = &picture.cluster.topologies[topology].levels[level].name;
        is_apart
            .then(|| format!("labels of nodes have changed: the pods of `{}` are no longer in one {name}", group.name))
    })
}
