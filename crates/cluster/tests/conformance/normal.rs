//! What no two servers can agree on, replaced by symbols that they can.
//!
//! - uids: `<uid 2>`, the one that came up first in step 2, wherever it stands;
//! - versions of objects: `<rv 2>` likewise, with a remark if it is older than one that came up before, so that
//!   equality and order are compared and numbers are not;
//! - versions of lists and bookmarks, which move with what others write: `<list>`, with a remark if it is older than
//!   an object that came up before;
//! - times of now (those of the cases are long past), ages in tables, generated names, cluster IPs, continue tokens;
//! - the order of managed fields, which depends on whether a second passed between two writes; of causes, which is
//!   by chance where a real server collects them in maps (the message has an order); of fields in quoted objects;
//! - descriptions of kinds, fields and columns, which are ours where they are not the author's of a definition.
//!
//! Nothing else.

use serde_json::{Map, Value};

/// Times from this year on are the server's; those that cases write are older.
const NOW: u32 = 2024;

/// What generated names end with, and how much of a prefix they keep.
const SUFFIXES: &str = "bcdfghjklmnpqrstvwxz2456789";
const PREFIX_MAX: usize = 58;

/// Which symbols stand for what, in one case on one server.
#[derive(Debug, Default)]
pub struct Normal {
    step: usize,
    /// How many new ones came up in this step.
    new_uids: usize,
    new_versions: usize,
    new_names: usize,
    new_addresses: usize,
    uids: Vec<(String, String)>,
    versions: Vec<(u64, String)>,
    /// What names were generated from.
    prefixes: Vec<String>,
    names: Vec<(String, String)>,
    addresses: Vec<(String, String)>,
}

impl Normal {
    /// Symbols that come up from here on are named after this step.
    pub fn begin(&mut self, step: usize) {
        self.step = step;
        (self.new_uids, self.new_versions, self.new_names, self.new_addresses) = (0, 0, 0, 0);
    }

    /// Finds in a request what names will be generated from: refusals name the object and do not repeat the prefix.
    pub fn asked(&mut self, body: &Value) {
        if let Some(prefix) = body["metadata"]["generateName"].as_str().filter(|prefix| !prefix.is_empty()) {
            let prefix = prefix.get(..PREFIX_MAX).unwrap_or(prefix);
            if !self.prefixes.iter().any(|known| known == prefix) {
                self.prefixes.push(prefix.to_owned());
            }
        }
    }

    /// Replaces everything volatile in an answer or an event.
    pub fn clean(&mut self, value: &mut Value) {
        let bookmark = value["type"] == "BOOKMARK";
        self.learn(value);
        self.value(value, bookmark);
    }

    /// A text with everything volatile in it replaced.
    pub fn text(&mut self, text: &str) -> String {
        let mut text = self.replace_objects(text);
        text = replace_times(&text);
        for (address, symbol) in &self.addresses {
            text = text.replace(address, symbol);
        }
        for prefix in self.prefixes.clone() {
            text = self.replace_names(&text, &prefix);
        }
        text = self.replace_uids(&text);
        if text.to_lowercase().contains("resource version") || text.contains("ResourceVersion") {
            text = self.replace_versions(&text);
        }
        text
    }

    /// Objects that a message quotes are compared as objects: the order of their fields is an accident of the types.
    fn replace_objects(&mut self, text: &str) -> String {
        let mut replaced = String::new();
        let mut rest = text;
        while let Some(start) = rest.find("\"{\\\"") {
            replaced.push_str(&rest[..start]);
            rest = &rest[start..];
            let mut quoted = serde_json::Deserializer::from_str(rest).into_iter::<String>();
            let object = quoted.next().and_then(Result::ok).and_then(|text| serde_json::from_str::<Value>(&text).ok());
            let Some(mut object) = object else {
                replaced.push('"');
                rest = &rest[1..];
                continue;
            };
            rest = &rest[quoted.byte_offset()..];
            self.clean(&mut object);
            replaced.push_str(&Value::String(object.to_string()).to_string());
        }
        replaced + rest
    }

