//! A base and the gangs that are scaled from it. These have to stay in its domain for life, so a base goes, if it can,
//! where they fit too.
//!
//! The base is decided alone first. If all that is known to follow fits beside it, that is where it goes. If not, those that
//! follow are taken in their order, each if it fits somewhere together with the base and those taken before; with these the
//! base is decided anew, as one gang that needs the minima of all. Nothing of this can make the base wait.

use super::{Placed, Planner, anchor, named};
use crate::cluster::{Cluster, Place};
use crate::decide::{Decided, decide, fits};
use crate::gang::{Constraint, Gang, Group, GroupId, Hold, Members, Pod};
use crate::job::Job;
use crate::plan::Outcome;
use crate::proof::DomainId;

/// Of a large family only the first gangs with so many pods are looked at.
const MOST_PODS: usize = 2_000;

/// What it costs to put a question together, in steps for each pod that it is about: many questions are answered in no step at all.
const STEPS_PER_POD: usize = 16;

/// A gang that has to follow a base.
#[derive(Clone, Copy, Debug)]
struct Follower {
    base: usize,
    gang: usize,
}

/// Where a base goes for the sake of those that follow it.
pub(super) struct Moved {
    /// Its minimum.
    pub minimum: Placed,
    /// The domain of its root.
    pub root: DomainId,
}

/// A level of which some gangs must share a domain, and a place in it if it is chosen already.
struct Shared {
    topology: usize,
    level: usize,
    at: Option<Place>,
    gangs: Vec<usize>,
}

