use super::*;
use serde_json::{Value, json};
use std::time::Duration;
use trellis_cluster::api::{self, Options};
use trellis_cluster::faults::Faults;
use trellis_cluster::user::User;

fn parents(texts: &[&str]) -> Vec<Parent> {
    texts.iter().map(|text| text.parse().expect("a parent")).collect()
}

/// A pod of a clique, by what is said of it.
fn pod(name: &str, clique: &str, phase: &str, ready: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {label::POD_GANG: "gang", label::POD_CLIQUE: clique}},
        "spec": {"containers": [{"name": "main", "image": "i"}]},
        "status": {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]},
    })
}

fn seen(pod: Value) -> Seen {
    serde_json::from_value(pod).expect("a pod")
}

#[test]
fn parents_are_read() {
    for (text, expected) in [
        ("model-0-leader:1", Ok(("model-0-leader", 1))),
        ("a:0", Ok(("a", 0))),
        ("model-0-leader", Err(())),
        (":1", Err(())),
        ("a:", Err(())),
        ("a:-1", Err(())),
        ("a:many", Err(())),
    ] {
        let read = text.parse::<Parent>().map(|parent| (parent.clique, parent.minimum)).map_err(|_| ());
        assert_eq!(read, expected.map(|(clique, minimum): (&str, usize)| (clique.to_owned(), minimum)), "{text}");
    }
}

#[test]
fn only_ready_and_succeeded_pods_count() {
    let mut leaving = pod("p", "a", "Running", "True");
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    let mut bare = pod("p", "a", "Pending", "True");
    bare["status"] = json!({});
    for (pod, expected) in [
        (pod("p", "a", "Running", "True"), true),
        (pod("p", "a", "Running", "False"), false),
        (pod("p", "a", "Pending", "Unknown"), false),
        (pod("p", "a", "Succeeded", "False"), true),
        (pod("p", "a", "Failed", "False"), false),
        (leaving, false),
        (bare, false),
    ] {
        assert_eq!(counts(&seen(pod.clone())), expected, "{pod}");
    }
}

#[test]
fn every_parent_needs_its_minimum() {
    let check = |wanted: &[&str], up: &[&str], expected: &[&str]| {
        let found: Vec<String> = lacks(&parents(wanted), up.iter().copied()).iter().map(ToString::to_string).collect();
        assert_eq!(found, expected, "{wanted:?} with {up:?}");
    };
    check(&["a:2", "b:1"], &[], &["a has 0 of 2", "b has 0 of 1"]);
    check(&["a:2", "b:1"], &["a", "b", "b", "b"], &["a has 1 of 2"]);
    check(&["a:2", "b:1"], &["a", "b", "a"], &[]);
    check(&["a:2"], &["a", "a", "a"], &[]);
    check(&["a:1"], &["a-0", "aa"], &["a has 0 of 1"]);
    check(&["a:0"], &[], &[]);
}

#[test]
fn events_are_followed_and_a_list_replaces_what_was_known() {
    let mut pods = Pods::default();
    let wanted = parents(&["a:1", "b:1"]);
    let mut check = |event: Event<Seen>, expected: Option<&[&str]>| {
        pods.apply(event);
        let found = pods.lacks(&wanted).map(|lacks| lacks.iter().map(ToString::to_string).collect::<Vec<_>>());
        let expected = expected.map(|lacks| lacks.iter().map(|lack| (*lack).to_owned()).collect());
        assert_eq!(found, expected);
    };
    let a = |ready: &str| seen(pod("a-x", "a", "Running", ready));
    let b = |ready: &str| seen(pod("b-x", "b", "Running", ready));
    check(Event::Init, None);
    check(Event::InitApply(a("True")), None);
    check(Event::InitDone, Some(&["b has 0 of 1"]));
    check(Event::Apply(b("True")), Some(&[]));
    check(Event::Apply(b("False")), Some(&["b has 0 of 1"]));
    check(Event::Apply(b("True")), Some(&[]));
    check(Event::Delete(a("True")), Some(&["a has 0 of 1"]));
    check(Event::Init, None);
    check(Event::InitApply(a("True")), None);
    check(Event::InitDone, Some(&["b has 0 of 1"]));
}

#[tokio::test(start_paused = true)]
async fn it_waits_through_outages_until_the_parents_are_ready() {
    let api = api::Api::new(Options::default());
    api.furnish().await.expect("the objects of every cluster");
    let faults = Faults::none();
    let client = Client::new(faults.around(api.service(User::admin())), "default");
    let heard = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let waiting = tokio::spawn({
        let heard = heard.clone();
        let say = move |text: &str| heard.lock().expect("no panic").push(text.to_owned());
        async move { wait(client, "default", "gang", &parents(&["a:1", "b:1"]), say).await }
    });
    let pods: Api<Pod> = Api::default_namespaced(Client::new(api.service(User::admin()), "default"));
    let make = async |name: &str, clique: &str, gang: &str| {
        let mut made = pod(name, clique, "Pending", "False");
        made["metadata"]["labels"][label::POD_GANG] = gang.into();
        api.create(&User::admin(), &made).await.expect("a pod");
        let status = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
        pods.patch_status(name, &kube::api::PatchParams::default(), &kube::api::Patch::Merge(&status))
            .await
            .expect("ready");
        tokio::time::sleep(Duration::from_secs(1)).await;
    };
    tokio::time::sleep(Duration::from_secs(1)).await;
    make("a-x", "a", "gang").await;
    make("b-other", "b", "another-gang").await;
    faults.disconnect();
    tokio::time::sleep(Duration::from_mins(5)).await;
    make("b-x", "b", "gang").await;
    assert!(!waiting.is_finished());
    faults.reconnect();
    tokio::time::timeout(Duration::from_mins(2), waiting).await.expect("it ends").expect("no panic");
    let heard = heard.lock().expect("no panic").clone();
    let (outage, said): (Vec<_>, Vec<_>) = heard.into_iter().partition(|text| text.starts_with("cannot watch"));
    let mut said: Vec<&str> = said.iter().map(String::as_str).collect();
    // After an outage it may say again what it waits for.
    said.dedup();
    let first = "waiting for ready pods: a has 0 of 1, b has 0 of 1";
    assert_eq!(said, [first, "waiting for ready pods: b has 0 of 1", "all are ready"]);
    assert!(!outage.is_empty() && outage.len() < 5, "an outage is told, and not over and over: {outage:?}");
}
