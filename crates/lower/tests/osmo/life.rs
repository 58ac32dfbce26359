//! The life of a workflow, decision by decision: sections 1.3 and 5 of the reference.

use crate::support::{object, pool};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use trellis_api::admission::object::Kind;
use trellis_api::kinds::osmo::{State, Workflow};
use trellis_api::names::osmo;
use trellis_lower::osmo::{Plan, RETRIES_MAX, Seen, SeenPod, Waiting, decide};

/// A workflow in a cluster that does as it is told.
struct World {
    seen: Seen,
    now: Timestamp,
    pods_made: usize,
}

/// `train` (lead and helper), then `judge`.
fn spec() -> Value {
    let task = |name: &str| json!({"name": name, "image": "i", "command": ["c"], "resource": "r"});
    let mut judge = task("judge");
    judge["inputs"] = json!([{"task": "lead"}]);
    json!({
        "groups": [
            {"name": "train", "tasks": [task("lead"), task("helper")]},
            {"name": "verdict", "tasks": [judge]},
        ],
        "resources": {"r": {"topology": [{"key": "rack"}]}},
        "timeout": {"queue_timeout": 60, "exec_timeout": 600},
    })
}

impl World {
    fn new(edit: impl FnOnce(&mut Value)) -> Self {
        let mut spec = spec();
        edit(&mut spec);
        let workflow: Workflow =
            object(Kind::Workflow, json!({"metadata": {"name": "w", "namespace": "ns"}, "spec": spec}));
        let seen = Seen { workflow, pool: Some(pool()), ..Seen::default() };
        Self { seen, now: Timestamp::UNIX_EPOCH, pods_made: 0 }
    }

    /// Decides and does it, until nothing is left to do; returns the last plan.
    fn settle(&mut self) -> Plan {
        for _ in 0..10 {
            let plan = decide(&self.seen, self.now);
            self.seen.workflow.status = Some(plan.status.clone());
            if plan.create.is_empty() && plan.delete.is_empty() {
                return plan;
            }
            for (name, uid) in &plan.delete {
                let pod = self.seen.pods.remove(name).expect("a pod that is there");
                assert_eq!(pod.uid, *uid);
            }
            for objects in plan.create {
                self.seen.pod_groups.extend(objects.pod_group.and_then(|object| object.metadata.name));
                self.seen.services.extend(objects.service.and_then(|object| object.metadata.name));
                self.seen.files.extend(objects.files.into_iter().filter_map(|object| object.metadata.name));
                for mut pod in objects.pods {
                    self.pods_made += 1;
                    pod.metadata.uid = Some(format!("u{}", self.pods_made));
                    let name = pod.metadata.name.clone().expect("a name");
                    let there = self.seen.pods.insert(name, SeenPod::of(&pod));
                    assert_eq!(there, None, "a name is free before it is used again");
                }
            }
        }
        panic!("does not settle");
    }

    fn pod(&mut self, task: &str, edit: impl FnOnce(&mut SeenPod)) -> &mut Self {
        edit(self.seen.pods.get_mut(&format!("w-{task}")).unwrap_or_else(|| panic!("no pod of {task}")));
        self
    }

    fn runs(&mut self, task: &str) -> &mut Self {
        self.pod(task, |pod| (pod.node, pod.phase) = (Some("n".to_owned()), "Running".to_owned()))
    }

    fn ends(&mut self, task: &str, code: i32) -> &mut Self {
        self.pod(task, |pod| {
            if code == 0 { "Succeeded" } else { "Failed" }.clone_into(&mut pod.phase);
            pod.exit_code = Some(code);
        })
    }

    fn after(&mut self, seconds: i64) -> &mut Self {
        self.now += SignedDuration::from_secs(seconds);
        self
    }

    /// `WORKFLOW train=… verdict=…`, and the tasks.
    #[track_caller]
    fn is(&mut self, expected: &str) -> Plan {
        let plan = self.settle();
        let word = |state: State| serde_json::to_value(state).expect("JSON").as_str().unwrap_or_default().to_owned();
        let mut words = vec![word(plan.status.state)];
        for group in &plan.status.groups {
            let tasks: Vec<String> =
                group.tasks.iter().map(|task| format!("{}={}", task.name, word(task.state))).collect();
            words.push(format!("{}={}({})", group.name, word(group.state), tasks.join(" ")));
        }
        assert_eq!(words.join(" "), expected, "{:#?}", plan.status);
        plan
    }
}

