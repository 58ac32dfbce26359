//! `trellis operator`: the operator as a process. Configuration, client, sockets and signals are settled here; what it does is
//! `trellis-operator`'s.

mod reach;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use bytes::Bytes;
use jiff::Timestamp;
use kube::Client;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::{error, info};
use trellis_api::admission::object::{Decoded, Kind, decode};
use trellis_api::admission::{review, validate_operator_configuration};
use trellis_api::kinds::config::OperatorConfiguration;
use trellis_api::settings::{Address, Certificate, Process, Settings};
use trellis_operator::webhooks::{Answer, CertificateOptions, Certificates, Handler, Reach, Source, names};
use trellis_operator::{METRICS_CONTENT_TYPE, Now, Operator, Options, Webhooks, install_crds, lease, own_user};

use crate::args::OperatorArgs;
use crate::connect::{self, Connection};
use crate::probes::Probes;
use crate::process::{identity, listen, until};
use crate::{logs, render, serve, up, validate};

/// The arguments are wrong.
pub const WRONG_ARGUMENTS: u8 = 1;
/// The configuration cannot be read, or is refused.
const CONFIGURATION: u8 = 2;
/// The default topology, or the backend's object for it, could not be brought in line.
const TOPOLOGY: u8 = 3;
/// There is no way to the API.
const CLIENT: u8 = 4;
/// It could not serve, or ended without being told to.
const SERVING: u8 = 6;

/// Why the process ends, and with which code.
struct Failure {
    code: u8,
    error: anyhow::Error,
}

/// Runs until it is told to stop, or cannot go on.
pub fn run(args: &OperatorArgs) -> ExitCode {
    let config = match configuration(&args.config) {
        Ok(Some(config)) => config,
        // What is wrong with it has been said.
        Ok(None) => return ExitCode::from(CONFIGURATION),
        Err(error) => {
            eprintln!("error: {error:#}");
            return ExitCode::from(CONFIGURATION);
        }
    };
    let process = Process::of(&config);
    logs::start(process.log_level, process.log_format);
    let runtime = up::runtime().map_err(at(SERVING));
    match runtime.and_then(|runtime| runtime.block_on(operate(args, &config, &process))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { code, error }) => {
            error!(code, "{error:#}");
            ExitCode::from(code)
        }
    }
}

fn at<E: Into<anyhow::Error>>(code: u8) -> impl Fn(E) -> Failure {
    move |error| Failure { code, error: error.into() }
}

/// Reads and judges the configuration; says what is wrong with it.
pub fn configuration(path: &PathBuf) -> Result<Option<OperatorConfiguration>> {
    let object = validate::read_config(path)?;
    let decoded: Decoded<OperatorConfiguration> = decode(Kind::OperatorConfiguration, object.document.value.clone());
    let config = decoded.object.clone();
    let verdict = review::rules(decoded, validate_operator_configuration);
    Ok(config.filter(|_| render::tell(&object, &verdict)))
}

/// Starts, serves, works, and ends in that order.
async fn operate(args: &OperatorArgs, config: &OperatorConfiguration, process: &Process) -> Result<(), Failure> {
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(async move {
        up::interrupted().await;
        info!("stopping");
        stop.send_replace(true);
    });
    let (close, closed) = watch::channel(false);
    let mut sockets = JoinSet::new();
    let probes = Probes::default();
    for address in plain_addresses(args, process) {
        let listener = listen(&address).await.map_err(at(SERVING))?;
        info!(address = %listener.local_addr().map_err(at(SERVING))?, "health and metrics");
        let probes = probes.clone();
        let answer = move |_, path: String, _| std::future::ready(probes.answer(&path));
        sockets.spawn(serve::http(listener, answer, until(closed.clone())));
    }
    let begun = start(args, config, process);
    let (operator, hooks) = tokio::select! {
        begun = begun => begun?,
        () = until(stopped.clone()) => return Ok(()),
    };
    if let (Some(hooks), Some(handler)) = (hooks, operator.handler()) {
        sockets.spawn(webhooks(hooks, handler, until(closed)));
    }
    let (metrics, is_ready) = (operator.metrics(), operator.readiness());
    let readiness = move || if is_ready() { Ok(()) } else { Err("not ready".to_owned()) };
    probes.started(move || metrics.render(), METRICS_CONTENT_TYPE, readiness);
    let ended = operator.run(until(stopped)).await.map_err(at(SERVING));
    close.send_replace(true);
    sockets.join_all().await;
    ended
}

