//! Owners and dependents: what lost all its owners goes, and owners wait for what they are told to wait for.

use serde_json::{Value, json};

use crate::chores::Chore;
use crate::status::Status;
use crate::store::{Key, Shelf};
use crate::verbs::delete::{FOREGROUND, ORPHAN, Options};
use crate::verbs::metadata::{finalizers, is_deleting, set, text};
use crate::verbs::wanted::Rewrite;
use crate::verbs::{Call, shelf};

/// Looks at one object: as someone's dependent, and as an owner that is to go.
pub(super) async fn look_at(call: &Call) -> Result<(), Status> {
    let Some(object) = call.found().await? else { return Ok(()) };
    if is_deleting(&object) {
        let waits_for = finalizers(&object);
        if waits_for.iter().any(|finalizer| finalizer == ORPHAN) {
            return set_free(call, &object).await;
        }
        if waits_for.iter().any(|finalizer| finalizer == FOREGROUND) {
            wait_for_dependents(call, &object).await?;
        }
        return Ok(());
    }
    keep_or_collect(call, &object).await
}

/// Sorts the owners of an object, and deletes it if none of them is left.
async fn keep_or_collect(call: &Call, object: &Value) -> Result<(), Status> {
    let owners = object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
    let (mut solid, mut going, mut gone) = (Vec::new(), Vec::new(), false);
    for owner in owners {
        match fate(call, &owner) {
            Fate::Stays => solid.push(owner),
            Fate::Goes => going.push(owner),
            Fate::Gone => gone = true,
            // As long as nobody can tell, nothing is done.
            Fate::Unknown => return Ok(()),
        }
    }
    if going.is_empty() && !gone {
        return Ok(());
    }
    if solid.is_empty() {
        return collect(call, object, &going).await;
    }
    let version = &object["metadata"]["resourceVersion"];
    let patch = json!({"metadata": {"resourceVersion": version, "ownerReferences": solid}});
    done(call.rewrite(&Rewrite::Merge(patch)).await.map(drop))?;
    look_at_owners(call, &going);
    Ok(())
}

/// Deletes an object that nobody owns any more. Where owners wait for it, its own dependents go first as well.
async fn collect(call: &Call, object: &Value, going: &[Value]) -> Result<(), Status> {
    let uid = text(object, "uid").to_owned();
    let dependents = call.api.store.owned_by(&uid);
    let waits = !going.is_empty() && !dependents.is_empty();
    if waits && is_circle(call, &dependents).await? {
        unblock(call, object).await?;
        look_at_owners(call, going);
    }
    let kept = finalizers(object);
    let propagation = match kept.iter().find(|finalizer| *finalizer == ORPHAN || *finalizer == FOREGROUND) {
        _ if waits => "Foreground",
        Some(kept) if kept == ORPHAN => "Orphan",
        Some(_) => "Foreground",
        None => "Background",
    };
    let options = Options { uid: Some(uid), propagation: Some(propagation.to_owned()), ..Options::default() };
    done(call.erase(&options).await.map(drop))
}

