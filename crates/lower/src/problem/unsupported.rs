//! What pods ask for and this scheduler does not do. Said in words: a gang that asks for it waits.

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};
use trellis_api::names::annotation;

/// The first thing a waiting pod asks for that is not done, with the pod and the field.
pub(super) fn of(pod: &Pod) -> Option<String> {
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    let found = pod.spec.as_ref().and_then(of_spec).or_else(|| shared_gpu(pod))?;
    Some(format!("pod {name} {found}"))
}

fn of_spec(spec: &PodSpec) -> Option<String> {
    claims(spec)
        .or_else(|| volumes(spec))
        .or_else(|| pod_affinity(spec))
        .or_else(|| ports(spec))
        .or_else(|| spread(spec))
}

fn claims(spec: &PodSpec) -> Option<String> {
    let claim = spec.resource_claims.as_ref()?.first()?;
    let name = &claim.name;
    Some(format!("asks for the resource claim {name} (spec.resourceClaims[0]); resource claims are not planned"))
}

fn volumes(spec: &PodSpec) -> Option<String> {
    spec.volumes.iter().flatten().enumerate().find_map(|(i, volume)| {
        let claimed = volume.persistent_volume_claim.as_ref().map(|_| "persistentVolumeClaim");
        let field = claimed.or_else(|| volume.ephemeral.as_ref().map(|_| "ephemeral"))?;
        let name = &volume.name;
        Some(format!(
            "has a claimed volume {name} (spec.volumes[{i}].{field}); where such volumes can be reached is not looked at \
             at this time"
        ))
    })
}

fn pod_affinity(spec: &PodSpec) -> Option<String> {
    let affinity = spec.affinity.as_ref()?;
    let near = affinity.pod_affinity.as_ref();
    let near = near.and_then(|near| near.required_during_scheduling_ignored_during_execution.as_ref());
    let apart = affinity.pod_anti_affinity.as_ref();
    let apart = apart.and_then(|apart| apart.required_during_scheduling_ignored_during_execution.as_ref());
    let (field, _) = [("podAffinity", near), ("podAntiAffinity", apart)]
        .into_iter()
        .find(|(_, terms)| terms.is_some_and(|terms| !terms.is_empty()))?;
    Some(format!(
        "depends on where other pods are (spec.affinity.{field}.requiredDuringSchedulingIgnoredDuringExecution); \
         affinity between pods is not planned"
    ))
}

/// Ports of the host. Those of a pod on the host's network are.
fn ports(spec: &PodSpec) -> Option<String> {
    let on_host = spec.host_network == Some(true);
    let of = |field: &'static str, containers: &[Container]| {
        containers.iter().enumerate().find_map(|(i, container)| {
            let mut ports = container.ports.iter().flatten().enumerate();
            let (j, port) = ports.find(|(_, port)| on_host || port.host_port.is_some_and(|port| port > 0))?;
            let number = port.host_port.filter(|port| *port > 0).unwrap_or(port.container_port);
            Some(format!("asks for port {number} of its host (spec.{field}[{i}].ports[{j}]); ports are not planned"))
        })
    };
    let sidecars = spec.init_containers.as_deref().unwrap_or_default();
    of("containers", &spec.containers).or_else(|| of("initContainers", sidecars))
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
