//! The independent checker: whether a plan keeps every rule, and whether a proof of "cannot fit" holds.
//!
//! It decides from the plain data alone (cluster, gangs, plan) and shares no code with the search: domains, free amounts,
//! candidates and tables are worked out here a second time, the plain way. What it accepts is true even if the search is
//! wrong; so where it has a choice between fast and obvious, it is obvious.

mod alike;
mod arithmetic;
mod case;
mod claims;
mod domains;
mod faults;
mod ground;
mod held;
mod packing;
mod patterns;
mod scope;
mod score;
#[cfg(test)]
mod tests;

pub use score::{Score, score};

use crate::cluster::Cluster;
use crate::gang::Gang;
use crate::plan::{Outcome, Plan};
use crate::proof::Proof;
use case::Case;
use ground::Ground;

/// Checks a whole plan: places, minima, levels, room, holds, reservations, and every proof in it.
///
/// # Errors
/// All faults, in words, in the order of the gangs.
pub fn check_plan(cluster: &Cluster, gangs: &[Gang], plan: &Plan) -> Result<(), Vec<String>> {
    if plan.decisions.len() != gangs.len() {
        return Err(vec![format!("there are {} gangs and {} decisions", gangs.len(), plan.decisions.len())]);
    }
    let ground = Ground::new(cluster, gangs, plan);
    let mut faults = faults::find(&ground);
    for (number, decision) in plan.decisions.iter().enumerate() {
        if let Outcome::CannotFit(proof) = &decision.outcome
            && let Err(text) = Case::new(&ground, number).check(proof)
        {
            faults.push(format!("{}: the proof does not hold: {text}", ground.gang_name(number)));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// Checks that a proof shows that a gang cannot fit in the cluster as the plan leaves it.
///
/// # Errors
/// The first step of the proof that does not hold, in words.
pub fn check_proof(cluster: &Cluster, gangs: &[Gang], plan: &Plan, gang: usize, proof: &Proof) -> Result<(), String> {
    if gang >= gangs.len() {
        return Err(format!("there is no gang {gang}"));
    }
    Case::new(&Ground::new(cluster, gangs, plan), gang).check(proof)
}
