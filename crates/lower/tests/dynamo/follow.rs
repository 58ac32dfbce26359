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

/// A service says things of its main container at two places; a fault is told of the one where it stands.
#[test]
fn fields_of_main_containers() {
    let check = |own: Value, over: Value, error: &str| {
        let pod = json!({ "mainContainer": { "image": "i", "livenessProbe": over } });
        check(&json!({ "services": { "Work": { "livenessProbe": own, "extraPodSpec": pod } } }), &[error]);
    };
    check(
        json!({ "periodSeconds": "often" }),
        json!({ "timeoutSeconds": 1 }),
        "spec.services[Work].livenessProbe: Invalid value: \"often\"",
    );
    check(
        json!({ "periodSeconds": 1 }),
        json!({ "timeoutSeconds": "long" }),
        "spec.services[Work].extraPodSpec.mainContainer.livenessProbe.timeoutSeconds: Invalid value: \"long\"",
    );
}

/// Pods that could never be made are told of where they are described.
#[test]
fn pods_that_could_never_be_made() {
    let beta = |main: Value| {
        let mut main = main;
        (main["name"], main["image"]) = ("main".into(), "i".into());
        beta(&json!({ "containers": [main] }))
    };
    let (main, service) = ("spec.components[0].podTemplate.spec.containers[0]", "spec.services[Work]");
    check(
        &beta(json!({ "resources": { "limits": { "nvidia.com/gpu": "x8" } } })),
        &[&format!("{main}.resources.limits[nvidia.com/gpu]: Invalid value: \"x8\": must be a quantity")],
    );
    let mount = json!([{ "name": "Models_X", "mountPath": "/m" }]);
    let fault = "Invalid value: \"Models_X\": invalid volume name";
    check(&beta(json!({ "volumeMounts": mount })), &[&format!("{main}.volumeMounts[0].name: {fault}")]);
    let mut own = beta(json!({ "volumeMounts": mount }));
    own["components"][0]["podTemplate"]["spec"]["volumes"] = json!([{ "name": "Models_X", "emptyDir": {} }]);
    check(&own, &[&format!("spec.components[0].podTemplate.spec.volumes[0].name: {fault}")]);
    let mut cache = beta(json!({ "args": ["python3 -m dynamo.trtllm"] }));
    cache["components"][0]["multinode"] = json!({ "nodeCount": 2 });
    cache["components"][0]["compilationCache"] = json!({ "pvcName": "Models_X", "mountPath": "/m" });
    check(&cache, &[&format!("spec.components[0].compilationCache.pvcName: {fault}")]);
    let alpha = |service: Value| json!({ "services": { "Work": service } });
    check(
        &alpha(json!({ "volumeMounts": [{ "name": "Models_X", "mountPoint": "/m" }] })),
        &[&format!("{service}.volumeMounts: {fault}")],
    );
    let resources = |amounts: Value, error: &str| {
        check(&alpha(json!({ "resources": { "limits": amounts } })), &[&format!("{service}.resources.limits{error}")]);
    };
    resources(json!({ "gpu": "x8" }), ".gpu: Invalid value: \"x8\"");
    resources(
        json!({ "gpu": "8", "gpuType": "H100" }),
        ".gpu: Invalid value: \"H100\": must be a resource of containers",
    );
    resources(json!({ "memory": "1Gb" }), "[memory]: Invalid value: \"1Gb\"");
    resources(json!({ "custom": { "rdma/ib": "one" } }), ".custom[rdma/ib]: Invalid value: \"one\"");
    let over = json!({ "mainContainer": { "image": "i", "resources": { "requests": { "memory": "1Gb" } } } });
    check(
        &alpha(json!({ "resources": { "limits": { "gpu": "8" } }, "extraPodSpec": over })),
        &[&format!("{service}.extraPodSpec.mainContainer.resources.requests[memory]: Invalid value: \"1Gb\"")],
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

/// YAML takes an unquoted `n` for a truth value. What is made of a name that is not there is no fault of its own.
#[test]
fn a_name_that_is_no_text_is_told_once() {
    for list in ["components", "services"] {
        let error = format!("spec.{list}[0].name: Invalid value: false: must be of type string");
        check(&json!({ list: [{ "name": false }, { "name": "b" }] }), &[&error]);
    }
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
