//! Faults of plans.

use super::*;
use crate::check::check_plan;
use crate::cluster::Occupant;
use crate::gang::{Hold, Unready};

/// Two racks of two nodes, and a node without labels; each node takes two pods of 4 GPUs.
fn racks() -> Cluster {
    let nodes: [(&[&str], [i64; 2]); 5] =
        [(&["a/r0"], [8, 8]), (&["a/r0"], [8, 8]), (&["a/r1"], [8, 8]), (&["a/r1"], [8, 8]), (&[""], [8, 8])];
    cluster(&[&["zone", "rack"]], &nodes)
}

/// A root in one zone with two leaves in one rack each: four pods of which two are enough, and two of which one is.
fn pair() -> Gang {
    let gang = gang("pair").inner(None, 1, required(0));
    let gang = gang.leaf(Some(0), 2, required(1), &[(4, [1, 4])]);
    gang.leaf(Some(0), 1, required(1), &[(2, [1, 0])])
}

#[track_caller]
fn faults(cluster: &Cluster, gangs: &[Gang], decisions: &[Decision], expected: &[&str]) {
    let said = check_plan(cluster, gangs, &plan(decisions)).err().unwrap_or_default();
    assert_eq!(said.len(), expected.len(), "said: {said:#?}");
    for (said, expected) in said.iter().zip(expected) {
        assert!(said.contains(expected), "said: {said:?}\nexpected: {expected:?}");
    }
}

#[track_caller]
fn one(pods: &[(usize, Place)], expected: &[&str]) {
    faults(&racks(), &[pair()], &[placed(pods)], expected);
}

#[test]
fn places() {
    one(&[(0, at(0)), (1, at(0)), (2, at(1)), (3, at(1)), (4, at(2)), (5, at(3))], &[]);
    one(&[(0, at(0)), (1, at(0))], &[]);
    one(&[(4, at(0))], &[]);
    faults(&racks(), &[pair()], &[], &["1 gangs and 0 decisions"]);
    one(&[(1, at(0)), (0, at(0))], &["not sorted"]);
    one(&[(0, at(0)), (1, at(0)), (9, at(0))], &["there is no pod 9"]);
    one(&[(0, at(0)), (1, at(0)), (4, at(9))], &["there is no node 9"]);
    one(&[(0, at(0)), (0, at(1)), (1, at(0))], &["p0 is placed twice"]);
    one(&[(0, at(0)), (1, at(0)), (4, in_zone(0, 0))], &["p4 on node n0: there is no zone 0"]);
}

#[test]
fn eligibility_and_binding() {
    let mut cluster = racks();
    cluster.eligibility[0].allowed.set(1, false);
    faults(&cluster, &[pair()], &[placed(&[(0, at(0)), (1, at(1))])], &["p1 on node n1: it may not run there"]);
    let gang = pair().bind(0, at(0)).bind(1, at(1));
    faults(&cluster, std::slice::from_ref(&gang), &[placed(&[(2, at(0))])], &[]);
    faults(&cluster, &[gang], &[placed(&[(0, at(0))])], &["bound already"]);
}

#[test]
fn minima() {
    one(&[], &["placed without its minimum"]);
    one(&[(0, at(0))], &["without its minimum", "group g0 is not whole", "group g1 is not whole"]);
    one(&[(0, at(0)), (4, at(0))], &["group g1 is not whole"]);
    // Bound pods of a group that is not whole are no fault.
    faults(&racks(), &[pair().bind(0, at(0))], &[placed(&[(4, at(2))])], &[]);
}

#[test]
fn required_levels() {
    one(&[(0, at(0)), (1, at(2))], &["group g1 is not in one domain"]);
    one(&[(0, at(4)), (1, at(4))], &["group g0 is not", "group g1 is not"]);
    let apart = pair().bind(0, at(0)).bind(1, at(2));
    faults(&racks(), std::slice::from_ref(&apart), &[placed(&[(2, at(0))])], &["group g1 is not in one domain"]);
    // Nothing is added to the group that is apart.
    faults(&racks(), &[apart], &[placed(&[(4, at(0))])], &[]);
}

