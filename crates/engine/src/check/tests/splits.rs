//! Splits and choices: that nothing is left out, and that what stands for something else is equal to it.

use super::*;
use crate::check::check_proof;

fn split(group: usize, branches: Vec<Branch>) -> Claim {
    Claim::Split { group, branches }
}

/// Zones a (racks r0, r1) and b (rack r0), each rack with two nodes of 4 GPUs. Domains: a 0, b 1, racks 2, 3, 4.
fn racks() -> Cluster {
    let nodes: Vec<(&[&str], [i64; 2])> =
        [["a/r0"], ["a/r0"], ["a/r1"], ["a/r1"], ["b/r0"], ["b/r0"]].iter().map(|path| (&path[..], [8, 4])).collect();
    cluster(&[&["zone", "rack"]], &nodes)
}

fn worker(pods: usize, level: usize) -> Gang {
    gang("g").leaf(None, pods, required(level), &[(pods, [1, 4])])
}

#[test]
fn all_candidates_are_refuted() {
    let fails = |index| branch(index, count(0, 2, 3));
    check(&racks(), &worker(3, 1), &split(0, vec![fails(2), fails(3), fails(4)]), "");
    // r1 is r0 again; the rack in the other zone is not, since that zone has only one.
    check(&racks(), &worker(3, 1), &split(0, vec![fails(2), fails(4)]), "");
    check(&racks(), &worker(3, 1), &split(0, vec![fails(4), fails(3)]), "");
    check(&racks(), &worker(3, 1), &split(0, vec![fails(2)]), "not refuted in domain 4");
    check(&racks(), &worker(3, 1), &split(0, vec![fails(4)]), "not refuted in domain 2");
    check(&racks(), &worker(3, 1), &split(0, vec![]), "not refuted in domain 2");
    check(&racks(), &worker(3, 1), &split(0, vec![fails(2), fails(2), fails(4)]), "twice");
    check(&racks(), &worker(3, 1), &split(0, vec![fails(0), fails(2), fails(4)]), "no candidate");
    check(&racks(), &worker(3, 1), &split(0, vec![fails(2), fails(4), fails(9)]), "no candidate");
    check(&racks(), &worker(3, 1), &split(0, vec![fails(2), branch(4, count(0, 1, 3))]), "2 pods of group g0 fit");
    let mut elsewhere = fails(2);
    elsewhere.domain.topology = 1;
    check(&racks(), &worker(3, 1), &split(0, vec![elsewhere, fails(4)]), "no candidate");
    let zones = vec![branch(0, count(0, 4, 5)), branch(1, count(0, 2, 5))];
    check(&racks(), &worker(5, 0), &split(0, zones.clone()), "");
    check(&racks(), &worker(5, 0), &split(0, zones[..1].to_vec()), "not refuted in domain 1");
    // Wanting no level, the gang is not confined.
    check(&racks(), &gang("g").leaf(None, 9, None, &[(9, [1, 4])]), &split(0, vec![]), "no required level");
}

#[test]
fn what_makes_racks_differ() {
    let proof = split(0, vec![branch(2, count(0, 2, 3)), branch(4, count(0, 2, 3))]);
    let open = "not refuted in domain 3";
    check(&racks(), &worker(3, 1), &proof, "");
    let mut less = racks();
    less.nodes[3].allocatable[0] = 7;
    check(&less, &worker(3, 1), &proof, open);
    let mut barred = racks();
    barred.eligibility[0].allowed.set(3, false);
    check(&barred, &worker(3, 1), &proof, open);
    // What only says how nodes are called or which stands first does not matter.
    let mut swapped = racks();
    swapped.nodes[0].allocatable[0] = 7;
    swapped.nodes[3].allocatable[0] = 7;
    check(&swapped, &worker(3, 1), &proof, "");
    // Nodes of other gangs' reservations are closed.
    let ahead = Gang { priority: 1, reserve: true, ..gang("ahead").leaf(None, 9, None, &[(9, [1, 4])]) };
    let kept = Decision { reserved: vec![3], ..waits(count(0, 6, 9)) };
    let gangs = [ahead, worker(3, 1)];
    let state = plan(&[kept, waits(proof.clone())]);
    let said = check_proof(&racks(), &gangs, &state, 1, &proof);
    verdict(&said.err().unwrap_or_default(), open);
    let full = [(2, 2), (3, 1), (4, 2)].map(|(rack, fits)| branch(rack, count(0, fits, 3)));
    assert_eq!(check_proof(&racks(), &gangs, &state, 1, &split(0, full.to_vec())), Ok(()));
}

