//! The status of a deployment: `Ready`, `state`, its components, and whether its topology constraints are enforced.

use super::components::{Doing, component};
use super::set::Standing;
use super::{Deployment, DynamoObserved};
use crate::observed::Failure;
use crate::picture::Around;
use crate::plan::{Kind, Note, Plan, Target, site};
use crate::status::conditions::{Said, Truth, find, first_few, kind, merged};
use crate::status::{faults_text, write};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use trellis_api::dynamo::Graph;
use trellis_api::field::FieldError;
use trellis_api::kinds::PodCliqueSet;
use trellis_api::kinds::dynamo::{DynamoGraphDeploymentStatus, DynamoState};

/// Whether everything of the deployment is ready.
pub const READY: &str = kind::READY;
/// Whether its topology constraints are enforced; only there if it has any.
pub const ENFORCED: &str = "TopologyConstraintsEnforced";
const OURS: [&str; 3] = [READY, ENFORCED, kind::ADMITTED];

/// The reason that 003 gives to constraints that hold.
const AVAILABLE: &str = "AllTopologyLevelsAvailable";
const UNAVAILABLE: &str = "TopologyLevelsUnavailable";
const NOT_FOUND: &str = "TopologyDefinitionNotFound";
const PENDING: &str = "TopologyConditionPending";
/// What the set says of a topology that is not there.
const SET_NOT_FOUND: &str = "ClusterTopologyNotFound";
const APPLIED: &str = "TopologyConstraintsApplied";
const FAILED: &str = "failed_to_reconcile_the_resources";

/// What the status is to say of a deployment that is served, and what people are told of the difference.
pub fn decide(
    seen: &DynamoObserved,
    (deployment, graph): (&Deployment, &Graph),
    standing: Standing,
    around: Around<'_>,
    failures: &[Failure],
    plan: &mut Plan,
) {
    let name = graph.set_name();
    let set = seen.sets.get(&name).map(|set| &**set).filter(|_| standing != Standing::Foreign);
    let standing =
        if standing == Standing::Right && !set.is_some_and(has_followed) { Standing::Changing } else { standing };
    let mut status = deployment.status.clone().unwrap_or_default();
    status.components.clear();
    let mut doings = Vec::new();
    // What there is of somebody else's set says nothing of the components.
    let counted = graph.components().iter().filter(|_| standing != Standing::Foreign);
    for one in counted {
        let (said, doing) = component(seen, &name, one);
        status.components.insert(one.name.clone(), said);
        doings.push((one.name.as_str(), doing));
    }
    let ready = Readiness { name: &name, set, standing, failures }.said(&doings);
    status.state = match (&ready.truth, ready.reason) {
        (Truth::True, _) => DynamoState::Successful,
        (_, FAILED) => DynamoState::Failed,
        _ => DynamoState::Pending,
    };
    let before = find(&status.conditions, ENFORCED).cloned();
    let mut said = vec![ready];
    said.extend(graph.is_constrained().then(|| enforcement(set, before.as_ref())).flatten());
    if around.judges {
        said.push(match set.and_then(refusal) {
            Some(why) => Said::new(kind::ADMITTED, Truth::False, "Invalid", why),
            None => Said::new(kind::ADMITTED, Truth::True, "Valid", "the deployment is served as it is"),
        });
    }
    status.conditions = merged(&status.conditions, &OURS, said, deployment.metadata.generation, &Time(around.now));
    // Passes that write something else are followed by another one, which says it.
    if plan.writes.is_empty() || !failures.is_empty() {
        note(deployment, before.as_ref(), find(&status.conditions, ENFORCED), plan);
    }
    store(deployment, status, plan);
}

/// Says that a deployment may not be as it is. What was said of its components stays, for nothing is done to them.
pub fn refuse(deployment: &Deployment, faults: &[FieldError], around: Around<'_>, plan: &mut Plan) {
    let mut status = deployment.status.clone().unwrap_or_default();
    status.state = DynamoState::Failed;
    let said = vec![
        Said::new(READY, Truth::False, FAILED, "the deployment is refused; its condition Admitted says why"),
        Said::new(kind::ADMITTED, Truth::False, "Invalid", faults_text(faults)),
    ];
    let ours = [READY, kind::ADMITTED];
    status.conditions = merged(&status.conditions, &ours, said, deployment.metadata.generation, &Time(around.now));
    store(deployment, status, plan);
}

