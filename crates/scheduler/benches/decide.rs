//! What a decision costs on 1 000 nodes with 200 gangs of 16 pods: all of them wait (`fill`), all but one stand (`one`), all stand and
//! nothing is to be done (`rest`). And on 5 000 nodes without room, where 500 gangs wait and nothing changes (`backlog`).

use criterion::{Criterion, criterion_group, criterion_main};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::hint::black_box;
use std::sync::Arc;
use trellis_api::kinds::{ClusterTopology, PodGang};
use trellis_api::names::{annotation, label};
use trellis_scheduler::plan::{Kind, Target};
use trellis_scheduler::seen::{Key, Seen};
use trellis_scheduler::{Around, Memory, Plan, Settings, decide};

const RACK: &str = "bench.trellis.dev/rack";
const HOST: &str = "kubernetes.io/hostname";
const GPU: &str = "nvidia.com/gpu";
const NAMESPACE: &str = "bench";
/// Nodes of a rack.
const RACK_SIZE: usize = 10;
/// Pods of a gang.
const GANG_SIZE: usize = 16;

fn read<T: DeserializeOwned>(value: Value) -> Arc<T> {
    Arc::new(serde_json::from_value(value).expect("an object"))
}

/// A cluster, and gangs that have to be in one rack each.
fn cluster(nodes: usize, gangs: usize) -> Seen {
    let mut seen = Seen::default();
    let levels = json!([{ "domain": "rack", "key": RACK }, { "domain": "host", "key": HOST }]);
    let topology: Arc<ClusterTopology> = read(json!({
        "apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopology",
        "metadata": { "name": "bench" }, "spec": { "levels": levels },
    }));
    seen.cluster_topologies.insert("bench".into(), topology);
    for node in 0..nodes {
        let name = format!("node-{node:05}");
        let offers = json!({ "cpu": "64", "memory": "512Gi", "pods": "110", GPU: "8" });
        let labels = json!({ RACK: format!("rack-{}", node / RACK_SIZE), HOST: name });
        let status = json!({ "allocatable": offers, "conditions": [{ "type": "Ready", "status": "True" }] });
        let node: Arc<Node> = read(json!({ "metadata": { "name": name, "labels": labels }, "status": status }));
        seen.nodes.insert(name.into(), node);
    }
    (0..gangs).for_each(|gang| add_gang(&mut seen, gang));
    seen
}

fn add_gang(seen: &mut Seen, gang: usize) {
    let name = format!("gang-{gang:04}");
    let pods: Vec<String> = (0..GANG_SIZE).map(|pod| format!("{name}-worker-{pod:05}")).collect();
    let references: Vec<Value> = pods.iter().map(|pod| json!({ "namespace": NAMESPACE, "name": pod })).collect();
    let object = json!({
        "apiVersion": "scheduler.grove.io/v1alpha1", "kind": "PodGang",
        "metadata": {
            "name": name, "namespace": NAMESPACE, "uid": name, "resourceVersion": "1",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": { label::SCHEDULER_NAME: "trellis" },
            "annotations": { annotation::TOPOLOGY_NAME: "bench" },
        },
        "spec": {
            "podgroups": [{ "name": format!("{name}-worker"), "minReplicas": GANG_SIZE, "podReferences": references }],
            "topologyConstraint": { "packConstraint": { "required": RACK, "preferred": HOST } },
        },
    });
    seen.pod_gangs.insert(Key::new(NAMESPACE, &name), read(object));
    for name in pods {
        seen.pods.insert(Key::new(NAMESPACE, &name), read(pod(&name, "trellis", "2")));
    }
}

