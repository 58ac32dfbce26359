//! The simulated nodes play on whatever API they are given. Every case is a function of a client, so that it can run on all of them.

mod faulty;
mod world;

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{FutureExt, StreamExt};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Container, ContainerStatus, Node, Pod, Taint};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::runtime::wait::await_condition;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use trellis_cluster::nodes::{Error, NodeSpec, Nodes, Options, Outcome};
use trellis_testkit::ControlPlane;

use self::faulty::Faulty;
use self::world::{World, is_ready, main_container, map, node_spec, object, phase, quick, restarts, soon};

/// Every case, on the API that `client` reaches.
async fn play(client: Client) {
    let cases = [
        a_bound_pod_becomes_ready(client.clone()).boxed_local(),
        few_writes_make_a_pod_ready(client.clone()).boxed_local(),
        init_containers_run_in_order(client.clone()).boxed_local(),
        a_pod_that_overcommits_its_node_fails(client.clone()).boxed_local(),
        a_label_that_came_late_counts(client.clone()).boxed_local(),
        a_deleted_pod_leaves_after_its_grace(client.clone()).boxed_local(),
        containers_end_as_their_policy_says(client.clone()).boxed_local(),
        a_lost_node_comes_back(client.clone()).boxed_local(),
        nodes_come_and_go(client.clone()).boxed_local(),
        a_node_that_exists_is_taken_over(client.clone()).boxed_local(),
        a_new_simulator_goes_on(client.clone()).boxed_local(),
        failures_are_ridden_out(client.clone()).boxed_local(),
        a_node_that_is_refused_is_an_error(client).boxed_local(),
    ];
    // They share the API, as the nodes of a cluster do; they differ in their names.
    futures::future::join_all(cases).await;
}

#[tokio::test]
async fn nodes_play_on_a_real_api() {
    play(ControlPlane::shared().await.unwrap().client().unwrap()).await;
}

#[tokio::test]
async fn nodes_play_on_the_embedded_api() {
    let api = trellis_cluster::api::Api::new(trellis_cluster::api::Options::default());
    api.furnish().await.unwrap();
    play(Client::new(api.service(trellis_cluster::user::User::admin()), "default")).await;
}

/// The status with a word in the place of what differs from run to run.
fn stable(pod: &Pod) -> Value {
    let text = serde_json::to_string(pod.status.as_ref().unwrap()).unwrap();
    let mut status: Value = serde_json::from_str(&text.replace(&pod.uid().unwrap(), "UID")).unwrap();
    blank(&mut status);
    status
}

fn blank(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.iter_mut().for_each(|(key, value)| match key.as_str() {
            key if key.ends_with("Time") || key.ends_with("At") => *value = json!("TIME"),
            "hostIP" | "podIP" | "ip" => *value = json!("ADDRESS"),
            _ => blank(value),
        }),
        Value::Array(items) => items.iter_mut().for_each(blank),
        _ => {}
    }
}

async fn a_bound_pod_becomes_ready(client: Client) {
    let world = World::new(&client, Options { ready_after: Duration::from_millis(50), ..quick() }).await;
    let first = json!([{ "name": "first", "image": "first:1" }]);
    let main = json!([{ "name": "main", "image": "main:1", "resources": { "requests": { "cpu": "2" } } }]);
    world.bind("pod", "a", json!({ "spec": { "initContainers": first, "containers": main } })).await;
    let pod = world.until("pod", "ready", is_ready).await;

    let mut status = stable(&pod);
    let Some(Value::Array(conditions)) = status.as_object_mut().unwrap().remove("conditions") else {
        panic!("{pod:?}")
    };
    let ours = |condition: &&Value| condition["type"] != "PodScheduled";
    let ours: Vec<Value> = conditions.iter().filter(ours).cloned().collect();
    let expected = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady"]
        .map(|type_| json!({ "type": type_, "status": "True", "lastTransitionTime": "TIME", "observedGeneration": 1 }));
    assert!(expected.iter().all(|condition| ours.contains(condition)) && ours.len() == 4, "{conditions:?}");
    let container = |name: &str, state: Value| {
        json!({
            "name": name, "image": format!("{name}:1"), "imageID": format!("simulated://{name}:1"),
            "containerID": format!("simulated://UID.{name}.0"), "restartCount": 0, "ready": true,
            "started": name == "main", "state": state, "lastState": {}, "resources": {},
        })
    };
    let end = json!({
        "exitCode": 0, "reason": "Completed", "startedAt": "TIME", "finishedAt": "TIME",
        "containerID": "simulated://UID.first.0",
    });
    let mut main = container("main", json!({ "running": { "startedAt": "TIME" } }));
    main["resources"] = json!({ "requests": { "cpu": "2" } });
    main["allocatedResources"] = json!({ "cpu": "2" });
    assert_eq!(
        status,
        json!({
            "phase": "Running", "qosClass": "Burstable", "observedGeneration": 1, "startTime": "TIME",
            "hostIP": "ADDRESS", "hostIPs": [{ "ip": "ADDRESS" }], "podIP": "ADDRESS", "podIPs": [{ "ip": "ADDRESS" }],
            "initContainerStatuses": [container("first", json!({ "terminated": end }))],
            "containerStatuses": [main],
        })
    );
    let node = Api::<Node>::all(client).get(&world.node("a")).await.unwrap();
    let address = &node.status.unwrap().addresses.unwrap()[0].address;
    assert_eq!(pod.status.unwrap().host_ip.as_ref(), Some(address));
    world.end().await;
}

