//! Refusals of an apply that would change what others own.

use serde_json::{Value, json};

use super::managed::{Entry, Operation};
use super::path::{Element, quote, render};
use super::set::FieldSet;
use crate::status::Status;

/// A field that somebody else owns and that would get another value.
#[derive(Debug, Clone)]
pub(super) struct Conflict {
    /// By what the manager is sorted.
    identity: String,
    /// The manager as it is named in messages.
    manager: String,
    /// The field.
    pub path: Vec<Element>,
}

impl Conflict {
    /// The conflicts with one manager over these fields of it.
    pub(super) fn all(entry: &Entry, fields: &FieldSet) -> Vec<Conflict> {
        let paths = fields.paths();
        if paths.is_empty() {
            return Vec::new();
        }
        let (identity, manager) = (entry.identity(), named(entry));
        paths.into_iter().map(|path| Conflict { identity: identity.clone(), manager: manager.clone(), path }).collect()
    }
}

/// A manager as it is named in messages.
fn named(entry: &Entry) -> String {
    let mut name = quote(&entry.manager);
    if !entry.subresource.is_empty() {
        name.push_str(&format!(" with subresource {}", quote(&entry.subresource)));
    }
    if entry.operation == Operation::Update {
        name.push_str(&format!(" using {}", entry.api_version));
    }
    name
}

/// The refusal for these conflicts: 409 with a cause for each.
pub(super) fn status(conflicts: &[Conflict]) -> Status {
    let mut sorted: Vec<&Conflict> = conflicts.iter().collect();
    sorted.sort_by(|a, b| a.identity.cmp(&b.identity));
    let message = match sorted.as_slice() {
        [one] => format!("Apply failed with 1 conflict: conflict with {}: {}", one.manager, render(&one.path)),
        many => {
            let mut lines = Vec::new();
            let mut last = None;
            for conflict in many {
                if last != Some(&conflict.identity) {
                    lines.push(format!("conflicts with {}:", conflict.manager));
                    last = Some(&conflict.identity);
                }
                lines.push(format!("- {}", render(&conflict.path)));
            }
            format!("Apply failed with {} conflicts: {}", many.len(), lines.join("\n"))
        }
    };
    let causes: Vec<Value> = sorted
        .iter()
        .map(|conflict| {
            json!({
                "reason": "FieldManagerConflict",
                "message": format!("conflict with {}", conflict.manager),
                "field": render(&conflict.path),
            })
        })
        .collect();
    let mut status = Status::other(409, "Conflict", message);
    status.set_causes(causes);
    status
}
