//! How things end: members that are done, sets that are deleted, children that somebody else deletes, and rest.

use std::time::Duration;

use kube::api::{DeleteParams, PropagationPolicy};
use serde_json::json;
use trellis_cluster::nodes::Outcome;
use trellis_lifecycle::Kind::{self, Pod as PodKind, PodClique, PodCliqueSet, PodGang, ScalingGroup, Service};

use crate::view::{View, is_true};
use crate::workloads::{clique, full, least, set};
use crate::world::{World, left};

/// A pod whose work is done stays done, counts towards the minimum, and is not made anew; a gang of such pods has succeeded.
pub async fn members_that_finish(world: &World) {
    let job = clique("job", 2, 2).pod(&json!({ "restartPolicy": "Never" }));
    world.open(2).await;
    world.create(&set("wl").clique(job).delay(world.delay())).await;
    let view = world.ready(2).await;
    let pods: Vec<String> = view.live().map(|pod| pod.name().to_owned()).collect();
    let uids = view.uids(|_| true);

    finish(world, &pods[0], Outcome::Success).await;
    world.until("one has succeeded", |view| view.live().filter(|pod| pod.phase() == "Succeeded").count() == 1).await;
    world.pass(Duration::from_mins(5)).await;
    world.quiet().await;
    let view = world.observer.view();
    assert_eq!(view.uids(|_| true), uids, "{}", view.dump());
    assert!(is_true(view.gang("wl-0"), "Ready") && is_true(view.set("wl"), "Ready"), "{}", view.dump());

    finish(world, &pods[1], Outcome::Success).await;
    world.until("the gang has succeeded", |view| view.gang("wl-0")["status"]["phase"] == "Succeeded").await;
    world.pass(Duration::from_mins(5)).await;
    world.quiet().await;
    assert_eq!(world.observer.view().uids(|_| true), uids);
}

/// A pod that failed is made anew.
pub async fn members_that_fail(world: &World) {
    let job = clique("job", 2, 1).pod(&json!({ "restartPolicy": "Never" }));
    world.open(2).await;
    world.create(&set("wl").clique(job)).await;
    let view = world.ready(2).await;
    let pod = view.live().next().expect("a pod");
    let (failed, uid) = (pod.name().to_owned(), pod.uid().to_owned());
    let others = view.uids(|pod| pod.name() != failed);
    finish(world, &failed, Outcome::of_code(1)).await;
    // Its successor may have its name.
    world.until("it is gone", |view| view.pods().all(|pod| pod.uid() != uid)).await;
    let view = world.ready(2).await;
    assert!(view.untouched(&others));
}

async fn finish(world: &World, pod: &str, outcome: Outcome) {
    world.cluster.nodes.finish(&world.namespace, pod, None, outcome).await.expect("it runs");
}

/// Nothing is left of a set that is deleted, however it is deleted. The set of a name that comes after it is another one.
pub async fn cascade(world: &World) {
    for policy in [PropagationPolicy::Background, PropagationPolicy::Foreground] {
        world.open(if policy == PropagationPolicy::Background { 20 } else { 0 }).await;
        let ordered = full().replicas(2).startup("InOrder");
        world.create(&ordered).await;
        world.ready(20).await;
        let params = DeleteParams { propagation_policy: Some(policy.clone()), ..DeleteParams::default() };
        world.api(PodCliqueSet).delete("wl", &params).await.expect("deleted");
        world.until("nothing is left", |view| left(view).is_empty()).await;
    }
    world.create(&least()).await;
    world.ready(10).await;
}

/// Who deletes a set and wants its children to stay has them stay; a set of that name that comes later takes them over.
pub async fn orphans_stay_and_are_adopted(world: &World) {
    world.open(10).await;
    world.create(&full()).await;
    let pods = world.ready(10).await.uids(|_| true);
    world.quiet().await;
    let params = DeleteParams { propagation_policy: Some(PropagationPolicy::Orphan), ..DeleteParams::default() };
    world.api(PodCliqueSet).delete("wl", &params).await.expect("deleted");
    world.until("the set is gone", |view| view.set("wl").is_null()).await;
    world.quiet().await;
    assert!(world.observer.view().untouched(&pods));
    let uid = world.create(&full()).await["metadata"]["uid"].clone();
    let owned = |object: &serde_json::Value| object["metadata"]["ownerReferences"][0]["uid"] == uid;
    let adopted = |view: &View| {
        owned(view.gang("wl-0"))
            && owned(view.clique("wl-0-pc-a"))
            && owned(view.group("wl-0-sg-x"))
            && owned(view.get(Service, "wl-0"))
    };
    world.until("the new set has taken them over", adopted).await;
    world.until("it is ready", |view| is_true(view.set("wl"), "Ready")).await;
    world.quiet().await;
    assert!(world.observer.view().untouched(&pods));
}

/// Children that somebody deletes come back.
pub async fn children_come_back(world: &World) {
    world.open(10).await;
    world.create(&least()).await;
    world.ready(10).await;
    let gone = |view: &View, kind: Kind, name: &str| view.get(kind, name)["metadata"]["uid"].clone();
    for (kind, name, touches) in [
        (Service, "wl-0", false),
        (PodGang, "wl-0-sg-x-0", false),
        (PodClique, "wl-0-pc-a", true),
        (ScalingGroup, "wl-0-sg-x", true),
    ] {
        let view = world.observer.view();
        let (uid, pods) = (gone(&view, kind, name), view.uids(|_| true));
        world.delete(kind, name).await;
        let is_back = |view: &View| {
            let found = view.get(kind, name);
            found.is_object() && found["metadata"]["uid"] != uid
        };
        world.until(&format!("{kind:?} {name} is made anew"), is_back).await;
        if !touches {
            world.quiet().await;
            assert!(world.observer.view().untouched(&pods), "{kind:?} {name}");
        }
        world
            .until("all is well", |view| {
                view.pods().count() == 10 && view.pods().all(|pod| pod.is_ready()) && is_true(view.set("wl"), "Ready")
            })
            .await;
        world.quiet().await;
    }
    let view = world.observer.view();
    let pod = view.live().next().expect("a pod");
    let uid = pod.uid().to_owned();
    world.delete(PodKind, pod.name()).await;
    world.until("it is gone", |view| view.pods().all(|one| one.uid() != uid)).await;
    world.ready(10).await;
}

/// When all is done nothing is written: not by itself, not when it looks again, not when it is started anew.
pub async fn nothing_is_written_at_rest(world: &World) {
    world.open(20).await;
    world.create(&least().replicas(2).startup("InOrder").pack("zone")).await;
    world.ready(20).await;
    world.until("the set is ready", |view| is_true(view.set("wl"), "Ready")).await;
    world.quiet().await;
    let before = world.observer.view().versions();
    let writes = world.cluster.faults.seen().1;
    world.pass(Duration::from_hours(1)).await;
    world
        .edit(PodCliqueSet, "wl", |set| {
            set["metadata"]["annotations"]["grove.io/reconcile-trigger"] = "again".into();
        })
        .await;
    world.quiet().await;
    let mut after = world.observer.view().versions();
    let mut expected = before;
    let set = (PodCliqueSet, "wl".to_owned());
    assert_ne!(after.remove(&set), expected.remove(&set), "that was us");
    assert_eq!(after, expected);
    assert_eq!(world.cluster.faults.seen().1, writes, "the operator wrote something");
}
