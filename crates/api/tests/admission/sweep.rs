//! Every field of every kind, given a value of a wrong type: decision 47, "a wrong type or range is a refusal with a
//! field", whatever the field.

use crate::edit::yaml;
use crate::harness::{Case, written};
use serde_json::{Value, json};
use trellis_api::admission::object::Kind;

const SET: &str = "
metadata: {name: demo, namespace: default, labels: {team: ml}, annotations: {note: x}, finalizers: [a/b]}
spec:
  replicas: 1
  updateStrategy: {type: OnDelete}
  template:
    cliqueStartupType: CliqueStartupTypeExplicit
    priorityClassName: high
    headlessServiceConfig: {publishNotReadyAddresses: true}
    clusterTopologyName: h100
    topologyConstraint: {topologyName: h100, packDomain: zone}
    terminationDelay: 4h
    resourceClaimTemplates: [{name: gpu, templateSpec: {spec: {devices: {requests: [{name: gpu}]}}}}]
    resourceSharing: [{name: gpu, namespace: '', scope: PerReplica, filter: {childCliqueNames: [router]}}]
    cliques:
      - name: router
        labels: {tier: front}
        annotations: {note: x}
        topologyConstraint: {pack: {required: rack, preferred: host}}
        spec:
          roleName: router
          replicas: 2
          minAvailable: 2
          autoScalingConfig: {minReplicas: 2, maxReplicas: 3}
          podSpec:
            terminationGracePeriodSeconds: 5
            containers: [{name: main, image: b, env: [{name: A, value: x}], resources: {limits: {cpu: '1'}}}]
      - {name: worker, spec: {roleName: worker, startsAfter: [router], podSpec: {containers: [{name: main, image: b}]}}}
    podCliqueScalingGroups:
      - name: workers
        replicas: 2
        minAvailable: 1
        cliqueNames: [worker]
        annotations: {note: x}
        scaleConfig: {minReplicas: 1, maxReplicas: 3}
        topologyConstraint: {packDomain: rack}
";

const TOPOLOGY: &str = "
metadata: {name: h100, labels: {team: ml}}
spec: {levels: [{domain: zone, key: zone}, {domain: host, key: kubernetes.io/hostname}]}
";

const CONFIG: &str = "
runtimeClientConnection: {qps: 100, burst: 120, contentType: a, acceptContentTypes: b}
leaderElection:
  {enabled: true, leaseDuration: 15s, renewDeadline: 10s, retryPeriod: 2s, resourceLock: leases, resourceName: a,
  resourceNamespace: b}
server:
  webhooks: {bindAddress: a, port: 1, serverCertDir: a, secretName: b, certProvisionMode: auto}
  healthProbes: {enable: true, bindAddress: a, port: 2}
  metrics: {bindAddress: a, port: 3}
debugging: {enableProfiling: true, pprofBindHost: a, pprofBindPort: 4}
controllers:
  podCliqueSet: {concurrentSyncs: 1}
  podClique: {concurrentSyncs: 1}
  podCliqueScalingGroup: {concurrentSyncs: 1}
  podGang: {concurrentSyncs: 1}
logLevel: info
logFormat: json
authorizer: {enabled: true, exemptServiceAccountUserNames: [a]}
topologyAwareScheduling: {enabled: true, autoPreferred: true, levels: [{domain: zone, key: zone}]}
network: {autoMNNVLEnabled: false}
scheduler:
  defaultProfileName: trellis
  profiles:
    - {name: trellis, default: true, config: {holdSeconds: 1, reserveAfter: 10m}}
    - {name: kai-scheduler, config: {createTopologyResources: true}}
    - {name: default-scheduler, config: {gangScheduling: true}}
initImage: a
";

/// Paths of all values in an object, in the form that errors have, with a value of another type for each.
fn wrong_values(value: &Value, path: &str, found: &mut Vec<(String, Value)>) {
    if !path.is_empty() {
        // No field takes a list of lists, and none that takes a list or an object takes a number.
        found.push((path.to_owned(), if value.is_array() || value.is_object() { json!(5) } else { json!([[]]) }));
    }
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                let is_map = ["labels", "annotations", "limits"].iter().any(|map| path.ends_with(map));
                let path = match (path, is_map) {
                    ("", _) => key.clone(),
                    (path, true) => format!("{path}[{key}]"),
                    (path, false) => format!("{path}.{key}"),
                };
                wrong_values(field, &path, found);
            }
        }
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                wrong_values(item, &format!("{path}[{i}]"), found);
            }
        }
        _ => {}
    }
}

/// Whether an error's path leads to the value or into it.
fn points_at(field: &str, path: &str) -> bool {
    // Kubernetes writes entries of a map in brackets, the readers of metadata and pod specs write dots.
    let plain = |text: &str| text.replace(['[', ']'], ".").replace("..", ".");
    let (field, path) = (format!("{}.", plain(field)), format!("{}.", plain(path)));
    field.replace("..", ".").starts_with(&path.replace("..", "."))
}

fn sweep(kind: Kind, text: &str, case: impl Fn(&[&str]) -> Case) {
    case(&[]).gives(&[]);
    let mut values = Vec::new();
    wrong_values(&yaml(text), "", &mut values);
    assert!(values.len() > 6, "{kind:?}");
    let mut passed_over = Vec::new();
    for (path, value) in values {
        // What a claim template holds is for the claims' own API to judge.
        if path.contains("templateSpec.spec") {
            continue;
        }
        let verdict = case(&[&format!("{path}: {value}")]).verdict();
        if !verdict.errors.iter().any(|error| points_at(&error.field, &path)) {
            let errors: Vec<String> = verdict.errors.iter().map(ToString::to_string).collect();
            passed_over.push(format!("{path}: {value} gives {errors:?}"));
        }
    }
    assert_eq!(passed_over, [""; 0]);
}

#[test]
fn d47_wrong_types_anywhere_in_a_set() {
    sweep(Kind::PodCliqueSet, SET, |edits| written(Kind::PodCliqueSet, SET, edits));
}

#[test]
fn d47_wrong_types_anywhere_in_a_topology() {
    sweep(Kind::ClusterTopology, TOPOLOGY, |edits| written(Kind::ClusterTopology, TOPOLOGY, edits));
}

#[test]
fn d47_wrong_types_anywhere_in_a_configuration() {
    sweep(Kind::OperatorConfiguration, CONFIG, |edits| written(Kind::OperatorConfiguration, CONFIG, edits));
}

/// Of what cannot be read the rest is judged, and nothing panics: every pair of a wrong value and a request to change it.
#[test]
fn d47_wrong_values_on_update_are_refused_too() {
    let mut values = Vec::new();
    wrong_values(&yaml(SET), "", &mut values);
    for (path, value) in values.iter().filter(|(path, _)| !path.contains("templateSpec.spec")) {
        let verdict = written(Kind::PodCliqueSet, SET, &[&format!("{path}: {value}")]).old(&[]).verdict();
        assert!(!verdict.allowed(), "{path}: {value}");
    }
}
