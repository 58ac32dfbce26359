//! What is due for one workflow. Its status is written before anything that follows from it: a pod that is begun anew is counted once,
//! whoever goes on, and a group that has ended has ended before its pods are taken away.

use super::{condition, short};
use crate::children;
use crate::diff;
use crate::observed::{ByName, Failure};
use crate::picture::is_owned_by;
use crate::plan::{Action, Confirm, Kind, Note, Plan, Target, Write, site};
use crate::pod::Pod;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use trellis_api::admission::{Pools, pool_of_workflow, validate_workflow};
use trellis_api::kinds::kai::KaiPodGroup;
use trellis_api::kinds::osmo::{State, Workflow, WorkflowStatus};
use trellis_api::names::{annotation, osmo};
use trellis_lower::osmo::{self as lowered, GroupObjects, Seen, SeenPod, Waiting};

/// Whether the workflow was found to be sound, where no webhook has judged it.
const ADMITTED: &str = "Admitted";
/// Whether it has ended well.
const COMPLETE: &str = "Complete";
/// The conditions that we write; others' are left alone.
const CONDITIONS: [&str; 2] = [ADMITTED, COMPLETE];

/// A workflow as it was seen, with everything that carries its name as a label in its namespace.
#[derive(Clone, Debug, Default)]
pub struct WorkflowObserved {
    /// The workflow; none if it is gone.
    pub workflow: Option<Arc<Workflow>>,
    /// Its pods.
    pub pods: ByName<Pod>,
    /// Its gangs.
    pub pod_groups: ByName<KaiPodGroup>,
    /// Services by which its tasks find each other.
    pub services: ByName<Service>,
    /// Files of its tasks.
    pub files: ByName<ConfigMap>,
}

/// What is due for one workflow. Where it `judges`, nobody has looked at the workflow before it was stored. `failures` are the writes of
/// the last pass that could not be carried out.
///
/// What a workflow that is gone has left behind goes by its owner references.
pub fn decide(observed: &WorkflowObserved, pools: &Pools, judges: bool, failures: &[Failure], now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    let Some(workflow) = observed.workflow.as_deref().filter(|it| it.metadata.deletion_timestamp.is_none()) else {
        return plan;
    };
    let old = workflow.status.as_ref();
    let has_begun = old.iter().flat_map(|status| &status.groups).any(|group| group.queued_at.is_some());
    // Nothing more comes of one that has ended or is to end, so nothing of it is judged any more.
    let is_over = workflow.spec.cancel || old.is_some_and(|status| status.state.is_final());
    let errors = match judges && !has_begun && !is_over {
        true => validate_workflow(workflow, None, pools).errors,
        false => Vec::new(),
    };
    if !errors.is_empty() {
        let all: Vec<String> = errors.iter().map(ToString::to_string).collect();
        let message = short(&all.join("; "));
        let status = WorkflowStatus { message: Some(message.clone()), ..WorkflowStatus::default() };
        let refused = [(ADMITTED, "False", "Refused", message)];
        write_status(workflow, status, &refused, now, &mut plan);
        return plan;
    }
    let trouble = failures.first().map(|failure| short(&failure.description)).or_else(|| foreign(workflow, observed));
    let due = lowered::decide(&Seen { trouble, ..seen(workflow, observed, pools) }, now);
    let judged = old.and_then(|status| status.conditions.iter().find(|it| it.type_ == ADMITTED));
    let admitted = judges.then(|| match judged.filter(|_| is_over && !has_begun) {
        Some(judged) => (ADMITTED, judged.status.as_str(), judged.reason.as_str(), judged.message.clone()),
        None => (ADMITTED, "True", "Admitted", String::new()),
    });
    let complete = match due.status.state {
        State::Completed => (COMPLETE, "True", "Completed", String::new()),
        state if state.is_failure() => (COMPLETE, "False", "Failed", due.status.message.clone().unwrap_or_default()),
        _ => (COMPLETE, "False", "Unfinished", String::new()),
    };
    let said: Vec<_> = admitted.into_iter().chain([complete]).collect();
    if let Some(time) = due.look_again {
        plan.wake(time);
    }
    make_certain(workflow, observed, &due.status, pools, &mut plan);
    if !write_status(workflow, due.status, &said, now, &mut plan) {
        objects(workflow, observed, due.create, &mut plan);
        give_up(workflow, observed, &due.delete, &due.release, &mut plan);
    }
    plan
}

