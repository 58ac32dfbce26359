//! What follows from a pool: queues, a Topology, and the classes of OSMO's three priorities.

use super::pool_name;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::collections::BTreeMap;
use trellis_api::kinds::kai::{
    KaiTopologyLevel, Queue, QueueResource, QueueResources, QueueSpec, Topology, TopologySpec,
};
use trellis_api::kinds::osmo::{Pool, Priority};
use trellis_api::names::{MANAGED_BY, label, osmo};

/// Everything that follows from a pool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PoolObjects {
    /// The queue above the pool's, which pools of one namespace share.
    pub parent_queue: Option<Queue>,
    /// The pool's queue.
    pub queue: Option<Queue>,
    /// The pool's levels; none where it has none.
    pub topology: Option<Topology>,
}

/// Objects of a pool; none where its scheduler knows no gangs.
pub fn pool_objects(pool: &Pool) -> PoolObjects {
    if !pool.spec.knows_topology() {
        return PoolObjects::default();
    }
    let (namespace, name) = (pool.spec.namespace(), pool_name(pool));
    let metadata = |object: String, is_own: bool| {
        let mut labels = BTreeMap::from([
            (label::MANAGED_BY.to_owned(), MANAGED_BY.to_owned()),
            (osmo::label::NAMESPACE.to_owned(), osmo::label_value(namespace)),
        ]);
        if is_own {
            labels.insert(osmo::label::POOL.to_owned(), osmo::label_value(name));
        }
        let owner = crate::owner_reference(pool).filter(|_| is_own).map(|owner| vec![owner]);
        ObjectMeta { name: Some(object), labels: Some(labels), owner_references: owner, ..ObjectMeta::default() }
    };
    let gpu = pool.spec.gpu();
    let share = share(gpu.guarantee, gpu.maximum, gpu.weight);
    let levels = pool.spec.topology_keys.iter();
    let levels: Vec<_> =
        levels.map(|level| KaiTopologyLevel { node_label: level.label.clone(), alias: None }).collect();
    let parent = osmo::parent_queue(namespace);
    PoolObjects {
        parent_queue: Some(queue(metadata(parent.clone(), false), None, unlimited())),
        queue: Some(queue(metadata(osmo::queue(namespace, name), true), Some(parent), share)),
        topology: (!levels.is_empty()).then(|| Topology {
            metadata: metadata(osmo::topology(namespace, name), true),
            spec: TopologySpec { levels },
        }),
    }
}

fn queue(metadata: ObjectMeta, parent_queue: Option<String>, gpu: QueueResource) -> Queue {
    let resources = QueueResources { gpu: Some(gpu), cpu: Some(unlimited()), memory: Some(unlimited()) };
    Queue { metadata, spec: QueueSpec { parent_queue, resources: Some(resources), ..QueueSpec::default() } }
}

fn unlimited() -> QueueResource {
    share(-1, -1, 1)
}

/// Numbers of GPUs, which a float holds exactly.
#[expect(clippy::cast_precision_loss, reason = "counts of GPUs are small")]
fn share(quota: i64, limit: i64, weight: i64) -> QueueResource {
    QueueResource { quota: quota as f64, limit: limit as f64, over_quota_weight: weight as f64 }
}

/// Whether a Topology that is there says what is wanted. Its levels cannot be changed, so one that does not is deleted and made
/// anew; what a server adds to it does not count.
pub fn is_current(there: &Topology, wanted: &Topology) -> bool {
    let labels = |topology: &Topology| topology.metadata.labels.clone().unwrap_or_default();
    let there_labels = labels(there);
    let labels = labels(wanted);
    there.spec == wanted.spec && labels.iter().all(|(key, value)| there_labels.get(key) == Some(value))
}

/// The classes of OSMO's priorities.
pub fn priority_classes() -> Vec<PriorityClass> {
    let class = |priority: Priority| PriorityClass {
        metadata: ObjectMeta {
            name: Some(osmo::priority_class(priority.as_str())),
            labels: Some(BTreeMap::from([(label::MANAGED_BY.to_owned(), MANAGED_BY.to_owned())])),
            ..ObjectMeta::default()
        },
        value: priority.value(),
        global_default: Some(false),
        description: Some(format!("Workflows of priority {}", priority.as_str())),
        ..PriorityClass::default()
    };
    Priority::ALL.into_iter().map(class).collect()
}
