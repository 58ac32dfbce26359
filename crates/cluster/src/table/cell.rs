//! What stands in a cell of a custom kind: a value of the object, made to fit the type of the column.

use serde_json::{Number, Value};

use super::age_of;
use crate::patch::shown;

/// The cell for a value that was found; `null` if it does not fit.
pub fn of(kind: &str, value: &Value, now_seconds: i64) -> Value {
    match (kind, value) {
        ("string", value) => printed(value).into(),
        ("integer", Value::Number(number)) => whole(number).map_or(Value::Null, Value::from),
        ("number", Value::Number(number)) => {
            match number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 1e15) {
                // A number without a fraction is written without one.
                Some(_) => whole(number).map_or_else(|| value.clone(), Value::from),
                None => value.clone(),
            }
        }
        ("boolean", Value::Bool(_)) => value.clone(),
        ("date", Value::String(text)) => age_of(text, now_seconds).into(),
        _ => Value::Null,
    }
}

/// The number without its fraction.
fn whole(number: &Number) -> Option<i64> {
    number.as_i64().or_else(|| format!("{:.0}", number.as_f64()?.trunc()).parse().ok())
}

/// A value as text: lists and maps as JSON.
fn printed(value: &Value) -> String {
    match value {
        Value::Null => "<no value>".to_owned(),
        Value::Array(_) | Value::Object(_) => {
            let mut text = String::new();
            for letter in value.to_string().chars() {
                match letter {
                    '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                        text.push_str(&format!("\\u{:04x}", u32::from(letter)));
                    }
                    _ => text.push(letter),
                }
            }
            text
        }
        value => shown(value),
    }
}
