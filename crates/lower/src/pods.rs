//! Pods: the user's pod spec with what makes it a member of its gang.

use crate::expand::Instance;
use crate::startup::Parent;
use crate::{claims, name, namespace, owner_reference, scheduler};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::{DynamicObject, TypeMeta};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use trellis_api::kinds::{PodClique, PodCliqueSet};
use trellis_api::names::{self, annotation, env, label, profile};
use trellis_api::settings::Settings;

/// Where a service account's token is looked for.
const TOKEN_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Makes the pods of one PodClique.
#[derive(Clone, Debug)]
pub struct PodMaker(Arc<Common>);

/// What all pods of a PodClique have in common.
#[derive(Debug)]
struct Common {
    metadata: ObjectMeta,
    spec: Map<String, Value>,
    clique: String,
    claims: Vec<claims::PodClaim>,
}

/// A pod to be made. A set has thousands of them that differ in name and index, so the object is put together when it is
/// asked for.
#[derive(Clone, Debug)]
pub struct Pod {
    maker: PodMaker,
    index: usize,
    name: String,
}

impl Pod {
    /// Name of the pod.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The pod as it is created.
    pub fn object(&self) -> DynamicObject {
        let common = &self.maker.0;
        let mut metadata = common.metadata.clone();
        metadata.name = Some(self.name.clone());
        metadata.labels.get_or_insert_default().insert(label::POD_INDEX.to_owned(), self.index.to_string());
        let mut spec = common.spec.clone();
        spec.insert("hostname".to_owned(), names::pod(&common.clique, self.index).into());
        claims::add_to_pod(&common.claims, self.index, &mut spec);
        DynamicObject {
            types: Some(TypeMeta { api_version: "v1".to_owned(), kind: "Pod".to_owned() }),
            metadata,
            // Not by `json!`, which would copy the spec once more.
            data: Value::Object(Map::from_iter([("spec".to_owned(), Value::Object(spec))])),
        }
    }
}

impl Serialize for Pod {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.object().serialize(serializer)
    }
}

impl PodMaker {
    /// Prepares what all pods of the clique have in common.
    pub fn new(
        set: &PodCliqueSet,
        instance: &Instance<'_>,
        clique: &PodClique,
        parents: &[Parent],
        settings: &Settings,
    ) -> Self {
        let scheduler = scheduler(set, settings);
        let mut labels = clique.metadata.labels.clone().unwrap_or_default();
        labels.insert(label::POD_CLIQUE.to_owned(), instance.name.clone());
        let mut annotations = clique.metadata.annotations.clone().unwrap_or_default();
        annotations.remove(annotation::TEMPLATE_REPLICAS);
        if scheduler == profile::KAI {
            labels.insert(label::KAI_SUBGROUP.to_owned(), instance.name.clone());
            annotations.insert(annotation::KAI_POD_GROUP.to_owned(), instance.gang.clone());
            annotations.insert(annotation::KAI_SKIP_POD_GROUPER.to_owned(), "true".to_owned());
        }
        let owner = owner_reference(clique).map(|owner| vec![owner]);
        let metadata = ObjectMeta {
            namespace: Some(namespace(set).to_owned()),
            labels: Some(labels),
            annotations: Some(annotations).filter(|annotations| !annotations.is_empty()),
            owner_references: owner,
            ..ObjectMeta::default()
        };
        let mut spec = (*clique.spec.pod_spec.0).clone();
        add_environment(&environment(set, instance), &mut spec);
        if !parents.is_empty() {
            let account = clique.spec.pod_spec.service_account().unwrap_or_else(|| name(set));
            add_wait_container(parents, account, settings, &mut spec);
        }
        add_gate(&mut spec);
        spec.insert("schedulerName".to_owned(), scheduler.into());
        spec.insert("subdomain".to_owned(), names::set_replica(name(set), instance.set_index).into());
        let own_class = spec.get("priorityClassName").and_then(Value::as_str).is_some_and(|class| !class.is_empty());
        if let (false, Some(class)) = (own_class, set.spec.template.priority_class_name.as_deref())
            && !class.is_empty()
        {
            spec.insert("priorityClassName".to_owned(), class.into());
        }
        let claims = claims::of_instance(set, instance);
        Self(Arc::new(Common { metadata, spec, clique: instance.name.clone(), claims }))
    }

    /// The pod of index `k`, under a name that the caller chooses.
    pub fn pod(&self, k: usize, name: String) -> Pod {
        Pod { maker: self.clone(), index: k, name }
    }
}

fn field_ref(path: &str) -> Value {
    json!({ "fieldRef": { "fieldPath": path } })
}

fn label_ref(label: &str) -> Value {
    field_ref(&format!("metadata.labels['{label}']"))
}

