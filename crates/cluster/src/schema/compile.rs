//! From an OpenAPI v3 schema, as it stands in a custom resource definition, to a [`Schema`].
//!
//! [`compile`] takes what it understands and leaves out the rest, for what is stored has already been judged; [`faults`] is the judge.

mod defaults;
pub(crate) mod expressions;
mod meta;
mod openapi;
pub(crate) mod pattern;
mod structural;

use std::sync::Arc;

use serde_json::Value;

pub use meta::object_meta;

use super::{Limits, ListType, Merge, Rule, Schema, Shape};
use crate::schema::validate::formats;
use crate::status::Fault;

/// Compiles a structural schema.
pub fn compile(openapi: &Value) -> Schema {
    let mut schema = Schema {
        shape: shape(openapi),
        nullable: flag(openapi, "nullable"),
        required: texts(openapi, "required"),
        list: list_type(openapi),
        atomic: text(openapi, "x-kubernetes-map-type") == "atomic",
        preserve_unknown: flag(openapi, "x-kubernetes-preserve-unknown-fields"),
        embedded: flag(openapi, "x-kubernetes-embedded-resource"),
        default: openapi.get("default").filter(|default| !default.is_null()).cloned(),
        merge: merge(openapi),
        rules: rules(openapi),
        description: text(openapi, "description").to_owned(),
        ..Schema::default()
    };
    if let Some(Value::Object(properties)) = openapi.get("properties") {
        schema.properties =
            properties.iter().map(|(name, property)| (name.clone(), Arc::new(compile(property)))).collect();
    }
    schema.additional = match openapi.get("additionalProperties") {
        Some(additional @ Value::Object(_)) => Some(Arc::new(compile(additional))),
        Some(Value::Bool(true)) => Some(Arc::new(Schema::default())),
        _ => None,
    };
    schema.items = openapi.get("items").filter(|items| items.is_object()).map(|items| Arc::new(compile(items)));
    schema.limits = limits(openapi, schema.shape).map(Box::new);
    schema
}

/// Compiles the schema of a custom kind, with what every object has: apiVersion, kind and metadata.
pub fn custom_root(openapi: &Value) -> Schema {
    let mut schema = compile(openapi);
    let plain = || Arc::new(Schema { shape: Shape::String, ..Schema::default() });
    schema.properties.entry("apiVersion".to_owned()).or_insert_with(plain);
    schema.properties.entry("kind".to_owned()).or_insert_with(plain);
    let restricted = schema.properties.remove("metadata");
    let mut metadata = object_meta().clone();
    // A definition may restrict names, and nothing else of the metadata.
    if let Some(restricted) = restricted {
        let own = Arc::make_mut(&mut metadata);
        for name in ["name", "generateName"] {
            if let Some(property) = restricted.properties.get(name) {
                own.properties.insert(name.to_owned(), property.clone());
            }
        }
    }
    schema.properties.insert("metadata".to_owned(), metadata);
    schema
}

/// What makes a schema unacceptable for a custom resource definition; `path` is where it stands.
pub fn faults(openapi: &Value, path: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut sound = false;
    if !openapi::has_unsupported(openapi) {
        faults = structural::faults(openapi, path);
        if faults.is_empty() {
            faults = defaults::faults(openapi, path);
            sound = faults.is_empty();
        }
    }
    faults.extend(openapi::faults(openapi, path, sound));
    faults
}

/// A text field, or the empty text.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn flag(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or_default()
}

pub(crate) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

