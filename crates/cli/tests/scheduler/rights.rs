//! The scheduler needs what its manifest gives it, and nothing else: it runs as its service account on a real API server through everything
//! that it can do, and the server's audit log is held against the roles of `deploy/`.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use http::Method;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;
use trellis_api::kinds::PodGang;
use trellis_api::kinds::kai::KaiPodGroup;
use trellis_testkit::process::{Process, Program, configuration, kubeconfig};
use trellis_testkit::proxy::{Proxy, Write};
use trellis_testkit::{ControlPlane, Options, objects, rights};

use crate::cluster::{Cluster, Gang, Kind, PATIENCE, is_waiting};

const USER: &str = "system:serviceaccount:trellis-system:trellis-scheduler";
const TOKEN: &str = "scheduler";

fn manifest() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/scheduler.yaml");
    serde_saphyr::from_multiple(&std::fs::read_to_string(path).expect("a manifest")).expect("YAML")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_manifest_gives_what_is_needed_and_nothing_else() {
    let folder = TempDir::new().expect("a folder");
    let (policy, log) = (folder.path().join("policy.yaml"), folder.path().join("audit.log"));
    std::fs::write(&policy, rights::policy(USER)).expect("a file");
    let options = Options::api_only()
        .user(TOKEN, USER, &["system:serviceaccounts", "system:serviceaccounts:trellis-system"])
        .api_server_flag(&format!("--audit-policy-file={}", policy.display()))
        .api_server_flag(&format!("--audit-log-path={}", log.display()));
    let plane = ControlPlane::start(options).await.expect("a control plane");
    let client = plane.client().expect("a client");
    let manifest = manifest();
    let applied = ["Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"];
    for object in manifest.iter().filter(|object| applied.contains(&object["kind"].as_str().unwrap_or_default())) {
        objects::create(&client, object).await.unwrap_or_else(|error| panic!("{error}"));
    }
    let cluster = Cluster::start(client, "rbac", 2).await;
    let proxy = Proxy::start(plane.client_for(TOKEN).expect("a client")).await;
    let through = kubeconfig(folder.path(), "through", &proxy.url(), None, None);
    let program = Program { binary: env!("CARGO_BIN_EXE_trellis"), command: "scheduler", folder: folder.path() };
    let args = ["--namespace", "trellis-system", "--scheduler-name", &cluster.name];
    let mut scheduler = Process::start(program, "scheduler", &through, &configuration(), &args);

    script(&cluster, &proxy, &scheduler).await;

    scheduler.signal("-TERM");
    assert_eq!(scheduler.code(PATIENCE).await, Some(0), "{}", scheduler.said());
    cluster.no_wrongs();
    cluster.stop().await;
    rights::check(&log, USER, &rights::given(&manifest), &BTreeSet::new()).await;
}

/// Everything that a scheduler does.
async fn script(cluster: &Cluster, proxy: &Proxy, scheduler: &Process) {
    let said = || scheduler.said();
    // Somebody else is faster with every kind of object that a gang may be, so each is read again.
    let (gang, group) = (Gang::new("a", Kind::PodGang, 4, 1), Gang::new("b", Kind::PodGroup, 4, 1));
    let alone = Gang::new("c", Kind::Alone, 1, 0);
    overtaken::<PodGang>(cluster, proxy, &gang, "a", is_ledger, scheduler).await;
    overtaken::<KaiPodGroup>(cluster, proxy, &group, "b", is_ledger, scheduler).await;
    // A pod alone needs no ledger: the bind is good for one version only.
    overtaken::<Pod>(cluster, proxy, &alone, "c-0", is_bind, scheduler).await;

    // A gang waits, is placed and loses everything, again and again: the same is told more than once.
    let unlucky = Gang::new("w", Kind::PodGang, 4, 1);
    for round in 0..3 {
        close(cluster, true).await;
        match round {
            0 => cluster.create(&unlucky).await,
            _ => lose(cluster, &unlucky).await,
        }
        cluster.until("they wait", said, |pods| is_waiting(pods, &unlucky)).await;
        tells(cluster, "w", "Unschedulable", scheduler).await;
        close(cluster, false).await;
        cluster.placed(&[unlucky], said).await;
        tells(cluster, "w", "MinimumScheduled", scheduler).await;
    }

    let urgent = Gang::new("p", Kind::PodGang, 4, 2).urgent();
    cluster.create(&urgent).await;
    cluster.placed(&[urgent], said).await;
}

fn is_ledger(write: &Write) -> bool {
    write.method == Method::PATCH && write.body["metadata"]["annotations"]["trellis.dev/placement"].is_string()
}

fn is_bind(write: &Write) -> bool {
    write.method == Method::POST && write.path.ends_with("/binding")
}

/// A gang is created, and somebody writes to its object while such a write is on its way there.
async fn overtaken<K>(
    cluster: &Cluster,
    proxy: &Proxy,
    gang: &Gang,
    object: &str,
    is_it: fn(&Write) -> bool,
    scheduler: &Process,
) where
    K: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
        + Clone
        + DeserializeOwned
        + std::fmt::Debug,
{
    proxy.block(is_it, 0);
    cluster.create(gang).await;
    let blocked = tokio::time::timeout(PATIENCE, proxy.blocked()).await;
    blocked.unwrap_or_else(|_| panic!("{object}: nothing is written\n{}", scheduler.said()));
    let objects: Api<K> = Api::namespaced(cluster.client.clone(), &cluster.name);
    let patch = Patch::Merge(json!({ "metadata": { "labels": { "test/touched": "true" } } }));
    objects.patch(object, &PatchParams::default(), &patch).await.expect("touched");
    proxy.unblock();
    cluster.placed(&[*gang], || scheduler.said()).await;
}

/// Closes all nodes to the scheduler, or opens them.
async fn close(cluster: &Cluster, closed: bool) {
    for rack in 0..2 {
        cluster.cordon_rack(rack, closed).await;
    }
}

async fn lose(cluster: &Cluster, gang: &Gang) {
    let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), &cluster.name);
    for name in gang.pod_names() {
        pods.delete(&name, &DeleteParams::default()).await.expect("deleted");
    }
}

/// Waits until a gang says of its place that it is so.
async fn tells(cluster: &Cluster, gang: &str, reason: &str, scheduler: &Process) {
    let gangs: Api<PodGang> = Api::namespaced(cluster.client.clone(), &cluster.name);
    let mut ticks = tokio::time::interval(Duration::from_millis(50));
    let told = async {
        loop {
            ticks.tick().await;
            let status = gangs.get(gang).await.expect("the gang").status.unwrap_or_default();
            if status.conditions.iter().any(|one| one.type_ == "Scheduled" && one.reason == reason) {
                return;
            }
        }
    };
    let told = tokio::time::timeout(PATIENCE, told).await;
    told.unwrap_or_else(|_| panic!("{gang} does not say {reason}\n{}", scheduler.said()));
}
