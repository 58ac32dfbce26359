//! What is looked at in nodes: names, what they offer, where they are, and what closes them to pods.
//!
//! Nodes pass by one at a time, so that a hundred thousand simulated ones never exist at once.

use super::amounts::{Amounts, ListId, index, number};
use super::eligibility::Columns;
use super::faults::Faults;
use super::{Observed, requests, simulated};
use k8s_openapi::api::core::v1::Node;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use trellis_api::field::{FieldError, Path};
use trellis_api::names::{resource, taint};
use trellis_engine::Topology;

/// Pods that a node takes if it does not say: the kubelet's default.
const PODS: i64 = 110;

/// Where a node comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    /// A Node, by its place among those observed.
    Node(usize),
    /// A pool of a SimulatedCluster, by their places.
    Pool(usize, usize),
}

/// A taint that keeps pods away.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Closure {
    pub key: String,
    pub value: String,
    pub effect: String,
}

/// A node, as far as it is looked at.
#[derive(Debug)]
pub(super) struct Record {
    pub name: String,
    pub source: Source,
    /// What it offers.
    pub offers: ListId,
    /// For each topology the values of its levels, up to the first label that is missing.
    pub paths: Vec<Vec<String>>,
    /// Which set of taints it has.
    pub closures: u32,
    /// Its values in the columns.
    pub values: Box<[u32]>,
}

/// All nodes, sorted by name.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    pub list: Vec<Record>,
    /// The different sets of taints that nodes have.
    pub closures: Vec<Vec<Closure>>,
}

impl Nodes {
    pub fn read(
        observed: &Observed<'_>,
        topologies: &[Topology],
        columns: &mut Columns<'_>,
        amounts: &mut Amounts,
        faults: &mut Faults,
    ) -> Self {
        let mut reader = Reader { topologies, columns, amounts, faults, closure_ids: HashMap::new() };
        let mut list = Vec::with_capacity(observed.nodes.len());
        for (i, node) in observed.nodes.iter().enumerate() {
            list.extend(reader.node(Source::Node(i), Cow::Borrowed(node)));
        }
        let mut pools: BTreeMap<&str, usize> = BTreeMap::new();
        for (i, cluster) in observed.simulated_clusters.iter().enumerate() {
            let mut at_fault = reader.faults.of("SimulatedCluster", i, &cluster.metadata);
            // Nodes of two clusters are alike if their pools are.
            for (j, pool) in cluster.spec.pools.iter().enumerate() {
                if *pools.entry(&pool.name).or_insert(i) != i {
                    let path = Path::new("spec.pools").index(j).child("name");
                    at_fault.push(FieldError::duplicate(&path, pool.name.as_str()));
                }
            }
            match simulated::nodes_by_pool(cluster) {
                Ok(nodes) => {
                    list.extend(nodes.filter_map(|(pool, node)| reader.node(Source::Pool(i, pool), Cow::Owned(node))));
                }
                Err(errors) => at_fault.extend(errors),
            }
        }
        let closures = reader.closures();
        list.sort_unstable_by(|a, b| a.name.cmp(&b.name).then(a.source.cmp(&b.source)));
        report_duplicates(&list, observed, faults);
        Self { list, closures }
    }
}

/// Of two nodes of one name the later is at fault; against a simulated one always the real one.
fn report_duplicates(list: &[Record], observed: &Observed<'_>, faults: &mut Faults) {
    for pair in list.windows(2).filter(|pair| pair[0].name == pair[1].name) {
        let real = [pair[1].source, pair[0].source].into_iter().find_map(|source| match source {
            Source::Node(i) => Some(i),
            // Two pools of one name have been told already.
            Source::Pool(..) => None,
        });
        if let Some(i) = real {
            faults.of("Node", i, &observed.nodes[i].metadata).duplicate();
        }
    }
}

struct Reader<'a, 'p> {
    topologies: &'a [Topology],
    columns: &'a mut Columns<'p>,
    amounts: &'a mut Amounts,
    faults: &'a mut Faults,
    closure_ids: HashMap<Vec<Closure>, u32>,
}

