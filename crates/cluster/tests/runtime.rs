//! What kube-rs makes of the API when the way to it is bad: a controller with a finalizer, a recorder of events, holders of a lease, a
//! reflector and a strict follower run behind faults while a client without faults changes objects, until ten thousand changes happened.
//!
//! No change may be lost and none may come out of order. `TRELLIS_SEED` chooses other faults, `TRELLIS_LONG` ten times as many changes.
//! Time is the runtime's own: nothing waits for a real clock. The seed decides the changes and what each client's requests suffer; by
//! chance remains which of several waiting objects kube-rs' controller takes first, and when a holder of the lease tries again.

#[path = "runtime/controller.rs"]
mod controller;
#[path = "runtime/driver.rs"]
mod driver;
#[path = "runtime/follower.rs"]
mod follower;
#[path = "runtime/lease.rs"]
mod lease;
#[path = "runtime/trouble.rs"]
mod trouble;
#[path = "runtime/truth.rs"]
mod truth;

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt as _;
use kube::api::{Api, ApiResource, DynamicObject, ListParams, PostParams, WatchEvent, WatchParams};
use kube::runtime::reflector::{self, Store};
use kube::runtime::utils::Backoff;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Client, ResourceExt as _};
use serde_json::json;
use trellis_cluster::api::{self, Options};
use trellis_cluster::clock::Clock;
use trellis_cluster::entropy::Entropy;
use trellis_cluster::faults::{Fault, Faults};
use trellis_cluster::user::User;

use trouble::Trouble;
use truth::Truth;

const SEED: u64 = 20_260_731;
const CHANGES: usize = 10_000;
const LEASE_CHANGES: usize = 200;

/// The group of the kind that everything is about.
pub const GROUP: &str = "runtime.example.com";
/// Where the objects are.
pub const NAMESPACE: &str = "default";

/// When everything is quiet, this is more than enough to catch up.
const PATIENCE: Duration = Duration::from_hours(2);
const TICK: Duration = Duration::from_millis(500);

/// Gauges: a size is wanted, and the status says which one was seen.
pub fn gauges() -> ApiResource {
    ApiResource {
        group: GROUP.to_owned(),
        version: "v1".to_owned(),
        api_version: format!("{GROUP}/v1"),
        kind: "Gauge".to_owned(),
        plural: "gauges".to_owned(),
    }
}

async fn furnished(seed: u64) -> api::Api {
    let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().expect("a time"));
    let api = api::Api::new(Options { clock, entropy: Entropy::seeded(seed), ..Options::default() });
    api.furnish().await.expect("the objects of every cluster");
    let size = json!({"type": "object", "properties": {"size": {"type": "integer"}}});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("gauges.{GROUP}")},
        "spec": {
            "group": GROUP, "scope": "Namespaced", "names": {"plural": "gauges", "singular": "gauge", "kind": "Gauge"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": size, "status": size}}},
            }],
        },
    });
    api.create(&User::admin(), &definition).await.expect("a definition");
    api
}

