//! Names of OSMO. Objects are called after what users wrote; where that is no legal name, or too long, or where two would
//! be called alike, a hash of what was written tells them apart.

use super::LABEL_VALUE_MAX;
use sha2::{Digest, Sha256};

/// Label keys of pods and of what stands around them.
pub mod label {
    /// The workflow an object belongs to.
    pub const WORKFLOW: &str = "osmo.workflow_id";
    /// The task group an object belongs to.
    pub const GROUP: &str = "osmo.group_name";
    /// The task of a pod.
    pub const TASK: &str = "osmo.task_name";
    /// How often the task was begun anew.
    pub const RETRY: &str = "osmo.retry_id";
    /// The pool of a pod, a queue or a topology.
    pub const POOL: &str = "osmo.pool";
    /// The platform of a pod.
    pub const PLATFORM: &str = "osmo.platform";
    /// The priority of a pod.
    pub const PRIORITY: &str = "osmo.priority";
    /// `"true"` on the pod that leads its group.
    pub const LEAD: &str = "osmo.lead_container";
    /// The namespace that a queue or topology serves.
    pub const NAMESPACE: &str = "osmo.namespace";
    /// The queue, as older versions of KAI look for it.
    pub const OLD_QUEUE: &str = "runai/queue";
    /// What labels of ours begin with; a user's are passed over.
    pub const PREFIXES: [&str; 4] = ["osmo.", "kai.scheduler/", "trellis.dev/", "runai/"];
}

/// Name of the resource that GPUs are.
pub const GPU: &str = "nvidia.com/gpu";
/// Name of the container that runs the task.
pub const CONTAINER: &str = "task";
/// Name that OSMO keeps for its own container.
pub const RESERVED_TASK: &str = "osmo-ctrl";
/// The segment of padding and of tasks that ask for nothing.
pub const UNCONSTRAINED: &str = "unconstrained";
/// Name of a pool that is written without one.
pub const DEFAULT_POOL: &str = "default";
/// Name of the resource that tasks have which name none.
pub const DEFAULT_RESOURCE: &str = "default";
/// What the name of the group of a task alone ends with.
const LONE_GROUP: &str = "-group";
/// Most characters of a name that a user gives to a workflow, group or task.
pub const NAME_MAX: usize = 64;
/// Characters that a hash adds to a name.
const HASH_LEN: usize = 9;

/// The first characters of a hash of the text.
pub fn short_hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let head = digest.first_chunk().map_or(0, |head| u32::from_be_bytes(*head));
    format!("{head:08x}")
}

/// The text as a DNS label: as it is if it is one, else lower-cased, made legal, cut, and with a hash.
pub fn legal(text: &str) -> String {
    let fit = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let base: String = text.chars().map(fit).collect();
    let base = base.trim_matches('-');
    if base == text && text.len() <= LABEL_VALUE_MAX && !text.is_empty() { base.to_owned() } else { hashed(base, text) }
}

/// A legal text, cut so that a hash of what it stands for fits behind it.
pub fn hashed(base: &str, of: &str) -> String {
    let cut = &base[..base.len().min(LABEL_VALUE_MAX - HASH_LEN)];
    let cut = cut.trim_end_matches('-');
    format!("{}-{}", if cut.is_empty() { "x" } else { cut }, short_hash(of))
}

/// A label value of what a user wrote: as it is if it can be one, else cut and with a hash, so that two stay two.
pub fn label_value(text: &str) -> String {
    let is_fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let edge = |c: Option<char>| c.is_none_or(|c| c.is_ascii_alphanumeric());
    let fits = text.len() <= LABEL_VALUE_MAX && text.chars().all(is_fit);
    if fits && edge(text.chars().next()) && edge(text.chars().last()) { text.to_owned() } else { legal(text) }
}

/// What names are compared by: OSMO takes `A_b` and `a-b` for one.
pub fn folded(name: &str) -> String {
    name.to_lowercase().replace('_', "-")
}

/// The group of a task that is written without one.
pub fn lone_group(task: &str) -> String {
    format!("{task}{LONE_GROUP}")
}

/// Name of the PodGroup and the headless Service of a group.
pub fn group(workflow: &str, group: &str) -> String {
    legal(&format!("{workflow}-{group}"))
}

/// Name of a task's pod, of its host, and of the ConfigMap with its files.
pub fn task(workflow: &str, task: &str) -> String {
    legal(&format!("{workflow}-{task}"))
}

/// Full DNS name of a task's pod.
pub fn task_dns(workflow: &str, group: &str, task: &str, namespace: &str) -> String {
    format!("{}.{}.{namespace}.svc.cluster.local", self::task(workflow, task), self::group(workflow, group))
}

/// Name of the queue above those of the pools of a namespace.
pub fn parent_queue(namespace: &str) -> String {
    legal(&format!("osmo-default-{namespace}"))
}

/// Name of a pool's queue.
pub fn queue(namespace: &str, pool: &str) -> String {
    legal(&format!("osmo-pool-{namespace}-{pool}"))
}

/// Name of a pool's Topology.
pub fn topology(namespace: &str, pool: &str) -> String {
    legal(&format!("osmo-pool-{namespace}-{pool}-topology"))
}

/// Name of a Topology that keeps levels which a pool once had, as they were written.
pub fn kept_topology(topology: &str, levels: &str) -> String {
    // The name may be cut, and others be cut to the same.
    hashed(topology, &format!("{topology} {levels}"))
}

/// Name of the PriorityClass of a priority, such as `NORMAL`.
pub fn priority_class(priority: &str) -> String {
    format!("osmo-{}", priority.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d34_names_are_made_legal_with_a_hash_where_that_changed_something() {
        let check = |text: &str, name: &str| assert_eq!(legal(text), name, "{text:?}");
        check("train-shard-0", "train-shard-0");
        check("0", "0");
        check("Train", "train-e99c90db");
        check("train_1", "train-1-0668b639");
        check("-", "x-3973e022");
        check("", "x-e3b0c442");
        assert_eq!(legal(&"a".repeat(63)), "a".repeat(63));
        let long = legal(&"a".repeat(64));
        assert_eq!((long.len(), &long[..55]), (63, format!("{}-", "a".repeat(54)).as_str()));
        assert_ne!(long, legal(&"a".repeat(65)));
    }
}
