//! Rolling updates: one pod of a clique, or one replica of a scaling group, at a time, and one replica of the set after the other.

use std::collections::{BTreeMap, BTreeSet};

use trellis_api::names::label;
use trellis_lifecycle::Kind::{PodClique, PodCliqueSet, ScalingGroup};

use crate::view::{Pod, View};
use crate::workloads::{Set, full, new_image};
use crate::world::World;

const NEW: &str = "app:2";

/// Creates a set that has room for this many pods, and waits until they are ready.
async fn deployed(world: &World, set: &Set, pods: usize) -> View {
    world.open(pods).await;
    world.create(set).await;
    world.ready(pods).await
}

/// Gives these cliques a new image.
async fn change(world: &World, cliques: &[&str]) {
    world.edit(PodCliqueSet, "wl", |set| cliques.iter().for_each(|clique| new_image(set, clique, NEW))).await;
}

fn is_of(pod: &Pod<'_>, cliques: &[&str]) -> bool {
    cliques.contains(&pod.label(label::CLIQUE))
}

/// Whether the set says that it is up to date, and so it is.
fn is_done(view: &View, cliques: &[&str], pods: usize) -> bool {
    let (set, status) = (view.set("wl"), &view.set("wl")["status"]);
    view.pods().count() == pods
        && view.pods().all(|pod| pod.is_ready())
        && view.pods().all(|pod| (pod.image() == NEW) == is_of(&pod, cliques))
        && status["observedGeneration"] == set["metadata"]["generation"]
        && status["updatedReplicas"] == set["spec"]["replicas"]
        && status["availableReplicas"] == set["spec"]["replicas"]
        && status["updateProgress"]["updateEndedAt"].is_string()
}

/// Waits until the update is done, and sees that it stays so.
async fn done(world: &World, cliques: &[&str], pods: usize) -> View {
    let what = format!("{cliques:?} are updated, with {pods} pods in all");
    world.until(&what, |view| is_done(view, cliques, pods)).await;
    world.quiet().await;
    let view = world.observer.view();
    assert!(is_done(&view, cliques, pods), "for a moment it was so, then not\n{}", view.dump());
    let progress = &view.set("wl")["status"]["updateProgress"];
    assert_eq!(progress["updatedPodCliquesCount"], progress["totalPodCliquesCount"]);
    assert_eq!(progress["updatedPodCliqueScalingGroupsCount"], progress["totalPodCliqueScalingGroupsCount"]);
    view
}

/// Waits until a pod of the new template waits for room.
async fn stalled(world: &World) -> View {
    let waits = |view: &View| view.live().any(|pod| pod.image() == NEW && pod.node().is_none() && !pod.is_gated());
    world.until("a pod of the new template waits for room", waits).await;
    world.quiet().await;
    world.observer.view()
}

/// From now on never more than one at a time is missing of what is there now.
fn one_at_a_time(world: &World) {
    let before = world.observer.view().count(|pod| pod.is_ready());
    let standalone: BTreeSet<String> = {
        let view = world.observer.view();
        let alone = view.live().filter(|pod| pod.label(label::SCALING_GROUP).is_empty());
        alone.map(|pod| pod.clique().to_owned()).collect()
    };
    let place: BTreeMap<String, (String, String)> = {
        let view = world.observer.view();
        let place = |pod: &Pod<'_>| {
            let replica = pod.label(label::SCALING_GROUP_REPLICA_INDEX);
            let group = format!("{}/{replica}", pod.label(label::SCALING_GROUP));
            (pod.replica().to_owned(), group)
        };
        view.live().map(|pod| (pod.clique().to_owned(), place(&pod))).collect()
    };
    world.observer.law("one at a time", move |view| {
        let now = view.count(|pod| pod.is_ready());
        let missing = |clique: &String| before[clique].saturating_sub(now.get(clique).copied().unwrap_or(0));
        let broken: Vec<&String> = before.keys().filter(|clique| missing(clique) > 0).collect();
        let too_many: Vec<&&String> =
            broken.iter().filter(|clique| standalone.contains(**clique) && missing(clique) > 1).collect();
        let replicas: BTreeSet<&String> = broken.iter().map(|clique| &place[*clique].0).collect();
        let groups: BTreeSet<&String> =
            broken.iter().filter(|clique| !standalone.contains(**clique)).map(|clique| &place[*clique].1).collect();
        match too_many.is_empty() && replicas.len() <= 1 && groups.len() <= 1 {
            true => Ok(()),
            false => Err(format!("missing: {broken:?}")),
        }
    });
}

/// From now on no pod of the new template goes.
fn none_twice(world: &World) {
    world.observer.law("nothing is updated twice", |view| {
        match view.ever().find(|pod| pod.image() == NEW && pod.is_terminating()) {
            None => Ok(()),
            Some(pod) => Err(format!("{} goes: {}", pod.name(), pod.0)),
        }
    });
}

