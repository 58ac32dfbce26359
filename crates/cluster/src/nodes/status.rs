//! The status that a node reports of a pod, field by field as a kubelet does, and the smallest patch that brings it about.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting, ContainerStatus,
    HostIP, Pod, PodCondition, PodIP, PodStatus, VolumeMount, VolumeMountStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Map, Value, json};

use super::behaviour::Behaviour;
use super::kubelet::{ContainerLife, End, Moment, PodLife, Role, State, restarts, specs};

/// What the node adds to a pod by being where it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// The node's address.
    pub(super) host: String,
    /// The pod's.
    pub(super) pod: String,
}

/// The patch of the status subresource that makes the pod's status tell its life, if it does not yet. It carries the uid, so that it
/// cannot reach another pod of the same name.
pub(super) fn patch(pod: &Pod, life: &PodLife, behaviour: &Behaviour, place: &Place, now: Moment) -> Option<Value> {
    let wanted = if life.failure.is_some() && life.containers.iter().all(|c| c.state == State::Waiting) {
        rejected(pod, life)
    } else {
        wanted(pod, life, behaviour, place, now)
    };
    let changes = changes(&to_object(pod.status.as_ref()?), to_object(&wanted));
    (!changes.is_empty()).then(|| json!({ "metadata": { "uid": pod.metadata.uid }, "status": changes }))
}

/// What differs. Conditions are merged by their type; those of others stay.
fn changes(old: &Map<String, Value>, new: Map<String, Value>) -> Map<String, Value> {
    let mut changes = Map::new();
    for (key, value) in new {
        match (key.as_str(), value) {
            ("conditions", Value::Array(conditions)) => {
                let known = old.get("conditions").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                let changed: Vec<Value> =
                    conditions.into_iter().filter_map(|condition| change(known, condition)).collect();
                if !changed.is_empty() {
                    changes.insert(key, Value::Array(changed));
                }
            }
            (_, value) if old.get(&key) == Some(&value) => {}
            (_, value) => {
                changes.insert(key, value);
            }
        }
    }
    changes
}

/// A condition that differs from the one that is known. Being merged, it has to say what it no longer has.
fn change(known: &[Value], mut new: Value) -> Option<Value> {
    let Some(old) = known.iter().find(|old| old["type"] == new["type"]) else { return Some(new) };
    if *old == new {
        return None;
    }
    for field in ["reason", "message"] {
        if old.get(field).is_some() && new.get(field).is_none() {
            new[field] = Value::Null;
        }
    }
    Some(new)
}

