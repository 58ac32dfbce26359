//! Events about what the controllers did, for people who ask `kubectl describe`.

use serde_json::{Value, json};

use super::objects;
use crate::api::Api;
use crate::store::Key;

/// Where events about objects without a namespace are.
const DEFAULT_NAMESPACE: &str = "default";

/// Records an event about an object, which has its `apiVersion` and `kind`. Events are a courtesy: one that fails is no one's trouble.
pub(super) async fn tell(api: &Api, controller: &str, about: &Value, kind: &str, reason: &str, message: &str) {
    let metadata = &about["metadata"];
    let namespace = metadata["namespace"].as_str().unwrap_or(DEFAULT_NAMESPACE);
    let moment = api.clock.now().as_nanosecond() + i128::from(api.store.revision());
    let name = format!("{}.{moment:x}", metadata["name"].as_str().unwrap_or_default());
    let mut involved = json!({
        "apiVersion": about["apiVersion"], "kind": about["kind"], "name": metadata["name"], "uid": metadata["uid"],
    });
    if !metadata["namespace"].is_null() {
        involved["namespace"] = metadata["namespace"].clone();
        involved["resourceVersion"] = metadata["resourceVersion"].clone();
    }
    let now = api.clock.stamp();
    let event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": namespace}, "involvedObject": involved,
        "reason": reason, "message": message, "type": kind, "count": 1, "firstTimestamp": now, "lastTimestamp": now,
        "source": {"component": controller}, "reportingComponent": controller,
    });
    let key = Key { namespace: namespace.to_owned(), name };
    let Some(call) = objects::call(api, controller, objects::EVENTS, &key) else { return };
    if let Err(status) = call.create(event, Vec::new()).await {
        tracing::debug!(%status, reason, "an event was not recorded");
    }
}
