//! "Mapping from DGD to generated spec" and "Constraint Resolution" in document 003; sections 2.2 to 2.5 and 2.7 of the reference.

use crate::support::{clique, components, deployment, graph, judge, named, set};
use serde_json::{Value, json};
use trellis_api::admission::ClusterView;
use trellis_api::names;
use trellis_api::settings::Settings;
use trellis_lower::dynamo::pod_clique_set;

/// Constraints of a set: at the template, at the group of `Many`, at its cliques, at the clique of `One`.
fn constraints(spec: &Value) -> [Value; 5] {
    let set = set(&deployment(spec));
    let template = &set["spec"]["template"];
    let groups = &template["podCliqueScalingGroups"];
    [
        template["topologyConstraint"].clone(),
        named(groups, "many")["topologyConstraint"].clone(),
        clique(&set, "many-ldr")["topologyConstraint"].clone(),
        clique(&set, "many-wkr")["topologyConstraint"].clone(),
        clique(&set, "one")["topologyConstraint"].clone(),
    ]
}

#[test]
fn s003_mapping_every_row() {
    let spec = |own: Option<&str>, many: Option<&str>, one: Option<&str>| {
        let constraint = |domain: Option<&str>| domain.map_or(Value::Null, |domain| json!({ "packDomain": domain }));
        json!({
            "topologyConstraint": constraint(own),
            "services": [
                { "name": "Many", "multinode": { "nodeCount": 4 }, "topologyConstraint": constraint(many) },
                { "name": "One", "replicas": 2, "topologyConstraint": constraint(one) },
            ],
        })
    };
    let pack = |domain: &str| json!({ "packDomain": domain });
    let none = Value::Null;
    let check = |input: Value, expected: [&Value; 5]| assert_eq!(constraints(&input).each_ref(), expected, "{input}");
    // Neither is set.
    check(spec(None, None, None), [&none; 5]);
    // The deployment's alone: children inherit, nothing is written on them.
    check(spec(Some("zone"), None, None), [&pack("zone"), &none, &none, &none, &none]);
    // A service's alone: on the group over several nodes, on the clique on one.
    check(spec(None, Some("rack"), None), [&none, &pack("rack"), &none, &none, &none]);
    check(spec(None, None, Some("host")), [&none, &none, &none, &none, &pack("host")]);
    // Both.
    check(
        spec(Some("zone"), Some("rack"), Some("block")),
        [&pack("zone"), &pack("rack"), &none, &none, &pack("block")],
    );
}

/// Without a constraint there is no word of topology in what is made, and none is looked for, whatever the cluster has.
#[test]
fn s003_req1_topology_is_opted_in_to() {
    let value = deployment(&json!({ "services": [{ "name": "a", "multinode": { "nodeCount": 2 } }, { "name": "b" }] }));
    let made = set(&value).to_string();
    for word in ["topologyConstraint", "clusterTopologyName", "packDomain"] {
        assert!(!made.contains(word), "{word} in {made}");
    }
    for enabled in [true, false] {
        let settings = Settings { topology_enabled: enabled, ..Settings::default() };
        let verdict = judge(&value, None, &ClusterView::default(), &settings);
        assert!(verdict.allowed(), "{:?}", verdict.errors);
    }
}

#[test]
fn d26_the_topology_name_is_passed_through() {
    let name = |constraint: Value, own: Value| {
        let service = json!([{ "name": "a", "topologyConstraint": own }]);
        let set = set(&deployment(&json!({ "topologyConstraint": constraint, "services": service })));
        set["spec"]["template"]["clusterTopologyName"].clone()
    };
    assert_eq!(name(json!({ "packDomain": "zone" }), Value::Null), Value::Null);
    assert_eq!(name(json!({ "topologyProfile": "h100", "packDomain": "zone" }), Value::Null), "h100");
    assert_eq!(name(json!({ "clusterTopologyName": "h100" }), json!({ "packDomain": "rack" })), "h100");
    // A set without constraints must not have a name.
    assert_eq!(name(json!({ "clusterTopologyName": "h100" }), Value::Null), Value::Null);
}

