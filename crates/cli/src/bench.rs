//! `trellis bench`: how fast the operator is on the API server at hand, beside how fast that server is by itself.

mod limit;
mod report;
mod seen;
mod subject;
mod workload;

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;
use trellis_api::kinds::{ClusterTopology, PodCliqueSet};
use trellis_operator::install_crds;

use crate::args::{Bench, BenchArgs, BenchOperatorArgs, BenchOutput};
use crate::connect;
use crate::up::{self, Steps};
use report::Measured;
use seen::Seen;
use subject::{Subject, Writes};
use workload::Workload;

/// How long a new namespace may take until pods can be made in it.
const PATIENCE: Duration = Duration::from_secs(30);
/// Nothing has changed for so long: it is settled.
const QUIET: Duration = Duration::from_secs(1);
/// How long that is waited for. What never comes to rest is measured all the same, and then misses its target.
const RESTLESS: Duration = Duration::from_secs(30);

/// Measures what was asked for.
pub fn run(args: &BenchArgs) -> Result<()> {
    let Bench::Operator(args) = &args.what;
    up::runtime()?.block_on(async {
        let measured = operator(args).await?;
        match args.output {
            BenchOutput::Table => report::print(&measured, args),
            BenchOutput::Json => report::json(&measured, args),
        }
    })
}

async fn operator(args: &BenchOperatorArgs) -> Result<Measured> {
    let steps = Steps::new();
    // A server looks up every write into a namespace whose name was deleted a moment ago, so the name has to be a new one.
    let name = args.namespace.clone().unwrap_or_else(|| format!("trellis-bench-{}", std::process::id()));
    let workload = Workload::new(&name, args.replicas, args.pods)?;
    let connection = connect::connection(args.kubeconfig.as_deref(), args.context.as_deref()).await?;
    let client = connection.client()?;
    install_crds(&client).await?;
    unused(&client).await?;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace = serde_json::from_value(json!({ "metadata": { "name": name } }))?;
    namespaces.create(&PostParams::default(), &namespace).await.with_context(|| {
        format!("cannot make the namespace `{name}`\nhint: name one that does not exist, with `--namespace`")
    })?;
    let measured = tokio::select! {
        measured = in_namespace(&client, args, &name, &workload, &steps) => measured,
        () = up::interrupted() => Err(anyhow!("stopped")),
    };
    let removed = namespaces.delete(&name, &DeleteParams::default()).await;
    let measured = measured?;
    removed.with_context(|| format!("cannot remove the namespace `{name}`"))?;
    Ok(measured)
}

/// Fails on a cluster that somebody uses: an operator of ours would act on everything of theirs.
async fn unused(client: &Client) -> Result<()> {
    let params = ListParams::default().limit(1);
    let sets = Api::<PodCliqueSet>::all(client.clone()).list(&params).await.context("cannot list PodCliqueSets")?;
    let topologies =
        Api::<ClusterTopology>::all(client.clone()).list(&params).await.context("cannot list ClusterTopologies")?;
    let set = sets.items.first().map(|set| format!("PodCliqueSet `{}`", set.name_any()));
    let topology = || topologies.items.first().map(|topology| format!("ClusterTopology `{}`", topology.name_any()));
    match set.or_else(topology) {
        Some(found) => bail!(
            "this cluster is in use: it has the {found}\nhint: the benchmark runs an operator of its own, so it needs a cluster that \
             has none; `cargo bench -p trellis` starts one"
        ),
        None => Ok(()),
    }
}

async fn in_namespace(
    client: &Client,
    args: &BenchOperatorArgs,
    namespace: &str,
    workload: &Workload,
    steps: &Steps,
) -> Result<Measured> {
    admitted(client, namespace, workload).await?;
    let seen = Seen::start(client, namespace).await?;
    let in_flight = usize::from(args.in_flight);
    steps.say(&format!("the limit: {} pods, {in_flight} requests in flight", workload.pods.len()));
    let limit = limit::measure(client, namespace, &workload.pods, in_flight, &seen).await?;
    steps.say(&format!("  created in {:.2?}, deleted in {:.2?}", limit.create, limit.delete));
    let mut subject = Subject::start(client, args).await?;
    steps.say(&format!("the operator: {} replicas of {} pods", args.replicas, args.pods));
    let sets = Api::namespaced(client.clone(), namespace);
    let measured = measure(&sets, args, workload, &seen, &mut subject, limit, steps).await;
    subject.stop().await;
    measured
}

