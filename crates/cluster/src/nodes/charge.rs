//! What a pod takes of its node, as a kubelet counts it: the larger of what its init containers need at their worst and what its
//! containers need together, with restartable init containers beside both, pod-level requests before all, overhead on top, and host ports.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::quantity::units;

/// Amounts by resource, in the units of [`units`].
pub(super) type Amounts = BTreeMap<String, i64>;

/// What a pod takes of its node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Charge {
    /// Resources.
    pub(super) amounts: Amounts,
    /// Ports of the node: protocol, address, number.
    pub(super) ports: Vec<(String, String, i32)>,
}

impl Charge {
    /// What this pod takes.
    pub(super) fn of(pod: &Pod) -> Self {
        let Some(spec) = &pod.spec else { return Self::default() };
        let mut amounts = containers(spec);
        if let Some(requests) = spec.resources.as_ref().and_then(|resources| resources.requests.as_ref()) {
            let pod_level = amounts_of(requests).into_iter().filter(|(name, _)| may_be_pod_level(name));
            amounts.extend(pod_level);
        }
        if let Some(overhead) = &spec.overhead {
            add(&mut amounts, &amounts_of(overhead));
        }
        Self { amounts, ports: ports(spec) }
    }
}

/// Parsed requests or capacities; what is no quantity counts for nothing, since the server let none through.
pub(super) fn amounts_of(resources: &BTreeMap<String, Quantity>) -> Amounts {
    resources.iter().map(|(name, quantity)| (name.clone(), units(name, &quantity.0).unwrap_or(0))).collect()
}

/// Whether an init container keeps running beside the containers.
pub(super) fn is_sidecar(init: &Container) -> bool {
    init.restart_policy.as_deref() == Some("Always")
}

fn may_be_pod_level(resource: &str) -> bool {
    matches!(resource, "cpu" | "memory") || resource.starts_with("hugepages-")
}

fn requests(container: &Container) -> Amounts {
    container.resources.as_ref().and_then(|resources| resources.requests.as_ref()).map(amounts_of).unwrap_or_default()
}

fn containers(spec: &PodSpec) -> Amounts {
    let mut together = Amounts::new();
    spec.containers.iter().for_each(|container| add(&mut together, &requests(container)));
    let mut sidecars = Amounts::new();
    let mut worst = Amounts::new();
    for init in spec.init_containers.iter().flatten() {
        let mut at_once = requests(init);
        if is_sidecar(init) {
            add(&mut together, &at_once);
            add(&mut sidecars, &at_once);
            at_once.clone_from(&sidecars);
        } else {
            add(&mut at_once, &sidecars);
        }
        raise(&mut worst, &at_once);
    }
    raise(&mut together, &worst);
    together
}

fn ports(spec: &PodSpec) -> Vec<(String, String, i32)> {
    let sidecars = spec.init_containers.iter().flatten().filter(|init| is_sidecar(init));
    let ports = spec.containers.iter().chain(sidecars).flat_map(|container| container.ports.iter().flatten());
    ports
        .filter_map(|port| {
            let number = port.host_port.filter(|number| *number > 0)?;
            let protocol = port.protocol.clone().unwrap_or_else(|| "TCP".to_owned());
            Some((protocol, port.host_ip.clone().unwrap_or_default(), number))
        })
        .collect()
}

pub(super) fn add(to: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        let sum = to.entry(name.clone()).or_default();
        *sum = sum.saturating_add(*amount);
    }
}

fn raise(to: &mut Amounts, floor: &Amounts) {
    for (name, amount) in floor {
        let value = to.entry(name.clone()).or_default();
        *value = (*value).max(*amount);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(spec: &Value, cpu: i64, gpu: i64) {
        let pod: Pod = serde_json::from_value(json!({ "metadata": {}, "spec": spec })).unwrap();
        let amounts = Charge::of(&pod).amounts;
        let amount = |name: &str| amounts.get(name).copied().unwrap_or(0);
        assert_eq!((amount("cpu"), amount("nvidia.com/gpu")), (cpu, gpu), "{spec}");
    }

    fn container(cpu: &str, more: &Value) -> Value {
        let mut container = json!({ "name": "c", "resources": { "requests": { "cpu": cpu } } });
        container.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        container
    }

    #[test]
    fn a_pod_is_charged_for_its_worst_moment() {
        let one = || container("1", &json!({}));
        let sidecar = |cpu| container(cpu, &json!({ "restartPolicy": "Always" }));
        let containers = || json!([one(), one()]);
        check(&json!({ "containers": containers() }), 2000, 0);
        // An init container that needs more than all containers together, and one that needs less.
        check(&json!({ "containers": containers(), "initContainers": [container("5", &json!({}))] }), 5000, 0);
        check(&json!({ "containers": containers(), "initContainers": [one()] }), 2000, 0);
        // Sidecars count beside the containers, and beside init containers that come after them only.
        check(
            &json!({ "containers": containers(), "initContainers": [sidecar("500m"), container("2", &json!({}))] }),
            2500,
            0,
        );
        check(
            &json!({ "containers": containers(), "initContainers": [sidecar("500m"), container("3", &json!({}))] }),
            3500,
            0,
        );
        check(
            &json!({ "containers": containers(), "initContainers": [container("3", &json!({})), sidecar("500m")] }),
            3000,
            0,
        );
        // Overhead comes on top; pod-level requests replace, but only those that may be given there.
        check(&json!({ "containers": containers(), "overhead": { "cpu": "250m" } }), 2250, 0);
        let gpus = json!({ "resources": { "requests": { "cpu": "1", "nvidia.com/gpu": "4" } } });
        check(
            &json!({
                "containers": [container("1", &gpus)],
                "resources": { "requests": { "cpu": "6", "nvidia.com/gpu": "1" } },
                "overhead": { "cpu": "250m" },
            }),
            6250,
            4,
        );
    }

    #[test]
    fn only_host_ports_are_taken() {
        let ports =
            json!({ "ports": [{ "containerPort": 80 }, { "containerPort": 81, "hostPort": 8081, "protocol": "UDP" }] });
        let pod = json!({ "metadata": {}, "spec": { "containers": [container("1", &ports)] } });
        let pod: Pod = serde_json::from_value(pod).unwrap();
        assert_eq!(Charge::of(&pod).ports, [("UDP".to_owned(), String::new(), 8081)]);
    }
}
