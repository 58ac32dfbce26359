//! What is said when a request is refused: Kubernetes' `Status`, in the words of a real server.

use std::fmt;

use serde_json::{Value, json};

use crate::fields::path::quote;

/// A refusal. Its message is for people, the reason and the code for programs.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// The HTTP status.
    pub code: u16,
    /// The word programs look at, such as `NotFound`.
    pub reason: &'static str,
    /// What a person reads.
    pub message: String,
    /// `details`, if there are any.
    pub details: Option<Value>,
}

/// The kind of thing a refusal is about, as `details` name it.
#[derive(Debug, Clone, Copy)]
pub struct About<'a> {
    /// The API group; empty for the core group.
    pub group: &'a str,
    /// The plural in most messages, the kind in those about invalid objects.
    pub kind: &'a str,
    /// The object's name.
    pub name: &'a str,
}

/// One thing wrong with a field, in the words of a real server.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// What is wrong.
    pub what: What,
    /// Where, such as `spec.containers[0].name`.
    pub field: String,
    /// The offending value as it is shown; `None` where the words need none (`Required value`, `Forbidden`).
    pub value: Option<Value>,
    /// What would be right.
    pub detail: String,
}

/// Kinds of faults; each has its words and its reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// `Invalid value`
    Invalid,
    /// `Invalid value` of a wrong type
    TypeInvalid,
    /// `Required value`
    Required,
    /// `Duplicate value`
    Duplicate,
    /// `Unsupported value`
    NotSupported,
    /// `Forbidden`
    Forbidden,
    /// `Not found`
    NotFound,
    /// `Too long`
    TooLong,
    /// `Too many`
    TooMany,
    /// `Internal error`
    Internal,
}

impl What {
    /// The words in the message.
    pub fn words(self) -> &'static str {
        match self {
            What::Invalid | What::TypeInvalid => "Invalid value",
            What::Required => "Required value",
            What::Duplicate => "Duplicate value",
            What::NotSupported => "Unsupported value",
            What::Forbidden => "Forbidden",
            What::NotFound => "Not found",
            What::TooLong => "Too long",
            What::TooMany => "Too many",
            What::Internal => "Internal error",
        }
    }

    /// The word in `details.causes`.
    pub fn reason(self) -> &'static str {
        match self {
            What::Invalid => "FieldValueInvalid",
            What::TypeInvalid => "FieldValueTypeInvalid",
            What::Required => "FieldValueRequired",
            What::Duplicate => "FieldValueDuplicate",
            What::NotSupported => "FieldValueNotSupported",
            What::Forbidden => "FieldValueForbidden",
            What::NotFound => "FieldValueNotFound",
            What::TooLong => "FieldValueTooLong",
            What::TooMany => "FieldValueTooMany",
            What::Internal => "InternalError",
        }
    }
}

impl Fault {
    /// A fault that shows the offending value.
    pub fn of(what: What, field: impl Into<String>, value: Value, detail: impl Into<String>) -> Self {
        Self { what, field: field.into(), value: Some(value), detail: detail.into() }
    }

    /// A field that is missing.
    pub fn required(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { what: What::Required, field: field.into(), value: None, detail: detail.into() }
    }

    /// A field that may not be set or changed.
    pub fn forbidden(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { what: What::Forbidden, field: field.into(), value: None, detail: detail.into() }
    }

    /// The message without the field, as it stands in a cause.
    pub fn message(&self) -> String {
        let words = self.what.words();
        // A real server shows no value with these, whatever was given.
        let shown = match self.what {
            What::Required | What::Forbidden | What::TooLong | What::Internal => None,
            _ => self.value.as_ref(),
        };
        let mut message = match shown {
            Some(value) => format!("{words}: {value}"),
            None => words.to_owned(),
        };
        if !self.detail.is_empty() {
            message.push_str(": ");
            message.push_str(&self.detail);
        }
        message
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.field, self.message())
    }
}

