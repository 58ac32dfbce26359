//! Leaves of objects only what decisions look at: there are many, most of what they say is for others, and what changes only there must
//! wake nobody.

use k8s_openapi::api::core::v1::{
    Container, ContainerStatus, Node, NodeCondition, NodeSpec, NodeStatus, PersistentVolume, PersistentVolumeClaim,
    PersistentVolumeClaimSpec, PersistentVolumeClaimStatus, PersistentVolumeSpec, Pod, PodCondition, PodSpec,
    PodStatus, Volume,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use trellis_api::kinds::ClusterTopology;
use trellis_api::names::{MANAGED_BY, label, profile};

/// What `kubectl apply` keeps on objects: the whole object once more.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Conditions of pods that are looked at: whether it is unschedulable and said so, whether it is to go, and how far a resize is.
const POD_CONDITIONS: [&str; 4] = ["PodScheduled", "DisruptionTarget", "PodResizePending", "PodResizeInProgress"];
/// Whether it is ready, which we tell only of gangs that no operator looks after.
const READY: &str = "Ready";

/// What every kind does without.
pub fn metadata(metadata: &mut ObjectMeta) {
    metadata.managed_fields = None;
    if let Some(annotations) = &mut metadata.annotations {
        annotations.remove(LAST_APPLIED);
    }
}

/// A node is its labels, its taints, whether it is open and ready, and what it offers. Heartbeats and images go.
pub fn node(node: &mut Node) {
    metadata(&mut node.metadata);
    node.metadata.annotations = None;
    node.metadata.finalizers = None;
    node.spec = node.spec.take().map(|spec| {
        let mut taints = spec.taints;
        taints.iter_mut().flatten().for_each(|taint| taint.time_added = None);
        NodeSpec { taints, unschedulable: spec.unschedulable, ..NodeSpec::default() }
    });
    node.status = node.status.take().map(|status| {
        let ready = status.conditions.into_iter().flatten().filter(|condition| condition.type_ == "Ready");
        let bare = |condition: NodeCondition| NodeCondition {
            type_: condition.type_,
            status: condition.status,
            ..NodeCondition::default()
        };
        NodeStatus {
            allocatable: status.allocatable,
            capacity: status.capacity,
            conditions: Some(ready.map(bare).collect()),
            ..NodeStatus::default()
        }
    });
}

/// A pod is who it is, what it asks for and where it may run, where it is, and whether it is done.
pub fn pod(pod: &mut Pod) {
    metadata(&mut pod.metadata);
    let tells_ready = tells_ready(pod);
    pod.spec = pod.spec.take().map(pod_spec);
    pod.status = pod.status.take().map(|status| pod_status(status, tells_ready));
}

/// Whether it is kept whether a pod is ready: of those that no operator looks after, and that are not of the many which name no scheduler
/// of their own. What changes wakes somebody.
pub fn tells_ready(pod: &Pod) -> bool {
    let by = pod.metadata.labels.as_ref().and_then(|labels| labels.get(label::MANAGED_BY));
    let scheduler = pod.spec.as_ref().and_then(|spec| spec.scheduler_name.as_deref());
    by.is_none_or(|by| by != MANAGED_BY) && scheduler.is_some_and(|name| name != profile::DEFAULT_SCHEDULER)
}

fn pod_spec(spec: PodSpec) -> PodSpec {
    PodSpec {
        affinity: spec.affinity,
        containers: spec.containers.into_iter().map(container).collect(),
        host_network: spec.host_network,
        init_containers: spec.init_containers.map(|all| all.into_iter().map(container).collect()),
        node_name: spec.node_name,
        node_selector: spec.node_selector,
        overhead: spec.overhead,
        preemption_policy: spec.preemption_policy,
        priority: spec.priority,
        priority_class_name: spec.priority_class_name,
        resource_claims: spec.resource_claims,
        resources: spec.resources,
        scheduler_name: spec.scheduler_name,
        scheduling_gates: spec.scheduling_gates,
        termination_grace_period_seconds: spec.termination_grace_period_seconds,
        tolerations: spec.tolerations,
        topology_spread_constraints: spec.topology_spread_constraints,
        // All of them stay, by name: faults tell which one it is.
        volumes: spec.volumes.map(|volumes| volumes.into_iter().map(claimed).collect()),
        ..PodSpec::default()
    }
}

fn container(container: Container) -> Container {
    Container {
        name: container.name,
        ports: container.ports,
        resources: container.resources,
        restart_policy: container.restart_policy,
        ..Container::default()
    }
}

fn claimed(volume: Volume) -> Volume {
    Volume {
        name: volume.name,
        ephemeral: volume.ephemeral,
        persistent_volume_claim: volume.persistent_volume_claim,
        ..Volume::default()
    }
}

fn pod_status(status: PodStatus, tells_ready: bool) -> PodStatus {
    let conditions = status.conditions.into_iter().flatten().filter_map(|condition| match condition.type_.as_str() {
        READY if tells_ready => {
            Some(PodCondition { type_: condition.type_, status: condition.status, ..PodCondition::default() })
        }
        kind if POD_CONDITIONS.contains(&kind) => Some(without_probe(condition)),
        _ => None,
    });
    let conditions: Vec<PodCondition> = conditions.collect();
    PodStatus {
        phase: status.phase,
        conditions: Some(conditions).filter(|conditions| !conditions.is_empty()),
        container_statuses: status.container_statuses.and_then(container_statuses),
        init_container_statuses: status.init_container_statuses.and_then(container_statuses),
        nominated_node_name: status.nominated_node_name,
        resize: status.resize,
        ..PodStatus::default()
    }
}

/// When something was last looked at is of interest only where we say it ourselves: why a pod waits.
fn without_probe(condition: PodCondition) -> PodCondition {
    let last_probe_time = condition.last_probe_time.filter(|_| condition.type_ == "PodScheduled");
    PodCondition { last_probe_time, ..condition }
}

/// Only what was allotted counts, and only where something was.
fn container_statuses(statuses: Vec<ContainerStatus>) -> Option<Vec<ContainerStatus>> {
    let allotted =
        statuses.into_iter().filter(|status| status.resources.is_some() || status.allocated_resources.is_some());
    let bare = |status: ContainerStatus| ContainerStatus {
        name: status.name,
        resources: status.resources,
        allocated_resources: status.allocated_resources,
        ..ContainerStatus::default()
    };
    let left: Vec<ContainerStatus> = allotted.map(bare).collect();
    (!left.is_empty()).then_some(left)
}

/// What a topology's status says is for people.
pub fn cluster_topology(topology: &mut ClusterTopology) {
    metadata(&mut topology.metadata);
    topology.status = None;
}

/// A claim is whose it is, which volume it has got, and whether for one pod only.
pub fn claim(claim: &mut PersistentVolumeClaim) {
    metadata(&mut claim.metadata);
    (claim.metadata.labels, claim.metadata.annotations) = (None, None);
    claim.spec = claim.spec.take().map(|spec| PersistentVolumeClaimSpec {
        access_modes: spec.access_modes,
        volume_name: spec.volume_name,
        ..PersistentVolumeClaimSpec::default()
    });
    claim.status = claim
        .status
        .take()
        .map(|status| PersistentVolumeClaimStatus { phase: status.phase, ..PersistentVolumeClaimStatus::default() });
}

/// A volume is where it can be reached from.
pub fn volume(volume: &mut PersistentVolume) {
    metadata(&mut volume.metadata);
    (volume.metadata.labels, volume.metadata.annotations) = (None, None);
    volume.spec = volume
        .spec
        .take()
        .map(|spec| PersistentVolumeSpec { node_affinity: spec.node_affinity, ..PersistentVolumeSpec::default() });
    volume.status = None;
}
