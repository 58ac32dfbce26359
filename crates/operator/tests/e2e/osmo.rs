//! OSMO's pools and workflows: the use cases of the design, and the life of a workflow, as users apply and see them.
//!
//! The racks of a world stand for NVLink domains and its blocks for zones and spines; of each only so many nodes are open as a case has.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use trellis_api::names::{annotation, label, osmo};
use trellis_cluster::nodes::Outcome;
use trellis_lifecycle::Kind::{
    self, ConfigMap, KaiPodGroup, KaiQueue, KaiTopology, Pod, PriorityClass, Service, Workflow,
};

use crate::server::OF;
use crate::use_cases::{domains, open};
use crate::view::{View, condition, is_true, text};
use crate::workloads::{clique, set};
use crate::world::World;

const BLOCK: (&str, &str) = ("zone", "kubernetes.io/block");
const RACK: (&str, &str) = ("gpu-clique", "kubernetes.io/rack");

fn levels(keys: &[(&str, &str)]) -> Value {
    keys.iter().map(|(key, label)| json!({ "key": key, "label": label })).collect()
}

/// The name of the world's pool: pools are the cluster's, and other worlds have theirs.
fn pool_name(world: &World) -> String {
    format!("pool-{}", world.namespace)
}

/// Makes the world's pool, and waits until workflows can run in it.
async fn make_pool(world: &World, keys: &[(&str, &str)], scheduler: &str) {
    let mut spec = json!({
        "k8s_namespace": world.namespace, "topology_keys": levels(keys),
        "scheduler_settings": { "scheduler_type": scheduler },
    });
    if let Some(selected) = world.selects() {
        spec["pod_template"] = json!({ "spec": { "nodeSelector": { OF: selected } } });
    }
    let name = pool_name(world);
    let pool =
        json!({ "apiVersion": "trellis.dev/v1alpha1", "kind": "Pool", "metadata": { "name": name }, "spec": spec });
    world.make(Kind::Pool, &pool).await.expect("the pool is admitted");
    world.until("the pool is ready", |view| is_true(view.get(Kind::Pool, &name), "Ready")).await;
}

/// A task of the usual size.
fn task(name: &str, resource: &str) -> Value {
    json!({ "name": name, "image": "app:1", "command": ["train"], "resource": resource })
}

/// What a task asks for, with what it has to share: level, group and whether it must.
fn resource(shared: &[(&str, &str, bool)]) -> Value {
    let topology: Vec<Value> = shared
        .iter()
        .map(|(key, group, must)| {
            json!({ "key": key, "group": group, "requirementType": if *must { "required" } else { "preferred" } })
        })
        .collect();
    json!({ "memory": "80Mi", "topology": topology })
}

fn workflow(world: &World, name: &str, groups: &[Value], resources: &Value) -> Value {
    json!({
        "apiVersion": "trellis.dev/v1alpha1", "kind": "Workflow",
        "metadata": { "name": name, "namespace": world.namespace },
        "spec": { "pool": pool_name(world), "groups": groups, "resources": resources },
    })
}

/// Models of four shards each, in one group; every model has its resource.
async fn submit(world: &World, models: usize, resources: &Value) {
    let shard = |model: usize, shard: usize| task(&format!("model{model}-shard{shard}"), &format!("model-{model}"));
    let tasks: Vec<Value> = (1..=models).flat_map(|model| (1..=4).map(move |n| shard(model, n))).collect();
    let workflow = workflow(world, "training", &[json!({ "name": "group1", "tasks": tasks })], resources);
    world.make(Workflow, &workflow).await.expect("the workflow is admitted");
}

fn state<'a>(view: &'a View, name: &str) -> &'a str {
    text(&view.get(Workflow, name)["status"]["state"])
}

fn group_of<'a>(view: &'a View, name: &str, group: &str) -> &'a Value {
    let groups = view.get(Workflow, name)["status"]["groups"].as_array().map(Vec::as_slice).unwrap_or_default();
    groups.iter().find(|it| it["name"] == group).unwrap_or(&Value::Null)
}

async fn reaches(world: &World, name: &str, wanted: &str) -> View {
    world.until(&format!("{name} is {wanted}"), |view| state(view, name) == wanted).await
}

