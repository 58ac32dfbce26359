//! The world of one run: an embedded API with our kinds, nodes, what a cluster does by itself, and a stage that pods play on.

use std::cell::RefCell;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use trellis_api::kinds::config::OperatorConfiguration;
use trellis_api::names::label;
use trellis_api::settings::Settings;
use trellis_cluster::api::{Api, Options};
use trellis_cluster::clock::Clock;
use trellis_cluster::entropy::Entropy;
use trellis_cluster::user::User;
use trellis_cluster::{controllers, store};
use trellis_lifecycle::Kind;

use crate::stage::Stage;

/// Where everything happens.
pub const NAMESPACE: &str = "default";
/// How many nodes there are, two to a rack.
const NODES: usize = 4;
/// Longer than any run.
pub const NEVER: Duration = Duration::from_hours(24 * 365);

/// A cluster of one's own, for one run after the other.
pub struct World {
    pub api: Api,
    pub stage: Stage,
    /// What the cluster does by itself, if it does.
    controllers: RefCell<Option<JoinHandle<()>>>,
}

impl Drop for World {
    fn drop(&mut self) {
        self.collect(false);
    }
}

impl World {
    pub async fn new() -> Self {
        static DEFINITIONS: LazyLock<Vec<Value>> = LazyLock::new(|| {
            let definitions = trellis_api::crd::served().into_iter().chain(trellis_api::crd::kai());
            definitions.map(|definition| serde_json::to_value(definition).expect("a definition is JSON")).collect()
        });
        let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().expect("a time"));
        let api = Api::new(Options { clock, entropy: Entropy::seeded(1), ..Options::default() });
        api.furnish().await.expect("the objects of every cluster");
        let stage = Stage::start(api.clone());
        let world = Self { api, stage, controllers: RefCell::default() };
        world.collect(true);
        for definition in DEFINITIONS.iter() {
            world.create(definition).await;
        }
        for number in 0..NODES {
            let name = format!("node-{number}");
            let labels = json!({
                "kubernetes.io/hostname": name, "test/rack": format!("rack-{}", number / 2), "test/zone": "zone-0",
            });
            let metadata = json!({ "name": name, "labels": labels });
            world.create(&json!({ "apiVersion": "v1", "kind": "Node", "metadata": metadata })).await;
        }
        for (name, value) in [("low", 10), ("high", 20)] {
            let metadata = json!({ "name": name });
            let kind = "PriorityClass";
            world
                .create(&json!({ "apiVersion": "scheduling.k8s.io/v1", "kind": kind, "metadata": metadata, "value": value }))
                .await;
        }
        world
    }

    /// Whether the cluster collects garbage. Of what it does by itself only that matters; what looks at clocks stays away.
    pub fn collect(&self, collects: bool) {
        if let Some(task) = self.controllers.take() {
            task.abort();
        }
        if !collects {
            return;
        }
        let options = controllers::Options {
            node_grace: NEVER,
            node_startup_grace: NEVER,
            node_period: NEVER,
            autoscaler_period: NEVER,
            orphan_quarantine: NEVER,
            pod_period: NEVER,
            event_age: NEVER,
            ..controllers::Options::default()
        };
        let run = controllers::run(self.api.clone(), options, std::future::pending());
        self.controllers.replace(Some(tokio::spawn(run)));
    }

    /// Takes away what the last run has left.
    pub async fn sweep(&self) {
        // Time passes when all tasks of the last run have ended.
        tokio::time::sleep(Duration::from_millis(1)).await;
        self.stage.release();
        self.collect(true);
        // What was owned may go before its turn comes, and what holds it may have to go first.
        for round in 0.. {
            assert!(round < 100, "the last run cannot be swept away");
            let left: Vec<(Kind, String)> = Kind::ALL
                .into_iter()
                .flat_map(|kind| self.list(kind).into_iter().map(move |object| (kind, object)))
                .map(|(kind, object)| (kind, object["metadata"]["name"].as_str().unwrap_or_default().to_owned()))
                .collect();
            if left.is_empty() {
                break;
            }
            for (kind, name) in left {
                let target = path(kind, &name);
                let free = json!({ "metadata": { "finalizers": null } });
                if !kind.is_namespaced() {
                    send(&self.api, Method::PATCH, &target, &free).await;
                }
                send(&self.api, Method::DELETE, &target, &json!({ "gracePeriodSeconds": 0 })).await;
            }
        }
        send(&self.api, Method::DELETE, &format!("/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events"), &json!({}))
            .await;
    }

    /// What the operator is told.
    pub fn settings(kai: bool) -> Settings {
        let level = |domain: &str, key: &str| json!({ "domain": domain, "key": key });
        let mut profiles = vec![json!({ "name": "trellis", "default": true })];
        if kai {
            profiles.push(json!({ "name": "kai-scheduler" }));
        }
        let configuration: OperatorConfiguration = serde_json::from_value(json!({
            "apiVersion": "operator.config.grove.io/v1alpha1", "kind": "OperatorConfiguration",
            "topologyAwareScheduling": { "enabled": true, "levels": [
                level("zone", "test/zone"), level("rack", "test/rack"), level("host", "kubernetes.io/hostname"),
            ] },
            "scheduler": { "profiles": profiles },
            "initImage": "trellis:test",
        }))
        .expect("a configuration");
        Settings::of(&configuration)
    }

    /// The latest revision of anything.
    pub fn revision(&self) -> u64 {
        self.api.store().revision()
    }

    /// All objects of a kind, but for what is in every namespace, and in others.
    pub fn list(&self, kind: Kind) -> Vec<Value> {
        let mut objects = list(&self.api, kind);
        objects.retain(|object| {
            let metadata = &object["metadata"];
            let is_here = metadata["namespace"].as_str().is_none_or(|namespace| namespace == NAMESPACE);
            let name = metadata["name"].as_str().unwrap_or_default();
            is_here
                && match kind {
                    Kind::ServiceAccount => name != "default",
                    Kind::ConfigMap => name != "kube-root-ca.crt",
                    Kind::PriorityClass => name.starts_with("osmo-"),
                    _ => true,
                }
        });
        objects
    }

    pub async fn create(&self, object: &Value) {
        self.api.create(&User::admin(), object).await.unwrap_or_else(|status| panic!("{}", status.to_json()));
    }

    /// Changes an object as a user does: reads, changes, writes, and again if somebody else was faster.
    pub async fn edit(&self, kind: Kind, name: &str, change: impl Fn(&mut Value)) {
        loop {
            let found = self.list(kind).into_iter().find(|object| object["metadata"]["name"] == name);
            let mut object = found.unwrap_or_else(|| panic!("there is no {kind:?} {name}"));
            change(&mut object);
            match send(&self.api, Method::PUT, &path(kind, name), &object).await {
                (409, _) => {}
                (code, answer) => {
                    assert!(code < 300, "change {name}: {answer}");
                    return;
                }
            }
        }
    }

    /// The name of the first pod of a clique that is not on its way out.
    pub fn first_pod(&self, clique: &str) -> String {
        let is_member = |pod: &Value| {
            pod["metadata"]["labels"][label::POD_CLIQUE] == clique && pod["metadata"]["deletionTimestamp"].is_null()
        };
        let pods = self.list(Kind::Pod).into_iter().filter(is_member);
        let index = |pod: &Value| pod["metadata"]["labels"][label::POD_INDEX].as_str().map(ToOwned::to_owned);
        let first = pods.min_by_key(index).unwrap_or_else(|| panic!("{clique} has no pod"));
        first["metadata"]["name"].as_str().unwrap_or_default().to_owned()
    }

    pub async fn patch(&self, kind: Kind, name: &str, patch: &Value) {
        self.sent(Method::PATCH, &path(kind, name), patch).await;
    }

    pub async fn scale(&self, kind: Kind, name: &str, replicas: usize) {
        let patch = json!({ "spec": { "replicas": replicas } });
        self.sent(Method::PATCH, &format!("{}/scale", path(kind, name)), &patch).await;
    }

    pub async fn delete(&self, kind: Kind, name: &str) {
        self.sent(Method::DELETE, &path(kind, name), &json!({})).await;
    }

    /// Ends a pod badly, as a kubelet would tell.
    pub async fn fail(&self, pod: &str) {
        let status = json!({ "phase": "Failed", "conditions": [{ "type": "Ready", "status": "False" }] });
        let target = format!("{}/status", path(Kind::Pod, pod));
        self.sent(Method::PATCH, &target, &json!({ "status": status })).await;
    }

    /// Ends a task's pod well, as a kubelet would tell.
    pub async fn finish(&self, pod: &str) {
        let ended = json!({ "exitCode": 0, "reason": "Completed" });
        let container = json!({
            "name": "task", "image": "app", "imageID": "", "ready": false, "started": false, "restartCount": 0,
            "state": { "terminated": ended },
        });
        let conditions = json!([{ "type": "Ready", "status": "False" }]);
        let status = json!({ "phase": "Succeeded", "conditions": conditions, "containerStatuses": [container] });
        let target = format!("{}/status", path(Kind::Pod, pod));
        self.sent(Method::PATCH, &target, &json!({ "status": status })).await;
    }

    async fn sent(&self, method: Method, path: &str, body: &Value) {
        let (code, answer) = send(&self.api, method.clone(), path, body).await;
        assert!(code < 300, "{method} {path}: {answer}");
    }
}

