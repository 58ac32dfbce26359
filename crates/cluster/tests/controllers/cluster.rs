//! A cluster in virtual time, and what tests say to it.

use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use trellis_cluster::api::{Api, Options};
use trellis_cluster::clock::Clock;
use trellis_cluster::controllers;
use trellis_cluster::entropy::Entropy;
use trellis_cluster::store::{Key, Shelf};
use trellis_cluster::user::User;

/// When every test begins.
pub const START: &str = "2026-01-01T00:00:00Z";

/// Longer than anything takes that a test waits for.
const PATIENCE: Duration = Duration::from_hours(3);

pub struct Cluster {
    pub api: Api,
    pub begun: Instant,
    options: controllers::Options,
    running: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

impl Cluster {
    /// A furnished cluster with the namespace `a`, whose controllers run.
    pub async fn new() -> Self {
        Self::with(controllers::Options::default()).await
    }

    pub async fn with(options: controllers::Options) -> Self {
        let api = Api::new(Options {
            clock: Clock::starting_at(START.parse().unwrap()),
            entropy: Entropy::seeded(1),
            ..Options::default()
        });
        api.furnish().await.unwrap();
        let mut cluster = Self { api, begun: Instant::now(), options, running: None };
        cluster.make(&namespace("a")).await;
        cluster.start();
        cluster.settle().await;
        cluster
    }

    pub fn start(&mut self) {
        let (stop, stopped) = oneshot::channel();
        let stopped = async move { drop(stopped.await) };
        let task = tokio::spawn(controllers::run(self.api.clone(), self.options.clone(), stopped));
        self.running = Some((stop, task));
    }

    pub async fn stop(&mut self) {
        if let Some((stop, task)) = self.running.take() {
            let _ = stop.send(());
            task.await.unwrap();
        }
    }

    /// Waits until nobody has anything to do right now.
    pub async fn settle(&self) {
        sleep(Duration::from_millis(1)).await;
    }

    pub async fn pass(&self, seconds: u64) {
        sleep(Duration::from_secs(seconds)).await;
        self.settle().await;
    }

    /// Whole seconds since the beginning.
    pub fn seconds(&self) -> u64 {
        self.begun.elapsed().as_secs()
    }

    pub async fn make(&self, object: &Value) -> Value {
        let made = self.api.create(&User::admin(), object).await;
        made.unwrap_or_else(|status| panic!("{status}: {object}"))
    }

