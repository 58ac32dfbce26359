//! Small clusters and gangs made by hand, and what the checker says of plans and proofs for them.

mod claims;
mod laws;
mod plans;
mod scores;
mod splits;

use crate::cluster::{Cluster, Eligibility, Level, Node, Place, Topology, Zone};
use crate::gang::{Constraint, Gang, GangName, Group, GroupId, Members, Pod};
use crate::plan::{Decision, Outcome, Plan};
use crate::proof::{Branch, Claim, DomainId};
use fixedbitset::FixedBitSet;

/// A cluster with resources `cpu` and `gpu`. Each topology is its levels, widest first; `numa` is a level of zones.
/// Each node is its paths, one for each topology ("a/r0"), and what it offers. All pods may run everywhere.
fn cluster(topologies: &[&[&str]], nodes: &[(&[&str], [i64; 2])]) -> Cluster {
    let level = |name: &&str| Level { name: (*name).to_owned(), key: (*name).to_owned(), is_zone: *name == "numa" };
    let topology =
        |(k, levels): (usize, &&[&str])| Topology { name: format!("t{k}"), levels: levels.iter().map(level).collect() };
    let node = |(k, (paths, offers)): (usize, &(&[&str], [i64; 2]))| Node {
        name: format!("n{k}"),
        allocatable: offers.to_vec(),
        paths: paths.iter().map(|path| path.split_terminator('/').map(str::to_owned).collect()).collect(),
        zones: Vec::new(),
    };
    let mut allowed = FixedBitSet::with_capacity(nodes.len());
    allowed.insert_range(..);
    Cluster {
        resources: vec!["cpu".to_owned(), "gpu".to_owned()],
        topologies: topologies.iter().enumerate().map(topology).collect(),
        nodes: nodes.iter().enumerate().map(node).collect(),
        eligibility: vec![Eligibility {
            allowed,
            barred: FixedBitSet::with_capacity(nodes.len()),
            weights: Vec::new(),
        }],
        occupants: Vec::new(),
    }
}

/// Gives a node zones that divide the GPUs.
fn zones(cluster: &mut Cluster, node: usize, gpus: &[i64]) {
    let zone = |(k, gpus): (usize, &i64)| Zone { name: format!("z{k}"), available: vec![None, Some(*gpus)] };
    cluster.nodes[node].zones = gpus.iter().enumerate().map(zone).collect();
}

/// A gang without any group.
fn gang(name: &str) -> Gang {
    Gang { id: GangName { namespace: "ns".to_owned(), name: name.to_owned() }, ..Gang::default() }
}

/// A required level of the first topology.
#[expect(clippy::unnecessary_wraps, reason = "groups take an optional constraint")]
fn required(level: usize) -> Option<Constraint> {
    Some(Constraint { topology: 0, required: Some(level), preferred: None })
}

/// A preferred level of the first topology.
#[expect(clippy::unnecessary_wraps, reason = "groups take an optional constraint")]
fn preferred(level: usize) -> Option<Constraint> {
    Some(Constraint { topology: 0, required: None, preferred: Some(level) })
}

impl Gang {
    fn inner(mut self, parent: Option<GroupId>, min: usize, constraint: Option<Constraint>) -> Self {
        let name = format!("g{}", self.groups.len());
        self.groups.push(Group { name, parent, constraint, members: Members::Groups { min } });
        self
    }

    /// Adds a leaf whose pods each ask for so many CPUs and GPUs.
    fn leaf(
        mut self,
        parent: Option<GroupId>,
        min: usize,
        constraint: Option<Constraint>,
        asks: &[(usize, [i64; 2])],
    ) -> Self {
        let name = format!("g{}", self.groups.len());
        self.groups.push(Group { name, parent, constraint, members: Members::Pods { min } });
        let group = self.groups.len() - 1;
        for (count, ask) in asks {
            for _ in 0..*count {
                let name = format!("p{}", self.pods.len());
                self.pods.push(Pod { name, group, request: (*ask).into(), eligibility: 0, bound: None });
            }
        }
        self
    }

    fn bind(mut self, pod: usize, place: Place) -> Self {
        self.pods[pod].bound = Some(place);
        self
    }
}

fn at(node: u32) -> Place {
    Place { node, zone: None }
}

fn in_zone(node: u32, zone: u16) -> Place {
    Place { node, zone: Some(zone) }
}

fn placed(placed: &[(usize, Place)]) -> Decision {
    Decision { outcome: Outcome::Placed, placed: placed.to_vec(), reserved: Vec::new(), steps: 0 }
}

fn waits(proof: Claim) -> Decision {
    Decision { outcome: Outcome::CannotFit(proof), placed: Vec::new(), reserved: Vec::new(), steps: 0 }
}

fn plan(decisions: &[Decision]) -> Plan {
    Plan { decisions: decisions.to_vec() }
}

fn branch(index: u32, claim: Claim) -> Branch {
    Branch { domain: DomainId { topology: 0, index }, claim }
}

fn count(leaf: GroupId, fits: u64, need: u64) -> Claim {
    Claim::Count { leaf, fits, need }
}

/// Whether a proof about the only gang is accepted (`""`), or what is said against it.
#[track_caller]
fn check(cluster: &Cluster, gang: &Gang, proof: &Claim, expected: &str) {
    let gangs = std::slice::from_ref(gang);
    let said = super::check_proof(cluster, gangs, &plan(&[waits(proof.clone())]), 0, proof);
    verdict(&said.err().unwrap_or_default(), expected);
}

#[track_caller]
fn verdict(said: &str, expected: &str) {
    let right = if expected.is_empty() { said.is_empty() } else { said.contains(expected) };
    assert!(right, "said: {said:?}\nexpected: {expected:?}");
}
