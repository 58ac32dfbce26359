//! Workloads of many shapes: sets for the operator, PodGroups with pods of their own, pods alone.

use serde_json::{Value, json};

use crate::dice::Dice;
use crate::world::{BLOCK, HOLD_SECONDS, NAMESPACE, RACK};

/// The spec of a pod that asks for so many GPUs.
fn pod_spec(gpus: u64, restart: &str) -> Value {
    let gone = |key: &str| json!({ "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 15 });
    json!({
        "restartPolicy": restart,
        "terminationGracePeriodSeconds": 5,
        "tolerations": [gone("node.kubernetes.io/not-ready"), gone("node.kubernetes.io/unreachable")],
        "containers": [{
            "name": "app", "image": "app:1",
            "resources": {
                "requests": { "cpu": gpus.to_string(), "memory": format!("{}Gi", 4 * gpus), "nvidia.com/gpu": gpus.to_string() },
                "limits": { "nvidia.com/gpu": gpus.to_string() },
            },
        }],
    })
}

fn clique(name: &str, replicas: u64, min: u64, gpus: u64, restart: &str, domain: Option<&str>) -> Value {
    let mut clique = json!({ "name": name, "spec": {
        "roleName": name, "replicas": replicas, "minAvailable": min, "podSpec": pod_spec(gpus, restart),
    } });
    constrain(&mut clique, domain);
    clique
}

fn constrain(value: &mut Value, domain: Option<&str>) {
    if let Some(domain) = domain {
        value["topologyConstraint"] = json!({ "packDomain": domain });
    }
}

/// A PodCliqueSet: one clique, two cliques, or a scaling group beside a clique.
pub fn set(dice: &mut Dice, name: &str) -> Value {
    let restart = if dice.once_in(3) { "Never" } else { "Always" };
    let gpus = dice.between(1, 4);
    let (cliques, groups, wide) = match dice.below(5) {
        0 | 1 => {
            let replicas = dice.between(1, 4);
            let min = dice.between(1, replicas);
            let wide =
                dice.of(&[None, None, Some("block"), Some("rack"), Some("rack"), Some("host")]).copied().flatten();
            let gpus = if wide == Some("host") { 1 + gpus / 3 } else { gpus };
            (vec![clique("a", replicas, min, gpus, restart, None)], Vec::new(), wide)
        }
        2 | 3 => {
            let wide = dice.of(&[None, Some("zone"), Some("block")]).copied().flatten();
            let own = dice.of(&[None, Some("rack"), Some("host")]).copied().flatten();
            let few = dice.between(1, 2);
            let replicas = dice.between(1, 3);
            let cliques = vec![
                clique("a", replicas, dice.between(1, replicas), gpus, restart, Some("rack").filter(|_| own.is_some())),
                clique("b", few, 1, dice.between(1, 3), restart, own),
            ];
            (cliques, Vec::new(), wide)
        }
        _ => {
            let wide = dice.of(&[None, Some("zone"), Some("block"), Some("rack")]).copied().flatten();
            let own = Some("rack").filter(|_| wide != Some("rack") && dice.once_in(2));
            let workers = dice.between(1, 2);
            let cliques = vec![
                clique("f", 1, 1, 1, restart, None),
                clique("l", 1, 1, dice.between(1, 2), restart, None),
                clique("w", workers, workers, dice.between(1, 3), restart, None),
            ];
            let replicas = dice.between(1, 3);
            let mut group = json!({ "name": "g", "cliqueNames": ["l", "w"], "replicas": replicas, "minAvailable": dice.between(1, replicas) });
            constrain(&mut group, own);
            (cliques, vec![group], wide)
        }
    };
    let mut template = json!({
        "cliques": cliques, "podCliqueScalingGroups": groups, "terminationDelay": format!("{HOLD_SECONDS}s"),
    });
    constrain(&mut template, wide);
    if let Some(class) = class(dice) {
        template["priorityClassName"] = class.into();
    }
    let replicas = if dice.once_in(4) { 2 } else { 1 };
    json!({
        "apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet",
        "metadata": { "name": name, "namespace": NAMESPACE },
        "spec": { "replicas": replicas, "template": template },
    })
}

fn class(dice: &mut Dice) -> Option<&'static str> {
    dice.of(&[None, None, Some("low"), Some("low"), Some("high"), Some("polite")]).copied().flatten()
}

/// A PodGroup, and its pods, which nobody makes anew.
pub fn group(dice: &mut Dice, name: &str) -> Vec<Value> {
    let count = dice.between(1, 5);
    let level = |dice: &mut Dice| {
        let required = dice.of(&[None, None, Some(RACK), Some(RACK), Some(BLOCK), Some("kubernetes.io/hostname")]);
        let required = required.copied().flatten();
        let preferred = Some("kubernetes.io/hostname").filter(|_| required.is_none() && dice.once_in(2));
        (required.is_some() || preferred.is_some()).then(|| {
            let mut constraint = json!({ "topology": "grove-topology" });
            if let Some(required) = required {
                constraint["requiredTopologyLevel"] = required.into();
            }
            if let Some(preferred) = preferred {
                constraint["preferredTopologyLevel"] = preferred.into();
            }
            constraint
        })
    };
    let mut spec = json!({});
    let leaves: Vec<(Option<String>, u64)> = if count >= 2 && dice.once_in(3) {
        let first = dice.between(1, count - 1);
        let mut groups = Vec::new();
        for (leaf, count) in [("one", first), ("two", count - first)] {
            let mut group = json!({ "name": leaf, "minMember": dice.between(1, count) });
            if let Some(constraint) = level(dice) {
                group["topologyConstraint"] = constraint;
            }
            groups.push(group);
        }
        spec["subGroups"] = groups.into();
        vec![(Some("one".to_owned()), first), (Some("two".to_owned()), count - first)]
    } else {
        spec["minMember"] = dice.between(1, count).into();
        if let Some(constraint) = level(dice) {
            spec["topologyConstraint"] = constraint;
        }
        vec![(None, count)]
    };
    if let Some(class) = class(dice) {
        spec["priorityClassName"] = class.into();
    }
    let gpus = dice.between(1, 3);
    let metadata = json!({ "name": name, "namespace": NAMESPACE });
    let mut objects = vec![
        json!({ "apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "metadata": metadata, "spec": spec }),
    ];
    for (leaf, count) in leaves {
        for number in 0..count {
            let title =
                leaf.as_ref().map_or_else(|| format!("{name}-{number}"), |leaf| format!("{name}-{leaf}-{number}"));
            let mut pod = pod(&title, gpus);
            pod["metadata"]["annotations"] = json!({ "pod-group-name": name });
            if let Some(leaf) = &leaf {
                pod["metadata"]["labels"] = json!({ "kai.scheduler/subgroup-name": leaf });
            }
            objects.push(pod);
        }
    }
    objects
}

/// A pod that nobody makes anew.
pub fn pod(name: &str, gpus: u64) -> Value {
    let mut spec = pod_spec(gpus, "Never");
    spec["schedulerName"] = "trellis".into();
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "namespace": NAMESPACE }, "spec": spec })
}