impl Planner<'_> {
    /// Where a base should go that would, alone, put its minimum here; none if it may do so. The steps taken are returned too.
    pub(super) fn for_family(&mut self, index: usize, root: Option<DomainId>, alone: &Placed) -> (Option<Moved>, u64) {
        let (Some(root), Some(family)) = (root, self.family(index)) else { return (None, 0) };
        let members: Vec<usize> = family.iter().map(|follower| follower.gang).collect();
        self.holds.lift(self.snapshot, &members);
        let effort = self.effort;
        let mut left = effort;
        let moved = self.moved(index, root, alone, family, &mut left);
        self.effort = left;
        self.holds.show(self.snapshot, self.gangs, index);
        (moved, effort - left)
    }

    fn moved(
        &mut self,
        index: usize,
        root: DomainId,
        alone: &Placed,
        family: Vec<Follower>,
        left: &mut u64,
    ) -> Option<Moved> {
        if self.fits_beside(index, root, alone, &family, left) {
            return None;
        }
        let all = family.len();
        let kept = self.most(index, family, left);
        if kept.is_empty() || (kept.len() < all && self.fits_beside(index, root, alone, &kept, left)) {
            return None;
        }
        let whole = self.whole(Some(index), None, &kept);
        let job = Job::new(&whole, None, self.snapshot).ok()?;
        let (decided, steps) = decide(self.snapshot, &job, *left);
        *left -= steps;
        let Decided::Placed(found) = decided else { return None };
        let (_, mut minimum) = named(&job, &found, &found.minimum(&job));
        minimum.retain(|(pod, _)| *pod < self.gangs[index].pods.len());
        // The base is in the first of the groups that share a domain.
        let shared = (0..whole.groups.len()).find(|group| whole.groups[*group].constraint.is_some());
        let domain = shared.and_then(|shared| found.confined[shared]);
        domain.map(|domain| Moved { minimum, root: DomainId { index: domain, ..root } })
    }

    /// Those that are known to follow a base whose place is open, and those that follow other bases and have no place yet:
    /// room that they alone cannot do without should be left to them. In the order in which they are taken.
    fn family(&self, index: usize) -> Option<Vec<Follower>> {
        let own = self.families.get(&index)?;
        let gang = &self.gangs[index];
        if gang.base.is_some() || gang.standing().next().is_some() {
            return None;
        }
        let mut family: Vec<Follower> = own.iter().map(|gang| Follower { base: index, gang: *gang }).collect();
        for (base, gangs) in self.families.iter().filter(|(base, _)| **base != index) {
            if self.is_there(*base) && self.domain(*base).is_some() {
                let is_due = |gang: &&usize| {
                    let it = &self.gangs[**gang];
                    !it.coming.is_empty() || it.pods.iter().any(|pod| pod.bound.is_none())
                };
                family.extend(gangs.iter().filter(is_due).map(|gang| Follower { base: *base, gang: *gang }));
            }
        }
        family.retain(|follower| self.is_open(follower.gang));
        family.sort_by_key(|follower| crate::plan::turn(&self.gangs[follower.gang]));
        let mut pods = 0;
        family.retain(|follower| {
            pods += self.gangs[follower.gang].pods.len() + self.gangs[follower.gang].coming.len();
            pods <= MOST_PODS
        });
        (!family.is_empty()).then_some(family)
    }

    /// Whether a gang has yet to be placed, and has all that it must have.
    fn is_open(&self, index: usize) -> bool {
        let gang = &self.gangs[index];
        let decided = self.decisions[index].as_ref().map(|planned| &planned.decision);
        let is_open =
            decided.is_none_or(|it| it.placed.is_empty() && (it.outcome != Outcome::Placed || !gang.coming.is_empty()));
        is_open && gang.unready.is_none() && members(gang).next().is_some() && gang.has_minimum(members(gang))
    }

    /// The domain of a base that has its place.
    fn domain(&self, base: usize) -> Option<DomainId> {
        let planned = self.decisions[base].as_ref()?;
        anchor(self.snapshot, &self.gangs[base], &planned.decision).ok()?.or(planned.root)
    }

    /// Whether the minima of some gangs fit when the base has put its own here.
    fn fits_beside(
        &mut self,
        index: usize,
        root: DomainId,
        minimum: &Placed,
        family: &[Follower],
        left: &mut u64,
    ) -> bool {
        let whole = self.whole(None, Some((index, root)), family);
        let pods = &self.gangs[index].pods;
        minimum.iter().for_each(|(pod, place)| self.snapshot.add(*place, &pods[*pod].request));
        let is_fit = self.fits_whole(&whole, left);
        minimum.iter().for_each(|(pod, place)| self.snapshot.remove(*place, &pods[*pod].request));
        is_fit
    }

    /// Whether a whole family fits; of the steps that are left for it, each question may take half.
    fn fits_whole(&mut self, whole: &Gang, left: &mut u64) -> bool {
        *left = left.saturating_sub((whole.pods.len() * STEPS_PER_POD) as u64);
        if *left == 0 {
            return false;
        }
        let Ok(job) = Job::new(whole, None, self.snapshot) else { return false };
        let (decided, steps) = fits(self.snapshot, &job, *left / 2);
        *left -= steps;
        matches!(decided, Decided::Placed(_))
    }

    /// Of a family in its order, each gang that is found to fit together with the base and those taken before.
    fn most(&mut self, index: usize, family: Vec<Follower>, left: &mut u64) -> Vec<Follower> {
        let (mut kept, mut rest): (Vec<Follower>, Vec<Follower>) = (Vec::new(), family);
        while !rest.is_empty() && *left > 0 {
            // The longest beginning of the rest: if some fit, fewer of them do.
            let (mut few, mut many) = (0, rest.len());
            while few < many {
                let half = (few + many).div_ceil(2);
                let tried: Vec<Follower> = kept.iter().chain(&rest[..half]).copied().collect();
                let whole = self.whole(Some(index), None, &tried);
                if self.fits_whole(&whole, left) {
                    few = half;
                } else {
                    many = half - 1;
                }
            }
            let mut behind = rest.split_off(few);
            kept.append(&mut rest);
            // What is like one that does not fit does not fit either.
            if let Some(&not) = behind.first() {
                behind.retain(|it| it.base != not.base || !are_alike(&self.gangs[it.gang], &self.gangs[not.gang]));
            }
            rest = behind;
        }
        kept
    }

    /// A base and those that follow as one gang that needs the minima of all; or, where the base has its place, those alone.
    /// The pods of the base are the first.
    fn whole(&self, base: Option<usize>, placed: Option<(usize, DomainId)>, family: &[Follower]) -> Gang {
        let mut shares: Vec<(usize, Shared)> = Vec::new();
        let share = |base: usize, domain: Option<DomainId>| {
            let constraint = self.gangs[base].groups[0].constraint?;
            let at = domain.map(|domain| self.place_in(domain));
            let (topology, level) = (constraint.topology, constraint.required?);
            Some((base, Shared { topology, level, at, gangs: Vec::new() }))
        };
        if let Some((base, mut shared)) = base.and_then(|base| share(base, None)) {
            shared.gangs.push(base);
            shares.push((base, shared));
        }
        for follower in family {
            let at = shares.iter().position(|(base, _)| *base == follower.base).or_else(|| {
                let own = placed.filter(|(base, _)| *base == follower.base).map(|(_, root)| root);
                shares.push(share(follower.base, own.or_else(|| self.domain(follower.base)))?);
                Some(shares.len() - 1)
            });
            if let Some(at) = at {
                shares[at].1.gangs.push(follower.gang);
            }
        }
        let mut whole = Gang::default();
        if shares.len() > 1 {
            whole.groups.push(Group { members: Members::Groups { min: shares.len() }, ..Group::default() });
        }
        let above = (shares.len() > 1).then_some(0);
        for (_, shared) in shares {
            let constraint = Constraint { topology: shared.topology, required: Some(shared.level), preferred: None };
            let children = shared.gangs.len() + usize::from(shared.at.is_some());
            let members = Members::Groups { min: children };
            let top = whole.groups.len();
            whole.groups.push(Group { parent: above, constraint: Some(constraint), members, ..Group::default() });
            if let Some(place) = shared.at {
                // A hold of nothing says where they are.
                let group = whole.groups.len();
                whole.groups.push(Group { parent: Some(top), ..Group::default() });
                whole.holds.push(Hold { group, place, request: vec![0; self.snapshot.width].into() });
            }
            for gang in shared.gangs {
                let keeps_wishes = Some(gang) == base;
                graft(&mut whole, &self.gangs[gang], top, &self.snapshot.cluster, keeps_wishes);
            }
        }
        whole
    }

    /// Some place in a domain.
    fn place_in(&self, domain: DomainId) -> Place {
        let domains = &self.snapshot.domains[usize::from(domain.topology)];
        match domains.is_zone(domain.index) {
            true => domains.place(domain.index),
            false => Place { node: domains.nodes(domain.index)[0], zone: None },
        }
    }
}

