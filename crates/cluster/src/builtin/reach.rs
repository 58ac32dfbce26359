//! Reaching into objects: what is not there reads as nothing, and only what can be there is made.

use serde_json::{Map, Value};

/// The value at a path such as `spec.nodeName`; `Null` if there is none.
pub fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(value, |value, key| &value[key])
}

/// Text at a path; empty if there is none.
pub fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    at(value, path).as_str().unwrap_or_default()
}

/// A whole number at a path; zero if there is none.
pub fn number(value: &Value, path: &str) -> i64 {
    at(value, path).as_i64().unwrap_or_default()
}

/// Whether the value at a path is true.
pub fn truth(value: &Value, path: &str) -> bool {
    at(value, path) == &Value::Bool(true)
}

/// The members of the list at a path.
pub fn list<'a>(value: &'a Value, path: &str) -> &'a [Value] {
    at(value, path).as_array().map_or(&[], Vec::as_slice)
}

/// The entries of the map at a path.
pub fn entries<'a>(value: &'a Value, path: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    at(value, path).as_object().into_iter().flatten()
}

/// The map at a path, made on the way; `None` where something else is in the way.
pub fn map_mut<'a>(value: &'a mut Value, path: &str) -> Option<&'a mut Map<String, Value>> {
    let mut value = value;
    for key in path.split('.').filter(|key| !key.is_empty()) {
        value = value.as_object_mut()?.entry(key).or_insert(Value::Null);
        if value.is_null() {
            *value = Value::Object(Map::new());
        }
    }
    value.as_object_mut()
}

/// The members of the list at a path, to be changed.
pub fn members_mut<'a>(value: &'a mut Value, path: &str) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    let pointer = format!("/{}", path.replace('.', "/"));
    let list = value.pointer_mut(&pointer).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_object_mut)
}

/// Puts a value where there is none.
pub fn fill(map: &mut Map<String, Value>, key: &str, value: impl Into<Value>) {
    if map.get(key).is_none_or(Value::is_null) {
        map.insert(key.to_owned(), value.into());
    }
}

/// Sets a field, or removes it.
pub fn put(map: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    match value {
        Some(value) => map.insert(key.to_owned(), value),
        None => map.remove(key),
    };
}
