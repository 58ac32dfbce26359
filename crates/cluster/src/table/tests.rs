//! Expected cells are what a real server answered for these objects and columns.

use serde_json::{Value, json};

use super::{Include, default_columns, event, partial, partial_list, table};
use crate::resource::{Column, Source};

/// 2026-11-16T03:51:09Z
const NOW: i64 = 1_794_801_069;

fn column(name: &str, kind: &str, path: &str) -> Column {
    Column {
        name: name.to_owned(),
        kind: kind.to_owned(),
        format: String::new(),
        description: String::new(),
        priority: 0,
        source: Source::Path(path.to_owned()),
    }
}

fn columns() -> Vec<Column> {
    vec![
        column("Str", "string", ".spec.color"),
        column("Int", "integer", ".spec.n"),
        column("Num", "number", ".spec.f"),
        column("Bool", "boolean", ".spec.b"),
        column("Date", "date", ".spec.when"),
        column("Ready", "string", ".status.conditions[?(@.type==\"Ready\")].status"),
        column("All", "string", ".spec.list[*]"),
        column("Last", "string", ".spec.list[-1]"),
        column("Obj", "string", ".spec.obj"),
        column("Lst", "string", ".spec.list"),
        column("FltStr", "string", ".spec.f"),
        column("BoolStr", "string", ".spec.b"),
        column("AnyInt", "integer", ".spec.any"),
        column("AnyNum", "number", ".spec.any"),
        column("AnyBool", "boolean", ".spec.any"),
        column("AnyDate", "date", ".spec.any"),
        column("AnyStr", "string", ".spec.any"),
    ]
}

fn check(spec: &Value, expected: &Value) {
    let conditions = json!([{"type": "X", "status": "no"}, {"type": "Ready", "status": "True"}, {"type": "Ready", "status": "Again"}]);
    let object = json!({"metadata": {"name": "a"}, "spec": spec, "status": {"conditions": conditions}});
    let table = table(&columns(), [&object], &json!({}), NOW, Include::None, false);
    let cells = table["rows"][0]["cells"].as_array().expect("cells");
    assert_eq!(cells[0], "a");
    let mut got = serde_json::Map::new();
    for (column, cell) in columns().iter().zip(&cells[1..]).filter(|(_, cell)| !cell.is_null()) {
        got.insert(column.name.clone(), cell.clone());
    }
    assert_eq!(got.remove("Ready"), Some(json!("True")));
    assert_eq!(Value::Object(got), *expected, "{spec}");
}

#[test]
fn cells_fit_their_columns() {
    check(&json!({}), &json!({}));
    check(
        &json!({
            "color": "red", "n": 3, "f": 2.5, "b": true, "when": "2026-11-15T00:00:00Z", "list": ["a", "b", "c"],
            "obj": {"k": "v", "a": [1, {"z": null}]}, "any": "5",
        }),
        &json!({
            "Str": "red", "Int": 3, "Num": 2.5, "Bool": true, "Date": "27h", "All": "a", "Last": "c",
            "Obj": "{\"a\":[1,{\"z\":null}],\"k\":\"v\"}", "Lst": "[\"a\",\"b\",\"c\"]", "FltStr": "2.5", "BoolStr": "true",
            "AnyDate": "<invalid>", "AnyStr": "5",
        }),
    );
    check(
        &json!({"color": "", "n": 0, "f": 3, "b": false, "when": "garbage", "list": [], "obj": {}, "any": 5}),
        &json!({
            "Str": "", "Int": 0, "Num": 3, "Bool": false, "Date": "<invalid>", "Obj": "{}", "Lst": "[]", "FltStr": "3",
            "BoolStr": "false", "AnyInt": 5, "AnyNum": 5, "AnyStr": "5",
        }),
    );
    check(
        &json!({
            "f": 1e21, "n": 1_234_567_890_123_i64, "when": "2036-11-15T00:00:00Z", "list": [1, 2.5, true, null, {"a": 1}],
            "any": 5.7, "obj": null,
        }),
        &json!({
            "Int": 1_234_567_890_123_i64, "Num": 1e21, "Date": "<invalid>", "All": "1", "Last": "{\"a\":1}", "Obj": "<no value>",
            "Lst": "[1,2.5,true,null,{\"a\":1}]", "FltStr": "1e+21", "AnyInt": 5, "AnyNum": 5.7, "AnyStr": "5.7",
        }),
    );
    check(
        &json!({"f": 4.0, "when": "", "any": true, "obj": {"t": "<a&b>"}}),
        &json!({
            "Num": 4, "Date": "<unknown>", "FltStr": "4", "AnyBool": true, "AnyStr": "true",
            "Obj": "{\"t\":\"\\u003ca\\u0026b\\u003e\"}",
        }),
    );
    check(&json!({"when": 5, "any": {"a": 1}}), &json!({"AnyStr": "{\"a\":1}"}));
}

