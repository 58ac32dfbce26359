//! Objects and edits as text: `path: value` sets a field, `-path` removes it.

use serde_json::Value;
use trellis_api::admission::object::Kind;

/// A value from YAML.
pub fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

/// The base with the edits.
pub fn edited(kind: Kind, base: &Value, edits: &[&str]) -> Value {
    let mut value = base.clone();
    for edit in edits {
        let (path, new) = parsed(kind, edit);
        put(&mut value, &path, new);
    }
    value
}

/// Path and value of an edit. In a PodCliqueSet, a path starts at `spec.template` unless it says otherwise.
pub fn parsed(kind: Kind, edit: &str) -> (Vec<String>, Option<Value>) {
    let (path, value) = if let Some(path) = edit.strip_prefix('-') {
        (path, None)
    } else {
        let (path, value) = edit.split_once(": ").unwrap_or_else(|| panic!("no `path: value`: {edit}"));
        (path, Some(yaml(value)))
    };
    let mut steps: Vec<String> = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        let end = if rest.starts_with('[') {
            rest.find(']').expect("a closing bracket")
        } else {
            rest.find(['.', '[']).unwrap_or(rest.len())
        };
        steps.push(rest[..end].trim_start_matches('[').to_owned());
        rest = rest[end..].trim_start_matches(']').trim_start_matches('.');
    }
    let outside = ["apiVersion", "kind", "metadata", "spec", "status"];
    if kind == Kind::PodCliqueSet && !outside.contains(&steps[0].as_str()) {
        steps.splice(0..0, ["spec".to_owned(), "template".to_owned()]);
    }
    (steps, value)
}

/// What is at a path.
pub fn at<'a>(value: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, step| match value {
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        other => other.get(step),
    })
}

/// Sets or removes what is at a path; a list can be made one item longer.
fn put(value: &mut Value, path: &[String], new: Option<Value>) {
    let (step, rest) = path.split_first().expect("a path");
    if let Value::Array(items) = value {
        let i: usize = step.parse().expect("an index");
        if rest.is_empty() && new.is_none() {
            items.remove(i);
            return;
        }
        if i == items.len() {
            items.push(Value::Null);
        }
        if rest.is_empty() {
            items[i] = new.expect("a value");
        } else {
            put(&mut items[i], rest, new);
        }
        return;
    }
    if value.is_null() {
        *value = Value::Object(serde_json::Map::new());
    }
    let fields = value.as_object_mut().unwrap_or_else(|| panic!("nothing to edit at {step}"));
    match (rest.is_empty(), new) {
        (true, None) => drop(fields.remove(step)),
        (true, Some(new)) => drop(fields.insert(step.clone(), new)),
        (false, new) => put(fields.entry(step.clone()).or_insert(Value::Null), rest, new),
    }
}

/// Whether `text` is `pattern`, in which `…` stands for any text: long messages are given by their beginning.
pub fn matches(pattern: &str, text: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('…') else { return pattern == text };
    let Some(mut rest) = text.strip_prefix(head) else { return false };
    let mut parts: Vec<&str> = tail.split('…').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

/// Owned texts as slices of text.
pub fn texts(list: &[String]) -> Vec<&str> {
    list.iter().map(String::as_str).collect()
}
