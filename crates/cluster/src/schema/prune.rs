//! What the schema does not describe goes, and so does a `null` that means nothing.

use serde_json::Value;

use super::Schema;
use super::compile::object_meta;
use super::validate::path::Path;
use super::validate::words;
use crate::status::{Fault, What};

/// Removes what the schema does not describe, and names it as a real server does: first what was in the object's metadata, then the
/// rest in the order of the alphabet, then what was in the metadata of objects inside.
pub fn prune(value: &mut Value, schema: &Schema) -> Vec<String> {
    Walk::default().over(value, schema)
}

/// As [`prune`], and a `null` stays, for those to whom it means something.
pub fn prune_unknown(value: &mut Value, schema: &Schema) -> Vec<String> {
    Walk { keeps_nulls: true, ..Walk::default() }.over(value, schema)
}

#[derive(Default)]
struct Walk {
    meta: Vec<String>,
    fields: Vec<String>,
    embedded: Vec<String>,
    keeps_nulls: bool,
}

/// Puts objects inside the object in order, as a real server does when it decodes them. The fault is one of decoding.
pub fn coerce(value: &mut Value, schema: &Schema) -> Result<(), Fault> {
    coerced(value, schema, &Path::ROOT)
}

impl Walk {
    fn over(mut self, value: &mut Value, schema: &Schema) -> Vec<String> {
        self.known(value, schema, &Path::ROOT);
        let Self { mut meta, mut fields, mut embedded, .. } = self;
        fields.sort_unstable();
        embedded.sort_unstable();
        meta.sort_unstable();
        meta.append(&mut fields);
        meta.append(&mut embedded);
        meta
    }

    fn known(&mut self, value: &mut Value, schema: &Schema, path: &Path<'_>) {
        if schema.is_bare() {
            return;
        }
        match value {
            Value::Object(fields) => {
                let keeps = schema.preserve_unknown || schema.limits.as_ref().is_some_and(|limits| limits.closed);
                fields.retain(|name, field| {
                    let is_meta = matches!(name.as_str(), "apiVersion" | "kind" | "metadata");
                    if schema.embedded && is_meta && !path.is_root() {
                        if name == "metadata" {
                            self.metadata(field, &path.field(name), true);
                        }
                        return true;
                    }
                    match (schema.properties.get(name), &schema.additional) {
                        (Some(_), _) if path.is_root() && name == "metadata" => {
                            self.metadata(field, &path.field(name), false);
                            true
                        }
                        (Some(property), _) => self.child(field, property, &path.field(name)),
                        (None, Some(additional)) => self.child(field, additional, &path.key(name)),
                        (None, None) if keeps => {
                            if !schema.preserve_unknown {
                                self.unknown(field, &path.key(name));
                            }
                            true
                        }
                        (None, None) => {
                            self.fields.push(path.field(name).dotted());
                            false
                        }
                    }
                });
            }
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    let path = path.index(index);
                    match &schema.items {
                        Some(item_schema) if schema.preserve_unknown => self.kept(item, item_schema, &path),
                        Some(item_schema) => self.known(item, item_schema, &path),
                        None if schema.preserve_unknown => {}
                        None => self.unknown(item, &path),
                    }
                }
            }
            _ => {}
        }
    }

    /// Prunes a field; false if it means nothing and goes.
    fn child(&mut self, field: &mut Value, schema: &Schema, path: &Path<'_>) -> bool {
        if schema.is_bare() {
            // `additionalProperties: true` keeps what stands under any key, but describes nothing below it.
            self.unknown(field, path);
            return true;
        }
        if field.is_null() && !schema.nullable && schema.default.is_none() && !self.keeps_nulls {
            return false;
        }
        self.known(field, schema, path);
        true
    }

    /// A value of which the schema says nothing: scalars stay.
    fn unknown(&mut self, value: &mut Value, path: &Path<'_>) {
        match value {
            Value::Object(fields) => {
                self.fields.extend(fields.keys().map(|name| path.field(name).dotted()));
                fields.clear();
            }
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.unknown(item, &path.index(index));
                }
            }
            _ => {}
        }
    }

    /// Members of a list that keeps unknown fields keep them too, whatever their own schema says.
    fn kept(&mut self, value: &mut Value, schema: &Schema, path: &Path<'_>) {
        let mut lenient = schema.clone();
        lenient.preserve_unknown = true;
        self.known(value, &lenient, path);
    }

    fn metadata(&mut self, metadata: &mut Value, path: &Path<'_>, embedded: bool) {
        let mut walk = Walk::default();
        walk.described(metadata, object_meta(), &Path::ROOT);
        let target = if embedded { &mut self.embedded } else { &mut self.meta };
        target.extend(walk.fields.into_iter().map(|field| format!("{}.{field}", path.bracketed())));
    }

    /// Metadata keeps its nulls, for whoever decodes it.
    fn described(&mut self, value: &mut Value, schema: &Schema, path: &Path<'_>) {
        match value {
            Value::Object(fields) if !schema.preserve_unknown => fields.retain(|name, field| {
                match (schema.properties.get(name), &schema.additional) {
                    (Some(property), _) => self.described(field, property, &path.field(name)),
                    (None, Some(_)) => {}
                    (None, None) => {
                        self.fields.push(path.field(name).dotted());
                        return false;
                    }
                }
                true
            }),
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    if let Some(item_schema) = &schema.items {
                        self.described(item, item_schema, &path.index(index));
                    }
                }
            }
            _ => {}
        }
    }
}

