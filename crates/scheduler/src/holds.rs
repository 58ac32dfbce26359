//! Places of members that vanished, held for those that come back.
//!
//! A member that is written down and no longer there leaves a hold, whether or not the ledger says so already; the ledger adds until
//! when. While the member is still on its way out it takes up its room itself, and the hold says only where the gang is. No more is held
//! than can come back: what a set was scaled in by is free at once. A gang that gives up its place holds nothing.

use crate::ledger::{Entry, Held};
use crate::picture::{Fate, Object, Picture};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use std::collections::BTreeMap;
use std::sync::Arc;
use trellis_engine::{Hold, Place};

impl Picture<'_> {
    /// What is held for a gang, as it is to be written: what was held before first.
    pub fn held(&self, gang: usize) -> Vec<Held> {
        let who = &self.whos[gang];
        let is_kept = !who.gives_up && !who.ledger.is_undone && !who.was_recreated();
        if !is_kept || matches!(who.object, Object::Pod(_)) {
            return Vec::new();
        }
        let now = self.around.now;
        let hold = SignedDuration::try_from(self.around.settings.hold).unwrap_or(SignedDuration::MAX);
        let until = whole_second(now.checked_add(hold).unwrap_or(Timestamp::MAX));
        let vanished = who.ledger.members.iter().zip(&who.fates);
        let vanished = vanished.filter(|(_, fate)| matches!(fate, Fate::Vanished | Fate::Leaving));
        let new = vanished.map(|(entry, _)| Held { until, was: entry.clone() });
        let mut held: Vec<Held> = who.ledger.held.iter().cloned().chain(new).collect();
        held.retain(|held| held.until > now);
        if held.is_empty() {
            return held;
        }
        let mut wanted = self.wanted(gang);
        held.retain(|held| match wanted.get_mut(held.was.group.as_str()) {
            Some(left) => std::mem::replace(left, left.saturating_sub(1)) > 0,
            None => !matches!(who.object, Object::PodGang(_)),
        });
        held
    }

    /// For each group of a PodGang how many members it names that have no place. Other gangs do not say whom they expect.
    fn wanted(&self, gang: usize) -> BTreeMap<&str, usize> {
        let Object::PodGang(object) = self.whos[gang].object else { return BTreeMap::new() };
        let named = object.spec.pod_groups.iter().map(|group| (group.name.as_str(), group.pod_references.len()));
        let mut wanted: BTreeMap<&str, usize> = named.collect();
        let it = &self.gangs[gang];
        for pod in it.pods.iter().filter(|pod| pod.bound.is_some()) {
            if let Some(left) = wanted.get_mut(it.groups[pod.group].name.as_str()) {
                *left = left.saturating_sub(1);
            }
        }
        wanted
    }

    /// The same for the engine, and the places that are being made free for the gang.
    pub fn holds(&self, gang: usize) -> Vec<Hold> {
        let who = &self.whos[gang];
        let mut held = self.held(gang);
        held.extend(who.still_held.iter().filter(|held| held.until > self.around.now).cloned());
        let mut holds: Vec<Hold> = held.iter().filter_map(|held| self.hold(gang, &held.was)).collect();
        let nominated = who.ledger.nominated.as_ref().filter(|it| it.until > self.around.now && !who.gives_up);
        for nominated in nominated.iter().flat_map(|nomination| &nomination.places) {
            if let (Some(group), Some(place)) = (self.leaf(gang, &nominated.group), self.place(&nominated.spot)) {
                holds.push(Hold { group, place, request: self.vector(&nominated.request) });
            }
        }
        holds.sort_unstable();
        holds
    }

    fn hold(&self, gang: usize, was: &Entry) -> Option<Hold> {
        let group = self.leaf(gang, &was.group)?;
        let place: Place = self.place(&was.spot)?;
        let is_same = |pod: &&Arc<Pod>| crate::picture::short_uid(&pod.metadata) == was.uid;
        let pod = self.pod(gang, &was.pod).filter(is_same);
        let is_there = pod.is_some_and(|pod| {
            let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
            pod.metadata.deletion_timestamp.is_some() && !matches!(phase, Some("Succeeded" | "Failed"))
        });
        let request = if is_there { vec![0; self.cluster.resources.len()].into() } else { self.vector(&was.request) };
        Some(Hold { group, place, request })
    }
}

/// Stored times have whole seconds; rounded up, so that nothing ends early.
pub(crate) fn whole_second(time: Timestamp) -> Timestamp {
    let second = time.as_second() + i64::from(time.subsec_nanosecond() > 0);
    Timestamp::from_second(second).unwrap_or(time)
}

/// The second that a time is in.
pub(crate) fn floor_second(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}
