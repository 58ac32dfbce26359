//! The best placement of one gang by trying everything.
//!
//! Every waiting pod is given each place in turn, and none. What is cut off cannot hold a better placement, for reasons
//! that need no thought: a full node, a second domain of a required level, a leaf that ends up below its minimum, a
//! permutation of identical pods, or more domains used already than the best placement so far uses in all.

use super::facts::{self, Requirement, Stand, Zones};
use super::{Best, Problem, TooLarge};
use trellis_engine::{Gang, GroupId, Place, Pod};

/// Steps after which a problem is too large.
pub const LIMIT: u64 = 3_000_000;

/// The best placements of one gang of a problem, in which other gangs count by their bound pods and holds alone; none if its
/// minima cannot be placed.
pub fn best(problem: &Problem, gang: usize) -> Result<Option<Best>, TooLarge> {
    solve(problem, gang, false)
}

/// Whether the minima of one gang of a problem can be placed.
pub fn fits(problem: &Problem, gang: usize) -> Result<bool, TooLarge> {
    Ok(solve(problem, gang, true)?.is_some())
}

fn solve(problem: &Problem, gang: usize, any: bool) -> Result<Option<Best>, TooLarge> {
    if facts::hopeless(&problem.cluster, &problem.gangs, gang) {
        return Ok(None);
    }
    let mut search = Search::new(problem, gang, any);
    if search.viable(0) {
        search.place(0, 0, 0);
    }
    if search.steps > LIMIT { Err(TooLarge) } else { Ok(search.best) }
}

/// Pods that cannot be told apart.
struct Kind<'a> {
    leaf: GroupId,
    request: &'a [i64],
    count: usize,
    /// Places where they may stand.
    places: Vec<usize>,
    /// How much each likes these places, and the most of it.
    weights: Vec<u64>,
    most: u64,
}

/// Where the pods below a group must share one domain.
struct Fence {
    /// By place, the domain; none where no new pod may stand.
    domains: Vec<Option<usize>>,
    /// The domain of the pods that have been placed, and their number.
    holds: (usize, usize),
}

/// One number that counts towards a span: the domains that a group uses at a level.
struct Counter {
    span: usize,
    /// By place, the domain.
    domains: Vec<usize>,
    /// By domain, the pods there.
    pods: Vec<usize>,
}

/// What a pod of a leaf counts for.
#[derive(Default)]
struct Above {
    groups: Vec<GroupId>,
    fences: Vec<usize>,
    counters: Vec<usize>,
}

struct Search<'a> {
    gang: &'a Gang,
    requirements: Vec<Requirement<'a>>,
    places: Vec<Place>,
    /// What is left of each node, and of each place that is a zone.
    nodes: Vec<Vec<i64>>,
    zones: Vec<Vec<Option<i64>>>,
    kinds: Vec<Kind<'a>>,
    fences: Vec<Fence>,
    counters: Vec<Counter>,
    above: Vec<Above>,
    /// By group, the bound pods of a leaf, the waiting ones, and those placed below the group.
    bound: Vec<usize>,
    waiting: Vec<usize>,
    placed: Vec<usize>,
    /// Waiting pods whose turn is still to come.
    left: usize,
    spans: Vec<u64>,
    liked: u64,
    best: Option<Best>,
    /// Any placement will do.
    any: bool,
    steps: u64,
}

impl<'a> Search<'a> {
    fn new(problem: &'a Problem, gang: usize, any: bool) -> Self {
        let cluster = &problem.cluster;
        let requirements = facts::requirements(cluster, &problem.gangs, gang);
        let nodes = facts::free(cluster, &problem.gangs, Some(gang));
        let zone = |place: &Place| facts::left_in_zone(cluster, &problem.gangs, gang, *place);
        let gang = &problem.gangs[gang];
        // All places that there are; which of them a pod may use is told by its kind.
        let mut places = facts::places(cluster, Zones::Ignored);
        places.extend(facts::places(cluster, Zones::Required));
        let mut search = Self {
            gang,
            nodes,
            zones: places.iter().map(zone).collect(),
            kinds: kinds(problem, gang, &places),
            fences: requirements.iter().map(|it| fence(problem, &places, it)).collect(),
            counters: Vec::new(),
            above: Vec::new(),
            bound: (0..gang.groups.len()).map(|group| facts::bound(gang, group)).collect(),
            waiting: (0..gang.groups.len()).map(|group| waiting(gang, group)).collect(),
            placed: vec![0; gang.groups.len()],
            left: gang.pods.iter().filter(|pod| pod.bound.is_none()).count(),
            spans: Vec::new(),
            liked: 0,
            best: None,
            any,
            steps: 0,
            requirements,
            places,
        };
        search.count_bound(problem);
        search
    }

