//! Who is placed where, and who waits.

use crate::world::{NAMESPACE, World};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::json;
use std::sync::Arc;
use trellis_api::kinds::kai::KaiPodGroup;
use trellis_api::names::{annotation, label};
use trellis_scheduler::plan::Plan;
use trellis_scheduler::seen::Key;

fn check(build: impl FnOnce(&mut World), racks: usize, nodes: usize, expected: &str) -> World {
    let mut world = World::new(racks, nodes);
    build(&mut world);
    world.settle();
    assert_eq!(world.show(), expected, "{}", world.log.join("\n"));
    // Nothing is left to write, also by somebody else.
    assert!(world.decide().is_idle());
    world
}

#[test]
fn minima_together_or_not_at_all() {
    check(|world| world.gang("a", "w*2/2@8", Some("rack"), |_| {}), 2, 2, "a: r0n0 r0n1");
    let world = check(|world| world.gang("a", "w*3/3@8", Some("rack"), |_| {}), 2, 2, "a: - - -");
    assert_eq!(world.reason("a"), "Unschedulable");
    let told = world.annotation("a", annotation::EXPLANATION).expect("an explanation");
    assert!(told.contains("\"binding\":{") && told.contains("must share one rack"), "{told}");
    assert!(told.len() < 16 << 10);
    for (_, pod) in world.pods_of("a") {
        let condition = &pod.status.as_ref().expect("status").conditions.as_ref().expect("conditions")[0];
        assert_eq!((condition.status.as_str(), condition.reason.as_deref()), ("False", Some("Unschedulable")));
        assert!(condition.message.as_deref().is_some_and(|message| told.contains(message)));
    }
}

#[test]
fn one_that_waits_does_not_keep_others_out() {
    let build = |world: &mut World| {
        world.gang("a", "w*3/3@8", Some("rack"), |_| {});
        world.gang("b", "w*2/2@8", Some("rack"), |_| {});
    };
    check(build, 2, 2, "a: - - -\nb: r0n0 r0n1");
}

#[test]
fn members_above_the_minimum_come_later() {
    let build = |world: &mut World| world.gang("a", "w*3/2@8", Some("rack"), |_| {});
    let mut world = check(build, 2, 2, "a: - r0n0 r0n1");
    assert_eq!(world.reason("a"), "MinimumScheduled");
    world.add_node(1, 7);
    world.settle();
    assert_eq!(world.show(), "a: - r0n0 r0n1");
    world.add_node(0, 7);
    world.settle();
    assert_eq!(world.show(), "a: r0n0 r0n1 r0n7");
}

#[test]
fn a_base_goes_before_what_is_scaled_from_it_and_keeps_it_near() {
    let scaled = |gang: &mut trellis_api::kinds::PodGang| {
        gang.metadata.labels.get_or_insert_default().insert(label::BASE_POD_GANG.to_owned(), "b".to_owned());
    };
    let mut world = World::new(2, 3);
    world.gang("s", "w*1/1@8", None, scaled);
    world.settle();
    assert_eq!((world.show().as_str(), world.reason("s").as_str()), ("s: -", "BaseMissing"));
    world.gang("b", "w*2/2@8", Some("rack"), |_| {});
    world.settle();
    assert_eq!(world.show(), "b: r0n0 r0n1\ns: r0n2");
    world.gang("t", "w*1/1@8", None, scaled);
    world.settle();
    assert_eq!((world.show().as_str(), world.reason("t").as_str()), ("b: r0n0 r0n1\ns: r0n2\nt: -", "Unschedulable"));
}

