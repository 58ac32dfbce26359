//! Bodies, spoiled in every way.

use serde_json::{Map, Value, json};
use trellis_testkit::mutate::{Dice, mutate};

use crate::requests::{once_in, one};

/// Pointers into a value, all of them.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            pointers(value, &format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), found);
        }),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, value)| pointers(value, &format!("{at}/{index}"), found));
        }
        _ => {}
    }
}

/// A JSON patch with places that are there, that are not, and that cannot be.
pub fn json_patch(object: &Value, other: &Value, dice: &mut Dice) -> Value {
    let mut places = Vec::new();
    pointers(object, "", &mut places);
    let odd = [
        "",
        "/",
        "/-",
        "/metadata/labels/-",
        "/spec/containers/99",
        "/spec/containers/-1",
        "/spec/containers/01",
        "~",
        "/~2",
        "metadata",
        "/a/b/c",
        "/metadata/finalizers/-",
    ];
    let place = |dice: &mut Dice| {
        if once_in(4, dice) { one(&odd, dice).to_owned() } else { places[dice.below(places.len())].clone() }
    };
    let mut operations = Vec::new();
    for _ in 0..dice.below(5) {
        let op = one(&["add", "remove", "replace", "move", "copy", "test", "other"], dice);
        let mut value = object.pointer(&place(dice)).cloned().unwrap_or_default();
        if once_in(2, dice) {
            mutate(&mut value, other, dice);
        }
        let mut operation = json!({"op": op, "path": place(dice), "value": value});
        if matches!(op, "move" | "copy") {
            operation["from"] = place(dice).into();
        }
        if once_in(10, dice) {
            mutate(&mut operation, other, dice);
        }
        operations.push(operation);
    }
    let mut patch = Value::Array(operations);
    if once_in(20, dice) {
        mutate(&mut patch, other, dice);
    }
    patch
}

/// Some of the fields of an object, down to any depth.
pub fn part(value: &Value, dice: &mut Dice) -> Value {
    match value {
        Value::Object(fields) => {
            let mut kept = Map::new();
            for (key, value) in fields {
                match dice.below(4) {
                    0 => {}
                    1 => drop(kept.insert(key.clone(), Value::Null)),
                    _ => drop(kept.insert(key.clone(), part(value, dice))),
                }
            }
            Value::Object(kept)
        }
        other => other.clone(),
    }
}

/// A strategic merge patch: parts of an object with directives in places that suit them, or not.
pub fn strategic_patch(value: &Value, dice: &mut Dice) -> Value {
    match value {
        Value::Object(fields) => {
            let mut kept = Map::new();
            for (key, value) in fields {
                match dice.below(8) {
                    0 | 1 => {}
                    2 => drop(kept.insert(key.clone(), Value::Null)),
                    3 => drop(kept.insert(format!("$setElementOrder/{key}"), list_of_keys(value, dice))),
                    4 => drop(kept.insert(format!("$deleteFromPrimitiveList/{key}"), json!(["a", value]))),
                    _ => drop(kept.insert(key.clone(), strategic_patch(value, dice))),
                }
            }
            if once_in(6, dice) {
                kept.insert("$patch".to_owned(), one(&["delete", "replace", "merge", "other", ""], dice).into());
            }
            if once_in(10, dice) {
                let keys: Vec<Value> = fields.keys().take(dice.below(4)).map(|key| key.clone().into()).collect();
                kept.insert("$retainKeys".to_owned(), if once_in(5, dice) { json!("x") } else { keys.into() });
            }
            Value::Object(kept)
        }
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(|item| strategic_patch(item, dice)).collect();
            if once_in(5, dice) {
                items.push(json!({"$patch": one(&["delete", "replace", "merge"], dice)}));
            }
            items.into()
        }
        other => other.clone(),
    }
}

fn list_of_keys(value: &Value, dice: &mut Dice) -> Value {
    match value {
        Value::Array(items) if !once_in(4, dice) => items
            .iter()
            .map(|item| match item {
                Value::Object(fields) => {
                    fields.iter().take(1).map(|(key, value)| (key.clone(), value.clone())).collect::<Map<_, _>>().into()
                }
                scalar => scalar.clone(),
            })
            .collect(),
        other => other.clone(),
    }
}

