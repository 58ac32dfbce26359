//! One gang that is said not to fit, and what claims about it are read against.

use super::alike::Memo;
use super::claims::ensure;
use super::domains::{Dom, Index};
use super::ground::{Ground, Mode, Room};
use crate::cluster::{NodeId, Place};
use crate::gang::{Gang, GroupId, Members};
use fixedbitset::FixedBitSet;
use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

/// Where the base of a scaled gang holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    /// No base, or one that holds it nowhere.
    None,
    /// In the domain of the base.
    In(Dom),
    /// The base's own pods do not share a domain of its required level.
    Nowhere,
}

/// Waiting pods of a leaf that are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) request: Arc<[i64]>,
    pub(super) eligibility: usize,
    pub(super) waiting: u64,
}

/// What the claims need to know of a leaf.
pub(super) struct Leaf {
    pub(super) mode: Mode,
    pub(super) need: u64,
    pub(super) kinds: Vec<Kind>,
}

/// What has been assumed on the way to a claim.
pub(super) struct Context {
    pub(super) confined: Vec<Option<Dom>>,
    pub(super) chosen: Vec<Option<Vec<GroupId>>>,
}

/// One gang that is said not to fit.
pub(super) struct Case<'a> {
    pub(super) ground: &'a Ground<'a>,
    pub(super) gang: &'a Gang,
    pub(super) index: &'a Index,
    pub(super) anchor: Anchor,
    /// For each group its leaf, if it is one.
    leaves: Vec<Option<Leaf>>,
    pub(super) children: Vec<Vec<GroupId>>,
    /// For each group the places of bound pods and holds in and below it.
    pub(super) bound: Vec<Vec<Place>>,
    /// What the plan leaves to it.
    pub(super) room: Cow<'a, Room<'a>>,
    closed: FixedBitSet,
    pub(super) number: usize,
    pub(super) memo: RefCell<Memo>,
}

impl<'a> Case<'a> {
    pub(super) fn new(ground: &'a Ground<'a>, number: usize) -> Self {
        let gang = &ground.gangs[number];
        let groups = gang.groups.len();
        let mut children = vec![Vec::new(); groups];
        let mut leaves = Vec::with_capacity(groups);
        for (group, spec) in gang.groups.iter().enumerate() {
            if let Some(parent) = spec.parent {
                children[parent].push(group);
            }
            leaves.push(match spec.members {
                Members::Groups { .. } => None,
                Members::Pods { min } => {
                    Some(Leaf { mode: ground.mode(gang, group), need: min as u64, kinds: Vec::new() })
                }
            });
        }
        let mut bound = vec![Vec::new(); groups];
        for pod in &gang.pods {
            let Some(leaf) = &mut leaves[pod.group] else { continue };
            if let Some(place) = pod.bound {
                leaf.need = leaf.need.saturating_sub(1);
                for group in gang.ancestry(pod.group) {
                    bound[group].push(place);
                }
                continue;
            }
            let alike = |kind: &&mut Kind| kind.eligibility == pod.eligibility && kind.request == pod.request;
            match leaf.kinds.iter_mut().find(alike) {
                Some(kind) => kind.waiting += 1,
                None => leaf.kinds.push(Kind {
                    request: Arc::clone(&pod.request),
                    eligibility: pod.eligibility,
                    waiting: 1,
                }),
            }
        }
        for hold in &gang.holds {
            for group in gang.ancestry(hold.group) {
                bound[group].push(hold.place);
            }
        }
        let index = ground.index();
        let anchor = anchor(ground, index, number);
        let (room, closed, memo) = (ground.room_for(number), ground.closed_to(number), RefCell::default());
        Self { ground, gang, index, anchor, leaves, children, bound, room, closed, number, memo }
    }

    pub(super) fn name(&self, group: GroupId) -> String {
        format!("group {}", self.gang.groups[group].name)
    }

    /// That a group is there and needed.
    pub(super) fn needed(&self, context: &Context, group: GroupId) -> Result<(), String> {
        ensure(group < self.gang.groups.len(), || format!("there is no group {group}"))?;
        for below in self.gang.ancestry(group) {
            let Some(above) = self.gang.groups[below].parent else { continue };
            let demanded = match (&context.chosen[above], self.gang.groups[above].members) {
                (Some(chosen), _) => chosen.contains(&below),
                (None, Members::Groups { min }) => min >= self.children[above].len(),
                (None, Members::Pods { .. }) => false,
            };
            ensure(demanded, || format!("{} is not needed", self.name(group)))?;
        }
        Ok(())
    }

