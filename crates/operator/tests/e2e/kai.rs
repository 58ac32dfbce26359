//! KAI's contract: what we hand to KAI is what its API takes, says what the set says, and falls into none of the traps that are known.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use trellis_api::names::{DEFAULT_TOPOLOGY, annotation, label};
use trellis_lifecycle::Kind::{self, ClusterTopology, KaiPodGroup, KaiTopology, PodCliqueSet, PodGang};

use crate::server::merged;
use crate::tree;
use crate::view::{View, condition, is_true, text};
use crate::workloads::{Set, clique, group, set};
use crate::world::World;

/// Checks a set that KAI places: its gangs and its PodGroups are these trees, it runs, and no trap is fallen into.
async fn check(world: &World, workload: Set, pods: usize, trees: &[&str]) -> View {
    world.open(pods).await;
    world.create(&workload.kai()).await;
    let view = world.ready(pods).await;
    let drawn = |kind: Kind, draw: fn(&Value) -> String| view.all(kind).map(|(_, one)| draw(one)).collect::<Vec<_>>();
    let trees: Vec<String> = trees.iter().map(|tree| unindented(tree)).collect();
    assert_eq!(drawn(PodGang, tree::of_gang).join("\n"), trees.join("\n"), "PodGangs");
    assert_eq!(drawn(KaiPodGroup, tree::of_kai).join("\n"), trees.join("\n"), "PodGroups");
    traps(&view);
    taken_as_new(world, &view).await;
    view
}

/// A drawing without the indentation that the source has.
fn unindented(tree: &str) -> String {
    let lines: Vec<&str> = tree.lines().filter(|line| !line.trim().is_empty()).collect();
    let indent = lines.iter().map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    lines.iter().map(|line| &line[indent..]).collect::<Vec<_>>().join("\n")
}

/// Every PodGroup could be created as it stands, with strict validation of its fields.
async fn taken_as_new(world: &World, view: &View) {
    for (name, group) in view.all(KaiPodGroup) {
        let copy = json!({
            "apiVersion": group["apiVersion"], "kind": group["kind"],
            "metadata": { "name": format!("copy-of-{name}"), "namespace": world.namespace },
            "spec": group["spec"],
        });
        world.make(KaiPodGroup, &copy).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        world.delete(KaiPodGroup, &format!("copy-of-{name}")).await;
    }
}

/// The traps that are known, over everything that KAI would see.
fn traps(view: &View) {
    for (name, group) in view.all(KaiPodGroup).filter(|(name, _)| !name.starts_with("copy-of-")) {
        let spec = &group["spec"];
        let subs: BTreeMap<&str, &Value> =
            spec["subGroups"].as_array().expect("subGroups").iter().map(|sub| (text(&sub["name"]), sub)).collect();
        let inner: BTreeSet<&str> =
            subs.values().map(|sub| text(&sub["parent"])).filter(|name| !name.is_empty()).collect();
        assert!(spec["minMember"].is_null() && spec["minSubGroup"].is_null(), "{name}: the leaves say what is needed");
        assert_eq!(spec["queue"], "test", "{name}");
        assert_eq!(group["metadata"]["annotations"][annotation::KAI_SKIP_POD_GROUPER], "true", "{name}");
        owned(group, "PodGang", view.gang(name));
        let levels = levels_of(view, group);
        let place = |key: &Value| levels.iter().position(|level| level == text(key));
        fixed(spec, None, &place, name);
        for (sub_name, sub) in &subs {
            let is_dns = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
            assert!(sub_name.len() <= 63 && sub_name.bytes().all(is_dns), "{sub_name}");
            assert_ne!(*sub_name, "default", "reserved");
            assert_eq!(sub["minMember"].is_null(), inner.contains(sub_name), "{sub_name}: leaves have it, others not");
            assert!(sub["minSubGroup"].is_null(), "{sub_name}: all children are needed");
            let parent = subs.get(text(&sub["parent"])).copied();
            let above = [Some(spec), parent].into_iter().flatten();
            let above = above.filter_map(|one| place(&one["topologyConstraint"]["requiredTopologyLevel"])).max();
            fixed(sub, above, &place, sub_name);
        }
        for pod in view.pods().filter(|pod| pod.gang() == name.as_str()) {
            let leaf = pod.label(label::KAI_SUBGROUP);
            assert!(subs.contains_key(leaf) && !inner.contains(leaf), "{}: {leaf:?} is no leaf", pod.name());
            assert_eq!(leaf, pod.clique(), "{}", pod.name());
            assert_eq!(pod.annotation(annotation::KAI_POD_GROUP), name, "{}", pod.name());
            assert_eq!(pod.annotation(annotation::KAI_SKIP_POD_GROUPER), "true", "{}", pod.name());
            assert_eq!(pod.0["spec"]["schedulerName"], "kai-scheduler", "{}", pod.name());
            assert!(pod.label("kai.scheduler/node-pool").is_empty(), "{}", pod.name());
        }
    }
    let alone: Vec<&str> =
        view.live().filter(|pod| view.get(KaiPodGroup, pod.gang()).is_null()).map(|pod| pod.name()).collect();
    assert!(alone.is_empty(), "pods without a PodGroup: {alone:?}");
}

