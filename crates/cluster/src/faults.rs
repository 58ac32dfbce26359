//! Faults on the way between a client and the API: requests and answers that get lost, lists that are old, watches that break.
//!
//! A layer around any service, outside the store: what the store does stays true, only the client's view of it suffers. What goes wrong
//! is decided by a function of the requests seen so far, so a seed or a list decides a whole run.

mod stream;

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::BodyExt;
use tokio::sync::Notify;

use crate::http::answer;
use crate::http::body::{self, Body};
use crate::http::query::Query;
use crate::status::Status;

/// How many old answers of a list are kept.
const OLD_LISTS: usize = 8;

/// What goes wrong with a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// Nothing.
    None,
    /// The API refuses, and nothing happens.
    Refuse(Status),
    /// The request does not arrive.
    LoseRequest,
    /// The request takes effect, and the answer does not arrive.
    LoseAnswer,
    /// The request takes effect, and the client is told that time ran out.
    TimeOut,
    /// It takes this long until the request arrives.
    Delay(Duration),
    /// A list is answered as it was this many answers ago; other requests suffer nothing.
    StaleList(usize),
    /// A watch breaks off after this many events.
    BreakWatch(usize),
    /// Every event of a watch comes this much later.
    DelayWatch(Duration),
    /// A watch says at once that the version is too old.
    ExpireWatch,
    /// A watch sends every event twice.
    RepeatWatch,
}

/// A request as the decider sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// How many requests came before this one.
    pub number: u64,
    /// For a write: how many writes came before it.
    pub write: Option<u64>,
    /// Whether it is a watch.
    pub watch: bool,
    /// Whether it is a list.
    pub list: bool,
    /// The verb.
    pub method: Method,
    /// Path and parameters.
    pub target: String,
}

/// The connection is gone.
#[derive(Debug, thiserror::Error)]
#[error("the connection was lost")]
pub struct Lost;

type Decide = Box<dyn FnMut(&Seen) -> Fault + Send>;

/// Decides what goes wrong; shared by all clients that are to suffer together.
#[derive(Clone)]
pub struct Faults {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    way: Arc<Way>,
}

/// The way to the API. Those who wait for it to change are told in the order in which they began to: `tokio::sync::watch` would choose an
/// order by chance.
#[derive(Debug, Default)]
struct Way {
    line: Mutex<Line>,
    changed: Notify,
}

impl Way {
    fn line(&self) -> Line {
        *self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Line)) {
        change(&mut self.line.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_waiters();
    }

    /// Waits until watches are cut once more.
    async fn cut(&self, cuts: u64) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.line().cuts != cuts {
                return;
            }
            changed.await;
        }
    }
}

/// What the way to the API is like.
#[derive(Debug, Clone, Copy, Default)]
struct Line {
    /// How often all watches were cut, with or without the rest.
    cuts: u64,
    /// How often everything was cut.
    losses: u64,
    /// Whether nothing gets through now.
    off: bool,
}

struct State {
    requests: u64,
    writes: u64,
    decide: Decide,
    lists: HashMap<String, Vec<Bytes>>,
}

impl std::fmt::Debug for Faults {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Faults").finish_non_exhaustive()
    }
}

impl Faults {
    /// Faults that this function decides.
    pub fn decided(decide: impl FnMut(&Seen) -> Fault + Send + 'static) -> Self {
        let state = State { requests: 0, writes: 0, decide: Box::new(decide), lists: HashMap::new() };
        Self { shared: Arc::new(Shared { state: Mutex::new(state), way: Arc::default() }) }
    }

    /// No faults, until someone cuts the connection.
    pub fn none() -> Self {
        Self::decided(|_| Fault::None)
    }

    /// Puts a service behind these faults.
    pub fn around<S>(&self, inner: S) -> Faulty<S> {
        Faulty { inner, faults: self.clone() }
    }

    /// Breaks all watches that are open now.
    pub fn cut_watches(&self) {
        self.shared.way.change(|line| line.cuts += 1);
    }

    /// Cuts the clients off altogether: watches break, and no request gets through until [`Faults::reconnect`].
    pub fn disconnect(&self) {
        self.shared.way.change(|line| *line = Line { cuts: line.cuts + 1, losses: line.losses + 1, off: true });
    }

    /// Lets requests through again.
    pub fn reconnect(&self) {
        self.shared.way.change(|line| line.off = false);
    }

