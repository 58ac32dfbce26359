//! `trellis bench scheduler`: how fast gangs are bound on the API server at hand, beside how fast that server takes plain binds; how long
//! a gang waits for its place; and what the scheduler costs while many wait and nothing changes.

mod report;
mod seen;
mod workload;

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::Node;
use kube::api::{DeleteParams, ListParams};
use kube::{Api, Client, ResourceExt as _};
use trellis_api::kinds::{ClusterTopology, PodGang};
use trellis_operator::install_crds;

use crate::args::{BenchOutput, BenchSchedulerArgs};
use crate::bench::process::{Process, Taken};
use crate::bench::{self, send};
use crate::connect;
use crate::up::Steps;
use report::{Arrivals, Backlog, Decisions, Fill, Measured};
use seen::Seen;
use workload::Workload;

/// How often the limit is measured; the best counts. The first time a server is slower than it has to be.
const ROUNDS: usize = 2;
/// Gangs that arrive at the same time.
const LANES: usize = 4;
/// Nothing has changed for so long: it is settled.
const QUIET: Duration = Duration::from_secs(5);

/// Measures it, and says what was found.
pub async fn run(args: &BenchSchedulerArgs) -> Result<()> {
    let steps = Steps::new();
    let name = bench::namespace(args.namespace.as_deref());
    let connection = connect::connection(args.kubeconfig.as_deref(), args.context.as_deref()).await?;
    let client = connection.client()?;
    install_crds(&client).await?;
    unused(&client).await?;
    let workload = Workload::new(&name, usize::from(args.gangs), usize::from(args.pods));
    let run = Run { client: &client, args, namespace: &name, workload: &workload, steps: &steps };
    let measured = bench::in_namespace(&client, &name, Box::pin(run.measure())).await;
    run.remove_cluster().await?;
    match args.output {
        BenchOutput::Table => report::print(&measured?, args),
        BenchOutput::Json => report::json(&measured?, args),
    }
}

/// Fails on a cluster that somebody uses: it is filled with nodes that nobody runs.
async fn unused(client: &Client) -> Result<()> {
    let params = ListParams::default().limit(1);
    let nodes = Api::<Node>::all(client.clone()).list(&params).await.context("cannot list nodes")?;
    let gangs = Api::<PodGang>::all(client.clone()).list(&params).await.context("cannot list PodGangs")?;
    let node = nodes.items.first().map(|node| format!("node `{}`", node.name_any()));
    let gang = || gangs.items.first().map(|gang| format!("PodGang `{}`", gang.name_any()));
    match node.or_else(gang) {
        Some(found) => bail!(
            "this cluster is in use: it has the {found}\nhint: the benchmark makes nodes that nobody runs, so it needs an API server \
             without any; `cargo bench -p trellis --bench scheduler` starts one"
        ),
        None => Ok(()),
    }
}

struct Run<'a> {
    client: &'a Client,
    args: &'a BenchSchedulerArgs,
    namespace: &'a str,
    workload: &'a Workload,
    steps: &'a Steps,
}