#[test]
fn other_topologies_and_nodes_between() {
    // The second topology pairs the first nodes of the racks, and puts the others apart.
    let nodes: [(&[&str], [i64; 2]); 4] =
        [(&["r0", "x"], [8, 4]), (&["r0", "y"], [8, 4]), (&["r1", "x"], [8, 4]), (&["r1", "z"], [8, 4])];
    let two = cluster(&[&["rack"], &["switch"]], &nodes);
    let proof = split(0, vec![branch(0, count(1, 2, 3))]);
    let single = gang("g").inner(None, 1, required(0)).leaf(Some(0), 3, None, &[(3, [1, 4])]);
    check(&two, &single, &proof, "");
    let mut both = single.clone();
    both.groups[1].constraint = Some(Constraint { topology: 1, required: Some(0), preferred: None });
    check(&two, &both, &proof, "not refuted in domain 1");
    // A node that has no rack is a part of its zone.
    let nodes: [(&[&str], [i64; 2]); 3] = [(&["a/r0"], [8, 4]), (&["b/r0"], [8, 4]), (&["b"], [8, 4])];
    let uneven = cluster(&[&["zone", "rack"]], &nodes);
    let one = |index| branch(index, count(0, 1, 2));
    check(&uneven, &worker(2, 1), &split(0, vec![one(2), one(3)]), "");
    check(&uneven, &worker(2, 1), &split(0, vec![one(2)]), "not refuted in domain 3");
}

#[test]
fn splits_inside_splits() {
    // Two leaves of two pods, each in a rack, in one zone: b has one rack, a has two and a third leaf beside.
    let leaf = |gang: Gang| gang.leaf(Some(0), 2, required(1), &[(2, [1, 4])]);
    let gang = leaf(leaf(leaf(gang("g").inner(None, 3, required(0)))));
    let beside = || Claim::Packing { leaves: vec![1, 2, 3] };
    let third = || split(3, vec![branch(2, beside()), branch(3, beside())]);
    // The first leaf in r0 marks it: for the second the racks differ.
    let second = |branches: &[u32]| split(2, branches.iter().map(|rack| branch(*rack, third())).collect());
    let copies = |fits| Claim::Copies { groups: vec![1, 2, 3], fits };
    let first = |inner: Claim| split(0, vec![branch(0, split(1, vec![branch(2, inner)])), branch(1, copies(1))]);
    check(&racks(), &gang, &first(second(&[2, 3])), "");
    check(&racks(), &gang, &first(second(&[2])), "not refuted in domain 3");
    check(&racks(), &gang, &first(second(&[3])), "not refuted in domain 2");
    check(&racks(), &gang, &first(second(&[2, 3, 4])), "no candidate");
    check(&racks(), &gang, &first(first(second(&[2, 3]))), "confined already");
    check(&racks(), &gang, &second(&[2, 3]), "has to be confined first");
    check(&racks(), &gang, &split(0, vec![branch(0, copies(2)), branch(1, copies(1))]), "");
    check(&racks(), &gang, &copies(2), "has to be confined first");
}

#[test]
fn bound_pods_decide_candidates() {
    let fails = |index, fits, need| branch(index, count(0, fits, need));
    let bound = worker(3, 1).bind(0, at(2));
    check(&racks(), &bound, &split(0, vec![fails(3, 1, 2)]), "");
    check(&racks(), &bound, &split(0, vec![fails(3, 1, 2), fails(2, 2, 2)]), "no candidate");
    check(&racks(), &bound, &split(0, vec![]), "not refuted");
    check(&racks(), &bound.bind(1, at(0)), &split(0, vec![]), "");
    // A group that needs nothing needs no domain.
    let unlabelled = cluster(&[&["rack"]], &[(&[""], [8, 8])]);
    check(&unlabelled, &worker(1, 0), &split(0, vec![]), "");
    let idle = gang("g").leaf(None, 0, required(0), &[(1, [1, 1])]);
    check(&unlabelled, &idle, &split(0, vec![]), "needs none");
}

#[test]
fn bound_pods_and_confined_zones_make_a_difference() {
    // The racks of zone a have the same room, though a pod of the other leaf runs in r1.
    let mut cluster = racks();
    cluster.nodes[3].allocatable = vec![9, 4];
    let pair = |gang: Gang| gang.leaf(Some(0), 3, required(1), &[(3, [1, 4])]).leaf(Some(0), 1, None, &[(1, [1, 0])]);
    let proof = split(1, vec![branch(2, count(1, 2, 3)), branch(4, count(1, 2, 3))]);
    check(&cluster, &pair(gang("g").inner(None, 2, None)).bind(3, at(3)), &proof, "not refuted in domain 3");
    let (same, gang) = (racks(), gang("g").inner(None, 2, None));
    check(&same, &pair(gang), &proof, "");

    // Two leaves of one pod each, and a zone takes one: for the second leaf the zones differ.
    let mut host = super::cluster(&[&["host", "numa"]], &[(&["h0"], [8, 8])]);
    zones(&mut host, 0, &[4, 4]);
    let leaf = |gang: Gang| gang.leaf(Some(0), 1, required(1), &[(1, [1, 4])]);
    let gang = leaf(leaf(super::gang("g").inner(None, 2, None)));
    let packing = || Claim::Packing { leaves: vec![1, 2] };
    let second = split(2, vec![branch(1, packing())]);
    check(&host, &gang, &split(1, vec![branch(1, second)]), "not refuted in domain 2");
}

