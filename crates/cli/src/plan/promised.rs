//! What the scheduler of a running cluster has promised, as its ledgers say: places of members that are being bound, and places that are
//! held for those that come back or while others make room. A plan that looked past it would give room away twice.

use std::collections::HashMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use trellis_api::names::annotation;
use trellis_engine::{Cluster, Gang, Hold, Members, Place};
use trellis_lower::problem::{Assumed, Problem};
use trellis_scheduler::ledger::{Entry, Ledger, Request, Spot};

use super::gather::Gathered;

/// The ledgers of a cluster's gangs, by namespace and name.
#[derive(Debug, Default)]
pub struct Promises(HashMap<(String, String), Ledger>);

impl Promises {
    /// What stands on the gangs.
    pub fn read(gathered: &Gathered) -> Self {
        let gangs = gathered.pod_gangs.objects.iter().map(|gang| &gang.metadata);
        let groups = gathered.pod_groups.objects.iter().map(|group| &group.metadata);
        Self(gangs.chain(groups).filter_map(ledger).collect())
    }

    /// Members that were given a place and are not bound yet.
    pub fn assumed<'a>(&'a self, gathered: &'a Gathered) -> HashMap<(&'a str, &'a str), Assumed<'a>> {
        let mut assumed = HashMap::new();
        for ((namespace, _), ledger) in &self.0 {
            for Entry { spot: Spot { node, zone }, pod, uid, .. } in &ledger.members {
                let found = gathered.pods.find(namespace, pod).filter(|pod| is(pod, uid) && waits(pod));
                if found.is_some() && gathered.has_node(node) {
                    assumed.insert((namespace.as_str(), pod.as_str()), Assumed { node, zone: zone.as_deref() });
                }
            }
        }
        assumed
    }

    /// Holds what is held at this time.
    pub fn hold(&self, problem: &mut Problem, gathered: &Gathered, now: Timestamp) {
        for gang in &mut problem.gangs {
            let name = (gang.id.namespace.clone(), gang.id.name.clone());
            let Some(ledger) = self.0.get(&name) else { continue };
            if ledger.is_undone || ledger.preempted_by.is_some() {
                continue;
            }
            let is_gone =
                |entry: &&Entry| gathered.pods.find(&name.0, &entry.pod).is_none_or(|pod| !is(pod, &entry.uid));
            let held = ledger.held.iter().filter(|held| held.until > now).map(|held| &held.was);
            let kept = held.chain(ledger.members.iter().filter(is_gone));
            let kept = kept.map(|entry| (&entry.group, &entry.spot, &entry.request));
            let nominated = ledger.nominated.iter().filter(|nomination| nomination.until > now);
            let nominated = nominated.flat_map(|nomination| &nomination.places);
            let all = kept.chain(nominated.map(|place| (&place.group, &place.spot, &place.request)));
            let holds: Vec<Hold> = all.filter_map(|it| hold(gang, &problem.cluster, it)).collect();
            gang.holds.extend(holds);
            gang.holds.sort_unstable();
        }
    }
}

fn ledger(metadata: &ObjectMeta) -> Option<((String, String), Ledger)> {
    let ledger = Ledger::read(metadata.annotations.as_ref()?.get(annotation::PLACEMENT)?)?;
    Some(((metadata.namespace.clone()?, metadata.name.clone()?), ledger))
}

/// Whether a pod is the one of this uid, of which ledgers keep the beginning.
fn is(pod: &Pod, uid: &str) -> bool {
    pod.metadata.uid.as_deref().is_some_and(|whole| whole.starts_with(uid))
}

fn waits(pod: &Pod) -> bool {
    pod.spec.as_ref().is_none_or(|spec| spec.node_name.is_none()) && pod.metadata.deletion_timestamp.is_none()
}

fn hold(gang: &Gang, cluster: &Cluster, (group, spot, request): (&String, &Spot, &Request)) -> Option<Hold> {
    let is_leaf = |members: &Members| matches!(members, Members::Pods { .. });
    let group = gang.groups.iter().position(|known| known.name == *group && is_leaf(&known.members))?;
    let node = cluster.nodes.iter().position(|node| node.name == spot.node)?;
    let zone = spot.zone.as_ref().and_then(|zone| cluster.nodes[node].zones.iter().position(|it| it.name == *zone));
    let place = Place { node: node.try_into().ok()?, zone: zone.and_then(|zone| zone.try_into().ok()) };
    let request = cluster.resources.iter().map(|name| request.get(name).copied().unwrap_or(0)).collect();
    Some(Hold { group, place, request })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use trellis_engine::{GangName, Group, Node};
    use trellis_scheduler::ledger::{Held, Nominated, Nomination};

    const GPU: &str = "nvidia.com/gpu";

    /// How much is held on node `n` for gang `g` at second 100, by this ledger.
    fn check(ledger: Ledger, expected: &[i64]) {
        let node = Node { name: "n".to_owned(), allocatable: vec![8], ..Node::default() };
        let cluster = Cluster { resources: vec![GPU.to_owned()], nodes: vec![node], ..Cluster::default() };
        let id = GangName { namespace: "ns".to_owned(), name: "g".to_owned() };
        let leaf = Group { name: "w".to_owned(), members: Members::Pods { min: 1 }, ..Group::default() };
        let gang = Gang { id, groups: vec![leaf], ..Gang::default() };
        let mut problem = Problem { cluster, gangs: vec![gang], ..Problem::default() };
        let promises = Promises([(("ns".to_owned(), "g".to_owned()), ledger)].into());
        let now = Timestamp::from_second(100).expect("a time");
        promises.hold(&mut problem, &Gathered::default(), now);
        let held: Vec<i64> = problem.gangs[0].holds.iter().map(|hold| hold.request[0]).collect();
        assert_eq!(held, expected);
    }

    #[test]
    fn what_is_held_is_held_as_long_as_it_is() {
        let at = |second| Timestamp::from_second(second).expect("a time");
        let request = |gpus| Arc::new([(GPU.to_owned(), gpus)].into());
        let spot = |node: &str| Spot { node: node.to_owned(), zone: None };
        let entry = |gpus, node| Entry {
            group: "w".to_owned(),
            request: request(gpus),
            spot: spot(node),
            pod: "p".to_owned(),
            uid: "u".to_owned(),
        };
        let held = |until, gpus, node| Held { until: at(until), was: entry(gpus, node) };
        check(Ledger::default(), &[]);
        check(Ledger { held: vec![held(101, 2, "n"), held(100, 4, "n")], ..Ledger::default() }, &[2]);
        check(Ledger { held: vec![held(101, 2, "gone")], ..Ledger::default() }, &[]);
        check(Ledger { members: vec![entry(3, "n")], ..Ledger::default() }, &[3]);
        let place = Nominated { group: "w".to_owned(), request: request(8), spot: spot("n") };
        let nominated = Some(Nomination { until: at(101), places: vec![place], victims: Vec::new() });
        check(Ledger { nominated: nominated.clone(), ..Ledger::default() }, &[8]);
        check(Ledger { nominated, preempted_by: Some("ns/other".to_owned()), ..Ledger::default() }, &[]);
    }
}
