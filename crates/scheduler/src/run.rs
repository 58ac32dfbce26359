//! The scheduler as something that runs: started with a client, it follows the API, leads if it may, and decides.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tracing::{info, warn};
use trellis_controller::Now;
use trellis_controller::events::Events;
use trellis_controller::lease::{self, Leadership};

use crate::act::Actor;
use crate::ask::Asker;
use crate::follow::Follower;
use crate::index::Index;
use crate::metrics::Metrics;
use crate::planner::{Planner, Whole};
use crate::seen::Seen;
use crate::settings::Settings;
use crate::view::View;
use crate::watches;

/// Who speaks in events.
const CONTROLLER: &str = "trellis-scheduler";
/// How long the first question may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// How a scheduler runs.
#[derive(Clone)]
pub struct Options {
    /// What it goes by.
    pub settings: Settings,
    /// The name of this process; no other process, also none before or after it, may have it.
    pub identity: String,
    /// Leader election; without it this process leads at once, and nobody else may.
    pub lease: Option<lease::Config>,
    /// What time it is.
    pub now: Now,
    /// Whether it is decided again when a time comes. Off, only events move anything: a test's way to show that they suffice.
    pub timers: bool,
    /// How long events are gathered before they are decided on: what happens at one moment is told one by one.
    pub gather: Duration,
    /// Nothing is decided on what this says is not whole. Everything is, but to tests that change several objects at what is to be one
    /// moment.
    pub is_whole: Whole,
    /// The oldest view of the cluster that is acted on. Watches last half as long.
    pub max_age: Duration,
    /// Requests that are under way at once.
    pub in_flight: u32,
}

impl Options {
    /// Options for these settings: no lease, the machine's clock.
    pub fn new(settings: Settings, identity: String) -> Self {
        Self {
            settings,
            identity,
            lease: None,
            now: Arc::new(Timestamp::now),
            timers: true,
            gather: Duration::from_millis(5),
            is_whole: Arc::new(|_| true),
            max_age: Duration::from_secs(6),
            in_flight: 32,
        }
    }
}

/// Why a scheduler cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The API does not answer.
    #[error("cannot reach the API: {0}")]
    Unreachable(String),
}

/// Why a scheduler stopped without being told to.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Another process leads, or the API could not be reached for too long to be sure that none does.
    #[error("leadership was lost")]
    Deposed,
    /// A part of it ended, which none should.
    #[error("a task ended: {0}")]
    Task(String),
}

/// A scheduler that has been started.
pub struct Scheduler {
    client: Client,
    options: Options,
    index: Arc<Index>,
    view: Arc<View>,
    metrics: Metrics,
    stage: watch::Sender<Stage>,
    settled: Arc<watch::Sender<Option<u64>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Starting,
    /// Another leads, or may.
    StandingBy,
    Leading,
    Stopping,
}

/// A task that ends with whoever waits for it: one who drops [`Scheduler::run`] is left with nothing that goes on deciding.
struct Tied(JoinHandle<()>);

impl Drop for Tied {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Scheduler {
    /// Sees whether anybody answers.
    pub async fn start(client: Client, options: Options) -> Result<Self, StartError> {
        match tokio::time::timeout(PATIENCE, client.apiserver_version()).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => return Err(StartError::Unreachable(error.to_string())),
            Err(_) => return Err(StartError::Unreachable(format!("no answer within {} s", PATIENCE.as_secs()))),
        }
        let view = Arc::new(View::new(options.max_age, &watches::KINDS));
        Ok(Self {
            client,
            options,
            index: Arc::default(),
            view,
            metrics: Metrics::new(),
            stage: watch::Sender::new(Stage::Starting),
            settled: Arc::new(watch::Sender::new(None)),
        })
    }

    /// What is counted.
    pub fn metrics(&self) -> Metrics {
        self.metrics.clone()
    }

