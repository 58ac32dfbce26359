//! What is due for a workflow: objects to be made, pods to be given up, its status, and when to look again.
//!
//! A pure function of what was seen and the time. Nothing is remembered but what stands in the status, which is to be
//! written before anything else of the plan is done: a pod that is begun anew is counted once, whoever goes on.

use super::group::{self, GroupObjects, group_objects};
use super::seen::{Seen, SeenPod};
use super::status::{self, Ended};
use super::{name, pods, written_levels};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;
use trellis_api::kinds::osmo::{GroupStatus, Pool, PoolSpec, State, Task, TaskGroup, TaskStatus, WorkflowStatus};
use trellis_api::names::{annotation, osmo};
use trellis_api::osmo::units;

/// How often a task is begun anew.
pub const RETRIES_MAX: i32 = 10;
/// How long groups may wait or run where nobody says otherwise.
const LONGEST: Duration = Duration::from_hours(60 * 24);

/// What is due.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The status; written first.
    pub status: WorkflowStatus,
    /// Objects to be made, group by group; PodGroup, Service and files before pods.
    pub create: Vec<GroupObjects>,
    /// Pods to be deleted, by name and uid.
    pub delete: Vec<(String, String)>,
    /// Names of PodGroups whose groups have ended: as long as a gang is there, its place is held.
    pub release: Vec<String>,
    /// When time alone makes something due.
    pub look_again: Option<Timestamp>,
}

/// What is due for a workflow now.
pub fn decide(seen: &Seen, now: Timestamp) -> Plan {
    let workflow = &seen.workflow;
    let before = workflow.status.as_ref();
    let mut plan = Plan::default();
    plan.status.observed_generation = workflow.metadata.generation;
    plan.status.conditions = before.map(|before| before.conditions.clone()).unwrap_or_default();
    plan.status.pool = before.and_then(|before| before.pool.clone());
    if plan.status.pool.is_none() {
        plan.status.pool = seen.pool.as_ref().and_then(|pool| pool.metadata.name.clone());
    }
    for group in group::groups(workflow) {
        let was = status::before(before, &group.name).cloned();
        let decided = Deciding { seen, group: &group, now, plan: &mut plan }.group(was.unwrap_or_default());
        plan.status.groups.push(decided);
    }
    (plan.status.state, plan.status.message) = status::of_workflow(&plan.status.groups);
    plan
}

/// One group, while it is decided.
struct Deciding<'a> {
    seen: &'a Seen,
    group: &'a TaskGroup,
    now: Timestamp,
    plan: &'a mut Plan,
}

