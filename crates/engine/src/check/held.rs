//! Holds: which of them the pods that a plan places use up, and that no gang takes room that is held against it.

use super::ground::Ground;
use crate::cluster::{NodeId, Place};
use crate::gang::{Gang, Hold};
use std::collections::{BTreeMap, BTreeSet};

/// The holds of a gang that the placed pods do not use up: each pod uses up one of its leaf, first at its very place what
/// asks for the same, then on its node, then anywhere; of several the first by place and request.
pub(super) fn unused<'a>(gang: &'a Gang, placed: &[(usize, Place)]) -> Vec<&'a Hold> {
    let mut held: Vec<&Hold> = gang.holds.iter().collect();
    if held.is_empty() {
        return held;
    }
    held.sort_by_key(|hold| (hold.group, hold.place, &hold.request));
    let mut pods: Vec<_> = placed.iter().filter_map(|(pod, place)| Some((gang.pods.get(*pod)?, *place))).collect();
    for round in 0..3 {
        held.retain(|hold| {
            let user = pods.iter().position(|(pod, place)| {
                let near = match round {
                    0 => *place == hold.place && pod.request == hold.request,
                    1 => place.node == hold.place.node,
                    _ => true,
                };
                near && pod.group == hold.group
            });
            user.map(|user| pods.swap_remove(user)).is_none()
        });
    }
    held
}

/// A node, or a zone of it.
type Spot = (NodeId, Option<u16>);

/// What is taken at a spot and what is held there, with the gang that it is for.
#[derive(Default)]
struct Uses<'a> {
    taken: Vec<(usize, &'a [i64])>,
    held: Vec<(usize, &'a [i64])>,
}

/// No gang takes room that is held against it. Every priority is looked at: what gangs take that have no more than it goes
/// beside what is held with at least as much. Gangs with more may take anything. A gang may take what is held for itself,
/// so where it takes something its own holds are left out.
pub(super) fn faults(ground: &Ground<'_>, faults: &mut Vec<String>) {
    let before = super::ground::before(ground.cluster, ground.gangs);
    for ((node, zone), uses) in spots(ground) {
        let Some(known) = ground.cluster.nodes.get(node as usize) else { continue };
        let priority = |gang: usize| ground.gangs[gang].priority;
        let takes = |gang: usize| uses.taken.iter().any(|(taker, _)| *taker == gang);
        let priorities: BTreeSet<i32> = uses.taken.iter().map(|(gang, _)| priority(*gang)).collect();
        for limit in priorities {
            for (resource, name) in ground.cluster.resources.iter().enumerate() {
                let left = match zone.and_then(|zone| known.zones.get(usize::from(zone))) {
                    Some(zone) => zone.available.get(resource).copied().flatten(),
                    None => before.get(node as usize * ground.cluster.resources.len() + resource).copied(),
                };
                let taken = uses.taken.iter().filter(|(gang, _)| priority(*gang) <= limit);
                let held = uses.held.iter().filter(|(gang, _)| priority(*gang) >= limit && !takes(*gang));
                let taken = sum(taken.map(|(_, request)| *request), resource);
                let held = sum(held.map(|(_, request)| *request), resource);
                if taken > 0 && held > 0 && left.is_some_and(|left| taken.saturating_add(held) > left) {
                    let left = left.unwrap_or(0);
                    let text = format!("{taken} of {name} is placed and {held} is held against it, and {left} is free");
                    faults.push(format!("node {}: {text}", known.name));
                }
            }
        }
    }
}

/// The spots at which something is held.
fn spots<'a>(ground: &'a Ground<'_>) -> BTreeMap<Spot, Uses<'a>> {
    let mut found: BTreeMap<Spot, Uses<'a>> = BTreeMap::new();
    let at =
        |place: Place| [(place.node, None), (place.node, place.zone)].into_iter().take(1 + place.zone.iter().len());
    for (owner, hold) in ground.held.iter().enumerate().flat_map(|(owner, held)| held.iter().map(move |it| (owner, it)))
    {
        at(hold.place).for_each(|spot| found.entry(spot).or_default().held.push((owner, &hold.request)));
    }
    for (gang, decision) in ground.plan.decisions.iter().enumerate().take(ground.gangs.len()) {
        for (pod, place) in &decision.placed {
            let Some(pod) = ground.gangs[gang].pods.get(*pod) else { continue };
            for spot in at(*place) {
                found.get_mut(&spot).into_iter().for_each(|uses| uses.taken.push((gang, &pod.request)));
            }
        }
    }
    found
}

fn sum<'a>(requests: impl Iterator<Item = &'a [i64]>, resource: usize) -> i64 {
    requests.map(|request| request.get(resource).copied().unwrap_or(0)).fold(0, i64::saturating_add)
}
