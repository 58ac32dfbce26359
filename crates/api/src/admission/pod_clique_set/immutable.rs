//! What an update may not change.

use crate::field::{FieldError, Path};
use crate::kinds::{CliqueTemplate, PodCliqueSet, ScalingGroupTemplate, StartupType};
use crate::settings::Settings;
use serde_json::Value;

const IMMUTABLE: &str = "field is immutable";

pub fn check(set: &PodCliqueSet, old: &PodCliqueSet, settings: &Settings, errors: &mut Vec<FieldError>) {
    let path = Path::new("spec.template");
    let (new, old) = (&set.spec.template, &old.spec.template);
    if new.clique_startup_type != old.clique_startup_type {
        let value = serde_json::to_value(new.clique_startup_type).unwrap_or_default();
        errors.push(FieldError::invalid(&path.child("cliqueStartupType"), value, IMMUTABLE));
    }
    cliques(new.clique_startup_type, &new.cliques, &old.cliques, &path.child("cliques"), settings, errors);
    groups(
        &new.pod_clique_scaling_groups,
        &old.pod_clique_scaling_groups,
        &path.child("podCliqueScalingGroups"),
        errors,
    );
    unchanged(
        &new.resource_claim_templates,
        &old.resource_claim_templates,
        &path.child("resourceClaimTemplates"),
        errors,
    );
    unchanged(&new.resource_sharing, &old.resource_sharing, &path.child("resourceSharing"), errors);
}

fn unchanged<T: PartialEq + serde::Serialize>(new: &T, old: &T, path: &Path, errors: &mut Vec<FieldError>) {
    if new != old {
        let value: Value = serde_json::to_value(new).unwrap_or_default();
        errors.push(FieldError::invalid(path, value, IMMUTABLE));
    }
}

fn cliques(
    startup: StartupType,
    new: &[CliqueTemplate],
    old: &[CliqueTemplate],
    path: &Path,
    settings: &Settings,
    errors: &mut Vec<FieldError>,
) {
    if new.len() != old.len() {
        errors.push(FieldError::forbidden(path, "not allowed to change clique composition"));
    }
    for (i, clique) in new.iter().enumerate() {
        let path = path.index(i);
        let Some(before) = old.iter().find(|before| before.name == clique.name) else {
            let message =
                format!("not allowed to change clique composition, new clique name '{}' is not allowed", clique.name);
            errors.push(FieldError::forbidden(&path.child("name"), message));
            continue;
        };
        if startup != StartupType::AnyOrder && old.get(i).is_some_and(|expected| expected.name != clique.name) {
            let message = format!(
                "clique order cannot be changed when StartupType is InOrder or Explicit. Expected '{}' at position {i}, \
                 got '{}'",
                old[i].name, clique.name
            );
            errors.push(FieldError::invalid(&path.child("name"), clique.name.as_str(), message));
        }
        unchanged(&clique.resource_sharing, &before.resource_sharing, &path.child("resourceSharing"), errors);
        let path = path.child("spec");
        let (spec, before) = (&clique.spec, &before.spec);
        unchanged(&spec.role_name, &before.role_name, &path.child("roleName"), errors);
        unchanged(&spec.min_available, &before.min_available, &path.child("minAvailable"), errors);
        unchanged(&spec.starts_after, &before.starts_after, &path.child("startsAfter"), errors);
        let scheduler = settings.profile(spec.pod_spec.scheduler_name());
        if scheduler != settings.profile(before.pod_spec.scheduler_name()) {
            let path = path.child("podSpec").child("schedulerName");
            errors.push(FieldError::invalid(&path, scheduler, IMMUTABLE));
        }
    }
}

fn groups(new: &[ScalingGroupTemplate], old: &[ScalingGroupTemplate], path: &Path, errors: &mut Vec<FieldError>) {
    if new.len() != old.len() {
        errors.push(FieldError::forbidden(path, "not allowed to add or remove PodCliqueScalingGroupConfigs"));
    }
    for (i, group) in new.iter().enumerate() {
        let path = path.index(i);
        let Some(before) = old.iter().find(|before| before.name == group.name) else {
            let message = format!("not allowed to add or remove PodCliqueScalingGroupConfigs, '{}' is new", group.name);
            errors.push(FieldError::forbidden(&path.child("name"), message));
            continue;
        };
        unchanged(&group.clique_names, &before.clique_names, &path.child("cliqueNames"), errors);
        unchanged(&group.min_available, &before.min_available, &path.child("minAvailable"), errors);
        unchanged(&group.resource_sharing, &before.resource_sharing, &path.child("resourceSharing"), errors);
    }
}
