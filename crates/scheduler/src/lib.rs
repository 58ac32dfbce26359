//! The scheduler: places gangs whole, and keeps them in place for life.
//!
//! Everything that has to survive stands in API objects, so a decision is a pure function of what was seen:
//! [`decide`]`(seen, around) -> `[`Plan`].

mod begun;
mod decide;
mod figures;
mod holds;
pub mod ledger;
mod picture;
pub mod plan;
mod preempt;
mod reserve;
mod say;
mod score;
pub mod seen;
mod settings;

pub use decide::decide;
pub use plan::Plan;
pub use seen::Seen;
pub use settings::{Around, Settings};
