//! The world of a run: an embedded API with our kinds, what a cluster does by itself, and simulated nodes in four racks.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::BodyExt as _;
use kube::Client;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use trellis_api::kinds::config::OperatorConfiguration;
use trellis_cluster::api::{Api, Behaviour, Options};
use trellis_cluster::clock::Clock;
use trellis_cluster::controllers;
use trellis_cluster::entropy::Entropy;
use trellis_cluster::nodes::{self, NodeSpec, Nodes};
use trellis_cluster::user::User;
use trellis_operator::Now;

use crate::Error;

/// Where everything happens.
pub const NAMESPACE: &str = "default";
/// Where operator and scheduler would live.
pub const SYSTEM: &str = "trellis-system";
/// The key of the blocks.
pub const BLOCK: &str = "simulate.trellis.dev/block";
/// The key of the racks.
pub const RACK: &str = "simulate.trellis.dev/rack";
/// The key of the zone.
const ZONE: &str = "topology.kubernetes.io/zone";
/// Nodes of the cluster; three to a rack, two racks to a block.
pub const NODES: usize = 12;
/// How long the places of vanished members are held, and how long a broken gang is left: short, so that a run sees much of both.
pub const HOLD_SECONDS: u64 = 60;

/// A cluster of one's own.
pub struct World {
    /// The API.
    pub api: Api,
    /// The simulated nodes.
    pub nodes: Nodes,
    controllers: JoinHandle<()>,
}

impl Drop for World {
    fn drop(&mut self) {
        self.controllers.abort();
    }
}

/// The name of a node.
pub fn node_name(number: usize) -> String {
    format!("node-{number:02}")
}

/// A node as it is at first.
pub fn node_spec(number: usize) -> NodeSpec {
    let labels =
        [(ZONE, "zone-0".to_owned()), (BLOCK, format!("block-{}", number / 6)), (RACK, format!("rack-{}", number / 3))];
    let allocatable = [("cpu", "32"), ("memory", "256Gi"), ("nvidia.com/gpu", "8"), ("pods", "12")];
    NodeSpec {
        name: node_name(number),
        labels: labels.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
        allocatable: allocatable.map(|(name, amount)| (name.to_owned(), amount.to_owned())).into(),
        ..NodeSpec::default()
    }
}

/// The labels that a node has at first, of those that a run changes.
pub fn first_labels(number: usize) -> BTreeMap<String, String> {
    node_spec(number).labels
}

/// What operator and scheduler are told.
pub fn configuration() -> Result<OperatorConfiguration, Error> {
    let level = |domain: &str, key: &str| json!({ "domain": domain, "key": key });
    let levels =
        [level("zone", ZONE), level("block", BLOCK), level("rack", RACK), level("host", "kubernetes.io/hostname")];
    let options = json!({ "holdSeconds": HOLD_SECONDS, "reserveAfter": 0 });
    let configuration = json!({
        "apiVersion": "operator.config.grove.io/v1alpha1", "kind": "OperatorConfiguration",
        "topologyAwareScheduling": { "enabled": true, "levels": levels },
        "scheduler": { "profiles": [{ "name": "trellis", "default": true, "config": options }] },
    });
    serde_json::from_value(configuration).map_err(|error| Error::Setup(error.to_string()))
}

impl World {
    /// A cluster in which nothing runs yet; all ids come from the seed.
    pub async fn new(api: Api) -> Result<Self, Error> {
        let setup = |what: &str, error: &dyn std::fmt::Display| Error::Setup(format!("{what}: {error}"));
        api.furnish().await.map_err(|status| setup("the objects of every cluster", &status.to_json()))?;
        let options =
            controllers::Options { autoscaler_period: Duration::from_hours(24), ..controllers::Options::default() };
        let controllers = tokio::spawn(controllers::run(api.clone(), options, std::future::pending()));
        let mut objects: Vec<Value> = Vec::new();
        for definition in trellis_api::crd::served().into_iter().chain(trellis_api::crd::kai()) {
            objects.push(serde_json::to_value(definition).map_err(|error| setup("a definition", &error))?);
        }
        objects.push(json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": SYSTEM } }));
        for (name, value, policy) in
            [("low", 10, "PreemptLowerPriority"), ("high", 100, "PreemptLowerPriority"), ("polite", 100, "Never")]
        {
            objects.push(json!({
                "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": { "name": name },
                "value": value, "preemptionPolicy": policy,
            }));
        }
        for object in &objects {
            api.create(&User::admin(), object).await.map_err(|status| setup("an object", &status.to_json()))?;
        }
        let client = Client::new(api.service(User::system("kubelets")), NAMESPACE);
        let options = nodes::Options {
            stop_after: Duration::from_secs(1),
            heartbeat: Duration::from_secs(20),
            now: now(&api),
            ..nodes::Options::default()
        };
        let specs = (0..NODES).map(node_spec).collect();
        let nodes = Nodes::start(client, specs, options, |_| ()).await.map_err(|error| setup("the nodes", &error))?;
        Ok(Self { api, nodes, controllers })
    }

    /// An API whose time is virtual, and whose ids come from the seed.
    pub fn api(seed: u64) -> Api {
        let clock = Clock::starting_at(jiff::Timestamp::from_second(1_767_225_600).unwrap_or_default());
        let behaviour = Behaviour { service_accounts: false, taint_new_nodes: true };
        Api::new(Options { clock, entropy: Entropy::seeded(seed), behaviour, ..Options::default() })
    }

    /// Sends a request as the administrator; code and answer.
    pub async fn send(&self, method: Method, path: &str, body: &Value) -> (u16, Value) {
        send(&self.api, method, path, body).await
    }

    /// Names of the objects on a shelf of the one namespace.
    pub fn names(&self, shelf: &str) -> Vec<String> {
        let snapshot = self.api.store().list(&shelf.into(), Some(NAMESPACE));
        snapshot.objects.into_iter().map(|(key, _)| key.name).collect()
    }
}

/// Sends a request as the administrator; code and answer.
pub async fn send(api: &Api, method: Method, path: &str, body: &Value) -> (u16, Value) {
    let media = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    let request = Request::builder().method(method).uri(path).header("content-type", media);
    let Ok(request) = request.body(Bytes::from(body.to_string())) else { return (400, Value::Null) };
    let answer = api.handle(&User::admin(), request).await;
    let code = answer.status().as_u16();
    let Ok(text) = answer.into_body().collect().await;
    (code, serde_json::from_slice(&text.to_bytes()).unwrap_or_default())
}

/// What time it is in this world.
pub fn now(api: &Api) -> Now {
    let clock = api.clock();
    Arc::new(move || clock.now())
}
