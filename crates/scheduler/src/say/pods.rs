//! The condition of pods that wait.

use super::{Told, Verdict};
use crate::decide::Round;
use crate::holds::floor_second;
use crate::picture::{Picture, is_served};
use crate::plan::{Kind, Note, Plan, PodCondition, Target};
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;
use trellis_engine::Outcome;

/// The condition of a pod is rewritten at most so often.
const EVERY: SignedDuration = SignedDuration::from_mins(1);
/// Longest message, in characters.
const MESSAGE: usize = 2048;
const ABOVE: &str =
    "Waits: it is above the minimum of its group, and there is no room for it in the domains that its gang occupies.";

/// Says of each waiting pod of a gang why it waits.
pub(super) fn decide(
    picture: &Picture<'_>,
    round: &Round,
    gang: usize,
    verdict: &Verdict,
    told: Option<&Told>,
    plan: &mut Plan,
) {
    let it = &picture.gangs[gang];
    let decision = &round.engine.decisions[gang];
    let is_above = verdict.is_scheduled && decision.outcome == Outcome::Placed;
    let text = if is_above { ABOVE } else { told.map_or(verdict.message.as_str(), |told| told.text.as_str()) };
    let message: String = text.chars().take(MESSAGE).collect();
    for (at, pod) in it.pods.iter().enumerate().filter(|(_, pod)| pod.bound.is_none()) {
        if decision.placed.binary_search_by_key(&at, |(pod, _)| *pod).is_ok() {
            continue;
        }
        let Some(object) = picture.pod(gang, &pod.name) else { continue };
        let target = &picture.whos[gang].target;
        if let Some(condition) = condition(object, &message, target, picture, plan) {
            if picture.is_lone(gang) && !is_told(object) {
                plan.notes.push(Note {
                    about: target.clone(),
                    uid: picture.whos[gang].object.uid().to_owned(),
                    warning: true,
                    reason: verdict.reason,
                    message: told.map_or_else(|| verdict.message.clone(), |told| told.headline(&verdict.message)),
                });
            }
            plan.pod_conditions.push(condition);
        }
    }
}

/// Says of pods that no gang takes in why they wait.
pub(super) fn homeless(picture: &Picture<'_>, plan: &mut Plan) {
    for (name, why) in &picture.homeless {
        let Some(pod) = picture.seen.pod(&name.namespace, &name.name) else { continue };
        if !is_served(pod, &picture.around.settings.served) {
            continue;
        }
        let target = Target::of(Kind::Pod, &pod.metadata);
        let condition = condition(pod, &format!("Waits: {why}."), &target, picture, plan);
        plan.pod_conditions.extend(condition);
    }
}

fn known(pod: &Pod) -> Option<&k8s_openapi::api::core::v1::PodCondition> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|known| known.type_ == "PodScheduled")
}

fn is_told(pod: &Pod) -> bool {
    known(pod).is_some_and(|known| known.status == "False" && known.reason.as_deref() == Some("Unschedulable"))
}

fn condition(pod: &Pod, message: &str, gang: &Target, picture: &Picture<'_>, plan: &mut Plan) -> Option<PodCondition> {
    let now = picture.around.now;
    let before = known(pod).filter(|_| is_told(pod));
    if let Some(before) = before {
        if before.message.as_deref() == Some(message) {
            return None;
        }
        let due = before.last_probe_time.as_ref().and_then(|time| time.0.checked_add(EVERY).ok());
        if let Some(due) = due.filter(|due| *due > now) {
            plan.again(due);
            return None;
        }
    }
    let stamp = floor_second(now);
    let since = before.and_then(|before| before.last_transition_time.as_ref()).map_or(stamp, |time| time.0);
    let patch = json!({
        "metadata": { "uid": pod.metadata.uid },
        "status": { "conditions": [{
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": message,
            "lastProbeTime": stamp,
            "lastTransitionTime": since,
        }] },
    });
    Some(PodCondition {
        namespace: pod.metadata.namespace.clone().unwrap_or_default(),
        pod: pod.metadata.name.clone()?,
        uid: pod.metadata.uid.clone()?,
        gang: gang.clone(),
        patch,
    })
}