    /// Finds addresses before the first text is replaced.
    fn learn(&mut self, value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.learn(item)),
            Value::Object(fields) => {
                let address = fields.get("clusterIP").and_then(Value::as_str).unwrap_or_default();
                let known = self.addresses.iter().any(|(known, _)| known == address);
                if address.parse::<std::net::IpAddr>().is_ok() && !known {
                    self.new_addresses += 1;
                    self.addresses.push((address.to_owned(), symbol("ip", self.step, self.new_addresses)));
                }
                fields.values().for_each(|value| self.learn(value));
            }
            _ => (),
        }
    }

    /// Replaces the five characters that follow a prefix of generated names.
    fn replace_names(&mut self, text: &str, prefix: &str) -> String {
        let mut replaced = String::new();
        let mut rest = text;
        while let Some(start) = rest.find(prefix) {
            let end = start + prefix.len();
            replaced.push_str(&rest[..end]);
            rest = &rest[end..];
            let is_suffix = |suffix: &&str| suffix.chars().all(|c| SUFFIXES.contains(c));
            let Some(suffix) = rest.get(..5).filter(is_suffix) else { continue };
            let word = format!("{prefix}{suffix}");
            let known = self.names.iter().find(|(known, _)| *known == word).map(|(_, symbol)| symbol.clone());
            let symbol = known.unwrap_or_else(|| {
                self.new_names += 1;
                let symbol = symbol("name", self.step, self.new_names);
                self.names.push((word, symbol.clone()));
                symbol
            });
            replaced.push_str(&symbol);
            rest = &rest[5..];
        }
        replaced + rest
    }

    fn value(&mut self, value: &mut Value, bookmark: bool) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item, bookmark)),
            Value::Object(fields) => self.object(fields, bookmark),
            _ => (),
        }
    }

    fn object(&mut self, fields: &mut Map<String, Value>, bookmark: bool) {
        let many = bookmark || fields.contains_key("items") || fields.contains_key("columnDefinitions");
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            self.metadata(metadata, many);
        }
        if fields.contains_key("type") && fields.get("description").is_some_and(Value::is_string) {
            fields.remove("description");
        }
        if let Some(metadata) = fields.get_mut("metadata").filter(|metadata| metadata["allOf"].is_array()) {
            metadata["description"] = Value::Null;
        }
        if let Some(cells) = fields.get_mut("cells").and_then(Value::as_array_mut) {
            cells.iter_mut().for_each(replace_age);
        }
        if let Some(causes) = fields.get_mut("causes").and_then(Value::as_array_mut) {
            causes.sort_by_key(|cause| ["field", "message"].map(|key| cause[key].to_string()));
        }
        // In the order of their names, whatever the order of the map, so that symbols come up in the same order.
        let mut keys: Vec<String> = fields.keys().cloned().collect();
        keys.sort_unstable();
        for key in keys {
            let Some(mut value) = fields.remove(&key) else { continue };
            self.value(&mut value, bookmark);
            let key = self.text(&key);
            fields.insert(key, value);
        }
    }

    fn metadata(&mut self, metadata: &mut Map<String, Value>, many: bool) {
        if let Some(version) = metadata.get_mut("resourceVersion")
            && let Some(number) = version.as_str().and_then(|text| text.parse::<u64>().ok())
        {
            *version = if many { self.list_version(number) } else { self.version(number) }.into();
        }
        if let Some(token) = metadata.get_mut("continue")
            && token.as_str().is_some_and(|text| !text.is_empty())
        {
            *token = "<continue>".into();
        }
        if let Some(managed) = metadata.get_mut("managedFields").and_then(Value::as_array_mut) {
            managed.sort_by_key(|entry| {
                ["operation", "manager", "apiVersion", "subresource"].map(|key| entry[key].to_string())
            });
        }
    }

    fn version(&mut self, number: u64) -> String {
        if let Some((_, symbol)) = self.versions.iter().find(|(known, _)| *known == number) {
            return symbol.clone();
        }
        self.new_versions += 1;
        let mut symbol = symbol("rv", self.step, self.new_versions);
        let newer = self.versions.iter().filter(|(known, _)| *known > number).min();
        if let Some((_, newer)) = newer {
            symbol = format!("{symbol} older than {}", bare(newer));
        }
        self.versions.push((number, symbol.clone()));
        symbol
    }

    fn list_version(&self, number: u64) -> String {
        match self.versions.iter().filter(|(known, _)| *known > number).min() {
            Some((_, newer)) => format!("<list> older than {}", bare(newer)),
            None => "<list>".to_owned(),
        }
    }

    fn replace_uids(&mut self, text: &str) -> String {
        const LENGTH: usize = 36;
        let mut replaced = String::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let Some(uid) = rest.get(..LENGTH).filter(|part| is_uid(part)) else {
                replaced.push(first);
                rest = &rest[first.len_utf8()..];
                continue;
            };
            if !self.uids.iter().any(|(known, _)| known == uid) {
                self.new_uids += 1;
                self.uids.push((uid.to_owned(), symbol("uid", self.step, self.new_uids)));
            }
            let known = self.uids.iter().find(|(known, _)| known == uid);
            replaced.push_str(known.map_or("", |(_, symbol)| symbol));
            rest = &rest[LENGTH..];
        }
        replaced
    }

    /// In messages about versions: those of objects by their symbol; what the server is at, by none.
    fn replace_versions(&self, text: &str) -> String {
        let mut replaced = String::new();
        let mut rest = text;
        while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
            let end = rest[start..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |length| start + length);
            let (before, digits) = (&rest[..start], &rest[start..end]);
            replaced.push_str(before);
            let known = self.versions.iter().find(|(known, _)| known.to_string() == digits);
            match known {
                Some((_, symbol)) => replaced.push_str(symbol),
                None if before.ends_with(" (") || before.ends_with("current: ") => replaced.push_str("<now>"),
                None => replaced.push_str(digits),
            }
            rest = &rest[end..];
        }
        replaced + rest
    }
}