/// Pods that were taken away since the beginning.
fn taken(view: &View) -> usize {
    view.ever().filter(|pod| pod.is_terminating()).count()
}

pub async fn ru7_standalone_clique(world: &World) {
    let view = deployed(world, &full().replicas(2), 20).await;
    let others = view.uids(|pod| !is_of(pod, &["pc-a"]));
    one_at_a_time(world);
    none_twice(world);
    change(world, &["pc-a"]).await;
    let view = done(world, &["pc-a"], 20).await;
    assert!(view.untouched(&others));
    assert_eq!(taken(&view), 4);
}

pub async fn ru8_clique_of_a_scaling_group(world: &World) {
    let view = deployed(world, &full().replicas(2), 20).await;
    let others = view.uids(|pod| pod.label(label::SCALING_GROUP).is_empty());
    one_at_a_time(world);
    none_twice(world);
    change(world, &["pc-c"]).await;
    let view = done(world, &["pc-c"], 20).await;
    assert!(view.untouched(&others));
}

pub async fn ru9_all_cliques(world: &World) {
    deployed(world, &full().replicas(2), 20).await;
    one_at_a_time(world);
    none_twice(world);
    change(world, &["pc-a", "pc-b", "pc-c"]).await;
    let view = done(world, &["pc-a", "pc-b", "pc-c"], 20).await;
    assert_eq!(taken(&view), 20);
}

pub async fn ru10_no_room(world: &World) {
    deployed(world, &full().replicas(2), 20).await;
    one_at_a_time(world);
    let nodes = world.close_all().await;
    change(world, &["pc-a"]).await;
    let view = stalled(world).await;
    assert_eq!(taken(&view), 1, "{}", view.dump());
    assert!(view.set("wl")["status"]["updateProgress"]["updateEndedAt"].is_null());
    world.reopen(nodes).await;
    done(world, &["pc-a"], 20).await;
}

pub async fn ru11_set_scaled_out_during_the_update(world: &World) {
    deployed(world, &full().replicas(2), 20).await;
    one_at_a_time(world);
    none_twice(world);
    let nodes = world.close_all().await;
    change(world, &["pc-a"]).await;
    stalled(world).await;
    world.scale(PodCliqueSet, "wl", 3).await;
    world.until("the new replica is there", |view| view.live().count() == 30).await;
    world.reopen(nodes).await;
    world.open(10).await;
    let view = done(world, &["pc-a"], 30).await;
    let old = view.ever().filter(|pod| pod.replica() == "2" && is_of(pod, &["pc-a"]) && pod.image() != NEW).count();
    assert_eq!(old, 0, "the new replica was made from the new template");
}

pub async fn ru12_set_scaled_in_while_its_last_replica_is_updated(world: &World) {
    let view = deployed(world, &full().replicas(2), 20).await;
    one_at_a_time(world);
    // What the last replica loses finds no room.
    for node in view.live().filter(|pod| pod.replica() == "1").filter_map(|pod| pod.node()) {
        world.close(node).await;
    }
    change(world, &["pc-a"]).await;
    let waits = |view: &View| view.live().any(|pod| pod.replica() == "1" && pod.image() == NEW && pod.node().is_none());
    world.until("the last replica is being updated", waits).await;
    world.observer.no_laws();
    world.scale(PodCliqueSet, "wl", 1).await;
    done(world, &["pc-a"], 10).await;
}

pub async fn ru13_set_scaled_in_after_its_last_replica_was_updated(world: &World) {
    deployed(world, &full().replicas(2), 20).await;
    change(world, &["pc-a"]).await;
    done(world, &["pc-a"], 20).await;
    world.scale(PodCliqueSet, "wl", 1).await;
    done(world, &["pc-a"], 10).await;
}

pub async fn ru14_group_scaled_out_during_the_update(world: &World) {
    deployed(world, &full(), 10).await;
    one_at_a_time(world);
    none_twice(world);
    let nodes = world.close_all().await;
    change(world, &["pc-c"]).await;
    stalled(world).await;
    world.scale(ScalingGroup, "wl-0-sg-x", 3).await;
    world.until("the new replica is there", |view| view.live().count() == 14).await;
    world.reopen(nodes).await;
    world.open(4).await;
    done(world, &["pc-c"], 14).await;
}

pub async fn ru15_group_scaled_out_before_the_update(world: &World) {
    deployed(world, &full(), 10).await;
    one_at_a_time(world);
    none_twice(world);
    world.scale(ScalingGroup, "wl-0-sg-x", 3).await;
    world.until("the new replica is there", |view| view.live().count() == 14).await;
    change(world, &["pc-c"]).await;
    world.open(4).await;
    done(world, &["pc-c"], 14).await;
}

