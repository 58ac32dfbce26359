//! The simulated nodes themselves: how each is registered or taken over, kept alive, lost, brought back and removed.

use std::collections::{BTreeSet, HashMap};

use k8s_openapi::api::core::v1::Node;
use kube::runtime::watcher::{self, Event};
use tokio::time::{Duration, Instant};
use tracing::{info, warn};

use super::charge::Charge;
use super::pods::is_later;
use super::shell::{Key, Pace, Reply, Shell};
use super::write::{Answer, Failure, Write};
use super::{Error, NodeSpec, node};

/// How often a node that has a lease says in full that it is well, as a kubelet does.
const REPORT: Duration = Duration::from_mins(5);

/// How far a node has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Not known to the API yet, as far as is known here.
    New,
    /// There already: its labels and taints are brought in line.
    Adopted,
    /// Its capacity is, too.
    Reported,
    /// At work.
    Registered,
    /// Somebody deleted it. A kubelet does not put it back.
    Deleted,
    /// It is to go, and then its lease.
    Leaving,
    LeaseLeaving,
}

/// The request that is under way for a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Read,
    Create,
    Patch,
    Report,
    LeaseCreate,
    LeaseRenew,
    Delete,
    LeaseDelete,
}

impl Asked {
    fn of(write: &Write) -> Option<Self> {
        match write {
            Write::NodeRead { .. } => Some(Self::Read),
            Write::NodeCreate { .. } => Some(Self::Create),
            Write::NodePatch { .. } => Some(Self::Patch),
            Write::NodeStatus { .. } => Some(Self::Report),
            Write::LeaseCreate { .. } => Some(Self::LeaseCreate),
            Write::LeaseRenew { .. } => Some(Self::LeaseRenew),
            Write::NodeDelete { .. } => Some(Self::Delete),
            Write::LeaseDelete { .. } => Some(Self::LeaseDelete),
            Write::PodStatus { .. } | Write::PodDelete { .. } => None,
        }
    }
}

/// A simulated node.
pub(super) struct NodeEntry {
    pub(super) spec: NodeSpec,
    pub(super) live: Option<Node>,
    pub(super) address: String,
    pub(super) is_lost: bool,
    pub(super) pace: Pace,
    /// Its pods, by their uid.
    pub(super) pods: BTreeSet<String>,
    /// What they take of it, those that it has taken.
    pub(super) charges: HashMap<String, Charge>,
    /// Requests for it and its pods.
    pub(super) under_way: usize,
    stage: Stage,
    asked: Option<Asked>,
    index: usize,
    has_lease: bool,
    must_read: bool,
    next_renewal: Option<Instant>,
    next_report: Option<Instant>,
    /// Who waits for its registration or its removal.
    waiting: Vec<Reply>,
    /// Who waits for the end of all requests.
    quiet: Vec<Reply>,
}

impl NodeEntry {
    pub(super) fn new(spec: NodeSpec, index: usize) -> Self {
        Self {
            spec,
            live: None,
            address: String::new(),
            is_lost: false,
            pace: Pace::default(),
            pods: BTreeSet::new(),
            charges: HashMap::new(),
            under_way: 0,
            stage: Stage::New,
            asked: None,
            index,
            has_lease: false,
            must_read: false,
            next_renewal: None,
            next_report: None,
            waiting: Vec::new(),
            quiet: Vec::new(),
        }
    }

    /// Whether enough is known of the node to judge pods, and it is not about to go.
    pub(super) fn is_known(&self) -> bool {
        matches!(self.stage, Stage::Registered | Stage::Deleted)
    }
}

fn tell(replies: &mut Vec<Reply>) {
    // Whoever does not wait for the answer does not want it.
    replies.drain(..).for_each(|reply| drop(reply.send(Ok(()))));
}

impl Shell {
    pub(super) fn node_event(&mut self, event: Option<watcher::Result<Event<Node>>>) {
        match event {
            Some(Ok(Event::Init)) => self.listed_nodes.clear(),
            Some(Ok(Event::InitApply(node))) => {
                self.listed_nodes.extend(node.metadata.name.clone());
                self.saw_node(node);
            }
            Some(Ok(Event::Apply(node))) => self.saw_node(node),
            Some(Ok(Event::InitDone)) => self.listed_nodes(),
            Some(Ok(Event::Delete(node))) => self.lost_node(node.metadata.name.as_deref().unwrap_or_default()),
            Some(Err(error)) => warn!(%error, "the watch of nodes is interrupted"),
            None => {}
        }
    }

