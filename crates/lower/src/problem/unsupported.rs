//! What pods ask for and this scheduler does not do. Said in words: a gang that asks for it waits. What is only wished for and not looked
//! at is said too.

use k8s_openapi::api::core::v1::{Affinity, Pod, PodSpec, TopologySpreadConstraint};
use trellis_api::names::annotation;

/// The first thing a waiting pod asks for that is not done, with the pod and the field.
pub(super) fn of(pod: &Pod) -> Option<String> {
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    let found = pod.spec.as_ref().and_then(of_spec).or_else(|| shared_gpu(pod))?;
    Some(format!("pod {name} {found}"))
}

fn of_spec(spec: &PodSpec) -> Option<String> {
    claims(spec).or_else(|| spread(spec))
}

/// What a pod only wishes for and nobody looks at, with the field.
pub fn passed_over(pod: &Pod) -> Option<String> {
    let spec = pod.spec.as_ref()?;
    let is_soft = |it: &TopologySpreadConstraint| it.when_unsatisfiable == "ScheduleAnyway";
    let field = match spec.affinity.as_ref().and_then(preference) {
        Some(which) => format!("spec.affinity.{which}.preferredDuringSchedulingIgnoredDuringExecution"),
        None => {
            let spread = spec.topology_spread_constraints.iter().flatten().position(is_soft)?;
            format!("spec.topologySpreadConstraints[{spread}]")
        }
    };
    Some(format!("what is preferred by {field} is not looked at"))
}

/// Which affinity has preferences that are not looked at.
fn preference(affinity: &Affinity) -> Option<&'static str> {
    let near = affinity.pod_affinity.as_ref();
    let near = near.and_then(|it| it.preferred_during_scheduling_ignored_during_execution.as_ref());
    let apart = affinity.pod_anti_affinity.as_ref();
    let apart = apart.and_then(|it| it.preferred_during_scheduling_ignored_during_execution.as_ref());
    let all = [("podAffinity", near.map_or(0, Vec::len)), ("podAntiAffinity", apart.map_or(0, Vec::len))];
    all.into_iter().find(|(_, wishes)| *wishes > 0).map(|(which, _)| which)
}

fn claims(spec: &PodSpec) -> Option<String> {
    let claim = spec.resource_claims.as_ref()?.first()?;
    let name = &claim.name;
    Some(format!("asks for the resource claim {name} (spec.resourceClaims[0]); resource claims are not planned"))
}

fn spread(spec: &PodSpec) -> Option<String> {
    let mut constraints = spec.topology_spread_constraints.iter().flatten().enumerate();
    let (i, _) = constraints.find(|(_, constraint)| constraint.when_unsatisfiable != "ScheduleAnyway")?;
    Some(format!(
        "has to be spread (spec.topologySpreadConstraints[{i}].whenUnsatisfiable: DoNotSchedule); spreading is not planned"
    ))
}

fn shared_gpu(pod: &Pod) -> Option<String> {
    let annotations = pod.metadata.annotations.as_ref()?;
    let shares = [annotation::KAI_GPU_FRACTION, annotation::KAI_GPU_MEMORY];
    let key = shares.into_iter().find(|key| annotations.contains_key(*key))?;
    Some(format!("asks for a part of a GPU (metadata.annotations[{key}]); sharing of GPUs is not planned"))
}
