//! The quality of service that a pod gets by what its containers ask for.

use serde_json::Value;

use super::quantity::Quantity;
use super::reach::{entries, list};

/// `Guaranteed`, `Burstable` or `BestEffort`.
pub fn qos_class(pod: &Value) -> &'static str {
    // Requests of the pod as a whole, where there are some, speak for its containers.
    let whole = &pod["spec"]["resources"];
    let parts: Vec<&Value> = if ["requests", "limits"].iter().any(|field| amounts(whole, field).next().is_some()) {
        vec![whole]
    } else {
        list(pod, "spec.containers")
            .iter()
            .chain(list(pod, "spec.initContainers"))
            .map(|part| &part["resources"])
            .collect()
    };
    let none =
        parts.iter().all(|part| ["requests", "limits"].iter().all(|field| amounts(part, field).next().is_none()));
    if none {
        return "BestEffort";
    }
    let guaranteed = parts.iter().all(|part| {
        ["cpu", "memory"].iter().all(|name| {
            let limit = amounts(part, "limits").find(|(found, _)| found == name);
            let request = amounts(part, "requests").find(|(found, _)| found == name);
            limit.is_some_and(|limit| request.is_none_or(|request| request.1 == limit.1))
        })
    });
    if guaranteed { "Guaranteed" } else { "Burstable" }
}

/// The amounts that count: of processors and memory, and more than nothing.
fn amounts<'a>(resources: &'a Value, field: &'a str) -> impl Iterator<Item = (&'a str, Quantity)> {
    entries(resources, field)
        .filter(|(name, _)| matches!(name.as_str(), "cpu" | "memory"))
        .filter_map(|(name, amount)| Some((name.as_str(), Quantity::of(amount)?)))
        .filter(|(_, amount)| !amount.is_zero() && !amount.is_negative())
}
