//! What there is in a namespace, and how far a deployment is.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::select_all;
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt as _, watcher as follow};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Group, version, kind and plural of what an operator makes.
pub const KINDS: [(&str, &str, &str, &str); 6] = [
    ("grove.io", "v1alpha1", "PodCliqueSet", "podcliquesets"),
    ("grove.io", "v1alpha1", "PodCliqueScalingGroup", "podcliquescalinggroups"),
    ("grove.io", "v1alpha1", "PodClique", "podcliques"),
    ("scheduler.grove.io", "v1alpha1", "PodGang", "podgangs"),
    ("", "v1", "Service", "services"),
    ("", "v1", "Pod", "pods"),
];

/// Objects by kind and name.
pub type Objects = BTreeMap<(&'static str, String), Value>;

pub fn objects(client: &Client, namespace: &str, kind: &str) -> Api<DynamicObject> {
    let (group, version, kind, plural) = KINDS.into_iter().find(|known| known.2 == kind).expect("a known kind");
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
    Api::namespaced_with(client.clone(), namespace, &resource)
}

/// All that is there now.
pub async fn list(client: &Client, namespace: &str) -> Objects {
    let mut found = Objects::new();
    for (_, _, kind, _) in KINDS {
        for object in objects(client, namespace, kind).list(&ListParams::default()).await.expect("a list").items {
            let name = object.metadata.name.clone().unwrap_or_default();
            found.insert((kind, name), serde_json::to_value(object).expect("an object is JSON"));
        }
    }
    found
}

/// The same without what differs between two deployments of one set. What lost its owner, and what is there twice, is told.
pub fn plain(objects: &Objects) -> BTreeMap<String, Value> {
    let uids: Vec<&Value> = objects.values().map(|object| &object["metadata"]["uid"]).collect();
    let mut plain = BTreeMap::new();
    for ((kind, name), object) in objects {
        let metadata = &object["metadata"];
        let owners = metadata["ownerReferences"].as_array().cloned().unwrap_or_default();
        let orphan = owners.iter().any(|owner| !uids.contains(&&owner["uid"]));
        let conditions: BTreeMap<String, Value> = object["status"]["conditions"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|condition| (condition["type"].to_string(), condition["status"].clone()))
            .collect();
        let labels = &metadata["labels"];
        let (title, spec) = match *kind {
            "Pod" => {
                let title = format!("Pod {} {}", labels["grove.io/podclique"], labels["grove.io/podclique-pod-index"]);
                (title, json!({ "gates": object["spec"]["schedulingGates"], "phase": object["status"]["phase"] }))
            }
            "PodGang" => {
                let groups = object["spec"]["podgroups"].as_array().into_iter().flatten();
                let members = |group: &Value| group["podReferences"].as_array().map_or(0, Vec::len);
                let groups: BTreeMap<String, usize> =
                    groups.map(|group| (group["name"].to_string(), members(group))).collect();
                (format!("PodGang {name}"), json!(groups))
            }
            "Service" => (format!("Service {name}"), object["spec"]["selector"].clone()),
            _ => (format!("{kind} {name}"), object["spec"].clone()),
        };
        let value = json!({ "labels": labels, "spec": spec, "conditions": conditions, "orphan": orphan });
        let twice = plain.insert(title.clone(), value).is_some();
        assert!(!twice, "{title} is there twice");
    }
    plain
}

/// Follows a namespace: how many objects were made and gates lifted so far, and what there is.
pub struct Observer {
    pub progress: watch::Receiver<usize>,
    pub objects: watch::Receiver<Objects>,
    task: JoinHandle<()>,
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Observer {
    pub fn start(client: &Client, namespace: &str) -> Self {
        let streams = KINDS.map(|(_, _, kind, _)| {
            let stream = follow(objects(client, namespace, kind), watcher::Config::default()).default_backoff();
            stream.map(move |event| (kind, event)).boxed()
        });
        let mut events = select_all(streams);
        let (objects, seen) = watch::channel(Objects::new());
        let (progressed, progress) = watch::channel(0);
        let task = tokio::spawn(async move {
            while let Some((kind, event)) = events.next().await {
                let Ok(event) = event else { continue };
                match event {
                    Event::Apply(object) | Event::InitApply(object) => {
                        let name = object.metadata.name.clone().unwrap_or_default();
                        let object = serde_json::to_value(object).expect("an object is JSON");
                        let is_gated = |pod: &Value| !pod["spec"]["schedulingGates"].is_null();
                        let is_free = kind == "Pod" && !is_gated(&object);
                        let mut step = false;
                        objects.send_modify(|objects| {
                            let before = objects.insert((kind, name), object);
                            step = before.is_none_or(|before| is_free && is_gated(&before));
                        });
                        progressed.send_modify(|count| *count += usize::from(step));
                    }
                    Event::Delete(object) => {
                        let name = object.metadata.name.clone().unwrap_or_default();
                        objects.send_modify(|objects| drop(objects.remove(&(kind, name))));
                    }
                    Event::Init | Event::InitDone => {}
                }
            }
        });
        Self { progress, objects: seen, task }
    }

    /// Waits until it is so.
    pub async fn until(&self, what: &str, is_so: impl Fn(&Objects) -> bool) -> Objects {
        let mut objects = self.objects.clone();
        let waited = tokio::time::timeout(Duration::from_mins(1), objects.wait_for(is_so)).await;
        match waited {
            Ok(found) => found.expect("the observer runs").clone(),
            Err(_) => {
                let objects = self.objects.borrow().clone();
                let names: Vec<String> = objects.keys().map(|(kind, name)| format!("{kind} {name}")).collect();
                panic!("waited in vain for: {what}; there is {}", names.join(", "))
            }
        }
    }
}

/// Whether a condition of an object is true.
pub fn is_true(object: &Value, type_: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|condition| condition["type"] == type_ && condition["status"] == "True")
}
