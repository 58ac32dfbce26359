//! Pods of no gang: those that wait for this scheduler are gangs of one, all others are left to others.

use super::amounts::{index, number};
use super::drafts::Draft;
use super::faults::Tally;
use super::membership::{Belongs, Membership};
use super::pods::{Pods, State};
use super::priorities::Priorities;
use std::collections::BTreeSet;
use trellis_api::names::DEFAULT_LEAF;
use trellis_engine::{GangName, Members};

/// Pods that wait and are not planned.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Held by gates of others.
    pub gated: Tally,
    /// Naming a gang that is not there or does not know them.
    pub unknown: Tally,
    /// These by name.
    pub homeless: Vec<GangName>,
    /// Wishing for what is not looked at.
    pub wishes: Tally,
    /// Served by another scheduler.
    pub others: Tally,
}

/// A gang for each pod that waits for this scheduler alone; in a running cluster also for those that it has served.
pub(super) fn read<'a>(
    pods: &Pods<'a>,
    served: &[&str],
    is_live: bool,
    gangs: &[Draft<'_>],
    members: &mut Membership,
    priorities: &mut Priorities,
    notes: &mut Notes,
) -> Vec<Draft<'a>> {
    let taken: BTreeSet<&GangName> = gangs.iter().map(|draft| &draft.gang.id).collect();
    let mut drafts = Vec::new();
    for (i, pod) in pods.list.iter().enumerate() {
        let spec = pod.spec();
        let scheduler = spec.and_then(|spec| spec.scheduler_name.as_deref());
        let is_ours = scheduler.is_some_and(|name| served.contains(&name));
        match (members.of(i), pod.state) {
            (Belongs::Unknown, State::Waiting) => {
                notes.unknown.count(|| pod.title());
                notes.homeless.push(pod.id());
            }
            (Belongs::Nowhere, State::Gated | State::Coming) if is_ours => notes.gated.count(|| pod.title()),
            (Belongs::Nowhere, State::Waiting) if !is_ours => notes.others.count(|| pod.title()),
            // One that runs is a gang of one too: it may have to make room for others.
            (Belongs::Nowhere, State::Bound(_)) if !(is_live && is_ours) => {}
            (Belongs::Nowhere, State::Waiting | State::Bound(_)) => {
                let class = spec.and_then(|spec| spec.priority_class_name.as_deref());
                let own = spec.and_then(|spec| spec.priority);
                let priority = own.unwrap_or_else(|| priorities.of(class, 0));
                let mut draft = Draft::new("Pod", index(pod.index), &pod.pod.metadata, priority);
                if taken.contains(&draft.gang.id) {
                    // No object has a slash in its name.
                    draft.rename(format!("pod/{}", pod.name));
                }
                let leaf = draft.add(DEFAULT_LEAF, 0, Members::Pods { min: 1 });
                draft.join(number(i), leaf);
                members.claim(i);
                drafts.push(draft);
            }
            _ => {}
        }
    }
    drafts
}
