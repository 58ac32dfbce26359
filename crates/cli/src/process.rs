//! What commands have in common that run as processes of a cluster: a name, sockets, and being told to end.

use std::hash::{BuildHasher as _, RandomState};

use anyhow::{Context as _, Result};
use tokio::net::TcpListener;
use tokio::sync::watch;
use trellis_api::settings::Address;

/// The machine's name, which in a cluster is the pod's, and something that no other process has.
pub fn identity() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok().or_else(|| std::env::var("HOSTNAME").ok());
    let host = host.map(|host| host.trim().to_owned()).filter(|host| !host.is_empty());
    format!("{}_{:016x}", host.unwrap_or_else(|| "trellis".to_owned()), RandomState::new().hash_one(std::process::id()))
}

/// A socket on this address.
pub async fn listen(address: &Address) -> Result<TcpListener> {
    let listener = match address.host.as_str() {
        // Both families where the machine has both.
        "" => match TcpListener::bind(("::", address.port)).await {
            Ok(listener) => Ok(listener),
            Err(_) => TcpListener::bind(("0.0.0.0", address.port)).await,
        },
        host => TcpListener::bind((host, address.port)).await,
    };
    listener.with_context(|| format!("cannot listen on {address}"))
}

/// Resolves once it is told.
pub async fn until(mut told: watch::Receiver<bool>) {
    // Either it is said, or whoever could say it is gone.
    let _ = told.wait_for(|told| *told).await;
}
