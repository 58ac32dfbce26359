//! Room for those that starve, and when to look again.

use crate::picture::Picture;
use crate::plan::Plan;
use jiff::{SignedDuration, Timestamp};
use std::cmp::Reverse;

impl Picture<'_> {
    /// Has room reserved for the gang that has waited longest of the most important ones, once it has waited too long. One at a time:
    /// what is kept for many is of use to none.
    pub fn reserve(&mut self, plan: &mut Plan) {
        let Some(after) = self.around.settings.reserve_after else { return };
        let after = SignedDuration::try_from(after).unwrap_or(SignedDuration::MAX);
        let waits = |gang: &usize| {
            let it = &self.gangs[*gang];
            self.whos[*gang].bar.is_none() && !it.reserve && it.pods.iter().any(|pod| pod.bound.is_none())
        };
        let mut starving: Option<usize> = None;
        for gang in (0..self.gangs.len()).filter(waits) {
            if self.stands(gang) {
                continue;
            }
            let Some(due) = self.waits_since(gang).and_then(|since| since.checked_add(after).ok()) else { continue };
            if due > self.around.now {
                plan.again(due);
                continue;
            }
            let rank = |gang: usize| (Reverse(self.gangs[gang].priority), self.gangs[gang].created, gang);
            if starving.is_none_or(|first| rank(gang) < rank(first)) {
                starving = Some(gang);
            }
        }
        if let Some(gang) = starving {
            self.gangs[gang].reserve = true;
        }
    }

    /// Since when a gang has waited: since it was said to, else since it was made.
    fn waits_since(&self, gang: usize) -> Option<Timestamp> {
        let object = self.whos[gang].object;
        let told = object.condition("Scheduled").filter(|condition| condition.status == "False");
        let told = told.map(|condition| condition.last_transition_time.0);
        told.or_else(|| object.meta().creation_timestamp.as_ref().map(|time| time.0))
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
