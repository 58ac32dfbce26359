//! What admission says of the PodCliqueSet that a deployment becomes, told of the deployment: every path of the set leads back to a field
//! that the user wrote. So nothing is admitted that could not be made.

use super::{Role, metadata, multinode, places, pod_clique_set, pods};
use serde_json::Value;
use trellis_api::admission::{
    ClusterView, Verdict, default_pod_clique_set, pod_clique_set_structure, validate_pod_clique_set,
};
use trellis_api::dynamo::Graph;
use trellis_api::field::{FieldError, Path};
use trellis_api::kinds::PodCliqueSet;
use trellis_api::names::dynamo::annotation;
use trellis_api::names::dynamo::label::{COMPONENT, SELECTOR};
use trellis_api::names::label;
use trellis_api::settings::Settings;

/// What speaks against the set of a deployment that is created, or that replaces `old`.
pub fn follow(graph: &Graph, old: Option<&Graph>, view: &ClusterView, settings: &Settings) -> Verdict {
    let before = old.map(|old| made(old, None, settings));
    let set = made(graph, before.as_ref(), settings);
    traced(graph, validate_pod_clique_set(&set, before.as_ref(), view, settings))
}

/// The same as far as it shows in the deployment alone.
pub fn follow_structure(graph: &Graph, settings: &Settings) -> Verdict {
    traced(graph, pod_clique_set_structure(&made(graph, None, settings), None, settings))
}

/// The set as it would be stored.
fn made(graph: &Graph, before: Option<&PodCliqueSet>, settings: &Settings) -> PodCliqueSet {
    let mut set = pod_clique_set(graph, settings);
    default_pod_clique_set(&mut set, before, settings);
    set
}

fn traced(graph: &Graph, verdict: Verdict) -> Verdict {
    let error = |error: FieldError| FieldError { field: origin(graph, &error.field).to_string(), ..error };
    let warning = |warning: String| match warning.split_once(": ") {
        Some((path, text)) => format!("{}: {text}", origin(graph, path)),
        None => warning,
    };
    Verdict {
        errors: verdict.errors.into_iter().map(error).collect(),
        warnings: verdict.warnings.into_iter().map(warning).chain(apart(graph)).chain(uncounted(graph)).collect(),
    }
}

/// Replicas whose nodes would run without knowing of each other.
fn apart(graph: &Graph) -> impl Iterator<Item = String> {
    graph.components().iter().enumerate().filter_map(|(i, component)| {
        let why = pods::apart(graph, component)?;
        let path = graph.path(i).child("multinode");
        Some(format!("{path}: no flags are added by which its nodes would find each other: {why}"))
    })
}

/// Flags that are worked out from a number of GPUs that nobody gives.
fn uncounted(graph: &Graph) -> impl Iterator<Item = String> {
    graph.components().iter().enumerate().filter_map(|(i, component)| {
        let (k, main) = component.main_container().filter(|_| component.is_multinode())?;
        let path = graph.pod_path(i, &format!("containers[{k}].resources"));
        let text = "how many GPUs a node has cannot be told from these, and 1 is assumed; ask for them as in `nvidia.com/gpu: \"8\"`";
        multinode::misses_gpus(graph, component, main).then(|| format!("{path}: {text}"))
    })
}

/// Where in the deployment a field of the set comes from.
fn origin(graph: &Graph, field: &str) -> Path {
    if let Some(rest) = field.strip_prefix("spec.template.cliques[")
        && let Some((index, rest)) = rest.split_once(']')
        && let Some((i, _, role)) = index.parse().ok().and_then(|index: usize| places(graph).nth(index))
    {
        return of_clique(graph, i, role, rest.trim_start_matches('.'));
    }
    if let Some(rest) = field.strip_prefix("spec.template.podCliqueScalingGroups[")
        && let Some((index, rest)) = rest.split_once(']')
    {
        let components = graph.components().iter().enumerate();
        let mut groups = components.filter(|(_, component)| component.is_group());
        if let Some((i, _)) = index.parse().ok().and_then(|index: usize| groups.nth(index)) {
            return of_group(graph, i, rest.trim_start_matches('.'));
        }
    }
    if let Some(rest) = field.strip_prefix("spec.template.topologyConstraint") {
        return Path::new(&format!("spec.topologyConstraint{rest}"));
    }
    if field == "spec.template.clusterTopologyName" {
        return graph.topology_name_path();
    }
    for kept in ["labels", "annotations"] {
        if let Some(rest) = field.strip_prefix(&format!("metadata.{kept}")) {
            return Path::new(&format!("spec.{kept}{rest}"));
        }
    }
    match field {
        "spec.template.priorityClassName" => Path::new("spec.priorityClassName"),
        _ if field.starts_with("metadata") => Path::new(field),
        _ if field.starts_with("spec.template.cliqueStartupType") => Path::new("spec.backendFramework"),
        _ => graph.components_path(),
    }
}