async fn few_writes_make_a_pod_ready(client: Client) {
    for (ready_after, writes) in [(Duration::ZERO, 1), (Duration::from_millis(50), 2)] {
        let world = World::new(&client, Options { ready_after, ..quick() }).await;
        let mut events = world.pods.watch(&WatchParams::default(), "0").await.unwrap().boxed();
        world.bind("pod", "a", json!({})).await;
        // The creation and the binding are the first two. What comes after the pod is ready is only seen if something else follows.
        let mut seen = 0;
        loop {
            match soon("an event", events.next()).await.unwrap().unwrap() {
                WatchEvent::Modified(pod) if is_ready(&pod) => break,
                WatchEvent::Added(_) | WatchEvent::Modified(_) => seen += 1,
                _ => {}
            }
        }
        world.annotate("pod", "ready", json!("true")).await;
        let mut after = 0;
        while let Some(event) = soon("an event", events.next()).await {
            match event.unwrap() {
                WatchEvent::Modified(pod) if pod.annotations().is_empty() => after += 1,
                WatchEvent::Modified(_) => break,
                _ => {}
            }
        }
        assert_eq!((seen + 1 - 2, after), (writes, 0), "ready after {ready_after:?}");
        world.end().await;
    }
}

async fn init_containers_run_in_order(client: Client) {
    let (gate, order) = (Arc::new(Semaphore::new(0)), Arc::new(Mutex::new(Vec::new())));
    let (hook_gate, hook_order) = (gate.clone(), order.clone());
    let init = move |pod: &Pod, container: &Container| {
        let (gate, order) = (hook_gate.clone(), hook_order.clone());
        let name = format!("{}/{}", pod.name_any(), container.name);
        async move {
            // Each waits for a permit and uses it up.
            gate.acquire().await.unwrap().forget();
            order.lock().unwrap().push(name);
            Outcome::Success
        }
        .boxed()
    };
    let world = World::new(&client, Options { init: Some(Arc::new(init)), ..quick() }).await;
    let inits = ["one", "two"].map(|name| json!({ "name": name, "image": "x" }));
    world.bind("pod", "a", json!({ "spec": { "initContainers": inits } })).await;
    let states = |pod: &Pod| -> Vec<&'static str> {
        let inits = pod.status.iter().flat_map(|status| status.init_container_statuses.iter().flatten());
        let state = |status: &ContainerStatus| match status.state.clone().unwrap() {
            state if state.running.is_some() => "running",
            state if state.terminated.is_some() => "ended",
            _ => "waiting",
        };
        inits.map(state).collect()
    };
    let pod = world.until("pod", "runs its first init container", |pod| states(pod) == ["running", "waiting"]).await;
    assert_eq!(phase(&pod), "Pending");
    gate.add_permits(1);
    world.until("pod", "runs its second init container", |pod| states(pod) == ["ended", "running"]).await;
    gate.add_permits(1);
    world.until("pod", "ready", is_ready).await;
    assert_eq!(*order.lock().unwrap(), ["pod/one", "pod/two"]);
    world.end().await;
}

