//! Bases and what is scaled from them: the base is placed if it fits alone, and then those still fit beside it, taken in
//! their order, that fit with it anywhere.

use super::harness::{Judged, Verdict};
use super::single::checked_plan;
use trellis_engine::Outcome;
use trellis_testkit::placement::{Problem, exhaustive, family::together};

pub fn judge(problem: &Problem) -> Judged {
    let plan = checked_plan(problem)?;
    let Some(base) = problem.gangs.iter().position(|gang| gang.base.is_none()) else { return Ok(Verdict::Right) };
    let is_placed = plan.decisions[base].outcome == Outcome::Placed;
    let mut scaled: Vec<usize> = (0..problem.gangs.len()).filter(|gang| problem.gangs[*gang].base.is_some()).collect();
    scaled.sort_by_key(|gang| &problem.gangs[*gang].id);
    let fits = |scaled: &[usize]| {
        let together = together(problem, base, scaled);
        exhaustive::fits(&together, together.gangs.len() - 1)
    };
    match fits(&[]) {
        Ok(fits) if fits != is_placed => return Err(format!("the base fits: {fits}; and is placed: {is_placed}")),
        Ok(true) => {}
        Ok(false) => return Ok(Verdict::Right),
        Err(too_large) => return Ok(too_large.into()),
    }
    // What its root has no level for may go anywhere, whatever the base does.
    if problem.gangs[base].groups[0].constraint.is_none_or(|constraint| constraint.required.is_none()) {
        return Ok(Verdict::Right);
    }
    let mut kept: Vec<usize> = Vec::new();
    for gang in scaled {
        let tried = [kept.as_slice(), &[gang]].concat();
        match fits(&tried) {
            Ok(true) => kept = tried,
            Ok(false) => {}
            Err(too_large) => return Ok(too_large.into()),
        }
    }
    let mut beside = together(problem, base, &kept);
    let one = beside.gangs.last_mut().expect("the family");
    for (pod, place) in &plan.decisions[base].placed {
        let pod = &mut one.pods[*pod];
        pod.bound = Some(*place);
        let Some(zone) = place.zone else { continue };
        // Of zones it is told what is left.
        let zone = &mut beside.cluster.nodes[place.node as usize].zones[usize::from(zone)];
        for (left, asked) in zone.available.iter_mut().zip(pod.request.iter()) {
            *left = left.map(|left| left - asked);
        }
    }
    match exhaustive::fits(&beside, beside.gangs.len() - 1) {
        Ok(true) => Ok(Verdict::Right),
        Ok(false) => Err(format!("gangs {kept:?} fit with their base, and not beside it where it is put")),
        Err(too_large) => Ok(too_large.into()),
    }
}
