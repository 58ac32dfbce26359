//! The walk through a proof: each claim is redone in the context it stands in.

use super::case::{Case, Context, required_of_root};
use super::domains::Dom;
use crate::cluster::Place;
use crate::gang::{GangName, GroupId, Members};
use crate::proof::{Branch, Claim};

impl Case<'_> {
    pub(super) fn check(&self, proof: &Claim) -> Result<(), String> {
        let groups = self.gang.groups.len();
        self.claim(&mut Context { confined: vec![None; groups], chosen: vec![None; groups] }, proof)
    }

    /// Redoes a claim. Each step down confines or chooses for a group that was free before, so the depth is bounded by
    /// the number of groups.
    pub(super) fn claim(&self, context: &mut Context, claim: &Claim) -> Result<(), String> {
        match claim {
            Claim::Unready(unready) => {
                ensure(self.gang.unready.as_ref() == Some(unready), || "the gang is not unready in this way".to_owned())
            }
            Claim::BaseWaits(base) => self.base_waits(base),
            Claim::TooFewPods { leaf, have, need } => self.too_few(context, *leaf, *have, *need),
            Claim::BoundApart { group } => self.bound_apart(context, *group),
            Claim::Count { leaf, fits, need } => self.count(context, *leaf, *fits, *need),
            Claim::Sum { leaves, resource, free, need } => self.sum(context, leaves, *resource, *free, *need),
            Claim::Copies { groups, fits } => self.copies(context, groups, *fits),
            Claim::Split { group, branches } => self.split(context, *group, branches),
            Claim::Subsets { group, choices } => self.subsets(context, *group, choices),
            Claim::Packing { leaves } => self.packing(context, leaves),
        }
    }

    fn base_waits(&self, base: &GangName) -> Result<(), String> {
        let number = self.ground.bases[self.number].filter(|_| self.gang.base.as_ref() == Some(base));
        let number = number.ok_or_else(|| format!("{}/{} is no base of the gang here", base.namespace, base.name))?;
        ensure(!self.ground.is_there(number), || format!("the base {}/{} has a place", base.namespace, base.name))
    }

    fn too_few(&self, context: &Context, leaf: GroupId, have: usize, need: usize) -> Result<(), String> {
        self.leaf(context, leaf)?;
        let there = self.gang.pods_of(leaf).count();
        let stated = there == have && self.gang.groups[leaf].members == Members::Pods { min: need };
        ensure(stated, || format!("{}: its pods or its minimum are other numbers", self.name(leaf)))?;
        ensure(have < need, || format!("{} has enough pods", self.name(leaf)))
    }

    fn bound_apart(&self, context: &Context, group: GroupId) -> Result<(), String> {
        ensure(group < self.gang.groups.len(), || format!("there is no group {group}"))?;
        self.needed(context, group)?;
        let from_base = || {
            let base = self.ground.bases[self.number].filter(|_| group == 0);
            let (base, topology, level) = base.and_then(|base| required_of_root(self.ground, base))?;
            let mut places: Vec<Place> = self.ground.standing(base).map(|(_, place)| place).collect();
            places.extend(&self.bound[0]);
            Some(!places.is_empty() && self.index.shared(topology, level, &places).is_none())
        };
        let apart = self.is_apart(group) || from_base() == Some(true);
        ensure(apart, || format!("bound pods of {} are not apart", self.name(group)))
    }

    fn split(&self, context: &mut Context, group: GroupId, branches: &[Branch]) -> Result<(), String> {
        let (topology, _, candidates) = self.candidates(context, group)?;
        // A group to which nothing has to be added needs no domain, unless its bound pods break the level.
        let must = !candidates.is_empty() || self.least(context, group) > 0 || self.is_apart(group);
        ensure(must, || format!("{} has no domain and needs none", self.name(group)))?;
        let mut refuted: Vec<usize> = Vec::with_capacity(branches.len());
        for branch in branches {
            let dom = Dom::from(branch.domain);
            let known = dom.topology == topology && candidates.binary_search(&dom.index).is_ok();
            ensure(known, || format!("{:?} is no candidate of {}", branch.domain, self.name(group)))?;
            refuted.push(dom.index);
        }
        refuted.sort_unstable();
        let once = refuted.windows(2).all(|pair| pair[0] != pair[1]);
        ensure(once, || format!("{} is split with the same domain twice", self.name(group)))?;
        if let Some(open) = self.uncovered(context, topology, &candidates, &refuted) {
            return Err(format!("{} is not refuted in domain {open} of topology {topology}", self.name(group)));
        }
        for branch in branches {
            context.confined[group] = Some(branch.domain.into());
            let checked = self.claim(context, &branch.claim);
            context.confined[group] = None;
            checked.map_err(|text| format!("{} in domain {}: {text}", self.name(group), branch.domain.index))?;
        }
        Ok(())
    }

    fn subsets(&self, context: &mut Context, group: GroupId, choices: &[(Vec<GroupId>, Claim)]) -> Result<(), String> {
        self.needed(context, group)?;
        let children = &self.children[group];
        let min = match self.gang.groups[group].members {
            Members::Groups { min } if min < children.len() => min,
            _ => return Err(format!("{} leaves no choice of children", self.name(group))),
        };
        ensure(context.chosen[group].is_none(), || format!("children of {} are chosen already", self.name(group)))?;
        let mut expected = Some((0..min).collect::<Vec<usize>>());
        for (choice, claim) in choices {
            let positions = expected.ok_or_else(|| format!("{}: a choice too many", self.name(group)))?;
            let right = choice.iter().copied().eq(positions.iter().map(|position| children[*position]));
            ensure(right, || format!("{}: a choice is missing or out of order", self.name(group)))?;
            expected = next_choice(positions, children.len());
            context.chosen[group] = Some(choice.clone());
            let checked = self.claim(context, claim);
            context.chosen[group] = None;
            checked.map_err(|text| format!("{} with children {choice:?}: {text}", self.name(group)))?;
        }
        ensure(expected.is_none(), || format!("{}: choices are missing", self.name(group)))
    }
}

/// The next choice of equally many positions below a limit, in lexicographic order.
fn next_choice(mut positions: Vec<usize>, limit: usize) -> Option<Vec<usize>> {
    let count = positions.len();
    let movable = (0..count).rev().find(|k| positions[*k] < limit - (count - *k))?;
    let start = positions[movable] + 1;
    for (k, position) in positions[movable..].iter_mut().enumerate() {
        *position = start + k;
    }
    Some(positions)
}

/// An error in words unless something holds.
pub(super) fn ensure(holds: bool, text: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(text()) }
}
