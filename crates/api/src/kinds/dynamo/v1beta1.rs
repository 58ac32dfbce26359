//! `nvidia.com/v1beta1`, the version that is stored.

use super::status::DynamoGraphDeploymentStatus;
use crate::Domain;
use crate::kinds::PodSpec;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A graph of components that serve a model.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "nvidia.com",
    version = "v1beta1",
    kind = "DynamoGraphDeployment",
    plural = "dynamographdeployments",
    shortname = "dgd",
    category = "trellis",
    namespaced,
    status = "DynamoGraphDeploymentStatus",
    derive = "PartialEq",
    derive = "Default",
    crates(kube_core = "::kube_core"),
    doc = "A graph of components that serve a model, such as a frontend and workers, placed together.",
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
    /// How close together the pods of the whole deployment must be; components without a constraint of their own inherit it. Immutable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology_constraint: Option<DeploymentTopology>,
    /// The components. None may be added or removed later.
    #[serde(default)]
    #[schemars(length(max = 25), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub components: Vec<Component>,
    /// The inference engine of the workers. Usually it is found in their commands. Immutable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend_framework: Option<Backend>,
    /// Variables for the main container of every component; a component's own value wins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "super::schema::variables")]
    pub env: Vec<Value>,
    /// Labels for everything that is made from the deployment; a component's own win.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations for everything that is made from the deployment; a component's own win.
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
    pub cluster_topology_name: Option<String>,
    /// The domain that all pods must share, such as `zone`. May be left out where a name stands here and components have constraints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pack_domain: Option<Domain>,
    /// Everything else, as it was written.
    #[serde(flatten)]
    #[schemars(skip)]
    pub other: Map<String, Value>,
}

/// How close together the pods of a component must be: all of them on one node each, or those of one replica over several nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct ComponentTopology {
    /// The domain that the pods must share, such as `rack`; equal to or narrower than the deployment's.
    pub pack_domain: Domain,
    /// Everything else, as it was written.
    #[serde(flatten)]
    #[schemars(skip)]
    pub other: Map<String, Value>,
}

/// Inference engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Backend {
    /// SGLang.
    Sglang,
    /// vLLM.
    Vllm,
    /// TensorRT-LLM.
    Trtllm,
}

impl Backend {
    /// All engines.
    pub const ALL: [Self; 3] = [Self::Sglang, Self::Vllm, Self::Trtllm];

    /// The name users write.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sglang => "sglang",
            Self::Vllm => "vllm",
            Self::Trtllm => "trtllm",
        }
    }
}

/// What components are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ComponentType {
    /// Takes requests.
    Frontend,
    /// Runs a model.
    Worker,
    /// Runs the first half of a model's work.
    Prefill,
    /// Runs the second half.
    Decode,
    /// Scales the others.
    Planner,
    /// Picks endpoints for a gateway.
    Epp,
}

impl ComponentType {
    /// All kinds of components.
    pub const ALL: [Self; 6] = [Self::Frontend, Self::Worker, Self::Prefill, Self::Decode, Self::Planner, Self::Epp];

    /// The name users write.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Frontend => "frontend",
            Self::Worker => "worker",
            Self::Prefill => "prefill",
            Self::Decode => "decode",
            Self::Planner => "planner",
            Self::Epp => "epp",
        }
    }
}

/// A component of the graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Component {
    /// Name of the component, unique in the deployment whatever its case.
    #[schemars(length(min = 1, max = 63), regex(pattern = r"^[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?$"))]
    pub name: String,
    /// What the component is for; decides commands, ports, probes and variables where the user leaves them out.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<ComponentType>,
    /// Number of replicas. Defaults to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub replicas: Option<i32>,
    /// Replicas that are placed together with the rest of the deployment. Defaults to 1. Immutable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub min_available: Option<i32>,
    /// Makes every replica span several nodes: a leader and workers. Immutable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multinode: Option<Multinode>,
    /// The pods, as in core/v1; the container `main` runs the component.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_template: Option<PodTemplate>,
    /// How close together the component's pods must be: all of them, or those of each replica where one spans several nodes. Equal to
    /// or narrower than the deployment's. Immutable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology_constraint: Option<ComponentTopology>,
    /// Size of the memory at `/dev/shm`. Defaults to 8Gi; 0 is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::schema::quantity")]
    pub shared_memory_size: Option<Value>,
    /// Puts the component into the namespace inside Dynamo that all deployments share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global_dynamo_namespace: Option<bool>,
    /// Options that may change. `grove.forceScalingGroup` makes every replica of a component on one node a gang of its own.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "super::schema::open_object")]
    pub experimental: Map<String, Value>,
    /// Everything else, as it was written.
    #[serde(flatten)]
    #[schemars(skip)]
    pub other: Map<String, Value>,
}

/// How a replica spans nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Multinode {
    /// Number of nodes: a leader, and workers on all others. Defaults to 2. Immutable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2))]
    pub node_count: Option<i32>,
    /// Everything else, as it was written.
    #[serde(flatten)]
    #[schemars(skip)]
    pub other: Map<String, Value>,
}

/// A pod template as in core/v1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct PodTemplate {
    /// Labels and annotations of the pods.
    #[serde(default)]
    pub metadata: PodTemplateMetadata,
    /// The pods' spec, as in core/v1.
    #[serde(default)]
    pub spec: PodSpec,
    /// Everything else, as it was written.
    #[serde(flatten)]
    #[schemars(skip)]
    pub other: Map<String, Value>,
}

/// Metadata of a pod template.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct PodTemplateMetadata {
    /// Labels of the pods.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations of the pods.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// Everything else, as it was written.
    #[serde(flatten)]
    #[schemars(skip)]
    pub other: Map<String, Value>,
}
