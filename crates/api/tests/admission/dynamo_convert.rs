//! Between v1alpha1 and v1beta1: section 1.2 of the Dynamo reference, and that nothing is lost either way.

use crate::edit::yaml;
use serde_json::{Value, json};
use trellis_api::dynamo::{conversion_review, convert};

const ALPHA: &str = "nvidia.com/v1alpha1";
const BETA: &str = "nvidia.com/v1beta1";

fn object(version: &str, spec: &Value) -> Value {
    json!({ "apiVersion": version, "kind": "DynamoGraphDeployment", "metadata": { "name": "demo" }, "spec": spec })
}

/// What a v1alpha1 spec becomes, and that it comes back as it was.
#[track_caller]
fn check(alpha: &str, beta: &str) {
    let written = object(ALPHA, &yaml(alpha));
    let converted = convert(&written, BETA).expect("it converts");
    assert_eq!(converted["spec"], yaml(beta));
    assert_eq!(converted["apiVersion"], BETA);
    assert_eq!(convert(&converted, ALPHA).expect("it converts"), written);
}

#[test]
fn dynamo1_2_services_become_components_in_the_order_of_their_names() {
    check(
        "{services: {worker: {replicas: 2}, Frontend: {}, Planner: {}}}",
        "{components: [{name: Frontend}, {name: Planner}, {name: worker, replicas: 2}]}",
    );
    check("{services: {a: {}, gone: null}}", "{components: [{name: a}]}");
    // A list keeps its own.
    check("{services: [{name: worker}, {name: Frontend}]}", "{components: [{name: worker}, {name: Frontend}]}");
}

#[test]
fn dynamo1_2_names_of_fields() {
    check(
        "{envs: [{name: A, value: b}], topologyConstraint: {topologyProfile: h100, packDomain: zone}, services: {}}",
        "{env: [{name: A, value: b}], topologyConstraint: {clusterTopologyName: h100, packDomain: zone}, components: []}",
    );
    check(
        "{services: {a: {componentType: worker, subComponentType: decode}}}",
        "{components: [{name: a, type: decode}]}",
    );
    check(
        "{services: {a: {componentType: worker, subComponentType: other}}}",
        "{components: [{name: a, type: worker, subComponentType: other}]}",
    );
    check("{services: {a: {componentType: my-own}}}", "{components: [{name: a, componentType: my-own}]}");
    check("{services: {a: {sharedMemory: {disabled: true}}}}", "{components: [{name: a, sharedMemorySize: '0'}]}");
    check("{services: {a: {sharedMemory: {size: 2Gi}}}}", "{components: [{name: a, sharedMemorySize: 2Gi}]}");
    check("{services: {a: {scalingAdapter: {enabled: true}}}}", "{components: [{name: a, scalingAdapter: {}}]}");
    check("{services: {a: {scalingAdapter: {enabled: false}}}}", "{components: [{name: a}]}");
}

#[test]
fn dynamo1_2_the_pod_template() {
    check(
        "
services:
  a:
    resources: {limits: {cpu: '4', gpu: '8', custom: {rdma/ib: '1'}}}
    envs: [{name: A, value: own}, {name: B, value: b}]
    envFromSecret: token
    volumeMounts: [{name: models, mountPoint: /models}, {name: cache, mountPoint: /cache, useAsCompilationCache: true}]
    readinessProbe: {periodSeconds: 3}
    labels: {tier: low, app: service}
    extraPodMetadata: {labels: {app: pods}}
    extraPodSpec:
      nodeSelector: {pool: gpu}
      containers: [{name: side, image: s}]
      mainContainer:
        image: a:1
        env: [{name: A, value: main}]
        volumeMounts: [{name: x, mountPath: /x}]
",
        "
components:
  - name: a
    compilationCache: {pvcName: cache, mountPath: /cache}
    podTemplate:
      metadata: {labels: {tier: low, app: pods}}
      spec:
        nodeSelector: {pool: gpu}
        containers:
          - name: main
            image: a:1
            env: [{name: B, value: b}, {name: A, value: main}]
            envFrom: [{secretRef: {name: token}}]
            resources: {limits: {cpu: '4', nvidia.com/gpu: '8', rdma/ib: '1'}}
            readinessProbe: {periodSeconds: 3}
            volumeMounts: [{name: x, mountPath: /x}, {name: models, mountPath: /models}]
          - {name: side, image: s}
",
    );
    check(
        "{services: {a: {resources: {requests: {gpu: 1, gpuType: gpu.intel.com/xe}}}}}",
        "{components: [{name: a, podTemplate: {spec: {containers: [{name: main, resources: {requests: {gpu.intel.com/xe: 1}}}]}}}]}",
    );
    // What the main container says goes before what the service says, field by field; lists are taken whole.
    check(
        "
services:
  a:
    resources: {limits: {gpu: '4', memory: 1Gi}, claims: [{name: x}]}
    extraPodSpec:
      mainContainer: {image: a, resources: {requests: {memory: 10Gi}, limits: {memory: 10Gi}, claims: [{name: y}]}}
",
        "
components:
  - name: a
    podTemplate:
      spec:
        containers:
          - name: main
            image: a
            resources:
              limits: {nvidia.com/gpu: '4', memory: 10Gi}
              requests: {memory: 10Gi}
              claims: [{name: y}]
",
    );
    let probes = |service: &str, over: &str, expected: &str| {
        check(
            &format!(
                "{{services: {{a: {{livenessProbe: {service}, extraPodSpec: {{mainContainer: {{livenessProbe: {over}}}}}}}}}}}"
            ),
            &format!(
                "{{components: [{{name: a, podTemplate: {{spec: {{containers: [{{name: main, livenessProbe: {expected}}}]}}}}}}]}}"
            ),
        );
    };
    let asks = "httpGet: {path: /a, port: 1}";
    probes(&format!("{{{asks}, periodSeconds: 3}}"), "{periodSeconds: 5}", &format!("{{{asks}, periodSeconds: 5}}"));
    // A probe asks in one way only.
    probes(
        &format!("{{{asks}, periodSeconds: 3}}"),
        "{exec: {command: [x]}}",
        "{exec: {command: [x]}, periodSeconds: 3}",
    );
    probes(&format!("{{{asks}}}"), "{httpGet: {port: 2}}", "{httpGet: {port: 2}}");
    probes(&format!("{{{asks}}}"), "null", &format!("{{{asks}}}"));
    check(
        "{services: {a: {frontendSidecar: {image: s, args: [x], envFromSecret: t}}}}",
        "
components:
  - name: a
    frontendSidecar: sidecar-frontend
    podTemplate:
      spec:
        containers:
          - {name: main}
          - {name: sidecar-frontend, image: s, args: [x], envFrom: [{secretRef: {name: t}}]}
",
    );
}

