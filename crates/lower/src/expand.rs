//! Every PodClique of a set: the template times the replicas of the set and of its scaling groups.

use crate::{count, hash, name, namespace};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::collections::{BTreeMap, BTreeSet};
use trellis_api::constraint::group_of;
use trellis_api::kinds::{CliqueTemplate, PodClique, PodCliqueScalingGroup, PodCliqueSet, ScalingGroupTemplate};
use trellis_api::names::{self, GANG_PODS_MAX, SET_PODS_MAX, annotation, label};

/// Replica counts of live children that are autoscaled; everything else follows the template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveReplicas {
    cliques: BTreeMap<String, usize>,
    groups: BTreeMap<String, usize>,
}

impl LiveReplicas {
    /// Takes the counts of those live children of the set that it autoscales.
    pub fn of<'a>(
        set: &PodCliqueSet,
        cliques: impl IntoIterator<Item = &'a PodClique>,
        groups: impl IntoIterator<Item = &'a PodCliqueScalingGroup>,
    ) -> Self {
        let template = &set.spec.template;
        let ours = |metadata: &ObjectMeta| metadata.namespace.as_deref().unwrap_or("default") == namespace(set);
        let named = |scaled: Vec<&str>| -> BTreeSet<String> {
            let replicas = 0..count(set.spec.replicas);
            replicas.flat_map(|i| scaled.iter().map(move |own| names::clique(name(set), i, own))).collect()
        };
        let scaled = template.cliques.iter().filter(|clique| clique.spec.auto_scaling_config.is_some());
        let scaled_cliques = named(scaled.map(|clique| clique.name.as_str()).collect());
        let scaled = template.pod_clique_scaling_groups.iter().filter(|group| group.scale_config.is_some());
        let scaled_groups = named(scaled.map(|group| group.name.as_str()).collect());
        let cliques = cliques.into_iter().filter(|clique| ours(&clique.metadata));
        let groups = groups.into_iter().filter(|group| ours(&group.metadata));
        Self {
            cliques: cliques
                .filter_map(|clique| {
                    Some((clique.metadata.name.clone()?, at_most(clique.spec.replicas?, GANG_PODS_MAX)))
                })
                .filter(|(name, _)| scaled_cliques.contains(name))
                .collect(),
            groups: groups
                .filter_map(|group| Some((group.metadata.name.clone()?, at_most(group.spec.replicas, SET_PODS_MAX))))
                .filter(|(name, _)| scaled_groups.contains(name))
                .collect(),
        }
    }

    /// Takes the counts of the live children of the set: what was last said of each, by its template or through its scale
    /// subresource. Only a template that has changed since it was last heard overrules a child that is not autoscaled.
    pub fn observed<'a>(
        set: &PodCliqueSet,
        cliques: impl IntoIterator<Item = &'a PodClique>,
        groups: impl IntoIterator<Item = &'a PodCliqueScalingGroup>,
    ) -> Self {
        let template = &set.spec.template;
        let heard = |metadata: &ObjectMeta| metadata.annotations.as_ref()?.get(annotation::TEMPLATE_REPLICAS).cloned();
        let named = |metadata: &ObjectMeta, key| metadata.labels.as_ref()?.get(key).cloned();
        let cliques = cliques.into_iter().filter_map(|clique| {
            let own = named(&clique.metadata, label::CLIQUE)?;
            let own = template.cliques.iter().find(|template| template.name == own)?;
            let changed = heard(&clique.metadata).is_some_and(|heard| heard != template_replicas(own).to_string());
            let keeps = own.spec.auto_scaling_config.is_some() || !changed;
            keeps.then_some((clique.metadata.name.clone()?, at_most(clique.spec.replicas?, GANG_PODS_MAX)))
        });
        let groups = groups.into_iter().filter_map(|group| {
            let own = named(&group.metadata, label::GROUP)?;
            let own = template.pod_clique_scaling_groups.iter().find(|template| template.name == own)?;
            let written = count(own.replicas.unwrap_or(1));
            let changed = heard(&group.metadata).is_some_and(|heard| heard != written.to_string());
            let keeps = own.scale_config.is_some() || !changed;
            keeps.then_some((group.metadata.name.clone()?, at_most(group.spec.replicas, SET_PODS_MAX)))
        });
        Self { cliques: cliques.collect(), groups: groups.collect() }
    }

    pub(crate) fn group_replicas(&self, scaling_group: &str, template: &ScalingGroupTemplate) -> usize {
        self.groups.get(scaling_group).copied().unwrap_or_else(|| count(template.replicas.unwrap_or(1)))
    }

    fn clique_replicas(&self, clique: &str, template: &CliqueTemplate) -> usize {
        self.cliques.get(clique).copied().unwrap_or_else(|| template_replicas(template))
    }
}

