//! A real API server takes our CRDs, our examples and everything that follows from them, without a murmur.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, Client};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tokio::sync::OnceCell;
use trellis_api::field::Path as FieldPath;
use trellis_testkit::{ControlPlane, objects};

/// Looks at most this often whether the server serves a new kind, ten times a second.
const LOOKS: usize = 300;

fn trellis(args: &[&str]) -> Vec<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_trellis")).args(args).output().expect("the binary runs");
    assert!(output.status.success(), "trellis {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    documents(&String::from_utf8(output.stdout).expect("text"))
}

fn documents(text: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(text).expect("YAML")
}

/// Files with examples, of which there are `least` at least.
fn files(folder: &str, least: usize) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(folder);
    let files = std::fs::read_dir(folder).expect("examples").map(|entry| entry.expect("entry").path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|ext| ext == "yaml")).collect();
    files.sort();
    assert!(files.len() >= least, "{least} examples at least, and there are {}", files.len());
    files
}

/// The examples, by file.
fn examples() -> Vec<(PathBuf, Vec<Value>)> {
    let files = files("", 10).into_iter();
    files.map(|file| (file.clone(), documents(&std::fs::read_to_string(file).expect("text")))).collect()
}

/// Creates an object and returns what the server made of it; a warning counts as a refusal.
async fn create(client: &Client, object: &Value) -> Value {
    let answer = objects::create(client, object).await.unwrap();
    assert_eq!(answer.warnings, Vec::<String>::new(), "{} {}", object["kind"], object["metadata"]["name"]);
    answer.object
}

async fn is_served(client: &Client, name: &str) -> bool {
    let crd: CustomResourceDefinition = Api::all(client.clone()).get(name).await.unwrap();
    let conditions = crd.status.and_then(|status| status.conditions).unwrap_or_default();
    let established = conditions.iter().any(|c| c.type_ == "Established" && c.status == "True");
    let url = format!("/apis/{}/{}", crd.spec.group, crd.spec.versions[0].name);
    let list = client.request_text(http::Request::get(url).body(Vec::new()).unwrap()).await;
    established && list.is_ok_and(|list| list.contains(&format!("\"{}\"", crd.spec.names.plural)))
}

/// A client of the one control plane, which serves our kinds and KAI's.
async fn cluster() -> Client {
    static READY: OnceCell<()> = OnceCell::const_new();
    let client = ControlPlane::shared().await.unwrap().client().unwrap();
    READY
        .get_or_init(async || {
            let crds = trellis(&["crds", "--with", "kai"]);
            assert_eq!(crds.len(), 11);
            for crd in &crds {
                create(&client, crd).await;
            }
            let mut ticks = tokio::time::interval(Duration::from_millis(100));
            for crd in &crds {
                let name = crd["metadata"]["name"].as_str().unwrap();
                let mut looks = 0;
                while !is_served(&client, name).await {
                    looks += 1;
                    assert!(looks < LOOKS, "{name} is not served");
                    ticks.tick().await;
                }
            }
        })
        .await;
    client
}

async fn create_namespace(client: &Client, name: &str) {
    create(client, &json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } })).await;
}

/// What the server adds on its own.
fn without_server_fields(mut object: Value) -> Value {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for field in ["creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"] {
            metadata.remove(field);
        }
    }
    object
}

/// An object with the schema's defaults, which the server fills in too.
fn with_schema_defaults(mut object: Value, schemas: &[CustomResourceDefinition]) -> Value {
    let crd = schemas.iter().find(|crd| object["kind"] == crd.spec.names.kind).expect("a kind of ours");
    let version =
        object["apiVersion"].as_str().and_then(|version| Some(version.split_once('/')?.1)).unwrap_or_default();
    let version = crd.spec.versions.iter().find(|served| served.name == version).expect("a version of it");
    let schema = serde_json::to_value(&version.schema).unwrap()["openAPIV3Schema"].clone();
    for part in ["spec", "status"] {
        let path = FieldPath::new(part);
        if let Some(value) = object.get_mut(part) {
            let checked = trellis_api::schema::check(&schema["properties"][part], value, &path);
            assert_eq!(checked.errors, [], "the schema finds no fault either");
        }
    }
    object
}

#[tokio::test]
async fn examples_are_stored_as_they_are_written() {
    let client = cluster().await;
    create_namespace(&client, "examples").await;
    let crds = trellis_api::crd::own();
    let mut topologies: Vec<Value> = Vec::new();
    for (file, objects) in examples() {
        for mut object in objects {
            if object["kind"] == "ClusterTopology" {
                // Several examples bring the same topology.
                if topologies.contains(&object) {
                    continue;
                }
                topologies.push(object.clone());
            } else {
                object["metadata"]["namespace"] = "examples".into();
            }
            create(&client, &object).await;
            let read = objects::read(&client, &object).await.unwrap().object;
            let expected = with_schema_defaults(object, &crds);
            assert_eq!(without_server_fields(read), expected, "{}", file.display());
        }
    }
}

