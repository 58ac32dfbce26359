//! The answer: for each gang a decision.

use crate::cluster::{NodeId, Place};
use crate::proof::Proof;

/// Decisions for all gangs of a problem, by the gangs' index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// One for each gang.
    pub decisions: Vec<Decision>,
}

/// What was decided for a gang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether its minima have a place.
    pub outcome: Outcome,
    /// Pods that are given a place, by index, with the place; sorted. Bound pods are not among them.
    pub placed: Vec<(usize, Place)>,
    /// Nodes that are kept for the gang while it waits, closed to gangs behind it; sorted.
    pub reserved: Vec<NodeId>,
    /// Steps that the decision took.
    pub steps: u64,
}

/// Whether a gang's minima have a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All of them, together.
    Placed,
    /// There is no such placement in the cluster as the whole plan leaves it.
    CannotFit(Proof),
    /// The budget of steps was spent before an answer was found.
    Undecided,
}

/// Limits of a plan.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Steps that the decision of one gang may take.
    pub budget: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { budget: 200_000 }
    }
}

/// Plans all gangs, in their order, on a cluster.
pub fn plan(cluster: &crate::Cluster, gangs: &[crate::Gang], options: Options) -> Plan {
    let _ = (cluster, gangs, options);
    unimplemented!("the search is being written")
}

/// Explains one decision of a plan.
pub fn explain(cluster: &crate::Cluster, gangs: &[crate::Gang], plan: &Plan, gang: usize) -> crate::Explanation {
    let _ = (cluster, gangs, plan, gang);
    unimplemented!("the search is being written")
}
