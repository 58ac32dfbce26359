//! The runner, and the way of a set from JSON to its objects.

use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Debug;
use trellis_api::admission::object::{Kind, decode};
use trellis_api::admission::{
    ClusterView, default_cluster_topology, default_pod_clique_set, validate_cluster_topology, validate_pod_clique_set,
};
use trellis_api::kinds::{ClusterTopology, PodCliqueSet};
use trellis_api::settings::Settings;
use trellis_lower::{LiveReplicas, Lowered, Surroundings, lower};
use trellis_testkit::mutate::Dice;
use trellis_testkit::sets::Case;

pub type Checked = Result<(), TestCaseError>;

/// Used where `TRELLIS_SEED` names no other.
const SEED: u64 = 20_251_115;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} must be a number, and is {text:?}")))
}

pub fn seed() -> u64 {
    number("TRELLIS_SEED").unwrap_or(SEED)
}

/// A number of cases, times what `TRELLIS_CASES` asks for.
pub fn times(cases: u32) -> u32 {
    cases * u32::try_from(number("TRELLIS_CASES").unwrap_or(1)).expect("TRELLIS_CASES is a small factor")
}

/// Checks a property of many cases. `file` is the source file, beside which failing seeds are kept.
pub fn check<T: Debug>(
    file: &'static str,
    name: &str,
    cases: u32,
    strategy: impl Strategy<Value = T>,
    property: impl Fn(T) -> Checked,
) {
    let seed = seed();
    // Each property has cases of its own.
    let mut dice = Dice::new(name.bytes().fold(seed, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into())));
    let bytes: Vec<u8> = (0..32).map(|_| u8::try_from(dice.below(256)).unwrap_or_default()).collect();
    let config = Config {
        cases: times(cases),
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("proptest-regressions"))),
        source_file: Some(file),
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    if let Err(error) = runner.run(&strategy, property) {
        panic!("{name}, TRELLIS_SEED={seed}: {error}");
    }
}

/// A set that passed admission, with what it was admitted by.
#[derive(Clone, Debug)]
pub struct Admitted {
    pub set: PodCliqueSet,
    pub topologies: BTreeMap<String, ClusterTopology>,
    pub settings: Settings,
    pub warnings: Vec<String>,
}

pub fn topologies(topology: &Value) -> BTreeMap<String, ClusterTopology> {
    let decoded = decode::<ClusterTopology>(Kind::ClusterTopology, topology.clone());
    let mut object = decoded.object.clone().expect("generated topologies have the right form");
    default_cluster_topology(&mut object);
    let (view, settings) = (ClusterView::default(), Settings::default());
    let verdict = decoded.judged(validate_cluster_topology(&object, None, false, &view, &settings));
    assert!(verdict.allowed(), "{:?}", verdict.errors);
    BTreeMap::from([(object.metadata.name.clone().unwrap_or_default(), object)])
}

/// The set as it is stored, if it is admitted.
pub fn admit(case: &Case) -> Option<Admitted> {
    let (topologies, settings) = (topologies(&case.topology), Settings::default());
    let decoded = decode::<PodCliqueSet>(Kind::PodCliqueSet, case.set.clone());
    let mut set = decoded.object.clone()?;
    default_pod_clique_set(&mut set, None, &settings);
    let view = ClusterView { topologies: topologies.clone(), ..ClusterView::default() };
    let verdict = decoded.judged(validate_pod_clique_set(&set, None, &view, &settings));
    if set.metadata.name.is_none() {
        // As the API server does between admission and storage.
        set.metadata.name = set.metadata.generate_name.as_ref().map(|prefix| format!("{prefix}x7k2p"));
    }
    verdict.allowed().then_some(Admitted { set, topologies, settings, warnings: verdict.warnings })
}

impl Admitted {
    pub fn lower(&self) -> Lowered {
        self.lower_with(&LiveReplicas::default())
    }

    pub fn lower_with(&self, live: &LiveReplicas) -> Lowered {
        lower(&self.set, &Surroundings { topologies: &self.topologies, live, settings: &self.settings })
    }

    pub fn name(&self) -> &str {
        self.set.metadata.name.as_deref().unwrap_or_default()
    }

    pub fn namespace(&self) -> &str {
        self.set.metadata.namespace.as_deref().unwrap_or_default()
    }
}

/// Every object of a set, by kind.
pub fn objects(lowered: &Lowered) -> BTreeMap<&'static str, Vec<Value>> {
    fn list<T: serde::Serialize>(items: &[T]) -> Vec<Value> {
        items.iter().map(|item| serde_json::to_value(item).expect("objects are JSON")).collect()
    }
    BTreeMap::from([
        ("ServiceAccount", list(lowered.service_account.as_slice())),
        ("Role", list(lowered.role.as_slice())),
        ("RoleBinding", list(lowered.role_binding.as_slice())),
        ("Service", list(&lowered.services)),
        ("HorizontalPodAutoscaler", list(&lowered.autoscalers)),
        ("ResourceClaim", list(&lowered.claims)),
        ("PodClique", list(&lowered.pod_cliques)),
        ("PodCliqueScalingGroup", list(&lowered.scaling_groups)),
        ("PodGang", list(&lowered.gangs)),
        ("Pod", list(&lowered.pods)),
        ("KaiPodGroup", list(&lowered.kai_pod_groups)),
    ])
}

/// Everything that lowering says, as text.
pub fn text(lowered: &Lowered) -> String {
    json!({ "objects": objects(lowered), "drift": format!("{:?}", lowered.drift) }).to_string()
}

/// The value of a label.
pub fn label<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object["metadata"]["labels"].get(key).and_then(Value::as_str)
}
