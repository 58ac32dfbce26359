//! Conditions: what is said now, beside what was said before.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// Types of the conditions that we set.
pub mod kind {
    /// On a set: all replicas are available.
    pub const READY: &str = "Ready";
    /// On a set: levels that it asks for are not in its topology.
    pub const TOPOLOGY_LEVELS_UNAVAILABLE: &str = "TopologyLevelsUnavailable";
    /// On a set, where no webhook judges: whether it may be as it is.
    pub const ADMITTED: &str = "Admitted";
    /// On a clique or scaling group: fewer than the minimum can do their work.
    pub const MIN_AVAILABLE_BREACHED: &str = "MinAvailableBreached";
    /// On a clique: the minimum has nodes.
    pub const POD_CLIQUE_SCHEDULED: &str = "PodCliqueScheduled";
    /// On a scaling group: a gang of it is being taken down.
    pub const GANG_TERMINATION_IN_PROGRESS: &str = "GangTerminationInProgress";
    /// On a gang: all its objects are there.
    pub const INITIALIZED: &str = "Initialized";
    /// On a gang: the minimum of all its groups has nodes.
    pub const SCHEDULED: &str = "Scheduled";
    /// On a gang: it is being taken down.
    pub const DISRUPTION_TARGET: &str = "DisruptionTarget";
}

/// Names in a message before the rest become "others", so that messages stay short and change little.
const NAMED: usize = 3;
/// Longest message, in characters.
const MESSAGE_MAX: usize = 1024;

/// What a condition can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// It is so.
    True,
    /// It is not so.
    False,
    /// Nobody can tell.
    Unknown,
}

impl Truth {
    /// As it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// What a condition says now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// What it is about.
    pub kind: &'static str,
    /// Whether it is so.
    pub truth: Truth,
    /// One word why.
    pub reason: &'static str,
    /// A sentence why.
    pub message: String,
}

impl Said {
    /// What a condition says now.
    pub fn new(kind: &'static str, truth: Truth, reason: &'static str, message: impl Into<String>) -> Self {
        Self { kind, truth, reason, message: message.into() }
    }

    /// As a condition that follows the one that was there: its time moves only when its status does.
    pub fn after(self, before: Option<&Condition>, generation: Option<i64>, now: &Time) -> Condition {
        let same = before.filter(|before| before.status == self.truth.as_str());
        Condition {
            type_: self.kind.to_owned(),
            status: self.truth.as_str().to_owned(),
            reason: self.reason.to_owned(),
            message: bounded(&self.message, MESSAGE_MAX),
            observed_generation: generation,
            last_transition_time: same.map_or_else(|| now.clone(), |before| before.last_transition_time.clone()),
        }
    }
}

/// The condition of a type.
pub fn find<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == kind)
}

/// All conditions of an object: others' as they are, in their places; of `ours`, what is said now.
pub fn merged(
    before: &[Condition],
    ours: &[&str],
    said: Vec<Said>,
    generation: Option<i64>,
    now: &Time,
) -> Vec<Condition> {
    let mut after: Vec<Condition> = before.to_vec();
    after.retain(|old| !ours.contains(&old.type_.as_str()) || said.iter().any(|new| new.kind == old.type_));
    for new in said {
        let old = find(before, new.kind);
        let condition = new.after(old, generation, now);
        match after.iter_mut().find(|old| old.type_ == condition.type_) {
            Some(old) => *old = condition,
            None => after.push(condition),
        }
    }
    after
}

/// The first few of some names.
pub fn first_few<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names = names.into_iter();
    let mut text = names.by_ref().take(NAMED).collect::<Vec<_>>().join(", ");
    if names.next().is_some() {
        text.push_str(" and others");
    }
    text
}

/// At most `max` characters of a text.
pub fn bounded(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some(_) => text.chars().take(max - 1).chain(['…']).collect(),
    }
}