    pub(super) fn saw_node(&mut self, mut node: Node) {
        let Some(name) = node.metadata.name.clone() else { return };
        let address = node::address(&node).map(str::to_owned);
        if let Some(address) = &address {
            self.node_addresses.reserve(address);
        }
        let Some(entry) = self.nodes.get_mut(&name) else { return };
        let known = entry.live.as_ref().and_then(|live| live.metadata.resource_version.as_deref());
        if !is_later(node.metadata.resource_version.as_deref(), known) {
            return;
        }
        node.metadata.managed_fields = None;
        entry.address = address.unwrap_or(std::mem::take(&mut entry.address));
        entry.live = Some(node);
        if matches!(entry.stage, Stage::New | Stage::Deleted) && !entry.pace.is_busy {
            entry.stage = Stage::Adopted;
            self.due(&Key::Node(name));
        }
    }

    fn listed_nodes(&mut self) {
        self.knows_nodes = true;
        let is_gone = |entry: &NodeEntry| entry.live.is_some() && !self.listed_nodes.contains(&entry.spec.name);
        let mut gone: Vec<String> =
            self.nodes.values().filter(|entry| is_gone(entry)).map(|e| e.spec.name.clone()).collect();
        gone.sort();
        gone.iter().for_each(|name| self.lost_node(name));
        let mut all: Vec<(usize, String)> =
            self.nodes.values().map(|entry| (entry.index, entry.spec.name.clone())).collect();
        all.sort();
        all.into_iter().for_each(|(_, name)| self.due(&Key::Node(name)));
        self.say_registered();
    }

    /// The node is not in the API any more.
    fn lost_node(&mut self, name: &str) {
        let Some(entry) = self.nodes.get_mut(name) else { return };
        if matches!(entry.stage, Stage::Adopted | Stage::Reported) {
            entry.stage = Stage::New;
            entry.live = None;
        } else if entry.stage == Stage::Registered {
            info!(node = name, "a node was deleted, and is not put back");
            entry.stage = Stage::Deleted;
            entry.has_lease = false;
        }
        self.due(&Key::Node(name.to_owned()));
    }

    /// Does what a node needs, up to the next request.
    pub(super) fn drive_node(&mut self, name: &str) {
        let key = Key::Node(name.to_owned());
        let now = Instant::now();
        let Some(entry) = self.nodes.get_mut(name) else { return };
        entry.pace.is_queued = false;
        if entry.pace.is_busy || entry.is_lost || !self.knows_nodes {
            return;
        }
        if let Some(time) = entry.pace.not_before.filter(|time| *time > now) {
            self.due_at(key, Some(time));
            return;
        }
        if entry.address.is_empty() && entry.stage != Stage::Leaving {
            let address = self.node_addresses.take();
            entry.address = address.map(|address| address.to_string()).unwrap_or_default();
        }
        let write = self.node_write(name, now);
        let Some(entry) = self.nodes.get_mut(name) else { return };
        match write {
            Some(write) => {
                entry.asked = Asked::of(&write);
                self.send(key, write);
            }
            None => {
                let next = entry.next_renewal.into_iter().chain(entry.next_report).min();
                let next = next.filter(|_| entry.stage == Stage::Registered);
                self.due_at(key, next);
            }
        }
    }

    /// The request that a node needs now.
    fn node_write(&mut self, name: &str, now: Instant) -> Option<Write> {
        let stamp = (self.options.now)();
        let version = &self.options.kubelet_version;
        let seconds = i32::try_from(self.options.heartbeat.as_secs().saturating_mul(4).max(1)).unwrap_or(i32::MAX);
        let entry = self.nodes.get_mut(name)?;
        let name = name.to_owned();
        if entry.must_read {
            return Some(Write::NodeRead { name });
        }
        if entry.stage == Stage::Adopted {
            match node::adoption(&entry.spec, entry.live.as_ref()?) {
                Some(patch) => return Some(Write::NodePatch { name, patch }),
                None => entry.stage = Stage::Reported,
            }
        }
        let live = entry.live.as_ref();
        match entry.stage {
            Stage::New => Some(Write::NodeCreate { node: node::node(&entry.spec, &entry.address, version, stamp) }),
            Stage::Reported => {
                let missing_address = live.is_none_or(|live| node::address(live).is_none());
                let address = missing_address.then_some(entry.address.as_str());
                let patch = node::status_patch(&entry.spec, live, address, version, stamp);
                Some(Write::NodeStatus { name, patch })
            }
            Stage::Registered if entry.next_report.is_some_and(|time| time <= now) => {
                Some(Write::NodeStatus { name, patch: node::heartbeat(live, stamp) })
            }
            Stage::Registered if entry.next_renewal.is_some_and(|time| time <= now) => {
                // A node that somebody called unready says so again; a kubelet that lives is believed.
                if live.is_some_and(|live| !node::is_ready(live)) {
                    return Some(Write::NodeStatus { name, patch: node::heartbeat(live, stamp) });
                }
                let uid = live.and_then(|live| live.metadata.uid.as_deref());
                match entry.has_lease {
                    true => Some(Write::LeaseRenew { patch: node::renewal(&name, seconds, stamp), name }),
                    false => Some(Write::LeaseCreate { lease: Box::new(node::lease(&name, uid, seconds, stamp)) }),
                }
            }
            Stage::Leaving => Some(Write::NodeDelete { name }),
            Stage::LeaseLeaving => Some(Write::LeaseDelete { name }),
            Stage::Registered | Stage::Adopted | Stage::Deleted => None,
        }
    }

