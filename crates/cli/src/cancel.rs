//! `trellis cancel`: ends a workflow. It stays, with what became of it, until it is deleted.

use anyhow::{Context as _, Result, bail};
use kube::ResourceExt as _;
use kube::api::{Api, ListParams, Patch, PatchParams};
use serde_json::json;
use trellis_api::kinds::osmo::Workflow;

use crate::args::CancelArgs;
use crate::{connect, get, up};

/// Ends workflows, and says so.
pub fn run(args: &CancelArgs) -> Result<()> {
    up::runtime()?.block_on(cancel(args))
}

async fn cancel(args: &CancelArgs) -> Result<()> {
    let connection = connect::connection(args.cluster.kubeconfig.as_deref(), args.cluster.context.as_deref()).await?;
    let client = connection.client()?;
    let all: Api<Workflow> = Api::all(client.clone());
    let found = all.list(&ListParams::default()).await.context("cannot list workflows")?.items;
    for name in &args.names {
        let is_meant = |it: &&Workflow| {
            let in_namespace = args.namespace.as_ref().is_none_or(|ns| it.namespace().as_ref() == Some(ns));
            in_namespace && (it.name_any() == *name || it.written_name() == name)
        };
        let meant: Vec<&Workflow> = found.iter().filter(is_meant).collect();
        let workflow = match meant.as_slice() {
            [] => bail!("there is no workflow {name:?}\nhint: `trellis get workflows` shows those that there are"),
            [one] => one,
            several => {
                let namespaces: Vec<String> = several.iter().filter_map(|it| it.namespace()).collect();
                bail!("workflow {name:?} is in several namespaces: {}\nhint: say which with -n", namespaces.join(", "))
            }
        };
        let (namespace, name) = (workflow.namespace().unwrap_or_default(), workflow.name_any());
        if let Some(status) = workflow.status.as_ref().filter(|status| status.state.is_final()) {
            println!("workflow {namespace}/{name} has ended already: {}", get::word(status.state));
            continue;
        }
        let api: Api<Workflow> = Api::namespaced(client.clone(), &namespace);
        let patch = Patch::Merge(json!({ "spec": { "cancel": true } }));
        let done = api.patch(&name, &PatchParams::default(), &patch).await;
        done.with_context(|| format!("cannot cancel workflow {namespace}/{name}"))?;
        println!("workflow {namespace}/{name} is canceled");
    }
    Ok(())
}
