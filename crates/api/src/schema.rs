//! Checks an object against a structural schema, as an API server does before any webhook sees it.
//!
//! Faults are all collected. Values of a wrong type are cut out of the object, so that the rules behind the schema can
//! still judge the rest; nulls count as left out; schema defaults are filled in.

use crate::field::{FieldError, Path};
use kube_core::schema::{OptionalEnum, OptionalIntOrString, StructuralSchemaRewriter};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::AddNullable;
use serde_json::{Map, Value};

/// The schema of a type that is not a custom resource.
pub fn derived<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::openapi3().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    // The same steps that the derive of custom resources takes.
    let generator = settings
        .with_transform(AddNullable::default())
        .with_transform(StructuralSchemaRewriter)
        .with_transform(OptionalEnum)
        .with_transform(OptionalIntOrString)
        .into_generator();
    let schema = generator.into_root_schema_for::<T>();
    let mut value = schema.to_value();
    crate::crd::tidy_schema(&mut value);
    value
}

/// What the schema says of an object.
#[derive(Debug, Default)]
pub struct Checked {
    /// Faults, in the order of the fields.
    pub errors: Vec<FieldError>,
    /// Values that were cut out because nothing can be made of them.
    pub cut: Vec<Cut>,
    /// Words in the list that is being walked; what stands in for another word must be none of them.
    words: Vec<String>,
}

/// A value that was cut out. Where a value is required, something of the right type stands in for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Where it stood.
    pub path: String,
    /// Whether a number should stand there.
    pub is_number: bool,
}

impl Cut {
    fn new(path: &Path, schema: &Value) -> Self {
        Self { path: path.to_string(), is_number: matches!(schema["type"].as_str(), Some("integer" | "number")) }
    }
}

/// Checks `value` against `schema` and brings it to the form an API server would store.
pub fn check(schema: &Value, value: &mut Value, path: &Path) -> Checked {
    let mut checked = Checked::default();
    if !walk(schema, value, path, &mut checked) {
        checked.cut.push(Cut::new(path, schema));
    }
    checked
}

/// Returns whether the value can stay.
fn walk(schema: &Value, value: &mut Value, path: &Path, out: &mut Checked) -> bool {
    if schema["x-kubernetes-int-or-string"] == true {
        let fits = value.is_i64() || value.is_u64() || value.is_string();
        if !fits {
            out.errors.push(FieldError::invalid(path, value.clone(), "must be of type integer or string"));
        }
        return fits;
    }
    if let Some(wanted) = schema["type"].as_str()
        && !has_type(wanted, value)
    {
        out.errors.push(FieldError::invalid(path, value.clone(), format!("must be of type {wanted}")));
        return false;
    }
    if let Some(supported) = schema["enum"].as_array()
        && !supported.contains(value)
    {
        let supported: Vec<&str> = supported.iter().filter_map(Value::as_str).collect();
        out.errors.push(FieldError::not_supported(path, value.clone(), &supported));
        return false;
    }
    match value {
        Value::Object(fields) => object(schema, fields, path, out),
        Value::Array(items) => array(schema, items, path, out),
        Value::String(text) => string(schema, text, path, out),
        Value::Number(_) => return number(schema, value, path, out),
        Value::Null | Value::Bool(_) => {}
    }
    true
}

fn has_type(wanted: &str, value: &Value) -> bool {
    match wanted {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.as_i64().is_some(),
        "number" => value.is_number(),
        _ => true,
    }
}

fn object(schema: &Value, fields: &mut Map<String, Value>, path: &Path, out: &mut Checked) {
    let Some(known) = schema["properties"].as_object() else {
        if schema["additionalProperties"].is_object() {
            fields.retain(|key, field| {
                let path = path.key(key);
                let stays = walk(&schema["additionalProperties"], field, &path, out);
                if !stays {
                    out.cut.push(Cut::new(&path, &schema["additionalProperties"]));
                }
                stays
            });
        }
        return;
    };
    let open = schema["x-kubernetes-preserve-unknown-fields"] == true;
    if !open {
        for (key, field) in fields.iter().filter(|(key, _)| !known.contains_key(*key)) {
            let mut message = "unknown field".to_owned();
            if let Some(meant) = nearest(key, known.keys()) {
                message.extend(["; did you mean `", meant, "`?"]);
            }
            out.errors.push(FieldError::invalid(&path.child(key), field.clone(), message));
        }
        fields.retain(|key, _| known.contains_key(key));
    }
    let required = |key: &str| schema["required"].as_array().is_some_and(|keys| keys.iter().any(|k| k == key));
    for (key, schema) in known {
        if fields.get(key).is_some_and(Value::is_null) {
            fields.remove(key);
        }
        match fields.get_mut(key) {
            Some(field) => {
                let path = path.child(key);
                if !walk(schema, field, &path, out) {
                    out.cut.push(Cut::new(&path, schema));
                    match stand_in(schema, &out.words).filter(|_| required(key)) {
                        Some(value) => *field = value,
                        None => drop(fields.remove(key)),
                    }
                }
            }
            None => {
                if let Some(default) = schema.get("default") {
                    fields.insert(key.clone(), default.clone());
                }
            }
        }
    }
    for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let path = path.child(key);
        if !fields.contains_key(key) && !out.cut.iter().any(|cut| cut.path == path.as_str()) {
            out.errors.push(FieldError::required(&path, ""));
            let schema = &schema["properties"][key];
            out.cut.push(Cut::new(&path, schema));
            fields.extend(stand_in(schema, &out.words).map(|value| (key.to_owned(), value)));
        }
    }
}

