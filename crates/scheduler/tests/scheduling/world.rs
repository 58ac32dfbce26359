//! A tiny world: objects in memory, writes as an API server takes them, kubelets, and owners that make pods anew at once.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Container, Node, NodeStatus, Pod, PodSpec, PodStatus, ResourceRequirements};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use serde_json::json;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use trellis_api::kinds::{ClusterTopology, NamespacedName, PodGang, PodGangSpec, PodGroup};
use trellis_api::names::{annotation, label};
use trellis_scheduler::plan::Plan;
use trellis_scheduler::seen::Key;
use trellis_scheduler::{Around, Memory, Seen, Settings, decide};

pub const NAMESPACE: &str = "ns";
const GPU: &str = "nvidia.com/gpu";
/// Decisions until a world is given up.
const ROUNDS: usize = 60;

/// A gang as its owner wants it.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub groups: Vec<WantedGroup>,
    pub is_owned: bool,
}

#[derive(Clone, Debug)]
pub struct WantedGroup {
    pub replicas: usize,
    pub gpus: i64,
}

#[derive(Clone)]
pub struct World {
    pub seen: Seen,
    pub settings: Settings,
    pub now: Timestamp,
    pub identity: String,
    pub leads_since: Timestamp,
    /// Of the scheduler that leads.
    pub memory: RefCell<Memory>,
    pub wanted: BTreeMap<String, Wanted>,
    /// What the pods of a gang have beside what they ask for.
    pub dress: BTreeMap<String, fn(&mut Pod)>,
    /// Pods that do not go when they are told to.
    pub hanging: BTreeSet<String>,
    pub version: u64,
    made: u64,
    /// Writes so far, and how many there may be before the scheduler dies.
    pub writes: usize,
    pub dies_at: Option<usize>,
    pub last: Plan,
    pub log: Vec<String>,
}

impl World {
    /// Racks of nodes with eight GPUs.
    pub fn new(racks: usize, nodes: usize) -> Self {
        let now = Timestamp::from_second(1_000_000).expect("a time");
        let mut world = Self {
            seen: Seen::default(),
            settings: Settings::default(),
            now,
            identity: "s0".to_owned(),
            leads_since: now,
            memory: RefCell::default(),
            wanted: BTreeMap::new(),
            dress: BTreeMap::new(),
            hanging: BTreeSet::new(),
            version: 0,
            made: 0,
            writes: 0,
            dies_at: None,
            last: Plan::default(),
            log: Vec::new(),
        };
        for rack in 0..racks {
            (0..nodes).for_each(|node| world.add_node(rack, node));
        }
        let topology: ClusterTopology = serde_json::from_value(json!({
            "apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopology", "metadata": { "name": "grove-topology" },
            "spec": { "levels": [
                { "domain": "rack", "key": "rack" }, { "domain": "host", "key": "kubernetes.io/hostname" },
            ] },
        }))
        .expect("a topology");
        world.seen.cluster_topologies.insert("grove-topology".into(), Arc::new(topology));
        for (name, value, policy) in
            [("low", -10, None), ("high", 10, None), ("polite", 10, Some("Never")), ("top", 20, None)]
        {
            let class = PriorityClass {
                metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
                value,
                preemption_policy: policy.map(str::to_owned),
                ..PriorityClass::default()
            };
            world.seen.priority_classes.insert(name.into(), Arc::new(class));
        }
        world
    }

    pub fn add_node(&mut self, rack: usize, node: usize) {
        let name = format!("r{rack}n{node}");
        let labels = [("rack", format!("r{rack}")), ("kubernetes.io/hostname", name.clone())];
        let allocatable =
            [(GPU, "8"), ("pods", "20")].map(|(key, amount)| (key.to_owned(), Quantity(amount.to_owned())));
        let object = Node {
            metadata: ObjectMeta {
                name: Some(name.clone()),
                labels: Some(labels.map(|(key, value)| (key.to_owned(), value)).into()),
                ..ObjectMeta::default()
            },
            status: Some(NodeStatus { allocatable: Some(allocatable.into()), ..NodeStatus::default() }),
            ..Node::default()
        };
        self.seen.nodes.insert(name.as_str().into(), Arc::new(object));
    }

