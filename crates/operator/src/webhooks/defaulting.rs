//! What defaulting adds to an object, as a patch of the object as it was written: nothing else in it is touched, known or not.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use trellis_api::admission::object::{Kind, decode};
use trellis_api::admission::{default_cluster_topology, default_pod_clique_set, dynamo, review};
use trellis_api::settings::Settings;

use super::review::{Request, Response};

/// Fills in what a set leaves out.
pub fn set(request: &Request, settings: &Settings) -> Response {
    if is_deleted(&request.object) {
        return Response::allowed();
    }
    let old = request.old().and_then(|old| review::stored(old, settings).object);
    defaulted(Kind::PodCliqueSet, &request.object, |set| default_pod_clique_set(set, old.as_ref(), settings))
}

/// Brings the levels of a topology into order.
pub fn topology(request: &Request) -> Response {
    defaulted(Kind::ClusterTopology, &request.object, |topology| {
        default_cluster_topology(topology);
        Vec::new()
    })
}

/// Fills in what a deployment leaves out, in the shape that it was written in.
pub fn deployment(request: &Request) -> Response {
    if is_deleted(&request.object) {
        return Response::allowed();
    }
    let mut new = request.object.clone();
    dynamo::default(&mut new);
    Response::patched(&json_patch::diff(&request.object, &new), Vec::new())
}

fn is_deleted(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// An object whose form is wrong passes as it is: the server refuses it by the schema, in better words.
fn defaulted<T>(kind: Kind, written: &Value, default: impl FnOnce(&mut T) -> Vec<String>) -> Response
where
    T: DeserializeOwned + Serialize + Clone,
{
    let Some(before) = decode::<T>(kind, written.clone()).whole() else { return Response::allowed() };
    let mut after = before.clone();
    let warnings = default(&mut after);
    let (Ok(before), Ok(after)) = (serde_json::to_value(before), serde_json::to_value(after)) else {
        return Response::allowed();
    };
    let mut new = written.clone();
    carry(&before, &after, &mut new);
    Response::patched(&json_patch::diff(written, &new), warnings)
}

/// Does to `written` what was done between `before` and `after`.
fn carry(before: &Value, after: &Value, written: &mut Value) {
    if before == after {
        return;
    }
    match (before, after, written) {
        (Value::Object(before), Value::Object(after), Value::Object(written)) => {
            written.retain(|key, _| after.contains_key(key) || !before.contains_key(key));
            for (key, value) in after {
                match (before.get(key), written.get_mut(key)) {
                    (Some(before), Some(written)) => carry(before, value, written),
                    (before, _) if before != Some(value) => drop(written.insert(key.clone(), value.clone())),
                    _ => {}
                }
            }
        }
        (Value::Array(before), Value::Array(after), Value::Array(written))
            if before.len() == after.len() && after.len() == written.len() =>
        {
            for ((before, after), written) in before.iter().zip(after).zip(written) {
                carry(before, after, written);
            }
        }
        (_, after, written) => *written = after.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(before: &Value, after: &Value, written: &Value, expected: &Value) {
        let mut new = written.clone();
        carry(before, after, &mut new);
        assert_eq!(new, *expected);
    }

    #[test]
    fn only_what_changed_is_carried_over() {
        // A field that the types do not know, and one that they read as left out.
        let written = json!({"a": 1, "unknown": {"x": [1]}, "none": null});
        check(
            &json!({"a": 1}),
            &json!({"a": 1, "b": 2}),
            &written,
            &json!({"a": 1, "b": 2, "unknown": {"x": [1]}, "none": null}),
        );
        check(&json!({"a": 1}), &json!({"a": 3}), &written, &json!({"a": 3, "unknown": {"x": [1]}, "none": null}));
        check(&json!({"a": 1, "d": 0}), &json!({"a": 1, "d": 0}), &written, &written);
        check(&json!({"a": 1}), &json!({}), &written, &json!({"unknown": {"x": [1]}, "none": null}));
    }

    #[test]
    fn lists_are_followed_item_by_item() {
        let written = json!([{"name": "a", "more": 1}, {"name": "b"}]);
        let (before, after) =
            (json!([{"name": "a"}, {"name": "b"}]), json!([{"name": "a", "n": 1}, {"name": "b", "n": 2}]));
        check(&before, &after, &written, &json!([{"name": "a", "more": 1, "n": 1}, {"name": "b", "n": 2}]));
        check(&before, &json!([]), &written, &json!([]));
    }
}