    /// Tells, at any time, whether this process leads or could at once: it sees the cluster as it is. If not, why.
    pub fn readiness(&self) -> impl Fn() -> Result<(), String> + Clone + Send + Sync + 'static {
        let stage = self.stage.subscribe();
        let view = Arc::clone(&self.view);
        move || match *stage.borrow() {
            Stage::Starting => Err("starting".to_owned()),
            Stage::Stopping => Err("stopping".to_owned()),
            Stage::StandingBy | Stage::Leading => view.is_fresh(),
        }
    }

    /// Resolves once this process leads and sees the cluster as it is.
    pub fn serving(&self) -> impl Future<Output = ()> + Send + 'static {
        let (mut stage, view) = (self.stage.subscribe(), Arc::clone(&self.view));
        async move {
            // Either it is said, or nobody is left to say it.
            let _ = stage.wait_for(|stage| matches!(stage, Stage::Leading | Stage::Stopping)).await;
            while view.age().is_none() && *stage.borrow() == Stage::Leading {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }

    /// Tells, at any time, what was seen.
    pub fn seen(&self) -> impl Fn() -> Seen + Clone + Send + Sync + 'static {
        let index = Arc::clone(&self.index);
        move || index.seen()
    }

    /// Resolves when nothing is being done, and a decision on all that was seen found nothing to do now.
    pub fn settled(&self) -> impl Future<Output = ()> + Send + 'static {
        let (mut settled, index) = (self.settled.subscribe(), Arc::clone(&self.index));
        async move {
            let _ = settled.wait_for(|settled| *settled == Some(index.generation())).await;
        }
    }

    /// Runs until `stop` resolves, or until leadership is lost. Gangs that are begun when `stop` comes are finished, within bounds.
    pub async fn run(self, stop: impl Future<Output = ()> + Send) -> Result<(), RunError> {
        // Those who stand by follow as well, so that they see the cluster when it is their turn.
        let follower =
            Follower { index: Arc::clone(&self.index), view: Arc::clone(&self.view), metrics: self.metrics.clone() };
        let mut following = watches::start(&self.client, &follower);
        self.stage.send_replace(Stage::StandingBy);
        tokio::pin!(stop);
        let (leadership, leads_since) = match self.options.lease.clone() {
            None => (Leadership::always(), None),
            Some(config) => {
                info!(identity = self.options.identity, "waiting to lead");
                let now = Arc::clone(&self.options.now);
                tokio::select! {
                    biased;
                    leadership = lease::acquire(self.client.clone(), config, Arc::clone(&now)) => (leadership, Some(now())),
                    () = &mut stop => return Ok(()),
                    Some(ended) = following.join_next() => return Err(RunError::Task(format!("{ended:?}"))),
                }
            }
        };
        self.stage.send_replace(Stage::Leading);
        self.metrics.leader(true);
        info!(identity = self.options.identity, "leading");
        let ended = self.lead(&leadership, leads_since, &mut following, stop).await;
        self.metrics.leader(false);
        following.shutdown().await;
        if ended.is_ok() {
            leadership.release().await;
        }
        ended
    }

    async fn lead(
        &self,
        leadership: &Leadership,
        leads_since: Option<Timestamp>,
        following: &mut JoinSet<()>,
        stop: impl Future<Output = ()>,
    ) -> Result<(), RunError> {
        let Options { in_flight, now, .. } = &self.options;
        let asker =
            Asker::new(self.client.clone(), leadership.clone(), *in_flight, Arc::clone(now), self.metrics.clone());
        let (index, view) = (Arc::clone(&self.index), Arc::clone(&self.view));
        let (actor, work) = Actor::new(asker, *in_flight, index, view, self.metrics.clone());
        let planner = Planner {
            index: Arc::clone(&self.index),
            view: Arc::clone(&self.view),
            actor: Arc::clone(&actor),
            settings: Arc::new(self.options.settings.clone()),
            identity: self.options.identity.clone(),
            leads_since,
            now: Arc::clone(now),
            timers: self.options.timers,
            gather: self.options.gather,
            is_whole: Arc::clone(&self.options.is_whole),
            events: Events::start(self.client.clone(), CONTROLLER, self.options.identity.clone(), Arc::clone(now)),
            metrics: self.metrics.clone(),
            settled: Arc::clone(&self.settled),
        };
        let mut working = Tied(tokio::spawn(work.run()));
        let mut planning = Tied(tokio::spawn(planner.run()));
        let ended = tokio::select! {
            biased;
            () = stop => Ok(()),
            () = leadership.lost() => Err(RunError::Deposed),
            ended = &mut planning.0 => Err(RunError::Task(format!("{ended:?}"))),
            ended = &mut working.0 => Err(RunError::Task(format!("{ended:?}"))),
            Some(ended) = following.join_next() => Err(RunError::Task(format!("{ended:?}"))),
        };
        self.stage.send_replace(Stage::Stopping);
        planning.0.abort();
        actor.stop();
        if !working.0.is_finished()
            && let Err(error) = (&mut working.0).await
        {
            warn!(%error, "carrying out ended badly");
        }
        actor.close().await;
        ended
    }
}

#[cfg(test)]
mod tests;
