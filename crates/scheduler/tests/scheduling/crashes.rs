//! Crash after any write, and leaders that come to late: it ends the same.

use crate::server::{Write, writes};
use crate::world::{NAMESPACE, World};
use trellis_api::names::label;
use trellis_scheduler::seen::Key;

type Story = fn(&mut World);

/// What happens, each up to the point where the scheduler may die.
fn stories() -> Vec<(&'static str, Story)> {
    vec![
        ("two gangs", |world| {
            world.gang("a", "w*2/2@8 v*1/1@4", Some("rack"), |_| {});
            world.gang("b", "w*2/1@4", Some("rack"), |_| {});
        }),
        ("base and scaled", |world| {
            world.gang("a", "w*1/1@8", Some("rack"), |_| {});
            world.gang("s", "w*1/1@8", None, |gang| {
                gang.metadata.labels.get_or_insert_default().insert(label::BASE_POD_GANG.to_owned(), "a".to_owned());
            });
        }),
        ("a member comes back", |world| {
            world.gang("a", "w*2/2@8", Some("rack"), |_| {});
            world.settle();
            let (pod, _) = world.pods_of("a").remove(0);
            world.delete_pod(&pod);
        }),
        ("all come back", |world| {
            world.gang("a", "w*2/2@8", Some("rack"), |_| {});
            world.settle();
            for (pod, _) in world.pods_of("a") {
                world.delete_pod(&pod);
            }
        }),
        ("preemption", |world| {
            world.gang("a", "w*2/2@8", Some("rack"), |gang| gang.spec.priority_class_name = Some("low".to_owned()));
            world.gang("b", "w*3/2@8", Some("rack"), |gang| gang.spec.priority_class_name = Some("low".to_owned()));
            world.settle();
            world.gang("hi", "w*2/2@8", Some("rack"), |gang| gang.spec.priority_class_name = Some("high".to_owned()));
        }),
        ("lone pods", |world| {
            for name in ["p", "q", "r"] {
                let pod = world.pod_object(name, 8, None);
                world.put_pod(pod);
            }
        }),
    ]
}

fn fresh(story: Story) -> World {
    let mut world = World::new(2, 3);
    story(&mut world);
    world
}

/// Nobody is in halves: of each gang all minima have nodes, or none of its pods has.
fn check_whole(world: &World, what: &str) {
    for gang in world.seen.pod_gangs.values() {
        let name = gang.metadata.name.as_deref().unwrap_or_default();
        let bound = |group: &str| {
            let pods = world.pods_of(group.rsplit_once('-').map_or(name, |_| name));
            pods.iter()
                .filter(|(pod, it)| pod.starts_with(&format!("{group}-")) && crate::world::node_of(it).is_some())
                .count()
        };
        let counts: Vec<(usize, usize)> = gang
            .spec
            .pod_groups
            .iter()
            .map(|group| (bound(&group.name), usize::try_from(group.min_replicas).unwrap_or(0)))
            .collect();
        let is_whole = counts.iter().all(|(bound, min)| bound >= min);
        let is_absent = counts.iter().all(|(bound, _)| *bound == 0);
        assert!(is_whole || is_absent, "{what}: {name} is in halves: {counts:?}\n{}", world.log.join("\n"));
    }
}

#[test]
fn a_crash_after_any_write_ends_the_same() {
    for (name, story) in stories() {
        let mut world = fresh(story);
        let before = world.writes;
        world.settle();
        check_whole(&world, name);
        let (expected, all) = (places(&world), world.writes - before);
        for dies_at in 0..all {
            let mut world = fresh(story);
            world.dies_at = Some(world.writes + dies_at);
            world.settle();
            let what = format!("{name}, dead after {dies_at} of {all} writes");
            check_whole(&world, &what);
            assert_eq!(places(&world), expected, "{what}\n{}", world.log.join("\n"));
            assert!(world.decide().is_idle(), "{what}");
        }
    }
}

/// Where everybody is, pods alone included.
fn places(world: &World) -> String {
    let lone = world.seen.pods.iter().filter(|(key, _)| !key.name.contains('-'));
    let lone: Vec<String> =
        lone.map(|(key, pod)| format!("{} {}", key.name, crate::world::node_of(pod).unwrap_or("-"))).collect();
    // Which node of a rack it is hangs on how soon others were gone from it.
    let text = format!("{}\n{}", world.show(), lone.join("\n"));
    (0..9).fold(text, |text, node| text.replace(&format!("n{node}"), ""))
}

