//! The integer program: how many pods of a kind stand at a place is a whole number; whether a group is satisfied, which
//! domain it is confined to and which domains it uses are yes or no.

use crate::placement::Problem;
use crate::placement::facts::{self, Requirement, Stand, Term};
use good_lp::{Constraint, Expression, ProblemVariables, Variable, constraint, variable};
use std::collections::BTreeMap;
use trellis_engine::{Gang, GroupId, Members, NodeId, Place, Pod};

/// An integer program for one gang.
#[derive(Default)]
pub(super) struct Model {
    pub variables: ProblemVariables,
    pub constraints: Vec<Constraint>,
    /// New pods.
    pub members: Expression,
    /// Domains used.
    pub spans: Vec<Expression>,
    /// What follows if all pods are placed. Solvers are slow to see it.
    pub cuts: Vec<Constraint>,
    /// How much new pods like their nodes, and a number that this cannot exceed.
    pub liked: Expression,
    pub most_liked: u32,
}

/// Pods that cannot be told apart, and their number at each place with the most that it can be.
struct Kind<'a> {
    leaf: GroupId,
    request: &'a [i64],
    weights: &'a [u32],
    count: u32,
    at: Vec<(Place, Variable, u32)>,
}

/// The problem as the model looks at it.
struct View<'a> {
    problem: &'a Problem,
    index: usize,
    gang: &'a Gang,
    free: Vec<Vec<i64>>,
    kinds: Vec<Kind<'a>>,
}

impl Model {
    pub(super) fn new(problem: &Problem, gang: usize) -> Self {
        let requirements = facts::requirements(&problem.cluster, &problem.gangs, gang);
        let free = facts::free(&problem.cluster, &problem.gangs, Some(gang));
        let mut view = View { problem, index: gang, gang: &problem.gangs[gang], free, kinds: Vec::new() };
        let mut model = Self::default();
        view.kinds = model.kinds(&view);
        model.members = view.kinds.iter().flat_map(|kind| &kind.at).map(|(_, pods, _)| *pods).sum();
        for kind in &view.kinds {
            let weight = |place: &Place| kind.weights.get(place.node as usize).copied().unwrap_or(0);
            let terms = kind.at.iter().map(|(place, pods, _)| f64::from(weight(place)) * *pods);
            model.liked += terms.sum::<Expression>();
            model.most_liked += kind.count * kind.at.iter().map(|(place, ..)| weight(place)).max().unwrap_or(0);
        }
        model.respect_capacity(&view);
        model.satisfy(&view, &requirements);
        for requirement in &requirements {
            model.confine(&view, requirement);
        }
        let (terms, spans) = facts::terms(view.gang);
        model.spans = vec![Expression::default(); spans];
        for term in &terms {
            model.count_domains(&view, term);
        }
        model.break_symmetry(&view, &requirements);
        model
    }

