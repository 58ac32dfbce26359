//! How the owners of an object see its schema: what may stand at a place (a map, a list, a scalar), what is named there and what is
//! owned as a whole. Where a schema is silent, the value itself decides: objects are owned field by field, lists as a whole.

use std::sync::{Arc, LazyLock};

use serde_json::Value;

use super::path::Element;
use crate::schema::{ListType, Schema, Shape};

/// What is known of a place in an object.
#[derive(Debug, Clone, Copy)]
pub(super) enum Type<'a> {
    /// A whole object, whose head (apiVersion, kind, metadata) is always the same, whether or not the schema describes it.
    Root(&'a Schema),
    /// What the schema says.
    Known(&'a Schema),
    /// The schema says nothing; the value decides.
    Deduced,
}

/// The ways to look at a value. A schema without a type allows all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ways {
    map: bool,
    list: bool,
    scalar: bool,
}

/// The way that is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// As an object or map.
    Map,
    /// As a list.
    List,
    /// As a single value.
    Scalar,
}

impl Ways {
    /// What remains once the value is seen. A value that fits nowhere, and `null`, decide nothing.
    pub(super) fn seen(self, value: Option<&Value>) -> Self {
        let none = Ways { map: false, list: false, scalar: false };
        match value {
            Some(Value::Object(_)) if self.map => Ways { map: true, ..none },
            Some(Value::Array(_)) if self.list => Ways { list: true, ..none },
            Some(Value::Number(_) | Value::String(_) | Value::Bool(_)) if self.scalar => Ways { scalar: true, ..none },
            _ => self,
        }
    }

    /// The first of the ways that remain.
    pub(super) fn first(self) -> Way {
        match self {
            Ways { map: true, .. } => Way::Map,
            Ways { scalar: true, .. } => Way::Scalar,
            _ => Way::List,
        }
    }
}

/// Where a field leads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Child<'a> {
    /// What is known of it.
    pub kind: Type<'a>,
    /// Whether the schema names it; others are keys of a map.
    pub named: bool,
    /// Whether the schema allows it at all.
    pub declared: bool,
}

impl<'a> Type<'a> {
    /// The ways to look at what stands here.
    pub(super) fn ways(self) -> Ways {
        let none = Ways { map: false, list: false, scalar: false };
        match self {
            Type::Root(_) => Ways { map: true, ..none },
            Type::Deduced => Ways { map: true, list: true, scalar: true },
            Type::Known(schema) => match schema.shape {
                Shape::Any | Shape::IntOrString => Ways { map: true, list: true, scalar: true },
                Shape::Object => Ways { map: true, ..none },
                Shape::Array => Ways { list: true, ..none },
                Shape::String | Shape::Integer | Shape::Number | Shape::Boolean => Ways { scalar: true, ..none },
            },
        }
    }

    /// The way to look at this value.
    pub(super) fn way(self, value: &Value) -> Way {
        self.ways().seen(Some(value)).first()
    }

    /// Whether a map here is owned as a whole.
    pub(super) fn atomic_map(self) -> bool {
        matches!(self, Type::Known(Schema { atomic: true, .. }))
    }

    /// Whether a list here is owned as a whole.
    pub(super) fn atomic_list(self) -> bool {
        matches!(self, Type::Deduced | Type::Known(Schema { list: ListType::Atomic, .. }))
    }

    /// What is known of a field.
    pub(super) fn child(self, name: &str) -> Child<'a> {
        let deduced = Child { kind: Type::Deduced, named: false, declared: true };
        let (schema, whole) = match self {
            Type::Root(schema) => (schema, true),
            Type::Known(schema) => (schema, schema.embedded),
            Type::Deduced => return deduced,
        };
        if let Some(field) = schema.properties.get(name) {
            return Child { kind: Type::Known(field), named: true, declared: true };
        }
        match (name, &schema.additional) {
            ("metadata", _) if whole => Child { kind: Type::Known(metadata()), named: true, declared: true },
            ("apiVersion" | "kind", _) if whole => Child { named: true, ..deduced },
            (_, Some(values)) => Child { kind: Type::Known(values), named: false, declared: true },
            (_, None) => Child { declared: schema.preserve_unknown || schema.properties.is_empty(), ..deduced },
        }
    }

    /// What is known of the members of a list.
    pub(super) fn items(self) -> Type<'a> {
        match self {
            Type::Known(Schema { items: Some(items), .. }) => Type::Known(items),
            _ => Type::Deduced,
        }
    }

    /// Whether this is an object without any described field, whose parts are never looked up in the schema.
    pub(super) fn is_free_map(self) -> bool {
        match self {
            Type::Root(_) => false,
            Type::Deduced => true,
            Type::Known(schema) => schema.properties.is_empty() && schema.additional.is_none(),
        }
    }

    /// The step from a list that is not owned as a whole to one of its items.
    pub(super) fn item(self, item: &Value) -> Result<Element, String> {
        match self {
            Type::Known(Schema { list: ListType::Map(keys), items, .. }) => keyed(keys, items.as_deref(), item),
            Type::Known(Schema { list: ListType::Set, .. }) => match item {
                Value::Object(_) => Err("associative list without keys has an element that's a map type".to_owned()),
                Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
                Value::Null => Err("associative list without keys has an element that's an explicit null".to_owned()),
                value => Ok(Element::Item(value.clone())),
            },
            _ => Err("invalid indexing of non-associative list".to_owned()),
        }
    }
}

