//! A v1alpha1 service as a component, and back. The fields that v1alpha1 has for the main container become a pod template.

use crate::field::{Path, at, steps};
use crate::names::dynamo::{FRONTEND_SIDECAR, MAIN_CONTAINER};
use serde_json::{Map, Value, json};

type Fields = Map<String, Value>;

/// Fields of a service that say something about its pods.
pub const POD_FIELDS: [&str; 11] = [
    "extraPodSpec",
    "extraPodMetadata",
    "resources",
    "envs",
    "envFromSecret",
    "volumeMounts",
    "livenessProbe",
    "readinessProbe",
    "labels",
    "annotations",
    "frontendSidecar",
];

/// Ways in which a probe asks.
pub const PROBE_WAYS: [&str; 4] = ["httpGet", "tcpSocket", "exec", "grpc"];

/// Kinds of components that both versions know by one word.
const TYPES: [&str; 6] = ["frontend", "worker", "prefill", "decode", "planner", "epp"];
/// Kinds of workers that are kinds of components of their own.
const WORKERS: [&str; 2] = ["prefill", "decode"];

/// Takes a field out, unless it is null.
fn take(fields: &mut Fields, field: &str) -> Option<Value> {
    fields.remove(field).filter(|value| !value.is_null())
}

fn take_object(fields: &mut Fields, field: &str) -> Option<Fields> {
    match take(fields, field)? {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

fn take_list(fields: &mut Fields, field: &str) -> Vec<Value> {
    match take(fields, field) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

/// The component that a service is.
pub fn to_component(service: &Fields) -> Fields {
    let mut rest = service.clone();
    let mut component = Fields::new();
    if let Some(type_) = component_type(&mut rest) {
        component.insert("type".to_owned(), type_);
    }
    if let Some(template) = pod_template(&mut rest) {
        component.insert("podTemplate".to_owned(), template);
    }
    if let Some(Value::Object(memory)) = rest.get("sharedMemory") {
        let size =
            if memory.get("disabled") == Some(&json!(true)) { Some(json!("0")) } else { memory.get("size").cloned() };
        rest.remove("sharedMemory");
        component.extend(size.map(|size| ("sharedMemorySize".to_owned(), size)));
    }
    if let Some(Value::Object(adapter)) = rest.get("scalingAdapter")
        && let Some(enabled) = adapter.get("enabled").and_then(Value::as_bool)
    {
        rest.remove("scalingAdapter");
        if enabled {
            component.insert("scalingAdapter".to_owned(), json!({}));
        }
    }
    for (field, value) in rest {
        component.entry(field).or_insert(value);
    }
    component
}

fn component_type(service: &mut Fields) -> Option<Value> {
    let word = |field: &str| service.get(field).and_then(Value::as_str);
    let (main, sub) = (word("componentType")?.to_owned(), word("subComponentType").map(str::to_owned));
    if main == "worker"
        && let Some(sub) = sub.filter(|sub| WORKERS.contains(&sub.as_str()))
    {
        service.remove("componentType");
        service.remove("subComponentType");
        return Some(sub.into());
    }
    if !TYPES.contains(&main.as_str()) {
        return None;
    }
    service.remove("componentType")
}

/// The pod template that the fields of a service come to; none, if there is none of them.
fn pod_template(service: &mut Fields) -> Option<Value> {
    if service.contains_key("podTemplate") || !POD_FIELDS.iter().any(|field| service.contains_key(*field)) {
        return None;
    }
    let mut spec = take_object(service, "extraPodSpec").unwrap_or_default();
    let over = take_object(&mut spec, "mainContainer").unwrap_or_default();
    let mut cache = None;
    let main = main_container(service, over, &mut cache);
    let mut containers = vec![Value::Object(main)];
    containers.extend(take_list(&mut spec, "containers"));
    if let Some(Value::Object(sidecar)) = service.get("frontendSidecar").cloned() {
        service.insert("frontendSidecar".to_owned(), FRONTEND_SIDECAR.into());
        containers.push(frontend_sidecar(sidecar));
    }
    spec.insert("containers".to_owned(), containers.into());
    if let Some(cache) = cache.filter(|_| !service.contains_key("compilationCache")) {
        service.insert("compilationCache".to_owned(), cache);
    }
    let mut metadata = take_object(service, "extraPodMetadata").unwrap_or_default();
    for field in ["labels", "annotations"] {
        // What is said of the pods goes before what is said of the service.
        let Some(own) = take_object(service, field) else { continue };
        if let Value::Object(merged) = metadata.entry(field).or_insert_with(|| json!({})) {
            for (key, value) in own {
                merged.entry(key).or_insert(value);
            }
        }
    }
    let mut template = json!({ "spec": spec });
    if !metadata.is_empty() {
        template["metadata"] = metadata.into();
    }
    Some(template)
}

/// The main container: the service's own fields, and what `mainContainer` says over them, field by field. Variables and mounts of both are
/// kept.
fn main_container(service: &mut Fields, mut over: Fields, cache: &mut Option<Value>) -> Fields {
    let mut main = Fields::new();
    if let Some(resources) = take_object(service, "resources") {
        main.insert("resources".to_owned(), container_resources(resources));
    }
    for field in ["livenessProbe", "readinessProbe"] {
        main.extend(take(service, field).map(|probe| (field.to_owned(), probe)));
    }
    if let Some(secret) = take(service, "envFromSecret") {
        let mut from = take_list(&mut over, "envFrom");
        from.push(json!({ "secretRef": { "name": secret } }));
        main.insert("envFrom".to_owned(), from.into());
    }
    let own = take_list(service, "envs");
    let others = take_list(&mut over, "env");
    let is_over = |variable: &Value| others.iter().any(|other| other["name"] == variable["name"]);
    let mut env: Vec<Value> = own.into_iter().filter(|variable| !is_over(variable)).collect();
    env.extend(others);
    if !env.is_empty() {
        main.insert("env".to_owned(), env.into());
    }
    let mut mounts = take_list(&mut over, "volumeMounts");
    for mount in take_list(service, "volumeMounts") {
        if mount["useAsCompilationCache"] == true {
            let mut found = json!({ "pvcName": mount["name"] });
            if !mount["mountPoint"].is_null() {
                found["mountPath"] = mount["mountPoint"].clone();
            }
            *cache = Some(found);
        } else {
            mounts.push(json!({ "name": mount["name"], "mountPath": mount["mountPoint"] }));
        }
    }
    if !mounts.is_empty() {
        main.insert("volumeMounts".to_owned(), mounts.into());
    }
    overlay(&mut main, over);
    main.insert("name".to_owned(), MAIN_CONTAINER.into());
    main
}

/// Says `over` over what is there: objects are taken together, all else is replaced, and null says nothing.
fn overlay(under: &mut Fields, over: Fields) {
    // A probe asks in one way only, so one that comes with a way of its own brings all of it.
    if PROBE_WAYS.iter().any(|way| over.get(*way).is_some_and(|given| !given.is_null())) {
        under.retain(|field, _| !PROBE_WAYS.contains(&field.as_str()));
    }
    for (field, value) in over {
        match (under.entry(field).or_insert(Value::Null), value) {
            (Value::Object(under), Value::Object(over)) => overlay(under, over),
            (_, Value::Null) => {}
            (under, value) => *under = value,
        }
    }
}

/// `gpu` and `custom` as the names of resources that they stand for.
fn container_resources(mut resources: Fields) -> Value {
    for field in ["requests", "limits"] {
        let Some(Value::Object(amounts)) = resources.get_mut(field) else { continue };
        let type_ = take(amounts, "gpuType").and_then(|name| Some(name.as_str()?.to_owned()));
        if let Some(gpu) = take(amounts, "gpu") {
            let name = type_.filter(|name| !name.is_empty()).unwrap_or_else(|| "nvidia.com/gpu".to_owned());
            amounts.insert(name, gpu);
        }
        if let Some(custom) = take_object(amounts, "custom") {
            amounts.extend(custom);
        }
    }
    resources.into()
}

fn frontend_sidecar(mut sidecar: Fields) -> Value {
    if let Some(secret) = take(&mut sidecar, "envFromSecret") {
        sidecar.insert("envFrom".to_owned(), json!([{ "secretRef": { "name": secret } }]));
    }
    if let Some(envs) = take(&mut sidecar, "envs") {
        sidecar.insert("env".to_owned(), envs);
    }
    sidecar.insert("name".to_owned(), FRONTEND_SIDECAR.into());
    sidecar.into()
}

/// The service that a component is.
pub fn of_component(component: &Fields) -> Fields {
    let mut service = component.clone();
    if let Some(Value::String(type_)) = component.get("type") {
        service.remove("type");
        let (main, sub) =
            if WORKERS.contains(&type_.as_str()) { ("worker", Some(type_)) } else { (type_.as_str(), None) };
        service.insert("componentType".to_owned(), main.into());
        service.extend(sub.map(|sub| ("subComponentType".to_owned(), sub.as_str().into())));
    }
    if let Some(size) = take(&mut service, "sharedMemorySize") {
        let is_none = size == "0" || size == 0;
        let memory = if is_none { json!({ "disabled": true }) } else { json!({ "size": size }) };
        service.insert("sharedMemory".to_owned(), memory);
    }
    if service.get("scalingAdapter").is_some_and(Value::is_object) {
        service.insert("scalingAdapter".to_owned(), json!({ "enabled": true }));
    }
    if let Some(mut template) = take_object(&mut service, "podTemplate") {
        if let Some(metadata) = take(&mut template, "metadata") {
            service.insert("extraPodMetadata".to_owned(), metadata);
        }
        let mut spec = take_object(&mut template, "spec").unwrap_or_default();
        let (main, others): (Vec<Value>, Vec<Value>) =
            take_list(&mut spec, "containers").into_iter().partition(|container| container["name"] == MAIN_CONTAINER);
        if !others.is_empty() {
            spec.insert("containers".to_owned(), others.into());
        }
        if let Some(Value::Object(mut main)) = main.into_iter().next() {
            main.remove("name");
            spec.insert("mainContainer".to_owned(), main.into());
        }
        service.insert("extraPodSpec".to_owned(), spec.into());
    }
    service
}

/// Where a field of the pods stands in a service: in the main container, in a further one, in the pod spec, or in a field of its own.
pub fn pod_path(service_path: &Path, service: &Value, field: &str) -> Path {
    let spec = service_path.child("extraPodSpec");
    let rest = field.strip_prefix("containers[").and_then(|rest| rest.split_once(']'));
    let Some((index, inner)) = rest else { return spec.child(field) };
    let inner = inner.trim_start_matches('.');
    let within = |path: Path| if inner.is_empty() { path } else { path.child(inner) };
    let index: usize = index.parse().unwrap_or_default();
    let others = service["extraPodSpec"]["containers"].as_array().map_or(0, Vec::len);
    match index {
        0 => {
            let head = inner.split(['.', '[']).next().unwrap_or_default();
            let own = match head {
                "env" => "envs",
                "envFrom" => "envFromSecret",
                other => other,
            };
            let is_over = at(&service["extraPodSpec"]["mainContainer"], inner).is_some();
            match (own, !is_over && !head.is_empty() && service.get(own).is_some()) {
                ("resources", true) => resource_path(&service_path.child(own), &service[own], inner),
                (_, true) => service_path.child(own),
                (_, false) => within(spec.child("mainContainer")),
            }
        }
        i if i <= others => within(spec.child("containers").index(i - 1)),
        _ => within(service_path.child("frontendSidecar")),
    }
}

/// Where a service writes an amount that is called `resources.limits[nvidia.com/gpu]` in a container.
fn resource_path(path: &Path, resources: &Value, field: &str) -> Path {
    let [_, list, name] = steps(field)[..] else { return path.clone() };
    let (path, amounts) = (path.child(list), &resources[list]);
    if amounts.get(name).is_some() {
        path.key(name)
    } else if amounts["custom"].get(name).is_some() {
        path.child("custom").key(name)
    } else {
        path.child("gpu")
    }
}
