//! A way to the API that can be blocked: from a chosen write on, writes wait until they are let through.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::Client;
use kube::client::Body;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A write that passed by, and what became of it.
#[derive(Clone, Debug)]
pub struct Passed {
    pub method: Method,
    pub path: String,
    pub code: u16,
}

/// What a write is blocked from on.
pub type Wanted = fn(&Method, &str) -> bool;

#[derive(Default)]
struct State {
    /// How many writes that fit are still let through.
    block: Option<(Wanted, usize)>,
    passed: Vec<Passed>,
}

/// A proxy that runs until it is dropped.
pub struct Proxy {
    pub address: SocketAddr,
    state: Arc<Mutex<State>>,
    blocked: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Proxy {
    /// Requests go on with this client.
    pub async fn start(client: Client) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let state: Arc<Mutex<State>> = Arc::default();
        let (blocked, _) = watch::channel(false);
        let way = Way { client, state: Arc::clone(&state), blocked: blocked.clone() };
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, way.clone()));
            }
        });
        Self { address, state, blocked, task }
    }

    /// Blocks all writes from the one on that fits and before which so many that fit were let through.
    pub fn block(&self, wanted: Wanted, after: usize) {
        self.state().block = Some((wanted, after));
    }

    /// Waits until writes are blocked.
    pub async fn blocked(&self) {
        let mut blocked = self.blocked.subscribe();
        blocked.wait_for(|blocked| *blocked).await.expect("it is here");
    }

    /// Lets writes through again, those that wait first; forgets those that passed so far.
    pub fn unblock(&self) {
        self.state().passed.clear();
        self.blocked.send_replace(false);
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
    blocked: watch::Sender<bool>,
}

async fn serve(stream: TcpStream, way: Way) {
    let answer = service_fn(move |request: Request<Incoming>| {
        let way = way.clone();
        async move { Ok::<_, Infallible>(way.pass(request).await) }
    });
    // A client that goes away in the middle of a request is what this is for.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
}

impl Way {
    async fn pass(self, request: Request<Incoming>) -> Response<Body> {
        let (mut head, body) = request.into_parts();
        let body = body.collect().await.map_or_else(|_| Bytes::new(), http_body_util::Collected::to_bytes);
        let (method, path) = (head.method.clone(), head.uri.path().to_owned());
        let writes = method != Method::GET;
        if writes {
            self.consider(&method, &path);
            // Whether or not the client still waits: what it has sent arrives.
            let mut blocked = self.blocked.subscribe();
            let _ = blocked.wait_for(|blocked| !*blocked).await;
        }
        for name in ["host", "content-length", "connection", "authorization"] {
            head.headers.remove(name);
        }
        let sent = tokio::spawn({
            let client = self.client.clone();
            async move { client.send(Request::from_parts(head, Body::from(body.to_vec()))).await }
        });
        let answer = sent.await.expect("it is sent").unwrap_or_else(|error| {
            let text = Body::from(error.to_string().into_bytes());
            Response::builder().status(502).body(text).expect("an answer")
        });
        if writes {
            lock(&self.state).passed.push(Passed { method, path, code: answer.status().as_u16() });
        }
        answer
    }

    fn consider(&self, method: &Method, path: &str) {
        let mut state = lock(&self.state);
        let Some((wanted, left)) = &mut state.block else { return };
        if !wanted(method, path) {
            return;
        }
        if let Some(fewer) = left.checked_sub(1) {
            *left = fewer;
        } else {
            state.block = None;
            self.blocked.send_replace(true);
        }
    }
}