/// Waits until the workflow says that it waits, and why, and nothing of it has a node.
async fn waits(world: &World) {
    let said = |view: &View| {
        let group = group_of(view, "training", "group1");
        group["state"] == "SCHEDULING" && text(&group["message"]).len() > 20
    };
    world.until("it waits, and says why", said).await;
    world.quiet().await;
    assert!(world.observer.view().pods().all(|pod| pod.node().is_none()), "{}", world.observer.view().dump());
}

/// Deletes a workflow, and waits until nothing is left of it.
async fn delete(world: &World, name: &str) {
    world.delete(Workflow, name).await;
    let left = |view: &View| {
        let is_ours = |object: &Value| {
            let labels = &object["metadata"]["labels"];
            !labels[osmo::label::WORKFLOW].is_null() && labels[label::PART_OF] == name
        };
        let kinds = [Pod, KaiPodGroup, Service, ConfigMap].into_iter();
        kinds.map(|kind| view.all(kind).filter(|(_, it)| is_ours(it)).count()).sum::<usize>()
    };
    world.until("nothing is left of the workflow", |view| view.get(Workflow, name).is_null() && left(view) == 0).await;
}

async fn delete_pool(world: &World) {
    let (namespace, pool) = (&world.namespace, pool_name(world));
    world.delete(Kind::Pool, &pool).await;
    let is_left = |view: &View| {
        let named = |kind: Kind, name: &str| !view.get(kind, name).is_null();
        named(Kind::Pool, &pool)
            || named(KaiQueue, &osmo::queue(namespace, &pool))
            || named(KaiQueue, &osmo::parent_queue(namespace))
            || view.all(KaiTopology).any(|(_, it)| it["metadata"]["labels"][osmo::label::POOL] == pool)
            // What other worlds have pools for stays with theirs.
            || view.all(PriorityClass).any(|(_, it)| it["metadata"]["ownerReferences"].as_array().into_iter().flatten().any(|owner| owner["name"] == pool))
    };
    world.until("nothing is left of the pool", |view| !is_left(view)).await;
}

/// 004, use case 1: four tasks must share a rack. Three places here and three there are not enough; four are.
pub async fn use_case_1_single_rack(world: &World) {
    make_pool(world, &[BLOCK, RACK], "trellis").await;
    open(world, &[(0, 3), (1, 3)]).await;
    submit(world, 1, &json!({ "model-1": resource(&[("gpu-clique", "default", true)]) })).await;
    waits(world).await;
    world.reopen(vec![world.node_names()[10].clone()]).await;
    let view = world.ready(4).await;
    assert_eq!(domains(world, &view, 7, "training-"), BTreeSet::from([1]), "{}", view.dump());
    let view = reaches(world, "training", "RUNNING").await;
    let tasks = group_of(&view, "training", "group1")["tasks"].as_array().cloned().unwrap_or_default();
    assert!(
        tasks.len() == 4 && tasks.iter().all(|task| task["state"] == "RUNNING" && task["node"].is_string()),
        "{tasks:?}"
    );
    delete(world, "training").await;
    delete_pool(world).await;
}

/// 004, use case 2: two models, each in a rack; which of them is where does not matter.
pub async fn use_case_2_multiple_racks(world: &World) {
    make_pool(world, &[BLOCK, RACK], "trellis").await;
    open(world, &[(0, 4), (3, 4)]).await;
    let model = |n: usize| resource(&[("gpu-clique", &format!("model-{n}-group"), true)]);
    submit(world, 2, &json!({ "model-1": model(1), "model-2": model(2) })).await;
    let view = world.ready(8).await;
    each_in_one_rack(world, &view);
    delete(world, "training").await;
    delete_pool(world).await;
}

fn each_in_one_rack(world: &World, view: &View) {
    for model in ["training-model1-", "training-model2-"] {
        assert_eq!(domains(world, view, 7, model).len(), 1, "{}", view.dump());
    }
}

fn both(must: bool) -> Value {
    let model =
        |n: usize| resource(&[("gpu-clique", &format!("model-{n}-group"), must), ("zone", "workflow-group", must)]);
    json!({ "model-1": model(1), "model-2": model(2) })
}

