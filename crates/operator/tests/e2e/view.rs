//! What is in the world's namespace, followed event by event: the only thing that scenarios wait for and judge by.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::{BoxStream, select_all};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch_all};
use kube::{Api, Client};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use trellis_api::names::{GANG_GATE, label};
use trellis_lifecycle::Kind;

/// Objects of a namespace, and the topologies of the cluster, as JSON by kind and name.
#[derive(Clone, Default)]
pub struct View {
    objects: BTreeMap<Kind, BTreeMap<String, Value>>,
    /// The last that was seen of every pod there ever was, by uid.
    seen: BTreeMap<String, Value>,
}

impl View {
    /// All objects of a kind, by name.
    pub fn all(&self, kind: Kind) -> impl Iterator<Item = (&String, &Value)> {
        self.objects.get(&kind).into_iter().flatten()
    }

    /// Names of all objects of a kind.
    pub fn names(&self, kind: Kind) -> Vec<&str> {
        self.all(kind).map(|(name, _)| name.as_str()).collect()
    }

    /// An object; null if there is none.
    pub fn get(&self, kind: Kind, name: &str) -> &Value {
        self.objects.get(&kind).and_then(|objects| objects.get(name)).unwrap_or(&Value::Null)
    }

    /// A set; null if there is none.
    pub fn set(&self, name: &str) -> &Value {
        self.get(Kind::PodCliqueSet, name)
    }

    /// A gang; null if there is none.
    pub fn gang(&self, name: &str) -> &Value {
        self.get(Kind::PodGang, name)
    }

    /// A clique; null if there is none.
    pub fn clique(&self, name: &str) -> &Value {
        self.get(Kind::PodClique, name)
    }

    /// A scaling group; null if there is none.
    pub fn group(&self, name: &str) -> &Value {
        self.get(Kind::ScalingGroup, name)
    }

    /// All pods, terminating ones too.
    pub fn pods(&self) -> impl Iterator<Item = Pod<'_>> {
        self.all(Kind::Pod).map(|(_, pod)| Pod(pod))
    }

    /// Pods that are not on their way out.
    pub fn live(&self) -> impl Iterator<Item = Pod<'_>> {
        self.pods().filter(|pod| !pod.is_terminating())
    }

    /// Live pods of a clique.
    pub fn of_clique(&self, clique: &str) -> Vec<Pod<'_>> {
        self.live().filter(|pod| pod.clique() == clique).collect()
    }

    /// How many live pods each clique has that are as asked for; cliques without any are left out.
    pub fn count(&self, what: impl Fn(&Pod<'_>) -> bool) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for pod in self.live().filter(what) {
            *counts.entry(pod.clique().to_owned()).or_default() += 1;
        }
        counts
    }

    /// How many live pods of each clique have a node.
    pub fn placed(&self) -> BTreeMap<String, usize> {
        self.count(|pod| pod.node().is_some())
    }

    /// The uids of the live pods that are as asked for.
    pub fn uids(&self, what: impl Fn(&Pod<'_>) -> bool) -> BTreeSet<String> {
        self.live().filter(what).map(|pod| pod.uid().to_owned()).collect()
    }

    /// Every pod there ever was, as it was last seen.
    pub fn ever(&self) -> impl Iterator<Item = Pod<'_>> {
        self.seen.values().map(Pod)
    }

    /// The version of every object of the namespace.
    pub fn versions(&self) -> BTreeMap<(Kind, String), String> {
        let namespaced = self.objects.iter().filter(|(kind, _)| kind.is_namespaced());
        let of_kind = namespaced.flat_map(|(kind, objects)| objects.iter().map(move |object| (kind, object)));
        let version = |object: &Value| text(&object["metadata"]["resourceVersion"]).to_owned();
        of_kind.map(|(kind, (name, object))| ((*kind, name.clone()), version(object))).collect()
    }

    /// Whether all these pods are there and none is on its way out.
    pub fn untouched(&self, uids: &BTreeSet<String>) -> bool {
        uids.is_subset(&self.uids(|_| true))
    }

    fn apply(&mut self, kind: Kind, object: Value) {
        if kind == Kind::Pod {
            self.seen.insert(text(&object["metadata"]["uid"]).to_owned(), object.clone());
        }
        let name = text(&object["metadata"]["name"]).to_owned();
        self.objects.entry(kind).or_default().insert(name, object);
    }

    fn remove(&mut self, kind: Kind, object: &Value) {
        if kind == Kind::Pod {
            let mut last = object.clone();
            // What was never marked is marked here, so that whoever looks at it later sees that it is gone.
            last["metadata"]["deletionTimestamp"] =
                object["metadata"]["deletionTimestamp"].as_str().unwrap_or("gone").into();
            self.seen.insert(text(&object["metadata"]["uid"]).to_owned(), last);
        }
        if let Some(objects) = self.objects.get_mut(&kind) {
            objects.remove(text(&object["metadata"]["name"]));
        }
    }

    /// Removes what a new list of the kind does not have.
    fn keep(&mut self, kind: Kind, names: &BTreeSet<String>) {
        let gone: Vec<Value> =
            self.all(kind).filter(|(name, _)| !names.contains(*name)).map(|(_, object)| object.clone()).collect();
        gone.iter().for_each(|object| self.remove(kind, object));
    }

    /// The objects in short, for people who look for a mistake.
    pub fn dump(&self) -> String {
        let mut out = String::new();
        for (kind, objects) in &self.objects {
            for (name, object) in objects {
                let (spec, status) = (&object["spec"], &object["status"]);
                let _ = match kind {
                    Kind::Pod => writeln!(out, "Pod {}", Pod(object).summary()),
                    Kind::DynamoGraphDeployment => writeln!(out, "{kind:?} {name}\n    {status}"),
                    Kind::PodCliqueSet => writeln!(out, "{kind:?} {name} replicas {}\n    {status}", spec["replicas"]),
                    Kind::ScalingGroup | Kind::PodClique => {
                        let (replicas, min) = (&spec["replicas"], &spec["minAvailable"]);
                        writeln!(out, "{kind:?} {name} replicas {replicas} min {min}\n    {status}")
                    }
                    Kind::PodGang | Kind::KaiPodGroup | Kind::KaiTopology | Kind::ClusterTopology => {
                        let meta = &object["metadata"];
                        let marks = format!("{} {}", meta["annotations"], meta["deletionTimestamp"]);
                        writeln!(out, "{kind:?} {name} {marks}\n    {spec}\n    {status}")
                    }
                    _ => writeln!(out, "{kind:?} {name}"),
                };
            }
        }
        out
    }
}

