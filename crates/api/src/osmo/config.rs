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
    add_templates(&mut spec, "common_pod_template", templates);
    for platform in spec.get_mut("platforms").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut) {
        if let Some(platform) = platform.as_object_mut() {
            add_templates(platform, "override_pod_template", templates);
        }
    }
    let api_version = format!("{}/{}", group::TRELLIS, group::V1ALPHA1);
    let name = names::osmo::legal(&entry.name);
    let object = json!({"apiVersion": api_version, "kind": "Pool", "metadata": {"name": name}, "spec": spec});
    (object, written, errors)
}

/// Puts the templates that are named in a field together, the later ones over the earlier ones.
fn add_templates(fields: &mut Map<String, Value>, field: &str, templates: &BTreeMap<String, Value>) {
    let names = fields.get(field).and_then(Value::as_array).cloned().unwrap_or_default();
    let mut merged = fields.remove("pod_template").unwrap_or_else(|| Value::Object(Map::new()));
    for template in names.iter().filter_map(Value::as_str).filter_map(|name| templates.get(name)) {
        merge(&mut merged, template);
    }
    if merged.as_object().is_none_or(|merged| !merged.is_empty()) {
        fields.insert("pod_template".to_owned(), merged);
    }
}

/// Merges pod templates: maps field by field, lists by the names of their items, else one behind the other; a value that
/// OSMO would fill in (`{{…}}`) is left out.
pub fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                if value.as_str().is_some_and(|text| text.contains("{{")) {
                    continue;
                }
                match into.get_mut(key) {
                    Some(there) => merge(there, value),
                    None => {
                        let mut clean = if value.is_object() { Value::Object(Map::new()) } else { value.clone() };
                        if value.is_object() {
                            merge(&mut clean, value);
                        }
                        into.insert(key.clone(), clean);
                    }
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
