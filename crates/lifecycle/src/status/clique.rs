//! The status of a PodClique.

use super::conditions::{Said, Truth, kind, merged};
use super::progress::{Seen, Step, count, is_available, is_behind, is_current};
use super::{Pass, selector, write};
use crate::picture::{Clique, Counts};
use crate::plan::{Kind, Plan, site};
use crate::terminate::{is_breached, was_placed};
use crate::update::outdated;
use trellis_api::kinds::{PodCliqueStatus, PodCliqueUpdateProgress};
use trellis_api::names::label;

const OURS: [&str; 2] = [kind::POD_CLIQUE_SCHEDULED, kind::MIN_AVAILABLE_BREACHED];

pub fn decide(pass: &Pass<'_, '_>, clique: &Clique<'_>, plan: &mut Plan) {
    let Some(live) = clique.live else { return };
    let stored = live.status.clone().unwrap_or_default();
    let step = step(pass, clique);
    let generation = live.metadata.generation;
    // One that waits after its replica's turn is broken like any other.
    let updating = step == Step::Run && pass.turn == Some(clique.instance.set_index);
    let said = vec![scheduled(&clique.counts), breached(&clique.counts, updating)];
    let counts = &clique.counts;
    let mut status = PodCliqueStatus {
        observed_generation: generation,
        replicas: count(counts.members),
        ready_replicas: count(counts.ready),
        updated_replicas: count(counts.updated),
        schedule_gated_replicas: count(counts.gated),
        scheduled_replicas: count(counts.scheduled),
        hpa_pod_selector: standalone_selector(pass, clique),
        conditions: merged(&stored.conditions, &OURS, said, generation, &pass.now),
        last_errors: Vec::new(),
        ..stored
    };
    advance(pass, clique, step, &mut status);
    write(site::CLIQUE_STATUS, Kind::PodClique, &live.metadata, live.status.as_ref(), &status, plan);
}

/// Where the update of a clique stands.
fn step(pass: &Pass<'_, '_>, clique: &Clique<'_>) -> Step {
    let stored = clique.live.and_then(|live| live.status.as_ref()?.update_progress.as_ref());
    let begun = stored.is_some_and(|progress| progress.update_ended_at.is_none());
    // Without a pod of another template there is nothing to wait for.
    let turn = pass.turn == Some(clique.instance.set_index) || outdated(clique).next().is_none();
    let serves = was_placed(&pass.picture.gangs[clique.gang]);
    let whole = is_current(clique) && (is_available(clique) || !serves);
    Step::of(pass.picture, Seen { begun, behind: is_behind(pass.picture, clique), turn, whole })
}

/// Brings hashes and progress to where the update stands.
fn advance(pass: &Pass<'_, '_>, clique: &Clique<'_>, step: Step, status: &mut PodCliqueStatus) {
    let target = &clique.instance.template_hash;
    if matches!(step, Step::Rest | Step::End) {
        status.current_pod_template_hash = Some(target.clone());
        status.current_pod_clique_set_generation_hash = Some(pass.picture.generation_hash.clone());
    }
    if !matches!(step, Step::Run | Step::End) {
        return;
    }
    let running = |progress: &PodCliqueUpdateProgress| {
        progress.update_ended_at.is_none() && progress.pod_template_hash == *target
    };
    let started = status.update_progress.take().filter(running).and_then(|progress| progress.update_started_at);
    status.update_progress = Some(PodCliqueUpdateProgress {
        update_started_at: started.or_else(|| Some(pass.now.clone())),
        update_ended_at: (step == Step::End).then(|| pass.now.clone()),
        pod_clique_set_generation_hash: pass.picture.generation_hash.clone(),
        pod_template_hash: target.clone(),
        ready_pods_selected_to_update: None,
    });
}

/// Cliques of a scaling group are scaled with the group.
fn standalone_selector(pass: &Pass<'_, '_>, clique: &Clique<'_>) -> Option<String> {
    let own = (label::POD_CLIQUE, clique.instance.name.as_str());
    clique.instance.group.is_none().then(|| selector(pass.picture, Some(own)))
}

fn scheduled(counts: &Counts) -> Said {
    let message = format!("{} of at least {} pods have nodes", counts.scheduled, counts.min);
    let (truth, reason) = match counts.is_scheduled() {
        true => (Truth::True, "SufficientScheduledPods"),
        false => (Truth::False, "InsufficientScheduledPods"),
    };
    Said::new(kind::POD_CLIQUE_SCHEDULED, truth, reason, message)
}

/// Whether fewer pods than the minimum can do their work. Pods that are still starting are given the benefit of the doubt.
fn breached(counts: &Counts, updating: bool) -> Said {
    let working = counts.scheduled.saturating_sub(counts.failing);
    let (truth, reason, message) = if updating {
        (Truth::Unknown, "UpdateInProgress", "the clique is being updated".to_owned())
    } else if counts.scheduled < counts.min {
        let message = format!("{} of at least {} pods have nodes", counts.scheduled, counts.min);
        (Truth::True, "ScheduledReplicasBelowMinAvailable", message)
    } else if working < counts.min {
        let message = format!("{working} of at least {} pods are ready or starting", counts.min);
        (Truth::True, "InsufficientReadyPods", message)
    } else {
        let message = format!("at least {} pods are ready or starting", counts.min);
        (Truth::False, "SufficientReadyPods", message)
    };
    Said::new(kind::MIN_AVAILABLE_BREACHED, truth, reason, message)
}

/// Whether a clique is there and its minimum can do its work, or will soon.
pub fn is_intact(clique: &Clique<'_>) -> bool {
    clique.live.is_some() && !is_breached(&clique.counts)
}
