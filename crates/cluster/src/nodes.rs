//! Simulated nodes: kubelets without machines, which are ordinary clients of whatever API they are given, ours or a real one.
//!
//! They register their nodes, keep them alive, and play the life of every pod that is bound to them: they take it or reject it, run its
//! init containers in order, make it ready, restart or finish what ends, and let it go when it is deleted. What the pods do in that life
//! is decided by [`Options`], hooks and annotations; see [`Annotations`]. One task does it for all nodes.

mod address;
mod admission;
mod behaviour;
mod charge;
mod kubelet;
mod node;
mod pods;
mod quantity;
mod registry;
mod shell;
mod status;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, Pod, Taint};
use kube::Client;
use tokio::sync::{mpsc, oneshot, watch};

pub use self::behaviour::{Annotations, Outcome};
use self::shell::{Command, Shell};

/// What time it is, for stamps. Waiting is `tokio::time`'s.
pub type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Runs a container: the future ends when the container does. It is dropped when the pod is stopped, and asked for again after a restart
/// of the container or of the simulator.
pub type Hook = Arc<dyn Fn(&Pod, &Container) -> BoxFuture<'static, Outcome> + Send + Sync>;

/// A node to be simulated.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeSpec {
    /// Its name, and the value of its label `kubernetes.io/hostname` unless `labels` has another.
    pub name: String,
    /// Labels beside those that every kubelet sets.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
    /// What the machine has, as quantities; what is allocatable if empty. Without `pods` there is room for 110.
    pub capacity: BTreeMap<String, String>,
    /// What of it pods may have; all if empty.
    pub allocatable: BTreeMap<String, String>,
    /// Taints that the node registers with.
    pub taints: Vec<Taint>,
}

/// How the nodes and the pods on them behave.
#[derive(Clone)]
pub struct Options {
    /// Time from the moment that a pod is bound and its init containers have ended until its containers run and are ready.
    pub ready_after: Duration,
    /// Time that containers take to end once their pod is deleted; the grace period cuts it short.
    pub stop_after: Duration,
    /// The exit code of containers that end because their pod is deleted; those that the grace period cuts short end with 137.
    pub stop_exit_code: i32,
    /// Time until a container that ended runs again, if it does; twice as long after every further end.
    pub restart_after: Duration,
    /// The longest such time.
    pub restart_max: Duration,
    /// Time between two renewals of a node's lease; zero for no leases and no heartbeats at all. A cluster that watches over its nodes
    /// expects one every 40 seconds; for thousands of nodes, 20 seconds cost half of what 10 do.
    pub heartbeat: Duration,
    /// How many requests are under way at once.
    pub parallelism: usize,
    /// The network that addresses of new nodes come from: an address in it and its prefix length.
    pub node_network: (Ipv4Addr, u8),
    /// The network that addresses of pods come from.
    pub pod_network: (Ipv4Addr, u8),
    /// The version that the kubelets say they have.
    pub kubelet_version: String,
    /// Runs init containers; without it they do as the annotations say, and succeed at once if these say nothing.
    pub init: Option<Hook>,
    /// Runs containers; without it they do as the annotations say, and run for ever if these say nothing.
    pub run: Option<Hook>,
    /// The keys of the annotations.
    pub annotations: Annotations,
    /// The clock.
    pub now: Now,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            ready_after: Duration::from_secs(1),
            stop_after: Duration::ZERO,
            stop_exit_code: 0,
            restart_after: Duration::from_secs(1),
            restart_max: Duration::from_secs(30),
            heartbeat: Duration::from_secs(10),
            parallelism: 32,
            node_network: (Ipv4Addr::new(172, 16, 0, 0), 12),
            pod_network: (Ipv4Addr::new(10, 128, 0, 0), 9),
            kubelet_version: "v1.36.3".to_owned(),
            init: None,
            run: None,
            annotations: Annotations::default(),
            now: Arc::new(Timestamp::now),
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("ready_after", &self.ready_after).finish_non_exhaustive()
    }
}

/// What can go wrong beyond what is tried again.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Error {
    /// Two nodes of one name.
    #[error("there are two nodes named {0}")]
    Duplicate(String),
    /// A capacity that is no quantity.
    #[error("node {node}: {amount:?} is no amount of {resource}")]
    Quantity {
        /// The node.
        node: String,
        /// The resource.
        resource: String,
        /// What stands there.
        amount: String,
    },
    /// The API does not take a node as it is.
    #[error("node {node} is refused: {message}")]
    Refused {
        /// The node.
        node: String,
        /// What the API said.
        message: String,
    },
    /// No node of that name is simulated here.
    #[error("there is no simulated node {0}")]
    NoNode(String),
    /// No such container runs on the simulated nodes.
    #[error("no such container runs in pod {0}")]
    NoContainer(String),
    /// The simulation has ended.
    #[error("the simulated nodes have stopped")]
    Stopped,
}

