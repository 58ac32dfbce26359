//! Puts pods of one batch into a scope: few domains at the preferred levels, wider levels first, then few nodes.

use crate::cluster::Place;
use crate::domains::NONE;
use crate::gang::Hold;
use crate::state::{Scope, State};
use std::cmp::Reverse;

/// Something that takes pods.
#[derive(Clone, Copy, Debug)]
struct Bin {
    /// What it costs to begin using it, most important part first.
    cost: u64,
    /// How many pods it takes.
    room: u64,
    /// What breaks ties.
    tie: u64,
    /// How much less pods like it than the best there is for them.
    unliked: u64,
    /// Domain or node.
    id: u32,
    is_node: bool,
}

impl State<'_, '_> {
    /// Puts up to `want` pods of a batch into a scope; returns how many.
    pub fn fill(&mut self, batch: usize, want: usize, scope: &Scope) -> usize {
        let spans = &self.job.batches[batch].spans;
        let spans = spans.iter().map(|span| &self.job.spans[*span]).filter(|span| span.is_preferred);
        let mut levels: Vec<(usize, usize)> = spans.map(|span| (span.topology, span.level)).collect();
        // One topology leads; others count as cost only.
        let lead = levels.first().map(|(topology, _)| *topology);
        levels.retain(|(topology, _)| Some(*topology) == lead);
        levels.sort_unstable();
        levels.dedup();
        let want = self.fill_levels(batch, want as u64, scope, &levels);
        usize::try_from(want).unwrap_or(usize::MAX)
    }

    fn fill_levels(&mut self, batch: usize, want: u64, scope: &Scope, levels: &[(usize, usize)]) -> u64 {
        let Some((&(topology, level), narrower)) = levels.split_first() else {
            return self.fill_places(batch, want, scope);
        };
        let bins = self.bins(batch, want, scope, topology, level);
        let mut put = 0;
        for (bin, amount) in choose(bins, want) {
            put += if bin.is_node {
                self.fill_node(batch, amount, bin.id)
            } else {
                let inside = Self::narrowed(scope, topology, bin.id);
                self.fill_levels(batch, amount, &inside, narrower)
            };
        }
        put
    }

    /// The domains of a level in a scope, and the nodes outside all of them.
    fn bins(&self, batch: usize, want: u64, scope: &Scope, topology: usize, level: usize) -> Vec<Bin> {
        let kind = self.job.batches[batch].kind;
        let domains = &self.snapshot.domains[topology];
        let inside = Self::domain_in(scope, topology);
        let simple = scope.iter().all(|(known, _)| *known == topology);
        let mut bins = Vec::new();
        for domain in domains.within(inside, level) {
            let room = match (simple, inside) {
                // The scope is narrower than the level: all of it is in the one domain.
                (true, Some(own)) if domains.level[own as usize] > domains.level[domain as usize] => {
                    self.snapshot.count(kind, topology, own)
                }
                (true, _) => self.snapshot.count(kind, topology, domain),
                (false, _) => {
                    let finer = inside.filter(|own| usize::from(domains.level[*own as usize]) > level);
                    self.room(batch, &Self::narrowed(scope, topology, finer.unwrap_or(domain)))
                }
            };
            if room > 0 {
                let narrowest = inside.filter(|own| usize::from(domains.level[*own as usize]) > level);
                let sample = domains.nodes(domain)[0];
                let (cost, tie) = self.cost(batch, topology, level, domain, Place { node: sample, zone: None });
                let id = narrowest.unwrap_or(domain);
                let unliked = match self.job.batches[batch].most {
                    0 => 0,
                    most => most * want - self.liked_best(batch, want, &Self::narrowed(scope, topology, id)),
                };
                bins.push(Bin { cost, room, tie, unliked, id, is_node: false });
            }
        }
        if !domains.is_complete() {
            for node in domains.outside(inside, level) {
                let within = scope.iter().all(|(known, domain)| {
                    *known == topology || self.snapshot.domains[*known].holds(*domain, Place { node, zone: None })
                });
                let room = u64::from(self.snapshot.kinds[kind].fit[node as usize]);
                if room > 0 && within {
                    let place = Place { node, zone: None };
                    let (cost, tie) = self.cost(batch, topology, level, domains.len() + node, place);
                    let unliked = self.job.batches[batch].most - self.weight_of(batch, node);
                    bins.push(Bin { cost, room, tie, unliked, id: node, is_node: true });
                }
            }
        }
        bins
    }

    /// What beginning to use a domain (by its key) costs, and what its wider levels add.
    fn cost(&self, batch: usize, topology: usize, level: usize, key: u32, sample: Place) -> (u64, u64) {
        let (mut cost, mut tie) = (0, 0);
        // What others come back to, and fills it, is in use by them: that it is in use already is no reason to go there.
        let is_taken = self.is_taken(batch, topology, level, key);
        for &number in &self.job.batches[batch].spans {
            let span = &self.job.spans[number];
            if span.topology != topology || span.level > level {
                continue;
            }
            if span.level == level {
                if span.is_preferred {
                    cost = cost << 1 | u64::from(is_taken || !self.uses(number, key));
                }
            } else {
                tie = tie << 1 | u64::from(!self.uses(number, self.domain_of(number, sample)));
            }
        }
        (cost, tie | u64::from(is_taken) << 63)
    }

