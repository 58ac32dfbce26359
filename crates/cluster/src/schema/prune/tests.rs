use serde_json::{Value, json};

use super::super::Schema;
use super::super::compile::custom_root;
use super::{coerce, prune};

fn schema(properties: &Value) -> Schema {
    custom_root(&json!({"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}))
}

fn check(schema: &Schema, given: Value, expected: &Value, unknown: &[&str]) {
    let mut value = given;
    assert_eq!(prune(&mut value, schema), unknown);
    assert_eq!(&value, expected);
}

#[test]
fn what_is_not_described_goes_and_is_named() {
    let schema = schema(&json!({
        "object": {"type": "object", "properties": {"a": {"type": "string"}}},
        "list": {"type": "array", "items": {"type": "object", "properties": {"k": {"type": "string"}}}},
        "map": {"type": "object", "additionalProperties": {"type": "integer"}},
        "kept": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                 "properties": {"known": {"type": "object", "properties": {"a": {"type": "string"}}}}},
        "keptList": {"type": "array", "x-kubernetes-preserve-unknown-fields": true,
                     "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
        "any": {"x-kubernetes-preserve-unknown-fields": true},
        "text": {"type": "string"},
        "embedded": {"type": "object", "x-kubernetes-embedded-resource": true,
                     "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}}},
        "embeddedMap": {"type": "object", "additionalProperties":
                        {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}},
    }));
    check(
        &schema,
        json!({
            "apiVersion": "v", "kind": "k", "metadata": {"name": "a", "bar": 1, "creationTimestamp": null}, "foo": 1,
            "spec": {
                "unknown": 1,
                "object": {"a": "x", "zz": 1, "aa": {"b": 1}},
                "list": [{"k": "a", "q": 1}, {"k": "b", "w": {}}],
                "map": {"x": 5, "y.z": 6},
                "kept": {"x": {"y": 1}, "known": {"a": "x", "b": 2}},
                "keptList": [{"a": "x", "b": 1}],
                "any": {"a": [{"b": 1}]},
                "text": {"x": 1},
                "embedded": {"apiVersion": "v1", "kind": "X", "metadata": {"name": "a", "foo": 1}, "q": 1, "spec": {"b": 1}},
                "embeddedMap": {"q": {"kind": "A", "metadata": {"zz": 1}, "r": 1}},
            },
        }),
        &json!({
            "apiVersion": "v", "kind": "k", "metadata": {"name": "a", "creationTimestamp": null},
            "spec": {
                "object": {"a": "x"},
                "list": [{"k": "a"}, {"k": "b"}],
                "map": {"x": 5, "y.z": 6},
                "kept": {"x": {"y": 1}, "known": {"a": "x"}},
                "keptList": [{"a": "x", "b": 1}],
                "any": {"a": [{"b": 1}]},
                "text": {},
                "embedded": {"apiVersion": "v1", "kind": "X", "metadata": {"name": "a"}, "spec": {}},
                "embeddedMap": {"q": {"kind": "A", "metadata": {}, "r": 1}},
            },
        }),
        &[
            "metadata.bar",
            "foo",
            "spec.embedded.q",
            "spec.embedded.spec.b",
            "spec.kept.known.b",
            "spec.list[0].q",
            "spec.list[1].w",
            "spec.object.aa",
            "spec.object.zz",
            "spec.text.x",
            "spec.unknown",
            "spec.embedded.metadata.foo",
            "spec.embeddedMap[q].metadata.zz",
        ],
    );
}

#[test]
fn maps_of_anything_keep_their_keys_and_nothing_below() {
    let schema = schema(&json!({
        "anything": {"type": "object", "additionalProperties": true},
        "closed": {"type": "object", "additionalProperties": false},
    }));
    check(
        &schema,
        json!({"spec": {"anything": {"a": {"b": 1}, "c": [{"d": 1}], "e": 1}, "closed": {"a": 1}}}),
        &json!({"spec": {"anything": {"a": {}, "c": [{}], "e": 1}, "closed": {"a": 1}}}),
        &["spec.anything.a.b", "spec.anything.c[0].d"],
    );
}

#[test]
fn a_null_that_means_nothing_goes() {
    let schema = schema(&json!({
        "text": {"type": "string"},
        "nullable": {"type": "string", "nullable": true},
        "default": {"type": "string", "default": "x"},
        "map": {"type": "object", "additionalProperties": {"type": "integer"}},
        "list": {"type": "array", "items": {"type": "integer"}},
        "kept": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    }));
    check(
        &schema,
        json!({"spec": {"text": null, "nullable": null, "default": null, "map": {"a": null}, "list": [null], "kept": {"a": null}}}),
        &json!({"spec": {"nullable": null, "default": null, "map": {}, "list": [null], "kept": {"a": null}}}),
        &[],
    );
    check(&schema, json!({"spec": null}), &json!({}), &[]);
}

#[test]
fn a_schema_that_says_nothing_keeps_everything() {
    let anything = json!({"a": {"b": null, "c": [1]}});
    check(&Schema::default(), anything.clone(), &anything, &[]);
}

#[test]
fn objects_inside_are_put_in_order() {
    let embedded =
        json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true});
    let schema = schema(&json!({"emb": embedded}));
    let coerced = |given: Value| {
        let mut value = json!({"spec": {"emb": given}});
        coerce(&mut value, &schema).map(|()| value["spec"]["emb"].take()).map_err(|fault| fault.to_string())
    };
    assert_eq!(coerced(json!({"metadata": null})), Ok(json!({"metadata": {}})));
    assert_eq!(coerced(json!({"metadata": {"creationTimestamp": null, "labels": {}}})), Ok(json!({"metadata": {}})));
    assert_eq!(
        coerced(json!({"apiVersion": 1})),
        Err("spec.emb.apiVersion: Invalid value: 1: must be a string".to_owned())
    );
    assert_eq!(
        coerced(json!({"metadata": {"annotations": {"x": 1}}})),
        Err("spec.emb.metadata: Invalid value: {\"annotations\":{\"x\":1}}: json: cannot unmarshal number into Go struct field \
             ObjectMeta.annotations of type string"
            .to_owned())
    );
}
