//! The webhooks as users meet them: refusals and defaults seen through kubectl, on the embedded API with the handler in process, and
//! on a real API server that asks over TLS; a rotation of certificates with requests under way; and the handler by itself.

#[path = "webhooks/cases.rs"]
mod cases;
#[path = "webhooks/certificates.rs"]
mod certificates;
#[path = "webhooks/handler.rs"]
mod handler;
#[path = "webhooks/kubectl.rs"]
mod kubectl;
#[path = "webhooks/rotation.rs"]
mod rotation;
/// The sockets that the binary serves webhooks on.
#[path = "../../cli/src/serve.rs"]
#[allow(dead_code, missing_docs)]
mod serve;
#[path = "webhooks/servers.rs"]
mod servers;
#[path = "webhooks/sockets.rs"]
mod sockets;

use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::json;
use trellis_api::kinds::ClusterTopology;
use trellis_api::kinds::config::Authorizer;
use trellis_api::settings::Settings;
use trellis_operator::webhooks::{install, uninstall};

use servers::Server;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_embedded_api_asks_in_process() {
    let server = servers::embedded().await;
    play(&server).await;
    leave(&server).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_server_asks_over_tls() {
    let (server, hooks) = servers::real().await;
    play(&server).await;
    rotation::play(&server, &hooks).await;
    leave(&server).await;
}

/// The whole story, from an empty cluster on.
async fn play(server: &Server) {
    assert!(install(&server.operator, &server.wanted(false)).await.expect("configurations"));
    server.is_asked().await;
    assert!(!install(&server.operator, &server.wanted(false)).await.expect("a look"), "{}: written again", server.name);

    server.kubectl.one_by_one(cases::TOPOLOGIES).await;
    the_operator_writes_its_topology(server).await;
    server.kubectl.one_by_one(cases::DEFAULTS).await;
    server.kubectl.one_by_one(cases::REFUSALS).await;
    server.kubectl.one_by_one(cases::UPDATES).await;
    server.kubectl.one_by_one(cases::LOCKS).await;
    server.kubectl.one_by_one(cases::GOING).await;

    server
        .answer_by(server.handler(Settings { topology_enabled: false, ..servers::settings() }, Authorizer::default()));
    server.kubectl.one_by_one(cases::TOPOLOGY_OFF).await;

    let exempt = vec!["system:serviceaccount:kai:scheduler".to_owned()];
    let authorizer = Authorizer { enabled: true, exempt_service_account_user_names: exempt };
    server.answer_by(server.handler(servers::settings(), authorizer));
    assert!(install(&server.operator, &server.wanted(true)).await.expect("configurations"));
    server.kubectl.one_by_one(cases::AUTHORIZER).await;
    the_operator_and_the_exempt_change_what_is_managed(server).await;
    assert!(install(&server.operator, &server.wanted(false)).await.expect("configurations"));
    server.kubectl.one_by_one(cases::NO_AUTHORIZER).await;
    server.answer_by(server.handler(servers::settings(), Authorizer::default()));
}

/// Of which nobody else may, and which does not need the webhook to be up.
async fn the_operator_writes_its_topology(server: &Server) {
    let topologies: Api<ClusterTopology> = Api::all(server.operator.clone());
    let level = |domain: &str, key: &str| json!({"domain": domain, "key": key});
    let object = json!({
        "apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopology", "metadata": {"name": "grove-topology"},
        "spec": {"levels": [level("zone", "example.com/zone"), level("host", "kubernetes.io/hostname")]},
    });
    server.fall_silent();
    let object = serde_json::from_value(object).expect("a topology");
    let made = topologies.create(&PostParams::default(), &object).await;
    made.unwrap_or_else(|error| panic!("{}: {error}", server.name));
    server.answer_by(server.handler(servers::settings(), Authorizer::default()));
    server.kubectl.one_by_one(cases::DEFAULT_TOPOLOGY).await;
}

async fn the_operator_and_the_exempt_change_what_is_managed(server: &Server) {
    let label = Patch::Merge(json!({"metadata": {"labels": {"touched": "yes"}}}));
    for client in [&server.operator, &server.exempt] {
        let pods: Api<k8s_openapi::api::core::v1::Pod> = Api::namespaced(client.clone(), "hooks");
        let patched = pods.patch("kept", &PatchParams::default(), &label).await;
        patched.unwrap_or_else(|error| panic!("{}: {error}", server.name));
    }
}

/// An operator that runs without webhooks leaves none that nobody answers.
async fn leave(server: &Server) {
    server.fall_silent();
    assert!(uninstall(&server.operator).await.expect("an end"));
    assert!(!uninstall(&server.operator).await.expect("a look"));
    server.kubectl.one_by_one(cases::NO_WEBHOOKS).await;
}
