//! Every name, key and fixed value that crosses an API boundary, in one place.
//!
//! Keys of the specification keep their `grove.io` spelling so that manifests written for Grove apply
//! unchanged; what no one else defines lives under `trellis.dev`. Functions at the end build the names of
//! generated objects; nothing else in the workspace may put such a name together by hand.

pub mod dynamo;

/// API groups and the versions we serve or read.
pub mod group {
    /// Group of PodCliqueSet, PodCliqueScalingGroup, PodClique and ClusterTopology.
    pub const GROVE: &str = "grove.io";
    /// Group of PodGang.
    pub const SCHEDULER: &str = "scheduler.grove.io";
    /// Group of the OperatorConfiguration file.
    pub const CONFIG: &str = "operator.config.grove.io";
    /// Group of KAI's Topology.
    pub const KAI: &str = "kai.scheduler";
    /// Group of KAI's PodGroup and Queue.
    pub const KAI_SCHEDULING: &str = "scheduling.run.ai";
    /// Group of DynamoGraphDeployment.
    pub const NVIDIA: &str = "nvidia.com";
    /// Group of what is ours alone.
    pub const TRELLIS: &str = "trellis.dev";
    /// Group of NodeResourceTopology.
    pub const NODE_TOPOLOGY: &str = "topology.node.k8s.io";
    /// Version of every kind of the specification.
    pub const V1ALPHA1: &str = "v1alpha1";
    /// Version that DynamoGraphDeployments are stored in.
    pub const V1BETA1: &str = "v1beta1";
    /// Version of NodeResourceTopology that we read.
    pub const V1ALPHA2: &str = "v1alpha2";
}

/// Label keys.
pub mod label {
    /// Who manages an object; always [`super::MANAGED_BY`] on what we make.
    pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
    /// The PodCliqueSet an object belongs to.
    pub const PART_OF: &str = "app.kubernetes.io/part-of";
    /// The object's own name.
    pub const NAME: &str = "app.kubernetes.io/name";
    /// What the object is for; one of [`super::component`].
    pub const COMPONENT: &str = "app.kubernetes.io/component";
    /// The PodClique a pod belongs to.
    pub const POD_CLIQUE: &str = "grove.io/podclique";
    /// The PodGang a clique or pod belongs to.
    pub const POD_GANG: &str = "grove.io/podgang";
    /// The base PodGang that a scaled gang waits for and stays close to.
    pub const BASE_POD_GANG: &str = "grove.io/base-podgang";
    /// Index of the PodCliqueSet replica.
    pub const SET_REPLICA_INDEX: &str = "grove.io/podcliqueset-replica-index";
    /// The PodCliqueScalingGroup a clique or pod belongs to.
    pub const SCALING_GROUP: &str = "grove.io/podcliquescalinggroup";
    /// Index of the PodCliqueScalingGroup replica.
    pub const SCALING_GROUP_REPLICA_INDEX: &str = "grove.io/podcliquescalinggroup-replica-index";
    /// Index of a pod within its PodClique.
    pub const POD_INDEX: &str = "grove.io/podclique-pod-index";
    /// Hash of the pod template a clique or pod was made from.
    pub const POD_TEMPLATE_HASH: &str = "grove.io/pod-template-hash";
    /// The scheduler profile that serves a PodGang.
    pub const SCHEDULER_NAME: &str = "grove.io/scheduler-name";
    /// The ClusterTopology a PodCliqueSet resolves to.
    pub const TOPOLOGY_NAME: &str = "grove.io/topology-name";
    /// The clique's name in the PodCliqueSet template, so that nobody has to parse object names.
    pub const CLIQUE: &str = "trellis.dev/clique";
    /// The scaling group's name in the PodCliqueSet template.
    pub const GROUP: &str = "trellis.dev/scaling-group";
    /// KAI: the queue of a workload.
    pub const KAI_QUEUE: &str = "kai.scheduler/queue";
    /// KAI: the leaf subgroup of a pod.
    pub const KAI_SUBGROUP: &str = "kai.scheduler/subgroup-name";
    /// The node label that the kubelet sets to the host's name.
    pub const HOSTNAME: &str = "kubernetes.io/hostname";
    /// Prefixes of labels that are ours to set on cliques and pods; a user's are passed over.
    pub const RESERVED: [&str; 2] = ["grove.io/", "trellis.dev/"];