fn coerced(value: &mut Value, schema: &Schema, path: &Path<'_>) -> Result<(), Fault> {
    if schema.embedded
        && !path.is_root()
        && let Value::Object(fields) = value
    {
        for name in ["apiVersion", "kind"] {
            if let Some(other) = fields.get(name).filter(|value| !value.is_string()) {
                return Err(words::fault(What::Invalid, path.field(name).bracketed(), other, "must be a string"));
            }
        }
        if let Some(metadata) = fields.get_mut("metadata") {
            if metadata.is_null() {
                *metadata = Value::Object(serde_json::Map::new());
            }
            if let Some(detail) = malformed(metadata) {
                return Err(words::fault(What::Invalid, path.field("metadata").bracketed(), metadata, &detail));
            }
            if let Value::Object(metadata) = metadata {
                metadata.retain(|_, value| !is_empty(value));
            }
        }
    }
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                match (schema.properties.get(name), &schema.additional) {
                    (Some(_), _) if path.is_root() && name == "metadata" => {}
                    (Some(property), _) => coerced(field, property, &path.field(name))?,
                    (None, Some(additional)) => coerced(field, additional, &path.key(name))?,
                    (None, None) => {}
                }
            }
        }
        Value::Array(items) => {
            if let Some(item_schema) = &schema.items {
                for (index, item) in items.iter_mut().enumerate() {
                    coerced(item, item_schema, &path.index(index))?;
                }
            }
        }
        _ => {}
    }
    Ok(())
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// What a decoder says of metadata that is not of its type.
fn malformed(metadata: &Value) -> Option<String> {
    let named = |value: &Value| match value {
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        _ => "object",
    };
    let Value::Object(fields) = metadata else {
        return Some(format!("json: cannot unmarshal {} into Go value of type v1.ObjectMeta", named(metadata)));
    };
    fields.iter().find_map(|(name, value)| {
        let wrong = |value: &Value, kind: &str| {
            Some(format!(
                "json: cannot unmarshal {} into Go struct field ObjectMeta.{name} of type {kind}",
                named(value)
            ))
        };
        match name.as_str() {
            "labels" | "annotations" => match value {
                Value::Object(pairs) => pairs
                    .values()
                    .find(|value| !value.is_string() && !value.is_null())
                    .and_then(|value| wrong(value, "string")),
                Value::Null => None,
                other => wrong(other, "map[string]string"),
            },
            "name" | "generateName" | "namespace" | "resourceVersion" | "selfLink" | "uid" => {
                let kind = if name == "uid" { "types.UID" } else { "string" };
                if value.is_string() || value.is_null() { None } else { wrong(value, kind) }
            }
            "creationTimestamp" | "deletionTimestamp" => {
                let text = value.as_str()?;
                if jiff::Timestamp::strptime("%Y-%m-%dT%H:%M:%S%:z", text.replace('Z', "+00:00")).is_ok() {
                    return None;
                }
                let text = words::quoted(text);
                Some(format!("parsing time {text} as \"2006-01-02T15:04:05Z07:00\": cannot parse {text} as \"2006\""))
            }
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests;
