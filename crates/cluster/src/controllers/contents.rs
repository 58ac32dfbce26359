//! Namespaces and definitions that go take their contents with them.

use serde_json::{Value, json};

use super::collector::{done, drop_finalizer};
use crate::api::Api;
use crate::chores::Chore;
use crate::status::Status;
use crate::store::Shelf;
use crate::verbs::Call;
use crate::verbs::definitions::CLEANUP;
use crate::verbs::delete::Options;
use crate::verbs::metadata::{is_deleting, text};
use crate::verbs::wanted::Rewrite;

const NAMESPACES: &str = "namespaces";
const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// Looks at one object: as something that contains others and goes, or as the last of what such a thing contains.
pub(super) async fn look_at(call: &Call) -> Result<(), Status> {
    let kept = [NAMESPACES, DEFINITIONS].into_iter().find(|&kept| *call.shelf() == *kept);
    let (Some(kept), Some(object)) = (kept, call.found().await?) else { return Ok(()) };
    if is_deleting(&object) {
        let name = call.name.clone();
        call.api.chores.note(if kept == NAMESPACES { Chore::Namespace(name) } else { Chore::Definition(name) });
    }
    Ok(())
}

/// Deletes what a namespace contains, and lets it go when nothing is left.
pub(super) async fn empty_namespace(api: &Api, name: &str) -> Result<(), Status> {
    let shelf: Shelf = NAMESPACES.into();
    let Some(call) = super::call(api, "namespace-controller", &shelf, "", name) else { return Ok(()) };
    let Some(namespace) = call.found().await?.filter(is_deleting) else { return Ok(()) };
    let mut left = false;
    for shelf in api.store.shelves_in(name) {
        left |= empty(api, "namespace-controller", &shelf, Some(name)).await?;
    }
    if left {
        return Ok(());
    }
    let mut changed = namespace.clone();
    changed["spec"]["finalizers"] = json!([]);
    done(call.through("finalize").rewrite(&Rewrite::Put(changed)).await.map(drop))
}

/// Deletes all objects of a definition, and lets it go when nothing is left.
pub(super) async fn empty_definition(api: &Api, name: &str) -> Result<(), Status> {
    let shelf: Shelf = DEFINITIONS.into();
    let Some(call) = super::call(api, "crd-controller", &shelf, "", name) else { return Ok(()) };
    let Some(definition) = call.found().await?.filter(is_deleting) else { return Ok(()) };
    let shelf: Shelf = name.into();
    if empty(api, "crd-controller", &shelf, None).await? {
        return Ok(());
    }
    drop_finalizer(&call, &definition, CLEANUP).await
}

/// Deletes what is on a shelf; whether anything is left.
async fn empty(api: &Api, controller: &str, shelf: &Shelf, namespace: Option<&str>) -> Result<bool, Status> {
    for (key, object) in api.store.list(shelf, namespace).objects {
        let Some(call) = super::call(api, controller, shelf, &key.namespace, &key.name) else { continue };
        let value: Value = object.value("", "");
        if is_deleting(&value) {
            continue;
        }
        let options = Options {
            uid: Some(text(&value, "uid").to_owned()),
            propagation: Some("Background".to_owned()),
            ..Options::default()
        };
        done(call.erase(&options).await.map(drop))?;
    }
    Ok(!api.store.list(shelf, namespace).objects.is_empty())
}
