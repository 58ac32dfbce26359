//! The rules for the part that every object has: names, labels, owners, finalizers, and what of it can change.

use serde_json::Value;

use super::names::{self, Rule};
use super::reach::{at, entries, list, text};
use crate::resource::Resource;
use crate::status::{Fault, What};

const LONGEST_ANNOTATIONS: usize = 256 * 1024;

/// How the metadata of a kind is judged. A real server judges it several times on its way, and tells a fault each time.
#[derive(Debug, Clone, Copy)]
struct Judge {
    name: Rule,
    /// Finalizers have to be known or to carry a prefix.
    finalizers: bool,
    /// Whether the kind's own rules look at changes of metadata.
    changes: bool,
    /// How often the kind's own rules for new objects look at a changed one.
    again: usize,
}

fn judge(resource: &Resource, subresource: &str) -> Judge {
    let common = Judge { name: Rule::Subdomain, finalizers: true, changes: true, again: 1 };
    if resource.is_custom() {
        return Judge { finalizers: false, again: 0, ..common };
    }
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Namespace") => Judge { name: Rule::Label, ..common },
        ("", "Service") => Judge { name: Rule::Label, again: 0, ..common },
        ("", "PersistentVolume") => Judge { changes: !subresource.is_empty(), again: 2, ..common },
        ("", "Event") | ("policy", _) => Judge { name: Rule::Segment, finalizers: false, changes: false, again: 0 },
        ("rbac.authorization.k8s.io", _) => Judge { name: Rule::Segment, ..common },
        ("admissionregistration.k8s.io", _) => Judge { finalizers: false, changes: false, ..common },
        ("coordination.k8s.io" | "apiextensions.k8s.io", _) => Judge { finalizers: false, again: 0, ..common },
        ("node.k8s.io", _) => Judge { finalizers: false, ..common },
        ("scheduling.k8s.io" | "autoscaling" | "events.k8s.io", _) => Judge { again: 0, ..common },
        _ => common,
    }
}

/// What is wrong with the metadata of an object of any kind, new or changed. `subresource` is empty for the main part.
pub fn metadata_faults(resource: &Resource, object: &Value, old: Option<&Value>, subresource: &str) -> Vec<Fault> {
    let judge = judge(resource, subresource);
    let mut faults = Vec::new();
    let Some(old) = old else {
        new_faults(object, resource.namespaced, judge.name, &mut faults);
        if judge.finalizers {
            finalizer_names(object, &mut faults);
        }
        return faults;
    };
    new_faults(object, resource.namespaced, Rule::Segment, &mut faults);
    change_faults(object, old, &mut faults);
    if judge.changes {
        change_faults(object, old, &mut faults);
        if judge.finalizers {
            finalizer_names(object, &mut faults);
        }
    }
    for _ in 0..if subresource.is_empty() { judge.again } else { 0 } {
        new_faults(object, resource.namespaced, judge.name, &mut faults);
        if judge.finalizers {
            finalizer_names(object, &mut faults);
        }
    }
    faults
}

/// What holds for every object at any time.
fn new_faults(object: &Value, namespaced: bool, rule: Rule, faults: &mut Vec<Fault>) {
    let metadata = &object["metadata"];
    let (name, prefix) = (text(metadata, "name"), text(metadata, "generateName"));
    if !prefix.is_empty() {
        invalid("metadata.generateName", prefix, names::faults(rule, prefix, true), faults);
    }
    if name.is_empty() {
        faults.push(Fault::required("metadata.name", "name or generateName is required"));
    } else {
        invalid("metadata.name", name, names::faults(rule, name, false), faults);
    }
    let namespace = text(metadata, "namespace");
    match (namespaced, namespace.is_empty()) {
        (true, true) => faults.push(Fault::required("metadata.namespace", "")),
        (true, false) => invalid("metadata.namespace", namespace, names::faults(Rule::Label, namespace, false), faults),
        (false, false) => faults.push(Fault::forbidden("metadata.namespace", "not allowed on this type")),
        (false, true) => {}
    }
    if let Some(generation) = metadata["generation"].as_i64().filter(|&generation| generation < 0) {
        let detail = "must be greater than or equal to 0";
        faults.push(Fault::of(What::Invalid, "metadata.generation", generation.into(), detail));
    }
    lasting_faults(metadata, faults);
    finalizers(metadata, faults);
}

/// Labels, annotations and owners.
fn lasting_faults(metadata: &Value, faults: &mut Vec<Fault>) {
    label_faults(&metadata["labels"], "metadata.labels", faults);
    annotation_faults(&metadata["annotations"], "metadata.annotations", faults);
    owner_faults(metadata, faults);
}

/// What is wrong with labels at a path.
pub fn label_faults(labels: &Value, path: &str, faults: &mut Vec<Fault>) {
    for (key, value) in labels.as_object().into_iter().flatten() {
        invalid(path, key, names::label_key(key), faults);
        let value = value.as_str().unwrap_or_default();
        invalid(path, value, names::label_value(value), faults);
    }
}