/// Simulated nodes that run, for those who want to do things to them.
#[derive(Debug, Clone)]
pub struct Nodes {
    commands: mpsc::UnboundedSender<Command>,
    registered: watch::Receiver<usize>,
}

impl Nodes {
    /// The nodes, and the future that plays them for as long as it is polled; it ends only with an error, or by
    /// [`Nodes::stop`].
    pub fn new(
        client: Client,
        nodes: Vec<NodeSpec>,
        options: Options,
    ) -> Result<(Self, impl Future<Output = Result<(), Error>> + Send + use<>), Error> {
        validate(&nodes)?;
        let (commands, received) = mpsc::unbounded_channel();
        let (progress, registered) = watch::channel(0);
        let shell = Shell::new(client, nodes, options, progress);
        Ok((Self { commands, registered }, shell.run(received)))
    }

    /// Plays the nodes in a task of their own, and waits until all are registered, while it tells how many are.
    pub async fn start(
        client: Client,
        nodes: Vec<NodeSpec>,
        options: Options,
        progress: impl Fn(usize),
    ) -> Result<Self, Error> {
        let (nodes, simulation) = Self::new(client, nodes, options)?;
        let mut simulation = tokio::spawn(simulation);
        let mut count = nodes.registered.clone();
        let all = nodes.registered();
        tokio::pin!(all);
        loop {
            tokio::select! {
                biased;
                ended = &mut simulation => return ended.unwrap_or(Ok(())).and(Err(Error::Stopped)),
                result = &mut all => return result.map(|()| nodes.clone()),
                Ok(()) = count.changed() => progress(*count.borrow_and_update()),
            }
        }
    }

    /// Ends the simulation. The nodes stay in the API and fall silent.
    pub async fn stop(&self) {
        // Whether it ends now or has ended before makes no difference.
        let _ = self.ask(Command::Stop).await;
    }

    /// Waits until every node is registered.
    pub async fn registered(&self) -> Result<(), Error> {
        self.ask(Command::Registered).await
    }

    /// Cuts a node off: no heartbeats, and nothing is done for its pods, though their containers go on. Nothing that was begun before is
    /// under way any more when this returns.
    pub async fn lose(&self, node: &str) -> Result<(), Error> {
        self.ask(|reply| Command::Lose(node.to_owned(), reply)).await
    }

    /// Brings a lost node back: heartbeats go on, pods deleted meanwhile leave, pods bound meanwhile start.
    pub async fn restore(&self, node: &str) -> Result<(), Error> {
        self.ask(|reply| Command::Restore(node.to_owned(), reply)).await
    }

    /// Adds a node and waits until it is registered. One that is there already in the API is taken over.
    pub async fn add(&self, node: NodeSpec) -> Result<(), Error> {
        validate(std::slice::from_ref(&node))?;
        self.ask(|reply| Command::Add(Box::new(node), reply)).await
    }

    /// Removes a node for good, with its Node and its lease. Its pods are left to whoever collects pods of nodes that are gone.
    pub async fn remove(&self, node: &str) -> Result<(), Error> {
        self.ask(|reply| Command::Remove(node.to_owned(), reply)).await
    }

    /// Ends a running container, the first one of the pod if none is named.
    pub async fn finish(
        &self,
        namespace: &str,
        pod: &str,
        container: Option<&str>,
        outcome: Outcome,
    ) -> Result<(), Error> {
        let key = (namespace.to_owned(), pod.to_owned());
        self.ask(|reply| Command::Finish { pod: key, container: container.map(str::to_owned), outcome, reply }).await
    }

    async fn ask(&self, command: impl FnOnce(oneshot::Sender<Result<(), Error>>) -> Command) -> Result<(), Error> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(command(reply)).map_err(|_| Error::Stopped)?;
        answer.await.map_err(|_| Error::Stopped)?
    }
}

/// Simulates nodes until `stop` ends. The nodes stay in the API, and are taken over by the next who simulates them.
pub async fn run(
    client: Client,
    nodes: Vec<NodeSpec>,
    options: Options,
    stop: impl Future<Output = ()>,
) -> Result<(), Error> {
    let (_handle, simulation) = Nodes::new(client, nodes, options)?;
    tokio::select! {
        biased;
        result = simulation => result,
        () = stop => Ok(()),
    }
}

fn validate(nodes: &[NodeSpec]) -> Result<(), Error> {
    let mut names = BTreeSet::new();
    for node in nodes {
        if !names.insert(&node.name) {
            return Err(Error::Duplicate(node.name.clone()));
        }
        for (resource, amount) in node.capacity.iter().chain(&node.allocatable) {
            if quantity::units(resource, amount).is_none_or(|units| units < 0) {
                let (node, resource, amount) = (node.name.clone(), resource.clone(), amount.clone());
                return Err(Error::Quantity { node, resource, amount });
            }
        }
    }
    Ok(())
}