#[test]
fn a_gang_is_planned_once_it_is_initialized_and_no_gate_is_left() {
    let mut world = World::new(1, 2);
    world.gang("a", "w*2/1@8", None, |gang| {
        gang.metadata.labels.get_or_insert_default().insert(label::MANAGED_BY.to_owned(), "grove-operator".to_owned());
    });
    world.settle();
    assert_eq!((world.show().as_str(), world.reason("a").as_str()), ("a: - -", "Incomplete"));
    let key = Key::new(NAMESPACE, "a");
    let condition: Condition = serde_json::from_value(serde_json::json!({
        "type": "Initialized", "status": "True", "reason": "x", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
    }))
    .expect("a condition");
    Arc::make_mut(world.seen.pod_gangs.get_mut(&key).expect("the gang"))
        .status
        .get_or_insert_default()
        .conditions
        .push(condition);
    let (name, _) = world.pods_of("a").remove(0);
    let gate =
        serde_json::from_value(serde_json::json!([{ "name": "grove.io/podgang-pending-creation" }])).expect("gates");
    let pod = Key::new(NAMESPACE, &name);
    Arc::make_mut(world.seen.pods.get_mut(&pod).expect("the pod")).spec.as_mut().expect("spec").scheduling_gates = gate;
    world.settle();
    assert_eq!(world.show(), "a: - -");
    Arc::make_mut(world.seen.pods.get_mut(&pod).expect("the pod")).spec.as_mut().expect("spec").scheduling_gates = None;
    world.settle();
    assert_eq!(world.show(), "a: r0n0 r0n1");
}

/// A PodGroup of two pods, placed.
fn pod_group(nodes: usize) -> World {
    let mut world = World::new(1, nodes);
    let metadata = world.meta("k");
    let spec = serde_json::from_value(serde_json::json!({ "minMember": 2 })).expect("a spec");
    world.seen.pod_groups.insert(Key::new(NAMESPACE, "k"), Arc::new(KaiPodGroup { metadata, spec, status: None }));
    for name in ["k-a", "k-b"] {
        let mut pod = world.pod_object(name, 8, None);
        pod.metadata.annotations = Some([(annotation::KAI_POD_GROUP.to_owned(), "k".to_owned())].into());
        world.put_pod(pod);
        // Its status is KAI's, so an event tells.
        let is_told = world.decide().notes.iter().any(|note| note.reason == "MinimumScheduled");
        assert_eq!(is_told, name == "k-b");
        world.settle();
    }
    assert_eq!(world.show(), "k: r0n0 r0n1");
    world
}

#[test]
fn what_is_held_for_a_pod_group_is_held_when_all_its_pods_are_gone() {
    let mut world = pod_group(2);
    ["k-a", "k-b"].iter().for_each(|pod| world.delete_pod(pod));
    world.kubelets();
    world.settle();
    let lone = world.pod_object("lone", 8, None);
    world.put_pod(lone);
    world.settle();
    let node = |world: &World| crate::world::node_of(&world.seen.pods[&Key::new(NAMESPACE, "lone")]).map(str::to_owned);
    assert_eq!(node(&world), None);
    world.pass(301);
    world.settle();
    assert_eq!(node(&world).as_deref(), Some("r0n0"));
}

#[test]
fn pod_groups_and_lone_pods_are_gangs_too() {
    let mut world = pod_group(3);
    for name in ["lone", "late"] {
        let pod = world.pod_object(name, 8, None);
        world.put_pod(pod);
        world.settle();
    }
    let node = |name: &str| crate::world::node_of(&world.seen.pods[&Key::new(NAMESPACE, name)]).map(str::to_owned);
    assert_eq!((node("lone").as_deref(), node("late")), (Some("r0n2"), None));
    let mut other = world.pod_object("other", 1, None);
    other.spec.as_mut().expect("spec").scheduler_name = Some("default-scheduler".to_owned());
    world.put_pod(other);
    assert!(world.decide().gangs.is_empty(), "pods of other schedulers are not ours");
    world.settings.served.insert("default-scheduler".to_owned());
    world.add_node(0, 5);
    world.settle();
    let bound = |name: &str| crate::world::node_of(&world.seen.pods[&Key::new(NAMESPACE, name)]).is_some();
    // Of the two that fit the one that was made first goes first.
    assert!(bound("late") && !bound("other"));
}

