//! Strategic merge patches: objects are merged field by field, lists by what the schema says of them. Fields that start with `$` in the
//! patch are orders to the server, not data:
//!
//! - `$patch`: `delete` or `replace` an object, or a member of a list;
//! - `$retainKeys`: every other field of the object goes;
//! - `$deleteFromPrimitiveList/NAME`: members that leave the list of plain values;
//! - `$setElementOrder/NAME`: the order of the list.

mod order;

use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value};

use super::words::{misplaced, shown, type_name};
use super::{drop_nulls, rejected};
use crate::schema::{Schema, Shape};
use crate::status::Status;

type Fields = Map<String, Value>;

const PATCH: &str = "$patch";
const RETAIN: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList";
const SET_ORDER: &str = "$setElementOrder";

/// The target with a strategic merge patch applied, by the schema of its kind.
pub fn strategic(schema: &Schema, target: &Value, patch: &Value) -> Result<Value, Status> {
    if patch.is_null() {
        return Ok(target.clone());
    }
    let patch = super::object(patch).map_err(Status::bad_request)?.clone();
    let target = target.as_object().cloned().unwrap_or_default();
    merge_fields(target, patch, schema).map(Value::Object)
}

/// What a real server says of patches that it did not foresee: no reason is given.
fn broken(message: impl Into<String>) -> Status {
    Status::other(500, "", message)
}

fn merge_fields(mut target: Fields, mut patch: Fields, schema: &Schema) -> Result<Fields, Status> {
    if let Some(order) = patch.get(PATCH) {
        return match order.as_str() {
            Some("replace") => {
                patch.remove(PATCH);
                Ok(patch)
            }
            Some("delete") => Ok(Fields::new()),
            _ => Err(unknown_order(&patch)),
        };
    }
    retain(&mut target, &mut patch)?;
    order::set(&mut target, &mut patch, schema)?;
    for (name, value) in patch {
        merge_field(&mut target, name, value, schema)?;
    }
    Ok(target)
}

fn unknown_order(patch: &Fields) -> Status {
    let order = misplaced(patch.get(PATCH).unwrap_or(&Value::Null));
    broken(format!("unknown patch type: {order} in map: {}", shown(&Value::Object(patch.clone()))))
}

fn retain(target: &mut Fields, patch: &mut Fields) -> Result<(), Status> {
    let Some(names) = patch.remove(RETAIN) else { return Ok(()) };
    let refuse = || Status::bad_request("invalid patch format of retainKeys");
    let names = names.as_array().ok_or_else(refuse)?;
    let kept = |name: &str| names.iter().any(|kept| kept == name);
    let order = |name: &str| name.starts_with(DELETE_FROM) || name.starts_with(SET_ORDER);
    if patch.iter().any(|(name, value)| !value.is_null() && !order(name) && !kept(name)) {
        return Err(refuse());
    }
    target.retain(|name, _| kept(name));
    Ok(())
}

fn merge_field(target: &mut Fields, name: String, value: Value, schema: &Schema) -> Result<(), Status> {
    let deletion = name.starts_with(DELETE_FROM);
    let name = if deletion { after_prefix(&name, DELETE_FROM, "primitive list")? } else { name };
    if value.is_null() {
        target.remove(&name);
        return Ok(());
    }
    let field = schema.field(&name).map_or(&*ANYTHING, Arc::as_ref);
    let merged = match (target.remove(&name), value) {
        (Some(Value::Object(old)), Value::Object(new)) if !field.merge.replace => {
            Some(Value::Object(merge_fields(old, new, field)?))
        }
        (Some(Value::Array(old)), Value::Array(new)) if deletion => Some(Value::Array(without(old, &new, field)?)),
        (Some(Value::Array(old)), Value::Array(new)) => Some(Value::Array(merge_lists(old, new, field)?)),
        (old, _) if deletion => old,
        (_, mut new) => {
            drop_nulls(&mut new);
            without_orders(new)
        }
    };
    if let Some(merged) = merged {
        target.insert(name, merged);
    }
    Ok(())
}

/// Stands in where the schema says nothing.
static ANYTHING: LazyLock<Schema> = LazyLock::new(Schema::default);

/// The name of the list that an order is about.
fn after_prefix(name: &str, prefix: &str, what: &str) -> Result<String, Status> {
    let rest = name.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('/'));
    rest.map(str::to_owned).ok_or_else(|| Status::bad_request(format!("invalid patch format of {what}")))
}

