//! Objects inside objects (`x-kubernetes-embedded-resource`): they have to say what they are, and their metadata is judged.

use serde_json::Value;

use super::super::Schema;
use super::names::{DNS_1035, DNS_1123, DNS_SUBDOMAIN, is_dns1035, is_dns1123, is_subdomain};
use super::path::Path;
use super::words;
use crate::status::{Fault, What};

const NAME_PART: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                         alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                         '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
                           start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used \
                           for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// Judges the objects inside a value.
pub(super) fn check(value: &Value, schema: &Schema, path: &Path<'_>, faults: &mut Vec<Fault>) {
    match value {
        Value::Object(fields) => {
            if schema.embedded && !path.is_root() {
                object(value, path, faults);
            }
            for (name, field) in fields {
                match (schema.properties.get(name), &schema.additional) {
                    (Some(property), _) => check(field, property, &path.field(name), faults),
                    (None, Some(additional)) => check(field, additional, &path.key(name), faults),
                    (None, None) => {}
                }
            }
        }
        Value::Array(items) => {
            if let Some(item_schema) = &schema.items {
                for (index, item) in items.iter().enumerate() {
                    check(item, item_schema, &path.index(index), faults);
                }
            }
        }
        _ => {}
    }
}

fn object(value: &Value, path: &Path<'_>, faults: &mut Vec<Fault>) {
    for name in ["apiVersion", "kind"] {
        let at = path.field(name).bracketed();
        match value.get(name) {
            None => faults.push(Fault::required(at, "")),
            Some(Value::String(text)) if text.is_empty() => faults.push(Fault::required(at, "")),
            Some(Value::String(text)) if name == "apiVersion" => {
                if text.matches('/').count() > 1 {
                    let detail = format!("unexpected GroupVersion string: {text}");
                    faults.push(words::fault(What::Invalid, at, &text.as_str().into(), &detail));
                }
            }
            Some(Value::String(text)) => {
                if !is_dns1035(&text.to_lowercase()) {
                    let detail = format!("may have mixed case, but should otherwise match: {DNS_1035}");
                    faults.push(words::fault(What::Invalid, at, &text.as_str().into(), &detail));
                }
            }
            Some(other) => faults.push(words::fault(What::Invalid, at, other, "must be a string")),
        }
    }
    if let Some(metadata) = value.get("metadata") {
        meta(metadata, &path.field("metadata"), faults);
    }
}

/// The names, labels and annotations.
fn meta(metadata: &Value, path: &Path<'_>, faults: &mut Vec<Fault>) {
    let mut say = |field: &str, value: &str, detail: &str| {
        faults.push(words::fault(What::Invalid, path.field(field).bracketed(), &value.into(), detail));
    };
    for field in ["generateName", "name"] {
        let name = metadata.get(field).and_then(Value::as_str).unwrap_or_default();
        for piece in ["/", "%"] {
            if name.contains(piece) {
                say(field, name, &format!("may not contain '{piece}'"));
            }
        }
        if field == "name" && (name == "." || name == "..") {
            say(field, name, &format!("may not be '{name}'"));
        }
    }
    let namespace = metadata.get("namespace").and_then(Value::as_str).unwrap_or_default();
    if !namespace.is_empty() && !is_dns1123(namespace) {
        say("namespace", namespace, DNS_1123);
    }
    for (key, value) in pairs(metadata, "labels") {
        for detail in faults_of_key(key) {
            say("labels", key, &detail);
        }
        let value = value.as_str().unwrap_or_default();
        if value.len() > 63 {
            say("labels", value, "must be no more than 63 bytes");
        }
        if !value.is_empty() && !is_name_part(value) {
            say("labels", value, LABEL_VALUE);
        }
    }
    for (key, _) in pairs(metadata, "annotations") {
        for detail in faults_of_key(&key.to_lowercase()) {
            say("annotations", key, &detail);
        }
    }
}

fn pairs<'a>(metadata: &'a Value, field: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    metadata.get(field).and_then(Value::as_object).into_iter().flatten()
}

/// What is wrong with the key of a label or an annotation.
fn faults_of_key(key: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let name = match key.split_once('/') {
        None => key,
        Some((prefix, name)) => {
            if prefix.is_empty() {
                faults.push("prefix part must be non-empty".to_owned());
            } else if !is_subdomain(prefix) {
                faults.push(format!("prefix part {DNS_SUBDOMAIN}"));
            }
            name
        }
    };
    if name.is_empty() {
        faults.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        faults.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_name_part(name) {
        faults.push(NAME_PART.to_owned());
    }
    faults
}

fn is_name_part(name: &str) -> bool {
    let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    edge(bytes.first())
        && edge(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}
