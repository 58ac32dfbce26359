//! Claims by themselves: accepted when true, refused when anything in them is changed.

use super::*;
use crate::check::check_proof;
use crate::cluster::Occupant;
use crate::gang::Unready;

/// Three nodes with 8, 4 and 3 GPUs.
fn three() -> Cluster {
    cluster(&[&["rack"]], &[(&["r0"], [8, 8]), (&["r0"], [8, 4]), (&["r1"], [8, 3])])
}

#[test]
fn unready_and_too_few() {
    let text = |text: &str| Unready::Unsupported { text: text.to_owned() };
    let mut unready = gang("g").leaf(None, 0, None, &[]);
    unready.unready = Some(text("x"));
    check(&three(), &unready, &Claim::Unready(text("x")), "");
    check(&three(), &unready, &Claim::Unready(text("y")), "not unready in this way");

    let gang = gang("g").inner(None, 1, None).leaf(Some(0), 3, None, &[(2, [1, 0])]).bind(0, at(0));
    let few = |leaf, have, need| Claim::TooFewPods { leaf, have, need };
    check(&three(), &gang, &few(1, 2, 3), "");
    check(&three(), &gang, &few(1, 1, 3), "other numbers");
    check(&three(), &gang, &few(1, 2, 4), "other numbers");
    check(&three(), &gang, &few(0, 2, 3), "not a leaf");
    check(&three(), &gang, &few(2, 2, 3), "there is no group 2");
    let mut optional = gang;
    optional.groups[0].members = Members::Groups { min: 0 };
    check(&three(), &optional, &few(1, 2, 3), "not needed");
}

#[test]
fn counts() {
    let big = gang("g").leaf(None, 4, None, &[(4, [1, 4])]);
    check(&three(), &big, &count(0, 3, 4), "");
    check(&three(), &big, &count(0, 2, 4), "3 pods of group g0 fit and not 2");
    check(&three(), &big, &count(0, 3, 5), "needs 4 and not 5");
    let fitting = gang("g").leaf(None, 3, None, &[(4, [1, 4])]);
    check(&three(), &fitting, &count(0, 3, 3), "fits by count");
    // Each kind by itself, and not more than there are of it.
    let mixed = gang("g").leaf(None, 6, None, &[(4, [1, 4]), (2, [1, 8])]);
    check(&three(), &mixed, &count(0, 4, 6), "");
    // Bound pods are no longer needed, and take room.
    check(&three(), &big.clone().bind(0, at(0)), &count(0, 2, 3), "");
    // What is closed does not count, and what is overcommitted only for those who ask for it.
    let mut tight = three();
    tight.eligibility[0].allowed.set(0, false);
    check(&tight, &big, &count(0, 1, 4), "");
    let mut over = three();
    let occupant = |node, request: [i64; 2]| Occupant {
        namespace: String::new(),
        name: String::new(),
        node,
        request: request.into(),
    };
    over.occupants = vec![occupant(0, [1, 9])];
    check(&over, &big, &count(0, 1, 4), "");
    check(&over, &gang("g").leaf(None, 24, None, &[(24, [1, 0])]), &count(0, 23, 24), "");
}

#[test]
fn sums() {
    let gang = gang("g").inner(None, 2, None);
    let gang = gang.leaf(Some(0), 2, None, &[(1, [1, 4]), (2, [1, 6])]).leaf(Some(0), 1, None, &[(1, [1, 6])]);
    let sum = |leaves: &[usize], resource, free, need| Claim::Sum { leaves: leaves.to_vec(), resource, free, need };
    check(&three(), &gang, &sum(&[1, 2], 1, 15, 16), "");
    check(&three(), &gang, &sum(&[2, 1], 1, 15, 16), "");
    check(&three(), &gang, &sum(&[1, 2], 1, 14, 16), "15 of resource 1 is free");
    check(&three(), &gang, &sum(&[1, 2], 1, 15, 17), "16 of resource 1 is needed");
    check(&three(), &gang, &sum(&[1, 1], 1, 15, 20), "listed twice");
    check(&three(), &gang, &sum(&[1], 1, 15, 10), "there is enough");
    check(&three(), &gang, &sum(&[1, 2], 0, 24, 3), "there is enough");
    check(&three(), &gang, &sum(&[1, 2], 2, 15, 16), "no resource 2");
    check(&three(), &gang, &sum(&[0], 1, 15, 16), "not a leaf");
    let mut narrow = three();
    narrow.eligibility[0].allowed.set(1, false);
    check(&narrow, &gang, &sum(&[1, 2], 1, 11, 16), "");
}

