//! What the benchmark runs: nodes in racks, and gangs that must be in one rack. Two gangs fit into a rack, and all of them into all.

use anyhow::Result;
use http::Method;
use serde_json::{Value, json};
use std::ops::Range;
use trellis_api::names::{MANAGED_BY, annotation, label, profile};

use crate::bench::send::{Ready, request, with_type};

/// Name of the topology.
pub const TOPOLOGY: &str = "bench";
/// Nodes of a rack.
pub const RACK: usize = 10;
/// Who places the pods.
pub const SCHEDULER: &str = profile::TRELLIS;
/// The label that all nodes of the benchmark carry.
pub const MARK: &str = "trellis.dev/bench";
/// The label of racks.
const KEY: &str = "bench.trellis.dev/rack";
const GPU: &str = "nvidia.com/gpu";
const GANGS: &str = "/apis/scheduler.grove.io/v1alpha1/namespaces";

/// So many gangs of so many pods.
#[derive(Debug)]
pub struct Workload {
    namespace: String,
    pub gangs: usize,
    pods: usize,
}

/// The topology: racks, and nodes in them.
pub fn topology() -> Result<Ready> {
    let levels = json!([{ "domain": "rack", "key": KEY }, { "domain": "host", "key": "kubernetes.io/hostname" }]);
    let topology = json!({
        "apiVersion": "grove.io/v1alpha1",
        "kind": "ClusterTopology",
        "metadata": { "name": TOPOLOGY },
        "spec": { "levels": levels },
    });
    request(Method::POST, "/apis/grove.io/v1alpha1/clustertopologies", bytes(&topology))
}

/// Nodes that are ready, of eight GPUs each.
pub fn nodes(range: Range<usize>) -> Result<Vec<Ready>> {
    let node = |node: usize| {
        let name = node_name(node);
        let offers = json!({ "cpu": "64", "memory": "512Gi", "pods": "110", GPU: "8" });
        let body = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "labels": { MARK: "", KEY: format!("rack-{}", node / RACK), "kubernetes.io/hostname": name },
            },
            "status": {
                "capacity": offers,
                "allocatable": offers,
                "conditions": [{ "type": "Ready", "status": "True" }],
            },
        });
        request(Method::POST, "/api/v1/nodes", bytes(&body))
    };
    range.map(node).collect()
}

/// A pod on each node that leaves no room for others.
pub fn occupants(namespace: &str, nodes: usize) -> Result<Vec<Ready>> {
    let uri = pods_of(namespace);
    let occupant = |node: usize| {
        let name = node_name(node);
        let mut pod = pod(&format!("occupant-{name}"), "nobody", "8");
        pod["spec"]["nodeName"] = json!(name);
        request(Method::POST, &uri, bytes(&pod))
    };
    (0..nodes).map(occupant).collect()
}

