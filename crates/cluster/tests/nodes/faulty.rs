//! An API that fails again and again, in front of one that does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::json;

/// An API of which requests fail in turn: refused, overloaded, broken, or carried out without an answer. Watches are short.
#[derive(Clone)]
pub struct Faulty {
    pub api: Client,
    pub requests: Arc<AtomicUsize>,
}

impl tower::Service<Request<Body>> for Faulty {
    type Response = Response<Body>;
    type Error = std::io::Error;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let (api, turn) = (self.api.clone(), self.requests.fetch_add(1, Ordering::Relaxed) % 11);
        async move {
            let short = request.uri().to_string().replace("timeoutSeconds=290", "timeoutSeconds=1");
            *request.uri_mut() = short.parse().unwrap();
            match turn {
                1 => return Ok(refusal(429)),
                3 => return Ok(refusal(500)),
                5 => return Err(std::io::Error::other("the connection is lost")),
                _ => {}
            }
            let answer = api.send(request).await.map_err(std::io::Error::other);
            if turn == 7 { Err(std::io::Error::other("the answer is lost")) } else { answer }
        }
        .boxed()
    }
}

fn refusal(code: u16) -> Response<Body> {
    let status = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code });
    let mut response = Response::new(Body::from(serde_json::to_vec(&status).unwrap()));
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap();
    response
}
