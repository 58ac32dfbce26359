//! How fast the embedded API is, and how much memory it takes: `cargo bench -p trellis-cluster`.
//!
//! Requests go through the service as those of a client in process do: bytes in, bytes out. Every event is read by every watcher that
//! it concerns, and the figures say how many there were.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tower::{Service, ServiceExt};
use trellis_cluster::api::{Api, Options};
use trellis_cluster::user::User;

const WATCHERS: usize = 100;
const WRITERS: usize = 16;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        println!("{:<58} {:>14} {:>14}", "work", "target", "measured");
        creates("creates, 100 watchers of a namespace each", 30_000, true, "10000 /s").await;
        creates("creates, 100 watchers of everything", 5_000, false, "1000 /s").await;
        memory().await;
    });
}

async fn api() -> Api {
    let api = Api::new(Options::default());
    api.furnish().await.expect("namespaces");
    for number in 0..WATCHERS {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace(number)}});
        api.create(&User::admin(), &namespace).await.expect("a namespace");
    }
    api
}

fn namespace(number: usize) -> String {
    format!("n{}", number % WATCHERS)
}

/// A pod of the usual size: with labels, an owner, resources and a few variables.
fn pod(number: usize) -> Value {
    let env: Vec<Value> =
        (0..6).map(|n| json!({"name": format!("VARIABLE_{n}"), "value": format!("value-{n}")})).collect();
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": format!("pod-{number}"), "labels": {"app": "bench", "app.kubernetes.io/part-of": "set", "index": number.to_string()},
            "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "00000000-0000-4000-8000-000000000000"}],
        },
        "spec": {
            "schedulerName": "trellis", "schedulingGates": [{"name": "example.com/gate"}],
            "containers": [{
                "name": "main", "image": "registry.example.com/image:v1", "env": env,
                "resources": {"limits": {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "8"}},
                "ports": [{"containerPort": 8080, "name": "http"}],
            }],
        },
    })
}

async fn send(
    api: &Api,
    method: Method,
    uri: String,
    body: Vec<u8>,
) -> http::Response<trellis_cluster::http::body::Body> {
    let request = Request::builder().method(method).uri(uri).header("content-type", "application/json");
    let request = request.header("user-agent", "bench/1").body(Full::new(Bytes::from(body))).expect("a request");
    let mut service = api.service(User::admin());
    let Ok(response) =
        ServiceExt::<Request<Full<Bytes>>>::ready(&mut service).await.expect("ready").call(request).await;
    response
}

async fn create(api: &Api, number: usize) {
    let uri = format!("/api/v1/namespaces/{}/pods", namespace(number));
    let response = send(api, Method::POST, uri, pod(number).to_string().into_bytes()).await;
    assert_eq!(response.status(), StatusCode::CREATED);
    let Ok(_) = response.into_body().collect().await;
}

/// Creates pods from several tasks at once.
async fn create_all(api: &Api, count: usize) -> Duration {
    let begun = Instant::now();
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let api = api.clone();
        writers.spawn(async move {
            for number in (writer..count).step_by(WRITERS) {
                create(&api, number).await;
            }
        });
    }
    writers.join_all().await;
    begun.elapsed()
}

async fn creates(what: &str, count: usize, apart: bool, target: &str) {
    let api = api().await;
    let each = if apart { count / WATCHERS } else { count };
    let mut watchers = JoinSet::new();
    for number in 0..WATCHERS {
        let place = if apart { format!("/namespaces/{}", namespace(number)) } else { String::new() };
        let version = api.store().revision();
        let uri = format!("/api/v1{place}/pods?watch=true&resourceVersion={version}");
        let mut body = send(&api, Method::GET, uri, Vec::new()).await.into_body();
        watchers.spawn(async move {
            let mut events = 0;
            while events < each {
                let Some(Ok(frame)) = body.frame().await else { break };
                events += usize::from(frame.is_data());
            }
            events
        });
    }
    let begun = Instant::now();
    let writing = create_all(&api, count).await;
    let seen: usize = watchers.join_all().await.into_iter().sum();
    let all = begun.elapsed();
    assert_eq!(seen, each * WATCHERS, "every event reached whoever watches");
    println!("{what:<58} {target:>14} {:>11.0} /s", count_per_second(count, writing));
    println!("{:<58} {:>14} {:>11.0} /s", "  events delivered", "", count_per_second(seen, all));
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn count_per_second(count: usize, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

/// The memory of this process in megabytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kilobytes| kilobytes.parse::<usize>().ok()).unwrap_or(0) / 1024
}

async fn memory() {
    let before = resident();
    let api = api().await;
    create_all(&api, 100_000).await;
    let after = resident();
    println!("{:<58} {:>14} {:>11} MB", "100000 pods in memory", "1000 MB", after.saturating_sub(before));
    println!("{:<58} {:>14} {:>11} MB", "  the whole process", "", after);
    let begun = Instant::now();
    let body = send(&api, Method::GET, "/api/v1/pods".to_owned(), Vec::new()).await.into_body();
    let Ok(list) = body.collect().await;
    let size = list.to_bytes().len() / (1024 * 1024);
    println!("{:<58} {:>14} {:>11} ms", format!("  one list of them ({size} MB)"), "", begun.elapsed().as_millis());
}
