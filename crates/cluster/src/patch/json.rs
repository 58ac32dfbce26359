//! JSON patches (RFC 6902), as a real server understands them: `test` with `null` holds where nothing stands, `replace` adds what is
//! absent from an object, negative indices count from the end, and what precedes the first slash of a path is ignored.

use serde_json::{Map, Value};

use super::rejected;
use super::words::json_kind;
use crate::status::Status;

/// More operations than these are refused.
const MOST_OPERATIONS: usize = 10_000;

/// The target with a JSON patch applied.
pub fn json(target: &Value, patch: &Value) -> Result<Value, Status> {
    let operations = operations(patch)?;
    let mut document = target.clone();
    for operation in operations {
        let applied = operation.as_object().and_then(|operation| apply(&mut document, operation));
        applied.ok_or_else(rejected)?;
    }
    if document.is_object() {
        return Ok(document);
    }
    let text = document.to_string();
    let why = "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { \
               APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }";
    Err(super::unreadable(&text, why))
}

/// Fields of operations that no operation has, as they stand in warnings (or in the refusal, if validation is strict).
pub fn unknown_fields(patch: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for (index, operation) in patch.as_array().into_iter().flatten().enumerate() {
        let names = operation.as_object().into_iter().flat_map(Map::keys);
        for name in names.filter(|name| !["op", "path", "from", "value"].contains(&name.as_str())) {
            found.push(format!("json patch unknown field \"[{index}].{name}\""));
        }
    }
    found
}

fn operations(patch: &Value) -> Result<&[Value], Status> {
    let refuse = |value: &Value, into: &str| {
        let kind = json_kind(value);
        Status::bad_request(format!("error decoding patch: json: cannot unmarshal {kind} into Go {into}"))
    };
    let operations = match patch {
        Value::Null => &[],
        Value::Array(operations) => operations.as_slice(),
        other => return Err(refuse(other, "value of type []handlers.jsonPatchOp")),
    };
    for operation in operations {
        let fields = match operation {
            Value::Null => continue,
            Value::Object(fields) => fields,
            other => return Err(refuse(other, "value of type handlers.jsonPatchOp")),
        };
        for name in ["op", "path", "from"] {
            if let Some(value) = fields.get(name).filter(|value| !value.is_string() && !value.is_null()) {
                return Err(refuse(value, &format!("struct field jsonPatchOp.{name} of type string")));
            }
        }
    }
    if operations.len() > MOST_OPERATIONS {
        return Err(Status::too_large(format!(
            "Request entity too large: The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {}",
            operations.len()
        )));
    }
    Ok(operations)
}

/// `None` if the operation cannot be carried out; why is never told.
fn apply(document: &mut Value, operation: &Map<String, Value>) -> Option<()> {
    let text = |name: &str| operation.get(name).and_then(Value::as_str);
    let value = operation.get("value");
    match text("op")? {
        "add" => add(document, text("path")?, value.cloned().unwrap_or_default()),
        "remove" => take(document, text("path")?).map(drop),
        "replace" => replace(document, text("path")?, value),
        "move" => {
            let moved = take(document, text("from")?)?;
            add(document, text("path")?, moved)
        }
        "copy" => {
            let copied = look(document, text("from")?)?;
            add(document, text("path")?, copied)
        }
        "test" => {
            let path = text("path")?;
            let found = if path.is_empty() { document.clone() } else { look(document, path)? };
            (found == *value.unwrap_or(&Value::Null)).then_some(())
        }
        _ => None,
    }
}

fn add(document: &mut Value, path: &str, value: Value) -> Option<()> {
    match parent(document, path)? {
        (Value::Object(fields), key) => {
            fields.insert(key, value);
        }
        (Value::Array(members), key) if key == "-" => members.push(value),
        (Value::Array(members), key) => {
            let index = index(&key, members.len() + 1)?;
            members.insert(index, value);
        }
        _ => return None,
    }
    Some(())
}

