//! Updates that are left to whoever deletes pods.

use trellis_api::names::label;
use trellis_lifecycle::Kind::{Pod as PodKind, PodClique, PodCliqueSet};

use crate::view::{Pod, View};
use crate::workloads::{Set, clique, group, new_image, set, template_of};
use crate::world::World;

const NEW: &str = "app:2";

fn workload() -> Set {
    set("wl")
        .clique(clique("pc-a", 2, 1))
        .clique(clique("pc-b", 1, 1))
        .clique(clique("pc-c", 3, 3))
        .group(group("sg-x", 2, 2, &["pc-b", "pc-c"]))
        .on_delete()
}

async fn deployed(world: &World, set: &Set, pods: usize) -> View {
    world.open(pods).await;
    world.create(set).await;
    world.ready(pods).await
}

/// Changes the set, and waits until the operator has taken note.
async fn noted(world: &World, change: impl Fn(&mut serde_json::Value)) -> View {
    let before =
        world.until("the set has a hash", |view| view.set("wl")["status"]["currentGenerationHash"].is_string());
    let hash = before.await.set("wl")["status"]["currentGenerationHash"].clone();
    world.edit(PodCliqueSet, "wl", change).await;
    let is_noted = |view: &View| {
        let (set, status) = (view.set("wl"), &view.set("wl")["status"]);
        status["observedGeneration"] == set["metadata"]["generation"]
            && status["currentGenerationHash"] != hash
            && status["updateProgress"]["updateEndedAt"].is_string()
    };
    let what = "the change is noted, and nothing is left for the operator to do";
    world.until(what, is_noted).await;
    world.quiet().await;
    world.observer.view()
}

/// Changes the images of these cliques; nothing happens to any pod.
async fn nothing_happens(world: &World, cliques: &[&str]) -> View {
    let pods = world.observer.view().uids(|_| true);
    let view = noted(world, |set| cliques.iter().for_each(|clique| new_image(set, clique, NEW))).await;
    assert!(view.untouched(&pods), "{}", view.dump());
    view
}

