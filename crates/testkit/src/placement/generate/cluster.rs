//! Clusters: nodes of few makes in one or two topologies, labels missing now and then.

use super::{Draw, Scale};
use fixedbitset::FixedBitSet;
use trellis_engine::{Cluster, Eligibility, Level, Node, Topology, Zone};

/// Resources and the units that they come in.
const RESOURCES: [(&str, i64); 3] = [("cpu", 500), ("memory", 1 << 30), ("nvidia.com/gpu", 1)];

pub(super) fn cluster(draw: &mut Draw, scale: Scale) -> Cluster {
    let (fewest, most) = scale.nodes;
    let count = draw.between(fewest, most).max(draw.between(fewest, most));
    let zones = scale.zones && draw.chance(20);
    let mut cluster = Cluster::default();
    let units = units(draw);
    cluster.resources = units.iter().map(|(name, _)| (*name).to_owned()).collect();
    cluster.nodes = nodes(draw, count, &units);
    let topologies = if draw.chance(25) { 2 } else { 1 };
    for n in 0..topologies {
        let zones = zones && (n == 0 || draw.chance(50));
        let topology = topology(draw, &mut cluster.nodes, format!("t{n}"), zones);
        cluster.topologies.push(topology);
    }
    if draw.chance(20) {
        unlabel(draw, &mut cluster.nodes, topologies);
    }
    if zones {
        for node in &mut cluster.nodes {
            if draw.chance(80) {
                node.zones = (0..2).map(|n| zone(draw, &cluster.resources, node, n)).collect();
            }
        }
    }
    cluster.eligibility = eligibility(draw, count);
    cluster
}

fn units(draw: &mut Draw) -> Vec<(&'static str, i64)> {
    let needed = draw.between(0, RESOURCES.len() - 1);
    let mut units: Vec<_> = Vec::new();
    for (n, resource) in RESOURCES.into_iter().enumerate() {
        if n == needed || draw.chance(40) {
            units.push(resource);
        }
    }
    units.push(("pods", 1));
    units
}

fn nodes(draw: &mut Draw, count: usize, units: &[(&str, i64)]) -> Vec<Node> {
    let makes = if draw.chance(60) { 1 } else { draw.between(2, 3) };
    let mut make = || {
        let amount = |(name, unit): &(&str, i64)| match *name {
            "pods" => *draw.of(&[1, 2, 3, 4, 10, 10]),
            "nvidia.com/gpu" => *draw.of(&[0, 1, 2, 4, 4, 8, 8]),
            _ => unit * draw.of(&[2, 4, 5, 8, 8]),
        };
        units.iter().map(amount).collect::<Vec<i64>>()
    };
    let makes: Vec<Vec<i64>> = (0..makes).map(|_| make()).collect();
    let node = |n: usize| Node { name: format!("n{n:02}"), allocatable: draw.of(&makes).clone(), ..Node::default() };
    (0..count).map(node).collect()
}

/// Two to four levels; nodes are dealt out to the domains of the last label level but the host, in order or at random.
fn topology(draw: &mut Draw, nodes: &mut [Node], name: String, zones: bool) -> Topology {
    let hosts = draw.chance(60);
    let extra = usize::from(hosts) + usize::from(zones);
    let labels = draw.between(2_usize.saturating_sub(extra).max(1), (4 - extra).min(3));
    let mut names = ["zone", "block", "rack"][3 - labels..].to_vec();
    names.extend(hosts.then_some("host"));
    let mut levels: Vec<Level> = names.iter().map(|level| self::level(&name, level, false)).collect();
    if zones {
        levels.push(level(&name, "numa", true));
    }
    let domains = draw.between(1, (nodes.len() / 2).clamp(2, 6)).min(nodes.len());
    let branching: Vec<usize> = (0..labels).map(|_| *draw.of(&[1, 2, 2, 3, 9])).collect();
    let random = draw.chance(40);
    let global = draw.chance(50);
    let count = nodes.len();
    for (n, node) in nodes.iter_mut().enumerate() {
        let mut domain = if random { draw.between(0, domains - 1) } else { n * domains / count };
        let mut path = Vec::new();
        for (n, branching) in branching.iter().enumerate() {
            let widest = n + 1 == labels;
            path.push(match (global, widest) {
                (true, _) => format!("d{domain}"),
                (false, true) => format!("w{domain}"),
                (false, false) => (domain % branching).to_string(),
            });
            domain /= branching;
        }
        path.reverse();
        path.extend(hosts.then(|| node.name.clone()));
        node.paths.push(path);
    }
    Topology { name, levels }
}

fn level(topology: &str, name: &str, is_zone: bool) -> Level {
    Level { name: name.to_owned(), key: format!("{topology}.example.com/{name}"), is_zone }
}

fn unlabel(draw: &mut Draw, nodes: &mut [Node], topologies: usize) {
    let topology = draw.between(0, topologies - 1);
    for node in nodes {
        let path = &mut node.paths[topology];
        if draw.chance(30) {
            path.truncate(draw.between(0, path.len() - 1));
        }
    }
}

fn zone(draw: &mut Draw, resources: &[String], node: &Node, n: usize) -> Zone {
    let divided = |resource: &str| resource != "pods" && resource != "memory";
    let mut available = |(resource, all): (&String, &i64)| {
        let less = if draw.chance(25) { *all / 4 } else { 0 };
        divided(resource).then(|| all / 2 - less)
    };
    Zone { name: format!("numa-{n}"), available: resources.iter().zip(&node.allocatable).map(&mut available).collect() }
}

/// Pods that may run anywhere, and now and then some that may not.
fn eligibility(draw: &mut Draw, nodes: usize) -> Vec<Eligibility> {
    let kinds = *draw.of(&[1, 1, 1, 2, 2, 3]);
    let closed = draw.chance(15);
    let mut kind = |n: usize| {
        let open = if n == 0 { if closed { 75 } else { 100 } } else { *draw.of(&[50, 70]) };
        let mut kind = Eligibility {
            allowed: FixedBitSet::with_capacity(nodes),
            barred: FixedBitSet::with_capacity(nodes),
            weights: Vec::new(),
        };
        for node in 0..nodes {
            if draw.chance(open) {
                kind.allowed.insert(node);
            } else if draw.chance(50) {
                kind.barred.insert(node);
            }
        }
        kind
    };
    (0..kinds).map(&mut kind).collect()
}
