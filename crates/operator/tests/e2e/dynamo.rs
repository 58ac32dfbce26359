//! DynamoGraphDeployments: where their pods are, what is said of them, and what is left of them.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::ListParams;
use serde_json::{Value, json};
use trellis_lifecycle::Kind::{ClusterTopology, DynamoGraphDeployment, PodClique, PodCliqueSet, PodGang, ScalingGroup};

use crate::running::configuration;
use crate::server::{OF, merged};
use crate::tas::{domains, share};
use crate::view::{View, condition, text};
use crate::world::{World, left};

const ENFORCED: &str = "TopologyConstraintsEnforced";
const ALPHA: &str = "nvidia.com/v1alpha1";
const BETA: &str = "nvidia.com/v1beta1";
/// How often it is looked whether something was told.
const TICK: Duration = Duration::from_millis(20);
const TICKS: usize = 1500;

/// A deployment of these components.
fn deployment(components: &[Value]) -> Value {
    json!({
        "apiVersion": BETA, "kind": "DynamoGraphDeployment", "metadata": { "name": "dgd" },
        "spec": { "components": components },
    })
}

/// A component whose pods fill a node each.
fn component(name: &str, type_: &str, replicas: usize) -> Value {
    let resources = json!({ "requests": { "memory": "80Mi" } });
    let main = json!({ "name": "main", "image": "app:1", "args": ["run"], "resources": resources });
    json!({
        "name": name, "type": type_, "replicas": replicas,
        "podTemplate": { "spec": { "containers": [main], "terminationGracePeriodSeconds": 0 } },
    })
}

/// The same over so many nodes, with SGLang.
fn spanning(name: &str, replicas: usize, nodes: usize) -> Value {
    let mut component = component(name, "worker", replicas);
    component["multinode"] = json!({ "nodeCount": nodes });
    component["podTemplate"]["spec"]["containers"][0]["args"] = json!(["python3 -m dynamo.sglang --model m"]);
    component
}

fn pack(mut what: Value, domain: &str) -> Value {
    let place = if what.get("spec").is_some() { &mut what["spec"] } else { &mut what };
    place["topologyConstraint"]["packDomain"] = domain.into();
    what
}

/// Creates a deployment whose pods go to nodes of this world only.
async fn create(world: &World, deployment: &Value) -> kube::Result<Value> {
    let mut deployment = deployment.clone();
    if let Some(selected) = world.selects() {
        for component in deployment["spec"]["components"].as_array_mut().into_iter().flatten() {
            component["podTemplate"]["spec"]["nodeSelector"][OF] = json!(selected);
        }
    }
    world.make(DynamoGraphDeployment, &deployment).await
}

/// Waits until it is ready and says that its constraints are enforced, if it has any.
async fn is_served(world: &World, pods: usize, enforced: bool) -> View {
    world.ready(pods).await;
    let expected = if enforced { ("True", "AllTopologyLevelsAvailable") } else { ("", "") };
    let is_so = |view: &View| {
        let found = view.get(DynamoGraphDeployment, "dgd");
        condition(found, "Ready") == ("True", "all_resources_are_ready")
            && found["status"]["state"] == "successful"
            && condition(found, ENFORCED) == expected
    };
    world.until("the deployment says that all is well", is_so).await
}

/// Waits until this is said of its constraints.
async fn enforced(world: &World, status: &str, reason: &str) -> View {
    let what = format!("{ENFORCED} is {status} {reason}");
    let said = |view: &View| condition(view.get(DynamoGraphDeployment, "dgd"), ENFORCED) == (status, reason);
    world.until(&what, said).await
}

/// Waits until people were told so much of the deployment, and no more: the reasons, with how often each was given.
async fn told(world: &World, expected: &[(&str, usize)]) {
    let events: Api<Event> = Api::namespaced(world.client.clone(), &world.namespace);
    let mut ticks = tokio::time::interval(TICK);
    for tick in 0.. {
        ticks.tick().await;
        let listed = events.list(&ListParams::default()).await.expect("events");
        let mut found = std::collections::BTreeMap::<String, usize>::new();
        for event in listed.items {
            if event.regarding.and_then(|about| about.kind).as_deref() == Some("DynamoGraphDeployment") {
                let times = event.series.map_or(1, |series| usize::try_from(series.count).unwrap_or(0));
                *found.entry(event.reason.unwrap_or_default()).or_default() += times;
            }
        }
        let wanted = expected.iter().map(|(reason, times)| ((*reason).to_owned(), *times)).collect();
        if found == wanted {
            return;
        }
        assert!(tick < TICKS, "people should be told {wanted:?}, and were told {found:?}");
    }
}

