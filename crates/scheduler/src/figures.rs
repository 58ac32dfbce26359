//! Numbers for metrics.

use crate::decide::Round;
use crate::picture::{Picture, index};
use crate::plan::{Figures, Plan};
use crate::say::Verdict;
use std::collections::{BTreeMap, HashMap};
use trellis_lower::problem::tokens::is_token;

/// Counts what there was to see.
pub(crate) fn count(picture: &Picture<'_>, round: &Round, verdicts: &[Option<Verdict>], plan: &mut Plan) {
    let mut figures = Figures::default();
    for verdict in verdicts.iter().flatten() {
        if verdict.is_scheduled {
            figures.placed += 1;
        } else {
            *figures.waiting.entry(verdict.reason).or_default() += 1;
        }
    }
    let waiting = |gang: &trellis_engine::Gang| gang.pods.iter().filter(|pod| pod.bound.is_none()).count();
    figures.pods_waiting = picture.gangs.iter().map(waiting).sum();
    figures.steps = round.engine.decisions.iter().map(|decision| decision.steps).sum();
    figures.fragmentation = fragmentation(picture, round);
    plan.figures = figures;
}

/// For each level, how much of what is free of the scarcest resource lies outside the domain that has most of it.
fn fragmentation(picture: &Picture<'_>, round: &Round) -> BTreeMap<(String, String), f64> {
    let cluster = &picture.cluster;
    let mut free: Vec<Vec<i64>> = cluster.nodes.iter().map(|node| node.allocatable.clone()).collect();
    let mut charge = |node: u32, request: &[i64]| {
        free[index(node)].iter_mut().zip(request).for_each(|(free, amount)| *free -= amount);
    };
    let others = cluster.occupants.iter().chain(&picture.leaving);
    others.for_each(|occupant| charge(occupant.node, &occupant.request));
    for (gang, decision) in picture.gangs.iter().zip(&round.engine.decisions) {
        let bound = gang.pods.iter().filter_map(|pod| Some((pod.bound?, pod)));
        let placed = decision.placed.iter().map(|(pod, place)| (*place, &gang.pods[*pod]));
        bound.chain(placed).for_each(|(place, pod)| charge(place.node, &pod.request));
    }
    let total = |resource: usize| cluster.nodes.iter().map(|node| node.allocatable[resource]).sum::<i64>();
    let left = |resource: usize| free.iter().map(|node| node[resource].max(0)).sum::<i64>();
    let share =
        |resource: &usize| -> i128 { i128::from(left(*resource)) * 1_000_000 / i128::from(total(*resource).max(1)) };
    let scarcest = (0..cluster.resources.len())
        .filter(|resource| total(*resource) > 0 && !is_token(&cluster.resources[*resource]))
        .min_by_key(share);
    let Some(resource) = scarcest else { return BTreeMap::new() };
    let all = left(resource);
    let mut found = BTreeMap::new();
    for (at, topology) in cluster.topologies.iter().enumerate() {
        for (level, it) in topology.levels.iter().enumerate().filter(|(_, it)| !it.is_zone) {
            let mut domains: HashMap<&[String], i64> = HashMap::new();
            for (node, free) in cluster.nodes.iter().zip(&free) {
                if let Some(path) = node.paths[at].get(..=level) {
                    *domains.entry(path).or_default() += free[resource].max(0);
                }
            }
            let most = domains.into_values().max().unwrap_or(0);
            let outside = if all == 0 { 0.0 } else { 1.0 - ratio(most, all) };
            found.insert((topology.name.clone(), it.name.clone()), outside);
        }
    }
    found
}

#[allow(clippy::cast_precision_loss, reason = "a share is told to a few digits")]
fn ratio(part: i64, whole: i64) -> f64 {
    part as f64 / whole as f64
}
