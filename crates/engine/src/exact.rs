//! The exact search: every choice of domains and every way to fill them, cut by bounds and by symmetry.
//!
//! Two uses. With [`Goal::Best`] it looks for a placement that beats the best one known, until none is left. With
//! [`Goal::Any`] domains are chosen already, and it packs the minima into them in any way.

use crate::classes::Classes;
use crate::cluster::Place;
use crate::domains::NONE;
use crate::gang::GroupId;
use crate::state::{Put, Score, State};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    /// Minima, packed in any way.
    Any,
    /// The best score.
    Best,
}

/// A whole placement of a gang.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub score: Score,
    pub puts: Vec<Put>,
    pub confined: Vec<Option<u32>>,
    pub active: Vec<bool>,
}

/// How many ways to choose among groups that need not be placed are looked at.
const MOST_ACTIVATIONS: usize = 512;

/// The exact search over one state.
pub(crate) struct Exact<'a, 's, 'j> {
    state: &'a mut State<'s, 'j>,
    goal: Goal,
    classes: Option<Arc<Classes>>,
    pub best: Option<Found>,
    /// Nothing beats this; when it is reached, the search is over.
    floor: Score,
    /// So many entries of a score are looked at.
    entries: usize,
    active: Vec<bool>,
    choices: Vec<GroupId>,
    fills: Vec<usize>,
    /// Pods of each leaf that are still to be placed, and that must be.
    wanted: Vec<usize>,
    /// Pods that were passed over for good.
    forfeited: u64,
    /// Fillings of the domains chosen now that were looked at already.
    seen: FxHashSet<Vec<u32>>,
    is_over: bool,
}

impl<'a, 's, 'j> Exact<'a, 's, 'j> {
    /// Looks for a placement better than `best` in the first entries of its score. What groups are confined to already stays.
    pub fn improve(state: &'a mut State<'s, 'j>, best: Option<Found>, floor: Score, entries: usize) -> Option<Found> {
        let classes = Classes::kept(state.snapshot, state.job);
        let wanted = vec![usize::MAX; state.job.groups.len()];
        let mut exact = Self {
            state,
            goal: Goal::Best,
            classes,
            best,
            floor,
            entries,
            active: Vec::new(),
            choices: Vec::new(),
            fills: Vec::new(),
            wanted,
            forfeited: 0,
            seen: FxHashSet::default(),
            is_over: false,
        };
        for active in exact.activations() {
            if exact.is_over {
                break;
            }
            exact.begin(active);
            if !exact.has_room_for_minima() {
                continue;
            }
            let bound = exact.state.lower_bound(&exact.active, &exact.active, 0);
            if !exact.is_hopeless(&bound) {
                exact.choose(0);
            }
        }
        exact.best
    }

    /// Packs the needs of some leaves into their scopes, and leaves them placed if it can be done.
    pub fn pack(state: &'a mut State<'s, 'j>, leaves: &[GroupId]) -> Option<bool> {
        let mut active = vec![false; state.job.groups.len()];
        leaves.iter().for_each(|leaf| active[*leaf] = true);
        let wanted = state.job.groups.iter().map(|group| group.need).collect();
        let mut exact = Self {
            state,
            goal: Goal::Any,
            classes: None,
            best: None,
            floor: Vec::new(),
            entries: 0,
            active: active.clone(),
            choices: Vec::new(),
            fills: Vec::new(),
            wanted,
            forfeited: 0,
            seen: FxHashSet::default(),
            is_over: false,
        };
        exact.order_fills();
        exact.fill(0);
        match exact.best.take() {
            Some(found) => {
                let before = exact.state.puts.len();
                exact.state.replay(&found.puts[before..]);
                Some(true)
            }
            None if exact.state.budget > 0 => Some(false),
            None => None,
        }
    }

