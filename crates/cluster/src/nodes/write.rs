//! The requests that nodes make, and what their failures mean.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Client};
use serde_json::Value;

use super::node::LEASES;

/// How long a request may take. Ordinary calls of the client have no deadline of their own.
const TIMEOUT: Duration = Duration::from_secs(30);

/// One request.
#[derive(Debug)]
pub(super) enum Write {
    PodStatus { namespace: String, name: String, patch: Value },
    PodDelete { namespace: String, name: String, uid: String },
    NodeRead { name: String },
    NodeCreate { node: Value },
    NodePatch { name: String, patch: Value },
    NodeStatus { name: String, patch: Value },
    NodeDelete { name: String },
    LeaseCreate { lease: Box<Lease> },
    LeaseRenew { name: String, patch: Value },
    LeaseDelete { name: String },
}

/// What a request brought back.
#[derive(Debug)]
pub(super) enum Answer {
    Pod(Box<Pod>),
    Node(Box<Node>),
    Nothing,
}

/// Why a request failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// There is no such object.
    Gone,
    /// The object is another one, or another version, or exists already.
    Conflict(String),
    /// The request can never succeed.
    Refused(String),
    /// It may succeed later.
    Later(String),
}

/// Makes a request.
pub(super) async fn send(client: Client, write: Write) -> Result<Answer, Failure> {
    match tokio::time::timeout(TIMEOUT, request(client, write)).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(failure(error)),
        Err(_) => Err(Failure::Later("no answer in time".to_owned())),
    }
}

fn failure(error: kube::Error) -> Failure {
    match error {
        kube::Error::Api(status) => match status.code {
            404 => Failure::Gone,
            409 => Failure::Conflict(status.message),
            400 | 422 => Failure::Refused(status.message),
            _ => Failure::Later(status.message),
        },
        error => Failure::Later(error.to_string()),
    }
}

async fn request(client: Client, write: Write) -> Result<Answer, kube::Error> {
    let as_kubelet = PatchParams { field_manager: Some("kubelet".to_owned()), ..PatchParams::default() };
    let by_kubelet = PostParams { field_manager: Some("kubelet".to_owned()), ..PostParams::default() };
    let nodes: Api<Node> = Api::all(client.clone());
    let leases: Api<Lease> = Api::namespaced(client.clone(), LEASES);
    match write {
        Write::PodStatus { namespace, name, patch } => {
            let pods: Api<Pod> = Api::namespaced(client, &namespace);
            let pod = pods.patch_status(&name, &as_kubelet, &Patch::Strategic(patch)).await?;
            Ok(Answer::Pod(Box::new(pod)))
        }
        Write::PodDelete { namespace, name, uid } => {
            let pods: Api<Pod> = Api::namespaced(client, &namespace);
            let preconditions = Preconditions { uid: Some(uid), resource_version: None };
            let params = DeleteParams::default().grace_period(0).preconditions(preconditions);
            pods.delete(&name, &params).await.map(|_| Answer::Nothing)
        }
        Write::NodeRead { name } => Ok(Answer::Node(Box::new(nodes.get(&name).await?))),
        Write::NodeCreate { node } => {
            let node: Node = serde_json::from_value(node).map_err(kube::Error::SerdeError)?;
            Ok(Answer::Node(Box::new(nodes.create(&by_kubelet, &node).await?)))
        }
        Write::NodePatch { name, patch } => {
            Ok(Answer::Node(Box::new(nodes.patch(&name, &as_kubelet, &Patch::Merge(patch)).await?)))
        }
        Write::NodeStatus { name, patch } => {
            Ok(Answer::Node(Box::new(nodes.patch_status(&name, &as_kubelet, &Patch::Strategic(patch)).await?)))
        }
        Write::NodeDelete { name } => nodes.delete(&name, &DeleteParams::default()).await.map(|_| Answer::Nothing),
        Write::LeaseCreate { lease } => leases.create(&by_kubelet, &lease).await.map(|_| Answer::Nothing),
        Write::LeaseRenew { name, patch } => {
            leases.patch(&name, &as_kubelet, &Patch::Merge(patch)).await.map(|_| Answer::Nothing)
        }
        Write::LeaseDelete { name } => leases.delete(&name, &DeleteParams::default()).await.map(|_| Answer::Nothing),
    }
}
