//! A placement in the making: what has been put where, undone step by step, with its score kept along.

use crate::cluster::{NodeId, Place};
use crate::domains::{NONE, index};
use crate::gang::GroupId;
use crate::job::Job;
use crate::snapshot::Snapshot;
use rustc_hash::FxHashMap;

/// What is compared first to last; lower is better: waiting pods without a place, then the spans, then how much less pods
/// like their places than the best there are for them.
pub(crate) type Score = Vec<u64>;

/// A narrowest domain for each topology that confines something; empty for the whole cluster.
pub(crate) type Scope = Vec<(usize, u32)>;

/// Some pods of a batch put to a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Put {
    pub batch: usize,
    pub place: Place,
    pub amount: u32,
}

/// A placement in the making. Whoever drops it without `keep` has the snapshot as it was.
pub(crate) struct State<'s, 'j> {
    pub snapshot: &'s mut Snapshot,
    pub job: &'j Job<'j>,
    pub puts: Vec<Put>,
    /// Pods of each batch that have no place yet.
    pub left: Vec<usize>,
    pub score: Score,
    /// The domain each group is confined to, in the topology of its constraint.
    pub confined: Vec<Option<u32>>,
    /// Steps that may still be taken.
    pub budget: u64,
    used: FxHashMap<(u32, u32), u32>,
    span_used: Vec<u32>,
    nodes: FxHashMap<NodeId, u32>,
}

impl<'s, 'j> State<'s, 'j> {
    pub fn new(snapshot: &'s mut Snapshot, job: &'j Job<'j>, budget: u64) -> Self {
        let mut state = Self {
            snapshot,
            job,
            puts: Vec::new(),
            left: job.batches.iter().map(|batch| batch.pods.len()).collect(),
            score: vec![0; job.score_len],
            confined: vec![None; job.groups.len()],
            budget,
            used: FxHashMap::default(),
            span_used: vec![0; job.spans.len()],
            nodes: FxHashMap::default(),
        };
        state.score[0] = job.waiting() as u64;
        if let Some(wish) = job.wish {
            state.score[wish] = job.batches.iter().map(|batch| batch.most * batch.pods.len() as u64).sum();
        }
        for (number, span) in job.spans.iter().enumerate() {
            for place in &job.groups[span.group].bound {
                state.count(number, *place, 1, true);
            }
        }
        for place in &job.groups[0].bound {
            *state.nodes.entry(place.node).or_default() += 1;
        }
        state
    }

    /// Takes a step of the budget; false when it is spent.
    pub fn step(&mut self) -> bool {
        self.steps(1)
    }

    /// Takes several steps of the budget.
    pub fn steps(&mut self, steps: u64) -> bool {
        let is_left = self.budget >= steps;
        self.budget = self.budget.saturating_sub(steps);
        is_left
    }

    /// The key of the domain of a span that a place is in: a node outside all of them is one of its own.
    pub fn domain_of(&self, span: usize, place: Place) -> u32 {
        let span = &self.job.spans[span];
        let domains = &self.snapshot.domains[span.topology];
        match domains.at(place, span.level) {
            NONE => domains.len() + place.node,
            domain => domain,
        }
    }

    /// Whether a group's members use a domain (by its key) already.
    pub fn uses(&self, span: usize, key: u32) -> bool {
        self.used.contains_key(&(index(span), key))
    }

    /// How many domains a group's members use.
    pub fn span_used(&self, span: usize) -> u32 {
        self.span_used[span]
    }

    /// Whether any member of the gang is on a node.
    pub fn uses_node(&self, node: NodeId) -> bool {
        self.nodes.contains_key(&node)
    }

    fn count(&mut self, span: usize, place: Place, amount: u32, up: bool) {
        let key = (index(span), self.domain_of(span, place));
        let entry = self.job.spans[span].entry;
        let count = self.used.entry(key).or_default();
        if up {
            self.score[entry] += u64::from(*count == 0);
            self.span_used[span] += u32::from(*count == 0);
            *count += amount;
        } else {
            *count -= amount;
            if *count == 0 {
                self.used.remove(&key);
                self.span_used[span] -= 1;
                self.score[entry] -= 1;
            }
        }
    }

