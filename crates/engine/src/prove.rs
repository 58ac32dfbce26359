//! Whether the minima fit at all: finds a placement of them, or refutes every one and keeps the refutation as a proof.

use crate::classes::Classes;
use crate::exact::Exact;
use crate::gang::GroupId;
use crate::job::Job;
use crate::proof::{Branch, Claim, DomainId};
use crate::snapshot::Zoning;
use crate::state::{Scope, State};
use std::cell::OnceCell;
use std::sync::Arc;

/// What came of it.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// The minima are placed in the state.
    Fits,
    /// They cannot be.
    Refuted(Claim),
    /// The budget is spent.
    Spent,
}

/// Splits with more candidates than this are thinned to one of each class.
const MANY_BRANCHES: usize = 24;
/// Sums are taken over at most so many nodes.
const MANY_NODES: usize = 4096;

/// A refutation in the making.
pub(crate) struct Prover<'a, 's, 'j> {
    pub state: &'a mut State<'s, 'j>,
    /// Made when first asked for.
    classes: OnceCell<Option<Arc<Classes>>>,
    /// Groups that must be placed: needed anyway, or chosen by a split over subsets.
    needed: Vec<bool>,
    /// Groups whose children have been chosen.
    is_settled: Vec<bool>,
}

impl<'a, 's, 'j> Prover<'a, 's, 'j> {
    pub fn new(state: &'a mut State<'s, 'j>) -> Self {
        let job = state.job;
        let mut needed = vec![false; job.groups.len()];
        job.needed().into_iter().for_each(|group| needed[group] = true);
        let is_settled = job.groups.iter().map(|group| group.min_children >= group.children.len()).collect();
        Self { state, classes: OnceCell::new(), needed, is_settled }
    }

    /// Finds a placement of the minima or refutes all.
    pub fn run(&mut self) -> Verdict {
        if !self.state.step() {
            return Verdict::Spent;
        }
        if let Some(claim) = self.refute() {
            return Verdict::Refuted(claim);
        }
        if let Some((group, candidates)) = self.next_split() {
            return self.split(group, &candidates);
        }
        let unsettled = (0..self.needed.len()).find(|group| self.needed[*group] && !self.is_settled[*group]);
        if let Some(group) = unsettled {
            return self.subsets(group);
        }
        self.pack()
    }

    fn job(&self) -> &'j Job<'j> {
        self.state.job
    }

    /// The needed group with the fewest candidates that can be split now.
    fn next_split(&self) -> Option<(GroupId, Vec<u32>)> {
        let job = self.job();
        let is_open = |group: GroupId| {
            let it = &job.groups[group];
            it.required.is_some() && self.state.confined[group].is_none() && self.need_below(group) > 0
        };
        let mut best: Option<(GroupId, Vec<u32>)> = None;
        let mut seen: Vec<usize> = Vec::new();
        for group in (0..job.groups.len()).filter(|group| self.needed[*group] && is_open(*group)) {
            let Some((topology, level)) = job.groups[group].required else { continue };
            let above_open = job.gang.ancestry(group).skip(1).any(is_open);
            let scope = self.state.scope(group);
            if above_open || seen.contains(&job.groups[group].profile) {
                continue;
            }
            seen.push(job.groups[group].profile);
            let candidates = self.state.domains_for(group, topology, level, &scope);
            if best.as_ref().is_none_or(|(_, known)| candidates.len() < known.len()) {
                best = Some((group, candidates));
            }
        }
        best
    }

    fn split(&mut self, group: GroupId, candidates: &[u32]) -> Verdict {
        let Some((topology, _)) = self.job().groups[group].required else { return Verdict::Spent };
        let mut branches = Vec::new();
        let thin = candidates.len() > MANY_BRANCHES;
        for &domain in candidates {
            if thin && !self.stands_first(topology, domain) {
                continue;
            }
            self.state.confined[group] = Some(domain);
            let verdict = self.run();
            match verdict {
                Verdict::Refuted(claim) => {
                    let topology = u16::try_from(topology).unwrap_or(u16::MAX);
                    branches.push(Branch { domain: DomainId { topology, index: domain }, claim });
                }
                other => return other,
            }
            self.state.confined[group] = None;
        }
        Verdict::Refuted(Claim::Split { group, branches })
    }

