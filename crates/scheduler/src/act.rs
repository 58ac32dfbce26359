//! Carries out plans. Nothing is chosen here: a step takes effect as it was decided, or not at all, and what does not is left to the next
//! decision.
//!
//! Gangs are begun in the order of the plan, and only so many at once that those which are begun keep all requests busy: so the first is
//! whole before the last is touched. What is only said waits for a while until all gangs are begun, and then gets a small part of the
//! requests, so that it does not hold up what is done.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tracing::{debug, warn};

use crate::ask::{Answer, Asker, Certainty};
use crate::index::Index;
use crate::metrics::Metrics;
use crate::plan::{Bind, Delete, GangPlan, Kind, Plan, Target, Version};
use crate::request::{Message, pod};
use crate::seen::Seen;
use crate::view::View;

/// How soon something that failed is decided on again; twice as long each further time.
const RETRY_FIRST: Duration = Duration::from_millis(100);
/// The longest such time.
const RETRY_LAST: Duration = Duration::from_secs(30);
/// So many times as many pods are in gangs that are begun as requests can be under way: while the plan of one is written, and while the
/// last of another's pods is waited for, others are bound.
const AT_ONCE: u32 = 5;
/// The part of all requests that may be under way to say something: one in so many.
const SAYING: u32 = 8;
/// How long what is only said waits for gangs that are not begun yet.
const SAID_WITHIN: Duration = Duration::from_secs(3);
/// How long gangs that are begun have to become whole when everything is to end.
const GRACE: Duration = Duration::from_secs(10);

/// What became of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It took effect; the version that the object has then, where the answer tells.
    Done(Version),
    /// It was decided on what is no longer so. What is so now is in the index.
    Stale,
    /// What it was decided on is too old by now, so it was not tried.
    Late,
    /// It could not be carried out.
    Failed(String),
    /// We no longer lead, so it was not tried.
    Deposed,
}

impl Outcome {
    fn word(&self) -> &'static str {
        match self {
            Self::Done(_) => "done",
            Self::Stale => "stale",
            Self::Late => "late",
            Self::Failed(_) => "failed",
            Self::Deposed => "deposed",
        }
    }
}

/// What a plan was decided on, and when.
#[derive(Clone)]
pub struct Ground {
    /// What was seen.
    pub seen: Arc<Seen>,
    /// When.
    pub at: Instant,
}

/// A step that stands beside gangs: at most one of a kind for an object is under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Side {
    Delete(Target),
    Status(Target),
    Condition(Target),
}

/// Who carries out plans.
pub struct Actor {
    asker: Asker,
    index: Arc<Index>,
    view: Arc<View>,
    metrics: Metrics,
    /// Pods of gangs that are begun.
    room: Arc<Semaphore>,
    room_size: u32,
    gangs: mpsc::UnboundedSender<(GangPlan, Ground)>,
    /// Gangs that are not begun yet.
    queued: watch::Sender<usize>,
    /// Requests that may be under way to say something.
    saying: Semaphore,
    beside: Mutex<HashSet<Side>>,
    failures: Mutex<HashMap<Target, u32>>,
    stopping: watch::Sender<bool>,
}

/// Carries out what [`Actor::carry_out`] is given.
pub struct Work {
    actor: Arc<Actor>,
    gangs: mpsc::UnboundedReceiver<(GangPlan, Ground)>,
    /// The gang that waits for room.
    first: Option<(GangPlan, Ground)>,
}

impl Actor {
    /// One who acts through `asker`, and feeds the answers into the index.
    pub fn new(
        asker: Asker,
        in_flight: u32,
        index: Arc<Index>,
        view: Arc<View>,
        metrics: Metrics,
    ) -> (Arc<Self>, Work) {
        let (sender, gangs) = mpsc::unbounded_channel();
        let room_size = in_flight.saturating_mul(AT_ONCE).max(2);
        let actor = Arc::new(Self {
            asker,
            index,
            view,
            metrics,
            room: Arc::new(Semaphore::new(usize::try_from(room_size).unwrap_or(2))),
            room_size,
            gangs: sender,
            queued: watch::Sender::new(0),
            saying: Semaphore::new(usize::try_from(in_flight / SAYING).unwrap_or(1).max(1)),
            beside: Mutex::default(),
            failures: Mutex::default(),
            stopping: watch::Sender::new(false),
        });
        (Arc::clone(&actor), Work { actor, gangs, first: None })
    }

