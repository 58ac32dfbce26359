//! `cases.jsonl` has, for each selector, the objects that a real server found, or its refusal.

use serde_json::{Value, json};

use super::Labels;

fn objects() -> [(&'static str, Value); 4] {
    [
        ("l0", json!({"metadata": {}})),
        ("l1", json!({"metadata": {"labels": {"a": "b"}}})),
        ("l2", json!({"metadata": {"labels": {"a": "c", "x": "7"}}})),
        ("l3", json!({"metadata": {"labels": {"a": "", "in": "b", "e.com/k": "v"}}})),
    ]
}

/// The names of the objects that are selected, or the code and the message of the refusal.
fn check(selector: Result<Labels, crate::status::Status>, what: &Value, expected: &Value) {
    let got = match selector {
        Ok(labels) => {
            let objects = objects();
            let found = objects.iter().filter(|(_, object)| labels.select(object)).map(|(name, _)| *name);
            found.collect::<Vec<_>>().join(" ")
        }
        Err(status) => format!("{} {}", status.code, status.message),
    };
    assert_eq!(json!(got), *expected, "{what}");
}

#[test]
fn selects_and_refuses_as_a_real_server_does() {
    let cases = include_str!("cases.jsonl");
    assert!(cases.lines().count() > 60);
    for line in cases.lines() {
        let case: Value = serde_json::from_str(line).expect(line);
        check(Labels::parse(case[0].as_str().expect(line)), &case[0], &case[1]);
    }
}

#[test]
fn selects_by_objects() {
    let expression = |operator: &str, values: Value| json!({"matchExpressions": [{"key": "a", "operator": operator, "values": values}]});
    for (selector, expected) in [
        (json!(null), ""),
        (json!({}), "l0 l1 l2 l3"),
        (json!({"matchLabels": {"a": "b"}}), "l1"),
        (json!({"matchLabels": {"a": "c"}, "matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}), ""),
        (expression("In", json!(["b", "c"])), "l1 l2"),
        (expression("NotIn", json!(["b"])), "l0 l2 l3"),
        (expression("Exists", json!([])), "l1 l2 l3"),
        (expression("DoesNotExist", json!(null)), "l0"),
        (
            expression("In", json!([])),
            "400 values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
        ),
        (
            expression("Exists", json!(["b"])),
            "400 values: Invalid value: [\"b\"]: values set must be empty for exists and does not exist",
        ),
        (expression("Gt", json!(["1"])), "400 \"Gt\" is not a valid label selector operator"),
    ] {
        check(Labels::from_object(&selector), &selector, &json!(expected));
    }
}
