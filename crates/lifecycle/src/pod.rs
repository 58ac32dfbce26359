//! Pods as far as we look at them. An operator keeps thousands; the rest of a pod is never decoded.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use trellis_api::names::{self, label};

/// A pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pod {
    /// Standard metadata.
    pub metadata: ObjectMeta,
    /// What was asked for.
    #[serde(default)]
    pub spec: Spec,
    /// What became of it.
    #[serde(default)]
    pub status: Status,
}

/// What we look at in a pod's spec.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Spec {
    /// Node that it was bound to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_name: Option<String>,
    /// Gates that keep schedulers away.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scheduling_gates: Vec<Gate>,
}

/// A scheduling gate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// Name of the gate.
    pub name: String,
}

/// What we look at in a pod's status.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    /// `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Why it ended, in a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why it ended, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Conditions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Containers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub container_statuses: Vec<Container>,
}

/// A condition of a pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    /// What it is about.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
}

/// What we look at in a container's status.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Container {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether it is ready.
    pub ready: bool,
    /// Whether it has started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<bool>,
    /// How often it was started anew.
    pub restart_count: i32,
    /// How its last run but one ended.
    pub last_state: State,
    /// How it is now.
    pub state: State,
}

/// The state of a container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// How it ended, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminated: Option<Terminated>,
    /// Why it does not run yet, if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waiting>,
}

/// Why a container does not run yet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Waiting {
    /// In a word, such as `ErrImagePull`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// In a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// How a container ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Terminated {
    /// Exit code.
    pub exit_code: i32,
    /// What it left behind as its last words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl kube_core::Resource for Pod {
    type DynamicType = ();
    type Scope = kube_core::NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        "Pod".into()
    }

    fn group((): &()) -> Cow<'_, str> {
        "".into()
    }

    fn version((): &()) -> Cow<'_, str> {
        "v1".into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        "pods".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl Pod {
    /// Its name.
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// Its uid.
    pub fn uid(&self) -> &str {
        self.metadata.uid.as_deref().unwrap_or_default()
    }

    /// A label of it.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.metadata.labels.as_ref()?.get(key).map(String::as_str)
    }

    /// An annotation of it.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata.annotations.as_ref()?.get(key).map(String::as_str)
    }

    /// Its index within its PodClique.
    pub fn index(&self) -> Option<usize> {
        self.label(label::POD_INDEX)?.parse().ok()
    }

    /// Whether it was made from this template.
    pub fn is_at(&self, template_hash: &str) -> bool {
        self.label(label::POD_TEMPLATE_HASH) == Some(template_hash)
    }

    /// Whether it is on its way out.
    pub fn is_terminating(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// Whether all its containers ended well.
    pub fn has_succeeded(&self) -> bool {
        self.status.phase.as_deref() == Some("Succeeded")
    }

    /// Whether it ended otherwise.
    pub fn has_failed(&self) -> bool {
        self.status.phase.as_deref() == Some("Failed")
    }

    /// Whether it holds its place in the clique: it is neither on its way out nor failed. One that succeeded does.
    pub fn is_member(&self) -> bool {
        !self.is_terminating() && !self.has_failed()
    }

    /// Whether it has a node.
    pub fn is_scheduled(&self) -> bool {
        self.spec.node_name.as_deref().is_some_and(|node| !node.is_empty())
    }

    /// Whether our gate still holds it.
    pub fn is_gated(&self) -> bool {
        self.spec.scheduling_gates.iter().any(|gate| gate.name == names::GANG_GATE)
    }

    /// Whether it is ready to serve.
    pub fn is_ready(&self) -> bool {
        self.condition("Ready").is_some_and(|ready| ready.status == "True")
    }

    /// Since when no scheduler finds room for it.
    pub fn unschedulable_since(&self) -> Option<Timestamp> {
        let scheduled = self.condition("PodScheduled").filter(|condition| condition.status == "False")?;
        scheduled.reason.as_deref().filter(|reason| *reason == "Unschedulable")?;
        Some(scheduled.last_transition_time.as_ref()?.0)
    }

    /// A condition.
    pub fn condition(&self, type_: &str) -> Option<&Condition> {
        self.status.conditions.iter().find(|condition| condition.type_ == type_)
    }

    /// When it was made.
    pub fn created(&self) -> Option<Timestamp> {
        self.metadata.creation_timestamp.as_ref().map(|time| time.0)
    }
}
