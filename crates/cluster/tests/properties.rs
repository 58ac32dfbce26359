//! Laws that hold for every object whatever is done to it, by any order of writes: who may change what, when generations and versions
//! move, who survives a deletion, and what a watcher sees of it all.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt as _;
use proptest::prelude::*;
use serde_json::{Value, json};
use trellis_cluster::api::{Api, Options};
use trellis_cluster::user::User;

const CASES: u32 = 256;
const GROUP: &str = "properties.example.com";
const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Map,
    Pod,
    Gauge,
}

const KINDS: [Kind; 3] = [Kind::Map, Kind::Pod, Kind::Gauge];

impl Kind {
    fn collection(self, namespace: &str) -> String {
        match self {
            Self::Map => format!("/api/v1/namespaces/{namespace}/configmaps"),
            Self::Pod => format!("/api/v1/namespaces/{namespace}/pods"),
            Self::Gauge => format!("/apis/{GROUP}/v1/namespaces/{namespace}/gauges"),
        }
    }

    /// Spec and status at once: which of them is taken is for the API to decide.
    fn body(self, value: u8) -> Value {
        let labels = json!({"labels": {"value": (value % 3).to_string()}});
        match self {
            Self::Map => json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": labels, "data": {"value": value.to_string()},
            }),
            Self::Pod => json!({
                "apiVersion": "v1", "kind": "Pod", "metadata": labels,
                "spec": {"containers": [{"name": "main", "image": format!("registry.example.com/{value}")}]},
                "status": {"message": value.to_string()},
            }),
            Self::Gauge => json!({
                "apiVersion": format!("{GROUP}/v1"), "kind": "Gauge", "metadata": labels,
                "spec": {"size": value}, "status": {"size": value},
            }),
        }
    }
}

#[derive(Debug, Clone)]
enum Step {
    /// With a finalizer or without.
    Create(bool),
    /// Of the object, or of its status.
    Merge(bool, u8),
    Put(bool, u8),
    Apply(bool, u8, bool),
    Finalizer(bool),
    Bind,
    /// With this many seconds to go, or as many as the kind has.
    Delete(Option<u8>),
}

fn step() -> impl Strategy<Value = (Kind, u8, Step)> {
    let status = any::<bool>;
    let step = prop_oneof![
        4 => proptest::bool::weighted(0.3).prop_map(Step::Create),
        3 => (status(), 0..4_u8).prop_map(|(status, value)| Step::Merge(status, value)),
        3 => (status(), 0..4_u8).prop_map(|(status, value)| Step::Put(status, value)),
        3 => (status(), 0..4_u8, any::<bool>()).prop_map(|(status, value, other)| Step::Apply(status, value, other)),
        2 => any::<bool>().prop_map(Step::Finalizer),
        1 => Just(Step::Bind),
        2 => proptest::option::of(0..2_u8).prop_map(Step::Delete),
    ];
    (proptest::sample::select(&KINDS[..]), 0..2_u8, step)
}

/// All cases share an API and keep apart by namespace: to make one takes longer than a case.
static API: LazyLock<Api> = LazyLock::new(|| Api::new(Options::default()));

async fn ask(method: &str, path: &str, content: &str, body: &Value) -> (u16, Value) {
    let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
    let request = Request::builder().method(method).uri(path).header("content-type", content);
    let answer = API.handle(&User::admin(), request.body(body).expect("a request")).await;
    let code = answer.status().as_u16();
    let bytes = answer.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    (code, serde_json::from_slice(&bytes).expect("JSON"))
}

async fn read(path: &str) -> Option<Value> {
    let (code, object) = ask("GET", path, JSON, &Value::Null).await;
    (code == 200).then_some(object)
}

/// A write: verb, path, content type and body.
type Write = (&'static str, String, &'static str, Value);

