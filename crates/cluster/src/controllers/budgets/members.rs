//! Which pods fall under which budget, and what matters of them.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::super::objects;
use crate::api::Api;
use crate::selector::Labels;
use crate::store::{Key, Object, Shelf};
use crate::verbs::metadata::is_deleting;

/// What matters of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) ready: bool,
    pub(super) going: bool,
    pub(super) controller: Option<Controller>,
}

/// Who made a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Controller {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) uid: String,
}

/// The budgets of every namespace that has any.
#[derive(Debug, Default)]
pub(super) struct Members {
    namespaces: HashMap<String, BTreeMap<String, Budget>>,
}

#[derive(Debug)]
struct Budget {
    /// The selector as it was written, to see when it changes.
    written: Value,
    selector: Labels,
    pods: BTreeMap<String, Member>,
}

impl Members {
    /// The pods of a budget.
    pub(super) fn of(&self, key: &Key) -> impl Iterator<Item = (&String, &Member)> {
        let budget = self.namespaces.get(&key.namespace).and_then(|budgets| budgets.get(&key.name));
        budget.into_iter().flat_map(|budget| &budget.pods)
    }

    /// Takes in a budget that is new, changed or gone.
    pub(super) fn learn_budget(&mut self, api: &Api, key: &Key, budget: Option<&Object>) {
        let Some(budget) = budget else {
            if let Some(budgets) = self.namespaces.get_mut(&key.namespace) {
                budgets.remove(&key.name);
                if budgets.is_empty() {
                    self.namespaces.remove(&key.namespace);
                }
            }
            return;
        };
        let written = objects::read(budget)["spec"]["selector"].take();
        let budgets = self.namespaces.entry(key.namespace.clone()).or_default();
        if budgets.get(&key.name).is_some_and(|known| known.written == written) {
            return;
        }
        let selector = Labels::from_object(&written).unwrap_or_else(|_| nobody());
        let mut budget = Budget { written, selector, pods: BTreeMap::new() };
        budget.select(api, &key.namespace);
        budgets.insert(key.name.clone(), budget);
    }

    /// Takes in a pod that is new, changed or gone; the budgets for which that makes a difference.
    pub(super) fn learn_pod(&mut self, api: &Api, key: &Key) -> Vec<Key> {
        let Some(budgets) = self.namespaces.get_mut(&key.namespace) else { return Vec::new() };
        let pod = api.store.get(&objects::PODS.into(), key);
        let mut seen = None;
        let mut touched = Vec::new();
        for (name, budget) in budgets {
            let selected = pod.as_deref().filter(|pod| budget.selector.matches(|label| pod.index.label(label)));
            let member = selected.map(|pod| seen.get_or_insert_with(|| Member::of(&objects::read(pod))).clone());
            let before = match member.clone() {
                Some(member) => budget.pods.insert(key.name.clone(), member),
                None => budget.pods.remove(&key.name),
            };
            if before != member {
                touched.push(Key { namespace: key.namespace.clone(), name: name.clone() });
            }
        }
        touched
    }

    /// Selects the pods of all budgets anew.
    pub(super) fn select_all(&mut self, api: &Api) -> Vec<Key> {
        let mut all = Vec::new();
        for (namespace, budgets) in &mut self.namespaces {
            for (name, budget) in budgets {
                budget.select(api, namespace);
                all.push(Key { namespace: namespace.clone(), name: name.clone() });
            }
        }
        all
    }
}

impl Budget {
    fn select(&mut self, api: &Api, namespace: &str) {
        let shelf: Shelf = objects::PODS.into();
        let pods = api.store.list(&shelf, Some(namespace)).objects;
        let selected = pods.into_iter().filter(|(_, pod)| self.selector.matches(|label| pod.index.label(label)));
        self.pods = selected.map(|(key, pod)| (key.name, Member::of(&objects::read(&pod)))).collect();
    }
}

impl Member {
    fn of(pod: &Value) -> Self {
        let owners = pod["metadata"]["ownerReferences"].as_array();
        let controller = owners.into_iter().flatten().find(|owner| owner["controller"] == true);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Self {
            ready: objects::is_true(pod, "Ready"),
            going: is_deleting(pod),
            controller: controller.map(|owner| Controller {
                api_version: text(&owner["apiVersion"]),
                kind: text(&owner["kind"]),
                name: text(&owner["name"]),
                uid: text(&owner["uid"]),
            }),
        }
    }
}

/// A selector that cannot be read selects nobody.
fn nobody() -> Labels {
    Labels::from_object(&Value::Null).unwrap_or_default()
}
