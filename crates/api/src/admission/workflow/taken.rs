//! Workflows whose objects would be called alike: `exp` with group `a-train`, and `exp-a` with group `train`.
//!
//! Names are joined by `-`, which names may have in them, so the names of two workflows may come to the same. Only one of them can have the
//! objects; the other would wait for ever.

use super::{Written, written};
use crate::field::{FieldError, Path};
use crate::kinds::osmo::Workflow;
use crate::names::osmo;
use std::collections::{BTreeMap, BTreeSet};

/// Which workflows make objects of which names.
#[derive(Clone, Debug, Default)]
pub struct Names(BTreeMap<(String, &'static str, String), BTreeSet<String>>);

impl Names {
    /// Adds the objects of a workflow.
    pub fn add(&mut self, workflow: &Workflow) {
        for (_, kind, name) in objects(workflow) {
            let key = (namespace(workflow), kind, name);
            self.0.entry(key).or_default().insert(name_of(workflow).to_owned());
        }
    }

    /// What objects of the workflow are also those of others; each of the others is told about once.
    pub fn check(&self, workflow: &Workflow) -> Vec<FieldError> {
        let own = name_of(workflow);
        let (mut told, mut errors) = (BTreeSet::new(), Vec::new());
        for (path, kind, name) in objects(workflow) {
            let owners = self.0.get(&(namespace(workflow), kind, name.clone()));
            for other in owners.into_iter().flatten().filter(|other| *other != own) {
                if told.insert(other) {
                    let message = format!(
                        "{kind} {name:?} of workflow {own:?} would also be that of workflow {other:?}; give one of them \
                         another name"
                    );
                    errors.push(FieldError { message, ..FieldError::duplicate(&path, name.as_str()) });
                }
            }
        }
        errors
    }
}

fn name_of(workflow: &Workflow) -> &str {
    workflow.metadata.name.as_deref().unwrap_or_default()
}

fn namespace(workflow: &Workflow) -> String {
    workflow.metadata.namespace.clone().unwrap_or_else(|| "default".to_owned())
}

/// The objects of a workflow by kind and name, and where what they are called after is written.
fn objects(workflow: &Workflow) -> Vec<(Path, &'static str, String)> {
    let own = name_of(workflow);
    let groups = written(&workflow.spec, &Path::new("spec"));
    let of_group = |group: &Written<'_>| {
        let gang = (group.path.child("name"), "PodGroup", osmo::group(own, &group.group.name));
        let pods = group.tasks().map(|(path, task)| (path.child("name"), "Pod", osmo::task(own, &task.name)));
        [gang].into_iter().chain(pods).collect::<Vec<_>>()
    };
    groups.iter().flat_map(of_group).collect()
}