async fn a_pod_that_overcommits_its_node_fails(client: Client) {
    let world = World::new(&client, quick()).await;
    let with = |resource: &str, amount: &str| {
        let resources = json!({ "requests": { resource: amount }, "limits": { resource: amount } });
        json!({ "spec": { "containers": [{ "name": "main", "image": "i", "resources": resources }] } })
    };
    world.bind("first", "a", with("nvidia.com/gpu", "6")).await;
    world.until("first", "ready", is_ready).await;
    let cases = [
        ("cpu", "5", "OutOfcpu", "cpu, requested: 5000, used: 0, capacity: 4000"),
        ("memory", "9Gi", "OutOfmemory", "memory, requested: 9663676416, used: 0, capacity: 8589934592"),
        ("nvidia.com/gpu", "3", "OutOfnvidia.com/gpu", "nvidia.com/gpu, requested: 3, used: 6, capacity: 8"),
    ];
    for (index, (resource, amount, reason, message)) in cases.into_iter().enumerate() {
        let name = format!("over-{index}");
        world.bind(&name, "a", with(resource, amount)).await;
        let status = world.until(&name, "failed", |pod| phase(pod) == "Failed").await.status.unwrap();
        let message = format!("Pod was rejected: Node didn't have enough resource: {message}");
        assert_eq!((status.reason.as_deref(), status.message), (Some(reason), Some(message)));
        assert_eq!((status.container_statuses, status.start_time.is_some()), (None, true));
    }
    // What a pod that is gone had is free again.
    let first = world.pods.get("first").await.unwrap();
    world.delete("first", 0).await;
    world.until_gone(&first).await;
    world.bind("next", "a", with("nvidia.com/gpu", "3")).await;
    world.until("next", "ready", is_ready).await;
    world.end().await;
}

async fn a_label_that_came_late_counts(client: Client) {
    let world = World::new(&client, quick()).await;
    let nodes: Api<Node> = Api::all(client);
    let wanted = |zone: &str| json!({ "spec": { "nodeSelector": { "zone": zone } } });
    let label = Patch::Merge(json!({ "metadata": { "labels": { "zone": "z1" } } }));
    nodes.patch(&world.node("a"), &PatchParams::default(), &label).await.unwrap();
    world.bind("fits", "a", wanted("z1")).await;
    world.bind("misfits", "a", wanted("z2")).await;
    world.until("fits", "ready", is_ready).await;
    let status = world.until("misfits", "failed", |pod| phase(pod) == "Failed").await.status.unwrap();
    assert_eq!(status.reason.as_deref(), Some("NodeAffinity"));
    let message = "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector";
    assert_eq!(status.message.as_deref(), Some(message));
    world.end().await;
}

async fn a_deleted_pod_leaves_after_its_grace(client: Client) {
    let world = World::new(&client, quick()).await;
    let finalizers = json!({ "metadata": { "finalizers": ["example.com/keep"] } });
    for (name, stop_seconds, grace) in [("obeys", "0", 30), ("is-killed", "1000", 1), ("hangs", "never", 1)] {
        world.bind(name, "a", finalizers.clone()).await;
        world.annotate(name, "stop-seconds", json!(stop_seconds)).await;
        world.until(name, "ready", is_ready).await;
        world.delete(name, grace).await;
    }
    // The finalizers keep them from going before they have been looked at.
    let exit_code = |pod: &Pod| main_container(pod).state.clone().unwrap().terminated.unwrap().exit_code;
    let pod = world.until("obeys", "over", |pod| phase(pod) == "Succeeded").await;
    assert_eq!((exit_code(&pod), is_ready(&pod)), (0, false));
    let pod = world.until("is-killed", "over", |pod| phase(pod) == "Failed").await;
    assert_eq!(exit_code(&pod), 137);
    // The grace of this one was over with that of the other.
    assert_eq!(phase(&world.pods.get("hangs").await.unwrap()), "Running");
    world.annotate("hangs", "stop-seconds", Value::Null).await;
    world.until("hangs", "over", |pod| phase(pod) == "Succeeded").await;
    for name in ["obeys", "is-killed", "hangs"] {
        let pod = world.pods.get(name).await.unwrap();
        let free = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
        world.pods.patch(name, &PatchParams::default(), &free).await.unwrap();
        world.until_gone(&pod).await;
    }
    // Without finalizers nothing but the node keeps a pod.
    let pod = world.bind("plain", "b", json!({})).await;
    world.until("plain", "ready", is_ready).await;
    world.delete("plain", 30).await;
    world.until_gone(&pod).await;
    world.end().await;
}

