//! The checker: looks at every revision of the store for what must never be, and at a world at rest for what must not stay.
//!
//! It shares no code with those that it checks: it reads raw JSON into a plain model of its own, and knows nothing of search, scheduler,
//! assumed state, lowering or engine.

mod amounts;
mod bind;
mod model;
mod record;
mod request;
mod rest;
mod search;
mod status;
mod story;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hasher as _;

use jiff::{SignedDuration, Timestamp};
use rustc_hash::FxHasher;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use trellis_cluster::store::{Change, Shelf};

use model::{Gang, GangName, Name, Node, Pod};
use story::Story;

/// For so long after a node's labels changed a bind that was decided on the old ones may still arrive: a Binding names the version of its
/// pod, and cannot name that of its node. So may everything else that rests on what was so before.
const ON_ITS_WAY: SignedDuration = SignedDuration::from_secs(60);

/// Stands for the uid of places that are being made free: nobody was there.
const NOMINATED: &str = "nominated";

/// What must never be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// A member is bound that the plan record does not name, a gang is begun with less than its minimum, or stays below it.
    HalfGang,
    /// More is bound to a node than it has.
    DoubleBooking,
    /// A bind breaks a required level by the labels of its moment.
    WrongRack,
    /// A bind goes to a node that has long been closed: cordoned, tainted, or not ready.
    ClosedNode,
    /// A bind takes room that is held for another gang of equal or higher priority, or what has to be held is not.
    LostHold,
    /// A plan that was begun is neither finished nor undone.
    OrphanPlan,
    /// A scaled gang is begun before its base has a place.
    ScaledFirst,
    /// The scheduler deletes a member of a gang that is not marked.
    UnmarkedDeletion,
    /// The scheduler binds or deletes a pod, or writes a plan record, whatever has become of the object meanwhile.
    BlindWrite,
    /// A condition says what was never so, or its time moves without its truth.
    FalseStatus,
    /// Some members of a gang were made to leave, and others stay.
    FragmentEvicted,
    /// A gang waits for which there is a place.
    NotPlaced,
    /// The world never comes to rest.
    Restless,
    /// Operator or scheduler ended by themselves.
    Died,
}

impl Rule {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::HalfGang => "half gang",
            Self::DoubleBooking => "double booking",
            Self::WrongRack => "wrong rack",
            Self::ClosedNode => "closed node",
            Self::LostHold => "lost hold",
            Self::OrphanPlan => "orphan plan",
            Self::ScaledFirst => "scaled first",
            Self::UnmarkedDeletion => "unmarked deletion",
            Self::BlindWrite => "blind write",
            Self::FalseStatus => "false status",
            Self::FragmentEvicted => "fragment evicted",
            Self::NotPlaced => "not placed",
            Self::Restless => "restless",
            Self::Died => "died",
        }
    }
}

/// Something that must never be, and was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// Which rule is broken.
    pub rule: Rule,
    /// At which event.
    pub event: usize,
    /// At which revision.
    pub revision: u64,
    /// In words.
    pub what: String,
    /// The objects that it is about.
    pub objects: Vec<String>,
}

/// What was counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Revisions that were looked at.
    pub revisions: u64,
    /// Binds.
    pub binds: u64,
    /// How often the minimum of a gang came to have nodes.
    pub placed: u64,
    /// Gangs that had to leave for another.
    pub preempted: u64,
    /// Writes that were decided on what had just changed: binds by the old labels of a node, conditions beside those of another.
    pub excused: u64,
}

/// The checker.
#[derive(Default)]
pub struct Checker {
    nodes: BTreeMap<String, Node>,
    pods: BTreeMap<Name, Pod>,
    gangs: BTreeMap<GangName, Gang>,
    /// How far each gang has come, by uid.
    stories: BTreeMap<String, Story>,
    classes: BTreeMap<String, i64>,
    /// For each topology the keys of its levels, widest first.
    topologies: BTreeMap<String, Vec<String>>,
    /// At which revision each pod got its node.
    bound_at: BTreeMap<Name, u64>,
    /// Since which revision a place is held for a gang, by the beginning of the uid that was there; for those that are being made free,
    /// by [`NOMINATED`].
    held_since: BTreeMap<(GangName, String), u64>,
    /// Gangs of which the scheduler deleted members: who stood then.
    evicted: BTreeMap<GangName, BTreeSet<(Name, String)>>,
    violations: Vec<Violation>,
    counts: Counts,
    event: usize,
    revision: u64,
    /// The revision of the last change that matters: not of leases, events and heartbeats.
    moved: u64,
    digest: FxHasher,
    now: Timestamp,
}

impl Checker {
    /// From here on changes belong to this event.
    pub fn event(&mut self, number: usize) {
        self.event = number;
    }

