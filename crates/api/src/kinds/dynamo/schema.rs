//! Schemas of what has no type of its own: kept as it was written, with as much of a form as it must have.

use super::v1alpha1::Service;
use crate::schema::derived;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

/// An object of which nothing is demanded.
pub fn open_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

/// A quantity such as `8Gi`, or a number.
pub fn quantity(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "x-kubernetes-int-or-string": true })
}

/// A list of objects that each have a name.
fn named(what: &str, name: &str) -> Schema {
    json_schema!({
        "type": "array",
        "items": {
            "description": what,
            "type": "object",
            "required": ["name"],
            "x-kubernetes-preserve-unknown-fields": true,
            "properties": { "name": { "description": name, "type": "string", "minLength": 1 } }
        }
    })
}

/// Environment variables, as in core/v1.
pub fn variables(_: &mut SchemaGenerator) -> Schema {
    named("A variable, as in core/v1.", "Name of the variable.")
}

/// Mounts of volumes.
pub fn mounts(_: &mut SchemaGenerator) -> Schema {
    named(
        "A mount: `name`, `mountPoint`, `useAsCompilationCache`.",
        "Name of the volume, or of the claim that is mounted.",
    )
}

/// Services as a list or as a map: one schema of an API server cannot say both, so there it takes anything, and admission looks closer.
pub fn services(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "x-kubernetes-preserve-unknown-fields": true })
}

/// The main container beside the fields of a pod spec.
pub fn extra_pod_spec(_: &mut SchemaGenerator) -> Schema {
    let containers = |what: &str, one: &str| {
        let mut list = named(one, "Name of the container, unique in the pod.");
        list.insert("description".to_owned(), what.into());
        list
    };
    json_schema!({
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": true,
        "properties": {
            "mainContainer": {
                "description": "The container that runs the service, as in core/v1; its name is `main`.",
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": true
            },
            "containers": containers("Further containers of the pod.", "A container, as in core/v1."),
            "initContainers": containers("Init containers of the pod.", "An init container, as in core/v1.")
        }
    })
}

/// What a list of services has to look like.
pub fn services_list() -> Value {
    let mut item = derived::<Service>();
    item["properties"]["name"] = json!({"type": "string", "minLength": 1, "maxLength": 63});
    item["required"] = json!(["name"]);
    json!({ "type": "array", "items": item })
}

/// What a map of services has to look like.
pub fn map_of_services() -> Value {
    json!({ "type": "object", "additionalProperties": derived::<Service>() })
}
