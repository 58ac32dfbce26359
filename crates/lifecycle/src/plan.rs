//! What is due, as data: writes that may all go at once, what to say, and when to look again.
//!
//! Every write is safe to send twice, late, or on a view that is no longer true: creates have names that only their place in the set
//! decides, changes carry the version that they were decided on, deletions the uid and the version. Whoever carries a plan out makes no
//! choices.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;
use std::collections::BTreeSet;

/// What is due for one set, or one topology.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// What has to be written. None waits for another; what follows from them is decided once they are seen.
    pub writes: Vec<Write>,
    /// What is to be said in status once nothing is left to write, or what was to be written cannot be.
    pub statuses: Vec<Write>,
    /// What must be true, by a fresh look, before anything is deleted: a deletion never rests on a cache alone.
    pub confirm: Vec<Confirm>,
    /// What must be true, by a fresh look, before anything is written: what cannot be taken back never rests on a cache alone either.
    pub certain: Vec<Confirm>,
    /// What people are told once the writes are carried out.
    pub notes: Vec<Note>,
    /// What people are told with the statuses.
    pub status_notes: Vec<Note>,
    /// When to look again, should nothing happen before.
    pub wake_at: Option<Timestamp>,
    /// What the writes delete.
    deleted: BTreeSet<Target>,
}

impl Plan {
    /// Looks again at `time`, or earlier if something else asks for that.
    pub fn wake(&mut self, time: Timestamp) {
        self.wake_at = Some(self.wake_at.map_or(time, |earlier| earlier.min(time)));
    }

    /// Deletes an object, unless the plan does so already. Its version is named where it matters what became of it.
    pub fn delete(&mut self, site: &'static str, kind: Kind, metadata: &ObjectMeta, same_version: bool) {
        let target = Target::of(kind, metadata);
        let Some(uid) = metadata.uid.clone() else { return };
        if metadata.deletion_timestamp.is_some() || !self.deleted.insert(target.clone()) {
            return;
        }
        let version = metadata.resource_version.clone().filter(|_| same_version);
        self.writes.push(Write { site, target, action: Action::Delete { uid, version } });
    }

    /// Whether the plan deletes this object.
    pub fn deletes(&self, target: &Target) -> bool {
        self.deleted.contains(target)
    }

    /// Deletes nothing unless this object still has the version that was seen.
    pub fn confirm(&mut self, kind: Kind, metadata: &ObjectMeta) {
        let Some(version) = metadata.resource_version.clone() else { return };
        let confirm = Confirm::Version(Target::of(kind, metadata), version);
        if !self.confirm.contains(&confirm) {
            self.confirm.push(confirm);
        }
    }
}

/// What a deletion rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Confirm {
    /// The object still has this version.
    Version(Target, String),
    /// The object, of this uid, is not there.
    Gone(Target, String),
}

/// A request that changes something.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// What it is for; one of [`site`].
    pub site: &'static str,
    /// What it is about.
    pub target: Target,
    /// What is done to it.
    pub action: Action,
}

/// An object by kind and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// Its kind.
    pub kind: Kind,
    /// Its namespace; empty for cluster-scoped kinds.
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

/// What is done to an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// It is created; one that is there already stays as it is.
    Create(Value),
    /// A merge patch, good for one version only, which it names in its metadata.
    Patch(Value),
    /// A merge patch of the status, good for one version only.
    PatchStatus(Value),
    /// Fields of the status that we own, applied on the server side for one version only; others own other fields.
    ApplyStatus(Value),
    /// A merge patch of the scale subresource, good for one version only.
    Scale(Value),
    /// It is deleted, if it is still this one.
    Delete {
        /// The uid that it must have.
        uid: String,
        /// The version that it must have, where it matters what became of it meanwhile.
        version: Option<String>,
    },
}

/// What people are told, as an Event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What it is about.
    pub about: Target,
    /// Whether something is wrong.
    pub warning: bool,
    /// One word for programs; also what the Event is counted under, so without numbers.
    pub reason: &'static str,
    /// A sentence for people, without numbers that change.
    pub message: String,
}

