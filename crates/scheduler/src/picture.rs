//! What was seen, beside the ledgers: the placement problem, and for each of its gangs who it is in the API and how far it is.
//!
//! Members whose place is written down and who are not bound yet are charged as if they were. Vanished members leave holds. Objects that
//! are at fault are left out and told. The problem is built anew for every decision; nothing else in this crate reads objects to learn
//! what is where, so this is where it could be kept up to date by difference.

mod bars;
mod fates;
mod served;

pub(crate) use bars::Bar;
pub(crate) use fates::{Fate, given_up};
pub(crate) use served::is_served;

use crate::ledger::{Held, Ledger, Readings, Request, Spot, short};
use crate::plan::{Kind, Target};
use crate::seen::{Key, Seen};
use crate::settings::Around;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use trellis_api::kinds::PodGang;
use trellis_api::kinds::kai::KaiPodGroup;
use trellis_api::names::{MANAGED_BY, annotation, label};
use trellis_engine::{Cluster, Gang, GangName, GroupId, NodeId, Occupant, Place};
use trellis_lower::problem::{Fault, Observed, Origin, Problem, Ties, problem, unsound};

/// So often the problem is tried without the objects that were found to be at fault.
const TRIES: usize = 8;

/// The problem, and who its gangs are.
pub(crate) struct Picture<'a> {
    pub seen: &'a Seen,
    pub around: &'a Around<'a>,
    pub cluster: Arc<Cluster>,
    pub gangs: Vec<Gang>,
    /// For each gang who it is.
    pub whos: Vec<Who<'a>>,
    pub by_target: HashMap<Target, usize>,
    /// Which gangs must not get places by one decision.
    pub ties: Ties,
    /// Pods on their way out. They take up room, but nobody reckons with them: what is free without gangs is free without them.
    pub leaving: Vec<Occupant>,
    /// Room that ledgers hold and that is being given up: until the write that says so is answered it may still be wanted, so it is
    /// nobody's.
    pub given_up: Vec<(Place, Arc<[i64]>)>,
    /// Objects that were left out.
    pub faults: Vec<Fault>,
    /// Pods that no gang takes in, and why.
    pub homeless: Vec<(GangName, &'static str)>,
    /// Pods that have to be written to before they may be given another place.
    pub touches: BTreeSet<Key>,
    /// Members that were begun, must not be bound where they were meant to be, and may not be moved yet.
    pub withheld: BTreeSet<Key>,
    /// Whether whoever led before may still write to a gang that waits, be it that we are about to prevent that.
    pub has_unfenced: bool,
    nodes: HashMap<String, NodeId>,
}

/// The object that a gang is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Object<'a> {
    PodGang(&'a PodGang),
    PodGroup(&'a KaiPodGroup),
    Pod(&'a Pod),
}

/// What the operator says of a gang whose members it has taken down and made anew.
const RECREATED: &str = "GangRecreated";

/// Who a gang is in the API, and how far it is.
pub(crate) struct Who<'a> {
    pub object: Object<'a>,
    pub target: Target,
    /// What is written on it, or is being written.
    pub ledger: Arc<Ledger>,
    /// Who wrote the one that stands on the object.
    pub written_by: String,
    /// Whether there is an annotation at all, and whether it can be read.
    pub is_written: bool,
    pub is_scribble: bool,
    /// What became of the ledger's members.
    pub fates: Vec<Fate>,
    /// Why it is left alone for now.
    pub bar: Option<Bar>,

    /// Whether it gives up its place: nothing is held for it.
    pub gives_up: bool,
    /// For whom it has to leave.
    pub leaves_for: Option<String>,
    /// What is held for it until the ledger that is under way is written.
    pub still_held: Vec<Held>,
    /// Members that are written down and have yet to be bound.
    pub begun: HashSet<String>,
    /// Members that were begun, whose place is no good any more.
    pub moving: BTreeSet<String>,
}

impl<'a> Object<'a> {
    pub fn kind(self) -> Kind {
        match self {
            Self::PodGang(_) => Kind::PodGang,
            Self::PodGroup(_) => Kind::PodGroup,
            Self::Pod(_) => Kind::Pod,
        }
    }

    pub fn meta(self) -> &'a ObjectMeta {
        match self {
            Self::PodGang(gang) => &gang.metadata,
            Self::PodGroup(group) => &group.metadata,
            Self::Pod(pod) => &pod.metadata,
        }
    }

    pub fn annotation(self, key: &str) -> Option<&'a str> {
        self.meta().annotations.as_ref()?.get(key).map(String::as_str)
    }

    /// Whether an operator looks after it, and says how far it is.
    pub fn is_attended(self) -> bool {
        let labels = self.meta().labels.as_ref();
        labels.and_then(|labels| labels.get(label::MANAGED_BY)).is_some_and(|by| by == MANAGED_BY)
    }

    pub fn uid(self) -> &'a str {
        self.meta().uid.as_deref().unwrap_or_default()
    }

    /// A condition; only PodGangs have those that we speak of.
    pub fn condition(self, kind: &str) -> Option<&'a Condition> {
        match self {
            Self::PodGang(gang) => gang.status.as_ref()?.conditions.iter().find(|condition| condition.type_ == kind),
            Self::PodGroup(_) | Self::Pod(_) => None,
        }
    }
}

