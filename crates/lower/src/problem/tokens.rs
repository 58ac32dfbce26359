//! What a host has once and no list of resources names: a port, or the right to be the only pod of its kind there. Each is a resource of
//! its own, so that nobody gets it twice: not within a gang, not among the gangs of one decision, and not while it is held for a pod that
//! comes back. Only what pods that look for a place ask for is counted; the rest decides nothing.

use super::amounts::{Amounts, index};
use super::nodes::Nodes;
use super::pods::Pods;
use std::collections::HashMap;

/// Beginnings of their names. Resources of Kubernetes have no spaces, so that none is called like this.
const PORT: &str = "host port ";
const ALONE: &str = "one per host: ";

/// What a node without a host name offers of the right to be alone: nobody can share a host with anybody there.
const MANY: i64 = 1 << 20;

/// Whether a resource is such a thing, and not one that nodes report.
pub fn is_token(resource: &str) -> bool {
    resource.starts_with(PORT) || resource.starts_with(ALONE)
}

/// A port, with its protocol and perhaps its address.
pub(super) fn port(text: &str) -> String {
    format!("{PORT}{text}")
}

/// The right to be the only pod of those that a term means.
pub(super) fn alone(term: &str) -> String {
    format!("{ALONE}{term}")
}

/// Charges pods, by their place in the list, for what they take.
pub(super) fn charge(pods: &mut Pods<'_>, amounts: &mut Amounts, taken: impl Iterator<Item = (usize, Vec<String>)>) {
    for (pod, names) in taken.filter(|(_, names)| !names.is_empty()) {
        let pod = &mut pods.list[pod];
        pod.request = amounts.with_one_of_each(pod.request, &names);
    }
}

/// What nodes offer of these.
#[derive(Debug, Default)]
pub(super) struct Offers {
    /// Resources, by their place: ports, and rights to be alone.
    ports: Vec<usize>,
    alone: Vec<usize>,
    /// How many nodes are called so, by the number of the name in its column.
    called: HashMap<u32, usize>,
    column: Option<usize>,
}

impl Offers {
    pub fn of(resources: &[String], nodes: &Nodes, hostnames: Option<usize>) -> Self {
        let begins = |with: &str| (0..resources.len()).filter(|at| resources[*at].starts_with(with)).collect();
        let mut called = HashMap::new();
        if let Some(column) = hostnames {
            nodes.list.iter().for_each(|node| *called.entry(node.values[column]).or_default() += 1);
        }
        Self { ports: begins(PORT), alone: begins(ALONE), called, column: hostnames }
    }

    /// Adds to what a node offers. Of nodes that share a host name none is offered to those who must be alone on their host: which of
    /// them are one host is not for us to say.
    pub fn add(&self, values: &[u32], allocatable: &mut [i64]) {
        self.ports.iter().for_each(|port| allocatable[*port] = 1);
        let name = self.column.map_or(0, |column| values[column]);
        let rights = match (index(name), self.called.get(&name)) {
            (0, _) => MANY,
            (_, Some(1)) => 1,
            _ => 0,
        };
        self.alone.iter().for_each(|alone| allocatable[*alone] = rights);
    }
}
