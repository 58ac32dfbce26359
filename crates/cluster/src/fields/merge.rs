//! Server-side apply's merge: what is applied is laid over what is there, by the schema; and the reverse, taking fields away.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::path::Element;
use super::set::FieldSet;
use super::shape::{Type, Way};
use crate::schema::Schema;

/// Lays `config` over `live`. The configuration has been checked before, so that its items can be told apart.
pub(super) fn merge(schema: &Schema, live: &Value, config: &Value) -> Value {
    at(Type::Root(schema), Some(live), Some(config)).unwrap_or(Value::Null)
}

fn at(kind: Type<'_>, live: Option<&Value>, config: Option<&Value>) -> Option<Value> {
    let (before, after) = (kind.ways().seen(live), kind.ways().seen(config));
    // Where the sort of value changes, what is applied decides how both are looked at.
    let way = if config.is_none() { before.first() } else { after.first() };
    let whole = || config.or(live).cloned();
    match way {
        Way::Scalar => whole(),
        Way::Map => {
            let (left, right) = (live.and_then(Value::as_object), config.and_then(Value::as_object));
            let empty = left.is_none_or(Map::is_empty) && right.is_none_or(Map::is_empty);
            if kind.atomic_map() || empty { whole() } else { maps(kind, left, right) }
        }
        Way::List => {
            let (left, right) = (live.and_then(Value::as_array), config.and_then(Value::as_array));
            let empty = left.is_none_or(Vec::is_empty) && right.is_none_or(Vec::is_empty);
            if kind.atomic_list() || empty {
                return whole();
            }
            lists(kind, left.map_or(&[], Vec::as_slice), right.map_or(&[], Vec::as_slice))
        }
    }
}

fn maps(kind: Type<'_>, live: Option<&Map<String, Value>>, config: Option<&Map<String, Value>>) -> Option<Value> {
    let mut merged = Map::new();
    for (name, value) in live.into_iter().flatten() {
        if let Some(value) = at(kind.child(name).kind, Some(value), config.and_then(|config| config.get(name))) {
            merged.insert(name.clone(), value);
        }
    }
    for (name, value) in config.into_iter().flatten() {
        if live.is_none_or(|live| !live.contains_key(name))
            && let Some(value) = at(kind.child(name).kind, None, Some(value))
        {
            merged.insert(name.clone(), value);
        }
    }
    (!merged.is_empty()).then_some(Value::Object(merged))
}

/// Lists of items that can be told apart. What is applied comes in the order in which it is applied; items of others stay as near to
/// their neighbours as that order allows.
fn lists(kind: Type<'_>, live: &[Value], config: &[Value]) -> Option<Value> {
    let steps = |items: &[Value]| -> Vec<Element> { items.iter().filter_map(|item| kind.item(item).ok()).collect() };
    let (left, right) = (steps(live), steps(config));
    if left.len() != live.len() || right.len() != config.len() {
        return Some(Value::Array(config.to_vec()));
    }
    // Items of the live list that cannot be told apart are not merged with anything.
    let mut there: BTreeMap<&Element, Option<&Value>> = BTreeMap::new();
    for (step, item) in left.iter().zip(live) {
        there.entry(step).and_modify(|seen| *seen = None).or_insert(Some(item));
    }
    let applied: BTreeMap<&Element, &Value> = right.iter().zip(config).collect();
    let mut shared = right.iter().filter(|step| there.contains_key(step));
    let mut next = shared.next();
    let mut taken: BTreeSet<&Element> = BTreeSet::new();
    let mut merged = Vec::with_capacity(left.len().max(right.len()));
    let both = |step: &Element| {
        let live = there.get(step).map(|item| item.unwrap_or(&Value::Null));
        at(kind.items(), live, applied.get(step).copied())
    };

    let (mut l, mut r) = (0, 0);
    while l < left.len() || r < right.len() {
        if let (Some(mine), Some(theirs)) = (left.get(l), right.get(r)) {
            if mine == theirs {
                taken.insert(mine);
                merged.extend(both(mine));
                (l, r, next) = (l + 1, r + 1, shared.next());
                continue;
            }
            if applied.contains_key(mine) && next.is_some_and(|next| next != mine) {
                // It comes later, where the applied order has it.
                l += 1;
                continue;
            }
        }
        if let Some(mine) = left.get(l) {
            if !applied.contains_key(mine) {
                merged.extend(at(kind.items(), live.get(l), None));
                l += 1;
                continue;
            }
            if taken.contains(mine) {
                l += 1;
            }
        }
        if let Some(theirs) = right.get(r) {
            taken.insert(theirs);
            merged.extend(both(theirs));
            r += 1;
            if next == Some(theirs) {
                next = shared.next();
            }
        }
    }
    (!merged.is_empty()).then_some(Value::Array(merged))
}

/// The object without these fields. What becomes empty by it is `null`, as on a real server.
pub(super) fn remove(schema: &Schema, object: &Value, fields: &FieldSet) -> Value {
    without(Type::Root(schema), object, fields)
}

fn without(kind: Type<'_>, value: &Value, fields: &FieldSet) -> Value {
    match (kind.way(value), value) {
        (Way::Scalar, value) => value.clone(),
        (Way::Map, Value::Object(map)) if !kind.atomic_map() => {
            let mut kept = Map::new();
            for (name, value) in map {
                match fields.get(&Element::Field(name.clone())) {
                    Some(node) if node.member => {}
                    Some(node) => _ = kept.insert(name.clone(), without(kind.child(name).kind, value, &node.below)),
                    None => _ = kept.insert(name.clone(), value.clone()),
                }
            }
            if kept.is_empty() { Value::Null } else { Value::Object(kept) }
        }
        (Way::List, Value::Array(items)) if !kind.atomic_list() => {
            let mut kept = Vec::new();
            for item in items {
                match kind.item(item).ok().and_then(|step| fields.get(&step)) {
                    Some(node) if node.member => {}
                    Some(node) => kept.push(without(kind.items(), item, &node.below)),
                    None => kept.push(item.clone()),
                }
            }
            if kept.is_empty() { Value::Null } else { Value::Array(kept) }
        }
        _ => Value::Null,
    }
}
