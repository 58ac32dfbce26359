//! Affinity between pods and ports of hosts: where they let pods go, what a host has once, and what is refused.

use crate::gangs::{cluster_topology, gang, group, merge, node, pod};
use crate::support::{anywhere, posed};
use serde_json::{Value, json};
use trellis_engine::{Gang, Members, Unready};
use trellis_lower::problem::{Problem, tokens};

const HOST: &str = "kubernetes.io/hostname";

/// Two zones of two nodes, and a node without labels.
fn nodes() -> Vec<Value> {
    let labelled = |name: &str, zone: &str| node(name, &json!({ "x/zone": zone, "x/rack": zone, HOST: name }));
    vec![
        labelled("a0", "a"),
        labelled("a1", "a"),
        labelled("b0", "b"),
        labelled("b1", "b"),
        node("bare", &json!({})),
        cluster_topology(),
    ]
}

/// What a waiting pod may do: the nodes that are open to it, and what it takes of its host.
fn line(problem: &Problem, gang: &Gang, pod: &trellis_engine::Pod) -> String {
    let allowed = &problem.cluster.eligibility[pod.eligibility].allowed;
    let open: Vec<&str> = allowed.ones().map(|i| problem.cluster.nodes[i].name.as_str()).collect();
    let named = problem.cluster.resources.iter().zip(pod.request.iter());
    let taken: Vec<String> = named
        .filter(|(name, amount)| tokens::is_token(name) && **amount > 0)
        .map(|(name, _)| format!(" [{name}]"))
        .collect();
    let level = gang.ancestry(pod.group).find_map(|group| {
        let constraint = gang.groups[group].constraint?;
        Some(format!(" in one {}", problem.cluster.topologies[constraint.topology].levels[constraint.required?].name))
    });
    format!("{}: {}{}{}", pod.name, open.join(" "), taken.concat(), level.unwrap_or_default())
}

fn told(problem: &Problem) -> String {
    let mut lines = Vec::new();
    for gang in &problem.gangs {
        if let Some(Unready::Unsupported { text } | Unready::Missing { text }) = &gang.unready {
            lines.push(format!("{} waits: {text}", gang.id.name));
            continue;
        }
        assert!(gang.groups.iter().any(|group| matches!(group.members, Members::Pods { .. })));
        lines.extend(gang.pods.iter().filter(|pod| pod.bound.is_none()).map(|pod| line(problem, gang, pod)));
    }
    lines.join("\n")
}

#[track_caller]
fn check(objects: &[Value], expected: &str) -> Problem {
    let values = [nodes(), objects.to_vec()].concat();
    let problem = posed(&values);
    assert_eq!(told(&problem), expected.trim());
    let mut reversed = values;
    reversed.reverse();
    assert_eq!(anywhere(posed(&reversed)), anywhere(problem.clone()), "the order of objects decides nothing");
    problem
}

/// A pod of ours with labels and terms: `apart` or `near`, selector, key.
fn speaker(name: &str, app: &str, terms: &[(&str, Value)]) -> Value {
    let mut affinity = json!({});
    for (which, term) in terms {
        let which = if *which == "apart" { "podAntiAffinity" } else { "podAffinity" };
        let list = &mut affinity[which]["requiredDuringSchedulingIgnoredDuringExecution"];
        if list.is_null() {
            *list = json!([]);
        }
        list.as_array_mut().expect("a list").push(term.clone());
    }
    let more = json!({ "metadata": { "labels": { "app": app } }, "spec": { "schedulerName": "trellis", "affinity": affinity } });
    pod(name, &more)
}

fn of(app: &str, key: &str) -> Value {
    json!({ "labelSelector": { "matchLabels": { "app": app } }, "topologyKey": key })
}

fn on(mut pod: Value, node: &str) -> Value {
    pod["spec"]["nodeName"] = node.into();
    pod["spec"]["schedulerName"] = "other".into();
    pod
}

fn with(mut value: Value, more: &Value) -> Value {
    merge(&mut value, more);
    value
}