    fn stands_first(&mut self, topology: usize, domain: u32) -> bool {
        if self.classes.get().is_none() {
            let classes = Classes::kept(self.state.snapshot, self.state.job);
            self.classes.get_or_init(|| classes);
        }
        let classes = self.classes.get().and_then(Option::as_ref);
        classes.is_none_or(|classes| classes.stands_first(self.state, topology, domain))
    }

    fn subsets(&mut self, group: GroupId) -> Verdict {
        let children = self.job().groups[group].children.clone();
        let min = self.job().groups[group].min_children;
        self.is_settled[group] = true;
        let mut chosen: Vec<usize> = (0..min).collect();
        let mut choices = Vec::new();
        loop {
            let subset: Vec<GroupId> = chosen.iter().map(|i| children[*i]).collect();
            let before = self.needed.clone();
            self.need(&subset);
            let verdict = self.run();
            match verdict {
                Verdict::Refuted(claim) => choices.push((subset, claim)),
                other => return other,
            }
            self.needed = before;
            // The next choice in lexicographic order.
            let Some(at) = (0..min).rev().find(|i| chosen[*i] < children.len() - min + i) else { break };
            chosen[at] += 1;
            for i in at + 1..min {
                chosen[i] = chosen[i - 1] + 1;
            }
        }
        self.is_settled[group] = false;
        Verdict::Refuted(Claim::Subsets { group, choices })
    }

    /// Marks groups as needed, and what they cannot do without.
    fn need(&mut self, groups: &[GroupId]) {
        for &group in groups {
            self.needed[group] = true;
            let it = &self.job().groups[group];
            if it.min_children >= it.children.len() {
                self.need(&it.children.clone());
            }
        }
    }

    /// Pods that a group must get.
    fn need_below(&self, group: GroupId) -> usize {
        let leaves = self.job().groups[group].leaves.iter().filter(|leaf| self.needed[**leaf]);
        leaves.map(|leaf| self.job().groups[*leaf].need).sum()
    }

    fn needed_leaves(&self) -> Vec<GroupId> {
        let leaves = self.job().groups[0].leaves.iter().copied();
        leaves.filter(|leaf| self.needed[*leaf] && self.job().groups[*leaf].need > 0).collect()
    }

    /// All domains are chosen: what is left is to pack. Leaves that can meet nowhere are packed by themselves.
    fn pack(&mut self) -> Verdict {
        let leaves = self.needed_leaves();
        let parts = self.parts(&leaves);
        let before = self.state.puts.len();
        for part in parts {
            match Exact::pack(self.state, &part) {
                Some(true) => {}
                Some(false) => {
                    self.state.undo(before);
                    return Verdict::Refuted(Claim::Packing { leaves: part });
                }
                None => {
                    self.state.undo(before);
                    return Verdict::Spent;
                }
            }
        }
        Verdict::Fits
    }

    /// Leaves whose scopes share a node, together.
    fn parts(&self, leaves: &[GroupId]) -> Vec<Vec<GroupId>> {
        let mut parts: Vec<(Vec<GroupId>, Vec<u32>)> = Vec::new();
        for &leaf in leaves {
            let mut nodes = self.state.nodes_in(&self.state.scope(leaf));
            let mut part = vec![leaf];
            parts.retain(|(others, theirs)| {
                let apart = theirs.iter().all(|node| nodes.binary_search(node).is_err());
                if !apart {
                    part.extend(others);
                    nodes.extend(theirs);
                    nodes.sort_unstable();
                    nodes.dedup();
                }
                apart
            });
            part.sort_unstable();
            parts.push((part, nodes));
        }
        parts.into_iter().map(|(part, _)| part).collect()
    }

    /// A claim that closes this context by arithmetic.
    fn refute(&mut self) -> Option<Claim> {
        self.fault().or_else(|| self.count()).or_else(|| self.copies()).or_else(|| self.sums())
    }

    /// Something needed that no room helps.
    fn fault(&self) -> Option<Claim> {
        let job = self.job();
        (0..job.groups.len()).filter(|group| self.needed[*group]).find_map(|group| {
            if job.groups[group].is_apart {
                return Some(Claim::BoundApart { group });
            }
            let crate::gang::Members::Pods { min } = job.gang.groups[group].members else { return None };
            let have = job.gang.pods_of(group).count();
            (have < min).then_some(Claim::TooFewPods { leaf: group, have, need: min })
        })
    }

