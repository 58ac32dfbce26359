//! Whether a node takes a bound pod: the checks of a kubelet, in its order and with its words.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod, PodSpec, Taint, Toleration,
};

use super::charge::{Amounts, Charge, add, amounts_of};

/// The reason for which a node may have been judged by labels that have changed since.
pub(super) const NODE_AFFINITY: &str = "NodeAffinity";

/// Why a node does not take a pod, as it stands in the pod's status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rejection {
    pub(super) reason: String,
    pub(super) message: String,
}

impl Rejection {
    fn short(resource: &str, requested: i64, used: i64, capacity: i64) -> Self {
        let message = format!(
            "Pod was rejected: Node didn't have enough resource: {resource}, requested: {requested}, used: {used}, capacity: {capacity}"
        );
        Self { reason: format!("OutOf{resource}"), message }
    }

    fn predicate(name: &str, why: &str) -> Self {
        Self { reason: name.to_owned(), message: format!("Pod was rejected: Predicate {name} failed: {why}") }
    }
}

/// Judges `pod`, which would take `charge`, beside the pods that `taken` stands for.
pub(super) fn admit<'a>(
    pod: &Pod,
    charge: &Charge,
    node: &Node,
    taken: impl Iterator<Item = &'a Charge>,
) -> Result<(), Rejection> {
    let Some(spec) = &pod.spec else { return Ok(()) };
    if spec.os.as_ref().is_some_and(|os| os.name != "linux") {
        return Err(Rejection {
            reason: "PodOSNotSupported".to_owned(),
            message: "Pod was rejected: Failed to admit pod as the OS field doesn't match node OS".to_owned(),
        });
    }
    let taken: Vec<&Charge> = taken.collect();
    resources(charge, node, &taken)?;
    if !matches(spec, node) {
        return Err(Rejection::predicate(NODE_AFFINITY, "node(s) didn't match Pod's node affinity/selector"));
    }
    if taken.iter().flat_map(|other| &other.ports).any(|other| charge.ports.iter().any(|port| clash(port, other))) {
        return Err(Rejection::predicate("NodePorts", "node(s) didn't have free ports for the requested pod ports"));
    }
    let taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
    let tolerations = spec.tolerations.as_deref().unwrap_or_default();
    let mut evicting = taints.filter(|taint| taint.effect == "NoExecute");
    if evicting.any(|taint| !tolerations.iter().any(|toleration| tolerates(toleration, taint))) {
        return Err(Rejection::predicate("TaintToleration", "node(s) had taints that the pod didn't tolerate"));
    }
    Ok(())
}

fn resources(charge: &Charge, node: &Node, taken: &[&Charge]) -> Result<(), Rejection> {
    let allocatable = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
    let allocatable = allocatable.map(amounts_of).unwrap_or_default();
    let capacity = |name: &str| allocatable.get(name).copied().unwrap_or(0);
    let pods = i64::try_from(taken.len()).unwrap_or(i64::MAX);
    if pods >= capacity("pods") {
        return Err(Rejection::short("pods", 1, pods, capacity("pods")));
    }
    let mut used = Amounts::new();
    taken.iter().for_each(|other| add(&mut used, &other.amounts));
    let first = ["cpu", "memory", "ephemeral-storage"];
    let rest = charge.amounts.keys().map(String::as_str).filter(|name| !first.contains(name));
    for name in first.into_iter().chain(rest) {
        let requested = charge.amounts.get(name).copied().unwrap_or(0);
        let used = used.get(name).copied().unwrap_or(0);
        // An extended resource that the node does not know is somebody else's business, not the node's.
        let unknown = is_extended(name) && !allocatable.contains_key(name);
        if requested > 0 && !unknown && requested > capacity(name).saturating_sub(used) {
            return Err(Rejection::short(name, requested, used, capacity(name)));
        }
    }
    Ok(())
}

fn is_extended(resource: &str) -> bool {
    resource.contains('/') && !resource.contains("kubernetes.io/") && !resource.starts_with("requests.")
}

