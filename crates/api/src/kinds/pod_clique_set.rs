//! PodCliqueSet: what users write.

use super::{AutoScalingConfig, LastError, PodCliqueSpec, ResourceClaimTemplate, ResourceSharing, conditions_schema};
use crate::Domain;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

fn one() -> i32 {
    1
}

/// A workload of cliques that start together and sit close together, in one or more identical replicas.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "grove.io",
    version = "v1alpha1",
    kind = "PodCliqueSet",
    plural = "podcliquesets",
    shortname = "pcs",
    category = "trellis",
    namespaced,
    status = "PodCliqueSetStatus",
    derive = "PartialEq",
    derive = "Default",
    crates(kube_core = "::kube_core"),
    doc = "A workload of cliques of pods that start together and sit close together, in one or more identical replicas.",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.hpaPodSelector"
    ),
    printcolumn(name = "Replicas", type_ = "integer", json_path = ".spec.replicas"),
    printcolumn(name = "Available", type_ = "integer", json_path = ".status.availableReplicas"),
    printcolumn(name = "Updated", type_ = "integer", json_path = ".status.updatedReplicas"),
    printcolumn(
        name = "PCLQs-Updated",
        type_ = "integer",
        json_path = ".status.updateProgress.updatedPodCliquesCount"
    ),
    printcolumn(name = "PCLQs-Total", type_ = "integer", json_path = ".status.updateProgress.totalPodCliquesCount"),
    printcolumn(
        name = "PCSGs-Updated",
        type_ = "integer",
        json_path = ".status.updateProgress.updatedPodCliqueScalingGroupsCount"
    ),
    printcolumn(
        name = "PCSGs-Total",
        type_ = "integer",
        json_path = ".status.updateProgress.totalPodCliqueScalingGroupsCount"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct PodCliqueSetSpec {
    /// Number of identical replicas of the whole workload. Each replica is placed on its own.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 100_000))]
    pub replicas: i32,
    /// How running pods are brought to a changed template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_strategy: Option<UpdateStrategy>,
    /// What one replica consists of.
    pub template: PodCliqueSetTemplate,
}

/// How running pods are brought to a changed template.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateStrategy {
    /// `RollingRecreate` replaces pods one at a time, one replica of the set after the other; `OnDelete` leaves it to
    /// whoever deletes them.
    #[serde(default, rename = "type")]
    pub type_: UpdateStrategyType,
}

/// Ways to update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum UpdateStrategyType {
    /// Replace pods one at a time.
    #[default]
    RollingRecreate,
    /// Wait until somebody deletes them.
    OnDelete,
}

/// When the cliques of a replica start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum StartupType {
    /// All at once.
    #[default]
    #[serde(rename = "CliqueStartupTypeAnyOrder")]
    AnyOrder,
    /// Each after the one before it in the list.
    #[serde(rename = "CliqueStartupTypeInOrder")]
    InOrder,
    /// As `startsAfter` says.
    #[serde(rename = "CliqueStartupTypeExplicit")]
    Explicit,
}

/// What one replica of a PodCliqueSet consists of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodCliqueSetTemplate {
    /// The cliques: groups of pods of one role each.
    #[schemars(length(min = 1, max = 256), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub cliques: Vec<CliqueTemplate>,
    /// When the cliques of a replica start. All pods are placed together in any case. Immutable.
    #[serde(default)]
    pub clique_startup_type: StartupType,
    /// PriorityClass of the gangs, and of their pods unless a pod spec names another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority_class_name: Option<String>,
    /// The headless Service of each replica.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headless_service_config: Option<HeadlessServiceConfig>,
    /// Name of the ClusterTopology that the constraints below speak of. Defaults to `grove-topology`. May change
    /// while no pod of the set has a node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_topology_name: Option<String>,
    /// How close together the pods of one replica must be. Immutable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology_constraint: Option<TopologyConstraint>,
    /// How long a gang may be broken before it is taken down and placed anew, as a duration such as `4h`. Defaults
    /// to `4h`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^\+?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$"))]
    pub termination_delay: Option<String>,
    /// Groups of cliques that are scaled together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub pod_clique_scaling_groups: Vec<ScalingGroupTemplate>,
    /// Claim templates that `resourceSharing` may refer to. Immutable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub resource_claim_templates: Vec<ResourceClaimTemplate>,
    /// Claims that pods of a replica share. Immutable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_sharing: Vec<ResourceSharing>,
}

/// The headless Service of each replica.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeadlessServiceConfig {
    /// Whether the Service publishes pods before they are ready.
    #[serde(default = "yes")]
    pub publish_not_ready_addresses: bool,
}

fn yes() -> bool {
    true
}

impl Default for HeadlessServiceConfig {
    fn default() -> Self {
        Self { publish_not_ready_addresses: true }
    }
}

