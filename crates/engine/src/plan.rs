//! The answer: for each gang a decision, and how all of them are made in order.

use crate::cluster::{Cluster, NodeId, Place};
use crate::decide::{Decided, decide, fits};
use crate::exact::Found;
use crate::gang::{Gang, GangName};
use crate::job::Job;
use crate::proof::{Claim, DomainId, Proof};
use crate::snapshot::Snapshot;
use crate::state::Put;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::sync::Arc;

/// Decisions for all gangs of a problem, by the gangs' index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// One for each gang.
    pub decisions: Vec<Decision>,
}

/// What was decided for a gang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether its minima have a place.
    pub outcome: Outcome,
    /// Pods that are given a place, by index, with the place; sorted. Bound pods are not among them.
    pub placed: Vec<(usize, Place)>,
    /// Nodes that are kept for the gang while it waits, closed to gangs behind it; sorted.
    pub reserved: Vec<NodeId>,
    /// Steps that the decision took.
    pub steps: u64,
}

/// Whether a gang's minima have a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All of them, together.
    Placed,
    /// There is no such placement in the cluster as the whole plan leaves it.
    CannotFit(Proof),
    /// The budget of steps was spent before an answer was found.
    Undecided,
}

/// Limits of a plan.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Steps that the decision of one gang may take.
    pub budget: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { budget: 200_000 }
    }
}

/// Plans all gangs, in their order, on a cluster.
pub fn plan(cluster: &Cluster, gangs: &[Gang], options: Options) -> Plan {
    let mut snapshot = Snapshot::with_gangs(Arc::new(cluster.clone()), gangs);
    plan_on(&mut snapshot, gangs, options)
}

/// The gangs in the order they are taken: priority, age, name; a base before what is scaled from it.
pub fn order(gangs: &[Gang]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..gangs.len()).collect();
    order.sort_by_key(|gang| (Reverse(gangs[*gang].priority), gangs[*gang].created, &gangs[*gang].id));
    let by_name: FxHashMap<&GangName, usize> = gangs.iter().enumerate().map(|(i, gang)| (&gang.id, i)).collect();
    let mut taken = vec![false; gangs.len()];
    let mut result = Vec::with_capacity(gangs.len());
    for gang in order {
        let mut chain = vec![gang];
        // A chain of bases is at most as long as there are gangs; one that bites its tail ends there.
        while let Some(base) = gangs[*chain.last().unwrap_or(&gang)].base.as_ref().and_then(|base| by_name.get(base)) {
            if chain.contains(base) || taken[*base] {
                break;
            }
            chain.push(*base);
        }
        for gang in chain.into_iter().rev() {
            if !std::mem::replace(&mut taken[gang], true) {
                result.push(gang);
            }
        }
    }
    result
}

/// Plans all gangs on a snapshot in which their bound pods are charged; what is placed is charged afterwards.
pub fn plan_on(snapshot: &mut Snapshot, gangs: &[Gang], options: Options) -> Plan {
    plan_with(snapshot, gangs, options, &mut |_| {})
}

/// The same; `decided` hears of each gang when its minimum is decided, in order.
pub fn plan_with(snapshot: &mut Snapshot, gangs: &[Gang], options: Options, decided: &mut dyn FnMut(usize)) -> Plan {
    let mut planner = Planner {
        snapshot,
        gangs,
        options,
        by_name: gangs.iter().enumerate().map(|(i, gang)| (&gang.id, i)).collect(),
        decisions: vec![None; gangs.len()],
        rest: Vec::new(),
    };
    let order = order(gangs);
    for &gang in &order {
        planner.minimum(gang);
        decided(gang);
    }
    planner.remainders(&order);
    planner.proofs(&order);
    let unknown = Decision { outcome: Outcome::Undecided, placed: Vec::new(), reserved: Vec::new(), steps: 0 };
    let all = planner.decisions.into_iter().map(|planned| planned.map_or(unknown.clone(), |planned| planned.decision));
    Plan { decisions: all.collect() }
}

#[derive(Clone, Debug)]
struct Planned {
    decision: Decision,
    /// The snapshot's revision that a proof speaks of.
    revision: u64,
    /// The domain that was chosen for the root.
    root: Option<DomainId>,
}

struct Planner<'a> {
    snapshot: &'a mut Snapshot,
    gangs: &'a [Gang],
    options: Options,
    by_name: FxHashMap<&'a GangName, usize>,
    decisions: Vec<Option<Planned>>,
    /// Gangs with members above the minimum, and where these went while the gang stood alone.
    rest: Vec<(usize, Vec<(usize, Place)>)>,
}