async fn vanishes(world: &World) {
    world.delete(DynamoGraphDeployment, "dgd").await;
    world.until("nothing is left of the deployment", |view| left(view).is_empty()).await;
}

/// Images of live pods, as the server has them now.
async fn images(world: &World, prefix: &str) -> Vec<String> {
    let pods: Api<Pod> = Api::namespaced(world.client.clone(), &world.namespace);
    let listed = pods.list(&ListParams::default()).await.expect("pods").items.into_iter();
    let live = listed.filter(|pod| pod.metadata.deletion_timestamp.is_none());
    let of = live.filter(|pod| pod.metadata.name.as_deref().is_some_and(|name| name.starts_with(prefix)));
    of.filter_map(|pod| pod.spec?.containers.into_iter().next()?.image).collect()
}

fn refusal<T: std::fmt::Debug>(result: kube::Result<T>) -> String {
    match result {
        Err(kube::Error::Api(status)) => status.message.clone(),
        other => panic!("it should be refused: {other:?}"),
    }
}

/// Components on one node each, with a constraint on the deployment and a narrower one on a component.
pub async fn single_node_at_both_levels(world: &World) {
    world.open(30).await;
    let worker = pack(component("VllmWorker", "worker", 3), "rack");
    let wanted = pack(deployment(&[component("Frontend", "frontend", 2), worker]), "block");
    create(world, &wanted).await.expect("it is admitted");
    let view = is_served(world, 5, true).await;
    share(world, &view, "block", "dgd-0-");
    share(world, &view, "rack", "dgd-0-vllmworker-");
    let found = view.get(DynamoGraphDeployment, "dgd");
    let worker = &found["status"]["components"]["VllmWorker"];
    assert_eq!(worker["componentKind"], "PodClique");
    assert_eq!(worker["componentNames"], json!(["dgd-0-vllmworker"]));
    for count in ["replicas", "updatedReplicas", "readyReplicas", "scheduledReplicas"] {
        assert_eq!(worker[count], 3, "{count}: {worker}");
    }
    assert_eq!(found["status"]["observedGeneration"], found["metadata"]["generation"]);
    told(world, &[("TopologyConstraintsApplied", 1)]).await;

    // More replicas go to the same rack, and leave the template of the set alone.
    let generation = view.set("dgd")["metadata"]["generation"].clone();
    let pods = view.uids(|_| true);
    world.edit(DynamoGraphDeployment, "dgd", |it| it["spec"]["components"][1]["replicas"] = 5.into()).await;
    let view = is_served(world, 7, true).await;
    share(world, &view, "rack", "dgd-0-vllmworker-");
    assert!(view.untouched(&pods), "{}", view.dump());
    assert_eq!(view.set("dgd")["metadata"]["generation"], generation, "the set was changed");
    assert_eq!(view.get(PodClique, "dgd-0-vllmworker")["spec"]["replicas"], 5);

    // What changes the pods changes the set, and keeps the replicas.
    world
        .edit(DynamoGraphDeployment, "dgd", |it| {
            it["spec"]["components"][1]["podTemplate"]["spec"]["containers"][0]["image"] = "app:2".into();
        })
        .await;
    let is_ready = |view: &View| {
        let found = view.get(DynamoGraphDeployment, "dgd");
        let generation = &found["metadata"]["generation"];
        found["spec"]["components"][1]["podTemplate"]["spec"]["containers"][0]["image"] == "app:2"
            && found["status"]["observedGeneration"] == *generation
            && condition(found, "Ready").0 == "True"
    };
    world.until("it says that it is ready as it was changed", is_ready).await;
    // What is said of a generation is so once it is said.
    let images = images(world, "dgd-0-vllmworker-").await;
    assert_eq!(images, ["app:2"; 5], "Ready was said of workers that were not updated");
    let view = is_served(world, 7, true).await;
    share(world, &view, "rack", "dgd-0-vllmworker-");
    told(world, &[("TopologyConstraintsApplied", 1)]).await;
    vanishes(world).await;
}

