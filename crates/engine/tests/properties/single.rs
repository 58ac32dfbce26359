//! One gang at a time: feasible if and only if placed, and placed in the best way.

use super::harness::{Judged, Verdict};
use super::several;
use trellis_engine::check::{check_plan, check_proof, score};
use trellis_engine::{Gang, Options, Outcome, Plan, plan};
use trellis_testkit::placement::{Best, Problem, TooLarge, exhaustive, milp};

pub fn judge_by_exhaustion(problem: &Problem) -> Judged {
    judge(problem, exhaustive::best)
}

pub fn judge_by_program(problem: &Problem) -> Judged {
    judge(problem, milp::best)
}

fn judge(problem: &Problem, best: impl Fn(&Problem, usize) -> Result<Option<Best>, TooLarge>) -> Judged {
    let plan = checked_plan(problem)?;
    for gang in 0..problem.gangs.len() {
        // Gangs that are planned together compete; what the one gets alone says nothing then.
        let others = problem.gangs.iter().enumerate().filter(|(other, _)| *other != gang);
        if others.into_iter().any(|(_, other)| waits(other)) {
            return several::judge(problem);
        }
        match best(problem, gang) {
            Ok(best) => compare(problem, &plan, gang, best)?,
            Err(too_large) => return Ok(too_large.into()),
        }
    }
    Ok(Verdict::Right)
}

fn waits(gang: &Gang) -> bool {
    gang.pods.iter().any(|pod| pod.bound.is_none())
}

/// A plan that the checker accepts, with its proofs, and that is decided throughout.
pub fn checked_plan(problem: &Problem) -> Result<Plan, String> {
    let Problem { cluster, gangs } = problem;
    let plan = plan(cluster, gangs, Options::default());
    check_plan(cluster, gangs, &plan).map_err(|faults| format!("the plan is wrong: {}", faults.join("; ")))?;
    for (gang, decision) in plan.decisions.iter().enumerate() {
        match &decision.outcome {
            Outcome::Placed => {}
            Outcome::Undecided => return Err(format!("gang {gang} is undecided after {} steps", decision.steps)),
            Outcome::CannotFit(proof) => check_proof(cluster, gangs, &plan, gang, proof)
                .map_err(|fault| format!("the proof for gang {gang} is wrong: {fault}"))?,
        }
    }
    Ok(plan)
}

/// The spans; of a gang with holds but for the wider levels, which only break ties, where the search for better ones ended with its budget.
fn settled(gang: &Gang, steps: u64, mut got: Vec<u64>, best: &[u64]) -> Vec<u64> {
    let depths = (0..gang.groups.len()).map(|group| gang.ancestry(group).count()).max().unwrap_or(0);
    if !gang.holds.is_empty() && steps >= 100_000 && got.len() == best.len() && got[..] > *best {
        got[depths..].copy_from_slice(&best[depths..]);
    }
    got
}

fn compare(problem: &Problem, plan: &Plan, gang: usize, best: Option<Best>) -> Result<(), String> {
    let decision = &plan.decisions[gang];
    match (&decision.outcome, best) {
        (Outcome::Placed, Some(best)) => {
            let it = &problem.gangs[gang];
            let score = score(&problem.cluster, it, &decision.placed);
            let bound = it.pods.iter().filter(|pod| pod.bound.is_some()).count();
            let got = Best { members: score.members - bound, spans: score.spans, liked: score.liked };
            // What pods like is looked for with so many steps and no more.
            let is_short = decision.steps >= 20_000 && got.liked < best.liked;
            let got = Best { liked: if is_short { best.liked } else { got.liked }, ..got };
            let got = Best { spans: settled(it, decision.steps, got.spans, &best.spans), ..got };
            if got == best {
                Ok(())
            } else {
                Err(format!("gang {gang} gets {got:?}, the best is {best:?}: {decision:?}"))
            }
        }
        (Outcome::Placed, None) => Err(format!("gang {gang} cannot fit, and is placed: {decision:?}")),
        (outcome, Some(best)) => Err(format!("gang {gang} fits with {best:?}, and the plan says {outcome:?}")),
        (_, None) => Ok(()),
    }
}
