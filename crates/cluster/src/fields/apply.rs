//! Server-side apply: somebody says which fields have which values, and owns them from then on.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::conflict::{Conflict, status};
use super::managed::{self, Entry, Operation};
use super::merge::{merge, remove};
use super::object::{fields_of, reconcile, with_named};
use super::path::equal;
use super::set::FieldSet;
use super::writer::{Changes, Writer, ownable, set_entries, written};
use super::{check, last_applied};
use crate::schema::Schema;
use crate::status::Status;

/// Lays a configuration over the live object, or makes a new one of it. The answer has its managed fields.
///
/// The caller then fills in defaults (which nobody owns by that), prunes, asks admission and validates as for any write, and calls
/// [`super::keep_times`] last if there was a live object.
///
/// # Errors
/// 400 for another kind or version than the writer's, or a configuration with managed fields; 409 for conflicts with other managers
/// unless `force`; 500 for a configuration that does not fit the schema.
pub fn apply(
    schema: &Schema,
    live: Option<&Value>,
    config: &Value,
    writer: &Writer<'_>,
    force: bool,
) -> Result<Value, Status> {
    refuse_bad_head(config, writer)?;
    if let Some(fault) = check::fault(schema, config) {
        let text = |name: &str| config["metadata"][name].as_str().unwrap_or_default();
        return Err(Status::other(
            500,
            "",
            format!(
                "failed to create typed patch object ({}/{}; {}): {fault}",
                text("namespace"),
                text("name"),
                described(writer.api_version, writer.kind)
            ),
        ));
    }
    let nothing = Value::Object(Map::new());
    let empty = writer.empty.unwrap_or(&nothing);
    let live = live.unwrap_or(empty);
    let mut entries = managed::read(&live["metadata"]["managedFields"])
        .map_err(|fault| Status::other(500, "", format!("failed to decode managed fields: {fault}")))?;
    if entries.is_empty() {
        let first = Writer { manager: "before-first-apply", ..*writer };
        entries = written(schema, empty, live, entries, &first).unwrap_or_default();
    }
    writer.drop_unknown_versions(&mut entries).map_err(|version| {
        Status::other(500, "", format!("request to convert CR to an invalid group/version: {version}"))
    })?;

    let step = Step { schema, live, config, writer };
    let (mut object, entries) = if writer.manager == last_applied::MANAGER {
        step.apply_for_kubectl(entries, force)
    } else {
        step.apply(entries, force)
    }
    .map_err(|conflicts| status(&conflicts))?;
    set_entries(&mut object, entries);
    Ok(object)
}

/// `group/version, Kind=kind`; the slash is there without a group, too.
fn described(api_version: &str, kind: &str) -> String {
    let slash = if api_version.contains('/') { "" } else { "/" };
    format!("{slash}{api_version}, Kind={kind}")
}

fn refuse_bad_head(config: &Value, writer: &Writer<'_>) -> Result<(), Status> {
    let text = |name: &str| config.get(name).and_then(Value::as_str).unwrap_or_default();
    // A version with two slashes is none at all.
    let api_version = Some(text("apiVersion")).filter(|version| version.split('/').count() <= 2).unwrap_or_default();
    if api_version != writer.api_version || text("kind") != writer.kind {
        return Err(Status::bad_request(format!("invalid object type: {}", described(api_version, text("kind")))));
    }
    match &config["metadata"]["managedFields"] {
        Value::Array(_) => Err(Status::bad_request("metadata.managedFields must be nil")),
        _ => Ok(()),
    }
}

/// One attempt to apply.
struct Step<'a> {
    schema: &'a Schema,
    live: &'a Value,
    config: &'a Value,
    writer: &'a Writer<'a>,
}

