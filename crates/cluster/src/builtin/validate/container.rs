//! What is refused of containers: names, ports, variables, mounts, resources.

use serde_json::Value;

use super::{Findings, handlers, security};
use crate::builtin::names;
use crate::builtin::quantity::Quantity;
use crate::builtin::reach::{at, entries, list, number, text};
use crate::status::{Fault, What};

/// All containers of a pod.
pub fn all(spec: &Value, found: &mut Findings) {
    let containers = list(spec, "containers");
    if containers.is_empty() {
        found.required("spec.containers", "");
    }
    let mut names: Vec<&str> = Vec::new();
    for (index, container) in containers.iter().enumerate() {
        let path = format!("spec.containers[{index}]");
        one(spec, container, &path, found);
        let name = text(container, "name");
        if names.contains(&name) {
            found.duplicate(&format!("{path}.name"), name);
        }
        names.push(name);
        handlers::of_container(spec, container, &path, found);
        restart_policy(container, &path, &["Always", "Never", "OnFailure"], found);
    }
    host_ports(containers, "spec.containers", found);
    for (index, container) in list(spec, "initContainers").iter().enumerate() {
        let path = format!("spec.initContainers[{index}]");
        one(spec, container, &path, found);
        restart_policy(container, &path, &["Always", "Never", "OnFailure"], found);
        let name = text(container, "name");
        if names.contains(&name) {
            found.duplicate(&format!("{path}.name"), name);
        } else if !name.is_empty() {
            names.push(name);
        }
        host_ports(std::slice::from_ref(container), "spec.initContainers", found);
        if text(container, "restartPolicy") == "Always" {
            handlers::of_container(spec, container, &path, found);
        } else {
            for field in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
                if !container[field].is_null() {
                    let detail = "may not be set for init containers without restartPolicy=Always";
                    found.forbidden(&format!("{path}.{field}"), detail);
                }
            }
        }
    }
}

fn restart_policy(container: &Value, path: &str, supported: &[&str], found: &mut Findings) {
    match container["restartPolicy"].as_str() {
        Some(policy) if !supported.contains(&policy) => {
            found.unsupported(&format!("{path}.restartPolicy"), policy, supported);
        }
        None if !list(container, "restartPolicyRules").is_empty() => {
            found.required(&format!("{path}.restartPolicy"), "must specify restartPolicy when restart rules are used");
        }
        _ => {}
    }
}

fn one(spec: &Value, container: &Value, path: &str, found: &mut Findings) {
    found.label(&format!("{path}.name"), text(container, "name"));
    if text(container, "image").is_empty() {
        found.required(&format!("{path}.image"), "");
    }
    let policies = ["File", "FallbackToLogsOnError"];
    found.one_of(&format!("{path}.terminationMessagePolicy"), text(container, "terminationMessagePolicy"), &policies);
    ports(container, &format!("{path}.ports"), found);
    variables(container, &format!("{path}.env"), found);
    variable_sources(container, &format!("{path}.envFrom"), found);
    mounts(spec, container, &format!("{path}.volumeMounts"), found);
    let policies = ["Always", "IfNotPresent", "Never"];
    found.one_of(&format!("{path}.imagePullPolicy"), text(container, "imagePullPolicy"), &policies);
    resources(spec, &container["resources"], &format!("{path}.resources"), found);
    security::of_container(&container["securityContext"], &format!("{path}.securityContext"), found);
}

/// Images without blanks around them.
pub fn images(spec: &Value, found: &mut Findings) {
    for containers in ["containers", "initContainers"] {
        for (index, container) in list(spec, containers).iter().enumerate() {
            let image = text(container, "image");
            if image.trim() != image {
                let field = format!("spec.{containers}[{index}].image");
                found.invalid(&field, image, "must not have leading or trailing whitespace");
            }
        }
    }
}

