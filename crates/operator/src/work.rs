//! The workers: take a key, decide, act, look again, until nothing is left to do.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;
use tracing::{debug, warn};
use trellis_api::settings::Settings;
use trellis_controller::events::{self, About, Events};
use trellis_lifecycle::{Action, Around, Confirm, Failure, Kind, Note, Plan, Target, Write, decide};

use crate::Now;
use crate::act::{Actor, Outcome};
use crate::index::Index;
use crate::metrics::Metrics;
use crate::queue::{Key, Queue};

/// How soon a key that failed is tried again; twice as long each further time.
const RETRY_FIRST: Duration = Duration::from_millis(100);
/// The longest such time.
const RETRY_LAST: Duration = Duration::from_secs(30);
/// How many passes in a row may find only that they were decided on an old view, before it is tried again later.
const STALE_MAX: u32 = 5;
/// After so many passes of a turn it is looked whether what they are for is still there.
const LOOK_EVERY: u32 = 16;
/// How many passes one turn of a key may take; a bound, should decisions and writes chase each other.
const PASSES_MAX: u32 = 10_000;

/// What all workers share.
pub struct Workers {
    pub actor: Actor,
    pub client: kube::Client,
    pub index: Arc<Index>,
    pub queue: Arc<Queue>,
    pub settings: Arc<Settings>,
    pub now: Now,
    /// Whether sets are judged here, because no webhook does.
    pub judges: bool,
    /// Whether keys are looked at again when a time comes.
    pub timers: bool,
    pub events: Events,
    pub metrics: Metrics,
    pub attempts: Attempts,
}

/// What could not be done for a key, and how often it has been tried.
#[derive(Debug, Default)]
pub struct Attempts(Mutex<HashMap<Key, (u32, Vec<Failure>)>>);

impl Attempts {
    pub fn failures(&self, key: &Key) -> Vec<Failure> {
        let attempts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        attempts.get(key).map(|(_, failures)| failures.clone()).unwrap_or_default()
    }

    fn succeeded(&self, key: &Key) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    /// Takes note of what failed; how long to wait before the next try.
    fn failed(&self, key: &Key, failures: Vec<Failure>) -> Duration {
        let mut attempts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = attempts.entry(key.clone()).or_default();
        entry.0 += 1;
        entry.1 = failures;
        RETRY_FIRST.saturating_mul(1 << entry.0.min(10)).min(RETRY_LAST)
    }
}

/// How a turn of a key ended.
pub enum Turn {
    /// Nothing is left to do until something happens, or until this time.
    Rests(Option<Timestamp>),
    /// Something could not be done.
    Failed(Vec<Failure>),
    /// We no longer lead.
    Deposed,
}

impl Workers {
    /// Takes keys for ever.
    pub async fn work(self: Arc<Self>) {
        loop {
            let key = self.queue.take().await;
            self.metrics.queue(self.queue.depth());
            let start = Instant::now();
            let (kind, turn) = match &key {
                Key::Set(namespace, name) => ("set", self.set(&key, namespace, name).await),
                Key::Deployment(namespace, name) => ("deployment", self.deployment(&key, namespace, name).await),
                Key::Topology(name) => ("topology", self.topology(name).await),
                Key::Pool(name) => ("pool", self.pool(name).await),
                Key::Workflow(namespace, name) => ("workflow", self.workflow(namespace, name).await),
            };
            self.metrics.observe_pass(kind, start.elapsed());
            match turn {
                Turn::Rests(wake_at) => {
                    self.attempts.succeeded(&key);
                    if let Some(time) = wake_at.filter(|_| self.timers) {
                        self.queue.add_at(key.clone(), self.instant(time));
                    }
                }
                Turn::Failed(failures) => {
                    for failure in &failures {
                        self.metrics.failed(&failure.code);
                        warn!(?key, code = failure.code, "{}", failure.description);
                    }
                    let wait = self.attempts.failed(&key, failures);
                    self.queue.add_at(key.clone(), Instant::now() + wait);
                }
                Turn::Deposed => debug!(?key, "no longer leading"),
            }
            self.queue.done(&key);
        }
    }

    fn instant(&self, time: Timestamp) -> Instant {
        let ahead = time.duration_since((self.now)());
        Instant::now() + Duration::try_from(ahead).unwrap_or_default()
    }

    async fn set(&self, key: &Key, namespace: &str, name: &str) -> Turn {
        let about = Target { kind: Kind::PodCliqueSet, namespace: namespace.to_owned(), name: name.to_owned() };
        self.turn(key, about, |failures| self.decide_set(namespace, name, failures)).await
    }

