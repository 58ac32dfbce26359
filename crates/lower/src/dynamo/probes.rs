//! Ports and probes of the main container, as far as the user leaves them out.

use super::Role;
use super::environment::{HTTP_PORT, NIXL_PORT, SYSTEM_PORT};
use super::multinode::SSH_PORT;
use serde_json::{Map, Value, json};
use trellis_api::dynamo::Graph;
use trellis_api::kinds::dynamo::{Backend, Component, ComponentType};

const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];
/// Ways in which a probe asks.
const WAYS: [&str; 4] = ["httpGet", "tcpSocket", "exec", "grpc"];

pub fn add(graph: &Graph, component: &Component, role: Role, main: &mut Map<String, Value>) {
    let mut defaults = if component.type_ == Some(ComponentType::Frontend) {
        frontend()
    } else if component.is_worker() {
        worker()
    } else {
        json!({})
    };
    // Only the first node of a replica answers requests.
    match (role, graph.backend(component)) {
        (Role::Worker, Some(Backend::Trtllm)) => {
            PROBES.iter().for_each(|probe| drop(main.remove(*probe)));
            defaults = json!({
                "readinessProbe": { "tcpSocket": { "port": SSH_PORT }, "initialDelaySeconds": 20, "periodSeconds": 20, "timeoutSeconds": 5, "failureThreshold": 10 },
            });
        }
        (Role::Worker, Some(Backend::Vllm | Backend::Sglang)) => {
            PROBES.iter().for_each(|probe| drop(main.remove(*probe)));
            PROBES.iter().for_each(|probe| defaults[probe] = Value::Null);
        }
        _ => {}
    }
    if let Value::Object(defaults) = defaults {
        for (field, value) in defaults.into_iter().filter(|(_, value)| !value.is_null()) {
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
    if WAYS.iter().any(|way| own.get(*way).is_some_and(|given| !given.is_null())) {
        return;
    }
    for (field, value) in probe {
        let held = own.entry(field).or_insert(Value::Null);
        if held.is_null() {
            *held = value;
        }
    }
}

fn get(path: &str, port: &str) -> Value {
    json!({ "path": path, "port": port })
}

fn frontend() -> Value {
    json!({
        "ports": [{ "name": "http", "containerPort": HTTP_PORT, "protocol": "TCP" }],
        "livenessProbe": {
            "httpGet": get("/live", "http"), "initialDelaySeconds": 15, "periodSeconds": 10, "timeoutSeconds": 1, "failureThreshold": 3,
        },
        "readinessProbe": {
            "httpGet": get("/health", "http"), "initialDelaySeconds": 10, "periodSeconds": 10, "timeoutSeconds": 3, "failureThreshold": 3,
        },
    })
}

/// A model takes long to load: two hours until a worker counts as failed.
fn worker() -> Value {
    json!({
        "ports": [
            { "name": "system", "containerPort": SYSTEM_PORT, "protocol": "TCP" },
            { "name": "nixl", "containerPort": NIXL_PORT, "protocol": "TCP" },
        ],
        "livenessProbe": { "httpGet": get("/live", "system"), "periodSeconds": 5, "timeoutSeconds": 4, "failureThreshold": 1 },
        "readinessProbe": { "httpGet": get("/health", "system"), "periodSeconds": 10, "timeoutSeconds": 4, "failureThreshold": 3 },
        "startupProbe": { "httpGet": get("/live", "system"), "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 720 },
    })
}
