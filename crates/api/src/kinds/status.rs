//! Pieces that the status of several kinds share.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

/// An error of the last reconcile that has not gone away.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LastError {
    /// Code of the error, for programs.
    pub code: String,
    /// What went wrong, for people.
    pub description: String,
    /// When it was last seen.
    pub observed_at: Time,
}

/// Schema of a list of conditions that merges by `type`, so that several writers can own their own conditions.
pub fn conditions_schema(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = generator.subschema_for::<Vec<Condition>>();
    schema.insert("x-kubernetes-list-type".into(), "map".into());
    schema.insert("x-kubernetes-list-map-keys".into(), serde_json::json!(["type"]));
    schema
}
