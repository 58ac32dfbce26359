//! A pod spec as the user wrote it.

use k8s_openapi::api::core::v1 as core;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// A `core/v1` PodSpec, kept as written: fields that this version of Trellis does not know survive, and the hash of
/// a template depends on nothing but what the user wrote. Copies share it: a set has many cliques made of one template.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PodSpec(pub Arc<Map<String, Value>>);

impl PodSpec {
    /// The string in a top-level field, unless it is missing or empty.
    pub fn str(&self, field: &str) -> Option<&str> {
        self.0.get(field).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    /// The account the user named, if any, by either of Kubernetes' two fields.
    pub fn service_account(&self) -> Option<&str> {
        self.str("serviceAccountName").or_else(|| self.str("serviceAccount"))
    }

    /// The scheduler the user asked for, if any.
    pub fn scheduler_name(&self) -> Option<&str> {
        self.str("schedulerName")
    }

    /// The objects in a list field, with their positions; anything else in there is passed over.
    pub fn objects(&self, field: &str) -> impl Iterator<Item = (usize, &Map<String, Value>)> {
        let items = self.0.get(field).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        items.iter().enumerate().filter_map(|(i, item)| Some((i, item.as_object()?)))
    }

    /// The typed form. Fails where a field has a type that Kubernetes would not take; unknown fields are handed to
    /// `unknown` with their path.
    pub fn typed(&self, unknown: &mut dyn FnMut(String)) -> Result<core::PodSpec, (String, String)> {
        let mut ignored = |path: serde_ignored::Path<'_>| unknown(path.to_string());
        let mut track = serde_path_to_error::Track::new();
        let tracked = serde_path_to_error::Deserializer::new(&*self.0, &mut track);
        serde_ignored::deserialize(tracked, &mut ignored)
            .map_err(|error: serde_json::Error| (track.path().to_string(), error.to_string()))
    }
}

impl JsonSchema for PodSpec {
    fn schema_name() -> Cow<'static, str> {
        "PodSpec".into()
    }

    fn inline_schema() -> bool {
        true
    }

    /// Inlining the whole PodSpec would make the CRD larger than client-side apply can carry, so only what every
    /// pod must have is spelled out.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let container = |what: &str| {
            serde_json::json!({
                "description": what,
                "type": "object",
                "required": ["name"],
                "x-kubernetes-preserve-unknown-fields": true,
                "properties": {
                    "name": {"description": "Name of the container, unique in the pod.", "type": "string", "minLength": 1}
                }
            })
        };
        json_schema!({
            "type": "object",
            "required": ["containers"],
            "x-kubernetes-preserve-unknown-fields": true,
            "properties": {
                "containers": {
                    "description": "Containers of the pod, as in core/v1.",
                    "type": "array",
                    "minItems": 1,
                    "items": container("A container, as in core/v1.")
                },
                "initContainers": {
                    "description": "Init containers of the pod, as in core/v1.",
                    "type": "array",
                    "items": container("An init container, as in core/v1.")
                }
            }
        })
    }
}
