//! Faults of the set that is made are told of the fields of the deployment that they come from.

use crate::support::{deployment, judge, view};
use serde_json::{Value, json};
use trellis_api::settings::Settings;

fn check_with(value: &Value, old: Option<&Value>, settings: &Settings, errors: &[&str]) {
    let verdict = judge(value, old, &view(), settings);
    let actual: Vec<String> = verdict.errors.iter().map(ToString::to_string).collect();
    let fits = |(expected, actual): (&&str, &String)| actual.starts_with(expected);
    let same = errors.len() == actual.len() && errors.iter().zip(&actual).all(fits);
    assert!(same, "expected {errors:#?}, got {actual:#?}");
}

fn check(spec: &Value, errors: &[&str]) {
    check_with(&deployment(spec), None, &Settings::default(), errors);
}

fn beta(pod: &Value) -> Value {
    json!({ "components": [{ "name": "Work", "type": "worker", "podTemplate": { "spec": pod } }] })
}

fn alpha(pod: &Value) -> Value {
    json!({ "services": { "Work": { "componentType": "worker", "extraPodSpec": pod } } })
}

#[test]
fn fields_of_pods() {
    let main = json!({ "name": "main", "image": "i" });
    check(
        &beta(&json!({ "containers": [main], "nodeName": "n" })),
        &["spec.components[0].podTemplate.spec.nodeName: Forbidden: must not be set"],
    );
    check(
        &alpha(&json!({ "mainContainer": main, "nodeName": "n" })),
        &["spec.services[Work].extraPodSpec.nodeName: Forbidden: must not be set"],
    );
    let odd = json!({ "name": "main", "image": "i", "ports": [{ "containerPort": "x" }] });
    check(
        &beta(&json!({ "containers": [odd] })),
        &["spec.components[0].podTemplate.spec.containers[0].ports[0].containerPort: Invalid value"],
    );
    check(
        &alpha(&json!({ "mainContainer": odd })),
        &["spec.services[Work].extraPodSpec.mainContainer.ports[0].containerPort: Invalid value"],
    );
    let twice = json!([main, { "name": "side", "image": "i" }, { "name": "side", "image": "i" }]);
    check(
        &beta(&json!({ "containers": twice })),
        &["spec.components[0].podTemplate.spec.containers[2].name: Duplicate value: \"side\""],
    );
    let side = json!([{ "name": "side", "image": "i" }, { "name": "side", "image": "i" }]);
    check(
        &alpha(&json!({ "mainContainer": main, "containers": side })),
        &["spec.services[Work].extraPodSpec.containers[1].name: Duplicate value: \"side\""],
    );
    let env = json!({ "name": "main", "image": "i", "env": [{ "name": "a=b", "value": "c" }] });
    check(
        &beta(&json!({ "containers": [env] })),
        &["spec.components[0].podTemplate.spec.containers[0].env: Invalid value: \"a=b\""],
    );
    check(
        &json!({ "services": [{ "name": "Work", "envs": [{ "name": "a=b", "value": "c" }] }] }),
        &["spec.services[0].envs: Invalid value: \"a=b\""],
    );
}

/// Leader and workers are made of one template, and its faults are told once.
#[test]
fn faults_are_told_once() {
    let pod = json!({ "containers": [{ "name": "main", "image": "i" }], "nodeName": "n" });
    let mut spec = beta(&pod);
    spec["components"][0]["multinode"] = json!({ "nodeCount": 4 });
    check(&spec, &["spec.components[0].podTemplate.spec.nodeName: Forbidden: must not be set"]);
}

/// What the deployment's own rules say is not said again of the set.
#[test]
fn rules_of_the_deployment_come_first() {
    let spec = json!({
        "topologyConstraint": { "packDomain": "rack" },
        "services": [{ "name": "a", "replicas": 1, "minAvailable": 2, "topologyConstraint": { "packDomain": "zone" }, "extraPodSpec": {
            "mainContainer": { "image": "i" }, "nodeName": "n",
        }}],
    });
    check(
        &spec,
        &[
            "spec.services[0].minAvailable: Invalid value: 2: must be less than or equal to replicas",
            "spec.services[0].topologyConstraint.packDomain: Invalid value: \"zone\": must be equal to or narrower",
            "spec.services[0].extraPodSpec.nodeName: Forbidden",
        ],
    );
}

#[test]
fn labels() {
    let spec = json!({ "labels": { "a b": "c" }, "components": [{ "name": "a" }] });
    let verdict = judge(&deployment(&spec), None, &view(), &Settings::default());
    assert!(verdict.errors.iter().all(|error| error.field.starts_with("spec.labels")), "{:?}", verdict.errors);
    assert!(!verdict.allowed());
    let template = json!({ "metadata": { "labels": { "a": "b c" } }, "spec": { "containers": [{ "name": "main", "image": "i" }] } });
    check(
        &json!({ "components": [{ "name": "a", "podTemplate": template }] }),
        &["spec.components[0].podTemplate.metadata.labels[a]: Invalid value: \"b c\""],
    );
    check(
        &json!({ "services": { "a": { "extraPodMetadata": { "labels": { "a": "b c" } } } } }),
        &["spec.services[a].extraPodMetadata.labels[a]: Invalid value: \"b c\""],
    );
}

#[test]
fn d46_too_many_pods() {
    check(&json!({ "components": [{ "name": "a", "replicas": 5001 }] }), &["spec.components: Too many: 5001"]);
    check(
        &json!({ "services": [{ "name": "a", "multinode": { "nodeCount": 6000 } }] }),
        &[
            "spec.services[0].multinode.nodeCount: Too many: 6000: one replica is a gang, and a gang may have at most 5000 pods",
        ],
    );
}

