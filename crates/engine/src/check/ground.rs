//! The cluster as the plan leaves it: what is free, who goes before whom, and what is kept for whom.

use super::domains::Index;
use crate::cluster::{Cluster, NodeId, Place};
use crate::gang::{Gang, GangName, GroupId, Hold, Members, Unready};
use crate::plan::{Outcome, Plan};
use fixedbitset::FixedBitSet;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::cmp::Reverse;

/// How pods of a leaf stand on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Mode {
    /// On the node as a whole.
    Node,
    /// In a zone where the node has zones, else on the node as a whole.
    ZoneIfAny,
    /// In a zone.
    Zone,
}

pub(super) struct Ground<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) gangs: &'a [Gang],
    pub(super) plan: &'a Plan,
    /// The base of each gang, if it is in the problem.
    pub(super) bases: Vec<Option<usize>>,
    /// The place of each gang in the order.
    pub(super) ranks: Vec<usize>,
    /// What the plan leaves free, holds not counted.
    room: Room<'a>,
    /// For each gang the holds that no pod uses up.
    pub(super) held: Vec<Vec<&'a Hold>>,
    index: OnceCell<Index>,
}

/// What is free on nodes and in zones.
#[derive(Clone)]
pub(super) struct Room<'a> {
    cluster: &'a Cluster,
    /// On each node, resource by resource; below 0 if overcommitted.
    free: Vec<i64>,
    /// In zones that something was taken of; others are as the cluster says.
    zones: FxHashMap<(NodeId, u16), Vec<Option<i64>>>,
}

impl<'a> Ground<'a> {
    pub(super) fn new(cluster: &'a Cluster, gangs: &'a [Gang], plan: &'a Plan) -> Self {
        let bases = bases(gangs);
        let ranks = ranks(gangs, &bases);
        let mut room = Room { cluster, free: before(cluster, gangs), zones: FxHashMap::default() };
        for (gang, decision) in gangs.iter().zip(&plan.decisions) {
            for (pod, place) in &decision.placed {
                if let Some(pod) = gang.pods.get(*pod) {
                    room.take(*place, &pod.request);
                }
            }
        }
        let placed = |number: usize| plan.decisions.get(number).map_or(&[][..], |decision| &decision.placed);
        let held = gangs.iter().enumerate().map(|(number, gang)| super::held::unused(gang, placed(number))).collect();
        Self { cluster, gangs, plan, bases, ranks, room, held, index: OnceCell::new() }
    }

    /// What the plan leaves to a gang: less the holds of others whose priority is not lower.
    pub(super) fn room_for(&self, gang: usize) -> Cow<'_, Room<'a>> {
        let mut room = Cow::Borrowed(&self.room);
        for (owner, held) in self.held.iter().enumerate() {
            if owner != gang && self.gangs[owner].priority >= self.gangs[gang].priority {
                held.iter().for_each(|hold| room.to_mut().take(hold.place, &hold.request));
            }
        }
        room
    }

    /// The domains; worked out when first asked for, since plans without proofs do well without.
    pub(super) fn index(&self) -> &Index {
        self.index.get_or_init(|| Index::new(self.cluster))
    }

    /// Nodes that gangs ahead of this one reserve, but for those on which it has holds.
    pub(super) fn closed_to(&self, gang: usize) -> FixedBitSet {
        let mut closed = FixedBitSet::with_capacity(self.cluster.nodes.len());
        for (other, decision) in self.plan.decisions.iter().enumerate().take(self.gangs.len()) {
            if self.ranks[other] < self.ranks[gang] {
                let nodes = decision.reserved.iter().map(|node| *node as usize);
                closed.extend(nodes.filter(|node| *node < self.cluster.nodes.len()));
            }
        }
        for hold in self.gangs[gang].holds.iter().filter(|hold| (hold.place.node as usize) < self.cluster.nodes.len()) {
            closed.set(hold.place.node as usize, false);
        }
        closed
    }

    /// Where a gang is, by leaf: pods that have a place, before the plan or by it, and all its holds.
    pub(super) fn standing(&self, gang: usize) -> impl Iterator<Item = (GroupId, Place)> {
        let pods = &self.gangs[gang].pods;
        let placed = self.plan.decisions.get(gang).map_or(&[][..], |decision| &decision.placed);
        let bound = pods.iter().filter_map(|pod| Some((pod.group, pod.bound?)));
        let bound = bound.chain(self.gangs[gang].holds.iter().map(|hold| (hold.group, hold.place)));
        let placed = placed.iter().filter_map(|(pod, place)| Some((pods.get(*pod)?.group, *place)));
        bound.chain(placed.filter(|(_, place)| (place.node as usize) < self.cluster.nodes.len()))
    }

    /// Whether a base is where others can follow it: by the plan, or because all that it must have runs already.
    pub(super) fn is_there(&self, base: usize) -> bool {
        let gang = &self.gangs[base];
        let bound = |leaf: GroupId| gang.pods_of(leaf).filter(|(_, pod)| pod.bound.is_some()).count();
        let mut whole = vec![false; gang.groups.len()];
        for (group, spec) in gang.groups.iter().enumerate().rev() {
            whole[group] = match spec.members {
                Members::Groups { min } => gang.children(group).filter(|child| whole[*child]).count() >= min,
                Members::Pods { min } => bound(group) >= min,
            };
        }
        let is_unknown = matches!(gang.unready, Some(Unready::UnknownTopology { .. } | Unready::UnknownLevel { .. }));
        let is_placed = self.plan.decisions.get(base).is_some_and(|decision| decision.outcome == Outcome::Placed);
        is_placed || whole.first() == Some(&true) && !is_unknown
    }

