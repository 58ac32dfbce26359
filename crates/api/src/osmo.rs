//! The files that OSMO users have, read as they are: workflows with templates, pools, backends and Helm values.
//!
//! Text and values come in, objects of our kinds go out, with the way back from a field of theirs to the place where the
//! user wrote it. Nothing is judged here but what has no place in the objects.

pub mod config;
mod markers;
pub mod segments;
pub mod template;
pub mod tokens;
pub mod units;
mod workflow;
mod written;

pub use workflow::{WorkflowFile, workflow};
pub use written::Written;
