//! What no placement can beat: lower bounds on the score of every placement that completes a state.

use crate::gang::GroupId;
use crate::job::Span;
use crate::state::{Scope, Score, State};

/// A bound looks into each candidate domain of an open choice if there are at most so many.
const FEW_DOMAINS: usize = 32;
/// A bound looks at each node of a scope if there are at most so many.
const FEW_NODES: usize = 256;

impl State<'_, '_> {
    /// A score that no completion of this state beats, entry by entry compared from the first.
    ///
    /// `active` tells which groups are to be placed. Entries after the first may assume that the first is met exactly:
    /// that many pods, whichever, stay without a place. At least `forfeited` do. Groups that are `certain` are placed.
    pub fn lower_bound(&self, active: &[bool], certain: &[bool], forfeited: u64) -> Score {
        let mut bound = self.score.clone();
        let given_up: u64 = self.given_up(active);
        bound[0] = (given_up + self.excess(0, active)).max(forfeited);
        let spare = Spare { pods: bound[0] - given_up, certain };
        // Spans that are untouched and ask for the same have the same bound.
        let mut known: Vec<(Asked, u64)> = Vec::new();
        for (number, span) in self.job.spans.iter().enumerate() {
            let group = &self.job.groups[span.group];
            if !active[span.group] || group.batches.iter().all(|batch| self.left[*batch] == 0) {
                continue;
            }
            let is_fresh = self.span_used(number) == 0;
            let has_nested = group.children.iter().any(|child| self.job.groups[*child].required.is_some());
            let asked = Asked {
                at: (span.topology, span.level),
                open: group.required.filter(|_| self.confined[span.group].is_none()),
                nested: has_nested.then_some(group.profile),
                kinds: self.least_by_kind(span.group, spare, active),
                scope: self.scope(span.group),
            };
            let more = match known.iter().find(|(known, _)| is_fresh && *known == asked) {
                Some((_, more)) => *more,
                None => self.more_domains(number, span, spare, active, &asked.scope),
            };
            bound[span.entry] += more;
            if is_fresh {
                known.push((asked, more));
            }
        }
        if let Some(wish) = self.job.wish {
            let active = (0..self.left.len()).filter(|batch| active[self.job.batches[*batch].leaf]);
            bound[wish] -= active.map(|batch| self.most_liked(batch)).sum::<u64>();
        }
        bound
    }

    /// How much the pods of a batch that are left can like their places at most, each batch looked at alone.
    fn most_liked(&self, batch: usize) -> u64 {
        let (left, most) = (self.left[batch] as u64, self.job.batches[batch].most);
        let scope = self.scope(self.job.batches[batch].leaf);
        if left == 0 || most == 0 || !self.is_small(&scope) {
            return left * most;
        }
        self.liked_best(batch, left, &scope)
    }

    /// How much so many pods of a batch like the places that they like best in a scope.
    pub fn liked_best(&self, batch: usize, want: u64, scope: &Scope) -> u64 {
        let fits = &self.snapshot.kinds[self.job.batches[batch].kind].fit;
        let nodes = self.nodes_in(scope).into_iter().filter(|node| fits[*node as usize] > 0);
        let mut liked: Vec<(u64, u64)> =
            nodes.map(|node| (self.weight_of(batch, node), u64::from(fits[node as usize]))).collect();
        liked.sort_unstable_by(|a, b| b.cmp(a));
        let (mut rest, mut sum) = (want, 0);
        for (weight, fit) in liked {
            let pods = fit.min(rest);
            sum += weight * pods;
            rest -= pods;
        }
        sum
    }

    /// Whether a scope has so few nodes that each is looked at.
    fn is_small(&self, scope: &Scope) -> bool {
        let nodes = scope.iter().map(|(topology, domain)| self.snapshot.domains[*topology].nodes(*domain).len());
        nodes.min().unwrap_or(self.snapshot.cluster.nodes.len()) <= FEW_NODES
    }

    /// The same for all that is left, wherever it may go: less than nothing is not asked for.
    pub fn wished_at_most(&self) -> u64 {
        self.left.iter().zip(&self.job.batches).map(|(left, batch)| *left as u64 * batch.most).sum()
    }

    /// Waiting pods of groups that are not to be placed.
    pub fn given_up(&self, active: &[bool]) -> u64 {
        let batches = self.job.batches.iter().zip(&self.left);
        batches.filter(|(batch, _)| !active[batch.leaf]).map(|(_, left)| *left as u64).sum()
    }

