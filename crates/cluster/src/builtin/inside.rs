//! Structs as a server has them inside. Some of its messages show them so, with other names and in another order than outside, and
//! with everything that is not there.

mod types;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

use super::unified;

/// A struct in its inner form.
enum Shown {
    /// A value that has no parts of its own.
    Leaf(String),
    List(Vec<Shown>),
    Fields(Vec<(String, Shown)>),
}

/// A field of a struct.
struct Field {
    /// Its name inside; of a struct whose fields stand here, its type.
    name: &'static str,
    /// Its name outside.
    outside: String,
    of: Of,
    /// Whether nothing shows as `null`.
    nothing: bool,
}

enum Of {
    /// What is shown when it is not there.
    Plain(&'static str),
    Struct(&'static str),
    List(&'static str),
    /// The fields of another type.
    Inline,
}

static TYPES: LazyLock<BTreeMap<&'static str, Vec<Field>>> = LazyLock::new(|| read(types::TYPES));

fn read(table: &'static str) -> BTreeMap<&'static str, Vec<Field>> {
    let mut all: BTreeMap<&'static str, Vec<Field>> = BTreeMap::new();
    let mut current = "";
    for line in table.lines().filter(|line| !line.is_empty()) {
        let mut words = line.split_whitespace();
        if !line.starts_with("    ") {
            current = words.next().unwrap_or_default();
        }
        all.entry(current).or_default().extend(words.map(field));
    }
    all
}

fn field(word: &'static str) -> Field {
    if let Some(name) = word.strip_prefix('@') {
        return Field { name, outside: String::new(), of: Of::Inline, nothing: false };
    }
    let end = word.find(['=', '?', '#', '!', '%', '{', '[', ':']).unwrap_or(word.len());
    let (name, mut rest) = word.split_at(end);
    let mut outside = outside(name);
    if let Some(given) = rest.strip_prefix('=') {
        let end = given.find(['?', '#', '!', '%', '{', '[', ':']).unwrap_or(given.len());
        given[..end].clone_into(&mut outside);
        rest = &given[end..];
    }
    let nothing = rest.starts_with('?');
    let of = match rest.trim_start_matches('?') {
        "#" => Of::Plain("0"),
        "!" => Of::Plain("false"),
        "%" => Of::Plain("\"0\""),
        "{}" | "[]" => Of::Plain("null"),
        "" => Of::Plain(if nothing { "null" } else { "\"\"" }),
        rest => match rest.strip_prefix(':') {
            Some(name) => Of::Struct(name),
            None => Of::List(rest.trim_matches(['[', ']'])),
        },
    };
    Field { name, outside, of, nothing }
}

/// `DNSPolicy` is `dnsPolicy` outside: the capitals at the start become small, but for the first letter of the next word.
fn outside(name: &str) -> String {
    let capitals = name.bytes().take_while(u8::is_ascii_uppercase).count();
    let small = if capitals > 1 && capitals < name.len() { capitals - 1 } else { capitals };
    format!("{}{}", name[..small].to_lowercase(), &name[small..])
}

fn shown(kind: &str, value: &Value) -> Shown {
    let mut fields = Vec::new();
    collect(kind, value, &mut fields);
    Shown::Fields(fields)
}

fn collect(kind: &str, value: &Value, into: &mut Vec<(String, Shown)>) {
    for field in TYPES.get(kind).into_iter().flatten() {
        let given = value.get(&field.outside).filter(|given| !given.is_null());
        let part = match (&field.of, given) {
            (Of::Inline, _) => {
                collect(field.name, value, into);
                continue;
            }
            (Of::Plain(_), Some(given)) => plain(given),
            (Of::Plain(none), None) => Shown::Leaf((*none).to_owned()),
            (Of::Struct(_), None) if field.nothing => Shown::Leaf("null".to_owned()),
            (Of::Struct(kind), given) => shown(kind, given.unwrap_or(&Value::Null)),
            (Of::List(kind), Some(Value::Array(list))) => {
                Shown::List(list.iter().map(|one| shown(kind, one)).collect())
            }
            (Of::List(_), _) => Shown::Leaf("null".to_owned()),
        };
        into.push((field.name.to_owned(), part));
    }
}

/// A value that looks the same outside. Selectors have an order of their own.
fn plain(value: &Value) -> Shown {
    const ORDER: [&str; 5] = ["matchLabels", "matchExpressions", "key", "operator", "values"];
    match value {
        Value::Array(list) => Shown::List(list.iter().map(plain).collect()),
        Value::Object(map) => {
            let mut fields: Vec<(String, Shown)> = map.iter().map(|(key, value)| (key.clone(), plain(value))).collect();
            fields.sort_by_key(|(key, _)| ORDER.iter().position(|known| known == key).unwrap_or(ORDER.len()));
            Shown::Fields(fields)
        }
        value => Shown::Leaf(escaped(&value.to_string())),
    }
}

/// A server writes these signs as their numbers.
fn escaped(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

impl Shown {
    fn on_one_line(&self) -> String {
        match self {
            Shown::Leaf(text) => text.clone(),
            Shown::List(list) => format!("[{}]", list.iter().map(Shown::on_one_line).collect::<Vec<_>>().join(",")),
            Shown::Fields(fields) => {
                let parts: Vec<String> =
                    fields.iter().map(|(name, part)| format!("{name:?}:{}", part.on_one_line())).collect();
                format!("{{{}}}", parts.join(","))
            }
        }
    }

    fn lines(&self, indent: usize, before: &str, after: &str, into: &mut Vec<String>) {
        let space = " ".repeat(indent);
        let (open, close, count) = match self {
            Shown::Leaf(text) => return into.push(format!("{space}{before}{text}{after}\n")),
            Shown::List(list) => ("[", "]", list.len()),
            Shown::Fields(fields) => ("{", "}", fields.len()),
        };
        if count == 0 {
            return into.push(format!("{space}{before}{open}{close}{after}\n"));
        }
        into.push(format!("{space}{before}{open}\n"));
        let comma = |index: usize| if index + 1 < count { "," } else { "" };
        match self {
            Shown::List(list) => {
                list.iter().enumerate().for_each(|(index, part)| part.lines(indent + 1, "", comma(index), into));
            }
            Shown::Fields(fields) => fields
                .iter()
                .enumerate()
                .for_each(|(index, (name, part))| part.lines(indent + 1, &format!("{name:?}: "), comma(index), into)),
            Shown::Leaf(_) => {}
        }
        into.push(format!("{space}{close}{after}\n"));
    }
}

/// A struct of a type such as `NodeSelectorTerm`, on one line.
pub fn compact(kind: &str, value: &Value) -> String {
    if value.is_null() { "null".to_owned() } else { shown(kind, value).on_one_line() }
}

/// How two structs of a type differ, line by line.
pub fn diff(kind: &str, old: &Value, new: &Value) -> String {
    let lines = |value: &Value| {
        let mut lines = Vec::new();
        shown(kind, &moved(kind, value)).lines(0, "", "", &mut lines);
        lines
    };
    unified::diff(&lines(old), &lines(new))
}

/// Inside, what a pod shares with its host is part of its security context.
fn moved(kind: &str, value: &Value) -> Value {
    let mut value = value.clone();
    if kind != "PodSpec" {
        return value;
    }
    for field in ["hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers"] {
        let Some(given) = value.get(field).cloned() else { continue };
        if let Some(context) = super::reach::map_mut(&mut value, "securityContext") {
            context.insert(field.to_owned(), given);
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_inside_and_outside() {
        for (inside, expected) in [
            ("DNSPolicy", "dnsPolicy"),
            ("IP", "ip"),
            ("SELinuxOptions", "seLinuxOptions"),
            ("HostPID", "hostPID"),
            ("Name", "name"),
        ] {
            assert_eq!(outside(inside), expected);
        }
    }

    #[test]
    fn structs_are_shown_with_all_their_fields() {
        let term = json!({"matchExpressions": [{"key": "a", "operator": "Exists"}]});
        assert_eq!(
            compact("NodeSelectorTerm", &term),
            r#"{"MatchExpressions":[{"Key":"a","Operator":"Exists","Values":null}],"MatchFields":null}"#
        );
        let context = json!({"privileged": true, "capabilities": {"add": ["X"]}});
        assert!(
            compact("SecurityContext", &context)
                .starts_with(r#"{"Capabilities":{"Add":["X"],"Drop":null},"Privileged":true,"#)
        );
    }

    #[test]
    fn a_changed_spec_is_told_as_a_server_does() {
        let old = json!({"containers": [{"name": "a", "image": "b", "env": [{"name": "A", "value": "b"}]}]});
        let mut new = old.clone();
        new["containers"][0]["env"] = json!([{"name": "A", "value": "c"}, {"name": "B", "value": "d"}]);
        let expected = [
            "@@ -13,7 +13,12 @@",
            "    \"Env\": [",
            "     {",
            "      \"Name\": \"A\",",
            "-     \"Value\": \"b\",",
            "+     \"Value\": \"c\",",
            "+     \"ValueFrom\": null",
            "+    },",
            "+    {",
            "+     \"Name\": \"B\",",
            "+     \"Value\": \"d\",",
            "      \"ValueFrom\": null",
            "     }",
            "    ],",
            "",
        ];
        assert_eq!(diff("PodSpec", &old, &new), expected.join("\n"));
    }
}