    /// How many requests, and how many writes among them, there have been.
    pub fn seen(&self) -> (u64, u64) {
        let state = self.state();
        (state.requests, state.writes)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn decide<B>(&self, request: &Request<B>) -> (Seen, Fault) {
        let mut state = self.state();
        let query = Query::of(request.uri().query().unwrap_or_default()).unwrap_or_default();
        let reads = matches!(*request.method(), Method::GET | Method::HEAD);
        let path = request.uri().path();
        // A list has no name at its end; a name would come after an even number of parts.
        let list = reads && !query.watch && is_collection(path);
        let seen = Seen {
            number: state.requests,
            write: (!reads).then_some(state.writes),
            watch: reads && query.watch,
            list,
            method: request.method().clone(),
            target: request.uri().path_and_query().map_or_else(String::new, ToString::to_string),
        };
        state.requests += 1;
        state.writes += u64::from(!reads);
        let fault = (state.decide)(&seen);
        (seen, fault)
    }

    /// Keeps the answer to a list, and returns an older one if it is to be stale.
    fn list(&self, target: &str, fresh: Bytes, age: usize) -> Bytes {
        let mut state = self.state();
        let kept = state.lists.entry(target.to_owned()).or_default();
        kept.push(fresh);
        if kept.len() > OLD_LISTS {
            kept.remove(0);
        }
        kept[kept.len() - 1 - age.min(kept.len() - 1)].clone()
    }
}

fn is_collection(path: &str) -> bool {
    use crate::http::path::Route;
    matches!(Route::of(path), Route::Resource(target) if target.name.is_none())
}

/// A service behind faults.
#[derive(Debug, Clone)]
pub struct Faulty<S> {
    inner: S,
    faults: Faults,
}

impl<S, B> tower::Service<Request<B>> for Faulty<S>
where
    S: tower::Service<Request<B>, Response = Response<Body>, Error = std::convert::Infallible> + Clone + Send + 'static,
    S::Future: Send,
    B: Send + 'static,
{
    type Response = Response<Body>;
    type Error = Lost;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Lost>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        self.inner.poll_ready(context).map_err(|_| Lost)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let clone = self.inner.clone();
        let inner = std::mem::replace(&mut self.inner, clone);
        let faults = self.faults.clone();
        Box::pin(async move { suffer(inner, faults, request).await })
    }
}

async fn suffer<S, B>(mut inner: S, faults: Faults, request: Request<B>) -> Result<Response<Body>, Lost>
where
    S: tower::Service<Request<B>, Response = Response<Body>, Error = std::convert::Infallible>,
{
    // Looked at before the request goes out, so that a cut meanwhile is not missed.
    let line = faults.shared.way.line();
    if line.off {
        return Err(Lost);
    }
    let (seen, fault) = faults.decide(&request);
    match &fault {
        Fault::LoseRequest => return Err(Lost),
        Fault::Refuse(status) => return Ok(answer::refusal(status, &[])),
        Fault::Delay(time) => {
            tokio::time::sleep(*time).await;
            if faults.shared.way.line().losses != line.losses {
                return Err(Lost);
            }
        }
        Fault::ExpireWatch if seen.watch => return Ok(expired()),
        _ => {}
    }
    let Ok(response) = inner.call(request).await;
    match fault {
        Fault::LoseAnswer => Err(Lost),
        Fault::TimeOut => {
            Ok(answer::refusal(&Status::timeout("the request did not complete within the allotted time"), &[]))
        }
        fault if seen.watch && response.status().is_success() => {
            Ok(stream::disturbed(response, fault, Arc::clone(&faults.shared.way), line.cuts))
        }
        fault if seen.list && response.status().is_success() => {
            let age = if let Fault::StaleList(age) = fault { age } else { 0 };
            Ok(stale(&faults, &seen, response, age).await)
        }
        _ => Ok(response),
    }
}

async fn stale(faults: &Faults, seen: &Seen, response: Response<Body>, age: usize) -> Response<Body> {
    let (head, body) = response.into_parts();
    let Ok(fresh) = body.collect().await;
    let shown = faults.list(&seen.target, fresh.to_bytes(), age);
    Response::from_parts(head, body::full(shown))
}

fn expired() -> Response<Body> {
    let status = Status::expired("too old resource version: 1 (2)");
    let event = format!("{{\"type\":\"ERROR\",\"object\":{}}}\n", status.to_json());
    answer::text(200, event, answer::JSON, &[])
}
