//! Whether what somebody applies can be read by the schema at all: types, unknown fields, items that cannot be told apart. This comes
//! before the merge and has other words than validation.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use super::path::{Element, quote};
use super::shape::{Type, Way};
use crate::schema::{Schema, Shape};

/// What is wrong with an applied object, in the words of a real server; `None` if nothing is.
pub(super) fn fault(schema: &Schema, config: &Value) -> Option<String> {
    let mut check = Check { path: Vec::new(), faults: Vec::new() };
    check.at(Type::Root(schema), config, schema.preserve_unknown);
    match check.faults.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        many => Some(format!("errors:\n  {}", many.join("\n  "))),
    }
}

struct Check<'v> {
    path: Vec<Step<'v>>,
    faults: Vec<String>,
}

/// A step that is not copied unless something is wrong.
enum Step<'v> {
    Field(&'v str),
    Item(Element),
}

impl fmt::Display for Step<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Field(name) => write!(out, ".{name}"),
            Step::Item(element) => element.fmt(out),
        }
    }
}

impl<'v> Check<'v> {
    fn fault(&mut self, words: &str) {
        let path: String = self.path.iter().map(ToString::to_string).collect();
        let colon = if path.is_empty() { "" } else { ": " };
        self.faults.push(format!("{path}{colon}{words}"));
    }

    /// `open`: something above keeps unknown fields, so no field is unknown.
    fn at(&mut self, kind: Type<'_>, value: &'v Value, open: bool) {
        let open = open || matches!(kind, Type::Known(Schema { preserve_unknown: true, .. }));
        if matches!(kind, Type::Deduced) || value.is_null() {
            return;
        }
        match (kind.way(value), value) {
            (Way::Map, Value::Object(fields)) => {
                for (name, value) in fields {
                    let child = kind.child(name);
                    self.path.push(Step::Field(name));
                    let known = child.declared || open;
                    if known {
                        self.at(child.kind, value, open);
                    } else {
                        self.fault("field not declared in schema");
                    }
                    self.path.pop();
                    if !known {
                        return;
                    }
                }
            }
            (Way::List, Value::Array(items)) => self.items(kind, items, open),
            (Way::Map, other) => self.fault(&format!("expected map, got &{{{}}}", plain(other))),
            (Way::List, other) => self.fault(&format!("expected list, got &{{{}}}", plain(other))),
            (Way::Scalar, value) => self.scalar(kind, value),
        }
    }

    fn items(&mut self, kind: Type<'_>, items: &'v [Value], open: bool) {
        let mut seen = BTreeSet::new();
        for (at, item) in items.iter().enumerate() {
            let step = if kind.atomic_list() {
                Element::Index(i64::try_from(at).unwrap_or(i64::MAX))
            } else {
                match kind.item(item) {
                    Ok(step) => step,
                    Err(words) => return self.fault(&format!("element {at}: {words}")),
                }
            };
            if seen.contains(&step) {
                self.fault(&format!("duplicate entries for key {step}"));
            }
            self.path.push(Step::Item(step.clone()));
            seen.insert(step);
            self.at(kind.items(), item, open);
            self.path.pop();
        }
    }

    fn scalar(&mut self, kind: Type<'_>, value: &Value) {
        let Type::Known(schema) = kind else { return };
        let format = schema.limits.as_ref().and_then(|limits| limits.format.as_deref());
        let (fits, words) = match schema.shape {
            Shape::Integer | Shape::Number => {
                (value.is_number(), format!("expected numeric (int or float), got {}", sort(value)))
            }
            Shape::Boolean => (value.is_boolean(), format!("expected boolean, got &{{{}}}", plain(value))),
            Shape::String if matches!(format, None | Some("" | "byte")) => (
                value.is_string(),
                format!("expected string, got &value.valueUnstructured{{Value:{}}}", literal(value)),
            ),
            _ => {
                let fits = !value.is_object() && !value.is_array();
                (fits, format!("expected any scalar, got &{{{}}}", plain(value)))
            }
        };
        if !fits {
            self.fault(&words);
        }
    }
}

/// The sort of a value in the words of Go.
fn sort(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// A value as Go prints it without marks.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(plain).collect::<Vec<_>>().join(" ")),
        Value::Object(fields) => {
            format!("map[{}]", sorted(fields, |name, value| format!("{name}:{}", plain(value)), " "))
        }
        other => other.to_string(),
    }
}

/// A value as it would stand in a program in Go.
fn literal(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::String(text) => quote(text),
        Value::Array(items) => {
            format!("{}{{{}}}", sort(value), items.iter().map(literal).collect::<Vec<_>>().join(", "))
        }
        Value::Object(fields) => {
            format!(
                "{}{{{}}}",
                sort(value),
                sorted(fields, |name, value| format!("{}:{}", quote(name), literal(value)), ", ")
            )
        }
        other => other.to_string(),
    }
}