#[test]
fn osmo1_3_groups_start_in_the_order_of_their_inputs_and_statuses_go_up() {
    let mut world = World::new(|_| {});
    world.is("PENDING train=SCHEDULING(lead=SCHEDULING helper=SCHEDULING) verdict=WAITING(judge=WAITING)");
    world.pod("lead", |pod| pod.node = Some("n".to_owned()));
    world.is("PENDING train=SCHEDULING(lead=INITIALIZING helper=SCHEDULING) verdict=WAITING(judge=WAITING)");
    world.runs("lead").runs("helper");
    world.is("RUNNING train=RUNNING(lead=RUNNING helper=RUNNING) verdict=WAITING(judge=WAITING)");
    // The lead decides; the helper does not go on without it.
    world.ends("lead", 0);
    world.is("WAITING train=COMPLETED(lead=COMPLETED helper=COMPLETED) verdict=SCHEDULING(judge=SCHEDULING)");
    assert!(!world.seen.pods.contains_key("w-helper"));
    world.runs("judge");
    world.is("RUNNING train=COMPLETED(lead=COMPLETED helper=COMPLETED) verdict=RUNNING(judge=RUNNING)");
    world.ends("judge", 0);
    world.is("COMPLETED train=COMPLETED(lead=COMPLETED helper=COMPLETED) verdict=COMPLETED(judge=COMPLETED)");
}

#[test]
fn osmo1_3_a_failure_goes_down() {
    let mut world = World::new(|_| {});
    world.settle();
    world.runs("lead").runs("helper").ends("lead", 3);
    let plan =
        world.is("FAILED train=FAILED(lead=FAILED helper=FAILED) verdict=FAILED_UPSTREAM(judge=FAILED_UPSTREAM)");
    assert_eq!(plan.status.message.as_deref(), Some("group \"train\": exit code 3"));
    assert!(!world.seen.pods.contains_key("w-helper"));
}

#[test]
fn osmo1_3_whether_others_than_the_lead_count() {
    let mut world = World::new(|_| {});
    world.settle();
    world.runs("lead").runs("helper").ends("helper", 1);
    world.is("RUNNING train=RUNNING(lead=RUNNING helper=FAILED) verdict=WAITING(judge=WAITING)");
    let mut world = World::new(|spec| spec["groups"][0]["ignoreNonleadStatus"] = json!(false));
    world.settle();
    world.runs("lead").runs("helper").ends("lead", 0);
    world.is("RUNNING train=RUNNING(lead=COMPLETED helper=RUNNING) verdict=WAITING(judge=WAITING)");
    world.ends("helper", 1);
    world.is("FAILED train=FAILED(lead=COMPLETED helper=FAILED) verdict=FAILED_UPSTREAM(judge=FAILED_UPSTREAM)");
}

#[test]
fn osmo1_2_who_waits_too_long_and_who_runs_too_long() {
    let mut world = World::new(|_| {});
    let plan = world.settle();
    assert_eq!(plan.look_again, Some(Timestamp::from_second(60).expect("a time")));
    world.after(59).is("PENDING train=SCHEDULING(lead=SCHEDULING helper=SCHEDULING) verdict=WAITING(judge=WAITING)");
    let plan = world
        .after(1)
        .is("FAILED_QUEUE_TIMEOUT train=FAILED_QUEUE_TIMEOUT(lead=FAILED_QUEUE_TIMEOUT helper=FAILED_QUEUE_TIMEOUT) \
         verdict=FAILED_UPSTREAM(judge=FAILED_UPSTREAM)");
    assert!(world.seen.pods.is_empty() && plan.look_again.is_none());

    let mut world = World::new(|_| {});
    world.settle();
    world.runs("lead").runs("helper").after(59);
    let plan = world.settle();
    assert_eq!(plan.look_again, Some(Timestamp::from_second(659).expect("a time")));
    // Time in the queue no longer counts.
    world.after(599).is("RUNNING train=RUNNING(lead=RUNNING helper=RUNNING) verdict=WAITING(judge=WAITING)");
    world
        .after(1)
        .is("FAILED_EXEC_TIMEOUT train=FAILED_EXEC_TIMEOUT(lead=FAILED_EXEC_TIMEOUT helper=FAILED_EXEC_TIMEOUT) \
         verdict=FAILED_UPSTREAM(judge=FAILED_UPSTREAM)");
}