#[test]
fn room_is_reserved_for_those_that_starve() {
    let mut world = World::new(1, 2);
    world.gang("a", "w*1/1@8", None, |_| {});
    world.settle();
    world.gang("big", "w*2/2@8", None, |_| {});
    world.settle();
    world.pass(601);
    world.gang("late", "w*1/1@8", None, |_| {});
    world.settle();
    assert_eq!(world.show(), "a: r0n0\nbig: - -\nlate: -");
    let told = world.annotation("late", annotation::EXPLANATION).expect("an explanation");
    assert!(told.contains("Room is reserved for ns/big"), "{told}");
    world.delete_gang("a");
    world.settle();
    assert_eq!(world.show(), "big: r0n0 r0n1\nlate: -");
}

/// One that could not be placed on the empty cluster keeps nobody from being kept room for, and is kept none.
#[test]
fn nothing_is_reserved_for_those_that_never_fit() {
    let mut world = World::new(1, 2);
    world.gang("a", "w*1/1@8", None, |_| {});
    world.settle();
    world.gang("huge", "w*3/3@8", None, |_| {});
    world.gang("big", "w*2/2@8", None, |_| {});
    world.settle();
    world.pass(601);
    world.gang("late", "w*1/1@8", None, |_| {});
    world.settle();
    assert_eq!(world.show(), "a: r0n0\nbig: - -\nhuge: - - -\nlate: -");
    world.delete_gang("big");
    world.settle();
    assert_eq!(world.show(), "a: r0n0\nhuge: - - -\nlate: r0n1");
}

#[test]
fn scores_compare_with_the_empty_cluster() {
    let score = |world: &World, gang: &str| {
        world.seen.pod_gangs[&Key::new(NAMESPACE, gang)].status.as_ref().and_then(|status| status.placement_score)
    };
    let mut world = World::new(1, 4);
    world.gang("a", "w*2/2@4", None, |_| {});
    world.settle();
    assert_eq!(score(&world, "a"), Some(1.0));
    let mut world = World::new(1, 3);
    world.occupy("o0", "r0n0", 4);
    world.gang("x", "w*1/1@4", None, |_| {});
    world.settle();
    world.gang("z", "w*2/2@5", None, |_| {});
    world.settle();
    assert_eq!(score(&world, "z"), Some(1.0), "two nodes are the fewest for five and five of eight");
    let mut world = World::new(1, 2);
    for (gang, node) in [("p", 0), ("q", 1)] {
        world.gang(gang, "w*1/1@4", None, |_| {});
        world.settle();
        // One on each node: the other is closed meanwhile.
        world.cordon(&format!("r0n{node}"), true);
    }
    ["r0n0", "r0n1"].iter().for_each(|node| world.cordon(node, false));
    if world.show() == "p: r0n0\nq: r0n1" {
        world.gang("r", "w*2/2@4", None, |_| {});
        world.settle();
        assert_eq!(score(&world, "r"), Some(0.5), "{}", world.show());
    } else {
        panic!("{}", world.show());
    }
}

#[test]
fn labels_that_change_are_told_and_nobody_is_evicted() {
    let mut world = World::new(2, 2);
    world.gang("a", "w*2/2@8", Some("rack"), |_| {});
    world.settle();
    world.relabel("r0n1", "elsewhere");
    world.settle();
    assert_eq!((world.show().as_str(), world.reason("a").as_str()), ("a: r0n0 r0n1", "LabelsChanged"));
    world.relabel("r0n1", "r0");
    world.settle();
    assert_eq!(world.reason("a"), "MinimumScheduled");
}

#[test]
fn objects_at_fault_spoil_nothing_else() {
    let mut world = World::new(1, 2);
    world.gang("a", "w*1/1@8", None, |gang| gang.spec.pod_groups[0].min_replicas = -1);
    world.gang("b", "w*1/1@8", None, |_| {});
    let is_told = |plan: &Plan| plan.notes.iter().any(|note| note.reason == "Invalid" && note.about.name == "a");
    let plan = world.decide();
    assert!(is_told(&plan));
    world.apply(&plan);
    world.settle();
    assert_eq!(world.show(), "a: -\nb: r0n0");
    assert!(!is_told(&world.last), "once is enough");
}

