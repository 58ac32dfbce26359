//! A change made to the input, so that it can be planned again.

use super::Change;
use crate::cluster::Cluster;
use crate::domains::Domains;
use crate::gang::{Gang, GroupId, Members};
use crate::proof::DomainId;

/// The cluster and the gangs as they would be with a change for one of the gangs.
pub(super) fn apply(cluster: &Cluster, gangs: &[Gang], index: usize, change: &Change) -> (Cluster, Vec<Gang>) {
    let (mut cluster, mut gangs) = (cluster.clone(), gangs.to_vec());
    match change {
        Change::WidenLevel { group, to, .. } => {
            if let Some(constraint) = &mut gangs[index].groups[*group].constraint {
                constraint.required = *to;
            }
        }
        Change::FewerPods { group, count } => {
            let count = usize::try_from(*count).unwrap_or(usize::MAX);
            gangs[index] = smaller(&gangs[index], *group, count);
        }
        Change::RemoveGang { gang } => gangs.retain(|other| other.id != *gang),
        Change::AddNodes { domain, count } => add_nodes(&mut cluster, &gangs[index], *domain, *count),
        Change::AddLabels { domain, nodes, .. } => {
            let topology = usize::from(domain.topology);
            let path = path(&cluster, *domain);
            nodes.iter().for_each(|node| cluster.nodes[*node as usize].paths[topology].clone_from(&path));
        }
        Change::Untaint { nodes, .. } => {
            for kind in &mut cluster.eligibility {
                for node in nodes.iter().map(|node| *node as usize) {
                    let was_barred = kind.barred.put(node);
                    kind.barred.set(node, false);
                    kind.allowed.set(node, was_barred || kind.allowed.contains(node));
                }
            }
        }
    }
    (cluster, gangs)
}

fn path(cluster: &Cluster, domain: DomainId) -> Vec<String> {
    let topology = usize::from(domain.topology);
    let domains = Domains::of(cluster, topology);
    domains.values(cluster, topology, domain.index).into_iter().map(str::to_owned).collect()
}

/// Adds nodes like the largest of a domain, or of the cluster, behind all others.
fn add_nodes(cluster: &mut Cluster, gang: &Gang, domain: Option<DomainId>, count: u64) {
    let inside: Vec<u32> = match domain {
        Some(domain) => Domains::of(cluster, usize::from(domain.topology)).nodes(domain.index).to_vec(),
        None => (0..crate::domains::index(cluster.nodes.len())).collect(),
    };
    let Some(like) = largest(cluster, gang, &inside) else { return };
    let is_host_below =
        domain.is_some_and(|domain| Domains::of(cluster, usize::from(domain.topology)).has_hosts(domain.index));
    let path = domain.map(|domain| (usize::from(domain.topology), path(cluster, domain)));
    for number in 0..count {
        let mut node = cluster.nodes[like as usize].clone();
        node.name = format!("\u{10ffff}{number:06}");
        for (topology, own) in node.paths.iter_mut().enumerate() {
            *own =
                path.as_ref().filter(|(known, _)| *known == topology).map(|(_, path)| path.clone()).unwrap_or_default();
            own.extend((is_host_below && !own.is_empty()).then(|| node.name.clone()));
        }
        cluster.nodes.push(node);
        for kind in &mut cluster.eligibility {
            let is_fit = kind.allowed.contains(like as usize) || kind.barred.contains(like as usize);
            kind.allowed.grow(cluster.nodes.len());
            kind.barred.grow(cluster.nodes.len());
            kind.allowed.set(cluster.nodes.len() - 1, is_fit);
            kind.weights.extend(kind.weights.get(like as usize).copied());
        }
    }
}

/// The node that offers most for the first waiting pod of a gang.
pub(super) fn largest(cluster: &Cluster, gang: &Gang, nodes: &[u32]) -> Option<u32> {
    let pod = gang.pods.iter().find(|pod| pod.bound.is_none())?;
    nodes.iter().copied().max_by_key(|node| (size(cluster, &pod.request, *node), std::cmp::Reverse(*node)))
}

/// How many pods a free node takes.
pub(super) fn size(cluster: &Cluster, request: &[i64], node: u32) -> i64 {
    let offers = &cluster.nodes[node as usize].allocatable;
    let asks = request.iter().zip(offers).filter(|(ask, _)| **ask > 0);
    asks.map(|(ask, offer)| offer / ask).min().unwrap_or(0)
}

/// The gang with a leaf's minimum and number of pods less by `count`; the last waiting ones go.
pub(super) fn smaller(gang: &Gang, leaf: GroupId, count: usize) -> Gang {
    let mut gang = gang.clone();
    if let Members::Pods { min } = &mut gang.groups[leaf].members {
        *min = min.saturating_sub(count);
    }
    for _ in 0..count {
        if let Some(last) = gang.pods.iter().rposition(|pod| pod.group == leaf && pod.bound.is_none()) {
            gang.pods.remove(last);
        }
    }
    gang
}
