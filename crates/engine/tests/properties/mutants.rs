//! Proofs with one thing changed such that they must be refused. A change after which a proof may still be right, for
//! instance without the branch of a domain that is exchangeable with another, is not among them.

use std::collections::BTreeMap;
use trellis_engine::{Branch, Claim, DomainId, Gang, GangName, GroupId, Hold, Members, Plan, Unready};
use trellis_testkit::placement::{Problem, unused_holds};

#[derive(Clone, Debug)]
pub struct Mutant {
    pub proof: Claim,
    /// What is wrong with it.
    pub why: &'static str,
}

/// All mutants of a proof that a gang has no place; none of a very large one, since there are too many.
pub fn mutants(problem: &Problem, plan: &Plan, gang: usize, proof: &Claim) -> Vec<Mutant> {
    if size(proof) > LARGEST {
        return Vec::new();
    }
    let case = Case { problem, gang: &problem.gangs[gang], plan };
    let mut found = case.of(proof, true);
    found.extend(case.idle());
    found.retain(|mutant| mutant.proof != *proof);
    found
}

/// Claims of a proof, beyond which it is very large.
const LARGEST: usize = 100;

fn size(claim: &Claim) -> usize {
    match claim {
        Claim::Split { branches, .. } => 1 + branches.iter().map(|branch| size(&branch.claim)).sum::<usize>(),
        Claim::Subsets { choices, .. } => 1 + choices.iter().map(|(_, claim)| size(claim)).sum::<usize>(),
        _ => 1,
    }
}

struct Case<'a> {
    problem: &'a Problem,
    gang: &'a Gang,
    plan: &'a Plan,
}

/// A domain that no topology has.
const NOWHERE: u32 = 1_000_000;

