//! Nodes that fall silent: neither their lease nor their heartbeat moves for the grace period, so nothing is known of them, they are
//! tainted, and their pods count as not ready. When they speak again, the taints go.
//!
//! When a node was last heard of is when it was heard of *here*: its own clock does not matter. Nodes that never spoke, having neither
//! a Ready condition nor a lease, are left alone; only `spec.unschedulable` shows in their taints.

mod taints;

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::Options;
use super::agenda::Agenda;
use super::follow::{Follow, News, each};
use super::objects;
use super::placed::node_of;
use super::tell::tell;
use crate::api::Api;
use crate::builtin;
use crate::status::Status;
use crate::store::{Key, Object, Shelf};
use crate::verbs::Call;
use crate::verbs::wanted::Rewrite;

const CONTROLLER: &str = "node-controller";

/// The namespace of the leases of nodes.
const LEASE_NAMESPACE: &str = "kube-node-lease";

/// The conditions of which nothing is known when a node is silent.
const CONDITIONS: [&str; 4] = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/// What is known of the life of a node.
#[derive(Debug)]
struct Heard {
    /// When it was last heard of.
    at: Instant,
    lease: Option<Value>,
    heartbeat: Option<Value>,
}

pub(super) async fn run(api: Api, options: Options) {
    let mut nodes = Follow::new(&api.store, objects::NODES);
    let mut leases = Follow::new(&api.store, objects::LEASES).within(LEASE_NAMESPACE);
    let mut watcher = Watcher { api, options, heard: HashMap::new(), agenda: Agenda::new(), start: Instant::now() };
    loop {
        tokio::select! {
            biased;
            due = watcher.agenda.due() => watcher.look(due).await,
            news = nodes.next() => watcher.learn_nodes(news),
            news = leases.next() => watcher.learn_leases(news),
        }
    }
}

struct Watcher {
    api: Api,
    options: Options,
    heard: HashMap<String, Heard>,
    agenda: Agenda<String>,
    start: Instant,
}

impl Watcher {
    fn learn_nodes(&mut self, news: News) {
        if let News::All(nodes) = &news {
            let there: BTreeSet<&str> = nodes.iter().map(|(key, _)| key.name.as_str()).collect();
            self.heard.retain(|name, _| there.contains(name.as_str()));
        }
        for (key, node) in each(news) {
            match node {
                Some(node) => {
                    self.hear_heartbeat(&key.name, &node);
                    self.agenda.now(key.name);
                }
                None => {
                    self.heard.remove(&key.name);
                    self.agenda.cancel(&key.name);
                }
            }
        }
    }

    fn learn_leases(&mut self, news: News) {
        for (key, lease) in each(news) {
            if let Some(lease) = lease {
                self.hear_lease(&key.name, &lease);
            }
        }
    }

    fn hear_heartbeat(&mut self, name: &str, node: &Object) {
        let node = objects::read(node);
        let heartbeat = objects::condition(&node, "Ready").map(|ready| ready["lastHeartbeatTime"].clone());
        if let Some(heartbeat) = heartbeat {
            let heard = self.heard(name);
            if heard.heartbeat.as_ref() != Some(&heartbeat) {
                *heard = Heard { at: Instant::now(), heartbeat: Some(heartbeat), lease: heard.lease.take() };
            }
        }
    }

    fn hear_lease(&mut self, name: &str, lease: &Object) {
        let renewed = objects::read(lease)["spec"]["renewTime"].take();
        let heard = self.heard(name);
        if heard.lease.as_ref() != Some(&renewed) {
            *heard = Heard { at: Instant::now(), lease: Some(renewed), heartbeat: heard.heartbeat.take() };
            let key = Key { namespace: String::new(), name: name.to_owned() };
            // Who is being watched already is looked at when its time has come; most renewals end here.
            if !self.agenda.has(&key.name) && self.api.store.get(&objects::NODES.into(), &key).is_some() {
                self.agenda.now(key.name);
            }
        }
    }

    fn heard(&mut self, name: &str) -> &mut Heard {
        let unheard = || Heard { at: Instant::now(), lease: None, heartbeat: None };
        self.heard.entry(name.to_owned()).or_insert_with(unheard)
    }

    async fn look(&mut self, due: Vec<String>) {
        let mut dark = BTreeSet::new();
        for name in due {
            match self.look_at(&name).await {
                Ok(Look { again, went_dark }) => {
                    self.agenda.note(name.clone(), Ok(()));
                    again.into_iter().for_each(|when| self.agenda.by(name.clone(), when));
                    if went_dark {
                        dark.insert(name);
                    }
                }
                Err(status) => self.agenda.note(name, Err(status)),
            }
        }
        if !dark.is_empty() {
            darken_pods(&self.api, &dark).await;
        }
    }

