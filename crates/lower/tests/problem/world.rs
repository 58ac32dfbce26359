//! What the engine is promised of every problem, and problems as text.

use std::fmt::Write as _;
use trellis_engine::{Cluster, Constraint, Gang, Members, Topology};
use trellis_lower::problem::{Problem, quantity};

/// Asserts all that the engine's types promise.
pub fn assert_well_formed(problem: &Problem) {
    let Problem { cluster, gangs, .. } = problem;
    assert_cluster(cluster);
    assert!(gangs.is_sorted_by(|a, b| a.id < b.id), "gangs are sorted, each name once");
    for gang in gangs {
        assert_gang(gang, cluster);
        let base_of = |gang: &Gang| gangs.iter().find(|other| Some(&other.id) == gang.base.as_ref());
        let chain = std::iter::successors(base_of(gang), |gang| base_of(gang));
        assert!(chain.take(gangs.len() + 1).count() <= gangs.len(), "{:?} is its own base", gang.id);
    }
    // All that stands on the nodes or wants to, and all there is, can be added up.
    let requests = gangs.iter().flat_map(|gang| gang.pods.iter().map(|pod| &pod.request));
    let requests = requests.chain(cluster.occupants.iter().map(|occupant| &occupant.request));
    assert_sums(requests.map(|request| request.iter().copied()), cluster);
    assert_sums(cluster.nodes.iter().map(|node| node.allocatable.iter().copied()), cluster);
    let zones = cluster.nodes.iter().flat_map(|node| &node.zones);
    assert_sums(zones.map(|zone| zone.available.iter().map(|amount| amount.unwrap_or(0))), cluster);
}

fn assert_sums(vectors: impl Iterator<Item = impl Iterator<Item = i64>>, cluster: &Cluster) {
    let mut sums = vec![0_i128; cluster.resources.len()];
    for vector in vectors {
        let amounts: Vec<i64> = vector.collect();
        assert_eq!(amounts.len(), sums.len());
        for (sum, amount) in sums.iter_mut().zip(amounts) {
            assert!(amount >= 0);
            *sum += i128::from(amount);
        }
    }
    assert!(sums.iter().all(|sum| *sum <= i128::from(quantity::MOST)), "{sums:?}");
}

fn assert_cluster(cluster: &Cluster) {
    assert!(cluster.resources.is_sorted_by(|a, b| a < b));
    assert!(cluster.resources.iter().any(|name| name == "pods"));
    assert!(cluster.topologies.is_sorted_by(|a, b| a.name <= b.name));
    for topology in &cluster.topologies {
        let last = topology.levels.len().saturating_sub(1);
        assert!(topology.levels.iter().take(last).all(|level| !level.is_zone), "only the last level is of zones");
    }
    assert!(cluster.nodes.is_sorted_by(|a, b| a.name < b.name), "nodes are sorted, each name once");
    for node in &cluster.nodes {
        assert_eq!(node.paths.len(), cluster.topologies.len());
        let depth = |topology: &Topology| topology.levels.iter().filter(|level| !level.is_zone).count();
        assert!(node.paths.iter().zip(&cluster.topologies).all(|(path, topology)| path.len() <= depth(topology)));
        assert!(node.zones.is_sorted_by(|a, b| a.name < b.name), "zones are sorted, each name once");
    }
    for kind in &cluster.eligibility {
        assert_eq!((kind.allowed.len(), kind.barred.len()), (cluster.nodes.len(), cluster.nodes.len()));
        assert!(kind.allowed.is_disjoint(&kind.barred));
    }
    for occupant in &cluster.occupants {
        assert!(usize::try_from(occupant.node).expect("small") < cluster.nodes.len());
    }
    assert!(cluster.occupants.is_sorted_by(|a, b| (&a.namespace, &a.name) < (&b.namespace, &b.name)));
}

