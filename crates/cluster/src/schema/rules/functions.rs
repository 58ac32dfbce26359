//! Functions that the interpreter lacks or has otherwise than a real server.

use std::sync::Arc;

use kube_cel::cel::extractors::This;
use kube_cel::cel::objects::{Key, OptionalValue};
use kube_cel::cel::{Context, ExecutionError, Value};

use super::expression::OPTIONAL_FIELD;

/// Adds them, and the names of types, which are values too.
pub(super) fn add(context: &mut Context<'_>) {
    context.add_function("size", size);
    context.add_function("type", |value: Value| -> Result<Value, ExecutionError> { Ok(named(type_of(&value))) });
    context.add_function("dyn", |value: Value| -> Result<Value, ExecutionError> { Ok(value) });
    context.add_function(OPTIONAL_FIELD, optional_field);
    for name in ["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "uint"] {
        context.add_variable_from_value(name, named(name));
    }
}

/// A type is known by a text that no value of an object can be confused with, for objects hold no such character.
fn named(name: &str) -> Value {
    Value::String(Arc::new(format!("\0type({name})")))
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "bool",
        Value::Bytes(_) => "bytes",
        Value::Float(_) => "double",
        Value::Int(_) => "int",
        Value::List(_) => "list",
        Value::Map(_) => "map",
        Value::Null => "null_type",
        Value::String(_) => "string",
        Value::UInt(_) => "uint",
        _ => "",
    }
}

/// Texts are as long as they have characters, not bytes.
fn size(This(this): This<Value>) -> Result<Value, ExecutionError> {
    let size = match this {
        Value::List(list) => list.len(),
        Value::Map(map) => map.map.len(),
        Value::String(text) => text.chars().count(),
        Value::Bytes(bytes) => bytes.len(),
        _ => return Err(ExecutionError::NoSuchOverload),
    };
    Ok(Value::Int(i64::try_from(size).unwrap_or(i64::MAX)))
}

/// `a.?b`: the field if it is there.
fn optional_field(operand: Value, field: Arc<String>) -> Result<Value, ExecutionError> {
    let inside = match &operand {
        Value::Opaque(_) => <&OptionalValue>::try_from(&operand)?.value().cloned(),
        _ => Some(operand),
    };
    let found = match inside {
        Some(Value::Map(map)) => map.map.get(&Key::String(field)).cloned(),
        Some(_) => return Err(ExecutionError::NoSuchOverload),
        None => None,
    };
    Ok(Value::Opaque(Arc::new(found.map_or_else(OptionalValue::none, OptionalValue::of))))
}