/// Waits until pods can be made: where pods need a service account, somebody has to make it first.
async fn admitted(client: &Client, namespace: &str, workload: &Workload) -> Result<()> {
    let begun = Instant::now();
    let Some((_, body)) = workload.pods.first() else { bail!("a set without pods") };
    loop {
        let uri = format!("/api/v1/namespaces/{namespace}/pods?dryRun=All");
        let request = http::Request::post(uri).header("content-type", "application/json").body(body.clone())?;
        match client.request_text(request).await {
            Ok(_) => return Ok(()),
            Err(error) if begun.elapsed() > PATIENCE => return Err(error).context("pods cannot be made"),
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn measure(
    sets: &Api<PodCliqueSet>,
    args: &BenchOperatorArgs,
    workload: &Workload,
    seen: &Seen,
    subject: &mut Subject,
    limit: limit::Limit,
    steps: &Steps,
) -> Result<Measured> {
    let all = workload.pods.len();
    let (idle, before) = (subject.taken(), subject.writes()?);

    seen.mark();
    let begun = Instant::now();
    sets.create(&PostParams::default(), &workload.set).await.context("cannot create the set")?;
    seen.until("all pods", || subject.alive(), |seen| {
        steps.count("  pods created", seen.pods(), all);
        seen.pods() == all
    })
    .await?;
    let created = since(begun, seen.tallies().last_pod_came());
    steps.say(&format!("  created after {created:.2?}"));
    seen.until("all pods to be ungated", || subject.alive(), |seen| {
        steps.count("  pods ungated", seen.ungated(), all);
        seen.ungated() == all
    })
    .await?;
    let ungated = since(begun, Some(seen.tallies().last_ungated()));
    steps.say(&format!("  ungated after {ungated:.2?}"));
    let restless = Instant::now();
    seen.until("quiet", || subject.alive(), |seen| {
        seen.last_change().elapsed() >= QUIET || restless.elapsed() >= RESTLESS
    })
    .await?;
    let settled = since(begun, Some(seen.tallies().last_change()));
    let (steady, written) = (subject.taken(), subject.writes()?);
    let creation = report::lanes(&seen.tallies(), begun);
    steps.say(&format!("  settled after {settled:.2?}; now {} s of steady state", args.window));

    seen.mark();
    tokio::time::sleep(Duration::from_secs(args.window.into())).await;
    subject.alive()?;
    let steady_changes = seen.tallies().changes();
    let rested = subject.writes()?;

    seen.mark();
    let begun = Instant::now();
    sets.delete(workload::SET, &DeleteParams::default()).await.context("cannot delete the set")?;
    seen.until("all pods to be gone", || subject.alive(), |seen| {
        steps.count("  pods gone", all - seen.pods().min(all), all);
        seen.pods() == 0
    })
    .await?;
    let pods_gone = since(begun, seen.tallies().last_pod_went());
    steps.say(&format!("  pods gone after {pods_gone:.2?}"));
    seen.until("everything to be gone", || subject.alive(), |seen| seen.objects() == 0).await?;
    let all_gone = since(begun, seen.tallies().last_went());
    steps.say(&format!("  everything gone after {all_gone:.2?}"));
    let deletion = report::lanes(&seen.tallies(), begun);
    let gone = subject.writes()?;
    Ok(Measured {
        limit,
        created,
        ungated,
        settled,
        pods_gone,
        all_gone,
        writes: difference(&written, &before),
        steady_writes: difference(&rested, &written).values().sum(),
        steady_changes,
        deletion_writes: difference(&gone, &rested),
        idle,
        steady,
        last: subject.taken(),
        creation,
        deletion,
    })
}

fn since(begun: Instant, time: Option<Instant>) -> Duration {
    time.unwrap_or_else(Instant::now).saturating_duration_since(begun)
}

/// What came on top.
fn difference(after: &Writes, before: &Writes) -> Writes {
    let more = after.iter().map(|(site, count)| {
        let earlier = before.get(site).copied().unwrap_or(0);
        (site.clone(), count.saturating_sub(earlier))
    });
    more.filter(|(_, count)| *count > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_came_on_top_counts() {
        let writes = |pairs: &[(&str, u64)]| pairs.iter().map(|(site, count)| ((*site).to_owned(), *count)).collect();
        let after: Writes = writes(&[("a", 3), ("b", 2), ("c", 1)]);
        assert_eq!(difference(&after, &writes(&[("a", 1), ("b", 2)])), writes(&[("a", 2), ("c", 1)]));
    }
}