fn ports(container: &Value, path: &str, found: &mut Findings) {
    let mut names: Vec<&str> = Vec::new();
    for (index, port) in list(container, "ports").iter().enumerate() {
        let path = format!("{path}[{index}]");
        let name = text(port, "name");
        if !name.is_empty() {
            let details = names::port_name(name);
            if !details.is_empty() {
                found.each(&format!("{path}.name"), name, details);
            } else if names.contains(&name) {
                found.duplicate(&format!("{path}.name"), name);
            } else {
                names.push(name);
            }
        }
        if number(port, "containerPort") == 0 {
            found.required(&format!("{path}.containerPort"), "");
        } else {
            found.port(&format!("{path}.containerPort"), &port["containerPort"]);
        }
        if number(port, "hostPort") != 0 {
            found.port(&format!("{path}.hostPort"), &port["hostPort"]);
        }
        found.one_of(&format!("{path}.protocol"), text(port, "protocol"), &["SCTP", "TCP", "UDP"]);
    }
}

fn host_ports(containers: &[Value], path: &str, found: &mut Findings) {
    let mut taken: Vec<String> = Vec::new();
    for (at, container) in containers.iter().enumerate() {
        for (index, port) in
            list(container, "ports").iter().enumerate().filter(|(_, port)| number(port, "hostPort") != 0)
        {
            let key = format!("{}/{}/{}", text(port, "protocol"), text(port, "hostIP"), number(port, "hostPort"));
            if taken.contains(&key) {
                found.duplicate(&format!("{path}[{at}].ports[{index}].hostPort"), key);
            } else {
                taken.push(key);
            }
        }
    }
}

fn variables(container: &Value, path: &str, found: &mut Findings) {
    for (index, variable) in list(container, "env").iter().enumerate() {
        let path = format!("{path}[{index}]");
        let name = text(variable, "name");
        if name.is_empty() {
            found.required(&format!("{path}.name"), "");
        } else {
            found.each(&format!("{path}.name"), name, names::env_name(name));
        }
        if !variable["valueFrom"].is_null() {
            source(variable, &format!("{path}.valueFrom"), found);
        }
    }
}

fn source(variable: &Value, path: &str, found: &mut Findings) {
    let from = &variable["valueFrom"];
    let kinds = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"];
    let given: Vec<&str> = kinds.into_iter().filter(|kind| !from[*kind].is_null()).collect();
    for kind in &given {
        let path = format!("{path}.{kind}");
        match *kind {
            "configMapKeyRef" | "secretKeyRef" => {
                let name = text(&from[*kind], "name");
                found.each(&format!("{path}.name"), name, names::subdomain(name, "characters"));
                let key = text(&from[*kind], "key");
                if key.is_empty() {
                    found.required(&format!("{path}.key"), "");
                } else {
                    found.each(&format!("{path}.key"), key, names::config_key(key));
                }
            }
            "fieldRef" => field_path(text(&from[*kind], "fieldPath"), ENV_PATHS, &path, found),
            "resourceFieldRef" => resource_path(text(&from[*kind], "resource"), &path, found),
            _ => {}
        }
    }
    if given.is_empty() {
        let detail =
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
        found.invalid(path, "", detail);
    } else if !text(variable, "value").is_empty() {
        found.invalid(path, "", "may not be specified when `value` is not empty");
    } else if given.len() > 1 {
        found.invalid(path, "", "may not have more than one field specified at a time");
    }
}

