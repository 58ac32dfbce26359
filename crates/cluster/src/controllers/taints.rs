//! Pods that do not tolerate a `NoExecute` taint of their node are deleted: at once, or after the time for which they tolerate it.
//!
//! That time counts from when the taint was added, or from when the pod came to the node if that was later.

mod tolerations;

use std::collections::HashMap;

use jiff::Timestamp;
use serde_json::Value;

use super::agenda::Agenda;
use super::follow::{Follow, News, each};
use super::objects;
use super::placed::{Placed, node_of};
use super::tell::tell;
use crate::api::Api;
use crate::status::Status;
use crate::store::{Key, Object};
use crate::verbs::delete;
use crate::verbs::metadata::{is_deleting, text};
use tolerations::Stay;

const CONTROLLER: &str = "taint-eviction-controller";
const REASON: &str = "DeletionByTaintManager";
const MESSAGE: &str = "Taint manager: deleting due to NoExecute taint";

pub(super) async fn run(api: Api) {
    let mut nodes = Follow::new(&api.store, objects::NODES);
    let mut pods = Follow::new(&api.store, objects::PODS);
    let mut evictor = Evictor { api, placed: Placed::default(), tainted: HashMap::new(), agenda: Agenda::new() };
    loop {
        tokio::select! {
            biased;
            due = evictor.agenda.due() => for key in due {
                let result = evictor.look_at(&key).await;
                evictor.agenda.note(key, result);
            },
            news = nodes.next() => evictor.learn_nodes(news),
            news = pods.next() => evictor.learn_pods(news),
        }
    }
}

/// A taint that drives pods away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Taint {
    key: String,
    value: String,
    added: Timestamp,
}

struct Evictor {
    api: Api,
    placed: Placed,
    /// The nodes that have such taints.
    tainted: HashMap<String, Vec<Taint>>,
    agenda: Agenda<Key>,
}

impl Evictor {
    fn learn_nodes(&mut self, news: News) {
        if let News::All(nodes) = &news {
            let there: std::collections::HashSet<&str> = nodes.iter().map(|(key, _)| key.name.as_str()).collect();
            self.tainted.retain(|name, _| there.contains(name.as_str()));
        }
        for (Key { name, .. }, node) in each(news) {
            let known = self.tainted.remove(&name).unwrap_or_default();
            let taints = node.map(|node| self.taints(&node, &known)).unwrap_or_default();
            if taints != known {
                self.placed.on(&name).for_each(|pod| self.agenda.now(pod.clone()));
            }
            if !taints.is_empty() {
                self.tainted.insert(name, taints);
            }
        }
    }

    /// The taints of a node that drive pods away. One without a time counts from when it was seen first.
    fn taints(&self, node: &Object, known: &[Taint]) -> Vec<Taint> {
        let node = objects::read(node);
        let taints = node["spec"]["taints"].as_array().into_iter().flatten();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let taint = |taint: &Value| {
            let (key, value) = (text(&taint["key"]), text(&taint["value"]));
            let seen = known.iter().find(|known| known.key == key && known.value == value).map(|known| known.added);
            let added = objects::time(&taint["timeAdded"]).or(seen).unwrap_or_else(|| self.api.clock.now());
            Taint { key, value, added }
        };
        taints.filter(|taint| taint["effect"] == "NoExecute").map(taint).collect()
    }

    fn learn_pods(&mut self, news: News) {
        self.placed.learn(&news);
        for (key, pod) in each(news) {
            let on_tainted = pod.is_some_and(|pod| self.tainted.contains_key(node_of(&pod)));
            if on_tainted {
                self.agenda.now(key);
            } else {
                self.agenda.cancel(&key);
            }
        }
    }

    /// Deletes a pod that may not stay, and plans to come back for one that may stay for a while.
    async fn look_at(&mut self, key: &Key) -> Result<(), Status> {
        let Some(call) = objects::call(&self.api, CONTROLLER, objects::PODS, key) else { return Ok(()) };
        let Some(pod) = call.found().await?.filter(|pod| !is_deleting(pod)) else { return Ok(()) };
        let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
        let Some(taints) = self.tainted.get(node) else { return Ok(()) };
        match tolerations::stay(&pod, taints) {
            Stay::Forever => return Ok(()),
            Stay::Until(time) if time > self.api.clock.now() => {
                self.agenda.at(key.clone(), objects::instant(self.api.clock, time));
                return Ok(());
            }
            Stay::Until(_) | Stay::No => {}
        }
        if let Some(status) = objects::call(&self.api, CONTROLLER, objects::PODS, key) {
            objects::disrupt(&status.through("status"), &pod, Some((REASON, MESSAGE)), false).await?;
        }
        let message = format!("Marking for deletion Pod {}/{}", key.namespace, key.name);
        tell(&self.api, CONTROLLER, &pod, "Normal", "TaintManagerEviction", &message).await;
        let options = delete::Options { uid: Some(text(&pod, "uid").to_owned()), ..delete::Options::default() };
        objects::faster(call.erase(&options).await.map(drop))
    }
}
