//! Whatever objects are given, there is a problem in the engine's form or a list of faults, and never a panic.
//!
//! Objects are made from a fixed seed: `TRELLIS_SEED=<number>` chooses another one, `TRELLIS_CASES=<factor>` multiplies
//! the number of cases. A failing case is told by its number.

use crate::support::Objects;
use crate::world::assert_well_formed;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use trellis_api::kinds::SimulatedCluster;
use trellis_lower::problem::problem;
use trellis_lower::problem::simulated::nodes;
use trellis_testkit::mutate::{Dice, mutate};

const CASES: usize = 100_000;
/// Most simulated nodes of a case.
const MOST: usize = 1000;

fn number(variable: &str, otherwise: usize) -> usize {
    let Ok(text) = std::env::var(variable) else { return otherwise };
    text.parse().unwrap_or_else(|_| panic!("{variable} must be a number, and is {text:?}"))
}

/// One object of every kind that means something to the others.
fn world() -> Vec<Value> {
    let reference = |name: &str| json!({ "namespace": "default", "name": name });
    let pack = |required: &str| json!({ "packConstraint": { "required": required, "preferred": "host" } });
    let node = |name: &str, rack: &str| {
        json!({ "kind": "Node",
                "metadata": { "name": name, "labels": { "zone": "z", "rack": rack, "kubernetes.io/hostname": name } },
                "spec": { "taints": [{ "key": "k", "value": "v", "effect": "NoSchedule" }], "unschedulable": false },
                "status": { "allocatable": { "cpu": "8", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "8" },
                            "conditions": [{ "type": "Ready", "status": "True" }] } })
    };
    let pod = |name: &str, more: Value| {
        let mut pod = json!({
            "kind": "Pod",
            "metadata": { "name": name, "namespace": "default", "labels": {}, "annotations": {} },
            "spec": {
                "schedulerName": "trellis",
                "containers": [{ "name": "c", "resources": { "requests": { "cpu": "500m", "memory": "1Gi" }, "limits": { "nvidia.com/gpu": "1" } } }],
                "initContainers": [{ "name": "i", "restartPolicy": "Always", "resources": { "requests": { "cpu": "1e-1" } } }],
                "overhead": { "memory": "64Mi" },
                "nodeSelector": { "zone": "z" },
                "affinity": { "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": [
                    { "matchExpressions": [{ "key": "rack", "operator": "In", "values": ["a", "b"] }],
                      "matchFields": [{ "key": "metadata.name", "operator": "NotIn", "values": ["n9"] }] }] } } },
                "tolerations": [{ "key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule" }],
                "schedulingGates": [{ "name": "grove.io/podgang-pending-creation" }],
            },
            "status": { "phase": "Pending", "containerStatuses": [{ "name": "c", "resources": { "requests": { "cpu": "1" } } }] },
        });
        crate::gangs::merge(&mut pod, &more);
        pod
    };
    let member = |leaf: &str| json!({ "metadata": { "annotations": { "pod-group-name": "pg" }, "labels": { "kai.scheduler/subgroup-name": leaf } } });
    vec![
        json!({ "kind": "ClusterTopology", "metadata": { "name": "grove-topology" }, "spec": { "levels": [
            { "domain": "zone", "key": "zone" }, { "domain": "rack", "key": "rack" },
            { "domain": "host", "key": "kubernetes.io/hostname" }, { "domain": "numa", "key": "numa" }] } }),
        json!({ "kind": "Topology", "metadata": { "name": "grove-topology" }, "spec": { "levels": [
            { "nodeLabel": "zone", "alias": "az" }, { "nodeLabel": "rack" }, { "nodeLabel": "kubernetes.io/hostname" }] } }),
        node("n0", "a"),
        node("n1", "b"),
        json!({ "kind": "SimulatedCluster", "metadata": { "name": "s" }, "spec": { "pools": [{
            "name": "sim", "levels": [{ "key": "zone", "count": 1 }, { "key": "rack", "count": 2, "prefix": "r" }], "hosts": 2,
            "resources": { "cpu": "4", "memory": "8Gi" }, "labels": { "a": "b" }, "taints": [{ "key": "k", "effect": "NoExecute" }] }] } }),
        json!({ "kind": "NodeResourceTopology", "metadata": { "name": "n0" }, "zones": [
            { "name": "node-0", "type": "Node", "resources": [{ "name": "cpu", "available": "4" }] },
            { "name": "node-1", "type": "Node", "resources": [{ "name": "cpu", "capacity": "4", "allocatable": "4", "available": "3" }] }] }),
        json!({ "kind": "PriorityClass", "metadata": { "name": "high" }, "value": 100, "globalDefault": true }),
        json!({ "kind": "PodGang",
                "metadata": { "name": "g", "namespace": "default", "labels": { "grove.io/base-podgang": "base" },
                              "annotations": { "grove.io/topology-name": "grove-topology" }, "creationTimestamp": "2026-01-01T00:00:00Z" },
                "spec": { "priorityClassName": "high", "topologyConstraint": pack("zone"),
                          "topologyConstraintGroupConfigs": [{ "name": "c", "podGroupNames": ["b"], "topologyConstraint": pack("rack") }],
                          "podgroups": [{ "name": "a", "minReplicas": 1, "podReferences": [reference("a-0"), reference("a-1")] },
                                        { "name": "b", "minReplicas": 1, "podReferences": [reference("b-0")], "topologyConstraint": pack("numa") }] } }),
        json!({ "kind": "PodGang", "metadata": { "name": "base", "namespace": "default" },
                "spec": { "podgroups": [{ "name": "a", "minReplicas": 1, "podReferences": [] }] } }),
        json!({ "kind": "PodGroup", "metadata": { "name": "pg", "namespace": "default" },
                "spec": { "minMember": 1, "minSubGroup": 1, "queue": "q", "priorityClassName": "high",
                          "topologyConstraint": { "topology": "grove-topology", "requiredTopologyLevel": "az" },
                          "subGroups": [{ "name": "in", "minSubGroup": 1 }, { "name": "x", "parent": "in", "minMember": 1,
                              "topologyConstraint": { "topology": "grove-topology", "requiredTopologyLevel": "rack", "preferredTopologyLevel": "kubernetes.io/hostname" } },
                              { "name": "y", "parent": "in", "minMember": 1 }] } }),
        pod(
            "a-0",
            json!({ "spec": { "nodeName": "n0" }, "metadata": { "annotations": { "trellis.dev/numa-zone": "node-1" } } }),
        ),
        pod("a-1", json!({})),
        pod("b-0", json!({})),
        pod("x-0", member("x")),
        pod("y-0", member("y")),
        pod("alone", json!({})),
        pod("daemon", json!({ "spec": { "nodeName": "n1" } })),
    ]
}

