//! How a real server writes values in the messages about patches: in the notation of its own language.

use serde_json::{Number, Value};

pub use crate::json::words::type_of as json_kind;

/// A value as it stands in messages: `map[name:a ports:[map[port:80]]]`.
pub fn shown(value: &Value) -> String {
    let mut out = String::new();
    show(value, &mut out);
    out
}

fn show(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&show_number(number)),
        Value::String(text) => out.push_str(text),
        Value::Array(members) => {
            out.push('[');
            for (index, member) in members.iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                show(member, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            let mut keys: Vec<&String> = fields.keys().collect();
            keys.sort_unstable();
            out.push_str("map[");
            for (index, key) in keys.into_iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                out.push_str(key);
                out.push(':');
                show(&fields[key], out);
            }
            out.push(']');
        }
    }
}

/// Whole numbers as they are; others with an exponent from a million on, as `%v` prints them.
fn show_number(number: &Number) -> String {
    let Some(float) = number.as_f64().filter(|_| !number.is_i64()) else { return number.to_string() };
    let scientific = format!("{float:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        _ => format!("{float}"),
    }
}

/// The type a value has once it is read; lists may not mix them.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "%!s(<nil>)",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// A value where text was expected: `%!s(int64=3)`.
pub fn misplaced(value: &Value) -> String {
    match value {
        Value::Bool(_) | Value::Number(_) => format!("%!s({}={})", type_name(value), shown(value)),
        Value::Null => type_name(value).to_owned(),
        _ => shown(value),
    }
}