const ENV_PATHS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// Paths of a pod that files can show.
pub const FILE_PATHS: &[&str] =
    &["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];
const RESOURCE_PATHS: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

/// The path of a pod's field that a container can see.
pub fn field_path(given: &str, supported: &[&str], path: &str, found: &mut Findings) {
    let field = format!("{path}.fieldPath");
    if given.is_empty() {
        found.required(&field, "");
        return;
    }
    if let Some((map, key)) = given.strip_suffix("']").and_then(|given| given.split_once("['")) {
        match map {
            "metadata.annotations" => found.each(path, key, names::qualified(&key.to_lowercase())),
            "metadata.labels" => found.each(path, key, names::qualified(key)),
            _ => found.invalid(path, map, "does not support subscript"),
        }
    } else if !ENV_PATHS.contains(&given) && !FILE_PATHS.contains(&given) {
        found.invalid(&field, given, format!("error converting fieldPath: field label not supported: {given}"));
    } else if !supported.contains(&given) {
        found.unsupported(&field, given, supported);
    }
}

/// The path of a container's resource that a container can see.
pub fn resource_path(given: &str, path: &str, found: &mut Findings) {
    let field = format!("{path}.resource");
    let huge = given.starts_with("limits.hugepages-") || given.starts_with("requests.hugepages-");
    if given.is_empty() {
        found.required(&field, "");
    } else if !huge && !RESOURCE_PATHS.contains(&given) {
        found.unsupported(&field, given, &RESOURCE_PATHS);
    }
}

fn variable_sources(container: &Value, path: &str, found: &mut Findings) {
    for (index, from) in list(container, "envFrom").iter().enumerate() {
        let prefix = text(from, "prefix");
        if !prefix.is_empty() {
            found.each(&format!("{path}[{index}].prefix"), prefix, names::env_name(prefix));
        }
        let given: Vec<&str> =
            ["configMapRef", "secretRef"].into_iter().filter(|kind| !from[*kind].is_null()).collect();
        for kind in &given {
            if text(&from[*kind], "name").is_empty() {
                found.required(&format!("{path}[{index}].{kind}.name"), "");
            }
        }
        match given.len() {
            0 => found.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"),
            1 => {}
            _ => found.invalid(path, "", "may not have more than one field specified at a time"),
        }
    }
}

fn mounts(spec: &Value, container: &Value, path: &str, found: &mut Findings) {
    let mut points: Vec<&str> = Vec::new();
    for (index, mount) in list(container, "volumeMounts").iter().enumerate() {
        let path_of = |field: &str| format!("{path}[{index}].{field}");
        let (name, point) = (text(mount, "name"), text(mount, "mountPath"));
        if name.is_empty() {
            found.required(&path_of("name"), "");
        }
        if !list(spec, "volumes").iter().any(|volume| text(volume, "name") == name && !name.is_empty()) {
            found.not_found(&path_of("name"), name);
        }
        if point.is_empty() {
            found.required(&path_of("mountPath"), "");
        }
        if points.contains(&point) {
            found.invalid(&path_of("mountPath"), point, "must be unique");
        }
        points.push(point);
        let inner = text(mount, "subPath");
        if inner.starts_with('/') {
            found.invalid(&format!("{path}.subPath"), inner, "must be a relative path");
        }
        if inner.split('/').any(|part| part == "..") {
            found.invalid(&format!("{path}.subPath"), inner, "must not contain '..'");
        }
        if !text(mount, "subPathExpr").is_empty() && !inner.is_empty() {
            let detail = "subPathExpr and subPath are mutually exclusive";
            found.invalid(&path_of("subPathExpr"), text(mount, "subPathExpr"), detail);
        }
    }
}

fn resources(spec: &Value, resources: &Value, path: &str, found: &mut Findings) {
    for field in ["limits", "requests"] {
        for (name, quantity) in entries(resources, field) {
            let path_of = format!("{path}.{field}[{name}]");
            resource_name(name, &path_of, found);
            amount(name, quantity, &path_of, found);
            if field == "requests" {
                request_fits(resources, path, name, quantity, found);
            }
        }
    }
    let has = |wanted: fn(&str) -> bool| {
        ["limits", "requests"].iter().any(|field| entries(resources, field).any(|(name, _)| wanted(name)))
    };
    if has(|name| name.starts_with("hugepages-")) && !has(|name| name == "cpu" || name == "memory") {
        found.forbidden(path, "HugePages require cpu or memory");
    }
    let claims: Vec<&str> = list(spec, "resourceClaims").iter().map(|claim| text(claim, "name")).collect();
    let mut seen: Vec<String> = Vec::new();
    for (index, claim) in list(resources, "claims").iter().enumerate() {
        let path = format!("{path}.claims[{index}]");
        let (name, request) = (text(claim, "name"), text(claim, "request"));
        if name.is_empty() {
            found.required(&path, "");
            continue;
        }
        let key = if request.is_empty() { name.to_owned() } else { format!("{name}/{request}") };
        if seen.contains(&key) || seen.iter().any(|seen| seen == name) {
            found.duplicate(&path, key.clone());
        }
        if !claims.contains(&name) {
            let mut claims = claims.clone();
            claims.sort_unstable();
            let known =
                if claims.is_empty() { " which is empty".to_owned() } else { format!(": {}", claims.join(", ")) };
            let detail = format!("must be one of the names in pod.spec.resourceClaims{known}");
            found.faults.push(Fault::of(What::NotFound, path, name.into(), detail));
        }
        seen.push(key);
    }
}

/// A request that is more than its limit, or other than it where the resource cannot be shared.
pub fn request_fits(resources: &Value, path: &str, name: &str, amount: &Value, found: &mut Findings) {
    let shared = !name.contains('/') && !name.starts_with("hugepages-") || name.contains("kubernetes.io/");
    let (Some(request), Some(limit)) = (Quantity::of(amount), Quantity::of(&resources["limits"][name])) else {
        if !shared && at(resources, "limits")[name].is_null() {
            found.required(&format!("{path}.limits"), "Limit must be set for non overcommitable resources");
        }
        return;
    };
    let (field, shown) = (format!("{path}.requests"), amount.as_str().unwrap_or_default());
    let limit_shown = text(&resources["limits"], name).to_owned();
    let limit_shown = if limit_shown.is_empty() { limit.to_string() } else { limit_shown };
    if !shared && request != limit {
        found.invalid(&field, shown, format!("must be equal to {name} limit of {limit_shown}"));
    } else if limit < request {
        found.invalid(&field, shown, format!("must be less than or equal to {name} limit of {limit_shown}"));
    }
}

const STANDARD: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
const KNOWN: [&str; 14] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "requests.storage",
    "services",
    "secrets",
    "storage",
];