/// The step to an item told by its keys. Keys that are missing have the value that the schema gives by default.
fn keyed(keys: &[String], items: Option<&Schema>, item: &Value) -> Result<Element, String> {
    let fields = match item {
        Value::Object(fields) => fields,
        Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
        _ => return Err("associative list with keys may not have non-map elements".to_owned()),
    };
    let mut found = Vec::with_capacity(keys.len());
    for key in keys {
        let default = || items.and_then(|items| items.properties.get(key)).and_then(|field| field.default.as_ref());
        if let Some(value) = fields.get(key).or_else(default) {
            found.push((key.clone(), value.clone()));
        }
    }
    if found.is_empty() {
        let names: Vec<String> = keys.iter().map(|key| super::path::quote(key)).collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
            names.join(" ")
        ));
    }
    Ok(Element::key(found))
}

/// What metadata looks like to its owners, where a schema does not say it.
fn metadata() -> &'static Schema {
    static METADATA: LazyLock<Schema> = LazyLock::new(|| {
        let scalar = |shape| Arc::new(Schema { shape, ..Schema::default() });
        let list =
            |list, items| Arc::new(Schema { shape: Shape::Array, list, items: Some(items), ..Schema::default() });
        let texts =
            || Arc::new(Schema { shape: Shape::Object, additional: Some(scalar(Shape::String)), ..Schema::default() });
        let mut owner = Schema { shape: Shape::Object, atomic: true, ..Schema::default() };
        for field in ["apiVersion", "kind", "name", "uid"] {
            owner.properties.insert(field.to_owned(), scalar(Shape::String));
        }
        for field in ["blockOwnerDeletion", "controller"] {
            owner.properties.insert(field.to_owned(), scalar(Shape::Boolean));
        }
        let mut metadata = Schema { shape: Shape::Object, ..Schema::default() };
        let mut add = |name: &str, schema| _ = metadata.properties.insert(name.to_owned(), schema);
        add("annotations", texts());
        add("labels", texts());
        add("finalizers", list(ListType::Set, scalar(Shape::String)));
        add("ownerReferences", list(ListType::Map(vec!["uid".to_owned()]), Arc::new(owner)));
        add("managedFields", list(ListType::Atomic, Arc::new(Schema::default())));
        for field in ["deletionGracePeriodSeconds", "generation"] {
            add(field, scalar(Shape::Integer));
        }
        for field in [
            "creationTimestamp",
            "deletionTimestamp",
            "generateName",
            "name",
            "namespace",
            "resourceVersion",
            "selfLink",
            "uid",
        ] {
            add(field, scalar(Shape::String));
        }
        metadata
    });
    &METADATA
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The words for items that cannot be told apart, as a real server has them.
    #[test]
    fn items_without_a_name() {
        let items = Arc::new(Schema { shape: Shape::Object, ..Schema::default() });
        let keys = vec!["port".to_owned(), "protocol".to_owned()];
        let map = Schema { shape: Shape::Array, list: ListType::Map(keys), items: Some(items), ..Schema::default() };
        let set = Schema { shape: Shape::Array, list: ListType::Set, ..Schema::default() };
        let all = "associative list with keys has an element that omits all key fields [\"port\" \"protocol\"] (and doesn't have default values for any key fields)";
        for (schema, item, words) in [
            (&map, json!({}), all),
            (&map, json!(null), "associative list with keys may not have a null element"),
            (&map, json!("a"), "associative list with keys may not have non-map elements"),
            (&set, json!({}), "associative list without keys has an element that's a map type"),
            (&set, json!([]), "not supported: associative list with lists as elements"),
            (&set, json!(null), "associative list without keys has an element that's an explicit null"),
        ] {
            assert_eq!(Type::Known(schema).item(&item), Err(words.to_owned()), "{item}");
        }
    }
}
