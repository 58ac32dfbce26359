//! The scale subresource: an object of its own whose one field is a field of the main object, and so are its owners.
//!
//! A write to it goes like this: make the scale of the live object and give it the managed fields of [`to_scale`]; write to it with
//! [`super::update`] or [`super::apply`] under [`schema`], a writer of version `autoscaling/v1`, kind `Scale` and subresource `scale`, and
//! [`empty_scale`]; put the number into the object and the managed fields of [`to_object`] with it; leave managed fields out of the
//! answer.

use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};

use super::managed::{self, Entry};
use super::path::Element;
use super::set::FieldSet;
use crate::schema::{Schema, Shape};

/// The version of scale objects.
const SCALE: &str = "autoscaling/v1";

fn replicas() -> FieldSet {
    FieldSet::of_names(&[&["spec", "replicas"]])
}

/// `.spec.replicas` as steps.
fn steps(path: &str) -> Vec<Element> {
    path.split('.').filter(|name| !name.is_empty()).map(|name| Element::Field(name.to_owned())).collect()
}

/// `metadata.managedFields` of the scale of an object: those of the object that own the number of replicas, which stands at `path`
/// (`.spec.replicas`). `None` if nobody does.
pub fn to_scale(object: &Value, path: &str) -> Option<Value> {
    let path = steps(path);
    let entries = managed::read(&object["metadata"]["managedFields"]).unwrap_or_default();
    let owners = entries.into_iter().filter(|entry| entry.fields.has(&path));
    managed::write(owners.map(|entry| Entry { api_version: SCALE.to_owned(), fields: replicas(), ..entry }).collect())
}

/// `metadata.managedFields` of an object after its scale was written: those of the scale (`scale`) are brought back. `api_version` is
/// the object's, in which is written.
pub fn to_object(object: &Value, scale: &Value, path: &str, api_version: &str) -> Option<Value> {
    let path = steps(path);
    let mut owner = FieldSet::default();
    owner.insert(path.iter().cloned());
    let mut of_scale = managed::read(&scale["metadata"]["managedFields"]).unwrap_or_default();
    let mut entries = Vec::new();
    for mut entry in managed::read(&object["metadata"]["managedFields"]).unwrap_or_default() {
        if entry.fields.has(&path) {
            // A manager that updates has another version in the scale, so it never is the same: it comes back below.
            match of_scale.iter().position(|other| other.is_same_manager(&entry)) {
                Some(at) => _ = of_scale.swap_remove(at),
                None => entry.fields = entry.fields.difference(&owner),
            }
        }
        entries.push(entry);
    }
    entries.retain(|entry| !entry.fields.is_empty());
    // They come without a time. One who updates may stand there twice then: with what else it owns, and with this.
    for entry in of_scale.into_iter().filter(|entry| !entry.fields.intersection(&replicas()).is_empty()) {
        entries.push(Entry { api_version: api_version.to_owned(), time: None, fields: owner.clone(), ..entry });
    }
    managed::write(entries)
}

/// What scale objects look like.
pub fn schema() -> &'static Schema {
    static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
        let scalar = |shape| Arc::new(Schema { shape, ..Schema::default() });
        let object = |fields: &[(&str, &Arc<Schema>)]| Schema {
            shape: Shape::Object,
            properties: fields.iter().map(|(name, field)| ((*name).to_owned(), Arc::clone(field))).collect(),
            ..Schema::default()
        };
        let (text, number) = (scalar(Shape::String), scalar(Shape::Integer));
        let spec = Arc::new(object(&[("replicas", &number)]));
        let status = Arc::new(object(&[("replicas", &number), ("selector", &text)]));
        object(&[("apiVersion", &text), ("kind", &text), ("spec", &spec), ("status", &status)])
    });
    &SCHEMA
}

/// What a scale object is before anybody writes to it.
pub fn empty_scale() -> Value {
    json!({"metadata": {}, "spec": {}, "status": {"replicas": 0}})
}

#[cfg(test)]
mod tests {
    use super::super::{Writer, apply, update};
    use super::*;

    const PATH: &str = ".spec.replicas";