/// Whether a resource is unknown altogether, and a fault if so.
pub fn unknown_resource(name: &str, path: &str, found: &mut Findings) -> bool {
    let details = names::qualified(name);
    if !details.is_empty() {
        found.each(path, name, details);
        return true;
    }
    if !name.contains('/') && !name.starts_with("hugepages-") && !KNOWN.contains(&name) {
        found.invalid(path, name, "must be a standard resource type or fully qualified");
        return true;
    }
    false
}

fn resource_name(name: &str, path: &str, found: &mut Findings) {
    let wrong = unknown_resource(name, path, found);
    if name.contains('/') {
        let native = name.contains("kubernetes.io/");
        let quota_name = format!("requests.{name}");
        if !native && (wrong || name.starts_with("requests.") || !names::qualified(&quota_name).is_empty()) {
            found.invalid(path, name, "doesn't follow extended resource name standard");
        }
        return;
    }
    if !name.starts_with("hugepages-") && !STANDARD.contains(&name) {
        found.invalid(path, name, "must be a standard resource for containers");
    }
}

/// An amount that is less than nothing, or not whole where it has to be.
pub fn amount(name: &str, amount: &Value, path: &str, found: &mut Findings) {
    let Some(quantity) = Quantity::of(amount) else { return };
    if quantity.is_negative() {
        found.invalid(path, amount.clone(), "must be greater than or equal to 0");
    }
    let extended = name.contains('/') && !name.contains("kubernetes.io/");
    if (extended || matches!(name, "pods" | "services" | "secrets")) && !quantity.is_whole() {
        found.invalid(path, amount.clone(), "must be an integer");
    }
}
