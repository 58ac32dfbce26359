//! Pool: where workflows run, and which levels they may speak of.

use super::{ResourceSpec, any_object, any_values, number_or_text};
use crate::kinds::conditions_schema;
use crate::names::profile;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Where workflows run: a scheduler, a share of the cluster, and the levels that workflows may speak of.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "trellis.dev",
    version = "v1alpha1",
    kind = "Pool",
    plural = "pools",
    category = "trellis",
    status = "PoolStatus",
    derive = "PartialEq",
    derive = "Default",
    crates(kube_core = "::kube_core"),
    doc = "Where OSMO workflows run, and which levels of the topology they may speak of.",
    printcolumn(name = "Keys", type_ = "string", json_path = ".spec.topology_keys[*].key"),
    printcolumn(name = "Scheduler", type_ = "string", json_path = ".spec.scheduler_settings.scheduler_type"),
    printcolumn(name = "Nodes", type_ = "integer", json_path = ".status.nodes"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct PoolSpec {
    /// What the pool is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Name of the backend whose settings stand here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// The backend's scheduler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler_settings: Option<SchedulerSettings>,
    /// The backend's namespace, where pods run; `default` if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub k8s_namespace: Option<String>,
    /// Levels that workflows may speak of, widest first. None: topology is off for this pool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "atomic", "x-kubernetes-validations" = [
        {"rule": "self.all(x, self.filter(y, y.key == x.key).size() == 1)", "message": "key must be unique"},
        {"rule": "self.all(x, self.filter(y, y.label == x.label).size() == 1)", "message": "label must be unique"},
        {"rule": "size(self.filter(l, l.label == 'kubernetes.io/hostname')) == 0 || self[size(self) - 1].label == 'kubernetes.io/hostname'", "message": "the kubernetes.io/hostname label can only be used at the last level"}
    ]))]
    pub topology_keys: Vec<TopologyKey>,
    /// Kinds of nodes, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub platforms: BTreeMap<String, Platform>,
    /// The platform of resources that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_platform: Option<String>,
    /// The pool's share of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<PoolResources>,
    /// What tasks ask for that name no amount: `USER_CPU`, `USER_GPU`, `USER_MEMORY`, `USER_STORAGE`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "any_values")]
    pub common_default_variables: BTreeMap<String, Value>,
    /// What is merged into every pod of the pool: node selector, tolerations and so on, as a pod's `spec` and `metadata`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_object")]
    pub pod_template: Option<Map<String, Value>>,
    /// How long a group may run where its workflow does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "number_or_text")]
    pub default_exec_timeout: Option<Value>,
    /// How long a group may run at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "number_or_text")]
    pub max_exec_timeout: Option<Value>,
    /// How long a group may wait for its place where its workflow does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "number_or_text")]
    pub default_queue_timeout: Option<Value>,
    /// How long a group may wait for its place at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "number_or_text")]
    pub max_queue_timeout: Option<Value>,
    /// How long a task that has its place may take until it runs; 30 minutes if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "number_or_text")]
    pub start_timeout: Option<Value>,
    /// Fields of OSMO that are kept and not looked at.
    #[serde(flatten)]
    #[schemars(skip)]
    pub rest: Map<String, Value>,
}

/// A level that workflows may speak of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TopologyKey {
    /// What workflows call the level, such as `rack`.
    #[schemars(length(min = 1, max = 63), regex(pattern = r"^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$"))]
    pub key: String,
    /// Node label key of the level, such as `topology.kubernetes.io/rack`.
    #[schemars(
        length(min = 1, max = 316),
        regex(pattern = r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$")
    )]
    pub label: String,
}

/// A backend: a scheduler and a namespace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Backend {
    /// The backend's scheduler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler_settings: Option<SchedulerSettings>,
    /// Where pods run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub k8s_namespace: Option<String>,
}

/// Who places the pods of a pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct SchedulerSettings {
    /// `kai`, `trellis` or `default`; the last knows no topology. `kai` if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["kai", "trellis", "default"]))]
    pub scheduler_type: Option<String>,
    /// `schedulerName` of the pods, where it is not the type's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler_name: Option<String>,
}

/// A kind of nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Platform {
    /// What the platform is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether tasks may use the network of their host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_network_allowed: Option<bool>,
    /// Whether tasks may be privileged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub privileged_allowed: Option<bool>,
    /// Folders of the host that tasks may have; none if omitted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_mounts: Vec<String>,
    /// The same as the pool's, for this platform.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "any_values")]
    pub default_variables: BTreeMap<String, Value>,
    /// What is merged into every pod of the platform, after the pool's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_object")]
    pub pod_template: Option<Map<String, Value>>,
    /// Fields of OSMO that are kept and not looked at.
    #[serde(flatten)]
    #[schemars(skip)]
    pub rest: Map<String, Value>,
}

/// A pool's share of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct PoolResources {
    /// GPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<GpuShare>,
}

/// A share of the GPUs; -1 is no limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GpuShare {
    /// What the pool is entitled to.
    #[serde(default = "no_limit")]
    #[schemars(range(min = -1))]
    pub guarantee: i64,
    /// What the pool may use at most.
    #[serde(default = "no_limit")]
    #[schemars(range(min = -1))]
    pub maximum: i64,
    /// Weight in sharing what is left.
    #[serde(default = "one")]
    #[schemars(range(min = 0))]
    pub weight: i64,
}

fn no_limit() -> i64 {
    -1
}

fn one() -> i64 {
    1
}

impl Default for GpuShare {
    fn default() -> Self {
        Self { guarantee: no_limit(), maximum: no_limit(), weight: one() }
    }
}

