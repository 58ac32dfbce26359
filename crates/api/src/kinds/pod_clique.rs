//! PodClique: pods of one role.

use super::{LastError, PodSpec, conditions_schema};
use k8s_openapi::api::autoscaling::v2::MetricSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Pods of one role. The operator makes PodCliques from the template of a PodCliqueSet; users scale them, and edit
/// the set for everything else.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "grove.io",
    version = "v1alpha1",
    kind = "PodClique",
    plural = "podcliques",
    shortname = "pclq",
    category = "trellis",
    namespaced,
    status = "PodCliqueStatus",
    derive = "PartialEq",
    derive = "Default",
    crates(kube_core = "::kube_core"),
    doc = "Pods of one role. Made by the operator from the template of a PodCliqueSet; scale it, and edit the set for everything else.",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.hpaPodSelector"
    ),
    printcolumn(name = "MinAvail", type_ = "integer", json_path = ".spec.minAvailable"),
    printcolumn(name = "Replicas", type_ = "integer", json_path = ".spec.replicas"),
    printcolumn(name = "Ready", type_ = "integer", json_path = ".status.readyReplicas"),
    printcolumn(name = "Scheduled", type_ = "integer", json_path = ".status.scheduledReplicas"),
    printcolumn(name = "Updated", type_ = "integer", json_path = ".status.updatedReplicas"),
    printcolumn(name = "Gated", type_ = "integer", json_path = ".status.scheduleGatedReplicas", priority = "1"),
    printcolumn(
        name = "MinBreached",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"MinAvailableBreached\")].status",
        priority = "1"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct PodCliqueSpec {
    /// Role of the pods, unique in the PodCliqueSet. Immutable.
    #[schemars(length(min = 1))]
    pub role_name: String,
    /// The pods' spec, as in core/v1. `nodeName` and `topologySpreadConstraints` must not be set; the operator adds
    /// scheduler name, host name, scheduling gate and environment.
    pub pod_spec: PodSpec,
    /// Number of pods. Defaults to 1; 0 counts as omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 5000))]
    pub replicas: Option<i32>,
    /// Number of pods that must run together; fewer, and the gang counts as broken. Defaults to `replicas`. Immutable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub min_available: Option<i32>,
    /// Cliques whose pods must be ready before these start. In a PodCliqueSet: names of cliques, used only with
    /// `CliqueStartupTypeExplicit`. In a PodClique: names of PodCliques. Immutable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub starts_after: Vec<String>,
    /// Makes a HorizontalPodAutoscaler that scales this clique. Not for cliques in a scaling group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_scaling_config: Option<AutoScalingConfig>,
}

/// Bounds and metrics of a HorizontalPodAutoscaler.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutoScalingConfig {
    /// Fewest replicas. Defaults to `replicas`; at least `minAvailable`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_replicas: Option<i32>,
    /// Most replicas.
    pub max_replicas: i32,
    /// What to scale on, as in autoscaling/v2. Defaults to the cluster's default metric.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricSpec>,
}

/// What was observed of a PodClique.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodCliqueStatus {
    /// Generation of the spec that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Errors of the last reconcile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_errors: Vec<LastError>,
    /// Pods that are not terminating.
    #[serde(default)]
    pub replicas: i32,
    /// Pods that are ready.
    #[serde(default)]
    pub ready_replicas: i32,
    /// Pods made from the current template.
    #[serde(default)]
    pub updated_replicas: i32,
    /// Pods still held by their scheduling gate.
    #[serde(default)]
    pub schedule_gated_replicas: i32,
    /// Pods that have a node.
    #[serde(default)]
    pub scheduled_replicas: i32,
    /// Selector of the pods, for the scale subresource; only outside scaling groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hpa_pod_selector: Option<String>,
    /// Conditions: `PodCliqueScheduled`, `MinAvailableBreached`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions_schema")]
    pub conditions: Vec<Condition>,
    /// Hash of the PodCliqueSet template this clique is at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_pod_clique_set_generation_hash: Option<String>,
    /// Hash of the pod template this clique is at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_pod_template_hash: Option<String>,
    /// The update under way or last done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_progress: Option<PodCliqueUpdateProgress>,
}

/// Progress of an update of one PodClique.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodCliqueUpdateProgress {
    /// When the update began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_started_at: Option<Time>,
    /// When the update ended; absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_ended_at: Option<Time>,
    /// Hash of the PodCliqueSet template that is being brought in.
    #[serde(default)]
    pub pod_clique_set_generation_hash: String,
    /// Hash of the pod template that is being brought in.
    #[serde(default)]
    pub pod_template_hash: String,
    /// Ready pods that were chosen to be replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_pods_selected_to_update: Option<PodsSelectedToUpdate>,
}

/// Ready pods chosen to be replaced.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodsSelectedToUpdate {
    /// The pod being replaced now.
    #[serde(default)]
    pub current: String,
    /// Pods replaced so far.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completed: Vec<String>,
}
