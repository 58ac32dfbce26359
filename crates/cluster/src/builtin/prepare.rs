//! What a write may touch: parts that belong to another way of writing are put back, and generations move.

use serde_json::{Map, Value, json};

use super::qos::qos_class;
use super::reach::{at, list, map_mut, members_mut, number, put, text};

/// How an object is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// It is new.
    Create,
    /// Its main part.
    Update,
    /// Its status.
    UpdateStatus,
}

/// Fits an object of a built-in kind to what the verb may touch. New objects have their `creationTimestamp` already; `old` is there for
/// updates.
pub fn prepare(kind: &str, group: &str, verb: Verb, object: &mut Value, old: Option<&Value>) {
    match (verb, old) {
        (Verb::Update, Some(old)) => prepare_update(kind, group, object, old),
        (Verb::UpdateStatus, Some(old)) => prepare_status(kind, object, old),
        _ => prepare_create(kind, group, object),
    }
}

/// Kinds whose generation is kept by the server; others keep what was given when they were made.
fn counts_generations(kind: &str) -> bool {
    matches!(
        kind,
        "Pod"
            | "PodDisruptionBudget"
            | "PriorityClass"
            | "MutatingWebhookConfiguration"
            | "ValidatingWebhookConfiguration"
            | "DeviceClass"
            | "CustomResourceDefinition"
    )
}

fn has_status(kind: &str) -> bool {
    matches!(
        kind,
        "Pod"
            | "Node"
            | "Namespace"
            | "Service"
            | "PersistentVolume"
            | "PersistentVolumeClaim"
            | "HorizontalPodAutoscaler"
            | "PodDisruptionBudget"
            | "ResourceClaim"
            | "CustomResourceDefinition"
    )
}

fn prepare_create(kind: &str, group: &str, object: &mut Value) {
    if counts_generations(kind)
        && let Some(metadata) = map_mut(object, "metadata")
    {
        metadata.insert("generation".to_owned(), 1.into());
    }
    if let Some(metadata) = map_mut(object, "metadata") {
        for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
            metadata.remove(field);
        }
    }
    // Nodes are made by those who know their status.
    if has_status(kind) && kind != "Node" {
        set(object, "status", Some(json!({})));
    }
    match (group, kind) {
        ("", "Pod") => create_pod(object),
        ("", "Namespace") => create_namespace(object),
        ("", "Node") => {
            remove(object, "spec", "configSource");
            remove(object, "status", "config");
        }
        ("", "PersistentVolume") => {
            let status =
                json!({"phase": "Pending", "lastPhaseTransitionTime": at(object, "metadata.creationTimestamp")});
            set(object, "status", Some(status));
        }
        ("", "PersistentVolumeClaim") => share_data_source(object),
        ("coordination.k8s.io", _) => {
            // Leases that name a strategy are switched off in a default server.
            remove(object, "spec", "strategy");
            remove(object, "spec", "preferredHolder");
        }
        (_, "CustomResourceDefinition") => store_version(object),
        _ => {}
    }
    // What the new status shows by itself is filled in by its type.
    super::default(kind, group, object);
}

fn create_pod(pod: &mut Value) {
    let mut status = json!({"phase": "Pending", "qosClass": qos_class(pod)});
    if !list(pod, "spec.schedulingGates").is_empty() {
        status["conditions"] = json!([{
            "type": "PodScheduled",
            "status": "False",
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
            "lastTransitionTime": at(pod, "metadata.creationTimestamp"),
        }]);
    }
    set(pod, "status", Some(status));
    let labels = at(pod, "metadata.labels").clone();
    for (kind, terms, inner) in [
        ("podAffinity", "requiredDuringSchedulingIgnoredDuringExecution", ""),
        ("podAffinity", "preferredDuringSchedulingIgnoredDuringExecution", "podAffinityTerm"),
        ("podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution", ""),
        ("podAntiAffinity", "preferredDuringSchedulingIgnoredDuringExecution", "podAffinityTerm"),
    ] {
        for term in members_mut(pod, &format!("spec.affinity.{kind}.{terms}")) {
            let term = if inner.is_empty() { Some(term) } else { term.get_mut(inner).and_then(Value::as_object_mut) };
            if let Some(term) = term {
                select_by_own_labels(term, &labels);
            }
        }
    }
    for constraint in members_mut(pod, "spec.topologySpreadConstraints") {
        select_by_own_labels(constraint, &labels);
    }
}

