//! The straight way: hardest groups first, each into the tightest domain that keeps the spans small. Nearly always the
//! answer; where it is not, the exact search goes on from its result.

use crate::gang::GroupId;
use crate::state::{Scope, State};

/// How many of the pods are to be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// All of them.
    All,
    /// Those that must be.
    Minimum,
}

/// A nested choice tries so many domains before it gives up.
const TRIES: usize = 16;

impl State<'_, '_> {
    /// Places a group; on failure everything is as it was.
    pub fn greedy(&mut self, group: GroupId, want: Want, active: &mut [bool]) -> bool {
        let Some((topology, level)) = self.job.groups[group].required.filter(|_| self.confined[group].is_none()) else {
            return self.greedy_inside(group, want, active);
        };
        // What need not have anything is tried when the minima of all have their place.
        let is_needless = want == Want::Minimum && self.need_below(group, active) == 0;
        if is_needless && group != 0 {
            self.deactivate(group, active);
            return true;
        }
        let scope = self.scope(group);
        for domain in self.candidates(group, topology, level, &scope, want, active).into_iter().take(TRIES) {
            if self.greedy_in(group, domain, want, active) {
                return true;
            }
        }
        if is_needless {
            self.below(group).into_iter().for_each(|below| active[below] = false);
        }
        is_needless
    }

    /// Pods that a group must get if all its active parts are placed.
    pub fn need_below(&self, group: GroupId, active: &[bool]) -> usize {
        let leaves = self.job.groups[group].leaves.iter().filter(|leaf| active[**leaf]);
        leaves.map(|leaf| self.job.groups[*leaf].need.saturating_sub(self.placed(*leaf))).sum()
    }

    /// Places a group in a domain of its level.
    pub fn greedy_in(&mut self, group: GroupId, domain: u32, want: Want, active: &mut [bool]) -> bool {
        if !self.step() {
            return false;
        }
        self.confined[group] = Some(domain);
        let done = self.greedy_inside(group, want, active);
        if !done {
            self.confined[group] = None;
        }
        done
    }

    fn greedy_inside(&mut self, group: GroupId, want: Want, active: &mut [bool]) -> bool {
        let before = self.puts.len();
        let was_active: Vec<bool> = active.to_vec();
        let done = if self.job.groups[group].children.is_empty() {
            self.greedy_leaf(group, want)
        } else {
            self.greedy_children(group, want, active)
        };
        if !done {
            self.undo(before);
            active.copy_from_slice(&was_active);
            for below in self.below(group) {
                self.confined[below] = None;
            }
        }
        done
    }

    /// The groups under a group.
    pub fn below(&self, group: GroupId) -> Vec<GroupId> {
        let mut below = self.job.groups[group].children.clone();
        let mut at = 0;
        while at < below.len() {
            below.extend_from_slice(&self.job.groups[below[at]].children);
            at += 1;
        }
        below
    }

    fn greedy_leaf(&mut self, leaf: GroupId, want: Want) -> bool {
        let scope = self.scope(leaf);
        let mut batches = self.job.batches_of(leaf).to_vec();
        let mut rest = match want {
            Want::All => batches.iter().map(|batch| self.left[*batch]).sum(),
            Want::Minimum => self.job.groups[leaf].need.saturating_sub(self.placed(leaf)),
        };
        let size = |state: &Self, batch: usize| state.weight(state.job.batches[batch].kind);
        batches.sort_by_key(|batch| size(self, *batch));
        // All: the large first. Some: the small are enough.
        if want == Want::All {
            batches.reverse();
        }
        for batch in batches {
            let amount = rest.min(self.left[batch]);
            rest -= if amount > 0 { self.fill(batch, amount, &scope) } else { 0 };
        }
        rest == 0
    }

    /// How large a pod is: its largest share of what the cluster has, in millionths.
    pub fn weight(&self, kind: usize) -> u64 {
        let totals = self.snapshot.totals();
        let shares = self.snapshot.kinds[kind].asks.iter().map(|(resource, amount)| {
            let share = i128::from(*amount) * 1_000_000_000 / i128::from(totals[*resource].max(1));
            u64::try_from(share).unwrap_or(u64::MAX)
        });
        shares.max().unwrap_or(0)
    }

