//! JSON merge patches (RFC 7386).

use serde_json::{Map, Value};

use super::drop_nulls;
use crate::status::Status;

/// The target with a merge patch applied.
pub fn merge(target: &Value, patch: &Value) -> Result<Value, Status> {
    if patch.is_null() {
        return Err(Status::bad_request("Invalid JSON Patch"));
    }
    let patch = super::object(patch).map_err(|why| Status::bad_request(format!("error decoding patch: {why}")))?;
    let mut merged = target.as_object().cloned().unwrap_or_default();
    merge_fields(&mut merged, patch);
    Ok(Value::Object(merged))
}

fn merge_fields(target: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (name, value) in patch {
        if value.is_null() {
            target.remove(name);
            continue;
        }
        match (target.get_mut(name), value) {
            (Some(Value::Object(old)), Value::Object(new)) => merge_fields(old, new),
            // The RFC has no such exception, but a real server keeps nulls in a list that takes the place of an object.
            (Some(Value::Object(_)), _) => {
                target.insert(name.clone(), value.clone());
            }
            _ => {
                let mut value = value.clone();
                drop_nulls(&mut value);
                target.insert(name.clone(), value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    fn check(patch: &Value, expected: Result<Value, &str>) {
        let target = json!({"data": {"k": "v", "z": "1"}, "list": [1], "n": null});
        let got = super::merge(&target, patch).map_err(|status| format!("{} {}", status.code, status.message));
        assert_eq!(got, expected.map_err(str::to_owned), "{patch}");
    }

    #[test]
    fn merges_as_a_real_server_does() {
        check(&json!({}), Ok(json!({"data": {"k": "v", "z": "1"}, "list": [1], "n": null})));
        check(&json!({"data": null, "list": null, "n": null}), Ok(json!({})));
        check(&json!({"data": {"k": null}, "n": 1}), Ok(json!({"data": {"z": "1"}, "list": [1], "n": 1})));
        check(
            &json!({"data": {"n": null, "b": "2"}, "list": [2, null], "n": null}),
            Ok(json!({"data": {"k": "v", "z": "1", "b": "2"}, "list": [2, null]})),
        );
        check(
            &json!({"data": [{"a": null}], "list": [{"a": null}], "n": {"a": null, "b": [{"c": null}]}}),
            Ok(json!({"data": [{"a": null}], "list": [{}], "n": {"b": [{}]}})),
        );
        check(&json!(null), Err("400 Invalid JSON Patch"));
        let words = "json: cannot unmarshal array into Go value of type map[string]interface {}";
        check(&json!([]), Err(&format!("400 error decoding patch: {words}")));
        check(&json!(3), Err(&format!("400 error decoding patch: {}", words.replace("array", "number"))));
    }
}
