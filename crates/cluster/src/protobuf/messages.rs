//! Which fields each message has, and the few messages that are not objects in JSON: times, quantities and the like.

use std::collections::HashMap;
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::Value;

use super::wire::{Fault, Item, Reader};

/// A field of a message.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Its number on the wire.
    pub number: u64,
    /// Its name in JSON.
    pub name: &'static str,
    /// Whether there may be several.
    pub many: Many,
    /// What it is.
    pub kind: Kind,
    /// Whether a zero is something else than nothing.
    pub keeps_zero: bool,
}

/// Whether a field is there once or several times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Many {
    /// Once.
    One,
    /// Any number of times.
    List,
    /// Any number of times, with a key each.
    Map,
    /// Once, and its own fields stand among those of the message around it.
    Inline,
}

/// What a field is.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// Text.
    Text,
    /// A whole number.
    Integer,
    /// True or false.
    Boolean,
    /// Bytes, which are base64 in JSON.
    Bytes,
    /// A message that is no object in JSON.
    Special(fn(&[u8]) -> Result<Value, Fault>),
    /// A message.
    Message(&'static str),
}

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

static MESSAGES: LazyLock<HashMap<&'static str, Vec<Field>>> = LazyLock::new(|| {
    let lines = include_str!("messages.txt").lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.split_once(' '))
        .map(|(name, fields)| (name, fields.split(' ').filter_map(field).collect()))
        .collect()
});

/// The fields of a message; none if it is not known.
pub fn fields(message: &str) -> &'static [Field] {
    MESSAGES.get(message).map_or(&[], Vec::as_slice)
}

/// Every field of every message.
#[cfg(test)]
pub fn all() -> impl Iterator<Item = &'static Field> {
    MESSAGES.values().flatten()
}

/// Whether there is such a message; some have no fields.
#[cfg(test)]
pub fn known(message: &str) -> bool {
    include_str!("messages.txt").lines().any(|line| line.split(' ').next() == Some(message))
}

/// Reads `4:immutable=b!` and the like.
fn field(text: &'static str) -> Option<Field> {
    let (place, kind) = text.split_once('=')?;
    let (number, name) = place.split_once(':').unwrap_or((place, ""));
    let keeps_zero = kind.ends_with('!');
    let kind = kind.trim_end_matches('!');
    let (many, kind) = match kind.split_at_checked(1)? {
        _ if name.is_empty() => (Many::Inline, kind),
        ("*", kind) => (Many::List, kind),
        ("%", kind) => (Many::Map, kind),
        _ => (Many::One, kind),
    };
    let kind = match kind {
        "s" => Kind::Text,
        "i" => Kind::Integer,
        "b" => Kind::Boolean,
        "y" => Kind::Bytes,
        "Time" => Kind::Special(time),
        "MicroTime" => Kind::Special(micro_time),
        "Quantity" => Kind::Special(quantity),
        "IntOrString" => Kind::Special(int_or_string),
        "ExtraValue" => Kind::Special(extra_value),
        "FieldsV1" | "RawExtension" => Kind::Special(json_text),
        message => Kind::Message(message),
    };
    Some(Field { number: number.parse().ok()?, name, many, kind, keeps_zero })
}

/// Bytes as JSON has them.
pub fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The fields of a small message by their numbers.
fn parts<'a>(name: &'a str, bytes: &'a [u8]) -> Result<Vec<(u64, Item<'a>)>, Fault> {
    let mut reader = Reader::new(name, bytes);
    let mut parts = Vec::new();
    while let Some(part) = reader.next()? {
        parts.push(part);
    }
    Ok(parts)
}

fn moment(bytes: &[u8]) -> Result<Option<Timestamp>, Fault> {
    let (mut seconds, mut nanoseconds) = (0, 0);
    for part in parts("Timestamp", bytes)? {
        match part {
            (1, Item::Varint(number)) => seconds = number.cast_signed(),
            (2, Item::Varint(number)) => nanoseconds = i32::try_from(number.cast_signed()).unwrap_or_default(),
            _ => {}
        }
    }
    let never = seconds == 0 && nanoseconds == 0;
    Ok(if never { None } else { Timestamp::new(seconds, nanoseconds).ok() })
}

fn time(bytes: &[u8]) -> Result<Value, Fault> {
    Ok(moment(bytes)?.map_or(Value::Null, |time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into()))
}

fn micro_time(bytes: &[u8]) -> Result<Value, Fault> {
    Ok(moment(bytes)?.map_or(Value::Null, |time| time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string().into()))
}

fn quantity(bytes: &[u8]) -> Result<Value, Fault> {
    let text = parts("Quantity", bytes)?.into_iter().find_map(|part| match part {
        (1, Item::Bytes(text)) => Some(String::from_utf8_lossy(text).into_owned()),
        _ => None,
    });
    Ok(text.filter(|text| !text.is_empty()).unwrap_or_else(|| "0".to_owned()).into())
}

fn int_or_string(bytes: &[u8]) -> Result<Value, Fault> {
    let (mut is_text, mut number, mut text) = (false, 0, String::new());
    for part in parts("IntOrString", bytes)? {
        match part {
            (1, Item::Varint(kind)) => is_text = kind == 1,
            (2, Item::Varint(value)) => number = value.cast_signed(),
            (3, Item::Bytes(value)) => text = String::from_utf8_lossy(value).into_owned(),
            _ => {}
        }
    }
    Ok(if is_text { text.into() } else { number.into() })
}

fn extra_value(bytes: &[u8]) -> Result<Value, Fault> {
    let texts = parts("ExtraValue", bytes)?.into_iter().filter_map(|part| match part {
        (1, Item::Bytes(text)) => Some(Value::from(String::from_utf8_lossy(text).into_owned())),
        _ => None,
    });
    Ok(texts.collect::<Vec<_>>().into())
}

fn json_text(bytes: &[u8]) -> Result<Value, Fault> {
    let raw = parts("RawExtension", bytes)?.into_iter().find_map(|part| match part {
        (1, Item::Bytes(raw)) => Some(raw),
        _ => None,
    });
    let Some(raw) = raw.filter(|raw| !raw.is_empty()) else { return Ok(Value::Null) };
    serde_json::from_slice(raw).map_err(|why| Fault::Content(why.to_string()))
}
