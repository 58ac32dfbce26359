//! Objects as expressions see them. A schema says what is a time, a map or an object with fields; names of fields that are no names in
//! the language are escaped.

use std::borrow::Cow;
use std::collections::HashMap;

use base64::Engine;
use kube_cel::cel::common::types::{
    CelBool, CelBytes, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelOptional, CelString,
};
use kube_cel::cel::common::value::Val;
use serde_json::{Number, Value};

use super::super::{Schema, Shape};
use super::expression::{Expression, Scope};
use super::uses::{ALL, Uses};

/// Words of the language that cannot be names of fields.
const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// A value of which no schema tells more.
pub(super) fn plain(value: &Value) -> Box<dyn Val> {
    match value {
        Value::Null => Box::new(CelNull),
        Value::Bool(bool) => Box::new(CelBool::from(*bool)),
        Value::Number(number) => plain_number(number),
        Value::String(text) => Box::new(CelString::from(text.as_str())),
        Value::Array(items) => Box::new(CelList::from(items.iter().map(plain).collect::<Vec<_>>())),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, field)| (CelMapKey::from(name.as_str()), plain(field)));
            Box::new(CelMap::from(fields.collect::<HashMap<_, _>>()))
        }
    }
}

/// A value with the types that its schema gives, as far as it is looked at.
pub(super) fn typed(value: &Value, schema: &Schema, uses: &Uses, scope: &Scope) -> Box<dyn Val> {
    match value {
        Value::Object(fields) => {
            let mut map: HashMap<CelMapKey, Box<dyn Val>> = HashMap::with_capacity(fields.len());
            for (name, field) in fields {
                if let Some(property) = schema.properties.get(name) {
                    let escaped = escaped(name);
                    // A field that is null counts as absent.
                    if let Some(uses) = uses.field(&escaped).filter(|_| !field.is_null()) {
                        map.insert(CelMapKey::from(escaped.as_ref()), typed(field, property, uses, scope));
                    }
                } else if let Some(additional) = &schema.additional {
                    map.insert(CelMapKey::from(name.as_str()), typed(field, additional, &ALL, scope));
                } else if schema.embedded && matches!(name.as_str(), "apiVersion" | "kind" | "metadata")
                    || schema.is_bare()
                {
                    map.insert(CelMapKey::from(name.as_str()), plain(field));
                }
            }
            Box::new(CelMap::from(map))
        }
        Value::Array(items) => {
            let item = |item: &Value| match &schema.items {
                Some(item_schema) => typed(item, item_schema, &ALL, scope),
                None => plain(item),
            };
            Box::new(CelList::from(items.iter().map(item).collect::<Vec<_>>()))
        }
        Value::Number(number) if schema.shape == Shape::Number => {
            Box::new(CelDouble::from(number.as_f64().unwrap_or(f64::NAN)))
        }
        Value::String(text) => typed_text(text, schema, scope),
        _ => plain(value),
    }
}

fn plain_number(number: &Number) -> Box<dyn Val> {
    match number.as_i64() {
        Some(whole) => Box::new(CelInt::from(whole)),
        None => Box::new(CelDouble::from(number.as_f64().unwrap_or(f64::NAN))),
    }
}

fn typed_text(text: &str, schema: &Schema, scope: &Scope) -> Box<dyn Val> {
    let format =
        schema.limits.as_ref().and_then(|limits| limits.format.as_deref()).filter(|_| schema.shape == Shape::String);
    let made = match format {
        Some("date-time" | "datetime") => made(text, MADE_TIMESTAMP.as_ref(), scope),
        Some("date") => made(&format!("{text}T00:00:00Z"), MADE_TIMESTAMP.as_ref(), scope),
        Some("duration") => made(text, MADE_DURATION.as_ref(), scope),
        Some("byte") => base64::engine::general_purpose::STANDARD
            .decode(text)
            .ok()
            .map(|bytes| -> Box<dyn Val> { Box::new(CelBytes::from(bytes)) }),
        _ => None,
    };
    made.unwrap_or_else(|| Box::new(CelString::from(text)))
}

/// The language's own functions make its times.
static MADE_TIMESTAMP: std::sync::LazyLock<Option<Expression>> =
    std::sync::LazyLock::new(|| Expression::compile("timestamp(text)").ok());
static MADE_DURATION: std::sync::LazyLock<Option<Expression>> =
    std::sync::LazyLock::new(|| Expression::compile("duration(text)").ok());

fn made(text: &str, expression: Option<&Expression>, scope: &Scope) -> Option<Box<dyn Val>> {
    let mut scope = scope.child();
    scope.set("text", Box::new(CelString::from(text)));
    scope.value_of(expression?).ok()
}

/// `oldSelf` of a rule that is also judged when there is none.
pub(super) fn optional(value: Option<&dyn Val>) -> Box<dyn Val> {
    Box::new(value.map_or_else(CelOptional::none, |value| CelOptional::of(value.clone_as_boxed())))
}

/// The name of a field in expressions.
pub(super) fn escaped(name: &str) -> Cow<'_, str> {
    if RESERVED.contains(&name) {
        return Cow::Owned(format!("__{name}__"));
    }
    if !name.contains("__") && !name.contains(['.', '-', '/', '$']) {
        return Cow::Borrowed(name);
    }
    let text = name.replace("__", "__underscores__");
    Cow::Owned(text.replace('.', "__dot__").replace('-', "__dash__").replace('/', "__slash__"))
}
