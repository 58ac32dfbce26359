//! The cluster with what is taken, and for each live kind of pod how many more every node and domain takes.
//!
//! For pods of one kind these counts are exact: a set of nodes takes n of them if and only if the counts add up to n.
//! They are kept up to date by difference, so that a decision looks at the domains of the level it asks for, not at
//! the nodes.

use crate::cluster::{Cluster, NodeId, Place};
use crate::domains::{Domains, index};
use crate::gang::{Gang, Pod};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A pod that asks for nothing fits this often on a node.
const MANY: u32 = 1 << 20;
/// So many kinds of pods are kept counted; the oldest are dropped and counted anew when they come back.
const LIVE_KINDS: usize = 64;

/// Whether pods are put into zones of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Zoning {
    /// Never.
    None,
    /// Where a node has zones.
    Preferred,
    /// Always.
    Required,
}

/// What makes pods alike for placement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct KindKey {
    pub request: Arc<[i64]>,
    pub eligibility: usize,
    pub zoning: Zoning,
}

/// Index of a kind of pod in the snapshot.
pub(crate) type KindId = usize;

/// A kind of pod, and how many more of it fit where.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    pub key: KindKey,
    /// The resources it asks for.
    pub asks: Vec<(usize, i64)>,
    /// By node.
    pub fit: Vec<u32>,
    /// By topology and domain.
    pub count: Vec<Vec<u64>>,
    /// In all.
    pub total: u64,
    used_at: u64,
}

/// A cluster in motion.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) domains: Arc<[Domains]>,
    pub(crate) width: usize,
    /// By node and resource; negative where a node is overcommitted already.
    pub(crate) free: Vec<i64>,
    /// First zone of each node in `zone_free`.
    zone_start: Vec<u32>,
    /// By zone and resource; `i64::MAX` for what zones do not divide.
    pub(crate) zone_free: Vec<i64>,
    /// Free by topology, domain and resource, nothing negative; zones are not kept.
    pub(crate) domain_free: Vec<Vec<i64>>,
    /// Allocatable likewise.
    pub(crate) domain_total: Arc<[Vec<i64>]>,
    totals: Arc<[i64]>,
    free_in_all: Vec<i64>,
    /// Classes of domains for gangs without bound pods, as long as nothing changes.
    pub(crate) classes: Option<(u64, Vec<usize>, Arc<crate::classes::Classes>)>,
    /// Nodes closed to everybody who is planned now.
    pub(crate) closed: Vec<bool>,
    pub(crate) kinds: Vec<Kind>,
    by_key: FxHashMap<KindKey, KindId>,
    clock: u64,
    revision: u64,
}

impl Snapshot {
    /// The cluster with its occupants, without the pods of gangs.
    pub fn new(cluster: Arc<Cluster>) -> Self {
        let domains: Arc<[Domains]> = (0..cluster.topologies.len()).map(|i| Domains::of(&cluster, i)).collect();
        let width = cluster.resources.len();
        let mut free = Vec::with_capacity(cluster.nodes.len() * width);
        let (mut zone_start, mut zone_free) = (Vec::with_capacity(cluster.nodes.len() + 1), Vec::new());
        for node in &cluster.nodes {
            free.extend_from_slice(&node.allocatable);
            zone_start.push(index(zone_free.len() / width.max(1)));
            for zone in &node.zones {
                zone_free.extend(zone.available.iter().map(|available| available.unwrap_or(i64::MAX)));
            }
        }
        let mut totals = vec![0; width];
        for node in free.chunks(width.max(1)) {
            totals.iter_mut().zip(node).for_each(|(sum, free)| *sum += free);
        }
        let domain_total: Arc<[Vec<i64>]> = domains.iter().map(|domains| sums(domains, width, &free)).collect();
        for occupant in &cluster.occupants {
            let start = occupant.node as usize * width;
            for (free, request) in free[start..start + width].iter_mut().zip(occupant.request.iter()) {
                *free -= request;
            }
        }
        let mut free_in_all = vec![0; width];
        for node in free.chunks(width.max(1)) {
            free_in_all.iter_mut().zip(node).for_each(|(sum, free)| *sum += free.max(&0));
        }
        let domain_free = domains.iter().map(|domains| sums(domains, width, &free)).collect();
        let closed = vec![false; cluster.nodes.len()];
        Self {
            cluster,
            domains,
            width,
            free,
            zone_start,
            zone_free,
            domain_free,
            domain_total,
            totals: totals.into(),
            free_in_all,
            classes: None,
            closed,
            kinds: Vec::new(),
            by_key: FxHashMap::default(),
            clock: 0,
            revision: 0,
        }
    }

