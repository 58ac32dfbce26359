//! A program of ours in a process of its own, so that its memory and its processor time are its own.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;
use tokio::process::{Child, Command};

/// How long it may take to serve.
const PATIENCE: Duration = Duration::from_mins(1);
/// How long an answer about its health or its figures may take.
const ANSWER: Duration = Duration::from_secs(5);
/// How many lines of its log are shown when it fails.
const LOG_LINES: usize = 20;

/// A command of this program that serves until it is killed. Dropped, it is.
pub struct Process {
    /// What it is called in messages.
    name: &'static str,
    child: Child,
    /// Where it tells its health and its figures.
    address: SocketAddr,
    /// Holds what it reads and its log.
    folder: TempDir,
}

/// What a process takes, in bytes and in time.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    pub peak: u64,
    pub resident: u64,
    pub processor: Duration,
}

impl Process {
    /// Starts `trellis NAME` on this API, and waits until it serves. `edit` adds arguments; files for it go to the folder that it is given.
    pub async fn start(
        name: &'static str,
        kubeconfig: Option<&Path>,
        context: Option<&str>,
        edit: impl FnOnce(&mut Command, &Path) -> Result<()>,
    ) -> Result<Self> {
        let folder = TempDir::with_prefix("trellis-bench-").context("cannot make a temporary folder")?;
        let address = free_address().context("cannot find a free port")?;
        let log = File::create(folder.path().join("log")).context("cannot write its log")?;
        let mut command = Command::new(std::env::current_exe().context("cannot find this program")?);
        command.args([name, "--listen", &address.to_string()]);
        if let Some(kubeconfig) = kubeconfig {
            command.arg("--kubeconfig").arg(kubeconfig);
        }
        if let Some(context) = context {
            command.arg("--context").arg(context);
        }
        edit(&mut command, folder.path())?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).kill_on_drop(true);
        let child = command.spawn().with_context(|| format!("cannot start the {name}"))?;
        let mut process = Self { name, child, address, folder };
        process.serving().await?;
        Ok(process)
    }

    async fn serving(&mut self) -> Result<()> {
        let begun = Instant::now();
        while get(self.address, "/readyz").is_err() {
            self.alive()?;
            if begun.elapsed() > PATIENCE {
                bail!("the {} does not serve after {} s{}", self.name, PATIENCE.as_secs(), self.log());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// Fails if it has ended.
    pub fn alive(&mut self) -> Result<()> {
        match self.child.try_wait().with_context(|| format!("cannot look after the {}", self.name))? {
            None => Ok(()),
            Some(status) => bail!("the {} has ended ({status}){}", self.name, self.log()),
        }
    }

    /// Its figures, as Prometheus reads them.
    pub fn metrics(&self) -> Result<String> {
        get(self.address, "/metrics").context("cannot read its metrics")
    }

    /// What it takes; unknown where the system does not tell.
    pub fn taken(&self) -> Option<Taken> {
        taken(self.child.id()?)
    }

    /// Ends it.
    pub async fn kill(mut self) {
        let _ = self.child.kill().await;
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
    fn memory_and_time_are_read_as_the_system_writes_them() {
        let status = "Name:\tx\nVmHWM:\t   20480 kB\nVmRSS:\t    1024 kB\n";
        assert_eq!(bytes(status, "VmHWM:"), Some(20 << 20));
        assert_eq!(bytes(status, "VmRSS:"), Some(1 << 20));
        assert_eq!(bytes(status, "VmSwap:"), None);
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 4 0 100 0 0";
        assert_eq!(processor(stat), Some(Duration::from_secs(2)));
    }
}
