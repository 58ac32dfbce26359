//! What the types of built-in kinds say about their fields beyond name, type and description: how lists are told apart, how strategic
//! merge treats them, and what a field shows when nothing is in it.
//!
//! The tables hold the exceptions to these rules, one type a line (going on, deeper, on the next), under the name of its package:
//! - a field that is required is always there, with the zero value of its type (`null` for lists and maps);
//! - an optional text, number or boolean is left out when it is empty, zero or false, as are empty lists and maps;
//! - an optional struct is left out only if nothing was given; `metadata` is always there;
//! - lists are atomic, maps and structs are not.
//!
//! | mark | meaning |
//! |---|---|
//! | `name?` | kept whenever it is given, also when zero |
//! | `name!` | always there, though optional; after `?`: `null` when nothing was given |
//! | `name-` | left out when empty, though required |
//! | `name{}` | a struct that is always there, though optional |
//! | `name{=}`, `name{+}` | atomic, or said not to be (maps and structs) |
//! | `name*`, `name%` | required, or optional, whatever the library says |
//! | `name[=]`, `name[a,b]` | a list that is a set, or a map by these keys |
//! | `name+key`, `name+` | strategic merge merges its members, by that key or as plain values |
//! | `name~` | strategic merge drops the fields of a member that the patch leaves out |
//! | `name^` | strategic merge replaces it, and says so |
//! | `name=json` | the default in the published schema |
//! | `name:v1.Word` | text whose type has this name in messages |
//! | `Type=` | a struct that is atomic wherever it stands |

mod core;
mod others;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::schema::{ListType, Merge};

/// The marks of one type.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TypeMarks {
    /// The struct has one owner wherever it stands.
    pub atomic: bool,
    /// By field name, those that have marks.
    pub fields: BTreeMap<String, Mark>,
}

/// The marks of one field.
#[expect(clippy::struct_excessive_bools, reason = "each is a sign of its own in the tables")]
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Mark {
    /// `?`
    pub pointer: bool,
    /// `!`
    pub always: bool,
    /// `-`
    pub never: bool,
    /// `{}`
    pub value: bool,
    /// `{=}` is true, `{+}` false
    pub atomic: Option<bool>,
    /// `*` is true, `%` false
    pub required: Option<bool>,
    /// `[…]`
    pub list: Option<ListType>,
    /// `+`, `~`
    pub merge: Option<Merge>,
    /// `^`
    pub replace: bool,
    /// `:v1.Word`
    pub word: Option<String>,
    /// `=json`
    pub default: Option<Value>,
}

/// The marks of all types, by full name.
pub fn all() -> BTreeMap<String, TypeMarks> {
    let mut all = BTreeMap::new();
    for table in [core::CORE, others::OTHERS] {
        read(table, &mut all);
    }
    all
}

fn read(table: &str, all: &mut BTreeMap<String, TypeMarks>) {
    let mut package = "";
    let mut current = String::new();
    for line in table.lines() {
        let depth = line.len() - line.trim_start().len();
        let mut words = line.split_whitespace();
        match depth {
            0 => {
                package = line.trim();
                continue;
            }
            2 => {
                let name = words.next().unwrap_or_default();
                let bare = name.trim_end_matches('=');
                current = format!("{package}.{bare}");
                all.entry(current.clone()).or_default().atomic = bare != name;
            }
            _ => {}
        }
        if let Some(marks) = all.get_mut(&current) {
            marks.fields.extend(words.map(field));
        }
    }
}

/// One word of a table: the field and its marks.
fn field(word: &str) -> (String, Mark) {
    // `$ref` and `x-kubernetes-…` are names too; a dash is a mark only at the end.
    let end = word.find([':', '*', '%', '?', '!', '{', '[', '+', '~', '^', '=']).unwrap_or(word.len());
    let (name, mut rest) = word.split_at(end);
    let bare = name.strip_suffix('-');
    let mut mark = Mark { never: bare.is_some(), ..Mark::default() };
    while let Some(sign) = rest.chars().next() {
        rest = &rest[sign.len_utf8()..];
        match sign {
            ':' => {
                let end = rest.find(['*', '%', '?', '!', '{', '[', '+', '~', '^', '=', '-']).unwrap_or(rest.len());
                let (word, after) = rest.split_at(end);
                mark.word = Some(word.to_owned());
                rest = after;
            }
            '*' => mark.required = Some(true),
            '%' => mark.required = Some(false),
            '?' => mark.pointer = true,
            '!' => mark.always = true,
            '-' => mark.never = true,
            '^' => mark.replace = true,
            '~' => mark.merge.get_or_insert_default().retain_keys = true,
            '{' => {
                let (inside, after) = rest.split_once('}').unwrap_or((rest, ""));
                match inside {
                    "=" => mark.atomic = Some(true),
                    "+" => mark.atomic = Some(false),
                    _ => mark.value = true,
                }
                rest = after;
            }
            '[' => {
                let (inside, after) = rest.split_once(']').unwrap_or((rest, ""));
                mark.list = Some(match inside {
                    "=" => ListType::Set,
                    keys => ListType::Map(keys.split(',').map(str::to_owned).collect()),
                });
                rest = after;
            }
            '+' => {
                let end = rest.find(['~', '^', '=']).unwrap_or(rest.len());
                let (key, after) = rest.split_at(end);
                let merge = mark.merge.get_or_insert_default();
                merge.merge = true;
                merge.key = (!key.is_empty()).then(|| key.to_owned());
                rest = after;
            }
            _ => {
                mark.default = serde_json::from_str(rest).ok();
                rest = "";
            }
        }
    }
    (bare.unwrap_or(name).to_owned(), mark)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_are_read() {
        let keys = |keys: &[&str]| Some(ListType::Map(keys.iter().map(|&key| key.to_owned()).collect()));
        let merge = |key: Option<&str>, retain_keys| {
            Some(Merge { merge: true, retain_keys, key: key.map(ToOwned::to_owned), ..Merge::default() })
        };
        let cases = [
            ("a", "a", Mark::default()),
            ("x-b-", "x-b", Mark { never: true, ..Mark::default() }),
            ("a?!=\"\"", "a", Mark { pointer: true, always: true, default: Some(json!("")), ..Mark::default() }),
            ("a{}", "a", Mark { value: true, ..Mark::default() }),
            ("a{=}", "a", Mark { atomic: Some(true), ..Mark::default() }),
            ("a[=]+", "a", Mark { list: Some(ListType::Set), merge: merge(None, false), ..Mark::default() }),
            ("a[b,c]+b~", "a", Mark { list: keys(&["b", "c"]), merge: merge(Some("b"), true), ..Mark::default() }),
            ("a:v1.B-", "a", Mark { word: Some("v1.B".to_owned()), never: true, ..Mark::default() }),
            ("a^", "a", Mark { replace: true, ..Mark::default() }),
        ];
        for (word, name, mark) in cases {
            assert_eq!(field(word), (name.to_owned(), mark), "{word}");
        }
    }

    #[test]
    fn tables_are_read() {
        let all = all();
        assert!(all["io.k8s.api.core.v1.ObjectReference"].atomic);
        assert!(!all["io.k8s.api.core.v1.Container"].atomic);
        let mounts = &all["io.k8s.api.core.v1.Container"].fields["volumeMounts"];
        assert_eq!(mounts.list, Some(ListType::Map(vec!["mountPath".to_owned()])), "on the second line of its type");
    }
}
