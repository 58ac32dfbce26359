//! Keeps others away from what the operator manages, where the configuration asks for it.
//!
//! The configuration of the webhook lets through only objects with the managed-by label, and not the operator itself.

use serde_json::Value;
use trellis_api::kinds::config::Authorizer;
use trellis_api::names::{annotation, label, osmo};

use super::live::{Live, in_time};
use super::review::{Request, Response};

/// Whether this user may do this to a managed object.
pub async fn judge(request: &Request, live: &Live, config: &Authorizer) -> Response {
    let exempt = config.exempt_service_account_user_names.contains(&request.user);
    let watched = matches!(request.operation.as_str(), "CREATE" | "UPDATE" | "DELETE");
    // Pods may be deleted by all: they come back, and evictions depend on it.
    let free = request.resource == "pods" && request.operation == "DELETE";
    if !config.enabled || exempt || !watched || free {
        return Response::allowed();
    }
    // What an object belongs to is read from what is there, not from what the request makes of it.
    let object = request.old().unwrap_or(&request.object);
    let (resource, name) = (&request.resource, &request.name);
    let Some(set) = object["metadata"]["labels"].get(label::PART_OF).and_then(Value::as_str) else {
        return Response::warned(format!("{resource} {name:?} has no label {} and is not protected", label::PART_OF));
    };
    // What workflows are made of is theirs to look after.
    if object["metadata"]["labels"].get(osmo::label::WORKFLOW).is_some() {
        return Response::allowed();
    }
    let found = match in_time(live.set_metadata(&request.namespace, set)).await {
        Ok(found) => found,
        Err(error) => return Response::unread(&error),
    };
    let Some(found) = found else {
        return Response::warned(format!("PodCliqueSet {set:?} of {resource} {name:?} is not there any more"));
    };
    let annotations = found.metadata.annotations.unwrap_or_default();
    let lifted = annotations.get(annotation::DISABLE_PROTECTION).is_some_and(|value| value == "true");
    // What belongs to a set that is going may go: the garbage collector does that.
    if lifted || found.metadata.deletion_timestamp.is_some() {
        return Response::allowed();
    }
    let doing = match request.operation.as_str() {
        "CREATE" => "create",
        "DELETE" => "delete",
        _ => "change",
    };
    Response::forbidden(format!(
        "{resource} {name:?} is managed by the operator for PodCliqueSet {set:?}, and {:?} may not {doing} it; change the \
         PodCliqueSet, or annotate it with {}=true",
        request.user,
        annotation::DISABLE_PROTECTION
    ))
}
