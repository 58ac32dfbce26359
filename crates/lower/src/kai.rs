//! KAI's objects: a Topology for each ClusterTopology, a PodGroup for each PodGang.

use crate::owner_reference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::collections::BTreeMap;
use trellis_api::kinds::kai::{
    self, KaiPodGroup, KaiPodGroupSpec, KaiSubGroup, KaiTopologyConstraint, KaiTopologyLevel, Topology, TopologySpec,
};
use trellis_api::kinds::{ClusterTopology, GangTopologyConstraint, PodCliqueSet, PodGang, TopologyLevel};
use trellis_api::names::{MANAGED_BY, annotation, label};

/// The levels that KAI can take, widest first, and those that it cannot: what lies below the host name label.
pub fn levels(topology: &ClusterTopology) -> (Vec<&TopologyLevel>, Vec<&TopologyLevel>) {
    let mut levels = topology.spec.sorted_levels();
    let end = levels.iter().position(|level| level.key == label::HOSTNAME).map_or(levels.len(), |i| i + 1);
    let below = levels.split_off(end);
    (levels, below)
}

/// KAI's Topology for a ClusterTopology, which owns it.
pub fn topology(topology: &ClusterTopology) -> Topology {
    let levels = levels(topology).0.into_iter();
    let owner = owner_reference(topology).map(|owner| vec![owner]);
    Topology {
        metadata: ObjectMeta {
            name: topology.metadata.name.clone(),
            labels: Some(BTreeMap::from([(label::MANAGED_BY.to_owned(), MANAGED_BY.to_owned())])),
            owner_references: owner,
            ..ObjectMeta::default()
        },
        spec: TopologySpec {
            levels: levels.map(|level| KaiTopologyLevel { node_label: level.key.clone(), alias: None }).collect(),
        },
    }
}

/// KAI's PodGroup for a PodGang, which owns it: inner subgroups for the group configs, leaves for the pod groups.
///
/// KAI fails on a child that requires the level its parent has fixed already, so such a level is left out here, and so
/// are levels that KAI's Topology does not have.
pub fn pod_group(set: &PodCliqueSet, gang: &PodGang, topologies: &BTreeMap<String, ClusterTopology>) -> KaiPodGroup {
    let name = gang.metadata.annotations.as_ref().and_then(|map| map.get(annotation::TOPOLOGY_NAME));
    let levels_known: Vec<&str> = name
        .and_then(|name| topologies.get(name))
        .map(|topology| levels(topology).0.into_iter().map(|level| level.key.as_str()).collect())
        .unwrap_or_default();
    let translate = |constraint: Option<&GangTopologyConstraint>, above: Option<&str>| {
        let pack = constraint?.pack_constraint.as_ref()?;
        let known = |key: &String| levels_known.contains(&key.as_str());
        let required = pack.required.clone().filter(|key| known(key) && Some(key.as_str()) != above);
        // A preference that the level above fixes already is none.
        let place = |key: &str| levels_known.iter().position(|known| *known == key);
        let fixed = |key: &String| above.is_some_and(|above| place(key) <= place(above));
        let preferred = pack.preferred.clone().filter(|key| known(key) && !fixed(key));
        (required.is_some() || preferred.is_some()).then(|| KaiTopologyConstraint {
            topology: name.cloned(),
            required_topology_level: required,
            preferred_topology_level: preferred,
        })
    };
    let spec = &gang.spec;
    let root = required(spec.topology_constraint.as_ref());
    let mut sub_groups: Vec<KaiSubGroup> = spec
        .topology_constraint_group_configs
        .iter()
        .map(|config| KaiSubGroup {
            name: config.name.clone(),
            topology_constraint: translate(config.topology_constraint.as_ref(), root),
            ..KaiSubGroup::default()
        })
        .collect();
    for group in &spec.pod_groups {
        let configs = &spec.topology_constraint_group_configs;
        let parent = configs.iter().find(|config| config.pod_group_names.contains(&group.name));
        let above = parent.and_then(|config| required(config.topology_constraint.as_ref())).or(root);
        sub_groups.push(KaiSubGroup {
            name: group.name.clone(),
            min_member: Some(group.min_replicas.max(1)),
            parent: parent.map(|config| config.name.clone()),
            topology_constraint: translate(group.topology_constraint.as_ref(), above),
            min_sub_group: None,
        });
    }
    let mut annotations = gang.metadata.annotations.clone().unwrap_or_default();
    // What we remember of a gang is not KAI's business.
    annotations.retain(|key, _| !key.starts_with("trellis.dev/"));
    annotations.insert(annotation::KAI_SKIP_POD_GROUPER.to_owned(), "true".to_owned());
    KaiPodGroup {
        metadata: ObjectMeta {
            name: gang.metadata.name.clone(),
            namespace: gang.metadata.namespace.clone(),
            labels: gang.metadata.labels.clone(),
            annotations: Some(annotations),
            owner_references: owner_reference(gang).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        spec: KaiPodGroupSpec {
            queue: kai::queues(set).first().map(|queue| (*queue).to_owned()),
            priority_class_name: spec.priority_class_name.clone(),
            topology_constraint: translate(spec.topology_constraint.as_ref(), None),
            sub_groups,
            ..KaiPodGroupSpec::default()
        },
        status: None,
    }
}

fn required(constraint: Option<&GangTopologyConstraint>) -> Option<&str> {
    constraint?.pack_constraint.as_ref()?.required.as_deref()
}
