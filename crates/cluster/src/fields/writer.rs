//! Who writes, and what a write that is not an apply does to managed fields.

use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value};

use super::compare::{Change, compare};
use super::managed::{self, Entry, Operation};
use super::object::reconcile;
use super::set::FieldSet;
use crate::schema::Schema;

/// Who writes an object, how and when.
#[derive(Debug, Clone, Copy, Default)]
pub struct Writer<'a> {
    /// The manager: `fieldManager` of the request, or else [`manager_of_user_agent`].
    pub manager: &'a str,
    /// The version in which is written, as in objects: `apps/v1`.
    pub api_version: &'a str,
    /// The kind, as in objects.
    pub kind: &'a str,
    /// The subresource through which is written; empty for the object itself.
    pub subresource: &'a str,
    /// Now, as in `metadata.creationTimestamp`.
    pub time: &'a str,
    /// Fields that this write cannot change, whatever it says (`status` for a write to the object of a kind that has a status): nobody
    /// gains or loses them by it.
    pub reset: &'a [&'a [&'a str]],
    /// What an object of a built-in kind has before anybody writes to it, see [`super::empty_object`]. `None` for custom kinds.
    pub empty: Option<&'a Value>,
    /// All versions of the kind, as in objects, with their schemas; managers of other versions are forgotten. Empty if the version in
    /// which is written is the only one.
    pub versions: &'a [(String, Arc<Schema>)],
}

impl Writer<'_> {
    pub(super) fn entry(&self, operation: Operation, fields: FieldSet) -> Entry {
        Entry {
            manager: if self.manager.is_empty() { "unknown" } else { self.manager }.to_owned(),
            operation,
            api_version: self.api_version.to_owned(),
            time: Some(self.time.to_owned()),
            subresource: self.subresource.to_owned(),
            fields,
        }
    }

    pub(super) fn reset_fields(&self) -> FieldSet {
        FieldSet::of_names(self.reset)
    }

    /// Whether the kind has this version.
    fn knows(&self, api_version: &str) -> bool {
        self.versions.is_empty()
            || api_version == self.api_version
            || self.versions.iter().any(|known| known.0 == api_version)
    }

    /// The schema of a version; `own` is that of the version in which is written.
    pub(super) fn schema<'s>(&'s self, own: &'s Schema, api_version: &str) -> &'s Schema {
        let other = self.versions.iter().find(|known| known.0 == api_version && api_version != self.api_version);
        other.map_or(own, |(_, schema)| schema)
    }

    /// Forgets managers of versions that the kind does not have.
    ///
    /// # Errors
    /// The first such version of a custom kind, where a real server does not get further.
    pub(super) fn drop_unknown_versions(&self, entries: &mut Vec<Entry>) -> Result<(), String> {
        match entries.iter().find(|entry| !self.knows(&entry.api_version)) {
            Some(entry) if self.empty.is_none() => Err(entry.api_version.clone()),
            Some(_) => {
                entries.retain(|entry| self.knows(&entry.api_version));
                Ok(())
            }
            None => Ok(()),
        }
    }
}

/// The manager of a client that does not name one: its program, the part of the user agent before the first `/`, without signs that
/// cannot be printed, at most 128 bytes.
pub fn manager_of_user_agent(user_agent: &str) -> String {
    let mut manager = String::new();
    for sign in user_agent.split('/').next().unwrap_or_default().chars().filter(|sign| super::path::printable(*sign)) {
        if manager.len() + sign.len_utf8() > 128 {
            break;
        }
        manager.push(sign);
    }
    manager
}

/// Brings `metadata.managedFields` of `new` up to date for a create (`live` is `None`), an update or a patch other than apply.
///
/// `new` is the object after defaulting and pruning and before admission and before the server's own changes (generation, status put
/// back): what these change is owned by nobody. It carries the managed fields that the client sent: entries that can be read replace
/// those of the live object; one empty entry (for built-in kinds also an empty list) forgets all managers.
pub fn update(schema: &Schema, live: Option<&Value>, new: &mut Value, writer: &Writer<'_>) {
    let sent =
        new.get_mut("metadata").and_then(Value::as_object_mut).and_then(|metadata| metadata.remove("managedFields"));
    let entries = entries_before(live, sent, writer);
    let nothing = Value::Object(Map::new());
    let before = live.or(writer.empty).unwrap_or(&nothing);
    // Without managers, those who come later are not recorded either, until somebody applies.
    let tracked = !entries.is_empty() || !has_uid(before);
    let entries = if tracked { written(schema, before, new, entries, writer).unwrap_or_default() } else { entries };
    set_entries(new, entries);
}

