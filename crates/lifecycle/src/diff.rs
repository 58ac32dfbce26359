//! What differs between an object as it is and as it should be, as a merge patch for just the version that was seen.

use crate::FIELD_MANAGER;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The merge patch that makes `live` say what `desired` says. Both are whole: what `desired` lacks goes.
pub fn merge(live: &Value, desired: &Value) -> Option<Value> {
    match (live, desired) {
        (Value::Object(live), Value::Object(desired)) => {
            let mut patch = Map::new();
            for (key, value) in desired {
                match live.get(key) {
                    None if value.is_null() => {}
                    None => {
                        patch.insert(key.clone(), value.clone());
                    }
                    Some(old) => patch.extend(merge(old, value).map(|inner| (key.clone(), inner))),
                }
            }
            let gone = live.keys().filter(|key| !desired.contains_key(*key));
            patch.extend(gone.map(|key| (key.clone(), Value::Null)));
            (!patch.is_empty()).then_some(Value::Object(patch))
        }
        _ => (live != desired).then(|| desired.clone()),
    }
}

/// As [`merge`], but what `desired` does not speak of stays as it is: the server, or somebody else, has put it there. The server does
/// not store a flag that is not set, so where there is none, that is what it says.
pub fn merge_spoken(live: &Value, desired: &Value) -> Option<Value> {
    match (live, desired) {
        (Value::Object(live), Value::Object(desired)) => {
            let mut patch = Map::new();
            for (key, value) in desired.iter().filter(|(_, value)| !value.is_null()) {
                let missing = || (*value != Value::Bool(false)).then(|| value.clone());
                let inner = live.get(key).map_or_else(missing, |old| merge_spoken(old, value));
                patch.extend(inner.map(|inner| (key.clone(), inner)));
            }
            (!patch.is_empty()).then_some(Value::Object(patch))
        }
        (Value::Array(live), Value::Array(desired)) => {
            let same = live.len() == desired.len()
                && live.iter().zip(desired).all(|(live, desired)| merge_spoken(live, desired).is_none());
            (!same).then(|| Value::Array(desired.clone()))
        }
        _ => (live != desired).then(|| desired.clone()),
    }
}

/// What has to change in labels and annotations: all that we want there, and away with what we once put there and no longer want.
/// Others' keys are left alone; whose a key is stands in the managed fields.
pub fn metadata(live: &ObjectMeta, desired: &ObjectMeta) -> Map<String, Value> {
    let mut patch = Map::new();
    let maps = [("labels", &live.labels, &desired.labels), ("annotations", &live.annotations, &desired.annotations)];
    for (field, live_map, desired_map) in maps {
        let empty = BTreeMap::new();
        let (have, want) = (live_map.as_ref().unwrap_or(&empty), desired_map.as_ref().unwrap_or(&empty));
        let mut inner: Map<String, Value> = want
            .iter()
            .filter(|(key, value)| have.get(*key) != Some(*value))
            .map(|(key, value)| (key.clone(), Value::from(value.as_str())))
            .collect();
        let ours = owned_keys(live, field);
        let gone = have.keys().filter(|key| !want.contains_key(*key) && ours.contains(key.as_str()));
        inner.extend(gone.map(|key| (key.clone(), Value::Null)));
        if !inner.is_empty() {
            patch.insert(field.to_owned(), Value::Object(inner));
        }
    }
    patch
}

/// Keys of labels or annotations that we set, by the object's managed fields.
fn owned_keys<'a>(metadata: &'a ObjectMeta, field: &str) -> BTreeSet<&'a str> {
    let entries = metadata.managed_fields.iter().flatten();
    let ours = entries.filter(|entry| entry.manager.as_deref() == Some(FIELD_MANAGER));
    ours.filter_map(|entry| entry.fields_v1.as_ref()?.0.pointer(&format!("/f:metadata/f:{field}"))?.as_object())
        .flat_map(|keys| keys.keys().filter_map(|key| key.strip_prefix("f:")))
        .collect()
}

/// A patch of an object that was seen: its changes under `spec` and in its metadata, good for that version only. None if nothing differs.
pub fn patch(live: &ObjectMeta, desired: &ObjectMeta, body: Map<String, Value>) -> Option<Value> {
    let mut changes = metadata(live, desired);
    if changes.is_empty() && body.is_empty() {
        return None;
    }
    changes.insert("resourceVersion".to_owned(), json!(live.resource_version));
    changes.insert("uid".to_owned(), json!(live.uid));
    let mut patch = body;
    patch.insert("metadata".to_owned(), Value::Object(changes));
    Some(Value::Object(patch))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spoken_of_and_not_so() {
        let live = json!({ "a": 1, "list": [{ "x": 1, "by the server": 2 }], "by the server": true, "set": true });
        let check = |desired: Value, expected: Value| {
            assert_eq!(merge_spoken(&live, &desired).unwrap_or(Value::Null), expected, "{desired}");
        };
        check(json!({ "a": 1, "list": [{ "x": 1 }] }), Value::Null);
        check(json!({ "a": 2, "b": null }), json!({ "a": 2 }));
        check(json!({ "list": [{ "x": 2 }] }), json!({ "list": [{ "x": 2 }] }));
        check(json!({ "new": true }), json!({ "new": true }));
        check(json!({ "set": false }), json!({ "set": false }));
        // A flag that is not set is not stored.
        check(json!({ "new": false }), Value::Null);
    }
}
