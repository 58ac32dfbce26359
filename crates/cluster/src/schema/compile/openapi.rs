//! What may stand in a schema of a custom resource definition, whether or not it is structural.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::validate::words;
use super::structural::properties;
use super::{compile, custom_root, expressions, flag, list, text, texts};
use crate::status::{Fault, What};

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// Whether there is something that cannot even be part of a structural schema.
pub(super) fn has_unsupported(schema: &Value) -> bool {
    const UNSUPPORTED: [&str; 6] =
        ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"];
    let here = UNSUPPORTED.iter().any(|field| is_given(schema, field))
        || text(schema, "type") == "null"
        || schema.get("items").is_some_and(Value::is_array);
    here || children(schema).iter().any(|(_, child)| has_unsupported(child))
}

/// Every schema below, with where it stands.
fn children(schema: &Value) -> Vec<(String, &Value)> {
    let mut children: Vec<(String, &Value)> = Vec::new();
    if let Some(additional) = schema.get("additionalProperties").filter(|additional| additional.is_object()) {
        children.push((".additionalProperties".to_owned(), additional));
    }
    children.extend(properties(schema).map(|(name, property)| (format!(".properties[{name}]"), property)));
    if let Some(not) = schema.get("not").filter(|not| not.is_object()) {
        children.push((".not".to_owned(), not));
    }
    for key in ["allOf", "oneOf", "anyOf"] {
        children.extend(list(schema, key).iter().enumerate().map(|(index, child)| (format!(".{key}[{index}]"), child)));
    }
    if let Some(items) = schema.get("items").filter(|items| items.is_object()) {
        children.push((".items".to_owned(), items));
    }
    children
}

fn is_given(schema: &Value, field: &str) -> bool {
    match schema.get(field) {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Object(fields)) => !fields.is_empty(),
        Some(_) => true,
    }
}

/// What is inherited on the way down.
#[derive(Clone, Default)]
struct Around {
    /// Why defaults may not be given.
    no_defaults: Option<String>,
    inside_meta: bool,
    /// Where the list or map is in which old and new cannot be told apart.
    uncorrelatable: Option<String>,
    /// Rules are only judged where the schema is sound and outside alternatives.
    no_rules: bool,
}

/// What is not acceptable; rules are looked at if the schema is `sound` otherwise.
pub(super) fn faults(schema: &Value, path: &str, sound: bool) -> Vec<Fault> {
    let around = Around { no_rules: !sound, ..Around::default() };
    let (mut faults, mut rules) = (Vec::new(), Vec::new());
    check(schema, path, true, &around, &mut faults, &mut rules);
    faults.append(&mut rules);
    faults
}

fn check(
    schema: &Value,
    path: &str,
    is_root: bool,
    around: &Around,
    faults: &mut Vec<Fault>,
    rule_faults: &mut Vec<Fault>,
) {
    let before = faults.len();
    unsupported(schema, path, around, faults);
    if schema.get("additionalProperties").is_some_and(|additional| *additional != json!(true))
        && properties(schema).next().is_some()
    {
        let detail = "additionalProperties and properties are mutual exclusive";
        faults.push(Fault::forbidden(format!("{path}.additionalProperties"), detail));
    }
    for (step, child) in children(schema) {
        let mut around = around.clone();
        below(schema, path, is_root, &step, &mut around);
        check(child, &format!("{path}{step}"), false, &around, faults, rule_faults);
    }
    if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&json!(false)) {
        let at = format!("{path}.x-kubernetes-preserve-unknown-fields");
        faults.push(Fault::of(What::Invalid, at, false.into(), "must be true or undefined"));
    }
    map_type(schema, path, faults);
    list_type(schema, path, faults);
    list_keys(schema, path, faults);
    keys_of_items(schema, path, faults);
    let rules = list(schema, "x-kubernetes-validations");
    expressions::form(rules, schema, path, faults);
    if faults.len() == before && !around.no_rules && !rules.is_empty() {
        let compiled = if is_root { custom_root(schema) } else { compile(schema) };
        expressions::check(rules, &Arc::new(compiled), path, around.uncorrelatable.as_deref(), rule_faults);
    }
}

