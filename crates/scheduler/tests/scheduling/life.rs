//! For life: what is added or comes back stays where its gang is.

use crate::world::{World, node_of};

fn settled(racks: usize, nodes: usize, groups: &str) -> World {
    let mut world = World::new(racks, nodes);
    world.gang("a", groups, Some("rack"), |_| {});
    world.settle();
    world
}

fn check(world: &mut World, expected: &str) {
    world.settle();
    assert_eq!(world.show(), expected, "{}", world.log.join("\n"));
    assert!(world.decide().is_idle());
}

/// A pod of a gang that runs on a node.
fn pod_on(world: &World, gang: &str, node: &str) -> String {
    let pods = world.pods_of(gang);
    pods.into_iter().find(|(_, pod)| node_of(pod) == Some(node)).map(|(name, _)| name).expect("a pod there")
}

#[test]
fn scale_out_stays_in_the_rack() {
    let mut world = settled(2, 2, "w*1/1@8");
    world.scale("a", 0, 3);
    check(&mut world, "a: - r0n0 r0n1");
    world.scale("a", 0, 1);
    check(&mut world, "a: r0n0");
    assert!(world.ledger("a").held.is_empty(), "nothing is held for what was scaled in");
}

#[test]
fn one_that_comes_back_goes_where_it_was() {
    let mut world = settled(2, 2, "w*2/2@8");
    let pod = pod_on(&world, "a", "r0n1");
    world.delete_pod(&pod);
    check(&mut world, "a: r0n0 r0n1");
    assert!(world.ledger("a").held.is_empty());
}

/// A gang of two that has lost one on `r0n1`, whose place is held, and another one that waits.
fn with_a_place_held() -> World {
    let mut world = settled(1, 2, "w*2/2@8");
    world.wanted.get_mut("a").expect("the gang").is_owned = false;
    let pod = pod_on(&world, "a", "r0n1");
    world.delete_pod(&pod);
    // It is not made anew, but named: somebody means to.
    let key = trellis_scheduler::seen::Key::new("ns", "a");
    let gang = std::sync::Arc::make_mut(world.seen.pod_gangs.get_mut(&key).expect("the gang"));
    gang.spec.pod_groups[0]
        .pod_references
        .push(trellis_api::kinds::NamespacedName { namespace: "ns".to_owned(), name: "a-w-later".to_owned() });
    world.wanted.clear();
    world.gang("b", "w*1/1@8", None, |_| {});
    check(&mut world, "a: r0n0\nb: -");
    world
}

#[test]
fn the_place_is_held_and_given_up_in_time() {
    let mut world = with_a_place_held();
    let told = world.annotation("b", "trellis.dev/explanation").expect("an explanation");
    assert!(told.contains("ns/a"), "{told}");
    assert_eq!(world.ledger("a").held.len(), 1);
    assert!(world.last.again_at.is_some());
    world.gang("h", "w*1/1@8", None, |gang| gang.spec.priority_class_name = Some("polite".to_owned()));
    check(&mut world, "a: r0n0\nb: -\nh: r0n1");
    world.delete_gang("h");
    check(&mut world, "a: r0n0\nb: -");
    world.pass(301);
    check(&mut world, "a: r0n0\nb: r0n1");
}

/// What is no longer wanted is free for others once that is written, and not before: whoever else may write to the gang meanwhile.
#[test]
fn a_place_is_held_until_it_is_written_that_it_is_not() {
    let mut world = with_a_place_held();
    let key = trellis_scheduler::seen::Key::new("ns", "a");
    let gang = std::sync::Arc::make_mut(world.seen.pod_gangs.get_mut(&key).expect("the gang"));
    gang.spec.pod_groups[0].pod_references.retain(|pod| pod.name != "a-w-later");
    gang.spec.pod_groups[0].min_replicas = 1;
    let plan = world.decide();
    assert!(plan.gangs.iter().any(|gang| gang.target.name == "a"), "{plan:#?}");
    assert!(plan.gangs.iter().all(|gang| gang.binds.is_empty()), "{plan:#?}");
    check(&mut world, "a: r0n0\nb: r0n1");
}

#[test]
fn several_lost_nodes_are_replaced_inside_the_rack() {
    let mut world = settled(2, 6, "w*2/2@8 v*2/2@8");
    world.lose_node("r0n0");
    world.lose_node("r0n2");
    check(&mut world, "a: r0n1 r0n3 r0n4 r0n5");
    world.lose_node("r0n1");
    world.lose_node("r0n3");
    check(&mut world, "a: - - r0n4 r0n5");
    world.add_node(0, 8);
    world.add_node(0, 9);
    check(&mut world, "a: r0n4 r0n5 r0n8 r0n9");
}

#[test]
fn a_whole_gang_that_is_lost_returns_to_its_rack() {
    let mut world = settled(2, 2, "w*2/2@8");
    for (pod, _) in world.pods_of("a") {
        world.delete_pod(&pod);
    }
    check(&mut world, "a: r0n0 r0n1");
    // A rack that is closed is waited for, until the places are no longer held.
    ["r0n0", "r0n1"].iter().for_each(|node| world.cordon(node, true));
    for (pod, _) in world.pods_of("a") {
        world.delete_pod(&pod);
    }
    check(&mut world, "a: - -");
    world.pass(301);
    check(&mut world, "a: r1n0 r1n1");
}