/// The variables that every container gets, in this order.
fn environment(set: &PodCliqueSet, instance: &Instance<'_>) -> Vec<Value> {
    let literal = |name: &str, value: String| json!({ "name": name, "value": value });
    let reference = |name: &str, label: &str| json!({ "name": name, "valueFrom": label_ref(label) });
    let service = names::headless_service_dns(name(set), instance.set_index, namespace(set));
    let mut variables = vec![
        literal(env::SET_NAME, name(set).to_owned()),
        literal(env::SET_INDEX, instance.set_index.to_string()),
        literal(env::CLIQUE_NAME, instance.name.clone()),
        literal(env::HEADLESS_SERVICE, service),
        reference(env::POD_INDEX, label::POD_INDEX),
    ];
    if let Some(group) = &instance.group {
        let members = set.spec.template.cliques.iter();
        let members = members.filter(|clique| group.template.clique_names.contains(&clique.name));
        let pods: usize = members.map(crate::expand::template_replicas).sum();
        variables.push(reference(env::GROUP_NAME, label::SCALING_GROUP));
        variables.push(reference(env::GROUP_INDEX, label::SCALING_GROUP_REPLICA_INDEX));
        variables.push(literal(env::GROUP_NUM_PODS, pods.to_string()));
    }
    variables
}

/// Puts our variables first, so that the user's can refer to them, and drops the user's of the same names.
fn add_environment(variables: &[Value], spec: &mut Map<String, Value>) {
    for list in ["initContainers", "containers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(container) = container.as_object_mut() else { continue };
            let own = match container.remove("env") {
                Some(Value::Array(own)) => own,
                _ => Vec::new(),
            };
            let ours = |variable: &Value| variables.iter().any(|our| our["name"] == variable["name"]);
            let own = own.into_iter().filter(|variable| !ours(variable));
            container.insert("env".to_owned(), variables.iter().cloned().chain(own).collect());
        }
    }
}

/// Adds our gate to those that the template has.
fn add_gate(spec: &mut Map<String, Value>) {
    let gates = spec.entry("schedulingGates").or_insert_with(|| Value::Array(Vec::new()));
    if !gates.is_array() {
        *gates = Value::Array(Vec::new());
    }
    if let Value::Array(gates) = gates {
        gates.retain(|gate| gate["name"] != names::GANG_GATE);
        gates.push(json!({ "name": names::GANG_GATE }));
    }
}

/// Adds the init container that waits for the cliques this one starts after. It reads pods with a token of its own, so
/// it works where the pod mounts none; its requests equal its limits, so that a Guaranteed pod stays one.
fn add_wait_container(parents: &[Parent], account: &str, settings: &Settings, spec: &mut Map<String, Value>) {
    let mut arguments = vec![Value::from("wait")];
    arguments.extend(parents.iter().map(|p| format!("--podcliques={}:{}", p.name, p.min_available).into()));
    let resources = json!({ "cpu": "100m", "memory": "64Mi" });
    let container = json!({
        "name": names::WAIT_CONTAINER,
        "image": settings.init_image,
        "args": arguments,
        "env": [
            { "name": env::WAIT_NAMESPACE, "valueFrom": field_ref("metadata.namespace") },
            { "name": env::WAIT_POD_GANG, "valueFrom": label_ref(label::POD_GANG) },
        ],
        "resources": { "requests": resources, "limits": resources },
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": { "drop": ["ALL"] },
            "readOnlyRootFilesystem": true,
            "runAsNonRoot": true,
            "runAsUser": 65532,
            "seccompProfile": { "type": "RuntimeDefault" },
        },
        "volumeMounts": [{ "name": names::WAIT_TOKEN_VOLUME, "mountPath": TOKEN_PATH, "readOnly": true }],
    });
    let volume = json!({
        "name": names::WAIT_TOKEN_VOLUME,
        "projected": { "sources": [
            { "serviceAccountToken": { "path": "token", "expirationSeconds": 3600 } },
            { "configMap": { "name": "kube-root-ca.crt", "items": [{ "key": "ca.crt", "path": "ca.crt" }] } },
            { "downwardAPI": { "items": [{ "path": "namespace", "fieldRef": { "fieldPath": "metadata.namespace" } }] } },
        ]},
    });
    push(spec, "initContainers", container);
    push(spec, "volumes", volume);
    spec.insert("serviceAccountName".to_owned(), account.into());
}

pub(crate) fn push(map: &mut Map<String, Value>, list: &str, item: Value) {
    match map.get_mut(list) {
        Some(Value::Array(items)) => items.push(item),
        _ => {
            map.insert(list.to_owned(), Value::Array(vec![item]));
        }
    }
}

/// Labels shared by the pods of a set replica, by which its headless Service finds them.
pub(crate) fn replica_selector(set: &PodCliqueSet, i: usize) -> BTreeMap<String, String> {
    BTreeMap::from([
        (label::MANAGED_BY.to_owned(), names::MANAGED_BY.to_owned()),
        (label::PART_OF.to_owned(), name(set).to_owned()),
        (label::SET_REPLICA_INDEX.to_owned(), i.to_string()),
    ])
}