async fn containers_end_as_their_policy_says(client: Client) {
    let world = World::new(&client, quick()).await;
    let failed = || Outcome::Failed { exit_code: 3, reason: "OOMKilled".to_owned() };
    let cases = [
        ("never-fails", "Never", failed(), "Failed", 0),
        ("never-succeeds", "Never", Outcome::Success, "Succeeded", 0),
        ("on-failure-succeeds", "OnFailure", Outcome::Success, "Succeeded", 0),
        ("on-failure-fails", "OnFailure", failed(), "Running", 1),
        ("always-succeeds", "Always", Outcome::Success, "Running", 1),
        ("always-fails", "Always", failed(), "Running", 1),
    ];
    for (name, policy, outcome, phase_after, restarts_after) in cases {
        world.bind(name, "b", json!({ "spec": { "restartPolicy": policy } })).await;
        world.until(name, "ready", is_ready).await;
        world.nodes.finish(&world.namespace, name, None, outcome.clone()).await.unwrap();
        let pod = world
            .until(name, "past its end", |pod| {
                phase(pod) == phase_after
                    && restarts(pod) == restarts_after
                    && is_ready(pod) == (phase_after == "Running")
            })
            .await;
        let status = main_container(&pod);
        let state = if restarts_after == 0 { status.state.clone() } else { status.last_state.clone() };
        let end = state.unwrap().terminated.unwrap();
        let expected = if outcome == Outcome::Success { (0, "Completed") } else { (3, "OOMKilled") };
        assert_eq!((end.exit_code, end.reason.as_deref().unwrap()), expected, "{name}");
    }
    let nobody = world.nodes.finish(&world.namespace, "nobody", None, Outcome::Success).await;
    assert_eq!(nobody, Err(Error::NoContainer(format!("{}/nobody", world.namespace))));

    let playing = json!({ "metadata": { "annotations": {
        "trellis.dev/simulate-run-seconds": "0", "trellis.dev/simulate-exit-code": "1",
    } } });
    world.bind("crashes", "b", playing).await;
    let waiting = |pod: &Pod| {
        let mut statuses = pod.status.iter().flat_map(|status| status.container_statuses.iter().flatten());
        let reason = statuses.find_map(|status| status.state.clone()?.waiting?.reason);
        reason.as_deref() == Some("CrashLoopBackOff")
    };
    world.until("crashes", "waits for a restart", |pod| waiting(pod) && restarts(pod) >= 2).await;
    world.end().await;
}

async fn a_lost_node_comes_back(client: Client) {
    let world = World::new(&client, Options { heartbeat: Duration::from_millis(100), ..quick() }).await;
    let nodes: Api<Node> = Api::all(client.clone());
    let leases: Api<Lease> = Api::namespaced(client, "kube-node-lease");
    let renewed = |lease: &Lease| lease.spec.as_ref().and_then(|spec| spec.renew_time.clone());
    let name = world.node("a");
    let has_lease = await_condition(leases.clone(), &name, |lease: Option<&Lease>| lease.is_some());
    let lease = soon("a lease", has_lease).await.unwrap().unwrap();
    let later = await_condition(leases.clone(), &name, |new: Option<&Lease>| {
        new.is_some_and(|new| renewed(new) > renewed(&lease))
    });
    soon("a renewal", later).await.unwrap();

    let doomed = world.bind("deleted-meanwhile", "a", json!({})).await;
    world.until("deleted-meanwhile", "ready", is_ready).await;
    world.nodes.lose(&name).await.unwrap();
    let lost = leases.get(&name).await.unwrap();
    let unready = json!({ "status": { "conditions": [{ "type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown" }] } });
    nodes.patch_status(&name, &PatchParams::default(), &Patch::Strategic(unready)).await.unwrap();
    world.bind("bound-meanwhile", "a", json!({})).await;
    world.delete("deleted-meanwhile", 1).await;
    // The other node goes on; when it has made a pod ready and let one go, the lost one could have, too.
    let other = world.bind("other", "b", json!({})).await;
    world.until("other", "ready", is_ready).await;
    world.delete("other", 1).await;
    world.until_gone(&other).await;
    assert_eq!(world.pods.get("bound-meanwhile").await.unwrap().status.unwrap().start_time, None);
    assert_eq!(phase(&world.pods.get("deleted-meanwhile").await.unwrap()), "Running");
    assert_eq!(renewed(&leases.get(&name).await.unwrap()), renewed(&lost));

    world.nodes.restore(&name).await.unwrap();
    world.until_gone(&doomed).await;
    world.until("bound-meanwhile", "ready", is_ready).await;
    let is_well = |node: Option<&Node>| {
        let mut conditions =
            node.into_iter().flat_map(|node| node.status.iter()).flat_map(|status| status.conditions.iter().flatten());
        conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
    };
    soon("a node that is ready", await_condition(nodes, &name, is_well)).await.unwrap();
    let later =
        await_condition(leases, &name, |new: Option<&Lease>| new.is_some_and(|new| renewed(new) > renewed(&lost)));
    soon("a renewal", later).await.unwrap();
    assert_eq!(world.nodes.lose("nobody").await, Err(Error::NoNode("nobody".to_owned())));
    world.end().await;
}

