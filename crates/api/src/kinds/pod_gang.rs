//! PodGang: the contract with a scheduler.

use super::conditions_schema;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Pods that are placed together or not at all, with how close together they must be.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "scheduler.grove.io",
    version = "v1alpha1",
    kind = "PodGang",
    plural = "podgangs",
    shortname = "pg",
    category = "trellis",
    namespaced,
    status = "PodGangStatus",
    derive = "PartialEq",
    derive = "Default",
    crates(kube_core = "::kube_core"),
    doc = "Pods that are placed together or not at all, with how close together they must be. Made by the operator, read by the scheduler.",
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(
        name = "Scheduled",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Scheduled\")].status"
    ),
    printcolumn(name = "Score", type_ = "number", json_path = ".status.placementScore", priority = "1"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct PodGangSpec {
    /// The groups of pods in the gang, one for each PodClique.
    #[serde(rename = "podgroups")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub pod_groups: Vec<PodGroup>,
    /// How close together all pods of the gang must be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology_constraint: Option<GangTopologyConstraint>,
    /// How close together the pods of some of the groups must be; one entry for each replica of a scaling group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub topology_constraint_group_configs: Vec<TopologyConstraintGroupConfig>,
    /// PriorityClass of the gang.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority_class_name: Option<String>,
    /// A gang whose place this one may take over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reuse_reservation_ref: Option<NamespacedName>,
}

/// Pods of one PodClique within a gang.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodGroup {
    /// Name of the group: the PodClique's.
    pub name: String,
    /// The pods, sorted by name.
    pub pod_references: Vec<NamespacedName>,
    /// Number of pods that must be placed together with the rest of the gang.
    #[schemars(range(min = 0))]
    pub min_replicas: i32,
    /// How close together the pods of this group must be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology_constraint: Option<GangTopologyConstraint>,
}

/// An object by namespace and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct NamespacedName {
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
}

/// Some groups of a gang that must be close together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TopologyConstraintGroupConfig {
    /// Name of the entry: scaling group and replica index.
    pub name: String,
    /// Names of the pod groups it binds.
    pub pod_group_names: Vec<String>,
    /// How close together their pods must be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology_constraint: Option<GangTopologyConstraint>,
}

/// How close together pods must be, in node label keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GangTopologyConstraint {
    /// The levels that the pods must and should share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pack_constraint: Option<GangPackConstraint>,
}

/// The levels that pods must and should share, as node label keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GangPackConstraint {
    /// Node label key, such as `topology.kubernetes.io/rack`, on whose value all nodes of the pods must agree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<String>,
    /// Node label key on whose value the nodes of the pods should agree as far as there is room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preferred: Option<String>,
}

/// Where a gang stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum GangPhase {
    /// Not placed.
    Pending,
    /// Placed, not all minima ready.
    Starting,
    /// All minima ready.
    Running,
    /// Ended with a failure.
    Failed,
    /// All members finished.
    Succeeded,
}

/// What was observed of a PodGang.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodGangStatus {
    /// Where the gang stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<GangPhase>,
    /// Conditions: `Initialized`, `Scheduled`, `Ready`, `Unhealthy`, `DisruptionTarget`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions_schema")]
    pub conditions: Vec<Condition>,
    /// 1 when every preferred level is shared as far as the cluster allows, towards 0 the more it is spread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement_score: Option<f64>,
}
