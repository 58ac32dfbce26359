//! Errors that name a field, in Kubernetes' form: `path: Type: value: detail`.

use serde::Serialize;
use serde_json::Value;
use std::fmt;

/// Where in an object something stands, such as `spec.template.cliques[0].name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path(String);

impl Path {
    /// A path that starts at a top-level field.
    pub fn new(field: &str) -> Self {
        Self(field.to_owned())
    }

    /// The object itself.
    pub fn root() -> Self {
        Self(String::new())
    }

    /// A field of the object at this path.
    pub fn child(&self, field: &str) -> Self {
        if self.0.is_empty() { Self(field.to_owned()) } else { Self(format!("{}.{field}", self.0)) }
    }

    /// An item of the list at this path.
    pub fn index(&self, i: usize) -> Self {
        Self(format!("{}[{i}]", self.0))
    }

    /// An entry of the map at this path.
    pub fn key(&self, key: &str) -> Self {
        Self(format!("{}[{key}]", self.0))
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Names and indices of a path such as `spec.levels[2].key`; a key in brackets may have dots in it.
pub fn steps(path: &str) -> Vec<&str> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let end = inner.find(']').unwrap_or(inner.len());
            steps.push(&inner[..end]);
            rest = inner[end..].trim_start_matches([']', '.']);
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            steps.push(&rest[..end]);
            rest = rest[end..].trim_start_matches('.');
        }
    }
    steps
}

/// What stands at a path.
pub fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    steps(path).into_iter().try_fold(value, |value, step| match value {
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        other => other.get(step),
    })
}

/// The kind of fault, by the word in Kubernetes' message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum ErrorType {
    /// The value is not acceptable.
    #[serde(rename = "Invalid value")]
    Invalid,
    /// A value is needed.
    #[serde(rename = "Required value")]
    Required,
    /// The value may not be there, or may not be changed.
    #[serde(rename = "Forbidden")]
    Forbidden,
    /// The value stands there twice.
    #[serde(rename = "Duplicate value")]
    Duplicate,
    /// The value names something that is not there.
    #[serde(rename = "Not found")]
    NotFound,
    /// The value is none of the known ones.
    #[serde(rename = "Unsupported value")]
    NotSupported,
    /// The value is too long.
    #[serde(rename = "Too long")]
    TooLong,
    /// There are too many items.
    #[serde(rename = "Too many")]
    TooMany,
}

impl ErrorType {
    /// The word in Kubernetes' message.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "Invalid value",
            Self::Required => "Required value",
            Self::Forbidden => "Forbidden",
            Self::Duplicate => "Duplicate value",
            Self::NotFound => "Not found",
            Self::NotSupported => "Unsupported value",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
        }
    }

    /// Whether the message repeats the value. Kubernetes leaves it out where it says nothing or is too much.
    fn shows_value(self) -> bool {
        !matches!(self, Self::Required | Self::Forbidden | Self::TooLong)
    }
}

/// A fault in one field.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FieldError {
    /// Where.
    pub field: String,
    /// Which kind of fault.
    #[serde(rename = "type")]
    pub type_: ErrorType,
    /// What stands there; null where it says nothing.
    pub value: Value,
    /// What would be right.
    pub message: String,
}

impl FieldError {
    fn new(path: &Path, type_: ErrorType, value: Value, message: impl Into<String>) -> Self {
        Self { field: path.0.clone(), type_, value, message: message.into() }
    }

    /// The value is not acceptable.
    pub fn invalid(path: &Path, value: impl Into<Value>, message: impl Into<String>) -> Self {
        Self::new(path, ErrorType::Invalid, value.into(), message)
    }

    /// A value is needed.
    pub fn required(path: &Path, message: impl Into<String>) -> Self {
        Self::new(path, ErrorType::Required, Value::Null, message)
    }

    /// The value may not be there, or may not be changed.
    pub fn forbidden(path: &Path, message: impl Into<String>) -> Self {
        Self::new(path, ErrorType::Forbidden, Value::Null, message)
    }

    /// The value stands there twice.
    pub fn duplicate(path: &Path, value: impl Into<Value>) -> Self {
        Self::new(path, ErrorType::Duplicate, value.into(), "")
    }

    /// The value names something that is not there.
    pub fn not_found(path: &Path, value: impl Into<Value>, message: impl Into<String>) -> Self {
        Self::new(path, ErrorType::NotFound, value.into(), message)
    }

    /// The value is none of the known ones.
    pub fn not_supported(path: &Path, value: impl Into<Value>, supported: &[&str]) -> Self {
        let supported: Vec<String> = supported.iter().map(|value| format!("{value:?}")).collect();
        Self::new(path, ErrorType::NotSupported, value.into(), format!("supported values: {}", supported.join(", ")))
    }

    /// The value is longer than `max`.
    pub fn too_long(path: &Path, value: impl Into<Value>, max: usize) -> Self {
        Self::new(path, ErrorType::TooLong, value.into(), format!("may not be more than {max} characters"))
    }

    /// There are more than `max` of what the path names.
    pub fn too_many(path: &Path, actual: impl Into<Value>, message: impl Into<String>) -> Self {
        Self::new(path, ErrorType::TooMany, actual.into(), message)
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.type_.as_str())?;
        if self.type_.shows_value() {
            write!(f, ": {}", self.value)?;
        }
        if self.message.is_empty() { Ok(()) } else { write!(f, ": {}", self.message) }
    }
}

/// Several errors as Kubernetes prints them: one as it is, more in brackets.
pub fn aggregate(errors: &[FieldError]) -> String {
    match errors {
        [one] => one.to_string(),
        many => format!("[{}]", many.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    }
}
