//! `{…}` in the texts of a case: names of the file, earlier answers, repeated characters.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Names may use names, but not for ever.
const DEPTH: usize = 8;

/// What `{…}` can stand for.
#[derive(Debug, Default)]
pub struct Book {
    entries: BTreeMap<String, Value>,
}

impl Book {
    /// The names of the case's file and its namespace.
    pub fn new(names: &BTreeMap<String, Value>, namespace: &str) -> Self {
        let mut entries = names.clone();
        entries.insert("ns".to_owned(), namespace.into());
        Self { entries }
    }

    /// Keeps an answer for later steps.
    pub fn keep(&mut self, name: &str, value: Value) {
        self.entries.insert(name.to_owned(), value);
    }

    /// The text with every `{…}` replaced.
    pub fn text(&self, text: &str) -> Result<String, String> {
        self.fill_text(text, DEPTH)
    }

    /// The value with every `{…}` in its texts and keys replaced.
    pub fn value(&self, value: &Value) -> Result<Value, String> {
        self.fill(value, DEPTH)
    }

    fn fill(&self, value: &Value, depth: usize) -> Result<Value, String> {
        match value {
            Value::String(text) => match whole(text) {
                Some(name) => self.look_up(name, depth),
                None => self.fill_text(text, depth).map(Value::String),
            },
            Value::Array(items) => items.iter().map(|item| self.fill(item, depth)).collect(),
            Value::Object(fields) => {
                let fill =
                    |(key, value): (&String, &Value)| Ok((self.fill_text(key, depth)?, self.fill(value, depth)?));
                fields.iter().map(fill).collect::<Result<Map<_, _>, String>>().map(Value::Object)
            }
            other => Ok(other.clone()),
        }
    }

    fn fill_text(&self, text: &str, depth: usize) -> Result<String, String> {
        let mut filled = String::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            filled.push_str(&rest[..open]);
            rest = &rest[open..];
            let name = rest.find('}').map(|close| &rest[1..close]).filter(|name| is_name(name));
            let Some(name) = name else {
                filled.push('{');
                rest = &rest[1..];
                continue;
            };
            match self.look_up(name, depth)? {
                Value::String(text) => filled.push_str(&text),
                other => filled.push_str(&other.to_string()),
            }
            rest = &rest[name.len() + 2..];
        }
        Ok(filled + rest)
    }

    fn look_up(&self, name: &str, depth: usize) -> Result<Value, String> {
        if let Some((text, count)) = repeated(name) {
            return Ok(Value::String(text.repeat(count)));
        }
        let missing = || format!("nothing is known as {{{name}}}");
        let depth = depth.checked_sub(1).ok_or_else(missing)?;
        let mut parts = name.split('.');
        let mut value = parts.next().and_then(|first| self.entries.get(first)).ok_or_else(missing)?;
        for part in parts {
            let found = match part.parse::<usize>() {
                Ok(index) if value.is_array() => value.get(index),
                _ => value.get(part),
            };
            value = found.ok_or_else(missing)?;
        }
        self.fill(value, depth)
    }
}

/// The name in a text that is nothing but `{name}`.
fn whole(text: &str) -> Option<&str> {
    let name = text.strip_prefix('{')?.strip_suffix('}')?;
    is_name(name).then_some(name)
}

/// `a`, `a.b.0` or `x*100`; anything else in braces, as in JSON or in patterns, is left alone.
fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    let letter = name.starts_with(|c: char| c.is_ascii_alphabetic());
    letter && (name.chars().all(plain) || repeated(name).is_some())
}

fn repeated(name: &str) -> Option<(&str, usize)> {
    let (text, count) = name.split_once('*')?;
    Some((text, count.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(given: &Value, expected: Result<Value, &str>) {
        let names =
            BTreeMap::from([("pods".to_owned(), json!("/api/{ns}/pods")), ("loop".to_owned(), json!("{loop}"))]);
        let mut book = Book::new(&names, "n1");
        book.keep("made", json!({"metadata": {"uid": "u"}, "list": [{"size": 3}]}));
        assert_eq!(book.value(given), expected.map_err(str::to_owned));
    }

    #[test]
    fn names_answers_and_repetitions_are_filled_in() {
        check(&json!("GET {pods}/{made.metadata.uid}"), Ok(json!("GET /api/n1/pods/u")));
        check(&json!(["{made.list.0}", "a{made.list.0.size}"]), Ok(json!([{"size": 3}, "a3"])));
        check(&json!({"{ns}": "{x*3}"}), Ok(json!({"n1": "xxx"})));
    }

    #[test]
    fn other_braces_are_left_alone() {
        check(&json!(r#"{"a": {}} ^[a-z]{3}$ {"#), Ok(json!(r#"{"a": {}} ^[a-z]{3}$ {"#)));
    }

    #[test]
    fn an_unknown_name_is_an_error() {
        check(&json!("{made.metadata.name}"), Err("nothing is known as {made.metadata.name}"));
        check(&json!("{loop}"), Err("nothing is known as {loop}"));
    }
}