    /// Whether a label is ours to set.
    pub fn is_reserved(key: &str) -> bool {
        RESERVED.iter().any(|prefix| key.starts_with(prefix)) || [MANAGED_BY, PART_OF, NAME, COMPONENT].contains(&key)
    }
}

/// Annotation keys.
pub mod annotation {
    /// On a PodGang: the ClusterTopology its constraints speak of.
    pub const TOPOLOGY_NAME: &str = "grove.io/topology-name";
    /// On a PodCliqueSet: `"true"` lets everybody touch the managed children.
    pub const DISABLE_PROTECTION: &str = "grove.io/disable-managed-resource-protection";
    /// On a PodCliqueSet: any change forces a reconcile.
    pub const RECONCILE_TRIGGER: &str = "grove.io/reconcile-trigger";
    /// On a clique or scaling group: the replica count that the template last gave it.
    pub const TEMPLATE_REPLICAS: &str = "trellis.dev/template-replicas";
    /// On a PodGang or PodGroup: why it waits, or why it stands where it stands.
    pub const EXPLANATION: &str = "trellis.dev/explanation";
    /// On a PodGang, PodGroup or pod that is a gang of its own: the ledger, where its members are and what is held for it.
    pub const PLACEMENT: &str = "trellis.dev/placement";
    /// On a waiting gang, and on pods that were begun and have to move: the scheduler that leads. Written so that a former leader's late
    /// writes meet another version.
    pub const SCHEDULER: &str = "trellis.dev/scheduler";
    /// On a gang or pod: when a request of ours that was never answered was made void, by a write that leaves it the wrong version.
    pub const VOIDED_AT: &str = "trellis.dev/voided-at";
    /// On a PodGang or PodGroup: `"true"` reserves room for it while it waits.
    pub const RESERVE: &str = "trellis.dev/reserve";
    /// On a pod: the zone inside its node (NUMA) that it was placed in.
    pub const NUMA_ZONE: &str = "trellis.dev/numa-zone";
    /// On a PodGang: since when the minimum of all its groups has had nodes; gone once the gang was taken down.
    pub const SCHEDULED_AT: &str = "trellis.dev/scheduled-at";
    /// On an object whose stored form differs from the written one: the hash of what was written.
    pub const WRITTEN_HASH: &str = "trellis.dev/written-hash";
    /// On a pod that KAI places: the topology that its gang's constraints spoke of when it was made.
    pub const POD_TOPOLOGY: &str = "trellis.dev/topology-name";
    /// On the PodGroup of a task group: the pool's levels that it was made for, as `key=label,key=label`.
    pub const POOL_LEVELS: &str = "trellis.dev/pool-levels";
    /// KAI: the PodGroup of a pod.
    pub const KAI_POD_GROUP: &str = "pod-group-name";
    /// KAI: the share of a GPU that a pod asks for.
    pub const KAI_GPU_FRACTION: &str = "gpu-fraction";
    /// KAI: the memory of a shared GPU that a pod asks for.
    pub const KAI_GPU_MEMORY: &str = "gpu-memory";
    /// KAI: keeps KAI's pod-grouper away.
    pub const KAI_SKIP_POD_GROUPER: &str = "kai.scheduler/skip-podgrouper";
    /// Prefixes of annotations and labels that are never copied from a set to its gangs.
    pub const NOT_MIRRORED: [&str; 2] = ["grove.io/", "kubectl.kubernetes.io/"];
}

/// Finalizers.
pub mod finalizer {
    /// On every ClusterTopology.
    pub const CLUSTER_TOPOLOGY: &str = "grove.io/clustertopology";
    /// On every Pool.
    pub const POOL: &str = "trellis.dev/pool";
}

