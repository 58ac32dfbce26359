//! What the kubelet charges a pod.

use crate::support::{object, only, posed};
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use trellis_lower::problem::requests;

/// Charges a pod and compares with `cpu=500 pods=1`, or the fault that is expected.
fn check(pod: &Value, expected: &str) {
    let pod: Pod = object(pod);
    let got = match requests::of(&pod) {
        Ok(charged) => charged.iter().map(|(name, amount)| format!("{name}={amount}")).collect::<Vec<_>>().join(" "),
        Err(errors) => only(errors).to_string(),
    };
    assert_eq!(got, expected, "{pod:?}");
}

fn asks(requests: &Value) -> Value {
    json!({ "name": "c", "resources": { "requests": requests } })
}

fn sidecar(requests: &Value) -> Value {
    json!({ "name": "s", "restartPolicy": "Always", "resources": { "requests": requests } })
}

#[test]
fn containers_are_added_up() {
    check(&json!({}), "pods=1");
    check(&json!({ "spec": { "containers": [] } }), "pods=1");
    check(&json!({ "spec": { "containers": [{ "name": "c" }] } }), "pods=1");
    let two = [asks(&json!({ "cpu": "500m", "memory": "1Gi" })), asks(&json!({ "cpu": 1, "nvidia.com/gpu": 8 }))];
    check(&json!({ "spec": { "containers": two } }), "cpu=1500 memory=1073741824 nvidia.com/gpu=8 pods=1");
    // Rounded up once, at the end.
    let thirds = [asks(&json!({ "cpu": "300u" })), asks(&json!({ "cpu": "300u" })), asks(&json!({ "cpu": "300u" }))];
    check(&json!({ "spec": { "containers": thirds } }), "cpu=1 pods=1");
    // What is zero is as good as left out; a pod is one pod, whatever it says.
    check(&json!({ "spec": { "containers": [asks(&json!({ "cpu": "0", "pods": "5" }))] } }), "pods=1");
}

#[test]
fn limits_are_requests_where_there_are_none() {
    let resources = json!({ "requests": { "cpu": "1" }, "limits": { "cpu": "2", "nvidia.com/gpu": "4" } });
    let pod = json!({ "spec": { "containers": [{ "name": "c", "resources": resources }] } });
    check(&pod, "cpu=1000 nvidia.com/gpu=4 pods=1");
}

#[test]
fn init_containers_count_by_the_largest_and_sidecars_stay() {
    let check = |init: &[Value], expected: &str| {
        let containers = [asks(&json!({ "cpu": "2", "memory": "10" }))];
        check(&json!({ "spec": { "containers": containers, "initContainers": init } }), expected);
    };
    let cpu = |cpu: &str| json!({ "cpu": cpu });
    check(&[], "cpu=2000 memory=10 pods=1");
    check(&[asks(&cpu("1")), asks(&cpu("1"))], "cpu=2000 memory=10 pods=1");
    check(&[asks(&cpu("1")), asks(&cpu("3"))], "cpu=3000 memory=10 pods=1");
    check(&[asks(&json!({ "memory": "20" }))], "cpu=2000 memory=20 pods=1");
    check(&[sidecar(&cpu("1"))], "cpu=3000 memory=10 pods=1");
    check(&[sidecar(&cpu("1")), sidecar(&cpu("1"))], "cpu=4000 memory=10 pods=1");
    // A sidecar before an init container runs beside it; one behind it does not.
    check(&[sidecar(&cpu("1")), asks(&cpu("4"))], "cpu=5000 memory=10 pods=1");
    check(&[asks(&cpu("4")), sidecar(&cpu("1"))], "cpu=4000 memory=10 pods=1");
    check(&[sidecar(&cpu("1")), asks(&cpu("4")), sidecar(&cpu("3"))], "cpu=6000 memory=10 pods=1");
}

#[test]
fn overhead_and_resources_of_the_whole_pod() {
    let containers = [asks(&json!({ "cpu": "1", "memory": "100", "nvidia.com/gpu": "1" }))];
    let check = |more: Value, expected: &str| {
        let mut spec = json!({ "containers": containers });
        spec.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        check(&json!({ "spec": spec }), expected);
    };
    check(json!({ "overhead": { "cpu": "250m", "memory": "50" } }), "cpu=1250 memory=150 nvidia.com/gpu=1 pods=1");
    // The whole replaces the sum, for CPU, memory and huge pages only.
    let whole = json!({ "requests": { "cpu": "4", "memory": "50", "hugepages-2Mi": "2Mi", "nvidia.com/gpu": "8" } });
    check(json!({ "resources": whole }), "cpu=4000 hugepages-2Mi=2097152 memory=50 nvidia.com/gpu=1 pods=1");
    let with_overhead = json!({ "resources": { "requests": { "cpu": "4" } }, "overhead": { "cpu": "1" } });
    check(with_overhead, "cpu=5000 memory=100 nvidia.com/gpu=1 pods=1");
    // A limit of the whole counts only where nobody asks for anything.
    let limits = json!({ "resources": { "limits": { "cpu": "9", "hugepages-1Gi": "1Gi" } } });
    check(limits, "cpu=1000 hugepages-1Gi=1073741824 memory=100 nvidia.com/gpu=1 pods=1");
}

