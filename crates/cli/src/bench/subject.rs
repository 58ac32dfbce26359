//! The operator that is measured: a process of its own, so that its memory and its processor time are its own, or a task of this one.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use kube::Client;
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use trellis_api::settings::Settings;
use trellis_operator::{Metrics, Operator, Options, RunError};

use super::workload;
use crate::args::BenchOperatorArgs;

/// How long an operator may take to serve.
const PATIENCE: Duration = Duration::from_mins(1);
/// How long it is left alone then, so that its watches have begun.
const WARM_UP: Duration = Duration::from_secs(1);
/// How long an answer about its health or its figures may take.
const ANSWER: Duration = Duration::from_secs(5);
/// How many lines of its log are shown when it fails.
const LOG_LINES: usize = 20;

/// Writes by what they were for.
pub type Writes = BTreeMap<String, u64>;

/// A running operator.
pub enum Subject {
    Process(Box<Process>),
    Task(Task),
}

/// An operator in a process of its own. Dropped, it is killed.
pub struct Process {
    child: Child,
    /// Where it tells its health and its figures.
    address: SocketAddr,
    /// Holds its configuration and its log.
    folder: TempDir,
}

/// An operator in this process.
pub struct Task {
    metrics: Metrics,
    /// Dropped, it tells the operator to stop.
    stop: oneshot::Sender<()>,
    running: JoinHandle<Result<(), RunError>>,
}

/// What a process takes, in bytes and in time.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    pub peak: u64,
    pub resident: u64,
    pub processor: Duration,
}

impl Subject {
    /// Starts an operator and waits until it serves.
    pub async fn start(client: &Client, args: &BenchOperatorArgs) -> Result<Self> {
        let mut subject = match args.in_process {
            true => Self::Task(Task::start(client).await?),
            false => Self::Process(Box::new(Process::start(args)?)),
        };
        if let Self::Process(process) = &mut subject {
            process.serving().await?;
        }
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
            Self::Process(process) => Ok(writes(&get(process.address, "/metrics").context("cannot read its metrics")?)),
            Self::Task(task) => Ok(writes(&task.metrics.render())),
        }
    }

    /// What it takes; unknown of a task, and where the system does not tell.
    pub fn taken(&self) -> Option<Taken> {
        match self {
            Self::Process(process) => taken(process.child.id()?),
            Self::Task(_) => None,
        }
    }

    /// Ends it.
    pub async fn stop(self) {
        match self {
            Self::Process(mut process) => {
                let _ = process.child.kill().await;
            }
            Self::Task(Task { stop, running, .. }) => {
                drop(stop);
                let _ = running.await;
            }
        }
    }
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

impl Process {
    fn start(args: &BenchOperatorArgs) -> Result<Self> {
        let folder = TempDir::with_prefix("trellis-bench-").context("cannot make a temporary folder")?;
        let address = free_address().context("cannot find a free port")?;
        let file = folder.path().join("config.json");
        std::fs::write(&file, serde_json::to_vec(&workload::configuration())?)
            .with_context(|| format!("cannot write `{}`", file.display()))?;
        let log = File::create(folder.path().join("log")).context("cannot write its log")?;
        let mut command = Command::new(std::env::current_exe().context("cannot find this program")?);
        command.args(["operator", "--no-webhooks", "--listen", &address.to_string(), "--config"]).arg(&file);
        if let Some(kubeconfig) = &args.kubeconfig {
            command.arg("--kubeconfig").arg(kubeconfig);
        }
        if let Some(context) = &args.context {
            command.arg("--context").arg(context);
        }
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).kill_on_drop(true);
        let child = command.spawn().context("cannot start the operator")?;
        Ok(Self { child, address, folder })
    }

    async fn serving(&mut self) -> Result<()> {
        let begun = Instant::now();
        while get(self.address, "/readyz").is_err() {
            self.alive()?;
            if begun.elapsed() > PATIENCE {
                bail!("the operator does not serve after {} s{}", PATIENCE.as_secs(), self.log());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    fn alive(&mut self) -> Result<()> {
        match self.child.try_wait().context("cannot look after the operator")? {
            None => Ok(()),
            Some(status) => bail!("the operator has ended ({status}){}", self.log()),
        }
    }

    /// The end of what it said, as the rest of a message.
    fn log(&self) -> String {
        let text = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let shown = &lines[lines.len().saturating_sub(LOG_LINES)..];
        if shown.is_empty() { String::new() } else { format!("; it said:\n{}", shown.join("\n")) }
    }
}

/// An address that nobody listens on now.
fn free_address() -> std::io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

/// Asks over HTTP, on loopback; anything but success is an error.
fn get(address: SocketAddr, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, ANSWER)?;
    stream.set_read_timeout(Some(ANSWER))?;
    // The old version ends its answer by closing, and knows no chunks.
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("an answer without an end")?;
    match head.split_whitespace().nth(1) {
        Some("200") => Ok(body.to_owned()),
        _ => bail!("{}", head.lines().next().unwrap_or_default()),
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

/// What the system says of a process.
fn taken(process: u32) -> Option<Taken> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    Some(Taken { peak: bytes(&status, "VmHWM:")?, resident: bytes(&status, "VmRSS:")?, processor: processor(&stat)? })
}

fn bytes(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

/// Time in the program and in the kernel for it. The unit of this file is a hundredth of a second, whatever the kernel's own is.
fn processor(stat: &str) -> Option<Duration> {
    // The second field is the program's name in parentheses, which may contain anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field)?.parse::<u64>().ok();
    Some(Duration::from_millis((ticks(11)? + ticks(12)?) * 10))
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

    #[test]
    fn memory_and_time_are_read_as_the_system_writes_them() {
        let status = "Name:\tx\nVmHWM:\t   20480 kB\nVmRSS:\t    1024 kB\n";
        assert_eq!(bytes(status, "VmHWM:"), Some(20 << 20));
        assert_eq!(bytes(status, "VmRSS:"), Some(1 << 20));
        assert_eq!(bytes(status, "VmSwap:"), None);
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 4 0 100 0 0";
        assert_eq!(processor(stat), Some(Duration::from_secs(2)));
    }
}