fn replace(document: &mut Value, path: &str, value: Option<&Value>) -> Option<()> {
    if path.is_empty() {
        *document = value.filter(|value| value.is_object() || value.is_array())?.clone();
        return Some(());
    }
    let value = value.cloned().unwrap_or_default();
    match parent(document, path)? {
        (Value::Object(fields), key) => {
            fields.insert(key, value);
        }
        (Value::Array(members), key) => {
            let index = index(&key, members.len())?;
            members[index] = value;
        }
        _ => return None,
    }
    Some(())
}

fn take(document: &mut Value, path: &str) -> Option<Value> {
    match parent(document, path)? {
        (Value::Object(fields), key) => fields.remove(&key),
        (Value::Array(members), key) => {
            let index = index(&key, members.len())?;
            Some(members.remove(index))
        }
        _ => None,
    }
}

/// What stands at a path; `null` where an object lacks the last field.
fn look(document: &mut Value, path: &str) -> Option<Value> {
    match parent(document, path)? {
        (Value::Object(fields), key) => Some(fields.get(&key).cloned().unwrap_or_default()),
        (Value::Array(members), key) => Some(members[index(&key, members.len())?].clone()),
        _ => None,
    }
}

/// The object or list that holds what a path names, and the last part of the path.
fn parent<'a>(document: &'a mut Value, path: &str) -> Option<(&'a mut Value, String)> {
    let (_, path) = path.split_once('/')?;
    let mut parts: Vec<String> = path.split('/').map(|part| part.replace("~1", "/").replace("~0", "~")).collect();
    let last = parts.pop()?;
    let mut holder = document;
    for part in parts {
        holder = match holder {
            Value::Object(fields) => fields.get_mut(&part)?,
            Value::Array(members) => {
                let index = index(&part, members.len())?;
                &mut members[index]
            }
            _ => return None,
        };
    }
    Some((holder, last))
}

