//! OperatorConfiguration: the file that the operator starts with. Every field may be left out; what is then in force
//! is written beside it and resolved in [`crate::settings`].

use super::TopologyLevel;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Configuration of the operator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OperatorConfiguration {
    /// `operator.config.grove.io/v1alpha1`.
    pub api_version: String,
    /// `OperatorConfiguration`.
    pub kind: String,
    /// Limits of the API client.
    pub runtime_client_connection: ClientConnection,
    /// Leader election between several replicas of the operator.
    pub leader_election: LeaderElection,
    /// Ports and certificates.
    pub server: Server,
    /// Profiling.
    pub debugging: Debugging,
    /// Workers of each controller.
    pub controllers: Controllers,
    /// `debug`, `info` or `error`. Defaults to `info`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_level: Option<LogLevel>,
    /// `json` or `text`. Defaults to `json`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_format: Option<LogFormat>,
    /// Protection of managed objects against others.
    pub authorizer: Authorizer,
    /// Topology-aware scheduling.
    pub topology_aware_scheduling: TopologyAwareScheduling,
    /// Network features.
    pub network: Network,
    /// Scheduler profiles.
    pub scheduler: Scheduler,
    /// Image of the init container that waits for other cliques. Defaults to the operator's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub init_image: Option<String>,
}

/// Limits of the API client.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientConnection {
    /// Requests per second. Defaults to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qps: Option<f64>,
    /// Requests in a burst. Defaults to 120.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<i32>,
    /// Content type of requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Content types accepted in answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept_content_types: Option<String>,
}

/// Leader election between several replicas of the operator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LeaderElection {
    /// Whether only one replica works at a time.
    pub enabled: bool,
    /// How long a lease lasts. Defaults to `15s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_duration: Option<String>,
    /// How long a leader tries to renew. Defaults to `10s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renew_deadline: Option<String>,
    /// How long between tries. Defaults to `2s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_period: Option<String>,
    /// Kind of lock. Defaults to `leases`, the only one there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_lock: Option<String>,
    /// Name of the lock. Defaults to `grove-operator-leader-election`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_name: Option<String>,
    /// Namespace of the lock. Defaults to the operator's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_namespace: Option<String>,
}

/// Ports and certificates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Server {
    /// The admission webhooks.
    pub webhooks: WebhookServer,
    /// Liveness and readiness.
    pub health_probes: HealthServer,
    /// Metrics.
    pub metrics: Endpoint,
}

/// An address to listen on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Endpoint {
    /// Address to listen on. Defaults to all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bind_address: Option<String>,
    /// Port to listen on. Defaults to 2752 for metrics.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 65535))]
    pub port: Option<i32>,
}

/// Liveness and readiness.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HealthServer {
    /// Whether to serve `/livez`, `/healthz` and `/readyz`. Defaults to true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable: Option<bool>,
    /// Address to listen on. Defaults to all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bind_address: Option<String>,
    /// Port to listen on. Defaults to 2751.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 65535))]
    pub port: Option<i32>,
}

/// The admission webhooks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WebhookServer {
    /// Address to listen on. Defaults to all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bind_address: Option<String>,
    /// Port to listen on. Defaults to 2750.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 65535))]
    pub port: Option<i32>,
    /// Folder of the certificate. Defaults to `/etc/grove-operator/webhook-certs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_cert_dir: Option<String>,
    /// Secret of the certificate. Defaults to `grove-webhook-server-cert`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_name: Option<String>,
    /// `auto`: the operator makes and rotates the certificate; `manual`: it is given. Defaults to `auto`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cert_provision_mode: Option<CertProvisionMode>,
}

/// Where the webhook certificate comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum CertProvisionMode {
    /// Made and rotated by the operator.
    Auto,
    /// Given from outside.
    Manual,
}

/// Profiling.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Debugging {
    /// Whether to serve profiles.
    pub enable_profiling: bool,
    /// Address to serve them on. Defaults to `127.0.0.1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pprof_bind_host: Option<String>,
    /// Port to serve them on. Defaults to 2753.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 65535))]
    pub pprof_bind_port: Option<i32>,
}

/// Workers of each controller.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Controllers {
    /// PodCliqueSet controller. Defaults to 10 workers.
    pub pod_clique_set: Controller,
    /// PodClique controller. Defaults to 10 workers.
    pub pod_clique: Controller,
    /// PodCliqueScalingGroup controller. Defaults to 5 workers.
    pub pod_clique_scaling_group: Controller,
    /// PodGang controller. Defaults to 5 workers.
    pub pod_gang: Controller,
}

/// Workers of a controller.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Controller {
    /// Objects reconciled at the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrent_syncs: Option<i32>,
}

/// How much is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum LogLevel {
    /// Everything.
    Debug,
    /// What happens.
    Info,
    /// What goes wrong.
    Error,
}

/// How it is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum LogFormat {
    /// For programs.
    Json,
    /// For people.
    Text,
}

/// Protection of managed objects against others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Authorizer {
    /// Whether only the operator may change what it manages.
    pub enabled: bool,
    /// Users who may change it as well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exempt_service_account_user_names: Vec<String>,
}

/// Topology-aware scheduling.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TopologyAwareScheduling {
    /// Whether workloads may have topology constraints.
    pub enabled: bool,
    /// Levels of the default topology, `grove-topology`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<TopologyLevel>,
    /// Whether gangs prefer the narrowest level up to the host where the user names none. Defaults to true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_preferred: Option<bool>,
}

/// Network features.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Network {
    /// Automatic multi-node NVLink domains. Not supported; must be false.
    #[serde(rename = "autoMNNVLEnabled", skip_serializing_if = "std::ops::Not::not")]
    pub auto_mnnvl_enabled: bool,
}

/// Scheduler profiles.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Scheduler {
    /// Schedulers that may serve workloads. Without any, `trellis` does; `default-scheduler` is always enabled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<SchedulerProfile>,
    /// The profile of workloads that name none. Defaults to the one marked so, else to the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_profile_name: Option<String>,
}

/// A scheduler that may serve workloads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SchedulerProfile {
    /// `trellis`, `kai-scheduler` or `default-scheduler`.
    pub name: String,
    /// Options of the profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    pub config: Option<Map<String, Value>>,
    /// Whether this is the profile of workloads that name none.
    #[serde(rename = "default", skip_serializing_if = "std::ops::Not::not")]
    pub is_default: bool,
}

/// Options of profile `kai-scheduler`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct KaiConfig {
    /// Whether the operator keeps a KAI Topology for each ClusterTopology. Defaults to true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub create_topology_resources: Option<bool>,
}

/// Options of profile `trellis`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TrellisConfig {
    /// How long the place of a vanished member is held for its successor, in seconds. Defaults to 300.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub hold_seconds: Option<i64>,
    /// How long a gang waits before room is reserved for it, as a duration; 0 is never. Defaults to `10m`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "duration_or_zero")]
    pub reserve_after: Option<Value>,
}

fn duration_or_zero(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "description": "How long a gang waits before room is reserved for it, as a duration; 0 is never. Defaults to `10m`.",
        "x-kubernetes-int-or-string": true
    })
}

/// Options of profile `default-scheduler`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DefaultSchedulerConfig {
    /// Accepted for Grove's sake; Kubernetes' scheduler is left as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gang_scheduling: Option<bool>,
}
