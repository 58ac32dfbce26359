//! Scores of placements.

use super::*;
use crate::check::score;

#[track_caller]
fn scores(cluster: &Cluster, gang: &Gang, pods: &[(usize, Place)], members: usize, spans: &[u64]) {
    let score = score(cluster, gang, pods);
    assert_eq!((score.members, score.spans.as_slice()), (members, spans));
}

#[test]
fn spans_by_depth_then_wider() {
    let nodes: [(&[&str], [i64; 2]); 5] =
        [(&["a/r0"], [8, 8]), (&["a/r1"], [8, 8]), (&["b/r0"], [8, 8]), (&["b"], [8, 8]), (&[""], [8, 8])];
    let cluster = cluster(&[&["zone", "rack"]], &nodes);
    let gang = gang("g").inner(None, 2, preferred(0));
    let gang = gang.leaf(Some(0), 1, preferred(1), &[(3, [1, 1])]).leaf(Some(0), 1, preferred(1), &[(3, [1, 1])]);
    scores(&cluster, &gang, &[], 0, &[0, 0, 0, 0]);
    scores(&cluster, &gang, &[(0, at(0)), (1, at(0)), (3, at(0))], 3, &[1, 2, 0, 2]);
    // Equal names under different zones are different racks.
    scores(&cluster, &gang, &[(0, at(0)), (1, at(2)), (3, at(1))], 3, &[2, 3, 0, 3]);
    // Nodes without the label are each a domain of their own, at the levels that they lack.
    scores(&cluster, &gang, &[(0, at(2)), (1, at(3)), (2, at(3)), (3, at(4))], 4, &[2, 3, 0, 2]);
    scores(&cluster, &gang.clone().bind(5, at(1)), &[(0, at(0))], 2, &[1, 2, 0, 2]);
}

#[test]
fn what_placed_pods_like_adds_up() {
    let mut cluster = cluster(&[&["host"]], &[(&["h0"], [8, 8]), (&["h1"], [8, 8]), (&["h2"], [8, 8])]);
    let gang = gang("g").leaf(None, 1, required(0), &[(3, [1, 1])]).bind(2, at(1));
    assert_eq!(score(&cluster, &gang, &[(0, at(1)), (1, at(2))]).liked, 0);
    cluster.eligibility[0].weights = vec![0, 7, 50];
    // Of bound pods it is too late to ask.
    assert_eq!(score(&cluster, &gang, &[(0, at(1)), (1, at(2))]).liked, 57);
    assert_eq!(score(&cluster, &gang, &[(0, at(1))]).liked, 7);
}

#[test]
fn without_preferences_and_with_zones() {
    let mut cluster = cluster(&[&["host", "numa"]], &[(&["h0"], [8, 8]), (&["h1"], [8, 8])]);
    zones(&mut cluster, 0, &[4, 4]);
    let plain = gang("g").leaf(None, 1, required(0), &[(3, [1, 1])]);
    scores(&cluster, &plain, &[(0, at(0)), (1, at(0))], 2, &[]);
    let packed = gang("g").leaf(None, 1, preferred(1), &[(3, [1, 1])]);
    scores(&cluster, &packed, &[(0, in_zone(0, 0)), (1, in_zone(0, 1)), (2, at(1))], 3, &[3, 2]);
}