    /// The cluster with its occupants and the bound pods of gangs. Holds are charged by whoever plans, as each gang sees them.
    pub fn with_gangs(cluster: Arc<Cluster>, gangs: &[Gang]) -> Self {
        let mut snapshot = Self::new(cluster);
        gangs.iter().for_each(|gang| snapshot.add_bound(gang));
        snapshot
    }

    /// A number that changes when what is taken does.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// Whether a place has room for one more pod; whether it may go there is not looked at.
    pub(crate) fn takes(&self, place: Place, request: &[i64]) -> bool {
        let at = place.node as usize * self.width;
        let enough = |free: &[i64]| request.iter().zip(free).all(|(amount, free)| *amount == 0 || amount <= free);
        enough(&self.free[at..at + self.width])
            && (place.zone.is_none() || enough(self.free_in_zone(place)))
            && !self.closed[place.node as usize]
    }

    /// The cluster it is of.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// A pod comes to a place. Bound pods are off the zones' `available` already, so only new ones give a zone.
    pub fn add(&mut self, place: Place, request: &[i64]) {
        self.revision += 1;
        self.charge(place, request, -1);
        self.recount(place.node);
    }

    /// A pod leaves a place.
    pub fn remove(&mut self, place: Place, request: &[i64]) {
        self.revision += 1;
        self.charge(place, request, 1);
        self.recount(place.node);
    }

    /// Charges all bound pods of a gang.
    pub fn add_bound(&mut self, gang: &Gang) {
        for (place, pod) in bound(gang) {
            self.add(place, &pod.request);
        }
    }

    /// Takes all bound pods of a gang away.
    pub fn remove_bound(&mut self, gang: &Gang) {
        for (place, pod) in bound(gang) {
            self.remove(place, &pod.request);
        }
    }

    /// Takes (-1) or gives back (1) a request, without counting kinds anew.
    pub(crate) fn charge(&mut self, place: Place, request: &[i64], sign: i64) {
        let (node, width) = (place.node as usize, self.width);
        let free = &mut self.free[node * width..(node + 1) * width];
        for (resource, amount) in request.iter().enumerate().filter(|(_, amount)| **amount != 0) {
            let before = free[resource].max(0);
            free[resource] += sign * amount;
            let change = free[resource].max(0) - before;
            self.free_in_all[resource] += change;
            for (domains, sums) in self.domains.iter().zip(&mut self.domain_free) {
                for domain in domains.path(place.node) {
                    sums[domain as usize * width + resource] += change;
                }
            }
        }
        if let Some(zone) = place.zone {
            let start = (self.zone_start[node] as usize + usize::from(zone)) * width;
            for (free, amount) in self.zone_free[start..start + width].iter_mut().zip(request) {
                if *free != i64::MAX {
                    *free += sign * amount;
                }
            }
        }
    }

    /// Counts all live kinds on a node anew.
    pub(crate) fn recount(&mut self, node: NodeId) {
        for kind in 0..self.kinds.len() {
            self.recount_kind(kind, node);
        }
    }

    /// Counts one kind on a node anew.
    pub(crate) fn recount_kind(&mut self, kind: KindId, node: NodeId) {
        let fit = self.fit_of(&self.kinds[kind].key, &self.kinds[kind].asks, node);
        let counted = &mut self.kinds[kind];
        let before = counted.fit[node as usize];
        if fit == before {
            return;
        }
        counted.fit[node as usize] = fit;
        let change = |count: &mut u64| *count = *count + u64::from(fit) - u64::from(before);
        change(&mut counted.total);
        for (domains, counts) in self.domains.iter().zip(&mut counted.count) {
            for domain in domains.path(node) {
                change(&mut counts[domain as usize]);
            }
        }
    }

    /// How many pods of a kind a node takes by itself.
    fn fit_of(&self, key: &KindKey, asks: &[(usize, i64)], node: NodeId) -> u32 {
        let allowed = &self.cluster.eligibility[key.eligibility].allowed;
        if self.closed[node as usize] || !allowed.contains(node as usize) {
            return 0;
        }
        let at = node as usize * self.width;
        let fit = how_many(asks, &self.free[at..at + self.width]);
        let zones = self.cluster.nodes[node as usize].zones.len();
        match key.zoning {
            Zoning::None => fit,
            Zoning::Preferred if zones == 0 => fit,
            _ => {
                let zones = 0..u16::try_from(zones).unwrap_or(u16::MAX);
                fit.min(zones.map(|zone| self.zone_fit(asks, Place { node, zone: Some(zone) })).sum())
            }
        }
    }

    /// How many pods a zone takes, looking at the zone alone.
    pub(crate) fn zone_fit(&self, asks: &[(usize, i64)], place: Place) -> u32 {
        let zone = self.zone_start[place.node as usize] as usize + usize::from(place.zone.unwrap_or(0));
        how_many(asks, &self.zone_free[zone * self.width..(zone + 1) * self.width])
    }

