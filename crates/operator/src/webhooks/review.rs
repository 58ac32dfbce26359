//! The question of an API server, read from an `AdmissionReview`, and the answer, written as one.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};
use trellis_api::admission::Verdict;
use trellis_api::field;

use super::live::Unread;

const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// What is about to happen.
#[derive(Debug)]
pub struct Request {
    uid: String,
    /// `CREATE`, `UPDATE` or `DELETE`.
    pub operation: String,
    /// Empty for what lives in no namespace.
    pub namespace: String,
    /// Empty where the server has still to generate it.
    pub name: String,
    /// Plural name of the kind.
    pub resource: String,
    /// Empty for the object itself.
    pub sub_resource: String,
    /// Who asks.
    pub user: String,
    /// The object as it would be stored; null for a deletion.
    pub object: Value,
    /// The object as it is; null for a creation.
    pub old: Value,
}

impl Request {
    /// Reads a review; what is none is told in words.
    pub fn read(body: &[u8]) -> Result<Self, String> {
        let review: Value = serde_json::from_slice(body).map_err(|error| format!("the body is no JSON: {error}"))?;
        if review["kind"] != KIND || review["apiVersion"] != API_VERSION {
            let (kind, version) = (&review["kind"], &review["apiVersion"]);
            return Err(format!("the body is {kind} of {version}, not {KIND} of {API_VERSION}"));
        }
        let request = &review["request"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let uid = text(&request["uid"]);
        if uid.is_empty() {
            return Err("the review has no request.uid".to_owned());
        }
        let namespace = text(&request["namespace"]);
        let object = |field: &str| {
            let mut object = request[field].clone();
            tidy(&mut object, &namespace);
            object
        };
        let (new, old) = (object("object"), object("oldObject"));
        Ok(Self {
            uid,
            operation: text(&request["operation"]),
            name: text(&request["name"]),
            resource: text(&request["resource"]["resource"]),
            sub_resource: text(&request["subResource"]),
            user: text(&request["userInfo"]["username"]),
            object: new,
            old,
            namespace,
        })
    }

    /// The object as it is, if there is one.
    pub fn old(&self) -> Option<&Value> {
        Some(&self.old).filter(|old| old.is_object())
    }
}

/// Metadata are the server's affair: fields that it has learnt since this was built are no fault of the object. The namespace is that
/// of the request, whether it is written or not.
fn tidy(object: &mut Value, namespace: &str) {
    let Some(metadata) = object.get_mut("metadata") else { return };
    if let Some(fields) = metadata.as_object_mut() {
        fields.remove("managedFields");
        if !namespace.is_empty() {
            fields.insert("namespace".to_owned(), namespace.into());
        }
    }
    if let Ok(known) = serde_json::from_value::<ObjectMeta>(metadata.clone())
        && let Ok(known) = serde_json::to_value(known)
    {
        *metadata = known;
    }
}

/// What the server is told.
#[derive(Debug, Default, PartialEq)]
pub struct Response {
    /// Code, reason and message, if it is refused.
    refused: Option<(u16, &'static str, String)>,
    warnings: Vec<String>,
    patch: Option<Value>,
}

impl Response {
    /// Nothing speaks against it.
    pub fn allowed() -> Self {
        Self::default()
    }

    /// Allowed, with something to think about.
    pub fn warned(warning: String) -> Self {
        Self { warnings: vec![warning], ..Self::default() }
    }

    /// It may not be.
    pub fn forbidden(message: String) -> Self {
        Self { refused: Some((403, "Forbidden", message)), ..Self::default() }
    }

    /// It cannot be judged, and what cannot be judged is not let in.
    pub fn unread(error: &Unread) -> Self {
        let message = format!("it could not be judged: {error}; try again");
        Self { refused: Some((500, "InternalError", message)), ..Self::default() }
    }

    /// Allowed after these changes.
    pub fn patched(patch: &json_patch::Patch, warnings: Vec<String>) -> Self {
        let patch = Some(patch).filter(|patch| !patch.0.is_empty()).and_then(|patch| serde_json::to_value(patch).ok());
        Self { patch, warnings, refused: None }
    }

    /// Why it is refused, if it is.
    pub fn refusal(&self) -> Option<&str> {
        self.refused.as_ref().map(|(_, _, message)| message.as_str())
    }

    /// The review that goes back.
    pub fn into_review(self, request: &Request) -> Value {
        let mut response = json!({"uid": request.uid, "allowed": self.refused.is_none()});
        if let Some((code, reason, message)) = self.refused {
            response["status"] = json!({"code": code, "reason": reason, "message": message});
        }
        if !self.warnings.is_empty() {
            response["warnings"] = self.warnings.into();
        }
        if let Some(patch) = self.patch {
            response["patchType"] = "JSONPatch".into();
            response["patch"] = BASE64.encode(patch.to_string()).into();
        }
        json!({"apiVersion": API_VERSION, "kind": KIND, "response": response})
    }
}

impl From<Verdict> for Response {
    fn from(verdict: Verdict) -> Self {
        let mut response = match verdict.allowed() {
            true => Self::allowed(),
            false => Self::forbidden(field::aggregate(&verdict.errors)),
        };
        response.warnings = verdict.warnings;
        response
    }
}
