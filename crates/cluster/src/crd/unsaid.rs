//! What says nothing is not kept: a real server reads definitions into types and leaves out what is empty when it writes them.

use serde_json::{Map, Value, json};

/// Drops what says nothing from the spec of a definition.
pub(super) fn drop_unsaid(spec: &mut Map<String, Value>) {
    spec.retain(|name, value| !(value.is_null() || name == "preserveUnknownFields" && *value == json!(false)));
    if let Some(Value::Object(names)) = spec.get_mut("names") {
        drop_empty(names, &["shortNames", "categories"]);
    }
    if let Some(Value::Object(conversion)) = spec.get_mut("conversion") {
        drop_empty(conversion, &[]);
    }
    for version in spec.get_mut("versions").and_then(Value::as_array_mut).into_iter().flatten() {
        let Value::Object(version) = version else { continue };
        drop_empty(version, &["deprecated", "additionalPrinterColumns", "selectableFields"]);
        for column in version.get_mut("additionalPrinterColumns").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Value::Object(column) = column {
                drop_empty(column, &["format", "description", "priority"]);
            }
        }
        if let Some(Value::Object(schema)) = version.get_mut("schema") {
            drop_empty(schema, &[]);
            schema.values_mut().for_each(self::schema);
        }
    }
}

/// Drops nulls, and of the named fields those that are empty.
fn drop_empty(fields: &mut Map<String, Value>, optional: &[&str]) {
    fields.retain(|name, value| !(value.is_null() || optional.contains(&name.as_str()) && is_empty(value)));
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

fn schema(openapi: &mut Value) {
    const OPTIONAL: [&str; 24] = [
        "id",
        "$schema",
        "description",
        "type",
        "nullable",
        "format",
        "title",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "pattern",
        "uniqueItems",
        "enum",
        "required",
        "allOf",
        "oneOf",
        "anyOf",
        "properties",
        "patternProperties",
        "dependencies",
        "definitions",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-validations",
    ];
    let Value::Object(fields) = openapi else { return };
    drop_empty(fields, &OPTIONAL);
    for (name, value) in fields.iter_mut() {
        match (name.as_str(), value) {
            ("properties", Value::Object(properties)) => properties.values_mut().for_each(schema),
            ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => schemas.iter_mut().for_each(schema),
            ("items" | "additionalProperties" | "not", value) => schema(value),
            ("x-kubernetes-validations", Value::Array(rules)) => {
                for rule in rules {
                    if let Value::Object(rule) = rule {
                        drop_empty(rule, &["message", "messageExpression", "fieldPath"]);
                    }
                }
            }
            _ => {}
        }
    }
}
