//! Why a gang waits: the constraint that binds, the domains that come close, and who holds them.

use super::{DomainReport, EmptyCluster, Explanation, Holder, Largest, MOST_DOMAINS, words};
use crate::cluster::{NodeId, Place};
use crate::decide::{Decided, decide, fits};
use crate::gang::{Gang, GangName, GroupId, Members, Pod};
use crate::greedy::Want;
use crate::holds::Holds;
use crate::job::Job;
use crate::plan::{Options, Outcome, Plan};
use crate::planner::anchor;
use crate::proof::{Claim, DomainId, Proof};
use crate::snapshot::Snapshot;
use crate::state::State;
use crate::without::reserved_ahead;
use rustc_hash::FxHashMap;

/// What all explanations of a plan share.
pub(super) struct Explainer<'a> {
    pub snapshot: &'a mut Snapshot,
    pub gangs: &'a [Gang],
    plan: &'a Plan,
    pub options: Options,
    by_name: FxHashMap<&'a GangName, usize>,
    /// For each node who has pods there.
    holders: FxHashMap<NodeId, Vec<Standing>>,
    holds: Holds<'a>,
    /// The cluster without the pods of gangs, made when first asked for.
    empty: Option<Snapshot>,
}

/// Who has pods on a node.
struct Standing {
    /// A gang by index, or an occupant behind all gangs.
    who: usize,
    pods: u64,
    takes: Resources,
}

/// Some resources, one bit for each; those behind the 64th share one.
type Resources = u64;

/// The resources that a request takes some of.
fn taken(request: &[i64]) -> Resources {
    let asked = request.iter().enumerate().filter(|(_, amount)| **amount > 0);
    asked.fold(0, |all, (resource, _)| all | 1 << resource.min(63))
}

/// A candidate domain of the binding constraint in the making.
pub(super) struct Candidate {
    pub domain: Option<u32>,
    pub fits: u64,
}

/// What of a gang the binding constraint is about.
pub(super) struct Binding {
    pub group: GroupId,
    /// Topology and level; none if nothing binds.
    pub required: Option<(usize, usize)>,
    pub needs: u64,
}

impl<'a> Explainer<'a> {
    pub fn new(snapshot: &'a mut Snapshot, gangs: &'a [Gang], plan: &'a Plan, options: Options) -> Self {
        let mut holders: FxHashMap<NodeId, Vec<Standing>> = FxHashMap::default();
        let mut hold = |node: NodeId, who: usize, request: &[i64]| {
            let here = holders.entry(node).or_default();
            match here.iter_mut().rev().find(|known| known.who == who) {
                Some(known) => (known.pods, known.takes) = (known.pods + 1, known.takes | taken(request)),
                None => here.push(Standing { who, pods: 1, takes: taken(request) }),
            }
        };
        for (number, gang) in gangs.iter().enumerate() {
            let bound = gang.pods.iter().filter_map(|pod| Some((pod, pod.bound?)));
            let placed = plan.decisions[number].placed.iter().map(|(pod, place)| (&gang.pods[*pod], *place));
            bound.chain(placed).for_each(|(pod, place)| hold(place.node, number, &pod.request));
        }
        for (number, occupant) in snapshot.cluster.occupants.iter().enumerate() {
            hold(occupant.node, gangs.len() + number, &occupant.request);
        }
        let by_name = gangs.iter().enumerate().map(|(i, gang)| (&gang.id, i)).collect();
        let mut holds = Holds::new(gangs);
        for (number, gang) in gangs.iter().enumerate() {
            holds.place(snapshot, gang, number, &plan.decisions[number].placed);
        }
        Self { snapshot, gangs, plan, options, by_name, holders, holds, empty: None }
    }

    /// Leaves the snapshot as it was.
    pub fn finish(mut self) {
        self.holds.hide(self.snapshot);
    }

