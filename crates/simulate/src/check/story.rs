//! How far each gang has come: what has stood of it, whom it lost, and what it was begun with.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::model::{Gang, GangName, Name, Pod};
use super::record::Record;
use super::{Checker, ON_ITS_WAY, Rule};

/// How far a gang has come.
#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a thing that has happened, or has not")]
pub(super) struct Story {
    /// Its minimum has had nodes since it last stood nowhere.
    pub was_whole: bool,
    /// A member that stood, or was named, has gone since.
    pub has_lost: bool,
    pub was_marked: bool,
    /// Each leaf has had as many pods as its minimum, perhaps not all at once: who is told of a bind before the end of another pod
    /// cannot know better.
    pub was_ever_whole: bool,
    /// For each leaf the uids of pods that had a node.
    ever: BTreeMap<String, BTreeSet<String>>,
    /// For each leaf the uids of those that succeeded.
    succeeded: BTreeMap<String, BTreeSet<String>>,
    /// When one that counted last went.
    lost_at: Option<Timestamp>,
    /// Members that stood and went, but not by success, as long as the record names them: name and uid.
    lost: BTreeSet<(String, String)>,
    /// What is wrong with the plan that was begun when the gang stood nowhere; told when the first of it is bound.
    pub flaw: Option<(Rule, String)>,
    /// When each condition was last written otherwise.
    pub told_at: BTreeMap<String, Timestamp>,
}

impl Checker {
    /// Keeps in mind how far a gang has come.
    pub(super) fn follow(&mut self, id: &GangName, has_lost: bool) {
        let Some(gang) = self.gangs.get(id) else { return };
        let (uid, standing, whole) =
            (gang.uid.clone(), self.members(id).any(|(_, pod)| pod.stands()), self.is_whole(id));
        let mut story = self.stories.remove(&uid).unwrap_or_default();
        for (_, pod) in self.members(id) {
            if pod.has_succeeded() {
                story.succeeded.entry(pod.leaf.clone()).or_default().insert(pod.uid.clone());
            }
            if pod.counts() {
                story.ever.entry(pod.leaf.clone()).or_default().insert(pod.uid.clone());
            }
        }
        let had = |leaf: &String| story.ever.get(leaf).map_or(0, BTreeSet::len);
        story.was_ever_whole |= gang.leaves.iter().all(|(leaf, it)| had(leaf) >= it.min);
        if standing {
            story.has_lost |= has_lost;
            if whole && !std::mem::replace(&mut story.was_whole, true) {
                self.counts.placed += 1;
            }
        } else {
            (story.was_whole, story.has_lost) = (false, false);
        }
        self.stories.insert(uid, story);
    }

    /// Keeps in mind that a member of a gang went, unless it has done its work.
    pub(super) fn see_loss(&mut self, id: &GangName, name: &Name, before: &Pod, after: Option<&Pod>) {
        let Some(story) = self.gangs.get(id).and_then(|gang| self.stories.get_mut(&gang.uid)) else { return };
        let lost = (name.1.clone(), before.uid.clone());
        if after.is_some_and(Pod::has_succeeded) {
            story.lost.remove(&lost);
            return;
        }
        if before.counts() && !after.is_some_and(Pod::counts) {
            story.lost_at = Some(self.now);
        }
        if before.stands() && !after.is_some_and(Pod::stands) {
            story.lost.insert(lost);
        }
    }

    /// The record of a gang was written: whatever is begun there is begun whole, and whoever vanished from it left a hold.
    pub(super) fn see_record(&mut self, id: &GangName, before: Option<&Gang>) {
        let Some(gang) = self.gangs.get(id) else { return };
        let none = Record::default();
        let was = before.and_then(|gang| gang.record.as_ref()).unwrap_or(&none);
        let is = gang.record.as_ref().unwrap_or(&none);
        if was == is {
            return;
        }
        let lacking = before.and_then(|before| self.lacks_hold(before, gang, was, is));
        let flaw = self.flaw(id, gang, was, is);
        let uid = gang.uid.clone();
        let lost = |(pod, uid): &(String, String)| is.place_of(pod, uid).is_some();
        if let Some(mut story) = self.stories.remove(&uid) {
            story.lost.retain(lost);
            story.flaw = flaw;
            self.stories.insert(uid, story);
        }
        if let Some(what) = lacking {
            self.report(Rule::LostHold, format!("{id} {what}"), vec![id.to_string()]);
        }
    }

