//! Names and keys of DynamoGraphDeployments and of what is made from them. Keys keep Dynamo's spelling, so that what was written for
//! Dynamo's own operator, selectors and dashboards among it, goes on to work.

use super::COMBINED_NAME_MAX;

/// Label keys.
pub mod label {
    /// What a component's Service selects its pods by.
    pub const SELECTOR: &str = "nvidia.com/selector";
    /// The DynamoGraphDeployment that an object belongs to.
    pub const DEPLOYMENT: &str = "nvidia.com/dynamo-graph-deployment-name";
    /// The component, as the user spells it.
    pub const COMPONENT: &str = "nvidia.com/dynamo-component";
    /// What kind of component it is.
    pub const COMPONENT_TYPE: &str = "nvidia.com/dynamo-component-type";
    /// Which kind of worker it is.
    pub const SUB_COMPONENT_TYPE: &str = "nvidia.com/dynamo-sub-component-type";
    /// The namespace inside Dynamo, by which components find each other.
    pub const DYNAMO_NAMESPACE: &str = "nvidia.com/dynamo-namespace";
    /// Whether metrics are scraped.
    pub const METRICS_ENABLED: &str = "nvidia.com/metrics-enabled";
    /// How components find each other.
    pub const DISCOVERY_BACKEND: &str = "nvidia.com/dynamo-discovery-backend";
    /// Whether the pod takes part in that.
    pub const DISCOVERY_ENABLED: &str = "nvidia.com/dynamo-discovery-enabled";
    /// Hash of what all workers are made from.
    pub const WORKER_HASH: &str = "nvidia.com/dynamo-worker-hash";
}

/// Annotation keys.
pub mod annotation {
    /// `false` asked Dynamo's operator for Deployments instead of PodCliqueSets.
    pub const ENABLE_GROVE: &str = "nvidia.com/enable-grove";
    /// `RollingRecreate` or `OnDelete`.
    pub const UPDATE_STRATEGY: &str = "nvidia.com/grove-update-strategy";
    /// `"false"` switches metrics off.
    pub const ENABLE_METRICS: &str = "nvidia.com/enable-metrics";
    /// How components find each other: `kubernetes` or `etcd`.
    pub const DISCOVERY_BACKEND: &str = "nvidia.com/dynamo-discovery-backend";
    /// The queue of a deployment that KAI serves.
    pub const KAI_QUEUE: &str = "nvidia.com/kai-scheduler-queue";
    /// How vLLM spans nodes: `mp` or `ray`.
    pub const VLLM_BACKEND: &str = "nvidia.com/vllm-distributed-executor-backend";
    /// Annotations of a deployment by which its set is made, beside those that its pods are given.
    pub const MADE_WITH: [&str; 2] = [UPDATE_STRATEGY, KAI_QUEUE];
    /// Annotations of a deployment that its pods are given too.
    pub const PROPAGATED: [&str; 5] = [
        ENABLE_METRICS,
        DISCOVERY_BACKEND,
        "nvidia.com/dynamo-kube-discovery-mode",
        "nvidia.com/dynamo-operator-origin-version",
        VLLM_BACKEND,
    ];
    /// On a deployment that was converted: its spec as it was written, where the other version cannot say all of it.
    pub const WRITTEN_SPEC: &str = "trellis.dev/written-spec";
}

/// Environment variables of the pods.
pub mod env {
    /// Name of the pod.
    pub const POD_NAME: &str = "POD_NAME";
    /// Namespace of the pod.
    pub const POD_NAMESPACE: &str = "POD_NAMESPACE";
    /// Uid of the pod.
    pub const POD_UID: &str = "POD_UID";
    /// The namespace inside Dynamo.
    pub const NAMESPACE: &str = "DYN_NAMESPACE";
    /// What kind of component it is.
    pub const COMPONENT: &str = "DYN_COMPONENT";
    /// Name of the deployment.
    pub const DEPLOYMENT: &str = "DYN_PARENT_DGD_K8S_NAME";
    /// Namespace of the deployment.
    pub const DEPLOYMENT_NAMESPACE: &str = "DYN_PARENT_DGD_K8S_NAMESPACE";
    /// How components find each other.
    pub const DISCOVERY_BACKEND: &str = "DYN_DISCOVERY_BACKEND";
    /// Port of the frontend.
    pub const HTTP_PORT: &str = "DYN_HTTP_PORT";
    /// The same, for older frontends.
    pub const OLD_HTTP_PORT: &str = "DYNAMO_PORT";
    /// What the namespaces of all workers begin with, for the frontend.
    pub const NAMESPACE_PREFIX: &str = "DYN_NAMESPACE_PREFIX";
    /// What a worker's namespace ends with.
    pub const WORKER_SUFFIX: &str = "DYN_NAMESPACE_WORKER_SUFFIX";
    /// Whether a worker serves its health.
    pub const SYSTEM_ENABLED: &str = "DYN_SYSTEM_ENABLED";
    /// The port on which it does.
    pub const SYSTEM_PORT: &str = "DYN_SYSTEM_PORT";
    /// Endpoints that have to be up for it to be healthy.
    pub const SYSTEM_HEALTH: &str = "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS";
    /// The address under which vLLM hands caches over.
    pub const VLLM_SIDE_CHANNEL: &str = "VLLM_NIXL_SIDE_CHANNEL_HOST";
    /// Where vLLM keeps what it compiled.
    pub const VLLM_CACHE: &str = "VLLM_CACHE_ROOT";
    /// Has Open MPI take names of hosts with their domains.
    pub const MPI_KEEPS_DOMAINS: &str = "OMPI_MCA_orte_keep_fqdn_hostnames";
}