    /// What is free in a zone.
    pub(crate) fn free_in_zone(&self, place: Place) -> &[i64] {
        let zone = self.zone_start[place.node as usize] as usize + usize::from(place.zone.unwrap_or(0));
        &self.zone_free[zone * self.width..(zone + 1) * self.width]
    }

    /// How many pods of a kind a place takes: a node, or a zone and its node.
    pub(crate) fn fit(&self, kind: KindId, place: Place) -> u32 {
        let kind = &self.kinds[kind];
        match place.zone {
            None => kind.fit[place.node as usize],
            Some(_) if kind.fit[place.node as usize] == 0 => 0,
            Some(_) => {
                let at = place.node as usize * self.width;
                let node = how_many(&kind.asks, &self.free[at..at + self.width]);
                node.min(self.zone_fit(&kind.asks, place))
            }
        }
    }

    /// How many pods of a kind a domain takes.
    pub(crate) fn count(&self, kind: KindId, topology: usize, domain: u32) -> u64 {
        let domains = &self.domains[topology];
        if domains.is_zone(domain) {
            // Pods that are not put into zones are in none.
            if self.kinds[kind].key.zoning == Zoning::None {
                return 0;
            }
            return u64::from(self.fit(kind, domains.place(domain)));
        }
        self.kinds[kind].count[topology][domain as usize]
    }

    /// The kind of some pods; counted on first sight.
    pub(crate) fn kind(&mut self, key: KindKey) -> KindId {
        self.clock += 1;
        if let Some(&kind) = self.by_key.get(&key) {
            self.kinds[kind].used_at = self.clock;
            return kind;
        }
        let asks: Vec<(usize, i64)> =
            key.request.iter().copied().enumerate().filter(|(_, amount)| *amount > 0).collect();
        let fit: Vec<u32> = (0..index(self.cluster.nodes.len())).map(|node| self.fit_of(&key, &asks, node)).collect();
        let mut count: Vec<Vec<u64>> = self.domains.iter().map(|domains| vec![0; domains.len() as usize]).collect();
        for (domains, count) in self.domains.iter().zip(&mut count) {
            for (node, fit) in fit.iter().enumerate().filter(|(_, fit)| **fit > 0) {
                for domain in domains.path(index(node)) {
                    count[domain as usize] += u64::from(*fit);
                }
            }
        }
        let total = fit.iter().map(|fit| u64::from(*fit)).sum();
        let kind = self.kinds.len();
        self.kinds.push(Kind { key: key.clone(), asks, fit, count, total, used_at: self.clock });
        self.by_key.insert(key, kind);
        kind
    }

    /// Drops the kinds that were not asked for lately. Only between decisions: the indices of kinds change.
    pub(crate) fn forget(&mut self) {
        if self.kinds.len() <= LIVE_KINDS {
            return;
        }
        self.kinds.sort_by_key(|kind| std::cmp::Reverse(kind.used_at));
        self.kinds.truncate(LIVE_KINDS / 2);
        self.by_key = self.kinds.iter().enumerate().map(|(i, kind)| (kind.key.clone(), i)).collect();
    }

    /// What the cluster offers in all, by resource.
    pub(crate) fn totals(&self) -> &[i64] {
        &self.totals
    }

    /// What is free in all, by resource, nothing negative.
    pub(crate) fn free_in_all(&self) -> &[i64] {
        &self.free_in_all
    }

    /// Closes nodes, or opens them again.
    pub(crate) fn set_closed(&mut self, nodes: &[NodeId], closed: bool) {
        for &node in nodes {
            self.revision += 1;
            self.closed[node as usize] = closed;
            self.recount(node);
        }
    }
}

/// Bound pods of a gang; their zones are not charged again.
fn bound(gang: &Gang) -> impl Iterator<Item = (Place, &Pod)> {
    gang.pods.iter().filter_map(|pod| Some((Place { zone: None, ..pod.bound? }, pod)))
}

fn how_many(asks: &[(usize, i64)], free: &[i64]) -> u32 {
    let fit = asks.iter().map(|(resource, amount)| free[*resource].max(0) / amount).min();
    fit.map_or(MANY, |fit| u32::try_from(fit).unwrap_or(MANY).min(MANY))
}

fn sums(domains: &Domains, width: usize, free: &[i64]) -> Vec<i64> {
    let mut sums = vec![0; domains.len() as usize * width];
    for (node, free) in free.chunks(width.max(1)).enumerate() {
        for domain in domains.path(index(node)) {
            let sums = &mut sums[domain as usize * width..(domain as usize + 1) * width];
            sums.iter_mut().zip(free).for_each(|(sum, free)| *sum += free.max(&0));
        }
    }
    sums
}
