//! Admission of workflows: what can run at all, what the pool has, and what the topology of a group means.
//!
//! Each file below is one family of rules. Paths are those of the kind; files have their own ([`crate::osmo::Written`]).

mod names;
mod order;
mod resources;
mod rights;
mod taken;
mod tasks;
mod topology;

pub use rights::missing as missing_rights;
pub use taken::Names as WorkflowNames;
pub use tasks::exit_codes;

use super::{Verdict, form, pool::TIME};
use crate::field::{FieldError, Path};
use crate::kinds::osmo::{Pool, Task, TaskGroup, Workflow, WorkflowSpec};
use crate::names as api_names;
use crate::osmo::units;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Pools by the names of their objects.
pub type Pools = BTreeMap<String, Pool>;

/// A group, and where it is written.
struct Written<'a> {
    group: Cow<'a, TaskGroup>,
    path: Path,
    /// Whether it is a task alone.
    is_alone: bool,
}

impl Written<'_> {
    /// The tasks, and where they are written.
    fn tasks(&self) -> impl Iterator<Item = (Path, &Task)> {
        let path = |i: usize| if self.is_alone { self.path.clone() } else { self.path.child("tasks").index(i) };
        self.group.tasks.iter().enumerate().map(move |(i, task)| (path(i), task))
    }
}

/// Whether the workflow may be created, or may replace `old`.
pub fn validate_workflow(workflow: &Workflow, old: Option<&Workflow>, pools: &Pools) -> Verdict {
    let mut verdict = Verdict::default();
    if workflow.metadata.deletion_timestamp.is_some() || old.is_some_and(|old| old.spec == workflow.spec) {
        return verdict;
    }
    if let Some(old) = old {
        check_update(workflow, old, &mut verdict.errors);
        return verdict;
    }
    let path = Path::new("spec");
    form::metadata(&workflow.metadata, "Workflow", &mut verdict.errors);
    let spec = &workflow.spec;
    let groups = written(spec, &path);
    names::check(workflow, &groups, &mut verdict);
    check_shape(spec, &path, &mut verdict.errors);
    check_timeouts(spec, &path, &mut verdict.errors);
    check_labels(spec, &path, &mut verdict);
    for group in &groups {
        tasks::check(group, &mut verdict);
    }
    order::check(&groups, &mut verdict.errors);
    resources::check(spec, &groups, &path, &mut verdict.errors);
    match pool_of(spec, pools, &path, &mut verdict.errors) {
        Some(pool) => {
            resources::check_pool(spec, &groups, pool, &path, &mut verdict.errors);
            topology::check(spec, &groups, Some(pool), &path, &mut verdict);
        }
        None => topology::check(spec, &groups, None, &path, &mut verdict),
    }
    verdict
}

/// The pool that a workflow runs in: the one it names, else the only one there is.
pub fn pool<'a>(spec: &WorkflowSpec, pools: &'a Pools) -> Option<&'a Pool> {
    match spec.pool.as_deref().filter(|name| !name.is_empty()) {
        Some(name) => pools.get(name).or_else(|| pools.get(&api_names::osmo::legal(name))),
        None if pools.len() == 1 => pools.values().next(),
        None => None,
    }
}

fn pool_of<'a>(spec: &WorkflowSpec, pools: &'a Pools, path: &Path, errors: &mut Vec<FieldError>) -> Option<&'a Pool> {
    let found = pool(spec, pools);
    if found.is_none() {
        let path = path.child("pool");
        let known = match pools.len() {
            0 => "there are no pools".to_owned(),
            _ => format!("there are {}", pools.keys().map(String::as_str).collect::<Vec<_>>().join(", ")),
        };
        errors.push(match spec.pool.as_deref().filter(|name| !name.is_empty()) {
            Some(name) => FieldError::not_found(&path, name, format!("no pool is called so; {known}")),
            None => FieldError::required(&path, format!("a pool is needed to run in; {known}")),
        });
    }
    found
}

/// The groups as they were written.
fn written<'a>(spec: &'a WorkflowSpec, path: &Path) -> Vec<Written<'a>> {
    let (groups, tasks) = (path.child("groups"), path.child("tasks"));
    let count = spec.groups.len();
    let place = |i: usize| if i < count { groups.index(i) } else { tasks.index(i - count) };
    let all = spec.all_groups().into_iter().enumerate();
    all.map(|(i, group)| Written { group, path: place(i), is_alone: i >= count }).collect()
}

fn check_update(workflow: &Workflow, old: &Workflow, errors: &mut Vec<FieldError>) {
    if old.spec.cancel && !workflow.spec.cancel {
        errors.push(FieldError::forbidden(&Path::new("spec.cancel"), "a workflow that was ended does not begin again"));
    }
    let same = WorkflowSpec { cancel: old.spec.cancel, ..workflow.spec.clone() };
    if same != old.spec {
        let message = "a workflow cannot be changed once it is there, but for `cancel`; submit another one";
        errors.push(FieldError::forbidden(&Path::new("spec"), message));
    }
}

fn check_shape(spec: &WorkflowSpec, path: &Path, errors: &mut Vec<FieldError>) {
    match (spec.groups.is_empty(), spec.tasks.is_empty()) {
        (false, false) => {
            let message = "cannot use both groups and tasks in the same workflow";
            errors.push(FieldError::forbidden(&path.child("tasks"), message));
        }
        (true, true) => {
            let message = "workflows need to have at least one group or one task";
            errors.push(FieldError::required(&path.child("groups"), message));
        }
        _ => {}
    }
}

fn check_timeouts(spec: &WorkflowSpec, path: &Path, errors: &mut Vec<FieldError>) {
    let Some(timeout) = &spec.timeout else { return };
    let path = path.child("timeout");
    for (field, value) in [("exec_timeout", &timeout.exec_timeout), ("queue_timeout", &timeout.queue_timeout)] {
        if let Some(value) = value.as_ref().filter(|value| units::time(value).is_none_or(|time| time.is_zero())) {
            errors.push(FieldError::invalid(&path.child(field), value.clone(), TIME));
        }
    }
}

fn check_labels(spec: &WorkflowSpec, path: &Path, verdict: &mut Verdict) {
    const MOST: usize = 16;
    let path = path.child("labels");
    if spec.labels.len() > MOST {
        let message = format!("must have at most {MOST} items");
        verdict.errors.push(FieldError::too_many(&path, spec.labels.len(), message));
    }
    form::labels(&path, &spec.labels, &mut verdict.errors);
    for (key, value) in &spec.labels {
        if value.is_empty() {
            verdict.errors.push(FieldError::required(&path.key(key), "a label needs a value"));
        }
        if api_names::osmo::label::PREFIXES.iter().any(|prefix| key.starts_with(prefix)) {
            verdict.warnings.push(format!("{}: ours to set, passed over", path.key(key)));
        }
    }
}