/// A clique: pods of one role.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CliqueTemplate {
    /// Name of the clique, a DNS label, unique in the set.
    #[schemars(length(min = 1, max = 63), regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub name: String,
    /// Labels for the PodCliques and their pods.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations for the PodCliques and their pods.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// How close together the pods of one PodClique must be. Equal to or narrower than what the set and the scaling
    /// group ask for. Immutable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology_constraint: Option<TopologyConstraint>,
    /// Claims that the pods of this clique share. Immutable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_sharing: Vec<ResourceSharing>,
    /// The pods.
    pub spec: PodCliqueSpec,
}

/// A group of cliques that are scaled together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScalingGroupTemplate {
    /// Name of the group, a DNS label, unique in the set.
    #[schemars(length(min = 1, max = 63), regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub name: String,
    /// Names of the cliques in the group; a clique is in one group at most. Immutable.
    #[schemars(length(min = 1, max = 256), extend("x-kubernetes-list-type" = "set"))]
    pub clique_names: Vec<String>,
    /// Annotations for the PodCliqueScalingGroups.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// Number of replicas of the group in each replica of the set. Defaults to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000), extend("default" = 1))]
    pub replicas: Option<i32>,
    /// Replicas that are placed together with the rest of the set; each one above it is a gang of its own. Defaults
    /// to 1. Immutable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub min_available: Option<i32>,
    /// Makes a HorizontalPodAutoscaler that scales the group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale_config: Option<AutoScalingConfig>,
    /// Claims that pods of the group share. Immutable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_sharing: Vec<ResourceSharing>,
    /// How close together the pods of one replica of the group must be. Equal to or narrower than what the set asks
    /// for. Immutable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology_constraint: Option<TopologyConstraint>,
}

/// How close together pods must be. It binds each replica of what it is written on, not all replicas together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    {"rule": "has(self.packDomain) || has(self.pack)", "message": "must specify packDomain or pack"},
    {"rule": "!(has(self.packDomain) && has(self.pack))", "message": "must not set both packDomain and pack"}
]))]
pub struct TopologyConstraint {
    /// Name of the ClusterTopology; another way to write `spec.template.clusterTopologyName`. All names in one set
    /// must be equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology_name: Option<String>,
    /// The domain that the pods must share, such as `rack`. Not together with `pack`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pack_domain: Option<Domain>,
    /// The domain that the pods must share and the one that they should share. Not together with `packDomain`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pack: Option<PackConstraint>,
}

/// The domain that pods must share and the one that they should share.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    {"rule": "has(self.required) || has(self.preferred)", "message": "must specify at least one of required or preferred"}
]))]
pub struct PackConstraint {
    /// The domain that the pods must share; without room for them in one such domain they wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<Domain>,
    /// The domain that the pods should share; narrower than `required`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preferred: Option<Domain>,
}

/// What was observed of a PodCliqueSet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodCliqueSetStatus {
    /// Generation of the spec that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Conditions: `Ready`, `TopologyLevelsUnavailable`, `Admitted`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions_schema")]
    pub conditions: Vec<Condition>,
    /// Errors of the last reconcile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_errors: Vec<LastError>,
    /// Replicas of the set.
    #[serde(default)]
    pub replicas: i32,
    /// Replicas at the current template.
    #[serde(default)]
    pub updated_replicas: i32,
    /// Replicas whose cliques and groups all have their minimum available.
    #[serde(default)]
    pub available_replicas: i32,
    /// Selector of the pods, for the scale subresource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hpa_pod_selector: Option<String>,
    /// The gangs of the set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pod_gang_statuses: Vec<PodGangSummary>,
    /// Hash of the template that the set is at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_generation_hash: Option<String>,
    /// The update under way or last done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_progress: Option<SetUpdateProgress>,
}

/// A gang of the set, in short.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodGangSummary {
    /// Name of the PodGang.
    pub name: String,
    /// Phase of the PodGang: `Pending`, `Starting`, `Running`, `Failed` or `Succeeded`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Conditions of the PodGang.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions_schema")]
    pub conditions: Vec<Condition>,
}

/// Progress of an update of the set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetUpdateProgress {
    /// When the update began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_started_at: Option<Time>,
    /// When the update ended; absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_ended_at: Option<Time>,
    /// PodCliques at the new template.
    #[serde(default)]
    pub updated_pod_cliques_count: i32,
    /// PodCliques in all.
    #[serde(default)]
    pub total_pod_cliques_count: i32,
    /// Scaling groups at the new template.
    #[serde(default)]
    pub updated_pod_clique_scaling_groups_count: i32,
    /// Scaling groups in all.
    #[serde(default)]
    pub total_pod_clique_scaling_groups_count: i32,
    /// Replicas of the set being updated now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub currently_updating: Vec<ReplicaUpdate>,
}

/// The update of one replica of the set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaUpdate {
    /// Index of the replica.
    pub replica_index: i32,
    /// When its update began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_started_at: Option<Time>,
    /// When its update ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_ended_at: Option<Time>,
}
