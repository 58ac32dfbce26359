//! Pods of one gang that speak of each other, before any of them has a place.

use super::super::amounts::index;
use super::super::drafts::{Draft, Member};
use super::super::pods::{Pods, State};
use super::census::Census;
use super::{Class, Company, TermId, terms};
use std::collections::{BTreeMap, BTreeSet};
use trellis_engine::{Constraint, GroupId, Topology, Unready};

impl Company<'_> {
    /// Looks at the waiting pods of a gang: why it cannot be planned, or which level it must share beyond what it asks for. Tells the
    /// classes of those pods.
    pub fn settle(&self, draft: &mut Draft<'_>, pods: &Pods<'_>, census: &Census, topologies: &[Topology]) -> Vec<u32> {
        let mut by_class: BTreeMap<u32, Vec<Member>> = BTreeMap::new();
        for member in draft.members.iter().filter(|member| pods.list[index(member.pod)].state == State::Waiting) {
            by_class.entry(self.class(member.pod)).or_default().push(*member);
        }
        let classes: Vec<u32> = by_class.keys().copied().filter(|class| *class > 0).collect();
        if !classes.is_empty() && draft.gang.unready.is_none() {
            let gang = Within { company: self, census, pods, by_class: &by_class };
            let refusal = gang.refusal().or_else(|| {
                let text = gang.share(draft, topologies).err()?;
                Some(Unready::Unsupported { text })
            });
            draft.gang.unready = refusal;
        }
        classes
    }
}

struct Within<'w, 'a> {
    company: &'w Company<'a>,
    census: &'w Census,
    pods: &'w Pods<'a>,
    by_class: &'w BTreeMap<u32, Vec<Member>>,
}

impl Within<'_, '_> {
    fn classes(&self) -> impl Iterator<Item = (&Class, &[Member])> {
        self.by_class.iter().map(|(class, members)| (&self.company.classes[index(*class)], members.as_slice()))
    }

    fn name(&self, member: Member) -> &str {
        self.pods.list[index(member.pod)].name
    }

    /// What is said that is not planned, or cannot be met yet.
    fn refusal(&self) -> Option<Unready> {
        self.classes().find_map(|(class, members)| {
            let pod = self.name(*members.first()?);
            let trouble = class.trouble.as_ref().map(|trouble| format!("pod {pod} {trouble}"));
            let unsupported = trouble.or_else(|| self.apart(class, members)).map(|text| Unready::Unsupported { text });
            unsupported.or_else(|| self.nobody_near(class, pod))
        })
    }

    /// Pods that must keep apart from others of their own gang, other than one per host.
    fn apart(&self, class: &Class, members: &[Member]) -> Option<String> {
        let pod = *members.first()?;
        class.apart.iter().enumerate().find_map(|(i, &term)| {
            let is_counted = |other: &Class| {
                self.company.is_token[term] && class.is_meant(term) && other.is_alone(term)
            };
            let others = self.classes().filter(|(other, _)| other.is_meant(term) && !is_counted(other));
            let other = others.flat_map(|(_, members)| members).find(|other| other.pod != pod.pod)?;
            let (field, key) = (terms::field(true, i), self.company.terms[term].key);
            Some(format!(
                "pod {} must not share its {key} with pod {} of the same gang ({field}); within a gang only one pod per \
                 kubernetes.io/hostname is planned, among pods that all ask for it",
                self.name(pod),
                self.name(*other)
            ))
        })
    }

    /// Pods that must be near others of whom none has a place, and are none of those themselves.
    fn nobody_near(&self, class: &Class, pod: &str) -> Option<Unready> {
        let list = class.near.filter(|list| self.census.near_in_all[*list] == 0)?;
        if class.sought.binary_search(&list).is_ok() {
            return None;
        }
        let mut others = self.classes().filter(|(other, _)| other.sought.binary_search(&list).is_ok());
        let term = *self.company.nears[list].first()?;
        let (field, whom) = (terms::field(false, 0), self.company.terms[term].words());
        Some(match others.next().and_then(|(_, members)| members.first()) {
            Some(other) => Unready::Unsupported {
                text: format!(
                    "pod {pod} must be near pod {} of the same gang ({field}); within a gang this is planned for pods that \
                     are near their own like; hint: a topology constraint on the group of both says the same",
                    self.name(*other)
                ),
            },
            None => Unready::Missing {
                text: format!("pod {pod} must be near pods with {whom} ({field}), and none of them has a place"),
            },
        })
    }

    /// Has pods that want to be near their own like, of whom none has a place yet, share a domain: it becomes the required level of the
    /// group that they are.
    fn share(&self, draft: &mut Draft<'_>, topologies: &[Topology]) -> Result<(), String> {
        let open: BTreeSet<usize> = self
            .classes()
            .filter_map(|(class, _)| class.near)
            .filter(|list| self.census.near_in_all[*list] == 0)
            .collect();
        for list in open {
            let of_list = self.classes().filter(|(class, _)| class.near == Some(list));
            let members: Vec<Member> = of_list.flat_map(|(_, members)| members).copied().collect();
            if members.len() < 2 {
                continue;
            }
            let group = self.group(draft, &members);
            for (i, &term) in self.company.nears[list].iter().enumerate() {
                let shared = group.filter(|group| self.require(draft, *group, term, topologies));
                shared.ok_or_else(|| {
                    let (field, key) = (terms::field(false, i), self.company.terms[term].key);
                    format!(
                        "pod {} must share its {key} with others of the same gang ({field}); this is planned where they are \
                         all the pods of a group, and {key} is a level of its topology; hint: a topology constraint says the \
                         same",
                        self.name(members[0])
                    )
                })?;
            }
        }
        Ok(())
    }

    /// The group whose waiting pods these are, all of them.
    fn group(&self, draft: &Draft<'_>, members: &[Member]) -> Option<GroupId> {
        let gang = &draft.gang;
        let above = |group: GroupId, leaf: GroupId| gang.ancestry(leaf).any(|it| it == group);
        let group =
            gang.ancestry(members.first()?.group).find(|group| members.iter().all(|it| above(*group, it.group)))?;
        let waiting = self.by_class.values().flatten().filter(|member| above(group, member.group)).count();
        (waiting == members.len()).then_some(group)
    }

    /// Puts the level of a term's domains on a group, unless it requires one that is narrower. False if there is no such level.
    fn require(&self, draft: &mut Draft<'_>, group: GroupId, term: TermId, topologies: &[Topology]) -> bool {
        let key = self.company.terms[term].key;
        let level_in = |topology: usize| topologies[topology].levels.iter().position(|it| it.key == key && !it.is_zone);
        let own = draft.gang.groups[group].constraint;
        let named = draft.gang.groups.iter().find_map(|group| group.constraint).map(|it| it.topology);
        let topology = own.map(|it| it.topology).or(named);
        let topology = topology.or_else(|| (0..topologies.len()).find(|it| level_in(*it).is_some()));
        let Some((topology, level)) = topology.and_then(|it| Some((it, level_in(it)?))) else { return false };
        let required = own.and_then(|it| it.required).map_or(level, |known| known.max(level));
        let preferred = own.and_then(|it| it.preferred).filter(|preferred| *preferred > required);
        draft.gang.groups[group].constraint = Some(Constraint { topology, required: Some(required), preferred });
        true
    }
}
