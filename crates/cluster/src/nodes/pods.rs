//! The pods of the simulated nodes: what is known of each, and which request it needs next.

use futures::FutureExt;
use futures::future::AbortHandle;
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::watcher::{self, Event};
use serde_json::Value;
use tokio::time::Instant;
use tracing::{debug, warn};

use super::admission::{NODE_AFFINITY, admit};
use super::behaviour::{Behaviour, Outcome};
use super::charge::Charge;
use super::kubelet::{Moment, Next, PodLife, Role, is_terminal, specs};
use super::shell::{Ended, Key, Pace, Shell};
use super::status::{self, Place};
use super::write::{Answer, Failure, Write};
use super::{Error, Options};

/// A pod of a simulated node.
pub(super) struct PodEntry {
    pub(super) pod: Pod,
    pub(super) node: String,
    pub(super) pace: Pace,
    life: PodLife,
    place: Place,
    /// The node has been read anew to judge this pod.
    has_fresh_node: bool,
    /// The API says that it is not there; the watch will, too.
    is_gone: bool,
    runs: Vec<AbortHandle>,
    /// The last patch of the status.
    sent: Option<Value>,
    /// A patch that changed nothing, so that it is no use to send it again: the API writes something in another way than is done here.
    futile: Option<Value>,
}

impl Drop for PodEntry {
    fn drop(&mut self) {
        self.runs.iter().for_each(AbortHandle::abort);
    }
}

/// Whether `new` is a later version than `old`. What cannot be compared is taken to be.
pub(super) fn is_later(new: Option<&str>, old: Option<&str>) -> bool {
    let number = |version: Option<&str>| version.and_then(|version| version.parse::<u64>().ok());
    match (number(new), number(old)) {
        (Some(new), Some(old)) => new > old,
        _ => true,
    }
}

impl Shell {
    pub(super) fn pod_event(&mut self, event: Option<watcher::Result<Event<Pod>>>) {
        match event {
            Some(Ok(Event::Init)) => {
                self.is_listing_pods = true;
                self.listed_pods.clear();
            }
            Some(Ok(Event::InitApply(pod) | Event::Apply(pod))) => self.saw_pod(pod),
            Some(Ok(Event::InitDone)) => self.listed_pods(),
            Some(Ok(Event::Delete(pod))) => self.forget_pod(pod.metadata.uid.as_deref().unwrap_or_default()),
            Some(Err(error)) => warn!(%error, "the watch of pods is interrupted"),
            None => self.must_relist = true,
        }
    }

    fn saw_pod(&mut self, pod: Pod) {
        let (Some(uid), Some(node)) =
            (pod.metadata.uid.clone(), pod.spec.as_ref().and_then(|spec| spec.node_name.clone()))
        else {
            return;
        };
        if !self.nodes.contains_key(&node) {
            return;
        }
        if self.is_listing_pods {
            self.listed_pods.insert(uid.clone());
        }
        match self.pods.get_mut(&uid) {
            Some(entry) => {
                let version = pod.metadata.resource_version.as_deref();
                if !is_later(version, entry.pod.metadata.resource_version.as_deref()) {
                    return;
                }
                entry.pod = pod;
                entry.futile = None;
            }
            None => self.meet_pod(&uid, node, pod),
        }
        self.charge(&uid);
        // A new pod waits for the end of the list: those that run already come first.
        if !self.is_listing_pods {
            self.due(&Key::Pod(uid));
        }
    }

    fn meet_pod(&mut self, uid: &str, node: String, pod: Pod) {
        let life = PodLife::of(&pod, self.now());
        let address = pod.status.as_ref().and_then(|status| status.pod_ip.clone()).unwrap_or_default();
        let is_on_host = pod.spec.as_ref().and_then(|spec| spec.host_network).unwrap_or(false);
        if !is_on_host {
            self.pod_addresses.reserve(&address);
        }
        let name = (pod.metadata.namespace.clone().unwrap_or_default(), pod.metadata.name.clone().unwrap_or_default());
        self.uids.insert(name, uid.to_owned());
        if let Some(node) = self.nodes.get_mut(&node) {
            node.pods.insert(uid.to_owned());
        }
        let place = Place { host: String::new(), pod: address };
        let entry = PodEntry {
            pod,
            node,
            pace: Pace::default(),
            life,
            place,
            has_fresh_node: false,
            is_gone: false,
            runs: Vec::new(),
            sent: None,
            futile: None,
        };
        self.pods.insert(uid.to_owned(), entry);
    }

