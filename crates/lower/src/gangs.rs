//! PodGangs: one base gang for each replica of a set, and one for each replica of a scaling group above its minimum.

use crate::expand::Instance;
use crate::topology::Translation;
use crate::{child_metadata, namespace, scheduler};
use std::collections::BTreeMap;
use trellis_api::constraint::Pack;
use trellis_api::kinds::{NamespacedName, PodCliqueSet, PodGang, PodGangSpec, PodGroup, TopologyConstraintGroupConfig};
use trellis_api::names::{self, annotation, component, label, profile};
use trellis_api::settings::Settings;

/// Names of the pods of a PodClique, given its name and the number of its pods.
pub type PodNames<'a> = &'a dyn Fn(&str, usize) -> Vec<String>;

/// Pods named by their index.
pub fn by_index(clique: &str, replicas: usize) -> Vec<String> {
    (0..replicas).map(|k| names::pod(clique, k)).collect()
}

/// The PodGang of some instances that are placed together.
pub fn pod_gang(
    set: &PodCliqueSet,
    members: &[&Instance<'_>],
    translation: &Translation<'_>,
    settings: &Settings,
    pod_names: PodNames<'_>,
) -> PodGang {
    let template = &set.spec.template;
    let of_set = Pack::of_optional(template.topology_constraint.as_ref());
    let scaled = members.first().filter(|member| member.base_gang.is_some());
    let pack = match scaled.and_then(|member| member.group.as_ref()) {
        // What the scaling group does not say itself, or says of a level that has gone, it has from the set.
        Some(group) => {
            let own = Pack::of_optional(group.template.topology_constraint.as_ref());
            let required = own.required.filter(|domain| translation.has(*domain)).or(of_set.required);
            Pack { required, preferred: own.preferred.or(of_set.preferred) }
        }
        None => of_set,
    };
    let spec = PodGangSpec {
        pod_groups: members.iter().map(|member| pod_group(set, member, translation, pod_names)).collect(),
        topology_constraint: translation.constraint(pack),
        topology_constraint_group_configs: if scaled.is_some() {
            Vec::new()
        } else {
            group_configs(members, translation)
        },
        priority_class_name: template.priority_class_name.clone().filter(|class| !class.is_empty()),
        reuse_reservation_ref: None,
    };
    let gang = members.first().map_or("", |member| member.gang.as_str());
    let mut metadata = child_metadata(set, gang, component::POD_GANG);
    let labels = metadata.labels.get_or_insert_default();
    labels.insert(label::SCHEDULER_NAME.to_owned(), scheduler(set, settings).to_owned());
    if let Some(member) = members.first() {
        labels.insert(label::SET_REPLICA_INDEX.to_owned(), member.set_index.to_string());
    }
    if let Some((member, group)) = scaled.and_then(|member| Some((member, member.group.as_ref()?))) {
        labels.extend(member.base_gang.clone().map(|base| (label::BASE_POD_GANG.to_owned(), base)));
        labels.insert(label::SCALING_GROUP.to_owned(), group.name.clone());
        labels.insert(label::SCALING_GROUP_REPLICA_INDEX.to_owned(), group.index.to_string());
    }
    for (key, value) in mirrored(set.metadata.labels.as_ref()) {
        labels.entry(key.clone()).or_insert_with(|| value.clone());
    }
    let mut annotations: BTreeMap<String, String> =
        mirrored(set.metadata.annotations.as_ref()).map(|(key, value)| (key.clone(), value.clone())).collect();
    if let (true, Some(topology)) = (is_constrained(&spec), translation.topology()) {
        annotations.insert(annotation::TOPOLOGY_NAME.to_owned(), topology.to_owned());
    }
    if scheduler(set, settings) == profile::KAI {
        annotations.insert(annotation::KAI_SKIP_POD_GROUPER.to_owned(), "true".to_owned());
    }
    metadata.annotations = Some(annotations).filter(|annotations| !annotations.is_empty());
    PodGang { metadata, spec, status: None }
}

/// What a gang takes over from its set's metadata.
fn mirrored(map: Option<&BTreeMap<String, String>>) -> impl Iterator<Item = (&String, &String)> {
    let own = |key: &str| annotation::NOT_MIRRORED.iter().any(|prefix| key.starts_with(prefix));
    map.into_iter().flatten().filter(move |(key, _)| !own(key))
}

fn is_constrained(spec: &PodGangSpec) -> bool {
    spec.topology_constraint.is_some()
        || spec.pod_groups.iter().any(|group| group.topology_constraint.is_some())
        || spec.topology_constraint_group_configs.iter().any(|config| config.topology_constraint.is_some())
}

fn pod_group(
    set: &PodCliqueSet,
    member: &Instance<'_>,
    translation: &Translation<'_>,
    pod_names: PodNames<'_>,
) -> PodGroup {
    let mut references: Vec<NamespacedName> = pod_names(&member.name, member.replicas)
        .into_iter()
        .map(|name| NamespacedName { namespace: namespace(set).to_owned(), name })
        .collect();
    references.sort();
    PodGroup {
        name: member.name.clone(),
        pod_references: references,
        min_replicas: member.min_available(),
        topology_constraint: translation.constraint(Pack::of_optional(member.template.topology_constraint.as_ref())),
    }
}

/// One entry for each replica of a scaling group that has a constraint of its own.
fn group_configs(members: &[&Instance<'_>], translation: &Translation<'_>) -> Vec<TopologyConstraintGroupConfig> {
    let mut configs: Vec<TopologyConstraintGroupConfig> = Vec::new();
    for member in members {
        let Some(group) = &member.group else { continue };
        let Some(written) = &group.template.topology_constraint else { continue };
        let Some(constraint) = translation.constraint(Pack::of(written)) else { continue };
        let name = names::scaling_group_replica(&group.name, group.index);
        match configs.last_mut().filter(|last| last.name == name) {
            Some(config) => config.pod_group_names.push(member.name.clone()),
            None => configs.push(TopologyConstraintGroupConfig {
                name,
                pod_group_names: vec![member.name.clone()],
                topology_constraint: Some(constraint),
            }),
        }
    }
    configs
}
