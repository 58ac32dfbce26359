//! Rules about shared resource claims.

use super::super::form;
use super::names::Pattern;
use crate::field::{FieldError, Path};
use crate::kinds::{CliqueTemplate, PodCliqueSet, ResourceSharing};
use std::collections::BTreeSet;

/// What the filter of an entry may name.
struct Children<'a> {
    cliques: Vec<&'a str>,
    groups: Vec<&'a str>,
}

pub fn check(set: &PodCliqueSet, errors: &mut Vec<FieldError>) {
    let template = &set.spec.template;
    let path = Path::new("spec.template");
    let mut templates = BTreeSet::new();
    for (i, claim) in template.resource_claim_templates.iter().enumerate() {
        let path = path.child("resourceClaimTemplates").index(i);
        if claim.name.is_empty() {
            errors.push(FieldError::required(&path.child("name"), "field cannot be empty"));
        } else {
            form::dns_label(&path.child("name"), &claim.name, "ResourceClaimTemplate", errors);
            if !templates.insert(claim.name.as_str()) {
                errors.push(FieldError::duplicate(&path.child("name"), claim.name.as_str()));
            }
        }
        let requests = claim.template_spec.get("spec").and_then(|spec| spec.pointer("/devices/requests"));
        if requests.and_then(|requests| requests.as_array()).is_none_or(Vec::is_empty) {
            let path = path.child("templateSpec").child("spec").child("devices").child("requests");
            errors.push(FieldError::required(&path, "at least one device request must be defined"));
        }
    }
    collisions(set, errors);
    let all = Children {
        cliques: template.cliques.iter().map(|clique| clique.name.as_str()).collect(),
        groups: template.pod_clique_scaling_groups.iter().map(|group| group.name.as_str()).collect(),
    };
    entries(&template.resource_sharing, &path.child("resourceSharing"), &templates, Some(&all), errors);
    for (i, group) in template.pod_clique_scaling_groups.iter().enumerate() {
        let path = path.child("podCliqueScalingGroups").index(i).child("resourceSharing");
        let children =
            Children { cliques: group.clique_names.iter().map(String::as_str).collect(), groups: Vec::new() };
        entries(&group.resource_sharing, &path, &templates, Some(&children), errors);
    }
    for (i, clique) in template.cliques.iter().enumerate() {
        let path = path.child("cliques").index(i).child("resourceSharing");
        entries(&clique.resource_sharing, &path, &templates, None, errors);
    }
}

/// Claims are called `<owner>-all-<template>` and `<owner>-<index>-<template>`. Two of them are equal only if one
/// template's name ends like another's claim, or if a scaling group and a clique are owners of the same name.
fn collisions(set: &PodCliqueSet, errors: &mut Vec<FieldError>) {
    let template = &set.spec.template;
    let templates = &template.resource_claim_templates;
    let ends_like_a_claim_of = |name: &str, other: &str| {
        let owner = name.strip_suffix(other).and_then(|rest| rest.strip_suffix('-'));
        let index = owner.and_then(|owner| owner.rsplit('-').next());
        index.is_some_and(|index| index == "all" || (!index.is_empty() && index.bytes().all(|b| b.is_ascii_digit())))
    };
    for (i, claim) in templates.iter().enumerate() {
        if let Some(other) = templates.iter().find(|other| ends_like_a_claim_of(&claim.name, &other.name)) {
            let path = Path::new("spec.template.resourceClaimTemplates").index(i).child("name");
            let message = format!("claims of it could have the same names as claims of '{}'", other.name);
            errors.push(FieldError { message, ..FieldError::duplicate(&path, claim.name.as_str()) });
        }
    }
    for (i, group) in template.pod_clique_scaling_groups.iter().enumerate() {
        let is_called_alike = |clique: &CliqueTemplate| Pattern::Text(&group.name).collides(Pattern::of(set, clique));
        let shares_alike = |clique: &CliqueTemplate| {
            let same = |a: &ResourceSharing, b: &ResourceSharing| (&a.name, a.scope) == (&b.name, b.scope);
            clique.resource_sharing.iter().any(|own| group.resource_sharing.iter().any(|entry| same(entry, own)))
        };
        let other = template.cliques.iter().find(|clique| shares_alike(clique) && is_called_alike(clique));
        if let Some(clique) = other {
            let path = Path::new("spec.template.podCliqueScalingGroups").index(i).child("name");
            let message = format!(
                "claims of scaling group '{}' and clique '{}' would have the same names",
                group.name, clique.name
            );
            errors.push(FieldError { message, ..FieldError::duplicate(&path, group.name.as_str()) });
        }
    }
}

fn entries(
    entries: &[ResourceSharing],
    path: &Path,
    templates: &BTreeSet<&str>,
    children: Option<&Children<'_>>,
    errors: &mut Vec<FieldError>,
) {
    let mut seen = BTreeSet::new();
    for (i, entry) in entries.iter().enumerate() {
        let path = path.index(i);
        let namespace = entry.namespace.as_deref().unwrap_or_default();
        if entry.name.is_empty() {
            errors.push(FieldError::required(&path.child("name"), "field cannot be empty"));
        } else if !seen.insert((namespace, entry.name.as_str())) {
            errors.push(FieldError::duplicate(&path.child("name"), entry.name.as_str()));
        } else if !templates.contains(entry.name.as_str()) {
            let message = "must be one of spec.template.resourceClaimTemplates; ResourceClaimTemplate objects outside the \
                           set are not supported";
            errors.push(FieldError::not_found(&path.child("name"), entry.name.as_str(), message));
        }
        if templates.contains(entry.name.as_str()) && !namespace.is_empty() {
            let message = "namespace must be empty when name matches an internal resourceClaimTemplate";
            errors.push(FieldError::invalid(&path.child("namespace"), namespace, message));
        }
        let Some(filter) = &entry.filter else { continue };
        let path = path.child("filter");
        let Some(children) = children else {
            errors.push(FieldError::forbidden(&path, "a clique has no children to choose from"));
            continue;
        };
        if filter.child_clique_names.is_empty() && filter.child_scaling_group_names.is_empty() {
            errors.push(FieldError::required(&path, "must name at least one child"));
        }
        let mut known = |names: &[String], known: &[&str], field: &str| {
            for (j, name) in names.iter().enumerate().filter(|(_, name)| !known.contains(&name.as_str())) {
                let path = path.child(field).index(j);
                errors.push(FieldError::not_found(&path, name.as_str(), ""));
            }
        };
        known(&filter.child_clique_names, &children.cliques, "childCliqueNames");
        known(&filter.child_scaling_group_names, &children.groups, "childScalingGroupNames");
    }
}
