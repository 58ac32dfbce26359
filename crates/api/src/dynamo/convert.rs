//! Between the versions of a DynamoGraphDeployment, without loss.
//!
//! Every part of a spec (each component, and the head around them) is converted by rules. Where the rules alone would not lead back to
//! what was written, the written spec goes along in an annotation; on the way back a part that nobody has changed meanwhile is taken
//! from there. So a client sees what it wrote, and a change in one version shows in the other.

use super::{Shape, service};
use crate::names::dynamo::annotation::WRITTEN_SPEC;
use crate::names::group;
use serde_json::{Map, Value, json};

/// A spec, taken apart.
#[derive(Clone, Debug, PartialEq)]
struct Apart {
    shape: Shape,
    /// Everything but the components.
    head: Map<String, Value>,
    /// The components, without their names.
    parts: Vec<(String, Map<String, Value>)>,
}

impl Apart {
    /// Takes a spec apart. Nothing, if its components are no such thing: then it is handed on as it is, to be refused elsewhere.
    fn of(spec: &Value) -> Option<Self> {
        let shape = Shape::of(spec, "");
        let mut head = spec.as_object()?.clone();
        let held = head.remove(shape.field()).unwrap_or_default();
        let parts = match held {
            Value::Object(services) => {
                // A service without anything in it is written as nothing, and Dynamo passes it over.
                let services = services.into_iter().filter(|(_, service)| !service.is_null());
                let mut parts: Vec<_> =
                    services.map(|(name, part)| Some((name, object(part)?))).collect::<Option<_>>()?;
                parts.sort_by(|a, b| a.0.cmp(&b.0));
                parts
            }
            Value::Array(items) => {
                let part = |item: Value| {
                    let mut part = object(item)?;
                    let Some(Value::String(name)) = part.remove("name") else { return None };
                    Some((name, part))
                };
                items.into_iter().map(part).collect::<Option<_>>()?
            }
            _ => return None,
        };
        // Both at once is an error, and nothing to choose from.
        let other = if shape == Shape::Components { "services" } else { "components" };
        (!head.contains_key(other)).then_some(Self { shape, head, parts })
    }

    fn join(self) -> Value {
        let Self { shape, mut head, parts } = self;
        let held: Value = match shape {
            Shape::Map => parts.into_iter().map(|(name, part)| (name, Value::Object(part))).collect(),
            Shape::List | Shape::Components => {
                let item = |(name, mut part): (String, Map<_, _>)| {
                    part.insert("name".to_owned(), Value::String(name));
                    Value::Object(part)
                };
                parts.into_iter().map(item).collect()
            }
        };
        head.insert(shape.field().to_owned(), held);
        Value::Object(head)
    }

    /// The same by the rules alone.
    fn ruled(&self, to: Shape) -> Self {
        let parts = self.parts.iter().map(|(name, part)| (name.clone(), rule(self.shape, to, part)));
        Self { shape: to, head: rule_head(self.shape, to, &self.head), parts: ordered(to, parts.collect()) }
    }

    /// The same as it was before, as far as nobody has changed it since.
    fn recalled(&self, to: Shape, memory: &Self) -> Self {
        let (here, there) = (self.shape, memory.shape);
        let mut parts: Vec<(String, Map<String, Value>)> = Vec::new();
        for (name, part) in &self.parts {
            // By what it says too: of two with one name, each has its own.
            let is_same = |known: &Map<String, Value>| there == to && rule(there, here, known) == *part;
            let same = memory.parts.iter().find(|(known, before)| known == name && is_same(before));
            let same = same.map(|(_, before)| before);
            parts.push((name.clone(), same.cloned().unwrap_or_else(|| rule(here, to, part))));
        }
        if here == Shape::Map {
            // A map has no order; the one that was remembered is as good as any.
            let place = |name: &str| memory.parts.iter().position(|(known, _)| known == name).unwrap_or(usize::MAX);
            parts.sort_by_key(|(name, _)| place(name));
        }
        let same = there == to && rule_head(there, here, &memory.head) == self.head;
        let head = if same { memory.head.clone() } else { rule_head(here, to, &self.head) };
        Self { shape: to, head, parts: ordered(to, parts) }
    }

    /// Whether a map by name would lose some of the components.
    fn has_doubles(&self) -> bool {
        self.parts.iter().enumerate().any(|(i, (name, _))| self.parts[..i].iter().any(|(other, _)| other == name))
    }
}

/// A map has no order of its own.
fn ordered(shape: Shape, mut parts: Vec<(String, Map<String, Value>)>) -> Vec<(String, Map<String, Value>)> {
    if shape == Shape::Map {
        parts.sort_by(|a, b| a.0.cmp(&b.0));
    }
    parts
}

fn object(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(fields) => Some(fields),
        _ => None,
    }
}

fn rule(from: Shape, to: Shape, part: &Map<String, Value>) -> Map<String, Value> {
    match (from == Shape::Components, to == Shape::Components) {
        (false, true) => service::to_component(part),
        (true, false) => service::of_component(part),
        _ => part.clone(),
    }
}

