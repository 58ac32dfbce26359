//! The rules a plan keeps, apart from its proofs.

use super::domains;
use super::ground::{self, Ground, Mode};
use super::held;
use crate::cluster::Place;
use crate::gang::{Gang, GroupId, Members, Pod};
use crate::plan::{Decision, Outcome};
use std::collections::{BTreeMap, BTreeSet};

/// All faults of a plan that has one decision for each gang.
pub(super) fn find(ground: &Ground<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    for number in 0..ground.gangs.len() {
        let mut own = OfGang::new(ground, number);
        own.places();
        own.outcome();
        own.levels();
        own.minima();
        own.base();
        own.reserved();
        let name = ground.gang_name(number);
        faults.extend(own.faults.into_iter().map(|fault| format!("{name}: {fault}")));
    }
    room(ground, &mut faults);
    held::faults(ground, &mut faults);
    faults
}

struct OfGang<'a> {
    ground: &'a Ground<'a>,
    number: usize,
    gang: &'a Gang,
    decision: &'a Decision,
    /// What the plan places, as far as it names pods and places that there are.
    placed: Vec<(&'a Pod, Place)>,
    faults: Vec<String>,
}

impl<'a> OfGang<'a> {
    fn new(ground: &'a Ground<'a>, number: usize) -> Self {
        let (gang, decision) = (&ground.gangs[number], &ground.plan.decisions[number]);
        Self { ground, number, gang, decision, placed: Vec::new(), faults: Vec::new() }
    }

    /// Each entry names a waiting pod, once, and a place that it may stand at.
    fn places(&mut self) {
        let cluster = self.ground.cluster;
        let closed = self.ground.closed_to(self.number);
        if !self.decision.placed.is_sorted() {
            self.faults.push("its placed pods are not sorted".to_owned());
        }
        let mut seen = BTreeSet::new();
        for (index, place) in &self.decision.placed {
            let Some(pod) = self.gang.pods.get(*index) else {
                self.faults.push(format!("there is no pod {index}"));
                continue;
            };
            let Some(node) = cluster.nodes.get(place.node as usize) else {
                self.faults.push(format!("pod {}: there is no node {}", pod.name, place.node));
                continue;
            };
            if !seen.insert(*index) {
                self.faults.push(format!("pod {} is placed twice", pod.name));
                continue;
            }
            let mut fault = |text: String| self.faults.push(format!("pod {} on node {}: {text}", pod.name, node.name));
            if pod.bound.is_some() {
                fault("it is bound already".to_owned());
                continue;
            }
            let allowed = cluster.eligibility.get(pod.eligibility).map(|kind| &kind.allowed);
            if !allowed.is_some_and(|allowed| allowed.contains(place.node as usize)) {
                fault("it may not run there".to_owned());
            }
            if closed.contains(place.node as usize) {
                fault("the node is reserved by a gang ahead".to_owned());
            }
            if place.zone.is_some_and(|zone| usize::from(zone) >= node.zones.len()) {
                fault(format!("there is no zone {}", place.zone.unwrap_or(0)));
                continue;
            }
            match (self.ground.mode(self.gang, pod.group), place.zone) {
                (Mode::Zone, None) => fault("its group requires a zone, and it has none".to_owned()),
                (Mode::ZoneIfAny, None) if !node.zones.is_empty() => {
                    fault("its group prefers a zone, the node has zones, and it has none".to_owned());
                }
                (Mode::Node, Some(_)) => fault("it has a zone, and no group of it asks for one".to_owned()),
                _ => {}
            }
            self.placed.push((pod, *place));
        }
    }

    fn outcome(&mut self) {
        if self.decision.outcome != Outcome::Placed && !self.decision.placed.is_empty() {
            self.faults.push("it has no place, and pods of it are placed".to_owned());
        }
        if self.gang.unready.is_some() && !matches!(self.decision.outcome, Outcome::CannotFit(_)) {
            self.faults.push("it is not ready, and the outcome is not that it cannot fit".to_owned());
        }
    }

    fn is_below(&self, leaf: GroupId, group: GroupId) -> bool {
        self.gang.ancestry(leaf).any(|above| above == group)
    }

    /// Where pods of a group stand, bound and placed, and where places are held for it, if the plan adds to them.
    fn extended(&self, group: GroupId) -> Option<Vec<Place>> {
        let added = self.placed.iter().filter(|(pod, _)| self.is_below(pod.group, group)).map(|(_, place)| *place);
        let mut places: Vec<Place> = added.collect();
        if places.is_empty() {
            return None;
        }
        let bound = self.gang.pods.iter().filter(|pod| self.is_below(pod.group, group));
        places.extend(bound.filter_map(|pod| pod.bound));
        let held = self.gang.holds.iter().filter(|hold| self.is_below(hold.group, group));
        places.extend(held.map(|hold| hold.place));
        Some(places)
    }

