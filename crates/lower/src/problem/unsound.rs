//! What has to be left out where some objects are at fault and the rest is to be planned all the same.

use super::{Fault, Observed};
use k8s_openapi::api::core::v1::Pod;
use std::collections::{BTreeMap, BTreeSet};

/// Objects by kind and place in their list of [`Observed`].
pub type Unsound = BTreeMap<&'static str, BTreeSet<usize>>;

/// The objects at fault, and of PodGangs among them the waiting pods: they must not be placed one by one.
pub fn unsound(observed: &Observed<'_>, faults: &[Fault]) -> Unsound {
    let mut found = Unsound::new();
    for fault in faults {
        found.entry(fault.kind).or_default().insert(fault.index);
    }
    if let Some(gangs) = found.get("PodGang") {
        let members = members(observed, gangs);
        found.entry("Pod").or_default().extend(members);
    }
    found
}

fn members(observed: &Observed<'_>, gangs: &BTreeSet<usize>) -> Vec<usize> {
    let gangs = gangs.iter().filter_map(|gang| observed.pod_gangs.get(*gang));
    let named: BTreeSet<(Option<&str>, &str)> = gangs
        .flat_map(|gang| {
            let pods = gang.spec.pod_groups.iter().flat_map(|group| &group.pod_references);
            pods.map(|pod| (gang.metadata.namespace.as_deref(), pod.name.as_str()))
        })
        .collect();
    let is_named = |pod: &Pod| {
        let name = (pod.metadata.namespace.as_deref(), pod.metadata.name.as_deref().unwrap_or_default());
        !named.is_empty() && named.contains(&name)
    };
    // One that is taken to be on a node takes up room there.
    let is_assumed = |pod: &Pod| {
        let name = (super::drafts::namespace(&pod.metadata), pod.metadata.name.as_deref().unwrap_or_default());
        observed.assumed.contains_key(&name)
    };
    let has_node = |pod: &Pod| pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some());
    let waits = |pod: &Pod| !has_node(pod) && !is_assumed(pod);
    (0..observed.pods.len()).filter(|at| is_named(observed.pods[*at]) && waits(observed.pods[*at])).collect()
}
