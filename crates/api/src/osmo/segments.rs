//! What the tasks of one group ask of each level, side by side: one segment for each level that any of them names.
//!
//! A task that says nothing of a level that others name has a segment of its own kind there, padding, so that all tasks have
//! as many segments (document 004, step 5).

use crate::kinds::osmo::{PoolSpec, RequirementType, TaskGroup, WorkflowSpec};

/// What a task says of one level: with whom it shares a domain, and whether it must. None is padding.
pub type Segment<'a> = Option<(&'a str, RequirementType)>;

/// The tasks of a group as vectors of segments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segments<'a> {
    /// Levels that any task names, as positions among the pool's, widest first.
    pub levels: Vec<usize>,
    /// For each task a segment for each of these levels.
    pub tasks: Vec<Vec<Segment<'a>>>,
}

/// The segments of a group's tasks. Keys that the pool does not have are passed over, and of two requirements for one key
/// the first counts: admission refuses both.
pub fn segments<'a>(group: &TaskGroup, spec: &'a WorkflowSpec, pool: &PoolSpec) -> Segments<'a> {
    let width = pool.topology_keys.len();
    let asked: Vec<Vec<Segment<'a>>> = group
        .tasks
        .iter()
        .map(|task| {
            let mut levels = vec![None; width];
            for requirement in spec.resource_of(task).into_iter().flat_map(|resource| &resource.topology) {
                if let Some(level) = pool.level(&requirement.key) {
                    levels[level].get_or_insert((requirement.group.as_str(), requirement.requirement_type));
                }
            }
            levels
        })
        .collect();
    let levels: Vec<usize> = (0..width).filter(|level| asked.iter().any(|task| task[*level].is_some())).collect();
    let tasks = asked.iter().map(|task| levels.iter().map(|level| task[*level]).collect()).collect();
    Segments { levels, tasks }
}
