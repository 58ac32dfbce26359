//! One gang on a snapshot: the best placement, or a refutation.

use crate::exact::{Exact, Found};
use crate::gang::GroupId;
use crate::greedy::Want;
use crate::job::Job;
use crate::proof::Proof;
use crate::prove::{Prover, Verdict};
use crate::snapshot::Snapshot;
use crate::state::{Put, Score, State};

/// What was decided.
#[derive(Debug)]
pub(crate) enum Decided {
    /// The best placement, or, if the budget ended the search for better ones, the best found.
    Placed(Found),
    CannotFit(Proof),
    Undecided,
}

/// Decides where a gang goes. The snapshot is as it was afterwards; the steps taken are returned.
pub(crate) fn decide(snapshot: &mut Snapshot, job: &Job<'_>, budget: u64) -> (Decided, u64) {
    let mut state = State::new(snapshot, job, budget);
    let decided = Decider::new(&mut state).run();
    let steps = budget - state.budget;
    state.give_back();
    (decided, steps)
}

/// Whether the minima fit at all, and the steps that it took to know.
pub(crate) fn fits(snapshot: &mut Snapshot, job: &Job<'_>, budget: u64) -> (Decided, u64) {
    let mut state = State::new(snapshot, job, budget);
    let mut decider = Decider::new(&mut state);
    let any = if decider.possible[0] { decider.any() } else { None };
    let decided = match any {
        Some(found) => Decided::Placed(found),
        None => decider.prove(),
    };
    let steps = budget - state.budget;
    state.give_back();
    (decided, steps)
}

/// Puts a placement into a state that has nothing placed, and tells what came of it.
struct Decider<'a, 's, 'j> {
    state: &'a mut State<'s, 'j>,
    /// Groups that can be placed at all.
    possible: Vec<bool>,
    /// Groups that must be.
    needed: Vec<bool>,
}

/// So many domains of the root are tried in full before the exact search takes over.
const ATTEMPTS: usize = 64;

/// From so many waiting pods on, ties are not looked into.
const LARGE: usize = 64;
/// Steps that may go into finding a better placement than the one at hand.
const BETTER: u64 = 100_000;
/// Steps that may go into places that pods like better.
const LIKED: u64 = 20_000;

impl<'a, 's, 'j> Decider<'a, 's, 'j> {
    fn new(state: &'a mut State<'s, 'j>) -> Self {
        let job = state.job;
        let mut possible = vec![true; job.groups.len()];
        for group in 0..job.groups.len() {
            let above: Option<GroupId> = job.groups[group].parent;
            possible[group] = above.is_none_or(|above| possible[above]) && !job.is_hopeless(group);
        }
        let mut needed = vec![false; job.groups.len()];
        job.needed().into_iter().for_each(|group| needed[group] = true);
        Self { state, possible, needed }
    }

    fn run(&mut self) -> Decided {
        if !self.possible[0] {
            return self.prove();
        }
        if self.state.job.waiting() == 0 {
            return Decided::Placed(self.found(self.possible.clone()));
        }
        let job = self.state.job;
        let floor = self.state.lower_bound(&self.possible, &self.needed, 0);
        let mut best = self.straight(&floor);
        if best.is_none() {
            match self.prove() {
                Decided::Placed(found) => best = Some(found),
                other => return other,
            }
        }
        if best.as_ref().is_some_and(|best| best.score > floor && !self.is_good_enough(&best.score, &floor)) {
            self.state.undo(0);
            self.state.confined.fill(None);
            // What is placed already is worth less effort than what is not, and what pods would like still less.
            let (all, main) = (job.score_len, job.wish.unwrap_or(job.score_len));
            for (entries, most) in [(main, BETTER), (all, LIKED)].into_iter().take(1 + usize::from(main < all)) {
                if best.as_ref().is_some_and(|best| best.score[..entries] > floor[..entries]) {
                    let kept = self.state.budget;
                    self.state.budget = kept.min(most);
                    best = Exact::improve(self.state, best, floor.clone(), entries);
                    self.state.budget += kept - kept.min(most);
                }
            }
        }
        best.map_or(Decided::Undecided, Decided::Placed)
    }

    /// Whether a large gang is as good as can be but for the wider levels that only break ties, and for what pods would like.
    fn is_good_enough(&self, score: &Score, floor: &Score) -> bool {
        let job = self.state.job;
        let ties = job.spans.iter().filter(|span| !span.is_preferred).map(|span| span.entry).min();
        let counted = ties.or(job.wish).unwrap_or(job.score_len);
        job.waiting() > LARGE && score[..counted] == floor[..counted]
    }

