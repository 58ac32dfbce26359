//! What the admission plug-ins that a default API server runs do to objects.

use serde_json::{Value, json};

use super::reach::{at, list, map_mut, members_mut, put, text};

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

/// Pods stay five minutes on a node that is not ready or cannot be reached, unless they say otherwise.
pub fn tolerations(pod: &mut Value) {
    let said = |taint: &str| {
        list(pod, "spec.tolerations").iter().any(|toleration| {
            let (key, effect) = (text(toleration, "key"), text(toleration, "effect"));
            (key.is_empty() || key == taint) && (effect.is_empty() || effect == "NoExecute")
        })
    };
    let missing: Vec<Value> = [NOT_READY, UNREACHABLE]
        .into_iter()
        .filter(|taint| !said(taint))
        .map(|taint| json!({"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}))
        .collect();
    if !missing.is_empty() {
        append(pod, "spec", "tolerations", missing);
    }
}

/// Gives a pod the priority of its class: the named one, or the one that is for all who name none. The error is why it is forbidden.
pub fn priority(pod: &mut Value, class: Option<&Value>) -> Result<(), String> {
    let named = text(pod, "spec.priorityClassName").to_owned();
    let class = match class {
        None if !named.is_empty() => return Err(format!("no PriorityClass with name {named} was found")),
        class => class,
    };
    let computed = class.map_or(0, |class| class["value"].as_i64().unwrap_or_default());
    let policy = class.map_or("PreemptLowerPriority", |class| text(class, "preemptionPolicy"));
    let policy = if policy.is_empty() { "PreemptLowerPriority" } else { policy };
    if let Some(given) = at(pod, "spec.priority").as_i64().filter(|&given| given != computed) {
        return Err(format!(
            "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller computed {computed} from the given PriorityClass name"
        ));
    }
    if let Some(given) = at(pod, "spec.preemptionPolicy").as_str().filter(|&given| given != policy) {
        return Err(format!(
            "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; priority admission controller computed {policy} from the given PriorityClass name"
        ));
    }
    let policy = policy.to_owned();
    if let Some(spec) = map_mut(pod, "spec") {
        if let Some(class) = class {
            spec.insert("priorityClassName".to_owned(), class["metadata"]["name"].clone());
        }
        spec.insert("priority".to_owned(), computed.into());
        spec.insert("preemptionPolicy".to_owned(), policy.into());
    }
    Ok(())
}

const TOKEN_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Gives a pod its account and, unless that is switched off, the account's token as a volume whose name ends in `suffix`. The error is why
/// it is forbidden.
pub fn service_account(pod: &mut Value, account: Option<&Value>, suffix: &str) -> Result<(), String> {
    let mirror = !at(pod, "metadata.annotations")["kubernetes.io/config.mirror"].is_null();
    if mirror {
        return match text(pod, "spec.serviceAccountName") {
            "" => Ok(()),
            _ => Err("a mirror pod may not reference service accounts".to_owned()),
        };
    }
    let name = match text(pod, "spec.serviceAccountName") {
        "" => "default",
        name => name,
    };
    let name = name.to_owned();
    let Some(account) = account else {
        let namespace = text(pod, "metadata.namespace");
        return Err(format!("error looking up service account {namespace}/{name}: serviceaccount {name:?} not found"));
    };
    if let Some(spec) = map_mut(pod, "spec") {
        spec.insert("serviceAccountName".to_owned(), name.clone().into());
        spec.insert("serviceAccount".to_owned(), name.into());
    }
    let wanted = [at(pod, "spec.automountServiceAccountToken"), &account["automountServiceAccountToken"]];
    if wanted.into_iter().find_map(Value::as_bool).unwrap_or(true) {
        mount_token(pod, suffix);
    }
    let secrets = list(account, "imagePullSecrets");
    if list(pod, "spec.imagePullSecrets").is_empty()
        && !secrets.is_empty()
        && let Some(spec) = map_mut(pod, "spec")
    {
        let secrets: Vec<Value> = secrets.iter().map(|secret| json!({"name": secret["name"]})).collect();
        put(spec, "imagePullSecrets", Some(secrets.into()));
    }
    Ok(())
}

fn mount_token(pod: &mut Value, suffix: &str) {
    let existing = list(pod, "spec.volumes").iter().map(|volume| text(volume, "name"));
    let existing = existing.filter(|name| name.starts_with("kube-api-access-")).map(ToOwned::to_owned).next();
    let name = existing.clone().unwrap_or_else(|| format!("kube-api-access-{suffix}"));
    let mount = json!({"name": name, "readOnly": true, "mountPath": TOKEN_PATH});
    let mut needed = false;
    for containers in ["spec.initContainers", "spec.containers"] {
        for container in members_mut(pod, containers) {
            let mounts = container.entry("volumeMounts").or_insert_with(|| json!([]));
            let Some(mounts) = mounts.as_array_mut() else { continue };
            if !mounts.iter().any(|mount| mount["mountPath"] == TOKEN_PATH) {
                mounts.push(mount.clone());
                needed = true;
            }
        }
    }
    if needed && existing.is_none() {
        append(pod, "spec", "volumes", vec![token_volume(&name)]);
    }
}

fn token_volume(name: &str) -> Value {
    json!({
        "name": name,
        "projected": {
            "defaultMode": 420,
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                {"downwardAPI": {"items": [{
                    "path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                }]}},
            ],
        },
    })
}

/// Gives a pod what its runtime class brings: overhead, and where it can run. The error is why it is forbidden.
pub fn runtime_class(pod: &mut Value, class: Option<&Value>) -> Result<(), String> {
    let named = text(pod, "spec.runtimeClassName").to_owned();
    if !named.is_empty() && class.is_none() {
        return Err(format!("pod rejected: RuntimeClass {named:?} not found"));
    }
    let given = at(pod, "spec.overhead").clone();
    let brought = class.map_or(Value::Null, |class| at(class, "overhead.podFixed").clone());
    match (given.is_null(), brought.is_null()) {
        (false, true) => {
            return Err("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead".to_owned());
        }
        (false, false) if given != brought => {
            return Err("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead".to_owned());
        }
        (_, false) => {
            if let Some(spec) = map_mut(pod, "spec") {
                spec.insert("overhead".to_owned(), brought);
            }
        }
        (true, true) => {}
    }
    let Some(class) = class else { return Ok(()) };
    for (key, value) in super::reach::entries(class, "scheduling.nodeSelector") {
        let own = &at(pod, "spec.nodeSelector")[key];
        if !own.is_null() && own != value {
            let shown = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            return Err(format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {}; pod.spec.nodeSelector[{key}] = {}",
                shown(value),
                shown(own)
            ));
        }
        if let Some(selector) = map_mut(pod, "spec.nodeSelector") {
            selector.insert(key.clone(), value.clone());
        }
    }
    let more =
        list(class, "scheduling.tolerations").iter().filter(|more| !list(pod, "spec.tolerations").contains(more));
    let more: Vec<Value> = more.cloned().collect();
    if !more.is_empty() {
        append(pod, "spec", "tolerations", more);
    }
    Ok(())
}

/// A new node takes no pods until it is found ready.
pub fn taint_new_node(node: &mut Value) {
    let there =
        list(node, "spec.taints").iter().any(|taint| taint["key"] == NOT_READY && taint["effect"] == "NoSchedule");
    if !there {
        append(node, "spec", "taints", vec![json!({"key": NOT_READY, "effect": "NoSchedule"})]);
    }
}

/// Volumes and claims that are in use are not to vanish.
pub fn protect_storage(kind: &str, object: &mut Value) {
    let finalizer = match kind {
        "PersistentVolume" => "kubernetes.io/pv-protection",
        "PersistentVolumeClaim" => "kubernetes.io/pvc-protection",
        _ => return,
    };
    if !list(object, "metadata.finalizers").iter().any(|present| present == finalizer) {
        append(object, "metadata", "finalizers", vec![finalizer.into()]);
    }
}

/// A pod carries the zone and region of the node it is bound to: they come with the binding.
pub fn topology_labels(binding: &mut Value, node: Option<&Value>) {
    let Some(labels) = node.and_then(|node| at(node, "metadata.labels").as_object()) else { return };
    for key in ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"] {
        if let (Some(value), Some(own)) = (labels.get(key), map_mut(binding, "metadata.labels")) {
            own.insert(key.to_owned(), value.clone());
        }
    }
}

fn append(object: &mut Value, part: &str, field: &str, more: Vec<Value>) {
    let Some(part) = map_mut(object, part) else { return };
    if let Some(list) = part.entry(field).or_insert_with(|| json!([])).as_array_mut() {
        list.extend(more);
    }
}
