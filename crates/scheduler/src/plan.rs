//! What is to be done, as data. Whoever carries a plan out makes no choices.
//!
//! The parts of a plan do not wait for each other, and none is needed for another to be right: what follows from a write is decided once
//! the write is seen. Only inside a [`GangPlan`] is there an order: annotations by compare-and-swap first, then all binds at once. If the
//! first is refused, nothing else of that gang is done. A step that fails leaves the rest to the next decision.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;
use std::collections::BTreeMap;

/// Who writes, in the managed fields of what we write.
pub const FIELD_MANAGER: &str = "trellis-scheduler";

/// What is to be done now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Gangs that are written to, and whose pods are bound. Each gang is in here at most once.
    pub gangs: Vec<GangPlan>,
    /// Pods that are deleted, with their usual grace.
    pub deletes: Vec<Delete>,
    /// What is said in the status of gangs.
    pub statuses: Vec<StatusApply>,
    /// What is said in the status of pods.
    pub pod_conditions: Vec<PodCondition>,
    /// What people are told, as Events.
    pub notes: Vec<Note>,
    /// When to decide again, should nothing happen before.
    pub again_at: Option<Timestamp>,
    /// What there was to see, for metrics.
    pub figures: Figures,
}

impl Plan {
    /// Whether there is nothing to write.
    pub fn is_idle(&self) -> bool {
        self.gangs.is_empty() && self.deletes.is_empty() && self.statuses.is_empty() && self.pod_conditions.is_empty()
    }

    /// Decides again at `time`, or earlier if something else asks for that.
    pub fn again(&mut self, time: Timestamp) {
        self.again_at = Some(self.again_at.map_or(time, |earlier| earlier.min(time)));
    }
}

/// Kinds that we write to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A PodGang.
    PodGang,
    /// KAI's PodGroup.
    PodGroup,
    /// A pod: a gang of one, or a member that has to be written to by itself.
    Pod,
}

impl Kind {
    /// API group, version, kind and plural name.
    pub const fn names(self) -> (&'static str, &'static str, &'static str, &'static str) {
        match self {
            Self::PodGang => ("scheduler.grove.io", "v1alpha1", "PodGang", "podgangs"),
            Self::PodGroup => ("scheduling.run.ai", "v2alpha2", "PodGroup", "podgroups"),
            Self::Pod => ("", "v1", "Pod", "pods"),
        }
    }

    /// The `apiVersion` of its objects.
    pub fn api_version(self) -> String {
        let (group, version, _, _) = self.names();
        if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
    }
}

/// An object by kind and name. All of them live in namespaces.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// Its kind.
    pub kind: Kind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Target {
    /// The object with this metadata.
    pub fn of(kind: Kind, metadata: &ObjectMeta) -> Self {
        Self {
            kind,
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: metadata.name.clone().unwrap_or_default(),
        }
    }
}

/// One version of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Version {
    /// Its uid.
    pub uid: String,
    /// Its resourceVersion.
    pub resource_version: String,
}

impl Version {
    /// The version that was seen.
    pub fn of(metadata: &ObjectMeta) -> Self {
        Self {
            uid: metadata.uid.clone().unwrap_or_default(),
            resource_version: metadata.resource_version.clone().unwrap_or_default(),
        }
    }
}

/// What is done for one gang: a merge patch of its annotations, good for one version only; when that is acknowledged, all binds at once.
#[derive(Clone, Debug, PartialEq)]
pub struct GangPlan {
    /// What it is for; one of [`site`].
    pub site: &'static str,
    /// The object that stands for the gang. Of a gang of one it is the pod itself; then a bind after a write is for the version that the
    /// answer to that write has, not for the one in [`Bind`].
    pub target: Target,
    /// The version that this was decided on; the write names both of its parts.
    pub version: Version,
    /// Annotations to set, or to take away. Empty: nothing to write, the binds go at once. The ledger is among them as its whole value.
    pub annotations: BTreeMap<&'static str, Option<String>>,
    /// Pods that get their node.
    pub binds: Vec<Bind>,
    /// The ledger to be put into [`crate::Seen::under_way`] for as long as this is being carried out, whether or not it is written.
    pub assumed: String,
}