    fn kinds<'a>(&mut self, view: &View<'a>) -> Vec<Kind<'a>> {
        let cluster = &view.problem.cluster;
        let mut alike: BTreeMap<(GroupId, &[i64], usize), u32> = BTreeMap::new();
        for Pod { group, request, eligibility, .. } in view.gang.pods.iter().filter(|pod| pod.bound.is_none()) {
            *alike.entry((*group, request, *eligibility)).or_default() += 1;
        }
        let mut kinds = Vec::new();
        for ((leaf, request, eligibility), count) in alike {
            let mut at = Vec::new();
            for place in facts::places(cluster, facts::zones(cluster, view.gang, leaf)) {
                let allowed = cluster.eligibility[eligibility].allowed.contains(place.node as usize);
                let fit = |count: &u32| alone(request, *count, &view.free[place.node as usize]);
                if let Some(most) = (1..=count).take_while(fit).last().filter(|_| allowed) {
                    at.push((place, self.variables.add(variable().integer().bounds(0..=most)), most));
                }
            }
            let all: Expression = at.iter().map(|(_, pods, _)| *pods).sum();
            self.constraints.push(constraint!(all <= count));
            let weights = &view.problem.cluster.eligibility[eligibility].weights;
            kinds.push(Kind { leaf, request, weights, count, at });
        }
        kinds
    }

    fn respect_capacity(&mut self, view: &View) {
        for resource in 0..view.problem.cluster.resources.len() {
            for (node, id) in view.problem.cluster.nodes.iter().zip(0..) {
                self.limit(&view.kinds, resource, view.free[id as usize][resource], |place| place.node == id);
                // Follows from the limits in whole numbers, not in fractions.
                for group in 0..view.gang.groups.len() {
                    let (new, most) = view.pods(group, |place| place.node == id);
                    self.constraints.push(constraint!(new <= most));
                }
                for (_, n) in node.zones.iter().zip(0..) {
                    let zone = Place { node: id, zone: Some(n) };
                    let left = facts::left_in_zone(&view.problem.cluster, &view.problem.gangs, view.index, zone);
                    if let Some(free) = left[resource] {
                        self.limit(&view.kinds, resource, free, |place| place == zone);
                    }
                }
            }
        }
    }

    /// Pods at some places ask for no more of a resource than is free there.
    fn limit(&mut self, kinds: &[Kind], resource: usize, free: i64, here: impl Fn(Place) -> bool) {
        // In units that divide all amounts asked for, so that numbers stay small and exact.
        let unit = kinds.iter().map(|kind| kind.request[resource]).fold(0, gcd).max(1);
        let mut asked = Expression::default();
        let mut most = 0.0;
        for kind in kinds {
            let each = exact(kind.request[resource] / unit);
            for (_, pods, bound) in kind.at.iter().filter(|(place, _, _)| each > 0.0 && here(*place)) {
                asked += each * *pods;
                most += each * f64::from(*bound);
            }
        }
        let free = exact((free.max(0) / unit).min(i64::from(u32::MAX)));
        if most > free {
            self.constraints.push(constraint!(asked <= free));
        }
    }

    /// The minima: groups with new pods, and the root, are satisfied.
    fn satisfy(&mut self, view: &View, requirements: &[Requirement]) {
        let View { gang, .. } = *view;
        let satisfied: Vec<Variable> = gang.groups.iter().map(|_| self.variables.add(variable().binary())).collect();
        self.constraints.push(constraint!(satisfied[0] == 1));
        for (group, it) in gang.groups.iter().enumerate() {
            if requirements.iter().any(|it| it.group == group && it.is_broken()) {
                self.constraints.push(constraint!(satisfied[group] == 0));
            }
            let (new, most) = view.pods(group, |_| true);
            match it.members {
                Members::Pods { min } => {
                    let bound = whole(facts::bound(gang, group));
                    self.constraints.push(constraint!(new.clone() + bound >= whole(min) * satisfied[group]));
                }
                Members::Groups { min } => {
                    let children: Expression = gang.children(group).map(|child| satisfied[child]).sum();
                    self.constraints.push(constraint!(children >= whole(min) * satisfied[group]));
                }
            }
            self.constraints.push(constraint!(new <= most * satisfied[group]));
        }
    }

    /// All new pods below a group stand in one domain, that of the bound ones.
    fn confine(&mut self, view: &View, requirement: &Requirement) {
        let stand = |place| facts::stand(&view.problem.cluster, requirement.topology, requirement.level, place);
        let mut chosen = Expression::default();
        for domain in view.stands(requirement.group, stand) {
            let (new, most) = view.pods(requirement.group, |place| stand(place) == domain);
            if requirement.allows(&domain) {
                let here = self.variables.add(variable().binary());
                self.constraints.push(constraint!(new <= most * here));
                chosen += here;
            } else {
                self.constraints.push(constraint!(new <= 0));
            }
        }
        self.constraints.push(constraint!(chosen <= 1));
    }

    /// Counts the domains that the pods of a group use at a level.
    fn count_domains(&mut self, view: &View, term: &Term) {
        let stand = |place| facts::stand(&view.problem.cluster, term.topology, term.level, place);
        let below = |pod: &&Pod| view.gang.ancestry(pod.group).any(|group| group == term.group);
        let all = view.gang.pods.iter().filter(below);
        let held = view.gang.holds.iter().filter(|hold| view.gang.ancestry(hold.group).any(|it| it == term.group));
        let held: Vec<Place> = held.map(|hold| hold.place).collect();
        let bound = all.clone().filter_map(|pod| pod.bound).chain(held.iter().copied());
        let bound: Vec<Stand> = bound.map(stand).collect();
        let mut used = Expression::default();
        let mut room = Vec::new();
        let mut stands = view.stands(term.group, stand);
        stands.extend(bound.iter().cloned());
        stands.sort();
        stands.dedup();
        for domain in stands {
            let (new, most) = view.pods(term.group, |place| stand(place) == domain);
            let there = bound.iter().filter(|it| **it == domain).count();
            room.push(most + whole(there));
            if there > 0 {
                used += 1.0;
            } else {
                let here = self.variables.add(variable().binary());
                self.constraints.push(constraint!(new <= most * here));
                used += here;
            }
        }
        // So many domains are needed at least, even if the largest are used.
        room.sort_by(|a, b| b.total_cmp(a));
        let mut left = whole(all.count() + held.len());
        let least = room.iter().take_while(|room| (left > 0.0, left -= **room).0).count();
        self.cuts.push(constraint!(used.clone() >= whole(least)));
        self.spans[term.span] += used;
    }

    /// Of nodes that could change places without any difference, the first takes most.
    fn break_symmetry(&mut self, view: &View, requirements: &[Requirement]) {
        let nodes = view.problem.cluster.nodes.len();
        let ids = || (0..).take(nodes);
        for (a, b) in ids().flat_map(|a| ids().filter(move |b| a < *b).map(move |b| (a, b))) {
            if view.exchangeable(a, b, requirements) {
                let load = |node: NodeId| {
                    let weighted = |(weight, kind): (usize, &Kind)| {
                        let at = kind.at.iter().find(|(place, _, _)| place.node == node);
                        at.map(|(_, pods, _)| whole(weight + 1) * *pods)
                    };
                    view.kinds.iter().enumerate().filter_map(weighted).sum::<Expression>()
                };
                self.constraints.push(constraint!(load(a) >= load(b)));
            }
        }
    }
}

