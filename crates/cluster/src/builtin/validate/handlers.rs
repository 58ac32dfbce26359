//! What is refused of probes and hooks.

use serde_json::Value;

use super::Findings;
use crate::builtin::reach::{list, number, text};

/// Hooks and probes of a container that may have them.
pub fn of_container(spec: &Value, container: &Value, path: &str, found: &mut Findings) {
    let grace = spec["terminationGracePeriodSeconds"].as_i64();
    for hook in ["postStart", "preStop"] {
        let hooked = &container["lifecycle"][hook];
        if !hooked.is_null() {
            handler(hooked, grace, &format!("{path}.lifecycle.{hook}"), found);
        }
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let path = format!("{path}.{name}");
        let probe = &container[name];
        if probe.is_null() {
            continue;
        }
        handler(probe, grace, &path, found);
        for field in ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"]
        {
            found.not_negative(&probe[field], &format!("{path}.{field}"));
        }
        let own_grace = probe["terminationGracePeriodSeconds"].as_i64();
        let field = format!("{path}.terminationGracePeriodSeconds");
        if let Some(seconds) = own_grace.filter(|&seconds| seconds <= 0) {
            found.invalid(&field, seconds, "must be greater than 0");
        }
        match (name, own_grace) {
            ("readinessProbe", Some(seconds)) => found.invalid(&field, seconds, "must not be set for readinessProbes"),
            ("readinessProbe", None) => {}
            _ if number(probe, "successThreshold") != 1 => {
                found.invalid(&format!("{path}.successThreshold"), number(probe, "successThreshold"), "must be 1");
            }
            _ => {}
        }
    }
}

fn handler(handler: &Value, grace: Option<i64>, path: &str, found: &mut Findings) {
    let mut first = true;
    for kind in ["exec", "httpGet", "tcpSocket", "grpc", "sleep"] {
        let given = &handler[kind];
        if given.is_null() {
            continue;
        }
        let path = format!("{path}.{kind}");
        if !first {
            found.forbidden(&path, "may not specify more than 1 handler type");
            continue;
        }
        first = false;
        match kind {
            "exec" if list(given, "command").is_empty() => found.required(&format!("{path}.command"), ""),
            "httpGet" => {
                if text(given, "path").is_empty() {
                    found.required(&format!("{path}.path"), "");
                }
                found.port(&format!("{path}.port"), &given["port"]);
                if !matches!(text(given, "scheme"), "HTTP" | "HTTPS") {
                    found.unsupported(&format!("{path}.scheme"), text(given, "scheme"), &["HTTP", "HTTPS"]);
                }
            }
            "tcpSocket" | "grpc" => found.port(&format!("{path}.port"), &given["port"]),
            "sleep" => {
                let seconds = number(given, "seconds");
                if let Some(grace) = grace.filter(|&grace| seconds < 0 || seconds > grace) {
                    let detail = format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
                    found.invalid(&path, seconds, detail);
                }
            }
            _ => {}
        }
    }
    if first {
        found.required(path, "must specify a handler type");
    }
}