/// Replicas over several nodes: each in a rack of its own choice, all in a block.
pub async fn multinode_at_both_levels(world: &World) {
    world.open(30).await;
    let mut worker = pack(spanning("decode", 2, 4), "rack");
    worker["minAvailable"] = 2.into();
    let wanted = pack(deployment(&[component("Frontend", "frontend", 1), worker]), "block");
    create(world, &wanted).await.expect("it is admitted");
    let view = is_served(world, 9, true).await;
    share(world, &view, "block", "dgd-0-");
    share(world, &view, "rack", "dgd-0-decode-0-");
    share(world, &view, "rack", "dgd-0-decode-1-");
    // Eight pods fill more than the seven nodes of a rack.
    assert_eq!(domains(world, &view, "rack", "dgd-0-decode-").len(), 2, "{}", view.dump());
    let decode = &view.get(DynamoGraphDeployment, "dgd")["status"]["components"]["decode"];
    assert_eq!(decode["componentKind"], "PodCliqueScalingGroup");
    assert_eq!((&decode["replicas"], &decode["availableReplicas"]), (&json!(2), &json!(2)), "{decode}");
    let workers = view.of_clique("dgd-0-decode-0-decode-wkr");
    assert_eq!(workers.len(), 3, "{}", view.dump());
    let line = text(&workers[0].0["spec"]["containers"][0]["args"][0]);
    assert!(line.contains("--nnodes 4") && line.contains("--dist-init-addr"), "{line}");

    // One replica more and one fewer, through the scaling group: a gang of its own, in a rack of the same block.
    let generation = view.set("dgd")["metadata"]["generation"].clone();
    for (replicas, pods) in [(3, 13), (2, 9)] {
        let change = move |it: &mut Value| it["spec"]["components"][1]["replicas"] = replicas.into();
        world.edit(DynamoGraphDeployment, "dgd", change).await;
        let view = is_served(world, pods, true).await;
        assert_eq!(view.get(ScalingGroup, "dgd-0-decode")["spec"]["replicas"], replicas);
        assert_eq!(view.set("dgd")["metadata"]["generation"], generation, "the set was changed");
        share(world, &view, "block", "dgd-0-");
        (0..replicas).for_each(|replica| share(world, &view, "rack", &format!("dgd-0-decode-{replica}-")));
    }
    vanishes(world).await;
}

/// A deployment that asks for more than a rack has waits as a whole, and says so.
pub async fn no_room(world: &World) {
    world.open(30).await;
    let wanted = pack(deployment(&[component("Frontend", "frontend", 1), spanning("decode", 1, 8)]), "rack");
    create(world, &wanted).await.expect("it is admitted");
    let waits = |view: &View| {
        let found = view.get(DynamoGraphDeployment, "dgd");
        condition(found, "Ready") == ("False", "insufficient_capacity") && found["status"]["state"] == "pending"
    };
    world.until("it says that it waits", waits).await;
    world.placed(&[]).await;
    vanishes(world).await;
}

/// Without a constraint nothing is said of any, and nothing is asked of the gang.
pub async fn without_constraints(world: &World) {
    world.open(4).await;
    create(world, &deployment(&[component("Frontend", "frontend", 2)])).await.expect("it is admitted");
    let view = is_served(world, 2, false).await;
    assert!(view.get(PodGang, "dgd-0")["spec"]["topologyConstraint"].is_null());
    told(world, &[]).await;
    vanishes(world).await;
}

/// Sends a deployment in the older version.
async fn send_alpha(world: &World, spec: &Value) -> kube::Result<Value> {
    let object = json!({
        "apiVersion": ALPHA, "kind": "DynamoGraphDeployment", "metadata": { "name": "dgd" }, "spec": spec,
    });
    let url = format!("/apis/{ALPHA}/namespaces/{}/dynamographdeployments?fieldValidation=Strict", world.namespace);
    let request = http::Request::post(url).header("content-type", "application/json");
    world.client.request(request.body(object.to_string().into_bytes()).expect("a request")).await
}

