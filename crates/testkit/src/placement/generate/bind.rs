//! What runs already: bound pods of the gangs, and occupants that leave little room.

use super::Draw;
use crate::placement::{Problem, exhaustive, facts};
use std::sync::Arc;
use trellis_engine::{Occupant, Place};

/// Binds about so many of a hundred pods of a gang. Mostly they keep the required levels.
pub(super) fn bind(draw: &mut Draw, problem: &mut Problem, gang: usize, percent: usize) {
    let careless = draw.chance(6);
    for pod in 0..problem.gangs[gang].pods.len() {
        for _ in 0..6 {
            if !draw.chance(percent) {
                break;
            }
            let leaf = problem.gangs[gang].pods[pod].group;
            let zones = facts::zones(&problem.cluster, &problem.gangs[gang], leaf);
            // Pods may have been bound before anybody knew of zones.
            let zones = if careless { facts::Zones::Ignored } else { zones };
            let places = facts::places(&problem.cluster, zones);
            if places.is_empty() {
                break;
            }
            let place = *draw.of(&places);
            let free = facts::free(&problem.cluster, &problem.gangs, None);
            let eligible = problem.gangs[gang].pods[pod].eligibility;
            if facts::fits(&problem.gangs[gang].pods[pod].request, &free[place.node as usize])
                && problem.cluster.eligibility[eligible].allowed.contains(place.node as usize)
                && try_place(problem, gang, pod, place, careless)
            {
                break;
            }
        }
    }
}

fn try_place(problem: &mut Problem, gang: usize, pod: usize, place: Place, careless: bool) -> bool {
    problem.gangs[gang].pods[pod].bound = Some(place);
    let requirements = facts::requirements(&problem.cluster, &problem.gangs, gang);
    let kept = careless || !requirements.iter().any(facts::Requirement::is_broken);
    if !kept {
        problem.gangs[gang].pods[pod].bound = None;
    }
    kept
}

/// Fills nodes with occupants until the waiting pods have about as much room as they need, or some more.
pub(super) fn tighten(draw: &mut Draw, problem: &mut Problem) {
    // In quarters of what the waiting pods ask for.
    let target = *draw.of(&[4, 5, 5, 6, 8, 12, 1000]);
    let requests = requests(problem);
    for _ in 0..40 {
        let free = facts::free(&problem.cluster, &problem.gangs, None);
        let is_loose = |resource: usize| {
            let asked: i64 = requests.iter().map(|request| request[resource]).sum();
            let free: i64 = free.iter().map(|free| free[resource].max(0)).sum();
            asked == 0 || free * 4 > asked * target
        };
        if requests.is_empty() || !(0..problem.cluster.resources.len()).all(is_loose) {
            return;
        }
        occupy(draw, problem, &requests);
    }
}

/// Adds occupants until the last gang no longer fits; in half of the cases it then just fits again. False if it never
/// did.
pub(super) fn bring_to_the_edge(draw: &mut Draw, problem: &mut Problem) -> bool {
    let last = problem.gangs.len() - 1;
    let requests = requests(problem);
    if requests.len() < draw.between(1, 4) || exhaustive::fits(problem, last) != Ok(true) {
        return false;
    }
    for _ in 0..60 {
        if occupy(draw, problem, &requests) && exhaustive::fits(problem, last) != Ok(true) {
            if draw.chance(60) {
                problem.cluster.occupants.pop();
            }
            break;
        }
    }
    true
}

/// What the waiting pods ask for.
fn requests(problem: &Problem) -> Vec<Arc<[i64]>> {
    let waiting = problem.gangs.iter().flat_map(|gang| &gang.pods).filter(|pod| pod.bound.is_none());
    waiting.map(|pod| Arc::clone(&pod.request)).collect()
}

/// Adds an occupant to a random node, mostly one that has room for it; false if it is full.
fn occupy(draw: &mut Draw, problem: &mut Problem, requests: &[Arc<[i64]>]) -> bool {
    let node = draw.between(0, problem.cluster.nodes.len() - 1);
    let mut request = Arc::clone(draw.of(requests));
    if draw.chance(30) {
        // Smaller than the pods, so that it leaves a hole of an odd size.
        let part = |(amount, name): (&i64, &String)| if name == "pods" { 1 } else { amount / 2 };
        request = request.iter().zip(&problem.cluster.resources).map(part).collect();
    }
    let free = facts::free(&problem.cluster, &problem.gangs, None);
    // Now and then a node holds more than it has.
    let has_room = facts::fits(&request, &free[node]) || draw.chance(1);
    if has_room {
        let node = u32::try_from(node).expect("few nodes");
        let name = format!("occupant-{}", problem.cluster.occupants.len());
        problem.cluster.occupants.push(Occupant { namespace: "system".to_owned(), name, node, request });
    }
    has_room
}