/// `<uid 3>`, and `<uid 3.2>` for the second that came up in step 3.
fn symbol(kind: &str, step: usize, count: usize) -> String {
    if count == 1 { format!("<{kind} {step}>") } else { format!("<{kind} {step}.{count}>") }
}

/// The symbol without its remark.
fn bare(symbol: &str) -> &str {
    symbol.split_inclusive('>').next().unwrap_or(symbol)
}

fn is_uid(text: &str) -> bool {
    let dash = |index: usize| matches!(index, 8 | 13 | 18 | 23);
    text.bytes().enumerate().all(|(index, byte)| if dash(index) { byte == b'-' } else { byte.is_ascii_hexdigit() })
}

/// `2026-11-16T03:31:00Z` becomes `<time>`, with a fraction `<time.6>`, so that a wrong precision is seen.
fn replace_times(text: &str) -> String {
    const SHAPE: &str = "0000-00-00T00:00:00";
    let digit_or_same = |(c, shape): (u8, u8)| if shape == b'0' { c.is_ascii_digit() } else { c == shape };
    let mut replaced = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let seconds = rest.get(..SHAPE.len()).filter(|part| part.bytes().zip(SHAPE.bytes()).all(digit_or_same));
        let recent = seconds.and_then(|time| time[..4].parse::<u32>().ok()).is_some_and(|year| year >= NOW);
        if !recent {
            replaced.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        rest = &rest[SHAPE.len()..];
        let digits = rest.strip_prefix('.').map_or(0, |tail| tail.bytes().take_while(u8::is_ascii_digit).count());
        if digits > 0 {
            replaced.push_str(&format!("<time.{digits}>"));
            rest = &rest[digits + 1..];
        } else {
            replaced.push_str("<time>");
        }
        match rest.strip_prefix('Z') {
            Some(after) => rest = after,
            None => replaced.push_str("<no zone>"),
        }
    }
    replaced
}

