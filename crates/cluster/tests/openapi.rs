//! The tables of the built-in kinds against what a real server publishes: list types, merge keys, atomic parts, defaults.

use http::Request;
use serde_json::Value;
use trellis_cluster::builtin;
use trellis_testkit::ControlPlane;

/// The documents of the groups whose kinds are built in.
const DOCUMENTS: [&str; 14] = [
    "api/v1",
    "apis/admissionregistration.k8s.io/v1",
    "apis/apiextensions.k8s.io/v1",
    "apis/authentication.k8s.io/v1",
    "apis/authorization.k8s.io/v1",
    "apis/autoscaling/v2",
    "apis/coordination.k8s.io/v1",
    "apis/events.k8s.io/v1",
    "apis/node.k8s.io/v1",
    "apis/policy/v1",
    "apis/rbac.authorization.k8s.io/v1",
    "apis/resource.k8s.io/v1",
    "apis/scheduling.k8s.io/v1",
    "apis/storage.k8s.io/v1",
];

#[tokio::test]
async fn built_in_kinds_have_the_shape_that_a_real_server_publishes() {
    let client = ControlPlane::shared().await.unwrap().client().unwrap();
    let mut differences = Vec::new();
    for path in DOCUMENTS {
        let request = Request::get(format!("/openapi/v3/{path}")).body(Vec::new()).unwrap();
        let document: Value = serde_json::from_str(&client.request_text(request).await.unwrap()).unwrap();
        assert!(document["components"]["schemas"].as_object().is_some_and(|schemas| schemas.len() > 3), "{path}");
        differences
            .extend(builtin::differences(&document).into_iter().map(|difference| format!("{path}: {difference}")));
    }
    assert_eq!(differences, Vec::<String>::new());
}