/// However many nodes are asked for, and of whichever engine, it is refused before anything is made for each of them.
#[test]
fn d46_too_many_nodes_of_every_engine() {
    for engine in ["vllm", "sglang", "trtllm", "none"] {
        let args = json!([format!("python3 -m dynamo.{engine}")]);
        let mut spec = beta(&json!({ "containers": [{ "name": "main", "image": "i", "args": args }] }));
        for nodes in [5001, i32::MAX] {
            spec["components"][0]["multinode"] = json!({ "nodeCount": nodes });
            check(&spec, &[&format!("spec.components[0].multinode.nodeCount: Too many: {nodes}: ")]);
            let made = serde_json::to_string(&crate::support::set(&deployment(&spec))).expect("JSON");
            assert!(made.len() < 2 << 20, "{engine}: {} bytes for {nodes} nodes", made.len());
        }
    }
}

#[test]
fn names_that_some_replica_would_share() {
    let spec = json!({ "components": [
        { "name": "a", "multinode": { "nodeCount": 2 } },
        { "name": "a-0-a-ldr" },
    ]});
    check(&spec, &["spec.components[1].name: Duplicate value: \"a-0-a-ldr\""]);
}

#[test]
fn d20_schedulers() {
    let pod = |scheduler: &str| json!({ "containers": [{ "name": "main", "image": "i" }], "schedulerName": scheduler });
    let mut spec = beta(&pod("default-scheduler"));
    check(&spec, &[]);
    spec["components"][0]["topologyConstraint"] = json!({ "packDomain": "rack" });
    check(
        &spec,
        &[
            "spec.components[0].topologyConstraint.packDomain: Forbidden: scheduler \"default-scheduler\" cannot enforce",
        ],
    );
    check(
        &beta(&pod("volcano")),
        &[
            "spec.components[0].podTemplate.spec.schedulerName: Invalid value: \"volcano\": schedulerName must be an enabled",
        ],
    );
    let mut spec = beta(&pod("kai-scheduler"));
    spec["components"][0]["topologyConstraint"] = json!({ "packDomain": "numa" });
    check(
        &spec,
        &[
            "spec.components[0].topologyConstraint.packDomain: Forbidden: scheduler \"kai-scheduler\" cannot enforce 'numa'",
        ],
    );
}

/// What the set would be refused for on an update.
#[test]
fn updates() {
    let pod = |scheduler: &str| json!({ "containers": [{ "name": "main", "image": "i" }], "schedulerName": scheduler });
    let (old, new) = (deployment(&beta(&pod("trellis"))), deployment(&beta(&pod("kai-scheduler"))));
    check_with(
        &new,
        Some(&old),
        &Settings::default(),
        &["spec.components[0].podTemplate.spec.schedulerName: Invalid value: \"kai-scheduler\": field is immutable"],
    );
    let engine = |engine: &str| {
        let args = format!("python3 -m dynamo.{engine}");
        let mut spec = beta(&json!({ "containers": [{ "name": "main", "image": "i", "args": [args] }] }));
        spec["components"][0]["multinode"] = json!({ "nodeCount": 2 });
        deployment(&spec)
    };
    let verdict = judge(&engine("trtllm"), Some(&engine("vllm")), &view(), &Settings::default());
    assert!(!verdict.allowed(), "the order of starts cannot change");
    let verdict = judge(&engine("sglang"), Some(&engine("vllm")), &view(), &Settings::default());
    assert!(verdict.allowed(), "{:?}", verdict.errors);
}

/// An update that leaves the spec alone changes the set all the same, where it changes what the set is made with.
#[test]
fn updates_of_annotations() {
    let annotated = |key: &str, value: &str| {
        let mut made = deployment(&beta(&json!({
            "containers": [{ "name": "main", "image": "i" }], "schedulerName": "kai-scheduler",
        })));
        made["metadata"]["annotations"] = json!({ key: value });
        made
    };
    let update = |key: &str, new: &str, errors: &[&str]| {
        check_with(&annotated(key, new), Some(&annotated(key, "")), &Settings::default(), errors);
        // What stands there from before is nobody's fault.
        check_with(&annotated(key, new), Some(&annotated(key, new)), &Settings::default(), &[]);
    };
    let queue = "nvidia.com/kai-scheduler-queue";
    update(queue, "team", &[]);
    update(queue, "a team", &["metadata.annotations[nvidia.com/kai-scheduler-queue]: Invalid value: \"a team\""]);
    let strategy = "nvidia.com/grove-update-strategy";
    update(strategy, "OnDelete", &[]);
    update(
        strategy,
        "onDelete",
        &["metadata.annotations[nvidia.com/grove-update-strategy]: Unsupported value: \"onDelete\""],
    );
    update("nvidia.com/enable-grove", "false", &[]);
}

/// A name that the server is to find is as good as any.
#[test]
fn generated_names() {
    let mut value = deployment(&beta(&json!({ "containers": [{ "name": "main", "image": "i" }] })));
    value["metadata"] = json!({ "generateName": "demo-", "namespace": "serving" });
    check_with(&value, None, &Settings::default(), &[]);
}

#[test]
fn warnings_name_the_deployment() {
    let verdict = judge(&deployment(&json!({ "services": [{ "name": "a" }] })), None, &view(), &Settings::default());
    assert_eq!(
        verdict.warnings,
        ["spec.services[0].extraPodSpec.mainContainer.image: no image; its pods cannot be created"]
    );
}
