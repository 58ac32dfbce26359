//! Whose pods are whose: two autoscalers that count the same pods both stand still.

use std::collections::BTreeMap;

use super::super::objects;
use crate::api::Api;
use crate::selector::Labels;
use crate::store::{Key, Shelf};

/// The selector of every autoscaler, as its target told it last.
#[derive(Debug, Default)]
pub(super) struct Selectors {
    known: BTreeMap<Key, Labels>,
}

impl Selectors {
    pub(super) fn forget(&mut self, key: &Key) {
        self.known.remove(key);
    }

    /// Notes the selector of an autoscaler; the reason and the words if it is of no use.
    pub(super) fn check(&mut self, api: &Api, key: &Key, selector: &str) -> Result<(), (&'static str, String)> {
        if selector.is_empty() {
            return Err(("InvalidSelector", "the HPA target's scale is missing a selector".to_owned()));
        }
        let labels = Labels::parse(selector).map_err(|status| {
            (
                "InvalidSelector",
                format!("couldn't convert selector into a corresponding internal selector object: {status}"),
            )
        })?;
        self.known.insert(key.clone(), labels);
        let counting = self.counting(api, key);
        if counting.len() < 2 {
            return Ok(());
        }
        let names: Vec<String> = counting.iter().map(|key| format!("{}/{}", key.namespace, key.name)).collect();
        let names = names.join(" ");
        Err(("AmbiguousSelector", format!("pods by selector {selector} are controlled by multiple HPAs: [{names}]")))
    }

    /// The autoscalers that count any of the pods that this one counts.
    fn counting(&self, api: &Api, key: &Key) -> Vec<&Key> {
        let rivals: Vec<(&Key, &Labels)> =
            self.known.iter().filter(|(other, _)| other.namespace == key.namespace).collect();
        let Some(own) = self.known.get(key).filter(|_| rivals.len() > 1) else { return Vec::new() };
        let shelf: Shelf = objects::PODS.into();
        let pods = api.store.list(&shelf, Some(&key.namespace)).objects;
        let pods: Vec<_> = pods.iter().filter(|(_, pod)| own.matches(|label| pod.index.label(label))).collect();
        let counts = |labels: &Labels| pods.iter().any(|(_, pod)| labels.matches(|label| pod.index.label(label)));
        rivals.into_iter().filter(|(_, labels)| counts(labels)).map(|(key, _)| key).collect()
    }
}
