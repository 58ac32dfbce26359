//! The way of a request to the API. What was sent arrives, perhaps late, even if the one who sent it has died meanwhile.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Collected, Full};
use trellis_cluster::api::Service;
use trellis_cluster::http::body::Body;

/// How long a write with this method and target is on its way.
pub type Way = Arc<dyn Fn(&Method, &str) -> Option<Duration> + Send + Sync>;

/// Is told of every write when it is sent: method, path and body.
pub type Watcher = Arc<dyn Fn(&Method, &str, &[u8]) + Send + Sync>;

/// The API behind a way of its own.
#[derive(Clone)]
pub struct Wire {
    api: Service,
    way: Way,
    watcher: Watcher,
}

impl Wire {
    /// The way to an API.
    pub fn new(api: Service, way: Way, watcher: Watcher) -> Self {
        Self { api, way, watcher }
    }
}

impl<B> tower::Service<Request<B>> for Wire
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
        let mut api = self.api.clone();
        if matches!(*request.method(), Method::GET | Method::HEAD) {
            return Box::pin(api.call(request));
        }
        let time = (self.way)(request.method(), request.uri().path());
        let watcher = Arc::clone(&self.watcher);
        let sent = tokio::spawn(async move {
            let (head, body) = request.into_parts();
            // What our own clients send is there as a whole.
            let body = body.collect().await.map(Collected::to_bytes).unwrap_or_default();
            watcher(&head.method, head.uri.path(), &body);
            if let Some(time) = time {
                tokio::time::sleep(time).await;
            }
            api.call(Request::from_parts(head, Full::new(body))).await
        });
        Box::pin(async move {
            match sent.await {
                Ok(answer) => answer,
                Err(error) => match error.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    // The world has ended, and nobody is left to hear an answer.
                    Err(_) => std::future::pending().await,
                },
            }
        })
    }
}
