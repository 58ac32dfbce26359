//! Claims that are redone by adding up: counts, sums and copies.

use super::case::{Case, Context, Leaf};
use super::claims::ensure;
use super::domains::Dom;
use super::ground::Mode;
use super::scope::Scope;
use crate::cluster::Place;
use crate::gang::GroupId;
use rustc_hash::FxHashMap;

/// Pods that count as the same in a claim about copies. Where they may stand on a node is a part of it.
type Shape<'a> = (Mode, usize, &'a [i64]);

impl Case<'_> {
    /// How many pods of one kind a scope takes, with nothing else there.
    fn alone(&self, scope: &Scope, (mode, eligibility, request): Shape<'_>) -> u64 {
        let mut sum: u64 = 0;
        self.each_node(scope, |node| {
            if !self.open(eligibility, node) {
                return;
            }
            // Zones share what the node has.
            let mut here: u64 = 0;
            self.each_place_on(scope, mode, node, |place| {
                here = here.saturating_add(self.room.takes(place, request));
            });
            sum = sum.saturating_add(here.min(self.room.takes(Place { node, zone: None }, request)));
        });
        sum
    }

    pub(super) fn count(&self, context: &Context, group: GroupId, fits: u64, need: u64) -> Result<(), String> {
        let leaf = self.leaf(context, group)?;
        ensure(leaf.need == need, || format!("{} needs {} and not {need}", self.name(group), leaf.need))?;
        let scope = self.scope(context, Some(group));
        let counts = leaf.kinds.iter().map(|kind| {
            let shape = (leaf.mode, kind.eligibility, &*kind.request);
            self.alone(&scope, shape).min(kind.waiting)
        });
        let found: u64 = counts.sum();
        ensure(found == fits, || format!("{found} pods of {} fit and not {fits}", self.name(group)))?;
        ensure(fits < need, || format!("{} fits by count", self.name(group)))
    }

    pub(super) fn sum(
        &self,
        context: &Context,
        leaves: &[GroupId],
        resource: usize,
        free: i64,
        need: i64,
    ) -> Result<(), String> {
        ensure(resource < self.ground.cluster.resources.len(), || format!("there is no resource {resource}"))?;
        distinct(leaves)?;
        let mut nodes = Vec::new();
        let mut needed: i64 = 0;
        for group in leaves {
            let leaf = self.leaf(context, *group)?;
            needed = needed.saturating_add(smallest(leaf, resource));
            let scope = self.scope(context, Some(*group));
            self.each_place(&scope, leaf.mode, |place| {
                if leaf.kinds.iter().any(|kind| self.open(kind.eligibility, place.node)) {
                    nodes.push(place.node);
                }
            });
        }
        nodes.sort_unstable();
        nodes.dedup();
        let amounts = nodes.iter().map(|node| self.room.free(*node)[resource].max(0));
        let found = amounts.fold(0, i64::saturating_add);
        ensure(found == free, || format!("{found} of resource {resource} is free and not {free}"))?;
        ensure(needed == need, || format!("{needed} of resource {resource} is needed and not {need}"))?;
        ensure(free < need, || format!("there is enough of resource {resource}"))
    }

    /// The need of a group by kind of pod, as far as it is certain.
    fn certain<'c>(&'c self, context: &Context, group: GroupId, needs: &mut FxHashMap<Shape<'c>, Vec<u64>>) {
        let mut own: FxHashMap<Shape<'c>, u64> = FxHashMap::default();
        for (below, leaf) in self.all_leaves() {
            let inside = self.gang.ancestry(below).any(|above| above == group);
            // Of a leaf with several kinds it is open which pods make up its need.
            if let [kind] = leaf.kinds.as_slice()
                && inside
                && leaf.need > 0
                && self.needed(context, below).is_ok()
            {
                *own.entry((leaf.mode, kind.eligibility, &kind.request)).or_default() += leaf.need;
            }
        }
        for (shape, need) in own {
            needs.entry(shape).or_default().push(need);
        }
    }

    pub(super) fn copies(&self, context: &Context, groups: &[GroupId], fits: u64) -> Result<(), String> {
        distinct(groups)?;
        let mut level_of_all = None;
        let mut counted: Vec<usize> = Vec::new();
        let mut needs: FxHashMap<Shape<'_>, Vec<u64>> = FxHashMap::default();
        for group in groups {
            let (topology, level, candidates) = self.candidates(context, *group)?;
            let same = *level_of_all.get_or_insert((topology, level)) == (topology, level);
            ensure(same, || format!("{} has another required level than the others", self.name(*group)))?;
            ensure(!self.has_bound(*group), || format!("{} has bound pods", self.name(*group)))?;
            let parent = self.gang.groups[*group].parent;
            let siblings = groups.iter().all(|other| self.gang.groups[*other].parent == parent);
            ensure(siblings, || format!("{} has another parent than the others", self.name(*group)))?;
            counted.extend(candidates);
            self.certain(context, *group, &mut needs);
        }
        counted.sort_unstable();
        counted.dedup();
        // Without any domain the claim is only true if some group has to have one.
        let must = !counted.is_empty() || groups.iter().any(|group| self.least(context, *group) > 0);
        ensure(must, || "the groups need no domain".to_owned())?;
        for need in needs.values_mut() {
            need.resize(groups.len(), 0);
            need.sort_unstable();
        }
        let topology = level_of_all.map_or(0, |(topology, _)| topology);
        let above = self.scope(context, groups.first().and_then(|group| self.gang.groups[*group].parent));
        let most = |count: &dyn Fn(Shape<'_>) -> u64| {
            let copies = needs.iter().map(|(shape, need)| copies_of(need, count(*shape)));
            copies.min().unwrap_or(groups.len() as u64)
        };
        let mut found: u64 = 0;
        let mut on_node: FxHashMap<u32, u64> = FxHashMap::default();
        for index in counted {
            let dom = Dom { topology, index };
            let scope = self.cut(&above, dom);
            let takes = most(&|shape| self.alone(&scope, shape));
            let domain = self.index.domain(dom);
            match domain.zone {
                Some(_) => *on_node.entry(domain.nodes[0]).or_default() += takes,
                None => found += takes,
            }
        }
        // Zones share what their node has.
        for (node, takes) in on_node {
            let whole = |(_, eligibility, request): Shape<'_>| match self.open(eligibility, node) {
                true => self.room.takes(Place { node, zone: None }, request),
                false => 0,
            };
            found += takes.min(most(&whole));
        }
        ensure(found == fits, || format!("{found} of the groups fit and not {fits}"))?;
        ensure(fits < groups.len() as u64, || "all of the groups fit by count".to_owned())
    }
}

