//! Whether a schema is structural: every place has a type, and what `anyOf` and its like say only limits what is described outside.

use serde_json::{Map, Value};

use super::super::validate::words;
use super::{flag, list, pattern, text};
use crate::status::{Fault, What};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// What is not structural, in the order of the messages, as a real server sorts it.
pub(super) fn faults(schema: &Value, path: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    spine(schema, Level::Root, path, &mut faults);
    complete_alternatives(schema, Some(schema), path, path, &mut faults);
    faults.sort_by_cached_key(ToString::to_string);
    faults
}

/// The schemas below: what members of lists are, fields, values of maps.
pub(super) fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

fn spine(schema: &Value, level: Level, path: &str, faults: &mut Vec<Fault>) {
    let kind = text(schema, "type");
    let items = schema.get("items").filter(|items| items.is_object());
    match items {
        Some(items) => spine(items, Level::Item, &format!("{path}.items"), faults),
        None if kind == "array" => faults.push(Fault::required(format!("{path}.items"), "must be specified")),
        None => {}
    }
    for (name, property) in properties(schema) {
        spine(property, Level::Field, &format!("{path}.properties[{name}]"), faults);
    }
    let embedded = flag(schema, "x-kubernetes-embedded-resource");
    if let Some(additional) = schema.get("additionalProperties") {
        let at = format!("{path}.additionalProperties");
        if additional.is_object() {
            spine(additional, Level::Field, &at, faults);
        }
        if level == Level::Root {
            faults.push(Fault::forbidden(at.clone(), "must not be used at the root"));
        }
        if embedded {
            faults.push(Fault::forbidden(at, "must not be used if x-kubernetes-embedded-resource is set"));
        }
    }
    extensions(schema, path, faults);
    value_validation(schema, is_int_or_string(schema), is_int_or_string_in_all_of(schema), path, faults);
    types(schema, kind, level, path, faults);
    metadata(schema, level, path, faults);
    let keeps = flag(schema, "x-kubernetes-preserve-unknown-fields");
    if embedded && !keeps && properties(schema).next().is_none() {
        let detail =
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        faults.push(Fault::required(format!("{path}.properties"), detail));
    }
}

fn extensions(schema: &Value, path: &str, faults: &mut Vec<Fault>) {
    if !flag(schema, "x-kubernetes-int-or-string") {
        return;
    }
    for other in ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"] {
        if flag(schema, other) {
            let detail = "must be false if x-kubernetes-int-or-string is true";
            faults.push(Fault::of(What::Invalid, format!("{path}.{other}"), true.into(), detail));
        }
    }
}

fn types(schema: &Value, kind: &str, level: Level, path: &str, faults: &mut Vec<Fault>) {
    let at = format!("{path}.type");
    if flag(schema, "x-kubernetes-embedded-resource") && kind != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        faults.push(match kind {
            "" => Fault::required(at.clone(), detail),
            _ => words::fault(What::Invalid, at.clone(), &kind.into(), detail),
        });
    } else if kind.is_empty()
        && !flag(schema, "x-kubernetes-int-or-string")
        && !flag(schema, "x-kubernetes-preserve-unknown-fields")
    {
        let detail = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        faults.push(Fault::required(at.clone(), detail));
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        faults.push(words::fault(What::Invalid, at, &kind.into(), "must be object at the root"));
    }
}

/// What every object has anyway may only be restricted, and only at the root or in objects inside.
fn metadata(schema: &Value, level: Level, path: &str, faults: &mut Vec<Fault>) {
    let is_object = level == Level::Root || flag(schema, "x-kubernetes-embedded-resource");
    let Some(fields) = schema.get("properties") else { return };
    for name in ["kind", "apiVersion"] {
        if let Some(kind) =
            fields.get(name).map(|field| text(field, "type")).filter(|kind| is_object && *kind != "string")
        {
            let at = format!("{path}.properties[{name}].type");
            faults.push(words::fault(What::Invalid, at, &kind.into(), "must be string"));
        }
    }
    let Some(metadata) = fields.get("metadata") else { return };
    let at = format!("{path}.properties[metadata]");
    let kind = text(metadata, "type");
    if is_object && kind != "object" {
        faults.push(words::fault(What::Invalid, format!("{at}.type"), &kind.into(), "must be object"));
    }
    let restricts_names = properties(metadata).all(|(name, _)| matches!(name.as_str(), "name" | "generateName"));
    let only = metadata.as_object().into_iter().flat_map(Map::keys).all(|key| {
        matches!(key.as_str(), "type" | "default" | "properties" | "required" | "maxProperties" | "minProperties")
    });
    if level == Level::Root && !(restricts_names && only) {
        let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        faults.push(Fault::forbidden(at, detail));
    }
}

