//! How well a gang is placed: 1 when every preferred level uses the fewest domains that its pods could use on the empty cluster.

use crate::begun::domain;
use crate::picture::Picture;
use std::collections::BTreeSet;
use trellis_engine::{Constraint, Gang, GroupId, Options, Outcome, Place, Snapshot, plan_on};

/// The score of a gang in thousandths, its members being at these places, by their index.
pub(crate) fn of(picture: &Picture<'_>, gang: usize, places: &[(usize, Place)], options: Options) -> u16 {
    let it = &picture.gangs[gang];
    let preferring: Vec<(GroupId, usize, usize)> = it
        .groups
        .iter()
        .enumerate()
        .filter_map(|(at, group)| {
            let Constraint { topology, preferred, .. } = group.constraint?;
            Some((at, topology, preferred?))
        })
        .collect();
    let used: Vec<usize> = preferring.iter().map(|group| spans(picture, it, *group, places)).collect();
    if used.iter().all(|used| *used <= 1) {
        return 1000;
    }
    let alone = Gang {
        pods: places.iter().map(|(pod, _)| trellis_engine::Pod { bound: None, ..it.pods[*pod].clone() }).collect(),
        holds: Vec::new(),
        base: None,
        unready: None,
        reserve: false,
        ..it.clone()
    };
    let mut empty = Snapshot::new(picture.cluster.clone());
    let plan = plan_on(&mut empty, std::slice::from_ref(&alone), options);
    let best = &plan.decisions[0];
    let is_whole = best.outcome == Outcome::Placed && best.placed.len() == alone.pods.len();
    let mut sum = 0.0;
    for (group, used) in preferring.iter().zip(&used) {
        let fewest = if is_whole { spans(picture, &alone, *group, &best.placed) } else { *used };
        sum += share(fewest.min(*used), *used);
    }
    thousandths(sum / share_count(preferring.len()))
}

/// The domains of a level that pods under a group use; a node outside of all counts as one.
fn spans(
    picture: &Picture<'_>,
    gang: &Gang,
    (group, topology, level): (GroupId, usize, usize),
    places: &[(usize, Place)],
) -> usize {
    let under = |pod: usize| gang.ancestry(gang.pods[pod].group).any(|above| above == group);
    let here = places.iter().filter(|(pod, _)| under(*pod));
    let key = |(_, place): &(usize, Place)| match domain(picture, *place, topology, level) {
        Some((path, zone)) => (path.to_vec(), zone),
        None => (Vec::new(), Some(Place { zone: None, ..*place })),
    };
    here.map(key).collect::<BTreeSet<_>>().len()
}

fn share(fewest: usize, used: usize) -> f64 {
    if used == 0 { 1.0 } else { share_count(fewest) / share_count(used) }
}

fn share_count(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

fn thousandths(share: f64) -> u16 {
    (0..=1000).rev().find(|thousandth| f64::from(*thousandth) <= share * 1000.0 + 0.5).unwrap_or(0)
}