/// What cannot be taken back is looked at once more: a pod that is lost is counted, one that did not start in time has failed, and so has a
/// group that its pool has no key for.
fn make_certain(
    workflow: &Workflow,
    observed: &WorkflowObserved,
    status: &WorkflowStatus,
    pools: &Pools,
    plan: &mut Plan,
) {
    let name = workflow.metadata.name.as_deref().unwrap_or_default();
    let before = |group: &str| workflow.status.iter().flat_map(|it| &it.groups).find(|it| it.name == group);
    for group in &status.groups {
        let old = before(&group.name);
        for task in &group.tasks {
            let before = old.and_then(|old| old.tasks.iter().find(|it| it.name == task.name));
            let given_up = before.and_then(|before| before.given_up.as_ref());
            let pod = osmo::task(name, &task.name);
            let is_false_start = task.state.is_false_start() && before.is_none_or(|before| before.state != task.state);
            if let Some(pod) = observed.pods.get(&pod).filter(|_| is_false_start) {
                let version = pod.metadata.resource_version.clone().unwrap_or_default();
                plan.certain.push(Confirm::Version(Target::of(Kind::Pod, &pod.metadata), version));
            }
            let is_there = |uid: &String| observed.pods.get(&pod).is_some_and(|it| it.uid() == uid.as_str());
            if let Some(uid) = task.given_up.as_ref().filter(|uid| given_up != Some(*uid) && !is_there(uid)) {
                let namespace = workflow.metadata.namespace.clone().unwrap_or_default();
                plan.certain.push(Confirm::Gone(Target { kind: Kind::Pod, namespace, name: pod }, uid.clone()));
            }
        }
        let has_failed = group.state == State::FailedSubmission && old.is_none_or(|old| old.state != group.state);
        if let Some(pool) = status.pool.as_ref().and_then(|pool| pools.get(pool)).filter(|_| has_failed) {
            let version = pool.metadata.resource_version.clone().unwrap_or_default();
            let confirm = Confirm::Version(Target::of(Kind::Pool, &pool.metadata), version);
            if !plan.certain.contains(&confirm) {
                plan.certain.push(confirm);
            }
        }
    }
}

/// What the pure part looks at.
fn seen(workflow: &Workflow, observed: &WorkflowObserved, pools: &Pools) -> Seen {
    let uid = workflow.metadata.uid.as_deref();
    let is_own = |metadata: &ObjectMeta| is_owned_by(metadata, uid);
    let chosen = workflow.status.as_ref().and_then(|status| status.pool.as_deref());
    let pool = match chosen {
        Some(name) => pools.get(name),
        None => pool_of_workflow(&workflow.spec, pools),
    };
    let groups = || observed.pod_groups.iter().filter(|(_, group)| is_own(&group.metadata));
    Seen {
        workflow: workflow.clone(),
        pool: pool.cloned(),
        pods: observed
            .pods
            .iter()
            .filter(|(_, pod)| is_own(&pod.metadata))
            .map(|(name, pod)| (name.clone(), seen_pod(pod)))
            .collect(),
        pod_groups: groups().filter(|(_, group)| is_live(&group.metadata)).map(|(name, _)| name.clone()).collect(),
        services: names(observed.services.iter().map(|(name, it)| (name, &it.metadata)), &is_own),
        files: names(observed.files.iter().map(|(name, it)| (name, &it.metadata)), &is_own),
        explanations: groups().filter_map(|(name, group)| Some((name.clone(), explanation(group)?))).collect(),
        levels: groups()
            .filter_map(|(name, group)| {
                let written = group.metadata.annotations.as_ref()?.get(annotation::POOL_LEVELS)?;
                Some((name.clone(), lowered::read_levels(written)))
            })
            .collect(),
        trouble: None,
    }
}

fn is_live(metadata: &ObjectMeta) -> bool {
    metadata.deletion_timestamp.is_none()
}

fn names<'a>(
    objects: impl Iterator<Item = (&'a String, &'a ObjectMeta)>,
    is_own: &dyn Fn(&ObjectMeta) -> bool,
) -> std::collections::BTreeSet<String> {
    objects.filter(|(_, metadata)| is_own(metadata)).map(|(name, _)| name.clone()).collect()
}

fn seen_pod(pod: &Pod) -> SeenPod {
    let status = &pod.status;
    let task = status.container_statuses.iter().find(|it| it.name.as_deref() == Some(lowered::CONTAINER));
    let ended = task.and_then(|container| container.state.terminated.as_ref());
    let waiting = task.and_then(|container| container.state.waiting.as_ref());
    let reason = status.reason.as_deref().unwrap_or_default();
    SeenPod {
        uid: pod.uid().to_owned(),
        node: pod.spec.node_name.clone().filter(|node| !node.is_empty()),
        phase: status.phase.clone().unwrap_or_else(|| "Pending".to_owned()),
        is_terminating: pod.is_terminating(),
        is_disrupted: pod.condition("DisruptionTarget").is_some_and(|it| it.status == "True")
            || ["Evicted", "NodeLost", "Preempted", "Shutdown"].contains(&reason),
        exit_code: ended.map(|ended| ended.exit_code),
        message: ended.and_then(|ended| ended.message.clone()).or_else(|| status.message.clone()),
        waiting: waiting.and_then(|it| Waiting::of(it.reason.as_deref(), it.message.as_deref())),
    }
}