fn is_int_or_string(schema: &Value) -> bool {
    let only = |schema: &Value, kind: &str| {
        schema.as_object().is_some_and(|schema| schema.len() == 1) && text(schema, "type") == kind
    };
    matches!(list(schema, "anyOf"), [one, other] if only(one, "integer") && only(other, "string"))
}

fn is_int_or_string_in_all_of(schema: &Value) -> bool {
    list(schema, "allOf").first().is_some_and(is_int_or_string)
}

fn value_validation(schema: &Value, skip_any_of: bool, skip_first: bool, path: &str, faults: &mut Vec<Fault>) {
    if !skip_any_of {
        for (index, nested) in list(schema, "anyOf").iter().enumerate() {
            nested_validation(nested, false, &format!("{path}.anyOf[{index}]"), faults);
        }
    }
    for (index, nested) in list(schema, "allOf").iter().enumerate() {
        nested_validation(nested, skip_first && index == 0, &format!("{path}.allOf[{index}]"), faults);
    }
    for (index, nested) in list(schema, "oneOf").iter().enumerate() {
        nested_validation(nested, false, &format!("{path}.oneOf[{index}]"), faults);
    }
    if let Some(nested) = schema.get("not") {
        nested_validation(nested, false, &format!("{path}.not"), faults);
    }
    let source = text(schema, "pattern");
    if let Err(error) = pattern::compile(source) {
        let detail = format!("must be a valid regular expression, but isn't: {error}");
        faults.push(words::fault(What::Invalid, format!("{path}.pattern"), &source.into(), &detail));
    }
}

/// What may not stand inside `anyOf` and its like.
fn nested_validation(schema: &Value, skip_any_of: bool, path: &str, faults: &mut Vec<Fault>) {
    value_validation(schema, skip_any_of, false, path, faults);
    if let Some(items) = schema.get("items").filter(|items| items.is_object()) {
        nested_validation(items, false, &format!("{path}.items"), faults);
    }
    for (name, property) in properties(schema) {
        nested_validation(property, false, &format!("{path}.properties[{name}]"), faults);
    }
    let forbidden = [
        ("type", "must be empty to be structural"),
        ("additionalProperties", "must be undefined to be structural"),
        ("default", "must be undefined to be structural"),
        ("title", "must be empty to be structural"),
        ("description", "must be empty to be structural"),
        ("nullable", "must be false to be structural"),
        ("externalDocs", "must be undefined to be structural"),
        ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
        ("x-kubernetes-embedded-resource", "must be false to be structural"),
        ("x-kubernetes-int-or-string", "must be false to be structural"),
        ("x-kubernetes-list-map-keys", "must be empty to be structural"),
        ("x-kubernetes-list-type", "must be undefined to be structural"),
        ("x-kubernetes-map-type", "must be undefined to be structural"),
        ("x-kubernetes-validations", "must be empty to be structural"),
    ];
    for (field, detail) in forbidden {
        let given = match schema.get(field) {
            None | Some(Value::Null | Value::Bool(false)) => false,
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::Array(items)) => !items.is_empty(),
            Some(_) => true,
        };
        if given {
            faults.push(Fault::forbidden(format!("{path}.{field}"), detail));
        }
    }
    if schema.get("properties").is_some_and(|fields| fields.get("metadata").is_some()) {
        let at = format!("{path}.properties[metadata]");
        faults.push(Fault::forbidden(at, "must not be specified in a nested context"));
    }
}

/// Every field that an alternative speaks of is described outside. A real server looks only at the alternatives of the root.
fn complete_alternatives(nested: &Value, spine: Option<&Value>, spine_path: &str, path: &str, faults: &mut Vec<Fault>) {
    let mut below = |nested: &Value, path: String| complete(nested, spine, spine_path, &path, faults);
    if let Some(not) = nested.get("not") {
        below(not, format!("{path}.not"));
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        for (index, nested) in list(nested, key).iter().enumerate() {
            below(nested, format!("{path}.{key}[{index}]"));
        }
    }
}

fn complete(nested: &Value, spine: Option<&Value>, spine_path: &str, path: &str, faults: &mut Vec<Fault>) {
    let Some(found) = spine else {
        faults.push(Fault::required(spine_path, format!("because it is defined in {path}")));
        return;
    };
    complete_alternatives(nested, spine, spine_path, path, faults);
    if let Some(items) = nested.get("items").filter(|items| items.is_object()) {
        complete(items, found.get("items"), &format!("{spine_path}.items"), &format!("{path}.items"), faults);
    }
    for (name, property) in properties(nested) {
        let described = found.get("properties").and_then(|fields| fields.get(name));
        let (at, from) = (format!("{spine_path}.properties[{name}]"), format!("{path}.properties[{name}]"));
        complete(property, described, &at, &from, faults);
    }
}
