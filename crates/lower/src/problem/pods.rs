//! What is looked at in pods: where they stand, and what they are charged.

use super::Observed;
use super::amounts::{Amounts, ListId, index, number};
use super::drafts::namespace;
use super::faults::{Faults, Of};
use k8s_openapi::api::core::v1::{Pod, PodSpec};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use trellis_api::names::{GANG_GATE, annotation, label};
use trellis_engine::GangName;

/// Where a pod stands in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State<'a> {
    /// Without a node, and free to get one.
    Waiting,
    /// Held by a scheduling gate, in files by one that is not ours.
    Gated,
    /// Held by our gate alone, until the base of its gang has a place.
    Coming,
    /// On a node.
    Bound(&'a str),
    /// On a node, and being deleted: takes up room, and is no member of anything.
    Leaving(&'a str),
    /// Done: takes up no room, and counts towards the minimum.
    Succeeded,
    /// Failed, or deleted before it got a node.
    Gone,
}

/// A pod, as far as it is looked at.
#[derive(Debug)]
pub(super) struct Facts<'a> {
    pub namespace: &'a str,
    pub name: &'a str,
    pub pod: &'a Pod,
    /// Which one it is of the pods observed.
    pub index: u32,
    pub state: State<'a>,
    /// The zone of its node that it is in.
    pub zone: Option<&'a str>,
    /// What it is charged; nothing if it takes up no room.
    pub request: ListId,
}

impl<'a> Facts<'a> {
    pub fn label(&self, key: &str) -> Option<&'a str> {
        get(self.pod.metadata.labels.as_ref(), key)
    }

    pub fn annotation(&self, key: &str) -> Option<&'a str> {
        get(self.pod.metadata.annotations.as_ref(), key)
    }

    pub fn spec(&self) -> Option<&'a PodSpec> {
        self.pod.spec.as_ref()
    }

    pub fn id(&self) -> GangName {
        GangName { namespace: self.namespace.to_owned(), name: self.name.to_owned() }
    }

    pub fn title(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

/// A value that is not empty.
pub(super) fn get<'a>(map: Option<&'a BTreeMap<String, String>>, key: &str) -> Option<&'a str> {
    map?.get(key).map(String::as_str).filter(|value| !value.is_empty())
}

/// All pods, sorted by namespace and name.
#[derive(Debug)]
pub(super) struct Pods<'a> {
    pub list: Vec<Facts<'a>>,
    by_name: HashMap<(&'a str, &'a str), u32>,
}

impl<'a> Pods<'a> {
    pub fn read(observed: &Observed<'a>, amounts: &mut Amounts, faults: &mut Faults) -> Self {
        let pods = &observed.pods;
        // As they lie in memory first, and sorted only then: there are many, and they are large.
        let mut in_namespace: BTreeMap<&str, Vec<Facts<'a>>> = BTreeMap::new();
        for (i, pod) in pods.iter().enumerate() {
            let mut faults = faults.of("Pod", i, &pod.metadata);
            if faults.name().is_some() {
                let facts = facts(observed, pod, i, amounts, &mut faults);
                in_namespace.entry(facts.namespace).or_default().push(facts);
            }
        }
        let mut read = Self { list: Vec::with_capacity(pods.len()), by_name: HashMap::with_capacity(pods.len()) };
        for mut facts in in_namespace.into_values() {
            facts.sort_unstable_by(|a, b| a.name.cmp(b.name).then(a.index.cmp(&b.index)));
            for pod in facts {
                let place = number(read.list.len());
                if let Entry::Vacant(entry) = read.by_name.entry((pod.namespace, pod.name)) {
                    entry.insert(place);
                    read.list.push(pod);
                } else {
                    faults.of("Pod", index(pod.index), &pod.pod.metadata).duplicate();
                }
            }
        }
        read
    }

    pub fn find(&self, namespace: &str, name: &str) -> Option<u32> {
        self.by_name.get(&(namespace, name)).copied()
    }
}

fn facts<'a>(observed: &Observed<'a>, pod: &'a Pod, i: usize, amounts: &mut Amounts, faults: &mut Of<'_>) -> Facts<'a> {
    let (namespace, name) = (namespace(&pod.metadata), pod.metadata.name.as_deref().unwrap_or_default());
    let assumed = match observed.assumed.is_empty() {
        true => None,
        false => observed.assumed.get(&(namespace, name)),
    };
    let state = state(pod, assumed.map(|it| it.node), observed.is_live);
    let zone = match assumed {
        Some(assumed) => assumed.zone,
        None => get(pod.metadata.annotations.as_ref(), annotation::NUMA_ZONE),
    };
    let request = match state {
        State::Waiting | State::Coming | State::Bound(_) | State::Leaving(_) => {
            amounts.charge(pod).map_err(|errors| faults.extend(errors)).unwrap_or_default()
        }
        State::Gated | State::Succeeded | State::Gone => 0,
    };
    Facts { namespace, name, pod, index: number(i), state, zone, request }
}

/// Of files our own gate says nothing: it will be lifted.
fn state<'a>(pod: &'a Pod, assumed: Option<&'a str>, is_live: bool) -> State<'a> {
    let spec = pod.spec.as_ref();
    let node = assumed.or(spec.and_then(|spec| spec.node_name.as_deref()).filter(|node| !node.is_empty()));
    let is_leaving = pod.metadata.deletion_timestamp.is_some();
    let gates = spec.and_then(|spec| spec.scheduling_gates.as_ref());
    let is_scaled = || get(pod.metadata.labels.as_ref(), label::BASE_POD_GANG).is_some();
    match (pod.status.as_ref().and_then(|status| status.phase.as_deref()), node) {
        // One that ends well because it is told to go has not done its work.
        (Some("Succeeded"), _) if !is_leaving => State::Succeeded,
        (Some("Succeeded" | "Failed"), _) => State::Gone,
        (_, Some(node)) if is_leaving => State::Leaving(node),
        (_, Some(node)) => State::Bound(node),
        (_, None) if is_leaving => State::Gone,
        (_, None) if gates.into_iter().flatten().any(|gate| gate.name != GANG_GATE) => State::Gated,
        (_, None) if is_live && gates.is_some_and(|gates| !gates.is_empty()) => {
            if is_scaled() {
                State::Coming
            } else {
                State::Gated
            }
        }
        (_, None) => State::Waiting,
    }
}
