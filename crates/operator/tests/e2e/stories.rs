//! What people want of it, from beginning to end: locality that lasts, NUMA, two kinds of machines, another try, a node that is drained.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Pod as CorePod;
use kube::Api;
use kube::api::{EvictParams, ListParams, PostParams};
use serde_json::{Value, json};
use trellis_api::names::annotation;
use trellis_lifecycle::Kind::{PodClique, PodCliqueSet};

use crate::kai::{forget, topology};
use crate::tas::{domains, share};
use crate::view::{Pod, View, condition, text};
use crate::workloads::{clique, group, new_image, set};
use crate::world::World;

/// The nodes with these numbers.
fn nodes(world: &World, numbers: impl IntoIterator<Item = usize>) -> Vec<String> {
    numbers.into_iter().map(|n| world.node_names()[n].clone()).collect()
}

/// Waits until so many pods wait, each with words of why; the others keep their places.
async fn waits(world: &World, count: usize) -> View {
    let said = |view: &View| {
        let waiting: Vec<_> = view.live().filter(|pod| pod.node().is_none()).collect();
        waiting.len() == count && waiting.iter().all(|pod| condition(pod.0, "PodScheduled").1 == "Unschedulable")
    };
    world.until(&format!("{count} pods wait, and say why"), said).await;
    world.quiet().await;
    let view = world.observer.view();
    assert!(said(&view), "for a moment it was so, then not\n{}", view.dump());
    view
}

/// Prefill and decode of several nodes each share a rack, from the first pod on and for life: what is added stays there, or waits.
pub async fn disaggregated_inference_stays_together(world: &World) {
    // Five places in one rack, seven in another; seven are asked for.
    world.reopen(nodes(world, (0..5).chain(7..14))).await;
    let workload = set("wl")
        .clique(clique("prefill", 3, 3))
        .clique(clique("decode", 3, 3))
        .group(group("workers", 1, 1, &["prefill", "decode"]))
        .clique(clique("router", 1, 1))
        .pack("rack");
    world.create(&workload).await;
    let view = world.ready(7).await;
    share(world, &view, "rack", "wl-0-");
    assert_eq!(domains(world, &view, "rack", "wl-0-"), BTreeSet::from([1]), "{}", view.dump());
    // The rack is full: one router more waits, whatever is free elsewhere.
    world.scale(PodClique, "wl-0-router", 2).await;
    let view = waits(world, 1).await;
    assert_eq!(view.placed().values().sum::<usize>(), 7);
}

/// A definition of NodeResourceTopology, as far as nodes are described by it here.
fn zones_kind() -> Value {
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": "noderesourcetopologies.topology.node.k8s.io",
            "annotations": { "api-approved.kubernetes.io": "https://github.com/kubernetes/enhancements/pull/1870" },
        },
        "spec": {
            "group": "topology.node.k8s.io", "scope": "Cluster",
            "names": {
                "kind": "NodeResourceTopology", "plural": "noderesourcetopologies", "singular": "noderesourcetopology",
                "listKind": "NodeResourceTopologyList",
            },
            "versions": [{
                "name": "v1alpha2", "served": true, "storage": true, "schema": { "openAPIV3Schema": open },
            }],
        },
    })
}

async fn post(world: &World, path: &str, object: &Value) -> kube::Result<Value> {
    let request = http::Request::post(path).header("content-type", "application/json");
    world.client.request(request.body(object.to_string().into_bytes()).expect("a request")).await
}

