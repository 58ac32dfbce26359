//! The operator that is measured: a process of its own, or a task of this one.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use kube::Client;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use trellis_api::settings::Settings;
use trellis_operator::{Metrics, Operator, Options, RunError};

use super::workload;
use crate::args::BenchOperatorArgs;
use crate::bench::process::{Process, Taken};

/// How long it is left alone once it serves, so that its watches have begun.
const WARM_UP: Duration = Duration::from_secs(1);

/// Writes by what they were for.
pub type Writes = BTreeMap<String, u64>;

/// A running operator.
pub enum Subject {
    Process(Box<Process>),
    Task(Task),
}

/// An operator in this process.
pub struct Task {
    metrics: Metrics,
    /// Dropped, it tells the operator to stop.
    stop: oneshot::Sender<()>,
    running: JoinHandle<Result<(), RunError>>,
}

impl Subject {
    /// Starts an operator and waits until it serves.
    pub async fn start(client: &Client, args: &BenchOperatorArgs) -> Result<Self> {
        let subject = match args.in_process {
            true => Self::Task(Task::start(client).await?),
            false => Self::Process(Box::new(process(args).await?)),
        };
        tokio::time::sleep(WARM_UP).await;
        Ok(subject)
    }

    /// Fails if it has ended.
    pub fn alive(&mut self) -> Result<()> {
        match self {
            Self::Process(process) => process.alive(),
            Self::Task(task) if task.running.is_finished() => bail!("the operator has ended"),
            Self::Task(_) => Ok(()),
        }
    }

    /// How many writes it has sent.
    pub fn writes(&self) -> Result<Writes> {
        match self {
            Self::Process(process) => Ok(writes(&process.metrics()?)),
            Self::Task(task) => Ok(writes(&task.metrics.render())),
        }
    }

    /// What it takes; unknown of a task, and where the system does not tell.
    pub fn taken(&self) -> Option<Taken> {
        match self {
            Self::Process(process) => process.taken(),
            Self::Task(_) => None,
        }
    }

    /// Ends it.
    pub async fn stop(self) {
        match self {
            Self::Process(process) => process.kill().await,
            Self::Task(Task { stop, running, .. }) => {
                drop(stop);
                let _ = running.await;
            }
        }
    }
}

async fn process(args: &BenchOperatorArgs) -> Result<Process> {
    Process::start("operator", args.kubeconfig.as_deref(), args.context.as_deref(), |command, folder| {
        let file = folder.join("config.json");
        std::fs::write(&file, serde_json::to_vec(&workload::configuration())?)
            .with_context(|| format!("cannot write `{}`", file.display()))?;
        command.args(["--no-webhooks", "--config"]).arg(&file);
        Ok(())
    })
    .await
}

impl Task {
    async fn start(client: &Client) -> Result<Self> {
        let settings = Settings::of(&workload::configuration());
        let operator = Operator::start(client.clone(), Options::new(settings)).await?;
        let metrics = operator.metrics();
        let (stop, stopped) = oneshot::channel();
        let running = tokio::spawn(operator.run(async { drop(stopped.await) }));
        Ok(Self { metrics, stop, running })
    }
}

/// The writes that were sent, of all that the operator counts. Those that were refused count too: the server had to answer them.
fn writes(metrics: &str) -> Writes {
    let mut writes = Writes::new();
    for line in metrics.lines() {
        let Some(rest) = line.strip_prefix("trellis_operator_writes_total{") else { continue };
        let Some((labels, count)) = rest.rsplit_once("} ") else { continue };
        let value = |name: &str| {
            let (_, rest) = labels.split_once(&format!("{name}=\""))?;
            rest.split_once('"').map(|(value, _)| value)
        };
        let (Some(site), Some(result), Ok(count)) = (value("site"), value("result"), count.trim().parse::<u64>())
        else {
            continue;
        };
        match result {
            "deposed" => {}
            "done" => *writes.entry(site.to_owned()).or_default() += count,
            _ => *writes.entry(format!("{site} ({result})")).or_default() += count,
        }
    }
    writes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_read_by_what_they_are_for() {
        let metrics = trellis_operator::Metrics::new();
        for (site, result) in [("create pod", "done"), ("create pod", "done"), ("gate", "stale"), ("gate", "deposed")] {
            metrics.write(site, result);
        }
        let expected = [("create pod".to_owned(), 2), ("gate (stale)".to_owned(), 1)];
        assert_eq!(writes(&metrics.render()), BTreeMap::from(expected));
    }
}