#[test]
fn room() {
    one(&[(0, at(0)), (1, at(0)), (2, at(0))], &["node n0: 12 of gpu is placed, and 8 is free"]);
    let mut cluster = racks();
    let request = [1, 9].into();
    cluster.occupants = vec![Occupant { namespace: String::new(), name: String::new(), node: 0, request }];
    let pods = [(0, at(1)), (1, at(1)), (4, at(0))];
    faults(&cluster, &[pair()], &[placed(&pods)], &[]);
    faults(&cluster, &[pair()], &[placed(&[(0, at(0)), (1, at(1))])], &["4 of gpu is placed, and -1 is free"]);
    // Bound pods and pods of other gangs count.
    let other = gang("other").leaf(None, 1, None, &[(1, [1, 4])]);
    let bound = gang("bound").leaf(None, 1, None, &[(1, [1, 4])]).bind(0, at(1));
    let gangs = [pair(), other, bound];
    let decisions = [placed(&[(0, at(1)), (4, at(1))]), placed(&[(0, at(1))]), placed(&[])];
    faults(&racks(), &gangs, &decisions, &["group g1 is not whole", "8 of gpu is placed, and 4 is free"]);
}

#[test]
fn zones_of_nodes() {
    let mut cluster = cluster(&[&["host", "numa"]], &[(&["h0"], [8, 8]), (&["h1"], [8, 8])]);
    zones(&mut cluster, 0, &[4, 2]);
    let gang = |constraint| gang("g").leaf(None, 1, constraint, &[(2, [1, 2])]);
    let (must, may) = (gang(required(1)), gang(preferred(1)));
    let case = |gang: &Gang, places: &[Place], expected: &[&str]| {
        let pods: Vec<_> = places.iter().copied().enumerate().collect();
        faults(&cluster, std::slice::from_ref(gang), &[placed(&pods)], expected);
    };
    case(&must, &[in_zone(0, 0), in_zone(0, 0)], &[]);
    case(&must, &[in_zone(0, 0), in_zone(0, 1)], &["not in one domain"]);
    case(&must, &[in_zone(0, 1), in_zone(0, 1)], &["node n0, zone z1: 4 of gpu is placed, and 2 is left"]);
    case(&must, &[at(0)], &["requires a zone", "not in one domain"]);
    case(&must, &[at(1)], &["requires a zone", "not in one domain"]);
    case(&may, &[in_zone(0, 0), at(1)], &[]);
    case(&may, &[at(0), at(1)], &["prefers a zone"]);
    case(&gang(None), &[at(0), at(0)], &[]);
    case(&gang(None), &[in_zone(0, 0)], &["no group of it asks for one"]);
}

#[test]
fn outcomes() {
    let pods = [(0, at(0)), (1, at(0))];
    let undecided = |pods: &[(usize, Place)]| Decision { outcome: Outcome::Undecided, ..placed(pods) };
    faults(&racks(), &[pair()], &[undecided(&[])], &[]);
    faults(&racks(), &[pair()], &[undecided(&pods)], &["it has no place, and pods of it are placed"]);
    faults(&racks(), &[pair()], &[waits(count(0, 0, 1))], &["the proof does not hold: group g0 is not a leaf"]);
    let unready = Unready::Unsupported { text: "x".to_owned() };
    let gang = Gang { unready: Some(unready.clone()), ..pair() };
    faults(&racks(), std::slice::from_ref(&gang), &[waits(Claim::Unready(unready))], &[]);
    faults(&racks(), &[gang], &[placed(&pods)], &["it is not ready"]);
}

#[test]
fn scaled_gangs_follow_their_base() {
    let base = gang("base").leaf(None, 1, required(1), &[(1, [1, 4])]);
    let scaled = gang("scaled").leaf(None, 1, None, &[(1, [1, 4])]);
    let scaled = Gang { base: Some(base.id.clone()), priority: 9, ..scaled };
    let gangs = [scaled, base];
    let both = |one: u32, two: u32| [placed(&[(0, at(one))]), placed(&[(0, at(two))])];
    faults(&racks(), &gangs, &both(1, 0), &[]);
    faults(&racks(), &gangs, &both(2, 0), &["not in the domain of its base"]);
    let undecided = Decision { outcome: Outcome::Undecided, ..placed(&[]) };
    faults(&racks(), &gangs, &[placed(&[(0, at(0))]), undecided.clone()], &["its base has no place"]);
    let waiting = waits(Claim::BaseWaits(gangs[1].id.clone()));
    faults(&racks(), &gangs, &[waiting.clone(), undecided], &[]);
    faults(&racks(), &gangs, &[waiting, placed(&[(0, at(0))])], &["has a place"]);
    // Without the base in the problem it is a gang like any other.
    faults(&racks(), &gangs[..1], &[placed(&[(0, at(4))])], &[]);
}