    fn greedy_children(&mut self, group: GroupId, want: Want, active: &mut [bool]) -> bool {
        let it = &self.job.groups[group];
        let mut order: Vec<GroupId> = it.children.iter().copied().filter(|child| active[*child]).collect();
        order.sort_by_cached_key(|child| {
            let hard = self.job.groups[*child].leaves.len() > 1;
            let constrained = self.is_constrained(*child);
            let size: u64 = self.job.groups[*child]
                .batches
                .iter()
                .map(|batch| self.weight(self.job.batches[*batch].kind) * self.left[*batch] as u64)
                .sum();
            (!constrained, !hard, std::cmp::Reverse(size), self.job.groups[*child].profile, *child)
        });
        let min = it.min_children;
        let mut done = 0;
        let scope = self.scope(group);
        let mut at = 0;
        while at < order.len() {
            let profile = self.job.groups[order[at]].profile;
            let same = order[at..].iter().take_while(|child| self.job.groups[**child].profile == profile).count();
            let alike: Vec<GroupId> = order[at..at + same].to_vec();
            at += same;
            let guide = self.guide(group, &alike, active, &scope);
            for (i, child) in alike.into_iter().enumerate() {
                let optional = done >= min || order.len() > min;
                let guided = guide.get(i).copied();
                let placed = guided.is_some_and(|domain| self.greedy_in(child, domain, want, active))
                    || self.greedy(child, want, active);
                if placed {
                    done += 1;
                } else if optional {
                    self.deactivate(child, active);
                } else {
                    return false;
                }
            }
        }
        done >= min
    }

    /// Gives up a group that need not be placed.
    pub fn deactivate(&self, group: GroupId, active: &mut [bool]) {
        active[group] = false;
        for below in self.below(group) {
            active[below] = false;
        }
    }

    /// Where equal children should go, one domain for each.
    fn guide(&self, group: GroupId, alike: &[GroupId], active: &[bool], scope: &Scope) -> Vec<u32> {
        let above = self.job.gang.ancestry(group).collect::<Vec<_>>();
        let span = self.job.spans.iter().filter(|span| span.is_preferred && above.contains(&span.group));
        let Some(span) = span.min_by_key(|span| span.entry) else { return Vec::new() };
        let spread = self.spread(alike, active, scope, Some((span.topology, span.level)));
        let copies = spread.map(|spread| spread.copies).unwrap_or_default();
        copies.into_iter().flat_map(|(domain, copies)| std::iter::repeat_n(domain, copies)).collect()
    }

    fn is_constrained(&self, group: GroupId) -> bool {
        self.job.groups[group].required.is_some()
            || self.below(group).into_iter().any(|below| self.job.groups[below].required.is_some())
    }

    /// Domains that a group may be confined to: those of the level within the scope, the one its bound pods fix, or the
    /// one that the scope is in already.
    pub fn domains_for(&self, group: GroupId, topology: usize, level: usize, scope: &Scope) -> Vec<u32> {
        let domains = &self.snapshot.domains[topology];
        let inside = Self::domain_in(scope, topology);
        let range = domains.within(inside, level);
        if let Some(fixed) = self.job.groups[group].fixed {
            return if range.contains(&fixed) { vec![fixed] } else { Vec::new() };
        }
        if scope.iter().all(|(known, _)| *known == topology) {
            return range.collect();
        }
        let mut found: Vec<u32> = Vec::new();
        for node in self.nodes_in(scope) {
            if domains.zone_level == Some(level) {
                let zones = self.snapshot.cluster.nodes[node as usize].zones.len();
                let zones = 0..u16::try_from(zones).unwrap_or(u16::MAX);
                let places = zones.map(|zone| crate::cluster::Place { node, zone: Some(zone) });
                let inside = places.filter(|place| {
                    let mut zones = scope.iter().filter(|(known, at)| self.snapshot.domains[*known].is_zone(*at));
                    zones.all(|(known, at)| self.snapshot.domains[*known].place(*at) == *place)
                });
                found.extend(inside.map(|place| domains.at(place, level)));
            } else {
                found.push(domains.of_node(node, level));
            }
        }
        found.sort_unstable();
        found.dedup();
        found.retain(|domain| range.contains(domain));
        found
    }

