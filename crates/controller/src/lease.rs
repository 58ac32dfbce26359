//! Who leads among several processes that do the same, by a Lease of coordination.k8s.io.
//!
//! A holder's time is judged by our own clock alone: it has run out when we have seen the same record for as long as the record says it
//! lasts. A holder stops leading earlier than that, counted from before it sent its last renewal that went through, so two never lead at
//! once, however wrong their clocks are. Every write names the version that it was decided on. What a leader wrote before it was stopped
//! may still arrive afterwards: its other writes have to be compare-and-swap as well.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::Client;
use kube::api::{Api, PostParams};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use tracing::{debug, info, warn};

use crate::Now;

/// Which lease, for whom, and how long things take.
#[derive(Clone, Debug)]
pub struct Config {
    /// Namespace of the lease.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Who we are; no two processes may say the same.
    pub identity: String,
    /// How long others wait for a holder that does not renew. Longer than `renew_deadline`.
    pub duration: Duration,
    /// How long a holder leads without having renewed. Longer than `retry_period`.
    pub renew_deadline: Duration,
    /// How long between tries.
    pub retry_period: Duration,
}

/// That this process leads. All clones are the same; once lost, it does not come back.
#[derive(Clone, Debug)]
pub struct Leadership {
    /// Nothing where there is nobody to compete with.
    held: Option<Arc<Held>>,
}

#[derive(Debug)]
struct Held {
    state: watch::Receiver<State>,
    /// Set when the lease is to be given back. Dropped with the last clone: then it is left to run out.
    stop: watch::Sender<bool>,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Led until then, should no renewal go through before.
    Until(Instant),
    Over,
}

impl Leadership {
    /// Leadership of one that has no competitors; it is never lost.
    pub fn always() -> Self {
        Self { held: None }
    }

    /// Whether this process leads right now. The clock goes on while a process is stopped, so one that wakes up after its time is told so
    /// before anything was renewed or lost.
    pub fn holds(&self) -> bool {
        let Some(held) = &self.held else { return true };
        let state = *held.state.borrow();
        !*held.stop.borrow() && matches!(state, State::Until(end) if Instant::now() < end)
    }

    /// Waits until it is lost, or given back.
    pub async fn lost(&self) {
        let Some(held) = &self.held else { return std::future::pending().await };
        // Should nobody renew any more, it is lost as well.
        let _ = held.state.clone().wait_for(|state| matches!(state, State::Over)).await;
    }

    /// Gives the lease back, so that another can take it at once. To be called when nothing is written any more.
    pub async fn release(&self) {
        if let Some(held) = &self.held {
            held.stop.send_replace(true);
            self.lost().await;
        }
    }
}

/// Waits until this process leads. From then on the lease is renewed by a task, until it is lost, released, or the last clone is gone.
pub async fn acquire(client: Client, config: Config, now: Now) -> Leadership {
    let retry_period = config.retry_period;
    let mut candidate = Candidate::new(client, config, now);
    loop {
        if let Some(end) = candidate.stand().await {
            let (state, states) = watch::channel(State::Until(end));
            let (stop, stopped) = watch::channel(false);
            tokio::spawn(keep(candidate, end, state, stopped));
            return Leadership { held: Some(Arc::new(Held { state: states, stop })) };
        }
        sleep(retry_period).await;
    }
}

/// Renews until that fails for too long, or nobody wants it any more.
async fn keep(
    mut candidate: Candidate,
    mut end: Instant,
    state: watch::Sender<State>,
    mut stop: watch::Receiver<bool>,
) {
    loop {
        let stopped = async { stop.wait_for(|stop| *stop).await.is_ok() };
        tokio::select! {
            biased;
            asked = stopped => {
                if asked {
                    candidate.give_back().await;
                }
                break;
            }
            renewed = candidate.renew(end) => match renewed {
                Some(later) => {
                    end = later;
                    state.send_replace(State::Until(end));
                }
                None => break,
            }
        }
    }
    state.send_replace(State::Over);
}

/// One who wants to lead.
struct Candidate {
    api: Api<Lease>,
    config: Config,
    now: Now,
    /// The lease that the next write rests on; nothing if it is not there, or has to be looked at first.
    current: Option<Lease>,
    /// What was seen last of who holds it, and since when.
    seen: Option<(LeaseSpec, Instant)>,
    /// What was said last, so that it is not said again every few seconds.
    said: String,
}