/// Two GPUs and their CPUs come from one NUMA node, and what that has not is not given.
pub async fn gpus_of_one_numa_node(world: &World) {
    let made = post(world, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &zones_kind()).await;
    assert!(made.is_ok() || made.is_err_and(|error| error.to_string().contains("exists")));
    let node = &world.node_names()[0];
    let zone = |name: &str| {
        let resource = |name: &str, amount: &str| json!({ "name": name, "capacity": amount, "allocatable": amount, "available": amount });
        json!({ "name": name, "type": "Node", "resources": [
            resource("cpu", "8"), resource("memory", "64Gi"), resource("nvidia.com/gpu", "4"),
        ] })
    };
    let zones = json!({
        "apiVersion": "topology.node.k8s.io/v1alpha2", "kind": "NodeResourceTopology", "metadata": { "name": node },
        "topologyPolicies": ["SingleNUMANodePodLevel"], "zones": [zone("node-0"), zone("node-1")],
    });
    let path = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies";
    let mut ticks = tokio::time::interval(std::time::Duration::from_millis(50));
    for tick in 0.. {
        // The kind is served a moment after it is defined.
        ticks.tick().await;
        match post(world, path, &zones).await {
            Ok(_) => break,
            Err(error) => assert!(tick < 600, "{error}"),
        }
    }
    let name = topology(world, "numa", &[("host", "kubernetes.io/hostname"), ("numa", "example.com/numa")]).await;
    let amounts = json!({ "cpu": "2", "memory": "10Mi", "nvidia.com/gpu": "2" });
    let container = json!({ "name": "app", "image": "app:1", "resources": { "requests": amounts, "limits": amounts } });
    let bench = |replicas: usize| {
        let pod = json!({ "containers": [container.clone()] });
        set("wl").replicas(replicas).clique(clique("bench", 1, 1).pod(&pod).pack("numa")).topology(&name)
    };
    world.reopen(nodes(world, [0])).await;
    // Five times two GPUs: two pairs fit into each zone, the fifth waits.
    world.create(&bench(5)).await;
    let view = waits(world, 1).await;
    let zone = |pod: &crate::view::Pod<'_>| pod.annotation(annotation::NUMA_ZONE).to_owned();
    let mut given: Vec<String> = view.live().filter(|pod| pod.node().is_some()).map(|pod| zone(&pod)).collect();
    given.sort();
    assert_eq!(given, ["node-0", "node-0", "node-1", "node-1"], "{}", view.dump());
    forget(world, &["wl"], &[&name]).await;
    let gone = http::Request::delete(format!("{path}/{node}")).body(Vec::new()).expect("a request");
    let _: Value = world.client.request(gone).await.expect("deleted");
}

/// A topology without room is exchanged for another while everything waits; once something runs, it is locked.
pub async fn another_topology_is_tried(world: &World) {
    let host = ("host", "kubernetes.io/hostname");
    let first = topology(world, "first", &[("block", "example.com/h100-block"), host]).await;
    let second = topology(world, "second", &[("block", "example.com/gb200-block"), host]).await;
    world.reopen(nodes(world, (0..4).chain(14..20))).await;
    world.create(&set("wl").clique(clique("worker", 5, 5)).pack("block").topology(&first)).await;
    waits(world, 5).await;
    let name = |name: &str| {
        let name = name.to_owned();
        move |set: &mut Value| set["spec"]["template"]["clusterTopologyName"] = json!(name)
    };
    world.edit(PodCliqueSet, "wl", name(&second)).await;
    let view = world.ready(5).await;
    let places = domains(world, &view, "host", "wl-0-");
    assert!(places.iter().all(|n| (14..21).contains(n)), "{}", view.dump());
    let refused = world.try_edit(PodCliqueSet, "wl", name(&first)).await;
    let refused = refused.expect_err("the topology is locked").to_string();
    assert!(refused.contains("clusterTopologyName"), "{refused}");
    forget(world, &["wl"], &[&first, &second]).await;
}

/// A class of this priority, for all scenarios.
async fn class(world: &World, name: &str, value: i32) -> String {
    let class = json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": { "name": name }, "value": value,
    });
    let made = post(world, "/apis/scheduling.k8s.io/v1/priorityclasses", &class).await;
    assert!(made.is_ok() || made.is_err_and(|error| error.to_string().contains("exists")));
    name.to_owned()
}

/// A more important set gets the place of another, which leaves whole, waits, says why, and comes back when there is room.
pub async fn a_more_important_set(world: &World) {
    let high = class(world, "e2e-high", 1_000).await;
    world.reopen(nodes(world, 0..3)).await;
    world.create(&set("low").clique(clique("worker", 3, 3)).pack("rack")).await;
    let old = world.ready(3).await.uids(|_| true);
    world.create(&set("high").clique(clique("worker", 2, 2)).pack("rack").priority(&high)).await;
    let view = world.placed(&[("high-0-worker", 2)]).await;
    assert!(view.live().all(|pod| !old.contains(pod.uid())), "{}", view.dump());
    waits(world, 3).await;
    world.reopen(nodes(world, 3..5)).await;
    let view = world.ready(5).await;
    share(world, &view, "rack", "low-0-");
}

