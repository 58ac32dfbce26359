//! Ports and probes of the main container, where the user gives none.

use super::Role;
use super::environment::{HTTP_PORT, NIXL_PORT, SYSTEM_PORT};
use super::multinode::SSH_PORT;
use serde_json::{Map, Value, json};
use trellis_api::dynamo::Graph;
use trellis_api::kinds::dynamo::{Backend, Component, ComponentType};

const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];

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
                "readinessProbe": { "tcpSocket": { "port": SSH_PORT }, "initialDelaySeconds": 20, "periodSeconds": 20, "timeoutSeconds": 5 },
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
            main.entry(field).or_insert(value);
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
