//! What there is, without what differs between two runs that did the same: uids, versions, times, and the random ends of pods' names.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use trellis_api::names::{annotation, env, label};
use trellis_lifecycle::Kind;

use crate::world::World;

/// Objects by kind and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State(BTreeMap<String, Value>);

impl State {
    pub fn of(world: &World) -> Self {
        let objects: Vec<(Kind, Value)> = Kind::ALL
            .into_iter()
            .filter(|kind| *kind != Kind::ResourceClaim)
            .flat_map(|kind| world.list(kind).into_iter().map(move |object| (kind, object)))
            .collect();
        let uids: BTreeSet<String> = objects.iter().map(|(_, object)| text(&object["metadata"]["uid"])).collect();
        let names = pod_names(&objects);
        let deployed = sets_of_deployments(&objects);
        let mut state = BTreeMap::new();
        for (kind, mut object) in objects {
            if kind == Kind::Pod {
                plain_pod(&mut object, &names);
            }
            without_first_replicas(kind, &mut object, &deployed);
            let title = title(kind, &object, &names);
            let generation = object["metadata"]["generation"].clone();
            plain_metadata(&mut object, &uids);
            plain(&mut object, &generation, &names);
            // Two pods of one place in a clique are two objects all the same.
            let mut key = title.clone();
            while state.contains_key(&key) {
                key.push_str(", once more");
            }
            state.insert(key, object);
        }
        Self(state)
    }

    /// The same without what tells of the way and not of the end: how updates went, and how often a gang was taken down.
    pub fn without_history(mut self) -> Self {
        for object in self.0.values_mut() {
            let Some(status) = object["status"].as_object_mut() else { continue };
            status.remove("updateProgress");
            if let Some(Value::Array(conditions)) = status.get_mut("conditions") {
                conditions.retain(|condition| condition["type"] != "DisruptionTarget");
            }
        }
        self
    }

    /// What differs, a line for each value.
    pub fn differences(&self, expected: &Self) -> String {
        let mut lines = Vec::new();
        let keys: BTreeSet<&String> = self.0.keys().chain(expected.0.keys()).collect();
        for key in keys {
            match (self.0.get(key), expected.0.get(key)) {
                (Some(_), None) => lines.push(format!("{key}: should not be there")),
                (None, Some(_)) => lines.push(format!("{key}: is not there")),
                (Some(is), Some(should)) => compare(key, is, should, &mut lines),
                (None, None) => {}
            }
        }
        lines.join("\n")
    }
}

