//! What must come out, in a few words:
//! ```text
//! gang: 4 placed                  so many pods of the gang get a place
//! gang: waits
//! worker at rack: z1/r1 z1/r2     the domains that the pods of a group use, bound ones too; node:<name> if there is none
//! worker at host: 2               so many domains, whichever
//! worker on: a1 a2                the nodes that they use
//! ```

use super::notation::find_level;
use std::collections::BTreeSet;
use trellis_engine::{Cluster, Gang, Outcome, Place, Plan};
use trellis_testkit::placement::Problem;

pub fn check(problem: &Problem, plan: &Plan, expected: &str) {
    for line in expected.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (what, right) = line.split_once(':').expect("what: value");
        let found = look(problem, plan, what, right.trim());
        assert_eq!(found, right.trim(), "{what}\n{problem}\n{plan:?}");
    }
}

/// What came out, in the form in which it is expected.
fn look(problem: &Problem, plan: &Plan, what: &str, right: &str) -> String {
    let words: Vec<&str> = what.split_whitespace().collect();
    for (gang, decision) in problem.gangs.iter().zip(&plan.decisions) {
        if words == [gang.id.name.as_str()] {
            return match decision.outcome {
                Outcome::Placed => format!("{} placed", decision.placed.len()),
                Outcome::CannotFit(_) => "waits".to_owned(),
                Outcome::Undecided => "undecided".to_owned(),
            };
        }
        let Some(group) = gang.groups.iter().position(|group| group.name == words[0]) else { continue };
        let places = places(gang, &decision.placed, group);
        let used: BTreeSet<String> = match words[1..] {
            ["on"] => places.iter().map(|place| problem.cluster.nodes[place.node as usize].name.clone()).collect(),
            ["at", level] => places.iter().map(|place| domain(&problem.cluster, level, *place)).collect(),
            _ => panic!("cannot look at {what}"),
        };
        if right.parse::<usize>().is_ok() {
            return used.len().to_string();
        }
        return used.into_iter().collect::<Vec<_>>().join(" ");
    }
    panic!("there is no gang or group {what}")
}

fn places(gang: &Gang, placed: &[(usize, Place)], group: usize) -> Vec<Place> {
    let bound = gang.pods.iter().filter_map(|pod| Some((pod.group, pod.bound?)));
    let placed = placed.iter().map(|(pod, place)| (gang.pods[*pod].group, *place));
    let below = bound.chain(placed).filter(|(leaf, _)| gang.ancestry(*leaf).any(|above| above == group));
    below.map(|(_, place)| place).collect()
}

fn domain(cluster: &Cluster, level: &str, place: Place) -> String {
    let (topology, level) = find_level(cluster, level);
    let node = &cluster.nodes[place.node as usize];
    let path = &node.paths[topology];
    match (cluster.topologies[topology].levels[level].is_zone, place.zone) {
        (true, Some(zone)) => format!("{}.{zone}", node.name),
        (false, _) if path.len() > level => path[..=level].join("/"),
        _ => format!("node:{}", node.name),
    }
}
