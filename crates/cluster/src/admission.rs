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
    // What each webhook that asks to see later changes has seen; with the object of a deletion nothing happens.
    let mut seen = Vec::new();
    for hook in hooks.iter() {
        let asked = mutate_once(call, hook, operation, object.as_deref_mut(), old).await?;
        if asked && hook.reinvoked {
            seen.push((hook, object.as_deref().cloned()));
        }
    }
    // One more round for those who asked to see what others changed after them.
    for (hook, seen) in seen {
        if seen.as_ref() != object.as_deref() {
            mutate_once(call, hook, operation, object.as_deref_mut(), old).await?;
        }
    }
    Ok(())
}

/// Whether the hook was asked, and lived up to it.
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
    let unborn = object.as_deref().filter(|_| operation == Operation::Create).map(review::unborn);
    let shown = unborn.as_ref().or(object.as_deref());
    let answered = ask(call, hook, operation, shown, old).await;
    let (answer, patch) = match answered.and_then(|answer| Ok((review::patch(hook, &answer)?, answer))) {
        Ok((patch, answer)) => (answer, patch),
        Err(status) => return hook.failed(status).map(|()| false),
    };
    review::judge(call, hook, &answer)?;
    let (Some(object), Some(patch)) = (object, patch) else { return Ok(true) };
    let patched = crate::patch::json(object, &patch)
        .map_err(|status| Status::internal(format!("admission webhook {:?} sent a bad patch: {status}", hook.name)))?;
    *object = patched;
    // What a webhook leaves out is defaulted again, and what nobody knows is dropped.
    call.take_in(object, &[])?;
    Ok(true)
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
    let answer = answer.map_err(|why| hook.failure(&format!("failed to call webhook: {why}")))?;
    let response = &answer["response"];
    if response.is_null() {
        return Err(hook.invalid("webhook response was absent"));
    }
    let uid = response["uid"].as_str().unwrap_or_default();
    if review["request"]["uid"] != uid {
        return Err(hook.invalid(&format!("expected response.uid={}, got {uid:?}", review["request"]["uid"])));
    }
    Ok(answer)
}

pub(crate) use client::post;
