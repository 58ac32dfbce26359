//! Zones inside nodes (NUMA), from NodeResourceTopologies.

use super::faults::{Faults, Of};
use super::quantity;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use trellis_api::field::{FieldError, Path};
use trellis_api::kinds::{NodeResourceTopology, NodeZone};
use trellis_engine::Zone;

const KIND: &str = "NodeResourceTopology";

/// A zone, and what is free in it, by resource.
#[derive(Debug)]
struct Found<'a> {
    name: &'a str,
    free: Vec<(&'a str, i64)>,
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
                let free = free(zone, &Path::new("zones").index(z), i, &mut totals, &mut faults);
                zones.push(Found { name: &zone.name, free });
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
            for (name, amount) in &found.free {
                // What no node offers and no pod asks for is of no interest.
                if let Ok(place) = resources.binary_search_by(|resource| resource.as_str().cmp(name)) {
                    available[place] = Some(*amount);
                }
            }
            Zone { name: found.name.to_owned(), available }
        };
        self.0.get(node).into_iter().flatten().map(zone).collect()
    }
}

/// What is free in a zone.
fn free<'a>(
    zone: &'a NodeZone,
    path: &Path,
    object: usize,
    totals: &mut BTreeMap<&'a str, Total>,
    faults: &mut Of<'_>,
) -> Vec<(&'a str, i64)> {
    let (mut free, mut seen) = (Vec::new(), BTreeSet::new());
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
        let path = path.child(field);
        match quantity::amount(&resource.name, &text.0) {
            Ok(amount) => {
                let new = || Total { sum: 0, most: -1, object, path: path.clone() };
                let total = totals.entry(&resource.name).or_insert_with(new);
                total.sum += i128::from(amount);
                if amount > total.most {
                    *total = Total { sum: total.sum, most: amount, object, path };
                }
                free.push((resource.name.as_str(), amount));
            }
            Err(fault) => faults.push(FieldError::invalid(&path, text.0.as_str(), fault)),
        }
    }
    free
}
