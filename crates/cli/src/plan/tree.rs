//! The cluster as a tree of domains, with what is taken in each and by whom.

use super::names::index;
use super::report;
use super::text::Natural;
use std::collections::BTreeMap;
use trellis_api::names::label::HOSTNAME;
use trellis_engine::{Cluster, Gang, Plan};
use trellis_lower::problem::tokens::is_token;

/// Clusters up to this size are shown node by node.
const FEW_NODES: usize = 12;

/// What is taken of one resource, by node.
pub struct Usage<'a> {
    pub cluster: &'a Cluster,
    /// Which resource.
    pub resource: usize,
    nodes: Vec<Taken>,
}

/// What is taken, and by whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    pub total: i64,
    /// By pods that run.
    pub before: i64,
    /// By pods that are placed now.
    pub now: i64,
    /// Pods there by gang.
    pub gangs: BTreeMap<usize, u64>,
    /// Pods there that are of no gang and take of the resource.
    pub others: u64,
}

impl Taken {
    pub fn free(&self) -> i64 {
        (self.total - self.before - self.now).max(0)
    }

    /// Whether nobody has anything there.
    pub fn is_free(&self) -> bool {
        self.before == 0 && self.now == 0 && self.gangs.is_empty()
    }

    pub fn add(&mut self, other: &Self) {
        self.total += other.total;
        self.before += other.before;
        self.now += other.now;
        self.others += other.others;
        for (gang, pods) in &other.gangs {
            *self.gangs.entry(*gang).or_default() += pods;
        }
    }
}

/// A domain, or a node.
#[derive(Debug)]
pub struct Branch {
    pub label: String,
    pub taken: Taken,
    pub children: Vec<Branch>,
}

impl Branch {
    /// Whether two look the same but for their names.
    pub fn is_like(&self, other: &Self) -> bool {
        self.taken == other.taken
            && self.children.len() == other.children.len()
            && self.children.iter().zip(&other.children).all(|(a, b)| a.is_like(b))
    }
}

impl<'a> Usage<'a> {
    pub fn new(cluster: &'a Cluster, gangs: &[Gang], plan: &Plan) -> Option<Self> {
        let resource = resource(cluster, gangs)?;
        let taken = |node: &trellis_engine::Node| Taken { total: node.allocatable[resource], ..Taken::default() };
        let mut nodes: Vec<Taken> = cluster.nodes.iter().map(taken).collect();
        for occupant in cluster.occupants.iter().filter(|occupant| occupant.request[resource] > 0) {
            let node = &mut nodes[index(occupant.node)];
            node.before += occupant.request[resource];
            node.others += 1;
        }
        for (i, (gang, decision)) in gangs.iter().zip(&plan.decisions).enumerate() {
            for (pod, place) in gang.pods.iter().zip(report::places(gang, decision)) {
                let Some(place) = place else { continue };
                let node = &mut nodes[index(place.node)];
                *node.gangs.entry(i).or_default() += 1;
                let amount = if pod.bound.is_some() { &mut node.before } else { &mut node.now };
                *amount += pod.request[resource];
            }
        }
        Some(Self { cluster, resource, nodes })
    }

    /// All of it.
    pub fn sum(&self) -> Taken {
        self.sum_of(0..self.nodes.len())
    }

    fn sum_of(&self, nodes: impl Iterator<Item = usize>) -> Taken {
        nodes.fold(Taken::default(), |mut sum, node| {
            sum.add(&self.nodes[node]);
            sum
        })
    }

