//! Startup order: who waits for whom, and what the waiting needs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::{FutureExt, StreamExt};
use k8s_openapi::api::core::v1::{Container, Pod};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch_all};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use trellis_api::names::{WAIT_CONTAINER, label};
use trellis_cluster::nodes::{Hook, Outcome};
use trellis_lifecycle::Kind;

use crate::view::{View, text};
use crate::workloads::{Set, clique, full, group, least, set};
use crate::world::World;

/// Plays the init container that waits: it ends when every clique that its arguments name has as many ready pods as they say. Other
/// init containers end at once.
pub fn wait_hook(client: Client) -> Hook {
    Arc::new(move |pod: &Pod, container: &Container| {
        let wanted: BTreeMap<String, usize> = match container.name == WAIT_CONTAINER {
            true => container.args.iter().flatten().filter_map(|argument| parent(argument)).collect(),
            false => BTreeMap::new(),
        };
        let pods = Api::namespaced(client.clone(), &pod.namespace().unwrap_or_default());
        async move {
            until_ready(pods, &wanted).await;
            Outcome::Success
        }
        .boxed()
    })
}

/// `--podcliques=<name>:<minimum>`.
fn parent(argument: &str) -> Option<(String, usize)> {
    let (name, minimum) = argument.strip_prefix("--podcliques=")?.rsplit_once(':')?;
    Some((name.to_owned(), minimum.parse().ok()?))
}

async fn until_ready(pods: Api<Pod>, wanted: &BTreeMap<String, usize>) {
    let mut ready: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let is_met = |ready: &BTreeMap<&str, BTreeSet<String>>| {
        wanted.iter().all(|(name, minimum)| ready.get(name.as_str()).map_or(0, BTreeSet::len) >= *minimum)
    };
    if is_met(&ready) {
        return;
    }
    let names: Vec<&str> = wanted.keys().map(String::as_str).collect();
    let selector = format!("{} in ({})", label::POD_CLIQUE, names.join(","));
    let config = watcher::Config::default().labels(&selector);
    let mut events = watch_all(pods, config).default_backoff().boxed();
    while let Some(event) = events.next().await {
        let (pod, gone) = match event {
            Ok(Event::Apply(pod) | Event::InitApply(pod)) => (pod, false),
            Ok(Event::Delete(pod)) => (pod, true),
            _ => continue,
        };
        let Some(clique) = pod.labels().get(label::POD_CLIQUE) else { continue };
        let Some((clique, _)) = wanted.get_key_value(clique) else { continue };
        let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
        let is_ready = conditions.into_iter().any(|one| one.type_ == "Ready" && one.status == "True");
        let of_clique = ready.entry(clique).or_default();
        match is_ready && !gone {
            true => of_clique.insert(pod.name_any()),
            false => of_clique.remove(&pod.name_any()),
        };
        if is_met(&ready) {
            return;
        }
    }
}

/// The cliques that a pod waits for, with their minima, as its init container is told.
fn parents(pod: &crate::view::Pod<'_>) -> BTreeMap<String, usize> {
    let containers = pod.0["spec"]["initContainers"].as_array().cloned().unwrap_or_default();
    let waiting = containers.iter().filter(|container| container["name"] == WAIT_CONTAINER);
    let arguments = waiting.flat_map(|container| container["args"].as_array().cloned().unwrap_or_default());
    arguments.filter_map(|argument| parent(text(&argument))).collect()
}

/// Plays a workload up to its last pod, and checks who waits for whom: `(clique, [(parent, minimum)])`, all others wait for nobody.
async fn check(world: &World, workload: &Set, expected: &[(&str, &[(&str, usize)])]) {
    world.observer.law("whoever waits is ready after those it waits for", |view| {
        let ready = view.count(|pod| pod.is_ready());
        for pod in view.live().filter(|pod| pod.is_ready()) {
            for (name, minimum) in parents(&pod) {
                if ready.get(&name).copied().unwrap_or(0) < minimum {
                    return Err(format!("{} is ready before {name}", pod.name()));
                }
            }
        }
        Ok(())
    });
    world.open(10).await;
    world.create(workload).await;
    let are_there = |view: &View| {
        view.live().count() == 10
            && view.get(Kind::ServiceAccount, "wl").is_object()
            && view.get(Kind::Role, "grove.io:pcs:wl").is_object()
            && view.get(Kind::RoleBinding, "grove.io:pcs:wl").is_object()
            && view.get(Kind::Service, "wl-0").is_object()
    };
    let view = world.until("ten pods, and what they need to wait", are_there).await;
    for pod in view.live() {
        let parents = parents(&pod);
        let wanted = expected.iter().find(|(clique, _)| *clique == pod.clique()).map(|(_, parents)| *parents);
        let wanted: BTreeMap<String, usize> =
            wanted.unwrap_or_default().iter().map(|(name, minimum)| ((*name).to_owned(), *minimum)).collect();
        assert_eq!(parents, wanted, "{}", pod.name());
        let account = if wanted.is_empty() { "default" } else { "wl" };
        assert_eq!(pod.0["spec"]["serviceAccountName"], account, "{}", pod.name());
    }
    objects_for_waiting(&view);
    world.ready(10).await;
}

