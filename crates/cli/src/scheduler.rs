//! `trellis scheduler`: the scheduler as a process. Configuration, client, sockets and signals are settled here; what it does is
//! `trellis-scheduler`'s.

use std::process::ExitCode;

use anyhow::Result;
use tokio::sync::watch;
use tracing::{error, info};
use trellis_api::kinds::config::{LeaderElection, OperatorConfiguration};
use trellis_api::names::SCHEDULER;
use trellis_api::settings::{Address, Election, Process};
use trellis_controller::lease;
use trellis_scheduler::{METRICS_CONTENT_TYPE, Options, Scheduler, Settings};

use crate::args::SchedulerArgs;
use crate::probes::Probes;
use crate::process::{identity, listen, until};
use crate::{connect, logs, operator, serve, up};

/// The configuration cannot be read, or is refused.
const CONFIGURATION: u8 = 2;
/// There is no way to the API.
const CLIENT: u8 = 4;
/// It could not serve, or ended without being told to.
const SERVING: u8 = 6;

/// Why the process ends, and with which code.
struct Failure {
    code: u8,
    error: anyhow::Error,
}

fn at<E: Into<anyhow::Error>>(code: u8) -> impl Fn(E) -> Failure {
    move |error| Failure { code, error: error.into() }
}

/// Runs until it is told to stop, or cannot go on.
pub fn run(args: &SchedulerArgs) -> ExitCode {
    let config = match args.config.as_ref().map(operator::configuration).transpose() {
        // What is wrong with it has been said.
        Ok(Some(None)) => return ExitCode::from(CONFIGURATION),
        Ok(config) => config.flatten(),
        Err(error) => {
            eprintln!("error: {error:#}");
            return ExitCode::from(CONFIGURATION);
        }
    };
    let process = Process::of(&config.clone().unwrap_or_default());
    logs::start(process.log_level, process.log_format);
    let runtime = up::runtime().map_err(at(SERVING));
    match runtime.and_then(|runtime| runtime.block_on(schedule(args, config.as_ref()))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { code, error }) => {
            error!(code, "{error:#}");
            ExitCode::from(code)
        }
    }
}

/// Starts, serves, works, and ends in that order.
async fn schedule(args: &SchedulerArgs, config: Option<&OperatorConfiguration>) -> Result<(), Failure> {
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(async move {
        up::interrupted().await;
        info!("stopping");
        stop.send_replace(true);
    });
    let (close, closed) = watch::channel(false);
    let probes = Probes::default();
    let listener = listen(&address(args)).await.map_err(at(SERVING))?;
    info!(address = %listener.local_addr().map_err(at(SERVING))?, "health and metrics");
    let asked = probes.clone();
    let answer = move |_, path: String, _| std::future::ready(asked.answer(&path));
    let serving = tokio::spawn(serve::http(listener, answer, until(closed)));
    let scheduler = tokio::select! {
        started = start(args, config) => started?,
        () = until(stopped.clone()) => return Ok(()),
    };
    let metrics = scheduler.metrics();
    probes.started(move || metrics.render(), METRICS_CONTENT_TYPE, scheduler.readiness());
    let ended = scheduler.run(until(stopped)).await.map_err(at(SERVING));
    close.send_replace(true);
    let _ = serving.await;
    ended
}

/// Every address of the machine where one of the families is asked for whole: it may have only the other.
fn address(args: &SchedulerArgs) -> Address {
    let host = Some(args.listen.ip()).filter(|ip| !ip.is_unspecified()).map(|ip| ip.to_string());
    Address { host: host.unwrap_or_default(), port: args.listen.port() }
}

async fn start(args: &SchedulerArgs, config: Option<&OperatorConfiguration>) -> Result<Scheduler, Failure> {
    let connection =
        connect::connection(args.kubeconfig.as_deref(), args.context.as_deref()).await.map_err(at(CLIENT))?;
    let client = connection.client().map_err(at(CLIENT))?;
    let namespace = args.namespace.clone().unwrap_or_else(|| connection.config.default_namespace.clone());
    info!(
        api = %connection.config.cluster_url,
        namespace,
        names = args.scheduler_name.join(","),
        version = env!("CARGO_PKG_VERSION"),
        "scheduler"
    );
    Scheduler::start(client, options(args, config, namespace)).await.map_err(at(CLIENT))
}

fn options(args: &SchedulerArgs, config: Option<&OperatorConfiguration>, namespace: String) -> Options {
    let settings = Settings::of(config, args.scheduler_name.iter().cloned());
    let options = Options::new(settings, identity());
    let written = config.map_or_else(LeaderElection::default, |config| config.leader_election.clone());
    // Its times are the configuration's, the lease is its own: operator and scheduler lead each for themselves.
    let Election { duration, renew_deadline, retry_period, namespace: elsewhere, .. } = Election::of(&written);
    let lease = lease::Config {
        namespace: elsewhere.unwrap_or(namespace),
        name: SCHEDULER.to_owned(),
        identity: options.identity.clone(),
        duration,
        renew_deadline,
        retry_period,
    };
    Options { lease: (!args.no_leader_election).then_some(lease), ..options }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Args, Command};
    use clap::Parser as _;
    use std::time::Duration;

    /// What follows from arguments and a configuration: names served, lease (namespace, name, seconds) and address.
    fn check(arguments: &str, config: Option<&str>, served: &[&str], lease: Option<(&str, u64)>, listens: &str) {
        let line = format!("trellis scheduler {arguments}");
        let Command::Scheduler(args) = Args::parse_from(line.split_whitespace()).command else {
            panic!("another command")
        };
        let config = config.map(|text| serde_saphyr::from_str(text).expect("a configuration"));
        let options = options(&args, config.as_ref(), "ours".to_owned());
        assert_eq!(options.settings.served.iter().map(String::as_str).collect::<Vec<_>>(), served, "{line}");
        let found = options.lease.as_ref().map(|lease| {
            assert_eq!((lease.name.as_str(), &lease.identity), (SCHEDULER, &options.identity));
            (lease.namespace.as_str(), lease.duration)
        });
        assert_eq!(found, lease.map(|(namespace, seconds)| (namespace, Duration::from_secs(seconds))), "{line}");
        assert_eq!(address(&args).to_string(), listens, "{line}");
    }

    #[test]
    fn options_follow_from_arguments_and_configuration() {
        check("", None, &["trellis"], Some(("ours", 15)), ":2761");
        check("--no-leader-election --listen 127.0.0.1:0", None, &["trellis"], None, "127.0.0.1:0");
        check("--scheduler-name a --scheduler-name b", None, &["a", "b"], Some(("ours", 15)), ":2761");
        let config =
            "leaderElection: {enabled: false, leaseDuration: 1m, resourceNamespace: elsewhere, resourceName: o}";
        check("--listen 0.0.0.0:1", Some(config), &["trellis"], Some(("elsewhere", 60)), ":1");
    }
}
