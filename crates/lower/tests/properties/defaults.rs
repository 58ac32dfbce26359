//! Defaulting fills in what DECISIONS 13 and 41 say, once.

use crate::support::{Checked, admit, check};
use proptest::prelude::*;
use serde_json::Value;
use trellis_api::admission::default_pod_clique_set;
use trellis_api::admission::object::{Kind, decode};
use trellis_api::kinds::PodCliqueSet;
use trellis_api::settings::Settings;
use trellis_testkit::mutate::{Dice, mutate};
use trellis_testkit::sets::{Case, cases};

fn decoded(value: &Value) -> Option<PodCliqueSet> {
    decode(Kind::PodCliqueSet, value.clone()).object
}

/// Also where the set is refused afterwards, and against an old version of it.
#[test]
fn defaulting_twice_changes_nothing() {
    let property = |(case, other, seed, is_update): (Case, Case, u64, bool)| -> Checked {
        let mut value = case.set.clone();
        mutate(&mut value, &other.set, &mut Dice::new(seed));
        let settings = Settings::default();
        let Some(mut set) = decoded(&value) else { return Ok(()) };
        let mut old = decoded(&case.set).filter(|_| is_update);
        if let Some(old) = &mut old {
            default_pod_clique_set(old, None, &settings);
        }
        default_pod_clique_set(&mut set, old.as_ref(), &settings);
        let mut twice = set.clone();
        let warnings = default_pod_clique_set(&mut twice, old.as_ref(), &settings);
        prop_assert_eq!(&set, &twice);
        prop_assert!(warnings.is_empty() || old.is_some(), "{:?}", warnings);
        Ok(())
    };
    check(file!(), "twice", 1000, (cases(), cases(), any::<u64>(), any::<bool>()), property);
}

/// A stored set that is read again is the same set.
#[test]
fn defaulted_sets_survive_storage() {
    check(file!(), "storage", 500, cases(), |case| {
        let Some(admitted) = admit(&case) else { return Ok(()) };
        let stored = serde_json::to_value(&admitted.set).expect("sets are JSON");
        let again = admit(&Case { set: stored, topology: case.topology });
        prop_assert_eq!(again.map(|again| again.set), Some(admitted.set));
        Ok(())
    });
}

#[test]
fn what_is_left_out_is_filled_in() {
    check(file!(), "filled in", 500, cases(), |case| {
        let settings = Settings::default();
        let Some(mut set) = decoded(&case.set) else { return Ok(()) };
        default_pod_clique_set(&mut set, None, &settings);
        let spec = &case.set["spec"];
        let int = |value: &Value| value.as_i64().and_then(|n| i32::try_from(n).ok());
        prop_assert_eq!(set.spec.replicas, int(&spec["replicas"]).unwrap_or(1));
        for (i, clique) in set.spec.template.cliques.iter().enumerate() {
            let written = &spec["template"]["cliques"][i]["spec"];
            let replicas = int(&written["replicas"]).filter(|&n| n != 0).unwrap_or(1);
            prop_assert_eq!(clique.spec.replicas, Some(replicas));
            prop_assert_eq!(clique.spec.min_available, int(&written["minAvailable"]).or(Some(replicas)));
            let least = clique.spec.auto_scaling_config.as_ref().map(|scaling| scaling.min_replicas);
            let wanted = written.get("autoScalingConfig").map(|c| int(&c["minReplicas"]).or(Some(replicas)));
            prop_assert_eq!(least, wanted);
        }
        for (i, group) in set.spec.template.pod_clique_scaling_groups.iter().enumerate() {
            let written = &spec["template"]["podCliqueScalingGroups"][i];
            prop_assert_eq!(group.replicas, int(&written["replicas"]).or(Some(1)));
            prop_assert_eq!(group.min_available, int(&written["minAvailable"]).or(Some(1)));
        }
        Ok(())
    });
}