async fn nodes_come_and_go(client: Client) {
    let world = World::new(&client, Options { heartbeat: Duration::from_millis(20), ..quick() }).await;
    let nodes: Api<Node> = Api::all(client.clone());
    let name = world.node("c");
    // Bound before its node is there.
    let pod: Pod = object(json!({
        "metadata": { "name": "early" },
        "spec": { "nodeName": name, "containers": [{ "name": "main", "image": "i" }] },
    }));
    world.pods.create(&PostParams::default(), &pod).await.unwrap();
    world.nodes.add(node_spec(&name)).await.unwrap();
    world.until("early", "ready", is_ready).await;
    assert_eq!(world.nodes.add(node_spec(&name)).await, Err(Error::Duplicate(name.clone())));
    world.nodes.remove(&name).await.unwrap();
    assert!(nodes.get_opt(&name).await.unwrap().is_none());
    let leases: Api<Lease> = Api::namespaced(client.clone(), "kube-node-lease");
    assert!(leases.get_opt(&name).await.unwrap().is_none());
    // Nobody looks after its pods now, but they are not touched.
    assert!(is_ready(&world.pods.get("early").await.unwrap()));

    // One that somebody deletes is not put back, but its pods can still go.
    let pod = world.bind("stays", "a", json!({})).await;
    world.until("stays", "ready", is_ready).await;
    nodes.delete(&world.node("a"), &DeleteParams::default()).await.unwrap();
    world.delete("stays", 5).await;
    world.until_gone(&pod).await;
    assert!(nodes.get_opt(&world.node("a")).await.unwrap().is_none());
    world.end().await;
}

async fn a_node_that_exists_is_taken_over(client: Client) {
    let world = World::new(&client, quick()).await;
    let nodes: Api<Node> = Api::all(client);
    let name = world.node("c");
    let existing: Node = object(json!({
        "metadata": { "name": name, "labels": { "rack": "r0", "own": "kept", "kubernetes.io/hostname": "other" } },
        "spec": { "unschedulable": true, "taints": [{ "key": "old", "effect": "NoSchedule" }] },
        "status": {
            "capacity": { "cpu": "1", "example.com/old": "1" },
            "addresses": [{ "type": "InternalIP", "address": "192.0.2.7" }],
            "conditions": [{ "type": "Ready", "status": "False" }, { "type": "Own", "status": "True" }],
        },
    }));
    nodes.create(&PostParams::default(), &existing).await.unwrap();
    let taint = Taint { key: "new".to_owned(), effect: "NoSchedule".to_owned(), ..Taint::default() };
    world.nodes.add(NodeSpec { taints: vec![taint], ..node_spec(&name) }).await.unwrap();
    let node = nodes.get(&name).await.unwrap();
    let labels = map(&[
        ("rack", "r1"),
        ("own", "kept"),
        ("kubernetes.io/hostname", "other"),
        ("kubernetes.io/os", "linux"),
        ("kubernetes.io/arch", "amd64"),
    ]);
    assert_eq!(node.labels(), &labels);
    let (spec, status) = (node.spec.unwrap(), node.status.unwrap());
    assert_eq!(spec.unschedulable, Some(true));
    let taints: Vec<String> = spec.taints.unwrap().into_iter().map(|taint| taint.key).collect();
    assert!(taints.contains(&"old".to_owned()) && taints.contains(&"new".to_owned()), "{taints:?}");
    let capacity: Vec<(String, String)> =
        status.capacity.unwrap().into_iter().map(|(key, amount)| (key, amount.0)).collect();
    let expected = [("cpu", "4"), ("memory", "8Gi"), ("nvidia.com/gpu", "8"), ("pods", "10")];
    assert_eq!(capacity, expected.map(|(key, amount)| (key.to_owned(), amount.to_owned())));
    assert_eq!(status.addresses.unwrap()[0].address, "192.0.2.7");
    let conditions: BTreeMap<String, String> =
        status.conditions.unwrap().into_iter().map(|condition| (condition.type_, condition.status)).collect();
    assert_eq!((conditions["Ready"].as_str(), conditions["Own"].as_str()), ("True", "True"));
    world.nodes.remove(&name).await.unwrap();
    world.end().await;
}

