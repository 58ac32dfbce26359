//! The vocabulary of Trellis: kinds, keys and names, defaults, and what is allowed.
//!
//! Everything here is pure. Objects and a view of the cluster come in as arguments, verdicts go out as data; nothing
//! reads a clock, a file or a socket.

pub mod admission;
pub mod constraint;
pub mod crd;
mod domain;
pub mod duration;
pub mod dynamo;
pub mod field;
pub mod kinds;
pub mod names;
pub mod osmo;
pub mod quantity;
pub mod schema;
pub mod settings;

pub use domain::Domain;
