//! What pods say of each other, of ports and of volumes, from the first decision to the last.

use crate::world::{NAMESPACE, World, node_of};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use trellis_api::names::annotation;
use trellis_scheduler::seen::Key;

const HOST: &str = "kubernetes.io/hostname";

/// Gives a pod labels and parts of a spec.
fn dress(pod: &mut Pod, app: &str, spec: Value) {
    pod.metadata.labels.get_or_insert_default().insert("app".to_owned(), app.to_owned());
    let mut value = serde_json::to_value(&*pod).expect("a pod");
    for (field, part) in spec.as_object().expect("fields") {
        value["spec"][field] = part.clone();
    }
    *pod = serde_json::from_value(value).expect("a pod");
}

fn company(which: &str, app: &str, key: &str) -> Value {
    let term = json!({ "topologyKey": key, "labelSelector": { "matchLabels": { "app": app } } });
    json!({ "affinity": { which: { "requiredDuringSchedulingIgnoredDuringExecution": [term] } } })
}

fn alone_on_its_host(pod: &mut Pod) {
    dress(pod, "one", company("podAntiAffinity", "one", HOST));
}

fn one_per_rack(pod: &mut Pod) {
    dress(pod, "rack", company("podAntiAffinity", "rack", "rack"));
}

fn near_itself(pod: &mut Pod) {
    dress(pod, "near", company("podAffinity", "near", "rack"));
}

fn near_one(pod: &mut Pod) {
    dress(pod, "follower", company("podAffinity", "one", "rack"));
}

fn with_port(pod: &mut Pod) {
    let container = &mut pod.spec.get_or_insert_default().containers[0];
    container.ports = serde_json::from_value(json!([{ "containerPort": 80, "hostPort": 8080 }])).expect("ports");
}

fn with_claim(pod: &mut Pod) {
    dress(pod, "user", json!({ "volumes": [{ "name": "data", "persistentVolumeClaim": { "claimName": "d" } }] }));
}

fn wishing(pod: &mut Pod) {
    let wish = json!([{ "weight": 1, "podAffinityTerm": { "topologyKey": "kubernetes.io/hostname" } }]);
    let affinity = json!({ "podAffinity": { "preferredDuringSchedulingIgnoredDuringExecution": wish } });
    dress(pod, "wisher", json!({ "affinity": affinity }));
}