    /// Begins a plan; its gangs are under way from now on. Everything else of it goes at once.
    pub fn carry_out(self: &Arc<Self>, plan: Plan, ground: &Ground) {
        for gang in plan.gangs {
            if self.index.begin(&gang.target, &gang.assumed) {
                self.queued.send_modify(|queued| *queued += 1);
                if self.gangs.send((gang, ground.clone())).is_err() {
                    debug!("nobody acts any more");
                }
            }
        }
        for delete in plan.deletes {
            let actor = Arc::clone(self);
            let target = pod(&delete.namespace, &delete.pod);
            self.index.deletes(&delete.version.uid);
            self.aside(Side::Delete(target), async move { (delete.site, actor.delete(&delete).await) });
        }
        for status in plan.statuses {
            let actor = Arc::clone(self);
            let uid = status.object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
            self.aside(Side::Status(status.target.clone()), async move {
                let turn = if status.is_urgent() { None } else { actor.turn_to_say().await };
                let outcome = actor.say(&status.target, &uid, Message::status(&status)).await;
                drop(turn);
                ("say status of gang", outcome)
            });
        }
        for condition in plan.pod_conditions {
            let actor = Arc::clone(self);
            let target = pod(&condition.namespace, &condition.pod);
            self.aside(Side::Condition(target.clone()), async move {
                let _turn = actor.turn_to_say().await;
                let outcome = match actor.index.is_waiting(&target, &condition.uid, &condition.gang) {
                    true => actor.say(&target, &condition.uid, Message::pod_condition(&condition)).await,
                    // It is about to get its place, or has it.
                    false => Outcome::Stale,
                };
                ("say condition of pod", outcome)
            });
        }
    }

    /// Resolves once all gangs are begun: until then another decision would only be queued up.
    pub async fn all_begun(&self) {
        // Whoever could say it is there as long as we are.
        let _ = self.queued.subscribe().wait_for(|queued| *queued == 0).await;
    }

    /// Waits until it is time to say something: what is done goes first, within bounds.
    pub async fn time_to_say(&self) {
        let _ = timeout(SAID_WITHIN, self.all_begun()).await;
    }

