//! A gang as plain data: a tree of groups with pods at the leaves.

use crate::cluster::Place;
use serde::Serialize;
use std::sync::Arc;

/// Index of a group in [`Gang::groups`]; 0 is the root.
pub type GroupId = usize;

/// Namespace and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct GangName {
    /// Namespace of the gang.
    pub namespace: String,
    /// Name of the gang.
    pub name: String,
}

/// Pods that are placed together or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gang {
    /// What it is called.
    pub id: GangName,
    /// Higher goes first.
    pub priority: i32,
    /// When it was created, in seconds; older goes first.
    pub created: i64,
    /// The gang whose domains this one must share: the base of a scaled gang. If that one is in the problem, this one
    /// is placed after it, inside the domain that the base's root occupies at the base root's required level. Of those domains
    /// in which the base fits it takes one, if there is one, in which this one fits beside it. A base whose minimum runs is followed
    /// also where labels that have changed have put groups of it apart.
    pub base: Option<GangName>,
    /// Whether room is kept for it while it waits.
    pub reserve: bool,
    /// The groups; the root is first and parents stand before their children.
    pub groups: Vec<Group>,
    /// All members, bound and waiting. Finished ones are left out, and taken off the minimum of their leaf.
    pub pods: Vec<Pod>,
    /// Members of a scaled gang that are known and held back until its base has a place. They get none and count for nothing;
    /// but the base goes, if it can, where they will fit.
    pub coming: Vec<Pod>,
    /// Places of members that are gone, kept for those that come back.
    pub holds: Vec<Hold>,
    /// Why the gang cannot be planned at all, whatever the cluster has.
    pub unready: Option<Unready>,
}

/// A group of a gang.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// Name of the group; the root has the gang's.
    pub name: String,
    /// The group above; none for the root alone.
    pub parent: Option<GroupId>,
    /// How close together its pods must and should be.
    pub constraint: Option<Constraint>,
    /// What it is made of, and how much of it must be placed.
    pub members: Members,
}

/// What a group is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Members {
    /// Other groups, of which at least `min` must be placed. A child beyond that is placed whole (all its own minima)
    /// or not at all.
    Groups {
        /// Number of direct children that must be placed.
        min: usize,
    },
    /// Pods, of which any `min` must be placed; bound ones count.
    Pods {
        /// Number of pods.
        min: usize,
    },
}

impl Default for Members {
    fn default() -> Self {
        Self::Pods { min: 0 }
    }
}

/// How close together pods must and should be. Levels are indices into the topology's levels, 0 the widest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Constraint {
    /// Index of the topology.
    pub topology: usize,
    /// The level of which all pods must share one domain.
    pub required: Option<usize>,
    /// The level of which the pods should use few domains.
    pub preferred: Option<usize>,
}

/// A member of a gang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// Name of the pod.
    pub name: String,
    /// The leaf it belongs to.
    pub group: GroupId,
    /// What it asks for.
    pub request: Arc<[i64]>,
    /// Where it may run: index into the cluster's eligibility. Not looked at for bound pods.
    pub eligibility: usize,
    /// Where it runs already. Its request is charged there.
    pub bound: Option<Place>,
}

/// The place of a member that is gone, kept for the one that comes back.
///
/// - It says where the gang is, as a bound pod does: it fixes the domains of its leaf and of the groups above, also where
///   its node has since been closed, and its domains count as used in spans. Gangs that are scaled from this one follow it.
/// - It is no pod: it counts towards no minimum.
/// - Its request is charged to its node and its zone while gangs of the same or a lower priority are planned, the
///   owner excepted. Gangs of a higher priority do not see it.
/// - It is *used up* by a pod of its leaf that the plan places, wherever that is, each pod using up one: first those at
///   the pod's very place that ask for the same, then others on the pod's node, then any; of several the first by place
///   and request. What no pod uses up stays charged.
/// - What gangs ahead reserve on its node is no bar to the owner.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hold {
    /// The leaf that the member belonged to.
    pub group: GroupId,
    /// Where it stood.
    pub place: Place,
    /// What is kept there; all zeros keep nothing and say only where the gang is.
    pub request: Arc<[i64]>,
}

/// Why a gang cannot be planned, whatever the cluster has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all_fields = "camelCase")]
pub enum Unready {
    /// A topology that is not there.
    UnknownTopology {
        /// The group that names it.
        group: String,
        /// Its name.
        topology: String,
    },
    /// A level that the topology does not have.
    UnknownLevel {
        /// The group that names it.
        group: String,
        /// Name of the topology.
        topology: String,
        /// The level as written.
        level: String,
    },
    /// Something that pods ask for and this scheduler does not do.
    Unsupported {
        /// What it is, in words.
        text: String,
    },
    /// Something that pods need and that is not there, or not free, whatever room there is.
    Missing {
        /// What it is, in words.
        text: String,
    },
}

impl Gang {
    /// The direct children of a group.
    pub fn children(&self, group: GroupId) -> impl Iterator<Item = GroupId> {
        (group + 1..self.groups.len()).filter(move |child| self.groups[*child].parent == Some(group))
    }

    /// A group and all groups above it, the root last.
    pub fn ancestry(&self, group: GroupId) -> impl Iterator<Item = GroupId> {
        std::iter::successors(Some(group), |group| self.groups[*group].parent)
    }

    /// Where the gang is, by leaf: its bound pods, and what is held for those that are gone.
    pub(crate) fn standing(&self) -> impl Iterator<Item = (GroupId, Place)> {
        let bound = self.pods.iter().filter_map(|pod| Some((pod.group, pod.bound?)));
        bound.chain(self.holds.iter().map(|hold| (hold.group, hold.place)))
    }

    /// Whether such pods are enough for its minimum.
    pub fn has_minimum<'a>(&self, pods: impl IntoIterator<Item = &'a Pod>) -> bool {
        let mut there = vec![0_usize; self.groups.len()];
        pods.into_iter().for_each(|pod| there[pod.group] += 1);
        // Children stand behind their parents, and a group has pods or children.
        let mut enough = true;
        for (group, spec) in self.groups.iter().enumerate().rev() {
            let (Members::Pods { min } | Members::Groups { min }) = spec.members;
            enough = there[group] >= min;
            if let Some(parent) = spec.parent {
                there[parent] += usize::from(enough);
            }
        }
        enough
    }

    /// Whether those that are scaled from it may follow it whatever the plan says of it: its minimum runs, and its levels are known.
    /// Labels that have changed since may have put it apart.
    pub(crate) fn leads(&self) -> bool {
        let is_known = !matches!(self.unready, Some(Unready::UnknownTopology { .. } | Unready::UnknownLevel { .. }));
        is_known && self.has_minimum(self.pods.iter().filter(|pod| pod.bound.is_some()))
    }

    /// The members of a leaf, bound and waiting, in their order.
    pub fn pods_of(&self, leaf: GroupId) -> impl Iterator<Item = (usize, &Pod)> {
        self.pods.iter().enumerate().filter(move |(_, pod)| pod.group == leaf)
    }
}