fn write(kind: Kind, namespace: &str, name: &str, step: &Step, live: Option<&Value>) -> Write {
    let collection = kind.collection(namespace);
    let one = format!("{collection}/{name}");
    let part = |status: bool| if status && kind != Kind::Map { format!("{one}/status") } else { one.clone() };
    let named = |value: u8| {
        let mut body = kind.body(value);
        body["metadata"]["name"] = name.into();
        body
    };
    match *step {
        Step::Create(held) => {
            let mut body = named(0);
            if held {
                body["metadata"]["finalizers"] = json!(["example.com/hold"]);
            }
            ("POST", collection, JSON, body)
        }
        Step::Merge(status, value) => ("PATCH", part(status), MERGE, kind.body(value)),
        Step::Put(status, value) => {
            let mut body = live.cloned().unwrap_or_else(|| named(value));
            json_patch::merge(&mut body, &kind.body(value));
            ("PUT", part(status), JSON, body)
        }
        Step::Apply(status, value, other) => {
            let manager = if other { "one" } else { "other" };
            ("PATCH", format!("{}?force=true&fieldManager={manager}", part(status)), APPLY, named(value))
        }
        Step::Finalizer(held) => {
            let finalizers = if held { json!(["example.com/hold"]) } else { Value::Null };
            ("PATCH", one, MERGE, json!({"metadata": {"finalizers": finalizers}}))
        }
        Step::Bind => (
            "POST",
            format!("{one}/binding"),
            JSON,
            json!({"metadata": {"name": name}, "target": {"kind": "Node", "name": "n"}}),
        ),
        Step::Delete(grace) => {
            let options = grace.map_or(Value::Null, |grace| json!({"gracePeriodSeconds": grace}));
            ("DELETE", one, JSON, options)
        }
    }
}

async fn play(namespace: &str, steps: &[(Kind, u8, Step)]) -> Result<(), TestCaseError> {
    for (at, (kind, name, step)) in steps.iter().enumerate() {
        if matches!(step, Step::Bind) && *kind != Kind::Pod {
            continue;
        }
        let name = format!("o{name}");
        let path = format!("{}/{name}", kind.collection(namespace));
        let before = read(&path).await;
        let (method, target, content, body) = write(*kind, namespace, &name, step, before.as_ref());
        let (code, answer) = ask(method, &target, content, &body).await;
        prop_assert!(matches!(code, 200 | 201 | 202 | 404 | 409 | 422), "step {at}: {answer}");
        let after = read(&path).await;
        if let (Some(before), Some(after)) = (&before, &after)
            && before["metadata"]["uid"] == after["metadata"]["uid"]
        {
            changed(at, *kind, step, before, after)?;
        }
        if let Some(after) = &after {
            survives(at, *kind, after)?;
        }
        // The same once more changes nothing; an object is put back as it came.
        let again = match step {
            Step::Merge(..) | Step::Apply(..) | Step::Finalizer(_) => body,
            Step::Put(..) => answer,
            _ => continue,
        };
        if code < 300 {
            ask(method, &target, content, &again).await;
            let version = |object: Option<&Value>| object.map(|object| object["metadata"]["resourceVersion"].clone());
            prop_assert_eq!(version(after.as_ref()), version(read(&path).await.as_ref()), "step {}, again", at);
        }
    }
    Ok(())
}

/// What a write may change of an object.
fn changed(at: usize, kind: Kind, step: &Step, before: &Value, after: &Value) -> Result<(), TestCaseError> {
    let same = |part: &str| before[part] == after[part];
    match step {
        Step::Merge(true, _) | Step::Put(true, _) | Step::Apply(true, ..) => {
            prop_assert!(kind == Kind::Map || same("spec"), "step {}: the status' door changes the spec", at);
        }
        Step::Bind => {}
        _ => prop_assert!(same("status"), "step {at}: the status changes with the object"),
    }
    let generation = |object: &Value| object["metadata"]["generation"].as_u64().unwrap_or_default();
    let dying = |object: &Value| !object["metadata"]["deletionTimestamp"].is_null();
    if kind == Kind::Map {
        prop_assert_eq!(generation(after), 0);
    } else if !matches!(step, Step::Bind | Step::Delete(_)) {
        let moved = u64::from(!same("spec"));
        prop_assert_eq!(generation(after), generation(before) + moved, "step {}: the spec changed {} times", at, moved);
    } else if same("spec") && dying(before) == dying(after) {
        prop_assert!(generation(after) == generation(before) || dying(after), "step {at}: {before} {after}");
    }
    Ok(())
}