/// What a step down changes.
fn below(schema: &Value, path: &str, is_root: bool, step: &str, around: &mut Around) {
    if step == ".additionalProperties" {
        if around.inside_meta {
            around.no_defaults = Some(" inside additionalProperties applying to object metadata".to_owned());
        }
    } else if let Some(name) = step.strip_prefix(".properties[").and_then(|rest| rest.strip_suffix(']')) {
        let is_meta = matches!(name, "metadata" | "kind" | "apiVersion");
        if is_meta && (is_root || flag(schema, "x-kubernetes-embedded-resource")) {
            around.inside_meta = true;
            if is_root {
                around.no_defaults = Some(format!(" in top-level {name}"));
            }
        }
    } else if step == ".items" {
        if text(schema, "x-kubernetes-list-type") != "map" && around.uncorrelatable.is_none() {
            around.uncorrelatable = Some(path.to_owned());
        }
    } else {
        around.no_rules = true;
    }
}

fn unsupported(schema: &Value, path: &str, around: &Around, faults: &mut Vec<Fault>) {
    let kind = text(schema, "type");
    if !kind.is_empty() && !TYPES.contains(&kind) {
        faults.push(words::not_supported(format!("{path}.type"), &kind.into(), TYPES.into_iter()));
    }
    if let Some(reason) = around.no_defaults.as_ref().filter(|_| schema.get("default").is_some_and(|it| !it.is_null()))
    {
        faults.push(Fault::forbidden(format!("{path}.default"), format!("must not be set{reason}")));
    }
    for field in ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"] {
        if is_given(schema, field) {
            faults.push(Fault::forbidden(format!("{path}.{field}"), format!("{field} is not supported")));
        }
    }
    if kind == "null" {
        let detail = "type cannot be set to null, use nullable as an alternative";
        faults.push(Fault::forbidden(format!("{path}.type"), detail));
    }
    if schema.get("items").is_some_and(Value::is_array) {
        faults.push(Fault::forbidden(format!("{path}.items"), "items must be a schema object and not an array"));
    }
    if around.inside_meta && flag(schema, "x-kubernetes-embedded-resource") {
        let at = format!("{path}.x-kubernetes-embedded-resource");
        faults.push(Fault::forbidden(at, "must not be used inside of resource meta"));
    }
    if flag(schema, "uniqueItems") {
        let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        faults.push(Fault::forbidden(format!("{path}.uniqueItems"), detail));
    }
}

/// A type that has to be another.
fn wrong_type(schema: &Value, path: &str, detail: &str) -> Fault {
    match text(schema, "type") {
        "" => Fault::required(format!("{path}.type"), detail),
        kind => words::fault(What::Invalid, format!("{path}.type"), &kind.into(), detail),
    }
}

fn map_type(schema: &Value, path: &str, faults: &mut Vec<Fault>) {
    let Some(map) = schema.get("x-kubernetes-map-type").and_then(Value::as_str) else { return };
    if text(schema, "type") != "object" {
        faults.push(wrong_type(schema, path, "must be object if x-kubernetes-map-type is specified"));
    }
    if !matches!(map, "atomic" | "granular") {
        let at = format!("{path}.x-kubernetes-map-type");
        faults.push(words::not_supported(at, &map.into(), ["atomic", "granular"].into_iter()));
    }
}