/// A constraint names a topology and a level, both known; the level is narrower than what is fixed above; a preference is narrower still.
fn fixed(holder: &Value, above: Option<usize>, place: &dyn Fn(&Value) -> Option<usize>, name: &str) {
    let constraint = &holder["topologyConstraint"];
    if constraint.is_null() {
        return;
    }
    let (required, preferred) = (&constraint["requiredTopologyLevel"], &constraint["preferredTopologyLevel"]);
    assert!(
        constraint["topology"].is_string() && (required.is_string() || preferred.is_string()),
        "{name}: {constraint}"
    );
    for level in [required, preferred].into_iter().filter(|level| level.is_string()) {
        assert!(place(level).is_some(), "{name}: {level} is no level of its topology");
    }
    let (required, preferred) = (place(required), place(preferred));
    assert!(required.is_none() || required > above, "{name}: the level above fixes this already: {constraint}");
    assert!(preferred.is_none() || preferred > required.max(above), "{name}: this prefers nothing: {constraint}");
}

/// The levels of the topology that a PodGroup speaks of, widest first.
fn levels_of(view: &View, group: &Value) -> Vec<String> {
    let subs = group["spec"]["subGroups"].as_array().into_iter().flatten();
    let named: BTreeSet<&str> = subs
        .chain([&group["spec"]])
        .map(|holder| text(&holder["topologyConstraint"]["topology"]))
        .filter(|name| !name.is_empty())
        .collect();
    assert!(named.len() <= 1, "one topology for all: {named:?}");
    let Some(name) = named.first() else { return Vec::new() };
    let levels = view.get(KaiTopology, name)["spec"]["levels"].as_array().cloned().unwrap_or_default();
    assert!(!levels.is_empty(), "KAI knows no topology {name}");
    levels.iter().map(|level| text(&level["nodeLabel"]).to_owned()).collect()
}

/// The object is controlled by this owner.
fn owned(object: &Value, kind: &str, owner: &Value) {
    let owners = object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
    let found = owners.iter().any(|one| {
        one["kind"] == kind
            && one["controller"] == true
            && one["uid"] == owner["metadata"]["uid"]
            && one["uid"].is_string()
    });
    assert!(
        found,
        "{} should be owned by {kind} {}: {owners:?}",
        object["metadata"]["name"], owner["metadata"]["name"]
    );
}

/// The default topology is KAI's too, key by key.
pub async fn tas1_infrastructure(world: &World) {
    let is_there = |view: &View| {
        view.get(KaiTopology, DEFAULT_TOPOLOGY).is_object()
            && is_true(view.get(ClusterTopology, DEFAULT_TOPOLOGY), "SchedulerTopologyInSync")
    };
    let view = world.until("the default topology is there, KAI's too", is_there).await;
    let (ours, theirs) = (view.get(ClusterTopology, DEFAULT_TOPOLOGY), view.get(KaiTopology, DEFAULT_TOPOLOGY));
    let keys =
        ["zone", "block", "rack", "hostname"].map(|level| json!({ "nodeLabel": format!("kubernetes.io/{level}") }));
    assert_eq!(theirs["spec"]["levels"], json!(keys));
    owned(theirs, "ClusterTopology", ours);
    assert_eq!(ours["metadata"]["labels"][label::MANAGED_BY], "grove-operator");
    assert_eq!(ours["metadata"]["finalizers"], json!(["grove.io/clustertopology"]));
    assert_eq!(ours["status"]["labelledNodes"], 30);
}

