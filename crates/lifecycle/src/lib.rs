//! What is due now. From what was observed of a set to the writes that bring it to what it asks for, and to what its status says.
//!
//! [`decide`] is a pure function: time is an argument, and nothing is remembered between two calls but what stands in the objects. So it
//! does not matter after which write an operator dies, how old its view is, or who goes on: the next call finds what is left to do.

#![cfg_attr(
    test,
    allow(
        clippy::trivially_copy_pass_by_ref,
        clippy::needless_pass_by_value,
        clippy::unnecessary_wraps,
        clippy::format_collect,
        clippy::match_wildcard_for_single_variants,
        reason = "toy worlds are written for readers"
    )
)]

mod admitted;
mod backend;
mod children;
mod diff;
pub mod dynamo;
mod gangs;
mod gates;
mod gone;
mod observed;
pub mod osmo;
mod picture;
mod plan;
pub mod pod;
mod pods;
mod roster;
mod status;
mod terminate;
pub mod topology;
mod update;

pub use observed::{ByName, Failure, Observed};
pub use picture::{Around, Clique, Counts, Gang, Group, Picture};
pub use plan::{Action, Confirm, Kind, Note, Plan, Target, Write, site};

use trellis_api::admission::default_pod_clique_set;

/// Who writes, in the managed fields of what we write.
pub const FIELD_MANAGER: &str = "trellis-operator";

/// What is due for one set. `failures` are the writes of the last pass that could not be carried out.
pub fn decide(observed: &Observed, around: Around<'_>, failures: &[Failure]) -> Plan {
    let mut plan = Plan::default();
    gone::leftovers(observed, &mut plan);
    let Some(set) = &observed.set else {
        gone::decide(observed, &mut plan);
        return plan;
    };
    if set.metadata.deletion_timestamp.is_some() {
        gone::decide(observed, &mut plan);
        return plan;
    }
    let mut defaulted = (**set).clone();
    let before = around.judges.then(|| admitted::before(set, observed)).flatten();
    default_pod_clique_set(&mut defaulted, before.as_ref(), around.settings);
    let picture = Picture::of(&defaulted, observed, around);
    let verdict = admitted::judge(&picture);
    if verdict.allowed() {
        children::decide(&picture, &mut plan);
        let standing = gangs::decide(&picture, &mut plan);
        terminate::decide(&picture, &mut plan);
        update::decide(&picture, &mut plan);
        pods::decide(&picture, &standing, &mut plan);
        gates::decide(&picture, &standing, &mut plan);
    }
    if plan.writes.iter().any(|write| matches!(write.action, Action::Delete { .. })) {
        plan.confirm(Kind::PodCliqueSet, &set.metadata);
    }
    status::decide(&picture, &verdict, failures, &mut plan);
    plan
}
