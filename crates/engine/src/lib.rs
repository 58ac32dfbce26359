//! The placement engine: a cluster and gangs in, a placement or a proof that there is none out.
//!
//! Pure: no clock, no randomness, no Kubernetes types. The same input gives the same plan, byte for byte. Budgets are
//! counted in steps, never in time. How the search works and why it misses nothing is told in `docs/placement.md`.

pub mod check;
pub mod cluster;
pub mod explain;
pub mod gang;
pub mod plan;
pub mod proof;

mod bounds;
mod classes;
mod decide;
mod domains;
mod exact;
mod fill;
mod greedy;
mod holds;
mod job;
mod planner;
mod prove;
mod snapshot;
mod spread;
mod state;
mod without;

pub use cluster::{Cluster, Eligibility, Level, Node, NodeId, Occupant, Place, Topology, Zone};
pub use explain::{
    Change, DomainReport, EmptyCluster, Explanation, Holder, Largest, Relaxation, explain_on, explain_some,
};
pub use gang::{Constraint, Gang, GangName, Group, GroupId, Hold, Members, Pod, Unready};
pub use plan::{Decision, Options, Outcome, Plan, order, plan, plan_on, plan_with};
pub use proof::{Branch, Claim, DomainId, Proof};
pub use snapshot::Snapshot;
pub use without::fits_without;