    /// Brings a node in line with what is known of it.
    async fn look_at(&mut self, name: &str) -> Result<Look, Status> {
        let key = Key { namespace: String::new(), name: name.to_owned() };
        let Some(call) = objects::call(&self.api, CONTROLLER, objects::NODES, &key) else { return Ok(Look::default()) };
        let Some(mut node) = call.found().await? else { return Ok(Look::default()) };
        // News may lie waiting; what stands in the store counts.
        let lease = Key { namespace: LEASE_NAMESPACE.to_owned(), name: name.to_owned() };
        if let Some(lease) = self.api.store.get(&objects::LEASES.into(), &lease) {
            self.hear_lease(name, &lease);
        }
        let mut look = Look::default();
        if let Some(ends) = self.silent_at(name, &node) {
            if ends > Instant::now() {
                look.again = Some(self.tick_after(ends));
            } else if let Some(dark) = darkened(&node, &self.api.clock.stamp()) {
                look.went_dark = objects::is_true(&node, "Ready");
                if look.went_dark {
                    let message = format!("Node {name} status is now: NodeNotReady");
                    tell(&self.api, CONTROLLER, &node, "Normal", "NodeNotReady", &message).await;
                }
                // The news about this write lead here again, for the taints.
                objects::put(&status_of(&self.api, &key)?, dark).await?;
                return Ok(look);
            }
        }
        if taints::follow(&mut node, &self.api.clock.stamp()) {
            objects::put(&call, node).await?;
        }
        Ok(look)
    }

    /// When a node will have been silent for too long; never if it never spoke.
    fn silent_at(&self, name: &str, node: &Value) -> Option<Instant> {
        let heard = self.heard.get(name)?;
        let spoke = objects::condition(node, "Ready").is_some();
        if !spoke && heard.lease.is_none() {
            return None;
        }
        Some(heard.at + if spoke { self.options.node_grace } else { self.options.node_startup_grace })
    }

    /// Nodes are looked at in step, so that many that fall silent together are dealt with together.
    fn tick_after(&self, when: Instant) -> Instant {
        let period = self.options.node_period.max(Duration::from_millis(1)).as_nanos();
        let ticks = when.saturating_duration_since(self.start).as_nanos().div_ceil(period);
        let nanos = u64::try_from(ticks.saturating_mul(period)).unwrap_or(u64::MAX);
        self.start + Duration::from_nanos(nanos)
    }
}

/// What came of looking at a node.
#[derive(Debug, Default)]
struct Look {
    again: Option<Instant>,
    went_dark: bool,
}

fn status_of(api: &Api, key: &Key) -> Result<Call, Status> {
    let call = objects::call(api, CONTROLLER, objects::NODES, key).ok_or_else(Status::no_such_path)?;
    Ok(call.through("status"))
}

/// The node with conditions that say that nothing is known; nothing if they say so already.
fn darkened(node: &Value, now: &str) -> Option<Value> {
    let mut dark = node.clone();
    let mut conditions = node["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let mut changed = false;
    for kind in CONDITIONS {
        match conditions.iter_mut().find(|condition| condition["type"] == kind) {
            Some(condition) if condition["status"] == "Unknown" => continue,
            Some(condition) => {
                condition["status"] = "Unknown".into();
                condition["reason"] = "NodeStatusUnknown".into();
                condition["message"] = "Kubelet stopped posting node status.".into();
                condition["lastTransitionTime"] = now.into();
            }
            None => conditions.push(json!({
                "type": kind, "status": "Unknown", "reason": "NodeStatusNeverUpdated",
                "message": "Kubelet never posted node status.",
                "lastHeartbeatTime": node["metadata"]["creationTimestamp"], "lastTransitionTime": now,
            })),
        }
        changed = true;
    }
    if !dark["status"].is_object() {
        dark["status"] = json!({});
    }
    dark["status"]["conditions"] = conditions.into();
    changed.then_some(dark)
}

/// Pods of nodes of which nothing is known are not ready. One pass over the pods, however many nodes.
async fn darken_pods(api: &Api, nodes: &BTreeSet<String>) {
    let shelf: Shelf = objects::PODS.into();
    let pods = api.store.list(&shelf, None).objects;
    for (key, _) in pods.into_iter().filter(|(_, pod)| nodes.contains(node_of(pod))) {
        if let Err(status) = darken_pod(api, &key).await {
            tracing::warn!(pod = %key.name, %status, "a pod of a silent node could not be marked");
        }
    }
}

async fn darken_pod(api: &Api, key: &Key) -> Result<(), Status> {
    let Some(call) = objects::call(api, CONTROLLER, objects::PODS, key) else { return Ok(()) };
    let call = call.through("status");
    // The kubelet may write at the same time, and then say that it is not silent after all.
    while let Some(mut pod) = call.found().await?
        && objects::condition(&pod, "Ready").is_some_and(|ready| ready["status"] != "False")
    {
        let mut ready = objects::condition(&pod, "Ready").cloned().unwrap_or_default();
        ready["status"] = "False".into();
        builtin::set_condition(&mut pod, ready, &api.clock.stamp());
        match call.rewrite(&Rewrite::Put(pod)).await {
            Ok((_, pod)) => {
                tell(api, CONTROLLER, &pod, "Warning", "NodeNotReady", "Node is not ready").await;
                return Ok(());
            }
            Err(status) if status.reason == "Conflict" => {}
            Err(status) => return objects::faster(Err(status)),
        }
    }
    Ok(())
}