    /// Explains a gang that waits.
    pub fn waiting(&mut self, index: usize, proof: Option<&Proof>) -> Explanation {
        let gang = &self.gangs[index];
        if let Some(proof) = proof
            && let Some(text) = words::plain(gang, proof)
        {
            let binding = if let Claim::BoundApart { group } = proof { Some(*group) } else { None };
            return Explanation { text, binding, ..Explanation::default() };
        }
        self.snapshot.forget();
        self.holds.show(self.snapshot, self.gangs, index);
        let closed = reserved_ahead(self.gangs, self.plan, index, &[]);
        self.snapshot.set_closed(&closed, true);
        let anchor = self.anchor(gang);
        let explanation = self.explain(index, gang, anchor, proof);
        self.snapshot.set_closed(&closed, false);
        explanation
    }

    fn anchor(&self, gang: &Gang) -> Option<DomainId> {
        let base = *self.by_name.get(gang.base.as_ref()?)?;
        anchor(self.snapshot, &self.gangs[base], &self.plan.decisions[base]).ok().flatten()
    }

    fn explain(&mut self, index: usize, gang: &Gang, anchor: Option<DomainId>, proof: Option<&Proof>) -> Explanation {
        // Whether something fits does not hang on what is preferred.
        let plain = &without_preferred(gang, self.snapshot);
        let (gang, told) = (plain, gang);
        let binding = self.binding(gang, anchor, proof);
        let mut candidates = self.candidates(gang, anchor, &binding);
        let count = candidates.len();
        candidates.sort_by_key(|candidate| (std::cmp::Reverse(candidate.fits), candidate.domain));
        candidates.truncate(MOST_DOMAINS);
        let topology = binding.required.map_or(0, |(topology, _)| topology);
        let id = |domain: u32| DomainId { topology: u16::try_from(topology).unwrap_or(u16::MAX), index: domain };
        let width = self.snapshot.width;
        let free = |domain: u32| &self.snapshot.domain_free[topology][domain as usize * width..][..width];
        let mut domains: Vec<DomainReport> = Vec::with_capacity(candidates.len());
        for (at, candidate) in candidates.iter().enumerate() {
            // Neighbours that look the same lack the same.
            let same = at > 0
                && candidates[at - 1].fits == candidate.fits
                && candidates[at - 1].domain.zip(candidate.domain).is_some_and(|(a, b)| free(a) == free(b));
            let short = match domains.last() {
                Some(last) if same => last.short.clone(),
                _ => self.short(gang, &binding, topology, candidate),
            };
            domains.push(DomainReport {
                domain: candidate.domain.map(id),
                fits: candidate.fits,
                needs: binding.needs,
                short,
                holders: self.holders_in(index, gang, &binding, topology, candidate.domain),
            });
        }
        let (empty_cluster, largest) = self.on_empty(gang, anchor, &binding);
        let relaxations = self.changes(index, gang, anchor, &binding, &candidates, empty_cluster);
        let mut explanation = Explanation {
            text: String::new(),
            binding: binding.required.map(|_| binding.group),
            domains,
            empty_cluster: Some(empty_cluster),
            largest,
            relaxations,
        };
        explanation.text = words::waiting(self.snapshot, told, &binding, &explanation, count, proof.is_some());
        explanation
    }

    /// Whether the minima of a changed gang fit.
    pub fn would_fit(&mut self, gang: &Gang, anchor: Option<DomainId>) -> bool {
        would_fit(self.snapshot, gang, anchor, self.options.budget)
    }

    /// The constraint without which the gang would fit; of several the one that the proof begins with.
    fn binding(&mut self, gang: &Gang, anchor: Option<DomainId>, proof: Option<&Proof>) -> Binding {
        let is_required = |group: &GroupId| gang.groups[*group].constraint.is_some_and(|it| it.required.is_some());
        let mut groups: Vec<GroupId> = (0..gang.groups.len()).filter(is_required).collect();
        let free = !groups.is_empty() && self.would_fit(&without(gang, &groups), anchor);
        if !free {
            return Binding { group: 0, required: None, needs: needs(gang, 0) };
        }
        let first = proof.and_then(leading).filter(|group| groups.contains(group));
        groups.sort_by_key(|group| Some(*group) != first);
        let mut profiles: Vec<usize> = Vec::new();
        let profile = profiles_of(gang, self.snapshot);
        let alone = groups.iter().copied().find(|group| {
            let is_new = !profiles.contains(&profile[*group]);
            profiles.push(profile[*group]);
            // Many different groups: the first that the proof names is as good as any.
            is_new && profiles.len() <= 16 && self.would_fit(&without(gang, &[*group]), anchor)
        });
        let group = alone.or(first).unwrap_or(groups[0]);
        let constraint = gang.groups[group].constraint.unwrap_or_default();
        let required = constraint.required.map(|level| (constraint.topology, level));
        Binding { group, required, needs: needs(gang, group) }
    }