impl Step<'_> {
    /// As for everybody, but kubectl takes over from client-side apply without force, and keeps its annotation in step.
    fn apply_for_kubectl(&self, entries: Vec<Entry>, force: bool) -> Result<(Value, Vec<Entry>), Vec<Conflict>> {
        let applied = match self.apply(entries.clone(), force) {
            Err(conflicts) => match last_applied::allowed(self.schema, self.live, self.writer) {
                None => Err(conflicts),
                Some(allowed) => {
                    let rest: Vec<Conflict> =
                        conflicts.into_iter().filter(|conflict| !allowed.has(&conflict.path)).collect();
                    if rest.is_empty() { self.apply(entries, true) } else { Err(rest) }
                }
            },
            done => done,
        };
        applied.map(|(mut object, entries)| {
            last_applied::follow(&mut object, self.config);
            (object, entries)
        })
    }

    fn apply(&self, mut entries: Vec<Entry>, force: bool) -> Result<(Value, Vec<Entry>), Vec<Conflict>> {
        for entry in &mut entries {
            reconcile(self.writer.schema(self.schema, &entry.api_version), &mut entry.fields);
        }
        let mut mine = self.writer.entry(Operation::Apply, fields_of(self.schema, self.config));
        mine.fields = mine.fields.recursive_difference(&self.writer.reset_fields());
        mine.time = None;
        let mut merged = merge(self.schema, self.live, self.config);
        if let Some(at) = entries.iter().position(|entry| entry.is_same_manager(&mine)) {
            let last = entries.swap_remove(at);
            mine.time.clone_from(&last.time);
            // Otherwise there is nothing that is not applied any more.
            if !mine.fields.covers(&last.fields) {
                merged = self.prune(&merged, &last, &entries, &mine);
            }
        }

        let mut changes = Changes::new(self.schema, self.live, &merged, self.writer);
        if !force {
            let conflicts: Vec<Conflict> =
                entries.iter().flat_map(|entry| Conflict::all(entry, &changes.conflicts(entry))).collect();
            if !conflicts.is_empty() {
                return Err(conflicts);
            }
        }
        entries.iter_mut().for_each(|entry| changes.take_from(entry));
        if equal(self.live, &merged) {
            merged = self.live.clone();
        } else {
            mine.time = Some(self.writer.time.to_owned());
        }
        mine.fields = ownable(mine.fields);
        entries.push(mine);
        entries.retain(|entry| !entry.fields.is_empty());
        Ok((merged, entries))
    }

    /// Takes away what the manager applied before and does not apply now, unless somebody else owns it.
    fn prune(&self, merged: &Value, last: &Entry, others: &[Entry], mine: &Entry) -> Value {
        let fields = |schema: &Schema, object: &Value| with_named(schema, fields_of(schema, object));
        let schema = self.writer.schema(self.schema, &last.api_version);
        let applied = with_named(schema, last.fields.clone());
        let mut pruned = remove(schema, merged, &applied);
        // What anybody owns comes back, version by version.
        let mut owned: BTreeMap<(bool, &str), FieldSet> = BTreeMap::new();
        for entry in others.iter().chain([mine]) {
            let set = owned.entry((entry.api_version != last.api_version, &entry.api_version)).or_default();
            *set = std::mem::take(set).union(entry.fields.clone());
        }
        for ((_, api_version), owned) in owned {
            let schema = self.writer.schema(self.schema, api_version);
            let kept = fields(schema, &pruned).union(with_named(schema, owned));
            pruned = remove(schema, merged, &fields(schema, merged).difference(&kept));
        }
        // So does what the manager never owned and what only went along with its surroundings.
        let gone = fields(schema, merged).difference(&fields(schema, &pruned)).intersection(&applied);
        remove(schema, merged, &gone)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::super::tests::thing;
    use super::*;

    /// What a real server says to configurations with a wrong head.
    #[test]
    fn wrong_heads() {
        let kind = thing();
        let check = |writer: &Writer<'_>, config: Value, code: u16, words: &str| {
            let refusal = apply(&kind, None, &config, writer, false).expect_err(words);
            assert_eq!((refusal.code, refusal.message.as_str()), (code, words), "{config}");
        };
        let writer = Writer { manager: "m", api_version: "fields.dev/v1", kind: "Thing", ..Writer::default() };
        for (api_version, kind, words) in [
            ("fields.dev/v2", "Thing", "invalid object type: fields.dev/v2, Kind=Thing"),
            ("fields.dev/v1", "Thingy", "invalid object type: fields.dev/v1, Kind=Thingy"),
            ("", "Thing", "invalid object type: /, Kind=Thing"),
            ("fields.dev/v1", "", "invalid object type: fields.dev/v1, Kind="),
            ("a/b/c", "Thing", "invalid object type: /, Kind=Thing"),
        ] {
            check(&writer, json!({"apiVersion": api_version, "kind": kind}), 400, words);
        }
        check(&writer, json!({}), 400, "invalid object type: /, Kind=");
        for entries in [json!([]), json!([{}]), json!([{"manager": "x"}])] {
            let metadata = json!({"name": "v", "managedFields": entries});
            let config = json!({"apiVersion": "fields.dev/v1", "kind": "Thing", "metadata": metadata});
            check(&writer, config, 400, "metadata.managedFields must be nil");
        }
        let core = Writer { api_version: "v1", ..writer };
        let words =
            "failed to create typed patch object (/v; /v1, Kind=Thing): .spec.zork: field not declared in schema";
        let config = json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "v"}, "spec": {"zork": 1}});
        check(&core, config, 500, words);
        let words =
            "failed to create typed patch object (n/v; fields.dev/v1, Kind=Thing): .spec: expected map, got &{5}";
        let metadata = json!({"name": "v", "namespace": "n"});
        check(
            &writer,
            json!({"apiVersion": "fields.dev/v1", "kind": "Thing", "metadata": metadata, "spec": 5}),
            500,
            words,
        );
    }

    /// A custom kind lost a version in which somebody owns something.
    #[test]
    fn a_lost_version() {
        let kind = Arc::new(thing());
        let versions = [("fields.dev/v1".to_owned(), Arc::clone(&kind))];
        let old = Writer { manager: "m", api_version: "fields.dev/v0", kind: "Thing", time: "t", ..Writer::default() };
        let config = |version: &str| json!({"apiVersion": version, "kind": "Thing", "spec": {"size": 1}});
        let live = apply(&kind, None, &config("fields.dev/v0"), &old, false).expect("nobody is in the way");
        let now = Writer { api_version: "fields.dev/v1", versions: &versions, ..old };
        let refusal = apply(&kind, Some(&live), &config("fields.dev/v1"), &now, true).expect_err("the version is gone");
        assert_eq!(refusal.message, "request to convert CR to an invalid group/version: fields.dev/v0");
        let mut new = live.clone();
        new["spec"]["size"] = 2.into();
        super::super::update(&kind, Some(&live), &mut new, &now);
        assert_eq!(new["metadata"].get("managedFields"), None);
        let empty = json!({"metadata": {}});
        let mut new = live.clone();
        new["spec"]["flag"] = true.into();
        super::super::update(&kind, Some(&live), &mut new, &Writer { manager: "b", empty: Some(&empty), ..now });
        assert_eq!(
            new["metadata"]["managedFields"][0]["fieldsV1"],
            json!({"f:spec": {"f:flag": {}}}),
            "a built-in kind"
        );
    }
}