    /// A node goes, and its pods with it.
    pub fn lose_node(&mut self, name: &str) {
        self.seen.nodes.remove(name);
        let gone = |pod: &Arc<Pod>| pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()) == Some(name);
        self.seen.pods.retain(|_, pod| !gone(pod));
        self.operate();
    }

    pub fn relabel(&mut self, node: &str, rack: &str) {
        let node = Arc::make_mut(self.seen.nodes.get_mut(node).expect("the node"));
        node.metadata.labels.get_or_insert_default().insert("rack".to_owned(), rack.to_owned());
    }

    pub fn cordon(&mut self, node: &str, closed: bool) {
        let node = Arc::make_mut(self.seen.nodes.get_mut(node).expect("the node"));
        node.spec.get_or_insert_default().unschedulable = Some(closed);
    }

    /// A pod of another scheduler on a node.
    pub fn occupy(&mut self, name: &str, node: &str, gpus: i64) {
        let mut pod = self.pod_object(name, gpus, None);
        let spec = pod.spec.get_or_insert_default();
        (spec.node_name, spec.scheduler_name) = (Some(node.to_owned()), Some("default-scheduler".to_owned()));
        self.put_pod(pod);
    }

    pub fn meta(&mut self, name: &str) -> ObjectMeta {
        self.version += 1;
        self.made += 1;
        ObjectMeta {
            namespace: Some(NAMESPACE.to_owned()),
            name: Some(name.to_owned()),
            uid: Some(format!("{:08x}-0000", self.made)),
            resource_version: Some(self.version.to_string()),
            creation_timestamp: Some(Time(self.now)),
            ..ObjectMeta::default()
        }
    }

    pub fn pod_object(&mut self, name: &str, gpus: i64, owner: Option<&str>) -> Pod {
        let mut metadata = self.meta(name);
        metadata.owner_references = owner.map(|owner| {
            let controller = Some(true);
            vec![OwnerReference {
                kind: "PodClique".to_owned(),
                name: owner.to_owned(),
                controller,
                ..OwnerReference::default()
            }]
        });
        let requests = [(GPU.to_owned(), Quantity(gpus.to_string()))].into();
        let container = Container {
            name: "main".to_owned(),
            resources: Some(ResourceRequirements { requests: Some(requests), ..ResourceRequirements::default() }),
            ..Container::default()
        };
        let spec =
            PodSpec { containers: vec![container], scheduler_name: Some("trellis".to_owned()), ..PodSpec::default() };
        let status = PodStatus { phase: Some("Pending".to_owned()), ..PodStatus::default() };
        Pod { metadata, spec: Some(spec), status: Some(status) }
    }

    pub fn put_pod(&mut self, pod: Pod) {
        let key = Key::new(NAMESPACE, pod.metadata.name.as_deref().unwrap_or_default());
        self.seen.pods.insert(key, Arc::new(pod));
    }

    /// A gang: `group*replicas/min@gpus …`, with what it requires and prefers in all.
    pub fn gang(&mut self, name: &str, groups: &str, required: Option<&str>, edit: impl FnOnce(&mut PodGang)) {
        let mut wanted = Vec::new();
        let mut pod_groups = Vec::new();
        for text in groups.split(' ') {
            let (group, rest) = text.split_once('*').expect("group*replicas/min@gpus");
            let (replicas, rest) = rest.split_once('/').expect("replicas/min@gpus");
            let (min, gpus) = rest.split_once('@').expect("min@gpus");
            let group = format!("{name}-{group}");
            let (replicas, gpus) = (replicas.parse().expect("replicas"), gpus.parse().expect("gpus"));
            wanted.push(WantedGroup { replicas, gpus });
            pod_groups.push(PodGroup { name: group, min_replicas: min.parse().expect("min"), ..PodGroup::default() });
        }
        let key = |level: &str| if level == "host" { "kubernetes.io/hostname".to_owned() } else { level.to_owned() };
        let constraint =
            json!({ "packConstraint": { "required": required.map(key), "preferred": "kubernetes.io/hostname" } });
        let spec = PodGangSpec {
            pod_groups,
            topology_constraint: serde_json::from_value(constraint).expect("a constraint"),
            ..PodGangSpec::default()
        };
        let mut gang = PodGang { metadata: self.meta(name), spec, status: None };
        gang.metadata.labels = Some([(label::SCHEDULER_NAME.to_owned(), "trellis".to_owned())].into());
        edit(&mut gang);
        self.seen.pod_gangs.insert(Key::new(NAMESPACE, name), Arc::new(gang));
        self.wanted.insert(name.to_owned(), Wanted { groups: wanted, is_owned: true });
        self.operate();
    }

    pub fn delete_gang(&mut self, name: &str) {
        self.wanted.remove(name);
        self.seen.pod_gangs.remove(&Key::new(NAMESPACE, name));
        let pods: Vec<String> = self.pods_of(name).into_iter().map(|(name, _)| name).collect();
        pods.iter().for_each(|pod| self.delete_pod(pod));
    }

    pub fn scale(&mut self, gang: &str, group: usize, replicas: usize) {
        self.wanted.get_mut(gang).expect("the gang").groups[group].replicas = replicas;
        self.operate();
    }

    /// Pods of a gang by their names: those of its groups.
    pub fn pods_of(&self, gang: &str) -> Vec<(String, Arc<Pod>)> {
        let prefix = format!("{gang}-");
        let pods = self.seen.pods.iter().filter(|(key, _)| key.name.starts_with(&prefix));
        pods.map(|(key, pod)| (key.name.to_string(), pod.clone())).collect()
    }

    /// Deletes a pod: one that has a node is marked, and goes with its kubelet.
    pub fn delete_pod(&mut self, name: &str) {
        let key = Key::new(NAMESPACE, name);
        let Some(pod) = self.seen.pods.get_mut(&key) else { return };
        if node_of(pod).is_none() {
            self.seen.pods.remove(&key);
        } else if pod.metadata.deletion_timestamp.is_none() {
            self.version += 1;
            let pod = Arc::make_mut(pod);
            pod.metadata.deletion_timestamp = Some(Time(self.now));
            pod.metadata.resource_version = Some(self.version.to_string());
        }
        self.operate();
    }

    pub fn finish_pod(&mut self, name: &str, phase: &str) {
        let pod = Arc::make_mut(self.seen.pods.get_mut(&Key::new(NAMESPACE, name)).expect("the pod"));
        pod.status.get_or_insert_default().phase = Some(phase.to_owned());
        self.operate();
    }

    /// Owners make up for what is missing, and gangs name all members.
    pub fn operate(&mut self) {
        for (name, wanted) in self.wanted.clone() {
            let key = Key::new(NAMESPACE, &name);
            let Some(mut gang) = self.seen.pod_gangs.get(&key).map(|gang| (**gang).clone()) else { continue };
            for (group, wanted_group) in gang.spec.pod_groups.iter_mut().zip(&wanted.groups) {
                let mut live = self.live(&group.name);
                while live.len() > wanted_group.replicas {
                    let surplus = live.pop().expect("more than wanted");
                    self.scale_in(&surplus);
                }
                // Nobody makes pods anew that nobody owns.
                while live.len() < wanted_group.replicas
                    && (wanted.is_owned || group.pod_references.is_empty() || live.is_empty())
                {
                    let pod_name = format!("{}-{:05}", group.name, self.made);
                    let owner = wanted.is_owned.then_some(group.name.as_str());
                    let mut pod = self.pod_object(&pod_name, wanted_group.gpus, owner);
                    if let Some(dress) = self.dress.get(&name) {
                        dress(&mut pod);
                    }
                    self.put_pod(pod);
                    live.push(pod_name);
                }
                live.sort();
                let reference = |name: &String| NamespacedName { namespace: NAMESPACE.to_owned(), name: name.clone() };
                group.pod_references = live.iter().map(reference).collect();
            }
            if self.seen.pod_gangs[&key].spec != gang.spec {
                self.version += 1;
                gang.metadata.resource_version = Some(self.version.to_string());
                self.seen.pod_gangs.insert(key, Arc::new(gang));
            }
        }
    }

    fn live(&self, group: &str) -> Vec<String> {
        let prefix = format!("{group}-");
        let mut live: Vec<String> = self
            .seen
            .pods
            .iter()
            .filter(|(key, _)| key.name.strip_prefix(&*prefix).is_some_and(|rest| rest.len() == 5))
            .filter(|(_, pod)| pod.metadata.deletion_timestamp.is_none() && phase_of(pod) != "Failed")
            .map(|(key, _)| key.name.to_string())
            .collect();
        live.sort();
        live
    }

    fn scale_in(&mut self, name: &str) {
        let key = Key::new(NAMESPACE, name);
        let Some(pod) = self.seen.pods.get_mut(&key) else { return };
        if node_of(pod).is_none() {
            self.seen.pods.remove(&key);
        } else {
            Arc::make_mut(pod).metadata.deletion_timestamp = Some(Time(self.now));
        }
    }

    /// Kubelets: what was told to go is gone, unless it hangs.
    pub fn kubelets(&mut self) {
        let hanging = self.hanging.clone();
        self.seen.pods.retain(|key, pod| pod.metadata.deletion_timestamp.is_none() || hanging.contains(&*key.name));
        self.operate();
    }

    pub fn pass(&mut self, seconds: i64) {
        self.now = self.now.checked_add(SignedDuration::from_secs(seconds)).expect("a time");
    }

    /// Another scheduler takes over.
    pub fn new_leader(&mut self) {
        let number: usize = self.identity[1..].parse().expect("a number");
        self.identity = format!("s{}", number + 1);
        self.leads_since = self.now;
        self.memory.take();
    }

    pub fn decide(&self) -> Plan {
        let around = Around {
            settings: &self.settings,
            identity: &self.identity,
            leads_since: Some(self.leads_since),
            now: self.now,
        };
        decide(&self.seen, &around, &mut self.memory.borrow_mut())
    }

    /// Decides and acts until there is nothing left to do. A scheduler that dies is followed by another.
    pub fn settle(&mut self) {
        for _ in 0..ROUNDS {
            let plan = self.decide();
            let is_idle = plan.is_idle();
            self.last = plan.clone();
            let is_alive = self.apply(&plan);
            if !is_alive {
                self.dies_at = None;
                self.new_leader();
                continue;
            }
            let leaves =
                |world: &Self| world.seen.pods.values().filter(|pod| pod.metadata.deletion_timestamp.is_some()).count();
            let before = leaves(self);
            self.kubelets();
            if is_idle && before == leaves(self) {
                return;
            }
        }
        panic!("no end after {ROUNDS} decisions\n{}\n{:#?}", self.log.join("\n"), self.last);
    }

    /// What must be true at every moment: no node has more than it offers, no required level is broken by a bind.
    pub(super) fn check(&self) {
        let mut used: BTreeMap<&str, i64> = BTreeMap::new();
        for pod in self.seen.pods.values().filter(|pod| !["Succeeded", "Failed"].contains(&phase_of(pod))) {
            if let Some(node) = node_of(pod) {
                *used.entry(node).or_default() += gpus_of(pod);
            }
        }
        for (node, gpus) in used {
            assert!(gpus <= 8, "{node} has {gpus} of 8\n{}\n{}", self.log.join("\n"), self.show());
        }
        for (key, gang) in &self.seen.pod_gangs {
            let constraint = gang.spec.topology_constraint.as_ref().and_then(|it| it.pack_constraint.as_ref());
            if constraint.and_then(|pack| pack.required.as_deref()) != Some("rack") || key.name.starts_with('x') {
                continue;
            }
            let named: BTreeSet<&str> = gang
                .spec
                .pod_groups
                .iter()
                .flat_map(|group| &group.pod_references)
                .map(|pod| pod.name.as_str())
                .collect();
            let bound = self.pods_of(&key.name).into_iter().filter(|(name, _)| named.contains(name.as_str()));
            let racks: BTreeSet<String> = bound.filter_map(|(_, pod)| Some(node_of(&pod)?[..2].to_owned())).collect();
            assert!(racks.len() <= 1, "{} is in {racks:?}\n{}", key.name, self.log.join("\n"));
        }
    }

    /// Where everybody is: `gang: nodes`, waiting members as `-`, leaving ones left out.
    pub fn show(&self) -> String {
        let mut lines = Vec::new();
        let groups = self.seen.pod_groups.keys();
        for key in self.seen.pod_gangs.keys().chain(groups) {
            let mut places: Vec<String> =
                self.pods_of(&key.name)
                    .iter()
                    .filter(|(_, pod)| pod.metadata.deletion_timestamp.is_none() && phase_of(pod) != "Failed")
                    .filter(|(name, _)| {
                        !self.seen.pod_gangs.keys().any(|other| {
                            other.name.len() > key.name.len() && name.starts_with(&format!("{}-", other.name))
                        })
                    })
                    .map(|(_, pod)| {
                        if phase_of(pod) == "Succeeded" {
                            "done".to_owned()
                        } else {
                            node_of(pod).unwrap_or("-").to_owned()
                        }
                    })
                    .collect();
            places.sort();
            lines.push(format!("{}: {}", key.name, places.join(" ")));
        }
        lines.join("\n")
    }

    /// What a gang's condition says: `reason`.
    pub fn reason(&self, gang: &str) -> String {
        let gang = &self.seen.pod_gangs[&Key::new(NAMESPACE, gang)];
        let conditions = gang.status.iter().flat_map(|status| &status.conditions);
        let mut found =
            conditions.filter(|condition| condition.type_ == "Scheduled").map(|condition| condition.reason.clone());
        found.next_back().unwrap_or_default()
    }

    pub fn annotation(&self, gang: &str, key: &str) -> Option<String> {
        self.seen.pod_gangs[&Key::new(NAMESPACE, gang)].metadata.annotations.as_ref()?.get(key).cloned()
    }

    pub fn ledger(&self, gang: &str) -> trellis_scheduler::ledger::Ledger {
        let text = self.annotation(gang, annotation::PLACEMENT).unwrap_or_default();
        trellis_scheduler::ledger::Ledger::read(&text).unwrap_or_default()
    }
}

pub fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref()
}

fn phase_of(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

fn gpus_of(pod: &Pod) -> i64 {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let requests = containers.filter_map(|container| container.resources.as_ref()?.requests.as_ref()?.get(GPU));
    requests.filter_map(|quantity| quantity.0.parse::<i64>().ok()).sum()
}
