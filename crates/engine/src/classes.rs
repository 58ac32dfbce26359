//! Domains that look alike. Trying one of a class is trying all of it.

use crate::domains::{Domains, NONE, index};
use crate::job::Job;
use crate::snapshot::Snapshot;
use crate::state::State;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Classes of the domains of one topology: siblings of one class can be exchanged with all that lies in them.
#[derive(Clone, Debug)]
pub(crate) struct Classes {
    topology: usize,
    of: Vec<u32>,
}

impl Classes {
    /// The classes for a job on a snapshot with nothing of it placed, kept until the snapshot changes.
    pub fn kept(snapshot: &mut Snapshot, job: &Job<'_>) -> Option<Arc<Self>> {
        if !job.groups[0].bound.is_empty() {
            return Self::of(snapshot, job).map(Arc::new);
        }
        let mut key = job.topologies.clone();
        key.push(usize::MAX);
        key.extend(job.kinds.iter().map(|kind| snapshot.kinds[*kind].key.eligibility));
        if let Some((revision, known, classes)) = &snapshot.classes
            && (*revision, known) == (snapshot.revision(), &key)
            && job.anchor.is_none()
        {
            return Some(classes.clone());
        }
        let classes = Arc::new(Self::of(snapshot, job)?);
        snapshot.classes = Some((snapshot.revision(), key, classes.clone()));
        Some(classes)
    }

    /// The classes for a job; none where a second topology or a base makes every domain one of its own.
    pub fn of(snapshot: &Snapshot, job: &Job<'_>) -> Option<Self> {
        let (&[topology], None) = (job.topologies.as_slice(), job.anchor) else { return None };
        let domains = &snapshot.domains[topology];
        let node_classes = nodes(snapshot, job);
        let mut inside: Vec<Vec<u32>> = vec![Vec::new(); domains.len() as usize];
        for (node, class) in node_classes.iter().enumerate() {
            if let Some(end) = domains.path(index(node)).last() {
                inside[end as usize].push(*class);
            }
        }
        let mut of = vec![0; domains.len() as usize];
        let mut names: FxHashMap<Vec<u32>, u32> = FxHashMap::default();
        for level in (0..domains.levels()).rev() {
            for domain in domains.range(level) {
                let mut name = std::mem::take(&mut inside[domain as usize]);
                name.sort_unstable();
                if domains.is_zone(domain) {
                    name.extend(zone(snapshot, job, domains, domain));
                }
                name.push(NONE);
                if level + 1 < domains.levels() {
                    let children = domains.within(Some(domain), level + 1).map(|child| of[child as usize]);
                    let at = name.len();
                    name.extend(children);
                    name[at..].sort_unstable();
                }
                let next = index(names.len());
                of[domain as usize] = *names.entry(name).or_insert(next);
            }
        }
        Some(Self { topology, of })
    }

    /// Whether a domain stands for those that are exchangeable with it: along its path no sibling before it is of the
    /// same class, unless a group is confined there.
    pub fn stands_first(&self, state: &State<'_, '_>, topology: usize, domain: u32) -> bool {
        if topology != self.topology {
            return true;
        }
        let domains = &state.snapshot.domains[topology];
        let is_marked = |candidate: u32| {
            let level = usize::from(domains.level[candidate as usize]);
            let confined = state.confined.iter().zip(&state.job.groups);
            let mut confined = confined.filter_map(|(domain, group)| domain.filter(|_| group.required.is_some()));
            confined.any(|known| {
                usize::from(domains.level[known as usize]) >= level && domains.up(known, level) == candidate
            })
        };
        let mut at = domain;
        loop {
            let level = usize::from(domains.level[at as usize]);
            let parent = domains.parent[at as usize];
            if !is_marked(at) {
                let siblings = if parent == NONE { domains.range(level) } else { domains.within(Some(parent), level) };
                let class = self.of[at as usize];
                let mut before = (siblings.start..at).filter(|sibling| self.of[*sibling as usize] == class);
                if before.any(|sibling| !is_marked(sibling)) {
                    return false;
                }
            }
            if parent == NONE {
                return true;
            }
            at = parent;
        }
    }
}

fn zone(snapshot: &Snapshot, job: &Job<'_>, domains: &Domains, domain: u32) -> Vec<u32> {
    let place = domains.place(domain);
    // Members in a zone make it unlike the others.
    let is_used = job.groups[0].bound.iter().any(|bound| bound.node == place.node);
    let zone = &snapshot.cluster.nodes[place.node as usize].zones;
    // Zones are few; each is told from the others by its number unless its free resources are the same.
    let same = (0..place.zone.unwrap_or(0)).find(|other| {
        let other = crate::cluster::Place { node: place.node, zone: Some(*other) };
        !is_used && snapshot.free_in_zone(other) == snapshot.free_in_zone(place)
    });
    vec![place.node, u32::from(same.or(place.zone).unwrap_or(0)), index(zone.len())]
}

/// A number for each node; nodes with the same number can be exchanged.
fn nodes(snapshot: &Snapshot, job: &Job<'_>) -> Vec<u32> {
    let mut kinds: Vec<usize> = job.kinds.iter().map(|kind| snapshot.kinds[*kind].key.eligibility).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mut bound: FxHashMap<u32, Vec<[i64; 2]>> = FxHashMap::default();
    for (leaf, place) in job.gang.standing() {
        let zone = place.zone.map_or(-1, i64::from);
        bound.entry(place.node).or_default().push([i64::try_from(leaf).unwrap_or(-1), zone]);
    }
    bound.values_mut().for_each(|here| here.sort_unstable());
    let mut names: FxHashMap<Vec<i64>, u32> = FxHashMap::default();
    let width = snapshot.width;
    let mut name: Vec<i64> = Vec::new();
    (0..snapshot.cluster.nodes.len())
        .map(|node| {
            name.clear();
            name.extend_from_slice(&snapshot.free[node * width..(node + 1) * width]);
            for kind in &kinds {
                let open = !snapshot.closed[node] && snapshot.cluster.eligibility[*kind].allowed.contains(node);
                name.push(i64::from(open));
                let weights = &snapshot.cluster.eligibility[*kind].weights;
                name.extend(weights.get(node).copied().map(i64::from));
            }
            let zones = snapshot.cluster.nodes[node].zones.len();
            for zone in 0..u16::try_from(zones).unwrap_or(u16::MAX) {
                let place = crate::cluster::Place { node: index(node), zone: Some(zone) };
                name.extend_from_slice(snapshot.free_in_zone(place));
            }
            name.push(-1);
            name.extend(bound.get(&index(node)).into_iter().flatten().flatten());
            if let Some(known) = names.get(&name) {
                return *known;
            }
            let next = index(names.len());
            names.insert(name.clone(), next);
            next
        })
        .collect()
}
