//! Managed fields and server-side apply: which manager owns which fields of an object, decided from the object, its schema and what was
//! there before.
//!
//! A write goes like this:
//! - create, update, and patches other than apply: decode, default, prune; [`update`]; admission; the server's own changes; for an update
//!   also [`keep_times`]; validate; store.
//! - apply: [`apply`] with the configuration as it was sent; default, prune; admission; the server's own changes; [`keep_times`] if there
//!   was a live object; validate; store.
//!
//! So defaults of a create belong to whoever creates, defaults of an apply to nobody, and what admission changes to nobody either.

mod apply;
mod check;
mod codec;
mod compare;
mod conflict;
mod empty;
mod last_applied;
pub mod managed;
mod merge;
mod object;
pub mod path;
pub mod reset;
pub mod scale;
mod set;
mod shape;
mod writer;

#[cfg(test)]
mod cases;
#[cfg(test)]
mod tests;

pub use apply::apply;
pub use compare::{Change, compare};
pub use empty::empty_object;
pub use object::fields_of;
pub use path::Element;
pub use set::{FieldSet, Node};
pub use writer::{Writer, keep_times, manager_of_user_agent, update};
