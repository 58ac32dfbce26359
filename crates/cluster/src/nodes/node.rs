//! The objects of a node: the Node itself as its kubelet registers it, what brings one in line that is there already, and its lease.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::{Node, Taint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, OwnerReference};
use serde_json::{Map, Value, json};

use super::NodeSpec;

/// The namespace of the leases of nodes.
pub(super) const LEASES: &str = "kube-node-lease";

/// How many pods a node takes that does not say.
const PODS: &str = "110";

/// The conditions of a healthy node, with their reasons and messages; Ready comes last, as a kubelet has it.
const CONDITIONS: [(&str, &str, &str, &str); 4] = [
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
];

/// The node as it is registered.
pub(super) fn node(spec: &NodeSpec, address: &str, version: &str, now: Timestamp) -> Value {
    let mut labels = default_labels(&spec.name);
    labels.extend(spec.labels.clone());
    let mut status = status(spec, None, now);
    status.insert(
        "addresses".to_owned(),
        json!([{ "type": "InternalIP", "address": address }, { "type": "Hostname", "address": spec.name }]),
    );
    status.insert("nodeInfo".to_owned(), node_info(&spec.name, version));
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": { "name": spec.name, "labels": labels, "annotations": spec.annotations },
        "spec": if spec.taints.is_empty() { json!({}) } else { json!({ "taints": spec.taints }) },
        "status": status,
    })
}

/// What a kubelet says of the machine that it is on.
fn node_info(name: &str, version: &str) -> Value {
    json!({
        "architecture": "amd64",
        "bootID": name,
        "containerRuntimeVersion": "simulated://1",
        "kernelVersion": "simulated",
        "kubeProxyVersion": "",
        "kubeletVersion": version,
        "machineID": name,
        "operatingSystem": "linux",
        "osImage": "simulated",
        "systemUUID": name,
    })
}

fn default_labels(name: &str) -> BTreeMap<String, String> {
    let labels = [("kubernetes.io/hostname", name), ("kubernetes.io/os", "linux"), ("kubernetes.io/arch", "amd64")];
    labels.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// Capacity, what of it pods may have, and the conditions.
fn status(spec: &NodeSpec, live: Option<&Node>, now: Timestamp) -> Map<String, Value> {
    let known = live.and_then(|node| node.status.as_ref());
    let capacity = if spec.capacity.is_empty() { &spec.allocatable } else { &spec.capacity };
    let allocatable = if spec.allocatable.is_empty() { &spec.capacity } else { &spec.allocatable };
    let known_capacity = known.and_then(|status| status.capacity.as_ref());
    let known_allocatable = known.and_then(|status| status.allocatable.as_ref());
    Map::from_iter([
        ("capacity".to_owned(), resources(capacity, known_capacity.into_iter().flat_map(BTreeMap::keys))),
        ("allocatable".to_owned(), resources(allocatable, known_allocatable.into_iter().flat_map(BTreeMap::keys))),
        ("conditions".to_owned(), conditions(live, now)),
    ])
}

/// Resources, and nulls for those of `known` that are gone.
fn resources<'a>(wanted: &BTreeMap<String, String>, known: impl Iterator<Item = &'a String>) -> Value {
    let mut all: Map<String, Value> = known.map(|name| (name.clone(), Value::Null)).collect();
    all.insert("pods".to_owned(), json!(PODS));
    all.extend(wanted.iter().map(|(name, amount)| (name.clone(), json!(amount))));
    Value::Object(all)
}

fn conditions(live: Option<&Node>, now: Timestamp) -> Value {
    let known = live.and_then(|node| node.status.as_ref()).and_then(|status| status.conditions.as_deref());
    let condition = |(type_, status, reason, message): (&str, &str, &str, &str)| {
        let same = known.unwrap_or_default().iter().find(|known| known.type_ == type_ && known.status == status);
        let since = same.and_then(|known| known.last_transition_time.as_ref()).map_or(now, |time| time.0);
        json!({
            "type": type_, "status": status, "reason": reason, "message": message,
            "lastHeartbeatTime": stamp(now), "lastTransitionTime": stamp(since),
        })
    };
    CONDITIONS.into_iter().map(condition).collect()
}

