//! Who has to leave: whole gangs of lower priority, as few pods as can be found, those under a budget last.
//!
//! With all of them away the gang must fit, else nobody leaves. The candidates are then looked at domain by domain of what the gang
//! requires, and in each as many are spared as can be, the largest first. Small choices are tried outright after that.

use super::{budgets, is_evictable, sorted};
use crate::begun::domain;
use crate::decide::Round;
use crate::picture::{Object, Picture};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use trellis_engine::{Gang, Options, Place, fits_without};

/// So many questions may be asked of the engine in one decision.
const QUESTIONS: usize = 400;
/// So many domains are looked at for one gang.
const DOMAINS: usize = 16;
/// So many gangs can be looked at all together.
const FEW: usize = 32;
/// Steps that an answer may take; a gang that is not found to fit within them preempts nobody.
const BUDGET: u64 = 50_000;

/// Who leaves, and where the gang goes then.
pub(super) struct Found {
    pub victims: Vec<usize>,
    pub places: Vec<(usize, Place)>,
}

/// Gangs that leave together: a base takes what is scaled from it along.
struct Unit {
    gangs: Vec<usize>,
    pods: usize,
    priority: i32,
    /// How many of the pods are under each budget.
    under: Vec<usize>,
    /// Whether that alone breaks one.
    is_protected: bool,
}

/// The search of one decision.
pub(super) struct Search {
    questions: usize,
    /// Gangs that leave already.
    taken: BTreeSet<usize>,
    /// How many more pods each budget lets go.
    allowed: Vec<usize>,
    scaled: HashMap<usize, Vec<usize>>,
    lowest: Option<i32>,
    /// Gangs like these have found nobody.
    hopeless: BTreeSet<String>,
}

impl Search {
    pub fn new(picture: &Picture<'_>) -> Self {
        let mut scaled: HashMap<usize, Vec<usize>> = HashMap::new();
        for (at, gang) in picture.gangs.iter().enumerate() {
            let base = gang.base.as_ref().and_then(|base| position(&picture.gangs, base));
            if let Some(base) = base.filter(|_| gang.pods.iter().any(|pod| pod.bound.is_some())) {
                scaled.entry(base).or_default().push(at);
            }
        }
        let lowest = (0..picture.gangs.len()).filter(|gang| is_evictable(picture, *gang));
        let lowest = lowest.map(|gang| picture.gangs[gang].priority).min();
        let (taken, hopeless) = (BTreeSet::new(), BTreeSet::new());
        Self { questions: 0, taken, allowed: budgets::allowed(picture), scaled, lowest, hopeless }
    }

    /// Who has to leave for a gang; none if that would not help.
    pub fn find(&mut self, picture: &Picture<'_>, gang: usize, round: &mut Round) -> Option<Found> {
        let priority = picture.gangs[gang].priority;
        if self.lowest.is_none_or(|lowest| lowest >= priority) || self.questions >= QUESTIONS {
            return None;
        }
        let shape = shape(&picture.gangs[gang]);
        if self.hopeless.contains(&shape) {
            return None;
        }
        let units = self.units(picture, gang, round);
        let everyone: Vec<usize> = (0..units.len()).collect();
        let mut quest = Quest { search: self, picture, gang, round, units: &units };
        let Some(found) = quest.best(&everyone) else {
            self.hopeless.insert(shape);
            return None;
        };
        if found.victims.is_empty() {
            // There will be room once those have left that leave already.
            return None;
        }
        // It needs those, too, that leave for somebody else who was looked at before, where they are on its places.
        let nodes: BTreeSet<u32> = found.places.iter().map(|(_, place)| place.node).collect();
        let is_there = |gang: &&usize| {
            let mut places = picture.gangs[**gang].pods.iter().filter_map(|pod| pod.bound);
            places.any(|place| nodes.contains(&place.node))
        };
        let others: Vec<usize> = self.taken.iter().filter(is_there).copied().collect();
        self.taken.extend(&found.victims);
        let under = budgets::under(picture, &found.victims);
        self.allowed.iter_mut().zip(under).for_each(|(allowed, under)| *allowed = allowed.saturating_sub(under));
        Some(Found { victims: sorted([found.victims, others].concat()), ..found })
    }

