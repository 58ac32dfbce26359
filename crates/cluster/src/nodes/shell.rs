//! The loop that watches pods and nodes, keeps the time, makes the requests, and takes commands: one task for all nodes.
//!
//! Whatever happens marks a pod or a node as due; what is due is looked at when a request may be made for it, and only then is decided
//! what to do. So a burst of changes costs one request, and a failed request is decided anew.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::time::Duration;

use futures::future::{AbortHandle, Abortable, BoxFuture};
use futures::stream::{BoxStream, FuturesUnordered};
use futures::{FutureExt, StreamExt};
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use super::address::Addresses;
use super::behaviour::Outcome;
use super::kubelet::Moment;
use super::pods::PodEntry;
use super::registry::NodeEntry;
use super::write::{self, Answer, Failure, Write};
use super::{Error, NodeSpec, Options};

/// The shortest and the longest time after which a request that failed is made again.
const RETRY: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(15));

/// How a caller learns that its command has been carried out.
pub(super) type Reply = oneshot::Sender<Result<(), Error>>;

/// What a caller can ask for.
#[derive(Debug)]
pub(super) enum Command {
    Stop(Reply),
    Registered(Reply),
    Lose(String, Reply),
    Restore(String, Reply),
    Add(Box<NodeSpec>, Reply),
    Remove(String, Reply),
    Finish { pod: (String, String), container: Option<String>, outcome: Outcome, reply: Reply },
}

/// What can be due: a pod by its uid, a node by its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Key {
    Pod(String),
    Node(String),
}

/// When something is due again, and how often a request for it has failed in a row.
#[derive(Debug, Default)]
pub(super) struct Pace {
    pub(super) is_busy: bool,
    pub(super) is_queued: bool,
    pub(super) wake: Option<Instant>,
    failures: u32,
    pub(super) not_before: Option<Instant>,
}

impl Pace {
    pub(super) fn succeeded(&mut self) {
        (self.failures, self.not_before) = (0, None);
    }

    pub(super) fn failed(&mut self, now: Instant) {
        let wait = RETRY.0.saturating_mul(1 << self.failures.min(16)).min(RETRY.1);
        self.failures += 1;
        self.not_before = Some(now + wait);
    }
}

/// The end of a container's run that a hook decided: pod, container, restarts before it, outcome.
pub(super) type Ended = (String, usize, i32, Outcome);

pub(super) struct Shell {
    client: Client,
    pub(super) options: Options,
    origin: Instant,
    pub(super) nodes: HashMap<String, NodeEntry>,
    pub(super) pods: HashMap<String, PodEntry>,
    pub(super) uids: HashMap<(String, String), String>,
    pub(super) node_addresses: Addresses,
    pub(super) pod_addresses: Addresses,
    timers: BTreeSet<(Instant, Key)>,
    due_pods: VecDeque<String>,
    due_nodes: VecDeque<String>,
    writes: FuturesUnordered<BoxFuture<'static, (Key, Result<Answer, Failure>)>>,
    node_writes: usize,
    hooks: FuturesUnordered<Abortable<BoxFuture<'static, Ended>>>,
    /// What a list that has begun has shown so far.
    pub(super) listed_pods: HashSet<String>,
    pub(super) listed_nodes: HashSet<String>,
    pub(super) is_listing_pods: bool,
    pub(super) knows_nodes: bool,
    /// Pods of a node that is new here have to be listed again, since those of other nodes are not kept.
    pub(super) must_relist: bool,
    pub(super) waiting: Vec<Reply>,
    /// How many nodes have been registered.
    pub(super) progress: watch::Sender<usize>,
    pub(super) error: Option<Error>,
}