    /// The straight way, over the domains of the root that can be better than the best so far.
    fn straight(&mut self, floor: &Score) -> Option<Found> {
        let job = self.state.job;
        let Some((topology, level)) = job.groups[0].required else { return self.attempt(None, floor) };
        let scope = self.state.scope(0);
        let simple = scope.iter().all(|(known, _)| *known == topology);
        let demand = self.state.left_by_kind(0, &self.possible);
        let amounts = self.state.amounts(&demand);
        let mut domains: Vec<(u64, i64, u32)> = Vec::new();
        for domain in self.state.domains_for(0, topology, level, &scope) {
            let room = |demand| self.state.room_in(demand, &scope, simple, topology, domain);
            let short = demand.iter().map(|demand| demand.1.saturating_sub(room(demand))).sum();
            domains.push((short, self.state.leftover(&amounts, topology, domain), domain));
        }
        let minimum = self.state.demand(0, Want::Minimum, &self.possible);
        let has_minimum = |state: &State<'_, '_>, domain: u32| {
            minimum.iter().all(|demand| state.room_in(demand, &scope, simple, topology, domain) >= demand.1)
        };
        domains.retain(|(_, _, domain)| has_minimum(self.state, *domain));
        let first = *domains.iter().min()?;
        let mut best = self.attempt(Some(first.2), floor);
        if best.as_ref().is_some_and(|best| best.score == *floor) {
            return best;
        }
        // The tightest is not the best that can be hoped for: the others, those with the best bound first.
        let mut others: Vec<(Score, i64, u32)> = Vec::new();
        for &(short, leftover, domain) in domains.iter().filter(|domain| **domain != first) {
            if best.as_ref().is_some_and(|best| short > best.score[0]) {
                continue;
            }
            self.state.confined[0] = Some(domain);
            others.push((self.state.lower_bound(&self.possible, &self.needed, 0), leftover, domain));
            self.state.confined[0] = None;
        }
        others.sort_unstable();
        for (bound, _, domain) in others.into_iter().take(ATTEMPTS) {
            if best.as_ref().is_some_and(|best| best.score <= bound) {
                break;
            }
            let found = self.attempt(Some(domain), floor);
            if found.as_ref().is_some_and(|found| best.as_ref().is_none_or(|best| found.score < best.score)) {
                best = found;
            }
        }
        best
    }

    /// All pods, or failing that the minima and what else fits; in one domain of the root, or wherever.
    fn attempt(&mut self, domain: Option<u32>, floor: &Score) -> Option<Found> {
        for want in [Want::All, Want::Minimum] {
            let mut active = self.possible.clone();
            let done = match domain {
                Some(domain) => self.state.greedy_in(0, domain, want, &mut active),
                None => self.state.greedy(0, want, &mut active),
            };
            if done {
                self.state.extend(&mut active);
                let found = self.found(active);
                // The best there can be: nobody needs the state any more.
                if found.score != *floor {
                    self.state.undo(0);
                    self.state.confined.fill(None);
                }
                return Some(found);
            }
            self.state.confined.fill(None);
        }
        None
    }

    /// Some placement of the minima.
    fn any(&mut self) -> Option<Found> {
        let mut active = self.possible.clone();
        let done = self.state.greedy(0, Want::Minimum, &mut active);
        let found = done.then(|| self.found(active));
        self.state.undo(0);
        self.state.confined.fill(None);
        found
    }

    fn prove(&mut self) -> Decided {
        let mut prover = Prover::new(self.state);
        match prover.run() {
            Verdict::Fits => {
                let mut active = prover.chosen();
                self.state.extend(&mut active);
                let found = self.found(active);
                self.state.undo(0);
                self.state.confined.fill(None);
                Decided::Placed(found)
            }
            Verdict::Refuted(claim) => Decided::CannotFit(claim),
            Verdict::Spent => Decided::Undecided,
        }
    }

    fn found(&self, active: Vec<bool>) -> Found {
        let (score, puts) = (self.state.score.clone(), self.state.puts.clone());
        Found { score, puts, confined: self.state.confined.clone(), active }
    }
}

impl Found {
    /// The part of a placement that the minima need: of each leaf so many pods, of each group so many children.
    pub fn minimum(&self, job: &Job<'_>) -> Vec<Put> {
        let mut kept = vec![false; job.groups.len()];
        kept[0] = true;
        for group in 0..job.groups.len() {
            let it = &job.groups[group];
            if kept[group] {
                let mut children: Vec<GroupId> =
                    it.children.iter().copied().filter(|child| self.active[*child]).collect();
                // Those that run in part already come first.
                children.sort_by_key(|child| (job.groups[*child].bound.is_empty(), *child));
                children.into_iter().take(it.min_children).for_each(|child| kept[child] = true);
            }
        }
        let mut needs: Vec<usize> = job.groups.iter().map(|group| group.need).collect();
        let mut puts = Vec::new();
        for put in &self.puts {
            let leaf = job.batches[put.batch].leaf;
            let amount = needs[leaf].min(put.amount as usize);
            if kept[leaf] && amount > 0 {
                needs[leaf] -= amount;
                puts.push(Put { amount: u32::try_from(amount).unwrap_or(u32::MAX), ..*put });
            }
        }
        puts
    }
}

impl Found {
    /// Number of pods placed.
    pub fn placed(&self) -> usize {
        self.puts.iter().map(|put| put.amount as usize).sum()
    }
}
