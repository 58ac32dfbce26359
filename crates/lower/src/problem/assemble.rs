//! The last step: everything read, in the engine's terms.

use super::amounts::{Vectors, index, number};
use super::drafts::{Draft, Member};
use super::faults::Tally;
use super::membership::{Belongs, Membership};
use super::nodes::Record;
use super::pods::{Facts, Pods, State};
use super::tokens::Offers;
use super::zones::Zones;
use std::collections::HashMap;
use trellis_engine::{Gang, Node, NodeId, Occupant, Place, Pod, Zone};

/// Pods that are not where they seem to be.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Pods on nodes that are not there.
    pub lost: Tally,
    /// Pods in zones that their node does not have.
    pub no_zone: Tally,
}

/// The nodes, and where to find them by name.
pub(super) struct Placed {
    pub nodes: Vec<Node>,
    by_name: HashMap<String, NodeId>,
}

/// The nodes with all that is on them.
pub(super) fn nodes(list: Vec<Record>, zones: &Zones<'_>, vectors: &Vectors, tokens: &Offers) -> Placed {
    let mut placed = Placed { nodes: Vec::with_capacity(list.len()), by_name: HashMap::with_capacity(list.len()) };
    for record in list {
        let mut allocatable = vectors.get(record.offers).to_vec();
        tokens.add(&record.values, &mut allocatable);
        placed.by_name.insert(record.name.clone(), number(placed.nodes.len()));
        placed.nodes.push(Node {
            zones: zones.of(&record.name, &vectors.resources),
            name: record.name,
            allocatable,
            paths: record.paths,
        });
    }
    placed
}

/// Pods that take up room and are members of nothing.
pub(super) fn occupants(
    pods: &Pods<'_>,
    members: &Membership,
    placed: &Placed,
    vectors: &Vectors,
    notes: &mut Notes,
) -> Vec<Occupant> {
    let occupant = |(i, pod): (usize, &Facts<'_>)| {
        let node = match pod.state {
            State::Leaving(node) => node,
            State::Bound(node) if members.of(i) != Belongs::Somewhere => node,
            _ => return None,
        };
        Some(Occupant {
            node: placed.find(pod, node, notes)?,
            namespace: pod.namespace.to_owned(),
            name: pod.name.to_owned(),
            request: vectors.get(pod.request).clone(),
        })
    };
    pods.list.iter().enumerate().filter_map(occupant).collect()
}

/// The gangs with their members.
pub(super) fn gangs(
    drafts: Vec<Draft<'_>>,
    pods: &Pods<'_>,
    placed: &Placed,
    vectors: &Vectors,
    notes: &mut Notes,
) -> Vec<Gang> {
    let mut member = |member: Member| {
        let pod = &pods.list[index(member.pod)];
        let bound = match pod.state {
            State::Bound(node) => Some(placed.place(pod, node, notes)?),
            _ => None,
        };
        Some(Pod {
            name: pod.name.to_owned(),
            group: member.group,
            request: vectors.get(pod.request).clone(),
            eligibility: member.eligibility,
            bound,
        })
    };
    let gang = |draft: Draft<'_>| Gang {
        pods: draft.members.into_iter().filter_map(&mut member).collect(),
        coming: draft.coming.into_iter().filter_map(&mut member).collect(),
        ..draft.gang
    };
    drafts.into_iter().map(gang).collect()
}

impl Placed {
    fn find(&self, pod: &Facts<'_>, node: &str, notes: &mut Notes) -> Option<NodeId> {
        let found = self.by_name.get(node).copied();
        if found.is_none() {
            notes.lost.count(|| format!("{} on {node}", pod.title()));
        }
        found
    }

    fn place(&self, pod: &Facts<'_>, node: &str, notes: &mut Notes) -> Option<Place> {
        let id = self.find(pod, node, notes)?;
        let zone = pod.zone.and_then(|name| {
            let zones: &[Zone] = &self.nodes[index(id)].zones;
            let found = zones.binary_search_by(|zone| zone.name.as_str().cmp(name)).ok();
            if found.is_none() {
                notes.no_zone.count(|| format!("{} in {name} of {node}", pod.title()));
            }
            found.and_then(|zone| u16::try_from(zone).ok())
        });
        Some(Place { node: id, zone })
    }
}
