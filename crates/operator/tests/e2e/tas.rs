//! Where our scheduler puts what asks for domains: every shape of a constraint, judged by the labels of the nodes that the pods are on.

use std::collections::BTreeSet;

use serde_json::json;
use trellis_lifecycle::Kind::PodCliqueSet;

use crate::kai::{disaggregated, forget, topology, workers_and_router};
use crate::view::{View, condition, text};
use crate::workloads::{Clique, Set, clique, group, set};
use crate::world::World;

/// Nodes of a world.
const NODES: usize = 30;

/// A clique whose pods fit on a node in twos.
fn small(name: &str, replicas: usize) -> Clique {
    let container = json!({ "name": "app", "image": "app:1", "resources": { "requests": { "memory": "70Mi" } } });
    clique(name, replicas, replicas).pod(&json!({ "containers": [container] }))
}

/// The domains of a level that pods are in whose names begin so, by the place of their nodes.
pub fn domains(world: &World, view: &View, level: &str, prefix: &str) -> BTreeSet<usize> {
    let size = match level {
        "zone" => 28,
        "block" => 20,
        "rack" => 7,
        "host" => 1,
        other => panic!("no level {other}"),
    };
    let pods = view.pods().filter(|pod| pod.name().starts_with(prefix));
    let place = |node: &str| world.node_names().iter().position(|name| name == node).expect("a node of this world");
    let domains: BTreeSet<usize> = pods.map(|pod| place(pod.node().expect("a node")) / size).collect();
    assert!(!domains.is_empty(), "no pod begins with {prefix}\n{}", view.dump());
    domains
}

/// All pods whose names begin so share a domain of this level.
pub fn share(world: &World, view: &View, level: &str, prefix: &str) {
    let found = domains(world, view, level, prefix);
    assert_eq!(found.len(), 1, "{prefix} should be in one {level}\n{}", view.dump());
}

/// Creates a set on so many nodes: so many pods run, and these share these domains.
async fn check(world: &World, nodes: usize, workload: Set, pods: usize, shared: &[(&str, &str)]) -> View {
    world.open(nodes).await;
    world.create(&workload).await;
    let view = world.ready(pods).await;
    for (level, prefix) in shared {
        share(world, &view, level, prefix);
    }
    view
}

pub async fn tas2_cliques_with_different_constraints(world: &World) {
    let workload = set("wl").clique(clique("rack", 3, 3).pack("rack")).clique(clique("block", 4, 4).pack("block"));
    check(world, NODES, workload, 7, &[("rack", "wl-0-rack-"), ("block", "wl-0-block-")]).await;
}

pub async fn tas3_set_only(world: &World) {
    let workload = workers_and_router().group(group("sg", 2, 2, &["worker"])).pack("rack");
    check(world, NODES, workload, 4, &[("rack", "wl-0-")]).await;
}

pub async fn tas4_scaling_group_only(world: &World) {
    let workload = set("wl")
        .clique(clique("worker", 3, 3))
        .clique(clique("router", 2, 2))
        .group(group("sg", 2, 2, &["worker"]).pack("rack"));
    check(world, NODES, workload, 8, &[("rack", "wl-0-sg-0-"), ("rack", "wl-0-sg-1-")]).await;
}

pub async fn tas5_host(world: &World) {
    check(world, NODES, set("wl").clique(small("worker", 2).pack("host")), 2, &[("host", "wl-0-")]).await;
}

pub async fn tas6_one_clique_in_a_zone(world: &World) {
    check(world, NODES, set("wl").clique(clique("worker", 4, 4)).pack("zone"), 4, &[("zone", "wl-0-")]).await;
}

pub async fn tas7_no_constraint(world: &World) {
    check(world, 4, set("wl").clique(clique("worker", 2, 2)).group(group("sg", 2, 2, &["worker"])), 4, &[]).await;
}

pub async fn tas8_full_hierarchy(world: &World) {
    let workload = set("wl")
        .clique(small("prefill", 2).pack("host"))
        .clique(small("decode", 2).pack("host"))
        .group(group("sg", 2, 2, &["prefill", "decode"]).pack("rack"))
        .pack("block");
    let mut shared = vec![("block", "wl-0-"), ("rack", "wl-0-sg-0-"), ("rack", "wl-0-sg-1-")];
    shared.extend([("host", "wl-0-sg-0-prefill-"), ("host", "wl-0-sg-0-decode-")]);
    shared.extend([("host", "wl-0-sg-1-prefill-"), ("host", "wl-0-sg-1-decode-")]);
    check(world, NODES, workload, 8, &shared).await;
}

pub async fn tas9_set_and_clique(world: &World) {
    let workload = set("wl").clique(small("worker", 2).pack("host")).clique(clique("router", 2, 2)).pack("block");
    check(world, NODES, workload, 4, &[("block", "wl-0-"), ("host", "wl-0-worker-")]).await;
}

/// Scaled gangs have racks of their own, inside the block of their base.
pub async fn tas10_scaled_gangs(world: &World) {
    let workload =
        set("wl").clique(clique("worker", 4, 4)).group(group("sg", 3, 1, &["worker"]).pack("rack")).pack("block");
    let shared = [("block", "wl-0-"), ("rack", "wl-0-sg-0-"), ("rack", "wl-0-sg-1-"), ("rack", "wl-0-sg-2-")];
    check(world, 20, workload, 12, &shared).await;
}

