//! Bodies that kubectl 1.36 sent, and some that Go programs wrote, in base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{KINDS, decode, decodes, messages};

fn check(body: &str, expected: &Value) {
    let body = STANDARD.decode(body).expect("base64");
    let (api_version, kind) =
        (expected["apiVersion"].as_str().expect("a version"), expected["kind"].as_str().expect("a kind"));
    assert_eq!(decode(&body, api_version, kind).as_ref(), Ok(expected));
}

#[test]
fn reads_what_kubectl_sends() {
    check(
        "azhzAAoPCgJ2MRIJTmFtZXNwYWNlEhsKEwoDcGIxEgAaACIAKgAyADgAQgASABoCCgAaACIA",
        &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "pb1"}, "spec": {}, "status": {}}),
    );
    check(
        "azhzAAoPCgJ2MRIJQ29uZmlnTWFwEiQKGgoDY20xEgAaB3BhdGNoLXgiACoAMgA4AEIAEgYKAWESAWIaACIA",
        &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm1", "namespace": "patch-x"}, "data": {"a": "b"}}),
    );
    check(
        "azhzAAoMCgJ2MRIGU2VjcmV0EiUKGQoCczESABoHcGF0Y2gteCIAKgAyADgAQgASBgoBYRIBYhoAGgAiAA==",
        &json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s1", "namespace": "patch-x"}, "data": {"a": "Yg=="}}),
    );
    check(
        concat!(
            "azhzAAooChhhdXRoZW50aWNhdGlvbi5rOHMuaW8vdjESDFRva2VuUmVxdWVzdBIgChAKABIAGgAiACoAMgA4AEIAEgYKAXggkBwa",
            "BAoAEgAaACIA",
        ),
        &json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": {},
            "spec": {"audiences": ["x"], "expirationSeconds": 3600}, "status": {"token": "", "expirationTimestamp": null},
        }),
    );
    check(
        concat!(
            "azhzAAogCglwb2xpY3kvdjESE1BvZERpc3J1cHRpb25CdWRnZXQSQgobCgRwZGIxEgAaB3BhdGNoLXgiACoAMgA4AEIAEhcKCQgB",
            "EAAaAzUwJRIKCggKA2FwcBIBYRoKCAAYACAAKAAwABoAIgA=",
        ),
        &json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "pdb1", "namespace": "patch-x"},
            "spec": {"minAvailable": "50%", "selector": {"matchLabels": {"app": "a"}}},
            "status": {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0},
        }),
    );
    check(
        concat!(
            "azhzAAoNCgJ2MRIHU2VydmljZRJ2CigKBHN2YzESABoHcGF0Y2gteCIAKgAyADgAQgBaCwoDYXBwEgRzdmMxEkYKHgoHODAtaHR0",
            "cBIDVENQGFAiCggBEAAaBGh0dHAoABILCgNhcHASBHN2YzEaACIJQ2x1c3RlcklQOgBCAFIAWgBgAGgAGgIKABoAIgA=",
        ),
        &json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "svc1", "namespace": "patch-x", "labels": {"app": "svc1"}},
            "spec": {
                "ports": [{"name": "80-http", "protocol": "TCP", "port": 80, "targetPort": "http"}],
                "selector": {"app": "svc1"}, "type": "ClusterIP",
            },
            "status": {"loadBalancer": {}},
        }),
    );
    check(
        concat!(
            "azhzAAolChRzY2hlZHVsaW5nLms4cy5pby92MRINUHJpb3JpdHlDbGFzcxIxChMKA3BjMRIAGgAiACoAMgA4AEIAEAAYACIAKhRQ",
            "cmVlbXB0TG93ZXJQcmlvcml0eRoAIgA=",
        ),
        &json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "pc1"}, "value": 0,
            "preemptionPolicy": "PreemptLowerPriority",
        }),
    );
    check(
        concat!(
            "azhzAAoyChdhdXRob3JpemF0aW9uLms4cy5pby92MRIXU2VsZlN1YmplY3RBY2Nlc3NSZXZpZXcSQgoQCgASABoAIgAqADIAOABC",
            "ABIkCiIKB3BhdGNoLXgSA2dldBoAIgAqBHBvZHMyA2xvZzoDbG9nGggIABIAGgAgABoAIgA=",
        ),
        &json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "metadata": {},
            "spec": {"resourceAttributes": {
                "namespace": "patch-x", "verb": "get", "resource": "pods", "subresource": "log", "name": "log",
            }},
            "status": {"allowed": false},
        }),
    );
    check(
        concat!(
            "azhzAAotChhhdXRoZW50aWNhdGlvbi5rOHMuaW8vdjESEVNlbGZTdWJqZWN0UmV2aWV3EhoKEAoAEgAaACIAKgAyADgAQgASBgoE",
            "CgASABoAIgA=",
        ),
        &json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview", "metadata": {}, "status": {"userInfo": {}},
        }),
    );
    check(
        concat!(
            "azhzAAorChxyYmFjLmF1dGhvcml6YXRpb24uazhzLmlvL3YxEgtDbHVzdGVyUm9sZRIgChMKA2NyMRIAGgAiACoAMgA4AEIAEgkK",
            "A2dldCoCL3gaACIA",
        ),
        &json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "cr1"},
            "rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}],
        }),
    );
}

