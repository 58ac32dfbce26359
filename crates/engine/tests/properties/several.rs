//! Gangs that compete: taken in order, none waits that would fit, nothing more fits in the end, and the order of the
//! input does not matter.

use super::harness::{Judged, Verdict};
use super::single::checked_plan;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use trellis_engine::{Outcome, Plan};
use trellis_testkit::mutate::Dice;
use trellis_testkit::placement::{Problem, exhaustive, unused_holds};

pub fn judge(problem: &Problem) -> Judged {
    let plan = checked_plan(problem)?;
    let order = order(problem);
    let is_placed = |gang: usize| plan.decisions[gang].outcome == Outcome::Placed;
    let first = order[0];
    let scaled = problem.gangs[first].base.is_some();
    // What is held against it may be given back by those who come later.
    let may_gain = problem.gangs.iter().any(|gang| !gang.holds.is_empty());
    match exhaustive::fits(problem, first) {
        Ok(fits) if !scaled && fits != is_placed(first) && (fits || !may_gain) => {
            return Err(format!("the first gang, {first}, alone fits: {fits}; and is placed: {}", is_placed(first)));
        }
        Ok(_) => {}
        Err(too_large) => return Ok(too_large.into()),
    }
    for (rank, gang) in order.iter().enumerate() {
        let after = after(problem, &plan, &order[..rank], *gang);
        match exhaustive::best(&after, *gang) {
            Ok(Some(best)) if !is_placed(*gang) => {
                return Err(format!("gang {gang} waits, and fits in what the plan leaves: {best:?}"));
            }
            Ok(Some(best)) if best.members > 0 => {
                return Err(format!("gang {gang} leaves out {} pods that have room", best.members));
            }
            Ok(None) if is_placed(*gang) => return Err(format!("gang {gang} is placed without its minimum")),
            Ok(_) => {}
            Err(too_large) => return Ok(too_large.into()),
        }
    }
    Ok(Verdict::Right)
}

/// The gangs by priority, age and name. Generated bases go before what is scaled from them.
fn order(problem: &Problem) -> Vec<usize> {
    let mut order: Vec<usize> = (0..problem.gangs.len()).collect();
    order.sort_by_key(|gang| {
        let gang = &problem.gangs[*gang];
        (Reverse(gang.priority), gang.created, &gang.id)
    });
    order
}

/// The problem as the plan leaves it to a gang behind others: what is placed is bound and has used up what was held for
/// it, what others reserve is closed, unless the gang has holds there.
fn after(problem: &Problem, plan: &Plan, ahead: &[usize], viewer: usize) -> Problem {
    let mut after = problem.clone();
    for (number, (gang, decision)) in after.gangs.iter_mut().zip(&plan.decisions).enumerate() {
        // Its own holds say where it is, used up or not, and are not held against it.
        if number != viewer {
            gang.holds = unused_holds(gang, &decision.placed);
        }
        for (pod, place) in &decision.placed {
            let pod = &mut gang.pods[*pod];
            pod.bound = Some(*place);
            let Some(zone) = place.zone else { continue };
            // Of zones it is told what is left.
            let zone = &mut after.cluster.nodes[place.node as usize].zones[usize::from(zone)];
            for (left, asked) in zone.available.iter_mut().zip(pod.request.iter()) {
                *left = left.map(|left| left - asked);
            }
        }
    }
    let own = |node: &u32| problem.gangs[viewer].holds.iter().any(|hold| hold.place.node == *node);
    for node in ahead.iter().flat_map(|gang| &plan.decisions[*gang].reserved).filter(|node| !own(node)) {
        after.cluster.eligibility.iter_mut().for_each(|kind| kind.allowed.set(*node as usize, false));
    }
    after
}

/// Plans the problem as it is and in another order.
pub fn judge_shuffled(problem: &Problem, seed: u64) -> Judged {
    let mut dice = Dice::new(seed);
    let mut shuffled = problem.clone();
    shuffle(&mut shuffled.gangs, &mut dice);
    for gang in &mut shuffled.gangs {
        shuffle(&mut gang.pods, &mut dice);
        shuffle(&mut gang.holds, &mut dice);
        shuffle(&mut gang.coming, &mut dice);
    }
    let (one, other) = (places(problem)?, places(&shuffled)?);
    if one == other {
        return Ok(Verdict::Right);
    }
    Err(format!("in another order of gangs and pods the plan is another:\n{one:?}\n{other:?}"))
}

fn shuffle<T>(items: &mut [T], dice: &mut Dice) {
    for n in (1..items.len()).rev() {
        items.swap(n, dice.below(n + 1));
    }
}

/// The plan by names: for each gang its outcome and what it reserves, for each pod its place.
fn places(problem: &Problem) -> Result<BTreeMap<String, String>, String> {
    let plan = checked_plan(problem)?;
    let mut found = BTreeMap::new();
    for (gang, decision) in problem.gangs.iter().zip(&plan.decisions) {
        let placed = decision.outcome == Outcome::Placed;
        found.insert(gang.id.name.clone(), format!("placed: {placed}, reserved: {:?}", decision.reserved));
        for (pod, place) in &decision.placed {
            found.insert(gang.pods[*pod].name.clone(), format!("{place:?}"));
        }
    }
    Ok(found)
}
