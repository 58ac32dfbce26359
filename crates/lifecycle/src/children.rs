//! The objects that stand around the pods of a set: made where they are missing, changed where they differ, deleted where nobody asks for
//! them any more.

use crate::diff;
use crate::observed::ByName;
use crate::picture::{Clique, Picture, is_child_of, is_owned_by};
use crate::plan::{Action, Kind, Plan, Target, Write, site};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::DynamicObject;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use trellis_api::kinds::PodClique;
use trellis_api::names::{annotation, label};
use trellis_lower as lower;

/// What is due for everything but gangs and pods.
pub fn decide(picture: &Picture<'_>, plan: &mut Plan) {
    let (set, seen) = (picture.set, picture.observed);
    let uid = set.metadata.uid.as_deref();
    let rbac = lower::rbac(set);
    let child = |kind| Sync { kind, owner: uid, sites: [site::CREATE_CHILD, site::CHANGE_CHILD, site::DELETE_CHILD] };
    child(Kind::Service).sync(&seen.services, lower::services(set), |o| &o.metadata, spoken_spec, plan);
    let accounts = rbac.service_account.into_iter().collect();
    child(Kind::ServiceAccount).sync(&seen.accounts, accounts, |o| &o.metadata, |_, _| Map::new(), plan);
    let has_role = rbac
        .role
        .as_ref()
        .and_then(|role| role.metadata.name.as_ref())
        .is_some_and(|name| seen.roles.contains_key(name));
    let roles = rbac.role.into_iter().collect();
    child(Kind::Role).sync(&seen.roles, roles, |o| &o.metadata, |live, new| spoken(live, new, "rules"), plan);
    // A server looks at the role before it lets anybody bind it.
    let bindings = rbac.role_binding.filter(|_| has_role).into_iter().collect();
    let subjects = |live: &_, new: &_| spoken(live, new, "subjects");
    child(Kind::RoleBinding).sync(&seen.bindings, bindings, |o| &o.metadata, subjects, plan);
    let autoscalers = lower::autoscalers(set).into_iter().map(marked).collect();
    child(Kind::Autoscaler).sync(&seen.autoscalers, autoscalers, |o| &o.metadata, changed_autoscaler, plan);
    let instances: Vec<_> = picture.cliques.iter().map(|clique| clique.instance.clone()).collect();
    // The spec of a claim never changes.
    let claims = lower::claims(set, &instances);
    let unchanging = |_: &DynamicObject, _: &DynamicObject| Map::new();
    child(Kind::ResourceClaim).sync(&seen.claims, claims, |o| &o.metadata, unchanging, plan);
    let sites = [site::CREATE_GROUP, site::CHANGE_GROUP, site::DELETE_GROUP];
    let groups = picture.groups.iter().map(|group| group.desired.clone()).collect();
    Sync { kind: Kind::ScalingGroup, owner: uid, sites }.sync(
        &seen.groups,
        groups,
        |o| &o.metadata,
        |live, new| if live.spec == new.spec { Map::new() } else { whole_spec(live, new) },
        plan,
    );
    cliques(picture, plan);
}

/// How objects of one kind are brought in line.
struct Sync<'a> {
    kind: Kind,
    owner: Option<&'a str>,
    sites: [&'static str; 3],
}

impl Sync<'_> {
    fn sync<T: Serialize>(
        &self,
        live: &ByName<T>,
        desired: Vec<T>,
        metadata: fn(&T) -> &ObjectMeta,
        changes: impl Fn(&T, &T) -> Map<String, Value>,
        plan: &mut Plan,
    ) {
        let wanted: BTreeSet<String> = desired.iter().filter_map(|new| metadata(new).name.clone()).collect();
        for new in desired {
            let old = live.get(metadata(&new).name.as_deref().unwrap_or_default());
            self.one(old.map(|old| &**old), &new, metadata, &changes, plan);
        }
        for (_, old) in live.iter().filter(|(name, _)| !wanted.contains(*name)) {
            if has_controller(metadata(old)) {
                plan.delete(self.sites[2], self.kind, metadata(old), false);
            }
        }
    }

    fn one<T: Serialize>(
        &self,
        old: Option<&T>,
        new: &T,
        metadata: impl Fn(&T) -> &ObjectMeta,
        changes: impl Fn(&T, &T) -> Map<String, Value>,
        plan: &mut Plan,
    ) {
        let Some(old) = old else {
            plan.writes.extend(create(self.sites[0], self.kind, metadata(new), new));
            return;
        };
        let meta = metadata(old);
        if !is_child_of(meta, self.owner) {
            // Left over from an earlier set of this name; what stands in its place comes once it is gone.
            plan.delete(self.sites[2], self.kind, meta, false);
        } else if meta.deletion_timestamp.is_none() {
            plan.writes.extend(change(self.sites[1], self.kind, meta, metadata(new), changes(old, new)));
        }
    }
}

/// A create of an object.
pub fn create<T: Serialize>(site: &'static str, kind: Kind, metadata: &ObjectMeta, object: &T) -> Option<Write> {
    let mut value = serde_json::to_value(object).ok()?;
    if let Value::Object(fields) = &mut value {
        fields.retain(|_, value| !value.is_null());
        fields.remove("status");
    }
    Some(Write { site, target: Target::of(kind, metadata), action: Action::Create(value) })
}