/// The managers before the write: those that were sent, if they can be read, else those of the live object.
fn entries_before(live: Option<&Value>, sent: Option<Value>, writer: &Writer<'_>) -> Vec<Entry> {
    if writer.subresource.is_empty()
        && let Some(sent) = sent
    {
        if is_reset(&sent, writer) {
            return Vec::new();
        }
        if let Ok(entries) = managed::read(&sent)
            && !entries.is_empty()
        {
            return entries;
        }
    }
    live.map(|live| managed::read(&live["metadata"]["managedFields"]).unwrap_or_default()).unwrap_or_default()
}

/// One empty entry; for built-in kinds, also an empty list.
fn is_reset(sent: &Value, writer: &Writer<'_>) -> bool {
    let empty = |entry: &Value| {
        entry.as_object().is_some_and(|entry| entry.values().all(|value| value.is_null() || value == ""))
    };
    match sent.as_array().map(Vec::as_slice) {
        Some([]) => writer.empty.is_some(),
        Some([one]) => empty(one),
        _ => false,
    }
}

/// The managers after a write that is not an apply.
///
/// # Errors
/// A version that the kind does not have.
pub(super) fn written(
    schema: &Schema,
    before: &Value,
    new: &Value,
    mut entries: Vec<Entry>,
    writer: &Writer<'_>,
) -> Result<Vec<Entry>, String> {
    writer.drop_unknown_versions(&mut entries)?;
    let mut changes = Changes::new(schema, before, new, writer);
    for entry in &mut entries {
        reconcile(writer.schema(schema, &entry.api_version), &mut entry.fields);
        changes.take_from(entry);
    }
    let own = ownable(changes.into_own());
    if !own.is_empty() {
        let mut mine = writer.entry(Operation::Update, own);
        if let Some(at) = entries.iter().position(|entry| entry.is_same_manager(&mine)) {
            mine.fields = mine.fields.union(entries.swap_remove(at).fields);
        }
        entries.push(mine);
    }
    entries.retain(|entry| !entry.fields.is_empty());
    managed::cap(&mut entries);
    Ok(entries)
}

/// What a write changes, as the managers of each version see it.
pub(super) struct Changes<'a> {
    schema: &'a Schema,
    before: &'a Value,
    after: &'a Value,
    writer: &'a Writer<'a>,
    /// For each version that was asked for, the one in which is written first: what is set, and what is removed.
    seen: Vec<(String, FieldSet, FieldSet)>,
}

impl<'a> Changes<'a> {
    pub(super) fn new(schema: &'a Schema, before: &'a Value, after: &'a Value, writer: &'a Writer<'a>) -> Self {
        let mut changes = Self { schema, before, after, writer, seen: Vec::new() };
        changes.of(writer.api_version);
        changes
    }

    fn of(&mut self, api_version: &str) -> (&FieldSet, &FieldSet) {
        let at = self.seen.iter().position(|seen| seen.0 == api_version).unwrap_or_else(|| {
            let schema = self.writer.schema(self.schema, api_version);
            let mut change = compare(schema, self.before, self.after);
            // A real server forgets, for writes to custom objects themselves, that other versions have the same limits.
            let Writer { api_version: own, empty, subresource, .. } = self.writer;
            if api_version == *own || empty.is_some() || !subresource.is_empty() {
                change = change.without(&self.writer.reset_fields());
            }
            let Change { added, modified, removed } = change;
            self.seen.push((api_version.to_owned(), added.union(modified), removed));
            self.seen.len() - 1
        });
        (&self.seen[at].1, &self.seen[at].2)
    }

    /// What a manager owns and gets another value.
    pub(super) fn conflicts(&mut self, entry: &Entry) -> FieldSet {
        entry.fields.intersection(self.of(&entry.api_version).0)
    }

