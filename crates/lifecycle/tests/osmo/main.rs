//! Pools and workflows in a world of a few objects: what is decided is carried out, one write at a time, and looked at after each.

mod waiting;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use trellis_api::admission::Pools;
use trellis_api::kinds::kai::{KaiPodGroup, Topology};
use trellis_api::kinds::osmo::{Pool, Workflow};
use trellis_api::names::{annotation, label, osmo};
use trellis_lifecycle::osmo::{PoolObserved, WorkflowObserved, decide_pool, decide_workflow};
use trellis_lifecycle::topology::NodeLabels;
use trellis_lifecycle::{Action, Failure, Kind, Plan, Target, Write, site};
use trellis_lower::osmo::read_levels;

#[derive(Default)]
struct World {
    objects: BTreeMap<Target, Value>,
    counter: u64,
    now: i64,
    nodes: Vec<NodeLabels>,
    sites: Vec<&'static str>,
    /// Whether no webhook judges pools.
    judges: bool,
}

fn target(kind: Kind, namespace: &str, name: &str) -> Target {
    Target { kind, namespace: namespace.to_owned(), name: name.to_owned() }
}

fn merged(into: &mut Value, patch: &Value) {
    match patch {
        Value::Object(fields) => {
            if !into.is_object() {
                *into = json!({});
            }
            for (key, value) in fields {
                match value {
                    Value::Null => drop(into.as_object_mut().expect("an object").remove(key)),
                    value => merged(&mut into[key], value),
                }
            }
        }
        other => *into = other.clone(),
    }
}

impl World {
    fn put(&mut self, kind: Kind, namespace: &str, name: &str, mut object: Value) -> String {
        self.counter += 1;
        let uid = format!("u{}", self.counter);
        object["metadata"]["name"] = json!(name);
        if kind.is_namespaced() {
            object["metadata"]["namespace"] = json!(namespace);
        }
        object["metadata"]["uid"] = json!(uid);
        object["metadata"]["resourceVersion"] = json!(self.counter.to_string());
        object["metadata"]["generation"] = json!(1);
        self.objects.insert(target(kind, namespace, name), object);
        uid
    }

    fn edit(&mut self, kind: Kind, namespace: &str, name: &str, patch: &Value) {
        self.counter += 1;
        let version = self.counter.to_string();
        let object = self.objects.get_mut(&target(kind, namespace, name)).expect("it is there");
        merged(object, patch);
        object["metadata"]["resourceVersion"] = json!(version);
        if !patch["spec"].is_null() {
            object["metadata"]["generation"] = json!(object["metadata"]["generation"].as_i64().unwrap_or_default() + 1);
        }
    }

    /// Carries out one write, as a server would.
    fn carry_out(&mut self, write: &Write) {
        self.sites.push(write.site);
        let Target { kind, namespace, name } = &write.target;
        match &write.action {
            Action::Create(object) => {
                assert!(!self.objects.contains_key(&write.target), "{:?} is there already", write.target);
                self.put(*kind, namespace, name, object.clone());
            }
            Action::Patch(patch) | Action::PatchStatus(patch) => {
                let live = &self.objects[&write.target]["metadata"];
                assert_eq!(live["resourceVersion"], patch["metadata"]["resourceVersion"], "decided on another version");
                let mut patch = patch.clone();
                patch["metadata"].as_object_mut().expect("metadata").remove("resourceVersion");
                self.edit(*kind, namespace, name, &patch);
            }
            Action::ApplyStatus(_) | Action::Scale(_) => panic!("not used"),
            Action::Delete { uid, .. } => {
                assert_eq!(self.objects[&write.target]["metadata"]["uid"], uid.as_str());
                self.objects.remove(&write.target);
            }
        }
    }

    fn all<T: DeserializeOwned>(&self, kind: Kind) -> BTreeMap<String, Arc<T>> {
        let found = self.objects.iter().filter(|(target, _)| target.kind == kind);
        found
            .map(|(target, it)| (target.name.clone(), Arc::new(serde_json::from_value(it.clone()).expect("it reads"))))
            .collect()
    }

