//! The scheduler in the process of `trellis up`: an ordinary client of the API. No other scheduler runs there, so it serves the
//! pods of the default one and of KAI as well.

use anyhow::{Context as _, Result};
use kube::Client;
use tokio::task::JoinHandle;
use trellis_api::kinds::config::OperatorConfiguration;
use trellis_api::names::{SCHEDULER, profile};
use trellis_cluster::api::Api;
use trellis_cluster::user::User;
use trellis_scheduler::{Options, RunError, Scheduler, Settings};

use crate::process::identity;

/// Where it would live in a cluster.
const NAMESPACE: &str = "trellis-system";

/// Starts the scheduler; it runs until `stop` resolves.
pub async fn start(
    api: &Api,
    config: Option<&OperatorConfiguration>,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<JoinHandle<Result<(), RunError>>> {
    let client = Client::new(api.service(User::service_account(NAMESPACE, SCHEDULER)), NAMESPACE);
    let served = [profile::TRELLIS, profile::DEFAULT_SCHEDULER, profile::KAI].map(str::to_owned);
    let settings = Settings::of(config, served);
    let scheduler = Scheduler::start(client, Options::new(settings, identity())).await;
    let scheduler = scheduler.context("cannot start the scheduler")?;
    let serving = scheduler.serving();
    let running = tokio::spawn(scheduler.run(stop));
    serving.await;
    Ok(running)
}
