//! The whole of it against what a real server did ([`super::cases`]), and properties that hold for any writes.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::cases::{CASES, SCHEMA};
use super::{FieldSet, Writer, apply, empty_object, fields_of, keep_times, managed, reset, update};
use crate::schema::{Limits, ListType, Schema, Shape};
use crate::status::Status;

/// A schema from OpenAPI, as far as these tests need it.
pub(super) fn schema(openapi: &Value) -> Schema {
    let is = |name: &str| openapi[name] == json!(true);
    let below = |name: &str| openapi.get(name).filter(|part| part.is_object()).map(|part| Arc::new(schema(part)));
    let shape = match openapi["type"].as_str() {
        Some("object") => Shape::Object,
        Some("array") => Shape::Array,
        Some("string") => Shape::String,
        Some("integer") => Shape::Integer,
        Some("number") => Shape::Number,
        Some("boolean") => Shape::Boolean,
        _ => Shape::Any,
    };
    let texts = |name: &str| -> Vec<String> {
        openapi[name].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let list = match openapi["x-kubernetes-list-type"].as_str() {
        Some("map") => ListType::Map(texts("x-kubernetes-list-map-keys")),
        Some("set") => ListType::Set,
        _ => ListType::Atomic,
    };
    let format = openapi["format"].as_str().map(str::to_owned);
    Schema {
        shape: if is("x-kubernetes-int-or-string") { Shape::IntOrString } else { shape },
        properties: openapi["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, field)| (name.clone(), Arc::new(schema(field))))
            .collect(),
        additional: below("additionalProperties"),
        items: below("items"),
        required: texts("required"),
        list,
        atomic: openapi["x-kubernetes-map-type"] == json!("atomic"),
        preserve_unknown: is("x-kubernetes-preserve-unknown-fields"),
        embedded: is("x-kubernetes-embedded-resource"),
        default: openapi.get("default").cloned(),
        limits: format.map(|format| Box::new(Limits { format: Some(format), ..Limits::default() })),
        ..Schema::default()
    }
}

/// The custom kind of the cases.
pub(super) fn thing() -> Schema {
    schema(&serde_json::from_str(SCHEMA).expect("the schema is JSON"))
}

/// Reads an object as a server does, which is not our part: in metadata and in built-in kinds, what is empty is absent.
fn read_in(object: &mut Value) {
    if object["data"] == json!({}) {
        object.as_object_mut().into_iter().for_each(|fields| _ = fields.remove("data"));
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|name, value| name == "managedFields" || (*value != json!([]) && *value != json!({})));
    }
}

/// Fills in defaults, which is not our part.
fn fill_in(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in &schema.properties {
                if let (None, Some(default)) = (fields.get(name), &field.default) {
                    fields.insert(name.clone(), default.clone());
                }
            }
            for (name, value) in fields.iter_mut() {
                schema.field(name).into_iter().for_each(|field| fill_in(field, value));
            }
        }
        Value::Array(items) => {
            items.iter_mut().for_each(|item| schema.items.iter().for_each(|items| fill_in(items, item)));
        }
        _ => {}
    }
}

/// What a client's `application/merge-patch+json` makes of an object.
fn patched(object: &Value, patch: &Value) -> Value {
    let Value::Object(changes) = patch else { return patch.clone() };
    let mut fields = object.as_object().cloned().unwrap_or_default();
    for (name, change) in changes {
        if change.is_null() {
            fields.remove(name);
        } else {
            let before = fields.get(name).unwrap_or(&Value::Null);
            let after = patched(before, change);
            fields.insert(name.clone(), after);
        }
    }
    Value::Object(fields)
}

/// A kind in its versions.
struct Kind {
    name: String,
    versions: Vec<(String, Arc<Schema>)>,
    empty: Option<Value>,
}

