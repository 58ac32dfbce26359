//! Pods of tasks. A task's pod is the same however often it is begun anew, but for its number: it names the same leaf.

use super::group::Hosts;
use super::tree::Tree;
use super::{group_labels, name, owned, pool_name};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{
    ConfigMap, ConfigMapVolumeSource, Container, EnvVar, HostPathVolumeSource, NodeSelectorRequirement,
    NodeSelectorTerm, Pod, PodSpec, ResourceRequirements, SecurityContext, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use trellis_api::kinds::osmo::{Pool, ResourceSpec, Task, TaskGroup, Workflow};
use trellis_api::names::{annotation, label, osmo, resource};
use trellis_api::osmo::tokens::{self, Token};
use trellis_api::osmo::{config, units};

/// Where OSMO's tasks find what they need and leave what they make.
const DATA: &str = "/osmo/data";
/// Name of the volume with a task's files.
const FILES: &str = "osmo-files";

/// A task's pod, begun anew so many times.
pub fn task_pod(workflow: &Workflow, group: &TaskGroup, pool: &Pool, task: usize, retry: i32) -> Pod {
    let (tree, hosts) = (super::tree(group, &workflow.spec, &pool.spec), Hosts::of(workflow));
    Maker::new(workflow, group, pool, &tree, &hosts).pod(task, retry)
}

/// Makes the pods of a group.
pub(super) struct Maker<'a> {
    workflow: &'a Workflow,
    group: &'a TaskGroup,
    pool: &'a Pool,
    /// For each task the name of its leaf.
    leaves: Vec<Option<&'a str>>,
    hosts: &'a Hosts<'a>,
}

impl<'a> Maker<'a> {
    pub fn new(
        workflow: &'a Workflow,
        group: &'a TaskGroup,
        pool: &'a Pool,
        tree: &'a Tree,
        hosts: &'a Hosts<'a>,
    ) -> Self {
        let leaf = |leaf: &Option<usize>| leaf.map(|leaf| tree.nodes[leaf].name.as_str());
        Self { workflow, group, pool, leaves: tree.leaf_of.iter().map(leaf).collect(), hosts }
    }

    /// The pod of a task.
    pub fn pod(&self, task: usize, retry: i32) -> Pod {
        let asked = self.workflow.spec.resource_of(&self.group.tasks[task]).cloned().unwrap_or_default();
        let platform = self.pool.spec.platform_of(Some(&asked));
        let mut metadata = owned(
            self.workflow,
            osmo::task(name(self.workflow), &self.group.tasks[task].name),
            self.labels(task, retry, platform),
        );
        if self.pool.spec.knows_topology() {
            metadata.annotations = Some(BTreeMap::from([
                (annotation::KAI_POD_GROUP.to_owned(), osmo::group(name(self.workflow), &self.group.name)),
                (annotation::KAI_SKIP_POD_GROUPER.to_owned(), "true".to_owned()),
            ]));
        }
        let pod = Pod { metadata, spec: Some(self.spec(task, &asked, platform)), status: None };
        let mut pod = self.templated(pod, platform);
        if let (Some(spec), false) = (&mut pod.spec, asked.nodes_excluded.is_empty()) {
            keep_away(spec, &asked.nodes_excluded);
        }
        pod
    }

    /// The labels: the user's below ours.
    fn labels(&self, task: usize, retry: i32, platform: &str) -> BTreeMap<String, String> {
        let (workflow, pool) = (self.workflow, self.pool);
        let reserved = |key: &str| osmo::label::PREFIXES.iter().any(|prefix| key.starts_with(prefix));
        let mut labels = workflow.spec.labels.clone();
        labels.retain(|key, _| !reserved(key));
        labels.extend(group_labels(workflow, &self.group.name));
        let mut set = |key: &str, value: String| {
            if !value.is_empty() {
                labels.insert(key.to_owned(), value);
            }
        };
        set(osmo::label::TASK, osmo::label_value(&self.group.tasks[task].name));
        set(osmo::label::RETRY, retry.to_string());
        set(osmo::label::POOL, osmo::label_value(pool_name(pool)));
        set(osmo::label::PLATFORM, osmo::label_value(platform));
        set(osmo::label::PRIORITY, workflow.spec.priority().as_str().to_lowercase());
        if self.group.lead() == task {
            set(osmo::label::LEAD, "true".to_owned());
        }
        if pool.spec.knows_topology() {
            let queue = osmo::queue(pool.spec.namespace(), pool_name(pool));
            set(label::KAI_QUEUE, queue.clone());
            set(osmo::label::OLD_QUEUE, queue);
            set(label::KAI_SUBGROUP, self.leaves[task].unwrap_or_default().to_owned());
        }
        labels
    }