#[test]
fn reads_everything_in_metadata() {
    check(
        concat!(
            "azhzAAofChZjb29yZGluYXRpb24uazhzLmlvL3YxEgVMZWFzZRKMAwrCAgoFczY2NTESBXM2NjUyGgVzNjY1MyIFczY2NTQqBXM2",
            "NjU1MgVzNjY1Njj/y/////////8BQggIgpbQqgYQAEoICISW0KoGEABQ+sv/////////AVoOCgVrNjY2NBIFczY2NjRiDgoFazY2",
            "NjYSBXM2NjY2aiAKBXM2NjcwGgVzNjY3MSIFczY2NzIqBXM2NjY5MAE4AWogCgVzNjY3ORoFczY2ODAiBXM2NjgxKgVzNjY3ODAB",
            "OAFyBXM2Njg3cgVzNjY4OIoBOwoFczY2OTESBXM2NjkyGgVzNjY5MyIICKeW0KoGEAAyBXM2Njk2OgwKCnsiZjphIjp7fX1CBXM2",
            "Njk5igE7CgVzNjcwMRIFczY3MDIaBXM2NzAzIggIsZbQqgYQADIFczY3MDY6DAoKeyJmOmEiOnt9fUIFczY3MDkSRQoFczY3MTIQ",
            "xsv/////////ARoLCLyW0KoGEICU7zoiCwi+ltCqBhCAlO86KMDL/////////wEyBXM2NzIyOgVzNjcyNBoAIgA=",
        ),
        &json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {
                "name": "s6651",
                "generateName": "s6652",
                "namespace": "s6653",
                "selfLink": "s6654",
                "uid": "s6655",
                "resourceVersion": "s6656",
                "generation": -6657,
                "creationTimestamp": "2023-11-15T00:04:18Z",
                "deletionTimestamp": "2023-11-15T00:04:20Z",
                "deletionGracePeriodSeconds": -6662,
                "labels": {"k6664": "s6664"},
                "annotations": {"k6666": "s6666"},
                "ownerReferences": [
                    {
                        "apiVersion": "s6669", "kind": "s6670", "name": "s6671", "uid": "s6672",
                        "controller": true, "blockOwnerDeletion": true,
                    },
                    {
                        "apiVersion": "s6678", "kind": "s6679", "name": "s6680", "uid": "s6681",
                        "controller": true, "blockOwnerDeletion": true,
                    },
                ],
                "finalizers": ["s6687", "s6688"],
                "managedFields": [
                    {
                        "manager": "s6691", "operation": "s6692", "apiVersion": "s6693",
                        "time": "2023-11-15T00:04:55Z", "fieldsType": "s6696", "fieldsV1": {"f:a": {}}, "subresource": "s6699",
                    },
                    {
                        "manager": "s6701", "operation": "s6702", "apiVersion": "s6703",
                        "time": "2023-11-15T00:05:05Z", "fieldsType": "s6706", "fieldsV1": {"f:a": {}}, "subresource": "s6709",
                    },
                ],
            },
            "spec": {
                "holderIdentity": "s6712",
                "leaseDurationSeconds": -6714,
                "acquireTime": "2023-11-15T00:05:16.123456Z",
                "renewTime": "2023-11-15T00:05:18.123456Z",
                "leaseTransitions": -6720,
                "strategy": "s6722",
                "preferredHolder": "s6724",
            },
        }),
    );
}