    async fn turn_to_say(&self) -> Option<SemaphorePermit<'_>> {
        self.time_to_say().await;
        self.saying.acquire().await.ok()
    }

    /// Whether nothing is under way beside gangs.
    pub fn is_idle(&self) -> bool {
        self.beside.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Begins nothing any more: [`Work::run`] ends once what is begun is whole.
    pub fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// Waits until the requests that are under way have ended, for a while, and sends none any more.
    pub async fn close(&self) {
        self.asker.close().await;
    }

    async fn stopped(&self) {
        // Whoever could say it is there as long as we are.
        let _ = self.stopping.subscribe().wait_for(|stopping| *stopping).await;
    }

    /// Leaves something alone for a while, unless everything ends.
    async fn rest(&self, wait: Option<Duration>) {
        if let Some(wait) = wait {
            tokio::select! {
                biased;
                () = sleep(wait) => {}
                () = self.stopped() => {}
            }
        }
    }

    /// Does something beside gangs, unless the same is under way.
    fn aside(self: &Arc<Self>, side: Side, step: impl Future<Output = (&'static str, Outcome)> + Send + 'static) {
        if !self.beside.lock().unwrap_or_else(PoisonError::into_inner).insert(side.clone()) {
            return;
        }
        let actor = Arc::clone(self);
        tokio::spawn(async move {
            let (site, outcome) = step.await;
            actor.metrics.write(site, outcome.word());
            let (Side::Delete(target) | Side::Status(target) | Side::Condition(target)) = &side;
            actor.rest(actor.pause(site, target, &outcome)).await;
            let is_last = {
                let mut beside = actor.beside.lock().unwrap_or_else(PoisonError::into_inner);
                beside.remove(&side);
                beside.is_empty()
            };
            // What was said is known by now, and changes nothing; what could not be has to be decided again.
            let is_said = matches!((&side, &outcome), (Side::Status(_) | Side::Condition(_), Outcome::Done(_)));
            if is_last || !is_said {
                actor.index.wake();
            }
        });
    }

    /// How long to leave an object alone after this outcome.
    fn pause(&self, site: &'static str, target: &Target, outcome: &Outcome) -> Option<Duration> {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        match outcome {
            Outcome::Failed(error) => {
                self.metrics.failed(site);
                let times = failures.entry(target.clone()).or_default();
                if *times == 0 {
                    warn!(site, namespace = target.namespace, name = target.name, error, "failed; trying again");
                }
                *times += 1;
                Some(RETRY_FIRST.saturating_mul(1 << (*times).min(10)).min(RETRY_LAST))
            }
            Outcome::Done(_) => {
                failures.remove(target);
                None
            }
            Outcome::Stale | Outcome::Late => Some(RETRY_FIRST).filter(|_| *outcome == Outcome::Late),
            Outcome::Deposed => None,
        }
    }

    /// One gang: its annotations, and when these stand, all its binds at once.
    async fn gang(&self, plan: &GangPlan, ground: &Ground) -> Outcome {
        if !self.asker.leads() {
            return Outcome::Deposed;
        }
        let stands = |bind: &Bind| self.index.stands(&ground.seen, &bind.node);
        if self.is_late(ground) || !plan.binds.iter().all(stands) {
            return Outcome::Late;
        }
        let mut version = plan.version.clone();
        if !plan.annotations.is_empty() {
            let outcome = self.annotate(plan).await;
            self.metrics.write(plan.site, outcome.word());
            match outcome {
                Outcome::Done(written) => version = written,
                other => return other,
            }
        }
        let binds = plan.binds.iter().map(|bind| {
            // Of a gang of one, the object that was written to is the pod itself.
            let is_itself = plan.target == pod(&bind.namespace, &bind.pod);
            let version = if is_itself { version.clone() } else { bind.version.clone() };
            async move {
                let outcome = self.bind(bind, &version, ground).await;
                self.metrics.bind(outcome.word());
                outcome
            }
        });
        let outcomes = join_all(binds).await;
        let failed = |outcome: &Outcome| matches!(outcome, Outcome::Failed(_));
        let worst = outcomes.iter().position(failed).or_else(|| outcomes.iter().position(|it| it.word() != "done"));
        worst.map_or(Outcome::Done(version), |worst| outcomes[worst].clone())
    }

    /// Whether what was seen is too old to act on.
    fn is_late(&self, ground: &Ground) -> bool {
        ground.at.elapsed() >= self.view.max_age() || self.view.is_fresh().is_err()
    }

    async fn annotate(&self, plan: &GangPlan) -> Outcome {
        let (target, uid) = (&plan.target, plan.version.uid.as_str());
        match self.asker.ask(&Message::annotate(target, &plan.version, &plan.annotations)).await {
            Answer::Done(text) => self.took(target.kind, &text),
            Answer::Refused(status, certainty) if status.code == 409 => {
                let found = match self.look(target, uid).await {
                    Ok(found) => found,
                    Err(outcome) => return outcome,
                };
                // The first sending took effect, and the second met its result.
                let is_ours = certainty == Certainty::Uncertain && carries(&found, plan);
                if is_ours { Outcome::Done(version_of(&found)) } else { Outcome::Stale }
            }
            Answer::Refused(status, _) if status.code == 404 => self.missing(target, uid),
            Answer::Refused(status, Certainty::Certain) => Outcome::Failed(status.message),
            Answer::Refused(status, Certainty::Uncertain) => self.voided(target, &plan.version, status.message).await,
            Answer::Lost(error) => self.voided(target, &plan.version, error).await,
            Answer::Busy => Outcome::Failed("the API server is too busy".to_owned()),
            Answer::Deposed => Outcome::Deposed,
        }
    }

    async fn bind(&self, bind: &Bind, version: &Version, ground: &Ground) -> Outcome {
        // The labels and taints of this moment count, not those of the decision.
        if self.is_late(ground) || !self.index.stands(&ground.seen, &bind.node) {
            return Outcome::Late;
        }
        let target = pod(&bind.namespace, &bind.pod);
        match self.asker.ask(&Message::bind(bind, version)).await {
            Answer::Done(_) => {
                self.index.bound(bind);
                Outcome::Done(Version::default())
            }
            Answer::Refused(status, _) if status.code == 409 => match self.look(&target, &version.uid).await {
                Ok(found) if found["spec"]["nodeName"] == bind.node.as_str() => Outcome::Done(version_of(&found)),
                Ok(_) => Outcome::Stale,
                Err(outcome) => outcome,
            },
            Answer::Refused(status, _) if status.code == 404 => self.missing(&target, &version.uid),
            Answer::Refused(status, certainty) => {
                self.index.refused(bind);
                match certainty {
                    Certainty::Certain => Outcome::Failed(status.message),
                    Certainty::Uncertain => self.voided(&target, version, status.message).await,
                }
            }
            Answer::Lost(error) => self.voided(&target, version, error).await,
            Answer::Busy => Outcome::Failed("the API server is too busy".to_owned()),
            Answer::Deposed => Outcome::Deposed,
        }
    }

    async fn delete(&self, delete: &Delete) -> Outcome {
        let (target, uid) = (pod(&delete.namespace, &delete.pod), &delete.version.uid);
        match self.asker.ask(&Message::delete(delete)).await {
            Answer::Done(text) if stays(&text, uid) => self.took(Kind::Pod, &text),
            Answer::Done(_) => {
                self.index.absent(&target, uid);
                Outcome::Done(Version::default())
            }
            other => self.otherwise(&target, uid, other).await,
        }
    }

    /// Says something in a status.
    async fn say(&self, target: &Target, uid: &str, message: Message) -> Outcome {
        match self.asker.ask(&message).await {
            Answer::Done(text) => {
                let _ = self.index.heard(target.kind, &text);
                Outcome::Done(Version::default())
            }
            other => self.otherwise(target, uid, other).await,
        }
    }

    /// What is made of a step that did not go as it should, and that does no harm should it take effect late.
    async fn otherwise(&self, target: &Target, uid: &str, answer: Answer) -> Outcome {
        match answer {
            Answer::Refused(status, _) if status.code == 409 => match self.look(target, uid).await {
                Ok(_) => Outcome::Stale,
                Err(outcome) => outcome,
            },
            Answer::Refused(status, _) if status.code == 404 => self.missing(target, uid),
            Answer::Refused(status, _) => Outcome::Failed(status.message),
            Answer::Lost(error) => Outcome::Failed(error),
            Answer::Busy => Outcome::Failed("the API server is too busy".to_owned()),
            Answer::Done(_) => Outcome::Done(Version::default()),
            Answer::Deposed => Outcome::Deposed,
        }
    }

    /// The answer to a write is the object as it is now.
    fn took(&self, kind: Kind, text: &str) -> Outcome {
        // An answer that cannot be read is no reason to doubt that the write took effect; the watch will show it.
        let _ = self.index.answered(kind, text);
        Outcome::Done(serde_json::from_str(text).map(|found: Value| version_of(&found)).unwrap_or_default())
    }

    fn missing(&self, target: &Target, uid: &str) -> Outcome {
        self.index.absent(target, uid);
        Outcome::Stale
    }

    /// Reads what stands in the way, so that the next decision knows it.
    async fn look(&self, target: &Target, uid: &str) -> Result<Value, Outcome> {
        match self.asker.read(target).await {
            Ok(Some(text)) => {
                let found: Value = serde_json::from_str(&text).map_err(|_| Outcome::Stale)?;
                if found["metadata"]["uid"] != uid {
                    self.index.absent(target, uid);
                }
                let _ = self.index.answered(target.kind, &text);
                if found["metadata"]["uid"] == uid { Ok(found) } else { Err(Outcome::Stale) }
            }
            Ok(None) => Err(self.missing(target, uid)),
            Err(error) => Err(Outcome::Failed(error)),
        }
    }

    /// A write that was not answered cannot take effect any more once this returns.
    async fn voided(&self, target: &Target, version: &Version, error: String) -> Outcome {
        self.metrics.failed("made void");
        if let Some(text) = self.asker.void(target, version).await {
            let _ = self.index.answered(target.kind, &text);
        }
        if self.asker.leads() { Outcome::Failed(error) } else { Outcome::Deposed }
    }
}

