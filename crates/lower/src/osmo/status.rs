//! How far a task, a group and a workflow have come: from the pods up, and from what was decided down.

use super::seen::SeenPod;
use trellis_api::admission::exit_codes;
use trellis_api::kinds::osmo::{GroupStatus, State, Task, TaskGroup, TaskStatus, WorkflowStatus};

/// What the end of a pod means for its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Completed,
    Failed,
    Again,
}

/// What the end of a pod means: its exit code by the task's own words, else by whether it is 0. One that was made to leave
/// begins anew.
pub(super) fn ended(task: &Task, pod: &SeenPod) -> Ended {
    let code = pod.exit_code.unwrap_or(i32::from(pod.phase != "Succeeded"));
    let named = |action: &str| {
        let codes = task.exit_actions.iter().filter(|(name, _)| name.eq_ignore_ascii_case(action));
        codes.filter_map(|(_, codes)| exit_codes(codes)).flatten().any(|(first, last)| (first..=last).contains(&code))
    };
    match () {
        () if pod.is_disrupted && pod.phase == "Failed" => Ended::Again,
        () if named("COMPLETE") => Ended::Completed,
        () if named("RESTART") || named("RESCHEDULE") => Ended::Again,
        () if named("FAIL") => Ended::Failed,
        () if code == 0 => Ended::Completed,
        () => Ended::Failed,
    }
}

/// How far a pod that has not ended has come.
pub(super) fn of_pod(pod: &SeenPod) -> State {
    match (&pod.node, pod.phase.as_str()) {
        (None, _) => State::Scheduling,
        (Some(_), "Running") => State::Running,
        (Some(_), _) => State::Initializing,
    }
}

/// How a pod has failed that had a place and did not begin to run in time.
pub(super) fn of_false_start(pod: &SeenPod) -> State {
    match pod.waiting.as_ref().map(|waiting| waiting.reason.as_str()) {
        None => State::FailedStartTimeout,
        Some(reason) if reason.contains("Image") => State::FailedImagePull,
        Some(_) => State::FailedStartError,
    }
}

/// What keeps tasks from running that have a place.
pub(super) fn of_starting(tasks: &[TaskStatus]) -> Option<String> {
    let mut starting = tasks.iter().filter(|task| task.state == State::Initializing);
    starting.find_map(|task| Some(format!("task {:?}: {}", task.name, task.message.as_deref()?)))
}

/// How far a group has come whose tasks have come so far: as far as the one that leads, or as all of them.
pub(super) fn of_group(group: &TaskGroup, tasks: &[TaskStatus]) -> (State, Option<String>) {
    let failed = |task: &TaskStatus| (task.state, task.message.clone());
    if group.follows_lead() {
        if let Some(lead) = tasks.get(group.lead()).filter(|lead| lead.state.is_final()) {
            return failed(lead);
        }
    } else {
        if let Some(task) = tasks.iter().find(|task| task.state.is_failure()) {
            return failed(task);
        }
        if tasks.iter().all(|task| task.state == State::Completed) {
            return (State::Completed, None);
        }
    }
    let open = tasks.iter().map(|task| task.state).filter(|state| !state.is_final());
    // The least of what is under way; one that comes back holds nobody up.
    let least = open.clone().filter(|state| *state != State::Rescheduled).min();
    let coming_back = open.clone().any(|state| state == State::Rescheduled);
    let state = match least {
        Some(State::Running) | None if coming_back => State::Rescheduled,
        Some(state) => state,
        // All that is left has ended, and the one that leads has not: it is on its way.
        None => State::Running,
    };
    (state, None)
}

/// How far a workflow has come whose groups have come so far.
pub(super) fn of_workflow(groups: &[GroupStatus]) -> (State, Option<String>) {
    if groups.iter().all(|group| group.state.is_final()) {
        let failures = groups.iter().filter(|group| group.state.is_failure());
        // What follows from another's failure is not the reason.
        let first = failures.min_by_key(|group| group.state == State::FailedUpstream);
        return first.map_or((State::Completed, None), |group| {
            let message = group.message.as_deref().map(|message| format!(": {message}")).unwrap_or_default();
            (group.state, Some(format!("group {:?}{message}", group.name)))
        });
    }
    let open = || groups.iter().filter(|group| !group.state.is_final());
    let message = open().find_map(|group| Some(format!("group {:?}: {}", group.name, group.message.as_deref()?)));
    let state = match () {
        () if open().any(|group| group.started_at.is_some()) => State::Running,
        () if groups.iter().any(|group| group.state.is_final()) => State::Waiting,
        () => State::Pending,
    };
    (state, message)
}

/// What was written last of a group.
pub(super) fn before<'a>(status: Option<&'a WorkflowStatus>, group: &str) -> Option<&'a GroupStatus> {
    status?.groups.iter().find(|before| before.name == group)
}
