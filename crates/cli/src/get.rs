//! `trellis get`: the pools of a cluster, and its workflows.

use std::io::{BufWriter, Write as _};

use anyhow::{Context as _, Result, bail};
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt as _};
use trellis_api::kinds::osmo::{Pool, State, Workflow};

use crate::args::{GetArgs, PlanOutput, What};
use crate::{connect, output, up};

/// Prints what there is.
pub fn run(args: &GetArgs) -> Result<()> {
    up::runtime()?.block_on(get(args))
}

async fn get(args: &GetArgs) -> Result<()> {
    let connection = connect::connection(args.cluster.kubeconfig.as_deref(), args.cluster.context.as_deref()).await?;
    let client = connection.client()?;
    match args.what {
        What::Pools => {
            let mut found = pools(&client).await?;
            if let Some(name) = &args.name {
                found.retain(|pool| pool.name_any() == *name);
                if found.is_empty() {
                    bail!("there is no pool {name:?}");
                }
            }
            match args.output {
                PlanOutput::Json => output::json(&found),
                PlanOutput::Table => {
                    table(&["NAME", "KEYS", "SCHEDULER", "NODES", "READY"], found.iter().map(pool_row))
                }
            }
        }
        What::Workflows => {
            let namespace = args.namespace.clone().filter(|_| !args.all_namespaces);
            let api: Api<Workflow> = match namespace {
                Some(namespace) => Api::namespaced(client, &namespace),
                None => Api::all(client),
            };
            let mut found = api.list(&ListParams::default()).await.context("cannot list workflows")?.items;
            if let Some(name) = &args.name {
                found.retain(|workflow| workflow.name_any() == *name || workflow.written_name() == name);
                if found.is_empty() {
                    bail!("there is no workflow {name:?}");
                }
            }
            let header = ["NAMESPACE", "NAME", "STATUS", "POOL", "GROUPS", "TASKS", "MESSAGE"];
            match args.output {
                PlanOutput::Json => output::json(&found),
                PlanOutput::Table => table(&header, found.iter().map(workflow_row)),
            }
        }
    }
}

/// All pools of a cluster.
pub async fn pools(client: &Client) -> Result<Vec<Pool>> {
    let api: Api<Pool> = Api::all(client.clone());
    Ok(api.list(&ListParams::default()).await.context("cannot list pools")?.items)
}

fn pool_row(pool: &Pool) -> Vec<String> {
    let keys: Vec<&str> = pool.spec.topology_keys.iter().map(|level| level.key.as_str()).collect();
    let ready = pool.status.iter().flat_map(|status| &status.conditions).find(|it| it.type_ == "Ready");
    vec![
        pool.name_any(),
        if keys.is_empty() { "-".to_owned() } else { keys.join(",") },
        pool.spec.scheduler_type().to_owned(),
        pool.status.as_ref().map_or("?".to_owned(), |status| status.nodes.to_string()),
        ready.map_or("?", |it| it.status.as_str()).to_owned(),
    ]
}

fn workflow_row(workflow: &Workflow) -> Vec<String> {
    let status = workflow.status.clone().unwrap_or_default();
    let groups = status.groups.iter().filter(|group| group.state == State::Completed).count();
    let tasks: Vec<State> = status.groups.iter().flat_map(|group| &group.tasks).map(|task| task.state).collect();
    let under_way = tasks.iter().filter(|state| **state == State::Running).count();
    let all_tasks: usize = workflow.spec.all_groups().iter().map(|group| group.tasks.len()).sum();
    let message = status.message.as_deref().unwrap_or_default().lines().next().unwrap_or_default();
    vec![
        workflow.namespace().unwrap_or_default(),
        workflow.name_any(),
        word(status.state),
        status.pool.or_else(|| workflow.spec.pool.clone()).unwrap_or_else(|| "-".to_owned()),
        format!("{groups}/{} completed", workflow.spec.all_groups().len()),
        format!("{under_way}/{all_tasks} running"),
        message.to_owned(),
    ]
}

/// A state in OSMO's words.
pub fn word(state: State) -> String {
    serde_json::to_value(state).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Prints rows in columns.
fn table(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Result<()> {
    let mut all = vec![header.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()];
    all.extend(rows);
    let width = |column: usize| all.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..header.len()).map(|column| width(column).unwrap_or_default()).collect();
    let mut out = BufWriter::new(std::io::stdout().lock());
    for row in &all {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        writeln!(out, "{}", cells.join("  ").trim_end())?;
    }
    out.flush()?;
    Ok(())
}