/// Spoils one to three objects, by their places. It can be done again from the seed and the number.
fn spoil(world: &[Value], seed: usize, case: usize) -> BTreeMap<usize, Value> {
    let mut dice = Dice::new(u64::try_from(seed.wrapping_mul(0x0100_01b3).wrapping_add(case)).expect("64 bits"));
    let mut spoilt = BTreeMap::new();
    for _ in 0..=dice.below(3) {
        let (place, other) = (dice.below(world.len()), &world[dice.below(world.len())]);
        let victim = spoilt.entry(place).or_insert_with(|| world[place].clone());
        if dice.below(3) == 0 {
            mutate(victim, other, &mut dice);
        } else {
            let leaves = leaves(other);
            (0..=dice.below(4)).for_each(|_| exchange(victim, &leaves, &mut dice));
        }
        if victim.is_object() {
            // What no kind is known of is not looked at.
            victim["kind"] = world[place]["kind"].clone();
        }
    }
    spoilt
}

const TEXTS: [&str; 16] = [
    "",
    "a",
    "g",
    "pg",
    "in",
    "IN",
    "n0",
    "n1",
    "base",
    "-1",
    "0",
    "7Ei",
    "1e-400",
    "1.5Gi",
    "trellis.dev/x",
    "Exists",
];
const NUMBERS: [i64; 6] = [0, -1, 1, 3, 2_147_483_647, -2_147_483_648];

