//! The checker against trying everything: a gang that fits has no proof, and one that does not has one.

use super::*;
use crate::check::case::{Case, Context};
use crate::check::ground::Ground;
use crate::check::{check_plan, check_proof};

/// Numbers that follow from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn index(&mut self, sides: usize) -> usize {
        usize::try_from(self.roll(sides as u64)).unwrap_or(0)
    }

    fn amount(&mut self, most: u64) -> i64 {
        i64::try_from(self.roll(most + 1)).unwrap_or(0)
    }

    fn constraint(&mut self, cluster: &Cluster) -> Option<Constraint> {
        let topology = self.index(cluster.topologies.len());
        let mut level = |odds| (self.roll(odds) == 0).then(|| self.index(cluster.topologies[topology].levels.len()));
        let (required, preferred) = (level(2), level(4));
        (required.is_some() || preferred.is_some()).then_some(Constraint { topology, required, preferred })
    }

    fn cluster(&mut self) -> Cluster {
        const LEVELS: [&[&str]; 5] =
            [&["rack"], &["zone", "rack"], &["zone", "rack", "host"], &["rack", "numa"], &["numa"]];
        let mut topologies = vec![LEVELS[self.index(5)]];
        if self.roll(3) == 0 {
            topologies.push(LEVELS[self.index(2)]);
        }
        let has_zones = topologies[0].contains(&"numa");
        let count = if has_zones { 1 + self.index(2) } else { 2 + self.index(3) };
        let mut paths: Vec<Vec<String>> = Vec::new();
        for _ in 0..count {
            let mut path = |levels: &&[&str]| {
                let labels = levels.iter().filter(|level| **level != "numa").count();
                let reach = if self.roll(6) == 0 { self.index(labels + 1) } else { labels };
                (0..reach).map(|_| ["a", "b"][self.index(2)]).collect::<Vec<_>>().join("/")
            };
            paths.push(topologies.iter().map(&mut path).collect());
        }
        let borrowed: Vec<Vec<&str>> = paths.iter().map(|paths| paths.iter().map(String::as_str).collect()).collect();
        // Few different sizes, so that there is something to exchange.
        let sizes = 1 + self.roll(2);
        let nodes: Vec<(&[&str], [i64; 2])> =
            borrowed.iter().map(|paths| (paths.as_slice(), [3, 2 + 2 * self.amount(sizes - 1)])).collect();
        let mut cluster = cluster(&topologies, &nodes);
        for node in 0..count {
            if has_zones && self.roll(4) > 0 {
                let gpus = [1 + self.amount(2), 2];
                zones(&mut cluster, node, &gpus[..=self.index(2)]);
            }
        }
        let mut second = cluster.eligibility[0].clone();
        let bars = self.roll(2) == 0;
        for node in 0..count {
            second.allowed.set(node, !bars || self.roll(3) > 0);
        }
        cluster.eligibility.push(second);
        cluster
    }

    fn gang(&mut self, cluster: &Cluster) -> Gang {
        let mut gang = gang("tried");
        let mut parents = vec![None];
        if self.roll(4) > 0 {
            gang = gang.inner(None, 0, self.constraint(cluster));
            parents = vec![Some(0)];
            if self.roll(3) == 0 {
                gang = gang.inner(Some(0), 0, self.constraint(cluster));
                parents.push(Some(1));
            }
        }
        let (most, common) = (1 + self.roll(3), self.constraint(cluster));
        let leaves = if parents == [None] { 1 } else { parents.len() + self.index(2) };
        for k in 0..leaves {
            // Every inner group has a child.
            let parent = parents[parents.len() - 1 - k.min(parents.len() - 1)];
            let pods = 1 + self.index(if leaves > 2 { 1 } else { 2 } + usize::from(leaves == 1));
            let asks: Vec<(usize, [i64; 2])> = (0..pods).map(|_| (1, [1, self.amount(most)])).collect();
            let constraint = if self.roll(2) == 0 { common } else { self.constraint(cluster) };
            gang = gang.leaf(parent, pods - self.index(pods + 1), constraint, &asks);
        }
        for group in 0..gang.groups.len() {
            let children = gang.children(group).count();
            if children > 0 {
                let min = if self.roll(2) == 0 { children } else { self.index(children + 1) };
                gang.groups[group].members = Members::Groups { min };
            }
        }
        for pod in &mut gang.pods {
            pod.eligibility = self.index(2);
            if self.roll(6) == 0 {
                let node = self.index(cluster.nodes.len());
                let zones = cluster.nodes[node].zones.len();
                let zone = (zones > 0).then(|| u16::try_from(self.index(zones)).unwrap_or(0));
                pod.bound = Some(Place { node: u32::try_from(node).unwrap_or(0), zone });
            }
        }
        gang
    }
}

