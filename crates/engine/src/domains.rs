//! The domains of a topology, numbered as [`crate::cluster::Topology`] says, with what lies in each.

use crate::cluster::{Cluster, NodeId, Place};
use std::ops::Range;

/// No domain.
pub(crate) const NONE: u32 = u32::MAX;

/// All domains of one topology. Descendants of a domain at one level have neighbouring numbers.
#[derive(Clone, Debug)]
pub(crate) struct Domains {
    /// First domain of each level, and one past the last of all.
    level_start: Vec<u32>,
    /// The level whose domains are zones.
    pub zone_level: Option<usize>,
    pub level: Vec<u16>,
    pub parent: Vec<u32>,
    /// First child of each domain; the next entry is one past the last.
    child_start: Vec<u32>,
    /// A node that lies in the domain, for its name.
    sample: Vec<NodeId>,
    /// Zones: which one of the node.
    zone: Vec<u16>,
    /// For each node and level its domain, or [`NONE`]; zone levels are [`NONE`].
    of_node: Vec<u32>,
    /// First zone domain of each node, if the topology has a zone level and the node takes part.
    first_zone: Vec<u32>,
    node_start: Vec<u32>,
    nodes: Vec<NodeId>,
    /// Nodes whose path ends above the last label level, by the domain it ends in; [`NONE`] first.
    partial: Vec<(u32, NodeId)>,
    levels: usize,
}

impl Domains {
    pub fn of(cluster: &Cluster, topology: usize) -> Self {
        let levels = cluster.topologies[topology].levels.len();
        let zone_level = cluster.topologies[topology].levels.iter().position(|level| level.is_zone);
        let label_levels = zone_level.unwrap_or(levels);
        let count = cluster.nodes.len();
        let mut domains = Self {
            level_start: vec![0],
            zone_level,
            level: Vec::new(),
            parent: Vec::new(),
            child_start: Vec::new(),
            sample: Vec::new(),
            zone: Vec::new(),
            of_node: vec![NONE; count * levels],
            first_zone: vec![NONE; count],
            node_start: Vec::new(),
            nodes: Vec::new(),
            partial: Vec::new(),
            levels,
        };
        let mut order: Vec<NodeId> = (0..index(count)).collect();
        for level in 0..label_levels {
            domains.add_level(cluster, topology, level, &mut order);
        }
        if zone_level.is_some() {
            domains.add_zones(cluster, &order);
        }
        domains.link(cluster, topology, label_levels);
        domains
    }

    fn add_level(&mut self, cluster: &Cluster, topology: usize, level: usize, order: &mut Vec<NodeId>) {
        let value = |node: NodeId| cluster.nodes[node as usize].paths[topology].get(level).map(String::as_str);
        order.retain(|node| value(*node).is_some());
        let above = |domains: &Self, node: NodeId| match level {
            0 => NONE,
            _ => domains.of_node[node as usize * domains.levels + level - 1],
        };
        order.sort_by(|a, b| (above(self, *a), value(*a), *a).cmp(&(above(self, *b), value(*b), *b)));
        let mut last: Option<(u32, Option<&str>)> = None;
        for &node in order.iter() {
            let key = (above(self, node), value(node));
            if last != Some(key) {
                self.push(level, key.0, node, 0);
                last = Some(key);
            }
            self.of_node[node as usize * self.levels + level] = self.len() - 1;
        }
        self.level_start.push(self.len());
    }

    fn add_zones(&mut self, cluster: &Cluster, order: &[NodeId]) {
        let level = self.level_start.len() - 1;
        for &node in order {
            let parent = if level == 0 { NONE } else { self.of_node[node as usize * self.levels + level - 1] };
            for zone in 0..cluster.nodes[node as usize].zones.len() {
                if zone == 0 {
                    self.first_zone[node as usize] = self.len();
                }
                self.push(level, parent, node, u16::try_from(zone).unwrap_or(u16::MAX));
            }
        }
        self.level_start.push(self.len());
    }

