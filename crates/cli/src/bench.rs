//! `trellis bench`: how fast Trellis is on the API server at hand, beside how fast that server is by itself.

mod figures;
mod operator;
mod process;
mod scheduler;
mod send;

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{DeleteParams, PostParams};
use kube::{Api, Client};
use serde_json::json;

use crate::args::{Bench, BenchArgs};
use crate::up;

/// How long a new namespace may take until pods can be made in it.
const PATIENCE: Duration = Duration::from_secs(30);

/// Measures what was asked for.
pub fn run(args: &BenchArgs) -> Result<()> {
    up::runtime()?.block_on(async {
        match &args.what {
            Bench::Operator(args) => operator::run(args).await,
            Bench::Scheduler(args) => scheduler::run(args).await,
        }
    })
}

/// A server looks up every write into a namespace whose name was deleted a moment ago, so the name has to be a new one.
fn namespace(given: Option<&str>) -> String {
    given.map_or_else(|| format!("trellis-bench-{}", std::process::id()), str::to_owned)
}

/// Does something in a namespace that is made for it, and removed whatever comes of it.
async fn in_namespace<T>(client: &Client, name: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace = serde_json::from_value(json!({ "metadata": { "name": name } }))?;
    namespaces.create(&PostParams::default(), &namespace).await.with_context(|| {
        format!("cannot make the namespace `{name}`\nhint: name one that does not exist, with `--namespace`")
    })?;
    let done = tokio::select! {
        done = work => done,
        () = up::interrupted() => Err(anyhow!("stopped")),
    };
    let removed = namespaces.delete(name, &DeleteParams::default()).await;
    let done = done?;
    removed.with_context(|| format!("cannot remove the namespace `{name}`"))?;
    Ok(done)
}

/// Waits until such a pod can be made: where pods need a service account, somebody has to make it first.
async fn admitted(client: &Client, namespace: &str, pod: &[u8]) -> Result<()> {
    let begun = Instant::now();
    loop {
        let uri = format!("/api/v1/namespaces/{namespace}/pods?dryRun=All");
        match client.request_text(send::request(http::Method::POST, &uri, pod.to_vec())?).await {
            Ok(_) => return Ok(()),
            Err(error) if begun.elapsed() > PATIENCE => return Err(error).context("pods cannot be made"),
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}