/// As long as nothing changes it is not worked out again why somebody waits, however many they are; and everybody is told.
#[test]
fn why_somebody_waits_is_worked_out_once() {
    let mut world = World::new(1, 1);
    world.settings.reserve_after = None;
    for at in 0..40 {
        let pod = world.pod_object(&format!("lone-{at:02}"), 16, None);
        world.put_pod(pod);
        world.gang(&format!("g{at:02}"), "w*2/2@8", Some("rack"), |_| {});
    }
    for _ in 0..4 {
        world.settle();
        world.pass(1);
    }
    let is_told = |pod: &k8s_openapi::api::core::v1::Pod| {
        let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
        conditions
            .filter_map(|condition| condition.message.as_deref())
            .any(|message| message != "there is no room for it")
    };
    let untold: Vec<_> = world.seen.pods.values().filter(|pod| !is_told(pod)).collect();
    assert!(untold.is_empty(), "{untold:#?}");
    let (first, again) = (world.decide(), world.decide());
    assert_eq!((first.again_at, again.again_at), (None, None));
    // Another proof, of which nothing new follows for those who read it.
    world.occupy("other", "r0n0", 0);
    world.pass(11);
    for _ in 0..4 {
        world.settle();
        world.pass(11);
    }
    assert_eq!(world.decide().again_at, None);
}

/// Explanations stay within their bounds, whatever there is to name.
#[test]
fn an_explanation_of_many_nodes_is_short() {
    let mut world = World::new(1, 1);
    for node in 1..1_500 {
        world.add_node(0, node);
        world.cordon(&format!("r0n{node}"), true);
    }
    world.gang("a", "w*1400/1400@8", Some("rack"), |_| {});
    world.settle();
    let told = world.annotation("a", annotation::EXPLANATION).expect("an explanation");
    assert!(told.len() <= 16 << 10 && told.contains("\"text\":"), "{} bytes", told.len());
}

/// An explanation whose write was lost is written again, and what is said meanwhile goes together.
#[test]
fn an_explanation_that_got_lost_is_written_again() {
    let mut world = World::new(1, 2);
    world.gang("a", "w*2/2@8", Some("rack"), |_| {});
    world.occupy("other", "r0n0", 8);
    world.settle();
    world.occupy("another", "r0n1", 8);
    world.pass(11);
    let plan = world.decide();
    assert!(plan.gangs.iter().any(|gang| gang.annotations.contains_key(annotation::EXPLANATION)), "{plan:#?}");
    world.settle();
    let stale = world.annotation("a", annotation::EXPLANATION).expect("an explanation");
    for seconds in [11, 60] {
        world.pass(seconds);
        world.settle();
    }
    let told = world.annotation("a", annotation::EXPLANATION).expect("an explanation");
    assert_ne!(stale, told);
    assert!(told.contains("short of 16"), "{told}");
    for (_, pod) in world.pods_of("a") {
        let condition = &pod.status.as_ref().expect("status").conditions.as_ref().expect("conditions")[0];
        let message = condition.message.as_deref().unwrap_or_default();
        assert!(told.contains(message), "{message}\n{told}");
    }
}

/// Why it waits goes with the write that gives a gang its place.
#[test]
fn an_explanation_goes_when_there_is_a_place() {
    let mut world = World::new(1, 1);
    world.gang("a", "w*2/2@8", Some("rack"), |_| {});
    world.settle();
    assert!(world.annotation("a", annotation::EXPLANATION).is_some());
    world.add_node(0, 1);
    let plan = world.decide();
    let place = plan.gangs.iter().find(|gang| !gang.binds.is_empty()).expect("a place");
    assert_eq!(place.annotations.get(annotation::EXPLANATION), Some(&None), "{place:#?}");
}