    fn push(&mut self, level: usize, parent: u32, sample: NodeId, zone: u16) {
        self.level.push(u16::try_from(level).unwrap_or(u16::MAX));
        self.parent.push(parent);
        self.sample.push(sample);
        self.zone.push(zone);
    }

    /// Children, and the nodes of each domain in one list after another.
    fn link(&mut self, cluster: &Cluster, topology: usize, label_levels: usize) {
        let len = self.len() as usize;
        self.child_start = vec![0; len + 1];
        for level in 0..self.levels {
            let below = if level + 1 < self.levels { self.range(level + 1) } else { self.len()..self.len() };
            let mut next = below.start;
            for domain in self.range(level) {
                while next < below.end && self.parent[next as usize] < domain {
                    next += 1;
                }
                self.child_start[domain as usize] = next;
                while next < below.end && self.parent[next as usize] == domain {
                    next += 1;
                }
            }
        }
        self.child_start[len] = self.len();
        let mut sizes = vec![0u32; len + 1];
        let each = |mut put: Box<dyn FnMut(u32, NodeId) + '_>| {
            for (node, domains) in self.of_node.chunks(self.levels.max(1)).enumerate() {
                domains.iter().filter(|domain| **domain != NONE).for_each(|domain| put(*domain, index(node)));
            }
            if let Some(level) = self.zone_level {
                self.range(level).for_each(|domain| put(domain, self.sample[domain as usize]));
            }
        };
        each(Box::new(|domain, _| sizes[domain as usize + 1] += 1));
        for i in 0..len {
            sizes[i + 1] += sizes[i];
        }
        let mut fill = sizes.clone();
        let mut nodes = vec![0; sizes[len] as usize];
        each(Box::new(|domain, node| {
            nodes[fill[domain as usize] as usize] = node;
            fill[domain as usize] += 1;
        }));
        self.node_start = sizes;
        self.nodes = nodes;
        for (node, it) in cluster.nodes.iter().enumerate() {
            let depth = it.paths[topology].len().min(label_levels);
            if depth < label_levels || (self.zone_level.is_some() && it.zones.is_empty()) {
                let end = if depth == 0 { NONE } else { self.of_node[node * self.levels + depth - 1] };
                self.partial.push((end.wrapping_add(1), index(node)));
            }
        }
        self.partial.sort_unstable();
    }

    pub fn len(&self) -> u32 {
        index(self.level.len())
    }

    pub fn levels(&self) -> usize {
        self.levels
    }

    /// The domains of a level.
    pub fn range(&self, level: usize) -> Range<u32> {
        self.level_start[level]..self.level_start[level + 1]
    }

    /// The domains of a level that lie in a domain, or in any.
    pub fn within(&self, domain: Option<u32>, level: usize) -> Range<u32> {
        let Some(domain) = domain else { return self.range(level) };
        let mut at = usize::from(self.level[domain as usize]);
        if level < at {
            let up = self.up(domain, level);
            return up..up + 1;
        }
        let mut range = domain..domain + 1;
        while at < level {
            let end = if range.end < self.level_start[at + 1] {
                self.child_start[range.end as usize]
            } else {
                self.level_start[at + 2]
            };
            range = if range.is_empty() { end..end } else { self.child_start[range.start as usize]..end };
            at += 1;
        }
        range
    }

    /// The domain of a wider level that a domain lies in.
    pub fn up(&self, mut domain: u32, level: usize) -> u32 {
        while usize::from(self.level[domain as usize]) > level {
            domain = self.parent[domain as usize];
        }
        domain
    }

    /// The domain of a place at a level, or [`NONE`].
    pub fn at(&self, place: Place, level: usize) -> u32 {
        if self.zone_level != Some(level) {
            return self.of_node[place.node as usize * self.levels + level];
        }
        match (self.first_zone[place.node as usize], place.zone) {
            (NONE, _) | (_, None) => NONE,
            (first, Some(zone)) => first + u32::from(zone),
        }
    }

    /// The domain of a node at a label level, or [`NONE`].
    pub fn of_node(&self, node: NodeId, level: usize) -> u32 {
        self.of_node[node as usize * self.levels + level]
    }

    /// The domains of a node, widest first, without zones.
    pub fn path(&self, node: NodeId) -> impl Iterator<Item = u32> {
        let start = node as usize * self.levels;
        self.of_node[start..start + self.levels].iter().copied().take_while(|domain| *domain != NONE)
    }

    /// Whether a place lies in a domain.
    pub fn holds(&self, domain: u32, place: Place) -> bool {
        self.at(place, usize::from(self.level[domain as usize])) == domain
    }

    /// The nodes of a domain, ascending.
    pub fn nodes(&self, domain: u32) -> &[NodeId] {
        &self.nodes[self.node_start[domain as usize] as usize..self.node_start[domain as usize + 1] as usize]
    }

    /// The zone that a zone domain is.
    pub fn place(&self, domain: u32) -> Place {
        Place { node: self.sample[domain as usize], zone: Some(self.zone[domain as usize]) }
    }

    pub fn is_zone(&self, domain: u32) -> bool {
        self.zone_level == Some(usize::from(self.level[domain as usize]))
    }

    /// Nodes in a domain, or anywhere, that do not take part at a level.
    pub fn outside(&self, domain: Option<u32>, level: usize) -> impl Iterator<Item = NodeId> {
        let (end_level, zone_level) = (level, self.zone_level);
        self.partial.iter().filter_map(move |(end, node)| {
            let end = end.wrapping_sub(1);
            let inside = match (domain, end) {
                (None, _) => true,
                (Some(_), NONE) => false,
                (Some(domain), end) => {
                    let at = usize::from(self.level[domain as usize]);
                    usize::from(self.level[end as usize]) >= at && self.up(end, at) == domain
                }
            };
            let depth = if end == NONE { 0 } else { usize::from(self.level[end as usize]) + 1 };
            let takes_part = depth > end_level && Some(end_level) != zone_level;
            (inside && !takes_part).then_some(*node)
        })
    }

    /// Whether every node takes part at every level.
    pub fn is_complete(&self) -> bool {
        self.partial.is_empty()
    }

    /// Whether the domains of a level are the nodes themselves, each in one of its own.
    fn is_host_level(&self, level: usize) -> bool {
        Some(level + 1) == Some(self.zone_level.unwrap_or(self.levels))
            && self.range(level).all(|domain| self.nodes(domain).len() == 1)
    }

    pub fn is_host(&self, domain: u32) -> bool {
        self.is_host_level(usize::from(self.level[domain as usize]))
    }

    /// Whether the level below a domain is that of hosts.
    pub fn has_hosts(&self, domain: u32) -> bool {
        let below = usize::from(self.level[domain as usize]) + 1;
        below < self.zone_level.unwrap_or(self.levels) && self.is_host_level(below)
    }

    /// The values of a domain's path, widest first.
    pub fn values<'a>(&self, cluster: &'a Cluster, topology: usize, domain: u32) -> Vec<&'a str> {
        let node = &cluster.nodes[self.sample[domain as usize] as usize];
        let level = usize::from(self.level[domain as usize]);
        let labels = if self.is_zone(domain) { level } else { level + 1 };
        let mut values: Vec<&str> = node.paths[topology].iter().take(labels).map(String::as_str).collect();
        if self.is_zone(domain) {
            values.push(&node.zones[usize::from(self.zone[domain as usize])].name);
        }
        values
    }
}

/// An index as it is stored.
pub(crate) fn index(value: usize) -> u32 {
    u32::try_from(value).expect("fewer than 2^32 nodes and domains")
}
