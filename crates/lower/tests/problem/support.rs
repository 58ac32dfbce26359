//! Objects as JSON, read as the command line reads them, and problems as text.

use k8s_openapi::api::core::v1::{Node, PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt::Debug;
use trellis_api::kinds::kai::{KaiPodGroup, Topology};
use trellis_api::kinds::{ClusterTopology, NodeResourceTopology, PodGang, SimulatedCluster};
use trellis_lower::problem::{Fault, Observed, Problem, problem};

/// An object of the test's own making.
pub fn object<T: DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{error}: {value:#}"))
}

/// The only one of a list.
pub fn only<T: Debug>(list: Vec<T>) -> T {
    let [one] = <[T; 1]>::try_from(list).unwrap_or_else(|list| panic!("not one but {list:#?}"));
    one
}

/// Objects by kind.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    nodes: Vec<Node>,
    simulated_clusters: Vec<SimulatedCluster>,
    pods: Vec<Pod>,
    pod_gangs: Vec<PodGang>,
    pod_groups: Vec<KaiPodGroup>,
    cluster_topologies: Vec<ClusterTopology>,
    kai_topologies: Vec<Topology>,
    priority_classes: Vec<PriorityClass>,
    node_resource_topologies: Vec<NodeResourceTopology>,
    claims: Vec<PersistentVolumeClaim>,
    volumes: Vec<PersistentVolume>,
    has_queues: bool,
}

impl Objects {
    /// Reads objects. Those that are none are told.
    pub fn read(values: &[Value]) -> (Self, Vec<String>) {
        let mut objects = Self::default();
        let unreadable = values.iter().filter_map(|value| objects.add(value).err()).collect();
        (objects, unreadable)
    }

    fn add(&mut self, value: &Value) -> Result<(), String> {
        fn add<T: DeserializeOwned>(list: &mut Vec<T>, value: &Value) -> Result<(), String> {
            list.push(T::deserialize(value).map_err(|error| error.to_string())?);
            Ok(())
        }
        match value["kind"].as_str().unwrap_or_default() {
            "Node" => add(&mut self.nodes, value),
            "SimulatedCluster" => add(&mut self.simulated_clusters, value),
            "Pod" => add(&mut self.pods, value),
            "PodGang" => add(&mut self.pod_gangs, value),
            "PodGroup" => add(&mut self.pod_groups, value),
            "ClusterTopology" => add(&mut self.cluster_topologies, value),
            "Topology" => add(&mut self.kai_topologies, value),
            "PriorityClass" => add(&mut self.priority_classes, value),
            "NodeResourceTopology" => add(&mut self.node_resource_topologies, value),
            "PersistentVolumeClaim" => add(&mut self.claims, value),
            "PersistentVolume" => add(&mut self.volumes, value),
            "Queue" => {
                self.has_queues = true;
                Ok(())
            }
            other => Err(format!("no kind of ours: {other:?}")),
        }
    }

    /// All objects of several lists.
    pub fn observed<'a>(lists: impl IntoIterator<Item = &'a Self>) -> Observed<'a> {
        let mut observed = Observed::default();
        for list in lists {
            observed.nodes.extend(&list.nodes);
            observed.simulated_clusters.extend(&list.simulated_clusters);
            observed.pods.extend(&list.pods);
            observed.pod_gangs.extend(&list.pod_gangs);
            observed.pod_groups.extend(&list.pod_groups);
            observed.cluster_topologies.extend(&list.cluster_topologies);
            observed.kai_topologies.extend(&list.kai_topologies);
            observed.priority_classes.extend(&list.priority_classes);
            observed.node_resource_topologies.extend(&list.node_resource_topologies);
            observed.claims.extend(&list.claims);
            observed.volumes.extend(&list.volumes);
            observed.has_queues |= list.has_queues;
        }
        observed
    }
}

/// The problem that objects pose, in the engine's form.
pub fn solve(values: &[Value]) -> Result<Problem, Vec<Fault>> {
    let (objects, unreadable) = Objects::read(values);
    assert!(unreadable.is_empty(), "{unreadable:?}");
    let problem = problem(&Objects::observed([&objects]));
    problem.iter().for_each(crate::world::assert_well_formed);
    problem
}

/// The problem of objects that are without fault.
pub fn posed(values: &[Value]) -> Problem {
    solve(values).unwrap_or_else(|faults| panic!("{faults:#?}"))
}

/// The problem that the objects of a running cluster pose.
pub fn live(values: &[Value]) -> Problem {
    let (objects, _) = Objects::read(values);
    let observed = Observed { is_live: true, ..Objects::observed([&objects]) };
    problem(&observed).unwrap_or_else(|faults| panic!("{faults:#?}"))
}

/// The faults of objects, as text.
pub fn faults(values: &[Value]) -> Vec<String> {
    let faults = solve(values).expect_err("there is a fault");
    faults.iter().map(ToString::to_string).collect()
}

/// A problem but for where in the input its gangs stand.
pub fn anywhere(problem: Problem) -> Problem {
    Problem { origins: Vec::new(), ..problem }
}
