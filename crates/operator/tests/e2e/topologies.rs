//! Topologies and the sets that speak of them: their life step by step, what is refused, and what follows when they change.

use serde_json::{Value, json};
use trellis_api::names::{DEFAULT_TOPOLOGY, annotation};
use trellis_lifecycle::Kind::{ClusterTopology, KaiPodGroup, KaiTopology, PodCliqueSet};

use crate::running::configuration;
use crate::server::{define_kai, merged, undefine_kai};
use crate::tree;
use crate::view::{View, condition, is_true, text};
use crate::workloads::{Set, clique, group, set, template_of};
use crate::world::World;

/// A topology of one's own, with a name that no other scenario has.
async fn topology(world: &World, name: &str, levels: &[(&str, &str)]) -> String {
    let name = format!("{}-{name}", world.namespace);
    world.make(ClusterTopology, &object(&name, levels)).await.expect("the topology is admitted");
    name
}

fn object(name: &str, levels: &[(&str, &str)]) -> Value {
    let levels: Vec<Value> = levels.iter().map(|(domain, key)| json!({ "domain": domain, "key": key })).collect();
    json!({
        "apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopology",
        "metadata": { "name": name }, "spec": { "levels": levels },
    })
}

const LEVELS: [(&str, &str); 3] =
    [("block", "example.com/block"), ("rack", "example.com/rack"), ("host", "kubernetes.io/hostname")];

/// Gives the level in the middle another key.
fn rack_key(key: &'static str) -> impl Fn(&mut Value) {
    move |topology| topology["spec"]["levels"][1]["key"] = key.into()
}

fn workers() -> Set {
    set("wl").clique(clique("worker", 2, 2)).pack("rack")
}

/// What a refusal says.
fn refusal<T: std::fmt::Debug>(result: kube::Result<T>) -> String {
    match result {
        Err(kube::Error::Api(status)) => status.message.clone(),
        other => panic!("it should be refused: {other:?}"),
    }
}

/// Waits until the levels of the set's constraints are said to be so.
async fn levels_are(world: &World, status: &str, reason: &str) -> View {
    let what = format!("TopologyLevelsUnavailable is {status} {reason}");
    world.until(&what, |view| condition(view.set("wl"), "TopologyLevelsUnavailable") == (status, reason)).await
}

