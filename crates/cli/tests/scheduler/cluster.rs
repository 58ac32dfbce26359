//! A cluster for the scheduler alone: simulated nodes, gangs written by hand, and an owner that makes vanished pods anew.
//!
//! Everything is watched, and after every change of a pod the laws are looked at: no node has more than it offers, and no gang is in two
//! racks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt as _, watcher as follow};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use trellis_cluster::nodes::{NodeSpec, Nodes, Options};
use trellis_testkit::objects;

/// How long anything may take.
pub const PATIENCE: Duration = Duration::from_mins(1);

const GPU: &str = "nvidia.com/gpu";
const RACK: &str = "test/rack";
/// The cluster that a node belongs to: several share a server.
const OF: &str = "test/of";
const GANG: &str = "test/gang";
/// GPUs of a node, and nodes of a rack.
pub const GPUS: usize = 4;
pub const NODES: usize = 2;

/// What stands for a gang.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    PodGang,
    PodGroup,
    /// A pod on its own.
    Alone,
}

/// A gang, all of whose pods are needed in one rack.
#[derive(Clone, Copy, Debug)]
pub struct Gang {
    pub name: &'static str,
    pub kind: Kind,
    pub pods: usize,
    /// GPUs of each pod.
    pub gpus: usize,
    /// Whether it may make others leave.
    pub is_urgent: bool,
}

impl Gang {
    pub const fn new(name: &'static str, kind: Kind, pods: usize, gpus: usize) -> Self {
        Self { name, kind, pods, gpus, is_urgent: false }
    }

    pub const fn urgent(self) -> Self {
        Self { is_urgent: true, ..self }
    }

    pub fn pod_names(&self) -> impl Iterator<Item = String> {
        (0..self.pods).map(|n| format!("{}-{n}", self.name))
    }

    fn priority(&self) -> Option<&str> {
        self.is_urgent.then_some("urgent")
    }

    /// The object that stands for it; none for a pod on its own.
    fn object(&self, namespace: &str) -> Option<Value> {
        let metadata = json!({ "name": self.name, "namespace": namespace });
        match self.kind {
            Kind::PodGang => {
                let pods: Vec<Value> =
                    self.pod_names().map(|name| json!({ "namespace": namespace, "name": name })).collect();
                let group = json!({ "name": self.name, "podReferences": pods, "minReplicas": self.pods });
                Some(json!({
                    "apiVersion": "scheduler.grove.io/v1alpha1", "kind": "PodGang", "metadata": metadata,
                    "spec": {
                        "podgroups": [group], "topologyConstraint": { "packConstraint": { "required": RACK } },
                        "priorityClassName": self.priority(),
                    },
                }))
            }
            Kind::PodGroup => Some(json!({
                "apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "metadata": metadata,
                "spec": {
                    "minMember": self.pods, "priorityClassName": self.priority(),
                    "topologyConstraint": { "topology": "racks", "requiredTopologyLevel": RACK },
                },
            })),
            Kind::Alone => None,
        }
    }

    fn pod(&self, name: &str, namespace: &str, owner: Option<&Value>) -> Value {
        let owners: Vec<Value> = owner
            .map(|owner| {
                json!({
                    "apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": true,
                    "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
                })
            })
            .into_iter()
            .collect();
        let annotations = match self.kind {
            Kind::PodGroup => json!({ "pod-group-name": self.name }),
            Kind::PodGang | Kind::Alone => json!({}),
        };
        let amounts = json!({ GPU: self.gpus.to_string() });
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": name, "namespace": namespace, "labels": { GANG: self.name }, "annotations": annotations,
                "ownerReferences": owners,
            },
            "spec": {
                "schedulerName": namespace, "nodeSelector": { OF: namespace }, "priorityClassName": self.priority(),
                "terminationGracePeriodSeconds": 1,
                "containers": [{
                    "name": "app", "image": "app:1", "resources": { "requests": amounts, "limits": amounts },
                }],
            },
        })
    }
}

