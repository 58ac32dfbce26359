//! Lists whose members are told apart: no two may be the same, and each has a counterpart in the list that was there before.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Map, Value};

use super::super::{ListType, Schema};
use super::keys;
use super::path::Path;
use super::words;
use crate::status::{Fault, What};

/// Up to so many members, comparing each with each is faster than writing them down.
const FEW: usize = 24;

/// Finds duplicates in sets and in lists with keys.
pub(super) fn check(value: &Value, schema: &Schema, path: &Path<'_>, faults: &mut Vec<Fault>) {
    match value {
        Value::Array(items) => {
            if schema.list != ListType::Atomic {
                duplicates(items, &schema.list, path, faults);
            }
            if let Some(item_schema) = &schema.items {
                for (index, item) in items.iter().enumerate() {
                    check(item, item_schema, &path.index(index), faults);
                }
            }
        }
        Value::Object(fields) => {
            if let Some(additional) = &schema.additional {
                for (name, field) in fields {
                    check(field, additional, &path.key(name), faults);
                }
            }
            for (name, field) in fields {
                // Whoever decodes metadata looks after it.
                let skipped = path.is_root() && name == "metadata";
                if let Some(property) = schema.properties.get(name).filter(|_| !skipped) {
                    check(field, property, &path.field(name), faults);
                }
            }
        }
        _ => {}
    }
}

fn duplicates(items: &[Value], list: &ListType, path: &Path<'_>, faults: &mut Vec<Fault>) {
    let keyed = keys(list);
    if keyed.is_some()
        && let Some(index) = items.iter().position(|item| !item.is_null() && !item.is_object())
    {
        let detail = "must be an object for an array of list-type map";
        faults.push(words::fault(What::Invalid, path.index(index).bracketed(), &items[index], detail));
        return;
    }
    if items.len() < 2 {
        return;
    }
    let identity = |item: &Value| keyed.map_or_else(|| item.clone(), |keys| identity(item, keys));
    if items.len() <= FEW {
        let same = |one: &Value, other: &Value| match keyed {
            Some(keys) => keys.iter().all(|key| one.get(key) == other.get(key)),
            None => one == other,
        };
        let times = |index: usize| items[..index].iter().filter(|other| same(&items[index], other)).count();
        // The first repetition stands for all.
        for index in (0..items.len()).filter(|index| times(*index) == 1) {
            faults.push(words::fault(What::Duplicate, path.index(index).bracketed(), &identity(&items[index]), ""));
        }
        return;
    }
    let mut seen: HashMap<String, usize> = HashMap::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let identity = identity(item);
        let times = seen.entry(identity.to_string()).or_default();
        *times += 1;
        if *times == 2 {
            faults.push(words::fault(What::Duplicate, path.index(index).bracketed(), &identity, ""));
        }
    }
}

fn identity(item: &Value, keys: &[String]) -> Value {
    let key = |key: &String| item.get(key).map(|value| (key.clone(), value.clone()));
    Value::Object(keys.iter().filter_map(key).collect::<Map<_, _>>())
}

/// What a member of a list was before, where keys tell.
pub(crate) fn counterpart<'a>(item: &Value, old: &'a Value, list: &ListType) -> Option<&'a Value> {
    let keys = keys(list)?;
    let same = |other: &&Value| keys.iter().all(|key| other.get(key) == item.get(key));
    old.as_array()?.iter().find(same)
}

/// The old value with its sets and its lists with keys in the order of the new one.
pub(crate) fn aligned<'a>(old: &'a Value, new: &Value, schema: &Schema) -> Cow<'a, Value> {
    if !has_unordered(schema) {
        return Cow::Borrowed(old);
    }
    match (old, new) {
        (Value::Object(before), Value::Object(now)) => {
            let field = |(name, before): (&String, &Value)| {
                let value = match (now.get(name), schema.field(name)) {
                    (Some(now), Some(schema)) => aligned(before, now, schema).into_owned(),
                    _ => before.clone(),
                };
                (name.clone(), value)
            };
            Cow::Owned(Value::Object(before.iter().map(field).collect()))
        }
        (Value::Array(before), Value::Array(now)) => {
            let same = |one: &Value, other: &Value| match &schema.list {
                ListType::Set => one == other,
                ListType::Map(keys) => keys.iter().all(|key| one.get(key) == other.get(key)),
                ListType::Atomic => false,
            };
            let place = |item: &Value| now.iter().position(|other| same(item, other));
            let mut items: Vec<&Value> = before.iter().collect();
            if schema.list != ListType::Atomic {
                items.sort_by_cached_key(|item| place(item).unwrap_or(usize::MAX));
            }
            let item = |item: &Value| match (place(item), &schema.items) {
                (Some(index), Some(schema)) => aligned(item, &now[index], schema).into_owned(),
                _ => item.clone(),
            };
            Cow::Owned(Value::Array(items.into_iter().map(item).collect()))
        }
        _ => Cow::Borrowed(old),
    }
}

fn has_unordered(schema: &Schema) -> bool {
    schema.list != ListType::Atomic
        || schema.properties.iter().any(|(name, property)| name != "metadata" && has_unordered(property))
        || schema.additional.as_deref().is_some_and(has_unordered)
        || schema.items.as_deref().is_some_and(has_unordered)
}

/// Whether a value is what it was. Order does not count where keys tell members apart; what the schema does not describe counts as
/// changed, as a real server has it.
pub(crate) fn unchanged(new: &Value, old: &Value, schema: &Schema) -> bool {
    match (new, old) {
        (Value::Object(new), Value::Object(old)) => {
            new.len() == old.len()
                && old.iter().all(|(name, before)| {
                    let field = schema.field(name).filter(|field| !field.is_bare());
                    new.get(name).zip(field).is_some_and(|(now, field)| unchanged(now, before, field))
                })
        }
        (Value::Array(now), Value::Array(before)) => match (keys(&schema.list), &schema.items) {
            (Some(_), Some(items)) => {
                now.len() == before.len()
                    && now.iter().all(|item| {
                        counterpart(item, old, &schema.list).is_some_and(|before| unchanged(item, before, items))
                    })
            }
            _ => now == before,
        },
        _ => new == old,
    }
}