    fn names(&self, kind: Kind) -> Vec<&str> {
        self.objects.keys().filter(|target| target.kind == kind).map(|target| target.name.as_str()).collect()
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + self.now).expect("a time")
    }

    fn pools(&self) -> Pools {
        self.all::<Pool>(Kind::Pool).into_iter().map(|(name, pool)| (name, (*pool).clone())).collect()
    }

    fn pool_plan(&self, name: &str) -> Plan {
        let pool = &self.pools()[name];
        let seen = PoolObserved {
            pool,
            queues: Some(self.all(Kind::KaiQueue)),
            topologies: Some(self.all(Kind::KaiTopology)),
            pod_groups: self.all::<KaiPodGroup>(Kind::KaiPodGroup).into_values().collect(),
            classes: self.all(Kind::PriorityClass),
            nodes: &self.nodes,
        };
        decide_pool(&seen, self.judges, self.now())
    }

    fn workflow_plan(&self, judges: bool) -> Plan {
        self.workflow_plan_after(judges, &[])
    }

    fn workflow_plan_after(&self, judges: bool, failures: &[Failure]) -> Plan {
        let seen = WorkflowObserved {
            workflow: self.all::<Workflow>(Kind::Workflow).into_values().next(),
            pods: self.all(Kind::Pod),
            pod_groups: self.all(Kind::KaiPodGroup),
            services: self.all(Kind::Service),
            files: self.all(Kind::ConfigMap),
        };
        decide_workflow(&seen, &self.pools(), judges, failures, self.now())
    }

    /// Goes on with pools until nothing is left to do, one write at a time; the last of a plan first, or the first.
    fn settle_pools(&mut self, backwards: bool, check: impl Fn(&Self)) {
        for _ in 0..100 {
            let plans: Vec<Plan> = self.names(Kind::Pool).into_iter().map(|name| self.pool_plan(name)).collect();
            let mut writes = plans.into_iter().flat_map(|plan| {
                let all = if plan.writes.is_empty() { plan.statuses } else { plan.writes };
                if backwards { all.into_iter().rev().collect() } else { all }
            });
            let Some(write) = writes.next() else { return };
            self.carry_out(&write);
            check(self);
        }
        panic!("pools do not come to rest");
    }

    /// Goes on with the workflow, one write at a time.
    fn settle_workflow(&mut self) {
        for _ in 0..200 {
            let plan = self.workflow_plan(false);
            assert!(plan.statuses.is_empty());
            let Some(write) = plan.writes.first() else { return };
            self.carry_out(write);
        }
        panic!("the workflow does not come to rest");
    }

    fn make_pool(&mut self, name: &str, keys: &[&str]) {
        let keys: Vec<Value> = keys.iter().map(|key| json!({"key": key, "label": format!("l/{key}")})).collect();
        let spec = json!({"topology_keys": keys, "scheduler_settings": {"scheduler_type": "trellis"}});
        self.put(Kind::Pool, "", name, json!({ "spec": spec }));
    }

    /// A pool that workflows can run in.
    fn make_ready_pool(&mut self, name: &str, keys: &[&str]) {
        self.make_pool(name, keys);
        self.settle_pools(false, |_| {});
    }

    fn condition(&self, name: &str, type_: &str) -> Option<String> {
        let conditions = self.objects[&target(Kind::Pool, "", name)]["status"]["conditions"].as_array().cloned();
        let found = conditions.into_iter().flatten().find(|it| it["type"] == type_)?;
        Some(format!("{} {}", found["status"].as_str()?, found["message"].as_str()?).trim().to_owned())
    }

    fn set_keys(&mut self, name: &str, keys: &[&str]) {
        let keys: Vec<Value> = keys.iter().map(|key| json!({"key": key, "label": format!("l/{key}")})).collect();
        self.edit(Kind::Pool, "", name, &json!({"spec": {"topology_keys": keys}}));
    }

    fn make_workflow(&mut self, more: &Value) {
        let task = |name: &str| json!({"name": name, "image": "i", "command": ["c"]});
        let topology = json!([{"key": "rack"}]);
        let mut spec = json!({
            "groups": [{"name": "g", "tasks": [task("a"), task("b")]}],
            "resources": {"default": {"gpu": 1, "topology": topology}},
        });
        merged(&mut spec, more);
        self.put(Kind::Workflow, "ns", "w", json!({ "spec": spec }));
    }

    fn pod(&mut self, name: &str, status: &Value) {
        self.edit(Kind::Pod, "ns", name, &json!({ "status": status, "spec": {"nodeName": "n1"} }));
    }

    fn state(&self) -> &str {
        self.objects[&target(Kind::Workflow, "ns", "w")]["status"]["state"].as_str().unwrap_or_default()
    }
}

