//! Resource claims that pods of a set, a scaling group or a clique share.

use crate::expand::Instance;
use crate::{child_labels, name, namespace, owner_reference, pods};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::{DynamicObject, TypeMeta};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use trellis_api::kinds::{PodCliqueSet, ResourceClaimTemplate, ResourceSharing, SharingScope};
use trellis_api::names::{self, component};

/// A claim that the pods of an instance share, or that each of them has.
#[derive(Debug)]
pub struct PodClaim {
    /// Name of the template in the set.
    template: String,
    /// What the claim belongs to: the set, a scaling group, a PodClique.
    owner: String,
    replica: Replica,
}

#[derive(Debug)]
enum Replica {
    /// One claim for all replicas of the owner.
    All,
    /// One claim for this replica of the owner.
    One(usize),
    /// One claim for each pod.
    EachPod,
}

impl PodClaim {
    fn new(owner: &str, entry: &ResourceSharing, per_replica: Replica) -> Self {
        let replica = match entry.scope {
            SharingScope::AllReplicas => Replica::All,
            SharingScope::PerReplica => per_replica,
        };
        Self { template: entry.name.clone(), owner: owner.to_owned(), replica }
    }

    /// Name of the claim of pod `k`.
    fn name(&self, k: usize) -> String {
        match self.replica {
            Replica::All => format!("{}-all-{}", self.owner, self.template),
            Replica::One(index) => format!("{}-{index}-{}", self.owner, self.template),
            Replica::EachPod => format!("{}-{k}-{}", self.owner, self.template),
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
    let group_name = instance.group.as_ref().map(|group| group.template.name.as_str());
    let mut found = Vec::new();
    for entry in &set.spec.template.resource_sharing {
        if takes_part(entry, &clique.name, group_name) {
            found.push(PodClaim::new(name(set), entry, Replica::One(instance.set_index)));
        }
    }
    if let Some(group) = &instance.group {
        let entries = group.template.resource_sharing.iter();
        let entries = entries.filter(|entry| takes_part(entry, &clique.name, None));
        found.extend(entries.map(|entry| PodClaim::new(&group.name, entry, Replica::One(group.index))));
    }
    found.extend(clique.resource_sharing.iter().map(|entry| PodClaim::new(&instance.name, entry, Replica::EachPod)));
    found
}

/// Adds references to the claims of pod `k`, for all of its containers, under names that the pod does not use yet.
pub fn add_to_pod(claims: &[PodClaim], k: usize, spec: &mut Map<String, Value>) {
    let mut free_names = (0..).map(|n| format!("shared-{n}"));
    for claim in claims {
        let taken = |local: &String| {
            let own = spec.get("resourceClaims").and_then(Value::as_array);
            own.is_some_and(|own| own.iter().any(|claim| claim["name"] == local.as_str()))
        };
        let Some(local) = free_names.find(|local| !taken(local)) else { return };
        pods::push(spec, "resourceClaims", json!({ "name": local, "resourceClaimName": claim.name(k) }));
        for list in ["initContainers", "containers"] {
            for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                let Some(container) = container.as_object_mut() else { continue };
                if container.get("name").is_some_and(|name| name == names::WAIT_CONTAINER) {
                    continue;
                }
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
    let templates = &set.spec.template.resource_claim_templates;
    let mut wanted: BTreeMap<String, &ResourceClaimTemplate> = BTreeMap::new();
    for instance in instances {
        for claim in of_instance(set, instance) {
            let Some(template) = templates.iter().find(|template| template.name == claim.template) else { continue };
            wanted.extend((0..instance.replicas).map(|k| (claim.name(k), template)));
        }
    }
    wanted.into_iter().map(|(name, template)| resource_claim(set, name, template)).collect()
}

fn resource_claim(set: &PodCliqueSet, name: String, template: &ResourceClaimTemplate) -> DynamicObject {
    DynamicObject {
        types: Some(TypeMeta { api_version: "resource.k8s.io/v1".to_owned(), kind: "ResourceClaim".to_owned() }),
        metadata: ObjectMeta {
            name: Some(name),
            namespace: Some(namespace(set).to_owned()),
            labels: Some(child_labels(set, component::RESOURCE_CLAIM)),
            owner_references: owner_reference(set).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        data: json!({ "spec": template.template_spec.get("spec").cloned().unwrap_or_else(|| json!({})) }),
    }
}
