//! `trellis nodes`: the simulated nodes alone, on whatever API the kubeconfig names.

use anyhow::{Context as _, Result};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::args::NodesArgs;
use crate::up::{self, Simulated, Steps};

/// Plays the nodes until it is told to stop. They stay in the API, and fall silent.
pub fn run(args: &NodesArgs) -> Result<()> {
    let simulated = Simulated::read(args.cluster.as_deref())?;
    up::runtime()?.block_on(async {
        let client = client(args).await?;
        let steps = Steps::new();
        let specs = simulated.nodes()?;
        let count = specs.len();
        let nodes = up::play_nodes(client, specs, &steps).await?;
        steps.say(&format!("ready: {count} simulated nodes; Ctrl-C stops them"));
        up::interrupted().await;
        nodes.stop().await;
        Ok(())
    })
}

async fn client(args: &NodesArgs) -> Result<Client> {
    let options = KubeConfigOptions { context: args.context.clone(), ..KubeConfigOptions::default() };
    let config = match &args.kubeconfig {
        Some(file) => {
            let kubeconfig = Kubeconfig::read_from(file)?;
            Config::from_custom_kubeconfig(kubeconfig, &options).await?
        }
        None if args.context.is_some() => Config::from_kubeconfig(&options).await?,
        None => Config::infer().await?,
    };
    Client::try_from(config).context("cannot talk to the API of the kubeconfig")
}
