//! Workflow: groups of tasks that run together, one after the other.

use super::{WorkflowStatus, any_list, any_object, any_values, anything, number_or_text};
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// Groups of tasks. The tasks of a group start together; groups start in the order of their inputs.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "trellis.dev",
    version = "v1alpha1",
    kind = "Workflow",
    plural = "workflows",
    namespaced,
    category = "trellis",
    status = "WorkflowStatus",
    derive = "PartialEq",
    derive = "Default",
    crates(kube_core = "::kube_core"),
    doc = "An OSMO workflow: groups of tasks that start together, within the topology that they ask for.",
    printcolumn(name = "Status", type_ = "string", json_path = ".status.state"),
    printcolumn(name = "Pool", type_ = "string", json_path = ".status.pool"),
    printcolumn(name = "Priority", type_ = "string", json_path = ".spec.priority", priority = "1"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct WorkflowSpec {
    /// Name as it was written, where no object can be called so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The pool to run in; the only one there is if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// Filled in by OSMO from the pool; not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// `HIGH`, `NORMAL` or `LOW`; `NORMAL` if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Labels of the pods.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Groups of tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<TaskGroup>,
    /// Tasks that are each a group of their own; instead of `groups`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<Task>,
    /// What tasks ask for, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: BTreeMap<String, ResourceSpec>,
    /// How long groups may wait and run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Timeouts>,
    /// Whether the workflow is to be ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancel: bool,
}

/// Who goes first, and who may be preempted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Priority {
    /// Before all others.
    High,
    /// As most.
    #[default]
    Normal,
    /// After all others; may be preempted.
    Low,
}

impl Priority {
    /// All priorities, highest first.
    pub const ALL: [Self; 3] = [Self::High, Self::Normal, Self::Low];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::High => "HIGH",
            Self::Normal => "NORMAL",
            Self::Low => "LOW",
        }
    }

    /// The value of its PriorityClass; KAI preempts what is below 100.
    pub fn value(self) -> i32 {
        match self {
            Self::High => 125,
            Self::Normal => 100,
            Self::Low => 50,
        }
    }
}

/// How long groups may wait and run: seconds, `<number><d|h|m|s|ms|us>`, or ISO 8601.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timeouts {
    /// How long a group may run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "number_or_text")]
    pub exec_timeout: Option<Value>,
    /// How long a group may wait for its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "number_or_text")]
    pub queue_timeout: Option<Value>,
}

/// Tasks that start together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskGroup {
    /// Name of the group.
    pub name: String,
    /// Whether tasks begin only when all have been started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub barrier: Option<bool>,
    /// Whether the group does as its leading task does, whatever becomes of the others; true if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignore_nonlead_status: Option<bool>,
    /// The tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<Task>,
}

/// One pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Name of the task.
    pub name: String,
    /// Image of its container.
    #[serde(default)]
    pub image: String,
    /// What to run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// What the task asks for: a name in `resources`; `default` if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// Whether the task leads its group; the first if none does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lead: bool,
    /// Environment variables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "any_values")]
    pub environment: BTreeMap<String, Value>,
    /// What the task needs. Those that name tasks put the groups into order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Input>,
    /// What the task leaves behind. Kept and not moved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "any_list")]
    pub outputs: Vec<Value>,
    /// Files that the task finds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<TaskFile>,
    /// What becomes of the task by its exit code: codes by `COMPLETE`, `FAIL`, `RESTART`, `RESCHEDULE`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "any_values")]
    pub exit_actions: BTreeMap<String, Value>,
    /// Whether the container is privileged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub privileged: bool,
    /// Whether the pod uses the network of its host.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub host_network: bool,
    /// Folders of the host, as `source[:destination]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub volume_mounts: Vec<String>,
    /// Kept and not looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "any_list")]
    pub kpis: Vec<Value>,
    /// Kept and not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_object")]
    pub credentials: Option<Value>,
    /// Kept and not looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "any_list")]
    pub checkpoint: Vec<Value>,
    /// Kept and not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "anything")]
    pub download_type: Option<Value>,
    /// Kept and not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "number_or_text")]
    pub cache_size: Option<Value>,
}

