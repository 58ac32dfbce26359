//! Nothing that anybody can write makes admission or lowering panic.

use crate::support::{seed, times};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};
use trellis_api::admission::object::{Kind, decode};
use trellis_api::admission::{
    ClusterView, Verdict, default_cluster_topology, default_pod_clique_set, validate_cluster_topology,
    validate_operator_configuration, validate_pod_clique_set,
};
use trellis_api::kinds::config::OperatorConfiguration;
use trellis_api::kinds::{ClusterTopology, PodCliqueSet};
use trellis_api::settings::Settings;
use trellis_lower::{LiveReplicas, Surroundings, lower};
use trellis_testkit::mutate::{Dice, mutate};
use trellis_testkit::sets::{Case, cases};

const MUTATED: u32 = 100_000;
/// Objects to spoil, each of which is used many times. They are small: a fault needs few objects around it, and many
/// small ones are spoilt in more ways than few large ones.
const POOL: usize = 300;
const SMALL: i64 = 25;
/// Spoilt sets may have become large. What follows from larger ones is more than anything admits.
const MOST_OBJECTS: i64 = 100_000;

/// Something to spoil, and what it stands in once it is spoilt.
struct Original {
    case: Case,
    old: Option<PodCliqueSet>,
    view: ClusterView,
}

fn pool() -> Vec<Original> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed().to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let strategy = cases();
    let mut make = || {
        let case = strategy.new_tree(&mut runner).expect("no case is rejected").current();
        let old = decode::<PodCliqueSet>(Kind::PodCliqueSet, case.set.clone()).object;
        let topologies = crate::support::topologies(&case.topology);
        let view = ClusterView { topologies, sets: old.iter().cloned().collect(), ..ClusterView::default() };
        Original { case, old, view }
    };
    let small = |original: &Original| original.old.as_ref().is_none_or(|set| objects(set) <= SMALL);
    std::iter::repeat_with(&mut make).filter(small).take(POOL).collect()
}

/// An object that was spoilt. It can be made again from the seed and its number.
struct Spoilt<'a> {
    from: &'a Original,
    value: Value,
    what: usize,
    kind: Kind,
    settings: Settings,
    is_update: bool,
}

fn spoil(pool: &[Original], number: u32) -> Spoilt<'_> {
    let mut dice = Dice::new(seed().wrapping_mul(0x0010_0000_01b3).wrapping_add(number.into()));
    let (from, other) = (&pool[dice.below(pool.len())], &pool[dice.below(pool.len())]);
    let what = dice.below(20);
    let mut value = match what {
        0 => from.case.topology.clone(),
        1 => configuration(&from.case.topology),
        _ => from.case.set.clone(),
    };
    mutate(&mut value, &other.case.set, &mut dice);
    let settings = Settings { topology_enabled: dice.below(8) > 0, ..Settings::default() };
    let kind = Kind::ALL[dice.below(Kind::ALL.len())];
    Spoilt { from, value, what, kind, settings, is_update: dice.below(4) == 0 }
}

#[test]
fn spoilt_objects_panic_nowhere() {
    let pool = pool();
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let total = times(MUTATED);
    let part = |thread: usize| {
        let pool = &pool;
        move || {
            let mut lowered = 0;
            for number in (0..total).skip(thread).step_by(threads) {
                let judged = catch_unwind(AssertUnwindSafe(|| judge(spoil(pool, number))));
                lowered += judged.unwrap_or_else(|_| {
                    panic!("TRELLIS_SEED={}, object {number}: {:#}", seed(), spoil(pool, number).value)
                });
            }
            lowered
        }
    };
    let lowered: u32 = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|thread| scope.spawn(part(thread))).collect();
        running.into_iter().map(|thread| thread.join().expect("no object panics")).sum()
    });
    println!("{lowered} of {total} could be lowered");
    assert!(lowered > total / 4, "only {lowered} of {total} could be lowered");
}

/// Judges a spoilt object, and says how many sets could be lowered: none or one.
fn judge(spoilt: Spoilt<'_>) -> u32 {
    match spoilt.what {
        0 => judge_topology(spoilt.value, &spoilt.settings),
        1 => judge_configuration(spoilt.value),
        // A set that says it is something else.
        2 => drop(decode::<Value>(spoilt.kind, spoilt.value).judged(Verdict::default())),
        _ => return judge_set(spoilt),
    }
    0
}

fn judge_set(spoilt: Spoilt<'_>) -> u32 {
    let Spoilt { from, value, settings, is_update, .. } = spoilt;
    let decoded = decode::<PodCliqueSet>(Kind::PodCliqueSet, value);
    let Some(mut set) = decoded.object.clone() else { return 0 };
    let old = from.old.as_ref().filter(|_| is_update);
    default_pod_clique_set(&mut set, old, &settings);
    let _ = decoded.judged(validate_pod_clique_set(&set, old, &from.view, &settings));
    if objects(&set) > MOST_OBJECTS {
        return 0;
    }
    let live = LiveReplicas::default();
    lower(&set, &Surroundings { topologies: &from.view.topologies, live: &live, settings: &settings });
    1
}

/// No fewer than the objects that follow from a set. A set without a single pod has Services all the same.
fn objects(set: &PodCliqueSet) -> i64 {
    let template = &set.spec.template;
    let count = |n: Option<i32>| i64::from(n.unwrap_or(1)).max(1);
    let cliques: i64 = template.cliques.iter().map(|clique| count(clique.spec.replicas).saturating_add(1)).sum();
    let groups = template.pod_clique_scaling_groups.iter();
    let groups: i64 = groups.map(|group| count(group.replicas)).fold(1, i64::saturating_add);
    count(Some(set.spec.replicas)).saturating_mul(cliques.saturating_mul(groups).saturating_add(groups))
}

fn judge_topology(value: Value, settings: &Settings) {
    let decoded = decode::<ClusterTopology>(Kind::ClusterTopology, value);
    let Some(mut topology) = decoded.object.clone() else { return };
    default_cluster_topology(&mut topology);
    let view = ClusterView::default();
    let _ = decoded.judged(validate_cluster_topology(&topology, None, false, &view, settings));
    let _ = trellis_lower::kai::topology(&topology);
}

fn configuration(topology: &Value) -> Value {
    json!({
        "apiVersion": "operator.config.grove.io/v1alpha1",
        "kind": "OperatorConfiguration",
        "leaderElection": { "enabled": true, "leaseDuration": "15s", "renewDeadline": "10s" },
        "controllers": { "podCliqueSet": { "concurrentSyncs": 3 } },
        "topologyAwareScheduling": { "enabled": true, "levels": topology["spec"]["levels"] },
        "scheduler": { "profiles": [{ "name": "kai-scheduler", "default": true, "config": {} }] },
    })
}

fn judge_configuration(value: Value) {
    let decoded = decode::<OperatorConfiguration>(Kind::OperatorConfiguration, value);
    let Some(config) = decoded.object.clone() else { return };
    let _ = decoded.judged(validate_operator_configuration(&config));
    let _ = Settings::of(&config).default_topology();
}
