//! The part of an object that every kind has: names, ids, time stamps, generations, finalizers.

use serde_json::{Map, Value};

use super::Call;
use crate::status::Status;
use crate::store::Index;

/// A field of the metadata as text; empty if it is not there.
pub(crate) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

/// The metadata of an object, made where there is none.
pub(crate) fn of(object: &mut Value) -> &mut Map<String, Value> {
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    if !object["metadata"].is_object() {
        object["metadata"] = Value::Object(Map::new());
    }
    object["metadata"].as_object_mut().expect("it is an object now")
}

/// Sets a field of the metadata, or removes it.
pub(crate) fn set(object: &mut Value, field: &str, value: Option<Value>) {
    let metadata = of(object);
    match value {
        Some(value) => drop(metadata.insert(field.to_owned(), value)),
        None => drop(metadata.remove(field)),
    }
}

/// The finalizers of an object.
pub(crate) fn finalizers(object: &Value) -> Vec<String> {
    let list = object["metadata"]["finalizers"].as_array();
    list.into_iter().flatten().filter_map(|name| name.as_str().map(ToOwned::to_owned)).collect()
}

/// Whether an object is being deleted.
pub(crate) fn is_deleting(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// What the store keeps of an object beside its text.
pub(crate) fn index(call: &Call, stored: &Value) -> Index {
    let boxed = |text: &str| text.to_owned().into_boxed_str();
    let labels = stored["metadata"]["labels"].as_object();
    let mut labels: Vec<(Box<str>, Box<str>)> =
        labels.into_iter().flatten().filter_map(|(key, value)| Some((boxed(key), boxed(value.as_str()?)))).collect();
    labels.sort();
    // Events rest in the older shape, and are looked for by its fields.
    let table = call.api.registry.table();
    let shape = table.find("", &call.resource.plural).filter(|_| super::read::is_other_event(&call.resource));
    let version = shape.unwrap_or(&call.resource).stored();
    let fields = version.selectable.iter().filter_map(|path| Some((boxed(path), selectable(stored, path)?))).collect();
    let owners = stored["metadata"]["ownerReferences"].as_array();
    let owners = owners.into_iter().flatten().filter_map(|owner| owner["uid"].as_str().map(boxed)).collect();
    Index {
        version: boxed(&call.resource.storage),
        schema: call.resource.generation(),
        uid: boxed(text(stored, "uid")),
        labels,
        fields,
        owners,
    }
}

/// The value of a selectable field, in the words of a selector. Switches that are not set are off.
fn selectable(object: &Value, path: &str) -> Option<Box<str>> {
    let found = path.split('.').try_fold(object, |value, field| value.get(field));
    let shown = match found {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Bool(truth)) => truth.to_string(),
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::Object(source)) if path == "source" => source.get("component")?.as_str()?.to_owned(),
        _ if matches!(path, "spec.unschedulable" | "spec.hostNetwork") => "false".to_owned(),
        _ => return None,
    };
    (!shown.is_empty()).then(|| shown.into_boxed_str())
}

impl Call {
    /// Fits the namespace of an object to that of the path.
    pub(crate) fn place(&self, object: &mut Value) -> Result<(), Status> {
        let given = text(object, "namespace").to_owned();
        match &self.namespace {
            Some(namespace) if given.is_empty() => set(object, "namespace", Some(namespace.clone().into())),
            Some(namespace) if given != *namespace => {
                let message = "the namespace of the provided object does not match the namespace sent on the request";
                return Err(Status::bad_request(message));
            }
            None => set(object, "namespace", None),
            _ => {}
        }
        Ok(())
    }

    /// Gives a new object what a client cannot: uid, time, generation; and takes away what a client may not give.
    pub(crate) fn begin(&self, object: &mut Value) {
        let stamp = self.api.clock.stamp();
        let uid = self.api.entropy.uid();
        for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
            set(object, field, None);
        }
        set(object, "uid", Some(uid.into()));
        set(object, "creationTimestamp", Some(stamp.into()));
        if text(object, "name").is_empty() && !text(object, "generateName").is_empty() {
            self.generate_name(object);
        }
    }

    /// A name from the prefix and five letters.
    pub(crate) fn generate_name(&self, object: &mut Value) {
        let prefix: String = text(object, "generateName").chars().take(58).collect();
        let name = format!("{prefix}{}", self.api.entropy.suffix());
        set(object, "name", Some(name.into()));
    }

    /// The same owner twice is one owner.
    pub(crate) fn single_owners(&self, object: &mut Value) {
        let Some(owners) = object["metadata"]["ownerReferences"].as_array() else { return };
        let (mut single, mut twice): (Vec<Value>, Vec<String>) = (Vec::new(), Vec::new());
        for owner in owners {
            let uid = owner["uid"].as_str().unwrap_or_default();
            if single.iter().any(|other| other["uid"] == owner["uid"]) {
                twice.push(uid.to_owned());
            }
            if !single.contains(owner) {
                single.push(owner.clone());
            }
        }
        if !twice.is_empty() {
            twice.dedup();
            self.warn(format!(
                ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such \
                 requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
                twice.join(", ")
            ));
            set(object, "ownerReferences", Some(single.into()));
        }
    }

    /// Finalizers without a domain may be meant by someone else too.
    pub(crate) fn warn_of_finalizers(&self, object: &Value, live: Option<&Value>) {
        let before = live.map(finalizers).unwrap_or_default();
        for name in finalizers(object) {
            let known = matches!(name.as_str(), "orphan" | "foregroundDeletion" | "kubernetes");
            if !name.contains('/') && !known && !before.contains(&name) {
                self.warn(format!(
                    "metadata.finalizers: {name:?}: prefer a domain-qualified finalizer name to avoid accidental conflicts with other \
                     finalizer writers"
                ));
            }
        }
    }

    /// What an update leaves out of the metadata, or may not change, stays as it is.
    pub(crate) fn carry_over(live: &Value, new: &mut Value) {
        for field in ["creationTimestamp", "generation", "selfLink"] {
            set(new, field, live["metadata"].get(field).cloned());
        }
        for field in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
            if let Some(value) = live["metadata"].get(field) {
                set(new, field, Some(value.clone()));
            }
        }
        for field in ["uid", "name", "namespace"] {
            if text(new, field).is_empty() {
                set(new, field, live["metadata"].get(field).cloned());
            }
        }
    }
}
