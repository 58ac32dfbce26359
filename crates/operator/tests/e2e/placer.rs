//! Who places the pods of a scenario: the stand-in, or the scheduler itself on nodes that take one of the usual pods each.
//!
//! To the stand-in nodes are opened and closed by telling it; to the scheduler they are uncordoned and cordoned, as people do it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::join_all;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use trellis_cluster::nodes::Now;
use trellis_lifecycle::Kind;
use trellis_scheduler::seen::{ByKey, Seen};
use trellis_scheduler::{Options, Scheduler, Settings};

use crate::binder::{Binder, Versions};

/// Which of them it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placing {
    StandIn,
    Ours,
}

/// One that runs.
pub enum Placer {
    StandIn(Binder),
    Ours(Ours),
}

/// The scheduler, and the nodes that are opened and closed to it.
pub struct Ours {
    client: Client,
    namespace: String,
    scheduler: Arc<Running>,
}

/// A scheduler that runs until nobody uses it any more.
pub struct Running {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
    told: Arc<Told>,
    /// What it has seen.
    seen: Box<dyn Fn() -> Seen + Send + Sync>,
}

/// Nodes that are being closed, or opened, and whether it was seen. Each is an object of its own, and a scenario opens several at one
/// moment: until all of that is seen, nothing is decided.
#[derive(Default)]
struct Told(Mutex<BTreeMap<String, bool>>);

impl Told {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, bool>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, nodes: &[String], closed: bool) {
        self.lock().extend(nodes.iter().map(|node| (node.clone(), closed)));
    }

    fn is_seen(&self, seen: &Seen) -> bool {
        let is_closed = |node: &str| {
            let spec = seen.nodes.get(node)?.spec.as_ref();
            Some(spec.and_then(|spec| spec.unschedulable).unwrap_or(false))
        };
        let mut told = self.lock();
        told.retain(|node, closed| is_closed(node) != Some(*closed));
        told.is_empty()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        self.task.abort();
    }
}

impl Running {
    /// Starts a scheduler that serves its own name, alone.
    pub async fn start(client: Client, now: Now) -> Self {
        let told: Arc<Told> = Arc::default();
        let is_whole = {
            let told = Arc::clone(&told);
            Arc::new(move |seen: &Seen| told.is_seen(seen))
        };
        let options = Options { now, is_whole, ..Options::new(Settings::default(), "scheduler-1".to_owned()) };
        let scheduler = Scheduler::start(client, options).await.expect("the scheduler starts");
        let seen = Box::new(scheduler.seen());
        let (stop, mut stopped) = watch::channel(false);
        let task = tokio::spawn(async move {
            let until = async move { drop(stopped.wait_for(|stop| *stop).await) };
            scheduler.run(until).await.expect("it runs until it is told to stop");
        });
        Self { stop, task, told, seen }
    }
}

impl Placer {
    /// The stand-in for one namespace.
    pub fn stand_in(client: &Client, namespace: &str, now: Now) -> Self {
        Self::StandIn(Binder::start(client, namespace, now))
    }

    /// The scheduler, which may serve others as well.
    pub fn ours(client: &Client, namespace: &str, scheduler: Arc<Running>) -> Self {
        Self::Ours(Ours { client: client.clone(), namespace: namespace.to_owned(), scheduler })
    }

    /// Lets it use these nodes.
    pub async fn open(&self, nodes: Vec<String>) {
        match self {
            Self::StandIn(binder) => binder.open(nodes),
            Self::Ours(ours) => ours.cordon(&nodes, false).await,
        }
    }

    /// Keeps it from these nodes. Pods that are there stay.
    pub async fn close(&self, nodes: Vec<String>) {
        match self {
            Self::StandIn(binder) => binder.close(nodes),
            Self::Ours(ours) => ours.cordon(&nodes, true).await,
        }
    }

    /// Waits until it knows of what it was told.
    pub async fn told(&self) {
        match self {
            Self::StandIn(binder) => drop(binder.settled().await),
            // It would be wrong to lean on that: whoever is placed on a node that is being closed was placed before.
            Self::Ours(_) => {}
        }
    }

    /// Says what it has seen, the stand-in once that is dealt with. The scheduler is at work for others too, and says so at once.
    pub async fn settled(&self) -> Versions {
        match self {
            Self::StandIn(binder) => binder.settled().await,
            Self::Ours(ours) => ours.seen(),
        }
    }

    /// What the stand-in goes by.
    pub const KINDS: [Kind; 3] = Binder::KINDS;
}

impl Ours {
    /// The versions of its kinds, in the namespace of the scenario.
    fn seen(&self) -> Versions {
        fn of<T: ResourceExt>(kind: Kind, namespace: &str, objects: &ByKey<T>) -> Versions {
            let ours = objects.iter().filter(|(key, _)| *key.namespace == *namespace);
            let version = |object: &T| object.resource_version().unwrap_or_default();
            ours.map(|(key, object)| ((kind, key.name.to_string()), version(object))).collect()
        }
        let seen = (self.scheduler.seen)();
        let mut versions = of(Kind::Pod, &self.namespace, &seen.pods);
        versions.extend(of(Kind::PodGang, &self.namespace, &seen.pod_gangs));
        versions.extend(of(Kind::KaiPodGroup, &self.namespace, &seen.pod_groups));
        versions
    }

    async fn cordon(&self, nodes: &[String], closed: bool) {
        assert!(!self.scheduler.task.is_finished(), "the scheduler has ended");
        self.scheduler.told.tell(nodes, closed);
        cordon(&self.client, nodes, closed).await;
    }
}

/// Closes nodes, or opens them.
pub async fn cordon(client: &Client, nodes: &[String], closed: bool) {
    let api: Api<Node> = Api::all(client.clone());
    let patch = Patch::Merge(json!({ "spec": { "unschedulable": closed } }));
    let params = PatchParams::default();
    let patched = join_all(nodes.iter().map(|node| api.patch(node, &params, &patch))).await;
    patched.into_iter().for_each(|patched| drop(patched.expect("a node")));
}

/// What nodes offer: much, to pods that the stand-in puts one on each, and to the scheduler a place for one of the usual pods.
pub fn offers(placing: Placing) -> BTreeMap<String, String> {
    let (memory, pods) = match placing {
        Placing::StandIn => ("1Ti", "10k"),
        Placing::Ours => ("150Mi", "110"),
    };
    let offered = [("cpu", "1k"), ("memory", memory), ("pods", pods), ("nvidia.com/gpu", "8")];
    offered.map(|(resource, amount)| (resource.to_owned(), amount.to_owned())).into()
}
