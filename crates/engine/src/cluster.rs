//! The cluster as plain data: nodes with resources and topology paths, and what already runs there.

use fixedbitset::FixedBitSet;
use serde::Serialize;
use std::sync::Arc;

/// Index of a node in [`Cluster::nodes`].
pub type NodeId = u32;

/// Everything the engine knows of a cluster. Resource vectors are as long as `resources`; amounts are whole numbers of
/// the resource's base unit (thousandths of a CPU, bytes, devices), never negative.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cluster {
    /// Names of the resources, sorted. `pods` is a resource like any other: every pod asks for one.
    pub resources: Vec<String>,
    /// The topologies, sorted by name.
    pub topologies: Vec<Topology>,
    /// The nodes, sorted by name, each name once.
    pub nodes: Vec<Node>,
    /// The kinds of pods by where they may run; pods refer to them by index.
    pub eligibility: Vec<Eligibility>,
    /// Pods that run here and belong to no gang of the problem. Pods of gangs are told by the gangs.
    pub occupants: Vec<Occupant>,
}

/// Levels, widest first. A domain of a level is a path of values from the widest level down to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// Name of the topology.
    pub name: String,
    /// Its levels, widest first.
    pub levels: Vec<Level>,
}

/// The domains of a topology are numbered from 0 by level (widest first), then by path (compared value by value), then,
/// for zones, by node and zone: zones of different nodes are different domains, whatever they are called. A node takes
/// part at a level if its path reaches that far; at a zone level, if its path has all levels above it and it has zones.
///
/// A level of a topology.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Level {
    /// What people call it: domain name, alias, or the key.
    pub name: String,
    /// Node label key.
    pub key: String,
    /// Whether its domains are the zones inside a node instead of label values. Only the last level of a topology.
    pub is_zone: bool,
}

/// A node. One that is unfit for a kind of pods (cordoned, tainted, not selected) is left out of its [`Eligibility`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Name of the node.
    pub name: String,
    /// What it offers in all.
    pub allocatable: Vec<i64>,
    /// For each topology the values of its levels, widest first, up to the first label that the node lacks.
    pub paths: Vec<Vec<String>>,
    /// Zones inside the node (NUMA), sorted by name; empty if nothing is known of them.
    pub zones: Vec<Zone>,
}

/// A zone inside a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Zone {
    /// Name of the zone.
    pub name: String,
    /// What is still free in it (pods that run have been taken off); `None` for resources that zones do not divide.
    pub available: Vec<Option<i64>>,
}

/// Where pods of one kind may run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Eligibility {
    /// Nodes they may run on now, by index.
    pub allowed: FixedBitSet,
    /// Nodes that only a taint, a cordon or a missing readiness closes to them; disjoint from `allowed`.
    pub barred: FixedBitSet,
    /// How much they would like to run on each node, by index; more is better. Empty if all are the same to them.
    pub weights: Vec<u32>,
}

impl Eligibility {
    /// How much pods of the kind would like to run on a node.
    pub fn weight(&self, node: NodeId) -> u64 {
        self.weights.get(node as usize).copied().map_or(0, u64::from)
    }
}

/// A pod that takes up room and is no member of any gang.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Occupant {
    /// Namespace of the pod.
    pub namespace: String,
    /// Name of the pod.
    pub name: String,
    /// Where it runs.
    pub node: NodeId,
    /// What it takes.
    pub request: Arc<[i64]>,
}

/// Where a pod stands: a node, and a zone inside it for pods packed by zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Place {
    /// Index of the node.
    pub node: NodeId,
    /// Index of the zone in the node's list.
    pub zone: Option<u16>,
}
