//! A way to the API that can be blocked: from a chosen write on, writes wait until they are let through, or never arrive.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::request::Parts;
use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A write that passes by.
#[derive(Clone, Debug)]
pub struct Write {
    /// Its method.
    pub method: Method,
    /// Its path, without a query.
    pub path: String,
    /// What it says, if that is JSON.
    pub body: Value,
}

/// A write that passed by, and what became of it.
#[derive(Clone, Debug)]
pub struct Passed {
    /// The write.
    pub write: Write,
    /// The code of the answer.
    pub code: u16,
}

/// What a write is blocked from on.
pub type Wanted = fn(&Write) -> bool;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gate {
    Open,
    Closed,
    /// What comes, and what waits, never arrives.
    Gone,
}

#[derive(Debug, Default)]
struct State {
    /// How many writes that fit are still let through.
    block: Option<(Wanted, usize)>,
    /// The first that was not.
    held: Option<Write>,
    passed: Vec<Passed>,
}

/// A proxy that runs until it is dropped.
#[derive(Debug)]
pub struct Proxy {
    /// Where it listens, without TLS.
    pub address: SocketAddr,
    state: Arc<Mutex<State>>,
    gate: watch::Sender<Gate>,
    count: watch::Sender<usize>,
    task: JoinHandle<()>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Proxy {
    /// Passes on with this client, as its user, whatever comes.
    ///
    /// # Panics
    /// If there is no port.
    pub async fn start(client: Client) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let state: Arc<Mutex<State>> = Arc::default();
        let (gate, _) = watch::channel(Gate::Open);
        let (count, _) = watch::channel(0);
        let way = Way { client, state: Arc::clone(&state), gate: gate.clone(), count: count.clone() };
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, way.clone()));
            }
        });
        Self { address, state, gate, count, task }
    }

    /// Where it listens, as a URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Blocks all writes from the one on that fits and before which so many that fit were let through.
    pub fn block(&self, wanted: Wanted, after: usize) {
        self.state().block = Some((wanted, after));
    }

    /// Waits until writes are blocked, and says from which one on.
    ///
    /// # Panics
    /// Never: as long as there is a proxy, there is somebody to say so.
    pub async fn blocked(&self) -> Write {
        let mut gate = self.gate.subscribe();
        gate.wait_for(|gate| *gate != Gate::Open).await.expect("it is here");
        self.state().held.clone().expect("something is held")
    }

    /// Lets writes through again, those that wait first; forgets those that passed so far.
    pub fn unblock(&self) {
        self.state().passed.clear();
        self.gate.send_replace(Gate::Open);
    }

    /// Loses the writes that wait, and all that come.
    pub fn lose(&self) {
        self.gate.send_replace(Gate::Gone);
    }

    /// Waits until no write is under way any more.
    ///
    /// # Panics
    /// Never: as long as there is a proxy, there is somebody to say so.
    pub async fn drained(&self) {
        let mut count = self.count.subscribe();
        count.wait_for(|count| *count == 0).await.expect("it is here");
    }

    /// The writes that were let through since.
    pub fn passed(&self) -> Vec<Passed> {
        self.state().passed.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Clone)]
struct Way {
    client: Client,
    state: Arc<Mutex<State>>,
    gate: watch::Sender<Gate>,
    count: watch::Sender<usize>,
}

async fn serve(stream: TcpStream, way: Way) {
    let answer = service_fn(move |request: Request<Incoming>| {
        let way = way.clone();
        // Whether or not the client still waits: what it has sent arrives, once it may.
        let passing = tokio::spawn(way.pass(request));
        async move { Ok::<_, Infallible>(passing.await.unwrap_or_else(|_| failed("the proxy failed"))) }
    });
    // A client that goes away in the middle of a request is what this is for.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
}

fn failed(why: &str) -> Response<Body> {
    Response::builder().status(502).body(Body::from(why.as_bytes().to_vec())).expect("an answer")
}

impl Way {
    async fn pass(self, request: Request<Incoming>) -> Response<Body> {
        let (head, body) = request.into_parts();
        // What was not sent whole must not arrive in part: a deletion would arrive without its preconditions.
        let Ok(body) = body.collect().await.map(http_body_util::Collected::to_bytes) else {
            return failed("it broke off");
        };
        let write = (head.method != Method::GET).then(|| Write {
            method: head.method.clone(),
            path: head.uri.path().to_owned(),
            body: serde_json::from_slice(&body).unwrap_or_default(),
        });
        let Some(write) = write else { return self.send(head, body).await };
        self.count.send_modify(|count| *count += 1);
        self.consider(&write);
        let mut gate = self.gate.subscribe();
        let open = gate.wait_for(|gate| *gate != Gate::Closed).await.map_or(Gate::Gone, |gate| *gate);
        let answer = match open {
            Gate::Gone => failed("it is lost"),
            Gate::Open | Gate::Closed => {
                let answer = self.send(head, body).await;
                lock(&self.state).passed.push(Passed { write, code: answer.status().as_u16() });
                answer
            }
        };
        self.count.send_modify(|count| *count -= 1);
        answer
    }

    async fn send(&self, mut head: Parts, body: Bytes) -> Response<Body> {
        for name in ["host", "content-length", "connection", "authorization"] {
            head.headers.remove(name);
        }
        let sent = self.client.send(Request::from_parts(head, Body::from(body.to_vec()))).await;
        sent.unwrap_or_else(|error| failed(&error.to_string()))
    }

    fn consider(&self, write: &Write) {
        let mut state = lock(&self.state);
        let Some((wanted, left)) = &mut state.block else { return };
        if !wanted(write) {
            return;
        }
        if let Some(fewer) = left.checked_sub(1) {
            *left = fewer;
        } else {
            state.block = None;
            state.held = Some(write.clone());
            self.gate.send_replace(Gate::Closed);
        }
    }
}