    /// The domains of a topology down to the last one that is wider than a host. Hosts are shown where there are few, or
    /// where a gang requires `narrowest`, a host or what is inside one.
    /// Of the topologies `shown`, a node is in the trees of those that it takes part in most.
    pub fn tree(&self, topology: Option<usize>, narrowest: Option<usize>, shown: &[usize]) -> Vec<Branch> {
        let levels = topology.map_or(0, |topology| {
            let levels = self.cluster.topologies[topology].levels.iter();
            levels.take_while(|level| !level.is_zone && level.key != HOSTNAME).count()
        });
        let with_nodes =
            self.nodes.len() <= FEW_NODES || levels == 0 || narrowest.is_some_and(|narrowest| narrowest >= levels);
        let missing = |node: usize, topology: usize| {
            let labels = self.cluster.topologies[topology].levels.iter().filter(|level| !level.is_zone).count();
            labels - self.cluster.nodes[node].paths[topology].len()
        };
        let is_here = |node: &usize| {
            let least = shown.iter().map(|topology| missing(*node, *topology)).min().unwrap_or(0);
            let mut best = shown.iter().filter(|topology| missing(*node, **topology) == least);
            // One that takes part fully is in every such tree, any other in one.
            topology.is_none()
                || best.by_ref().take(if least == 0 { shown.len() } else { 1 }).any(|it| Some(*it) == topology)
        };
        let nodes: Vec<usize> = (0..self.nodes.len()).filter(is_here).collect();
        Grow { usage: self, topology: topology.unwrap_or(0), levels, with_nodes }.domains(&nodes, 0)
    }
}

struct Grow<'a> {
    usage: &'a Usage<'a>,
    topology: usize,
    levels: usize,
    with_nodes: bool,
}

impl Grow<'_> {
    fn domains(&self, nodes: &[usize], level: usize) -> Vec<Branch> {
        if level == self.levels {
            return self.nodes(nodes);
        }
        let mut by_value: BTreeMap<Natural<'_>, Vec<usize>> = BTreeMap::new();
        let mut outside = Vec::new();
        for &node in nodes {
            match self.usage.cluster.nodes[node].paths[self.topology].get(level) {
                Some(value) => by_value.entry(Natural::of(value)).or_default().push(node),
                None => outside.push(node),
            }
        }
        let branch = |(value, nodes): (Natural<'_>, Vec<usize>)| Branch {
            label: value.text.to_owned(),
            taken: self.usage.sum_of(nodes.iter().copied()),
            children: self.domains(&nodes, level + 1),
        };
        let mut branches: Vec<Branch> = by_value.into_iter().map(branch).collect();
        if !outside.is_empty() {
            branches.push(Branch {
                label: format!("(no {})", self.usage.cluster.topologies[self.topology].levels[level].name),
                taken: self.usage.sum_of(outside.iter().copied()),
                children: self.nodes(&outside),
            });
        }
        branches
    }

    fn nodes(&self, nodes: &[usize]) -> Vec<Branch> {
        if !self.with_nodes {
            return Vec::new();
        }
        let name = |node: usize| self.usage.cluster.nodes[node].name.as_str();
        let mut nodes = nodes.to_vec();
        nodes.sort_by_cached_key(|node| Natural::of(name(*node)));
        let leaf = |node: usize| Branch {
            label: name(node).to_owned(),
            taken: self.usage.nodes[node].clone(),
            children: Vec::new(),
        };
        nodes.into_iter().map(leaf).collect()
    }
}

/// The resource that tells most: a device that gangs ask for, or else what they ask the largest share of.
fn resource(cluster: &Cluster, gangs: &[Gang]) -> Option<usize> {
    let total = |resource: usize| cluster.nodes.iter().map(|node| i128::from(node.allocatable[resource])).sum::<i128>();
    let asked = |resource: usize| {
        gangs.iter().flat_map(|gang| &gang.pods).map(|pod| i128::from(pod.request[resource])).sum::<i128>()
    };
    let rank = |resource: usize| {
        let (total, asked) = (total(resource), asked(resource));
        let share = asked * 1_000_000 / total.max(1);
        let name = cluster.resources[resource].as_str();
        (total > 0 && !is_token(name), asked > 0, name.contains('/'), name.ends_with("gpu"), name != "pods", share)
    };
    (0..cluster.resources.len()).max_by_key(|resource| (rank(*resource), std::cmp::Reverse(*resource)))
}