/// Keys that are to be matched with the pod's own labels become part of the selector.
fn select_by_own_labels(term: &mut Map<String, Value>, labels: &Value) {
    let mut expressions = Vec::new();
    for (field, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        for key in term.get(field).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
            if let Some(value) = labels.get(key) {
                expressions.push(json!({"key": key, "operator": operator, "values": [value]}));
            }
        }
    }
    let Some(selector) = term.get_mut("labelSelector").and_then(Value::as_object_mut) else { return };
    if !expressions.is_empty()
        && let Some(all) = selector.entry("matchExpressions").or_insert_with(|| json!([])).as_array_mut()
    {
        all.extend(expressions);
    }
}

fn create_namespace(namespace: &mut Value) {
    set(namespace, "status", Some(json!({"phase": "Active"})));
    let Some(spec) = map_mut(namespace, "spec") else { return };
    let finalizers = spec.entry("finalizers").or_insert_with(|| json!([]));
    if let Some(finalizers) = finalizers.as_array_mut()
        && !finalizers.iter().any(|finalizer| finalizer == "kubernetes")
    {
        finalizers.push("kubernetes".into());
    }
}

/// What a claim is filled with has two names, each of which follows the other.
fn share_data_source(claim: &mut Value) {
    let Some(spec) = map_mut(claim, "spec") else { return };
    let foreign = spec.get("dataSourceRef").is_some_and(|source| source.get("namespace").is_some());
    match (spec.get("dataSource").cloned(), spec.get("dataSourceRef").cloned()) {
        (Some(source), None) => spec.insert("dataSourceRef".to_owned(), source),
        (None, Some(source)) if !foreign => spec.insert("dataSource".to_owned(), source),
        _ => None,
    };
}

/// The version that is stored now belongs to those that are stored.
fn store_version(definition: &mut Value) {
    let stored = list(definition, "spec.versions").iter().find(|version| version["storage"] == true);
    let Some(stored) = stored.map(|version| version["name"].clone()) else { return };
    let Some(status) = map_mut(definition, "status") else { return };
    let versions = status.entry("storedVersions").or_insert_with(|| json!([]));
    if versions.is_null() {
        *versions = json!([]);
    }
    if let Some(versions) = versions.as_array_mut()
        && !versions.contains(&stored)
    {
        versions.push(stored);
    }
}

/// What the server keeps in metadata whatever a client sends.
fn keep_metadata(object: &mut Value, old: &Value) {
    let Some(metadata) = map_mut(object, "metadata") else { return };
    let before = &old["metadata"];
    for field in ["creationTimestamp", "deletionTimestamp"] {
        if let Some(value) = before.get(field) {
            metadata.insert(field.to_owned(), value.clone());
        }
    }
    for field in ["uid", "deletionGracePeriodSeconds"] {
        if let Some(value) = before.get(field) {
            super::reach::fill(metadata, field, value.clone());
        }
    }
    metadata.remove("selfLink");
    put(metadata, "generation", before.get("generation").cloned());
}

fn prepare_update(kind: &str, group: &str, object: &mut Value, old: &Value) {
    if has_status(kind) {
        set(object, "status", old.get("status").cloned());
    }
    match (group, kind) {
        ("", "Pod") => keep_priority(object, old),
        ("", "Namespace") => {
            if let Some(spec) = map_mut(object, "spec") {
                put(spec, "finalizers", old["spec"].get("finalizers").cloned());
            }
        }
        ("", "Node") if at(old, "spec.configSource").is_null() => remove(object, "spec", "configSource"),
        ("", "PersistentVolumeClaim") => share_data_source(object),
        ("", "Service") => super::service::forget_what_no_longer_applies(object, old),
        (_, "CustomResourceDefinition") => store_version(object),
        _ => {}
    }
    keep_metadata(object, old);
    if counts_generations(kind) && kind != "PriorityClass" && !same_content(kind, object, old) {
        let next = number(old, "metadata.generation") + 1;
        if let Some(metadata) = map_mut(object, "metadata") {
            metadata.insert("generation".to_owned(), next.into());
        }
    }
}

/// Whether the part of an object that its generation counts is as it was.
fn same_content(kind: &str, object: &Value, old: &Value) -> bool {
    let part = match kind {
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => "webhooks",
        _ => "spec",
    };
    object.get(part) == old.get(part)
}

