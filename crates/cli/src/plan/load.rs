//! From files to a placement problem: admission, lowering, translation.

use super::gather::Gathered;
use super::items::{refusal, typed};
use super::live;
use super::progress::{Phase, Progress};
use super::promised::Promises;
use super::workflows;
use crate::args::PlanArgs;
use crate::objects::{Object, Role};
use crate::{render, validate, world};
use anyhow::Result;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use std::rc::Rc;
use trellis_api::admission::ClusterView;
use trellis_api::admission::object::Kind;
use trellis_api::field::{FieldError, Path};
use trellis_api::kinds::{PodClique, PodCliqueScalingGroup, PodCliqueSet};
use trellis_api::names::GANG_GATE;
use trellis_api::settings::Settings;
use trellis_lower::problem::{Observed, Problem, problem, unsound};
use trellis_lower::{LiveReplicas, Lowered, Surroundings, lower};

/// So often the problem is tried without what was found to be at fault in the cluster.
const TRIES: usize = 8;

/// The problem that the input poses, on a cluster that runs if there is one. Nothing if some object is refused; then it has been said why.
pub fn load(args: &PlanArgs, live: Option<Vec<Object>>, progress: &Progress) -> Result<Option<Problem>> {
    let config = match &args.config {
        Some(path) => Some(validate::read_config(path)?),
        None => None,
    };
    let settings = world::settings(config.as_ref());
    let mut objects = validate::read_objects(&args.files, &args.osmo.reading())?;
    let is_live = live.is_some();
    let live_objects = live::beside(&objects, live.unwrap_or_default());
    let all: Vec<&Object> = objects.iter().chain(&live_objects).collect();
    let mut view = world::view(&all, &settings);
    let live = world::children(&all);
    let mut fit = match &config {
        Some(config) => render::tell(config, &validate::judge(config, None, &view, &settings)?),
        None => true,
    };
    // What the cluster has, it has admitted.
    fit = admit(&objects, &view, &settings)? && fit;
    objects.extend(live_objects);

    let mut gathered = Gathered::default();
    let (mut sets, mut workflows) = (Vec::new(), Vec::new());
    for object in objects {
        if matches!(object.role, Role::Judged(Kind::PodCliqueSet | Kind::DynamoGraphDeployment)) {
            sets.push(object);
        } else if object.role == Role::Judged(Kind::Workflow) {
            workflows.push(object);
        } else {
            let is_live = object.is_live();
            fit = (gathered.add(object) || is_live) && fit;
        }
    }
    gathered.apply_bind_requests();
    if !fit {
        return Ok(None);
    }
    for object in by_name(sets) {
        let set = match object.role {
            Role::Judged(Kind::DynamoGraphDeployment) => world::set_of_deployment(&object, &settings),
            _ => world::pod_clique_set(&object, None, &settings).decoded.object,
        };
        let Some(set) = set else { continue };
        fit = add_set(&set, &object, &live, &view, &settings, &mut gathered)? && fit;
    }
    workflows::add(by_name(workflows), &view.pools, &mut gathered);
    if !fit {
        return Ok(None);
    }
    progress.set(Phase::Translating(gathered.len()));
    let promises = if is_live { Promises::read(&gathered) } else { Promises::default() };
    for _ in 0..TRIES {
        let assumed = promises.assumed(&gathered);
        let observed = Observed { is_live, assumed, ..gathered.observed(&view.topologies) };
        let faults = match problem(&observed) {
            Ok(mut problem) => {
                promises.hold(&mut problem, &gathered, Timestamp::now());
                return Ok(Some(problem));
            }
            Err(faults) => faults,
        };
        let unsound = unsound(&observed, &faults);
        gathered.tell(&faults);
        if !faults.iter().all(|fault| gathered.is_live(fault)) {
            return Ok(None);
        }
        gathered.leave_out(&unsound);
        view.topologies.retain(|name, _| !faults.iter().any(|it| it.kind == "ClusterTopology" && it.name == *name));
    }
    Ok(None)
}

