//! Owners and dependents: what lost all its owners goes, and owners wait for what they are told to wait for.

use serde_json::{Value, json};

use crate::chores::Chore;
use crate::status::Status;
use crate::verbs::Call;
use crate::verbs::delete::{FOREGROUND, ORPHAN, Options};
use crate::verbs::metadata::{finalizers, is_deleting, set, text};
use crate::verbs::write::Rewrite;

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
    if owners.is_empty() {
        return Ok(());
    }
    let (mut solid, mut going, mut gone) = (Vec::new(), Vec::new(), Vec::new());
    for owner in owners {
        match fate(call, &owner).await? {
            Fate::Stays => solid.push(owner),
            Fate::Goes => going.push(owner),
            Fate::Gone => gone.push(owner),
        }
    }
    if gone.is_empty() && going.is_empty() {
        return Ok(());
    }
    if solid.is_empty() {
        let uid = Some(text(object, "uid").to_owned());
        // Dependents of a dependent go first as well, if the owner waits for all of them.
        let waits = !going.is_empty() && !call.api.store.owned_by(text(object, "uid")).is_empty();
        let propagation = if waits { "Foreground" } else { "Background" };
        let options = Options { uid, propagation: Some(propagation.to_owned()), ..Options::default() };
        return done(call.erase(&options).await.map(drop));
    }
    if gone.is_empty() && solid.is_empty() {
        return Ok(());
    }
    let version = &object["metadata"]["resourceVersion"];
    let patch = json!({"metadata": {"resourceVersion": version, "ownerReferences": solid}});
    done(call.rewrite(&Rewrite::Merge(patch)).await.map(drop))
}

enum Fate {
    Stays,
    /// It is being deleted and waits for this dependent.
    Goes,
    Gone,
}

async fn fate(call: &Call, owner: &Value) -> Result<Fate, Status> {
    let uid = owner["uid"].as_str().unwrap_or_default();
    let Some((shelf, key)) = call.api.store.find_uid(uid) else { return Ok(Fate::Gone) };
    // An owner in another namespace is no owner.
    if !key.namespace.is_empty() && call.namespace.as_ref() != Some(&key.namespace) {
        return Ok(Fate::Gone);
    }
    let Some(owners) = super::call(&call.api, "generic-garbage-collector", &shelf, &key.namespace, &key.name) else {
        return Ok(Fate::Stays);
    };
    let Some(found) = owners.found().await? else { return Ok(Fate::Gone) };
    let waits = is_deleting(&found) && finalizers(&found).iter().any(|finalizer| finalizer == FOREGROUND);
    Ok(if waits && owner["blockOwnerDeletion"] == true { Fate::Goes } else { Fate::Stays })
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