/// Pods by name.
pub type Pods = BTreeMap<String, Pod>;

/// Where a pod is.
pub fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref()
}

fn phase_of(pod: &Pod) -> Option<&str> {
    pod.status.as_ref()?.phase.as_deref()
}

fn gpus_of(pod: &Pod) -> usize {
    let requests = pod.spec.as_ref().and_then(|spec| spec.containers[0].resources.as_ref()?.requests.as_ref());
    requests.and_then(|requests| requests.get(GPU)?.0.parse().ok()).unwrap_or(0)
}

/// The rack of a node, by its name: `<cluster>-<rack>-<node>`.
fn rack_of(node: &str) -> &str {
    node.rsplit_once('-').map_or(node, |(rack, _)| rack)
}

/// What is wrong in this picture.
fn wrongs(pods: &Pods) -> Vec<String> {
    let mut wrongs = Vec::new();
    let mut taken: BTreeMap<&str, usize> = BTreeMap::new();
    let mut racks: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, pod) in pods {
        if phase_of(pod) == Some("Failed") {
            wrongs.push(format!("{name} failed: {:?}", pod.status));
        }
        // What has ended takes up nothing, though it is still there.
        let Some(node) = node_of(pod).filter(|_| phase_of(pod) != Some("Succeeded")) else { continue };
        *taken.entry(node).or_default() += gpus_of(pod);
        racks.entry(pod.labels().get(GANG).map_or("", String::as_str)).or_default().insert(rack_of(node));
    }
    let crowded = taken.iter().filter(|(_, taken)| **taken > GPUS);
    wrongs.extend(crowded.map(|(node, taken)| format!("{node} gives {taken} GPUs and has {GPUS}")));
    let apart = racks.iter().filter(|(_, racks)| racks.len() > 1);
    wrongs.extend(apart.map(|(gang, racks)| format!("{gang} is in {racks:?}")));
    wrongs
}

#[derive(Default)]
struct Shared {
    /// Pods that are to be there.
    wanted: BTreeMap<String, Value>,
    wrongs: BTreeSet<String>,
    /// What was seen, for whoever has to find out how it came to that.
    history: Vec<String>,
}

