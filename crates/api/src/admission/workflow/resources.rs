//! What tasks ask for: entries that are there, amounts that are amounts, platforms and shares that the pool has.

use super::{Written, rights};
use crate::field::{FieldError, Path};
use crate::kinds::osmo::{Pool, Priority, ResourceSpec, WorkflowSpec};
use crate::names::osmo::DEFAULT_RESOURCE;
use crate::osmo::units;

/// More than any node has, and few enough to be added up for all tasks.
const MOST: i64 = 1_000_000;

pub(super) fn check(spec: &WorkflowSpec, groups: &[Written<'_>], path: &Path, errors: &mut Vec<FieldError>) {
    for (name, resource) in &spec.resources {
        check_amounts(resource, &path.child("resources").key(name), errors);
    }
    for written in groups {
        for (path, task) in written.tasks() {
            let is_there = spec.resources.contains_key(task.resource_name());
            let path = path.child("resource");
            match task.resource.as_deref() {
                Some(DEFAULT_RESOURCE) if spec.resources.is_empty() => {}
                Some(name) if !is_there => {
                    let known: Vec<&str> = spec.resources.keys().map(String::as_str).collect();
                    let message = format!("requesting undefined resource; defined are: {}", known.join(", "));
                    errors.push(FieldError::not_found(&path, name, message));
                }
                None if !is_there && !spec.resources.is_empty() => {
                    let message = format!(
                        "task {:?} has no specified resource; specify a default resource in the resources section",
                        task.name
                    );
                    errors.push(FieldError::required(&path, message));
                }
                _ => {}
            }
        }
    }
}

fn check_amounts(resource: &ResourceSpec, path: &Path, errors: &mut Vec<FieldError>) {
    for (field, amount) in [("cpu", resource.cpu), ("gpu", resource.gpu)] {
        if let Some(amount) = amount.filter(|amount| !(0..=MOST).contains(amount)) {
            errors.push(FieldError::invalid(&path.child(field), amount, format!("must be from 0 to {MOST}")));
        }
    }
    for (field, amount) in [("memory", &resource.memory), ("storage", &resource.storage)] {
        if let Some(amount) = amount.as_ref().filter(|amount| units::bytes(amount).is_none()) {
            let message = "must be a number with a unit: K, M, G or T, all powers of two (e.g. '64Gi')";
            errors.push(FieldError::invalid(&path.child(field), amount.clone(), message));
        }
    }
    for (i, node) in resource.nodes_excluded.iter().enumerate().filter(|(_, node)| node.is_empty()) {
        let path = path.child("nodesExcluded").index(i);
        errors.push(FieldError::invalid(&path, node.as_str(), "must be the name of a node"));
    }
}

/// What the pool has to say.
pub(super) fn check_pool(
    spec: &WorkflowSpec,
    groups: &[Written<'_>],
    pool: &Pool,
    path: &Path,
    errors: &mut Vec<FieldError>,
) {
    let name = pool.metadata.name.as_deref().unwrap_or_default();
    check_platforms(spec, pool, name, path, errors);
    for written in groups {
        for (path, task) in written.tasks() {
            errors.extend(rights::missing(&path, task, spec.resource_of(task), pool));
        }
    }
    check_share(spec, groups, pool, name, errors);
}

/// Every resource has a platform where the pool lists some, also the one that tasks have where none is written.
fn check_platforms(spec: &WorkflowSpec, pool: &Pool, name: &str, path: &Path, errors: &mut Vec<FieldError>) {
    let platforms = &pool.spec.platforms;
    if platforms.is_empty() {
        return;
    }
    let unwritten = (DEFAULT_RESOURCE, None);
    let written = spec.resources.iter().map(|(resource, asked)| (resource.as_str(), asked.platform.as_deref()));
    let known: Vec<&str> = platforms.keys().map(String::as_str).collect();
    for (resource, own) in written.chain(spec.resources.is_empty().then_some(unwritten)) {
        let path = path.child("resources").key(resource).child("platform");
        match own.or(pool.spec.default_platform.as_deref()).filter(|name| !name.is_empty()) {
            Some(platform) if !platforms.contains_key(platform) && own.is_some() => {
                let message = format!("pool {name:?} has no such platform; it has {}", known.join(", "));
                errors.push(FieldError::not_found(&path, platform, message));
            }
            Some(_) => {}
            None => {
                let message = format!(
                    "resource {resource:?} does not have a platform, and pool {name:?} has no default; it has {}",
                    known.join(", ")
                );
                errors.push(FieldError::required(&path, message));
            }
        }
    }
}

/// What is not to be preempted has to fit into what the pool is entitled to.
fn check_share(spec: &WorkflowSpec, groups: &[Written<'_>], pool: &Pool, name: &str, errors: &mut Vec<FieldError>) {
    let guarantee = pool.spec.gpu().guarantee;
    if guarantee < 0 || spec.priority() == Priority::Low {
        return;
    }
    for written in groups {
        let gpus = written.group.tasks.iter().map(|task| pool.spec.gpus(spec.resource_of(task)).min(MOST));
        let asked: i64 = gpus.sum();
        if asked > guarantee {
            let message = format!(
                "the group asks for {asked} GPUs, and pool {name:?} guarantees {guarantee}; only priority LOW may use more"
            );
            errors.push(FieldError::invalid(&written.path, written.group.name.as_str(), message));
        }
    }
}