    /// How many of the pods that the binding group needs fit in each domain.
    fn candidates(&mut self, gang: &Gang, anchor: Option<DomainId>, binding: &Binding) -> Vec<Candidate> {
        let budget = self.options.budget;
        let Ok(job) = Job::new(gang, anchor, self.snapshot) else { return Vec::new() };
        let mut state = State::new(self.snapshot, &job, budget);
        let active = vec![true; job.groups.len()];
        let scope = state.scope(binding.group);
        let domains: Vec<Option<u32>> = match binding.required {
            None => vec![None],
            Some((topology, level)) => {
                let domains = state.domains_for(binding.group, topology, level, &scope);
                domains.into_iter().map(Some).collect()
            }
        };
        let demand = state.demand(binding.group, Want::Minimum, &active);
        let counted: u64 = demand.iter().map(|(_, need, _)| need).sum();
        let is_exact = demand.len() == 1 && counted == binding.needs;
        let mut candidates: Vec<Candidate> = domains
            .into_iter()
            .map(|domain| {
                let inside = match (domain, binding.required) {
                    (Some(domain), Some((topology, _))) => state.narrowed_to(&scope, topology, domain),
                    _ => scope.clone(),
                };
                let rooms = demand.iter().map(|(_, need, batch)| state.room(*batch, &inside).min(*need));
                let mixed = job.groups[binding.group].leaves.iter().filter(|leaf| job.batches_of(**leaf).len() > 1);
                let rest: u64 = mixed.map(|leaf| job.groups[*leaf].need as u64).sum();
                Candidate { domain, fits: rooms.sum::<u64>() + rest }
            })
            .collect();
        if is_exact {
            return candidates;
        }
        // Pods of several kinds get into each other's way: those that look best are filled for real.
        candidates.sort_by_key(|candidate| (std::cmp::Reverse(candidate.fits), candidate.domain));
        candidates.truncate(MOST_DOMAINS);
        for candidate in &mut candidates {
            state.confined[binding.group] = candidate.domain;
            candidate.fits = fill_needs(&mut state, binding.group);
            state.undo(0);
            state.confined[binding.group] = None;
        }
        candidates
    }

