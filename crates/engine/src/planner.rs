//! How decisions are made in order: the minima of all gangs, then the rest of all, and at the end the proofs.

mod family;

use crate::cluster::{NodeId, Place};
use crate::decide::{Decided, decide, fits};
use crate::exact::Found;
use crate::gang::{Gang, GangName};
use crate::holds::{self, Holds};
use crate::job::Job;
use crate::plan::{Decision, Options, Outcome};
use crate::proof::{Claim, DomainId};
use crate::snapshot::Snapshot;
use crate::state::Put;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
struct Planned {
    decision: Decision,
    /// The number of changes that there had been when it was last decided.
    revision: u64,
    /// The domain that was chosen for the root.
    root: Option<DomainId>,
}

pub(crate) struct Planner<'a> {
    snapshot: &'a mut Snapshot,
    gangs: &'a [Gang],
    options: Options,
    by_name: FxHashMap<&'a GangName, usize>,
    /// For each base those that are scaled from it.
    families: BTreeMap<usize, Vec<usize>>,
    decisions: Vec<Option<Planned>>,
    /// Gangs with members above the minimum, and where these went while the gang stood alone, if that is known.
    rest: Vec<(usize, Option<Placed>)>,
    holds: Holds<'a>,
    /// Counts what changes for others: pods placed, nodes closed and opened.
    revision: u64,
    /// Steps that may still go into finding better places for bases than those they would have alone.
    effort: u64,
    /// Held room that nobody needs any more: the highest priority that it was held with, and since when.
    given_back: Option<(i32, u64)>,
}