/// A scalar of the right type, so that the rest of the object can be judged. Nothing stands in for a whole object or list:
/// what the rules would say of an empty one is not what is wrong.
fn stand_in(schema: &Value, taken: &[String]) -> Option<Value> {
    if let Some(words) = schema["enum"].as_array() {
        let free = |word: &&Value| word.as_str().is_some_and(|word| taken.iter().all(|taken| taken != word));
        return words.iter().find(free).cloned();
    }
    match schema["type"].as_str()? {
        "string" => Some(Value::String(String::new())),
        "integer" | "number" => Some(schema["minimum"].as_i64().unwrap_or(1).into()),
        "boolean" => Some(false.into()),
        _ => None,
    }
}

fn array(schema: &Value, items: &mut [Value], path: &Path, out: &mut Checked) {
    let count = u64::try_from(items.len()).unwrap_or(u64::MAX);
    if schema["minItems"].as_u64().is_some_and(|min| count < min) {
        out.errors.push(FieldError::required(path, format!("must have at least {} items", schema["minItems"])));
    }
    if schema["maxItems"].as_u64().is_some_and(|max| count > max) {
        let message = format!("must have at most {} items", schema["maxItems"]);
        out.errors.push(FieldError::too_many(path, count, message));
    }
    if schema["items"].is_object() {
        let fields = items.iter().filter_map(Value::as_object).flat_map(|fields| fields.values());
        out.words = fields.filter_map(Value::as_str).map(str::to_owned).collect();
        for (i, item) in items.iter_mut().enumerate() {
            let path = path.index(i);
            if !walk(&schema["items"], item, &path, out) {
                out.cut.push(Cut::new(&path, &schema["items"]));
                if let Some(value) = stand_in(&schema["items"], &out.words) {
                    *item = value;
                }
            }
        }
    }
}

fn string(schema: &Value, text: &str, path: &Path, out: &mut Checked) {
    let length = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
    if schema["minLength"].as_u64().is_some_and(|min| length < min) {
        out.errors.push(FieldError::required(path, "must not be empty"));
    }
    if let Some(max) = schema["maxLength"].as_u64().filter(|max| length > *max) {
        out.errors.push(FieldError::too_long(path, text, usize::try_from(max).unwrap_or(usize::MAX)));
    }
}

/// Returns whether the number fits its type.
fn number(schema: &Value, value: &Value, path: &Path, out: &mut Checked) -> bool {
    if schema["format"] == "int32" && value.as_i64().is_none_or(|n| i32::try_from(n).is_err()) {
        out.errors.push(FieldError::invalid(path, value.clone(), "must fit in 32 bits"));
        return false;
    }
    let Some(number) = value.as_f64() else { return true };
    if schema["minimum"].as_f64().is_some_and(|min| number < min) {
        let message = format!("must be greater than or equal to {}", schema["minimum"].as_f64().unwrap_or_default());
        out.errors.push(FieldError::invalid(path, value.clone(), message));
    }
    if schema["maximum"].as_f64().is_some_and(|max| number > max) {
        let message = format!("must be less than or equal to {}", schema["maximum"].as_f64().unwrap_or_default());
        out.errors.push(FieldError::invalid(path, value.clone(), message));
    }
    true
}

/// The known name that a user most probably meant.
pub(crate) fn nearest<'a>(written: &str, known: impl Iterator<Item = &'a String>) -> Option<&'a str> {
    let written_lower = written.to_lowercase();
    let best = known.map(|name| (distance(&written_lower, &name.to_lowercase()), name)).min()?;
    (best.0 <= 1 + written.len() / 5).then_some(best.1.as_str())
}

/// Levenshtein's distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, cb) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
