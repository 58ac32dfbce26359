//! What the status of a definition says: which names it got, whether it is served, and in which versions its objects may be stored.

use serde_json::{Map, Value, json};

use super::spec::check_names;
use crate::schema::compile::{flag, list, text, texts};
use crate::schema::validate::words;
use crate::status::{Fault, What};

/// The names that other definitions of the group have already got.
#[derive(Debug, Clone, Default)]
pub struct Taken {
    /// Plurals, singulars and short names.
    pub resources: Vec<String>,
    /// Kinds and kinds of lists.
    pub kinds: Vec<String>,
}

impl Taken {
    /// Adds what a definition has got.
    pub fn add(&mut self, definition: &Value) {
        let names = &definition["status"]["acceptedNames"];
        let some = |field: &str| Some(text(names, field).to_owned()).filter(|name| !name.is_empty());
        self.resources.extend(["plural", "singular"].into_iter().filter_map(some));
        self.resources.extend(texts(names, "shortNames"));
        self.kinds.extend(["kind", "listKind"].into_iter().filter_map(some));
    }
}

/// Puts in the status with which a definition is written: an empty one for a new definition, the old one otherwise; the storage
/// version is always among the stored ones.
pub fn stored(definition: &mut Value, old: Option<&Value>) {
    let mut status = old.map_or_else(
        || json!({"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": null}),
        |old| old["status"].clone(),
    );
    let storage = list(&definition["spec"], "versions").iter().find(|version| flag(version, "storage"));
    if let (Some(version), Value::Object(status)) =
        (storage.map(|version| text(version, "name").to_owned()), &mut status)
    {
        let mut versions = status.get("storedVersions").and_then(Value::as_array).cloned().unwrap_or_default();
        if !versions.contains(&version.as_str().into()) {
            versions.push(version.into());
        }
        status.insert("storedVersions".to_owned(), Value::Array(versions));
    }
    if let Value::Object(definition) = definition {
        definition.insert("status".to_owned(), status);
    }
}

/// What the status says next, if anything: first which names are accepted, then that the kind is served.
pub fn status(definition: &Value, taken: &Taken, now: &str) -> Option<Value> {
    let names = &definition["spec"]["names"];
    let mut status = definition.get("status").filter(|status| status.is_object()).cloned().unwrap_or_else(|| json!({}));
    let accepted = status.get("acceptedNames").cloned().unwrap_or_else(|| json!({}));
    if is_same(names, &accepted) {
        if is_true(definition, "Established") || !is_true(definition, "NamesAccepted") {
            return None;
        }
        set(
            &mut status,
            condition("Established", "True", "InitialNamesAccepted", "the initial names have been accepted"),
            now,
        );
        return Some(status);
    }
    let (names, verdict) = accept(names, &accepted, taken);
    let fine = verdict["status"] == "True";
    let unchanged = is_same(&names, &accepted)
        && find(definition, "NamesAccepted").is_some_and(|old| {
            ["status", "reason", "message"].iter().all(|field| old.get(field) == verdict.get(field))
        });
    if unchanged {
        return None;
    }
    status["acceptedNames"] = names;
    set(&mut status, verdict, now);
    if !is_true(definition, "Established") {
        let (reason, message) = match fine {
            true => ("Installing", "the initial names have been accepted"),
            false => ("NotAccepted", "not all names are accepted"),
        };
        set(&mut status, condition("Established", "False", reason, message), now);
    }
    Some(status)
}

