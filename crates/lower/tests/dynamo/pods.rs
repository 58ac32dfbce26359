//! What makes pods run: section 2.6 of the Dynamo reference. A value of the user's always wins.

use crate::support::{clique, components, deployment, main_container, set, variable};
use serde_json::{Value, json};

/// The pods of one component.
fn pod(component: &Value) -> Value {
    let mut component = component.clone();
    component["name"] = "a".into();
    clique(&components(&json!([component])), "a")["spec"]["podSpec"].clone()
}

fn with_main(main: &Value) -> Value {
    let mut main = main.clone();
    main["name"] = "main".into();
    json!({ "spec": { "containers": [main] } })
}

#[test]
fn dynamo2_6_the_pod() {
    let made = pod(&json!({}));
    assert_eq!(made["terminationGracePeriodSeconds"], 60);
    assert_eq!(made["restartPolicy"], "Always");
    assert_eq!(made["securityContext"], json!({ "fsGroup": 1000 }));
    assert_eq!(made["containers"][0]["name"], "main");
    let own = json!({ "containers": [], "securityContext": {}, "terminationGracePeriodSeconds": 5, "nodeSelector": { "a": "b" } });
    let made = pod(&json!({ "podTemplate": { "spec": own } }));
    assert_eq!(made["securityContext"], json!({}));
    assert_eq!(made["terminationGracePeriodSeconds"], 5);
    assert_eq!(made["nodeSelector"], json!({ "a": "b" }));
}

#[test]
fn dynamo2_6_shared_memory() {
    let volumes = |component: Value| pod(&component)["volumes"].clone();
    let memory =
        |size: &str| json!([{ "name": "shared-memory", "emptyDir": { "medium": "Memory", "sizeLimit": size } }]);
    assert_eq!(volumes(json!({})), memory("8Gi"));
    assert_eq!(volumes(json!({ "sharedMemorySize": "16Gi" })), memory("16Gi"));
    for none in [json!("0"), json!(0)] {
        assert_eq!(volumes(json!({ "sharedMemorySize": none })), Value::Null);
    }
    let own = json!({ "volumeMounts": [{ "name": "mine", "mountPath": "/dev/shm" }] });
    let claim = json!([{ "name": "mine", "persistentVolumeClaim": { "claimName": "mine" } }]);
    assert_eq!(volumes(json!({ "podTemplate": with_main(&own) })), claim);
}

#[test]
fn dynamo2_6_mounts_without_a_volume_are_claims() {
    let main =
        json!({ "volumeMounts": [{ "name": "models", "mountPath": "/m" }, { "name": "tmp", "mountPath": "/t" }] });
    let mut template = with_main(&main);
    template["spec"]["volumes"] = json!([{ "name": "tmp", "emptyDir": {} }]);
    let made = pod(
        &json!({ "podTemplate": template, "sharedMemorySize": "0", "compilationCache": { "pvcName": "cache", "mountPath": "/c" } }),
    );
    assert_eq!(
        made["volumes"],
        json!([
            { "name": "tmp", "emptyDir": {} },
            { "name": "models", "persistentVolumeClaim": { "claimName": "models" } },
            { "name": "cache", "persistentVolumeClaim": { "claimName": "cache" } },
        ])
    );
}

#[test]
fn dynamo2_6_commands() {
    let line = |type_: &str, main: Value| {
        let made = pod(&json!({ "type": type_, "podTemplate": with_main(&main) }));
        json!([made["containers"][0]["command"], made["containers"][0]["args"]])
    };
    let shell = json!(["/bin/sh", "-c"]);
    assert_eq!(line("frontend", json!({})), json!([["python3"], ["-m", "dynamo.frontend"]]));
    let own = json!(["-m", "dynamo.frontend", "--router-mode", "kv"]);
    assert_eq!(line("frontend", json!({ "args": own })), json!([["python3"], own]));
    assert_eq!(line("frontend", json!({ "command": ["mine"] })), json!([["mine"], null]));
    assert_eq!(line("worker", json!({})), json!([null, null]));
    assert_eq!(
        line("worker", json!({ "args": ["python3 -m dynamo.vllm"] })),
        json!([shell, ["python3 -m dynamo.vllm"]])
    );
}

#[test]
fn dynamo2_6_ports_and_probes() {
    let main = |type_: &str, own: Value| {
        pod(&json!({ "type": type_, "podTemplate": with_main(&own) }))["containers"][0].clone()
    };
    let frontend = main("frontend", json!({}));
    assert_eq!(frontend["ports"][0]["containerPort"], 8000);
    assert_eq!(frontend["livenessProbe"]["httpGet"], json!({ "path": "/live", "port": "http" }));
    assert_eq!(frontend["readinessProbe"]["httpGet"], json!({ "path": "/health", "port": "http" }));
    let worker = main("prefill", json!({}));
    let ports: Vec<&Value> =
        worker["ports"].as_array().expect("ports").iter().map(|port| &port["containerPort"]).collect();
    assert_eq!(ports, [9090, 19090]);
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        assert_eq!(worker[probe]["httpGet"]["port"], "system", "{probe}");
    }
    assert_eq!(main("planner", json!({})).get("livenessProbe"), None);
}