pub async fn ru16_group_scaled_in_during_the_update(world: &World) {
    deployed(world, &full(), 10).await;
    world.scale(ScalingGroup, "wl-0-sg-x", 3).await;
    world.open(4).await;
    world.ready(14).await;
    let nodes = world.close_all().await;
    change(world, &["pc-c"]).await;
    stalled(world).await;
    world.scale(ScalingGroup, "wl-0-sg-x", 2).await;
    world.until("the last replica is gone", |view| view.live().count() == 10).await;
    world.reopen(nodes).await;
    done(world, &["pc-c"], 10).await;
}

pub async fn ru17_group_scaled_in_before_the_update(world: &World) {
    deployed(world, &full(), 10).await;
    world.scale(ScalingGroup, "wl-0-sg-x", 3).await;
    world.open(4).await;
    world.ready(14).await;
    world.scale(ScalingGroup, "wl-0-sg-x", 2).await;
    change(world, &["pc-c"]).await;
    done(world, &["pc-c"], 10).await;
}

pub async fn ru18_clique_scaled_out_during_the_update(world: &World) {
    deployed(world, &full(), 10).await;
    none_twice(world);
    let nodes = world.close_all().await;
    change(world, &["pc-a"]).await;
    stalled(world).await;
    world.scale(PodClique, "wl-0-pc-a", 3).await;
    world.until("the new pod is there", |view| view.live().count() == 11).await;
    world.reopen(nodes).await;
    world.open(1).await;
    done(world, &["pc-a"], 11).await;
}

pub async fn ru19_clique_scaled_out_before_the_update(world: &World) {
    deployed(world, &full(), 10).await;
    none_twice(world);
    world.scale(PodClique, "wl-0-pc-a", 3).await;
    world.until("the new pod is there", |view| view.live().count() == 11).await;
    change(world, &["pc-a"]).await;
    world.open(1).await;
    done(world, &["pc-a"], 11).await;
}

pub async fn ru20_clique_scaled_in_during_the_update(world: &World) {
    deployed(world, &full(), 10).await;
    world.scale(PodClique, "wl-0-pc-a", 3).await;
    world.open(1).await;
    world.ready(11).await;
    let nodes = world.close_all().await;
    change(world, &["pc-a"]).await;
    stalled(world).await;
    world.scale(PodClique, "wl-0-pc-a", 2).await;
    world.until("one pod less", |view| view.live().count() == 10).await;
    world.reopen(nodes).await;
    done(world, &["pc-a"], 10).await;
}

pub async fn ru21_clique_scaled_in_before_the_update(world: &World) {
    deployed(world, &full(), 10).await;
    world.scale(PodClique, "wl-0-pc-a", 3).await;
    world.open(1).await;
    world.ready(11).await;
    world.scale(PodClique, "wl-0-pc-a", 2).await;
    change(world, &["pc-a"]).await;
    done(world, &["pc-a"], 10).await;
}

/// A second change before the first is through: the end is the last one, and nothing of the middle one is left.
pub async fn a_change_during_the_update(world: &World) {
    deployed(world, &full(), 10).await;
    let nodes = world.close_all().await;
    world.edit(PodCliqueSet, "wl", |set| new_image(set, "pc-a", "app:1b")).await;
    world.until("a pod of the middle template waits", |view| view.live().any(|pod| pod.image() == "app:1b")).await;
    change(world, &["pc-a"]).await;
    world.until("it is replaced at once", |view| view.live().all(|pod| pod.image() != "app:1b")).await;
    world.reopen(nodes).await;
    done(world, &["pc-a"], 10).await;
}

/// What changes no pod starts no update.
pub async fn a_change_of_no_pod_is_no_update(world: &World) {
    let view = deployed(world, &full(), 10).await;
    let pods = view.uids(|_| true);
    world.edit(PodCliqueSet, "wl", |set| set["spec"]["template"]["terminationDelay"] = "3h".into()).await;
    let is_seen = |view: &View| view.set("wl")["status"]["observedGeneration"] == 2;
    world.until("the change is seen", is_seen).await;
    world.quiet().await;
    assert!(world.observer.view().untouched(&pods));
}

/// An update whose pod finds no room for too long takes the gang to where there is some.
pub async fn an_update_without_room_moves_the_gang(world: &World) {
    let view = deployed(world, &full().delay(world.delay()), 10).await;
    let old = view.uids(|_| true);
    world.close_all().await;
    change(world, &["pc-a"]).await;
    let anew = |view: &View| view.pods().count() == 10 && view.pods().all(|pod| !old.contains(pod.uid()));
    world.until("the gang gave up its place", anew).await;
    world.placed(&[]).await;
    world.open(10).await;
    done(world, &["pc-a"], 10).await;
}
