//! Placements that were begun: written down, and not all bound.
//!
//! They are finished where they were meant to be, whoever wrote them. A place that is no good any more is given up, and the member is
//! planned anew inside the domains where the rest is. Where that fails and the gang would stay in halves, all of it is undone: what this
//! plan bound is deleted, and made anew by its owner. A member may be moved only once no earlier bind of it can still take effect.

use crate::ledger::Held;
use crate::picture::{Bar, Fate, Object, Picture, index};
use crate::plan::{Bind, Delete, Plan, Version, site};
use crate::seen::Key;
use std::collections::{BTreeMap, BTreeSet};
use trellis_engine::{Constraint, Gang, GroupId, NodeId, Outcome, Place};

impl Picture<'_> {
    /// Looks at all that was begun. What has to move waits from here on; where it may not move yet, the gang is barred.
    pub(crate) fn review_begun(&mut self) {
        let is_open = |gang: &usize| {
            let who = &self.whos[*gang];
            who.has_begun() && !matches!(who.bar, Some(Bar::UnderWay))
        };
        let open: Vec<usize> = (0..self.gangs.len()).filter(is_open).collect();
        if open.is_empty() {
            return;
        }
        let crowded = self.crowded(&open);
        for gang in open {
            let who = &self.whos[gang];
            let gives_up = who.gives_up || who.ledger.is_undone;
            let moving = if gives_up { self.all_begun(gang) } else { self.misplaced(gang, &crowded) };
            let key = |pod: &String| Key::new(&self.gangs[gang].id.namespace, pod);
            let unsettled: Vec<Key> = moving.iter().filter(|pod| !self.is_settled(gang, pod)).map(key).collect();
            if !unsettled.is_empty() {
                self.withheld.extend(moving.iter().map(key));
                self.touches.extend(unsettled);
                self.whos[gang].bar.get_or_insert(Bar::Untouched);
                continue;
            }
            if !gives_up {
                for pod in self.gangs[gang].pods.iter_mut().filter(|pod| moving.contains(&pod.name)) {
                    pod.bound = None;
                }
            }
            self.whos[gang].moving = moving;
        }
    }

    fn all_begun(&self, gang: usize) -> BTreeSet<String> {
        self.whos[gang].begun.iter().cloned().collect()
    }

    /// Members that were begun and must not be bound where they were meant to be.
    fn misplaced(&self, gang: usize, crowded: &BTreeSet<NodeId>) -> BTreeSet<String> {
        let (who, it) = (&self.whos[gang], &self.gangs[gang]);
        let place = |held: Held| Some((self.leaf(gang, &held.was.group)?, self.place(&held.was.spot)?));
        let held: Vec<(GroupId, Place)> = self.held(gang).into_iter().filter_map(place).collect();
        let apart = apart(it, self, &|pod| who.is_begun(pod), &held);
        let begun = it.pods.iter().enumerate().filter(|(_, pod)| who.is_begun(&pod.name));
        let is_bad = |(at, pod): &(usize, &trellis_engine::Pod)| {
            let Some(place) = pod.bound else { return true };
            let allowed = &self.cluster.eligibility[pod.eligibility].allowed;
            let refused = || {
                let uid = self.pod(gang, &pod.name).and_then(|pod| pod.metadata.uid.as_deref())?;
                let node = self.cluster.nodes[index(place.node)].name.as_str();
                Some(self.seen.refused.contains(&(uid.into(), node.into())))
            };
            !allowed.contains(index(place.node))
                || crowded.contains(&place.node)
                || apart.contains(at)
                || refused().unwrap_or(false)
        };
        begun.filter(is_bad).map(|(_, pod)| pod.name.clone()).collect()
    }

    /// Of the nodes that something was begun on, those that have less than what is on them: somebody else was faster.
    fn crowded(&self, open: &[usize]) -> BTreeSet<NodeId> {
        let mut free: BTreeMap<NodeId, Vec<i64>> = BTreeMap::new();
        for &gang in open {
            let begun = self.gangs[gang].pods.iter().filter(|pod| self.whos[gang].is_begun(&pod.name));
            for place in begun.filter_map(|pod| pod.bound) {
                free.entry(place.node).or_insert_with(|| self.cluster.nodes[index(place.node)].allocatable.clone());
            }
        }
        let mut charge = |node: NodeId, request: &[i64]| {
            if let Some(free) = free.get_mut(&node) {
                free.iter_mut().zip(request).for_each(|(free, amount)| *free -= amount);
            }
        };
        let others = self.cluster.occupants.iter().chain(&self.leaving);
        others.for_each(|occupant| charge(occupant.node, &occupant.request));
        for pod in self.gangs.iter().flat_map(|gang| &gang.pods) {
            if let Some(place) = pod.bound {
                charge(place.node, &pod.request);
            }
        }
        free.into_iter().filter(|(_, free)| free.iter().any(|free| *free < 0)).map(|(node, _)| node).collect()
    }

    /// Binds what was begun and stays where it was meant to be.
    pub fn finish(&self, gang: usize) -> Vec<Bind> {
        let who = &self.whos[gang];
        let is_stopped = who.gives_up || matches!(who.bar, Some(Bar::UnderWay | Bar::Undone));
        let begun = who.ledger.members.iter().zip(&who.fates).filter(|(_, fate)| **fate == Fate::Begun && !is_stopped);
        let namespace = &self.gangs[gang].id.namespace;
        let stays = |pod: &str| !who.moving.contains(pod) && !self.withheld.contains(&Key::new(namespace, pod));
        let begun = begun.filter(|(entry, _)| stays(&entry.pod));
        let bind = |(entry, _): (&crate::ledger::Entry, _)| {
            let pod = self.pod(gang, &entry.pod)?;
            Some(Bind {
                namespace: namespace.clone(),
                pod: entry.pod.clone(),
                version: Version::of(&pod.metadata),
                node: entry.spot.node.clone(),
                zone: entry.spot.zone.clone(),
            })
        };
        begun.filter_map(bind).collect()
    }

    /// Whether a gang has to be undone: members have to move and find no place, it would stay in halves, and all of what stands was
    /// bound by the plan that is undone.
    pub fn has_to_be_undone(&self, gang: usize, outcome: &Outcome) -> bool {
        let (who, it) = (&self.whos[gang], &self.gangs[gang]);
        let is_stuck = who.bar.is_none() && !who.moving.is_empty() && *outcome != Outcome::Placed;
        // What is being given up may be where they go.
        let is_stuck = is_stuck && self.given_up.is_empty();
        is_stuck && who.ledger.is_fresh && !it.has_minimum(it.pods.iter().filter(|pod| pod.bound.is_some()))
    }

    /// Pods that were bound and have no owner who would make them anew.
    pub fn without_owner(&self, gang: usize) -> Option<&str> {
        let bound =
            self.gangs[gang].pods.iter().filter(|pod| pod.bound.is_some() && !self.whos[gang].is_begun(&pod.name));
        let mut bound = bound.filter_map(|pod| Some((pod, self.pod(gang, &pod.name)?)));
        let is_lone = |pod: &k8s_openapi::api::core::v1::Pod| {
            !pod.metadata.owner_references.iter().flatten().any(|owner| owner.controller == Some(true))
        };
        bound.find(|(_, pod)| is_lone(pod)).map(|(pod, _)| pod.name.as_str())
    }

    /// Deletes what an undone plan has bound. True if nothing is left of it.
    pub fn go_on_undoing(&self, gang: usize, plan: &mut Plan) -> bool {
        let who = &self.whos[gang];
        let mut is_done = true;
        for (entry, fate) in who.ledger.members.iter().zip(&who.fates) {
            match fate {
                Fate::Standing(_) => {
                    is_done = false;
                    plan.deletes.extend(self.delete(gang, &entry.pod, site::DELETE_UNDONE));
                }
                Fate::Begun if !self.is_settled(gang, &entry.pod) => is_done = false,
                _ => {}
            }
        }
        is_done
    }

    /// The deletion of a member, if it is not on its way already.
    pub fn delete(&self, gang: usize, pod: &str, site: &'static str) -> Option<Delete> {
        let pod = self.pod(gang, pod).filter(|pod| pod.metadata.deletion_timestamp.is_none())?;
        Some(Delete {
            site,
            namespace: self.gangs[gang].id.namespace.clone(),
            pod: pod.metadata.name.clone()?,
            version: Version::of(&pod.metadata),
        })
    }

    /// Whether a gang is a pod by itself.
    pub fn is_lone(&self, gang: usize) -> bool {
        matches!(self.whos[gang].object, Object::Pod(_))
    }
}

