//! Different ways to the same set: edits in any order, with detours, hurried or not, end as if the set had been made so at once.

use serde_json::{Value, json};
use tokio::time::sleep;
use trellis_lifecycle::Kind;
use trellis_testkit::mutate::Dice;

use crate::play::{self, Life, Plight};
use crate::script::{clique, group, set};
use crate::world::World;

/// A part of a set that may be edited, with as many values as there are.
type Part = (&'static str, fn(&mut Value, usize));

const VALUES: usize = 3;

/// What is edited. Every value of every part is valid with every other.
const PARTS: [Part; 9] = [
    ("replicas of the set", |set, value| set["spec"]["replicas"] = (1 + value % 2).into()),
    ("replicas of a clique", |set, value| cliques(set)[0]["spec"]["replicas"] = (1 + value).into()),
    ("replicas of a group", |set, value| template(set)["podCliqueScalingGroups"][0]["replicas"] = (1 + value).into()),
    ("an image", |set, value| cliques(set)[0]["spec"]["podSpec"]["containers"][0]["image"] = image(value)),
    ("an image in a group", |set, value| cliques(set)[1]["spec"]["podSpec"]["containers"][0]["image"] = image(value)),
    ("the priority", |set, value| template(set)["priorityClassName"] = ["low", "high", "low"][value].into()),
    ("the Service", |set, value| {
        template(set)["headlessServiceConfig"] = json!({ "publishNotReadyAddresses": value != 1 });
    }),
    ("an autoscaler", |set, value| {
        let spec = cliques(set)[2]["spec"].as_object_mut().expect("a spec");
        spec.remove("autoScalingConfig");
        if value > 0 {
            spec.insert("autoScalingConfig".to_owned(), json!({ "minReplicas": 1, "maxReplicas": 2 + value }));
        }
    }),
    ("a label", |set, value| {
        cliques(set)[0]["labels"] =
            [json!({}), json!({ "team": "one" }), json!({ "team": "two", "tier": "x" })][value].clone();
    }),
];

fn template(set: &mut Value) -> &mut Value {
    &mut set["spec"]["template"]
}

fn cliques(set: &mut Value) -> &mut Value {
    &mut set["spec"]["template"]["cliques"]
}

fn image(value: usize) -> Value {
    format!("app:{}", value + 1).into()
}

fn made(values: &[usize]) -> Value {
    let mut set = set(&[clique("a", 1, 1), clique("b", 1, 1), clique("c", 1, 1)], &[group("g", 1, 1, &["b"])]);
    for ((_, change), value) in PARTS.iter().zip(values) {
        change(&mut set, *value);
    }
    set
}

/// Goes one way that this seed decides, with or without faults, and compares its end with that of the straight way.
pub async fn check(world: &World, seed: u64) -> Result<(), String> {
    let mut dice = Dice::new(seed);
    let mut any = || -> Vec<usize> { PARTS.iter().map(|_| dice.below(VALUES)).collect() };
    let (first, last) = (any(), any());
    world.sweep().await;
    let life = Life::begin(world, false, Plight::None);
    world.create(&made(&last)).await;
    let expected = play::settle(world, play::QUIET, None, true).await?;
    drop(life);

    world.sweep().await;
    let plight = if dice.below(2) == 0 { Plight::None } else { Plight::Seeded(seed) };
    let life = Life::begin(world, false, plight);
    world.create(&made(&first)).await;
    let mut edits: Vec<(usize, usize)> =
        (0..dice.below(6)).map(|_| (dice.below(PARTS.len()), dice.below(VALUES))).collect();
    let mut rest: Vec<usize> = (0..PARTS.len()).collect();
    while !rest.is_empty() {
        let part = rest.swap_remove(dice.below(rest.len()));
        edits.push((part, last[part]));
    }
    for (part, value) in &edits {
        match dice.below(3) {
            0 => drop(play::settle(world, play::QUIET, None, true).await?),
            _ => sleep(play::milliseconds(&mut dice, 2_000)).await,
        }
        world.edit(Kind::PodCliqueSet, "wl", |set| PARTS[*part].1(set, *value)).await;
    }
    life.spare();
    let ended = play::settle(world, play::QUIET, Some(&expected), true).await.map(drop);
    let way =
        || edits.iter().map(|(part, value)| format!("{} to {value}", PARTS[*part].0)).collect::<Vec<_>>().join(", ");
    ended.map_err(|why| format!("{plight:?}, from {first:?} to {last:?} by {}: {why}", way()))?;
    match life.died() {
        Some(why) => Err(format!("the operator ended by itself: {why}")),
        None => Ok(()),
    }
}