#[test]
fn copies() {
    let copy = |gang: Gang| gang.leaf(Some(0), 3, required(0), &[(3, [1, 3])]);
    let two = copy(copy(gang("g").inner(None, 2, None)));
    let claim = |groups: &[usize], fits| Claim::Copies { groups: groups.to_vec(), fits };
    // Rack r0 takes three such pods and r1 one: one copy.
    check(&three(), &two, &claim(&[1, 2], 1), "");
    check(&three(), &two, &claim(&[1, 2], 0), "1 of the groups fit and not 0");
    check(&three(), &two, &claim(&[1], 1), "all of the groups fit");
    check(&three(), &two, &claim(&[1, 1], 1), "listed twice");
    check(&three(), &two, &claim(&[0, 1], 1), "no required level");
    check(&three(), &two.clone().bind(0, at(0)), &claim(&[1, 2], 1), "has bound pods");
    let other = cluster(&[&["zone", "rack"]], &[(&["a/r0"], [8, 8])]);
    let nested = gang("g").inner(None, 1, required(0)).leaf(Some(0), 3, required(0), &[(3, [1, 1])]);
    check(&other, &nested, &claim(&[0, 1], 1), "another parent than the others");
    let mut uneven = two.clone();
    uneven.groups[2].constraint = required(1);
    check(&other, &uneven, &claim(&[1, 2], 0), "another required level");
    // The smallest needs first: of 2, 3 and 3 pods, when three fit in r0 and one in r1.
    let leaf = |gang: Gang, min| gang.leaf(Some(0), min, required(0), &[(min, [1, 3])]);
    let gang = leaf(leaf(leaf(gang("g").inner(None, 3, None), 3), 2), 3);
    check(&three(), &gang, &claim(&[1, 2, 3], 1), "");
    // Of a domain only what is in the scope above the groups counts.
    let nodes: [(&[&str], [i64; 2]); 2] = [(&["a/r0"], [8, 4]), (&["a/r1"], [8, 4])];
    let wide = cluster(&[&["zone", "rack"]], &nodes);
    let leaf = |gang: Gang| gang.leaf(Some(0), 1, required(0), &[(1, [1, 3])]);
    let gang = leaf(leaf(super::gang("g").inner(None, 2, required(1))));
    let inside = |fits| Claim::Split { group: 0, branches: vec![branch(1, claim(&[1, 2], fits))] };
    check(&wide, &gang, &inside(1), "");
    check(&wide, &gang, &inside(0), "1 of the groups fit and not 0");
    // Groups under different parents are not counted together.
    let cousins = super::gang("g").inner(None, 2, None).inner(Some(0), 1, None);
    let cousins = cousins.leaf(Some(1), 3, required(0), &[(3, [1, 3])]).leaf(Some(0), 3, required(0), &[(3, [1, 3])]);
    check(&three(), &cousins, &claim(&[2, 3], 1), "another parent than the others");
    // Groups that need nothing need no domain.
    let none = cluster(&[&["rack"]], &[(&[""], [8, 8])]);
    let idle = super::gang("g").leaf(None, 0, required(0), &[(1, [1, 1])]);
    check(&none, &idle, &claim(&[0], 0), "need no domain");
    check(&none, &super::gang("g").leaf(None, 1, required(0), &[(1, [1, 1])]), &claim(&[0], 0), "");
}

#[test]
fn packings() {
    // 8 and 4 GPUs: each kind fits alone, the sum fits, and together they do not.
    let cluster = cluster(&[&["rack"]], &[(&["r0"], [8, 8]), (&["r0"], [8, 4])]);
    let packing = |leaves: &[usize]| Claim::Packing { leaves: leaves.to_vec() };
    let gang = |sixes: usize, twos: usize, threes: usize| {
        let gang = gang("g").inner(None, 2, None).leaf(Some(0), sixes, None, &[(sixes, [1, 6])]);
        gang.leaf(Some(0), twos + threes, None, &[(twos, [1, 2]), (threes, [1, 3])])
    };
    check(&cluster, &gang(1, 0, 2), &packing(&[1, 2]), "");
    check(&cluster, &gang(1, 0, 1), &packing(&[1, 2]), "can be packed");
    check(&cluster, &gang(1, 3, 0), &packing(&[1, 2]), "can be packed");
    check(&cluster, &gang(1, 1, 1), &packing(&[1, 2]), "can be packed");
    check(&cluster, &gang(1, 2, 1), &packing(&[1, 2]), "");
    check(&cluster, &gang(1, 2, 1), &packing(&[2, 1]), "not sorted");
    check(&cluster, &gang(1, 2, 1), &packing(&[1, 1]), "listed twice");
    check(&cluster, &gang(1, 2, 1), &packing(&[1]), "can be packed");
    check(&cluster, &gang(1, 2, 1), &packing(&[]), "can be packed");
    // Any two of the three make the minimum.
    let any = |min, sixes: usize| {
        super::gang("g").inner(None, 2, None).leaf(Some(0), sixes, None, &[(sixes, [1, 6])]).leaf(
            Some(0),
            min,
            None,
            &[(1, [1, 5]), (1, [1, 3]), (1, [1, 2])],
        )
    };
    check(&cluster, &any(2, 1), &packing(&[1, 2]), "can be packed");
    check(&cluster, &any(3, 1), &packing(&[1, 2]), "");
    check(&cluster, &any(1, 2), &packing(&[1, 2]), "");
    // A table that nobody would redo.
    let nodes: Vec<(&[&str], [i64; 2])> = (0..40).map(|k| (&["r"][..], [1000, 1000 + k])).collect();
    let wide = super::cluster(&[&["rack"]], &nodes);
    let kinds: Vec<(usize, [i64; 2])> = (0..8).map(|k| (90, [1 + k * 2, 37 - k * 3])).collect();
    check(&wide, &super::gang("g").leaf(None, 700, None, &kinds), &packing(&[0]), "steps");
}