/// What a task needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Input {
    /// A task of an earlier group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Datasets and addresses; kept and not moved.
    #[serde(flatten)]
    #[schemars(skip)]
    pub rest: serde_json::Map<String, Value>,
}

/// A file that a task finds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskFile {
    /// Where it is.
    pub path: String,
    /// What is in it.
    #[serde(default)]
    pub contents: String,
    /// Whether the contents are written in base64.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub base64: bool,
}

/// What tasks ask for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceSpec {
    /// Cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub cpu: Option<i64>,
    /// GPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub gpu: Option<i64>,
    /// Memory, such as `64Gi`; all units are powers of two, `G` too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "number_or_text")]
    pub memory: Option<Value>,
    /// Space on the node's disk, in the same units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "number_or_text")]
    pub storage: Option<Value>,
    /// Kind of node; the pool's default if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
    /// Nodes to stay away from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes_excluded: Vec<String>,
    /// Which tasks must or should share which levels. The order says nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub topology: Vec<TopologyRequirement>,
}

/// Tasks of a group that name the same key and group share a domain of that level.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TopologyRequirement {
    /// A level: one of the pool's `topology_keys`.
    pub key: String,
    /// Who shares it: tasks that name the same; `default` if omitted.
    #[serde(default = "default_group")]
    #[schemars(regex(pattern = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"))]
    pub group: String,
    /// `required` or `preferred`; the former if omitted.
    #[serde(default)]
    pub requirement_type: RequirementType,
}

fn default_group() -> String {
    "default".to_owned()
}

/// Whether a level must be shared, or should.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RequirementType {
    /// It must: the group waits until it can be.
    #[default]
    Required,
    /// It should: the group runs even if it cannot be.
    Preferred,
}

impl fmt::Display for RequirementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Required { "required" } else { "preferred" })
    }
}

impl Workflow {
    /// The name that the user gave it.
    pub fn written_name(&self) -> &str {
        self.spec.name.as_deref().or(self.metadata.name.as_deref()).unwrap_or_default()
    }
}

impl WorkflowSpec {
    /// The groups, a task alone being one.
    pub fn all_groups(&self) -> Vec<Cow<'_, TaskGroup>> {
        let alone = |task: &Task| TaskGroup {
            name: crate::names::osmo::lone_group(&task.name),
            tasks: vec![task.clone()],
            ..TaskGroup::default()
        };
        let groups = self.groups.iter().map(Cow::Borrowed);
        groups.chain(self.tasks.iter().map(|task| Cow::Owned(alone(task)))).collect()
    }

    /// What a task asks for; nothing is asked for where nothing is defined at all.
    pub fn resource_of(&self, task: &Task) -> Option<&ResourceSpec> {
        self.resources.get(task.resource_name())
    }

    /// The priority.
    pub fn priority(&self) -> Priority {
        self.priority.unwrap_or_default()
    }
}

impl Task {
    /// The name of what the task asks for.
    pub fn resource_name(&self) -> &str {
        self.resource.as_deref().unwrap_or(crate::names::osmo::DEFAULT_RESOURCE)
    }
}

impl TaskGroup {
    /// The position of the task that leads: the first that says so, else the first.
    pub fn lead(&self) -> usize {
        self.tasks.iter().position(|task| task.lead).unwrap_or(0)
    }

    /// Whether the group does as its leading task does.
    pub fn follows_lead(&self) -> bool {
        self.ignore_nonlead_status.unwrap_or(true)
    }

    /// Names of the tasks of earlier groups that this one needs.
    pub fn needs(&self) -> impl Iterator<Item = &str> {
        self.tasks.iter().flat_map(|task| &task.inputs).filter_map(|input| input.task.as_deref())
    }
}