/// The queue is for a place: who has one and is starting does not wait for it, and who loses it waits anew.
#[test]
fn osmo1_2_the_time_in_the_queue_ends_with_a_place() {
    let mut world = World::new(|_| {});
    world.settle();
    let placed = |pod: &mut SeenPod| pod.node = Some("n".to_owned());
    world.after(55).pod("lead", placed).pod("helper", placed);
    let starts = "PENDING train=INITIALIZING(lead=INITIALIZING helper=INITIALIZING) verdict=WAITING(judge=WAITING)";
    // Half an hour to start.
    assert_eq!(world.is(starts).look_again, Some(Timestamp::from_second(55 + 1800).expect("a time")));
    world.after(10).is(starts);
    // One that runs is not ended because another is slow to start.
    world.runs("lead").after(600);
    world.is("PENDING train=INITIALIZING(lead=RUNNING helper=INITIALIZING) verdict=WAITING(judge=WAITING)");
    world.seen.pods.remove("w-helper");
    let plan = world.is("PENDING train=SCHEDULING(lead=RUNNING helper=SCHEDULING) verdict=WAITING(judge=WAITING)");
    assert_eq!(plan.look_again, Some(Timestamp::from_second(665 + 60).expect("a time")));
}

/// GPUs are not held for an image that does not come.
#[test]
fn osmo5_who_does_not_start_says_why_and_gives_its_place_back() {
    let placed = |pod: &mut SeenPod| pod.node = Some("n".to_owned());
    let world = |reason: Option<&str>| {
        let mut world = World::new(|_| {});
        world.settle();
        let waiting = Waiting::of(reason, Some("no such image"));
        world.pod("lead", placed).pod("helper", placed).pod("lead", |pod| pod.waiting = waiting);
        world
    };
    let starts = "PENDING train=INITIALIZING(lead=INITIALIZING helper=INITIALIZING) verdict=WAITING(judge=WAITING)";
    let mut slow = world(Some("ErrImagePull"));
    let said = Some("group \"train\": task \"lead\": ErrImagePull: no such image");
    assert_eq!(slow.is(starts).status.message.as_deref(), said);
    // It is looked at again in time, and one that comes to run has nothing to answer for.
    assert_eq!(slow.after(1799).is(starts).look_again, Some(Timestamp::from_second(1800).expect("a time")));
    slow.runs("lead").runs("helper").pod("lead", |pod| pod.waiting = None);
    let plan = slow.after(60).is("RUNNING train=RUNNING(lead=RUNNING helper=RUNNING) verdict=WAITING(judge=WAITING)");
    let group = &plan.status.groups[0];
    assert_eq!((group.message.as_ref(), group.tasks[0].placed_at.as_ref()), (None, None));

    let check = |reason: Option<&str>, state: &str, said: &str| {
        let mut world = world(reason);
        world.settle();
        world.runs("helper");
        world.after(1800).is(&format!(
            "{state} train={state}(lead={state} helper={state}) verdict=FAILED_UPSTREAM(judge=FAILED_UPSTREAM)"
        ));
        assert!(world.seen.pods.is_empty(), "{state}: a place is held");
        let message = world.seen.workflow.status.and_then(|status| status.message);
        assert_eq!(message, Some(format!("group \"train\": did not start for 1800 s, which is the most{said}")));
    };
    check(Some("ImagePullBackOff"), "FAILED_IMAGE_PULL", ": ImagePullBackOff: no such image");
    check(Some("InvalidImageName"), "FAILED_IMAGE_PULL", ": InvalidImageName: no such image");
    check(Some("CreateContainerConfigError"), "FAILED_START_ERROR", ": CreateContainerConfigError: no such image");
    check(Some("ContainerCreating"), "FAILED_START_TIMEOUT", "");
    check(None, "FAILED_START_TIMEOUT", "");
}

#[test]
fn osmo5_the_pool_says_how_long_a_task_may_start_and_a_helper_that_does_not_gives_its_place_back() {
    let mut world = World::new(|_| {});
    world.seen.pool.as_mut().expect("a pool").spec.start_timeout = Some(json!("2m"));
    world.settle();
    world.runs("lead").pod("helper", |pod| pod.node = Some("n".to_owned()));
    world.settle();
    // A pod that comes anew has its own time.
    world.after(100).seen.pods.remove("w-helper");
    world.settle();
    world.pod("helper", |pod| pod.node = Some("n".to_owned()));
    world.settle();
    world.after(119).is("PENDING train=INITIALIZING(lead=RUNNING helper=INITIALIZING) verdict=WAITING(judge=WAITING)");
    world.after(1).is("RUNNING train=RUNNING(lead=RUNNING helper=FAILED_START_TIMEOUT) verdict=WAITING(judge=WAITING)");
    assert!(!world.seen.pods.contains_key("w-helper"));
}

