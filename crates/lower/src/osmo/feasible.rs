//! Said at submission: what a workflow requires and this cluster can never give, even empty.

use super::group::workflow_objects;
use super::pool::{pool_objects, priority_classes};
use crate::problem::{Observed, Problem, problem};
use k8s_openapi::api::core::v1::{Node, Pod};
use std::sync::Arc;
use trellis_api::kinds::osmo::{Pool, Workflow};
use trellis_api::kinds::{NodeResourceTopology, SimulatedCluster};
use trellis_engine::{EmptyCluster, Options, Snapshot, explain_on, plan_on};

/// What is known of the cluster. What runs on it does not matter: the question is whether the gang would fit without all
/// that.
#[derive(Clone, Debug, Default)]
pub struct Cluster<'a> {
    /// Nodes.
    pub nodes: Vec<&'a Node>,
    /// Nodes in a few lines.
    pub simulated_clusters: Vec<&'a SimulatedCluster>,
    /// Zones inside nodes.
    pub node_resource_topologies: Vec<&'a NodeResourceTopology>,
}

/// For each group that can never be placed, its name and why, in the engine's words. A cluster without nodes says nothing:
/// it may not have any yet.
pub fn never_fits(workflow: &Workflow, pool: &Pool, cluster: &Cluster<'_>) -> Vec<(String, String)> {
    if (cluster.nodes.is_empty() && cluster.simulated_clusters.is_empty()) || !pool.spec.knows_topology() {
        return Vec::new();
    }
    let topology = pool_objects(pool).topology;
    let classes = priority_classes();
    // Each by itself: groups that run one after the other need not fit side by side.
    workflow_objects(workflow, pool)
        .into_iter()
        .filter_map(|(name, objects)| {
            let pods: Vec<&Pod> = objects.pods.iter().collect();
            let observed = Observed {
                nodes: cluster.nodes.clone(),
                simulated_clusters: cluster.simulated_clusters.clone(),
                pods,
                pod_groups: objects.pod_group.iter().collect(),
                kai_topologies: topology.iter().collect(),
                priority_classes: classes.iter().collect(),
                node_resource_topologies: cluster.node_resource_topologies.clone(),
                ..Observed::default()
            };
            // Nodes that contradict themselves are told about elsewhere.
            let Problem { cluster, gangs, .. } = problem(&observed).ok()?;
            let mut snapshot = Snapshot::with_gangs(Arc::new(cluster), &gangs);
            let plan = plan_on(&mut snapshot, &gangs, Options::default());
            let explanation = explain_on(&mut snapshot, &gangs, &plan, Options::default()).into_iter().next()?;
            let never = explanation.empty_cluster == Some(EmptyCluster::Never);
            never.then_some((name, explanation.text))
        })
        .collect()
}