    /// A needed leaf.
    pub(super) fn leaf(&self, context: &Context, leaf: GroupId) -> Result<&Leaf, String> {
        self.needed(context, leaf)?;
        self.leaves[leaf].as_ref().ok_or_else(|| format!("{} is not a leaf", self.name(leaf)))
    }

    /// Every leaf, needed or not.
    pub(super) fn all_leaves(&self) -> impl Iterator<Item = (GroupId, &Leaf)> {
        self.leaves.iter().enumerate().filter_map(|(group, leaf)| Some((group, leaf.as_ref()?)))
    }

    /// Whether new pods of an eligibility may go to a node.
    pub(super) fn open(&self, eligibility: usize, node: NodeId) -> bool {
        let kind = self.ground.cluster.eligibility.get(eligibility);
        kind.is_some_and(|kind| kind.allowed.contains(node as usize)) && !self.closed.contains(node as usize)
    }

    /// Whether bound pods or holds say where a group is.
    pub(super) fn has_bound(&self, group: GroupId) -> bool {
        !self.bound[group].is_empty()
    }

    /// Whether bound pods and holds of a group break its own required level.
    pub(super) fn is_apart(&self, group: GroupId) -> bool {
        let Some(constraint) = self.gang.groups[group].constraint else { return false };
        let Some(level) = constraint.required else { return false };
        self.has_bound(group) && self.index.shared(constraint.topology, level, &self.bound[group]).is_none()
    }

    /// The fewest pods that have to be placed for a group to have its minimum.
    pub(super) fn least(&self, context: &Context, group: GroupId) -> u64 {
        if let Some(leaf) = &self.leaves[group] {
            return leaf.need;
        }
        let among = context.chosen[group].as_ref().unwrap_or(&self.children[group]);
        let mut least: Vec<u64> = among.iter().map(|child| self.least(context, *child)).collect();
        least.sort_unstable();
        let Members::Groups { min } = self.gang.groups[group].members else { return 0 };
        least.into_iter().take(min).sum()
    }

    /// Topology, level and candidates of a group that has to be in one domain and is not confined yet.
    pub(super) fn candidates(&self, context: &Context, group: GroupId) -> Result<(usize, usize, Vec<usize>), String> {
        self.needed(context, group)?;
        let required =
            |group: GroupId| self.gang.groups[group].constraint.and_then(|c| Some((c.topology, c.required?)));
        let found = required(group).ok_or_else(|| format!("{} has no required level", self.name(group)));
        let (topology, level) = found?;
        ensure(context.confined[group].is_none(), || format!("{} is confined already", self.name(group)))?;
        let mut above = self.gang.ancestry(group).skip(1);
        let open = above.find(|above| required(*above).is_some() && context.confined[*above].is_none());
        ensure(open.is_none(), || format!("a group above {} has to be confined first", self.name(group)))?;
        let mut candidates = self.sharing(&self.scope(context, self.gang.groups[group].parent), topology, level);
        if self.has_bound(group) {
            let home = self.index.shared(topology, level, &self.bound[group]);
            candidates.retain(|candidate| home == Some(Dom { topology, index: *candidate }));
        }
        Ok((topology, level, candidates))
    }
}

/// A gang with the topology and the required level of its root.
pub(super) fn required_of_root(ground: &Ground<'_>, gang: usize) -> Option<(usize, usize, usize)> {
    let constraint = ground.gangs[gang].groups.first()?.constraint?;
    Some((gang, constraint.topology, constraint.required?))
}

fn anchor(ground: &Ground<'_>, index: &Index, number: usize) -> Anchor {
    let root = ground.bases[number].and_then(|base| required_of_root(ground, base));
    let Some((base, topology, level)) = root else { return Anchor::None };
    let places: Vec<Place> = ground.standing(base).map(|(_, place)| place).collect();
    if places.is_empty() {
        return Anchor::None;
    }
    index.shared(topology, level, &places).map_or(Anchor::Nowhere, Anchor::In)
}
