//! A gang made ready for the search: its pods by kind, its groups with what lies under them.

use crate::cluster::{Cluster, Eligibility, NodeId, Place};
use crate::domains::NONE;
use crate::gang::{Gang, GroupId, Members};
use crate::proof::{Claim, DomainId, Proof};
use crate::snapshot::{KindId, KindKey, Snapshot, Zoning};

/// A gang made ready.
#[derive(Debug)]
pub(crate) struct Job<'g> {
    pub gang: &'g Gang,
    pub groups: Vec<JobGroup>,
    /// Waiting pods by leaf and kind; those of one leaf stand together.
    pub batches: Vec<Batch>,
    /// The kinds of all batches, each once.
    pub kinds: Vec<KindId>,
    /// What is counted for the second aim: domains of a group at its preferred level and the wider ones.
    pub spans: Vec<Span>,
    /// Entries of a score: waiting pods without a place, then the spans, then what pods would like and do not get.
    pub score_len: usize,
    /// The last entry, if some pods like some nodes better than others.
    pub wish: Option<usize>,
    /// Topologies that constraints speak of, ascending.
    pub topologies: Vec<usize>,
    /// The domain that the base of a scaled gang occupies.
    pub anchor: Option<DomainId>,
}

/// A group with what lies under it.
#[derive(Debug, Default)]
pub(crate) struct JobGroup {
    pub parent: Option<GroupId>,
    pub children: Vec<GroupId>,
    /// Number of children that must be placed; all for leaves.
    pub min_children: usize,
    /// Of a leaf: how many of its waiting pods must be placed.
    pub need: usize,
    pub leaves: Vec<GroupId>,
    pub batches: Vec<usize>,
    /// Places of bound pods and of holds under it: where the group is.
    pub bound: Vec<Place>,
    /// Topology and level.
    pub required: Option<(usize, usize)>,
    /// The domain that these fix, if there are any.
    pub fixed: Option<u32>,
    /// Whether these stand in several domains of the required level.
    pub is_apart: bool,
    /// Groups with the same number are alike: one can stand for the other.
    pub profile: usize,
}

/// Waiting pods of one leaf and kind.
#[derive(Debug)]
pub(crate) struct Batch {
    pub leaf: GroupId,
    pub kind: KindId,
    /// Indices into the gang's pods.
    pub pods: Vec<usize>,
    /// Indices of the spans that its pods count for.
    pub spans: Vec<usize>,
    /// How much each of its pods would like the node that it likes best.
    pub most: u64,
}

/// The domains of one level that a group uses, counted in the score.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub group: GroupId,
    pub topology: usize,
    pub level: usize,
    /// Its entry of the score.
    pub entry: usize,
    /// Whether it is the preferred level itself, not one of the wider ones that break ties.
    pub is_preferred: bool,
}

impl<'g> Job<'g> {
    /// Makes a gang ready, or says why it cannot be planned whatever room there is.
    pub fn new(gang: &'g Gang, anchor: Option<DomainId>, snapshot: &mut Snapshot) -> Result<Self, Proof> {
        if let Some(unready) = &gang.unready {
            return Err(Claim::Unready(unready.clone()));
        }
        let mut job = Self {
            gang,
            groups: groups(gang),
            batches: Vec::new(),
            kinds: Vec::new(),
            spans: Vec::new(),
            score_len: 1,
            wish: None,
            topologies: Vec::new(),
            anchor,
        };
        job.topologies = gang.groups.iter().filter_map(|group| Some(group.constraint?.topology)).collect();
        job.topologies.extend(anchor.map(|domain| usize::from(domain.topology)));
        job.topologies.sort_unstable();
        job.topologies.dedup();
        job.add_spans(&snapshot.cluster);
        job.add_batches(snapshot);
        if job.batches.iter().any(|batch| batch.most > 0) {
            job.wish = Some(job.score_len);
            job.score_len += 1;
        }
        job.add_profiles();
        job.fix(snapshot);
        match job.first_fault() {
            Some(claim) => Err(claim),
            None => Ok(job),
        }
    }

