//! `nvidia.com/v1alpha1`: services instead of components, as a map by name or as a list, and fields of their own instead of a pod template.
//!
//! These types give the schema. Objects are read through [`crate::dynamo::convert`], which brings them to the version that is stored.

use super::status::DynamoGraphDeploymentStatus;
use super::{Backend, ComponentTopology};
use crate::Domain;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A graph of services that serve a model.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "nvidia.com",
    version = "v1alpha1",
    kind = "DynamoGraphDeployment",
    plural = "dynamographdeployments",
    shortname = "dgd",
    category = "trellis",
    namespaced,
    status = "DynamoGraphDeploymentStatus",
    derive = "PartialEq",
    derive = "Default",
    crates(kube_core = "::kube_core"),
    doc = "A graph of services that serve a model, such as a frontend and workers, placed together.",
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
    printcolumn(name = "Backend", type_ = "string", json_path = ".spec.backendFramework"),
    printcolumn(name = "State", type_ = "string", json_path = ".status.state"),
    printcolumn(
        name = "Topology",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"TopologyConstraintsEnforced\")].reason",
        priority = "1"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct DynamoGraphDeploymentSpec {
    /// How close together the pods of the whole deployment must be; services without a constraint of their own inherit it. Immutable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology_constraint: Option<DeploymentTopology>,
    /// The services: a list with names, or a map by name. None may be added or removed later.
    #[serde(default)]
    #[schemars(schema_with = "super::schema::services")]
    pub services: Value,
    /// The inference engine of the workers. Usually it is found in their commands. Immutable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend_framework: Option<Backend>,
    /// Variables for the main container of every service; a service's own value wins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "super::schema::variables")]
    pub envs: Vec<Value>,
    /// Labels for everything that is made from the deployment; a service's own win.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations for everything that is made from the deployment; a service's own win.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// PriorityClass of the deployment's gangs and pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority_class_name: Option<String>,
    /// Everything else, as it was written.
    #[serde(flatten)]
    #[schemars(skip)]
    pub other: Map<String, Value>,
}

/// How close together the pods of a deployment must be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct DeploymentTopology {
    /// Name of the ClusterTopology that all constraints of the deployment speak of. Defaults to the cluster's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology_profile: Option<String>,
    /// The domain that all pods must share, such as `zone`. May be left out where a name stands here and services have constraints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pack_domain: Option<Domain>,
    /// Everything else, as it was written.
    #[serde(flatten)]
    #[schemars(skip)]
    pub other: Map<String, Value>,
}

/// A service of the graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Service {
    /// What the service is for: `frontend`, `worker`, `planner`, `epp` or a word of the user's.
    pub component_type: Option<String>,
    /// Which kind of worker it is: `prefill` or `decode`.
    pub sub_component_type: Option<String>,
    /// Number of replicas. Defaults to 1.
    #[schemars(range(min = 0))]
    pub replicas: Option<i32>,
    /// Replicas that are placed together with the rest of the deployment. Defaults to 1. Immutable.
    #[schemars(range(min = 1))]
    pub min_available: Option<i32>,
    /// Makes every replica span several nodes: a leader and workers. Immutable.
    pub multinode: Option<Multinode>,
    /// How close together the service's pods must be. Immutable.
    pub topology_constraint: Option<ComponentTopology>,
    /// Requests and limits of the main container: `cpu`, `memory`, `gpu`, `gpuType`, `custom`.
    #[schemars(schema_with = "super::schema::open_object")]
    pub resources: Option<Map<String, Value>>,
    /// Variables of the main container.
    #[schemars(schema_with = "super::schema::variables")]
    pub envs: Option<Vec<Value>>,
    /// A Secret whose entries are variables of the main container.
    pub env_from_secret: Option<String>,
    /// Volumes of the main container.
    #[schemars(schema_with = "super::schema::mounts")]
    pub volume_mounts: Option<Vec<Value>>,
    /// The memory at `/dev/shm`.
    pub shared_memory: Option<SharedMemory>,
    /// Labels and annotations of the pods.
    pub extra_pod_metadata: Option<ExtraPodMetadata>,
    /// Fields of a pod spec, and the main container.
    #[schemars(schema_with = "super::schema::extra_pod_spec")]
    pub extra_pod_spec: Option<Map<String, Value>>,
    /// When the main container is restarted, as in core/v1.
    #[schemars(schema_with = "super::schema::open_object")]
    pub liveness_probe: Option<Map<String, Value>>,
    /// When the main container is ready, as in core/v1.
    #[schemars(schema_with = "super::schema::open_object")]
    pub readiness_probe: Option<Map<String, Value>>,
    /// Labels of the pods.
    pub labels: Option<BTreeMap<String, String>>,
    /// Annotations of the pods.
    pub annotations: Option<BTreeMap<String, String>>,
    /// Puts the service into the namespace inside Dynamo that all deployments share.
    pub global_dynamo_namespace: Option<bool>,
}

/// How a replica spans nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Multinode {
    /// Number of nodes: a leader, and workers on all others. Immutable.
    #[schemars(range(min = 2))]
    pub node_count: i32,
}

/// The memory at `/dev/shm`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct SharedMemory {
    /// Whether there is none.
    pub disabled: Option<bool>,
    /// Its size. Defaults to 8Gi.
    #[schemars(schema_with = "super::schema::quantity")]
    pub size: Option<Value>,
}

/// Labels and annotations of pods.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct ExtraPodMetadata {
    /// Labels of the pods.
    pub labels: Option<BTreeMap<String, String>>,
    /// Annotations of the pods.
    pub annotations: Option<BTreeMap<String, String>>,
}