/// 004, use case 3: the same in one zone; only one zone has racks enough.
pub async fn use_case_3_racks_in_one_zone(world: &World) {
    make_pool(world, &[BLOCK, RACK], "trellis").await;
    open(world, &[(0, 4), (3, 4)]).await;
    submit(world, 2, &both(true)).await;
    waits(world).await;
    open(world, &[(1, 4)]).await;
    let view = world.ready(8).await;
    assert_eq!(domains(world, &view, 20, "training-"), BTreeSet::from([0]), "{}", view.dump());
    each_in_one_rack(world, &view);
    let group = view.get(KaiPodGroup, "training-group1");
    assert_eq!(group["spec"]["topologyConstraint"]["requiredTopologyLevel"], BLOCK.1, "{group}");
    let leaves: BTreeMap<&str, &Value> = group["spec"]["subGroups"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|it| (text(&it["name"]), &it["minMember"]))
        .collect();
    let four = json!(4);
    assert_eq!(
        leaves,
        BTreeMap::from([("workflow-group-model-1-group", &four), ("workflow-group-model-2-group", &four)])
    );
    delete(world, "training").await;
    delete_pool(world).await;
}

/// 004, use case 4: racks and spines are preferred. One spine where there is room; where there is none, each model in its rack all the same.
pub async fn use_case_4_best_effort(world: &World) {
    make_pool(world, &[BLOCK, RACK], "trellis").await;
    open(world, &[(0, 4), (1, 4), (3, 4)]).await;
    submit(world, 2, &both(false)).await;
    let view = world.ready(8).await;
    assert_eq!(domains(world, &view, 20, "training-"), BTreeSet::from([0]), "{}", view.dump());
    each_in_one_rack(world, &view);
    delete(world, "training").await;
    world.close_all().await;
    open(world, &[(0, 4), (3, 4)]).await;
    submit(world, 2, &both(false)).await;
    let view = world.ready(8).await;
    assert_eq!(domains(world, &view, 20, "training-").len(), 2, "{}", view.dump());
    each_in_one_rack(world, &view);
    delete(world, "training").await;
    delete_pool(world).await;
}

async fn finish(world: &World, pod: &str, outcome: Outcome) {
    world.cluster.nodes.finish(&world.namespace, pod, None, outcome).await.expect("it runs");
}

/// A group starts when those that it needs have completed; what they held is free for it at once.
pub async fn groups_start_in_the_order_of_their_inputs(world: &World) {
    make_pool(world, &[BLOCK, RACK], "trellis").await;
    open(world, &[(0, 2)]).await;
    let mut after = task("score", "default");
    after["inputs"] = json!([{ "task": "lead" }]);
    after["files"] = json!([{ "path": "/etc/score", "contents": "{{host:lead}}" }]);
    let groups = [
        json!({ "name": "train", "tasks": [task("lead", "default"), task("other", "default")] }),
        json!({ "name": "test", "tasks": [after, task("watch", "default")] }),
    ];
    let resources = json!({ "default": resource(&[("gpu-clique", "default", true)]) });
    world.make(Workflow, &workflow(world, "wf", &groups, &resources)).await.expect("the workflow is admitted");
    let view = world.ready(2).await;
    assert_eq!(view.names(Pod), ["wf-lead", "wf-other"]);
    assert_eq!(group_of(&view, "wf", "test")["state"], "WAITING");
    assert_eq!(view.get(Service, "wf-train")["spec"]["clusterIP"], "None");
    // The one that leads is done, so the group is, and the other does not go on: there is room for two only.
    finish(world, "wf-lead", Outcome::Success).await;
    let running = |view: &View| {
        let pods = ["wf-score", "wf-watch"].map(|name| view.get(Pod, name));
        pods.iter().all(|pod| is_true(pod, "Ready")) && view.get(KaiPodGroup, "wf-train").is_null()
    };
    let view = world.until("the next group runs in the place of the first", running).await;
    assert_eq!(group_of(&view, "wf", "train")["state"], "COMPLETED");
    let file = view.get(ConfigMap, "wf-score");
    assert!(text(&file["data"]["0"]).starts_with("wf-lead.wf-train."), "{file}");
    finish(world, "wf-score", Outcome::of_code(3)).await;
    let view = reaches(world, "wf", "FAILED").await;
    assert_eq!(condition(view.get(Workflow, "wf"), "Complete"), ("False", "Failed"));
    assert!(
        text(&view.get(Workflow, "wf")["status"]["message"]).contains("exit code 3"),
        "{}",
        view.get(Workflow, "wf")
    );
    delete(world, "wf").await;
    delete_pool(world).await;
}

