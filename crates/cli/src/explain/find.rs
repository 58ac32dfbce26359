//! Which gangs are meant, and who is in them.

use anyhow::{Result, bail};
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use trellis_api::names::{DEFAULT_LEAF, annotation, label};

const GANGS: &str = "apis/scheduler.grove.io/v1alpha1";
const GROUPS: &str = "apis/scheduling.run.ai/v2alpha2";

/// An object that stands for a gang.
pub struct Found {
    pub object: Value,
    pub kind: &'static str,
}

/// The gangs that KIND/NAME means.
pub async fn find(client: &Client, namespace: &str, what: &str) -> Result<Vec<Found>> {
    let hint = "hint: say podgang/NAME, podgroup/NAME, pod/NAME or podcliqueset/NAME";
    let Some((kind, name)) = what.split_once('/') else { bail!("`{what}` is not KIND/NAME\n{hint}") };
    let get = |path: String| async move { get(client, &path).await };
    let missing = || format!("there is no {kind} {namespace}/{name}");
    let found = match kind.to_lowercase().as_str() {
        "podgang" | "podgangs" | "pg" => {
            get(format!("{GANGS}/namespaces/{namespace}/podgangs/{name}")).await?.map(|object| vec![pod_gang(object)])
        }
        "podgroup" | "podgroups" => get(format!("{GROUPS}/namespaces/{namespace}/podgroups/{name}"))
            .await?
            .map(|object| vec![pod_group(object)]),
        "podcliqueset" | "podcliquesets" | "pcs" => {
            let path = format!("{GANGS}/namespaces/{namespace}/podgangs?labelSelector={}%3D{name}", label::PART_OF);
            let gangs = items(get(path).await?).into_iter().map(pod_gang).collect::<Vec<_>>();
            Some(gangs).filter(|gangs| !gangs.is_empty())
        }
        "pod" | "pods" | "po" => match get(format!("api/v1/namespaces/{namespace}/pods/{name}")).await? {
            Some(pod) => Some(vec![of_pod(client, namespace, pod).await?]),
            None => None,
        },
        _ => bail!("`{kind}` is no kind of gang\n{hint}"),
    };
    found.map_or_else(|| bail!(missing()), Ok)
}

fn pod_gang(object: Value) -> Found {
    Found { object, kind: "PodGang" }
}

fn pod_group(object: Value) -> Found {
    Found { object, kind: "PodGroup" }
}

/// The objects of a list.
fn items(list: Option<Value>) -> Vec<Value> {
    list.and_then(|mut list| list["items"].as_array_mut().map(std::mem::take)).unwrap_or_default()
}

/// The gang of a pod: the PodGang that names it, whatever its labels say, before a PodGroup; a pod of neither is one itself.
async fn of_pod(client: &Client, namespace: &str, pod: Value) -> Result<Found> {
    let name = &pod["metadata"]["name"];
    let names_it = |gang: &Value| {
        let groups = gang["spec"]["podgroups"].as_array().into_iter().flatten();
        let mut references = groups.flat_map(|group| group["podReferences"].as_array().into_iter().flatten());
        references.any(|reference| reference["name"] == *name)
    };
    let gangs = items(get(client, &format!("{GANGS}/namespaces/{namespace}/podgangs")).await?);
    if let Some(gang) = gangs.into_iter().find(names_it) {
        return Ok(pod_gang(gang));
    }
    if let Some(group) = pod["metadata"]["annotations"][annotation::KAI_POD_GROUP].as_str()
        && let Some(object) = get(client, &format!("{GROUPS}/namespaces/{namespace}/podgroups/{group}")).await?
    {
        return Ok(pod_group(object));
    }
    Ok(Found { object: pod, kind: "Pod" })
}

/// An object, or a list; none if there is no such thing.
async fn get(client: &Client, path: &str) -> Result<Option<Value>> {
    let request = http::Request::get(format!("/{path}")).body(Vec::new())?;
    match client.request_text(request).await {
        Ok(text) => Ok(Some(serde_json::from_str(&text)?)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(kube::Error::Api(status)) => bail!("{}", status.message),
        Err(error) => Err(error.into()),
    }
}

/// The pods of a gang, by group.
pub fn members(found: &Found, pods: &[Pod]) -> BTreeMap<String, Vec<Pod>> {
    let mut groups: BTreeMap<String, Vec<Pod>> = BTreeMap::new();
    let name = found.object["metadata"]["name"].as_str().unwrap_or_default();
    match found.kind {
        "PodGang" => {
            for group in found.object["spec"]["podgroups"].as_array().into_iter().flatten() {
                let references = group["podReferences"].as_array().into_iter().flatten();
                let names: BTreeSet<&str> = references.filter_map(|reference| reference["name"].as_str()).collect();
                let members =
                    pods.iter().filter(|pod| pod.metadata.name.as_deref().is_some_and(|name| names.contains(name)));
                let group = group["name"].as_str().unwrap_or_default().to_owned();
                groups.insert(group, members.cloned().collect());
            }
        }
        "PodGroup" => {
            for pod in pods {
                let of = pod.metadata.annotations.as_ref().and_then(|all| all.get(annotation::KAI_POD_GROUP));
                if of.is_some_and(|of| of == name) {
                    let leaf = pod.metadata.labels.as_ref().and_then(|all| all.get(label::KAI_SUBGROUP));
                    groups
                        .entry(leaf.cloned().unwrap_or_else(|| DEFAULT_LEAF.to_owned()))
                        .or_default()
                        .push(pod.clone());
                }
            }
        }
        _ => {
            let itself = pods.iter().filter(|pod| pod.metadata.name.as_deref() == Some(name));
            groups.insert(DEFAULT_LEAF.to_owned(), itself.cloned().collect());
        }
    }
    groups
}
