//! Room for those that starve, and when to look again.

use crate::picture::{Object, Picture};
use crate::plan::Plan;
use jiff::{SignedDuration, Timestamp};
use std::cmp::Reverse;
use trellis_engine::{Gang, Options, Outcome, Snapshot, plan_on};

/// Of so many that starve it is looked who would fit if there were nobody else.
const LOOKED_AT: usize = 4;

impl Picture<'_> {
    /// Has room reserved for the gang that has waited longest of the most important ones, once it has waited too long. One at a time:
    /// what is kept for many is of use to none. Nothing is kept for one that would have no place on the empty cluster either.
    pub fn reserve(&mut self, plan: &mut Plan) {
        let Some(after) = self.around.settings.reserve_after else { return };
        let after = SignedDuration::try_from(after).unwrap_or(SignedDuration::MAX);
        let waits = |gang: &usize| {
            let it = &self.gangs[*gang];
            let is_open = self.whos[*gang].bar.is_none() && it.unready.is_none() && !it.reserve;
            is_open && it.pods.iter().any(|pod| pod.bound.is_none()) && !self.stands(*gang)
        };
        let mut starving: Vec<usize> = Vec::new();
        for gang in (0..self.gangs.len()).filter(waits) {
            let Some(due) = self.waits_since(gang).and_then(|since| since.checked_add(after).ok()) else { continue };
            if due > self.around.now {
                plan.again(due);
            } else {
                starving.push(gang);
            }
        }
        starving.sort_by_key(|gang| (Reverse(self.gangs[*gang].priority), self.gangs[*gang].created, *gang));
        let first = starving.into_iter().take(LOOKED_AT).find(|gang| self.fits_alone(*gang));
        if let Some(gang) = first {
            self.gangs[gang].reserve = true;
        }
    }

    /// Whether a gang would have a place if it were there alone; one that follows a base does not before that has one.
    fn fits_alone(&self, gang: usize) -> bool {
        let it = &self.gangs[gang];
        let base = it.base.as_ref().and_then(|base| self.gangs.iter().position(|other| other.id == *base));
        if base.is_some_and(|base| !self.stands(base)) {
            return false;
        }
        let alone = [Gang { base: None, ..it.clone() }];
        let mut snapshot = Snapshot::with_gangs(self.cluster.clone(), &alone);
        let options = Options { budget: self.around.settings.budget, ..Options::default() };
        plan_on(&mut snapshot, &alone, options).decisions.iter().all(|it| it.outcome == Outcome::Placed)
    }

    /// Since when a gang has waited: since it was said to; of those of which it is not said, since the last of its pods was made.
    fn waits_since(&self, gang: usize) -> Option<Timestamp> {
        let object = self.whos[gang].object;
        let told = object.condition("Scheduled").filter(|condition| condition.status == "False");
        let told = told.map(|condition| condition.last_transition_time.0);
        let made = || {
            let waiting = self.gangs[gang].pods.iter().filter(|pod| pod.bound.is_none());
            let pods = waiting.filter_map(|pod| self.pod(gang, &pod.name));
            pods.filter_map(|pod| pod.metadata.creation_timestamp.as_ref().map(|time| time.0)).max()
        };
        match object {
            Object::PodGang(gang) => told.or(gang.metadata.creation_timestamp.as_ref().map(|time| time.0)),
            Object::PodGroup(_) | Object::Pod(_) => made(),
        }
    }

    /// When something ends by itself.
    pub fn wake(&self, plan: &mut Plan) {
        for who in &self.whos {
            let held = who.ledger.held.iter().map(|held| held.until);
            let nominated = who.ledger.nominated.as_ref().map(|nomination| nomination.until);
            if let Some(first) = held.chain(nominated).filter(|until| *until > self.around.now).min() {
                plan.again(first);
            }
        }
    }
}
