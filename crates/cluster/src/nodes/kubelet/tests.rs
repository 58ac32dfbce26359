//! Lives of pods, told by the statuses that their node writes.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use k8s_openapi::api::core::v1::{ContainerStatus, PodStatus};
use serde_json::{Value, json};

use super::*;
use crate::nodes::Options;
use crate::nodes::status::{self, Place};

/// What happens to a pod from outside.
enum Event {
    /// It is deleted with so many seconds of grace.
    Delete(i64),
    /// A container, by index, ends as a hook or a caller has it.
    End(usize, i32),
    Annotate(&'static str, &'static str),
    /// The simulator starts anew and knows no more than the API does.
    Restart,
    /// Somebody sets a condition.
    Condition(&'static str, &'static str),
}

use Event::{Annotate, Condition, Delete, End as Ends, Restart};

/// Lives a pod that its node takes at second 0, up to second `until`, and tells every write: the second, the phase, a `+` if it is ready,
/// and each container with its state, a `+` if it is ready, and its restarts.
fn check_with(options: &Options, change: &Value, events: &[(i64, Event)], until: i64, expected: &[&str]) {
    let mut object = json!({
        "metadata": { "name": "p", "namespace": "n", "uid": "u", "generation": 1, "annotations": {} },
        "spec": { "restartPolicy": "Always", "containers": [{ "name": "main", "image": "i" }] },
        "status": { "phase": "Pending" },
    });
    json_patch::merge(&mut object, change);
    let mut pod: Pod = serde_json::from_value(object).unwrap();
    let mut life = PodLife::of(&pod, moment(0));
    life.admit(moment(0));
    let mut told = Vec::new();
    let mut at = SignedDuration::ZERO;
    let mut events = events.iter().peekable();
    while at <= SignedDuration::from_secs(until) {
        let now = Moment { at, stamp: moment(0).stamp + at };
        while let Some((_, event)) = events.next_if(|(second, _)| SignedDuration::from_secs(*second) <= at) {
            happen(event, &mut pod, &mut life, options, now);
        }
        let mut next = Next::default();
        // Writes are answered at once.
        for _ in 0..10 {
            let behaviour = Behaviour::of(&pod, options);
            next = life.step(&pod, &behaviour, now);
            let place = Place { host: "h".to_owned(), pod: "a".to_owned() };
            if is_terminal(&pod) {
                break;
            }
            let Some(patch) = status::patch(&pod, &life, &behaviour, &place, now) else { break };
            assert_eq!(patch["metadata"]["uid"], "u");
            write(&mut pod, &patch["status"]);
            told.push(format!("{}: {}", at.as_secs_f64(), tell(&pod)));
        }
        let event = events.peek().map(|(second, _)| SignedDuration::from_secs(*second));
        let Some(soonest) = next.wake.into_iter().chain(event).min() else { break };
        assert!(soonest > at, "time stands still at {at}");
        at = soonest;
    }
    assert_eq!(told, expected, "{change}");
}

fn check(change: &Value, events: &[(i64, Event)], until: i64, expected: &[&str]) {
    let options = Options { ready_after: Duration::from_secs(2), ..Options::default() };
    check_with(&options, change, events, until, expected);
}

fn moment(second: i64) -> Moment {
    let stamp: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    Moment { at: SignedDuration::from_secs(second), stamp: stamp + SignedDuration::from_secs(second) }
}

fn happen(event: &Event, pod: &mut Pod, life: &mut PodLife, options: &Options, now: Moment) {
    match event {
        Delete(grace) => {
            pod.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(now.stamp));
            pod.metadata.deletion_grace_period_seconds = Some(*grace);
        }
        Ends(index, code) => {
            let restarts = life.containers[*index].restarts;
            life.ended(*index, restarts, &Outcome::of_code(*code), &Behaviour::of(pod, options), now);
        }
        Annotate(key, value) => {
            let key = format!("trellis.dev/simulate-{key}");
            pod.metadata.annotations.get_or_insert_default().insert(key, (*value).to_owned());
        }
        Restart => *life = PodLife::of(pod, now),
        Condition(type_, status) => {
            let conditions = json!([{ "type": type_, "status": status, "lastTransitionTime": now.stamp.to_string() }]);
            write(pod, &json!({ "conditions": conditions }));
        }
    }
}