    fn spec(&self, task: usize, asked: &ResourceSpec, platform: &str) -> PodSpec {
        let written = &self.group.tasks[task];
        let (volumes, mounts) = self.volumes(written);
        let amounts = self.amounts(asked, platform);
        let text = |text: &String| self.replaced(text);
        let env = written.environment.iter().map(|(name, value)| EnvVar {
            name: name.clone(),
            value: Some(value.as_str().map_or_else(|| value.to_string(), |value| self.replaced(value))),
            value_from: None,
        });
        let container = Container {
            name: osmo::CONTAINER.to_owned(),
            image: Some(written.image.clone()),
            command: Some(written.command.iter().map(text).collect()),
            args: some(written.args.iter().map(text).collect()),
            env: some(env.collect()),
            resources: (!amounts.is_empty()).then(|| ResourceRequirements {
                limits: Some(amounts.clone()),
                requests: Some(amounts),
                ..ResourceRequirements::default()
            }),
            security_context: written
                .privileged
                .then(|| SecurityContext { privileged: Some(true), ..SecurityContext::default() }),
            volume_mounts: some(mounts),
            ..Container::default()
        };
        PodSpec {
            containers: vec![container],
            host_network: written.host_network.then_some(true),
            hostname: Some(osmo::task(name(self.workflow), &written.name)),
            restart_policy: Some("Never".to_owned()),
            scheduler_name: Some(self.pool.spec.scheduler_name().to_owned()),
            subdomain: self
                .hosts
                .are_found(&self.group.name)
                .then(|| osmo::group(name(self.workflow), &self.group.name)),
            volumes: some(volumes),
            ..PodSpec::default()
        }
    }

    /// What the container asks for: the task's own, else the platform's and the pool's defaults.
    fn amounts(&self, asked: &ResourceSpec, platform: &str) -> BTreeMap<String, Quantity> {
        let pool = &self.pool.spec;
        let whole = |amount: Option<i64>, variable: &str| {
            pool.whole(amount, platform, variable).map(|amount| amount.to_string())
        };
        let bytes = |amount: &Option<Value>, variable: &str| {
            let amount = amount.as_ref().or_else(|| pool.variable(platform, variable)).and_then(units::bytes);
            amount.filter(|amount| *amount > 0).map(units::quantity)
        };
        let amounts = [
            (resource::CPU, whole(asked.cpu, "USER_CPU")),
            (osmo::GPU, whole(asked.gpu, "USER_GPU")),
            (resource::MEMORY, bytes(&asked.memory, "USER_MEMORY")),
            (resource::EPHEMERAL_STORAGE, bytes(&asked.storage, "USER_STORAGE")),
        ];
        amounts.into_iter().filter_map(|(name, amount)| Some((name.to_owned(), Quantity(amount?)))).collect()
    }

    /// Folders of the host, and the task's files.
    fn volumes(&self, task: &Task) -> (Vec<Volume>, Vec<VolumeMount>) {
        let (mut volumes, mut mounts) = (Vec::new(), Vec::new());
        for (i, mount) in task.volume_mounts.iter().enumerate() {
            let (from, to) = mount.split_once(':').unwrap_or((mount, mount));
            let name = format!("host-{i}");
            let host_path = Some(HostPathVolumeSource { path: from.to_owned(), type_: None });
            volumes.push(Volume { name: name.clone(), host_path, ..Volume::default() });
            mounts.push(VolumeMount { name, mount_path: to.to_owned(), ..VolumeMount::default() });
        }
        if !task.files.is_empty() {
            let config_map = ConfigMapVolumeSource {
                name: osmo::task(name(self.workflow), &task.name),
                default_mode: Some(0o755),
                ..ConfigMapVolumeSource::default()
            };
            volumes.push(Volume { name: FILES.to_owned(), config_map: Some(config_map), ..Volume::default() });
            mounts.extend(task.files.iter().enumerate().map(|(i, file)| VolumeMount {
                name: FILES.to_owned(),
                mount_path: file.path.clone(),
                sub_path: Some(i.to_string()),
                ..VolumeMount::default()
            }));
        }
        (volumes, mounts)
    }