    /// Ways to choose which groups are placed, the most promising first.
    fn activations(&self) -> Vec<Vec<bool>> {
        let job = self.state.job;
        let mut ways: Vec<Vec<bool>> = vec![vec![false; job.groups.len()]];
        ways[0][0] = true;
        for group in 0..job.groups.len() {
            let it = &job.groups[group];
            if it.children.is_empty() {
                continue;
            }
            let mut next = Vec::new();
            for way in ways {
                if !way[group] {
                    next.push(way);
                    continue;
                }
                for chosen in self.choices_of_children(group) {
                    let mut way = way.clone();
                    chosen.iter().for_each(|child| way[*child] = true);
                    next.push(way);
                }
            }
            ways = next;
            if ways.len() > MOST_ACTIVATIONS {
                ways.truncate(MOST_ACTIVATIONS);
            }
        }
        ways.sort_by_cached_key(|way| self.state.lower_bound(way, way, 0));
        ways
    }

    /// Sets of children that satisfy a group: of equal ones only how many matters.
    fn choices_of_children(&self, group: GroupId) -> Vec<Vec<GroupId>> {
        let job = self.state.job;
        let mut children: Vec<GroupId> =
            job.groups[group].children.iter().copied().filter(|child| !job.is_hopeless(*child)).collect();
        children.sort_by_key(|child| (job.groups[*child].profile, *child));
        let mut sets: Vec<Vec<GroupId>> = vec![Vec::new()];
        for same in children.chunk_by(|a, b| job.groups[*a].profile == job.groups[*b].profile) {
            let mut next = Vec::new();
            for set in &sets {
                for count in (0..=same.len()).rev() {
                    let mut set = set.clone();
                    set.extend_from_slice(&same[..count]);
                    next.push(set);
                }
            }
            sets = next;
            if sets.len() > MOST_ACTIVATIONS {
                sets.truncate(MOST_ACTIVATIONS);
            }
        }
        sets.retain(|set| set.len() >= job.groups[group].min_children);
        sets
    }

    fn begin(&mut self, active: Vec<bool>) {
        self.active = active;
        let job = self.state.job;
        let mut order: Vec<GroupId> = vec![0];
        let mut at = 0;
        while at < order.len() {
            let mut children: Vec<GroupId> =
                job.groups[order[at]].children.iter().copied().filter(|child| self.active[*child]).collect();
            children.sort_by_cached_key(|child| {
                let pods: usize = job.groups[*child].batches.iter().map(|batch| job.batches[*batch].pods.len()).sum();
                (std::cmp::Reverse(pods), job.groups[*child].profile, *child)
            });
            for (i, child) in children.into_iter().enumerate() {
                order.insert(at + 1 + i, child);
            }
            at += 1;
        }
        order.retain(|group| job.groups[*group].required.is_some() && self.state.confined[*group].is_none());
        // A group without waiting pods binds nothing new: its bound pods agree with each other already.
        order.retain(|group| !job.groups[*group].batches.is_empty());
        self.choices = order;
        self.forfeited = self.state.given_up(&self.active);
    }

    /// Whether nothing below this state can beat the best.
    fn is_hopeless(&self, bound: &Score) -> bool {
        self.best.as_ref().is_some_and(|best| bound[..self.entries] >= best.score[..self.entries])
    }

    /// Whether there is room for all that the chosen groups must get, each kind of pod looked at alone.
    fn has_room_for_minima(&self) -> bool {
        let job = self.state.job;
        let mut needs: FxHashMap<usize, (u64, usize)> = FxHashMap::default();
        for leaf in job.groups[0].leaves.iter().filter(|leaf| self.active[**leaf]) {
            // Of several kinds any may make the minimum.
            if let [batch] = job.batches_of(*leaf) {
                needs.entry(job.batches[*batch].kind).or_insert((0, *batch)).0 += job.groups[*leaf].need as u64;
            }
        }
        let scope = self.state.scope(0);
        needs.values().all(|(need, batch)| *need <= self.state.room(*batch, &scope))
    }

    /// Whether every leaf still has room for what it must get.
    fn has_room(&self) -> bool {
        let job = self.state.job;
        (0..job.groups.len()).all(|leaf| {
            if !self.active[leaf] || !job.groups[leaf].children.is_empty() {
                return true;
            }
            let need = job.groups[leaf].need.saturating_sub(self.state.placed(leaf)) as u64;
            if need == 0 {
                return true;
            }
            let scope = self.state.scope(leaf);
            let rooms = job
                .batches_of(leaf)
                .iter()
                .map(|batch| self.state.room(*batch, &scope).min(self.state.left[*batch] as u64));
            rooms.sum::<u64>() >= need
        })
    }

