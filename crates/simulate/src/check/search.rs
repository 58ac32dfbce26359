//! Whether a gang that waits has a place: a plain search, one pod after the other, every node in turn.
//!
//! It is complete within its bound: what it finds is a place, and what it does not find within the bound counts as unknown.

use std::collections::BTreeMap;

use super::Checker;
use super::amounts::{self, Amounts};
use super::model::{Gang, GangName, Name, Pod};

/// How many places are tried.
const STEPS: usize = 200_000;

/// A level and where it is pinned: nothing as long as nobody of those that it ties together has a place.
struct Tie {
    key: String,
    /// For each pod that is to be placed whether it is tied.
    pods: Vec<bool>,
    pin: Option<Vec<String>>,
}

/// A search under way.
struct Search<'a> {
    checker: &'a Checker,
    pods: Vec<(&'a Name, &'a Pod)>,
    nodes: Vec<&'a str>,
    free: BTreeMap<&'a str, Amounts>,
    ties: Vec<Tie>,
    places: Vec<usize>,
    steps: usize,
}

impl Checker {
    /// Whether a pod of a gang could be on this node.
    pub(super) fn has_room(&self, id: &GangName, node: &str, request: &Amounts) -> bool {
        let free = self.free(Some(id), self.priority(id));
        free.get(node).is_some_and(|free| amounts::lacks(free, request).is_none())
    }

    /// Where a pod that is in no gang could go.
    pub(super) fn finds_node(&self, pod: &Pod) -> Option<&str> {
        let free = self.free(None, pod.priority);
        free.into_iter().find(|(_, free)| amounts::lacks(free, &pod.request).is_none()).map(|(node, _)| node)
    }

    /// Where the members of a gang could go that wait: those that its minimum lacks, or, if it lacks none, any one of them. Nothing if it
    /// does not wait, is not ready, or no place was found.
    pub(super) fn finds_place(&self, id: &GangName) -> Option<Vec<(String, String)>> {
        let gang = self.gangs.get(id)?;
        if !self.is_ready(id, gang) {
            return None;
        }
        let mut lacking = Vec::new();
        for (leaf, it) in &gang.leaves {
            let lacks = it.min.saturating_sub(self.counted(id, leaf));
            let waiting = self.waiting(id, leaf);
            if waiting.len() < lacks {
                return None;
            }
            lacking.extend(waiting.into_iter().take(lacks));
        }
        if !lacking.is_empty() {
            return self.search(id, gang, lacking);
        }
        gang.leaves.keys().find_map(|leaf| self.search(id, gang, self.waiting(id, leaf).into_iter().take(1).collect()))
    }

