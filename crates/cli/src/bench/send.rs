//! Many requests at once, sent as they are: what a server can do for a client that does nothing else.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use futures::{StreamExt as _, TryStreamExt as _};
use http::{Method, Request};
use kube::Client;

/// A request that is ready to go.
pub type Ready = Request<Vec<u8>>;

/// Sends them with so many in flight, and waits for all answers; how long that took.
pub async fn all(client: &Client, requests: Vec<Ready>, in_flight: usize, what: &str) -> Result<Duration> {
    let begun = Instant::now();
    futures::stream::iter(requests)
        .map(|request| client.request_text(request))
        .buffer_unordered(in_flight)
        .try_for_each(|_| async { Ok(()) })
        .await
        .with_context(|| format!("cannot {what}"))?;
    Ok(begun.elapsed())
}

/// A request with a body in JSON.
pub fn request(method: Method, uri: &str, body: Vec<u8>) -> Result<Ready> {
    with_type(method, uri, "application/json", body)
}

/// A request with a body of this type.
pub fn with_type(method: Method, uri: &str, media_type: &str, body: Vec<u8>) -> Result<Ready> {
    Ok(Request::builder().method(method).uri(uri).header("content-type", media_type).body(body)?)
}