pub async fn tas2_cliques_with_different_constraints(world: &World) {
    let workload = set("wl").clique(clique("rack", 3, 3).pack("rack")).clique(clique("block", 4, 4).pack("block"));
    let tree = "
        wl-0 ~hostname
          wl-0-block 4 block~hostname
          wl-0-rack 3 rack~hostname";
    check(world, workload, 7, &[tree]).await;
}

/// A worker in a scaling group of two, and a router beside it.
pub fn workers_and_router() -> Set {
    set("wl").clique(clique("worker", 1, 1)).clique(clique("router", 2, 2))
}

pub async fn tas3_set_only(world: &World) {
    let workload = workers_and_router().group(group("sg", 2, 2, &["worker"])).pack("rack");
    let tree = "
        wl-0 rack~hostname
          wl-0-router 2 ~hostname
          wl-0-sg-0-worker 1 ~hostname
          wl-0-sg-1-worker 1 ~hostname";
    check(world, workload, 4, &[tree]).await;
}

pub async fn tas4_scaling_group_only(world: &World) {
    let workload = workers_and_router().group(group("sg", 2, 2, &["worker"]).pack("rack"));
    let tree = "
        wl-0 ~hostname
          wl-0-router 2 ~hostname
          wl-0-sg-0 rack~hostname
            wl-0-sg-0-worker 1 ~hostname
          wl-0-sg-1 rack~hostname
            wl-0-sg-1-worker 1 ~hostname";
    check(world, workload, 4, &[tree]).await;
    let available = ("False", "AllClusterTopologyLevelsAvailable");
    world
        .until("all levels are there", |view| condition(view.set("wl"), "TopologyLevelsUnavailable") == available)
        .await;
}

pub async fn tas5_host(world: &World) {
    let workload = set("wl").clique(clique("worker", 2, 2).pack("host"));
    let tree = "
        wl-0 ~hostname
          wl-0-worker 2 hostname";
    check(world, workload, 2, &[tree]).await;
}

pub async fn tas6_one_clique_in_a_zone(world: &World) {
    let workload = set("wl").clique(clique("worker", 4, 4)).pack("zone");
    let tree = "
        wl-0 zone~hostname
          wl-0-worker 4 ~hostname";
    check(world, workload, 4, &[tree]).await;
}

pub async fn tas7_no_constraint(world: &World) {
    let workload = set("wl").clique(clique("worker", 2, 2)).group(group("sg", 2, 2, &["worker"]));
    let tree = "
        wl-0
          wl-0-sg-0-worker 2
          wl-0-sg-1-worker 2";
    let view = check(world, workload, 4, &[tree]).await;
    assert!(view.gang("wl-0")["metadata"]["annotations"][annotation::TOPOLOGY_NAME].is_null());
}

pub async fn tas8_full_hierarchy(world: &World) {
    let workload = set("wl")
        .clique(clique("prefill", 2, 2).pack("host"))
        .clique(clique("decode", 2, 2).pack("host"))
        .group(group("sg", 2, 2, &["prefill", "decode"]).pack("rack"))
        .pack("block");
    let tree = "
        wl-0 block~hostname
          wl-0-sg-0 rack~hostname
            wl-0-sg-0-decode 2 hostname
            wl-0-sg-0-prefill 2 hostname
          wl-0-sg-1 rack~hostname
            wl-0-sg-1-decode 2 hostname
            wl-0-sg-1-prefill 2 hostname";
    check(world, workload, 8, &[tree]).await;
}

pub async fn tas9_set_and_clique(world: &World) {
    let workload = set("wl").clique(clique("worker", 2, 2).pack("host")).pack("block");
    let tree = "
        wl-0 block~hostname
          wl-0-worker 2 hostname";
    check(world, workload, 2, &[tree]).await;
}

pub async fn tas10_scaled_gangs(world: &World) {
    let workload =
        set("wl").clique(clique("worker", 2, 2)).group(group("sg", 3, 1, &["worker"]).pack("rack")).pack("block");
    let base = "
        wl-0 block~hostname
          wl-0-sg-0 rack~hostname
            wl-0-sg-0-worker 2 ~hostname";
    let scaled = |index: usize| format!("wl-0-sg-{index} rack~hostname\n  wl-0-sg-{}-worker 2 ~hostname", index + 1);
    check(world, workload, 6, &[base, &scaled(0), &scaled(1)]).await;
}

