//! KAI's kinds, as far as we read and write them. Their CRDs are printed only on request, for clusters without KAI;
//! fields that we do not know are kept.

use super::PodCliqueSet;
use crate::names::label;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// KAI's Topology.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "kai.scheduler",
    version = "v1alpha1",
    kind = "Topology",
    plural = "topologies",
    derive = "PartialEq",
    derive = "Default",
    crates(kube_core = "::kube_core"),
    doc = "KAI's view of a topology: node label keys, widest first. The operator keeps one for each ClusterTopology."
)]
#[serde(rename_all = "camelCase")]
pub struct TopologySpec {
    /// Levels, widest first. Immutable.
    #[schemars(length(min = 1, max = 16), extend("x-kubernetes-list-type" = "atomic", "x-kubernetes-validations" = [
        {"rule": "self.map(l, l.nodeLabel) == oldSelf.map(l, l.nodeLabel)", "message": "levels are immutable"},
        {"rule": "self.all(x, self.filter(y, y.nodeLabel == x.nodeLabel).size() == 1)", "message": "nodeLabel must be unique across all levels"},
        {"rule": "size(self.filter(l, l.nodeLabel == 'kubernetes.io/hostname')) == 0 || self[size(self) - 1].nodeLabel == 'kubernetes.io/hostname'", "message": "the kubernetes.io/hostname label can only be used at the lowest level of topology"}
    ]))]
    pub levels: Vec<KaiTopologyLevel>,
}

/// A level of KAI's Topology.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KaiTopologyLevel {
    /// Node label key of the level.
    #[schemars(length(min = 1, max = 316))]
    pub node_label: String,
    /// Another name for the level, from KAI 0.17 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
}

/// KAI's PodGroup.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "scheduling.run.ai",
    version = "v2alpha2",
    kind = "PodGroup",
    root = "KaiPodGroup",
    plural = "podgroups",
    namespaced,
    status = "KaiPodGroupStatus",
    derive = "PartialEq",
    derive = "Default",
    crates(kube_core = "::kube_core"),
    doc = "KAI's gang: pods that are placed together, with subgroups and topology levels."
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct KaiPodGroupSpec {
    /// Gang size where there are no subgroups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub min_member: Option<i32>,
    /// Number of direct child subgroups that must be placed; all of them if omitted. From KAI 0.15 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub min_sub_group: Option<i32>,
    /// Name of the Queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// PriorityClass of the group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority_class_name: Option<String>,
    /// Whether the group may be evicted: `preemptible` or `non-preemptible`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemptibility: Option<String>,
    /// Whether KAI marks pods as unschedulable. KAI's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark_unschedulable: Option<bool>,
    /// How often KAI tries: -1 for ever, 1 once for each node pool. KAI's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduling_backoff: Option<i32>,
    /// Levels that all pods of the group must and should share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology_constraint: Option<KaiTopologyConstraint>,
    /// Subgroups, as a tree by `parent`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sub_groups: Vec<KaiSubGroup>,
}

/// A subgroup of KAI's PodGroup.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct KaiSubGroup {
    /// Name of the subgroup, a DNS label.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Gang size of a leaf; not on inner subgroups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub min_member: Option<i32>,
    /// Number of direct child subgroups that must be placed; all of them if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub min_sub_group: Option<i32>,
    /// Name of the subgroup above this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Levels that the pods of the subgroup must and should share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology_constraint: Option<KaiTopologyConstraint>,
}

/// Levels that pods must and should share, in KAI's terms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KaiTopologyConstraint {
    /// Name of the Topology.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology: Option<String>,
    /// Node label key (or alias) that the pods must share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_topology_level: Option<String>,
    /// Node label key (or alias) that the pods should share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preferred_topology_level: Option<String>,
}

/// What KAI observed of a PodGroup, kept as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct KaiPodGroupStatus {
    /// KAI's fields.
    #[serde(flatten)]
    #[schemars(skip)]
    pub fields: Map<String, Value>,
}

/// KAI's Queue.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "scheduling.run.ai",
    version = "v2",
    kind = "Queue",
    plural = "queues",
    derive = "PartialEq",
    derive = "Default",
    crates(kube_core = "::kube_core"),
    doc = "KAI's queue: shares of the cluster. Read, and at this time not enforced, by the trellis scheduler."
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct QueueSpec {
    /// Name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// Queue above this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_queue: Option<String>,
    /// Higher goes first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// Quota, weight and limit for each resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<QueueResources>,
}

/// Shares of a queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueueResources {
    /// GPUs, in devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<QueueResource>,
    /// CPU, in thousandths of a core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<QueueResource>,
    /// Memory, in millions of bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<QueueResource>,
}

/// Share of one resource; -1 is no limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueResource {
    /// What the queue is entitled to.
    #[serde(default)]
    pub quota: f64,
    /// Weight in sharing what is left.
    #[serde(default)]
    pub over_quota_weight: f64,
    /// What the queue may use at most.
    #[serde(default)]
    pub limit: f64,
}

/// The KAI queues that a set names: its own label or annotation if it has one, and those of its cliques.
pub fn queues(set: &PodCliqueSet) -> Vec<&str> {
    fn of(map: Option<&BTreeMap<String, String>>) -> Option<&String> {
        map?.get(label::KAI_QUEUE)
    }
    let own = of(set.metadata.labels.as_ref()).or_else(|| of(set.metadata.annotations.as_ref()));
    let cliques = set.spec.template.cliques.iter();
    let theirs = cliques.filter_map(|clique| of(Some(&clique.labels)).or_else(|| of(Some(&clique.annotations))));
    let mut found: Vec<&str> = own.into_iter().chain(theirs).map(String::as_str).collect();
    let mut seen = BTreeSet::new();
    found.retain(|queue| !queue.is_empty() && seen.insert(*queue));
    found
}
