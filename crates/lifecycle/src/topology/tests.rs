use super::*;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use trellis_api::kinds::kai::Topology;
use trellis_api::kinds::{BrokenNesting, ClusterTopologySpec, PartiallyLabelledNode};
use trellis_testkit::mutate::Dice;

const ZONE: &str = "example.com/zone";
const RACK: &str = "example.com/rack";
const HOST: &str = "kubernetes.io/hostname";

fn at(second: i64) -> Timestamp {
    Timestamp::new(1_800_000_000 + second, 0).expect("a time")
}

/// What one case looks at; the default is a topology of three levels that nobody references, and two nodes that carry its labels.
struct Case {
    name: &'static str,
    finalizers: Vec<&'static str>,
    deleting: bool,
    users: Vec<(&'static str, &'static str)>,
    nodes: Vec<Vec<(&'static str, &'static str)>>,
    numa: bool,
    kai: Option<Kai>,
    settings: Settings,
}

/// KAI's Topology: who owns it by uid, and its levels.
struct Kai {
    owner: Option<(&'static str, &'static str)>,
    levels: Vec<&'static str>,
    deleting: bool,
}

const OURS: &str = "grove.io/clustertopology";

fn configured(enabled: bool, profiles: &[&str]) -> Settings {
    let levels = vec![trellis_api::kinds::TopologyLevel { domain: trellis_api::Domain::Zone, key: ZONE.to_owned() }];
    Settings {
        topology_enabled: enabled,
        profiles: profiles.iter().map(|&name| name.to_owned()).collect(),
        default_levels: Some(levels),
        ..Settings::default()
    }
}

impl Default for Case {
    fn default() -> Self {
        Self {
            name: "gpu",
            finalizers: vec![OURS],
            deleting: false,
            users: vec![],
            nodes: vec![vec![(ZONE, "z1"), (RACK, "r1"), (HOST, "n1")], vec![(ZONE, "z1"), (RACK, "r2"), (HOST, "n2")]],
            numa: false,
            kai: None,
            settings: configured(true, &["trellis"]),
        }
    }
}

fn levels(numa: bool) -> Value {
    let mut levels = json!([
        {"domain": "host", "key": HOST}, {"domain": "zone", "key": ZONE}, {"domain": "rack", "key": RACK}
    ]);
    if numa {
        levels.as_array_mut().expect("a list").push(json!({"domain": "numa", "key": "example.com/numa"}));
    }
    levels
}

/// The API as far as one topology is concerned: carries plans out.
struct World {
    topology: Option<ClusterTopology>,
    users: Vec<(String, String)>,
    nodes: Vec<NodeLabels>,
    kai: Option<Topology>,
    kai_served: bool,
    settings: Settings,
    revision: u64,
}

fn merge(into: &mut Value, patch: &Value) {
    let (Some(fields), true) = (patch.as_object(), into.is_object()) else {
        *into = patch.clone();
        return;
    };
    for (key, value) in fields {
        if value.is_null() {
            into.as_object_mut().expect("an object").remove(key);
        } else {
            merge(&mut into[key], value);
        }
        if into[key].is_null() {
            into.as_object_mut().expect("an object").remove(key);
        }
    }
}

impl World {
    fn of(case: &Case) -> Self {
        let mut topology = json!({
            "metadata": {
                "name": case.name, "uid": "u1", "resourceVersion": "1", "generation": 3, "finalizers": case.finalizers,
            },
            "spec": {"levels": levels(case.numa)},
        });
        if case.deleting {
            topology["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        let nodes = case.nodes.iter().enumerate().map(|(i, labels)| NodeLabels {
            name: format!("node-{i}"),
            labels: Arc::new(labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()),
        });
        let kai = case.kai.as_ref().map(|kai| {
            let owner = kai.owner.map(|(name, uid)| {
                json!({"apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopology", "name": name, "uid": uid, "controller": true})
            });
            let levels: Vec<Value> = kai.levels.iter().map(|level| json!({"nodeLabel": level})).collect();
            let mut object = json!({
                "metadata": {
                    "name": case.name, "uid": "k1", "resourceVersion": "7", "generation": 1,
                    "ownerReferences": owner.into_iter().collect::<Vec<_>>(),
                },
                "spec": {"levels": levels},
            });
            if kai.deleting {
                object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            }
            serde_json::from_value(object).expect("a Topology of KAI")
        });
        Self {
            topology: Some(serde_json::from_value(topology).expect("a topology")),
            users: case.users.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect(),
            nodes: nodes.collect(),
            kai,
            kai_served: true,
            settings: case.settings.clone(),
            revision: 10,
        }
    }

