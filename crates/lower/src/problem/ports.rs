//! Ports of hosts: no two pods of a node may have the same port of one protocol, unless they name different addresses.

use super::amounts::Amounts;
use super::pods::{Facts, Pods, State};
use super::tokens;
use k8s_openapi::api::core::v1::PodSpec;
use std::collections::{BTreeMap, BTreeSet};

/// The address that means all.
const ANY: &str = "0.0.0.0";

/// A port and its protocol.
type Port<'a> = (i32, &'a str);

/// Charges pods for the ports that they take, as far as somebody who waits asks for them.
///
/// A port of one address is one thing. A port of all addresses is that of every address which somebody names, and of none in particular.
pub(super) fn charge(pods: &mut Pods<'_>, amounts: &mut Amounts) {
    let takes_room = |pod: &&Facts<'_>| matches!(pod.state, State::Waiting | State::Bound(_) | State::Leaving(_));
    let waiting = pods.list.iter().filter(|pod| pod.state == State::Waiting);
    let mut asked: BTreeMap<Port<'_>, BTreeSet<&str>> =
        waiting.flat_map(|pod| ports(pod.spec())).map(|(port, _)| (port, BTreeSet::new())).collect();
    if asked.is_empty() {
        return;
    }
    for (port, address) in pods.list.iter().filter(takes_room).flat_map(|pod| ports(pod.spec())) {
        if let Some(addresses) = asked.get_mut(&port).filter(|_| address != ANY) {
            addresses.insert(address);
        }
    }
    let names = |pod: &Facts<'_>| -> Vec<String> {
        let mut names = BTreeSet::new();
        for ((number, protocol), address) in ports(pod.spec()) {
            let Some(addresses) = asked.get(&(number, protocol)) else { continue };
            let of_address = |address: &str| tokens::port(&format!("{address}:{number}/{protocol}"));
            if address == ANY {
                names.insert(tokens::port(&format!("{number}/{protocol}")));
                names.extend(addresses.iter().map(|address| of_address(address)));
            } else {
                names.insert(of_address(address));
            }
        }
        names.into_iter().collect()
    };
    let all = pods.list.iter().enumerate().filter(|(_, pod)| takes_room(pod));
    let taken: Vec<(usize, Vec<String>)> = all.map(|(at, pod)| (at, names(pod))).collect();
    tokens::charge(pods, amounts, taken.into_iter());
}

/// The ports of its host that a pod takes, with their addresses. On the host's network every port is one of the host.
fn ports(spec: Option<&PodSpec>) -> impl Iterator<Item = (Port<'_>, &str)> {
    let on_host = spec.is_some_and(|spec| spec.host_network == Some(true));
    let containers =
        spec.into_iter().flat_map(|spec| spec.containers.iter().chain(spec.init_containers.iter().flatten()));
    containers.flat_map(|container| container.ports.iter().flatten()).filter_map(move |port| {
        let number = port.host_port.filter(|port| *port > 0).or(Some(port.container_port).filter(|_| on_host))?;
        let protocol = port.protocol.as_deref().filter(|it| !it.is_empty()).unwrap_or("TCP");
        let address = port.host_ip.as_deref().filter(|it| !it.is_empty()).unwrap_or(ANY);
        Some(((number, protocol), address))
    })
}