    fn count(&self) -> Option<Claim> {
        let job = self.job();
        let mut seen: Vec<(usize, Scope)> = Vec::new();
        self.needed_leaves().into_iter().find_map(|leaf| {
            let scope = self.state.scope(leaf);
            let profile = job.groups[leaf].profile;
            if seen.iter().any(|(known, at)| *known == profile && *at == scope) {
                return None;
            }
            let rooms = job.batches_of(leaf).iter();
            let rooms = rooms.map(|batch| self.state.room(*batch, &scope).min(self.state.left[*batch] as u64));
            let (fits, need) = (rooms.sum(), job.groups[leaf].need as u64);
            seen.push((profile, scope));
            (fits < need).then_some(Claim::Count { leaf, fits, need })
        })
    }

    /// Groups of one level that the domains together cannot take.
    fn copies(&self) -> Option<Claim> {
        let job = self.job();
        let mut tried: Vec<(Option<GroupId>, usize, usize)> = Vec::new();
        for first in (0..job.groups.len()).filter(|group| self.needed[*group]) {
            let parent = job.groups[first].parent;
            let Some((topology, level)) = job.groups[first].required else { continue };
            if tried.contains(&(parent, topology, level)) {
                continue;
            }
            tried.push((parent, topology, level));
            let is_one = |group: &GroupId| {
                let it = &job.groups[*group];
                self.needed[*group]
                    && it.parent == parent
                    && it.required == Some((topology, level))
                    && it.bound.is_empty()
                    && self.state.confined[*group].is_none()
                    && self.need_below(*group) > 0
            };
            let groups: Vec<GroupId> = (first..job.groups.len()).filter(is_one).collect();
            let above_open = job
                .gang
                .ancestry(first)
                .skip(1)
                .any(|above| job.groups[above].required.is_some() && self.state.confined[above].is_none());
            if groups.len() < 2 || above_open {
                continue;
            }
            let needs = self.needs_by_kind(&groups);
            let scope = self.state.scope(groups[0]);
            let domains = self.state.domains_for(groups[0], topology, level, &scope);
            let most = |room: &dyn Fn(usize) -> u64| {
                let each = needs.iter().map(|(batch, sorted)| {
                    let room = room(*batch);
                    let mut sum = 0;
                    let fit = sorted.iter().take_while(|need| {
                        sum += **need;
                        sum <= room
                    });
                    fit.count() as u64
                });
                each.min().unwrap_or(groups.len() as u64)
            };
            let snapshot = &self.state.snapshot;
            let inside = |domain: u32| self.state.narrowed_to(&scope, topology, domain);
            let takes = |domain: u32| most(&|batch| self.state.room(batch, &inside(domain)));
            let fits: u64 = if snapshot.domains[topology].zone_level == Some(level) {
                // Zones share what their node has.
                let node = |domain: &u32| snapshot.domains[topology].place(*domain).node;
                let by_node = domains.chunk_by(|a, b| node(a) == node(b)).map(|zones| {
                    let on_node =
                        |batch: usize| u64::from(snapshot.kinds[job.batches[batch].kind].fit[node(&zones[0]) as usize]);
                    zones.iter().map(|zone| takes(*zone)).sum::<u64>().min(most(&on_node))
                });
                by_node.sum()
            } else {
                domains.iter().map(|domain| takes(*domain)).sum()
            };
            if fits < groups.len() as u64 {
                return Some(Claim::Copies { groups, fits });
            }
        }
        None
    }

    /// For each kind a batch of it, and what each group needs of it, least first.
    fn needs_by_kind(&self, groups: &[GroupId]) -> Vec<(usize, Vec<u64>)> {
        let job = self.job();
        let mut needs: Vec<(usize, Vec<u64>)> = Vec::new();
        for (position, group) in groups.iter().enumerate() {
            for &leaf in job.groups[*group].leaves.iter().filter(|leaf| self.needed[**leaf]) {
                let &[batch] = job.batches_of(leaf) else { continue };
                let need = job.groups[leaf].need as u64;
                let kind = job.batches[batch].kind;
                let at = needs.iter().position(|(known, _)| job.batches[*known].kind == kind).unwrap_or_else(|| {
                    needs.push((batch, vec![0; groups.len()]));
                    needs.len() - 1
                });
                needs[at].1[position] += need;
            }
        }
        needs.iter_mut().for_each(|(_, needs)| needs.sort_unstable());
        needs
    }