pub(crate) fn texts(value: &Value, key: &str) -> Vec<String> {
    list(value, key).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn shape(openapi: &Value) -> Shape {
    if flag(openapi, "x-kubernetes-int-or-string") {
        return Shape::IntOrString;
    }
    match text(openapi, "type") {
        "object" => Shape::Object,
        "array" => Shape::Array,
        "string" => Shape::String,
        "integer" => Shape::Integer,
        "number" => Shape::Number,
        "boolean" => Shape::Boolean,
        _ => Shape::Any,
    }
}

fn list_type(openapi: &Value) -> ListType {
    match text(openapi, "x-kubernetes-list-type") {
        "set" => ListType::Set,
        "map" => match texts(openapi, "x-kubernetes-list-map-keys") {
            keys if keys.is_empty() => ListType::Atomic,
            keys => ListType::Map(keys),
        },
        _ => ListType::Atomic,
    }
}

fn merge(openapi: &Value) -> Merge {
    let strategies = text(openapi, "x-kubernetes-patch-strategy");
    Merge {
        replace: false,
        merge: strategies.split(',').any(|strategy| strategy == "merge"),
        retain_keys: strategies.split(',').any(|strategy| strategy == "retainKeys"),
        key: Some(text(openapi, "x-kubernetes-patch-merge-key")).filter(|key| !key.is_empty()).map(str::to_owned),
    }
}

fn rules(openapi: &Value) -> Vec<Rule> {
    let optional = |rule: &Value, key: &str| Some(text(rule, key)).filter(|text| !text.is_empty()).map(str::to_owned);
    list(openapi, "x-kubernetes-validations")
        .iter()
        .map(|rule| Rule {
            rule: text(rule, "rule").to_owned(),
            message: optional(rule, "message"),
            message_expression: optional(rule, "messageExpression"),
            reason: optional(rule, "reason"),
            field_path: optional(rule, "fieldPath"),
            optional_old_self: flag(rule, "optionalOldSelf"),
        })
        .collect()
}

/// The limits, or none where nothing is limited, which is the common case.
fn limits(openapi: &Value, shape: Shape) -> Option<Limits> {
    let number = |key: &str| openapi.get(key).and_then(Value::as_f64);
    let count = |key: &str| openapi.get(key).and_then(Value::as_u64);
    let schemas = |key: &str| list(openapi, key).iter().map(compile).collect::<Vec<_>>();
    let pattern = Some(text(openapi, "pattern")).filter(|pattern| !pattern.is_empty());
    let limits = Limits {
        one_of_values: list(openapi, "enum").to_vec(),
        format: Some(text(openapi, "format")).filter(|format| formats::counts(format, shape)).map(str::to_owned),
        pattern: pattern.map(str::to_owned),
        matcher: pattern.and_then(|pattern| pattern::compile(pattern).ok()),
        minimum: number("minimum").map(|minimum| (minimum, flag(openapi, "exclusiveMinimum"))),
        maximum: number("maximum").map(|maximum| (maximum, flag(openapi, "exclusiveMaximum"))),
        multiple_of: number("multipleOf"),
        min_length: count("minLength"),
        max_length: count("maxLength"),
        min_items: count("minItems"),
        max_items: count("maxItems"),
        unique_items: flag(openapi, "uniqueItems"),
        min_properties: count("minProperties"),
        max_properties: count("maxProperties"),
        closed: openapi.get("additionalProperties") == Some(&Value::Bool(false)),
        all_of: schemas("allOf"),
        any_of: schemas("anyOf"),
        one_of: schemas("oneOf"),
        not: openapi.get("not").filter(|not| not.is_object()).map(|not| Box::new(compile(not))),
    };
    let limited = !limits.one_of_values.is_empty()
        || limits.format.is_some()
        || limits.pattern.is_some()
        || limits.minimum.is_some()
        || limits.maximum.is_some()
        || limits.multiple_of.is_some()
        || limits.min_length.is_some()
        || limits.max_length.is_some()
        || limits.min_items.is_some()
        || limits.max_items.is_some()
        || limits.unique_items
        || limits.min_properties.is_some()
        || limits.max_properties.is_some()
        || limits.closed
        || !limits.all_of.is_empty()
        || !limits.any_of.is_empty()
        || !limits.one_of.is_empty()
        || limits.not.is_some();
    limited.then_some(limits)
}

#[cfg(test)]
mod tests;