pub async fn tas11_scaling_group_and_clique(world: &World) {
    let workload = set("wl")
        .clique(small("worker", 2).pack("host"))
        .clique(clique("leader", 1, 1))
        .group(group("sg", 2, 2, &["worker", "leader"]).pack("rack"));
    let shared = [("rack", "wl-0-sg-0-"), ("host", "wl-0-sg-0-worker-"), ("rack", "wl-0-sg-1-")];
    check(world, NODES, workload, 6, &[&shared[..], &[("host", "wl-0-sg-1-worker-")]].concat()).await;
}

/// Seven gangs that are scaled from a base stay in its block, every time.
pub async fn tas12_large_scaling_ratio(world: &World) {
    let workload =
        set("wl").clique(small("worker", 2).pack("host")).group(group("sg", 10, 3, &["worker"])).pack("block");
    world.open(NODES).await;
    for round in 0..5 {
        world.create(&workload).await;
        let view = world.ready(20).await;
        assert_eq!(view.names(trellis_lifecycle::Kind::PodGang).len(), 8, "round {round}");
        share(world, &view, "block", "wl-0-");
        (0..10).for_each(|replica| share(world, &view, "host", &format!("wl-0-sg-{replica}-worker-")));
        world.delete(PodCliqueSet, "wl").await;
        world.until("nothing is left", |view| crate::world::left(view).is_empty()).await;
    }
}

/// Ten pods in a rack of seven: none is placed, and it is said what is missing. In a block they fit.
pub async fn tas13_not_enough_room(world: &World) {
    world.open(NODES).await;
    world.create(&set("wl").clique(clique("worker", 10, 10)).pack("rack")).await;
    let said = |view: &View| {
        let waiting: Vec<_> = view.live().collect();
        waiting.len() == 10 && waiting.iter().all(|pod| condition(pod.0, "PodScheduled").1 == "Unschedulable")
    };
    world.until("they are said to have no room", said).await;
    let view = world.placed(&[]).await;
    assert_eq!(condition(view.gang("wl-0"), "Scheduled"), ("False", "Unschedulable"));
    let told = text(&view.gang("wl-0")["metadata"]["annotations"]["trellis.dev/explanation"]);
    assert!(told.contains("must share one rack") && told.contains("10"), "{told}");
    world.delete(PodCliqueSet, "wl").await;
    world.until("nothing is left", |view| crate::world::left(view).is_empty()).await;
    world.create(&set("wl").clique(clique("worker", 10, 10)).pack("block")).await;
    share(world, &world.ready(10).await, "block", "wl-0-");
}

/// Replicas of a set are in racks each for itself: two of four do not fit into one.
pub async fn tas14_several_replicas(world: &World) {
    let workload = set("wl").replicas(2).clique(clique("worker", 4, 4)).pack("rack");
    let view = check(world, 14, workload, 8, &[("rack", "wl-0-"), ("rack", "wl-1-")]).await;
    assert_eq!(domains(world, &view, "rack", "wl-").len(), 2, "{}", view.dump());
}

/// What the pods of one replica of the disaggregated set share.
fn shares(world: &World, view: &View, replica: usize) {
    share(world, view, "block", &format!("wl-{replica}-"));
    for part in ["decoder-0", "decoder-1", "prefill-0", "prefill-1"] {
        share(world, view, "rack", &format!("wl-{replica}-{part}-"));
    }
}

pub async fn tas15_disaggregated(world: &World) {
    let view = check(world, NODES, disaggregated(clique("pworker", 1, 1)), 10, &[]).await;
    shares(world, &view, 0);
}

pub async fn tas16_disaggregated_replicas(world: &World) {
    // Where a base goes hangs on what is known by then to be scaled from it, so all of it is there before there is room.
    world.create(&disaggregated(clique("pworker", 1, 1).pack("host")).replicas(2)).await;
    world.until("all pods are there", |view| view.live().count() == 20).await;
    world.open(NODES).await;
    let view = world.ready(20).await;
    (0..2).for_each(|replica| shares(world, &view, replica));
}

/// Two kinds of machines, two topologies with the same domain: pods go to their kind, and wait if there is no room on it.
pub async fn tas17_heterogeneous_cluster(world: &World) {
    let host = ("host", "kubernetes.io/hostname");
    let h100 = topology(world, "h100", &[("block", "example.com/h100-block"), host]).await;
    let gb200 = topology(world, "gb200", &[("block", "example.com/gb200-block"), host]).await;
    world.open(14).await;
    for (name, topology) in [("h", &h100), ("g", &gb200)] {
        world.create(&set(name).clique(clique("worker", 6, 6)).pack("block").topology(topology)).await;
    }
    let view = world.placed(&[("h-0-worker", 6)]).await;
    share(world, &view, "rack", "h-0-");
    world.open(NODES - 14).await;
    let view = world.ready(12).await;
    share(world, &view, "rack", "g-0-");
    let kinds =
        |prefix: &str| domains(world, &view, "host", prefix).into_iter().map(|n| n < 14).collect::<BTreeSet<_>>();
    assert_eq!((kinds("h-0-"), kinds("g-0-")), (BTreeSet::from([true]), BTreeSet::from([false])), "{}", view.dump());
    forget(world, &["h", "g"], &[&h100, &gb200]).await;
}

/// What is preferred is had where there is room for it.
pub async fn tas23_preferred(world: &World) {
    let workload = set("wl")
        .clique(clique("worker", 2, 2))
        .clique(clique("router", 1, 1).prefer("host"))
        .group(group("sg", 2, 1, &["worker"]).prefer("host"))
        .prefer("block", "rack");
    let view = check(world, NODES, workload, 5, &[("block", "wl-0-")]).await;
    for prefix in ["wl-0-router-", "wl-0-sg-0-"] {
        share(world, &view, "rack", prefix);
    }
}