/// The life of a topology that an administrator made, step by step.
pub async fn the_life_of_a_topology(world: &World) {
    // The operator made its own when it started.
    let is_there = |view: &View| view.get(ClusterTopology, DEFAULT_TOPOLOGY).is_object();
    let view = world.until("the default topology is there", is_there).await;
    let ours = view.get(ClusterTopology, DEFAULT_TOPOLOGY);
    assert_eq!(ours["metadata"]["labels"]["app.kubernetes.io/managed-by"], "grove-operator");

    // An administrator makes another, with its levels in any order; it gets its finalizer.
    let [block, rack, host] = LEVELS;
    let name = topology(world, "t", &[host, rack, block]).await;
    let held = json!(["grove.io/clustertopology"]);
    let view = world
        .until("it is held by a finalizer", |view| view.get(ClusterTopology, &name)["metadata"]["finalizers"] == held)
        .await;
    assert_eq!(view.get(ClusterTopology, &name)["spec"], object("", &LEVELS)["spec"], "widest first");

    // While no pod of the sets that use it has a node, its levels may change, and the gangs follow.
    world.create(&workers().topology(&name)).await;
    world.until("two pods wait", |view| view.live().filter(|pod| !pod.is_gated()).count() == 2).await;
    world.edit(ClusterTopology, &name, rack_key("example.com/shelf")).await;
    let follows = |view: &View| tree::of_gang(view.gang("wl-0")) == "wl-0 shelf~hostname\n  wl-0-worker 2 ~hostname";
    world.until("the gang follows", follows).await;

    // Once one has, they may not, and the refusal says who stands in the way. Labels may.
    world.open(2).await;
    world.ready(2).await;
    let said = refusal(world.try_edit(ClusterTopology, &name, rack_key("example.com/drawer")).await);
    assert!(said.contains(&format!("{}/wl", world.namespace)) && said.contains("spec.levels"), "{said}");
    world.edit(ClusterTopology, &name, |topology| topology["metadata"]["labels"]["team"] = "a".into()).await;

    // Its deletion waits for the set, and says so; no other set may begin to use it.
    world.delete(ClusterTopology, &name).await;
    let blocked = |view: &View| is_true(view.get(ClusterTopology, &name), "DeletionBlocked");
    let view = world.until("its deletion is blocked", blocked).await;
    let conditions = view.get(ClusterTopology, &name)["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let why = conditions.iter().find(|one| one["type"] == "DeletionBlocked").map(|one| text(&one["message"]));
    assert!(why.is_some_and(|why| why.contains(&format!("{}/wl", world.namespace))), "{why:?}");
    let other = set("other").clique(clique("worker", 1, 1)).pack("rack").topology(&name);
    let said = refusal(world.try_create(&other).await);
    assert!(said.contains("being deleted"), "{said}");

    // When the set goes, so does the topology, and KAI's with it.
    world.delete(PodCliqueSet, "wl").await;
    let gone = |view: &View| view.get(ClusterTopology, &name).is_null() && view.get(KaiTopology, &name).is_null();
    world.until("the topology is gone", gone).await;
}

/// A topology that two sets use goes when the last of them goes; one that nobody uses goes at once.
pub async fn deletion_waits_for_the_last(world: &World) {
    let unused = topology(world, "unused", &LEVELS).await;
    let used = topology(world, "used", &LEVELS).await;
    for name in ["a", "b"] {
        world.create(&set(name).clique(clique("worker", 1, 1)).pack("rack").topology(&used)).await;
    }
    world.until("both sets have a gang", |view| view.gang("a-0").is_object() && view.gang("b-0").is_object()).await;
    for name in [&unused, &used] {
        world.delete(ClusterTopology, name).await;
    }
    world.until("the unused one is gone", |view| view.get(ClusterTopology, &unused).is_null()).await;
    world.delete(PodCliqueSet, "a").await;
    world.until("one set is gone", |view| view.set("a").is_null() && view.gang("a-0").is_null()).await;
    world.quiet().await;
    assert!(world.observer.view().get(ClusterTopology, &used).is_object());
    // A set that stops to use it sets it free as one that goes does.
    world
        .edit(PodCliqueSet, "b", |set| {
            set["spec"]["template"].as_object_mut().expect("a template").remove("clusterTopologyName");
        })
        .await;
    world.until("the used one is gone", |view| view.get(ClusterTopology, &used).is_null()).await;
}

/// The topology's name: free while pods wait, fixed once one has a node.
pub async fn retry_and_lock_of_the_name(world: &World) {
    let first = topology(world, "a", &[("rack", "example.com/a-rack")]).await;
    let second = topology(world, "b", &[("rack", "example.com/b-rack"), ("host", "kubernetes.io/hostname")]).await;
    let narrow = topology(world, "c", &[("host", "kubernetes.io/hostname")]).await;
    world.create(&workers().topology(&first)).await;
    let view = world.until("two pods wait", |view| view.live().filter(|pod| !pod.is_gated()).count() == 2).await;
    assert_eq!(view.gang("wl-0")["metadata"]["annotations"][annotation::TOPOLOGY_NAME], json!(first));
    assert_eq!(view.set("wl")["metadata"]["labels"]["grove.io/topology-name"], json!(first));
    let pods = view.uids(|_| true);
    let naming = |name: &String| {
        let name = name.clone();
        move |set: &mut Value| set["spec"]["template"]["clusterTopologyName"] = json!(name)
    };
    // One that lacks a domain, and one that is not there.
    let said = refusal(world.try_edit(PodCliqueSet, "wl", naming(&narrow)).await);
    assert!(said.contains("rack"), "{said}");
    let said = refusal(world.try_edit(PodCliqueSet, "wl", naming(&"no-such".to_owned())).await);
    assert!(said.contains("no-such"), "{said}");
    // Another one, while nothing has a node: the gang is rewritten, and our own scheduler's pods need not be made anew.
    world.edit(PodCliqueSet, "wl", naming(&second)).await;
    let follows = |view: &View| {
        tree::of_gang(view.gang("wl-0")) == "wl-0 b-rack~hostname\n  wl-0-worker 2 ~hostname"
            && view.gang("wl-0")["metadata"]["annotations"][annotation::TOPOLOGY_NAME] == json!(second)
            && view.set("wl")["metadata"]["labels"]["grove.io/topology-name"] == json!(second)
    };
    let view = world.until("the gang speaks of the other topology", follows).await;
    assert!(view.untouched(&pods));
    // The first is free to go.
    world.delete(ClusterTopology, &first).await;
    world.until("the first is gone", |view| view.get(ClusterTopology, &first).is_null()).await;

    world.open(2).await;
    world.ready(2).await;
    let third = topology(world, "d", &[("rack", "example.com/d-rack")]).await;
    let said = refusal(world.try_edit(PodCliqueSet, "wl", naming(&third)).await);
    assert!(said.contains("clusterTopologyName"), "{said}");
    // What is not the name may change.
    world.edit(PodCliqueSet, "wl", |set| set["metadata"]["labels"]["team"] = "a".into()).await;
    world.delete(PodCliqueSet, "wl").await;
    for name in [&second, &third, &narrow] {
        world.delete(ClusterTopology, name).await;
    }
    let gone = |view: &View| [&second, &third, &narrow].iter().all(|name| view.get(ClusterTopology, name).is_null());
    world.until("all are gone", gone).await;
}

/// What is refused, and what the refusal says.
pub async fn tas21_refusals(world: &World) {
    let known = topology(world, "t", &LEVELS).await;
    let bare = || set("wl").clique(clique("worker", 2, 2));
    let cases: Vec<(&str, Set, &[&str])> = vec![
        (
            "a level that the default topology lacks",
            bare().pack("region"),
            &["spec.template.topologyConstraint", "region"],
        ),
        ("a level that the named topology lacks", bare().pack("zone").topology(&known), &["zone"]),
        ("a topology that is not there", bare().pack("rack").topology("no-such"), &["clusterTopologyName", "no-such"]),
        ("a topology and no constraint", bare().topology(&known), &["clusterTopologyName"]),
        (
            "a clique wider than its set",
            set("wl").clique(clique("worker", 2, 2).pack("zone")).pack("rack"),
            &["spec.template.topologyConstraint", "worker", "narrower"],
        ),
        (
            "a scaling group wider than its set",
            bare().group(group("sg", 1, 1, &["worker"]).pack("zone")).pack("rack"),
            &["spec.template.topologyConstraint", "sg", "narrower"],
        ),
        (
            "a clique wider than its scaling group",
            set("wl").clique(clique("worker", 2, 2).pack("zone")).group(group("sg", 1, 1, &["worker"]).pack("rack")),
            &["worker", "sg", "narrower"],
        ),
        (
            "a scheduler that cannot enforce it",
            set("wl").clique(clique("worker", 2, 2).pod(&json!({ "schedulerName": "default-scheduler" }))).pack("rack"),
            &["default-scheduler"],
        ),
    ];
    for (what, wrong, words) in cases {
        let said = refusal(world.try_create(&wrong).await);
        assert!(words.iter().all(|word| said.contains(word)), "{what}: {said}");
    }
    // Topologies: the operator's own, one domain or one key twice.
    let wrong: [(Value, &str); 3] = [
        (object(DEFAULT_TOPOLOGY, &LEVELS), DEFAULT_TOPOLOGY),
        (object("x", &[("rack", "a"), ("rack", "b")]), "domain must be unique"),
        (object("x", &[("rack", "a"), ("host", "a")]), "key must be unique"),
    ];
    for (wrong, word) in wrong {
        let said = refusal(world.make(ClusterTopology, &wrong).await);
        assert!(said.contains(word), "{said}");
    }
    // Constraints are for life.
    world.create(&workers()).await;
    let changes: [fn(&mut Value); 3] = [
        |set| set["spec"]["template"]["topologyConstraint"]["packDomain"] = "block".into(),
        |set| drop(set["spec"]["template"].as_object_mut().expect("a template").remove("topologyConstraint")),
        |set| template_of(set, "worker")["topologyConstraint"] = json!({ "packDomain": "host" }),
    ];
    for change in changes {
        let said = refusal(world.try_edit(PodCliqueSet, "wl", change).await);
        assert!(said.contains("topologyConstraint"), "{said}");
    }
    world.delete(ClusterTopology, &known).await;
}

/// What the kinds themselves refuse, whoever judges.
pub async fn tas22_shapes(world: &World) {
    let bare = |constraint: Value| {
        let mut value = set("wl").clique(clique("worker", 2, 2)).value().clone();
        value["spec"]["template"]["topologyConstraint"] = constraint;
        value
    };
    for constraint in [
        json!({}),
        json!({ "packDomain": "shelf" }),
        json!({ "packDomain": "rack", "pack": { "required": "rack" } }),
        json!({ "pack": {} }),
        json!({ "packDomain": "rack", "other": 1 }),
    ] {
        let made = world.make(PodCliqueSet, &bare(constraint.clone())).await;
        assert!(made.is_err(), "{constraint} is taken");
    }
    // Both spellings are the same.
    world.make(PodCliqueSet, &bare(json!({ "pack": { "required": "rack" } }))).await.expect("this one is right");
    let drawing = "wl-0 rack~hostname\n  wl-0-worker 2 ~hostname";
    world.until("its gang is as with the other spelling", |view| tree::of_gang(view.gang("wl-0")) == drawing).await;
}

/// The usual configuration with other levels.
fn levels(levels: &[(&str, &str)]) -> Value {
    let levels: Vec<Value> = levels.iter().map(|(domain, key)| json!({ "domain": domain, "key": key })).collect();
    merged(configuration(), &json!({ "topologyAwareScheduling": { "levels": levels } }))
}

/// A level goes from the configuration, changes its key, and comes back: sets are told, gangs follow, pods are left alone.
pub async fn tas20_drift_by_configuration(world: &World) {
    world.open(3).await;
    let workload = set("wl").clique(clique("worker", 2, 2).pack("host")).clique(clique("router", 1, 1)).pack("rack");
    world.create(&workload.kai()).await;
    let pods = world.ready(3).await.uids(|_| true);
    levels_are(world, "False", "AllClusterTopologyLevelsAvailable").await;
    let drawn = |view: &View, drawing: &str| {
        tree::of_gang(view.gang("wl-0")) == drawing && tree::of_kai(view.get(KaiPodGroup, "wl-0")) == drawing
    };
    let leaves = "  wl-0-router 1 ~hostname\n  wl-0-worker 2 hostname";

    let (zone, host) = (("zone", "kubernetes.io/zone"), ("host", "kubernetes.io/hostname"));
    world.restart(&levels(&[zone, host])).await;
    let view = levels_are(world, "True", "ClusterTopologyLevelsUnavailable").await;
    let conditions = view.set("wl")["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let told = conditions.iter().any(|one| text(&one["message"]).contains("rack"));
    assert!(told, "{conditions:?}");
    world.until("what is gone is left out", |view| drawn(view, &format!("wl-0 ~hostname\n{leaves}"))).await;
    assert!(world.observer.view().untouched(&pods));
    // New ones may not ask for it.
    let said = refusal(world.try_create(&set("other").clique(clique("worker", 1, 1)).pack("rack")).await);
    assert!(said.contains("rack"), "{said}");
    // What the running set was given before is not held against its other changes.
    world.edit(PodCliqueSet, "wl", |set| set["spec"]["template"]["terminationDelay"] = "3h".into()).await;

    world.restart(&levels(&[zone, ("rack", "example.com/shelf"), host])).await;
    levels_are(world, "False", "AllClusterTopologyLevelsAvailable").await;
    world.until("it is back, under another key", |view| drawn(view, &format!("wl-0 shelf~hostname\n{leaves}"))).await;
    world.quiet().await;
    assert!(world.observer.view().untouched(&pods));
}

/// Topology-aware scheduling switched off and on again over a set that runs.
pub async fn topology_off_and_on(world: &World) {
    let own = topology(world, "own", &LEVELS).await;
    world.open(4).await;
    world.create(&workers()).await;
    world.create(&set("named").clique(clique("worker", 2, 2)).pack("rack").topology(&own).kai()).await;
    let pods = world.ready(4).await.uids(|_| true);
    levels_are(world, "False", "AllClusterTopologyLevelsAvailable").await;

    let off = merged(configuration(), &json!({ "topologyAwareScheduling": { "enabled": false } }));
    world.restart(&off).await;
    levels_are(world, "Unknown", "TopologyAwareSchedulingDisabled").await;
    let is_bare = |view: &View| {
        ["wl-0", "named-0"].iter().all(|name| {
            let gang = view.gang(name);
            gang["spec"]["topologyConstraint"].is_null()
                && gang["metadata"]["annotations"][annotation::TOPOLOGY_NAME].is_null()
        }) && view.get(KaiPodGroup, "named-0")["spec"]["topologyConstraint"].is_null()
            && view.get(ClusterTopology, DEFAULT_TOPOLOGY).is_null()
            && view.get(KaiTopology, DEFAULT_TOPOLOGY).is_null()
    };
    let view = world.until("no gang has a constraint, and the default topology is gone", is_bare).await;
    assert!(view.untouched(&pods) && view.get(ClusterTopology, &own).is_object());
    let said = refusal(world.try_create(&set("other").clique(clique("worker", 1, 1)).pack("rack")).await);
    assert!(said.contains("topology support is not enabled in the operator"), "{said}");

    world.restart(&configuration()).await;
    levels_are(world, "False", "AllClusterTopologyLevelsAvailable").await;
    let is_back = |view: &View| {
        tree::of_gang(view.gang("wl-0")) == "wl-0 rack~hostname\n  wl-0-worker 2 ~hostname"
            && tree::of_kai(view.get(KaiPodGroup, "named-0")) == "named-0 rack~hostname\n  named-0-worker 2 ~hostname"
            && view.get(KaiTopology, DEFAULT_TOPOLOGY).is_object()
    };
    world.until("the constraints are back", is_back).await;
    world.quiet().await;
    assert!(world.observer.view().untouched(&pods));
    for name in ["wl", "named"] {
        world.delete(PodCliqueSet, name).await;
    }
    world.delete(ClusterTopology, &own).await;
    world.until("the topology is gone", |view| view.get(ClusterTopology, &own).is_null()).await;
}

/// A topology that is torn away from under a set, finalizer and all, and comes back.
pub async fn a_topology_that_is_torn_away(world: &World) {
    let name = topology(world, "t", &LEVELS).await;
    world.open(2).await;
    world.create(&workers().topology(&name)).await;
    let pods = world.ready(2).await.uids(|_| true);
    world.delete(ClusterTopology, &name).await;
    world.until("its deletion is blocked", |view| is_true(view.get(ClusterTopology, &name), "DeletionBlocked")).await;
    world.edit(ClusterTopology, &name, |topology| topology["metadata"]["finalizers"] = json!([])).await;
    levels_are(world, "Unknown", "ClusterTopologyNotFound").await;
    world.until("the gang has no constraint", |view| tree::of_gang(view.gang("wl-0")) == "wl-0\n  wl-0-worker 2").await;
    world.make(ClusterTopology, &object(&name, &LEVELS)).await.expect("it may come back");
    levels_are(world, "False", "AllClusterTopologyLevelsAvailable").await;
    let drawing = "wl-0 rack~hostname\n  wl-0-worker 2 ~hostname";
    world.until("the constraint is back", |view| tree::of_gang(view.gang("wl-0")) == drawing).await;
    assert!(world.observer.view().untouched(&pods));
    world.delete(PodCliqueSet, "wl").await;
    world.delete(ClusterTopology, &name).await;
    world.until("the topology is gone", |view| view.get(ClusterTopology, &name).is_null()).await;
}

/// The default topology is the operator's: whoever deletes it has to wait, and the next start makes it anew.
pub async fn the_default_topology_stays(world: &World) {
    let change = |topology: &mut Value| topology["spec"]["levels"][0]["key"] = "example.com/other".into();
    let said = refusal(world.try_edit(ClusterTopology, DEFAULT_TOPOLOGY, change).await);
    assert!(said.contains(DEFAULT_TOPOLOGY), "{said}");
    let uid = world.observer.view().get(ClusterTopology, DEFAULT_TOPOLOGY)["metadata"]["uid"].clone();
    world.delete(ClusterTopology, DEFAULT_TOPOLOGY).await;
    let blocked = |view: &View| is_true(view.get(ClusterTopology, DEFAULT_TOPOLOGY), "DeletionBlocked");
    world.until("its deletion is blocked", blocked).await;
    world.restart(&configuration()).await;
    let is_new = |view: &View| {
        let found = view.get(ClusterTopology, DEFAULT_TOPOLOGY);
        found["metadata"]["uid"] != uid && found["metadata"]["deletionTimestamp"].is_null() && found.is_object()
    };
    world.until("the next start made it anew", is_new).await;
}

/// Without webhooks a set is judged when it is seen: what may not be is said and not served, what was served stays as it is.
pub async fn without_webhooks(world: &World) {
    let name = topology(world, "t", &LEVELS).await;
    let wrong = set("wl").clique(clique("worker", 2, 2)).pack("zone").topology(&name);
    world.create(&wrong).await;
    world.until("it is not admitted", |view| condition(view.set("wl"), "Admitted").0 == "False").await;
    world.quiet().await;
    let view = world.observer.view();
    assert!(view.gang("wl-0").is_null() && view.pods().count() == 0, "{}", view.dump());
    // Where there is nothing yet, everything may change.
    world.open(2).await;
    world
        .edit(PodCliqueSet, "wl", |set| set["spec"]["template"]["topologyConstraint"]["packDomain"] = "rack".into())
        .await;
    let view = world.ready(2).await;
    let pods = view.uids(|_| true);
    world.until("it is admitted", |view| is_true(view.set("wl"), "Admitted") && is_true(view.set("wl"), "Ready")).await;
    // The topology's name is fixed now: pods have nodes.
    let other = topology(world, "other", &LEVELS).await;
    world.edit(PodCliqueSet, "wl", |set| set["spec"]["template"]["clusterTopologyName"] = json!(other)).await;
    world.until("that is not admitted", |view| condition(view.set("wl"), "Admitted").0 == "False").await;
    world.quiet().await;
    let view = world.observer.view();
    assert!(view.untouched(&pods));
    assert_eq!(view.gang("wl-0")["metadata"]["annotations"][annotation::TOPOLOGY_NAME], json!(name));
    world.edit(PodCliqueSet, "wl", |set| set["spec"]["template"]["clusterTopologyName"] = json!(name)).await;
    world.until("back again, it is", |view| is_true(view.set("wl"), "Admitted")).await;
    world.delete(PodCliqueSet, "wl").await;
    for name in [&name, &other] {
        world.delete(ClusterTopology, name).await;
        world.until("the topology is gone", |view| view.get(ClusterTopology, name).is_null()).await;
    }
}

/// KAI is not there when the operator starts, and comes later: nothing else suffers, and then its objects are made.
pub async fn kai_comes_late(world: &World) {
    world.operator().stop().await;
    undefine_kai(&world.client).await;
    world.until("KAI's kinds are gone", |view| view.all(KaiTopology).count() == 0).await;
    world.restart(&configuration()).await;
    let told =
        |view: &View| condition(view.get(ClusterTopology, DEFAULT_TOPOLOGY), "SchedulerTopologyInSync").0 != "True";
    world.until("the topology says that KAI has none", told).await;
    world.open(4).await;
    world.create(&workers()).await;
    world.ready(2).await;
    world.create(&set("late").clique(clique("worker", 2, 2)).pack("rack").kai()).await;
    world.until("its gang is there", |view| view.gang("late-0").is_object()).await;
    world.quiet().await;
    // Pods that KAI would not know what to do with are not let go.
    let view = world.observer.view();
    assert!(view.live().filter(|pod| pod.gang() == "late-0").all(|pod| pod.is_gated()), "{}", view.dump());
    define_kai(&world.client).await;
    world.ready(4).await;
    let view = world.until("KAI's topology is there", |view| view.get(KaiTopology, DEFAULT_TOPOLOGY).is_object()).await;
    assert_eq!(tree::of_kai(view.get(KaiPodGroup, "late-0")), "late-0 rack~hostname\n  late-0-worker 2 ~hostname");
}