/// Begun members that would stand apart from the others of a group that requires one domain, or from what is held for those that were
/// lost, by the labels of this moment.
fn apart(
    gang: &Gang,
    picture: &Picture<'_>,
    is_begun: &dyn Fn(&str) -> bool,
    held: &[(GroupId, Place)],
) -> BTreeSet<usize> {
    let mut apart = BTreeSet::new();
    for (group, it) in gang.groups.iter().enumerate() {
        let Some(Constraint { topology, required: Some(level), .. }) = it.constraint else { continue };
        let under = |at: &usize| gang.ancestry(gang.pods[*at].group).any(|above| above == group);
        let members: Vec<(usize, Option<Domain<'_>>)> = (0..gang.pods.len())
            .filter(under)
            .filter_map(|at| Some((at, domain(picture, gang.pods[at].bound?, topology, level))))
            .collect();
        let stands = members.iter().find(|(at, _)| !is_begun(&gang.pods[*at].name)).map(|(_, domain)| *domain);
        let is_held = || {
            let mut held = held.iter().filter(|(leaf, _)| gang.ancestry(*leaf).any(|above| above == group));
            held.next().map(|(_, place)| domain(picture, *place, topology, level))
        };
        let first = stands.or_else(is_held).or(members.first().map(|(_, domain)| *domain)).flatten();
        let begun = members.iter().filter(|(at, _)| is_begun(&gang.pods[*at].name));
        apart.extend(begun.filter(|(_, domain)| domain.is_none() || *domain != first).map(|(at, _)| *at));
    }
    apart
}

/// The values of a domain from the widest level down; for zones the node and the zone too.
type Domain<'a> = (&'a [String], Option<Place>);

/// The domain that a place lies in at a level.
pub(crate) fn domain<'a>(picture: &'a Picture<'_>, place: Place, topology: usize, level: usize) -> Option<Domain<'a>> {
    let path = &picture.cluster.nodes[index(place.node)].paths[topology];
    if picture.cluster.topologies[topology].levels[level].is_zone {
        place.zone?;
        return Some((path.get(..level)?, Some(place)));
    }
    Some((path.get(..=level)?, None))
}
