//! How good a placement of one gang is, as far as it has to be optimal: members, then spans, then what pods would like.

use super::domains;
use crate::cluster::{Cluster, Place};
use crate::gang::Gang;
use rustc_hash::FxHashSet;

/// How good a placement is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// Pods that stand somewhere, bound or placed; more is better.
    pub members: usize,
    /// For each depth of the tree, the root's first, how many domains its groups use at their preferred levels, those of
    /// their holds among them; then the
    /// same for one level wider, and so on. Less is better, the first difference decides. All placements of one gang
    /// have equally many entries.
    pub spans: Vec<u64>,
    /// How much the placed pods like their nodes, in all; more is better.
    pub liked: u64,
}

/// Scores a placement of a gang. A node that does not take part at a level is a domain of its own there.
pub fn score(cluster: &Cluster, gang: &Gang, placed: &[(usize, Place)]) -> Score {
    let weight = |pod: usize, place: &Place| -> Option<u64> {
        let weights = &cluster.eligibility.get(gang.pods.get(pod)?.eligibility)?.weights;
        weights.get(place.node as usize).copied().map(u64::from)
    };
    let liked = placed.iter().filter_map(|(pod, place)| weight(*pod, place)).sum();
    let bound = gang.pods.iter().filter_map(|pod| Some((pod.group, pod.bound?)));
    let placed = placed.iter().filter_map(|(pod, place)| Some((gang.pods.get(*pod)?.group, *place)));
    let mut standing: Vec<_> = bound.chain(placed).collect();
    let members = standing.len();
    standing.extend(gang.holds.iter().map(|hold| (hold.group, hold.place)));

    let depth = |group| gang.ancestry(group).count() - 1;
    let deepest = (0..gang.groups.len()).map(depth).max().unwrap_or(0);
    let preferred = |group: usize| gang.groups[group].constraint.and_then(|c| Some((c.topology, c.preferred?)));
    let Some(widest) = (0..gang.groups.len()).filter_map(preferred).map(|(_, level)| level).max() else {
        return Score { members, spans: Vec::new(), liked };
    };
    let mut spans = vec![0; (deepest + 1) * (widest + 1)];
    for group in 0..gang.groups.len() {
        let Some((topology, level)) = preferred(group) else { continue };
        let inside = standing.iter().filter(|(leaf, _)| gang.ancestry(*leaf).any(|above| above == group));
        let inside: Vec<Place> = inside.map(|(_, place)| *place).collect();
        for wider in 0..=level {
            let domain = |place: &Place| domains::key(cluster, topology, level - wider, *place).ok_or(place.node);
            let used: FxHashSet<_> = inside.iter().map(domain).collect();
            spans[wider * (deepest + 1) + depth(group)] += used.len() as u64;
        }
    }
    Score { members, spans, liked }
}