impl Who<'_> {
    /// Whether a member is written down and has yet to be bound.
    pub fn is_begun(&self, pod: &str) -> bool {
        self.begun.contains(pod)
    }

    pub fn has_begun(&self) -> bool {
        !self.begun.is_empty()
    }

    /// Whether the gang was taken down and made anew since its ledger was written: it has given up its place then, whether or not anybody
    /// looked meanwhile.
    pub fn was_recreated(&self) -> bool {
        self.recreated_at().is_some_and(|at| at >= crate::holds::floor_second(self.ledger.at))
    }

    /// When a ledger is said to be written that is written now. Times of conditions have whole seconds: one that follows a gang's being
    /// made anew in the same second would look as if it had been there before.
    pub fn written_at(&self, now: Timestamp) -> Timestamp {
        let after = self.recreated_at().and_then(|at| at.checked_add(SignedDuration::from_secs(1)).ok());
        after.map_or(now, |after| after.max(now))
    }

    fn recreated_at(&self) -> Option<Timestamp> {
        let told = self.object.condition("DisruptionTarget")?;
        (told.status == "False" && told.reason == RECREATED).then_some(told.last_transition_time.0)
    }

    /// Whether a member that is written down stands.
    pub fn has_standing(&self) -> bool {
        self.fates.iter().any(|fate| matches!(fate, Fate::Standing(_)))
    }
}

impl<'a> Picture<'a> {
    /// What was seen, put together.
    pub fn of(seen: &'a Seen, around: &'a Around<'a>, readings: &mut Readings) -> Self {
        let served = served::Served::of(seen, &around.settings.served);
        let books = fates::Books::read(seen, &served, readings);
        let mut observed = served.observed(seen, &around.settings.served);
        observed.assumed = books.begun(seen);
        let mut faults = Vec::new();
        let Problem { mut cluster, mut gangs, origins, mut ties, homeless, .. } = soundly(&mut observed, &mut faults);
        keep_away(seen, &mut cluster, &mut gangs);
        let is_leaving = |occupant: &Occupant| {
            let pod = seen.pod(&occupant.namespace, &occupant.name);
            pod.is_some_and(|pod| pod.metadata.deletion_timestamp.is_some())
        };
        let (leaving, occupants) = std::mem::take(&mut cluster.occupants).into_iter().partition(is_leaving);
        cluster.occupants = occupants;
        let nodes = cluster.nodes.iter().zip(0..).map(|(node, id)| (node.name.clone(), id)).collect();
        drop(observed);
        let mut books = books;
        let targets = gangs.iter().zip(&origins).map(|(gang, origin)| (target_of(origin), gang.priority));
        let victims = books.victims(around.now, &targets.collect());
        let object = |origin: &Origin| {
            let key = Key::new(&origin.name.namespace, &origin.name.name);
            Some(match origin.kind {
                "PodGang" => Object::PodGang(seen.pod_gangs.get(&key)?),
                "PodGroup" => Object::PodGroup(seen.pod_groups.get(&key)?),
                _ => Object::Pod(seen.pods.get(&key)?),
            })
        };
        let (mut kept, mut whos) = (Vec::with_capacity(gangs.len()), Vec::with_capacity(gangs.len()));
        let mut tied = std::mem::take(&mut ties.of_gang).into_iter();
        for (gang, origin) in gangs.into_iter().zip(&origins) {
            let tied = tied.next().unwrap_or_default();
            let Some(object) = object(origin) else { continue };
            whos.push(books.who((seen, around.identity), object, &victims));
            kept.push(gang);
            ties.of_gang.push(tied);
        }
        let by_target = whos.iter().enumerate().map(|(i, who)| (who.target.clone(), i)).collect();
        let mut picture = Self {
            seen,
            around,
            cluster: Arc::new(cluster),
            gangs: kept,
            whos,
            by_target,
            ties,
            leaving,
            given_up: Vec::new(),
            faults,
            homeless,
            touches: BTreeSet::new(),
            withheld: BTreeSet::new(),
            has_unfenced: false,
            nodes,
        };
        picture.bar_all();
        picture
    }