/// What is wrong with annotations at a path.
pub fn annotation_faults(annotations: &Value, path: &str, faults: &mut Vec<Fault>) {
    let mut size = 0;
    for (key, value) in annotations.as_object().into_iter().flatten() {
        // Prefixes of annotations may be in upper case.
        invalid(path, key, names::qualified(&key.to_lowercase()), faults);
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > LONGEST_ANNOTATIONS {
        let detail = format!("may not be more than {LONGEST_ANNOTATIONS} bytes");
        faults.push(Fault { what: What::TooLong, field: path.to_owned(), value: None, detail });
    }
}

fn owner_faults(metadata: &Value, faults: &mut Vec<Fault>) {
    let mut controller: Option<&Value> = None;
    for owner in list(metadata, "ownerReferences") {
        let field = |name: &str| format!("metadata.ownerReferences.{name}");
        let api_version = text(owner, "apiVersion");
        let version = match api_version.split('/').collect::<Vec<_>>()[..] {
            [version] | [_, version] => version,
            _ => "",
        };
        let mut empty = |name: &str, detail: &str, value: &str| {
            faults.push(Fault::of(What::Invalid, field(name), value.into(), detail));
        };
        if version.is_empty() {
            empty("apiVersion", "version must not be empty", api_version);
        }
        for name in ["kind", "name", "uid"] {
            if text(owner, name).is_empty() {
                empty(name, "must not be empty", "");
            }
        }
        if text(owner, "kind") == "Event" && matches!(api_version, "v1" | "events.k8s.io/v1") {
            let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
            let shown = in_order(owner);
            let detail = format!("{shown}: {group}/{version}, Kind=Event is disallowed from being an owner");
            faults.push(Fault {
                what: What::Invalid,
                field: "metadata.ownerReferences".to_owned(),
                value: None,
                detail,
            });
        }
        if owner["controller"] == true {
            if let Some(first) = controller {
                let shown: Vec<String> = list(metadata, "ownerReferences").iter().map(in_order).collect();
                let named = |owner: &Value| format!("{}/{}", text(owner, "kind"), text(owner, "name"));
                let detail = format!(
                    "[{}]: Only one reference can have Controller set to true. Found \"true\" in references for {} and {}",
                    shown.join(","),
                    named(first),
                    named(owner)
                );
                faults.push(Fault {
                    what: What::Invalid,
                    field: "metadata.ownerReferences".to_owned(),
                    value: None,
                    detail,
                });
            }
            controller = controller.or(Some(owner));
        }
    }
}

/// An owner with its fields in the order in which a server writes them.
fn in_order(owner: &Value) -> String {
    let fields = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
    let shown: Vec<String> =
        fields.iter().filter_map(|field| Some(format!("\"{field}\":{}", owner.get(field)?))).collect();
    format!("{{{}}}", shown.join(","))
}

fn finalizers(metadata: &Value, faults: &mut Vec<Fault>) {
    let all = list(metadata, "finalizers");
    for finalizer in all.iter().filter_map(Value::as_str) {
        invalid("metadata.finalizers", finalizer, names::qualified(finalizer), faults);
    }
    let has = |name: &str| all.iter().any(|finalizer| finalizer == name);
    if has("orphan") && has("foregroundDeletion") {
        let detail = "finalizer orphan and foregroundDeletion cannot be both set";
        faults.push(Fault::of(What::Invalid, "metadata.finalizers", all.into(), detail));
    }
}

/// Finalizers of built-in kinds are known ones or carry a prefix.
fn finalizer_names(object: &Value, faults: &mut Vec<Fault>) {
    for (at, finalizer) in list(object, "metadata.finalizers").iter().enumerate() {
        let name = finalizer.as_str().unwrap_or_default();
        if !name.contains('/') && !matches!(name, "kubernetes" | "orphan" | "foregroundDeletion") {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            faults.push(Fault::of(What::Invalid, format!("metadata.finalizers[{at}]"), name.into(), detail));
        }
    }
}

/// What cannot change, and what holds for the rest.
fn change_faults(object: &Value, old: &Value, faults: &mut Vec<Fault>) {
    let (metadata, before) = (&object["metadata"], &old["metadata"]);
    if before["deletionTimestamp"].is_string() {
        let known = list(before, "finalizers");
        let added: Vec<String> = list(metadata, "finalizers")
            .iter()
            .filter(|finalizer| !known.contains(finalizer))
            .map(ToString::to_string)
            .collect();
        if !added.is_empty() {
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                added.join(", ")
            );
            faults.push(Fault::forbidden("metadata.finalizers", detail));
        }
    }
    for field in ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        if at(metadata, field) != at(before, field) {
            let value = metadata[field].clone();
            faults.push(Fault::of(What::Invalid, format!("metadata.{field}"), value, "field is immutable"));
        }
    }
    lasting_faults(metadata, faults);
}

fn invalid(path: &str, value: &str, details: Vec<String>, faults: &mut Vec<Fault>) {
    faults.extend(details.into_iter().map(|detail| Fault::of(What::Invalid, path, value.into(), detail)));
}

/// What is wrong with a label selector at a path.
pub fn selector_faults(selector: &Value, path: &str, faults: &mut Vec<Fault>) {
    for (key, value) in entries(selector, "matchLabels") {
        let field = format!("{path}.matchLabels");
        invalid(&field, key, names::label_key(key), faults);
        let value = value.as_str().unwrap_or_default();
        invalid(&field, value, names::label_value(value), faults);
    }
    for (at, expression) in list(selector, "matchExpressions").iter().enumerate() {
        let path = format!("{path}.matchExpressions[{at}]");
        let values = list(expression, "values");
        match text(expression, "operator") {
            "In" | "NotIn" if values.is_empty() => {
                faults.push(Fault::required(
                    format!("{path}.values"),
                    "must be specified when `operator` is 'In' or 'NotIn'",
                ));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                faults.push(Fault::forbidden(format!("{path}.values"), detail));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            operator => {
                let detail = "not a valid selector operator";
                faults.push(Fault::of(What::Invalid, format!("{path}.operator"), operator.into(), detail));
            }
        }
        let key = text(expression, "key");
        invalid(&format!("{path}.key"), key, names::label_key(key), faults);
        for (at, value) in values.iter().enumerate() {
            let value = value.as_str().unwrap_or_default();
            invalid(&format!("{path}.values[{at}]"), value, names::label_value(value), faults);
        }
    }
}