pub async fn tas11_scaling_group_and_clique(world: &World) {
    let workload =
        set("wl").clique(clique("worker", 2, 2).pack("host")).group(group("sg", 2, 2, &["worker"]).pack("rack"));
    let tree = "
        wl-0 ~hostname
          wl-0-sg-0 rack~hostname
            wl-0-sg-0-worker 2 hostname
          wl-0-sg-1 rack~hostname
            wl-0-sg-1-worker 2 hostname";
    check(world, workload, 4, &[tree]).await;
}

pub async fn tas12_large_scaling_ratio(world: &World) {
    let workload =
        set("wl").clique(clique("worker", 2, 2).pack("host")).group(group("sg", 10, 3, &["worker"])).pack("block");
    let base = "
        wl-0 block~hostname
          wl-0-sg-0-worker 2 hostname
          wl-0-sg-1-worker 2 hostname
          wl-0-sg-2-worker 2 hostname";
    let scaled = |index: usize| format!("wl-0-sg-{index} block~hostname\n  wl-0-sg-{}-worker 2 hostname", index + 3);
    let scaled: Vec<String> = (0..7).map(scaled).collect();
    let trees: Vec<&str> = [base].into_iter().chain(scaled.iter().map(String::as_str)).collect();
    check(world, workload, 20, &trees).await;
}

pub async fn tas13_not_enough_room(world: &World) {
    let workload = set("wl").clique(clique("worker", 10, 10)).pack("rack");
    world.open(9).await;
    world.create(&workload.kai()).await;
    world.until("ten pods wait", |view| view.live().filter(|pod| !pod.is_gated()).count() == 10).await;
    let view = world.placed(&[]).await;
    assert_eq!(tree::of_kai(view.get(KaiPodGroup, "wl-0")), "wl-0 rack~hostname\n  wl-0-worker 10 ~hostname");
    traps(&view);
    world
        .until("they are said to have no room", |view| {
            view.live().all(|pod| condition(pod.0, "PodScheduled").1 == "Unschedulable")
        })
        .await;
}

pub async fn tas14_several_replicas(world: &World) {
    let workload = set("wl").replicas(2).clique(clique("worker", 2, 2)).pack("rack");
    let tree = |i: usize| format!("wl-{i} rack~hostname\n  wl-{i}-worker 2 ~hostname");
    check(world, workload, 4, &[&tree(0), &tree(1)]).await;
}

/// Decoders and prefills in racks, and routers, within a block.
pub fn disaggregated(worker: crate::workloads::Clique) -> Set {
    set("wl")
        .clique(clique("dworker", 1, 1))
        .clique(clique("dleader", 1, 1))
        .clique(worker)
        .clique(clique("pleader", 1, 1))
        .clique(clique("router", 2, 2))
        .group(group("decoder", 2, 1, &["dworker", "dleader"]).pack("rack"))
        .group(group("prefill", 2, 1, &["pworker", "pleader"]).pack("rack"))
        .pack("block")
}

/// The trees of one replica of it, in the order of the gangs' names.
fn disaggregated_trees(i: usize, worker: &str) -> [String; 3] {
    let base = format!(
        "wl-{i} block~hostname
  wl-{i}-decoder-0 rack~hostname
    wl-{i}-decoder-0-dleader 1 ~hostname
    wl-{i}-decoder-0-dworker 1 ~hostname
  wl-{i}-prefill-0 rack~hostname
    wl-{i}-prefill-0-pleader 1 ~hostname
    wl-{i}-prefill-0-pworker 1 {worker}
  wl-{i}-router 2 ~hostname"
    );
    let decoder = format!(
        "wl-{i}-decoder-0 rack~hostname
  wl-{i}-decoder-1-dleader 1 ~hostname
  wl-{i}-decoder-1-dworker 1 ~hostname"
    );
    let prefill = format!(
        "wl-{i}-prefill-0 rack~hostname
  wl-{i}-prefill-1-pleader 1 ~hostname
  wl-{i}-prefill-1-pworker 1 {worker}"
    );
    [base, decoder, prefill]
}

pub async fn tas15_disaggregated(world: &World) {
    let trees = disaggregated_trees(0, "~hostname");
    let trees: Vec<&str> = trees.iter().map(String::as_str).collect();
    check(world, disaggregated(clique("pworker", 1, 1)), 10, &trees).await;
}

