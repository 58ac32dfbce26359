//! What is asked, of which webhooks. The code is what a real server answers; the rest of the answer is compared.

use serde_json::{Value, json};

use crate::servers::{Caller, Caller::Admin};

/// Whether a webhook changes objects or judges them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Mutating,
    Validating,
}
use Kind::{Mutating, Validating};

/// Webhooks, and requests that concern them; both in a namespace with the name of the case.
pub struct Case {
    pub name: &'static str,
    /// Name, path, and what differs from [`usual`].
    pub hooks: Hooks,
    /// The code, who asks, the verb, the path and the body.
    pub steps: Steps,
    /// Whether it needs a webhook that is called by URL.
    pub by_url: bool,
}

/// Who is concerned if nothing else is said.
pub fn usual() -> Value {
    json!({
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
        "sideEffects": "None", "admissionReviewVersions": ["v1"],
    })
}

const MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";
const PODS: &str = "/api/v1/namespaces/{ns}/pods";

fn rules(operations: &[&str], resources: &[&str]) -> Value {
    json!({"rules": [{
        "apiGroups": [""], "apiVersions": ["v1"], "operations": operations, "resources": resources,
    }]})
}

/// Concerned with objects that carry this label.
fn labelled(label: &str, other: &Value) -> Value {
    let mut hook = json!({"objectSelector": {"matchLabels": {"hook": label}}});
    json_patch::merge(&mut hook, other);
    hook
}

fn map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"hook": name}}, "data": {"a": "b"}})
}

fn pod(name: &str) -> Value {
    let containers = json!([{"name": "main", "image": "registry.example.com/main"}]);
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers}})
}

fn create(code: u16, name: &str) -> (u16, Caller, &'static str, &'static str, Value) {
    (code, Admin, "POST", MAPS, map(name))
}

type Hooks = Vec<(Kind, &'static str, &'static str, Value)>;
type Steps = Vec<(u16, Caller, &'static str, &'static str, Value)>;

fn case(by_url: bool, name: &'static str, hooks: Hooks, steps: Steps) -> Case {
    Case { name, hooks, steps, by_url }
}

/// All cases.
pub fn all() -> Vec<Case> {
    judgements().into_iter().chain(matches()).chain(objects()).collect()
}

/// What webhooks say, and what follows.
fn judgements() -> Vec<Case> {
    vec![
        case(
            false,
            "order",
            vec![
                (Mutating, "b", "append/b", json!({})),
                (Mutating, "a", "append/a", json!({"reinvocationPolicy": "IfNeeded"})),
                (Validating, "c", "allow", json!({})),
            ],
            vec![create(201, "m"), (200, Admin, "GET", "/api/v1/namespaces/{ns}/configmaps/m", Value::Null)],
        ),
        case(
            false,
            "settled",
            vec![
                (Mutating, "a", "allow", json!({"reinvocationPolicy": "IfNeeded"})),
                (Mutating, "b", "once", json!({"reinvocationPolicy": "IfNeeded"})),
            ],
            vec![create(201, "m")],
        ),
        case(
            false,
            "denials",
            denials(),
            ["whole", "code", "reason", "odd", "bare"].map(|name| create(0, name)).to_vec(),
        ),
        case(
            false,
            "selected",
            vec![(Validating, "deny", "deny/whole", labelled("x", &json!({})))],
            vec![
                create(422, "x"),
                create(201, "y"),
                (422, Admin, "POST", MAPS, json!({"metadata": {"name": "z", "labels": {"hook": "x"}}})),
            ],
        ),
        case(
            false,
            "warnings",
            vec![(Validating, "w", "warn", json!({})), (Mutating, "w", "warn", json!({}))],
            vec![create(201, "m")],
        ),
        case(
            true,
            "failures",
            failures(),
            ["nobody", "nobody-matters-not", "never", "never-matters-not", "stranger-to-me"]
                .map(|name| create(0, name))
                .to_vec(),
        ),
        case(
            false,
            "answers",
            answers(),
            ["stranger", "empty", "list", "kind", "untyped", "nothing"].map(|name| create(0, name)).to_vec(),
        ),
        case(true, "broken", vec![(Validating, "b", "broken", json!({}))], vec![create(500, "m")]),
    ]
}

/// Who is asked.
fn matches() -> Vec<Case> {
    vec![
        case(
            false,
            "conditions",
            conditions(),
            ["true", "false", "error", "error-matters-not"].map(|name| create(0, name)).to_vec(),
        ),
        case(
            false,
            "operations",
            vec![
                (Validating, "all", "allow/all", rules(&["CREATE", "UPDATE", "DELETE"], &["configmaps"])),
                (Validating, "updates", "allow/updates", rules(&["UPDATE"], &["*"])),
                (Validating, "deletion", "deny/whole", labelled("kept", &rules(&["DELETE"], &["configmaps"]))),
            ],
            operations(),
        ),
        case(
            false,
            "subresources",
            vec![
                (Validating, "pods", "allow/pods", rules(&["CREATE", "UPDATE"], &["pods"])),
                (Validating, "status", "allow/status", rules(&["CREATE", "UPDATE"], &["pods/status"])),
                (Validating, "below", "allow/below", rules(&["CREATE", "UPDATE"], &["pods/*"])),
                (Validating, "every", "allow/every", rules(&["CREATE", "UPDATE"], &["*/*"])),
            ],
            vec![
                (201, Admin, "POST", PODS, pod("p")),
                (
                    200,
                    Caller::Node,
                    "PATCH",
                    "/api/v1/namespaces/{ns}/pods/p/status",
                    json!({"status": {"message": "m"}}),
                ),
                (200, Admin, "PATCH", "/api/v1/namespaces/{ns}/pods/p", json!({"metadata": {"labels": {"a": "b"}}})),
            ],
        ),
    ]
}

