//! Values as the real server shows them in messages. It is written in Go, and so are its quotes and numbers.

use serde_json::Value;

use crate::status::{Fault, What};

/// A fault that shows the value in Go's way.
pub(crate) fn fault(what: What, field: impl Into<String>, value: &Value, detail: &str) -> Fault {
    let shown = shown(value);
    let plain = value.to_string();
    if shown == plain {
        return Fault::of(what, field, value.clone(), detail);
    }
    let detail = if detail.is_empty() { shown } else { format!("{shown}: {detail}") };
    Fault { what, field: field.into(), value: None, detail }
}

/// A value that is not in its place, as a real server puts it when several are possible: `supported values: "a", "b"`.
pub(crate) fn not_supported<'a>(
    field: impl Into<String>,
    value: &Value,
    values: impl Iterator<Item = &'a str>,
) -> Fault {
    let values: Vec<String> = values.map(quoted).collect();
    fault(What::NotSupported, field, value, &format!("supported values: {}", values.join(", ")))
}

/// The value in a message.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Number(number) if number.as_i64().is_none() => float(number.as_f64().unwrap_or_default()),
        Value::Array(_) | Value::Object(_) => json(value),
        _ => value.to_string(),
    }
}

/// Text in quotes, as `%q` writes it.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for char in text.chars() {
        match char {
            '"' | '\\' => out.extend(['\\', char]),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            _ if char.is_ascii_control() => out.push_str(&format!("\\x{:02x}", u32::from(char))),
            _ if char.is_control() || (char.is_whitespace() && char != ' ') || char == '\u{feff}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(char)));
            }
            _ => out.push(char),
        }
    }
    out.push('"');
    out
}

/// A number as `%v` writes it: the shortest form, with an exponent from a million on.
pub(crate) fn float(number: f64) -> String {
    let scientific = format!("{number:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let Ok(power) = exponent.parse::<i32>() else { return scientific };
    if (-4..6).contains(&power) {
        return format!("{number}");
    }
    let sign = if power < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", power.abs())
}

/// JSON as Go writes it, which escapes what HTML might take for its own.
pub(crate) fn json(value: &Value) -> String {
    let text = value.to_string();
    if !text.contains(['&', '<', '>', '\u{2028}', '\u{2029}']) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        match char {
            '&' | '<' | '>' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", u32::from(char))),
            _ => out.push(char),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{float, json, quoted};

    #[test]
    fn numbers_are_short_and_get_an_exponent_at_a_million() {
        let table = [
            (0.25, "0.25"),
            (7.0, "7"),
            (-1.5, "-1.5"),
            (999_999.0, "999999"),
            (1_000_000.5, "1.0000005e+06"),
            (1e30, "1e+30"),
            (9_223_372_036_854_775_808.0, "9.223372036854776e+18"),
            (-1e21, "-1e+21"),
            (0.00001, "1e-05"),
            (0.0, "0"),
        ];
        for (number, text) in table {
            assert_eq!(float(number), text);
        }
    }

    #[test]
    fn quotes_are_those_of_go() {
        let table = [
            ("é \"x\"", r#""é \"x\"""#),
            ("a\nb\u{1}", r#""a\nb\x01""#),
            ("\u{a0}", r#""\u00a0""#),
            ("a&b", "\"a&b\""),
        ];
        for (text, quotes) in table {
            assert_eq!(quoted(text), quotes);
        }
    }

    #[test]
    fn json_escapes_what_html_would_take() {
        assert_eq!(json(&json!({"a": "x && y > 1"})), r#"{"a":"x \u0026\u0026 y \u003e 1"}"#);
    }
}