    fn listed_pods(&mut self) {
        self.is_listing_pods = false;
        let listed = std::mem::take(&mut self.listed_pods);
        let mut gone: Vec<String> = self.pods.keys().filter(|uid| !listed.contains(*uid)).cloned().collect();
        gone.sort();
        gone.iter().for_each(|uid| self.forget_pod(uid));
        let mut due: Vec<_> = self.pods.iter().collect();
        due.sort_by_key(|(uid, entry)| (entry.pod.metadata.creation_timestamp.clone(), (*uid).clone()));
        let due: Vec<Key> = due.into_iter().map(|(uid, _)| Key::Pod(uid.clone())).collect();
        due.iter().for_each(|key| self.due(key));
    }

    pub(super) fn forget_pod(&mut self, uid: &str) {
        self.due_at(Key::Pod(uid.to_owned()), None);
        let Some(entry) = self.pods.remove(uid) else { return };
        let is_on_host = entry.pod.spec.as_ref().and_then(|spec| spec.host_network).unwrap_or(false);
        if !is_on_host {
            self.pod_addresses.release(&entry.place.pod);
        }
        let metadata = &entry.pod.metadata;
        let name = (metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default());
        if self.uids.get(&name).is_some_and(|known| known == uid) {
            self.uids.remove(&name);
        }
        if let Some(node) = self.nodes.get_mut(&entry.node) {
            node.charges.remove(uid);
            // A request for it may still be under way; its end is not told to anybody any more.
            node.under_way = node.under_way.saturating_sub(usize::from(entry.pace.is_busy));
            node.pods.remove(uid);
        }
        let node = entry.node.clone();
        drop(entry);
        self.say_quiet(&node);
    }

    /// Keeps the node's account of the pod: nothing before it is taken, nothing after it is over.
    fn charge(&mut self, uid: &str) {
        let Some(entry) = self.pods.get(uid) else { return };
        let Some(node) = self.nodes.get_mut(&entry.node) else { return };
        if entry.life.is_new() || entry.life.over || is_terminal(&entry.pod) {
            node.charges.remove(uid);
        } else {
            node.charges.insert(uid.to_owned(), Charge::of(&entry.pod));
        }
    }

    /// Does what a pod needs, up to the next request.
    pub(super) fn drive_pod(&mut self, uid: &str) {
        let now = self.now();
        let key = Key::Pod(uid.to_owned());
        let Some(entry) = self.pods.get_mut(uid) else { return };
        entry.pace.is_queued = false;
        let Some(node) = self.nodes.get(&entry.node).filter(|node| !node.is_lost && node.is_known()) else { return };
        if entry.pace.is_busy || entry.is_gone {
            return;
        }
        if let Some(time) = entry.pace.not_before.filter(|time| *time > Instant::now()) {
            self.due_at(key, Some(time));
            return;
        }
        entry.place.host.clone_from(&node.address);
        if self.must_read_node(uid, now) {
            let name = self.pods.get(uid).map(|entry| entry.node.clone()).unwrap_or_default();
            self.send(key, Write::NodeRead { name });
            return;
        }
        let next = self.step(uid, now);
        self.charge(uid);
        let wake = next.wake.and_then(|at| self.instant(at));
        self.due_at(key.clone(), wake);
        let Some(entry) = self.pods.get_mut(uid) else { return };
        if let Some(write) = write(entry, &self.options, now) {
            if let Write::PodStatus { patch, .. } = &write {
                entry.sent = Some(patch.clone());
            }
            self.send(key, write);
        }
    }

    /// Judges a new pod. True if the node should be read first: it may have got a label that the pod was bound for just now.
    fn must_read_node(&mut self, uid: &str, now: Moment) -> bool {
        let Some(entry) = self.pods.get_mut(uid) else { return false };
        if !entry.life.is_new() || entry.pod.metadata.deletion_timestamp.is_some() {
            return false;
        }
        let Some(node) = self.nodes.get(&entry.node) else { return false };
        let Some(live) = &node.live else { return false };
        match admit(&entry.pod, &Charge::of(&entry.pod), live, node.charges.values()) {
            Ok(()) => {
                entry.life.admit(now);
                let is_on_host = entry.pod.spec.as_ref().and_then(|spec| spec.host_network).unwrap_or(false);
                if entry.place.pod.is_empty() && !is_on_host {
                    let address = self.pod_addresses.take();
                    entry.place.pod = address.map(|address| address.to_string()).unwrap_or_default();
                }
                self.charge(uid);
                false
            }
            Err(rejection) if rejection.reason == NODE_AFFINITY && !entry.has_fresh_node => {
                entry.has_fresh_node = true;
                true
            }
            Err(rejection) => {
                debug!(pod = entry.pod.metadata.name, rejection.reason, "a pod is rejected");
                entry.life.reject(rejection, now);
                false
            }
        }
    }

