//! OSMO's configuration: pools and backends by name, Helm values with them, or a single pool.
//!
//! Backends may stand in another document than the pools that name them, so documents are read first ([`Config::read`]) and
//! put together when all have been ([`pool_object`]).

use super::Written;
use crate::field::{FieldError, Path};
use crate::names::{self, group, osmo::DEFAULT_POOL};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// What one document says.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The pools.
    pub pools: Vec<PoolEntry>,
    /// Backends by name.
    pub backends: BTreeMap<String, Value>,
    /// Pod templates by name.
    pub templates: BTreeMap<String, Value>,
    /// What is wrong with the document itself.
    pub errors: Vec<FieldError>,
}

/// A pool as it was written.
#[derive(Clone, Debug)]
pub struct PoolEntry {
    /// Its name.
    pub name: String,
    /// Where it stands in its document; empty for a document that is a pool.
    pub place: String,
    /// The pool.
    pub value: Value,
    /// Whether it was given a name at all.
    pub is_named: bool,
}

/// Fields that only a pool has, of those that are looked at.
const OF_POOLS: [&str; 6] =
    ["topology_keys", "platforms", "default_platform", "common_pod_template", "common_default_variables", "backend"];

impl Config {
    /// Reads a document, if it is configuration.
    pub fn read(value: &Value) -> Option<Self> {
        let fields = value.as_object()?;
        if fields.contains_key("apiVersion") || fields.contains_key("kind") {
            return None;
        }
        let has_maps = |value: &Value| value.get("pools").is_some() || value.get("backends").is_some();
        if let Some(configs) = value.pointer("/services/configs").filter(|configs| configs.is_object()) {
            return Some(Self::of_maps(configs, &Path::new("services.configs")));
        }
        if has_maps(value) {
            return Some(Self::of_maps(value, &Path::root()));
        }
        let is_pool = OF_POOLS.iter().any(|field| fields.contains_key(*field));
        is_pool.then(|| Self::of_pool(value))
    }

    /// A document that is one pool.
    fn of_pool(value: &Value) -> Self {
        let mut config = Self::default();
        let is_named = value.get("name").is_some_and(|name| !name.is_null());
        let name = match value.get("name") {
            Some(Value::String(name)) => name.clone(),
            None | Some(Value::Null) => DEFAULT_POOL.to_owned(),
            Some(other) => {
                config.errors.push(FieldError::invalid(&Path::new("name"), other.clone(), "must be of type string"));
                DEFAULT_POOL.to_owned()
            }
        };
        config.pools.push(PoolEntry { name, place: String::new(), value: value.clone(), is_named });
        config
    }

    fn of_maps(value: &Value, path: &Path) -> Self {
        let mut config = Self::default();
        for (name, place, value) in named(value, path, "pools", &mut config.errors) {
            let inner = value.get("name").filter(|inner| !inner.is_null());
            if let Some(inner) = inner.filter(|inner| **inner != Value::String(name.clone())) {
                let message = format!("the pool stands there under the name {name:?}");
                config.errors.push(FieldError::invalid(&Path::new(&place).child("name"), inner.clone(), message));
            }
            config.pools.push(PoolEntry { name, place, value, is_named: true });
        }
        for (name, place, value) in named(value, path, "backends", &mut config.errors) {
            if value.is_object() {
                config.backends.insert(name, value);
            } else {
                config.errors.push(FieldError::invalid(&Path::new(&place), value, "must be of type object"));
            }
        }
        for field in ["podTemplates", "pod_templates"] {
            let found = named(value, path, field, &mut config.errors);
            config.templates.extend(found.into_iter().map(|(name, _, value)| (name, value)));
        }
        config
    }
}

