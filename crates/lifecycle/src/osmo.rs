//! OSMO's pools and workflows: what is due for them, in the same form as for sets.
//!
//! What a workflow's objects are and how far it has come is decided in `trellis_lower::osmo`; here it becomes writes.

mod kept;
mod pool;
mod workflow;

pub use pool::{PoolObserved, decide as decide_pool};
pub use workflow::{WorkflowObserved, decide as decide_workflow};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// At most so many characters of a message are kept.
const MESSAGE_MAX: usize = 4_000;

fn short(text: &str) -> String {
    match text.char_indices().nth(MESSAGE_MAX) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
}

/// A condition, moved only when its truth does.
fn condition(
    old: &[Condition],
    type_: &str,
    (status, reason, message): (&str, &str, String),
    generation: Option<i64>,
    now: Timestamp,
) -> Condition {
    let since = old.iter().find(|old| old.type_ == type_ && old.status == status);
    Condition {
        last_transition_time: since.map_or(Time(now), |old| old.last_transition_time.clone()),
        message,
        observed_generation: generation,
        reason: reason.to_owned(),
        status: status.to_owned(),
        type_: type_.to_owned(),
    }
}
