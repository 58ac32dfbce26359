//! PodCliques.

use crate::child_metadata;
use crate::expand::{Instance, template_replicas};
use crate::startup::Parent;
use trellis_api::kinds::{PodClique, PodCliqueSet, PodCliqueSpec};
use trellis_api::names::{annotation, component, label};

/// The PodClique of an instance that starts after `parents`. One in a scaling group is owned by that group, whose uid only the cluster knows.
pub fn pod_clique(set: &PodCliqueSet, instance: &Instance<'_>, parents: &[Parent]) -> PodClique {
    let template = instance.template;
    let component = if instance.group.is_some() { component::GROUP_POD_CLIQUE } else { component::SET_POD_CLIQUE };
    let mut metadata = child_metadata(set, &instance.name, component);
    if instance.group.is_some() {
        metadata.owner_references = None;
    }
    let labels = metadata.labels.get_or_insert_default();
    let own = [
        (label::POD_GANG, Some(instance.gang.clone())),
        (label::BASE_POD_GANG, instance.base_gang.clone()),
        (label::SET_REPLICA_INDEX, Some(instance.set_index.to_string())),
        (label::SCALING_GROUP, instance.group.as_ref().map(|group| group.name.clone())),
        (label::SCALING_GROUP_REPLICA_INDEX, instance.group.as_ref().map(|group| group.index.to_string())),
        (label::POD_TEMPLATE_HASH, Some(instance.template_hash.clone())),
        (label::CLIQUE, Some(template.name.clone())),
    ];
    labels.extend(own.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    let users = template.labels.iter().filter(|(key, _)| !label::is_reserved(key));
    labels.extend(users.map(|(key, value)| (key.clone(), value.clone())));
    let mut annotations = template.annotations.clone();
    annotations.remove(annotation::TOPOLOGY_NAME);
    annotations.insert(annotation::TEMPLATE_REPLICAS.to_owned(), template_replicas(template).to_string());
    metadata.annotations = Some(annotations);
    let spec = PodCliqueSpec {
        role_name: template.spec.role_name.clone(),
        pod_spec: template.spec.pod_spec.clone(),
        replicas: Some(i32::try_from(instance.replicas).unwrap_or(i32::MAX)),
        min_available: Some(instance.min_available()),
        starts_after: parents.iter().map(|parent| parent.name.clone()).collect(),
        auto_scaling_config: template.spec.auto_scaling_config.clone(),
    };
    PodClique { metadata, spec, status: None }
}