    fn choose(&mut self, at: usize) {
        if self.is_over || !self.state.step() {
            self.is_over = true;
            return;
        }
        let Some(&group) = self.choices.get(at) else {
            self.order_fills();
            self.seen.clear();
            self.fill(0);
            return;
        };
        if !self.active[group] {
            return self.choose(at + 1);
        }
        let job = self.state.job;
        let Some((topology, level)) = job.groups[group].required else { return };
        let scope = self.state.scope(group);
        let first = self.sibling_before(at);
        let mut branches: Vec<(Score, i64, u32)> = Vec::new();
        let amounts = self.state.amounts(&self.state.left_by_kind(group, &self.active));
        let domains = self.state.domains_for(group, topology, level, &scope);
        let is_sole = domains.len() == 1;
        // A bound looks at every span.
        let cost = 1 + self.state.job.spans.len() as u64 / 4;
        for domain in domains {
            let is_first =
                is_sole || self.classes.as_ref().is_none_or(|it| it.stands_first(self.state, topology, domain));
            if domain < first || !is_first {
                continue;
            }
            self.state.steps(cost);
            self.state.confined[group] = Some(domain);
            if self.has_room() {
                let bound = self.state.lower_bound(&self.active, &self.active, 0);
                if !self.is_hopeless(&bound) {
                    branches.push((bound, self.state.leftover(&amounts, topology, domain), domain));
                }
            }
            self.state.confined[group] = None;
        }
        branches.sort();
        for (bound, _, domain) in branches {
            if self.is_over || self.is_hopeless(&bound) {
                break;
            }
            self.state.confined[group] = Some(domain);
            self.choose(at + 1);
            self.state.confined[group] = None;
        }
        if !self.is_over && self.state.need_below(group, &self.active) == 0 {
            self.choose_none(at, group);
        }
    }

    /// A group that need not have anything gets nothing.
    fn choose_none(&mut self, at: usize, group: GroupId) {
        let (active, forfeited) = (self.active.clone(), self.forfeited);
        self.state.deactivate(group, &mut self.active);
        self.forfeited = self.state.given_up(&self.active);
        let bound = self.state.lower_bound(&self.active, &self.active, 0);
        if !self.is_hopeless(&bound) {
            self.choose(at + 1);
        }
        (self.active, self.forfeited) = (active, forfeited);
    }

    /// The domain of the sibling before that is alike: of equal groups the order does not matter.
    fn sibling_before(&self, at: usize) -> u32 {
        let groups = &self.state.job.groups;
        let group = &groups[self.choices[at]];
        let before = self.choices[..at].iter().rev().find(|other| groups[**other].parent == group.parent);
        let alike = before.filter(|other| groups[**other].profile == group.profile);
        alike.and_then(|other| self.state.confined[*other]).unwrap_or(0)
    }

    /// Narrow scopes first, then pods whose domains are counted, then large ones.
    fn order_fills(&mut self) {
        let job = self.state.job;
        let mut fills: Vec<usize> =
            (0..job.batches.len()).filter(|batch| self.active[job.batches[*batch].leaf]).collect();
        fills.sort_by_cached_key(|batch| {
            let it = &job.batches[*batch];
            let nodes = self.state.nodes_in(&self.state.scope(it.leaf)).len();
            let counted = if self.goal == Goal::Best { it.spans.len() } else { 0 };
            let order = (std::cmp::Reverse(counted), std::cmp::Reverse(self.state.weight(it.kind)));
            (nodes, order, job.groups[it.leaf].profile, *batch)
        });
        self.fills = fills;
    }

