//! The lives of an operator or a scheduler: started, made to suffer, struck dead at a write, and started again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use http::Method;
use kube::Client;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use trellis_api::kinds::config::OperatorConfiguration;
use trellis_api::names;
use trellis_api::settings::Settings;
use trellis_cluster::api::Api;
use trellis_cluster::faults::{Fault, Faults, Seen};
use trellis_cluster::user::User;
use trellis_operator::webhooks::{Handler, Reach};
use trellis_operator::{Operator, Webhooks, lease};
use trellis_scheduler::{Metrics, Scheduler};

use crate::check::Rule;
use crate::dice::Dice;
use crate::journal::Journal;
use crate::trouble;
use crate::wire::{Watcher, Wire};
use crate::world::{self, HOLD_SECONDS, SYSTEM};

/// How soon one that died is started again.
const RESTART: Duration = Duration::from_secs(1);
/// So many writes within one second are no work any more: decisions and writes chase each other.
const STORM: u32 = 10_000;

/// Whose life it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Who {
    /// The operator's.
    Operator,
    /// The scheduler's.
    Scheduler,
}

impl Who {
    fn name(self) -> &'static str {
        match self {
            Self::Operator => names::OPERATOR,
            Self::Scheduler => names::SCHEDULER,
        }
    }
}

/// What is done to a life, and what became of it.
struct Story {
    /// How many times it was started; all but the last are dead, and nothing that they send from then on gets through.
    lives: usize,
    dice: Dice,
    /// Nothing goes wrong.
    is_calm: bool,
    /// It dies with its next write: whether after the write takes effect.
    strike: Option<bool>,
    faults: Option<Faults>,
    crashes: usize,
    died: Vec<(Rule, String)>,
    /// Since when writes are counted for a storm, and how many there were.
    gust: (Instant, u32),
    /// What it sent in all its lives that changes something, but for its lease.
    writes: u64,
    /// What schedulers counted, one for each life.
    metrics: Vec<Metrics>,
}

impl Story {
    /// Counts a write; whether there are too many of them.
    fn is_storm(&mut self) -> bool {
        let now = Instant::now();
        if now.duration_since(self.gust.0) >= Duration::from_secs(1) {
            self.gust = (now, 0);
        }
        self.gust.1 += 1;
        self.gust.1 > STORM
    }
}

/// What a life has cost, without a clock: the same seed gives the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct Effort {
    /// Writes that were sent.
    pub writes: u64,
    /// Decisions of a scheduler.
    pub decisions: u64,
    /// Steps that the search for places took in them.
    pub steps: u64,
}

/// What a life is told.
#[derive(Clone)]
struct Ground {
    who: Who,
    api: Api,
    configuration: OperatorConfiguration,
    story: Arc<Mutex<Story>>,
    struck: Arc<Notify>,
    journal: Journal,
    watcher: Watcher,
}

/// An operator or scheduler that is started again whenever it dies.
pub struct Life {
    story: Arc<Mutex<Story>>,
    task: JoinHandle<()>,
}