#[tokio::test]
async fn everything_that_follows_from_the_examples_is_accepted() {
    let client = cluster().await;
    create_namespace(&client, "rendered").await;
    let class = json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": { "name": "training-high" }, "value": 1000
    });
    create(&client, &class).await;
    let kai = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/config/operator-kai.yaml");
    let mut kinds = std::collections::BTreeMap::<String, usize>::new();
    for (file, documents) in examples() {
        let has_default = documents.iter().any(|object| object["metadata"]["name"] == "grove-topology");
        let file = file.to_str().expect("a readable path");
        let mut rendered = trellis(&["render", "-f", file]);
        if !has_default {
            // The same set, served by KAI; what both renderings have in common is made once.
            let with_kai = trellis(&["render", "-f", file, "--config", kai.to_str().expect("a readable path")]);
            let others = with_kai.into_iter().filter(|object| object["kind"] == "PodGroup");
            rendered.extend(others);
        }
        for object in rendered {
            create(&client, &moved(object.clone(), "rendered")).await;
            *kinds.entry(object["kind"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
        }
    }
    for kind in
        ["Pod", "PodClique", "PodCliqueScalingGroup", "PodGang", "PodGroup", "Service", "HorizontalPodAutoscaler"]
    {
        assert!(kinds.contains_key(kind), "no {kind} among {kinds:?}");
    }
    for kind in ["ServiceAccount", "Role", "RoleBinding"] {
        assert!(kinds.contains_key(kind), "no {kind} among {kinds:?}");
    }
}

/// Dynamo's deployments in both versions, and OSMO's pools and workflows, where they are objects.
#[tokio::test]
async fn examples_of_other_kinds_are_stored_as_they_are_written() {
    let client = cluster().await;
    create_namespace(&client, "others").await;
    let crds = trellis_api::crd::served();
    let mut kinds = std::collections::BTreeMap::<String, usize>::new();
    // Most of OSMO's files are OSMO's own, and no objects.
    let osmo = files("osmo", 7).into_iter().filter(|file| file.ends_with("07-as-objects.yaml"));
    for file in files("dynamo", 7).into_iter().chain(osmo) {
        for mut object in documents(&std::fs::read_to_string(&file).expect("text")) {
            let kind = object["kind"].as_str().unwrap_or_default().to_owned();
            match kind.as_str() {
                "DynamoGraphDeployment" | "Workflow" => object["metadata"]["namespace"] = "others".into(),
                "Pool" => {}
                _ => continue,
            }
            create(&client, &object).await;
            let read = objects::read(&client, &object).await.unwrap().object;
            let expected = with_schema_defaults(object, &crds);
            assert_eq!(without_server_fields(read), expected, "{}", file.display());
            *kinds.entry(kind).or_default() += 1;
        }
    }
    assert!(kinds.get("DynamoGraphDeployment").is_some_and(|number| *number >= 7), "{kinds:?}");
    assert!(kinds.contains_key("Pool") && kinds.contains_key("Workflow"), "{kinds:?}");
}

/// What follows from deployments and workflows, down to their pods.
#[tokio::test]
async fn everything_that_follows_from_other_kinds_is_accepted() {
    /// Kinds that belong to no namespace; several files have them in common, and the server has them from elsewhere.
    const COMMON: [&str; 4] = ["ClusterTopology", "Topology", "Queue", "PriorityClass"];
    let client = cluster().await;
    for folder in ["dynamo", "osmo"] {
        let mut pods = 0;
        let all = files(folder, 7).into_iter().filter(|file| !file.ends_with("cluster.yaml"));
        for (i, file) in all.enumerate() {
            let namespace = format!("{folder}-{i}");
            create_namespace(&client, &namespace).await;
            for mut object in trellis(&["render", "-f", file.to_str().expect("a readable path")]) {
                if COMMON.iter().any(|kind| object["kind"] == *kind) {
                    continue;
                }
                if object["kind"] == "Pod" {
                    // A class that is not there is no fault of the pod's.
                    object["spec"].as_object_mut().expect("a pod").remove("priorityClassName");
                    pods += 1;
                }
                create(&client, &moved(object, &namespace)).await;
            }
        }
        assert!(pods >= 14, "only {pods} pods of {folder}");
    }
}

/// Moves an object to a namespace; subjects of a RoleBinding and references of a PodGang name it once more.
fn moved(mut object: Value, namespace: &str) -> Value {
    fn items<'a>(value: &'a mut Value, pointer: &str) -> impl Iterator<Item = &'a mut Value> {
        value.pointer_mut(pointer).and_then(Value::as_array_mut).into_iter().flatten()
    }
    object["metadata"]["namespace"] = namespace.into();
    items(&mut object, "/subjects").for_each(|subject| subject["namespace"] = namespace.into());
    for group in items(&mut object, "/spec/podgroups") {
        items(group, "/podReferences").for_each(|reference| reference["namespace"] = namespace.into());
    }
    object
}

