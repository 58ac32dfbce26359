//! Placement problems: what a cluster holds, as the engine sees it.
//!
//! [`problem`] takes Kubernetes objects and gives a [`Cluster`] and its [`Gang`]s. Two contracts are read, PodGangs and KAI's
//! PodGroups, and both become the same trees of groups. Three things can be wrong, and are kept apart:
//!
//! - what no API server would take, or what contradicts itself, is a [`Fault`] of one object. Without the objects that
//!   faults name, the rest can be planned;
//! - what a gang asks for and the cluster or this scheduler does not have makes that gang wait ([`Gang::unready`]);
//! - what is left out of the problem is said as a warning.
//!
//! The order of the objects decides nothing.

mod amounts;
mod assemble;
mod company;
mod drafts;
mod eligibility;
mod faults;
mod membership;
mod nodes;
mod pod_gangs;
mod pod_groups;
mod pods;
mod ports;
mod priorities;
pub mod quantity;
pub mod requests;
pub mod simulated;
mod singles;
mod sub_groups;
mod ties;
pub mod tokens;
mod topologies;
mod unsound;
mod unsupported;
mod volumes;
mod zones;

pub use unsound::{Unsound, unsound};

use amounts::{Amounts, ListId};
use company::Company;
use company::census::Census;
use drafts::Draft;
use eligibility::Eligible;
use faults::Faults;
use fixedbitset::FixedBitSet;
use k8s_openapi::api::core::v1::{Node, PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use nodes::{Nodes, Source};
use pods::{Facts, Pods, State};
use std::collections::HashMap;
use std::fmt;
pub use ties::Ties;
use trellis_api::field::{FieldError, Path};
use trellis_api::kinds::kai::{KaiPodGroup, Topology};
use trellis_api::kinds::{ClusterTopology, NodeResourceTopology, PodGang, SimulatedCluster};
use trellis_api::names::{label, profile};
use trellis_engine::{Cluster, Gang, GangName};
pub use unsupported::passed_over;
use volumes::Storage;

/// Why a pod is in no gang, in words.
const UNKNOWN: &str = "it names a gang that is not there or does not list it";
const STRAY: &str = "it is in no subgroup of its PodGroup";

/// Namespace of objects that name none.
const DEFAULT_NAMESPACE: &str = "default";

/// Everything that is known of a cluster.
#[derive(Clone, Debug, Default)]
pub struct Observed<'a> {
    /// Nodes.
    pub nodes: Vec<&'a Node>,
    /// Nodes in a few lines.
    pub simulated_clusters: Vec<&'a SimulatedCluster>,
    /// Pods, of gangs and of none.
    pub pods: Vec<&'a Pod>,
    /// Pods that are taken to be on a node although they are not bound to it yet, by namespace and name: they count where they are, and
    /// may still get another place.
    pub assumed: HashMap<(&'a str, &'a str), Assumed<'a>>,
    /// PodGangs.
    pub pod_gangs: Vec<&'a PodGang>,
    /// KAI's PodGroups.
    pub pod_groups: Vec<&'a KaiPodGroup>,
    /// ClusterTopologies.
    pub cluster_topologies: Vec<&'a ClusterTopology>,
    /// KAI's Topologies.
    pub kai_topologies: Vec<&'a Topology>,
    /// PriorityClasses.
    pub priority_classes: Vec<&'a PriorityClass>,
    /// Zones inside nodes.
    pub node_resource_topologies: Vec<&'a NodeResourceTopology>,
    /// Claims of volumes.
    pub claims: Vec<&'a PersistentVolumeClaim>,
    /// Volumes.
    pub volumes: Vec<&'a PersistentVolume>,
    /// Whether there are KAI Queues.
    pub has_queues: bool,
    /// Names of schedulers whose lone pods are planned; none: ours.
    pub served: Vec<&'a str>,
    /// Whether the objects are those of a running cluster: there our own gate, too, holds a pod until the operator lifts it.
    pub is_live: bool,
}

/// Where a pod is taken to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assumed<'a> {
    /// Name of the node.
    pub node: &'a str,
    /// Name of the zone inside it.
    pub zone: Option<&'a str>,
}

/// A cluster and the gangs that are on it or wait for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problem {
    /// The cluster.
    pub cluster: Cluster,
    /// The gangs, sorted by namespace and name, each name once.
    pub gangs: Vec<Gang>,
    /// For each gang where it comes from.
    pub origins: Vec<Origin>,
    /// Which gangs must not be placed by one and the same decision.
    pub ties: Ties,
    /// Pods that wait and that no gang takes in, by name, and why.
    pub homeless: Vec<(GangName, &'static str)>,
    /// What was left out, for people.
    pub warnings: Vec<String>,
}

/// The object that a gang comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Its kind: `PodGang`, `PodGroup`, or `Pod` for a gang of one.
    pub kind: &'static str,
    /// What it is called. By name and not by its place in [`Observed`]: the order of the objects decides nothing.
    pub name: GangName,
}

