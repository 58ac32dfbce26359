//! What an operator that is killed or stopped leaves behind, on a real Kubernetes API.
//!
//! `TRELLIS_LONG=1` kills it twenty times instead of five.

#[path = "operator_kill/view.rs"]
mod view;

use std::collections::BTreeMap;
use std::time::Duration;

use http::Method;
use kube::Client;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Mutex;
use trellis_testkit::process::{Process, Program, configuration, kubeconfig, leader};
use trellis_testkit::proxy::{Passed, Proxy, Wanted};
use trellis_testkit::stage::Stage;
use trellis_testkit::{ControlPlane, objects as testkit};

use view::{Objects, Observer, is_true, list, objects, plain};

/// Operators look after all namespaces, so there is one deployment at a time.
static TURN: Mutex<()> = Mutex::const_new(());

/// How long anything may take.
const PATIENCE: Duration = Duration::from_mins(1);

fn operator(folder: &TempDir) -> Program<'_> {
    Program { binary: env!("CARGO_BIN_EXE_trellis"), command: "operator", folder: folder.path() }
}

async fn namespace(client: &Client, name: &str) {
    let object = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    testkit::create(client, &object).await.expect("a namespace");
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "default", "namespace": name },
    });
    // The controller manager may be faster.
    let _ = testkit::create(client, &account).await;
    let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "node-0" } });
    let _ = testkit::create(client, &node).await;
}

/// Two replicas of a clique and of a scaling group with gangs of its own: pods `2 × (8 + 3 × 4)`.
fn set() -> Value {
    let clique = |name: &str, replicas: usize| {
        let containers = json!([{ "name": "app", "image": "app:1" }]);
        json!({ "name": name, "spec": {
            "roleName": name, "replicas": replicas, "minAvailable": 1,
            "podSpec": { "containers": containers, "terminationGracePeriodSeconds": 0 },
        } })
    };
    json!({
        "apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "metadata": { "name": "wl" },
        "spec": { "replicas": 2, "template": {
            "cliques": [clique("a", 8), clique("b", 4)],
            "podCliqueScalingGroups": [{ "name": "g", "replicas": 3, "minAvailable": 1, "cliqueNames": ["b"] }],
        } },
    })
}

const PODS: usize = 40;

async fn create(client: &Client, namespace: &str) {
    let set = serde_json::from_value(set()).expect("a set");
    objects(client, namespace, "PodCliqueSet").create(&PostParams::default(), &set).await.expect("a set");
}

/// Whether the set says that all is well, and all pods agree.
fn is_deployed(objects: &Objects) -> bool {
    let pods = objects.iter().filter(|((kind, _), pod)| *kind == "Pod" && is_true(pod, "Ready")).count();
    let set = objects.get(&("PodCliqueSet", "wl".to_owned()));
    pods == PODS && set.is_some_and(|set| is_true(set, "Ready") && set["status"]["availableReplicas"] == 2)
}