async fn read(world: &World, version: &str) -> Value {
    let url = format!("/apis/{version}/namespaces/{}/dynamographdeployments/dgd", world.namespace);
    let request = http::Request::get(url).body(Vec::new()).expect("a request");
    world.client.request(request).await.expect("it is there")
}

/// Services as a list and as a map, in the version that is not stored: they are read as they were written, and served alike.
pub async fn older_shapes(world: &World) {
    world.open(4).await;
    let pods = json!({ "mainContainer": { "image": "app:1", "args": ["run"] }, "terminationGracePeriodSeconds": 0 });
    let service = |name: Option<&str>| {
        let mut service = json!({ "componentType": "frontend", "replicas": 2, "extraPodSpec": pods });
        service["resources"] = json!({ "requests": { "memory": "80Mi" } });
        service["topologyConstraint"] = json!({ "packDomain": "rack" });
        if let Some(selected) = world.selects() {
            service["extraPodSpec"]["nodeSelector"] = json!({ OF: selected });
        }
        if let Some(name) = name {
            service["name"] = name.into();
        }
        service
    };
    let envs = json!([{ "name": "A", "value": "a" }]);
    for services in [json!([service(Some("Front"))]), json!({ "Front": service(None) })] {
        let written = json!({ "services": services, "envs": envs });
        let mut ticks = tokio::time::interval(TICK);
        for tick in 0.. {
            send_alpha(world, &written).await.expect("it is admitted");
            // A server learns a moment later whom to ask for other versions.
            if read(world, BETA).await["spec"]["components"].is_array() {
                break;
            }
            assert!(tick < TICKS, "nobody is asked for other versions");
            vanishes(world).await;
            ticks.tick().await;
        }
        let stored = read(world, BETA).await;
        assert_eq!(stored["spec"]["components"][0]["name"], "Front");
        assert_eq!(stored["spec"]["components"][0]["type"], "frontend");
        assert_eq!(read(world, ALPHA).await["spec"], written);
        let view = is_served(world, 2, true).await;
        share(world, &view, "rack", "dgd-0-front-");
        let status = read(world, ALPHA).await["status"].clone();
        assert_eq!(status["services"]["Front"]["readyReplicas"], 2, "{status}");
        // A change in the newer version shows in the older one.
        world.edit(DynamoGraphDeployment, "dgd", |it| it["spec"]["components"][0]["replicas"] = 3.into()).await;
        is_served(world, 3, true).await;
        let changed = read(world, ALPHA).await["spec"]["services"].clone();
        let front = if changed.is_array() { &changed[0] } else { &changed["Front"] };
        assert_eq!(front["replicas"], 3, "{changed}");
        vanishes(world).await;
    }
    unknown_fields_are_kept(world).await;
}

/// A field that nobody knows, and the places where users write.
const UNKNOWN: &str = "fromTomorrow";
const PLACES: [&str; 9] = [
    "/spec",
    "/spec/topologyConstraint",
    "/spec/components/0",
    "/spec/components/0/topologyConstraint",
    "/spec/components/0/multinode",
    "/spec/components/0/podTemplate",
    "/spec/components/0/podTemplate/metadata",
    "/spec/components/0/podTemplate/spec",
    "/spec/components/0/podTemplate/spec/containers/0",
];

/// What nobody knows is kept, by the server, by the operator and by conversion there and back.
async fn unknown_fields_are_kept(world: &World) {
    let unknown = json!({ "a": [1] });
    let mut wanted = pack(deployment(&[pack(spanning("decode", 1, 2), "rack")]), "rack");
    wanted["spec"]["components"][0]["podTemplate"]["metadata"] = json!({});
    for place in PLACES {
        wanted.pointer_mut(place).expect(place)[UNKNOWN] = unknown.clone();
    }
    create(world, &wanted).await.expect("it is admitted");
    is_served(world, 2, true).await;
    let is_kept = async || {
        let stored = read(world, BETA).await;
        for place in PLACES {
            assert_eq!(stored.pointer(place).map(|at| &at[UNKNOWN]), Some(&unknown), "{place}: {stored}");
        }
    };
    is_kept().await;
    // A write in the older version goes through both conversions.
    patch_alpha(world, "", &json!({ "metadata": { "labels": { "a": "b" } } })).await;
    patch_alpha(world, "/status", &json!({ "status": { UNKNOWN: unknown } })).await;
    is_kept().await;
    // The operator writes the status once more.
    world.edit(DynamoGraphDeployment, "dgd", |it| it["spec"]["components"][0]["replicas"] = 2.into()).await;
    is_served(world, 4, true).await;
    is_kept().await;
    for version in [ALPHA, BETA] {
        let status = read(world, version).await["status"].clone();
        assert_eq!(status[UNKNOWN], unknown, "{version}: {status}");
    }
    vanishes(world).await;
}

