//! Gangs in the making: groups and the pods that belong to them, before nodes are known.

use super::amounts::index;
use super::eligibility::Kinds;
use super::faults::Faults;
use super::pods::{Pods, State, get};
use super::singles::Notes;
use super::{DEFAULT_NAMESPACE, unsupported};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::collections::BTreeMap;
use trellis_api::field::{FieldError, Path};
use trellis_api::names::{annotation, label};
use trellis_engine::{Constraint, Gang, GangName, Group, GroupId, Members, Unready};

/// A pod of a gang.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    /// Place among the pods.
    pub pod: u32,
    /// The leaf.
    pub group: GroupId,
    /// What it says of nodes.
    pub kind: u32,
    /// Where it may run, once that is known.
    pub eligibility: usize,
}

/// A gang in the making.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    /// The kind of object it comes from, and which one of those observed.
    pub kind: &'static str,
    pub index: usize,
    pub meta: &'a ObjectMeta,
    pub gang: Gang,
    pub members: Vec<Member>,
    /// Those that are held back until the base has a place.
    pub coming: Vec<Member>,
}

impl<'a> Draft<'a> {
    /// A gang that consists of a root.
    pub fn new(kind: &'static str, index: usize, meta: &'a ObjectMeta, priority: i32) -> Self {
        let id = gang_name(meta);
        let root = Group { name: id.name.clone(), members: Members::Groups { min: 0 }, ..Group::default() };
        let gang = Gang {
            priority,
            // One that is yet to be created is younger than all others.
            created: meta.creation_timestamp.as_ref().map_or(i64::MAX, |time| time.0.as_second()),
            base: get(meta.labels.as_ref(), label::BASE_POD_GANG)
                .map(|base| GangName { namespace: id.namespace.clone(), name: base.to_owned() }),
            reserve: get(meta.annotations.as_ref(), annotation::RESERVE) == Some("true"),
            groups: vec![root],
            id,
            ..Gang::default()
        };
        Self { kind, index, meta, gang, members: Vec::new(), coming: Vec::new() }
    }

    /// Adds a group under another one. Of an inner group all children must be placed, until it is said otherwise.
    pub fn add(&mut self, name: &str, parent: GroupId, members: Members) -> GroupId {
        if let Members::Groups { min } = &mut self.gang.groups[parent].members {
            *min += 1;
        }
        self.gang.groups.push(Group { name: name.to_owned(), parent: Some(parent), constraint: None, members });
        self.gang.groups.len() - 1
    }

    /// Puts a constraint on a group. The first that cannot be understood is why the gang waits.
    pub fn constrain(&mut self, group: GroupId, constraint: Result<Option<Constraint>, Unready>) {
        match constraint {
            Ok(constraint) => self.gang.groups[group].constraint = constraint,
            Err(unready) => drop(self.gang.unready.get_or_insert(unready)),
        }
    }

    /// Gives the gang a name that its object does not have.
    pub fn rename(&mut self, name: String) {
        self.gang.groups[0].name.clone_from(&name);
        self.gang.id.name = name;
    }

    pub fn join(&mut self, pod: u32, group: GroupId) {
        self.members.push(Member { pod, group, kind: 0, eligibility: 0 });
    }
}

/// Namespace and name of an object.
pub(super) fn gang_name(meta: &ObjectMeta) -> GangName {
    GangName { namespace: namespace(meta).to_owned(), name: meta.name.clone().unwrap_or_default() }
}

/// Namespace of an object.
pub(super) fn namespace(meta: &ObjectMeta) -> &str {
    meta.namespace.as_deref().filter(|namespace| !namespace.is_empty()).unwrap_or(DEFAULT_NAMESPACE)
}

/// Looks at the members: finished ones are taken off their leaf's minimum, those that are not there are left out, and the
/// rest is sorted into kinds.
pub(super) fn settle<'a>(
    drafts: &mut [Draft<'_>],
    pods: &Pods<'a>,
    kinds: &mut Kinds<'a>,
    notes: &mut Notes,
    faults: &mut Faults,
) {
    for draft in drafts {
        draft.members.sort_unstable_by_key(|member| member.pod);
        let facts = |member: Member| &pods.list[index(member.pod)];
        if draft.gang.base.is_none() {
            let base = draft.members.iter().find_map(|member| facts(*member).label(label::BASE_POD_GANG));
            let namespace = &draft.gang.id.namespace;
            draft.gang.base = base.map(|name| GangName { namespace: namespace.clone(), name: name.to_owned() });
        }
        for member in &mut draft.members {
            let pod = facts(*member);
            match pod.state {
                State::Waiting | State::Coming | State::Bound(_) => {
                    let (kind, errors) = kinds.intern(pod.spec());
                    faults.of("Pod", index(pod.index), &pod.pod.metadata).extend(errors);
                    member.kind = kind;
                }
                State::Succeeded => {
                    if let Members::Pods { min } = &mut draft.gang.groups[member.group].members {
                        *min = min.saturating_sub(1);
                    }
                }
                State::Gated => notes.gated.count(|| pod.title()),
                State::Leaving(_) | State::Gone => {}
            }
            if pod.state == State::Coming {
                notes.gated.count(|| pod.title());
            }
            if pod.state == State::Waiting && unsupported::passed_over(pod.pod).is_some() {
                notes.wishes.count(|| pod.title());
            }
            if pod.state == State::Waiting && draft.gang.unready.is_none() {
                draft.gang.unready = unsupported::of(pod.pod).map(|text| Unready::Unsupported { text });
            }
        }
        draft.coming = draft.members.iter().copied().filter(|it| facts(*it).state == State::Coming).collect();
        draft.members.retain(|member| matches!(facts(*member).state, State::Waiting | State::Bound(_)));
    }
}

/// Refuses gangs that are, directly or not, their own base.
pub(super) fn check_bases(drafts: &[Draft<'_>], faults: &mut Faults) {
    let places: BTreeMap<&GangName, usize> = drafts.iter().enumerate().map(|(i, draft)| (&draft.gang.id, i)).collect();
    let base = |i: usize| places.get(drafts[i].gang.base.as_ref()?).copied();
    for i in in_circles(drafts.len(), base) {
        let path = Path::new("metadata.labels").key(label::BASE_POD_GANG);
        let name = drafts[i].gang.base.as_ref().map(|base| base.name.clone()).unwrap_or_default();
        let message = "a gang cannot be its own base, also not by way of others";
        faults.of(drafts[i].kind, drafts[i].index, drafts[i].meta).push(FieldError::invalid(&path, name, message));
    }
}

/// Those of `0..n` that come back to themselves on the way up.
pub(super) fn in_circles(n: usize, above: impl Fn(usize) -> Option<usize>) -> Vec<usize> {
    // The walk on which each was first seen, numbered from 1.
    let mut seen_on = vec![0; n];
    let mut found = Vec::new();
    for start in 0..n {
        let mut at = Some(start);
        while let Some(i) = at.filter(|i| seen_on[*i] == 0) {
            seen_on[i] = start + 1;
            at = above(i);
        }
        // The walk ran into itself: all from there to there is a circle.
        if let Some(first) = at.filter(|i| seen_on[*i] == start + 1) {
            found.push(first);
            found.extend(std::iter::successors(above(first), |i| above(*i)).take_while(|i| *i != first));
        }
    }
    found.sort_unstable();
    found
}
