//! What is filled in pods.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::builtin::quantity::Quantity;
use crate::builtin::reach::{at, fill, list, members_mut, put, text, truth};

/// What only pods get, not the templates of pods.
pub fn complete(object: &mut Map<String, Value>) {
    if let Some(annotations) =
        object.get_mut("metadata").and_then(|metadata| metadata.get_mut("annotations")?.as_object_mut())
    {
        // Init containers stood here once; a server drops them so that nobody believes them.
        annotations.retain(|key, _| !key.starts_with("pod.") || !OLD_INIT_CONTAINERS.contains(&key.as_str()));
    }
    let Some(spec) = object.get_mut("spec") else { return };
    for containers in ["containers", "initContainers"] {
        members_mut(spec, containers).for_each(requests_from_limits);
    }
    pod_requests(spec);
    let host_network = truth(spec, "hostNetwork");
    if let Some(spec) = spec.as_object_mut() {
        fill(spec, "enableServiceLinks", true);
    }
    if host_network {
        for containers in ["containers", "initContainers"] {
            for container in members_mut(spec, containers) {
                for port in container.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
                    let number = port["containerPort"].clone();
                    if let Some(port) = port.as_object_mut() {
                        fill(port, "hostPort", number);
                    }
                }
            }
        }
    }
}

const OLD_INIT_CONTAINERS: [&str; 4] = [
    "pod.beta.kubernetes.io/init-containers",
    "pod.alpha.kubernetes.io/init-containers",
    "pod.beta.kubernetes.io/init-container-statuses",
    "pod.alpha.kubernetes.io/init-container-statuses",
];

fn requests_from_limits(container: &mut Map<String, Value>) {
    let Some(resources) = container.get_mut("resources").and_then(Value::as_object_mut) else { return };
    let Some(limits) = resources.get("limits").and_then(Value::as_object).cloned() else { return };
    let requests = resources.entry("requests").or_insert_with(|| json!({}));
    if let Some(requests) = requests.as_object_mut() {
        limits.into_iter().for_each(|(name, amount)| fill(requests, &name, amount));
    }
}

/// Requests of the pod as a whole, where it has limits: what its containers ask for together, else the limits.
fn pod_requests(spec: &mut Value) {
    let huge = |name: &str| name.starts_with("hugepages-");
    let given = |field: &str| spec["resources"][field].as_object().cloned().unwrap_or_default();
    let (mut limits, mut requests) = (given("limits"), given("requests"));
    if limits.is_empty() && requests.is_empty() {
        return;
    }
    for (name, amount) in aggregate(spec, "limits").into_iter().filter(|(name, _)| huge(name)) {
        if !requests.contains_key(&name) {
            fill(&mut limits, &name, amount.to_string());
        }
    }
    if !limits.is_empty() {
        for (name, amount) in aggregate(spec, "requests") {
            if name == "cpu" || name == "memory" {
                fill(&mut requests, &name, amount.to_string());
            }
        }
        for (name, amount) in &limits {
            if name == "cpu" || name == "memory" || huge(name) {
                fill(&mut requests, name, amount.clone());
            }
        }
    }
    if let Some(resources) = spec["resources"].as_object_mut() {
        put(resources, "limits", (!limits.is_empty()).then(|| limits.into()));
        put(resources, "requests", (!requests.is_empty()).then(|| requests.into()));
    }
}