    /// Sets the spans to what bound pods and holds use.
    fn count_bound(&mut self, problem: &Problem) {
        let (terms, spans) = facts::terms(self.gang);
        self.spans = vec![0; spans];
        for it in &terms {
            let stands = stands(problem, &self.places, it.topology, it.level);
            let domains = stands.iter().map(|stand| first(&stands, stand)).collect();
            self.counters.push(Counter { span: it.span, domains, pods: vec![0; self.places.len()] });
        }
        for group in 0..self.gang.groups.len() {
            let groups: Vec<GroupId> = self.gang.ancestry(group).collect();
            let fences = (0..self.fences.len()).filter(|it| groups.contains(&self.requirements[*it].group)).collect();
            let counters = (0..terms.len()).filter(|it| groups.contains(&terms[*it].group)).collect();
            self.above.push(Above { groups, fences, counters });
        }
        let bound = self.gang.pods.iter().filter_map(|pod| Some((pod.group, pod.bound?)));
        for (leaf, place) in bound.chain(self.gang.holds.iter().map(|hold| (hold.group, hold.place))) {
            let at = self.places.iter().position(|it| *it == place).expect("a place that exists");
            self.stand(leaf, at);
        }
    }

    /// Gives places to the pods of a kind from the `done`th on, none of them before the `from`th place of the kind.
    fn place(&mut self, kind: usize, done: usize, from: usize) {
        self.steps += 1;
        if self.steps > LIMIT || (self.any && self.best.is_some()) || !self.can_improve(kind, done) {
            return;
        }
        if kind == self.kinds.len() {
            self.best = Some(Best { members: self.placed[0], spans: self.spans.clone(), liked: self.liked });
            return;
        }
        let Kind { leaf, request, count, .. } = self.kinds[kind];
        if done < count {
            for nth in from..self.kinds[kind].places.len() {
                let at = self.kinds[kind].places[nth];
                if self.takes(at, request) && self.enter(leaf, at) {
                    self.charge(at, request, -1);
                    self.stand(leaf, at);
                    let liked = self.kinds[kind].weights[nth];
                    self.left -= 1;
                    self.liked += liked;
                    self.place(kind, done + 1, nth);
                    self.liked -= liked;
                    self.left += 1;
                    self.unstand(leaf, at);
                    self.charge(at, request, 1);
                    self.leave(leaf);
                }
            }
        }
        // The others of the kind get no place.
        self.left -= count - done;
        if self.viable(kind + 1) {
            self.place(kind + 1, 0, 0);
        }
        self.left += count - done;
    }

    /// Whether something better than the best can still come of what has been placed.
    fn can_improve(&self, kind: usize, done: usize) -> bool {
        let Some(best) = &self.best else { return true };
        let most = self.placed[0] + self.left;
        if most != best.members || self.spans != best.spans {
            return most > best.members || (most == best.members && self.spans < best.spans);
        }
        let open = self.kinds.iter().enumerate().skip(kind);
        let left = open.map(|(at, it)| it.most * (it.count - if at == kind { done } else { 0 }) as u64);
        self.liked + left.sum::<u64>() > best.liked
    }

    /// Whether the gang's minima can still be met, and no group has new pods that cannot be satisfied, when the first
    /// kinds have had their turn. Exact when all have.
    fn viable(&self, kinds: usize) -> bool {
        let open = self.kinds.get(kinds).map_or(self.gang.groups.len(), |kind| kind.leaf);
        let pods = |leaf: GroupId| self.bound[leaf] + if leaf >= open { self.waiting[leaf] } else { self.placed[leaf] };
        let satisfied = facts::satisfied(self.gang, &self.requirements, pods);
        satisfied[0] && satisfied.iter().zip(&self.placed).all(|(satisfied, placed)| *satisfied || *placed == 0)
    }

    fn takes(&self, at: usize, request: &[i64]) -> bool {
        let mut zone = self.zones[at].iter().zip(request);
        facts::fits(request, &self.nodes[self.places[at].node as usize])
            && zone.all(|(free, asked)| free.is_none_or(|free| *asked == 0 || *asked <= free))
    }

