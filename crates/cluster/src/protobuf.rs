//! Bodies in protobuf, which Go clients send for built-in kinds: read into the same objects as JSON bodies.
//!
//! Answers are never written in protobuf: every client that asks for it takes JSON as well.

mod messages;
mod wire;

use serde_json::{Map, Value};

use crate::status::Status;
use messages::{Field, Kind, Many};
use wire::{Fault, Item, Reader};

/// What every body starts with.
const MAGIC: &[u8] = b"k8s\0";

/// Messages inside of messages; no kind nests as deep.
const DEEPEST: usize = 40;

/// Kinds that are read: the API version, the kind, and the message if it has another name.
const KINDS: [(&str, &str, &str); 28] = [
    ("v1", "Binding", ""),
    ("v1", "ConfigMap", ""),
    ("v1", "Event", ""),
    ("v1", "Namespace", ""),
    ("v1", "Node", ""),
    ("v1", "PersistentVolume", ""),
    ("v1", "PersistentVolumeClaim", ""),
    ("v1", "Pod", ""),
    ("v1", "Secret", ""),
    ("v1", "Service", ""),
    ("v1", "ServiceAccount", ""),
    ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", ""),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", ""),
    ("authentication.k8s.io/v1", "SelfSubjectReview", ""),
    ("authentication.k8s.io/v1", "TokenRequest", ""),
    ("authorization.k8s.io/v1", "SelfSubjectAccessReview", ""),
    ("authorization.k8s.io/v1", "SelfSubjectRulesReview", ""),
    ("autoscaling/v1", "Scale", ""),
    ("autoscaling/v2", "HorizontalPodAutoscaler", ""),
    ("coordination.k8s.io/v1", "Lease", ""),
    ("events.k8s.io/v1", "Event", "events.Event"),
    ("policy/v1", "Eviction", ""),
    ("policy/v1", "PodDisruptionBudget", ""),
    ("rbac.authorization.k8s.io/v1", "ClusterRole", ""),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", ""),
    ("rbac.authorization.k8s.io/v1", "Role", ""),
    ("rbac.authorization.k8s.io/v1", "RoleBinding", ""),
    ("scheduling.k8s.io/v1", "PriorityClass", ""),
];

/// Whether bodies of a kind can be read. Options of deletions can, under any API version.
pub fn decodes(api_version: &str, kind: &str) -> bool {
    message_of(api_version, kind).is_some()
}

fn message_of<'a>(api_version: &str, kind: &'a str) -> Option<&'a str> {
    if kind == "DeleteOptions" {
        return Some(kind);
    }
    let (_, _, message) = KINDS.iter().find(|(version, name, _)| *version == api_version && *name == kind)?;
    Some(if message.is_empty() { kind } else { message })
}

/// Reads a body. The kind that the request is about stands in where the body does not say what it is, and in refusals.
pub fn decode(body: &[u8], api_version: &str, kind: &str) -> Result<Value, Status> {
    let unrecognized = |why: &str| {
        let shown = summary(body);
        Status::bad_request(format!("the object provided is unrecognized (must be of type {kind}): {why} ({shown})"))
    };
    if body.is_empty() {
        return Err(unrecognized("empty data"));
    }
    let Some(envelope) = body.strip_prefix(MAGIC) else {
        return Err(unrecognized(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
        ));
    };
    if envelope.is_empty() {
        return Err(unrecognized("empty body"));
    }
    let (found_version, found_kind, raw) = open(envelope).map_err(|fault| unrecognized(&fault.to_string()))?;
    let (api_version, found) =
        if found_kind.is_empty() { (api_version, kind) } else { (found_version.as_str(), found_kind.as_str()) };
    let refuse = |why: &str| {
        let version = api_version.rsplit('/').next().unwrap_or_default();
        Status::bad_request(format!("{found} in version {version:?} cannot be handled as a {kind}: {why}"))
    };
    let Some(message) = message_of(api_version, found) else {
        let why = format!("no kind {found:?} is registered for version {api_version:?}");
        return Err(refuse(&format!("{why} in scheme \"pkg/runtime/scheme.go:111\"")));
    };
    let mut object = Map::new();
    object.insert("apiVersion".to_owned(), api_version.into());
    object.insert("kind".to_owned(), found.into());
    fields(message, raw, DEEPEST, &mut object).map_err(|fault| refuse(&fault.to_string()))?;
    Ok(Value::Object(object))
}

/// The start of a body, as refusals show it.
pub(crate) fn summary(body: &[u8]) -> String {
    const LONGEST: usize = 30;
    let start = &body[..body.len().min(LONGEST)];
    let rest = if body.len() > LONGEST { " ..." } else { "" };
    match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{rest}", String::from_utf8_lossy(start)),
        Some(_) => {
            let mut shown = String::new();
            start.iter().for_each(|byte| shown.push_str(&format!("{byte:02x}")));
            shown + rest
        }
    }
}

