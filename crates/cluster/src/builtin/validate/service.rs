//! What is refused of services.

use serde_json::Value;

use super::Findings;
use crate::builtin::metadata::label_faults;
use crate::builtin::names;
use crate::builtin::reach::{at, list, number, text};

/// A service, new or changed.
pub fn judge(new: &Value, old: Option<&Value>, found: &mut Findings) {
    if let Some(old) = old {
        addresses(new, old, found);
    }
    let spec = &new["spec"];
    let kind = text(spec, "type");
    let headless = text(spec, "clusterIP") == "None";
    let ports = list(spec, "ports");
    if ports.is_empty() && !headless && kind != "ExternalName" {
        found.required("spec.ports", "");
    }
    if kind == "LoadBalancer" && headless {
        found.invalid("spec.clusterIPs[0]", "None", "may not be set to 'None' for LoadBalancer services");
    }
    if kind == "NodePort" && headless {
        found.invalid("spec.clusterIPs[0]", "None", "may not be set to 'None' for NodePort services");
    }
    if kind == "ExternalName" {
        if !text(spec, "clusterIP").is_empty() {
            found.forbidden("spec.clusterIPs", "may not be set for ExternalName services");
        }
        external_name(text(spec, "externalName"), found);
    }
    for (index, address) in list(spec, "clusterIPs").iter().enumerate() {
        let address = address.as_str().unwrap_or_default();
        if address != "None" && address.parse::<std::net::IpAddr>().is_err() {
            let detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
            found.invalid(&format!("spec.clusterIPs[{index}]"), address, detail);
        }
    }
    let mut names: Vec<&str> = Vec::new();
    for (index, port) in ports.iter().enumerate() {
        one_port(port, ports.len() > 1, &mut names, &format!("spec.ports[{index}]"), found);
    }
    label_faults(&spec["selector"], "spec.selector", &mut found.faults);
    found.one_of("spec.sessionAffinity", text(spec, "sessionAffinity"), &["ClientIP", "None"]);
    if text(spec, "sessionAffinity") == "ClientIP" {
        let seconds = number(spec, "sessionAffinityConfig.clientIP.timeoutSeconds");
        if !(1..=86400).contains(&seconds) {
            let detail = "must be greater than 0 and less than 86400";
            found.invalid("spec.sessionAffinityConfig.clientIP.timeoutSeconds", seconds, detail);
        }
    }
    found.one_of("spec.type", kind, &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]);
    duplicates(ports, found);
    if kind == "ClusterIP" || kind == "ExternalName" {
        for (index, _) in ports.iter().enumerate().filter(|(_, port)| number(port, "nodePort") != 0) {
            let detail = format!("may not be used when `type` is '{kind}'");
            found.forbidden(&format!("spec.ports[{index}].nodePort"), detail);
        }
    }
}

/// The status of a service.
pub fn status(new: &Value, found: &mut Findings) {
    if text(new, "spec.type") != "LoadBalancer" && !list(new, "status.loadBalancer.ingress").is_empty() {
        found.forbidden("status.loadBalancer.ingress", "may only be used when `spec.type` is 'LoadBalancer'");
    }
}

fn one_port<'a>(port: &'a Value, named: bool, names: &mut Vec<&'a str>, path: &str, found: &mut Findings) {
    let name = text(port, "name");
    if named && name.is_empty() {
        found.required(&format!("{path}.name"), "");
    } else if !name.is_empty() {
        found.label(&format!("{path}.name"), name);
        if names.contains(&name) {
            found.duplicate(&format!("{path}.name"), name);
        } else {
            names.push(name);
        }
    }
    found.port(&format!("{path}.port"), &port["port"]);
    found.one_of(&format!("{path}.protocol"), text(port, "protocol"), &["SCTP", "TCP", "UDP"]);
    found.port(&format!("{path}.targetPort"), &port["targetPort"]);
    if let Some(protocol) = port["appProtocol"].as_str() {
        found.each(&format!("{path}.appProtocol"), protocol, names::qualified(protocol));
    }
}

/// No two ports have the same number and protocol.
fn duplicates(ports: &[Value], found: &mut Findings) {
    for (index, port) in ports.iter().enumerate() {
        let key = |port: &Value| (number(port, "port"), text(port, "protocol").to_owned());
        if ports[..index].iter().any(|other| key(other) == key(port)) {
            let shown = format!(
                "{{\"Name\":\"\",\"Protocol\":{},\"AppProtocol\":null,\"Port\":{},\"TargetPort\":0,\"NodePort\":0}}",
                port["protocol"], port["port"]
            );
            let what = crate::status::What::Duplicate;
            let field = format!("spec.ports[{index}]");
            found.faults.push(crate::status::Fault { what, field, value: None, detail: shown });
        }
    }
}

fn external_name(name: &str, found: &mut Findings) {
    if name.is_empty() {
        found.required("spec.externalName", "");
    } else {
        let name = name.strip_suffix('.').unwrap_or(name);
        found.each("spec.externalName", name, names::subdomain(name, "characters"));
    }
}

/// An address of the cluster stays once it is given.
fn addresses(new: &Value, old: &Value, found: &mut Findings) {
    if text(new, "spec.type") == "ExternalName" || text(old, "spec.type") == "ExternalName" {
        return;
    }
    let (now, before) = (list(new, "spec.clusterIPs"), list(old, "spec.clusterIPs"));
    if let (Some(now_first), Some(before_first)) = (now.first(), before.first())
        && now_first != before_first
    {
        found.invalid("spec.clusterIPs[0]", at(new, "spec.clusterIPs").clone(), "may not change once set");
    }
}
