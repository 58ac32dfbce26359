//! People's kubectl, unmodified, an old one and a new one, against the embedded API: every command that they use every
//! day, on built-in kinds and on a custom one. What is expected here is what the same kubectl shows on a real API
//! server.

#[path = "kubectl/cases.rs"]
mod cases;
#[path = "kubectl/run.rs"]
mod run;

use std::path::{Path, PathBuf};

use run::Kubectl;
use trellis_testkit::kubectl::Version;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_kubectl_works() {
    check(&embedded().await, Version::V1_30).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_kubectl_works() {
    check(&embedded().await, Version::V1_36).await;
}

// ---- TO BE FILLED IN ------------------------------------------------------------------------------------------------
// Start an embedded API of its own for each call, with the controllers of a cluster and without simulated nodes, serve
// it on loopback, and return the path of its kubeconfig. It has to live until the test process ends.
async fn embedded() -> PathBuf {
    PathBuf::from(std::env::var_os("KUBECTL_TEST_KUBECONFIG").expect("the embedded API is not started yet"))
}
// ---------------------------------------------------------------------------------------------------------------------

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