    fn decide(&self, now: Timestamp) -> Plan {
        let Some(topology) = &self.topology else { return Plan::default() };
        let kai = match &self.kai {
            _ if !self.kai_served => KaiTopologySeen::NotServed,
            None => KaiTopologySeen::Absent,
            Some(live) => KaiTopologySeen::There(live),
        };
        let seen = TopologyObserved { topology, users: self.users.clone(), nodes: &self.nodes, kai };
        decide(&seen, &self.settings, now)
    }

    fn write(&mut self, write: &Write) {
        self.revision += 1;
        match (&write.action, write.target.kind) {
            (Action::Patch(patch) | Action::PatchStatus(patch), Kind::ClusterTopology) => {
                let mut object = json!(self.topology);
                assert_eq!(
                    patch["metadata"]["resourceVersion"], object["metadata"]["resourceVersion"],
                    "a stale patch"
                );
                assert_eq!(patch["metadata"]["uid"], "u1");
                merge(&mut object, patch);
                object["metadata"]["resourceVersion"] = json!(self.revision.to_string());
                let after: ClusterTopology = serde_json::from_value(object).expect("a topology");
                let free = after.metadata.finalizers.as_deref().unwrap_or_default().is_empty();
                let is_gone = after.metadata.deletion_timestamp.is_some() && free;
                self.topology = Some(after).filter(|_| !is_gone);
            }
            (Action::Create(object), Kind::KaiTopology) => {
                let mut object = object.clone();
                assert_eq!(object["metadata"]["ownerReferences"][0]["uid"], "u1", "{object}");
                merge(
                    &mut object,
                    &json!({"metadata": {"uid": "k2", "resourceVersion": self.revision.to_string(), "generation": 1}}),
                );
                self.kai.get_or_insert(serde_json::from_value(object).expect("a Topology of KAI"));
            }
            (Action::Delete { uid, version }, Kind::KaiTopology) => {
                let live = self.kai.take().expect("a Topology to delete");
                assert_eq!((live.metadata.uid.as_ref(), &live.metadata.resource_version), (Some(uid), version));
            }
            other => panic!("{other:?}"),
        }
    }
}

/// A plan in short words, in order: writes, what is confirmed, conditions, what people are told.
fn shown(plan: &Plan) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut lines: Vec<String> = plan
        .writes
        .iter()
        .map(|write| match &write.action {
            Action::Patch(patch) => {
                assert_eq!(write.site, site::TOPOLOGY_FINALIZER);
                let finalizers = patch["metadata"]["finalizers"].as_array().expect("finalizers");
                format!("finalizers [{}]", finalizers.iter().map(text).collect::<Vec<_>>().join(" "))
            }
            Action::Create(object) => {
                assert_eq!(write.site, site::BACKEND_TOPOLOGY);
                let levels = object["spec"]["levels"].as_array().expect("levels").iter();
                format!("create {}", levels.map(|level| text(&level["nodeLabel"])).collect::<Vec<_>>().join(" "))
            }
            Action::Delete { uid, version } => {
                format!("delete {uid} at {}", version.as_deref().unwrap_or("any version"))
            }
            other => panic!("{other:?}"),
        })
        .collect();
    lines.extend(plan.confirm.iter().map(|confirm| match confirm {
        crate::Confirm::Version(target, version) => format!("confirm {} at {version}", target.name),
        other => panic!("{other:?}"),
    }));
    for write in &plan.statuses {
        let Action::PatchStatus(patch) = &write.action else { panic!("{write:?}") };
        assert_eq!(write.site, site::TOPOLOGY_STATUS);
        for condition in patch["status"]["conditions"].as_array().into_iter().flatten() {
            assert_eq!(condition["observedGeneration"], 3, "{condition}");
            assert!(!text(&condition["message"]).is_empty(), "{condition}");
            let [type_, status, reason] = ["type", "status", "reason"].map(|field| text(&condition[field]));
            lines.push(format!("{type_}={status} {reason}"));
        }
    }
    lines.extend(
        plan.status_notes.iter().map(|note| format!("{} {}", if note.warning { "warn" } else { "tell" }, note.reason)),
    );
    lines
}