/// Ages such as `5s` and `1m2s`.
fn replace_age(cell: &mut Value) {
    let is_age = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_digit())
            && text.ends_with(['s', 'm'])
            && text.chars().all(|c| c.is_ascii_digit() || c == 's' || c == 'm')
    };
    if cell.as_str().is_some_and(is_age) {
        *cell = "<age>".into();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(answers: &[(Value, Value)]) {
        let mut normal = Normal::default();
        for (index, (given, expected)) in answers.iter().enumerate() {
            normal.begin(index + 1);
            let mut given = given.clone();
            normal.clean(&mut given);
            assert_eq!(given, *expected);
        }
    }

    fn with_version(version: &str) -> Value {
        json!({"metadata": {"resourceVersion": version}})
    }

    #[test]
    fn versions_keep_their_equality_and_their_order() {
        check(&[
            (with_version("10"), with_version("<rv 1>")),
            (with_version("12"), with_version("<rv 2>")),
            (with_version("10"), with_version("<rv 1>")),
            (with_version("11"), with_version("<rv 4> older than <rv 2>")),
            (
                json!({"metadata": {"resourceVersion": "11"}, "items": []}),
                json!({"metadata": {"resourceVersion": "<list> older than <rv 2>"}, "items": []}),
            ),
            (
                json!({"message": "ResourceVersion in precondition: 7, ResourceVersion in object meta: 12"}),
                json!({"message": "ResourceVersion in precondition: 7, ResourceVersion in object meta: <rv 2>"}),
            ),
            (
                json!({"message": "too old resource version: 1 (45)"}),
                json!({"message": "too old resource version: 1 (<now>)"}),
            ),
        ]);
    }

    #[test]
    fn uids_are_the_same_symbol_everywhere() {
        let uid = "0b4f0a3e-1111-4222-8333-444455556666";
        check(&[
            (json!({"uid": uid}), json!({"uid": "<uid 1>"})),
            (
                json!({ "message": format!("is {uid}, not {}", uid.replace('0', "1")) }),
                json!({"message": "is <uid 1>, not <uid 2>"}),
            ),
        ]);
    }

    #[test]
    fn times_of_now_are_replaced_and_those_of_cases_are_not() {
        check(&[(
            json!([
                "2026-11-16T03:31:00Z",
                "2026-11-16T03:31:00.123456Z",
                "2001-02-03T04:05:06Z",
                "2026-11-16T03:31:00+01:00"
            ]),
            json!(["<time>", "<time.6>", "2001-02-03T04:05:06Z", "<time><no zone>+01:00"]),
        )]);
    }

    #[test]
    fn generated_names_are_those_that_were_asked_for() {
        let mut normal = Normal::default();
        normal.asked(&json!({"metadata": {"generateName": "a-"}}));
        normal.begin(1);
        let text = "pods \"a-x7b2q\" not found, a-x7b2q a-22222 a-aeiou b-x7b2q";
        let expected = "pods \"a-<name 1>\" not found, a-<name 1> a-<name 1.2> a-aeiou b-x7b2q";
        assert_eq!(normal.text(text), expected);
    }

    #[test]
    fn addresses_are_learned() {
        check(&[(
            json!({"spec": {"clusterIP": "10.0.0.7", "clusterIPs": ["10.0.0.7"]}, "message": "10.0.0.7 is taken"}),
            json!({"spec": {"clusterIP": "<ip 1>", "clusterIPs": ["<ip 1>"]}, "message": "<ip 1> is taken"}),
        )]);
    }

    #[test]
    fn objects_in_messages_are_replaced_and_sorted() {
        let quoted = r#"patch: Invalid value: "{\"b\":{},\"metadata\":{\"resourceVersion\":\"7\"},\"a\":1}": "{\" no"#;
        let expected =
            r#"patch: Invalid value: "{\"a\":1,\"b\":{},\"metadata\":{\"resourceVersion\":\"<rv 1>\"}}": "{\" no"#;
        check(&[(json!(quoted), json!(expected))]);
    }

    #[test]
    fn ages_are_replaced_in_cells_only() {
        check(&[(
            json!({"cells": ["a", "5s", "1m2s", "0/1"], "x": "5s"}),
            json!({"cells": ["a", "<age>", "<age>", "0/1"], "x": "5s"}),
        )]);
    }

    #[test]
    fn managed_fields_are_sorted_by_who_did_what() {
        let (one, two) =
            (json!({"manager": "a", "operation": "Apply"}), json!({"manager": "b", "operation": "Update"}));
        check(&[(
            json!({"metadata": {"managedFields": [two, one]}}),
            json!({"metadata": {"managedFields": [one, two]}}),
        )]);
    }
}
