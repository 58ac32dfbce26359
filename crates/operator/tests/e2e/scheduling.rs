//! Gangs are placed whole: base gangs with what is needed, scaled gangs after them, each by itself.

use trellis_lifecycle::Kind::{PodCliqueSet, ScalingGroup};

use crate::view::{View, condition, is_true};
use crate::workloads::{full, least};
use crate::world::World;

/// Pods of `pc-a` of a replica of the set, and of `pc-b` and `pc-c` of each replica of its scaling group.
type Counts<'a> = (usize, &'a [(usize, usize)]);

/// The counts of each clique of the set's replicas by their names.
fn counted(replicas: &[Counts<'_>]) -> Vec<(String, usize)> {
    let mut all = Vec::new();
    for (i, (a, groups)) in replicas.iter().enumerate() {
        all.push((format!("wl-{i}-pc-a"), *a));
        for (j, (b, c)) in groups.iter().enumerate() {
            all.push((format!("wl-{i}-sg-x-{j}-pc-b"), *b));
            all.push((format!("wl-{i}-sg-x-{j}-pc-c"), *c));
        }
    }
    all
}

async fn placed(world: &World, replicas: &[Counts<'_>]) -> View {
    let counts = counted(replicas);
    let counts: Vec<(&str, usize)> = counts.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    world.placed(&counts).await
}

/// Waits until there are so many pods, so many of them gated, and all others may be placed.
async fn pods(world: &World, all: usize, gated: usize) {
    let what = format!("{all} pods, {gated} of them gated");
    world
        .until(&what, |view| view.live().count() == all && view.live().filter(|pod| pod.is_gated()).count() == gated)
        .await;
}

/// Waits until the set says that so many of its replicas are available, and is ready as a whole or not.
async fn available(world: &World, replicas: usize, ready: bool) {
    let what = format!("{replicas} replicas are available, and the set is ready: {ready}");
    let is_so = |view: &View| {
        let set = view.set("wl");
        set["status"]["availableReplicas"] == replicas && is_true(set, "Ready") == ready
    };
    world.until(&what, is_so).await;
}

const NONE: Counts<'static> = (0, &[]);
const FULL: Counts<'static> = (2, &[(1, 3), (1, 3)]);
const FULL_3: Counts<'static> = (2, &[(1, 3), (1, 3), (1, 3)]);
const BASE: Counts<'static> = (1, &[(1, 1)]);
const BASE_1: Counts<'static> = (1, &[(1, 1), (1, 1)]);
const BASE_2: Counts<'static> = (1, &[(1, 1), (1, 1), (1, 1)]);

/// One node short, and nothing is placed; one more, and all is.
pub async fn gs1_full_replicas(world: &World) {
    world.open(9).await;
    world.create(&full()).await;
    pods(world, 10, 0).await;
    let view = placed(world, &[NONE]).await;
    assert_eq!(view.names(trellis_lifecycle::Kind::PodGang), ["wl-0"]);
    assert!(is_true(view.gang("wl-0"), "Initialized"));
    assert_eq!(condition(view.gang("wl-0"), "Scheduled").0, "False");
    assert_eq!(view.gang("wl-0")["status"]["phase"], "Pending");
    available(world, 0, false).await;

    world.open(1).await;
    placed(world, &[FULL]).await;
    world.ready(10).await;
    available(world, 1, true).await;
    world.until("the gang runs", |view| view.gang("wl-0")["status"]["phase"] == "Running").await;
    let view = world.observer.view();
    assert!(is_true(view.gang("wl-0"), "Scheduled") && is_true(view.gang("wl-0"), "Ready"), "{}", view.dump());
}

/// A new replica of a scaling group is a gang of its own.
pub async fn gs2_scaling_full_replicas(world: &World) {
    world.open(10).await;
    world.create(&full()).await;
    world.ready(10).await;
    world.scale(ScalingGroup, "wl-0-sg-x", 3).await;
    world.open(3).await;
    pods(world, 14, 0).await;
    let view = placed(world, &[FULL]).await;
    assert_eq!(view.names(trellis_lifecycle::Kind::PodGang), ["wl-0", "wl-0-sg-x-0"]);
    // The scaled gang is in want, the set is as available as before.
    available(world, 1, true).await;
    world.open(1).await;
    placed(world, &[FULL_3]).await;
    world.ready(14).await;
}

/// A new replica of the set is a gang of its own.
pub async fn gs3_set_scaling_full_replicas(world: &World) {
    world.open(10).await;
    world.create(&full()).await;
    world.ready(10).await;
    world.scale(PodCliqueSet, "wl", 2).await;
    world.open(9).await;
    pods(world, 20, 0).await;
    placed(world, &[FULL, NONE]).await;
    available(world, 1, false).await;
    world.open(1).await;
    placed(world, &[FULL, FULL]).await;
    world.ready(20).await;
    available(world, 2, true).await;
}

/// Both at once.
pub async fn gs4_set_and_group_scaling_full_replicas(world: &World) {
    world.open(10).await;
    world.create(&full()).await;
    world.ready(10).await;
    world.scale(ScalingGroup, "wl-0-sg-x", 3).await;
    world.scale(PodCliqueSet, "wl", 2).await;
    pods(world, 24, 0).await;
    world.open(4).await;
    placed(world, &[FULL_3]).await;
    world.open(10).await;
    placed(world, &[FULL_3, FULL]).await;
    world.scale(ScalingGroup, "wl-1-sg-x", 3).await;
    pods(world, 28, 0).await;
    world.open(3).await;
    placed(world, &[FULL_3, FULL]).await;
    world.open(1).await;
    placed(world, &[FULL_3, FULL_3]).await;
    world.ready(28).await;
}

/// Exactly the minimum is placed where there is room for no more; scaled gangs wait for it at their gates.
pub async fn gs5_min_replicas(world: &World) {
    world.create(&least()).await;
    // The scaled gang's four pods wait until the base is placed.
    pods(world, 10, 4).await;
    world.open(3).await;
    placed(world, &[BASE]).await;
    pods(world, 10, 0).await;
    // The minimum of everything in the base is enough to be available.
    available(world, 1, true).await;
    world.open(7).await;
    placed(world, &[FULL]).await;
    world.ready(10).await;
}

/// A scaled gang has a minimum of its own.
pub async fn gs6_group_scaling_min_replicas(world: &World) {
    world.open(10).await;
    world.create(&least()).await;
    world.ready(10).await;
    world.scale(ScalingGroup, "wl-0-sg-x", 3).await;
    pods(world, 14, 0).await;
    world.open(1).await;
    let view = placed(world, &[FULL]).await;
    assert_eq!(view.names(trellis_lifecycle::Kind::PodGang), ["wl-0", "wl-0-sg-x-0", "wl-0-sg-x-1"]);
    world.open(1).await;
    placed(world, &[(2, &[(1, 3), (1, 3), (1, 1)])]).await;
    world.open(2).await;
    placed(world, &[FULL_3]).await;
    world.ready(14).await;
}

/// The base's minimum, then the scaled gang's, then the rest.
pub async fn gs7_group_scaling_in_steps(world: &World) {
    world.create(&least()).await;
    pods(world, 10, 4).await;
    world.open(3).await;
    placed(world, &[BASE]).await;
    world.open(2).await;
    placed(world, &[BASE_1]).await;
    world.scale(ScalingGroup, "wl-0-sg-x", 3).await;
    pods(world, 14, 0).await;
    world.open(2).await;
    placed(world, &[BASE_2]).await;
    world.open(7).await;
    placed(world, &[FULL_3]).await;
    world.ready(14).await;
}

/// A scaling group that was scaled out before anything is placed: the base still goes first.
pub async fn gs8_group_scaled_before_the_base_is_placed(world: &World) {
    world.create(&least()).await;
    pods(world, 10, 4).await;
    world.scale(ScalingGroup, "wl-0-sg-x", 3).await;
    pods(world, 14, 8).await;
    world.open(2).await;
    placed(world, &[NONE]).await;
    pods(world, 14, 8).await;
    world.open(1).await;
    placed(world, &[BASE]).await;
    pods(world, 14, 0).await;
    world.open(4).await;
    placed(world, &[BASE_2]).await;
    world.open(7).await;
    placed(world, &[FULL_3]).await;
    world.ready(14).await;
}

/// A second replica of the set is placed by its own minimum.
pub async fn gs9_set_scaling_min_replicas(world: &World) {
    world.open(10).await;
    world.create(&least()).await;
    world.ready(10).await;
    world.scale(PodCliqueSet, "wl", 2).await;
    pods(world, 20, 4).await;
    world.open(2).await;
    placed(world, &[FULL, NONE]).await;
    world.open(1).await;
    placed(world, &[FULL, BASE]).await;
    pods(world, 20, 0).await;
    world.open(7).await;
    placed(world, &[FULL, FULL]).await;
    world.ready(20).await;
    available(world, 2, true).await;
}

/// The set was scaled out before its first replica is placed.
pub async fn gs10_set_scaled_before_the_first_replica_is_placed(world: &World) {
    world.create(&least()).await;
    world.scale(PodCliqueSet, "wl", 2).await;
    pods(world, 20, 8).await;
    world.open(3).await;
    placed(world, &[BASE, NONE]).await;
    pods(world, 20, 4).await;
    // The scaled gang of the first replica needs two, the second replica three.
    world.open(5).await;
    placed(world, &[BASE_1, BASE]).await;
    pods(world, 20, 0).await;
    world.open(2).await;
    placed(world, &[BASE_1, BASE_1]).await;
    world.open(10).await;
    placed(world, &[FULL, FULL]).await;
    world.ready(20).await;
}

/// Set and scaling group scaled out, placed by their minima in steps.
pub async fn gs11_set_and_group_scaling_min_replicas(world: &World) {
    world.open(10).await;
    world.create(&least()).await;
    world.ready(10).await;
    world.scale(ScalingGroup, "wl-0-sg-x", 3).await;
    pods(world, 14, 0).await;
    world.open(2).await;
    placed(world, &[(2, &[(1, 3), (1, 3), (1, 1)])]).await;
    world.scale(PodCliqueSet, "wl", 2).await;
    pods(world, 24, 4).await;
    world.open(3).await;
    placed(world, &[(2, &[(1, 3), (1, 3), (1, 1)]), BASE]).await;
    pods(world, 24, 0).await;
    world.scale(ScalingGroup, "wl-1-sg-x", 3).await;
    pods(world, 28, 0).await;
    world.open(4).await;
    placed(world, &[(2, &[(1, 3), (1, 3), (1, 1)]), BASE_2]).await;
    world.open(9).await;
    placed(world, &[FULL_3, FULL_3]).await;
    world.ready(28).await;
}

/// Everything scaled out while nothing fits, then room in steps.
pub async fn gs12_complex_scaling(world: &World) {
    world.create(&least()).await;
    world.scale(PodCliqueSet, "wl", 2).await;
    pods(world, 20, 8).await;
    world.scale(ScalingGroup, "wl-0-sg-x", 3).await;
    world.scale(ScalingGroup, "wl-1-sg-x", 3).await;
    pods(world, 28, 16).await;
    world.open(6).await;
    placed(world, &[BASE, BASE]).await;
    pods(world, 28, 0).await;
    world.open(8).await;
    placed(world, &[BASE_2, BASE_2]).await;
    world.open(14).await;
    placed(world, &[FULL_3, FULL_3]).await;
    world.ready(28).await;
    available(world, 2, true).await;
}
