//! What follows from pools and groups: sections 2.4 and 3.4 to 3.6 of the reference, step 7 of 004.

use crate::support::{first_group, object, pool, requirements, workflow};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use trellis_api::admission::object::Kind;
use trellis_api::kinds::osmo::{Pool, Workflow};
use trellis_lower::osmo::{group_objects, is_current, levels, pool_objects, priority_classes, task_pod};

fn value(object: impl serde::Serialize) -> Value {
    serde_json::to_value(object).expect("JSON")
}

#[track_caller]
fn check(actual: &Value, path: &str, expected: Value) {
    assert_eq!(actual.pointer(path).cloned(), Some(expected).filter(|value| !value.is_null()), "{path} of {actual:#}");
}

#[test]
fn s004_implementation_topology_from_the_labels_of_a_pool_and_osmo2_4_its_queues() {
    let made = pool_objects(&pool());
    let parent = value(made.parent_queue);
    check(&parent, "/metadata/name", json!("osmo-default-default"));
    check(&parent, "/spec/resources/gpu", json!({"quota": -1.0, "limit": -1.0, "overQuotaWeight": 1.0}));
    let queue = value(made.queue);
    check(&queue, "/metadata/name", json!("osmo-pool-default-p"));
    check(&queue, "/spec/parentQueue", json!("osmo-default-default"));
    let topology = value(made.topology);
    check(&topology, "/metadata/name", json!("osmo-pool-default-p-topology"));
    check(&topology, "/metadata/labels/osmo.pool", json!("p"));
    let levels =
        json!([{"nodeLabel": "l/zone"}, {"nodeLabel": "l/spine"}, {"nodeLabel": "l/rack"}, {"nodeLabel": "l/host"}]);
    check(&topology, "/spec/levels", levels);
    let share: Pool = object(
        Kind::Pool,
        json!({"metadata": {"name": "q"}, "spec": {"k8s_namespace": "jobs", "resources": {"gpu": {"guarantee": 8, "maximum": 16, "weight": 2}}}}),
    );
    let made = pool_objects(&share);
    let queue = value(made.queue);
    check(&queue, "/metadata/name", json!("osmo-pool-jobs-q"));
    check(&queue, "/spec/resources/gpu", json!({"quota": 8.0, "limit": 16.0, "overQuotaWeight": 2.0}));
    assert_eq!(made.topology, None);
    let values: Vec<i32> = priority_classes().iter().map(|class| class.value).collect();
    assert_eq!(values, [125, 100, 50]);
}

#[test]
fn d29_a_scheduler_without_topology_gets_pods_alone() {
    let plain: Pool = object(
        Kind::Pool,
        json!({"metadata": {"name": "q"}, "spec": {"scheduler_settings": {"scheduler_type": "default"}}}),
    );
    assert_eq!(pool_objects(&plain), trellis_lower::osmo::PoolObjects::default());
    let workflow = workflow(&[Vec::new(), Vec::new()]);
    let made = group_objects(&workflow, first_group(&workflow), &plain);
    assert_eq!(made.pod_group, None);
    let pod = value(&made.pods[0]);
    check(&pod, "/spec/schedulerName", json!("default-scheduler"));
    check(&pod, "/metadata/annotations", Value::Null);
}

/// 004's example, under the names of 3.4 and 3.6.
#[test]
fn s004_pod_group_of_usecase_3() {
    let tasks: Vec<_> = ["rack=m1! zone=w!", "rack=m2! zone=w!"].iter().map(|text| requirements(text)).collect();
    let workflow = workflow(&tasks);
    let made = group_objects(&workflow, first_group(&workflow), &pool());
    let group = value(made.pod_group);
    check(&group, "/apiVersion", json!("scheduling.run.ai/v2alpha2"));
    check(&group, "/metadata/name", json!("w-g"));
    check(&group, "/metadata/namespace", json!("ns"));
    check(&group, "/metadata/labels/kai.scheduler~1queue", json!("osmo-pool-default-p"));
    let topology = "osmo-pool-default-p-topology";
    let required = |level: &str| json!({"topology": topology, "requiredTopologyLevel": level});
    let expected = json!({
        "queue": "osmo-pool-default-p",
        "priorityClassName": "osmo-normal",
        "topologyConstraint": required("l/zone"),
        "subGroups": [
            {"name": "w-m1", "minMember": 1, "topologyConstraint": required("l/rack")},
            {"name": "w-m2", "minMember": 1, "topologyConstraint": required("l/rack")},
        ],
    });
    check(&group, "/spec", expected);
}

