//! The limit: how fast this API server makes and deletes the same pods for a client that does nothing else.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use futures::{StreamExt as _, TryStreamExt as _};
use http::{Method, Request};
use kube::Client;

use super::seen::Seen;

/// How often it is measured; the best counts. The first time a server is slower than it has to be.
const ROUNDS: usize = 2;

/// How long the server needs.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    pub create: Duration,
    pub delete: Duration,
}

/// Makes the pods and deletes them, with so many requests in flight; times run until the watch has shown the last one.
pub async fn measure(
    client: &Client,
    namespace: &str,
    pods: &[(String, Vec<u8>)],
    in_flight: usize,
    seen: &Seen,
) -> Result<Limit> {
    let path = format!("/api/v1/namespaces/{namespace}/pods");
    let mut best = Limit { create: Duration::MAX, delete: Duration::MAX };
    for _ in 0..ROUNDS {
        let creates = pods.iter().map(|(_, body)| request(Method::POST, path.clone(), body.clone()));
        let took = send(client, creates.collect(), in_flight, "create a pod", || async {
            seen.until("all pods", || Ok(()), |seen| seen.pods() == pods.len()).await?;
            Ok(seen.tallies().last_pod_came())
        });
        best.create = best.create.min(took.await?);
        let deletes = pods.iter().map(|(name, _)| request(Method::DELETE, format!("{path}/{name}"), Vec::new()));
        let took = send(client, deletes.collect(), in_flight, "delete a pod", || async {
            seen.until("no pod", || Ok(()), |seen| seen.pods() == 0).await?;
            Ok(seen.tallies().last_pod_went())
        });
        best.delete = best.delete.min(took.await?);
    }
    Ok(best)
}

/// Sends requests and waits until their last effect is seen; how long that took.
async fn send<F: Future<Output = Result<Option<Instant>>>>(
    client: &Client,
    requests: Result<Vec<Request<Vec<u8>>>, http::Error>,
    in_flight: usize,
    what: &str,
    seen: impl FnOnce() -> F,
) -> Result<Duration> {
    let requests = requests?;
    let begun = Instant::now();
    futures::stream::iter(requests)
        .map(|request| client.request_text(request))
        .buffer_unordered(in_flight)
        .try_for_each(|_| async { Ok(()) })
        .await
        .with_context(|| format!("cannot {what}"))?;
    let answered = Instant::now();
    Ok(seen().await?.unwrap_or(answered).duration_since(begun))
}

fn request(method: Method, uri: String, body: Vec<u8>) -> Result<Request<Vec<u8>>, http::Error> {
    Request::builder().method(method).uri(uri).header("content-type", "application/json").body(body)
}