    /// Members of a leaf that may get a node.
    fn waiting<'a>(&'a self, id: &'a GangName, leaf: &str) -> Vec<(&'a Name, &'a Pod)> {
        self.members(id).filter(|(_, pod)| pod.leaf == leaf && pod.may_go()).collect()
    }

    fn is_ready(&self, id: &GangName, gang: &Gang) -> bool {
        let base = gang.base.as_ref().map(|base| GangName { name: base.clone(), ..id.clone() });
        let is_free = !gang.is_deleting && gang.disrupted.is_none();
        // A gang that stands nowhere waits for all of its pods, so that its domain is chosen for all.
        let is_held_up = self.members(id).any(|(_, pod)| pod.waits() && pod.is_gated)
            && !self.members(id).any(|(_, pod)| pod.stands());
        let is_complete = id.kind == "PodGroup" || gang.is_initialized && !is_held_up;
        is_free && is_complete && base.is_none_or(|base| self.is_whole(&base))
    }

    /// What is free on nodes that take pods, for a gang of this priority: less what is on them, what was begun, and what is held.
    fn free(&self, id: Option<&GangName>, priority: i64) -> BTreeMap<&str, Amounts> {
        let open = self.nodes.iter().filter(|(_, node)| node.is_open);
        let mut free: BTreeMap<&str, Amounts> =
            open.map(|(name, node)| (name.as_str(), node.allocatable.clone())).collect();
        let mut charge = |node: &str, request: &Amounts| {
            if let Some(free) = free.get_mut(node) {
                amounts::take(free, request);
            }
        };
        for pod in self.pods.values().filter(|pod| pod.is_charged()) {
            charge(pod.node.as_deref().unwrap_or_default(), &pod.request);
        }
        for (other, gang) in self.gangs.iter().filter(|(other, _)| Some(*other) != id) {
            let record = gang.record.iter().flat_map(|record| &record.members);
            record.filter(|place| self.is_begun(other, place)).for_each(|place| charge(&place.node, &place.request));
            if self.priority(other) >= priority {
                self.held(other).into_iter().for_each(|place| charge(&place.node, &place.request));
            }
        }
        free
    }

    fn search<'a>(
        &'a self,
        id: &'a GangName,
        gang: &'a Gang,
        pods: Vec<(&'a Name, &'a Pod)>,
    ) -> Option<Vec<(String, String)>> {
        if pods.is_empty() {
            return None;
        }
        let free = self.free(Some(id), self.priority(id));
        let nodes = free.keys().copied().collect();
        let ties = self.ties(id, gang, &pods)?;
        let mut search = Search { checker: self, pods, nodes, free, ties, places: Vec::new(), steps: 0 };
        search.go_on().then(|| {
            let named = search.pods.iter().zip(&search.places);
            named.map(|((name, _), node)| (name.1.clone(), search.nodes[*node].to_owned())).collect()
        })
    }

    /// The levels that bind these pods, pinned where others are; nothing if those are apart.
    fn ties(&self, id: &GangName, gang: &Gang, pods: &[(&Name, &Pod)]) -> Option<Vec<Tie>> {
        let mut ties = Vec::new();
        for scope in &gang.scopes {
            let covers = |leaf: &str| scope.covers(leaf);
            let pods: Vec<bool> = pods.iter().map(|(_, pod)| covers(&pod.leaf)).collect();
            ties.push(Tie { key: scope.key.clone(), pods, pin: self.pin(id, &covers, &scope.key)? });
        }
        if let Some(base) = &gang.base {
            let base = GangName { name: base.clone(), ..id.clone() };
            for scope in self.gangs.get(&base)?.scopes.iter().filter(|scope| scope.leaves.is_none()) {
                let pin = self.pin(&base, &|_| true, &scope.key)?;
                ties.push(Tie { key: scope.key.clone(), pods: vec![true; pods.len()], pin });
            }
        }
        Some(ties)
    }

    /// Where those are that a level ties together; the outer nothing if they are apart, or nowhere.
    #[allow(clippy::option_option, reason = "nobody there, and apart, are two things")]
    fn pin(&self, id: &GangName, covers: &dyn Fn(&str) -> bool, key: &str) -> Option<Option<Vec<String>>> {
        let standing = self.members(id).filter(|(_, pod)| pod.stands() && covers(&pod.leaf));
        let standing = standing.map(|(_, pod)| pod.node.clone().unwrap_or_default());
        let held = self.held(id).into_iter().filter(|place| covers(&place.leaf)).map(|place| place.node.clone());
        let begun = self.gangs.get(id).and_then(|gang| gang.record.as_ref()).into_iter();
        let begun =
            begun.flat_map(|record| &record.members).filter(|place| covers(&place.leaf) && self.is_begun(id, place));
        let begun = begun.map(|place| place.node.clone());
        let mut pin: Option<Vec<String>> = None;
        for node in standing.chain(held).chain(begun) {
            let here: Vec<String> = self.domain(&node, key)?.into_iter().map(ToOwned::to_owned).collect();
            if pin.as_ref().is_some_and(|pin| *pin != here) {
                return None;
            }
            pin = Some(here);
        }
        Some(pin)
    }
}

impl Search<'_> {
    /// Places the next pod, and all that follow.
    fn go_on(&mut self) -> bool {
        let at = self.places.len();
        let Some(&(_, pod)) = self.pods.get(at) else { return true };
        // Pods that ask for the same in the same leaf are alike: the later one goes no further to the front.
        let is_alike = |(_, other): &&(&Name, &Pod)| other.leaf == pod.leaf && other.request == pod.request;
        let first = self.pods[..at].last().filter(is_alike).map_or(0, |_| self.places[at - 1]);
        for node in first..self.nodes.len() {
            self.steps += 1;
            if self.steps > STEPS {
                return false;
            }
            if let Some(pinned) = self.put(at, node) {
                if self.go_on() {
                    return true;
                }
                self.take_back(at, node, &pinned);
            }
        }
        false
    }

    /// Puts a pod on a node, if it can be there; which ties that pins.
    fn put(&mut self, at: usize, node: usize) -> Option<Vec<usize>> {
        let name = self.nodes[node];
        let free = self.free.get_mut(name)?;
        if amounts::lacks(free, &self.pods[at].1.request).is_some() {
            return None;
        }
        let mut pins = Vec::new();
        for (number, tie) in self.ties.iter().enumerate().filter(|(_, tie)| tie.pods[at]) {
            let here = self.checker.domain(name, &tie.key)?;
            match &tie.pin {
                Some(pin) if here.iter().ne(pin.iter()) => return None,
                Some(_) => {}
                None => pins.push((number, here.into_iter().map(ToOwned::to_owned).collect())),
            }
        }
        amounts::take(free, &self.pods[at].1.request);
        self.places.push(node);
        let pinned = pins.iter().map(|(number, _)| *number).collect();
        pins.into_iter().for_each(|(number, pin)| self.ties[number].pin = Some(pin));
        Some(pinned)
    }

    fn take_back(&mut self, at: usize, node: usize, pinned: &[usize]) {
        if let Some(free) = self.free.get_mut(self.nodes[node]) {
            amounts::add(free, &self.pods[at].1.request);
        }
        self.places.pop();
        pinned.iter().for_each(|number| self.ties[*number].pin = None);
    }
}
