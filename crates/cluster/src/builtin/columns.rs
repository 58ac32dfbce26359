//! What tables show of built-in kinds, as a real server prints them.

mod event;
mod pod;
mod rest;

use serde_json::Value;

use super::reach::{list, text};
use crate::resource::{Column, Source};
use crate::table::age_of;

type Cell = fn(&Value, i64) -> Value;

/// The columns of a kind, without the name unless it has its own place.
pub fn of(kind: &str, group: &str) -> Vec<Column> {
    match (group, kind) {
        ("", "Pod") => pod::columns(),
        (_, "Event") => event::columns(),
        _ => rest::columns(kind, group),
    }
}

/// A column that is always shown.
fn column(name: &str, description: &str, cell: Cell) -> Column {
    Column {
        name: name.to_owned(),
        kind: "string".to_owned(),
        format: String::new(),
        description: description.to_owned(),
        priority: 0,
        source: Source::Function(cell),
    }
}

/// A column for those who want more.
fn wide(name: &str, description: &str, cell: Cell) -> Column {
    Column { priority: 1, ..column(name, description, cell) }
}

/// A column of another type than text.
fn typed(name: &str, kind: &str, description: &str, cell: Cell) -> Column {
    Column { kind: kind.to_owned(), ..column(name, description, cell) }
}

fn age_column() -> Column {
    column("Age", "How long ago the object was made.", |object, now| age(object, "metadata.creationTimestamp", now))
}

/// The moment itself, for kinds without columns of their own.
fn created_column() -> Column {
    typed("Created At", "date", "When the object was made.", |object, _| {
        text(object, "metadata.creationTimestamp").into()
    })
}

fn age(object: &Value, path: &str, now: i64) -> Value {
    age_of(text(object, path), now).into()
}

/// Text at a path, or these words if there is none.
fn text_or(object: &Value, path: &str, otherwise: &str) -> Value {
    match text(object, path) {
        "" => otherwise.into(),
        text => text.into(),
    }
}

/// Text of a list's members with commas in between.
fn joined(object: &Value, path: &str, separator: &str) -> String {
    list(object, path).iter().filter_map(Value::as_str).collect::<Vec<_>>().join(separator)
}