impl Kind {
    fn of(name: &str) -> Self {
        if name == "Thing" {
            let free = schema(&json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}));
            let versions =
                vec![("fields.dev/v1".to_owned(), Arc::new(thing())), ("fields.dev/v2".to_owned(), Arc::new(free))];
            return Self { name: name.to_owned(), versions, empty: None };
        }
        let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
        let map = schema(&json!({"type": "object", "properties": {"metadata": METADATA.clone(), "data": texts}}));
        let empty = Some(empty_object(&map));
        Self { name: name.to_owned(), versions: vec![("v1".to_owned(), Arc::new(map))], empty }
    }

    /// One request, all that a server does with it included.
    fn step(&self, live: Option<&Value>, step: &Value, time: &str) -> Result<Value, Status> {
        let text = |name: &str| step[name].as_str().unwrap_or_default();
        let (api_version, schema) = &self.versions[usize::from(text("ver") == "v2")];
        let custom = self.empty.is_none();
        let writer = Writer {
            manager: text("by"),
            api_version,
            kind: &self.name,
            subresource: text("sub"),
            time,
            reset: reset::fields(&self.name, text("sub"), custom, custom),
            empty: self.empty.as_ref(),
            versions: &self.versions,
        };
        let mut body = step["body"].clone();
        if text("op") != "merge" {
            body = patched(&json!({"apiVersion": api_version, "kind": self.name, "metadata": {"name": "o"}}), &body);
            // The null that the patch would take for an order to remove.
            if let Some(fields) = step["body"]["spec"].as_object() {
                body["spec"] = Value::Object(fields.clone());
            }
        }
        let mut new = match text("op") {
            "apply" => {
                let mut new = apply(schema, live, &body, &writer, step["force"] == json!(true))?;
                fill_in(schema, &mut new);
                read_in(&mut new);
                new
            }
            _ => {
                let mut new = live.map_or(body.clone(), |live| patched(live, &body));
                fill_in(schema, &mut new);
                read_in(&mut new);
                update(schema, live, &mut new, &writer);
                new
            }
        };
        if let Some(live) = live {
            keep_times(live, &mut new);
        }
        // The server's own changes.
        let (kept, changed) = if text("sub") == "status" { (live, Some(&new)) } else { (Some(&new), live) };
        let mut object = kept.cloned().unwrap_or_default();
        if let Some(fields) = object.as_object_mut().filter(|_| custom) {
            fields.remove("status");
            fields.extend(
                changed.and_then(|changed| changed.get("status")).map(|status| ("status".to_owned(), status.clone())),
            );
        }
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("managedFields");
            metadata.extend(new["metadata"].get("managedFields").map(|all| ("managedFields".to_owned(), all.clone())));
            metadata.insert("uid".to_owned(), "u".into());
        }
        Ok(object)
    }
}

/// Metadata as a built-in kind has it.
static METADATA: std::sync::LazyLock<Value> = std::sync::LazyLock::new(|| {
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let text = json!({"type": "string"});
    json!({"type": "object", "default": {}, "properties": {
        "labels": texts, "annotations": texts, "name": text, "namespace": text, "uid": text, "generateName": text,
        "managedFields": {"type": "array", "items": {"type": "object"}},
    }})
});

fn time_of(step: usize) -> String {
    format!("2026-01-01T00:00:{step:02}Z")
}

/// An object as the cases tell it: without its head, and its managers apart.
fn told(object: &Value) -> (Value, Value) {
    let mut object = object.clone();
    let mut owners = Vec::new();
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|name, _| name != "apiVersion" && name != "kind");
        let metadata = fields.get_mut("metadata").and_then(Value::as_object_mut);
        if let Some(metadata) = metadata {
            for entry in metadata.remove("managedFields").as_ref().and_then(Value::as_array).into_iter().flatten() {
                let text = |name: &str| entry[name].as_str().unwrap_or_default();
                let step =
                    (1..20).find(|step| time_of(*step) == text("time")).map_or(entry["time"].clone(), Value::from);
                owners.push(json!([
                    text("manager"),
                    text("operation"),
                    text("apiVersion"),
                    text("subresource"),
                    step,
                    entry["fieldsV1"],
                ]));
            }
            metadata.retain(|name, _| name != "name" && name != "uid");
            if metadata.is_empty() {
                fields.remove("metadata");
            }
        }
    }
    (object, Value::Array(owners))
}

fn check(about: &str, kind: &str, steps: &[Value]) {
    let kind = Kind::of(kind);
    let mut live: Option<Value> = None;
    for (at, step) in steps.iter().enumerate() {
        let version = usize::from(step["ver"] == "v2");
        if let Some(live) = &mut live {
            live["apiVersion"] = kind.versions[version].0.clone().into();
        }
        let what = format!("{about}, step {}: {step}", at + 1);
        match kind.step(live.as_ref(), step, &time_of(at + 1)) {
            Ok(object) => {
                let (body, owners) = told(&object);
                assert_eq!(owners, step["owners"], "owners: {what}");
                assert_eq!(body, step["gives"], "object: {what}");
                live = Some(object);
            }
            Err(status) => {
                let mut causes: Vec<Value> = Vec::new();
                for cause in status.details.iter().filter_map(|details| details["causes"].as_array()).flatten() {
                    assert_eq!(cause["reason"], "FieldManagerConflict");
                    causes.push(json!([cause["message"], cause["field"]]));
                }
                causes.sort_by_key(ToString::to_string);
                assert_eq!(json!([status.code, status.message, causes]), step["refused"], "{what}");
            }
        }
    }
}