impl Case<'_> {
    /// Mutants of a claim; `top` if no group is confined above it.
    fn of(&self, claim: &Claim, top: bool) -> Vec<Mutant> {
        let mut found = Vec::new();
        let mut add = |proof: Claim, why: &'static str| found.push(Mutant { proof, why });
        if self.gang.unready.is_none() {
            add(Claim::Unready(Unready::Unsupported { text: "magic".to_owned() }), "the gang is ready");
        }
        if self.gang.base.is_none() {
            add(Claim::BaseWaits(GangName::default()), "the gang has no base");
        }
        match claim {
            Claim::Unready(_) => {
                add(Claim::Unready(Unready::Unsupported { text: "other".to_owned() }), "another reason");
            }
            Claim::BaseWaits(_) => add(Claim::BaseWaits(GangName::default()), "another base"),
            Claim::TooFewPods { leaf, have, need } => {
                let (leaf, have, need) = (*leaf, *have, *need);
                add(Claim::TooFewPods { leaf, have: have + 1, need }, "other pods");
                add(Claim::TooFewPods { leaf, have: have.saturating_sub(1), need }, "other pods");
                add(Claim::TooFewPods { leaf, have, need: need + 1 }, "another minimum");
                let differs = |other: GroupId| {
                    let pods = self.gang.pods_of(other).count();
                    pods != have || self.gang.groups[other].members != Members::Pods { min: need }
                };
                for leaf in self.others(leaf, differs) {
                    add(Claim::TooFewPods { leaf, have, need }, "another leaf");
                }
            }
            Claim::BoundApart { group } => {
                let bound = |other: GroupId| {
                    let mut holds = self.gang.holds.iter().map(|hold| hold.group);
                    self.below(other).any(|pod| self.gang.pods[pod].bound.is_some())
                        || holds.any(|leaf| self.gang.ancestry(leaf).any(|above| above == other))
                };
                for group in self.others(*group, |other| !bound(other) && (other > 0 || self.gang.base.is_none())) {
                    add(Claim::BoundApart { group }, "a group without bound pods");
                }
            }
            Claim::Count { leaf, fits, need } => {
                let (leaf, fits, need) = (*leaf, *fits, *need);
                add(Claim::Count { leaf, fits: fits + 1, need }, "another count");
                add(Claim::Count { leaf, fits: fits.wrapping_sub(1), need }, "another count");
                add(Claim::Count { leaf, fits, need: need + 1 }, "another need");
                add(Claim::Count { leaf, fits, need: need - 1 }, "another need");
                for leaf in self.others(leaf, |other| self.need(other) != need) {
                    add(Claim::Count { leaf, fits, need }, "another leaf");
                }
            }
            Claim::Sum { leaves, resource, free, need } => {
                let sum = |leaves: Vec<GroupId>, resource, free, need| Claim::Sum { leaves, resource, free, need };
                add(sum(leaves.clone(), *resource, free + 1, *need), "another sum");
                add(sum(leaves.clone(), *resource, free - 1, *need), "another sum");
                add(sum(leaves.clone(), *resource, *free, need + 1), "another need");
                add(sum(leaves.clone(), *resource, *free, need - 1), "another need");
                let resources = self.problem.cluster.resources.len();
                for other in (0..=resources).filter(|other| *other == resources || self.sum(leaves, *other) != *need) {
                    add(sum(leaves.clone(), other, *free, *need), "another resource");
                }
                for changed in other_leaves(leaves) {
                    if self.sum(&changed, *resource) != *need {
                        add(sum(changed, *resource, *free, *need), "other leaves");
                    }
                }
            }
            Claim::Copies { groups, fits } => {
                add(Claim::Copies { groups: groups.clone(), fits: fits + 1 }, "another count");
                add(Claim::Copies { groups: groups.clone(), fits: fits.wrapping_sub(1) }, "another count");
                let twice = groups.iter().chain(groups.first()).copied().collect();
                add(Claim::Copies { groups: twice, fits: *fits }, "a group twice");
                for other in self.others(groups[0], |other| self.required(other).is_none()) {
                    let groups = std::iter::once(other).chain(groups[1..].iter().copied()).collect();
                    add(Claim::Copies { groups, fits: *fits }, "a group that needs no domain");
                }
            }
            Claim::Packing { leaves } => {
                add(Claim::Packing { leaves: Vec::new() }, "no leaves");
                add(Claim::Packing { leaves: leaves.iter().chain(leaves.last()).copied().collect() }, "a leaf twice");
                add(Claim::Packing { leaves: vec![self.gang.groups.len()] }, "a leaf that is not there");
                if leaves.len() > 1 {
                    add(Claim::Packing { leaves: leaves.iter().rev().copied().collect() }, "not sorted");
                }
            }
            Claim::Split { group, branches } => found.extend(self.of_split(*group, branches, top)),
            Claim::Subsets { group, choices } => found.extend(self.of_subsets(*group, choices, top)),
        }
        found
    }

    /// Claims with the right numbers that show nothing: there are enough pods, or there is enough room.
    fn idle(&self) -> Vec<Mutant> {
        let mut found = Vec::new();
        for (leaf, it) in self.gang.groups.iter().enumerate() {
            let Members::Pods { min } = it.members else { continue };
            let have = self.gang.pods_of(leaf).count();
            if have >= min {
                let proof = Claim::TooFewPods { leaf, have, need: min };
                found.push(Mutant { proof, why: "there are enough pods" });
            }
            let (fits, need) = (self.fits(leaf), self.need(leaf));
            if fits >= need && self.problem.cluster.nodes.iter().all(|node| node.zones.is_empty()) {
                found.push(Mutant { proof: Claim::Count { leaf, fits, need }, why: "there is enough room" });
            }
        }
        found
    }

    /// How many pods of a leaf can stand anywhere, each kind looked at alone.
    fn fits(&self, leaf: GroupId) -> u64 {
        let mut kinds: BTreeMap<(&[i64], usize), u64> = BTreeMap::new();
        for (_, pod) in self.gang.pods_of(leaf).filter(|(_, pod)| pod.bound.is_none()) {
            *kinds.entry((&pod.request, pod.eligibility)).or_default() += 1;
        }
        let nodes = 0..self.problem.cluster.nodes.len();
        let fits = |((request, eligibility), waiting): (&(&[i64], usize), &u64)| {
            let each = nodes.clone().map(|node| self.alone(node, request, *eligibility).min(*waiting));
            each.sum::<u64>().min(*waiting)
        };
        kinds.iter().map(fits).sum()
    }

    /// How many pods a node takes if there are no others.
    fn alone(&self, node: usize, request: &[i64], eligibility: usize) -> u64 {
        let free = self.free(node);
        let room = free.iter().zip(request).filter(|(_, asked)| **asked > 0);
        let count = room.map(|(free, asked)| u64::try_from(free / asked).unwrap_or(0)).min().unwrap_or(u64::MAX);
        if self.problem.cluster.eligibility[eligibility].allowed.contains(node) { count } else { 0 }
    }

    fn of_split(&self, group: GroupId, branches: &[Branch], top: bool) -> Vec<Mutant> {
        let mut found = Vec::new();
        let mut add = |group: GroupId, branches: Vec<Branch>, why: &'static str| {
            found.push(Mutant { proof: Claim::Split { group, branches }, why });
        };
        for other in self.others(group, |other| self.required(other).is_none()) {
            add(other, branches.to_vec(), "a group that needs no domain");
        }
        for (n, branch) in branches.iter().enumerate() {
            let with = |changed: Branch| {
                let mut branches = branches.to_vec();
                branches[n] = changed;
                branches
            };
            let mut rest = branches.to_vec();
            rest.remove(n);
            let alike = |other: &Branch| !top || self.room(branch.domain) == self.room(other.domain);
            if !rest.iter().any(alike) {
                add(group, rest, "a domain is left out that is like no other");
            }
            add(group, branches.iter().chain([branch]).cloned().collect(), "a domain twice");
            let moved = |domain: DomainId| with(Branch { domain, claim: branch.claim.clone() });
            add(group, moved(DomainId { index: NOWHERE, ..branch.domain }), "a domain that is not there");
            add(group, moved(DomainId { topology: branch.domain.topology + 1, ..branch.domain }), "another topology");
            if let Some(wider) = self.wider(group) {
                add(group, moved(DomainId { index: wider, ..branch.domain }), "a domain of another level");
            }
            let other = &branches[(n + 1) % branches.len()];
            if numbers_differ(&branch.claim, &other.claim) {
                let claim = other.claim.clone();
                add(group, with(Branch { domain: branch.domain, claim }), "the claim of another domain");
            }
            for Mutant { proof, why } in self.of(&branch.claim, false) {
                add(group, with(Branch { domain: branch.domain, claim: proof }), why);
            }
        }
        found
    }

    fn of_subsets(&self, group: GroupId, choices: &[(Vec<GroupId>, Claim)], top: bool) -> Vec<Mutant> {
        let mut found = Vec::new();
        let mut add = |group: GroupId, choices: Vec<(Vec<GroupId>, Claim)>, why: &'static str| {
            found.push(Mutant { proof: Claim::Subsets { group, choices }, why });
        };
        let chooses = |other: GroupId| match self.gang.groups[other].members {
            Members::Groups { min } => min < self.gang.children(other).count(),
            Members::Pods { .. } => false,
        };
        for other in self.others(group, |other| !chooses(other)) {
            add(other, choices.to_vec(), "a group that leaves no choice");
        }
        for (n, choice) in choices.iter().enumerate() {
            let mut changed = choices.to_vec();
            changed.remove(n);
            add(group, changed, "a choice is left out");
            let mut changed = choices.to_vec();
            changed.insert(n, choice.clone());
            add(group, changed, "a choice twice");
            let mut changed = choices.to_vec();
            changed[n].0.push(group);
            add(group, changed, "a choice too large");
            for Mutant { proof, why } in self.of(&choice.1, top) {
                let mut changed = choices.to_vec();
                changed[n].1 = proof;
                add(group, changed, why);
            }
        }
        if choices.len() > 1 {
            add(group, choices.iter().rev().cloned().collect(), "choices out of order");
        }
        found
    }

    /// Other groups of some sort, and one that is not there.
    fn others(&self, group: GroupId, wanted: impl Fn(GroupId) -> bool) -> Vec<GroupId> {
        let others = (0..self.gang.groups.len()).filter(|other| *other != group && wanted(*other));
        others.chain([self.gang.groups.len()]).collect()
    }

    fn required(&self, group: GroupId) -> Option<usize> {
        self.gang.groups[group].constraint?.required
    }

    fn below(&self, group: GroupId) -> impl Iterator<Item = usize> {
        let below = move |pod: &usize| self.gang.ancestry(self.gang.pods[*pod].group).any(|above| above == group);
        (0..self.gang.pods.len()).filter(below)
    }

    /// What a leaf lacks; nothing for other groups.
    fn need(&self, leaf: GroupId) -> u64 {
        let Members::Pods { min } = self.gang.groups[leaf].members else { return 0 };
        let bound = self.gang.pods_of(leaf).filter(|(_, pod)| pod.bound.is_some()).count();
        min.saturating_sub(bound) as u64
    }

    /// What leaves need of a resource at least.
    fn sum(&self, leaves: &[GroupId], resource: usize) -> i64 {
        let of_leaf = |leaf: &GroupId| {
            let waiting = self.gang.pods_of(*leaf).filter(|(_, pod)| pod.bound.is_none());
            let mut requests: Vec<i64> = waiting.map(|(_, pod)| pod.request[resource]).collect();
            requests.sort_unstable();
            requests.iter().zip(0..self.need(*leaf)).map(|(request, _)| request).sum::<i64>()
        };
        leaves.iter().map(of_leaf).sum()
    }

    /// The first domain of the level above a group's required one.
    fn wider(&self, group: GroupId) -> Option<u32> {
        let constraint = self.gang.groups[group].constraint?;
        let level = constraint.required?.checked_sub(1)?;
        self.domains(constraint.topology).iter().position(|path| path.len() == level + 1)?.try_into().ok()
    }

    /// The domains of a topology but zones, in the order that numbers them.
    fn domains(&self, topology: usize) -> Vec<&[String]> {
        let nodes = &self.problem.cluster.nodes;
        let paths = nodes.iter().flat_map(|node| (1..=node.paths[topology].len()).map(|n| &node.paths[topology][..n]));
        let mut domains: Vec<&[String]> = paths.collect();
        domains.sort_by_key(|path| (path.len(), *path));
        domains.dedup();
        domains
    }

    /// What a domain has to offer: for each kind of node how many there are. Domains in which this differs are not
    /// exchangeable. Zones count as alike.
    fn room(&self, domain: DomainId) -> BTreeMap<Vec<u64>, usize> {
        let topology = usize::from(domain.topology);
        let Some(path) = self.domains(topology).get(domain.index as usize).copied() else { return BTreeMap::new() };
        let mut room = BTreeMap::new();
        let nodes = self.problem.cluster.nodes.iter().enumerate();
        for (node, _) in nodes.filter(|(_, it)| it.paths[topology].starts_with(path)) {
            let waiting = self.gang.pods.iter().filter(|pod| pod.bound.is_none());
            let fits = waiting.map(|pod| self.alone(node, &pod.request, pod.eligibility));
            *room.entry(fits.collect()).or_default() += 1;
        }
        room
    }

    fn free(&self, node: usize) -> Vec<i64> {
        let Problem { cluster, gangs } = self.problem;
        let mut free = cluster.nodes[node].allocatable.clone();
        let occupants = cluster.occupants.iter().map(|it| (it.node, &it.request));
        let bound = gangs.iter().flat_map(|gang| &gang.pods).filter_map(|pod| Some((pod.bound?.node, &pod.request)));
        let placed = gangs.iter().zip(&self.plan.decisions).flat_map(|(gang, decision)| {
            decision.placed.iter().map(|(pod, place)| (place.node, &gang.pods[*pod].request))
        });
        let own = self.gang.priority;
        let held = gangs.iter().zip(&self.plan.decisions).filter(|(it, _)| it.id != self.gang.id && it.priority >= own);
        let held: Vec<Hold> = held.flat_map(|(it, decision)| unused_holds(it, &decision.placed)).collect();
        let held = held.iter().map(|hold| (hold.place.node, &hold.request));
        for (_, request) in occupants.chain(bound).chain(placed).chain(held).filter(|(at, _)| *at as usize == node) {
            free.iter_mut().zip(request.iter()).for_each(|(free, asked)| *free -= asked);
        }
        free
    }
}

/// Leaves less one, and with one twice.
fn other_leaves(leaves: &[GroupId]) -> Vec<Vec<GroupId>> {
    let mut found = Vec::new();
    for n in 0..leaves.len() {
        let mut changed = leaves.to_vec();
        changed.remove(n);
        found.push(changed.clone());
        changed.extend([leaves[n], leaves[n]]);
        found.push(changed);
    }
    found
}

/// Whether two claims say different numbers of the same thing, so that they cannot both be right in one domain.
fn numbers_differ(one: &Claim, other: &Claim) -> bool {
    let said = |claim: &Claim| match claim {
        Claim::Count { leaf, fits, .. } => Some((vec![*leaf], None, i64::try_from(*fits).ok())),
        Claim::Sum { leaves, resource, free, .. } => Some((leaves.clone(), Some(*resource), Some(*free))),
        _ => None,
    };
    match (said(one), said(other)) {
        (Some((of, what, number)), Some((of_other, what_other, another))) => {
            of == of_other && what == what_other && number != another
        }
        _ => false,
    }
}
