//! What would be if some gangs were away: the question that preemption asks, without building anything anew.

use crate::cluster::{NodeId, Place};
use crate::decide::{Decided, decide, fits};
use crate::gang::Gang;
use crate::holds::{self, Holds};
use crate::job::Job;
use crate::plan::{Options, Outcome, Plan, order};
use crate::planner::{Placed, anchor, named};
use crate::proof::{Claim, DomainId};
use crate::snapshot::Snapshot;

/// Where the minima of a waiting gang would go if some others, the `victims`, had nothing: no bound pods, none that the
/// plan places, no holds. None if they would not fit, if it is not known, or if the base of the gang has no place then.
///
/// The snapshot is as [`crate::plan_on`] left it with this plan, and is so again afterwards. As in a plan, the gang sees
/// the holds of others of its own or a higher priority, and what gangs ahead of it reserve is closed to it.
pub fn fits_without(
    snapshot: &mut Snapshot,
    gangs: &[Gang],
    plan: &Plan,
    gang: usize,
    victims: &[usize],
    options: Options,
) -> Option<Vec<(usize, Place)>> {
    let anchor = anchor_without(snapshot, gangs, plan, gang, victims).ok()?;
    let mut holds = Holds::new(gangs);
    for (index, (it, decision)) in gangs.iter().zip(&plan.decisions).enumerate() {
        holds.place(snapshot, it, index, &decision.placed);
    }
    victims.iter().for_each(|victim| holds.give_up(*victim));
    let closed = reserved_ahead(gangs, plan, gang, victims);
    for &victim in victims {
        let (it, placed) = (&gangs[victim], &plan.decisions[victim].placed);
        snapshot.remove_bound(it);
        placed.iter().for_each(|(pod, place)| snapshot.remove(*place, &it.pods[*pod].request));
    }
    snapshot.forget();
    holds.show(snapshot, gangs, gang);
    snapshot.set_closed(&closed, true);
    let found = minimum(snapshot, &gangs[gang], anchor, options.budget);
    snapshot.set_closed(&closed, false);
    holds.hide(snapshot);
    for &victim in victims {
        let (it, placed) = (&gangs[victim], &plan.decisions[victim].placed);
        placed.iter().for_each(|(pod, place)| snapshot.add(*place, &it.pods[*pod].request));
        snapshot.add_bound(it);
    }
    found
}

fn minimum(snapshot: &mut Snapshot, gang: &Gang, anchor: Option<DomainId>, budget: u64) -> Option<Placed> {
    let job = Job::new(gang, anchor, snapshot).ok()?;
    // Most questions are answered with no, and that is the quick way to it.
    let (Decided::Placed(_), _) = fits(snapshot, &job, budget) else { return None };
    let (Decided::Placed(found), _) = decide(snapshot, &job, budget) else { return None };
    Some(named(&job, &found, &found.minimum(&job)).1)
}

/// The domain of the base, if there is one, or why there is none to share.
fn anchor_without(
    snapshot: &Snapshot,
    gangs: &[Gang],
    plan: &Plan,
    gang: usize,
    victims: &[usize],
) -> Result<Option<DomainId>, Claim> {
    let base = gangs[gang].base.as_ref();
    let Some(base) = base.and_then(|base| gangs.iter().position(|other| other.id == *base)) else { return Ok(None) };
    let is_there = plan.decisions[base].outcome == Outcome::Placed || gangs[base].leads();
    if !is_there || victims.contains(&base) {
        return Err(Claim::BaseWaits(gangs[base].id.clone()));
    }
    anchor(snapshot, &gangs[base], &plan.decisions[base])
}

/// Nodes that gangs ahead reserve, but for those on which the gang has holds.
pub(crate) fn reserved_ahead(gangs: &[Gang], plan: &Plan, gang: usize, without: &[usize]) -> Vec<NodeId> {
    if plan.decisions.iter().all(|decision| decision.reserved.is_empty()) {
        return Vec::new();
    }
    let own = holds::nodes(&gangs[gang]);
    let order = order(gangs);
    let ahead = order.iter().take_while(|other| **other != gang).filter(|other| !without.contains(other));
    let nodes = ahead.flat_map(|other| plan.decisions[*other].reserved.iter().copied());
    nodes.filter(|node| own.binary_search(node).is_err()).collect()
}
