//! What is filled in services.

use serde_json::{Map, Value, json};

use crate::builtin::reach::{fill, members_mut};

/// A service with everything that does not need an address or a port to be found.
pub fn complete(object: &mut Map<String, Value>) {
    let Some(spec) = object.get_mut("spec") else { return };
    for port in members_mut(spec, "ports") {
        let number = port.get("port").cloned().unwrap_or_else(|| 0.into());
        let target = port.get("targetPort");
        if target.is_none_or(|target| target == 0 || target == "") {
            port.insert("targetPort".to_owned(), number);
        }
    }
    let Some(spec) = spec.as_object_mut() else { return };
    fill(spec, "sessionAffinity", "None");
    fill(spec, "type", "ClusterIP");
    let is = |spec: &Map<String, Value>, field: &str, value: &str| spec.get(field).is_some_and(|given| given == value);
    if is(spec, "sessionAffinity", "None") {
        spec.remove("sessionAffinityConfig");
    }
    if is(spec, "sessionAffinity", "ClientIP")
        && spec.get("sessionAffinityConfig").is_none_or(|config| config["clientIP"]["timeoutSeconds"].is_null())
    {
        spec.insert("sessionAffinityConfig".to_owned(), json!({"clientIP": {"timeoutSeconds": 10800}}));
    }
    let balanced = is(spec, "type", "LoadBalancer");
    let inside = balanced || is(spec, "type", "NodePort") || is(spec, "type", "ClusterIP");
    let outside = balanced
        || is(spec, "type", "NodePort")
        || (is(spec, "type", "ClusterIP")
            && spec.get("externalIPs").and_then(Value::as_array).is_some_and(|ips| !ips.is_empty()));
    if outside {
        fill(spec, "externalTrafficPolicy", "Cluster");
    }
    if inside {
        fill(spec, "internalTrafficPolicy", "Cluster");
    }
    if balanced {
        fill(spec, "allocateLoadBalancerNodePorts", true);
        if let Some(status) = object.get_mut("status") {
            for ingress in members_mut(status, "loadBalancer.ingress").filter(|ingress| ingress.contains_key("ip")) {
                fill(ingress, "ipMode", "VIP");
            }
        }
    }
}