/// The entries of a map by name, or of a list of things with names.
fn named(value: &Value, path: &Path, field: &str, errors: &mut Vec<FieldError>) -> Vec<(String, String, Value)> {
    let path = path.child(field);
    match value.get(field) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Object(entries)) => {
            let entry = |(name, value): (&String, &Value)| (name.clone(), path.key(name).to_string(), value.clone());
            entries.iter().map(entry).collect()
        }
        Some(Value::Array(items)) => {
            let mut found = Vec::new();
            for (i, item) in items.iter().enumerate() {
                let path = path.index(i);
                match item.get("name").and_then(Value::as_str) {
                    Some(name) => found.push((name.to_owned(), path.to_string(), item.clone())),
                    None => errors.push(FieldError::required(&path.child("name"), "a name is needed")),
                }
            }
            found
        }
        Some(other) => {
            errors.push(FieldError::invalid(&path, other.clone(), "must be of type object"));
            Vec::new()
        }
    }
}

/// The pool as an object of ours, with the settings of its backend, where its parts stand, and what is wrong with its ways
/// to other parts of the configuration.
pub fn pool_object(
    entry: &PoolEntry,
    backends: &BTreeMap<String, Value>,
    templates: &BTreeMap<String, Value>,
) -> (Value, Written, Vec<FieldError>) {
    let mut errors = Vec::new();
    let place = Path::new(&entry.place);
    let written = Written::default()
        .at("metadata.name", if entry.place.is_empty() { "name" } else { &entry.place })
        .at("spec", &entry.place)
        .at("spec.scheduler_settings", place.child("backend").as_str())
        .at("spec.scheduler_settings.scheduler_type", place.child("backend").as_str())
        .at("spec.k8s_namespace", place.child("backend").as_str());
    let mut spec = match &entry.value {
        Value::Object(fields) => fields.clone(),
        other => {
            errors.push(FieldError::invalid(&place, other.clone(), "must be of type object"));
            Map::new()
        }
    };
    spec.remove("name");
    let backend = spec.get("backend").and_then(Value::as_str);
    // Without any backend, the pools are KAI's in namespace `default`.
    if !backends.is_empty() {
        match backend.map(|name| (name, backends.get(name))) {
            Some((_, Some(backend))) => {
                for field in ["scheduler_settings", "k8s_namespace"] {
                    let value = backend.get(field).filter(|value| !value.is_null());
                    spec.extend(value.map(|value| (field.to_owned(), value.clone())));
                }
            }
            Some((name, None)) => {
                let known: Vec<&str> = backends.keys().map(String::as_str).collect();
                let message = format!("no backend is called so; there are {}", known.join(", "));
                errors.push(FieldError::not_found(&place.child("backend"), name, message));
            }
            None if spec.get("backend").is_none_or(Value::is_null) => {
                errors.push(FieldError::required(&place.child("backend"), "the name of a backend is needed"));
            }
            None => {}
        }
    }
    let common = Path::new("spec.pod_template");
    let mut written =
        add_templates(&mut spec, "common_pod_template", templates, (&place, &common), written, &mut errors);
    let platforms = spec.get_mut("platforms").and_then(Value::as_object_mut);
    for (name, platform) in platforms.into_iter().flatten() {
        if let Some(platform) = platform.as_object_mut() {
            let paths = (&place.child("platforms").key(name), &platform_template(name));
            written = add_templates(platform, "override_pod_template", templates, paths, written, &mut errors);
        }
    }
    let api_version = format!("{}/{}", group::TRELLIS, group::V1ALPHA1);
    let name = names::osmo::legal(&entry.name);
    let object = json!({"apiVersion": api_version, "kind": "Pool", "metadata": {"name": name}, "spec": spec});
    (object, written, errors)
}

/// Where the template of a platform stands in a pool.
pub fn platform_template(platform: &str) -> Path {
    Path::new("spec.platforms").key(platform).child("pod_template")
}

