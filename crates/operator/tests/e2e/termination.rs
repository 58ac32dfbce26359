//! A gang that stays broken for too long gives up its place and is placed anew; one that never had a place is left alone.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::view::{View, condition, is_true, text};
use crate::workloads::{clique, full, group, least, set};
use crate::world::World;

/// Longer than any delay here, on the clock that costs nothing.
const LONG: Duration = Duration::from_mins(5);

fn names<'a>(view: &'a View, clique: &str) -> Vec<&'a str> {
    view.of_clique(clique).iter().map(|pod| pod.name()).collect()
}

/// Waits until none of these pods is left and there are as many as before.
async fn made_anew(world: &World, old: &BTreeSet<String>, pods: usize) -> View {
    let what = format!("{pods} pods, none of which is one of the {} old ones", old.len());
    world.until(&what, |view| view.pods().count() == pods && view.pods().all(|pod| !old.contains(pod.uid()))).await
}

/// A gang is as good as new: no longer marked as going down, and placed again.
async fn settled_again(world: &World, pods: usize, gangs: &[&str]) {
    world.ready(pods).await;
    let are_whole = |view: &View| {
        gangs.iter().all(|gang| {
            let gang = view.gang(gang);
            condition(gang, "DisruptionTarget").0 != "True" && is_true(gang, "Ready") && is_true(gang, "Initialized")
        })
    };
    world.until("the gangs are whole again", are_whole).await;
}

/// The whole replica of the set goes when these pods are lost for good, and comes back when there is room.
async fn whole_replica_goes(world: &World, lost: &[&str]) {
    let before = world.observer.view();
    let old = before.uids(|pod| !lost.contains(&pod.name()));
    let uid = text(&before.gang("wl-0")["metadata"]["uid"]).to_owned();
    let pods = before.pods().count();
    world.lose(lost).await;
    let view = made_anew(world, &old, pods).await;
    assert_eq!(text(&view.gang("wl-0")["metadata"]["uid"]), uid, "the PodGang stays");
    world.placed(&[]).await;
    world.open(lost.len()).await;
    settled_again(world, pods, &["wl-0"]).await;
}

/// A pod of a clique that needs all of its pods is lost for good.
pub async fn gt1_full_replicas_of_a_standalone_clique(world: &World) {
    world.open(10).await;
    world.create(&full().delay(world.delay())).await;
    let view = world.ready(10).await;
    whole_replica_goes(world, &names(&view, "wl-0-pc-a")[..1]).await;
}

/// The same in a scaling group that needs all of its replicas.
pub async fn gt2_full_replicas_of_a_scaling_group(world: &World) {
    world.open(10).await;
    world.create(&full().delay(world.delay())).await;
    let view = world.ready(10).await;
    whole_replica_goes(world, &names(&view, "wl-0-sg-x-1-pc-c")[..1]).await;
}

/// One of two may be lost, both may not.
pub async fn gt3_min_replicas_of_a_standalone_clique(world: &World) {
    world.open(10).await;
    world.create(&least().delay(world.delay())).await;
    let view = world.ready(10).await;
    let pods = names(&view, "wl-0-pc-a");
    let others = view.uids(|pod| pod.name() != pods[0]);
    world.lose(&pods[..1]).await;
    world.until("a successor waits", |view| view.live().filter(|pod| pod.node().is_none()).count() == 1).await;
    world.pass(LONG).await;
    let view = world.observer.view();
    assert!(view.untouched(&others), "{}", view.dump());
    assert_eq!(condition(view.clique("wl-0-pc-a"), "MinAvailableBreached").0, "False");

    let old = view.uids(|pod| pod.node().is_some() && pod.name() != pods[1]);
    world.lose(&pods[1..]).await;
    made_anew(world, &old, 10).await;
    world.open(2).await;
    settled_again(world, 10, &["wl-0", "wl-0-sg-x-0"]).await;
}

