//! Sorts the objects of the input into what a plan looks at; other kinds are passed over.

use super::items::{Items, Origin, refusal};
use crate::objects::{Object, Role};
use crate::render;
use k8s_openapi::api::core::v1::{Node, PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use serde_json::Value;
use std::collections::BTreeMap;
use std::rc::Rc;
use trellis_api::admission::Verdict;
use trellis_api::admission::object::Kind;
use trellis_api::field::{FieldError, Path};
use trellis_api::kinds::kai::{KaiPodGroup, Topology};
use trellis_api::kinds::{ClusterTopology, NodeResourceTopology, PodGang, SimulatedCluster, SimulatedClusterSpec};
use trellis_api::names::group;
use trellis_api::schema;
use trellis_lower::problem::{Fault, Observed, Unsound};

/// Everything that a plan looks at.
#[derive(Debug, Default)]
pub struct Gathered {
    nodes: Items<Node>,
    simulated_clusters: Items<SimulatedCluster>,
    pub pods: Items<Pod>,
    pub pod_gangs: Items<PodGang>,
    pub pod_groups: Items<KaiPodGroup>,
    pub kai_topologies: Items<Topology>,
    pub priority_classes: Items<PriorityClass>,
    node_resource_topologies: Items<NodeResourceTopology>,
    claims: Items<PersistentVolumeClaim>,
    volumes: Items<PersistentVolume>,
    /// ClusterTopologies are read by admission; this is where they stand.
    cluster_topologies: BTreeMap<String, Rc<Object>>,
    bind_requests: Vec<BindRequest>,
    has_queues: bool,
}

/// KAI's word that a pod goes to a node, before the pod itself says so.
#[derive(Debug)]
struct BindRequest {
    namespace: String,
    pod: String,
    node: String,
}

impl Gathered {
    /// Takes an object. Returns whether it is fit for it; if not, it has been said why.
    pub fn add(&mut self, mut object: Object) -> bool {
        match object.role {
            Role::Pod => return self.pods.add(object),
            Role::Judged(Kind::PodGang) => return self.pod_gangs.add(object),
            Role::Judged(Kind::ClusterTopology) => {
                object.document.value.take();
                self.cluster_topologies.entry(object.name.clone()).or_insert(Rc::new(object));
                return true;
            }
            Role::Judged(_) | Role::Unknown => return true,
            Role::Foreign => {}
        }
        let api_version = object.document.value["apiVersion"].as_str().unwrap_or_default();
        let (api_group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        match (api_group, object.kind.as_str()) {
            ("", "Node") => self.nodes.add(object),
            ("", "PersistentVolumeClaim") => self.claims.add(in_namespace(object)),
            ("", "PersistentVolume") => self.volumes.add(object),
            ("scheduling.k8s.io", "PriorityClass") => self.priority_classes.add(object),
            (group::NODE_TOPOLOGY, "NodeResourceTopology") => self.node_resource_topologies.add(object),
            (group::KAI, "Topology") => self.kai_topologies.add(object),
            (group::KAI_SCHEDULING, "PodGroup") => self.pod_groups.add(in_namespace(object)),
            (group::KAI_SCHEDULING, "Queue") => {
                self.has_queues = true;
                true
            }
            (group::KAI_SCHEDULING, "BindRequest") => {
                self.bind_requests.extend(bind_request(&in_namespace(object)));
                true
            }
            (group::TRELLIS, "SimulatedCluster") if version == group::V1ALPHA1 => self.simulated(object),
            (group::TRELLIS, kind) => {
                let known = [format!("{}/{}", group::TRELLIS, group::V1ALPHA1)];
                let fault = match kind {
                    "SimulatedCluster" => {
                        FieldError::not_supported(&Path::new("apiVersion"), api_version, &[&known[0]])
                    }
                    kind => FieldError::not_supported(&Path::new("kind"), kind, &["SimulatedCluster"]),
                };
                render::tell(&object, &refusal(fault))
            }
            _ => true,
        }
    }

    /// No API server judges a SimulatedCluster, so its form is judged here.
    fn simulated(&mut self, mut object: Object) -> bool {
        let schema = schema::derived::<SimulatedClusterSpec>();
        let value = &mut object.document.value;
        let mut errors = Vec::new();
        if let Some(fields) = value.as_object_mut() {
            let known = ["apiVersion", "kind", "metadata", "spec"];
            for (field, value) in fields.iter().filter(|(field, _)| !known.contains(&field.as_str())) {
                errors.push(FieldError::invalid(&Path::new(field), value.clone(), "unknown field"));
            }
            let spec = fields.entry("spec").or_insert(Value::Null);
            errors.extend(schema::check(&schema, spec, &Path::new("spec")).errors);
        }
        if errors.is_empty() {
            self.simulated_clusters.add(object)
        } else {
            render::tell(&object, &Verdict { errors, warnings: Vec::new() })
        }
    }

    /// Puts pods where KAI has said that they go.
    pub fn apply_bind_requests(&mut self) {
        for request in std::mem::take(&mut self.bind_requests) {
            if self.nodes.find("", &request.node).is_none() {
                continue;
            }
            let spec = self.pods.find_mut(&request.namespace, &request.pod).and_then(|pod| pod.spec.as_mut());
            if let Some(spec) = spec.filter(|spec| spec.node_name.as_ref().is_none_or(String::is_empty)) {
                spec.node_name = Some(request.node);
            }
        }
    }

    /// All of it, for the translation.
    pub fn observed<'a>(&'a self, topologies: &'a BTreeMap<String, ClusterTopology>) -> Observed<'a> {
        Observed {
            nodes: self.nodes.refs(),
            simulated_clusters: self.simulated_clusters.refs(),
            pods: self.pods.refs(),
            pod_gangs: self.pod_gangs.refs(),
            pod_groups: self.pod_groups.refs(),
            cluster_topologies: topologies.values().collect(),
            kai_topologies: self.kai_topologies.refs(),
            priority_classes: self.priority_classes.refs(),
            node_resource_topologies: self.node_resource_topologies.refs(),
            claims: self.claims.refs(),
            volumes: self.volumes.refs(),
            has_queues: self.has_queues,
            ..Observed::default()
        }
    }

    /// Whether there is a node of this name.
    pub fn has_node(&self, name: &str) -> bool {
        self.nodes.find("", name).is_some()
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.nodes.objects.len()
            + self.pods.objects.len()
            + self.pod_gangs.objects.len()
            + self.pod_groups.objects.len()
    }

    /// Says what the translation found wrong. Pods that follow from one set and are wrong in one way are told once.
    pub fn tell(&self, faults: &[Fault]) {
        let mut shared: BTreeMap<(String, String), usize> = BTreeMap::new();
        for fault in faults {
            match self.origin(fault) {
                Some(Origin::Written(object)) => drop(render::tell(&object, &refusal(fault.error.clone()))),
                Some(Origin::Rendered(set)) => {
                    let whose = format!("{}: {}", set.document.place(""), set.title());
                    *shared.entry((whose, format!("{}s: {}", fault.kind, fault.error))).or_default() += 1;
                }
                None => eprintln!("error: {fault}"),
            }
        }
        for ((whose, what), count) in shared {
            eprintln!("error: {whose}: {count} of its {what}");
        }
    }

    /// Whether an object is at fault that others have applied to the cluster: no reason not to plan the rest.
    pub fn is_live(&self, fault: &Fault) -> bool {
        matches!(self.origin(fault), Some(Origin::Written(object)) if object.is_live())
    }

    /// Leaves objects out that are at fault.
    pub fn leave_out(&mut self, unsound: &Unsound) {
        self.nodes.leave_out(unsound.get("Node"));
        self.pods.leave_out(unsound.get("Pod"));
        self.pod_gangs.leave_out(unsound.get("PodGang"));
        self.pod_groups.leave_out(unsound.get("PodGroup"));
        self.kai_topologies.leave_out(unsound.get("Topology"));
        self.priority_classes.leave_out(unsound.get("PriorityClass"));
        self.node_resource_topologies.leave_out(unsound.get("NodeResourceTopology"));
        self.claims.leave_out(unsound.get("PersistentVolumeClaim"));
        self.volumes.leave_out(unsound.get("PersistentVolume"));
    }

    fn origin(&self, fault: &Fault) -> Option<Origin> {
        let origins = match fault.kind {
            "Node" => &self.nodes.origins,
            "SimulatedCluster" => &self.simulated_clusters.origins,
            "Pod" => &self.pods.origins,
            "PodGang" => &self.pod_gangs.origins,
            "PodGroup" => &self.pod_groups.origins,
            "Topology" => &self.kai_topologies.origins,
            "PriorityClass" => &self.priority_classes.origins,
            "NodeResourceTopology" => &self.node_resource_topologies.origins,
            "PersistentVolumeClaim" => &self.claims.origins,
            "PersistentVolume" => &self.volumes.origins,
            _ => return self.cluster_topologies.get(&fault.name).cloned().map(Origin::Written),
        };
        origins.get(fault.index).cloned()
    }
}

/// An object of a kind that lives in namespaces.
fn in_namespace(mut object: Object) -> Object {
    if object.namespace.is_empty() {
        "default".clone_into(&mut object.namespace);
    }
    object
}

/// What KAI asks for, unless that has failed.
fn bind_request(object: &Object) -> Option<BindRequest> {
    let value = &object.document.value;
    let (pod, node) = (value["spec"]["podName"].as_str()?, value["spec"]["selectedNode"].as_str()?);
    let request = BindRequest { namespace: object.namespace.clone(), pod: pod.to_owned(), node: node.to_owned() };
    (value["status"]["phase"] != "Failed").then_some(request)
}
