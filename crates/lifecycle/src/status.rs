//! What status says of a set and of what belongs to it: counted from the pods that were seen, and written only where it differs from what
//! is stored.
//!
//! Sets, scaling groups and cliques have one writer, so what changed is patched. Gangs have several: there we apply the fields that are
//! ours, all of them every time, because an apply takes away what it leaves out.

mod clique;
pub(crate) mod conditions;
mod gang;
mod group;
mod progress;
mod set;
#[cfg(test)]
mod tests;

pub(crate) use gang::{gang_status, is_initialized};

use crate::diff;
use crate::observed::Failure;
use crate::picture::Picture;
use crate::plan::{Action, Kind, Plan, Target, Write};
use crate::update;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde::Serialize;
use serde_json::{Value, json};
use trellis_api::admission::Verdict;
use trellis_api::field::FieldError;
use trellis_api::names::{MANAGED_BY, label};

/// What all statuses of one pass look at.
struct Pass<'a, 'b> {
    picture: &'b Picture<'a>,
    /// The replica of the set that is being updated.
    turn: Option<usize>,
    now: Time,
}

/// What is to be said in status. Of a refused set nothing is said but that it is refused.
pub fn decide(picture: &Picture<'_>, verdict: &Verdict, failures: &[Failure], plan: &mut Plan) {
    let pass = Pass { picture, turn: update::current_replica(picture), now: Time(picture.around.now) };
    if verdict.allowed() {
        picture.cliques.iter().for_each(|clique| clique::decide(&pass, clique, plan));
        picture.groups.iter().for_each(|group| group::decide(&pass, group, plan));
        picture.gangs.iter().for_each(|gang| gang::decide(&pass, gang, plan));
    }
    set::decide(&pass, verdict, failures, plan);
}

/// Writes the status of an object that nobody else writes the status of, if it differs from what is stored.
pub(crate) fn write<T: Serialize + PartialEq>(
    site: &'static str,
    kind: Kind,
    live: &ObjectMeta,
    stored: Option<&T>,
    status: &T,
    plan: &mut Plan,
) {
    if live.deletion_timestamp.is_some() || stored == Some(status) {
        return;
    }
    let value = |status: &T| serde_json::to_value(status).unwrap_or_default();
    let Some(changes) = diff::merge(&stored.map_or_else(|| json!({}), value), &value(status)) else { return };
    let patch = json!({ "metadata": of_version(live), "status": changes });
    plan.statuses.push(Write { site, target: Target::of(kind, live), action: Action::PatchStatus(patch) });
}

/// Faults in one line, without the values.
pub(crate) fn faults_text(faults: &[FieldError]) -> String {
    let words = faults.iter().map(|fault| match fault.message.is_empty() {
        true => fault.to_string(),
        false => format!("{}: {}", fault.field, fault.message),
    });
    words.collect::<Vec<_>>().join("; ")
}

/// What makes a write good for one version of an object only.
fn of_version(live: &ObjectMeta) -> Value {
    json!({ "resourceVersion": live.resource_version, "uid": live.uid })
}

/// The selector of pods of a set, narrowed down by one more label.
fn selector(picture: &Picture<'_>, narrower: Option<(&str, &str)>) -> String {
    let set = picture.set.metadata.name.as_deref().unwrap_or_default();
    let labels = [(label::MANAGED_BY, MANAGED_BY), (label::PART_OF, set)].into_iter().chain(narrower);
    labels.map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
}
