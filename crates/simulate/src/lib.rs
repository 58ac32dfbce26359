//! Simulation: the real operator and scheduler, with simulated kubelets, on the embedded cluster under virtual time, while workloads come
//! and go, nodes fail and return, requests get lost and processes die. A [checker](check) that shares no code with them looks at every
//! revision of the store.
//!
//! One seed decides all of it: [`run`] with the same seed gives the same revisions, byte for byte, so whatever is found can be played again.

pub mod check;
mod dice;
mod draw;
pub mod events;
mod eye;
pub mod journal;
mod life;
mod play;
mod trouble;
mod wire;
mod workloads;
mod world;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde::Serialize;
use trellis_cluster::api::Api;

use check::{Counts, Violation};
use events::Event;
pub use journal::Journal;
pub use life::Who;
pub use world::{NAMESPACE, node_name, send};

/// Something that is done to the world before each event, beside the events: for tests of the checker.
pub type Hook = Arc<dyn Fn(usize, Api) -> BoxFuture<'static, ()> + Send + Sync>;

/// Which run it is.
#[derive(Clone, Default)]
pub struct Options {
    /// What decides everything.
    pub seed: u64,
    /// How many events there are.
    pub events: usize,
    /// The events, instead of those that the seed decides.
    pub replay: Option<Vec<Event>>,
    /// Something else that is done.
    pub hook: Option<Hook>,
}

/// Why a run could not begin.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The world could not be made.
    #[error("cannot make the world: {0}")]
    Setup(String),
}

/// What came of a run.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// How many events of each kind there were.
    pub events: BTreeMap<String, usize>,
    /// Events that the API refused.
    pub refused: usize,
    /// How often the operator was struck dead.
    pub operator_crashes: usize,
    /// How often the scheduler was.
    pub scheduler_crashes: usize,
    /// Writes that the operator sent, but for its lease: what a run costs, whatever the machine.
    pub operator_writes: u64,
    /// Writes that the scheduler sent.
    pub scheduler_writes: u64,
    /// How often the scheduler decided.
    pub decisions: u64,
    /// How many steps its search for places took in all.
    pub steps: u64,
    /// What the checker counted.
    #[serde(flatten)]
    pub counts: Counts,
    /// How much time has passed, in seconds.
    pub virtual_seconds: u64,
    /// A number for all revisions, byte for byte.
    pub digest: u64,
    /// What was found.
    pub violations: Vec<Violation>,
    /// What happened.
    #[serde(skip)]
    pub journal: Option<Journal>,
}

impl Report {
    /// How many events there were.
    pub fn total(&self) -> usize {
        self.events.values().sum()
    }
}

/// Plays a run to its end, or until something is found; `progress` is told the number of each event.
pub fn run(options: &Options, progress: &(dyn Fn(usize) + Sync)) -> Result<Report, Error> {
    // Watches of kube wait a little longer or shorter by chance; that chance comes from this thread's generator.
    fastrand::seed(options.seed);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.map_err(|error| Error::Setup(error.to_string()))?;
    runtime.block_on(play::play(options, progress))
}