/// Puts the templates that are named in a field together, the later ones over the earlier ones. Names that are done with are taken out of
/// the field; those that are left speak of templates that nobody has given.
fn add_templates(
    fields: &mut Map<String, Value>,
    field: &str,
    templates: &BTreeMap<String, Value>,
    (place, merged_at): (&Path, &Path),
    written: Written,
    errors: &mut Vec<FieldError>,
) -> Written {
    let place = place.child(field);
    let names = fields.get(field).and_then(Value::as_array).cloned().unwrap_or_default();
    let mut merged = fields.remove("pod_template").unwrap_or_else(|| Value::Object(Map::new()));
    let mut left = Vec::new();
    for (i, name) in names.iter().enumerate() {
        match name.as_str().map(|name| (name, templates.get(name))) {
            Some((_, Some(template))) => merge(&mut merged, template),
            Some((name, None)) if !templates.is_empty() => {
                let known: Vec<&str> = templates.keys().map(String::as_str).collect();
                let message = format!("no pod template is called so; there are {}", known.join(", "));
                errors.push(FieldError::not_found(&place.index(i), name, message));
            }
            _ => left.push(name.clone()),
        }
    }
    let has_merged = left.len() < names.len();
    if !names.is_empty() {
        fields.insert(field.to_owned(), Value::Array(left));
    }
    if merged.as_object().is_none_or(|merged| !merged.is_empty()) {
        fields.insert("pod_template".to_owned(), merged);
    }
    // What is wrong with a template is shown where it is asked for.
    if has_merged { written.at(merged_at.as_str(), place.as_str()) } else { written }
}

/// What a template may say of a pod: not what it is called, and nothing of the containers, which OSMO fills in.
const OF_PODS: [(&str, &[&str]); 2] = [
    ("metadata", &["labels", "annotations"]),
    (
        "spec",
        &["nodeSelector", "tolerations", "affinity", "runtimeClassName", "serviceAccountName", "imagePullSecrets"],
    ),
];

/// The fields of a template that go into pods, by their part (`metadata`, `spec`) and name. A value that OSMO would fill in (`{{…}}`) is
/// left out, and an item of a list that has one.
pub fn pod_fields(template: &Map<String, Value>) -> Vec<(&'static str, &str, Value)> {
    let mut found = Vec::new();
    for (part, fields) in OF_PODS {
        let written = template.get(part).and_then(Value::as_object).into_iter().flatten();
        let kept = written.filter(|(field, value)| fields.contains(&field.as_str()) && !is_token(value));
        found.extend(kept.map(|(field, value)| (part, field.as_str(), without_tokens(value))));
    }
    found
}

/// Where values of a template stand that are left out.
pub fn tokens_of(template: &Map<String, Value>, path: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for (part, fields) in OF_PODS {
        let path = path.child(part);
        let written = template.get(part).and_then(Value::as_object).into_iter().flatten();
        for (field, value) in written.filter(|(field, _)| fields.contains(&field.as_str())) {
            find_tokens(value, &path.child(field), &mut found);
        }
    }
    found
}

fn find_tokens(value: &Value, path: &Path, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| find_tokens(value, &path.child(key), found)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, item)| find_tokens(item, &path.index(i), found));
        }
        value => found.extend(is_token(value).then(|| path.to_string())),
    }
}

fn is_token(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.contains("{{"))
}

fn without_tokens(value: &Value) -> Value {
    let has_token = |item: &Value| {
        let mut found = Vec::new();
        find_tokens(item, &Path::root(), &mut found);
        !found.is_empty()
    };
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(_, value)| !is_token(value));
            Value::Object(kept.map(|(key, value)| (key.clone(), without_tokens(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().filter(|item| !has_token(item)).cloned().collect()),
        other => other.clone(),
    }
}

/// Merges pod templates: maps field by field, lists by the names of their items, else one behind the other.
pub fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                match into.get_mut(key) {
                    Some(there) => merge(there, value),
                    None => drop(into.insert(key.clone(), value.clone())),
                }
            }
        }
        (Value::Array(into), Value::Array(from)) => {
            for item in from {
                let name = item.get("name");
                match into.iter_mut().find(|there| name.is_some() && there.get("name") == name) {
                    Some(there) => merge(there, item),
                    None => into.push(item.clone()),
                }
            }
        }
        (into, from) => *into = from.clone(),
    }
}
