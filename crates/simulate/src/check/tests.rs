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
    /// The scheduler sends a write.
    Sends(&'static str, &'static str, Value),
    /// So many seconds go by.
    Later(i64),
    /// All has come to rest.
    Rest,
}
use Step::{Gone, Is, Later, Rest, Sends};

const BEGIN: i64 = 1_767_225_600;

fn check(what: &str, steps: Vec<Step>, expected: &[Rule]) {
    let mut checker = Checker::default();
    let mut revision = 0;
    let mut later = 0;
    let stage = stage();
    for step in stage.into_iter().chain(steps) {
        let (shelf, name, object) = match step {
            Is(shelf, name, object) => (shelf, name, Some(object)),
            Gone(shelf, name) => (shelf, name, None),
            Sends(method, path, body) => {
                checker.check_request(method, path, &body);
                continue;
            }
            Later(seconds) => {
                later += seconds;
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
        let is_namespaced = matches!(shelf, "pods" | "podgroups.scheduling.run.ai" | "podgangs.scheduler.grove.io");
        let namespace = if is_namespaced { "default" } else { "" };
        let change = Change {
            revision,
            key: Key { namespace: namespace.to_owned(), name: name.to_owned() },
            before: None,
            after: Arc::new(Object { text, revision, index: Index::default() }),
            deleted,
        };
        let second = BEGIN + 1_000 + later + i64::try_from(revision).expect("small");
        checker.see(&Shelf::from(shelf), &change, Timestamp::from_second(second).expect("a time"));
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
        "metadata": { "name": name, "uid": format!("{name}-uid-xxxxxx"), "resourceVersion": "7", "annotations": {} },
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

/// A PodGang with one leaf: the gang that it is scaled from, how many of its pods start together, and its record. It names three.
fn gang(name: &'static str, base: &str, min: u64, record: &Value) -> Step {
    let leaf = json!({ "name": "default", "minReplicas": min, "podReferences": [{}, {}, {}] });
    let mut object = json!({ "metadata": { "name": name, "uid": name, "annotations": {}, "labels": {} }, "spec": { "podgroups": [leaf] } });
    if !base.is_empty() {
        object["metadata"]["labels"]["grove.io/base-podgang"] = base.into();
    }
    if !record.is_null() {
        object["metadata"]["annotations"]["trellis.dev/placement"] = record.to_string().into();
    }
    Is("podgangs.scheduler.grove.io", name, object)
}

/// What a PodGang says: kind, status, and since which second.
fn says(step: Step, conditions: &[(&str, &str, i64)]) -> Step {
    let Is(shelf, name, mut object) = step else { return step };
    let condition = |(kind, status, since): &(&str, &str, i64)| {
        let since = Timestamp::from_second(BEGIN + since).expect("a time");
        json!({ "type": kind, "status": status, "reason": "GangRecreated", "lastTransitionTime": since })
    };
    object["status"]["conditions"] = conditions.iter().map(condition).collect();
    Is(shelf, name, object)
}

/// A pod of a PodGang.
fn member(name: &'static str, gang: &str, node: &str) -> Step {
    let Is(shelf, name, mut object) = pod(name, "", 4, node) else { unreachable!("a pod is an object") };
    object["metadata"]["labels"] = json!({ "grove.io/podgang": gang, "grove.io/podclique": "default" });
    Is(shelf, name, object)
}

/// The object of a step, otherwise in one place.
fn with(step: Step, change: impl FnOnce(&mut Value)) -> Step {
    let Is(shelf, name, mut object) = step else { return step };
    change(&mut object);
    Is(shelf, name, object)
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
fn closed_nodes_are_left_alone() {
    let closed = || {
        let mut node = node("a0", "a");
        node["spec"]["unschedulable"] = true.into();
        Is("nodes", "a0", node)
    };
    let bound = || vec![pod("p", "", 1, ""), pod("p", "", 1, "a0")];
    check("decided before", [vec![closed()], bound()].into_iter().flatten().collect(), &[]);
    check("long closed", [vec![closed(), Later(60)], bound()].into_iter().flatten().collect(), &[Rule::ClosedNode]);
    let opened = vec![closed(), Later(60), Is("nodes", "a0", node("a0", "a"))];
    check("open again", [opened, bound()].into_iter().flatten().collect(), &[]);
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
    let deletes = || {
        let body = json!({ "preconditions": { "uid": "p-uid-xxxxxx", "resourceVersion": "7" } });
        Sends("DELETE", "/api/v1/namespaces/default/pods/p", body)
    };
    let story =
        |record: Value| vec![pod("p", "g", 4, ""), group("g", 1, "", &record), pod("p", "g", 4, "a0"), deletes()];
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

#[test]
fn a_gang_is_begun_with_its_whole_minimum() {
    let some = |pods: &[(&str, &str)]| group("g", 2, "", &record(pods));
    let both = [("p", "a0"), ("q", "a0")];
    let two = || vec![pod("p", "g", 4, ""), pod("q", "g", 4, "")];
    let story = |more: Vec<Step>| two().into_iter().chain(more).collect::<Vec<_>>();
    check("half of it", story(vec![some(&both[..1]), pod("p", "g", 4, "a0")]), &[Rule::HalfGang]);
    check("all of it", story(vec![some(&both), pod("p", "g", 4, "a0")]), &[]);
    check("nothing is bound yet", story(vec![some(&both[..1]), some(&both), pod("p", "g", 4, "a0")]), &[]);
    let done = || with(pod("q", "g", 4, "a0"), |pod| pod["status"]["phase"] = "Succeeded".into());
    check("one has succeeded", story(vec![done(), some(&both[..1]), pod("p", "g", 4, "a0")]), &[]);
    // One vanishes before the other is bound: what was begun is finished.
    let gone = vec![some(&both), Gone("pods", "q"), some(&both[..1]), pod("p", "g", 4, "a0")];
    check("one has gone meanwhile", story(gone), &[]);
    let grows = vec![some(&both), pod("p", "g", 4, "a0"), pod("q", "g", 4, "a0"), pod("r", "g", 4, "")];
    let more = record(&[("p", "a0"), ("q", "a0"), ("r", "a1")]);
    check("it stands, and grows", story(grows.into_iter().chain([group("g", 2, "", &more)]).collect()), &[]);
}

#[test]
fn a_base_goes_before_what_is_scaled_from_it() {
    let begins = |pod: &'static str, name: &'static str, base: &str, node: &str| {
        vec![member(pod, name, ""), gang(name, base, 1, &record(&[(pod, node)])), member(pod, name, node)]
    };
    let all = |steps: Vec<Vec<Step>>| steps.into_iter().flatten().collect::<Vec<_>>();
    let base = || begins("p", "g", "", "a0");
    let scaled = || begins("q", "h", "g", "b0");
    check("base first", all(vec![base(), scaled()]), &[]);
    let waiting = || vec![member("p", "g", ""), gang("g", "", 1, &Value::Null)];
    check("base later", all(vec![waiting(), scaled()]), &[Rule::ScaledFirst]);
    check("the base has just gone", all(vec![base(), vec![Gone("pods", "p")], scaled()]), &[]);
    let gone = all(vec![base(), vec![Gone("pods", "p"), Later(100)], scaled()]);
    check("the base went long ago", gone, &[Rule::ScaledFirst]);
    let begun = vec![gang("h", "g", 1, &record(&[("q", "b0")])), Gone("pods", "p"), Later(100), member("q", "h", "b0")];
    check("it was begun before that", all(vec![base(), vec![member("q", "h", "")], begun]), &[]);
}

#[test]
fn places_of_vanished_members_are_held() {
    let both = record(&[("p", "a0"), ("q", "a0")]);
    let left = record(&[("q", "a0")]);
    let kept = |node: &str| {
        let mut kept = left.clone();
        kept["held"] = held(node, 9_000)["held"].clone();
        kept
    };
    let story = |named: usize, more: Vec<Step>| {
        let begun = vec![member("p", "g", ""), member("q", "g", ""), gang("g", "", 1, &both)];
        let bound = vec![member("p", "g", "a0"), member("q", "g", "a0")];
        let steps = begun.into_iter().chain(bound).chain(more);
        let names =
            |object: &mut Value| object["spec"]["podgroups"][0]["podReferences"] = vec![json!({}); named].into();
        let named =
            |step: Step| if matches!(step, Is("podgangs.scheduler.grove.io", ..)) { with(step, names) } else { step };
        steps.map(named).collect::<Vec<_>>()
    };
    let gone = || Gone("pods", "p");
    let writes = |record: &Value| gang("g", "", 1, record);
    check("nothing is held", story(2, vec![gone(), writes(&left)]), &[Rule::LostHold]);
    check("it is held", story(2, vec![gone(), writes(&kept("a0"))]), &[]);
    check("nothing is written yet", story(2, vec![gone()]), &[]);
    check("nobody is to come back", story(1, vec![gone(), writes(&left)]), &[]);
    let ends = |phase: &'static str| with(member("p", "g", "a0"), |pod| pod["status"]["phase"] = phase.into());
    check("it has failed", story(2, vec![ends("Failed"), writes(&left)]), &[Rule::LostHold]);
    check("it has succeeded", story(2, vec![ends("Succeeded"), writes(&left)]), &[]);
    let other = record(&[("q", "a0"), ("r", "b0")]);
    check("another has the place", story(3, vec![gone(), member("r", "g", ""), writes(&other)]), &[]);
    let recreated = |record: &Value| says(writes(record), &[("DisruptionTarget", "False", 1_000)]);
    check("all of it was made anew", story(2, vec![recreated(&both), gone(), recreated(&left)]), &[]);
    let leaves = |record: &Value| says(writes(record), &[("DisruptionTarget", "True", 1_000)]);
    check("it has to leave", story(2, vec![leaves(&both), gone(), leaves(&left)]), &[]);
}

#[test]
fn room_that_is_being_made_is_left_alone() {
    let nominated = |until: i64| {
        let until = Timestamp::from_second(BEGIN + until).expect("a time");
        let request = json!({ "nvidia.com/gpu": 4, "pods": 1 });
        let places = json!([{ "group": "default", "request": request, "nodes": { "a0": 1 } }]);
        json!({ "version": 1, "nominated": { "until": until, "places": places, "victims": ["Pod/default/v:v-uid-xx"] } })
    };
    let story = |until: i64, more: Vec<Step>| {
        let before = vec![pod("v", "", 8, "a0"), group("g", 1, "", &nominated(until))];
        before.into_iter().chain(more).collect::<Vec<_>>()
    };
    let gone = || Gone("pods", "v");
    check("there is room beside it", story(9_000, vec![gone(), pod("p", "", 4, "a0")]), &[]);
    check("there is not", story(9_000, vec![gone(), pod("p", "", 5, "a0")]), &[Rule::LostHold]);
    check("the victim returns", story(9_000, vec![gone(), pod("v", "", 8, "a0")]), &[Rule::LostHold]);
    check("its time is up", story(10, vec![gone(), pod("p", "", 5, "a0")]), &[]);
    let high = with(pod("p", "", 5, "a0"), |pod| pod["spec"]["priority"] = 100.into());
    check("for one of higher priority", story(9_000, vec![gone(), high]), &[]);
    check("it was given up", story(9_000, vec![gone(), group("g", 1, "", &Value::Null), pod("p", "", 5, "a0")]), &[]);
}

#[test]
fn conditions_say_what_was_so() {
    let (none, one) = (Value::Null, record(&[("p", "a0")]));
    let scheduled = |status, since| says(gang("g", "", 1, &one), &[("Scheduled", status, since)]);
    let story = |more: Vec<Step>| {
        let begun = vec![gang("g", "", 1, &none), member("p", "g", ""), gang("g", "", 1, &one)];
        begun.into_iter().chain(more).collect::<Vec<_>>()
    };
    let bound = || member("p", "g", "a0");
    check("it has no node yet", story(vec![scheduled("True", 1)]), &[Rule::FalseStatus]);
    check("it says so itself", story(vec![scheduled("False", 1), bound()]), &[]);
    check("it has its node", story(vec![bound(), scheduled("True", 1)]), &[]);
    check("it had one", story(vec![bound(), Gone("pods", "p"), scheduled("True", 1)]), &[]);
    let twice = |seconds, status, since| {
        story(vec![
            bound(),
            scheduled("True", 1),
            Later(seconds),
            says(scheduled("", 0), &[("Scheduled", status, since)]),
        ])
    };
    check("the same again", twice(100, "True", 1), &[]);
    check("the time moves alone", twice(100, "True", 2), &[Rule::FalseStatus]);
    check("it moves with the status", twice(100, "False", 2), &[]);
    check("somebody had not seen it yet", twice(10, "True", 2), &[]);
}

#[test]
fn writes_name_what_they_are_good_for() {
    let named = |uid: &str, version: &str| json!({ "metadata": { "uid": uid, "resourceVersion": version } });
    let bind = |body| vec![Sends("POST", "/api/v1/namespaces/default/pods/p/binding", body)];
    check("a bind", bind(named("p", "7")), &[]);
    check("a bind of any version", bind(named("p", "")), &[Rule::BlindWrite]);
    check("a bind of any pod", bind(json!({ "metadata": { "resourceVersion": "7" } })), &[Rule::BlindWrite]);
    let delete = |body| vec![Sends("DELETE", "/api/v1/namespaces/default/pods/p", body)];
    check("a deletion", delete(json!({ "preconditions": { "uid": "p", "resourceVersion": "7" } })), &[]);
    check("a deletion of any version", delete(json!({ "preconditions": { "uid": "p" } })), &[Rule::BlindWrite]);
    check("a deletion of any pod", delete(json!({})), &[Rule::BlindWrite]);
    let writes = |version: &str| {
        let annotations = json!({ "trellis.dev/placement": null });
        let body = json!({ "metadata": { "resourceVersion": version, "annotations": annotations } });
        vec![Sends("PATCH", "/apis/scheduling.run.ai/v2alpha2/namespaces/default/podgroups/g", body)]
    };
    check("a record", writes("7"), &[]);
    check("a record on any version", writes(""), &[Rule::BlindWrite]);
}
