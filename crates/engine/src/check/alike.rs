//! Which candidates of a split stand for others: those that some exchange of equal parts of the cluster turns into them.
//!
//! Two domains next to each other (with the same domain above) may be exchanged if all that is in them is equal, part by
//! part: the tree below, and for each node what is free, which of the gang's pods may go there, which run or have holds there, where it
//! is in other topologies, and which confined domains it is in. Such an exchange turns a placement into a placement, so
//! what is refuted in one is refuted in the other.

use super::case::{Anchor, Case, Context};
use super::domains::Dom;
use super::ground::Mode;
use crate::cluster::NodeId;
use crate::gang::GroupId;
use rustc_hash::{FxHashMap, FxHashSet};

/// What makes a part of the cluster equal to another. Parts inside are given by their class.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Part {
    Zone {
        free: Vec<Option<i64>>,
        bound: Vec<GroupId>,
        marks: Vec<Dom>,
    },
    Node {
        free: Vec<i64>,
        open: Vec<bool>,
        bound: Vec<GroupId>,
        elsewhere: Vec<Option<usize>>,
        marks: Vec<Dom>,
        zones: Vec<u32>,
    },
    Domain {
        inner: Vec<u32>,
        nodes: Vec<u32>,
    },
}

/// Classes that have been given out in the check of one proof.
#[derive(Default)]
pub(super) struct Memo {
    classes: FxHashMap<Part, u32>,
    /// Classes of nodes and domains without marks, which are the same in every context. By topology.
    nodes: FxHashMap<(usize, NodeId), u32>,
    domains: FxHashMap<Dom, u32>,
    facts: Option<Facts>,
}

/// What of the gang the classes look at.
struct Facts {
    /// Resources that waiting pods ask for.
    resources: Vec<usize>,
    /// Eligibilities of waiting pods.
    eligibility: Vec<usize>,
    /// Topologies of required levels.
    topologies: Vec<usize>,
    /// Whether zones matter to any of its pods.
    zones: bool,
    /// Bound pods and holds by node: leaf and zone.
    bound: FxHashMap<NodeId, Vec<(GroupId, Option<u16>)>>,
}

/// Confined domains, as far as they tell candidates apart.
#[derive(Default)]
struct Marks {
    nodes: FxHashMap<NodeId, Vec<Dom>>,
    zones: FxHashMap<(NodeId, u16), Vec<Dom>>,
    /// Nodes and domains that have a mark inside.
    touched_nodes: FxHashSet<NodeId>,
    touched: FxHashSet<usize>,
}

/// A part on the way from the widest domain to a candidate.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Domain(usize),
    Node(NodeId),
    Zone(NodeId, u16),
}

