//! Nothing that anybody can write makes reading, admission, conversion or lowering panic, and every fault has a path.

use crate::cases::{deployment, dice, seed, times};
use crate::support::{judge, view};
use serde_json::Value;
use std::panic::{AssertUnwindSafe, catch_unwind};
use trellis_api::admission::dynamo;
use trellis_api::dynamo::{Graph, convert};
use trellis_api::settings::Settings;
use trellis_lower::dynamo::{follow_structure, pod_clique_set};
use trellis_testkit::mutate::mutate;

/// With as many files of OSMO's it is a hundred thousand.
const SPOILT: u64 = 50_000;

/// The deployment of that number, and its old version if it is an update.
fn spoil(number: u64) -> (Value, Option<Value>) {
    let mut dice = dice(number);
    let mut value = deployment(&mut dice);
    let other = deployment(&mut dice);
    let old = (dice.below(4) == 0).then(|| value.clone());
    mutate(&mut value, &other, &mut dice);
    (value, old)
}

/// Everything that is done with a deployment; returns whether it could be read.
fn handle(value: &Value, old: Option<&Value>) -> bool {
    let (view, settings) = (view(), Settings::default());
    let verdict = judge(value, old, &view, &settings);
    for error in &verdict.errors {
        // The path of the object itself is empty, and so is that of a field whose name is.
        let is_nameless = !value.is_object() || value.get("").is_some();
        assert!(is_nameless || !error.field.is_empty(), "a fault without a path: {error}");
        assert!(!error.field.starts_with("spec.template"), "a path that the user did not write: {error}");
    }
    for version in ["nvidia.com/v1alpha1", "nvidia.com/v1beta1"] {
        if let Ok(converted) = convert(value, version) {
            let _ = convert(&converted, "nvidia.com/v1alpha1");
        }
    }
    let mut defaulted = value.clone();
    dynamo::default(&mut defaulted);
    let once = defaulted.clone();
    dynamo::default(&mut defaulted);
    assert_eq!(once, defaulted);
    let Some(graph) = Graph::read(value).object else { return false };
    let _ = follow_structure(&graph, &settings);
    let _ = pod_clique_set(&graph, &settings);
    true
}

#[test]
fn spoilt_deployments_panic_nowhere() {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let total = times(SPOILT);
    let part = |thread: usize| {
        move || {
            let mut read = 0_u64;
            for number in (0..total).skip(thread).step_by(threads) {
                let (value, old) = spoil(number);
                let handled = catch_unwind(AssertUnwindSafe(|| handle(&value, old.as_ref())));
                let could =
                    handled.unwrap_or_else(|_| panic!("TRELLIS_SEED={}, deployment {number}: {value:#}", seed()));
                read += u64::from(could);
            }
            read
        }
    };
    let read: u64 = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|thread| scope.spawn(part(thread))).collect();
        running.into_iter().map(|thread| thread.join().expect("no deployment panics")).sum()
    });
    println!("{read} of {total} could be read");
    assert!(read > total / 4, "only {read} of {total} could be read");
}