impl Work {
    /// Takes gangs in the order of the plans, until it is told to stop; then those that are begun have a while to become whole.
    pub async fn run(mut self) {
        let mut begun = JoinSet::new();
        let actor = Arc::clone(&self.actor);
        let stopped = actor.stopped();
        tokio::pin!(stopped);
        loop {
            tokio::select! {
                biased;
                () = &mut stopped => break,
                Some(_) = begun.join_next() => {}
                next = self.next() => match next {
                    Some(task) => drop(begun.spawn(task)),
                    None => break,
                },
            }
        }
        let _ = timeout(GRACE, begun.join_all()).await;
    }

    /// The next gang, once there is room for it.
    async fn next(&mut self) -> Option<impl Future<Output = ()> + Send + 'static> {
        let pods = loop {
            // Looked at first and taken last, so that nothing is lost if this is dropped while it waits.
            if let Some((plan, _)) = &self.first {
                break u32::try_from(plan.binds.len()).unwrap_or(u32::MAX).saturating_add(1);
            }
            self.first = Some(self.gangs.recv().await?);
        };
        let pods = pods.min(self.actor.room_size);
        let room = Arc::clone(&self.actor.room).acquire_many_owned(pods).await.ok()?;
        let (plan, ground) = self.first.take()?;
        self.actor.queued.send_modify(|queued| *queued -= 1);
        let actor = Arc::clone(&self.actor);
        Some(async move {
            let outcome = actor.gang(&plan, &ground).await;
            drop(room);
            let Target { namespace, name, .. } = &plan.target;
            debug!(site = plan.site, namespace, name, ?outcome, "gang");
            // It stays charged meanwhile, and is left alone.
            actor.rest(actor.pause(plan.site, &plan.target, &outcome)).await;
            actor.index.end(&plan.target);
        })
    }
}

fn version_of(object: &Value) -> Version {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    Version { uid: text("uid"), resource_version: text("resourceVersion") }
}

/// Whether an object carries what a plan wanted to write on it.
fn carries(found: &Value, plan: &GangPlan) -> bool {
    let annotations = &found["metadata"]["annotations"];
    plan.annotations.iter().all(|(key, wanted)| match wanted {
        Some(wanted) => annotations[*key] == wanted.as_str(),
        None => annotations[*key].is_null(),
    })
}

/// Whether the answer to a deletion shows a pod that stays for a while. A server answers with the pod as it last was when it is gone at
/// once, and then without a finalizer or a grace period to wait for.
fn stays(text: &str, uid: &str) -> bool {
    let Ok(answer) = serde_json::from_str::<Value>(text) else { return false };
    let metadata = &answer["metadata"];
    let is_held = metadata["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty());
    let grace = metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
    let is_it = answer["kind"] != "Status" && metadata["uid"] == uid;
    is_it && metadata["deletionTimestamp"].is_string() && (is_held || grace > 0)
}

#[cfg(test)]
mod tests;