/// The seed, and by how much the tests are longer than usual.
fn wanted() -> (u64, usize) {
    let seed = std::env::var("TRELLIS_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(SEED);
    println!("seed {seed}");
    (seed, if std::env::var_os("TRELLIS_LONG").is_some() { 10 } else { 1 })
}

#[tokio::test(start_paused = true)]
async fn nothing_is_lost_and_nothing_out_of_order_behind_faults() {
    let (seed, times) = wanted();
    let changes = CHANGES * times;
    let api = furnished(seed).await;
    let clean = Client::new(api.service(User::admin()), NAMESPACE);
    let trouble = Trouble::new(seed);
    let truth = Truth::follow(&api, "gauges.runtime.example.com");
    let gauges = Api::<DynamicObject>::namespaced_with(clean.clone(), NAMESPACE, &gauges());

    let controller = controller::run(trouble.client(&api, "controller"));
    let follower = follower::run(trouble.client(&api, "follower"));
    let reflectors = [
        reflector(trouble.client(&api, "pages"), watcher::Config::default().page_size(10)),
        reflector(trouble.client(&api, "stream"), watcher::Config::default().streaming_lists()),
    ];
    let disturber = trouble.disturb();

    driver::change(&gauges, seed, || truth.len() < changes).await;

    drop(disturber);
    trouble.end();
    let listed = settled(&gauges, &controller).await;
    let version = api.store().revision();
    for (at, (store, _task)) in reflectors.iter().enumerate() {
        eventually("a reflector agrees with the API", async || versions(&store.state()) == listed).await;
        assert_eq!(versions(&store.state()), listed, "reflector {at}");
    }
    emptied(&gauges).await;
    eventually("the reflectors are empty", async || reflectors.iter().all(|(store, _)| store.state().is_empty())).await;
    let truth = truth.stop();
    follower.check(&truth, version).await;
    controller.check(&clean, &truth).await;
    println!(
        "{} changes of gauges, {} requests of which {} suffered",
        truth.len(),
        trouble.requests(),
        trouble.suffered()
    );
}

#[tokio::test(start_paused = true)]
async fn one_holds_the_lease_at_a_time_behind_faults() {
    let (seed, times) = wanted();
    let api = furnished(seed).await;
    let clean = Client::new(api.service(User::admin()), NAMESPACE);
    let trouble = Trouble::new(seed);
    let leases = Truth::follow(&api, "leases.coordination.k8s.io");
    let holders = lease::contend(&clean, [trouble.client(&api, "left"), trouble.client(&api, "right")]).await;
    let disturber = trouble.disturb();
    eventually("the lease has changed often", async || leases.len() > LEASE_CHANGES * times).await;
    drop(disturber);
    trouble.end();
    holders.stop().await;
    lease::check(&leases.stop());
}

#[tokio::test(start_paused = true)]
async fn a_delayed_request_is_lost_with_its_connection() {
    let api = furnished(SEED).await;
    let faults = Faults::decided(|_| Fault::Delay(TICK * 2));
    let client = Client::new(faults.around(api.service(User::admin())), NAMESPACE);
    let gauges = Api::<DynamicObject>::namespaced_with(client, NAMESPACE, &gauges());
    let list = tokio::spawn(async move { gauges.list(&ListParams::default()).await });
    tokio::time::sleep(TICK).await;
    faults.disconnect();
    faults.reconnect();
    assert!(list.await.expect("a task").is_err());
}

#[tokio::test(start_paused = true)]
async fn a_watch_outlives_those_who_could_cut_it() {
    let api = furnished(SEED).await;
    let clean = Client::new(api.service(User::admin()), NAMESPACE);
    let faults = Faults::none();
    let client = Client::new(faults.around(api.service(User::admin())), NAMESPACE);
    let watched = Api::<DynamicObject>::namespaced_with(client, NAMESPACE, &gauges());
    let mut events = Box::pin(watched.watch(&WatchParams::default().disable_bookmarks(), "0").await.expect("a watch"));
    drop((watched, faults));
    tokio::time::sleep(TICK).await;
    let gauges = Api::<DynamicObject>::namespaced_with(clean, NAMESPACE, &gauges());
    let gauge = DynamicObject::new("one", &self::gauges());
    gauges.create(&PostParams::default(), &gauge).await.expect("a gauge");
    let event = events.next().await;
    assert!(matches!(&event, Some(Ok(WatchEvent::Added(seen))) if seen.name_any() == "one"), "{event:?}");
}

/// Waits the same time after every failure, where the usual backoff throws dice of its own.
pub struct Steady;

impl Iterator for Steady {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        Some(Duration::from_millis(200))
    }
}

impl Backoff for Steady {
    fn reset(&mut self) {}
}

/// A task that ends with its owner.
pub struct Running(tokio::task::JoinHandle<()>);

impl Running {
    /// Starts it.
    pub fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(work))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Waits until it is so; the runtime's time passes at once when nobody has anything to do.
async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !holds().await {
            tokio::time::sleep(TICK).await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, waiting).await.is_ok(), "it never happens that {what}");
}

fn reflector(client: Client, config: watcher::Config) -> (Store<DynamicObject>, Running) {
    let gauges = Api::<DynamicObject>::namespaced_with(client, NAMESPACE, &gauges());
    let writer = reflector::store::Writer::new(self::gauges());
    let store = writer.as_reader();
    let events = reflector::reflector(writer, watcher(gauges, config)).backoff(Steady);
    (store, Running::spawn(events.for_each(|_| std::future::ready(()))))
}

fn versions(objects: &[std::sync::Arc<DynamicObject>]) -> BTreeMap<String, String> {
    objects.iter().map(|object| (object.name_any(), object.resource_version().unwrap_or_default())).collect()
}

/// Waits until every status agrees with its spec, and returns the versions of all objects.
async fn settled(gauges: &Api<DynamicObject>, controller: &controller::Controlled) -> BTreeMap<String, String> {
    eventually("every status agrees with its spec", async || {
        let objects = gauges.list(&ListParams::default()).await.expect("a list").items;
        let finalizer = |object: &DynamicObject| object.finalizers().iter().any(|name| name == controller::FINALIZER);
        objects.iter().all(|object| {
            object.data["status"]["size"] == object.data["spec"]["size"]
                && finalizer(object)
                && object.metadata.deletion_timestamp.is_none()
        })
    })
    .await;
    controller.idle().await;
    let objects = gauges.list(&ListParams::default()).await.expect("a list").items;
    assert!(!objects.is_empty());
    objects.iter().map(|object| (object.name_any(), object.resource_version().unwrap_or_default())).collect()
}

/// Deletes everything; the controller lets go of it.
async fn emptied(gauges: &Api<DynamicObject>) {
    gauges.delete_collection(&kube::api::DeleteParams::default(), &ListParams::default()).await.expect("a deletion");
    eventually("all objects are gone", async || {
        gauges.list(&ListParams::default()).await.expect("a list").items.is_empty()
    })
    .await;
}
