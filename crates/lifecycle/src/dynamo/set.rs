//! The PodCliqueSet of a deployment: made, changed, and its replicas brought to what the deployment asks for.

use super::{Deployment, DynamoObserved};
use crate::diff;
use crate::picture::{Around, is_owned_by};
use crate::plan::{Action, Kind, Plan, Target, Write, site};
use serde_json::{Map, json};
use std::collections::BTreeMap;
use trellis_api::admission::default_pod_clique_set;
use trellis_api::dynamo::Graph;
use trellis_api::kinds::PodCliqueSet;
use trellis_api::kinds::dynamo::ComponentKind;
use trellis_api::names::dynamo::label;
use trellis_lower::dynamo::{Scaling, pod_clique_set, update};

/// How the set stands beside what the deployment asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is as it should be.
    Right,
    /// It is not there, or one of a former deployment has to go first.
    Missing,
    /// It is being changed.
    Changing,
    /// One of its name belongs to somebody else.
    Foreign,
}

/// What has to be done about the set.
pub fn decide(
    seen: &DynamoObserved,
    deployment: &Deployment,
    graph: &Graph,
    around: Around<'_>,
    plan: &mut Plan,
) -> Standing {
    let mut desired = pod_clique_set(graph, around.settings);
    let Some(live) = seen.sets.get(&graph.set_name()) else {
        default_pod_clique_set(&mut desired, None, around.settings);
        let target = Target::of(Kind::PodCliqueSet, &desired.metadata);
        plan.writes.push(Write { site: site::CREATE_SET, target, action: Action::Create(json!(desired)) });
        former(seen, deployment, &graph.set_name(), plan);
        return Standing::Missing;
    };
    if live.metadata.deletion_timestamp.is_some() || plan.deletes(&Target::of(Kind::PodCliqueSet, &live.metadata)) {
        return Standing::Missing;
    }
    let adopts = match whose(deployment, live) {
        Whose::Ours => false,
        Whose::Nobodys => true,
        Whose::Anothers => return Standing::Foreign,
    };
    let change = update(graph, desired, live, &replicas(seen));
    let mut set = change.set;
    default_pod_clique_set(&mut set, Some(live), around.settings);
    let standing = match patch(live, &set, adopts) {
        None => Standing::Right,
        Some(action) => {
            let target = Target::of(Kind::PodCliqueSet, &live.metadata);
            plan.writes.push(Write { site: site::CHANGE_SET, target, action });
            Standing::Changing
        }
    };
    plan.writes.extend(change.scalings.iter().filter_map(|scaling| scale(seen, scaling)));
    former(seen, deployment, &graph.set_name(), plan);
    // Both may cost pods their lives, and must not follow from what the deployment once said.
    if !plan.writes.is_empty() {
        plan.confirm(Kind::DynamoGraphDeployment, &deployment.metadata);
    }
    standing
}

/// Deletes sets that the deployment had under another name: a long name is cut by the longest of its components' names, and where no webhook
/// judges, those may change.
fn former(seen: &DynamoObserved, deployment: &Deployment, name: &str, plan: &mut Plan) {
    for (_, set) in seen.sets.iter().filter(|(other, _)| *other != name) {
        if is_owned_by(&set.metadata, deployment.metadata.uid.as_deref()) {
            plan.confirm(Kind::DynamoGraphDeployment, &deployment.metadata);
            plan.delete(site::DELETE_SET, Kind::PodCliqueSet, &set.metadata, false);
        }
    }
}

/// Whose a set is.
enum Whose {
    Ours,
    /// It was left behind by a deployment of this name.
    Nobodys,
    Anothers,
}

fn whose(deployment: &Deployment, set: &PodCliqueSet) -> Whose {
    if is_owned_by(&set.metadata, deployment.metadata.uid.as_deref()) {
        return Whose::Ours;
    }
    let is_owned = set.metadata.owner_references.iter().flatten().any(|owner| owner.controller == Some(true));
    let of = set.metadata.labels.as_ref().and_then(|labels| labels.get(label::DEPLOYMENT));
    match !is_owned && of.is_some() && of == deployment.metadata.name.as_ref() {
        true => Whose::Nobodys,
        // One of a deployment of this name that is gone goes too, and is not there to be changed.
        false => Whose::Anothers,
    }
}

/// How many replicas each clique and group is asked to have.
fn replicas(seen: &DynamoObserved) -> BTreeMap<String, i32> {
    let cliques = seen.cliques.iter().filter(|(_, clique)| clique.metadata.deletion_timestamp.is_none());
    let cliques = cliques.filter_map(|(name, clique)| Some((name.clone(), clique.spec.replicas?)));
    let groups = seen.groups.iter().filter(|(_, group)| group.metadata.deletion_timestamp.is_none());
    cliques.chain(groups.map(|(name, group)| (name.clone(), group.spec.replicas))).collect()
}

/// What has to change in the set, for the version that was seen.
fn patch(live: &PodCliqueSet, set: &PodCliqueSet, adopts: bool) -> Option<Action> {
    let mut body: Map<_, _> =
        diff::merge(&json!(live.spec), &json!(set.spec)).map(|spec| ("spec".to_owned(), spec)).into_iter().collect();
    if adopts {
        body.insert("metadata".to_owned(), json!({}));
    }
    let mut patch = diff::patch(&live.metadata, &set.metadata, body)?;
    if adopts {
        let owners = live.metadata.owner_references.iter().chain(&set.metadata.owner_references).flatten();
        patch["metadata"]["ownerReferences"] = owners.map(|owner| json!(owner)).collect();
    }
    Some(Action::Patch(patch))
}

fn scale(seen: &DynamoObserved, scaling: &Scaling) -> Option<Write> {
    let (kind, metadata) = match scaling.kind {
        ComponentKind::PodCliqueScalingGroup => (Kind::ScalingGroup, &seen.groups.get(&scaling.name)?.metadata),
        _ => (Kind::PodClique, &seen.cliques.get(&scaling.name)?.metadata),
    };
    let scale = json!({
        "metadata": { "resourceVersion": metadata.resource_version, "uid": metadata.uid },
        "spec": { "replicas": scaling.replicas },
    });
    Some(Write { site: site::SCALE_COMPONENT, target: Target::of(kind, metadata), action: Action::Scale(scale) })
}