fn to_object(status: &PodStatus) -> Map<String, Value> {
    match serde_json::to_value(status) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

/// A kubelet tells nothing of the containers of a pod that it does not take.
fn rejected(pod: &Pod, life: &PodLife) -> PodStatus {
    PodStatus {
        phase: Some("Failed".to_owned()),
        reason: life.failure.as_ref().map(|failure| failure.reason.clone()),
        message: life.failure.as_ref().map(|failure| failure.message.clone()),
        start_time: life.started.map(Time),
        observed_generation: pod.metadata.generation,
        ..PodStatus::default()
    }
}

fn wanted(pod: &Pod, life: &PodLife, behaviour: &Behaviour, place: &Place, now: Moment) -> PodStatus {
    let of = |(container, spec)| container_status(pod, life, container, spec, behaviour);
    let mut inits: Vec<ContainerStatus> = life.containers.iter().zip(specs(pod)).map(of).collect();
    let conditions = conditions(pod, life, &inits, now);
    let first_main = life.containers.iter().position(|container| container.role == Role::Main);
    let mut mains = inits.split_off(first_main.unwrap_or(inits.len()));
    // A kubelet sorts these, and keeps the others in the order of the pod.
    mains.sort_by(|one, other| one.name.cmp(&other.name));

    let has_sandbox = life.containers.iter().any(|container| container.state != State::Waiting);
    let on_host = pod.spec.as_ref().and_then(|spec| spec.host_network).unwrap_or(false);
    let address = if on_host { &place.host } else { &place.pod };
    let address = (on_host || has_sandbox).then(|| address.clone()).filter(|address| !address.is_empty());
    let host = Some(place.host.clone()).filter(|host| !host.is_empty());
    PodStatus {
        phase: Some(life.phase().to_owned()),
        reason: life.failure.as_ref().map(|failure| failure.reason.clone()),
        message: life.failure.as_ref().map(|failure| failure.message.clone()),
        conditions: Some(conditions),
        init_container_statuses: (!inits.is_empty()).then_some(inits),
        container_statuses: Some(mains),
        host_ips: host.clone().map(|ip| vec![HostIP { ip }]),
        host_ip: host,
        pod_ips: address.clone().map(|ip| vec![PodIP { ip }]),
        pod_ip: address,
        start_time: life.started.map(Time),
        observed_generation: pod.metadata.generation,
        ..PodStatus::default()
    }
}

fn container_status(
    pod: &Pod,
    life: &PodLife,
    container: &ContainerLife,
    spec: &Container,
    behaviour: &Behaviour,
) -> ContainerStatus {
    let uid = pod.metadata.uid.as_deref().unwrap_or_default();
    let image = spec.image.clone().unwrap_or_default();
    let id = format!("simulated://{uid}.{}.{}", spec.name, container.restarts);
    // A container that was never found when its pod was stopped has no identity either.
    let has_run = match &container.state {
        State::Waiting => false,
        State::Running { .. } => true,
        State::Ended(end) => end.started.is_some(),
    };
    let (state, last) = states(pod, life, container, spec, behaviour, &id);
    let is_ready = match container.role {
        Role::Init => container.has_succeeded(),
        Role::Sidecar | Role::Main => container.is_running() && behaviour.ready,
    };
    let resources = spec.resources.clone().unwrap_or_default();
    ContainerStatus {
        name: spec.name.clone(),
        image_id: if has_run { format!("simulated://{image}") } else { String::new() },
        image,
        container_id: has_run.then_some(id),
        ready: is_ready,
        started: Some(container.role != Role::Init && container.is_running()),
        restart_count: container.restarts,
        allocated_resources: resources.requests.clone().filter(|_| has_run),
        resources: has_run.then_some(resources),
        state: Some(state),
        last_state: Some(ContainerState { terminated: last, ..ContainerState::default() }),
        volume_mounts: spec.volume_mounts.as_ref().map(|mounts| mounts.iter().map(volume_mount).collect()),
        ..ContainerStatus::default()
    }
}

fn states(
    pod: &Pod,
    life: &PodLife,
    container: &ContainerLife,
    spec: &Container,
    behaviour: &Behaviour,
    id: &str,
) -> (ContainerState, Option<ContainerStateTerminated>) {
    let waiting = |reason: &str, message: Option<String>| ContainerState {
        waiting: Some(ContainerStateWaiting { reason: Some(reason.to_owned()), message }),
        ..ContainerState::default()
    };
    let last = || {
        let end = container.last.as_ref()?;
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        Some(terminated(end, &format!("simulated://{uid}.{}.{}", spec.name, container.restarts.saturating_sub(1))))
    };
    match &container.state {
        State::Waiting if life.containers.iter().any(|other| other.role != Role::Main) => {
            (waiting("PodInitializing", None), last())
        }
        State::Waiting => (waiting("ContainerCreating", None), last()),
        State::Running { since, .. } => {
            let running = ContainerStateRunning { started_at: Some(Time(*since)) };
            (ContainerState { running: Some(running), ..ContainerState::default() }, last())
        }
        // The first end is told as such; from the second on, the wait is.
        State::Ended(end) if !life.over && container.crashes > 1 && restarts(pod, spec, container.role, end.code) => {
            let name = pod.metadata.name.as_deref().unwrap_or_default();
            let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
            let uid = pod.metadata.uid.as_deref().unwrap_or_default();
            let message = format!(
                "back-off {} restarting failed container={} pod={name}_{namespace}({uid})",
                go_duration(container.backoff(behaviour)),
                spec.name
            );
            (waiting("CrashLoopBackOff", Some(message)), Some(terminated(end, id)))
        }
        State::Ended(end) => {
            let state = ContainerState { terminated: Some(terminated(end, id)), ..ContainerState::default() };
            (state, last())
        }
    }
}

fn terminated(end: &End, id: &str) -> ContainerStateTerminated {
    ContainerStateTerminated {
        exit_code: end.code,
        reason: Some(end.reason.clone()),
        message: end.message.clone(),
        started_at: end.started.map(Time),
        finished_at: end.finished.map(Time),
        container_id: end.started.map(|_| id.to_owned()),
        ..ContainerStateTerminated::default()
    }
}

fn volume_mount(mount: &VolumeMount) -> VolumeMountStatus {
    VolumeMountStatus {
        name: mount.name.clone(),
        mount_path: mount.mount_path.clone(),
        read_only: mount.read_only,
        recursive_read_only: mount.read_only.filter(|read_only| *read_only).map(|_| "Disabled".to_owned()),
    }
}

/// A time as Go prints it: "1m20s".
fn go_duration(time: SignedDuration) -> String {
    let (hours, minutes, seconds) = (time.as_hours(), time.as_mins() % 60, time.as_secs() % 60);
    let seconds = match time.subsec_millis() {
        0 => seconds.to_string(),
        millis => format!("{seconds}.{millis:03}").trim_end_matches('0').to_owned(),
    };
    match (hours, minutes) {
        (0, 0) if time.as_secs() == 0 && time.subsec_millis() != 0 => format!("{}ms", time.subsec_millis()),
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m{seconds}s"),
        (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
    }
}

/// A condition without its time and generation, which are the same for all: status, reason, message.
type Verdict = (bool, Option<&'static str>, Option<String>);

const TRUE: Verdict = (true, None, None);

fn conditions(pod: &Pod, life: &PodLife, statuses: &[ContainerStatus], now: Moment) -> Vec<PodCondition> {
    let old = pod.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    let has_sandbox = !life.over && life.containers.iter().any(|container| container.state != State::Waiting);
    let containers_ready = containers_ready(life, statuses);
    let ready = if containers_ready.0 { gates_ready(pod, old) } else { containers_ready.clone() };
    let mut verdicts = vec![
        ("PodReadyToStartContainers", (has_sandbox, None, None)),
        ("Initialized", initialized(life, statuses)),
        ("Ready", ready),
        ("ContainersReady", containers_ready),
    ];
    // Whoever bound the pod has said so already, as a rule; a pod may also have been created with its node's name.
    if !old.iter().any(|condition| condition.type_ == "PodScheduled" && condition.status == "True") {
        verdicts.push(("PodScheduled", TRUE));
    }
    let generation = pod.metadata.generation;
    verdicts.into_iter().map(|(type_, verdict)| condition(type_, verdict, old, generation, now.stamp)).collect()
}

fn condition(
    type_: &str,
    (is_true, reason, message): Verdict,
    old: &[PodCondition],
    observed_generation: Option<i64>,
    stamp: Timestamp,
) -> PodCondition {
    let status = if is_true { "True" } else { "False" };
    let same = old.iter().find(|condition| condition.type_ == type_ && condition.status == status);
    let since = same.and_then(|condition| condition.last_transition_time.clone());
    PodCondition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.map(str::to_owned),
        message,
        observed_generation,
        last_transition_time: Some(since.unwrap_or(Time(stamp))),
        last_probe_time: None,
    }
}

fn initialized(life: &PodLife, statuses: &[ContainerStatus]) -> Verdict {
    match life.phase() {
        "Succeeded" => (true, Some("PodCompleted"), None),
        _ if life.is_initialized() => TRUE,
        _ => {
            let is_behind = |life: &ContainerLife, status: &ContainerStatus| match life.role {
                Role::Init => !status.ready,
                Role::Sidecar => status.started != Some(true),
                Role::Main => false,
            };
            let message = format!("containers with incomplete status: [{}]", names(life, statuses, is_behind));
            (false, Some("ContainersNotInitialized"), Some(message))
        }
    }
}

fn containers_ready(life: &PodLife, statuses: &[ContainerStatus]) -> Verdict {
    let is_unready = |life: &ContainerLife, status: &ContainerStatus| life.role != Role::Init && !status.ready;
    let unready = names(life, statuses, is_unready);
    match life.phase() {
        "Succeeded" => (false, Some("PodCompleted"), None),
        "Failed" => (false, Some("PodFailed"), None),
        _ if unready.is_empty() => TRUE,
        _ => {
            let message = format!("containers with unready status: [{unready}]");
            (false, Some("ContainersNotReady"), Some(message))
        }
    }
}

fn names(
    life: &PodLife,
    statuses: &[ContainerStatus],
    which: impl Fn(&ContainerLife, &ContainerStatus) -> bool,
) -> String {
    let chosen = life.containers.iter().zip(statuses).filter(|(life, status)| which(life, status));
    chosen.map(|(_, status)| status.name.as_str()).collect::<Vec<_>>().join(" ")
}

/// Readiness gates are conditions that others set.
fn gates_ready(pod: &Pod, old: &[PodCondition]) -> Verdict {
    let gates = pod.spec.iter().flat_map(|spec| spec.readiness_gates.iter().flatten()).map(|gate| &gate.condition_type);
    let complaint = |gate: &String| match old.iter().find(|condition| condition.type_ == *gate) {
        None => Some(format!("corresponding condition of pod readiness gate \"{gate}\" does not exist.")),
        Some(condition) if condition.status != "True" => {
            Some(format!("the status of pod readiness gate \"{gate}\" is not \"True\", but {}", condition.status))
        }
        Some(_) => None,
    };
    let complaints: Vec<String> = gates.filter_map(complaint).collect();
    match complaints.is_empty() {
        true => TRUE,
        false => (false, Some("ReadinessGatesNotReady"), Some(complaints.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nodes::Options;

    /// The patch for a pod whose containers are as its status says.
    fn patch_for(pod: &Value) -> Value {
        let mut object = json!({
            "metadata": { "name": "p", "namespace": "n", "uid": "u", "generation": 4 },
            "spec": { "containers": [{ "name": "zeta" }, { "name": "beta" }] },
            "status": { "phase": "Pending", "startTime": "2026-01-01T00:00:00Z" },
        });
        json_patch::merge(&mut object, pod);
        let pod: Pod = serde_json::from_value(object).unwrap();
        let now = Moment { at: SignedDuration::ZERO, stamp: "2026-01-02T00:00:00Z".parse().unwrap() };
        let life = PodLife::of(&pod, now);
        let place = Place { host: "h".to_owned(), pod: "a".to_owned() };
        patch(&pod, &life, &Behaviour::of(&pod, &Options::default()), &place, now).unwrap()
    }

    fn check(pod: &Value, expected: &[&str]) {
        let patch = patch_for(pod);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let tell = |condition: &Value| {
            assert_eq!(condition["observedGeneration"], 4);
            let why = format!("{} {}", text(&condition["reason"]), text(&condition["message"]));
            format!("{}={} {}", text(&condition["type"]), text(&condition["status"]), why.trim()).trim().to_owned()
        };
        let told: Vec<String> = patch["status"]["conditions"].as_array().unwrap().iter().map(tell).collect();
        assert_eq!(told, expected, "{pod}");
    }

    fn running(name: &str) -> Value {
        json!({ "name": name, "image": "", "imageID": "", "ready": true, "restartCount": 0, "state": { "running": {} } })
    }

    fn ended(name: &str, code: i32) -> Value {
        let state = json!({ "terminated": { "exitCode": code, "reason": "Error" } });
        json!({ "name": name, "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": state })
    }

    #[test]
    fn conditions_are_those_of_a_kubelet() {
        // The order of the pod, not that of the names.
        let unready = "containers with unready status: [zeta beta]";
        check(
            &json!({}),
            &[
                "PodReadyToStartContainers=False",
                "Initialized=True",
                &format!("Ready=False ContainersNotReady {unready}"),
                &format!("ContainersReady=False ContainersNotReady {unready}"),
                "PodScheduled=True",
            ],
        );
        let side = json!({ "name": "side", "restartPolicy": "Always" });
        let inits = json!({ "spec": { "initContainers": [{ "name": "one" }, side, { "name": "two" }] } });
        let unready = "containers with unready status: [side zeta beta]";
        check(
            &inits,
            &[
                "PodReadyToStartContainers=False",
                "Initialized=False ContainersNotInitialized containers with incomplete status: [one side two]",
                &format!("Ready=False ContainersNotReady {unready}"),
                &format!("ContainersReady=False ContainersNotReady {unready}"),
                "PodScheduled=True",
            ],
        );
        // Somebody else has said that the pod is scheduled, and told of another gate.
        let others = json!([{ "type": "PodScheduled", "status": "True" }, { "type": "b", "status": "False" }]);
        check(
            &json!({
                "spec": { "readinessGates": [{ "conditionType": "a" }, { "conditionType": "b" }] },
                "status": { "conditions": others, "containerStatuses": [running("beta"), running("zeta")] },
            }),
            &[
                "PodReadyToStartContainers=True",
                "Initialized=True",
                "Ready=False ReadinessGatesNotReady corresponding condition of pod readiness gate \"a\" does not exist., \
                 the status of pod readiness gate \"b\" is not \"True\", but False",
                "ContainersReady=True",
            ],
        );
    }

    #[test]
    fn a_condition_that_changes_says_what_it_no_longer_has_and_since_when() {
        let since = "2026-01-01T00:00:00Z";
        let old = |type_: &str, status: &str| json!({ "type": type_, "status": status, "reason": "r", "message": "m", "lastTransitionTime": since });
        let conditions = json!([old("Ready", "False"), old("ContainersReady", "True")]);
        let statuses = json!([running("beta"), running("zeta")]);
        let patch = patch_for(&json!({ "status": { "conditions": conditions, "containerStatuses": statuses } }));
        let change = |type_: &str| {
            let conditions = patch["status"]["conditions"].as_array().unwrap();
            conditions.iter().find(|condition| condition["type"] == type_).unwrap().clone()
        };
        let expected = |type_: &str, since: &str| {
            json!({
                "type": type_, "status": "True", "reason": null, "message": null,
                "lastTransitionTime": since, "observedGeneration": 4,
            })
        };
        assert_eq!(change("Ready"), expected("Ready", "2026-01-02T00:00:00Z"));
        assert_eq!(change("ContainersReady"), expected("ContainersReady", since));
    }

    #[test]
    fn a_wait_is_told_as_go_tells_time() {
        let cases =
            [(1000, "1s"), (500, "500ms"), (1500, "1.5s"), (80_000, "1m20s"), (300_000, "5m0s"), (3_600_000, "1h0m0s")];
        for (millis, expected) in cases {
            assert_eq!(go_duration(SignedDuration::from_millis(millis)), expected);
        }
        let mut status = ended("zeta", 3);
        status["restartCount"] = json!(1);
        let patch = patch_for(&json!({ "status": { "containerStatuses": [status, running("beta")] } }));
        let told = &patch["status"]["containerStatuses"];
        assert_eq!((told[0]["name"].as_str(), told[1]["name"].as_str()), (Some("beta"), Some("zeta")));
        let waiting = json!({
            "reason": "CrashLoopBackOff",
            "message": "back-off 2s restarting failed container=zeta pod=p_n(u)",
        });
        assert_eq!(told[1]["state"], json!({ "waiting": waiting }));
        assert_eq!(told[1]["lastState"]["terminated"]["exitCode"], 3);
    }
}