/// A cluster, and a namespace with the same name, which is also the name of the scheduler that is to serve it.
pub struct Cluster {
    pub client: Client,
    pub name: String,
    pods: watch::Receiver<Pods>,
    shared: Arc<Mutex<Shared>>,
    nodes: Nodes,
    task: JoinHandle<()>,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Cluster {
    /// So many racks in a namespace of their own.
    pub async fn start(client: Client, name: &str, racks: usize) -> Self {
        furnish(&client).await;
        make(&client, &json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } })).await;
        let spec = |rack: usize, node: usize| NodeSpec {
            name: format!("{name}-{rack}-{node}"),
            labels: BTreeMap::from([(RACK.to_owned(), format!("{name}-{rack}")), (OF.to_owned(), name.to_owned())]),
            allocatable: BTreeMap::from([
                ("cpu".to_owned(), "8".to_owned()),
                ("pods".to_owned(), "110".to_owned()),
                (GPU.to_owned(), GPUS.to_string()),
            ]),
            ..NodeSpec::default()
        };
        let specs = (0..racks).flat_map(|rack| (0..NODES).map(move |node| (rack, node)));
        let specs: Vec<NodeSpec> = specs.map(|(rack, node)| spec(rack, node)).collect();
        let options =
            Options { ready_after: Duration::from_millis(5), heartbeat: Duration::ZERO, ..Options::default() };
        let nodes = Nodes::start(client.clone(), specs, options, |_| ()).await.expect("nodes");
        let shared: Arc<Mutex<Shared>> = Arc::default();
        let (seen, pods) = watch::channel(Pods::new());
        let task = tokio::spawn(look_after(Api::namespaced(client.clone(), name), Arc::clone(&shared), seen));
        Self { client, name: name.to_owned(), pods, shared, nodes, task }
    }

    /// Creates a gang with its pods; they are made anew whenever they vanish.
    pub async fn create(&self, gang: &Gang) {
        let owner = match gang.object(&self.name) {
            Some(object) => Some(objects::create(&self.client, &object).await.expect("a gang").object),
            None => None,
        };
        let pods: Vec<(String, Value)> =
            gang.pod_names().map(|name| (name.clone(), gang.pod(&name, &self.name, owner.as_ref()))).collect();
        lock(&self.shared).wanted.extend(pods.clone());
        for (_, pod) in pods {
            make(&self.client, &pod).await;
        }
    }

    /// Closes a node to the scheduler, or opens it again.
    pub async fn cordon(&self, node: &str, closed: bool) {
        let nodes: Api<Node> = Api::all(self.client.clone());
        let patch = Patch::Merge(json!({ "spec": { "unschedulable": closed } }));
        nodes.patch(node, &PatchParams::default(), &patch).await.expect("a node");
    }

    /// The same with all nodes of a rack.
    pub async fn cordon_rack(&self, rack: usize, closed: bool) {
        for node in 0..NODES {
            self.cordon(&format!("{}-{rack}-{node}", self.name), closed).await;
        }
    }

    /// Waits until it is so. Whoever waits in vain is told what there is, and what `said` has to say.
    pub async fn until(&self, what: &str, said: impl Fn() -> String, is_so: impl Fn(&Pods) -> bool) -> Pods {
        let mut pods = self.pods.clone();
        let found = tokio::time::timeout(PATIENCE, pods.wait_for(|pods| is_so(pods))).await;
        let found =
            found.unwrap_or_else(|_| panic!("{}: waited in vain for: {what}\n{}\n{}", self.name, self.shown(), said()));
        found.expect("the owner runs").clone()
    }

    /// Waits until all these gangs are placed, and run.
    pub async fn placed(&self, gangs: &[Gang], said: impl Fn() -> String) -> Pods {
        let names: Vec<&str> = gangs.iter().map(|gang| gang.name).collect();
        let what = format!("{names:?} are placed");
        self.until(&what, said, |pods| gangs.iter().all(|gang| is_placed(pods, gang))).await
    }

    /// Where all pods are.
    pub fn shown(&self) -> String {
        let line = |(name, pod): (&String, &Pod)| {
            let leaving = if pod.metadata.deletion_timestamp.is_some() { " leaving" } else { "" };
            format!("{name} {}{leaving}", node_of(pod).unwrap_or("-"))
        };
        self.pods.borrow().iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// What was seen of pods, one line for each change.
    pub fn history(&self) -> String {
        lock(&self.shared).history.join("\n")
    }

    /// No law was broken at any moment.
    pub fn no_wrongs(&self) {
        let wrongs = lock(&self.shared).wrongs.clone();
        assert!(wrongs.is_empty(), "{}: {wrongs:#?}\n{}", self.name, self.history());
    }

    /// Ends the nodes.
    pub async fn stop(&self) {
        self.nodes.stop().await;
    }
}

/// Whether all pods of a gang run.
pub fn is_placed(pods: &Pods, gang: &Gang) -> bool {
    let runs = |pod: &Pod| {
        node_of(pod).is_some() && pod.metadata.deletion_timestamp.is_none() && phase_of(pod) == Some("Running")
    };
    gang.pod_names().all(|name| pods.get(&name).is_some_and(runs))
}

/// Whether no pod of a gang has a node.
pub fn is_waiting(pods: &Pods, gang: &Gang) -> bool {
    gang.pod_names().all(|name| pods.get(&name).is_some_and(|pod| node_of(pod).is_none()))
}

