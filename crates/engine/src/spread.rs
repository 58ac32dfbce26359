//! Equal groups over the domains of the level they need: how many go where, at the least cost in domains of a span.

use crate::gang::GroupId;
use crate::state::{Scope, State};

/// How many copies go to which domain.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spread {
    /// At least so many domains of the span are used.
    pub cost: u64,
    /// Domains of the needed level with the number of copies.
    pub copies: Vec<(u32, usize)>,
}

/// Work beyond which no spread is computed.
const LIMIT: usize = 4_000_000;

impl State<'_, '_> {
    /// Spreads equal groups, none begun, over the domains of their level within a scope so that the lower bound of the
    /// domains of `span` (topology, level) that they use is least. None if the groups are not such, or do not fit by counts.
    pub fn spread(
        &self,
        groups: &[GroupId],
        active: &[bool],
        scope: &Scope,
        span: Option<(usize, usize)>,
    ) -> Option<Spread> {
        let first = *groups.first()?;
        let (topology, level) = self.job.groups[first].required?;
        let profile = self.job.groups[first].profile;
        let alike = |group: &GroupId| {
            active[*group]
                && self.job.groups[*group].profile == profile
                && self.job.groups[*group].bound.is_empty()
                && self.confined[*group].is_none()
        };
        if groups.len() < 2 || !groups.iter().all(alike) || scope.iter().any(|(known, _)| *known != topology) {
            return None;
        }
        let domains = &self.snapshot.domains[topology];
        let range = domains.within(Self::domain_in(scope, topology), level);
        let kinds = self.left_by_kind(first, active);
        let span = span.filter(|(known, _)| *known == topology).map(|(_, level)| level);
        let mut units: Vec<Unit> = Vec::new();
        for domain in range {
            let rooms = kinds.iter().map(|(kind, left, _)| self.snapshot.count(*kind, topology, domain) / left);
            let most = usize::try_from(rooms.min().unwrap_or(0)).unwrap_or(usize::MAX).min(groups.len());
            if most == 0 {
                continue;
            }
            match span {
                // Domains of a wider span are filled one after another.
                Some(wide) if wide <= level => {
                    let above = domains.up(domain, wide);
                    match units.last_mut().filter(|unit| unit.above == above) {
                        Some(unit) => {
                            unit.parts.push((domain, most));
                            let most = (unit.costs.len() + most).min(groups.len());
                            unit.costs.resize(most, 1);
                        }
                        None => units.push(Unit { above, parts: vec![(domain, most)], costs: vec![1; most] }),
                    }
                }
                Some(narrow) => {
                    let costs = self.costs(&kinds, topology, domain, narrow, most);
                    units.push(Unit { above: domain, parts: vec![(domain, most)], costs });
                }
                None => {
                    units.push(Unit { above: domain, parts: vec![(domain, most)], costs: vec![0; most] });
                }
            }
        }
        share(units, groups.len())
    }

    /// The least number of narrower domains that 1, 2, … copies use in one domain.
    fn costs(
        &self,
        kinds: &[(usize, u64, usize)],
        topology: usize,
        domain: u32,
        narrow: usize,
        most: usize,
    ) -> Vec<u64> {
        let domains = &self.snapshot.domains[topology];
        let inner = domains.within(Some(domain), narrow);
        let alone: Vec<u32> = domains.outside(Some(domain), narrow).collect();
        let mut costs = vec![0; most];
        let mut raise = |mut caps: Vec<u64>, each: u64| {
            caps.sort_unstable_by(|a, b| b.cmp(a));
            let (mut used, mut sum) = (0, 0);
            for (copies, cost) in costs.iter_mut().enumerate() {
                while sum < each * (copies as u64 + 1) && used < caps.len() {
                    sum += caps[used];
                    used += 1;
                }
                *cost = (*cost).max(used as u64);
            }
        };
        for (kind, left, _) in kinds {
            let caps = inner.clone().map(|inner| self.snapshot.count(*kind, topology, inner));
            let rest = alone.iter().map(|node| u64::from(self.snapshot.kinds[*kind].fit[*node as usize]));
            raise(caps.chain(rest).collect(), *left);
        }
        if kinds.len() > 1 {
            let width = self.snapshot.width;
            for resource in 0..width {
                let asks = |kind: usize| self.snapshot.kinds[kind].key.request[resource].unsigned_abs();
                let each: u64 = kinds.iter().map(|(kind, left, _)| asks(*kind) * left).sum();
                if each > 0 {
                    let free = |node: &u32| self.snapshot.free[*node as usize * width + resource].max(0).unsigned_abs();
                    let caps = inner.clone().map(|inner| domains.nodes(inner).iter().map(free).sum());
                    raise(caps.chain(alone.iter().map(free)).collect(), each);
                }
            }
        }
        costs
    }
}

/// A domain, or several under one of a wider span, with what 1, 2, … copies in it cost.
struct Unit {
    above: u32,
    parts: Vec<(u32, usize)>,
    costs: Vec<u64>,
}

/// The cheapest way to share copies among units, by a table over units and copies; few units before many.
fn share(mut units: Vec<Unit>, copies: usize) -> Option<Spread> {
    let work: usize = units.iter().map(|unit| unit.costs.len() * (copies + 1)).sum();
    if units.iter().map(|unit| unit.costs.len()).sum::<usize>() < copies || work > LIMIT {
        return None;
    }
    // Tight ones first, so that among equals they are taken.
    units.sort_by_key(|unit| (unit.costs.len(), unit.above));
    let none = (u64::MAX, u64::MAX);
    let mut best = vec![none; copies + 1];
    best[0] = (0, 0);
    let mut taken: Vec<Vec<u32>> = Vec::with_capacity(units.len());
    for unit in &units {
        let mut next = best.clone();
        let mut take = vec![0u32; copies + 1];
        for (before, cost) in best.iter().enumerate().filter(|(_, cost)| **cost != none) {
            for (more, unit_cost) in unit.costs.iter().enumerate().take(copies - before) {
                let sum = (cost.0 + unit_cost, cost.1 + 1);
                let at = before + more + 1;
                if sum < next[at] {
                    next[at] = sum;
                    take[at] = u32::try_from(more + 1).unwrap_or(u32::MAX);
                }
            }
        }
        best = next;
        taken.push(take);
    }
    let mut spread = Spread { cost: best[copies].0, copies: Vec::new() };
    let mut rest = copies;
    for (unit, take) in units.iter().zip(&taken).rev() {
        let mut here = take[rest] as usize;
        rest -= here;
        let mut parts = unit.parts.clone();
        parts.sort_by_key(|(domain, most)| (std::cmp::Reverse(*most), *domain));
        for (domain, most) in parts {
            let part = here.min(most);
            here -= part;
            if part > 0 {
                spread.copies.push((domain, part));
            }
        }
    }
    Some(spread)
}