    /// A resource of which there is too little, in the whole scope or in that of one confined group.
    fn sums(&self) -> Option<Claim> {
        let job = self.job();
        let leaves = self.needed_leaves();
        let mut sets: Vec<Vec<GroupId>> = vec![leaves.clone()];
        for group in (1..job.groups.len()).filter(|group| self.state.confined[*group].is_some()) {
            let (topology, domain) =
                (job.groups[group].required.map(|(topology, _)| topology), self.state.confined[group]);
            let together = (0..job.groups.len()).filter(|other| {
                self.state.confined[*other] == domain && job.groups[*other].required.map(|(known, _)| known) == topology
            });
            let mut set: Vec<GroupId> = together.flat_map(|other| job.groups[other].leaves.iter().copied()).collect();
            set.retain(|leaf| leaves.contains(leaf));
            set.sort_unstable();
            set.dedup();
            if !sets.contains(&set) {
                sets.push(set);
            }
        }
        sets.iter().find_map(|set| self.sum(set))
    }

    fn sum(&self, leaves: &[GroupId]) -> Option<Claim> {
        let job = self.job();
        let snapshot = &self.state.snapshot;
        let mut batches = leaves.iter().flat_map(|leaf| job.batches_of(*leaf)).copied();
        let kinds: Vec<usize> = batches.clone().map(|batch| job.batches[batch].kind).collect();
        // For one kind the count says it all.
        if kinds.windows(2).all(|pair| pair[0] == pair[1]) || batches.next().is_none() {
            return None;
        }
        let mut nodes: Vec<u32> = Vec::new();
        let mut scopes: Vec<(Scope, usize, bool)> = Vec::new();
        for leaf in leaves {
            for batch in job.batches_of(*leaf) {
                let key = &snapshot.kinds[job.batches[*batch].kind].key;
                let (eligibility, zoned) = (key.eligibility, key.zoning == Zoning::Required);
                let scope = self.state.scope(*leaf);
                if scopes.contains(&(scope.clone(), eligibility, zoned)) {
                    continue;
                }
                let inside = self.state.nodes_in(&scope);
                if inside.len() > MANY_NODES {
                    return None;
                }
                let allowed = &snapshot.cluster.eligibility[eligibility].allowed;
                let open = |node: &u32| {
                    let at = *node as usize;
                    let has_place = !zoned || !snapshot.cluster.nodes[at].zones.is_empty();
                    allowed.contains(at) && !snapshot.closed[at] && has_place
                };
                nodes.extend(inside.into_iter().filter(open));
                scopes.push((scope, eligibility, zoned));
            }
        }
        nodes.sort_unstable();
        nodes.dedup();
        (0..snapshot.width).find_map(|resource| {
            let need: i64 = leaves.iter().map(|leaf| self.least(*leaf, resource)).sum();
            let free = |node: &u32| snapshot.free[*node as usize * snapshot.width + resource].max(0);
            let free: i64 = if need > 0 { nodes.iter().map(free).sum() } else { 0 };
            (need > free).then(|| Claim::Sum { leaves: leaves.to_vec(), resource, free, need })
        })
    }

    /// The least of a resource that the need of a leaf can ask for.
    fn least(&self, leaf: GroupId, resource: usize) -> i64 {
        let job = self.job();
        let kinds = &self.state.snapshot.kinds;
        let mut asks: Vec<(i64, usize)> = job
            .batches_of(leaf)
            .iter()
            .map(|batch| (kinds[job.batches[*batch].kind].key.request[resource], job.batches[*batch].pods.len()))
            .collect();
        asks.sort_unstable();
        let mut rest = job.groups[leaf].need;
        let mut sum = 0;
        for (amount, pods) in asks {
            let taken = rest.min(pods);
            sum += amount * i64::try_from(taken).unwrap_or(i64::MAX);
            rest -= taken;
        }
        sum
    }
}

impl Prover<'_, '_, '_> {
    /// The groups that were needed or chosen.
    pub fn chosen(&self) -> Vec<bool> {
        self.needed.clone()
    }
}