impl View<'_> {
    /// The new pods of a group at some places, and the most that there can be.
    fn pods(&self, group: GroupId, here: impl Fn(Place) -> bool) -> (Expression, f64) {
        let mut sum = Expression::default();
        let mut most: BTreeMap<NodeId, (u32, Vec<&[i64]>)> = BTreeMap::new();
        for kind in self.kinds.iter().filter(|kind| self.gang.ancestry(kind.leaf).any(|above| above == group)) {
            for (place, pods, bound) in kind.at.iter().filter(|(place, _, _)| here(*place)) {
                sum += *pods;
                let (most, requests) = most.entry(place.node).or_default();
                *most += bound;
                requests.push(kind.request);
            }
        }
        // No more of them than there would be if each asked only for the least of each resource.
        let most = most.iter().map(|(node, (most, requests))| {
            let least = |resource| requests.iter().map(|request| request[resource]).min().unwrap_or(0);
            let least: Vec<i64> = (0..self.problem.cluster.resources.len()).map(least).collect();
            let fit = |count: &u32| alone(&least, *count, &self.free[*node as usize]);
            f64::from((1..=*most).take_while(fit).last().unwrap_or(0))
        });
        (sum, most.sum())
    }

    /// Where new pods of a group could stand, each stand once.
    fn stands<'a>(&self, group: GroupId, stand: impl Fn(Place) -> Stand<'a>) -> Vec<Stand<'a>> {
        let below = self.kinds.iter().filter(|kind| self.gang.ancestry(kind.leaf).any(|above| above == group));
        let mut stands: Vec<Stand> = below.flat_map(|kind| &kind.at).map(|(place, _, _)| stand(*place)).collect();
        stands.sort();
        stands.dedup();
        stands
    }

    /// Whether two nodes have the same room, the same neighbours and no pods or holds of the gang's.
    fn exchangeable(&self, a: NodeId, b: NodeId, requirements: &[Requirement]) -> bool {
        let cluster = &self.problem.cluster;
        let node = |id: NodeId| &cluster.nodes[id as usize];
        let open = |id: NodeId| {
            let at = id as usize;
            cluster.eligibility.iter().map(move |it| (it.allowed.contains(at), it.weights.get(at).copied()))
        };
        // A domain that is the node alone may change places with it, unless pods that bind the gang stand there.
        let alone = |id: NodeId, topology: usize, level: usize| {
            let Some(own) = node(id).paths[topology].get(..=level) else { return true };
            let share = |other: &NodeId| node(*other).paths[topology].get(..=level) == Some(own);
            (0..).take(cluster.nodes.len()).filter(share).count() == 1
        };
        let level = |topology: usize, level: usize| {
            let (a_value, b_value) = (node(a).paths[topology].get(..=level), node(b).paths[topology].get(..=level));
            a_value == b_value
                || (a_value.is_some() && b_value.is_some() && alone(a, topology, level) && alone(b, topology, level))
        };
        let mut levels =
            cluster.topologies.iter().enumerate().flat_map(|(n, it)| (0..it.levels.len()).map(move |l| (n, l)));
        let free = |id: NodeId| &self.free[id as usize];
        let is_one = |place: Place| place.node == a || place.node == b;
        let bound = |pod: &Pod| pod.bound.is_some_and(is_one);
        // Bound pods of the base count too; they are seen in what they require.
        let stands = !self.gang.holds.is_empty() || self.gang.pods.iter().any(|pod| pod.bound.is_some());
        let required = |it: &Requirement| it.bound.len() == 1 && !stands;
        free(a) == free(b)
            && open(a).eq(open(b))
            && node(a).zones.is_empty()
            && node(b).zones.is_empty()
            && levels.all(|(topology, it)| level(topology, it))
            && !self.gang.pods.iter().any(bound)
            && !self.gang.holds.iter().any(|hold| is_one(hold.place))
            && !requirements.iter().any(required)
    }
}

/// Whether so many pods fit side by side.
fn alone(request: &[i64], count: u32, free: &[i64]) -> bool {
    let all: Vec<i64> = request.iter().map(|asked| asked * i64::from(count)).collect();
    facts::fits(&all, free)
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

pub(super) fn whole(n: usize) -> f64 {
    u32::try_from(n).map(f64::from).expect("a small number")
}

fn exact(n: i64) -> f64 {
    u32::try_from(n).map(f64::from).expect("a small number")
}