    /// Whether all places are in one domain of a level.
    fn together(&self, topology: usize, level: usize, places: &[Place]) -> bool {
        let key = |place: &Place| domains::key(self.ground.cluster, topology, level, *place);
        let Some(first) = places.first() else { return true };
        key(first).is_some() && places.iter().all(|place| key(place) == key(first))
    }

    /// Groups that the plan adds to are in one domain of their required level.
    fn levels(&mut self) {
        for (group, spec) in self.gang.groups.iter().enumerate() {
            let Some(constraint) = spec.constraint else { continue };
            let (Some(level), Some(places)) = (constraint.required, self.extended(group)) else { continue };
            if !self.together(constraint.topology, level, &places) {
                self.faults.push(format!("group {} is not in one domain of its required level", spec.name));
            }
        }
    }

    /// The root of a placed gang has its minimum, and nothing is placed in a group that does not.
    fn minima(&mut self) {
        let mut satisfied = vec![false; self.gang.groups.len()];
        for (group, spec) in self.gang.groups.iter().enumerate().rev() {
            satisfied[group] = match spec.members {
                Members::Groups { min } => self.gang.children(group).filter(|child| satisfied[*child]).count() >= min,
                Members::Pods { min } => {
                    let bound = self.gang.pods_of(group).filter(|(_, pod)| pod.bound.is_some()).count();
                    bound + self.placed.iter().filter(|(pod, _)| pod.group == group).count() >= min
                }
            };
        }
        if self.decision.outcome == Outcome::Placed && satisfied.first() == Some(&false) {
            self.faults.push("it is placed without its minimum".to_owned());
        }
        for (group, spec) in self.gang.groups.iter().enumerate() {
            if !satisfied[group] && self.extended(group).is_some() {
                self.faults.push(format!("group {} is not whole, and pods of it are placed", spec.name));
            }
        }
    }

    /// A scaled gang follows its base.
    fn base(&mut self) {
        let Some(base) = self.ground.bases[self.number] else { return };
        let Some(mut places) = self.extended(0) else { return };
        if !self.ground.is_there(base) {
            self.faults.push("pods of it are placed, and its base has no place".to_owned());
        }
        let constraint = self.ground.gangs[base].groups.first().and_then(|root| root.constraint);
        let Some((topology, level)) = constraint.and_then(|c| Some((c.topology, c.required?))) else { return };
        places.extend(self.ground.standing(base).map(|(_, place)| place));
        if !self.together(topology, level, &places) {
            self.faults.push("it is not in the domain of its base".to_owned());
        }
    }

    fn reserved(&mut self) {
        let reserved = &self.decision.reserved;
        if !reserved.is_sorted() || reserved.iter().any(|node| *node as usize >= self.ground.cluster.nodes.len()) {
            self.faults.push("its reserved nodes are not a sorted list of nodes".to_owned());
        }
        let may = self.gang.reserve && self.decision.outcome != Outcome::Placed;
        if !may && !reserved.is_empty() {
            self.faults.push("nodes are reserved for it, and it does not wait or does not reserve".to_owned());
        }
    }
}

/// Nothing that the plan adds goes beyond what there is. What was overcommitted before is no fault of the plan.
fn room(ground: &Ground<'_>, faults: &mut Vec<String>) {
    let cluster = ground.cluster;
    let mut nodes: BTreeMap<u32, Vec<i64>> = BTreeMap::new();
    let mut zones: BTreeMap<(u32, u16), Vec<i64>> = BTreeMap::new();
    let add = |sum: &mut Vec<i64>, pod: &Pod| {
        sum.resize(cluster.resources.len(), 0);
        for (sum, ask) in sum.iter_mut().zip(pod.request.iter()) {
            *sum = sum.saturating_add(*ask);
        }
    };
    for (gang, decision) in ground.gangs.iter().zip(&ground.plan.decisions) {
        for (pod, place) in &decision.placed {
            let (Some(pod), true) = (gang.pods.get(*pod), (place.node as usize) < cluster.nodes.len()) else {
                continue;
            };
            add(nodes.entry(place.node).or_default(), pod);
            if let Some(zone) = place.zone {
                add(zones.entry((place.node, zone)).or_default(), pod);
            }
        }
    }
    let free = ground::before(cluster, ground.gangs);
    for (node, sums) in nodes {
        let free = free.iter().skip(node as usize * cluster.resources.len());
        for ((sum, free), resource) in sums.iter().zip(free).zip(&cluster.resources) {
            if *sum > 0 && sum > free {
                let name = &cluster.nodes[node as usize].name;
                faults.push(format!("node {name}: {sum} of {resource} is placed, and {free} is free"));
            }
        }
    }
    for ((node, zone), sums) in zones {
        let node = &cluster.nodes[node as usize];
        let Some(zone) = node.zones.get(usize::from(zone)) else { continue };
        for ((sum, left), resource) in sums.iter().zip(&zone.available).zip(&cluster.resources) {
            if let Some(left) = left
                && *sum > 0
                && sum > left
            {
                let text = format!("{sum} of {resource} is placed, and {left} is left");
                faults.push(format!("node {}, zone {}: {text}", node.name, zone.name));
            }
        }
    }
}
