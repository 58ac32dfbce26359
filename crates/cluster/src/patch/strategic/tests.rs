//! `cases.jsonl` has what a real server made of each patch.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::schema::{Merge, Schema, Shape};

/// An object with fields.
fn object(fields: Vec<(&str, Schema)>) -> Schema {
    let properties = fields.into_iter().map(|(name, field)| (name.to_owned(), Arc::new(field))).collect();
    Schema { shape: Shape::Object, properties, ..Schema::default() }
}

/// A list that is replaced as a whole.
fn list(items: Schema) -> Schema {
    Schema { shape: Shape::Array, items: Some(Arc::new(items)), ..Schema::default() }
}

/// A list whose members are merged by a key, or as plain values.
fn merged(key: &str, items: Schema) -> Schema {
    let key = (!key.is_empty()).then(|| key.to_owned());
    Schema { merge: Merge { merge: true, key, ..Merge::default() }, ..list(items) }
}

fn text() -> Schema {
    Schema { shape: Shape::String, ..Schema::default() }
}

fn map() -> Schema {
    Schema { shape: Shape::Object, additional: Some(Arc::new(text())), ..Schema::default() }
}

fn metadata() -> Schema {
    object(vec![
        ("labels", map()),
        ("finalizers", merged("", text())),
        ("ownerReferences", merged("uid", object(vec![]))),
    ])
}

fn template() -> (Schema, Value) {
    let container = object(vec![
        ("env", merged("name", object(vec![]))),
        ("ports", merged("containerPort", object(vec![]))),
        ("image", text()),
    ]);
    let volume =
        object(vec![("configMap", object(vec![])), ("emptyDir", object(vec![])), ("hostPath", object(vec![]))]);
    let mut volumes = merged("name", volume);
    volumes.merge.retain_keys = true;
    let spec = object(vec![
        ("containers", merged("name", container.clone())),
        ("initContainers", merged("name", container)),
        ("tolerations", list(object(vec![]))),
        ("volumes", volumes),
        ("imagePullSecrets", merged("name", object(vec![]))),
        ("nodeSelector", map()),
        ("hostname", text()),
    ]);
    let schema =
        object(vec![("metadata", metadata()), ("template", object(vec![("metadata", metadata()), ("spec", spec)]))]);
    let reference = |name, uid| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid});
    let target = json!({
        "metadata": {
            "name": "t", "labels": {"a": "b"}, "finalizers": ["x.y/a", "x.y/b", "x.y/d"],
            "ownerReferences": [reference("c", "u1"), reference("d", "u2")],
        },
        "template": {"spec": {
            "containers": [
                {
                    "name": "one", "image": "1",
                    "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                    "ports": [{"containerPort": 80, "name": "http"}, {"containerPort": 81}],
                },
                {"name": "two", "image": "2"}, {"name": "three", "image": "3"}, {"name": "four", "image": "4"},
            ],
            "tolerations": [{"key": "k1", "operator": "Exists"}, {"key": "k2", "operator": "Exists"}],
            "volumes": [{"name": "v1", "emptyDir": {}}, {"name": "v2", "configMap": {"name": "c"}}],
            "imagePullSecrets": [{"name": "s1"}],
            "nodeSelector": {"x": "y"},
        }},
    });
    (schema, target)
}

fn service() -> (Schema, Value) {
    let schema = object(vec![("spec", object(vec![("ports", merged("port", object(vec![]))), ("selector", map())]))]);
    let port = |name, port, target| json!({"name": name, "port": port, "targetPort": target});
    let target =
        json!({"spec": {"selector": {"a": "b"}, "ports": [port("a", 80, 8080), port("b", 53, 53), port("c", 53, 53)]}});
    (schema, target)
}

fn account() -> (Schema, Value) {
    let schema = object(vec![
        ("metadata", metadata()),
        ("secrets", merged("name", object(vec![]))),
        ("imagePullSecrets", list(object(vec![]))),
    ]);
    (schema, json!({"secrets": [{"name": "x"}, {"name": "y"}], "imagePullSecrets": [{"name": "p"}]}))
}

fn node() -> (Schema, Value) {
    let schema = object(vec![
        ("spec", object(vec![("taints", list(object(vec![]))), ("podCIDRs", merged("", text()))])),
        (
            "status",
            object(vec![
                ("conditions", merged("type", object(vec![]))),
                ("addresses", merged("type", object(vec![]))),
                ("capacity", map()),
            ]),
        ),
    ]);
    let target = json!({
        "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}], "podCIDRs": ["10.0.0.0/24"]},
        "status": {
            "conditions": [{"type": "Ready", "status": "True", "reason": "r"}, {"type": "Disk", "status": "False"}],
            "addresses": [{"type": "InternalIP", "address": "1.1.1.1"}, {"type": "Hostname", "address": "h"}],
            "capacity": {"cpu": "4", "memory": "1Gi"},
        },
    });
    (schema, target)
}

/// An empty list or map is absent from what a server answers.
fn or_null(value: Option<&Value>) -> Value {
    match value {
        Some(Value::Array(members)) if members.is_empty() => Value::Null,
        Some(Value::Object(fields)) if fields.is_empty() => Value::Null,
        Some(value) => value.clone(),
        None => Value::Null,
    }
}

fn check(case: &Value) {
    let (schema, target) = match case["object"].as_str() {
        Some("template") => template(),
        Some("service") => service(),
        Some("account") => account(),
        _ => node(),
    };
    match super::strategic(&schema, &target, &case["patch"]) {
        Ok(patched) => {
            let place = case["at"].as_str().unwrap_or_else(|| panic!("{case} was not refused"));
            assert_eq!(or_null(patched.pointer(place)), case["gives"], "{}", case["patch"]);
        }
        Err(status) => {
            let reason = (!status.reason.is_empty()).then_some(status.reason);
            assert_eq!(json!([status.code, reason, status.message]), case["refused"], "{}", case["patch"]);
        }
    }
}

#[test]
fn patches_as_a_real_server_does() {
    let cases: Vec<Value> =
        include_str!("cases.jsonl").lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    assert!(cases.len() > 80, "{}", cases.len());
    cases.iter().for_each(check);
}

#[test]
fn no_patch_changes_nothing() {
    let (schema, target) = template();
    assert_eq!(super::strategic(&schema, &target, &Value::Null), Ok(target.clone()));
    assert_eq!(super::strategic(&schema, &target, &json!({})), Ok(target));
}