#[test]
fn zones_are_places() {
    let mut cluster = cluster(&[&["host", "numa"]], &[(&["h0"], [5, 8]), (&["h1"], [8, 8])]);
    zones(&mut cluster, 0, &[4, 3]);
    let leaf = |constraint, pods: &[(usize, [i64; 2])]| {
        gang("g").leaf(None, pods.iter().map(|(count, _)| count).sum(), constraint, pods)
    };
    let packing = || Claim::Packing { leaves: vec![0] };
    let twos = [(4, [1, 2])];
    check(&cluster, &leaf(required(1), &twos), &count(0, 3, 4), "");
    check(&cluster, &leaf(required(1), &twos), &packing(), "");
    // Where there are no zones, a preference for them is met by the node.
    check(&cluster, &leaf(preferred(1), &[(8, [1, 2])]), &count(0, 7, 8), "");
    check(&cluster, &leaf(preferred(1), &[(7, [1, 2])]), &packing(), "can be packed");
    check(&cluster, &leaf(None, &[(9, [1, 2])]), &count(0, 8, 9), "");
    // Each zone by itself takes four of these, and the node takes five.
    zones(&mut cluster, 0, &[4, 4]);
    let ones = leaf(required(1), &[(6, [1, 1])]);
    check(&cluster, &ones, &count(0, 5, 6), "");
    check(&cluster, &ones, &count(0, 6, 6), "5 pods of group g0 fit and not 6");
    check(&cluster, &ones, &packing(), "");
    let sum = |free| Claim::Sum { leaves: vec![0], resource: 0, free, need: 6 };
    check(&cluster, &ones, &sum(5), "");
    check(&cluster, &ones, &sum(13), "5 of resource 0 is free");
}

#[test]
fn bound_apart_and_base() {
    let gang = gang("g").inner(None, 1, None).leaf(Some(0), 3, required(0), &[(3, [1, 1])]);
    let apart = |group| Claim::BoundApart { group };
    check(&three(), &gang.clone().bind(0, at(0)).bind(1, at(2)), &apart(1), "");
    check(&three(), &gang.clone().bind(0, at(0)).bind(1, at(2)), &apart(0), "not apart");
    check(&three(), &gang.clone().bind(0, at(0)).bind(1, at(1)), &apart(1), "not apart");
    check(&three(), &gang.clone(), &apart(1), "not apart");
    check(&three(), &gang.clone(), &apart(7), "there is no group 7");

    let base = super::gang("base").leaf(None, 1, required(0), &[(1, [1, 1])]).bind(0, at(0));
    let mut scaled = gang.bind(0, at(2));
    scaled.base = Some(base.id.clone());
    let gangs = [base, scaled];
    let state = plan(&[placed(&[]), waits(apart(0))]);
    assert_eq!(check_proof(&three(), &gangs, &state, 1, &apart(0)), Ok(()));
    assert!(check_proof(&three(), &gangs, &state, 1, &apart(1)).is_err());
    assert!(check_proof(&three(), &gangs, &state, 0, &apart(0)).is_err());
    let waiting = Claim::BaseWaits(gangs[0].id.clone());
    assert!(check_proof(&three(), &gangs, &state, 1, &waiting).is_err());
    let state = plan(&[Decision { outcome: Outcome::Undecided, ..placed(&[]) }, waits(waiting.clone())]);
    assert!(check_proof(&three(), &gangs, &state, 1, &waiting).is_err(), "all that the base must have runs");
    let mut gangs = gangs;
    gangs[0].pods[0].bound = None;
    assert_eq!(check_proof(&three(), &gangs, &state, 1, &waiting), Ok(()));
    assert!(check_proof(&three(), &gangs, &state, 0, &waiting).is_err());
    assert!(check_proof(&three(), &gangs, &state, 9, &waiting).is_err());
}