pub async fn tas16_disaggregated_replicas(world: &World) {
    let trees = [disaggregated_trees(0, "hostname"), disaggregated_trees(1, "hostname")].concat();
    let trees: Vec<&str> = trees.iter().map(String::as_str).collect();
    check(world, disaggregated(clique("pworker", 1, 1).pack("host")).replicas(2), 20, &trees).await;
}

/// A topology of one's own: a name that no other scenario has, and these levels.
pub async fn topology(world: &World, name: &str, levels: &[(&str, &str)]) -> String {
    let name = format!("{}-{name}", world.namespace);
    let levels: Vec<Value> = levels.iter().map(|(domain, key)| json!({ "domain": domain, "key": key })).collect();
    let object = json!({
        "apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopology",
        "metadata": { "name": name }, "spec": { "levels": levels },
    });
    world.make(ClusterTopology, &object).await.expect("the topology is admitted");
    name
}

/// Two kinds of machines, two topologies: the same domain, other keys.
pub async fn tas17_heterogeneous_cluster(world: &World) {
    let h100 =
        topology(world, "h100", &[("block", "example.com/h100-block"), ("host", "kubernetes.io/hostname")]).await;
    let gb200 = topology(world, "gb200", &[("block", "example.com/gb200-block"), ("rack", "example.com/nvl72")]).await;
    world.open(4).await;
    for (name, topology) in [("h", &h100), ("g", &gb200)] {
        let workload = set(name).clique(clique("worker", 2, 2)).pack("block").topology(topology).kai();
        world.create(&workload).await;
    }
    let view = world.ready(4).await;
    traps(&view);
    for (gang, topology, drawing) in [
        ("g-0", &gb200, "g-0 gb200-block~nvl72\n  g-0-worker 2 ~nvl72"),
        ("h-0", &h100, "h-0 h100-block~hostname\n  h-0-worker 2 ~hostname"),
    ] {
        assert_eq!(tree::of_gang(view.gang(gang)), drawing);
        assert_eq!(tree::of_kai(view.get(KaiPodGroup, gang)), drawing);
        assert_eq!(view.gang(gang)["metadata"]["annotations"][annotation::TOPOLOGY_NAME], json!(topology));
        assert_eq!(view.get(KaiPodGroup, gang)["spec"]["topologyConstraint"]["topology"], json!(topology));
        owned(view.get(KaiTopology, topology), "ClusterTopology", view.get(ClusterTopology, topology));
    }
    forget(world, &["h", "g"], &[&h100, &gb200]).await;
}

/// Deletes sets and their topologies, and waits until all are gone.
pub async fn forget(world: &World, sets: &[&str], topologies: &[&str]) {
    for name in sets {
        world.delete(PodCliqueSet, name).await;
    }
    for name in topologies {
        world.delete(ClusterTopology, name).await;
    }
    let gone = |view: &View| {
        topologies.iter().all(|name| view.get(ClusterTopology, name).is_null() && view.get(KaiTopology, name).is_null())
    };
    world.until("the topologies are gone, KAI's too", gone).await;
}

/// What the user prefers goes before what we prefer.
pub async fn tas23_preferred(world: &World) {
    let workload = set("wl")
        .clique(clique("worker", 2, 2))
        .clique(clique("router", 1, 1).prefer("host"))
        .group(group("sg", 2, 1, &["worker"]).prefer("host"))
        .prefer("block", "rack");
    let base = "
        wl-0 block~rack
          wl-0-router 1 ~hostname
          wl-0-sg-0 ~hostname
            wl-0-sg-0-worker 2 ~hostname";
    let scaled = "
        wl-0-sg-0 block~hostname
          wl-0-sg-1-worker 2 ~hostname";
    check(world, workload, 5, &[base, scaled]).await;
}