/// What the containers of a pod need together: the sum of those that run side by side, or more if one that runs before needs more.
fn aggregate(spec: &Value, field: &str) -> BTreeMap<String, Quantity> {
    let amounts = |container: &Value| -> BTreeMap<String, Quantity> {
        let named = container["resources"][field].as_object().into_iter().flatten();
        named.filter_map(|(name, amount)| Some((name.clone(), Quantity::of(amount)?))).collect()
    };
    let add = |into: &mut BTreeMap<String, Quantity>, more: BTreeMap<String, Quantity>| {
        for (name, amount) in more {
            into.entry(name).and_modify(|sum| *sum = sum.plus(amount)).or_insert(amount);
        }
    };
    let (mut running, mut before, mut beside) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for container in list(spec, "containers") {
        add(&mut running, amounts(container));
    }
    for container in list(spec, "initContainers") {
        let mut needed = amounts(container);
        if text(container, "restartPolicy") == "Always" {
            add(&mut running, needed.clone());
            add(&mut beside, needed);
            needed = beside.clone();
        } else {
            add(&mut needed, beside.clone());
        }
        for (name, amount) in needed {
            before.entry(name).and_modify(|most: &mut Quantity| *most = amount.max(*most)).or_insert(amount);
        }
    }
    for (name, amount) in before {
        running.entry(name).and_modify(|most: &mut Quantity| *most = amount.max(*most)).or_insert(amount);
    }
    running
}

/// The account has two names, of which the old one follows the new one.
pub fn complete_spec(object: &mut Map<String, Value>) {
    let name = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    let account = match name("serviceAccountName") {
        "" => name("serviceAccount"),
        name => name,
    };
    let account = (!account.is_empty()).then(|| Value::from(account));
    if object.get("terminationGracePeriodSeconds").and_then(Value::as_i64).is_some_and(|seconds| seconds < 0) {
        object.insert("terminationGracePeriodSeconds".to_owned(), 1.into());
    }
    put(object, "serviceAccountName", account.clone());
    put(object, "serviceAccount", account);
}

/// The first of the addresses also stands alone; alone it wins.
pub fn complete_status(object: &mut Map<String, Value>) {
    let alone = object.get("podIP").and_then(Value::as_str).unwrap_or_default().to_owned();
    let first = object.get("podIPs").map(|addresses| text(&addresses[0], "ip")).unwrap_or_default().to_owned();
    if alone.is_empty() {
        if !first.is_empty() {
            object.insert("podIP".to_owned(), first.into());
        }
    } else if alone != first {
        object.insert("podIPs".to_owned(), json!([{"ip": alone}]));
    }
}

/// Images without a fixed tag are always pulled.
pub fn complete_container(object: &mut Map<String, Value>) {
    let image = object.get("image").and_then(Value::as_str).unwrap_or_default();
    let policy = if is_latest(image) { "Always" } else { "IfNotPresent" };
    fill(object, "imagePullPolicy", policy);
}

/// A volume of no kind is an empty folder.
pub fn complete_volume(object: &mut Map<String, Value>) {
    if object.keys().all(|key| key == "name") {
        object.insert("emptyDir".to_owned(), json!({}));
    }
    if let Some(image) = object.get_mut("image") {
        let policy = if is_latest(text(image, "reference")) { "Always" } else { "IfNotPresent" };
        if at(image, "pullPolicy").is_null()
            && let Some(image) = image.as_object_mut()
        {
            fill(image, "pullPolicy", policy);
        }
    }
}

/// Whether an image is named without a tag and digest, or with the tag `latest`. What is no name of an image is not.
fn is_latest(image: &str) -> bool {
    let (named, digest) = match image.split_once('@') {
        Some((named, _)) => (named, true),
        None => (image, false),
    };
    // The first part is a host only if it looks like one; everything after it is in lower case.
    let (host, path) = match named.split_once('/') {
        Some((host, path)) if host.contains(['.', ':']) || host == "localhost" || host.to_lowercase() != host => {
            (host, path)
        }
        _ => ("", named),
    };
    let (path, tag) = match path.rsplit_once(':') {
        Some((path, tag)) if !tag.contains('/') => (path, Some(tag)),
        _ => (path, None),
    };
    let lower = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let part = |part: &str| {
        part.bytes().next().is_some_and(lower)
            && part.bytes().last().is_some_and(lower)
            && part.bytes().all(|byte| lower(byte) || b"._-".contains(&byte))
    };
    let host = host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".:-[]".contains(&byte));
    host && path.split('/').all(part) && tag.map_or(!digest, |tag| tag == "latest")
}