/// A place in a list of this length; negative numbers count from its end.
fn index(text: &str, length: usize) -> Option<usize> {
    let number: i64 = text.parse().ok()?;
    let index = match usize::try_from(number) {
        Ok(index) => index,
        Err(_) => length.checked_sub(usize::try_from(number.unsigned_abs()).ok()?)?,
    };
    (index < length).then_some(index)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    /// What a patch makes of the target, or the code and the message of the refusal.
    fn check(patch: &Value, expected: Result<Value, &str>) {
        let target = json!({"data": {"k": "v"}, "list": ["a", "b"], "n": 1});
        let got = super::json(&target, patch).map_err(|status| format!("{} {}", status.code, status.message));
        assert_eq!(got, expected.map_err(str::to_owned), "{patch}");
    }

    const REJECTED: &str = "422 the server rejected our request due to an error in our request";

    #[test]
    fn applies_as_a_real_server_does() {
        let with = |data: Value, list: Value| Ok(json!({"data": data, "list": list, "n": 1}));
        let unchanged = || with(json!({"k": "v"}), json!(["a", "b"]));
        check(&json!([]), unchanged());
        check(&json!(null), unchanged());
        check(&json!([{"op": "test", "path": "/data/k", "value": "v"}]), unchanged());
        check(&json!([{"op": "test", "path": "/finalizers", "value": null}]), unchanged());
        check(&json!([{"op": "test", "path": "/finalizers"}]), unchanged());
        check(&json!([{"op": "test", "path": "/list/-1", "value": "b"}]), unchanged());
        check(
            &json!([{"op": "replace", "path": "/data/nope", "value": "q"}]),
            with(json!({"k": "v", "nope": "q"}), json!(["a", "b"])),
        );
        check(&json!([{"op": "add", "path": "/data/new"}]), with(json!({"k": "v", "new": null}), json!(["a", "b"])));
        check(
            &json!([{"op": "add", "path": "/data/a~1b~01", "value": 1}]),
            with(json!({"k": "v", "a/b~1": 1}), json!(["a", "b"])),
        );
        check(
            &json!([{"op": "move", "from": "/data/k", "path": "/data/kk"}]),
            with(json!({"kk": "v"}), json!(["a", "b"])),
        );
        check(
            &json!([{"op": "copy", "from": "/data/k", "path": "/data/kk"}]),
            with(json!({"k": "v", "kk": "v"}), json!(["a", "b"])),
        );
        check(
            &json!([{"op": "copy", "from": "/data/no", "path": "/data/kk"}]),
            with(json!({"k": "v", "kk": null}), json!(["a", "b"])),
        );
        check(
            &json!([
                {"op": "add", "path": "/list/0", "value": "first"},
                {"op": "add", "path": "/list/-1", "value": "negative"},
                {"op": "add", "path": "/list/-", "value": "end"},
                {"op": "remove", "path": "/list/1"},
                {"op": "replace", "path": "/list/-3", "value": "B"},
            ]),
            with(json!({"k": "v"}), json!(["first", "B", "negative", "end"])),
        );
        check(
            &json!([{"op": "add", "path": "data/x", "value": "q"}]),
            Ok(json!({"data": {"k": "v"}, "list": ["a", "b"], "n": 1, "x": "q"})),
        );
    }

    #[test]
    fn refuses_with_one_message() {
        for operation in [
            json!(null),
            json!({"op": "test", "path": "/data/k", "value": "w"}),
            json!({"op": "test", "path": "/data/k"}),
            json!({"op": "test", "path": "/n", "value": 1.0}),
            json!({"op": "test", "path": "/nope/x", "value": null}),
            json!({"op": "test", "path": "/list/7", "value": null}),
            json!({"op": "test", "path": "", "value": 1}),
            json!({"op": "remove", "path": "/data/nope"}),
            json!({"op": "remove", "path": "/nope/nope"}),
            json!({"op": "remove", "path": "/list/-"}),
            json!({"op": "remove", "path": "/list/2"}),
            json!({"op": "remove", "path": ""}),
            json!({"op": "replace", "path": "/nope/nope", "value": "q"}),
            json!({"op": "replace", "path": "/list/2", "value": "q"}),
            json!({"op": "replace", "path": "", "value": 3}),
            json!({"op": "add", "path": "", "value": {}}),
            json!({"op": "add", "path": "x", "value": "q"}),
            json!({"op": "add", "path": "/data/k/y", "value": "q"}),
            json!({"op": "add", "path": "/list/3", "value": "q"}),
            json!({"op": "add", "path": "/list/-4", "value": "q"}),
            json!({"op": "add", "path": "/list/99999999999999999999", "value": "q"}),
            json!({"op": "move", "from": "/data/no", "path": "/data/kk"}),
            json!({"op": "move", "path": "/data/kk"}),
            json!({"op": "copy", "from": "/no/no", "path": "/data/kk"}),
            json!({"op": "frob", "path": "/data"}),
            json!({"path": "/data"}),
            json!({"op": "add", "value": 1}),
        ] {
            check(&json!([operation]), Err(REJECTED));
        }
    }

    #[test]
    fn refuses_what_is_no_patch() {
        let refused = |words: &str| format!("400 error decoding patch: json: cannot unmarshal {words}");
        check(&json!({}), Err(&refused("object into Go value of type []handlers.jsonPatchOp")));
        check(&json!([3]), Err(&refused("number into Go value of type handlers.jsonPatchOp")));
        check(&json!([{"op": 3}]), Err(&refused("number into Go struct field jsonPatchOp.op of type string")));
        let many = vec![json!({"op": "test", "path": "/n", "value": 1}); 10_001];
        let words = "413 Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001";
        check(&Value::Array(many), Err(words));
        let refusal = super::json(&json!({}), &json!([{"op": "replace", "path": "", "value": []}])).unwrap_err();
        assert!(
            refusal
                .message
                .starts_with(" \"\" is invalid: patch: Invalid value: \"[]\": couldn't get version/kind; json")
        );
        assert!(refusal.message.ends_with("Kind string \"json:\\\"kind,omitempty\\\"\" }"), "{}", refusal.message);
    }

    #[test]
    fn names_fields_that_no_operation_has() {
        let patch = json!([{"op": "add", "path": "/data/x", "extra": 2}]);
        assert_eq!(super::unknown_fields(&patch), ["json patch unknown field \"[0].extra\""]);
    }
}