/// Whether a dependent waits for its own dependents already: then it may be waiting for this object.
async fn is_circle(call: &Call, dependents: &[(Shelf, Key)]) -> Result<bool, Status> {
    for (shelf, key) in dependents {
        let Some(dependent) = super::call(&call.api, "generic-garbage-collector", shelf, &key.namespace, &key.name)
        else {
            continue;
        };
        if dependent.found().await?.is_some_and(|object| waits_for_dependents(&object)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Owners need not wait for this object any more.
async fn unblock(call: &Call, object: &Value) -> Result<(), Status> {
    let mut owners = object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
    for owner in owners.iter_mut().filter(|owner| owner["blockOwnerDeletion"] == true) {
        owner["blockOwnerDeletion"] = false.into();
    }
    let version = &object["metadata"]["resourceVersion"];
    let patch = json!({"metadata": {"resourceVersion": version, "ownerReferences": owners}});
    done(call.rewrite(&Rewrite::Merge(patch)).await.map(drop))
}

/// Owners that wait may have waited for the last time.
fn look_at_owners(call: &Call, owners: &[Value]) {
    for uid in owners.iter().filter_map(|owner| owner["uid"].as_str()) {
        if let Some((shelf, key)) = call.api.store.find_uid(uid) {
            call.api.chores.note(Chore::Object(shelf, key));
        }
    }
}

enum Fate {
    Stays,
    /// It is being deleted and waits for its dependents.
    Goes,
    Gone,
    /// There is no such kind, or none that this object could belong to.
    Unknown,
}

fn fate(call: &Call, owner: &Value) -> Fate {
    let text = |field: &str| owner[field].as_str().unwrap_or_default();
    let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
    let table = call.api.registry.table();
    let Some(resource) = table.of_kind(group, text("kind")).filter(|resource| resource.served(version).is_some())
    else {
        return Fate::Unknown;
    };
    // An owner in another namespace is no owner, and what is in none cannot have one that is in some.
    let namespace = match (resource.namespaced, &call.namespace) {
        (true, None) => return Fate::Unknown,
        (true, Some(namespace)) => namespace.clone(),
        (false, _) => String::new(),
    };
    let key = Key { namespace, name: text("name").to_owned() };
    match call.api.store.get(&shelf(resource), &key).filter(|found| *found.index.uid == *text("uid")) {
        None => Fate::Gone,
        Some(found) if waits_for_dependents(&found.value("", "")) => Fate::Goes,
        Some(_) => Fate::Stays,
    }
}

fn waits_for_dependents(object: &Value) -> bool {
    is_deleting(object) && finalizers(object).iter().any(|finalizer| finalizer == FOREGROUND)
}

/// An owner that goes after its dependents: they are told to go, and when the last that blocks is gone, so is the finalizer.
async fn wait_for_dependents(call: &Call, owner: &Value) -> Result<(), Status> {
    let uid = text(owner, "uid");
    let mut blocked = false;
    for (shelf, key) in call.api.store.owned_by(uid) {
        let Some(dependent) = super::call(&call.api, "generic-garbage-collector", &shelf, &key.namespace, &key.name)
        else {
            continue;
        };
        let Some(object) = dependent.found().await? else { continue };
        let references = object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
        blocked |= references.iter().any(|owner| owner["uid"] == uid && owner["blockOwnerDeletion"] == true);
        if !is_deleting(&object) {
            call.api.chores.note(Chore::Object(shelf, key));
        }
    }
    if blocked { Ok(()) } else { drop_finalizer(call, owner, FOREGROUND).await }
}

/// An owner that goes alone: its dependents lose the reference first.
async fn set_free(call: &Call, owner: &Value) -> Result<(), Status> {
    let uid = text(owner, "uid");
    for (shelf, key) in call.api.store.owned_by(uid) {
        let Some(dependent) = super::call(&call.api, "generic-garbage-collector", &shelf, &key.namespace, &key.name)
        else {
            continue;
        };
        let Some(object) = dependent.found().await? else { continue };
        let mut left = object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
        left.retain(|owner| owner["uid"] != uid);
        let version = &object["metadata"]["resourceVersion"];
        let references = if left.is_empty() { Value::Null } else { Value::Array(left) };
        let patch = json!({"metadata": {"resourceVersion": version, "ownerReferences": references}});
        if dependent.rewrite(&Rewrite::Merge(patch)).await.is_err_and(|status| status.reason == "Conflict") {
            call.api.chores.note(Chore::Object(call.shelf(), call.key()));
            return Ok(());
        }
    }
    drop_finalizer(call, owner, ORPHAN).await
}

/// Takes a finalizer away.
pub(super) async fn drop_finalizer(call: &Call, object: &Value, finalizer: &str) -> Result<(), Status> {
    let mut changed = object.clone();
    let mut left = finalizers(object);
    left.retain(|other| other != finalizer);
    set(&mut changed, "finalizers", (!left.is_empty()).then(|| left.into()));
    done(call.rewrite(&Rewrite::Put(changed)).await.map(drop))
}

/// Whoever was faster caused a chore of their own.
pub(super) fn done(result: Result<(), Status>) -> Result<(), Status> {
    match result {
        Err(status) if matches!(status.reason, "Conflict" | "NotFound") => Ok(()),
        other => other,
    }
}

impl Call {
    /// The object, if it is there.
    pub(crate) async fn found(&self) -> Result<Option<Value>, Status> {
        match self.live().await {
            Ok(object) => Ok(Some(object)),
            Err(status) if status.code == 404 => Ok(None),
            Err(status) => Err(status),
        }
    }
}