/// A string of JSON, or nothing.
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Status and reason of a condition, empty if it is not there.
pub fn condition<'a>(object: &'a Value, type_: &str) -> (&'a str, &'a str) {
    let conditions = object["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let found = conditions.iter().find(|condition| condition["type"] == type_).unwrap_or(&Value::Null);
    (text(&found["status"]), text(&found["reason"]))
}

/// Whether a condition is True.
pub fn is_true(object: &Value, type_: &str) -> bool {
    condition(object, type_).0 == "True"
}

/// A pod as the scenarios see it.
#[derive(Clone, Copy)]
pub struct Pod<'a>(pub &'a Value);

impl<'a> Pod<'a> {
    pub fn name(&self) -> &'a str {
        text(&self.0["metadata"]["name"])
    }

    pub fn uid(&self) -> &'a str {
        text(&self.0["metadata"]["uid"])
    }

    pub fn label(&self, key: &str) -> &'a str {
        text(&self.0["metadata"]["labels"][key])
    }

    pub fn annotation(&self, key: &str) -> &'a str {
        text(&self.0["metadata"]["annotations"][key])
    }

    pub fn clique(&self) -> &'a str {
        self.label(label::POD_CLIQUE)
    }

    pub fn gang(&self) -> &'a str {
        self.label(label::POD_GANG)
    }

    /// Index of the set's replica that it is in.
    pub fn replica(&self) -> &'a str {
        self.label(label::SET_REPLICA_INDEX)
    }

    /// Hash of the template that it was made from.
    pub fn hash(&self) -> &'a str {
        self.label(label::POD_TEMPLATE_HASH)
    }

    pub fn node(&self) -> Option<&'a str> {
        self.0["spec"]["nodeName"].as_str()
    }

    /// Image of its first container.
    pub fn image(&self) -> &'a str {
        text(&self.0["spec"]["containers"][0]["image"])
    }

    pub fn is_gated(&self) -> bool {
        self.0["spec"]["schedulingGates"]
            .as_array()
            .is_some_and(|gates| gates.iter().any(|gate| gate["name"] == GANG_GATE))
    }

    pub fn is_terminating(&self) -> bool {
        !self.0["metadata"]["deletionTimestamp"].is_null()
    }

    pub fn is_ready(&self) -> bool {
        is_true(self.0, "Ready")
    }

    pub fn phase(&self) -> &'a str {
        text(&self.0["status"]["phase"])
    }

    fn summary(&self) -> String {
        let marks = [
            (self.is_terminating(), "terminating"),
            (self.is_gated(), "gated"),
            (self.is_ready(), "ready"),
            (condition(self.0, "PodScheduled").1 == "Unschedulable", "unschedulable"),
        ];
        let marks: Vec<&str> = marks.iter().filter(|(is, _)| *is).map(|(_, word)| *word).collect();
        let (gang, node, phase) = (self.gang(), self.node().unwrap_or("-"), self.phase());
        format!("{} of {gang} on {node} {phase} {} {} [{}]", self.name(), self.image(), self.hash(), marks.join(" "))
    }
}

type Law = Box<dyn Fn(&View) -> Result<(), String> + Send>;