#[test]
fn dynamo2_3_cliques_and_groups() {
    let set = components(&json!([
        { "name": "Frontend", "replicas": 3, "minAvailable": 2 },
        { "name": "Plain" },
        { "name": "Decode", "replicas": 2, "multinode": { "nodeCount": 4 } },
        { "name": "Forced", "replicas": 5, "minAvailable": 4, "experimental": { "grove": { "forceScalingGroup": true } } },
    ]));
    let template = &set["spec"]["template"];
    let cliques: Vec<Value> = template["cliques"]
        .as_array()
        .expect("cliques")
        .iter()
        .map(|clique| {
            let spec = &clique["spec"];
            json!([clique["name"], spec["roleName"], spec["replicas"], spec["minAvailable"]])
        })
        .collect();
    assert_eq!(
        json!(cliques),
        json!([
            ["frontend", "frontend", 3, 2],
            ["plain", "plain", 1, 1],
            ["decode-ldr", "decode-ldr", 1, 1],
            ["decode-wkr", "decode-wkr", 3, 3],
            ["forced", "forced", 1, 1],
        ])
    );
    assert_eq!(
        template["podCliqueScalingGroups"],
        json!([
            { "name": "decode", "cliqueNames": ["decode-ldr", "decode-wkr"], "replicas": 2, "minAvailable": 1 },
            { "name": "forced", "cliqueNames": ["forced"], "replicas": 5, "minAvailable": 4 },
        ])
    );
    assert_eq!(set["spec"]["replicas"], 1);
    assert_eq!(template["headlessServiceConfig"], json!({ "publishNotReadyAddresses": true }));
    assert_eq!(template["cliqueStartupType"], "CliqueStartupTypeAnyOrder");
}

#[test]
fn dynamo2_2_the_set_itself() {
    let mut value = deployment(&json!({
        "labels": { "team": "ml", "grove.io/topology-name": "x" },
        "annotations": { "note": "x" },
        "priorityClassName": "high",
        "components": [{ "name": "a" }],
    }));
    value["metadata"]["uid"] = "u-1".into();
    value["metadata"]["annotations"] = json!({ "nvidia.com/grove-update-strategy": "OnDelete", "own": "y" });
    let set = set(&value);
    assert_eq!(set["metadata"]["name"], "demo");
    assert_eq!(set["metadata"]["namespace"], "serving");
    assert_eq!(set["metadata"]["labels"], json!({ "nvidia.com/dynamo-graph-deployment-name": "demo", "team": "ml" }));
    assert_eq!(set["metadata"]["annotations"], json!({ "note": "x" }));
    let owner = json!([{
        "apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "name": "demo", "uid": "u-1", "controller": true,
        "blockOwnerDeletion": true,
    }]);
    assert_eq!(set["metadata"]["ownerReferences"], owner);
    assert_eq!(set["spec"]["updateStrategy"], json!({ "type": "OnDelete" }));
    assert_eq!(set["spec"]["template"]["priorityClassName"], "high");
}