#[test]
fn as_a_real_server() {
    let cases: Value = serde_json::from_str(CASES).expect("the cases are JSON");
    let mut steps = 0;
    for case in cases.as_array().into_iter().flatten() {
        let all = case["steps"].as_array().expect("every case has steps");
        check(case["about"].as_str().unwrap_or_default(), case["kind"].as_str().unwrap_or_default(), all);
        steps += all.len();
    }
    assert!(steps >= 100, "only {steps} steps");
}

fn writer(manager: &str) -> Writer<'_> {
    let (api_version, kind, time) = ("fields.dev/v1", "Thing", "2026-01-01T00:00:00Z");
    Writer { manager, api_version, kind, time, ..Writer::default() }
}

/// Items with the same key, in what a real server did with the environment of a container.
#[test]
fn items_that_cannot_be_told_apart() {
    let kind = thing();
    let item = |name: &str, count: i64| json!({"name": name, "count": count});
    let fields = |manager: &str, object: &Value| {
        let entries = managed::read(&object["metadata"]["managedFields"]).expect("it can be read");
        let entry = entries.into_iter().find(|entry| entry.manager == manager);
        entry.map_or(Value::Null, |entry| entry.fields.to_json()["f:spec"]["f:parts"].clone())
    };
    let whole = json!({".": {}, "f:name": {}, "f:count": {}});
    let (a, b, c) = (r#"k:{"name":"A"}"#, r#"k:{"name":"B"}"#, r#"k:{"name":"C"}"#);
    let put = |live: Option<&Value>, by: &str, parts: Value| {
        let mut new = json!({"metadata": {"name": "o", "uid": "u"}, "spec": {"parts": parts}});
        update(&kind, live, &mut new, &writer(by));
        new
    };
    let lay = |live: &Value, parts: Value, force: bool| {
        let config = json!({"apiVersion": "fields.dev/v1", "kind": "Thing", "metadata": {"name": "o"}, "spec": {"parts": parts}});
        apply(&kind, Some(live), &config, &writer("m"), force)
    };

    let object = put(None, "u1", json!([item("A", 1), item("B", 1)]));
    assert_eq!(fields("u1", &object), json!({".": {}, a: whole, b: whole}));
    let object = put(Some(&object), "u2", json!([item("A", 1), item("B", 1), item("A", 2)]));
    assert_eq!([fields("u1", &object), fields("u2", &object)], [json!({".": {}, b: whole}), json!({a: {}})]);
    let object = put(Some(&object), "u3", json!([item("A", 1), item("B", 1), item("A", 3)]));
    assert_eq!([fields("u2", &object), fields("u3", &object)], [Value::Null, json!({a: {}})]);
    let object = lay(&object, json!([item("C", 1), item("B", 1)]), false).expect("no conflict");
    assert_eq!(object["spec"]["parts"], json!([item("A", 1), item("C", 1), item("B", 1), item("A", 3)]));
    assert_eq!([fields("m", &object), fields("u3", &object)], [json!({b: whole, c: whole}), json!({a: {}})]);
    let refusal = lay(&object, json!([item("A", 1)]), false).expect_err("u3 owns it");
    assert_eq!(
        refusal.message,
        "Apply failed with 1 conflict: conflict with \"u3\" using fields.dev/v1: .spec.parts[name=\"A\"]"
    );
    let object = lay(&object, json!([item("C", 1), item("A", 1)]), true).expect("forced");
    assert_eq!(object["spec"]["parts"], json!([item("C", 1), item("B", 1), item("A", 1)]));
    assert_eq!([fields("m", &object), fields("u3", &object)], [json!({a: whole, c: whole}), Value::Null]);
    let object = put(Some(&object), "u4", json!([item("A", 7)]));
    let rest = json!({a: {".": {}, "f:name": {}}});
    assert_eq!([fields("m", &object), fields("u4", &object)], [rest, json!({a: {"f:count": {}}})]);
}

/// Built-in kinds have some objects before anybody writes: nobody owns them.
#[test]
fn a_pod_is_created() {
    let text = json!({"type": "string"});
    let number = json!({"type": "integer"});
    let texts = json!({"type": "object", "additionalProperties": text});
    let by = |keys: &[&str], fields: Value, required: &[&str]| {
        json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys,
            "items": {"type": "object", "properties": fields, "required": required}})
    };
    let port = json!({"containerPort": number, "protocol": {"type": "string", "default": "TCP"}});
    let resources = json!({"type": "object", "default": {}, "properties": {"limits": texts, "requests": texts}});
    let container = json!({
        "name": text, "image": text, "imagePullPolicy": text, "resources": resources,
        "env": by(&["name"], json!({"name": text, "value": text}), &["name"]),
        "ports": by(&["containerPort", "protocol"], port, &["containerPort"]),
    });
    let toleration = json!({"type": "object", "properties": {"key": text, "operator": text}});
    let pod = schema(&json!({"type": "object", "properties": {
        "metadata": METADATA.clone(),
        "spec": {"type": "object", "default": {}, "required": ["containers"], "properties": {
            "containers": by(&["name"], container, &["name"]), "restartPolicy": text,
            "securityContext": {"type": "object", "properties": {"runAsUser": number}},
            "tolerations": {"type": "array", "x-kubernetes-list-type": "atomic", "items": toleration},
        }},
        "status": {"type": "object", "default": {}, "properties": {"phase": text}},
    }}));
    let empty = empty_object(&pod);
    assert_eq!(empty, json!({"metadata": {}, "spec": {"containers": null}, "status": {}}));
    let mut new = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "p1", "namespace": "n", "labels": {"a": "b"}, "annotations": {"x": "y"}, "generateName": "gg"},
        "spec": {
            "containers": [{
                "name": "c", "image": "i", "imagePullPolicy": "Always", "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}},
                "ports": [{"containerPort": 80, "protocol": "TCP"}], "env": [{"name": "A", "value": "1"}],
            }],
            "restartPolicy": "Always", "securityContext": {}, "tolerations": [{"key": "a", "operator": "Exists"}],
        },
        "status": {"phase": "Running"},
    });
    let fields = reset::fields("Pod", "", false, true);
    let (kind, api_version) = ("Pod", "v1");
    update(&pod, None, &mut new, &Writer { kind, api_version, reset: fields, empty: Some(&empty), ..writer("m0") });
    let expected = json!({
        "f:metadata": {"f:annotations": {".": {}, "f:x": {}}, "f:generateName": {}, "f:labels": {".": {}, "f:a": {}}},
        "f:spec": {
            "f:containers": {"k:{\"name\":\"c\"}": {
                ".": {}, "f:env": {".": {}, "k:{\"name\":\"A\"}": {".": {}, "f:name": {}, "f:value": {}}},
                "f:image": {}, "f:imagePullPolicy": {}, "f:name": {},
                "f:ports": {".": {}, "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}, "f:protocol": {}}},
                "f:resources": {".": {}, "f:limits": {".": {}, "f:cpu": {}}, "f:requests": {".": {}, "f:cpu": {}}},
            }},
            "f:restartPolicy": {}, "f:securityContext": {}, "f:tolerations": {},
        },
    });
    assert_eq!(new["metadata"]["managedFields"][0]["fieldsV1"], expected);
}

