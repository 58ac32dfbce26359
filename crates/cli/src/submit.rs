//! `trellis submit`

use crate::args::{RenderOutput, SubmitArgs};
use crate::objects::{Object, Role};
use crate::plan::{live, nodes_of};
use crate::{connect, osmo, output, render, up, validate, world};
use anyhow::{Context as _, Result, bail};
use kube::Client;
use kube::api::{Api, PostParams};
use trellis_api::admission::object::{Kind, decode};
use trellis_api::kinds::osmo::{Pool, Workflow};
use trellis_api::settings::Settings;
use trellis_lower::osmo::never_fits;

/// Judges workflows and submits them, or says what would be submitted; returns whether all were admitted.
pub fn run(args: &SubmitArgs) -> Result<bool> {
    let files = validate::read_objects(&args.files, &args.osmo.reading())?;
    if args.dry_run {
        let Some(workflows) = judged(&files, &[])? else { return Ok(false) };
        let submitted = workflows.iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>()?;
        match args.output {
            RenderOutput::Json => {
                output::json(&serde_json::json!({"apiVersion": "v1", "kind": "List", "items": submitted}))?;
            }
            RenderOutput::Yaml => output::yaml(&submitted)?,
        }
        return Ok(true);
    }
    up::runtime()?.block_on(submit(args, &files))
}

async fn submit(args: &SubmitArgs, files: &[Object]) -> Result<bool> {
    let connection = connect::connection(args.cluster.kubeconfig.as_deref(), args.cluster.context.as_deref()).await?;
    let client = connection.client()?;
    let cluster = live::pools_and_nodes(&client).await?;
    // What the cluster has goes before what the files say of it.
    let is_there = |object: &Object| cluster.iter().any(|it| it.role == object.role && it.name == object.name);
    let is_new = |object: &&Object| !(object.role == Role::Judged(Kind::Pool) && is_there(object));
    for object in files.iter().filter(|object| !is_new(object)) {
        let spec =
            |object: &Object| decode::<Pool>(Kind::Pool, object.document.value.clone()).object.map(|pool| pool.spec);
        let there = cluster.iter().find(|it| it.role == object.role && it.name == object.name);
        if there.is_some_and(|there| spec(there) != spec(object)) {
            eprintln!("note: {}: the cluster's is another, and goes before this one", object.title());
        }
    }
    let files: Vec<Object> = files.iter().filter(is_new).cloned().collect();
    let Some(workflows) = judged(&files, &cluster)? else { return Ok(false) };
    for object in files.iter().filter(|object| object.role == Role::Judged(Kind::Pool)) {
        if let Some(pool) = decode::<Pool>(Kind::Pool, object.document.value.clone()).object {
            let pools: Api<Pool> = Api::all(client.clone());
            if !created(pools.create(&PostParams::default(), &pool).await, &object.title())? {
                return Ok(false);
            }
            println!("pool {} created", object.name);
        }
    }
    let mut fit = true;
    for workflow in &workflows {
        fit = create(&client, workflow).await? && fit;
    }
    Ok(fit)
}

/// The workflows of the files, each with its pool; none if some object is refused. What the nodes can never hold is said.
fn judged(files: &[Object], cluster: &[Object]) -> Result<Option<Vec<Workflow>>> {
    let settings = Settings::default();
    let all: Vec<&Object> = files.iter().chain(cluster).collect();
    let view = world::view(&all, &settings);
    let is_ours = |object: &&Object| matches!(object.role, Role::Judged(Kind::Pool | Kind::Workflow) | Role::Unknown);
    let mut fit = true;
    for object in files.iter().filter(is_ours) {
        fit = render::tell(object, &validate::judge(object, None, &view, &settings)?) && fit;
    }
    if !fit {
        return Ok(None);
    }
    let workflows = osmo::workflows(files, &view.pools);
    if workflows.is_empty() {
        bail!("no workflow in the input\nhint: a file with `workflow:` at the start of a line, or a Workflow object");
    }
    let nodes = nodes_of(all.into_iter());
    let mut submitted = Vec::new();
    for (object, workflow, pool) in workflows {
        for (group, why) in never_fits(&workflow, pool, &nodes.cluster()) {
            eprintln!("warning: {}: group {group:?} can never be placed on these nodes: {why}", object.title());
        }
        submitted.push(workflow);
    }
    Ok(Some(submitted))
}

async fn create(client: &Client, workflow: &Workflow) -> Result<bool> {
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let (namespace, name) = (text(&workflow.metadata.namespace), text(&workflow.metadata.name));
    let api: Api<Workflow> = Api::namespaced(client.clone(), &namespace);
    let title = format!("Workflow {namespace}/{name}");
    match api.create(&PostParams::default(), workflow).await {
        Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => {
            eprintln!("error: {title} is there already\nhint: give the new one another name, or delete the old one");
            Ok(false)
        }
        result => {
            let fit = created(result, &title)?;
            if fit {
                println!("workflow {namespace}/{name} submitted to pool {}", text(&workflow.spec.pool));
            }
            Ok(fit)
        }
    }
}

/// Whether the cluster took it; says why if not.
fn created<T>(result: kube::Result<T>, title: &str) -> Result<bool> {
    match result {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if matches!(status.code, 400 | 403 | 409 | 422) => {
            eprintln!("error: {title}: {}", status.message);
            Ok(false)
        }
        Err(error) => Err(error).with_context(|| format!("cannot create {title}")),
    }
}
