//! Which pods are on which node, without looking into them.

use std::collections::{BTreeSet, HashMap};

use super::follow::News;
use crate::store::{Key, Object};

/// Pods by node. Pods without a node are not in it.
#[derive(Debug, Default)]
pub(super) struct Placed {
    nodes: HashMap<Box<str>, BTreeSet<Key>>,
}

/// The node of a pod; empty if it has none.
pub(super) fn node_of(pod: &Object) -> &str {
    pod.index.field("spec.nodeName")
}

impl Placed {
    /// Takes news about pods in.
    pub(super) fn learn(&mut self, news: &News) {
        match news {
            News::All(pods) => {
                self.nodes.clear();
                pods.iter().for_each(|(key, pod)| self.put(key, node_of(pod)));
            }
            News::Changes(changes) => {
                for change in changes {
                    let before = change.before.as_deref().map(node_of).unwrap_or_default();
                    let after = if change.deleted { "" } else { node_of(&change.after) };
                    if before != after {
                        self.take(&change.key, before);
                        self.put(&change.key, after);
                    }
                }
            }
        }
    }

    fn put(&mut self, key: &Key, node: &str) {
        if !node.is_empty() {
            self.nodes.entry(node.into()).or_default().insert(key.clone());
        }
    }

    fn take(&mut self, key: &Key, node: &str) {
        if let Some(pods) = self.nodes.get_mut(node) {
            pods.remove(key);
            if pods.is_empty() {
                self.nodes.remove(node);
            }
        }
    }

    /// The pods on a node.
    pub(super) fn on(&self, node: &str) -> impl Iterator<Item = &Key> {
        self.nodes.get(node).into_iter().flatten()
    }

    /// The nodes that have pods.
    pub(super) fn nodes(&self) -> impl Iterator<Item = &str> {
        self.nodes.keys().map(AsRef::as_ref)
    }
}
