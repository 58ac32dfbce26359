//! `metadata.managedFields`: who owns which fields, since when, and by which operation.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::set::FieldSet;

/// How fields came to be owned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// Server-side apply.
    Apply,
    /// Everything else.
    Update,
}

impl Operation {
    /// The word in the entry.
    pub fn word(self) -> &'static str {
        match self {
            Operation::Apply => "Apply",
            Operation::Update => "Update",
        }
    }
}

/// One entry of `metadata.managedFields`.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The name of the manager.
    pub manager: String,
    /// How it writes.
    pub operation: Operation,
    /// The version of the kind in which the paths are.
    pub api_version: String,
    /// When something of it changed last. Somebody who applies what is already there gets no time.
    pub time: Option<String>,
    /// The subresource through which it writes; empty for the object itself.
    pub subresource: String,
    /// What it owns.
    pub fields: FieldSet,
}

impl Entry {
    /// Whether two entries are of the same manager. The version tells those who update apart, not those who apply.
    pub fn is_same_manager(&self, other: &Entry) -> bool {
        self.manager == other.manager
            && self.operation == other.operation
            && self.subresource == other.subresource
            && (self.operation == Operation::Apply || self.api_version == other.api_version)
    }

    /// The text by which a real server sorts managers in messages.
    pub(super) fn identity(&self) -> String {
        let mut parts = vec![("manager", self.manager.as_str()), ("operation", self.operation.word())];
        if self.operation == Operation::Update {
            parts.push(("apiVersion", &self.api_version));
        }
        parts.push(("subresource", &self.subresource));
        parts.retain(|(_, value)| !value.is_empty());
        let parts: Vec<String> =
            parts.iter().map(|(name, value)| format!("\"{name}\":{}", Value::from(*value))).collect();
        format!("{{{}}}", parts.join(","))
    }

    fn read(entry: &Value, at: usize) -> Result<Self, String> {
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
        let operation = match text("operation") {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return Err("operation must be `Apply` or `Update`".to_owned()),
        };
        if text("apiVersion").is_empty() {
            return Err("apiVersion must not be empty".to_owned());
        }
        match text("fieldsType") {
            "FieldsV1" => {}
            "" => return Err(format!("missing fieldsType in managed fields entry {at}")),
            other => return Err(format!("invalid fieldsType {other:?} in managed fields entry {at}")),
        }
        Ok(Entry {
            manager: text("manager").to_owned(),
            operation,
            api_version: text("apiVersion").to_owned(),
            time: entry.get("time").and_then(Value::as_str).map(in_utc),
            subresource: text("subresource").to_owned(),
            fields: FieldSet::from_json(entry.get("fieldsV1").unwrap_or(&Value::Null))?,
        })
    }

    fn write(self) -> Value {
        let mut entry = Map::new();
        let mut put = |name: &str, value: Value| _ = entry.insert(name.to_owned(), value);
        if !self.manager.is_empty() {
            put("manager", self.manager.into());
        }
        put("operation", self.operation.word().into());
        put("apiVersion", self.api_version.into());
        if let Some(time) = self.time {
            put("time", time.into());
        }
        put("fieldsType", "FieldsV1".into());
        put("fieldsV1", self.fields.to_json());
        if !self.subresource.is_empty() {
            put("subresource", self.subresource.into());
        }
        Value::Object(entry)
    }
}

/// A time as the server writes it: in UTC and whole seconds.
fn in_utc(time: &str) -> String {
    // Nearly all times have this form already.
    if time.len() == 20 && time.ends_with('Z') {
        return time.to_owned();
    }
    match time.parse::<jiff::Timestamp>() {
        Ok(parsed) => parsed.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        Err(_) => time.to_owned(),
    }
}

/// Reads `metadata.managedFields`. Of two entries of the same manager the later one holds.
///
/// # Errors
/// What is wrong with it, in the words of a real server.
pub fn read(entries: &Value) -> Result<Vec<Entry>, String> {
    let Value::Array(entries) = entries else { return Ok(Vec::new()) };
    let mut all: Vec<Entry> = Vec::with_capacity(entries.len());
    for (at, entry) in entries.iter().enumerate() {
        let entry = Entry::read(entry, at)?;
        match all.iter_mut().find(|there| there.is_same_manager(&entry)) {
            Some(there) => *there = entry,
            None => all.push(entry),
        }
    }
    Ok(all)
}

/// `metadata.managedFields` for these entries: sorted as a real server does; `None` if there are none.
pub fn write(mut entries: Vec<Entry>) -> Option<Value> {
    if entries.is_empty() {
        return None;
    }
    entries.sort_by(order);
    Some(Value::Array(entries.into_iter().map(Entry::write).collect()))
}

/// Those who apply come first, then the oldest. No time is older than any.
fn order(a: &Entry, b: &Entry) -> Ordering {
    a.operation
        .cmp(&b.operation)
        .then_with(|| a.time.cmp(&b.time))
        .then_with(|| a.manager.cmp(&b.manager))
        .then_with(|| a.api_version.cmp(&b.api_version))
        .then_with(|| a.subresource.cmp(&b.subresource))
}

/// How many managers that update are kept apart.
const MANAGERS_THAT_UPDATE: usize = 10;

