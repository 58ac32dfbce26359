//! `trellis up`: a Kubernetes API with simulated nodes, in this process.

mod access;
mod cluster;
mod operator;
mod scheduler;
mod steps;

use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result};
use kube::Client;
use tokio::sync::watch;
use trellis_api::kinds::config::OperatorConfiguration;
use trellis_api::settings::Settings;
use trellis_cluster::api::{Api, Behaviour, Options};
use trellis_cluster::journal::Journal;
use trellis_cluster::nodes::Nodes;
use trellis_cluster::serve::Server;
use trellis_cluster::store::Store;
use trellis_cluster::user::User;
use trellis_cluster::{clock::Clock, controllers, entropy::Entropy};

use crate::args::{Part, UpArgs};
pub use access::default_kubeconfig;
pub use cluster::{Simulated, play_nodes};
pub use steps::Steps;

/// Runs until it is told to stop.
pub fn run(args: &UpArgs) -> Result<()> {
    let simulated = Simulated::read(args.cluster.as_deref())?;
    runtime()?.block_on(up(args, &simulated))
}

/// The runtime of commands that talk to an API.
pub fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start")
}

async fn up(args: &UpArgs, simulated: &Simulated) -> Result<()> {
    let begun = Instant::now();
    let steps = Steps::new();
    let api = Api::new(Options {
        store: store(args.data.as_deref(), args.fsync)?,
        clock: Clock::System,
        entropy: Entropy::random(),
        behaviour: Behaviour { service_accounts: true, taint_new_nodes: false },
    });
    api.set_ready(false);
    let server = Server::bind(api.clone(), args.listen)
        .await
        .with_context(|| format!("cannot listen on {}\nhint: choose another address with `--listen`", args.listen))?;
    let kubeconfig = args.kubeconfig.clone().map_or_else(default_kubeconfig, Ok)?;
    access::write(&kubeconfig, &server)?;
    let address = server.address()?;
    steps.say(&format!("serving on https://{address}"));

    let (stop, stopped) = watch::channel(false);
    let until = || wait(stopped.clone());
    let serving = tokio::spawn(server.run(until()));
    let controlling = tokio::spawn(controllers::run(api.clone(), controllers::Options::default(), until()));
    let work = async {
        api.furnish().await?;
        let client = client(&api, User::admin());
        cluster::install(&client, &steps).await?;
        let operating = if args.without.contains(&Part::Operator) {
            None
        } else {
            let operating = operator::start(&api, settings(args)?, until()).await?;
            steps.say("operator");
            Some(operating)
        };
        let scheduling = if args.without.contains(&Part::Scheduler) {
            None
        } else {
            let scheduling = scheduler::start(&api, configuration(args)?.as_ref(), until()).await?;
            steps.say("scheduler");
            Some(scheduling)
        };
        cluster::apply_objects(&client, simulated).await?;
        let nodes = if args.without.contains(&Part::Nodes) {
            None
        } else {
            Some(nodes_in_process(&api, simulated, &steps).await?)
        };
        api.set_ready(true);
        Ok::<_, anyhow::Error>((nodes, operating, scheduling))
    };
    let (nodes, operating, scheduling) = tokio::select! {
        parts = work => parts?,
        () = interrupted() => (None, None, None),
    };
    if api.is_ready() {
        steps.welcome(args, &kubeconfig, begun.elapsed());
        interrupted().await;
    }
    steps.say("stopping");
    let _ = stop.send(true);
    if let Some(scheduling) = scheduling {
        let _ = scheduling.await;
    }
    if let Some(operating) = operating {
        let _ = operating.await;
    }
    if let Some(nodes) = nodes {
        nodes.stop().await;
    }
    let _ = tokio::join!(serving, controlling);
    access::remove(&kubeconfig);
    Ok(())
}

/// What the configuration comes to; without one, topology is on and the topologies are those of the cluster's file.
fn settings(args: &UpArgs) -> Result<Settings> {
    Ok(configuration(args)?.map_or_else(Settings::default, |config| Settings::of(&config)))
}

fn configuration(args: &UpArgs) -> Result<Option<OperatorConfiguration>> {
    let Some(path) = &args.config else { return Ok(None) };
    let config = crate::operator::configuration(path)?;
    config.with_context(|| format!("{}: the configuration is refused", path.display())).map(Some)
}

fn store(data: Option<&Path>, fsync: bool) -> Result<Store> {
    let Some(folder) = data else { return Ok(Store::default()) };
    let (journal, entries) =
        Journal::open(folder, fsync).with_context(|| format!("cannot use `{}` to keep state", folder.display()))?;
    Ok(Store::open(journal, entries))
}

/// A client in this process.
fn client(api: &Api, user: User) -> Client {
    Client::new(api.service(user), "default")
}

async fn nodes_in_process(api: &Api, simulated: &Simulated, steps: &Steps) -> Result<Nodes> {
    let specs = simulated.nodes()?;
    let count = specs.len();
    let client = client(api, User::service_account("kube-system", "simulated-nodes"));
    let nodes = play_nodes(client, specs, steps).await?;
    steps.say(&format!("{count} simulated nodes"));
    Ok(nodes)
}

async fn wait(mut stopped: watch::Receiver<bool>) {
    // Either it is said, or whoever could say it is gone.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// Ctrl-C, or the signal that ends services.
pub async fn interrupted() {
    let terminated = async {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            if let Ok(mut signal) = signal(SignalKind::terminate()) {
                signal.recv().await;
                return;
            }
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = terminated => {}
    }
}
