//! A stand-in for a scheduler that places gangs: one pod on a node, the minimum of a gang at once or not at all.
//!
//! It knows nothing of topology. Gangs are PodGangs, or KAI's PodGroups for pods that name KAI as their scheduler. The minima of all gangs
//! that are ready come before what is above the minimum of any, both in the order of the gangs' names; pods that find no node are told
//! so. Nodes are opened and closed to it one by one, as if they were cordoned.

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt;
use futures::stream::{BoxStream, select_all};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch_all};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use trellis_api::names::{annotation, label, profile};
use trellis_cluster::nodes::Now;
use trellis_lifecycle::Kind;

use crate::view::{condition, objects, text};

/// Objects, and the versions of them that were seen.
pub type Versions = BTreeMap<(Kind, String), String>;

enum Command {
    Open(Vec<String>),
    Close(Vec<String>),
    /// Answered with what was seen, once it is dealt with.
    Settle(oneshot::Sender<Versions>),
}

/// A scheduler that runs until it is dropped.
pub struct Binder {
    commands: mpsc::UnboundedSender<Command>,
    task: JoinHandle<()>,
}

impl Drop for Binder {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Binder {
    /// What it goes by.
    pub const KINDS: [Kind; 3] = [Kind::Pod, Kind::PodGang, Kind::KaiPodGroup];

    /// Serves the pods of a namespace. No node is open to it at first.
    pub fn start(client: &Client, namespace: &str, now: Now) -> Self {
        let (commands, received) = mpsc::unbounded_channel();
        let pods = Api::namespaced(client.clone(), namespace);
        let gangs = objects(client, namespace, Kind::PodGang);
        let groups = objects(client, namespace, Kind::KaiPodGroup);
        let streams =
            [pods_of(pods.clone()), gangs_of(Kind::PodGang, gangs.clone()), gangs_of(Kind::KaiPodGroup, groups)];
        let state = State { pods, gangs, now, seen: BTreeMap::new(), groups: BTreeMap::new(), open: BTreeSet::new() };
        let task = tokio::spawn(state.run(select_all(streams), received));
        Self { commands, task }
    }

    /// Lets it use these nodes.
    pub fn open(&self, nodes: impl IntoIterator<Item = String>) {
        let _ = self.commands.send(Command::Open(nodes.into_iter().collect()));
    }

    /// Keeps it from these nodes. Pods that are there stay.
    pub fn close(&self, nodes: impl IntoIterator<Item = String>) {
        let _ = self.commands.send(Command::Close(nodes.into_iter().collect()));
    }

    /// Waits until all that it has seen is dealt with, and says what that was.
    pub async fn settled(&self) -> Versions {
        let (done, wait) = oneshot::channel();
        let _ = self.commands.send(Command::Settle(done));
        wait.await.unwrap_or_default()
    }
}

enum Seen {
    Pod(Box<Event<Pod>>),
    Gang(Kind, Event<DynamicObject>),
}

fn pods_of(pods: Api<Pod>) -> BoxStream<'static, Seen> {
    let stream = watch_all(pods, watcher::Config::default()).default_backoff();
    stream.filter_map(|event| async { event.ok().map(|event| Seen::Pod(Box::new(event))) }).boxed()
}

fn gangs_of(kind: Kind, gangs: Api<DynamicObject>) -> BoxStream<'static, Seen> {
    let stream = watch_all(gangs, watcher::Config::default()).default_backoff();
    stream.filter_map(move |event| async move { event.ok().map(|event| Seen::Gang(kind, event)) }).boxed()
}

/// What is known of one pod.
#[derive(Clone)]
struct Member {
    uid: String,
    version: String,
    kai: bool,
    gang: String,
    group: String,
    node: Option<String>,
    /// It may be placed: no gate holds it, and it is not on its way out.
    free: bool,
    terminating: bool,
    done: bool,
    told: bool,
}

struct State {
    pods: Api<Pod>,
    gangs: Api<DynamicObject>,
    now: Now,
    seen: BTreeMap<String, Member>,
    groups: BTreeMap<(Kind, String), Value>,
    open: BTreeSet<String>,
}

impl State {
    async fn run(
        mut self,
        mut events: impl futures::Stream<Item = Seen> + Unpin,
        mut commands: mpsc::UnboundedReceiver<Command>,
    ) {
        loop {
            let mut replies = Vec::new();
            tokio::select! {
                biased;
                Some(event) = events.next() => self.note(event),
                command = commands.recv() => match command {
                    None => return,
                    Some(Command::Open(nodes)) => self.open.extend(nodes),
                    Some(Command::Close(nodes)) => self.open.retain(|node| !nodes.contains(node)),
                    Some(Command::Settle(reply)) => replies.push(reply),
                },
            }
            // What is there already is looked at together, so that members that appear together are placed together.
            while let Some(Some(event)) = futures::FutureExt::now_or_never(events.next()) {
                self.note(event);
            }
            self.place().await;
            for reply in replies {
                let _ = reply.send(self.versions());
            }
        }
    }

