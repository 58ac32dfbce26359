//! What follows from a task group: a PodGroup, a headless Service, files, pods.

use super::tree::{Node, Tree, tree};
use super::{group_labels, name, namespace, owned, pods, pool_name, written_levels};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service, ServiceSpec};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use trellis_api::kinds::kai::{KaiPodGroup, KaiPodGroupSpec, KaiSubGroup, KaiTopologyConstraint};
use trellis_api::kinds::osmo::{Pool, TaskGroup, Workflow};
use trellis_api::names::{annotation, label, osmo};
use trellis_api::osmo::tokens;

/// Everything that follows from a group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupObjects {
    /// The gang; none where the scheduler knows none.
    pub pod_group: Option<KaiPodGroup>,
    /// By which tasks are found; none for a task alone that nobody asks for.
    pub service: Option<Service>,
    /// Files that tasks find.
    pub files: Vec<ConfigMap>,
    /// The pods, in the order of the tasks.
    pub pods: Vec<Pod>,
}

/// The groups of a workflow, in the order in which they can run: each after those whose tasks it needs. The order of the
/// file decides where inputs do not.
pub fn groups(workflow: &Workflow) -> Vec<Cow<'_, TaskGroup>> {
    // Admission lets inputs come from earlier groups only, so the order of the file is an order of inputs.
    workflow.spec.all_groups()
}

/// Objects of a group as they are first made.
pub fn group_objects(workflow: &Workflow, group: &TaskGroup, pool: &Pool) -> GroupObjects {
    let all: Vec<(usize, i32)> = (0..group.tasks.len()).map(|task| (task, 0)).collect();
    objects_with(workflow, group, pool, &Hosts::of(workflow), &all)
}

/// Objects of every group as they are first made, with the names of the groups.
pub fn workflow_objects(workflow: &Workflow, pool: &Pool) -> Vec<(String, GroupObjects)> {
    let hosts = Hosts::of(workflow);
    let objects = |group: &TaskGroup| {
        let all: Vec<(usize, i32)> = (0..group.tasks.len()).map(|task| (task, 0)).collect();
        (group.name.clone(), objects_with(workflow, group, pool, &hosts, &all))
    };
    groups(workflow).iter().map(|group| objects(group)).collect()
}

/// Objects of a group, with the pods of these tasks, each begun anew so many times.
pub(super) fn objects_with(
    workflow: &Workflow,
    group: &TaskGroup,
    pool: &Pool,
    hosts: &Hosts<'_>,
    tasks: &[(usize, i32)],
) -> GroupObjects {
    let tree = tree(group, &workflow.spec, &pool.spec);
    let maker = pods::Maker::new(workflow, group, pool, &tree, hosts);
    GroupObjects {
        pod_group: pool.spec.knows_topology().then(|| pod_group(workflow, group, pool, &tree)),
        service: hosts.are_found(&group.name).then(|| service(workflow, group)),
        files: (0..group.tasks.len()).filter_map(|task| maker.files(task)).collect(),
        pods: tasks.iter().map(|(task, retry)| maker.pod(*task, *retry)).collect(),
    }
}

/// Where the tasks of a workflow are reached. Put together once: tasks may be many, and all of them may name hosts.
#[derive(Debug)]
pub struct Hosts<'a> {
    workflow: &'a Workflow,
    /// For each task its group; none for a task alone.
    homes: BTreeMap<&'a str, Option<&'a str>>,
    /// Groups that have a name in the DNS.
    found: BTreeSet<String>,
}

impl<'a> Hosts<'a> {
    /// The hosts of a workflow.
    pub fn of(workflow: &'a Workflow) -> Self {
        let spec = &workflow.spec;
        let in_groups = || spec.groups.iter().flat_map(|group| group.tasks.iter().map(move |task| (task, Some(group))));
        let tasks = || in_groups().chain(spec.tasks.iter().map(|task| (task, None)));
        let mut homes = BTreeMap::new();
        for (task, group) in tasks() {
            homes.entry(task.name.as_str()).or_insert(group.map(|group| group.name.as_str()));
        }
        let with_peers = spec.groups.iter().filter(|group| group.tasks.len() > 1);
        let mut hosts = Self { workflow, homes, found: with_peers.map(|group| group.name.clone()).collect() };
        let named = tasks().flat_map(|(task, _)| tokens::hosts_of(task));
        let named: BTreeSet<String> = named.filter_map(|task| hosts.home(task)).collect();
        hosts.found.extend(named);
        hosts
    }

