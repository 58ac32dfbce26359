//! Scaling by the scale subresource and by autoscalers, and by the template where there is none.

use serde_json::json;
use trellis_lifecycle::Kind::{Autoscaler, PodClique, PodCliqueSet, PodGang, ScalingGroup, Service};

use crate::view::{View, condition, text};
use crate::workloads::{clique, full, group, least, set, template_of};
use crate::world::World;

/// What the scale subresource says: wanted, there, and by which labels to find them.
async fn scale_of(world: &World, kind: trellis_lifecycle::Kind, name: &str) -> (i32, i32, String) {
    let scale = world.api(kind).get_scale(name).await.expect("a scale");
    let status = scale.status.unwrap_or_default();
    (scale.spec.and_then(|spec| spec.replicas).unwrap_or(0), status.replicas, status.selector.unwrap_or_default())
}

/// All three kinds are scaled and say how far they are; a selector finds just their pods.
pub async fn the_scale_subresource(world: &World) {
    world.open(10).await;
    world.create(&full()).await;
    world.ready(10).await;
    let targets = [(PodCliqueSet, "wl", 1, 10), (ScalingGroup, "wl-0-sg-x", 2, 8), (PodClique, "wl-0-pc-a", 2, 2)];
    for (kind, name, replicas, pods) in targets {
        let what = format!("{kind:?} {name} says how many there are");
        world.until(&what, |view| view.get(kind, name)["status"]["replicas"] == replicas).await;
        let (wanted, there, selector) = scale_of(world, kind, name).await;
        assert_eq!((wanted, there), (replicas, replicas), "{kind:?}");
        let params = kube::api::ListParams::default().labels(&selector);
        let found = world.api(trellis_lifecycle::Kind::Pod).list(&params).await.expect("pods");
        assert_eq!(found.items.len(), pods, "{kind:?}: {selector}");
    }
    // In, out, and to none.
    world.open(1).await;
    world.scale(PodClique, "wl-0-pc-a", 3).await;
    world.ready(11).await;
    world.scale(PodCliqueSet, "wl", 0).await;
    let children = [trellis_lifecycle::Kind::Pod, PodGang, Service, PodClique, ScalingGroup];
    let is_bare = |view: &View| children.iter().all(|kind| view.all(*kind).count() == 0);
    world.until("nothing but the set is left", is_bare).await;
    world.scale(PodCliqueSet, "wl", 1).await;
    world.ready(10).await;
}

/// Scale-in of a scaling group takes the highest replicas first, with their gangs; the others are not touched.
pub async fn scale_in_of_a_scaling_group(world: &World) {
    world.open(18).await;
    world.create(&least()).await;
    world.ready(10).await;
    world.scale(ScalingGroup, "wl-0-sg-x", 4).await;
    let view = world.ready(18).await;
    assert_eq!(view.names(PodGang), ["wl-0", "wl-0-sg-x-0", "wl-0-sg-x-1", "wl-0-sg-x-2"]);
    let kept = view.uids(|pod| !["wl-0-sg-x-1", "wl-0-sg-x-2"].contains(&pod.gang()));
    world.scale(ScalingGroup, "wl-0-sg-x", 2).await;
    let view = world.ready(10).await;
    assert_eq!(view.uids(|_| true), kept);
    world.until("the gangs are gone", |view| view.names(PodGang) == ["wl-0", "wl-0-sg-x-0"]).await;
}

/// Scale-in of the set leaves no object of the replicas that are gone.
pub async fn scale_in_of_the_set(world: &World) {
    world.open(30).await;
    world.create(&full().replicas(3)).await;
    let view = world.ready(30).await;
    let kept = view.uids(|pod| pod.replica() == "0");
    assert_eq!(view.names(Service), ["wl-0", "wl-1", "wl-2"]);
    world.scale(PodCliqueSet, "wl", 1).await;
    let view = world.ready(10).await;
    assert_eq!(view.uids(|_| true), kept);
    let is_clean = |view: &View| {
        view.names(PodGang) == ["wl-0"]
            && view.names(Service) == ["wl-0"]
            && view.names(ScalingGroup) == ["wl-0-sg-x"]
            && view.all(PodClique).all(|(name, _)| name.starts_with("wl-0-"))
    };
    world.until("nothing of the others is left", is_clean).await;
}