/// Those who do not know of priorities do not take them away.
fn keep_priority(pod: &mut Value, old: &Value) {
    let Some(spec) = map_mut(pod, "spec") else { return };
    for field in ["priority", "preemptionPolicy"] {
        if let Some(value) = old["spec"].get(field)
            && !spec.contains_key(field)
        {
            spec.insert(field.to_owned(), value.clone());
        }
    }
}

fn prepare_status(kind: &str, object: &mut Value, old: &Value) {
    set(object, "spec", old.get("spec").cloned());
    match kind {
        "Pod" => {
            if let Some(metadata) = map_mut(object, "metadata") {
                put(metadata, "ownerReferences", old["metadata"].get("ownerReferences").cloned());
                put(metadata, "deletionTimestamp", old["metadata"].get("deletionTimestamp").cloned());
            }
            keep_observed(object, old);
        }
        "ResourceClaim" => reset_metadata(object, old),
        "Node" if at(old, "status.config").is_null() => remove(object, "status", "config"),
        _ => {}
    }
    keep_metadata(object, old);
}

/// A status that says nothing about the class or the generation it saw keeps what was said.
fn keep_observed(pod: &mut Value, old: &Value) {
    let mut seen: Vec<(&str, &Value)> =
        list(old, "status.conditions").iter().map(|old| (text(old, "type"), &old["observedGeneration"])).collect();
    for condition in members_mut(pod, "status.conditions") {
        let kind = condition.get("type").and_then(Value::as_str).unwrap_or_default();
        let Some(place) = seen.iter().position(|(seen, _)| *seen == kind) else { continue };
        let (_, generation) = seen.remove(place);
        if !generation.is_null() {
            super::reach::fill(condition, "observedGeneration", generation.clone());
        }
    }
    let Some(status) = map_mut(pod, "status") else { return };
    for field in ["qosClass", "observedGeneration"] {
        if let Some(value) = old["status"].get(field) {
            super::reach::fill(status, field, value.clone());
        }
    }
}

/// Where a status write may not touch metadata at all.
fn reset_metadata(object: &mut Value, old: &Value) {
    let Some(metadata) = map_mut(object, "metadata") else { return };
    for field in ["labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp"] {
        put(metadata, field, old["metadata"].get(field).cloned());
    }
}

fn set(object: &mut Value, field: &str, value: Option<Value>) {
    if let Some(object) = object.as_object_mut() {
        put(object, field, value);
    }
}

fn remove(object: &mut Value, part: &str, field: &str) {
    if let Some(part) = object.get_mut(part).and_then(Value::as_object_mut) {
        part.remove(field);
    }
}

/// What a deletion that has to wait changes in an object, beside its metadata.
pub fn terminating(kind: &str, group: &str, object: &mut Value) {
    if (group, kind) == ("", "Namespace")
        && let Some(status) = map_mut(object, "status")
    {
        status.insert("phase".to_owned(), "Terminating".into());
    }
}

/// Whether PUT of an object that is not there makes it.
pub fn creates_on_update(kind: &str, group: &str) -> bool {
    matches!(
        (group, kind),
        ("", "Service")
            | ("" | "events.k8s.io", "Event")
            | ("coordination.k8s.io", "Lease")
            | ("node.k8s.io", "RuntimeClass")
            | ("rbac.authorization.k8s.io", _)
    )
}

/// Whether PUT without a resourceVersion writes over whatever is there.
pub fn updates_unconditionally(kind: &str, group: &str) -> bool {
    !matches!(
        (group, kind),
        ("coordination.k8s.io" | "policy" | "node.k8s.io" | "admissionregistration.k8s.io" | "apiextensions.k8s.io", _)
    )
}

/// Whether DELETE answers with the object as it was, rather than with a short success.
pub fn returns_deleted(kind: &str, group: &str) -> bool {
    matches!(
        (group, kind),
        ("", "Namespace" | "Pod" | "Service" | "ServiceAccount" | "PersistentVolume" | "PersistentVolumeClaim")
            | ("resource.k8s.io" | "storage.k8s.io", _)
    )
}

/// Which fields a write of the main part, or of the status, leaves as they were; server-side apply does not own them there.
pub fn reset_fields(kind: &str, group: &str, subresource: &str) -> &'static [&'static str] {
    match (subresource, group, kind) {
        ("status", "", "Pod") => &["spec", "metadata.deletionTimestamp", "metadata.ownerReferences"],
        ("status", "resource.k8s.io", "ResourceClaim") => &["metadata", "spec"],
        ("status", _, kind) if has_status(kind) => &["spec"],
        ("", _, kind) if has_status(kind) => &["status"],
        _ => &[],
    }
}