async fn patch_alpha(world: &World, part: &str, patch: &Value) {
    let url = format!("/apis/{ALPHA}/namespaces/{}/dynamographdeployments/dgd{part}", world.namespace);
    let request = http::Request::patch(url).header("content-type", "application/merge-patch+json");
    let request = request.body(patch.to_string().into_bytes()).expect("a request");
    world.client.request::<Value>(request).await.expect("it is admitted");
}

/// What is refused, and in which words.
pub async fn refusals(world: &World) {
    let worker = |domain: &str| pack(component("worker", "worker", 1), domain);
    let check = async |wanted: &Value, expected: &[&str]| {
        let said = refusal(create(world, wanted).await);
        expected.iter().for_each(|part| assert!(said.contains(part), "{part:?} is not in {said:?}"));
    };
    let wide = pack(deployment(&[worker("zone")]), "rack");
    check(&wide, &["spec.components[0].topologyConstraint.packDomain", "narrower", "rack"]).await;
    check(&deployment(&[worker("numa")]), &["does not exist in ClusterTopology \"grove-topology\"", "host"]).await;
    let mut unknown = pack(deployment(&[worker("rack")]), "zone");
    unknown["spec"]["topologyConstraint"]["clusterTopologyName"] = "elsewhere".into();
    check(
        &unknown,
        &["spec.topologyConstraint.clusterTopologyName", "there is no such ClusterTopology", "grove-topology"],
    )
    .await;
    check(&deployment(&[worker("shelf")]), &["packDomain", "shelf"]).await;
    let said = refusal(send_alpha(world, &json!({ "services": [{ "name": "a", "replicas": 0 }] })).await);
    assert!(said.contains("spec.services[0].replicas"), "{said}");

    create(world, &pack(deployment(&[worker("rack")]), "zone")).await.expect("it is admitted");
    let change = async |change: fn(&mut Value), expected: &str| {
        let said = refusal(world.try_edit(DynamoGraphDeployment, "dgd", change).await);
        assert!(said.contains(expected), "{expected:?} is not in {said:?}");
    };
    let immutable = "is immutable and cannot be added, removed, or changed after creation";
    change(|it| it["spec"]["topologyConstraint"]["packDomain"] = "block".into(), immutable).await;
    change(|it| drop(it["spec"].as_object_mut().map(|spec| spec.remove("topologyConstraint"))), immutable).await;
    change(|it| it["spec"]["components"][0]["topologyConstraint"]["packDomain"] = "host".into(), immutable).await;
    change(|it| it["spec"]["components"][0]["multinode"] = json!({ "nodeCount": 2 }), "multinode").await;
    change(|it| it["spec"]["components"][0]["name"] = "other".into(), "cannot be added after creation").await;
    vanishes(world).await;
}

/// Somebody else's set is in the way: it is left alone, and the deployment says so until it is gone.
pub async fn a_set_in_the_way(world: &World) {
    world.open(2).await;
    world.create(&crate::workloads::set("dgd").clique(crate::workloads::clique("worker", 1, 1))).await;
    let pods = world.ready(1).await.uids(|_| true);
    create(world, &deployment(&[component("Frontend", "frontend", 1)])).await.expect("it is admitted");
    let says = |view: &View| {
        let found = view.get(DynamoGraphDeployment, "dgd");
        condition(found, "Ready") == ("False", "failed_to_reconcile_the_resources")
            && found["status"]["state"] == "failed"
    };
    let view = world.until("it says that a set is in its way", says).await;
    assert!(view.get(DynamoGraphDeployment, "dgd")["status"]["components"].get("Frontend").is_none());
    assert!(world.observer.view().untouched(&pods));
    world.delete(PodCliqueSet, "dgd").await;
    world.until("the other set's pods are gone", |view| !view.untouched(&pods)).await;
    is_served(world, 1, false).await;
    vanishes(world).await;
}