/// Deletes all pods and gangs.
pub fn clear(namespace: &str) -> Result<Vec<Ready>> {
    let at_once = bytes(&json!({ "apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0 }));
    let uris = [format!("{GANGS}/{namespace}/podgangs"), pods_of(namespace)];
    uris.iter().map(|uri| request(Method::DELETE, uri, at_once.clone())).collect()
}

impl Workload {
    pub fn new(namespace: &str, gangs: usize, pods: usize) -> Self {
        Self { namespace: namespace.to_owned(), gangs, pods }
    }

    /// How many pods there are.
    pub fn len(&self) -> usize {
        self.gangs * self.pods
    }

    /// All gangs, which name their pods.
    pub fn gangs(&self) -> Result<Vec<Ready>> {
        (0..self.gangs).map(|gang| self.gang(gang)).collect()
    }

    fn gang(&self, gang: usize) -> Result<Ready> {
        let pods = self.names_of(gang).into_iter().map(|name| json!({ "namespace": self.namespace, "name": name }));
        let group = json!({
            "name": format!("{}-worker", gang_name(gang)),
            "minReplicas": self.pods,
            "podReferences": pods.collect::<Vec<_>>(),
        });
        let body = json!({
            "apiVersion": "scheduler.grove.io/v1alpha1",
            "kind": "PodGang",
            "metadata": {
                "name": gang_name(gang),
                "namespace": self.namespace,
                // As the operator's: what it makes is left alone until it is said to be complete.
                "labels": { label::SCHEDULER_NAME: SCHEDULER, label::MANAGED_BY: MANAGED_BY },
                "annotations": { annotation::TOPOLOGY_NAME: TOPOLOGY },
            },
            "spec": {
                "podgroups": [group],
                "topologyConstraint": { "packConstraint": { "required": KEY, "preferred": "kubernetes.io/hostname" } },
            },
        });
        request(Method::POST, &format!("{GANGS}/{}/podgangs", self.namespace), bytes(&body))
    }

    /// Says of all gangs that they are complete.
    pub fn complete(&self) -> Result<Vec<Ready>> {
        (0..self.gangs).map(|gang| self.completed(gang)).collect()
    }

    /// Says of a gang that it is complete, as the operator does.
    pub fn completed(&self, gang: usize) -> Result<Ready> {
        let name = gang_name(gang);
        let condition = json!({
            "type": "Initialized",
            "status": "True",
            "reason": "AllPodsCreated",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        });
        let body = json!({
            "apiVersion": "scheduler.grove.io/v1alpha1",
            "kind": "PodGang",
            "metadata": { "name": name },
            "status": { "conditions": [condition] },
        });
        let uri = format!("{GANGS}/{}/podgangs/{name}/status?fieldManager=bench&force=true", self.namespace);
        with_type(Method::PATCH, &uri, "application/apply-patch+yaml", bytes(&body))
    }

    /// All pods, for this scheduler.
    pub fn pods(&self, scheduler: &str) -> Result<Vec<Ready>> {
        let pods = (0..self.gangs).map(|gang| self.pods_of(gang, scheduler));
        Ok(pods.collect::<Result<Vec<_>>>()?.concat())
    }

    /// The pods of a gang, for this scheduler.
    pub fn pods_of(&self, gang: usize, scheduler: &str) -> Result<Vec<Ready>> {
        let uri = pods_of(&self.namespace);
        let pods = self.names_of(gang).into_iter().map(|name| pod(&name, scheduler, "2"));
        pods.map(|pod| request(Method::POST, &uri, bytes(&pod))).collect()
    }

    /// What the pods of a gang are called.
    pub fn names_of(&self, gang: usize) -> Vec<String> {
        (0..self.pods).map(|at| pod_name(gang, at)).collect()
    }

    /// Plain binds of all pods, one node after the other.
    pub fn binds(&self, nodes: usize) -> Result<Vec<Ready>> {
        let names = (0..self.gangs).flat_map(|gang| self.names_of(gang));
        let bind = |(at, name): (usize, String)| {
            let body = json!({
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": { "name": name, "namespace": self.namespace },
                "target": { "apiVersion": "v1", "kind": "Node", "name": node_name(at % nodes) },
            });
            request(Method::POST, &format!("{}/{name}/binding", pods_of(&self.namespace)), bytes(&body))
        };
        names.enumerate().map(bind).collect()
    }
}

/// A pod, for whoever wants to try.
pub fn any_pod() -> Vec<u8> {
    bytes(&pod("any", "nobody", "2"))
}

fn pod(name: &str, scheduler: &str, gpus: &str) -> Value {
    let resources = json!({ "cpu": "1", "memory": "4Gi", GPU: gpus });
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": name },
        "spec": {
            "schedulerName": scheduler,
            "containers": [{
                "name": "worker",
                "image": "registry.example.com/worker:1",
                "resources": { "requests": resources, "limits": { GPU: gpus } },
            }],
        },
    })
}

fn pods_of(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/pods")
}

fn node_name(node: usize) -> String {
    format!("node-{node:05}")
}

fn gang_name(gang: usize) -> String {
    format!("gang-{gang:04}")
}

fn pod_name(gang: usize, pod: usize) -> String {
    format!("gang-{gang:04}-worker-{pod:05}")
}

fn bytes(body: &Value) -> Vec<u8> {
    body.to_string().into_bytes()
}