    fn units(&self, picture: &Picture<'_>, gang: usize, round: &Round) -> Vec<Unit> {
        let priority = picture.gangs[gang].priority;
        let base = picture.gangs[gang].base.as_ref().and_then(|base| position(&picture.gangs, base));
        let may_go = |at: usize| {
            at != gang
                && Some(at) != base
                && picture.gangs[at].priority < priority
                && !self.taken.contains(&at)
                && round.engine.decisions[at].placed.is_empty()
                && is_evictable(picture, at)
        };
        let mut units = Vec::new();
        for at in (0..picture.gangs.len()).filter(|at| may_go(*at)) {
            let along = self.scaled.get(&at).map(Vec::as_slice).unwrap_or_default();
            if !along.iter().all(|at| may_go(*at)) {
                continue;
            }
            let gangs: Vec<usize> = std::iter::once(at).chain(along.iter().copied()).collect();
            let priority = gangs.iter().map(|at| picture.gangs[*at].priority).max().unwrap_or(priority);
            let under = budgets::under(picture, &gangs);
            let is_protected = budgets::broken(&self.allowed, &[&under]) > 0;
            units.push(Unit { pods: pods(picture, &gangs), gangs, priority, under, is_protected });
        }
        units
    }
}

/// The search for one gang.
struct Quest<'a, 's> {
    search: &'a mut Search,
    picture: &'a Picture<'s>,
    gang: usize,
    round: &'a mut Round,
    units: &'a [Unit],
}

/// How bad a choice is: budgets broken, pods, gangs, the most important of them.
type Cost = (usize, usize, usize, i32);

/// What it costs, which units leave, and where the gang goes then.
type Choice = (Cost, Vec<usize>, Vec<(usize, Place)>);

impl Quest<'_, '_> {
    fn best(&mut self, everyone: &[usize]) -> Option<Found> {
        let places = self.ask(everyone)?;
        let unprotected: Vec<usize> = everyone.iter().copied().filter(|unit| !self.units[*unit].is_protected).collect();
        let mut choices = vec![self.on_nodes_of(&places, everyone)];
        if unprotected.len() < everyone.len() {
            let places = self.ask(&unprotected);
            choices.extend(places.map(|places| self.on_nodes_of(&places, &unprotected)));
        }
        choices.extend(self.by_domain());
        let mut best = None;
        choices.into_iter().for_each(|choice| self.improve(choice, &mut best));
        if best.is_none() || everyone.len() <= FEW {
            self.improve(everyone.to_vec(), &mut best);
        }
        self.try_small(&mut best);
        let (_, units, places) = best?;
        Some(Found { victims: self.gangs_of(&units), places })
    }

    /// Where the gang would go without these; none if it would not fit.
    fn ask(&mut self, units: &[usize]) -> Option<Vec<(usize, Place)>> {
        if self.search.questions >= QUESTIONS {
            return None;
        }
        self.search.questions += 1;
        let mut victims = self.gangs_of(units);
        victims.extend(self.search.taken.iter().filter(|taken| **taken != self.gang));
        let victims = sorted(victims);
        let options = Options { budget: self.round.options.budget.min(BUDGET), ..self.round.options };
        let Round { snapshot, engine, .. } = &mut *self.round;
        fits_without(snapshot, &self.picture.gangs, engine, self.gang, &victims, options)
    }

    fn gangs_of(&self, units: &[usize]) -> Vec<usize> {
        sorted(units.iter().flat_map(|unit| self.units[*unit].gangs.iter().copied()).collect())
    }

    fn cost(&self, units: &[usize]) -> Cost {
        let gangs = self.gangs_of(units);
        let under: Vec<&Vec<usize>> = units.iter().map(|unit| &self.units[*unit].under).collect();
        let broken = budgets::broken(&self.search.allowed, &under);
        let priority = units.iter().map(|unit| self.units[*unit].priority).max().unwrap_or(i32::MIN);
        (broken, pods(self.picture, &gangs), gangs.len(), priority)
    }

    /// Those of the units that have pods on the nodes that the gang would take.
    fn on_nodes_of(&self, places: &[(usize, Place)], units: &[usize]) -> Vec<usize> {
        let nodes: BTreeSet<u32> = places.iter().map(|(_, place)| place.node).collect();
        let is_there = |unit: &&usize| {
            let pods = self.units[**unit].gangs.iter().flat_map(|gang| &self.picture.gangs[*gang].pods);
            pods.filter_map(|pod| pod.bound).any(|place| nodes.contains(&place.node))
        };
        units.iter().filter(is_there).copied().collect()
    }

