//! Custom resource definitions: what is put in, what is refused, what their status says, and the [`Resource`] that comes of them.
//!
//! A real server keeps what is the same in all versions once for the definition and speaks of it there: with one version, faults of its
//! schema are at `spec.validation`, not at `spec.versions[0].schema`.

mod published;
mod resource;
mod shown;
mod spec;
mod status;
mod unsaid;
mod webhook;

use serde_json::{Value, json};

pub use resource::resource;
pub use status::{Taken, status, stored};
use unsaid::drop_unsaid;

use crate::schema::compile::{list, text};
use crate::schema::validate::formats;
use crate::schema::{Shape, validate::words};
use crate::status::{Fault, What};

/// Fills in what the author of a definition may leave out.
pub fn default(definition: &mut Value) {
    let Some(Value::Object(spec)) = definition.get_mut("spec") else { return };
    let names = spec.entry("names").or_insert_with(|| json!({}));
    let kind = text(names, "kind").to_owned();
    if let Value::Object(names) = names {
        if names.get("singular").and_then(Value::as_str).is_none_or(str::is_empty) && !kind.is_empty() {
            names.insert("singular".to_owned(), kind.to_lowercase().into());
        }
        if names.get("listKind").and_then(Value::as_str).is_none_or(str::is_empty) && !kind.is_empty() {
            names.insert("listKind".to_owned(), format!("{kind}List").into());
        }
    }
    if spec.get("conversion").is_none_or(Value::is_null) {
        spec.insert("conversion".to_owned(), json!({"strategy": "None"}));
    }
    if let Some(Value::Object(service)) = spec
        .get_mut("conversion")
        .and_then(|conversion| conversion.get_mut("webhook"))
        .and_then(|webhook| webhook.get_mut("clientConfig"))
        .and_then(|config| config.get_mut("service"))
    {
        service.entry("port").or_insert(json!(443));
    }
    drop_unsaid(spec);
}

/// What is wrong with a definition, new or changed. The status must already list the storage version, see [`stored`].
pub fn validate(new: &Value, old: Option<&Value>) -> Vec<Fault> {
    let mut faults = Vec::new();
    let spec = new.get("spec").unwrap_or(&Value::Null);
    if old.is_none() {
        name(new, spec, &mut faults);
    }
    spec::check(spec, &mut faults);
    if let Some(old) = old {
        unchanged(spec, old, &mut faults);
    }
    status::check(new, spec, &mut faults);
    approval(new, old, text(spec, "group"), &mut faults);
    if spec.get("preserveUnknownFields") == Some(&json!(true)) {
        let detail =
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        faults.push(Fault::of(What::Invalid, "spec.preserveUnknownFields", true.into(), detail));
    }
    faults
}

/// What is said in warnings when a definition is made or changed: formats that nothing will check.
pub fn warnings(new: &Value, old: Option<&Value>) -> Vec<String> {
    let known = old.map(unknown_formats).unwrap_or_default();
    let mut warnings: Vec<String> = unknown_formats(new)
        .into_iter()
        .filter(|format| !known.contains(format))
        .map(|format| format!("unrecognized format {}", words::quoted(&format)))
        .collect();
    warnings.sort_unstable();
    warnings.dedup();
    warnings
}

fn name(definition: &Value, spec: &Value, faults: &mut Vec<Fault>) {
    let name = definition.get("metadata").map(|metadata| text(metadata, "name")).unwrap_or_default();
    let wanted = format!("{}.{}", text(&spec["names"], "plural"), text(spec, "group"));
    if name != wanted {
        let detail = "must be spec.names.plural+\".\"+spec.group";
        faults.push(words::fault(What::Invalid, "metadata.name", &name.into(), detail));
    }
}

/// What a definition is known by stays.
fn unchanged(spec: &Value, old: &Value, faults: &mut Vec<Fault>) {
    let before = &old["spec"];
    let mut immutable = |field: &str, now: &str, before: &str| {
        if now != before {
            faults.push(words::fault(What::Invalid, field, &now.into(), "field is immutable"));
        }
    };
    let (names, old_names) = (&spec["names"], &before["names"]);
    if status::is_true(old, "Established") {
        immutable("spec.scope", text(spec, "scope"), text(before, "scope"));
        immutable("spec.names.kind", text(names, "kind"), text(old_names, "kind"));
    }
    immutable("spec.group", text(spec, "group"), text(before, "group"));
    immutable("spec.names.plural", text(names, "plural"), text(old_names, "plural"));
}

const APPROVED: &str = "api-approved.kubernetes.io";

/// Groups of Kubernetes itself need its consent.
fn approval(new: &Value, old: Option<&Value>, group: &str, faults: &mut Vec<Fault>) {
    let ends = |suffix: &str| group == suffix || group.strip_suffix(suffix).is_some_and(|rest| rest.ends_with('.'));
    if !ends("k8s.io") && !ends("kubernetes.io") {
        return;
    }
    let given = |object: &Value| text(&object["metadata"]["annotations"], APPROVED).to_owned();
    let state = |text: &str| match text {
        "" => 0,
        _ if text.starts_with("unapproved") => 1,
        _ if text.split_once("://").is_some_and(|(scheme, host)| !scheme.is_empty() && !host.is_empty()) => 2,
        _ => 3,
    };
    let text = given(new);
    if old.is_some_and(|old| state(&given(old)) == state(&text)) {
        return;
    }
    let field = format!("metadata.annotations[{APPROVED}]");
    let (annotation, see) = (words::quoted(APPROVED), "see https://github.com/kubernetes/enhancements/pull/1111");
    match state(&text) {
        0 => {
            let detail = format!("protected groups must have approval annotation {annotation}, {see}");
            faults.push(Fault::required(field, detail));
        }
        3 => {
            let detail = format!(
                "protected groups must have approval annotation {annotation} with either a URL or a reason starting with \
                 \"unapproved\", {see}"
            );
            faults.push(words::fault(What::Invalid, field, &text.into(), &detail));
        }
        _ => {}
    }
}

fn unknown_formats(definition: &Value) -> Vec<String> {
    let mut formats = Vec::new();
    for version in list(&definition["spec"], "versions") {
        collect_formats(&version["schema"]["openAPIV3Schema"], &mut formats);
    }
    formats
}

fn collect_formats(schema: &Value, formats: &mut Vec<String>) {
    let format = text(schema, "format");
    let shape = match text(schema, "type") {
        "integer" => Shape::Integer,
        "number" => Shape::Number,
        _ => Shape::String,
    };
    if !format.is_empty() && !formats::counts(format, shape) {
        formats.push(format.to_owned());
    }
    match schema {
        Value::Object(fields) => {
            for (name, field) in fields {
                match name.as_str() {
                    "properties" => {
                        let properties = field.as_object().into_iter().flatten();
                        properties.for_each(|(_, property)| collect_formats(property, formats));
                    }
                    "items" | "additionalProperties" | "not" | "allOf" | "anyOf" | "oneOf" => {
                        collect_formats(field, formats);
                    }
                    _ => {}
                }
            }
        }
        Value::Array(schemas) => schemas.iter().for_each(|schema| collect_formats(schema, formats)),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