/// Kinds that we write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the kinds speak for themselves")]
pub enum Kind {
    DynamoGraphDeployment,
    PodCliqueSet,
    ScalingGroup,
    PodClique,
    PodGang,
    Pod,
    Service,
    ServiceAccount,
    Role,
    RoleBinding,
    Autoscaler,
    ResourceClaim,
    KaiPodGroup,
    ClusterTopology,
    KaiTopology,
    Pool,
    Workflow,
    KaiQueue,
    PriorityClass,
    ConfigMap,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 20] = [
        Self::DynamoGraphDeployment,
        Self::PodCliqueSet,
        Self::ScalingGroup,
        Self::PodClique,
        Self::PodGang,
        Self::Pod,
        Self::Service,
        Self::ServiceAccount,
        Self::Role,
        Self::RoleBinding,
        Self::Autoscaler,
        Self::ResourceClaim,
        Self::KaiPodGroup,
        Self::ClusterTopology,
        Self::KaiTopology,
        Self::Pool,
        Self::Workflow,
        Self::KaiQueue,
        Self::PriorityClass,
        Self::ConfigMap,
    ];

    /// API group, version, kind and plural name.
    pub const fn names(self) -> (&'static str, &'static str, &'static str, &'static str) {
        match self {
            Self::DynamoGraphDeployment => ("nvidia.com", "v1beta1", "DynamoGraphDeployment", "dynamographdeployments"),
            Self::PodCliqueSet => ("grove.io", "v1alpha1", "PodCliqueSet", "podcliquesets"),
            Self::ScalingGroup => ("grove.io", "v1alpha1", "PodCliqueScalingGroup", "podcliquescalinggroups"),
            Self::PodClique => ("grove.io", "v1alpha1", "PodClique", "podcliques"),
            Self::PodGang => ("scheduler.grove.io", "v1alpha1", "PodGang", "podgangs"),
            Self::Pod => ("", "v1", "Pod", "pods"),
            Self::Service => ("", "v1", "Service", "services"),
            Self::ServiceAccount => ("", "v1", "ServiceAccount", "serviceaccounts"),
            Self::Role => ("rbac.authorization.k8s.io", "v1", "Role", "roles"),
            Self::RoleBinding => ("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings"),
            Self::Autoscaler => ("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"),
            Self::ResourceClaim => ("resource.k8s.io", "v1", "ResourceClaim", "resourceclaims"),
            Self::KaiPodGroup => ("scheduling.run.ai", "v2alpha2", "PodGroup", "podgroups"),
            Self::ClusterTopology => ("grove.io", "v1alpha1", "ClusterTopology", "clustertopologies"),
            Self::KaiTopology => ("kai.scheduler", "v1alpha1", "Topology", "topologies"),
            Self::Pool => ("trellis.dev", "v1alpha1", "Pool", "pools"),
            Self::Workflow => ("trellis.dev", "v1alpha1", "Workflow", "workflows"),
            Self::KaiQueue => ("scheduling.run.ai", "v2", "Queue", "queues"),
            Self::PriorityClass => ("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses"),
            Self::ConfigMap => ("", "v1", "ConfigMap", "configmaps"),
        }
    }

    /// The `apiVersion` of its objects.
    pub fn api_version(self) -> String {
        let (group, version, _, _) = self.names();
        if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
    }

    /// Whether its objects live in namespaces.
    pub const fn is_namespaced(self) -> bool {
        !matches!(self, Self::ClusterTopology | Self::KaiTopology | Self::Pool | Self::KaiQueue | Self::PriorityClass)
    }
}

