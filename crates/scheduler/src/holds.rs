//! Places of members that vanished, held for those that come back.
//!
//! A member that is written down and no longer there leaves a hold, whether or not the ledger says so already; the ledger adds until
//! when. While the member is still on its way out it takes up its room itself, and the hold says only where the gang is. No more is held
//! than can come back: what a set was scaled in by is free as soon as that is written. A gang that gives up its place holds nothing.

use crate::ledger::{Entry, Held, Ledger, Nominated, Nomination};
use crate::picture::{Bar, Fate, Object, Picture, given_up};
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
        let held = self.held(gang);
        let hold = |held: &Held| {
            let (place, request) = self.room(gang, &held.was)?;
            Some(Hold { group: self.leaf(gang, &held.was.group)?, place, request })
        };
        let mut holds: Vec<Hold> = held.iter().filter_map(hold).collect();
        for nominated in self.nominated(gang) {
            if let (Some(group), Some(place)) = (self.leaf(gang, &nominated.group), self.place(&nominated.spot)) {
                holds.push(Hold { group, place, request: self.vector(&nominated.request) });
            }
        }
        holds.sort_unstable();
        holds
    }

    /// Places that are being made free for a gang, as far as it still has the groups.
    fn nominated(&self, gang: usize) -> impl Iterator<Item = &Nominated> {
        let who = &self.whos[gang];
        let nominated = who.ledger.nominated.as_ref().filter(|it| it.until > self.around.now && !who.gives_up);
        let places = nominated.into_iter().flat_map(|nomination| &nomination.places);
        places.filter(move |place| self.leaf(gang, &place.group).is_some())
    }

    /// What is nominated for a gang, without the places of groups that it no longer has; none if nothing is left.
    pub fn still_nominated(&self, gang: usize) -> Option<Nomination> {
        let mut nomination = self.whos[gang].ledger.nominated.clone()?;
        nomination.places.retain(|place| self.leaf(gang, &place.group).is_some());
        (!nomination.places.is_empty()).then_some(nomination)
    }

    /// What is written that a gang holds, and is being given up by what is under way, or will be by what is written next: a gang may change
    /// while something is written on it, and so may lack a group by then that places are held for. A gang that is deleted, or has said that
    /// it leaves, holds nothing, whatever is written.
    pub fn gives_up(&self, gang: usize) -> Vec<(Place, Arc<[i64]>)> {
        let who = &self.whos[gang];
        if matches!(who.bar, Some(Bar::Deleted)) {
            return Vec::new();
        }
        let mut held = if let Some(Bar::UnderWay) = who.bar { who.still_held.clone() } else { Vec::new() };
        let holds_something = !who.ledger.held.is_empty() || who.ledger.nominated.is_some();
        if holds_something && !who.ledger.is_undone && who.ledger.preempted_by.is_none() {
            let places = self.nominated(gang).cloned().collect();
            let nominated = Some(Nomination { until: Timestamp::MAX, places, victims: Vec::new() });
            let next = Ledger { held: self.held(gang), nominated, ..Ledger::default() };
            held.extend(given_up(&who.ledger, &next));
        }
        let held = held.iter().filter(|held| held.until > self.around.now);
        held.filter_map(|held| self.room(gang, &held.was)).collect()
    }

    /// Where a member was, and what it takes to come back there.
    fn room(&self, gang: usize, was: &Entry) -> Option<(Place, Arc<[i64]>)> {
        let place: Place = self.place(&was.spot)?;
        let is_same = |pod: &&Arc<Pod>| crate::picture::short_uid(&pod.metadata) == was.uid;
        let pod = self.pod(gang, &was.pod).filter(is_same);
        let is_there = pod.is_some_and(|pod| {
            let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
            pod.metadata.deletion_timestamp.is_some() && !matches!(phase, Some("Succeeded" | "Failed"))
        });
        let request = if is_there { vec![0; self.cluster.resources.len()].into() } else { self.vector(&was.request) };
        Some((place, request))
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
