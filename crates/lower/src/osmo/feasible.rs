//! Said at submission: what a workflow requires and this cluster can never give, even empty.

use super::group::workflow_objects;
use super::pool::{pool_objects, priority_classes};
use crate::problem::simulated::nodes as simulated_nodes;
use crate::problem::{Observed, Problem, problem};
use k8s_openapi::api::core::v1::{Node, Pod};
use std::collections::{BTreeMap, BTreeSet};
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
            let Problem { cluster: empty, gangs, .. } = problem(&observed).ok()?;
            let mut snapshot = Snapshot::with_gangs(Arc::new(empty), &gangs);
            let plan = plan_on(&mut snapshot, &gangs, Options::default());
            let explanation = explain_on(&mut snapshot, &gangs, &plan, Options::default()).into_iter().next()?;
            let never = explanation.empty_cluster == Some(EmptyCluster::Never);
            never.then(|| {
                let labels = unmatched(&objects.pods, cluster).map(|labels| format!("{labels} ")).unwrap_or_default();
                (name, format!("{labels}{}", explanation.text))
            })
        })
        .collect()
}

/// Labels that pods are kept to and that no node carries, in words: the engine only sees that no node will do.
fn unmatched(pods: &[Pod], cluster: &Cluster<'_>) -> Option<String> {
    let selectors = pods.iter().filter_map(|pod| pod.spec.as_ref()?.node_selector.as_ref());
    let selectors: BTreeSet<&BTreeMap<String, String>> = selectors.collect();
    let carries = |node: &Node, selector: &BTreeMap<String, String>| {
        selector.iter().all(|(key, value)| node.metadata.labels.as_ref().and_then(|it| it.get(key)) == Some(value))
    };
    let is_carried = |selector: &BTreeMap<String, String>| {
        let mut simulated = cluster.simulated_clusters.iter().filter_map(|it| simulated_nodes(it).ok()).flatten();
        cluster.nodes.iter().any(|node| carries(node, selector)) || simulated.any(|node| carries(&node, selector))
    };
    let lost = selectors.into_iter().find(|selector| !is_carried(selector))?;
    let labels: Vec<String> = lost.iter().map(|(key, value)| format!("{key}={value}")).collect();
    Some(format!("No node carries {}, which the templates of its pool ask for.", labels.join(" and ")))
}
