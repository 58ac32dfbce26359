//! Which fields an object has, and what follows from the schema for sets of fields.

use serde_json::Value;

use super::path::Element;
use super::set::{FieldSet, Node};
use super::shape::{Type, Way};
use crate::schema::Schema;

/// The fields that somebody owns who applies this object. Objects and lists that are not owned as a whole are only in the set where
/// they are empty or a key of a map.
pub fn fields_of(schema: &Schema, object: &Value) -> FieldSet {
    inside(Type::Root(schema), object).1
}

/// Whether the value itself is owned, and what in it.
fn inside(kind: Type<'_>, value: &Value) -> (bool, FieldSet) {
    let mut set = FieldSet::default();
    match (kind.way(value), value) {
        (Way::Scalar, _) => return (true, set),
        (Way::List, _) if kind.atomic_list() => return (true, set),
        (Way::Map, _) if kind.atomic_map() => return (true, set),
        (Way::List, Value::Array(items)) => set = by_step(kind, items, |item| inside(kind.items(), item).1),
        (Way::Map, Value::Object(fields)) => {
            set = FieldSet::with_capacity(fields.len());
            for (name, value) in fields {
                let child = kind.child(name);
                let (owned, below) = inside(child.kind, value);
                let empty = value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
                set.push(Element::Field(name.clone()), owned || empty || !child.named, below);
            }
        }
        _ => {}
    }
    (false, set)
}

/// The items of a list with the steps to them, sorted by these; items with the same step stay in order. Items without one are left out.
pub(super) fn sorted<'v>(kind: Type<'_>, items: &'v [Value]) -> Vec<(Element, &'v Value)> {
    let mut all: Vec<(Element, &Value)> = items.iter().filter_map(|item| Some((kind.item(item).ok()?, item))).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

/// The items of a list by the step to them, each step with its set of fields, if one item alone has the step, else with nothing: items
/// that cannot be told apart are owned together.
pub(super) fn by_step(kind: Type<'_>, items: &[Value], inside: impl Fn(&Value) -> FieldSet) -> FieldSet {
    let mut set = FieldSet::with_capacity(items.len());
    let mut all = sorted(kind, items).into_iter().peekable();
    while let Some((step, item)) = all.next() {
        let mut alone = true;
        while all.next_if(|(next, _)| *next == step).is_some() {
            alone = false;
        }
        set.push(step, true, if alone { inside(item) } else { FieldSet::default() });
    }
    set
}

/// The same set with the fields that the schema names and that have something below: to take away all that somebody owns is to take
/// away the objects that hold it, too.
pub(super) fn with_named(schema: &Schema, mut set: FieldSet) -> FieldSet {
    add_named(Some(Type::Root(schema)), &mut set);
    set
}

fn add_named(kind: Option<Type<'_>>, set: &mut FieldSet) {
    set.change_nodes(|node| {
        if node.below.is_empty() {
            return;
        }
        let (kind, named) = match (kind, &node.element) {
            (Some(kind), Element::Field(name)) if !matches!(kind.ways().first(), Way::Scalar | Way::List) => {
                let child = kind.child(name);
                (Some(child.kind), child.named)
            }
            (Some(kind), Element::Key(_)) => (Some(kind.items()), false),
            _ => (None, false),
        };
        node.member |= named;
        add_named(kind, &mut node.below);
    });
}

/// Brings a set to the schema of today: who owned parts of what is owned as a whole now, owns the whole.
pub(super) fn reconcile(schema: &Schema, set: &mut FieldSet) {
    set.change_nodes(|node| fit(Type::Root(schema), node));
}

fn fit(above: Type<'_>, node: &mut Node) {
    let kind = match &node.element {
        Element::Field(name) => above.child(name).kind,
        _ => above.items(),
    };
    let whole = match kind.ways().first() {
        _ if node.below.is_empty() => return,
        Way::Scalar => return,
        Way::Map if kind.is_free_map() => return,
        Way::Map => kind.atomic_map(),
        Way::List => kind.atomic_list(),
    };
    if whole {
        node.member = true;
        node.below = FieldSet::default();
    } else {
        node.below.change_nodes(|node| fit(kind, node));
    }
}