    /// The ConfigMap with a task's files, if it has any.
    pub fn files(&self, task: usize) -> Option<ConfigMap> {
        let task = &self.group.tasks[task];
        let (mut data, mut binary) = (BTreeMap::new(), BTreeMap::new());
        for (i, file) in task.files.iter().enumerate() {
            match file.base64.then(|| decoded(&file.contents)).flatten() {
                Some(bytes) => drop(binary.insert(i.to_string(), bytes)),
                None => drop(data.insert(i.to_string(), self.replaced(&file.contents))),
            }
        }
        (!task.files.is_empty()).then(|| ConfigMap {
            metadata: owned(
                self.workflow,
                osmo::task(name(self.workflow), &task.name),
                group_labels(self.workflow, &self.group.name),
            ),
            data: (!data.is_empty()).then_some(data),
            binary_data: (!binary.is_empty()).then_some(binary),
            immutable: None,
        })
    }

    /// A text with what its tokens stand for.
    fn replaced(&self, text: &str) -> String {
        tokens::replace(text, |token| match token {
            Token::Uuid => Some(self.workflow.metadata.uid.clone().unwrap_or_else(|| name(self.workflow).to_owned())),
            Token::WorkflowId => Some(name(self.workflow).to_owned()),
            Token::Output => Some(format!("{DATA}/output")),
            Token::Input(which) => Some(format!("{DATA}/input/{which}")),
            Token::Host(task) => self.hosts.host(task),
        })
    }

    /// The pod with the templates of pool and platform under it: what we set goes before what they say.
    fn templated(&self, pod: Pod, platform: &str) -> Pod {
        let platform = self.pool.spec.platforms.get(platform).and_then(|platform| platform.pod_template.as_ref());
        let templates = self.pool.spec.pod_template.as_ref().into_iter().chain(platform);
        let mut merged = Value::Object(serde_json::Map::new());
        for (part, field, value) in templates.flat_map(config::pod_fields) {
            config::merge(&mut merged, &json!({ part: { field: value } }));
        }
        if merged.as_object().is_none_or(serde_json::Map::is_empty) {
            return pod;
        }
        let Ok(own) = serde_json::to_value(&pod) else { return pod };
        config::merge(&mut merged, &own);
        // A pool whose templates cannot be read is not admitted.
        serde_json::from_value(merged).unwrap_or(pod)
    }
}

fn some<T>(items: Vec<T>) -> Option<Vec<T>> {
    (!items.is_empty()).then_some(items)
}

/// Keeps a pod away from nodes, wherever its templates let it go: one of the terms has to hold, so each of them says it.
fn keep_away(spec: &mut PodSpec, nodes: &[String]) {
    let requirement = NodeSelectorRequirement {
        key: label::HOSTNAME.to_owned(),
        operator: "NotIn".to_owned(),
        values: Some(nodes.to_vec()),
    };
    let affinity = spec.affinity.get_or_insert_default().node_affinity.get_or_insert_default();
    let selector = affinity.required_during_scheduling_ignored_during_execution.get_or_insert_default();
    if selector.node_selector_terms.is_empty() {
        selector.node_selector_terms.push(NodeSelectorTerm::default());
    }
    for term in &mut selector.node_selector_terms {
        term.match_expressions.get_or_insert_default().push(requirement.clone());
    }
}

/// Base64 through Kubernetes' own type, which reads it.
fn decoded(text: &str) -> Option<ByteString> {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    serde_json::from_value(Value::String(text)).ok()
}