/// Whether some placement of the first gang passes as a plan.
fn fits(cluster: &Cluster, gangs: &[Gang], state: &mut Plan, pod: usize) -> bool {
    let Some(next) = gangs[0].pods.get(pod) else {
        return check_plan(cluster, gangs, state).is_ok();
    };
    if fits(cluster, gangs, state, pod + 1) {
        return true;
    }
    let nodes = 0..u32::try_from(cluster.nodes.len()).unwrap_or(0);
    for node in nodes.filter(|_| next.bound.is_none()) {
        let zones = (0..).take(cluster.nodes[node as usize].zones.len());
        for zone in zones.map(Some).chain([None]) {
            state.decisions[0].placed.push((pod, Place { node, zone }));
            let found = fits(cluster, gangs, state, pod + 1);
            state.decisions[0].placed.pop();
            if found {
                return true;
            }
        }
    }
    false
}

/// Claims with every number that might be right.
fn guesses(gang: &Gang) -> Vec<Claim> {
    let leaves: Vec<usize> =
        (0..gang.groups.len()).filter(|k| matches!(gang.groups[*k].members, Members::Pods { .. })).collect();
    let mut claims = vec![];
    for leaf in leaves.iter().copied() {
        claims.extend((0..4).flat_map(|fits| (1..5).map(move |need| count(leaf, fits, need))));
    }
    for leaves in leaves.iter().map(|leaf| vec![*leaf]).chain([leaves.clone()]) {
        for (free, need) in (0..10).flat_map(|free| (free + 1..14).map(move |need| (free, need))) {
            claims.extend((0..2).map(|resource| Claim::Sum { leaves: leaves.clone(), resource, free, need }));
        }
    }
    let tied: Vec<usize> = (1..gang.groups.len()).filter(|k| gang.groups[*k].constraint.is_some()).collect();
    for groups in tied.iter().map(|group| vec![*group]).chain([tied.clone()]) {
        claims.extend((0..groups.len() as u64).map(|fits| Claim::Copies { groups: groups.clone(), fits }));
    }
    claims
}