    /// Pods of a group that must stay without a place: more of a kind than there is room for.
    fn excess(&self, group: GroupId, active: &[bool]) -> u64 {
        if !active[group] {
            return 0;
        }
        let below: u64 = self.job.groups[group].children.iter().map(|child| self.excess(*child, active)).sum();
        let scope = self.scope(group);
        let open = self.job.groups[group].required.filter(|_| self.confined[group].is_none());
        let mut own = 0;
        for (kind, left, batch) in self.left_by_kind(group, active) {
            let room = match open {
                Some((topology, level)) if scope.len() <= 1 && scope.iter().all(|(known, _)| *known == topology) => {
                    let domains = self.snapshot.domains[topology].within(Self::domain_in(&scope, topology), level);
                    domains.map(|domain| self.snapshot.count(kind, topology, domain)).max().unwrap_or(0)
                }
                _ => self.room(batch, &scope),
            };
            own += left.saturating_sub(room);
        }
        own.max(below).max(self.excess_by_sums(group, active, &scope))
    }

    /// The same by sums of one resource, for pods of several kinds: even the smallest do not all find room.
    fn excess_by_sums(&self, group: GroupId, active: &[bool], scope: &Scope) -> u64 {
        let kinds = self.left_by_kind(group, active);
        if kinds.len() < 2 {
            return 0;
        }
        let snapshot = &self.snapshot;
        let width = snapshot.width;
        let open = self.job.groups[group].required.filter(|_| self.confined[group].is_none());
        let free = |resource: usize| -> Option<i64> {
            let in_domain = |topology: usize, domain: u32| {
                let is_zone = snapshot.domains[topology].is_zone(domain);
                (!is_zone).then(|| snapshot.domain_free[topology][domain as usize * width + resource])
            };
            match (scope.as_slice(), open) {
                ([], Some((topology, level))) if level < FEW_DOMAINS => {
                    let range = snapshot.domains[topology].range(level);
                    if range.len() > FEW_DOMAINS { None } else { range.filter_map(|it| in_domain(topology, it)).max() }
                }
                ([], None) => Some(snapshot.free_in_all()[resource]),
                ([(topology, domain)], _) => in_domain(*topology, *domain),
                _ => None,
            }
        };
        let mut excess = 0;
        for resource in 0..width {
            let Some(mut free) = free(resource) else { continue };
            let mut asks: Vec<(i64, u64)> =
                kinds.iter().map(|(kind, left, _)| (snapshot.kinds[*kind].key.request[resource], *left)).collect();
            asks.sort_unstable();
            let mut short = 0;
            for (ask, left) in asks.into_iter().filter(|(ask, _)| *ask > 0) {
                let fit = u64::try_from(free / ask).unwrap_or(0).min(left);
                free -= ask * i64::try_from(fit).unwrap_or(0);
                short += left - fit;
            }
            excess = excess.max(short);
        }
        excess
    }

    /// Kinds of a group with the number of pods left and a batch of the kind.
    pub fn left_by_kind(&self, group: GroupId, active: &[bool]) -> Vec<(usize, u64, usize)> {
        let mut kinds: Vec<(usize, u64, usize)> = Vec::new();
        for &batch in &self.job.groups[group].batches {
            let it = &self.job.batches[batch];
            if self.left[batch] == 0 || !active[it.leaf] {
                continue;
            }
            match kinds.iter_mut().find(|(kind, ..)| *kind == it.kind) {
                Some((_, left, _)) => *left += self.left[batch] as u64,
                None => kinds.push((it.kind, self.left[batch] as u64, batch)),
            }
        }
        kinds
    }

    /// The same with the number of pods that are placed in any case: all but those spared, or what leaves must have.
    fn least_by_kind(&self, group: GroupId, spare: Spare<'_>, active: &[bool]) -> Vec<(usize, u64, usize)> {
        let mut kinds = self.left_by_kind(group, active);
        if spare.pods == 0 {
            return kinds;
        }
        for (kind, left, _) in &mut kinds {
            let batches = self.job.groups[group].batches.iter().map(|batch| &self.job.batches[*batch]);
            let sole = batches.filter(|batch| batch.kind == *kind && self.job.batches_of(batch.leaf).len() == 1);
            let must = sole
                .filter(|batch| spare.certain[batch.leaf])
                .map(|batch| self.job.groups[batch.leaf].need.saturating_sub(self.placed(batch.leaf)) as u64);
            *left = left.saturating_sub(spare.pods).max(must.sum());
        }
        kinds
    }

