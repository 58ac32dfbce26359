//! What happens in the benchmark's namespace, seen by watches: how many objects of each kind there are, and when the last one came or
//! went. Times are those at which an event arrived here. Watching is all that is asked of the server while something is measured.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use futures::{Stream, StreamExt as _};
use k8s_openapi::api::core::v1::{Event as Told, Pod, Service};
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;
use trellis_api::kinds::{PodClique, PodCliqueScalingGroup, PodCliqueSet, PodGang};

/// How often it is looked whether what is waited for has come; when it came is known exactly all the same.
const LOOK: Duration = Duration::from_millis(20);
/// How long a watch may take to begin: a kind that has just been defined is not served at once.
const BEGINNING: Duration = Duration::from_secs(10);
/// How long nothing at all may happen while something is waited for.
const PATIENCE: Duration = Duration::from_mins(1);

/// Watches on all kinds that come of a set. Dropped, they end.
pub struct Seen {
    tallies: Arc<Mutex<Tallies>>,
    watches: JoinSet<()>,
}

/// All that was seen.
#[derive(Debug)]
pub struct Tallies {
    kinds: BTreeMap<&'static str, Tally>,
    /// Pods that wait at a gate.
    gated: HashSet<String>,
    last_ungated: Instant,
    last_change: Instant,
    broken: Option<String>,
}

/// What was seen of a kind.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    there: HashSet<String>,
    listed: bool,
    /// Since the last [`Seen::mark`].
    pub changes: u64,
    pub first_came: Option<Instant>,
    pub last_came: Option<Instant>,
    /// Of what was there already.
    pub first_changed: Option<Instant>,
    pub last_changed: Option<Instant>,
    pub last_went: Option<Instant>,
}

impl Tallies {
    fn new() -> Self {
        let now = Instant::now();
        Self { kinds: BTreeMap::new(), gated: HashSet::new(), last_ungated: now, last_change: now, broken: None }
    }

    fn tally(&mut self, kind: &'static str) -> &mut Tally {
        self.kinds.entry(kind).or_default()
    }

    fn changed(&mut self, kind: &'static str, now: Instant) -> &mut Tally {
        self.last_change = now;
        let tally = self.tally(kind);
        tally.changes += 1;
        tally
    }

    fn applied(&mut self, kind: &'static str, name: String, gated: bool) {
        let now = Instant::now();
        let tally = self.changed(kind, now);
        if tally.there.insert(name.clone()) {
            tally.first_came.get_or_insert(now);
            tally.last_came = Some(now);
        } else {
            tally.first_changed.get_or_insert(now);
            tally.last_changed = Some(now);
        }
        if gated {
            self.gated.insert(name);
        } else if self.gated.remove(&name) {
            self.last_ungated = now;
        }
    }

    fn deleted(&mut self, kind: &'static str, name: &str) {
        let now = Instant::now();
        let tally = self.changed(kind, now);
        if tally.there.remove(name) {
            tally.last_went = Some(now);
        }
        self.gated.remove(name);
    }

    /// How many pods there are.
    pub fn pods(&self) -> usize {
        self.kinds.get(&*Pod::kind(&())).map_or(0, |tally| tally.there.len())
    }

    /// How many of them wait at no gate.
    pub fn ungated(&self) -> usize {
        self.pods() - self.gated.len()
    }

    /// How many objects of the set there are. What was said about it stays.
    pub fn objects(&self) -> usize {
        let ours = self.kinds.iter().filter(|(kind, _)| **kind != Told::kind(&()));
        ours.map(|(_, tally)| tally.there.len()).sum()
    }

    /// How many changes there were since the last mark.
    pub fn changes(&self) -> u64 {
        self.kinds.values().map(|tally| tally.changes).sum()
    }

    /// Since when nothing changes.
    pub fn last_change(&self) -> Instant {
        self.last_change
    }

    /// When the last pod came through its gate.
    pub fn last_ungated(&self) -> Instant {
        self.last_ungated
    }

    /// What was seen of each kind, those that nothing was seen of left out.
    pub fn kinds(&self) -> impl Iterator<Item = (&'static str, &Tally)> {
        self.kinds.iter().map(|(kind, tally)| (*kind, tally)).filter(|(_, tally)| tally.changes > 0)
    }

    /// When the last pod came.
    pub fn last_pod_came(&self) -> Option<Instant> {
        self.kinds.get(&*Pod::kind(&())).and_then(|tally| tally.last_came)
    }

    /// When the last pod went.
    pub fn last_pod_went(&self) -> Option<Instant> {
        self.kinds.get(&*Pod::kind(&())).and_then(|tally| tally.last_went)
    }

    /// When the last object of the set went.
    pub fn last_went(&self) -> Option<Instant> {
        self.kinds.values().filter_map(|tally| tally.last_went).max()
    }
}