    fn note(&mut self, event: Seen) {
        match event {
            Seen::Pod(event) => match *event {
                Event::Apply(pod) | Event::InitApply(pod) => {
                    let mut new = member(&pod);
                    // An event from before our own bind may come after it.
                    if let Some(old) =
                        self.seen.get(&pod.name_any()).filter(|old| old.uid == new.uid && new.node.is_none())
                    {
                        new.node.clone_from(&old.node);
                    }
                    self.seen.insert(pod.name_any(), new);
                }
                Event::Delete(pod) => drop(self.seen.remove(&pod.name_any())),
                Event::Init => self.seen.clear(),
                Event::InitDone => {}
            },
            Seen::Gang(kind, event) => match event {
                Event::Apply(gang) | Event::InitApply(gang) => {
                    let json = serde_json::to_value(&gang).expect("an object is JSON");
                    self.groups.insert((kind, gang.name_any()), json);
                }
                Event::Delete(gang) => drop(self.groups.remove(&(kind, gang.name_any()))),
                Event::Init | Event::InitDone => {}
            },
        }
    }

    fn versions(&self) -> Versions {
        let pods = self.seen.iter().map(|(name, pod)| ((Kind::Pod, name.clone()), pod.version.clone()));
        let version = |gang: &Value| text(&gang["metadata"]["resourceVersion"]).to_owned();
        let gangs = self.groups.iter().map(|(key, gang)| (key.clone(), version(gang)));
        pods.chain(gangs).collect()
    }

    async fn place(&mut self) {
        let mut free = self.free_nodes();
        let gangs: Vec<(Kind, String, Value)> =
            self.groups.iter().map(|((kind, name), gang)| (*kind, name.clone(), gang.clone())).collect();
        for (kind, name, gang) in &gangs {
            let wanted = self.minimum(*kind, name, gang);
            if let Some(wanted) = wanted
                && wanted.len() <= free.len()
            {
                self.bind_all(wanted, &mut free).await;
            }
        }
        for (kind, name, gang) in &gangs {
            let rest = self.rest(*kind, name, gang);
            self.bind_all(rest, &mut free).await;
        }
        self.tell_the_others().await;
        for (kind, name, gang) in gangs.iter().filter(|(kind, ..)| *kind == Kind::PodGang) {
            self.report(*kind, name, gang).await;
        }
    }

    fn free_nodes(&self) -> BTreeSet<String> {
        let taken: BTreeSet<&String> =
            self.seen.values().filter(|pod| !pod.done).filter_map(|pod| pod.node.as_ref()).collect();
        self.open.iter().filter(|node| !taken.contains(node)).cloned().collect()
    }