    /// The group of a task.
    fn home(&self, task: &str) -> Option<String> {
        Some(self.homes.get(task)?.map_or_else(|| osmo::lone_group(task), str::to_owned))
    }

    /// Whether tasks of the group are looked for by name: by their peers, or by anybody who names one of them.
    pub(super) fn are_found(&self, group: &str) -> bool {
        self.found.contains(group)
    }

    /// The full name by which others reach a task, wherever it is.
    pub(super) fn host(&self, task: &str) -> Option<String> {
        Some(osmo::task_dns(name(self.workflow), &self.home(task)?, task, namespace(self.workflow)))
    }
}

/// Has the constraints of a gang speak of another Topology.
pub fn speak_of(gang: &mut KaiPodGroupSpec, topology: &str) {
    let subs = gang.sub_groups.iter_mut().filter_map(|sub| sub.topology_constraint.as_mut());
    for constraint in gang.topology_constraint.iter_mut().chain(subs) {
        constraint.topology = constraint.topology.as_ref().map(|_| topology.to_owned());
    }
}

/// The PodGroup: step 6 of 004, with `minMember` on leaves only where there are subgroups.
fn pod_group(workflow: &Workflow, group: &TaskGroup, pool: &Pool, tree: &Tree) -> KaiPodGroup {
    let home = pool.spec.namespace();
    let queue = osmo::queue(home, pool_name(pool));
    let topology = osmo::topology(home, pool_name(pool));
    let label_of = |level: usize| pool.spec.topology_keys[level].label.clone();
    let constraint = |required: Option<usize>, preferred: Option<usize>| {
        (required.is_some() || preferred.is_some()).then(|| KaiTopologyConstraint {
            topology: Some(topology.clone()),
            required_topology_level: required.map(label_of),
            preferred_topology_level: preferred.map(label_of),
        })
    };
    let sub_group = |node: &Node| KaiSubGroup {
        name: node.name.clone(),
        min_member: node.tasks.map(count),
        parent: node.parent.map(|parent| tree.nodes[parent].name.clone()),
        topology_constraint: constraint(
            Some(node.level).filter(|_| node.required),
            Some(node.level).filter(|_| !node.required),
        ),
        min_sub_group: None,
    };
    let mut labels = group_labels(workflow, &group.name);
    labels.insert(label::KAI_QUEUE.to_owned(), queue.clone());
    labels.insert(osmo::label::OLD_QUEUE.to_owned(), queue.clone());
    labels.insert(osmo::label::POOL.to_owned(), osmo::label_value(pool_name(pool)));
    let mut metadata = owned(workflow, osmo::group(name(workflow), &group.name), labels);
    let mut annotations = BTreeMap::from([(annotation::KAI_SKIP_POD_GROUPER.to_owned(), "true".to_owned())]);
    if !pool.spec.topology_keys.is_empty() {
        annotations.insert(annotation::POOL_LEVELS.to_owned(), written_levels(&pool.spec.topology_keys));
    }
    metadata.annotations = Some(annotations);
    KaiPodGroup {
        metadata,
        spec: KaiPodGroupSpec {
            min_member: tree.nodes.is_empty().then(|| count(group.tasks.len())),
            queue: Some(queue),
            priority_class_name: Some(osmo::priority_class(workflow.spec.priority().as_str())),
            topology_constraint: constraint(tree.required, tree.preferred),
            sub_groups: tree.nodes.iter().map(sub_group).collect(),
            ..KaiPodGroupSpec::default()
        },
        status: None,
    }
}

fn count(tasks: usize) -> i32 {
    i32::try_from(tasks).unwrap_or(i32::MAX).max(1)
}

fn service(workflow: &Workflow, group: &TaskGroup) -> Service {
    let labels = group_labels(workflow, &group.name);
    let selector = [osmo::label::WORKFLOW, osmo::label::GROUP];
    let selector = labels.iter().filter(|(key, _)| selector.contains(&key.as_str()));
    Service {
        spec: Some(ServiceSpec {
            cluster_ip: Some("None".to_owned()),
            selector: Some(selector.map(|(key, value)| (key.clone(), value.clone())).collect()),
            // Tasks look for each other while they start.
            publish_not_ready_addresses: Some(true),
            ..ServiceSpec::default()
        }),
        metadata: owned(workflow, osmo::group(name(workflow), &group.name), labels),
        status: None,
    }
}
