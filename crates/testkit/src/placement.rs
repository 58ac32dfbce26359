//! Oracles for the placement engine: problems made from a seed, and the right answers to them, found in two ways that
//! know nothing of the engine's search nor of its checker. All is computed from the engine's plain data types.
//!
//! [`generate`] makes problems, [`invariants`] says what every problem must satisfy, [`exhaustive`] and [`milp`] answer,
//! [`shrink`] makes a failing problem small, and [`Problem`] prints itself in a form that a person can read.

mod dump;
pub mod exhaustive;
mod facts;
pub mod family;
pub mod generate;
pub mod invariants;
pub mod milp;
pub mod shrink;

pub use facts::unused as unused_holds;
use trellis_engine::{Cluster, Gang};

/// A cluster and the gangs to be placed on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problem {
    /// The cluster.
    pub cluster: Cluster,
    /// The gangs, waiting and bound.
    pub gangs: Vec<Gang>,
}

/// How good the best placements of a gang are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Best {
    /// Most pods that can be given a place, those bound already not counted.
    pub members: usize,
    /// Domains used by placements of that many, in the order in which they are compared. Depth by depth from the root:
    /// the domains of the preferred levels, summed over the groups of the depth; then the same at one level wider than
    /// each preferred level, at two, and so on. Empty if the gang prefers nothing.
    pub spans: Vec<u64>,
    /// Most that the pods of such placements can like their nodes, in all.
    pub liked: u64,
}

/// An oracle gives up: there is too much to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;