/// The account of pods that wait, and what it may read.
fn objects_for_waiting(view: &View) {
    let role = view.get(Kind::Role, "grove.io:pcs:wl");
    let rules = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"] }]);
    assert_eq!(role["rules"], rules);
    let binding = view.get(Kind::RoleBinding, "grove.io:pcs:wl");
    assert_eq!(binding["roleRef"]["name"], "grove.io:pcs:wl");
    let subjects = binding["subjects"].as_array().cloned().unwrap_or_default();
    assert_eq!(subjects.len(), 1);
    assert_eq!((&subjects[0]["kind"], &subjects[0]["name"]), (&json!("ServiceAccount"), &json!("wl")));
    assert!(view.all(Kind::Service).all(|(_, service)| service["spec"]["clusterIP"] == "None"));
}

pub async fn so1_in_order_full_replicas(world: &World) {
    let after_a: &[(&str, usize)] = &[("wl-0-pc-a", 2)];
    let after_b: &[(&str, usize)] = &[("wl-0-sg-x-0-pc-b", 1), ("wl-0-sg-x-1-pc-b", 1)];
    let expected = [
        ("wl-0-sg-x-0-pc-b", after_a),
        ("wl-0-sg-x-1-pc-b", after_a),
        ("wl-0-sg-x-0-pc-c", after_b),
        ("wl-0-sg-x-1-pc-c", after_b),
    ];
    check(world, &full().startup("InOrder"), &expected).await;
}

/// A scaled gang keeps its own order, and does not wait for the base's.
const OF_LEAST: [(&str, &[(&str, usize)]); 3] = [
    ("wl-0-sg-x-0-pc-b", &[("wl-0-pc-a", 1)]),
    ("wl-0-sg-x-0-pc-c", &[("wl-0-sg-x-0-pc-b", 1)]),
    ("wl-0-sg-x-1-pc-c", &[("wl-0-sg-x-1-pc-b", 1)]),
];

pub async fn so2_in_order_min_replicas(world: &World) {
    check(world, &least().startup("InOrder"), &OF_LEAST).await;
}

pub async fn so3_explicit_full_replicas(world: &World) {
    let workload = set("wl")
        .clique(clique("pc-a", 2, 2))
        .clique(clique("pc-b", 1, 1).after(&["pc-c"]))
        .clique(clique("pc-c", 3, 3).after(&["pc-a"]))
        .group(group("sg-x", 2, 2, &["pc-b", "pc-c"]))
        .startup("Explicit");
    let after_a: &[(&str, usize)] = &[("wl-0-pc-a", 2)];
    let after_c: &[(&str, usize)] = &[("wl-0-sg-x-0-pc-c", 3), ("wl-0-sg-x-1-pc-c", 3)];
    let expected = [
        ("wl-0-sg-x-0-pc-c", after_a),
        ("wl-0-sg-x-1-pc-c", after_a),
        ("wl-0-sg-x-0-pc-b", after_c),
        ("wl-0-sg-x-1-pc-b", after_c),
    ];
    check(world, &workload, &expected).await;
}

pub async fn so4_explicit_min_replicas(world: &World) {
    let workload = set("wl")
        .clique(clique("pc-a", 2, 1))
        .clique(clique("pc-b", 1, 1).after(&["pc-a"]))
        .clique(clique("pc-c", 3, 1).after(&["pc-b"]))
        .group(group("sg-x", 2, 1, &["pc-b", "pc-c"]))
        .startup("Explicit");
    check(world, &workload, &OF_LEAST).await;
}

/// All pods have nodes, and those that wait do so for as long as those they wait for are not ready.
pub async fn waiting_pods_are_placed_and_wait(world: &World) {
    let workload = set("wl")
        .clique(clique("first", 1, 1).annotated("trellis.dev/simulate-ready", "false"))
        .clique(clique("then", 2, 2))
        .startup("InOrder");
    world.open(3).await;
    world.create(&workload).await;
    let view = world.placed(&[("wl-0-first", 1), ("wl-0-then", 2)]).await;
    assert!(view.of_clique("wl-0-then").iter().all(|pod| pod.phase() == "Pending"), "{}", view.dump());
    world.until("the gang starts", |view| view.gang("wl-0")["status"]["phase"] == "Starting").await;
    let first = view.of_clique("wl-0-first")[0].name();
    world
        .edit(Kind::Pod, first, |pod| {
            pod["metadata"]["annotations"]["trellis.dev/simulate-ready"] = "true".into();
        })
        .await;
    world.ready(3).await;
    world.until("the gang runs", |view| view.gang("wl-0")["status"]["phase"] == "Running").await;
}
