//! kubectl's way from client-side to server-side apply: what stands in its annotation counts as its own.

use serde_json::Value;

use super::check;
use super::compare::{Change, compare};
use super::object::fields_of;
use super::path::escaped_json;
use super::set::FieldSet;
use super::writer::Writer;
use crate::schema::Schema;

/// The manager for which all this holds.
pub(super) const MANAGER: &str = "kubectl";

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// More than this in all annotations is refused.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;

/// The fields that may be taken over without force: those that client-side apply wrote last and that still have its values. `None` if it
/// never wrote, or not in this version.
pub(super) fn allowed(schema: &Schema, live: &Value, writer: &Writer<'_>) -> Option<FieldSet> {
    let last = live["metadata"]["annotations"][ANNOTATION].as_str().filter(|last| !last.is_empty())?;
    let last: Value = serde_json::from_str(last).ok()?;
    if last["apiVersion"].as_str() != Some(writer.api_version) || check::fault(schema, &last).is_some() {
        return None;
    }
    let Change { added, modified, removed } = compare(schema, &last, live);
    Some(fields_of(schema, &last).difference(&modified).difference(&added).difference(&removed))
}

/// Keeps the annotation, if there is one, in step with what is applied.
pub(super) fn follow(object: &mut Value, config: &Value) {
    let Some(annotations) = object["metadata"]["annotations"].as_object_mut() else { return };
    if annotations.get(ANNOTATION).and_then(Value::as_str).is_none_or(str::is_empty) {
        return;
    }
    let mut applied = config.clone();
    if let Some(metadata) = applied.get_mut("metadata").and_then(Value::as_object_mut)
        && let Some(Value::Object(own)) = metadata.get_mut("annotations")
    {
        own.remove(ANNOTATION);
        if own.is_empty() {
            metadata.remove("annotations");
        }
    }
    // A real server writes a line end after every object it encodes.
    annotations.insert(ANNOTATION.to_owned(), format!("{}\n", escaped_json(&applied)).into());
    let size: usize = annotations.iter().map(|(name, value)| name.len() + value.as_str().map_or(0, str::len)).sum();
    if size > ANNOTATIONS_LIMIT {
        annotations.remove(ANNOTATION);
    }
}
