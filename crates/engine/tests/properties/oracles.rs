//! The oracles themselves: what they judge by must be right.

use super::harness::{self, Judged, Verdict};
use trellis_testkit::placement::{Problem, exhaustive, generate, invariants, milp};

pub fn judge_agreement(problem: &Problem) -> Judged {
    let gang = problem.gangs.len() - 1;
    match (exhaustive::best(problem, gang), milp::best(problem, gang)) {
        (Ok(one), Ok(other)) if one != other => Err(format!("trying everything: {one:?}; integer program: {other:?}")),
        (Ok(_), Ok(_)) => Ok(Verdict::Right),
        _ => Ok(Verdict::TooLarge),
    }
}

/// Generated problems are valid, and about half of the small ones fit.
pub fn check_invariants(cases: u64) {
    let mut fits = 0;
    let seeds = harness::seed()..harness::seed() + cases;
    for seed in seeds {
        let small = generate::small(seed);
        let held =
            [generate::held(seed), generate::medium_held(seed), generate::several_held(seed), generate::family(seed)];
        for problem in [&small, &generate::medium(seed), &generate::several(seed)].into_iter().chain(&held) {
            let violations = invariants::violations(problem);
            assert!(violations.is_empty(), "seed {seed}: {violations:?}\n{problem}");
        }
        fits += u64::from(exhaustive::fits(&small, small.gangs.len() - 1) == Ok(true));
    }
    assert!((cases / 3..cases * 2 / 3).contains(&fits), "{fits} of {cases} problems fit, and it should be about half");
}
