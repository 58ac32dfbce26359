//! KAI's PodGroups. Pods name their group in an annotation, and their subgroup in a label.
//!
//! A PodGroup that stands for a PodGang, as the operator and KAI's pod grouper make them, is passed over: the PodGang goes
//! first.

use super::amounts::{index, number};
use super::drafts::{Draft, gang_name, namespace};
use super::faults::{Faults, Tally};
use super::membership::{Belongs, Membership, by_name};
use super::pods::{Facts, Pods, State};
use super::priorities::Priorities;
use super::topologies::Topologies;
use super::{Observed, sub_groups};
use std::collections::{BTreeSet, HashMap};
use trellis_api::kinds::kai::KaiPodGroup;
use trellis_api::names::{annotation, group, label};
use trellis_engine::GangName;

/// KAI's priority of groups whose class says nothing.
const PRIORITY: i32 = 50;

/// Faults that are told once for all of their kind.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Pods that are in no subgroup of their group.
    pub strays: Tally,
    /// These by name.
    pub homeless: Vec<GangName>,
    /// Groups that name a level of no topology.
    pub no_topology: Tally,
}

/// A group, and the pods that name it.
struct Slot<'a> {
    index: usize,
    group: &'a KaiPodGroup,
    /// Whether a PodGang stands for it.
    is_covered: bool,
    /// Pods that are members of a PodGang.
    taken: usize,
    pods: Vec<u32>,
}

/// What PodGroups are read from.
pub(super) struct Reader<'a, 'r> {
    pub observed: &'r Observed<'a>,
    /// The gangs that PodGangs make.
    pub gangs: &'r [Draft<'a>],
    pub topologies: &'r Topologies,
    pub pods: &'r Pods<'a>,
}

impl<'a> Reader<'a, '_> {
    /// The gangs of all PodGroups, with their pods.
    pub fn read(
        &self,
        priorities: &mut Priorities,
        members: &mut Membership,
        notes: &mut Notes,
        faults: &mut Faults,
    ) -> Vec<Draft<'a>> {
        let gangs: BTreeSet<&GangName> = self.gangs.iter().map(|draft| &draft.gang.id).collect();
        let slot = |(index, group)| {
            let is_covered = is_covered(group, &gangs);
            Slot { index, group, is_covered, taken: 0, pods: Vec::new() }
        };
        let groups = by_name(&self.observed.pod_groups, "PodGroup", faults);
        let mut slots: Vec<Slot<'a>> = groups.into_iter().map(slot).collect();
        sort_pods(&mut slots, self.pods, members);
        let mut drafts = Vec::new();
        for slot in slots {
            let is_taken_over = slot.taken > 0 && slot.pods.is_empty();
            if slot.is_covered || is_taken_over {
                continue;
            }
            let spec = &slot.group.spec;
            let priority = priorities.of(spec.priority_class_name.as_deref(), PRIORITY);
            let mut draft = Draft::new("PodGroup", slot.index, &slot.group.metadata, priority);
            let mut faults = faults.of("PodGroup", slot.index, &slot.group.metadata);
            let leaves = sub_groups::add(spec, &mut draft, self.topologies, notes, &mut faults);
            let Some(leaves) = leaves else { continue };
            for pod in slot.pods {
                let facts = &self.pods.list[index(pod)];
                if let Some(leaf) = leaves.of(facts.label(label::KAI_SUBGROUP)) {
                    draft.join(pod, leaf);
                    members.claim(index(pod));
                } else {
                    notes.strays.count(|| facts.title());
                    if facts.state == State::Waiting {
                        notes.homeless.push(facts.id());
                    }
                    members.refuse(index(pod), Belongs::Stray);
                }
            }
            drafts.push(draft);
        }
        drafts
    }
}

/// Whether a PodGang that is there has the group's name, or owns it.
fn is_covered(group: &KaiPodGroup, gangs: &BTreeSet<&GangName>) -> bool {
    let owners = group.metadata.owner_references.iter().flatten();
    let owners = owners
        .filter(|owner| owner.kind == "PodGang")
        .map(|owner| GangName { namespace: namespace(&group.metadata).to_owned(), name: owner.name.clone() });
    std::iter::once(gang_name(&group.metadata)).chain(owners).any(|name| gangs.contains(&name))
}

/// Gives each pod to the group that it names. One that names a gang that is not there belongs to nothing, and must not be
/// placed alone.
fn sort_pods(slots: &mut [Slot<'_>], pods: &Pods<'_>, members: &mut Membership) {
    let places: HashMap<(&str, &str), usize> = slots
        .iter()
        .enumerate()
        .map(|(i, slot)| {
            let meta = &slot.group.metadata;
            ((namespace(meta), meta.name.as_deref().unwrap_or_default()), i)
        })
        .collect();
    for (i, pod) in pods.list.iter().enumerate() {
        let named = pod.annotation(annotation::KAI_POD_GROUP);
        let slot = named.and_then(|name| places.get(&(pod.namespace, name)));
        match (slot.map(|slot| &mut slots[*slot]), members.of(i)) {
            (Some(slot), Belongs::Somewhere) => slot.taken += 1,
            (None, Belongs::Somewhere) => {}
            (Some(slot), _) if !slot.is_covered => slot.pods.push(number(i)),
            _ if named.is_some() || pod.label(label::POD_GANG).is_some() || is_owned(pod) => {
                members.refuse(i, Belongs::Unknown);
            }
            _ => {}
        }
    }
}

/// Whether a gang made the pod. Pods and gangs are told of by watches of their own, so that a pod may be seen before the gang that it is in.
fn is_owned(pod: &Facts<'_>) -> bool {
    let owners = pod.pod.metadata.owner_references.iter().flatten();
    let mut kinds = owners.map(|owner| (owner.api_version.split('/').next().unwrap_or_default(), owner.kind.as_str()));
    kinds.any(|kind| kind == (group::SCHEDULER, "PodGang") || kind == (group::KAI_SCHEDULING, "PodGroup"))
}
