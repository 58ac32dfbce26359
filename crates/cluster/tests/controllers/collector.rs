//! Owners and dependents. What is expected was seen on a real cluster.

use http::Method;
use serde_json::{Value, json};

use crate::cluster::{Cluster, node, owned_by};

const MAPS: &str = "/api/v1/namespaces/a/configmaps";
/// The uid of nobody.
const NEVER: &str = "11111111-1111-1111-1111-111111111111";

fn path(name: &str) -> String {
    format!("{MAPS}/{name}")
}

async fn map(cluster: &Cluster, name: &str, owners: &[Value], finalizers: &[&str]) -> Value {
    cluster
        .make(&json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": "a", "ownerReferences": owners, "finalizers": finalizers},
        }))
        .await
}

/// What is there of these: each by its name, with a mark if it is going, and its owners.
async fn state(cluster: &Cluster, names: &[&str]) -> Vec<String> {
    let mut shown = Vec::new();
    for name in names {
        let Some(found) = cluster.get(&path(name)).await else { continue };
        let going = if found["metadata"]["deletionTimestamp"].is_string() { "!" } else { "" };
        let owners = found["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        let owners: Vec<&str> = owners.map(|owner| owner["name"].as_str().unwrap()).collect();
        shown.push(format!("{name}{going} {}", owners.join(",")).trim_end().to_owned());
    }
    shown
}

/// Deletes the owner of a chain with a policy; what is left at once, and in the end.
async fn check_policy(policy: &str, at_once: &[&str], left: &[&str]) {
    let cluster = Cluster::new().await;
    let top = map(&cluster, "top", &[], &[]).await;
    let middle = map(&cluster, "middle", &[owned_by(&top, &json!({"blockOwnerDeletion": true}))], &[]).await;
    map(&cluster, "low", &[owned_by(&middle, &json!({"blockOwnerDeletion": true}))], &[]).await;
    let other = map(&cluster, "other", &[], &[]).await;
    map(&cluster, "shared", &[owned_by(&top, &json!({})), owned_by(&other, &json!({}))], &[]).await;
    cluster.settle().await;
    let all = ["top", "middle", "low", "other", "shared"];
    cluster.delete(&path("top"), &json!({"propagationPolicy": policy})).await;
    assert_eq!(state(&cluster, &all).await, at_once, "{policy}");
    cluster.settle().await;
    assert_eq!(state(&cluster, &all).await, left, "{policy}");
}

#[tokio::test(start_paused = true)]
async fn dependents_go_after_their_owner_before_it_or_not_at_all() {
    let rest = ["middle top", "low middle", "other", "shared top,other"];
    check_policy("Background", &rest, &["other", "shared other"]).await;
    check_policy("Foreground", &[&["top!"][..], &rest].concat(), &["other", "shared other"]).await;
    check_policy("Orphan", &[&["top!"][..], &rest].concat(), &["middle", "low middle", "other", "shared other"]).await;
}

#[tokio::test(start_paused = true)]
async fn an_owner_waits_for_dependents_that_block_and_they_for_their_finalizers() {
    let cluster = Cluster::new().await;
    let top = map(&cluster, "top", &[], &[]).await;
    map(&cluster, "held", &[owned_by(&top, &json!({"blockOwnerDeletion": true}))], &["example.com/x"]).await;
    cluster.delete(&path("top"), &json!({"propagationPolicy": "Foreground"})).await;
    cluster.pass(3_600).await;
    assert_eq!(state(&cluster, &["top", "held"]).await, ["top!", "held! top"]);
    cluster.patch(&path("held"), &json!({"metadata": {"finalizers": null}})).await;
    cluster.until_gone(&path("top")).await;
    assert_eq!(cluster.get(&path("held")).await, None);
}

#[tokio::test(start_paused = true)]
async fn dependents_that_do_not_block_go_before_an_owner_that_goes_last() {
    let cluster = Cluster::new().await;
    let top = map(&cluster, "top", &[], &["example.com/x"]).await;
    let solid = map(&cluster, "solid", &[], &[]).await;
    map(&cluster, "free", &[owned_by(&top, &json!({"blockOwnerDeletion": false}))], &[]).await;
    map(&cluster, "shared", &[owned_by(&top, &json!({})), owned_by(&solid, &json!({}))], &[]).await;
    cluster.delete(&path("top"), &json!({"propagationPolicy": "Foreground"})).await;
    cluster.settle().await;
    assert_eq!(state(&cluster, &["top", "free", "solid", "shared"]).await, ["top!", "solid", "shared solid"]);

    let top = map(&cluster, "later", &[], &["example.com/x"]).await;
    map(&cluster, "waits", &[owned_by(&top, &json!({}))], &[]).await;
    cluster.delete(&path("later"), &json!({"propagationPolicy": "Background"})).await;
    cluster.settle().await;
    assert_eq!(state(&cluster, &["later", "waits"]).await, ["later!", "waits later"]);
    cluster.patch(&path("later"), &json!({"metadata": {"finalizers": null}})).await;
    cluster.until_gone(&path("waits")).await;
}

#[tokio::test(start_paused = true)]
async fn owners_that_wait_for_each_other_are_both_gone() {
    let cluster = Cluster::new().await;
    let block = json!({"blockOwnerDeletion": true});
    let one = map(&cluster, "one", &[], &[]).await;
    let two = map(&cluster, "two", &[owned_by(&one, &block)], &[]).await;
    cluster.patch(&path("one"), &json!({"metadata": {"ownerReferences": [owned_by(&two, &block)]}})).await;
    cluster.settle().await;
    assert_eq!(state(&cluster, &["one", "two"]).await, ["one two", "two one"]);
    cluster.delete(&path("one"), &json!({"propagationPolicy": "Foreground"})).await;
    cluster.settle().await;
    assert_eq!(state(&cluster, &["one", "two"]).await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn who_names_an_owner_that_is_not_there_goes_unless_nobody_can_tell() {
    let cluster = Cluster::new().await;
    cluster.define_kinds().await;
    cluster.make(&crate::cluster::namespace("b")).await;
    let base = map(&cluster, "base", &[], &[]).await;
    let machine = cluster.make(&node("machine")).await;
    let elsewhere =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "elsewhere", "namespace": "b"}});
    let elsewhere = cluster.make(&elsewhere).await;
    let reference = |api_version: &str, kind: &str, name: &str, uid: &str| json!({"apiVersion": api_version, "kind": kind, "name": name, "uid": uid});
    let cases = [
        ("unknown-kind", reference("controllers.test/v1", "Ghost", "g", NEVER), true),
        ("unknown-group", reference("no.such/v1", "Ghost", "g", NEVER), true),
        ("unknown-version", reference("controllers.test/v9", "Flock", "g", NEVER), true),
        ("never", reference("v1", "ConfigMap", "g", NEVER), false),
        ("never-custom", reference("controllers.test/v1", "Flock", "g", NEVER), false),
        ("wrong-name", owned_by(&base, &json!({"name": "otherwise"})), false),
        ("wrong-kind", owned_by(&base, &json!({"kind": "Secret"})), false),
        ("wrong-uid", owned_by(&base, &json!({"uid": NEVER})), false),
        ("right", owned_by(&base, &json!({})), true),
        ("elsewhere", owned_by(&elsewhere, &json!({})), false),
        ("wide", owned_by(&machine, &json!({})), true),
    ];
    for (name, owner, _) in &cases {
        map(&cluster, name, std::slice::from_ref(owner), &[]).await;
    }
    for (name, owner) in
        [("inside", owned_by(&base, &json!({}))), ("nowhere", reference("v1", "ConfigMap", "g", NEVER))]
    {
        cluster
            .make(&json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                "metadata": {"name": name, "ownerReferences": [owner]},
            }))
            .await;
    }
    cluster.settle().await;
    for (name, _, stays) in &cases {
        assert_eq!(cluster.get(&path(name)).await.is_some(), *stays, "{name}");
    }
    // What is in no namespace cannot belong to something in one, and is left alone.
    for name in ["inside", "nowhere"] {
        let role = format!("/apis/rbac.authorization.k8s.io/v1/clusterroles/{name}");
        assert!(cluster.get(&role).await.is_some(), "{name}");
    }
    cluster.delete("/api/v1/nodes/machine", &Value::Null).await;
    cluster.until_gone(&path("wide")).await;
}

#[tokio::test(start_paused = true)]
async fn what_lost_its_owner_while_nobody_looked_is_found_later() {
    let mut cluster = Cluster::new().await;
    let owner = map(&cluster, "owner", &[], &[]).await;
    map(&cluster, "owned", &[owned_by(&owner, &json!({}))], &[]).await;
    cluster.stop().await;
    cluster.delete(&path("owner"), &Value::Null).await;
    cluster.settle().await;
    assert_eq!(state(&cluster, &["owned"]).await, ["owned owner"]);
    cluster.start();
    cluster.until_gone(&path("owned")).await;
    let (code, _) = cluster.ask(Method::GET, MAPS, &Value::Null).await;
    assert_eq!(code, 200);
}
