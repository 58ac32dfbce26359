//! The status of a deployment: `Ready`, `state`, its components, and whether its topology constraints are enforced.

use super::components::{Doing, component};
use super::{DynamoNote, DynamoObserved, SetDue};
use crate::status::conditions::{Said, Truth, find, first_few, kind, merged};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use trellis_api::kinds::dynamo::{DynamoGraphDeploymentStatus, DynamoState};

/// Whether everything of the deployment is ready.
pub const READY: &str = "Ready";
/// Whether its topology constraints are enforced; only there if it has any.
pub const ENFORCED: &str = "TopologyConstraintsEnforced";

/// The reason that 003 gives to constraints that hold.
const AVAILABLE: &str = "AllTopologyLevelsAvailable";
const UNAVAILABLE: &str = "TopologyLevelsUnavailable";
const NOT_FOUND: &str = "TopologyDefinitionNotFound";
const PENDING: &str = "TopologyConditionPending";
/// What the set says of a topology that is not there.
const SET_NOT_FOUND: &str = "ClusterTopologyNotFound";
const APPLIED: &str = "TopologyConstraintsApplied";

/// What the status is to say, if it differs from what it says, and what people are told of the difference.
pub fn decide(
    seen: &DynamoObserved<'_>,
    due: &SetDue,
    now: Timestamp,
) -> (Option<DynamoGraphDeploymentStatus>, Vec<DynamoNote>) {
    let object = &seen.graph.object;
    let old = object.status.clone().unwrap_or_default();
    let set = seen.graph.set_name();
    let mut status = old.clone();
    status.components.clear();
    let mut doings = Vec::new();
    for one in seen.graph.components() {
        let (said, doing) = component(seen, &set, one);
        status.components.insert(one.name.clone(), said);
        doings.push((one.name.as_str(), doing));
    }
    let ready = readiness(seen, due, &doings);
    status.state = match (&ready.truth, ready.reason) {
        (Truth::True, _) => DynamoState::Successful,
        (_, "failed_to_reconcile_the_resources") => DynamoState::Failed,
        _ => DynamoState::Pending,
    };
    let generation = object.metadata.generation;
    status.observed_generation = generation;
    let mut said = vec![ready];
    said.extend(enforcement(seen, find(&old.conditions, ENFORCED)));
    status.conditions = merged(&old.conditions, &[READY, ENFORCED], said, generation, &Time(now));
    let notes = notes(find(&old.conditions, ENFORCED), find(&status.conditions, ENFORCED));
    let is_same = object.status.as_ref() == Some(&status);
    (Some(status).filter(|_| !is_same), notes)
}

fn readiness(seen: &DynamoObserved<'_>, due: &SetDue, doings: &[(&str, Doing)]) -> Said {
    let failed = |message: String| Said::new(READY, Truth::False, "failed_to_reconcile_the_resources", message);
    if *due == SetDue::Foreign {
        let name = seen.graph.set_name();
        return failed(format!("PodCliqueSet {name:?} is there already, and does not belong to this deployment"));
    }
    if !seen.failures.is_empty() {
        return failed(seen.failures.join("; "));
    }
    if matches!(due, SetDue::Create(_)) {
        let message = "the PodCliqueSet is not made yet";
        return Said::new(READY, Truth::False, Doing::Unknown.reason(), message);
    }
    let mut kinds: Vec<Doing> = doings.iter().map(|(_, doing)| *doing).filter(|doing| *doing != Doing::Ready).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let reason = match kinds.as_slice() {
        [] if *due == SetDue::Nothing => {
            return Said::new(READY, Truth::True, Doing::Ready.reason(), "all components are ready");
        }
        [] => Doing::Changes.reason(),
        [one] => one.reason(),
        _ => "mixed_not_ready_reasons",
    };
    let of = |kind: Doing| {
        let names = doings.iter().filter(|(_, doing)| *doing == kind).map(|(name, _)| *name);
        format!("{}: {}", kind.words(), first_few(names))
    };
    let message = match kinds.is_empty() {
        true => "the PodCliqueSet is being changed".to_owned(),
        false => kinds.iter().map(|kind| of(*kind)).collect::<Vec<_>>().join("; "),
    };
    Said::new(READY, Truth::False, reason, message)
}

/// What the set says of its levels, in the words of 003. A set that says nothing yet leaves what was said of it before.
fn enforcement(seen: &DynamoObserved<'_>, before: Option<&Condition>) -> Option<Said> {
    if !seen.graph.is_constrained() {
        return None;
    }
    let Some(set) = seen.set else { return before.and_then(again) };
    let conditions = set.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let Some(levels) = find(conditions, kind::TOPOLOGY_LEVELS_UNAVAILABLE) else {
        let message = "waiting for word of the topology's levels";
        return Some(Said::new(ENFORCED, Truth::Unknown, PENDING, message));
    };
    let (truth, reason, message) = match (levels.status.as_str(), levels.reason.as_str()) {
        (_, SET_NOT_FOUND) => (Truth::False, NOT_FOUND, levels.message.clone()),
        ("False", _) => {
            (Truth::True, AVAILABLE, "all required topology levels are available in the cluster topology".to_owned())
        }
        // Also where topology-aware scheduling is off: nobody keeps the constraints then.
        _ => (Truth::False, UNAVAILABLE, levels.message.clone()),
    };
    Some(Said::new(ENFORCED, truth, reason, message))
}

/// What was said before, once more.
fn again(before: &Condition) -> Option<Said> {
    let truth = match before.status.as_str() {
        "True" => Truth::True,
        "False" => Truth::False,
        _ => Truth::Unknown,
    };
    let reason = [AVAILABLE, UNAVAILABLE, NOT_FOUND, PENDING].into_iter().find(|reason| *reason == before.reason)?;
    Some(Said::new(ENFORCED, truth, reason, before.message.clone()))
}

/// People are told when constraints come into force, and when they no longer are.
fn notes(before: Option<&Condition>, after: Option<&Condition>) -> Vec<DynamoNote> {
    let Some(after) = after else { return Vec::new() };
    let said = |condition: &Condition| (condition.status.clone(), condition.reason.clone());
    if before.map(said) == Some(said(after)) {
        return Vec::new();
    }
    match after.status.as_str() {
        "True" => vec![DynamoNote {
            warning: false,
            reason: APPLIED.to_owned(),
            message: "topology constraints are applied: all levels that they name are available".to_owned(),
        }],
        "False" => vec![DynamoNote {
            warning: true,
            reason: after.reason.clone(),
            message: format!("topology constraints are not enforced: {}", after.message),
        }],
        _ => Vec::new(),
    }
}
