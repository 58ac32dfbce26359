//! The schemas of a document: those of its kinds and all that they refer to.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::discovery::{Subresource, verbs};
use crate::resource::{Resource, Version};

const REFERENCE: &str = "#/components/schemas/";
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";

/// The schemas of one document while it is put together.
pub(super) struct Schemas<'a> {
    components: &'a BTreeMap<String, Value>,
    done: BTreeMap<String, Value>,
    /// Names that were referred to and may not be there yet.
    wanted: Vec<String>,
}

/// References to the schemas of a kind.
pub(super) struct Kind {
    pub object: Value,
    /// The same as of the object where there are no lists.
    pub list: Value,
}

impl<'a> Schemas<'a> {
    pub fn new(components: &'a BTreeMap<String, Value>) -> Self {
        Self { components, done: BTreeMap::new(), wanted: Vec::new() }
    }

    /// Adds the schemas of a kind and of lists of it.
    pub fn add_kind(&mut self, resource: &Resource, version: &Version) -> Kind {
        let package = package(resource, &version.name);
        let referred =
            version.published.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix(REFERENCE));
        let name = referred.map_or_else(|| format!("{package}{}", resource.kind), str::to_owned);
        let mut schema = match referred {
            Some(name) => self.components.get(name).cloned().unwrap_or_else(|| json!({"type": "object"})),
            None => version.published.as_ref().clone(),
        };
        if resource.is_custom() {
            publish(&mut schema);
            self.complete(&mut schema);
        }
        set(&mut schema, "x-kubernetes-group-version-kind", tag(resource, version, &resource.kind));
        self.insert(name.clone(), schema);

        let object = reference(&name);
        if !verbs(resource).contains(&"list") {
            return Kind { list: object.clone(), object };
        }
        let list_name = format!("{package}{}", resource.list_kind);
        if !self.components.contains_key(&list_name) {
            let list = self.list_of(resource, version, &object);
            self.insert(list_name.clone(), list);
        }
        Kind { object, list: self.refer(&list_name) }
    }

    /// A reference to a shared definition of `meta/v1`: `Status`, `DeleteOptions`, `Patch`.
    pub fn meta(&mut self, name: &str) -> Value {
        self.refer(&format!("{META}{name}"))
    }

    /// What a subresource takes and answers with.
    pub fn subresource(&mut self, sub: &Subresource, kind: &Kind) -> Value {
        match (sub.group_version, sub.name) {
            (Some((group, version)), _) => {
                let group = group.split('.').next().unwrap_or_default();
                self.refer(&format!("io.k8s.api.{group}.{version}.{}", sub.kind))
            }
            (None, "binding") => self.refer("io.k8s.api.core.v1.Binding"),
            (None, _) => kind.object.clone(),
        }
    }

    /// All that was added, and all that it refers to.
    pub fn finish(mut self) -> Map<String, Value> {
        while let Some(name) = self.wanted.pop() {
            if !self.done.contains_key(&name) {
                // A name without a definition must not leave a reference that leads nowhere.
                let schema = self.components.get(&name).cloned().unwrap_or_else(|| json!({"type": "object"}));
                self.insert(name, schema);
            }
        }
        self.done.into_iter().collect()
    }

    fn refer(&mut self, name: &str) -> Value {
        self.wanted.push(name.to_owned());
        reference(name)
    }

    fn insert(&mut self, name: String, schema: Value) {
        references(&schema, &mut self.wanted);
        self.done.insert(name, schema);
    }

    /// Gives an object of a custom kind the fields that every object has, whatever its schema says about them.
    fn complete(&self, schema: &mut Value) {
        set(schema, "type", "object".into());
        for field in ["apiVersion", "kind"] {
            set_property(schema, field, self.described(field));
        }
        set_property(schema, "metadata", metadata("ObjectMeta", "Standard object's metadata."));
    }

    /// `apiVersion` or `kind` in the words of Kubernetes if they are known.
    fn described(&self, field: &str) -> Value {
        let status = self.components.get(&format!("{META}Status"));
        let known = status.and_then(|status| status.pointer(&format!("/properties/{field}"))).cloned();
        known.unwrap_or_else(|| json!({"type": "string"}))
    }

    fn list_of(&self, resource: &Resource, version: &Version, object: &Value) -> Value {
        let mut list = json!({
            "description": format!("{} is a list of {}", resource.list_kind, resource.kind),
            "required": ["items"],
            "properties": {
                "items": {"description": format!("List of {}.", resource.plural), "type": "array", "items": object},
                "metadata": metadata("ListMeta", "Standard list metadata."),
            },
            "x-kubernetes-group-version-kind": tag(resource, version, &resource.list_kind),
        });
        set(&mut list, "type", "object".into());
        for field in ["apiVersion", "kind"] {
            set_property(&mut list, field, self.described(field));
        }
        list
    }
}

/// What stands before the kind in the name of its schema, with the dot at the end.
fn package(resource: &Resource, version: &str) -> String {
    if resource.is_custom() {
        let reversed: Vec<&str> = resource.group.rsplit('.').collect();
        return format!("{}.{version}.", reversed.join("."));
    }
    match resource.group.split('.').next().unwrap_or_default() {
        "" => format!("io.k8s.api.core.{version}."),
        "apiextensions" => format!("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.{version}."),
        group => format!("io.k8s.api.{group}.{version}."),
    }
}

fn tag(resource: &Resource, version: &Version, kind: &str) -> Value {
    json!([{"group": resource.group, "kind": kind, "version": version.name}])
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("{REFERENCE}{name}")})
}

fn metadata(definition: &str, description: &str) -> Value {
    json!({"description": description, "allOf": [reference(&format!("{META}{definition}"))]})
}

/// Writes the short forms of custom schemas out, for readers that do not know them.
fn publish(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    for key in ["properties", "items", "additionalProperties", "allOf", "anyOf", "oneOf", "not"] {
        match (key, fields.get_mut(key)) {
            ("properties", Some(Value::Object(properties))) => properties.values_mut().for_each(publish),
            (_, Some(Value::Array(members))) => members.iter_mut().for_each(publish),
            (_, Some(member)) => publish(member),
            (_, None) => {}
        }
    }
    let is = |key: &str| fields.get(key) == Some(&Value::Bool(true));
    if is("x-kubernetes-int-or-string") && !fields.contains_key("anyOf") {
        fields.insert("anyOf".to_owned(), json!([{"type": "integer"}, {"type": "string"}]));
    } else if is("x-kubernetes-embedded-resource") {
        fields.insert("required".to_owned(), json!(["kind", "apiVersion"]));
        for field in ["apiVersion", "kind"] {
            set_property(schema, field, json!({"type": "string"}));
        }
        set_property(schema, "metadata", metadata("ObjectMeta", "Standard object's metadata."));
    }
}

fn set(schema: &mut Value, key: &str, value: Value) {
    if let Some(fields) = schema.as_object_mut() {
        fields.insert(key.to_owned(), value);
    }
}

fn set_property(schema: &mut Value, name: &str, value: Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    let properties = fields.entry("properties").or_insert_with(|| json!({}));
    set(properties, name, value);
}

/// Collects the names of all definitions that a schema refers to.
fn references(schema: &Value, names: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value.as_str().filter(|_| key == "$ref").and_then(|value| value.strip_prefix(REFERENCE)) {
                    Some(name) => names.push(name.to_owned()),
                    None => references(value, names),
                }
            }
        }
        Value::Array(members) => members.iter().for_each(|member| references(member, names)),
        _ => {}
    }
}