/// What a strategic merge patch of a pod's status does, as far as it is made use of.
fn write(pod: &mut Pod, patch: &Value) {
    let mut status = serde_json::to_value(pod.status.as_ref().unwrap()).unwrap();
    for (key, value) in patch.as_object().unwrap() {
        let Some(conditions) = value.as_array().filter(|_| key == "conditions") else {
            status[key] = value.clone();
            continue;
        };
        let mut merged = status["conditions"].as_array().cloned().unwrap_or_default();
        for condition in conditions {
            match merged.iter_mut().find(|old| old["type"] == condition["type"]) {
                Some(old) => json_patch::merge(old, condition),
                None => merged.push(condition.clone()),
            }
        }
        status["conditions"] = Value::Array(merged);
    }
    pod.status = Some(serde_json::from_value(status).unwrap());
}

fn tell(pod: &Pod) -> String {
    let status = pod.status.as_ref().unwrap();
    let inits = status.init_container_statuses.iter().flatten();
    let containers: Vec<String> = inits.chain(status.container_statuses.iter().flatten()).map(tell_container).collect();
    let ready = if has(status, "Ready") { "+" } else { "" };
    let reason = status.reason.as_ref().map(|reason| format!("({reason})")).unwrap_or_default();
    format!("{}{ready}{reason} {}", status.phase.as_ref().unwrap(), containers.join(" "))
}

fn has(status: &PodStatus, type_: &str) -> bool {
    status.conditions.iter().flatten().any(|condition| condition.type_ == type_ && condition.status == "True")
}

fn tell_container(status: &ContainerStatus) -> String {
    let state = status.state.as_ref().unwrap();
    let last = status.last_state.as_ref().and_then(|state| state.terminated.as_ref());
    let told = match (&state.waiting, &state.running, &state.terminated) {
        (Some(waiting), ..) => waiting.reason.clone().unwrap(),
        (_, Some(_), _) => "runs".to_owned(),
        (.., Some(end)) => format!("ended:{}", end.exit_code),
        _ => "?".to_owned(),
    };
    let last = last.map(|end| format!(" after:{}", end.exit_code)).unwrap_or_default();
    let restarts = if status.restart_count > 0 { format!(" x{}", status.restart_count) } else { String::new() };
    format!("[{} {told}{}{last}{restarts}]", status.name, if status.ready { "+" } else { "" })
}

fn with_inits(inits: &Value) -> Value {
    json!({ "spec": { "initContainers": inits } })
}

#[test]
fn a_pod_starts_in_two_writes_or_one() {
    let two = ["0: Pending [main ContainerCreating]", "2: Running+ [main runs+]"];
    check(&json!({}), &[], 9, &two);
    check_with(
        &Options { ready_after: Duration::ZERO, ..Options::default() },
        &json!({}),
        &[],
        9,
        &["0: Running+ [main runs+]"],
    );
    check(
        &with_inits(&json!([{ "name": "one" }, { "name": "side", "restartPolicy": "Always" }, { "name": "two" }])),
        &[],
        9,
        &[
            "0: Pending [one ended:0+] [side runs+] [two ended:0+] [main PodInitializing]",
            "2: Running+ [one ended:0+] [side runs+] [two ended:0+] [main runs+]",
        ],
    );
    check(
        &json!({ "metadata": { "annotations": { "trellis.dev/simulate-start-seconds": "0" } } }),
        &[],
        9,
        &["0: Running+ [main runs+]"],
    );
}