/// Waits until nothing changes any more, and says what there is then.
async fn settled(client: &Client, namespace: &str) -> BTreeMap<String, Value> {
    let versions = |objects: &Objects| -> Vec<Value> {
        objects.values().map(|object| object["metadata"]["resourceVersion"].clone()).collect()
    };
    let mut ticks = tokio::time::interval(Duration::from_millis(500));
    let mut before = Vec::new();
    let waiting = async {
        loop {
            ticks.tick().await;
            let objects = list(client, namespace).await;
            if versions(&objects) == before {
                return plain(&objects);
            }
            before = versions(&objects);
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("nothing changes any more")
}

/// Deletes the set, and waits until nothing is left of it.
async fn delete(client: &Client, namespace: &str, observer: &Observer) {
    objects(client, namespace, "PodCliqueSet").delete("wl", &DeleteParams::default()).await.expect("deleted");
    observer.until("nothing is left", Objects::is_empty).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_any_write_it_goes_on_where_it_was() {
    let _turn = TURN.lock().await;
    let plane = ControlPlane::shared_with_controllers().await.expect("a control plane");
    let (client, folder) = (plane.client().expect("a client"), TempDir::new().expect("a folder"));
    let _stage = Stage::start(&client);
    let start = |name: &str| {
        let args = ["--no-webhooks", "--install-crds"];
        Process::start(operator(&folder), name, plane.kubeconfig_path(), &configuration(), &args)
    };
    namespace(&client, "calm").await;
    let mut operator = start("calm");
    let served = defined(&client, &mut operator).await;
    assert!(served, "{}", operator.said());
    let observer = Observer::start(&client, "calm");
    create(&client, "calm").await;
    observer.until("the set is deployed", is_deployed).await;
    let expected = settled(&client, "calm").await;
    let steps = *observer.progress.borrow();
    delete(&client, "calm", &observer).await;
    drop((observer, operator));

    let kills = if std::env::var_os("TRELLIS_LONG").is_some() { 20 } else { 5 };
    namespace(&client, "wild").await;
    let observer = Observer::start(&client, "wild");
    let mut operator = start("wild");
    create(&client, "wild").await;
    let mut progress = observer.progress.clone();
    for kill in 1..=kills {
        let at = 1 + steps * kill / (kills + 1);
        let reached = tokio::time::timeout(PATIENCE, progress.wait_for(|steps| *steps >= at)).await;
        let reached =
            *reached.unwrap_or_else(|_| panic!("it does not get to {at}:\n{}", operator.said())).expect("it runs");
        operator.signal("-KILL");
        println!("killed after {reached} of {steps} steps, {at} were asked for");
        operator = start("wild");
    }
    observer.until("the set is deployed", is_deployed).await;
    let found = settled(&client, "wild").await;
    for (name, object) in &expected {
        assert_eq!(found.get(name), Some(object), "{name}");
    }
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    assert!(found.values().all(|object| object["orphan"] == false), "{found:#?}");
    delete(&client, "wild", &observer).await;
}

/// Waits until our kinds are served.
async fn defined(client: &Client, operator: &mut Process) -> bool {
    let mut ticks = tokio::time::interval(Duration::from_millis(50));
    let asked = async {
        while operator.runs() {
            ticks.tick().await;
            let sets = objects(client, "default", "PodCliqueSet").list(&kube::api::ListParams::default()).await;
            let gangs = objects(client, "default", "PodGang").list(&kube::api::ListParams::default()).await;
            if sets.is_ok() && gangs.is_ok() {
                return true;
            }
        }
        false
    };
    tokio::time::timeout(PATIENCE, asked).await.unwrap_or(false)
}

/// What a leader is about to do when it is stopped, and what is asked of it before.
struct Case {
    namespace: &'static str,
    /// The write that is held back, with how many of its kind are let through before.
    wanted: Wanted,
    after: usize,
    /// Whether it is about the end of the deployment, when pods go.
    scaled_in: bool,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_slept_writes_nothing_when_it_wakes() {
    let _turn = TURN.lock().await;
    let plane = ControlPlane::shared_with_controllers().await.expect("a control plane");
    let client = plane.client().expect("a client");
    let _stage = Stage::start(&client);
    let cases = [
        Case {
            namespace: "fence-create",
            wanted: |write| write.method == Method::POST && write.path.ends_with("/pods"),
            after: 5,
            scaled_in: false,
        },
        Case {
            namespace: "fence-change",
            wanted: |write| write.method == Method::PATCH && write.path.contains("/pods/"),
            after: 5,
            scaled_in: false,
        },
        Case {
            namespace: "fence-delete",
            wanted: |write| write.method == Method::DELETE && write.path.contains("/pods/"),
            after: 2,
            scaled_in: true,
        },
    ];
    for case in cases {
        fenced(plane, &client, &case).await;
    }
}

async fn fenced(plane: &ControlPlane, client: &Client, case: &Case) {
    let folder = TempDir::new().expect("a folder");
    let mut config = configuration();
    config["leaderElection"] = json!({
        "enabled": true, "leaseDuration": "3s", "renewDeadline": "2s", "retryPeriod": "500ms",
        "resourceName": case.namespace, "resourceNamespace": "default",
    });
    namespace(client, case.namespace).await;
    let proxy = Proxy::start(plane.client().expect("a client")).await;
    let through = kubeconfig(folder.path(), "through", &proxy.url(), None, None);
    let args = ["--no-webhooks", "--install-crds"];
    let mut sleeper = Process::start(operator(&folder), "sleeper", &through, &config, &args);
    assert!(defined(client, &mut sleeper).await, "{}", sleeper.said());
    leader(client, "default", case.namespace, None).await;
    let observer = Observer::start(client, case.namespace);
    if !case.scaled_in {
        proxy.block(case.wanted, case.after);
    }
    create(client, case.namespace).await;
    let sets = objects(client, case.namespace, "PodCliqueSet");
    if case.scaled_in {
        observer.until("the set is deployed", is_deployed).await;
        proxy.block(case.wanted, case.after);
        let patch = Patch::Merge(json!({ "spec": { "replicas": 1 } }));
        sets.patch("wl", &PatchParams::default(), &patch).await.expect("scaled in");
    }
    let blocked = tokio::time::timeout(PATIENCE, proxy.blocked()).await;
    blocked.unwrap_or_else(|_| panic!("{}: it never came to that:\n{}", case.namespace, sleeper.said()));
    sleeper.signal("-STOP");
    let former = leader(client, "default", case.namespace, None).await;

    let other = Process::start(operator(&folder), "other", plane.kubeconfig_path(), &config, &args);
    leader(client, "default", case.namespace, Some(&former)).await;
    let pods = |objects: &Objects| objects.keys().filter(|(kind, _)| *kind == "Pod").count();
    match case.scaled_in {
        false => drop(observer.until("the set is deployed by the other", is_deployed).await),
        true => drop(observer.until("the set is scaled in by the other", |objects| pods(objects) == PODS / 2).await),
    }
    settled(client, case.namespace).await;
    let before = list(client, case.namespace).await;

    proxy.unblock();
    sleeper.signal("-CONT");
    let code = sleeper.code(PATIENCE).await;
    assert!(code.is_some_and(|code| code != 0), "{}: ended with {code:?}:\n{}", case.namespace, sleeper.said());
    let passed: Vec<Passed> = proxy.passed();
    let ends = |passed: &Passed| format!("{} {} {}", passed.write.method, passed.write.path, passed.code);
    let ends: Vec<String> = passed.iter().map(ends).collect();
    println!("{}: after it was woken, its writes ended so: {ends:?}", case.namespace);
    assert!(passed.iter().any(|passed| (case.wanted)(&passed.write)), "{}: nothing was held back", case.namespace);
    let went_through =
        passed.iter().filter(|it| it.code < 300 && !it.write.path.contains("/events")).collect::<Vec<_>>();
    assert!(went_through.is_empty(), "{}: these should have been refused: {went_through:?}", case.namespace);
    let after = list(client, case.namespace).await;
    let changed: Vec<_> =
        before.iter().filter(|(name, object)| after.get(*name) != Some(object)).map(|(name, _)| name).collect();
    assert!(changed.is_empty() && before.len() == after.len(), "{}: changed: {changed:?}", case.namespace);
    delete(client, case.namespace, &observer).await;
    drop(other);
}