#[test]
fn pods_keep_away_from_what_is_placed() {
    let there = on(speaker("db", "db", &[]), "a0");
    let apart = |key: &str| speaker("p", "web", &[("apart", of("db", key))]);
    check(&[there.clone(), apart(HOST)], "p: a1 b0 b1 bare");
    check(&[there.clone(), apart("x/zone")], "p: b0 b1 bare");
    check(&[there.clone(), apart("no/label")], "p: a0 a1 b0 b1 bare");
    check(&[there.clone(), speaker("p", "web", &[("apart", of("other", "x/zone"))])], "p: a0 a1 b0 b1 bare");
    // One that is on its way out is still there; one that is done is not.
    let metadata = json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } });
    check(&[with(there.clone(), &metadata), apart("x/zone")], "p: b0 b1 bare");
    check(
        &[with(there.clone(), &json!({ "status": { "phase": "Succeeded" } })), apart("x/zone")],
        "p: a0 a1 b0 b1 bare",
    );
    // Several terms add up.
    let cache = on(speaker("cache", "cache", &[]), "b1");
    let both = speaker("p", "web", &[("apart", of("db", "x/zone")), ("apart", of("cache", HOST))]);
    check(&[there, cache, both], "p: b0 bare");
}

#[test]
fn what_is_placed_keeps_others_away() {
    let there = on(speaker("db", "db", &[("apart", of("web", "x/zone"))]), "a0");
    check(&[there.clone(), speaker("p", "web", &[])], "p: b0 b1 bare");
    check(&[there.clone(), speaker("p", "batch", &[])], "p: a0 a1 b0 b1 bare");
    // Another namespace is not meant, unless it is named.
    let elsewhere = json!({ "metadata": { "namespace": "far" } });
    check(&[with(there.clone(), &elsewhere), speaker("p", "web", &[])], "p: a0 a1 b0 b1 bare");
    let named = |more: Value| {
        let term = with(of("web", "x/zone"), &more);
        with(on(speaker("db", "db", &[("apart", term)]), "a0"), &elsewhere)
    };
    check(&[named(json!({ "namespaces": ["team"] })), speaker("p", "web", &[])], "p: b0 b1 bare");
    check(&[named(json!({ "namespaceSelector": {} })), speaker("p", "web", &[])], "p: b0 b1 bare");
    let by_name =
        |name: &str| json!({ "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": name } } });
    check(&[named(by_name("team")), speaker("p", "web", &[])], "p: b0 b1 bare");
    check(&[named(by_name("x")), speaker("p", "web", &[])], "p: a0 a1 b0 b1 bare");
    // What cannot be told counts as meant.
    let blind = json!({ "namespaceSelector": { "matchLabels": { "team": "red" } } });
    check(&[named(blind), speaker("p", "web", &[])], "p: b0 b1 bare");
}

#[test]
fn selectors() {
    let there = on(speaker("db", "db", &[]), "a0");
    let check = |selector: Value, is_meant: bool| {
        let term = json!({ "labelSelector": selector, "topologyKey": HOST });
        let expected = if is_meant { "p: a1 b0 b1 bare" } else { "p: a0 a1 b0 b1 bare" };
        let problem = posed(&[nodes(), vec![there.clone(), speaker("p", "web", &[("apart", term)])]].concat());
        // Where the pod means itself too, it takes the right to be alone besides.
        assert_eq!(told(&problem).split(" [").next(), Some(expected));
    };
    let expression = |key: &str, operator: &str, values: &[&str]| json!({ "matchExpressions": [{ "key": key, "operator": operator, "values": values }] });
    check(expression("app", "In", &["db", "x"]), true);
    check(expression("app", "NotIn", &["db"]), false);
    check(expression("tier", "NotIn", &["db"]), true);
    check(expression("app", "Exists", &[]), true);
    check(expression("tier", "Exists", &[]), false);
    check(expression("tier", "DoesNotExist", &[]), true);
    check(json!({}), true);
    check(Value::Null, false);
    check(
        json!({ "matchLabels": { "app": "db" }, "matchExpressions": [{ "key": "app", "operator": "DoesNotExist" }] }),
        false,
    );
}

#[test]
fn keys_of_labels_stand_for_the_pods_own_values() {
    let version = |pod: Value, version: &str| with(pod, &json!({ "metadata": { "labels": { "v": version } } }));
    let there = version(on(speaker("db", "db", &[]), "a0"), "1");
    let term = |field: &str| with(of("db", HOST), &json!({ field: ["v", "w"] }));
    let pod = |field: &str, own: &str| version(speaker("p", "web", &[("apart", term(field))]), own);
    check(&[there.clone(), pod("matchLabelKeys", "1")], "p: a1 b0 b1 bare");
    check(&[there.clone(), pod("matchLabelKeys", "2")], "p: a0 a1 b0 b1 bare");
    check(&[there.clone(), pod("mismatchLabelKeys", "1")], "p: a0 a1 b0 b1 bare");
    check(&[there, pod("mismatchLabelKeys", "2")], "p: a1 b0 b1 bare");
}