/// A leader stops before any write of its plan; another leads and fills the cluster; then the first goes on.
#[test]
fn the_late_writes_of_a_former_leader_do_no_harm() {
    for (name, story) in stories() {
        for rounds in 0..4 {
            let mut world = fresh(story);
            for _ in 0..rounds {
                let plan = world.decide();
                world.apply(&plan);
                world.kubelets();
            }
            let plan = world.decide();
            for stops_at in 0..writes(&plan).len() {
                let mut world = world.clone();
                let what = format!("{name}, round {rounds}, stopped at {stops_at}");
                world.log.push(what.clone());
                for write in &writes(&plan)[..stops_at] {
                    world.write(&plan, write);
                }
                world.new_leader();
                world.gang("fill", "w*9/1@8", None, |_| {});
                world.settle();
                let late: Vec<_> = writes(&plan)[stops_at..].to_vec();
                for write in &late {
                    let done = world.write(&plan, write);
                    world.log.push(format!("late {write:?}: {done}"));
                }
                world.operate();
                world.settle();
                check_whole(&world, &what);
            }
        }
    }
}

#[test]
fn what_cannot_be_finished_is_undone_whole() {
    for bound in 0..3 {
        let mut world = World::new(2, 3);
        world.gang("a", "w*3/3@8", Some("rack"), |_| {});
        world.apply(&world.decide());
        assert_eq!(world.show(), "a: - - -", "the gang is ours first");
        let plan = world.decide();
        for write in &writes(&plan)[..=bound] {
            world.write(&plan, write);
        }
        let gone = plan.gangs[0].binds[2].node.clone();
        world.lose_node(&gone);
        world.new_leader();
        world.settle();
        assert_eq!(world.show(), "a: r1n0 r1n1 r1n2", "{bound}\n{}", world.log.join("\n"));
    }
}

#[test]
fn what_nobody_would_make_anew_is_not_undone() {
    let mut world = World::new(2, 3);
    world.gang("a", "w*3/3@8", Some("rack"), |_| {});
    for pod in world.seen.pods.values_mut() {
        std::sync::Arc::make_mut(pod).metadata.owner_references = None;
    }
    world.wanted.clear();
    world.apply(&world.decide());
    let plan = world.decide();
    for write in &writes(&plan)[..=1] {
        world.write(&plan, write);
    }
    world.lose_node("r0n2");
    world.settle();
    assert_eq!((world.show().as_str(), world.reason("a").as_str()), ("a: - r0n0 r0n1", "PlacementStuck"));
    world.add_node(0, 5);
    world.settle();
    assert_eq!(world.show(), "a: r0n0 r0n1 r0n5");
}

#[test]
fn a_place_that_somebody_else_took_is_replaced_inside_the_rack() {
    let mut world = World::new(2, 3);
    world.gang("a", "w*2/2@8", Some("rack"), |_| {});
    world.apply(&world.decide());
    let plan = world.decide();
    world.write(&plan, &writes(&plan)[0]);
    world.occupy("other", "r0n1", 8);
    world.settle();
    assert_eq!(world.show(), "a: r0n0 r0n2", "{}", world.log.join("\n"));
}

/// What is begun and cannot be finished is no plan any more, also where the gang can do without: the member waits like any other.
#[test]
fn a_member_above_the_minimum_whose_place_is_gone_waits() {
    let mut world = World::new(1, 2);
    world.gang("a", "w*2/1@8", Some("rack"), |_| {});
    world.apply(&world.decide());
    let plan = world.decide();
    for write in &writes(&plan)[..=1] {
        world.write(&plan, write);
    }
    world.lose_node(&plan.gangs[0].binds[1].node.clone());
    world.settle();
    assert_eq!(world.ledger("a").members.len(), 1, "{}", world.log.join("\n"));
    world.add_node(0, 5);
    world.settle();
    assert_eq!(world.show(), "a: r0n0 r0n5");
}

#[test]
fn labels_that_change_before_the_bind_count() {
    let mut world = World::new(2, 3);
    world.gang("a", "w*2/2@8", Some("rack"), |_| {});
    world.apply(&world.decide());
    let plan = world.decide();
    for write in &writes(&plan)[..2] {
        world.write(&plan, write);
    }
    world.relabel("r0n1", "r9");
    world.settle();
    assert_eq!(world.show(), "a: r0n0 r0n2", "{}", world.log.join("\n"));
}

/// A plan that can be neither finished nor undone, because nobody would make the pods anew, holds the places of those that are lost.
#[test]
fn what_cannot_be_undone_holds_places() {
    let mut world = World::new(1, 3);
    world.gang("a", "w*2/2@8 v*1/1@8", Some("rack"), |_| {});
    for (name, _) in world.pods_of("a") {
        let pod = world.seen.pods.get_mut(&Key::new(NAMESPACE, &name)).expect("a pod");
        std::sync::Arc::make_mut(pod).metadata.owner_references = None;
    }
    world.apply(&world.decide());
    let plan = world.decide();
    let late = plan.gangs[0].binds.iter().position(|bind| bind.node == "r0n1").expect("a bind");
    for write in writes(&plan).iter().filter(|write| !matches!(write, Write::Bind(0, bind) if *bind == late)) {
        world.write(&plan, write);
    }
    world.relabel("r0n1", "r9");
    world.wanted.clear();
    world.settle();
    assert_eq!(world.show(), "a: - r0n0 r0n2", "{}", world.log.join("\n"));
    assert_eq!(world.reason("a"), "PlacementStuck");
    let lost =
        world.pods_of("a").into_iter().find(|(_, pod)| crate::world::node_of(pod) == Some("r0n0")).expect("a pod");
    world.delete_pod(&lost.0);
    world.settle();
    let held: Vec<String> = world.ledger("a").held.iter().map(|held| held.was.spot.node.clone()).collect();
    assert_eq!(held, ["r0n0"], "{}", world.log.join("\n"));
}

