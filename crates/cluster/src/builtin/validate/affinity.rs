//! What is refused of affinities.

use serde_json::Value;

use super::{Findings, scheduling};
use crate::builtin::metadata::selector_faults;
use crate::builtin::names;
use crate::builtin::reach::{at, list, number, text};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// The affinity of a pod.
pub fn judge(affinity: &Value, path: &str, found: &mut Findings) {
    let node = &affinity["nodeAffinity"];
    let required = &node[REQUIRED];
    if !required.is_null() {
        node_selector(required, &format!("{path}.nodeAffinity.{REQUIRED}"), found);
    }
    for (index, term) in list(node, PREFERRED).iter().enumerate() {
        let path = format!("{path}.nodeAffinity.{PREFERRED}[{index}]");
        weight(term, &path, found);
        node_term(&term["preference"], false, &format!("{path}.preference"), found);
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        for (index, term) in list(&affinity[kind], REQUIRED).iter().enumerate() {
            pod_term(term, &format!("{path}.{kind}.{REQUIRED}[{index}]"), found);
        }
        for (index, term) in list(&affinity[kind], PREFERRED).iter().enumerate() {
            let path = format!("{path}.{kind}.{PREFERRED}[{index}]");
            weight(term, &path, found);
            pod_term(&term["podAffinityTerm"], &format!("{path}.podAffinityTerm"), found);
        }
    }
}

/// A selector of nodes.
pub fn node_selector(selector: &Value, path: &str, found: &mut Findings) {
    let terms = list(selector, "nodeSelectorTerms");
    if terms.is_empty() {
        found.required(&format!("{path}.nodeSelectorTerms"), "must have at least one node selector term");
    }
    for (index, term) in terms.iter().enumerate() {
        node_term(term, true, &format!("{path}.nodeSelectorTerms[{index}]"), found);
    }
}

fn weight(term: &Value, path: &str, found: &mut Findings) {
    let weight = number(term, "weight");
    if !(1..=100).contains(&weight) {
        found.invalid(&format!("{path}.weight"), weight, "must be in the range 1-100");
    }
}

fn node_term(term: &Value, values_count: bool, path: &str, found: &mut Findings) {
    for (index, expression) in list(term, "matchExpressions").iter().enumerate() {
        let path = format!("{path}.matchExpressions[{index}]");
        let values = list(expression, "values");
        let field = format!("{path}.values");
        match text(expression, "operator") {
            "In" | "NotIn" if values.is_empty() => {
                found.required(&field, "must be specified when `operator` is 'In' or 'NotIn'");
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                found.forbidden(&field, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
            }
            "Gt" | "Lt" if values.len() != 1 => {
                found.required(&field, "must be specified single value when `operator` is 'Lt' or 'Gt'");
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
            operator => found.invalid(&format!("{path}.operator"), operator, "not a valid selector operator"),
        }
        let key = text(expression, "key");
        found.each(&format!("{path}.key"), key, names::label_key(key));
        if values_count {
            for (index, value) in values.iter().enumerate() {
                let value = value.as_str().unwrap_or_default();
                found.each(&format!("{field}[{index}]"), value, names::label_value(value));
            }
        }
    }
    for (index, expression) in list(term, "matchFields").iter().enumerate() {
        let path = format!("{path}.matchFields[{index}]");
        let values = list(expression, "values");
        match text(expression, "operator") {
            "In" | "NotIn" if values.len() != 1 => found.required(
                &format!("{path}.values"),
                "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
            ),
            "In" | "NotIn" => {}
            operator => found.invalid(&format!("{path}.operator"), operator, "not a valid selector operator"),
        }
        let key = text(expression, "key");
        if key == "metadata.name" {
            for (index, value) in values.iter().enumerate() {
                let value = value.as_str().unwrap_or_default();
                found.each(&format!("{path}.values[{index}]"), value, names::subdomain(value, "characters"));
            }
        } else {
            found.invalid(&format!("{path}.key"), key, "not a valid field selector key");
        }
    }
}

fn pod_term(term: &Value, path: &str, found: &mut Findings) {
    for selector in ["labelSelector", "namespaceSelector"] {
        selector_faults(at(term, selector), &format!("{path}.{selector}"), &mut found.faults);
    }
    for name in list(term, "namespaces") {
        let name = name.as_str().unwrap_or_default();
        found.each(&format!("{path}.namespace"), name, names::label(name, "characters"));
    }
    scheduling::label_keys(term, path, found);
    let key = text(term, "topologyKey");
    if key.is_empty() {
        found.required(&format!("{path}.topologyKey"), "can not be empty");
    }
    found.each(&format!("{path}.topologyKey"), key, names::label_key(key));
}