/// Some configuration for the kind of the cases. Nothing in it is empty: what is, comes and goes with nobody's doing.
fn any_spec() -> impl Strategy<Value = Value> {
    let word = || prop::sample::select(vec!["x", "y", "z"]).prop_map(Value::from);
    let words = |names: &'static [&'static str]| {
        prop::sample::subsequence(names, 1..=names.len()).prop_shuffle().prop_map(|names| json!(names))
    };
    let free = prop_oneof![word(), Just(json!([1])), word().prop_map(|word| json!({"p": {"q": word}}))];
    let part = (prop::option::of(0..3), words(&["u", "v"])).prop_map(|(count, tags)| {
        let mut part = Map::from_iter([("tags".to_owned(), tags)]);
        part.extend(count.map(|count| ("count".to_owned(), json!(count))));
        part
    });
    let parts = (prop::collection::vec(part, 4), words(&["a", "b", "c", "d"])).prop_map(|(parts, names)| {
        let named = names.as_array().cloned().unwrap_or_default().into_iter().zip(parts);
        Value::Array(
            named
                .map(|(name, mut part)| {
                    part.insert("name".to_owned(), name);
                    Value::Object(part)
                })
                .collect(),
        )
    });
    let texts =
        prop::collection::btree_map(prop::sample::select(vec!["k", "l", "m"]), word(), 1..3).prop_map(|map| json!(map));
    let fields = (
        0..3i64,
        prop::option::of(words(&["1", "2", "3", "4"])),
        prop::option::of(parts),
        prop::option::of(texts),
        prop::option::of(free),
        prop::option::of(words(&["w", "v"])),
    );
    fields.prop_map(|(size, tags, parts, labels, free, atomic)| {
        let all = [
            ("size", Some(size.into())),
            ("tags", tags),
            ("parts", parts),
            ("labels", labels),
            ("any", free),
            ("words", atomic),
        ];
        Value::Object(all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect())
    })
}

