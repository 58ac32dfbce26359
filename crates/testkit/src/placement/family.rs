//! A base and gangs that are scaled from it, as one gang: whether all of them fit in one domain of the base.

use super::Problem;
use trellis_engine::{Constraint, Gang, Group, Hold, Members, Pod};

/// The problem with a base and some of those scaled from it made one gang, which is the last; the others are bound and
/// stay. The pods of the base are its first.
pub fn together(problem: &Problem, base: usize, scaled: &[usize]) -> Problem {
    let Problem { cluster, gangs } = problem;
    let required = gangs[base].groups[0].constraint.and_then(|it| Some((it.topology, it.required?)));
    let constraint = required.map(|(topology, level)| Constraint { topology, required: Some(level), preferred: None });
    let members = Members::Groups { min: 1 + scaled.len() };
    let mut one = Gang { id: gangs[base].id.clone(), ..Gang::default() };
    one.groups.push(Group { name: "family".to_owned(), constraint, members, ..Group::default() });
    for gang in std::iter::once(base).chain(scaled.iter().copied()).map(|gang| &gangs[gang]) {
        let at = one.groups.len();
        for group in &gang.groups {
            let parent = group.parent.map_or(0, |parent| at + parent);
            one.groups.push(Group { parent: Some(parent), ..group.clone() });
        }
        let pods = gang.pods.iter().chain(&gang.coming);
        one.pods.extend(pods.map(|pod| Pod { group: at + pod.group, ..pod.clone() }));
        one.holds.extend(gang.holds.iter().map(|hold| Hold { group: at + hold.group, ..hold.clone() }));
    }
    let is_in = |gang: &usize| *gang == base || scaled.contains(gang);
    let others = (0..gangs.len()).filter(|gang| !is_in(gang)).map(|gang| gangs[gang].clone());
    Problem { cluster: cluster.clone(), gangs: others.chain([one]).collect() }
}