/// An update never leaves the rack that the others are in, whatever is free elsewhere; what finds no room there says so.
pub async fn an_update_stays_in_its_rack(world: &World) {
    world.reopen(nodes(world, (0..4).chain(7..14))).await;
    world.create(&set("wl").clique(clique("worker", 4, 3)).pack("rack")).await;
    let view = world.ready(4).await;
    let rack = domains(world, &view, "rack", "wl-0-");
    world.edit(PodCliqueSet, "wl", |set| new_image(set, "worker", "app:2")).await;
    let is_new =
        |view: &View| view.pods().count() == 4 && view.pods().all(|pod| pod.image() == "app:2" && pod.is_ready());
    let view = world.until("all are updated", is_new).await;
    assert_eq!(domains(world, &view, "rack", "wl-0-"), rack, "{}", view.dump());
    // No node of the rack has room for larger ones.
    let larger = |set: &mut Value| {
        let container = &mut set["spec"]["template"]["cliques"][0]["spec"]["podSpec"]["containers"][0];
        container["resources"]["requests"]["memory"] = json!("160Mi");
    };
    world.edit(PodCliqueSet, "wl", larger).await;
    let view = waits(world, 1).await;
    assert_eq!(view.placed().values().sum::<usize>(), 3, "{}", view.dump());
}

/// Drains a node: with kubectl where there is a server to point it at.
async fn drain(world: &World, node: &str) {
    let Some(kubeconfig) = world.cluster.kubeconfig.clone() else {
        return evict(world, node).await;
    };
    let node = node.to_owned();
    let drained = tokio::task::spawn_blocking(move || {
        let kubectl = trellis_testkit::kubectl::path(trellis_testkit::kubectl::Version::V1_36).expect("kubectl");
        let mut command = std::process::Command::new(kubectl);
        command.arg("--kubeconfig").arg(kubeconfig).args(["drain", &node, "--ignore-daemonsets", "--timeout=60s"]);
        command.output().expect("kubectl runs")
    });
    let drained = drained.await.expect("it ends");
    assert!(drained.status.success(), "{drained:?}");
}

/// What kubectl does to drain a node.
async fn evict(world: &World, node: &str) {
    world.close(node).await;
    let pods: Api<CorePod> = Api::namespaced(world.client.clone(), &world.namespace);
    let on = ListParams::default().fields(&format!("spec.nodeName={node}"));
    for pod in pods.list(&on).await.expect("pods").items {
        let params = EvictParams { post_options: PostParams::default(), ..EvictParams::default() };
        pods.evict(&pod.metadata.name.unwrap_or_default(), &params).await.expect("evicted");
    }
}

/// Who is evicted from a drained node comes back inside the rack that the others are in, and waits in words when there is no room there.
pub async fn a_drained_node(world: &World) {
    world.reopen(nodes(world, (0..5).chain(7..11))).await;
    world.create(&set("wl").clique(clique("worker", 5, 5)).pack("rack")).await;
    let view = world.ready(5).await;
    assert_eq!(domains(world, &view, "rack", "wl-0-"), BTreeSet::from([0]), "{}", view.dump());
    world.reopen(nodes(world, [5])).await;
    let first = |view: &View| view.live().next().and_then(|pod| pod.node()).expect("a node").to_owned();
    let node = first(&view);
    let others = view.uids(|pod| pod.node() != Some(node.as_str()));
    drain(world, &node).await;
    world.until("nobody is there any more", |view| view.pods().all(|pod| pod.node() != Some(node.as_str()))).await;
    let view = world.ready(5).await;
    share(world, &view, "rack", "wl-0-");
    assert!(view.untouched(&others), "{}", view.dump());

    // No place is left in the rack, four are free in another.
    let second = first(&view);
    let others = view.uids(|pod| pod.node() != Some(second.as_str()));
    drain(world, &second).await;
    world.until("nobody is there any more", |view| view.pods().all(|pod| pod.node() != Some(second.as_str()))).await;
    let view = waits(world, 1).await;
    assert!(view.untouched(&others), "{}", view.dump());
    // Before it was made anew there were too few pods, and words are changed only every few seconds.
    let says_why = |pod: &Pod<'_>| {
        let conditions = pod.0["status"]["conditions"].as_array().into_iter().flatten();
        let mut told = conditions.filter(|one| one["type"] == "PodScheduled").map(|one| text(&one["message"]));
        pod.node().is_none() && told.any(|why| why.contains("rack"))
    };
    world.until("it is said why it waits", |view| view.live().any(|pod| says_why(&pod))).await;
    world.reopen(vec![node]).await;
    let view = world.ready(5).await;
    share(world, &view, "rack", "wl-0-");
}
