//! What a task needs to run: an image, a command, one that leads; and what is kept and not done.

use super::Written;
use crate::admission::Verdict;
use crate::field::{FieldError, Path};
use crate::kinds::osmo::{Task, TaskFile};
use crate::names::GANG_PODS_MAX;
use crate::osmo::tokens::{self, Token};
use serde_json::Value;
use std::collections::BTreeSet;

/// Most bytes of a ConfigMap.
const FILES_MAX: usize = 1 << 20;
/// Exit actions, in OSMO's words.
const ACTIONS: [&str; 4] = ["COMPLETE", "FAIL", "RESTART", "RESCHEDULE"];

pub(super) fn check(written: &Written<'_>, verdict: &mut Verdict) {
    let (group, errors) = (&written.group, &mut verdict.errors);
    let path = written.path.child("tasks");
    if group.tasks.is_empty() {
        errors.push(FieldError::required(&path, format!("group {:?} needs to have at least one task", group.name)));
    }
    let most = usize::try_from(GANG_PODS_MAX).unwrap_or(usize::MAX);
    if group.tasks.len() > most {
        errors.push(FieldError::too_many(&path, group.tasks.len(), format!("a group can have {most} tasks")));
    }
    let leads = group.tasks.iter().filter(|task| task.lead).count();
    if leads > 1 {
        let message = format!("group {:?} has {leads} leaders but must have exactly one", group.name);
        errors.push(FieldError::invalid(&path, leads, message));
    }
    for (path, task) in written.tasks() {
        check_task(&path, task, verdict);
    }
}

fn check_task(path: &Path, task: &Task, verdict: &mut Verdict) {
    let errors = &mut verdict.errors;
    if task.image.is_empty() {
        errors.push(FieldError::required(&path.child("image"), "an image is needed to run the task"));
    }
    if task.command.iter().all(String::is_empty) {
        let message = format!("task {:?} should have at least one command", task.name);
        errors.push(FieldError::required(&path.child("command"), message));
    }
    for (name, value) in &task.environment {
        let path = path.child("environment").key(name);
        if name.is_empty() || name.contains(['=', '\0']) {
            errors.push(FieldError::invalid(&path, name.as_str(), "must be a variable's name, without '='"));
        }
        if !matches!(value, Value::String(_) | Value::Number(_) | Value::Bool(_)) {
            errors.push(FieldError::invalid(&path, value.clone(), "must be text or a number"));
        }
    }
    for (i, file) in task.files.iter().enumerate() {
        let path = path.child("files").index(i);
        if !file.path.starts_with('/') || file.path.ends_with('/') {
            let message = "must be the path of a file from the root (e.g. '/tmp/run.sh')";
            errors.push(FieldError::invalid(&path.child("path"), file.path.as_str(), message));
        }
        if file.base64 && !is_base64(&file.contents) {
            errors.push(FieldError::invalid(&path.child("contents"), Value::Null, "must be base64"));
        }
    }
    check_mounts(path, task, errors);
    for (action, codes) in &task.exit_actions {
        let path = path.child("exitActions").key(action);
        if !ACTIONS.contains(&action.to_uppercase().as_str()) {
            errors.push(FieldError::not_supported(&path, action.as_str(), &ACTIONS));
        } else if exit_codes(codes).is_none() {
            let message = "must be exit codes from 0 to 255 and ranges of them (e.g. '1-10,137')";
            errors.push(FieldError::invalid(&path, codes.clone(), message));
        }
    }
    for (what, is_there) in [
        ("outputs", !task.outputs.is_empty()),
        ("inputs", task.inputs.iter().any(|input| input.task.is_none())),
        ("credentials", task.credentials.is_some()),
        ("checkpoint", !task.checkpoint.is_empty()),
    ] {
        if is_there {
            verdict.warnings.push(format!("{}: kept, but nothing is moved or mounted for it", path.child(what)));
        }
    }
}

/// Files and folders have places of their own, and files go into one object: an API server would refuse the rest when the task is made.
fn check_mounts(path: &Path, task: &Task, errors: &mut Vec<FieldError>) {
    let files = task.files.iter().enumerate();
    let files = files.map(|(i, file)| (path.child("files").index(i).child("path"), file.path.as_str(), ""));
    let folders = task.volume_mounts.iter().enumerate().map(|(i, mount)| {
        let (from, to) = mount.split_once(':').unwrap_or((mount, mount));
        (path.child("volumeMounts").index(i), to, from)
    });
    let mut places = BTreeSet::new();
    for (path, to, from) in files.chain(folders) {
        let steps_back = |path: &str| path.split('/').any(|part| part == "..");
        if to.contains(':') || steps_back(to) || steps_back(from) {
            errors.push(FieldError::invalid(&path, to, "must have neither ':' nor '..' in it"));
        } else if !places.insert(to) {
            errors.push(FieldError::duplicate(&path, to));
        }
    }
    let size = |file: &TaskFile| if file.base64 { file.contents.len() / 4 * 3 } else { file.contents.len() };
    let size: usize = task.files.iter().map(size).sum();
    if size > FILES_MAX {
        let message =
            format!("the files of a task may have {FILES_MAX} bytes in all; put them into the image or on a volume");
        errors.push(FieldError::invalid(&path.child("files"), size, message));
    }
}

/// The exit codes that a text or number names, as ranges from first to last.
pub fn exit_codes(value: &Value) -> Option<Vec<(i32, i32)>> {
    let text = match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        _ => return None,
    };
    let code = |text: &str| text.trim().parse::<u8>().ok().map(i32::from);
    let range = |part: &str| match part.split_once('-') {
        Some((first, last)) => Some((code(first)?, code(last)?)).filter(|(first, last)| first <= last),
        None => code(part).map(|code| (code, code)),
    };
    text.split(',').map(range).collect()
}

fn is_base64(text: &str) -> bool {
    let text: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let body = text.iter().position(|byte| *byte == b'=').unwrap_or(text.len());
    let padding = &text[body..];
    text.len().is_multiple_of(4)
        && padding.len() <= 2
        && padding.iter().all(|byte| *byte == b'=')
        && text[..body].iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

/// Every text of a task in which tokens stand for something, and where.
pub(super) fn texts<'a>(path: &Path, task: &'a Task) -> Vec<(Path, &'a str)> {
    let list = |field: &str, items: &'a [String]| -> Vec<(Path, &'a str)> {
        items.iter().enumerate().map(|(i, text)| (path.child(field).index(i), text.as_str())).collect()
    };
    let mut found = list("command", &task.command);
    found.extend(list("args", &task.args));
    let environment = task.environment.iter();
    found.extend(environment.filter_map(|(name, value)| Some((path.child("environment").key(name), value.as_str()?))));
    let files = task.files.iter().enumerate().filter(|(_, file)| !file.base64);
    found.extend(files.map(|(i, file)| (path.child("files").index(i).child("contents"), file.contents.as_str())));
    found
}

/// The hosts that a text names.
pub(super) fn hosts(text: &str) -> impl Iterator<Item = &str> {
    tokens::all(text).into_iter().filter_map(|token| match token {
        Token::Host(task) => Some(task),
        _ => None,
    })
}
