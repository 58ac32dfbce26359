//! What follows from the plain data without any search: domains, what is free, what bound pods fix.

use trellis_engine::{Cluster, Gang, GroupId, Hold, Members, NodeId, Place};

/// Where a place stands at a level.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stand<'a> {
    /// In a domain: the path of values, and for a zone level the zone itself.
    Domain(&'a [String], Option<Place>),
    /// The node takes no part at the level: it is a domain of its own, in which nothing can be required to be.
    Outside(NodeId),
}

impl Stand<'_> {
    pub fn is_domain(&self) -> bool {
        matches!(self, Self::Domain(..))
    }
}

pub fn stand(cluster: &Cluster, topology: usize, level: usize, place: Place) -> Stand<'_> {
    let path = &cluster.nodes[place.node as usize].paths[topology];
    if cluster.topologies[topology].levels[level].is_zone {
        if path.len() >= level && place.zone.is_some() {
            return Stand::Domain(&path[..level], Some(place));
        }
    } else if path.len() > level {
        return Stand::Domain(&path[..=level], None);
    }
    Stand::Outside(place.node)
}

/// The holds that a gang sees: those of others whose priority is not lower than its own.
pub fn seen(gangs: &[Gang], viewer: usize) -> impl Iterator<Item = &Hold> {
    let others = gangs.iter().enumerate().filter(move |(other, it)| {
        let is_other = *other != viewer;
        is_other && it.priority >= gangs[viewer].priority
    });
    others.flat_map(|(_, gang)| &gang.holds)
}

/// What every node has left when all that is bound has been charged, and all that is held against a gang, if it is one
/// gang that asks. Less than nothing where it is overcommitted.
pub fn free(cluster: &Cluster, gangs: &[Gang], viewer: Option<usize>) -> Vec<Vec<i64>> {
    let mut free: Vec<Vec<i64>> = cluster.nodes.iter().map(|node| node.allocatable.clone()).collect();
    let occupants = cluster.occupants.iter().map(|occupant| (occupant.node, &occupant.request));
    let bound = gangs.iter().flat_map(|gang| &gang.pods).filter_map(|pod| Some((pod.bound?.node, &pod.request)));
    let held = viewer.into_iter().flat_map(|viewer| seen(gangs, viewer)).map(|hold| (hold.place.node, &hold.request));
    for (node, request) in occupants.chain(bound).chain(held) {
        for (free, asked) in free[node as usize].iter_mut().zip(request.iter()) {
            *free -= asked;
        }
    }
    free
}

/// What is left for a gang in the zone that a place is in; none for what zones do not divide. Bound pods are off it
/// already, held places are not.
pub fn left_in_zone(cluster: &Cluster, gangs: &[Gang], viewer: usize, place: Place) -> Vec<Option<i64>> {
    let Some(zone) = place.zone else { return vec![None; cluster.resources.len()] };
    let mut left = cluster.nodes[place.node as usize].zones[usize::from(zone)].available.clone();
    for hold in seen(gangs, viewer).filter(|hold| hold.place == place) {
        for (left, held) in left.iter_mut().zip(hold.request.iter()) {
            *left = left.map(|left| left - held);
        }
    }
    left
}

/// The holds of a gang that are left when some of its pods are given places: each uses up one of its leaf, first what is
/// held at its place for what asks for the same, then what is held on its node, then any; the first by place and request.
pub fn unused(gang: &Gang, placed: &[(usize, Place)]) -> Vec<Hold> {
    let mut holds = gang.holds.clone();
    holds.sort();
    let mut pods = placed.to_vec();
    for distance in 0..3 {
        for (pod, place) in std::mem::take(&mut pods) {
            let group = gang.pods[pod].group;
            let is_near = |hold: &Hold| match distance {
                0 => hold.place == place && hold.request == gang.pods[pod].request,
                1 => hold.place.node == place.node,
                _ => true,
            };
            match holds.iter().position(|hold| hold.group == group && is_near(hold)) {
                Some(used) => drop(holds.remove(used)),
                None => pods.push((pod, place)),
            }
        }
    }
    holds
}

/// Whether a request fits into what is free. What a pod does not ask for may be overcommitted.
pub fn fits(request: &[i64], free: &[i64]) -> bool {
    request.iter().zip(free).all(|(asked, free)| *asked == 0 || asked <= free)
}

/// How a leaf's pods stand to zones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zones {
    /// They stand on nodes.
    Ignored,
    /// They stand in a zone wherever the node has some.
    Preferred,
    /// They stand in a zone.
    Required,
}

pub fn zones(cluster: &Cluster, gang: &Gang, leaf: GroupId) -> Zones {
    let mut found = Zones::Ignored;
    for constraint in gang.ancestry(leaf).filter_map(|group| gang.groups[group].constraint) {
        let is_zone = |level: usize| cluster.topologies[constraint.topology].levels[level].is_zone;
        if constraint.required.is_some_and(is_zone) {
            return Zones::Required;
        }
        if constraint.preferred.is_some_and(is_zone) {
            found = Zones::Preferred;
        }
    }
    found
}