/// Nobody is left to wait for: only a pod on a node stays until its kubelet says that it is over.
fn survives(at: usize, kind: Kind, object: &Value) -> Result<(), TestCaseError> {
    let metadata = &object["metadata"];
    let held = metadata["finalizers"].as_array().is_some_and(|list| !list.is_empty());
    let running = kind == Kind::Pod
        && object["spec"]["nodeName"].is_string()
        && metadata["deletionGracePeriodSeconds"].as_u64().is_some_and(|seconds| seconds > 0);
    prop_assert!(metadata["deletionTimestamp"].is_null() || held || running, "step {at}: {object} is still there");
    Ok(())
}

/// What somebody sees who watches from this version on.
async fn watched(kind: Kind, namespace: &str, version: &str) -> Vec<Value> {
    let path = format!("{}?watch=true&resourceVersion={version}", kind.collection(namespace));
    let answer = API.handle(&User::admin(), Request::get(path).body(Bytes::new()).expect("a request")).await;
    let mut body = answer.into_body();
    let mut text = Vec::new();
    while let Ok(Some(Ok(frame))) = tokio::time::timeout(Duration::from_millis(1), body.frame()).await {
        text.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
    }
    serde_json::Deserializer::from_slice(&text).into_iter().collect::<Result<_, _>>().expect("events in JSON")
}

/// Versions rise, and every life begins with ADDED and ends with one DELETED, or goes on.
async fn lives(kind: Kind, namespace: &str, version: &str) -> Result<(), TestCaseError> {
    let mut last = 0;
    let mut words: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for event in watched(kind, namespace, version).await {
        let metadata = &event["object"]["metadata"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let version: u64 = text(&metadata["resourceVersion"]).parse().unwrap_or_default();
        prop_assert!(version > last, "version {} after {}: {}", version, last, event);
        last = version;
        words.entry(text(&metadata["uid"])).or_default().push(text(&event["type"]));
    }
    let (_, list) = ask("GET", &kind.collection(namespace), JSON, &Value::Null).await;
    let living: Vec<&str> = list["items"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|object| object["metadata"]["uid"].as_str())
        .collect();
    for uid in &living {
        prop_assert!(words.contains_key(*uid), "{} was never seen", uid);
    }
    for (uid, words) in &words {
        let end = usize::from(!living.contains(&uid.as_str()));
        let (inner, tail) = words[1..].split_at(words.len().saturating_sub(1 + end));
        prop_assert!(words[0] == "ADDED" && inner.iter().all(|word| word == "MODIFIED"), "{:?}", words);
        prop_assert!(tail.len() == end && tail.iter().all(|word| word == "DELETED"), "{:?}", words);
    }
    Ok(())
}

async fn furnish() {
    if API.store().revision() > 1 {
        return;
    }
    API.furnish().await.expect("the objects of every cluster");
    let size = json!({"type": "object", "properties": {"size": {"type": "integer"}}});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("gauges.{GROUP}")},
        "spec": {
            "group": GROUP, "scope": "Namespaced", "names": {"plural": "gauges", "singular": "gauge", "kind": "Gauge"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": size, "status": size}}},
            }],
        },
    });
    API.create(&User::admin(), &definition).await.expect("a definition");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_object_obeys_the_laws(steps in proptest::collection::vec(step(), 1..40)) {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let namespace = format!("case-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        // Time does not really pass.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
        runtime.block_on(async {
            furnish().await;
            let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
            let made = API.create(&User::admin(), &object).await.expect("a namespace");
            let version = made["metadata"]["resourceVersion"].as_str().unwrap_or_default();
            play(&namespace, &steps).await?;
            for kind in KINDS {
                lives(kind, &namespace, version).await?;
            }
            Ok::<(), TestCaseError>(())
        })?;
    }
}