    pub(super) fn node_answered(&mut self, name: &str, result: Result<Answer, Failure>) {
        let now = Instant::now();
        let Some(entry) = self.nodes.get_mut(name) else { return };
        let Some(asked) = entry.asked.take() else { return };
        match result {
            Ok(answer) => {
                entry.pace.succeeded();
                if let Answer::Node(mut node) = answer {
                    let known = entry.live.as_ref().and_then(|live| live.metadata.resource_version.as_deref());
                    if is_later(node.metadata.resource_version.as_deref(), known) {
                        node.metadata.managed_fields = None;
                        entry.live = Some(*node);
                    }
                }
                self.node_written(name, asked, now);
            }
            Err(failure) => self.node_failed(name, asked, failure, now),
        }
    }

    fn node_written(&mut self, name: &str, asked: Asked, now: Instant) {
        let heartbeat = self.options.heartbeat;
        let Some(entry) = self.nodes.get_mut(name) else { return };
        match (asked, entry.stage) {
            (Asked::Read, stage) => {
                entry.must_read = false;
                entry.stage = if stage == Stage::New { Stage::Adopted } else { stage };
            }
            (Asked::Patch, Stage::Adopted) => entry.stage = Stage::Reported,
            (Asked::Create, Stage::New | Stage::Adopted) | (Asked::Report, Stage::Reported) => {
                self.node_registered(name, now);
            }
            (Asked::Report, Stage::Registered) => entry.next_report = (!heartbeat.is_zero()).then(|| now + REPORT),
            (Asked::LeaseCreate | Asked::LeaseRenew, Stage::Registered) => {
                // Leases of many nodes that were made at once are renewed one after the other.
                let share = if entry.has_lease { 1.0 } else { spread(entry.index) };
                entry.has_lease = true;
                entry.next_renewal = Some(now + heartbeat.mul_f64(share));
            }
            (Asked::Delete, Stage::Leaving) => entry.stage = Stage::LeaseLeaving,
            (Asked::LeaseDelete, Stage::LeaseLeaving) => self.node_left(name),
            // What was asked for has been overtaken.
            _ => {}
        }
    }

    fn node_registered(&mut self, name: &str, now: Instant) {
        let has_heartbeat = !self.options.heartbeat.is_zero();
        let Some(entry) = self.nodes.get_mut(name) else { return };
        entry.stage = Stage::Registered;
        if has_heartbeat {
            entry.next_renewal = Some(now);
            entry.next_report = Some(now + REPORT.mul_f64(0.5 + spread(entry.index) / 2.0));
        }
        tell(&mut entry.waiting);
        self.progress.send_modify(|count| *count += 1);
        self.say_registered();
        self.pods_due(name);
    }