/// A set that was left behind is taken over by the deployment that comes back; its pods run on.
pub async fn orphans_are_adopted(world: &World) {
    world.open(2).await;
    let wanted = deployment(&[component("Frontend", "frontend", 2)]);
    create(world, &wanted).await.expect("it is admitted");
    let pods = is_served(world, 2, false).await.uids(|_| true);
    let orphan = kube::api::DeleteParams {
        propagation_policy: Some(kube::api::PropagationPolicy::Orphan),
        ..kube::api::DeleteParams::default()
    };
    world.api(DynamoGraphDeployment).delete("dgd", &orphan).await.expect("deleted");
    world.until("it is gone", |view| view.get(DynamoGraphDeployment, "dgd").is_null()).await;
    world.quiet().await;
    assert!(world.observer.view().untouched(&pods));
    create(world, &wanted).await.expect("it is admitted");
    let view = is_served(world, 2, false).await;
    assert!(view.untouched(&pods), "{}", view.dump());
    assert_eq!(view.set("dgd")["metadata"]["ownerReferences"][0]["kind"], "DynamoGraphDeployment");
    vanishes(world).await;
}

/// Levels of the default topology, by configuration.
fn levels(domains: &[(&str, &str)]) -> Value {
    let levels: Vec<Value> = domains.iter().map(|(domain, key)| json!({ "domain": domain, "key": key })).collect();
    merged(configuration(), &json!({ "topologyAwareScheduling": { "levels": levels } }))
}

/// A level vanishes and comes back, topology-aware scheduling goes off and on: said each time, told once, and no pod is touched.
pub async fn levels_vanish_and_return(world: &World) {
    let (zone, host) = (("zone", "kubernetes.io/zone"), ("host", "kubernetes.io/hostname"));
    world.open(3).await;
    create(world, &pack(deployment(&[component("Frontend", "frontend", 2)]), "rack")).await.expect("it is admitted");
    let pods = is_served(world, 2, true).await.uids(|_| true);
    told(world, &[("TopologyConstraintsApplied", 1)]).await;

    world.restart(&levels(&[zone, host])).await;
    let view = enforced(world, "False", "TopologyLevelsUnavailable").await;
    let conditions = &view.get(DynamoGraphDeployment, "dgd")["status"]["conditions"];
    let said = conditions.as_array().into_iter().flatten().find(|one| one["type"] == ENFORCED);
    assert!(said.is_some_and(|said| text(&said["message"]).contains("rack")), "{conditions}");
    told(world, &[("TopologyConstraintsApplied", 1), ("TopologyLevelsUnavailable", 1)]).await;
    // What it was given before is not held against its other changes.
    world.edit(DynamoGraphDeployment, "dgd", |it| it["spec"]["components"][0]["replicas"] = 3.into()).await;
    let strategy = json!({ "nvidia.com/grove-update-strategy": "OnDelete" });
    world.edit(DynamoGraphDeployment, "dgd", move |it| it["metadata"]["annotations"] = strategy.clone()).await;
    let is_changed = |view: &View| view.set("dgd")["spec"]["updateStrategy"]["type"] == "OnDelete";
    world.until("its set has another strategy", is_changed).await;
    world.ready(3).await;
    let said = refusal(create(world, &renamed(pack(deployment(&[component("a", "frontend", 1)]), "rack"))).await);
    assert!(said.contains("does not exist in ClusterTopology"), "{said}");

    world.restart(&configuration()).await;
    enforced(world, "True", "AllTopologyLevelsAvailable").await;
    told(world, &[("TopologyConstraintsApplied", 2), ("TopologyLevelsUnavailable", 1)]).await;

    world.restart(&merged(configuration(), &json!({ "topologyAwareScheduling": { "enabled": false } }))).await;
    enforced(world, "False", "TopologyLevelsUnavailable").await;
    let said = refusal(create(world, &renamed(pack(deployment(&[component("a", "frontend", 1)]), "rack"))).await);
    assert!(said.contains("topology support is not enabled in the operator"), "{said}");
    world.restart(&configuration()).await;
    enforced(world, "True", "AllTopologyLevelsAvailable").await;
    world.quiet().await;
    vanishes_untouched(world, &pods).await;
}

