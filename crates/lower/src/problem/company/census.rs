//! Who is where: which nodes what is placed closes to a class of pods.
//!
//! Pods on their way out are still there for those who must keep apart, and gone for those who want to be near.

use super::super::amounts::index;
use super::super::eligibility::Columns;
use super::super::nodes::Nodes;
use super::super::pods::{Pods, State};
use super::{Class, Company, TermId};
use fixedbitset::FixedBitSet;
use std::collections::HashMap;

/// How many pods, by term and by the number of the domain.
type Counts = HashMap<(TermId, u32), u32>;

/// The pods that have a place, counted by domain.
#[derive(Debug, Default)]
pub(in super::super) struct Census {
    /// For each term the column of nodes that its domains are in.
    columns: Vec<usize>,
    /// Pods that a term means.
    meant: Counts,
    /// Pods that have a term themselves, to keep apart.
    having: Counts,
    /// Pods that are both, where hosts take one of them.
    alone: Counts,
    /// Pods that all terms of a list mean, by list, term and domain.
    near: HashMap<(usize, TermId, u32), u32>,
    /// The same in all.
    pub near_in_all: Vec<u32>,
}

impl Census {
    pub fn new(company: &Company<'_>, pods: &Pods<'_>, nodes: &Nodes, columns: &Columns<'_>) -> Self {
        let column = |key: &str| columns.column(key).unwrap_or(usize::MAX);
        let mut census = Self {
            columns: company.terms.iter().map(|term| column(term.key)).collect(),
            near_in_all: vec![0; company.nears.len()],
            ..Self::default()
        };
        for (pod, class) in pods.list.iter().zip(&company.of_pod).filter(|(_, class)| **class > 0) {
            let (node, is_leaving) = match pod.state {
                State::Bound(node) => (node, false),
                State::Leaving(node) => (node, true),
                _ => continue,
            };
            if let Ok(at) = nodes.list.binary_search_by(|record| record.name.as_str().cmp(node)) {
                let values = &nodes.list[at].values;
                census.count(company, &company.classes[index(*class)], values, is_leaving);
            }
        }
        census
    }

    fn count(&mut self, company: &Company<'_>, class: &Class, values: &[u32], is_leaving: bool) {
        for &term in &class.meant {
            *self.meant.entry((term, values[self.columns[term]])).or_default() += 1;
            if company.is_token[term] && class.is_alone(term) {
                *self.alone.entry((term, values[self.columns[term]])).or_default() += 1;
            }
        }
        for &term in &class.apart {
            *self.having.entry((term, values[self.columns[term]])).or_default() += 1;
        }
        for &list in class.sought.iter().filter(|_| !is_leaving) {
            let terms = &company.nears[list];
            terms
                .iter()
                .for_each(|term| *self.near.entry((list, *term, values[self.columns[*term]])).or_default() += 1);
            self.near_in_all[list] += u32::from(terms.iter().any(|term| values[self.columns[*term]] > 0));
        }
    }

    /// The nodes that are closed to pods of a class. One that is counted itself, on a node with these values, is left out of the count.
    pub fn closed(&self, company: &Company<'_>, class: u32, own: Option<&[u32]>, nodes: &Nodes) -> FixedBitSet {
        let class = &company.classes[index(class)];
        let mut closed = FixedBitSet::with_capacity(nodes.list.len());
        for (at, node) in nodes.list.iter().enumerate() {
            closed.set(at, self.is_closed(company, class, own, &node.values));
        }
        closed
    }

    fn is_closed(&self, company: &Company<'_>, class: &Class, own: Option<&[u32]>, values: &[u32]) -> bool {
        let here = |term: TermId| values[self.columns[term]];
        let is_own = |term: TermId| own.is_some_and(|own| own[self.columns[term]] == here(term));
        // Others in the domain that have the term, or that it means; those who ask for the same token are the engine's to count.
        let others = |counts: &Counts, term: TermId, counts_itself: bool| {
            let get = |counts: &Counts| counts.get(&(term, here(term))).copied().unwrap_or(0);
            let is_counted = company.is_token[term] && class.is_alone(term);
            let (all, alone) = (get(counts), if is_counted { get(&self.alone) } else { 0 });
            // Itself it is among both or among the first only.
            let itself = u32::from(counts_itself && is_own(term) && !is_counted);
            here(term) > 0 && all.saturating_sub(alone + itself) > 0
        };
        let is_apart = |term: &TermId| others(&self.meant, *term, class.is_meant(*term));
        let is_avoided = |term: &TermId| others(&self.having, *term, class.apart.contains(term));
        class.apart.iter().any(is_apart)
            || class.meant.iter().any(is_avoided)
            || class.near.is_some_and(|list| !self.is_near(company, class, list, own, values))
    }

    /// Whether a node is near those that pods of a class seek: in a domain of each term with somebody whom all terms mean. Where there is
    /// nobody yet, the first of those who seek themselves may go to any domain.
    fn is_near(&self, company: &Company<'_>, class: &Class, list: usize, own: Option<&[u32]>, values: &[u32]) -> bool {
        let terms = &company.nears[list];
        let seeks_itself = class.sought.binary_search(&list).is_ok();
        let is_counted = |own: &[u32]| seeks_itself && terms.iter().any(|term| own[self.columns[*term]] > 0);
        let is_first = self.near_in_all[list] == u32::from(own.is_some_and(is_counted));
        terms.iter().all(|term| {
            let here = values[self.columns[*term]];
            let itself = seeks_itself && own.is_some_and(|own| own[self.columns[*term]] == here);
            let there = self.near.get(&(list, *term, here)).copied().unwrap_or(0);
            here > 0 && (there > u32::from(itself) || is_first && seeks_itself)
        })
    }
}