/// Environment variables of the pods we make.
pub mod env {
    /// Name of the PodCliqueSet.
    pub const SET_NAME: &str = "GROVE_PCS_NAME";
    /// Index of the PodCliqueSet replica.
    pub const SET_INDEX: &str = "GROVE_PCS_INDEX";
    /// Name of the PodClique object.
    pub const CLIQUE_NAME: &str = "GROVE_PCLQ_NAME";
    /// Full DNS name of the replica's headless Service.
    pub const HEADLESS_SERVICE: &str = "GROVE_HEADLESS_SERVICE";
    /// Index of the pod within its PodClique.
    pub const POD_INDEX: &str = "GROVE_PCLQ_POD_INDEX";
    /// Name of the PodCliqueScalingGroup object.
    pub const GROUP_NAME: &str = "GROVE_PCSG_NAME";
    /// Index of the PodCliqueScalingGroup replica.
    pub const GROUP_INDEX: &str = "GROVE_PCSG_INDEX";
    /// Number of pods in one replica of the PodCliqueScalingGroup, by the template.
    pub const GROUP_NUM_PODS: &str = "GROVE_PCSG_TEMPLATE_NUM_PODS";
    /// Variables that only pods in scaling groups get.
    pub const OF_GROUPS: [&str; 3] = [GROUP_NAME, GROUP_INDEX, GROUP_NUM_PODS];
    /// All variables that we set; a user's variable of the same name is replaced.
    pub const ALL: [&str; 8] =
        [SET_NAME, SET_INDEX, CLIQUE_NAME, HEADLESS_SERVICE, POD_INDEX, GROUP_NAME, GROUP_INDEX, GROUP_NUM_PODS];
    /// In the startup-order init container: the namespace to look in.
    pub const WAIT_NAMESPACE: &str = "TRELLIS_NAMESPACE";
    /// In the startup-order init container: the gang to look at.
    pub const WAIT_POD_GANG: &str = "TRELLIS_PODGANG";
}

/// Values of the component label.
pub mod component {
    /// Headless Service of a set replica.
    pub const HEADLESS_SERVICE: &str = "pcs-headless-service";
    /// Role for pods that wait for others.
    pub const POD_ROLE: &str = "pod-role";
    /// RoleBinding for pods that wait for others.
    pub const POD_ROLE_BINDING: &str = "pod-role-binding";
    /// ServiceAccount for pods that wait for others.
    pub const POD_SERVICE_ACCOUNT: &str = "pod-service-account";
    /// PodCliqueScalingGroup.
    pub const SCALING_GROUP: &str = "pcs-podcliquescalinggroup";
    /// HorizontalPodAutoscaler.
    pub const HPA: &str = "pcs-hpa";
    /// PodGang.
    pub const POD_GANG: &str = "podgang";
    /// PodClique owned by the set.
    pub const SET_POD_CLIQUE: &str = "pcs-podclique";
    /// PodClique owned by a scaling group.
    pub const GROUP_POD_CLIQUE: &str = "pcsg-podclique";
    /// ResourceClaim shared by pods of a set.
    pub const RESOURCE_CLAIM: &str = "resource-claim";
}

/// Taints, and what they do.
pub mod taint {
    /// On a cordoned node.
    pub const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";
    /// On a node that is not ready.
    pub const NOT_READY: &str = "node.kubernetes.io/not-ready";
    /// No pod is placed there without tolerating it.
    pub const NO_SCHEDULE: &str = "NoSchedule";
    /// The same, and pods that run there are evicted.
    pub const NO_EXECUTE: &str = "NoExecute";
    /// Pods should rather go elsewhere.
    pub const PREFER_NO_SCHEDULE: &str = "PreferNoSchedule";
}

/// Names of resources that are more than a count.
pub mod resource {
    /// Counted in thousandths.
    pub const CPU: &str = "cpu";
    /// Counted in bytes.
    pub const MEMORY: &str = "memory";
    /// Every pod takes one.
    pub const PODS: &str = "pods";
    /// Counted in bytes.
    pub const EPHEMERAL_STORAGE: &str = "ephemeral-storage";
    /// What names of huge pages begin with; counted in bytes.
    pub const HUGE_PAGES: &str = "hugepages-";
}