fn assert_gang(gang: &Gang, cluster: &Cluster) {
    let root = &gang.groups[0];
    assert_eq!((root.name.as_str(), root.parent), (gang.id.name.as_str(), None));
    for (id, group) in gang.groups.iter().enumerate() {
        if id > 0 {
            let parent = group.parent.expect("only the root has none");
            assert!(parent < id, "parents stand before their children");
            assert!(matches!(gang.groups[parent].members, Members::Groups { .. }), "leaves have no children");
        }
        if let Members::Groups { min } = group.members {
            let children = gang.children(id).count();
            assert!(min <= children, "{min} of {children}");
            assert!(id == 0 || children > 0, "inner groups are not empty");
        }
        if let Some(Constraint { topology, required, preferred }) = group.constraint {
            let levels = cluster.topologies[topology].levels.len();
            assert!(required.is_some() || preferred.is_some());
            assert!(required.into_iter().chain(preferred).all(|level| level < levels));
            assert!(required.zip(preferred).is_none_or(|(required, preferred)| preferred > required));
        }
    }
    assert!(gang.pods.is_sorted_by(|a, b| a.name < b.name), "pods are sorted, each name once");
    for pod in &gang.pods {
        assert!(matches!(gang.groups[pod.group].members, Members::Pods { .. }), "pods are in leaves");
        assert!(pod.eligibility < cluster.eligibility.len());
        if let Some(place) = pod.bound {
            let node = &cluster.nodes[usize::try_from(place.node).expect("small")];
            assert!(place.zone.is_none_or(|zone| usize::from(zone) < node.zones.len()));
        }
    }
}

/// Gangs as an outline: a line for the gang, one for each group, and one for its pods.
///
/// `ns/name prio 5 base b reserve`, then `  group min 2 required T/rack preferred T/host: pod, pod@node/zone`.
pub fn outline(problem: &Problem) -> String {
    let mut text = String::new();
    for gang in &problem.gangs {
        write!(text, "{}/{} prio {}", gang.id.namespace, gang.id.name, gang.priority).expect("text");
        if let Some(base) = &gang.base {
            write!(text, " base {}", base.name).expect("text");
        }
        if gang.reserve {
            text.push_str(" reserve");
        }
        if let Some(unready) = &gang.unready {
            write!(text, " waits: {unready:?}").expect("text");
        }
        text.push('\n');
        for (id, group) in gang.groups.iter().enumerate() {
            let indent = "  ".repeat(gang.ancestry(id).count());
            let (kind, min) = match group.members {
                Members::Groups { min } => ("groups", min),
                Members::Pods { min } => ("min", min),
            };
            write!(text, "{indent}{} {kind} {min}{}", group.name, levels(group.constraint, &problem.cluster))
                .expect("text");
            let pods: Vec<String> = gang.pods_of(id).map(|(_, pod)| place(pod, &problem.cluster)).collect();
            let pods = if pods.is_empty() { String::new() } else { format!(": {}", pods.join(", ")) };
            writeln!(text, "{pods}").expect("text");
        }
    }
    text
}

fn levels(constraint: Option<Constraint>, cluster: &Cluster) -> String {
    let Some(constraint) = constraint else { return String::new() };
    let topology = &cluster.topologies[constraint.topology];
    let level = |word: &str, level: Option<usize>| {
        level.map(|level| format!(" {word} {}/{}", topology.name, topology.levels[level].name)).unwrap_or_default()
    };
    level("required", constraint.required) + &level("preferred", constraint.preferred)
}

fn place(pod: &trellis_engine::Pod, cluster: &Cluster) -> String {
    let Some(place) = pod.bound else { return pod.name.clone() };
    let node = &cluster.nodes[usize::try_from(place.node).expect("small")];
    let zone = place.zone.map(|zone| format!("/{}", node.zones[usize::from(zone)].name)).unwrap_or_default();
    format!("{}@{}{zone}", pod.name, node.name)
}