    /// Candidate domains that have room by counts, best first: few new domains for the spans above, then what pods would like,
    /// then tightest.
    pub fn candidates(
        &self,
        group: GroupId,
        topology: usize,
        level: usize,
        scope: &Scope,
        want: Want,
        active: &[bool],
    ) -> Vec<u32> {
        let demand = self.demand(group, want, active);
        let amounts = self.amounts(&demand);
        let simple = scope.iter().all(|(known, _)| *known == topology);
        let mut found: Vec<((u64, u64, i64, u32), u32)> = Vec::new();
        for domain in self.domains_for(group, topology, level, scope) {
            if demand.iter().all(|demand| self.room_in(demand, scope, simple, topology, domain) >= demand.1) {
                let cost = self.cost_above(group, topology, domain);
                let unliked = self.unliked(&demand, scope, topology, domain);
                found.push(((cost, unliked, self.leftover(&amounts, topology, domain), domain), domain));
            }
        }
        if found.len() > TRIES {
            found.select_nth_unstable(TRIES);
            found.truncate(TRIES);
        }
        found.sort_unstable();
        found.into_iter().map(|(_, domain)| domain).collect()
    }

    /// How much less the pods of a demand like the best places in a candidate domain than the best there are.
    fn unliked(&self, demand: &[(usize, u64, usize)], scope: &Scope, topology: usize, domain: u32) -> u64 {
        if self.job.wish.is_none() {
            return 0;
        }
        let inside = self.narrowed_to(scope, topology, domain);
        let unliked = demand.iter().map(|(_, need, batch)| {
            let most = self.job.batches[*batch].most * need;
            if most == 0 { 0 } else { most - self.liked_best(*batch, *need, &inside) }
        });
        unliked.sum()
    }

    /// The room for a demand in a candidate domain of a scope.
    pub fn room_in(
        &self,
        demand: &(usize, u64, usize),
        scope: &Scope,
        simple: bool,
        topology: usize,
        domain: u32,
    ) -> u64 {
        let levels = &self.snapshot.domains[topology].level;
        match Self::domain_in(scope, topology) {
            Some(known) if levels[known as usize] >= levels[domain as usize] => self.room(demand.2, scope),
            _ if simple => self.snapshot.count(demand.0, topology, domain),
            _ => self.room(demand.2, &Self::narrowed(scope, topology, domain)),
        }
    }

    /// A scope cut with a domain that may be wider than what it is cut to already.
    pub fn narrowed_to(&self, scope: &Scope, topology: usize, domain: u32) -> Scope {
        let level = &self.snapshot.domains[topology].level;
        match Self::domain_in(scope, topology) {
            Some(known) if level[known as usize] >= level[domain as usize] => scope.clone(),
            _ => Self::narrowed(scope, topology, domain),
        }
    }

    /// What a group must or should have, by kind.
    pub fn demand(&self, group: GroupId, want: Want, active: &[bool]) -> Vec<(usize, u64, usize)> {
        if want == Want::All {
            return self.left_by_kind(group, active);
        }
        let mut demand: Vec<(usize, u64, usize)> = Vec::new();
        for &leaf in &self.job.groups[group].leaves {
            let batches = self.job.batches_of(leaf);
            let need = self.job.groups[leaf].need.saturating_sub(self.placed(leaf)) as u64;
            // Of several kinds any may make the minimum.
            if let ([batch], true) = (batches, active[leaf] && self.is_needed_below(group, leaf)) {
                let kind = self.job.batches[*batch].kind;
                match demand.iter_mut().find(|(known, ..)| *known == kind) {
                    Some((_, sum, _)) => *sum += need,
                    None => demand.push((kind, need, *batch)),
                }
            }
        }
        demand
    }

    /// Whether a leaf cannot be done without if a group above it is placed.
    fn is_needed_below(&self, group: GroupId, leaf: GroupId) -> bool {
        let path = self.job.gang.ancestry(leaf).take_while(|above| *above != group);
        path.filter_map(|below| self.job.groups[below].parent)
            .all(|above| self.job.groups[above].min_children >= self.job.groups[above].children.len())
    }

    /// New domains that a choice makes the groups above use, at levels no narrower than the choice.
    fn cost_above(&self, group: GroupId, topology: usize, domain: u32) -> u64 {
        let domains = &self.snapshot.domains[topology];
        let level = usize::from(domains.level[domain as usize]);
        let mut cost = 0;
        for (number, span) in self.job.spans.iter().enumerate() {
            let counts = span.topology == topology
                && span.level <= level
                && span.group != group
                && self.job.gang.ancestry(group).any(|above| above == span.group);
            if counts && cost < 1 << 40 {
                cost = cost << 1 | u64::from(!self.uses(number, domains.up(domain, span.level)));
            }
        }
        cost
    }