fn renamed(mut deployment: Value) -> Value {
    deployment["metadata"]["name"] = "other".into();
    deployment
}

/// Nothing has happened to these pods until they go with their deployment.
async fn vanishes_untouched(world: &World, pods: &std::collections::BTreeSet<String>) {
    let view = world.observer.view();
    assert!(view.untouched(pods), "{}", view.dump());
    vanishes(world).await;
}

/// A topology that is torn away, finalizer and all, and comes back.
pub async fn a_topology_that_is_torn_away(world: &World) {
    let name = format!("{}-t", world.namespace);
    let topology = json!({
        "apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopology", "metadata": { "name": name },
        "spec": { "levels": [
            { "domain": "rack", "key": "kubernetes.io/rack" }, { "domain": "host", "key": "kubernetes.io/hostname" },
        ] },
    });
    world.make(ClusterTopology, &topology).await.expect("the topology is admitted");
    world.open(2).await;
    let mut wanted = pack(deployment(&[component("Frontend", "frontend", 2)]), "rack");
    wanted["spec"]["topologyConstraint"]["clusterTopologyName"] = json!(name);
    create(world, &wanted).await.expect("it is admitted");
    let pods = is_served(world, 2, true).await.uids(|_| true);
    // Deleted, it stays as long as the deployment's set speaks of it.
    world.delete(ClusterTopology, &name).await;
    let blocked = |view: &View| condition(view.get(ClusterTopology, &name), "DeletionBlocked").0 == "True";
    world.until("its deletion is blocked", blocked).await;
    assert_eq!(condition(world.observer.view().get(DynamoGraphDeployment, "dgd"), ENFORCED).0, "True");
    world.edit(ClusterTopology, &name, |topology| topology["metadata"]["finalizers"] = json!([])).await;
    enforced(world, "False", "TopologyDefinitionNotFound").await;
    told(world, &[("TopologyConstraintsApplied", 1), ("TopologyDefinitionNotFound", 1)]).await;
    world.make(ClusterTopology, &topology).await.expect("it may come back");
    enforced(world, "True", "AllTopologyLevelsAvailable").await;
    told(world, &[("TopologyConstraintsApplied", 2), ("TopologyDefinitionNotFound", 1)]).await;
    vanishes_untouched(world, &pods).await;
    world.delete(ClusterTopology, &name).await;
    world.until("the topology is gone", |view| view.get(ClusterTopology, &name).is_null()).await;
}

/// Without webhooks a deployment is judged when it is seen, in whatever shape it is stored.
pub async fn without_webhooks(world: &World) {
    world.open(2).await;
    let main = json!({ "image": "app:1", "args": ["run"] });
    let service = |domain: &str| {
        let pods = json!({ "mainContainer": main, "terminationGracePeriodSeconds": 0 });
        json!({
            "name": "Front", "componentType": "frontend", "replicas": 2, "extraPodSpec": pods,
            "topologyConstraint": { "packDomain": domain },
        })
    };
    send_alpha(world, &json!({ "services": [service("numa")] })).await.expect("nobody judges it");
    let refused = |view: &View| condition(view.get(DynamoGraphDeployment, "dgd"), "Admitted") == ("False", "Invalid");
    let view = world.until("it is not admitted", refused).await;
    assert_eq!(view.get(DynamoGraphDeployment, "dgd")["status"]["state"], "failed");
    world.quiet().await;
    assert!(world.observer.view().set("dgd").is_null());
    // Where there is nothing yet, everything may change.
    world.edit(DynamoGraphDeployment, "dgd", move |it| it["spec"]["services"] = json!([service("rack")])).await;
    let view = is_served(world, 2, true).await;
    assert_eq!(condition(view.get(DynamoGraphDeployment, "dgd"), "Admitted"), ("True", "Valid"));
    vanishes(world).await;
}