/// Scheduler profiles, which are also the `schedulerName` of the pods they serve.
pub mod profile {
    /// Our own scheduler.
    pub const TRELLIS: &str = "trellis";
    /// KAI.
    pub const KAI: &str = "kai-scheduler";
    /// Kubernetes' own scheduler; knows no gangs and no topology.
    pub const DEFAULT_SCHEDULER: &str = "default-scheduler";
    /// All profiles there are.
    pub const ALL: [&str; 3] = [TRELLIS, KAI, DEFAULT_SCHEDULER];
}

/// Names of OSMO: labels of its pods, and the names of what follows from pools and workflows.
pub mod osmo;

/// Value of the managed-by label on everything we make.
pub const MANAGED_BY: &str = "grove-operator";
/// Name of the operator's ServiceAccount and of the Service of its webhooks.
pub const OPERATOR: &str = "trellis-operator";
/// Name of the scheduler's ServiceAccount and of its lease.
pub const SCHEDULER: &str = "trellis-scheduler";
/// Name of the operator's own ClusterTopology, used by sets that name none.
pub const DEFAULT_TOPOLOGY: &str = "grove-topology";
/// The leaf of a gang that has no groups of its own, as KAI calls it.
pub const DEFAULT_LEAF: &str = "default";
/// The scheduling gate that holds pods until their gang is complete.
pub const GANG_GATE: &str = "grove.io/podgang-pending-creation";
/// Name of the init container that waits for the cliques a pod starts after.
pub const WAIT_CONTAINER: &str = "trellis-wait";
/// Name of the volume with the token of that init container.
pub const WAIT_TOKEN_VOLUME: &str = "trellis-wait-token";

/// Longest `set + group + clique` name; leaves room for indices and a pod suffix within 63 characters.
pub const COMBINED_NAME_MAX: usize = 45;
/// Longest name that is also used as a label value.
pub const LABEL_VALUE_MAX: usize = 63;
/// Longest label key: KAI's limit.
pub const LABEL_KEY_MAX: usize = 316;
/// Most pods of one set.
pub const SET_PODS_MAX: i64 = 100_000;
/// Most pods of one gang: its PodGang has to stay under 1 MiB.
pub const GANG_PODS_MAX: i64 = 5_000;
/// Most bytes of a PodGang: what etcd takes, less room for a plan and an explanation.
pub const GANG_BYTES_MAX: i64 = 1 << 20;

/// Name of the base PodGang and of the headless Service of set replica `i`.
pub fn set_replica(set: &str, i: usize) -> String {
    format!("{set}-{i}")
}

/// Name of a PodClique that is in no scaling group, and of its HorizontalPodAutoscaler.
pub fn clique(set: &str, i: usize, clique: &str) -> String {
    format!("{set}-{i}-{clique}")
}

/// Name of a PodCliqueScalingGroup and of its HorizontalPodAutoscaler.
pub fn scaling_group(set: &str, i: usize, group: &str) -> String {
    format!("{set}-{i}-{group}")
}

/// Name of replica `j` of a PodCliqueScalingGroup: the group config in the base PodGang.
pub fn scaling_group_replica(scaling_group: &str, j: usize) -> String {
    format!("{scaling_group}-{j}")
}

/// Name of the PodGang for a scaling-group replica above the minimum; counts from the minimum on.
pub fn scaled_gang(scaling_group: &str, j: usize, min_available: usize) -> String {
    format!("{scaling_group}-{}", j - min_available)
}

/// Name of a PodClique in replica `j` of a scaling group.
pub fn group_clique(scaling_group: &str, j: usize, clique: &str) -> String {
    format!("{scaling_group}-{j}-{clique}")
}

/// Host name of a pod, and its name where no live suffix is wanted.
pub fn pod(clique: &str, k: usize) -> String {
    format!("{clique}-{k}")
}

/// Full DNS name of the headless Service of set replica `i`.
pub fn headless_service_dns(set: &str, i: usize, namespace: &str) -> String {
    format!("{set}-{i}.{namespace}.svc.cluster.local")
}

/// Name of the Role and RoleBinding of a set.
pub fn pod_role(set: &str) -> String {
    format!("grove.io:pcs:{set}")
}
