//! What follows from a task group: a PodGroup, a headless Service, files, pods.

use super::tree::{Node, Tree, tree};
use super::{group_labels, namespace, owned, pods, pool_name};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service, ServiceSpec};
use std::borrow::Cow;
use std::collections::BTreeMap;
use trellis_api::kinds::kai::{KaiPodGroup, KaiPodGroupSpec, KaiSubGroup, KaiTopologyConstraint};
use trellis_api::kinds::osmo::{Pool, TaskGroup, Workflow};
use trellis_api::names::{annotation, label, osmo};

/// Everything that follows from a group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupObjects {
    /// The gang; none where the scheduler knows none.
    pub pod_group: Option<KaiPodGroup>,
    /// By which tasks find each other; none for a task alone.
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
    let tree = tree(group, &workflow.spec, &pool.spec);
    let maker = pods::Maker::new(workflow, group, pool, &tree);
    GroupObjects {
        pod_group: pool.spec.knows_topology().then(|| pod_group(workflow, group, pool, &tree)),
        service: (group.tasks.len() > 1).then(|| service(workflow, group)),
        files: (0..group.tasks.len()).filter_map(|task| maker.files(task)).collect(),
        pods: (0..group.tasks.len()).map(|task| maker.pod(task, 0)).collect(),
    }
}

/// The PodGroup: step 6 of 004, with `minMember` on leaves only where there are subgroups.
fn pod_group(workflow: &Workflow, group: &TaskGroup, pool: &Pool, tree: &Tree) -> KaiPodGroup {
    let (home, name) = (pool.spec.namespace(), pool_name(pool));
    let queue = osmo::queue(home, name);
    let topology = osmo::topology(home, name);
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
    let mut metadata = owned(workflow, osmo::group(super::name(workflow), &group.name), labels);
    metadata.annotations = Some(BTreeMap::from([(annotation::KAI_SKIP_POD_GROUPER.to_owned(), "true".to_owned())]));
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
        metadata: owned(workflow, osmo::group(super::name(workflow), &group.name), labels),
        status: None,
    }
}

/// The full name by which others reach a task, wherever it is.
pub(super) fn host(workflow: &Workflow, task: &str) -> Option<String> {
    let groups = workflow.spec.all_groups();
    let group = groups.iter().find(|group| group.tasks.iter().any(|other| other.name == task))?;
    Some(osmo::task_dns(super::name(workflow), &group.name, task, namespace(workflow)))
}