/// The sum of the smallest requests of a leaf's waiting pods, as many as it needs.
fn smallest(leaf: &Leaf, resource: usize) -> i64 {
    let asks = leaf.kinds.iter().map(|kind| (kind.request.get(resource).copied().unwrap_or(0), kind.waiting));
    let mut asks: Vec<(i64, u64)> = asks.collect();
    asks.sort_unstable();
    let (mut left, mut sum) = (leaf.need, 0_i64);
    for (ask, waiting) in asks {
        let taken = left.min(waiting);
        sum = sum.saturating_add(ask.saturating_mul(i64::try_from(taken).unwrap_or(i64::MAX)));
        left -= taken;
    }
    sum
}

/// How many needs, the smallest first, a count is enough for.
fn copies_of(sorted: &[u64], count: u64) -> u64 {
    let mut left = count;
    let enough = sorted.iter().take_while(|need| {
        let fits = **need <= left;
        left = left.saturating_sub(**need);
        fits
    });
    enough.count() as u64
}

/// That groups are listed at most once each.
pub(super) fn distinct(groups: &[GroupId]) -> Result<(), String> {
    let mut sorted = groups.to_vec();
    sorted.sort_unstable();
    let twice = sorted.windows(2).find(|pair| pair[0] == pair[1]);
    twice.map_or(Ok(()), |pair| Err(format!("group {} is listed twice", pair[0])))
}
