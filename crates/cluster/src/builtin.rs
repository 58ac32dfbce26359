//! The kinds that Kubernetes itself has, as far as they are served here: their names and shapes, what is filled in, what is refused, and
//! what tables show of them.
//!
//! Types and descriptions come from `k8s-openapi`; everything that it does not know stands in tables and functions below, one module
//! for each question.

mod columns;
mod compiled;
mod decode;
mod defaults;
mod differences;
mod disruption;
pub mod events;
mod form;
mod initial;
mod inside;
mod kinds;
mod marks;
mod metadata;
mod names;
mod plugins;
mod prepare;
mod publish;
mod qos;
pub mod quantity;
mod reach;
pub mod service;
mod types;
mod unified;
mod validate;

use std::sync::Arc;

use serde_json::{Value, json};

use crate::resource::{Origin, Resource, Subresources, Version};

#[doc(hidden)]
pub use differences::differences;
pub use disruption::{bound, budget_ignores, set_condition, spend};
pub use initial::initial_objects;
pub use metadata::metadata_faults;
pub use plugins::{
    priority, protect_storage, runtime_class, service_account, taint_new_node, tolerations, topology_labels,
};
pub use prepare::{
    Verb, creates_on_update, prepare, reset_fields, returns_deleted, terminating, updates_unconditionally,
};
pub use publish::components;
pub use validate::validate;

/// All built-in kinds.
pub fn resources() -> Vec<Resource> {
    kinds::ALL.iter().map(resource).collect()
}

/// Brings an object into the form in which it is kept and fills in what its kind has by default. Unknown fields go.
pub fn default(kind: &str, group: &str, object: &mut Value) {
    if let Some(name) = type_of(kind, group) {
        form::settle(&name, object);
    }
}

/// Why JSON cannot be read as an object of a kind, if so, in the words that come after `cannot be handled as a Pod: `.
pub fn unreadable(kind: &str, group: &str, object: &Value) -> Option<String> {
    decode::fault(&type_of(kind, group)?, object)
}

/// Why metadata cannot be read, if so.
pub fn unreadable_metadata(metadata: &Value) -> Option<String> {
    decode::fault(OBJECT_META, metadata)
}

/// Brings metadata into the form in which they are kept.
pub fn settle_metadata(metadata: &mut Value) {
    form::settle(OBJECT_META, metadata);
}

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// The name of the type of a kind; also of kinds that only stand in bodies of subresources.
fn type_of(kind: &str, group: &str) -> Option<String> {
    let known = kinds::ALL.iter().find(|known| known.kind == kind && known.group == group);
    let name = match (group, kind) {
        ("policy", "Eviction") => "io.k8s.api.policy.v1.Eviction".to_owned(),
        ("autoscaling", "Scale") => "io.k8s.api.autoscaling.v1.Scale".to_owned(),
        ("authentication.k8s.io", "TokenRequest") => "io.k8s.api.authentication.v1.TokenRequest".to_owned(),
        ("" | "meta.k8s.io", "DeleteOptions") => "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions".to_owned(),
        _ => publish::type_name(known?),
    };
    Some(name)
}

fn resource(kind: &kinds::Entry) -> Resource {
    let name = publish::type_name(kind);
    let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    let version = Version {
        name: kind.version.to_owned(),
        served: true,
        deprecation: None,
        schema: compiled::schema(&name).map(Arc::clone).unwrap_or_default(),
        rules: Arc::default(),
        published: Arc::new(json!({"$ref": format!("{}{name}", types::PREFIX)})),
        subresources: Subresources { status: kind.status, scale: None, others: kind.others.to_vec() },
        columns: columns::of(kind.kind, kind.group),
        selectable: owned(kind.selectable),
    };
    Resource {
        group: kind.group.to_owned(),
        plural: kind.plural.to_owned(),
        singular: kind.kind.to_lowercase(),
        kind: kind.kind.to_owned(),
        list_kind: format!("{}List", kind.kind),
        short_names: owned(kind.short),
        categories: owned(kind.categories),
        namespaced: kind.namespaced,
        versions: vec![version],
        storage: kind.version.to_owned(),
        origin: if kind.answer { Origin::Virtual } else { Origin::BuiltIn },
    }
}

#[cfg(test)]
mod tests;