#[tokio::test]
async fn sessions_that_are_rendered_are_accepted() {
    let client = cluster().await;
    create(
        &client,
        &json!({ "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": { "name": "high" }, "value": 7 }),
    )
    .await;
    let sessions = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions");
    let inputs = [
        "s000-story2-disaggregated/workload.yaml",
        "s001-story2-multi-cloud",
        "s002-translation/input.yaml",
        "kai-backend/workload.yaml",
        "startup-order/set.yaml",
        "resource-sharing/set.yaml",
    ];
    for (i, input) in inputs.into_iter().enumerate() {
        let namespace = format!("golden-{i}");
        create_namespace(&client, &namespace).await;
        let input = sessions.join(input);
        for object in trellis(&["render", "-f", input.to_str().expect("a readable path")]) {
            create(&client, &moved(object, &namespace)).await;
        }
    }
}

/// Rules that live in the schema hold without any webhook.
#[tokio::test]
async fn the_schema_refuses_by_itself() {
    let client = cluster().await;
    let topology = |levels: Value| {
        json!({
            "apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopology", "metadata": { "name": "refused" },
            "spec": { "levels": levels }
        })
    };
    let set = |constraint: Value| {
        json!({
            "apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet",
            "metadata": { "name": "refused", "namespace": "default" },
            "spec": { "template": { "topologyConstraint": constraint, "cliques": [
                { "name": "w", "spec": { "roleName": "w", "podSpec": { "containers": [{ "name": "c", "image": "i" }] } } }
            ] } }
        })
    };
    let long = "a".repeat(317);
    let cases = [
        (topology(json!([])), "spec.levels in body should have at least 1 items"),
        (topology(json!([{ "domain": "row", "key": "k" }])), "Unsupported value: \\\"row\\\""),
        (topology(json!([{ "domain": "rack", "key": "a b" }])), "should match"),
        (topology(json!([{ "domain": "rack", "key": long }])), "Too long"),
        (
            topology(json!([{ "domain": "rack", "key": "a" }, { "domain": "rack", "key": "b" }])),
            "domain must be unique across all levels",
        ),
        (
            topology(json!([{ "domain": "rack", "key": "a" }, { "domain": "host", "key": "a" }])),
            "key must be unique across all levels",
        ),
        (set(json!({ "packDomain": "row" })), "Unsupported value: \\\"row\\\""),
        (set(json!({})), "must specify packDomain or pack"),
        (
            set(json!({ "packDomain": "rack", "pack": { "preferred": "host" } })),
            "must not set both packDomain and pack",
        ),
        (set(json!({ "pack": {} })), "must specify at least one of required or preferred"),
        (set(json!({ "packDomain": "rack", "packLevel": "x" })), "unknown field"),
    ];
    for (object, message) in cases {
        let refusal = objects::create(&client, &object).await.expect_err(message).to_string();
        assert!(refusal.contains(message), "expected `{message}`, got: {refusal}");
    }
}

/// The scale subresource and the printed columns, as `kubectl scale` and `kubectl get` use them.
#[tokio::test]
async fn sets_can_be_scaled_and_listed() {
    let client = cluster().await;
    create_namespace(&client, "scaled").await;
    let set = json!({
        "apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "metadata": { "name": "s", "namespace": "scaled" },
        "spec": { "template": { "cliques": [
            { "name": "w", "spec": { "roleName": "w", "podSpec": { "containers": [{ "name": "c", "image": "i" }] } } }
        ] } }
    });
    create(&client, &set).await;
    let sets = "/apis/grove.io/v1alpha1/namespaces/scaled/podcliquesets";
    let patch = http::Request::patch(format!("{sets}/s/scale"))
        .header("content-type", "application/merge-patch+json")
        .body(br#"{"spec": {"replicas": 3}}"#.to_vec())
        .unwrap();
    let scale: Value = client.request(patch).await.unwrap();
    assert_eq!(scale["spec"]["replicas"], 3);
    let table = http::Request::get(sets)
        .header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
        .body(Vec::new())
        .unwrap();
    let table: Value = client.request(table).await.unwrap();
    let columns: Vec<&str> =
        table["columnDefinitions"].as_array().unwrap().iter().map(|column| column["name"].as_str().unwrap()).collect();
    let expected = [
        "Name",
        "Replicas",
        "Available",
        "Updated",
        "PCLQs-Updated",
        "PCLQs-Total",
        "PCSGs-Updated",
        "PCSGs-Total",
        "Age",
    ];
    assert_eq!(columns, expected);
    assert_eq!(table["rows"][0]["cells"][1], 3);
}
