//! Every change that an explanation names is made to the input, and the gang is placed.

use super::harness::{Judged, Verdict};
use std::sync::Arc;
use trellis_engine::{Change, Cluster, DomainId, Gang, Members, Options, Outcome, Snapshot, explain_on, plan, plan_on};
use trellis_testkit::placement::Problem;

pub fn judge(problem: &Problem) -> Judged {
    let mut snapshot = Snapshot::with_gangs(Arc::new(problem.cluster.clone()), &problem.gangs);
    let first = plan_on(&mut snapshot, &problem.gangs, Options::default());
    let explanations = explain_on(&mut snapshot, &problem.gangs, &first, Options::default());
    for (index, explanation) in explanations.iter().enumerate() {
        let waits = first.decisions[index].outcome != Outcome::Placed;
        if explanation.text.is_empty() || (!waits && !explanation.relaxations.is_empty()) {
            return Err(format!("gang {index} is explained by {explanation:?}"));
        }
        for relaxation in &explanation.relaxations {
            let changed = apply(problem, index, &relaxation.change);
            let again = plan(&changed.cluster, &changed.gangs, Options::default());
            let id = &problem.gangs[index].id;
            let at = changed.gangs.iter().position(|gang| gang.id == *id).ok_or("the gang itself is gone")?;
            if again.decisions[at].outcome != Outcome::Placed {
                return Err(format!("gang {index} still waits after: {}", relaxation.text));
            }
        }
    }
    Ok(Verdict::Right)
}

fn apply(problem: &Problem, index: usize, change: &Change) -> Problem {
    let Problem { mut cluster, mut gangs } = problem.clone();
    match change {
        Change::WidenLevel { group, to, .. } => {
            gangs[index].groups[*group].constraint.as_mut().expect("it has a level").required = *to;
        }
        Change::FewerPods { group, count } => {
            for _ in 0..*count {
                let waiting = |pod: &trellis_engine::Pod| pod.group == *group && pod.bound.is_none();
                let last = gangs[index].pods.iter().rposition(waiting).expect("there are so many");
                gangs[index].pods.remove(last);
                let Members::Pods { min } = &mut gangs[index].groups[*group].members else { panic!("not a leaf") };
                *min -= 1;
            }
        }
        Change::RemoveGang { gang } => gangs.retain(|other| other.id != *gang),
        Change::AddNodes { domain, count } => add_nodes(&mut cluster, &gangs[index], *domain, *count),
        Change::AddLabels { domain, nodes, count } => {
            assert_eq!(*count, nodes.len() as u64);
            let path = path(&cluster, *domain);
            for node in nodes {
                cluster.nodes[*node as usize].paths[usize::from(domain.topology)].clone_from(&path);
            }
        }
        Change::Untaint { nodes, .. } => {
            for kind in &mut cluster.eligibility {
                for node in nodes.iter().map(|node| *node as usize).filter(|node| kind.barred.contains(*node)) {
                    kind.allowed.insert(node);
                }
                nodes.iter().for_each(|node| kind.barred.set(*node as usize, false));
            }
        }
    }
    Problem { cluster, gangs }
}

/// The values of a domain that is no zone: paths of nodes and their beginnings, by length, then by value.
fn path(cluster: &Cluster, domain: DomainId) -> Vec<String> {
    let paths = cluster.nodes.iter().map(|node| &node.paths[usize::from(domain.topology)]);
    let mut all: Vec<&[String]> = paths.flat_map(|path| (1..=path.len()).map(|len| &path[..len])).collect();
    all.sort_by_key(|path| (path.len(), *path));
    all.dedup();
    all[domain.index as usize].to_vec()
}

/// Nodes like the largest of the domain for the gang's first waiting pod; each is a host of its own where the level
/// below is that of hosts: the last, with one node in each domain.
fn add_nodes(cluster: &mut Cluster, gang: &Gang, domain: Option<DomainId>, count: u64) {
    let path = domain.map(|domain| (usize::from(domain.topology), path(cluster, domain)));
    let request = &gang.pods.iter().find(|pod| pod.bound.is_none()).expect("one waits").request;
    let inside = |node: &usize| {
        path.as_ref().is_none_or(|(topology, path)| cluster.nodes[*node].paths[*topology].starts_with(path))
    };
    let size = |node: &usize| {
        let offers = cluster.nodes[*node].allocatable.iter();
        offers.zip(request.iter()).filter(|(_, ask)| **ask > 0).map(|(offer, ask)| offer / ask).min()
    };
    let nodes = (0..cluster.nodes.len()).filter(inside);
    let like = nodes.max_by_key(|node| (size(node), std::cmp::Reverse(*node))).expect("the domain has nodes");
    for number in 0..count {
        let mut node = cluster.nodes[like].clone();
        node.name = format!("zz{number:04}");
        for (topology, own) in node.paths.iter_mut().enumerate() {
            own.clear();
            if let Some((_, path)) = path.as_ref().filter(|(known, _)| *known == topology) {
                own.clone_from(path);
                let levels = cluster.topologies[topology].levels.iter().filter(|level| !level.is_zone).count();
                let mut known: Vec<&Vec<String>> = cluster.nodes.iter().map(|node| &node.paths[topology]).collect();
                known.retain(|path| path.len() == levels);
                known.sort();
                let are_hosts = path.len() + 1 == levels && known.is_sorted_by(|a, b| a < b);
                own.extend(are_hosts.then(|| node.name.clone()));
            }
        }
        cluster.nodes.push(node);
        let len = cluster.nodes.len();
        for kind in &mut cluster.eligibility {
            kind.allowed.grow(len);
            kind.barred.grow(len);
            let is_fit = kind.allowed.contains(like) || kind.barred.contains(like);
            kind.allowed.set(len - 1, is_fit);
            kind.weights.extend(kind.weights.get(like).copied());
        }
    }
}
