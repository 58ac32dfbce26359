//! The control plane that other tests build on: it is real, it is complete, and it says so when it cannot start.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::authentication::v1::{SelfSubjectReview, TokenRequest};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node, ServiceAccount};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client, Resource, ResourceExt};
use trellis_testkit::{ControlPlane, Options, Program, programs};

fn named(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() }
}

async fn create_namespace(client: &Client, name: &str) -> Namespace {
    let namespace = Namespace { metadata: named(name), ..Namespace::default() };
    Api::all(client.clone()).create(&PostParams::default(), &namespace).await.unwrap()
}

fn config_map(name: &str, value: &str) -> ConfigMap {
    let data = BTreeMap::from([("key".to_owned(), value.to_owned())]);
    ConfigMap { metadata: named(name), data: Some(data), ..ConfigMap::default() }
}

#[tokio::test]
async fn objects_are_kept_by_the_version_that_is_pinned() {
    let client = ControlPlane::shared().await.unwrap().client().unwrap();
    assert_eq!(client.apiserver_version().await.unwrap().git_version, Program::ApiServer.version());
    assert_eq!(Program::ApiServer.version(), "v1.36.3");

    create_namespace(&client, "kept").await;
    let maps: Api<ConfigMap> = Api::namespaced(client, "kept");
    let made = config_map("map", "value");
    maps.create(&PostParams::default(), &made).await.unwrap();
    let read = maps.get("map").await.unwrap();
    assert_eq!(read.data, made.data);
    assert!(read.resource_version().is_some());
}

#[tokio::test]
async fn a_new_node_carries_no_taint() {
    let client = ControlPlane::shared().await.unwrap().client().unwrap();
    let node = Node { metadata: named("untainted"), ..Node::default() };
    let node = Api::all(client).create(&PostParams::default(), &node).await.unwrap();
    assert_eq!(node.spec.and_then(|spec| spec.taints), None);
}

#[tokio::test]
async fn a_lesser_user_may_do_only_what_rbac_allows() {
    let options = Options::api_only().user("reader-token", "reader", &["readers"]);
    let control_plane = ControlPlane::start(options).await.unwrap();
    let namespaces: Api<Namespace> = Api::all(control_plane.client_for("reader-token").unwrap());
    let kube::Error::Api(refusal) = namespaces.get("default").await.unwrap_err() else {
        panic!("the refusal should come from the API server");
    };
    assert_eq!(refusal.code, 403);
    assert!(refusal.message.contains("User \"reader\" cannot get"), "{}", refusal.message);

    let stranger: Api<Namespace> = Api::all(control_plane.client_for("no-such-token").unwrap());
    assert!(matches!(stranger.get("default").await, Err(kube::Error::Api(refusal)) if refusal.code == 401));
}

#[tokio::test]
async fn controllers_make_service_accounts_and_collect_what_lost_its_owner() {
    let client = ControlPlane::shared_with_controllers().await.unwrap().client().unwrap();
    create_namespace(&client, "collected").await;
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "collected");
    eventually("the service account is made", async || accounts.get("default").await.is_ok()).await;

    let maps: Api<ConfigMap> = Api::namespaced(client, "collected");
    let owner = maps.create(&PostParams::default(), &config_map("owner", "a")).await.unwrap();
    let mut child = config_map("child", "b");
    let reference: OwnerReference = owner.controller_owner_ref(&()).unwrap();
    child.metadata.owner_references = Some(vec![reference]);
    maps.create(&PostParams::default(), &child).await.unwrap();
    maps.delete("owner", &kube::api::DeleteParams::background()).await.unwrap();
    eventually("the child is collected", async || maps.get_opt("child").await.unwrap().is_none()).await;
}

#[tokio::test]
async fn a_service_account_is_known_by_the_token_it_asks_for() {
    let control_plane = ControlPlane::shared_with_controllers().await.unwrap();
    let accounts: Api<ServiceAccount> = Api::namespaced(control_plane.client().unwrap(), "default");
    let (params, request) = (PostParams::default(), TokenRequest::default());
    let granted = accounts.create_token_request("default", &params, &request).await.unwrap();
    let token = granted.status.unwrap().token;

    let client = control_plane.client_for(&token).unwrap();
    let review = Api::all(client).create(&PostParams::default(), &SelfSubjectReview::default()).await.unwrap();
    let user = review.status.and_then(|status| status.user_info).and_then(|user| user.username);
    assert_eq!(user.as_deref(), Some("system:serviceaccount:default:default"));
}

#[tokio::test]
async fn flags_can_add_the_controllers_that_act_on_lost_nodes() {
    let options = Options::with_controllers()
        .controller_manager_flag("--controllers=node-lifecycle-controller,taint-eviction-controller")
        .controller_manager_flag("--node-startup-grace-period=1s")
        .controller_manager_flag("--node-monitor-period=100ms");
    let control_plane = ControlPlane::start(options).await.unwrap();
    let nodes: Api<Node> = Api::all(control_plane.client().unwrap());
    nodes.create(&PostParams::default(), &Node { metadata: named("lost"), ..Node::default() }).await.unwrap();
    eventually("the node without heartbeats is tainted", async || {
        let taints = nodes.get("lost").await.unwrap().spec.and_then(|spec| spec.taints).unwrap_or_default();
        taints.iter().any(|taint| taint.key == "node.kubernetes.io/unreachable")
    })
    .await;
}

#[tokio::test]
async fn kubectl_works_with_the_kubeconfig() {
    let control_plane = ControlPlane::shared().await.unwrap();
    let kubectl = tokio::task::spawn_blocking(|| programs::path(Program::Kubectl)).await.unwrap().unwrap();
    let output = std::process::Command::new(kubectl)
        .arg("--kubeconfig")
        .arg(control_plane.kubeconfig_path())
        .args(["get", "namespace", "default", "-o", "name"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.stdout, b"namespace/default\n");
}

#[tokio::test]
async fn a_bad_flag_fails_at_once_with_what_the_server_said() {
    let options = Options::api_only().api_server_flag("--no-such-flag");
    let error = ControlPlane::start(options).await.unwrap_err().to_string();
    assert!(error.starts_with("kube-apiserver ended by itself"), "{error}");
    assert!(error.contains("unknown flag: --no-such-flag"), "{error}");
}

/// Looks a bounded number of times.
async fn eventually(what: &str, look: impl AsyncFn() -> bool) {
    let mut ticks = tokio::time::interval(Duration::from_millis(20));
    for _ in 0..1500 {
        ticks.tick().await;
        if look().await {
            return;
        }
    }
    panic!("not within 30 s: {what}");
}
