//! The pods of a clique: the user's template, with what Dynamo's parts need to run filled in. A value of the user's is never replaced, but
//! for what makes replicas span nodes.

use super::{Role, environment, multinode, probes};
use crate::pods::push;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use trellis_api::dynamo::Graph;
use trellis_api::kinds::dynamo::{Backend, Component, ComponentType};
use trellis_api::names::dynamo::{MAIN_CONTAINER, SHARED_MEMORY, env};

const GRACE_PERIOD_SECONDS: i64 = 60;
const GROUP: i64 = 1000;
const SHARED_MEMORY_PATH: &str = "/dev/shm";
const SHARED_MEMORY_SIZE: &str = "8Gi";
const CACHE_PATH: &str = "/root/.cache";

pub fn pod_spec(graph: &Graph, component: &Component, role: Role, worker_hash: &str) -> Map<String, Value> {
    let written = component.pod_template.as_ref().map(|template| (*template.spec.0).clone());
    let mut spec = written.unwrap_or_default();
    fill(&mut spec, "restartPolicy", "Always".into());
    fill(&mut spec, "terminationGracePeriodSeconds", GRACE_PERIOD_SECONDS.into());
    // So that claims can be written to.
    fill(&mut spec, "securityContext", json!({ "fsGroup": GROUP }));
    let mut main = take_main(&mut spec);
    command(component, &mut main);
    environment::add(graph, component, worker_hash, &mut main);
    probes::add(graph, component, role, &mut main);
    shared_memory(component, &mut main, &mut spec);
    compilation_cache(graph, component, &mut main);
    // That nodes do not find each other is told by admission.
    let _ = multinode::span(graph, component, role, &mut main, &mut spec);
    put_main(main, &mut spec);
    claims(&mut spec);
    spec
}

/// Why the nodes of a component do not find each other. Where nothing is said of its pods, there is nothing to find yet.
pub fn apart(graph: &Graph, component: &Component) -> Option<multinode::Apart> {
    let (_, main) = component.main_container().filter(|_| component.is_multinode())?;
    let mut main = main.clone();
    command(component, &mut main);
    multinode::span(graph, component, Role::Leader, &mut main, &mut Map::new()).err()
}

fn fill(fields: &mut Map<String, Value>, field: &str, value: Value) {
    let held = fields.entry(field).or_insert(Value::Null);
    if held.is_null() {
        *held = value;
    }
}

fn is_main(container: &Value) -> bool {
    container["name"] == MAIN_CONTAINER
}

/// The main container, out of the list; an empty one where there is none.
fn take_main(spec: &mut Map<String, Value>) -> Map<String, Value> {
    let containers = spec.entry("containers").or_insert_with(|| json!([]));
    if !containers.is_array() {
        *containers = json!([]);
    }
    let list = containers.as_array_mut();
    let found = list.and_then(|list| list.iter_mut().find(|container| is_main(container)));
    match found.map(Value::take) {
        Some(Value::Object(main)) => main,
        _ => Map::from_iter([("name".to_owned(), MAIN_CONTAINER.into())]),
    }
}

/// The main container, back where it was, or first.
fn put_main(main: Map<String, Value>, spec: &mut Map<String, Value>) {
    let Some(Value::Array(list)) = spec.get_mut("containers") else { return };
    match list.iter_mut().find(|container| container.is_null()) {
        Some(place) => *place = main.into(),
        None => list.insert(0, main.into()),
    }
}

/// Arguments alone are a line for a shell, but for a frontend's, which are Python's. A command of the user's is the whole of it.
fn command(component: &Component, main: &mut Map<String, Value>) {
    let has = |main: &Map<String, Value>, field: &str| {
        main.get(field).and_then(Value::as_array).is_some_and(|words| !words.is_empty())
    };
    let is_frontend = component.type_ == Some(ComponentType::Frontend);
    if has(main, "command") || (!is_frontend && !has(main, "args")) {
        return;
    }
    if !has(main, "args") {
        main.insert("args".to_owned(), json!(["-m", "dynamo.frontend"]));
    }
    let command = if is_frontend { json!(["python3"]) } else { json!(["/bin/sh", "-c"]) };
    main.insert("command".to_owned(), command);
}

fn mounts(main: &Map<String, Value>, path: &str) -> bool {
    let mounts = main.get("volumeMounts").and_then(Value::as_array).into_iter().flatten();
    mounts.into_iter().any(|mount| mount["mountPath"] == path)
}

fn shared_memory(component: &Component, main: &mut Map<String, Value>, spec: &mut Map<String, Value>) {
    let size = component.shared_memory_size.clone().unwrap_or_else(|| SHARED_MEMORY_SIZE.into());
    let text = size.as_str().map_or_else(|| size.to_string(), str::to_owned);
    if text == "0" || mounts(main, SHARED_MEMORY_PATH) {
        return;
    }
    push(main, "volumeMounts", json!({ "name": SHARED_MEMORY, "mountPath": SHARED_MEMORY_PATH }));
    if !names(spec, "volumes").contains(SHARED_MEMORY) {
        let memory = json!({ "medium": "Memory", "sizeLimit": text });
        push(spec, "volumes", json!({ "name": SHARED_MEMORY, "emptyDir": memory }));
    }
}

fn compilation_cache(graph: &Graph, component: &Component, main: &mut Map<String, Value>) {
    let Some(cache) = component.other.get("compilationCache") else { return };
    let Some(claim) = cache["pvcName"].as_str() else { return };
    let path = cache["mountPath"].as_str().unwrap_or(CACHE_PATH);
    if !mounts(main, path) {
        push(main, "volumeMounts", json!({ "name": claim, "mountPath": path }));
    }
    if graph.backend(component) == Some(Backend::Vllm) {
        environment::fill(main, env::VLLM_CACHE, path);
    }
}

/// Names in a list of objects.
fn names(spec: &Map<String, Value>, list: &str) -> BTreeSet<String> {
    let items = spec.get(list).and_then(Value::as_array).into_iter().flatten();
    items.filter_map(|item| Some(item["name"].as_str()?.to_owned())).collect()
}

/// A mount of a volume that the pod does not have is a mount of the claim of that name.
fn claims(spec: &mut Map<String, Value>) {
    let mut known = names(spec, "volumes");
    let mut missing = Vec::new();
    for list in ["initContainers", "containers"] {
        for container in spec.get(list).and_then(Value::as_array).into_iter().flatten() {
            for mount in container["volumeMounts"].as_array().into_iter().flatten() {
                if let Some(name) = mount["name"].as_str().filter(|name| known.insert((*name).to_owned())) {
                    missing.push(name.to_owned());
                }
            }
        }
    }
    for name in missing {
        push(spec, "volumes", json!({ "name": name, "persistentVolumeClaim": { "claimName": name } }));
    }
}