#[derive(Default)]
struct Shared {
    view: View,
    laws: Vec<(String, Law)>,
    broken: Option<String>,
}

/// Follows the API into a [`View`], and holds what happens against laws.
pub struct Observer {
    shared: Arc<Mutex<Shared>>,
    changes: watch::Receiver<u64>,
    patience: Duration,
    task: JoinHandle<()>,
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Observer {
    /// Follows these kinds, until it is dropped. Waits end in failure after `patience`.
    pub async fn start(client: &Client, namespace: &str, kinds: &[Kind], patience: Duration) -> Self {
        let streams: Vec<_> = kinds.iter().map(|kind| follow(client, namespace, *kind)).collect();
        let mut events = select_all(streams);
        let shared = Arc::new(Mutex::new(Shared::default()));
        let (changed, changes) = watch::channel(0);
        let (mut unlisted, mine) = (kinds.len(), shared.clone());
        let (ready, listed) = tokio::sync::oneshot::channel();
        let mut ready = Some(ready);
        let mut listing: BTreeMap<Kind, BTreeSet<String>> = BTreeMap::new();
        let task = tokio::spawn(async move {
            while let Some((kind, event)) = events.next().await {
                let mut shared = mine.lock().unwrap_or_else(PoisonError::into_inner);
                match event {
                    Event::Apply(object) => shared.view.apply(kind, json(&object)),
                    Event::Delete(object) => shared.view.remove(kind, &json(&object)),
                    Event::Init => {
                        listing.insert(kind, BTreeSet::new());
                    }
                    Event::InitApply(object) => {
                        listing.entry(kind).or_default().extend(object.metadata.name.clone());
                        shared.view.apply(kind, json(&object));
                    }
                    Event::InitDone => {
                        shared.view.keep(kind, &listing.remove(&kind).unwrap_or_default());
                        unlisted = unlisted.saturating_sub(1);
                        if unlisted == 0
                            && let Some(ready) = ready.take()
                        {
                            let _ = ready.send(());
                        }
                    }
                }
                shared.judge();
                drop(shared);
                changed.send_modify(|count| *count += 1);
            }
        });
        tokio::time::timeout(patience, listed).await.expect("the kinds are listed in time").expect("the observer runs");
        Self { shared, changes, patience, task }
    }

    /// What is there now.
    pub fn view(&self) -> View {
        self.lock().view.clone()
    }

    /// Holds everything that happens from now on against a law.
    pub fn law(&self, what: &str, law: impl Fn(&View) -> Result<(), String> + Send + 'static) {
        let mut shared = self.lock();
        shared.laws.push((what.to_owned(), Box::new(law)));
        shared.judge();
    }

    /// No law holds from now on.
    pub fn no_laws(&self) {
        self.check();
        self.lock().laws.clear();
    }

    /// Panics if a law was broken.
    pub fn check(&self) {
        let shared = self.lock();
        if let Some(broken) = &shared.broken {
            panic!("{broken}");
        }
    }

    /// Waits until it is so, and says how it is then.
    pub async fn until(&self, what: &str, is_so: impl Fn(&View) -> bool) -> View {
        let mut changes = self.changes.clone();
        let waited = tokio::time::timeout(self.patience, async {
            loop {
                changes.borrow_and_update();
                self.check();
                let found = {
                    let shared = self.lock();
                    is_so(&shared.view).then(|| shared.view.clone())
                };
                match found {
                    Some(view) => return view,
                    None => changes.changed().await.expect("the observer runs"),
                }
            }
        });
        match waited.await {
            Ok(view) => view,
            Err(_) => panic!("waited in vain\n{}waited for: {what}", self.lock().view.dump()),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    fn judge(&mut self) {
        if self.broken.is_some() {
            return;
        }
        for (what, law) in &self.laws {
            if let Err(why) = law(&self.view) {
                // Said last, where it is still to be seen when only the end of a long message is.
                self.broken = Some(format!("a law is broken\n{}broken: {what}: {why}", self.view.dump()));
                return;
            }
        }
    }
}

/// What kube-rs needs to know of a kind.
pub fn resource(kind: Kind) -> ApiResource {
    let (group, version, kind, plural) = kind.names();
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
}

/// Where objects of a kind are found.
pub fn objects(client: &Client, namespace: &str, kind: Kind) -> Api<DynamicObject> {
    match kind.is_namespaced() {
        true => Api::namespaced_with(client.clone(), namespace, &resource(kind)),
        false => Api::all_with(client.clone(), &resource(kind)),
    }
}

fn follow(client: &Client, namespace: &str, kind: Kind) -> BoxStream<'static, (Kind, Event<DynamicObject>)> {
    let stream = watch_all(objects(client, namespace, kind), watcher::Config::default()).default_backoff();
    stream.filter_map(move |event| async move { event.ok().map(|event| (kind, event)) }).boxed()
}

fn json(object: &DynamicObject) -> Value {
    serde_json::to_value(object).expect("an object is JSON")
}
