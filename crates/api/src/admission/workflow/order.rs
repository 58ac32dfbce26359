//! Who waits for whom: inputs name tasks of earlier groups, hosts name any task.

use super::{Written, tasks};
use crate::field::FieldError;
use std::collections::BTreeMap;

pub(super) fn check(groups: &[Written<'_>], errors: &mut Vec<FieldError>) {
    let mut group_of: BTreeMap<&str, usize> = BTreeMap::new();
    for (i, written) in groups.iter().enumerate() {
        for task in &written.group.tasks {
            group_of.entry(&task.name).or_insert(i);
        }
    }
    for (i, written) in groups.iter().enumerate() {
        for (path, task) in written.tasks() {
            for (k, input) in task.inputs.iter().enumerate() {
                let Some(name) = input.task.as_deref() else { continue };
                let path = path.child("inputs").index(k).child("task");
                let (this, earlier) = (&written.group.name, group_of.get(name));
                match earlier {
                    None => errors.push(FieldError::not_found(&path, name, "task input does not exist")),
                    Some(of) if *of == i => {
                        let message = format!("is in the same group, {this:?}; inputs come from groups that are done");
                        errors.push(FieldError::invalid(&path, name, message));
                    }
                    Some(of) if *of > i => {
                        let other = &groups[*of].group.name;
                        let message =
                            format!("group {this:?} requires that input group {other:?} exists before itself");
                        errors.push(FieldError::invalid(&path, name, message));
                    }
                    Some(_) => {}
                }
            }
            for (path, text) in tasks::texts(&path, task) {
                for host in tasks::hosts(text).filter(|host| !group_of.contains_key(host)) {
                    errors.push(FieldError::not_found(&path, host, "no task is called so, and has no host"));
                }
            }
        }
    }
}
