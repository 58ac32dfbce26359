//! Placement problems from a seed: the same seed gives the same problem.
//!
//! Most are tight, so that about half of them can be placed, and full of things that look alike, because that is where
//! searches go wrong: nodes of one make, groups of one profile, racks of one name under different parents.

mod bind;
mod cluster;
mod gang;
mod lose;

use super::{Problem, facts};
use crate::mutate::Dice;
use trellis_engine::{Gang, Members, Unready};

/// How large a problem becomes.
#[derive(Clone, Copy, Debug)]
struct Scale {
    /// Fewest and most nodes.
    nodes: (usize, usize),
    /// Most groups of a gang below its root.
    groups: usize,
    /// Most pods of a gang.
    pods: usize,
    /// Whether there may be zones inside nodes.
    zones: bool,
}

const SMALL: Scale = Scale { nodes: (1, 7), groups: 6, pods: 9, zones: true };
/// Hard for exhaustive search, and still within its limit nearly always.
const LARGER: Scale = Scale { nodes: (3, 8), groups: 6, pods: 12, zones: true };
const MEDIUM: Scale = Scale { nodes: (8, 24), groups: 6, pods: 24, zones: false };
const SEVERAL: Scale = Scale { nodes: (2, 6), groups: 3, pods: 4, zones: true };

/// How much nodes are liked; few values, so that many nodes are liked alike.
const WEIGHTS: [&[u32]; 4] = [&[0, 1], &[0, 0, 10], &[0, 5, 100], &[1, 2, 3, 4]];

/// A problem that can be answered by exhaustive search: one gang, now and then with its base.
pub fn small(seed: u64) -> Problem {
    let mut draw = Draw::new(seed);
    let mut problem = tight_small(&mut draw);
    if draw.chance(1)
        && let Some(gang) = problem.gangs.last_mut()
    {
        gang.unready = Some(Unready::Unsupported { text: "a claim of a resource".to_owned() });
    }
    problem
}

fn tight_small(draw: &mut Draw) -> Problem {
    let edge = draw.chance(75);
    let mut problem = raw_small(draw);
    // Most gangs drawn at random could not be placed on an empty cluster, for reasons that are seen at once.
    for _ in 0..8 {
        if edge && bind::bring_to_the_edge(draw, &mut problem) {
            return problem;
        }
        problem = raw_small(draw);
    }
    bind::tighten(draw, &mut problem);
    problem
}

fn raw_small(draw: &mut Draw) -> Problem {
    let scale = if draw.chance(20) { LARGER } else { SMALL };
    let mut problem = Problem { cluster: cluster::cluster(draw, scale), gangs: Vec::new() };
    let scaled = draw.chance(12);
    if scaled {
        let mut base = gang::gang(draw, &problem.cluster, "base", Scale { groups: 2, pods: 3, ..scale });
        gang::make_base(draw, &problem.cluster, &mut base);
        problem.gangs.push(base);
        // Mostly the base stands; else it waits, or is placed in the same plan.
        let share = if draw.chance(75) { 100 } else { 40 };
        bind::bind(draw, &mut problem, 0, share);
    }
    let mut gang = gang::gang(draw, &problem.cluster, "gang", scale);
    gang.base = scaled.then(|| problem.gangs[0].id.clone());
    add(draw, &mut problem, gang);
    problem
}

/// A small problem in which members have been lost, of the gang, of its base, or of another gang that has no pods waiting.
pub fn held(seed: u64) -> Problem {
    let mut draw = Draw::new(seed);
    let edge = draw.chance(75);
    for _ in 0..8 {
        let mut problem = raw_small(&mut draw);
        for gang in 0..problem.gangs.len() {
            lose::some(&mut draw, &mut problem, gang);
        }
        if draw.chance(50) {
            let other = gang::gang(&mut draw, &problem.cluster, "other", Scale { groups: 2, pods: 3, ..SMALL });
            lose::neighbour(&mut draw, &mut problem, other);
        }
        if !edge || bind::bring_to_the_edge(&mut draw, &mut problem) {
            return problem;
        }
    }
    raw_small(&mut draw)
}

/// A problem for the integer program: one gang, no zones.
pub fn medium(seed: u64) -> Problem {
    medium_of(&mut Draw::new(seed), false)
}

/// The same, and members have been lost.
pub fn medium_held(seed: u64) -> Problem {
    medium_of(&mut Draw::new(seed), true)
}

fn medium_of(draw: &mut Draw, held: bool) -> Problem {
    let mut problem = Problem { cluster: cluster::cluster(draw, MEDIUM), gangs: Vec::new() };
    let gang = gang::gang(draw, &problem.cluster, "gang", MEDIUM);
    add(draw, &mut problem, gang);
    if held {
        lose::some(draw, &mut problem, 0);
    }
    bind::tighten(draw, &mut problem);
    problem
}

/// Two to five small gangs that compete, some of them bound, some reserving, some scaled with their base among them.
pub fn several(seed: u64) -> Problem {
    several_of(&mut Draw::new(seed), false)
}

/// The same, and members have been lost.
pub fn several_held(seed: u64) -> Problem {
    several_of(&mut Draw::new(seed), true)
}