    /// A pod of a gang.
    pub fn pod(&self, gang: usize, name: &str) -> Option<&'a Arc<Pod>> {
        self.seen.pod(&self.gangs[gang].id.namespace, name)
    }

    /// Where a spot is, if its node is there.
    pub fn place(&self, spot: &Spot) -> Option<Place> {
        let node = *self.nodes.get(&spot.node)?;
        let zones = &self.cluster.nodes[index(node)].zones;
        let zone = spot.zone.as_ref().and_then(|name| zones.iter().position(|zone| zone.name == *name));
        Some(Place { node, zone: zone.and_then(|zone| u16::try_from(zone).ok()) })
    }

    /// What a place is called.
    pub fn spot(&self, place: Place) -> Spot {
        let node = &self.cluster.nodes[index(place.node)];
        let zone = place.zone.and_then(|zone| node.zones.get(usize::from(zone)));
        Spot { node: node.name.clone(), zone: zone.map(|zone| zone.name.clone()) }
    }

    /// A request in names.
    pub fn request(&self, vector: &[i64]) -> Request {
        let named = self.cluster.resources.iter().cloned().zip(vector.iter().copied());
        Arc::new(named.filter(|(_, amount)| *amount != 0).collect())
    }

    /// A request in numbers. What no node has and no pod asks for is left out.
    pub fn vector(&self, request: &Request) -> Arc<[i64]> {
        self.cluster.resources.iter().map(|name| request.get(name).copied().unwrap_or(0)).collect()
    }

    /// The leaf of a gang by its name.
    pub fn leaf(&self, gang: usize, name: &str) -> Option<GroupId> {
        use trellis_engine::Members;
        let is_leaf = |group: &trellis_engine::Group| matches!(group.members, Members::Pods { .. });
        self.gangs[gang].groups.iter().position(|group| is_leaf(group) && group.name == name)
    }

    /// Whether a begun member can no longer be bound by whoever wrote the ledger: we did, and no request of ours is on its way; or the
    /// pod was written to since we lead.
    pub fn is_settled(&self, gang: usize, name: &str) -> bool {
        let who = &self.whos[gang];
        let touched = || {
            let pod = self.pod(gang, name)?;
            Some(pod.metadata.annotations.as_ref()?.get(annotation::SCHEDULER)? == self.around.identity)
        };
        who.ledger.by == self.around.identity || touched().unwrap_or(self.pod(gang, name).is_none())
    }
}

/// Keeps pods away from nodes that they were refused on.
fn keep_away(seen: &Seen, cluster: &mut Cluster, gangs: &mut [Gang]) {
    if seen.refused.is_empty() {
        return;
    }
    for gang in gangs {
        for pod in &mut gang.pods {
            let object = seen.pod(&gang.id.namespace, &pod.name);
            let Some(uid) = object.and_then(|pod| pod.metadata.uid.as_deref()) else { continue };
            let refused = seen.refused.iter().filter(|(whom, _)| **whom == *uid);
            let nodes: Vec<usize> = refused
                .filter_map(|(_, node)| cluster.nodes.binary_search_by(|known| known.name.as_str().cmp(node)).ok())
                .collect();
            if !nodes.is_empty() {
                let mut eligibility = cluster.eligibility[pod.eligibility].clone();
                nodes.iter().for_each(|node| eligibility.allowed.set(*node, false));
                pod.eligibility = cluster.eligibility.len();
                cluster.eligibility.push(eligibility);
            }
        }
    }
}

/// The problem without the objects that are at fault.
fn soundly(observed: &mut Observed<'_>, faults: &mut Vec<Fault>) -> Problem {
    for _ in 0..TRIES {
        let found = match problem(observed) {
            Ok(problem) => return problem,
            Err(found) => found,
        };
        let at_fault = unsound(observed, &found);
        retain(&mut observed.nodes, at_fault.get("Node"));
        retain(&mut observed.pods, at_fault.get("Pod"));
        retain(&mut observed.pod_gangs, at_fault.get("PodGang"));
        retain(&mut observed.pod_groups, at_fault.get("PodGroup"));
        retain(&mut observed.cluster_topologies, at_fault.get("ClusterTopology"));
        retain(&mut observed.kai_topologies, at_fault.get("Topology"));
        retain(&mut observed.priority_classes, at_fault.get("PriorityClass"));
        retain(&mut observed.node_resource_topologies, at_fault.get("NodeResourceTopology"));
        retain(&mut observed.claims, at_fault.get("PersistentVolumeClaim"));
        retain(&mut observed.volumes, at_fault.get("PersistentVolume"));
        faults.extend(found);
    }
    Problem::default()
}

fn retain<T>(list: &mut Vec<T>, without: Option<&BTreeSet<usize>>) {
    let Some(without) = without else { return };
    let mut at = 0..;
    list.retain(|_| at.next().is_none_or(|at: usize| !without.contains(&at)));
}

/// The object that a gang comes from.
fn target_of(origin: &Origin) -> Target {
    let kind = match origin.kind {
        "PodGang" => Kind::PodGang,
        "PodGroup" => Kind::PodGroup,
        _ => Kind::Pod,
    };
    Target { kind, namespace: origin.name.namespace.clone(), name: origin.name.name.clone() }
}

/// Namespace and name of an object.
pub(crate) fn key_of(meta: &ObjectMeta) -> Key {
    Key::new(meta.namespace.as_deref().unwrap_or_default(), meta.name.as_deref().unwrap_or_default())
}

/// The part of an object's uid that ledgers keep.
pub(crate) fn short_uid(meta: &ObjectMeta) -> &str {
    short(meta.uid.as_deref().unwrap_or_default())
}

/// An index as it is used.
pub(crate) fn index(node: NodeId) -> usize {
    usize::try_from(node).unwrap_or(usize::MAX)
}
