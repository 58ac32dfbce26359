//! `fieldsV1`: sets of paths as JSON objects, both ways.

use serde_json::{Map, Value};

use super::path::Element;
use super::set::FieldSet;

impl FieldSet {
    /// The set as `fieldsV1` has it: an object per step, `.` where a path ends and others go on.
    pub fn to_json(&self) -> Value {
        Value::Object(encode(self, false))
    }

    /// Reads `fieldsV1`. Kinds of steps that we do not know are left out.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn from_json(fields: &Value) -> Result<Self, String> {
        match fields {
            Value::Object(steps) => Ok(decode(steps)?.0),
            Value::Null => Ok(FieldSet::default()),
            other => Err(format!("expected an object, got {other}")),
        }
    }
}

fn encode(set: &FieldSet, itself: bool) -> Map<String, Value> {
    let itself = (itself && !set.is_empty()).then(|| (".".to_owned(), Value::Object(Map::new())));
    let steps = set.nodes().iter().map(|node| (node.element.encode(), Value::Object(encode(&node.below, node.member))));
    itself.into_iter().chain(steps).collect()
}

/// What stands below a step, and whether the path that ends there is in the set: with `.`, or with nothing below.
fn decode(steps: &Map<String, Value>) -> Result<(FieldSet, bool), String> {
    let mut set = FieldSet::default();
    let mut member = false;
    for (key, below) in steps {
        if key == "." {
            member = true;
            continue;
        }
        let Some(element) = Element::decode(key)? else { continue };
        let (below, ends) = match below {
            Value::Object(below) => decode(below)?,
            Value::Null => (FieldSet::default(), true),
            other => return Err(format!("expected an object at {key}, got {other}")),
        };
        set.push(element, ends, below);
    }
    let ends = member || set.is_empty();
    Ok((set, ends))
}
