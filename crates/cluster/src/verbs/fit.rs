//! An object is fitted to what its verb may touch, and refused if it breaks the rules of its kind.

use serde_json::Value;

use super::Call;
use super::metadata::{self, text};
use crate::builtin::{self, Verb};
use crate::schema::validate;
use crate::status::{Fault, Status};

impl Call {
    /// Fits an object to what the verb may touch.
    pub(super) fn prepare(&self, verb: Verb, object: &mut Value, live: Option<&Value>) {
        if !self.resource.is_custom() {
            let wanted_finalizers = object["spec"].get("finalizers").cloned();
            builtin::prepare(&self.resource.kind, &self.resource.group, verb, object, live);
            if self.subresource == "finalize" {
                set_in(object, "spec", "finalizers", wanted_finalizers);
            }
            super::definitions::prepare(self, verb, object, live);
            if self.resource.kind == "Service" && verb != Verb::UpdateStatus {
                self.give_address(object, live);
            }
            return;
        }
        let status = self.version().subresources.status;
        match (verb, live) {
            (Verb::Create, _) | (_, None) => {
                if status && let Some(object) = object.as_object_mut() {
                    object.remove("status");
                }
                metadata::set(object, "generation", Some(1.into()));
            }
            (Verb::UpdateStatus, Some(live)) => {
                let managed = object["metadata"].get("managedFields").cloned();
                let status = object.get("status").cloned();
                *object = live.clone();
                metadata::set(object, "managedFields", managed);
                set(object, "status", status);
            }
            (Verb::Update, Some(live)) => {
                if status {
                    set(object, "status", live.get("status").cloned());
                }
                if !same_but_metadata(object, live) {
                    let generation = live["metadata"]["generation"].as_i64().unwrap_or(0) + 1;
                    metadata::set(object, "generation", Some(generation.into()));
                }
            }
        }
    }

    /// Refuses what breaks the rules of its kind.
    pub(super) fn judge(&self, object: &mut Value, live: Option<&Value>) -> Result<(), Status> {
        let name = text(object, "name").to_owned();
        let mut faults = builtin::metadata_faults(&self.resource, object, live, &self.subresource);
        if self.resource.is_custom() {
            faults = self.judge_custom(object, live, faults);
            whole_numbers(object);
        } else {
            let (kind, group) = (&self.resource.kind, &self.resource.group);
            faults.extend(builtin::validate(kind, group, object, live, &self.subresource));
            faults.extend(super::definitions::faults(self, object, live));
        }
        if faults.is_empty() {
            self.single_owners(object);
            self.warn_of_finalizers(object, live);
            return Ok(());
        }
        let about = self.resource.about_kind(&name);
        // Faults of events are told of the older shape, in which they are judged.
        let group = if super::read::is_other_event(&self.resource) { "" } else { about.group };
        Err(Status::invalid(crate::status::About { group, ..about }, &faults))
    }

    fn judge_custom(&self, object: &Value, live: Option<&Value>, known: Vec<Fault>) -> Vec<Fault> {
        let version = self.version();
        let scale = super::scale::faults(self, object);
        let status = version.schema.properties.get("status").filter(|_| self.subresource == "status");
        let verdict = match status {
            None => validate::judge(object, live, &version.schema, &version.rules, known, scale),
            Some(status) => {
                // Who writes a status hears of it alone, as if it were an object of its own.
                let nothing = Value::Null;
                let (new, old) = (object.get("status").unwrap_or(&nothing), live.and_then(|live| live.get("status")));
                let placed = |mut fault: Fault| {
                    fault.field =
                        if fault.field.is_empty() { "status".to_owned() } else { format!("status.{}", fault.field) };
                    fault
                };
                let found = if new.is_null() { Vec::new() } else { validate::validate_status(new, old, status) };
                let known = known.into_iter().chain(found.into_iter().map(placed)).chain(scale).collect();
                validate::judge_by_rules(object, live, &version.rules, known)
            }
        };
        verdict.warnings.into_iter().for_each(|warning| self.warn(warning));
        verdict.faults
    }
}

fn set(object: &mut Value, field: &str, value: Option<Value>) {
    let Some(object) = object.as_object_mut() else { return };
    match value {
        Some(value) => drop(object.insert(field.to_owned(), value)),
        None => drop(object.remove(field)),
    }
}

fn set_in(object: &mut Value, part: &str, field: &str, value: Option<Value>) {
    let Some(part) = object.get_mut(part).and_then(Value::as_object_mut) else { return };
    match value.filter(|value| value.as_array().is_none_or(|list| !list.is_empty())) {
        Some(value) => drop(part.insert(field.to_owned(), value)),
        None => drop(part.remove(field)),
    }
}

/// A number that is whole is written as one, whatever the client wrote.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let float = number.as_f64().unwrap_or_default();
            // Beyond this, floats have gaps.
            if float.fract() == 0.0 && float.abs() < 9e15 {
                #[expect(clippy::cast_possible_truncation, reason = "it is whole and small enough")]
                let whole = float as i64;
                *value = whole.into();
            }
        }
        Value::Array(list) => list.iter_mut().for_each(whole_numbers),
        Value::Object(map) => map.values_mut().for_each(whole_numbers),
        _ => {}
    }
}

/// Whether two objects say the same, whatever their metadata say.
fn same_but_metadata(one: &Value, other: &Value) -> bool {
    let (Some(one), Some(other)) = (one.as_object(), other.as_object()) else { return one == other };
    let relevant = |key: &&String| *key != "metadata" && *key != "apiVersion" && *key != "kind";
    one.keys().filter(relevant).all(|key| one.get(key) == other.get(key))
        && other.keys().filter(relevant).all(|key| one.contains_key(key))
}