#[test]
fn osmo1_2_the_pools_most_goes_before_what_a_workflow_says() {
    let mut world = World::new(|_| {});
    let spec = &mut world.seen.pool.as_mut().expect("a pool").spec;
    spec.max_queue_timeout = Some(json!("10s"));
    assert_eq!(world.settle().look_again, Some(Timestamp::from_second(10).expect("a time")));
}

#[test]
fn issue8_6_a_task_that_is_lost_begins_anew_with_its_leaf() {
    let mut world = World::new(|_| {});
    world.settle();
    world.runs("lead").runs("helper");
    world.settle();
    world.pod("helper", |pod| (pod.phase, pod.is_disrupted) = ("Failed".to_owned(), true));
    world.is("RUNNING train=SCHEDULING(lead=RUNNING helper=SCHEDULING) verdict=WAITING(judge=WAITING)");
    let retries = |world: &World| world.seen.workflow.status.as_ref().expect("a status").groups[0].tasks[1].retries;
    assert_eq!(retries(&world), 1);
    // One that vanished, and one that somebody deletes.
    world.runs("helper");
    world.settle();
    world.seen.pods.remove("w-helper");
    world.settle();
    assert_eq!(retries(&world), 2);
    world.runs("helper").pod("helper", |pod| pod.is_terminating = true);
    world.is("RUNNING train=RESCHEDULED(lead=RUNNING helper=RESCHEDULED) verdict=WAITING(judge=WAITING)");
    world.settle();
    world.seen.pods.remove("w-helper");
    world.settle();
    assert_eq!(retries(&world), 3);
    // How one ends that was told to go says nothing, though it leads and its code is 0.
    world.runs("lead").pod("lead", |pod| pod.is_terminating = true);
    world.settle();
    world.ends("lead", 0);
    world.is("RUNNING train=SCHEDULING(lead=RESCHEDULED helper=SCHEDULING) verdict=WAITING(judge=WAITING)");
}

/// A gang's place is given up when its pods are on their way, and not before.
#[test]
fn issue8_6_a_group_that_has_ended_frees_its_place() {
    let mut world = World::new(|_| {});
    world.settle();
    world.runs("lead").runs("helper");
    world.settle();
    world.seen.pod_groups.insert("w-train".to_owned());
    world.ends("lead", 0);
    let plan = decide(&world.seen, world.now);
    assert_eq!((plan.delete.len(), plan.release.len()), (1, 0));
    world.seen.workflow.status = Some(plan.status);
    world.pod("helper", |pod| pod.is_terminating = true);
    let plan = decide(&world.seen, world.now);
    assert_eq!((plan.delete.len(), plan.release.as_slice()), (0, ["w-train".to_owned()].as_slice()));
}

#[test]
fn osmo3_2_a_pool_that_has_lost_a_key_fails_a_group_that_has_not_begun() {
    let mut world = World::new(|_| {});
    world.seen.pool.as_mut().expect("a pool").spec.topology_keys.clear();
    let plan = world.settle();
    assert_eq!(plan.status.groups[0].state, State::FailedSubmission, "{:?}", plan.status);
    assert_eq!(world.pods_made, 0);
}

/// The pool may have changed since the workflow was admitted: nothing is made that it does not allow.
#[test]
fn osmo2_3_a_right_that_was_taken_away_fails_a_group_that_has_not_begun() {
    let mut world = World::new(|spec| spec["groups"][0]["tasks"][1]["privileged"] = json!(true));
    let plan = world.settle();
    assert_eq!((plan.status.groups[0].state, world.pods_made), (State::FailedSubmission, 0));
    let expected = "group \"train\": tasks[helper].privileged: Forbidden: pool \"p\" has no platforms, and only a platform \
                    can allow it (`privileged_allowed: true`)";
    assert_eq!(plan.status.message.as_deref(), Some(expected));
}