impl Case<'_> {
    /// A candidate without a branch that no exchange turns into one with a branch. Both lists are sorted.
    pub(super) fn uncovered(
        &self,
        context: &Context,
        topology: usize,
        candidates: &[usize],
        refuted: &[usize],
    ) -> Option<usize> {
        let (with, without): (Vec<usize>, Vec<usize>) =
            candidates.iter().copied().partition(|candidate| refuted.binary_search(candidate).is_ok());
        let first = *without.first()?;
        if with.is_empty() {
            return Some(first);
        }
        // What all candidates are in is the same for all.
        let ways: Vec<Vec<Step>> = with.iter().chain(&without).map(|index| self.way(topology, *index)).collect();
        let common = |way: &Vec<Step>| way.iter().zip(&ways[0]).take_while(|(one, other)| one == other).count();
        let shared = ways.iter().map(common).min().unwrap_or(0);
        let inside = shared.checked_sub(1).map(|last| ways[0][last]);

        let mut memo = self.memo.borrow_mut();
        memo.facts.get_or_insert_with(|| self.facts());
        let marks = self.marks(context, topology, inside);
        let mut classes = |way: &Vec<Step>| -> Vec<u32> {
            let steps = way[shared..].iter();
            steps.map(|step| self.class(&mut memo, &marks, topology, *step)).collect()
        };
        let known: FxHashSet<Vec<u32>> = ways[..with.len()].iter().map(&mut classes).collect();
        let mut rest = without.iter().zip(&ways[with.len()..]);
        rest.find(|(_, way)| !known.contains(&classes(way))).map(|(index, _)| *index)
    }

    fn way(&self, topology: usize, index: usize) -> Vec<Step> {
        let tree = &self.index.trees[topology];
        let mut way: Vec<Step> = tree.ancestry(index).map(Step::Domain).collect();
        way.reverse();
        let domain = &tree.domains[index];
        if let Some(zone) = domain.zone {
            way.pop();
            way.extend([Step::Node(domain.nodes[0]), Step::Zone(domain.nodes[0], zone)]);
        }
        way
    }

    fn facts(&self) -> Facts {
        let kinds = || self.all_leaves().flat_map(|(_, leaf)| &leaf.kinds);
        let asked = |resource: &usize| kinds().any(|kind| kind.request.get(*resource).is_some_and(|ask| *ask > 0));
        let mut eligibility: Vec<usize> = kinds().map(|kind| kind.eligibility).collect();
        eligibility.sort_unstable();
        eligibility.dedup();
        let constraints = self.gang.groups.iter().filter_map(|group| group.constraint);
        let mut topologies: Vec<usize> =
            constraints.filter(|constraint| constraint.required.is_some()).map(|c| c.topology).collect();
        if let Anchor::In(dom) = self.anchor {
            topologies.push(dom.topology);
        }
        topologies.sort_unstable();
        topologies.dedup();
        topologies.retain(|topology| *topology < self.index.trees.len());
        let mut bound: FxHashMap<NodeId, Vec<(GroupId, Option<u16>)>> = FxHashMap::default();
        for pod in &self.gang.pods {
            if let Some(place) = pod.bound {
                bound.entry(place.node).or_default().push((pod.group, place.zone));
            }
        }
        for hold in &self.gang.holds {
            bound.entry(hold.place.node).or_default().push((hold.group, hold.place.zone));
        }
        Facts {
            resources: (0..self.ground.cluster.resources.len()).filter(asked).collect(),
            eligibility,
            topologies,
            zones: self.all_leaves().any(|(_, leaf)| leaf.mode != Mode::Node),
            bound,
        }
    }

    /// Marks for all confined domains that may tell parts inside `inside` apart. Domains of labels in other topologies
    /// need none: where a node is there is a part of its class anyway.
    fn marks(&self, context: &Context, topology: usize, inside: Option<Step>) -> Marks {
        let tree = &self.index.trees[topology];
        let mut marks = Marks::default();
        let mut doms: Vec<Dom> = context.confined.iter().copied().flatten().collect();
        if let Anchor::In(dom) = self.anchor {
            doms.push(dom);
        }
        doms.sort_unstable();
        doms.dedup();
        for dom in doms {
            let domain = self.index.domain(dom);
            if let Some(zone) = domain.zone {
                marks.zones.entry((domain.nodes[0], zone)).or_default().push(dom);
            } else if dom.topology == topology && is_within(tree.ancestry(dom.index).skip(1), inside) {
                for node in &domain.nodes {
                    marks.nodes.entry(*node).or_default().push(dom);
                }
            }
        }
        marks.touched_nodes = marks.nodes.keys().copied().chain(marks.zones.keys().map(|(node, _)| *node)).collect();
        let narrowest = marks.touched_nodes.iter().filter_map(|node| tree.narrowest(*node));
        marks.touched = narrowest.flat_map(|index| tree.ancestry(index)).collect();
        marks
    }

    fn class(&self, memo: &mut Memo, marks: &Marks, topology: usize, step: Step) -> u32 {
        match step {
            Step::Domain(index) => self.class_of_domain(memo, marks, Dom { topology, index }),
            Step::Node(node) => self.class_of_node(memo, marks, topology, node),
            Step::Zone(node, zone) => self.class_of_zone(memo, marks, node, zone),
        }
    }

    fn class_of_domain(&self, memo: &mut Memo, marks: &Marks, dom: Dom) -> u32 {
        let plain = !marks.touched.contains(&dom.index);
        if let Some(class) = memo.domains.get(&dom).filter(|_| plain) {
            return *class;
        }
        let domain = self.index.domain(dom);
        let inner = domain.children.iter().map(|index| self.class_of_domain(memo, marks, Dom { index: *index, ..dom }));
        let inner = sorted(inner.collect());
        let nodes = domain.stopping.iter().map(|node| self.class_of_node(memo, marks, dom.topology, *node));
        let nodes = sorted(nodes.collect());
        let class = memo.class(Part::Domain { inner, nodes });
        if plain {
            memo.domains.insert(dom, class);
        }
        class
    }

    fn class_of_node(&self, memo: &mut Memo, marks: &Marks, topology: usize, node: NodeId) -> u32 {
        let plain = !marks.touched_nodes.contains(&node);
        if let Some(class) = memo.nodes.get(&(topology, node)).filter(|_| plain) {
            return *class;
        }
        let Some(facts) = &memo.facts else { return 0 };
        let free = self.room.free(node);
        let others = facts.topologies.iter().filter(|other| **other != topology);
        let bound = facts.bound.get(&node).into_iter().flatten();
        let zones = if facts.zones { self.ground.cluster.nodes[node as usize].zones.len() } else { 0 };
        let mut part = Part::Node {
            free: facts.resources.iter().map(|resource| free[*resource]).collect(),
            open: facts.eligibility.iter().map(|kind| self.open(*kind, node)).collect(),
            bound: sorted(bound.filter(|(_, zone)| zones == 0 || zone.is_none()).map(|(leaf, _)| *leaf).collect()),
            elsewhere: others.map(|other| self.index.trees[*other].narrowest(node)).collect(),
            marks: marks.nodes.get(&node).cloned().unwrap_or_default(),
            zones: Vec::new(),
        };
        let inner = (0..).take(zones).map(|zone| self.class_of_zone(memo, marks, node, zone));
        let inner = sorted(inner.collect());
        if let Part::Node { zones, .. } = &mut part {
            *zones = inner;
        }
        let class = memo.class(part);
        if plain {
            memo.nodes.insert((topology, node), class);
        }
        class
    }

    fn class_of_zone(&self, memo: &mut Memo, marks: &Marks, node: NodeId, zone: u16) -> u32 {
        let Some(facts) = &memo.facts else { return 0 };
        let left = self.room.zone(node, zone);
        let bound = facts.bound.get(&node).into_iter().flatten();
        let part = Part::Zone {
            free: facts.resources.iter().map(|resource| left.get(*resource).copied().flatten()).collect(),
            bound: sorted(bound.filter(|(_, own)| *own == Some(zone)).map(|(leaf, _)| *leaf).collect()),
            marks: marks.zones.get(&(node, zone)).cloned().unwrap_or_default(),
        };
        memo.class(part)
    }
}

impl Memo {
    fn class(&mut self, part: Part) -> u32 {
        let next = u32::try_from(self.classes.len()).unwrap_or(u32::MAX);
        *self.classes.entry(part).or_insert(next)
    }
}

/// Whether something with these domains above is inside a part; everything is inside nothing in particular.
fn is_within(mut above: impl Iterator<Item = usize>, inside: Option<Step>) -> bool {
    match inside {
        None => true,
        Some(Step::Domain(index)) => above.any(|above| above == index),
        Some(Step::Node(_) | Step::Zone(..)) => false,
    }
}

fn sorted<T: Ord>(mut list: Vec<T>) -> Vec<T> {
    list.sort_unstable();
    list
}
