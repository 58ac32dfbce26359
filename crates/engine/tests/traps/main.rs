//! Gangs that fit and that greedy placers refuse, or place badly. Each is a cluster, a gang and what must come out, in
//! the notation of [`notation`] and [`expect`]; and each is also judged by exhaustive search and by the checker.

mod expect;
mod greedy;
mod holds;
mod liked;
mod notation;
mod packing;
mod related;
mod without;

use trellis_engine::check::check_plan;
use trellis_engine::{Options, Outcome, plan};
use trellis_testkit::placement::{exhaustive, invariants};

/// Plans gangs on a cluster, and compares with what is expected.
fn check(cluster: &str, gangs: &str, expected: &str) {
    let problem = notation::problem(cluster, gangs);
    assert_eq!(invariants::violations(&problem), Vec::<String>::new(), "{problem}");
    let plan = plan(&problem.cluster, &problem.gangs, Options::default());
    if let Err(faults) = check_plan(&problem.cluster, &problem.gangs, &plan) {
        panic!("{faults:?}\n{problem}\n{plan:?}");
    }
    if let [_] = *problem.gangs {
        let fits = exhaustive::fits(&problem, 0).expect("small enough");
        assert_eq!(fits, plan.decisions[0].outcome == Outcome::Placed, "{problem}\n{plan:?}");
    }
    expect::check(&problem, &plan, expected);
}
