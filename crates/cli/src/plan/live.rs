//! The objects of a running cluster, read from its API. Nothing is written there.

use anyhow::{Context as _, Result, bail};
use kube::Client;
use serde_json::Value;

use crate::input::{self, Document};
use crate::objects::{LIVE, Object, Role};
use trellis_api::admission::object::Kind;

/// What a plan looks at, and where it is listed.
const LISTS: [&str; 14] = [
    "api/v1/nodes",
    "api/v1/pods",
    "api/v1/persistentvolumeclaims",
    "api/v1/persistentvolumes",
    "apis/scheduling.k8s.io/v1/priorityclasses",
    "apis/scheduler.grove.io/v1alpha1/podgangs",
    "apis/grove.io/v1alpha1/clustertopologies",
    "apis/grove.io/v1alpha1/podcliques",
    "apis/grove.io/v1alpha1/podcliquescalinggroups",
    "apis/kai.scheduler/v1alpha1/topologies",
    "apis/scheduling.run.ai/v2alpha2/podgroups",
    "apis/scheduling.run.ai/v2/queues",
    "apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies",
    "apis/trellis.dev/v1alpha1/pools",
];
/// How many objects are asked for at once.
const PAGE: usize = 500;

/// The objects of the cluster that this client reaches. Kinds that it does not serve are passed over.
pub async fn read(client: &Client) -> Result<Vec<Object>> {
    let mut documents = Vec::new();
    for path in LISTS {
        list(client, path, &mut documents).await?;
    }
    documents.into_iter().map(Object::recognise).collect()
}

/// The pools of the cluster and its nodes: what a workflow is judged by.
pub async fn pools_and_nodes(client: &Client) -> Result<Vec<Object>> {
    let mut documents = Vec::new();
    for path in ["apis/trellis.dev/v1alpha1/pools", "api/v1/nodes"] {
        list(client, path, &mut documents).await?;
    }
    documents.into_iter().map(Object::recognise).collect()
}

async fn list(client: &Client, path: &str, documents: &mut Vec<Document>) -> Result<()> {
    let plural = path.rsplit('/').next().unwrap_or(path);
    let cannot = || format!("cannot list {plural}");
    let mut token = String::new();
    loop {
        let request = http::Request::get(format!("/{path}?limit={PAGE}&continue={token}")).body(Vec::new())?;
        let text = match client.request_text(request).await {
            Ok(text) => text,
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
            Err(kube::Error::Api(status)) => bail!("{}: {}", cannot(), status.message),
            Err(error) => return Err(error).with_context(cannot),
        };
        let page: Value = serde_json::from_str(&text).with_context(cannot)?;
        page["metadata"]["continue"].as_str().unwrap_or_default().clone_into(&mut token);
        input::read_text(&format!("{LIVE}{plural}"), &text, documents)?;
        if token.is_empty() {
            return Ok(());
        }
    }
}

/// Leaves out of the cluster what the files say otherwise, and sets of the cluster that they do not name: these have their gangs already.
pub fn beside(files: &[Object], mut cluster: Vec<Object>) -> Vec<Object> {
    let same =
        |a: &Object, b: &Object| (&a.kind, a.name.as_str()) == (&b.kind, b.name.as_str()) && in_one_namespace(a, b);
    cluster.retain(|object| object.role != Role::Judged(Kind::PodCliqueSet));
    cluster.retain(|object| !files.iter().any(|file| same(file, object)));
    cluster
}

/// What names no namespace in a file is in `default`, unless its kind has none.
fn in_one_namespace(file: &Object, live: &Object) -> bool {
    file.namespace == live.namespace || (file.namespace.is_empty() && live.namespace == "default")
}
