//! What schedulers and kubelets do, as far as an operator sees it: pods that nothing holds get a node and are ready at once, pods on
//! their way out are gone at once. Cliques can be held back: then their pods wait for a node.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use http::Method;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use trellis_api::names::label;
use trellis_cluster::api::Api;
use trellis_cluster::store::Shelf;
use trellis_lifecycle::Kind;

use crate::world::{list, path, send};

/// A stage that runs until it is dropped.
pub struct Stage {
    held: Arc<Mutex<BTreeSet<String>>>,
    changed: Arc<Notify>,
    task: JoinHandle<()>,
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Stage {
    pub fn start(api: Api) -> Self {
        let (held, changed) = (Arc::new(Mutex::new(BTreeSet::new())), Arc::new(Notify::new()));
        let task = tokio::spawn(run(api, held.clone(), changed.clone()));
        Self { held, changed, task }
    }

    /// No pod of these cliques gets a node from now on.
    pub fn hold(&self, cliques: &[&str]) {
        self.held().extend(cliques.iter().map(|&clique| clique.to_owned()));
    }

    /// All pods get nodes again.
    pub fn release(&self) {
        self.held().clear();
        self.changed.notify_one();
    }

    fn held(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn run(api: Api, held: Arc<Mutex<BTreeSet<String>>>, changed: Arc<Notify>) {
    let pods: Shelf = "pods".into();
    let mut changes = api.store().watch(&pods, None, api.store().revision());
    loop {
        for pod in list(&api, Kind::Pod) {
            let held = held.lock().unwrap_or_else(PoisonError::into_inner).clone();
            play(&api, &pod, &held).await;
        }
        tokio::select! {
            seen = changes.next() => drop(seen.expect("the history is long enough")),
            () = changed.notified() => {}
        }
    }
}

/// Takes the next step with a pod.
async fn play(api: &Api, pod: &Value, held: &BTreeSet<String>) {
    let metadata = &pod["metadata"];
    let name = metadata["name"].as_str().unwrap_or_default();
    let target = path(Kind::Pod, name);
    let phase = pod["status"]["phase"].as_str().unwrap_or_default();
    let gated = pod["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty());
    // What no longer fits because somebody else was faster is seen again with the next change.
    if metadata["deletionTimestamp"].is_string() {
        let options = json!({ "gracePeriodSeconds": 0, "preconditions": { "uid": metadata["uid"] } });
        send(api, Method::DELETE, &target, &options).await;
    } else if gated || ["Running", "Failed", "Succeeded"].contains(&phase) {
        // Nothing to do.
    } else if pod["spec"]["nodeName"].is_string() {
        let status = json!({
            "phase": "Running",
            "conditions": [{ "type": "Ready", "status": "True" }, { "type": "PodScheduled", "status": "True" }],
            "containerStatuses": [{
                "name": "app", "image": "app", "imageID": "", "ready": true, "started": true, "restartCount": 0,
            }],
        });
        let patch = json!({ "metadata": { "uid": metadata["uid"] }, "status": status });
        send(api, Method::PATCH, &format!("{target}/status"), &patch).await;
    } else if !held.contains(metadata["labels"][label::POD_CLIQUE].as_str().unwrap_or_default()) {
        let about = json!({ "name": name, "uid": metadata["uid"] });
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding", "metadata": about, "target": { "kind": "Node", "name": "node-0" },
        });
        send(api, Method::POST, &format!("{target}/binding"), &binding).await;
    }
}