/// Where there are subgroups, leaves have their number of tasks and nothing else has one; without them the whole has it.
#[test]
fn s004_step_6_minimum_members_stand_on_leaves_or_at_the_top() {
    let check = |tasks: &[&str], top: Value, subs: Value| {
        let tasks: Vec<_> = tasks.iter().map(|text| requirements(text)).collect();
        let workflow = workflow(&tasks);
        let spec = value(group_objects(&workflow, first_group(&workflow), &pool()).pod_group)["spec"].clone();
        let written = spec["subGroups"].as_array().cloned().unwrap_or_default();
        let found: Vec<Value> =
            written.iter().map(|sub| json!([sub["name"], sub["parent"], sub["minMember"]])).collect();
        assert_eq!((&spec["minMember"], json!(found)), (&top, subs), "{tasks:?}");
    };
    check(&["", ""], json!(2), json!([]));
    check(&["rack=a!", "rack=a!", "rack=a!"], json!(3), json!([]));
    check(&["rack=a!", "rack=a!", "rack=b!"], Value::Null, json!([["a", null, 2], ["b", null, 1]]));
    check(
        &["zone=a! rack=r!", "zone=a! rack=r!", "zone=b! rack=r!"],
        Value::Null,
        json!([["a", null, null], ["a-r", "a", 2], ["b", null, null], ["b-r", "b", 1]]),
    );
}

#[test]
fn s004_step_7_pods_name_their_group_and_their_leaf_on_retry_too() {
    let tasks: Vec<_> = ["rack=a!", ""].iter().map(|text| requirements(text)).collect();
    let workflow = workflow(&tasks);
    let made = group_objects(&workflow, first_group(&workflow), &pool());
    for (pod, leaf, lead) in [(&made.pods[0], "a", json!("true")), (&made.pods[1], "unconstrained", Value::Null)] {
        let pod = value(pod);
        check(&pod, "/metadata/annotations/pod-group-name", json!("w-g"));
        check(&pod, "/metadata/annotations/kai.scheduler~1skip-podgrouper", json!("true"));
        check(&pod, "/metadata/labels/kai.scheduler~1subgroup-name", json!(leaf));
        check(&pod, "/metadata/labels/osmo.lead_container", lead);
        check(&pod, "/spec/schedulerName", json!("trellis"));
        check(&pod, "/spec/restartPolicy", json!("Never"));
        check(&pod, "/spec/subdomain", json!("w-g"));
    }
    let again = value(task_pod(&workflow, first_group(&workflow), &pool(), 1, 3));
    check(&again, "/metadata/labels/kai.scheduler~1subgroup-name", json!("unconstrained"));
    check(&again, "/metadata/labels/osmo.retry_id", json!("3"));
    check(&again, "/metadata/name", value(&made.pods[1])["metadata"]["name"].clone());
    let service = value(made.service);
    check(&service, "/metadata/name", json!("w-g"));
    check(&service, "/spec/clusterIP", json!("None"));
    check(&service, "/spec/selector", json!({"osmo.workflow_id": "w", "osmo.group_name": "g"}));
}

