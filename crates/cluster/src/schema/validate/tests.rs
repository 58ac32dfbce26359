use std::sync::Arc;

use serde_json::{Value, json};

use super::super::compile::custom_root;
use super::super::rules::Rules;
use super::super::{Schema, Shape, defaults};
use super::cases::{Case, compare, read};
use super::{judge, validate};

fn object(spec: &Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": spec})
}

fn schema(openapi: &str) -> Schema {
    custom_root(&serde_json::from_str(openapi).unwrap())
}

#[test]
fn values_are_judged_as_by_a_real_server() {
    let schema = schema(include_str!("schema.json"));
    for case in read(include_str!("cases.txt")) {
        let mut object = object(&case.given[0]);
        super::super::prune::prune(&mut object, &schema);
        defaults::apply(&mut object, &schema);
        compare(&case, &validate(&object, &schema));
    }
}

#[test]
fn faults_of_one_value_come_in_the_order_of_a_real_server() {
    let schema = schema(include_str!("schema.json"));
    for case in read(include_str!("cases.txt")).iter().filter(|case| case.said.len() > 1) {
        let [(name, _)] = case.given[0].as_object().unwrap().iter().collect::<Vec<_>>()[..] else { panic!() };
        // Keys of maps have no order there.
        if !matches!(name.as_str(), "m" | "emb") {
            let said: Vec<String> =
                validate(&object(&case.given[0]), &schema).iter().map(ToString::to_string).collect();
            assert_eq!(said, case.said);
        }
    }
}

#[test]
fn what_did_not_change_is_let_pass() {
    let fixture: Value = serde_json::from_str(include_str!("tightened.json")).unwrap();
    let schema = Arc::new(custom_root(&fixture["schema"]));
    let rules = Rules::of(&schema);
    let old = object(&fixture["old"]);
    for case in read(include_str!("tightened.txt")) {
        let mut new = old.clone();
        for (name, value) in case.given[0].as_object().unwrap() {
            new["spec"][name] = value.clone();
        }
        let verdict = judge(&new, Some(&old), &schema, &rules, Vec::new(), Vec::new());
        let (warnings, said): (Vec<String>, Vec<String>) =
            case.said.iter().cloned().partition(|line| line.starts_with("warning: "));
        compare(&Case { given: case.given, said }, &verdict.faults);
        let mut found: Vec<String> = verdict.warnings.iter().map(|warning| format!("warning: {warning}")).collect();
        found.sort_unstable();
        assert_eq!(found, warnings);
    }
}

#[test]
fn names_can_be_restricted_and_other_metadata_is_left_alone() {
    let name = json!({"type": "object", "properties": {"name": {"type": "string", "maxLength": 3}}});
    let schema = custom_root(&json!({"type": "object", "properties": {"metadata": name}}));
    let said = |metadata: Value| -> Vec<String> {
        validate(&json!({"metadata": metadata}), &schema).iter().map(ToString::to_string).collect()
    };
    assert_eq!(said(json!({"name": "abcd"})), ["metadata.name: Too long: may not be more than 3 bytes"]);
    assert!(said(json!({"name": "abc", "labels": 3})).is_empty());
}

#[test]
fn a_schema_that_says_nothing_takes_anything() {
    assert_eq!(Schema::default().shape, Shape::Any);
    assert!(validate(&json!({"a": [1, null, {"b": "c"}]}), &Schema::default()).is_empty());
}

#[test]
fn duplicates_are_found_in_long_lists_too() {
    let schema = schema(include_str!("schema.json"));
    for count in [3, 100] {
        let mut items: Vec<Value> = (0..count).map(|index| json!(format!("item{index}"))).collect();
        items.extend([json!("item1"), json!("item1")]);
        let said: Vec<String> =
            validate(&object(&json!({"set": items})), &schema).iter().map(ToString::to_string).collect();
        assert_eq!(said, [format!("spec.set[{count}]: Duplicate value: \"item1\"")]);
    }
}