/// All members of a gang, also those that are held back.
fn members(gang: &Gang) -> impl Iterator<Item = &Pod> {
    gang.pods.iter().chain(&gang.coming)
}

/// Puts a gang under a group of another one. Only of the base it matters what it prefers; but a preferred zone says of pods
/// that they go into zones.
fn graft(whole: &mut Gang, gang: &Gang, top: GroupId, cluster: &Cluster, keeps_wishes: bool) {
    let first = whole.groups.len();
    for group in &gang.groups {
        let mut group = Group { parent: Some(group.parent.map_or(top, |parent| first + parent)), ..group.clone() };
        if let Some(constraint) = group.constraint.as_mut().filter(|_| !keeps_wishes) {
            let levels = &cluster.topologies[constraint.topology].levels;
            constraint.preferred = constraint.preferred.filter(|level| levels[*level].is_zone);
        }
        whole.groups.push(group);
    }
    let pods = members(gang).map(|pod| Pod { group: first + pod.group, ..pod.clone() });
    whole.pods.extend(pods);
    whole.holds.extend(gang.holds.iter().map(|hold| Hold { group: first + hold.group, ..hold.clone() }));
}

/// Whether two gangs of which nothing is placed ask for the same.
fn are_alike(one: &Gang, other: &Gang) -> bool {
    let groups = |gang: &Gang| gang.groups.iter().map(|it| (it.parent, it.constraint, it.members)).collect::<Vec<_>>();
    let pods = |gang: &Gang| {
        let mut pods: Vec<_> = members(gang).map(|pod| (pod.group, pod.request.clone(), pod.eligibility)).collect();
        pods.sort_unstable();
        pods
    };
    let is_new = |gang: &Gang| gang.standing().next().is_none();
    is_new(one) && is_new(other) && groups(one) == groups(other) && pods(one) == pods(other)
}
