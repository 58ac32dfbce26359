//! The part of a PodGang's status that is ours.
//!
//! `Initialized`, `Ready` and the phase are ours, `Scheduled` where another scheduler than ours serves the gang, and a `DisruptionTarget`
//! that tells of our taking the gang down, or of our having done so. One for any other reason, and everything else, is the scheduler's.

use super::Pass;
use super::conditions::{Said, Truth, find, first_few, kind};
use super::of_version;
use crate::picture::{Clique, Gang, Picture};
use crate::plan::{Action, Kind, Plan, Target, Write, site};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde_json::{Value, json};
use trellis_api::kinds::{GangPhase, PodGang};
use trellis_api::names::profile;

/// Reasons of a `DisruptionTarget` that is ours: the gang is being taken down, and it was.
const OUR_DISRUPTIONS: [&str; 2] = ["GangTermination", "GangRecreated"];

fn conditions(live: &PodGang) -> &[Condition] {
    live.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default()
}

/// Whether all objects of a gang were seen to be there.
pub(crate) fn is_initialized(live: &PodGang) -> bool {
    find(conditions(live), kind::INITIALIZED).is_some_and(|condition| condition.status == Truth::True.as_str())
}

/// The stored condition that tells of our taking the gang down.
fn disruption(live: &PodGang) -> Option<&Condition> {
    find(conditions(live), kind::DISRUPTION_TARGET).filter(|stored| OUR_DISRUPTIONS.contains(&stored.reason.as_str()))
}

pub fn decide(pass: &Pass<'_, '_>, gang: &Gang<'_>, plan: &mut Plan) {
    let Some(live) = gang.live.filter(|live| live.metadata.deletion_timestamp.is_none()) else { return };
    let wanted = said(pass.picture, gang, is_initialized(live), None);
    let same = wanted.iter().all(|wanted| find(conditions(live), &wanted.type_) == Some(wanted));
    if same && live.status.as_ref().and_then(|status| status.phase) == Some(phase(pass.picture, gang, &wanted)) {
        return;
    }
    let action = Action::ApplyStatus(gang_status(pass.picture, gang, is_initialized(live), None));
    plan.statuses.push(Write { site: site::GANG_STATUS, target: Target::of(Kind::PodGang, &live.metadata), action });
}

/// All that we say of a gang, to be applied: whether its objects are there, whether it is being taken down, and what follows from its
/// pods. Without a `disruption` the stored one stays, if it is ours. Every apply has to come from here, because an apply takes away what
/// it leaves out.
pub(crate) fn gang_status(
    picture: &Picture<'_>,
    gang: &Gang<'_>,
    initialized: bool,
    disruption: Option<Condition>,
) -> Value {
    let (_, _, kind, _) = Kind::PodGang.names();
    let mut metadata = gang.live.map_or_else(|| json!({}), |live| of_version(&live.metadata));
    metadata["name"] = gang.name.as_str().into();
    metadata["namespace"] = picture.namespace().into();
    let conditions = said(picture, gang, initialized, disruption);
    json!({
        "apiVersion": Kind::PodGang.api_version(),
        "kind": kind,
        "metadata": metadata,
        "status": { "phase": phase(picture, gang, &conditions), "conditions": conditions },
    })
}

/// The conditions that are ours.
fn said(picture: &Picture<'_>, gang: &Gang<'_>, initialized: bool, disruption: Option<Condition>) -> Vec<Condition> {
    let stored = gang.live.map(|live| conditions(live)).unwrap_or_default();
    let generation = gang.live.and_then(|live| live.metadata.generation);
    let now = Time(picture.around.now);
    let members = picture.members(gang);
    let mut said = vec![initialization(initialized), readiness(members)];
    if picture.profile != profile::TRELLIS {
        said.push(scheduling(members));
    }
    let said = said.into_iter().map(|said| {
        let before = find(stored, said.kind);
        said.after(before, generation, &now)
    });
    let disruption = disruption.or_else(|| gang.live.and_then(|live| self::disruption(live)).cloned());
    said.chain(disruption.map(|ours| Condition { observed_generation: generation, ..ours })).collect()
}

fn initialization(initialized: bool) -> Said {
    match initialized {
        true => Said::new(kind::INITIALIZED, Truth::True, "PodGangPodsCreated", "PodGang is fully initialized"),
        false => {
            let message = "Not all constituent pods have been created yet";
            Said::new(kind::INITIALIZED, Truth::False, "PodGangPodsCreationPending", message)
        }
    }
}

fn readiness(members: &[Clique<'_>]) -> Said {
    let lacking = lacking(members, |clique| clique.counts.is_available());
    match lacking.is_empty() {
        true => Said::new(kind::READY, Truth::True, "MinimumReady", "the minimum of every PodClique is ready"),
        false => {
            let message = format!("too few ready pods in {lacking}");
            Said::new(kind::READY, Truth::False, "MinimumNotReady", message)
        }
    }
}

fn scheduling(members: &[Clique<'_>]) -> Said {
    let lacking = lacking(members, |clique| clique.counts.is_scheduled());
    match lacking.is_empty() {
        true => Said::new(kind::SCHEDULED, Truth::True, "MinimumScheduled", "the minimum of every PodClique has nodes"),
        false => {
            let message = format!("too few pods with nodes in {lacking}");
            Said::new(kind::SCHEDULED, Truth::False, "MinimumNotScheduled", message)
        }
    }
}

fn lacking(members: &[Clique<'_>], pass: impl Fn(&Clique<'_>) -> bool) -> String {
    first_few(members.iter().filter(|clique| !pass(clique)).map(|clique| clique.instance.name.as_str()))
}

/// Where a gang stands. One that we take down has failed: the minimum could not do its work for too long.
fn phase(picture: &Picture<'_>, gang: &Gang<'_>, conditions: &[Condition]) -> GangPhase {
    let members = picture.members(gang);
    let disruption = find(conditions, kind::DISRUPTION_TARGET);
    let terminating = disruption.is_some_and(|disruption| disruption.status == Truth::True.as_str());
    let finished = |clique: &Clique<'_>| {
        clique.counts.members >= clique.counts.replicas && clique.counts.succeeded == clique.counts.members
    };
    if terminating {
        GangPhase::Failed
    } else if members.iter().all(finished) && members.iter().any(|clique| clique.counts.succeeded > 0) {
        GangPhase::Succeeded
    } else if !members.iter().all(|clique| clique.counts.is_scheduled()) {
        GangPhase::Pending
    } else if members.iter().all(|clique| clique.counts.is_available()) {
        GangPhase::Running
    } else {
        GangPhase::Starting
    }
}
