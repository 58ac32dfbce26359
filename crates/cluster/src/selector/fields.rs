//! Field selectors: `metadata.name=a,status.phase!=Running`.

use std::borrow::Cow;

use serde_json::Value;

use crate::status::Status;

/// A field selector. All of its requirements have to hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields {
    requirements: Vec<(String, bool, String)>,
}

impl Fields {
    /// Reads a field selector; an empty text selects everything.
    pub fn parse(text: &str) -> Result<Self, Status> {
        let mut terms = split(text);
        // A real server sorts them too, which decides what it complains about first.
        terms.sort_unstable();
        let mut requirements = Vec::with_capacity(terms.len());
        for term in terms.into_iter().filter(|term| !term.is_empty()) {
            let Some((path, equals, value)) = operator(term) else {
                return Err(Status::bad_request(format!("invalid selector: '{text}'; can't understand '{term}'")));
            };
            requirements.push((path.to_owned(), equals, unescape(value)?));
        }
        Ok(Self { requirements })
    }

    /// Each requirement: the path of the field, whether it has to be equal (or must not be), and the value.
    pub fn requirements(&self) -> &[(String, bool, String)] {
        &self.requirements
    }

    /// Whether everything is selected.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// The value that a field must have, if there is one such.
    pub fn exact(&self, path: &str) -> Option<&str> {
        self.requirements.iter().find(|(name, equals, _)| *equals && name == path).map(|(_, _, value)| value.as_str())
    }

    /// Whether an object is selected. `get` gives the text of a field, empty if it is absent.
    pub fn matches<'a>(&self, get: impl Fn(&str) -> Cow<'a, str>) -> bool {
        self.requirements.iter().all(|(path, equals, value)| (get(path) == value.as_str()) == *equals)
    }

    /// Refuses fields that the kind does not offer. `selectable` are those beside name and namespace; kinds that have some, and custom
    /// kinds, are refused in other words than the rest.
    pub fn check(&self, selectable: &[String], custom: bool, namespaced: bool) -> Result<(), Status> {
        let own_words = custom || !selectable.is_empty();
        for (path, _, _) in &self.requirements {
            let known = match path.as_str() {
                "metadata.name" => true,
                // Kinds with nothing of their own take it even where there are no namespaces.
                "metadata.namespace" => namespaced || !own_words,
                path => selectable.iter().any(|name| name.strip_prefix('.').unwrap_or(name) == path),
            };
            if !known {
                return Err(Status::bad_request(match own_words {
                    true => format!("field label not supported: {path}"),
                    false => format!(
                        "{path:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
                    ),
                }));
            }
        }
        Ok(())
    }
}

/// The text of a field by its dotted path, as selectors compare it: numbers and truth values as they are written, empty if absent.
pub fn text<'a>(object: &'a Value, path: &str) -> Cow<'a, str> {
    let found = path.split('.').filter(|part| !part.is_empty()).try_fold(object, |value, part| value.get(part));
    match found {
        Some(Value::String(text)) => Cow::Borrowed(text),
        Some(value @ (Value::Number(_) | Value::Bool(_))) => Cow::Owned(value.to_string()),
        _ => Cow::Borrowed(""),
    }
}