impl Drop for Life {
    fn drop(&mut self) {
        self.task.abort();
        // The faults know the story that they are in.
        lock(&self.story).faults = None;
    }
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Life {
    /// Begins the first life. `watcher` is told of every write before it is sent.
    pub fn begin(
        who: Who,
        seed: u64,
        api: &Api,
        configuration: &OperatorConfiguration,
        journal: &Journal,
        watcher: Watcher,
    ) -> Self {
        let dice = Dice::aside(seed, if who == Who::Operator { 1 } else { 2 });
        let story = Story {
            lives: 0,
            dice,
            is_calm: true,
            strike: None,
            faults: None,
            crashes: 0,
            died: Vec::new(),
            gust: (Instant::now(), 0),
            writes: 0,
            metrics: Vec::new(),
        };
        let story = Arc::new(Mutex::new(story));
        let ground = Ground {
            who,
            api: api.clone(),
            configuration: configuration.clone(),
            story: Arc::clone(&story),
            struck: Arc::default(),
            journal: journal.clone(),
            watcher,
        };
        Self { story, task: tokio::spawn(live(ground)) }
    }

    /// Whether things go wrong from now on.
    pub fn suffer(&self, suffers: bool) {
        let mut story = lock(&self.story);
        story.is_calm = !suffers;
        if !suffers {
            story.strike = None;
            if let Some(faults) = &story.faults {
                faults.reconnect();
                faults.cut_watches();
            }
        }
    }

    /// It dies with its next write.
    pub fn strike(&self, after: bool) {
        lock(&self.story).strike = Some(after);
    }

    /// Breaks all of its watches.
    pub fn cut_watches(&self) {
        if let Some(faults) = &lock(&self.story).faults {
            faults.cut_watches();
        }
    }

    /// Cuts it off, or lets it through again.
    pub fn connect(&self, through: bool) {
        if let Some(faults) = &lock(&self.story).faults {
            if through { faults.reconnect() } else { faults.disconnect() }
        }
    }

    /// How often it was struck dead, and what it died of otherwise.
    pub fn ends(&self) -> (usize, Vec<(Rule, String)>) {
        let story = lock(&self.story);
        (story.crashes, story.died.clone())
    }

    /// What it has cost so far.
    pub fn effort(&self) -> Effort {
        let story = lock(&self.story);
        let texts: Vec<String> = story.metrics.iter().map(Metrics::render).collect();
        let sum = |name: &str| {
            let lines = texts.iter().flat_map(|text| text.lines());
            lines.filter_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok()).sum()
        };
        Effort {
            writes: story.writes,
            decisions: sum("trellis_scheduler_plan_duration_seconds_count"),
            steps: sum("trellis_scheduler_plan_steps_total"),
        }
    }
}

/// A task that ends with whoever holds it.
struct Mortal(JoinHandle<Result<(), String>>);

impl Drop for Mortal {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// One life after the other.
async fn live(ground: Ground) {
    loop {
        let life = {
            let mut story = lock(&ground.story);
            story.lives += 1;
            story.lives
        };
        let deciding = ground.clone();
        let faults = Faults::decided(move |seen| deciding.decide(life, seen));
        lock(&ground.story).faults = Some(faults.clone());
        let on_the_way = ground.clone();
        let way = Arc::new(move |_: &Method, _: &str| {
            let mut story = lock(&on_the_way.story);
            if story.is_calm { None } else { trouble::way(&mut story.dice) }
        });
        let user = User::service_account(SYSTEM, ground.who.name());
        let wire = Wire::new(ground.api.service(user), way, Arc::clone(&ground.watcher));
        let client = Client::new(faults.around(wire), SYSTEM);
        let mut task = Mortal(tokio::spawn(one_life(ground.clone(), client, life)));
        tokio::select! {
            biased;
            () = ground.struck.notified() => {
                task.0.abort();
                let _ = (&mut task.0).await;
            }
            ended = &mut task.0 => match ended {
                Ok(Ok(())) => {}
                Ok(Err(why)) => lock(&ground.story).died.push((Rule::Died, why)),
                Err(panic) => lock(&ground.story).died.push((Rule::Died, panic.to_string())),
            },
        }
        // As a kubelet would, after a while.
        sleep(RESTART).await;
    }
}

impl Ground {
    /// What happens to a request of this life.
    fn decide(&self, life: usize, seen: &Seen) -> Fault {
        let mut story = lock(&self.story);
        if story.lives != life {
            return Fault::LoseRequest;
        }
        // A lease is renewed whether or not there is anything to do.
        story.writes += u64::from(seen.write.is_some() && !seen.target.contains("/leases"));
        if seen.write.is_some() && story.is_storm() {
            let what = format!("{} writes without end, at last to {}", self.who.name(), seen.target);
            story.died.push((Rule::Restless, what));
            // Nothing of this life gets through any more, so that time can go on.
            story.lives += 1;
            self.struck.notify_one();
            return Fault::LoseRequest;
        }
        let fault = match story.strike.take_if(|_| seen.write.is_some()) {
            Some(after) => {
                // Nothing of this life gets through any more.
                story.lives += 1;
                story.crashes += 1;
                self.struck.notify_one();
                if after { Fault::LoseAnswer } else { Fault::LoseRequest }
            }
            None if story.is_calm => Fault::None,
            None => trouble::decide(seen, &mut story.dice),
        };
        drop(story);
        if seen.write.is_some() {
            self.journal.request(self.who.name(), life, seen, &fault);
        }
        fault
    }

