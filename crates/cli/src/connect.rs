//! Which API a command talks to: that of the cluster it runs in, or that of a kubeconfig.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

/// How long it may take to connect, and to hand over a request.
const PATIENCE: Duration = Duration::from_secs(10);

/// The way to an API.
#[derive(Debug)]
pub struct Connection {
    pub config: Config,
    /// Whether we run in the cluster, with a service account.
    pub in_cluster: bool,
}

impl Connection {
    /// A client. Requests are not repeated by it: whoever sends one knows what to make of a refusal.
    pub fn client(&self) -> Result<Client> {
        let mut config = self.config.clone();
        config.default_retry = false;
        config.connect_timeout = Some(PATIENCE);
        config.write_timeout = Some(PATIENCE);
        Client::try_from(config).context("cannot make a client of the API")
    }

    /// Whether the API is served on this machine.
    pub fn is_local(&self) -> bool {
        let host = self.config.cluster_url.host().unwrap_or_default().trim_matches(['[', ']']);
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

/// The API of the kubeconfig that is given; without one, that of the cluster we run in; else that of the user's kubeconfig.
pub async fn connection(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Connection> {
    let options = KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
    let config = match kubeconfig {
        Some(file) => {
            let cannot = || format!("cannot use the kubeconfig {}", file.display());
            let kubeconfig = Kubeconfig::read_from(file).with_context(cannot)?;
            Config::from_custom_kubeconfig(kubeconfig, &options).await.with_context(cannot)?
        }
        None => {
            if context.is_none()
                && let Ok(config) = Config::incluster()
            {
                return Ok(Connection { config, in_cluster: true });
            }
            let found = Config::from_kubeconfig(&options).await;
            found.map_err(|error| anyhow!("{error}\nhint: name a kubeconfig with `--kubeconfig`"))?
        }
    };
    Ok(Connection { config, in_cluster: false })
}