/// The terms between commas that have no backslash before them.
fn split(text: &str) -> Vec<&str> {
    let (mut terms, mut start, mut escaped) = (Vec::new(), 0, false);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

/// A term taken apart at its first operator; true where the value has to be equal.
fn operator(term: &str) -> Option<(&str, bool, &str)> {
    for at in term.char_indices().map(|(at, _)| at) {
        let (path, rest) = term.split_at(at);
        for (sign, equals) in [("!=", false), ("==", true), ("=", true)] {
            if let Some(value) = rest.strip_prefix(sign) {
                return Some((path, equals, value));
            }
        }
    }
    None
}

fn unescape(value: &str) -> Result<String, Status> {
    let refuse = |why: String| Status::bad_request(format!("invalid field selector: {why}"));
    let mut plain = String::with_capacity(value.len());
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some(escaped @ ('\\' | ',' | '=')) => plain.push(escaped),
                Some(other) => return Err(refuse(format!("invalid escape sequence: \\{other}"))),
                None => return Err(refuse("invalid escape sequence: \\".to_owned())),
            },
            ',' | '=' => return Err(refuse(format!("unescaped character in value: {}", u32::from(letter)))),
            _ => plain.push(letter),
        }
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Fields, text};

    /// What is read, written again as path, operator and value; or the message of the refusal.
    fn check(selector: &str, expected: &str) {
        let got = match Fields::parse(selector) {
            Ok(fields) => {
                let shown = |(path, equals, value): &(String, bool, String)| {
                    format!("{path}{}{value}", if *equals { "=" } else { "!=" })
                };
                fields.requirements().iter().map(shown).collect::<Vec<_>>().join("&")
            }
            Err(status) => format!("{} {}", status.code, status.message),
        };
        assert_eq!(got, expected, "{selector}");
    }

    #[test]
    fn reads_and_refuses_as_a_real_server_does() {
        check("", "");
        check("metadata.name==c", "metadata.name=c");
        check("metadata.name!=c,a=b,", "a=b&metadata.name!=c");
        check(",metadata.name=", "metadata.name=");
        check(r"metadata.name=c\,d\=e\\", r"metadata.name=c,d=e\");
        check("metadata.name = c", "metadata.name = c");
        check("a", "400 invalid selector: 'a'; can't understand 'a'");
        check("b=c,!a", "400 invalid selector: 'b=c,!a'; can't understand '!a'");
        check("a=b=c", "400 invalid field selector: unescaped character in value: 61");
        check(r"a=c\d", r"400 invalid field selector: invalid escape sequence: \d");
        check(r"a=c\", r"400 invalid field selector: invalid escape sequence: \");
    }

    /// The refusal of a path by a kind with these selectable fields, if there is one.
    fn refusal(path: &str, selectable: &[&str], custom: bool, namespaced: bool) -> Option<String> {
        let fields = Fields::parse(&format!("{path}=x")).expect("a selector");
        let selectable: Vec<String> = selectable.iter().map(ToString::to_string).collect();
        fields.check(&selectable, custom, namespaced).err().map(|status| status.message)
    }

    #[test]
    fn kinds_refuse_fields_in_two_ways() {
        let plain = "\"spec.foo\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"";
        assert_eq!(refusal("spec.foo", &[], false, true).as_deref(), Some(plain));
        let own = "field label not supported: spec.foo";
        assert_eq!(refusal("spec.foo", &["spec.nodeName"], false, true).as_deref(), Some(own));
        assert_eq!(refusal("spec.foo", &[], true, true).as_deref(), Some(own));
        assert_eq!(refusal("spec.nodeName", &["spec.nodeName"], false, true), None);
        assert_eq!(refusal("spec.color", &[".spec.color"], true, true), None);
        assert_eq!(refusal("metadata.namespace", &[], false, false), None);
        let none = "field label not supported: metadata.namespace";
        assert_eq!(refusal("metadata.namespace", &["spec.unschedulable"], false, false).as_deref(), Some(none));
        assert_eq!(refusal("metadata.namespace", &[], true, false).as_deref(), Some(none));
    }

    #[test]
    fn compares_texts() {
        let object = json!({"metadata": {"name": "c"}, "spec": {"n": 3, "b": true, "o": {}}});
        let selects = |selector: &str| Fields::parse(selector).expect(selector).matches(|path| text(&object, path));
        assert!(selects("metadata.name=c,spec.n=3,spec.b=true,spec.none=,spec.o="));
        assert!(!selects("metadata.name!=c"));
        assert!(!selects("metadata.name=c,metadata.name=d"));
        assert_eq!(Fields::parse("a!=b,a=c").expect("a selector").exact("a"), Some("c"));
    }
}
