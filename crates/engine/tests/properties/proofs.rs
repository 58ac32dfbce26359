//! The checker refuses proofs that are wrong: those with something changed in them, and true ones of another problem.

use super::harness;
use super::mutants::{Mutant, mutants};
use super::single::checked_plan;
use trellis_engine::check::check_proof;
use trellis_engine::{Claim, Gang, Members, Outcome, Plan};
use trellis_testkit::mutate::Dice;
use trellis_testkit::placement::{Problem, exhaustive};

/// Mutants of one proof, so that many proofs are tried.
const OF_ONE: usize = 3;

/// Changes so many proofs, each in a way after which it must be refused.
pub fn check_mutants(generate: fn(u64) -> Problem, cases: u64, regressions: &[u64]) {
    let cases = harness::times(cases);
    let mut refused = 0;
    for seed in regressions.iter().copied().chain(harness::seed()..) {
        let Some((problem, plan, gang, proof)) = infeasible(generate, seed) else { continue };
        let mut mutants = mutants(&problem, &plan, gang, &proof);
        let mut dice = Dice::new(seed);
        for _ in 0..OF_ONE.min(mutants.len()) {
            let Mutant { proof, why } = mutants.swap_remove(dice.below(mutants.len()));
            let checked = check_proof(&problem.cluster, &problem.gangs, &plan, gang, &proof);
            assert!(checked.is_err(), "seed {seed}: {why}, and the proof is accepted: {proof:?}\n{problem}");
            refused += 1;
        }
        if refused >= cases {
            return;
        }
    }
}

/// A problem in which one gang alone has no place, and the proof.
fn infeasible(generate: fn(u64) -> Problem, seed: u64) -> Option<(Problem, Plan, usize, Claim)> {
    let problem = generate(seed);
    let gang = problem.gangs.len() - 1;
    let plan = checked_plan(&problem).ok()?;
    let others = plan.decisions.iter().take(gang).all(|decision| decision.placed.is_empty());
    let Outcome::CannotFit(proof) = plan.decisions[gang].outcome.clone() else { return None };
    others.then_some((problem, plan, gang, proof))
}

/// Changes so many problems such that the gang fits: what was proved before must be refused.
pub fn check_transplants(generate: fn(u64) -> Problem, cases: u64, regressions: &[u64]) {
    let cases = harness::times(cases);
    let mut refused = 0;
    for seed in regressions.iter().copied().chain(harness::seed()..) {
        let Some((problem, plan, gang, proof)) = infeasible(generate, seed) else { continue };
        for eased in eased(&problem, gang) {
            if exhaustive::fits(&eased, gang) == Ok(true) {
                let checked = check_proof(&eased.cluster, &eased.gangs, &plan, gang, &proof);
                assert!(checked.is_err(), "seed {seed}: a gang that fits is proved not to: {proof:?}\n{eased}");
                refused += 1;
            }
        }
        if refused >= cases {
            return;
        }
    }
}

/// The problem with one thing made easier.
fn eased(problem: &Problem, gang: usize) -> Vec<Problem> {
    let mut found = Vec::new();
    let mut with = |change: &dyn Fn(&mut Problem)| {
        let mut changed = problem.clone();
        change(&mut changed);
        found.push(changed);
    };
    for occupant in 0..problem.cluster.occupants.len() {
        with(&|it| drop(it.cluster.occupants.remove(occupant)));
    }
    for other in 0..problem.gangs.len() {
        with(&|it| it.gangs[other].holds.clear());
        for hold in 0..problem.gangs[other].holds.len() {
            with(&|it| drop(it.gangs[other].holds.remove(hold)));
        }
    }
    for node in 0..problem.cluster.nodes.len() {
        with(&|it| it.cluster.nodes[node].allocatable.iter_mut().for_each(|amount| *amount *= 2));
        with(&|it| it.cluster.eligibility.iter_mut().for_each(|kind| kind.allowed.insert(node)));
        for topology in 0..problem.cluster.topologies.len() {
            // The labels of its neighbour, which may bring more room together.
            let other = (node + 1) % problem.cluster.nodes.len();
            let path = &problem.cluster.nodes[other].paths[topology];
            with(&|it| it.cluster.nodes[node].paths[topology].clone_from(path));
        }
    }
    for group in 0..problem.gangs[gang].groups.len() {
        with(&|it| it.gangs[gang].groups[group].constraint = None);
        with(&|it| lower(&mut it.gangs[gang], group));
    }
    found
}

fn lower(gang: &mut Gang, group: usize) {
    let (Members::Groups { min } | Members::Pods { min }) = &mut gang.groups[group].members;
    *min = min.saturating_sub(1);
}