/// Decides once and compares; then carries out and decides on until all is quiet, and compares what is left of the two objects:
/// finalizers of the topology, levels of KAI's.
#[track_caller]
fn check(what: &str, case: &Case, first: &[&str], end: &str) {
    check_world(what, World::of(case), first, end);
}

#[track_caller]
fn check_world(what: &str, mut world: World, first: &[&str], end: &str) {
    assert_eq!(shown(&world.decide(at(0))), first, "{what}");
    let mut passes = 0;
    loop {
        let plan = world.decide(at(passes));
        assert_eq!(plan.wake_at, None, "{what}");
        if plan.writes.is_empty() {
            plan.statuses.iter().for_each(|write| world.write(write));
            break;
        }
        plan.writes.iter().for_each(|write| world.write(write));
        passes += 1;
        assert!(passes < 5, "{what}: still writing {plan:?}");
    }
    assert_eq!(world.decide(at(100)), Plan::default(), "{what}: something is left to do");
    let topology = world.topology.as_ref().map_or("gone".to_owned(), |topology| {
        format!("[{}]", topology.metadata.finalizers.clone().unwrap_or_default().join(" "))
    });
    let kai = world.kai.as_ref().map_or("none".to_owned(), |kai| {
        kai.spec.levels.iter().map(|level| level.node_label.as_str()).collect::<Vec<_>>().join(" ")
    });
    assert_eq!(format!("{topology} / {kai}"), end, "{what}");
}

const LABELLED: &str = "NodesLabelled=True NodesLabelled";
const NOTHING: &str = "SchedulerTopologyInSync=True NothingToSync";

#[test]
fn a_topology_is_held_by_a_finalizer_while_it_lives() {
    let quiet = [LABELLED, NOTHING];
    let add = |list: &str| ["finalizers [", list, "]"].concat();
    let (alone, beside) = (add(OURS), add(&["example.com/other ", OURS].concat()));
    let case = |finalizers| Case { finalizers, ..Case::default() };
    let held = "[grove.io/clustertopology] / none";
    check("none yet", &case(vec![]), &[&alone, LABELLED, NOTHING], held);
    check("there", &case(vec![OURS]), &quiet, held);
    let both = "[example.com/other grove.io/clustertopology] / none";
    check("others'", &case(vec!["example.com/other"]), &[&beside, LABELLED, NOTHING], both);
    let used = Case { users: vec![("a", "b")], ..Case::default() };
    check("used and alive", &used, &quiet, held);
    let default = Case { name: DEFAULT_TOPOLOGY, finalizers: vec![], ..Case::default() };
    check("the default one", &default, &[&alone, LABELLED, NOTHING], held);
    let off = Case { settings: configured(false, &["trellis"]), ..default };
    check("the default one, off: its finalizer was just taken off", &off, &quiet, "[] / none");
    let off = Case { settings: configured(false, &["trellis"]), finalizers: vec![], ..Case::default() };
    check("another one, off", &off, &[&alone, LABELLED, NOTHING], held);
}

