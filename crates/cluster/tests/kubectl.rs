//! People's kubectl, unmodified, an old one and a new one, against the embedded API: every command that they use every
//! day, on built-in kinds and on a custom one. What is expected here is what the same kubectl shows on a real API
//! server.

#[path = "kubectl/cases.rs"]
mod cases;
#[path = "kubectl/run.rs"]
mod run;

use std::path::{Path, PathBuf};

use run::Kubectl;
use tempfile::TempDir;
use trellis_cluster::api::{Api, Behaviour, Options};
use trellis_cluster::controllers;
use trellis_cluster::serve::Server;
use trellis_testkit::kubectl::Version;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_kubectl_works() {
    check(&embedded().await.kubeconfig, Version::V1_30).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_kubectl_works() {
    check(&embedded().await.kubeconfig, Version::V1_36).await;
}

/// An embedded API with the controllers of a cluster and without simulated nodes, served on loopback until the test ends.
struct Embedded {
    kubeconfig: PathBuf,
    _folder: TempDir,
}

async fn embedded() -> Embedded {
    let behaviour = Behaviour { service_accounts: true, taint_new_nodes: false };
    let api = Api::new(Options { behaviour, ..Options::default() });
    tokio::spawn(controllers::run(api.clone(), controllers::Options::default(), std::future::pending()));
    api.furnish().await.expect("namespaces");
    let server = Server::bind(api, ([127, 0, 0, 1], 0).into()).await.expect("a free port");
    let folder = TempDir::new().expect("a folder");
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, server.kubeconfig("embedded").expect("an address").to_string()).expect("a file");
    tokio::spawn(server.run(std::future::pending()));
    Embedded { kubeconfig, _folder: folder }
}

/// Runs all commands on an empty cluster, and leaves it empty.
async fn check(kubeconfig: &Path, version: Version) {
    let mut kubectl = Kubectl::new(kubeconfig, version).await;
    kubectl.one_by_one(cases::SETUP).await;
    kubectl.together(cases::ABOUT).await;
    kubectl.one_by_one(cases::CREATE).await;
    kubectl.together(cases::READ).await;
    tokio::join!(
        kubectl.one_by_one(cases::APPLY),
        kubectl.one_by_one(cases::NODES),
        kubectl.one_by_one(cases::BUILT_IN),
        kubectl.watch_each(cases::WATCHES),
    );
    kubectl.one_by_one(cases::HELD).await;
    kubectl.together(cases::RELEASED).await;
    kubectl
        .remember(&["{conf}", "{alpha}"], "get configmap/conf gang/alpha -o jsonpath={.items[*].metadata.uid}")
        .await;
    kubectl.one_by_one(cases::OWNERS).await;
    kubectl.together(cases::CLEANUP).await;
}
