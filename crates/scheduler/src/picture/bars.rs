//! Which gangs are left alone for now, and why.

use super::{Object, Picture, served};
use jiff::SignedDuration;
use trellis_api::names::annotation;
use trellis_engine::Pod;

/// How far clocks may be apart: what was made within this time of our taking the lead may have been seen by whoever led before.
const SKEW: SignedDuration = SignedDuration::from_secs(15);

/// Why a gang is left alone for now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bar {
    /// A plan for it is being carried out.
    UnderWay,
    /// It is being deleted.
    Deleted,
    /// What was begun is being undone.
    Undone,
    /// It has to leave for another gang.
    Preempted,
    /// It is being taken down for another reason.
    Disrupted,
    /// Not all of its objects are there.
    Incomplete,
    /// Some of its pods are held by gates.
    Gated,
    /// A pod of it waits for another scheduler.
    Foreign(String),
    /// The gang that it belongs to is not there.
    BaseMissing(String),
    /// Whoever led before may still write to it.
    Unfenced,
    /// Whoever led before may still bind a pod of it.
    Untouched,
}

impl Bar {
    /// Whether the gang will be placed as soon as others have done their part.
    fn is_passing(&self) -> bool {
        matches!(self, Self::UnderWay | Self::Incomplete | Self::Gated | Self::Unfenced | Self::Untouched)
    }
}

impl Picture<'_> {
    /// Bars gangs, looks at what was begun, and holds places; what is barred has no waiting pods after that.
    pub(super) fn bar_all(&mut self) {
        for gang in 0..self.gangs.len() {
            let who = &self.whos[gang];
            let is_plain = matches!(who.object, Object::Pod(_)) && !who.is_written;
            if is_plain && !who.has_begun() && self.gangs[gang].pods.iter().all(|pod| pod.bound.is_some()) {
                continue;
            }
            let bar = self.bar(gang);
            let is_closed = matches!(bar, Some(Bar::Unfenced | Bar::UnderWay));
            self.has_unfenced |= is_closed && self.is_waiting(gang) && self.is_unfenced(gang);
            let who = &mut self.whos[gang];
            let is_leaving = who.leaves_for.is_some() || who.ledger.preempted_by.is_some() && !who.has_standing();
            who.gives_up = is_leaving || matches!(bar, Some(Bar::Deleted | Bar::Disrupted));
            who.bar = bar;
        }
        self.review_begun();
        for gang in 0..self.gangs.len() {
            self.gangs[gang].holds = self.holds(gang);
            self.given_up.extend(self.gives_up(gang));
            let Some(bar) = &self.whos[gang].bar else { continue };
            let it = &mut self.gangs[gang];
            let (bound, waiting): (Vec<Pod>, Vec<Pod>) =
                std::mem::take(&mut it.pods).into_iter().partition(|pod| pod.bound.is_some());
            it.pods = bound;
            // What is only held back will have to follow its base all the same.
            if it.base.is_some() && bar.is_passing() {
                it.coming.extend(waiting);
            } else {
                it.coming.clear();
            }
        }
    }

    fn bar(&self, gang: usize) -> Option<Bar> {
        let (who, it) = (&self.whos[gang], &self.gangs[gang]);
        if self.seen.under_way.contains_key(&who.target) {
            return Some(Bar::UnderWay);
        }
        if who.object.meta().deletion_timestamp.is_some() {
            return Some(Bar::Deleted);
        }
        if who.ledger.is_undone {
            return Some(Bar::Undone);
        }
        if who.leaves_for.is_some() || who.ledger.preempted_by.is_some() {
            return Some(Bar::Preempted);
        }
        let disruption = who.object.condition("DisruptionTarget").filter(|condition| condition.status == "True");
        if disruption.is_some_and(|condition| condition.reason != "Preempted") {
            return Some(Bar::Disrupted);
        }
        if !self.is_waiting(gang) {
            // Nothing waits, so nothing is given; who may be late does not matter.
            return None;
        }
        if !is_initialized(who.object) {
            return Some(Bar::Incomplete);
        }
        if let Some(foreign) = self.foreign(gang) {
            return Some(Bar::Foreign(foreign));
        }
        if it.pods.iter().all(|pod| pod.bound.is_none()) && self.has_gated(gang) {
            return Some(Bar::Gated);
        }
        if let Some(base) = &it.base
            && self.gangs.binary_search_by(|other| other.id.cmp(base)).is_err()
        {
            return Some(Bar::BaseMissing(base.name.clone()));
        }
        self.is_unfenced(gang).then_some(Bar::Unfenced)
    }

    /// A waiting member that is not ours to bind.
    fn foreign(&self, gang: usize) -> Option<String> {
        let waiting = self.gangs[gang].pods.iter().filter(|pod| pod.bound.is_none());
        let mut pods = waiting.filter_map(|pod| Some((pod, self.pod(gang, &pod.name)?)));
        let foreign = pods.find(|(_, pod)| !served::is_served(pod, &self.around.settings.served));
        foreign.map(|(pod, _)| pod.name.clone())
    }

    /// Whether gates hold some of its pods. A gang that has nothing yet waits for all, so that its domain is chosen for all.
    fn has_gated(&self, gang: usize) -> bool {
        let Object::PodGang(object) = self.whos[gang].object else { return false };
        let namespace = &self.gangs[gang].id.namespace;
        let mut references = object.spec.pod_groups.iter().flat_map(|group| &group.pod_references);
        references.any(|reference| {
            let pod = self.seen.pod(namespace, &reference.name);
            let gates = pod.and_then(|pod| pod.spec.as_ref()?.scheduling_gates.as_ref());
            gates.is_some_and(|gates| !gates.is_empty())
        })
    }

    fn is_waiting(&self, gang: usize) -> bool {
        self.gangs[gang].pods.iter().any(|pod| pod.bound.is_none())
    }

    /// Whether whoever led before may still write to a gang. What we are about to write says nothing of that.
    fn is_unfenced(&self, gang: usize) -> bool {
        let (who, around) = (&self.whos[gang], self.around);
        let Some(since) = around.leads_since else { return false };
        let created = who.object.meta().creation_timestamp.as_ref();
        let is_old = created.is_none_or(|created| since.checked_add(SKEW).is_ok_and(|since| created.0 <= since));
        is_old
            && who.object.annotation(annotation::SCHEDULER) != Some(around.identity)
            && who.written_by != around.identity
    }
}

/// Whether all objects of a gang are there. The operator says so of its own; of others it shows in the pods.
fn is_initialized(object: Object<'_>) -> bool {
    let (kind, reasons) = crate::say::INITIALIZED;
    let told = object.condition(kind);
    let is_awaited = matches!(object, Object::PodGang(_)) && object.is_attended();
    // What we say ourselves follows from the pods, and is later than they are.
    let told = told.filter(|told| is_awaited || !reasons.contains(&told.reason.as_str()));
    told.map_or(!is_awaited, |condition| condition.status == "True")
}
