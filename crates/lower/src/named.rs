//! Indices of the engine in words: domains by their paths, groups, levels and amounts by their names.

use crate::problem::quantity;
use std::cell::OnceCell;
use std::fmt::Write as _;
use trellis_engine::{Cluster, Constraint, DomainId, Gang, GangName, Group, GroupId, Place};

/// What things of a cluster are called.
#[derive(Debug)]
pub struct Names<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// The domains of each topology, by number; put together when first asked for.
    domains: Vec<OnceCell<Vec<String>>>,
}

impl<'a> Names<'a> {
    /// Names of this cluster.
    pub fn new(cluster: &'a Cluster) -> Self {
        Self { cluster, domains: cluster.topologies.iter().map(|_| OnceCell::new()).collect() }
    }

    /// The path of a domain, widest value first.
    pub fn domain(&self, domain: DomainId) -> &str {
        let topology = usize::from(domain.topology);
        let Some(domains) = self.domains.get(topology) else { return "" };
        let list = domains.get_or_init(|| domains_of(self.cluster, topology));
        usize::try_from(domain.index).ok().and_then(|index| list.get(index)).map_or("", String::as_str)
    }

    /// The domain that a place lies in at a level, or its node where it lies in none.
    pub fn domain_at(&self, place: Place, topology: usize, level: usize) -> String {
        let node = &self.cluster.nodes[index(place.node)];
        let is_zone = self.cluster.topologies[topology].levels[level].is_zone;
        let labels = if is_zone { level } else { level + 1 };
        let zone = place.zone.filter(|_| is_zone).and_then(|zone| node.zones.get(usize::from(zone)));
        match node.paths[topology].get(..labels) {
            Some(path) if !is_zone => path.join("/"),
            Some(path) if zone.is_some() => {
                path.iter().chain(zone.map(|zone| &zone.name)).cloned().collect::<Vec<_>>().join("/")
            }
            _ => format!("node:{}", node.name),
        }
    }

    /// A node.
    pub fn node(&self, node: u32) -> &'a str {
        &self.cluster.nodes[index(node)].name
    }

    /// The zone of a place, if it has one.
    pub fn zone(&self, place: Place) -> Option<&'a str> {
        let zones = &self.cluster.nodes[index(place.node)].zones;
        Some(zones.get(usize::from(place.zone?))?.name.as_str())
    }

    /// A resource.
    pub fn resource(&self, resource: usize) -> &'a str {
        &self.cluster.resources[resource]
    }

    /// An amount in Kubernetes' form.
    pub fn amount(&self, resource: usize, amount: i64) -> String {
        quantity::show(self.resource(resource), amount)
    }

    /// Topology, level and key of a constraint at a level.
    pub fn level(&self, constraint: Constraint, level: usize) -> LevelName<'a> {
        let topology = &self.cluster.topologies[constraint.topology];
        let level = &topology.levels[level];
        LevelName { topology: &topology.name, level: &level.name, key: &level.key }
    }
}

/// What a level is called.
#[derive(Clone, Copy, Debug)]
pub struct LevelName<'a> {
    /// The topology.
    pub topology: &'a str,
    /// The level.
    pub level: &'a str,
    /// Its node label key.
    pub key: &'a str,
}

/// Name of a group.
pub fn group(gang: &Gang, group: GroupId) -> &str {
    gang.groups.get(group).map_or("", |group: &Group| group.name.as_str())
}

/// `namespace/name`
pub fn gang(name: &GangName) -> String {
    format!("{}/{}", name.namespace, name.name)
}

/// Domains as the engine numbers them: by level, then by path, zones then by node and zone.
fn domains_of(cluster: &Cluster, topology: usize) -> Vec<String> {
    let levels = &cluster.topologies[topology].levels;
    let mut nodes: Vec<(&[String], usize)> =
        cluster.nodes.iter().enumerate().map(|(i, node)| (node.paths[topology].as_slice(), i)).collect();
    nodes.sort_unstable();
    let mut domains = Vec::new();
    for (i, level) in levels.iter().enumerate() {
        if level.is_zone {
            for (path, node) in nodes.iter().filter(|(path, _)| path.len() >= i) {
                let zones = cluster.nodes[*node].zones.iter();
                domains.extend(zones.map(|zone| joined(path[..i].iter().chain([&zone.name]))));
            }
            continue;
        }
        let mut paths: Vec<&[String]> = nodes.iter().filter_map(|(path, _)| path.get(..=i)).collect();
        paths.dedup();
        domains.extend(paths.into_iter().map(|path| joined(path.iter())));
    }
    domains
}

fn joined<'a>(values: impl Iterator<Item = &'a String>) -> String {
    values.enumerate().fold(String::new(), |mut path, (i, value)| {
        let slash = if i == 0 { "" } else { "/" };
        let _ = write!(path, "{slash}{value}");
        path
    })
}

/// An index as it is used.
pub fn index(node: u32) -> usize {
    usize::try_from(node).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trellis_engine::{Level, Node, Topology, Zone};

    fn node(name: &str, path: &[&str], zones: &[&str]) -> Node {
        let zone = |name: &&str| Zone { name: (*name).to_owned(), available: Vec::new() };
        Node {
            name: name.to_owned(),
            paths: vec![path.iter().map(|value| (*value).to_owned()).collect()],
            zones: zones.iter().map(zone).collect(),
            ..Node::default()
        }
    }

    #[test]
    fn domains_are_numbered_by_level_then_path_then_node() {
        let level = |name: &str, is_zone| Level { name: name.to_owned(), key: name.to_owned(), is_zone };
        let levels = vec![level("zone", false), level("rack", false), level("numa", true)];
        let cluster = Cluster {
            topologies: vec![Topology { name: "t".to_owned(), levels }],
            nodes: vec![
                node("a", &["z2", "r1"], &["n0", "n1"]),
                node("b", &["z1", "r1"], &["n0"]),
                node("c", &["z1", "r1"], &["n0"]),
                node("d", &["z1"], &["n0"]),
                node("e", &[], &[]),
            ],
            ..Cluster::default()
        };
        let names = Names::new(&cluster);
        let domains = names.domains[0].get_or_init(|| domains_of(&cluster, 0)).join(" ");
        assert_eq!(domains, "z1 z2 z1/r1 z2/r1 z1/r1/n0 z1/r1/n0 z2/r1/n0 z2/r1/n1");
        let at = |node, zone, level| names.domain_at(Place { node, zone }, 0, level);
        assert_eq!(at(0, None, 1), "z2/r1");
        assert_eq!(at(3, None, 1), "node:d");
        assert_eq!(at(0, Some(1), 2), "z2/r1/n1");
        assert_eq!(at(0, None, 2), "node:a");
    }
}