/// The places that pods of a leaf may use as far as zones are concerned.
pub fn places(cluster: &Cluster, zones: Zones) -> Vec<Place> {
    let mut places = Vec::new();
    for (node, id) in cluster.nodes.iter().zip(0..) {
        if zones == Zones::Ignored || (zones == Zones::Preferred && node.zones.is_empty()) {
            places.push(Place { node: id, zone: None });
        } else {
            places.extend((0..).zip(&node.zones).map(|(zone, _)| Place { node: id, zone: Some(zone) }));
        }
    }
    places
}

/// All pods below a group, once some are new, must share one domain.
#[derive(Debug)]
pub struct Requirement<'a> {
    pub group: GroupId,
    pub topology: usize,
    pub level: usize,
    /// Where bound pods and holds stand, each stand once.
    pub bound: Vec<Stand<'a>>,
}

impl Requirement<'_> {
    /// Bound pods break it already.
    pub fn is_broken(&self) -> bool {
        self.bound.len() > 1 || self.bound.iter().any(|bound| !bound.is_domain())
    }

    /// Whether a new pod may stand there as far as bound pods are concerned.
    pub fn allows(&self, stand: &Stand) -> bool {
        stand.is_domain() && self.bound.iter().all(|bound| bound == stand)
    }
}

/// The required levels of a gang, and that of its base's root, which holds for the gang's root.
pub fn requirements<'a>(cluster: &'a Cluster, gangs: &[Gang], gang: usize) -> Vec<Requirement<'a>> {
    let base = base(gangs, gang);
    let gang = &gangs[gang];
    let own = (0..gang.groups.len()).map(|group| (group, gang.groups[group].constraint, None));
    let bases = base.iter().map(|base| (0, base.groups[0].constraint, Some(base)));
    let mut found = Vec::new();
    for (group, constraint, base) in own.chain(bases) {
        let Some((topology, level)) = constraint.and_then(|it| Some((it.topology, it.required?))) else { continue };
        let own = gang.pods.iter().filter(|pod| gang.ancestry(pod.group).any(|above| above == group));
        let all = own.chain(base.into_iter().flat_map(|base| &base.pods)).filter_map(|pod| pod.bound);
        let held = gang.holds.iter().filter(|hold| gang.ancestry(hold.group).any(|above| above == group));
        let held = held.chain(base.into_iter().flat_map(|base| &base.holds)).map(|hold| hold.place);
        let mut bound: Vec<Stand> = all.chain(held).map(|place| stand(cluster, topology, level, place)).collect();
        bound.sort();
        bound.dedup();
        found.push(Requirement { group, topology, level, bound });
    }
    found
}

/// The gang whose domains a gang must share, if it is in the problem.
pub fn base(gangs: &[Gang], gang: usize) -> Option<&Gang> {
    let name = gangs[gang].base.as_ref()?;
    gangs.iter().find(|other| other.id == *name)
}

/// Whether a gang cannot be planned whatever there is free: it is unready, or its base has no place.
pub fn hopeless(cluster: &Cluster, gangs: &[Gang], gang: usize) -> bool {
    let stands = |base: &Gang| {
        let at = gangs.iter().position(|other| other.id == base.id).expect("it was found there");
        base.unready.is_none() && satisfied(base, &requirements(cluster, gangs, at), |leaf| bound(base, leaf))[0]
    };
    gangs[gang].unready.is_some() || base(gangs, gang).is_some_and(|base| !stands(base))
}

/// Number of bound pods of a leaf.
pub fn bound(gang: &Gang, leaf: GroupId) -> usize {
    gang.pods_of(leaf).filter(|(_, pod)| pod.bound.is_some()).count()
}

/// Which groups are satisfied when each leaf has so many pods. A group whose required level is broken is not.
pub fn satisfied(gang: &Gang, requirements: &[Requirement], pods: impl Fn(GroupId) -> usize) -> Vec<bool> {
    let mut satisfied = vec![false; gang.groups.len()];
    for group in (0..gang.groups.len()).rev() {
        let enough = match gang.groups[group].members {
            Members::Pods { min } => pods(group) >= min,
            Members::Groups { min } => gang.children(group).filter(|child| satisfied[*child]).count() >= min,
        };
        satisfied[group] = enough && !requirements.iter().any(|it| it.group == group && it.is_broken());
    }
    satisfied
}

/// One number that counts towards a span: the domains that a group's pods use at a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    pub group: GroupId,
    pub topology: usize,
    pub level: usize,
    /// Index of the span that it is added to.
    pub span: usize,
}

/// The terms of all spans, and the number of spans.
pub fn terms(gang: &Gang) -> (Vec<Term>, usize) {
    let depth = |group| gang.ancestry(group).count() - 1;
    let depths = (0..gang.groups.len()).map(depth).max().unwrap_or(0) + 1;
    let mut terms = Vec::new();
    let mut wideners = 0;
    for (group, it) in gang.groups.iter().enumerate() {
        let Some((topology, preferred)) = it.constraint.and_then(|it| Some((it.topology, it.preferred?))) else {
            continue;
        };
        wideners = wideners.max(preferred + 1);
        for wider in 0..=preferred {
            terms.push(Term { group, topology, level: preferred - wider, span: wider * depths + depth(group) });
        }
    }
    (terms, wideners * depths)
}