    fn fill(&mut self, at: usize) {
        if self.is_over || !self.state.step() {
            self.is_over = true;
            return;
        }
        let Some(&batch) = self.fills.get(at) else {
            self.arrive();
            return;
        };
        if !self.has_room() || (at > 0 && !self.is_new(at)) {
            return;
        }
        if self.goal == Goal::Best {
            self.state.steps(self.state.job.spans.len() as u64 / 4);
            let bound = self.state.lower_bound(&self.active, &self.active, self.forfeited);
            if self.is_hopeless(&bound) {
                return;
            }
        }
        let job = self.state.job;
        let it = &job.batches[batch];
        let scope = self.state.scope(it.leaf);
        let mut places: Vec<(Place, u32)> = self.state.places(it.kind, &scope).map(|place| (place, 0)).collect();
        places.retain(|(place, _)| self.state.fit(it.kind, *place) > 0);
        places.sort_by_key(|(place, _)| {
            let fit = self.state.fit(it.kind, *place);
            let liked = std::cmp::Reverse(self.state.weight_of(batch, place.node));
            (liked, !self.state.uses_node(place.node), std::cmp::Reverse(fit), *place)
        });
        let mut names: FxHashMap<Vec<i64>, u32> = FxHashMap::default();
        for (place, class) in &mut places {
            let next = crate::domains::index(names.len());
            *class = *names.entry(self.likeness(*place)).or_insert(next);
        }
        let mut caps = vec![u32::MAX; names.len()];
        let goal = self.wanted[it.leaf].saturating_sub(self.state.placed(it.leaf));
        let want = self.state.left[batch].min(goal);
        self.fill_from(at, batch, &places, 0, want, &mut caps);
    }

    fn fill_from(
        &mut self,
        at: usize,
        batch: usize,
        places: &[(Place, u32)],
        next: usize,
        want: usize,
        caps: &mut Vec<u32>,
    ) {
        if self.is_over || !self.state.step() {
            self.is_over = true;
            return;
        }
        if self.goal == Goal::Best {
            let mut so_far = self.state.score.clone();
            so_far[0] = self.forfeited;
            if let Some(wish) = self.state.job.wish {
                so_far[wish] -= self.state.wished_at_most();
            }
            if self.is_hopeless(&so_far) {
                return;
            }
        }
        let job = self.state.job;
        let it = &job.batches[batch];
        if want == 0 || next == places.len() {
            // What found no place stays without, if the leaf can do without it.
            let later: usize = self.fills[at + 1..]
                .iter()
                .filter(|other| job.batches[**other].leaf == it.leaf)
                .map(|other| self.state.left[*other])
                .sum();
            if self.state.placed(it.leaf) + later >= job.groups[it.leaf].need {
                let left = self.state.left[batch] as u64;
                self.forfeited += left;
                self.fill(at + 1);
                self.forfeited -= left;
            }
            return;
        }
        let (place, class) = places[next];
        let fit = self.state.fit(it.kind, place);
        let most = fit.min(u32::try_from(want).unwrap_or(u32::MAX)).min(caps[class as usize]);
        let rest: u64 = places[next + 1..].iter().map(|(place, _)| u64::from(self.state.fit(it.kind, *place))).sum();
        let cap = caps[class as usize];
        for amount in (0..=most).rev() {
            if self.is_over {
                break;
            }
            // Fewer here than the others can make up for leave pods without a place; the bound judges that.
            let short = (want as u64).saturating_sub(u64::from(amount) + rest);
            let is_last = || self.fills[at + 1..].iter().all(|other| job.batches[*other].leaf != it.leaf);
            if self.goal == Goal::Any && short > 0 && is_last() {
                break;
            }
            caps[class as usize] = amount;
            let before = self.state.puts.len();
            if amount > 0 {
                self.state.put(batch, place, amount);
            }
            self.fill_from(at, batch, places, next + 1, want - amount as usize, caps);
            self.state.undo(before);
        }
        caps[class as usize] = cap;
    }

