//! Names and labels of all objects are legal, and no two objects of a kind share a name.

use crate::legal::{self, dns_label, dns_subdomain, label_key, label_value, path_segment};
use crate::support::{Admitted, Checked, admit, check, label, objects};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use trellis_api::kinds::{ResourceSharing, SharingScope};
use trellis_testkit::sets::{cases, sharing_cases};

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

#[test]
fn names_are_legal_and_unique() {
    check(file!(), "names", 1000, cases(), |case| {
        let Some(admitted) = admit(&case) else { return Ok(()) };
        let lowered = admitted.lower();
        for (kind, objects) in objects(&lowered) {
            let mut seen = BTreeSet::new();
            for object in &objects {
                prop_assert!(seen.insert(name(object)), "two of kind {kind} are called {:?}", name(object));
                prop_assert_eq!(object["metadata"]["namespace"].as_str(), Some(admitted.namespace()));
                legal_name(kind, name(object), &admitted)?;
                legal_metadata(kind, object)?;
                if kind == "Pod" {
                    legal_pod(object)?;
                }
            }
        }
        Ok(())
    });
}

fn legal_name(kind: &str, name: &str, admitted: &Admitted) -> Checked {
    let legal = match kind {
        "Service" => {
            let warned = || admitted.warnings.iter().any(|warning| warning.starts_with("metadata.name"));
            legal::service(name) || dns_label(name) && warned()
        }
        "Pod" => dns_label(name),
        "Role" | "RoleBinding" => path_segment(name),
        _ => dns_subdomain(name),
    };
    prop_assert!(legal, "no {kind} can be called {name:?} ({} characters)", name.len());
    Ok(())
}

fn legal_metadata(kind: &str, object: &Value) -> Checked {
    for (key, value) in object["metadata"]["labels"].as_object().into_iter().flatten() {
        let text = value.as_str().unwrap_or_default();
        prop_assert!(label_key(key) && label_value(text), "label {key}={text:?} of {kind} {}", name(object));
    }
    for key in object["metadata"]["annotations"].as_object().into_iter().flatten().map(|(key, _)| key) {
        prop_assert!(label_key(&key.to_lowercase()), "annotation {key} of {kind} {}", name(object));
    }
    Ok(())
}

/// The name by index, the live name with its five characters, and the host name.
fn legal_pod(pod: &Value) -> Checked {
    let clique = label(pod, "grove.io/podclique").unwrap_or_default();
    let index = label(pod, "grove.io/podclique-pod-index").unwrap_or_default();
    prop_assert_eq!(name(pod), format!("{clique}-{index}"));
    prop_assert_eq!(pod["spec"]["hostname"].as_str(), Some(name(pod)));
    let live = format!("{clique}-zzzzz");
    prop_assert!(dns_label(&live), "{live:?} has {} characters", live.len());
    let subdomain = pod["spec"]["subdomain"].as_str().unwrap_or_default();
    prop_assert!(dns_label(subdomain), "{subdomain:?}");
    Ok(())
}

/// Within a gang, pod groups and group configs are told apart by name; in KAI's form they stand in one list.
#[test]
fn groups_of_a_gang_have_names_of_their_own() {
    check(file!(), "groups", 500, cases(), |case| {
        let Some(admitted) = admit(&case) else { return Ok(()) };
        for gang in admitted.lower().gangs {
            let groups = gang.spec.pod_groups.iter().map(|group| &group.name);
            let configs = gang.spec.topology_constraint_group_configs.iter().map(|config| &config.name);
            let names: Vec<&String> = groups.chain(configs).collect();
            let distinct: BTreeSet<&String> = names.iter().copied().collect();
            prop_assert_eq!(names.len(), distinct.len(), "{:?}", names);
        }
        Ok(())
    });
}

/// Claims are found by name as well: one name must stand for one template, one owner and one replica.
#[test]
fn a_claim_is_not_taken_for_another() {
    check(file!(), "claims", 1000, sharing_cases(), |case| {
        let Some(admitted) = admit(&case) else { return Ok(()) };
        let mut owners: BTreeMap<String, String> = BTreeMap::new();
        for (name, owner) in claims(&admitted) {
            if let Some(other) = owners.insert(name.clone(), owner.clone()) {
                prop_assert_eq!(other, owner, "both are called {:?}", name);
            }
        }
        let made: BTreeSet<String> = admitted.lower().claims.into_iter().filter_map(|c| c.metadata.name).collect();
        for name in owners.keys() {
            prop_assert!(made.contains(name), "{name:?} is missing");
        }
        Ok(())
    });
}

/// Names of all claims, with what each one is for. Filters only make it fewer, and are passed over.
fn claims(admitted: &Admitted) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut add = |level: &str, owner: &str, index: usize, entries: &[ResourceSharing]| {
        for entry in entries.iter().filter(|entry| entry.filter.is_none()) {
            let index = match entry.scope {
                SharingScope::AllReplicas => "all".to_owned(),
                SharingScope::PerReplica => index.to_string(),
            };
            let what = format!("{level} {owner}, replica {index}, template {}", entry.name);
            found.push((format!("{owner}-{index}-{}", entry.name), what));
        }
    };
    let template = &admitted.set.spec.template;
    for clique in crate::expected::by_template(&admitted.set) {
        add("set", admitted.name(), clique.set_index, &template.resource_sharing);
        if let Some((scaling_group, group, j)) = &clique.group {
            let group = template.pod_clique_scaling_groups.iter().find(|g| g.name == *group).expect("in the template");
            add("group", scaling_group, *j, &group.resource_sharing);
        }
        let own = template.cliques.iter().find(|c| c.name == clique.clique).expect("in the template");
        for k in 0..clique.pods {
            add("clique", &clique.name, k, &own.resource_sharing);
        }
    }
    found
}