    pub async fn ask(&self, method: Method, path: &str, body: &Value) -> (u16, Value) {
        let kind = match method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let bytes = if body.is_null() { bytes::Bytes::new() } else { body.to_string().into() };
        let request = Request::builder().method(method).uri(path).header("content-type", kind).body(bytes).unwrap();
        let answer = self.api.handle(&User::admin(), request).await;
        let code = answer.status().as_u16();
        let bytes = answer.into_body().collect().await.unwrap().to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    pub async fn get(&self, path: &str) -> Option<Value> {
        let (code, value) = self.ask(Method::GET, path, &Value::Null).await;
        assert!(code == 200 || code == 404, "{code} {value}");
        (code == 200).then_some(value)
    }

    /// Merges a patch into an object.
    pub async fn patch(&self, path: &str, patch: &Value) -> Value {
        let (code, value) = self.ask(Method::PATCH, path, patch).await;
        assert_eq!(code, 200, "{path} {value}");
        value
    }

    pub async fn delete(&self, path: &str, options: &Value) {
        let (code, value) = self.ask(Method::DELETE, path, options).await;
        assert!(code < 300, "{path} {value}");
    }

    /// Waits until what is at a path, or nothing, is as it should be, by watching its resource.
    pub async fn until(&self, path: &str, wanted: impl Fn(Option<&Value>) -> bool) -> Option<Value> {
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let group = if parts[0] == "api" { "" } else { parts[1] };
        let plural = parts[parts.len() - 2];
        let shelf: Shelf = if group.is_empty() { plural.into() } else { format!("{plural}.{group}").into() };
        let store: &Arc<_> = self.api.store();
        let mut watch = store.watch(&shelf, None, store.revision());
        let found = timeout(PATIENCE, async {
            loop {
                let found = self.get(path).await;
                if wanted(found.as_ref()) {
                    return found;
                }
                // Too late is as good as a change: the object is read again.
                if watch.next().await.is_err() {
                    watch = store.watch(&shelf, None, store.revision());
                }
            }
        });
        if let Ok(found) = found.await {
            return found;
        }
        panic!("{path} never became what it should be: {:?}", self.get(path).await)
    }

    pub async fn until_gone(&self, path: &str) {
        self.until(path, |found| found.is_none()).await;
    }

    /// The names of what is on a shelf in a namespace.
    pub fn names(&self, shelf: &str, namespace: &str) -> Vec<String> {
        let shelf: Shelf = shelf.into();
        self.api.store().list(&shelf, Some(namespace)).objects.into_iter().map(|(Key { name, .. }, _)| name).collect()
    }

    /// The events of a namespace: kind and name of what they are about, reason and message.
    pub async fn events(&self, namespace: &str) -> Vec<String> {
        let (_, list) = self.ask(Method::GET, &format!("/api/v1/namespaces/{namespace}/events"), &Value::Null).await;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let shown = |event: &Value| {
            let about = &event["involvedObject"];
            [&about["kind"], &about["name"], &event["reason"], &event["message"]].map(text).join(" ")
        };
        list["items"].as_array().into_iter().flatten().map(shown).collect()
    }

    /// Makes a pod on a node that runs and is ready.
    pub async fn running(&self, pod: &Value) -> Value {
        let made = self.make(pod).await;
        let path = format!("{}/status", path_of("pods", &made));
        let conditions = json!([{"type": "Ready", "status": "True", "lastTransitionTime": START}]);
        self.patch(&path, &json!({"status": {"phase": "Running", "conditions": conditions}})).await
    }

    /// Defines `flocks`, which have a scale, and `stones`, which have none.
    pub async fn define_kinds(&self) {
        let scale = json!({
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
                "labelSelectorPath": ".status.selector",
            },
        });
        self.make(&definition("flock", "Flock", &scale)).await;
        self.make(&definition("stone", "Stone", &json!({}))).await;
        self.settle().await;
    }
}

pub fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

pub fn node(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
}

/// A pod in namespace `a`; `patch` is merged into it.
pub fn pod(name: &str, node: &str, patch: &Value) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "a"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    if !node.is_empty() {
        pod["spec"]["nodeName"] = node.into();
    }
    merge(&mut pod, patch);
    pod
}

pub fn merge(value: &mut Value, patch: &Value) {
    match (value, patch) {
        (Value::Object(value), Value::Object(patch)) => {
            for (key, patch) in patch {
                merge(value.entry(key.clone()).or_insert(Value::Null), patch);
            }
        }
        (value, patch) => *value = patch.clone(),
    }
}

fn definition(singular: &str, kind: &str, subresources: &Value) -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema = json!({"type": "object", "properties": {"spec": open, "status": open}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{singular}s.controllers.test")},
        "spec": {
            "group": "controllers.test", "scope": "Namespaced",
            "names": {"plural": format!("{singular}s"), "singular": singular, "kind": kind, "listKind": format!("{kind}List")},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": subresources,
                "schema": {"openAPIV3Schema": schema},
            }],
        },
    })
}

/// Where an object of a core resource, or of our own group, is.
pub fn path_of(plural: &str, object: &Value) -> String {
    let api_version = object["apiVersion"].as_str().unwrap();
    let root = if api_version.contains('/') { "/apis" } else { "/api" };
    let within = object["metadata"]["namespace"].as_str().map(|namespace| format!("/namespaces/{namespace}"));
    let name = object["metadata"]["name"].as_str().unwrap();
    format!("{root}/{api_version}{}/{plural}/{name}", within.unwrap_or_default())
}

/// An owner reference to an object.
pub fn owned_by(owner: &Value, patch: &Value) -> Value {
    let mut reference = json!({
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
    });
    merge(&mut reference, patch);
    reference
}

/// A condition of an object, less its times.
pub fn condition(object: &Value, kind: &str) -> Value {
    let conditions = object["status"]["conditions"].as_array();
    let mut found = conditions.into_iter().flatten().find(|found| found["type"] == kind).cloned().unwrap_or_default();
    if let Some(found) = found.as_object_mut() {
        for time in ["lastTransitionTime", "lastProbeTime", "lastHeartbeatTime"] {
            found.remove(time);
        }
    }
    found
}