    fn members<'a>(
        &'a self,
        kind: Kind,
        gang: &'a str,
        group: &'a str,
    ) -> impl Iterator<Item = (&'a String, &'a Member)> {
        let kai = kind == Kind::KaiPodGroup;
        self.seen.iter().filter(move |(_, pod)| pod.kai == kai && pod.gang == gang && pod.group == group)
    }

    /// What has to be placed now for the gang's minimum, if all of it is there.
    fn minimum(&self, kind: Kind, name: &str, gang: &Value) -> Option<Vec<String>> {
        let groups = ready_groups(kind, gang)?;
        let mut wanted = Vec::new();
        for (group, min) in groups {
            let standing =
                self.members(kind, name, group).filter(|(_, pod)| pod.node.is_some() && !pod.terminating).count();
            let missing = min.saturating_sub(standing);
            let candidates = self.members(kind, name, group).filter(|(_, pod)| pod.free && pod.node.is_none());
            let candidates: Vec<String> = candidates.map(|(name, _)| name.clone()).take(missing).collect();
            if candidates.len() < missing {
                return None;
            }
            wanted.extend(candidates);
        }
        Some(wanted)
    }

    /// What may be placed beside, if the minimum stands.
    fn rest(&self, kind: Kind, name: &str, gang: &Value) -> Vec<String> {
        if self.minimum(kind, name, gang).is_none_or(|missing| !missing.is_empty()) {
            return Vec::new();
        }
        let groups = ready_groups(kind, gang).unwrap_or_default();
        let members = groups.iter().flat_map(|(group, _)| self.members(kind, name, group));
        members.filter(|(_, pod)| pod.free && pod.node.is_none()).map(|(name, _)| name.clone()).collect()
    }

    async fn bind_all(&mut self, pods: Vec<String>, free: &mut BTreeSet<String>) {
        for name in pods {
            let Some(node) = free.pop_first() else { return };
            let Some(member) = self.seen.get(&name) else { continue };
            let metadata = json!({ "name": name, "uid": member.uid });
            let binding = json!({ "metadata": metadata, "target": { "kind": "Node", "name": node } });
            let bound: kube::Result<Value> =
                self.pods.create_subresource("binding", &name, &PostParams::default(), &binding).await;
            match bound {
                Ok(_) => {
                    if let Some(member) = self.seen.get_mut(&name) {
                        member.node = Some(node);
                    }
                }
                // What it was decided on is no longer so; the change that says how it is comes by itself.
                Err(_) => {
                    free.insert(node);
                }
            }
        }
    }

    /// Pods that may be placed and cannot be are told so, once.
    async fn tell_the_others(&mut self) {
        let others: Vec<(String, String)> = self
            .seen
            .iter()
            .filter(|(_, pod)| pod.free && pod.node.is_none() && !pod.told)
            .map(|(name, pod)| (name.clone(), pod.version.clone()))
            .collect();
        for (name, version) in others {
            let now = (self.now)().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
            let condition = json!({
                "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no node is open",
                "lastTransitionTime": now,
            });
            let patch = json!({ "metadata": { "resourceVersion": version }, "status": { "conditions": [condition] } });
            let told = self.pods.patch_status(&name, &PatchParams::default(), &Patch::Strategic(patch)).await;
            if told.is_ok()
                && let Some(member) = self.seen.get_mut(&name)
            {
                member.told = true;
            }
        }
    }

    /// Says on the gang whether its minimum has nodes, as a scheduler owns that field.
    async fn report(&self, kind: Kind, name: &str, gang: &Value) {
        if text(&gang["metadata"]["labels"][label::SCHEDULER_NAME]) != profile::TRELLIS {
            return;
        }
        let Some(missing) = self.minimum_all(kind, name, gang) else { return };
        let (status, reason) = if missing == 0 { ("True", "Placed") } else { ("False", "NoRoom") };
        if condition(gang, "Scheduled").0 == status {
            return;
        }
        let now = (self.now)().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let applied = json!({
            "apiVersion": "scheduler.grove.io/v1alpha1", "kind": "PodGang",
            "metadata": { "name": name, "namespace": gang["metadata"]["namespace"] },
            "status": { "conditions": [{
                "type": "Scheduled", "status": status, "reason": reason, "message": "by the stand-in",
                "lastTransitionTime": now, "observedGeneration": gang["metadata"]["generation"],
            }] },
        });
        let params = PatchParams::apply("stand-in-scheduler").force();
        let _ = self.gangs.patch_status(name, &params, &Patch::Apply(applied)).await;
    }

    /// How many pods the minimum lacks, whether they are there to be placed or not.
    fn minimum_all(&self, kind: Kind, name: &str, gang: &Value) -> Option<usize> {
        let groups = ready_groups(kind, gang)?;
        let missing = groups.iter().map(|(group, min)| {
            let standing =
                self.members(kind, name, group).filter(|(_, pod)| pod.node.is_some() && !pod.terminating).count();
            min.saturating_sub(standing)
        });
        Some(missing.sum())
    }
}

/// The groups of a gang with their minima, if it may be placed at all.
fn ready_groups(kind: Kind, gang: &Value) -> Option<Vec<(&str, usize)>> {
    if !gang["metadata"]["deletionTimestamp"].is_null() {
        return None;
    }
    let count = |value: &Value| usize::try_from(value.as_u64().unwrap_or(0)).unwrap_or(0);
    if kind == Kind::PodGang {
        if condition(gang, "Initialized").0 != "True" {
            return None;
        }
        let groups = gang["spec"]["podgroups"].as_array()?.iter();
        return Some(groups.map(|group| (text(&group["name"]), count(&group["minReplicas"]))).collect());
    }
    let Some(groups) = gang["spec"]["subGroups"].as_array() else {
        return Some(vec![("", count(&gang["spec"]["minMember"]).max(1))]);
    };
    let parents: BTreeSet<&str> = groups.iter().map(|group| text(&group["parent"])).collect();
    let leaves = groups.iter().filter(|group| !parents.contains(text(&group["name"])));
    Some(leaves.map(|group| (text(&group["name"]), count(&group["minMember"]).max(1))).collect())
}

fn member(pod: &Pod) -> Member {
    let spec = pod.spec.clone().unwrap_or_default();
    let kai = spec.scheduler_name.as_deref() == Some(profile::KAI);
    let labelled = |key: &str| pod.labels().get(key).cloned().unwrap_or_default();
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default();
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let told =
        conditions.into_iter().any(|one| one.type_ == "PodScheduled" && one.reason.as_deref() == Some("Unschedulable"));
    let terminating = pod.metadata.deletion_timestamp.is_some();
    let done = ["Succeeded", "Failed"].contains(&phase);
    Member {
        uid: pod.uid().unwrap_or_default(),
        version: pod.resource_version().unwrap_or_default(),
        kai,
        gang: match kai {
            true => pod.annotations().get(annotation::KAI_POD_GROUP).cloned().unwrap_or_default(),
            false => labelled(label::POD_GANG),
        },
        group: labelled(if kai { label::KAI_SUBGROUP } else { label::POD_CLIQUE }),
        node: spec.node_name,
        free: !terminating && !done && spec.scheduling_gates.is_none_or(|gates| gates.is_empty()),
        terminating,
        done,
        told,
    }
}
