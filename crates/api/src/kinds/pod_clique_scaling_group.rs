//! PodCliqueScalingGroup: cliques that are scaled together.

use super::{LastError, conditions_schema};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

fn one() -> i32 {
    1
}

/// Cliques that are scaled together: every replica has one PodClique of each name.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "grove.io",
    version = "v1alpha1",
    kind = "PodCliqueScalingGroup",
    plural = "podcliquescalinggroups",
    shortname = "pcsg",
    category = "trellis",
    namespaced,
    status = "PodCliqueScalingGroupStatus",
    derive = "PartialEq",
    derive = "Default",
    crates(kube_core = "::kube_core"),
    doc = "Cliques that are scaled together: every replica has one PodClique of each name. Made by the operator from the template of a PodCliqueSet.",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    ),
    printcolumn(name = "MinAvail", type_ = "integer", json_path = ".spec.minAvailable"),
    printcolumn(name = "Replicas", type_ = "integer", json_path = ".spec.replicas"),
    printcolumn(name = "Available", type_ = "integer", json_path = ".status.availableReplicas"),
    printcolumn(name = "Scheduled", type_ = "integer", json_path = ".status.scheduledReplicas"),
    printcolumn(name = "Updated", type_ = "integer", json_path = ".status.updatedReplicas"),
    printcolumn(
        name = "PCLQs-Updated",
        type_ = "integer",
        json_path = ".status.updateProgress.updatedPodCliquesCount"
    ),
    printcolumn(name = "PCLQs-Total", type_ = "integer", json_path = ".status.updateProgress.totalPodCliquesCount"),
    printcolumn(
        name = "MinBreached",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"MinAvailableBreached\")].status",
        priority = "1"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct PodCliqueScalingGroupSpec {
    /// Number of replicas of the whole group.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 100_000))]
    pub replicas: i32,
    /// Replicas that belong to the base gang; each one above it is a gang of its own.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub min_available: i32,
    /// Cliques of the PodCliqueSet that make up one replica.
    #[schemars(length(min = 1))]
    pub clique_names: Vec<String>,
}

/// What was observed of a PodCliqueScalingGroup.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodCliqueScalingGroupStatus {
    /// Generation of the spec that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Errors of the last reconcile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_errors: Vec<LastError>,
    /// Conditions: `MinAvailableBreached`, `GangTerminationInProgress`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions_schema")]
    pub conditions: Vec<Condition>,
    /// Replicas that exist.
    #[serde(default)]
    pub replicas: i32,
    /// Replicas whose cliques all have their minimum of pods on nodes.
    #[serde(default)]
    pub scheduled_replicas: i32,
    /// Replicas whose cliques all have their minimum of ready pods.
    #[serde(default)]
    pub available_replicas: i32,
    /// Replicas made from the current template.
    #[serde(default)]
    pub updated_replicas: i32,
    /// Selector of the pods, for the scale subresource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// Hash of the PodCliqueSet template this group is at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_pod_clique_set_generation_hash: Option<String>,
    /// The update under way or last done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_progress: Option<GroupUpdateProgress>,
}

/// Progress of an update of one scaling group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupUpdateProgress {
    /// When the update began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_started_at: Option<Time>,
    /// When the update ended; absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_ended_at: Option<Time>,
    /// Hash of the PodCliqueSet template that is being brought in.
    #[serde(default)]
    pub pod_clique_set_generation_hash: String,
    /// PodCliques at the new template.
    #[serde(default)]
    pub updated_pod_cliques_count: i32,
    /// PodCliques in all.
    #[serde(default)]
    pub total_pod_cliques_count: i32,
    /// Ready replicas that were chosen to be replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_replica_indices_selected_to_update: Option<ReplicasSelectedToUpdate>,
}

/// Ready replicas chosen to be replaced.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplicasSelectedToUpdate {
    /// Index of the replica being replaced now.
    #[serde(default)]
    pub current: i32,
    /// Indices of the replicas replaced so far.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completed: Vec<i32>,
}
