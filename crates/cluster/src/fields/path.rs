//! Steps from a value to a part of it, as managed fields name them: a field, a list item by its keys, by its value or by its place.

use std::cmp::Ordering;
use std::fmt::{self, Write as _};

use serde_json::Value;

/// One step of a path.
#[derive(Debug, Clone)]
pub enum Element {
    /// A field of an object or a key of a map: `f:name`.
    Field(String),
    /// The item of a list whose fields have these values, sorted by name: `k:{"name":"a"}`.
    Key(Vec<(String, Value)>),
    /// The item of a set with this value: `v:"x"`.
    Item(Value),
    /// The item at this place: `i:0`.
    Index(i64),
}

impl Element {
    /// How it stands as a key in `fieldsV1`.
    pub fn encode(&self) -> String {
        match self {
            Element::Field(name) => {
                let mut text = String::with_capacity(name.len() + 2);
                text.push_str("f:");
                text.push_str(name);
                text
            }
            Element::Key(keys) => {
                let mut text = String::from("k:{");
                for (at, (name, value)) in keys.iter().enumerate() {
                    if at > 0 {
                        text.push(',');
                    }
                    text.push_str(&escaped_json(&Value::from(name.as_str())));
                    text.push(':');
                    text.push_str(&escaped_json(value));
                }
                text.push('}');
                text
            }
            Element::Item(value) => {
                let mut text = String::from("v:");
                text.push_str(&escaped_json(value));
                text
            }
            Element::Index(index) => format!("i:{index}"),
        }
    }

    /// Reads a key of `fieldsV1`. `Ok(None)` is a kind of step that we do not know and that is passed over.
    ///
    /// # Errors
    /// What is wrong with the key.
    pub fn decode(key: &str) -> Result<Option<Self>, String> {
        let Some((kind, rest)) = key.split_at_checked(2).filter(|(kind, _)| kind.ends_with(':')) else {
            return Err(format!("missing colon: {key}"));
        };
        let read = |text: &str| serde_json::from_str::<Value>(text).map_err(|error| error.to_string());
        Ok(Some(match kind {
            "f:" => Element::Field(rest.to_owned()),
            "v:" => Element::Item(read(rest)?),
            "k:" => match read(rest)? {
                Value::Object(keys) => Element::key(keys.into_iter().collect()),
                other => return Err(format!("expected an object of keys, got {other}")),
            },
            "i:" => Element::Index(rest.parse().map_err(|_| format!("not a number: {rest}"))?),
            _ => return Ok(None),
        }))
    }

    /// A list item by its keys, in whatever order they come.
    pub fn key(mut keys: Vec<(String, Value)>) -> Self {
        keys.sort_by(|a, b| a.0.cmp(&b.0));
        Element::Key(keys)
    }
}

impl fmt::Display for Element {
    /// As in messages: `.name`, `[name="a",port=80]`, `[="x"]`, `[0]`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Element::Field(name) => write!(out, ".{name}"),
            Element::Key(keys) => {
                out.write_char('[')?;
                for (at, (name, value)) in keys.iter().enumerate() {
                    let comma = if at > 0 { "," } else { "" };
                    write!(out, "{comma}{name}={}", shown(value))?;
                }
                out.write_char(']')
            }
            Element::Item(value) => write!(out, "[={}]", shown(value)),
            Element::Index(index) => write!(out, "[{index}]"),
        }
    }
}

/// A whole path as in messages: `.spec.containers[name="a"].image`.
pub fn render(path: &[Element]) -> String {
    path.iter().map(ToString::to_string).collect()
}

impl Ord for Element {
    fn cmp(&self, other: &Self) -> Ordering {
        let place = |element: &Element| match element {
            Element::Field(_) => 0,
            Element::Key(_) => 1,
            Element::Item(_) => 2,
            Element::Index(_) => 3,
        };
        match (self, other) {
            (Element::Field(a), Element::Field(b)) => a.cmp(b),
            (Element::Key(a), Element::Key(b)) => compare_keys(a, b),
            (Element::Item(a), Element::Item(b)) => compare_values(a, b),
            (Element::Index(a), Element::Index(b)) => a.cmp(b),
            _ => place(self).cmp(&place(other)),
        }
    }
}

impl PartialOrd for Element {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Element {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Element {}

fn compare_keys(a: &[(String, Value)], b: &[(String, Value)]) -> Ordering {
    for ((left_name, left), (right_name, right)) in a.iter().zip(b) {
        let order = left_name.cmp(right_name).then_with(|| compare_values(left, right));
        if order != Ordering::Equal {
            return order;
        }
    }
    a.len().cmp(&b.len())
}

/// A total order of values: numbers, text, booleans, lists, objects, null. Whole and broken numbers compare by their size.
pub fn compare_values(a: &Value, b: &Value) -> Ordering {
    let place = |value: &Value| match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    };
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => a.as_f64().unwrap_or(0.0).total_cmp(&b.as_f64().unwrap_or(0.0)),
        },
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            let first = a.iter().zip(b).map(|(a, b)| compare_values(a, b)).find(|order| *order != Ordering::Equal);
            first.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (Value::Object(a), Value::Object(b)) => {
            let sorted = |map: &serde_json::Map<String, Value>| {
                let mut pairs: Vec<(String, Value)> =
                    map.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
                pairs.sort_by(|a, b| a.0.cmp(&b.0));
                pairs
            };
            compare_keys(&sorted(a), &sorted(b))
        }
        _ => place(a).cmp(&place(b)),
    }
}