/// Puts the oldest managers that update together, version by version, until at most ten are left. Entry by entry as a real server does
/// it, which never puts the oldest of a version into a collection that is there already.
pub(super) fn cap(entries: &mut Vec<Entry>) {
    let mut left = entries.iter().filter(|entry| entry.operation == Operation::Update).count();
    if left <= MANAGERS_THAT_UPDATE {
        return;
    }
    let mut oldest: Vec<Entry> = entries.iter().filter(|entry| entry.operation == Operation::Update).cloned().collect();
    oldest.sort_by_cached_key(|entry| (entry.time.clone(), entry.identity()));
    let mut firsts: Vec<&Entry> = Vec::new();
    for entry in &oldest {
        if left <= MANAGERS_THAT_UPDATE {
            break;
        }
        let Some(first) = firsts.iter().find(|first| first.api_version == entry.api_version) else {
            firsts.push(entry);
            continue;
        };
        let collection = Entry {
            manager: "ancient-changes".to_owned(),
            subresource: String::new(),
            time: entry.time.clone(),
            ..(*first).clone()
        };
        let at = match entries.iter().position(|there| there.is_same_manager(&collection)) {
            Some(at) => at,
            None => {
                entries.retain(|there| !there.is_same_manager(first));
                entries.push(collection);
                entries.len() - 1
            }
        };
        let there = &mut entries[at];
        there.fields = std::mem::take(&mut there.fields).union(entry.fields.clone());
        there.time.clone_from(&entry.time);
        entries.retain(|there| !there.is_same_manager(entry));
        left -= 1;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(manager: &str, operation: &str, version: &str, time: Option<&str>) -> Value {
        let mut entry = json!({
            "manager": manager, "operation": operation, "apiVersion": version, "fieldsType": "FieldsV1",
            "fieldsV1": {format!("f:{manager}"): {}},
        });
        if let Some(time) = time {
            entry["time"] = time.into();
        }
        entry
    }

    fn names(entries: &Value) -> Vec<String> {
        let name = |entry: &Value| format!("{} {}", entry["manager"].as_str().unwrap_or("-"), entry["fieldsV1"]);
        entries.as_array().into_iter().flatten().map(name).collect()
    }

    #[test]
    fn sorted_and_read_again() {
        let (early, late) = (Some("2026-01-01T00:00:00Z"), Some("2026-01-02T00:00:00Z"));
        let sorted = json!([
            entry("z", "Apply", "v1", None),
            entry("b", "Apply", "v1", early),
            entry("a", "Apply", "v1", late),
            entry("y", "Update", "v1", None),
            entry("a", "Update", "v1", early),
            entry("a", "Update", "v2", early),
            entry("b", "Update", "v1", early),
        ]);
        let mut entries = read(&sorted).expect("it can be read");
        entries.reverse();
        assert_eq!(write(entries), Some(sorted));
        assert_eq!(write(Vec::new()), None);
        let twice = json!([entry("a", "Apply", "v1", early), entry("a", "Apply", "v2", late)]);
        assert_eq!(read(&twice).expect("it can be read").len(), 1, "who applies is the same in all versions");
        let offset = json!([entry("a", "Apply", "v1", Some("2026-01-01T02:00:00.5+02:00"))]);
        assert_eq!(read(&offset).expect("it can be read")[0].time.as_deref(), early);
    }

    #[test]
    fn what_cannot_be_read() {
        let good = entry("a", "Apply", "v1", None);
        for (field, value, words) in [
            ("operation", "Eat", "operation must be `Apply` or `Update`"),
            ("apiVersion", "", "apiVersion must not be empty"),
            ("fieldsType", "", "missing fieldsType in managed fields entry 1"),
            ("fieldsType", "FieldsV2", "invalid fieldsType \"FieldsV2\" in managed fields entry 1"),
        ] {
            let mut bad = good.clone();
            bad[field] = value.into();
            assert_eq!(read(&json!([good, bad])), Err(words.to_owned()));
        }
    }

    /// As a real server puts them together.
    #[test]
    fn at_most_ten_update() {
        let mut entries = Vec::new();
        for at in 0..12 {
            let new = json!([entry(&format!("m{at:02}"), "Update", "v1", Some(&format!("2026-01-01T00:00:{at:02}Z")))]);
            entries.extend(read(&new).expect("it can be read"));
            cap(&mut entries);
        }
        entries.extend(read(&json!([entry("m", "Apply", "v1", None)])).expect("it can be read"));
        cap(&mut entries);
        let written = write(entries).unwrap_or_default();
        let mut expected =
            vec![r#"m {"f:m":{}}"#.to_owned(), r#"ancient-changes {"f:m00":{},"f:m01":{},"f:m02":{}}"#.to_owned()];
        expected.extend((3..12).map(|at| format!("m{at:02} {{\"f:m{at:02}\":{{}}}}")));
        assert_eq!(names(&written), expected);
        assert_eq!(written[1]["time"], "2026-01-01T00:00:02Z");
        // Of other versions, the oldest stays alone.
        let old = ["v1", "v2", "v1"].iter().enumerate();
        let old = old.map(|(at, version)| entry(&format!("o{at}"), "Update", version, Some("2025-01-01T00:00:00Z")));
        let mut entries = read(&Value::Array(old.collect())).expect("it can be read");
        entries
            .extend(read(&written).expect("it can be read").into_iter().filter(|entry| entry.manager.as_str() > "m03"));
        cap(&mut entries);
        let written = write(entries).unwrap_or_default();
        assert_eq!(names(&written)[..2], [r#"ancient-changes {"f:o0":{},"f:o2":{}}"#, r#"o1 {"f:o1":{}}"#]);
    }
}