impl fmt::Display for Status {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for Status {}

impl Status {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None }
    }

    fn about(mut self, about: About<'_>) -> Self {
        let mut details = serde_json::Map::new();
        for (key, value) in [("name", about.name), ("group", about.group), ("kind", about.kind)] {
            if !value.is_empty() {
                details.insert(key.to_owned(), value.into());
            }
        }
        self.details = Some(Value::Object(details));
        self
    }

    /// The resource with its group, as messages name it: `pods`, `gangs.example.com`.
    fn qualified(about: About<'_>) -> String {
        if about.group.is_empty() { about.kind.to_owned() } else { format!("{}.{}", about.kind, about.group) }
    }

    /// 404: there is no such object.
    pub fn not_found(about: About<'_>) -> Self {
        let message = format!("{} {} not found", Self::qualified(about), quote(about.name));
        Self::new(404, "NotFound", message).about(about)
    }

    /// 404 where the path leads nowhere.
    pub fn no_such_path() -> Self {
        Self {
            details: Some(json!({})),
            ..Self::new(404, "NotFound", "the server could not find the requested resource")
        }
    }

    /// 409: the name is taken.
    pub fn already_exists(about: About<'_>) -> Self {
        let message = format!("{} {} already exists", Self::qualified(about), quote(about.name));
        Self::new(409, "AlreadyExists", message).about(about)
    }

    /// 409: someone else was faster, or a precondition does not hold.
    pub fn conflict(about: About<'_>, why: &str) -> Self {
        let message =
            format!("Operation cannot be fulfilled on {} {}: {why}", Self::qualified(about), quote(about.name));
        Self::new(409, "Conflict", message).about(about)
    }

    /// 409 for a write on an old version of an object.
    pub fn modified(about: About<'_>) -> Self {
        Self::conflict(
            about,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    /// 422: the object breaks rules. `about.kind` is the kind here, not the plural.
    pub fn invalid(about: About<'_>, faults: &[Fault]) -> Self {
        // The same fault found twice is told once, and listed twice among the causes.
        let mut told: Vec<String> = Vec::new();
        for words in faults.iter().map(ToString::to_string) {
            if !told.contains(&words) {
                told.push(words);
            }
        }
        let all = match told.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let message = format!("{} {} is invalid: {all}", Self::qualified(about), quote(about.name));
        let mut status = Self::new(422, "Invalid", message).about(about);
        let causes: Vec<Value> = faults
            .iter()
            .map(|fault| json!({"reason": fault.what.reason(), "message": fault.message(), "field": fault.field}))
            .collect();
        status.set_causes(causes);
        status
    }

    /// Puts causes into the details.
    pub fn set_causes(&mut self, causes: Vec<Value>) {
        self.details.get_or_insert_with(|| json!({}))["causes"] = Value::Array(causes);
    }

    /// 400
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 401
    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// 403
    pub fn forbidden(about: About<'_>, why: &str) -> Self {
        let message = format!("{} {} is forbidden: {why}", Self::qualified(about), quote(about.name));
        Self::new(403, "Forbidden", message).about(about)
    }

    /// 405
    pub fn method_not_allowed() -> Self {
        let status =
            Self::new(405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
        Self { details: Some(json!({})), ..status }
    }

    /// 405 on a custom kind.
    pub fn not_supported(verb: &str, about: About<'_>) -> Self {
        let message = format!("{verb} is not supported on resources of kind \"{}\"", Self::qualified(about));
        Self::new(405, "MethodNotAllowed", message).about(About { name: "", ..about })
    }

    /// 406
    pub fn not_acceptable(accepted: &str) -> Self {
        let message = format!("406: Not Acceptable\n\nAvailable representations: {accepted}");
        Self { details: Some(json!({})), ..Self::new(406, "NotAcceptable", message) }
    }

    /// 410: a version is too old to go on from.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 413
    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(413, "RequestEntityTooLarge", message)
    }

    /// 415
    pub fn unsupported_media_type(message: impl Into<String>) -> Self {
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// 422 without faults of fields, as for patches that do not apply.
    pub fn unprocessable(message: impl Into<String>) -> Self {
        Self::new(422, "Invalid", message)
    }

    /// 429: a disruption budget stands in the way, say.
    pub fn too_many_requests(message: impl Into<String>) -> Self {
        Self::new(429, "TooManyRequests", message)
    }

    /// 500
    pub fn internal(message: impl fmt::Display) -> Self {
        let mut status = Self::new(500, "InternalError", format!("Internal error occurred: {message}"));
        status.set_causes(vec![json!({"message": message.to_string()})]);
        status
    }

    /// 504
    pub fn timeout(message: impl Into<String>) -> Self {
        Self::new(504, "Timeout", format!("Timeout: {}", message.into()))
    }

    /// A refusal made of its parts, for what the others do not say.
    pub fn other(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self::new(code, reason, message)
    }

    /// The `Status` object as it goes over the wire.
    pub fn to_json(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code,
        });
        if !self.reason.is_empty() {
            status["reason"] = self.reason.into();
        }
        if let Some(details) = &self.details {
            status["details"] = details.clone();
        }
        status
    }
}
