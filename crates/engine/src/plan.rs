//! The answer: for each gang a decision.

use crate::cluster::{Cluster, NodeId, Place};
use crate::gang::{Gang, GangName};
use crate::planner::Planner;
use crate::proof::Proof;
use crate::snapshot::Snapshot;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::sync::Arc;

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
    /// Steps that may go, in all, into finding places for bases beside which what is scaled from them fits too. Families are
    /// large, so such a step costs more than one that goes into a gang by itself.
    pub effort: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { budget: 200_000, effort: 400_000 }
    }
}

/// Plans all gangs, in their order, on a cluster.
pub fn plan(cluster: &Cluster, gangs: &[Gang], options: Options) -> Plan {
    let mut snapshot = Snapshot::with_gangs(Arc::new(cluster.clone()), gangs);
    plan_on(&mut snapshot, gangs, options)
}

/// What puts gangs in order.
pub(crate) fn turn(gang: &Gang) -> (Reverse<i32>, i64, &GangName) {
    (Reverse(gang.priority), gang.created, &gang.id)
}

/// The gangs in the order they are taken: priority, age, name; a base before what is scaled from it.
pub fn order(gangs: &[Gang]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..gangs.len()).collect();
    order.sort_by_key(|gang| turn(&gangs[*gang]));
    let by_name: FxHashMap<&GangName, usize> = gangs.iter().enumerate().map(|(i, gang)| (&gang.id, i)).collect();
    let mut taken = vec![false; gangs.len()];
    let mut result = Vec::with_capacity(gangs.len());
    for gang in order {
        let mut chain = vec![gang];
        // A chain of bases is at most as long as there are gangs; one that bites its tail ends there.
        while let Some(base) = gangs[*chain.last().unwrap_or(&gang)].base.as_ref().and_then(|base| by_name.get(base)) {
            if chain.contains(base) || taken[*base] {
                break;
            }
            chain.push(*base);
        }
        for gang in chain.into_iter().rev() {
            if !std::mem::replace(&mut taken[gang], true) {
                result.push(gang);
            }
        }
    }
    result
}

/// Plans all gangs on a snapshot in which their bound pods are charged; what is placed is charged afterwards. Holds are
/// charged to nobody before and after.
pub fn plan_on(snapshot: &mut Snapshot, gangs: &[Gang], options: Options) -> Plan {
    plan_with(snapshot, gangs, options, &mut |_| {})
}

/// The same; `decided` hears of each gang when its minimum is decided, in order.
pub fn plan_with(snapshot: &mut Snapshot, gangs: &[Gang], options: Options, decided: &mut dyn FnMut(usize)) -> Plan {
    let mut planner = Planner::new(snapshot, gangs, options);
    let order = order(gangs);
    for &gang in &order {
        planner.minimum(gang);
        decided(gang);
    }
    planner.remainders(&order);
    planner.offer_again(&order);
    planner.proofs(&order);
    Plan { decisions: planner.finish() }
}
