//! The schema of a custom kind as OpenAPI v3 publishes it: with what every object has, and with the two forms of a number or text.

use serde_json::{Map, Value, json};

use crate::schema::compile::{flag, list, text};

/// What is published of a version.
pub(super) fn published(version: &Value, spec: &Value) -> Value {
    let openapi = &version["schema"]["openAPIV3Schema"];
    let mut schema = if openapi.is_object() { unfolded(openapi) } else { json!({"type": "object"}) };
    if openapi.is_object() {
        let api_version = "The group and version whose schema the object follows.";
        let kind = "What the object is; it says which path serves it and cannot change.";
        set_meta(&mut schema, api_version, kind);
    }
    schema["x-kubernetes-group-version-kind"] = json!([{
        "group": text(spec, "group"),
        "kind": text(&spec["names"], "kind"),
        "version": text(version, "name"),
    }]);
    let selectable = list(version, "selectableFields");
    if !selectable.is_empty() {
        let field = |field: &Value| json!({"fieldPath": text(field, "jsonPath").trim_start_matches('.')});
        schema["x-kubernetes-selectable-fields"] = selectable.iter().map(field).collect();
    }
    schema
}

fn set_meta(schema: &mut Value, api_version: &str, kind: &str) {
    let metadata = json!({
        "description": "What every object has: its name, labels, annotations, owners.",
        "allOf": [{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}],
    });
    if !schema["properties"].is_object() {
        schema["properties"] = Value::Object(Map::new());
    }
    schema["properties"]["apiVersion"] = json!({"type": "string", "description": api_version});
    schema["properties"]["kind"] = json!({"type": "string", "description": kind});
    schema["properties"]["metadata"] = metadata;
}

fn unfolded(openapi: &Value) -> Value {
    let Value::Object(fields) = openapi else { return openapi.clone() };
    let mut schema = Map::new();
    for (name, value) in fields {
        let value = match (name.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                properties.iter().map(|(name, property)| (name.clone(), unfolded(property))).collect()
            }
            ("items" | "additionalProperties", Value::Object(_)) => unfolded(value),
            (_, Value::Null) => continue,
            _ => value.clone(),
        };
        schema.insert(name.clone(), value);
    }
    let mut schema = Value::Object(schema);
    if flag(openapi, "x-kubernetes-int-or-string") {
        both_forms(&mut schema);
    }
    if flag(openapi, "x-kubernetes-embedded-resource") {
        embed(&mut schema);
    }
    schema
}

fn both_forms(schema: &mut Value) {
    let forms = json!([{"type": "integer"}, {"type": "string"}]);
    let has = |schema: &Value| schema.get("anyOf") == Some(&forms);
    if has(schema) || list(schema, "allOf").first().is_some_and(has) {
        return;
    }
    if list(schema, "anyOf").is_empty() {
        schema["anyOf"] = forms;
    } else {
        let mut all = vec![json!({"anyOf": forms})];
        all.extend(list(schema, "allOf").iter().cloned());
        schema["allOf"] = Value::Array(all);
    }
}

fn embed(schema: &mut Value) {
    let api_version = "The group and version whose schema the object inside follows.";
    let kind = "What the object inside is.";
    set_meta(schema, api_version, kind);
    let mut required: Vec<Value> = list(schema, "required").to_vec();
    for name in ["kind", "apiVersion"] {
        if !required.contains(&name.into()) {
            required.push(name.into());
        }
    }
    schema["required"] = Value::Array(required);
}