/// A gang: its name, its groups, what it requires, and what its pods have besides.
type Row = (&'static str, &'static str, Option<&'static str>, fn(&mut Pod));

/// Gangs that are made at once; and the same with a scheduler that dies after every write.
fn check(racks: usize, nodes: usize, gangs: &[Row], expected: &str) -> World {
    let fresh = || {
        let mut world = World::new(racks, nodes);
        for (name, groups, required, dress) in gangs {
            world.dress.insert((*name).to_owned(), *dress);
            world.gang(name, groups, *required, |_| {});
        }
        world
    };
    let mut world = fresh();
    world.settle();
    assert_eq!(world.show(), expected, "{}", world.log.join("\n"));
    assert!(world.decide().is_idle());
    for at in 0..world.writes {
        let mut mortal = fresh();
        mortal.dies_at = Some(at);
        mortal.settle();
        assert_eq!(mortal.show(), expected, "died at {at}\n{}", mortal.log.join("\n"));
    }
    world
}

fn message(world: &World, gang: &str) -> String {
    world.annotation(gang, annotation::EXPLANATION).unwrap_or_default()
}

#[test]
fn one_per_host() {
    check(1, 3, &[("a", "w*3/3@1", None, alone_on_its_host)], "a: r0n0 r0n1 r0n2");
    let world = check(1, 3, &[("a", "w*4/4@1", None, alone_on_its_host)], "a: - - - -");
    assert!(message(&world, "a").contains("one per host: app=one in ns"), "{}", message(&world, "a"));
    // Two gangs of one decision, and those that come back.
    let gangs: [Row; 2] = [("a", "w*2/2@1", None, alone_on_its_host), ("b", "w*2/2@1", None, alone_on_its_host)];
    let mut world = check(1, 4, &gangs, "a: r0n0 r0n1\nb: r0n2 r0n3");
    for (pod, _) in world.pods_of("a").into_iter().chain(world.pods_of("b")) {
        world.delete_pod(&pod);
        world.settle();
        let hosts: BTreeSet<String> =
            world.seen.pods.values().filter_map(|pod| node_of(pod).map(str::to_owned)).collect();
        assert_eq!(hosts.len(), 4, "{}", world.show());
    }
}

#[test]
fn a_stranger_who_is_meant_closes_its_node() {
    let mut world = World::new(1, 3);
    let mut stranger = world.pod_object("stranger", 1, None);
    dress(&mut stranger, "one", json!({ "nodeName": "r0n0", "schedulerName": "other" }));
    world.put_pod(stranger);
    world.dress.insert("a".to_owned(), alone_on_its_host);
    world.gang("a", "w*2/2@1", None, |_| {});
    world.settle();
    assert_eq!(world.show(), "a: r0n1 r0n2");
}

#[test]
fn gangs_that_keep_apart_are_placed_one_after_the_other() {
    let gangs: [Row; 3] = [
        ("a", "w*1/1@1", None, one_per_rack),
        ("b", "w*1/1@1", None, one_per_rack),
        ("c", "w*1/1@1", None, one_per_rack),
    ];
    let world = check(3, 2, &gangs, "a: r0n0\nb: r1n0\nc: r2n0");
    assert_eq!(world.reason("b"), "MinimumScheduled");
    check(2, 2, &gangs, "a: r0n0\nb: r1n0\nc: -");
    // One that has no place keeps nobody waiting.
    let gangs: [Row; 2] = [("a", "w*1/1@9", None, one_per_rack), ("b", "w*1/1@1", None, one_per_rack)];
    check(2, 2, &gangs, "a: -\nb: r0n0");
}

#[test]
fn gangs_that_seek_each_other() {
    let near: fn(&mut Pod) = near_itself;
    check(2, 2, &[("a", "w*2/2@8", None, near)], "a: r0n0 r0n1");
    let world = check(2, 2, &[("a", "w*3/3@8", None, near)], "a: - - -");
    assert!(message(&world, "a").contains("must share one rack"), "{}", message(&world, "a"));
    // Two at once: the second follows the first, though another rack has more room.
    check(2, 3, &[("a", "w*2/2@8", None, near), ("b", "w*2/2@8", None, near)], "a: r0n0 r0n1\nb: - -");
    check(2, 3, &[("a", "w*2/2@8", None, near), ("b", "w*1/1@8", None, near)], "a: r0n0 r0n1\nb: r0n2");
    // One that follows others waits in words until they are there.
    let follower: fn(&mut Pod) = near_one;
    let world = check(2, 2, &[("a", "w*1/1@1", None, follower)], "a: -");
    assert_eq!(world.reason("a"), "Missing");
    let gangs: [Row; 2] = [("a", "w*1/1@1", None, follower), ("b", "w*1/1@1", None, alone_on_its_host)];
    check(2, 1, &gangs, "a: r0n0\nb: r0n0");
}

#[test]
fn ports_of_hosts() {
    let port: fn(&mut Pod) = with_port;
    let gangs = [("a", "w*2/2@1", None, port), ("b", "w*1/1@1", None, port), ("c", "w*1/1@1", None, port)];
    let mut world = check(1, 3, &gangs, "a: r0n0 r0n1\nb: r0n2\nc: -");
    assert!(message(&world, "c").contains("host port 8080/TCP"), "{}", message(&world, "c"));
    world.delete_gang("b");
    world.settle();
    assert_eq!(world.show(), "a: r0n0 r0n1\nc: r0n2");
    // A more important one has the port freed.
    world.dress.insert("h".to_owned(), port);
    world.gang("h", "w*1/1@1", None, |gang| gang.spec.priority_class_name = Some("high".to_owned()));
    world.settle();
    assert_eq!(world.show(), "a: r0n0 r0n1\nc: -\nh: r0n2");
}

#[test]
fn volumes() {
    let mut world = World::new(2, 1);
    world.dress.insert("a".to_owned(), with_claim);
    world.gang("a", "w*1/1@1", None, |_| {});
    world.settle();
    assert_eq!((world.show().as_str(), world.reason("a").as_str()), ("a: -", "Missing"));
    assert!(message(&world, "a").contains("the claim d of pod a-w-"), "{}", message(&world, "a"));
    let claim = |volume: Value| -> Arc<PersistentVolumeClaim> {
        let claim = json!({ "metadata": { "namespace": NAMESPACE, "name": "d" }, "spec": { "volumeName": volume },
                            "status": { "phase": if volume.is_null() { "Pending" } else { "Bound" } } });
        Arc::new(serde_json::from_value(claim).expect("a claim"))
    };
    world.seen.claims.insert(Key::new(NAMESPACE, "d"), claim(Value::Null));
    world.pass(11);
    world.settle();
    assert!(message(&world, "a").contains("first consumer"), "{}", message(&world, "a"));
    let expression = json!({ "key": "rack", "operator": "In", "values": ["r1"] });
    let affinity = json!({ "required": { "nodeSelectorTerms": [{ "matchExpressions": [expression] }] } });
    let volume = json!({ "metadata": { "name": "v" }, "spec": { "nodeAffinity": affinity } });
    let volume: PersistentVolume = serde_json::from_value(volume).expect("a volume");
    world.seen.volumes.insert("v".into(), Arc::new(volume));
    world.seen.claims.insert(Key::new(NAMESPACE, "d"), claim(json!("v")));
    world.pass(11);
    world.settle();
    assert_eq!(world.show(), "a: r1n0");
}

#[test]
fn what_is_passed_over_is_said_on_the_gang() {
    let mut world = World::new(1, 1);
    world.dress.insert("a".to_owned(), wishing);
    world.gang("a", "w*1/1@1", None, |_| {});
    // The first decision makes sure that nobody else writes to the gang.
    let plan = world.decide();
    world.apply(&plan);
    let notes = world.decide().notes;
    let told = notes.iter().find(|note| note.reason == "PassedOver").expect("a note");
    assert!(told.warning && told.message.contains("spec.affinity.podAffinity.preferred"), "{}", told.message);
}

/// Zones of a node are given away by what was given, also while nobody has reported yet that they are in use.
#[test]
fn a_zone_is_given_once() {
    let mut world = World::new(1, 1);
    let levels = json!([{ "domain": "host", "key": HOST }, { "domain": "numa", "key": "numa" }]);
    let topology = json!({
        "apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopology", "metadata": { "name": "grove-topology" },
        "spec": { "levels": levels },
    });
    let topology = Arc::new(serde_json::from_value(topology).expect("a topology"));
    world.seen.cluster_topologies.insert("grove-topology".into(), topology);
    let zone = |name: &str| {
        let gpus = json!({ "name": "nvidia.com/gpu", "capacity": "4", "allocatable": "4", "available": "4" });
        json!({ "name": name, "type": "Node", "resources": [gpus] })
    };
    let zones = json!({ "metadata": { "name": "r0n0" }, "zones": [zone("z0"), zone("z1")] });
    let zones = Arc::new(serde_json::from_value(zones).expect("zones"));
    world.seen.node_resource_topologies.insert("r0n0".into(), zones);
    for gang in ["a", "b", "c", "d", "e"] {
        world.gang(gang, "w*1/1@2", Some("numa"), |_| {});
        world.settle();
    }
    assert_eq!(world.show(), "a: r0n0\nb: r0n0\nc: r0n0\nd: r0n0\ne: -", "{}", world.log.join("\n"));
    let given = |zone: &str| {
        let is_there = |pod: &&Arc<Pod>| {
            let annotations = pod.metadata.annotations.as_ref();
            annotations.and_then(|all| all.get(annotation::NUMA_ZONE)).is_some_and(|name| name == zone)
        };
        world.seen.pods.values().filter(is_there).count()
    };
    assert_eq!((given("z0"), given("z1")), (2, 2));
}
