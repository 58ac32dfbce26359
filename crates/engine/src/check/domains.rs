//! Domains, worked out from the paths of the nodes.

use crate::cluster::{Cluster, NodeId, Place};
use crate::proof::DomainId;

/// A domain by what makes it one. Zones of different nodes differ whatever they are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Key<'a> {
    Path(&'a [String]),
    Zone(NodeId, u16),
}

/// The values of a node's labels in a topology.
pub(super) fn path(cluster: &Cluster, topology: usize, node: NodeId) -> &[String] {
    let paths = cluster.nodes.get(node as usize).and_then(|node| node.paths.get(topology));
    paths.map_or(&[], Vec::as_slice)
}

/// Whether a level of a topology is a level of zones.
pub(super) fn is_zone(cluster: &Cluster, topology: usize, level: usize) -> bool {
    cluster.topologies.get(topology).and_then(|topology| topology.levels.get(level)).is_some_and(|level| level.is_zone)
}

/// The domain of a level that a place is in; none if it does not take part.
pub(super) fn key(cluster: &Cluster, topology: usize, level: usize, place: Place) -> Option<Key<'_>> {
    cluster.topologies.get(topology)?.levels.get(level)?;
    let path = path(cluster, topology, place.node);
    if !is_zone(cluster, topology, level) {
        return path.get(..=level).map(Key::Path);
    }
    let zone = place.zone.filter(|zone| usize::from(*zone) < cluster.nodes[place.node as usize].zones.len())?;
    (path.len() >= level).then_some(Key::Zone(place.node, zone))
}

/// A domain by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Dom {
    pub(super) topology: usize,
    pub(super) index: usize,
}

impl From<DomainId> for Dom {
    fn from(id: DomainId) -> Self {
        Self { topology: usize::from(id.topology), index: id.index as usize }
    }
}

pub(super) struct Domain {
    pub(super) level: usize,
    pub(super) parent: Option<usize>,
    pub(super) children: Vec<usize>,
    pub(super) nodes: Vec<NodeId>,
    /// Nodes that have no narrower label. Zones are told by their nodes, not as children.
    pub(super) stopping: Vec<NodeId>,
    pub(super) zone: Option<u16>,
}

/// The domains of one topology, numbered as [`crate::cluster::Level`] says.
pub(super) struct Tree {
    pub(super) domains: Vec<Domain>,
    /// The first domain of each level, and one more for the end.
    starts: Vec<usize>,
    zone_level: Option<usize>,
    /// For each node its domains at the levels of labels it reaches.
    paths: Vec<Vec<usize>>,
    /// For each node the domain of its first zone; the others follow.
    first_zone: Vec<Option<usize>>,
}

impl Tree {
    fn new(cluster: &Cluster, topology: usize) -> Self {
        let levels = &cluster.topologies[topology].levels;
        let zone_level = levels.iter().position(|level| level.is_zone);
        let labels = zone_level.unwrap_or(levels.len());
        let count = NodeId::try_from(cluster.nodes.len()).unwrap_or(NodeId::MAX);
        let values = |node: NodeId| {
            let path = path(cluster, topology, node);
            &path[..path.len().min(labels)]
        };
        let mut sorted: Vec<NodeId> = (0..count).collect();
        sorted.sort_by_key(|node| (values(*node), *node));
        let mut tree = Self {
            domains: Vec::new(),
            starts: Vec::new(),
            zone_level,
            paths: vec![Vec::new(); cluster.nodes.len()],
            first_zone: vec![None; cluster.nodes.len()],
        };
        for level in 0..labels {
            tree.starts.push(tree.domains.len());
            // Nodes with equal values so far stand next to each other, in the order that numbers them.
            let mut last: Option<&[String]> = None;
            for node in sorted.iter().copied() {
                let Some(prefix) = values(node).get(..=level) else { continue };
                if last != Some(prefix) {
                    let parent = tree.paths[node as usize].last().copied();
                    tree.add(level, parent, None);
                    last = Some(prefix);
                }
                let index = tree.domains.len() - 1;
                tree.domains[index].nodes.push(node);
                tree.paths[node as usize].push(index);
            }
        }
        for node in sorted.iter().copied() {
            if let Some(index) = tree.paths[node as usize].last() {
                tree.domains[*index].stopping.push(node);
            }
        }
        if zone_level.is_some() {
            tree.starts.push(tree.domains.len());
            for node in sorted.into_iter().filter(|node| values(*node).len() == labels) {
                for zone in 0..cluster.nodes[node as usize].zones.len() {
                    let parent = tree.paths[node as usize].last().copied();
                    let index = tree.add(labels, parent, u16::try_from(zone).ok());
                    tree.domains[index].nodes.push(node);
                    tree.first_zone[node as usize].get_or_insert(index);
                }
            }
        }
        tree.starts.push(tree.domains.len());
        tree
    }

    fn add(&mut self, level: usize, parent: Option<usize>, zone: Option<u16>) -> usize {
        let index = self.domains.len();
        let (children, nodes, stopping) = (Vec::new(), Vec::new(), Vec::new());
        self.domains.push(Domain { level, parent, children, nodes, stopping, zone });
        if let Some(parent) = parent.filter(|_| zone.is_none()) {
            self.domains[parent].children.push(index);
        }
        index
    }

    /// All domains of a level.
    pub(super) fn of_level(&self, level: usize) -> std::ops::Range<usize> {
        match self.starts.get(level..level + 2) {
            Some(&[start, end]) => start..end,
            _ => 0..0,
        }
    }

    /// The domain of a place at a level.
    pub(super) fn at(&self, level: usize, place: Place) -> Option<usize> {
        if self.zone_level != Some(level) {
            return self.paths[place.node as usize].get(level).copied();
        }
        let index = self.first_zone[place.node as usize]? + usize::from(place.zone?);
        self.domains.get(index).filter(|domain| domain.nodes == [place.node]).map(|_| index)
    }

    /// The narrowest domain of labels that a node is in.
    pub(super) fn narrowest(&self, node: NodeId) -> Option<usize> {
        self.paths[node as usize].last().copied()
    }

    /// Whether a node is in a domain, or has it inside.
    pub(super) fn holds(&self, index: usize, node: NodeId) -> bool {
        let domain = &self.domains[index];
        match domain.zone {
            Some(_) => domain.nodes == [node],
            None => self.paths[node as usize].get(domain.level) == Some(&index),
        }
    }

    /// A domain and all above it, the widest last.
    pub(super) fn ancestry(&self, index: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(index), |index| self.domains[*index].parent)
    }
}

/// The domains of all topologies.
pub(super) struct Index {
    pub(super) trees: Vec<Tree>,
}

impl Index {
    pub(super) fn new(cluster: &Cluster) -> Self {
        Self { trees: (0..cluster.topologies.len()).map(|topology| Tree::new(cluster, topology)).collect() }
    }

    pub(super) fn domain(&self, dom: Dom) -> &Domain {
        &self.trees[dom.topology].domains[dom.index]
    }

    pub(super) fn holds(&self, dom: Dom, node: NodeId) -> bool {
        self.trees[dom.topology].holds(dom.index, node)
    }

    /// The domain of a level that all places share: none if there is no such domain, or no place.
    pub(super) fn shared(&self, topology: usize, level: usize, places: &[Place]) -> Option<Dom> {
        let tree = self.trees.get(topology)?;
        let index = tree.at(level, *places.first()?)?;
        places.iter().all(|place| tree.at(level, *place) == Some(index)).then_some(Dom { topology, index })
    }
}