#[test]
fn tables_have_headers_and_rows() {
    let object = json!({"apiVersion": "e.com/v1", "kind": "T", "metadata": {"name": "a", "resourceVersion": "7"}, "spec": {"n": 1}});
    let columns = [Column { priority: 1, format: "int32".to_owned(), ..column("Int", "integer", ".spec.n") }];
    let metadata = json!({"resourceVersion": "9", "continue": "x", "remainingItemCount": 2});
    let whole = table(&columns, [&object], &metadata, NOW, Include::Object, true);
    assert_eq!(whole["kind"], "Table");
    assert_eq!(whole["apiVersion"], "meta.k8s.io/v1");
    assert_eq!(whole["metadata"], metadata);
    assert_eq!(whole["rows"], json!([{"cells": ["a", 1], "object": object}]));
    assert_eq!(whole["columnDefinitions"][0]["format"], "name");
    assert_eq!(
        whole["columnDefinitions"][1],
        json!({
            "name": "Int", "type": "integer", "format": "int32", "priority": 1,
            "description": "Custom resource definition column (in JSONPath format): .spec.n",
        })
    );
    let later = event(&columns, &object, NOW, Include::Metadata, false);
    let expected =
        json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"]});
    assert_eq!(later["metadata"], json!({"resourceVersion": "7"}));
    assert_eq!(later["columnDefinitions"], Value::Null);
    assert_eq!(later["rows"][0]["object"], expected);
    assert_eq!(partial(&object), expected);
    assert_eq!(partial_list([&object], &metadata)["items"], json!([expected]));
    assert_eq!(table(&default_columns(), [], &metadata, NOW, Include::None, true)["rows"], json!([]));
}

#[test]
fn built_in_kinds_compute_their_cells() {
    let function = |name: &str, function: fn(&Value, i64) -> Value| Column {
        source: Source::Function(function),
        description: "what it is".to_owned(),
        ..column(name, "string", "")
    };
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "status": {"phase": "Failed"}});
    let phase = function("Status", |object, _| object["status"]["phase"].clone());
    let pods = table(std::slice::from_ref(&phase), [&pod], &json!({}), NOW, Include::None, true);
    let condition = json!({"type": "Completed", "status": "True", "reason": "Failed", "message": "The pod failed."});
    assert_eq!(pods["rows"], json!([{"cells": ["p", "Failed"], "object": null, "conditions": [condition]}]));
    let named = [phase, function("Name", |object, _| object["metadata"]["name"].clone())];
    let events = table(&named, [&pod], &json!({}), NOW, Include::None, true);
    assert_eq!(events["rows"][0]["cells"], json!(["Failed", "p"]));
    assert_eq!(events["columnDefinitions"][0]["name"], "Status");
}

#[test]
fn reads_what_to_include() {
    assert_eq!(Include::parse(""), Ok(Include::Metadata));
    assert_eq!(Include::parse("None"), Ok(Include::None));
    let refused = "Unable to convert to Table as requested: includeObject: Invalid value: \"Foo\": \
                   must be 'Metadata', 'Object', 'None', or empty";
    assert_eq!(Include::parse("Foo").map_err(|status| status.message), Err(refused.to_owned()));
}
