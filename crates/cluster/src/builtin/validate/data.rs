//! What is refused of config maps and secrets.

use serde_json::Value;

use super::Findings;
use super::volume::data_key;
use crate::builtin::reach::{at, entries, text, truth};
use crate::status::{Fault, What};

const LARGEST: usize = 1024 * 1024;

const FROZEN: &str = "field is immutable when `immutable` is set";

/// A config map.
pub fn config_map(new: &Value, old: Option<&Value>, found: &mut Findings) {
    frozen(new, old, &["data", "binaryData"], found);
    let mut size = 0;
    for (key, value) in entries(new, "data") {
        let field = format!("data[{key}]");
        data_key(key, &field, found);
        if !at(new, "binaryData")[key].is_null() {
            found.invalid(&field, key.as_str(), "duplicate of key present in binaryData");
        }
        size += value.as_str().map_or(0, str::len);
    }
    for (key, value) in entries(new, "binaryData") {
        data_key(key, &format!("binaryData[{key}]"), found);
        size += decoded(value);
    }
    too_long(size, "[]", found);
}

/// A secret.
pub fn secret(new: &Value, old: Option<&Value>, found: &mut Findings) {
    if let Some(old) = old {
        found.unchanged("type", at(new, "type"), at(old, "type"));
    }
    frozen(new, old, &["data"], found);
    for key in entries(new, "data").map(|(key, _)| key) {
        data_key(key, &format!("data[{key}]"), found);
    }
    too_long(entries(new, "data").map(|(_, value)| decoded(value)).sum(), "data", found);
    let has = |key: &str| !new["data"][key].is_null();
    let mut needs = |keys: &[&str]| {
        keys.iter().filter(|key| !has(key)).for_each(|key| found.required(&format!("data[{key}]"), ""));
    };
    match text(new, "type") {
        "kubernetes.io/service-account-token" => {
            let key = "kubernetes.io/service-account.name";
            if new["metadata"]["annotations"][key].as_str().unwrap_or_default().is_empty() {
                found.required(&format!("metadata.annotations[{key}]"), "");
            }
        }
        "kubernetes.io/dockercfg" => needs(&[".dockercfg"]),
        "kubernetes.io/dockerconfigjson" => needs(&[".dockerconfigjson"]),
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => needs(&["username", "password"]),
        "kubernetes.io/ssh-auth" => needs(&["ssh-privatekey"]),
        "kubernetes.io/tls" => needs(&["tls.crt", "tls.key"]),
        _ => {}
    }
}

fn frozen(new: &Value, old: Option<&Value>, fields: &[&str], found: &mut Findings) {
    let Some(old) = old.filter(|old| truth(old, "immutable")) else { return };
    if !truth(new, "immutable") {
        found.forbidden("immutable", FROZEN);
    }
    for field in fields.iter().filter(|field| new[**field] != old[**field]) {
        found.forbidden(field, FROZEN);
    }
}

/// How many bytes base64 text stands for.
fn decoded(value: &Value) -> usize {
    let text = value.as_str().unwrap_or_default();
    text.trim_end_matches('=').len() * 3 / 4
}

fn too_long(size: usize, field: &str, found: &mut Findings) {
    if size > LARGEST {
        let detail = format!("may not be more than {LARGEST} bytes");
        found.faults.push(Fault { what: What::TooLong, field: field.to_owned(), value: None, detail });
    }
}
