//! The published schemas of built-in types, in the form and under the names that a real server's OpenAPI v3 documents have.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::kinds::{self, Entry};
use super::types::{self, Field, Of, PREFIX, Type, zero};
use crate::schema::ListType;

static COMPONENTS: LazyLock<BTreeMap<String, Value>> = LazyLock::new(components_of_all);

/// The definitions that published schemas refer to, by name: `io.k8s.api.core.v1.Pod`.
pub fn components() -> &'static BTreeMap<String, Value> {
    &COMPONENTS
}

/// The name of a kind's type: `io.k8s.api.core.v1.Pod`.
pub fn type_name(kind: &Entry) -> String {
    match kind.group {
        "apiextensions.k8s.io" => format!("{}{}", types::EXTENSIONS, kind.kind),
        "rbac.authorization.k8s.io" => format!("io.k8s.api.rbac.{}.{}", kind.version, kind.kind),
        "" => format!("io.k8s.api.core.{}.{}", kind.version, kind.kind),
        group => {
            let short = group.split('.').next().unwrap_or(group);
            format!("io.k8s.api.{short}.{}.{}", kind.version, kind.kind)
        }
    }
}

fn components_of_all() -> BTreeMap<String, Value> {
    let mut components: BTreeMap<String, Value> =
        types::all().iter().map(|(name, described)| (name.clone(), component(name, described))).collect();
    let extra = [("policy", "Eviction"), ("autoscaling", "Scale"), ("authentication.k8s.io", "TokenRequest")];
    for (group, kind) in extra {
        let short = group.split('.').next().unwrap_or(group);
        mark_kind(&mut components, &format!("io.k8s.api.{short}.v1.{kind}"), group, "v1", kind);
    }
    for name in ["DeleteOptions", "Status"] {
        mark_kind(&mut components, &format!("io.k8s.apimachinery.pkg.apis.meta.v1.{name}"), "", "v1", name);
    }
    for kind in kinds::ALL {
        let name = type_name(kind);
        mark_kind(&mut components, &name, kind.group, kind.version, kind.kind);
        if !kind.answer {
            components.insert(format!("{name}List"), list(kind, &name));
        }
    }
    components
}

fn mark_kind(components: &mut BTreeMap<String, Value>, name: &str, group: &str, version: &str, kind: &str) {
    if let Some(component) = components.get_mut(name) {
        component["x-kubernetes-group-version-kind"] = json!([{"group": group, "version": version, "kind": kind}]);
    }
}

/// The type of lists of a kind.
fn list(kind: &Entry, name: &str) -> Value {
    let plain = |description: &str| json!({"type": "string", "description": description});
    json!({
        "description": format!("{}List is a list of {}.", kind.kind, kind.plural),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": plain("The group and version in which the list is written."),
            "kind": plain("The kind of the list."),
            "metadata": {
                "description": "Standard metadata of a list.",
                "default": {},
                "allOf": [{"$ref": format!("{PREFIX}io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta")}],
            },
            "items": {
                "description": "The objects.",
                "type": "array",
                "items": {"default": {}, "allOf": [{"$ref": format!("{PREFIX}{name}")}]},
            },
        },
        "x-kubernetes-group-version-kind":
            [{"group": kind.group, "version": kind.version, "kind": format!("{}List", kind.kind)}],
    })
}

fn component(name: &str, described: &Type) -> Value {
    let mut out = Map::new();
    out.insert("description".to_owned(), described.description.clone().into());
    match &described.of {
        Of::Fields => {
            out.insert("type".to_owned(), "object".into());
        }
        Of::Quantity => {
            out.insert("oneOf".to_owned(), json!([{"type": "string"}, {"type": "number"}]));
        }
        Of::IntOrString => {
            out.insert("format".to_owned(), "int-or-string".into());
            out.insert("oneOf".to_owned(), json!([{"type": "integer"}, {"type": "string"}]));
        }
        Of::Any if name.ends_with("FieldsV1") || name.ends_with("RawExtension") => {
            out.insert("type".to_owned(), "object".into());
        }
        other => plain(other, &mut out),
    }
    if !described.fields.is_empty() {
        let properties = described.fields.iter().map(|(name, field)| (name.clone(), property(field))).collect();
        out.insert("properties".to_owned(), Value::Object(properties));
    }
    if !described.required.is_empty() {
        out.insert("required".to_owned(), described.required.clone().into());
    }
    if described.atomic {
        out.insert("x-kubernetes-map-type".to_owned(), "atomic".into());
    }
    Value::Object(out)
}

fn property(field: &Field) -> Value {
    let mut out = Map::new();
    if !field.description.is_empty() {
        out.insert("description".to_owned(), field.description.clone().into());
    }
    plain(&field.of, &mut out);
    if let Some(default) = &field.default {
        out.insert("default".to_owned(), default.clone());
    }
    if matches!(field.of, Of::List(_)) {
        let list_type = match &field.list {
            ListType::Atomic => "atomic",
            ListType::Set => "set",
            ListType::Map(keys) => {
                out.insert("x-kubernetes-list-map-keys".to_owned(), keys.clone().into());
                "map"
            }
        };
        out.insert("x-kubernetes-list-type".to_owned(), list_type.into());
    }
    if let Some(atomic) = field.atomic {
        out.insert("x-kubernetes-map-type".to_owned(), if atomic { "atomic" } else { "granular" }.into());
    }
    if let Some(key) = &field.merge.key {
        out.insert("x-kubernetes-patch-merge-key".to_owned(), key.clone().into());
    }
    let strategy = match (field.merge.merge, field.merge.retain_keys) {
        (true, true) => "merge,retainKeys",
        (true, false) => "merge",
        (false, true) => "retainKeys",
        (false, false) if field.replace => "replace",
        (false, false) => return Value::Object(out),
    };
    out.insert("x-kubernetes-patch-strategy".to_owned(), strategy.into());
    Value::Object(out)
}

/// Type and format, or the reference.
fn plain(of: &Of, out: &mut Map<String, Value>) {
    let (kind, format) = match of {
        Of::String => ("string", ""),
        Of::Bytes => ("string", "byte"),
        Of::Boolean => ("boolean", ""),
        Of::Int32 => ("integer", "int32"),
        Of::Int64 => ("integer", "int64"),
        Of::Double => ("number", "double"),
        Of::Time | Of::MicroTime => ("string", "date-time"),
        Of::Any | Of::Fields | Of::Quantity | Of::IntOrString => return,
        Of::Named(name) => {
            let reference = json!({"$ref": format!("{PREFIX}{name}")});
            // Beside a reference nothing else counts, so that it stands alone or in a list of one.
            if out.is_empty() {
                out.insert("$ref".to_owned(), reference["$ref"].clone());
            } else {
                out.insert("allOf".to_owned(), json!([reference]));
            }
            return;
        }
        Of::List(member) => {
            out.insert("items".to_owned(), member_schema(member));
            ("array", "")
        }
        Of::Map(member) => {
            out.insert("additionalProperties".to_owned(), member_schema(member));
            ("object", "")
        }
    };
    out.insert("type".to_owned(), kind.into());
    if !format.is_empty() {
        out.insert("format".to_owned(), format.into());
    }
}

fn member_schema(of: &Of) -> Value {
    let mut out = Map::new();
    if let Some(default) = zero(of) {
        out.insert("default".to_owned(), default);
    }
    plain(of, &mut out);
    Value::Object(out)
}