fn pod(name: &str, scheduler: &str, gpus: &str) -> Value {
    let requests = json!({ "cpu": "1", "memory": "4Gi", GPU: gpus });
    let tolerated = |key| json!({ "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 });
    json!({
        "metadata": {
            "name": name, "namespace": NAMESPACE, "uid": name, "resourceVersion": "1",
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {
            "schedulerName": scheduler,
            "priority": 0,
            "containers": [{ "name": "worker", "resources": { "requests": requests, "limits": { GPU: gpus } } }],
            "tolerations": [tolerated("node.kubernetes.io/not-ready"), tolerated("node.kubernetes.io/unreachable")],
        },
        "status": { "phase": "Pending" },
    })
}

/// A pod on each node that leaves no room for others.
fn occupy(seen: &mut Seen) {
    for node in seen.nodes.keys().cloned().collect::<Vec<_>>() {
        let name = format!("occupant-{node}");
        let mut pod = pod(&name, "nobody", "8");
        pod["spec"]["nodeName"] = json!(&*node);
        seen.pods.insert(Key::new(NAMESPACE, &name), read(pod));
    }
}

/// Has a plan carried out at once.
fn carry_out(seen: &mut Seen, plan: &Plan) {
    for gang in &plan.gangs {
        let annotations = gang_mut(seen, &gang.target).metadata.annotations.get_or_insert_default();
        for (key, value) in &gang.annotations {
            match value {
                Some(value) => drop(annotations.insert((*key).to_owned(), value.clone())),
                None => drop(annotations.remove(*key)),
            }
        }
        for bind in &gang.binds {
            pod_mut(seen, &bind.pod).spec.get_or_insert_default().node_name = Some(bind.node.clone());
        }
    }
    for status in &plan.statuses {
        let said = serde_json::from_value(status.object["status"].clone()).expect("a status");
        gang_mut(seen, &status.target).status = Some(said);
    }
    for condition in &plan.pod_conditions {
        let said = serde_json::from_value(condition.patch["status"]["conditions"].clone()).expect("conditions");
        pod_mut(seen, &condition.pod).status.get_or_insert_default().conditions = said;
    }
}

fn gang_mut<'a>(seen: &'a mut Seen, target: &Target) -> &'a mut PodGang {
    assert_eq!(target.kind, Kind::PodGang);
    Arc::make_mut(seen.pod_gangs.get_mut(&Key::new(&target.namespace, &target.name)).expect("a gang"))
}

fn pod_mut<'a>(seen: &'a mut Seen, name: &str) -> &'a mut Pod {
    Arc::make_mut(seen.pods.get_mut(&Key::new(NAMESPACE, name)).expect("a pod"))
}

/// Decides and carries out until nothing is left to do.
fn settle(seen: &mut Seen, around: &Around<'_>, memory: &mut Memory) {
    for _ in 0..50 {
        let plan = decide(seen, around, memory);
        if plan.is_idle() {
            return;
        }
        carry_out(seen, &plan);
    }
    panic!("it does not come to rest");
}

fn decisions(c: &mut Criterion) {
    let settings = Settings::default();
    let now: Timestamp = "2026-01-01T00:00:10Z".parse().expect("a time");
    let around = Around { settings: &settings, identity: "bench", leads_since: None, now };
    let mut group = c.benchmark_group("decide");
    group.sample_size(20);

    let fill = cluster(1_000, 200);
    group.bench_function("fill", |b| b.iter(|| decide(black_box(&fill), &around, &mut Memory::default())));

    let mut rest = fill;
    let mut memory = Memory::default();
    settle(&mut rest, &around, &mut memory);
    assert!(rest.pods.values().all(|pod| pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some())));
    group.bench_function("rest", |b| b.iter(|| decide(black_box(&rest), &around, &mut memory)));

    let mut one = rest;
    one.pod_gangs.retain(|key, _| &*key.name != "gang-0000");
    one.pods.retain(|key, _| !key.name.starts_with("gang-0000"));
    add_gang(&mut one, 200);
    group.bench_function("one", |b| b.iter(|| decide(black_box(&one), &around, &mut memory)));

    let mut backlog = cluster(5_000, 500);
    occupy(&mut backlog);
    let mut memory = Memory::default();
    settle(&mut backlog, &around, &mut memory);
    group.bench_function("backlog", |b| b.iter(|| decide(black_box(&backlog), &around, &mut memory)));
    group.bench_function("copy", |b| b.iter(|| black_box(&backlog).clone()));
    group.finish();
}

criterion_group!(benches, decisions);
criterion_main!(benches);