impl Reader<'_, '_> {
    fn node(&mut self, source: Source, mut node: Cow<'_, Node>) -> Option<Record> {
        let closures = closures(&node);
        if let Source::Node(i) = source {
            let mut faults = self.faults.of("Node", i, &node.metadata);
            faults.name()?;
            for (j, taint) in taints(&node).enumerate() {
                faults.extend(simulated::effect_fault(&taint.effect, &Path::new("spec.taints").index(j)));
            }
        }
        let next = number(self.closure_ids.len());
        let closures = *self.closure_ids.entry(closures).or_insert(next);
        let offers = self.offers(source, &node);
        let labels = node.metadata.labels.as_ref();
        let label = |key: &str| labels.and_then(|labels| labels.get(key));
        let path = |topology: &Topology| {
            let levels = topology.levels.iter().filter(|level| !level.is_zone);
            levels.map_while(|level| label(&level.key).cloned()).collect()
        };
        let paths = self.topologies.iter().map(path).collect();
        let values = self.columns.values(labels);
        let name = match &mut node {
            Cow::Borrowed(node) => node.metadata.name.clone(),
            Cow::Owned(node) => node.metadata.name.take(),
        };
        Some(Record { name: name?, source, offers, paths, closures, values })
    }

    fn offers(&mut self, source: Source, node: &Node) -> ListId {
        let status = node.status.as_ref();
        let allocatable = status.and_then(|status| status.allocatable.as_ref()).filter(|list| !list.is_empty());
        let (field, list) = match allocatable {
            Some(list) => ("allocatable", Some(list)),
            None => ("capacity", status.and_then(|status| status.capacity.as_ref())),
        };
        let mut offers = match requests::list(list, &Path::new("status").child(field)) {
            Ok(offers) => offers,
            Err(errors) => {
                if let Source::Node(i) = source {
                    self.faults.of("Node", i, &node.metadata).extend(errors);
                }
                return 0;
            }
        };
        if !list.is_some_and(|list| list.contains_key(resource::PODS)) {
            let place = offers.partition_point(|(name, _)| *name < resource::PODS);
            offers.insert(place, (resource::PODS, PODS));
        }
        self.amounts.intern(&offers)
    }

    fn closures(&mut self) -> Vec<Vec<Closure>> {
        let mut closures = vec![Vec::new(); self.closure_ids.len()];
        for (set, id) in self.closure_ids.drain() {
            closures[index(id)] = set;
        }
        closures
    }
}

fn taints(node: &Node) -> impl Iterator<Item = &k8s_openapi::api::core::v1::Taint> {
    node.spec.iter().flat_map(|spec| spec.taints.iter().flatten())
}

/// The taints of a node that keep pods away. A cordon and a missing readiness count as the taints that Kubernetes puts on
/// such nodes; a node that says nothing of its readiness, as by hand, is ready.
fn closures(node: &Node) -> Vec<Closure> {
    let closure = |key: &str, value: Option<&str>, effect: &str| Closure {
        key: key.to_owned(),
        value: value.unwrap_or_default().to_owned(),
        effect: effect.to_owned(),
    };
    let keeps_away = |effect: &str| [taint::NO_SCHEDULE, taint::NO_EXECUTE].contains(&effect);
    let mut closures: Vec<Closure> = taints(node)
        .filter(|taint| keeps_away(&taint.effect))
        .map(|taint| closure(&taint.key, taint.value.as_deref(), &taint.effect))
        .collect();
    if node.spec.as_ref().is_some_and(|spec| spec.unschedulable == Some(true)) {
        closures.push(closure(taint::UNSCHEDULABLE, None, taint::NO_SCHEDULE));
    }
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    let ready = conditions.into_iter().flatten().find(|condition| condition.type_ == "Ready");
    if ready.is_some_and(|ready| ready.status != "True") {
        closures.push(closure(taint::NOT_READY, None, taint::NO_SCHEDULE));
    }
    closures.sort_unstable();
    closures.dedup();
    closures
}