#[test]
fn pods_go_near_what_is_placed() {
    let there = on(speaker("db", "db", &[]), "a0");
    let near = |key: &str| speaker("p", "web", &[("near", of("db", key))]);
    let at = "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]";
    check(&[there.clone(), near(HOST)], "p: a0");
    check(&[there.clone(), near("x/zone")], "p: a0 a1");
    let nobody = format!("p waits: pod p must be near pods with app=db in team ({at}), and none of them has a place");
    check(&[near("x/zone")], &nobody);
    check(&[there.clone(), near("no/label")], &nobody);
    // One that is on its way out is nobody to be near to.
    let metadata = json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } });
    check(&[with(there.clone(), &metadata), near("x/zone")], &nobody);
    // All terms have to mean the same pod.
    let cache = on(speaker("cache", "cache", &[]), "b1");
    let both = speaker("p", "web", &[("near", of("db", "x/zone")), ("near", of("cache", "x/zone"))]);
    check(&[there, cache, both], &nobody);
}

#[test]
fn the_first_of_its_like_may_go_anywhere_with_the_label() {
    let like = |name: &str| speaker(name, "web", &[("near", of("web", "x/zone"))]);
    check(&[like("p")], "p: a0 a1 b0 b1");
    check(&[on(like("q"), "b0"), like("p")], "p: b0 b1");
    // Two at once would not know of each other.
    let problem = check(&[like("p"), like("q")], "p: a0 a1 b0 b1\nq: a0 a1 b0 b1");
    assert_eq!(problem.ties.late(&[0, 1], |_| true).into_iter().collect::<Vec<_>>(), [1]);
    assert_eq!(problem.ties.late(&[1, 0], |_| true).into_iter().collect::<Vec<_>>(), [0]);
    assert!(problem.ties.late(&[0, 1], |gang| gang == 1).is_empty());
    // A group of them shares a level of its topology.
    let groups = json!([group("w", 2, &["p", "q"]), group("x", 1, &["r"])]);
    let far = speaker("r", "db", &[]);
    let objects = [gang("g", &groups, &json!({})), like("p"), like("q"), far.clone()];
    check(&objects, "p: a0 a1 b0 b1 in one zone\nq: a0 a1 b0 b1 in one zone\nr: a0 a1 b0 b1 bare");
    let racks = |name: &str| speaker(name, "web", &[("near", of("web", "x/else"))]);
    let at = "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]";
    check(
        &[gang("g", &groups, &json!({})), racks("p"), racks("q"), far.clone()],
        &format!(
            "g waits: pod p must share its x/else with others of the same gang ({at}); this is planned where they are all \
             the pods of a group, and x/else is a level of its topology; hint: a topology constraint says the same"
        ),
    );
    let leader = speaker("q", "db", &[]);
    let worker = speaker("p", "web", &[("near", of("db", "x/zone"))]);
    check(
        &[gang("g", &json!([group("w", 2, &["p", "q"])]), &json!({})), worker, leader],
        &format!(
            "g waits: pod p must be near pod q of the same gang ({at}); within a gang this is planned for pods that are near \
             their own like; hint: a topology constraint on the group of both says the same"
        ),
    );
}

#[test]
fn one_per_host_is_a_thing_that_hosts_have_once() {
    let like = |name: &str| speaker(name, "web", &[("apart", of("web", HOST))]);
    let taken = "[one per host: app=web in team]";
    let groups = json!([group("w", 2, &["p", "q"])]);
    let objects = [gang("g", &groups, &json!({})), like("p"), like("q"), on(like("r"), "a0")];
    let expected = format!("p: a0 a1 b0 b1 bare {taken}\nq: a0 a1 b0 b1 bare {taken}");
    let problem = check(&objects, &expected);
    // One that has the term and is meant takes it too; a node without the label has no hosts to share.
    let at = problem.cluster.resources.iter().position(|name| tokens::is_token(name)).expect("a token");
    let offered: Vec<i64> = problem.cluster.nodes.iter().map(|node| node.allocatable[at]).collect();
    assert_eq!((&offered[..4], problem.cluster.occupants[0].request[at]), (&[1, 1, 1, 1][..], 1));
    assert!(offered[4] > 100);
    // One that is meant and does not have it closes its node.
    let objects = [gang("g", &groups, &json!({})), like("p"), like("q"), on(speaker("r", "web", &[]), "a0")];
    check(&objects, &expected.replace(": a0", ":"));
    // Gangs that share it may be planned together.
    let problem = check(&[like("p"), like("q")], &expected);
    assert!(problem.ties.late(&[0, 1], |_| true).is_empty());
    // Two nodes of one name are one host, and which of them is not for us to say.
    let double = node("c0", &json!({ HOST: "b1" }));
    let problem = posed(&[nodes(), vec![double, like("p")]].concat());
    let offered: Vec<i64> = problem.cluster.nodes.iter().map(|node| node.allocatable[at]).collect();
    assert_eq!((offered[3], offered[5]), (0, 0), "{:?}", problem.cluster.resources);
}

