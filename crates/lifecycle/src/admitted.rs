//! Whether a set may be as it is, where no webhook has judged it.
//!
//! A set that is new is judged like a request to create it. One that has children is judged like a change, from what its children show of
//! the template that they were made from: which cliques and scaling groups there are, their minima and roles, what starts after what, and
//! the topology that the gangs speak of. What children do not show is taken to be as it was.

use crate::observed::Observed;
use crate::picture::{Clique, Picture, is_child_of};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::collections::{BTreeMap, BTreeSet};
use trellis_api::admission::{ClusterView, Verdict, pod_clique_set_structure, validate_pod_clique_set};
use trellis_api::constraint::{group_of, resolved_name};
use trellis_api::field::{FieldError, Path};
use trellis_api::kinds::{
    CliqueTemplate, PodClique, PodCliqueScalingGroup, PodCliqueSet, PodGang, ScalingGroupTemplate, StartupType,
};
use trellis_api::names::{self, annotation, label};

/// Faults of a set that nobody has judged before.
pub fn judge(picture: &Picture<'_>) -> Verdict {
    if !picture.around.judges {
        return Verdict::default();
    }
    let (set, settings) = (picture.set, picture.around.settings);
    let view = ClusterView {
        topologies: picture.around.topologies.clone(),
        scheduled: scheduled(picture).into_iter().collect(),
        ..ClusterView::default()
    };
    let Some(before) = before(set, picture.observed) else {
        return validate_pod_clique_set(set, None, &view, settings);
    };
    let mut verdict = match before.spec == set.spec {
        true => pod_clique_set_structure(set, Some(&before), settings),
        false => validate_pod_clique_set(set, Some(&before), &view, settings),
    };
    verdict.errors.extend(startup(picture));
    verdict
}

/// The set, if a live pod of it has a node.
fn scheduled(picture: &Picture<'_>) -> Option<(String, String)> {
    let holds = |pod: &crate::pod::Pod| pod.is_scheduled() && !pod.has_succeeded() && !pod.has_failed();
    let name = picture.set.metadata.name.clone()?;
    picture.observed.all_pods().any(|pod| holds(pod)).then(|| (picture.namespace().to_owned(), name))
}

/// The set as its children show that it was. None while it has no gang, for only gangs tell which cliques there are.
pub(crate) fn before(set: &PodCliqueSet, observed: &Observed) -> Option<PodCliqueSet> {
    let children = Children::of(set, observed);
    if children.gangs.is_empty() {
        return None;
    }
    let mut before = set.clone();
    let template = &mut before.spec.template;
    template.cliques.retain(|clique| children.know_clique(set, &clique.name));
    for clique in &mut template.cliques {
        if let Some(live) = children.cliques.get(clique.name.as_str()) {
            clique.spec.role_name.clone_from(&live.spec.role_name);
            clique.spec.min_available = live.spec.min_available;
            clique.spec.pod_spec.clone_from(&live.spec.pod_spec);
        }
    }
    for (name, live) in &children.cliques {
        if template.cliques.iter().all(|clique| clique.name != *name) {
            let name = (*name).to_owned();
            template.cliques.push(CliqueTemplate { name, spec: live.spec.clone(), ..CliqueTemplate::default() });
        }
    }
    template.pod_clique_scaling_groups.retain(|group| children.know_group(set, group));
    for group in &mut template.pod_clique_scaling_groups {
        if let Some(live) = children.groups.get(group.name.as_str()) {
            group.clique_names.clone_from(&live.spec.clique_names);
            group.min_available = Some(live.spec.min_available);
        }
    }
    for (name, live) in &children.groups {
        if template.pod_clique_scaling_groups.iter().all(|group| group.name != *name) {
            template.pod_clique_scaling_groups.push(ScalingGroupTemplate {
                name: (*name).to_owned(),
                clique_names: live.spec.clique_names.clone(),
                min_available: Some(live.spec.min_available),
                ..ScalingGroupTemplate::default()
            });
        }
    }
    if let Some(topology) = children.topology(set) {
        template.cluster_topology_name = Some(topology.to_owned());
    }
    Some(before)
}

/// What there is of a set: one child for each name in its template, and its base gangs.
struct Children<'a> {
    cliques: BTreeMap<&'a str, &'a PodClique>,
    groups: BTreeMap<&'a str, &'a PodCliqueScalingGroup>,
    gangs: Vec<&'a PodGang>,
}

impl<'a> Children<'a> {
    fn of(set: &PodCliqueSet, observed: &'a Observed) -> Self {
        let is_live = |metadata: &ObjectMeta, owner: Option<&str>| {
            metadata.deletion_timestamp.is_none() && is_child_of(metadata, owner)
        };
        let uid = set.metadata.uid.as_deref();
        let groups = observed.groups.values().filter(|group| is_live(&group.metadata, uid));
        let cliques = observed.cliques.values().filter(|clique| {
            let group = text(&clique.metadata, label::SCALING_GROUP).and_then(|group| observed.groups.get(group));
            is_live(&clique.metadata, group.map_or(uid, |group| group.metadata.uid.as_deref()))
        });
        let gangs = observed.gangs.values().filter(|gang| is_live(&gang.metadata, uid));
        Self {
            cliques: cliques.filter_map(|live| Some((text(&live.metadata, label::CLIQUE)?, &**live))).collect(),
            groups: groups.filter_map(|live| Some((text(&live.metadata, label::GROUP)?, &**live))).collect(),
            gangs: gangs
                .map(|gang| &**gang)
                .filter(|gang| text(&gang.metadata, label::BASE_POD_GANG).is_none())
                .collect(),
        }
    }

