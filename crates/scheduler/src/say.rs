//! What is said of gangs and pods: conditions, explanations, events.
//!
//! A condition says what was observed, and moves only when its truth does. Why a gang waits is told in full in an annotation, which is
//! rewritten only when what binds or what is short has changed; its pods' conditions follow that. Events carry no numbers.

mod explain;
mod follows;
mod pods;
mod verdict;

pub(crate) use explain::Explained;
pub(crate) use follows::INITIALIZED;
pub(crate) use verdict::Verdict;

use crate::decide::Round;
use crate::memory::Memory;
use crate::picture::{Bar, Object, Picture, Who};
use crate::plan::{Kind, Note, Plan, StatusApply, Target};
use explain::Told;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde_json::{Value, json};
use std::collections::HashMap;
use trellis_api::kinds::PodGang;

const SCHEDULED: &str = "Scheduled";
const DISRUPTION_TARGET: &str = "DisruptionTarget";
const PREEMPTED: &str = "Preempted";
/// What is said once that is over. The condition is not taken away: the operator may have a part in it, and what would be left of it
/// would be no condition.
const PREEMPTION_OVER: &str = "PreemptionOver";

/// What is to be said now.
pub(crate) fn decide(picture: &Picture<'_>, round: &mut Round, memory: &mut Memory, plan: &mut Plan) {
    let verdicts: Vec<Option<Verdict>> =
        (0..picture.gangs.len()).map(|gang| verdict::of(picture, round, gang)).collect();
    let told = explain::decide(picture, round, &verdicts, &mut memory.explained, plan);
    for (gang, verdict) in verdicts.iter().enumerate() {
        let Some(verdict) = verdict else { continue };
        if verdict.is_explained && !told.contains_key(&gang) {
            // It is worked out in a moment; to say something else before would only be more to write.
            continue;
        }
        status(picture, gang, verdict, told.get(&gang), plan);
        pods::decide(picture, round, gang, verdict, told.get(&gang), plan);
    }
    pods::homeless(picture, plan);
    tell_faults(picture, memory, plan);
    crate::figures::count(picture, round, &verdicts, plan);
}

/// The status of a PodGang, as far as it is ours. The status of KAI's PodGroups is KAI's.
fn status(picture: &Picture<'_>, gang: usize, verdict: &Verdict, told: Option<&Told>, plan: &mut Plan) {
    let who = &picture.whos[gang];
    let Object::PodGang(object) = who.object else { return };
    let now = Time(crate::holds::floor_second(picture.around.now));
    let message = told.map_or_else(|| verdict.message.clone(), |told| told.headline(&verdict.message));
    let scheduled = condition(object, SCHEDULED, (verdict.is_scheduled, verdict.reason, &message), &now);
    let score = if verdict.is_scheduled { who.ledger.score } else { None };
    let stored = object.status.as_ref();
    let find = |kind: &str| stored.and_then(|status| status.conditions.iter().find(|known| known.type_ == kind));
    let ours = find(DISRUPTION_TARGET).filter(|known| [PREEMPTED, PREEMPTION_OVER].contains(&known.reason.as_str()));
    // It is said once it stands in the ledger: two writes at once would be in each other's way.
    let disruption = match (&who.leaves_for, &who.ledger.preempted_by) {
        (Some(whom), Some(_)) => {
            let message = format!("the gang makes room for `{whom}`, which has a higher priority");
            Some(condition(object, DISRUPTION_TARGET, (true, PREEMPTED, &message), &now))
        }
        (None, None) => ours.map(|_| {
            let said = (false, PREEMPTION_OVER, "the gang no longer has to make room");
            condition(object, DISRUPTION_TARGET, said, &now)
        }),
        _ => ours.cloned(),
    };
    let follows = follows::of(picture, gang);
    let following: Vec<Condition> = follows
        .iter()
        .flat_map(|follows| &follows.conditions)
        .map(|(kind, truth, reason, message)| condition(object, kind, (*truth, reason, message), &now))
        .collect();
    let phase = follows.map(|follows| follows.phase);
    let is_told = is_same(find(SCHEDULED), Some(&scheduled))
        && is_same(ours, disruption.as_ref())
        && following.iter().all(|condition| is_same(find(&condition.type_), Some(condition)))
        && (phase.is_none() || stored.and_then(|status| status.phase) == phase);
    let thousandths = score.map(|score| f64::from(score) / 1000.0);
    if is_told && stored.and_then(|status| status.placement_score) == thousandths {
        return;
    }
    if find(SCHEDULED).is_none_or(|known| known.reason != scheduled.reason) {
        plan.notes.push(Note {
            about: who.target.clone(),
            uid: who.object.uid().to_owned(),
            warning: !verdict.is_scheduled,
            reason: verdict.reason,
            message: scheduled.message.clone(),
        });
    }
    // The operator speaks of this too; what it has said meanwhile is not spoken over.
    let version = disruption.as_ref().and(object.metadata.resource_version.clone());
    let conditions: Vec<Condition> = std::iter::once(scheduled).chain(disruption).chain(following).collect();
    let mut object = json!({
        "apiVersion": Kind::PodGang.api_version(),
        "kind": "PodGang",
        "metadata": metadata(who),
        "status": { "conditions": conditions },
    });
    if let Some(version) = version {
        object["metadata"]["resourceVersion"] = json!(version);
    }
    if let Some(score) = thousandths {
        object["status"]["placementScore"] = json!(score);
    }
    if let Some(phase) = phase {
        object["status"]["phase"] = json!(phase);
    }
    plan.statuses.push(StatusApply { target: who.target.clone(), object });
}