/// A pod that goes comes back with its leaf, in the domain of the others.
pub async fn a_lost_task_comes_back_to_its_leaf(world: &World) {
    make_pool(world, &[BLOCK, RACK], "trellis").await;
    open(world, &[(0, 5), (3, 5)]).await;
    let model = |n: usize| resource(&[("gpu-clique", &format!("model-{n}-group"), true)]);
    submit(world, 2, &json!({ "model-1": model(1), "model-2": model(2) })).await;
    let view = world.ready(8).await;
    let name = "training-model2-shard3";
    let (uid, leaf) = (
        text(&view.get(Pod, name)["metadata"]["uid"]).to_owned(),
        view.get(Pod, name)["metadata"]["labels"][label::KAI_SUBGROUP].clone(),
    );
    assert_eq!(leaf, "model-2-group");
    let others = view.uids(|pod| pod.name() != name);
    world.delete(Pod, name).await;
    let is_back = |view: &View| {
        let pod = view.get(Pod, name);
        is_true(pod, "Ready") && text(&pod["metadata"]["uid"]) != uid
    };
    world.until("it is back", is_back).await;
    let view = world.ready(8).await;
    assert!(view.untouched(&others));
    let pod = view.get(Pod, name);
    assert_eq!(pod["metadata"]["labels"][label::KAI_SUBGROUP], leaf);
    assert_eq!(pod["metadata"]["labels"][osmo::label::RETRY], "1");
    each_in_one_rack(world, &view);
    delete(world, "training").await;
    delete_pool(world).await;
}

/// The pool's levels change while a gang runs: the gang keeps the levels that it was made for, a member that is lost then comes back among
/// the others, and the pool says what it has now.
pub async fn levels_change_under_a_running_gang(world: &World) {
    make_pool(world, &[BLOCK, RACK], "trellis").await;
    open(world, &[(0, 5), (3, 5)]).await;
    submit(world, 1, &json!({ "model-1": resource(&[("gpu-clique", "default", true)]) })).await;
    let before = world.ready(4).await;
    let rack = domains(world, &before, 7, "training-");
    let (pool, topology) = (pool_name(world), osmo::topology(&world.namespace, &pool_name(world)));
    world
        .edit(Kind::Pool, &pool, |pool| {
            pool["spec"]["topology_keys"] = levels(&[RACK, ("node", "kubernetes.io/hostname")]);
        })
        .await;
    let is_changed = |view: &View| {
        let made = &view.get(KaiTopology, &topology)["spec"]["levels"];
        let pool = view.get(Kind::Pool, &pool);
        made[0]["nodeLabel"] == RACK.1
            && made[1]["nodeLabel"] == "kubernetes.io/hostname"
            && is_true(pool, "TopologyInSync")
            && pool["status"]["levels"][0]["key"] == RACK.0
    };
    let view = world.until("the topology has the new levels, and the pool says so", is_changed).await;
    let named = text(&view.get(KaiPodGroup, "training-group1")["spec"]["topologyConstraint"]["topology"]).to_owned();
    assert_ne!(named, topology);
    assert_eq!(view.get(KaiTopology, &named)["spec"]["levels"][0]["nodeLabel"], BLOCK.1);
    assert!(view.untouched(&before.uids(|_| true)));
    let uid = text(&view.get(Pod, "training-model1-shard2")["metadata"]["uid"]).to_owned();
    world.delete(Pod, "training-model1-shard2").await;
    world.until("it is gone", |view| view.pods().all(|pod| pod.uid() != uid)).await;
    let view = world.ready(4).await;
    assert_eq!(domains(world, &view, 7, "training-"), rack, "{}", view.dump());
    delete(world, "training").await;
    world.until("what was kept is gone", |view| view.get(KaiTopology, &named).is_null()).await;
    delete_pool(world).await;
}