/// What becomes of the objects.
fn objects() -> Vec<Case> {
    vec![
        case(
            false,
            "defaults",
            vec![(Mutating, "sidecar", "container/sidecar", rules(&["CREATE"], &["pods"]))],
            vec![
                (201, Admin, "POST", PODS, pod("p")),
                (201, Admin, "POST", "/api/v1/namespaces/{ns}/pods?fieldManager=me", pod("q")),
            ],
        ),
        case(
            false,
            "faulty",
            vec![(Mutating, "main", "container/main", rules(&["CREATE"], &["pods"]))],
            vec![(422, Admin, "POST", PODS, pod("p"))],
        ),
        case(
            false,
            "dry",
            vec![
                (Mutating, "a", "append/a", json!({"sideEffects": "NoneOnDryRun"})),
                (Validating, "b", "allow", json!({})),
            ],
            vec![
                (201, Admin, "POST", "/api/v1/namespaces/{ns}/configmaps?dryRun=All", map("m")),
                (404, Admin, "GET", "/api/v1/namespaces/{ns}/configmaps/m", Value::Null),
            ],
        ),
        case(
            false,
            "users",
            vec![(Validating, "a", "allow", json!({}))],
            vec![(201, Caller::Node, "POST", MAPS, map("m"))],
        ),
    ]
}

fn denials() -> Hooks {
    let paths = [
        ("whole", "deny/whole"),
        ("code", "deny/code"),
        ("reason", "deny/reason"),
        ("odd", "deny/odd"),
        ("bare", "deny/bare"),
    ];
    paths.map(|(name, path)| (Validating, name, path, labelled(name, &json!({})))).to_vec()
}

fn failures() -> Hooks {
    let ignored = || json!({"failurePolicy": "Ignore", "timeoutSeconds": 1});
    let soon = || json!({"timeoutSeconds": 1});
    vec![
        (Validating, "nobody", "nobody", labelled("nobody", &json!({}))),
        (Mutating, "nobody-matters-not", "nobody", labelled("nobody-matters-not", &ignored())),
        (Mutating, "never", "never", labelled("never", &soon())),
        (Validating, "never-matters-not", "never", labelled("never-matters-not", &ignored())),
        (Validating, "stranger-to-me", "stranger-to-me", labelled("stranger-to-me", &soon())),
    ]
}

fn answers() -> Hooks {
    let paths = [
        ("stranger", "stranger"),
        ("empty", "empty"),
        ("list", "list"),
        ("kind", "patch/kind"),
        ("untyped", "patch/untyped"),
        ("nothing", "patch/nothing"),
    ];
    paths.map(|(name, path)| (Mutating, name, path, labelled(name, &json!({})))).to_vec()
}

fn conditions() -> Hooks {
    let conditions = |expressions: &[&str]| -> Value {
        let one = |(at, expression): (usize, &&str)| json!({"name": format!("c{at}"), "expression": expression});
        json!({"matchConditions": expressions.iter().enumerate().map(one).collect::<Value>()})
    };
    let error = "object.data.missing == 'b'";
    let mut ignored = conditions(&[error]);
    ignored["failurePolicy"] = json!("Ignore");
    let holds = [
        "object.data.a == 'b' && oldObject == null",
        "request.operation == 'CREATE' && request.userInfo.username == 'admin' && request.resource.resource == 'configmaps'",
    ];
    vec![
        (Validating, "true", "deny/bare", labelled("true", &conditions(&holds))),
        (Validating, "false", "deny/bare", labelled("false", &conditions(&["true", "object.data.a == 'c'", error]))),
        (Validating, "error", "deny/bare", labelled("error", &conditions(&["true", error]))),
        (Validating, "error-matters-not", "deny/bare", labelled("error-matters-not", &ignored)),
    ]
}

fn operations() -> Steps {
    const ONE: &str = "/api/v1/namespaces/{ns}/configmaps/m";
    let mut changed = map("m");
    changed["data"]["a"] = json!("c");
    vec![
        create(201, "m"),
        create(409, "m"),
        create(201, "kept"),
        (200, Admin, "PUT", ONE, changed),
        (
            200,
            Caller::Node,
            "PATCH",
            "/api/v1/namespaces/{ns}/configmaps/m?fieldManager=me",
            json!({"data": {"d": "e"}}),
        ),
        (
            200,
            Admin,
            "DELETE",
            "/api/v1/namespaces/{ns}/configmaps/m?propagationPolicy=Background&gracePeriodSeconds=7",
            Value::Null,
        ),
        (404, Admin, "DELETE", ONE, Value::Null),
        (422, Admin, "DELETE", "/api/v1/namespaces/{ns}/configmaps/kept", Value::Null),
    ]
}
