//! Gangs that must not be placed by one decision: where one goes decides where the other may.
//!
//! A decision closes nodes by what is placed before it. So of gangs that keep apart, seek each other or want one and the same thing, only
//! the first that gets a place may have it; the others are decided again at once, on what is placed then.

use super::company::Company;
use super::company::census::Census;
use std::collections::{BTreeSet, HashSet};

/// What the waiting pods of each gang are, as far as it matters to others, and what cannot be placed together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ties {
    /// For each gang the numbers of what it is; most gangs are nothing.
    pub of_gang: Vec<Vec<u32>>,
    /// Numbers that exclude each other; smaller first, possibly the same.
    apart: HashSet<(u32, u32)>,
}

impl Ties {
    /// Which gangs have to wait for the next decision, though this one has a place for them: in this order, those that exclude one
    /// before them that is given its place.
    pub fn late(&self, order: &[usize], is_placed: impl Fn(usize) -> bool) -> BTreeSet<usize> {
        let mut late = BTreeSet::new();
        if self.apart.is_empty() {
            return late;
        }
        let mut given: BTreeSet<u32> = BTreeSet::new();
        for &gang in order.iter().filter(|gang| !self.of_gang[**gang].is_empty() && is_placed(**gang)) {
            let own = &self.of_gang[gang];
            let excludes = |mine: &u32| given.iter().any(|other| self.apart.contains(&pair(*mine, *other)));
            if own.iter().any(excludes) {
                late.insert(gang);
            } else {
                given.extend(own);
            }
        }
        late
    }

    /// What excludes what among the classes that the waiting pods of gangs are of.
    pub(super) fn of(of_gang: Vec<Vec<u32>>, company: &Company<'_>, census: &Census) -> Self {
        let all: BTreeSet<u32> = of_gang.iter().flatten().copied().collect();
        let mut apart = HashSet::new();
        for &a in &all {
            apart.extend(all.iter().filter(|b| company.excludes(a, **b, census)).map(|b| pair(a, *b)));
        }
        Self { of_gang, apart }
    }

    /// Adds a thing that only one gang can have.
    pub(super) fn claim(&mut self, gangs: &[usize], number: u32) {
        gangs.iter().for_each(|gang| self.of_gang[*gang].push(number));
        self.apart.insert((number, number));
    }
}

fn pair(a: u32, b: u32) -> (u32, u32) {
    (a.min(b), a.max(b))
}