/// Judges what is ours to judge. What the operator makes of sets, other than gangs, is taken as it is.
fn admit(objects: &[Object], view: &ClusterView, settings: &Settings) -> Result<bool> {
    let first = validate::by_identity(objects);
    let mut fit = true;
    for object in objects {
        match object.role {
            Role::Judged(
                Kind::PodCliqueSet
                | Kind::DynamoGraphDeployment
                | Kind::ClusterTopology
                | Kind::PodGang
                | Kind::Pool
                | Kind::Workflow,
            )
            | Role::Unknown => {}
            Role::Judged(_) | Role::Pod | Role::Foreign => continue,
        }
        let other =
            object.identity().and_then(|identity| first.get(&identity)).filter(|first| !std::ptr::eq(**first, object));
        let mut verdict = match other {
            Some(other) if other.document.value == object.document.value => continue,
            Some(other) => validate::twice(object, other),
            None => validate::judge(object, None, view, settings)?,
        };
        let is_made = matches!(object.role, Role::Judged(Kind::PodCliqueSet | Kind::DynamoGraphDeployment));
        if is_made && object.identity().is_none() {
            let message = "a generated name is not known before the set is created";
            verdict.errors.push(FieldError::required(&Path::new("metadata.name"), message));
        }
        fit = render::tell(object, &verdict) && fit;
    }
    Ok(fit)
}

/// The sets in the order of their names, each once: files decide nothing.
fn by_name(mut sets: Vec<Object>) -> Vec<Object> {
    sets.sort_by(|a, b| (&a.namespace, &a.name, a.role).cmp(&(&b.namespace, &b.name, b.role)));
    sets.dedup_by(|a, b| (&a.namespace, &a.name, a.role) == (&b.namespace, &b.name, b.role));
    sets
}

/// Adds the gangs and pods that follow from a set, as far as the input does not have them.
fn add_set(
    set: &PodCliqueSet,
    object: &Object,
    live: &(Vec<PodClique>, Vec<PodCliqueScalingGroup>),
    view: &ClusterView,
    settings: &Settings,
    gathered: &mut Gathered,
) -> Result<bool> {
    let replicas = LiveReplicas::of(set, &live.0, &live.1);
    let around = Surroundings { topologies: &view.topologies, live: &replicas, settings };
    // For KAI's sets the PodGang is the gang, and the PodGroup says the same once more.
    let Lowered { gangs, pods, drift, .. } = lower(set, &around);
    render::tell_drift(set, &drift);
    let (namespace, origin) = (object.namespace.as_str(), Rc::new(object.clone()));
    let mut listed = Vec::new();
    for gang in gangs {
        let name = gang.metadata.name.clone().unwrap_or_default();
        gathered.pod_gangs.add_rendered(namespace, &name, gang, &origin);
        // A live gang names its own members; other pods are not made for it.
        let members = gathered.pod_gangs.find(namespace, &name).into_iter().flat_map(|gang| &gang.spec.pod_groups);
        let references = members.flat_map(|group| &group.pod_references);
        listed.extend(references.map(|reference| reference.name.clone()));
    }
    listed.sort_unstable();
    let mut fit = true;
    for pod in pods {
        let is_wanted = listed.binary_search_by(|name| name.as_str().cmp(pod.name())).is_ok();
        if !is_wanted || gathered.pods.find(namespace, pod.name()).is_some() {
            continue;
        }
        match typed::<Pod>(&serde_json::to_value(&pod)?) {
            Ok(typed) => gathered.pods.add_rendered(namespace, pod.name(), without_gate(typed), &origin),
            Err(error) => {
                render::tell(object, &refusal(error));
                fit = false;
                break;
            }
        }
    }
    Ok(fit)
}

/// A pod as it is once the operator has let it go: on a cluster that runs, one that is still held is not planned.
fn without_gate(mut pod: Pod) -> Pod {
    if let Some(gates) = pod.spec.as_mut().and_then(|spec| spec.scheduling_gates.as_mut()) {
        gates.retain(|gate| gate.name != GANG_GATE);
    }
    pod
}