    /// Puts some pods of a batch to a place that has room for them.
    pub fn put(&mut self, batch: usize, place: Place, amount: u32) {
        debug_assert!(amount > 0 && amount <= self.snapshot.fit(self.job.batches[batch].kind, place));
        self.shift(batch, place, amount, true);
        self.puts.push(Put { batch, place, amount });
    }

    fn shift(&mut self, batch: usize, place: Place, amount: u32, up: bool) {
        let job = self.job;
        let it = &job.batches[batch];
        let request = &job.gang.pods[it.pods[0]].request;
        self.snapshot.charge(place, request, if up { -i64::from(amount) } else { i64::from(amount) });
        for kind in &job.kinds {
            self.snapshot.recount_kind(*kind, place.node);
        }
        for span in &it.spans {
            self.count(*span, place, amount, up);
        }
        if let Some(wish) = job.wish {
            let liked = self.weight_of(batch, place.node) * u64::from(amount);
            self.score[wish] = if up { self.score[wish] - liked } else { self.score[wish] + liked };
        }
        let on_node = self.nodes.entry(place.node).or_default();
        if up {
            *on_node += amount;
            self.left[batch] -= amount as usize;
            self.score[0] -= u64::from(amount);
        } else {
            *on_node -= amount;
            if *on_node == 0 {
                self.nodes.remove(&place.node);
            }
            self.left[batch] += amount as usize;
            self.score[0] += u64::from(amount);
        }
    }

    /// How much pods of a batch like a node.
    pub fn weight_of(&self, batch: usize, node: NodeId) -> u64 {
        let it = &self.job.batches[batch];
        if it.most == 0 {
            return 0;
        }
        let eligibility = self.snapshot.kinds[it.kind].key.eligibility;
        self.snapshot.cluster.eligibility[eligibility].weight(node)
    }

    /// Undoes everything after the first `keep` puts.
    pub fn undo(&mut self, keep: usize) {
        while self.puts.len() > keep {
            if let Some(put) = self.puts.pop() {
                self.shift(put.batch, put.place, put.amount, false);
            }
        }
    }

    /// Gives the snapshot back as it was. Nothing else is kept up: the state is of no use afterwards.
    pub fn give_back(&mut self) {
        while let Some(put) = self.puts.pop() {
            let request = &self.job.gang.pods[self.job.batches[put.batch].pods[0]].request;
            self.snapshot.charge(put.place, request, i64::from(put.amount));
            for kind in &self.job.kinds {
                self.snapshot.recount_kind(*kind, put.place.node);
            }
        }
    }

    /// Puts again what was put before and undone.
    pub fn replay(&mut self, puts: &[Put]) {
        for put in puts {
            self.put(put.batch, put.place, put.amount);
        }
    }

    /// Waiting pods of a leaf that have a place.
    pub fn placed(&self, leaf: GroupId) -> usize {
        let job = self.job;
        job.batches_of(leaf).iter().map(|batch| job.batches[*batch].pods.len() - self.left[*batch]).sum()
    }

    /// The scope of a group: the domains that it and the groups above it are confined to.
    pub fn scope(&self, group: GroupId) -> Scope {
        let mut scope: Scope = Vec::new();
        if let Some(anchor) = self.job.anchor {
            self.narrow(&mut scope, usize::from(anchor.topology), anchor.index);
        }
        let mut at = Some(group);
        while let Some(group) = at {
            if let (Some(domain), Some((topology, _))) = (self.confined[group], self.job.groups[group].required) {
                self.narrow(&mut scope, topology, domain);
            }
            at = self.job.groups[group].parent;
        }
        scope
    }

