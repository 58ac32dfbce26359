//! What is due for a workflow: objects to be made, pods to be given up, its status, and when to look again.
//!
//! A pure function of what was seen and the time. Nothing is remembered but what stands in the status, which is to be
//! written before anything else of the plan is done: a pod that is begun anew is counted once, whoever goes on.

use super::group::{self, GroupObjects, Hosts, objects_with};
use super::seen::{Seen, SeenPod};
use super::status::{self, Ended};
use super::{name, pool_name, read_levels, written_levels};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use trellis_api::admission::missing_rights;
use trellis_api::field::Path;
use trellis_api::kinds::osmo::{GroupStatus, Pool, PoolSpec, State, Task, TaskGroup, TaskStatus, WorkflowStatus};
use trellis_api::names::osmo;
use trellis_api::osmo::units;

/// How often a task is begun anew.
pub const RETRIES_MAX: i32 = 10;
/// How long groups may wait or run where nobody says otherwise.
const LONGEST: Duration = Duration::from_hours(60 * 24);
/// How long tasks may take to start where nobody says otherwise: large images take their time.
const START: Duration = Duration::from_mins(30);

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
    let groups = group::groups(workflow);
    let hosts = Hosts::of(workflow);
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (i, group) in groups.iter().enumerate() {
        for task in &group.tasks {
            places.entry(&task.name).or_insert(i);
        }
    }
    for group in &groups {
        let was = status::before(before, &group.name).cloned();
        let gang = osmo::group(name(workflow), &group.name);
        let deciding = Deciding { seen, hosts: &hosts, places: &places, group, gang, now, plan: &mut plan };
        let decided = deciding.group(was.unwrap_or_default());
        plan.status.groups.push(decided);
    }
    (plan.status.state, plan.status.message) = status::of_workflow(&plan.status.groups);
    plan
}

