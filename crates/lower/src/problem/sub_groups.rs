//! The subgroups of a KAI PodGroup, as a tree.

use super::drafts::{Draft, in_circles};
use super::faults::Of;
use super::pod_groups::Notes;
use super::topologies::{Asked, Dialect, Topologies, non_empty};
use std::collections::{BTreeMap, VecDeque};
use trellis_api::field::{FieldError, Path};
use trellis_api::kinds::kai::{KaiPodGroupSpec, KaiSubGroup, KaiTopologyConstraint};
use trellis_api::names::DEFAULT_LEAF;
use trellis_engine::{Constraint, GroupId, Members, Unready};

/// Deepest tree that is planned: deeper than any topology.
const DEPTH_MAX: usize = 64;

/// The leaves of a gang.
#[derive(Debug)]
pub(super) enum Leaves<'a> {
    /// The one leaf of a group without subgroups.
    One(GroupId),
    /// Leaves by name.
    Named(BTreeMap<&'a str, GroupId>),
}

impl Leaves<'_> {
    /// The leaf of a pod that names this subgroup.
    pub fn of(&self, name: Option<&str>) -> Option<GroupId> {
        match self {
            Self::One(leaf) => Some(*leaf),
            Self::Named(leaves) => leaves.get(name?).copied(),
        }
    }
}

/// Adds the tree below the root of a gang, unless it is none.
pub(super) fn add<'a>(
    spec: &'a KaiPodGroupSpec,
    draft: &mut Draft<'_>,
    topologies: &Topologies,
    notes: &mut Notes,
    faults: &mut Of<'_>,
) -> Option<Leaves<'a>> {
    let title = format!("{}/{}", draft.gang.id.namespace, draft.gang.id.name);
    let mut constraint = |group: &str, written: Option<&KaiTopologyConstraint>| {
        of_constraint(written, group, topologies, || notes.no_topology.count(|| title.clone()))
    };
    let name = draft.gang.id.name.clone();
    draft.constrain(0, constraint(&name, spec.topology_constraint.as_ref()));
    let groups = &spec.sub_groups;
    if groups.is_empty() {
        let min = min_member(spec.min_member, &Path::new("spec"), faults);
        return Some(Leaves::One(draft.add(DEFAULT_LEAF, 0, Members::Pods { min })));
    }
    let parents = parents(groups, faults)?;
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); groups.len()];
    let mut top = Vec::new();
    for (i, parent) in parents.iter().enumerate() {
        parent.map_or(&mut top, |parent| &mut children[parent]).push(i);
    }
    let mut inner = vec![(0, spec.min_sub_group, Path::new("spec"), top.len())];
    let mut leaves = BTreeMap::new();
    let mut queue: VecDeque<(usize, GroupId, usize)> = top.into_iter().map(|i| (i, 0, 1)).collect();
    while let Some((i, parent, depth)) = queue.pop_front() {
        let (group, path) = (&groups[i], Path::new("spec.subGroups").index(i));
        if depth > DEPTH_MAX {
            let message = format!("subgroups can be nested {DEPTH_MAX} deep");
            faults.push(FieldError::invalid(
                &path.child("parent"),
                group.parent.as_deref().unwrap_or_default(),
                message,
            ));
            return None;
        }
        let id = if children[i].is_empty() {
            let min = min_member(group.min_member, &path, faults);
            let leaf = draft.add(&group.name, parent, Members::Pods { min });
            leaves.insert(group.name.as_str(), leaf);
            leaf
        } else {
            let id = draft.add(&group.name, parent, Members::Groups { min: 0 });
            inner.push((id, group.min_sub_group, path, children[i].len()));
            id
        };
        draft.constrain(id, constraint(&group.name, group.topology_constraint.as_ref()));
        queue.extend(children[i].iter().map(|child| (*child, id, depth + 1)));
    }
    for (id, min, path, children) in inner {
        elastic(draft, id, min, &path, children, faults);
    }
    Some(Leaves::Named(leaves))
}

/// What a constraint of KAI's comes to. A level without a topology is none.
fn of_constraint(
    written: Option<&KaiTopologyConstraint>,
    group: &str,
    topologies: &Topologies,
    no_topology: impl FnOnce(),
) -> Result<Option<Constraint>, Unready> {
    let Some(written) = written else { return Ok(None) };
    let (required, preferred) =
        (written.required_topology_level.as_deref(), written.preferred_topology_level.as_deref());
    let Some(topology) = non_empty(written.topology.as_deref()) else {
        if non_empty(required).is_some() || non_empty(preferred).is_some() {
            no_topology();
        }
        return Ok(None);
    };
    topologies.constraint(Dialect::Kai, group, Asked { topology, required, preferred })
}

/// Gang size of a leaf: at least one, as in KAI.
fn min_member(written: Option<i32>, path: &Path, faults: &mut Of<'_>) -> usize {
    let written = written.unwrap_or(1);
    if written < 0 {
        faults.push(FieldError::invalid(&path.child("minMember"), written, "must be 1 or more"));
    }
    usize::try_from(written).unwrap_or(1).max(1)
}

/// How many children of an inner group must be placed, where that is said; else all.
fn elastic(
    draft: &mut Draft<'_>,
    group: GroupId,
    written: Option<i32>,
    path: &Path,
    children: usize,
    faults: &mut Of<'_>,
) {
    let Some(written) = written else { return };
    let Ok(min) = usize::try_from(written) else {
        faults.push(FieldError::invalid(&path.child("minSubGroup"), written, "must be 0 or more"));
        return;
    };
    if min > children {
        let text = format!("{}.minSubGroup is {min}, and there are {children} subgroups", path.as_str());
        draft.gang.unready.get_or_insert(Unready::Unsupported { text });
    }
    draft.gang.groups[group].members = Members::Groups { min: min.min(children) };
}

/// The parent of each subgroup. Nothing if they are no tree.
fn parents(groups: &[KaiSubGroup], faults: &mut Of<'_>) -> Option<Vec<Option<usize>>> {
    let path = |i: usize, field: &str| Path::new("spec.subGroups").index(i).child(field);
    let mut exact: BTreeMap<&str, usize> = BTreeMap::new();
    // KAI lower-cases the names of parents.
    let mut lower: BTreeMap<String, usize> = BTreeMap::new();
    let mut is_tree = true;
    for (i, group) in groups.iter().enumerate() {
        if group.name.is_empty() {
            faults.push(FieldError::required(&path(i, "name"), "subgroups are told apart by their names"));
            is_tree = false;
        } else if exact.insert(&group.name, i).is_some() {
            faults.push(FieldError::duplicate(&path(i, "name"), group.name.as_str()));
            is_tree = false;
        }
        lower.entry(group.name.to_lowercase()).or_insert(i);
    }
    let mut parents = Vec::with_capacity(groups.len());
    for (i, group) in groups.iter().enumerate() {
        let Some(name) = non_empty(group.parent.as_deref()) else {
            parents.push(None);
            continue;
        };
        let found = exact.get(name).or_else(|| lower.get(&name.to_lowercase())).copied();
        if found.is_none() {
            faults.push(FieldError::not_found(
                &path(i, "parent"),
                name,
                "must be the name of a subgroup of this group",
            ));
            is_tree = false;
        }
        parents.push(found);
    }
    for i in in_circles(groups.len(), |i| parents[i]) {
        let parent = groups[i].parent.as_deref().unwrap_or_default();
        let message = "a subgroup cannot be its own parent, also not by way of others";
        faults.push(FieldError::invalid(&path(i, "parent"), parent, message));
        is_tree = false;
    }
    is_tree.then_some(parents)
}