fn rule_head(from: Shape, to: Shape, head: &Map<String, Value>) -> Map<String, Value> {
    let mut head = head.clone();
    let (envs, name) = match (from == Shape::Components, to == Shape::Components) {
        (false, true) => (("envs", "env"), ("topologyProfile", "clusterTopologyName")),
        (true, false) => (("env", "envs"), ("clusterTopologyName", "topologyProfile")),
        _ => return head,
    };
    rename(&mut head, envs);
    if let Some(Value::Object(constraint)) = head.get_mut("topologyConstraint") {
        rename(constraint, name);
    }
    head
}

/// Gives a field its other name, unless that is taken.
fn rename(fields: &mut Map<String, Value>, (from, to): (&str, &str)) {
    if !fields.contains_key(to)
        && let Some(value) = fields.remove(from)
    {
        fields.insert(to.to_owned(), value);
    }
}

/// An object in the version that is stored, for reading: by its shape, whatever version it says it has.
pub(super) fn stored(value: &Value) -> Value {
    let mut stored = value.clone();
    if let Some(parts) = Apart::of(&value["spec"]) {
        stored["spec"] = parts.ruled(Shape::Components).join();
    }
    // Either name is understood in either version.
    if let Some(Value::Object(constraint)) = stored.pointer_mut("/spec/topologyConstraint") {
        rename(constraint, ("topologyProfile", "clusterTopologyName"));
    }
    stored["apiVersion"] = version(group::V1BETA1).into();
    rename_status(&mut stored, "services", "components");
    stored
}

fn rename_status(object: &mut Value, from: &str, to: &str) {
    if let Some(Value::Object(status)) = object.get_mut("status") {
        rename(status, (from, to));
    }
}

fn version(version: &str) -> String {
    format!("{}/{version}", group::NVIDIA)
}

/// The object in another version: `nvidia.com/v1alpha1` or `nvidia.com/v1beta1`.
pub fn convert(object: &Value, to: &str) -> Result<Value, String> {
    let is_stored = to == version(group::V1BETA1);
    if !is_stored && to != version(group::V1ALPHA1) {
        return Err(format!("DynamoGraphDeployment has no version {to:?}"));
    }
    if !object.is_object() {
        return Err("not an object".to_owned());
    }
    let mut converted = object.clone();
    if object["apiVersion"] == to {
        return Ok(converted);
    }
    converted["apiVersion"] = to.into();
    let (from, into) = if is_stored { ("services", "components") } else { ("components", "services") };
    rename_status(&mut converted, from, into);
    let memory = recall(&mut converted);
    let Some(parts) = Apart::of(&object["spec"]) else { return Ok(converted) };
    let was_stored = object["apiVersion"] == version(group::V1BETA1);
    let shape = match &memory {
        _ if !is_stored && parts.has_doubles() => Shape::List,
        Some((_, memory)) => memory.shape,
        None => usual(is_stored, &parts),
    };
    let new = memory.as_ref().map_or_else(|| parts.ruled(shape), |(_, memory)| parts.recalled(shape, memory));
    // What would come back if nothing went along.
    if new.ruled(usual(was_stored, &new)).join() != object["spec"] {
        remember(&mut converted, &object["spec"]);
    }
    converted["spec"] = match memory {
        Some((written, memory)) if memory == new => written,
        _ => new.join(),
    };
    Ok(converted)
}

/// The shape that a version has where nobody chose another.
fn usual(is_stored: bool, parts: &Apart) -> Shape {
    match is_stored {
        true => Shape::Components,
        false if parts.has_doubles() => Shape::List,
        false => Shape::Map,
    }
}

/// Takes out the spec that went along.
fn recall(object: &mut Value) -> Option<(Value, Apart)> {
    let annotations = object["metadata"].get_mut("annotations")?.as_object_mut()?;
    let text = annotations.remove(WRITTEN_SPEC)?;
    if annotations.is_empty()
        && let Some(metadata) = object["metadata"].as_object_mut()
    {
        metadata.remove("annotations");
    }
    let written: Value = serde_json::from_str(text.as_str()?).ok()?;
    let parts = Apart::of(&written)?;
    Some((written, parts))
}

fn remember(object: &mut Value, spec: &Value) {
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    if !object["metadata"]["annotations"].is_object() {
        object["metadata"]["annotations"] = json!({});
    }
    object["metadata"]["annotations"][WRITTEN_SPEC] = spec.to_string().into();
}

/// Answers a ConversionReview.
pub fn conversion_review(review: &Value) -> Value {
    let request = &review["request"];
    let to = request["desiredAPIVersion"].as_str().unwrap_or_default();
    let objects = request["objects"].as_array().map(Vec::as_slice).unwrap_or_default();
    let converted: Result<Vec<Value>, String> = objects.iter().map(|object| convert(object, to)).collect();
    let response = match converted {
        Ok(objects) => json!({"uid": request["uid"], "convertedObjects": objects, "result": {"status": "Success"}}),
        Err(message) => json!({"uid": request["uid"], "result": {"status": "Failure", "message": message}}),
    };
    json!({"apiVersion": review["apiVersion"], "kind": "ConversionReview", "response": response})
}