/// What becomes of an object when somebody applies this `spec`, or none.
fn laid(kind: &Schema, live: Option<&Value>, by: &str, spec: &Value) -> Value {
    let head = json!({"name": "o", "uid": "u"});
    let mut config = json!({"apiVersion": "fields.dev/v1", "kind": "Thing", "metadata": head});
    if !spec.is_null() {
        config["spec"] = spec.clone();
    }
    apply(kind, live, &config, &writer(by), true).expect("forced, and it fits")
}

fn owned(object: &Value) -> BTreeMap<String, FieldSet> {
    let entries = managed::read(&object["metadata"]["managedFields"]).expect("it can be read");
    entries.into_iter().map(|entry| (entry.manager, entry.fields)).collect()
}

proptest! {
    /// Whoever applies owns what it said, all of it is in the object, and saying it again changes nothing.
    #[test]
    fn applied_is_owned(first in any_spec(), second in any_spec(), again in any_spec()) {
        let kind = thing();
        let mut object = laid(&kind, None, "m1", &first);
        for (by, spec) in [("m2", &second), ("m1", &again)] {
            object = laid(&kind, Some(&object), by, spec);
            let said = fields_of(&kind, &json!({"spec": spec}));
            let is = owned(&object).remove(by).unwrap_or_default();
            prop_assert_eq!(&is.clone().difference(&said), &FieldSet::default());
            prop_assert_eq!(&said.clone().difference(&is), &FieldSet::default());
            prop_assert!(fields_of(&kind, &object).covers(&said.leaves()));
            prop_assert_eq!(&laid(&kind, Some(&object), by, spec), &object);
        }
    }

    /// Whoever stops applying leaves nothing behind that was its alone.
    #[test]
    fn left_out_is_gone(first in any_spec(), second in any_spec()) {
        let kind = thing();
        let one = laid(&kind, None, "m1", &first);
        let alone = laid(&kind, Some(&one), "m1", &Value::Null);
        prop_assert!(alone["spec"].as_object().is_none_or(Map::is_empty), "{}", alone);
        let both = laid(&kind, Some(&one), "m2", &second);
        let rest = laid(&kind, Some(&both), "m1", &Value::Null);
        prop_assert!(!owned(&rest).contains_key("m1"));
        prop_assert_eq!(owned(&rest).remove("m2"), owned(&both).remove("m2"));
    }

    /// Sets come back from JSON as they were, and no field of an object is owned by nobody once it is created.
    #[test]
    fn sets_survive_json(spec in any_spec()) {
        let kind = thing();
        let mut object = json!({"metadata": {"name": "o"}, "spec": spec});
        update(&kind, None, &mut object, &writer("u"));
        let fields = owned(&object).remove("u").unwrap_or_default();
        prop_assert_eq!(FieldSet::from_json(&fields.to_json()), Ok(fields.clone()));
        let all = fields_of(&kind, &json!({"spec": spec}));
        prop_assert!(fields.covers(&all));
    }

    /// An update that puts the same object there again changes nothing; one that puts another there takes what differs.
    #[test]
    fn updates_own_changes(first in any_spec(), second in any_spec()) {
        let kind = thing();
        let live = laid(&kind, None, "m1", &first);
        let mut same = live.clone();
        update(&kind, Some(&live), &mut same, &writer("u"));
        prop_assert_eq!(&same, &live);
        let mut new = live.clone();
        new["spec"] = second;
        update(&kind, Some(&live), &mut new, &writer("u"));
        let all = owned(&new).into_values().fold(FieldSet::default(), FieldSet::union);
        let leaves = fields_of(&kind, &json!({"spec": new["spec"]})).leaves();
        prop_assert!(all.covers(&leaves), "{}", new);
    }
}