fn compare(at: &str, is: &Value, should: &Value, lines: &mut Vec<String>) {
    match (is, should) {
        (Value::Object(is), Value::Object(should)) => {
            let keys: BTreeSet<&String> = is.keys().chain(should.keys()).collect();
            for key in keys {
                let none = &Value::Null;
                compare(&format!("{at}.{key}"), is.get(key).unwrap_or(none), should.get(key).unwrap_or(none), lines);
            }
        }
        (Value::Array(is), Value::Array(should)) if is.len() == should.len() => {
            let pairs = is.iter().zip(should).enumerate();
            pairs.for_each(|(n, (is, should))| compare(&format!("{at}[{n}]"), is, should, lines));
        }
        _ if is == should => {}
        _ => lines.push(format!("{at}: is {is}, should be {should}")),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A name for each pod that says which one of its clique it is, by the order of their indices.
fn pod_names(objects: &[(Kind, Value)]) -> BTreeMap<String, String> {
    let mut cliques: BTreeMap<String, Vec<(usize, String)>> = BTreeMap::new();
    for (_, pod) in objects.iter().filter(|(kind, _)| *kind == Kind::Pod) {
        let labels = &pod["metadata"]["labels"];
        let index = text(&labels[label::POD_INDEX]).parse().unwrap_or(usize::MAX);
        cliques.entry(text(&labels[label::POD_CLIQUE])).or_default().push((index, text(&pod["metadata"]["name"])));
    }
    let mut names = BTreeMap::new();
    for (clique, mut pods) in cliques {
        pods.sort();
        let indices: BTreeSet<usize> = pods.iter().map(|(index, _)| *index).collect();
        let twice = if indices.len() < pods.len() { " with an index twice" } else { "" };
        for (rank, (_, name)) in pods.into_iter().enumerate() {
            names.insert(name, format!("{clique}#{rank}{twice}"));
        }
    }
    names
}

fn title(kind: Kind, object: &Value, names: &BTreeMap<String, String>) -> String {
    let name = text(&object["metadata"]["name"]);
    format!("{kind:?} {}", names.get(&name).unwrap_or(&name))
}

/// Takes out of a pod what follows from its index, and from the node that it happened to get.
fn plain_pod(pod: &mut Value, names: &BTreeMap<String, String>) {
    let status = &pod["status"];
    let ready = status["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|one| one["type"] == "Ready" && one["status"] == "True");
    pod["status"] = json!({ "phase": status["phase"], "ready": ready });
    let rank = names.get(&text(&pod["metadata"]["name"])).cloned().unwrap_or_default();
    pod["metadata"]["labels"][label::POD_INDEX] = rank.clone().into();
    pod["spec"]["hostname"] = rank.clone().into();
    if pod["spec"]["nodeName"].is_string() {
        pod["spec"]["nodeName"] = "a node".into();
    }
    for list in ["containers", "initContainers"] {
        for container in pod["spec"][list].as_array_mut().into_iter().flatten() {
            for variable in container["env"].as_array_mut().into_iter().flatten() {
                if variable["name"] == env::POD_INDEX {
                    variable["value"] = rank.clone().into();
                }
            }
        }
    }
}

/// Sets that were made for a deployment.
fn sets_of_deployments(objects: &[(Kind, Value)]) -> BTreeSet<String> {
    let is_deployed = |set: &Value| {
        let mut owners = set["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        owners.any(|owner| owner["kind"] == "DynamoGraphDeployment")
    };
    let sets = objects.iter().filter(|(kind, set)| *kind == Kind::PodCliqueSet && is_deployed(set));
    sets.map(|(_, set)| text(&set["metadata"]["name"])).collect()
}

/// The template of such a set has the replicas that the deployment had when it was made; from then on they go through the scale subresource.
/// So they tell when it was made, and nothing of the end.
fn without_first_replicas(kind: Kind, object: &mut Value, deployed: &BTreeSet<String>) {
    if kind == Kind::PodCliqueSet && deployed.contains(&text(&object["metadata"]["name"])) {
        let template = &mut object["spec"]["template"];
        let cliques = template["cliques"].as_array_mut().into_iter().flatten().map(|clique| &mut clique["spec"]);
        cliques.for_each(|spec| spec["replicas"] = Value::Null);
        let groups = template["podCliqueScalingGroups"].as_array_mut().into_iter().flatten();
        groups.for_each(|group| group["replicas"] = Value::Null);
    }
    if deployed.contains(&text(&object["metadata"]["labels"][label::PART_OF]))
        && let Some(annotations) = object["metadata"]["annotations"].as_object_mut()
    {
        annotations.remove(annotation::TEMPLATE_REPLICAS);
    }
}

fn plain_metadata(object: &mut Value, uids: &BTreeSet<String>) {
    let Some(metadata) = object["metadata"].as_object_mut() else { return };
    for key in ["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "generateName"] {
        metadata.remove(key);
    }
    for owner in metadata.get_mut("ownerReferences").and_then(Value::as_array_mut).into_iter().flatten() {
        let lives = uids.contains(&text(&owner["uid"]));
        owner["uid"] = if lives { "lives".into() } else { "is gone".into() };
    }
    if let Some(stamp) = metadata.get_mut("annotations").and_then(|map| map.get_mut(annotation::SCHEDULED_AT)) {
        *stamp = "a time".into();
    }
}

/// Takes out times, and generations but for whether they are the present one, at any depth; names pods by their places.
fn plain(value: &mut Value, generation: &Value, names: &BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            plain_fields(fields, generation);
            fields.values_mut().for_each(|value| plain(value, generation, names));
        }
        Value::Array(items) => {
            items.iter_mut().for_each(|item| plain(item, generation, names));
            if items.iter().all(|item| item["name"].as_str().is_some_and(|name| name.contains('#'))) {
                items.sort_by_key(|item| text(&item["name"]));
            }
        }
        Value::String(text) => {
            if let Some(name) = names.get(text) {
                text.clone_from(name);
            }
        }
        _ => {}
    }
}

fn plain_fields(fields: &mut Map<String, Value>, generation: &Value) {
    fields.remove("schedulerBackendTopologyObservedGeneration");
    for (key, value) in fields.iter_mut() {
        if key == "observedGeneration" {
            *value = if value == generation { "present".into() } else { "an old one".into() };
        }
        // The pods of tasks, by their uids.
        if (key == "pod" || key == "givenUp") && value.is_string() {
            *value = "a pod".into();
        }
        let is_time = key.ends_with("Time") || key.ends_with("At") || key.ends_with("Timestamp");
        if is_time && value.as_str().is_some_and(|text| text.ends_with('Z')) {
            *value = "a time".into();
        }
    }
}
