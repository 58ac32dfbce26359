//! Names of workflows, groups and tasks: OSMO's form, and each once.

use super::Written;
use crate::admission::Verdict;
use crate::field::{FieldError, Path};
use crate::kinds::osmo::Workflow;
use crate::names::osmo::{NAME_MAX, RESERVED_TASK, folded, lone_group};
use std::collections::BTreeMap;

const FORM: &str = "must be letters, digits, '-' and '_', starting with a letter and ending with a letter or digit \
                    (e.g. 'shard-0')";

pub(super) fn check(workflow: &Workflow, groups: &[Written<'_>], verdict: &mut Verdict) {
    // An object that is called legally may still not be a workflow's name: those begin with a letter.
    if workflow.metadata.name.as_deref().is_some_and(|name| !name.is_empty()) {
        check_form(&Path::new("metadata.name"), workflow.written_name(), &mut verdict.errors);
    }
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    for written in groups {
        if !written.is_alone {
            let path = written.path.child("name");
            check_form(&path, &written.group.name, &mut verdict.errors);
            check_once(&path, &written.group.name, &mut seen, &mut verdict.errors);
        }
        for (path, task) in written.tasks() {
            let path = path.child("name");
            check_form(&path, &task.name, &mut verdict.errors);
            check_once(&path, &task.name, &mut seen, &mut verdict.errors);
            if written.is_alone {
                check_once(&path, &lone_group(&task.name), &mut seen, &mut verdict.errors);
            }
            if task.name == RESERVED_TASK {
                verdict.errors.push(FieldError::forbidden(&path, format!("{RESERVED_TASK:?} is reserved")));
            }
        }
    }
}

/// OSMO's form of a name: `^[a-zA-Z]([a-zA-Z0-9_-]*[a-zA-Z0-9])?$`.
fn check_form(path: &Path, name: &str, errors: &mut Vec<FieldError>) {
    let bytes = name.as_bytes();
    let is_fit = bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    if name.is_empty() {
        errors.push(FieldError::required(path, "a name is needed"));
    } else if name.len() > NAME_MAX {
        errors.push(FieldError::too_long(path, name, NAME_MAX));
    } else if !is_fit {
        errors.push(FieldError::invalid(path, name, FORM));
    }
}

fn check_once(path: &Path, name: &str, seen: &mut BTreeMap<String, String>, errors: &mut Vec<FieldError>) {
    if name.is_empty() {
        return;
    }
    match seen.get(&folded(name)) {
        Some(first) => {
            let message = format!(
                "{first:?} is there already; names of tasks and groups are compared without case, and '_' is '-'"
            );
            errors.push(FieldError { message, ..FieldError::duplicate(path, name) });
        }
        None => drop(seen.insert(folded(name), name.to_owned())),
    }
}
