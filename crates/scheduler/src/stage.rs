//! For tests: an embedded API with two nodes, a gang and its two pods, and faults on the way there. Time is the runtime's own.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use serde_json::{Value, json};
use trellis_api::crd;
use trellis_cluster::api::{Api, Options};
use trellis_cluster::clock::Clock;
use trellis_cluster::entropy::Entropy;
use trellis_cluster::faults::Faults;
use trellis_cluster::user::User;
use trellis_controller::Now;

use crate::index::Index;
use crate::view::View;
use crate::watches;

/// The oldest view that is acted on here.
pub const MAX_AGE: Duration = Duration::from_secs(6);
/// More than any answer takes here.
pub const MOMENT: Duration = Duration::from_millis(50);

pub struct Stage {
    pub api: Api,
    pub faults: Faults,
    pub index: Arc<Index>,
    pub view: Arc<View>,
    pub now: Now,
}

impl Stage {
    /// An API of its own; with our kinds, or without.
    pub async fn new(faults: Faults, has_kinds: bool) -> Self {
        let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().expect("a time"));
        let api = Api::new(Options { clock, entropy: Entropy::seeded(1), ..Options::default() });
        api.furnish().await.expect("the objects of every cluster");
        let year = Duration::from_hours(24 * 365);
        let controllers = trellis_cluster::controllers::Options {
            node_grace: year,
            node_startup_grace: year,
            ..trellis_cluster::controllers::Options::default()
        };
        tokio::spawn(trellis_cluster::controllers::run(api.clone(), controllers, std::future::pending()));
        let view = Arc::new(View::new(MAX_AGE, &watches::KINDS));
        let stage = Self { api, faults, index: Arc::default(), view, now: Arc::new(move || clock.now()) };
        if has_kinds {
            stage.define().await;
        }
        stage
    }

    /// Applies our definitions and KAI's.
    pub async fn define(&self) {
        for definition in crd::own().into_iter().chain(crd::kai()) {
            self.create(serde_json::to_value(definition).expect("JSON")).await;
        }
        tokio::time::sleep(MOMENT).await;
    }

    /// A client that suffers from the faults.
    pub fn client(&self) -> Client {
        Client::new(self.faults.around(self.api.service(User::admin())), "default")
    }

    pub async fn create(&self, object: Value) -> Value {
        let name = object["metadata"]["name"].clone();
        self.api.create(&User::admin(), &object).await.unwrap_or_else(|status| panic!("{name}: {}", status.message))
    }

    /// What the API answers to a request that nothing can happen to.
    pub async fn ask(&self, method: &str, path: &str, body: Option<(&str, Value)>) -> Value {
        let (media, body) = body.map_or(("application/json", String::new()), |(media, body)| (media, body.to_string()));
        let request = http::Request::builder().method(method).uri(path).header("content-type", media);
        let client = Client::new(self.api.service(User::admin()), "default");
        let text = client.request_text(request.body(body.into_bytes()).expect("a request")).await;
        text.map_or(Value::Null, |text| serde_json::from_str(&text).expect("JSON"))
    }

    pub async fn pod(&self, name: &str) -> Value {
        self.ask("GET", &format!("/api/v1/namespaces/default/pods/{name}"), None).await
    }

    pub async fn gang(&self, name: &str) -> Value {
        self.ask("GET", &format!("/apis/scheduler.grove.io/v1alpha1/namespaces/default/podgangs/{name}"), None).await
    }
}

pub fn node(name: &str, rack: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": { "name": name, "labels": { "rack": rack } },
        "status": { "allocatable": { "cpu": "8", "pods": "110" } },
    })
}

pub fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": name, "namespace": "default" },
        "spec": { "schedulerName": "trellis", "containers": [{ "name": "c", "image": "i" }] },
    })
}

pub fn gang(name: &str, pods: &[&str]) -> Value {
    let references: Vec<Value> = pods.iter().map(|pod| json!({ "namespace": "default", "name": pod })).collect();
    json!({
        "apiVersion": "scheduler.grove.io/v1alpha1", "kind": "PodGang",
        "metadata": { "name": name, "namespace": "default" },
        "spec": { "podgroups": [{ "name": "all", "podReferences": references, "minReplicas": pods.len() }] },
    })
}
