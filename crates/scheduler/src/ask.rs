//! Sends one request until it is answered, within bounds.
//!
//! A request that was not answered may have taken effect, or may yet. It is sent again as it is: it names the version that it is good for,
//! so twice is the same as once. If no answer comes at all, the object is written to ([`Asker::void`]), so that it has another version and
//! what is still on its way is refused.

use std::collections::BTreeMap;
use std::time::Duration;

use kube::Client;
use kube::core::Status;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tracing::debug;
use trellis_api::names::annotation;
use trellis_controller::Now;
use trellis_controller::lease::Leadership;

use crate::metrics::Metrics;
use crate::plan::{Target, Version};
use crate::request::Message;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often a request is sent.
const TRIES: u32 = 5;
/// How long until it is sent again; twice as long each further time.
const RETRY_FIRST: Duration = Duration::from_millis(100);
/// The longest such time.
const RETRY_LAST: Duration = Duration::from_secs(5);
/// The longest time that a busy server is waited for because it says so.
const BUSY_LAST: Duration = Duration::from_secs(10);

/// What came of a request.
#[derive(Debug)]
pub enum Answer {
    /// It took effect; the answer's text.
    Done(String),
    /// It was refused. If an earlier sending was not answered, that one may have taken effect, or may yet.
    Refused(Box<Status>, Certainty),
    /// The server was too busy each time, so nothing happened.
    Busy,
    /// No answer came.
    Lost(String),
    /// We no longer lead, so it was not sent. Earlier sendings may not have been answered.
    Deposed,
}

/// Whether all sendings of a request were answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// All were.
    Certain,
    /// One was not.
    Uncertain,
}

/// Sends requests, so many at once.
pub struct Asker {
    client: Client,
    leadership: Leadership,
    slots: Semaphore,
    in_flight: u32,
    now: Now,
    metrics: Metrics,
}

/// What one sending came to.
enum Sent {
    Done(String),
    Refused(Box<Status>),
    Busy(Duration),
    Lost(String),
}

impl Asker {
    /// Asks through this client as long as we lead.
    pub fn new(client: Client, leadership: Leadership, in_flight: u32, now: Now, metrics: Metrics) -> Self {
        let slots = Semaphore::new(usize::try_from(in_flight).unwrap_or(1));
        Self { client, leadership, slots, in_flight, now, metrics }
    }

    /// Whether we lead.
    pub fn leads(&self) -> bool {
        self.leadership.holds()
    }

    /// Waits until what is under way has ended, for a while, and sends nothing any more.
    pub async fn close(&self) {
        let _ = timeout(PATIENCE, self.slots.acquire_many(self.in_flight)).await;
        self.slots.close();
    }

    /// Sends a request until it is answered, or too often.
    pub async fn ask(&self, message: &Message) -> Answer {
        let mut certainty = Certainty::Certain;
        let mut backoff = RETRY_FIRST;
        let mut last = Sent::Busy(Duration::ZERO);
        for _ in 0..TRIES {
            let Some(sent) = self.send(message).await else { return Answer::Deposed };
            let wait = match &sent {
                Sent::Done(_) | Sent::Refused(_) => {
                    last = sent;
                    break;
                }
                Sent::Busy(wait) => {
                    self.metrics.failed("busy");
                    (*wait).clamp(backoff, BUSY_LAST)
                }
                Sent::Lost(error) => {
                    debug!(error, "no answer");
                    self.metrics.failed("no answer");
                    certainty = Certainty::Uncertain;
                    backoff
                }
            };
            last = sent;
            sleep(wait).await;
            backoff = (backoff * 2).min(RETRY_LAST);
        }
        match (last, certainty) {
            (Sent::Done(text), _) => Answer::Done(text),
            (Sent::Refused(status), certainty) => Answer::Refused(status, certainty),
            (Sent::Busy(_), Certainty::Certain) => Answer::Busy,
            (Sent::Busy(_), Certainty::Uncertain) => Answer::Lost("the API server is too busy".to_owned()),
            (Sent::Lost(error), _) => Answer::Lost(error),
        }
    }

    /// Sends a request once; none if we no longer lead.
    async fn send(&self, message: &Message) -> Option<Sent> {
        let _slot = self.slots.acquire().await.ok()?;
        // The last look before anything leaves: a process that slept through its lease must not go on as if nothing had been.
        if !self.leads() {
            return None;
        }
        let request = match message.request() {
            Ok(request) => request,
            Err(error) => {
                let status = Status::failure(&error.to_string(), "BadRequest").with_code(400);
                return Some(Sent::Refused(Box::new(status)));
            }
        };
        Some(match timeout(PATIENCE, self.client.request_text(request)).await {
            Ok(Ok(text)) => Sent::Done(text),
            Ok(Err(kube::Error::Api(status))) => match status.code {
                429 => {
                    let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
                    Sent::Busy(Duration::from_secs(u64::from(seconds)))
                }
                // Behind these, a write may have gone through.
                500.. => Sent::Lost(status.message.clone()),
                _ => Sent::Refused(status),
            },
            Ok(Err(error)) => Sent::Lost(error.to_string()),
            Err(_) => Sent::Lost(format!("no answer within {} s", PATIENCE.as_secs())),
        })
    }

    /// An object as it is now; none if it is not there.
    pub async fn read(&self, target: &Target) -> Result<Option<String>, String> {
        match self.ask(&Message::read(target)).await {
            Answer::Done(text) => Ok(Some(text)),
            Answer::Refused(status, _) if status.code == 404 => Ok(None),
            Answer::Refused(status, _) => Err(status.message),
            Answer::Busy => Err("the API server is too busy".to_owned()),
            Answer::Lost(error) => Err(error),
            Answer::Deposed => Err("no longer leading".to_owned()),
        }
    }

    /// Sees to it that no request which is good for this version can take effect any more; the object then, if it is known. Goes on until
    /// that is certain, or until we no longer lead: then it is our successor who writes to what we began.
    pub async fn void(&self, target: &Target, version: &Version) -> Option<String> {
        loop {
            let stamp = BTreeMap::from([(annotation::VOIDED_AT, Some((self.now)().to_string()))]);
            match self.ask(&Message::annotate(target, version, &stamp)).await {
                Answer::Done(text) => return Some(text),
                // It has another version already, or is gone.
                Answer::Refused(status, _) if matches!(status.code, 404 | 409) => match self.read(target).await {
                    Ok(found) => return found,
                    // What became of it has to be known before anything else is decided.
                    Err(_) if self.leads() => sleep(RETRY_LAST).await,
                    Err(_) => return None,
                },
                Answer::Deposed => return None,
                Answer::Refused(..) | Answer::Busy | Answer::Lost(_) => sleep(RETRY_LAST).await,
            }
        }
    }
}
