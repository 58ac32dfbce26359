//! What is refused of nodes and namespaces.

use serde_json::Value;

use super::scheduling::taint_effect;
use super::{Findings, container};
use crate::builtin::reach::{at, entries, list, text};
use crate::builtin::{inside, names};
use crate::status::{Fault, What};

/// A node, its spec or its status.
pub fn node(new: &Value, old: Option<&Value>, subresource: &str, found: &mut Findings) {
    if subresource.is_empty() {
        taints(new, found);
        amounts(new, found);
        for (index, range) in list(new, "spec.podCIDRs").iter().enumerate() {
            let range = range.as_str().unwrap_or_default();
            if !is_range(range) {
                let detail = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
                found.invalid(&format!("spec.podCIDRs[{index}]"), range, detail);
            }
        }
    }
    let Some(old) = old else { return };
    // Rules for new nodes hold for changed ones too, and a server tells them twice.
    amounts(new, found);
    let before = list(old, "spec.podCIDRs");
    if !before.is_empty() && before != list(new, "spec.podCIDRs") {
        found.forbidden("spec.podCIDRs", "node updates may not change podCIDR except from \"\" to valid");
    }
    let provider = text(old, "spec.providerID");
    if !provider.is_empty() && provider != text(new, "spec.providerID") {
        found.forbidden("spec.providerID", "node updates may not change providerID except from \"\" to valid");
    }
    taints(new, found);
}

fn amounts(node: &Value, found: &mut Findings) {
    for part in ["capacity", "allocatable"] {
        for (name, amount) in entries(&node["status"], part) {
            container::amount(name, amount, &format!("status.{part}.{name}"), found);
        }
    }
}

/// Whether text is a range of addresses such as `10.0.0.0/24`.
fn is_range(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let most = match address.parse::<std::net::IpAddr>() {
        Ok(std::net::IpAddr::V4(_)) => 32,
        Ok(std::net::IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    bits.parse::<u8>().is_ok_and(|bits| bits <= most)
}

fn taints(node: &Value, found: &mut Findings) {
    let all = list(node, "spec.taints");
    for (index, taint) in all.iter().enumerate() {
        // The server looks for taints in the metadata, and says so.
        let path = format!("metadata.taints[{index}]");
        let (key, value, effect) = (text(taint, "key"), text(taint, "value"), text(taint, "effect"));
        found.each(&format!("{path}.key"), key, names::label_key(key));
        let details = names::label_value(value);
        if !details.is_empty() {
            found.invalid(&format!("{path}.value"), value, details.join(";"));
        }
        taint_effect(effect, false, &format!("{path}.effect"), found);
        if all[..index].iter().any(|other| text(other, "key") == key && text(other, "effect") == effect) {
            let shown = inside::compact("Taint", taint);
            let detail = format!("{shown}: taints must be unique by key and effect pair");
            found.faults.push(Fault { what: What::Duplicate, field: path, value: None, detail });
        }
    }
}

/// A namespace; its status follows its deletion.
pub fn namespace(new: &Value, subresource: &str, found: &mut Findings) {
    if subresource == "status" {
        let (phase, gone) = (text(new, "status.phase"), !at(new, "metadata.deletionTimestamp").is_null());
        if gone && phase != "Terminating" {
            let detail = "may only be 'Terminating' if `deletionTimestamp` is not empty";
            found.invalid("status.Phase", phase, detail);
        } else if !gone && phase != "Active" {
            found.invalid("status.Phase", phase, "may only be 'Active' if `deletionTimestamp` is empty");
        }
        return;
    }
    for finalizer in list(new, "spec.finalizers") {
        let name = finalizer.as_str().unwrap_or_default();
        found.each("spec.finalizers", name, names::qualified(name));
        if !name.contains('/') && !matches!(name, "kubernetes" | "orphan" | "foregroundDeletion") {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            found.invalid("spec.finalizers", name, detail);
        }
    }
}