impl Deciding<'_> {
    fn group(mut self, was: GroupStatus) -> GroupStatus {
        let mut status = GroupStatus { name: self.group.name.clone(), ..was };
        status.tasks = self.group.tasks.iter().map(|task| task_before(&status, task)).collect();
        if status.state.is_final() {
            self.clear();
            return status;
        }
        if self.seen.workflow.spec.cancel {
            return self.end(status, State::FailedCanceled, None);
        }
        match self.upstream() {
            Some((State::FailedUpstream, name)) => {
                let message = format!("group {name:?}, which it needs, did not complete");
                return self.end(status, State::FailedUpstream, Some(message));
            }
            Some((state, name)) => {
                let message = Some(format!("waits for group {name:?}"));
                status.tasks.iter_mut().for_each(|task| task.state = state);
                return GroupStatus { state, message, ..status };
            }
            None => {}
        }
        let pool = self.pool();
        if status.queued_at.is_none() {
            let Some(pool) = &pool else {
                let message = Some("its pool is not there".to_owned());
                return GroupStatus { state: State::Processing, message, ..status };
            };
            // The pool may have changed since the workflow was admitted; what is required is not passed over.
            if let Some(key) = self.unknown_key(pool) {
                let message = format!("its pool has no topology key {key:?} any more");
                return self.end(status, State::FailedSubmission, Some(message));
            }
            status.queued_at = Some(Time(self.now));
        }
        let create = self.tasks(&mut status, pool.as_ref());
        let status = self.outcome(status, pool.as_ref());
        if !status.state.is_final() && create != GroupObjects::default() {
            self.plan.create.push(create);
        }
        status
    }

    /// The pool, with the levels that the group was made for.
    fn pool(&self) -> Option<Pool> {
        let mut pool = self.seen.pool.clone()?;
        let gang = osmo::group(name(&self.seen.workflow), &self.group.name);
        if let Some(levels) = self.seen.levels.get(&gang) {
            pool.spec.topology_keys.clone_from(levels);
        }
        Some(pool)
    }

    /// A level that tasks speak of and the pool does not have.
    fn unknown_key(&self, pool: &Pool) -> Option<String> {
        let spec = &self.seen.workflow.spec;
        let asked = self.group.tasks.iter().filter_map(|task| spec.resource_of(task));
        let mut keys = asked.flat_map(|resource| &resource.topology).map(|requirement| &requirement.key);
        keys.find(|key| pool.spec.level(key).is_none()).cloned()
    }

    /// The first group that this one needs and that has not completed.
    fn upstream(&self) -> Option<(State, String)> {
        let all = group::groups(&self.seen.workflow);
        let needed =
            all.iter().filter(|other| self.group.needs().any(|need| other.tasks.iter().any(|task| task.name == need)));
        let states = needed.map(|other| {
            let decided = self.plan.status.groups.iter().find(|group| group.name == other.name);
            (decided.map(|group| group.state).unwrap_or_default(), other.name.clone())
        });
        let open: Vec<(State, String)> = states.filter(|(state, _)| *state != State::Completed).collect();
        let failed = open.iter().find(|(state, _)| state.is_failure());
        let failed = failed.map(|(_, name)| (State::FailedUpstream, name.clone()));
        failed.or_else(|| open.first().map(|(_, name)| (State::Waiting, name.clone())))
    }

    /// Every task by its pod; what is missing is made.
    fn tasks(&mut self, status: &mut GroupStatus, pool: Option<&Pool>) -> GroupObjects {
        let workflow = &self.seen.workflow;
        let mut missing = Vec::new();
        for (i, task) in self.group.tasks.iter().enumerate() {
            let now = &mut status.tasks[i];
            if now.state.is_final() {
                continue;
            }
            match self.seen.pods.get(&osmo::task(name(workflow), &task.name)) {
                Some(pod) => self.pod(task, pod, now),
                None => {
                    if now.pod.is_some() && now.given_up != now.pod {
                        give_up(now, "its pod is gone");
                    }
                    if !now.state.is_final() {
                        now.state = if now.retries > 0 { State::Rescheduled } else { State::Processing };
                        missing.push((i, now.retries));
                    }
                }
            }
        }
        let Some(pool) = pool.filter(|pool| !missing.is_empty() || !self.is_furnished(pool)) else {
            return GroupObjects::default();
        };
        let objects = group_objects(workflow, self.group, pool);
        let is_missing =
            |name: &Option<String>, there: &BTreeSet<String>| name.as_ref().is_some_and(|name| !there.contains(name));
        let create = GroupObjects {
            pod_group: objects.pod_group.filter(|object| is_missing(&object.metadata.name, &self.seen.pod_groups)),
            service: objects.service.filter(|object| is_missing(&object.metadata.name, &self.seen.services)),
            files: objects.files,
            pods: pods::task_pods(workflow, self.group, pool, &missing),
        };
        let files = create.files.iter().filter(|object| is_missing(&object.metadata.name, &self.seen.files));
        let files = files.cloned().collect();
        let mut create = GroupObjects { files, ..create };
        if let Some(gang) = create.pod_group.as_mut().filter(|_| !pool.spec.topology_keys.is_empty()) {
            let levels = written_levels(&pool.spec.topology_keys);
            gang.metadata.annotations.get_or_insert_default().insert(annotation::POOL_LEVELS.to_owned(), levels);
        }
        create
    }

    /// Whether what stands around the pods is there.
    fn is_furnished(&self, pool: &Pool) -> bool {
        let workflow = name(&self.seen.workflow);
        let gang = osmo::group(workflow, &self.group.name);
        let with_files = self.group.tasks.iter().filter(|task| !task.files.is_empty());
        (!pool.spec.knows_topology() || self.seen.pod_groups.contains(&gang))
            && (self.group.tasks.len() < 2 || self.seen.services.contains(&gang))
            && with_files.into_iter().all(|task| self.seen.files.contains(&osmo::task(workflow, &task.name)))
    }

    /// What a pod says of its task.
    fn pod(&mut self, task: &Task, pod: &SeenPod, now: &mut TaskStatus) {
        now.pod = Some(pod.uid.clone());
        now.node.clone_from(&pod.node);
        now.exit_code = pod.exit_code;
        now.message = None;
        // How a pod ends that was told to go says nothing of its task.
        if pod.is_terminating {
            if now.given_up.as_ref() != Some(&pod.uid) {
                give_up(now, "its pod was deleted");
            }
            if !now.state.is_final() {
                now.state = State::Rescheduled;
            }
            return;
        }
        if !pod.is_finished() {
            now.state = status::of_pod(pod);
            return;
        }
        match status::ended(task, pod) {
            Ended::Completed => now.state = State::Completed,
            Ended::Failed => {
                let code = pod.exit_code.map(|code| format!("exit code {code}"));
                let said = [code, pod.message.clone()].into_iter().flatten().collect::<Vec<_>>().join(": ");
                (now.state, now.message) = (State::Failed, Some(said).filter(|said| !said.is_empty()));
            }
            Ended::Again => {
                if now.given_up.as_ref() != Some(&pod.uid) {
                    give_up(now, "its pod did not last");
                }
                if !now.state.is_final() {
                    now.state = State::Rescheduled;
                    self.plan.delete.push((osmo::task(name(&self.seen.workflow), &task.name), pod.uid.clone()));
                }
            }
        }
    }

    /// What the tasks come to, and whether it took too long.
    fn outcome(&mut self, mut status: GroupStatus, pool: Option<&Pool>) -> GroupStatus {
        let (state, message) = status::of_group(self.group, &status.tasks);
        if state.is_final() {
            return self.end(status, state, message);
        }
        status.state = state;
        status.message = message;
        if state == State::Running && status.started_at.is_none() {
            status.started_at = Some(Time(self.now));
        }
        if state == State::Scheduling {
            let gang = osmo::group(name(&self.seen.workflow), &self.group.name);
            status.message = self.seen.explanations.get(&gang).cloned();
        }
        let timeout = self.seen.workflow.spec.timeout.clone().unwrap_or_default();
        let without = PoolSpec::default();
        let spec = pool.map_or(&without, |pool| &pool.spec);
        let (since, limit, late) = match &status.started_at {
            Some(started) => {
                let limit = limit(
                    timeout.exec_timeout.as_ref(),
                    spec.default_exec_timeout.as_ref(),
                    spec.max_exec_timeout.as_ref(),
                );
                (started.0, limit, State::FailedExecTimeout)
            }
            None => {
                let limit = limit(
                    timeout.queue_timeout.as_ref(),
                    spec.default_queue_timeout.as_ref(),
                    spec.max_queue_timeout.as_ref(),
                );
                (status.queued_at.as_ref().map_or(self.now, |time| time.0), limit, State::FailedQueueTimeout)
            }
        };
        let deadline = SignedDuration::try_from(limit).ok().and_then(|limit| since.checked_add(limit).ok());
        let Some(deadline) = deadline else { return status };
        if self.now >= deadline {
            let what = if late == State::FailedExecTimeout { "ran" } else { "waited for its place" };
            let message = format!("{what} for {} s, which is the most", limit.as_secs());
            return self.end(status, late, Some(message));
        }
        let earliest = self.plan.look_again.map_or(deadline, |other| other.min(deadline));
        self.plan.look_again = Some(earliest);
        status
    }

    /// Ends the group. Tasks that have not ended end with it.
    fn end(&mut self, mut status: GroupStatus, state: State, message: Option<String>) -> GroupStatus {
        for task in status.tasks.iter_mut().filter(|task| !task.state.is_final()) {
            task.state = state;
        }
        self.clear();
        GroupStatus { state, message, ended_at: Some(Time(self.now)), ..status }
    }

    /// Pods of a group that has ended do not go on. When all are on their way, its place is free; not before, so that no scheduler
    /// takes one of them for a pod on its own.
    fn clear(&mut self) {
        let workflow = name(&self.seen.workflow);
        let mut are_going = true;
        for task in &self.group.tasks {
            let name = osmo::task(workflow, &task.name);
            if let Some(pod) = self.seen.pods.get(&name).filter(|pod| !pod.is_finished() && !pod.is_terminating) {
                self.plan.delete.push((name, pod.uid.clone()));
                are_going = false;
            }
        }
        let gang = osmo::group(workflow, &self.group.name);
        let is_there = self.seen.pod_groups.contains(&gang);
        self.plan.release.extend(Some(gang).filter(|_| are_going && is_there));
    }
}

/// Counts a pod that is lost, once.
fn give_up(task: &mut TaskStatus, why: &str) {
    task.given_up.clone_from(&task.pod);
    if task.retries >= RETRIES_MAX {
        task.state = State::FailedPreempted;
        task.message = Some(format!("{why}, and it was begun anew {RETRIES_MAX} times already"));
    } else {
        task.retries += 1;
    }
}

fn task_before(status: &GroupStatus, task: &Task) -> TaskStatus {
    let before = status.tasks.iter().find(|before| before.name == task.name);
    before.cloned().unwrap_or_else(|| TaskStatus { name: task.name.clone(), ..TaskStatus::default() })
}

/// How long is too long: what the workflow says, else the pool; never more than the pool's most.
fn limit(own: Option<&Value>, default: Option<&Value>, most: Option<&Value>) -> Duration {
    let read = |value: Option<&Value>| value.and_then(units::time).filter(|time| !time.is_zero());
    let most = read(most).unwrap_or(Duration::MAX);
    read(own).or_else(|| read(default)).unwrap_or(LONGEST).min(most)
}
