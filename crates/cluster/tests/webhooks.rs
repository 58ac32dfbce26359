//! Webhooks are called by the embedded API as by kube-apiserver: the same requests go to both, with the same webhooks on loopback, and
//! the answers and what the webhooks were asked are compared. Then once more with webhooks in process.

#[path = "webhooks/cases.rs"]
mod cases;
#[path = "webhooks/hook.rs"]
mod hook;
#[path = "webhooks/servers.rs"]
mod servers;

use std::time::Duration;

use serde_json::{Value, json};

use cases::{Case, Kind};
use servers::{Caller, Server};

const NAMESPACES: &str = "/api/v1/namespaces";
/// How often a real server is asked whether it knows the webhooks by now.
const TICK: Duration = Duration::from_millis(50);
const TICKS: usize = 600;

#[tokio::test(flavor = "multi_thread")]
async fn webhooks_are_called_as_by_kube_apiserver() {
    let (real, embedded, inside) = tokio::join!(servers::real(), servers::embedded(false), servers::embedded(true));
    let mut faults = Vec::new();
    let (expected, by_url, in_process) = tokio::join!(play(&real), play(&embedded), play(&inside));
    for (case, expected) in cases::all().iter().zip(&expected) {
        for (server, answers) in [(&embedded, &by_url), (&inside, &in_process)] {
            let answers = answers.iter().find(|(name, _)| *name == case.name);
            faults.extend(
                answers.into_iter().flat_map(|(_, answers)| differences(case, server.name, &expected.1, answers)),
            );
        }
    }
    for ((code, ..), answer) in cases::all()
        .iter()
        .zip(&expected)
        .flat_map(|(case, (_, answers))| case.steps.clone().into_iter().zip(answers.clone()))
    {
        if code != 0 && answer["code"] != code {
            faults.push(format!("kube-apiserver does not answer {code}: {answer:#}"));
        }
    }
    assert!(faults.is_empty(), "{} differences\n{}", faults.len(), faults.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn custom_objects_are_converted_as_by_kube_apiserver() {
    let (real, embedded) = tokio::join!(servers::real(), servers::embedded(false));
    let (expected, found) = tokio::join!(convert(&real), convert(&embedded));
    assert_eq!(expected[0]["code"], 201, "{:#}", expected[0]);
    let faults: Vec<String> = expected
        .iter()
        .zip(&found)
        .enumerate()
        .filter(|(_, (one, other))| one != other)
        .map(|(at, (one, other))| format!("step {at}: kube-apiserver\n{one:#}\nthe embedded API\n{other:#}"))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Makes all webhooks of all cases, waits until they are known, and plays the cases.
async fn play(server: &Server) -> Vec<(&'static str, Vec<Value>)> {
    let mut cases = cases::all();
    cases.retain(|case| server.calls_by_url() || !case.by_url);
    for case in &cases {
        make_namespace(server, case.name).await;
        for (kind, name, path, other) in &case.hooks {
            make_hook(server, *kind, case.name, name, path, other).await;
        }
    }
    ready(server).await;
    let mut answers = Vec::new();
    for case in cases {
        let mut of_case = Vec::new();
        for (_, caller, method, path, body) in &case.steps {
            let (_, mut answer) = server.ask(*caller, method, &path.replace("{ns}", case.name), body).await;
            answer["asked"] = server.asked();
            of_case.push(answer);
        }
        answers.push((case.name, of_case));
    }
    answers
}

async fn make_namespace(server: &Server, name: &str) {
    let namespace = json!({"metadata": {"name": name, "labels": {"case": name}}});
    let (code, answer) = server.ask(Caller::Admin, "POST", NAMESPACES, &namespace).await;
    assert_eq!(code, 201, "{answer:#}");
}

async fn make_hook(server: &Server, kind: Kind, case: &str, name: &str, path: &str, other: &Value) {
    let (kind, plural) = match kind {
        Kind::Mutating => ("MutatingWebhookConfiguration", "mutatingwebhookconfigurations"),
        Kind::Validating => ("ValidatingWebhookConfiguration", "validatingwebhookconfigurations"),
    };
    let mut hook = cases::usual();
    hook["name"] = format!("{name}.{case}.example.com").into();
    hook["namespaceSelector"] = json!({"matchLabels": {"case": case}});
    hook["clientConfig"] = server.client_config(path);
    json_patch::merge(&mut hook, other);
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
        "metadata": {"name": format!("{case}-{name}")}, "webhooks": [hook],
    });
    let path = format!("/apis/admissionregistration.k8s.io/v1/{plural}");
    let (code, answer) = server.ask(Caller::Admin, "POST", &path, &configuration).await;
    assert_eq!(code, 201, "{answer:#}");
}

/// Waits until the last webhook of each kind is called, and with it all that were made before.
async fn ready(server: &Server) {
    for kind in [Kind::Mutating, Kind::Validating] {
        let name = format!("ready-{kind:?}").to_lowercase();
        make_namespace(server, &name).await;
        make_hook(server, kind, &name, "last", "deny/bare", &json!({})).await;
        let map = json!({"metadata": {"generateName": "m"}});
        let mut ticks = tokio::time::interval(TICK);
        for tick in 0.. {
            ticks.tick().await;
            let path = format!("{NAMESPACES}/{name}/configmaps");
            if server.ask(Caller::Admin, "POST", &path, &map).await.0 == 400 {
                break;
            }
            assert!(tick < TICKS, "{} does not call webhooks", server.name);
        }
    }
    server.asked();
}

fn differences(case: &Case, server: &str, expected: &[Value], found: &[Value]) -> Vec<String> {
    let mut faults = Vec::new();
    for (at, (expected, found)) in expected.iter().zip(found).enumerate() {
        let mut lines = Vec::new();
        compare("", expected, found, &mut lines);
        if !lines.is_empty() {
            let (_, _, method, path, _) = &case.steps[at];
            faults.push(format!("{}, step {at} ({method} {path}), {server}:\n{}", case.name, lines.join("\n")));
        }
    }
    faults
}

/// Where two values differ.
fn compare(at: &str, expected: &Value, found: &Value, lines: &mut Vec<String>) {
    match (expected, found) {
        (Value::Object(one), Value::Object(other)) => {
            let mut names: Vec<&String> = one.keys().chain(other.keys()).collect();
            names.sort_unstable();
            names.dedup();
            for name in names {
                compare(&format!("{at}/{name}"), &expected[name], &found[name], lines);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (one, other)) in one.iter().zip(other).enumerate() {
                compare(&format!("{at}/{index}"), one, other, lines);
            }
        }
        _ if expected != found => lines.push(format!("  {at}: {expected}\n    here: {found}")),
        _ => {}
    }
}

/// A kind with two versions that a webhook converts, and what is said about its objects.
async fn convert(server: &Server) -> Vec<Value> {
    let mut said = Vec::new();
    for (plural, path) in
        [("lengths", "convert/well"), ("widths", "convert/fail"), ("heights", "nobody"), ("depths", "list")]
    {
        let kind = plural[..1].to_uppercase() + &plural[1..plural.len() - 1];
        let group = "webhooks.example.com";
        let version = |name: &str, field: &str, of: &str, storage: bool| {
            let spec = json!({"type": "object", "properties": {field: {"type": of}}});
            let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}});
            json!({"name": name, "served": true, "storage": storage, "schema": schema})
        };
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{group}")},
            "spec": {
                "group": group, "scope": "Cluster", "names": {"plural": plural, "kind": kind},
                "versions": [version("v1", "size", "integer", true), version("v2", "words", "string", false)],
                "conversion": {"strategy": "Webhook", "webhook": {
                    "clientConfig": server.client_config(path), "conversionReviewVersions": ["v1"],
                }},
            },
        });
        let (code, answer) = server
            .ask(Caller::Admin, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition)
            .await;
        assert_eq!(code, 201, "{answer:#}");
        let objects = |version: &str| format!("/apis/{group}/{version}/{plural}");
        let object = |version: &str, name: &str, spec: Value| json!({"apiVersion": format!("{group}/{version}"), "kind": kind, "metadata": {"name": name}, "spec": spec});
        for version in ["v1", "v2"] {
            served(server, &objects(version)).await;
        }
        server.asked();
        let steps = [
            ("POST", objects("v1"), object("v1", "a", json!({"size": 3}))),
            ("GET", objects("v1") + "/a", Value::Null),
            ("GET", objects("v2") + "/a", Value::Null),
            ("POST", objects("v2"), object("v2", "b", json!({"words": "four"}))),
            ("GET", objects("v1") + "/b", Value::Null),
            ("GET", objects("v2"), Value::Null),
            ("PATCH", objects("v2") + "/a", json!({"spec": {"words": "xxxxx"}})),
            ("GET", objects("v1"), Value::Null),
            ("DELETE", objects("v2") + "/a", Value::Null),
        ];
        for (method, path, body) in steps {
            let (_, answer) = server.ask(Caller::Admin, method, &path, &body).await;
            said.push(answer);
        }
    }
    said
}

async fn served(server: &Server, path: &str) {
    let mut ticks = tokio::time::interval(TICK);
    for tick in 0.. {
        ticks.tick().await;
        if server.ask(Caller::Admin, "GET", path, &Value::Null).await.0 == 200 {
            return;
        }
        assert!(tick < TICKS, "{} does not serve {path}", server.name);
    }
}
