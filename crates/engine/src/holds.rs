//! What is kept for members that come back: which holds a gang sees, and which of them are used up.
//!
//! A snapshot knows nothing of holds. Whoever plans or explains a gang has those charged that the gang sees, and takes
//! all of them off in the end.

use crate::cluster::{NodeId, Place};
use crate::gang::{Gang, GroupId, Hold};
use crate::snapshot::Snapshot;
use rustc_hash::FxHashMap;

/// The holds of all gangs, and whose are charged.
pub(crate) struct Holds<'a> {
    owners: Vec<Owner<'a>>,
    by_gang: FxHashMap<usize, usize>,
}

/// A gang that has holds.
struct Owner<'a> {
    gang: usize,
    priority: i32,
    /// Those that no pod has used up.
    open: Vec<&'a Hold>,
    is_charged: bool,
}

impl<'a> Holds<'a> {
    /// All holds, none of them charged.
    pub fn new(gangs: &'a [Gang]) -> Self {
        let mut owners = Vec::new();
        for (gang, it) in gangs.iter().enumerate().filter(|(_, it)| !it.holds.is_empty()) {
            owners.push(Owner { gang, priority: it.priority, open: it.holds.iter().collect(), is_charged: false });
        }
        let by_gang = owners.iter().enumerate().map(|(i, owner)| (owner.gang, i)).collect();
        Self { owners, by_gang }
    }

    /// Has those charged that a gang sees, and no others.
    pub fn show(&mut self, snapshot: &mut Snapshot, gangs: &[Gang], viewer: usize) {
        for owner in &mut self.owners {
            owner.charge(snapshot, owner.is_seen(gangs, viewer));
        }
    }

    /// Takes those of some gangs off.
    pub fn lift(&mut self, snapshot: &mut Snapshot, gangs: &[usize]) {
        let owners = self.owners.iter_mut().filter(|owner| gangs.contains(&owner.gang));
        owners.for_each(|owner| owner.charge(snapshot, false));
    }

    /// Takes all of them off.
    pub fn hide(&mut self, snapshot: &mut Snapshot) {
        self.owners.iter_mut().for_each(|owner| owner.charge(snapshot, false));
    }

    /// Tells what the plan places of a gang, in all. True if that gives back room that was held.
    pub fn place(&mut self, snapshot: &mut Snapshot, gang: &'a Gang, index: usize, placed: &[(usize, Place)]) -> bool {
        let Some(owner) = self.by_gang.get(&index).map(|owner| &mut self.owners[*owner]) else { return false };
        let (open, is_exact) = unused(gang, placed);
        let is_more = open.len() < owner.open.len() && !is_exact;
        let was_charged = owner.is_charged;
        owner.charge(snapshot, false);
        owner.open = open;
        owner.charge(snapshot, was_charged);
        is_more
    }

    /// Gives up the holds of a gang that is thought away. Only while none are charged.
    pub fn give_up(&mut self, gang: usize) {
        if let Some(owner) = self.by_gang.get(&gang) {
            self.owners[*owner].open.clear();
        }
    }

    /// The holds that a gang sees, with their owner.
    pub fn seen(&self, gangs: &[Gang], viewer: usize) -> impl Iterator<Item = (usize, &'a Hold)> {
        let owners = self.owners.iter().filter(move |owner| owner.is_seen(gangs, viewer));
        owners.flat_map(|owner| owner.open.iter().map(|hold| (owner.gang, *hold)))
    }
}

impl Owner<'_> {
    fn is_seen(&self, gangs: &[Gang], viewer: usize) -> bool {
        self.gang != viewer && self.priority >= gangs[viewer].priority
    }

    fn charge(&mut self, snapshot: &mut Snapshot, on: bool) {
        if std::mem::replace(&mut self.is_charged, on) == on {
            return;
        }
        for hold in &self.open {
            if on {
                snapshot.add(hold.place, &hold.request);
            } else {
                snapshot.remove(hold.place, &hold.request);
            }
        }
    }
}

/// The nodes on which a gang has holds, each once.
pub(crate) fn nodes(gang: &Gang) -> Vec<NodeId> {
    let mut nodes: Vec<NodeId> = gang.holds.iter().map(|hold| hold.place.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// The holds of a gang that the pods placed do not use up, and whether all that are used up have a pod in their stead that
/// takes as much at the same place.
fn unused<'a>(gang: &'a Gang, placed: &[(usize, Place)]) -> (Vec<&'a Hold>, bool) {
    let mut same: FxHashMap<(GroupId, Place, &[i64]), usize> = FxHashMap::default();
    for (pod, place) in placed {
        let pod = &gang.pods[*pod];
        *same.entry((pod.group, *place, &pod.request)).or_default() += 1;
    }
    let mut open: Vec<&Hold> = gang.holds.iter().collect();
    open.sort_unstable();
    open.retain(|hold| !take(&mut same, &(hold.group, hold.place, &*hold.request)));
    let before = open.len();
    let mut on_node: FxHashMap<(GroupId, NodeId), usize> = FxHashMap::default();
    for ((group, place, _), pods) in same {
        *on_node.entry((group, place.node)).or_default() += pods;
    }
    open.retain(|hold| !take(&mut on_node, &(hold.group, hold.place.node)));
    let mut anywhere: FxHashMap<GroupId, usize> = FxHashMap::default();
    for ((group, _), pods) in on_node {
        *anywhere.entry(group).or_default() += pods;
    }
    open.retain(|hold| !take(&mut anywhere, &hold.group));
    let is_exact = open.len() == before;
    (open, is_exact)
}

/// Takes one off a number, if there is one left.
fn take<K: std::hash::Hash + Eq>(counts: &mut FxHashMap<K, usize>, key: &K) -> bool {
    let Some(count) = counts.get_mut(key).filter(|count| **count > 0) else { return false };
    *count -= 1;
    true
}