#[test]
fn binds_that_were_refused_go_elsewhere() {
    let mut world = World::new(1, 2);
    world.gang("a", "w*1/1@8", None, |_| {});
    let (_, pod) = world.pods_of("a").remove(0);
    let uid = pod.metadata.uid.clone().unwrap_or_default();
    world.seen.refused.insert((uid.as_str().into(), "r0n0".into()));
    world.settle();
    assert_eq!(world.show(), "a: r0n1");
}

#[test]
fn a_plan_under_way_is_charged_and_left_alone() {
    let mut world = World::new(1, 2);
    world.gang("a", "w*2/2@8", None, |_| {});
    world.apply(&world.decide());
    let plan = world.decide();
    let gang = &plan.gangs[0];
    world.seen.under_way.insert(gang.target.clone(), gang.assumed.as_str().into());
    world.gang("b", "w*1/1@8", None, |_| {});
    world.settle();
    assert_eq!(world.show(), "a: - -\nb: -");
    assert_eq!(world.reason("a"), "");
    world.seen.under_way.clear();
    world.apply(&plan);
    world.settle();
    assert_eq!(world.show(), "a: r0n0 r0n1\nb: -");
}

/// A place that is no good any more is given up for all of its members at once: while one of them may still be bound there by a former
/// leader, the others are not sent there either.
#[test]
fn a_place_that_is_closed_gets_nobody_while_one_has_to_be_fenced() {
    let mut world = World::new(1, 2);
    world.gang("a", "w*2/2@4", Some("rack"), |_| {});
    world.apply(&world.decide());
    let plan = world.decide();
    world.write(&plan, &writes(&plan)[0]);
    let node = plan.gangs[0].binds[0].node.clone();
    assert!(plan.gangs[0].binds.iter().all(|bind| bind.node == node), "{plan:#?}");
    world.cordon(&node, true);
    world.new_leader();
    let touches = world.decide();
    assert_eq!(writes(&touches).len(), 2, "{touches:#?}");
    world.write(&touches, &writes(&touches)[0]);
    // The second is on its way.
    let second = &touches.gangs[1];
    world.seen.under_way.insert(second.target.clone(), second.assumed.as_str().into());
    let meanwhile = world.decide();
    assert!(meanwhile.gangs.iter().all(|gang| gang.binds.is_empty()), "{meanwhile:#?}");
    world.seen.under_way.clear();
    world.settle();
    let other = if node == "r0n0" { "r0n1" } else { "r0n0" };
    assert_eq!(world.show(), format!("a: {other} {other}"), "{}", world.log.join("\n"));
}

/// A pod by itself has no ledger: its bind by a former leader is the first that is seen of it. As long as the write that would refuse it
/// is only on its way, nobody is given the room.
#[test]
fn nobody_is_given_anything_while_a_fence_is_on_its_way() {
    let mut world = World::new(1, 1);
    let lone = world.pod_object("lone", 8, None);
    world.put_pod(lone);
    let late = world.decide();
    world.new_leader();
    let fences = world.decide();
    let fence = fences.gangs.iter().find(|gang| gang.target.name == "lone").expect("it is fenced");
    world.seen.under_way.insert(fence.target.clone(), fence.assumed.as_str().into());
    world.pass(60);
    world.gang("b", "w*1/1@8", None, |_| {});
    let meanwhile = world.decide();
    assert!(meanwhile.gangs.iter().all(|gang| gang.binds.is_empty()), "{meanwhile:#?}");
    // The late bind comes first, and finds room.
    world.apply(&late);
    world.seen.under_way.clear();
    world.settle();
    assert_eq!(world.show(), "b: -", "{}", world.log.join("\n"));
}

/// A gang that is deleted while its pods are being bound leaves pods of which nobody knows whether they are.
#[test]
fn binds_on_their_way_are_charged_though_their_gang_is_gone() {
    let mut world = World::new(1, 2);
    world.gang("a", "w*2/2@8", None, |_| {});
    world.apply(&world.decide());
    let plan = world.decide();
    let gang = &plan.gangs[0];
    world.write(&plan, &writes(&plan)[0]);
    world.seen.under_way.insert(gang.target.clone(), gang.assumed.as_str().into());
    world.wanted.remove("a");
    world.seen.pod_gangs.remove(&Key::new(NAMESPACE, "a"));
    world.gang("b", "w*1/1@8", None, |_| {});
    world.settle();
    assert_eq!(world.show(), "b: -");
    // They arrive.
    for (bind, _) in gang.binds.iter().enumerate() {
        world.write(&plan, &Write::Bind(0, bind));
    }
    world.check();
}