fn metadata(who: &Who<'_>) -> Value {
    json!({ "namespace": who.target.namespace, "name": who.target.name, "uid": who.object.uid() })
}

/// A condition that follows the one that was there: its time moves only when its status does.
fn condition(object: &PodGang, kind: &str, (truth, reason, message): (bool, &str, &str), now: &Time) -> Condition {
    let status = if truth { "True" } else { "False" };
    let known = object.status.iter().flat_map(|status| &status.conditions).find(|known| known.type_ == kind);
    let same = known.filter(|known| known.status == status);
    Condition {
        type_: kind.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        observed_generation: object.metadata.generation,
        last_transition_time: same.map_or_else(|| now.clone(), |known| known.last_transition_time.clone()),
    }
}

/// Whether nothing new would be said.
fn is_same(known: Option<&Condition>, new: Option<&Condition>) -> bool {
    match (known, new) {
        (Some(known), Some(new)) => {
            (&known.status, &known.reason, &known.message, known.observed_generation)
                == (&new.status, &new.reason, &new.message, new.observed_generation)
        }
        (None, None) => true,
        _ => false,
    }
}

/// Tells of objects that were left out.
fn tell_faults(picture: &Picture<'_>, memory: &mut Memory, plan: &mut Plan) {
    let told = std::mem::take(&mut memory.faults);
    for fault in &picture.faults {
        let kind = match fault.kind {
            "PodGang" => Kind::PodGang,
            "PodGroup" => Kind::PodGroup,
            "Pod" => Kind::Pod,
            _ => continue,
        };
        let about = Target { kind, namespace: fault.namespace.clone(), name: fault.name.clone() };
        let it = (about, fault.error.to_string());
        if !told.contains(&it) {
            let (about, message) = it.clone();
            plan.notes.push(Note { about, uid: String::new(), warning: true, reason: "Invalid", message });
        }
        memory.faults.insert(it);
    }
}

/// What was told of gangs in this decision or before.
pub(crate) type AllTold = HashMap<usize, Told>;

/// Whether nothing is said of a gang for now.
fn is_silent(who: &Who<'_>) -> bool {
    matches!(who.bar, Some(Bar::UnderWay | Bar::Deleted | Bar::Unfenced | Bar::Untouched))
}