    fn add_spans(&mut self, cluster: &Cluster) {
        let depth = |group: GroupId| self.gang.ancestry(group).count() - 1;
        let preferred: Vec<(GroupId, usize, usize)> = (0..self.gang.groups.len())
            .filter_map(|group| {
                let constraint = self.gang.groups[group].constraint?;
                Some((group, constraint.topology, constraint.preferred?))
            })
            .collect();
        let Some(widest) = preferred.iter().map(|(.., level)| *level).max() else { return };
        let depths = (0..self.gang.groups.len()).map(depth).max().unwrap_or(0) + 1;
        debug_assert!(preferred.iter().all(|(_, topology, level)| *level < cluster.topologies[*topology].levels.len()));
        for wider in 0..=widest {
            for &(group, topology, level) in preferred.iter().filter(|(.., level)| *level >= wider) {
                let entry = 1 + wider * depths + depth(group);
                self.spans.push(Span { group, topology, level: level - wider, entry, is_preferred: wider == 0 });
            }
        }
        self.score_len = 1 + depths * (widest + 1);
    }

    fn add_batches(&mut self, snapshot: &mut Snapshot) {
        let gang = self.gang;
        let mut waiting: Vec<usize> = (0..gang.pods.len()).filter(|pod| gang.pods[*pod].bound.is_none()).collect();
        // By name, so that the order of the input decides nothing.
        waiting.sort_by(|a, b| {
            let key = |pod: &usize| (gang.pods[*pod].group, &gang.pods[*pod].name);
            key(a).cmp(&key(b))
        });
        for index in waiting {
            let pod = &gang.pods[index];
            let last = self.batches.iter().rposition(|batch| batch.leaf != pod.group).map_or(0, |i| i + 1);
            let same = self.batches[last..].iter_mut().find(|batch| {
                let key = &snapshot.kinds[batch.kind].key;
                key.request == pod.request && key.eligibility == pod.eligibility
            });
            if let Some(batch) = same {
                batch.pods.push(index);
                continue;
            }
            let key = KindKey {
                request: pod.request.clone(),
                eligibility: pod.eligibility,
                zoning: zoning(gang, pod.group, &snapshot.cluster),
            };
            let kind = snapshot.kind(key);
            let spans = (0..self.spans.len()).filter(|span| {
                let group = self.spans[*span].group;
                gang.ancestry(pod.group).any(|above| above == group)
            });
            let most = most_liked(&snapshot.cluster.eligibility[pod.eligibility]);
            let batch = Batch { leaf: pod.group, kind, pods: vec![index], spans: spans.collect(), most };
            for group in gang.ancestry(pod.group) {
                self.groups[group].batches.push(self.batches.len());
            }
            self.batches.push(batch);
            if !self.kinds.contains(&kind) {
                self.kinds.push(kind);
            }
        }
    }

    /// Numbers the groups by what they ask for; bound pods and holds make a group unlike all others.
    fn add_profiles(&mut self) {
        let mut seen: Vec<(usize, Vec<usize>)> = Vec::new();
        for group in (0..self.groups.len()).rev() {
            let it = &self.groups[group];
            let constraint = self.gang.groups[group].constraint.unwrap_or_default();
            let level = |level: Option<usize>| level.map_or(0, |level| level + 1);
            let mut shape = vec![
                usize::from(self.gang.groups[group].constraint.is_some()),
                constraint.topology,
                level(constraint.required),
                level(constraint.preferred),
                it.need,
                it.min_children,
                if it.bound.is_empty() { 0 } else { group + 1 },
            ];
            if it.children.is_empty() {
                for batch in &it.batches {
                    shape.extend([self.batches[*batch].kind, self.batches[*batch].pods.len()]);
                }
            } else {
                let mut children: Vec<usize> = it.children.iter().map(|child| self.groups[*child].profile).collect();
                children.sort_unstable();
                shape.extend(children);
            }
            let known = seen.iter().find(|(_, known)| *known == shape).map(|(number, _)| *number);
            let number = known.unwrap_or_else(|| {
                seen.push((group, shape));
                group
            });
            self.groups[group].profile = number;
        }
    }

    /// Finds the domains that bound pods and holds fix.
    fn fix(&mut self, snapshot: &Snapshot) {
        for group in &mut self.groups {
            let Some((topology, level)) = group.required else { continue };
            let domains = &snapshot.domains[topology];
            let mut at = group.bound.iter().map(|place| domains.at(*place, level));
            group.fixed = at.next();
            group.is_apart = group.fixed == Some(NONE) || at.any(|domain| Some(domain) != group.fixed);
        }
        if let Some(anchor) = self.anchor {
            let domains = &snapshot.domains[usize::from(anchor.topology)];
            let root = &mut self.groups[0];
            root.is_apart |= root.bound.iter().any(|place| !domains.holds(anchor.index, *place));
        }
    }