/// What writes are for. Tests make each of them fail at least once, so a new one has to be listed here.
#[allow(missing_docs, reason = "the words speak for themselves")]
pub mod site {
    pub const CREATE_SET: &str = "create set";
    pub const CHANGE_SET: &str = "change set";
    pub const DELETE_SET: &str = "delete set";
    pub const SCALE_COMPONENT: &str = "scale component";
    pub const CREATE_CHILD: &str = "create child";
    pub const CHANGE_CHILD: &str = "change child";
    pub const DELETE_CHILD: &str = "delete child";
    pub const CREATE_CLIQUE: &str = "create clique";
    pub const CHANGE_CLIQUE: &str = "change clique";
    pub const DELETE_CLIQUE: &str = "delete clique";
    pub const CREATE_GROUP: &str = "create scaling group";
    pub const CHANGE_GROUP: &str = "change scaling group";
    pub const DELETE_GROUP: &str = "delete scaling group";
    pub const CREATE_GANG: &str = "create gang";
    pub const CHANGE_GANG: &str = "change gang";
    pub const DELETE_GANG: &str = "delete gang";
    pub const BACKEND_GROUP: &str = "write the backend's group";
    pub const INITIALIZE_GANG: &str = "initialize gang";
    pub const MARK_SCHEDULED: &str = "mark gang as scheduled";
    pub const CREATE_POD: &str = "create pod";
    pub const LIFT_GATE: &str = "lift gate";
    pub const DELETE_POD_SCALED_IN: &str = "delete pod: scaled in";
    pub const DELETE_POD_FAILED: &str = "delete pod: failed";
    pub const DELETE_POD_UPDATED: &str = "delete pod: updated";
    pub const DELETE_POD_RETRY: &str = "delete pod: topology retry";
    pub const DELETE_POD_TERMINATED: &str = "delete pod: gang terminated";
    pub const DELETE_POD_ORPHANED: &str = "delete pod: set is gone";
    pub const BEGIN_TERMINATION: &str = "begin gang termination";
    pub const END_TERMINATION: &str = "end gang termination";
    pub const DEPLOYMENT_STATUS: &str = "status of deployment";
    pub const SET_STATUS: &str = "status of set";
    pub const GROUP_STATUS: &str = "status of scaling group";
    pub const CLIQUE_STATUS: &str = "status of clique";
    pub const GANG_STATUS: &str = "status of gang";
    pub const TOPOLOGY_FINALIZER: &str = "finalizer of topology";
    pub const TOPOLOGY_STATUS: &str = "status of topology";
    pub const BACKEND_TOPOLOGY: &str = "write the backend's topology";
    pub const POOL_OBJECT: &str = "write for pool";
    pub const POOL_MOVE: &str = "move gang to kept levels";
    pub const POOL_GONE: &str = "delete for pool";
    pub const POOL_FINALIZER: &str = "finalizer of pool";
    pub const POOL_STATUS: &str = "status of pool";
    pub const WORKFLOW_STATUS: &str = "status of workflow";
    pub const WORKFLOW_OBJECT: &str = "create for task group";
    pub const WORKFLOW_POD: &str = "create pod of task";
    pub const WORKFLOW_POD_GIVEN_UP: &str = "delete pod: given up";
    pub const WORKFLOW_END: &str = "delete gang: group has ended";

    /// All of them.
    pub const ALL: [&str; 47] = [
        CREATE_SET,
        CHANGE_SET,
        DELETE_SET,
        SCALE_COMPONENT,
        CREATE_CHILD,
        CHANGE_CHILD,
        DELETE_CHILD,
        CREATE_CLIQUE,
        CHANGE_CLIQUE,
        DELETE_CLIQUE,
        CREATE_GROUP,
        CHANGE_GROUP,
        DELETE_GROUP,
        CREATE_GANG,
        CHANGE_GANG,
        DELETE_GANG,
        BACKEND_GROUP,
        INITIALIZE_GANG,
        MARK_SCHEDULED,
        CREATE_POD,
        LIFT_GATE,
        DELETE_POD_SCALED_IN,
        DELETE_POD_FAILED,
        DELETE_POD_UPDATED,
        DELETE_POD_RETRY,
        DELETE_POD_TERMINATED,
        DELETE_POD_ORPHANED,
        BEGIN_TERMINATION,
        END_TERMINATION,
        DEPLOYMENT_STATUS,
        SET_STATUS,
        GROUP_STATUS,
        CLIQUE_STATUS,
        GANG_STATUS,
        TOPOLOGY_FINALIZER,
        TOPOLOGY_STATUS,
        BACKEND_TOPOLOGY,
        POOL_OBJECT,
        POOL_MOVE,
        POOL_GONE,
        POOL_FINALIZER,
        POOL_STATUS,
        WORKFLOW_STATUS,
        WORKFLOW_OBJECT,
        WORKFLOW_POD,
        WORKFLOW_POD_GIVEN_UP,
        WORKFLOW_END,
    ];
}