    /// One turn of a set, or of what becomes one: what is due is decided and done, until nothing is left.
    pub async fn turn(&self, key: &Key, about: Target, decide: impl Fn(&[Failure]) -> Plan) -> Turn {
        let mut stale = 0;
        for pass in 1..=PASSES_MAX {
            // Whose objects these are may have gone: then all that is made is collected at once, and made again, until that is heard.
            if pass.is_multiple_of(LOOK_EVERY) {
                self.actor.look_at(&about).await;
            }
            let failures = self.attempts.failures(key);
            let plan = decide(&failures);
            if plan.writes.is_empty() {
                // What failed before is done by now, so nothing of it is left to tell.
                let plan = if failures.is_empty() { plan } else { decide(&[]) };
                return self.finish(plan).await;
            }
            match self.carry_out(&plan).await {
                Carried::Out => {
                    stale = 0;
                    plan.notes.into_iter().for_each(|note| self.say(note));
                }
                Carried::Stale if stale < STALE_MAX => stale += 1,
                Carried::Stale => {
                    let description = "the objects keep changing under our hands".to_owned();
                    return Turn::Failed(vec![Failure { code: "ERR_STALE".to_owned(), description }]);
                }
                Carried::Failed(failures) => {
                    self.complain(about, &failures);
                    return match self.finish(decide(&failures)).await {
                        Turn::Deposed => Turn::Deposed,
                        _ => Turn::Failed(failures),
                    };
                }
                Carried::Deposed => return Turn::Deposed,
            }
        }
        let description = "decisions and writes chase each other".to_owned();
        Turn::Failed(vec![Failure { code: "ERR_ENDLESS".to_owned(), description }])
    }

    fn decide_set(&self, namespace: &str, name: &str, failures: &[Failure]) -> Plan {
        let observed = self.index.observe(namespace, name);
        let topologies = self.index.topologies();
        let around =
            Around { topologies: &topologies, settings: &self.settings, now: (self.now)(), judges: self.judges };
        decide(&observed, around, failures)
    }

    /// Says what is to be said once nothing is left to write.
    pub async fn finish(&self, plan: Plan) -> Turn {
        let outcomes = self.actor.all(plan.statuses).await;
        if outcomes.contains(&Outcome::Deposed) {
            return Turn::Deposed;
        }
        let failures = failures(&outcomes);
        if !failures.is_empty() {
            return Turn::Failed(failures);
        }
        if outcomes.contains(&Outcome::Stale) {
            self.metrics.stale();
            let description = "a status changed under our hands".to_owned();
            return Turn::Failed(vec![Failure { code: "ERR_STALE".to_owned(), description }]);
        }
        // Once what they tell of is written: whoever decides anew would say them again.
        plan.status_notes.into_iter().for_each(|note| self.say(note));
        Turn::Rests(plan.wake_at)
    }

    /// Tells people what could not be done.
    pub fn complain(&self, about: Target, failures: &[Failure]) {
        let Some(failure) = failures.first() else { return };
        let message = failure.description.clone();
        self.say(Note { about, warning: true, reason: "WriteFailed", message });
    }

    pub fn say(&self, note: Note) {
        let uid = self.index.uid(&note.about);
        let (_, _, kind, _) = note.about.kind.names();
        let about = About {
            api_version: note.about.kind.api_version(),
            kind: kind.to_owned(),
            namespace: note.about.namespace,
            name: note.about.name,
            uid,
        };
        let Note { warning, message, .. } = note;
        self.events.say(events::Note { about, warning, reason: note.reason.to_owned(), message });
    }

    /// Carries out the writes of a plan.
    pub async fn carry_out(&self, plan: &Plan) -> Carried {
        let costs_pods = plan.writes.iter().any(costs_pods);
        let confirm: Vec<Confirm> = plan.confirm.iter().filter(|_| costs_pods).chain(&plan.certain).cloned().collect();
        if !confirm.is_empty() {
            match self.actor.confirmed(&confirm).await {
                Ok(true) => {}
                Ok(false) => {
                    self.metrics.stale();
                    return Carried::Stale;
                }
                Err(failure) => return Carried::Failed(vec![failure]),
            }
        }
        let outcomes = self.actor.all(plan.writes.clone()).await;
        if outcomes.contains(&Outcome::Deposed) {
            return Carried::Deposed;
        }
        let failures = failures(&outcomes);
        if !failures.is_empty() {
            return Carried::Failed(failures);
        }
        if outcomes.contains(&Outcome::Done) {
            return Carried::Out;
        }
        self.metrics.stale();
        Carried::Stale
    }
}

/// Whether pods may go by a write: then what it rests on is looked at once more.
fn costs_pods(write: &Write) -> bool {
    match write.action {
        Action::Delete { .. } | Action::Scale(_) => true,
        Action::Patch(_) => write.target.kind == Kind::PodCliqueSet,
        Action::Create(_) | Action::PatchStatus(_) | Action::ApplyStatus(_) => false,
    }
}

/// How the writes of a plan ended.
pub enum Carried {
    /// All that were not stale took effect.
    Out,
    /// All of them were decided on an old view.
    Stale,
    /// Some could not be carried out.
    Failed(Vec<Failure>),
    /// We no longer lead.
    Deposed,
}

/// At most so many failures are told.
const TOLD: usize = 5;

fn failures(outcomes: &[Outcome]) -> Vec<Failure> {
    let failed = outcomes.iter().filter_map(|outcome| match outcome {
        Outcome::Failed(failure) => Some(failure.clone()),
        _ => None,
    });
    failed.take(TOLD).collect()
}
