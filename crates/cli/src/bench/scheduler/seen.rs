//! What happens in the benchmark's namespace, seen by watches: which pods are bound and since when, and when anything changed last. Only
//! metadata is sent for it, so that watching costs the server little.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use futures::{Stream, StreamExt as _};
use k8s_openapi::api::core::v1::Pod;
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, Resource, ResourceExt as _};
use tokio::task::JoinSet;
use trellis_api::kinds::PodGang;

/// How often it is looked whether what is waited for has come; when it came is known exactly all the same.
const LOOK: Duration = Duration::from_millis(5);
/// How long a watch may take to begin: a kind that has just been defined is not served at once.
const BEGINNING: Duration = Duration::from_secs(10);
/// How long nothing at all may happen while something is waited for.
const PATIENCE: Duration = Duration::from_mins(1);

/// Watches on pods and gangs. Dropped, they end.
pub struct Seen {
    state: Arc<Mutex<State>>,
    _watches: JoinSet<()>,
}

/// What was seen.
#[derive(Debug)]
pub struct State {
    /// Pods that have a node, and when that was seen.
    pub bound: HashMap<String, Instant>,
    /// When a pod or a gang changed last.
    pub last_change: Instant,
    listed: usize,
    broken: Option<String>,
}

impl Seen {
    /// Begins to watch, and waits until all watches have begun.
    pub async fn start(client: &Client, namespace: &str) -> Result<Self> {
        let state = State { bound: HashMap::new(), last_change: Instant::now(), listed: 0, broken: None };
        let state = Arc::new(Mutex::new(state));
        let mut watches = JoinSet::new();
        let pods: Api<PartialObjectMeta<Pod>> = Api::namespaced(client.clone(), namespace);
        let bound = watcher(pods.clone(), watcher::Config::default().fields("spec.nodeName!=")).boxed();
        let all = watcher(pods, watcher::Config::default().fields("spec.nodeName=")).boxed();
        let gangs: Api<PartialObjectMeta<PodGang>> = Api::namespaced(client.clone(), namespace);
        let gangs = watcher(gangs, watcher::Config::default()).boxed();
        watches.spawn(feed(Arc::clone(&state), bound, |state, name, is_there| match is_there {
            true => drop(state.bound.entry(name).or_insert_with(Instant::now)),
            false => drop(state.bound.remove(&name)),
        }));
        watches.spawn(feed(Arc::clone(&state), all, |_, _, _| ()));
        watches.spawn(feed(Arc::clone(&state), gangs, |_, _, _| ()));
        let (seen, all) = (Self { state, _watches: watches }, 3);
        seen.until("the watches to begin", || Ok(()), |state| state.listed == all).await?;
        Ok(seen)
    }

    /// What was seen so far.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long after `begun` the last pod was bound.
    pub fn last_bound(&self, begun: Instant) -> Duration {
        let last = self.state().bound.values().max().copied();
        last.map_or(Duration::ZERO, |last| last.saturating_duration_since(begun))
    }

    /// Waits for something to be seen. `alive` may end the wait with an error, and so does a time in which nothing happens.
    pub async fn until(
        &self,
        what: &str,
        mut alive: impl FnMut() -> Result<()>,
        mut come: impl FnMut(&State) -> bool,
    ) -> Result<()> {
        let begun = Instant::now();
        loop {
            {
                let state = self.state();
                if come(&state) {
                    return Ok(());
                }
                if let Some(error) = &state.broken {
                    bail!("while waiting for {what}: {error}");
                }
                if state.last_change.max(begun).elapsed() > PATIENCE {
                    bail!("nothing happens while waiting for {what}: {} pods are bound", state.bound.len());
                }
            }
            alive()?;
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// Takes note of what a watch says. One that has to begin anew may have missed something, so it ends the benchmark.
async fn feed<K: Resource>(
    state: Arc<Mutex<State>>,
    mut stream: impl Stream<Item = watcher::Result<Event<K>>> + Unpin,
    mut note: impl FnMut(&mut State, String, bool),
) {
    let (begun, mut is_listed) = (Instant::now(), false);
    while let Some(event) = stream.next().await {
        if event.is_err() && begun.elapsed() < BEGINNING {
            tokio::time::sleep(LOOK).await;
            continue;
        }
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.last_change = Instant::now();
        match event {
            Ok(Event::Apply(object) | Event::InitApply(object)) => note(&mut state, object.name_any(), true),
            Ok(Event::Delete(object)) => note(&mut state, object.name_any(), false),
            Ok(Event::InitDone) => {
                state.listed += 1;
                is_listed = true;
            }
            Ok(Event::Init) if !is_listed => {}
            Ok(Event::Init) => {
                state.broken = Some("a watch was cut off; hint: run it again".to_owned());
                return;
            }
            Err(error) => {
                state.broken = Some(format!("cannot watch: {error}"));
                return;
            }
        }
    }
}
