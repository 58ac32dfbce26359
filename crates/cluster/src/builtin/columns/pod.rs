//! What tables show of pods.

use jiff::Timestamp;
use serde_json::Value;

use super::{age_column, column, text_or, wide};
use crate::builtin::reach::{at, list, number, text, truth};
use crate::resource::Column;
use crate::table::age;

/// The columns of pods.
pub fn columns() -> Vec<Column> {
    vec![
        column("Ready", "Containers that are ready, of all.", |pod, _| summary(pod).ready.into()),
        column("Status", "What the pod is doing, or why it is not.", |pod, _| summary(pod).status.into()),
        column("Restarts", "How often containers were started again, and when last.", |pod, now| {
            let summary = summary(pod);
            match summary.last_restart {
                Some(last) if summary.restarts != 0 => {
                    format!("{} ({} ago)", summary.restarts, age(last.as_second(), now)).into()
                }
                _ => summary.restarts.to_string().into(),
            }
        }),
        age_column(),
        wide("IP", "The address of the pod.", |pod, _| text_or(&pod["status"]["podIPs"][0], "ip", "<none>")),
        wide("Node", "The node that the pod is bound to.", |pod, _| text_or(pod, "spec.nodeName", "<none>")),
        wide("Nominated Node", "The node that is being freed for the pod.", |pod, _| {
            text_or(pod, "status.nominatedNodeName", "<none>")
        }),
        wide("Readiness Gates", "Gates that are passed, of all.", |pod, _| gates(pod).into()),
    ]
}

struct Summary {
    ready: String,
    status: String,
    restarts: i64,
    last_restart: Option<Timestamp>,
}

/// Counts and words that belong together, since the same containers decide them.
fn summary(pod: &Value) -> Summary {
    let phase = text(pod, "status.phase");
    let mut reason = match text(pod, "status.reason") {
        "" => phase,
        reason => reason,
    }
    .to_owned();
    let conditions = list(pod, "status.conditions");
    if conditions.iter().any(|one| one["type"] == "PodScheduled" && one["reason"] == "SchedulingGated") {
        "SchedulingGated".clone_into(&mut reason);
    }
    let sidecars: Vec<&str> = list(pod, "spec.initContainers")
        .iter()
        .filter(|container| text(container, "restartPolicy") == "Always")
        .map(|container| text(container, "name"))
        .collect();
    let mut init = initializing(pod, &sidecars);
    if let Some(words) = &init.reason {
        reason.clone_from(words);
    }
    let initialized = conditions.iter().any(|one| one["type"] == "Initialized" && one["status"] == "True");
    let (mut restarts, mut last) = (init.restarts, init.last);
    if init.reason.is_none() || initialized {
        (restarts, last) = (init.sidecar_restarts, init.sidecar_last);
        for container in list(pod, "status.containerStatuses") {
            restarts += number(container, "restartCount");
            last = last.max(ended(container));
        }
        init.ready += running(pod, &mut reason);
    }
    let terminal = matches!(phase, "Succeeded" | "Failed");
    if !at(pod, "metadata.deletionTimestamp").is_null() {
        if text(pod, "status.reason") == "NodeLost" {
            "Unknown".clone_into(&mut reason);
        } else if !terminal {
            "Terminating".clone_into(&mut reason);
        }
    }
    let all = list(pod, "spec.containers").len() + sidecars.len();
    Summary { ready: format!("{}/{all}", init.ready), status: reason, restarts, last_restart: last }
}

#[derive(Default)]
struct Initializing {
    ready: usize,
    /// Set while init containers are still at work.
    reason: Option<String>,
    restarts: i64,
    last: Option<Timestamp>,
    sidecar_restarts: i64,
    sidecar_last: Option<Timestamp>,
}

fn initializing(pod: &Value, sidecars: &[&str]) -> Initializing {
    let mut found = Initializing::default();
    for (index, container) in list(pod, "status.initContainerStatuses").iter().enumerate() {
        let sidecar = sidecars.contains(&text(container, "name"));
        found.restarts += number(container, "restartCount");
        found.last = found.last.max(ended(container));
        if sidecar {
            found.sidecar_restarts += number(container, "restartCount");
            found.sidecar_last = found.sidecar_last.max(ended(container));
        }
        let terminated = &container["state"]["terminated"];
        let waiting = text(&container["state"]["waiting"], "reason");
        if !terminated.is_null() && number(terminated, "exitCode") == 0 {
            continue;
        }
        if sidecar && truth(container, "started") {
            found.ready += usize::from(truth(container, "ready"));
            continue;
        }
        found.reason = Some(if !terminated.is_null() {
            format!("Init:{}", why(terminated))
        } else if !waiting.is_empty() && waiting != "PodInitializing" {
            format!("Init:{waiting}")
        } else {
            format!("Init:{index}/{}", list(pod, "spec.initContainers").len())
        });
        break;
    }
    found
}

/// How many containers are ready; the first of them that has something to say gives the reason.
fn running(pod: &Value, reason: &mut String) -> usize {
    let (mut ready, mut any_running, mut error) = (0, false, String::new());
    for container in list(pod, "status.containerStatuses").iter().rev() {
        let state = &container["state"];
        let waiting = text(&state["waiting"], "reason");
        let terminated = &state["terminated"];
        if !waiting.is_empty() {
            waiting.clone_into(reason);
        } else if !terminated.is_null() {
            *reason = why(terminated);
            if number(terminated, "exitCode") != 0 {
                error.clone_from(reason);
            }
        } else if truth(container, "ready") && !state["running"].is_null() {
            any_running = true;
            ready += 1;
        }
    }
    if reason == "Completed" {
        let pod_ready =
            list(pod, "status.conditions").iter().any(|one| one["type"] == "Ready" && one["status"] == "True");
        if any_running && pod_ready {
            "Running".clone_into(reason);
        } else if !error.is_empty() {
            *reason = error;
        } else if any_running {
            "NotReady".clone_into(reason);
        }
    }
    ready
}

/// Why a container ended.
fn why(terminated: &Value) -> String {
    match (text(terminated, "reason"), number(terminated, "signal")) {
        ("", 0) => format!("ExitCode:{}", number(terminated, "exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

fn ended(container: &Value) -> Option<Timestamp> {
    text(&container["lastState"]["terminated"], "finishedAt").parse().ok()
}

fn gates(pod: &Value) -> String {
    let gates = list(pod, "spec.readinessGates");
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let passed = gates.iter().filter(|gate| {
        let condition = list(pod, "status.conditions").iter().find(|one| one["type"] == gate["conditionType"]);
        condition.is_some_and(|condition| condition["status"] == "True")
    });
    format!("{}/{}", passed.count(), gates.len())
}
