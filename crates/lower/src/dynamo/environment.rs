//! Variables of the main container: ours first, then the deployment's, then the component's own; of one name the last counts. The order is
//! kept, because a variable can refer only to those before it.

use super::metadata;
use crate::pods::push;
use serde_json::{Map, Value, json};
use trellis_api::dynamo::Graph;
use trellis_api::kinds::dynamo::{Backend, Component, ComponentType};
use trellis_api::names::dynamo::env;

/// Ports that Dynamo's parts listen on.
pub const HTTP_PORT: i32 = 8000;
pub const SYSTEM_PORT: i32 = 9090;
pub const NIXL_PORT: i32 = 19090;

/// Puts the variables of the component into its main container.
pub fn add(graph: &Graph, component: &Component, worker_hash: &str, main: &mut Map<String, Value>) {
    let own = match main.remove("env") {
        Some(Value::Array(own)) => own,
        Some(odd @ (Value::Object(_) | Value::String(_) | Value::Number(_) | Value::Bool(_))) => vec![odd],
        _ => Vec::new(),
    };
    let mut variables = ours(graph, component, worker_hash);
    for variable in graph.object.spec.env.iter().cloned().chain(own) {
        let name = variable["name"].as_str();
        // One without a name replaces nothing; admission refuses it.
        variables.retain(|other| name.is_none() || other["name"].as_str() != name);
        variables.push(variable);
    }
    main.insert("env".to_owned(), variables.into());
}

/// Adds a variable, unless there is one of its name.
pub fn fill(main: &mut Map<String, Value>, name: &str, value: &str) {
    let mut variables = main.get("env").and_then(Value::as_array).into_iter().flatten();
    if !variables.any(|variable| variable["name"] == name) {
        push(main, "env", json!({ "name": name, "value": value }));
    }
}

fn ours(graph: &Graph, component: &Component, worker_hash: &str) -> Vec<Value> {
    let literal = |name: &str, value: &str| json!({ "name": name, "value": value });
    let field = |name: &str, path: &str| json!({ "name": name, "valueFrom": { "fieldRef": { "fieldPath": path } } });
    let namespace = metadata::dynamo_namespace(graph, component);
    let mut variables = vec![
        field(env::POD_NAME, "metadata.name"),
        field(env::POD_NAMESPACE, "metadata.namespace"),
        field(env::POD_UID, "metadata.uid"),
        literal(env::NAMESPACE, &namespace),
        literal(env::COMPONENT, metadata::type_name(component).unwrap_or(&component.name)),
        literal(env::DEPLOYMENT, &graph.name()),
        literal(env::DEPLOYMENT_NAMESPACE, graph.namespace()),
        literal(env::DISCOVERY_BACKEND, metadata::discovery(graph)),
    ];
    if component.type_ == Some(ComponentType::Frontend) {
        variables.push(literal(env::HTTP_PORT, &HTTP_PORT.to_string()));
        variables.push(literal(env::OLD_HTTP_PORT, &HTTP_PORT.to_string()));
        variables.push(literal(env::NAMESPACE_PREFIX, &namespace));
    }
    if component.is_worker() {
        variables.push(literal(env::SYSTEM_ENABLED, "true"));
        variables.push(literal(env::SYSTEM_PORT, &SYSTEM_PORT.to_string()));
        variables.push(literal(env::SYSTEM_HEALTH, "[\"generate\"]"));
        variables.push(literal(env::WORKER_SUFFIX, worker_hash));
    }
    if graph.backend(component) == Some(Backend::Vllm) {
        variables.push(field(env::VLLM_SIDE_CHANNEL, "status.podIP"));
    }
    variables
}