/// How an attempt ended that was not prevented.
enum Standing {
    /// The lease is ours; what counts is the time before it was written.
    Ours(Instant),
    /// Another holds it.
    Theirs(String),
}

/// Why an attempt came to nothing.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("another wrote it at the same time")]
    Conflict,
    #[error("{0}")]
    NotFound(String),
    #[error("{0}")]
    Other(String),
}

impl Candidate {
    fn new(client: Client, config: Config, now: Now) -> Self {
        let api = Api::namespaced(client, &config.namespace);
        Self { api, config, now, current: None, seen: None, said: String::new() }
    }

    /// Tries once to become the leader; until when, if it went well.
    async fn stand(&mut self) -> Option<Instant> {
        match self.attempt().await {
            Ok(Standing::Ours(begun)) => {
                // An answer that took too long is worth nothing.
                let end = Some(begun + self.config.renew_deadline).filter(|end| Instant::now() < *end)?;
                info!(lease = %self.title(), identity = %self.config.identity, "leading");
                self.said.clear();
                Some(end)
            }
            Ok(Standing::Theirs(holder)) => {
                if self.is_news(&holder) {
                    info!(lease = %self.title(), %holder, "waiting: another leads");
                }
                None
            }
            Err(error) => {
                if self.is_news(&error.to_string()) {
                    warn!(lease = %self.title(), %error, "cannot take the lease");
                }
                None
            }
        }
    }

    /// Renews a lease that is held until `end`; until when it is held then, or nothing if it is lost.
    async fn renew(&mut self, end: Instant) -> Option<Instant> {
        loop {
            tokio::select! {
                biased;
                () = sleep_until(end) => break,
                () = sleep(self.config.retry_period) => {}
            }
            // A process that was stopped finds both timers run out.
            if Instant::now() >= end {
                break;
            }
            match timeout_at(end, self.attempt()).await {
                Ok(Ok(Standing::Ours(begun))) if Instant::now() < end => {
                    self.said.clear();
                    return Some(begun + self.config.renew_deadline);
                }
                Ok(Ok(Standing::Ours(_))) | Err(_) => break,
                Ok(Ok(Standing::Theirs(holder))) => {
                    warn!(lease = %self.title(), %holder, "lost: another has taken the lease");
                    return None;
                }
                Ok(Err(error)) => {
                    if self.is_news(&error.to_string()) {
                        warn!(lease = %self.title(), %error, "cannot renew the lease");
                    }
                }
            }
        }
        warn!(lease = %self.title(), "lost: the lease could not be renewed in time");
        None
    }

    /// Takes or renews the lease unless another holds it.
    async fn attempt(&mut self) -> Result<Standing, Failure> {
        let known = self.current.as_ref().and_then(|lease| lease.spec.as_ref());
        if known.map(holder) == Some(self.config.identity.as_str()) {
            // A leader that knows the last version need not look, unless somebody touched the lease.
            match self.claim().await {
                Err(Failure::Conflict | Failure::NotFound(_)) => {}
                ended => return ended.map(Standing::Ours),
            }
        }
        self.look().await?;
        match self.other_holder() {
            Some(holder) => Ok(Standing::Theirs(holder)),
            None => self.claim().await.map(Standing::Ours),
        }
    }

    /// Reads the lease. That it changed is noted with the time after the answer, which is not before the time of the change.
    async fn look(&mut self) -> Result<(), Failure> {
        self.current = self.bounded(self.api.get_opt(&self.config.name)).await?;
        if let Some(lease) = &self.current {
            let spec = lease.spec.clone().unwrap_or_default();
            if self.seen.as_ref().is_none_or(|(seen, _)| *seen != spec) {
                self.seen = Some((spec, Instant::now()));
            }
        }
        Ok(())
    }

    /// The other who holds it and whose time has not run out. One whose lease somebody deleted may still think that it leads.
    fn other_holder(&self) -> Option<String> {
        let (spec, since) = self.seen.as_ref()?;
        let holder = holder(spec);
        if holder.is_empty() || holder == self.config.identity {
            return None;
        }
        let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
        let lasts = seconds.map_or(self.config.duration, Duration::from_secs);
        (since.elapsed() < lasts).then(|| holder.to_owned())
    }

