//! Gangs: trees of up to three groups from the root to a leaf, many of their groups alike.

use super::{Draw, Scale};
use std::sync::Arc;
use trellis_engine::{Cluster, Constraint, Gang, GangName, Group, GroupId, Members, Pod};

/// What makes leaves alike.
#[derive(Clone, Debug)]
struct Profile {
    pods: Vec<(Arc<[i64]>, usize)>,
    min: usize,
    constraint: Option<Constraint>,
}

pub(super) fn gang(draw: &mut Draw, cluster: &Cluster, name: &str, scale: Scale) -> Gang {
    let id = GangName { namespace: "default".to_owned(), name: name.to_owned() };
    let mut gang = Gang { id, created: 100, ..Gang::default() };
    let parents = tree(draw, scale.groups);
    let leaf = |group: GroupId| !parents.contains(&Some(group));
    let leaves = (0..parents.len()).filter(|group| leaf(*group)).count();
    let most = (scale.pods / leaves).max(1);
    let profiles = draw.between(1, 2);
    let profiles: Vec<Profile> = (0..profiles).map(|_| profile(draw, cluster, most)).collect();
    // Inner groups are alike as a rule.
    let inner = constraint(draw, cluster, 50);
    let fewer = draw.chance(35);
    for (group, parent) in parents.iter().enumerate() {
        let children = parents.iter().filter(|parent| **parent == Some(group)).count();
        // Among siblings the profiles take turns.
        let nth = parents[..group].iter().filter(|other| *other == parent).count();
        let mut profile = profiles[nth % profiles.len()].clone();
        if draw.chance(8) {
            profile = self::profile(draw, cluster, most);
        }
        let (members, constraint) = if leaf(group) {
            let own = if group == 0 { constraint(draw, cluster, 70) } else { profile.constraint };
            add_pods(&mut gang, group, &profile);
            (Members::Pods { min: profile.min }, own)
        } else {
            let min = if fewer && draw.chance(70) { draw.between(1, children) } else { children };
            let own = if group == 0 { constraint(draw, cluster, 60) } else { inner };
            (Members::Groups { min }, own)
        };
        let name = if group == 0 { name.to_owned() } else { format!("g{group}") };
        gang.groups.push(Group { name, parent: *parent, constraint, members });
    }
    gang
}

/// Makes a gang fit to be a base: its root is a leaf or not, mostly has a required level, and needs at least one pod.
pub(super) fn make_base(draw: &mut Draw, cluster: &Cluster, gang: &mut Gang) {
    let levels = &cluster.topologies[0].levels;
    let last = levels.len() - if levels.last().is_some_and(|level| level.is_zone) { 2 } else { 1 };
    let required = draw.chance(85).then(|| draw.between(0, last));
    gang.groups[0].constraint = Some(Constraint { topology: 0, required, preferred: None });
    for group in &mut gang.groups {
        match &mut group.members {
            Members::Groups { min } | Members::Pods { min } => *min = 1.max(*min),
        }
        if group.parent.is_some() {
            group.constraint = None;
        }
    }
}

/// The parents of the groups: a single leaf, leaves under the root, equal inner groups, or any tree of that depth.
fn tree(draw: &mut Draw, most: usize) -> Vec<Option<GroupId>> {
    let mut parents = vec![None];
    match draw.between(0, 9) {
        0 | 1 => {}
        2..=4 => parents.extend((0..draw.between(1, most)).map(|_| Some(0))),
        5..=7 if most >= 4 => {
            let leaves = draw.between(1, most / 2 - 1);
            for _ in 0..draw.between(2, most / (leaves + 1)) {
                let inner = parents.len();
                parents.push(Some(0));
                parents.extend((0..leaves).map(|_| Some(inner)));
            }
        }
        _ => {
            for _ in 0..draw.between(1, most) {
                let shallow = |group: &GroupId| parents[*group].is_none_or(|parent| parent == 0);
                let candidates: Vec<GroupId> = (0..parents.len()).filter(shallow).collect();
                parents.push(Some(*draw.of(&candidates)));
            }
        }
    }
    parents
}

fn profile(draw: &mut Draw, cluster: &Cluster, most: usize) -> Profile {
    let count = draw.between(1, most).max(draw.between(1, most));
    let kind = |draw: &mut Draw| {
        let eligibility = draw.between(0, cluster.eligibility.len() - 1);
        (request(draw, cluster), if draw.chance(50) { 0 } else { eligibility })
    };
    let first = kind(draw);
    let mut pods = vec![first; count];
    if draw.chance(25) {
        let second = kind(draw);
        let from = draw.between(0, count - 1);
        pods[from..].fill(second);
    }
    let min = match draw.between(0, 99) {
        0..70 => count,
        70..94 => draw.between(1, count),
        94..98 => 0,
        _ => count + 1,
    };
    Profile { pods, min, constraint: constraint(draw, cluster, 45) }
}

fn request(draw: &mut Draw, cluster: &Cluster) -> Arc<[i64]> {
    let amount = |(resource, name): (usize, &String)| {
        if name == "pods" {
            return 1;
        }
        let most = cluster.nodes.iter().map(|node| node.allocatable[resource]).max().unwrap_or(0);
        // Parts of a node, such that several make one whole or nearly so; of memory no odd bytes.
        let part = most / *draw.of(&[1, 2, 2, 3, 3, 4, 4, 8, i64::MAX]);
        if name == "memory" { part & !((1 << 27) - 1) } else { part }
    };
    cluster.resources.iter().enumerate().map(amount).collect()
}

/// A constraint in so many of a hundred cases.
fn constraint(draw: &mut Draw, cluster: &Cluster, percent: usize) -> Option<Constraint> {
    if !draw.chance(percent) {
        return None;
    }
    let topology = draw.between(0, cluster.topologies.len() - 1);
    let last = cluster.topologies[topology].levels.len() - 1;
    let zone = |level: &usize| cluster.topologies[topology].levels[*level].is_zone;
    // Zones are rare enough as it is.
    let any = |draw: &mut Draw| if zone(&last) && draw.chance(30) { last } else { draw.between(0, last) };
    let required = draw.chance(60).then(|| any(draw));
    let preferred = draw.chance(60).then(|| any(draw));
    // Whether a pod is to be in a zone of a node that takes no part at the zone level is nowhere said.
    let odd = cluster.nodes.iter().any(|node| !node.zones.is_empty() && node.paths[topology].len() < last);
    Some(Constraint { topology, required, preferred: preferred.filter(|level| !(odd && zone(level))) })
}

fn add_pods(gang: &mut Gang, group: GroupId, profile: &Profile) {
    for (n, (request, eligibility)) in profile.pods.iter().enumerate() {
        gang.pods.push(Pod {
            name: format!("{}-{group}-{n}", gang.id.name),
            group,
            request: Arc::clone(request),
            eligibility: *eligibility,
            bound: None,
        });
    }
}