    /// How many more domains of a span the pods that are left must use at least.
    fn more_domains(&self, number: usize, span: &Span, spare: Spare<'_>, active: &[bool], scope: &Scope) -> u64 {
        let group = &self.job.groups[span.group];
        let open = group.required.filter(|_| self.confined[span.group].is_none());
        let Some((topology, level)) = open else { return self.more_in(number, span, spare, active, scope) };
        if let Some(domain) = group.fixed {
            return self.more_in(number, span, spare, active, &Self::narrowed(scope, topology, domain));
        }
        if topology == span.topology && span.level <= level {
            let is_placed = self.least_by_kind(span.group, spare, active).iter().any(|(_, least, _)| *least > 0);
            return u64::from(self.span_used(number) == 0 && is_placed);
        }
        let candidates = self.snapshot.domains[topology].within(Self::domain_in(scope, topology), level);
        if candidates.len() > FEW_DOMAINS {
            return self.more_by_counts(number, span, spare, active, scope);
        }
        let mut least = u64::MAX;
        for domain in candidates {
            let scope = Self::narrowed(scope, topology, domain);
            let mut kinds = self.least_by_kind(span.group, spare, active).into_iter();
            if kinds.all(|(_, least, batch)| self.room(batch, &scope) >= least) {
                least = least.min(self.more_in(number, span, spare, active, &scope));
                if least <= 1 {
                    break;
                }
            }
        }
        if least == u64::MAX { 0 } else { least }
    }

    /// A scope cut to a domain inside it.
    pub fn narrowed(scope: &Scope, topology: usize, domain: u32) -> Scope {
        let mut scope = scope.clone();
        match scope.iter_mut().find(|(known, _)| *known == topology) {
            Some((_, known)) => *known = domain,
            None => scope.push((topology, domain)),
        }
        scope
    }

    fn more_in(&self, number: usize, span: &Span, spare: Spare<'_>, active: &[bool], scope: &Scope) -> u64 {
        let mut more = self.more_by_counts(number, span, spare, active, scope);
        if self.left_by_kind(span.group, active).len() > 1 {
            more = more.max(self.more_by_sums(number, span, spare, active, scope));
        }
        more.max(self.more_by_children(number, span, spare, active, scope))
    }

    /// The same by counts of each kind alone.
    fn more_by_counts(&self, number: usize, span: &Span, spare: Spare<'_>, active: &[bool], scope: &Scope) -> u64 {
        let kinds = self.least_by_kind(span.group, spare, active);
        let mut more = 0;
        for &(kind, need, _) in &kinds {
            if need > 0 && self.is_plain(number, span) {
                let domains = &self.snapshot.domains[span.topology];
                let range = domains.within(Self::domain_in(scope, span.topology), span.level);
                let counts = &self.snapshot.kinds[kind].count[span.topology];
                more = more.max(fewest_of(&counts[range.start as usize..range.end as usize], need));
            } else if need > 0 {
                let take = |at| match at {
                    At::Domain(domain) => self.snapshot.count(kind, span.topology, domain),
                    At::Node(node) => u64::from(self.snapshot.kinds[kind].fit[node as usize]),
                };
                more = more.max(fewest(|| self.capacities(number, span, scope, take), need));
            }
        }
        more
    }

    /// Whether a span's domains are counted as they are: none in use, no zones, no node outside them.
    fn is_plain(&self, number: usize, span: &Span) -> bool {
        let domains = &self.snapshot.domains[span.topology];
        self.span_used(number) == 0 && domains.is_complete() && domains.zone_level != Some(span.level)
    }

    /// The same by sums of one resource, for pods of several kinds.
    fn more_by_sums(&self, number: usize, span: &Span, spare: Spare<'_>, active: &[bool], scope: &Scope) -> u64 {
        let kinds = self.left_by_kind(span.group, active);
        let least = self.least_by_kind(span.group, spare, active);
        let mut more = 0;
        for resource in 0..self.snapshot.width {
            let asks = |kind: usize| self.snapshot.kinds[kind].key.request[resource];
            let sum = |kinds: &[(usize, u64, usize)]| -> i64 {
                kinds.iter().map(|(kind, pods, _)| asks(*kind) * i64::try_from(*pods).unwrap_or(0)).sum()
            };
            let most = kinds.iter().map(|(kind, ..)| asks(*kind)).max().unwrap_or(0);
            let spared = most.saturating_mul(i64::try_from(spare.pods).unwrap_or(i64::MAX));
            let need = sum(&kinds).saturating_sub(spared).max(sum(&least));
            if need <= 0 {
                continue;
            }
            let width = self.snapshot.width;
            let free = |node: u32| -> u64 {
                let open = kinds.iter().any(|(kind, ..)| self.snapshot.kinds[*kind].fit[node as usize] > 0);
                if open { self.snapshot.free[node as usize * width + resource].max(0).unsigned_abs() } else { 0 }
            };
            let take = |at| match at {
                At::Node(node) => free(node),
                At::Domain(domain) => {
                    let nodes = self.snapshot.domains[span.topology].nodes(domain);
                    nodes.iter().map(|node| free(*node)).sum()
                }
            };
            more = more.max(fewest(|| self.capacities(number, span, scope, take), need.unsigned_abs()));
        }
        more
    }