#[test]
fn a_base_holds_its_scaled_gangs() {
    let base = worker(1, 1).bind(0, at(4));
    let scaled = Gang { base: Some(base.id.clone()), ..gang("scaled") };
    let free = scaled.clone().leaf(None, 2, None, &[(2, [1, 4])]);
    let tied = scaled.leaf(None, 2, required(0), &[(2, [1, 4])]);
    let state = plan(&[placed(&[]), placed(&[])]);
    let case = |gang: &Gang, proof: &Claim, expected: &str| {
        let said = check_proof(&racks(), &[base.clone(), gang.clone()], &state, 1, proof);
        verdict(&said.err().unwrap_or_default(), expected);
    };
    case(&free, &count(0, 1, 2), "");
    case(&free, &count(0, 5, 2), "1 pods");
    case(&tied, &split(0, vec![branch(1, count(0, 1, 2))]), "");
    case(&tied, &split(0, vec![branch(0, count(0, 4, 2))]), "no candidate");
}

#[test]
fn zones_in_splits() {
    // Domains: hosts 0, 1; zones 2, 3 of the first host, 4, 5 of the second.
    let mut cluster = cluster(&[&["host", "numa"]], &[(&["h0"], [8, 8]), (&["h1"], [8, 8])]);
    zones(&mut cluster, 0, &[4, 4]);
    zones(&mut cluster, 1, &[4, 4]);
    let gang = gang("g").leaf(None, 3, required(1), &[(3, [1, 2])]);
    let fails = |index| branch(index, count(0, 2, 3));
    check(&cluster, &gang, &split(0, vec![fails(2), fails(3), fails(4), fails(5)]), "");
    check(&cluster, &gang, &split(0, vec![fails(4)]), "");
    let packing = Claim::Packing { leaves: vec![0] };
    check(&cluster, &gang, &split(0, vec![branch(4, packing)]), "");
    zones(&mut cluster, 1, &[4, 5]);
    check(&cluster, &gang, &split(0, vec![fails(4)]), "not refuted in domain 2");
    check(&cluster, &gang, &split(0, vec![fails(2), fails(4)]), "not refuted in domain 5");
    check(&cluster, &gang, &split(0, vec![fails(2), fails(4), fails(5)]), "");
}

#[test]
fn choices() {
    let leaf = |gang: Gang, pods: usize| gang.leaf(Some(0), pods, None, &[(pods, [1, 4])]);
    let gang = leaf(leaf(leaf(gang("g").inner(None, 2, None), 4), 5), 6);
    let sum = |leaves: &[usize], need| Claim::Sum { leaves: leaves.to_vec(), resource: 1, free: 24, need };
    let choice = |leaves: &[usize], need| (leaves.to_vec(), sum(leaves, need));
    let all = [choice(&[1, 2], 36), choice(&[1, 3], 40), choice(&[2, 3], 44)];
    let subsets = |choices: &[(Vec<usize>, Claim)]| Claim::Subsets { group: 0, choices: choices.to_vec() };
    check(&racks(), &gang, &subsets(&all), "");
    check(&racks(), &gang, &subsets(&all[..2]), "choices are missing");
    check(&racks(), &gang, &subsets(&all[1..]), "missing or out of order");
    let twice = [all[0].clone(), all[1].clone(), all[2].clone(), all[2].clone()];
    check(&racks(), &gang, &subsets(&twice), "a choice too many");
    let stray = [all[0].clone(), (vec![1, 3], sum(&[2, 3], 44)), all[2].clone()];
    check(&racks(), &gang, &subsets(&stray), "group g2 is not needed");
    let again = [(vec![1, 2], subsets(&all)), all[1].clone(), all[2].clone()];
    check(&racks(), &gang, &subsets(&again), "chosen already");
    check(&racks(), &gang, &sum(&[1, 2], 36), "not needed");
    let mut every = gang;
    every.groups[0].members = Members::Groups { min: 3 };
    check(&racks(), &every, &subsets(&all), "leaves no choice");
    check(&racks(), &every, &sum(&[1, 2], 36), "");
}
