//! Objects as controllers see and change them.

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::api::Api;
use crate::clock::Clock;
use crate::status::Status;
use crate::store::{Key, Object};
use crate::verbs::Call;
use crate::verbs::metadata::is_deleting;
use crate::verbs::wanted::Rewrite;

pub(super) const ACCOUNTS: &str = "serviceaccounts";
pub(super) const AUTOSCALERS: &str = "horizontalpodautoscalers.autoscaling";
pub(super) const BUDGETS: &str = "poddisruptionbudgets.policy";
pub(super) const EVENTS: &str = "events";
pub(super) const LEASES: &str = "leases.coordination.k8s.io";
pub(super) const NAMESPACES: &str = "namespaces";
pub(super) const NODES: &str = "nodes";
pub(super) const PODS: &str = "pods";

/// The name under which the controllers of a real cluster write, as managed fields show it.
pub(super) const MANAGER: &str = "kube-controller-manager";

/// A call about an object by one of the controllers.
pub(super) fn call(api: &Api, controller: &str, shelf: &str, key: &Key) -> Option<Call> {
    let mut call = super::call(api, controller, &shelf.into(), &key.namespace, &key.name)?;
    MANAGER.clone_into(&mut call.agent);
    Some(call)
}

/// A built-in object as data.
pub(super) fn read(object: &Object) -> Value {
    object.value("", "")
}

/// Whether an object is being deleted.
pub(super) fn is_going(object: &Object) -> bool {
    is_deleting(&read(object))
}

/// The condition of a type.
pub(super) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    object["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == kind)
}

/// Whether the condition of a type is true.
pub(super) fn is_true(object: &Value, kind: &str) -> bool {
    condition(object, kind).is_some_and(|condition| condition["status"] == "True")
}

/// A time stamp.
pub(super) fn time(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

/// When the runtime's clock will stand where this one stands at `time`; at once if that is past.
pub(super) fn instant(clock: Clock, time: Timestamp) -> Instant {
    let wait = time.duration_since(clock.now());
    Instant::now() + std::time::Duration::try_from(wait).unwrap_or_default()
}

/// Puts an object in the place of the one that it was made from. Who was faster caused news that lead here again.
pub(super) async fn put(call: &Call, object: Value) -> Result<(), Status> {
    faster(call.rewrite(&Rewrite::Put(object)).await.map(drop))
}

/// Nothing is left to do for an object that moved or went meanwhile: there are news about it.
pub(super) fn faster(result: Result<(), Status>) -> Result<(), Status> {
    match result {
        Err(status) if matches!(status.reason, "Conflict" | "NotFound") => Ok(()),
        other => other,
    }
}

/// Says in a pod's status that it is the target of a disruption, before it is deleted, and with `failed` that it runs no more.
pub(super) async fn disrupt(call: &Call, pod: &Value, why: Option<(&str, &str)>, failed: bool) -> Result<(), Status> {
    let generation = &pod["metadata"]["generation"];
    let mut status = json!({});
    if let Some((reason, message)) = why {
        let known = condition(pod, "DisruptionTarget").filter(|known| known["status"] == "True");
        let since = known.map_or_else(|| call.api.clock.stamp().into(), |known| known["lastTransitionTime"].clone());
        status["conditions"] = json!([{
            "type": "DisruptionTarget", "status": "True", "reason": reason, "message": message,
            "lastProbeTime": null, "lastTransitionTime": since, "observedGeneration": generation,
        }]);
    }
    if failed {
        status["phase"] = "Failed".into();
        status["observedGeneration"] = generation.clone();
    }
    let patch = json!({"metadata": {"uid": pod["metadata"]["uid"]}, "status": status});
    faster(call.rewrite(&Rewrite::Strategic(patch)).await.map(drop))
}
