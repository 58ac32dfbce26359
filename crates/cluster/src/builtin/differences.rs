//! Where our tables and a real server's documents say different things about the same type.

use serde_json::Value;

use super::publish::components;

/// What is compared of a property, beside its type.
const SAID: [&str; 7] = [
    "default",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-patch-merge-key",
    "x-kubernetes-patch-strategy",
    "format",
];

/// Every difference between our types and one of a server's OpenAPI v3 documents, in words; fields that only the server has are none,
/// since it may be newer.
pub fn differences(server: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for (name, theirs) in server["components"]["schemas"].as_object().into_iter().flatten() {
        // These two list all the kinds of a server.
        if name.ends_with("meta.v1.DeleteOptions") || name.ends_with("meta.v1.WatchEvent") {
            continue;
        }
        if let Some(ours) = components().get(name) {
            compare_type(name, ours, theirs, &mut found);
        }
    }
    found
}

fn compare_type(name: &str, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    for key in ["type", "oneOf", "format", "x-kubernetes-map-type", "x-kubernetes-group-version-kind"] {
        compare(name, key, &ours[key], &theirs[key], found);
    }
    let none = Value::Null;
    for (field, property) in ours["properties"].as_object().into_iter().flatten() {
        let path = format!("{name}.{field}");
        match theirs["properties"].get(field) {
            None => found.push(format!("{path}: the server does not have it")),
            Some(other) => compare_property(&path, property, other, found),
        }
        let required = |schema: &Value| {
            schema["required"].as_array().is_some_and(|required| required.iter().any(|name| name == field))
        };
        compare(&path, "required", &required(ours).into(), &required(theirs).into(), found);
    }
    if theirs["properties"].is_null() {
        compare(name, "properties", ours.get("properties").unwrap_or(&none), &none, found);
    }
}

fn compare_property(path: &str, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    for key in SAID.into_iter().chain(["type", "allOf", "$ref"]) {
        compare(path, key, &ours[key], &theirs[key], found);
    }
    for inner in ["items", "additionalProperties"] {
        match (ours.get(inner), theirs.get(inner)) {
            (Some(ours), Some(theirs)) => compare_property(&format!("{path}.{inner}"), ours, theirs, found),
            (None, None) => {}
            _ => found.push(format!("{path}: only one has {inner}")),
        }
    }
}

fn compare(path: &str, key: &str, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    if ours != theirs {
        found.push(format!("{path}: {key} is {ours}, the server says {theirs}"));
    }
}