/// A pool that is deleted stays, with all that its gangs rely on, until the last of them is gone, and says so.
pub async fn a_pool_is_deleted_under_a_running_gang(world: &World) {
    make_pool(world, &[BLOCK, RACK], "kai").await;
    world.open(4).await;
    submit(world, 1, &json!({ "model-1": resource(&[("gpu-clique", "default", true)]) })).await;
    world.ready(4).await;
    let (pool, topology) = (pool_name(world), osmo::topology(&world.namespace, &pool_name(world)));
    world.delete(Kind::Pool, &pool).await;
    let is_said = |view: &View| is_true(view.get(Kind::Pool, &pool), "DeletionBlocked");
    let view = world.until("it is said who is in the way", is_said).await;
    assert!(
        !view.get(KaiTopology, &topology).is_null()
            && !view.get(KaiQueue, &osmo::queue(&world.namespace, &pool)).is_null()
    );
    let uid = text(&view.get(Pod, "training-model1-shard2")["metadata"]["uid"]).to_owned();
    world.delete(Pod, "training-model1-shard2").await;
    world.until("it is gone", |view| view.pods().all(|pod| pod.uid() != uid)).await;
    world.ready(4).await;
    delete(world, "training").await;
    world.until("the pool is gone", |view| view.get(Kind::Pool, &pool).is_null()).await;
}

/// What cannot be written for a workflow stands in its status until it can be.
pub async fn what_cannot_be_written_is_told(world: &World) {
    make_pool(world, &[RACK], "kai").await;
    world.open(1).await;
    let taken = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "wf-a", "namespace": world.namespace },
    });
    world.make(ConfigMap, &taken).await.expect("it is made");
    let mut with_file = task("a", "default");
    with_file["files"] = json!([{ "path": "/etc/a", "contents": "a" }]);
    let groups = [json!({ "name": "g", "tasks": [with_file] })];
    let wf = workflow(world, "wf", &groups, &json!({ "default": resource(&[]) }));
    world.make(Workflow, &wf).await.expect("the workflow is admitted");
    let is_told = |view: &View| text(&view.get(Workflow, "wf")["status"]["message"]).contains("wf-a");
    world.until("it is told what is in the way", is_told).await;
    world.delete(ConfigMap, "wf-a").await;
    world.ready(1).await;
    let view = reaches(world, "wf", "RUNNING").await;
    assert!(view.get(Workflow, "wf")["status"]["message"].is_null(), "{}", view.get(Workflow, "wf"));
    delete(world, "wf").await;
    delete_pool(world).await;
}

/// A workflow that is canceled ends, frees its place for the next one, and stays to be looked at.
pub async fn a_canceled_workflow_frees_its_place(world: &World) {
    make_pool(world, &[BLOCK, RACK], "trellis").await;
    open(world, &[(0, 4)]).await;
    let model = json!({ "model-1": resource(&[("gpu-clique", "default", true)]) });
    submit(world, 1, &model).await;
    world.ready(4).await;
    let groups = [json!({ "name": "g", "tasks": [task("a", "default")] })];
    let next = workflow(world, "next", &groups, &json!({ "default": resource(&[("gpu-clique", "default", true)]) }));
    world.make(Workflow, &next).await.expect("the workflow is admitted");
    world.until("the next one waits", |view| group_of(view, "next", "g")["state"] == "SCHEDULING").await;
    world.edit(Workflow, "training", |it| it["spec"]["cancel"] = true.into()).await;
    let view = reaches(world, "training", "FAILED_CANCELED").await;
    assert_eq!(group_of(&view, "training", "group1")["tasks"][0]["state"], "FAILED_CANCELED");
    reaches(world, "next", "RUNNING").await;
    delete(world, "next").await;
    delete(world, "training").await;
    delete_pool(world).await;
}

/// Time alone ends a group: one that waits too long for its place, and one that runs too long.
pub async fn a_group_that_takes_too_long(world: &World) {
    make_pool(world, &[BLOCK, RACK], "kai").await;
    world.open(1).await;
    let time = if world.is_real() { "1s" } else { "10m" };
    let groups = |name: &str| [json!({ "name": "g", "tasks": [task(name, "default")] })];
    let resources = json!({ "default": { "memory": "80Mi" } });
    let mut runs = workflow(world, "runs", &groups("a"), &resources);
    runs["spec"]["timeout"] = json!({ "exec_timeout": time });
    world.make(Workflow, &runs).await.expect("the workflow is admitted");
    let view = reaches(world, "runs", "FAILED_EXEC_TIMEOUT").await;
    assert!(text(&group_of(&view, "runs", "g")["message"]).starts_with("ran for"), "{}", view.dump());
    world.until("its pod does not go on", |view| view.get(Pod, "runs-a").is_null()).await;
    world.close_all().await;
    let mut waits = workflow(world, "waits", &groups("a"), &resources);
    waits["spec"]["timeout"] = json!({ "queue_timeout": time });
    world.make(Workflow, &waits).await.expect("the workflow is admitted");
    let view = reaches(world, "waits", "FAILED_QUEUE_TIMEOUT").await;
    assert!(text(&group_of(&view, "waits", "g")["message"]).starts_with("waited"), "{}", view.dump());
    world.pass(Duration::from_mins(1)).await;
    for name in ["runs", "waits"] {
        delete(world, name).await;
    }
    delete_pool(world).await;
}

