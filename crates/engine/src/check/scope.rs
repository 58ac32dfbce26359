//! Scopes: which places are inside all domains that a group is confined to.

use super::case::{Anchor, Case, Context};
use super::domains::Dom;
use super::ground::Mode;
use crate::cluster::{NodeId, Place};
use crate::gang::GroupId;

/// The places inside all of some domains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Scope {
    /// Sorted, each once.
    domains: Vec<Dom>,
    /// The one zone, if any of the domains is a zone.
    zone: Option<Place>,
    /// Whether it is known to be empty.
    nowhere: bool,
}

impl Case<'_> {
    /// The scope of a group; of the gang if there is none.
    pub(super) fn scope(&self, context: &Context, group: Option<GroupId>) -> Scope {
        let mut scope = Scope { nowhere: self.anchor == Anchor::Nowhere, ..Scope::default() };
        if let Anchor::In(dom) = self.anchor {
            scope.domains.push(dom);
        }
        let groups = group.into_iter().flat_map(|group| self.gang.ancestry(group));
        scope.domains.extend(groups.filter_map(|group| context.confined[group]));
        scope.domains.sort_unstable();
        scope.domains.dedup();
        for dom in &scope.domains {
            let domain = self.index.domain(*dom);
            let Some(zone) = domain.zone else { continue };
            let place = Place { node: domain.nodes[0], zone: Some(zone) };
            scope.nowhere |= *scope.zone.get_or_insert(place) != place;
        }
        scope
    }

    /// The part of a scope that is inside a domain too.
    pub(super) fn cut(&self, scope: &Scope, dom: Dom) -> Scope {
        let mut scope = scope.clone();
        let domain = self.index.domain(dom);
        if let Some(zone) = domain.zone {
            let place = Place { node: domain.nodes[0], zone: Some(zone) };
            scope.nowhere |= *scope.zone.get_or_insert(place) != place;
        }
        scope.domains.push(dom);
        scope.domains.sort_unstable();
        scope.domains.dedup();
        scope
    }

    /// Calls back with each node that has a place in the scope.
    pub(super) fn each_node(&self, scope: &Scope, mut call: impl FnMut(NodeId)) {
        if scope.nowhere {
            return;
        }
        let smallest = scope.domains.iter().min_by_key(|dom| self.index.domain(**dom).nodes.len());
        let Some(smallest) = smallest else {
            let count = self.ground.cluster.nodes.len();
            return (0..).take(count).for_each(call);
        };
        for node in &self.index.domain(*smallest).nodes {
            if self.covers(scope, *node) {
                call(*node);
            }
        }
    }

    /// Whether a node has a place in the scope.
    pub(super) fn covers(&self, scope: &Scope, node: NodeId) -> bool {
        !scope.nowhere && scope.domains.iter().all(|dom| self.index.holds(*dom, node))
    }

    /// Calls back with each place of a node, known to be in the scope, where pods may stand that are packed in this way.
    pub(super) fn each_place_on(&self, scope: &Scope, mode: Mode, node: NodeId, mut call: impl FnMut(Place)) {
        let count = self.ground.cluster.nodes[node as usize].zones.len();
        let whole = match mode {
            Mode::Node => true,
            Mode::ZoneIfAny => count == 0,
            Mode::Zone => false,
        };
        if whole {
            // A pod without a zone is in no domain of zones.
            if scope.zone.is_none() {
                call(Place { node, zone: None });
            }
            return;
        }
        let places = (0..).take(count).map(|zone| Place { node, zone: Some(zone) });
        places.filter(|place| scope.zone.is_none_or(|only| only == *place)).for_each(call);
    }

    /// Calls back with each place in the scope where pods may stand that are packed in this way.
    pub(super) fn each_place(&self, scope: &Scope, mode: Mode, mut call: impl FnMut(Place)) {
        self.each_node(scope, |node| self.each_place_on(scope, mode, node, &mut call));
    }

    /// The domains of a level that share a place with a scope, sorted.
    pub(super) fn sharing(&self, scope: &Scope, topology: usize, level: usize) -> Vec<usize> {
        let Some(tree) = self.index.trees.get(topology) else { return Vec::new() };
        if scope.domains.is_empty() && !scope.nowhere {
            return tree.of_level(level).collect();
        }
        let mut found = Vec::new();
        if super::domains::is_zone(self.ground.cluster, topology, level) {
            self.each_place(scope, Mode::Zone, |place| found.extend(tree.at(level, place)));
        } else {
            self.each_node(scope, |node| found.extend(tree.at(level, Place { node, zone: None })));
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}