fn several_of(draw: &mut Draw, held: bool) -> Problem {
    let mut problem = Problem { cluster: cluster::cluster(draw, SEVERAL), gangs: Vec::new() };
    for n in 0..draw.between(2, 5) {
        let name = format!("{}{n}", draw.of(&["a", "b", "c"]));
        let mut gang = gang::gang(draw, &problem.cluster, &name, SEVERAL);
        gang.priority = *draw.of(&[-5, 0, 0, 0, 10]);
        gang.created = *draw.of(&[100, 100, 200, 300]);
        gang.reserve = draw.chance(15);
        let bases: Vec<&Gang> = problem.gangs.iter().filter(|base| can_be_base(&problem, base)).collect();
        if !bases.is_empty() && draw.chance(30) {
            let base = *draw.of(&bases);
            (gang.priority, gang.created) = (base.priority, base.created + 50);
            gang.base = Some(base.id.clone());
        }
        add(draw, &mut problem, gang);
        if held && draw.chance(70) {
            lose::some(draw, &mut problem, n);
        }
    }
    bind::tighten(draw, &mut problem);
    problem
}

/// A small problem in which pods like some nodes better than others.
pub fn liked(seed: u64) -> Problem {
    with_weights(small(seed), seed)
}

/// The same for the integer program.
pub fn medium_liked(seed: u64) -> Problem {
    with_weights(medium(seed), seed)
}

/// Gives every kind of pods weights of nodes.
fn with_weights(mut problem: Problem, seed: u64) -> Problem {
    let mut draw = Draw::new(seed ^ 0x6c69_6b65);
    let nodes = problem.cluster.nodes.len();
    for kind in &mut problem.cluster.eligibility {
        let values = draw.of(&WEIGHTS);
        kind.weights = (0..nodes).map(|_| *draw.of(values)).collect();
    }
    problem
}

/// A base that needs all its pods, and one to three gangs that are scaled from it; these wait, or are held back until the base
/// has a place. Now and then others run.
pub fn family(seed: u64) -> Problem {
    let mut draw = Draw::new(seed);
    let scale = Scale { nodes: (3, 8), groups: 3, pods: 3, zones: true };
    let mut problem = Problem { cluster: cluster::cluster(&mut draw, scale), gangs: Vec::new() };
    let mut base = gang::gang(&mut draw, &problem.cluster, "base", scale);
    gang::make_base(&mut draw, &problem.cluster, &mut base);
    need_all(&mut base);
    let id = base.id.clone();
    problem.gangs.push(base);
    let are_held_back = draw.chance(40);
    for n in 0..draw.between(1, 3) {
        let mut gang = gang::gang(&mut draw, &problem.cluster, &format!("scaled-{n}"), scale);
        gang.base = Some(id.clone());
        problem.gangs.push(gang);
    }
    bind::tighten(&mut draw, &mut problem);
    if are_held_back {
        let scaled = problem.gangs.iter_mut().filter(|gang| gang.base.is_some());
        scaled.for_each(|gang| gang.coming = std::mem::take(&mut gang.pods));
    }
    problem
}

fn need_all(gang: &mut Gang) {
    for group in 0..gang.groups.len() {
        let (children, pods) = (gang.children(group).count(), gang.pods_of(group).count());
        match &mut gang.groups[group].members {
            Members::Groups { min } => *min = children,
            Members::Pods { min } => *min = pods,
        }
    }
}

/// Adds a gang, some of its pods bound already.
fn add(draw: &mut Draw, problem: &mut Problem, gang: Gang) {
    problem.gangs.push(gang);
    let last = problem.gangs.len() - 1;
    // What a base does that waits while its scaled gangs run is nowhere said: it does not come up.
    let waits = |base: &Gang| base.pods.iter().all(|pod| pod.bound.is_none());
    let share = if draw.chance(35) { *draw.of(&[20, 50, 80]) } else { 0 };
    if share > 0 && !facts::base(&problem.gangs, last).is_some_and(waits) {
        bind::bind(draw, problem, last, share);
    }
}

/// A base has pods, and its root is not required to be in one zone: a zone has no room for gangs that come later.
fn can_be_base(problem: &Problem, gang: &Gang) -> bool {
    let required = gang.groups[0].constraint.and_then(|it| Some((it.topology, it.required?)));
    let in_zone = required.is_some_and(|(topology, level)| problem.cluster.topologies[topology].levels[level].is_zone);
    gang.base.is_none() && !in_zone && !facts::satisfied(gang, &[], |_| 0)[0]
}

/// Random numbers in the forms in which they are wanted.
struct Draw(Dice);

impl Draw {
    fn new(seed: u64) -> Self {
        Self(Dice::new(seed))
    }

    /// A number from the first to the last.
    fn between(&mut self, first: usize, last: usize) -> usize {
        first + self.0.below(last + 1 - first)
    }

    /// True in so many of a hundred cases.
    fn chance(&mut self, percent: usize) -> bool {
        self.0.below(100) < percent
    }

    fn of<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.0.below(items.len())]
    }
}
