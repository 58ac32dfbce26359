//! Whole gangs make room for more important ones.

use crate::world::{NAMESPACE, World};
use jiff::SignedDuration;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use std::sync::Arc;
use trellis_api::kinds::PodGang;
use trellis_api::names::{annotation, label};
use trellis_scheduler::ledger::{Ledger, Nominated, Nomination, Spot, Victim};
use trellis_scheduler::plan::{Kind, Target};
use trellis_scheduler::seen::Key;

fn class(name: &'static str) -> impl FnOnce(&mut PodGang) {
    move |gang| gang.spec.priority_class_name = Some(name.to_owned())
}

fn check(world: &mut World, expected: &str) {
    world.settle();
    assert_eq!(world.show(), expected, "{}", world.log.join("\n"));
    for (name, gang) in &world.seen.pod_gangs {
        let marked = gang
            .status
            .iter()
            .flat_map(|status| &status.conditions)
            .any(|it| it.reason == "Preempted" && it.type_ == "DisruptionTarget");
        assert!(!marked, "{} is still marked", name.name);
    }
    assert!(world.decide().is_idle());
}

/// Two racks of two nodes, each with a gang of one on each node; low ones first.
fn full(classes: [&'static str; 4]) -> World {
    let mut world = World::new(2, 2);
    for (name, priority) in ["a", "b", "c", "d"].into_iter().zip(classes) {
        world.gang(name, "w*1/1@8", None, class(priority));
        world.settle();
    }
    assert_eq!(world.show(), "a: r0n0\nb: r0n1\nc: r1n0\nd: r1n1");
    world
}

#[test]
fn the_less_important_leave_whole_and_do_not_get_the_room_back() {
    let mut world = World::new(1, 3);
    world.gang("low", "w*3/2@8", None, class("low"));
    world.settle();
    world.gang("hi", "w*1/1@8", None, class("high"));
    check(&mut world, "hi: r0n0\nlow: - r0n1 r0n2");
    let conditions = &world.seen.pod_gangs[&Key::new(NAMESPACE, "low")].status.as_ref().expect("a status").conditions;
    let told = conditions.iter().find(|known| known.type_ == "DisruptionTarget").expect("a condition");
    assert_eq!((told.status.as_str(), told.reason.as_str()), ("False", "PreemptionOver"));
    assert!(world.log.iter().any(|line| line.contains("Delete")));
}

#[test]
fn the_right_domain_and_the_fewest_pods() {
    let mut world = World::new(2, 2);
    world.gang("two", "w*2/2@8", Some("rack"), class("low"));
    world.settle();
    world.gang("a", "w*1/1@8", None, class("low"));
    world.settle();
    world.gang("hi", "w*2/2@8", Some("rack"), class("high"));
    check(&mut world, "a: -\nhi: r1n0 r1n1\ntwo: r0n0 r0n1");
}

#[test]
fn nothing_suitable_so_nobody_leaves() {
    let mut world = full(["low", "low", "high", "low"]);
    let before = world.show();
    // Three in one rack is more than there is; one rack of two has one that stays.
    world.gang("hi", "w*3/3@8", Some("rack"), class("high"));
    check(&mut world, &format!("{}\nhi: - - -", before));
    world.delete_gang("hi");
    world.gang("eq", "w*1/1@8", None, class("low"));
    check(&mut world, &before.replace("\neq", "").replace("d: r1n1", "d: r1n1\neq: -"));
    world.gang("po", "w*1/1@8", None, class("polite"));
    check(&mut world, &before.replace("d: r1n1", "d: r1n1\neq: -\npo: -"));
}

#[test]
fn a_base_takes_its_scaled_gangs_along() {
    let mut world = World::new(1, 3);
    world.gang("b", "w*1/1@8", None, class("low"));
    world.settle();
    world.gang("s", "w*1/1@8", None, |gang| {
        class("low")(gang);
        gang.metadata.labels.get_or_insert_default().insert(label::BASE_POD_GANG.to_owned(), "b".to_owned());
    });
    world.settle();
    assert_eq!(world.show(), "b: r0n0\ns: r0n1");
    world.gang("hi", "w*2/2@8", None, class("high"));
    check(&mut world, "b: r0n0\nhi: r0n1 r0n2\ns: -");
    world.delete_gang("hi");
    check(&mut world, "b: r0n0\ns: r0n1");
    world.gang("hi", "w*3/3@8", None, class("high"));
    check(&mut world, "b: -\nhi: r0n0 r0n1 r0n2\ns: -");
}

/// Puts the pods of these gangs under a budget that lets so many go.
fn protect(world: &mut World, gangs: &[&str], allowed: i32) {
    let budget: PodDisruptionBudget = serde_json::from_value(serde_json::json!({
        "metadata": { "namespace": NAMESPACE, "name": "p" },
        "spec": { "selector": { "matchLabels": { "app": "a" } } },
        "status": { "disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1 },
    }))
    .expect("a budget");
    world.seen.budgets.insert(Key::new(NAMESPACE, "p"), Arc::new(budget));
    for (name, _) in gangs.iter().flat_map(|gang| world.pods_of(gang)).collect::<Vec<_>>() {
        let pod = Arc::make_mut(world.seen.pods.get_mut(&Key::new(NAMESPACE, &name)).expect("the pod"));
        pod.metadata.labels = Some([("app".to_owned(), "a".to_owned())].into());
    }
}

#[test]
fn budgets_make_a_last_choice() {
    let mut world = full(["low", "low", "low", "low"]);
    protect(&mut world, &["a"], 0);
    world.gang("hi", "w*3/3@8", None, class("high"));
    check(&mut world, "a: r0n0\nb: -\nc: -\nd: -\nhi: r0n1 r1n0 r1n1");
    world.gang("ho", "w*1/1@8", None, class("high"));
    check(&mut world, "a: -\nb: -\nc: -\nd: -\nhi: r0n1 r1n0 r1n1\nho: r0n0");
}

/// One of these may go, two may not.
#[test]
fn a_budget_is_held_against_all_that_go() {
    let mut world = full(["low", "low", "low", "low"]);
    protect(&mut world, &["a", "b"], 1);
    world.gang("hi", "w*2/2@8", Some("rack"), class("high"));
    check(&mut world, "a: r0n0\nb: r0n1\nc: -\nd: -\nhi: r1n0 r1n1");
}

/// The same for gangs that leave for two others in one decision.
#[test]
fn a_budget_is_held_against_all_that_go_for_several_gangs() {
    let mut world = full(["low", "low", "low", "low"]);
    protect(&mut world, &["a", "b"], 1);
    world.gang("hi", "w*1/1@8", None, class("high"));
    world.gang("ho", "w*1/1@8", None, class("high"));
    world.settle();
    let left = [world.show().contains("a: -"), world.show().contains("b: -")];
    assert!(left != [true, true], "{}", world.show());
}

#[test]
fn a_victim_that_hangs_is_waited_for_and_then_passed_over() {
    let mut world = World::new(1, 2);
    world.gang("a", "w*1/1@8", None, class("low"));
    world.settle();
    world.gang("b", "w*1/1@8", None, class("high"));
    world.settle();
    let (pod, _) = world.pods_of("a").remove(0);
    world.hanging.insert(pod);
    world.gang("hi", "w*1/1@8", None, class("top"));
    world.settle();
    assert_eq!(world.show(), "a: -\nb: r0n1\nhi: -");
    assert_eq!(world.reason("hi"), "Preempting");
    world.pass(301);
    world.settle();
    assert_eq!(world.show(), "a: -\nb: -\nhi: r0n1");
    world.hanging.clear();
    check(&mut world, "a: -\nb: r0n0\nhi: r0n1");
}

#[test]
fn the_preemptor_is_gone_meanwhile_and_who_is_whole_is_spared() {
    let mut spared = Vec::new();
    for writes in 1..12 {
        let mut world = World::new(1, 2);
        world.gang("a", "w*2/2@8", None, class("low"));
        world.settle();
        let uids = |world: &World| world.pods_of("a").into_iter().map(|(_, pod)| pod.metadata.uid.clone());
        let before: Vec<Option<String>> = uids(&world).collect();
        world.gang("hi", "w*2/2@8", None, class("high"));
        world.dies_at = Some(world.writes + writes);
        while world.apply(&world.decide().clone()) {
            world.kubelets();
            if world.decide().is_idle() {
                break;
            }
        }
        world.dies_at = None;
        world.delete_gang("hi");
        world.new_leader();
        check(&mut world, "a: r0n0 r0n1");
        spared.push(uids(&world).filter(|uid| before.contains(uid)).count());
    }
    // Once its first pod went all of it goes, and is made anew.
    assert!(spared.contains(&0) && spared.contains(&2), "{spared:?}");
    assert!(!spared.contains(&1), "{spared:?}");
}

#[test]
fn two_preemptors_do_not_share_room() {
    let mut world = full(["low", "low", "low", "low"]);
    world.gang("hi", "w*2/2@8", Some("rack"), class("high"));
    world.gang("ho", "w*2/2@8", Some("rack"), class("high"));
    check(&mut world, "a: -\nb: -\nc: -\nd: -\nhi: r0n0 r0n1\nho: r1n0 r1n1");
}

#[test]
fn pods_alone_leave_and_are_left_for() {
    let mut world = World::new(1, 1);
    let mut low = world.pod_object("low", 8, None);
    low.spec.as_mut().expect("spec").priority = Some(1);
    world.put_pod(low);
    world.settle();
    let mut high = world.pod_object("high", 8, None);
    high.spec.as_mut().expect("spec").priority = Some(2);
    world.put_pod(high);
    world.settle();
    let pods: Vec<String> = world
        .seen
        .pods
        .iter()
        .map(|(key, pod)| format!("{} {}", key.name, crate::world::node_of(pod).unwrap_or("-")))
        .collect();
    assert_eq!(pods, ["high r0n0"], "{}", world.log.join("\n"));
}

/// Room that two make together is named by both: should one of them go, the other's victims are not spared.
#[test]
fn who_shares_a_victim_names_it() {
    let mut world = World::new(1, 4);
    world.gang("a", "w*2/2@8", None, class("low"));
    world.gang("b", "w*2/2@8", None, class("low"));
    world.settle();
    world.gang("hi", "w*1/1@8", None, class("top"));
    world.gang("ho", "w*3/3@8", None, class("high"));
    world.apply(&world.decide());
    world.apply(&world.decide());
    assert!(world.ledger("hi").nominated.is_some() && world.ledger("ho").nominated.is_some());
    world.delete_gang("hi");
    check(&mut world, "a: - -\nb: - -\nho: r0n1 r0n2 r0n3");
}

/// Nobody is marked or deleted before it is written for whom: that write may come to nothing.
#[test]
fn nobody_leaves_for_what_is_not_written() {
    let mut world = World::new(1, 1);
    world.gang("low", "w*1/1@8", None, class("low"));
    world.settle();
    world.gang("hi", "w*1/1@8", None, class("high"));
    world.apply(&world.decide());
    let plan = world.decide();
    let nominating = plan.gangs.iter().find(|gang| gang.target.name == "hi").expect("a nomination");
    assert!(nominating.assumed.contains("victims"), "{nominating:?}");
    world.seen.under_way.insert(nominating.target.clone(), nominating.assumed.as_str().into());
    let meanwhile = world.decide();
    assert!(meanwhile.gangs.is_empty() && meanwhile.deletes.is_empty(), "{meanwhile:#?}");
    world.seen.under_way.clear();
    check(&mut world, "hi: r0n0\nlow: -");
}

/// A ledger stands on an object that its owner may write to: whom it names leaves only for one of higher priority.
#[test]
fn a_nomination_of_equals_is_not_believed() {
    let mut world = World::new(1, 2);
    world.gang("a", "w*2/2@8", None, class("high"));
    world.gang("b", "w*2/2@8", None, class("high"));
    world.settle();
    let metadata = &world.seen.pod_gangs[&Key::new(NAMESPACE, "a")].metadata;
    let uid = metadata.uid.iter().flat_map(|uid| uid.chars()).take(8).collect();
    let victims = vec![Victim { target: Target::of(Kind::PodGang, metadata), uid }];
    let until = world.now.checked_add(SignedDuration::from_hours(1)).expect("a time");
    let nominated = Some(Nomination { until, places: Vec::new(), victims });
    let forged = Ledger { by: world.identity.clone(), at: world.now, nominated, ..Ledger::default() };
    let gang = Arc::make_mut(world.seen.pod_gangs.get_mut(&Key::new(NAMESPACE, "b")).expect("b"));
    let text = forged.write().expect("a ledger");
    gang.metadata.annotations.get_or_insert_default().insert(annotation::PLACEMENT.to_owned(), text);
    check(&mut world, "a: r0n0 r0n1\nb: - -");
}

/// The only node is being made free for a group of gang `hi`, which waits, and a ledger that follows from what is written is under way.
fn made_free(group: &str, gangs: &[&str], after: impl FnOnce(&Ledger) -> Ledger) -> World {
    let mut world = World::new(1, 1);
    for gang in gangs {
        world.gang(gang, "w*1/1@8", None, class("high"));
    }
    let target = Target::of(Kind::PodGang, &world.seen.pod_gangs[&Key::new(NAMESPACE, "hi")].metadata);
    let until = world.now.checked_add(SignedDuration::from_hours(1)).expect("a time");
    let place = Nominated {
        group: group.to_owned(),
        request: Arc::new([("nvidia.com/gpu".to_owned(), 8)].into()),
        spot: Spot { node: "r0n0".to_owned(), zone: None },
    };
    let nominated = Some(Nomination { until, places: vec![place], victims: Vec::new() });
    let before = Ledger { by: world.identity.clone(), at: world.now, nominated, ..Ledger::default() };
    let gang = Arc::make_mut(world.seen.pod_gangs.get_mut(&target_key(&target)).expect("hi"));
    let text = before.write().expect("a ledger");
    gang.metadata.annotations.get_or_insert_default().insert(annotation::PLACEMENT.to_owned(), text);
    world.seen.under_way.insert(target, after(&before).write().unwrap_or_default().into());
    world
}

/// Room that is being made for a gang is left to it until the write that gives it up stands.
#[test]
fn room_that_is_being_made_is_held_until_it_is_given_up() {
    let after = |before: &Ledger| Ledger { nominated: None, score: Some(0), ..before.clone() };
    let mut world = made_free("hi-w", &["hi", "ho"], after);
    check(&mut world, "hi: -\nho: -");
}

/// The same if the group for which room is made goes while something else is written: nobody has given it up yet.
#[test]
fn room_of_a_group_that_goes_while_something_is_under_way_is_held_until_it_is_given_up() {
    let mut world = made_free("hi-v", &["hi", "ho"], Ledger::clone);
    check(&mut world, "hi: -\nho: -");
    world.seen.under_way.clear();
    world.settle();
    assert_eq!(world.ledger("hi").nominated, None);
}

/// A gang that loses a group while room is made for it wants less room from then on, and that is written.
#[test]
fn room_of_a_group_that_is_gone_is_given_up() {
    let mut world = World::new(1, 2);
    world.gang("low", "w*2/2@8", None, class("low"));
    world.settle();
    for (pod, _) in world.pods_of("low") {
        world.hanging.insert(pod);
    }
    world.gang("hi", "w*1/1@8 v*1/1@8", None, class("high"));
    world.settle();
    assert_eq!(world.ledger("hi").nominated.map(|it| it.places.len()), Some(2));
    world.wanted.get_mut("hi").expect("the gang").groups.pop();
    let gang = Arc::make_mut(world.seen.pod_gangs.get_mut(&Key::new(NAMESPACE, "hi")).expect("hi"));
    gang.spec.pod_groups.pop();
    world.seen.pods.retain(|key, _| !key.name.starts_with("hi-v"));
    world.settle();
    assert_eq!(world.ledger("hi").nominated.map(|it| it.places.len()), Some(1));
    world.hanging.clear();
    check(&mut world, "hi: r0n0\nlow: - -");
}

/// Members above the minimum come last, and may take what is held for a less important gang; who is still less important has no part in
/// that.
#[test]
fn nobody_is_squeezed_in_beside_what_is_held() {
    let mut world = World::new(1, 1);
    world.gang("mid", "w*1/1@2", None, class("high"));
    world.settle();
    world.wanted.remove("mid");
    let pod = world.pods_of("mid").remove(0).0;
    world.delete_pod(&pod);
    world.gang("top", "w*3/1@2", None, class("top"));
    world.gang("low", "w*1/1@2", None, class("low"));
    world.settle();
    assert_eq!(world.show(), "low: -\nmid: \ntop: r0n0 r0n0 r0n0");
}

fn target_key(target: &Target) -> Key {
    Key::new(&target.namespace, &target.name)
}
