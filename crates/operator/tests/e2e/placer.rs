//! Who places the pods of a scenario: the stand-in, or the scheduler itself on nodes that take one of the usual pods each.
//!
//! To the stand-in nodes are opened and closed by telling it; to the scheduler they are uncordoned and cordoned, as people do it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use trellis_cluster::nodes::Now;
use trellis_lifecycle::Kind;
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
    scheduler: Arc<Running>,
}

/// A scheduler that runs until nobody uses it any more.
pub struct Running {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        self.task.abort();
    }
}

impl Running {
    /// Starts a scheduler that serves its own name, alone. Where nodes are opened one after the other, it looks once all are.
    pub async fn start(client: Client, now: Now, gather: Duration) -> Self {
        let mut options = Options::new(Settings::default(), "scheduler-1".to_owned());
        (options.now, options.gather) = (now, gather);
        let scheduler = Scheduler::start(client, options).await.expect("the scheduler starts");
        let (stop, mut stopped) = watch::channel(false);
        let task = tokio::spawn(async move {
            let until = async move { drop(stopped.wait_for(|stop| *stop).await) };
            scheduler.run(until).await.expect("it runs until it is told to stop");
        });
        Self { stop, task }
    }
}

impl Placer {
    /// The stand-in for one namespace.
    pub fn stand_in(client: &Client, namespace: &str, now: Now) -> Self {
        Self::StandIn(Binder::start(client, namespace, now))
    }

    /// The scheduler, which may serve others as well.
    pub fn ours(client: &Client, scheduler: Arc<Running>) -> Self {
        Self::Ours(Ours { client: client.clone(), scheduler })
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

    /// Waits until all that it has seen is dealt with, and says what that was; the scheduler does not tell.
    pub async fn settled(&self) -> Option<Versions> {
        match self {
            Self::StandIn(binder) => Some(binder.settled().await),
            Self::Ours(_) => None,
        }
    }

    /// What the stand-in goes by.
    pub const KINDS: [Kind; 3] = Binder::KINDS;
}

impl Ours {
    async fn cordon(&self, nodes: &[String], closed: bool) {
        assert!(!self.scheduler.task.is_finished(), "the scheduler has ended");
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
