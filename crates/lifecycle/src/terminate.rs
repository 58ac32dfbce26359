//! Gang termination: a gang that stays broken gives up its place and is placed anew, whole.
//!
//! What is known of a gang stands on its PodGang, so every step can be the last before a crash:
//!
//! | PodGang | what is due |
//! |---|---|
//! | neither annotation nor condition | once the minimum of all its groups has nodes: the annotation `scheduled-at` |
//! | `scheduled-at` | once it has been broken for `terminationDelay` ([`breach`]): condition `DisruptionTarget`, and Initialized is False |
//! | `DisruptionTarget`, pods without our gate | they are deleted; those made anew stay behind the gate |
//! | `DisruptionTarget`, only gated pods, `scheduled-at` | the annotation goes |
//! | `DisruptionTarget`, only gated pods | the condition becomes False, and the gang is like a new one |
//!
//! The annotation goes first: a gang that was never placed is never taken down, so what happens to it from here on cannot begin this
//! again. A base gang takes its scaled gangs with it. It is done no earlier than theirs have begun, and they are done no earlier than it
//! is, so neither can miss the other. Members that have succeeded stay; they count towards the minimum for ever.

mod breach;
#[cfg(test)]
mod tests;

pub(crate) use breach::is_breached;

use crate::picture::{Gang, Picture};
use crate::plan::{Action, Kind, Note, Plan, Target, Write, site};
use crate::pod::Pod;
use crate::status::gang_status;
use crate::update::current_replica;
use breach::Verdict;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;
use trellis_api::kinds::PodGang;
use trellis_api::names::annotation;

const DISRUPTION_TARGET: &str = "DisruptionTarget";
const TERMINATION: &str = "GangTermination";
const RECREATED: &str = "GangRecreated";

/// What is due for gangs that are broken, or on their way down.
pub fn decide(picture: &Picture<'_>, plan: &mut Plan) {
    let current = current_replica(picture);
    // Two writes to one object would be decided on the same version, and one of them in vain.
    let is_gang = |write: &&Write| write.target.kind == Kind::PodGang;
    let busy: BTreeSet<String> = plan.writes.iter().filter(is_gang).map(|write| write.target.name.clone()).collect();
    for gangs in picture.gangs.chunk_by(|one, next| one.set_index == next.set_index) {
        let Some((base, scaled)) = gangs.split_first() else { continue };
        if is_terminating(base) {
            let unbegun: Vec<_> = scaled.iter().filter(|gang| has_to_follow(picture, gang)).collect();
            for gang in &unbegun {
                begin(picture, gang, &with_base(base), &busy, plan);
            }
            go_on(picture, base, !unbegun.is_empty(), &busy, plan);
        } else {
            judge(picture, gangs, current, &busy, plan);
            mark(picture, base, &busy, plan);
        }
        for gang in scaled {
            if is_terminating(gang) {
                go_on(picture, gang, is_terminating(base), &busy, plan);
            } else {
                mark(picture, gang, &busy, plan);
            }
        }
    }
}

/// Whether we are taking the gang down.
pub(crate) fn is_terminating(gang: &Gang<'_>) -> bool {
    disruption(gang).is_some_and(|condition| condition.status == "True" && condition.reason == TERMINATION)
}

/// Whether the gang ever had a place, be it that it was taken down since.
pub(crate) fn was_placed(gang: &Gang<'_>) -> bool {
    let ours = |condition: &Condition| condition.reason == TERMINATION || condition.reason == RECREATED;
    placed_at(gang).is_some() || disruption(gang).is_some_and(ours)
}

/// Since when the minimum of all the gang's groups has had nodes.
pub(crate) fn placed_at(gang: &Gang<'_>) -> Option<Timestamp> {
    let stamp = gang.live?.metadata.annotations.as_ref()?.get(annotation::SCHEDULED_AT)?;
    // Somebody else's scribble still says that the gang had a place.
    Some(stamp.parse().unwrap_or(Timestamp::MIN))
}

fn disruption<'a>(gang: &Gang<'a>) -> Option<&'a Condition> {
    let status = gang.live?.status.as_ref()?;
    status.conditions.iter().find(|condition| condition.type_ == DISRUPTION_TARGET)
}

/// Whether a scheduler is taking the gang down; then its being broken is no news.
fn is_preempted(gang: &Gang<'_>) -> bool {
    disruption(gang).is_some_and(|condition| condition.status == "True" && condition.reason != TERMINATION)
}

/// Decides for a replica of the set, whose base comes first, which of its gangs have to go.
fn judge(picture: &Picture<'_>, gangs: &[Gang<'_>], current: Option<usize>, busy: &BTreeSet<String>, plan: &mut Plan) {
    let [base, scaled @ ..] = gangs else { return };
    let is_updating = current == Some(base.set_index);
    match breach::of_base(picture, base, is_updating, plan) {
        Verdict::TakeDown(why) => {
            note(picture, &base.name, why, plan);
            begin(picture, base, why, busy, plan);
            for gang in scaled.iter().filter(|gang| has_to_follow(picture, gang)) {
                begin(picture, gang, &with_base(base), busy, plan);
            }
            return;
        }
        Verdict::Replace(pods) => {
            if let Some(live) = base.live {
                plan.confirm(Kind::PodGang, &live.metadata);
                note(picture, &base.name, breach::BROKEN_REPLICA, plan);
            }
            delete(&pods, plan);
        }
        Verdict::Leave => {}
    }
    for gang in scaled.iter().filter(|gang| !is_terminating(gang)) {
        if let Verdict::TakeDown(why) = breach::of_scaled(picture, gang, is_updating, plan) {
            note(picture, &gang.name, why, plan);
            begin(picture, gang, why, busy, plan);
        }
    }
}