/// What stands around every object: its API version and kind, and its bytes.
fn open(envelope: &[u8]) -> Result<(String, String, &[u8]), Fault> {
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    let mut reader = Reader::new("Unknown", envelope);
    while let Some((number, item)) = reader.next()? {
        match (number, item) {
            (1, Item::Bytes(bytes)) => {
                let mut reader = Reader::new("TypeMeta", bytes);
                while let Some((number, item)) = reader.next()? {
                    match (number, item) {
                        (1, Item::Bytes(text)) => api_version = String::from_utf8_lossy(text).into_owned(),
                        (2, Item::Bytes(text)) => kind = String::from_utf8_lossy(text).into_owned(),
                        _ => {}
                    }
                }
            }
            (2, Item::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    Ok((api_version, kind, raw))
}

/// Reads the fields of a message into an object. Unknown ones are passed over.
fn fields(message: &str, bytes: &[u8], depth: usize, into: &mut Map<String, Value>) -> Result<(), Fault> {
    let Some(depth) = depth.checked_sub(1) else { return Err(Fault::TooDeep) };
    let known = messages::fields(message);
    let mut reader = Reader::new(message, bytes);
    while let Some((number, item)) = reader.next()? {
        let Some(field) = known.iter().find(|field| field.number == number) else { continue };
        match (field.many, field.kind, item) {
            (Many::Inline, Kind::Message(name), Item::Bytes(bytes)) => fields(name, bytes, depth, into)?,
            (Many::List, ..) => {
                let list = into.entry(field.name).or_insert_with(|| Value::Array(Vec::new()));
                if let Value::Array(members) = list {
                    members.extend(list_items(field, item, depth)?);
                }
            }
            (Many::Map, _, Item::Bytes(bytes)) => {
                let (key, value) = entry(field, bytes, depth)?;
                let map = into.entry(field.name).or_insert_with(|| Value::Object(Map::new()));
                if let Value::Object(entries) = map {
                    entries.insert(key, value);
                }
            }
            (Many::One, ..) => {
                let value = value(field, item, depth)?;
                if field.keeps_zero || !is_zero(field.kind, &value) {
                    into.insert(field.name.to_owned(), value);
                }
            }
            (_, _, item) => return Err(Fault::wrong_type(field.name, item)),
        }
    }
    Ok(())
}

/// A member of a list, or several numbers that stand together.
fn list_items(field: &Field, item: Item<'_>, depth: usize) -> Result<Vec<Value>, Fault> {
    match (field.kind, item) {
        (Kind::Integer, Item::Bytes(packed)) => {
            let mut reader = Reader::new(field.name, packed);
            let mut numbers = Vec::new();
            while !reader.is_empty() {
                numbers.push(reader.varint()?.cast_signed().into());
            }
            Ok(numbers)
        }
        (_, item) => Ok(vec![value(field, item, depth)?]),
    }
}

fn entry(field: &Field, bytes: &[u8], depth: usize) -> Result<(String, Value), Fault> {
    let (mut key, mut found) = (String::new(), None);
    let mut reader = Reader::new(field.name, bytes);
    while let Some((number, item)) = reader.next()? {
        match (number, item) {
            (1, Item::Bytes(text)) => key = String::from_utf8_lossy(text).into_owned(),
            (2, item) => found = Some(value(field, item, depth)?),
            _ => {}
        }
    }
    let empty = || if field.kind == Kind::Integer { Item::Varint(0) } else { Item::Bytes(&[]) };
    Ok((key, found.map_or_else(|| value(field, empty(), depth), Ok)?))
}

fn value(field: &Field, item: Item<'_>, depth: usize) -> Result<Value, Fault> {
    Ok(match (field.kind, item) {
        (Kind::Text, Item::Bytes(text)) => String::from_utf8_lossy(text).into_owned().into(),
        (Kind::Integer, Item::Varint(number)) => number.cast_signed().into(),
        (Kind::Boolean, Item::Varint(number)) => (number != 0).into(),
        (Kind::Bytes, Item::Bytes(bytes)) => messages::base64(bytes).into(),
        (Kind::Special(read), Item::Bytes(bytes)) => read(bytes)?,
        (Kind::Message(name), Item::Bytes(bytes)) => {
            let mut object = Map::new();
            fields(name, bytes, depth, &mut object)?;
            Value::Object(object)
        }
        (_, item) => return Err(Fault::wrong_type(field.name, item)),
    })
}

/// Clients write fields that are not set, too; JSON leaves them out.
fn is_zero(kind: Kind, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(members) => members.is_empty(),
        Value::Object(_) => matches!(kind, Kind::Special(_)) && value.as_object().is_some_and(Map::is_empty),
    }
}

#[cfg(test)]
mod tests;
