//! What a service needs beside its fields: an address, and ports on nodes.

use serde_json::{Map, Value, json};

use super::reach::{at, fill, list, map_mut, members_mut, put, text, truth};

/// Gives a service the address of the cluster and the fields that go with it. Addresses stay what they were for those who do not mention
/// them; `address` is asked where a new one is wanted.
pub fn give_address(service: &mut Value, old: Option<&Value>, address: impl FnOnce() -> String) {
    let Some(spec) = map_mut(service, "spec") else { return };
    if spec.get("type").is_some_and(|kind| kind == "ExternalName") {
        return;
    }
    if let Some(old) = old.filter(|old| needs_address(old)) {
        for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            if let Some(value) = old["spec"].get(field) {
                fill(spec, field, value.clone());
            }
        }
    }
    if let Some(old) = old {
        // Whoever changes the one address by its old name means the first of all.
        let (one, all) = (spec.get("clusterIP").cloned(), spec.get("clusterIPs").cloned());
        if one.is_some()
            && one.as_ref() != old["spec"].get("clusterIP")
            && all.as_ref() == old["spec"].get("clusterIPs")
        {
            put(spec, "clusterIPs", one.map(|one| json!([one])));
        }
    }
    let given = spec.get("clusterIP").or_else(|| spec.get("clusterIPs").map(|all| &all[0]));
    let chosen = given.and_then(Value::as_str).filter(|given| !given.is_empty()).map(ToOwned::to_owned);
    let chosen = chosen.unwrap_or_else(address);
    // Nobody knows what is behind a service that has neither an address nor a selector.
    let open = chosen == "None" && !spec.contains_key("selector");
    fill(spec, "clusterIPs", json!([chosen]));
    put(spec, "clusterIP", Some(chosen.into()));
    if open {
        fill(spec, "ipFamilyPolicy", "RequireDualStack");
    }
    let both = spec.get("ipFamilyPolicy").is_some_and(|policy| policy == "RequireDualStack");
    fill(spec, "ipFamilies", if both { json!(["IPv4", "IPv6"]) } else { json!(["IPv4"]) });
    fill(spec, "ipFamilyPolicy", "SingleStack");
}

/// Gives the ports of a service their ports on nodes, where its type wants them; `port` is asked for each.
pub fn give_node_ports(service: &mut Value, old: Option<&Value>, mut port: impl FnMut() -> i64) {
    if !needs_node_ports(service) {
        return;
    }
    let before = old.map(|old| list(old, "spec.ports").to_vec()).unwrap_or_default();
    for new in members_mut(service, "spec.ports") {
        let same = |old: &&Value| ["port", "protocol"].iter().all(|field| new.get(*field) == old.get(*field));
        let kept = before.iter().find(same).and_then(|old| old.get("nodePort")).cloned();
        if !new.contains_key("nodePort") {
            new.insert("nodePort".to_owned(), kept.unwrap_or_else(|| port().into()));
        }
    }
}

fn needs_address(service: &Value) -> bool {
    matches!(text(service, "spec.type"), "ClusterIP" | "NodePort" | "LoadBalancer")
}

fn needs_node_ports(service: &Value) -> bool {
    match text(service, "spec.type") {
        "NodePort" => true,
        "LoadBalancer" => {
            at(service, "spec.allocateLoadBalancerNodePorts").is_null()
                || truth(service, "spec.allocateLoadBalancerNodePorts")
        }
        _ => false,
    }
}

fn is_reached_from_outside(service: &Value) -> bool {
    match text(service, "spec.type") {
        "NodePort" | "LoadBalancer" => true,
        "ClusterIP" => !list(service, "spec.externalIPs").is_empty(),
        _ => false,
    }
}

/// Takes out of a changed service what the server had chosen for its old type and the client did not touch.
pub fn forget_what_no_longer_applies(service: &mut Value, old: &Value) {
    let is = |service: &Value, kind: &str| text(service, "spec.type") == kind;
    let mut gone: Vec<&str> = Vec::new();
    if needs_address(old) && !needs_address(service) {
        gone.extend(["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"]);
    }
    if is(old, "LoadBalancer") && !is(service, "LoadBalancer") {
        gone.extend(["allocateLoadBalancerNodePorts", "loadBalancerClass"]);
    }
    if is_reached_from_outside(old) && !is_reached_from_outside(service) {
        gone.push("externalTrafficPolicy");
    }
    let ports: Vec<Value> = list(old, "spec.ports").iter().map(|port| port["nodePort"].clone()).collect();
    let same_ports = list(service, "spec.ports").iter().map(|port| &port["nodePort"]).eq(&ports);
    if needs_node_ports(old) && !needs_node_ports(service) && same_ports {
        members_mut(service, "spec.ports").for_each(|port| drop(port.remove("nodePort")));
    }
    let balanced = is(service, "LoadBalancer");
    if let Some(spec) = map_mut(service, "spec") {
        let untouched = |spec: &Map<String, Value>, field: &str| spec.get(field) == old["spec"].get(field);
        for field in gone {
            if untouched(spec, field) {
                spec.remove(field);
            }
        }
    }
    if !balanced && let Some(status) = map_mut(service, "status") {
        status.insert("loadBalancer".to_owned(), json!({}));
    }
}