    /// Whether a domain (by its key) is held for as many members of other leaves, who are yet to come, as it takes of a batch.
    fn is_taken(&self, batch: usize, topology: usize, level: usize, key: u32) -> bool {
        let gang = self.job.gang;
        if gang.holds.is_empty() {
            return false;
        }
        let (leaf, kind) = (self.job.batches[batch].leaf, self.job.batches[batch].kind);
        let domains = &self.snapshot.domains[topology];
        let is_here = |place: Place| match domains.at(place, level) {
            NONE => domains.len() + place.node == key,
            domain => domain == key,
        };
        let room = match key.checked_sub(domains.len()) {
            Some(node) => u64::from(self.snapshot.kinds[kind].fit[node as usize]),
            None => self.snapshot.count(kind, topology, key),
        };
        let here = gang.holds.iter().filter(|hold| is_here(hold.place));
        let (own, others): (Vec<&Hold>, Vec<&Hold>) = here.partition(|hold| hold.group == leaf);
        let comes = |hold: &&&Hold| self.job.batches_of(hold.group).iter().any(|batch| self.left[*batch] > 0);
        own.is_empty() && others.iter().filter(comes).count() as u64 >= room.max(1)
    }

    /// Few nodes, those in use first.
    fn fill_places(&mut self, batch: usize, want: u64, scope: &Scope) -> u64 {
        let kind = self.job.batches[batch].kind;
        let nodes = self.nodes_in(scope);
        let zoned = scope.iter().any(|(topology, domain)| self.snapshot.domains[*topology].is_zone(*domain));
        if zoned {
            let places: Vec<Place> = self.places(kind, scope).collect();
            return self.fill_each(batch, want, &places);
        }
        let fits = &self.snapshot.kinds[kind].fit;
        let bins = nodes.into_iter().filter(|node| fits[*node as usize] > 0).map(|node| Bin {
            cost: u64::from(!self.uses_node(node)),
            room: u64::from(fits[node as usize]),
            // Pods that come back go to the very place that is held, if others are no better.
            tie: u64::from(!self.job.is_held(node)),
            unliked: self.job.batches[batch].most - self.weight_of(batch, node),
            id: node,
            is_node: true,
        });
        let mut bins: Vec<Bin> = bins.collect();
        if self.job.batches[batch].most == 0 {
            return self.fill_bins(batch, want, bins);
        }
        // What is liked more is used up first.
        bins.sort_by_key(|bin| bin.unliked);
        let mut put = 0;
        for alike in bins.chunk_by(|a, b| a.unliked == b.unliked) {
            put += self.fill_bins(batch, want - put, alike.to_vec());
        }
        put
    }

    fn fill_bins(&mut self, batch: usize, want: u64, bins: Vec<Bin>) -> u64 {
        let mut put = 0;
        for (bin, amount) in choose(bins, want) {
            put += self.fill_node(batch, amount, bin.id);
        }
        put
    }

    fn fill_node(&mut self, batch: usize, want: u64, node: u32) -> u64 {
        let kind = self.job.batches[batch].kind;
        let mut places: Vec<Place> = self.places_on(kind, node).collect();
        places.sort_by_key(|place| Reverse(self.snapshot.fit(kind, *place)));
        self.fill_each(batch, want, &places)
    }

    fn fill_each(&mut self, batch: usize, want: u64, places: &[Place]) -> u64 {
        let kind = self.job.batches[batch].kind;
        let mut put = 0;
        for place in places {
            let amount = u64::from(self.snapshot.fit(kind, *place)).min(want - put);
            if amount > 0 {
                self.put(batch, *place, u32::try_from(amount).unwrap_or(u32::MAX));
                put += amount;
            }
        }
        put
    }
}

/// Chooses bins for `want` pods: as few as can be of the dearest, then of the next. Of each cost the largest, and at the
/// end the tightest that takes the rest.
fn choose(mut bins: Vec<Bin>, want: u64) -> Vec<(Bin, u64)> {
    let all: u64 = bins.iter().map(|bin| bin.room).sum();
    let mut rest = want.min(all);
    bins.sort_unstable_by_key(|bin| (Reverse(bin.cost), Reverse(bin.room), bin.tie, bin.unliked, bin.is_node, bin.id));
    let mut cheaper = all;
    let mut chosen = Vec::new();
    for class in bins.chunk_by(|a, b| a.cost == b.cost) {
        cheaper -= class.iter().map(|bin| bin.room).sum::<u64>();
        let mut at = 0;
        while rest > cheaper {
            let need = rest - cheaper;
            // The largest are first: the last of those that take the rest are the tightest.
            let enough = class[at..].partition_point(|bin| bin.room >= need);
            let pick = if enough == 0 {
                at += 1;
                at - 1
            } else {
                let room = class[at + enough - 1].room;
                at + class[at..at + enough].partition_point(|bin| bin.room > room)
            };
            let bin = class[pick];
            let amount = bin.room.min(rest);
            chosen.push((bin, amount));
            rest -= amount;
            if enough > 0 {
                break;
            }
        }
    }
    chosen
}