impl Shell {
    pub(super) fn new(client: Client, nodes: Vec<NodeSpec>, options: Options, progress: watch::Sender<usize>) -> Self {
        let entries =
            nodes.into_iter().enumerate().map(|(index, spec)| (spec.name.clone(), NodeEntry::new(spec, index)));
        Self {
            client,
            origin: Instant::now(),
            nodes: entries.collect(),
            pods: HashMap::new(),
            uids: HashMap::new(),
            node_addresses: Addresses::of(options.node_network),
            pod_addresses: Addresses::of(options.pod_network),
            timers: BTreeSet::new(),
            due_pods: VecDeque::new(),
            due_nodes: VecDeque::new(),
            writes: FuturesUnordered::new(),
            node_writes: 0,
            hooks: FuturesUnordered::new(),
            listed_pods: HashSet::new(),
            listed_nodes: HashSet::new(),
            is_listing_pods: true,
            knows_nodes: false,
            must_relist: false,
            waiting: Vec::new(),
            progress,
            error: None,
            options,
        }
    }

    /// Plays the nodes until it is told to stop, or a node is refused.
    pub(super) async fn run(mut self, mut commands: mpsc::UnboundedReceiver<Command>) -> Result<(), Error> {
        let mut nodes = self.watch_nodes();
        let mut pods = self.watch_pods();
        let mut has_callers = true;
        loop {
            self.pump();
            if let Some(error) = self.error.take() {
                return Err(error);
            }
            if std::mem::take(&mut self.must_relist) {
                pods = self.watch_pods();
            }
            let wake = self.timers.first().map(|(at, _)| *at);
            tokio::select! {
                biased;
                command = commands.recv(), if has_callers => match command {
                    Some(Command::Stop(reply)) => {
                        let _ = reply.send(Ok(()));
                        return Ok(());
                    }
                    Some(command) => self.command(command),
                    None => has_callers = false,
                },
                Some((key, result)) = self.writes.next() => self.answered(&key, result),
                Some(ended) = self.hooks.next() => self.hook_ended(ended.ok()),
                () = tokio::time::sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => self.ring(),
                event = nodes.next() => self.node_event(event),
                event = pods.next() => self.pod_event(event),
            }
        }
    }

