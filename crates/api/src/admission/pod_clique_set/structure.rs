//! Shape of a set: cliques, groups and their own fields.

use super::super::{Verdict, form};
use crate::duration;
use crate::field::{FieldError, Path};
use crate::kinds::PodCliqueSet;
use crate::names::label;
use std::collections::BTreeSet;

pub fn check(set: &PodCliqueSet, verdict: &mut Verdict) {
    form::metadata(&set.metadata, "PodCliqueSet", &mut verdict.errors);
    let name = form::name(&set.metadata);
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        verdict.warnings.push(format!(
            "metadata.name: {name:?} starts with a digit; its headless Services are refused by clusters that want Service \
             names to start with a letter"
        ));
    }
    for (i, clique) in set.spec.template.cliques.iter().enumerate() {
        for key in clique.labels.keys().filter(|key| label::is_reserved(key)) {
            let path = Path::new("spec.template.cliques").index(i).child("labels").key(key);
            verdict.warnings.push(format!("{path}: the label is set by the operator, the value here is ignored"));
        }
    }
    let errors = &mut verdict.errors;
    let path = Path::new("spec");
    if set.spec.replicas < 0 {
        let message = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(&path.child("replicas"), set.spec.replicas, message));
    }
    let path = path.child("template");
    let template = &set.spec.template;
    if template.cliques.is_empty() {
        errors.push(FieldError::required(&path.child("cliques"), "at least one PodClique must be defined"));
    }
    cliques(set, &path.child("cliques"), errors);
    groups(set, &path.child("podCliqueScalingGroups"), errors);
    termination_delay(template.termination_delay.as_deref(), &path.child("terminationDelay"), errors);
}

fn cliques(set: &PodCliqueSet, path: &Path, errors: &mut Vec<FieldError>) {
    let (mut names, mut roles) = (BTreeSet::new(), BTreeSet::new());
    for (i, clique) in set.spec.template.cliques.iter().enumerate() {
        let path = path.index(i);
        if clique.name.is_empty() {
            errors.push(FieldError::required(&path.child("name"), "field cannot be empty"));
        } else {
            form::dns_label(&path.child("name"), &clique.name, "PodClique", errors);
            if !names.insert(&clique.name) {
                errors.push(FieldError::duplicate(&path.child("name"), clique.name.as_str()));
            }
        }
        let role = path.child("spec").child("roleName");
        if clique.spec.role_name.is_empty() {
            errors.push(FieldError::required(&role, "field cannot be empty"));
        } else if !roles.insert(&clique.spec.role_name) {
            errors.push(FieldError::duplicate(&role, clique.spec.role_name.as_str()));
        }
        form::labels(&path.child("labels"), &clique.labels, errors);
        form::annotations(&path.child("annotations"), &clique.annotations, errors);
    }
}

fn groups(set: &PodCliqueSet, path: &Path, errors: &mut Vec<FieldError>) {
    let template = &set.spec.template;
    let (mut names, mut members) = (BTreeSet::new(), BTreeSet::new());
    for (i, group) in template.pod_clique_scaling_groups.iter().enumerate() {
        let path = path.index(i);
        if group.name.is_empty() {
            errors.push(FieldError::required(&path.child("name"), "field cannot be empty"));
        } else {
            form::dns_label(&path.child("name"), &group.name, "PodCliqueScalingGroup", errors);
            if !names.insert(&group.name) {
                errors.push(FieldError::duplicate(&path.child("name"), group.name.as_str()));
            }
        }
        form::annotations(&path.child("annotations"), &group.annotations, errors);
        let path = path.child("cliqueNames");
        if group.clique_names.is_empty() {
            errors.push(FieldError::required(&path, "at least one PodClique must be named"));
        }
        for (j, member) in group.clique_names.iter().enumerate() {
            let path = path.index(j);
            match template.cliques.iter().find(|clique| clique.name == *member) {
                None => {
                    let message = "unidentified PodClique names found, every member must be one of the cliques";
                    errors.push(FieldError::invalid(&path, member.as_str(), message));
                }
                Some(clique) if clique.spec.auto_scaling_config.is_some() => {
                    let message =
                        "AutoScalingConfig is not allowed to be defined for PodClique that is part of scaling group";
                    errors.push(FieldError::invalid(&path, member.as_str(), message));
                }
                Some(_) => {}
            }
            if !members.insert(member) {
                errors.push(FieldError::duplicate(&path, member.as_str()));
            }
        }
    }
}

fn termination_delay(delay: Option<&str>, path: &Path, errors: &mut Vec<FieldError>) {
    let Some(delay) = delay else {
        errors.push(FieldError::required(path, "terminationDelay is required"));
        return;
    };
    match duration::parse(delay) {
        None if delay.starts_with('-') => {
            errors.push(FieldError::invalid(path, delay, "terminationDelay must be greater than 0"));
        }
        None => errors.push(FieldError::invalid(path, delay, "must be a duration such as \"30s\", \"10m\" or \"4h\"")),
        Some(delay_parsed) if delay_parsed.is_zero() => {
            errors.push(FieldError::invalid(path, delay, "terminationDelay must be greater than 0"));
        }
        Some(_) => {}
    }
}
