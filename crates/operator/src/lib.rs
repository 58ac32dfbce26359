//! The operator: observes sets and topologies through a Kubernetes API, has the pure crates decide, and carries out what they decide.
//!
//! [`Operator::start`] does what has to be done before anything is served; from then on one task per kind follows the API into an index,
//! a queue holds what was touched, and workers take a set at a time: decide, act, look again, until nothing is left. Sockets are the
//! caller's: webhooks and metrics are functions here.

mod act;
mod deployments;
mod index;
mod metrics;
mod osmo;
mod queue;
mod start;
mod topologies;
mod watches;
pub mod webhooks;
mod work;

pub use metrics::{CONTENT_TYPE as METRICS_CONTENT_TYPE, Metrics};
pub use start::{StartError, install_crds, leaves_dynamo, own_user, served, synchronise};
pub use trellis_controller::{Now, lease};

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::{info, warn};
use trellis_api::kinds::config::Authorizer;
use trellis_api::settings::Settings;
use trellis_controller::events::Events;
use trellis_controller::lease::Leadership;

use crate::act::Actor;
use crate::index::Index;
use crate::queue::Queue;
use crate::watches::Watches;
use crate::work::{Attempts, Workers};

/// Who speaks in events.
const CONTROLLER: &str = "trellis-operator";

/// How an operator runs.
#[derive(Clone)]
pub struct Options {
    /// What the configuration comes to.
    pub settings: Settings,
    /// Who may touch what we manage.
    pub authorizer: Authorizer,
    /// The name of this process among its replicas.
    pub identity: String,
    /// Leader election; without it this process leads at once.
    pub lease: Option<lease::Config>,
    /// Whether and how the API server asks us.
    pub webhooks: Webhooks,
    /// Whether our CustomResourceDefinitions are applied first.
    pub install_crds: bool,
    /// How many keys are worked on at once.
    pub workers: usize,
    /// What time it is.
    pub now: Now,
    /// Whether keys are looked at again when a time comes. Off, only events move anything: a test's way to show that they suffice.
    pub timers: bool,
}

/// Whether and how the API server asks us about what users write.
#[derive(Clone, Debug, Default)]
pub enum Webhooks {
    /// It does not; sets are judged when they are seen.
    #[default]
    Off,
    /// It does, here. Certificates, if any are needed, are looked after as long as we run.
    On(webhooks::Reach, Option<webhooks::Certificates>),
}

impl Options {
    /// Options for these settings: no lease, no webhooks, the machine's clock.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            authorizer: Authorizer::default(),
            identity: "trellis-operator".to_owned(),
            lease: None,
            webhooks: Webhooks::Off,
            install_crds: false,
            workers: 10,
            now: Arc::new(Timestamp::now),
            timers: true,
        }
    }
}

/// Why an operator stopped without being told to.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Another process leads, or the API could not be reached for too long to be sure that none does.
    #[error("leadership was lost")]
    Deposed,
    /// A part of it ended, which none should.
    #[error("a task ended: {0}")]
    Task(String),
}

/// An operator that has been started.
pub struct Operator {
    client: Client,
    options: Options,
    index: Arc<Index>,
    queue: Arc<Queue>,
    metrics: Metrics,
    handler: Option<webhooks::Handler>,
    user: String,
    /// Whether DynamoGraphDeployments are ours to serve.
    dynamo: bool,
    ready: watch::Sender<bool>,
}

impl Operator {
    /// Does what comes before serving: our definitions if asked for, our own name, the default topology and the backend's.
    pub async fn start(client: Client, options: Options) -> Result<Self, StartError> {
        if options.install_crds {
            install_crds(&client).await?;
        }
        let user = own_user(&client).await?;
        synchronise(&client, &options.settings).await?;
        let dynamo = !leaves_dynamo(&client).await?;
        let handler = match &options.webhooks {
            Webhooks::Off => None,
            Webhooks::On(..) => {
                let settings = Arc::new(options.settings.clone());
                Some(webhooks::Handler::new(client.clone(), settings, options.authorizer.clone(), user.clone()))
            }
        };
        Ok(Self {
            client,
            options,
            index: Arc::default(),
            queue: Arc::default(),
            metrics: Metrics::new(),
            handler,
            user,
            dynamo,
            ready: watch::Sender::new(false),
        })
    }

    /// Answers the API server's questions, if it is to ask any.
    pub fn handler(&self) -> Option<webhooks::Handler> {
        self.handler.clone()
    }

    /// What is counted.
    pub fn metrics(&self) -> Metrics {
        self.metrics.clone()
    }