#[test]
fn init_containers_run_in_order_and_again_when_they_fail() {
    let hook: crate::nodes::Hook = Arc::new(|_, _| std::future::pending().boxed());
    let options = Options { ready_after: Duration::ZERO, init: Some(hook), ..Options::default() };
    let inits = with_inits(&json!([{ "name": "one" }, { "name": "two" }]));
    check_with(
        &options,
        &inits,
        &[(3, Ends(0, 0)), (5, Ends(1, 1)), (7, Ends(1, 1)), (10, Ends(1, 0))],
        20,
        &[
            "0: Pending [one runs] [two PodInitializing] [main PodInitializing]",
            "3: Pending [one ended:0+] [two runs] [main PodInitializing]",
            "5: Pending [one ended:0+] [two ended:1] [main PodInitializing]",
            "6: Pending [one ended:0+] [two runs after:1 x1] [main PodInitializing]",
            "7: Pending [one ended:0+] [two CrashLoopBackOff after:1 x1] [main PodInitializing]",
            "9: Pending [one ended:0+] [two runs after:1 x2] [main PodInitializing]",
            "10: Running+ [one ended:0+] [two ended:0+ after:1 x2] [main runs+]",
        ],
    );
    let mut never = inits;
    never["spec"]["restartPolicy"] = json!("Never");
    check_with(
        &options,
        &never,
        &[(1, Ends(0, 5))],
        20,
        &[
            "0: Pending [one runs] [two PodInitializing] [main PodInitializing]",
            "1: Failed [one ended:5] [two PodInitializing] [main PodInitializing]",
        ],
    );
}

