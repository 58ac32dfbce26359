//! Which gangs are ours: those whose pods name a scheduler that we serve.

use super::key_of;
use crate::seen::{Key, Seen};
use k8s_openapi::api::core::v1::Pod;
use std::collections::BTreeSet;
use trellis_api::kinds::PodGang;
use trellis_api::kinds::kai::KaiPodGroup;
use trellis_api::names::{annotation, label, profile};
use trellis_lower::problem::Observed;

/// The gangs that are ours.
pub(super) struct Served<'a> {
    pub pod_gangs: Vec<&'a PodGang>,
    pub pod_groups: Vec<&'a KaiPodGroup>,
}

/// Whether a pod names a scheduler that we serve.
pub(crate) fn is_served(pod: &Pod, served: &BTreeSet<String>) -> bool {
    let name = pod.spec.as_ref().and_then(|spec| spec.scheduler_name.as_deref());
    served.contains(name.unwrap_or(profile::DEFAULT_SCHEDULER))
}

fn has_ledger(group: &KaiPodGroup) -> bool {
    group.metadata.annotations.as_ref().is_some_and(|map| map.contains_key(annotation::PLACEMENT))
}

impl<'a> Served<'a> {
    pub fn of(seen: &'a Seen, served: &BTreeSet<String>) -> Self {
        let (mut named, mut of_others) = (BTreeSet::new(), BTreeSet::new());
        if !seen.pod_groups.is_empty() {
            for (key, pod) in &seen.pods {
                let group = pod.metadata.annotations.as_ref().and_then(|map| map.get(annotation::KAI_POD_GROUP));
                if let Some(group) = group {
                    let key = Key { namespace: key.namespace.clone(), name: group.as_str().into() };
                    if is_served(pod, served) {
                        named.insert(key)
                    } else {
                        of_others.insert(key)
                    };
                }
            }
        }
        let is_ours = |gang: &PodGang| {
            let profile = gang.metadata.labels.as_ref().and_then(|labels| labels.get(label::SCHEDULER_NAME));
            if let Some(profile) = profile {
                return served.contains(profile);
            }
            let namespace = gang.metadata.namespace.as_deref().unwrap_or_default();
            let mut references = gang.spec.pod_groups.iter().flat_map(|group| &group.pod_references);
            references.any(|pod| {
                let pod = seen.pod(namespace, &pod.name);
                pod.is_some_and(|pod| is_served(pod, served))
            })
        };
        Self {
            pod_gangs: seen.pod_gangs.values().map(|gang| &**gang).filter(|gang| is_ours(gang)).collect(),
            pod_groups: seen
                .pod_groups
                .values()
                .map(|group| &**group)
                .filter(|group| {
                    let key = key_of(&group.metadata);
                    // One that has lost all its pods is known by what is held for them.
                    named.contains(&key) || !of_others.contains(&key) && has_ledger(group)
                })
                .collect(),
        }
    }

    /// All that a problem is made of.
    pub fn observed<'s>(&self, seen: &'a Seen, served: &'s BTreeSet<String>) -> Observed<'s>
    where
        'a: 's,
    {
        Observed {
            nodes: seen.nodes.values().map(|node| &**node).collect(),
            pods: seen.pods.values().map(|pod| &**pod).collect(),
            pod_gangs: self.pod_gangs.clone(),
            pod_groups: self.pod_groups.clone(),
            cluster_topologies: seen.cluster_topologies.values().map(|topology| &**topology).collect(),
            kai_topologies: seen.kai_topologies.values().map(|topology| &**topology).collect(),
            priority_classes: seen.priority_classes.values().map(|class| &**class).collect(),
            node_resource_topologies: seen.node_resource_topologies.values().map(|zones| &**zones).collect(),
            claims: seen.claims.values().map(|claim| &**claim).collect(),
            volumes: seen.volumes.values().map(|volume| &**volume).collect(),
            served: served.iter().map(String::as_str).collect(),
            is_live: true,
            ..Observed::default()
        }
    }
}