#[test]
fn reservations() {
    let single = |name, priority, created| {
        let gang = gang(name).leaf(None, 1, None, &[(1, [1, 4])]);
        Gang { priority, created, reserve: name == "b", ..gang }
    };
    let gangs = [single("a", 0, 0), single("b", 1, 5), single("c", 1, 3), single("d", 1, 5)];
    let keeping = |nodes: &[u32]| Decision {
        outcome: Outcome::Undecided,
        placed: Vec::new(),
        reserved: nodes.to_vec(),
        steps: 0,
    };
    let pod = |node| placed(&[(0, at(node))]);
    faults(&racks(), &gangs, &[pod(0), keeping(&[1]), pod(1), pod(0)], &[]);
    let ahead = "on node n1: the node is reserved by a gang ahead";
    faults(&racks(), &gangs, &[pod(1), keeping(&[1]), pod(1), pod(0)], &[ahead]);
    faults(&racks(), &gangs, &[pod(0), keeping(&[1]), pod(1), pod(1)], &[ahead]);
    let kept = Decision { outcome: Outcome::Placed, placed: vec![(0, at(1))], ..keeping(&[0]) };
    faults(&racks(), &gangs, &[pod(2), kept, pod(1), pod(2)], &["does not wait or does not reserve"]);
    faults(&racks(), &gangs, &[pod(0), keeping(&[9]), pod(1), pod(0)], &["not a sorted list of nodes"]);
    // A base goes right before its first scaled gang, here ahead of one with more priority.
    let mut bases = [single("a", 9, 0), single("b", 1, 5), single("c", 5, 0)];
    bases[0].base = Some(bases[1].id.clone());
    faults(&racks(), &bases, &[keeping(&[]), keeping(&[1]), pod(1)], &[ahead]);
    // A base goes before its scaled gangs, whatever their priority; what it reserves is closed to them.
    let mut gangs = [single("a", 9, 0), single("b", 1, 5)];
    gangs[0].base = Some(gangs[1].id.clone());
    faults(&racks(), &gangs, &[pod(1), keeping(&[1])], &[ahead, "its base has no place"]);
}

#[test]
fn holds() {
    let single = |name, priority| Gang { priority, ..gang(name).leaf(None, 1, None, &[(1, [1, 4])]) };
    let hold = |node, gpus| Hold { group: 0, place: at(node), request: [1, gpus].into() };
    let owner = |node| Gang { holds: vec![hold(node, 4), hold(node, 4)], ..single("owner", 0) };
    let taken = "node n0: 4 of gpu is placed and 8 is held against it, and 8 is free";
    let waiting = Decision { outcome: Outcome::Undecided, ..placed(&[]) };
    let case = |priority, owned: &Decision, node, expected: &[&str]| {
        let gangs = [single("other", priority), owner(0)];
        faults(&racks(), &gangs, &[placed(&[(0, at(node))]), owned.clone()], expected);
    };
    case(0, &waiting, 0, &[taken]);
    case(-1, &waiting, 0, &[taken]);
    case(1, &waiting, 0, &[]);
    case(0, &waiting, 1, &[]);
    // A pod of the owner uses up one, wherever it goes; the first on its own node.
    case(0, &placed(&[(0, at(0))]), 0, &[]);
    case(0, &placed(&[(0, at(1))]), 0, &[]);
    let apart = Gang { holds: vec![hold(0, 8), hold(1, 8)], ..single("owner", 0) };
    let both = |node, pod, expected: &[&str]| {
        let gangs = [single("other", 0), apart.clone()];
        faults(&racks(), &gangs, &[placed(&[(0, at(node))]), placed(&[(0, at(pod))])], expected);
    };
    both(1, 2, &["node n1: 4 of gpu is placed and 8 is held against it"]);
    both(0, 2, &[]);
    both(0, 1, &["node n0: 4 of gpu is placed and 8 is held against it"]);
}

#[test]
fn holds_say_where_a_gang_is() {
    let hold = |group, node| Hold { group, place: at(node), request: [1, 4].into() };
    let held = Gang { holds: vec![hold(1, 2)], ..pair() };
    faults(&racks(), std::slice::from_ref(&held), &[placed(&[(0, at(2)), (1, at(3))])], &[]);
    faults(&racks(), std::slice::from_ref(&held), &[placed(&[(0, at(0)), (1, at(0))])], &["group g1 is not in one"]);
    // They are no pods.
    faults(&racks(), std::slice::from_ref(&held), &[placed(&[(0, at(2))])], &["without", "g0 is not", "g1 is not"]);
    let base = Gang { holds: vec![hold(0, 0)], ..gang("base").leaf(None, 0, required(1), &[]) };
    let scaled = gang("scaled").leaf(None, 1, None, &[(1, [1, 4])]);
    let gangs = [Gang { base: Some(base.id.clone()), ..scaled }, base];
    faults(&racks(), &gangs, &[placed(&[(0, at(1))]), placed(&[])], &[]);
    faults(&racks(), &gangs, &[placed(&[(0, at(2))]), placed(&[])], &["not in the domain of its base"]);
}