#[test]
fn containers_end_and_start_again_as_the_policy_says() {
    let policy = |policy: &str| json!({ "spec": { "restartPolicy": policy } });
    let start = ["0: Pending [main ContainerCreating]", "2: Running+ [main runs+]"];
    let with = |rest: &[&'static str]| [&start[..], rest].concat();
    check(&policy("Never"), &[(3, Ends(0, 0))], 20, &with(&["3: Succeeded [main ended:0]"]));
    check(&policy("Never"), &[(3, Ends(0, 2))], 20, &with(&["3: Failed [main ended:2]"]));
    check(&policy("OnFailure"), &[(3, Ends(0, 0))], 20, &with(&["3: Succeeded [main ended:0]"]));
    check(
        &policy("OnFailure"),
        &[(3, Ends(0, 2)), (5, Ends(0, 0))],
        20,
        &with(&[
            "3: Running [main ended:2]",
            "4: Running+ [main runs+ after:2 x1]",
            "5: Succeeded [main ended:0 after:2 x1]",
        ]),
    );
    check(
        &policy("Always"),
        &[(3, Ends(0, 0)), (5, Ends(0, 1)), (8, Ends(0, 1))],
        13,
        &with(&[
            "3: Running [main ended:0]",
            "4: Running+ [main runs+ after:0 x1]",
            "5: Running [main CrashLoopBackOff after:1 x1]",
            "7: Running+ [main runs+ after:1 x2]",
            "8: Running [main CrashLoopBackOff after:1 x2]",
            "12: Running+ [main runs+ after:1 x3]",
        ]),
    );
    // After a long run the wait is short again.
    check(
        &policy("Always"),
        &[(3, Ends(0, 1)), (400, Ends(0, 1))],
        500,
        &with(&[
            "3: Running [main ended:1]",
            "4: Running+ [main runs+ after:1 x1]",
            "400: Running [main ended:1 after:1 x1]",
            "401: Running+ [main runs+ after:1 x2]",
        ]),
    );
    // A container can have a policy of its own, and a pod ends with its last container, when sidecars end too.
    let own = json!({ "spec": {
        "restartPolicy": "Never",
        "initContainers": [{ "name": "side", "restartPolicy": "Always" }],
        "containers": [{ "name": "main" }, { "name": "other", "restartPolicy": "OnFailure" }],
    } });
    check(
        &own,
        &[(3, Ends(1, 4)), (4, Ends(2, 1)), (6, Ends(2, 0))],
        20,
        &[
            "0: Pending [side runs+] [main PodInitializing] [other PodInitializing]",
            "2: Running+ [side runs+] [main runs+] [other runs+]",
            "3: Running [side runs+] [main ended:4] [other runs+]",
            "4: Running [side runs+] [main ended:4] [other ended:1]",
            "5: Running [side runs+] [main ended:4] [other runs+ after:1 x1]",
            "6: Failed [side ended:0] [main ended:4] [other ended:0 after:1 x1]",
        ],
    );
}

#[test]
fn annotations_play_failures_on_pods_that_run() {
    let start = ["0: Pending [main ContainerCreating]", "2: Running+ [main runs+]"];
    let with = |rest: &[&'static str]| [&start[..], rest].concat();
    let events = [(3, Annotate("ready", "false")), (5, Annotate("ready", "true"))];
    check(&json!({}), &events, 9, &with(&["3: Running [main runs]", "5: Running+ [main runs+]"]));
    check(
        &json!({ "spec": { "restartPolicy": "Never" } }),
        &[(3, Annotate("exit-code", "7")), (4, Annotate("run-seconds", "8"))],
        20,
        &with(&["10: Failed [main ended:7]"]),
    );
    // At once, since it has run that long, and again after every restart.
    check(
        &json!({}),
        &[(6, Annotate("run-seconds", "1"))],
        8,
        &with(&[
            "6: Running [main ended:0]",
            "7: Running+ [main runs+ after:0 x1]",
            "8: Running [main CrashLoopBackOff after:0 x1]",
        ]),
    );
    check(
        &json!({ "spec": { "activeDeadlineSeconds": 5 } }),
        &[],
        20,
        &with(&["5: Failed(DeadlineExceeded) [main ended:137]"]),
    );
    let gated = json!({ "spec": { "readinessGates": [{ "conditionType": "example.com/gate" }] } });
    check(
        &gated,
        &[(3, Condition("example.com/gate", "False")), (4, Condition("example.com/gate", "True"))],
        20,
        &[start[0], "2: Running [main runs+]", "3: Running [main runs+]", "4: Running+ [main runs+]"],
    );
}

#[test]
fn a_deleted_pod_ends_within_its_grace() {
    let start = ["0: Pending [main ContainerCreating]", "2: Running+ [main runs+]"];
    let with = |rest: &[&'static str]| [&start[..], rest].concat();
    let taking =
        |seconds: &str| json!({ "metadata": { "annotations": { "trellis.dev/simulate-stop-seconds": seconds } } });
    check(&json!({}), &[(3, Delete(30))], 99, &with(&["3: Succeeded [main ended:0]"]));
    check(&taking("5"), &[(3, Delete(30))], 99, &with(&["8: Succeeded [main ended:0]"]));
    check(&taking("50"), &[(3, Delete(30))], 99, &with(&["33: Failed [main ended:137]"]));
    check(&taking("50"), &[(3, Delete(30)), (4, Delete(2))], 99, &with(&["5: Failed [main ended:137]"]));
    check(&taking("never"), &[(3, Delete(1))], 99, &start);
    let released = [(3, Delete(1)), (50, Annotate("stop-seconds", "0"))];
    check(&taking("never"), &released, 99, &with(&["50: Succeeded [main ended:0]"]));
    let code = json!({ "metadata": { "annotations": { "trellis.dev/simulate-stop-exit-code": "143" } } });
    check(&code, &[(3, Delete(30))], 99, &with(&["3: Failed [main ended:143]"]));
    // One that did not run yet has nothing to stop.
    check(&taking("never"), &[(1, Delete(30))], 99, &[start[0], "1: Failed [main ended:137]"]);
    // One that is over is left as it is.
    let never = json!({ "spec": { "restartPolicy": "Never" } });
    check(&never, &[(3, Ends(0, 1)), (4, Delete(30))], 99, &with(&["3: Failed [main ended:1]"]));
}

#[test]
fn a_new_simulator_goes_on_where_the_last_one_ended() {
    let start = ["0: Pending [main ContainerCreating]", "2: Running+ [main runs+]"];
    let with = |rest: &[&'static str]| [&start[..], rest].concat();
    check(&json!({}), &[(1, Restart)], 9, &[start[0], "3: Running+ [main runs+]"]);
    check(&json!({}), &[(5, Restart)], 9, &start);
    // The time that a container has run counts, and so do its restarts.
    let short = json!({ "metadata": { "annotations": { "trellis.dev/simulate-run-seconds": "6" } } });
    check(&short, &[(5, Restart)], 9, &with(&["8: Running [main ended:0]", "9: Running+ [main runs+ after:0 x1]"]));
    check(
        &json!({}),
        &[(3, Ends(0, 1)), (5, Ends(0, 1)), (6, Restart)],
        9,
        &with(&[
            "3: Running [main ended:1]",
            "4: Running+ [main runs+ after:1 x1]",
            "5: Running [main CrashLoopBackOff after:1 x1]",
            "8: Running+ [main runs+ after:1 x2]",
        ]),
    );
    let never = json!({ "spec": { "restartPolicy": "Never" } });
    check(&never, &[(3, Ends(0, 0)), (4, Restart)], 9, &with(&["3: Succeeded [main ended:0]"]));
}
