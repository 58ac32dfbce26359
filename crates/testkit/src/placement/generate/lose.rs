//! Members that are gone, and the places that are held for them.

use super::{Draw, bind};
use crate::placement::{Problem, facts};
use std::sync::Arc;
use trellis_engine::{Gang, Hold, Members};

/// Loses some of the bound pods of a gang, which is given some before if it has none. Most are back and wait.
pub(super) fn some(draw: &mut Draw, problem: &mut Problem, gang: usize) {
    let waits = |base: &Gang| base.pods.iter().all(|pod| pod.bound.is_none());
    let is_idle = waits(&problem.gangs[gang]) && !facts::base(&problem.gangs, gang).is_some_and(waits);
    if is_idle && draw.chance(80) {
        let share = *draw.of(&[30, 60, 100]);
        bind::bind(draw, problem, gang, share);
    }
    let (share, back) = (*draw.of(&[30, 60, 100, 100]), *draw.of(&[60, 100]));
    lose(draw, &mut problem.gangs[gang], share, back);
}

/// Adds a gang in front that runs or has run, and of which nothing waits.
pub(super) fn neighbour(draw: &mut Draw, problem: &mut Problem, mut gang: Gang) {
    gang.priority = *draw.of(&[-5, 0, 0, 10]);
    problem.gangs.insert(0, gang);
    bind::bind(draw, problem, 0, 100);
    let gang = &mut problem.gangs[0];
    gang.pods.retain(|pod| pod.bound.is_some());
    let share = *draw.of(&[50, 100]);
    lose(draw, gang, share, 0);
}

/// Loses about so many of a hundred bound pods, of which so many of a hundred are back. Those that are not are mostly
/// off the minimum too, as if they had finished.
fn lose(draw: &mut Draw, gang: &mut Gang, share: usize, back: usize) {
    let mut gone = vec![false; gang.pods.len()];
    for (pod, gone) in gang.pods.iter_mut().zip(&mut gone) {
        let Some(place) = pod.bound.filter(|_| draw.chance(share)) else { continue };
        let request = match draw.between(0, 19) {
            // What is held may be less than what comes back asks for, or nothing.
            0 => pod.request.iter().map(|_| 0).collect(),
            1 => pod.request.iter().map(|amount| amount / 2).collect(),
            _ => Arc::clone(&pod.request),
        };
        gang.holds.push(Hold { group: pod.group, place, request });
        pod.bound = None;
        *gone = !draw.chance(back);
    }
    let mut gone = gone.into_iter();
    gang.pods.retain(|_| !gone.next().unwrap_or(false));
    let counts: Vec<usize> = (0..gang.groups.len()).map(|leaf| gang.pods_of(leaf).count()).collect();
    for (group, count) in gang.groups.iter_mut().zip(counts) {
        if let Members::Pods { min } = &mut group.members
            && draw.chance(85)
        {
            *min = count.min(*min);
        }
    }
}