#[test]
fn resized_pods_are_charged_by_their_status() {
    let check = |status: Value, expected: &str| {
        let spec = json!({ "nodeName": "n", "containers": [asks(&json!({ "cpu": "2", "memory": "10" }))] });
        check(&json!({ "spec": spec, "status": status }), expected);
    };
    let container = |requests: Value, allotted: Value| json!([{ "name": "c", "resources": { "requests": requests }, "allocatedResources": allotted }]);
    let bigger = container(json!({ "cpu": "3", "memory": "5" }), json!({ "cpu": "1" }));
    check(json!({ "containerStatuses": bigger }), "cpu=3000 memory=10 pods=1");
    let allotted = container(json!({ "cpu": "1" }), json!({ "cpu": "4" }));
    check(json!({ "containerStatuses": allotted }), "cpu=4000 memory=10 pods=1");
    // What was asked for and cannot be had does not count.
    let refused = json!([{ "type": "PodResizePending", "status": "True", "reason": "Infeasible" }]);
    let had = container(json!({ "cpu": "1", "memory": "10" }), json!({ "cpu": "1" }));
    check(json!({ "containerStatuses": had, "conditions": refused }), "cpu=1000 memory=10 pods=1");
    // An older kubelet says nothing of resources.
    check(json!({ "containerStatuses": [{ "name": "c" }] }), "cpu=2000 memory=10 pods=1");
    check(json!({ "containerStatuses": [{ "name": "x", "resources": {} }] }), "cpu=2000 memory=10 pods=1");
}

/// Pods that are alike are charged once; these are not.
#[test]
fn pods_that_differ_a_little_are_charged_each_for_itself() {
    let one = json!({ "cpu": "1" });
    let specs = [
        json!({ "containers": [asks(&one)] }),
        json!({ "containers": [asks(&one), asks(&one)] }),
        json!({ "containers": [asks(&one)], "initContainers": [asks(&json!({ "cpu": "3" }))] }),
        json!({ "containers": [asks(&one)], "initContainers": [sidecar(&json!({ "cpu": "3" }))] }),
        json!({ "containers": [asks(&one)], "overhead": one }),
        json!({ "containers": [asks(&one)], "resources": { "requests": { "cpu": "5" } } }),
        json!({ "containers": [asks(&one)], "resources": { "limits": { "memory": "5" } } }),
        json!({ "containers": [asks(&json!({ "cpu": "1", "memory": "1" }))] }),
        json!({ "containers": [{ "name": "c", "resources": { "requests": one, "limits": { "memory": "2" } } }] }),
        json!({ "containers": [asks(&json!({ "memory": "1", "pods": "1" }))] }),
    ];
    let mut pods: Vec<Value> = Vec::new();
    // Each twice, so that each is looked up as well.
    for (i, spec) in specs.iter().chain(&specs).enumerate() {
        pods.push(json!({ "kind": "Pod", "metadata": { "name": format!("p{i:02}") }, "spec": spec }));
        pods[i]["spec"]["schedulerName"] = "trellis".into();
    }
    let resized = json!([{ "name": "c", "resources": { "requests": { "cpu": "9" } } }]);
    pods.push(json!({ "kind": "Pod", "metadata": { "name": "p99" }, "spec": pods[0]["spec"], "status": { "containerStatuses": resized } }));
    let problem = posed(&pods);
    assert_eq!(problem.gangs.len(), pods.len());
    for (gang, pod) in problem.gangs.iter().zip(&pods) {
        let pod: Pod = object(pod);
        let charged = requests::of(&pod).expect("no fault");
        let amount =
            |name: &String| charged.iter().find(|(charged, _)| charged == name).map_or(0, |(_, amount)| *amount);
        let expected: Vec<i64> = problem.cluster.resources.iter().map(amount).collect();
        assert_eq!(*gang.pods[0].request, *expected, "{pod:?}");
    }
}

#[test]
fn faults_name_the_quantity() {
    let negative = json!({ "spec": { "containers": [{ "name": "a" }, asks(&json!({ "nvidia.com/gpu": "-1" }))] } });
    check(
        &negative,
        "spec.containers[1].resources.requests[nvidia.com/gpu]: Invalid value: \"-1\": must not be negative",
    );
    let unreadable = json!({ "spec": { "containers": [], "overhead": { "cpu": "lots" } } });
    let suffixes = "n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei";
    check(
        &unreadable,
        &format!(
            "spec.overhead[cpu]: Invalid value: \"lots\": must be a quantity: a number, with an optional suffix {suffixes} or \
             an exponent (e.g. '500m', '8', '1.5Gi', '1e3')"
        ),
    );
    let huge = asks(&json!({ "memory": "7Ei" }));
    check(
        &json!({ "spec": { "containers": [huge, huge] } }),
        "spec.containers: Invalid value: \"memory: 16140901064495857664\": all containers together ask for more memory than \
         can be counted",
    );
}
