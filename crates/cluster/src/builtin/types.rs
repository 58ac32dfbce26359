//! The types of built-in kinds: fields with their types and descriptions from `k8s-openapi`, joined with what [`super::marks`] says.
//!
//! Everything else about shapes follows from here: the published schema, the compiled one, and the form in which objects are stored.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use rustc_hash::FxHashMap;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::form::is_empty;
use super::marks::{self, Mark, TypeMarks};
use super::{defaults, kinds};
use crate::schema::{ListType, Merge};

/// A type that has a name.
#[derive(Debug, Clone)]
pub struct Type {
    /// What a person reads.
    pub description: String,
    /// What it is made of.
    pub of: Of,
    /// Fields, if it is a struct.
    pub fields: BTreeMap<String, Field>,
    /// Fields that have to be there, in order.
    pub required: Vec<String>,
    /// The struct has one owner wherever it stands.
    pub atomic: bool,
}

/// A field of a struct.
#[derive(Debug, Clone)]
pub struct Field {
    /// What a person reads.
    pub description: String,
    /// What it is made of.
    pub of: Of,
    /// What is shown when there is nothing in it.
    pub empty: Empty,
    /// How members are told apart, if it is a list.
    pub list: ListType,
    /// Whether a map or struct has one owner, if that is said here and not with its type.
    pub atomic: Option<bool>,
    /// What strategic merge does.
    pub merge: Merge,
    /// Strategic merge replaces it, and the published schema says so.
    pub replace: bool,
    /// What messages call its type, if it is text with a type of its own: `v1.PullPolicy`.
    pub word: Option<String>,
    /// The default in the published schema.
    pub default: Option<Value>,
    /// What is filled in where nothing is given.
    pub filled: Option<Value>,
}

/// What a value is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Of {
    /// Text.
    String,
    /// Text in base64.
    Bytes,
    /// True or false.
    Boolean,
    /// A whole number of 32 bits.
    Int32,
    /// A whole number of 64 bits.
    Int64,
    /// A number.
    Double,
    /// A moment, in seconds.
    Time,
    /// A moment, in microseconds.
    MicroTime,
    /// An amount such as `500m`.
    Quantity,
    /// A whole number or text.
    IntOrString,
    /// Anything.
    Any,
    /// A struct with fields, only where the type itself is described.
    Fields,
    /// A type with a name.
    Named(String),
    /// A list.
    List(Box<Of>),
    /// A map from text.
    Map(Box<Of>),
}

/// What is shown of a field with nothing in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Empty {
    /// Left out when it is absent or empty.
    Dropped,
    /// Left out only when it is absent.
    Kept,
    /// The zero value of its type.
    Shown,
    /// `null`
    Null,
}

/// Where types stand in the published documents.
pub const PREFIX: &str = "#/components/schemas/";

static TYPES: LazyLock<BTreeMap<String, Type>> = LazyLock::new(read);

/// The same by name, for those who look up many.
static BY_NAME: LazyLock<FxHashMap<&'static str, &'static Type>> =
    LazyLock::new(|| TYPES.iter().map(|(name, described)| (name.as_str(), described)).collect());

/// A type by its full name.
pub fn get(name: &str) -> Option<&'static Type> {
    BY_NAME.get(name).copied()
}

/// All types that can be reached from the kinds we serve, by their full names (`io.k8s.api.core.v1.Pod`).
pub fn all() -> &'static BTreeMap<String, Type> {
    &TYPES
}

fn read() -> BTreeMap<String, Type> {
    let mut generator = SchemaSettings::openapi3().into_generator();
    let roots: BTreeSet<String> = kinds::ALL
        .iter()
        .map(|kind| kind.schema)
        .chain(kinds::PARAMETERS.iter().copied())
        .filter_map(|schema| reference(schema(&mut generator).as_value()))
        .collect();
    let marks = marks::all();
    let none = TypeMarks::default();
    let filled: BTreeMap<(String, &str), Value> = defaults::BY_TYPE
        .iter()
        .filter_map(|(owner, field, text)| {
            Some(((format!("io.k8s.api.{owner}"), *field), serde_json::from_str(text).ok()?))
        })
        .collect();
    let definitions = generator.definitions();
    let mut types: BTreeMap<String, Type> = definitions
        .iter()
        .map(|(name, definition)| {
            (name.clone(), read_type(name, definition, marks.get(name).unwrap_or(&none), roots.contains(name)))
        })
        .collect();
    for ((owner, field), value) in filled {
        if let Some(field) = types.get_mut(&owner).and_then(|owner| owner.fields.get_mut(field)) {
            field.filled = Some(value);
        }
    }
    types
}

