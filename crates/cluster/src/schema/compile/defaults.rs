//! Whether defaults are values of the schema they stand in.

use std::sync::Arc;

use serde_json::Value;

use super::super::rules::Rules;
use super::super::validate::{validate, words};
use super::super::{Schema, prune};
use super::compile;
use super::structural::properties;
use crate::status::{Fault, What};

/// What is wrong with the defaults of a structural schema.
pub(super) fn faults(schema: &Value, path: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    check(schema, path, true, &mut faults);
    faults
}

fn check(schema: &Value, path: &str, is_root: bool, faults: &mut Vec<Fault>) {
    if let Some(default) = schema.get("default").filter(|default| !default.is_null()) {
        judge(default, &Arc::new(compile(schema)), &format!("{path}.default"), faults);
    }
    if let Some(items) = schema.get("items").filter(|items| items.is_object()) {
        check(items, &format!("{path}.items"), false, faults);
    }
    for (name, property) in properties(schema) {
        // At the root these may have no defaults at all, which is said elsewhere.
        if !(is_root && matches!(name.as_str(), "apiVersion" | "kind" | "metadata")) {
            check(property, &format!("{path}.properties[{name}]"), false, faults);
        }
    }
}

fn judge(default: &Value, schema: &Arc<Schema>, path: &str, faults: &mut Vec<Fault>) {
    let mut pruned = default.clone();
    if !prune::prune(&mut pruned, schema).is_empty() {
        faults.push(words::fault(What::Invalid, path, default, "must not have unknown fields"));
    }
    let mut found: Vec<Fault> =
        validate(default, schema).into_iter().filter(|fault| fault.what != What::Duplicate).collect();
    if found.is_empty() {
        found = Rules::of(schema).check(default, None);
    }
    faults.extend(found.into_iter().map(|fault| {
        let field = if fault.field == "<nil>" { path.to_owned() } else { format!("{path}.{}", fault.field) };
        Fault { field, ..fault }
    }));
}