    fn charge(&mut self, at: usize, request: &[i64], sign: i64) {
        let node = &mut self.nodes[self.places[at].node as usize];
        for ((asked, node), zone) in request.iter().zip(node).zip(&mut self.zones[at]) {
            *node += sign * asked;
            if let Some(zone) = zone {
                *zone += sign * asked;
            }
        }
    }

    /// Takes a new pod of a leaf into the domains that its groups must share; false if one of them is elsewhere.
    fn enter(&mut self, leaf: GroupId, at: usize) -> bool {
        let opposed = |fence: &Fence| fence.domains[at].is_none_or(|it| fence.holds.1 > 0 && fence.holds.0 != it);
        if self.above[leaf].fences.iter().any(|it| opposed(&self.fences[*it])) {
            return false;
        }
        for it in &self.above[leaf].fences {
            let fence = &mut self.fences[*it];
            fence.holds = (fence.domains[at].expect("not opposed"), fence.holds.1 + 1);
        }
        for group in &self.above[leaf].groups {
            self.placed[*group] += 1;
        }
        true
    }

    fn leave(&mut self, leaf: GroupId) {
        for it in &self.above[leaf].fences {
            self.fences[*it].holds.1 -= 1;
        }
        for group in &self.above[leaf].groups {
            self.placed[*group] -= 1;
        }
    }

    /// Counts a pod, bound or new, in the domains that its groups use.
    fn stand(&mut self, leaf: GroupId, at: usize) {
        for it in &self.above[leaf].counters {
            let counter = &mut self.counters[*it];
            let pods = &mut counter.pods[counter.domains[at]];
            self.spans[counter.span] += u64::from(*pods == 0);
            *pods += 1;
        }
    }

    fn unstand(&mut self, leaf: GroupId, at: usize) {
        for it in &self.above[leaf].counters {
            let counter = &mut self.counters[*it];
            let pods = &mut counter.pods[counter.domains[at]];
            *pods -= 1;
            self.spans[counter.span] -= u64::from(*pods == 0);
        }
    }
}

fn waiting(gang: &Gang, leaf: GroupId) -> usize {
    gang.pods_of(leaf).filter(|(_, pod)| pod.bound.is_none()).count()
}

/// The waiting pods, leaf by leaf.
fn kinds<'a>(problem: &Problem, gang: &'a Gang, all: &[Place]) -> Vec<Kind<'a>> {
    let cluster = &problem.cluster;
    let mut pods: Vec<&Pod> = gang.pods.iter().filter(|pod| pod.bound.is_none()).collect();
    pods.sort_by_key(|pod| (pod.group, &pod.request, pod.eligibility));
    let alike = |a: &&Pod, b: &&Pod| (a.group, &a.request, a.eligibility) == (b.group, &b.request, b.eligibility);
    let kind = |pods: &[&'a Pod]| {
        let zones = facts::places(cluster, facts::zones(cluster, gang, pods[0].group));
        let allowed = &cluster.eligibility[pods[0].eligibility].allowed;
        let may = |at: &usize| zones.contains(&all[*at]) && allowed.contains(all[*at].node as usize);
        let places: Vec<usize> = (0..all.len()).filter(may).collect();
        let liked = &cluster.eligibility[pods[0].eligibility].weights;
        let weight = |at: &usize| liked.get(all[*at].node as usize).copied().map_or(0, u64::from);
        let weights: Vec<u64> = places.iter().map(weight).collect();
        let most = weights.iter().copied().max().unwrap_or(0);
        Kind { leaf: pods[0].group, request: &pods[0].request, count: pods.len(), places, weights, most }
    };
    pods.chunk_by(alike).map(kind).collect()
}

fn fence(problem: &Problem, places: &[Place], requirement: &Requirement) -> Fence {
    let stands = stands(problem, places, requirement.topology, requirement.level);
    let domain = |stand| requirement.allows(stand).then(|| first(&stands, stand));
    Fence { domains: stands.iter().map(domain).collect(), holds: (0, 0) }
}

fn stands<'a>(problem: &'a Problem, places: &[Place], topology: usize, level: usize) -> Vec<Stand<'a>> {
    places.iter().map(|place| facts::stand(&problem.cluster, topology, level, *place)).collect()
}

/// The first place that stands in the same domain, which is as good a name for it as any.
fn first(stands: &[Stand], stand: &Stand) -> usize {
    stands.iter().position(|other| other == stand).expect("it is one of them")
}
