//! What the controllers of Trellis share as clients of a Kubernetes API: who leads, what was seen, what is said, and what time it is.
//!
//! Nothing is decided here. Operator and scheduler use it beside each other, and neither uses the other.

pub mod events;
pub mod lease;
pub mod table;

use std::sync::Arc;

use jiff::Timestamp;

/// What time it is, for stamps. Waiting is `tokio::time`'s.
pub type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;
