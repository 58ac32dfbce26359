//! What is said of a DynamoGraphDeployment. v1alpha1 calls the components services; the rest is alike.

use crate::kinds::conditions_schema;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What was observed of a DynamoGraphDeployment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct DynamoGraphDeploymentStatus {
    /// Generation of the spec that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// How the deployment is doing, in one word.
    #[serde(default)]
    pub state: DynamoState,
    /// Conditions: `Ready`, `TopologyConstraintsEnforced`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions_schema")]
    pub conditions: Vec<Condition>,
    /// What was observed of each component, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub components: BTreeMap<String, ComponentStatus>,
    /// Everything else, as it was written.
    #[serde(flatten)]
    #[schemars(skip)]
    pub other: Map<String, Value>,
}

/// How a deployment is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum DynamoState {
    /// Nothing was done yet.
    #[default]
    Initializing,
    /// Not everything is ready.
    Pending,
    /// Everything is ready.
    Successful,
    /// Something that has to be done cannot be done.
    Failed,
}

/// The kind of object that a component became.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum ComponentKind {
    /// A PodClique.
    #[default]
    PodClique,
    /// A PodCliqueScalingGroup.
    PodCliqueScalingGroup,
    /// A Deployment, where Dynamo's own operator made it.
    Deployment,
    /// A LeaderWorkerSet, where Dynamo's own operator made it.
    LeaderWorkerSet,
}

/// What was observed of a component.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct ComponentStatus {
    /// The kind of object that the component became.
    #[serde(default)]
    pub component_kind: ComponentKind,
    /// Names of the objects.
    #[serde(default)]
    pub component_names: Vec<String>,
    /// Replicas that there are.
    #[serde(default)]
    pub replicas: i32,
    /// Replicas at the current template.
    #[serde(default)]
    pub updated_replicas: i32,
    /// Replicas that are ready; of a component whose replicas are single pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
    /// Replicas that are available; of a component whose replicas are groups of pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available_replicas: Option<i32>,
    /// Replicas that have nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled_replicas: Option<i32>,
    /// Everything else, as it was written.
    #[serde(flatten)]
    #[schemars(skip)]
    pub other: Map<String, Value>,
}