/// A proof by taking everything apart, if that ends in claims that hold.
fn prove(case: &Case<'_>, context: &mut Context, dice: &mut Dice) -> Option<Claim> {
    if dice.roll(2) == 0
        && let Some(claim) = guesses(case.gang).into_iter().find(|claim| case.claim(context, claim).is_ok())
    {
        return Some(claim);
    }
    let needed: Vec<usize> = (0..case.gang.groups.len()).filter(|group| case.needed(context, *group).is_ok()).collect();
    for group in needed.iter().copied() {
        let children = &case.children[group];
        let Members::Groups { min } = case.gang.groups[group].members else { continue };
        if min >= children.len() || context.chosen[group].is_some() {
            continue;
        }
        let sets = (0_u32..1 << children.len()).filter(|set| set.count_ones() as usize == min);
        let chosen = |set: u32| (0..children.len()).filter(|k| set >> k & 1 == 1).map(|k| children[k]).collect();
        let mut sets: Vec<Vec<usize>> = sets.map(chosen).collect();
        sets.sort();
        let mut choices = Vec::new();
        for set in sets {
            context.chosen[group] = Some(set.clone());
            let claim = prove(case, context, dice);
            context.chosen[group] = None;
            choices.push((set, claim?));
        }
        return Some(Claim::Subsets { group, choices });
    }
    for group in needed.iter().copied().filter(|group| case.least(context, *group) > 0) {
        let Ok((topology, _, candidates)) = case.candidates(context, group) else { continue };
        let mut branches = Vec::new();
        for index in candidates {
            let id = DomainId { topology: u16::try_from(topology).ok()?, index: u32::try_from(index).ok()? };
            context.confined[group] = Some(id.into());
            let claim = prove(case, context, dice);
            context.confined[group] = None;
            branches.extend(claim.map(|claim| Branch { domain: id, claim }));
        }
        // Leaves out whatever the checker lets one leave out; also what could not be proved, if it lets one.
        for k in (0..branches.len()).rev() {
            let mut fewer = branches.clone();
            fewer.remove(k);
            if case.claim(context, &Claim::Split { group, branches: fewer.clone() }).is_ok() {
                branches = fewer;
            }
        }
        let split = Claim::Split { group, branches };
        return case.claim(context, &split).is_ok().then_some(split);
    }
    let leaves: Vec<usize> = needed.into_iter().filter(|group| case.children[*group].is_empty()).collect();
    let leaves = leaves.into_iter().filter(|leaf| case.leaf(context, *leaf).is_ok()).collect();
    let last = [Claim::Packing { leaves }, Claim::BoundApart { group: 0 }];
    let last = last.into_iter().take(if case.least(context, 0) > 0 { 2 } else { 1 });
    last.into_iter().find(|claim| case.claim(context, claim).is_ok())
}

#[test]
fn what_fits_has_no_proof_and_what_does_not_has_one() {
    let (mut fitting, mut waiting, mut fewer) = (0, 0, 0);
    for seed in 0..5000 {
        let mut dice = Dice(seed);
        let cluster = dice.cluster();
        let mut gangs = vec![dice.gang(&cluster)];
        let mut state = plan(&[placed(&[])]);
        if dice.roll(4) == 0 {
            let base = gang("base").leaf(None, 1, dice.constraint(&cluster), &[(1, [0, 1])]);
            let node = u32::try_from(dice.index(cluster.nodes.len())).unwrap_or(0);
            let zone = (!cluster.nodes[node as usize].zones.is_empty()).then_some(0);
            gangs.push(base.bind(0, Place { node, zone }));
            gangs[0].base = Some(gangs[1].id.clone());
            state.decisions.push(placed(&[]));
        }
        if dice.roll(4) == 0 {
            gangs.push(Gang { priority: 1, reserve: true, ..gang("ahead").leaf(None, 1, None, &[(1, [1, 1])]) });
            state.decisions.push(Decision { outcome: Outcome::Undecided, reserved: vec![0], ..placed(&[]) });
        }
        let fits = fits(&cluster, &gangs, &mut state, 0);
        let ground = Ground::new(&cluster, &gangs, &state);
        let case = Case::new(&ground, 0);
        let groups = gangs[0].groups.len();
        if (0..groups).any(|group| case.is_apart(group)) {
            continue;
        }
        let mut context = Context { confined: vec![None; groups], chosen: vec![None; groups] };
        let proof = prove(&case, &mut context, &mut dice);
        assert_eq!(proof.is_none(), fits, "seed {seed}: {proof:#?}\n{cluster:#?}\n{gangs:#?}");
        match proof {
            None => fitting += 1,
            Some(proof) => {
                waiting += 1;
                fewer += usize::from(matches!(proof, Claim::Split { .. } | Claim::Subsets { .. }));
                assert_eq!(check_proof(&cluster, &gangs, &state, 0, &proof), Ok(()), "seed {seed}");
            }
        }
    }
    // Both sides have been seen, and proofs of more than one claim.
    assert!(fitting > 200 && waiting > 200 && fewer > 50, "{fitting} fit, {waiting} do not, {fewer} by parts");
}
