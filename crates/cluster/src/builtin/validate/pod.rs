//! What is refused of pods as they are made.

use serde_json::Value;

use super::{Findings, affinity, container, scheduling, security, volume};
use crate::builtin::metadata::label_faults;
use crate::builtin::quantity::Quantity;
use crate::builtin::reach::{at, entries, list, number, text, truth};
use crate::builtin::{inside, names};

/// A new pod.
pub fn create(pod: &Value, found: &mut Findings) {
    spec(pod, found);
    if !list(pod, "spec.ephemeralContainers").is_empty() {
        found.forbidden("spec.ephemeralContainers", "cannot be set on create");
    }
    if !text(pod, "spec.nodeName").is_empty() && !list(pod, "spec.schedulingGates").is_empty() {
        found.forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared");
    }
}

/// A binding of a pod to a node.
pub fn binding(binding: &Value, found: &mut Findings) {
    let kind = text(binding, "target.kind");
    if !kind.is_empty() && kind != "Node" {
        found.unsupported("target.kind", kind, &["Node", "<empty>"]);
    }
    if text(binding, "target.name").is_empty() {
        found.required("target.name", "");
    }
}

/// The spec of a pod, new or changed.
pub fn spec(pod: &Value, found: &mut Findings) {
    let spec = &pod["spec"];
    volume::all(pod, found);
    claims(spec, found);
    container::all(spec, found);
    whole_resources(spec, found);
    host_ports(spec, found);
    found.one_of("spec.restartPolicy", text(spec, "restartPolicy"), &["Always", "OnFailure", "Never"]);
    let policies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    found.one_of("spec.dnsPolicy", text(spec, "dnsPolicy"), &policies);
    label_faults(&spec["nodeSelector"], "spec.nodeSelector", &mut found.faults);
    security::of_pod(spec, found);
    affinity::judge(&spec["affinity"], "spec.affinity", found);
    dns(spec, found);
    for (at, gate) in list(spec, "readinessGates").iter().enumerate() {
        let kind = text(gate, "conditionType");
        found.each(&format!("spec.readinessGates[{at}].conditionType"), kind, names::qualified(kind));
    }
    scheduling::gates(spec, found);
    scheduling::spread(spec, found);
    found.subdomain("spec", spec, "serviceAccountName");
    found.subdomain("spec", spec, "nodeName");
    if let Some(seconds) = spec["activeDeadlineSeconds"].as_i64()
        && !(1..=i64::from(i32::MAX)).contains(&seconds)
    {
        found.invalid("spec.activeDeadlineSeconds", seconds, "must be between 1 and 2147483647, inclusive");
    }
    for field in ["hostname", "subdomain"] {
        let name = text(spec, field);
        if !name.is_empty() {
            found.label(&format!("spec.{field}"), name);
        }
    }
    scheduling::tolerations(spec, found);
    for (index, alias) in list(spec, "hostAliases").iter().enumerate() {
        let path = format!("spec.hostAliases[{index}]");
        if text(alias, "ip").parse::<std::net::IpAddr>().is_err() {
            let detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
            found.invalid(&format!("{path}.ip"), text(alias, "ip"), detail);
        }
        for (index, name) in list(alias, "hostnames").iter().enumerate() {
            let name = name.as_str().unwrap_or_default();
            found.each(&format!("{path}.hostnames[{index}]"), name, names::subdomain(name, "characters"));
        }
    }
    found.subdomain("spec", spec, "priorityClassName");
    found.subdomain("spec", spec, "runtimeClassName");
    if let Some(policy) = spec["preemptionPolicy"].as_str() {
        found.one_of("spec.preemptionPolicy", policy, &["PreemptLowerPriority", "Never"]);
    }
    for (name, amount) in entries(spec, "overhead") {
        container::amount(name, amount, &format!("spec.overhead.limits[{name}]"), found);
    }
    if let Some(os) = spec["os"].as_object() {
        let name = os.get("name").and_then(Value::as_str).unwrap_or_default();
        match name {
            "" => found.required("spec.os.name", ""),
            "linux" | "windows" => {}
            name => found.unsupported("spec.os", name, &["linux", "windows"]),
        }
    }
    container::images(spec, found);
    tokens(spec, found);
}