/// The names that a definition gets, and the condition that says so.
fn accept(wanted: &Value, accepted: &Value, taken: &Taken) -> (Value, Value) {
    let mut names = accepted.as_object().cloned().unwrap_or_default();
    let mut verdict = condition("NamesAccepted", "True", "NoConflicts", "no conflicts found");
    let mut refuse = |reason: &str, message: &str| verdict = condition("NamesAccepted", "False", reason, message);
    let in_use = |name: &str| format!("{} is already in use", words::quoted(name));
    let mut one = |names: &mut Map<String, Value>, field: &str, reason: &str, taken: &[String]| {
        let name = text(wanted, field);
        if name != text(accepted, field) && taken.iter().any(|other| other == name) {
            refuse(reason, &in_use(name));
        } else if !name.is_empty() {
            names.insert(field.to_owned(), name.into());
        }
    };
    one(&mut names, "plural", "PluralConflict", &taken.resources);
    one(&mut names, "singular", "SingularConflict", &taken.resources);
    one(&mut names, "kind", "KindConflict", &taken.kinds);
    one(&mut names, "listKind", "ListKindConflict", &taken.kinds);
    let (short, own) = (texts(wanted, "shortNames"), texts(accepted, "shortNames"));
    let conflicts: Vec<String> = short
        .iter()
        .filter(|name| !own.contains(name) && taken.resources.contains(name))
        .filter(|name| *name != text(accepted, "plural") && *name != text(accepted, "singular"))
        .map(|name| in_use(name))
        .collect();
    // The kinds are looked at last and have the last word.
    let kinds_fine = !matches!(text(&verdict, "reason"), "KindConflict" | "ListKindConflict");
    match conflicts.as_slice() {
        [] => put(&mut names, "shortNames", wanted),
        _ if !kinds_fine => {}
        [one] => verdict = condition("NamesAccepted", "False", "ShortNamesConflict", one),
        many => {
            verdict = condition("NamesAccepted", "False", "ShortNamesConflict", &format!("[{}]", many.join(", ")));
        }
    }
    put(&mut names, "categories", wanted);
    (Value::Object(names), verdict)
}

fn put(names: &mut Map<String, Value>, field: &str, wanted: &Value) {
    match wanted.get(field).filter(|value| value.as_array().is_some_and(|list| !list.is_empty())) {
        Some(value) => names.insert(field.to_owned(), value.clone()),
        None => names.remove(field),
    };
}

/// Equal, where an empty text or list is as good as none.
fn is_same(one: &Value, other: &Value) -> bool {
    ["plural", "singular", "kind", "listKind"].iter().all(|field| text(one, field) == text(other, field))
        && ["shortNames", "categories"].iter().all(|field| list(one, field) == list(other, field))
}

fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "message": message})
}

fn set(status: &mut Value, mut condition: Value, now: &str) {
    condition["lastTransitionTime"] = now.into();
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    let Some(conditions) = status["conditions"].as_array_mut() else { return };
    match conditions.iter_mut().find(|old| old["type"] == condition["type"]) {
        None => conditions.push(condition),
        Some(old) => {
            if old["status"] == condition["status"] {
                condition["lastTransitionTime"] = old["lastTransitionTime"].clone();
            }
            *old = condition;
        }
    }
}

fn find<'a>(definition: &'a Value, kind: &str) -> Option<&'a Value> {
    list(&definition["status"], "conditions").iter().find(|condition| condition["type"] == kind)
}

/// Whether a condition is true.
pub(super) fn is_true(definition: &Value, kind: &str) -> bool {
    find(definition, kind).is_some_and(|condition| condition["status"] == "True")
}

/// What is wrong with the status.
pub(super) fn check(definition: &Value, spec: &Value, faults: &mut Vec<Fault>) {
    let status = &definition["status"];
    check_names(&status["acceptedNames"], "status.acceptedNames", faults);
    let versions = list(spec, "versions");
    let stored = list(status, "storedVersions");
    let all = || json!(stored);
    if stored.is_empty() {
        let detail = "must have at least one stored version";
        faults.push(Fault::of(What::Invalid, "status.storedVersions", Value::Null, detail));
        return;
    }
    let storage: Vec<&Value> = versions.iter().filter(|version| flag(version, "storage")).collect();
    if let [.., _, last] = storage.as_slice() {
        // With two of them, none is the one.
        let detail = format!("must have the storage version {}", text(last, "name"));
        faults.push(words::fault(What::Invalid, "status.storedVersions", &all(), &detail));
    }
    for version in storage.into_iter().take(1) {
        let name = text(version, "name");
        if !stored.contains(&name.into()) {
            let detail = format!("must have the storage version {name}");
            faults.push(words::fault(What::Invalid, "status.storedVersions", &all(), &detail));
        }
    }
    for (index, name) in stored.iter().enumerate() {
        if !versions.iter().any(|version| version.get("name") == Some(name)) {
            let shown = name.as_str().unwrap_or_default();
            let detail = format!(
                "missing from spec.versions; {shown} was previously a storage version, and must remain in spec.versions until a \
                 storage migration ensures no data remains persisted in {shown} and removes {shown} from status.storedVersions"
            );
            faults.push(words::fault(What::Invalid, format!("status.storedVersions[{index}]"), name, &detail));
        }
    }
}