async fn a_new_simulator_goes_on(client: Client) {
    let world = World::new(&client, quick()).await;
    world.bind("runs", "a", json!({})).await;
    world.bind("failed", "a", json!({ "spec": { "restartPolicy": "Never" } })).await;
    let large = json!([{ "name": "main", "image": "i", "resources": { "requests": { "cpu": "3" } } }]);
    world.bind("large", "b", json!({ "spec": { "containers": large } })).await;
    for name in ["runs", "failed", "large"] {
        world.until(name, "ready", is_ready).await;
    }
    world.nodes.finish(&world.namespace, "failed", None, Outcome::of_code(1)).await.unwrap();
    world.until("failed", "failed", |pod| phase(pod) == "Failed").await;
    let before = [world.pods.get("runs").await.unwrap(), world.pods.get("failed").await.unwrap()];

    world.nodes.stop().await;
    let doomed = world.bind("goes", "a", json!({})).await;
    world.delete("goes", 1).await;
    world.bind("late", "a", json!({})).await;
    world.bind("too-large", "b", json!({ "spec": { "containers": large } })).await;
    let next = World::in_namespace(&client, &world.namespace, quick()).await;
    next.until("late", "ready", is_ready).await;
    next.until_gone(&doomed).await;
    // The pods from before count.
    let rejected = next.until("too-large", "failed", |pod| phase(pod) == "Failed").await;
    assert_eq!(rejected.status.as_ref().unwrap().reason.as_deref(), Some("OutOfcpu"));
    let addresses = ["runs", "late"].map(|name| next.pods.get(name));
    let addresses = futures::future::try_join_all(addresses).await.unwrap();
    let address = |pod: &Pod| pod.status.as_ref().unwrap().pod_ip.clone().unwrap();
    assert_ne!(address(&addresses[0]), address(&addresses[1]));
    // They have not been touched.
    let after = [next.pods.get("runs").await.unwrap(), next.pods.get("failed").await.unwrap()];
    assert_eq!(
        after.each_ref().map(ResourceExt::resource_version),
        before.each_ref().map(ResourceExt::resource_version)
    );
    next.end().await;
}

async fn failures_are_ridden_out(client: Client) {
    let faulty = Faulty { api: client.clone(), requests: Arc::default() };
    let faulty = Client::new(faulty, "default");
    let mut world = World::new(&client, quick()).await;
    world.nodes.stop().await;
    let specs = ["a", "b"].map(|letter| node_spec(&world.node(letter))).into();
    let options = Options { ready_after: Duration::from_millis(20), heartbeat: Duration::from_millis(500), ..quick() };
    world.nodes = soon("the nodes", Nodes::start(faulty, specs, options, |_| ())).await.unwrap();
    let mut pods = Vec::new();
    for index in 0..8 {
        let letter = if index % 2 == 0 { "a" } else { "b" };
        let name = format!("pod-{index}");
        pods.push(world.bind(&name, letter, json!({ "spec": { "restartPolicy": "OnFailure" } })).await);
    }
    for pod in &pods {
        world.until(&pod.name_any(), "ready", is_ready).await;
        world.nodes.finish(&world.namespace, &pod.name_any(), None, Outcome::of_code(1)).await.unwrap();
    }
    for pod in &pods {
        let again = world.until(&pod.name_any(), "ready again", |pod| is_ready(pod) && restarts(pod) == 1).await;
        assert_eq!(again.uid(), pod.uid());
        world.delete(&pod.name_any(), 5).await;
    }
    for pod in &pods {
        world.until_gone(pod).await;
    }
    world.end().await;
}

async fn a_node_that_is_refused_is_an_error(client: Client) {
    let bad = NodeSpec { name: "Not_A_Name".to_owned(), ..NodeSpec::default() };
    let result =
        soon("a refusal", trellis_cluster::nodes::run(client.clone(), vec![bad.clone()], quick(), pending())).await;
    assert!(matches!(&result, Err(Error::Refused { node, .. }) if node == "Not_A_Name"), "{result:?}");
    let world = World::new(&client, quick()).await;
    let result = world.nodes.add(bad).await;
    assert!(matches!(&result, Err(Error::Refused { .. })), "{result:?}");
    let capacity = NodeSpec { name: "n".to_owned(), capacity: map(&[("cpu", "many")]), ..NodeSpec::default() };
    assert!(matches!(world.nodes.add(capacity).await, Err(Error::Quantity { .. })));
    world.end().await;
}