fn sorted(fields: &serde_json::Map<String, Value>, show: fn(&str, &Value) -> String, between: &str) -> String {
    let mut names: Vec<&String> = fields.keys().collect();
    names.sort();
    names.into_iter().map(|name| show(name, &fields[name])).collect::<Vec<_>>().join(between)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::thing;
    use super::fault;

    /// Words of a real server for a `spec` that does not fit.
    #[test]
    fn as_a_real_server() {
        let kind = thing();
        for (spec, words) in [
            (json!({"size": "x"}), ".spec.size: expected numeric (int or float), got string"),
            (json!({"size": true}), ".spec.size: expected numeric (int or float), got bool"),
            (json!({"size": {"a": 1}}), ".spec.size: expected numeric (int or float), got map[string]interface {}"),
            (json!({"size": [1]}), ".spec.size: expected numeric (int or float), got []interface {}"),
            (json!({"text": 1}), ".spec.text: expected string, got &value.valueUnstructured{Value:1}"),
            (json!({"text": 1.5}), ".spec.text: expected string, got &value.valueUnstructured{Value:1.5}"),
            (
                json!({"text": {"a": "b"}}),
                ".spec.text: expected string, got &value.valueUnstructured{Value:map[string]interface {}{\"a\":\"b\"}}",
            ),
            (
                json!({"text": [1, "a"]}),
                ".spec.text: expected string, got &value.valueUnstructured{Value:[]interface {}{1, \"a\"}}",
            ),
            (json!({"flag": "x"}), ".spec.flag: expected boolean, got &{x}"),
            (json!({"flag": {"a": 1}}), ".spec.flag: expected boolean, got &{map[a:1]}"),
            (json!({"flag": 1.5}), ".spec.flag: expected boolean, got &{1.5}"),
            (json!({"when": {"a": 1}}), ".spec.when: expected any scalar, got &{map[a:1]}"),
            (json!({"when": [1]}), ".spec.when: expected any scalar, got &{[1]}"),
            (json!({"parts": {"a": 1}}), ".spec.parts: expected list, got &{map[a:1]}"),
            (json!({"parts": "x"}), ".spec.parts: expected list, got &{x}"),
            (
                json!({"parts": [{"count": 1}]}),
                ".spec.parts: element 0: associative list with keys has an element that omits all key fields [\"name\"] (and doesn't have default values for any key fields)",
            ),
            (
                json!({"parts": [null]}),
                ".spec.parts: element 0: associative list with keys may not have a null element",
            ),
            (json!({"parts": [{"name": "a"}, {"name": "a"}]}), ".spec.parts: duplicate entries for key [name=\"a\"]"),
            (
                json!({"parts": [{"name": "a", "count": "x"}]}),
                ".spec.parts[name=\"a\"].count: expected numeric (int or float), got string",
            ),
            (
                json!({"ports": [{"port": 1}, {"port": 1, "protocol": "TCP"}]}),
                ".spec.ports: duplicate entries for key [port=1,protocol=\"TCP\"]",
            ),
            (json!({"tags": ["a", "b", "a"]}), ".spec.tags: duplicate entries for key [=\"a\"]"),
            (json!({"nums": [1, 1]}), ".spec.nums: duplicate entries for key [=1]"),
            (
                json!({"tags": ["a", {"x": 1}]}),
                ".spec.tags: element 1: associative list without keys has an element that's a map type",
            ),
            (json!({"words": [1]}), ".spec.words[0]: expected string, got &value.valueUnstructured{Value:1}"),
            (json!({"atoms": [{"z": 1}]}), ".spec.atoms[0].z: field not declared in schema"),
            (json!({"inner": [1]}), ".spec.inner: expected map, got &{[1]}"),
            (json!({"inner": {"zz": 1}}), ".spec.inner.zz: field not declared in schema"),
            (json!({"labels": {"a": 1}}), ".spec.labels.a: expected string, got &value.valueUnstructured{Value:1}"),
            (json!({"sel": {"c": "1"}}), ".spec.sel.c: field not declared in schema"),
            (json!("str"), ".spec: expected map, got &{str}"),
            (
                json!({"inner": {"a": 1}, "size": "x"}),
                "errors:\n  .spec.inner.a: expected string, got &value.valueUnstructured{Value:1}\n  .spec.size: expected numeric (int or float), got string",
            ),
        ] {
            assert_eq!(fault(&kind, &json!({"spec": spec})).as_deref(), Some(words), "{spec}");
        }
        for (metadata, words) in [
            (json!(5), ".metadata: expected map, got &{5}"),
            (json!({"zork": {"a": 1}}), ".metadata.zork: field not declared in schema"),
            (json!({"labels": {"a": 1}}), ".metadata.labels.a: expected string, got &value.valueUnstructured{Value:1}"),
        ] {
            assert_eq!(fault(&kind, &json!({"metadata": metadata})).as_deref(), Some(words), "{metadata}");
        }
        for spec in [
            json!(null),
            json!({"port": [1]}),
            json!({"port": {"a": 1}}),
            json!({"ports": [{"note": "z"}]}),
            json!({"semi": {"zz": 1, "deep": {"zz": 1}}}),
            json!({"size": null, "parts": null, "labels": null}),
        ] {
            assert_eq!(fault(&kind, &json!({"spec": spec})), None, "{spec}");
        }
    }
}