    fn lease(&self, identity: &str) -> lease::Config {
        lease::Config {
            namespace: SYSTEM.to_owned(),
            name: self.who.name().to_owned(),
            identity: identity.to_owned(),
            duration: Duration::from_secs(18),
            renew_deadline: Duration::from_secs(12),
            retry_period: Duration::from_secs(4),
        }
    }
}

/// Starts and runs one. That it could not start, or no longer leads, is no fault: somebody starts it again.
async fn one_life(ground: Ground, client: Client, life: usize) -> Result<(), String> {
    let identity = format!("{}-{life}", ground.who.name());
    match ground.who {
        Who::Operator => {
            let reach = Reach::Service { namespace: SYSTEM.to_owned(), name: names::OPERATOR.to_owned(), port: 443 };
            let mut options = trellis_operator::Options::new(Settings::of(&ground.configuration));
            options.webhooks = Webhooks::On(reach, None);
            options.now = world::now(&ground.api);
            options.lease = Some(ground.lease(&identity));
            options.identity = identity;
            let Ok(operator) = Operator::start(client, options).await else { return Ok(()) };
            if let Some(handler) = operator.handler() {
                let answers = Arc::new(move |request| answer(handler.clone(), request).boxed());
                ground.api.services().register(SYSTEM, names::OPERATOR, answers);
            }
            match operator.run(std::future::pending()).await {
                Ok(()) | Err(trellis_operator::RunError::Deposed) => Ok(()),
                Err(error) => Err(error.to_string()),
            }
        }
        Who::Scheduler => {
            let served = [names::profile::TRELLIS.to_owned()];
            let mut settings = trellis_scheduler::Settings::of(Some(&ground.configuration), served);
            settings.nomination = Duration::from_secs(HOLD_SECONDS);
            let lease = Some(ground.lease(&identity));
            let mut options = trellis_scheduler::Options::new(settings, identity);
            options.now = world::now(&ground.api);
            options.lease = lease;
            options.max_age = Duration::from_secs(12);
            let Ok(scheduler) = Scheduler::start(client, options).await else { return Ok(()) };
            lock(&ground.story).metrics.push(scheduler.metrics());
            match scheduler.run(std::future::pending()).await {
                Ok(()) | Err(trellis_scheduler::RunError::Deposed) => Ok(()),
                Err(error) => Err(error.to_string()),
            }
        }
    }
}

async fn answer(handler: Handler, request: http::Request<Bytes>) -> http::Response<Bytes> {
    handler.answer(request.uri().path(), request.body()).await.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_storm_is_many_writes_within_a_second() {
        let mut story = Story {
            lives: 0,
            dice: Dice::aside(1, 1),
            is_calm: true,
            strike: None,
            faults: None,
            crashes: 0,
            died: Vec::new(),
            gust: (Instant::now(), 0),
            writes: 0,
            metrics: Vec::new(),
        };
        for _ in 0..3 {
            assert!((0..STORM).all(|_| !story.is_storm()));
            sleep(Duration::from_secs(1)).await;
        }
        assert!((0..STORM).all(|_| !story.is_storm()));
        assert!(story.is_storm());
    }
}
