//! What holds for every deployment that is admitted.

use crate::cases::{deployment, dice, seed, times};
use crate::support::{graph, judge, view};
use serde_json::Value;
use std::collections::BTreeSet;
use trellis_api::admission::object::{Kind, decode};
use trellis_api::admission::{Verdict, default_pod_clique_set, validate_pod_clique_set};
use trellis_api::dynamo::convert;
use trellis_api::kinds::PodCliqueSet;
use trellis_api::settings::Settings;
use trellis_lower::dynamo::pod_clique_set;
use trellis_lower::{LiveReplicas, Surroundings, lower};

const CASES: u64 = 3000;

/// Checks a property of many deployments; the number of a case and the seed make it again.
fn check(name: &str, property: impl Fn(&Value)) {
    for number in 0..times(CASES) {
        let value = deployment(&mut dice(number));
        let judged = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| property(&value)));
        if let Err(error) = judged {
            eprintln!("{name}, TRELLIS_SEED={}, case {number}: {value:#}", seed());
            std::panic::resume_unwind(error);
        }
    }
}

/// The set of every deployment that is admitted, as it would be stored.
fn check_admitted(name: &str, property: impl Fn(&Value, &PodCliqueSet)) {
    let (view, settings) = (view(), Settings::default());
    let admitted = std::cell::Cell::new(0_u64);
    check(name, |value| {
        if judge(value, None, &view, &settings).allowed() {
            admitted.set(admitted.get() + 1);
            let mut set = pod_clique_set(&graph(value), &settings);
            default_pod_clique_set(&mut set, None, &settings);
            property(value, &set);
        }
    });
    let total = times(CASES);
    assert!(admitted.get() > total / 6, "only {} of {total} were admitted", admitted.get());
}

#[test]
fn the_set_of_an_admitted_deployment_is_admitted() {
    let (view, settings) = (view(), Settings::default());
    check_admitted("admitted", |_, set| {
        let verdict = validate_pod_clique_set(set, None, &view, &settings);
        // The form as well, as an API server would hold it.
        let written = serde_json::to_value(set).expect("JSON");
        let verdict = decode::<PodCliqueSet>(Kind::PodCliqueSet, written).judged(verdict);
        assert_eq!(verdict.errors, Verdict::default().errors);
    });
}

#[test]
fn names_are_legal_and_unique() {
    let (view, settings) = (view(), Settings::default());
    let live = LiveReplicas::default();
    check_admitted("names", |_, set| {
        let lowered = lower(set, &Surroundings { topologies: &view.topologies, live: &live, settings: &settings });
        let is_label = |name: &str| {
            let edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
            name.len() <= 63
                && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
                && edge(name.bytes().next())
                && edge(name.bytes().last())
        };
        let mut pods = BTreeSet::new();
        for pod in &lowered.pods {
            assert!(is_label(pod.name()), "{}", pod.name());
            assert!(pods.insert(pod.name().to_owned()), "two pods are called {}", pod.name());
            let labels = pod.object().metadata.labels.unwrap_or_default();
            assert!(labels.values().all(|value| value.len() <= 63), "{labels:?}");
        }
        let cliques: BTreeSet<_> = lowered.pod_cliques.iter().map(|clique| clique.metadata.name.clone()).collect();
        assert_eq!(cliques.len(), lowered.pod_cliques.len());
        assert!(!pods.is_empty());
    });
}

#[test]
fn the_same_deployment_gives_the_same_bytes() {
    let settings = Settings::default();
    check("bytes", |value| {
        let bytes = || serde_json::to_string(&pod_clique_set(&graph(value), &settings)).expect("JSON");
        assert_eq!(bytes(), bytes());
    });
}

#[test]
fn conversion_and_back_is_nothing() {
    check("round trip", |value| {
        let other = match value["apiVersion"].as_str() {
            Some("nvidia.com/v1alpha1") => "nvidia.com/v1beta1",
            _ => "nvidia.com/v1alpha1",
        };
        let there = convert(value, other).expect("it converts");
        let here = value["apiVersion"].as_str().unwrap_or_default();
        let mut written = value.clone();
        let mut back = convert(&there, here).expect("it converts");
        // An empty map of annotations may go.
        for object in [&mut written, &mut back] {
            if object["metadata"]["annotations"].as_object().is_some_and(serde_json::Map::is_empty) {
                object["metadata"].as_object_mut().expect("metadata").remove("annotations");
            }
        }
        assert_eq!(back, written);
        // Both mean the same set, but for the order of what had none or lost it.
        let sets = [value, &there].map(|value| {
            let set = pod_clique_set(&graph(value), &Settings::default());
            // The main container of a service is its first.
            serde_json::to_value(set).map(sorted).expect("JSON")
        });
        assert_eq!(sets[0], sets[1]);
    });
}

/// Containers in the order of their names, cliques and groups in any order that is certain: of a deployment that is not admitted, two may
/// have one name.
fn sorted(mut set: Value) -> Value {
    for clique in set["spec"]["template"]["cliques"].as_array_mut().into_iter().flatten() {
        if let Some(containers) = clique["spec"]["podSpec"]["containers"].as_array_mut() {
            containers.sort_by_key(|container| container["name"].as_str().unwrap_or_default().to_owned());
        }
        // It is taken from the template as it is written, whose order differs.
        clique["labels"]["nvidia.com/dynamo-worker-hash"] = Value::Null;
        for container in clique["spec"]["podSpec"]["containers"].as_array_mut().into_iter().flatten() {
            for variable in container["env"].as_array_mut().into_iter().flatten() {
                if variable["name"] == "DYN_NAMESPACE_WORKER_SUFFIX" {
                    variable["value"] = Value::Null;
                }
            }
        }
    }
    for list in ["cliques", "podCliqueScalingGroups"] {
        if let Some(items) = set["spec"]["template"][list].as_array_mut() {
            items.sort_by_key(Value::to_string);
        }
    }
    set
}

/// An update that changes nothing but replicas is admitted, whatever the topology has come to.
#[test]
fn replicas_may_always_change() {
    let (view, settings) = (view(), Settings::default());
    let gone = trellis_api::admission::ClusterView::default();
    check("replicas", |value| {
        if !judge(value, None, &view, &settings).allowed() {
            return;
        }
        let mut new = value.clone();
        let spec = &mut new["spec"];
        let field = if spec.get("components").is_some() { "components" } else { "services" };
        let parts: Vec<&mut Value> = match &mut spec[field] {
            Value::Array(items) => items.iter_mut().collect(),
            Value::Object(services) => services.values_mut().collect(),
            _ => Vec::new(),
        };
        for part in parts {
            part["replicas"] = 7.into();
        }
        let verdict = judge(&new, Some(value), &gone, &settings);
        assert_eq!(verdict.errors, Verdict::default().errors);
    });
}