/// Whatever the user says of ports and probes, a probe asks in some way, and a port that it names is there.
#[test]
fn dynamo2_6_ports_and_probes_of_the_user() {
    let main = |own: Value| pod(&json!({ "type": "worker", "podTemplate": with_main(&own) }))["containers"][0].clone();
    let numbers = |own: Value| {
        let made = main(json!({ "ports": own }));
        made["ports"].as_array().expect("ports").iter().map(|port| port["containerPort"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(numbers(Value::Null), [9090, 19090]);
    assert_eq!(numbers(json!([])), [9090, 19090]);
    assert_eq!(numbers(json!([{ "containerPort": 1 }])), [1, 9090, 19090]);
    assert_eq!(numbers(json!([{ "name": "system", "containerPort": 1 }])), [1, 19090]);
    let probe = |own: Value| main(json!({ "readinessProbe": own }))["readinessProbe"].clone();
    let asks = json!({ "path": "/health", "port": "system" });
    let filled =
        |period: i32| json!({ "httpGet": asks, "periodSeconds": period, "timeoutSeconds": 4, "failureThreshold": 3 });
    assert_eq!(probe(Value::Null), filled(10));
    assert_eq!(probe(json!({ "periodSeconds": 3 })), filled(3));
    for own in [json!({ "exec": { "command": ["true"] } }), json!({ "grpc": { "port": 1 }, "periodSeconds": 3 })] {
        assert_eq!(probe(own.clone()), own);
    }
}

#[test]
fn dynamo1_1_compilation_cache() {
    let made = |engine: &str, mut main: Value| {
        main["args"] = json!([format!("python3 -m dynamo.{engine}")]);
        let cache = json!({ "pvcName": "cache", "mountPath": "/c" });
        let component = json!({ "type": "worker", "compilationCache": cache, "podTemplate": with_main(&main) });
        pod(&component)["containers"][0].clone()
    };
    let mounts = |main: &Value| {
        let mounts = main["volumeMounts"].as_array().expect("mounts").iter();
        mounts.filter(|mount| mount["mountPath"] == "/c").map(|mount| mount["name"].clone()).collect::<Vec<_>>()
    };
    let plain = made("vllm", json!({}));
    assert_eq!((mounts(&plain), variable(&plain, "VLLM_CACHE_ROOT")), (vec![json!("cache")], "/c".to_owned()));
    // What is mounted and said already stays, and is not mounted twice.
    let own = json!({
        "volumeMounts": [{ "name": "mine", "mountPath": "/c" }],
        "env": [{ "name": "VLLM_CACHE_ROOT", "value": "/c/mine" }],
    });
    let own = made("vllm", own);
    assert_eq!((mounts(&own), variable(&own, "VLLM_CACHE_ROOT")), (vec![json!("mine")], "/c/mine".to_owned()));
    let other = made("sglang", json!({}));
    assert!(other["env"].as_array().expect("variables").iter().all(|one| one["name"] != "VLLM_CACHE_ROOT"));
}

#[test]
fn dynamo2_6_variables() {
    let made = set(&deployment(&json!({
        "env": [{ "name": "A", "value": "deployment" }, { "name": "DYN_COMPONENT", "value": "mine" }, { "name": "B", "value": "b" }],
        "components": [
            { "name": "Front", "type": "frontend", "podTemplate": with_main(&json!({ "env": [{ "name": "A", "value": "own" }] })) },
            { "name": "Work", "type": "worker" },
        ],
    })));
    let front = main_container(&made, "front");
    let check = |container: &Value, rows: &[(&str, &str)]| {
        for (name, expected) in rows {
            assert_eq!(variable(container, name), *expected, "{name}");
        }
    };
    check(
        front,
        &[
            ("A", "own"),
            ("B", "b"),
            ("DYN_COMPONENT", "mine"),
            ("POD_NAME", "metadata.name"),
            ("POD_NAMESPACE", "metadata.namespace"),
            ("POD_UID", "metadata.uid"),
            ("DYN_NAMESPACE", "serving-demo"),
            ("DYN_PARENT_DGD_K8S_NAME", "demo"),
            ("DYN_PARENT_DGD_K8S_NAMESPACE", "serving"),
            ("DYN_DISCOVERY_BACKEND", "kubernetes"),
            ("DYN_HTTP_PORT", "8000"),
            ("DYNAMO_PORT", "8000"),
            ("DYN_NAMESPACE_PREFIX", "serving-demo"),
        ],
    );
    let work = main_container(&made, "work");
    check(work, &[("A", "deployment"), ("DYN_SYSTEM_ENABLED", "true"), ("DYN_SYSTEM_PORT", "9090")]);
    let hash = clique(&made, "work")["labels"]["nvidia.com/dynamo-worker-hash"].as_str().unwrap_or_default().to_owned();
    check(work, &[("DYN_NAMESPACE_WORKER_SUFFIX", &hash)]);
    let names: Vec<&str> =
        front["env"].as_array().expect("variables").iter().filter_map(|one| one["name"].as_str()).collect();
    let mut unique = names.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), names.len(), "{names:?}");
}

/// A service in the words of v1alpha1 has the pods of a component that says the same.
#[test]
fn dynamo1_2_services_have_the_same_pods() {
    let alpha = set(&deployment(&json!({ "services": { "Work": {
        "componentType": "worker",
        "subComponentType": "decode",
        "resources": { "limits": { "gpu": "8" } },
        "envs": [{ "name": "A", "value": "b" }],
        "sharedMemory": { "size": "1Gi" },
        "extraPodSpec": { "mainContainer": { "image": "i:1", "args": ["python3 -m dynamo.vllm"] }, "nodeSelector": { "a": "b" } },
    }}})));
    let main = json!({
        "image": "i:1", "args": ["python3 -m dynamo.vllm"], "env": [{ "name": "A", "value": "b" }],
        "resources": { "limits": { "nvidia.com/gpu": "8" } },
    });
    let mut template = with_main(&main);
    template["spec"]["nodeSelector"] = json!({ "a": "b" });
    let beta =
        components(&json!([{ "name": "Work", "type": "decode", "sharedMemorySize": "1Gi", "podTemplate": template }]));
    assert_eq!(alpha, beta);
}
