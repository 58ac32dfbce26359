//! Base and scaled gangs share the pods out among them, and the labels say the same.

use crate::expected::{Expected, by_template, expected};
use crate::support::{Admitted, Checked, admit, check, label, objects};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use trellis_api::kinds::{NamespacedName, PodGang};
use trellis_lower::{LiveReplicas, Lowered};
use trellis_testkit::mutate::Dice;
use trellis_testkit::sets::{Case, cases};

#[test]
fn gangs_share_the_pods_out() {
    check(file!(), "partition", 800, cases(), |case| {
        let Some(admitted) = admit(&case) else { return Ok(()) };
        shared_out(&admitted, &admitted.lower(), &by_template(&admitted.set))
    });
}

/// Where an autoscaler has been at work, its counts are in force, and nowhere else.
#[test]
fn gangs_share_the_pods_out_at_live_counts() {
    let property = |(case, seed): (Case, u64)| -> Checked {
        let Some(admitted) = admit(&case) else { return Ok(()) };
        let template = &admitted.set.spec.template;
        let mut dice = Dice::new(seed);
        let (mut cliques, mut groups) = (admitted.lower().pod_cliques, admitted.lower().scaling_groups);
        let mut more = |n: i32| n + i32::try_from(dice.below(3)).unwrap_or_default();
        let mut in_force: BTreeMap<(bool, String), usize> = BTreeMap::new();
        let mut enforce = |is_clique, name: Option<&String>, n: i32| {
            in_force.insert((is_clique, name.cloned().unwrap_or_default()), usize::try_from(n).unwrap_or_default());
        };
        for clique in &mut cliques {
            let replicas = more(clique.spec.replicas.unwrap_or(1));
            clique.spec.replicas = Some(replicas);
            if clique.spec.auto_scaling_config.is_some() {
                enforce(true, clique.metadata.name.as_ref(), replicas);
            }
        }
        for group in &mut groups {
            group.spec.replicas = more(group.spec.replicas);
            let own = group.metadata.labels.as_ref().and_then(|labels| labels.get("trellis.dev/scaling-group"));
            let own =
                template.pod_clique_scaling_groups.iter().find(|g| Some(&g.name) == own).expect("in the template");
            if own.scale_config.is_some() {
                enforce(false, group.metadata.name.as_ref(), group.spec.replicas);
            }
        }
        let live = LiveReplicas::of(&admitted.set, &cliques, &groups);
        let count = |is_clique: bool, name: &str| in_force.get(&(is_clique, name.to_owned())).copied();
        shared_out(&admitted, &admitted.lower_with(&live), &expected(&admitted.set, &count))
    };
    check(file!(), "live", 400, (cases(), any::<u64>()), property);
}

fn shared_out(admitted: &Admitted, lowered: &Lowered, expected: &[Expected]) -> Checked {
    let gangs: BTreeMap<&str, &PodGang> =
        lowered.gangs.iter().map(|gang| (gang.metadata.name.as_deref().unwrap_or_default(), gang)).collect();
    let wanted: BTreeSet<&str> = expected.iter().map(|clique| clique.gang.as_str()).collect();
    prop_assert_eq!(gangs.keys().copied().collect::<BTreeSet<_>>(), wanted, "gangs");
    let groups: usize = lowered.gangs.iter().map(|gang| gang.spec.pod_groups.len()).sum();
    prop_assert_eq!(groups, expected.len(), "pod groups");
    let kinds = objects(lowered);
    let cliques: BTreeMap<&str, &Value> = by_name(&kinds["PodClique"]);
    let pods: BTreeMap<&str, &Value> = by_name(&kinds["Pod"]);
    prop_assert_eq!(cliques.len(), expected.len(), "PodCliques");
    prop_assert_eq!(pods.len(), expected.iter().map(|clique| clique.pods).sum::<usize>(), "pods");
    for clique in expected {
        let group = gangs[clique.gang.as_str()].spec.pod_groups.iter().find(|group| group.name == clique.name);
        let group = group.ok_or_else(|| TestCaseError::fail(format!("{} is not in {}", clique.name, clique.gang)))?;
        let mut references: Vec<NamespacedName> = (0..clique.pods)
            .map(|k| NamespacedName {
                namespace: admitted.namespace().to_owned(),
                name: format!("{}-{k}", clique.name),
            })
            .collect();
        references.sort_by(|a, b| a.name.cmp(&b.name));
        prop_assert_eq!(&group.pod_references, &references);
        prop_assert_eq!(usize::try_from(group.min_replicas).ok(), Some(clique.min));
        prop_assert!(clique.min <= references.len(), "{} needs more pods than it has", clique.name);
        labelled(admitted, clique, cliques.get(clique.name.as_str()))?;
        for (k, reference) in (0..clique.pods).map(|k| (k, format!("{}-{k}", clique.name))) {
            let pod = pods.get(reference.as_str());
            labelled(admitted, clique, pod)?;
            let Some(pod) = pod else { continue };
            prop_assert_eq!(label(pod, "grove.io/podclique"), Some(clique.name.as_str()));
            prop_assert_eq!(label(pod, "grove.io/podclique-pod-index").map(str::to_owned), Some(k.to_string()));
            let hash = |object: &Value| label(object, "grove.io/pod-template-hash").map(str::to_owned);
            prop_assert_eq!(hash(pod), hash(cliques[clique.name.as_str()]));
        }
    }
    for gang in &lowered.gangs {
        gang_agrees(gang, expected)?;
    }
    Ok(())
}

