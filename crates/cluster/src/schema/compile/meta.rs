//! What metadata looks like, which no definition describes and every object has.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use super::super::{Limits, ListType, Merge, Schema, Shape};

/// The schema of `metadata`.
pub fn object_meta() -> &'static Arc<Schema> {
    static META: LazyLock<Arc<Schema>> = LazyLock::new(|| Arc::new(build()));
    &META
}

fn build() -> Schema {
    let mut fields: Vec<(&str, Schema)> =
        ["name", "generateName", "namespace", "selfLink", "uid", "resourceVersion"].map(|name| (name, plain())).into();
    fields.extend(["labels", "annotations"].map(|name| {
        let map = Schema { shape: Shape::Object, additional: Some(Arc::new(plain())), ..Schema::default() };
        (name, map)
    }));
    fields.extend(["generation", "deletionGracePeriodSeconds"].map(|name| (name, formatted(Shape::Integer, "int64"))));
    fields.extend(["creationTimestamp", "deletionTimestamp"].map(|name| (name, time())));
    fields.push((
        "finalizers",
        Schema { list: ListType::Set, merge: Merge { merge: true, ..Merge::default() }, ..array(plain()) },
    ));
    fields.push((
        "ownerReferences",
        Schema {
            list: ListType::Map(vec!["uid".to_owned()]),
            merge: Merge { merge: true, key: Some("uid".to_owned()), ..Merge::default() },
            ..array(owner())
        },
    ));
    fields.push(("managedFields", array(managed())));
    object(fields)
}

fn owner() -> Schema {
    let mut fields: Vec<(&str, Schema)> = ["apiVersion", "kind", "name", "uid"].map(|name| (name, plain())).into();
    fields.extend(["controller", "blockOwnerDeletion"].map(|name| (name, of(Shape::Boolean))));
    let required = ["apiVersion", "kind", "name", "uid"].map(str::to_owned).into();
    Schema { atomic: true, required, ..object(fields) }
}

fn managed() -> Schema {
    let names = ["manager", "operation", "apiVersion", "fieldsType", "subresource"];
    let mut fields: Vec<(&str, Schema)> = names.map(|name| (name, plain())).into();
    fields.push(("time", time()));
    fields.push(("fieldsV1", Schema { preserve_unknown: true, ..of(Shape::Object) }));
    object(fields)
}

fn of(shape: Shape) -> Schema {
    Schema { shape, ..Schema::default() }
}

fn plain() -> Schema {
    of(Shape::String)
}

fn formatted(shape: Shape, format: &str) -> Schema {
    let limits = Limits { format: Some(format.to_owned()), ..Limits::default() };
    Schema { limits: Some(Box::new(limits)), ..of(shape) }
}

/// Clients send `creationTimestamp: null`, which means that there is none.
fn time() -> Schema {
    Schema { nullable: true, ..formatted(Shape::String, "date-time") }
}

fn array(items: Schema) -> Schema {
    Schema { items: Some(Arc::new(items)), ..of(Shape::Array) }
}

fn object(fields: Vec<(&str, Schema)>) -> Schema {
    let properties: BTreeMap<String, Arc<Schema>> =
        fields.into_iter().map(|(name, field)| (name.to_owned(), Arc::new(field))).collect();
    Schema { properties, ..of(Shape::Object) }
}
