//! The scheduler: places gangs whole, and keeps them in place for life.
//!
//! Everything that has to survive stands in API objects, so a decision is a pure function of what was seen:
//! [`decide`]`(seen, around) -> `[`Plan`].

mod decide;
pub mod ledger;
pub mod plan;
pub mod seen;
mod settings;

pub use decide::decide;
pub use plan::Plan;
pub use seen::Seen;
pub use settings::{Around, Settings};
