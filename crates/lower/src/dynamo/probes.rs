//! Ports and probes of the main container, as far as the user leaves them out.

use super::Role;
use super::environment::{HTTP_PORT, NIXL_PORT, SYSTEM_PORT};
use super::multinode::SSH_PORT;
use serde_json::{Map, Value, json};
use trellis_api::dynamo::{Graph, PROBE_WAYS};
use trellis_api::kinds::dynamo::{Backend, Component, ComponentType};

const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];

pub fn add(graph: &Graph, component: &Component, role: Role, main: &mut Map<String, Value>) {
    // Only the first node of a replica answers requests.
    let backend = if role == Role::Worker { graph.backend(component) } else { None };
    if backend.is_some() {
        PROBES.iter().for_each(|probe| drop(main.remove(*probe)));
    }
    let defaults = match backend {
        Some(Backend::Trtllm) => json!({
            "readinessProbe": { "tcpSocket": { "port": SSH_PORT }, "initialDelaySeconds": 20, "periodSeconds": 20, "timeoutSeconds": 5, "failureThreshold": 10 },
        }),
        Some(Backend::Vllm | Backend::Sglang) => Map::from_iter([("ports".to_owned(), worker_ports())]).into(),
        None if component.type_ == Some(ComponentType::Frontend) => frontend(),
        None if component.is_worker() => worker(),
        None => return,
    };
    if let Value::Object(defaults) = defaults {
        for (field, value) in defaults {
            let own = main.entry(field).or_insert(Value::Null);
            match (own, value) {
                (own @ Value::Null, value) => *own = value,
                (Value::Array(own), Value::Array(ports)) => add_ports(own, ports),
                (Value::Object(own), Value::Object(probe)) => complete(own, probe),
                _ => {}
            }
        }
    }
}

/// Probes ask ports by their names, so those have to be there whatever other ports the user names.
fn add_ports(own: &mut Vec<Value>, ports: Vec<Value>) {
    for port in ports {
        if own.iter().all(|other| other["name"] != port["name"]) {
            own.push(port);
        }
    }
}

/// What the user says of a probe is said of the one that is filled in, unless it asks in a way of its own: that one is the user's as a whole.
fn complete(own: &mut Map<String, Value>, probe: Map<String, Value>) {
    if PROBE_WAYS.iter().any(|way| own.get(*way).is_some_and(|given| !given.is_null())) {
        return;
    }
    for (field, value) in probe {
        let held = own.entry(field).or_insert(Value::Null);
        if held.is_null() {
            *held = value;
        }
    }
}

fn frontend() -> Value {
    json!({
        "ports": [{ "name": "http", "containerPort": HTTP_PORT, "protocol": "TCP" }],
        "livenessProbe": {
            "httpGet": { "path": "/live", "port": "http" }, "initialDelaySeconds": 15, "periodSeconds": 10, "timeoutSeconds": 1, "failureThreshold": 3,
        },
        "readinessProbe": {
            "httpGet": { "path": "/health", "port": "http" }, "initialDelaySeconds": 10, "periodSeconds": 10, "timeoutSeconds": 3, "failureThreshold": 3,
        },
    })
}

/// A model takes long to load: two hours until a worker counts as failed.
fn worker() -> Value {
    let mut worker = json!({
        "livenessProbe": { "httpGet": { "path": "/live", "port": "system" }, "periodSeconds": 5, "timeoutSeconds": 4, "failureThreshold": 1 },
        "readinessProbe": { "httpGet": { "path": "/health", "port": "system" }, "periodSeconds": 10, "timeoutSeconds": 4, "failureThreshold": 3 },
        "startupProbe": { "httpGet": { "path": "/live", "port": "system" }, "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 720 },
    });
    worker["ports"] = worker_ports();
    worker
}

fn worker_ports() -> Value {
    json!([
        { "name": "system", "containerPort": SYSTEM_PORT, "protocol": "TCP" },
        { "name": "nixl", "containerPort": NIXL_PORT, "protocol": "TCP" },
    ])
}
