//! Zones inside nodes (NUMA), from NodeResourceTopologies.
//!
//! An agent reports what is free, and it does so some time after a pod has come. So what was given to pods in a zone is also taken off
//! all that there is, and the less of both counts.

use super::amounts::Vectors;
use super::faults::{Faults, Of};
use super::pods::{Pods, State};
use super::quantity;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use trellis_api::field::{FieldError, Path};
use trellis_api::kinds::{NodeResourceTopology, NodeZone};
use trellis_engine::{Node, Zone};

const KIND: &str = "NodeResourceTopology";

/// A zone, and what it has, by resource.
#[derive(Debug)]
struct Found<'a> {
    name: &'a str,
    resources: Vec<Offer<'a>>,
}

/// What a zone has of a resource.
#[derive(Debug)]
struct Offer<'a> {
    resource: &'a str,
    free: i64,
    /// All there is, where that is told.
    all: Option<i64>,
}

/// The zones of all nodes, by the nodes' names.
#[derive(Debug, Default)]
pub(super) struct Zones<'a>(HashMap<&'a str, Vec<Found<'a>>>);

/// What all zones together have of a resource, and the one that has most of it.
struct Total {
    sum: i128,
    most: i64,
    object: usize,
    path: Path,
}

impl<'a> Zones<'a> {
    pub fn read(objects: &[&'a NodeResourceTopology], faults: &mut Faults) -> Self {
        let mut read = Self::default();
        let mut totals: BTreeMap<&str, Total> = BTreeMap::new();
        for (i, object) in objects.iter().enumerate() {
            let mut faults = faults.of(KIND, i, &object.metadata);
            if faults.name().is_none() {
                continue;
            }
            let mut zones: Vec<Found<'a>> = Vec::new();
            for (z, zone) in object.zones.iter().enumerate().filter(|(_, zone)| zone.type_ == "Node") {
                if zone.name.is_empty() {
                    let path = Path::new("zones").index(z).child("name");
                    faults.push(FieldError::required(&path, "zones are told apart by their names"));
                }
                let resources = offers(zone, &Path::new("zones").index(z), i, &mut totals, &mut faults);
                zones.push(Found { name: &zone.name, resources });
            }
            zones.sort_by_key(|zone| zone.name);
            for zone in zones.windows(2).filter(|pair| pair[0].name == pair[1].name).map(|pair| &pair[0]) {
                let last = object.zones.iter().rposition(|other| other.name == zone.name).unwrap_or_default();
                faults.push(FieldError::duplicate(&Path::new("zones").index(last).child("name"), zone.name));
            }
            if u16::try_from(zones.len()).is_err() {
                let message = format!("a node has at most {} zones", u16::MAX);
                faults.push(FieldError::too_many(&Path::new("zones"), zones.len(), message));
            }
            if read.0.insert(object.metadata.name.as_deref().unwrap_or_default(), zones).is_some() {
                faults.duplicate();
            }
        }
        for (name, total) in totals.iter().filter(|(_, total)| total.sum > i128::from(quantity::MOST)) {
            let message = format!("all zones together have more {name} than can be counted");
            let error = FieldError::invalid(&total.path, quantity::show(name, total.most), message);
            faults.of(KIND, total.object, &objects[total.object].metadata).push(error);
        }
        read
    }

    /// The zones of a node, with vectors over these resources.
    pub fn of(&self, node: &str, resources: &[String]) -> Vec<Zone> {
        let zone = |found: &Found<'_>| {
            let mut available = vec![None; resources.len()];
            for offer in &found.resources {
                // What no node offers and no pod asks for is of no interest.
                if let Some(place) = place(resources, offer.resource) {
                    available[place] = Some(offer.free);
                }
            }
            Zone { name: found.name.to_owned(), available }
        };
        self.0.get(node).into_iter().flatten().map(zone).collect()
    }

    /// Leaves of nodes, which are sorted by name, no more than what has not been given to pods.
    pub fn charge(&self, nodes: &mut [Node], pods: &Pods<'_>, vectors: &Vectors) {
        if self.0.is_empty() {
            return;
        }
        let mut given: BTreeMap<(usize, usize), Vec<i64>> = BTreeMap::new();
        for pod in &pods.list {
            let (State::Bound(node) | State::Leaving(node), Some(zone)) = (pod.state, pod.zone) else { continue };
            let Ok(node) = nodes.binary_search_by(|known| known.name.as_str().cmp(node)) else { continue };
            let zones = &nodes[node].zones;
            let Ok(zone) = zones.binary_search_by(|known| known.name.as_str().cmp(zone)) else { continue };
            let sum = given.entry((node, zone)).or_insert_with(|| vec![0; vectors.resources.len()]);
            sum.iter_mut().zip(&**vectors.get(pod.request)).for_each(|(sum, amount)| *sum += amount);
        }
        for ((node, zone), given) in given {
            let found = self.0.get(nodes[node].name.as_str()).and_then(|zones| zones.get(zone));
            for offer in found.into_iter().flat_map(|found| &found.resources) {
                if let (Some(all), Some(place)) = (offer.all, place(&vectors.resources, offer.resource)) {
                    let left = all.saturating_sub(given[place]).max(0);
                    let available = &mut nodes[node].zones[zone].available[place];
                    *available = available.map(|available| available.min(left));
                }
            }
        }
    }
}

/// The place of a resource.
fn place(resources: &[String], name: &str) -> Option<usize> {
    resources.binary_search_by(|resource| resource.as_str().cmp(name)).ok()
}

/// What a zone has.
fn offers<'a>(
    zone: &'a NodeZone,
    path: &Path,
    object: usize,
    totals: &mut BTreeMap<&'a str, Total>,
    faults: &mut Of<'_>,
) -> Vec<Offer<'a>> {
    let (mut offers, mut seen) = (Vec::new(), BTreeSet::new());
    for (r, resource) in zone.resources.iter().enumerate() {
        let path = path.child("resources").index(r);
        if !seen.insert(resource.name.as_str()) {
            faults.push(FieldError::duplicate(&path.child("name"), resource.name.as_str()));
            continue;
        }
        let Some((field, text)) = resource.free() else {
            faults.push(FieldError::required(&path.child("available"), "what is free of the resource (e.g. '4')"));
            continue;
        };
        let mut all = None;
        if let Some((field, text)) = resource.all() {
            match quantity::amount(&resource.name, &text.0) {
                Ok(amount) => all = Some(amount),
                Err(fault) => faults.push(FieldError::invalid(&path.child(field), text.0.as_str(), fault)),
            }
        }
        // What is there in all has been looked at.
        let is_reported = field == "available";
        let path = path.child(field);
        match quantity::amount(&resource.name, &text.0) {
            Ok(amount) => {
                let new = || Total { sum: 0, most: -1, object, path: path.clone() };
                let total = totals.entry(&resource.name).or_insert_with(new);
                total.sum += i128::from(amount);
                if amount > total.most {
                    *total = Total { sum: total.sum, most: amount, object, path };
                }
                offers.push(Offer { resource: &resource.name, free: amount, all });
            }
            Err(_) if !is_reported => {}
            Err(fault) => faults.push(FieldError::invalid(&path, text.0.as_str(), fault)),
        }
    }
    offers
}