    /// It is so late now, whether or not anything has happened.
    pub fn at(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// What was found so far.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// What was counted so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The revision of the last change that matters.
    pub fn moved(&self) -> u64 {
        self.moved
    }

    /// A number for all revisions so far, byte for byte.
    pub fn digest(&self) -> u64 {
        self.digest.finish()
    }

    /// Takes note of what was found elsewhere.
    pub fn report(&mut self, rule: Rule, what: String, objects: Vec<String>) {
        let (event, revision) = (self.event, self.revision);
        self.violations.push(Violation { rule, event, revision, what, objects });
    }

    /// Looks at one revision, made at this time.
    pub fn see(&mut self, shelf: &Shelf, change: &Change, now: Timestamp) {
        if self.counts.revisions > 0 && change.revision != self.revision + 1 {
            let what = format!("revision {} follows {}", change.revision, self.revision);
            self.report(Rule::Restless, what, Vec::new());
        }
        self.at(now);
        self.revision = change.revision;
        self.counts.revisions += 1;
        self.digest.write(shelf.as_bytes());
        self.digest.write(change.key.namespace.as_bytes());
        self.digest.write(change.key.name.as_bytes());
        self.digest.write_u8(u8::from(change.deleted));
        self.digest.write(&change.after.text);
        if !matches!(&**shelf, "events" | "leases.coordination.k8s.io" | "nodes") {
            self.moved = change.revision;
        }
        let name = (change.key.namespace.clone(), change.key.name.clone());
        let object =
            || -> Option<Value> { if change.deleted { None } else { serde_json::from_slice(&change.after.text).ok() } };
        match &**shelf {
            "nodes" => self.see_node(name.1, object().as_ref()),
            "pods" => self.see_pod(&name, object().as_ref()),
            "podgangs.scheduler.grove.io" => self.see_gang("PodGang", name, object().as_ref().map(model::pod_gang)),
            "podgroups.scheduling.run.ai" => self.see_gang("PodGroup", name, object().as_ref().map(model::pod_group)),
            "priorityclasses.scheduling.k8s.io" => {
                if let Some(value) = object().and_then(|object| object["value"].as_i64()) {
                    self.classes.insert(name.1, value);
                }
            }
            "clustertopologies.grove.io" => {
                if let Some(object) = object() {
                    let levels = object["spec"]["levels"].as_array().into_iter().flatten();
                    let keys = levels.filter_map(|level| level["key"].as_str().map(ToOwned::to_owned));
                    self.topologies.insert(name.1, keys.collect());
                }
            }
            _ => {}
        }
    }

    fn see_node(&mut self, name: String, object: Option<&Value>) {
        let Some(mut node) = object.map(model::node) else {
            self.nodes.remove(&name);
            return;
        };
        let known = self.nodes.get(&name);
        node.labelled_at = match known {
            Some(known) if known.labels == node.labels => known.labelled_at,
            Some(_) => Some(self.now),
            None => None,
        };
        node.closed_at = match known {
            _ if node.is_open => None,
            Some(known) if !known.is_open => known.closed_at,
            _ => Some(self.now),
        };
        self.nodes.insert(name, node);
    }

    fn see_pod(&mut self, name: &Name, object: Option<&Value>) {
        let before = match object.map(|object| model::pod(&name.0, object)) {
            Some(pod) => self.pods.insert(name.clone(), pod),
            None => self.pods.remove(name),
        };
        let after = self.pods.get(name).cloned();
        let gang = after.as_ref().or(before.as_ref()).and_then(|pod| pod.gang.clone());
        let stood = before.as_ref().is_some_and(Pod::stands);
        let stands = after.as_ref().is_some_and(Pod::stands);
        let had_node = before.as_ref().is_some_and(|pod| pod.node.is_some());
        if let Some(pod) = after.filter(|pod| pod.node.is_some() && !had_node && !pod.is_finished()) {
            self.counts.binds += 1;
            self.bound_at.insert(name.clone(), self.revision);
            self.check_bind(name, &pod);
        }
        if object.is_none() {
            self.bound_at.remove(name);
        }
        let is_lost = |before: &Pod| !before.is_deleting && (stood || before.node.is_none()) && !stands;
        let was_lost = before.as_ref().is_some_and(is_lost) && !self.pods.get(name).is_some_and(Pod::waits);
        if let Some(gang) = gang {
            if let Some(before) = before {
                self.see_loss(&gang, name, &before, self.pods.get(name).cloned().as_ref());
            }
            self.follow(&gang, was_lost);
        }
    }

    fn see_gang(&mut self, kind: &'static str, (namespace, name): Name, gang: Option<Gang>) {
        let id = GangName { kind, namespace, name };
        match gang {
            Some(gang) => {
                if gang.record.as_ref().is_some_and(|record| record.preempted_by.is_some()) {
                    let story = self.stories.entry(gang.uid.clone()).or_default();
                    if !std::mem::replace(&mut story.was_marked, true) {
                        self.counts.preempted += 1;
                    }
                } else if let Some(story) = self.stories.get_mut(&gang.uid) {
                    story.was_marked = false;
                }
                self.see_holds(&id, gang.record.as_ref());
                let uid = gang.uid.clone();
                let before = self.gangs.insert(id.clone(), gang).filter(|before| before.uid == uid);
                self.follow(&id, false);
                self.see_record(&id, before.as_ref());
                self.check_conditions(&id, before.as_ref());
            }
            None => {
                self.see_holds(&id, None);
                if let Some(gang) = self.gangs.remove(&id) {
                    self.stories.remove(&gang.uid);
                }
            }
        }
    }

    /// Keeps in mind since when places are held.
    fn see_holds(&mut self, id: &GangName, record: Option<&record::Record>) {
        let held = record.into_iter().flat_map(|record| &record.held).map(|(_, place)| place.uid.as_str());
        let nominated = record.filter(|record| !record.nominated.is_empty()).map(|_| NOMINATED);
        let uids: BTreeSet<&str> = held.chain(nominated).collect();
        self.held_since.retain(|(gang, uid), _| gang != id || uids.contains(uid.as_str()));
        for uid in uids {
            self.held_since.entry((id.clone(), uid.to_owned())).or_insert(self.revision);
        }
    }

    /// The pods of a gang.
    fn members<'a>(&'a self, id: &'a GangName) -> impl Iterator<Item = (&'a Name, &'a Pod)> {
        let first = (id.namespace.clone(), String::new());
        let here = self.pods.range(first..).take_while(move |((namespace, _), _)| *namespace == id.namespace);
        here.filter(move |(_, pod)| pod.gang.as_ref() == Some(id))
    }

