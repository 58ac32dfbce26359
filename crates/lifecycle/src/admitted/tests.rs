//! A set whose children were made from it, then an edit, then the judgement.

use super::{before, judge};
use crate::observed::Observed;
use crate::picture::{Around, Picture};
use crate::pod::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use trellis_api::admission::default_pod_clique_set;
use trellis_api::kinds::{ClusterTopology, PodCliqueSet};
use trellis_api::settings::Settings;
use trellis_lower::{LiveReplicas, Surroundings, lower, owner_reference};

/// `a`, then `b`, in order; `c` and `d` in the group `g`; all in one rack.
fn written() -> Value {
    let clique = |name: &str| {
        json!({ "name": name, "spec": {
            "roleName": name, "replicas": 2, "minAvailable": 1,
            "podSpec": { "containers": [{ "name": "c", "image": "one" }] },
        } })
    };
    json!({
        "apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet",
        "metadata": { "name": "s", "namespace": "n", "uid": "set" },
        "spec": { "replicas": 1, "template": {
            "cliqueStartupType": "CliqueStartupTypeInOrder",
            "clusterTopologyName": "east",
            "topologyConstraint": { "packDomain": "rack" },
            "cliques": [clique("a"), clique("b"), clique("c"), clique("d")],
            "podCliqueScalingGroups": [
                { "name": "g", "cliqueNames": ["c", "d"], "replicas": 2, "minAvailable": 1 },
            ],
        } },
    })
}

fn typed(set: &Value, settings: &Settings) -> PodCliqueSet {
    let mut set: PodCliqueSet = serde_json::from_value(set.clone()).unwrap();
    default_pod_clique_set(&mut set, None, settings);
    set
}

fn topologies() -> BTreeMap<String, ClusterTopology> {
    let topology = |name: &str| {
        let levels: Vec<Value> = ["zone", "rack", "host"]
            .iter()
            .map(|domain| json!({ "domain": domain, "key": format!("{name}/{domain}") }))
            .collect();
        let topology = json!({
            "apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopology",
            "metadata": { "name": name }, "spec": { "levels": levels },
        });
        (name.to_owned(), serde_json::from_value(topology).unwrap())
    };
    BTreeMap::from([topology("east"), topology("west")])
}

/// All children of a set, as the server would have them.
fn children(set: &PodCliqueSet, topologies: &BTreeMap<String, ClusterTopology>, settings: &Settings) -> Observed {
    let live = LiveReplicas::default();
    let made = lower(set, &Surroundings { topologies, live: &live, settings });
    let mut observed = Observed::default();
    let name = |metadata: &ObjectMeta| metadata.name.clone().unwrap();
    for mut group in made.scaling_groups {
        let name = name(&group.metadata);
        group.metadata.uid = Some(name.clone());
        observed.groups.insert(name, Arc::new(group));
    }
    for mut clique in made.pod_cliques {
        let name = name(&clique.metadata);
        clique.metadata.uid = Some(name.clone());
        if clique.metadata.owner_references.is_none() {
            let group = &clique.metadata.labels.as_ref().unwrap()["grove.io/podcliquescalinggroup"];
            clique.metadata.owner_references = owner_reference(&*observed.groups[group]).map(|owner| vec![owner]);
        }
        observed.cliques.insert(name, Arc::new(clique));
    }
    for mut gang in made.gangs {
        let name = name(&gang.metadata);
        gang.metadata.uid = Some(name.clone());
        observed.gangs.insert(name, Arc::new(gang));
    }
    observed
}