/// Why a gang waits: what our scheduler found out, or what KAI says.
fn explanation(group: &KaiPodGroup) -> Option<String> {
    let written = group.metadata.annotations.as_ref().and_then(|it| it.get(annotation::EXPLANATION));
    let ours = written.and_then(|text| serde_json::from_str::<Value>(text).ok());
    let text = ours.as_ref().and_then(|it| it["text"].as_str()).filter(|text| !text.is_empty());
    text.map(short).or_else(|| {
        let status = serde_json::to_value(group.status.as_ref()?).ok()?;
        let conditions = status["schedulingConditions"].as_array()?;
        let reasons = conditions.iter().flat_map(|it| it["reasons"].as_array().into_iter().flatten());
        let messages: Vec<&str> = reasons.filter_map(|reason| reason["message"].as_str()).collect();
        (!messages.is_empty()).then(|| short(&messages.join("; ")))
    })
}

/// What conditions say: type, status, reason, message.
type Said<'a> = (&'a str, &'a str, &'a str, String);

/// Writes the status, if it differs; whether it does.
fn write_status(
    workflow: &Workflow,
    mut status: WorkflowStatus,
    said: &[Said<'_>],
    now: Timestamp,
    plan: &mut Plan,
) -> bool {
    let metadata = &workflow.metadata;
    let old = workflow.status.clone().unwrap_or_default();
    status.observed_generation = metadata.generation;
    status.message = status.message.as_deref().map(short);
    let one = |(type_, status, reason, message): &Said<'_>| {
        condition(&old.conditions, type_, (status, reason, short(message)), metadata.generation, now)
    };
    status.conditions = said.iter().map(one).collect();
    status.conditions.extend(old.conditions.iter().filter(|it| !CONDITIONS.contains(&it.type_.as_str())).cloned());
    let live = workflow.status.as_ref().map_or_else(|| json!({}), |status| json!(status));
    let Some(changes) = diff::merge(&live, &json!(status)) else { return false };
    note(workflow, &old, &status, plan);
    let body = Map::from_iter([("status".to_owned(), changes)]);
    let patch = diff::patch(metadata, metadata, body).map(Action::PatchStatus);
    let target = Target::of(Kind::Workflow, metadata);
    plan.writes.extend(patch.map(|action| Write { site: site::WORKFLOW_STATUS, target, action }));
    true
}

/// Tells people what has happened since the status was written.
fn note(workflow: &Workflow, old: &WorkflowStatus, new: &WorkflowStatus, plan: &mut Plan) {
    let about = Target::of(Kind::Workflow, &workflow.metadata);
    let mut say = |warning: bool, reason: &'static str, message: String| {
        plan.notes.push(Note { about: about.clone(), warning, reason, message });
    };
    for group in &new.groups {
        let before = old.groups.iter().find(|before| before.name == group.name);
        let tasks = before.map(|before| before.tasks.as_slice()).unwrap_or_default();
        for task in &group.tasks {
            let retries = tasks.iter().find(|before| before.name == task.name).map_or(0, |before| before.retries);
            if task.retries > retries {
                say(true, "Rescheduled", format!("task {:?} is begun anew", task.name));
            }
        }
        if before.map(|before| before.state) != Some(group.state) && group.state.is_final() {
            let why = group.message.as_deref().map(|message| format!(": {message}")).unwrap_or_default();
            match group.state {
                State::Completed => say(false, "GroupCompleted", format!("group {:?} has completed", group.name)),
                _ => say(true, "GroupFailed", format!("group {:?} has failed{why}", group.name)),
            }
        }
    }
    if old.state != new.state && new.state.is_final() {
        let message = new.message.clone().unwrap_or_else(|| "all groups have completed".to_owned());
        match new.state {
            State::Completed => say(false, "Completed", message),
            _ => say(true, "Failed", message),
        }
    }
}