    /// What a demand comes to, by resource: those that it asks for.
    pub fn amounts(&self, demand: &[(usize, u64, usize)]) -> Vec<(usize, i64)> {
        let amounts = (0..self.snapshot.width).map(|resource| {
            let each = demand.iter().map(|(kind, need, _)| {
                let need = i64::try_from(*need).unwrap_or(i64::MAX);
                self.snapshot.kinds[*kind].key.request[resource].saturating_mul(need)
            });
            (resource, each.fold(0, i64::saturating_add))
        });
        amounts.filter(|(_, amount)| *amount > 0).collect()
    }

    /// What is left of the scarcest resource when some amounts are taken in a domain.
    pub fn leftover(&self, amounts: &[(usize, i64)], topology: usize, domain: u32) -> i64 {
        if self.snapshot.domains[topology].is_zone(domain) {
            let zone = self.snapshot.free_in_zone(self.snapshot.domains[topology].place(domain));
            let left = amounts.iter().filter(|(resource, _)| zone[*resource] != i64::MAX);
            return left.map(|(resource, amount)| zone[*resource] - amount).max().unwrap_or(0);
        }
        let at = domain as usize * self.snapshot.width;
        let (mut scarcest, mut left) = (0.0, 0);
        for &(resource, amount) in amounts {
            // Shares only order domains, and are computed alike each time.
            #[allow(clippy::cast_precision_loss)]
            let share = amount as f64 / self.snapshot.domain_total[topology][at + resource].max(1) as f64;
            if share > scarcest {
                scarcest = share;
                left = self.snapshot.domain_free[topology][at + resource] - amount;
            }
        }
        left
    }

    /// Puts what is not yet placed where it fits, in the domains that are chosen; groups that were given up are tried.
    pub fn extend(&mut self, active: &mut [bool]) {
        for leaf in self.job.groups[0].leaves.clone() {
            if active[leaf] && self.is_settled(leaf) {
                let scope = self.scope(leaf);
                for &batch in self.job.batches_of(leaf) {
                    if self.left[batch] > 0 {
                        self.fill(batch, self.left[batch], &scope);
                    }
                }
            }
        }
        for group in 0..self.job.groups.len() {
            let parent_active =
                self.job.groups[group].parent.is_some_and(|parent| active[parent] && self.is_settled(parent));
            if active[group] || !parent_active || self.job.is_hopeless(group) {
                continue;
            }
            for below in std::iter::once(group).chain(self.below(group)) {
                active[below] = !self.job.is_hopeless(below);
            }
            if self.greedy(group, Want::All, active) {
                continue;
            }
            let some = self.job.groups[group].children.is_empty() && self.need_below(group, active) == 0;
            let placed = (some && self.greedy_some(group)) || self.greedy(group, Want::Minimum, active);
            if !placed {
                self.deactivate(group, active);
            }
        }
    }

    /// Whether a group and all above it that need a domain have one.
    fn is_settled(&self, group: GroupId) -> bool {
        let mut path = self.job.gang.ancestry(group);
        path.all(|group| self.job.groups[group].required.is_none() || self.confined[group].is_some())
    }

    /// Puts as many pods as fit of a leaf that needs none into the domain that takes most.
    fn greedy_some(&mut self, leaf: GroupId) -> bool {
        if let Some((topology, level)) = self.job.groups[leaf].required.filter(|_| self.confined[leaf].is_none()) {
            let scope = self.scope(leaf);
            let room = |domain: &u32| -> u64 {
                let inside = self.narrowed_to(&scope, topology, *domain);
                let batches = self.job.batches_of(leaf).iter();
                batches.map(|batch| self.room(*batch, &inside).min(self.left[*batch] as u64)).sum()
            };
            let domains = self.domains_for(leaf, topology, level, &scope);
            let Some(most) = domains.into_iter().max_by_key(|domain| (room(domain), std::cmp::Reverse(*domain))) else {
                return false;
            };
            self.confined[leaf] = Some(most);
        }
        let scope = self.scope(leaf);
        for &batch in self.job.batches_of(leaf) {
            self.fill(batch, self.left[batch], &scope);
        }
        true
    }
}