/// A change of an object that is there: of its body, of what we keep in its metadata, and of its owner if it has none.
pub fn change(
    site: &'static str,
    kind: Kind,
    live: &ObjectMeta,
    desired: &ObjectMeta,
    body: Map<String, Value>,
) -> Option<Write> {
    let mut patch = diff::patch(live, desired, body);
    if !has_controller(live)
        && let Some(owners) = desired.owner_references.as_ref().filter(|owners| !owners.is_empty())
    {
        let mut adopted = json!({ "resourceVersion": live.resource_version, "uid": live.uid });
        adopted["ownerReferences"] = serde_json::to_value(owners).ok()?;
        let patch = patch.get_or_insert_with(|| json!({}));
        match patch.get_mut("metadata").and_then(Value::as_object_mut) {
            Some(metadata) => metadata.extend(adopted.as_object().cloned().unwrap_or_default()),
            None => patch["metadata"] = adopted,
        }
    }
    Some(Write { site, target: Target::of(kind, live), action: Action::Patch(patch?) })
}

fn has_controller(metadata: &ObjectMeta) -> bool {
    metadata.owner_references.iter().flatten().any(|owner| owner.controller == Some(true))
}

fn field<T: Serialize>(object: &T, name: &str) -> Value {
    match serde_json::to_value(object) {
        Ok(Value::Object(mut fields)) => fields.remove(name).unwrap_or_default(),
        _ => Value::Null,
    }
}

/// Changes of one field in what we say of it; what the server adds is left alone.
fn spoken<T: Serialize>(live: &T, new: &T, name: &str) -> Map<String, Value> {
    let patch = diff::merge_spoken(&field(live, name), &field(new, name));
    patch.map(|patch| (name.to_owned(), patch)).into_iter().collect()
}

fn spoken_spec<T: Serialize>(live: &T, new: &T) -> Map<String, Value> {
    spoken(live, new, "spec")
}

/// Changes of a spec that is all ours.
pub fn whole_spec<T: Serialize>(live: &T, new: &T) -> Map<String, Value> {
    let patch = diff::merge(&field(live, "spec"), &field(new, "spec"));
    patch.map(|patch| ("spec".to_owned(), patch)).into_iter().collect()
}

/// An autoscaler that carries the hash of what was written: a server rewrites quantities in it, so it cannot be compared by what it says.
fn marked(mut autoscaler: HorizontalPodAutoscaler) -> HorizontalPodAutoscaler {
    let hash = crate::roster::hash(&[&field(&autoscaler, "spec").to_string()]);
    autoscaler.metadata.annotations.get_or_insert_default().insert(annotation::WRITTEN_HASH.to_owned(), hash);
    autoscaler
}

fn changed_autoscaler(live: &HorizontalPodAutoscaler, new: &HorizontalPodAutoscaler) -> Map<String, Value> {
    let mark = |it: &HorizontalPodAutoscaler| it.metadata.annotations.as_ref()?.get(annotation::WRITTEN_HASH).cloned();
    if mark(live) == mark(new) {
        return Map::new();
    }
    let mut spec = field(new, "spec");
    // A merge would keep metrics that the user took away.
    if spec.get("metrics").is_none() {
        spec["metrics"] = Value::Null;
    }
    Map::from_iter([("spec".to_owned(), spec)])
}

/// Cliques, and the pods of those that nobody asks for any more.
fn cliques(picture: &Picture<'_>, plan: &mut Plan) {
    let wanted: BTreeSet<&str> = picture.cliques.iter().map(|clique| clique.instance.name.as_str()).collect();
    for clique in &picture.cliques {
        match picture.observed.cliques.get(&clique.instance.name) {
            None => plan.writes.extend(new_clique(clique)),
            Some(live) if clique.live.is_none() => delete_clique(picture, live, plan),
            Some(live) if live.metadata.deletion_timestamp.is_some() => {}
            Some(live) => {
                let body =
                    if live.spec == clique.desired.spec { Map::new() } else { whole_spec(&**live, &clique.desired) };
                let write =
                    change(site::CHANGE_CLIQUE, Kind::PodClique, &live.metadata, &clique.desired.metadata, body);
                plan.writes.extend(write);
            }
        }
    }
    for (_, live) in picture.observed.cliques.iter().filter(|(name, _)| !wanted.contains(name.as_str())) {
        if has_controller(&live.metadata) {
            delete_clique(picture, live, plan);
        }
    }
}

fn new_clique(clique: &Clique<'_>) -> Option<Write> {
    // One in a scaling group waits for the group, which owns it.
    clique.desired.metadata.owner_references.as_ref()?;
    create(site::CREATE_CLIQUE, Kind::PodClique, &clique.desired.metadata, &clique.desired)
}

/// Deletes a clique with its pods. They would go by themselves, but at the pace of a garbage collector.
fn delete_clique(picture: &Picture<'_>, live: &PodClique, plan: &mut Plan) {
    let name = live.metadata.name.as_deref().unwrap_or_default();
    let group = live.metadata.labels.as_ref().and_then(|labels| labels.get(label::SCALING_GROUP));
    if let Some(group) = group.and_then(|group| picture.observed.groups.get(group)) {
        plan.confirm(Kind::ScalingGroup, &group.metadata);
    }
    for pod in picture.observed.pods.get(name).into_iter().flatten() {
        if is_owned_by(&pod.metadata, live.metadata.uid.as_deref()) {
            plan.delete(site::DELETE_POD_SCALED_IN, Kind::Pod, &pod.metadata, false);
        }
    }
    plan.delete(site::DELETE_CLIQUE, Kind::PodClique, &live.metadata, false);
}