/// A changed template scales what has no autoscaler; what has one is its autoscaler's.
pub async fn the_template_scales_what_has_no_autoscaler(world: &World) {
    let workload = set("wl").clique(clique("free", 1, 1)).clique(clique("auto", 1, 1).autoscaled(1, 4));
    world.open(2).await;
    world.create(&workload).await;
    world.ready(2).await;
    let view = world.until("there is an autoscaler", |view| view.names(Autoscaler) == ["wl-0-auto"]).await;
    let autoscaler = view.get(Autoscaler, "wl-0-auto");
    let target = json!({ "apiVersion": "grove.io/v1alpha1", "kind": "PodClique", "name": "wl-0-auto" });
    assert_eq!(autoscaler["spec"]["scaleTargetRef"], target);
    assert_eq!((&autoscaler["spec"]["minReplicas"], &autoscaler["spec"]["maxReplicas"]), (&json!(1), &json!(4)));

    world.open(2).await;
    world.scale(PodClique, "wl-0-auto", 2).await;
    world.ready(3).await;
    world
        .edit(PodCliqueSet, "wl", |set| {
            template_of(set, "free")["spec"]["replicas"] = 2.into();
            template_of(set, "auto")["spec"]["replicas"] = 3.into();
            template_of(set, "auto")["spec"]["autoScalingConfig"]["maxReplicas"] = 5.into();
        })
        .await;
    let view = world.ready(4).await;
    assert_eq!((view.of_clique("wl-0-free").len(), view.of_clique("wl-0-auto").len()), (2, 2));
    world.until("the autoscaler follows", |view| view.get(Autoscaler, "wl-0-auto")["spec"]["maxReplicas"] == 5).await;
    // What a user scaled by hand stays until the template changes again.
    world.scale(PodClique, "wl-0-free", 1).await;
    world.ready(3).await;
    world.quiet().await;
    assert_eq!(world.observer.view().of_clique("wl-0-free").len(), 1);
}

/// Autoscalers of scaling groups, and their end with the configuration.
pub async fn an_autoscaler_of_a_scaling_group(world: &World) {
    let workload = set("wl").clique(clique("worker", 2, 2)).group(group("sg", 1, 1, &["worker"]).autoscaled(1, 3));
    world.open(2).await;
    world.create(&workload).await;
    world.ready(2).await;
    let view = world.until("there is an autoscaler", |view| view.names(Autoscaler) == ["wl-0-sg"]).await;
    let target = json!({ "apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueScalingGroup", "name": "wl-0-sg" });
    assert_eq!(view.get(Autoscaler, "wl-0-sg")["spec"]["scaleTargetRef"], target);
    // As the autoscaler would.
    world.open(2).await;
    world.scale(ScalingGroup, "wl-0-sg", 2).await;
    world.ready(4).await;
    world
        .edit(PodCliqueSet, "wl", |set| {
            let group = set["spec"]["template"]["podCliqueScalingGroups"][0].as_object_mut().expect("a group");
            group.remove("scaleConfig");
        })
        .await;
    world.until("the autoscaler is gone", |view| view.all(Autoscaler).count() == 0).await;
}

/// What the statuses say while a set comes up and when it is up.
pub async fn statuses(world: &World) {
    world.create(&least().replicas(2)).await;
    let waits = |view: &View| {
        let (set, clique, group) = (view.set("wl"), view.clique("wl-1-pc-a"), view.group("wl-1-sg-x"));
        set["status"]["replicas"] == 2
            && condition(set, "Ready").0 == "False"
            && condition(clique, "PodCliqueScheduled") == ("False", "InsufficientScheduledPods")
            && clique["status"]["replicas"] == 2
            && clique["status"]["scheduledReplicas"] == 0
            && view.clique("wl-0-sg-x-1-pc-c")["status"]["scheduleGatedReplicas"] == 3
            && group["status"]["replicas"] == 2
            && group["status"]["scheduledReplicas"] == 0
            && condition(view.gang("wl-0"), "Initialized") == ("True", "PodGangPodsCreated")
    };
    world.until("all say that they wait", waits).await;
    world.open(20).await;
    world.ready(20).await;
    let is_up = |view: &View| {
        let (set, clique, group) = (view.set("wl"), view.clique("wl-1-pc-a"), view.group("wl-1-sg-x"));
        let (of_set, of_clique, of_group) = (&set["status"], &clique["status"], &group["status"]);
        of_set["availableReplicas"] == 2
            && of_set["updatedReplicas"] == 2
            && of_set["currentGenerationHash"].is_string()
            && condition(set, "Ready").0 == "True"
            && condition(set, "TopologyLevelsUnavailable") == ("False", "AllClusterTopologyLevelsAvailable")
            && condition(clique, "PodCliqueScheduled") == ("True", "SufficientScheduledPods")
            && condition(clique, "MinAvailableBreached") == ("False", "SufficientReadyPods")
            && [&of_clique["readyReplicas"], &of_clique["updatedReplicas"], &of_clique["scheduledReplicas"]]
                == [&json!(2); 3]
            && [&of_group["availableReplicas"], &of_group["updatedReplicas"], &of_group["scheduledReplicas"]]
                == [&json!(2); 3]
            && condition(group, "MinAvailableBreached").0 == "False"
    };
    world.until("all say that they are up", is_up).await;
    let all_current = |view: &View| {
        [PodCliqueSet, ScalingGroup, PodClique, PodGang]
            .iter()
            .all(|kind| view.all(*kind).all(|(_, one)| is_current(one)))
    };
    world.until("every condition says why, and speaks of the present generation", all_current).await;
}

/// Whether the conditions that are the operator's have a reason and speak of the present generation.
fn is_current(object: &serde_json::Value) -> bool {
    let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let ours = conditions.iter().filter(|one| one["type"] != "Scheduled");
    let is_current = |one: &serde_json::Value| {
        one["observedGeneration"] == object["metadata"]["generation"] && !text(&one["reason"]).is_empty()
    };
    ours.into_iter().all(is_current)
}
