//! The requests that carry out a plan. Each names the version, or at least the uid, that it was decided on.

use std::collections::BTreeMap;

use http::{Method, Request};
use serde_json::{Value, json};
use trellis_api::names::annotation;

use crate::plan::{Bind, Delete, FIELD_MANAGER, Kind, PodCondition, StatusApply, Target, Version};

/// A request, ready to be sent any number of times.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    method: Method,
    path: String,
    media: &'static str,
    body: String,
}

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

impl Message {
    /// The request itself.
    pub fn request(&self) -> Result<Request<Vec<u8>>, http::Error> {
        let request = Request::builder().method(self.method.clone()).uri(&self.path);
        request.header("content-type", self.media).body(self.body.clone().into_bytes())
    }

    fn new(method: Method, path: String, media: &'static str, body: &Value) -> Self {
        Self { method, path, media, body: body.to_string() }
    }

    /// Reads an object.
    pub fn read(target: &Target) -> Self {
        Self { method: Method::GET, path: path(target), media: JSON, body: String::new() }
    }

    /// Sets annotations of an object, or takes them away, if it still has this version.
    pub fn annotate(target: &Target, version: &Version, annotations: &BTreeMap<&'static str, Option<String>>) -> Self {
        let patch = json!({ "metadata": {
            "uid": version.uid,
            "resourceVersion": version.resource_version,
            "annotations": annotations,
        }});
        Self::new(Method::PATCH, format!("{}?fieldManager={FIELD_MANAGER}", path(target)), MERGE, &patch)
    }

    /// Gives a pod its node, if it still has this version.
    pub fn bind(bind: &Bind, version: &Version) -> Self {
        let mut binding = json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {
                "name": bind.pod,
                "namespace": bind.namespace,
                "uid": version.uid,
                "resourceVersion": version.resource_version,
            },
            "target": { "apiVersion": "v1", "kind": "Node", "name": bind.node },
        });
        if let Some(zone) = &bind.zone {
            binding["metadata"]["annotations"] = json!({ annotation::NUMA_ZONE: zone });
        }
        let path = format!("{}/binding?fieldManager={FIELD_MANAGER}", path(&pod(&bind.namespace, &bind.pod)));
        Self::new(Method::POST, path, JSON, &binding)
    }

    /// Deletes a pod, if it still has this version.
    pub fn delete(delete: &Delete) -> Self {
        let Version { uid, resource_version } = &delete.version;
        let preconditions = json!({ "uid": uid, "resourceVersion": resource_version });
        let options = json!({ "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions });
        Self::new(Method::DELETE, path(&pod(&delete.namespace, &delete.pod)), JSON, &options)
    }

    /// Applies what we say in the status of a gang.
    pub fn status(status: &StatusApply) -> Self {
        let path = format!("{}/status?fieldManager={FIELD_MANAGER}&force=true", path(&status.target));
        Self::new(Method::PATCH, path, APPLY, &status.object)
    }

    /// Says something in the status of a pod.
    pub fn pod_condition(condition: &PodCondition) -> Self {
        let target = pod(&condition.namespace, &condition.pod);
        let path = format!("{}/status?fieldManager={FIELD_MANAGER}", path(&target));
        Self::new(Method::PATCH, path, STRATEGIC, &condition.patch)
    }
}

/// A pod by name.
pub fn pod(namespace: &str, name: &str) -> Target {
    Target { kind: Kind::Pod, namespace: namespace.to_owned(), name: name.to_owned() }
}

fn path(target: &Target) -> String {
    let (group, version, _, plural) = target.kind.names();
    let root = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
    format!("{root}/namespaces/{}/{plural}/{}", target.namespace, target.name)
}