fn clash(one: &(String, String, i32), other: &(String, String, i32)) -> bool {
    let any = |address: &str| address.is_empty() || address == "0.0.0.0";
    one.0 == other.0 && one.2 == other.2 && (any(&one.1) || any(&other.1) || one.1 == other.1)
}

/// Whether the node has what the pod's node selector and required node affinity ask for.
fn matches(spec: &PodSpec, node: &Node) -> bool {
    let none = BTreeMap::new();
    let labels = node.metadata.labels.as_ref().unwrap_or(&none);
    let selected = spec.node_selector.iter().flatten().all(|(key, value)| labels.get(key) == Some(value));
    let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let required = affinity.and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.as_ref());
    let name = node.metadata.name.as_deref().unwrap_or_default();
    selected && required.is_none_or(|selector| any_term(selector, name, labels))
}

fn any_term(selector: &NodeSelector, name: &str, labels: &BTreeMap<String, String>) -> bool {
    let matches = |term: &NodeSelectorTerm| {
        let expressions = term.match_expressions.as_deref().unwrap_or_default();
        let fields = term.match_fields.as_deref().unwrap_or_default();
        let field = |key: &str| (key == "metadata.name").then_some(name);
        let label = |key: &str| labels.get(key).map(String::as_str);
        // A term that asks for nothing matches nothing.
        !(expressions.is_empty() && fields.is_empty())
            && expressions.iter().all(|wanted| meets(wanted, label(&wanted.key)))
            && fields.iter().all(|wanted| meets(wanted, field(&wanted.key)))
    };
    selector.node_selector_terms.iter().any(matches)
}

fn meets(wanted: &NodeSelectorRequirement, value: Option<&str>) -> bool {
    let values = wanted.values.as_deref().unwrap_or_default();
    let listed = value.is_some_and(|value| values.iter().any(|listed| listed == value));
    let number = |text: &str| text.parse::<i64>().ok();
    let sides = || Some((number(value?)?, number(values.first()?)?));
    match wanted.operator.as_str() {
        "In" => listed,
        "NotIn" => !listed,
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => sides().is_some_and(|(value, limit)| value > limit),
        "Lt" => sides().is_some_and(|(value, limit)| value < limit),
        _ => false,
    }
}

fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let (key, effect, operator) = (text(&toleration.key), text(&toleration.effect), text(&toleration.operator));
    (effect.is_empty() || effect == taint.effect)
        && (key.is_empty() || key == taint.key)
        && match operator.as_str() {
            "Exists" => true,
            "" | "Equal" => text(&toleration.value) == text(&taint.value),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A node with 4 cores, 8 GiB, 2 GPUs and room for 3 pods, of which one is taken by a pod with 1 core and 1 GPU at host port 80.
    fn check(pod: &Value, expected: Option<(&str, &str)>) {
        let node: Node = serde_json::from_value(json!({
            "metadata": { "name": "n1", "labels": { "zone": "a", "tier": "5" } },
            "spec": { "taints": [{ "key": "gpu", "value": "h100", "effect": "NoExecute" }, { "key": "x", "effect": "NoSchedule" }] },
            "status": { "allocatable": { "cpu": "4", "memory": "8Gi", "pods": "3", "nvidia.com/gpu": "2" } },
        }))
        .unwrap();
        let other = Charge {
            amounts: Amounts::from([("cpu".to_owned(), 1000), ("nvidia.com/gpu".to_owned(), 1)]),
            ports: vec![("TCP".to_owned(), String::new(), 80)],
        };
        let mut object =
            json!({ "metadata": {}, "spec": { "containers": [], "tolerations": [{ "operator": "Exists" }] } });
        let spec = object["spec"].as_object_mut().unwrap();
        spec.extend(pod.as_object().unwrap().clone());
        let copies = spec.remove("beside").and_then(|value| value.as_u64()).unwrap_or(1);
        let parsed: Pod = serde_json::from_value(object).unwrap();
        let taken = (0..copies).map(|_| &other);
        let found = admit(&parsed, &Charge::of(&parsed), &node, taken).err();
        let expected = expected.map(|(reason, message)| Rejection {
            reason: reason.to_owned(),
            message: format!("Pod was rejected: {message}"),
        });
        assert_eq!(found, expected, "{pod}");
    }

    fn requests(requests: &Value) -> Value {
        json!({ "containers": [{ "name": "c", "resources": { "requests": requests } }] })
    }

    fn affinity(term: &Value) -> Value {
        let required = json!({ "nodeSelectorTerms": [term] });
        json!({ "affinity": { "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": required } } })
    }

    #[test]
    fn a_pod_that_overcommits_its_node_is_rejected_as_a_kubelet_does() {
        let short = "Node didn't have enough resource: ";
        check(&requests(&json!({ "cpu": "3", "memory": "8Gi", "nvidia.com/gpu": "1" })), None);
        check(
            &requests(&json!({ "cpu": "3500m", "memory": "9Gi" })),
            Some(("OutOfcpu", &format!("{short}cpu, requested: 3500, used: 1000, capacity: 4000"))),
        );
        check(
            &requests(&json!({ "memory": "9Gi" })),
            Some(("OutOfmemory", &format!("{short}memory, requested: 9663676416, used: 0, capacity: 8589934592"))),
        );
        check(
            &requests(&json!({ "nvidia.com/gpu": "2" })),
            Some(("OutOfnvidia.com/gpu", &format!("{short}nvidia.com/gpu, requested: 2, used: 1, capacity: 2"))),
        );
        check(
            &json!({ "beside": 3 }),
            Some(("OutOfpods", &format!("{short}pods, requested: 1, used: 3, capacity: 3"))),
        );
        check(
            &requests(&json!({ "hugepages-2Mi": "2Mi" })),
            Some(("OutOfhugepages-2Mi", &format!("{short}hugepages-2Mi, requested: 2097152, used: 0, capacity: 0"))),
        );
        // Extended resources that the node does not have are not its to refuse; nor is nothing of something.
        check(&requests(&json!({ "example.com/licence": "5", "hugepages-2Mi": "0" })), None);
    }

    #[test]
    fn a_node_that_was_not_asked_for_is_refused() {
        let mismatch =
            Some(("NodeAffinity", "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"));
        check(&json!({ "nodeSelector": { "zone": "a" } }), None);
        check(&json!({ "nodeSelector": { "zone": "b" } }), mismatch);
        let label = |operator: &str, values: Value| {
            affinity(&json!({ "matchExpressions": [{ "key": "tier", "operator": operator, "values": values }] }))
        };
        check(&label("In", json!(["5", "6"])), None);
        check(&label("NotIn", json!(["5"])), mismatch);
        check(&label("Exists", json!(null)), None);
        check(&label("DoesNotExist", json!(null)), mismatch);
        check(&label("Gt", json!(["4"])), None);
        check(&label("Lt", json!(["4"])), mismatch);
        check(
            &affinity(&json!({ "matchFields": [{ "key": "metadata.name", "operator": "In", "values": ["n1"] }] })),
            None,
        );
        check(&affinity(&json!({})), mismatch);
    }

    #[test]
    fn ports_taints_and_operating_systems_are_judged_too() {
        let port = |address: &str, port: u16| json!({ "containers": [{ "name": "c", "ports": [{ "containerPort": 1, "hostIP": address, "hostPort": port }] }] });
        let taken = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports";
        check(&port("10.0.0.1", 80), Some(("NodePorts", taken)));
        check(&port("10.0.0.1", 81), None);
        let evicted = "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate";
        check(&json!({ "tolerations": [] }), Some(("TaintToleration", evicted)));
        check(&json!({ "tolerations": [{ "key": "gpu", "value": "h100" }] }), None);
        check(&json!({ "tolerations": [{ "key": "gpu", "value": "b200" }] }), Some(("TaintToleration", evicted)));
        let windows = "Failed to admit pod as the OS field doesn't match node OS";
        check(&json!({ "os": { "name": "windows" } }), Some(("PodOSNotSupported", windows)));
    }
}
