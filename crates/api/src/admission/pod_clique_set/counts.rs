//! Replicas, minima and autoscaling bounds.

use crate::field::{FieldError, Path};
use crate::kinds::{AutoScalingConfig, PodCliqueSet};

/// The counts that a clique and a scaling group both have.
struct Counts<'a> {
    replicas: Option<i32>,
    min_available: Option<i32>,
    scaling: Option<&'a AutoScalingConfig>,
    /// Name of the field with the autoscaling bounds.
    scaling_field: &'a str,
    /// What bounds of the autoscaler that are too small are told.
    min_too_small: &'a str,
    max_too_small: &'a str,
}

pub fn check(set: &PodCliqueSet, errors: &mut Vec<FieldError>) {
    let template = &set.spec.template;
    let path = Path::new("spec.template");
    for (i, clique) in template.cliques.iter().enumerate() {
        let spec = &clique.spec;
        let counts = Counts {
            replicas: spec.replicas,
            min_available: spec.min_available,
            scaling: spec.auto_scaling_config.as_ref(),
            scaling_field: "autoScalingConfig",
            min_too_small: "must be greater than or equal to podCliqueSpec.minAvailable",
            max_too_small: "must be greater than or equal to podCliqueSpec.minReplicas",
        };
        check_counts(&counts, &path.child("cliques").index(i).child("spec"), errors);
    }
    for (i, group) in template.pod_clique_scaling_groups.iter().enumerate() {
        let counts = Counts {
            replicas: group.replicas,
            min_available: group.min_available,
            scaling: group.scale_config.as_ref(),
            scaling_field: "scaleConfig",
            min_too_small: "scaleConfig.minReplicas must be greater than or equal to minAvailable",
            max_too_small: "must be greater than or equal to minReplicas",
        };
        check_counts(&counts, &path.child("podCliqueScalingGroups").index(i), errors);
    }
}

fn check_counts(counts: &Counts<'_>, path: &Path, errors: &mut Vec<FieldError>) {
    let replicas = counts.replicas.unwrap_or(1);
    if replicas <= 0 {
        errors.push(FieldError::invalid(&path.child("replicas"), replicas, "must be greater than 0"));
    }
    let min_path = path.child("minAvailable");
    let Some(min) = counts.min_available else {
        errors.push(FieldError::required(&min_path, "field is required"));
        return;
    };
    if min <= 0 && counts.min_available == counts.replicas {
        // It follows the replicas, which are told already.
    } else if min <= 0 {
        errors.push(FieldError::invalid(&min_path, min, "must be greater than 0"));
    } else if min > replicas && replicas > 0 {
        errors.push(FieldError::invalid(&min_path, min, "minAvailable must not be greater than replicas"));
    }
    let Some(scaling) = counts.scaling else { return };
    let path = path.child(counts.scaling_field);
    let Some(min_replicas) = scaling.min_replicas else {
        errors.push(FieldError::required(&path.child("minReplicas"), "field is required"));
        return;
    };
    if min_replicas < min {
        errors.push(FieldError::invalid(&path.child("minReplicas"), min_replicas, counts.min_too_small));
    }
    let max_path = path.child("maxReplicas");
    if scaling.max_replicas < min_replicas {
        errors.push(FieldError::invalid(&max_path, scaling.max_replicas, counts.max_too_small));
    }
    if scaling.max_replicas < replicas {
        errors.push(FieldError::invalid(&max_path, scaling.max_replicas, "must be greater than or equal to replicas"));
    }
}