    /// What is wrong with a plan for a gang that stands nowhere: it leaves out members that must start together, or comes before that
    /// of the base. A plan that was begun is only gone on with, so it is judged by what was so at its beginning.
    fn flaw(&self, id: &GangName, gang: &Gang, was: &Record, is: &Record) -> Option<(Rule, String)> {
        let story = self.stories.get(&gang.uid)?;
        let is_gone_on_with = is.members.iter().any(|place| was.place_of(&place.pod, &place.uid).is_some());
        let stands = self.members(id).any(|(_, pod)| pod.stands());
        if is.members.is_empty() || stands || is_gone_on_with && story.flaw.is_none() {
            return None;
        }
        for (leaf, it) in &gang.leaves {
            let named = is.members.iter().filter(|place| place.leaf == *leaf).count();
            // Those that succeeded count, also if somebody has deleted them since.
            let succeeded = story.succeeded.get(leaf).map_or(0, BTreeSet::len);
            if named + succeeded < it.min {
                let what =
                    format!("the plan record named {named} of the {} members of {leaf} that start together", it.min);
                return Some((Rule::HalfGang, what));
            }
        }
        let base = GangName { name: gang.base.clone()?, ..id.clone() };
        let of_base = self.gangs.get(&base).filter(|base| !base.is_deleting)?;
        let story = self.stories.get(&of_base.uid).cloned().unwrap_or_default();
        // What the base has just lost was there when this was decided.
        let is_recent = story.lost_at.is_some_and(|at| self.now.duration_since(at) < ON_ITS_WAY);
        let has_place = self.is_whole(&base) || story.was_ever_whole && is_recent;
        (!has_place).then(|| (Rule::ScaledFirst, format!("{base} had no place yet when the plan record was written")))
    }

    /// Places of members that stood and vanished are held as soon as the record no longer names them as members, as many as can come
    /// back; unless new members were given the room, or the gang gives up its place. The record is written by compare-and-swap, so
    /// whoever wrote it knew the gang as it was before.
    fn lacks_hold(&self, before: &Gang, gang: &Gang, was: &Record, is: &Record) -> Option<String> {
        let is_over = |gang: &Gang, record: &Record| {
            gang.is_deleting || gang.disrupted.is_some() || record.undone || record.preempted_by.is_some()
        };
        let second = |time: Option<Timestamp>| time.map(Timestamp::as_second);
        let was_recreated = before.recreated_at.is_some() && second(before.recreated_at) >= second(was.at);
        if is_over(before, was) || is_over(gang, is) || was_recreated {
            return None;
        }
        let story = self.stories.get(&gang.uid)?;
        gang.leaves.iter().find_map(|(leaf, it)| {
            let of_leaf = |place: &&super::record::Place| place.leaf == *leaf;
            let has_vanished = |place: &&super::record::Place| {
                let is_it = |(pod, uid): &(String, String)| *pod == place.pod && uid.starts_with(&place.uid);
                is.place_of(&place.pod, &place.uid).is_none() && story.lost.iter().any(is_it)
            };
            let vanished = was.members.iter().filter(of_leaf).filter(has_vanished).count();
            let was_held = was.held.iter().filter(|(until, place)| *until > self.now && of_leaf(&place)).count();
            let given = is.members.iter().filter(of_leaf).filter(|place| !was.members.contains(place)).count();
            let named = is.members.iter().filter(of_leaf).count();
            let may_return = it.named.map_or(usize::MAX, |all| all.saturating_sub(named));
            let due = (vanished + was_held).saturating_sub(given).min(may_return);
            let held = is.held.iter().filter(|(_, place)| of_leaf(&place)).count();
            (vanished > 0 && held < due)
                .then(|| format!("has lost {vanished} members of {leaf}, and holds {held} places where {due} are due"))
        })
    }
}