/// What KAI is given is taken by its API, with what its webhooks refuse as rules of its kinds: leaves have minima and others have none, names
/// are legal, parents are there. Every pod names a leaf.
pub async fn what_kai_is_given(world: &World) {
    make_pool(world, &[("row", "kubernetes.io/zone"), BLOCK, RACK], "kai").await;
    world.open(12).await;
    let a = |name: &str| task(name, name);
    let names = ["a", "b", "c", "d", "free", "Odd_Name"];
    let groups = [
        json!({ "name": "mixed", "tasks": names.map(a) }),
        json!({ "name": "plain", "tasks": [task("alone", "none")] }),
    ];
    let resources = json!({
        "a": resource(&[("row", "r", true), ("zone", "z1", false), ("gpu-clique", "one", true)]),
        "b": resource(&[("row", "r", true), ("zone", "z1", false), ("gpu-clique", "two", true)]),
        "c": resource(&[("row", "r", true), ("zone", "z2", true)]),
        "d": resource(&[("gpu-clique", "default", true)]),
        "free": resource(&[]),
        "Odd_Name": resource(&[("row", "r", true), ("zone", "z2", true), ("gpu-clique", &"x".repeat(63), false)]),
        "none": resource(&[]),
    });
    world.make(Workflow, &workflow(world, "kai", &groups, &resources)).await.expect("the workflow is admitted");
    let view = world.ready(7).await;
    let group = view.get(KaiPodGroup, "kai-mixed");
    assert!(group["spec"]["minMember"].is_null(), "{group}");
    let subs: BTreeMap<&str, &Value> =
        group["spec"]["subGroups"].as_array().into_iter().flatten().map(|it| (text(&it["name"]), it)).collect();
    let inner: BTreeSet<&str> = subs.values().map(|it| text(&it["parent"])).filter(|it| !it.is_empty()).collect();
    for (name, sub) in &subs {
        assert_eq!(sub["minMember"].is_null(), inner.contains(name), "{name}");
        assert_ne!(*name, "default");
    }
    for pod in view.pods().filter(|pod| pod.annotation(annotation::KAI_POD_GROUP) == "kai-mixed") {
        let leaf = pod.label(label::KAI_SUBGROUP);
        assert!(subs.contains_key(leaf) && !inner.contains(leaf), "{}: {leaf:?}", pod.name());
        assert_eq!(pod.0["spec"]["schedulerName"], "kai-scheduler");
        assert_eq!(pod.annotation(annotation::KAI_SKIP_POD_GROUPER), "true");
    }
    // All that waits is what KAI places: no pod is without its gang.
    assert!(view.pods().all(|pod| !view.get(KaiPodGroup, pod.annotation(annotation::KAI_POD_GROUP)).is_null()));
    let queue = view.get(KaiQueue, text(&group["spec"]["queue"]));
    assert_eq!(queue["spec"]["parentQueue"], osmo::parent_queue(&world.namespace), "{queue}");
    delete(world, "kai").await;
    delete_pool(world).await;
}

