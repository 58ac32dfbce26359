//! The compiled schemas of built-in kinds, one for each type and shared between kinds.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use super::form::is_empty;
use super::types::{self, EXTENSIONS, Field, Of, Type};
use crate::schema::{Limits, Merge, Schema, Shape};

static SCHEMAS: LazyLock<BTreeMap<String, Arc<Schema>>> = LazyLock::new(|| {
    let mut done = BTreeMap::new();
    for name in types::all().keys() {
        named(name, &mut done);
    }
    done
});

/// The schema of a type such as `io.k8s.api.core.v1.Pod`.
pub fn schema(name: &str) -> Option<&'static Arc<Schema>> {
    SCHEMAS.get(name)
}

fn named(name: &str, done: &mut BTreeMap<String, Arc<Schema>>) -> Arc<Schema> {
    if let Some(schema) = done.get(name) {
        return Arc::clone(schema);
    }
    let schema = match types::all().get(name) {
        // The schema of schemas has itself as a part; what is below is taken as it is.
        Some(described) if name == format!("{EXTENSIONS}JSONSchemaProps") => anything(&described.description),
        Some(described) => Arc::new(of_type(described, done)),
        None => anything(""),
    };
    done.insert(name.to_owned(), Arc::clone(&schema));
    schema
}

fn anything(description: &str) -> Arc<Schema> {
    Arc::new(Schema { preserve_unknown: true, description: description.to_owned(), ..Schema::default() })
}

fn of_type(described: &Type, done: &mut BTreeMap<String, Arc<Schema>>) -> Schema {
    let properties = described.fields.iter().map(|(name, field)| (name.clone(), of_field(field, done))).collect();
    let mut schema = match &described.of {
        Of::Fields => Schema { shape: Shape::Object, ..Schema::default() },
        other => plain(other, done),
    };
    schema.properties = properties;
    schema.required.clone_from(&described.required);
    schema.atomic = described.atomic;
    schema.description.clone_from(&described.description);
    schema
}

fn of_field(field: &Field, done: &mut BTreeMap<String, Arc<Schema>>) -> Arc<Schema> {
    let mut schema = plain(&field.of, done);
    schema.list = field.list.clone();
    schema.atomic = field.atomic.unwrap_or(schema.atomic);
    schema.merge = Merge { replace: field.replace, ..field.merge.clone() };
    schema.description.clone_from(&field.description);
    // Zero values in published schemas say how a field is written, not what it means when it is absent; parts that are always there
    // are told from others by them, though.
    schema.default = field.default.clone().filter(|default| !is_empty(default) || default.is_object());
    Arc::new(schema)
}

fn plain(of: &Of, done: &mut BTreeMap<String, Arc<Schema>>) -> Schema {
    let shaped = |shape| Schema { shape, ..Schema::default() };
    let formatted = |shape, format: &str| Schema {
        shape,
        limits: Some(Box::new(Limits { format: Some(format.to_owned()), ..Limits::default() })),
        ..Schema::default()
    };
    match of {
        Of::String => shaped(Shape::String),
        Of::Bytes => formatted(Shape::String, "byte"),
        Of::Boolean => shaped(Shape::Boolean),
        Of::Int32 => formatted(Shape::Integer, "int32"),
        Of::Int64 => formatted(Shape::Integer, "int64"),
        Of::Double => formatted(Shape::Number, "double"),
        Of::Time | Of::MicroTime => formatted(Shape::String, "date-time"),
        Of::IntOrString => shaped(Shape::IntOrString),
        // Text or a number of any form, which none of the shapes says.
        Of::Quantity => Schema::default(),
        Of::Any | Of::Fields => Schema { preserve_unknown: true, ..Schema::default() },
        Of::Named(name) => Schema::clone(&named(name, done)),
        Of::List(member) => Schema { items: Some(Arc::new(plain(member, done))), ..shaped(Shape::Array) },
        Of::Map(member) => Schema { additional: Some(Arc::new(plain(member, done))), ..shaped(Shape::Object) },
    }
}
