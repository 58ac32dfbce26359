//! Pods: what the user wrote, and what makes them members of a gang.

use crate::expected::{Expected, by_template};
use crate::support::{Admitted, Checked, admit, check, objects};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use trellis_testkit::sets::cases;

const GATE: &str = "grove.io/podgang-pending-creation";
/// Fields that lowering writes itself or adds to.
const TOUCHED: [&str; 9] = [
    "containers",
    "initContainers",
    "schedulingGates",
    "volumes",
    "resourceClaims",
    "hostname",
    "subdomain",
    "schedulerName",
    "serviceAccountName",
];

#[test]
fn pods_are_what_the_user_wrote_and_ours() {
    check(file!(), "pods", 800, cases(), |case| {
        let Some(admitted) = admit(&case) else { return Ok(()) };
        let kinds = objects(&admitted.lower());
        let pods: BTreeMap<&str, &Value> =
            kinds["Pod"].iter().map(|pod| (pod["metadata"]["name"].as_str().unwrap_or_default(), pod)).collect();
        for clique in by_template(&admitted.set) {
            let written = admitted.set.spec.template.cliques.iter().find(|c| c.name == clique.clique);
            let written = &written.expect("in the template").spec.pod_spec.0;
            for k in 0..clique.pods {
                let pod = &pods[format!("{}-{k}", clique.name).as_str()]["spec"];
                environment(&admitted, &clique, written, pod)?;
                gates(written, pod)?;
                names_in_pod(pod)?;
                rest(&admitted, written, pod)?;
                prop_assert_eq!(&pod["subdomain"], &format!("{}-{}", admitted.name(), clique.set_index));
            }
        }
        Ok(())
    });
}

fn list(pod: &Value, field: &str) -> Vec<Value> {
    pod[field].as_array().cloned().unwrap_or_default()
}

fn name(object: &Value) -> &str {
    object["name"].as_str().unwrap_or_default()
}

/// Our variables, as grove.md 2.5 lists them.
fn ours(admitted: &Admitted, clique: &Expected) -> Vec<Value> {
    let literal = |name: &str, value: String| json!({ "name": name, "value": value });
    let label = |name: &str, label: &str| {
        let path = format!("metadata.labels['{label}']");
        json!({ "name": name, "valueFrom": { "fieldRef": { "fieldPath": path } } })
    };
    let service = format!("{}-{}.{}.svc.cluster.local", admitted.name(), clique.set_index, admitted.namespace());
    let mut found = vec![
        literal("GROVE_PCS_NAME", admitted.name().to_owned()),
        literal("GROVE_PCS_INDEX", clique.set_index.to_string()),
        literal("GROVE_PCLQ_NAME", clique.name.clone()),
        literal("GROVE_HEADLESS_SERVICE", service),
        label("GROVE_PCLQ_POD_INDEX", "grove.io/podclique-pod-index"),
    ];
    if let Some((_, group, _)) = &clique.group {
        let template = &admitted.set.spec.template;
        let group = template.pod_clique_scaling_groups.iter().find(|g| g.name == *group).expect("in the template");
        let members = template.cliques.iter().filter(|clique| group.clique_names.contains(&clique.name));
        let pods: i32 = members.filter_map(|clique| clique.spec.replicas).sum();
        found.push(label("GROVE_PCSG_NAME", "grove.io/podcliquescalinggroup"));
        found.push(label("GROVE_PCSG_INDEX", "grove.io/podcliquescalinggroup-replica-index"));
        found.push(literal("GROVE_PCSG_TEMPLATE_NUM_PODS", pods.to_string()));
    }
    found
}

/// Ours come first, the user's of the same name are gone, the others follow as they were.
fn environment(admitted: &Admitted, clique: &Expected, written: &Map<String, Value>, pod: &Value) -> Checked {
    let ours = ours(admitted, clique);
    for field in ["initContainers", "containers"] {
        for container in list(pod, field).iter().filter(|container| name(container) != "trellis-wait") {
            let own = written.get(field).and_then(Value::as_array).into_iter().flatten();
            let own = own.into_iter().find(|own| name(own) == name(container)).unwrap_or(&Value::Null);
            let kept = list(own, "env").into_iter().filter(|own| !ours.iter().any(|our| name(our) == name(own)));
            let wanted: Vec<Value> = ours.iter().cloned().chain(kept).collect();
            prop_assert_eq!(list(container, "env"), wanted, "{} {}", field, name(container));
        }
    }
    Ok(())
}

fn gates(written: &Map<String, Value>, pod: &Value) -> Checked {
    let own = written.get("schedulingGates").and_then(Value::as_array).into_iter().flatten();
    let mut wanted: Vec<&str> = own.map(name).filter(|gate| *gate != GATE).collect();
    wanted.push(GATE);
    let gates = list(pod, "schedulingGates");
    prop_assert_eq!(gates.iter().map(name).collect::<Vec<_>>(), wanted);
    Ok(())
}

/// An API server refuses pods in which two things of a kind have the same name.
fn names_in_pod(pod: &Value) -> Checked {
    let containers = [list(pod, "initContainers"), list(pod, "containers")].concat();
    let claims: Vec<Value> = list(pod, "resourceClaims");
    for (what, items) in [("volumes", &list(pod, "volumes")), ("containers", &containers), ("claims", &claims)] {
        let distinct: BTreeSet<&str> = items.iter().map(name).collect();
        prop_assert_eq!(distinct.len(), items.len(), "two {} have one name: {:?}", what, items);
    }
    for container in &containers {
        for claim in list(&container["resources"], "claims") {
            prop_assert!(claims.iter().any(|known| name(known) == name(&claim)), "no such claim: {}", claim);
        }
    }
    Ok(())
}

/// What lowering has no business with stays as it is.
fn rest(admitted: &Admitted, written: &Map<String, Value>, pod: &Value) -> Checked {
    let mut wanted = written.clone();
    let class = admitted.set.spec.template.priority_class_name.as_deref().unwrap_or_default();
    if wanted.get("priorityClassName").is_none_or(|own| own == "") && !class.is_empty() {
        wanted.insert("priorityClassName".to_owned(), class.into());
    }
    wanted.retain(|field, _| !TOUCHED.contains(&field.as_str()));
    let mut carried = pod.as_object().cloned().unwrap_or_default();
    carried.retain(|field, _| !TOUCHED.contains(&field.as_str()));
    prop_assert_eq!(carried, wanted);
    for field in ["containers", "initContainers", "volumes"] {
        let own = written.get(field).and_then(Value::as_array).map_or(0, Vec::len);
        let kept = list(pod, field);
        let kept = kept.iter().filter(|item| !name(item).starts_with("trellis-wait")).count();
        let ours = written.get(field).and_then(Value::as_array).into_iter().flatten();
        let ours = ours.filter(|item| name(item).starts_with("trellis-wait")).count();
        prop_assert_eq!(kept, own - ours, "{} of the user", field);
    }
    let own = written.get("serviceAccountName").filter(|own| *own != "");
    if own.is_some() {
        prop_assert_eq!(pod.get("serviceAccountName"), own);
    }
    Ok(())
}
