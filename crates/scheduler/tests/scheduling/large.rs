//! Many at once: a full cluster and a backlog. `TRELLIS_SCALE=5` has 5 000 nodes, 20 000 pods and 500 gangs that wait; how long a
//! decision takes is printed.

use crate::world::{NAMESPACE, World};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;
use trellis_api::names::annotation;
use trellis_scheduler::ledger::{Entry, Ledger, Spot};
use trellis_scheduler::seen::Key;

/// Racks of ten nodes, each with four pods of two GPUs, in gangs of sixteen.
fn full(scale: usize) -> World {
    let racks = 100 * scale;
    let mut world = World::new(racks, 10);
    for gang in 0..racks * 10 / 4 {
        let name = format!("g{gang:05}");
        world.gang(&name, "w*16/16@2", None, |_| {});
        let nodes = (0..4).map(|node| gang * 4 + node).map(|node| format!("r{}n{}", node / 10, node % 10));
        let nodes: Vec<String> = nodes.collect();
        let mut members = Vec::new();
        for (at, (pod, object)) in world.pods_of(&name).into_iter().enumerate() {
            let node = nodes[at / 4].clone();
            let request = BTreeMap::from([("nvidia.com/gpu".to_owned(), 2), ("pods".to_owned(), 1)]);
            members.push(Entry {
                group: format!("{name}-w"),
                request: Arc::new(request),
                spot: Spot { node: node.clone(), zone: None },
                uid: object.metadata.uid.clone().unwrap_or_default()[..8].to_owned(),
                pod: pod.clone(),
            });
            let object = Arc::make_mut(world.seen.pods.get_mut(&Key::new(NAMESPACE, &pod)).expect("the pod"));
            object.spec.as_mut().expect("spec").node_name = Some(node);
        }
        let ledger = Ledger { members, score: Some(1000), by: world.identity.clone(), ..Ledger::default() };
        let object = Arc::make_mut(world.seen.pod_gangs.get_mut(&Key::new(NAMESPACE, &name)).expect("the gang"));
        let annotations = object.metadata.annotations.get_or_insert_default();
        annotations.insert(annotation::PLACEMENT.to_owned(), ledger.write().expect("members"));
        // Nothing is missing any more, and looking costs time.
        world.wanted.clear();
    }
    for gang in 0..racks {
        world.gang(&format!("z{gang:05}"), "w*16/16@2", Some("rack"), |_| {});
        world.wanted.clear();
    }
    world
}

#[test]
fn a_full_cluster_and_a_backlog() {
    let scale = std::env::var("TRELLIS_SCALE").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut world = if scale > 0 { full(scale) } else { small() };
    let count = world.seen.pod_gangs.len();
    for round in 0..6 {
        let begun = Instant::now();
        let plan = world.decide();
        eprintln!(
            "decision {round}: {:?} for {} nodes, {} pods, {count} gangs: {} gangs written, {} statuses, {} conditions",
            begun.elapsed(),
            world.seen.nodes.len(),
            world.seen.pods.len(),
            plan.gangs.len(),
            plan.statuses.len(),
            plan.pod_conditions.len(),
        );
        assert!(plan.gangs.iter().all(|gang| gang.binds.is_empty()), "there is no room");
        world.apply_unchecked(&plan);
        world.pass(1);
    }
}

fn small() -> World {
    let mut world = World::new(2, 2);
    world.gang("a", "w*16/16@2", None, |_| {});
    world.settle();
    world.gang("z", "w*16/16@2", Some("rack"), |_| {});
    world
}
