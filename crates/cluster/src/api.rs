//! The API as a whole: what it is made of, and how it is called.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use serde_json::Value;

use crate::admission::Services;
use crate::builtin;
use crate::chores::Chores;
use crate::clock::Clock;
use crate::documents::Documents;
use crate::entropy::Entropy;
use crate::http::body::{self, Body};
use crate::http::{answer, path::Route, query::Query};
use crate::registry::Registry;
use crate::status::Status;
use crate::store::Store;
use crate::tokens::Tokens;
use crate::user::User;
use crate::verbs;

/// A Kubernetes API. Cheap to clone; all clones are the same one.
#[derive(Debug, Clone)]
pub struct Api {
    shared: Arc<Shared>,
}

/// What an [`Api`] is made of.
#[derive(Debug)]
pub struct Shared {
    pub(crate) store: Arc<Store>,
    pub(crate) registry: Registry,
    pub(crate) clock: Clock,
    pub(crate) entropy: Entropy,
    pub(crate) services: Services,
    pub(crate) tokens: Tokens,
    pub(crate) documents: Documents,
    pub(crate) behaviour: Behaviour,
    pub(crate) chores: Chores,
    ready: AtomicBool,
}

/// What is decided when an API is made.
#[derive(Debug)]
pub struct Options {
    /// Where objects live: empty, or read back from a journal.
    pub store: Store,
    /// Where time stamps come from.
    pub clock: Clock,
    /// Where ids come from.
    pub entropy: Entropy,
    /// What is done to objects beside storing them.
    pub behaviour: Behaviour,
}

/// What a default API server does to objects that a bare one leaves alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behaviour {
    /// Pods get their service account and its token, and are refused without one.
    pub service_accounts: bool,
    /// New nodes get the not-ready taint, which the node lifecycle controller lifts.
    pub taint_new_nodes: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            store: Store::default(),
            clock: Clock::System,
            entropy: Entropy::random(),
            behaviour: Behaviour { service_accounts: false, taint_new_nodes: false },
        }
    }
}

impl std::ops::Deref for Api {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl Api {
    /// An API with the built-in kinds, the objects every cluster has, and the definitions that the store holds already.
    pub fn new(options: Options) -> Self {
        let resources = builtin::resources().into_iter().map(Arc::new).collect();
        let tokens = Tokens::new(&options.entropy);
        let shared = Shared {
            store: Arc::new(options.store),
            registry: Registry::new(resources),
            clock: options.clock,
            entropy: options.entropy,
            services: Services::default(),
            tokens,
            documents: Documents::default(),
            behaviour: options.behaviour,
            chores: Chores::default(),
            ready: AtomicBool::new(true),
        };
        let api = Self { shared: Arc::new(shared) };
        verbs::definitions::restore(&api);
        api
    }

    /// Makes the objects every cluster has: its namespaces and priority classes. What is there already stays as it is.
    pub async fn furnish(&self) -> Result<(), Status> {
        for object in builtin::initial_objects() {
            match self.create(&User::system("kube-apiserver"), &object).await {
                Ok(_) => {}
                Err(status) if status.reason == "AlreadyExists" => {}
                Err(status) => return Err(status),
            }
        }
        Ok(())
    }

    /// Makes an object, as a request would. Admission included.
    pub async fn create(&self, user: &User, object: &Value) -> Result<Value, Status> {
        verbs::create_object(self, user, object).await
    }

    /// What `/readyz` says; an API is ready unless someone who furnishes it says otherwise.
    pub fn set_ready(&self, ready: bool) {
        self.shared.ready.store(ready, Ordering::Release);
    }

    /// Whether all is there that is to be there.
    pub fn is_ready(&self) -> bool {
        self.shared.ready.load(Ordering::Acquire)
    }

    /// Where objects live.
    pub fn store(&self) -> &Arc<Store> {
        &self.shared.store
    }

    /// Where the time comes from.
    pub fn clock(&self) -> Clock {
        self.shared.clock
    }

    /// Webhooks that are called in process, by the name of their service.
    pub fn services(&self) -> &Services {
        &self.shared.services
    }

    /// The administrator's token.
    pub fn admin_token(&self) -> &str {
        self.shared.tokens.admin()
    }

    /// The user with this token.
    pub fn authenticate(&self, token: &str) -> Option<User> {
        self.shared.tokens.user(token, self.shared.clock.now())
    }

    /// The API as a service for `kube::Client::new`, used by one user and without a socket.
    pub fn service(&self, user: User) -> Service {
        Service { api: self.clone(), user }
    }

    /// Answers a request.
    pub async fn handle(&self, user: &User, request: Request<Bytes>) -> Response<Body> {
        let (head, body) = request.into_parts();
        let result = async {
            if !is_encoded(head.uri.path()) {
                return Ok(answer::text(400, "400 Bad Request", "text/plain; charset=utf-8", &[]));
            }
            let query = Query::of(head.uri.query().unwrap_or_default())?;
            match Route::of(head.uri.path()) {
                Route::Resource(target) => verbs::call(self, user, target, query, &head, body).await,
                Route::Nowhere(group) => match group.strip_prefix('/') {
                    Some(group) => verbs::nowhere(self, group),
                    None => Ok(answer::nowhere()),
                },
                other => self.documents.answer(self, &other, &head),
            }
        };
        result.await.unwrap_or_else(|status| answer::refusal(&status, &[]))
    }
}

/// Whether every percent sign in a path begins a sign that is written in two digits.
fn is_encoded(path: &str) -> bool {
    path.split('%').skip(1).all(|rest| rest.len() >= 2 && rest.as_bytes()[..2].iter().all(u8::is_ascii_hexdigit))
}

/// An [`Api`] as one user sees it.
#[derive(Debug, Clone)]
pub struct Service {
    api: Api,
    user: User,
}

impl<B> tower::Service<Request<B>> for Service
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (api, user) = (self.api.clone(), self.user.clone());
        Box::pin(async move {
            // Nothing here waits for a socket, so a client in a loop would never let others run.
            tokio::task::coop::consume_budget().await;
            let (head, body) = request.into_parts();
            Ok(match body::collect(body).await {
                Ok(body) => api.handle(&user, Request::from_parts(head, body)).await,
                Err(status) => answer::refusal(&status, &[]),
            })
        })
    }
}
