use std::sync::Arc;

use serde_json::{Value, json};

use super::super::compile::custom_root;
use super::super::validate::cases::{compare, read};
use super::super::validate::judge;
use super::{Condition, Rules};

fn object(spec: &Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": spec})
}

#[test]
fn rules_are_judged_as_by_a_real_server() {
    let schema = Arc::new(custom_root(&serde_json::from_str(include_str!("schema.json")).unwrap()));
    let rules = Rules::of(&schema);
    for case in read(include_str!("cases.txt")) {
        compare(&case, &judge(&object(&case.given[0]), None, &schema, &rules, Vec::new(), Vec::new()).faults);
    }
    for case in read(include_str!("changes.txt")) {
        let [old, new] = &case.given[..] else { panic!("an old and a new spec") };
        compare(&case, &judge(&object(new), Some(&object(old)), &schema, &rules, Vec::new(), Vec::new()).faults);
    }
}

#[test]
fn functions_do_what_they_do_on_a_real_server() {
    let mut fields: Value = serde_json::from_str(include_str!("fields.json")).unwrap();
    for case in read(include_str!("functions.txt")) {
        let (rule, this) = (&case.given[0]["rule"], &case.given[0]["self"]);
        fields["x-kubernetes-validations"] = json!([{"rule": rule}]);
        let rules = Rules::compile(&json!({"type": "object", "properties": {"spec": fields}}));
        compare(&case, &rules.check(&object(this), None));
    }
}

#[test]
fn order_does_not_count_where_keys_or_values_tell_members_apart() {
    let rules = Rules::compile(&json!({"type": "object", "properties": {"spec": {
        "type": "object",
        "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "fixed"}],
        "properties": {
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                    "items": {"type": "object", "properties": {"k": {"type": "string"}}}},
            "list": {"type": "array", "items": {"type": "string"}},
        },
    }}}));
    let changed = |old: Value, new: Value| rules.check(&object(&new), Some(&object(&old))).len();
    assert_eq!(changed(json!({"set": ["a", "b"]}), json!({"set": ["b", "a"]})), 0);
    assert_eq!(changed(json!({"map": [{"k": "a"}, {"k": "b"}]}), json!({"map": [{"k": "b"}, {"k": "a"}]})), 0);
    assert_eq!(changed(json!({"list": ["a", "b"]}), json!({"list": ["b", "a"]})), 1);
    assert_eq!(changed(json!({"set": ["a", "b"]}), json!({"set": ["b", "c"]})), 1);
}

#[test]
fn what_no_interpreter_can_take_is_a_fault_and_no_more() {
    let depth = "(".repeat(5000) + &")".repeat(5000);
    let chain = "1 +".repeat(10_000) + " 1 > 0";
    for rule in ["Foo{a: 1} == 2", "self.", &depth, &chain, "[1][5] == 1", "'\\u{0}' == ''"] {
        let rules = Rules::compile(&json!({"type": "object", "x-kubernetes-validations": [{"rule": rule}]}));
        assert_eq!(rules.check(&json!({}), None).len(), 1, "{}", &rule[..rule.len().min(40)]);
    }
}

#[test]
fn conditions_see_the_variables_of_a_request() {
    let object = json!({"metadata": {"labels": {"a-b": "x"}}, "spec": {"replicas": 3}});
    let request = json!({"operation": "UPDATE", "userInfo": {"groups": ["g"]}});
    let variables = [("object", &object), ("oldObject", &Value::Null), ("request", &request)];
    let holds = |expression: &str| Condition::compile(expression).and_then(|condition| condition.holds(&variables));
    assert_eq!(holds("object.spec.replicas > 2 && oldObject == null"), Ok(true));
    assert_eq!(holds("object.metadata.labels['a-b'] == 'y'"), Ok(false));
    assert_eq!(holds("request.operation != 'DELETE' && 'g' in request.userInfo.groups"), Ok(true));
    assert_eq!(holds("object.spec.missing == 1"), Err("no such key: missing".to_owned()));
    assert_eq!(holds("object.spec.replicas"), Err("cel expression must evaluate to a bool".to_owned()));
    assert!(holds("object.").is_err());
}

#[test]
fn compiled_rules_are_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Rules>();
    shared::<Condition>();
}
