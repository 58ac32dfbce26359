//! Which kinds are followed, and how they are read.

use k8s_openapi::api::core::v1::{Node, PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use kube::Client;
use kube::Resource;
use kube::api::{Api, DynamicObject};
use kube::core::{ApiResource, DeserializeGuard, GroupVersionKind};
use tokio::task::JoinSet;
use trellis_api::kinds::kai::{KaiPodGroup, Topology};
use trellis_api::kinds::{ClusterTopology, NodeResourceTopology, PodGang};
use trellis_api::names::group;

use crate::follow::Follower;
use crate::index::Kept;

/// All kinds that are followed.
pub const KINDS: [&str; 11] = [
    Node::KIND,
    Pod::KIND,
    PodGang::KIND,
    KaiPodGroup::KIND,
    ClusterTopology::KIND,
    Topology::KIND,
    PriorityClass::KIND,
    PodDisruptionBudget::KIND,
    NodeResourceTopology::KIND,
    PersistentVolumeClaim::KIND,
    PersistentVolume::KIND,
];

/// Follows all kinds, until the tasks are dropped.
pub fn start(client: &Client, follower: &Follower) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    // Whole kinds of Kubernetes' own are read as they are: there are many of them, and every server's can be read.
    tasks.spawn(follower.clone().follow::<Node, Node>(Api::all(client.clone()), Ok));
    tasks.spawn(follower.clone().follow::<Pod, Pod>(Api::all(client.clone()), Ok));
    tasks.spawn(follower.clone().follow::<PriorityClass, PriorityClass>(Api::all(client.clone()), Ok));
    let budgets = Api::all(client.clone());
    tasks.spawn(follower.clone().follow::<PodDisruptionBudget, PodDisruptionBudget>(budgets, Ok));
    let claims = Api::all(client.clone());
    tasks.spawn(follower.clone().follow::<PersistentVolumeClaim, PersistentVolumeClaim>(claims, Ok));
    let volumes = Api::all(client.clone());
    tasks.spawn(follower.clone().follow::<PersistentVolume, PersistentVolume>(volumes, Ok));
    tasks.spawn(follower.clone().follow::<_, PodGang>(Api::all(client.clone()), guarded));
    tasks.spawn(follower.clone().follow::<_, KaiPodGroup>(Api::all(client.clone()), guarded));
    tasks.spawn(follower.clone().follow::<_, ClusterTopology>(Api::all(client.clone()), guarded));
    tasks.spawn(follower.clone().follow::<_, Topology>(Api::all(client.clone()), guarded));
    let zones: Api<DynamicObject> = Api::all_with(client.clone(), &node_resource_topologies());
    tasks.spawn(follower.clone().follow::<_, NodeResourceTopology>(zones, dynamic));
    tasks
}

fn node_resource_topologies() -> ApiResource {
    let kind = GroupVersionKind::gvk(group::NODE_TOPOLOGY, group::V1ALPHA2, NodeResourceTopology::KIND);
    ApiResource::from_gvk_with_plural(&kind, "noderesourcetopologies")
}

fn guarded<T: Resource>(object: DeserializeGuard<T>) -> Result<T, String> {
    object.0.map_err(|error| error.error)
}

fn dynamic(object: DynamicObject) -> Result<NodeResourceTopology, String> {
    let mut value = object.data;
    value["metadata"] = serde_json::to_value(object.metadata).map_err(|error| error.to_string())?;
    serde_json::from_value(value).map_err(|error| error.to_string())
}