/// Makes what is missing: what stands around pods before the pods, so that no scheduler takes one of them for a pod on its own.
fn objects(workflow: &Workflow, observed: &WorkflowObserved, create: Vec<GroupObjects>, plan: &mut Plan) {
    let uid = workflow.metadata.uid.as_deref();
    for group in create {
        let mut writes = Vec::new();
        let around = group.pod_group.iter().map(|it| (Kind::KaiPodGroup, &it.metadata, json!(it)));
        let around = around.chain(group.service.iter().map(|it| (Kind::Service, &it.metadata, json!(it))));
        let around = around.chain(group.files.iter().map(|it| (Kind::ConfigMap, &it.metadata, json!(it))));
        for (kind, metadata, object) in around {
            // One of an earlier workflow of this name goes first; its deletion is seen.
            if !is_in_the_way(observed, kind, metadata, uid) {
                writes.extend(children::create(site::WORKFLOW_OBJECT, kind, metadata, &object));
            }
        }
        let is_whole = group.pod_group.is_none() && group.service.is_none() && group.files.is_empty();
        for pod in group.pods.iter().filter(|_| is_whole) {
            if !is_in_the_way(observed, Kind::Pod, &pod.metadata, uid) {
                writes.extend(children::create(site::WORKFLOW_POD, Kind::Pod, &pod.metadata, pod));
            }
        }
        plan.writes.append(&mut writes);
    }
}

/// Whether an object of this name is there that is not the workflow's, or no longer.
fn is_in_the_way(observed: &WorkflowObserved, kind: Kind, wanted: &ObjectMeta, uid: Option<&str>) -> bool {
    let name = wanted.name.as_deref().unwrap_or_default();
    let there = match kind {
        Kind::Pod => observed.pods.get(name).map(|it| &it.metadata),
        Kind::Service => observed.services.get(name).map(|it| &it.metadata),
        Kind::ConfigMap => observed.files.get(name).map(|it| &it.metadata),
        _ => observed.pod_groups.get(name).map(|it| &it.metadata),
    };
    there.is_some_and(|there| !is_owned_by(there, uid) || !is_live(there))
}

/// An object that carries the workflow's name and is another's. Nothing is made in its place as long as it is there, so it is told.
fn foreign(workflow: &Workflow, observed: &WorkflowObserved) -> Option<String> {
    let gangs = observed.pod_groups.values().map(|it| (Kind::KaiPodGroup, &it.metadata));
    let services = observed.services.values().map(|it| (Kind::Service, &it.metadata));
    let files = observed.files.values().map(|it| (Kind::ConfigMap, &it.metadata));
    let pods = observed.pods.values().map(|it| (Kind::Pod, &it.metadata));
    let mut all = gangs.chain(services).chain(files).chain(pods);
    let own = workflow.metadata.name.as_deref().unwrap_or_default();
    let is_wanted = |it: &ObjectMeta| {
        let name = it.name.as_deref().unwrap_or_default();
        let mut groups = lowered::groups(workflow).into_iter();
        groups.any(|group| {
            let mut tasks = group.tasks.iter();
            osmo::group(own, &group.name) == name || tasks.any(|task| osmo::task(own, &task.name) == name)
        })
    };
    let (kind, other) = all.find(|(_, it)| !is_owned_by(it, workflow.metadata.uid.as_deref()) && is_wanted(it))?;
    let (_, _, kind, _) = kind.names();
    let name = other.name.as_deref().unwrap_or_default();
    let owner = other.owner_references.iter().flatten().next();
    Some(match owner {
        Some(owner) if owner.kind == "Workflow" && owner.name == own => {
            format!("{kind} {name} is there still, and belongs to an earlier workflow of this name")
        }
        Some(owner) => format!("{kind} {name} is there, and belongs to {} {:?}", owner.kind, owner.name),
        None => format!("{kind} {name} is there, and belongs to nobody"),
    })
}

/// Takes away pods that are given up, and gangs that have ended: a gang that is there has its place held.
fn give_up(
    workflow: &Workflow,
    observed: &WorkflowObserved,
    pods: &[(String, String)],
    groups: &[String],
    plan: &mut Plan,
) {
    let gone = groups.iter().filter_map(|name| observed.pod_groups.get(name));
    for group in gone.filter(|group| is_owned_by(&group.metadata, workflow.metadata.uid.as_deref())) {
        plan.delete(site::WORKFLOW_END, Kind::KaiPodGroup, &group.metadata, false);
    }
    for (name, uid) in pods {
        if let Some(pod) = observed.pods.get(name).filter(|pod| pod.uid() == uid.as_str()) {
            plan.delete(site::WORKFLOW_POD_GIVEN_UP, Kind::Pod, &pod.metadata, false);
        }
    }
    if plan.writes.iter().any(|write| matches!(write.action, Action::Delete { .. })) {
        plan.confirm(Kind::Workflow, &workflow.metadata);
    }
}