    fn owners(object: &Value) -> Vec<String> {
        let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
        let text = |entry: &Value, name: &str| entry[name].as_str().unwrap_or("-").to_owned();
        entries
            .iter()
            .map(|entry| {
                let parts = ["manager", "operation", "apiVersion", "subresource", "time"].map(|name| text(entry, name));
                format!("{} {}", parts.join(" "), entry["fieldsV1"])
            })
            .collect()
    }

    /// One write to the scale of an object, by an update or an apply.
    fn write(object: &Value, manager: &str, applied: bool, force: bool, replicas: i64) -> Result<Value, String> {
        let empty = empty_scale();
        let (api_version, kind, subresource, time) = ("autoscaling/v1", "Scale", "scale", "2026-01-02T00:00:00Z");
        let writer = Writer { manager, api_version, kind, subresource, time, empty: Some(&empty), ..Writer::default() };
        let mut old = json!({"metadata": {"uid": "u"}, "spec": object["spec"], "status": {"replicas": 0}});
        if let Some(entries) = to_scale(object, PATH) {
            old["metadata"]["managedFields"] = entries;
        }
        let new = if applied {
            let config = json!({"apiVersion": SCALE, "kind": "Scale", "spec": {"replicas": replicas}});
            apply(schema(), Some(&old), &config, &writer, force).map_err(|refusal| refusal.message)?
        } else {
            let mut new = old.clone();
            new["spec"]["replicas"] = replicas.into();
            update(schema(), Some(&old), &mut new, &writer);
            new
        };
        let mut object = object.clone();
        object["spec"]["replicas"] = new["spec"]["replicas"].clone();
        object["metadata"]["managedFields"] = to_object(&object, &new, PATH, "apps/v1").unwrap_or(json!([]));
        Ok(object)
    }

    /// A Deployment on a real server, whose main entry is told as `f:x` here.
    #[test]
    fn as_a_real_server() {
        let own = json!({"f:spec": {"f:x": {}, "f:replicas": {}}});
        let entry = json!({"manager": "m0", "operation": "Update", "apiVersion": "apps/v1", "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1", "fieldsV1": own});
        let start = json!({"metadata": {"uid": "u", "managedFields": [entry]}, "spec": {"replicas": 2}});
        let (number, rest) =
            (r#"{"f:spec":{"f:replicas":{}}}"#, r#"m0 Update apps/v1 - 2026-01-01T00:00:00Z {"f:spec":{"f:x":{}}}"#);

        // Changes by an update move the number to the one who scales, without a time.
        let scaled = write(&start, "m1", false, false, 3).expect("no conflict");
        assert_eq!(owners(&scaled), [format!("m1 Update apps/v1 scale - {number}"), rest.to_owned()]);

        // Without a change, the number stands apart and is nobody's after the next write.
        let same = write(&start, "m1", false, false, 2).expect("no conflict");
        assert_eq!(owners(&same), [format!("m0 Update apps/v1 - - {number}"), rest.to_owned()]);
        let nobody = write(&same, "m1", false, false, 3).expect("no conflict");
        assert_eq!(owners(&nobody), [rest]);

        let words = "Apply failed with 1 conflict: conflict with \"before-first-apply\" with subresource \"scale\" using autoscaling/v1: .spec.replicas";
        assert_eq!(write(&nobody, "m3", true, false, 7), Err(words.to_owned()));
        let forced = write(&nobody, "m3", true, true, 7).expect("forced");
        assert_eq!(owners(&forced), [format!("m3 Apply apps/v1 scale - {number}"), rest.to_owned()]);
        let again = write(&forced, "m3", true, false, 8).expect("its own");
        assert_eq!(owners(&again), owners(&forced));
        let words = "Apply failed with 1 conflict: conflict with \"m3\" with subresource \"scale\": .spec.replicas";
        assert_eq!(write(&again, "m4", true, false, 9), Err(words.to_owned()));
        let taken = write(&again, "m5", false, false, 1).expect("updates always win");
        assert_eq!(owners(&taken), [format!("m5 Update apps/v1 scale - {number}"), rest.to_owned()]);
    }
}