/// A live count, as far as admission would let a set be scaled.
fn at_most(replicas: i32, max: i64) -> usize {
    usize::try_from(i64::from(replicas).clamp(0, max)).unwrap_or(0)
}

/// The number of pods that the template gives a clique.
pub(crate) fn template_replicas(template: &CliqueTemplate) -> usize {
    count(template.spec.replicas.unwrap_or(1))
}

/// The replica of a scaling group that a PodClique is in.
#[derive(Clone, Debug)]
pub struct GroupReplica<'a> {
    /// The group in the template.
    pub template: &'a ScalingGroupTemplate,
    /// Name of the PodCliqueScalingGroup.
    pub name: String,
    /// Index of the replica.
    pub index: usize,
}

/// One PodClique of a set.
#[derive(Clone, Debug)]
pub struct Instance<'a> {
    /// The clique in the template.
    pub template: &'a CliqueTemplate,
    /// Replica of the set.
    pub set_index: usize,
    /// Replica of a scaling group, if it is in one.
    pub group: Option<GroupReplica<'a>>,
    /// Name of the PodClique.
    pub name: String,
    /// Name of its PodGang.
    pub gang: String,
    /// Name of the base PodGang, if its own gang is a scaled one.
    pub base_gang: Option<String>,
    /// Number of pods.
    pub replicas: usize,
    /// Hash of the pod template.
    pub template_hash: String,
}

impl Instance<'_> {
    /// Pods that must run together.
    pub fn min_available(&self) -> i32 {
        self.template.spec.min_available.or(self.template.spec.replicas).unwrap_or(1)
    }
}

/// The members of every gang, base gangs before their scaled ones, replica by replica.
pub fn by_gang<'a, 'b>(instances: &'b [Instance<'a>]) -> Vec<Vec<&'b Instance<'a>>> {
    let mut members: BTreeMap<(usize, bool, &str), Vec<&Instance<'_>>> = BTreeMap::new();
    for instance in instances {
        let key = (instance.set_index, instance.base_gang.is_some(), instance.gang.as_str());
        members.entry(key).or_default().push(instance);
    }
    members.into_values().collect()
}

/// Every PodClique of a set, replica by replica: standalone cliques first, then groups.
pub fn expand<'a>(set: &'a PodCliqueSet, live: &LiveReplicas) -> Vec<Instance<'a>> {
    let template = &set.spec.template;
    let set_name = name(set);
    let hashes: BTreeMap<&str, String> =
        template.cliques.iter().map(|clique| (clique.name.as_str(), hash::pod_template_hash(set, clique))).collect();
    let hash = |clique: &CliqueTemplate| hashes.get(clique.name.as_str()).cloned().unwrap_or_default();
    let mut instances = Vec::new();
    for i in 0..count(set.spec.replicas) {
        let base = names::set_replica(set_name, i);
        for clique in template.cliques.iter().filter(|clique| group_of(set, &clique.name).is_none()) {
            let name = names::clique(set_name, i, &clique.name);
            instances.push(Instance {
                template: clique,
                set_index: i,
                group: None,
                gang: base.clone(),
                base_gang: None,
                replicas: live.clique_replicas(&name, clique),
                template_hash: hash(clique),
                name,
            });
        }
        for group in &template.pod_clique_scaling_groups {
            let scaling_group = names::scaling_group(set_name, i, &group.name);
            let min = count(group.min_available.unwrap_or(1));
            for j in 0..live.group_replicas(&scaling_group, group) {
                let scaled = j >= min;
                let gang = if scaled { names::scaled_gang(&scaling_group, j, min) } else { base.clone() };
                let members = template.cliques.iter().filter(|clique| group.clique_names.contains(&clique.name));
                instances.extend(members.map(|clique| Instance {
                    template: clique,
                    set_index: i,
                    group: Some(GroupReplica { template: group, name: scaling_group.clone(), index: j }),
                    name: names::group_clique(&scaling_group, j, &clique.name),
                    gang: gang.clone(),
                    base_gang: scaled.then(|| base.clone()),
                    replicas: template_replicas(clique),
                    template_hash: hash(clique),
                }));
            }
        }
    }
    instances
}