impl<'a> Planner<'a> {
    pub fn new(snapshot: &'a mut Snapshot, gangs: &'a [Gang], options: Options) -> Self {
        let by_name: FxHashMap<&GangName, usize> = gangs.iter().enumerate().map(|(i, gang)| (&gang.id, i)).collect();
        let mut families: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, gang) in gangs.iter().enumerate() {
            if let Some(base) = gang.base.as_ref().and_then(|base| by_name.get(base)) {
                families.entry(*base).or_default().push(index);
            }
        }
        Self {
            snapshot,
            gangs,
            options,
            by_name,
            families,
            decisions: vec![None; gangs.len()],
            rest: Vec::new(),
            holds: Holds::new(gangs),
            revision: 0,
            effort: options.effort.min(options.budget.saturating_mul(2)),
            given_back: None,
        }
    }

    /// The decisions, by the gangs' index.
    pub fn finish(mut self) -> Vec<Decision> {
        self.holds.hide(self.snapshot);
        let unknown = Decision { outcome: Outcome::Undecided, placed: Vec::new(), reserved: Vec::new(), steps: 0 };
        let decisions = self.decisions.into_iter();
        decisions.map(|planned| planned.map_or(unknown.clone(), |planned| planned.decision)).collect()
    }

    /// Makes the cluster what a gang sees of it: the holds of others, and no reservation where it has holds itself.
    /// The nodes that were opened for it are to be closed again.
    fn show(&mut self, index: usize) -> Vec<NodeId> {
        self.snapshot.forget();
        self.holds.show(self.snapshot, self.gangs, index);
        let mut nodes = holds::nodes(&self.gangs[index]);
        nodes.retain(|node| self.snapshot.closed[*node as usize]);
        self.snapshot.set_closed(&nodes, false);
        nodes
    }

    /// Charges pods that are placed now; `all` of the gang are placed with them.
    fn put(&mut self, index: usize, placed: &[(usize, Place)], all: &[(usize, Place)]) {
        let gang = &self.gangs[index];
        if placed.is_empty() {
            return;
        }
        self.revision += 1;
        for (pod, place) in placed {
            self.snapshot.add(*place, &gang.pods[*pod].request);
        }
        if self.holds.place(self.snapshot, gang, index, all) {
            let highest = self.given_back.map_or(gang.priority, |(priority, _)| priority.max(gang.priority));
            self.given_back = Some((highest, self.revision));
        }
    }

    /// Closes nodes to those who are planned from now on, or opens them again.
    fn set_closed(&mut self, nodes: &[NodeId], closed: bool) {
        self.revision += u64::from(!nodes.is_empty());
        self.snapshot.set_closed(nodes, closed);
    }

    /// Decides a gang and places its minimum, or reserves nodes for it.
    pub fn minimum(&mut self, index: usize) {
        let mut planned = self.first(index);
        if self.gangs[index].reserve && planned.decision.outcome != Outcome::Placed {
            planned.decision.reserved = self.reservation(index);
            self.set_closed(&planned.decision.reserved, true);
            planned.revision = self.revision;
        }
        self.decisions[index] = Some(planned);
    }

    /// Decides a gang and places its minimum.
    fn first(&mut self, index: usize) -> Planned {
        let gang = &self.gangs[index];
        let opened = self.show(index);
        let (decided, steps, all, mut minimum) = match self.anchor(gang) {
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
                let (moved, steps) = self.for_family(index, root, &minimum);
                decision.steps += steps;
                let is_moved = moved.is_some();
                if let Some(moved) = moved {
                    (minimum, root) = (moved.minimum, Some(moved.root));
                }
                self.put(index, &minimum, &minimum);
                let waiting = gang.pods.iter().filter(|pod| pod.bound.is_none()).count();
                if minimum.len() < waiting {
                    let rest = all.into_iter().filter(|put| minimum.binary_search(put).is_err()).collect();
                    self.rest.push((index, Some(rest).filter(|_| !is_moved)));
                }
                decision.placed = minimum;
            }
            Decided::CannotFit(proof) => decision.outcome = Outcome::CannotFit(proof),
            Decided::Undecided => {}
        }
        self.snapshot.set_closed(&opened, true);
        Planned { decision, revision: self.revision, root }
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
        let Some(planned) = self.decisions[index].as_ref().filter(|_| self.is_there(index)) else {
            return Err(Claim::BaseWaits(base.clone()));
        };
        // A base of which nothing must be placed has chosen its domain all the same.
        Ok(anchor(self.snapshot, &self.gangs[index], &planned.decision)?.or(planned.root))
    }

    /// Whether a base has a place that others can follow.
    fn is_there(&self, base: usize) -> bool {
        let planned = self.decisions[base].as_ref();
        planned.is_some_and(|it| it.decision.outcome == Outcome::Placed || self.gangs[base].leads())
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
    pub fn remainders(&mut self, order: &[usize]) {
        let mut rest: FxHashMap<usize, Option<Placed>> = std::mem::take(&mut self.rest).into_iter().collect();
        self.open_all();
        for &index in order {
            let Some(mut planned) = self.decisions[index].take() else { continue };
            if let Some(rest) = rest.remove(&index) {
                let gang = &self.gangs[index];
                let opened = self.show(index);
                // Room only shrinks, unless holds are given back: what was best alone and still fits is best.
                let may_gain = may_gain(gang, &planned, self.given_back);
                let rest = rest.filter(|rest| !may_gain && self.still_fits(gang, rest));
                let placed = rest.unwrap_or_else(|| self.again(gang, &planned));
                planned.decision.placed.extend(&placed);
                planned.decision.placed.sort_unstable();
                self.put(index, &placed, &planned.decision.placed);
                planned.revision = self.revision;
                self.snapshot.set_closed(&opened, true);
            }
            self.set_closed(&planned.decision.reserved, true);
            self.decisions[index] = Some(planned);
        }
    }

    /// Opens all that is reserved.
    fn open_all(&mut self) {
        for index in 0..self.decisions.len() {
            let reserved = self.decisions[index].as_ref().map_or(Vec::new(), |it| it.decision.reserved.clone());
            self.set_closed(&reserved, false);
        }
    }

    /// Offers held room that was given back to those who were decided while it was held: minima first, then the rest.
    /// A further round follows only if a hold is used up or a gang is placed that had nodes reserved, so there are few.
    pub fn offer_again(&mut self, order: &[usize]) {
        while let Some(given_back) = self.given_back.take() {
            self.open_all();
            for &index in order {
                let gang = &self.gangs[index];
                let Some(mut planned) = self.decisions[index].take() else { continue };
                let is_placed = planned.decision.outcome == Outcome::Placed;
                let may_gain = may_gain(gang, &planned, Some(given_back));
                let waiting = gang.pods.iter().filter(|pod| pod.bound.is_none()).count();
                if is_placed && may_gain && planned.decision.placed.len() < waiting {
                    self.rest.push((index, None));
                }
                // One that is scaled may have waited for its base alone.
                if !is_placed && (may_gain || gang.base.is_some()) {
                    let reserved = planned.decision.reserved;
                    planned = self.first(index);
                    if planned.decision.outcome != Outcome::Placed {
                        // Gangs behind it have been placed by what it reserved before.
                        planned.decision.reserved = reserved;
                    } else if !reserved.is_empty() {
                        self.revision += 1;
                        self.given_back = Some((i32::MAX, self.revision));
                    }
                }
                self.set_closed(&planned.decision.reserved, true);
                self.decisions[index] = Some(planned);
            }
            self.remainders(order);
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
        let stands = !gang.holds.is_empty() || gang.pods.iter().any(|pod| pod.bound.is_some());
        let is_begun = stands || !planned.decision.placed.is_empty();
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
    pub fn proofs(&mut self, order: &[usize]) {
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
                    self.set_closed(&[*node], false);
                }
            }
            let is_old = planned.revision != self.revision;
            if let Outcome::CannotFit(proof) = &planned.decision.outcome
                && is_old
                && !matches!(proof, Claim::Unready(_) | Claim::BaseWaits(_) | Claim::TooFewPods { .. })
            {
                let gang = &self.gangs[index];
                let opened = self.show(index);
                let anew = self.anchor(gang).and_then(|anchor| Job::new(gang, anchor, self.snapshot));
                planned.decision.outcome = match anew {
                    Err(claim) => Outcome::CannotFit(claim),
                    Ok(job) => match fits(self.snapshot, &job, self.options.budget).0 {
                        Decided::CannotFit(claim) => Outcome::CannotFit(claim),
                        Decided::Placed(_) | Decided::Undecided => Outcome::Undecided,
                    },
                };
                self.snapshot.set_closed(&opened, true);
            }
            self.decisions[index] = Some(planned);
        }
    }
}

/// Whether held room was given back that a gang did not have when it was decided.
fn may_gain(gang: &Gang, planned: &Planned, given_back: Option<(i32, u64)>) -> bool {
    given_back.is_some_and(|(priority, since)| planned.revision < since && gang.priority <= priority)
}

/// The domain that the members of a base, and what is held for them, share at its root's required level.
pub(crate) fn anchor(snapshot: &Snapshot, base: &Gang, decision: &Decision) -> Result<Option<DomainId>, Claim> {
    let constraint = base.groups.first().and_then(|root| root.constraint);
    let Some((topology, level)) = constraint.and_then(|it| Some((it.topology, it.required?))) else { return Ok(None) };
    let bound = base.pods.iter().filter_map(|pod| pod.bound).chain(base.holds.iter().map(|hold| hold.place));
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
pub(crate) type Placed = Vec<(usize, Place)>;

/// Gives the places of a placement to pods by name, those of the minimum to the first.
pub(crate) fn named(job: &Job<'_>, found: &Found, minimum: &[Put]) -> (Placed, Placed) {
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