/// Deletes these pods; their successors are new, and nobody else is touched.
async fn replaced(world: &World, what: impl Fn(&Pod<'_>) -> bool) -> View {
    let view = world.observer.view();
    let pods = view.pods().count();
    let others = view.uids(|pod| !what(pod));
    let gone = view.uids(&what);
    for pod in view.live().filter(&what) {
        world.delete(PodKind, pod.name()).await;
    }
    world.until("they are gone", |view| view.pods().all(|pod| !gone.contains(pod.uid()))).await;
    let view = world.ready(pods).await;
    assert!(view.untouched(&others), "{}", view.dump());
    assert!(view.live().filter(|pod| !others.contains(pod.uid())).all(|pod| pod.image() == NEW), "{}", view.dump());
    view
}

/// How many pods the clique says are up to date.
async fn says(world: &World, clique: &str, updated: usize) {
    let what = format!("{clique} says that {updated} pods are updated");
    world.until(&what, |view| view.clique(clique)["status"]["updatedReplicas"] == updated).await;
}

pub async fn od1_nothing_is_deleted(world: &World) {
    deployed(world, &workload(), 10).await;
    let view = nothing_happens(world, &["pc-a"]).await;
    assert_eq!(view.set("wl")["status"]["updatedReplicas"], 0);
    says(world, "wl-0-pc-a", 0).await;
}

pub async fn od2_a_deleted_pod_comes_back_updated(world: &World) {
    deployed(world, &workload(), 10).await;
    let view = nothing_happens(world, &["pc-a"]).await;
    let victim = view.of_clique("wl-0-pc-a")[0].uid();
    replaced(world, |pod| pod.uid() == victim).await;
    says(world, "wl-0-pc-a", 1).await;
    assert_eq!(world.observer.view().set("wl")["status"]["updatedReplicas"], 0);
    replaced(world, |pod| pod.clique() == "wl-0-pc-a" && pod.image() != NEW).await;
    says(world, "wl-0-pc-a", 2).await;
    world.until("the set is updated", |view| view.set("wl")["status"]["updatedReplicas"] == 1).await;
}

pub async fn od3_scale_in_takes_outdated_pods_first(world: &World) {
    deployed(world, &workload(), 10).await;
    nothing_happens(world, &["pc-a"]).await;
    // The first pod by index is the new one, so that neither index nor age chooses it.
    let first = |pod: &Pod<'_>| pod.clique() == "wl-0-pc-a" && pod.label(label::POD_INDEX) == "0";
    let view = replaced(world, first).await;
    let kept = view.uids(|pod| pod.image() == NEW);
    world.scale(PodClique, "wl-0-pc-a", 1).await;
    let view = world.ready(9).await;
    assert_eq!(view.uids(|pod| pod.clique() == "wl-0-pc-a"), kept, "{}", view.dump());
}

pub async fn od4_nothing_is_deleted_in_a_scaling_group(world: &World) {
    deployed(world, &workload(), 10).await;
    nothing_happens(world, &["pc-c"]).await;
    says(world, "wl-0-sg-x-0-pc-c", 0).await;
}

pub async fn od5_a_deleted_replica_of_a_scaling_group_comes_back_updated(world: &World) {
    deployed(world, &workload(), 10).await;
    nothing_happens(world, &["pc-c"]).await;
    replaced(world, |pod| pod.clique() == "wl-0-sg-x-1-pc-c").await;
    says(world, "wl-0-sg-x-1-pc-c", 3).await;
    says(world, "wl-0-sg-x-0-pc-c", 0).await;
}

pub async fn od6_cliques_and_scaling_groups(world: &World) {
    deployed(world, &workload(), 10).await;
    let view = nothing_happens(world, &["pc-a", "pc-b"]).await;
    let victim = view.of_clique("wl-0-pc-a")[0].uid();
    replaced(world, |pod| pod.uid() == victim || pod.clique() == "wl-0-sg-x-0-pc-b").await;
    says(world, "wl-0-pc-a", 1).await;
    says(world, "wl-0-sg-x-0-pc-b", 1).await;
    says(world, "wl-0-sg-x-1-pc-b", 0).await;
}

pub async fn od7_several_replicas_of_the_set(world: &World) {
    deployed(world, &workload().replicas(2), 20).await;
    nothing_happens(world, &["pc-a"]).await;
    for replica in ["0", "1"] {
        let clique = format!("wl-{replica}-pc-a");
        replaced(world, |pod| pod.clique() == clique).await;
        says(world, &clique, 2).await;
    }
    world.until("the set is updated", |view| view.set("wl")["status"]["updatedReplicas"] == 2).await;
}

/// A node goes bad: pods are kept away from it, and only the one that is there moves.
pub async fn od8_recovery_from_a_bad_node(world: &World) {
    let view = deployed(world, &workload(), 10).await;
    let victim = view.of_clique("wl-0-pc-a")[0].name().to_owned();
    let uid = view.of_clique("wl-0-pc-a")[0].uid().to_owned();
    let bad = view.of_clique("wl-0-pc-a")[0].node().expect("a node").to_owned();
    let others = view.uids(|pod| pod.name() != victim);
    let expression = serde_json::json!({ "key": "kubernetes.io/hostname", "operator": "NotIn", "values": [bad] });
    let affinity = serde_json::json!({ "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{ "matchExpressions": [expression] }],
    } } });
    noted(world, |set| template_of(set, "pc-a")["spec"]["podSpec"]["affinity"] = affinity.clone()).await;
    world.open(1).await;
    world.lose(&[&victim]).await;
    world.until("it is gone", |view| view.pods().all(|pod| pod.uid() != uid)).await;
    let view = world.ready(10).await;
    assert!(view.untouched(&others));
    let anew: Vec<_> = view.live().filter(|pod| !others.contains(pod.uid())).collect();
    assert_eq!(anew.len(), 1);
    assert_eq!(anew[0].0["spec"]["affinity"], affinity);
    assert_ne!(anew[0].node(), Some(bad.as_str()));
}

/// From one strategy to the other and back.
pub async fn od9_change_of_strategy(world: &World) {
    deployed(world, &workload(), 10).await;
    nothing_happens(world, &["pc-a"]).await;
    let strategy =
        |name: &'static str| move |set: &mut serde_json::Value| set["spec"]["updateStrategy"]["type"] = name.into();
    world.edit(PodCliqueSet, "wl", strategy("RollingRecreate")).await;
    let is_new = |view: &View| {
        view.pods().count() == 10
            && view.pods().all(|pod| pod.is_ready() && (pod.image() == NEW) == (pod.clique() == "wl-0-pc-a"))
    };
    world.until("what was left is updated now", is_new).await;
    world.until("the set says so", |view| view.set("wl")["status"]["updatedReplicas"] == 1).await;
    world.edit(PodCliqueSet, "wl", strategy("OnDelete")).await;
    let pods = world.observer.view().uids(|_| true);
    let view = noted(world, |set| new_image(set, "pc-c", "app:3")).await;
    assert!(view.untouched(&pods), "{}", view.dump());
}