impl Seen {
    /// Begins to watch, and waits until all watches have begun.
    pub async fn start(client: &Client, namespace: &str) -> Result<Self> {
        let tallies = Arc::new(Mutex::new(Tallies::new()));
        let mut seen = Self { tallies, watches: JoinSet::new() };
        seen.follow_pods(Api::namespaced(client.clone(), namespace));
        seen.follow::<PodCliqueSet>(client, namespace);
        seen.follow::<PodCliqueScalingGroup>(client, namespace);
        seen.follow::<PodClique>(client, namespace);
        seen.follow::<PodGang>(client, namespace);
        seen.follow::<Service>(client, namespace);
        seen.follow::<Told>(client, namespace);
        let all = seen.watches.len();
        seen.until(
            "the watches to begin",
            || Ok(()),
            |seen| seen.kinds.values().filter(|tally| tally.listed).count() == all,
        )
        .await?;
        Ok(seen)
    }

    fn follow<K>(&mut self, client: &Client, namespace: &str)
    where
        K: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
            + Clone
            + DeserializeOwned
            + Debug
            + Send
            + 'static,
    {
        let api: Api<PartialObjectMeta<K>> = Api::namespaced(client.clone(), namespace);
        let stream = watcher(api, watcher::Config::default()).boxed();
        self.watches.spawn(feed(Arc::clone(&self.tallies), kind::<K>(), stream, |_| false));
    }

    fn follow_pods(&mut self, api: Api<Pod>) {
        let gated = |pod: &Pod| {
            let gates = pod.spec.as_ref().and_then(|spec| spec.scheduling_gates.as_ref());
            gates.is_some_and(|gates| !gates.is_empty())
        };
        let stream = watcher(api, watcher::Config::default()).boxed();
        self.watches.spawn(feed(Arc::clone(&self.tallies), kind::<Pod>(), stream, gated));
    }

    /// What was seen so far.
    pub fn tallies(&self) -> MutexGuard<'_, Tallies> {
        self.tallies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts changes anew from now on.
    pub fn mark(&self) {
        for tally in self.tallies().kinds.values_mut() {
            let (there, listed) = (std::mem::take(&mut tally.there), tally.listed);
            *tally = Tally { there, listed, ..Tally::default() };
        }
    }

    /// Waits for something to be seen. `alive` may end the wait with an error, and so does a time in which nothing happens.
    pub async fn until(
        &self,
        what: &str,
        mut alive: impl FnMut() -> Result<()>,
        mut come: impl FnMut(&Tallies) -> bool,
    ) -> Result<()> {
        let begun = Instant::now();
        loop {
            {
                let seen = self.tallies();
                if come(&seen) {
                    return Ok(());
                }
                if let Some(error) = &seen.broken {
                    bail!("while waiting for {what}: {error}");
                }
                if seen.last_change.max(begun).elapsed() > PATIENCE {
                    let (pods, ungated, objects) = (seen.pods(), seen.ungated(), seen.objects());
                    bail!(
                        "nothing happens while waiting for {what}: there are {objects} objects, {pods} of them pods, {ungated} of \
                         these without a gate"
                    );
                }
            }
            alive()?;
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// The kind's name, which for all kinds here is written in the program.
fn kind<K: Resource<DynamicType = ()>>() -> &'static str {
    match K::kind(&()) {
        std::borrow::Cow::Borrowed(kind) => kind,
        std::borrow::Cow::Owned(_) => "?",
    }
}

/// Counts what a watch says. One that has to begin anew may have missed something, so it ends the benchmark.
async fn feed<K: Resource>(
    tallies: Arc<Mutex<Tallies>>,
    kind: &'static str,
    mut stream: impl Stream<Item = watcher::Result<Event<K>>> + Unpin,
    gated: impl Fn(&K) -> bool,
) {
    let begun = Instant::now();
    while let Some(event) = stream.next().await {
        if event.is_err() && begun.elapsed() < BEGINNING {
            tokio::time::sleep(LOOK).await;
            continue;
        }
        let mut tallies = tallies.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Ok(Event::Apply(object)) => tallies.applied(kind, object.name_any(), gated(&object)),
            Ok(Event::Delete(object)) => tallies.deleted(kind, &object.name_any()),
            Ok(Event::Init) if !tallies.tally(kind).listed => {}
            Ok(Event::InitApply(object)) => {
                tallies.tally(kind).there.insert(object.name_any());
            }
            Ok(Event::InitDone) => tallies.tally(kind).listed = true,
            Ok(Event::Init) => {
                tallies.broken = Some(format!("the watch of {kind} was cut off; hint: run it again"));
                return;
            }
            Err(error) => {
                tallies.broken = Some(format!("cannot watch {kind}: {error}"));
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_are_counted_as_they_come_are_ungated_and_go() {
        let mut seen = Tallies::new();
        seen.applied("PodCliqueSet", "bench".to_owned(), false);
        for name in ["a", "b"] {
            seen.applied("Pod", name.to_owned(), true);
        }
        assert_eq!((seen.pods(), seen.ungated(), seen.objects(), seen.changes()), (2, 0, 3, 3));
        seen.applied("Pod", "a".to_owned(), false);
        seen.applied("Pod", "a".to_owned(), false);
        assert_eq!((seen.pods(), seen.ungated(), seen.objects(), seen.changes()), (2, 1, 3, 5));
        seen.deleted("Pod", "b");
        seen.applied("Event", "said".to_owned(), false);
        assert_eq!((seen.pods(), seen.ungated(), seen.objects(), seen.changes()), (1, 1, 2, 7));
        assert!(seen.last_pod_went().is_some_and(|went| Some(went) == seen.last_went()));
    }
}