/// Makes vanished pods anew, and looks at the laws.
async fn look_after(api: Api<Pod>, shared: Arc<Mutex<Shared>>, seen: watch::Sender<Pods>) {
    let mut events = follow(api.clone(), watcher::Config::default()).default_backoff().boxed();
    let mut listed: Option<Pods> = None;
    while let Some(event) = events.next().await {
        lock(&shared).history.push(line(&event));
        match event {
            Ok(Event::Init) => listed = Some(Pods::new()),
            Ok(Event::InitApply(pod)) => drop(listed.get_or_insert_default().insert(pod.name_any(), pod)),
            Ok(Event::InitDone) => drop(seen.send_replace(listed.take().unwrap_or_default())),
            Ok(Event::Apply(pod)) => seen.send_modify(|pods| drop(pods.insert(pod.name_any(), pod))),
            Ok(Event::Delete(pod)) => {
                seen.send_modify(|pods| drop(pods.remove(&pod.name_any())));
                let wanted = lock(&shared).wanted.get(&pod.name_any()).cloned();
                if let Some(wanted) = wanted {
                    let wanted = serde_json::from_value(wanted).expect("a pod");
                    // Somebody else may have been faster, and is seen then.
                    let _ = api.create(&PostParams::default(), &wanted).await;
                }
            }
            Err(_) => continue,
        }
        let found = wrongs(&seen.borrow());
        let mut shared = lock(&shared);
        shared.history.extend(found.iter().cloned());
        shared.wrongs.extend(found);
    }
}

/// What was seen, as a line.
fn line(event: &Result<Event<Pod>, watcher::Error>) -> String {
    let (word, pod) = match event {
        Ok(Event::Init) => return "a list begins".to_owned(),
        Ok(Event::InitDone) => return "a list ends".to_owned(),
        Ok(Event::InitApply(pod)) => ("listed", pod),
        Ok(Event::Apply(pod)) => ("is", pod),
        Ok(Event::Delete(pod)) => ("gone", pod),
        Err(error) => return error.to_string(),
    };
    let uid = pod.uid().unwrap_or_default();
    let (version, short) = (pod.resource_version().unwrap_or_default(), uid.get(..8).unwrap_or_default());
    let leaving = if pod.metadata.deletion_timestamp.is_some() { " leaving" } else { "" };
    let (node, phase) = (node_of(pod).unwrap_or("-"), phase_of(pod).unwrap_or("-"));
    format!("{version} {} {short} {word} {node} {phase}{leaving}", pod.name_any())
}

/// Makes an object, if nobody else has.
async fn make(client: &Client, object: &Value) {
    if let Err(error) = objects::create(client, object).await {
        assert!(error.to_string().contains("already exists"), "{error}");
    }
}

/// What all clusters of a server share: kinds, topologies, a priority.
async fn furnish(client: &Client) {
    for definition in trellis_api::crd::own().into_iter().chain(trellis_api::crd::kai()) {
        make(client, &serde_json::to_value(definition).expect("a definition is JSON")).await;
    }
    let shared = [
        json!({
            "apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopology", "metadata": { "name": "grove-topology" },
            "spec": { "levels": [
                { "domain": "rack", "key": RACK }, { "domain": "host", "key": "kubernetes.io/hostname" },
            ] },
        }),
        json!({
            "apiVersion": "kai.scheduler/v1alpha1", "kind": "Topology", "metadata": { "name": "racks" },
            "spec": { "levels": [{ "nodeLabel": RACK }, { "nodeLabel": "kubernetes.io/hostname" }] },
        }),
        json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": { "name": "urgent" },
            "value": 1000,
        }),
    ];
    for object in shared {
        served(client, &object).await;
    }
}

/// Makes an object of a kind that may not be served yet.
async fn served(client: &Client, object: &Value) {
    let mut ticks = tokio::time::interval(Duration::from_millis(50));
    let made = async {
        loop {
            ticks.tick().await;
            match objects::create(client, object).await {
                Ok(_) => return,
                Err(error) if error.to_string().contains("already exists") => return,
                Err(_) => {}
            }
        }
    };
    tokio::time::timeout(PATIENCE, made).await.unwrap_or_else(|_| panic!("this is not taken: {object}"));
}