    fn watch_nodes(&self) -> BoxStream<'static, watcher::Result<Event<Node>>> {
        let nodes: Api<Node> = Api::all(self.client.clone());
        let events = watcher(nodes, watcher::Config::default()).default_backoff();
        events.modify(|node| node.metadata.managed_fields = None).boxed()
    }

    /// One watch for all nodes: thousands of watches would cost the API more than everything else here.
    fn watch_pods(&self) -> BoxStream<'static, watcher::Result<Event<Pod>>> {
        let pods: Api<Pod> = Api::all(self.client.clone());
        let events = watcher(pods, watcher::Config::default().fields("spec.nodeName!=")).default_backoff();
        events.modify(|pod| pod.metadata.managed_fields = None).boxed()
    }

    pub(super) fn now(&self) -> Moment {
        let elapsed = SignedDuration::try_from(self.origin.elapsed()).unwrap_or(SignedDuration::MAX);
        Moment { at: elapsed, stamp: (self.options.now)() }
    }

    /// The moment on the runtime's clock; one that is out of its reach is as good as never.
    pub(super) fn instant(&self, at: SignedDuration) -> Option<Instant> {
        let since_origin = Duration::try_from(at.max(SignedDuration::ZERO)).ok()?;
        self.origin.checked_add(since_origin)
    }

    fn pace(&mut self, key: &Key) -> Option<&mut Pace> {
        match key {
            Key::Pod(uid) => self.pods.get_mut(uid).map(|entry| &mut entry.pace),
            Key::Node(name) => self.nodes.get_mut(name).map(|entry| &mut entry.pace),
        }
    }

    /// Marks something as due.
    pub(super) fn due(&mut self, key: &Key) {
        let Some(pace) = self.pace(key) else { return };
        if !std::mem::replace(&mut pace.is_queued, true) {
            match key {
                Key::Pod(uid) => self.due_pods.push_back(uid.clone()),
                Key::Node(name) => self.due_nodes.push_back(name.clone()),
            }
        }
    }

    /// Marks something as due at `at`, instead of whenever it was due before.
    pub(super) fn due_at(&mut self, key: Key, at: Option<Instant>) {
        let Some(pace) = self.pace(&key) else { return };
        let before = std::mem::replace(&mut pace.wake, at);
        if before == at {
            return;
        }
        if let Some(before) = before {
            self.timers.remove(&(before, key.clone()));
        }
        if let Some(at) = at {
            self.timers.insert((at, key));
        }
    }

    fn ring(&mut self) {
        let now = Instant::now();
        while self.timers.first().is_some_and(|(at, _)| *at <= now) {
            let Some((_, key)) = self.timers.pop_first() else { return };
            if let Some(pace) = self.pace(&key) {
                pace.wake = None;
            }
            self.due(&key);
        }
    }

    /// Looks at what is due, as long as a request may be made. Heartbeats of thousands of nodes must not keep pods waiting, nor the
    /// reverse, so a quarter is theirs.
    fn pump(&mut self) {
        let parallelism = self.options.parallelism.max(1);
        while self.writes.len() < parallelism {
            let is_nodes_turn = self.node_writes < parallelism.div_ceil(4) || self.due_pods.is_empty();
            if is_nodes_turn && let Some(name) = self.due_nodes.pop_front() {
                self.drive_node(&name);
            } else if let Some(uid) = self.due_pods.pop_front() {
                self.drive_pod(&uid);
            } else if self.due_nodes.is_empty() {
                return;
            }
        }
    }

    /// Makes a request for something that has none under way.
    pub(super) fn send(&mut self, key: Key, write: Write) {
        if let Some(pace) = self.pace(&key) {
            pace.is_busy = true;
        }
        if let Some(node) = self.node_of(&key) {
            node.under_way += 1;
        }
        self.node_writes += usize::from(matches!(key, Key::Node(_)));
        let request = write::send(self.client.clone(), write);
        self.writes.push(request.map(|result| (key, result)).boxed());
    }

    /// Asks a hook how a run of a container ends.
    pub(super) fn hold(&mut self, run: BoxFuture<'static, Ended>) -> AbortHandle {
        let (handle, registration) = AbortHandle::new_pair();
        self.hooks.push(Abortable::new(run, registration));
        handle
    }

    fn node_of(&mut self, key: &Key) -> Option<&mut NodeEntry> {
        let name = match key {
            Key::Pod(uid) => &self.pods.get(uid)?.node,
            Key::Node(name) => name,
        };
        self.nodes.get_mut(name)
    }

    fn answered(&mut self, key: &Key, result: Result<Answer, Failure>) {
        self.node_writes -= usize::from(matches!(key, Key::Node(_)));
        if let Some(pace) = self.pace(key) {
            pace.is_busy = false;
        }
        let node = self.node_of(key).map(|node| {
            // Saturating, since a pod may be forgotten and met again while a request for it is under way.
            node.under_way = node.under_way.saturating_sub(1);
            node.spec.name.clone()
        });
        match key {
            Key::Pod(uid) => self.pod_answered(uid, result),
            Key::Node(name) => self.node_answered(name, result),
        }
        self.due(key);
        if let Some(node) = node {
            self.say_quiet(&node);
        }
    }

    fn command(&mut self, command: Command) {
        match command {
            // Taken by the loop.
            Command::Stop(reply) => drop(reply.send(Ok(()))),
            Command::Registered(reply) => {
                self.waiting.push(reply);
                self.say_registered();
            }
            Command::Lose(name, reply) => self.lose(&name, reply),
            Command::Restore(name, reply) => self.restore(&name, reply),
            Command::Add(spec, reply) => self.add(*spec, reply),
            Command::Remove(name, reply) => self.remove(&name, reply),
            Command::Finish { pod, container, outcome, reply } => {
                // Whoever does not wait for the answer does not want it.
                let _ = reply.send(self.finish(&pod, container.as_deref(), &outcome));
            }
        }
    }
}
