//! What admission and lowering cost. Targets: `lower/500x2x4` under 20 ms, `validate/one` under 100 µs, `dynamo/25`
//! under 1 ms.

// The allocator of the binary.
use trellis_testkit as _;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::hint::black_box;
use trellis_api::admission::object::{Kind, decode};
use trellis_api::admission::{ClusterView, Verdict, default_pod_clique_set, validate_pod_clique_set};
use trellis_api::dynamo::Graph;
use trellis_api::kinds::{ClusterTopology, PodCliqueSet};
use trellis_api::settings::Settings;
use trellis_lower::dynamo::pod_clique_set;
use trellis_lower::{LiveReplicas, Pod, Surroundings, lower};

/// A clique of four pods as people write them.
fn clique(name: &str) -> Value {
    let resources = json!({ "cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "1" });
    json!({
        "name": name,
        "labels": { "app": "model" },
        "topologyConstraint": { "packDomain": "host" },
        "spec": {
            "roleName": name,
            "replicas": 4,
            "podSpec": {
                "containers": [{
                    "name": "engine",
                    "image": "registry.example.com/engine:1.2.3",
                    "args": ["--model", "llama", "--tensor-parallel", "8"],
                    "env": [
                        { "name": "MODEL", "value": "llama" },
                        { "name": "LEADER", "value": "$(GROVE_PCS_NAME)-0.$(GROVE_HEADLESS_SERVICE)" },
                        { "name": "HOST_IP", "valueFrom": { "fieldRef": { "fieldPath": "status.hostIP" } } },
                    ],
                    "resources": { "requests": resources, "limits": resources },
                    "readinessProbe": { "httpGet": { "path": "/health", "port": 8000 }, "periodSeconds": 5 },
                    "volumeMounts": [
                        { "name": "cache", "mountPath": "/cache" },
                        { "name": "shm", "mountPath": "/dev/shm" },
                    ],
                }],
                "volumes": [
                    { "name": "cache", "persistentVolumeClaim": { "claimName": "models" } },
                    { "name": "shm", "emptyDir": { "medium": "Memory", "sizeLimit": "16Gi" } },
                ],
            },
        },
    })
}

fn set() -> Value {
    json!({
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": { "name": "serving", "namespace": "models" },
        "spec": {
            "replicas": 500,
            "template": {
                "topologyConstraint": { "packDomain": "rack" },
                "cliques": [clique("prefill"), clique("decode")],
            },
        },
    })
}

fn view() -> ClusterView {
    let levels = ["zone", "block", "rack"].map(|d| json!({ "domain": d, "key": format!("example.com/{d}") }));
    let mut levels = levels.to_vec();
    levels.push(json!({ "domain": "host", "key": "kubernetes.io/hostname" }));
    let topology = json!({ "metadata": { "name": "grove-topology" }, "spec": { "levels": levels } });
    let topology = decode::<ClusterTopology>(Kind::ClusterTopology, topology).object.expect("a topology");
    let topologies = BTreeMap::from([("grove-topology".to_owned(), topology)]);
    ClusterView { topologies, ..ClusterView::default() }
}

/// A deployment of 25 components, every other of which spans nodes.
fn deployment() -> Value {
    let component = |i: usize| {
        let resources = json!({ "limits": { "nvidia.com/gpu": "8" } });
        let main = json!({
            "name": "main", "image": "registry.example.com/engine:1.2.3", "args": ["python3 -m dynamo.vllm --model m -tp 16"],
            "env": [{ "name": "MODEL", "value": "llama" }], "resources": resources,
        });
        let mut component = json!({
            "name": format!("Worker{i:02}"), "type": "worker", "replicas": 2, "topologyConstraint": { "packDomain": "rack" },
            "podTemplate": { "spec": { "containers": [main], "nodeSelector": { "pool": "gpu" } } },
        });
        if i.is_multiple_of(2) {
            component["multinode"] = json!({ "nodeCount": 4 });
        }
        component
    };
    json!({
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeployment",
        "metadata": { "name": "serving", "namespace": "models" },
        "spec": {
            "topologyConstraint": { "packDomain": "zone" },
            "env": [{ "name": "A", "value": "a" }],
            "components": (0..25).map(component).collect::<Vec<_>>(),
        },
    })
}

/// Default and validate.
fn admit(mut set: PodCliqueSet, view: &ClusterView, settings: &Settings) -> (PodCliqueSet, Verdict) {
    default_pod_clique_set(&mut set, None, settings);
    let verdict = validate_pod_clique_set(&set, None, view, settings);
    (set, verdict)
}

fn benches(criterion: &mut Criterion) {
    let (value, view, settings) = (set(), view(), Settings::default());
    let decoded = decode::<PodCliqueSet>(Kind::PodCliqueSet, value.clone()).object.expect("a set");
    let (admitted, verdict) = admit(decoded.clone(), &view, &settings);
    assert!(verdict.allowed(), "{:?}", verdict.errors);
    let live = LiveReplicas::default();
    let around = Surroundings { topologies: &view.topologies, live: &live, settings: &settings };
    assert_eq!(lower(&admitted, &around).pods.len(), 4000);

    // One at a time, and dropped outside of the measurement: what is made is large.
    criterion.bench_function("lower/500x2x4", |bencher| {
        bencher.iter_batched(|| (), |()| lower(black_box(&admitted), &around), BatchSize::PerIteration);
    });
    // The same with every pod put together as an object, which is what sending them all costs before the network.
    criterion.bench_function("lower/500x2x4+objects", |bencher| {
        let objects = || lower(black_box(&admitted), &around).pods.iter().map(Pod::object).collect::<Vec<_>>();
        bencher.iter_batched(|| (), |()| objects(), BatchSize::PerIteration);
    });
    criterion.bench_function("validate/one", |bencher| {
        let read = |value| {
            let mut decoded = decode::<PodCliqueSet>(Kind::PodCliqueSet, value);
            let set = decoded.object.take().expect("a set");
            let (set, verdict) = admit(set, &view, &settings);
            (set, decoded.judged(verdict))
        };
        bencher.iter_batched(|| value.clone(), read, BatchSize::SmallInput);
    });
    let graph = Graph::read(&deployment()).object.expect("a deployment");
    criterion.bench_function("dynamo/25", |bencher| {
        bencher.iter(|| pod_clique_set(black_box(&graph), &settings));
    });
    criterion.bench_function("dynamo/25+read", |bencher| {
        let read = |value: Value| pod_clique_set(&Graph::read(&value).object.expect("a deployment"), &settings);
        bencher.iter_batched(deployment, read, BatchSize::SmallInput);
    });
    criterion.bench_function("validate/decoded", |bencher| {
        bencher.iter_batched(|| decoded.clone(), |set| admit(set, &view, &settings), BatchSize::SmallInput);
    });
}

criterion_group!(lowering, benches);
criterion_main!(lowering);
