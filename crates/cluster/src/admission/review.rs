//! The question that a webhook is asked, and what its answer means.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

use super::Operation;
use super::hooks::Hook;
use crate::status::Status;
use crate::verbs::Call;

/// An `AdmissionReview`.
pub(crate) fn request(call: &Call, operation: Operation, object: Option<&Value>, old: Option<&Value>) -> Value {
    let mut request = attributes(call, operation, object, old);
    request["uid"] = call.api.entropy.uid().into();
    request["object"] = object.cloned().unwrap_or_default();
    request["oldObject"] = old.cloned().unwrap_or_default();
    json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})
}

/// What there is to know of a request, without the objects.
pub(crate) fn attributes(call: &Call, operation: Operation, object: Option<&Value>, old: Option<&Value>) -> Value {
    let resource = &call.resource;
    let kind = json!({"group": resource.group, "version": call.version, "kind": resource.kind});
    let plural = json!({"group": resource.group, "version": call.version, "resource": resource.plural});
    let options = match operation {
        Operation::Create => "CreateOptions",
        Operation::Update => "UpdateOptions",
        Operation::Delete => "DeleteOptions",
    };
    let name = object.or(old).and_then(|object| object["metadata"]["name"].as_str()).unwrap_or(&call.name);
    let mut attributes = json!({
        "kind": kind, "resource": plural, "requestKind": kind, "requestResource": plural,
        "name": name, "operation": operation.word(), "userInfo": call.user.to_json(),
        "dryRun": call.dry_run().unwrap_or(false),
        "options": {"kind": options, "apiVersion": "meta.k8s.io/v1"},
    });
    if let Some(namespace) = &call.namespace {
        attributes["namespace"] = namespace.clone().into();
    }
    if !call.subresource.is_empty() {
        attributes["subResource"] = call.subresource.clone().into();
        attributes["requestSubResource"] = call.subresource.clone().into();
    }
    attributes
}

/// Passes warnings on, and refuses what the webhook refuses.
pub(crate) fn judge(call: &Call, hook: &Hook, answer: &Value) -> Result<(), Status> {
    let response = &answer["response"];
    response["warnings"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .for_each(|warning| call.warn(warning));
    if response["allowed"] == true {
        return Ok(());
    }
    let result = &response["status"];
    let denied = format!("admission webhook {:?} denied the request", hook.name);
    let message = match (result["message"].as_str(), result["reason"].as_str()) {
        (Some(message), _) if !message.is_empty() => format!("{denied}: {message}"),
        (_, Some(reason)) if !reason.is_empty() => format!("{denied}: {reason}"),
        _ => format!("{denied} without explanation"),
    };
    let code =
        result["code"].as_u64().and_then(|code| u16::try_from(code).ok()).filter(|&code| code >= 400).unwrap_or(400);
    let mut status = Status::other(code, known_reason(result["reason"].as_str().unwrap_or_default()), message);
    status.details = result.get("details").cloned();
    Err(status)
}

/// A webhook's reason, as far as programs know it.
fn known_reason(reason: &str) -> &'static str {
    const KNOWN: [&str; 12] = [
        "Unauthorized",
        "Forbidden",
        "NotFound",
        "AlreadyExists",
        "Conflict",
        "Gone",
        "Invalid",
        "Timeout",
        "TooManyRequests",
        "BadRequest",
        "MethodNotAllowed",
        "InternalError",
    ];
    KNOWN.into_iter().find(|&known| known == reason).unwrap_or_default()
}

/// The patch in an answer.
pub(crate) fn patch(hook: &Hook, answer: &Value) -> Result<Option<Value>, Status> {
    let response = &answer["response"];
    let Some(encoded) = response["patch"].as_str().filter(|patch| !patch.is_empty()) else { return Ok(None) };
    let bad = |why: &str| Status::internal(format!("failed calling webhook {:?}: {why}", hook.name));
    if response["patchType"] != "JSONPatch" {
        return Err(bad("webhook returned response.patch but not response.patchType \"JSONPatch\""));
    }
    let bytes = BASE64.decode(encoded).map_err(|error| bad(&error.to_string()))?;
    serde_json::from_slice(&bytes).map(Some).map_err(|error| bad(&error.to_string()))
}
