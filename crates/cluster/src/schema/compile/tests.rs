use serde_json::json;

use super::super::validate::cases::{compare, read};
use super::super::{ListType, Shape};
use super::{compile, custom_root, faults};

#[test]
fn schemas_are_judged_as_by_a_real_server() {
    for case in read(include_str!("cases.txt")) {
        compare(&case, &faults(&case.given[0], "S"));
    }
}

#[test]
fn everything_that_others_need_is_there() {
    let schema = compile(&json!({
        "type": "array",
        "nullable": true,
        "description": "what it is",
        "default": [],
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["a", "b"],
        "x-kubernetes-patch-strategy": "merge,retainKeys",
        "x-kubernetes-patch-merge-key": "a",
        "x-kubernetes-validations": [{"rule": "true", "optionalOldSelf": true, "reason": "FieldValueForbidden"}],
        "items": {"type": "object", "x-kubernetes-map-type": "atomic", "required": ["a"],
                  "additionalProperties": {"x-kubernetes-int-or-string": true}},
    }));
    assert_eq!((schema.shape, schema.nullable, schema.description.as_str()), (Shape::Array, true, "what it is"));
    assert_eq!(schema.list, ListType::Map(vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(schema.default, Some(json!([])));
    assert!(schema.merge.merge && schema.merge.retain_keys);
    assert_eq!(schema.merge.key.as_deref(), Some("a"));
    assert!(schema.rules[0].optional_old_self && schema.limits.is_none());
    let items = schema.items.unwrap();
    assert!(items.atomic && items.required == ["a"]);
    assert_eq!(items.field("x").unwrap().shape, Shape::IntOrString);
}

#[test]
fn every_custom_object_has_metadata() {
    let schema = custom_root(&json!({"type": "object"}));
    let metadata = schema.field("metadata").unwrap();
    assert_eq!(metadata.field("finalizers").unwrap().list, ListType::Set);
    assert_eq!(metadata.field("ownerReferences").unwrap().list, ListType::Map(vec!["uid".to_owned()]));
    assert!(metadata.field("ownerReferences").unwrap().items.as_ref().unwrap().atomic);
    assert_eq!(metadata.field("labels").unwrap().field("any").unwrap().shape, Shape::String);
    assert!(metadata.field("creationTimestamp").unwrap().nullable);
    assert_eq!(schema.field("kind").unwrap().shape, Shape::String);
}
