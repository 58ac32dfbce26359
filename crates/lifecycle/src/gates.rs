//! When pods are let go: as soon as all objects of their gang are there, and for a scaled gang, as soon as its base has its place.

use crate::backend;
use crate::gangs::Standing;
use crate::picture::{Gang, Picture};
use crate::plan::{Action, Kind, Plan, Target, Write, site};
use crate::pod::Pod;
use crate::status::{gang_status, is_initialized};
use crate::terminate::is_terminating;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use trellis_api::kinds::PodGang;
use trellis_api::names;

/// What is due for the gates.
pub fn decide(picture: &Picture<'_>, standing: &[Standing<'_>], plan: &mut Plan) {
    let backend = backend::of(picture.profile);
    for (gang, standing) in picture.gangs.iter().zip(standing) {
        let Some(live) = gang.live.filter(|_| standing.is_current && !is_terminating(gang)) else { continue };
        if !is_initialized(live) {
            let complete = standing.rosters.iter().all(crate::roster::Roster::is_complete);
            if complete {
                let action = Action::ApplyStatus(gang_status(picture, gang, true, None));
                let target = Target::of(Kind::PodGang, &live.metadata);
                plan.writes.push(Write { site: site::INITIALIZE_GANG, target, action });
            }
            continue;
        }
        if !is_let_go(picture, gang) {
            continue;
        }
        let named = references(live);
        for pod in standing.rosters.iter().flat_map(|roster| roster.slots.iter().filter_map(|slot| slot.pod)) {
            if pod.is_gated() && named.contains(pod.name()) && !backend.is_outdated(picture, pod) {
                plan.writes.push(lift(pod));
            }
        }
    }
}

/// Whether the pods of a gang may be placed: those of a scaled gang once the minimum of every clique of the base has a node.
fn is_let_go(picture: &Picture<'_>, gang: &Gang<'_>) -> bool {
    let Some(base) = gang.base else { return gang.live.is_some_and(|live| !is_scaled(live)) };
    let base = &picture.gangs[base];
    !is_terminating(base) && picture.members(base).iter().all(|clique| clique.counts.is_scheduled())
}

/// Whether the PodGang names a base.
fn is_scaled(live: &PodGang) -> bool {
    live.metadata.labels.as_ref().is_some_and(|labels| labels.contains_key(names::label::BASE_POD_GANG))
}

fn references(live: &PodGang) -> BTreeSet<&str> {
    live.spec.pod_groups.iter().flat_map(|group| group.pod_references.iter().map(|pod| pod.name.as_str())).collect()
}

/// Takes our gate off a pod; those of others stay.
fn lift(pod: &Pod) -> Write {
    let others: Vec<Value> = pod
        .spec
        .scheduling_gates
        .iter()
        .filter(|gate| gate.name != names::GANG_GATE)
        .map(|gate| json!({ "name": gate.name }))
        .collect();
    let gates = if others.is_empty() { Value::Null } else { Value::Array(others) };
    let patch = json!({
        "metadata": { "resourceVersion": pod.metadata.resource_version, "uid": pod.metadata.uid },
        "spec": { "schedulingGates": gates },
    });
    Write { site: site::LIFT_GATE, target: Target::of(Kind::Pod, &pod.metadata), action: Action::Patch(patch) }
}
