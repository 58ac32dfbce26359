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
    let own = object.or(old).map(|object| (object["apiVersion"].as_str(), object["kind"].as_str()));
    // What goes to a subresource may be of another kind.
    let kind = match own {
        Some((Some(api_version), Some(kind))) => {
            let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
            json!({"group": group, "version": version, "kind": kind})
        }
        _ => json!({"group": resource.group, "version": call.version, "kind": resource.kind}),
    };
    let plural = json!({"group": resource.group, "version": call.version, "resource": resource.plural});
    let name = object.or(old).and_then(|object| object["metadata"]["name"].as_str()).unwrap_or(&call.name);
    let mut attributes = json!({
        "kind": kind, "resource": plural, "requestKind": kind, "requestResource": plural,
        "name": name, "operation": operation.word(), "userInfo": call.user.to_json(),
        "dryRun": call.dry_run().unwrap_or(false),
        "options": options(call, operation),
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

/// An object on its way to be made, before it has what only the server gives.
pub(crate) fn unborn(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("uid");
        metadata.remove("creationTimestamp");
    }
    object
}

/// The options of a request, as far as they are given.
fn options(call: &Call, operation: Operation) -> Value {
    let query = &call.query;
    let kind = match operation {
        Operation::Create => "CreateOptions",
        Operation::Update => "UpdateOptions",
        Operation::Delete => "DeleteOptions",
    };
    let mut options = json!({"kind": kind, "apiVersion": "meta.k8s.io/v1"});
    if call.dry_run().unwrap_or(false) {
        options["dryRun"] = json!(["All"]);
    }
    let given = match operation {
        Operation::Delete => [
            ("gracePeriodSeconds", query.grace_seconds.map(Value::from)),
            ("propagationPolicy", query.propagation.clone().map(Value::from)),
        ],
        _ => [
            ("fieldManager", query.field_manager.clone().map(Value::from)),
            ("fieldValidation", query.field_validation.clone().map(Value::from)),
        ],
    };
    for (name, value) in given {
        if let Some(value) = value {
            options[name] = value;
        }
    }
    options
}

/// Passes warnings on, and refuses what the webhook refuses.
pub(crate) fn judge(call: &Call, hook: &Hook, answer: &Value) -> Result<(), Status> {
    let response = &answer["response"];
    for warning in response["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !call.warnings().iter().any(|known| known == warning) {
            call.warn(warning);
        }
    }
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
    let encoded = response["patch"].as_str().unwrap_or_default();
    match (encoded.is_empty(), response["patchType"].as_str()) {
        (true, None) => return Ok(None),
        (true, Some(_)) => return Err(hook.invalid("webhook returned response.patchType but not response.patch")),
        (false, None) => return Err(hook.invalid("webhook returned response.patch but not response.patchType")),
        (false, Some(_)) => {}
    }
    let undecodable =
        |why: &dyn std::fmt::Display| hook.failure(&format!("received undecodable patch in webhook response: {why}"));
    let bytes = BASE64.decode(encoded).map_err(|error| undecodable(&error))?;
    let patch: Value = serde_json::from_slice(&bytes).map_err(|error| undecodable(&error))?;
    if response["patchType"] != "JSONPatch" {
        return Err(hook.failure(&format!("unsupported patch type {}", response["patchType"])));
    }
    Ok(Some(patch))
}