    fn narrow(&self, scope: &mut Scope, topology: usize, domain: u32) {
        let level = &self.snapshot.domains[topology].level;
        match scope.iter_mut().find(|(known, _)| *known == topology) {
            Some((_, known)) if level[*known as usize] < level[domain as usize] => *known = domain,
            Some(_) => {}
            None => scope.push((topology, domain)),
        }
    }

    /// The domain of a scope in one topology.
    pub fn domain_in(scope: &Scope, topology: usize) -> Option<u32> {
        scope.iter().find(|(known, _)| *known == topology).map(|(_, domain)| *domain)
    }

    /// How many pods of a batch a scope takes, looking at this kind alone.
    pub fn room(&self, batch: usize, scope: &Scope) -> u64 {
        let kind = self.job.batches[batch].kind;
        match scope.as_slice() {
            [] => self.snapshot.kinds[kind].total,
            [(topology, domain)] => self.snapshot.count(kind, *topology, *domain),
            _ => {
                // Zones share what their node has.
                let places: Vec<Place> = self.places(kind, scope).collect();
                let by_node = places.chunk_by(|a, b| a.node == b.node).map(|here| {
                    let fits = here.iter().map(|place| u64::from(self.snapshot.fit(kind, *place))).sum::<u64>();
                    fits.min(u64::from(self.snapshot.kinds[kind].fit[here[0].node as usize]))
                });
                by_node.sum()
            }
        }
    }

    /// The nodes of a scope, ascending.
    pub fn nodes_in(&self, scope: &Scope) -> Vec<NodeId> {
        let domains = &self.snapshot.domains;
        let smallest = scope.iter().min_by_key(|(topology, domain)| domains[*topology].nodes(*domain).len());
        let inside = |node: &NodeId| {
            scope.iter().all(|(topology, domain)| {
                let level = usize::from(domains[*topology].level[*domain as usize]);
                match domains[*topology].is_zone(*domain) {
                    true => domains[*topology].place(*domain).node == *node,
                    false => domains[*topology].of_node(*node, level) == *domain,
                }
            })
        };
        match smallest {
            None => (0..index(self.snapshot.cluster.nodes.len())).collect(),
            Some((topology, domain)) => {
                domains[*topology].nodes(*domain).iter().copied().filter(|node| inside(node)).collect()
            }
        }
    }

    /// The places of a scope where pods of a kind may stand, with room or without.
    pub fn places(&self, kind: usize, scope: &Scope) -> impl Iterator<Item = Place> {
        // Zones of several topologies are the same zones: a place is in all that are asked for.
        let zones = scope.iter().filter_map(|(topology, domain)| {
            let domains = &self.snapshot.domains[*topology];
            domains.is_zone(*domain).then(|| domains.place(*domain))
        });
        let zones: Vec<Place> = zones.collect();
        let nodes = self.nodes_in(scope);
        let places = nodes.into_iter().flat_map(move |node| self.places_on(kind, node));
        places.filter(move |place| zones.iter().all(|zone| zone == place))
    }

    /// The places on a node where pods of a kind may stand.
    pub fn places_on(&self, kind: usize, node: NodeId) -> impl Iterator<Item = Place> + use<> {
        use crate::snapshot::Zoning;
        let zones = self.snapshot.cluster.nodes[node as usize].zones.len();
        let zoning = self.snapshot.kinds[kind].key.zoning;
        let whole = zoning == Zoning::None || (zoning == Zoning::Preferred && zones == 0);
        let zones = if zoning == Zoning::None { 0 } else { u16::try_from(zones).unwrap_or(u16::MAX) };
        let whole = whole.then_some(Place { node, zone: None });
        whole.into_iter().chain((0..zones).map(move |zone| Place { node, zone: Some(zone) }))
    }
}

impl State<'_, '_> {
    /// How many pods of a kind a place takes.
    pub fn fit(&self, kind: usize, place: Place) -> u32 {
        self.snapshot.fit(kind, place)
    }
}
