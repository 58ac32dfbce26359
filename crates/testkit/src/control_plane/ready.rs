//! Waiting for programs to become ready, without waiting for one that has already ended.

use std::time::Duration;

use http::Request;
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::{Api, Client};
use tokio::net::TcpStream;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::guard::Guarded;
use crate::{Error, Result};

/// Seconds are usual; a machine that compiles on all cores at the same time needs many more.
const LIMIT: Duration = Duration::from_mins(2);
const TICK: Duration = Duration::from_millis(20);
const TICKS: u32 = 6000;

/// The last of `children` accepts connections on `port`.
pub(super) async fn listening(children: &mut [Guarded], port: u16) -> Result<()> {
    until(children, async || match TcpStream::connect(("127.0.0.1", port)).await {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("port {port}: {error}")),
    })
    .await
}

/// The API server answers, and has made what every cluster has.
pub(super) async fn serving(children: &mut [Guarded], client: &Client) -> Result<()> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    until(children, async || {
        let request = Request::get("/readyz").body(Vec::new()).map_err(|error| error.to_string())?;
        let answer = client.request_text(request).await.map_err(|error| format!("/readyz: {error}"))?;
        if answer != "ok" {
            return Err(format!("/readyz: {answer}"));
        }
        // Made soon after, and every test that names no namespace needs it.
        namespaces.get("default").await.map(drop).map_err(|error| error.to_string())
    })
    .await
}

/// The controller manager works, which shows in the first thing it does for every namespace. It has no port to ask.
pub(super) async fn controlling(children: &mut [Guarded], client: &Client) -> Result<()> {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "default");
    until(children, async || accounts.get("default").await.map(drop).map_err(|error| error.to_string())).await
}

/// Looks until `look` succeeds; fails at once when a child has ended, and in the end with the reason of the last look.
async fn until(children: &mut [Guarded], look: impl AsyncFn() -> Result<(), String>) -> Result<()> {
    let mut last = "not looked yet".to_owned();
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let looks = async {
        for _ in 0..TICKS {
            ticks.tick().await;
            for child in children.iter_mut() {
                child.check_alive()?;
            }
            match look().await {
                Ok(()) => return Ok(true),
                Err(reason) => last = reason,
            }
        }
        Ok(false)
    };
    // The limit is for a look that hangs; when the program it asks ends, the look does not hang for long.
    if timeout(LIMIT, looks).await.unwrap_or(Ok(false))? {
        return Ok(());
    }
    let (program, log) = children.last().map(|child| (child.name().to_owned(), child.log_tail())).unwrap_or_default();
    Err(Error::NotReady { program, seconds: LIMIT.as_secs(), last, log })
}
