//! What the engine's types promise to the engine: every problem that it is asked to plan satisfies this.

use super::Problem;
use trellis_engine::{Cluster, Gang, Members};

/// What is wrong with a problem, in words; nothing for every problem that [`super::generate`] makes.
pub fn violations(problem: &Problem) -> Vec<String> {
    let mut found = Vec::new();
    let mut check = |right: bool, what: &str| {
        if !right {
            found.push(what.to_owned());
        }
    };
    check_cluster(&problem.cluster, &mut check);
    for gang in &problem.gangs {
        check_gang(&problem.cluster, gang, &mut check);
    }
    let mut names: Vec<_> = problem.gangs.iter().map(|gang| &gang.id).collect();
    names.sort();
    check(names.is_sorted_by(|a, b| a < b), "two gangs of one name");
    found
}

fn check_cluster(cluster: &Cluster, check: &mut impl FnMut(bool, &str)) {
    let resources = cluster.resources.len();
    let vector = |amounts: &[i64]| amounts.len() == resources && amounts.iter().all(|amount| *amount >= 0);
    check(cluster.resources.is_sorted_by(|a, b| a < b), "resources are not sorted");
    check(cluster.resources.iter().any(|name| name == "pods"), "pods is no resource");
    check(cluster.topologies.is_sorted_by(|a, b| a.name < b.name), "topologies are not sorted");
    check(cluster.nodes.is_sorted_by(|a, b| a.name < b.name), "nodes are not sorted");
    for topology in &cluster.topologies {
        let zones = topology.levels.iter().rev().skip(1).any(|level| level.is_zone);
        check(!topology.levels.is_empty() && !zones, "a zone level is not the last");
    }
    for node in &cluster.nodes {
        check(vector(&node.allocatable), "a node's resources");
        check(node.paths.len() == cluster.topologies.len(), "a node's paths");
        for (path, topology) in node.paths.iter().zip(&cluster.topologies) {
            let labels = topology.levels.iter().filter(|level| !level.is_zone).count();
            check(path.len() <= labels, "a path is too long");
        }
        check(node.zones.is_sorted_by(|a, b| a.name < b.name), "zones are not sorted");
        for zone in &node.zones {
            let amounts = zone.available.iter().flatten().all(|amount| *amount >= 0);
            check(zone.available.len() == resources && amounts, "a zone's resources");
        }
    }
    for kind in &cluster.eligibility {
        let nodes = cluster.nodes.len();
        check(kind.allowed.len() == nodes && kind.barred.len() == nodes, "eligibility of other nodes");
        check(kind.allowed.is_disjoint(&kind.barred), "nodes both allowed and barred");
    }
    for occupant in &cluster.occupants {
        check((occupant.node as usize) < cluster.nodes.len() && vector(&occupant.request), "an occupant");
    }
}

fn check_gang(cluster: &Cluster, gang: &Gang, check: &mut impl FnMut(bool, &str)) {
    let pods = cluster.resources.iter().position(|name| name == "pods");
    check(gang.groups.first().is_some_and(|root| root.name == gang.id.name), "the root has another name");
    for (group, it) in gang.groups.iter().enumerate() {
        check(it.parent.is_some_and(|parent| parent < group) == (group > 0), "a parent is not before its child");
        let children = gang.children(group).count();
        match it.members {
            Members::Groups { min } => check(children > 0 && min <= children, "too few children"),
            Members::Pods { .. } => check(children == 0, "a leaf has children"),
        }
        if let Some(constraint) = it.constraint {
            let levels = cluster.topologies.get(constraint.topology).map_or(0, |topology| topology.levels.len());
            let levels = constraint.required.iter().chain(&constraint.preferred).all(|level| *level < levels);
            check(levels, "a level that does not exist");
        }
    }
    let mut names: Vec<_> = gang.pods.iter().map(|pod| &pod.name).collect();
    names.sort();
    check(names.is_sorted_by(|a, b| a < b), "two pods of one name");
    for pod in &gang.pods {
        let leaf = gang.groups.get(pod.group).is_some_and(|it| matches!(it.members, Members::Pods { .. }));
        check(leaf, "a pod of no leaf");
        check(pod.eligibility < cluster.eligibility.len(), "eligibility that does not exist");
        let amounts = pod.request.len() == cluster.resources.len() && pod.request.iter().all(|asked| *asked >= 0);
        check(amounts && pods.is_some_and(|pods| pod.request[pods] == 1), "a pod's request");
        if let Some(place) = pod.bound {
            let node = cluster.nodes.get(place.node as usize);
            let zone = |zones: usize| place.zone.is_none_or(|zone| usize::from(zone) < zones);
            check(node.is_some_and(|node| zone(node.zones.len())), "bound to nowhere");
        }
    }
    for hold in &gang.holds {
        let leaf = gang.groups.get(hold.group).is_some_and(|it| matches!(it.members, Members::Pods { .. }));
        check(leaf, "a hold of no leaf");
        let amounts = hold.request.len() == cluster.resources.len() && hold.request.iter().all(|held| *held >= 0);
        let node = cluster.nodes.get(hold.place.node as usize);
        let zone = |zones: usize| hold.place.zone.is_none_or(|zone| usize::from(zone) < zones);
        check(amounts && node.is_some_and(|node| zone(node.zones.len())), "a hold of nothing or nowhere");
    }
}