fn list_type(schema: &Value, path: &str, faults: &mut Vec<Fault>) {
    let Some(kind) = schema.get("x-kubernetes-list-type").and_then(Value::as_str) else { return };
    if text(schema, "type") != "array" {
        faults.push(wrong_type(schema, path, "must be array if x-kubernetes-list-type is specified"));
    } else if let Some(items) = schema.get("items").filter(|_| kind == "set") {
        let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
        let inner = items.get("x-kubernetes-list-type").cloned().unwrap_or_default();
        match text(items, "type") {
            "array" if !inner.is_null() && inner != "atomic" => {
                faults.push(words::fault(
                    What::Invalid,
                    format!("{path}.items.x-kubernetes-list-type"),
                    &inner,
                    detail,
                ));
            }
            "object" if text(items, "x-kubernetes-map-type") != "atomic" => {
                faults.push(words::fault(What::Invalid, format!("{path}.items.x-kubernetes-map-type"), &inner, detail));
            }
            _ => {}
        }
    }
    if !matches!(kind, "atomic" | "set" | "map") {
        let at = format!("{path}.x-kubernetes-list-type");
        faults.push(words::not_supported(at, &kind.into(), ["atomic", "set", "map"].into_iter()));
    }
}

fn list_keys(schema: &Value, path: &str, faults: &mut Vec<Fault>) {
    let keys = texts(schema, "x-kubernetes-list-map-keys");
    let kind = schema.get("x-kubernetes-list-type").and_then(Value::as_str);
    if !keys.is_empty() && kind != Some("map") {
        let (at, detail) =
            (format!("{path}.x-kubernetes-list-type"), "must be map if x-kubernetes-list-map-keys is non-empty");
        faults.push(match kind {
            None => Fault::required(at, detail),
            Some(kind) => words::fault(What::Invalid, at, &kind.into(), detail),
        });
    }
    if kind != Some("map") {
        return;
    }
    let at = format!("{path}.x-kubernetes-list-map-keys");
    if keys.is_empty() {
        faults.push(Fault::required(at.clone(), "must not be empty if x-kubernetes-list-type is map"));
    }
    let Some(items) = schema.get("items").filter(|items| items.is_object()) else {
        faults.push(Fault::required(format!("{path}.items"), "must have a schema if x-kubernetes-list-type is map"));
        return;
    };
    let item_kind = text(items, "type");
    if item_kind != "object" {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        faults.push(words::fault(What::Invalid, format!("{path}.items.type"), &item_kind.into(), detail));
        return;
    }
    for (index, key) in keys.iter().enumerate() {
        match items.get("properties").and_then(|fields| fields.get(key)) {
            None => {
                faults.push(words::fault(
                    What::Invalid,
                    at.clone(),
                    &json!(keys),
                    "entries must all be names of item properties",
                ));
            }
            Some(field) if matches!(text(field, "type"), "array" | "object") => {
                let at = format!("{path}.items.properties[{key}].type");
                let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                faults.push(words::fault(What::Invalid, at, &item_kind.into(), detail));
            }
            Some(_) => {}
        }
        if keys[..index].contains(key) {
            faults.push(words::fault(What::Invalid, at.clone(), &json!(keys), "must not contain duplicate entries"));
        }
    }
}

/// Members of sets and of lists with keys are there, and so are their keys.
fn keys_of_items(schema: &Value, path: &str, faults: &mut Vec<Fault>) {
    let Some(items) = schema.get("items").filter(|items| items.is_object()) else { return };
    let kind = text(schema, "x-kubernetes-list-type");
    if !matches!(kind, "set" | "map") {
        return;
    }
    if flag(items, "nullable") {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {kind}");
        faults.push(Fault::forbidden(format!("{path}.items.nullable"), detail));
    }
    if kind != "map" {
        return;
    }
    let required = texts(items, "required");
    for key in texts(schema, "x-kubernetes-list-map-keys") {
        let Some(field) = items.get("properties").and_then(|fields| fields.get(&key)) else { continue };
        let at = format!("{path}.items.properties[{key}]");
        if !required.contains(&key) && field.get("default").is_none() {
            let detail =
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            faults.push(Fault::required(format!("{at}.default"), detail));
        }
        if flag(field, "nullable") {
            let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            faults.push(Fault::forbidden(format!("{at}.nullable"), detail));
        }
    }
}