/// A pod that gets its node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bind {
    /// Namespace of the pod.
    pub namespace: String,
    /// Name of the pod.
    pub pod: String,
    /// The version that it must have; the Binding names both of its parts.
    pub version: Version,
    /// The node.
    pub node: String,
    /// The zone inside the node, carried by the Binding as annotation `trellis.dev/numa-zone`.
    pub zone: Option<String>,
}

/// A pod that is deleted, if it is still as it was seen: it may have done its work meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delete {
    /// What it is for; one of [`site`].
    pub site: &'static str,
    /// Namespace of the pod.
    pub namespace: String,
    /// Name of the pod.
    pub pod: String,
    /// The version that it must have.
    pub version: Version,
}

/// Fields of a gang's status that are ours, all of them, to be applied on the server side (forced, under [`FIELD_MANAGER`]): what is left
/// out goes. The object names its uid, so that nothing is said of a successor.
#[derive(Clone, Debug, PartialEq)]
pub struct StatusApply {
    /// The gang.
    pub target: Target,
    /// The whole object to apply to the `status` subresource.
    pub object: Value,
}

impl StatusApply {
    /// Whether something follows from its being said: pods are deleted only once it is said that they have to go.
    pub fn is_urgent(&self) -> bool {
        let conditions = self.object["status"]["conditions"].as_array();
        conditions.into_iter().flatten().any(|condition| condition["type"] == "DisruptionTarget")
    }
}

/// A condition of a pod, as a strategic merge patch of its `status` subresource that names the uid.
#[derive(Clone, Debug, PartialEq)]
pub struct PodCondition {
    /// Namespace of the pod.
    pub namespace: String,
    /// Name of the pod.
    pub pod: String,
    /// The uid that it must have.
    pub uid: String,
    /// The gang that it belongs to.
    pub gang: Target,
    /// The whole patch.
    pub patch: Value,
}

/// What people are told, as an Event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What it is about.
    pub about: Target,
    /// The uid of that.
    pub uid: String,
    /// Whether something is wrong.
    pub warning: bool,
    /// One word for programs.
    pub reason: &'static str,
    /// A sentence for people, without numbers that change.
    pub message: String,
}

/// What there was to see, for metrics.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Gangs that wait for the minimum of their members, by the reason of their condition.
    pub waiting: BTreeMap<&'static str, usize>,
    /// Gangs whose minimum has nodes.
    pub placed: usize,
    /// Pods that have no node and wait for us.
    pub pods_waiting: usize,
    /// For each topology and level, by name: how much of what is free lies outside the domain that has most of it, 0 to 1. Of
    /// each level the resource that is scarcest counts.
    pub fragmentation: BTreeMap<(String, String), f64>,
    /// Steps that the engine took.
    pub steps: u64,
}

/// What writes are for. Tests make each of them fail at least once, so a new one has to be listed here.
#[allow(missing_docs, reason = "the words speak for themselves")]
pub mod site {
    pub const FENCE: &str = "fence gang";
    pub const TOUCH: &str = "touch pod";
    pub const PLACE: &str = "place gang";
    pub const FINISH: &str = "finish begun placement";
    pub const UNDO: &str = "undo begun placement";
    pub const NOMINATE: &str = "nominate places";
    pub const MARK_VICTIM: &str = "mark preempted gang";
    pub const KEEP: &str = "keep ledger";
    pub const EXPLAIN: &str = "explain";
    pub const DELETE_UNDONE: &str = "delete pod: placement undone";
    pub const DELETE_PREEMPTED: &str = "delete pod: preempted";

    /// All of them.
    pub const ALL: [&str; 11] =
        [FENCE, TOUCH, PLACE, FINISH, UNDO, NOMINATE, MARK_VICTIM, KEEP, EXPLAIN, DELETE_UNDONE, DELETE_PREEMPTED];
}