    /// How many pods of a leaf stand, or have succeeded.
    fn counted(&self, id: &GangName, leaf: &str) -> usize {
        self.members(id).filter(|(_, pod)| pod.leaf == leaf && pod.counts()).count()
    }

    /// Whether the minimum of a gang has nodes.
    fn is_whole(&self, id: &GangName) -> bool {
        let Some(gang) = self.gangs.get(id) else { return false };
        gang.leaves.iter().all(|(leaf, it)| self.counted(id, leaf) >= it.min)
    }

    /// The priority of a gang.
    fn priority(&self, id: &GangName) -> i64 {
        let otherwise = if id.kind == "PodGroup" { 50 } else { 0 };
        let class = self.gangs.get(id).and_then(|gang| gang.class.as_ref());
        class.and_then(|class| self.classes.get(class)).copied().unwrap_or(otherwise)
    }

    /// The priority of a pod: its gang's, if it has one.
    fn priority_of(&self, pod: &Pod) -> i64 {
        pod.gang.as_ref().map_or(pod.priority, |gang| self.priority(gang))
    }

    /// Where a node is at a level: the labels from the widest level down to this one. Nothing if one is missing.
    fn domain(&self, node: &str, key: &str) -> Option<Vec<&str>> {
        let node = self.nodes.get(node)?;
        let levels = self.topologies.values().find(|keys| keys.iter().any(|level| level == key))?;
        let mut path = Vec::new();
        for level in levels {
            path.push(node.labels.get(level)?.as_str());
            if level == key {
                return Some(path);
            }
        }
        None
    }

    /// Places that are held for a gang at this moment: neither expired nor given up, and no more than can come back.
    fn held<'a>(&'a self, id: &'a GangName) -> Vec<&'a record::Place> {
        let Some(gang) = self.gangs.get(id) else { return Vec::new() };
        let Some(record) = gang.kept() else { return Vec::new() };
        let mut left: BTreeMap<&str, usize> = BTreeMap::new();
        for (leaf, it) in &gang.leaves {
            let placed = self.members(id).filter(|(_, pod)| pod.leaf == *leaf && pod.stands()).count();
            let begun = record.members.iter().filter(|place| place.leaf == *leaf && self.is_begun(id, place)).count();
            left.insert(leaf, it.named.map_or(usize::MAX, |named| named.saturating_sub(placed + begun)));
        }
        let fresh = record.held.iter().filter(|(until, _)| *until > self.now).map(|(_, place)| place);
        let open = fresh.filter(|place| match left.get_mut(place.leaf.as_str()) {
            Some(left) => std::mem::replace(left, left.saturating_sub(1)) > 0,
            None => false,
        });
        open.collect()
    }

    /// Whether the pod of a place is there and has no node yet.
    fn is_begun(&self, id: &GangName, place: &record::Place) -> bool {
        let pod = self.pods.get(&(id.namespace.clone(), place.pod.clone()));
        pod.is_some_and(|pod| pod.uid.starts_with(&place.uid) && pod.waits())
    }
}
