//! The rules, each on a handful of objects: a story is told change by change, and the rules that it breaks are expected in order.

use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};
use trellis_cluster::store::{Change, Index, Key, Object, Shelf};

use super::{Checker, Rule};

/// What happens in a story.
enum Step {
    /// An object is as it is now.
    Is(&'static str, &'static str, Value),
    /// An object is gone.
    Gone(&'static str, &'static str),
    /// The scheduler deletes a pod.
    Deletes(&'static str),
    /// All has come to rest.
    Rest,
}
use Step::{Deletes, Gone, Is, Rest};

const BEGIN: i64 = 1_767_225_600;

fn check(what: &str, steps: Vec<Step>, expected: &[Rule]) {
    let mut checker = Checker::default();
    let mut revision = 0;
    let stage = stage();
    for step in stage.into_iter().chain(steps) {
        let (shelf, name, object) = match step {
            Is(shelf, name, object) => (shelf, name, Some(object)),
            Gone(shelf, name) => (shelf, name, None),
            Deletes(pod) => {
                checker.check_deletion("default", pod, None);
                continue;
            }
            Rest => {
                checker.at_rest();
                continue;
            }
        };
        revision += 1;
        let deleted = object.is_none();
        let text = Bytes::from(object.unwrap_or_default().to_string());
        let namespace = if matches!(shelf, "pods" | "podgroups.scheduling.run.ai") { "default" } else { "" };
        let change = Change {
            revision,
            key: Key { namespace: namespace.to_owned(), name: name.to_owned() },
            before: None,
            after: Arc::new(Object { text, revision, index: Index::default() }),
            deleted,
        };
        let now = Timestamp::from_second(BEGIN + 1_000 + i64::try_from(revision).expect("small")).expect("a time");
        checker.see(&Shelf::from(shelf), &change, now);
    }
    let found: Vec<Rule> = checker.violations().iter().map(|violation| violation.rule).collect();
    assert_eq!(found, expected, "{what}: {:#?}", checker.violations());
}

/// Four nodes in two racks, and what else is always there.
fn stage() -> Vec<Step> {
    let levels = json!([{ "domain": "rack", "key": "rack" }, { "domain": "host", "key": "kubernetes.io/hostname" }]);
    let mut steps = vec![
        Is("clustertopologies.grove.io", "grove-topology", json!({ "spec": { "levels": levels } })),
        Is("priorityclasses.scheduling.k8s.io", "high", json!({ "value": 100 })),
    ];
    for (node, rack) in [("a0", "a"), ("a1", "a"), ("b0", "b"), ("b1", "b")] {
        steps.push(Is("nodes", node, self::node(node, rack)));
    }
    steps
}

fn node(name: &str, rack: &str) -> Value {
    json!({
        "metadata": { "name": name, "labels": { "kubernetes.io/hostname": name, "rack": rack } },
        "status": {
            "allocatable": { "nvidia.com/gpu": "8", "pods": "10" },
            "conditions": [{ "type": "Ready", "status": "True" }],
        },
    })
}

/// A pod of a gang, or alone, that asks for so many GPUs; on a node, if one is named.
fn pod(name: &'static str, group: &str, gpus: u64, node: &str) -> Step {
    let requests = json!({ "nvidia.com/gpu": gpus.to_string() });
    let mut object = json!({
        "metadata": { "name": name, "uid": format!("{name}-uid-xxxxxx"), "annotations": {} },
        "spec": { "schedulerName": "trellis", "containers": [{ "resources": { "requests": requests } }] },
        "status": { "phase": if node.is_empty() { "Pending" } else { "Running" } },
    });
    if !group.is_empty() {
        object["metadata"]["annotations"]["pod-group-name"] = group.into();
    }
    if !node.is_empty() {
        object["spec"]["nodeName"] = node.into();
    }
    Is("pods", name, object)
}

/// A gang: its minimum, the level that it requires, and its record.
fn group(name: &'static str, min: u64, level: &str, record: &Value) -> Step {
    let mut object =
        json!({ "metadata": { "name": name, "uid": name, "annotations": {} }, "spec": { "minMember": min } });
    if !level.is_empty() {
        object["spec"]["topologyConstraint"] = json!({ "topology": "grove-topology", "requiredTopologyLevel": level });
    }
    if !record.is_null() {
        object["metadata"]["annotations"]["trellis.dev/placement"] = record.to_string().into();
    }
    Is("podgroups.scheduling.run.ai", name, object)
}

/// A record: for each pod its node.
fn record(pods: &[(&str, &str)]) -> Value {
    let mut nodes: serde_json::Map<String, Value> = serde_json::Map::new();
    for (pod, node) in pods {
        let uid: String = format!("{pod}-uid-xxxxxx").chars().take(8).collect();
        let known = nodes.get(*node).and_then(Value::as_str).map(|known| format!("{known} ")).unwrap_or_default();
        nodes.insert((*node).to_owned(), format!("{known}{pod}:{uid}").into());
    }
    let request = json!({ "nvidia.com/gpu": 4, "pods": 1 });
    json!({ "version": 1, "members": [{ "group": "default", "request": request, "nodes": nodes }] })
}

/// A record that holds four GPUs on a node until a time after the beginning.
fn held(node: &str, until: i64) -> Value {
    let until = Timestamp::from_second(BEGIN + until).expect("a time");
    let request = json!({ "nvidia.com/gpu": 4, "pods": 1 });
    json!({ "version": 1, "held": [{ "until": until, "group": "default", "request": request, "nodes": { node: "was:12345678" } }] })
}

#[test]
fn members_are_bound_as_the_record_says() {
    let two = || vec![pod("p", "g", 4, ""), pod("q", "g", 4, "")];
    let told = |steps: Vec<Step>, more: Vec<Step>| steps.into_iter().chain(more).collect::<Vec<_>>();
    let bound = || vec![pod("p", "g", 4, "a0"), pod("q", "g", 4, "a0")];
    let none = told(told(vec![group("g", 2, "", &Value::Null)], two()), vec![pod("p", "g", 4, "a0")]);
    check("no record", none, &[Rule::HalfGang]);
    let good = record(&[("p", "a0"), ("q", "a0")]);
    let whole = told(told(vec![group("g", 2, "", &good)], two()), told(bound(), vec![Rest]));
    check("as written", whole, &[]);
    let elsewhere = told(told(vec![group("g", 2, "", &good)], two()), vec![pod("p", "g", 4, "b0")]);
    check("elsewhere", elsewhere, &[Rule::HalfGang]);
    let half = told(told(vec![group("g", 2, "", &good)], two()), vec![pod("p", "g", 4, "a0"), Rest]);
    check("one is left", half, &[Rule::HalfGang, Rule::OrphanPlan, Rule::NotPlaced]);
}

#[test]
fn no_node_is_given_twice() {
    check("two fit", vec![pod("p", "", 4, "a0"), pod("q", "", 4, "a0")], &[]);
    check(
        "three do not",
        vec![pod("p", "", 4, "a0"), pod("q", "", 4, "a0"), pod("r", "", 1, "a0")],
        &[Rule::DoubleBooking],
    );
    let left = vec![pod("p", "", 8, "a0"), Gone("pods", "p"), pod("q", "", 8, "a0")];
    check("one has gone", left, &[]);
}

#[test]
fn levels_are_kept() {
    let story = |level, second| {
        let pods = [("p", "a0"), ("q", second)];
        vec![
            pod("p", "g", 4, ""),
            pod("q", "g", 4, ""),
            group("g", 2, level, &record(&pods)),
            pod("p", "g", 4, "a0"),
            pod("q", "g", 4, second),
        ]
    };
    check("one rack", story("rack", "a1"), &[]);
    check("two racks", story("rack", "b1"), &[Rule::WrongRack]);
    check("nothing is required", story("", "b1"), &[]);
    check("one host", story("kubernetes.io/hostname", "a1"), &[Rule::WrongRack]);
    let mut changed = story("rack", "b1");
    changed.insert(3, Is("nodes", "b1", node("b1", "c")));
    check("labels have just changed", changed, &[]);
}

#[test]
fn held_room_is_left_alone() {
    let story = |until, gpus| vec![group("g", 1, "", &held("a0", until)), pod("p", "", gpus, "a0")];
    check("there is room beside it", story(9_000, 4), &[]);
    check("there is not", story(9_000, 5), &[Rule::LostHold]);
    check("its time is up", story(10, 5), &[]);
    let mut higher = story(9_000, 5);
    if let Some(Is(_, _, object)) = higher.last_mut() {
        object["spec"]["priority"] = 100.into();
    }
    check("for one of higher priority", higher, &[]);
}

#[test]
fn deletions_are_announced() {
    let story =
        |record: Value| vec![pod("p", "g", 4, ""), group("g", 1, "", &record), pod("p", "g", 4, "a0"), Deletes("p")];
    let mut marked = record(&[("p", "a0")]);
    check("not marked", story(marked.clone()), &[Rule::UnmarkedDeletion]);
    marked["preemptedBy"] = "default/h".into();
    check("marked", story(marked), &[]);
    let mut undone = record(&[("p", "a0")]);
    undone["undone"] = true.into();
    check("undone, and nobody makes it anew", story(undone), &[Rule::UnmarkedDeletion]);
}

#[test]
fn who_waits_has_nowhere_to_go() {
    let none = Value::Null;
    let full = || ["a0", "a1", "b0", "b1"].into_iter().zip(["w", "x", "y", "z"]);
    let taken = |gpus: u64| full().map(|(node, name)| pod(name, "", gpus, node)).collect::<Vec<_>>();
    let waits = |level, count: usize, gpus| {
        let pods = ["p", "q", "r"].into_iter().take(count).map(|name| pod(name, "g", gpus, ""));
        let min = u64::try_from(count).expect("small");
        std::iter::once(group("g", min, level, &none)).chain(pods).chain([Rest]).collect::<Vec<_>>()
    };
    let both = |one: Vec<Step>, two: Vec<Step>| one.into_iter().chain(two).collect::<Vec<_>>();
    check("an empty cluster", waits("rack", 3, 4), &[Rule::NotPlaced]);
    check("a rack has too little", both(taken(4), waits("rack", 3, 4)), &[]);
    check("two racks have enough", both(taken(4), waits("", 3, 4)), &[Rule::NotPlaced]);
    check("a host has enough for two", both(taken(4), waits("kubernetes.io/hostname", 2, 2)), &[Rule::NotPlaced]);
    check("and for no third", both(taken(4), waits("kubernetes.io/hostname", 3, 2)), &[]);
    check("a pod alone", both(taken(4), vec![pod("p", "", 4, ""), Rest]), &[Rule::NotPlaced]);
    check("a pod alone that is too large", both(taken(4), vec![pod("p", "", 5, ""), Rest]), &[]);
}
