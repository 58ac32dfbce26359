//! A part of a cluster with some changes, small enough to try a change on.

use crate::cluster::{Cluster, Eligibility, Node, NodeId};
use crate::gang::Gang;
use crate::snapshot::Snapshot;
use fixedbitset::FixedBitSet;
use std::sync::Arc;

/// Some nodes of a cluster with what is free on them now, to be changed and tried.
pub(super) struct Part<'a> {
    snapshot: &'a Snapshot,
    nodes: Vec<(Node, Origin)>,
}

#[derive(Clone, Copy)]
struct Origin {
    node: NodeId,
    /// Whether it is a new node like that one, not the node itself.
    is_new: bool,
    /// Whether taints and cordons are looked past.
    is_open: bool,
}

impl<'a> Part<'a> {
    /// The nodes as they are, with what is free.
    pub fn of(snapshot: &'a Snapshot, nodes: impl IntoIterator<Item = NodeId>) -> Self {
        let width = snapshot.width;
        let nodes = nodes.into_iter().filter(|node| !snapshot.closed[*node as usize]);
        let nodes = nodes.map(|node| {
            let mut it = snapshot.cluster.nodes[node as usize].clone();
            let at = node as usize * width;
            it.allocatable = snapshot.free[at..at + width].to_vec();
            for (zone, place) in it.zones.iter_mut().zip(0..) {
                let place = crate::cluster::Place { node, zone: Some(place) };
                let free = snapshot.free_in_zone(place);
                zone.available = free.iter().map(|free| (*free != i64::MAX).then_some(*free)).collect();
            }
            (it, Origin { node, is_new: false, is_open: false })
        });
        Self { snapshot, nodes: nodes.collect() }
    }

    /// Adds free nodes like an existing one, at the end of a path in one topology, each a host of its own if the level
    /// below is that of hosts.
    pub fn add(&mut self, like: NodeId, topology: usize, (path, is_host_below): (&[&str], bool), count: usize) {
        for number in 0..count {
            let mut node = self.snapshot.cluster.nodes[like as usize].clone();
            // Behind all others, so that the order of names does not change.
            node.name = format!("\u{10ffff}{number}");
            for (at, own) in node.paths.iter_mut().enumerate() {
                own.clear();
                if at == topology {
                    own.extend(path.iter().map(|value| (*value).to_owned()));
                    own.extend(is_host_below.then(|| node.name.clone()));
                }
            }
            self.nodes.push((node, Origin { node: like, is_new: true, is_open: true }));
        }
    }

    /// Gives a node the labels of a path in one topology.
    pub fn label(&mut self, node: NodeId, topology: usize, path: &[&str]) {
        if let Some((it, _)) = self.nodes.iter_mut().find(|(_, origin)| origin.node == node && !origin.is_new) {
            it.paths[topology] = path.iter().map(|value| (*value).to_owned()).collect();
        }
    }

    /// Looks past taints and cordons of a node.
    pub fn open(&mut self, node: NodeId, is_open: bool) {
        if let Some((_, origin)) = self.nodes.iter_mut().find(|(_, origin)| origin.node == node && !origin.is_new) {
            origin.is_open = is_open;
        }
    }

    /// The index of a node in this part.
    fn find(&self, node: NodeId) -> Option<NodeId> {
        let at = self.nodes.iter().position(|(_, origin)| origin.node == node && !origin.is_new);
        at.map(crate::domains::index)
    }

    /// The part as a cluster of its own, and the gang with its bound pods and holds on it. None if these are elsewhere.
    pub fn problem(&self, gang: &Gang) -> Option<(Snapshot, Gang)> {
        let cluster = &self.snapshot.cluster;
        let eligibility = cluster.eligibility.iter().map(|known| {
            let mut allowed = FixedBitSet::with_capacity(self.nodes.len());
            for (at, (_, origin)) in self.nodes.iter().enumerate() {
                let node = origin.node as usize;
                let is_allowed = known.allowed.contains(node) || (origin.is_open && known.barred.contains(node));
                allowed.set(at, is_allowed);
            }
            // What pods would like does not decide whether they fit.
            Eligibility { allowed, barred: FixedBitSet::with_capacity(self.nodes.len()), weights: Vec::new() }
        });
        let part = Cluster {
            resources: cluster.resources.clone(),
            topologies: cluster.topologies.clone(),
            nodes: self.nodes.iter().map(|(node, _)| node.clone()).collect(),
            eligibility: eligibility.collect(),
            occupants: Vec::new(),
        };
        let mut gang = gang.clone();
        for pod in &mut gang.pods {
            if let Some(place) = &mut pod.bound {
                place.node = self.find(place.node)?;
            }
        }
        for hold in &mut gang.holds {
            hold.place.node = self.find(hold.place.node)?;
        }
        Some((Snapshot::new(Arc::new(part)), gang))
    }
}
