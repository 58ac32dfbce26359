//! What a large workflow costs. Targets: `osmo/tree/1000` under 5 ms; `osmo/decide/1000-tasks`, which is due for every change of one of its
//! pods, under 50 ms.

// The allocator of the binary.
use trellis_testkit as _;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::hint::black_box;
use trellis_api::admission::object::{Kind, decode};
use trellis_api::admission::{Pools, validate_workflow};
use trellis_api::kinds::osmo::{Pool, Workflow};
use trellis_lower::osmo::{Seen, decide, group_objects, tree};

/// A thousand tasks in one group: 25 models of 40 shards, each model in a rack, all racks of a spine in one zone.
fn workflow() -> Value {
    let task = |i: usize| {
        json!({"name": format!("shard-{i}"), "image": "registry.example.com/trainer:2.9",
               "command": ["train", "--leader", "{{host:shard-0}}"], "resource": format!("model-{}", i / 40)})
    };
    let resource = |m: usize| {
        let topology = json!([
            {"key": "rack", "group": format!("model-{m}")},
            {"key": "spine", "group": format!("spine-{}", m % 5), "requirementType": "preferred"},
            {"key": "zone", "group": "all"},
        ]);
        (format!("model-{m}"), json!({"gpu": 4, "memory": "256Gi", "topology": topology}))
    };
    let tasks: Vec<Value> = (0..1_000).map(task).collect();
    let resources: serde_json::Map<String, Value> = (0..25).map(resource).collect();
    json!({"metadata": {"name": "large", "namespace": "jobs"}, "spec": {"groups": [{"name": "all", "tasks": tasks}], "resources": resources}})
}

/// A thousand tasks that are each a group, and a server that all of them name.
fn tasks() -> Value {
    let task = |i: usize| {
        json!({"name": format!("task-{i}"), "image": "registry.example.com/trainer:2.9",
               "command": ["run", "--server", "{{host:task-0}}"], "inputs": if i == 0 { json!([]) } else { json!([{"task": "task-0"}]) }})
    };
    let tasks: Vec<Value> = (0..1_000).map(task).collect();
    json!({"metadata": {"name": "many", "namespace": "jobs"}, "spec": {"tasks": tasks}})
}

fn pool() -> Pool {
    let keys = ["zone", "spine", "rack"].map(|key| json!({"key": key, "label": format!("example.com/{key}")}));
    decode(Kind::Pool, json!({"metadata": {"name": "p"}, "spec": {"topology_keys": keys}})).object.expect("a pool")
}

fn benches(criterion: &mut Criterion) {
    let (value, pool) = (workflow(), pool());
    let pools: Pools = [("p".to_owned(), pool.clone())].into();
    let workflow: Workflow = decode(Kind::Workflow, value.clone()).object.expect("a workflow");
    let verdict = validate_workflow(&workflow, None, &pools);
    assert!(verdict.allowed(), "{:?}", verdict.errors);
    let group = &workflow.spec.groups[0];
    assert_eq!(tree(group, &workflow.spec, &pool.spec).nodes.len(), 30);

    criterion.bench_function("osmo/tree/1000", |bencher| {
        bencher.iter(|| tree(black_box(group), &workflow.spec, &pool.spec));
    });
    criterion.bench_function("osmo/objects/1000", |bencher| {
        bencher.iter_batched(|| (), |()| group_objects(black_box(&workflow), group, &pool), BatchSize::PerIteration);
    });
    let many: Workflow = decode(Kind::Workflow, tasks()).object.expect("a workflow");
    let seen = Seen { workflow: many, pool: Some(pool.clone()), ..Seen::default() };
    assert_eq!(decide(&seen, Timestamp::UNIX_EPOCH).status.groups.len(), 1_000);
    criterion.bench_function("osmo/decide/1000-tasks", |bencher| {
        bencher.iter(|| decide(black_box(&seen), Timestamp::UNIX_EPOCH));
    });
    criterion.bench_function("osmo/validate/1000", |bencher| {
        let read = |value| validate_workflow(&decode(Kind::Workflow, value).object.expect("a workflow"), None, &pools);
        bencher.iter_batched(|| value.clone(), read, BatchSize::PerIteration);
    });
}

criterion_group!(osmo, benches);
criterion_main!(osmo);
