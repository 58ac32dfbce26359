//! Finds the line on which a field is written.

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;
use std::fmt;
use trellis_api::field::steps;

/// Where the fields of a document stand.
#[derive(Debug)]
pub struct Lines {
    /// The first line with content.
    first: usize,
    tree: Tree,
}

/// A document, with the lines of its keys and items instead of its values.
#[derive(Debug)]
enum Tree {
    Map(Vec<(Spanned<String>, Tree)>),
    List(Vec<Spanned<Tree>>),
    Leaf,
}

impl Lines {
    /// Reads a document once more, for its lines. One that cannot be read has but its first.
    pub fn of(text: &str) -> Self {
        let first = text.lines().position(|line| !line.trim().is_empty() && !line.trim().starts_with('#'));
        let tree = serde_saphyr::from_str_with_options(text, crate::input::options()).unwrap_or(Tree::Leaf);
        Self { first: first.map_or(1, |i| i + 1), tree }
    }

    /// The line (from 1) of a field such as `spec.levels[2].key`; of the nearest field around it that is written, where
    /// it is not written itself.
    pub fn of_field(&self, field: &str) -> usize {
        let (mut line, mut tree) = (self.first, &self.tree);
        for step in steps(field) {
            let next = match tree {
                Tree::Map(fields) => {
                    let found = fields.iter().find(|(key, _)| key.value == step);
                    found.map(|(key, child)| (key.referenced.line(), child))
                }
                Tree::List(items) => {
                    let found = step.parse::<usize>().ok().and_then(|i| items.get(i));
                    found.map(|item| (item.referenced.line(), &item.value))
                }
                Tree::Leaf => None,
            };
            let Some((found, child)) = next else { return line };
            line = usize::try_from(found).unwrap_or(line);
            tree = child;
        }
        line
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

macro_rules! leaf {
    ($($visit:ident: $type:ty),*) => {
        $(fn $visit<E>(self, _: $type) -> Result<Tree, E> { Ok(Tree::Leaf) })*
    };
}

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    leaf!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_i128: i128, visit_u128: u128, visit_f64: f64, visit_str: &str);

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_none<E>(self) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Tree::Leaf)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(Tree::Map(fields))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Tree, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Tree::List(items))
    }
}
