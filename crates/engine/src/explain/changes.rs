//! What would make a waiting gang fit. Each change is tried before it is told.

use super::apply::{apply, largest, size, smaller};
use super::part::Part;
use super::waiting::{Binding, Candidate, Explainer, would_fit};
use super::{Change, EmptyCluster, Relaxation, words};
use crate::cluster::NodeId;
use crate::domains::NONE;
use crate::gang::{Gang, GroupId, Members};
use crate::plan::Options;
use crate::proof::DomainId;

/// Gangs that are tried one by one to be gone.
const MOST_VICTIMS: usize = 8;
/// Domains that are tried with more nodes, more labels or fewer taints.
const MOST_DOMAINS: usize = 4;
/// Up to so many gangs times nodes, every change is confirmed by planning all gangs with it.
const QUICK: usize = 20_000;
/// Into each of these plans goes so small a part of the effort for families.
const CONFIRMING: u64 = 40;
/// More nodes than this are no help to anybody.
const MOST_NODES: usize = 1024;

impl Explainer<'_> {
    /// The smallest changes of each sort that help.
    pub(super) fn changes(
        &mut self,
        index: usize,
        gang: &Gang,
        anchor: Option<DomainId>,
        binding: &Binding,
        candidates: &[Candidate],
        empty: EmptyCluster,
    ) -> Vec<Relaxation> {
        let mut changes: Vec<Change> = Vec::new();
        changes.extend(self.wider(gang, anchor, binding));
        let most = candidates.iter().map(|candidate| candidate.fits).max().unwrap_or(0);
        changes.extend(self.fewer(gang, anchor, binding, most));
        if empty == EmptyCluster::Fits {
            changes.extend(self.gone(index, gang, anchor, binding, candidates));
        }
        // A part of a cluster knows no base.
        if anchor.is_none() {
            changes.extend(self.more_nodes(gang, binding, candidates));
            changes.extend(self.untainted(gang, binding, candidates));
            changes.extend(self.labelled(gang, binding, candidates));
        }
        self.keep_confirmed(index, &mut changes);
        let snapshot = &*self.snapshot;
        let tell = |change: Change| Relaxation { text: words::change(snapshot, gang, &change), change };
        changes.into_iter().map(tell).collect()
    }

    /// Where that is quickly done, all gangs are planned anew with each change: one that others would use up is none.
    fn keep_confirmed(&self, index: usize, changes: &mut Vec<Change>) {
        let cluster = &self.snapshot.cluster;
        if self.gangs.len() < 2 || self.gangs.len() * cluster.nodes.len() > QUICK {
            return;
        }
        // There are many plans to make, and where bases would best go is seldom what a change hangs on.
        let options = Options { effort: self.options.effort / CONFIRMING, ..self.options };
        let mut confirmed = Vec::new();
        for change in changes.drain(..) {
            let mut change = change;
            for _ in 0..4 {
                let (changed, gangs) = apply(cluster, self.gangs, index, &change);
                let plan = crate::plan::plan(&changed, &gangs, options);
                let at = gangs.iter().position(|gang| gang.id == self.gangs[index].id);
                if at.is_some_and(|at| plan.decisions[at].outcome == crate::plan::Outcome::Placed) {
                    confirmed.push(change);
                    break;
                }
                // Others took some of the nodes.
                let Change::AddNodes { count, .. } = &mut change else { break };
                *count += 1;
            }
        }
        *changes = confirmed;
    }

    /// One group's level made wider, as little as helps.
    fn wider(&mut self, gang: &Gang, anchor: Option<DomainId>, binding: &Binding) -> Option<Change> {
        let (_, from) = binding.required?;
        let levels = (0..from).rev().map(Some).chain([None]);
        for to in levels {
            let mut changed = gang.clone();
            if let Some(constraint) = &mut changed.groups[binding.group].constraint {
                constraint.required = to;
            }
            if self.would_fit(&changed, anchor) {
                return Some(Change::WidenLevel { group: binding.group, from, to });
            }
        }
        None
    }

    /// One leaf made smaller, as little as helps.
    fn fewer(&mut self, gang: &Gang, anchor: Option<DomainId>, binding: &Binding, most_fit: u64) -> Option<Change> {
        let inside = |leaf: &GroupId| gang.ancestry(*leaf).any(|above| above == binding.group);
        let needs = |leaf: GroupId| match gang.groups[leaf].members {
            Members::Pods { min } => {
                min.saturating_sub(gang.pods_of(leaf).filter(|(_, pod)| pod.bound.is_some()).count())
            }
            Members::Groups { .. } => 0,
        };
        let mut leaves: Vec<GroupId> = (0..gang.groups.len()).filter(inside).filter(|leaf| needs(*leaf) > 0).collect();
        leaves.sort_by_key(|leaf| (std::cmp::Reverse(needs(*leaf)), *leaf));
        leaves.into_iter().take(3).find_map(|leaf| {
            let most = needs(leaf);
            // At least one pod stays, or there is nothing left to place.
            let most = if gang.pods_of(leaf).count() <= most { most - 1 } else { most };
            // For pods of one kind the number follows from the counts.
            let guess = usize::try_from(binding.needs.saturating_sub(most_fit)).unwrap_or(most).clamp(1, most.max(1));
            if guess < most && self.would_fit(&smaller(gang, leaf, guess), anchor) {
                if guess == 1 || !self.would_fit(&smaller(gang, leaf, guess - 1), anchor) {
                    return Some(Change::FewerPods { group: leaf, count: guess as u64 });
                }
            } else if most == 0 || !self.would_fit(&smaller(gang, leaf, most), anchor) {
                return None;
            }
            let (mut too_few, mut enough) = (0, most);
            while enough - too_few > 1 {
                let middle = too_few.midpoint(enough);
                if self.would_fit(&smaller(gang, leaf, middle), anchor) {
                    enough = middle;
                } else {
                    too_few = middle;
                }
            }
            Some(Change::FewerPods { group: leaf, count: enough as u64 })
        })
    }

    /// A gang of lower priority that holds what is missing.
    fn gone(
        &mut self,
        index: usize,
        gang: &Gang,
        anchor: Option<DomainId>,
        binding: &Binding,
        candidates: &[Candidate],
    ) -> Option<Change> {
        let topology = binding.required.map_or(0, |(topology, _)| topology);
        let victims = self.victims(index, candidates, topology);
        let base = gang.base.as_ref();
        for who in victims.into_iter().take(MOST_VICTIMS) {
            let victim = &self.gangs[who];
            if base == Some(&victim.id) || !self.is_placed(who) {
                continue;
            }
            let placed = self.placed(who);
            self.snapshot.remove_bound(victim);
            placed.iter().for_each(|(pod, place)| self.snapshot.remove(*place, &victim.pods[*pod].request));
            let fits = self.would_fit(gang, anchor);
            placed.iter().for_each(|(pod, place)| self.snapshot.add(*place, &victim.pods[*pod].request));
            self.snapshot.add_bound(victim);
            if fits {
                return Some(Change::RemoveGang { gang: victim.id.clone() });
            }
        }
        None
    }

    /// The nodes that matter when something changes in a domain: those of the root's domain around it, or all.
    fn around(&self, gang: &Gang, topology: usize, domain: u32) -> Vec<NodeId> {
        let root = gang.groups[0].constraint.filter(|constraint| constraint.topology == topology);
        let domains = &self.snapshot.domains[topology];
        match root.and_then(|constraint| constraint.required) {
            Some(level) if level <= usize::from(domains.level[domain as usize]) => {
                domains.nodes(domains.up(domain, level)).to_vec()
            }
            _ => (0..crate::domains::index(self.snapshot.cluster.nodes.len())).collect(),
        }
    }

    fn helps(&self, part: &Part<'_>, gang: &Gang) -> bool {
        let Some((mut snapshot, gang)) = part.problem(gang) else { return false };
        would_fit(&mut snapshot, &gang, None, self.options.budget)
    }

    /// More nodes in the domain that comes closest.
    fn more_nodes(&self, gang: &Gang, binding: &Binding, candidates: &[Candidate]) -> Option<Change> {
        // Where nothing binds, nodes go to a domain of the widest level that is asked for.
        let asked = binding.required.or_else(|| {
            let constraints = gang.groups.iter().filter_map(|group| group.constraint);
            constraints.filter_map(|it| Some((it.topology, it.required?))).min_by_key(|(_, level)| *level)
        });
        let places: Vec<Option<(usize, u32)>> = match (binding.required, asked) {
            (Some((topology, _)), _) => {
                candidates.iter().filter_map(|it| Some(Some((topology, it.domain?)))).take(MOST_DOMAINS).collect()
            }
            (None, Some((topology, level))) => {
                let range = self.snapshot.domains[topology].range(level);
                let nodes = |domain: &u32| self.snapshot.domains[topology].nodes(*domain).len();
                range.max_by_key(nodes).map(|domain| Some((topology, domain))).into_iter().collect()
            }
            (None, None) => vec![None],
        };
        places.into_iter().find_map(|place| {
            // Zones come with their nodes, and hosts are nodes.
            let place = place.and_then(|(topology, mut domain)| {
                let domains = &self.snapshot.domains[topology];
                while domains.is_zone(domain) || domains.is_host(domain) {
                    domain = Some(domains.parent[domain as usize]).filter(|above| *above != NONE)?;
                }
                Some((topology, domain))
            });
            self.more_nodes_in(gang, binding, candidates, place)
        })
    }

    fn more_nodes_in(
        &self,
        gang: &Gang,
        binding: &Binding,
        candidates: &[Candidate],
        place: Option<(usize, u32)>,
    ) -> Option<Change> {
        let cluster = &self.snapshot.cluster;
        let (nodes, own): (Vec<NodeId>, Vec<NodeId>) = match place {
            Some((topology, domain)) => {
                (self.around(gang, topology, domain), self.snapshot.domains[topology].nodes(domain).to_vec())
            }
            None => {
                let all: Vec<NodeId> = (0..crate::domains::index(cluster.nodes.len())).collect();
                (all.clone(), all)
            }
        };
        let request = &gang.pods.iter().find(|pod| pod.bound.is_none())?.request;
        let like = largest(cluster, gang, &own)?;
        let path: Vec<&str> = place
            .map_or(Vec::new(), |(topology, domain)| self.snapshot.domains[topology].values(cluster, topology, domain));
        let is_host_below = place.is_some_and(|(topology, domain)| self.snapshot.domains[topology].has_hosts(domain));
        let topology = place.map_or(0, |(topology, _)| topology);
        let helps = |count: usize| {
            let mut part = Part::of(self.snapshot, nodes.iter().copied());
            part.add(like, topology, (&path, is_host_below), count);
            self.helps(&part, gang)
        };
        // For pods of one kind the number follows from the count; a guess for others.
        let fits = candidates.iter().find(|it| it.domain == place.map(|(_, domain)| domain)).map_or(0, |it| it.fits);
        let missing = binding.needs.saturating_sub(fits).max(1);
        let each = u64::try_from(size(cluster, request, like)).unwrap_or(0).max(1);
        let guess = usize::try_from(missing.div_ceil(each)).unwrap_or(MOST_NODES).clamp(1, MOST_NODES);
        let (mut too_few, mut enough) = (0, guess);
        while !helps(enough) {
            too_few = enough;
            enough *= 2;
            if enough > 4 * guess + 8 || enough > MOST_NODES {
                return None;
            }
        }
        // Just enough by the guess is least by the count; otherwise look for less.
        while enough - too_few > 1 {
            let middle = if too_few == 0 { enough - 1 } else { too_few.midpoint(enough) };
            if helps(middle) {
                enough = middle;
            } else {
                too_few = middle;
            }
        }
        let domain =
            place.map(|(topology, index)| DomainId { topology: u16::try_from(topology).unwrap_or(u16::MAX), index });
        Some(Change::AddNodes { domain, count: enough as u64 })
    }

    /// Nodes that only a taint, a cordon or a missing readiness closes.
    fn untainted(&self, gang: &Gang, binding: &Binding, candidates: &[Candidate]) -> Option<Change> {
        let mut kinds: Vec<usize> =
            gang.pods.iter().filter(|pod| pod.bound.is_none()).map(|pod| pod.eligibility).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let eligibility = &self.snapshot.cluster.eligibility;
        if kinds.iter().all(|kind| eligibility[*kind].barred.is_clear()) {
            return None;
        }
        let is_barred = |node: &NodeId| kinds.iter().any(|kind| eligibility[*kind].barred.contains(*node as usize));
        let topology = binding.required.map_or(0, |(topology, _)| topology);
        let mut domains: Vec<Option<u32>> = candidates.iter().map(|candidate| candidate.domain).collect();
        if domains.is_empty() {
            domains.push(None);
        }
        let with_barred = domains.into_iter().filter_map(|domain| {
            let (around, own): (Vec<NodeId>, Vec<NodeId>) = match domain {
                Some(domain) => {
                    (self.around(gang, topology, domain), self.snapshot.domains[topology].nodes(domain).to_vec())
                }
                None => {
                    let all: Vec<NodeId> = (0..crate::domains::index(self.snapshot.cluster.nodes.len())).collect();
                    (all.clone(), all)
                }
            };
            let barred: Vec<NodeId> = own.into_iter().filter(is_barred).collect();
            (!barred.is_empty()).then_some((around, barred))
        });
        with_barred.take(MOST_DOMAINS).find_map(|(around, barred)| {
            let mut part = Part::of(self.snapshot, around);
            let open = |part: &mut Part<'_>, node: NodeId, on: bool| part.open(node, on);
            let nodes = self.fewest(&mut part, gang, &barred, open)?;
            Some(Change::Untaint { count: nodes.len() as u64, nodes })
        })
    }

    /// Nodes outside all domains of the level that could be put into one by their labels.
    fn labelled(&self, gang: &Gang, binding: &Binding, candidates: &[Candidate]) -> Option<Change> {
        let (topology, level) = binding.required?;
        let domains = &self.snapshot.domains[topology];
        if domains.is_complete() || domains.zone_level == Some(level) {
            return None;
        }
        let outside: Vec<NodeId> = domains.outside(None, level).collect();
        candidates.iter().take(MOST_DOMAINS).find_map(|candidate| {
            let domain = candidate.domain?;
            let path = domains.values(&self.snapshot.cluster, topology, domain);
            // A node keeps the labels that it has: only those on the way to the domain can be completed.
            let fitting = outside.iter().copied().filter(|node| {
                let own = &self.snapshot.cluster.nodes[*node as usize].paths[topology];
                own.iter().zip(&path).all(|(own, wanted)| own == wanted)
            });
            let fitting: Vec<NodeId> = fitting.collect();
            let mut nodes = self.around(gang, topology, domain);
            nodes.extend(&fitting);
            nodes.sort_unstable();
            nodes.dedup();
            let mut part = Part::of(self.snapshot, nodes);
            let cluster = &self.snapshot.cluster;
            let chosen = self.fewest(&mut part, gang, &fitting, |part, node, on| {
                if on {
                    part.label(node, topology, &path);
                } else {
                    let own: Vec<&str> =
                        cluster.nodes[node as usize].paths[topology].iter().map(String::as_str).collect();
                    part.label(node, topology, &own);
                }
            })?;
            let id = DomainId { topology: u16::try_from(topology).unwrap_or(u16::MAX), index: domain };
            Some(Change::AddLabels { domain: id, count: chosen.len() as u64, nodes: chosen })
        })
    }

    /// Of some nodes as few as help, none of which can be left out.
    fn fewest(
        &self,
        part: &mut Part<'_>,
        gang: &Gang,
        nodes: &[NodeId],
        switch: impl Fn(&mut Part<'_>, NodeId, bool),
    ) -> Option<Vec<NodeId>> {
        nodes.iter().for_each(|node| switch(part, *node, true));
        if !self.helps(part, gang) {
            return None;
        }
        let mut kept: Vec<NodeId> = Vec::new();
        for &node in nodes {
            switch(part, node, false);
            if !self.helps(part, gang) {
                switch(part, node, true);
                kept.push(node);
            }
        }
        (!kept.is_empty()).then_some(kept)
    }
}