#[test]
fn osmo1_5_what_tasks_ask_for_and_what_tokens_stand_for() {
    let workflow: Workflow = object(
        Kind::Workflow,
        json!({"metadata": {"name": "w", "namespace": "ns", "uid": "u-1"}, "spec": {
            "labels": {"team": "vision", "osmo.pool": "mine"},
            "groups": [{"name": "g", "tasks": [
                {"name": "a", "image": "i", "command": ["run"], "args": ["{{host:B_1}}", "{{uuid}}/{{workflow_id}}", "{{output}}", "{{input:0}}"],
                 "environment": {"N": 1, "S": "{{host:a}}"}, "privileged": true, "hostNetwork": true,
                 "volumeMounts": ["/data:/mnt", "/raw"], "files": [{"path": "/x.sh", "contents": "{{host:a}}"}, {"path": "/y", "contents": "aGk=", "base64": true}]},
                {"name": "B_1", "image": "i", "command": ["run"]},
            ]}],
            "resources": {"default": {"cpu": 8, "gpu": 4, "memory": "64G", "storage": "1.5Gi", "nodesExcluded": ["n1", "n2"]}},
        }}),
    );
    let made = group_objects(&workflow, first_group(&workflow), &pool());
    let pod = value(&made.pods[0]);
    let amounts = json!({"cpu": "8", "nvidia.com/gpu": "4", "memory": "64Gi", "ephemeral-storage": "1536Mi"});
    check(&pod, "/spec/containers/0/resources", json!({"limits": amounts, "requests": amounts}));
    let other = value(&made.pods[1])["metadata"]["name"].as_str().expect("a name").to_owned();
    assert!(other.starts_with("w-b-1-") && other.len() == "w-b-1-".len() + 8, "{other}");
    let args = json!([format!("{other}.w-g.ns.svc.cluster.local"), "u-1/w", "/osmo/data/output", "/osmo/data/input/0"]);
    check(&pod, "/spec/containers/0/args", args);
    check(
        &pod,
        "/spec/containers/0/env",
        json!([{"name": "N", "value": "1"}, {"name": "S", "value": "w-a.w-g.ns.svc.cluster.local"}]),
    );
    check(&pod, "/spec/hostname", json!("w-a"));
    check(&pod, "/metadata/labels/team", json!("vision"));
    check(&pod, "/metadata/labels/osmo.pool", json!("p"));
    let term = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchExpressions/0";
    check(&pod, term, json!({"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["n1", "n2"]}));
    check(&pod, "/spec/containers/0/securityContext", json!({"privileged": true}));
    check(&pod, "/spec/hostNetwork", json!(true));
    let files = value(&made.files);
    check(&files, "/0/metadata/name", json!("w-a"));
    check(&files, "/0/data", json!({"0": "w-a.w-g.ns.svc.cluster.local"}));
    check(&files, "/0/binaryData", json!({"1": "aGk="}));
    assert_eq!(made.files.len(), 1);
}

#[test]
fn osmo2_5_templates_of_pool_and_platform_go_under_the_pod() {
    let pool: Pool = object(
        Kind::Pool,
        json!({"metadata": {"name": "q"}, "spec": {
            "pod_template": {"metadata": {"labels": {"a": "pool", "osmo.pool": "x"}}, "spec": {"nodeSelector": {"kind": "gpu"}, "containers": [{"name": "other"}]}},
            "platforms": {"gb": {"pod_template": {"spec": {"nodeSelector": {"arch": "arm64"}, "tolerations": [{"key": "gpu", "operator": "Exists"}]}},
                                 "default_variables": {"USER_GPU": 2}}},
            "default_platform": "gb",
            "common_default_variables": {"USER_CPU": "4", "USER_GPU": 1, "USER_MEMORY": "1Gi"},
        }}),
    );
    let workflow: Workflow = object(
        Kind::Workflow,
        json!({"metadata": {"name": "w"}, "spec": {"tasks": [{"name": "a", "image": "i", "command": ["c"]}]}}),
    );
    let groups = workflow.spec.all_groups();
    let made = group_objects(&workflow, &groups[0], &pool);
    let pod = value(&made.pods[0]);
    check(&pod, "/spec/nodeSelector", json!({"kind": "gpu", "arch": "arm64"}));
    check(&pod, "/spec/tolerations", json!([{"key": "gpu", "operator": "Exists"}]));
    check(&pod, "/metadata/labels/a", json!("pool"));
    check(&pod, "/metadata/labels/osmo.pool", json!("q"));
    assert_eq!(pod["spec"]["containers"].as_array().map(Vec::len), Some(1), "{pod}");
    check(&pod, "/spec/containers/0/resources/limits", json!({"cpu": "4", "nvidia.com/gpu": "2", "memory": "1Gi"}));
    // A task alone has no peers to find.
    assert_eq!(made.service, None);
    check(&pod, "/spec/subdomain", Value::Null);
    check(&pod, "/metadata/annotations/pod-group-name", json!("w-a-group"));
}

/// One of the terms of an affinity has to hold, so what a task excludes is said in each of them.
#[test]
fn osmo1_5_nodes_are_excluded_wherever_the_pool_lets_pods_go() {
    let check = |template: Value, expected: Value| {
        let spec = json!({"pod_template": {"spec": template}});
        let pool: Pool = object(Kind::Pool, json!({"metadata": {"name": "q"}, "spec": spec}));
        let task = json!({"name": "a", "image": "i", "command": ["c"]});
        let spec = json!({"tasks": [task], "resources": {"default": {"nodesExcluded": ["n1"]}}});
        let workflow: Workflow = object(Kind::Workflow, json!({"metadata": {"name": "w"}, "spec": spec}));
        let pod = value(task_pod(&workflow, &workflow.spec.all_groups()[0], &pool, 0, 0));
        let terms = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
        super::objects::check(&pod, terms, expected);
    };
    let away = json!({"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["n1"]});
    let term = |pool: &str| json!({"key": "pool", "operator": "In", "values": [pool]});
    let with = |terms: Value| json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}});
    check(json!({}), json!([{"matchExpressions": [away]}]));
    check(
        with(json!([{"matchExpressions": [term("gpu")]}, {"matchExpressions": [term("spare")]}])),
        json!([{"matchExpressions": [term("gpu"), away]}, {"matchExpressions": [term("spare"), away]}]),
    );
}

#[test]
fn osmo1_1_a_task_that_is_named_as_a_host_is_found() {
    let task = |name: &str, args: Value| json!({"name": name, "image": "i", "command": ["c"], "args": args});
    let tasks = json!([task("server", json!([])), task("client", json!(["{{host:server}}"]))]);
    let workflow: Workflow =
        object(Kind::Workflow, json!({"metadata": {"name": "w", "namespace": "ns"}, "spec": {"tasks": tasks}}));
    let groups = workflow.spec.all_groups();
    let server = group_objects(&workflow, &groups[0], &pool());
    check(&value(&server.service), "/metadata/name", json!("w-server-group"));
    check(&value(&server.pods[0]), "/spec/subdomain", json!("w-server-group"));
    let client = group_objects(&workflow, &groups[1], &pool());
    assert_eq!(client.service, None);
    check(&value(&client.pods[0]), "/spec/containers/0/args/0", json!("w-server.w-server-group.ns.svc.cluster.local"));
}

#[test]
fn s004_requirements_view_available_topology_keys() {
    let node = |zone: &str, rack: Option<&str>| -> BTreeMap<String, String> {
        let mut labels = json!({"l/zone": zone, "l/spine": "s", "l/host": "h"});
        if let Some(rack) = rack {
            labels["l/rack"] = json!(rack);
        }
        serde_json::from_value(labels).expect("labels")
    };
    let nodes = [node("a", Some("r1")), node("a", Some("r2")), node("b", Some("r1")), node("c", None)];
    let (whole, found) = levels(&pool().spec, &nodes);
    let shown: Vec<String> =
        found.iter().map(|level| format!("{} {} {}", level.key, level.domains, level.values.join(" "))).collect();
    assert_eq!(whole, 3);
    let expected =
        ["zone 2 a b", "spine 2 a/s b/s", "rack 3 a/s/r1 a/s/r2 b/s/r1", "host 3 a/s/r1/h a/s/r2/h b/s/r1/h"];
    assert_eq!(shown, expected);
    // Nodes that its pods are kept from are another pool's.
    let mut one = pool();
    one.spec.pod_template = json!({"spec": {"nodeSelector": {"l/zone": "b"}}}).as_object().cloned();
    let (whole, found) = levels(&one.spec, &nodes);
    assert_eq!((whole, found[0].values.as_slice()), (1, ["b".to_owned()].as_slice()));
}

/// Pods are kept to nodes by the template of their platform as much as by that of their pool.
#[test]
fn osmo2_5_a_node_is_the_pools_if_one_of_its_platforms_can_use_it() {
    let nodes = ["a", "b", "c"].map(|zone| {
        let labels = json!({"l/zone": zone, "l/spine": "s", "l/rack": "r", "l/host": "h", "site": "x"});
        serde_json::from_value::<BTreeMap<String, String>>(labels).expect("labels")
    });
    let check = |own: Value, platforms: &[Value], expected: &[&str]| {
        let template = |selector: &Value| json!({"pod_template": {"spec": {"nodeSelector": selector}}});
        let mut pool = pool();
        pool.spec.pod_template = json!({"spec": {"nodeSelector": own}}).as_object().cloned();
        let named = platforms.iter().enumerate().map(|(i, selector)| (format!("p{i}"), template(selector)));
        pool.spec.platforms = serde_json::from_value(Value::Object(named.collect())).expect("platforms");
        let (_, found) = levels(&pool.spec, &nodes);
        assert_eq!(found[0].values, expected, "{own} {platforms:?}");
    };
    check(json!({"site": "x"}), &[], &["a", "b", "c"]);
    check(json!({"site": "x"}), &[json!({"l/zone": "a"}), json!({"l/zone": "b"})], &["a", "b"]);
    check(json!({"site": "y"}), &[json!({"l/zone": "a"})], &[]);
    // The platform's word goes before the pool's, as in pods.
    check(json!({"l/zone": "a"}), &[json!({"l/zone": "c"})], &["c"]);
    check(json!({"l/zone": "a"}), &[json!({})], &["a"]);
}

#[test]
fn osmo3_6_a_topology_is_made_anew_only_when_it_says_something_else() {
    let wanted = pool_objects(&pool()).topology.expect("a topology");
    let mut there = wanted.clone();
    there.metadata.resource_version = Some("7".to_owned());
    there.metadata.labels.get_or_insert_default().insert("more".to_owned(), "x".to_owned());
    assert!(is_current(&there, &wanted));
    there.spec.levels.swap(0, 1);
    assert!(!is_current(&there, &wanted));
    let mut there = wanted.clone();
    there.metadata.labels = None;
    assert!(!is_current(&there, &wanted));
}