impl Planner<'_> {
    /// Decides a gang and places its minimum.
    fn minimum(&mut self, index: usize) {
        let gang = &self.gangs[index];
        self.snapshot.forget();
        let (decided, steps, all, minimum) = match self.anchor(gang) {
            Ok(anchor) => self.decide(gang, anchor),
            Err(claim) => (Decided::CannotFit(claim), 0, Vec::new(), Vec::new()),
        };
        let mut root = None;
        let mut decision = Decision { outcome: Outcome::Undecided, placed: Vec::new(), reserved: Vec::new(), steps };
        match decided {
            Decided::Placed(found) => {
                decision.outcome = Outcome::Placed;
                let topology = gang.groups[0].constraint.map_or(0, |constraint| constraint.topology);
                let topology = u16::try_from(topology).unwrap_or(u16::MAX);
                root = found.confined[0].map(|index| DomainId { topology, index });
                for (pod, place) in &minimum {
                    self.snapshot.add(*place, &gang.pods[*pod].request);
                }
                let waiting = gang.pods.iter().filter(|pod| pod.bound.is_none()).count();
                if minimum.len() < waiting {
                    let rest = all.into_iter().filter(|put| minimum.binary_search(put).is_err()).collect();
                    self.rest.push((index, rest));
                }
                decision.placed = minimum;
            }
            Decided::CannotFit(proof) => decision.outcome = Outcome::CannotFit(proof),
            Decided::Undecided => {}
        }
        if gang.reserve && decision.outcome != Outcome::Placed {
            decision.reserved = self.reservation(index);
            self.snapshot.set_closed(&decision.reserved, true);
        }
        self.decisions[index] = Some(Planned { decision, revision: self.snapshot.revision(), root });
    }

    /// The decision with the pods of the whole placement and of its minimum.
    fn decide(&mut self, gang: &Gang, anchor: Option<DomainId>) -> (Decided, u64, Placed, Placed) {
        let none = Vec::new;
        let job = match Job::new(gang, anchor, self.snapshot) {
            Ok(job) => job,
            Err(claim) => return (Decided::CannotFit(claim), 0, none(), none()),
        };
        let (decided, steps) = decide(self.snapshot, &job, self.options.budget);
        let Decided::Placed(found) = &decided else { return (decided, steps, none(), none()) };
        let minimum = found.minimum(&job);
        let (all, minimum) = named(&job, found, &minimum);
        (decided, steps, all, minimum)
    }

    /// The domain that a scaled gang has to share with its base.
    fn anchor(&self, gang: &Gang) -> Result<Option<DomainId>, Claim> {
        let Some((base, index)) = gang.base.as_ref().and_then(|base| Some((base, *self.by_name.get(base)?))) else {
            return Ok(None);
        };
        let planned = self.decisions[index].as_ref().filter(|planned| planned.decision.outcome == Outcome::Placed);
        let Some(planned) = planned else { return Err(Claim::BaseWaits(base.clone())) };
        // A base of which nothing must be placed has chosen its domain all the same.
        Ok(anchor(self.snapshot, &self.gangs[index], &planned.decision)?.or(planned.root))
    }

    /// Nodes to keep for a gang that waits: where it would go if no gang had anything.
    fn reservation(&mut self, index: usize) -> Vec<NodeId> {
        let gang = &self.gangs[index];
        let mut empty = Snapshot::new(self.snapshot.cluster.clone());
        empty.add_bound(gang);
        let Ok(anchor) = self.anchor(gang) else { return Vec::new() };
        let Ok(job) = Job::new(gang, anchor, &mut empty) else { return Vec::new() };
        let (Decided::Placed(found), _) = decide(&mut empty, &job, self.options.budget) else { return Vec::new() };
        let mut nodes: Vec<NodeId> = found.puts.iter().map(|put| put.place.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// Places the members above the minimum, in the same order. Each sees what gangs in front of it reserve.
    fn remainders(&mut self, order: &[usize]) {
        let mut rest: FxHashMap<usize, Placed> = std::mem::take(&mut self.rest).into_iter().collect();
        for planned in self.decisions.iter().flatten() {
            self.snapshot.set_closed(&planned.decision.reserved, false);
        }
        for &index in order {
            let Some(mut planned) = self.decisions[index].take() else { continue };
            if let Some(rest) = rest.remove(&index) {
                let gang = &self.gangs[index];
                // Room only shrinks: what was best alone and still fits is best.
                let placed = if self.still_fits(gang, &rest) { rest } else { self.again(gang, &planned) };
                for (pod, place) in &placed {
                    self.snapshot.add(*place, &gang.pods[*pod].request);
                }
                planned.decision.placed.extend(placed);
                planned.decision.placed.sort_unstable();
            }
            self.snapshot.set_closed(&planned.decision.reserved, true);
            self.decisions[index] = Some(planned);
        }
    }

    fn still_fits(&mut self, gang: &Gang, rest: &[(usize, Place)]) -> bool {
        let mut put = 0;
        let mut fits = true;
        for (pod, place) in rest {
            fits = self.snapshot.takes(*place, &gang.pods[*pod].request);
            if !fits {
                break;
            }
            self.snapshot.charge(*place, &gang.pods[*pod].request, -1);
            put += 1;
        }
        for (pod, place) in &rest[..put] {
            self.snapshot.charge(*place, &gang.pods[*pod].request, 1);
        }
        fits
    }

    /// Plans the rest of a gang whose minimum has its place.
    fn again(&mut self, gang: &Gang, planned: &Planned) -> Placed {
        // Members that stand hold the root where it is; without any, those scaled from it rely on what was chosen.
        let is_begun = !planned.decision.placed.is_empty() || gang.pods.iter().any(|pod| pod.bound.is_some());
        let is_base = self.gangs.iter().any(|other| other.base.as_ref() == Some(&gang.id));
        let anchor = self.anchor(gang).ok().flatten().or(planned.root.filter(|_| is_base && !is_begun));
        let mut gang = gang.clone();
        for (pod, place) in &planned.decision.placed {
            gang.pods[*pod].bound = Some(*place);
        }
        let (_, _, all, _) = self.decide(&gang, anchor);
        all
    }

    /// Proofs speak of the cluster as the plan leaves it; those that were found earlier are made anew.
    fn proofs(&mut self, order: &[usize]) {
        let mut keepers: FxHashMap<NodeId, usize> = FxHashMap::default();
        for planned in self.decisions.iter().flatten() {
            planned.decision.reserved.iter().for_each(|node| *keepers.entry(*node).or_default() += 1);
        }
        for &index in order.iter().rev() {
            let Some(mut planned) = self.decisions[index].take() else { continue };
            // What this gang or one behind it reserves is open to it, unless one in front reserves it too.
            for node in &planned.decision.reserved {
                let keepers = keepers.entry(*node).or_default();
                *keepers -= 1;
                if *keepers == 0 {
                    self.snapshot.set_closed(&[*node], false);
                }
            }
            let is_old = planned.revision != self.snapshot.revision();
            if let Outcome::CannotFit(proof) = &planned.decision.outcome
                && is_old
                && !matches!(proof, Claim::Unready(_) | Claim::BaseWaits(_) | Claim::TooFewPods { .. })
            {
                let gang = &self.gangs[index];
                self.snapshot.forget();
                let anew = self.anchor(gang).and_then(|anchor| Job::new(gang, anchor, self.snapshot));
                planned.decision.outcome = match anew {
                    Err(claim) => Outcome::CannotFit(claim),
                    Ok(job) => match fits(self.snapshot, &job, self.options.budget) {
                        Decided::CannotFit(claim) => Outcome::CannotFit(claim),
                        Decided::Placed(_) | Decided::Undecided => Outcome::Undecided,
                    },
                };
            }
            self.decisions[index] = Some(planned);
        }
    }
}

/// The domain that the members of a base share at its root's required level.
pub(crate) fn anchor(snapshot: &Snapshot, base: &Gang, decision: &Decision) -> Result<Option<DomainId>, Claim> {
    let constraint = base.groups.first().and_then(|root| root.constraint);
    let Some((topology, level)) = constraint.and_then(|it| Some((it.topology, it.required?))) else { return Ok(None) };
    let bound = base.pods.iter().filter_map(|pod| pod.bound);
    let places = bound.chain(decision.placed.iter().map(|(_, place)| *place));
    let mut domains: Vec<u32> = places.map(|place| snapshot.domains[topology].at(place, level)).collect();
    domains.sort_unstable();
    domains.dedup();
    match domains.as_slice() {
        [] => Ok(None),
        [crate::domains::NONE] => Err(Claim::BoundApart { group: 0 }),
        [index] => Ok(Some(DomainId { topology: u16::try_from(topology).unwrap_or(u16::MAX), index: *index })),
        _ => Err(Claim::BoundApart { group: 0 }),
    }
}

/// Pods by index, sorted.
type Placed = Vec<(usize, Place)>;

/// Gives the places of a placement to pods by name, those of the minimum to the first.
fn named(job: &Job<'_>, found: &Found, minimum: &[Put]) -> (Placed, Placed) {
    let mut next: Vec<usize> = vec![0; job.batches.len()];
    let mut all = Vec::new();
    let mut give = |put: &Put, amount: usize, to: &mut Vec<(usize, Place)>| {
        let pods = &job.batches[put.batch].pods;
        let from = next[put.batch];
        to.extend(pods[from..from + amount].iter().map(|pod| (*pod, put.place)));
        next[put.batch] += amount;
    };
    for put in minimum {
        give(put, put.amount as usize, &mut all);
    }
    let mut first = all.clone();
    first.sort_unstable();
    let mut kept: Vec<Put> = minimum.to_vec();
    for put in &found.puts {
        let same = kept.iter_mut().find(|kept| (kept.batch, kept.place) == (put.batch, put.place) && kept.amount > 0);
        let taken = same.map_or(0, |kept| {
            let taken = kept.amount.min(put.amount);
            kept.amount -= taken;
            taken
        });
        give(put, (put.amount - taken) as usize, &mut all);
    }
    all.sort_unstable();
    (all, first)
}