/// Every gang asks for its rack, and no Topology that it names has other levels than those that it was made for.
fn nothing_is_lost(world: &World) {
    let topologies = world.all::<Topology>(Kind::KaiTopology);
    for (name, group) in world.all::<KaiPodGroup>(Kind::KaiPodGroup) {
        let constraint = group.spec.topology_constraint.as_ref().unwrap_or_else(|| panic!("{name} has no constraint"));
        assert_eq!(constraint.required_topology_level.as_deref(), Some("l/rack"), "{name}");
        let made_for = read_levels(&group.metadata.annotations.as_ref().expect("annotations")[annotation::POOL_LEVELS]);
        if let Some(topology) = constraint.topology.as_ref().and_then(|it| topologies.get(it)) {
            let levels = topology.spec.levels.iter().map(|level| level.node_label.as_str());
            assert!(levels.eq(made_for.iter().map(|level| level.label.as_str())), "{name}: {:?}", topology.spec);
        }
    }
}

/// Every gang names a Topology that is there and has just the levels that it was made for.
fn no_gap(world: &World) {
    let topologies = world.all::<Topology>(Kind::KaiTopology);
    for (name, group) in world.all::<KaiPodGroup>(Kind::KaiPodGroup) {
        let constraint = group.spec.topology_constraint.as_ref().expect("a constraint");
        let named = constraint.topology.as_deref().expect("a topology");
        let topology = topologies.get(named).unwrap_or_else(|| panic!("{name} has lost {named}"));
        let levels: Vec<&str> = topology.spec.levels.iter().map(|level| level.node_label.as_str()).collect();
        let made_for = read_levels(&group.metadata.annotations.as_ref().expect("annotations")[annotation::POOL_LEVELS]);
        assert_eq!(levels, made_for.iter().map(|level| level.label.as_str()).collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn a_pool_becomes_queues_classes_and_a_topology() {
    let mut world = World::default();
    let labels = |zone: &str, rack: &str| {
        Arc::new([("l/zone", zone), ("l/rack", rack)].map(|(k, v)| (k.to_owned(), v.to_owned())).into())
    };
    for (name, zone, rack) in [("n1", "a", "1"), ("n2", "a", "2"), ("n3", "b", "1")] {
        world.nodes.push(NodeLabels { name: name.to_owned(), labels: labels(zone, rack) });
    }
    world.nodes.push(NodeLabels { name: "n4".to_owned(), ..NodeLabels::default() });
    world.make_pool("p", &["zone", "rack"]);
    world.settle_pools(false, |_| {});
    assert_eq!(world.names(Kind::KaiQueue), ["osmo-default-default", "osmo-pool-default-p"]);
    assert_eq!(world.names(Kind::KaiTopology), ["osmo-pool-default-p-topology"]);
    assert_eq!(world.names(Kind::PriorityClass), ["osmo-high", "osmo-low", "osmo-normal"]);
    let status = &world.objects[&target(Kind::Pool, "", "p")]["status"];
    assert_eq!(status["nodes"], 3);
    assert_eq!(status["levels"][0]["values"], json!(["a", "b"]));
    assert_eq!(status["levels"][1]["values"], json!(["a/1", "a/2", "b/1"]));
    let said: Vec<(&str, &str)> = status["conditions"]
        .as_array()
        .expect("conditions")
        .iter()
        .map(|it| (it["type"].as_str().expect("a type"), it["status"].as_str().expect("a status")))
        .collect();
    assert_eq!(said, [("Ready", "True"), ("TopologyInSync", "True")]);
    // Every object goes with its pool, and what pools share with the last.
    world.make_pool("q", &["zone"]);
    world.settle_pools(false, |_| {});
    let owners = |kind, name: &str| -> Vec<String> {
        let owners = world.objects[&target(kind, "", name)]["metadata"]["ownerReferences"].as_array().cloned();
        owners.unwrap_or_default().iter().map(|it| it["name"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(owners(Kind::KaiQueue, "osmo-default-default"), ["p", "q"]);
    assert_eq!(owners(Kind::PriorityClass, "osmo-high"), ["p", "q"]);
    assert_eq!(owners(Kind::KaiQueue, "osmo-pool-default-p"), ["p"]);
    assert_eq!(owners(Kind::KaiTopology, "osmo-pool-default-q-topology"), ["q"]);
}

#[test]
fn a_pool_that_moves_or_loses_its_levels_leaves_nothing_behind() {
    let mut world = World::default();
    world.make_pool("p", &["rack"]);
    world.settle_pools(false, |_| {});
    world.edit(Kind::Pool, "", "p", &json!({"spec": {"k8s_namespace": "jobs", "topology_keys": []}}));
    world.settle_pools(false, |_| {});
    // Nobody else owned the queue above, so it has no owner any more and the collector takes it.
    let parent = &world.objects[&target(Kind::KaiQueue, "", "osmo-default-jobs")];
    assert_eq!(parent["metadata"]["ownerReferences"][0]["name"], "p");
    assert_eq!(world.names(Kind::KaiQueue), ["osmo-default-jobs", "osmo-pool-jobs-p"]);
    assert!(world.names(Kind::KaiTopology).is_empty());
}

#[test]
fn levels_that_change_leave_no_moment_in_which_a_gang_is_without_its_own() {
    for backwards in [false, true] {
        let mut world = World::default();
        world.make_pool("p", &["zone", "rack"]);
        world.settle_pools(backwards, |_| {});
        world.make_workflow(&json!({}));
        world.settle_workflow();
        no_gap(&world);
        world.set_keys("p", &["rack", "zone"]);
        world.settle_pools(backwards, no_gap);
        world.set_keys("p", &["spine", "rack"]);
        world.settle_pools(backwards, no_gap);
        let name = osmo::topology("default", "p");
        let kept = osmo::kept_topology(&name, "zone=l/zone,rack=l/rack");
        assert_eq!(world.names(Kind::KaiTopology), [&name, &kept]);
        for site in [site::POOL_MOVE, site::POOL_GONE] {
            assert!(world.sites.contains(&site), "{site}");
        }
        // A task that is begun anew is made for the levels that its gang has.
        world.objects.remove(&target(Kind::Pod, "ns", "w-a"));
        world.settle_workflow();
        no_gap(&world);
        // What is kept goes with the last gang that needs it.
        world.objects.remove(&target(Kind::KaiPodGroup, "ns", "w-g"));
        world.settle_pools(backwards, |_| {});
        assert_eq!(world.names(Kind::KaiTopology), [&name]);
    }
}

/// The pool is edited after every single write of a workflow, and the workflow and its pool go on in either order.
#[test]
fn a_pool_that_is_edited_between_two_writes_costs_no_requirement() {
    for keys in [&["zone"][..], &["rack", "zone"], &["spine", "rack"], &[]] {
        for pool_first in [false, true] {
            for at in 0..10 {
                let mut world = World::default();
                world.make_ready_pool("p", &["zone", "rack"]);
                world.make_workflow(&json!({}));
                for _ in 0..at {
                    let write = world.workflow_plan(false).writes.first().cloned();
                    write.iter().for_each(|write| world.carry_out(write));
                }
                world.set_keys("p", keys);
                if pool_first {
                    world.settle_pools(false, nothing_is_lost);
                }
                for _ in 0..3 {
                    world.settle_workflow();
                    nothing_is_lost(&world);
                    world.settle_pools(false, nothing_is_lost);
                }
                no_gap(&world);
                // Before it was queued, a level that is gone is a refusal.
                let has_key = keys.contains(&"rack");
                let expected = if at > 0 || has_key { ("PENDING", 2) } else { ("FAILED_SUBMISSION", 0) };
                assert_eq!((world.state(), world.names(Kind::Pod).len()), expected, "{keys:?} after {at} writes");
            }
        }
    }
}

/// A gang that is new while levels change is made for the new ones, when the Topology has them.
#[test]
fn a_gang_that_is_made_while_levels_change_names_a_topology_that_has_them() {
    for backwards in [false, true] {
        let mut world = World::default();
        world.make_ready_pool("p", &["zone", "rack"]);
        world.set_keys("p", &["rack", "zone"]);
        world.make_workflow(&json!({}));
        for _ in 0..20 {
            world.settle_workflow();
            no_gap(&world);
            let plan = world.pool_plan("p");
            let all = if plan.writes.is_empty() { plan.statuses } else { plan.writes };
            let write = if backwards { all.last() } else { all.first() };
            write.iter().for_each(|write| world.carry_out(write));
        }
        world.settle_workflow();
        assert_eq!(world.names(Kind::Pod), ["w-a", "w-b"]);
        no_gap(&world);
    }
}

/// A queue that gangs name stays until the last of them is gone, and the one above it.
#[test]
fn a_pool_that_moves_keeps_the_queue_of_its_gangs() {
    let mut world = World::default();
    world.make_ready_pool("p", &["rack"]);
    world.make_workflow(&json!({}));
    world.settle_workflow();
    world.edit(Kind::Pool, "", "p", &json!({"spec": {"k8s_namespace": "jobs"}}));
    world.settle_pools(false, |_| {});
    let (former, new) = (["osmo-default-default", "osmo-pool-default-p"], ["osmo-default-jobs", "osmo-pool-jobs-p"]);
    assert_eq!(world.names(Kind::KaiQueue), [former[0], new[0], former[1], new[1]]);
    world.objects.remove(&target(Kind::KaiPodGroup, "ns", "w-g"));
    world.settle_pools(false, |_| {});
    assert_eq!(world.names(Kind::KaiQueue), new);
}

#[test]
fn a_pool_stays_until_its_last_gang_is_gone() {
    let mut world = World::default();
    world.make_ready_pool("p", &["rack"]);
    world.make_workflow(&json!({}));
    world.settle_workflow();
    let finalizers = |world: &World| world.objects[&target(Kind::Pool, "", "p")]["metadata"]["finalizers"].clone();
    assert_eq!(finalizers(&world), json!(["trellis.dev/pool"]));
    world.edit(Kind::Pool, "", "p", &json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}));
    world.settle_pools(false, no_gap);
    assert_eq!(finalizers(&world), json!(["trellis.dev/pool"]));
    let blocked = world.condition("p", "DeletionBlocked");
    assert_eq!(blocked.as_deref(), Some("True gangs run in it: ns/w-g"));
    // A task that is lost comes back all the same.
    world.objects.remove(&target(Kind::Pod, "ns", "w-b"));
    world.settle_workflow();
    assert_eq!(world.names(Kind::Pod), ["w-a", "w-b"]);
    world.objects.remove(&target(Kind::KaiPodGroup, "ns", "w-g"));
    world.settle_pools(false, |_| {});
    assert_eq!(finalizers(&world), json!([]));
}

#[test]
fn where_no_webhook_judges_a_pool_that_is_not_sound_gets_nothing() {
    let mut world = World { judges: true, ..World::default() };
    world.make_pool("p", &["rack"]);
    let settings = |kind: &str| json!({"spec": {"scheduler_settings": {"scheduler_type": kind}}});
    world.edit(Kind::Pool, "", "p", &settings("default"));
    world.settle_pools(false, |_| {});
    let said = world.condition("p", "Admitted").expect("it is judged");
    assert!(said.starts_with("False spec.topology_keys: Forbidden"), "{said}");
    assert!(world.condition("p", "Ready").is_some_and(|it| it.starts_with("False")));
    assert!(world.names(Kind::KaiQueue).is_empty() && world.names(Kind::PriorityClass).is_empty());
    // What asks for a level there is refused, and what asks for none waits.
    world.make_workflow(&json!({}));
    world.settle_workflow();
    assert_eq!((world.state(), world.names(Kind::Pod).len()), ("FAILED_SUBMISSION", 0));
    world.edit(Kind::Pool, "", "p", &settings("trellis"));
    world.settle_pools(false, |_| {});
    assert_eq!(world.condition("p", "Admitted").as_deref(), Some("True"));
    assert_eq!(world.condition("p", "Ready").as_deref(), Some("True"));
}

#[test]
fn what_cannot_be_written_stands_in_the_status_until_it_can() {
    let mut world = World::default();
    world.make_ready_pool("p", &["rack"]);
    world.make_workflow(&json!({}));
    let status = world.workflow_plan(false).writes[0].clone();
    world.carry_out(&status);
    let failures = [Failure { code: "ERR".to_owned(), description: "cannot create PodGroup w-g".to_owned() }];
    let plan = world.workflow_plan_after(false, &failures);
    assert_eq!(plan.writes[0].site, site::WORKFLOW_STATUS);
    world.carry_out(&plan.writes[0]);
    let message = |world: &World| world.objects[&target(Kind::Workflow, "ns", "w")]["status"]["message"].clone();
    assert_eq!(message(&world), "group \"g\": cannot create PodGroup w-g");
    // The next try is not kept from trying.
    let sites: Vec<&str> = world.workflow_plan_after(false, &failures).writes.iter().map(|write| write.site).collect();
    assert!(sites.contains(&site::WORKFLOW_OBJECT) && !sites.contains(&site::WORKFLOW_STATUS), "{sites:?}");
    world.settle_workflow();
    assert_eq!(message(&world), Value::Null);
}

/// One that is refused can be canceled, and what has ended is not judged again.
#[test]
fn where_no_webhook_judges_what_is_over_stays_so() {
    let mut world = World::default();
    world.make_workflow(&json!({}));
    let settle = |world: &mut World| {
        while let Some(write) = world.workflow_plan(true).writes.first().cloned() {
            world.carry_out(&write);
        }
    };
    settle(&mut world);
    assert_eq!(world.state(), "PENDING");
    world.edit(Kind::Workflow, "ns", "w", &json!({"spec": {"cancel": true}}));
    settle(&mut world);
    assert_eq!(world.state(), "FAILED_CANCELED");
    let conditions = world.objects[&target(Kind::Workflow, "ns", "w")]["status"]["conditions"].clone();
    assert_eq!((&conditions[0]["type"], &conditions[0]["status"]), (&json!("Admitted"), &json!("False")));
}

#[test]
fn a_status_comes_before_what_follows_from_it_and_a_gang_before_its_pods() {
    let mut world = World::default();
    world.make_ready_pool("p", &["rack"]);
    world.make_workflow(&json!({"timeout": {"exec_timeout": "1h"}}));
    world.settle_workflow();
    let created = |site| world.sites.iter().position(|it| *it == site).expect("it was written");
    assert!(created(site::WORKFLOW_STATUS) < created(site::WORKFLOW_OBJECT));
    assert!(created(site::WORKFLOW_OBJECT) < created(site::WORKFLOW_POD));
    assert_eq!((world.names(Kind::Pod), world.names(Kind::Service)), (vec!["w-a", "w-b"], vec!["w-g"]));
    assert_eq!(world.state(), "PENDING");
    let status = &world.objects[&target(Kind::Workflow, "ns", "w")]["status"];
    assert_eq!((&status["pool"], &status["groups"][0]["state"]), (&json!("p"), &json!("SCHEDULING")));
    for pod in ["w-a", "w-b"] {
        world.pod(pod, &json!({"phase": "Running"}));
    }
    world.settle_workflow();
    assert_eq!(world.state(), "RUNNING");
    assert!(world.workflow_plan(false).wake_at.is_some(), "time alone ends it");
    // The first leads: when it is done, the group is, its place is free, and the other does not go on.
    let ended = json!({"name": "task", "state": {"terminated": {"exitCode": 0}}});
    world.pod("w-a", &json!({"phase": "Succeeded", "containerStatuses": [ended]}));
    world.settle_workflow();
    assert_eq!(world.state(), "COMPLETED");
    assert_eq!((world.names(Kind::Pod), world.names(Kind::KaiPodGroup).len()), (vec!["w-a"], 0));
    let status = &world.objects[&target(Kind::Workflow, "ns", "w")]["status"];
    let complete = status["conditions"].as_array().expect("conditions").iter().find(|it| it["type"] == "Complete");
    assert_eq!(complete.expect("a condition")["status"], "True");
}

#[test]
fn a_task_that_is_begun_anew_keeps_its_leaf() {
    let mut world = World::default();
    world.make_ready_pool("p", &["zone", "rack"]);
    let topology = |group: &str| json!({"gpu": 1, "topology": [{"key": "rack", "group": group}]});
    let task = |name: &str| json!({"name": name, "image": "i", "command": ["c"], "resource": name});
    world.make_workflow(&json!({
        "groups": [{"name": "g", "tasks": [task("a"), task("b")]}],
        "resources": {"a": topology("one"), "b": topology("two")},
    }));
    world.settle_workflow();
    let leaf = |world: &World| {
        world.objects[&target(Kind::Pod, "ns", "w-b")]["metadata"]["labels"][label::KAI_SUBGROUP].clone()
    };
    assert_eq!(leaf(&world), "two");
    // The pool has other levels meanwhile.
    world.set_keys("p", &["rack", "zone", "spine"]);
    let uid = world.objects[&target(Kind::Pod, "ns", "w-b")]["metadata"]["uid"].clone();
    world.pod("w-b", &json!({"phase": "Failed", "reason": "Evicted"}));
    world.settle_workflow();
    let pod = &world.objects[&target(Kind::Pod, "ns", "w-b")];
    assert_ne!(pod["metadata"]["uid"], uid);
    assert_eq!((&leaf(&world), &pod["metadata"]["labels"]["osmo.retry_id"]), (&json!("two"), &json!("1")));
    assert!(world.sites.contains(&site::WORKFLOW_POD_GIVEN_UP));
}

#[test]
fn a_pool_that_has_lost_a_key_fails_what_has_not_begun() {
    let mut world = World::default();
    world.make_pool("p", &["zone"]);
    world.make_workflow(&json!({}));
    world.settle_workflow();
    assert_eq!((world.state(), world.names(Kind::Pod).len()), ("FAILED_SUBMISSION", 0));
}

#[test]
fn where_no_webhook_judges_a_fault_shows_and_is_forgotten_when_it_is_mended() {
    let mut world = World::default();
    world.make_workflow(&json!({}));
    let plan = world.workflow_plan(true);
    world.carry_out(&plan.writes[0]);
    assert!(world.workflow_plan(true).writes.is_empty());
    let status = |world: &World| world.objects[&target(Kind::Workflow, "ns", "w")]["status"].clone();
    assert_eq!(
        (&status(&world)["conditions"][0]["type"], &status(&world)["conditions"][0]["status"]),
        (&json!("Admitted"), &json!("False"))
    );
    assert!(status(&world)["message"].as_str().is_some_and(|it| it.contains("there are no pools")));
    world.make_pool("p", &["rack"]);
    let plan = world.workflow_plan(true);
    world.carry_out(&plan.writes[0]);
    assert_eq!(status(&world)["conditions"][0]["status"], "True");
}

#[test]
fn what_an_earlier_workflow_of_the_name_left_is_waited_for() {
    let mut world = World::default();
    world.make_ready_pool("p", &["rack"]);
    world.make_workflow(&json!({}));
    world.settle_workflow();
    world.objects.remove(&target(Kind::Workflow, "ns", "w"));
    world.make_workflow(&json!({}));
    world.settle_workflow();
    let owner = |world: &World, name: &str| {
        world.objects[&target(Kind::Pod, "ns", name)]["metadata"]["ownerReferences"][0]["uid"].clone()
    };
    let uid = world.objects[&target(Kind::Workflow, "ns", "w")]["metadata"]["uid"].clone();
    assert_ne!(owner(&world, "w-a"), uid);
    // The collector takes them, one by one.
    for (kind, name) in [(Kind::Pod, "w-b"), (Kind::KaiPodGroup, "w-g"), (Kind::Service, "w-g"), (Kind::Pod, "w-a")] {
        world.objects.remove(&target(kind, "ns", name));
        world.settle_workflow();
    }
    assert_eq!((owner(&world, "w-a"), owner(&world, "w-b")), (uid.clone(), uid));
}

#[test]
fn a_workflow_that_is_going_makes_nothing() {
    let mut world = World::default();
    world.make_pool("p", &["rack"]);
    world.make_workflow(&json!({}));
    world.edit(Kind::Workflow, "ns", "w", &json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}));
    assert_eq!(world.workflow_plan(false), Plan::default());
}