impl Run<'_> {
    async fn measure(&self) -> Result<Measured> {
        let nodes = usize::from(self.args.nodes);
        self.steps.say(&format!("{nodes} nodes in racks of {}", workload::RACK));
        self.send(workload::nodes(0..nodes)?, "make a node").await?;
        bench::admitted(self.client, self.namespace, &workload::any_pod()).await?;
        let seen = Seen::start(self.client, self.namespace).await?;
        let limit = self.limit(&seen, nodes).await?;
        let mut scheduler =
            Process::start("scheduler", self.args.kubeconfig.as_deref(), self.args.context.as_deref(), |command, _| {
                command.args(["--namespace", self.namespace]);
                Ok(())
            })
            .await?;
        let fill = self.fill(&seen, &mut scheduler, limit).await?;
        self.clear(&seen).await?;
        let arrivals = self.arrivals(&seen, &mut scheduler).await?;
        self.clear(&seen).await?;
        let backlog = self.backlog(&seen, &mut scheduler).await?;
        let peak = scheduler.taken().map(|taken| taken.peak);
        scheduler.kill().await;
        Ok(Measured { fill, arrivals, backlog, peak })
    }

    /// How long plain binds of the same pods take.
    async fn limit(&self, seen: &Seen, nodes: usize) -> Result<Duration> {
        let (all, in_flight) = (self.workload.len(), self.args.in_flight);
        self.steps.say(&format!("the limit: {all} plain binds, {in_flight} in flight"));
        let mut best = Duration::MAX;
        for _ in 0..ROUNDS {
            self.send(self.workload.pods("nobody")?, "create a pod").await?;
            let binds = self.workload.binds(nodes)?;
            let begun = Instant::now();
            self.send(binds, "bind a pod").await?;
            seen.until("all pods to be bound", || Ok(()), |seen| seen.bound.len() == all).await?;
            best = best.min(seen.last_bound(begun));
            self.clear(seen).await?;
        }
        self.steps.say(&format!("  bound in {best:.2?}"));
        Ok(best)
    }

    /// All gangs at once: everything is there but the topology that they name, and one write ends their wait.
    async fn fill(&self, seen: &Seen, scheduler: &mut Process, limit: Duration) -> Result<Fill> {
        let all = self.workload.len();
        self.steps.say(&format!("the fill: {} gangs of {} pods", self.args.gangs, self.args.pods));
        self.send(self.workload.gangs()?, "create a gang").await?;
        self.send(self.workload.pods(workload::SCHEDULER)?, "create a pod").await?;
        self.send(self.workload.complete()?, "say that a gang is complete").await?;
        self.settle(seen, scheduler).await?;
        let (before, decided) = (scheduler.taken(), Decisions::of(&scheduler.metrics()?));
        let begun = Instant::now();
        self.send(vec![workload::topology()?], "make the topology").await?;
        let bound = |seen: &seen::State| {
            self.steps.count("  pods bound", seen.bound.len(), all);
            seen.bound.len() == all
        };
        seen.until("all pods to be bound", || scheduler.alive(), bound).await?;
        let took = seen.last_bound(begun);
        self.steps.say(&format!("  bound in {took:.2?}"));
        self.settle(seen, scheduler).await?;
        let processor = spent(before, scheduler.taken());
        let decisions = Decisions::of(&scheduler.metrics()?).since(decided);
        Ok(Fill { pods: all, took, limit, processor, decisions })
    }

    /// Gangs one after the other, in a few lanes: how long each waits from its last pod to its last bind.
    async fn arrivals(&self, seen: &Seen, scheduler: &mut Process) -> Result<Arrivals> {
        self.steps.say(&format!("arrivals: {} gangs, {LANES} at a time", self.args.gangs));
        self.send(self.workload.gangs()?, "create a gang").await?;
        self.settle(seen, scheduler).await?;
        let decided = Decisions::of(&scheduler.metrics()?);
        let gangs = 0..self.workload.gangs;
        let waits = futures::stream::iter(gangs).map(|gang| self.arrival(seen, gang)).buffer_unordered(LANES);
        let mut waits: Vec<Duration> = waits.try_collect().await?;
        waits.sort_unstable();
        Ok(Arrivals { waits, decisions: Decisions::of(&scheduler.metrics()?).since(decided) })
    }

    async fn arrival(&self, seen: &Seen, gang: usize) -> Result<Duration> {
        let pods = self.workload.pods_of(gang, workload::SCHEDULER)?;
        send::all(self.client, pods, usize::from(self.args.in_flight), "create a pod").await?;
        let last_created = Instant::now();
        send::all(self.client, vec![self.workload.completed(gang)?], 1, "say that a gang is complete").await?;
        let names = self.workload.names_of(gang);
        let is_bound = |seen: &seen::State| names.iter().all(|name| seen.bound.contains_key(name));
        seen.until("a gang to be bound", || Ok(()), is_bound).await?;
        let state = seen.state();
        let last_bound = names.iter().filter_map(|name| state.bound.get(name)).max();
        Ok(last_bound.map_or(Duration::ZERO, |bound| bound.saturating_duration_since(last_created)))
    }

    /// More nodes, none of them with room, and gangs that wait: what the scheduler takes while nothing changes.
    async fn backlog(&self, seen: &Seen, scheduler: &mut Process) -> Result<Backlog> {
        let (nodes, gangs) = (usize::from(self.args.waiting_nodes), usize::from(self.args.waiting));
        self.steps.say(&format!("the backlog: {nodes} nodes without room, {gangs} gangs that wait"));
        let more = usize::from(self.args.nodes).min(nodes)..nodes;
        self.send(workload::nodes(more)?, "make a node").await?;
        self.send(workload::occupants(self.namespace, nodes)?, "create a pod").await?;
        let waiting = Workload::new(self.namespace, gangs, usize::from(self.args.pods));
        self.send(waiting.gangs()?, "create a gang").await?;
        self.send(waiting.pods(workload::SCHEDULER)?, "create a pod").await?;
        self.send(waiting.complete()?, "say that a gang is complete").await?;
        let begun = Instant::now();
        self.settle(seen, scheduler).await?;
        let settled = begun.elapsed().saturating_sub(QUIET);
        self.steps.say(&format!("  settled after {settled:.2?}; {} s of rest", self.args.window));
        let before = scheduler.taken();
        let window = Duration::from_secs(self.args.window.into());
        tokio::time::sleep(window).await;
        scheduler.alive()?;
        let after = scheduler.taken();
        Ok(Backlog { settled, window, processor: spent(before, after), resident: after.map(|taken| taken.resident) })
    }

    /// Waits until nothing changes any more.
    async fn settle(&self, seen: &Seen, scheduler: &mut Process) -> Result<()> {
        let begun = Instant::now();
        let is_quiet = |seen: &seen::State| seen.last_change.max(begun).elapsed() >= QUIET;
        seen.until("everything to settle", || scheduler.alive(), is_quiet).await
    }

    /// Deletes pods and gangs.
    async fn clear(&self, seen: &Seen) -> Result<()> {
        self.send(workload::clear(self.namespace)?, "delete pods and gangs").await?;
        seen.until("pods to be gone", || Ok(()), |seen| seen.bound.is_empty()).await
    }

    async fn remove_cluster(&self) -> Result<()> {
        let (none, nodes) = (DeleteParams::default(), ListParams::default().labels(workload::MARK));
        Api::<Node>::all(self.client.clone()).delete_collection(&none, &nodes).await.context("cannot remove nodes")?;
        let topologies: Api<ClusterTopology> = Api::all(self.client.clone());
        match topologies.delete(workload::TOPOLOGY, &none).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            other => other.map(drop).context("cannot remove the topology"),
        }
    }

    async fn send(&self, requests: Vec<send::Ready>, what: &str) -> Result<()> {
        send::all(self.client, requests, usize::from(self.args.in_flight), what).await?;
        Ok(())
    }
}

/// Processor time between two looks.
fn spent(before: Option<Taken>, after: Option<Taken>) -> Option<Duration> {
    after.zip(before).map(|(after, before)| after.processor.saturating_sub(before.processor))
}
