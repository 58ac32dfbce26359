//! The form of names, labels and metadata, by Kubernetes' rules.

use crate::field::{FieldError, Path};
use crate::names;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::collections::BTreeMap;

const DNS_LABEL: &str = "must be a valid DNS label: lower case letters, digits and '-', starting and ending with a \
                         letter or digit, at most 63 characters (e.g. 'my-name')";

/// Whether `text` is a DNS label (RFC 1123).
pub fn is_dns_label(text: &str) -> bool {
    text.len() <= 63 && is_dns_part(text)
}

fn is_dns_part(text: &str) -> bool {
    let bytes = text.as_bytes();
    let edge = |b: Option<&u8>| b.is_some_and(|&b| b != b'-');
    bytes.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-')
        && edge(bytes.first())
        && edge(bytes.last())
}

/// Kubernetes limits the whole, not the parts.
fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_dns_part)
}

/// Letters, digits, `-`, `_`, `.`, starting and ending with a letter or digit, at most 63: the name part of a key.
pub fn is_qualified_part(text: &str) -> bool {
    let bytes = text.as_bytes();
    let edge = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    bytes.len() <= 63
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        && edge(bytes.first())
        && edge(bytes.last())
}

/// What is wrong with a label key, if anything.
pub fn label_key_fault(key: &str) -> Option<String> {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    if !is_qualified_part(name) {
        return Some(
            "must be a valid label key: the name after an optional prefix is 1 to 63 letters, digits, '-', '_' or '.', \
             starting and ending with a letter or digit (e.g. 'topology.kubernetes.io/zone')"
                .to_owned(),
        );
    }
    match prefix {
        Some(prefix) if !is_dns_subdomain(prefix) => Some(
            "must be a valid label key: the prefix before '/' is a DNS subdomain of at most 253 characters \
             (e.g. 'topology.kubernetes.io/zone')"
                .to_owned(),
        ),
        _ => None,
    }
}

/// Checks a DNS label.
pub fn dns_label(path: &Path, text: &str, what: &str, errors: &mut Vec<FieldError>) {
    if !is_dns_label(text) {
        errors.push(FieldError::invalid(path, text, format!("invalid {what} name, {DNS_LABEL}")));
    }
}

/// Checks labels.
pub fn labels<'a>(
    path: &Path,
    labels: impl IntoIterator<Item = (&'a String, &'a String)>,
    errors: &mut Vec<FieldError>,
) {
    for (key, value) in labels {
        if let Some(fault) = label_key_fault(key) {
            errors.push(FieldError::invalid(path, key.as_str(), fault));
        }
        if !value.is_empty() && !is_qualified_part(value) {
            let message = "must be a valid label value: empty, or 1 to 63 letters, digits, '-', '_' or '.', starting and \
                           ending with a letter or digit";
            errors.push(FieldError::invalid(&path.key(key), value.as_str(), message));
        }
    }
}

/// Checks annotations.
pub fn annotations(path: &Path, annotations: &BTreeMap<String, String>, errors: &mut Vec<FieldError>) {
    const MAX: usize = 256 * 1024;
    for key in annotations.keys() {
        if let Some(fault) = label_key_fault(&key.to_lowercase()) {
            errors.push(FieldError::invalid(path, key.as_str(), fault));
        }
    }
    let size: usize = annotations.iter().map(|(key, value)| key.len() + value.len()).sum();
    if size > MAX {
        errors.push(FieldError::too_long(path, "", MAX));
    }
}

/// The name of an object; of one whose name the server still has to generate, the longest it can get.
pub fn name(meta: &ObjectMeta) -> String {
    match (meta.name.as_deref(), meta.generate_name.as_deref()) {
        (Some(name), _) if !name.is_empty() => name.to_owned(),
        // The server appends five characters.
        (_, Some(prefix)) if !prefix.is_empty() => format!("{prefix}xxxxx"),
        _ => String::new(),
    }
}

/// Checks the metadata of an object whose name must be a DNS label.
pub fn metadata(meta: &ObjectMeta, what: &str, errors: &mut Vec<FieldError>) {
    let path = Path::new("metadata");
    let name = name(meta);
    if name.is_empty() {
        errors.push(FieldError::required(&path.child("name"), "name or generateName is required"));
    } else {
        dns_label(&path.child("name"), &name, what, errors);
    }
    if let Some(namespace) = meta.namespace.as_deref().filter(|namespace| !namespace.is_empty()) {
        dns_label(&path.child("namespace"), namespace, "Namespace", errors);
    }
    labels(&path.child("labels"), meta.labels.iter().flatten(), errors);
    if let Some(map) = &meta.annotations {
        annotations(&path.child("annotations"), map, errors);
    }
}

/// Checks that a cluster-scoped object's name is a DNS subdomain that fits a label value.
pub fn cluster_scoped_name(meta: &ObjectMeta, errors: &mut Vec<FieldError>) {
    let path = Path::new("metadata.name");
    let name = meta.name.as_deref().unwrap_or_default();
    if name.is_empty() {
        if meta.generate_name.as_deref().unwrap_or_default().is_empty() {
            errors.push(FieldError::required(&path, "name or generateName is required"));
        }
    } else if name.len() > names::LABEL_VALUE_MAX {
        errors.push(FieldError::too_long(&path, name, names::LABEL_VALUE_MAX));
    } else if !is_dns_subdomain(name) {
        let message = "must be a valid DNS subdomain: lower case letters, digits, '-' and '.', starting and ending with a \
                       letter or digit (e.g. 'my-topology')";
        errors.push(FieldError::invalid(&path, name, message));
    }
    labels(&Path::new("metadata.labels"), meta.labels.iter().flatten(), errors);
    if let Some(map) = &meta.annotations {
        annotations(&Path::new("metadata.annotations"), map, errors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dns_labels() {
        let check = |text: &str, valid: bool| assert_eq!(is_dns_label(text), valid, "{text:?}");
        check("a", true);
        check("7b-model", true);
        check(&"a".repeat(63), true);
        check(&"a".repeat(64), false);
        check("", false);
        check("-a", false);
        check("a-", false);
        check("A", false);
        check("a.b", false);
        check("a_b", false);
        check("ä", false);
    }

    #[test]
    fn label_keys_have_prefixes_of_253_and_names_of_63() {
        let check = |key: &str, valid: bool| assert_eq!(label_key_fault(key).is_none(), valid, "{key:?}");
        check("kubernetes.io/hostname", true);
        check("rack", true);
        check("UPPER_case.name", true);
        check(&format!("{}/{}", "a".repeat(253), "b".repeat(63)), true);
        check(&format!("{}/b", "a".repeat(254)), false);
        check(&format!("a/{}", "b".repeat(64)), false);
        check(&"b".repeat(64), false);
        check("/name", false);
        check("prefix/", false);
        check("a/b/c", false);
        check("", false);
        check("UPPER.io/name", false);
        check("-a", false);
    }
}