    /// Whether no filling that comes to the same has been looked at: the same kinds for the same spans on the same
    /// places, and the same leaves still short. What is best below it is known then.
    fn is_new(&mut self, at: usize) -> bool {
        let job = self.state.job;
        let index = |value: usize| crate::domains::index(value);
        let alike = |batch: usize| {
            let it = &job.batches[batch];
            let same = |other: &crate::job::Batch| other.kind == it.kind && other.spans == it.spans;
            job.batches.iter().position(same).unwrap_or(batch)
        };
        let mut puts: Vec<[u32; 4]> = self
            .state
            .puts
            .iter()
            .map(|put| {
                let zone = put.place.zone.map_or(0, |zone| u32::from(zone) + 1);
                [put.place.node, zone, index(alike(put.batch)), put.amount]
            })
            .collect();
        puts.sort_unstable();
        puts.dedup_by(|next, kept| {
            let same = next[..3] == kept[..3];
            if same {
                kept[3] += next[3];
            }
            same
        });
        let mut key = vec![index(at), u32::try_from(self.forfeited).unwrap_or(u32::MAX)];
        // Leaves that are still to be filled, by what they have.
        let mut leaves: Vec<GroupId> = self.fills[at..].iter().map(|batch| job.batches[*batch].leaf).collect();
        leaves.dedup();
        key.extend(leaves.iter().map(|leaf| index(self.state.placed(*leaf))));
        key.extend(puts.into_iter().flatten());
        self.seen.insert(key)
    }

    /// A whole placement.
    fn arrive(&mut self) {
        let entries = ..self.entries;
        let better = self.best.as_ref().is_none_or(|best| self.state.score[entries] < best.score[entries]);
        if self.goal == Goal::Any || better {
            self.best = Some(Found {
                score: self.state.score.clone(),
                puts: self.state.puts.clone(),
                confined: self.state.confined.clone(),
                active: self.active.clone(),
            });
            self.is_over = self.goal == Goal::Any || self.state.score[entries] <= self.floor[entries];
        }
    }

    /// What makes places alike for this batch and all that follow: the room, the members there, and the domains.
    fn likeness(&self, place: Place) -> Vec<i64> {
        let state = &self.state;
        let snapshot = &state.snapshot;
        let width = snapshot.width;
        let node = place.node as usize;
        let mut likeness: Vec<i64> = snapshot.free[node * width..(node + 1) * width].to_vec();
        for kind in &state.job.kinds {
            likeness.push(i64::from(snapshot.kinds[*kind].fit[node]));
            let weights = &snapshot.cluster.eligibility[snapshot.kinds[*kind].key.eligibility].weights;
            likeness.extend(weights.get(node).copied().map(i64::from));
        }
        for zone in 0..snapshot.cluster.nodes[node].zones.len() {
            let other = Place { node: place.node, zone: u16::try_from(zone).ok() };
            likeness.extend_from_slice(snapshot.free_in_zone(other));
        }
        // Zones of two nodes could be exchanged only together.
        likeness.extend(place.zone.map(|zone| i64::from(place.node) << 16 | i64::from(zone)));
        // Who else is there makes a difference only where domains are counted.
        let is_counted = |leaf: GroupId| {
            let mut spans = state.job.spans.iter();
            self.goal == Goal::Best && spans.any(|it| state.job.gang.ancestry(leaf).any(|above| above == it.group))
        };
        let puts = state.puts.iter().filter(|put| put.place.node == place.node);
        let placed = puts.map(|put| state.job.batches[put.batch].leaf);
        let standing = state.job.gang.standing().filter(|(_, at)| at.node == place.node).map(|(leaf, _)| leaf);
        let counted = placed.chain(standing).filter(|leaf| is_counted(*leaf));
        let mut here: Vec<i64> = counted.map(|leaf| i64::try_from(leaf).unwrap_or(-1)).collect();
        here.sort_unstable();
        here.dedup();
        likeness.push(-1);
        likeness.extend(here);
        likeness.push(-1);
        for &topology in &state.job.topologies {
            let domains = &snapshot.domains[topology];
            for level in 0..domains.levels() {
                let domain = domains.of_node(place.node, level);
                let alone = domain == NONE || domains.nodes(domain).len() == 1;
                let confined = || {
                    let mut groups = state.job.groups.iter().zip(&state.confined);
                    groups.any(|(group, at)| {
                        group.required.is_some_and(|(known, _)| known == topology)
                            && at.is_some_and(|at| {
                                domain != NONE
                                    && (at == domain || (domains.is_zone(at) && domains.place(at).node == place.node))
                            })
                    })
                };
                likeness.push(if alone && !confined() { -2 } else { i64::from(domain) });
            }
        }
        likeness
    }
}