#[test]
fn components_come_back_as_they_were() {
    let check = |beta: &str| {
        let written = object(BETA, &yaml(beta));
        let converted = convert(&written, ALPHA).expect("it converts");
        assert_eq!(convert(&converted, BETA).expect("it converts"), written, "{converted:#}");
    };
    // Order, a main container that is not the first, words that v1alpha1 does not have.
    check("{components: [{name: b}, {name: a, type: epp}]}");
    check("{components: [{name: a, podTemplate: {spec: {containers: [{name: side}, {name: main}]}}}]}");
    check("{components: [{name: a, podTemplate: {metadata: {labels: {x: y}, name: odd}, spec: {}, more: 1}}]}");
    check("{components: [{name: a, type: prefill, sharedMemorySize: 0}, {name: a}], env: [], experimental: {x: [1]}}");
    check("{components: [{name: a}, {name: a, sharedMemorySize: 0}]}");
    check("{services: {a: {}}}");
}

/// A change in one version shows in the other, and leaves the rest as it was written.
#[test]
fn changes_show_in_the_other_version() {
    let written =
        object(ALPHA, &yaml("{services: [{name: b, envs: [{name: A, value: x}]}, {name: a, sharedMemory: {}}]}"));
    let mut beta = convert(&written, BETA).expect("it converts");
    beta["spec"]["components"][1]["replicas"] = 7.into();
    let alpha = convert(&beta, ALPHA).expect("it converts");
    let expected = yaml("[{name: b, envs: [{name: A, value: x}]}, {name: a, replicas: 7}]");
    assert_eq!(alpha["spec"]["services"], expected);
    assert_eq!(convert(&alpha, BETA).expect("it converts")["spec"], beta["spec"]);
}

#[test]
fn status_names_components_or_services() {
    let mut written = object(BETA, &json!({ "components": [] }));
    written["status"] = json!({ "state": "pending", "components": { "a": { "replicas": 1 } } });
    let converted = convert(&written, ALPHA).expect("it converts");
    assert_eq!(converted["status"], json!({ "state": "pending", "services": { "a": { "replicas": 1 } } }));
    assert_eq!(convert(&converted, BETA).expect("it converts"), written);
}

#[test]
fn what_cannot_be_taken_apart_is_handed_on() {
    for spec in
        [json!(null), json!(3), json!({ "services": 3 }), json!({ "components": [3] }), json!({ "services": [{}] })]
    {
        let written = object(ALPHA, &spec);
        assert_eq!(convert(&written, BETA).expect("it converts")["spec"], written["spec"]);
    }
    assert!(convert(&json!([]), BETA).is_err());
    assert!(convert(&object(ALPHA, &json!({})), "nvidia.com/v1").is_err());
}

#[test]
fn conversion_reviews() {
    let request = |to: &str| {
        let objects = [object(ALPHA, &json!({ "services": { "a": {} } }))];
        let request = json!({ "uid": "u", "desiredAPIVersion": to, "objects": objects });
        conversion_review(
            &json!({ "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request }),
        )
    };
    let review = request(BETA);
    assert_eq!(review["response"]["uid"], "u");
    assert_eq!(review["response"]["result"], json!({ "status": "Success" }));
    assert_eq!(review["response"]["convertedObjects"][0]["spec"], json!({ "components": [{ "name": "a" }] }));
    let review = request("nvidia.com/v9");
    assert_eq!(review["response"]["result"]["status"], "Failure");
}