#[test]
fn keeps_zeros_that_mean_something() {
    check(
        "azhzAAofCg5tZXRhLms4cy5pby92MRINRGVsZXRlT3B0aW9ucxISCAASBAoAEgAYACIAKgAqADAAGgAiAA==",
        &json!({
            "apiVersion": "meta.k8s.io/v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0,
            "preconditions": {"uid": "", "resourceVersion": ""}, "orphanDependents": false, "propagationPolicy": "",
            "dryRun": ["", ""], "ignoreStoreReadErrorWithClusterBreakingPotential": false,
        }),
    );
}

/// What is said of a body for a namespace.
fn refusal(body: &[u8]) -> String {
    decode(body, "v1", "Namespace").expect_err("a refusal").message
}

#[test]
fn refuses_as_a_real_server_does() {
    let unrecognized = "the object provided is unrecognized (must be of type Namespace):";
    let no_prefix = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]";
    assert_eq!(refusal(b""), format!("{unrecognized} empty data (<empty>)"));
    assert_eq!(refusal(b"{}"), format!("{unrecognized} {no_prefix} ({{}})"));
    assert_eq!(refusal(b"k8"), format!("{unrecognized} {no_prefix} (6b38)"));
    assert_eq!(refusal(b"k8s\0"), format!("{unrecognized} empty body (6b387300)"));
    assert_eq!(refusal(b"k8s\0\xff\xff\xff"), format!("{unrecognized} unexpected EOF (6b387300ffffff)"));
    let long = [&b"k8s\0\x0a\x7f"[..], &[1; 30]].concat();
    assert_eq!(refusal(&long), format!("{unrecognized} unexpected EOF (6b3873000a7f{} ...)", "01".repeat(24)));
    let body = |kind: &[u8], raw: &[u8]| {
        let [kind_length, raw_length] = [kind, raw].map(|part| u8::try_from(part.len()).expect("short"));
        let meta = [&[0x0a, 2][..], b"v1", &[0x12, kind_length], kind].concat();
        let meta_length = u8::try_from(meta.len()).expect("short");
        [&b"k8s\0"[..], &[0x0a, meta_length], &meta, &[0x12, raw_length], raw].concat()
    };
    let handled = "Namespace in version \"v1\" cannot be handled as a Namespace:";
    assert_eq!(refusal(&body(b"Namespace", b"\x0a\x50ab")), format!("{handled} unexpected EOF"));
    let wrong = "proto: wrong wireType = 0 for field ObjectMeta";
    assert_eq!(refusal(&body(b"Namespace", b"\x08\x01")), format!("{handled} {wrong}"));
    let group = "proto: Namespace: wiretype end group for non-group";
    assert_eq!(refusal(&body(b"Namespace", b"\x0c")), format!("{handled} {group}"));
    let unknown = "no kind \"Foo\" is registered for version \"v1\" in scheme \"pkg/runtime/scheme.go:111\"";
    assert_eq!(
        refusal(&body(b"Foo", b"")),
        format!("Foo in version \"v1\" cannot be handled as a Namespace: {unknown}")
    );
    // Without a kind it is what the request is about; fields that nobody knows are passed over.
    let nameless = [&b"k8s\0"[..], b"\x12\x09\x0a\x03\x0a\x01x\x9a\x06\x01y"].concat();
    assert_eq!(
        decode(&nameless, "v1", "Namespace"),
        Ok(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}}))
    );
}

#[test]
fn every_kind_has_its_messages() {
    for (api_version, kind, message) in KINDS {
        assert!(decodes(api_version, kind), "{kind}");
        let message = if message.is_empty() { kind } else { message };
        assert!(messages::fields(message).iter().any(|field| field.name == "metadata"), "{kind}");
    }
    assert!(decodes("v1", "DeleteOptions"));
    assert!(!decodes("v1", "Lease"));
    for field in messages::all() {
        if let messages::Kind::Message(name) = field.kind {
            assert!(messages::known(name), "{}: {name}", field.name);
        }
    }
}
