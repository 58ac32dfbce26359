//! Selectors: which objects a list or a watch is about, by their labels or by a few of their fields. Texts are read and refused as a
//! real server does.

mod fields;
mod labels;
mod names;

pub use fields::{Fields, text};
pub use labels::Labels;
pub use names::{key_faults, value_faults};