/// A pod whose gang is not there waits, and says so; once the gang is there, that is over.
#[test]
fn a_pod_without_its_gang_says_so() {
    let mut world = World::new(1, 1);
    let mut pod = world.pod_object("stray", 8, None);
    pod.metadata.annotations = Some([(annotation::KAI_POD_GROUP.to_owned(), "nobody".to_owned())].into());
    world.put_pod(pod);
    world.settle();
    let pod = &world.seen.pods[&Key::new(NAMESPACE, "stray")];
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let said: Vec<&str> = conditions.filter_map(|condition| condition.message.as_deref()).collect();
    assert_eq!(said, ["Waits: it names a gang that is not there or does not list it."]);
    assert!(world.decide().is_idle());
}

/// Watches of pods and of gangs know nothing of each other: a pod that is seen before the gang that made it is not taken for one on its own.
#[test]
fn pods_that_are_seen_before_their_gang_wait_for_it() {
    let mut world = World::new(1, 2);
    world.gang("a", "w*2/2@8", Some("rack"), |_| {});
    let gang = world.seen.pod_gangs.remove(&Key::new(NAMESPACE, "a")).expect("a gang");
    let owner = kube::Resource::owner_ref(&*gang, &()).expect("a gang that is there");
    for pod in world.seen.pods.values_mut() {
        Arc::make_mut(pod).metadata.owner_references = Some(vec![owner.clone()]);
    }
    let has_node = |(_, pod): (_, Arc<Pod>)| pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some());
    world.settle();
    assert!(!world.pods_of("a").into_iter().any(has_node), "{}", world.log.join("\n"));
    world.seen.pod_gangs.insert(Key::new(NAMESPACE, "a"), gang);
    world.settle();
    assert_eq!(world.show(), "a: r0n0 r0n1");
}

/// What follows from the pods of a gang is said where no operator says it.
#[test]
fn a_gang_without_an_operator_is_told_how_far_it_is() {
    fn check(world: &mut World, expected: &str) {
        world.settle();
        let status = world.seen.pod_gangs[&Key::new(NAMESPACE, "a")].status.clone().unwrap_or_default();
        let condition = |kind: &str| {
            let found = status.conditions.iter().find(|condition| condition.type_ == kind);
            found.map_or("-".to_owned(), |condition| format!("{} {}", condition.status, condition.message))
        };
        let phase = status.phase.map_or("-".to_owned(), |phase| format!("{phase:?}"));
        assert_eq!(format!("{phase}; {}; {}", condition("Initialized"), condition("Ready")), expected);
        assert!(world.decide().is_idle());
    }
    let ready = |world: &mut World, name: &str| {
        let pod = Arc::make_mut(world.seen.pods.get_mut(&Key::new(NAMESPACE, name)).expect("a pod"));
        let conditions = pod.status.get_or_insert_default().conditions.get_or_insert_default();
        conditions.push(serde_json::from_value(json!({ "type": "Ready", "status": "True" })).expect("a condition"));
    };
    let mut world = World::new(1, 2);
    world.occupy("other", "r0n1", 8);
    world.gang("a", "w*1/1@8 v*1/1@8", Some("rack"), |_| {});
    let created = "True all pods that it names are there";
    check(&mut world, &format!("Pending; {created}; False too few ready pods in a-w, a-v"));
    world.seen.pods.remove(&Key::new(NAMESPACE, "other"));
    check(&mut world, &format!("Starting; {created}; False too few ready pods in a-w, a-v"));
    let names: Vec<String> = world.pods_of("a").into_iter().map(|(name, _)| name).collect();
    names.iter().for_each(|name| ready(&mut world, name));
    check(&mut world, &format!("Running; {created}; True the minimum of every group is ready"));
    names.iter().for_each(|name| world.finish_pod(name, "Succeeded"));
    check(&mut world, &format!("Succeeded; {created}; True the minimum of every group is ready"));
    // An operator says it of its own gangs.
    let mut world = World::new(1, 2);
    world.gang("a", "w*1/1@8", None, |gang| {
        let labels = gang.metadata.labels.get_or_insert_default();
        labels.insert("app.kubernetes.io/managed-by".to_owned(), "grove-operator".to_owned());
    });
    check(&mut world, "-; -; -");
}