    /// Lets the pod live on, and asks hooks about what begins; what they decide at once needs no report in between.
    fn step(&mut self, uid: &str, now: Moment) -> Next {
        loop {
            let Some(entry) = self.pods.get_mut(uid) else { return Next::default() };
            let behaviour = Behaviour::of(&entry.pod, &self.options);
            let next = entry.life.step(&entry.pod, &behaviour, now);
            let mut is_settled = true;
            let mut pending = Vec::new();
            for index in &next.begin {
                let (Some(life), Some(spec)) = (entry.life.containers.get(*index), specs(&entry.pod).nth(*index))
                else {
                    continue;
                };
                let hook = if life.role == Role::Init { &self.options.init } else { &self.options.run };
                let Some(mut run) = hook.as_ref().map(|hook| hook(&entry.pod, spec)) else { continue };
                let restarts = life.restarts;
                match (&mut run).now_or_never() {
                    Some(outcome) => {
                        entry.life.ended(*index, restarts, &outcome, &behaviour, now);
                        is_settled = false;
                    }
                    None => {
                        let (uid, index) = (uid.to_owned(), *index);
                        pending.push(run.map(move |outcome| (uid, index, restarts, outcome)).boxed());
                    }
                }
            }
            if entry.life.over {
                entry.runs.drain(..).for_each(|run| run.abort());
            }
            for run in pending {
                let handle = self.hold(run);
                if let Some(entry) = self.pods.get_mut(uid) {
                    entry.runs.push(handle);
                }
            }
            if is_settled {
                return next;
            }
        }
    }

    pub(super) fn hook_ended(&mut self, ended: Option<Ended>) {
        let Some((uid, index, restarts, outcome)) = ended else { return };
        let now = self.now();
        if let Some(entry) = self.pods.get_mut(&uid) {
            let behaviour = Behaviour::of(&entry.pod, &self.options);
            entry.life.ended(index, restarts, &outcome, &behaviour, now);
        }
        self.due(&Key::Pod(uid));
    }

    /// Ends a container on a caller's behalf.
    pub(super) fn finish(
        &mut self,
        pod: &(String, String),
        container: Option<&str>,
        outcome: &Outcome,
    ) -> Result<(), Error> {
        let now = self.now();
        let missing = || Error::NoContainer(format!("{}/{}", pod.0, pod.1));
        let uid = self.uids.get(pod).ok_or_else(missing)?.clone();
        let entry = self.pods.get_mut(&uid).ok_or_else(missing)?;
        let index = entry.life.running(&entry.pod, container).ok_or_else(missing)?;
        let behaviour = Behaviour::of(&entry.pod, &self.options);
        let restarts = entry.life.containers.get(index).map_or(0, |life| life.restarts);
        entry.life.ended(index, restarts, outcome, &behaviour, now);
        self.due(&Key::Pod(uid));
        Ok(())
    }

    pub(super) fn pod_answered(&mut self, uid: &str, result: Result<Answer, Failure>) {
        if let Ok(Answer::Node(node)) = result {
            self.saw_node(*node);
            return;
        }
        let Some(entry) = self.pods.get_mut(uid) else { return };
        match result {
            Ok(answer) => {
                entry.pace.succeeded();
                match answer {
                    Answer::Pod(pod) => {
                        let sent = entry.sent.take();
                        let is_same = pod.metadata.resource_version == entry.pod.metadata.resource_version;
                        entry.futile = sent.filter(|_| is_same);
                        let version = pod.metadata.resource_version.as_deref();
                        if is_later(version, entry.pod.metadata.resource_version.as_deref()) {
                            entry.pod = *pod;
                            entry.pod.metadata.managed_fields = None;
                        }
                    }
                    // Deleted; the watch will say so.
                    Answer::Nothing => entry.is_gone = true,
                    Answer::Node(_) => {}
                }
            }
            // Also what a read of its node says if the node is gone: then nothing more is to be known of it.
            Err(Failure::Gone) if entry.life.is_new() => entry.pace.failed(Instant::now()),
            Err(Failure::Gone) => entry.is_gone = true,
            Err(Failure::Conflict(message) | Failure::Refused(message) | Failure::Later(message)) => {
                warn!(pod = entry.pod.metadata.name, message, "a request for a pod failed");
                entry.pace.failed(Instant::now());
            }
        }
    }
}

/// The request that the pod needs now.
fn write(entry: &PodEntry, options: &Options, now: Moment) -> Option<Write> {
    let metadata = &entry.pod.metadata;
    let (namespace, name) = (metadata.namespace.clone()?, metadata.name.clone()?);
    if is_terminal(&entry.pod) {
        let is_deleted = metadata.deletion_timestamp.is_some();
        return is_deleted.then_some(Write::PodDelete { namespace, name, uid: metadata.uid.clone()? });
    }
    let behaviour = Behaviour::of(&entry.pod, options);
    let patch = status::patch(&entry.pod, &entry.life, &behaviour, &entry.place, now)?;
    if entry.futile.as_ref() == Some(&patch) {
        return None;
    }
    Some(Write::PodStatus { namespace, name, patch })
}