async fn webhooks(hooks: Hooks, handler: Handler, stop: impl Future<Output = ()>) {
    let answer = move |_, path: String, body: Bytes| {
        let handler = handler.clone();
        async move {
            let answer = handler.answer(&path, &body).await;
            (answer.code, Answer::CONTENT_TYPE, answer.body)
        }
    };
    if let Err(error) = serve::https(hooks.listener, hooks.certificates.resolver(), answer, stop).await {
        error!(%error, "webhooks cannot be served");
    }
}

/// A socket for the webhooks, and the certificate that it shows.
struct Hooks {
    listener: TcpListener,
    certificates: Certificates,
}

/// Does what comes before work: the API is reached, sockets are there, and the topology is in line.
async fn start(
    args: &OperatorArgs,
    config: &OperatorConfiguration,
    process: &Process,
) -> Result<(Operator, Option<Hooks>), Failure> {
    let connection =
        connect::connection(args.kubeconfig.as_deref(), args.context.as_deref()).await.map_err(at(CLIENT))?;
    let client = connection.client().map_err(at(CLIENT))?;
    let namespace = args.namespace.clone().unwrap_or_else(|| connection.config.default_namespace.clone());
    // The first question shows whether anybody answers.
    let user = own_user(&client).await.map_err(at(CLIENT))?;
    info!(api = %connection.config.cluster_url, user, namespace, version = env!("CARGO_PKG_VERSION"), "operator");
    if args.install_crds {
        install_crds(&client).await.map_err(at(CLIENT))?;
    }
    let mut options = options(config, process, &namespace);
    let hooks = hooks(args, process, &connection, &client, &namespace, &options.now).await.map_err(at(SERVING))?;
    if let Some((reach, hooks)) = &hooks {
        options.webhooks = Webhooks::On(reach.clone(), Some(hooks.certificates.clone()));
    }
    let operator = Operator::start(client, options).await.map_err(at(TOPOLOGY))?;
    Ok((operator, hooks.map(|(_, hooks)| hooks)))
}

/// What the configuration asks for. Webhooks are added once it is known how they are reached.
fn options(config: &OperatorConfiguration, process: &Process, namespace: &str) -> Options {
    let identity = identity();
    let lease = process.election.as_ref().map(|election| lease::Config {
        namespace: election.namespace.clone().unwrap_or_else(|| namespace.to_owned()),
        name: election.name.clone(),
        identity: identity.clone(),
        duration: election.duration,
        renew_deadline: election.renew_deadline,
        retry_period: election.retry_period,
    });
    Options {
        authorizer: config.authorizer.clone(),
        identity,
        lease,
        workers: process.workers,
        now: Arc::new(Timestamp::now),
        ..Options::new(Settings::of(config))
    }
}

/// Opens the webhooks' socket and finds their certificate, unless there are to be none.
async fn hooks(
    args: &OperatorArgs,
    process: &Process,
    connection: &Connection,
    client: &Client,
    namespace: &str,
    now: &Now,
) -> Result<Option<(Reach, Hooks)>> {
    let Some(plan) = reach::plan(args, &process.webhooks, connection.in_cluster, connection.is_local())? else {
        return Ok(None);
    };
    let listener = listen(&plan.listen).await?;
    let reach = plan.reach(namespace, listener.local_addr()?.port());
    let source = match &process.certificate {
        Certificate::Given(folder) => Source::Given(folder.clone()),
        Certificate::Made(secret) => Source::Made {
            client: client.clone(),
            namespace: namespace.to_owned(),
            secret: secret.clone(),
            names: names(&reach),
        },
    };
    let certificates = Certificates::start(source, CertificateOptions::default(), now.clone()).await?;
    info!(address = %listener.local_addr()?, ?reach, "webhooks");
    Ok(Some((reach, Hooks { listener, certificates })))
}

/// Where health and metrics are served: all of it on each.
fn plain_addresses(args: &OperatorArgs, process: &Process) -> Vec<Address> {
    match args.listen {
        Some(address) => vec![exactly(address)],
        None => {
            let health = process.health.clone().filter(|health| *health != process.metrics);
            health.into_iter().chain([process.metrics.clone()]).collect()
        }
    }
}

/// An address as it was given on the command line.
fn exactly(address: SocketAddr) -> Address {
    Address { host: address.ip().to_string(), port: address.port() }
}
