//! Amounts of resources and names of volumes: what an API server refuses in every pod, so that none could ever be made.

use super::super::form;
use crate::field::{FieldError, Path};
use crate::kinds::PodSpec;
use crate::names::resource;
use crate::quantity::{NANOS, parse};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

pub fn check(pod: &PodSpec, path: &Path, errors: &mut Vec<FieldError>) {
    let names = volumes(pod, path, errors);
    for list in ["initContainers", "containers"] {
        for (i, container) in pod.objects(list) {
            let path = path.child(list).index(i);
            amounts(container, &path.child("resources"), errors);
            mounts(container, &names, &path.child("volumeMounts"), errors);
        }
    }
}

fn amounts(container: &Map<String, Value>, path: &Path, errors: &mut Vec<FieldError>) {
    let Some(resources) = container.get("resources") else { return };
    for list in ["limits", "requests"] {
        for (name, amount) in resources[list].as_object().into_iter().flatten() {
            let path = path.child(list).key(name);
            if let Some(fault) = name_fault(name) {
                errors.push(FieldError::invalid(&path, name.as_str(), fault));
            } else if let Some(fault) = amount_fault(name, amount) {
                errors.push(FieldError::invalid(&path, amount.clone(), fault));
            }
        }
    }
}

/// Resources of a container are a few of Kubernetes' own, and those that devices have, with a prefix.
fn name_fault(name: &str) -> Option<&'static str> {
    let is_own = [resource::CPU, resource::MEMORY, resource::EPHEMERAL_STORAGE].contains(&name)
        || name.starts_with(resource::HUGE_PAGES);
    let is_legal = form::label_key_fault(name).is_none() && (is_own || name.contains('/'));
    (!is_legal).then_some(
        "must be a resource of containers: cpu, memory, ephemeral-storage, hugepages-<size>, or one with a prefix (e.g. 'nvidia.com/gpu')",
    )
}

/// What is no text and no number is a fault of form, and told as one.
fn amount_fault(name: &str, amount: &Value) -> Option<String> {
    let text = match amount {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    match parse(&text) {
        Err(fault) => Some(fault),
        Ok(nanos) if nanos < 0 => Some("must not be negative".to_owned()),
        Ok(nanos) if name.contains('/') && !name.contains("kubernetes.io/") && nanos % NANOS != 0 => {
            Some("must be a whole number".to_owned())
        }
        Ok(_) => None,
    }
}

/// Names of the volumes, which are checked.
fn volumes<'a>(pod: &'a PodSpec, path: &Path, errors: &mut Vec<FieldError>) -> BTreeSet<&'a str> {
    let mut names = BTreeSet::new();
    for (i, volume) in pod.objects("volumes") {
        let path = path.child("volumes").index(i).child("name");
        match volume.get("name").and_then(Value::as_str).filter(|name| !name.is_empty()) {
            None => errors.push(FieldError::required(&path, "must not be empty")),
            Some(name) if !names.insert(name) => errors.push(FieldError::duplicate(&path, name)),
            Some(name) => form::dns_label(&path, name, "volume", errors),
        }
    }
    names
}

fn mounts(container: &Map<String, Value>, volumes: &BTreeSet<&str>, path: &Path, errors: &mut Vec<FieldError>) {
    let mounts = container.get("volumeMounts").and_then(Value::as_array).into_iter().flatten();
    for (i, mount) in mounts.enumerate() {
        let name = mount.get("name").and_then(Value::as_str).unwrap_or_default();
        if !volumes.contains(name) {
            let message = "the pod has no volume of this name";
            errors.push(FieldError::not_found(&path.index(i).child("name"), name, message));
        }
    }
}