/// What is not sound is refused by the API, in the words of the rules; what can never be placed is said.
pub async fn what_is_refused(world: &World) {
    let name = pool_name(world);
    let pool = |keys: Value, scheduler: &str| {
        json!({
            "apiVersion": "trellis.dev/v1alpha1", "kind": "Pool", "metadata": { "name": name },
            "spec": { "k8s_namespace": world.namespace, "topology_keys": keys, "scheduler_settings": { "scheduler_type": scheduler } },
        })
    };
    let refused = async |kind: Kind, object: &Value, why: &str| {
        let error = world.make(kind, object).await.expect_err("it is refused").to_string();
        assert!(error.contains(why), "{error}");
    };
    refused(Kind::Pool, &pool(levels(&[RACK]), "default"), "does not support topology constraints").await;
    let hosts = levels(&[("node", "kubernetes.io/hostname"), RACK]);
    refused(Kind::Pool, &pool(hosts, "kai"), "last level").await;
    make_pool(world, &[RACK], "kai").await;
    let groups = [json!({ "name": "g", "tasks": [task("a", "default")] })];
    let spine = json!({ "default": resource(&[("spine", "default", true)]) });
    refused(Workflow, &workflow(world, "wf", &groups, &spine), "spine").await;
    let mut elsewhere = workflow(world, "wf", &groups, &json!({ "default": resource(&[]) }));
    elsewhere["spec"]["pool"] = "nowhere".into();
    refused(Workflow, &elsewhere, "no pool is called so").await;
    // More than any rack has places is let in, since racks may grow, and it is said.
    let tasks: Vec<Value> = (0..30).map(|n| task(&format!("t{n}"), "default")).collect();
    let many = [json!({ "name": "g", "tasks": tasks })];
    let mut rack = json!({ "default": resource(&[("gpu-clique", "default", true)]) });
    rack["default"]["gpu"] = 8.into();
    let answer = trellis_testkit::objects::create(&world.client, &workflow(world, "large", &many, &rack)).await;
    let warnings = answer.expect("the workflow is admitted").warnings;
    assert!(warnings.iter().any(|it| it.contains("group \\\"g\\\" can never be placed")), "{warnings:?}");
    delete(world, "large").await;
    let fine = workflow(world, "wf", &groups, &json!({ "default": resource(&[]) }));
    world.make(Workflow, &fine).await.expect("the workflow is admitted");
    let changed =
        world.try_edit(Workflow, "wf", |it| it["spec"]["groups"][0]["tasks"][0]["image"] = "app:2".into()).await;
    assert!(changed.expect_err("it is refused").to_string().contains("cannot be changed"));
    // Metadata is the user's.
    let patch = Patch::Merge(json!({ "metadata": { "labels": { "a": "b" } } }));
    world.api(Workflow).patch("wf", &PatchParams::default(), &patch).await.expect("it is admitted");
    delete(world, "wf").await;
    delete_pool(world).await;
}

/// What stands is left alone.
pub async fn nothing_is_written_at_rest(world: &World) {
    make_pool(world, &[BLOCK, RACK], "kai").await;
    world.open(8).await;
    submit(world, 2, &both(true)).await;
    world.ready(8).await;
    reaches(world, "training", "RUNNING").await;
    world.quiet().await;
    let before = world.observer.view().versions();
    world.pass(Duration::from_mins(10)).await;
    world.quiet().await;
    assert_eq!(world.observer.view().versions(), before);
    delete(world, "training").await;
    delete_pool(world).await;
}

/// A set and a workflow of one name have nothing to do with each other.
pub async fn a_workflow_beside_a_set_of_its_name(world: &World) {
    make_pool(world, &[BLOCK, RACK], "kai").await;
    world.open(3).await;
    world.create(&set("wl").clique(clique("a", 1, 1))).await;
    let groups = [json!({ "name": "g", "tasks": [task("a", "default"), task("b", "default")] })];
    world
        .make(Workflow, &workflow(world, "wl", &groups, &json!({ "default": resource(&[]) })))
        .await
        .expect("admitted");
    let view = world.ready(3).await;
    let of_set = view.uids(|pod| !pod.clique().is_empty());
    assert_eq!(of_set.len(), 1);
    delete(world, "wl").await;
    world.quiet().await;
    assert!(world.observer.view().untouched(&of_set));
    world
        .make(Workflow, &workflow(world, "wl", &groups, &json!({ "default": resource(&[]) })))
        .await
        .expect("admitted");
    world.ready(3).await;
    world.delete(Kind::PodCliqueSet, "wl").await;
    world
        .until("the set is gone", |view| view.pods().all(|pod| pod.clique().is_empty()) && view.set("wl").is_null())
        .await;
    world.quiet().await;
    let view = world.ready(2).await;
    assert_eq!(view.names(Pod), ["wl-a", "wl-b"]);
    delete(world, "wl").await;
    delete_pool(world).await;
}