    /// A needed group that cannot be satisfied whatever room there is.
    fn first_fault(&self) -> Option<Claim> {
        self.needed().into_iter().find_map(|group| {
            let it = &self.groups[group];
            if it.is_apart {
                return Some(Claim::BoundApart { group });
            }
            let Members::Pods { min } = self.gang.groups[group].members else { return None };
            let have = self.gang.pods_of(group).count();
            (have < min).then_some(Claim::TooFewPods { leaf: group, have, need: min })
        })
    }

    /// The groups that are needed whatever is chosen, ascending.
    pub fn needed(&self) -> Vec<GroupId> {
        let mut needed = vec![false; self.groups.len()];
        for group in 0..self.groups.len() {
            needed[group] = self.groups[group].parent.is_none_or(|parent| {
                needed[parent] && self.groups[parent].min_children >= self.groups[parent].children.len()
            });
        }
        (0..needed.len()).filter(|group| needed[*group]).collect()
    }

    /// Whether a group can never be placed: too few pods, or bound apart, at itself or at something it cannot do without.
    pub fn is_hopeless(&self, group: GroupId) -> bool {
        let it = &self.groups[group];
        if it.is_apart {
            return true;
        }
        if let Members::Pods { min } = self.gang.groups[group].members {
            return self.gang.pods_of(group).count() < min;
        }
        it.children.iter().filter(|child| !self.is_hopeless(**child)).count() < it.min_children
    }

    /// Whether the gang has a hold on a node.
    pub fn is_held(&self, node: NodeId) -> bool {
        self.gang.holds.iter().any(|hold| hold.place.node == node)
    }

    /// Waiting pods in all.
    pub fn waiting(&self) -> usize {
        self.batches.iter().map(|batch| batch.pods.len()).sum()
    }

    /// The batches of a leaf.
    pub fn batches_of(&self, leaf: GroupId) -> &[usize] {
        &self.groups[leaf].batches
    }
}

/// How much pods like the node that they like best.
fn most_liked(kind: &Eligibility) -> u64 {
    let weights = kind.weights.iter().enumerate().filter(|(node, _)| kind.allowed.contains(*node));
    weights.map(|(_, weight)| u64::from(*weight)).max().unwrap_or(0)
}

fn groups(gang: &Gang) -> Vec<JobGroup> {
    let mut groups: Vec<JobGroup> = Vec::with_capacity(gang.groups.len());
    for (index, group) in gang.groups.iter().enumerate() {
        let required = group.constraint.and_then(|constraint| Some((constraint.topology, constraint.required?)));
        groups.push(JobGroup { parent: group.parent, required, profile: index, ..JobGroup::default() });
        if let Some(parent) = group.parent {
            groups[parent].children.push(index);
        }
    }
    for (index, group) in gang.groups.iter().enumerate() {
        match group.members {
            Members::Groups { min } => groups[index].min_children = min,
            Members::Pods { min } => {
                let bound = gang.pods_of(index).filter(|(_, pod)| pod.bound.is_some()).count();
                groups[index].need = min.saturating_sub(bound);
                for above in gang.ancestry(index) {
                    groups[above].leaves.push(index);
                }
            }
        }
    }
    for (leaf, place) in gang.standing() {
        for above in gang.ancestry(leaf) {
            groups[above].bound.push(place);
        }
    }
    groups
}

/// Whether pods of a leaf go into zones.
pub(crate) fn zoning(gang: &Gang, leaf: GroupId, cluster: &Cluster) -> Zoning {
    let mut zoning = Zoning::None;
    for group in gang.ancestry(leaf) {
        let Some(constraint) = gang.groups[group].constraint else { continue };
        let is_zone = |level: Option<usize>| {
            level.is_some_and(|level| cluster.topologies[constraint.topology].levels[level].is_zone)
        };
        if is_zone(constraint.required) {
            return Zoning::Required;
        }
        if is_zone(constraint.preferred) {
            zoning = Zoning::Preferred;
        }
    }
    zoning
}