#[test]
fn other_terms_within_a_gang_are_refused_in_words() {
    let at = "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]";
    let refused = |key: &str| {
        format!(
            "g waits: pod p must not share its {key} with pod q of the same gang ({at}); within a gang only one pod per \
             kubernetes.io/hostname is planned, among pods that all ask for it"
        )
    };
    let both = |p: Value, q: Value| [gang("g", &json!([group("w", 2, &["p", "q"])]), &json!({})), p, q];
    let zoned = |name: &str| speaker(name, "web", &[("apart", of("web", "x/zone"))]);
    check(&both(zoned("p"), zoned("q")), &refused("x/zone"));
    check(&both(speaker("p", "a", &[("apart", of("b", HOST))]), speaker("q", "b", &[])), &refused(HOST));
    // A pod is not in its own way.
    check(&[zoned("p")], "p: a0 a1 b0 b1 bare");
    let problem = check(&[zoned("p"), zoned("q")], "p: a0 a1 b0 b1 bare\nq: a0 a1 b0 b1 bare");
    assert_eq!(problem.ties.late(&[0, 1], |_| true).len(), 1);
    let blind =
        json!({ "labelSelector": {}, "topologyKey": HOST, "namespaceSelector": { "matchLabels": { "team": "red" } } });
    check(
        &[speaker("p", "web", &[("apart", blind)])],
        &format!(
            "p waits: pod p selects namespaces by their labels ({at}.namespaceSelector); of namespaces only the label \
             kubernetes.io/metadata.name is looked at"
        ),
    );
}

#[test]
fn ports_of_hosts() {
    let ports = |name: &str, ports: Value| {
        pod(name, &json!({ "spec": { "schedulerName": "trellis", "containers": [{ "name": "c", "ports": ports }] } }))
    };
    let port = |port: i32| json!([{ "containerPort": 80, "hostPort": port }]);
    let all = "a0 a1 b0 b1 bare";
    let problem = check(
        &[ports("p", port(8080)), on(ports("q", port(8080)), "a0"), on(ports("r", port(9090)), "a0")],
        &format!("p: {all} [host port 8080/TCP]"),
    );
    let at = problem.cluster.resources.iter().position(|name| tokens::is_token(name)).expect("a port");
    let taken: Vec<i64> = problem.cluster.occupants.iter().map(|occupant| occupant.request[at]).collect();
    assert_eq!(taken, [1, 0]);
    assert!(problem.cluster.nodes.iter().all(|node| node.allocatable[at] == 1));
    // What nobody waits for is not counted.
    let problem =
        check(&[ports("p", json!([{ "containerPort": 80 }])), on(ports("q", port(8080)), "a0")], &format!("p: {all}"));
    assert!(!problem.cluster.resources.iter().any(|name| tokens::is_token(name)));
    // Addresses: all of them is each of them.
    let at = |address: &str| json!([{ "containerPort": 80, "hostPort": 8080, "hostIP": address, "protocol": "UDP" }]);
    check(
        &[ports("p", at("10.0.0.1")), ports("q", at("0.0.0.0")), ports("r", at("10.0.0.2")), ports("s", port(8080))],
        &format!(
            "p: {all} [host port 10.0.0.1:8080/UDP]\n\
             q: {all} [host port 10.0.0.1:8080/UDP] [host port 10.0.0.2:8080/UDP] [host port 8080/UDP]\n\
             r: {all} [host port 10.0.0.2:8080/UDP]\n\
             s: {all} [host port 8080/TCP]"
        ),
    );
    // On the host's network every port is one of the host.
    let on_host = json!({ "spec": { "hostNetwork": true } });
    check(
        &[with(ports("p", json!([{ "containerPort": 80 }, { "containerPort": 81 }])), &on_host)],
        &format!("p: {all} [host port 80/TCP] [host port 81/TCP]"),
    );
}
