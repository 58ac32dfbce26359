//! What is refused of tolerations, gates and spread constraints.

use serde_json::Value;

use super::Findings;
use crate::builtin::metadata::selector_faults;
use crate::builtin::names;
use crate::builtin::reach::{list, text};

/// Tolerations of a pod.
pub fn tolerations(spec: &Value, found: &mut Findings) {
    for (index, toleration) in list(spec, "tolerations").iter().enumerate() {
        let path = format!("spec.tolerations[{index}]");
        let [key, operator, value, effect] =
            ["key", "operator", "value", "effect"].map(|field| text(toleration, field));
        if !key.is_empty() {
            found.each(&format!("{path}.key"), key, names::label_key(key));
        }
        if key.is_empty() && operator != "Exists" {
            let detail = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            found.invalid(&format!("{path}.operator"), operator, detail);
        }
        if !toleration["tolerationSeconds"].is_null() && effect != "NoExecute" {
            let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            found.invalid(&format!("{path}.effect"), effect, detail);
        }
        match operator {
            "Equal" | "" => {
                let details = names::label_value(value);
                if !details.is_empty() {
                    found.invalid(&format!("{path}.operator"), value, details.join(";"));
                }
            }
            "Exists" if value.is_empty() => {}
            "Exists" => {
                found.invalid(&format!("{path}.operator"), value, "value must be empty when `operator` is 'Exists'");
            }
            "Lt" | "Gt" => {
                found.unsupported(&format!("{path}.operator"), operator, &["Equal", "Exists", "Lt", "Gt"]);
            }
            _ => found.unsupported(&format!("{path}.operator"), operator, &["Equal", "Exists"]),
        }
        taint_effect(effect, true, &format!("{path}.effect"), found);
    }
}

/// The effect of a taint or toleration.
pub fn taint_effect(effect: &str, may_be_empty: bool, field: &str, found: &mut Findings) {
    if !(may_be_empty && effect.is_empty()) {
        found.one_of(field, effect, &["NoSchedule", "PreferNoSchedule", "NoExecute"]);
    }
}

/// Gates of a pod.
pub fn gates(spec: &Value, found: &mut Findings) {
    let mut seen: Vec<&str> = Vec::new();
    for (index, gate) in list(spec, "schedulingGates").iter().enumerate() {
        let (field, name) = (format!("spec.schedulingGates[{index}]"), text(gate, "name"));
        found.each(&field, name, names::qualified(name));
        if seen.contains(&name) {
            found.duplicate(&field, name);
        }
        seen.push(name);
    }
}

/// Spread constraints of a pod.
pub fn spread(spec: &Value, found: &mut Findings) {
    let all = list(spec, "topologySpreadConstraints");
    for (index, constraint) in all.iter().enumerate() {
        let path = format!("spec.topologySpreadConstraints[{index}]");
        positive(&constraint["maxSkew"], &format!("{path}.maxSkew"), found);
        let (key, when) = (text(constraint, "topologyKey"), text(constraint, "whenUnsatisfiable"));
        if key.is_empty() {
            found.required(&format!("{path}.topologyKey"), "can not be empty");
        }
        if !matches!(when, "DoNotSchedule" | "ScheduleAnyway") {
            found.unsupported(&format!("{path}.whenUnsatisfiable"), when, &["DoNotSchedule", "ScheduleAnyway"]);
        }
        let repeated = all[index + 1..]
            .iter()
            .any(|other| text(other, "topologyKey") == key && text(other, "whenUnsatisfiable") == when);
        if repeated {
            found.duplicate(&format!("{path}.{{topologyKey, whenUnsatisfiable}}"), format!("{{{key}, {when}}}"));
        }
        if !constraint["minDomains"].is_null() {
            positive(&constraint["minDomains"], &format!("{path}.minDomains"), found);
            if when != "DoNotSchedule" {
                let detail = format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {when}");
                found.invalid(&format!("{path}.minDomains"), constraint["minDomains"].clone(), detail);
            }
        }
        for field in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            if let Some(policy) = constraint[field].as_str().filter(|policy| !matches!(*policy, "Ignore" | "Honor")) {
                found.unsupported(&format!("{path}.{field}"), policy, &["Honor", "Ignore"]);
            }
        }
        label_keys(constraint, &path, found);
        selector_faults(&constraint["labelSelector"], &format!("{path}.labelSelector"), &mut found.faults);
    }
}

/// Keys that are matched with the pod's own labels; they need a selector, and cannot be in it.
pub fn label_keys(term: &Value, path: &str, found: &mut Findings) {
    for field in ["matchLabelKeys", "mismatchLabelKeys"] {
        for (index, key) in list(term, field).iter().enumerate() {
            let key = key.as_str().unwrap_or_default();
            let place = format!("{path}.{field}[{index}]");
            if term["labelSelector"].is_null() {
                found.forbidden(&format!("{path}.{field}"), "must not be specified when labelSelector is not set");
                break;
            }
            found.each(&place, key, names::label_key(key));
        }
    }
}

fn positive(value: &Value, field: &str, found: &mut Findings) {
    let number = value.as_i64().unwrap_or_default();
    if number <= 0 {
        found.invalid(field, number, "must be greater than zero");
    }
}
