//! Admission: webhooks that change or refuse what is written, as their configuration objects say.
//!
//! Configurations are read from the store like any object; a webhook is called by URL over HTTPS, or in process where its
//! configuration names a service that is registered here.

mod client;
mod hooks;
mod review;

use serde_json::Value;

pub use client::{Handler, Services};

use crate::status::Status;
use crate::verbs::Call;
use hooks::Hook;

/// What is done to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// It is made.
    Create,
    /// It is changed.
    Update,
    /// It is deleted.
    Delete,
}

impl Operation {
    /// The word in rules and reviews.
    pub fn word(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// A webhook that does not answer, and what a client is told about it.
const KINDS: [(&str, &str); 2] =
    [("mutating", "mutatingwebhookconfigurations"), ("validating", "validatingwebhookconfigurations")];

/// Lets the mutating webhooks change an object.
pub(crate) async fn mutate(
    call: &Call,
    operation: Operation,
    mut object: Option<&mut Value>,
    old: Option<&Value>,
) -> Result<(), Status> {
    let hooks = hooks::all(call, KINDS[0].1);
    let mut again = Vec::new();
    let mut changed_after = false;
    for hook in hooks.iter() {
        let changed = mutate_once(call, hook, operation, object.as_deref_mut(), old).await?;
        changed_after |= changed && !again.is_empty();
        if hook.reinvoked {
            again.push(hook);
        }
    }
    // One more round for those who asked to see what others changed after them.
    if changed_after {
        for hook in again {
            mutate_once(call, hook, operation, object.as_deref_mut(), old).await?;
        }
    }
    Ok(())
}

/// Whether the hook changed the object.
async fn mutate_once(
    call: &Call,
    hook: &Hook,
    operation: Operation,
    object: Option<&mut Value>,
    old: Option<&Value>,
) -> Result<bool, Status> {
    if !hook.wants(call, operation, object.as_deref(), old)? {
        return Ok(false);
    }
    let answer = match ask(call, hook, operation, object.as_deref(), old).await {
        Ok(answer) => answer,
        Err(status) => return hook.failed(status).map(|()| false),
    };
    review::judge(call, hook, &answer)?;
    let (Some(object), Some(patch)) = (object, review::patch(hook, &answer)?) else { return Ok(false) };
    let patched = crate::patch::json(object, &patch)
        .map_err(|status| Status::internal(format!("admission webhook {:?} sent a bad patch: {status}", hook.name)))?;
    let changed = patched != *object;
    *object = patched;
    // What a webhook leaves out is defaulted again, and what nobody knows is dropped.
    call.take_in(object, &[])?;
    Ok(changed)
}

/// Lets the validating webhooks refuse an object.
pub(crate) async fn validate(
    call: &Call,
    operation: Operation,
    object: Option<&Value>,
    old: Option<&Value>,
) -> Result<(), Status> {
    for hook in hooks::all(call, KINDS[1].1).iter() {
        if !hook.wants(call, operation, object, old)? {
            continue;
        }
        match ask(call, hook, operation, object, old).await {
            Ok(answer) => review::judge(call, hook, &answer)?,
            Err(status) => hook.failed(status)?,
        }
    }
    Ok(())
}

async fn ask(
    call: &Call,
    hook: &Hook,
    operation: Operation,
    object: Option<&Value>,
    old: Option<&Value>,
) -> Result<Value, Status> {
    if call.dry_run()? && !hook.tolerates_dry_run {
        return Err(Status::bad_request(format!("admission webhook {:?} does not support dry run", hook.name)));
    }
    let review = review::request(call, operation, object, old);
    let answer = client::post(&call.api.services, &hook.client, &review, hook.timeout).await;
    let failed = |why: String| {
        Status::internal(format!("failed calling webhook {:?}: failed to call webhook: {why}", hook.name))
    };
    let answer = answer.map_err(failed)?;
    if answer["response"]["uid"] != review["request"]["uid"] {
        let why = format!("expected response.uid={}, got {}", review["request"]["uid"], answer["response"]["uid"]);
        return Err(Status::internal(format!("failed calling webhook {:?}: {why}", hook.name)));
    }
    Ok(answer)
}

pub(crate) use client::post;
