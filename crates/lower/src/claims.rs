//! Resource claims that pods of a set, a scaling group or a clique share.

use crate::expand::Instance;
use crate::{child_labels, name, namespace, owner_reference, pods};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::{DynamicObject, TypeMeta};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use trellis_api::kinds::{PodCliqueSet, ResourceSharing, SharingScope};
use trellis_api::names::component;

/// A claim as one pod refers to it.
pub struct PodClaim {
    /// Name of the claim up to the pod's index, and after it, for a claim of each pod.
    name: ClaimName,
}

enum ClaimName {
    Fixed(String),
    PerPod { owner: String, template: String },
}

impl ClaimName {
    fn of_pod(&self, k: usize) -> String {
        match self {
            Self::Fixed(name) => name.clone(),
            Self::PerPod { owner, template } => format!("{owner}-{k}-{template}"),
        }
    }
}

/// Whether an entry on the set or a group takes part in `clique`, which is in `group` or in none.
fn takes_part(entry: &ResourceSharing, clique: &str, group: Option<&str>) -> bool {
    entry.filter.as_ref().is_none_or(|filter| {
        filter.child_clique_names.iter().any(|name| name == clique)
            || filter.child_scaling_group_names.iter().any(|name| Some(name.as_str()) == group)
    })
}

/// The claims of an instance: the set's, then its group's, then its own.
pub fn of_instance(set: &PodCliqueSet, instance: &Instance<'_>) -> Vec<PodClaim> {
    let clique = instance.template;
    let group = instance.group.as_ref();
    let fixed = |owner: &str, index: Option<usize>, entry: &ResourceSharing| {
        let index = match (entry.scope, index) {
            (SharingScope::PerReplica, Some(index)) => index.to_string(),
            _ => "all".to_owned(),
        };
        PodClaim { name: ClaimName::Fixed(format!("{owner}-{index}-{}", entry.name)) }
    };
    let mut found = Vec::new();
    for entry in &set.spec.template.resource_sharing {
        if takes_part(entry, &clique.name, group.map(|group| group.template.name.as_str())) {
            found.push(fixed(name(set), Some(instance.set_index), entry));
        }
    }
    for (group, entry) in group.iter().flat_map(|group| group.template.resource_sharing.iter().map(move |e| (group, e)))
    {
        if takes_part(entry, &clique.name, None) {
            found.push(fixed(&group.name, Some(group.index), entry));
        }
    }
    for entry in &clique.resource_sharing {
        found.push(match entry.scope {
            SharingScope::AllReplicas => fixed(&instance.name, None, entry),
            SharingScope::PerReplica => {
                PodClaim { name: ClaimName::PerPod { owner: instance.name.clone(), template: entry.name.clone() } }
            }
        });
    }
    found
}

/// Adds references to the claims of pod `k`, for all of its containers.
pub fn add_to_pod(claims: &[PodClaim], k: usize, spec: &mut Map<String, Value>) {
    for (n, claim) in claims.iter().enumerate() {
        let local = format!("shared-{n}");
        pods::push(spec, "resourceClaims", json!({ "name": local, "resourceClaimName": claim.name.of_pod(k) }));
        for list in ["initContainers", "containers"] {
            for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                let Some(container) = container.as_object_mut() else { continue };
                let resources = container.entry("resources").or_insert_with(|| json!({}));
                if let Some(resources) = resources.as_object_mut() {
                    pods::push(resources, "claims", json!({ "name": local }));
                }
            }
        }
    }
}

/// The ResourceClaims of a set, by name.
pub fn claims(set: &PodCliqueSet, instances: &[Instance<'_>]) -> Vec<DynamicObject> {
    let template = &set.spec.template;
    let mut wanted: BTreeMap<String, &str> = BTreeMap::new();
    for instance in instances {
        let group = instance.group.as_ref();
        let entries = template
            .resource_sharing
            .iter()
            .filter(|e| takes_part(e, &instance.template.name, group.map(|group| group.template.name.as_str())))
            .chain(
                group
                    .iter()
                    .flat_map(|group| group.template.resource_sharing.iter())
                    .filter(|e| takes_part(e, &instance.template.name, None)),
            )
            .chain(&instance.template.resource_sharing);
        for (entry, claim) in entries.zip(of_instance(set, instance)) {
            let pods = if matches!(claim.name, ClaimName::PerPod { .. }) { instance.replicas } else { 1 };
            wanted.extend((0..pods).map(|k| (claim.name.of_pod(k), entry.name.as_str())));
        }
    }
    wanted.into_iter().filter_map(|(name, template)| claim(set, name, template)).collect()
}

fn claim(set: &PodCliqueSet, name: String, template: &str) -> Option<DynamicObject> {
    let template = set.spec.template.resource_claim_templates.iter().find(|t| t.name == template)?;
    Some(DynamicObject {
        types: Some(TypeMeta { api_version: "resource.k8s.io/v1".to_owned(), kind: "ResourceClaim".to_owned() }),
        metadata: ObjectMeta {
            name: Some(name),
            namespace: Some(namespace(set).to_owned()),
            labels: Some(child_labels(set, component::RESOURCE_CLAIM)),
            owner_references: owner_reference(set).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        data: json!({ "spec": template.template_spec.get("spec").cloned().unwrap_or_else(|| json!({})) }),
    })
}