/// A replica of a scaling group goes alone while the others are enough; when they are not, everything goes.
pub async fn gt4_min_replicas_of_a_scaling_group(world: &World) {
    world.open(10).await;
    world.create(&least().delay(world.delay())).await;
    let view = world.ready(10).await;
    // One of three pods of a clique that needs one.
    let lost = names(&view, "wl-0-sg-x-1-pc-c")[0];
    let others = view.uids(|pod| pod.name() != lost);
    world.lose(&[lost]).await;
    world.until("a successor waits", |view| view.live().filter(|pod| pod.node().is_none()).count() == 1).await;
    world.pass(LONG).await;
    let view = world.observer.view();
    assert!(view.untouched(&others), "{}", view.dump());

    // The only pod of a clique: that replica is broken, and goes.
    let replica = |pod: &crate::view::Pod<'_>| pod.gang() == "wl-0-sg-x-0";
    let rest = view.uids(|pod| !replica(pod));
    let lost = names(&view, "wl-0-sg-x-1-pc-b")[0];
    let old = view.uids(|pod| replica(pod) && pod.node().is_some());
    world.lose(&[lost]).await;
    let view = made_anew(world, &old, 10).await;
    assert!(view.untouched(&rest), "{}", view.dump());

    // Two of four have room now, the minimum of the scaled gang. The base loses the only pod of a clique.
    world
        .until("it has a place again", |view| view.live().filter(|pod| replica(pod) && pod.is_ready()).count() == 2)
        .await;
    let view = world.observer.view();
    let lost = [names(&view, "wl-0-sg-x-1-pc-b")[0], names(&view, "wl-0-sg-x-0-pc-b")[0]];
    let old = view.uids(|pod| pod.node().is_some() && !lost.contains(&pod.name()));
    world.lose(&lost).await;
    made_anew(world, &old, 10).await;
    world.open(4).await;
    settled_again(world, 10, &["wl-0", "wl-0-sg-x-0"]).await;
}

/// Only the broken replica of a scaling group is made anew, be it a gang of its own or a part of the base.
pub async fn gt5_one_replica_of_a_scaling_group(world: &World) {
    let workload = set("wl")
        .clique(clique("pc-a", 2, 1))
        .clique(clique("pc-b", 1, 1))
        .clique(clique("pc-c", 3, 3))
        .group(group("sg-x", 2, 1, &["pc-b", "pc-c"]));
    world.open(10).await;
    world.create(&workload.delay(world.delay())).await;
    world.ready(10).await;
    for replica in [1, 0] {
        let prefix = format!("wl-0-sg-x-{replica}-");
        let view = world.observer.view();
        let lost = names(&view, &format!("{prefix}pc-c"))[0];
        let rest = view.uids(|pod| !pod.clique().starts_with(&prefix));
        let old = view.uids(|pod| pod.clique().starts_with(&prefix) && pod.name() != lost);
        world.lose(&[lost]).await;
        let view = made_anew(world, &old, 10).await;
        assert!(view.untouched(&rest), "replica {replica}\n{}", view.dump());
        world.open(1).await;
        settled_again(world, 10, &["wl-0", "wl-0-sg-x-0"]).await;
        assert!(world.observer.view().untouched(&rest), "replica {replica}");
    }
}

/// A pod that its gang can spare is just made anew.
pub async fn gt6_pod_of_a_scaled_gang(world: &World) {
    world.open(10).await;
    world.create(&least().delay(world.delay())).await;
    let view = world.ready(10).await;
    let lost = names(&view, "wl-0-sg-x-1-pc-c")[0];
    let (others, gone) = (view.uids(|pod| pod.name() != lost), view.uids(|pod| pod.name() == lost));
    world.delete(trellis_lifecycle::Kind::Pod, lost).await;
    // Its successor may have its name.
    world.until("it is gone", |view| view.live().all(|pod| !gone.contains(pod.uid()))).await;
    world.ready(10).await;
    world.pass(LONG).await;
    assert!(world.observer.view().untouched(&others));
}

/// A gang that never had a place waits for one for ever.
pub async fn a_gang_that_was_never_placed_is_never_taken_down(world: &World) {
    world.open(9).await;
    world.create(&full().delay(world.delay())).await;
    let view = world.until("ten pods wait", |view| view.live().filter(|pod| !pod.is_gated()).count() == 10).await;
    let pods = view.uids(|_| true);
    world.pass(LONG).await;
    world.quiet().await;
    assert!(world.observer.view().untouched(&pods));
    world.open(1).await;
    world.ready(10).await;
    assert!(world.observer.view().untouched(&pods));
}

/// A pod on a node that cannot do its work counts as lost.
pub async fn a_gang_whose_pods_fail_is_taken_down(world: &World) {
    world.open(10).await;
    world.create(&full().delay(world.delay())).await;
    let view = world.ready(10).await;
    let failing = names(&view, "wl-0-pc-a")[0].to_owned();
    let old = view.uids(|_| true);
    world
        .edit(trellis_lifecycle::Kind::Pod, &failing, |pod| {
            pod["metadata"]["annotations"]["trellis.dev/simulate-ready"] = "false".into();
        })
        .await;
    world.until("the clique is broken", |view| is_true(view.clique("wl-0-pc-a"), "MinAvailableBreached")).await;
    made_anew(world, &old, 10).await;
    settled_again(world, 10, &["wl-0"]).await;
}