/// All objects of a kind as they are.
pub fn list(api: &Api, kind: Kind) -> Vec<Value> {
    let (group, _, name, plural) = kind.names();
    let shelf: store::Shelf = if group.is_empty() { plural.into() } else { format!("{plural}.{group}").into() };
    let objects = api.store().list(&shelf, None).objects;
    objects.iter().map(|(_, object)| object.value(&kind.api_version(), name)).collect()
}

/// The path of an object.
pub fn path(kind: Kind, name: &str) -> String {
    let (group, version, _, plural) = kind.names();
    let root = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
    match kind.is_namespaced() {
        true => format!("{root}/namespaces/{NAMESPACE}/{plural}/{name}"),
        false => format!("{root}/{plural}/{name}"),
    }
}

/// Sends a request as the administrator; code and answer.
pub async fn send(api: &Api, method: Method, path: &str, body: &Value) -> (u16, Value) {
    let media = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    let request = Request::builder().method(method).uri(path).header("content-type", media);
    let request = request.body(Bytes::from(body.to_string())).expect("a request");
    let answer = api.handle(&User::admin(), request).await;
    let code = answer.status().as_u16();
    let Ok(text) = answer.into_body().collect().await;
    (code, serde_json::from_slice(&text.to_bytes()).unwrap_or_default())
}

/// What time it is in this world.
pub fn now(api: &Api) -> trellis_operator::Now {
    let clock = api.clock();
    Arc::new(move || clock.now())
}