fn store(deployment: &Deployment, mut status: DynamoGraphDeploymentStatus, plan: &mut Plan) {
    let metadata = &deployment.metadata;
    status.observed_generation = metadata.generation;
    // In one order, whichever could be said first.
    let turn = |condition: &Condition| OURS.iter().position(|kind| *kind == condition.type_).unwrap_or(OURS.len());
    status.conditions.sort_by_key(turn);
    let kind = Kind::DynamoGraphDeployment;
    write(site::DEPLOYMENT_STATUS, kind, metadata, deployment.status.as_ref(), &status, plan);
}

/// What readiness is read from, beside the components.
struct Readiness<'a> {
    name: &'a str,
    set: Option<&'a PodCliqueSet>,
    standing: Standing,
    failures: &'a [Failure],
}

impl Readiness<'_> {
    fn said(&self, doings: &[(&str, Doing)]) -> Said {
        if let Some(why) = self.failure() {
            return Said::new(READY, Truth::False, FAILED, why);
        }
        if self.standing == Standing::Missing {
            return Said::new(READY, Truth::False, Doing::Unknown.reason(), "the PodCliqueSet is not made yet");
        }
        let mut kinds: Vec<Doing> =
            doings.iter().map(|(_, doing)| *doing).filter(|doing| *doing != Doing::Ready).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let reason = match kinds.as_slice() {
            [] if self.standing == Standing::Right => {
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

    /// What cannot be done, if something cannot.
    fn failure(&self) -> Option<String> {
        if self.standing == Standing::Foreign {
            let name = self.name;
            return Some(format!("PodCliqueSet {name:?} is there already, and does not belong to this deployment"));
        }
        if !self.failures.is_empty() {
            let words = self.failures.iter().map(|failure| failure.description.as_str());
            return Some(words.collect::<Vec<_>>().join("; "));
        }
        refusal(self.set?).or_else(|| errors(self.set?))
    }
}

/// Whether the set has begun with all that it is asked for, and is through with it. Until then its parts may be all there and ready, and be
/// what was asked for before.
fn has_followed(set: &PodCliqueSet) -> bool {
    set.status.as_ref().is_some_and(|status| {
        status.observed_generation >= set.metadata.generation && status.updated_replicas >= set.spec.replicas
    })
}

/// Why the set may not be as it is, if it may not.
fn refusal(set: &PodCliqueSet) -> Option<String> {
    let conditions = &set.status.as_ref()?.conditions;
    let refused = find(conditions, kind::ADMITTED).filter(|admitted| admitted.status == "False")?;
    Some(format!("PodCliqueSet {:?} is refused: {}", set.metadata.name.as_deref().unwrap_or_default(), refused.message))
}

/// What could not be written for the set, such as pods that the server refuses.
fn errors(set: &PodCliqueSet) -> Option<String> {
    let errors = &set.status.as_ref()?.last_errors;
    let words: Vec<&str> = errors.iter().map(|error| error.description.as_str()).collect();
    let name = set.metadata.name.as_deref().unwrap_or_default();
    (!words.is_empty()).then(|| format!("PodCliqueSet {name:?}: {}", words.join("; ")))
}

/// What the set says of its levels, in the words of 003. While there is no set, what was said before stays.
fn enforcement(set: Option<&PodCliqueSet>, before: Option<&Condition>) -> Option<Said> {
    let Some(set) = set else { return before.and_then(again) };
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
fn note(deployment: &Deployment, before: Option<&Condition>, after: Option<&Condition>, plan: &mut Plan) {
    let Some(after) = after else { return };
    let said = |condition: &Condition| (condition.status.clone(), condition.reason.clone());
    if before.map(said) == Some(said(after)) {
        return;
    }
    let (warning, reason, message) = match after.status.as_str() {
        "True" => {
            (false, APPLIED, "topology constraints are applied: all levels that they name are available".to_owned())
        }
        "False" => {
            let reason = if after.reason == NOT_FOUND { NOT_FOUND } else { UNAVAILABLE };
            (true, reason, format!("topology constraints are not enforced: {}", after.message))
        }
        _ => return,
    };
    let about = Target::of(Kind::DynamoGraphDeployment, &deployment.metadata);
    plan.status_notes.push(Note { about, warning, reason, message });
}