#[test]
fn a_deletion_waits_for_those_who_use_the_topology() {
    let going = || Case { deleting: true, ..Case::default() };
    let used = || Case { users: vec![("b", "y"), ("a", "x")], ..going() };
    let default = || Case { name: DEFAULT_TOPOLOGY, ..going() };
    let off = || configured(false, &["trellis"]);
    let referenced = [LABELLED, NOTHING, "DeletionBlocked=True Referenced", "warn DeletionBlocked"];
    let kept = [LABELLED, NOTHING, "DeletionBlocked=True TopologyAwareSchedulingEnabled", "warn DeletionBlocked"];
    let held = "[grove.io/clustertopology] / none";

    check("used by nobody", &going(), &["finalizers []"], "gone / none");
    let others = Case { finalizers: vec![OURS, "foregroundDeletion"], ..going() };
    check("others hold it too", &others, &["finalizers [foregroundDeletion]"], "[foregroundDeletion] / none");
    let theirs = Case { finalizers: vec!["foregroundDeletion"], ..used() };
    check("only others hold it", &theirs, &[], "[foregroundDeletion] / none");
    check("used", &used(), &referenced, held);
    check("used, off", &Case { settings: off(), ..used() }, &referenced, held);
    check("default", &default(), &kept, held);
    check("default, used", &Case { users: vec![("a", "x")], ..default() }, &referenced, held);
    check("default, off", &Case { settings: off(), ..default() }, &["finalizers []"], "gone / none");
    let off_and_used = Case { settings: off(), users: vec![("a", "x")], ..default() };
    check("default, off, used", &off_and_used, &["finalizers []"], "gone / none");
    let from_objects = Case { settings: Settings { profiles: vec![], ..Settings::default() }, ..default() };
    check("default that no configuration owns", &from_objects, &["finalizers []"], "gone / none");
}

#[test]
fn those_who_block_a_deletion_are_named_up_to_a_bound() {
    let message = |users: Vec<(String, String)>| {
        let mut world = World::of(&Case { deleting: true, ..Case::default() });
        world.users = users;
        let plan = world.decide(at(0));
        let Action::PatchStatus(patch) = &plan.statuses[0].action else { panic!("{plan:?}") };
        patch["status"]["conditions"][2]["message"].as_str().expect("a message").to_owned()
    };
    let set = |i: usize| ("team".to_owned(), format!("set-{i:02}"));
    assert_eq!(message(vec![set(2), set(1)]), "PodCliqueSets reference it: team/set-01, team/set-02");
    let many = message((0..500).rev().map(set).collect());
    assert!(many.starts_with("PodCliqueSets reference it: team/set-00, team/set-01, "), "{many}");
    assert!(many.ends_with("team/set-09 and 490 more"), "{many}");
}

const IN_SYNC: &str = "SchedulerTopologyInSync=True InSync";
const MISSING: &str = "SchedulerTopologyInSync=False TopologyNotFound";

fn with_kai(kai: Option<Kai>) -> Case {
    Case { kai, settings: configured(true, &["trellis", "kai-scheduler"]), ..Case::default() }
}

