//! Makes a failing problem small: parts are taken away as long as it still fails.

use super::{Problem, facts, invariants};
use trellis_engine::{Gang, GroupId, Members, NodeId};

/// The smallest problem that fails, found by taking away one part after another.
pub fn shrink(problem: &Problem, fails: impl Fn(&Problem) -> bool) -> Problem {
    let mut smallest = problem.clone();
    // What a base without any pods demands of its scaled gangs is nowhere said.
    let has_pods = |base: &Gang| !facts::satisfied(base, &[], |_| 0)[0];
    let is_told = |it: &Problem| (0..it.gangs.len()).all(|gang| facts::base(&it.gangs, gang).is_none_or(has_pods));
    let is_worse = |it: &Problem| invariants::violations(it).is_empty() && is_told(it) && fails(it);
    while let Some(smaller) = smaller(&smallest).into_iter().find(is_worse) {
        smallest = smaller;
    }
    smallest
}

/// All problems that are one step smaller, those that lack most first.
fn smaller(problem: &Problem) -> Vec<Problem> {
    let mut found = Vec::new();
    let mut with = |change: &dyn Fn(&mut Problem)| {
        let mut changed = problem.clone();
        change(&mut changed);
        if changed != *problem {
            found.push(changed);
        }
    };
    for gang in 0..problem.gangs.len() {
        if problem.gangs.len() > 1 {
            with(&|it| drop(it.gangs.remove(gang)));
        }
        for group in 1..problem.gangs[gang].groups.len() {
            with(&|it| without_group(&mut it.gangs[gang], group));
        }
    }
    for node in 0..problem.cluster.nodes.len() {
        with(&|it| without_node(it, node));
    }
    for occupant in 0..problem.cluster.occupants.len() {
        with(&|it| drop(it.cluster.occupants.remove(occupant)));
    }
    for resource in 0..problem.cluster.resources.len() {
        with(&|it| without_resource(it, resource));
    }
    for kind in 0..problem.cluster.eligibility.len() {
        with(&|it| {
            it.cluster.eligibility[kind].barred.clear();
            it.cluster.eligibility[kind].allowed.insert_range(..);
        });
    }
    for gang in 0..problem.gangs.len() {
        with(&|it| it.gangs[gang].base = None);
        with(&|it| it.gangs[gang].reserve = false);
        for pod in 0..problem.gangs[gang].pods.len() {
            with(&|it| drop(it.gangs[gang].pods.remove(pod)));
            with(&|it| it.gangs[gang].pods[pod].bound = None);
        }
        for hold in 0..problem.gangs[gang].holds.len() {
            with(&|it| drop(it.gangs[gang].holds.remove(hold)));
        }
        for group in 0..problem.gangs[gang].groups.len() {
            with(&|it| it.gangs[gang].groups[group].constraint = None);
            with(&|it| it.gangs[gang].groups[group].constraint.iter_mut().for_each(|it| it.required = None));
            with(&|it| it.gangs[gang].groups[group].constraint.iter_mut().for_each(|it| it.preferred = None));
            with(&|it| {
                let (Members::Groups { min } | Members::Pods { min }) = &mut it.gangs[gang].groups[group].members;
                *min = min.saturating_sub(1);
            });
        }
    }
    found
}

/// Takes away a leaf with its pods; the last one of a group stays.
fn without_group(gang: &mut Gang, group: GroupId) {
    let parent = gang.groups[group].parent.unwrap_or(0);
    let siblings = gang.children(parent).count() - 1;
    if siblings == 0 || gang.children(group).next().is_some() {
        return;
    }
    gang.pods.retain(|pod| pod.group != group);
    gang.holds.retain(|hold| hold.group != group);
    gang.groups.remove(group);
    if let Members::Groups { min } = &mut gang.groups[parent].members {
        *min = siblings.min(*min);
    }
    let moved = |other: &mut GroupId| *other -= usize::from(*other > group);
    gang.pods.iter_mut().for_each(|pod| moved(&mut pod.group));
    gang.holds.iter_mut().for_each(|hold| moved(&mut hold.group));
    gang.groups.iter_mut().filter_map(|it| it.parent.as_mut()).for_each(moved);
}

/// Takes away a node with what runs there.
fn without_node(problem: &mut Problem, node: usize) {
    let id = NodeId::try_from(node).expect("few nodes");
    if problem.cluster.nodes.len() == 1 {
        return;
    }
    problem.cluster.nodes.remove(node);
    problem.cluster.occupants.retain(|occupant| occupant.node != id);
    let moved = |other: &mut NodeId| *other -= u32::from(*other > id);
    problem.cluster.occupants.iter_mut().for_each(|occupant| moved(&mut occupant.node));
    for gang in &mut problem.gangs {
        gang.pods.retain(|pod| pod.bound.is_none_or(|place| place.node != id));
        gang.pods.iter_mut().filter_map(|pod| pod.bound.as_mut()).for_each(|place| moved(&mut place.node));
        gang.holds.retain(|hold| hold.place.node != id);
        gang.holds.iter_mut().for_each(|hold| moved(&mut hold.place.node));
    }
    for kind in &mut problem.cluster.eligibility {
        for set in [&mut kind.allowed, &mut kind.barred] {
            let kept = set.ones().filter(|other| *other != node).map(|other| other - usize::from(other > node));
            let mut smaller = fixedbitset::FixedBitSet::with_capacity(problem.cluster.nodes.len());
            smaller.extend(kept);
            *set = smaller;
        }
    }
}

fn without_resource(problem: &mut Problem, resource: usize) {
    if problem.cluster.resources[resource] == "pods" {
        return;
    }
    let without = |request: &[i64]| {
        let kept = request.iter().enumerate().filter(|(n, _)| *n != resource);
        kept.map(|(_, amount)| *amount).collect()
    };
    problem.cluster.resources.remove(resource);
    for node in &mut problem.cluster.nodes {
        node.allocatable.remove(resource);
        for zone in &mut node.zones {
            zone.available.remove(resource);
        }
    }
    problem.cluster.occupants.iter_mut().for_each(|it| it.request = without(&it.request));
    problem.gangs.iter_mut().flat_map(|gang| &mut gang.pods).for_each(|it| it.request = without(&it.request));
    problem.gangs.iter_mut().flat_map(|gang| &mut gang.holds).for_each(|it| it.request = without(&it.request));
}
