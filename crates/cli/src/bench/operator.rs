//! `trellis bench operator`: how fast the operator is on the API server at hand, beside how fast that server is by itself.

mod limit;
mod report;
mod seen;
mod subject;
mod workload;

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use trellis_api::kinds::{ClusterTopology, PodCliqueSet};
use trellis_operator::install_crds;

use crate::args::{BenchOperatorArgs, BenchOutput};
use crate::bench;
use crate::connect;
use crate::up::Steps;
use limit::Limit;
use report::{Lane, Measured};
use seen::{Seen, Tallies};
use subject::{Subject, Writes};
use workload::Workload;

/// Nothing has changed for so long: it is settled.
const QUIET: Duration = Duration::from_secs(1);
/// How long that is waited for. What never comes to rest is measured all the same, and then misses its target.
const RESTLESS: Duration = Duration::from_secs(30);

/// Measures it, and says what was found.
pub async fn run(args: &BenchOperatorArgs) -> Result<()> {
    let steps = Steps::new();
    let name = bench::namespace(args.namespace.as_deref());
    let workload = Workload::new(&name, args.replicas, args.pods)?;
    let connection = connect::connection(args.kubeconfig.as_deref(), args.context.as_deref()).await?;
    let client = connection.client()?;
    install_crds(&client).await?;
    unused(&client).await?;
    let work = Box::pin(in_namespace(&client, args, &name, &workload, &steps));
    let measured = bench::in_namespace(&client, &name, work).await?;
    match args.output {
        BenchOutput::Table => report::print(&measured, args),
        BenchOutput::Json => report::json(&measured, args),
    }
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
    let Some((_, body)) = workload.pods.first() else { bail!("a set without pods") };
    bench::admitted(client, namespace, body).await?;
    let seen = Seen::start(client, namespace).await?;
    let in_flight = usize::from(args.in_flight);
    steps.say(&format!("the limit: {} pods, {in_flight} requests in flight", workload.pods.len()));
    let limit = limit::measure(client, namespace, &workload.pods, in_flight, &seen).await?;
    steps.say(&format!("  created in {:.2?}, deleted in {:.2?}", limit.create, limit.delete));
    let subject = Subject::start(client, args).await?;
    steps.say(&format!("the operator: {} replicas of {} pods", args.replicas, args.pods));
    let mut run = Run { sets: Api::namespaced(client.clone(), namespace), workload, seen, subject, steps };
    let measured = run.measure(Duration::from_secs(args.window.into()), limit).await;
    run.subject.stop().await;
    measured
}

/// What a phase looks at and talks to.
struct Run<'a> {
    sets: Api<PodCliqueSet>,
    workload: &'a Workload,
    seen: Seen,
    subject: Subject,
    steps: &'a Steps,
}

/// Times of the first phase, from the creation of the set.
struct Deployed {
    created: Duration,
    ungated: Duration,
    settled: Duration,
    lanes: Vec<Lane>,
}

/// Times of the last phase, from the deletion of the set.
struct Removed {
    pods: Duration,
    all: Duration,
    lanes: Vec<Lane>,
}

impl Run<'_> {
    async fn measure(&mut self, window: Duration, limit: Limit) -> Result<Measured> {
        let (idle, before) = (self.subject.taken(), self.subject.writes()?);
        let deployed = self.deploy().await?;
        let (steady, written) = (self.subject.taken(), self.subject.writes()?);

        self.steps.say(&format!("  {} s of steady state", window.as_secs()));
        self.seen.mark();
        tokio::time::sleep(window).await;
        self.subject.alive()?;
        let steady_changes = self.seen.tallies().changes();
        let rested = self.subject.writes()?;

        let removed = self.remove().await?;
        let gone = self.subject.writes()?;
        Ok(Measured {
            limit,
            created: deployed.created,
            ungated: deployed.ungated,
            settled: deployed.settled,
            pods_gone: removed.pods,
            all_gone: removed.all,
            writes: difference(&written, &before),
            steady_writes: difference(&rested, &written).values().sum(),
            steady_changes,
            deletion_writes: difference(&gone, &rested),
            idle,
            steady,
            last: self.subject.taken(),
            creation: deployed.lanes,
            deletion: removed.lanes,
        })
    }

    /// Creates the set, and waits until it has come to rest.
    async fn deploy(&mut self) -> Result<Deployed> {
        let all = self.workload.pods.len();
        self.seen.mark();
        let begun = Instant::now();
        self.sets.create(&PostParams::default(), &self.workload.set).await.context("cannot create the set")?;
        self.count("pods created", all, Tallies::pods).await?;
        let created = since(begun, self.seen.tallies().last_pod_came());
        self.steps.say(&format!("  created after {created:.2?}"));
        self.count("pods ungated", all, Tallies::ungated).await?;
        let ungated = since(begun, Some(self.seen.tallies().last_ungated()));
        self.steps.say(&format!("  ungated after {ungated:.2?}"));
        let restless = Instant::now();
        let is_quiet = |seen: &Tallies| seen.last_change().elapsed() >= QUIET || restless.elapsed() >= RESTLESS;
        self.seen.until("quiet", || self.subject.alive(), is_quiet).await?;
        let seen = self.seen.tallies();
        let settled = since(begun, Some(seen.last_change()));
        self.steps.say(&format!("  settled after {settled:.2?}"));
        Ok(Deployed { created, ungated, settled, lanes: report::lanes(&seen, begun) })
    }

    /// Deletes the set, and waits until nothing of it is left.
    async fn remove(&mut self) -> Result<Removed> {
        let all = self.workload.pods.len();
        self.seen.mark();
        let begun = Instant::now();
        self.sets.delete(workload::SET, &DeleteParams::default()).await.context("cannot delete the set")?;
        self.count("pods gone", all, |seen| all.saturating_sub(seen.pods())).await?;
        let pods = since(begun, self.seen.tallies().last_pod_went());
        self.steps.say(&format!("  pods gone after {pods:.2?}"));
        self.seen.until("everything to be gone", || self.subject.alive(), |seen| seen.objects() == 0).await?;
        let seen = self.seen.tallies();
        let all = since(begun, seen.last_went());
        self.steps.say(&format!("  everything gone after {all:.2?}"));
        Ok(Removed { pods, all, lanes: report::lanes(&seen, begun) })
    }

    /// Waits until so many of something are seen.
    async fn count(&mut self, what: &str, all: usize, seen: impl Fn(&Tallies) -> usize) -> Result<()> {
        let come = |tallies: &Tallies| {
            self.steps.count(&format!("  {what}"), seen(tallies), all);
            seen(tallies) == all
        };
        self.seen.until(what, || self.subject.alive(), come).await
    }
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