/// Levels of a topology that no pod uses yet are changed: KAI's is made anew, for it cannot be changed, and gangs follow.
pub async fn tas19_a_topology_that_changes(world: &World) {
    let name = topology(world, "t", &[("block", "example.com/block"), ("host", "kubernetes.io/hostname")]).await;
    let workload = set("wl").clique(clique("worker", 2, 2)).pack("block").topology(&name).kai();
    world.create(&workload).await;
    let is_there = |view: &View| view.get(KaiTopology, &name).is_object() && view.get(KaiPodGroup, "wl-0").is_object();
    let view = world.until("KAI's topology and group are there", is_there).await;
    let uid = view.get(KaiTopology, &name)["metadata"]["uid"].clone();
    world
        .edit(ClusterTopology, &name, |topology| {
            topology["spec"]["levels"] = json!([
                { "domain": "block", "key": "example.com/other-block" },
                { "domain": "rack", "key": "example.com/rack" },
                { "domain": "host", "key": "kubernetes.io/hostname" },
            ]);
        })
        .await;
    let keys = ["example.com/other-block", "example.com/rack", "kubernetes.io/hostname"];
    let keys = json!(keys.map(|key| json!({ "nodeLabel": key })));
    let is_new = |view: &View| {
        let theirs = view.get(KaiTopology, &name);
        theirs["spec"]["levels"] == keys
            && theirs["metadata"]["uid"] != uid
            && tree::of_kai(view.get(KaiPodGroup, "wl-0")).starts_with("wl-0 other-block~hostname")
    };
    world.until("KAI's topology is made anew, and the group follows", is_new).await;
    world.open(2).await;
    traps(&world.ready(2).await);
    forget(world, &["wl"], &[&name]).await;
}

/// Somebody deletes KAI's topology under a running set: it is made anew, and no pod is touched.
pub async fn a_topology_recreated_under_a_running_set(world: &World) {
    let name = topology(world, "t", &[("block", "example.com/block"), ("host", "kubernetes.io/hostname")]).await;
    world.open(2).await;
    world.create(&set("wl").clique(clique("worker", 2, 2)).pack("block").topology(&name).kai()).await;
    let view = world.ready(2).await;
    let (pods, uid) = (view.uids(|_| true), view.get(KaiTopology, &name)["metadata"]["uid"].clone());
    let groups = view.get(KaiPodGroup, "wl-0")["metadata"]["uid"].clone();
    world.delete(KaiTopology, &name).await;
    let is_back = |view: &View| {
        let found = view.get(KaiTopology, &name);
        found.is_object() && found["metadata"]["uid"] != uid
    };
    world.until("it is made anew", is_back).await;
    world.quiet().await;
    let view = world.observer.view();
    assert!(view.untouched(&pods));
    assert_eq!(view.get(KaiPodGroup, "wl-0")["metadata"]["uid"], groups);
    traps(&view);
    forget(world, &["wl"], &[&name]).await;
}

/// What lies below the host cannot be KAI's: it is left out and said so, and nothing fails.
pub async fn levels_below_the_host_are_left_out(world: &World) {
    let levels = [("rack", "example.com/rack"), ("host", "kubernetes.io/hostname"), ("numa", "example.com/numa")];
    let name = topology(world, "t", &levels).await;
    let view = world.until("KAI's topology is there", |view| view.get(KaiTopology, &name).is_object()).await;
    let keys = json!([{ "nodeLabel": "example.com/rack" }, { "nodeLabel": "kubernetes.io/hostname" }]);
    assert_eq!(view.get(KaiTopology, &name)["spec"]["levels"], keys);
    forget(world, &[], &[&name]).await;
}

/// A PodGroup that somebody changes or deletes is put right; what KAI owns in it stays.
pub async fn a_pod_group_is_kept(world: &World) {
    world.open(2).await;
    world.create(&set("wl").clique(clique("worker", 2, 2)).pack("rack").kai()).await;
    let view = world.ready(2).await;
    let right = tree::of_kai(view.get(KaiPodGroup, "wl-0"));
    world
        .edit(KaiPodGroup, "wl-0", |group| {
            *group = merged(group.take(), &json!({ "spec": { "markUnschedulable": true, "schedulingBackoff": -1 } }));
            group["spec"]["subGroups"][0]["minMember"] = 1.into();
        })
        .await;
    let is_right = |view: &View| {
        let group = view.get(KaiPodGroup, "wl-0");
        let is_kept = group["spec"]["markUnschedulable"] == true && group["spec"]["schedulingBackoff"] == -1;
        is_kept && tree::of_kai(group) == right
    };
    let view = world.until("it is put right, and KAI's own stays", is_right).await;
    let uid = view.get(KaiPodGroup, "wl-0")["metadata"]["uid"].clone();
    world.delete(KaiPodGroup, "wl-0").await;
    let is_back = |view: &View| {
        let found = view.get(KaiPodGroup, "wl-0");
        found.is_object() && found["metadata"]["uid"] != uid
    };
    let view = world.until("it is made anew", is_back).await;
    assert_eq!(tree::of_kai(view.get(KaiPodGroup, "wl-0")), right);
    traps(&view);
}