    /// What is short in a domain: the resources without whose limit more pods would fit.
    fn short(&self, gang: &Gang, binding: &Binding, topology: usize, candidate: &Candidate) -> Vec<(usize, i64)> {
        let missing = binding.needs.saturating_sub(candidate.fits);
        let nodes: Vec<NodeId> = match candidate.domain {
            Some(domain) => self.snapshot.domains[topology].nodes(domain).to_vec(),
            None => (0..crate::domains::index(self.snapshot.cluster.nodes.len())).collect(),
        };
        let mut requests = waiting_below(gang, binding.group);
        let width = self.snapshot.width;
        let mut short: Vec<(usize, i64)> = Vec::new();
        let mut together: Vec<(usize, i64)> = Vec::new();
        // The kind with the most trouble: the largest requests first.
        requests.sort_by_key(|(pod, count)| std::cmp::Reverse((pod.request.iter().sum::<i64>(), *count)));
        for (pod, count) in requests {
            let allowed = &self.snapshot.cluster.eligibility[pod.eligibility].allowed;
            let fit = |without: Option<usize>| -> u64 {
                let open = nodes.iter().filter(|node| allowed.contains(**node as usize));
                let each = open.map(|node| {
                    let free = &self.snapshot.free[*node as usize * width..(*node as usize + 1) * width];
                    let asks = pod.request.iter().enumerate().filter(|(at, ask)| **ask > 0 && Some(*at) != without);
                    asks.map(|(at, ask)| free[at].max(0).unsigned_abs() / ask.unsigned_abs())
                        .min()
                        .unwrap_or(u64::MAX >> 20)
                });
                each.fold(0, u64::saturating_add)
            };
            let now = fit(None);
            let lacks = count.min(missing).max(1);
            if now >= count && candidate.fits >= binding.needs {
                continue;
            }
            for (resource, ask) in pod.request.iter().enumerate().filter(|(_, ask)| **ask > 0) {
                if fit(Some(resource)) > now && short.iter().all(|(known, _)| *known != resource) {
                    let missing = i64::try_from(count.saturating_sub(now).clamp(1, lacks)).unwrap_or(i64::MAX);
                    short.push((resource, ask.saturating_mul(missing)));
                }
            }
            // Where several run out together, each by what the sum lacks.
            for (resource, ask) in pod.request.iter().enumerate().filter(|(_, ask)| **ask > 0 && short.is_empty()) {
                let open = nodes.iter().filter(|node| allowed.contains(**node as usize));
                let free: i64 = open.map(|node| self.snapshot.free[*node as usize * width + resource].max(0)).sum();
                let need = ask.saturating_mul(i64::try_from(count.min(binding.needs)).unwrap_or(i64::MAX));
                if need > free {
                    together.push((resource, need - free));
                }
            }
            if short.is_empty() {
                short.append(&mut together);
            }
            if !short.is_empty() {
                break;
            }
        }
        short.sort_unstable();
        short
    }

    /// Who takes up room in a domain, or anywhere, that pods of the gang could use: others' pods, and the holds that the gang sees.
    fn holders_in(
        &self,
        index: usize,
        gang: &Gang,
        binding: &Binding,
        topology: usize,
        domain: Option<u32>,
    ) -> Vec<Holder> {
        let mut found: FxHashMap<usize, (u64, u64)> = FxHashMap::default();
        let waiting = waiting_below(gang, binding.group);
        let mut add = |node: &NodeId, here: &[Standing]| {
            let scarce = self.scarce(&waiting, *node);
            let others = here.iter().filter(|it| it.who != index && it.takes & scarce != 0);
            others.for_each(|it| found.entry(it.who).or_default().0 += it.pods);
        };
        let nodes = domain.map(|domain| self.snapshot.domains[topology].nodes(domain));
        match nodes {
            _ if self.holders.is_empty() => {}
            Some(nodes) => {
                let here = nodes.iter().filter_map(|node| Some((node, self.holders.get(node)?)));
                here.for_each(|(node, here)| add(node, here));
            }
            None => self.holders.iter().for_each(|(node, here)| add(node, here)),
        }
        let is_here = |place: Place| nodes.is_none_or(|nodes| nodes.binary_search(&place.node).is_ok());
        let held = self.holds.seen(self.gangs, index).filter(|(_, hold)| {
            is_here(hold.place) && taken(&hold.request) & self.scarce(&waiting, hold.place.node) != 0
        });
        held.for_each(|(who, _)| found.entry(who).or_default().1 += 1);
        let mut found: Vec<(usize, (u64, u64))> = found.into_iter().collect();
        found.sort_unstable_by_key(|(who, (pods, held))| (std::cmp::Reverse(pods + held), *who));
        let told = found.into_iter().take(MOST_DOMAINS);
        told.map(|(who, (pods, held))| Holder { name: self.name(who), pods, held }).collect()
    }

    /// The resources of a node of which more would let more of some pods in: none if they may not go there, or if the node
    /// takes no more of them when it is empty.
    fn scarce(&self, waiting: &[(&Pod, u64)], node: NodeId) -> Resources {
        let (at, width) = (node as usize, self.snapshot.width);
        if self.snapshot.closed[at] {
            return 0;
        }
        let (free, all) = (&self.snapshot.free[at * width..], &self.snapshot.cluster.nodes[at].allocatable);
        let allowed = |pod: &Pod| self.snapshot.cluster.eligibility[pod.eligibility].allowed.contains(at);
        let mut scarce = 0;
        for (pod, _) in waiting.iter().filter(|(pod, _)| allowed(pod)) {
            let asks = || pod.request.iter().enumerate().filter(|(_, ask)| **ask > 0);
            let at_most = asks().map(|(resource, ask)| all[resource] / ask).min().unwrap_or(0);
            let limits = asks().filter(|(resource, ask)| free[*resource].max(0) / **ask < at_most);
            scarce = limits.fold(scarce, |all, (resource, _)| all | 1 << resource.min(63));
        }
        scarce
    }

