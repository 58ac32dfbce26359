//! `trellis explain`: why a gang waits, or where it is and why there, by what stands on it in the cluster.

mod find;
mod words;

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Client;
use kube::api::{Api, ListParams, PartialObjectMeta};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use trellis_api::names::annotation;
use trellis_scheduler::ledger::Ledger;

use crate::args::{ExplainArgs, PlanOutput};
use crate::{End, connect, output, up};
use find::Found;

/// A gang and what stands on it.
struct Gang {
    /// PodGang, PodGroup or Pod, as JSON.
    object: Value,
    kind: &'static str,
    /// Its pods, by group.
    groups: BTreeMap<String, Vec<Pod>>,
    ledger: Option<Ledger>,
    explanation: Option<Value>,
}

impl Gang {
    fn title(&self) -> String {
        let text = |field: &str| self.object["metadata"][field].as_str().unwrap_or_default();
        format!("{} {}/{}", self.kind, text("namespace"), text("name"))
    }

    fn annotation(&self, key: &str) -> Option<&str> {
        self.object["metadata"]["annotations"][key].as_str()
    }

    /// A condition of the gang; of a pod on its own, `PodScheduled` stands for `Scheduled`.
    fn scheduled(&self) -> Option<&Value> {
        let conditions = self.object["status"]["conditions"].as_array()?;
        conditions.iter().find(|condition| condition["type"] == "Scheduled" || condition["type"] == "PodScheduled")
    }

    /// Whether it waits, as a whole or with some of its members.
    fn waits(&self) -> bool {
        let says_so = self.scheduled().is_some_and(|condition| condition["status"] != "True");
        let is_waiting = |pod: &Pod| node_of(pod).is_none() && !is_finished(pod);
        says_so || self.groups.is_empty() || self.groups.values().flatten().any(is_waiting)
    }
}

fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref().filter(|node| !node.is_empty())
}

fn is_finished(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

/// Prints what is known of the gang, or of all gangs of a set.
pub fn run(args: &ExplainArgs) -> Result<End> {
    up::runtime()?.block_on(explain(args))
}

async fn explain(args: &ExplainArgs) -> Result<End> {
    let connection = connect::connection(args.kubeconfig.as_deref(), args.context.as_deref()).await?;
    let client = connection.client()?;
    let namespace = args.namespace.clone().unwrap_or_else(|| connection.config.default_namespace.clone());
    let found = find::find(&client, &namespace, &args.what).await?;
    let pods: Api<Pod> = Api::namespaced(client.clone(), &namespace);
    let pods = pods.list(&ListParams::default()).await.context("cannot list pods")?.items;
    let gangs: Vec<Gang> = found.into_iter().map(|found| gang(found, &pods)).collect();
    let labels = labels(&client, &gangs).await?;
    match args.output {
        PlanOutput::Json => output::json(&gangs.iter().map(data).collect::<Vec<_>>())?,
        PlanOutput::Table => {
            gangs.iter().flat_map(|gang| words::lines(gang, &labels)).for_each(|line| println!("{line}"));
        }
    }
    Ok(if gangs.iter().any(Gang::waits) { End::Waiting } else { End::Done })
}

fn gang(found: Found, pods: &[Pod]) -> Gang {
    let groups = find::members(&found, pods);
    let mut gang = Gang { object: found.object, kind: found.kind, groups, ledger: None, explanation: None };
    gang.ledger = gang.annotation(annotation::PLACEMENT).and_then(Ledger::read);
    gang.explanation = gang.annotation(annotation::EXPLANATION).and_then(|text| serde_json::from_str(text).ok());
    gang
}

/// Labels of the nodes that members are on.
type Labels = BTreeMap<String, BTreeMap<String, String>>;

async fn labels(client: &Client, gangs: &[Gang]) -> Result<Labels> {
    let on: BTreeSet<&str> = gangs.iter().flat_map(|gang| gang.groups.values().flatten()).filter_map(node_of).collect();
    if on.is_empty() {
        return Ok(Labels::new());
    }
    let nodes: Api<Node> = Api::all(client.clone());
    let nodes = nodes.list_metadata(&ListParams::default()).await.context("cannot list nodes")?;
    let labelled =
        |node: PartialObjectMeta<Node>| Some((node.metadata.name?, node.metadata.labels.unwrap_or_default()));
    Ok(nodes.items.into_iter().filter_map(labelled).filter(|(name, _)| on.contains(name.as_str())).collect())
}

/// What is known, for programs.
fn data(gang: &Gang) -> Value {
    let place = |pod: &Pod| json!({ "pod": pod.metadata.name, "node": node_of(pod) });
    let groups = gang
        .groups
        .iter()
        .map(|(name, pods)| json!({ "name": name, "pods": pods.iter().map(place).collect::<Vec<_>>() }));
    json!({
        "kind": gang.kind,
        "namespace": gang.object["metadata"]["namespace"],
        "name": gang.object["metadata"]["name"],
        "waits": gang.waits(),
        "scheduled": gang.scheduled(),
        "placementScore": gang.object["status"]["placementScore"],
        "groups": groups.collect::<Vec<_>>(),
        "explanation": gang.explanation,
    })
}
