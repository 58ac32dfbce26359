//! The best placement of one gang by an integer program: for problems too large to try everything.
//!
//! Members are maximised first, then each span is minimised in turn, then what pods like is maximised, with all that was
//! found before held fast.

mod model;

use super::{Best, Problem, TooLarge, facts};
use good_lp::{Constraint, Expression, ProblemVariables, ResolutionError, SolverModel, Variable, constraint, microlp};
use model::{Model, whole};
use std::collections::HashMap;

/// Nodes of the solver's tree after which a problem is too large.
const LIMIT: u64 = 3_000;

/// The best placements of one gang of a problem, in which other gangs count by their bound pods and holds alone; none if its
/// minima cannot be placed.
///
/// # Panics
/// If the solver fails, which says nothing of the problem.
pub fn best(problem: &Problem, gang: usize) -> Result<Option<Best>, TooLarge> {
    if facts::hopeless(&problem.cluster, &problem.gangs, gang) {
        return Ok(None);
    }
    let waiting = problem.gangs[gang].pods.iter().filter(|pod| pod.bound.is_none()).count();
    let Model { variables, constraints, members, spans, cuts, liked, most_liked } = Model::new(problem, gang);
    let mut program = Program { variables, constraints, values: None };
    // Pods that are left out, so that all goals are to be small.
    let Some(out) = program.smallest(&(whole(waiting) - members))? else { return Ok(None) };
    if out == 0 {
        program.constraints.extend(cuts);
    }
    let spans = spans.iter().map(|span| Ok(program.smallest(span)?.expect("a solution was found before")));
    let members = waiting - usize::try_from(out).expect("no more than all");
    let spans = spans.collect::<Result<_, _>>()?;
    let short = match most_liked {
        0 => 0,
        most => program.smallest(&(f64::from(most) - liked))?.expect("a solution was found before"),
    };
    Ok(Some(Best { members, spans, liked: u64::from(most_liked) - short }))
}

struct Program {
    variables: ProblemVariables,
    constraints: Vec<Constraint>,
    /// A solution that keeps all constraints, once there is one.
    values: Option<HashMap<Variable, f64>>,
}

impl Program {
    /// Makes a goal as small as can be and holds it there; none if there is no solution.
    fn smallest(&mut self, goal: &Expression) -> Result<Option<u64>, TooLarge> {
        let mut found = self.value(goal);
        // Goals are whole numbers, so that a better one is better by one at least.
        while found.is_none_or(|found| found > 0.5) {
            let better = found.map(|found| constraint!(goal.clone() <= found - 1.0));
            let Some(values) = self.solve(goal, better)? else { break };
            self.values = Some(values);
            found = self.value(goal);
        }
        let Some(found) = found else { return Ok(None) };
        self.constraints.push(constraint!(goal.clone() == found));
        Ok(Some(format!("{found:.0}").parse().expect("a whole number")))
    }

    /// A solution under one more constraint, not always the best; none if there is none.
    fn solve(&self, goal: &Expression, more: Option<Constraint>) -> Result<Option<HashMap<Variable, f64>>, TooLarge> {
        let program = self.variables.clone().minimise(goal).using(microlp);
        let program = program.with_all(self.constraints.iter().cloned().chain(more));
        // The modelling crate passes on a limit of time, and no limit of steps, which alone gives the same answer
        // everywhere. So the solver below it is called.
        let outcome = with_options(
            |options| program.as_inner().solve_with(options),
            |options| {
                options.node_limit = Some(LIMIT);
                options.mip_gap = 0.01;
            },
        );
        let solution = match outcome {
            Ok(outcome) => outcome.into_solution().map_err(|_| TooLarge)?,
            Err(error) => match ResolutionError::from(error) {
                ResolutionError::Infeasible => return Ok(None),
                error => panic!("the solver failed: {error}"),
            },
        };
        let variables = self.variables.iter_variables_with_def().map(|(variable, _)| variable);
        Ok(Some(variables.zip(solution.iter().map(|(_, value)| value.round())).collect()))
    }

    fn value(&self, goal: &Expression) -> Option<f64> {
        Some(goal.eval_with(self.values.as_ref()?).round())
    }
}

/// Calls with options of a type that this crate cannot name.
fn with_options<O: Default, R>(call: impl FnOnce(O) -> R, set: impl FnOnce(&mut O)) -> R {
    let mut options = O::default();
    set(&mut options);
    call(options)
}
