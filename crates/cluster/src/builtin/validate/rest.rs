//! What is refused of kinds with few rules.

use serde_json::Value;

use super::Findings;
use crate::builtin::metadata::selector_faults;
use crate::builtin::names::{self, Rule};
use crate::builtin::reach::{list, number, text, truth};

/// A disruption budget.
pub fn budget(new: &Value, found: &mut Findings) {
    let spec = &new["spec"];
    if !spec["minAvailable"].is_null() && !spec["maxUnavailable"].is_null() {
        let shown = format!(
            "{{\"MinAvailable\":{},\"Selector\":{},\"MaxUnavailable\":{},\"UnhealthyPodEvictionPolicy\":{}}}",
            spec["minAvailable"], spec["selector"], spec["maxUnavailable"], spec["unhealthyPodEvictionPolicy"]
        );
        found.shown("spec", &shown, "minAvailable and maxUnavailable cannot be both set");
    }
    for field in ["minAvailable", "maxUnavailable"] {
        share(&spec[field], &format!("spec.{field}"), found);
    }
    selector_faults(&spec["selector"], "spec.selector", &mut found.faults);
    if let Some(policy) = spec["unhealthyPodEvictionPolicy"].as_str()
        && !matches!(policy, "AlwaysAllow" | "IfHealthyBudget")
    {
        found.unsupported("spec.unhealthyPodEvictionPolicy", policy, &["AlwaysAllow", "IfHealthyBudget"]);
    }
}

/// The status of a disruption budget.
pub fn budget_status(new: &Value, found: &mut Findings) {
    for field in ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"] {
        found.not_negative(&new["status"][field], &format!("status.{field}"));
    }
}

/// The status of an autoscaler.
pub fn autoscaler_status(new: &Value, found: &mut Findings) {
    for field in ["currentReplicas", "desiredReplicas"] {
        found.not_negative(&new["status"][field], &format!("status.{field}"));
    }
}

/// A number or a percentage.
fn share(value: &Value, field: &str, found: &mut Findings) {
    match value {
        Value::Number(_) => found.not_negative(value, field),
        Value::String(given) => match given.strip_suffix('%').filter(|digits| is_number(digits)) {
            Some(digits) if digits.len() > 9 || digits.parse::<u64>().is_ok_and(|percent| percent > 100) => {
                found.invalid(field, given.as_str(), "must not be greater than 100%");
            }
            Some(_) => {}
            None => found.invalid(
                field,
                given.as_str(),
                "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
            ),
        },
        _ => {}
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A priority class; the highest values are for the system's own.
pub fn priority_class(new: &Value, old: Option<&Value>, found: &mut Findings) {
    const HIGHEST: i64 = 1_000_000_000;
    if let Some(old) = old {
        if new["value"] != old["value"] {
            found.forbidden("value", "may not be changed in an update.");
        }
        found.unchanged("preemptionPolicy", &new["preemptionPolicy"], &old["preemptionPolicy"]);
        return;
    }
    let (name, value) = (text(new, "metadata.name"), number(new, "value"));
    let known = [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];
    if name.starts_with("system-") {
        let error = match known.iter().find(|(known, _)| *known == name) {
            None => format!("{name} is not a known system priority class"),
            Some((_, wanted)) if *wanted != value => format!("value of {name} PriorityClass must be {wanted}"),
            Some(_) if truth(new, "globalDefault") => format!("globalDefault of {name} PriorityClass must be false"),
            Some(_) => String::new(),
        };
        if !error.is_empty() {
            let detail =
                format!("priority class names with 'system-' prefix are reserved for system use only. error: {error}");
            found.forbidden("metadata.name", detail);
        }
    } else if value > HIGHEST {
        found.forbidden("value", format!("maximum allowed value of a user defined priority is {HIGHEST}"));
    }
    if let Some(policy) = new["preemptionPolicy"].as_str() {
        found.one_of("preemptionPolicy", policy, &["PreemptLowerPriority", "Never"]);
    }
}

/// An autoscaler.
pub fn autoscaler(new: &Value, found: &mut Findings) {
    let spec = &new["spec"];
    let (least, most) = (spec["minReplicas"].as_i64(), number(spec, "maxReplicas"));
    if let Some(least) = least.filter(|&least| least < 1) {
        found.invalid("spec.minReplicas", least, "must be greater than or equal to 1");
    }
    if most == 0 {
        found.required("spec.maxReplicas", "must be set and greater than 0");
    } else if most < 0 {
        found.invalid("spec.maxReplicas", most, "must be greater than or equal to 1");
    }
    if least.is_some_and(|least| most < least) {
        found.invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`");
    }
    for field in ["kind", "name"] {
        let value = text(&spec["scaleTargetRef"], field);
        let path = format!("spec.scaleTargetRef.{field}");
        if value.is_empty() {
            found.required(&path, "");
        } else {
            found.each(&path, value, names::faults(Rule::Segment, value, false));
        }
    }
    let api_version = text(&spec["scaleTargetRef"], "apiVersion");
    if !api_version.contains('/') {
        found.invalid("spec.scaleTargetRef.apiVersion", api_version, "apiVersion must specify API group");
    }
    let zero = least == Some(0);
    if zero && !list(spec, "metrics").iter().any(|metric| matches!(text(metric, "type"), "Object" | "External")) {
        let detail = "must specify at least one Object or External metric to support scaling to zero replicas";
        found.forbidden("spec.metrics", detail);
    }
    for (index, metric) in list(spec, "metrics").iter().enumerate() {
        let kinds = [
            ("Object", "object"),
            ("Pods", "pods"),
            ("Resource", "resource"),
            ("External", "external"),
            ("ContainerResource", "containerResource"),
        ];
        let kind = text(metric, "type");
        let path = format!("spec.metrics[{index}]");
        match kinds.iter().find(|(known, _)| *known == kind) {
            Some((_, part)) if metric[*part].is_null() => {
                found.required(&format!("{path}.{part}"), "must populate information for the given metric source");
            }
            Some(_) => {}
            None => {
                if kind.is_empty() {
                    found.required(&format!("{path}.type"), "must specify a metric source type");
                }
                let all = ["ContainerResource", "External", "Object", "Pods", "Resource"];
                for _ in 0..2 {
                    found.unsupported(&format!("{path}.type"), kind, &all);
                }
            }
        }
    }
}

/// A lease.
pub fn lease(new: &Value, found: &mut Findings) {
    let spec = &new["spec"];
    if let Some(seconds) = spec["leaseDurationSeconds"].as_i64().filter(|&seconds| seconds <= 0) {
        found.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0");
    }
    found.not_negative(&spec["leaseTransitions"], "spec.leaseTransitions");
}

/// A runtime class.
pub fn runtime_class(new: &Value, old: Option<&Value>, found: &mut Findings) {
    match old {
        Some(old) => found.unchanged("handler", &new["handler"], &old["handler"]),
        None => found.label("handler", text(new, "handler")),
    }
}

/// Claims of devices and their templates stay as they were made.
pub fn device_kind(new: &Value, old: Option<&Value>, found: &mut Findings) {
    let kind = text(new, "kind");
    if let Some(old) = old
        && kind != "DeviceClass"
    {
        found.unchanged("spec", &new["spec"], &old["spec"]);
    }
}