/// What is wrong with an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// Kind of the object.
    pub kind: &'static str,
    /// Namespace as written; empty if there is none.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// Which one of its kind, in the list in [`Observed`].
    pub index: usize,
    /// The field, the value and what would be right.
    pub error: FieldError,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slash = if self.namespace.is_empty() { "" } else { "/" };
        write!(f, "{} {}{slash}{}: {}", self.kind, self.namespace, self.name, self.error)
    }
}

/// The placement problem that the objects pose, or all that is wrong with them.
pub fn problem(observed: &Observed<'_>) -> Result<Problem, Vec<Fault>> {
    let (mut faults, mut amounts) = (Faults::default(), Amounts::new());
    let topologies = topologies::Topologies::read(&observed.cluster_topologies, &observed.kai_topologies, &mut faults);
    let mut priorities = priorities::Priorities::read(&observed.priority_classes, &mut faults);
    let mut pods = Pods::read(observed, &mut amounts, &mut faults);
    let moves = |pod: &Facts<'_>| observed.assumed.contains_key(&(pod.namespace, pod.name));
    let company = Company::read(&pods, moves);
    company.charge(&mut pods, &mut amounts);
    ports::charge(&mut pods, &mut amounts);
    let mut volumes = Storage::read(observed, &pods, &mut faults);
    let mut members = membership::Membership::new(pods.list.len());
    let (mut group_notes, mut single_notes) = (pod_groups::Notes::default(), singles::Notes::default());

    let mut drafts = pod_gangs::read(observed, &topologies, &mut priorities, &pods, &mut members, &mut faults);
    let gangs = &drafts;
    let groups = pod_groups::Reader { observed, gangs, topologies: &topologies, pods: &pods };
    let groups = groups.read(&mut priorities, &mut members, &mut group_notes, &mut faults);
    drafts.extend(groups);
    let ours = [profile::TRELLIS];
    let served = if observed.served.is_empty() { &ours[..] } else { &observed.served };
    let singles =
        singles::read(&pods, served, observed.is_live, &drafts, &mut members, &mut priorities, &mut single_notes);
    drafts.extend(singles);
    drafts.sort_by(|a, b| a.gang.id.cmp(&b.gang.id));
    let mut kinds = eligibility::Kinds::default();
    drafts::settle(&mut drafts, &pods, &mut kinds, &mut single_notes, &mut faults);
    drafts::check_bases(&drafts, &mut faults);

    let mut columns = kinds.columns(company.keys().chain(volumes.keys()));
    let nodes = Nodes::read(observed, &topologies.list, &mut columns, &mut amounts, &mut faults);
    let zones = zones::Zones::read(&observed.node_resource_topologies, &mut faults);
    check_totals(observed, &nodes, &pods, &amounts, &mut faults);
    if !faults.is_empty() {
        return Err(faults.sorted());
    }

    let census = Census::new(&company, &pods, &nodes, &columns);
    let of_gang = drafts.iter_mut().map(|draft| company.settle(draft, &pods, &census, &topologies.list)).collect();
    let mut ties = Ties::of(of_gang, &company, &census);
    volumes.settle(&mut drafts, &pods, company.count(), &mut ties);
    let open = pods.list.iter().filter(|pod| pod.state == State::Waiting || moves(pod));
    volumes.reach(open, &nodes, &columns);
    let mut eligible = kinds.evaluate(&nodes, &columns);
    let closing =
        Closing { company: &company, census: &census, volumes: &volumes, pods: &pods, nodes: &nodes, moves: &moves };
    closing.close(&mut drafts, &mut eligible);
    let vectors = amounts.vectors();
    let offers = tokens::Offers::of(&vectors.resources, &nodes, columns.column(label::HOSTNAME));
    drop((kinds, columns));
    let mut astray = assemble::Notes::default();
    let mut placed = assemble::nodes(nodes.list, &zones, &vectors, &offers);
    zones.charge(&mut placed.nodes, &pods, &vectors);
    let occupants = assemble::occupants(&pods, &members, &placed, &vectors, &mut astray);
    let origins = drafts.iter().map(|draft| Origin { kind: draft.kind, name: drafts::gang_name(draft.meta) }).collect();
    let gangs = assemble::gangs(drafts, &pods, &placed, &vectors, &mut astray);
    let mut warnings: Vec<String> = priorities.warnings().collect();
    let queued = |group: &&KaiPodGroup| group.spec.queue.as_ref().is_some_and(|queue| !queue.is_empty());
    if observed.has_queues || observed.pod_groups.iter().any(queued) {
        warnings.push("queues are read and, at this time, not enforced".to_owned());
    }
    warnings.extend(notes_in_words(&group_notes, &single_notes, &astray));
    let cluster = Cluster {
        resources: vectors.resources,
        topologies: topologies.list,
        nodes: placed.nodes,
        eligibility: eligible.list(),
        occupants,
    };
    let unknown = single_notes.homeless.into_iter().map(|pod| (pod, UNKNOWN));
    let homeless = unknown.chain(group_notes.homeless.into_iter().map(|pod| (pod, STRAY))).collect();
    Ok(Problem { cluster, gangs, origins, ties, homeless, warnings })
}

