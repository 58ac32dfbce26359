//! PodGangs: the gang, its group configs, and its pod groups with their pods.

use super::Observed;
use super::amounts::{index, number};
use super::drafts::{Draft, namespace};
use super::faults::{Faults, Of};
use super::membership::{Membership, by_name};
use super::pods::{Pods, get};
use super::priorities::Priorities;
use super::topologies::{Asked, Dialect, Topologies};
use std::collections::{BTreeMap, HashMap};
use trellis_api::field::{FieldError, Path};
use trellis_api::kinds::{GangTopologyConstraint, PodGang};
use trellis_api::names::{DEFAULT_TOPOLOGY, annotation};
use trellis_engine::{GroupId, Members};

/// Where each pod was referred to first: the gang by its place among the drafts, the pod group and the reference.
type References<'a> = HashMap<(&'a str, &'a str), (u32, u32, u32)>;

/// The gangs of all PodGangs, with their pods.
pub(super) fn read<'a>(
    observed: &Observed<'a>,
    topologies: &Topologies,
    priorities: &mut Priorities,
    pods: &Pods<'_>,
    members: &mut Membership,
    faults: &mut Faults,
) -> Vec<Draft<'a>> {
    let mut drafts: Vec<Draft<'a>> = Vec::new();
    let mut references = References::new();
    for (i, gang) in by_name(&observed.pod_gangs, "PodGang", faults) {
        let priority = priorities.of(gang.spec.priority_class_name.as_deref(), 0);
        let mut draft = Draft::new("PodGang", i, &gang.metadata, priority);
        let mut faults = faults.of("PodGang", i, &gang.metadata);
        let leaves = groups(gang, &mut draft, topologies, &mut faults);
        let namespace = namespace(&gang.metadata);
        for (g, (group, leaf)) in gang.spec.pod_groups.iter().zip(leaves).enumerate() {
            for (r, reference) in group.pod_references.iter().enumerate() {
                if !reference.namespace.is_empty() && reference.namespace != namespace {
                    let message = format!("must be {namespace}: the pods of a gang are in its namespace");
                    let path = path(g, r).child("namespace");
                    faults.push(FieldError::invalid(&path, reference.namespace.as_str(), message));
                    continue;
                }
                let here = (number(drafts.len()), number(g), number(r));
                if let Some((other, g_there, r_there)) = references.insert((namespace, &reference.name), here) {
                    let other = drafts.get(index(other)).map_or(&draft.gang.id, |other| &other.gang.id);
                    let message = format!(
                        "the pod is a member of PodGang {}/{} already ({}); a pod is in one gang, and once",
                        other.namespace,
                        other.name,
                        path(index(g_there), index(r_there))
                    );
                    faults.push(FieldError::invalid(&path(g, r), reference.name.as_str(), message));
                } else if let Some(pod) = pods.find(namespace, &reference.name) {
                    draft.join(pod, leaf);
                    members.claim(index(pod));
                }
            }
        }
        drafts.push(draft);
    }
    drafts
}

fn path(group: usize, reference: usize) -> Path {
    Path::new("spec.podgroups").index(group).child("podReferences").index(reference)
}

/// Adds the groups of a gang, and returns the leaf of each pod group.
fn groups(gang: &PodGang, draft: &mut Draft<'_>, topologies: &Topologies, faults: &mut Of<'_>) -> Vec<GroupId> {
    let spec = &gang.spec;
    let topology = get(gang.metadata.annotations.as_ref(), annotation::TOPOLOGY_NAME).unwrap_or(DEFAULT_TOPOLOGY);
    let constraint = |group: &str, written: Option<&GangTopologyConstraint>| {
        let pack = written.and_then(|constraint| constraint.pack_constraint.as_ref());
        let required = pack.and_then(|pack| pack.required.as_deref());
        let preferred = pack.and_then(|pack| pack.preferred.as_deref());
        topologies.constraint(Dialect::Grove, group, Asked { topology, required, preferred })
    };
    let name = draft.gang.id.name.clone();
    draft.constrain(0, constraint(&name, spec.topology_constraint.as_ref()));
    let parents = parents(gang, faults);
    let mut inner = BTreeMap::new();
    for (c, config) in spec.topology_constraint_group_configs.iter().enumerate() {
        // A config of no groups binds nothing.
        if parents.values().any(|parent| *parent == c) {
            let group = draft.add(&config.name, 0, Members::Groups { min: 0 });
            draft.constrain(group, constraint(&config.name, config.topology_constraint.as_ref()));
            inner.insert(c, group);
        }
    }
    let mut leaves = Vec::with_capacity(spec.pod_groups.len());
    for (g, group) in spec.pod_groups.iter().enumerate() {
        let path = Path::new("spec.podgroups").index(g).child("minReplicas");
        let min = usize::try_from(group.min_replicas).unwrap_or_else(|_| {
            faults.push(FieldError::invalid(&path, group.min_replicas, "must be 0 or more"));
            0
        });
        let parent = parents.get(group.name.as_str()).and_then(|config| inner.get(config)).copied().unwrap_or(0);
        let leaf = draft.add(&group.name, parent, Members::Pods { min });
        draft.constrain(leaf, constraint(&group.name, group.topology_constraint.as_ref()));
        leaves.push(leaf);
    }
    leaves
}

/// For each pod group that has one, the config it is in.
fn parents<'a>(gang: &'a PodGang, faults: &mut Of<'_>) -> BTreeMap<&'a str, usize> {
    let mut known = BTreeMap::new();
    for (g, group) in gang.spec.pod_groups.iter().enumerate() {
        if known.insert(group.name.as_str(), g).is_some() {
            let path = Path::new("spec.podgroups").index(g).child("name");
            faults.push(FieldError::duplicate(&path, group.name.as_str()));
        }
    }
    let configs = &gang.spec.topology_constraint_group_configs;
    let mut parents: BTreeMap<&str, usize> = BTreeMap::new();
    let mut names = BTreeMap::new();
    for (c, config) in configs.iter().enumerate() {
        let path = Path::new("spec.topologyConstraintGroupConfigs").index(c);
        if names.insert(config.name.as_str(), c).is_some() {
            faults.push(FieldError::duplicate(&path.child("name"), config.name.as_str()));
        }
        for (n, name) in config.pod_group_names.iter().enumerate() {
            let path = path.child("podGroupNames").index(n);
            if !known.contains_key(name.as_str()) {
                faults.push(FieldError::not_found(
                    &path,
                    name.as_str(),
                    "must be the name of a pod group of this gang",
                ));
            } else if let Some(other) = parents.insert(name, c) {
                let message = format!("the pod group is in config {} already; it can be in one", configs[other].name);
                faults.push(FieldError::invalid(&path, name.as_str(), message));
            }
        }
    }
    parents
}