/// Expects faults at these fields, in order, after an edit. Words say what is so beside it: the set is `new`, a pod is `scheduled`,
/// topology-aware scheduling is `off`, `webhooks` have judged, or of the children there is `only:` one.
fn check(words: &str, edit: impl FnOnce(&mut Value), expected: &[&str]) {
    let is = |word: &str| words.split_whitespace().any(|other| other == word);
    let topologies = topologies();
    let mut settings = Settings::default();
    let mut observed = match is("new") {
        true => Observed::default(),
        false => children(&typed(&written(), &settings), &topologies, &settings),
    };
    if let Some(only) = words.split_whitespace().find_map(|word| word.strip_prefix("only:")) {
        observed.groups.retain(|name, _| name == only);
        observed.cliques.retain(|name, _| name == only);
        observed.gangs.retain(|name, _| name == only);
    }
    if is("scheduled") {
        let mut pod = Pod::default();
        pod.spec.node_name = Some("node".to_owned());
        observed.pods.insert("s-0-a".to_owned(), vec![Arc::new(pod)]);
    }
    settings.topology_enabled = !is("off");
    let mut set = written();
    edit(&mut set);
    let set = typed(&set, &settings);
    let now = "2026-01-01T12:00:00Z".parse().unwrap();
    let around = Around { topologies: &topologies, settings: &settings, now, judges: !is("webhooks") };
    let verdict = judge(&Picture::of(&set, &observed, around));
    let fields: Vec<&str> = verdict.errors.iter().map(|fault| fault.field.as_str()).collect();
    assert_eq!(fields, expected, "{:#?}", verdict.errors);
}

const CLIQUES: &str = "/spec/template/cliques";
const GROUP: &str = "/spec/template/podCliqueScalingGroups/0";

fn put(set: &mut Value, path: &str, value: Value) {
    let (parent, field) = path.rsplit_once('/').unwrap();
    set.pointer_mut(parent).unwrap()[field] = value;
}

#[test]
fn of_a_new_set() {
    let new = "new";
    check(new, |_| {}, &[]);
    check(
        new,
        |set| put(set, &format!("{CLIQUES}/0/spec/minAvailable"), json!(5)),
        &["spec.template.cliques[0].spec.minAvailable"],
    );
    let nowhere = |set: &mut Value| put(set, "/spec/template/clusterTopologyName", json!("nowhere"));
    check(new, nowhere, &["spec.template.clusterTopologyName"]);
    let off = "new off";
    check(off, |_| {}, &["spec.template.clusterTopologyName", "spec.template.topologyConstraint"]);
    check("new off webhooks", |_| {}, &[]);
}

#[test]
fn of_a_set_with_children() {
    let live = "";
    check(live, |_| {}, &[]);
    // What was there stays, whatever becomes of topology.
    check("off", |_| {}, &[]);
    // Faults that an edit brings, in fields that no child shows.
    let too_few = |set: &mut Value| put(set, &format!("{CLIQUES}/3/spec/replicas"), json!(0));
    check(live, too_few, &[]);
    let negative = |set: &mut Value| put(set, &format!("{CLIQUES}/3/spec/replicas"), json!(-1));
    check(live, negative, &["spec.template.cliques[3].spec.replicas"]);
    // What may change.
    check(live, |set| put(set, &format!("{CLIQUES}/0/spec/podSpec/containers/0/image"), json!("two")), &[]);
    check(live, |set| put(set, &format!("{CLIQUES}/0/spec/replicas"), json!(9)), &[]);
    check(live, |set| put(set, "/spec/replicas", json!(4)), &[]);
    check(live, |set| put(set, &format!("{GROUP}/replicas"), json!(4)), &[]);
}

#[test]
fn what_is_for_life() {
    let live = "";
    let field = |path: &str| format!("spec.template.{path}");
    let rows = [
        (format!("{CLIQUES}/0/spec/minAvailable"), json!(2), vec!["cliques[0].spec.minAvailable"]),
        (format!("{CLIQUES}/2/spec/minAvailable"), json!(2), vec!["cliques[2].spec.minAvailable"]),
        (format!("{CLIQUES}/0/spec/roleName"), json!("z"), vec!["cliques[0].spec.roleName"]),
        (format!("{GROUP}/minAvailable"), json!(2), vec!["podCliqueScalingGroups[0].minAvailable"]),
        (format!("{GROUP}/cliqueNames"), json!(["d", "c"]), vec!["podCliqueScalingGroups[0].cliqueNames"]),
    ];
    for (path, value, expected) in rows {
        let expected: Vec<String> = expected.into_iter().map(field).collect();
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        check(live, |set| put(set, &path, value), &expected);
    }
}

