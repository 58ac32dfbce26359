//! Tables, as `kubectl get` asks for them: which columns there are, what stands in the cells, and what of each object goes along.

mod age;
mod cell;

pub use age::{age, age_of};

use serde_json::{Value, json};

use crate::jsonpath::Path;
use crate::resource::{Column, Source};
use crate::status::Status;

const API_VERSION: &str = "meta.k8s.io/v1";

const NAME: &str = "What the object is called among those of its kind and namespace.";

const AGE: &str = "How long ago the object was made.";

/// What goes along with each row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Include {
    /// The cells alone.
    None,
    /// The object's metadata.
    #[default]
    Metadata,
    /// The whole object.
    Object,
}

impl Include {
    /// Reads the query parameter `includeObject`.
    pub fn parse(text: &str) -> Result<Self, Status> {
        match text {
            "None" => Ok(Self::None),
            "" | "Metadata" => Ok(Self::Metadata),
            "Object" => Ok(Self::Object),
            other => Err(Status::bad_request(format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: {other:?}: \
                 must be 'Metadata', 'Object', 'None', or empty"
            ))),
        }
    }
}

/// The columns of a custom kind that defines none: the age.
pub fn default_columns() -> Vec<Column> {
    vec![Column {
        name: "Age".to_owned(),
        kind: "date".to_owned(),
        format: String::new(),
        description: AGE.to_owned(),
        priority: 0,
        source: Source::Path(".metadata.creationTimestamp".to_owned()),
    }]
}

/// A table of objects. `metadata` is that of the list; of a single object or an event, its `resourceVersion` alone. A watch has headers
/// in its first event only.
pub fn table<'a>(
    columns: &[Column],
    objects: impl IntoIterator<Item = &'a Value>,
    metadata: &Value,
    now_seconds: i64,
    include: Include,
    with_headers: bool,
) -> Value {
    let headers = if with_headers { headers(columns) } else { Value::Null };
    let cells: Vec<Cells> = columns.iter().map(Cells::new).collect();
    let named = !names_itself(columns);
    let row = |object: &Value| {
        let name = named.then(|| object["metadata"]["name"].as_str().unwrap_or_default().into());
        let values: Vec<Value> =
            name.into_iter().chain(cells.iter().map(|cell| cell.of(object, now_seconds))).collect();
        let included = match include {
            Include::None => Value::Null,
            Include::Metadata => partial(object),
            Include::Object => object.clone(),
        };
        let mut row = json!({"cells": values, "object": included});
        if let Some(condition) = completed(object) {
            row["conditions"] = json!([condition]);
        }
        row
    };
    let rows: Vec<Value> = objects.into_iter().map(row).collect();
    json!({
        "kind": "Table", "apiVersion": API_VERSION, "metadata": metadata, "columnDefinitions": headers, "rows": rows,
    })
}

/// The table in a watch event.
pub fn event(columns: &[Column], object: &Value, now_seconds: i64, include: Include, with_headers: bool) -> Value {
    let metadata = json!({"resourceVersion": object["metadata"]["resourceVersion"]});
    table(columns, [object], &metadata, now_seconds, include, with_headers)
}

/// An object's metadata alone: `PartialObjectMetadata`.
pub fn partial(object: &Value) -> Value {
    let metadata = object.get("metadata").cloned().unwrap_or_else(|| json!({}));
    json!({"kind": "PartialObjectMetadata", "apiVersion": API_VERSION, "metadata": metadata})
}

/// The metadata alone of every object in a list: `PartialObjectMetadataList`.
pub fn partial_list<'a>(objects: impl IntoIterator<Item = &'a Value>, metadata: &Value) -> Value {
    let items: Vec<Value> = objects.into_iter().map(partial).collect();
    json!({"kind": "PartialObjectMetadataList", "apiVersion": API_VERSION, "metadata": metadata, "items": items})
}

/// Some built-in kinds, such as events, have the name elsewhere than in the first column.
fn names_itself(columns: &[Column]) -> bool {
    columns.iter().any(|column| column.name == "Name" && matches!(column.source, Source::Function(_)))
}

fn headers(columns: &[Column]) -> Value {
    let mut headers = Vec::with_capacity(columns.len() + 1);
    if !names_itself(columns) {
        headers.push(json!({"name": "Name", "type": "string", "format": "name", "description": NAME, "priority": 0}));
    }
    for column in columns {
        let default = match &column.source {
            Source::Path(path) => format!("Custom resource definition column (in JSONPath format): {path}"),
            Source::Function(_) if column.name == "Name" => NAME.to_owned(),
            Source::Function(_) => String::new(),
        };
        let description = if column.description.is_empty() { &default } else { &column.description };
        headers.push(json!({
            "name": column.name, "type": column.kind, "format": column.format, "description": description,
            "priority": column.priority,
        }));
    }
    headers.into()
}

/// Where the cells of a column come from, with the path read.
enum Cells<'a> {
    Path(&'a str, Option<Path>),
    Function(fn(&Value, i64) -> Value),
}

impl<'a> Cells<'a> {
    fn new(column: &'a Column) -> Self {
        match &column.source {
            Source::Path(path) => Self::Path(&column.kind, Path::parse(path).ok()),
            Source::Function(function) => Self::Function(*function),
        }
    }

    fn of(&self, object: &Value, now_seconds: i64) -> Value {
        match self {
            Self::Function(function) => function(object, now_seconds),
            Self::Path(kind, path) => {
                let found = path.as_ref().and_then(|path| path.get(object));
                found.map_or(Value::Null, |value| cell::of(kind, value, now_seconds))
            }
        }
    }
}

/// Rows of finished pods carry a condition, by which kubectl can tell them.
fn completed(object: &Value) -> Option<Value> {
    if object["kind"] != "Pod" || object["apiVersion"] != "v1" {
        return None;
    }
    let (reason, message) = match object["status"]["phase"].as_str()? {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(json!({"type": "Completed", "status": "True", "reason": reason, "message": message}))
}

#[cfg(test)]
mod tests;