    fn node_failed(&mut self, name: &str, asked: Asked, failure: Failure, now: Instant) {
        let Some(entry) = self.nodes.get_mut(name) else { return };
        let is_registered = entry.stage == Stage::Registered;
        match (asked, failure) {
            // It exists, or is another version than was thought.
            (Asked::Create | Asked::Patch, Failure::Conflict(_)) => entry.must_read = true,
            (Asked::Create, Failure::Refused(message)) => {
                let error = || Error::Refused { node: name.to_owned(), message: message.clone() };
                if entry.waiting.is_empty() {
                    self.error = Some(error());
                } else {
                    entry.waiting.drain(..).for_each(|reply| drop(reply.send(Err(error()))));
                    self.node_left(name);
                }
            }
            (Asked::Read | Asked::Patch | Asked::Report, Failure::Gone) if !is_registered => {
                entry.must_read = false;
                self.lost_node(name);
            }
            (Asked::LeaseCreate, Failure::Conflict(_)) => entry.has_lease = true,
            (Asked::LeaseRenew, Failure::Gone) => entry.has_lease = false,
            (Asked::Delete, Failure::Gone) => entry.stage = Stage::LeaseLeaving,
            (Asked::LeaseDelete, Failure::Gone) => self.node_left(name),
            (_, Failure::Gone) => entry.pace.failed(now),
            (_, Failure::Conflict(message) | Failure::Refused(message) | Failure::Later(message)) => {
                warn!(node = name, message, "a request for a node failed");
                entry.pace.failed(now);
            }
        }
    }

    /// Nothing is left of the node.
    fn node_left(&mut self, name: &str) {
        self.due_at(Key::Node(name.to_owned()), None);
        let pods = self.pods_of(name);
        pods.iter().for_each(|uid| self.forget_pod(uid));
        if let Some(mut entry) = self.nodes.remove(name) {
            self.node_addresses.release(&entry.address);
            tell(&mut entry.waiting);
            tell(&mut entry.quiet);
        }
        self.say_registered();
    }

    fn pods_of(&self, node: &str) -> Vec<String> {
        self.nodes.get(node).map(|entry| entry.pods.iter().cloned().collect()).unwrap_or_default()
    }

    fn pods_due(&mut self, node: &str) {
        self.pods_of(node).into_iter().for_each(|uid| self.due(&Key::Pod(uid)));
    }

    pub(super) fn lose(&mut self, name: &str, reply: Reply) {
        match self.nodes.get_mut(name) {
            Some(entry) => {
                entry.is_lost = true;
                entry.quiet.push(reply);
                self.say_quiet(name);
            }
            None => drop(reply.send(Err(Error::NoNode(name.to_owned())))),
        }
    }

    pub(super) fn restore(&mut self, name: &str, reply: Reply) {
        let now = Instant::now();
        let Some(entry) = self.nodes.get_mut(name) else {
            drop(reply.send(Err(Error::NoNode(name.to_owned()))));
            return;
        };
        entry.is_lost = false;
        entry.next_report = Some(now);
        entry.next_renewal = entry.next_renewal.map(|_| now);
        let _ = reply.send(Ok(()));
        self.due(&Key::Node(name.to_owned()));
        self.pods_due(name);
    }

    pub(super) fn add(&mut self, spec: NodeSpec, reply: Reply) {
        let name = spec.name.clone();
        if self.nodes.contains_key(&name) {
            drop(reply.send(Err(Error::Duplicate(name))));
            return;
        }
        let mut entry = NodeEntry::new(spec, self.nodes.len());
        entry.waiting.push(reply);
        self.nodes.insert(name.clone(), entry);
        self.must_relist = true;
        self.due(&Key::Node(name));
    }

    pub(super) fn remove(&mut self, name: &str, reply: Reply) {
        match self.nodes.get_mut(name) {
            Some(entry) => {
                (entry.stage, entry.is_lost, entry.must_read) = (Stage::Leaving, false, false);
                entry.waiting.push(reply);
                self.due(&Key::Node(name.to_owned()));
            }
            None => drop(reply.send(Err(Error::NoNode(name.to_owned())))),
        }
    }

    /// Tells those who wait for it that nothing is under way for a lost node.
    pub(super) fn say_quiet(&mut self, name: &str) {
        if let Some(entry) = self.nodes.get_mut(name).filter(|entry| entry.under_way == 0) {
            tell(&mut entry.quiet);
        }
    }

    /// Tells those who wait for it that all nodes are registered.
    pub(super) fn say_registered(&mut self) {
        let is_waiting = |stage| matches!(stage, Stage::New | Stage::Adopted | Stage::Reported);
        if !self.waiting.is_empty() && self.knows_nodes && !self.nodes.values().any(|entry| is_waiting(entry.stage)) {
            tell(&mut self.waiting);
        }
    }
}

/// A share of a time, so that those of many nodes spread over it.
fn spread(index: usize) -> f64 {
    // Multiples of the golden ratio never crowd.
    let turns = f64::from(u32::try_from(index % 100_000).unwrap_or(0)) * 0.618_033_988_75;
    turns.fract()
}