fn tokens(spec: &Value, found: &mut Findings) {
    if !text(spec, "serviceAccountName").is_empty() {
        return;
    }
    for (at, volume) in list(spec, "volumes").iter().enumerate() {
        for (source, projection) in list(volume, "projected.sources").iter().enumerate() {
            if !projection["serviceAccountToken"].is_null() {
                let field = format!("spec.volumes[{at}].projected.sources[{source}].serviceAccountToken");
                found.forbidden(&field, "must not be specified when serviceAccountName is not set");
            }
        }
    }
}

fn claims(spec: &Value, found: &mut Findings) {
    let mut names: Vec<&str> = Vec::new();
    for (at, claim) in list(spec, "resourceClaims").iter().enumerate() {
        let field = format!("spec.resourceClaims[{at}]");
        let name = text(claim, "name");
        if names.contains(&name) && !name.is_empty() {
            found.duplicate(&format!("{field}.name"), name);
        } else {
            found.label(&format!("{field}.name"), name);
            names.push(name);
        }
        let given = ["resourceClaimName", "resourceClaimTemplateName"].map(|source| !claim[source].is_null());
        match given {
            [true, true] => {
                let detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified";
                found.shown(&field, &inside::compact("PodResourceClaim", claim), detail);
            }
            [false, false] => {
                let detail = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`";
                found.shown(&field, &inside::compact("PodResourceClaim", claim), detail);
            }
            _ => {}
        }
        for source in ["resourceClaimName", "resourceClaimTemplateName"] {
            found.subdomain(&field, claim, source);
        }
    }
}

/// Requests and limits of the pod as a whole.
fn whole_resources(spec: &Value, found: &mut Findings) {
    let resources = &spec["resources"];
    if !list(resources, "claims").is_empty() {
        found.forbidden("spec.resources.claims", "claims may not be set for Resources at pod-level");
    }
    for field in ["limits", "requests"] {
        for (name, amount) in entries(resources, field) {
            let path = format!("spec.resources.{field}[{name}]");
            if container::unknown_resource(name, &path, found) {
                continue;
            }
            if !(matches!(name.as_str(), "cpu" | "memory") || name.starts_with("hugepages-")) {
                found.unsupported(&path, name, &["cpu", "hugepages-", "memory"]);
            }
            container::amount(name, amount, &path, found);
            if field == "requests" {
                container::request_fits(resources, "spec.resources", name, amount, found);
            }
        }
    }
    for (name, whole) in entries(resources, "requests") {
        let sum = list(spec, "containers").iter().filter_map(|part| Quantity::of(&part["resources"]["requests"][name]));
        if let (Some(sum), Some(whole)) = (sum.reduce(Quantity::plus), Quantity::of(whole))
            && whole < sum
        {
            let detail = format!("must be greater than or equal to aggregate container requests of {sum}");
            found.invalid(&format!("spec.resources.requests[{name}]"), whole.to_string(), detail);
        }
    }
}

fn host_ports(spec: &Value, found: &mut Findings) {
    if !truth(spec, "hostNetwork") {
        return;
    }
    for (at, container) in list(spec, "containers").iter().enumerate() {
        for (index, port) in list(container, "ports").iter().enumerate() {
            let host = number(port, "hostPort");
            if host != number(port, "containerPort") {
                let field = format!("spec.containers[{at}].ports[{index}].hostPort");
                found.invalid(&field, host, "must match `containerPort` when `hostNetwork` is true");
            }
        }
    }
}

fn dns(spec: &Value, found: &mut Findings) {
    let none = text(spec, "dnsPolicy") == "None";
    if none && at(spec, "dnsConfig").is_null() {
        found.required("spec.dnsConfig", "must provide `dnsConfig` when `dnsPolicy` is None");
    } else if none && list(spec, "dnsConfig.nameservers").is_empty() {
        found.required(
            "spec.dnsConfig.nameservers",
            "must provide at least one DNS nameserver when `dnsPolicy` is None",
        );
    }
}
