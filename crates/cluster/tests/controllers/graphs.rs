//! Random graphs of owners: some are deleted, one after the other, and what is left is what a small model says.
//!
//! The model knows nothing of finalizers and of the order in which things happen: an object stays if nobody deleted it and it either
//! has no owners or one of them stays.

use std::collections::BTreeMap;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use crate::cluster::{Cluster, owned_by};

const MAPS: &str = "/api/v1/namespaces/a/configmaps";

/// How many graphs are tried.
const GRAPHS: u64 = 60;

/// Owners by object, both by number; owners have smaller numbers. `None` is an owner that never existed.
type Model = BTreeMap<usize, Vec<Option<usize>>>;

fn name(number: usize) -> String {
    format!("m{number:02}")
}

/// What is left in the end of what is there.
fn remaining(model: &Model) -> Model {
    let mut left = Model::new();
    for (&number, owners) in model {
        let living: Vec<_> =
            owners.iter().copied().filter(|owner| owner.is_some_and(|owner| left.contains_key(&owner))).collect();
        if owners.is_empty() || !living.is_empty() {
            left.insert(number, living);
        }
    }
    left
}

fn delete(model: &mut Model, number: usize, policy: &str) {
    model.remove(&number);
    if policy == "Orphan" {
        model.values_mut().for_each(|owners| owners.retain(|owner| *owner != Some(number)));
    }
    *model = remaining(model);
}

fn random_graph(dice: &mut StdRng) -> Model {
    let size = dice.random_range(3..14);
    let owners = |number: usize, dice: &mut StdRng| {
        let count = if number == 0 { 0 } else { dice.random_range(0..4) };
        let mut owners: Vec<Option<usize>> = Vec::new();
        for _ in 0..count {
            let owner = if dice.random_range(0..12) == 0 { None } else { Some(dice.random_range(0..number)) };
            if !owners.contains(&owner) {
                owners.push(owner);
            }
        }
        owners
    };
    (0..size).map(|number| (number, owners(number, dice))).collect()
}

async fn build(cluster: &Cluster, model: &Model, dice: &mut StdRng) {
    let mut made: Vec<Value> = Vec::new();
    let nobody = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "nobody", "uid": "11111111-1111-1111-1111-111111111111"},
    });
    for (&number, owners) in model {
        let mut references = Vec::new();
        for owner in owners {
            let block = [Value::Null, json!(true), json!(false)][dice.random_range(0..3)].clone();
            let patch = if block.is_null() { json!({}) } else { json!({"blockOwnerDeletion": block}) };
            references.push(owned_by(owner.map_or(&nobody, |owner| &made[owner]), &patch));
        }
        let metadata = json!({"name": name(number), "namespace": "a", "ownerReferences": references});
        made.push(cluster.make(&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})).await);
    }
}

async fn state(cluster: &Cluster) -> Vec<(String, Vec<String>)> {
    let mut state = Vec::new();
    for name in cluster.names("configmaps", "a") {
        let found = cluster.get(&format!("{MAPS}/{name}")).await.unwrap();
        assert_eq!(found["metadata"].get("deletionTimestamp"), None, "{name} is still going");
        let owners = found["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        state.push((name, owners.map(|owner| owner["name"].as_str().unwrap().to_owned()).collect()));
    }
    state
}

fn expected(model: &Model) -> Vec<(String, Vec<String>)> {
    let owners = |owners: &Vec<Option<usize>>| owners.iter().flatten().map(|&owner| name(owner)).collect();
    model.iter().map(|(&number, of)| (name(number), owners(of))).collect()
}

async fn check(seed: u64) {
    let mut dice = StdRng::seed_from_u64(seed);
    let mut model = random_graph(&mut dice);
    println!("seed {seed}: {model:?}");
    let mut cluster = Cluster::new().await;
    // Everything is made before anyone looks, so that an owner's owner may be missing already.
    cluster.stop().await;
    build(&cluster, &model, &mut dice).await;
    cluster.start();
    cluster.settle().await;
    model = remaining(&model);
    assert_eq!(state(&cluster).await, expected(&model), "seed {seed}: at the start");
    while !model.is_empty() && dice.random_range(0..6) > 0 {
        let at = dice.random_range(0..model.len());
        let number = *model.keys().nth(at).unwrap();
        let policy = ["Background", "Foreground", "Orphan"][dice.random_range(0..3)];
        println!("seed {seed}: delete {} {policy}", name(number));
        // Sometimes it happens while nobody looks.
        let asleep = dice.random_range(0..4) == 0;
        if asleep {
            cluster.stop().await;
        }
        cluster.delete(&format!("{MAPS}/{}", name(number)), &json!({"propagationPolicy": policy})).await;
        if asleep {
            cluster.start();
        }
        cluster.settle().await;
        delete(&mut model, number, policy);
        assert_eq!(state(&cluster).await, expected(&model), "seed {seed}: {} {policy}", name(number));
    }
}

#[tokio::test(start_paused = true)]
async fn exactly_what_should_remain_remains() {
    for seed in 0..GRAPHS {
        check(seed).await;
    }
}
