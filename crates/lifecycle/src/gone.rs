//! A set that is gone, or going: everything of it is deleted at once. A garbage collector would do it too, but at its own pace.

use crate::observed::Observed;
use crate::picture::is_owned_by;
use crate::plan::{Confirm, Kind, Plan, Target, site};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use std::collections::BTreeSet;

/// The finalizer by which a deletion says that children are to stay.
pub const ORPHAN: &str = "orphan";

/// What is due for what a set has left behind.
pub fn decide(observed: &Observed, plan: &mut Plan) {
    if let Some(set) = &observed.set
        && set.metadata.finalizers.iter().flatten().any(|finalizer| finalizer == ORPHAN)
    {
        return;
    }
    let mut owners: BTreeSet<Lost> = BTreeSet::new();
    let going = observed.set.as_ref().and_then(|set| set.metadata.uid.as_deref());
    let mut delete = |site, kind, metadata: &ObjectMeta, plan: &mut Plan| {
        let Some(owner) = owner_of(metadata, Kind::PodCliqueSet) else { return false };
        match going {
            Some(uid) if owner.uid == uid => {}
            // A set of the same name that is neither this one nor gone cannot be.
            _ => {
                let namespace = metadata.namespace.clone().unwrap_or_default();
                owners.insert((Kind::PodCliqueSet, namespace, owner.name.clone(), owner.uid.clone()));
            }
        }
        plan.delete(site, kind, metadata, false);
        true
    };
    let groups: BTreeSet<&str> = observed
        .groups
        .values()
        .filter(|group| delete(site::DELETE_GROUP, Kind::ScalingGroup, &group.metadata, plan))
        .filter_map(|group| group.metadata.uid.as_deref())
        .collect();
    for (name, clique) in &observed.cliques {
        let meta = &clique.metadata;
        let of_group = groups.iter().any(|uid| is_owned_by(meta, Some(uid)));
        if of_group {
            plan.delete(site::DELETE_CLIQUE, Kind::PodClique, meta, false);
        }
        if of_group || delete(site::DELETE_CLIQUE, Kind::PodClique, meta, plan) {
            for pod in observed.pods.get(name).into_iter().flatten() {
                if is_owned_by(&pod.metadata, meta.uid.as_deref()) {
                    plan.delete(site::DELETE_POD_ORPHANED, Kind::Pod, &pod.metadata, false);
                }
            }
        }
    }
    for (name, gang) in &observed.gangs {
        if delete(site::DELETE_GANG, Kind::PodGang, &gang.metadata, plan)
            && let Some(group) = observed.kai_pod_groups.get(name)
        {
            plan.delete(site::BACKEND_GROUP, Kind::KaiPodGroup, &group.metadata, false);
        }
    }
    let children = (observed.services.values().map(|o| (Kind::Service, &o.metadata)))
        .chain(observed.accounts.values().map(|o| (Kind::ServiceAccount, &o.metadata)))
        .chain(observed.roles.values().map(|o| (Kind::Role, &o.metadata)))
        .chain(observed.bindings.values().map(|o| (Kind::RoleBinding, &o.metadata)))
        .chain(observed.autoscalers.values().map(|o| (Kind::Autoscaler, &o.metadata)))
        .chain(observed.claims.values().map(|o| (Kind::ResourceClaim, &o.metadata)));
    for (kind, metadata) in children {
        delete(site::DELETE_CHILD, kind, metadata, plan);
    }
    plan.confirm.extend(owners.into_iter().map(is_gone));
}

/// Pods whose clique is gone, and cliques whose scaling group is, whatever became of the set: somebody died between two deletions.
pub fn leftovers(observed: &Observed, plan: &mut Plan) {
    let uid = |metadata: &ObjectMeta| metadata.uid.clone().unwrap_or_default();
    let groups: BTreeSet<String> = observed.groups.values().map(|group| uid(&group.metadata)).collect();
    let cliques: BTreeSet<String> = observed.cliques.values().map(|clique| uid(&clique.metadata)).collect();
    let mut gone: BTreeSet<Lost> = BTreeSet::new();
    let mut delete = |site, kind, metadata: &ObjectMeta, owned_by: Kind, there: &BTreeSet<String>| {
        if let Some(owner) = owner_of(metadata, owned_by)
            && !there.contains(&owner.uid)
            && metadata.deletion_timestamp.is_none()
        {
            let namespace = metadata.namespace.clone().unwrap_or_default();
            gone.insert((owned_by, namespace, owner.name.clone(), owner.uid.clone()));
            plan.delete(site, kind, metadata, false);
        }
    };
    for clique in observed.cliques.values() {
        delete(site::DELETE_CLIQUE, Kind::PodClique, &clique.metadata, Kind::ScalingGroup, &groups);
    }
    for pod in observed.pods.values().flatten() {
        delete(site::DELETE_POD_ORPHANED, Kind::Pod, &pod.metadata, Kind::PodClique, &cliques);
    }
    plan.confirm.extend(gone.into_iter().map(is_gone));
}

/// An owner that is not there: kind, namespace, name and uid.
type Lost = (Kind, String, String, String);

/// What is to be read before anything of it is deleted.
fn is_gone((kind, namespace, name, uid): Lost) -> Confirm {
    Confirm::Gone(Target { kind, namespace, name }, uid)
}

/// The owner of an object, if it is of this kind.
pub fn owner_of(metadata: &ObjectMeta, kind: Kind) -> Option<&OwnerReference> {
    let (_, _, name, _) = kind.names();
    let mut owners = metadata.owner_references.iter().flatten();
    owners.find(|owner| owner.controller == Some(true) && owner.kind == name)
}