/// Whether a scaled gang has yet to be taken down with its base. One whose pods all wait behind our gate has nothing to give up.
fn has_to_follow(picture: &Picture<'_>, gang: &Gang<'_>) -> bool {
    !is_terminating(gang) && (placed_at(gang).is_some() || !let_go(picture, gang).is_empty())
}

fn with_base(base: &Gang<'_>) -> String {
    format!("the gang that this one belongs to, `{}`, is taken down", base.name)
}

fn note(picture: &Picture<'_>, gang: &str, why: &str, plan: &mut Plan) {
    plan.notes.push(Note {
        about: Target::of(Kind::PodCliqueSet, &picture.set.metadata),
        warning: true,
        reason: "GangTerminated",
        message: format!("taking down `{gang}`, to place it anew: {why}"),
    });
}

/// The gang gives up its place.
fn begin(picture: &Picture<'_>, gang: &Gang<'_>, why: &str, busy: &BTreeSet<String>, plan: &mut Plan) {
    set_disruption(picture, gang, site::BEGIN_TERMINATION, ("True", TERMINATION, why), busy, plan);
}

/// Takes the next step with a gang that is on its way down.
fn go_on(picture: &Picture<'_>, gang: &Gang<'_>, hold: bool, busy: &BTreeSet<String>, plan: &mut Plan) {
    let Some(live) = gang.live else { return };
    let pods = let_go(picture, gang);
    if !pods.is_empty() {
        plan.confirm(Kind::PodGang, &live.metadata);
        delete(&pods, plan);
    } else if placed_at(gang).is_some() {
        annotate(live, site::END_TERMINATION, None, busy, plan);
    } else if !hold {
        let said = ("False", RECREATED, "the gang was taken down and waits for a new place");
        set_disruption(picture, gang, site::END_TERMINATION, said, busy, plan);
    }
}

/// Remembers that the gang has had a place.
fn mark(picture: &Picture<'_>, gang: &Gang<'_>, busy: &BTreeSet<String>, plan: &mut Plan) {
    let Some(live) = gang.live.filter(|live| live.metadata.deletion_timestamp.is_none()) else { return };
    let members = picture.members(gang);
    if placed_at(gang).is_none() && members.iter().all(|clique| clique.live.is_some() && clique.counts.is_scheduled()) {
        let stamp = whole_second(picture.around.now).to_string();
        annotate(live, site::MARK_SCHEDULED, Some(&stamp), busy, plan);
    }
}

/// Pods of a gang that a scheduler may have placed, or may place any moment.
fn let_go<'a>(picture: &Picture<'a>, gang: &Gang<'_>) -> Vec<&'a Arc<Pod>> {
    let pods = picture.members(gang).iter().flat_map(|clique| clique.pods.iter().copied());
    pods.filter(|pod| !pod.is_terminating() && !pod.is_gated() && !pod.has_succeeded()).collect()
}

fn delete(pods: &[&Arc<Pod>], plan: &mut Plan) {
    for pod in pods {
        plan.delete(site::DELETE_POD_TERMINATED, Kind::Pod, &pod.metadata, true);
    }
}

fn annotate(live: &PodGang, site: &'static str, stamp: Option<&str>, busy: &BTreeSet<String>, plan: &mut Plan) {
    let metadata = &live.metadata;
    let target = Target::of(Kind::PodGang, metadata);
    if busy.contains(&target.name) {
        return;
    }
    let patch = json!({
        "metadata": {
            "annotations": { annotation::SCHEDULED_AT: stamp },
            "resourceVersion": metadata.resource_version,
            "uid": metadata.uid,
        },
    });
    plan.writes.push(Write { site, target, action: Action::Patch(patch) });
}

/// Writes the condition: its status, its reason and why. What else the gang's status says goes with it.
fn set_disruption(
    picture: &Picture<'_>,
    gang: &Gang<'_>,
    site: &'static str,
    (status, reason, message): (&str, &str, &str),
    busy: &BTreeSet<String>,
    plan: &mut Plan,
) {
    let Some(live) = gang.live.filter(|live| live.metadata.deletion_timestamp.is_none()) else { return };
    let target = Target::of(Kind::PodGang, &live.metadata);
    if busy.contains(&target.name) {
        return;
    }
    let condition = Condition {
        type_: DISRUPTION_TARGET.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        observed_generation: live.metadata.generation,
        last_transition_time: Time(whole_second(picture.around.now)),
    };
    let action = Action::ApplyStatus(gang_status(picture, gang, false, Some(condition)));
    plan.writes.push(Write { site, target, action });
}

/// Stored times have whole seconds.
fn whole_second(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}