fn by_name(objects: &[Value]) -> BTreeMap<&str, &Value> {
    objects.iter().map(|object| (object["metadata"]["name"].as_str().unwrap_or_default(), object)).collect()
}

/// PodClique and pods carry where they belong, and nothing where they do not.
fn labelled(admitted: &Admitted, clique: &Expected, object: Option<&&Value>) -> Checked {
    let object = object.ok_or_else(|| TestCaseError::fail(format!("something of {} is missing", clique.name)))?;
    let group = clique.group.as_ref();
    let set_index = clique.set_index.to_string();
    let group_index = group.map(|(_, _, j)| j.to_string());
    let wanted = [
        ("app.kubernetes.io/managed-by", Some("grove-operator")),
        ("app.kubernetes.io/part-of", Some(admitted.name())),
        ("app.kubernetes.io/name", Some(clique.name.as_str())),
        ("grove.io/podgang", Some(clique.gang.as_str())),
        ("grove.io/base-podgang", clique.base_gang.as_deref()),
        ("grove.io/podcliqueset-replica-index", Some(set_index.as_str())),
        ("grove.io/podcliquescalinggroup", group.map(|(name, _, _)| name.as_str())),
        ("grove.io/podcliquescalinggroup-replica-index", group_index.as_deref()),
        ("trellis.dev/clique", Some(clique.clique.as_str())),
    ];
    for (key, value) in wanted {
        prop_assert_eq!(label(object, key), value, "label {} of {}", key, &object["metadata"]["name"]);
    }
    Ok(())
}

fn gang_agrees(gang: &PodGang, expected: &[Expected]) -> Checked {
    let name = gang.metadata.name.as_deref().unwrap_or_default();
    let members: Vec<&Expected> = expected.iter().filter(|clique| clique.gang == name).collect();
    let first = members.first().expect("a gang has members");
    let empty = BTreeMap::new();
    let labels = gang.metadata.labels.as_ref().unwrap_or(&empty);
    prop_assert_eq!(labels.get("grove.io/base-podgang"), first.base_gang.as_ref());
    prop_assert_eq!(labels.get("grove.io/podcliqueset-replica-index"), Some(&first.set_index.to_string()));
    let least: i64 = gang.spec.pod_groups.iter().map(|group| i64::from(group.min_replicas)).sum();
    let pods: usize = gang.spec.pod_groups.iter().map(|group| group.pod_references.len()).sum();
    prop_assert!(usize::try_from(least).is_ok_and(|least| least <= pods), "{name} asks for {least} of {pods}");
    let mut bound = BTreeSet::new();
    for config in &gang.spec.topology_constraint_group_configs {
        prop_assert!(!config.pod_group_names.is_empty(), "{} binds nothing", config.name);
        for group in &config.pod_group_names {
            prop_assert!(members.iter().any(|member| member.name == *group), "{group} is not in {name}");
            prop_assert!(bound.insert(group), "{group} is in two group configs");
        }
    }
    Ok(())
}
