//! Two simulated nodes on an API, and a namespace for their pods.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::FutureExt;
use k8s_openapi::api::core::v1::{ContainerStatus, Namespace, Node, Pod, ServiceAccount};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::await_condition;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use trellis_cluster::nodes::{NodeSpec, Nodes, Options};

/// Far more than anything here takes.
const PATIENCE: Duration = Duration::from_mins(1);

/// Two nodes, `<namespace>-a` and `<namespace>-b`, and a namespace for their pods.
pub struct World {
    pub client: Client,
    pub nodes: Nodes,
    pub pods: Api<Pod>,
    pub namespace: String,
}

impl World {
    pub async fn new(client: &Client, options: Options) -> Self {
        let namespace: Namespace = object(json!({ "metadata": { "generateName": "nodes-" } }));
        let namespace = Api::all(client.clone()).create(&PostParams::default(), &namespace).await.unwrap();
        // Where service accounts are looked after, pods cannot be created before there is one.
        let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), &namespace.name_any());
        drop(accounts.create(&PostParams::default(), &object(json!({ "metadata": { "name": "default" } }))).await);
        Self::in_namespace(client, &namespace.name_any(), options).await
    }

    pub async fn in_namespace(client: &Client, namespace: &str, options: Options) -> Self {
        let specs = ["a", "b"].map(|letter| node_spec(&format!("{namespace}-{letter}"))).into();
        let started = Nodes::start(client.clone(), specs, options, |_| ());
        let nodes = soon("the registration of the nodes", started).await.unwrap();
        let pods = Api::namespaced(client.clone(), namespace);
        Self { client: client.clone(), nodes, pods, namespace: namespace.to_owned() }
    }

    pub fn node(&self, letter: &str) -> String {
        format!("{}-{letter}", self.namespace)
    }

    /// Creates a pod with one container, changed as `change` says, and binds it as a scheduler does.
    pub async fn bind(&self, name: &str, letter: &str, change: Value) -> Pod {
        let mut pod = json!({
            "metadata": { "name": name },
            "spec": { "automountServiceAccountToken": false, "containers": [{ "name": "main", "image": "main:1" }] },
        });
        json_patch::merge(&mut pod, &change);
        let pod = self.pods.create(&PostParams::default(), &object(pod)).await.unwrap();
        let binding = json!({ "metadata": { "name": name }, "target": { "kind": "Node", "name": self.node(letter) } });
        let _: Value = self.pods.create_subresource("binding", name, &PostParams::default(), &binding).await.unwrap();
        pod
    }

    pub async fn until(&self, name: &str, what: &str, condition: impl Fn(&Pod) -> bool) -> Pod {
        let met =
            await_condition(self.pods.clone(), name, |pod: Option<&Pod>| pod.is_some_and(&condition)).boxed_local();
        soon(&format!("pod {name}: {what}"), met).await.unwrap().unwrap()
    }

    pub async fn until_gone(&self, pod: &Pod) {
        let (name, uid) = (pod.name_any(), pod.uid());
        let is_gone = |pod: Option<&Pod>| pod.is_none_or(|pod| pod.uid() != uid);
        let gone = await_condition(self.pods.clone(), &name, is_gone).boxed_local();
        soon(&format!("pod {name}: gone"), gone).await.unwrap();
    }

    pub async fn delete(&self, name: &str, grace: u32) {
        self.pods.delete(name, &DeleteParams::default().grace_period(grace)).await.unwrap();
    }

    pub async fn annotate(&self, name: &str, annotation: &str, value: Value) {
        let patch = json!({ "metadata": { "annotations": { format!("trellis.dev/simulate-{annotation}"): value } } });
        self.pods.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    /// Leaves nothing behind that would keep others busy.
    pub async fn end(self) {
        self.nodes.stop().await;
        let at_once = DeleteParams::default().grace_period(0);
        self.pods.delete_collection(&at_once, &ListParams::default()).await.unwrap();
        for letter in ["a", "b"] {
            // Some cases have removed theirs.
            drop(Api::<Node>::all(self.client.clone()).delete(&self.node(letter), &DeleteParams::default()).await);
        }
    }
}

/// Pods are ready at once, containers restart soon, and nothing happens by itself.
pub fn quick() -> Options {
    Options {
        ready_after: Duration::ZERO,
        restart_after: Duration::from_millis(20),
        heartbeat: Duration::ZERO,
        ..Options::default()
    }
}

pub fn node_spec(name: &str) -> NodeSpec {
    NodeSpec {
        name: name.to_owned(),
        labels: map(&[("rack", "r1")]),
        allocatable: map(&[("cpu", "4"), ("memory", "8Gi"), ("pods", "10"), ("nvidia.com/gpu", "8")]),
        ..NodeSpec::default()
    }
}

pub fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
}

pub fn object<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

pub async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    let waited = tokio::time::timeout(PATIENCE, future).await;
    waited.unwrap_or_else(|_| panic!("waited in vain for {what}"))
}

pub fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

pub fn is_ready(pod: &Pod) -> bool {
    let mut conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

pub fn main_container(pod: &Pod) -> &ContainerStatus {
    &pod.status.as_ref().unwrap().container_statuses.as_ref().unwrap()[0]
}

pub fn restarts(pod: &Pod) -> i32 {
    pod.status.iter().flat_map(|status| status.container_statuses.iter().flatten()).map(|one| one.restart_count).sum()
}
