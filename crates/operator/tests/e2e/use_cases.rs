//! Workflows that people write as KAI PodGroups by hand, with bare pods: the use cases of the design for pools with topology keys.
//!
//! The racks of a world stand for NVLink domains and its blocks for zones and spines; of each only so many nodes are open as a case has.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use trellis_api::names::{annotation, label};
use trellis_lifecycle::Kind::{KaiPodGroup, Pod};

use crate::server::OF;
use crate::view::{View, condition};
use crate::world::World;

const RACK: &str = "kubernetes.io/rack";
const BLOCK: &str = "kubernetes.io/block";

/// The first nodes of racks: rack 0 and 1 are in block 0, rack 3 is in block 1.
const FIRST: [usize; 4] = [0, 7, 14, 21];

/// A level that the pods of a group must or should share.
fn level(word: &str, key: &str) -> Value {
    json!({ "topology": "grove-topology", format!("{word}TopologyLevel"): key })
}

/// Opens so many nodes of racks.
pub async fn open(world: &World, racks: &[(usize, usize)]) {
    let nodes = racks.iter().flat_map(|(rack, count)| FIRST[*rack]..FIRST[*rack] + count);
    world.reopen(nodes.map(|n| world.node_names()[n].clone()).collect()).await;
}

/// Creates a workflow: models of four shards each, with what every model and the whole have to share.
async fn create(world: &World, models: usize, each: &Value, whole: Option<Value>) {
    let model = |n: usize| json!({ "name": format!("model-{n}"), "minMember": 4, "topologyConstraint": each });
    let mut spec = json!({ "queue": "test", "subGroups": (0..models).map(model).collect::<Vec<_>>() });
    if let Some(whole) = whole {
        spec["topologyConstraint"] = whole;
    }
    let group = json!({
        "apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup",
        "metadata": { "name": "training", "namespace": world.namespace }, "spec": spec,
    });
    world.make(KaiPodGroup, &group).await.expect("a group");
    for (model, shard) in (0..models).flat_map(|model| (0..4).map(move |shard| (model, shard))) {
        let leaf = format!("model-{model}");
        let mut pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": format!("{leaf}-{shard}"), "namespace": world.namespace,
                "labels": { label::KAI_SUBGROUP: leaf }, "annotations": { annotation::KAI_POD_GROUP: "training" },
            },
            "spec": {
                "schedulerName": "trellis", "terminationGracePeriodSeconds": 0,
                "containers": [{ "name": "app", "image": "app:1", "resources": { "requests": { "memory": "80Mi" } } }],
            },
        });
        if let Some(selected) = world.selects() {
            pod["spec"]["nodeSelector"] = json!({ OF: selected });
        }
        world.make(Pod, &pod).await.expect("a pod");
    }
}

/// The racks or blocks that pods whose names begin so are in.
pub fn domains(world: &World, view: &View, size: usize, prefix: &str) -> BTreeSet<usize> {
    let place = |node: &str| world.node_names().iter().position(|name| name == node).expect("a node of this world");
    let pods = view.pods().filter(|pod| pod.name().starts_with(prefix));
    pods.map(|pod| place(pod.node().expect("a node")) / size).collect()
}

/// Deletes the workflow, and waits until nothing is left of it. Bare pods are nobody's but their user's.
async fn delete(world: &World) {
    for name in world.observer.view().names(Pod) {
        world.delete(Pod, name).await;
    }
    world.delete(KaiPodGroup, "training").await;
    world.until("nothing is left", |view| view.pods().count() == 0 && view.all(KaiPodGroup).count() == 0).await;
}

/// Waits until all wait, and say why.
async fn waits(world: &World, pods: usize) {
    let said =
        |view: &View| view.pods().filter(|pod| condition(pod.0, "PodScheduled").1 == "Unschedulable").count() == pods;
    world.until("they wait, and say why", said).await;
    world.quiet().await;
    assert!(world.observer.view().pods().all(|pod| pod.node().is_none()), "{}", world.observer.view().dump());
}

/// Four tasks must share a rack: three places here and four there, so it is there.
pub async fn one_nvl72_rack(world: &World) {
    open(world, &[(0, 3), (1, 3)]).await;
    create(world, 1, &level("required", RACK), None).await;
    waits(world, 4).await;
    world.reopen(vec![world.node_names()[FIRST[1] + 3].clone()]).await;
    let view = world.ready(4).await;
    assert_eq!(domains(world, &view, 7, "model-"), BTreeSet::from([1]), "{}", view.dump());
    delete(world).await;
}

/// Two models, each in a rack; which of them is where does not matter.
pub async fn several_nvl72_racks(world: &World) {
    open(world, &[(0, 4), (3, 4)]).await;
    create(world, 2, &level("required", RACK), None).await;
    let view = world.ready(8).await;
    for model in ["model-0-", "model-1-"] {
        assert_eq!(domains(world, &view, 7, model).len(), 1, "{}", view.dump());
    }
    delete(world).await;
}

/// The same in one zone: only one zone has racks enough.
pub async fn several_nvl72_racks_in_one_zone(world: &World) {
    open(world, &[(0, 4), (3, 4)]).await;
    create(world, 2, &level("required", RACK), Some(level("required", BLOCK))).await;
    waits(world, 8).await;
    open(world, &[(1, 4)]).await;
    let view = world.ready(8).await;
    assert_eq!(domains(world, &view, 20, "model-"), BTreeSet::from([0]), "{}", view.dump());
    for model in ["model-0-", "model-1-"] {
        assert_eq!(domains(world, &view, 7, model).len(), 1, "{}", view.dump());
    }
    delete(world).await;
}

/// Racks and spines are preferred: they are had where there is room, and where there is none everything runs all the same.
pub async fn best_effort(world: &World) {
    let (each, whole) = (level("preferred", RACK), level("preferred", BLOCK));
    open(world, &[(0, 4), (1, 4), (3, 4)]).await;
    create(world, 2, &each, Some(whole.clone())).await;
    let view = world.ready(8).await;
    assert_eq!(domains(world, &view, 20, "model-"), BTreeSet::from([0]), "{}", view.dump());
    for model in ["model-0-", "model-1-"] {
        assert_eq!(domains(world, &view, 7, model).len(), 1, "{}", view.dump());
    }
    delete(world).await;
    // Three here, two there and three elsewhere are eight.
    world.close_all().await;
    open(world, &[(0, 3), (1, 2), (3, 3)]).await;
    create(world, 2, &each, Some(whole)).await;
    world.ready(8).await;
    delete(world).await;
}