    /// A gang's name, or that of a pod of no gang.
    fn name(&self, who: usize) -> GangName {
        match self.gangs.get(who) {
            Some(gang) => gang.id.clone(),
            None => {
                let occupant = &self.snapshot.cluster.occupants[who - self.gangs.len()];
                GangName { namespace: occupant.namespace.clone(), name: occupant.name.clone() }
            }
        }
    }

    /// Whether it would fit without all other gangs' pods, and if not, the most that would.
    fn on_empty(
        &mut self,
        gang: &Gang,
        anchor: Option<DomainId>,
        binding: &Binding,
    ) -> (EmptyCluster, Option<Largest>) {
        let cluster = self.snapshot.cluster.clone();
        let empty = self.empty.get_or_insert_with(|| Snapshot::new(cluster));
        empty.forget();
        empty.add_bound(gang);
        let fits = would_fit(empty, gang, anchor, self.options.budget);
        let answer = if fits {
            (EmptyCluster::Fits, None)
        } else {
            // As many as fit, without a minimum.
            let mut wish = gang.clone();
            for group in &mut wish.groups {
                group.members = match group.members {
                    Members::Pods { .. } => Members::Pods { min: 0 },
                    Members::Groups { .. } => Members::Groups { min: 0 },
                };
            }
            let largest = Job::new(&wish, anchor, empty).ok().and_then(|job| {
                let (Decided::Placed(found), _) = decide(empty, &job, 5_000) else { return None };
                let topology = binding.required.map_or(0, |(topology, _)| topology);
                let topology = u16::try_from(topology).unwrap_or(u16::MAX);
                let domain = found.confined[binding.group].map(|index| DomainId { topology, index });
                let bound = gang.pods.iter().filter(|pod| pod.bound.is_some()).count();
                Some(Largest { domain, pods: (found.placed() + bound) as u64, needs: needs(gang, 0) + bound as u64 })
            });
            (EmptyCluster::Never, largest)
        };
        empty.remove_bound(gang);
        answer
    }

    /// Gangs of lower priority that had pods in a domain before this plan, those with the fewest pods first.
    pub fn victims(&self, index: usize, candidates: &[Candidate], topology: usize) -> Vec<usize> {
        let mut victims: Vec<usize> = Vec::new();
        for candidate in candidates.iter().take(8) {
            let nodes: Vec<NodeId> = match candidate.domain {
                Some(domain) => self.snapshot.domains[topology].nodes(domain).to_vec(),
                None => {
                    let mut nodes: Vec<NodeId> = self.holders.keys().copied().collect();
                    nodes.sort_unstable();
                    nodes
                }
            };
            for Standing { who, .. } in nodes.iter().filter_map(|node| self.holders.get(node)).flatten() {
                let is_lower = self.gangs.get(*who).is_some_and(|other| {
                    other.priority < self.gangs[index].priority && other.pods.iter().any(|pod| pod.bound.is_some())
                });
                if is_lower && !victims.contains(who) {
                    victims.push(*who);
                }
            }
        }
        let bound = |gang: &Gang| gang.pods.iter().filter(|pod| pod.bound.is_some()).count();
        victims.sort_by_key(|who| (bound(&self.gangs[*who]), *who));
        victims
    }

    /// Whether a gang is placed or runs.
    pub fn is_placed(&self, who: usize) -> bool {
        self.plan.decisions[who].outcome == Outcome::Placed
    }

    /// Pods that this plan placed.
    pub fn placed(&self, who: usize) -> &'a [(usize, Place)] {
        &self.plan.decisions[who].placed
    }
}