fn of_clique(graph: &Graph, i: usize, role: Role, rest: &str) -> Path {
    let path = graph.path(i);
    if let Some(pod) = rest.strip_prefix("spec.podSpec") {
        return of_pod(graph, i, role, pod.trim_start_matches('.'));
    }
    for kept in ["labels", "annotations"] {
        if let Some(key) = rest.strip_prefix(kept) {
            let key = key.strip_prefix('[').and_then(|key| key.strip_suffix(']'));
            if key == Some(label::KAI_QUEUE) && metadata::named_queue(graph).is_some() {
                return Path::new("metadata.annotations").key(annotation::KAI_QUEUE);
            }
            // Made of the component's name, whatever the user says.
            if kept == "labels" && [SELECTOR, COMPONENT].map(Some).contains(&key) {
                return graph.name_path(i);
            }
            let found = graph.metadata_path(i, kept, key);
            return key.map_or(found.clone(), |key| found.key(key));
        }
    }
    match rest {
        "spec.replicas" | "spec.minAvailable" if role == Role::Worker => path.child("multinode").child("nodeCount"),
        "spec.replicas" => path.child("replicas"),
        "spec.minAvailable" => path.child("minAvailable"),
        _ if rest.starts_with("topologyConstraint") => path.child(rest),
        "name" | "spec.roleName" => graph.name_path(i),
        _ => path,
    }
}

fn of_group(graph: &Graph, i: usize, rest: &str) -> Path {
    let path = graph.path(i);
    match rest {
        "replicas" | "minAvailable" => path.child(rest),
        _ if rest.starts_with("topologyConstraint") => path.child(rest),
        "name" => graph.name_path(i),
        _ => path,
    }
}

/// Fields of the pods stand where they stood, but for variables: those of the deployment come before a component's own.
fn of_pod(graph: &Graph, i: usize, role: Role, field: &str) -> Path {
    if let Some(at) = field.find(".env[") {
        return graph.pod_path(i, &field[..at + ".env".len()]);
    }
    if let Some(path) = claimed(graph, i, role, field) {
        return path;
    }
    match field.is_empty() {
        true => graph.path(i),
        false => graph.pod_path(i, field),
    }
}

/// Volumes behind the user's own are made: for mounts that have none, and for the cache.
fn claimed(graph: &Graph, i: usize, role: Role, field: &str) -> Option<Path> {
    let component = graph.components().get(i)?;
    let index: usize = field.strip_prefix("volumes[")?.split_once(']')?.0.parse().ok()?;
    let made = pods::pod_spec(graph, component, role, "");
    let name = made.get("volumes")?.get(index)?["name"].as_str()?;
    let template = &component.pod_template.as_ref()?.spec;
    if template.objects("volumes").any(|(_, volume)| volume.get("name").is_some_and(|own| own == name)) {
        return None;
    }
    for list in ["initContainers", "containers"] {
        for (k, container) in template.objects(list) {
            let mut mounts = container.get("volumeMounts").and_then(Value::as_array).into_iter().flatten();
            if let Some(at) = mounts.position(|mount| mount["name"] == name) {
                return Some(graph.pod_path(i, &format!("{list}[{k}].volumeMounts[{at}].name")));
            }
        }
    }
    let path = graph.path(i);
    match graph.written(i).get("compilationCache").is_some() {
        true => Some(path.child("compilationCache").child("pvcName")),
        false => Some(path.child("volumeMounts")),
    }
}