fn stamp(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Whether the node says that it is ready.
pub(super) fn is_ready(node: &Node) -> bool {
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// The node's own address.
pub(super) fn address(node: &Node) -> Option<&str> {
    let mut addresses = node.status.iter().flat_map(|status| status.addresses.iter().flatten());
    addresses.find(|address| address.type_ == "InternalIP").map(|address| address.address.as_str())
}

/// The merge patch that gives a node that is there already the labels, annotations and taints that it should have; nothing if it has
/// them. What it has beside them stays, and so does every later change: this is done once.
pub(super) fn adoption(spec: &NodeSpec, live: &Node) -> Option<Value> {
    let none = BTreeMap::new();
    let labels = live.metadata.labels.as_ref().unwrap_or(&none);
    let annotations = live.metadata.annotations.as_ref().unwrap_or(&none);
    let missing = |wanted: &BTreeMap<String, String>, has: &BTreeMap<String, String>| {
        let missing = wanted.iter().filter(|(key, value)| has.get(*key) != Some(*value));
        missing.map(|(key, value)| (key.clone(), json!(value))).collect::<Map<_, _>>()
    };
    let defaults = default_labels(&spec.name).into_iter().filter(|(key, _)| !labels.contains_key(key));
    let wanted = defaults.chain(spec.labels.clone()).collect();

    let mut metadata = Map::new();
    let parts = [("labels", missing(&wanted, labels)), ("annotations", missing(&spec.annotations, annotations))];
    for (field, part) in parts.into_iter().filter(|(_, part)| !part.is_empty()) {
        metadata.insert(field.to_owned(), Value::Object(part));
    }
    let has = live.spec.as_ref().and_then(|spec| spec.taints.as_deref()).unwrap_or_default();
    let taints = with_taints(has, &spec.taints);
    let mut patch = Map::new();
    if taints.len() != has.len() || taints.iter().any(|taint| !has.contains(taint)) {
        patch.insert("spec".to_owned(), json!({ "taints": taints }));
        // The list is replaced as a whole, so nobody may have touched it since.
        metadata.insert("resourceVersion".to_owned(), json!(live.metadata.resource_version));
    }
    if metadata.is_empty() {
        return None;
    }
    patch.insert("metadata".to_owned(), Value::Object(metadata));
    Some(Value::Object(patch))
}

fn with_taints(has: &[Taint], wanted: &[Taint]) -> Vec<Taint> {
    let is_same = |one: &Taint, other: &Taint| one.key == other.key && one.effect == other.effect;
    let kept = has.iter().filter(|taint| !wanted.iter().any(|wanted| is_same(taint, wanted)));
    // A taint that is there with the same value keeps the time it was added.
    let ours = wanted
        .iter()
        .map(|wanted| has.iter().find(|taint| is_same(taint, wanted) && taint.value == wanted.value).unwrap_or(wanted));
    kept.chain(ours).cloned().collect()
}

/// The strategic merge patch of the status by which a node that is there already gets its capacity, or a node its heartbeat.
pub(super) fn status_patch(
    spec: &NodeSpec,
    live: Option<&Node>,
    new_address: Option<&str>,
    version: &str,
    now: Timestamp,
) -> Value {
    let mut status = status(spec, live, now);
    if let Some(address) = new_address {
        let addresses =
            json!([{ "type": "InternalIP", "address": address }, { "type": "Hostname", "address": spec.name }]);
        status.insert("addresses".to_owned(), addresses);
        status.insert("nodeInfo".to_owned(), node_info(&spec.name, version));
    }
    json!({ "status": status })
}

/// The strategic merge patch of the status by which a node says that it lives.
pub(super) fn heartbeat(live: Option<&Node>, now: Timestamp) -> Value {
    json!({ "status": { "conditions": conditions(live, now) } })
}

/// A node's lease, owned by the node, so that it goes with it.
pub(super) fn lease(node: &str, uid: Option<&str>, seconds: i32, now: Timestamp) -> Lease {
    let owner = uid.map(|uid| OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Node".to_owned(),
        name: node.to_owned(),
        uid: uid.to_owned(),
        ..OwnerReference::default()
    });
    Lease {
        metadata: ObjectMeta {
            name: Some(node.to_owned()),
            namespace: Some(LEASES.to_owned()),
            owner_references: owner.map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        spec: Some(LeaseSpec {
            holder_identity: Some(node.to_owned()),
            lease_duration_seconds: Some(seconds),
            renew_time: Some(MicroTime(now)),
            ..LeaseSpec::default()
        }),
    }
}

/// The merge patch that renews a lease.
pub(super) fn renewal(node: &str, seconds: i32, now: Timestamp) -> Value {
    let renewed = LeaseSpec {
        holder_identity: Some(node.to_owned()),
        lease_duration_seconds: Some(seconds),
        renew_time: Some(MicroTime(now)),
        ..LeaseSpec::default()
    };
    json!({ "spec": renewed })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> NodeSpec {
        let map = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let taint = |key: &str| Taint { key: key.to_owned(), effect: "NoSchedule".to_owned(), ..Taint::default() };
        NodeSpec {
            name: "n".to_owned(),
            labels: map(&[("rack", "r1")]),
            annotations: map(&[("note", "x")]),
            allocatable: map(&[("cpu", "4")]),
            taints: vec![taint("a"), taint("b")],
            ..NodeSpec::default()
        }
    }

    fn check(live: &Value, expected: Option<&Value>) {
        let mut object = node(&spec(), "192.0.2.1", "v1", Timestamp::UNIX_EPOCH);
        object["metadata"]["resourceVersion"] = json!("7");
        json_patch::merge(&mut object, live);
        assert_eq!(adoption(&spec(), &serde_json::from_value(object).unwrap()).as_ref(), expected, "{live}");
    }

    #[test]
    fn a_node_gets_what_it_lacks_and_keeps_what_it_has() {
        check(&json!({}), None);
        check(
            &json!({ "metadata": { "labels": { "own": "x", "kubernetes.io/os": "other" }, "annotations": { "own": "x" } } }),
            None,
        );
        check(
            &json!({ "metadata": { "labels": { "rack": "r2", "kubernetes.io/os": null }, "annotations": null } }),
            Some(&json!({ "metadata": {
                "labels": { "rack": "r1", "kubernetes.io/os": "linux" }, "annotations": { "note": "x" },
            } })),
        );
        // Taints are one list, so the patch holds for one version only.
        let taint = |key: &str, value: Option<&str>| {
            let mut taint = json!({ "key": key, "effect": "NoSchedule" });
            value.iter().for_each(|value| taint["value"] = json!(value));
            taint
        };
        check(&json!({ "spec": { "taints": [taint("own", None), taint("b", None), taint("a", None)] } }), None);
        check(
            &json!({ "spec": { "taints": [taint("own", None), taint("b", Some("other"))] } }),
            Some(&json!({
                "metadata": { "resourceVersion": "7" },
                "spec": { "taints": [taint("own", None), taint("a", None), taint("b", None)] },
            })),
        );
    }

    #[test]
    fn a_report_sets_what_is_there_and_unsets_what_is_not() {
        let mut object = node(&spec(), "192.0.2.1", "v1", Timestamp::UNIX_EPOCH);
        assert_eq!(object["status"]["capacity"], json!({ "cpu": "4", "pods": "110" }));
        object["status"]["capacity"] = json!({ "cpu": "1", "example.com/old": "1" });
        object["status"]["conditions"][3]["status"] = json!("Unknown");
        let live: Node = serde_json::from_value(object).unwrap();
        assert!(!is_ready(&live));
        let patch = status_patch(&spec(), Some(&live), None, "v1", Timestamp::MAX);
        assert_eq!(patch["status"]["capacity"], json!({ "cpu": "4", "example.com/old": null, "pods": "110" }));
        assert_eq!(patch["status"].get("addresses"), None);
        let since = |index: usize| patch["status"]["conditions"][index]["lastTransitionTime"].clone();
        assert_eq!((since(0), since(3)), (json!("1970-01-01T00:00:00Z"), json!(stamp(Timestamp::MAX))));
    }
}