#[test]
fn cliques_and_groups_are_for_life() {
    let live = "";
    let add = |set: &mut Value| {
        let mut another = set.pointer(CLIQUES).unwrap()[0].clone();
        another["name"] = json!("z");
        another["spec"]["roleName"] = json!("z");
        set.pointer_mut(CLIQUES).unwrap().as_array_mut().unwrap().push(another);
    };
    let added = ["spec.template.cliques", "spec.template.cliques[4].name"];
    check(live, add, &added);
    check("only:s-0", add, &added);
    // Children that are still to be made are no change.
    for only in ["only:s-0", "only:s-0-a", "only:s-0-g", "only:s-0-g-0-c"] {
        check(only, |_| {}, &[]);
    }
    let remove = |set: &mut Value| {
        set.pointer_mut(CLIQUES).unwrap().as_array_mut().unwrap().remove(1);
    };
    // The next one no longer starts after it.
    check(live, remove, &["spec.template.cliques", "spec.template.cliques[1].spec.startsAfter"]);
    let dissolve = |set: &mut Value| put(set, "/spec/template/podCliqueScalingGroups", json!([]));
    check(live, dissolve, &["spec.template.podCliqueScalingGroups"]);
}

#[test]
fn the_order_of_start_is_for_life() {
    let live = "";
    let kind = "/spec/template/cliqueStartupType";
    let fields = |indices: &[usize]| -> Vec<String> {
        indices.iter().map(|i| format!("spec.template.cliques[{i}].spec.startsAfter")).collect()
    };
    let check = |edit: &dyn Fn(&mut Value), indices: &[usize]| {
        let fields = fields(indices);
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        check(live, |set| edit(set), &fields);
    };
    check(&|set| put(set, kind, json!("CliqueStartupTypeAnyOrder")), &[1, 2, 3]);
    check(&|set| set.pointer_mut(CLIQUES).unwrap().as_array_mut().unwrap().swap(0, 1), &[0, 1, 2]);
    let explicit = |after: &'static [(usize, &'static str)]| {
        move |set: &mut Value| {
            put(set, kind, json!("CliqueStartupTypeExplicit"));
            for (i, parent) in after {
                put(set, &format!("{CLIQUES}/{i}/spec/startsAfter"), json!([parent]));
            }
        }
    };
    // The same order, said otherwise.
    check(&explicit(&[(1, "a"), (2, "b"), (3, "c")]), &[]);
    check(&explicit(&[(1, "a"), (2, "a"), (3, "c")]), &[2]);
}

/// A topology's name may change while no pod has a node; once one gang has followed, the others do too.
#[test]
fn the_name_of_the_topology() {
    let rename = |set: &mut Value| put(set, "/spec/template/clusterTopologyName", json!("west"));
    let live = "";
    check(live, rename, &[]);
    let scheduled = "scheduled";
    check(scheduled, |_| {}, &[]);
    check(scheduled, rename, &["spec.template.clusterTopologyName"]);
    let nowhere = |set: &mut Value| put(set, "/spec/template/clusterTopologyName", json!("nowhere"));
    check(live, nowhere, &["spec.template.clusterTopologyName"]);
}

/// An omitted minimum stays what it was, though the template now has other replicas.
#[test]
fn what_children_tell_of_what_was_left_out() {
    let (topologies, settings) = (topologies(), Settings::default());
    let observed = children(&typed(&written(), &settings), &topologies, &settings);
    let mut set = written();
    set.pointer_mut(&format!("{CLIQUES}/0/spec")).unwrap().as_object_mut().unwrap().remove("minAvailable");
    let set: PodCliqueSet = serde_json::from_value(set).unwrap();
    let before = before(&set, &observed).expect("the set has gangs");
    let mut defaulted = set;
    default_pod_clique_set(&mut defaulted, Some(&before), &settings);
    assert_eq!(defaulted.spec.template.cliques[0].spec.min_available, Some(1));
}
