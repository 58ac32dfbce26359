//! What the operator makes of a set is a problem: every pod is a member of its gang, and nothing is left out.

use crate::support::posed;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use trellis_api::admission::object::{Kind, decode};
use trellis_api::admission::{ClusterView, default_pod_clique_set, validate_pod_clique_set};
use trellis_api::kinds::{ClusterTopology, PodCliqueSet};
use trellis_api::names::GANG_GATE;
use trellis_api::settings::Settings;
use trellis_engine::{Members, Unready};
use trellis_lower::{LiveReplicas, Lowered, Surroundings, lower};
use trellis_testkit::sets::{Case, cases};

const CASES: usize = 300;

/// What follows from a set, if it is admitted, and its topology.
fn lowered(case: &Case) -> Option<Lowered> {
    let topology = decode::<ClusterTopology>(Kind::ClusterTopology, case.topology.clone()).object?;
    let topologies = BTreeMap::from([(topology.metadata.name.clone()?, topology)]);
    let settings = Settings::default();
    let mut set = decode::<PodCliqueSet>(Kind::PodCliqueSet, case.set.clone()).object?;
    set.metadata.name.as_ref()?;
    default_pod_clique_set(&mut set, None, &settings);
    let view = ClusterView { topologies: topologies.clone(), ..ClusterView::default() };
    let admitted = validate_pod_clique_set(&set, None, &view, &settings).allowed();
    let live = LiveReplicas::default();
    admitted.then(|| lower(&set, &Surroundings { topologies: &topologies, live: &live, settings: &settings }))
}

fn value(object: &impl serde::Serialize, kind: &str) -> Value {
    let mut value = serde_json::to_value(object).expect("objects are JSON");
    value["kind"] = kind.into();
    value
}

fn name(value: &Value) -> Option<&str> {
    value["metadata"]["name"].as_str()
}

/// Whether a user's own gate holds a pod.
fn is_gated(pod: &Value) -> bool {
    let gates = pod["spec"]["schedulingGates"].as_array();
    gates.into_iter().flatten().any(|gate| gate["name"] != GANG_GATE)
}

#[test]
fn every_pod_of_a_set_is_a_member_of_its_gang() {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let (strategy, mut posed_count) = (cases(), 0);
    for _ in 0..CASES {
        let case = strategy.new_tree(&mut runner).expect("no case is rejected").current();
        let Some(lowered) = lowered(&case).filter(|lowered| lowered.pods.len() <= 200) else { continue };
        let mut values = vec![value(&case.topology, "ClusterTopology")];
        values.extend(lowered.gangs.iter().map(|gang| value(gang, "PodGang")));
        values.extend(lowered.pods.iter().map(|pod| value(pod, "Pod")));
        // They stand for the gangs, and change nothing.
        values.extend(lowered.kai_pod_groups.iter().map(|group| value(group, "PodGroup")));
        let gated: BTreeSet<&str> = values.iter().filter(|value| is_gated(value)).filter_map(name).collect();
        let problem = posed(&values);
        assert_eq!(problem.gangs.len(), lowered.gangs.len());
        for gang in &problem.gangs {
            let made = lowered.gangs.iter().find(|made| made.metadata.name.as_ref() == Some(&gang.id.name));
            let spec = &made.expect("gangs keep their names").spec;
            let leaves = gang.groups.iter().enumerate().filter_map(|(id, group)| match group.members {
                Members::Pods { min } => Some((group.name.as_str(), min, gang.pods_of(id).count())),
                Members::Groups { .. } => None,
            });
            let minimum = |n: i32| usize::try_from(n).expect("not negative");
            let expected = spec.pod_groups.iter();
            let expected = expected.map(|g| {
                let there = g.pod_references.iter().filter(|pod| !gated.contains(pod.name.as_str())).count();
                (g.name.as_str(), minimum(g.min_replicas), there)
            });
            assert_eq!(leaves.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
            assert!(matches!(gang.unready, None | Some(Unready::Unsupported { .. })), "{:?}", gang.unready);
        }
        let expected = |warning: &&String| {
            let mut known = ["PriorityClass", "queues"].into_iter();
            known.any(|word| warning.starts_with(word)) || !gated.is_empty() && warning.contains("is held by")
        };
        assert_eq!(problem.warnings.iter().find(|warning| !expected(warning)), None);
        posed_count += 1;
    }
    assert!(posed_count > CASES / 4, "{posed_count} of {CASES}");
}
