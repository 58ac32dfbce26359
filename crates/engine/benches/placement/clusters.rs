//! Clusters and gangs to measure on: zone > block > rack > host, 18 hosts in a rack, 14 racks in a block, 8 GPUs.

use fixedbitset::FixedBitSet;
use std::sync::Arc;
use trellis_engine::{Cluster, Constraint, Eligibility, Gang, GangName, Group, Level, Members, Node, Pod, Topology};

pub const BLOCK: usize = 1;
pub const RACK: usize = 2;
pub const HOST: usize = 3;

/// A cluster of so many nodes.
pub fn cluster(nodes: usize) -> Cluster {
    let levels = ["zone", "block", "rack", "host"].map(|name| Level {
        name: name.to_owned(),
        key: format!("example.com/{name}"),
        is_zone: false,
    });
    let mut all: Vec<Node> = (0..nodes)
        .map(|i| {
            let (rack, block) = (i / 18, i / (18 * 14));
            let path =
                vec![format!("z{:02}", block / 20), format!("b{block:03}"), format!("r{rack:05}"), format!("n{i:06}")];
            Node {
                name: format!("n{i:06}"),
                allocatable: vec![128_000, 1 << 41, 8, 110],
                paths: vec![path],
                zones: Vec::new(),
            }
        })
        .collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    let mut allowed = FixedBitSet::with_capacity(nodes);
    allowed.insert_range(..);
    Cluster {
        resources: ["cpu", "memory", "nvidia.com/gpu", "pods"].map(str::to_owned).to_vec(),
        topologies: vec![Topology { name: "default".to_owned(), levels: levels.to_vec() }],
        nodes: all,
        eligibility: vec![Eligibility { allowed, barred: FixedBitSet::with_capacity(nodes), weights: Vec::new() }],
        occupants: Vec::new(),
    }
}

/// A group with its constraint by level.
pub fn group(
    name: String,
    parent: Option<usize>,
    required: Option<usize>,
    preferred: Option<usize>,
    members: Members,
) -> Group {
    let constraint = Constraint { topology: 0, required, preferred };
    let constrained = required.is_some() || preferred.is_some();
    Group { name, parent, constraint: constrained.then_some(constraint), members }
}

/// A request of CPUs and GPUs.
pub fn request(cpus: i64, gpus: i64) -> Arc<[i64]> {
    vec![cpus * 1000, 1 << 33, gpus, 1].into()
}

pub fn pods(gang: &mut Gang, group: usize, count: usize, request: &Arc<[i64]>) {
    for i in 0..count {
        gang.pods.push(Pod {
            name: format!("{}-{group}-{i}", gang.id.name),
            group,
            request: request.clone(),
            eligibility: 0,
            bound: None,
        });
    }
}

pub fn gang(name: &str) -> Gang {
    Gang { id: GangName { namespace: "default".to_owned(), name: name.to_owned() }, ..Gang::default() }
}

/// So many pods in one rack, on few hosts.
pub fn rack_gang(name: &str, count: usize, gpus: i64) -> Gang {
    let mut gang = gang(name);
    gang.groups.push(group(name.to_owned(), None, Some(RACK), Some(HOST), Members::Groups { min: 1 }));
    gang.groups.push(group("workers".to_owned(), Some(0), None, Some(HOST), Members::Pods { min: count }));
    pods(&mut gang, 1, count, &request(8, gpus));
    gang
}

/// Replicas of a leader and 16 workers, each in a rack, all in a block.
pub fn block_gang(name: &str, replicas: usize) -> Gang {
    let mut gang = gang(name);
    gang.groups.push(group(name.to_owned(), None, Some(BLOCK), Some(HOST), Members::Groups { min: replicas }));
    for replica in 0..replicas {
        let at = gang.groups.len();
        gang.groups.push(group(format!("r{replica}"), Some(0), Some(RACK), Some(HOST), Members::Groups { min: 2 }));
        gang.groups.push(group(format!("r{replica}-leader"), Some(at), None, Some(HOST), Members::Pods { min: 1 }));
        gang.groups.push(group(format!("r{replica}-workers"), Some(at), None, Some(HOST), Members::Pods { min: 16 }));
        pods(&mut gang, at + 1, 1, &request(16, 0));
        pods(&mut gang, at + 2, 16, &request(32, 8));
    }
    gang
}

/// Many groups, each in a rack.
pub fn wide_gang(name: &str, groups: usize, each: usize) -> Gang {
    let mut gang = gang(name);
    gang.groups.push(group(name.to_owned(), None, None, Some(HOST), Members::Groups { min: groups }));
    for replica in 0..groups {
        let at = gang.groups.len();
        let name = format!("g{replica}");
        gang.groups.push(group(name, Some(0), Some(RACK), Some(HOST), Members::Pods { min: each }));
        pods(&mut gang, at, each, &request(8, 1));
    }
    gang
}