    /// Whether a clique was there when the gangs were made: a gang names all its cliques from the start.
    fn know_clique(&self, set: &PodCliqueSet, clique: &str) -> bool {
        let of_group = |group: &PodCliqueScalingGroup| group.spec.clique_names.iter().any(|name| name == clique);
        let name = set.metadata.name.as_deref().unwrap_or_default();
        let first = |index| match group_of(set, clique) {
            Some((_, group)) => names::group_clique(&names::scaling_group(name, index, &group.name), 0, clique),
            None => names::clique(name, index, clique),
        };
        self.cliques.contains_key(clique)
            || self.groups.values().any(|group| of_group(group))
            || self.names(|index| vec![first(index)])
    }

    fn know_group(&self, set: &PodCliqueSet, group: &ScalingGroupTemplate) -> bool {
        let set = set.metadata.name.as_deref().unwrap_or_default();
        let first = |index| {
            let name = names::scaling_group(set, index, &group.name);
            group.clique_names.iter().map(|clique| names::group_clique(&name, 0, clique)).collect()
        };
        self.groups.contains_key(group.name.as_str()) || self.names(first)
    }

    /// Whether a gang names one of these cliques, which depend on the replica of the set.
    fn names(&self, cliques: impl Fn(usize) -> Vec<String>) -> bool {
        self.gangs.iter().any(|gang| {
            let index = text(&gang.metadata, label::SET_REPLICA_INDEX).and_then(|index| index.parse().ok());
            let wanted = index.map(&cliques).unwrap_or_default();
            gang.spec.pod_groups.iter().any(|group| wanted.contains(&group.name))
        })
    }

    /// The topology that the gangs speak of, if the set now speaks of another. Once a gang has followed, the change was found right, and
    /// the others follow too.
    fn topology(&self, set: &PodCliqueSet) -> Option<&'a str> {
        let named = |gang: &&'a PodGang| gang.metadata.annotations.as_ref()?.get(annotation::TOPOLOGY_NAME);
        let named: BTreeSet<&str> = self.gangs.iter().filter_map(named).map(String::as_str).collect();
        let now = resolved_name(set)?;
        if named.contains(now) { None } else { named.into_iter().next() }
    }
}

/// A label.
fn text<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    metadata.labels.as_ref()?.get(key).map(String::as_str)
}

/// Cliques that started after others than they should now: the order is for life.
///
/// A scaling group without replicas is stepped over, so a clique may name the parents of its parents; only parents that stand alone are
/// sure to be named.
fn startup(picture: &Picture<'_>) -> Vec<FieldError> {
    let set = picture.set;
    let name = set.metadata.name.as_deref().unwrap_or_default();
    let fault = |(i, template): (usize, &CliqueTemplate)| {
        let same = |clique: &&Clique<'_>| {
            clique.instance.template.name == template.name
                && clique.instance.base_gang.is_none()
                && clique.live.is_some()
        };
        let clique = picture.cliques.iter().find(same)?;
        let was = &clique.live?.spec.starts_after;
        let ancestors = ancestors(set, &template.name);
        let strange = |name: &String| {
            let parent = picture.observed.cliques.get(name).and_then(|parent| text(&parent.metadata, label::CLIQUE));
            parent.is_some_and(|parent| !ancestors.contains(parent))
        };
        let mut alone = parents(set, &template.name).into_iter().filter(|parent| group_of(set, parent).is_none());
        let missing = alone.any(|parent| !was.contains(&names::clique(name, clique.instance.set_index, parent)));
        let path = Path::new("spec.template.cliques").index(i).child("spec").child("startsAfter");
        let order = if was.is_empty() { "no other".to_owned() } else { was.join(", ") };
        let message = format!("the order of start cannot be changed: the clique has started after {order}");
        (missing || was.iter().any(strange)).then(|| FieldError::forbidden(&path, message))
    };
    set.spec.template.cliques.iter().enumerate().filter_map(fault).collect()
}

/// Cliques that a clique of the template starts after.
fn parents<'a>(set: &'a PodCliqueSet, clique: &str) -> Vec<&'a str> {
    let template = &set.spec.template;
    let Some(at) = template.cliques.iter().position(|other| other.name == clique) else { return Vec::new() };
    match template.clique_startup_type {
        StartupType::AnyOrder => Vec::new(),
        StartupType::InOrder => template.cliques[..at].last().map(|parent| parent.name.as_str()).into_iter().collect(),
        StartupType::Explicit => template.cliques[at].spec.starts_after.iter().map(String::as_str).collect(),
    }
}

/// Those, and what they start after in turn.
fn ancestors<'a>(set: &'a PodCliqueSet, clique: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut todo = parents(set, clique);
    while let Some(parent) = todo.pop() {
        if found.insert(parent) {
            todo.extend(parents(set, parent));
        }
    }
    found
}

#[cfg(test)]
mod tests;
