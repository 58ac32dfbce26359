//! Pods: made once their gang's objects are there, deleted when they failed or when there are too many.

use crate::backend::{self, Backend};
use crate::gangs::Standing;
use crate::picture::{Clique, Picture};
use crate::plan::{Action, Kind, Plan, Target, Write, site};
use crate::pod::Pod;
use crate::roster::Roster;
use jiff::{SignedDuration, Timestamp};
use trellis_lower::PodMaker;

/// What is due for the pods.
pub fn decide(picture: &Picture<'_>, standing: &[Standing<'_>], plan: &mut Plan) {
    let backend = backend::of(picture.profile);
    for (gang, standing) in picture.gangs.iter().zip(standing) {
        for (clique, roster) in picture.members(gang).iter().zip(&standing.rosters) {
            failed(clique, picture.around.now, plan);
            excess(clique, roster, plan);
            if standing.is_current {
                outdated(picture, clique, backend, plan);
                missing(picture, clique, roster, backend, plan);
            }
        }
    }
}

fn missing(picture: &Picture<'_>, clique: &Clique<'_>, roster: &Roster<'_>, backend: &dyn Backend, plan: &mut Plan) {
    let Some(live) = clique.live.filter(|_| !roster.is_complete()) else { return };
    let mut owner = clique.desired.clone();
    owner.metadata.uid.clone_from(&live.metadata.uid);
    let maker = PodMaker::new(picture.set, &clique.instance, &owner, &clique.parents, picture.around.settings);
    let now = picture.around.now;
    for slot in roster.slots.iter().filter(|slot| slot.pod.is_none() && !holds_place(clique, slot.index, now)) {
        let mut pod = maker.pod(slot.index, slot.name.clone()).object();
        backend.prepare_pod(picture, &mut pod);
        let target = Target::of(Kind::Pod, &pod.metadata);
        if let Ok(object) = serde_json::to_value(pod) {
            plan.writes.push(Write { site: site::CREATE_POD, target, action: Action::Create(object) });
        }
    }
}

/// How old a failed pod has to be before another takes its place. One that fails at once, as when its node will not have it, would
/// otherwise be made anew as fast as the API can take it.
const FAILED_AGE: SignedDuration = SignedDuration::from_secs(10);

/// A failed pod is replaced; it goes first, so that nobody mistakes it for a member.
fn failed(clique: &Clique<'_>, now: Timestamp, plan: &mut Plan) {
    for pod in clique.pods.iter().filter(|pod| pod.has_failed() && !pod.is_terminating()) {
        match pod.created().map(|created| created + FAILED_AGE).filter(|due| *due > now) {
            Some(due) => plan.wake(due),
            None => plan.delete(site::DELETE_POD_FAILED, Kind::Pod, &pod.metadata, true),
        }
    }
}

/// Whether a failed pod still stands in its place.
fn holds_place(clique: &Clique<'_>, index: usize, now: Timestamp) -> bool {
    let waits = |pod: &Pod| pod.created().is_some_and(|created| created + FAILED_AGE > now);
    clique.pods.iter().any(|pod| pod.has_failed() && !pod.is_terminating() && pod.index() == Some(index) && waits(pod))
}

fn excess(clique: &Clique<'_>, roster: &Roster<'_>, plan: &mut Plan) {
    for pod in &roster.excess {
        if let Some(live) = clique.live {
            plan.confirm(Kind::PodClique, &live.metadata);
        }
        plan.delete(site::DELETE_POD_SCALED_IN, Kind::Pod, &pod.metadata, true);
    }
}

/// Unbound pods that a scheduler may have read under another topology are made anew.
fn outdated(picture: &Picture<'_>, clique: &Clique<'_>, backend: &dyn Backend, plan: &mut Plan) {
    for pod in clique.pods.iter().filter(|pod| pod.is_member() && !pod.is_scheduled() && !pod.has_succeeded()) {
        if backend.is_outdated(picture, pod) {
            plan.delete(site::DELETE_POD_RETRY, Kind::Pod, &pod.metadata, true);
        }
    }
}
