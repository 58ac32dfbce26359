//! Custom resource definitions: what happens when one is written, and what is served because of it.

use serde_json::{Value, json};

use super::Call;
use super::metadata::{self, finalizers, text};
use crate::api::Api;
use crate::builtin::Verb;
use crate::crd::{self, Taken};
use crate::fields;
use crate::status::{Fault, Status};
use crate::store::{Key, Shelf};
use crate::user::User;

const GROUP: &str = "apiextensions.k8s.io";
const KIND: &str = "CustomResourceDefinition";
const API_VERSION: &str = "apiextensions.k8s.io/v1";

/// The finalizer that waits for the objects of a definition.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

fn is_definition(call: &Call) -> bool {
    call.resource.group == GROUP && call.resource.kind == KIND
}

fn shelf() -> Shelf {
    format!("customresourcedefinitions.{GROUP}").into()
}

/// Serves what the store holds definitions of.
pub(crate) fn restore(api: &Api) {
    let Some(definitions) = api.registry.table().find(GROUP, "customresourcedefinitions").cloned() else { return };
    for (key, object) in api.store().list(&shelf(), None).objects {
        // Whoever stopped between the definition and its status left the rest to us.
        let call = Call::on(api, &User::system("kube-apiserver"), definitions.clone(), "v1", None, key.name);
        written(&call, &object.value(API_VERSION, KIND));
    }
}

/// Fills in what the author of a definition may leave out.
pub(crate) fn default(call: &Call, object: &mut Value) {
    if is_definition(call) {
        crd::default(object);
    }
}

/// Keeps the status of a definition to those who may write it.
pub(crate) fn prepare(call: &Call, verb: Verb, object: &mut Value, live: Option<&Value>) {
    if is_definition(call) && verb != Verb::UpdateStatus {
        crd::stored(object, live);
        crd::warnings(object, live).into_iter().for_each(|warning| call.warn(warning));
    }
}

/// What is wrong with a definition.
pub(crate) fn faults(call: &Call, object: &Value, live: Option<&Value>) -> Vec<Fault> {
    if is_definition(call) && call.subresource.is_empty() { crd::validate(object, live) } else { Vec::new() }
}

/// A definition that goes waits for its objects to go first, and says so.
pub(crate) fn terminating(call: &Call, object: &mut Value) {
    if !is_definition(call) {
        return;
    }
    let mut waits_for = finalizers(object);
    waits_for.push(CLEANUP.to_owned());
    metadata::set(object, "finalizers", Some(waits_for.into()));
    let condition = json!({
        "type": "Terminating", "status": "True", "lastTransitionTime": call.api.clock.stamp(),
        "reason": "InstanceDeletionPending", "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    });
    match object["status"]["conditions"].as_array_mut() {
        Some(conditions) => conditions.push(condition),
        None => object["status"]["conditions"] = json!([condition]),
    }
}

/// A definition was written: its status says which names it got, then that its kind is served, and so it is.
pub(crate) fn written(call: &Call, stored: &Value) {
    if !is_definition(call) {
        return;
    }
    let taken = taken(call, stored);
    let mut settled = stored.clone();
    let key = Key { namespace: String::new(), name: text(stored, "name").to_owned() };
    while let Some(status) = crd::status(&settled, &taken, &call.api.clock.stamp()) {
        let before = settled.clone();
        settled["status"] = status;
        let author =
            Call::on(&call.api, &User::system("kube-apiserver"), call.resource.clone(), "v1", None, key.name.clone())
                .through("status");
        if let Ok(who) = author.author(false) {
            fields::update(&call.version().schema, Some(&before), &mut settled, &who.writer(&author));
        }
        let revision = text(&settled, "resourceVersion").parse().unwrap_or(0);
        let index = metadata::index(call, &settled);
        // If someone was faster, their write comes through here as well.
        if call.api.store.replace(&call.shelf(), key.clone(), revision, &mut settled, index).is_err() {
            return;
        }
    }
    let conditions = settled["status"]["conditions"].as_array();
    if conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Established" && condition["status"] == "True")
    {
        serve(&call.api, &settled);
    }
}

/// A definition that goes takes its objects along at once; those that wait for something go later.
pub(crate) async fn emptied(call: &Call) -> Result<(), Status> {
    if is_definition(call) { crate::controllers::empty_definition(&call.api, &call.name).await } else { Ok(()) }
}

/// The names that other definitions of the group have.
fn taken(call: &Call, stored: &Value) -> Taken {
    let mut taken = Taken::default();
    for (key, object) in call.api.store.list(&shelf(), None).objects {
        let other = object.value(API_VERSION, KIND);
        if key.name != text(stored, "name") && other["spec"]["group"] == stored["spec"]["group"] {
            taken.add(&other);
        }
    }
    taken
}

/// A definition is gone: so is its kind.
pub(crate) fn removed(call: &Call, last: &Value) {
    if is_definition(call) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        call.api.registry.remove(&text(&last["spec"]["group"]), &text(&last["spec"]["names"]["plural"]));
    }
}

fn serve(api: &Api, definition: &Value) {
    api.registry.put(crd::resource(definition));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Options;
    use crate::journal::Journal;
    use crate::store::Store;

    fn open(folder: &std::path::Path) -> Api {
        let (journal, entries) = Journal::open(folder, false).unwrap();
        Api::new(Options { store: Store::open(journal, entries), ..Options::default() })
    }

    #[tokio::test]
    async fn a_definition_that_was_written_halfway_is_finished_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let definition = json!({
            "apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": "things.example.com"},
            "spec": {
                "group": "example.com", "scope": "Cluster", "names": {"plural": "things", "kind": "Thing"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}],
            },
        });
        let key = Key { namespace: String::new(), name: "things.example.com".to_owned() };
        let api = open(folder.path());
        api.create(&User::admin(), &definition).await.unwrap();
        let object = api.store().get(&shelf(), &key).unwrap();
        let mut halfway = object.value(API_VERSION, KIND);
        halfway["status"]["conditions"] = Value::Null;
        halfway["status"]["acceptedNames"] = json!({"plural": "", "kind": ""});
        api.store().replace(&shelf(), key.clone(), object.revision, &mut halfway, object.index.clone()).unwrap();
        drop(api);
        let api = open(folder.path());
        let conditions = api.store().get(&shelf(), &key).unwrap().value("", "")["status"]["conditions"].clone();
        let established = |condition: &Value| condition["type"] == "Established" && condition["status"] == "True";
        assert!(conditions.as_array().unwrap().iter().any(established), "{conditions}");
        let thing = json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}});
        api.create(&User::admin(), &thing).await.unwrap();
    }
}
