//! What is refused of webhook configurations.

use serde_json::Value;

use super::Findings;
use crate::builtin::metadata::selector_faults;
use crate::builtin::names;
use crate::builtin::reach::{list, number, text};

/// A configuration of either kind.
pub fn judge(new: &Value, found: &mut Findings) {
    let mut seen: Vec<&str> = Vec::new();
    for (index, hook) in list(new, "webhooks").iter().enumerate() {
        let path = format!("webhooks[{index}]");
        one(hook, &path, found);
        versions(hook, &format!("{path}.admissionReviewVersions"), found);
        let name = text(hook, "name");
        if !name.is_empty() && seen.contains(&name) {
            found.duplicate(&format!("{path}.name"), name);
        }
        seen.push(name);
    }
}

fn one(hook: &Value, path: &str, found: &mut Findings) {
    let name = text(hook, "name");
    let field = format!("{path}.name");
    if name.is_empty() {
        found.required(&field, "");
    } else {
        let details = names::subdomain(name, "characters");
        if !details.is_empty() {
            found.each(&field, name, details);
        } else if name.split('.').count() < 3 {
            found.invalid(&field, name, "should be a domain with at least three segments separated by dots");
        }
    }
    for (index, rule) in list(hook, "rules").iter().enumerate() {
        self::rule(rule, &format!("{path}.rules[{index}]"), found);
    }
    let mut listed = |field: &str, supported: &[&str]| {
        if let Some(value) = hook[field].as_str().filter(|value| !supported.contains(value)) {
            found.unsupported(&format!("{path}.{field}"), value, supported);
        }
    };
    listed("failurePolicy", &["Fail", "Ignore"]);
    listed("matchPolicy", &["Equivalent", "Exact"]);
    listed("sideEffects", &["None", "NoneOnDryRun"]);
    if hook["sideEffects"].is_null() {
        found.required(&format!("{path}.sideEffects"), "must specify one of None, NoneOnDryRun");
    }
    let seconds = number(hook, "timeoutSeconds");
    if !hook["timeoutSeconds"].is_null() && !(1..=30).contains(&seconds) {
        let detail = "the timeout value must be between 1 and 30 seconds";
        found.invalid(&format!("{path}.timeoutSeconds"), seconds, detail);
    }
    for selector in ["namespaceSelector", "objectSelector"] {
        selector_faults(&hook[selector], &format!("{path}.{selector}"), &mut found.faults);
    }
    if let Some(policy) = hook["reinvocationPolicy"].as_str().filter(|policy| !matches!(*policy, "Never" | "IfNeeded"))
    {
        found.unsupported(&format!("{path}.reinvocationPolicy"), policy, &["IfNeeded", "Never"]);
    }
    client(&hook["clientConfig"], &format!("{path}.clientConfig"), found);
    conditions(hook, &format!("{path}.matchConditions"), found);
}

fn client(config: &Value, path: &str, found: &mut Findings) {
    match (config["url"].as_str(), &config["service"]) {
        (Some(given), Value::Null) => url(given, &format!("{path}.url"), found),
        (None, service) if !service.is_null() => {
            let path = format!("{path}.service");
            // A server asks for them in this order.
            for field in ["namespace", "name"].iter().filter(|field| text(service, field).is_empty()) {
                found.required(&format!("{path}.{field}"), "");
            }
            let port = number(service, "port");
            if !(1..=65535).contains(&port) {
                found.invalid(
                    &format!("{path}.port"),
                    port,
                    "port is not valid: must be between 1 and 65535, inclusive",
                );
            }
            service_path(text(service, "path"), &format!("{path}.path"), found);
        }
        _ => found.required(path, "exactly one of url or service is required"),
    }
}

fn service_path(path: &str, field: &str, found: &mut Findings) {
    if path.is_empty() || path == "/" {
        return;
    }
    if path == "//" {
        found.invalid(field, path, "segment[0] may not be empty");
        return;
    }
    if !path.starts_with('/') {
        found.invalid(field, path, "must start with a '/'");
    }
    let inner = path.get(1..).unwrap_or_default();
    for (index, step) in inner.strip_suffix('/').unwrap_or(inner).split('/').enumerate() {
        if step.is_empty() {
            found.invalid(field, path, format!("segment[{index}] may not be empty"));
        } else {
            for detail in names::subdomain(step, "characters") {
                found.invalid(field, path, format!("segment[{index}]: {detail}"));
            }
        }
    }
}