/// What a delete may bring.
pub fn delete_options(dice: &mut Dice) -> Option<Value> {
    if once_in(2, dice) {
        return None;
    }
    let grace = [-1, 0, 1, i64::MAX, i64::MIN][dice.below(5)];
    let mut options = json!({
        "apiVersion": one(&["v1", "meta.k8s.io/v1", "policy/v1"], dice), "kind": "DeleteOptions",
        "gracePeriodSeconds": grace,
        "propagationPolicy": one(&["Foreground", "Background", "Orphan", "Other"], dice),
        "preconditions": {"uid": one(&["", "x"], dice), "resourceVersion": one(&["", "1", "x"], dice)},
    });
    if once_in(3, dice) {
        mutate(&mut options, &json!({"dryRun": ["All"], "orphanDependents": true}), dice);
    }
    Some(options)
}

/// What belongs to a path that takes no stored object.
pub fn for_path(path: &str, dice: &mut Dice) -> Option<Value> {
    Some(match path.rsplit('/').next()? {
        "selfsubjectaccessreviews" => {
            json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}})
        }
        "selfsubjectrulesreviews" => {
            json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": "default"}})
        }
        "selfsubjectreviews" => json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}),
        "tokenreviews" => {
            json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "x", "audiences": ["a"]}})
        }
        "binding" | "bindings" => {
            json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "one", "annotations": {"a": "b"}}, "target": {"apiVersion": "v1", "kind": "Node", "name": "one"}})
        }
        "eviction" => {
            json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "one", "namespace": "default"}, "deleteOptions": delete_options(dice)})
        }
        "token" => {
            json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": ["a"], "expirationSeconds": 3600, "boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "one"}}})
        }
        "finalize" => {
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}, "spec": {"finalizers": []}})
        }
        "scale" => {
            json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "one", "namespace": "default"}, "spec": {"replicas": 5}})
        }
        _ => return None,
    })
}

/// Bytes that are no object.
pub fn strange(dice: &mut Dice) -> Vec<u8> {
    match dice.below(12) {
        0 => b"[".repeat(dice.below(100_000)),
        1 => b"{\"a\":".repeat(dice.below(100_000)),
        2 => [b"{\"a\":".repeat(120), b"1".to_vec(), b"}".repeat(120)].concat(),
        3 => [b"{\"metadata\":{\"name\":\"".to_vec(), b"x".repeat(2_500_000), b"\"}}".to_vec()].concat(),
        4 => b"- ".repeat(dice.below(5_000)),
        5 => b"a: &a [*a, *a]".to_vec(),
        6 => yaml_bomb(),
        7 => [b"k8s\0".to_vec(), (0..dice.below(200)).map(|_| byte(dice)).collect()].concat(),
        8 => (0..dice.below(300)).map(|_| byte(dice)).collect(),
        9 => b"\xef\xbb\xbf{}".to_vec(),
        10 => b"1e999999999999".to_vec(),
        _ => one(
            &["null", "true", "\"\"", "[]", "{}", "-", "---\n---\n", "{}{}", "{\"a\":1,\"a\":2}", "\"\\ud800\""],
            dice,
        )
        .as_bytes()
        .to_vec(),
    }
}

/// Ten names, each for nine of the one before.
fn yaml_bomb() -> Vec<u8> {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..10 {
        let names = vec![format!("*a{}", level - 1); 9].join(", ");
        text += &format!("a{level}: &a{level} [{names}]\n");
    }
    text.into_bytes()
}

fn byte(dice: &mut Dice) -> u8 {
    u8::try_from(dice.below(256)).unwrap_or_default()
}

/// Cuts bytes off, changes some, or puts some in.
pub fn spoil_bytes(bytes: &mut Vec<u8>, dice: &mut Dice) {
    if bytes.is_empty() || once_in(8, dice) {
        *bytes = strange(dice);
        return;
    }
    match dice.below(3) {
        0 => bytes.truncate(dice.below(bytes.len())),
        1 => {
            for _ in 0..=dice.below(4) {
                let at = dice.below(bytes.len());
                bytes[at] = byte(dice);
            }
        }
        _ => {
            let at = dice.below(bytes.len());
            let part = one(&["{", "}", "\"", ",", "\\u0000", "\\ud800", "1e400", "nul", "\n", "\u{0}"], dice);
            bytes.splice(at..at, part.bytes());
        }
    }
}