/// One group, while it is decided.
struct Deciding<'a> {
    seen: &'a Seen,
    hosts: &'a Hosts<'a>,
    /// For each task the position of its group.
    places: &'a BTreeMap<&'a str, usize>,
    group: &'a TaskGroup,
    /// Name of its PodGroup.
    gang: String,
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
            return self.end(status, State::FailedCanceled, Some("the workflow was cancelled".to_owned()));
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
        let pool = self.pool(&status);
        // The pool may have changed since the workflow was admitted, or since the group was queued; what is required is not passed over.
        if let Some(why) = pool.as_ref().filter(|_| !self.is_made()).and_then(|pool| self.refused(pool)) {
            return self.end(status, State::FailedSubmission, Some(why));
        }
        let hindrance = self.hindrance(pool.as_ref(), status.queued_at.is_some());
        if status.queued_at.is_none() {
            if hindrance.is_some() {
                return GroupStatus { state: State::Processing, message: hindrance, ..status };
            }
            status.queued_at = Some(Time(self.now));
            let levels = pool.iter().map(|pool| written_levels(&pool.spec.topology_keys));
            status.levels = levels.into_iter().find(|levels| !levels.is_empty());
        }
        let create = self.tasks(&mut status, pool.as_ref().filter(|_| hindrance.is_none()));
        let mut status = self.outcome(status, pool.as_ref());
        if status.state.is_final() {
            return status;
        }
        // A task that has ended holds its place no longer, though its group goes on.
        for task in status.tasks.iter().filter(|task| task.state.is_final()) {
            self.take_away(&task.name);
        }
        if matches!(status.state, State::Processing | State::Rescheduled) {
            status.message = hindrance.or_else(|| self.seen.trouble.clone());
        }
        if create != GroupObjects::default() {
            self.plan.create.push(create);
        }
        status
    }

    /// Whether the gang is there, or was and is on its way out.
    fn is_made(&self) -> bool {
        self.seen.pod_groups.contains(&self.gang) || self.seen.levels.contains_key(&self.gang)
    }

    /// The pool, with the levels that the group was made for: those of its gang, else those that it was queued with.
    fn pool(&self, status: &GroupStatus) -> Option<Pool> {
        let mut pool = self.seen.pool.clone()?;
        if let Some(levels) = self.seen.levels.get(&self.gang) {
            pool.spec.topology_keys.clone_from(levels);
        } else if let Some(levels) = &status.levels {
            pool.spec.topology_keys = read_levels(levels);
        }
        Some(pool)
    }

    /// Levels that tasks of the group speak of.
    fn keys(&self) -> impl Iterator<Item = &str> {
        let spec = &self.seen.workflow.spec;
        let asked = self.group.tasks.iter().filter_map(|task| spec.resource_of(task));
        asked.flat_map(|resource| &resource.topology).map(|requirement| requirement.key.as_str())
    }

    /// Why the pool cannot take the group at all: nobody would keep to what its tasks ask for, or they may not have it any more.
    fn refused(&self, pool: &Pool) -> Option<String> {
        let spec = &self.seen.workflow.spec;
        let rights = |task: &Task| {
            let path = Path::new("tasks").key(&task.name);
            missing_rights(&path, task, spec.resource_of(task), pool).into_iter().next()
        };
        if let Some(error) = self.group.tasks.iter().find_map(rights) {
            return Some(error.to_string());
        }
        if let Some(key) = self.keys().next().filter(|_| !pool.spec.knows_topology()) {
            return Some(format!("the scheduler of its pool knows no topology, and it asks for {key:?}"));
        }
        let unknown = self.keys().find(|key| pool.spec.level(key).is_none())?;
        Some(format!("its pool has no topology key {unknown:?} any more"))
    }

    /// Why nothing can be made for the group now.
    fn hindrance(&self, pool: Option<&Pool>, has_begun: bool) -> Option<String> {
        let (Some(pool), Some(now)) = (pool, &self.seen.pool) else {
            return Some("its pool is not there".to_owned());
        };
        if !has_begun && now.is_refused() {
            return Some("its pool was refused; its status says why".to_owned());
        }
        if !has_begun && now.metadata.deletion_timestamp.is_some() {
            return Some("its pool is being deleted".to_owned());
        }
        if self.is_made() && !pool.spec.knows_topology() {
            return Some("the scheduler of its pool knows no gangs any more".to_owned());
        }
        // A gang is made when the Topology that it names has the levels that it speaks of, so that it is never placed by others.
        let is_current = pool.spec.topology_keys == now.spec.topology_keys;
        let waits = !self.is_made() && is_current && self.keys().next().is_some() && !now.has_topology();
        waits.then(|| "waits for its pool's Topology".to_owned())
    }

    /// The first group that this one needs and that has not completed.
    fn upstream(&self) -> Option<(State, String)> {
        let needed: BTreeSet<usize> = self.group.needs().filter_map(|task| self.places.get(task)).copied().collect();
        let decided = needed.into_iter().filter_map(|place| self.plan.status.groups.get(place));
        let open: Vec<&GroupStatus> = decided.filter(|group| group.state != State::Completed).collect();
        let failed = open.iter().find(|group| group.state.is_failure());
        let failed = failed.map(|group| (State::FailedUpstream, group.name.clone()));
        failed.or_else(|| open.first().map(|group| (State::Waiting, group.name.clone())))
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
                    now.placed_at = None;
                    if now.pod.is_some() && now.given_up != now.pod {
                        give_up(now, "its pod is gone", State::FailedPreempted);
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
        let objects = objects_with(workflow, self.group, pool, self.hosts, &missing);
        let is_missing =
            |name: &Option<String>, there: &BTreeSet<String>| name.as_ref().is_some_and(|name| !there.contains(name));
        let files = objects.files.into_iter().filter(|object| is_missing(&object.metadata.name, &self.seen.files));
        let mut create = GroupObjects {
            pod_group: objects.pod_group.filter(|object| is_missing(&object.metadata.name, &self.seen.pod_groups)),
            service: objects.service.filter(|object| is_missing(&object.metadata.name, &self.seen.services)),
            files: files.collect(),
            pods: objects.pods,
        };
        let now = self.seen.pool.as_ref().map(|pool| &pool.spec.topology_keys);
        if let Some(gang) = create.pod_group.as_mut().filter(|_| now != Some(&pool.spec.topology_keys)) {
            // The pool's own Topology has other levels by now; theirs are kept in one that the pool makes for the gang.
            let topology = osmo::topology(pool.spec.namespace(), pool_name(pool));
            let levels = written_levels(&pool.spec.topology_keys);
            group::speak_of(&mut gang.spec, &osmo::kept_topology(&topology, &levels));
        }
        create
    }

    /// Whether what stands around the pods is there.
    fn is_furnished(&self, pool: &Pool) -> bool {
        let workflow = name(&self.seen.workflow);
        let with_files = self.group.tasks.iter().filter(|task| !task.files.is_empty());
        (!pool.spec.knows_topology() || self.seen.pod_groups.contains(&self.gang))
            && (!self.hosts.are_found(&self.group.name) || self.seen.services.contains(&self.gang))
            && with_files.into_iter().all(|task| self.seen.files.contains(&osmo::task(workflow, &task.name)))
    }

    /// What a pod says of its task.
    fn pod(&mut self, task: &Task, pod: &SeenPod, now: &mut TaskStatus) {
        let placed_at = now.placed_at.take().filter(|_| now.pod.as_ref() == Some(&pod.uid));
        now.pod = Some(pod.uid.clone());
        now.node.clone_from(&pod.node);
        now.exit_code = pod.exit_code;
        now.message = None;
        // How a pod ends that was told to go says nothing of its task.
        if pod.is_terminating {
            if now.given_up.as_ref() != Some(&pod.uid) {
                give_up(now, "its pod was deleted", State::FailedPreempted);
            }
            if !now.state.is_final() {
                now.state = State::Rescheduled;
            }
            return;
        }
        if !pod.is_finished() {
            now.state = status::of_pod(pod);
            if now.state == State::Initializing {
                self.starting(pod, placed_at, now);
            }
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
                    // One that had to leave is not to blame; one that ended by itself is.
                    let last = if pod.is_disrupted { State::FailedPreempted } else { State::Failed };
                    give_up(now, "its pod did not last", last);
                }
                if !now.state.is_final() {
                    now.state = State::Rescheduled;
                    self.plan.delete.push((osmo::task(name(&self.seen.workflow), &task.name), pod.uid.clone()));
                }
            }
        }
    }

    /// A pod that has its place and does not run yet: what keeps it is told, and it does not hold its place for ever.
    fn starting(&mut self, pod: &SeenPod, placed_at: Option<Time>, now: &mut TaskStatus) {
        let placed_at = placed_at.unwrap_or(Time(self.now));
        let limit = self.seen.pool.as_ref().and_then(|pool| units::time(pool.spec.start_timeout.as_ref()?));
        let limit = limit.filter(|limit| !limit.is_zero()).unwrap_or(START);
        let waiting = pod.waiting.as_ref().map(ToString::to_string);
        if self.is_over(placed_at.0, limit) {
            let why = waiting.map(|waiting| format!(": {waiting}")).unwrap_or_default();
            now.state = status::of_false_start(pod);
            now.message = Some(format!("did not start for {} s, which is the most{why}", limit.as_secs()));
            return;
        }
        (now.placed_at, now.message) = (Some(placed_at), waiting);
    }

    /// Whether the time is over; if it is not, it is looked at again when it is.
    fn is_over(&mut self, since: Timestamp, limit: Duration) -> bool {
        let deadline = SignedDuration::try_from(limit).ok().and_then(|limit| since.checked_add(limit).ok());
        let Some(deadline) = deadline else { return false };
        if self.now < deadline {
            let earliest = self.plan.look_again.map_or(deadline, |other| other.min(deadline));
            self.plan.look_again = Some(earliest);
        }
        self.now >= deadline
    }

    /// What the tasks come to, and whether it took too long.
    fn outcome(&mut self, mut status: GroupStatus, pool: Option<&Pool>) -> GroupStatus {
        let (state, message) = status::of_group(self.group, &status.tasks);
        if state.is_final() {
            return self.end(status, state, message);
        }
        // One that had its place and never ran waits for another from now on.
        let is_back = status.started_at.is_none() && status.state >= State::Initializing && state < State::Initializing;
        if is_back {
            status.queued_at = Some(Time(self.now));
        }
        status.state = state;
        status.message = message;
        if state == State::Running && status.started_at.is_none() {
            status.started_at = Some(Time(self.now));
        }
        if state == State::Scheduling {
            status.message = self.seen.explanations.get(&self.gang).cloned();
        }
        status.message = status.message.or_else(|| status::of_starting(&status.tasks));
        let timeout = self.seen.workflow.spec.timeout.clone().unwrap_or_default();
        let without = PoolSpec::default();
        let spec = pool.map_or(&without, |pool| &pool.spec);
        let (since, limit, late) = match (&status.started_at, &status.queued_at) {
            (Some(started), _) => {
                let limit = limit(
                    timeout.exec_timeout.as_ref(),
                    spec.default_exec_timeout.as_ref(),
                    spec.max_exec_timeout.as_ref(),
                );
                (started.0, limit, State::FailedExecTimeout)
            }
            (None, Some(queued)) if state < State::Initializing => {
                let limit = limit(
                    timeout.queue_timeout.as_ref(),
                    spec.default_queue_timeout.as_ref(),
                    spec.max_queue_timeout.as_ref(),
                );
                (queued.0, limit, State::FailedQueueTimeout)
            }
            // It has its place, and is starting; tasks are looked at one by one.
            (None, _) => return status,
        };
        if self.is_over(since, limit) {
            let what = if late == State::FailedExecTimeout { "ran" } else { "waited for its place" };
            let message = format!("{what} for {} s, which is the most", limit.as_secs());
            return self.end(status, late, Some(message));
        }
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
        let mut are_going = true;
        for task in &self.group.tasks {
            are_going &= !self.take_away(&task.name);
        }
        let is_there = self.seen.pod_groups.contains(&self.gang);
        self.plan.release.extend(Some(self.gang.clone()).filter(|_| are_going && is_there));
    }

    /// Takes away the pod of a task, unless it has ended or is on its way; whether there was one.
    fn take_away(&mut self, task: &str) -> bool {
        let name = osmo::task(name(&self.seen.workflow), task);
        let pod = self.seen.pods.get(&name).filter(|pod| !pod.is_finished() && !pod.is_terminating);
        self.plan.delete.extend(pod.map(|pod| (name, pod.uid.clone())));
        pod.is_some()
    }
}

/// Counts a pod that is lost, once; after too many the task ends so.
fn give_up(task: &mut TaskStatus, why: &str, last: State) {
    task.given_up.clone_from(&task.pod);
    if task.retries >= RETRIES_MAX {
        task.state = last;
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