    /// For each domain of the widest level that the gang requires, those that have pods in it; the fewest pods first.
    fn by_domain(&self) -> Vec<Vec<usize>> {
        let gang = &self.picture.gangs[self.gang];
        let required = gang.groups.iter().filter_map(|group| {
            let constraint = group.constraint?;
            Some((constraint.required?, constraint.topology))
        });
        let Some((level, topology)) = required.min() else { return Vec::new() };
        let mut domains: BTreeMap<Vec<String>, BTreeSet<usize>> = BTreeMap::new();
        for (at, unit) in self.units.iter().enumerate() {
            let pods = unit.gangs.iter().flat_map(|gang| &self.picture.gangs[*gang].pods);
            for place in pods.filter_map(|pod| pod.bound) {
                if let Some((path, _)) = domain(self.picture, place, topology, level) {
                    domains.entry(path.to_vec()).or_default().insert(at);
                }
            }
        }
        let mut found: Vec<Vec<usize>> = domains.into_values().map(|units| units.into_iter().collect()).collect();
        found.sort_by_key(|units| self.cost(units));
        found.dedup();
        found.truncate(DOMAINS);
        found
    }

    /// Spares as many as can be: those under a budget first, then the most important, then the largest.
    fn improve(&mut self, mut units: Vec<usize>, best: &mut Option<Choice>) {
        let Some(mut places) = self.ask(&units) else { return };
        let mut order = units.clone();
        order.sort_by_key(|unit| {
            let it = &self.units[*unit];
            std::cmp::Reverse((it.is_protected, it.pods, it.priority, *unit))
        });
        for spared in order {
            let fewer: Vec<usize> = units.iter().copied().filter(|unit| *unit != spared).collect();
            if let Some(found) = self.ask(&fewer) {
                (units, places) = (fewer, found);
            }
        }
        let cost = self.cost(&units);
        if best.as_ref().is_none_or(|(before, ..)| cost < *before) {
            *best = Some((cost, units, places));
        }
    }

    /// Tries single gangs, and pairs, that would be better than what was found.
    fn try_small(&mut self, best: &mut Option<Choice>) {
        let Some((cost, ..)) = best else { return };
        let singles = (0..self.units.len()).map(|one| vec![one]);
        let pairs = (0..self.units.len()).flat_map(|one| (0..one).map(move |two| vec![two, one]));
        let few = self.units.len() <= FEW;
        let mut choices: Vec<(Cost, Vec<usize>)> = singles
            .chain(pairs.filter(|_| few))
            .map(|units| (self.cost(&units), units))
            .filter(|(other, _)| other < cost)
            .collect();
        choices.sort();
        for (cost, units) in choices.into_iter().take(QUESTIONS / 8) {
            if let Some(places) = self.ask(&units) {
                *best = Some((cost, units, places));
                return;
            }
        }
    }
}

/// Whether the priority class of a gang says that it makes nobody leave.
pub(super) fn is_polite(picture: &Picture<'_>, gang: usize) -> bool {
    let class = match picture.whos[gang].object {
        Object::Pod(pod) => {
            let policy = pod.spec.as_ref().and_then(|spec| spec.preemption_policy.as_deref());
            return policy == Some("Never");
        }
        Object::PodGang(gang) => gang.spec.priority_class_name.as_deref(),
        Object::PodGroup(group) => group.spec.priority_class_name.as_deref(),
    };
    let classes = &picture.seen.priority_classes;
    let class = match class.filter(|class| !class.is_empty()) {
        Some(name) => classes.get(name),
        None => classes.values().filter(|class| class.global_default == Some(true)).min_by_key(|class| class.value),
    };
    class.is_some_and(|class| class.preemption_policy.as_deref() == Some("Never"))
}

fn pods(picture: &Picture<'_>, gangs: &[usize]) -> usize {
    let bound = |gang: &usize| picture.gangs[*gang].pods.iter().filter(|pod| pod.bound.is_some()).count();
    gangs.iter().map(bound).sum()
}

fn position(gangs: &[Gang], name: &trellis_engine::GangName) -> Option<usize> {
    gangs.binary_search_by(|gang| gang.id.cmp(name)).ok()
}

/// What makes gangs alike for this search.
fn shape(gang: &Gang) -> String {
    let groups: Vec<_> = gang.groups.iter().map(|group| (group.parent, group.constraint, group.members)).collect();
    let mut pods: Vec<_> = gang.pods.iter().map(|pod| (pod.group, pod.eligibility, pod.bound, &pod.request)).collect();
    pods.sort();
    pods.dedup_by(|one, other| one == other && one.2.is_some());
    let waiting = gang.pods.len();
    format!("{:?}", (gang.priority, &gang.base, groups, pods, waiting, &gang.holds))
}
