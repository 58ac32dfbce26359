//! OSMO's pools and workflows: trees of groups, objects that follow from them, and the life of a workflow. A test's name says
//! where its rule stands: `s004` is the document, with the step of its algorithm; `d` a decision, `osmo` a section of the
//! reference.

mod feasible;
mod laws;
mod life;
mod objects;
mod support;
mod tree;
