//! What was observed of a workflow.

use crate::kinds::conditions_schema;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far a workflow, a group or a task has come, in OSMO's words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum State {
    /// Of a workflow: nothing of it has a place yet.
    #[default]
    Pending,
    /// Groups before it are not done.
    Waiting,
    /// Its objects are being made.
    Processing,
    /// It waits for its place.
    Scheduling,
    /// It has a place, and does not run yet.
    Initializing,
    /// It runs.
    Running,
    /// It is made anew after a loss.
    Rescheduled,
    /// It ended well.
    Completed,
    /// It failed.
    Failed,
    /// It was ended by its user.
    FailedCanceled,
    /// It ran too long.
    FailedExecTimeout,
    /// It waited too long for its place.
    FailedQueueTimeout,
    /// It has a place, and its image did not come.
    FailedImagePull,
    /// It has a place, and its container could not be made.
    FailedStartError,
    /// It has a place, and took too long to start.
    FailedStartTimeout,
    /// It had to leave, and may not come back.
    FailedPreempted,
    /// A group that it needs failed.
    FailedUpstream,
    /// It was refused.
    FailedSubmission,
}

impl State {
    /// Whether nothing more will happen.
    pub fn is_final(self) -> bool {
        self >= Self::Completed
    }

    /// Whether it ended other than well.
    pub fn is_failure(self) -> bool {
        self > Self::Completed
    }

    /// Whether it had a place and did not begin to run.
    pub fn is_false_start(self) -> bool {
        matches!(self, Self::FailedImagePull | Self::FailedStartError | Self::FailedStartTimeout)
    }
}

/// What was observed of a workflow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowStatus {
    /// Generation of the spec that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// How far it has come.
    #[serde(default)]
    pub state: State,
    /// Why it waits or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The pool that it runs in, once it has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// Conditions: `Admitted` where no webhook judges, `Complete`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions_schema")]
    pub conditions: Vec<Condition>,
    /// The groups, in the order of the spec.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupStatus>,
}

/// What was observed of a group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupStatus {
    /// Name of the group.
    pub name: String,
    /// How far it has come.
    #[serde(default)]
    pub state: State,
    /// Why it waits or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When its objects were made, or made anew because it lost its place before it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_at: Option<Time>,
    /// The levels of its pool that it was queued with, as `key=label,key=label`; the pool may have others by now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub levels: Option<String>,
    /// When it began to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Time>,
    /// The tasks, in the order of the spec.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskStatus>,
}

/// What was observed of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskStatus {
    /// Name of the task.
    pub name: String,
    /// How far it has come.
    #[serde(default)]
    pub state: State,
    /// Where it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// When its pod had a place, while it does not run yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placed_at: Option<Time>,
    /// How often it was begun anew.
    #[serde(default)]
    pub retries: i32,
    /// The pod that was seen last, by its uid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<String>,
    /// The pod that was given up last, so that it is counted once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_up: Option<String>,
    /// Exit code of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Why it waits or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}
