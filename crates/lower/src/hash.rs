//! Hashes of templates: they change when the user's words change, and only then.
//!
//! A pod is replaced when the hash of its template differs from its label, so the hash must not depend on our types, on
//! the version of Kubernetes we were built for, or on what our defaulting adds. It is taken from canonical JSON of what
//! the user wrote, and carries the version of this algorithm.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use trellis_api::kinds::{CliqueTemplate, PodCliqueSet};

/// Version of the algorithm. A new one must keep computing the old hashes for pods that carry them.
const VERSION: &str = "v1";

/// What defaulting adds to a pod spec; the same value counts as left out.
fn added_by_defaulting(field: &str, value: &Value) -> bool {
    match field {
        "restartPolicy" => value == "Always" || value == "",
        "terminationGracePeriodSeconds" => value == 30,
        _ => false,
    }
}

/// Hash of the pods that a clique asks for.
pub fn pod_template_hash(set: &PodCliqueSet, clique: &CliqueTemplate) -> String {
    hash(&pod_template(set, clique))
}

/// Hash of all pods that a set asks for.
pub fn generation_hash(set: &PodCliqueSet) -> String {
    let cliques = set.spec.template.cliques.iter();
    hash(&Value::Array(cliques.map(|clique| json!([clique.name, pod_template(set, clique)])).collect()))
}

fn pod_template(set: &PodCliqueSet, clique: &CliqueTemplate) -> Value {
    let pod_spec: Map<String, Value> = clique
        .spec
        .pod_spec
        .0
        .iter()
        .filter(|(field, value)| !added_by_defaulting(field, value))
        .map(|(field, value)| (field.clone(), value.clone()))
        .collect();
    json!({
        "labels": clique.labels,
        "annotations": clique.annotations,
        "podSpec": pod_spec,
        "priorityClassName": set.spec.template.priority_class_name.as_deref().unwrap_or_default(),
    })
}

/// One text for one value.
pub(crate) fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text);
    text
}

fn hash(value: &Value) -> String {
    let text = canonical(value);
    let digest = Sha256::digest(text.as_bytes());
    let head = digest.first_chunk().map_or(0, |head| u64::from_be_bytes(*head));
    format!("{VERSION}-{head:016x}")
}

/// JSON without spaces, keys sorted, nulls left out. Sorted here, because a build may switch serde_json to keep the
/// order of insertion.
fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut fields: Vec<_> = map.iter().filter(|(_, value)| !value.is_null()).collect();
            fields.sort_by_key(|(key, _)| *key);
            out.push('{');
            for (i, (key, value)) in fields.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_text(key, out);
                out.push(':');
                write_canonical(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        Value::String(text) => write_text(text, out),
        scalar => {
            let _ = write!(out, "{scalar}");
        }
    }
}

/// A text in quotes. Most need nothing but those.
fn write_text(text: &str, out: &mut String) {
    if text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        let _ = write!(out, "{}", Value::from(text));
    }
}