#[test]
fn dynamo2_2_names_are_cut_to_the_budget() {
    let check = |name: &str, component: Value, expected: &str| {
        let mut value = deployment(&json!({ "components": [component] }));
        value["metadata"]["name"] = name.into();
        let set = set(&value);
        let made = set["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        assert!(made.starts_with(expected), "{made} for {name}");
        assert_eq!(made.len() == name.len(), expected == name, "{made} for {name}");
        let longest = graph(&value).components().iter().map(trellis_api::kinds::dynamo::Component::name_length).max();
        assert!(made.len() + longest.unwrap_or_default() <= names::COMBINED_NAME_MAX.max(made.len()), "{made}");
    };
    check("short", json!({ "name": "Frontend" }), "short");
    // 45 - 8 = 37 characters for the deployment.
    check(&"d".repeat(37), json!({ "name": "Frontend" }), &"d".repeat(37));
    check(&"d".repeat(38), json!({ "name": "Frontend" }), &format!("{}-", "d".repeat(32)));
    // worker and worker-wkr take 16 of 45.
    check(&"d".repeat(29), json!({ "name": "Worker", "multinode": { "nodeCount": 2 } }), &"d".repeat(29));
    check(
        &"d".repeat(30),
        json!({ "name": "Worker", "multinode": { "nodeCount": 2 } }),
        &format!("{}-", "d".repeat(24)),
    );
}

#[test]
fn dynamo2_5_labels() {
    let mut value = deployment(&json!({
        "labels": { "team": "ml", "app": "deployment", "nvidia.com/selector": "mine" },
        "components": [
            { "name": "Frontend", "type": "frontend", "podTemplate": { "metadata": { "labels": { "app": "pods" } }, "spec": { "containers": [] } } },
            { "name": "Decode", "type": "decode", "globalDynamoNamespace": true },
        ],
    }));
    value["metadata"]["name"] = "my-model".into();
    let made = set(&value);
    assert_eq!(
        clique(&made, "frontend")["labels"],
        json!({
            "team": "ml",
            "app": "pods",
            "nvidia.com/selector": "my-model-frontend",
            "nvidia.com/dynamo-graph-deployment-name": "my-model",
            "nvidia.com/dynamo-component": "Frontend",
            "nvidia.com/dynamo-component-type": "frontend",
            "nvidia.com/dynamo-namespace": "serving-my-model",
            "nvidia.com/metrics-enabled": "true",
            "nvidia.com/dynamo-discovery-backend": "kubernetes",
            "nvidia.com/dynamo-discovery-enabled": "true",
        })
    );
    let worker = &clique(&made, "decode")["labels"];
    assert_eq!(worker["nvidia.com/dynamo-sub-component-type"], "decode");
    assert_eq!(worker["nvidia.com/dynamo-namespace"], "dynamo");
    assert_eq!(worker["nvidia.com/dynamo-worker-hash"].as_str().map(str::len), Some(8));
    value["metadata"]["annotations"] =
        json!({ "nvidia.com/enable-metrics": "false", "nvidia.com/dynamo-discovery-backend": "etcd" });
    let made = set(&value);
    let frontend = clique(&made, "frontend");
    for label in
        ["nvidia.com/metrics-enabled", "nvidia.com/dynamo-discovery-backend", "nvidia.com/dynamo-discovery-enabled"]
    {
        assert_eq!(frontend["labels"].get(label), None, "{label}");
    }
    let annotations = json!({ "nvidia.com/enable-metrics": "false", "nvidia.com/dynamo-discovery-backend": "etcd" });
    assert_eq!(frontend["annotations"], annotations);
}

/// Workers of one generation have one hash; how many there are is no part of it.
#[test]
fn dynamo2_5_the_hash_of_workers() {
    let hashes = |spec: Value| {
        let set = components(&spec);
        ["prefill", "decode"].map(|name| clique(&set, name)["labels"]["nvidia.com/dynamo-worker-hash"].clone())
    };
    let spec = |image: &str, replicas: i32| {
        json!([
            { "name": "prefill", "type": "prefill", "replicas": replicas },
            { "name": "decode", "type": "decode", "podTemplate": { "spec": { "containers": [{ "name": "main", "image": image }] } } },
            { "name": "front", "type": "frontend" },
        ])
    };
    let [prefill, decode] = hashes(spec("a", 1));
    assert_eq!(prefill, decode);
    assert_eq!(hashes(spec("a", 4)), [prefill.clone(), decode]);
    assert_ne!(hashes(spec("b", 1))[0], prefill);
}

#[test]
fn dynamo2_5_annotations() {
    let template = json!({ "metadata": { "annotations": { "b": "pods" } }, "spec": { "containers": [] } });
    let made = set(&deployment(&json!({
        "annotations": { "a": "deployment", "b": "deployment" },
        "components": [{ "name": "a", "podTemplate": template }],
    })));
    assert_eq!(clique(&made, "a")["annotations"], json!({ "a": "deployment", "b": "pods" }));
}

#[test]
fn dynamo2_7_the_queue() {
    let queue = |profile: &str, annotation: Option<&str>, scheduler: Option<&str>| {
        let mut value =
            deployment(&json!({ "components": [{ "name": "a", "podTemplate": { "spec": { "containers": [] } } }] }));
        if let Some(queue) = annotation {
            value["metadata"]["annotations"] = json!({ "nvidia.com/kai-scheduler-queue": queue });
        }
        if let Some(scheduler) = scheduler {
            value["spec"]["components"][0]["podTemplate"]["spec"]["schedulerName"] = scheduler.into();
        }
        let settings = Settings { default_profile: profile.to_owned(), ..Settings::default() };
        let set = pod_clique_set(&graph(&value), &settings);
        set.spec.template.cliques[0].labels.get("kai.scheduler/queue").cloned()
    };
    assert_eq!(queue("trellis", None, None), None);
    assert_eq!(queue("trellis", Some("gold"), None), None);
    assert_eq!(queue("kai-scheduler", None, None).as_deref(), Some("dynamo"));
    assert_eq!(queue("kai-scheduler", Some(" gold "), None).as_deref(), Some("gold"));
    assert_eq!(queue("kai-scheduler", Some(" "), None).as_deref(), Some("dynamo"));
    assert_eq!(queue("kai-scheduler", Some("gold"), Some("trellis")), None);
    assert_eq!(queue("trellis", Some("gold"), Some("kai-scheduler")).as_deref(), Some("gold"));
}