/// The levels go with the status that says that a group is queued: whatever becomes of the pool before its gang is there, or when its gang
/// is lost, what it requires stands in the gang.
#[test]
fn osmo3_9_a_required_level_outlives_a_change_of_the_pool() {
    let check = |world: &World, what: &str| {
        let plan = decide(&world.seen, world.now);
        let gang = plan.create[0].pod_group.as_ref().unwrap_or_else(|| panic!("{what}: no gang"));
        let constraint = gang.spec.topology_constraint.as_ref().unwrap_or_else(|| panic!("{what}: no constraint"));
        assert_eq!(constraint.required_topology_level.as_deref(), Some("l/rack"), "{what}");
        // The pool's own Topology has other levels by now.
        let topology =
            osmo::kept_topology("osmo-pool-default-p-topology", "zone=l/zone,spine=l/spine,rack=l/rack,host=l/host");
        assert_eq!(constraint.topology, Some(topology), "{what}");
    };
    let mut world = World::new(|_| {});
    world.seen.workflow.status = Some(decide(&world.seen, world.now).status);
    world.seen.pool.as_mut().expect("a pool").spec.topology_keys.clear();
    check(&world, "before the gang is made");
    let mut world = World::new(|_| {});
    world.settle();
    world.seen.pool.as_mut().expect("a pool").spec.topology_keys.remove(2);
    world.seen.pod_groups.remove("w-train");
    check(&world, "when the gang is lost");
    // Nothing is made where nobody would keep to it.
    let scheduler = json!({"scheduler_type": "default"});
    world.seen.pool.as_mut().expect("a pool").spec.scheduler_settings =
        serde_json::from_value(scheduler).expect("settings");
    let plan = decide(&world.seen, world.now);
    assert_eq!((plan.status.groups[0].state, plan.create.len()), (State::FailedSubmission, 0));
    // One that was queued before levels were kept with it.
    let mut world = World::new(|_| {});
    let mut status = decide(&world.seen, world.now).status;
    status.groups[0].levels = None;
    world.seen.workflow.status = Some(status);
    world.seen.pool.as_mut().expect("a pool").spec.topology_keys.clear();
    let plan = decide(&world.seen, world.now);
    assert_eq!((plan.status.groups[0].state, plan.create.len()), (State::FailedSubmission, 0));
}

/// A gang is not made while the Topology that it would name has other levels, or is not there.
#[test]
fn issue8_5_a_group_waits_for_its_pools_topology() {
    let mut world = World::new(|_| {});
    world.seen.pool.as_mut().expect("a pool").metadata.generation = Some(2);
    let plan = world.is("PENDING train=PROCESSING(lead=PENDING helper=PENDING) verdict=WAITING(judge=WAITING)");
    assert_eq!(plan.status.message.as_deref(), Some("group \"train\": waits for its pool's Topology"));
    world.seen.pool.as_mut().expect("a pool").metadata.generation = Some(1);
    world.is("PENDING train=SCHEDULING(lead=SCHEDULING helper=SCHEDULING) verdict=WAITING(judge=WAITING)");
    // One that asks for nothing does not.
    let mut world = World::new(|spec| spec["resources"]["r"] = json!({"cpu": 1}));
    world.seen.pool.as_mut().expect("a pool").status = None;
    world.is("PENDING train=SCHEDULING(lead=SCHEDULING helper=SCHEDULING) verdict=WAITING(judge=WAITING)");
}

#[test]
fn issue8_5_a_pool_that_goes_takes_no_new_groups() {
    let mut world = World::new(|_| {});
    world.settle();
    let gone = serde_json::from_value(json!("2026-01-01T00:00:00Z")).expect("a time");
    world.seen.pool.as_mut().expect("a pool").metadata.deletion_timestamp = Some(gone);
    // What has begun goes on, and begins anew.
    world.runs("lead").runs("helper");
    world.settle();
    world.seen.pods.remove("w-helper");
    world.is("RUNNING train=SCHEDULING(lead=RUNNING helper=SCHEDULING) verdict=WAITING(judge=WAITING)");
    world.runs("helper").ends("lead", 0);
    let plan = world.is("WAITING train=COMPLETED(lead=COMPLETED helper=COMPLETED) verdict=PROCESSING(judge=WAITING)");
    assert_eq!(plan.status.message.as_deref(), Some("group \"verdict\": its pool is being deleted"));
    // Without its pool nothing can be made for one that has begun, and that is said.
    let mut world = World::new(|_| {});
    world.settle();
    world.runs("lead").runs("helper");
    world.settle();
    world.seen.pool = None;
    world.seen.pods.remove("w-helper");
    let plan = decide(&world.seen, world.now);
    assert_eq!(plan.status.message.as_deref(), Some("group \"train\": its pool is not there"), "{:?}", plan.status);
}

