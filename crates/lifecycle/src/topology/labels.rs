//! The labels of nodes against the levels of a topology: who carries all, who only some, and which values do not nest.
//!
//! Zones inside a node (NUMA) are not labels of nodes, so that level is not looked for.

use super::{Finding, LISTED, NODES_LABELLED};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use trellis_api::Domain;
use trellis_api::kinds::{BrokenNesting, ClusterTopologySpec, PartiallyLabelledNode};

/// A node, as far as topologies look at it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeLabels {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: Arc<BTreeMap<String, String>>,
}

/// What the check found.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LabelCheck {
    /// Nodes that carry the labels of all levels.
    pub labelled: usize,
    /// Nodes that carry those of some only.
    pub partial: usize,
    /// The first of those, by name.
    pub first_partial: Vec<PartiallyLabelledNode>,
    /// Label values that stand under two wider values or more.
    pub broken: usize,
    /// The first of those, widest level first, by value.
    pub first_broken: Vec<BrokenNesting>,
}

impl LabelCheck {
    /// Looks at every node once.
    pub fn of(spec: &ClusterTopologySpec, nodes: &[NodeLabels]) -> Self {
        let levels = spec.sorted_levels().into_iter().filter(|level| level.domain != Domain::Numa);
        let keys: Vec<&str> = levels.map(|level| level.key.as_str()).collect();
        let mut labelled = 0;
        let mut partial = Vec::new();
        let mut nesting = Nesting::default();
        let mut values: Vec<Option<&str>> = Vec::with_capacity(keys.len());
        for node in nodes {
            values.clear();
            values.extend(keys.iter().map(|key| node.labels.get(*key).map(String::as_str)));
            match values.iter().flatten().count() {
                carried if carried == keys.len() => labelled += 1,
                0 => {}
                _ => partial.push(node),
            }
            nesting.add(&values);
        }
        partial.sort_by_key(|node| &node.name);
        let first = partial.iter().take(LISTED).map(|node| PartiallyLabelledNode {
            name: node.name.clone(),
            missing: keys.iter().filter(|key| !node.labels.contains_key(**key)).map(|&key| key.to_owned()).collect(),
        });
        let broken = nesting.broken.iter().take(LISTED).map(|((level, value), under)| BrokenNesting {
            key: keys[*level].to_owned(),
            value: (*value).to_owned(),
            under: under.iter().take(LISTED).map(|&wider| wider.to_owned()).collect(),
        });
        Self {
            labelled,
            first_partial: first.collect(),
            partial: partial.len(),
            first_broken: broken.collect(),
            broken: nesting.broken.len(),
        }
    }

    /// What the condition is to say. Nodes that carry some labels only are named and are no fault: they may belong to another topology
    /// that shares a label with this one.
    pub fn finding(&self) -> Finding {
        let finding = |status, reason, message, note| Finding { type_: NODES_LABELLED, status, reason, message, note };
        if let Some(first) = self.first_broken.first() {
            let more = if self.broken == 1 { String::new() } else { format!(", one of {} such values", self.broken) };
            let message = format!(
                "{} {:?} is found under more than one wider value{more}: {}; hint: each value of a level has to lie within one value \
                 of the level above it",
                first.key,
                first.value,
                first.under.join(", ")
            );
            let note = "label values of nodes do not nest; the status names them".to_owned();
            return finding("False", "NestingBroken", message, Some((true, "NestingBroken", note)));
        }
        let all = "labels of all levels";
        let nodes = |n: usize| if n == 1 { "1 node".to_owned() } else { format!("{n} nodes") };
        let lacking = self.first_partial.first().map(|node| {
            format!("{} some only, such as {}, which lacks {}", nodes(self.partial), node.name, node.missing.join(", "))
        });
        match (self.labelled, lacking) {
            (0, None) => finding("False", "NoNodesLabelled", format!("no node carries the {all}"), None),
            (0, Some(lacking)) => {
                finding("False", "NoNodesLabelled", format!("no node carries the {all}; {lacking}"), None)
            }
            (n, None) => finding("True", "NodesLabelled", format!("nodes with the {all}: {n}"), None),
            (n, Some(lacking)) => {
                finding("True", "SomeNodesLabelled", format!("nodes with the {all}: {n}; {lacking}"), None)
            }
        }
    }
}

/// Which value lies under which: the pairs of neighbouring levels that nodes carry both labels of.
#[derive(Default)]
struct Nesting<'a> {
    /// The first wider value that a level's value was found under.
    first: HashMap<(usize, &'a str), &'a str>,
    /// All of them, for values that were found under several.
    broken: BTreeMap<(usize, &'a str), BTreeSet<&'a str>>,
}

impl<'a> Nesting<'a> {
    fn add(&mut self, values: &[Option<&'a str>]) {
        for (above, pair) in values.windows(2).enumerate() {
            let [Some(wider), Some(value)] = pair else { continue };
            let place = (above + 1, *value);
            match self.first.entry(place) {
                Entry::Vacant(entry) => {
                    entry.insert(wider);
                }
                Entry::Occupied(entry) if entry.get() == wider => {}
                Entry::Occupied(entry) => {
                    let under = self.broken.entry(place).or_insert_with(|| BTreeSet::from([*entry.get()]));
                    under.insert(wider);
                }
            }
        }
    }
}