    pub(super) fn gang_name(&self, gang: usize) -> String {
        let id = &self.gangs[gang].id;
        format!("gang {}/{}", id.namespace, id.name)
    }

    /// How pods of a leaf stand on nodes: decided by it and the groups above it.
    pub(super) fn mode(&self, gang: &Gang, leaf: GroupId) -> Mode {
        let constraints = gang.ancestry(leaf).filter_map(|group| gang.groups[group].constraint);
        let modes = constraints.map(|constraint| {
            let is_zone = |level: Option<usize>| {
                level.is_some_and(|level| super::domains::is_zone(self.cluster, constraint.topology, level))
            };
            match (is_zone(constraint.required), is_zone(constraint.preferred)) {
                (true, _) => Mode::Zone,
                (false, true) => Mode::ZoneIfAny,
                (false, false) => Mode::Node,
            }
        });
        modes.max().unwrap_or(Mode::Node)
    }
}

impl Room<'_> {
    /// Takes a request off a place.
    fn take(&mut self, place: Place, request: &[i64]) {
        charge(&mut self.free, place.node, request, self.cluster.resources.len());
        let node = self.cluster.nodes.get(place.node as usize);
        let Some((zone, known)) = place.zone.and_then(|zone| Some((zone, node?.zones.get(usize::from(zone))?))) else {
            return;
        };
        let left = self.zones.entry((place.node, zone)).or_insert_with(|| known.available.clone());
        for (left, ask) in left.iter_mut().zip(request) {
            *left = left.map(|left| left.saturating_sub(*ask));
        }
    }

    /// What is free on a node.
    pub(super) fn free(&self, node: NodeId) -> &[i64] {
        let width = self.cluster.resources.len();
        &self.free[node as usize * width..][..width]
    }

    /// What is left in a zone; `None` for what zones do not divide.
    pub(super) fn zone(&self, node: NodeId, zone: u16) -> &[Option<i64>] {
        match self.zones.get(&(node, zone)) {
            Some(left) => left,
            None => &self.cluster.nodes[node as usize].zones[usize::from(zone)].available,
        }
    }

    /// How many pods that ask for this a place takes by itself.
    pub(super) fn takes(&self, place: Place, request: &[i64]) -> u64 {
        let zone = place.zone.map(|zone| self.zone(place.node, zone));
        let free = self.free(place.node).iter().enumerate().map(|(resource, free)| {
            let divided = zone.and_then(|zone| zone.get(resource).copied().flatten());
            divided.map_or(*free, |divided| divided.min(*free))
        });
        let room = free.zip(request).filter(|(_, ask)| **ask > 0);
        room.map(|(free, ask)| u64::try_from(free / ask).unwrap_or(0)).min().unwrap_or(u64::MAX)
    }
}

/// What is free on each node before the plan: without occupants and the bound pods of all gangs.
pub(super) fn before(cluster: &Cluster, gangs: &[Gang]) -> Vec<i64> {
    let width = cluster.resources.len();
    let mut free: Vec<i64> = Vec::with_capacity(width * cluster.nodes.len());
    for node in &cluster.nodes {
        free.extend((0..width).map(|resource| node.allocatable.get(resource).copied().unwrap_or(0)));
    }
    for occupant in &cluster.occupants {
        charge(&mut free, occupant.node, &occupant.request, width);
    }
    for pod in gangs.iter().flat_map(|gang| &gang.pods) {
        if let Some(place) = pod.bound {
            charge(&mut free, place.node, &pod.request, width);
        }
    }
    free
}

/// Takes a request off what is free on a node.
fn charge(free: &mut [i64], node: NodeId, request: &[i64], width: usize) {
    let slots = free.iter_mut().skip(node as usize * width).take(width);
    for (free, ask) in slots.zip(request) {
        *free = free.saturating_sub(*ask);
    }
}

fn bases(gangs: &[Gang]) -> Vec<Option<usize>> {
    let numbers: FxHashMap<&GangName, usize> = gangs.iter().enumerate().map(|(k, gang)| (&gang.id, k)).collect();
    let base = |(k, gang): (usize, &Gang)| numbers.get(gang.base.as_ref()?).copied().filter(|base| *base != k);
    gangs.iter().enumerate().map(base).collect()
}

/// The order of the gangs: by priority, age and name; a base that would come after a gang scaled from it is taken right
/// before that one.
fn ranks(gangs: &[Gang], bases: &[Option<usize>]) -> Vec<usize> {
    let mut sorted: Vec<usize> = (0..gangs.len()).collect();
    sorted.sort_by_key(|k| (Reverse(gangs[*k].priority), gangs[*k].created, &gangs[*k].id));
    let mut ranks = vec![None; gangs.len()];
    let mut next = 0;
    for gang in sorted {
        let mut ahead = vec![gang];
        // Gangs that are each other's base are not gone through twice.
        while let Some(base) = bases[ahead[ahead.len() - 1]].filter(|base| !ahead.contains(base)) {
            ahead.push(base);
        }
        for gang in ahead.into_iter().rev() {
            ranks[gang].get_or_insert_with(|| {
                next += 1;
                next
            });
        }
    }
    ranks.into_iter().map(Option::unwrap_or_default).collect()
}
