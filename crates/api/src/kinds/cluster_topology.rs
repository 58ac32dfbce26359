//! ClusterTopology: which node labels make up the topology.

use super::conditions_schema;
use crate::Domain;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The levels of one topology of the cluster, widest first.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "grove.io",
    version = "v1alpha1",
    kind = "ClusterTopology",
    plural = "clustertopologies",
    shortname = "ct",
    category = "trellis",
    status = "ClusterTopologyStatus",
    derive = "PartialEq",
    derive = "Default",
    crates(kube_core = "::kube_core"),
    doc = "Which node labels make up a topology of the cluster, so that workloads can speak of `rack` and `zone` on any cluster.",
    printcolumn(name = "Domains", type_ = "string", json_path = ".spec.levels[*].domain"),
    printcolumn(name = "Nodes", type_ = "integer", json_path = ".status.labelledNodes"),
    printcolumn(name = "Partial", type_ = "integer", json_path = ".status.partiallyLabelledNodes", priority = "1"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct ClusterTopologySpec {
    /// Levels of the topology, widest first; written in another order they are sorted. They cannot change while a pod
    /// of a PodCliqueSet that uses this topology has a node.
    #[schemars(length(min = 1, max = 7), extend("x-kubernetes-list-type" = "atomic", "x-kubernetes-validations" = [
        {"rule": "self.all(x, self.filter(y, y.domain == x.domain).size() == 1)", "message": "domain must be unique across all levels"},
        {"rule": "self.all(x, self.filter(y, y.key == x.key).size() == 1)", "message": "key must be unique across all levels"}
    ]))]
    pub levels: Vec<TopologyLevel>,
}

/// A level of the topology.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TopologyLevel {
    /// Name of the level, by which workloads ask for it: region, zone, datacenter, block, rack, host or numa.
    pub domain: Domain,
    /// Node label key whose value tells the domains of this level apart, such as `topology.kubernetes.io/zone`.
    #[schemars(
        length(min = 1, max = 316),
        regex(pattern = r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$")
    )]
    pub key: String,
}

/// What was observed of a ClusterTopology.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterTopologyStatus {
    /// Generation of the spec that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Conditions: `NodesLabelled`, `SchedulerTopologyInSync`, and `DeletionBlocked` while it is referenced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions_schema")]
    pub conditions: Vec<Condition>,
    /// Nodes that carry the labels of all levels.
    #[serde(default)]
    pub labelled_nodes: i32,
    /// Nodes that carry the labels of some levels only.
    #[serde(default)]
    pub partially_labelled_nodes: i32,
    /// The first of those nodes, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partially_labelled: Vec<PartiallyLabelledNode>,
    /// Label values that stand under two wider domains, such as one rack in two blocks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub broken_nesting: Vec<BrokenNesting>,
    /// The scheduler backends' own topology objects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scheduler_topology_statuses: Vec<BackendTopologyStatus>,
}

/// A node that lacks labels of the topology.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PartiallyLabelledNode {
    /// Name of the node.
    pub name: String,
    /// Label keys it lacks.
    pub missing: Vec<String>,
}

/// A label value that stands under two wider domains.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BrokenNesting {
    /// Label key of the level.
    pub key: String,
    /// The value found in several places.
    pub value: String,
    /// The wider domains it was found under.
    pub under: Vec<String>,
}

/// A scheduler backend's own topology object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackendTopologyStatus {
    /// Scheduler profile.
    pub scheduler_name: String,
    /// Name of the backend's topology object.
    pub topology_reference: String,
    /// Whether its levels equal ours.
    pub in_sync: bool,
    /// Generation of the backend's object that was compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler_backend_topology_observed_generation: Option<i64>,
    /// What differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl ClusterTopologySpec {
    /// The node label key of a domain, if the topology has it.
    pub fn key(&self, domain: Domain) -> Option<&str> {
        self.levels.iter().find(|level| level.domain == domain).map(|level| level.key.as_str())
    }

    /// The levels widest first, whatever order they were written in.
    pub fn sorted_levels(&self) -> Vec<&TopologyLevel> {
        let mut levels: Vec<_> = self.levels.iter().collect();
        levels.sort_by_key(|level| level.domain);
        levels
    }

    /// The narrowest level that is not below the host: what packing aims for when the user names nothing.
    pub fn narrowest_up_to_host(&self) -> Option<&TopologyLevel> {
        self.levels.iter().filter(|level| level.domain <= Domain::Host).max_by_key(|level| level.domain)
    }
}
