//! Pods that were said to be the target of a disruption and are still there after a while are not one any more.

use std::time::Duration;

use serde_json::{Value, json};

use super::agenda::Agenda;
use super::objects;
use crate::api::Api;
use crate::builtin;
use crate::status::Status;
use crate::store::{Key, Object};
use crate::verbs::metadata::is_deleting;

/// What the text of such a pod contains.
const MARK: &str = "\"DisruptionTarget\"";

/// The pods that are said to be targets.
#[derive(Debug)]
pub(super) struct Stale {
    agenda: Agenda<Key>,
    timeout: Duration,
}

impl Stale {
    pub(super) fn new(timeout: Duration) -> Self {
        Self { agenda: Agenda::new(), timeout }
    }

    /// Takes in a pod that is new, changed or gone.
    pub(super) fn learn(&mut self, api: &Api, key: &Key, pod: Option<&Object>) {
        // Hardly any pod has the mark, and all pods come along here.
        let marked = pod.filter(|pod| std::str::from_utf8(&pod.text).is_ok_and(|text| text.contains(MARK)));
        match marked.and_then(|pod| self.ends(&objects::read(pod))) {
            Some(ends) => self.agenda.at(key.clone(), objects::instant(api.clock, ends)),
            None => drop(self.agenda.cancel(key)),
        }
    }

    /// When the mark of a pod ends.
    fn ends(&self, pod: &Value) -> Option<jiff::Timestamp> {
        let done = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
        let condition =
            objects::condition(pod, "DisruptionTarget").filter(|condition| condition["status"] == "True")?;
        if done || is_deleting(pod) {
            return None;
        }
        objects::time(&condition["lastTransitionTime"])?.checked_add(self.timeout).ok()
    }

    /// Waits for marks that end and takes them away.
    pub(super) async fn run(&mut self, api: &Api) {
        for key in self.agenda.due().await {
            let result = self.clear(api, &key).await;
            self.agenda.note(key, result);
        }
    }

    async fn clear(&self, api: &Api, key: &Key) -> Result<(), Status> {
        let Some(call) = objects::call(api, super::budgets::CONTROLLER, objects::PODS, key) else { return Ok(()) };
        let Some(mut pod) = call.found().await? else { return Ok(()) };
        if self.ends(&pod).is_none_or(|ends| ends > api.clock.now()) {
            return Ok(());
        }
        let condition = json!({
            "type": "DisruptionTarget", "status": "False", "observedGeneration": pod["metadata"]["generation"],
        });
        builtin::set_condition(&mut pod, condition, &api.clock.stamp());
        objects::put(&call.through("status"), pod).await
    }
}