    /// Takes away from a manager what it does not own after the write.
    pub(super) fn take_from(&mut self, entry: &mut Entry) {
        let (set, removed) = self.of(&entry.api_version);
        entry.fields = std::mem::take(&mut entry.fields).difference(set).difference(removed);
    }

    /// What is set, in the version in which is written.
    fn into_own(self) -> FieldSet {
        self.seen.into_iter().next().map(|(_, set, _)| set).unwrap_or_default()
    }
}

/// The fields of a set that somebody can own: the head of an object belongs to the server.
pub(super) fn ownable(set: FieldSet) -> FieldSet {
    const HEAD: &[&[&str]] = &[
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ];
    static HEAD_SET: LazyLock<FieldSet> = LazyLock::new(|| FieldSet::of_names(HEAD));
    set.difference(&HEAD_SET)
}

fn has_uid(object: &Value) -> bool {
    object["metadata"]["uid"].as_str().is_some_and(|uid| !uid.is_empty())
}

/// Puts the managers into an object.
pub(super) fn set_entries(object: &mut Value, entries: Vec<Entry>) {
    let Some(fields) = object.as_object_mut() else { return };
    match managed::write(entries) {
        Some(entries) => {
            let metadata = fields.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
            if let Some(metadata) = metadata.as_object_mut() {
                metadata.insert("managedFields".to_owned(), entries);
            }
        }
        None => {
            if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.remove("managedFields");
            }
        }
    }
}

/// The last step of every update and patch, after admission: where nothing but times in `metadata.managedFields` is new, the old times
/// hold, so that a write without effect does not change the object.
pub fn keep_times(live: &Value, new: &mut Value) {
    let (Value::Array(before), Value::Array(after)) =
        (&live["metadata"]["managedFields"], &new["metadata"]["managedFields"])
    else {
        return;
    };
    let only_times = before != after
        && before.len() == after.len()
        && before.iter().zip(after).all(|(before, after)| same_apart_from("time", before, after));
    if !only_times {
        return;
    }
    let rest =
        same_apart_from("metadata", live, new) && same_apart_from("managedFields", &live["metadata"], &new["metadata"]);
    if rest {
        new["metadata"]["managedFields"] = live["metadata"]["managedFields"].clone();
    }
}

fn same_apart_from(name: &str, a: &Value, b: &Value) -> bool {
    let (Value::Object(a), Value::Object(b)) = (a, b) else { return a == b };
    let count = |map: &Map<String, Value>| map.keys().filter(|key| *key != name).count();
    count(a) == count(b) && a.iter().filter(|(key, _)| *key != name).all(|(key, value)| b.get(key) == Some(value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn managers_of_user_agents() {
        for (agent, manager) in [
            ("kubectl/v1.36.3 (linux/amd64) kubernetes/abc", "kubectl"),
            ("curl", "curl"),
            ("", ""),
            ("/x", ""),
            ("a\u{7}b\tc d/1", "abc d"),
            (&"é".repeat(100), &"é".repeat(64)),
            (&"x".repeat(200), &"x".repeat(128)),
        ] {
            assert_eq!(manager_of_user_agent(agent), manager);
        }
    }

    #[test]
    fn times() {
        let object = |time: &str, size: i64, fields: Value| json!({"metadata": {"name": "o", "managedFields": [{"manager": "m", "time": time, "fieldsV1": fields}]}, "spec": size});
        let live = object("1", 1, json!({}));
        for (new, time) in [
            (object("2", 1, json!({})), "1"),
            (object("2", 2, json!({})), "2"),
            (object("2", 1, json!({"f:a": {}})), "2"),
            (object("1", 2, json!({})), "1"),
        ] {
            let mut kept = new.clone();
            keep_times(&live, &mut kept);
            assert_eq!(kept["metadata"]["managedFields"][0]["time"], time, "{new}");
            assert_eq!(kept["spec"], new["spec"]);
        }
        let mut bare = json!({"spec": 1});
        keep_times(&live, &mut bare);
        assert_eq!(bare, json!({"spec": 1}));
    }
}
