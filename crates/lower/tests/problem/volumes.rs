//! Claimed volumes: where they can be reached, and when pods wait for them.

use crate::gangs::{gang, group, merge, node, pod};
use crate::support::posed;
use serde_json::{Value, json};
use trellis_engine::Unready;

const AT: &str = "(spec.volumes[0].persistentVolumeClaim)";

fn claim(name: &str, more: &Value) -> Value {
    let mut claim = json!({ "kind": "PersistentVolumeClaim", "metadata": { "name": name, "namespace": "team" },
                            "spec": { "volumeName": "v", "accessModes": ["ReadWriteOnce"] }, "status": { "phase": "Bound" } });
    merge(&mut claim, more);
    claim
}

fn volume(zones: &[&str]) -> Value {
    let expression = json!({ "key": "zone", "operator": "In", "values": zones });
    let affinity = json!({ "required": { "nodeSelectorTerms": [{ "matchExpressions": [expression] }] } });
    let affinity = if zones.is_empty() { Value::Null } else { affinity };
    json!({ "kind": "PersistentVolume", "metadata": { "name": "v" }, "spec": { "nodeAffinity": affinity } })
}

fn user(name: &str, claim: &str) -> Value {
    let volumes = json!([{ "name": "data", "persistentVolumeClaim": { "claimName": claim } }]);
    pod(name, &json!({ "spec": { "schedulerName": "trellis", "volumes": volumes } }))
}

/// Compares the nodes that are open to each gang's first waiting pod, or why it waits.
#[track_caller]
fn check(objects: &[Value], expected: &str) {
    let mut values =
        vec![node("a", &json!({ "zone": "a" })), node("b", &json!({ "zone": "b" })), node("c", &json!({}))];
    values.extend(objects.to_vec());
    let problem = posed(&values);
    let told = problem.gangs.iter().map(|gang| match &gang.unready {
        Some(Unready::Missing { text }) => text.clone(),
        Some(other) => format!("{other:?}"),
        None => {
            let pod = gang.pods.iter().find(|pod| pod.bound.is_none()).expect("one that waits");
            let open = problem.cluster.eligibility[pod.eligibility].allowed.ones();
            open.map(|i| problem.cluster.nodes[i].name.as_str()).collect::<Vec<_>>().join(" ")
        }
    });
    assert_eq!(told.collect::<Vec<_>>().join("\n"), expected);
}

#[test]
fn bound_volumes_keep_pods_on_the_nodes_that_reach_them() {
    check(&[claim("d", &json!({})), volume(&["a"]), user("p", "d")], "a");
    check(&[claim("d", &json!({})), volume(&["a", "b"]), user("p", "d")], "a b");
    check(&[claim("d", &json!({})), volume(&[]), user("p", "d")], "a b c");
    // A selector counts beside them.
    let mut pod = user("p", "d");
    merge(&mut pod, &json!({ "spec": { "nodeSelector": { "zone": "b" } } }));
    check(&[claim("d", &json!({})), volume(&["a", "b"]), pod.clone()], "b");
    check(&[claim("d", &json!({})), volume(&["a"]), pod], "");
}

#[test]
fn pods_wait_for_claims_in_words() {
    let check = |objects: &[Value], reason: &str| {
        check(&[objects, &[user("p", "d")]].concat(), &format!("the claim d of pod p {AT} {reason}"));
    };
    check(&[], "is not there");
    check(&[claim("e", &json!({})), volume(&[])], "is not there");
    check(&[claim("d", &json!({}))], "is bound to volume v, which is not there");
    let unbound = "is not bound to a volume; volumes that wait for their first consumer are not planned";
    check(
        &[claim("d", &json!({ "spec": { "volumeName": null }, "status": { "phase": "Pending" } })), volume(&[])],
        unbound,
    );
    check(&[claim("d", &json!({ "status": { "phase": "Pending" } })), volume(&[])], unbound);
    check(&[claim("d", &json!({ "status": { "phase": "Lost" } })), volume(&[])], "has lost its volume");
    let deleted = json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } });
    check(&[claim("d", &deleted), volume(&[])], "is being deleted");
}

#[test]
fn claims_for_one_pod() {
    let claim = || claim("d", &json!({ "spec": { "accessModes": ["ReadWriteOncePod"] } }));
    check(&[claim(), volume(&[]), user("p", "d")], "a b c");
    let mut other = user("q", "d");
    other["spec"]["nodeName"] = "a".into();
    other["spec"]["schedulerName"] = "other".into();
    check(
        &[claim(), volume(&[]), user("p", "d"), other],
        &format!("the claim d of pod p {AT} is for one pod at a time, and pod q has it"),
    );
    check(
        &[
            claim(),
            volume(&[]),
            gang("g", &json!([group("w", 2, &["p", "q"])]), &json!({})),
            user("p", "d"),
            user("q", "d"),
        ],
        &format!("the claim d of pod q {AT} is for one pod at a time, and pod p of the same gang wants it too"),
    );
    let problem = posed(&[claim(), volume(&[]), user("p", "d"), user("q", "d")]);
    assert_eq!(problem.ties.late(&[0, 1], |_| true).into_iter().collect::<Vec<_>>(), [1]);
}

#[test]
fn ephemeral_volumes_have_a_claim_of_their_own() {
    let owned = |uid: &str| json!({ "metadata": { "ownerReferences": [{ "apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid }] } });
    let volumes = json!([{ "name": "tmp", "ephemeral": { "volumeClaimTemplate": { "spec": {} } } }]);
    let pod =
        pod("p", &json!({ "metadata": { "uid": "1" }, "spec": { "schedulerName": "trellis", "volumes": volumes } }));
    let at = "(spec.volumes[0].ephemeral)";
    check(std::slice::from_ref(&pod), &format!("the claim p-tmp of pod p {at} is not there"));
    check(&[pod.clone(), claim("p-tmp", &owned("1")), volume(&["b"])], "b");
    check(
        &[pod, claim("p-tmp", &owned("2")), volume(&["b"])],
        &format!("the claim p-tmp of pod p {at} belongs to somebody else"),
    );
}