/// Everything in a value that has no parts.
fn leaves(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().flat_map(leaves).collect(),
        Value::Object(fields) => fields.values().flat_map(leaves).collect(),
        leaf => vec![leaf],
    }
}

/// Walks down to some leaf and puts another one of its type there, so that the object still is one; or doubles or drops
/// something on the way.
fn exchange(value: &mut Value, others: &[&Value], dice: &mut Dice) {
    match value {
        Value::Array(items) if !items.is_empty() => {
            let i = dice.below(items.len());
            match dice.below(8) {
                0 => drop(items.remove(i)),
                1 => items.push(items[i].clone()),
                _ => exchange(&mut items[i], others, dice),
            }
        }
        Value::Object(fields) if !fields.is_empty() => {
            let key = fields.keys().nth(dice.below(fields.len())).cloned().unwrap_or_default();
            if dice.below(12) == 0 {
                fields.remove(&key);
            } else if let Some(field) = fields.get_mut(&key) {
                exchange(field, others, dice);
            }
        }
        leaf => {
            let same = |other: &&&Value| std::mem::discriminant(**other) == std::mem::discriminant(leaf);
            let candidates: Vec<&&Value> = others.iter().filter(same).collect();
            *leaf = match leaf {
                Value::String(_) if dice.below(3) == 0 => TEXTS[dice.below(TEXTS.len())].into(),
                Value::Number(_) if dice.below(2) == 0 => NUMBERS[dice.below(NUMBERS.len())].into(),
                Value::Bool(flag) => (!*flag).into(),
                _ if candidates.is_empty() => Value::Null,
                _ => (*candidates[dice.below(candidates.len())]).clone(),
            };
        }
    }
}

/// Whether the objects pose a problem, or are refused.
fn judge(world: &[Objects], spoilt: &BTreeMap<usize, Value>) -> bool {
    let spoilt: BTreeMap<usize, Objects> =
        spoilt.iter().map(|(place, value)| (*place, Objects::read(std::slice::from_ref(value)).0)).collect();
    let objects = world.iter().enumerate().map(|(place, whole)| spoilt.get(&place).unwrap_or(whole));
    let mut observed = Objects::observed(objects);
    // More nodes find nothing more, and take their time.
    let is_small = |cluster: &&SimulatedCluster| nodes(cluster).is_ok_and(|nodes| nodes.take(MOST + 1).count() <= MOST);
    observed.simulated_clusters.retain(|cluster| nodes(cluster).is_err() || is_small(cluster));
    match problem(&observed) {
        Ok(problem) => assert_well_formed(&problem),
        Err(faults) => {
            assert!(!faults.is_empty());
            assert!(faults.iter().all(|fault| !fault.error.field.is_empty()), "{faults:#?}");
            return false;
        }
    }
    true
}

#[test]
fn spoilt_objects_panic_nowhere() {
    let (seed, world) = (number("TRELLIS_SEED", 20_251_116), world());
    let total = CASES * number("TRELLIS_CASES", 1);
    let read: Vec<Objects> = world.iter().map(|value| Objects::read(std::slice::from_ref(value)).0).collect();
    assert!(judge(&read, &BTreeMap::new()), "the world is without fault before it is spoilt");
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let part = |thread: usize| {
        let (world, read) = (&world, &read);
        move || {
            let mut posed = 0;
            for case in (0..total).skip(thread).step_by(threads) {
                let judged = catch_unwind(AssertUnwindSafe(|| judge(read, &spoil(world, seed, case))));
                posed += usize::from(judged.unwrap_or_else(|_| panic!("TRELLIS_SEED={seed}, case {case}")));
            }
            posed
        }
    };
    let posed: usize = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|thread| scope.spawn(part(thread))).collect();
        running.into_iter().map(|thread| thread.join().expect("no case panics")).sum()
    });
    println!("TRELLIS_SEED={seed}: {posed} of {total} posed a problem");
    assert!((total / 4..total * 9 / 10).contains(&posed), "{posed} of {total} posed a problem");
}
