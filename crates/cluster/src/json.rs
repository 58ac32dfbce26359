//! JSON that remembers which fields stood there twice: the last one counts, and a strict reader wants to know.

pub mod words;

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Reads a value, and the paths of fields that stand there twice.
pub fn read(bytes: &[u8]) -> Result<(Value, Vec<String>), serde_json::Error> {
    let twice = RefCell::new(Vec::new());
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = Seed { path: &Path::Root, twice: &twice }.deserialize(&mut reader)?;
    reader.end()?;
    Ok((value, twice.into_inner()))
}

/// A place in the document, told only when it is needed.
enum Path<'a> {
    Root,
    Field(&'a Path<'a>, &'a str),
    Item(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => Ok(()),
            Path::Field(Path::Root, name) => out.write_str(name),
            Path::Field(parent, name) => write!(out, "{parent}.{name}"),
            Path::Item(parent, index) => write!(out, "{parent}[{index}]"),
        }
    }
}

struct Seed<'a> {
    path: &'a Path<'a>,
    twice: &'a RefCell<Vec<String>>,
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) =
            items.next_element_seed(Seed { path: &Path::Item(self.path, list.len()), twice: self.twice })?
        {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            let path = Path::Field(self.path, &name);
            let value = fields.next_value_seed(Seed { path: &path, twice: self.twice })?;
            if object.contains_key(&name) {
                self.twice.borrow_mut().push(path.to_string());
            }
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_last_of_two_counts_and_both_are_told() {
        let (value, twice) = read(br#"{"a": [{"b": 1, "b": 2}], "c": null, "c": "x"}"#).unwrap();
        assert_eq!(value, json!({"a": [{"b": 2}], "c": "x"}));
        assert_eq!(twice, ["a[0].b", "c"]);
        assert!(read(b"{} x").is_err());
        assert!(read(b"{\"a\":").is_err());
    }
}
