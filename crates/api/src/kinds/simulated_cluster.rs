//! SimulatedCluster: thousands of nodes in a few lines. Read from files, by `trellis plan`; no API server knows it.

use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube_derive::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Nodes that do not exist, for trying out what would happen on them.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "trellis.dev",
    version = "v1alpha1",
    kind = "SimulatedCluster",
    plural = "simulatedclusters",
    derive = "PartialEq",
    derive = "Default",
    crates(kube_core = "::kube_core"),
    doc = "Nodes that do not exist, for trying out what would happen on them."
)]
#[serde(rename_all = "camelCase")]
pub struct SimulatedClusterSpec {
    /// The nodes, by kind.
    pub pools: Vec<SimulatedPool>,
}

/// Nodes that are alike, spread evenly over the domains of a topology.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimulatedPool {
    /// Name of the pool. Its nodes are called `<name>-0`, `<name>-1` and so on.
    pub name: String,
    /// Levels of the topology, widest first. Each puts a label on the nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<SimulatedLevel>,
    /// Number of nodes in each domain of the last level, or in all if there are no levels.
    #[schemars(range(min = 0))]
    pub hosts: i64,
    /// What each node offers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "quantities_schema")]
    pub resources: BTreeMap<String, Quantity>,
    /// More labels of the nodes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Taints of the nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Taint>,
}

/// A level of a simulated topology.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimulatedLevel {
    /// Node label key of the level.
    pub key: String,
    /// Number of its domains in each domain of the level above.
    #[schemars(range(min = 1))]
    pub count: i64,
    /// What its label values begin with; a number follows, counted through the pool. Defaults to what follows the key's
    /// last `/`: `zone0`, `zone1` and so on for `topology.kubernetes.io/zone`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
}

impl SimulatedLevel {
    /// What the label values begin with.
    pub fn prefix(&self) -> &str {
        self.prefix.as_deref().unwrap_or_else(|| self.key.rsplit('/').next().unwrap_or_default())
    }
}

/// Amounts by resource name, each a number or text.
pub(super) fn quantities_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": true}})
}
