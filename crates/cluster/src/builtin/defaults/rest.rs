//! What is filled in kinds that need little.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::builtin::reach::{fill, list, map_mut, text};

/// Every namespace carries its name as a label.
pub fn complete_namespace(object: &mut Map<String, Value>) {
    let Some(metadata) = object.get_mut("metadata") else { return };
    let name = text(metadata, "name").to_owned();
    if !name.is_empty()
        && let Some(labels) = map_mut(metadata, "labels")
    {
        labels.insert("kubernetes.io/metadata.name".to_owned(), name.into());
    }
}

/// The first of the address ranges also stands alone.
pub fn complete_node_spec(object: &mut Map<String, Value>) {
    let alone = object.get("podCIDR").and_then(Value::as_str).unwrap_or_default().to_owned();
    let first = object.get("podCIDRs").and_then(|ranges| ranges[0].as_str()).unwrap_or_default().to_owned();
    if alone.is_empty() {
        if !first.is_empty() {
            object.insert("podCIDR".to_owned(), first.into());
        }
    } else if alone != first {
        object.insert("podCIDRs".to_owned(), json!([alone]));
    }
}

/// A node that says nothing else can give all it has.
pub fn complete_node_status(object: &mut Map<String, Value>) {
    if let Some(capacity) = object.get("capacity").cloned() {
        fill(object, "allocatable", capacity);
    }
}

/// Plain text of a secret becomes data.
pub fn complete_secret(object: &mut Map<String, Value>) {
    let Some(Value::Object(plain)) = object.remove("stringData") else { return };
    let data = object.entry("data").or_insert_with(|| json!({}));
    if let Some(data) = data.as_object_mut() {
        for (key, value) in plain {
            data.insert(key, STANDARD.encode(value.as_str().unwrap_or_default()).into());
        }
    }
}

/// Users and groups belong to the group of roles.
pub fn complete_subject(object: &mut Map<String, Value>) {
    if matches!(object.get("kind").and_then(Value::as_str), Some("User" | "Group")) {
        fill(object, "apiGroup", "rbac.authorization.k8s.io");
    }
}

/// One device, if nothing is said.
pub fn complete_device_request(object: &mut Map<String, Value>) {
    fill(object, "allocationMode", "ExactCount");
    if object.get("allocationMode").is_some_and(|mode| mode == "ExactCount") {
        fill(object, "count", 1);
    }
}

/// Metrics and, where rules are given, the rest of the rules.
pub fn complete_autoscaler(object: &mut Map<String, Value>) {
    let cpu = json!([{
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
    }]);
    fill(object, "metrics", cpu);
    let Some(behavior) = object.get_mut("behavior").and_then(Value::as_object_mut) else { return };
    let up = json!({
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [
            {"type": "Pods", "value": 4, "periodSeconds": 15},
            {"type": "Percent", "value": 100, "periodSeconds": 15},
        ],
    });
    let down = json!({
        "selectPolicy": "Max",
        "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
    });
    for (field, rules) in [("scaleUp", up), ("scaleDown", down)] {
        let given = behavior.entry(field).or_insert_with(|| json!({}));
        if let (Some(given), Value::Object(rules)) = (given.as_object_mut(), rules) {
            rules.into_iter().for_each(|(key, value)| fill(given, &key, value));
        }
    }
}

/// Names that follow from others, and the version that is stored from the start.
pub fn complete_definition(object: &mut Map<String, Value>) {
    let Some(spec) = object.get_mut("spec") else { return };
    let stored = list(spec, "versions").iter().find(|version| version["storage"] == true);
    let stored = stored.map(|version| version["name"].clone());
    let kind = text(spec, "names.kind").to_owned();
    if let Some(names) = map_mut(spec, "names").filter(|_| !kind.is_empty()) {
        fill(names, "singular", kind.to_lowercase());
        fill(names, "listKind", format!("{kind}List"));
    }
    if let Some(spec) = spec.as_object_mut() {
        fill(spec, "conversion", json!({"strategy": "None"}));
    }
    if let (Some(stored), Some(status)) = (stored, object.get_mut("status").and_then(Value::as_object_mut)) {
        let none = status.get("storedVersions").and_then(Value::as_array).is_none_or(Vec::is_empty);
        if none {
            status.insert("storedVersions".to_owned(), json!([stored]));
        }
    }
}