fn read_type(name: &str, definition: &Value, marks: &TypeMarks, root: bool) -> Type {
    let mut required: Vec<String> = definition["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|field| field.as_str().map(ToOwned::to_owned))
        // The types of the library ask for metadata; an API server does not.
        .filter(|field| !(root && field == "metadata"))
        .filter(|field| marks.fields.get(field).is_none_or(|mark| mark.required.is_none()))
        .collect();
    required
        .extend(marks.fields.iter().filter(|(_, mark)| mark.required == Some(true)).map(|(field, _)| field.clone()));
    let none = Mark::default();
    let fields: BTreeMap<String, Field> = definition["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(field, schema)| {
            let mark = marks.fields.get(field).unwrap_or(&none);
            let is_required = required.contains(field);
            (field.clone(), read_field(schema, mark, is_required, field == "metadata"))
        })
        .collect();
    required.sort_by_key(|field| fields.keys().position(|candidate| candidate == field));
    let of = leaf(name).unwrap_or(Of::Fields);
    Type { description: text(&definition["description"]), of, fields, required, atomic: marks.atomic }
}

fn read_field(schema: &Value, mark: &Mark, required: bool, metadata: bool) -> Field {
    let of = shape(schema);
    let named = matches!(of, Of::Named(_));
    let empty = match (mark.pointer, mark.always) {
        (true, true) => Empty::Null,
        (true, false) => Empty::Kept,
        (false, true) => Empty::Shown,
        (false, false) if mark.never => {
            if named {
                Empty::Kept
            } else {
                Empty::Dropped
            }
        }
        (false, false) if required || mark.value || metadata => Empty::Shown,
        (false, false) if named => Empty::Kept,
        (false, false) => Empty::Dropped,
    };
    // The zero values in published schemas say how a field is written, unless it can tell zero from nothing.
    let filled = mark.default.clone().filter(|value| mark.pointer || !is_empty(value));
    let default = mark.default.clone().or_else(|| (empty == Empty::Shown).then(|| zero(&of)).flatten());
    Field {
        description: text(&schema["description"]),
        of,
        empty,
        list: mark.list.clone().unwrap_or_default(),
        atomic: mark.atomic,
        merge: mark.merge.clone().unwrap_or_default(),
        replace: mark.replace,
        word: mark.word.clone(),
        default,
        filled,
    }
}

/// The default that the published schema gives to members of this type: the zero value, where there is one in JSON.
pub fn zero(of: &Of) -> Option<Value> {
    Some(match of {
        Of::String => "".into(),
        Of::Boolean => false.into(),
        Of::Int32 | Of::Int64 | Of::Double => 0.into(),
        Of::Named(name) if leaf(name).is_none() => Value::Object(serde_json::Map::new()),
        _ => return None,
    })
}

fn shape(schema: &Value) -> Of {
    if let Some(name) = reference(schema) {
        return Of::Named(name);
    }
    match (schema["type"].as_str(), schema["format"].as_str()) {
        (Some("string"), Some("byte")) => Of::Bytes,
        (Some("string"), _) => Of::String,
        (Some("boolean"), _) => Of::Boolean,
        (Some("integer"), Some("int32")) => Of::Int32,
        (Some("integer"), _) => Of::Int64,
        (Some("number"), _) => Of::Double,
        (Some("array"), _) => Of::List(Box::new(shape(&schema["items"]))),
        (Some("object"), _) if schema["additionalProperties"].is_object() => {
            Of::Map(Box::new(shape(&schema["additionalProperties"])))
        }
        _ => Of::Any,
    }
}

fn reference(schema: &Value) -> Option<String> {
    let all = schema["allOf"].as_array().and_then(|all| all.first()).unwrap_or(schema);
    all["$ref"].as_str()?.strip_prefix(PREFIX).map(ToOwned::to_owned)
}

/// Types with a JSON form of their own.
pub fn leaf(name: &str) -> Option<Of> {
    let short = name.strip_prefix("io.k8s.apimachinery.pkg.").or_else(|| name.strip_prefix(EXTENSIONS))?;
    Some(match short {
        "apis.meta.v1.Time" => Of::Time,
        "apis.meta.v1.MicroTime" => Of::MicroTime,
        "api.resource.Quantity" => Of::Quantity,
        "util.intstr.IntOrString" => Of::IntOrString,
        "apis.meta.v1.FieldsV1"
        | "runtime.RawExtension"
        | "JSON"
        | "JSONSchemaPropsOrArray"
        | "JSONSchemaPropsOrBool"
        | "JSONSchemaPropsOrStringArray" => Of::Any,
        _ => return None,
    })
}

/// The package of custom resource definitions.
pub const EXTENSIONS: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.";

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