/// Name of the container that runs the component.
pub const MAIN_CONTAINER: &str = "main";
/// Name of the container that a v1alpha1 `frontendSidecar` becomes.
pub const FRONTEND_SIDECAR: &str = "sidecar-frontend";
/// Name of the volume for shared memory.
pub const SHARED_MEMORY: &str = "shared-memory";
/// Name of the init container that waits for the leader of a multinode vLLM.
pub const WAIT_FOR_LEADER: &str = "wait-for-leader-mp";
/// The Secret with the SSH keys by which mpirun reaches the workers of a multinode TRT-LLM, and the volume for it.
pub const SSH_SECRET: &str = "mpirun-ssh-key-secret";
/// The queue of a deployment that KAI serves and that names none.
pub const DEFAULT_QUEUE: &str = "dynamo";
/// The namespace inside Dynamo that all deployments share.
pub const GLOBAL_NAMESPACE: &str = "dynamo";
/// Shortest that the name of a PodCliqueSet is cut to.
const SET_NAME_MIN: usize = 8;

/// Name of a component's clique on one node, and of its scaling group.
pub fn clique(component: &str) -> String {
    component.to_lowercase()
}

/// Name of the clique of a multinode component's leader.
pub fn leader(component: &str) -> String {
    format!("{}-ldr", clique(component))
}

/// Name of the clique of a multinode component's workers.
pub fn worker(component: &str) -> String {
    format!("{}-wkr", clique(component))
}

/// What a component takes of the combined length of names: its clique, or its scaling group and the longest clique in it.
pub fn length(component: &str, in_group: bool, is_multinode: bool) -> usize {
    let own = clique(component).len();
    match (in_group, is_multinode) {
        (false, _) => own,
        (true, false) => own + own,
        (true, true) => own + worker(component).len(),
    }
}

/// Name of the PodCliqueSet of a deployment whose longest component takes `longest`: the deployment's own, cut with a hash of the
/// whole where it is too long.
pub fn set(deployment: &str, longest: usize) -> String {
    cut(deployment, COMBINED_NAME_MAX.saturating_sub(longest).max(SET_NAME_MIN))
}

/// A text as a label value: cut with a hash of the whole where it is too long.
pub fn label_value(text: &str) -> String {
    cut(text, super::LABEL_VALUE_MAX)
}

fn cut(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let head: String = text.chars().take(max.saturating_sub(5)).collect();
    format!("{head}-{:04x}", fnv1a(text.as_bytes()) & 0xffff)
}

/// Hash of all workers, as it stands in labels.
pub fn worker_hash(canonical: &str) -> String {
    format!("{:08x}", fnv1a(canonical.as_bytes()))
}

/// The 32-bit hash of Fowler, Noll and Vo, by which Dynamo cuts names too.
fn fnv1a(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// What a component's pods are selected by.
pub fn selector(deployment: &str, component: &str) -> String {
    label_value(&format!("{deployment}-{}", clique(component)))
}

/// The namespace inside Dynamo of a deployment.
pub fn dynamo_namespace(namespace: &str, deployment: &str) -> String {
    label_value(&format!("{namespace}-{}", deployment.replace('.', "-")))
}

/// Host name and domain of the leader, for the pods of a multinode component; the variables are Kubernetes' to fill in.
pub fn leader_host(component: &str) -> String {
    host(&leader(component), 0)
}

/// The same for a worker.
pub fn worker_host(component: &str, k: i64) -> String {
    host(&worker(component), k)
}

fn host(clique: &str, k: i64) -> String {
    use super::env::{GROUP_INDEX, GROUP_NAME, HEADLESS_SERVICE};
    format!("$({GROUP_NAME})-$({GROUP_INDEX})-{clique}-{k}.$({HEADLESS_SERVICE})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_with_a_hash_of_the_whole() {
        let check = |deployment: &str, longest: usize, expected: &str| assert_eq!(set(deployment, longest), expected);
        check("demo", 10, "demo");
        check(&"d".repeat(35), 10, &"d".repeat(35));
        let cut = set(&"d".repeat(36), 10);
        assert_eq!(cut.len(), 35);
        assert!(cut.starts_with(&format!("{}-", "d".repeat(30))), "{cut}");
        assert_ne!(set(&format!("{}e", "d".repeat(36)), 10), set(&format!("{}f", "d".repeat(36)), 10));
        // However long the component is, eight characters are left.
        assert_eq!(set("abcdefghij", 60).len(), 8);
        assert_eq!(set("äöüäöüäöü", 60).chars().count(), 8);
        // The published test vectors.
        assert_eq!((fnv1a(b""), fnv1a(b"a"), fnv1a(b"foobar")), (0x811c_9dc5, 0xe40c_292c, 0xbf9c_f968));
    }
}