fn without(old: Vec<Value>, gone: &[Value], field: &Schema) -> Result<Vec<Value>, Status> {
    if member_type(&old, gone)? == Some("map[string]interface {}") {
        // Orders of this sort are for plain values; a real server merges the members all the same.
        return merge_lists(old, gone.to_vec(), field);
    }
    Ok(old.into_iter().filter(|member| !gone.contains(member)).collect())
}

/// A list that the schema does not merge is replaced as a whole.
fn merge_lists(old: Vec<Value>, new: Vec<Value>, field: &Schema) -> Result<Vec<Value>, Status> {
    if !field.merge.merge {
        return Ok(new);
    }
    let Some(kind) = member_type(&old, &new)? else { return Ok(old) };
    let key = field.merge.key.as_deref();
    if kind != "map[string]interface {}" {
        let mut all: Vec<Value> = Vec::with_capacity(old.len() + new.len());
        for member in old.iter().chain(&new) {
            if !all.contains(member) {
                all.push(member.clone());
            }
        }
        return order::interleave(all, &new, &old, key);
    }
    let members = field.items.as_ref().map_or(&*ANYTHING, Arc::as_ref);
    let Some(key) = key else {
        let kind = if members.shape == Shape::String { "string" } else { "struct" };
        return Err(broken(format!("cannot merge lists without merge key for {kind}")));
    };
    let (old, new) = carry_out(old, new, key)?;
    let mut merged = old.clone();
    for member in &new {
        merge_member(&mut merged, member, key, members)?;
    }
    order::interleave(merged, &new, &old, Some(key))
}

/// Carries out what `$patch` says in members of a list of objects, and leaves the members that are data.
fn carry_out(mut old: Vec<Value>, new: Vec<Value>, key: &str) -> Result<(Vec<Value>, Vec<Value>), Status> {
    let mut data = Vec::with_capacity(new.len());
    let mut replace = false;
    for member in new {
        let fields = member.as_object();
        match fields.and_then(|fields| fields.get(PATCH)).map(Value::as_str) {
            None => data.push(member),
            Some(Some("replace")) => replace = true,
            Some(Some("delete")) => {
                let gone = member.get(key).ok_or_else(|| no_key(&member, key))?;
                old.retain(|candidate| candidate.get(key) != Some(gone));
            }
            Some(Some("merge")) => return Err(broken("merging lists cannot yet be specified in the patch")),
            Some(_) => return Err(fields.map_or_else(|| broken(""), unknown_order)),
        }
    }
    Ok(if replace { (data, Vec::new()) } else { (old, data) })
}

fn merge_member(merged: &mut Vec<Value>, member: &Value, key: &str, schema: &Schema) -> Result<(), Status> {
    let value = member.get(key).ok_or_else(|| no_key(member, key))?;
    match merged.iter_mut().find(|candidate| candidate.get(key) == Some(value)) {
        Some(Value::Object(old)) => {
            let fields = member.as_object().cloned().unwrap_or_default();
            *old = merge_fields(std::mem::take(old), fields, schema)?;
        }
        // Orders inside of a new member are not carried out, and go with other fields that nobody knows.
        _ => merged.push(member.clone()),
    }
    Ok(())
}

fn no_key(member: &Value, key: &str) -> Status {
    broken(format!("map: {} does not contain declared merge key: {key}", shown(member)))
}

fn wrong_type(expected: &str, value: &Value) -> Status {
    broken(format!("expected a {expected}, but received a {}", type_name(value)))
}

/// The one type that all members of both lists have; none if there are no members.
fn member_type(old: &[Value], new: &[Value]) -> Result<Option<&'static str>, Status> {
    let mut kinds = old.iter().chain(new).map(type_name);
    let Some(first) = kinds.next() else { return Ok(None) };
    if first == "[]interface {}" {
        return Err(rejected());
    }
    if kinds.any(|kind| kind != first) {
        let lists = Value::Array(vec![Value::Array(old.to_vec()), Value::Array(new.to_vec())]);
        return Err(broken(format!("list element types are not identical: {}", shown(&lists))));
    }
    Ok(Some(first))
}

/// A new value without the objects in it that are only orders.
fn without_orders(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(PATCH) => None,
        Value::Object(fields) => {
            let kept = fields.into_iter().filter_map(|(name, value)| Some((name, without_orders(value)?)));
            Some(Value::Object(kept.collect()))
        }
        Value::Array(members) => Some(Value::Array(members.into_iter().filter_map(without_orders).collect())),
        other => Some(other),
    }
}

#[cfg(test)]
mod tests;