fn kai_of(owner: Option<(&'static str, &'static str)>, levels: &[&'static str]) -> Option<Kai> {
    Some(Kai { owner, levels: levels.to_vec(), deleting: false })
}

#[test]
fn the_backend_has_a_topology_of_its_own() {
    let all = [ZONE, RACK, HOST];
    let make = ["create ", &all.join(" ")].concat();
    let made = ["[grove.io/clustertopology] / ", &all.join(" ")].concat();
    let ours = Some(("gpu", "u1"));
    let drift = [
        "delete k1 at 7",
        "confirm gpu at 1",
        LABELLED,
        "SchedulerTopologyInSync=False Drift",
        "warn TopologyDriftDetected",
    ];
    check("absent", &with_kai(None), &[&make, LABELLED, MISSING], &made);
    check("equal", &with_kai(kai_of(ours, &all)), &[LABELLED, IN_SYNC, "tell TopologyInSync"], &made);
    check("other levels", &with_kai(kai_of(ours, &[ZONE, HOST])), &drift, &made);
    check("other order", &with_kai(kai_of(ours, &[RACK, ZONE, HOST])), &drift, &made);
    check("a former topology's, with its levels", &with_kai(kai_of(Some(("gpu", "u0")), &all)), &drift, &made);
    let foreign = [LABELLED, "SchedulerTopologyInSync=False NotOwned", "warn TopologyDriftDetected"];
    check("nobody's", &with_kai(kai_of(None, &all)), &foreign, &made);
    let theirs = ["[grove.io/clustertopology] / ", HOST].concat();
    check("another topology's", &with_kai(kai_of(Some(("cpu", "u9")), &[HOST])), &foreign, &theirs);
    let going = Some(Kai { owner: ours, levels: vec![HOST], deleting: true });
    check("on its way out", &with_kai(going), &[LABELLED, "SchedulerTopologyInSync=False Recreating"], &theirs);

    let both = Case { finalizers: vec![], ..with_kai(None) };
    check("new", &both, &["finalizers [grove.io/clustertopology]", &make, LABELLED, MISSING], &made);
    let off = Case { settings: configured(false, &["kai-scheduler"]), ..with_kai(None) };
    check("topology off, another one", &off, &[&make, LABELLED, MISSING], &made);
    let off = Case { name: DEFAULT_TOPOLOGY, finalizers: vec![], ..off };
    check("topology off, default one", &off, &[LABELLED, NOTHING], "[] / none");
    let mut settings = configured(true, &["kai-scheduler"]);
    settings.create_kai_topologies = false;
    let switched_off = Case { settings, ..with_kai(kai_of(None, &[HOST])) };
    check("switched off", &switched_off, &[LABELLED, NOTHING], &theirs);
}

#[test]
fn the_backends_topology_is_left_alone_by_one_that_is_being_deleted() {
    let blocked = |second| [LABELLED, second, "DeletionBlocked=True Referenced"];
    let going = |kai| Case { deleting: true, users: vec![("a", "x")], ..with_kai(kai) };
    let held = |kai: &str| ["[grove.io/clustertopology] / ", kai].concat();
    let [a, b, c] = blocked(MISSING);
    check("absent", &going(None), &[a, b, c, "warn DeletionBlocked"], &held("none"));
    let [a, b, c] = blocked("SchedulerTopologyInSync=False Drift");
    let differs = kai_of(Some(("gpu", "u1")), &[HOST]);
    check("differs", &going(differs), &[a, b, c, "warn TopologyDriftDetected", "warn DeletionBlocked"], &held(HOST));
    let unused = Case { users: vec![], ..going(kai_of(Some(("gpu", "u1")), &[HOST])) };
    check("goes", &unused, &["finalizers []"], &["gone / ", HOST].concat());
}

#[test]
fn a_backend_that_is_not_installed_is_said_and_not_written_to() {
    let mut world = World::of(&with_kai(None));
    world.kai_served = false;
    let first = [LABELLED, "SchedulerTopologyInSync=Unknown KindNotServed", "warn TopologyKindNotServed"];
    check_world("not served", world, &first, "[grove.io/clustertopology] / none");
}

#[test]
fn levels_that_the_backend_cannot_take_are_left_out_and_said() {
    let mut world = World::of(&Case { numa: true, ..with_kai(None) });
    let make = ["create ", &[ZONE, RACK, HOST].join(" ")].concat();
    let plan = world.decide(at(0));
    assert_eq!(shown(&plan), [&make, LABELLED, MISSING]);
    plan.writes.iter().for_each(|write| world.write(write));
    let plan = world.decide(at(1));
    assert_eq!(shown(&plan), [LABELLED, IN_SYNC, "tell TopologyInSync", "warn LevelsLeftOut"]);
    assert_eq!(plan.status_notes[1].message, "KAI takes no level below kubernetes.io/hostname; left out: numa");
    let Action::PatchStatus(patch) = &plan.statuses[0].action else { panic!("{plan:?}") };
    let expected = json!([{
        "schedulerName": "kai-scheduler", "topologyReference": "gpu", "inSync": true,
        "schedulerBackendTopologyObservedGeneration": 1,
        "message": "KAI takes no level below kubernetes.io/hostname; left out: numa",
    }]);
    assert_eq!(patch["status"]["schedulerTopologyStatuses"], expected);
}

#[test]
fn conditions_move_only_with_their_status() {
    let mut world = World::of(&Case::default());
    let conditions = |world: &mut World, second| -> Vec<(String, String, i64)> {
        let plan = world.decide(at(second));
        plan.statuses.iter().for_each(|write| world.write(write));
        let status = world.topology.as_ref().and_then(|topology| topology.status.clone()).expect("a status");
        let since = |condition: &Condition| condition.last_transition_time.0.as_second() - at(0).as_second();
        status.conditions.iter().map(|c| (c.type_.clone(), c.reason.clone(), since(c))).collect()
    };
    let row = |type_: &str, reason: &str, since: i64| (type_.to_owned(), reason.to_owned(), since);
    let sync = |since| row("SchedulerTopologyInSync", "NothingToSync", since);
    assert_eq!(conditions(&mut world, 1), [row("NodesLabelled", "NodesLabelled", 1), sync(1)]);
    let whole = world.nodes.clone();
    world.nodes[0].labels = Arc::new(BTreeMap::from([(RACK.to_owned(), "r1".to_owned())]));
    assert_eq!(conditions(&mut world, 2), [row("NodesLabelled", "SomeNodesLabelled", 1), sync(1)], "still true");
    world.nodes.clear();
    assert_eq!(conditions(&mut world, 3), [row("NodesLabelled", "NoNodesLabelled", 3), sync(1)]);
    world.nodes = whole;
    assert_eq!(conditions(&mut world, 4), [row("NodesLabelled", "NodesLabelled", 4), sync(1)]);

    let topology = world.topology.as_mut().expect("a topology");
    let mut theirs = topology.status.as_ref().expect("a status").conditions[0].clone();
    theirs.type_ = "Audited".to_owned();
    topology.status.as_mut().expect("a status").conditions.insert(0, theirs);
    topology.metadata.generation = Some(4);
    let after = conditions(&mut world, 5);
    assert_eq!(after.len(), 3, "others' conditions stay: {after:?}");
    assert_eq!(world.decide(at(6)), Plan::default(), "and nobody fights over their order");
}

fn check_labels(nodes: &[&[(&str, &str)]], expected: (usize, usize), partial: &[&str], broken: &[&str], reason: &str) {
    let nodes: Vec<NodeLabels> = nodes
        .iter()
        .enumerate()
        .map(|(i, labels)| NodeLabels {
            name: format!("n{i}"),
            labels: Arc::new(labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()),
        })
        .collect();
    let spec: ClusterTopologySpec = serde_json::from_value(json!({"levels": levels(true)})).expect("levels");
    let check = LabelCheck::of(&spec, &nodes);
    assert_eq!((check.labelled, check.partial), expected, "{nodes:?}");
    let lacking = check.first_partial.iter().map(|node| format!("{}: {}", node.name, node.missing.join(" ")));
    assert_eq!(lacking.collect::<Vec<_>>(), partial, "{nodes:?}");
    let nesting = check.first_broken.iter().map(|it| format!("{}={}: {}", it.key, it.value, it.under.join(" ")));
    assert_eq!(nesting.collect::<Vec<_>>(), broken, "{nodes:?}");
    assert_eq!(check.finding().reason, reason, "{nodes:?}");
}

#[test]
fn labels_of_nodes_are_held_against_the_levels() {
    let whole: [&[(&str, &str)]; 2] =
        [&[(ZONE, "z1"), (RACK, "r1"), (HOST, "a")], &[(ZONE, "z1"), (RACK, "r1"), (HOST, "b")]];
    check_labels(&[], (0, 0), &[], &[], "NoNodesLabelled");
    check_labels(&[&[("other", "x")]], (0, 0), &[], &[], "NoNodesLabelled");
    check_labels(&whole, (2, 0), &[], &[], "NodesLabelled");
    check_labels(
        &[&[(HOST, "a")], whole[1]],
        (1, 1),
        &["n0: example.com/zone example.com/rack"],
        &[],
        "SomeNodesLabelled",
    );
    check_labels(&[&[(RACK, "r1"), (HOST, "a")]], (0, 1), &["n0: example.com/zone"], &[], "NoNodesLabelled");
    let elsewhere: &[(&str, &str)] = &[(ZONE, "z2"), (RACK, "r1"), (HOST, "c")];
    let broken = ["example.com/rack=r1: z1 z2"];
    check_labels(&[whole[0], whole[1], elsewhere], (3, 0), &[], &broken, "NestingBroken");
    let same_host: &[(&str, &str)] = &[(ZONE, "z1"), (RACK, "r2"), (HOST, "a")];
    let broken = ["kubernetes.io/hostname=a: r1 r2"];
    check_labels(&[whole[0], same_host], (2, 0), &[], &broken, "NestingBroken");
    // An empty value is a value; a level between two that is not labelled says nothing.
    check_labels(&[&[(ZONE, ""), (RACK, ""), (HOST, "")]], (1, 0), &[], &[], "NodesLabelled");
    let gaps: [&[(&str, &str)]; 2] = [&[(ZONE, "z1"), (HOST, "a")], &[(ZONE, "z2"), (HOST, "a")]];
    check_labels(&gaps, (0, 2), &["n0: example.com/rack", "n1: example.com/rack"], &[], "NoNodesLabelled");
}

/// The same, level by level and node by node.
fn naive(keys: &[&str], nodes: &[NodeLabels]) -> LabelCheck {
    let lacks = |node: &NodeLabels| -> Vec<String> {
        keys.iter().filter(|key| !node.labels.contains_key(**key)).map(|&key| key.to_owned()).collect()
    };
    let labelled = nodes.iter().filter(|node| lacks(node).is_empty()).count();
    let is_partial = |node: &&NodeLabels| !lacks(node).is_empty() && lacks(node).len() < keys.len();
    let mut partial: Vec<_> = nodes.iter().filter(is_partial).collect();
    partial.sort_by(|a, b| a.name.cmp(&b.name));
    let mut broken = Vec::new();
    for pair in keys.windows(2) {
        let values: BTreeSet<&String> = nodes.iter().filter_map(|node| node.labels.get(pair[1])).collect();
        for value in values {
            let inside = nodes.iter().filter(|node| node.labels.get(pair[1]) == Some(value));
            let under: BTreeSet<&String> = inside.filter_map(|node| node.labels.get(pair[0])).collect();
            if under.len() > 1 {
                let under = under.into_iter().take(10).cloned().collect();
                broken.push(BrokenNesting { key: pair[1].to_owned(), value: value.clone(), under });
            }
        }
    }
    let listed = |node: &&NodeLabels| PartiallyLabelledNode { name: node.name.clone(), missing: lacks(node) };
    LabelCheck {
        labelled,
        partial: partial.len(),
        first_partial: partial.iter().take(10).map(listed).collect(),
        broken: broken.len(),
        first_broken: broken.into_iter().take(10).collect(),
    }
}

#[test]
fn the_label_check_agrees_with_the_naive_one() {
    let spec: ClusterTopologySpec = serde_json::from_value(json!({"levels": levels(false)})).expect("levels");
    let keys = [ZONE, RACK, HOST];
    let (mut broken, mut partial) = (0, 0);
    for seed in 0..400 {
        let mut dice = Dice::new(seed);
        let (count, spread, gaps) = (dice.below(60), 1 + dice.below(40), 1 + dice.below(20));
        let nodes: Vec<NodeLabels> = (0..count)
            .map(|_| {
                let place = dice.below(1000);
                // Mostly nested: a value follows from the wider one, unless the dice say otherwise.
                let mut labels = BTreeMap::new();
                for (i, key) in keys.iter().enumerate() {
                    let value =
                        if dice.below(30) == 0 { dice.below(spread) } else { place % (spread * (i + 1)) / (3 - i) };
                    if dice.below(gaps + 1) > 0 {
                        labels.insert((*key).to_owned(), format!("v{value}"));
                    }
                }
                NodeLabels { name: format!("node-{}", dice.below(1_000_000)), labels: Arc::new(labels) }
            })
            .collect();
        let found = LabelCheck::of(&spec, &nodes);
        assert_eq!(found, naive(&keys, &nodes), "seed {seed}");
        broken += usize::from(found.broken > 10);
        partial += usize::from(found.partial > 10);
    }
    assert!(broken > 20 && partial > 20, "lists that have to be cut came up {broken} and {partial} times");
}
