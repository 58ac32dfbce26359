//! The simulated cluster: which nodes there are, and the objects that stand beside them in its file.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt as _};
use serde_json::Value;
use trellis_api::crd;
use trellis_api::kinds::SimulatedCluster;
use trellis_cluster::nodes::{NodeSpec, Nodes, Options};
use trellis_lower::problem::simulated;

use super::steps::Steps;
use crate::input::{self, Document};

/// Who applies what stands in the file, in the managed fields.
const MANAGER: &str = "trellis";

/// Two topologies on one small cluster: racks of H100 hosts, and NVLink domains of GB200 trays.
const DEFAULT: &str = include_str!("default.yaml");

/// A simulated cluster and the objects that came with it.
#[derive(Debug)]
pub struct Simulated {
    clusters: Vec<(SimulatedCluster, Document)>,
    objects: Vec<Value>,
}

impl Simulated {
    /// Reads a file, or takes the cluster that comes with the binary.
    pub fn read(file: Option<&Path>) -> Result<Self> {
        let documents = match file {
            Some(file) => input::read(&[PathBuf::from(file)])?,
            None => {
                let mut documents = Vec::new();
                input::read_text("default cluster", DEFAULT, &mut documents)?;
                documents
            }
        };
        let (mut clusters, mut objects) = (Vec::new(), Vec::new());
        for document in documents {
            if document.value["kind"] == "SimulatedCluster" {
                let cluster = serde_path_to_error::deserialize(&document.value).map_err(|error| {
                    let field = error.path().to_string();
                    anyhow!("{}: {field}: {}", document.place(&field), error.inner())
                })?;
                clusters.push((cluster, document));
            } else {
                objects.push(document.value);
            }
        }
        let read = Self { clusters, objects };
        if read.clusters.is_empty() {
            let name = file.map_or_else(String::new, |file| file.display().to_string());
            bail!("{name}: there is no SimulatedCluster\nhint: examples/plan/cluster.yaml is one");
        }
        read.nodes().map(|_| read)
    }

    /// The nodes, or all that is wrong with the file.
    pub fn nodes(&self) -> Result<Vec<NodeSpec>> {
        let mut specs = Vec::new();
        for (cluster, document) in &self.clusters {
            match simulated::nodes(cluster) {
                Ok(nodes) => specs.extend(nodes.map(spec)),
                Err(errors) => {
                    let lines = errors.iter().map(|error| format!("{}: {error}", document.place(&error.field)));
                    bail!("{}", lines.collect::<Vec<_>>().join("\n"));
                }
            }
        }
        Ok(specs)
    }
}

/// A node as the simulated kubelets want it.
fn spec(node: k8s_openapi::api::core::v1::Node) -> NodeSpec {
    let allocatable = node.status.and_then(|status| status.allocatable).unwrap_or_default();
    let allocatable = allocatable.into_iter().map(|(resource, amount)| (resource, amount.0)).collect();
    NodeSpec {
        name: node.metadata.name.unwrap_or_default(),
        labels: node.metadata.labels.unwrap_or_default(),
        taints: node.spec.and_then(|spec| spec.taints).unwrap_or_default(),
        allocatable,
        ..NodeSpec::default()
    }
}

/// Applies the definitions of our kinds and of KAI's.
pub async fn install(client: &Client, steps: &Steps) -> Result<()> {
    let mut definitions = crd::served();
    definitions.extend(crd::kai());
    let count = definitions.len();
    for definition in definitions {
        let api: Api<CustomResourceDefinition> = Api::all(client.clone());
        let params = PatchParams::apply(MANAGER).force();
        api.patch(&definition.name_any(), &params, &Patch::Apply(&definition)).await?;
    }
    steps.say(&format!("{count} custom resource definitions"));
    Ok(())
}

/// Applies what stands in the file beside the cluster. The operator is there already, and judges it like anything else.
pub async fn apply_objects(client: &Client, simulated: &Simulated) -> Result<()> {
    for object in &simulated.objects {
        apply(client, object).await.with_context(|| format!("{} {}", object["kind"], object["metadata"]["name"]))?;
    }
    Ok(())
}

async fn apply(client: &Client, object: &Value) -> Result<()> {
    let dynamic: DynamicObject = serde_json::from_value(object.clone())?;
    let types = dynamic.types.clone().unwrap_or_default();
    let kind = GroupVersionKind::try_from(&types)?;
    let (resource, capabilities) = kube::discovery::pinned_kind(client, &kind).await?;
    let api: Api<DynamicObject> = match capabilities.scope {
        kube::discovery::Scope::Cluster => Api::all_with(client.clone(), &resource),
        kube::discovery::Scope::Namespaced => {
            Api::namespaced_with(client.clone(), dynamic.metadata.namespace.as_deref().unwrap_or("default"), &resource)
        }
    };
    api.patch(&dynamic.name_any(), &PatchParams::apply(MANAGER).force(), &Patch::Apply(object)).await?;
    Ok(())
}

/// Starts the kubelets and waits until all nodes are there.
pub async fn play_nodes(client: Client, specs: Vec<NodeSpec>, steps: &Steps) -> Result<Nodes> {
    let all = specs.len();
    let nodes = Nodes::start(client, specs, Options::default(), |done| steps.count("nodes", done, all)).await?;
    Ok(nodes)
}