/// Whether the minima of a gang fit on a snapshot.
pub(super) fn would_fit(snapshot: &mut Snapshot, gang: &Gang, anchor: Option<DomainId>, budget: u64) -> bool {
    let Ok(job) = Job::new(gang, anchor, snapshot) else { return false };
    matches!(fits(snapshot, &job, budget).0, Decided::Placed(_))
}

/// The waiting pods under a group, one of each kind with their number.
fn waiting_below(gang: &Gang, group: GroupId) -> Vec<(&Pod, u64)> {
    let under = |pod: &&Pod| pod.bound.is_none() && gang.ancestry(pod.group).any(|above| above == group);
    let mut kinds: Vec<(&Pod, u64)> = Vec::new();
    for pod in gang.pods.iter().filter(under) {
        let alike = |known: &Pod| known.request == pod.request && known.eligibility == pod.eligibility;
        match kinds.iter_mut().find(|(known, _)| alike(known)) {
            Some((_, count)) => *count += 1,
            None => kinds.push((pod, 1)),
        }
    }
    kinds
}

/// The gang without preferred levels, but for those that put pods into zones.
fn without_preferred(gang: &Gang, snapshot: &Snapshot) -> Gang {
    let mut gang = gang.clone();
    for constraint in gang.groups.iter_mut().filter_map(|group| group.constraint.as_mut()) {
        let levels = &snapshot.cluster.topologies[constraint.topology].levels;
        constraint.preferred = constraint.preferred.filter(|level| levels[*level].is_zone);
    }
    gang
}

/// The gang without the required levels of some groups.
pub(super) fn without(gang: &Gang, groups: &[GroupId]) -> Gang {
    let mut gang = gang.clone();
    for group in groups {
        if let Some(constraint) = &mut gang.groups[*group].constraint {
            constraint.required = None;
        }
    }
    gang
}

/// Waiting pods that a group needs, all its children taken as needed.
pub(super) fn needs(gang: &Gang, group: GroupId) -> u64 {
    let leaves = (0..gang.groups.len()).filter(|leaf| gang.ancestry(*leaf).any(|above| above == group));
    leaves
        .map(|leaf| match gang.groups[leaf].members {
            Members::Pods { min } => {
                let bound = gang.pods_of(leaf).filter(|(_, pod)| pod.bound.is_some()).count();
                min.saturating_sub(bound) as u64
            }
            Members::Groups { .. } => 0,
        })
        .sum()
}

/// The group that a proof speaks of first.
fn leading(proof: &Proof) -> Option<GroupId> {
    match proof {
        Claim::Split { group, branches } => {
            // A single candidate binds less than what fails inside it.
            match branches.as_slice() {
                [only] => leading(&only.claim).or(Some(*group)),
                _ => Some(*group),
            }
        }
        Claim::Copies { groups, .. } => groups.first().copied(),
        Claim::Subsets { choices, .. } => choices.first().and_then(|(_, claim)| leading(claim)),
        _ => None,
    }
}

/// For each group a number that it shares with those that are alike.
fn profiles_of(gang: &Gang, snapshot: &mut Snapshot) -> Vec<usize> {
    match Job::new(gang, None, snapshot) {
        Ok(job) => job.groups.iter().map(|group| group.profile).collect(),
        Err(_) => (0..gang.groups.len()).collect(),
    }
}

/// Fills the needs of a group, large pods first, as far as they go; returns how many found a place.
fn fill_needs(state: &mut State<'_, '_>, group: GroupId) -> u64 {
    let job = state.job;
    let mut batches = job.groups[group].batches.clone();
    batches.sort_by_cached_key(|batch| std::cmp::Reverse(state.weight(job.batches[*batch].kind)));
    let mut placed = 0;
    for batch in batches {
        let leaf = job.batches[batch].leaf;
        let want = job.groups[leaf].need.saturating_sub(state.placed(leaf)).min(state.left[batch]);
        if want > 0 {
            let scope = state.scope(leaf);
            placed += state.fill(batch, want, &scope) as u64;
        }
    }
    placed
}
