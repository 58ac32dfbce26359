//! What schedulers and kubelets do: pods that nothing holds get a node and are ready, pods on their way out are gone.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt as _, watcher as watch};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// A stage that runs until it is dropped.
pub struct Stage {
    client: Client,
    held: Arc<Mutex<BTreeSet<String>>>,
    task: JoinHandle<()>,
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Stage {
    /// Plays the pods of all namespaces.
    pub fn start(client: &Client) -> Self {
        let held: Arc<Mutex<BTreeSet<String>>> = Arc::default();
        let (clients, holds) = (client.clone(), Arc::clone(&held));
        let task = tokio::spawn(async move {
            let mut events =
                watch(Api::<Pod>::all(clients.clone()), watcher::Config::default()).default_backoff().boxed();
            while let Some(event) = events.next().await {
                if let Ok(Event::Apply(pod) | Event::InitApply(pod)) = event {
                    play(&clients, &pod, &holds).await;
                }
            }
        });
        Self { client: client.clone(), held, task }
    }

    /// No pod of this clique gets a node from now on.
    pub fn hold(&self, clique: &str) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).insert(clique.to_owned());
    }

    /// All pods get nodes again.
    ///
    /// # Panics
    /// If the server does not answer.
    pub async fn release(&self) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let pods: Api<Pod> = Api::all(self.client.clone());
        for pod in pods.list(&ListParams::default()).await.expect("pods").items {
            play(&self.client, &pod, &self.held).await;
        }
    }
}

/// Takes the next step with a pod. What no longer fits is seen again with the next change.
async fn play(client: &Client, pod: &Pod, held: &Mutex<BTreeSet<String>>) {
    let pods: Api<Pod> = Api::namespaced(client.clone(), &pod.namespace().unwrap_or_default());
    let name = pod.name_any();
    let (spec, status) = (pod.spec.clone().unwrap_or_default(), pod.status.clone().unwrap_or_default());
    let phase = status.phase.unwrap_or_default();
    let clique = pod.labels().get("grove.io/podclique").cloned().unwrap_or_default();
    if pod.metadata.deletion_timestamp.is_some() {
        let preconditions = Preconditions { uid: pod.uid(), resource_version: None };
        let _ = pods.delete(&name, &DeleteParams::default().grace_period(0).preconditions(preconditions)).await;
    } else if spec.scheduling_gates.is_some_and(|gates| !gates.is_empty())
        || ["Running", "Failed", "Succeeded"].contains(&phase.as_str())
    {
        // Nothing to do.
    } else if spec.node_name.is_some() {
        let status = json!({
            "phase": "Running",
            "conditions": [{ "type": "Ready", "status": "True" }, { "type": "PodScheduled", "status": "True" }],
        });
        let patch = Patch::Strategic(json!({ "metadata": { "uid": pod.uid() }, "status": status }));
        let _ = pods.patch_status(&name, &PatchParams::default(), &patch).await;
    } else if !held.lock().unwrap_or_else(PoisonError::into_inner).contains(&clique) {
        let about = json!({ "name": name, "uid": pod.uid() });
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding", "metadata": about, "target": { "kind": "Node", "name": "node-0" },
        });
        let _: kube::Result<Value> = pods.create_subresource("binding", &name, &PostParams::default(), &binding).await;
    }
}