/// What closes nodes to pods, beyond what they say of nodes.
struct Closing<'c, 'a> {
    company: &'c Company<'a>,
    census: &'c Census,
    volumes: &'c Storage<'a>,
    pods: &'c Pods<'a>,
    nodes: &'c Nodes,
    moves: &'c dyn Fn(&Facts<'_>) -> bool,
}

impl Closing<'_, '_> {
    /// Says of every member where it may run.
    fn close(&self, drafts: &mut [Draft<'_>], eligible: &mut Eligible) {
        let mut of_class: HashMap<u32, FixedBitSet> = HashMap::new();
        for member in drafts.iter_mut().flat_map(|draft| &mut draft.members) {
            let pod = &self.pods.list[amounts::index(member.pod)];
            let class = self.company.class(member.pod);
            let is_open = pod.state == State::Waiting || (self.moves)(pod);
            let own;
            let mut closed = if is_open { self.volumes.closed(pod) } else { Vec::new() };
            match pod.state {
                State::Waiting if class > 0 => {
                    let new = || self.census.closed(self.company, class, None, self.nodes);
                    closed.push(of_class.entry(class).or_insert_with(new));
                }
                // One that may be moved is counted where it is, and is in its own way nowhere.
                State::Bound(node) if class > 0 && is_open => {
                    let at = self.nodes.list.binary_search_by(|record| record.name.as_str().cmp(node)).ok();
                    let values = at.map(|at| &*self.nodes.list[at].values);
                    own = self.census.closed(self.company, class, values, self.nodes);
                    closed.push(&own);
                }
                _ => {}
            }
            member.eligibility = eligible.of(member.kind, &closed);
        }
        // Who else is where will be looked at when they may be placed.
        for member in drafts.iter_mut().flat_map(|draft| &mut draft.coming) {
            member.eligibility = eligible.of(member.kind, &[]);
        }
    }
}

fn notes_in_words<'a>(
    groups: &'a pod_groups::Notes,
    singles: &'a singles::Notes,
    placed: &'a assemble::Notes,
) -> impl Iterator<Item = String> + 'a {
    [
        groups.no_topology.warning("PodGroup", "names a level but no topology, which is no constraint"),
        groups.strays.warning("pod", "is in no subgroup of its PodGroup and waits"),
        singles.unknown.warning("pod", "names a gang that is not there or does not list it, and waits"),
        singles.gated.warning("pod", "is held by a scheduling gate and counts as not there"),
        singles.wishes.warning("pod", "prefers some company, or to be spread, which is not looked at"),
        singles.others.warning("pod", "waits for another scheduler and is not looked at"),
        placed.lost.warning("pod", "runs on a node that is not there and is not looked at"),
        placed.no_zone.warning("pod", "names a zone that its node does not have"),
    ]
    .into_iter()
    .flatten()
}

/// Sums over the whole cluster have to be numbers. The largest amount is the one at fault.
fn check_totals(observed: &Observed<'_>, nodes: &Nodes, pods: &Pods<'_>, amounts: &Amounts, faults: &mut Faults) {
    let overflow = |uses: &mut dyn Iterator<Item = ListId>| amounts.overflow(uses, quantity::MOST);
    if let Some((name, list, amount)) = overflow(&mut nodes.list.iter().map(|node| node.offers))
        && let Some(node) = nodes.list.iter().find(|node| node.offers == list)
    {
        let message = format!("all nodes together have more {name} than can be counted");
        let error = |path: &Path| FieldError::invalid(&path.key(name), quantity::show(name, amount), message.as_str());
        match node.source {
            Source::Node(i) => {
                let error = error(&Path::new("status.allocatable"));
                faults.of("Node", i, &observed.nodes[i].metadata).push(error);
            }
            Source::Pool(i, pool) => {
                let error = error(&Path::new("spec.pools").index(pool).child("resources"));
                faults.of("SimulatedCluster", i, &observed.simulated_clusters[i].metadata).push(error);
            }
        }
    }
    if let Some((name, list, amount)) = overflow(&mut pods.list.iter().map(|pod| pod.request))
        && let Some(pod) = pods.list.iter().find(|pod| pod.request == list)
    {
        let message = format!("all pods together ask for more {name} than can be counted");
        let shown = format!("{name}: {}", quantity::show(name, amount));
        let error = FieldError::invalid(&Path::new("spec.containers"), shown, message);
        faults.of("Pod", amounts::index(pod.index), &pod.pod.metadata).push(error);
    }
}
