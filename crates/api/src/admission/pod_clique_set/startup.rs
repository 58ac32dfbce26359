//! The order in which cliques start.

use super::super::Verdict;
use crate::field::{FieldError, Path};
use crate::kinds::{PodCliqueSet, StartupType};
use std::collections::{BTreeMap, BTreeSet};

pub fn check(set: &PodCliqueSet, verdict: &mut Verdict) {
    let template = &set.spec.template;
    let path = Path::new("spec.template.cliques");
    if template.clique_startup_type != StartupType::Explicit {
        for (i, clique) in template.cliques.iter().enumerate().filter(|(_, c)| !c.spec.starts_after.is_empty()) {
            verdict.warnings.push(format!(
                "{}: ignored for clique '{}', because cliqueStartupType is not CliqueStartupTypeExplicit",
                path.index(i).child("spec").child("startsAfter"),
                clique.name
            ));
        }
        return;
    }
    let errors = &mut verdict.errors;
    let known: BTreeSet<&str> = template.cliques.iter().map(|clique| clique.name.as_str()).collect();
    for (i, clique) in template.cliques.iter().enumerate() {
        let path = path.index(i).child("spec").child("startsAfter");
        let mut seen = BTreeSet::new();
        for (j, parent) in clique.spec.starts_after.iter().enumerate() {
            let path = path.index(j);
            if parent.is_empty() {
                errors.push(FieldError::required(&path, "clique dependency must not be empty"));
                continue;
            }
            if !seen.insert(parent) {
                errors.push(FieldError::duplicate(&path, parent.as_str()));
            }
            if *parent == clique.name {
                let message = "clique dependency cannot refer to itself";
                errors.push(FieldError::invalid(&path, parent.as_str(), message));
            } else if !known.contains(parent.as_str()) {
                let message = "unknown clique names found, all clique dependencies must be defined as cliques";
                errors.push(FieldError::invalid(&path, parent.as_str(), message));
            }
        }
    }
    let cyclic = cyclic_cliques(set);
    if !cyclic.is_empty() {
        let message = "clique must not have circular dependencies";
        errors.push(FieldError::invalid(&path, cyclic.join(", "), message));
    }
}

/// Cliques that start after themselves through others, in template order.
fn cyclic_cliques(set: &PodCliqueSet) -> Vec<&str> {
    let cliques = &set.spec.template.cliques;
    let parents: BTreeMap<&str, Vec<&str>> = cliques
        .iter()
        .map(|c| (c.name.as_str(), c.spec.starts_after.iter().map(String::as_str).filter(|p| *p != c.name).collect()))
        .collect();
    let reaches_itself = |start: &str| {
        let mut seen = BTreeSet::new();
        let mut todo: Vec<&str> = parents.get(start).cloned().unwrap_or_default();
        while let Some(name) = todo.pop() {
            if name == start {
                return true;
            }
            if seen.insert(name) {
                todo.extend(parents.get(name).into_iter().flatten());
            }
        }
        false
    };
    cliques.iter().map(|clique| clique.name.as_str()).filter(|name| reaches_itself(name)).collect()
}