/// What was observed of a pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PoolStatus {
    /// Generation of the spec that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Conditions: `Admitted` where no webhook judges, `Ready`, `TopologyInSync`, `DeletionBlocked` while that is so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions_schema")]
    pub conditions: Vec<Condition>,
    /// Name of the pool's queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// Name of the pool's Topology.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology: Option<String>,
    /// Nodes that carry the labels of all levels.
    #[serde(default)]
    pub nodes: i32,
    /// The levels, and how many domains each has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<PoolLevel>,
}

/// A level as nodes show it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PoolLevel {
    /// What workflows call it.
    pub key: String,
    /// Node label key.
    pub label: String,
    /// Number of domains.
    pub domains: i32,
    /// The first of them, as paths from the widest level.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

impl Pool {
    /// The condition that tells whether the scheduler's Topology says what the pool says; only there while it has levels.
    pub const TOPOLOGY_IN_SYNC: &'static str = "TopologyInSync";

    /// The condition that tells whether the pool was found to be sound, where no webhook has judged it.
    pub const ADMITTED: &'static str = "Admitted";

    /// Whether the pool was found not to be sound.
    pub fn is_refused(&self) -> bool {
        let mut conditions = self.status.iter().flat_map(|status| &status.conditions);
        conditions.any(|it| it.type_ == Self::ADMITTED && it.status == "False")
    }

    /// Whether the scheduler's Topology is known to have the levels that the pool has now.
    pub fn has_topology(&self) -> bool {
        let conditions = self.status.iter().flat_map(|status| &status.conditions);
        let mut in_sync = conditions.filter(|it| it.type_ == Self::TOPOLOGY_IN_SYNC && it.status == "True");
        in_sync.any(|it| it.observed_generation == self.metadata.generation)
    }
}

impl PoolSpec {
    /// Fields of OSMO that a pool may have and that mean nothing for placement.
    pub const KEPT: [&'static str; 8] = [
        "common_pod_template",
        "common_group_templates",
        "common_resource_validations",
        "default_exit_actions",
        "enable_maintenance",
        "download_type",
        "status",
        "action_permissions",
    ];

    /// The scheduler's type.
    pub fn scheduler_type(&self) -> &str {
        self.scheduler_settings.as_ref().and_then(|settings| settings.scheduler_type.as_deref()).unwrap_or("kai")
    }

    /// Whether the scheduler knows gangs and topologies.
    pub fn knows_topology(&self) -> bool {
        self.scheduler_type() != "default"
    }

    /// `schedulerName` of the pool's pods.
    pub fn scheduler_name(&self) -> &str {
        let written = self.scheduler_settings.as_ref().and_then(|settings| settings.scheduler_name.as_deref());
        written.filter(|name| !name.is_empty()).unwrap_or(match self.scheduler_type() {
            "trellis" => profile::TRELLIS,
            "default" => profile::DEFAULT_SCHEDULER,
            _ => profile::KAI,
        })
    }

    /// The namespace of the pool's pods.
    pub fn namespace(&self) -> &str {
        self.k8s_namespace.as_deref().filter(|namespace| !namespace.is_empty()).unwrap_or("default")
    }

    /// The position of a level among the pool's.
    pub fn level(&self, key: &str) -> Option<usize> {
        self.topology_keys.iter().position(|level| level.key == key)
    }

    /// Whether pods of the pool may run on nodes with these labels, as far as the node selectors of its templates say: those of one of its
    /// platforms, where it has some.
    pub fn selects(&self, labels: &BTreeMap<String, String>) -> bool {
        let carried = |platform: Option<&Platform>| {
            let mut wanted = selector(self.pod_template.as_ref());
            wanted.extend(selector(platform.and_then(|platform| platform.pod_template.as_ref())));
            wanted.into_iter().all(|(key, value)| labels.get(key).is_some_and(|it| it == value))
        };
        match self.platforms.is_empty() {
            true => carried(None),
            false => self.platforms.values().any(|platform| carried(Some(platform))),
        }
    }

    /// The platform of what a task asks for; empty where there is none.
    pub fn platform_of<'a>(&'a self, asked: Option<&'a ResourceSpec>) -> &'a str {
        let own = asked.and_then(|asked| asked.platform.as_deref());
        own.or(self.default_platform.as_deref()).unwrap_or_default()
    }

    /// What tasks of a platform ask for that name no amount: the platform's variable, else the pool's.
    pub fn variable(&self, platform: &str, name: &str) -> Option<&Value> {
        let own = self.platforms.get(platform).and_then(|platform| platform.default_variables.get(name));
        own.or_else(|| self.common_default_variables.get(name))
    }

    /// A whole number: the task's own, else that of the variable.
    pub fn whole(&self, own: Option<i64>, platform: &str, variable: &str) -> Option<i64> {
        let fallback =
            || self.variable(platform, variable).and_then(|it| it.as_i64().or_else(|| it.as_str()?.parse().ok()));
        own.or_else(fallback).filter(|amount| *amount > 0)
    }

    /// GPUs of a task that asks for this.
    pub fn gpus(&self, asked: Option<&ResourceSpec>) -> i64 {
        let own = asked.and_then(|asked| asked.gpu);
        self.whole(own, self.platform_of(asked), "USER_GPU").unwrap_or_default()
    }

    /// The pool's share of the GPUs.
    pub fn gpu(&self) -> GpuShare {
        self.resources.as_ref().and_then(|resources| resources.gpu.clone()).unwrap_or_default()
    }
}

/// What a template selects nodes by. What nothing fills in selects nothing.
fn selector(template: Option<&Map<String, Value>>) -> BTreeMap<&str, &str> {
    let selector = template.and_then(|template| template.get("spec")?.get("nodeSelector")?.as_object());
    let wanted = selector.into_iter().flatten().filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)));
    wanted.filter(|(_, value)| !value.contains("{{")).collect()
}