fn url(url: &str, field: &str, found: &mut Findings) {
    const FORM: &str = "; desired format: https://host[/path]";
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    if scheme != "https" {
        found.invalid(field, scheme, format!("'https' is the only allowed URL scheme{FORM}"));
    }
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = if scheme.is_empty() { "" } else { rest.split('/').next().unwrap_or_default() };
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    if host.is_empty() {
        found.invalid(field, host, format!("host must be specified{FORM}"));
    }
    for (value, detail) in [
        (user, "user information is not permitted in the URL"),
        (fragment, "fragments are not permitted in the URL"),
        (query, "query parameters are not permitted in the URL"),
    ] {
        if !value.is_empty() {
            found.invalid(field, value, detail);
        }
    }
}

fn versions(hook: &Value, path: &str, found: &mut Findings) {
    let all = list(hook, "admissionReviewVersions");
    if all.is_empty() {
        found.required(path, "must specify one of v1, v1beta1");
        return;
    }
    for (index, version) in all.iter().enumerate() {
        if all[..index].contains(version) {
            found.invalid(&format!("{path}[{index}]"), version.clone(), "duplicate version");
        }
    }
    if !all.iter().any(|version| version == "v1" || version == "v1beta1") {
        found.invalid(path, all, "must include at least one of v1, v1beta1");
    }
}

fn rule(rule: &Value, path: &str, found: &mut Findings) {
    let operations = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
    let any = |field: &str| list(rule, field).iter().any(|value| value == "*");
    let listed = |field: &str, what: &str, found: &mut Findings| {
        if list(rule, field).is_empty() {
            found.required(&format!("{path}.{field}"), "");
        }
        if list(rule, field).len() > 1 && any(field) {
            let detail = format!("if '*' is present, must not specify other {what}");
            found.invalid(&format!("{path}.{field}"), list(rule, field), detail);
        }
    };
    listed("operations", "operations", found);
    for (index, operation) in list(rule, "operations").iter().enumerate() {
        let operation = operation.as_str().unwrap_or_default();
        if !operations.contains(&operation) {
            found.unsupported(&format!("{path}.operations[{index}]"), operation, &operations);
        }
    }
    listed("apiGroups", "API groups", found);
    listed("apiVersions", "API versions", found);
    let resources = list(rule, "resources");
    if resources.is_empty() {
        found.required(&format!("{path}.resources"), "");
    }
    for (index, _) in resources.iter().enumerate().filter(|(_, resource)| *resource == "") {
        found.required(&format!("{path}.resources[{index}]"), "");
    }
    if resources.len() > 1 && resources.iter().any(|resource| resource == "*/*") {
        let detail = "if '*/*' is present, must not specify other resources";
        found.invalid(&format!("{path}.resources"), resources, detail);
    }
    if let Some(scope) = rule["scope"].as_str().filter(|scope| !matches!(*scope, "*" | "Cluster" | "Namespaced")) {
        found.unsupported(&format!("{path}.scope"), scope, &["*", "Cluster", "Namespaced"]);
    }
}

fn conditions(hook: &Value, path: &str, found: &mut Findings) {
    let mut seen: Vec<&str> = Vec::new();
    for (index, condition) in list(hook, "matchConditions").iter().enumerate() {
        let path = format!("{path}[{index}]");
        if text(condition, "expression").is_empty() {
            found.required(&format!("{path}.expression"), "");
        }
        let name = text(condition, "name");
        if name.is_empty() {
            found.required(&format!("{path}.name"), "");
        } else if seen.contains(&name) {
            found.duplicate(&format!("{path}.name"), name);
        } else {
            found.each(&format!("{path}.name"), name, names::qualified(name));
        }
        seen.push(name);
    }
}
