//! What is due for a DynamoGraphDeployment: its PodCliqueSet, the numbers of replicas in it, and what its status says.
//!
//! Everything that is said of pods was said of the set before; here it is told in the words of the deployment. Whether its constraints are
//! enforced is read from the set too: nothing here looks at a topology, but where no webhook has judged the deployment before.

mod components;
mod judged;
mod set;
mod status;
#[cfg(test)]
mod tests;

pub use status::{ENFORCED, READY};

use crate::gone::{ORPHAN, owner_of};
use crate::observed::{ByName, Failure};
use crate::picture::Around;
use crate::plan::{Confirm, Kind, Plan, Target, site};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;
use std::sync::Arc;
use trellis_api::admission::Verdict;
use trellis_api::dynamo::Graph;
use trellis_api::field::FieldError;
use trellis_api::kinds::dynamo::DynamoGraphDeploymentStatus;
use trellis_api::kinds::{PodClique, PodCliqueScalingGroup, PodCliqueSet};

/// A deployment as it is stored, and what can be made of it.
#[derive(Clone, Debug)]
pub struct Deployment {
    /// Its metadata.
    pub metadata: ObjectMeta,
    /// What it asks for, or what is wrong with its form where nothing can be made of it.
    pub graph: Result<Graph, Vec<FieldError>>,
    /// What its status says.
    pub status: Option<DynamoGraphDeploymentStatus>,
    value: Value,
}

impl Deployment {
    /// Reads a deployment, in whatever shape it is.
    pub fn read(value: Value) -> Self {
        let metadata = serde_json::from_value(value["metadata"].clone()).unwrap_or_default();
        let status = serde_json::from_value(value["status"].clone()).unwrap_or_default();
        let mut decoded = Graph::read(&value);
        let graph = match decoded.object.take() {
            Some(graph) => Ok(graph),
            None => Err(decoded.judged(Verdict::default()).errors),
        };
        Self { metadata, graph, status, value }
    }
}

/// A deployment as it was seen, with what its decisions look at.
#[derive(Clone, Debug, Default)]
pub struct DynamoObserved {
    /// Name of the deployment.
    pub name: String,
    /// The deployment; none if it is gone.
    pub deployment: Option<Arc<Deployment>>,
    /// Sets by name: the one that has the name of the deployment's, and all that a deployment of this name owns.
    pub sets: ByName<PodCliqueSet>,
    /// PodCliques of the deployment's set.
    pub cliques: ByName<PodClique>,
    /// PodCliqueScalingGroups of the deployment's set.
    pub groups: ByName<PodCliqueScalingGroup>,
}

/// What is due for a deployment. `failures` are the writes of the last pass that could not be carried out.
pub fn decide(seen: &DynamoObserved, around: Around<'_>, failures: &[Failure]) -> Plan {
    let mut plan = Plan::default();
    leftovers(seen, &mut plan);
    let Some(deployment) = seen.deployment.as_deref() else { return plan };
    if deployment.metadata.deletion_timestamp.is_some() {
        return plan;
    }
    let graph = match &deployment.graph {
        Ok(graph) => graph,
        Err(faults) => {
            status::refuse(deployment, faults, around, &mut plan);
            return plan;
        }
    };
    let verdict = judged::judge(seen, deployment, graph, around);
    if !verdict.allowed() {
        status::refuse(deployment, &verdict.errors, around, &mut plan);
        return plan;
    }
    let standing = set::decide(seen, deployment, graph, around, &mut plan);
    status::decide(seen, (deployment, graph), standing, around, failures, &mut plan);
    plan
}

/// Deletes sets of a deployment that is going, or that is gone: a garbage collector would do it too, but at its own pace.
fn leftovers(seen: &DynamoObserved, plan: &mut Plan) {
    let there = seen.deployment.as_deref().map(|deployment| &deployment.metadata);
    let orphans = |metadata: &ObjectMeta| metadata.finalizers.iter().flatten().any(|finalizer| finalizer == ORPHAN);
    for set in seen.sets.values() {
        let owner = owner_of(&set.metadata, Kind::DynamoGraphDeployment);
        let Some(owner) = owner.filter(|owner| owner.name == seen.name) else { continue };
        match there.filter(|metadata| metadata.uid.as_ref() == Some(&owner.uid)) {
            Some(owner) if owner.deletion_timestamp.is_none() || orphans(owner) => {}
            Some(_) => plan.delete(site::DELETE_SET, Kind::PodCliqueSet, &set.metadata, false),
            None => {
                let namespace = set.metadata.namespace.clone().unwrap_or_default();
                let target = Target { kind: Kind::DynamoGraphDeployment, namespace, name: owner.name.clone() };
                plan.confirm.push(Confirm::Gone(target, owner.uid.clone()));
                // One that was left an orphan no longer names an owner; whether it still does may have been seen too early.
                let version = set.metadata.resource_version.clone().unwrap_or_default();
                plan.confirm.push(Confirm::Version(Target::of(Kind::PodCliqueSet, &set.metadata), version));
                plan.delete(site::DELETE_SET, Kind::PodCliqueSet, &set.metadata, false);
            }
        }
    }
}