    /// Tells, at any time, whether we serve: webhooks are set up, and this process leads or stands by.
    pub fn readiness(&self) -> impl Fn() -> bool + Clone + Send + Sync + 'static {
        let ready = self.ready.subscribe();
        move || *ready.borrow()
    }

    /// Resolves once we serve.
    pub fn serving(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut ready = self.ready.subscribe();
        async move {
            // Either it is said, or nobody is left to say it.
            let _ = ready.wait_for(|ready| *ready).await;
        }
    }

    /// Resolves when nothing is being done and nothing waits to be done now.
    pub fn settled(&self) -> impl Future<Output = ()> + Send + 'static {
        let queue = Arc::clone(&self.queue);
        async move { queue.idle().await }
    }

    /// Runs until `stop` resolves, or until leadership is lost. A write that is under way when `stop` comes is finished.
    pub async fn run(self, stop: impl Future<Output = ()> + Send) -> Result<(), RunError> {
        let mut tasks = JoinSet::new();
        if let Webhooks::On(reach, certificates) = &self.options.webhooks {
            let authorizer = self.options.authorizer.enabled;
            let publisher = Publisher {
                client: self.client.clone(),
                reach: reach.clone(),
                user: self.user.clone(),
                authorizer,
                dynamo: self.dynamo,
                ready: self.ready.clone(),
            };
            tasks.spawn(publisher.publish(certificates.clone()));
        } else {
            self.ready.send_replace(true);
        }
        tokio::pin!(stop);
        let leadership = match self.options.lease.clone() {
            None => Leadership::always(),
            Some(config) => {
                info!(identity = self.options.identity, "waiting to lead");
                tokio::select! {
                    biased;
                    leadership = lease::acquire(self.client.clone(), config, Arc::clone(&self.options.now)) => leadership,
                    () = &mut stop => return Ok(()),
                }
            }
        };
        self.metrics.leader(true);
        info!(identity = self.options.identity, "leading");
        if matches!(self.options.webhooks, Webhooks::Off) {
            match webhooks::uninstall(&self.client).await {
                Ok(true) => info!("webhook configurations of an earlier operator are taken away: nobody would answer"),
                Ok(false) => {}
                Err(error) => warn!(%error, "cannot take away webhook configurations that nobody answers"),
            }
        }
        let watches =
            Watches { index: Arc::clone(&self.index), queue: Arc::clone(&self.queue), metrics: self.metrics.clone() };
        let mut following = watches::start(&self.client, &watches, &self.options.settings.profiles, self.dynamo);
        let actor = Actor::new(
            self.client.clone(),
            Arc::clone(&self.index),
            Arc::clone(&self.queue),
            leadership.clone(),
            self.metrics.clone(),
        );
        let workers = Arc::new(Workers {
            actor: actor.clone(),
            client: self.client.clone(),
            index: Arc::clone(&self.index),
            queue: Arc::clone(&self.queue),
            settings: Arc::new(self.options.settings.clone()),
            now: Arc::clone(&self.options.now),
            judges: matches!(self.options.webhooks, Webhooks::Off),
            timers: self.options.timers,
            events: Events::start(
                self.client.clone(),
                CONTROLLER,
                self.options.identity.clone(),
                Arc::clone(&self.options.now),
            ),
            metrics: self.metrics.clone(),
            attempts: Attempts::default(),
        });
        let mut working = JoinSet::new();
        let index = Arc::clone(&self.index);
        let count = self.options.workers.max(1);
        tasks.spawn(async move {
            index.listed().await;
            for _ in 0..count {
                working.spawn(Arc::clone(&workers).work());
            }
            working.join_all().await;
        });
        let ended = tokio::select! {
            biased;
            () = &mut stop => Ok(()),
            () = leadership.lost() => Err(RunError::Deposed),
            Some(ended) = tasks.join_next() => Err(RunError::Task(format!("{ended:?}"))),
            Some(ended) = following.join_next() => Err(RunError::Task(format!("{ended:?}"))),
        };
        self.ready.send_replace(false);
        actor.drain().await;
        tasks.shutdown().await;
        following.shutdown().await;
        self.metrics.leader(false);
        if ended.is_ok() {
            leadership.release().await;
        }
        ended
    }
}

/// How soon it is tried again to tell the API server of our webhooks.
const PUBLISH_AGAIN: Duration = Duration::from_secs(5);

/// Tells the API server of our webhooks.
struct Publisher {
    client: Client,
    reach: webhooks::Reach,
    user: String,
    authorizer: bool,
    dynamo: bool,
    ready: watch::Sender<bool>,
}

impl Publisher {
    /// Tells it, and keeps the certificate that they show current, for ever. In one process with the API there is no certificate.
    async fn publish(self, certificates: Option<webhooks::Certificates>) {
        let install = |bundle: Option<Vec<u8>>| {
            let this = &self;
            async move {
                let wanted =
                    webhooks::configurations(&this.reach, bundle.as_deref(), &this.user, this.authorizer, this.dynamo);
                webhooks::install(&this.client, &wanted).await?;
                if this.dynamo {
                    webhooks::install_conversion(&this.client, &this.reach, bundle.as_deref()).await?;
                }
                this.ready.send_if_modified(|ready| !std::mem::replace(ready, true));
                Ok::<(), kube::Error>(())
            }
        };
        if let Some(certificates) = certificates {
            certificates.keep(install).await;
        }
        while let Err(error) = install(None).await {
            warn!(%error, "the API server could not be told of our webhooks; trying again");
            tokio::time::sleep(PUBLISH_AGAIN).await;
        }
        std::future::pending::<()>().await;
    }
}