/// Whether two values are the same; `1` and `1.0` are.
pub fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(_), Value::Number(_)) => compare_values(a, b) == Ordering::Equal,
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        _ => a == b,
    }
}

/// JSON as a real server writes it into texts: the signs that mean something in HTML are escaped.
pub(super) fn escaped_json(value: &Value) -> String {
    let plain = value.to_string();
    if !plain.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        return plain;
    }
    let mut text = String::with_capacity(plain.len() + 16);
    for sign in plain.chars() {
        match sign {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => text.push_str(&format!("\\u{:04x}", u32::from(sign))),
            _ => text.push(sign),
        }
    }
    text
}

/// A value as messages show it.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Array(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(",")),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| format!("{key}={}", shown(value))).collect::<Vec<_>>().concat()
        }
        other => other.to_string(),
    }
}

/// Text in quotes with escapes, as messages of a real server have it.
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for sign in text.chars() {
        match sign {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{b}' => quoted.push_str("\\v"),
            '\u{c}' => quoted.push_str("\\f"),
            _ if printable(sign) => quoted.push(sign),
            _ if u32::from(sign) < 0x80 => quoted.push_str(&format!("\\x{:02x}", u32::from(sign))),
            _ if u32::from(sign) < 0x1_0000 => quoted.push_str(&format!("\\u{:04x}", u32::from(sign))),
            _ => quoted.push_str(&format!("\\U{:08x}", u32::from(sign))),
        }
    }
    quoted.push('"');
    quoted
}

/// Whether a sign has a shape on paper. The only space that counts is the ordinary one.
pub(super) fn printable(sign: char) -> bool {
    sign == ' '
        || (!sign.is_whitespace() && !sign.is_control() && (sign.is_alphanumeric() || sign.escape_debug().len() <= 2))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Keys of `fieldsV1` of a real server, and the same steps in its messages.
    #[test]
    fn steps() {
        for (key, shown) in [
            ("f:spec", ".spec"),
            ("f:kubernetes.io/metadata.name", ".kubernetes.io/metadata.name"),
            ("f:", "."),
            (r#"k:{"name":"a"}"#, r#"[name="a"]"#),
            (r#"k:{"containerPort":80,"protocol":"TCP"}"#, r#"[containerPort=80,protocol="TCP"]"#),
            (r#"k:{"on":true,"x":1.5}"#, "[on=true,x=1.5]"),
            (r#"v:"a.b/c""#, r#"[="a.b/c"]"#),
            ("v:7", "[=7]"),
            ("v:false", "[=false]"),
            (r#"v:"a\u003cb\u0026""#, r#"[="a<b&"]"#),
            (r#"v:"q\"\\\n""#, r#"[="q\"\\\n"]"#),
            ("i:3", "[3]"),
        ] {
            let element = Element::decode(key).expect(key).expect(key);
            assert_eq!((element.encode().as_str(), element.to_string().as_str()), (key, shown));
        }
        let sorted = Element::decode(r#"k:{"b":1,"a":2}"#).expect("keys").expect("keys");
        assert_eq!(sorted.encode(), r#"k:{"a":2,"b":1}"#);
        assert_eq!(Element::decode("z:what"), Ok(None));
        for bad in ["", "f", "spec", "k:", "k:[1]", "v:{", "i:x"] {
            assert!(Element::decode(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn order() {
        let sorted = [
            r"f:a",
            "f:b",
            r#"k:{"a":1}"#,
            r#"k:{"a":1,"b":0}"#,
            r#"k:{"a":"x"}"#,
            "v:1",
            "v:1.5",
            "v:2",
            r#"v:"a""#,
            "v:true",
            "i:2",
        ];
        let elements: Vec<Element> = sorted.iter().map(|key| Element::decode(key).expect(key).expect(key)).collect();
        assert!(elements.is_sorted(), "{elements:?}");
        assert_eq!(Element::Item(json!(1)), Element::Item(json!(1.0)));
    }

    #[test]
    fn quotes() {
        for (text, quoted) in
            [("a", r#""a""#), ("\u{7}\u{1}", r#""\a\x01""#), ("é\u{2028}", r#""é\u2028""#), ("'", r#""'""#)]
        {
            assert_eq!(quote(text), quoted);
        }
    }
}
