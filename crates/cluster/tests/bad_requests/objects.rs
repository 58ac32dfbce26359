//! What is spoiled: good objects of all kinds, and bad ones that have every field of their type.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use trellis_cluster::builtin;

const GOOD: &str = include_str!("objects.yaml");
const DEFINITIONS: &str = include_str!("../conformance/crds.yaml");

/// Types may contain themselves.
const DEPTH: usize = 7;

/// The objects, and where each kind is found.
pub struct Objects {
    /// Definitions of the custom kinds.
    pub definitions: Vec<Value>,
    /// One good object of every kind that is stored.
    pub good: Vec<Value>,
    /// One object of every built-in kind with every field of its type, mostly with values that are not allowed.
    pub full: Vec<Value>,
    /// Paths of collections without a namespace, and whether there are namespaces, by `apiVersion` and kind.
    paths: BTreeMap<(String, String), (String, bool)>,
    /// Names of subresources that a kind may have.
    pub subresources: Vec<&'static str>,
}

impl Objects {
    pub fn read() -> Self {
        let definitions: Vec<Value> = serde_saphyr::from_multiple(DEFINITIONS).expect("definitions");
        let mut paths = BTreeMap::new();
        let mut full = Vec::new();
        for resource in builtin::resources() {
            let version = &resource.versions[0];
            let api_version = resource.api_version(&version.name);
            let root = if resource.group.is_empty() { "api" } else { "apis" };
            let path = format!("/{root}/{api_version} {}", resource.plural);
            paths.insert((api_version.clone(), resource.kind.clone()), (path, resource.namespaced));
            let mut object = filled(&version.published, DEPTH);
            object["apiVersion"] = api_version.into();
            object["kind"] = resource.kind.clone().into();
            object["metadata"]["name"] = "one".into();
            // These would be refused before anything else is looked at.
            let metadata = object["metadata"].as_object_mut().expect("metadata");
            metadata
                .retain(|field, _| !matches!(field.as_str(), "resourceVersion" | "uid" | "namespace" | "generateName"));
            if resource.namespaced {
                object["metadata"]["namespace"] = "default".into();
            }
            full.push(object);
        }
        for definition in &definitions {
            let spec = &definition["spec"];
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            for version in spec["versions"].as_array().into_iter().flatten() {
                let api_version = format!("{}/{}", text(&spec["group"]), text(&version["name"]));
                let path = format!("/apis/{api_version} {}", text(&spec["names"]["plural"]));
                paths.insert((api_version, text(&spec["names"]["kind"])), (path, spec["scope"] == "Namespaced"));
            }
        }
        let good: Vec<Value> = serde_saphyr::from_multiple(GOOD).expect("objects");
        let subresources = vec![
            "status",
            "scale",
            "binding",
            "eviction",
            "token",
            "finalize",
            "log",
            "approval",
            "ephemeralcontainers",
        ];
        Self { definitions, good, full, paths, subresources }
    }

    /// The path of an object's collection.
    pub fn collection(&self, object: &Value) -> String {
        let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
        let Some((path, namespaced)) = self.paths.get(&(text("apiVersion"), text("kind"))) else {
            panic!("no path for {object}");
        };
        let (root, plural) = path.split_once(' ').expect("a root and a plural");
        match (namespaced, object["metadata"]["namespace"].as_str()) {
            (true, Some(namespace)) => format!("{root}/namespaces/{namespace}/{plural}"),
            _ => format!("{root}/{plural}"),
        }
    }
}

/// A value with every field that a published type has.
fn filled(schema: &Value, depth: usize) -> Value {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap_or_default();
        let leads = builtin::components().get(name).filter(|_| depth > 0);
        return leads.map_or(Value::Null, |schema| filled(schema, depth - 1));
    }
    if let Some(inner) = schema["allOf"].as_array().and_then(|all| all.first()) {
        return filled(inner, depth);
    }
    match schema["type"].as_str() {
        Some("object") => {
            let field = |(name, schema): (&String, &Value)| (name.clone(), filled(schema, depth));
            let mut fields: Map<String, Value> =
                schema["properties"].as_object().into_iter().flatten().map(field).collect();
            if schema["additionalProperties"].is_object() {
                fields.insert("key".to_owned(), filled(&schema["additionalProperties"], depth));
            }
            Value::Object(fields)
        }
        Some("array") => json!([filled(&schema["items"], depth)]),
        Some("integer") => json!(3),
        Some("number") => json!(1.5),
        Some("boolean") => json!(true),
        _ if schema["format"] == "date-time" => json!("2001-02-03T04:05:06Z"),
        _ => json!("text"),
    }
}