#[test]
fn issue8_6_what_cannot_be_written_is_told() {
    let mut world = World::new(|_| {});
    world.seen.workflow.status = Some(decide(&world.seen, world.now).status);
    world.seen.trouble = Some("PodGroup ns/w-train: the name is taken".to_owned());
    let plan = decide(&world.seen, world.now);
    let expected = "group \"train\": PodGroup ns/w-train: the name is taken";
    assert_eq!(plan.status.message.as_deref(), Some(expected));
    // One that waits for its place has its objects.
    world.seen.trouble = None;
    world.settle();
    world.seen.trouble = Some("anything".to_owned());
    assert_eq!(world.settle().status.groups[0].message, None);
}

/// A decision that is made twice on the same view counts a loss once.
#[test]
fn issue8_6_a_loss_is_counted_once() {
    let mut world = World::new(|_| {});
    world.settle();
    world.runs("lead").runs("helper");
    world.settle();
    world.seen.pods.remove("w-helper");
    for _ in 0..5 {
        let plan = decide(&world.seen, world.now);
        assert_eq!(plan.status.groups[0].tasks[1].retries, 1);
        let pod = &plan.create[0].pods[0];
        assert_eq!(pod.metadata.labels.as_ref().map(|labels| labels["osmo.retry_id"].as_str()), Some("1"));
        world.seen.workflow.status = Some(plan.status);
    }
}

#[test]
fn issue8_6_nobody_begins_anew_for_ever() {
    let mut world = World::new(|_| {});
    for _ in 0..RETRIES_MAX {
        world.settle();
        world.seen.pods.remove("w-lead");
    }
    world.settle();
    world.seen.pods.remove("w-lead");
    world.is("FAILED_PREEMPTED train=FAILED_PREEMPTED(lead=FAILED_PREEMPTED helper=FAILED_PREEMPTED) \
         verdict=FAILED_UPSTREAM(judge=FAILED_UPSTREAM)");
}

/// Who ends by itself too often has failed; nobody made it leave.
#[test]
fn osmo1_4_an_exit_code_that_comes_too_often_is_a_failure() {
    let mut world = World::new(|spec| spec["groups"][0]["tasks"][0]["exitActions"] = json!({"RESTART": 75}));
    for _ in 0..RETRIES_MAX {
        world.settle();
        world.runs("lead").ends("lead", 75);
    }
    world.settle();
    world.runs("lead").ends("lead", 75);
    world.is("FAILED train=FAILED(lead=FAILED helper=FAILED) verdict=FAILED_UPSTREAM(judge=FAILED_UPSTREAM)");
}

#[test]
fn osmo1_4_exit_actions_decide_what_an_exit_code_means() {
    let with = |actions: Value| World::new(move |spec| spec["groups"][0]["tasks"][0]["exitActions"] = actions);
    let check = |actions: Value, code: i32, state: State| {
        let mut world = with(actions.clone());
        world.settle();
        world.runs("lead").runs("helper").ends("lead", code);
        let plan = decide(&world.seen, world.now);
        assert_eq!(plan.status.groups[0].tasks[0].state, state, "{actions} {code}");
    };
    check(json!({}), 0, State::Completed);
    check(json!({}), 1, State::Failed);
    check(json!({"COMPLETE": "1-3"}), 2, State::Completed);
    check(json!({"RESCHEDULE": "75,137"}), 137, State::Rescheduled);
    check(json!({"RESTART": 75}), 76, State::Failed);
    check(json!({"FAIL": 0}), 0, State::Failed);
}

#[test]
fn issue8_6_a_workflow_is_cancelled() {
    let mut world = World::new(|_| {});
    world.settle();
    world.runs("lead").runs("helper");
    world.settle();
    world.seen.workflow.spec.cancel = true;
    let plan = world.is("FAILED_CANCELED train=FAILED_CANCELED(lead=FAILED_CANCELED helper=FAILED_CANCELED) \
         verdict=FAILED_CANCELED(judge=FAILED_CANCELED)");
    assert_eq!(plan.status.message.as_deref(), Some("group \"train\": the workflow was cancelled"));
    assert!(world.seen.pods.is_empty());
}

#[test]
fn osmo5_why_it_waits_is_told() {
    let mut world = World::new(|_| {});
    world.settle();
    world.seen.explanations.insert("w-train".to_owned(), "no rack has room".to_owned());
    let plan = world.settle();
    assert_eq!(plan.status.message.as_deref(), Some("group \"train\": no rack has room"));
    // Without its pool it waits, and nothing is made.
    let mut world = World::new(|_| {});
    world.seen.pool = None;
    let plan = world.settle();
    assert_eq!((world.pods_made, plan.status.message.as_deref()), (0, Some("group \"train\": its pool is not there")));
}
