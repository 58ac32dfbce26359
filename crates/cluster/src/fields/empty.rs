//! What an object of a built-in kind has before anybody writes to it. Custom kinds have nothing.

use serde_json::{Map, Value};

use crate::schema::{Schema, Shape};

/// The object that a real server starts from when an object of a built-in kind is created: its parts that are never absent. Whoever
/// creates an object owns what is different, so that nobody owns `spec` itself but somebody owns `spec.volumes`.
///
/// Published schemas mark such parts with the default `{}`. Where they are not marked, they are told by their place: the large parts of
/// an object, and objects that have to be given. Of the other fields that have to be given, lists start as `null`.
pub fn empty_object(schema: &Schema) -> Value {
    let mut object = Map::new();
    fill(schema, &mut object);
    for name in ["metadata", "spec", "status"] {
        if let Some(part) = schema.properties.get(name).filter(|part| part.shape == Shape::Object) {
            let mut fields = Map::new();
            fill(part, &mut fields);
            object.insert(name.to_owned(), Value::Object(fields));
        }
    }
    object.remove("apiVersion");
    object.remove("kind");
    Value::Object(object)
}

fn fill(schema: &Schema, object: &mut Map<String, Value>) {
    for (name, field) in &schema.properties {
        let marked = field.default.as_ref().is_some_and(|value| value.as_object().is_some_and(Map::is_empty));
        let required = schema.required.contains(name);
        let value = match field.shape {
            Shape::Object if marked || (required && !field.properties.is_empty() && !field.atomic) => {
                let mut fields = Map::new();
                fill(field, &mut fields);
                Value::Object(fields)
            }
            _ if !required => continue,
            Shape::String if field.limits.as_ref().is_none_or(|limits| limits.format.is_none()) => Value::from(""),
            Shape::Integer => Value::from(0),
            Shape::Boolean => Value::from(false),
            _ => Value::Null,
        };
        object.insert(name.clone(), value);
    }
    for (beside, name, text) in MORE {
        if [beside, name].iter().all(|name| schema.properties.contains_key(**name)) {
            let value = match text {
                Some(text) => Value::from(*text),
                None if schema.properties[*name].shape == Shape::Object => Value::Object(Map::new()),
                None => Value::Null,
            };
            object.insert((*name).to_owned(), value);
        }
    }
}

/// More fields that are never absent, told by a field beside them: of events (of both groups) and of claims. Text starts empty, moments
/// start as `null`.
const MORE: &[(&str, &str, Option<&str>)] = &[
    ("involvedObject", "eventTime", None),
    ("involvedObject", "firstTimestamp", None),
    ("involvedObject", "lastTimestamp", None),
    ("involvedObject", "source", None),
    ("involvedObject", "reportingComponent", Some("")),
    ("involvedObject", "reportingInstance", Some("")),
    ("regarding", "deprecatedFirstTimestamp", None),
    ("regarding", "deprecatedLastTimestamp", None),
    ("regarding", "deprecatedSource", None),
    ("accessModes", "resources", None),
];
