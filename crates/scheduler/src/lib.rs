//! The scheduler: places gangs whole, and keeps them in place for life.
//!
//! Everything that has to survive stands in API objects, so a decision is a pure function of what was seen:
//! [`decide`]`(seen, around, memory) -> `[`Plan`], in which the memory only saves work. Around it stands a shell that sees and acts: [`Scheduler`].

mod act;
mod ask;
mod begun;
mod config;
mod decide;
mod figures;
mod follow;
mod holds;
mod index;
pub mod ledger;
mod memory;
mod metrics;
mod picture;
pub mod plan;
mod planner;
mod preempt;
mod request;
mod reserve;
mod run;
mod say;
mod score;
pub mod seen;
mod settings;
mod trim;
mod view;
mod watches;

pub use decide::decide;
pub use memory::Memory;
pub use metrics::{CONTENT_TYPE as METRICS_CONTENT_TYPE, Metrics};
pub use plan::Plan;
pub use run::{Options, RunError, Scheduler, StartError};
pub use seen::Seen;
pub use settings::{Around, Settings};

#[cfg(test)]
mod stage;
