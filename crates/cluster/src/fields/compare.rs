//! What is different between two objects, as sets of fields.

use serde_json::{Map, Value};

use super::object::{by_step, sorted};
use super::path::{Element, equal};
use super::set::FieldSet;
use super::shape::{Type, Way};
use crate::schema::Schema;

/// What has to be done to one object to get the other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// Fields that only the second has, objects and lists that come with them included.
    pub added: FieldSet,
    /// Fields with another value.
    pub modified: FieldSet,
    /// Fields that only the first has, objects and lists that go with them included.
    pub removed: FieldSet,
}

impl Change {
    /// Forgets what lies at or below these fields.
    pub(super) fn without(mut self, fields: &FieldSet) -> Self {
        for set in [&mut self.added, &mut self.modified, &mut self.removed] {
            *set = std::mem::take(set).recursive_difference(fields);
        }
        self
    }

    fn push(&mut self, found: Found, element: impl Fn() -> Element) {
        let Found { added, modified, removed, change } = found;
        for (set, member, below) in [
            (&mut self.added, added, change.added),
            (&mut self.modified, modified, change.modified),
            (&mut self.removed, removed, change.removed),
        ] {
            if member || !below.is_empty() {
                set.push(element(), member, below);
            }
        }
    }
}

/// What is different at a place: the value itself, and what lies below.
#[derive(Default)]
struct Found {
    added: bool,
    modified: bool,
    removed: bool,
    change: Change,
}

/// Compares two objects of a kind.
pub fn compare(schema: &Schema, old: &Value, new: &Value) -> Change {
    at(Type::Root(schema), Some(old), Some(new)).change
}

fn at(kind: Type<'_>, old: Option<&Value>, new: Option<&Value>) -> Found {
    let mut found = Found::default();
    match (old, new) {
        (Some(old), Some(new)) => {
            let (before, after) = (kind.ways().seen(Some(old)), kind.ways().seen(Some(new)));
            if before != after {
                // The value is of another sort now: what it was goes, what it is comes.
                look(kind, before.first(), old, new, &mut found);
            }
            look(kind, after.first(), old, new, &mut found);
        }
        (None, Some(new)) => (found.added, found.change.added) = (true, everything(kind, new)),
        (Some(old), None) => (found.removed, found.change.removed) = (true, everything(kind, old)),
        (None, None) => {}
    }
    found
}

/// All that lies in a value that comes or goes, objects and lists included.
fn everything(kind: Type<'_>, value: &Value) -> FieldSet {
    match (kind.way(value), value) {
        (Way::Map, Value::Object(fields)) if !kind.atomic_map() => {
            let mut set = FieldSet::with_capacity(fields.len());
            for (name, value) in fields {
                set.push(Element::Field(name.clone()), true, everything(kind.child(name).kind, value));
            }
            set
        }
        (Way::List, Value::Array(items)) if !kind.atomic_list() => {
            by_step(kind, items, |item| everything(kind.items(), item))
        }
        _ => FieldSet::default(),
    }
}

/// Looks at both values in one way.
fn look(kind: Type<'_>, way: Way, old: &Value, new: &Value, found: &mut Found) {
    match way {
        Way::Map if !kind.atomic_map() => {
            let (left, right) = (old.as_object(), new.as_object());
            if !left.is_none_or(Map::is_empty) || !right.is_none_or(Map::is_empty) {
                return maps(kind, left, right, &mut found.change);
            }
        }
        Way::List if !kind.atomic_list() => {
            let left = old.as_array().map_or(&[][..], Vec::as_slice);
            let right = new.as_array().map_or(&[][..], Vec::as_slice);
            if !left.is_empty() || !right.is_empty() {
                if left != right {
                    lists(kind, left, right, &mut found.change);
                }
                return;
            }
        }
        _ => {}
    }
    found.modified |= !equal(old, new);
}

fn maps(kind: Type<'_>, old: Option<&Map<String, Value>>, new: Option<&Map<String, Value>>, change: &mut Change) {
    for (name, before) in old.into_iter().flatten() {
        let after = new.and_then(|new| new.get(name));
        change.push(at(kind.child(name).kind, Some(before), after), || Element::Field(name.clone()));
    }
    for (name, after) in new.into_iter().flatten() {
        if old.is_none_or(|old| !old.contains_key(name)) {
            change.push(at(kind.child(name).kind, None, Some(after)), || Element::Field(name.clone()));
        }
    }
}

fn lists(kind: Type<'_>, old: &[Value], new: &[Value], change: &mut Change) {
    let (left, right) = (sorted(kind, old), sorted(kind, new));
    let (mut left, mut right) = (left.as_slice(), right.as_slice());
    while let Some(step) = match (left.first(), right.first()) {
        (Some((a, _)), Some((b, _))) => Some(a.min(b)),
        (Some((one, _)), None) | (None, Some((one, _))) => Some(one),
        (None, None) => None,
    } {
        let before = take(&mut left, step);
        let after = take(&mut right, step);
        change.push(items(kind.items(), before, after), || step.clone());
    }
}

/// Takes the items with this step off the front.
fn take<'a, 'v>(all: &mut &'a [(Element, &'v Value)], step: &Element) -> &'a [(Element, &'v Value)] {
    let count = all.iter().take_while(|(next, _)| next == step).count();
    let (taken, rest) = all.split_at(count);
    *all = rest;
    taken
}

/// Compares the items that one step leads to. More than one on a side are taken as a whole.
fn items(kind: Type<'_>, old: &[(Element, &Value)], new: &[(Element, &Value)]) -> Found {
    match (old, new) {
        ([] | [_], [] | [_]) => at(kind, old.first().map(|(_, item)| *item), new.first().map(|(_, item)| *item)),
        ([_, _, ..], [_, _, ..]) => {
            let same = old.len() == new.len() && old.iter().zip(new).all(|((_, a), (_, b))| equal(a, b));
            Found { modified: !same, ..Found::default() }
        }
        ([_, _, ..], _) => {
            let found = new.first().map_or_else(Found::default, |(_, new)| at(kind, None, Some(new)));
            Found { removed: true, ..found }
        }
        _ => {
            let found = old.first().map_or_else(Found::default, |(_, old)| at(kind, Some(old), None));
            Found { added: true, ..found }
        }
    }
}
