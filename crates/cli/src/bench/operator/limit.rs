//! The limit: how fast this API server makes and deletes the same pods for a client that does nothing else.

use std::time::{Duration, Instant};

use anyhow::Result;
use http::Method;
use kube::Client;

use super::seen::Seen;
use super::since;
use crate::bench::send::{self, request};

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
        let creates = pods.iter().map(|(_, body)| request(Method::POST, &path, body.clone()));
        let begun = Instant::now();
        send::all(client, creates.collect::<Result<_>>()?, in_flight, "create a pod").await?;
        seen.until("all pods", || Ok(()), |seen| seen.pods() == pods.len()).await?;
        best.create = best.create.min(since(begun, seen.tallies().last_pod_came()));
        let deletes = pods.iter().map(|(name, _)| request(Method::DELETE, &format!("{path}/{name}"), Vec::new()));
        let begun = Instant::now();
        send::all(client, deletes.collect::<Result<_>>()?, in_flight, "delete a pod").await?;
        seen.until("no pod", || Ok(()), |seen| seen.pods() == 0).await?;
        best.delete = best.delete.min(since(begun, seen.tallies().last_pod_went()));
    }
    Ok(best)
}