    /// What each domain of a span within a scope takes, those in use first with a mark.
    fn capacities(
        &self,
        number: usize,
        span: &Span,
        scope: &Scope,
        take: impl Fn(At) -> u64,
    ) -> impl Iterator<Item = (bool, u64)> {
        let domains = &self.snapshot.domains[span.topology];
        let inside = Self::domain_in(scope, span.topology);
        let used = self.span_used(number) > 0;
        let by_domain = domains.within(inside, span.level).map(move |domain| (domain, At::Domain(domain)));
        let alone = domains.outside(inside, span.level).map(move |node| (domains.len() + node, At::Node(node)));
        by_domain.chain(alone).map(move |(key, at)| (used && self.uses(number, key), take(at)))
    }

    /// The same for a group all of whose pods are in equal children that each need a domain of one level: what lies in
    /// different domains of that level cannot share narrower ones.
    fn more_by_children(&self, number: usize, span: &Span, spare: Spare<'_>, active: &[bool], scope: &Scope) -> u64 {
        if spare.pods > 0 || self.span_used(number) > 0 {
            return 0;
        }
        let mut children = self.job.groups[span.group].children.clone();
        children.retain(|child| active[*child] && self.job.groups[*child].required.is_some());
        children.sort_by_key(|child| self.job.groups[*child].profile);
        let same = children.chunk_by(|a, b| self.job.groups[*a].profile == self.job.groups[*b].profile);
        let spreads = same.filter_map(|same| self.spread(same, active, scope, Some((span.topology, span.level))));
        spreads.map(|spread| spread.cost).max().unwrap_or(0)
    }
}

/// How many pods may stay without a place, and which groups are placed for certain.
#[derive(Clone, Copy)]
struct Spare<'a> {
    pods: u64,
    certain: &'a [bool],
}

/// What the bound of an untouched span depends on.
struct Asked {
    at: (usize, usize),
    open: Option<(usize, usize)>,
    nested: Option<usize>,
    kinds: Vec<(usize, u64, usize)>,
    scope: Scope,
}

impl PartialEq for Asked {
    fn eq(&self, other: &Self) -> bool {
        let kinds = |asked: &Self| asked.kinds.iter().map(|(kind, left, _)| (*kind, *left)).collect::<Vec<_>>();
        (self.at, self.open, self.nested) == (other.at, other.open, other.nested)
            && self.scope == other.scope
            && kinds(self) == kinds(other)
    }
}

#[derive(Clone, Copy)]
enum At {
    Domain(u32),
    Node(u32),
}

/// The fewest of some domains that take `need`.
fn fewest_of(caps: &[u64], need: u64) -> u64 {
    let largest = caps.iter().copied().max().unwrap_or(0);
    if largest == 0 {
        return 0;
    }
    let least = need.div_ceil(largest);
    // Most clusters have many domains alike.
    if least == 1 || caps.iter().filter(|cap| **cap == largest).count() as u64 >= least {
        return least;
    }
    fewest(|| caps.iter().map(|cap| (false, *cap)), need)
}

/// The fewest further domains that take `need` together with all that are in use.
fn fewest<I: Iterator<Item = (bool, u64)>>(caps: impl Fn() -> I, need: u64) -> u64 {
    let (mut have, mut largest, mut how_many) = (0, 0, 0);
    for (used, cap) in caps() {
        if used {
            have += cap;
        } else if cap > largest {
            (largest, how_many) = (cap, 1);
        } else {
            how_many += u64::from(cap == largest);
        }
    }
    let need = need.saturating_sub(have);
    if need == 0 || largest == 0 {
        return 0;
    }
    // Most clusters have many domains alike.
    if need.div_ceil(largest) <= how_many {
        return need.div_ceil(largest);
    }
    let mut fresh: Vec<u64> = caps().filter(|(used, cap)| !used && *cap > 0).map(|(_, cap)| cap).collect();
    fresh.sort_unstable_by(|a, b| b.cmp(a));
    let mut sum = 0;
    for (i, cap) in fresh.iter().enumerate() {
        sum += cap;
        if sum >= need {
            return i as u64 + 1;
        }
    }
    fresh.len() as u64
}
