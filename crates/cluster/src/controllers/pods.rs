//! Pods that nobody looks after go: those of nodes that do not exist, those that end without ever having had a node, and the oldest
//! of those that are done when there are too many.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;
use tokio::time::Instant;

use super::Options;
use super::agenda::Agenda;
use super::follow::{Follow, News, each};
use super::objects;
use super::placed::{Placed, node_of};
use crate::api::Api;
use crate::status::Status;
use crate::store::{Key, Object};
use crate::verbs::delete;
use crate::verbs::metadata::{is_deleting, text};

const CONTROLLER: &str = "pod-garbage-collector";
const REASON: &str = "DeletionByPodGC";
const MESSAGE: &str = "PodGC: node no longer exists";

pub(super) async fn run(api: Api, options: Options) {
    let mut nodes = Follow::new(&api.store, objects::NODES);
    let mut pods = Follow::new(&api.store, objects::PODS);
    let mut sweeper = Sweeper { api, options, placed: Placed::default(), done: Done::default(), agenda: Agenda::new() };
    loop {
        tokio::select! {
            biased;
            due = sweeper.agenda.due() => for task in due {
                let result = sweeper.look(&task).await;
                sweeper.agenda.note(task, result);
            },
            news = nodes.next() => sweeper.learn_nodes(news),
            news = pods.next() => sweeper.learn_pods(news),
        }
    }
}

/// What there is to look at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Task {
    /// The pods of a node that did not exist a while ago.
    Node(String),
    /// A pod that ends and has no node.
    Unplaced(Key),
    /// The pods that are done.
    Done,
}

/// Pods that are done, in the order in which they go: evicted ones first, then the oldest.
#[derive(Debug, Default)]
struct Done {
    order: BTreeSet<(Rank, Key)>,
    ranks: HashMap<Key, Rank>,
}

/// Whether a pod was not evicted, and when it was made.
type Rank = (bool, String);

struct Sweeper {
    api: Api,
    options: Options,
    placed: Placed,
    done: Done,
    agenda: Agenda<Task>,
}

impl Sweeper {
    fn learn_nodes(&mut self, news: News) {
        match news {
            News::All(_) => {
                let lost: Vec<String> =
                    self.placed.nodes().filter(|node| !self.exists(node)).map(str::to_owned).collect();
                lost.into_iter().for_each(|node| self.suspect(node));
            }
            News::Changes(changes) => {
                for change in changes.iter().filter(|change| change.deleted) {
                    self.suspect(change.key.name.clone());
                }
            }
        }
    }

    fn learn_pods(&mut self, news: News) {
        self.placed.learn(&news);
        if let News::All(_) = news {
            self.done = Done::default();
        }
        for (key, pod) in each(news) {
            let Some(pod) = pod else {
                self.done.forget(&key);
                self.agenda.cancel(&Task::Unplaced(key));
                continue;
            };
            let node = node_of(&pod);
            if node.is_empty() {
                if objects::is_going(&pod) {
                    self.agenda.by(Task::Unplaced(key.clone()), Instant::now() + self.options.pod_period);
                }
            } else if !self.exists(node) {
                self.suspect(node.to_owned());
            }
            self.done.learn(&key, &pod);
        }
        if self.done.order.len() > self.options.done_pods {
            self.agenda.by(Task::Done, Instant::now() + self.options.pod_period);
        }
    }

    fn exists(&self, node: &str) -> bool {
        let key = Key { namespace: String::new(), name: node.to_owned() };
        self.api.store.get(&objects::NODES.into(), &key).is_some()
    }

    /// A node that is missing may yet come: it is looked for once more after a while.
    fn suspect(&mut self, node: String) {
        self.agenda.by(Task::Node(node), Instant::now() + self.options.orphan_quarantine);
    }

    async fn look(&mut self, task: &Task) -> Result<(), Status> {
        match task {
            Task::Node(node) if self.exists(node) => Ok(()),
            Task::Node(node) => {
                let pods: Vec<Key> = self.placed.on(node).cloned().collect();
                for key in pods {
                    self.sweep(&key, Some(node)).await?;
                }
                Ok(())
            }
            Task::Unplaced(key) => self.sweep(key, None).await,
            Task::Done => {
                let many = self.done.order.len().saturating_sub(self.options.done_pods);
                let oldest: Vec<Key> = self.done.order.iter().take(many).map(|(_, key)| key.clone()).collect();
                for key in oldest {
                    if let Some(pod) = self.api.store.get(&objects::PODS.into(), &key) {
                        force(&self.api, &key, &objects::read(&pod), false).await?;
                    }
                }
                Ok(())
            }
        }
    }

    /// Deletes a pod of a node that is not there, or one that ends without a node.
    async fn sweep(&self, key: &Key, node: Option<&str>) -> Result<(), Status> {
        let Some(pod) = self.api.store.get(&objects::PODS.into(), key) else { return Ok(()) };
        let value = objects::read(&pod);
        let meant = match node {
            Some(node) => node_of(&pod) == node,
            None => node_of(&pod).is_empty() && is_deleting(&value),
        };
        if meant { force(&self.api, key, &value, node.is_some()).await } else { Ok(()) }
    }
}

/// Deletes a pod without waiting for a kubelet. One that was not done has failed.
async fn force(api: &Api, key: &Key, pod: &Value, lost: bool) -> Result<(), Status> {
    let done = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    if !done && let Some(call) = objects::call(api, CONTROLLER, objects::PODS, key) {
        let why = lost.then_some((REASON, MESSAGE));
        objects::disrupt(&call.through("status"), pod, why, true).await?;
    }
    let Some(call) = objects::call(api, CONTROLLER, objects::PODS, key) else { return Ok(()) };
    let uid = Some(text(pod, "uid").to_owned());
    let options = delete::Options { grace_seconds: Some(0), uid, ..delete::Options::default() };
    objects::faster(call.erase(&options).await.map(drop))
}

impl Done {
    fn learn(&mut self, key: &Key, pod: &Object) {
        if !matches!(pod.index.field("status.phase"), "Succeeded" | "Failed") {
            self.forget(key);
            return;
        }
        if !self.ranks.contains_key(key) {
            let pod = objects::read(pod);
            let rank = (pod["status"]["reason"] != "Evicted", text(&pod, "creationTimestamp").to_owned());
            self.order.insert((rank.clone(), key.clone()));
            self.ranks.insert(key.clone(), rank);
        }
    }

    fn forget(&mut self, key: &Key) {
        if let Some(rank) = self.ranks.remove(key) {
            self.order.remove(&(rank, key.clone()));
        }
    }
}
