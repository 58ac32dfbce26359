//! Pods are replaced when the user asks for other pods, and only then.

use crate::determinism::shuffled;
use crate::support::{Checked, check};
use proptest::prelude::*;
use serde_json::{Value, json};
use trellis_api::admission::default_pod_clique_set;
use trellis_api::kinds::PodCliqueSet;
use trellis_api::settings::Settings;
use trellis_lower::{generation_hash, pod_template_hash};
use trellis_testkit::mutate::{Dice, mutate};
use trellis_testkit::sets::{Case, cases};

/// As read from the API server: without our decoding, which already fills in some defaults.
fn read(value: &Value) -> Option<PodCliqueSet> {
    serde_json::from_value(value.clone()).ok()
}

fn hashes(set: &PodCliqueSet) -> Vec<String> {
    let cliques = set.spec.template.cliques.iter();
    cliques.map(|clique| pod_template_hash(set, clique)).chain([generation_hash(set)]).collect()
}

#[test]
fn defaulting_leaves_hashes_alone() {
    check(file!(), "defaulting", 800, cases(), |case| {
        let Some(mut set) = read(&case.set) else { return Ok(()) };
        let before = hashes(&set);
        default_pod_clique_set(&mut set, None, &Settings::default());
        prop_assert_eq!(before, hashes(&set));
        Ok(())
    });
}

#[test]
fn the_order_of_keys_leaves_hashes_alone() {
    let property = |(case, seed): (Case, u64)| -> Checked {
        let other: Value = serde_json::from_str(&shuffled(&case.set, &mut Dice::new(seed))).expect("JSON");
        prop_assert_eq!(read(&case.set).as_ref().map(hashes), read(&other).as_ref().map(hashes));
        Ok(())
    };
    check(file!(), "key order", 400, (cases(), any::<u64>()), property);
}

/// What a pod spec comes to: nulls are left out, and so is what defaulting would add.
fn meaning(pod: &Value) -> Value {
    let mut pod = without_nulls(pod);
    if let Some(fields) = pod.as_object_mut() {
        fields.retain(|key, value| match key.as_str() {
            "restartPolicy" => value != "Always" && value != "",
            "terminationGracePeriodSeconds" => value != 30,
            _ => true,
        });
    }
    pod
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            fields.map(|(key, value)| (key.clone(), without_nulls(value))).collect()
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        scalar => scalar.clone(),
    }
}

#[test]
fn a_change_of_the_pods_changes_the_hash() {
    let property = |(case, other, seed): (Case, Case, u64)| -> Checked {
        let mut dice = Dice::new(seed);
        let mut changed = case.set.clone();
        let cliques = changed["spec"]["template"]["cliques"].as_array().map_or(0, Vec::len);
        let which = dice.below(cliques);
        let pod = &mut changed["spec"]["template"]["cliques"][which]["spec"]["podSpec"];
        let before = meaning(pod);
        mutate(pod, &other.set["spec"]["template"]["cliques"][0]["spec"]["podSpec"], &mut dice);
        let same = before == meaning(pod);
        let (Some(set), Some(changed)) = (read(&case.set), read(&changed)) else { return Ok(()) };
        let (before, after) = (hashes(&set), hashes(&changed));
        for (i, (before, after)) in before.iter().zip(&after).enumerate() {
            // The last one is the hash of all.
            let touched = i == which || i == cliques;
            prop_assert_eq!(before == after, same || !touched, "hash {} of {}", i, cliques);
        }
        Ok(())
    };
    check(file!(), "changes", 1500, (cases(), cases(), any::<u64>()), property);
}

#[test]
fn labels_and_priority_belong_to_the_pods_and_counts_do_not() {
    check(file!(), "fields", 300, (cases(), 0..7_usize), |(case, which)| {
        let mut changed = case.set.clone();
        let template = &mut changed["spec"]["template"];
        let clique = &mut template["cliques"][0];
        match which {
            0 => clique["labels"]["new"] = "label".into(),
            1 => clique["annotations"]["new"] = "annotation".into(),
            2 => template["priorityClassName"] = "another".into(),
            3 => clique["spec"]["replicas"] = 17.into(),
            4 => clique["topologyConstraint"] = json!({ "packDomain": "zone" }),
            5 => clique["spec"]["startsAfter"] = json!(["another"]),
            _ => changed["spec"]["replicas"] = 17.into(),
        }
        let (Some(set), Some(changed)) = (read(&case.set), read(&changed)) else { return Ok(()) };
        prop_assert_eq!(hashes(&set)[0] == hashes(&changed)[0], which > 2);
        prop_assert_eq!(generation_hash(&set) == generation_hash(&changed), which > 2);
        Ok(())
    });
}
