//! What the topology of a group means: keys of the pool, names of groups, and what is probably not meant.

use super::Written;
use crate::admission::{Verdict, form};
use crate::field::{FieldError, Path};
use crate::kinds::osmo::{Pool, RequirementType, TopologyRequirement, WorkflowSpec};
use crate::names::osmo::UNCONSTRAINED;
use crate::osmo::segments::{Segment, Segments, segments};
use std::collections::{BTreeMap, BTreeSet};

/// Names by which others are shown, before there are too many to show.
const SHOWN: usize = 3;

pub(super) fn check(
    spec: &WorkflowSpec,
    groups: &[Written<'_>],
    pool: Option<&Pool>,
    path: &Path,
    verdict: &mut Verdict,
) {
    for (name, resource) in &spec.resources {
        let path = path.child("resources").key(name).child("topology");
        check_requirements(&resource.topology, name, pool, &path, &mut verdict.errors);
    }
    let Some(pool) = pool else { return };
    for written in groups {
        let segments = segments(&written.group, spec, &pool.spec);
        warn_of_conflicts(written, &segments, pool, &mut verdict.warnings);
        warn_of_gaps(written, &segments, pool, &mut verdict.warnings);
    }
    warn_of_lone_tasks(spec, path, &mut verdict.warnings);
}

fn check_requirements(
    requirements: &[TopologyRequirement],
    resource: &str,
    pool: Option<&Pool>,
    path: &Path,
    errors: &mut Vec<FieldError>,
) {
    let mut keys = BTreeSet::new();
    for (i, requirement) in requirements.iter().enumerate() {
        let path = path.index(i);
        let (key, group) = (requirement.key.as_str(), requirement.group.as_str());
        if let Some(pool) = pool.filter(|pool| pool.spec.level(key).is_none()) {
            let mut known: Vec<&str> = pool.spec.topology_keys.iter().map(|level| level.key.as_str()).collect();
            known.sort_unstable();
            let name = pool.metadata.name.as_deref().unwrap_or_default();
            let message = format!(
                "topology key {key:?} in resource {resource:?} is not available in pool {name:?}; available topology keys: \
                 [{}]",
                known.join(", ")
            );
            errors.push(FieldError::not_found(&path.child("key"), key, message));
        }
        if !keys.insert(key) {
            let message = format!("resource {resource:?} names the level twice; a task can be in one group of a level");
            errors.push(FieldError { message, ..FieldError::duplicate(&path.child("key"), key) });
        }
        if !form::is_dns_label(group) {
            let message = "must be lower case letters, digits and '-', starting and ending with a letter or digit, at most \
                           63 characters (e.g. 'model-1')";
            errors.push(FieldError::invalid(&path.child("group"), group, message));
        } else if group == UNCONSTRAINED {
            let message = format!("{UNCONSTRAINED:?} is the group of tasks that ask for nothing; choose another name");
            errors.push(FieldError::forbidden(&path.child("group"), message));
        }
    }
}

/// Where some tasks of a group must share a domain and others only should, all must.
fn warn_of_conflicts(written: &Written<'_>, segments: &Segments<'_>, pool: &Pool, warnings: &mut Vec<String>) {
    // Whether somebody says required, and who says preferred, for each node of the tree.
    let mut nodes: BTreeMap<Vec<Option<&str>>, (bool, Vec<&str>)> = BTreeMap::new();
    for (vector, task) in segments.tasks.iter().zip(&written.group.tasks) {
        let names: Vec<Option<&str>> = vector.iter().map(|segment| segment.map(|(group, _)| group)).collect();
        for (depth, segment) in vector.iter().enumerate() {
            let Some((_, kind)) = segment else { continue };
            let node = nodes.entry(names[..=depth].to_vec()).or_default();
            match kind {
                RequirementType::Required => node.0 = true,
                RequirementType::Preferred => node.1.push(&task.name),
            }
        }
    }
    for (names, (required, preferring)) in nodes {
        if let (true, false, Some(level)) = (required, preferring.is_empty(), segments.levels.get(names.len() - 1)) {
            let (key, group) =
                (&pool.spec.topology_keys[*level].key, names.last().copied().flatten().unwrap_or_default());
            warnings.push(format!(
                "{}: {key:?} of group {group:?} is required by some tasks and preferred by {}; it is required of all",
                written.path,
                shown(&preferring)
            ));
        }
    }
}

/// A task that names a finer level without the coarser one that its peers name is apart from them (34).
fn warn_of_gaps(written: &Written<'_>, segments: &Segments<'_>, pool: &Pool, warnings: &mut Vec<String>) {
    let gap = |vector: &[Segment<'_>]| {
        let last = vector.iter().rposition(Option::is_some)?;
        vector[..last].iter().position(Option::is_none)
    };
    let mut by_level: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for (vector, task) in segments.tasks.iter().zip(&written.group.tasks) {
        if let Some(depth) = gap(vector) {
            by_level.entry(segments.levels[depth]).or_default().push(&task.name);
        }
    }
    for (level, tasks) in by_level {
        let key = &pool.spec.topology_keys[level].key;
        warnings.push(format!(
            "{}: {} no {key:?}, which others in the group name, and a finer level; groups of that level are not shared with \
             those others",
            written.path,
            if tasks.len() == 1 { format!("{} names", shown(&tasks)) } else { format!("{} name", shown(&tasks)) },
        ));
    }
}

/// Tasks that are each a group of their own share nothing.
fn warn_of_lone_tasks(spec: &WorkflowSpec, path: &Path, warnings: &mut Vec<String>) {
    let constrained = |name: &str| spec.resources.get(name).is_some_and(|resource| !resource.topology.is_empty());
    let alone = spec.tasks.iter().filter(|task| constrained(task.resource_name())).count();
    if alone > 1 {
        warnings.push(format!(
            "{}: each task is a group of its own, so topology brings no two of them together; write them as one group",
            path.child("tasks")
        ));
    }
}

fn shown(names: &[&str]) -> String {
    let first: Vec<&str> = names.iter().copied().take(SHOWN).collect();
    match names.len() - first.len() {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}