#[test]
fn a_gang_that_is_taken_down_gives_up_its_place() {
    let mut world = settled(2, 2, "w*2/2@8");
    let key = trellis_scheduler::seen::Key::new("ns", "a");
    let condition = serde_json::from_value(serde_json::json!({
        "type": "DisruptionTarget", "status": "True", "reason": "GangTermination", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }));
    let gang = std::sync::Arc::make_mut(world.seen.pod_gangs.get_mut(&key).expect("the gang"));
    gang.status.get_or_insert_default().conditions.push(condition.expect("a condition"));
    ["r0n0", "r0n1"].iter().for_each(|node| world.cordon(node, true));
    for (pod, _) in world.pods_of("a") {
        world.delete_pod(&pod);
    }
    check(&mut world, "a: - -");
    assert!(world.ledger("a").is_empty());
    let gang = std::sync::Arc::make_mut(world.seen.pod_gangs.get_mut(&key).expect("the gang"));
    gang.status.get_or_insert_default().conditions.retain(|condition| condition.type_ != "DisruptionTarget");
    check(&mut world, "a: r1n0 r1n1");
}

#[test]
fn members_that_finish_free_their_place_and_count() {
    let mut world = settled(1, 2, "w*2/2@8");
    let pod = pod_on(&world, "a", "r0n1");
    world.finish_pod(&pod, "Succeeded");
    world.gang("b", "w*1/1@8", None, |_| {});
    check(&mut world, "a: done r0n0\nb: r0n1");
    assert_eq!(world.reason("a"), "MinimumScheduled");
    assert!(world.ledger("a").held.is_empty());
}

#[test]
fn failed_members_are_replaced_where_they_were() {
    let mut world = settled(2, 2, "w*2/2@8");
    let pod = pod_on(&world, "a", "r0n1");
    world.finish_pod(&pod, "Failed");
    check(&mut world, "a: r0n0 r0n1");
}

/// Room that one who comes back no longer needs is given away only after that is written: until then it is held.
#[test]
fn what_is_given_back_is_given_away_by_the_next_decision() {
    let mut world = settled(1, 2, "w*2/2@4 v*1/1@8");
    assert_eq!(world.show(), "a: r0n0 r0n0 r0n1", "{}", world.log.join("\n"));
    let pods: Vec<String> = world.pods_of("a").into_iter().map(|(name, _)| name).collect();
    let lone = pods.iter().find(|pod| pod.starts_with("a-v")).expect("a pod").clone();
    // It comes back smaller, so that half of what is held for it is left over.
    world.wanted.get_mut("a").expect("the gang").groups[1].gpus = 4;
    world.delete_pod(&lone);
    world.gang("b", "w*1/1@4", None, |_| {});
    let plan = loop {
        let plan = world.decide();
        if plan.gangs.iter().any(|gang| !gang.binds.is_empty()) {
            break plan;
        }
        assert!(!plan.is_idle(), "{}", world.log.join("\n"));
        world.apply(&plan);
        world.kubelets();
    };
    let bound: Vec<&str> =
        plan.gangs.iter().filter(|gang| !gang.binds.is_empty()).map(|gang| &*gang.target.name).collect();
    assert_eq!(bound, ["a"], "{plan:#?}");
    check(&mut world, "a: r0n0 r0n0 r0n1\nb: r0n1");
}

/// One that was taken down and made anew while nobody looked has given up its place: nothing is held for it.
#[test]
fn one_that_was_recreated_holds_nothing() {
    for (seconds, held) in [(1, 0), (0, 0), (-60, 2)] {
        let mut world = settled(2, 2, "w*2/2@8");
        let at = world.ledger("a").at;
        for (pod, _) in world.pods_of("a") {
            world.delete_pod(&pod);
        }
        world.kubelets();
        let key = trellis_scheduler::seen::Key::new("ns", "a");
        let gang = std::sync::Arc::make_mut(world.seen.pod_gangs.get_mut(&key).expect("the gang"));
        let told = serde_json::json!({
            "type": "DisruptionTarget", "status": "False", "reason": "GangRecreated", "message": "",
            "lastTransitionTime": (at + jiff::SignedDuration::from_secs(seconds)).to_string(),
        });
        let told = serde_json::from_value(told).expect("a condition");
        gang.status.get_or_insert_default().conditions.push(told);
        // Its members wait for something else, so that only what is held counts.
        world.cordon("r0n0", true);
        world.cordon("r0n1", true);
        world.cordon("r1n0", true);
        world.settle();
        assert_eq!(world.ledger("a").held.len(), held, "{seconds}\n{}", world.log.join("\n"));
    }
}

/// Nobody comes back to nodes that are gone: once the gang is elsewhere, nothing keeps it apart from there.
#[test]
fn nothing_is_held_where_there_is_no_node_once_the_gang_is_elsewhere() {
    let mut world = World::new(2, 2);
    world.gang("a", "w*2/1@8", Some("rack"), |_| {});
    world.settle();
    assert_eq!(world.show(), "a: r0n0 r0n1");
    world.occupy("other", "r1n1", 8);
    world.lose_node("r0n0");
    world.lose_node("r0n1");
    world.settle();
    let placed = world.pods_of("a").iter().filter(|(_, pod)| crate::world::node_of(pod) == Some("r1n0")).count();
    assert_eq!((placed, world.ledger("a").held), (1, Vec::new()), "{}", world.show());
}