/// Another topology is tried while nothing is placed: gang and group are rewritten, and pods that KAI may be looking at are made anew.
pub async fn topology_retry(world: &World) {
    let first = topology(world, "a", &[("block", "example.com/a-block"), ("host", "kubernetes.io/hostname")]).await;
    let second = topology(world, "b", &[("block", "example.com/b-block"), ("host", "kubernetes.io/hostname")]).await;
    world.create(&set("wl").clique(clique("worker", 2, 2)).pack("block").topology(&first).kai()).await;
    let waiting = |view: &View| view.live().filter(|pod| !pod.is_gated() && pod.node().is_none()).count() == 2;
    let view = world.until("two pods wait", waiting).await;
    let old = view.uids(|_| true);
    traps(&view);
    world.edit(PodCliqueSet, "wl", |set| set["spec"]["template"]["clusterTopologyName"] = json!(second)).await;
    let expected = "wl-0 b-block~hostname\n  wl-0-worker 2 ~hostname";
    let is_new = |view: &View| {
        tree::of_kai(view.get(KaiPodGroup, "wl-0")) == expected
            && tree::of_gang(view.gang("wl-0")) == expected
            && waiting(view)
            && view.pods().all(|pod| !old.contains(pod.uid()))
    };
    let view = world.until("gang and group speak of the other topology, and pods are new", is_new).await;
    assert_eq!(view.get(KaiPodGroup, "wl-0")["spec"]["topologyConstraint"]["topology"], json!(second));
    traps(&view);
    world.open(2).await;
    traps(&world.ready(2).await);
    forget(world, &["wl"], &[&first, &second]).await;
}

/// The kinds as they are written down refuse what KAI refuses, or what follows from them would prove nothing.
pub async fn the_contract_can_say_no(world: &World) {
    let group = |spec: Value| {
        json!({
            "apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup",
            "metadata": { "name": "wrong", "namespace": world.namespace }, "spec": spec,
        })
    };
    let leaf = |name: &str| json!({ "name": name, "minMember": 1 });
    let child = |name: &str, parent: &str| json!({ "name": name, "minMember": 1, "parent": parent });
    let wrong = [
        ("a misspelt field", json!({ "subgroups": [leaf("a")] })),
        ("two of a name", json!({ "subGroups": [leaf("a"), leaf("a")] })),
        ("a parent that is not there", json!({ "subGroups": [child("a", "b")] })),
        ("a circle", json!({ "subGroups": [child("a", "b"), child("b", "a")] })),
        ("a leaf without a minimum", json!({ "subGroups": [{ "name": "a" }] })),
        ("a minimum above leaves", json!({ "subGroups": [leaf("a"), child("b", "a")] })),
        ("no DNS label", json!({ "subGroups": [leaf("A")] })),
        ("both minima", json!({ "minMember": 1, "minSubGroup": 1, "subGroups": [leaf("a")] })),
        ("a minimum of none", json!({ "minMember": 0 })),
        ("no level", json!({ "topologyConstraint": { "topology": "t" } })),
    ];
    for (what, spec) in wrong {
        let made = world.make(KaiPodGroup, &group(spec)).await;
        assert!(made.is_err(), "{what} is taken");
    }
    let topology = |levels: &[&str]| {
        let levels: Vec<Value> = levels.iter().map(|key| json!({ "nodeLabel": key })).collect();
        json!({
            "apiVersion": "kai.scheduler/v1alpha1", "kind": "Topology",
            "metadata": { "name": format!("{}-right", world.namespace) }, "spec": { "levels": levels },
        })
    };
    for levels in [&["a", "a"][..], &["kubernetes.io/hostname", "a"], &[], &["-"]] {
        assert!(world.make(KaiTopology, &topology(levels)).await.is_err(), "{levels:?} are taken");
    }
    let name = format!("{}-right", world.namespace);
    world.make(KaiTopology, &topology(&["a", "kubernetes.io/hostname"])).await.expect("these are right");
    let change = |topology: &mut Value| topology["spec"]["levels"][0]["nodeLabel"] = "b".into();
    assert!(world.try_edit(KaiTopology, &name, change).await.is_err(), "levels can be changed");
    world.delete(KaiTopology, &name).await;
}