    /// Writes us down as the holder; returns the time before.
    async fn claim(&mut self) -> Result<Instant, Failure> {
        let begun = Instant::now();
        let old = self.current.as_ref().and_then(|lease| lease.spec.clone()).unwrap_or_default();
        let now = Some(MicroTime((self.now)()));
        let is_renewal = holder(&old) == self.config.identity;
        let is_change = !is_renewal && self.current.is_some();
        let spec = LeaseSpec {
            holder_identity: Some(self.config.identity.clone()),
            lease_duration_seconds: Some(whole_seconds(self.config.duration)),
            renew_time: now.clone(),
            acquire_time: old.acquire_time.clone().filter(|_| is_renewal).or(now),
            lease_transitions: Some(old.lease_transitions.unwrap_or_default().saturating_add(i32::from(is_change))),
            ..old
        };
        self.write(spec).await.map(|()| begun)
    }

    /// Writes the record, if the lease is still as we know it.
    async fn write(&mut self, spec: LeaseSpec) -> Result<(), Failure> {
        let params = PostParams::default();
        // Whatever comes of it, what we know is old from now on.
        let written = match self.current.take() {
            Some(lease) => {
                let lease = Lease { spec: Some(spec), ..lease };
                self.bounded(self.api.replace(&self.config.name, &params, &lease)).await?
            }
            None => {
                let metadata = ObjectMeta { name: Some(self.config.name.clone()), ..ObjectMeta::default() };
                let lease = Lease { metadata, spec: Some(spec) };
                self.bounded(self.api.create(&params, &lease)).await?
            }
        };
        self.seen = written.spec.clone().map(|spec| (spec, Instant::now()));
        self.current = Some(written);
        Ok(())
    }

    /// Takes our name off the lease, if it is there.
    async fn give_back(&mut self) {
        let patience = self.config.renew_deadline;
        let cleared = async {
            // A renewal that was under way may come in between, and an answer get lost.
            for _ in 0..3 {
                match self.clear().await {
                    Ok(()) => return true,
                    Err(error) => debug!(lease = %self.title(), %error, "cannot give the lease back"),
                }
            }
            false
        };
        match timeout(patience, cleared).await {
            Ok(true) => info!(lease = %self.title(), "the lease is given back"),
            Ok(false) | Err(_) => info!(lease = %self.title(), "the lease could not be given back and runs out"),
        }
    }

    async fn clear(&mut self) -> Result<(), Failure> {
        if self.current.is_none() {
            self.look().await?;
        }
        let held = self.current.as_ref().and_then(|lease| lease.spec.clone());
        let Some(held) = held.filter(|spec| holder(spec) == self.config.identity) else { return Ok(()) };
        let now = Some(MicroTime((self.now)()));
        let spec = LeaseSpec {
            holder_identity: None,
            lease_duration_seconds: Some(1),
            renew_time: now.clone(),
            acquire_time: now,
            ..held
        };
        self.write(spec).await
    }

    /// A request that does not take for ever: two of them fit into the time that a leader has.
    async fn bounded<T>(&self, request: impl Future<Output = kube::Result<T>>) -> Result<T, Failure> {
        match timeout(self.config.renew_deadline / 2, request).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(kube::Error::Api(status))) if status.code == 409 => Err(Failure::Conflict),
            Ok(Err(kube::Error::Api(status))) if status.code == 404 => Err(Failure::NotFound(status.message)),
            Ok(Err(error)) => Err(Failure::Other(error.to_string())),
            Err(_) => Err(Failure::Other("the API does not answer".to_owned())),
        }
    }

    fn is_news(&mut self, text: &str) -> bool {
        let is_news = self.said != text;
        text.clone_into(&mut self.said);
        is_news
    }

    fn title(&self) -> String {
        format!("{}/{}", self.config.namespace, self.config.name)
    }
}

fn holder(spec: &LeaseSpec) -> &str {
    spec.holder_identity.as_deref().unwrap_or_default()
}

/// Rounded up: others must not think that a lease is shorter than it is.
fn whole_seconds(duration: Duration) -> i32 {
    let up = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
    i32::try_from(up.max(1)).unwrap_or(i32::MAX)
}
