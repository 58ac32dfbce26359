//! What is refused of volumes, claims and storage classes.

use serde_json::Value;

use super::Findings;
use crate::builtin::inside;
use crate::builtin::metadata::selector_faults;
use crate::builtin::quantity::Quantity;
use crate::builtin::reach::{at, list, put, text};
use crate::status::{Fault, What};

/// A claim of a volume.
pub fn claim(new: &Value, old: Option<&Value>, found: &mut Findings) {
    let modes = list(new, "spec.accessModes");
    if modes.is_empty() {
        found.required("spec.accessModes", "at least 1 access mode is required");
    }
    selector_faults(at(new, "spec.selector"), "spec.selector", &mut found.faults);
    access_modes(modes, found);
    match Quantity::of(&at(new, "spec.resources.requests")["storage"]) {
        None => found.required("spec.resources[storage]", ""),
        Some(amount) if amount.is_negative() || amount.is_zero() => {
            found.invalid("spec.resources[storage]", amount.to_string(), "must be greater than zero");
        }
        Some(_) => {}
    }
    found.subdomain("spec", &new["spec"], "storageClassName");
    volume_mode(new, found);
    if let Some(old) = old {
        changed_claim(new, old, found);
    }
}

const CLAIM_SPEC: &str =
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";

fn changed_claim(new: &Value, old: &Value, found: &mut Findings) {
    let (mut now, mut before) = (new["spec"].clone(), old["spec"].clone());
    let bound = text(new, "status.phase") == "Bound";
    // What may change is made the same in both.
    if let (Some(now), Some(before)) = (now.as_object_mut(), before.as_object_mut()) {
        if text(old, "spec.volumeName").is_empty() {
            put(before, "volumeName", now.get("volumeName").cloned());
        }
        if bound {
            for field in ["volumeAttributesClassName", "resources"] {
                put(now, field, before.get(field).cloned());
            }
        }
    }
    if now != before {
        let diff = inside::diff("PersistentVolumeClaimSpec", &before, &now);
        found.forbidden("spec", format!("{CLAIM_SPEC}\n{diff}"));
    }
}

/// A volume.
pub fn volume(new: &Value, old: Option<&Value>, found: &mut Findings) {
    let modes = list(new, "spec.accessModes");
    if modes.is_empty() {
        found.required("spec.accessModes", "");
    }
    access_modes(modes, found);
    let capacity = at(new, "spec.capacity");
    if capacity.as_object().is_none_or(serde_json::Map::is_empty) {
        found.required("spec.capacity", "");
    }
    if capacity["storage"].is_null() || capacity.as_object().is_some_and(|capacity| capacity.len() > 1) {
        let detail = "supported values: \"storage\"";
        found.faults.push(Fault::of(What::NotSupported, "spec.capacity", capacity.clone(), detail));
    }
    let plain =
        ["accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity", "persistentVolumeReclaimPolicy"];
    let named = ["storageClassName", "volumeAttributesClassName", "volumeMode"];
    let fields = at(new, "spec").as_object().into_iter().flat_map(serde_json::Map::keys).map(String::as_str);
    if !fields.into_iter().any(|field| !plain.contains(&field) && !named.contains(&field)) {
        found.required("spec", "must specify a volume type");
    }
    let reclaim = text(new, "spec.persistentVolumeReclaimPolicy");
    if !matches!(reclaim, "" | "Delete" | "Recycle" | "Retain") {
        found.unsupported("spec.persistentVolumeReclaimPolicy", reclaim, &["Delete", "Recycle", "Retain"]);
    }
    found.subdomain("spec", &new["spec"], "storageClassName");
    volume_mode(new, found);
    let Some(old) = old else { return };
    let source = |object: &Value| {
        let mut spec = object["spec"].clone();
        if let Some(spec) = spec.as_object_mut() {
            spec.retain(|field, _| !plain.contains(&field.as_str()) && !named.contains(&field.as_str()));
        }
        spec
    };
    let (now, before) = (source(new), source(old));
    if now != before {
        let diff = inside::diff("PersistentVolumeSource", &before, &now);
        let detail = format!("spec.persistentvolumesource is immutable after creation\n{diff}");
        found.forbidden("spec.persistentvolumesource", detail);
    }
}

const ACCESS_MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

fn access_modes(modes: &[Value], found: &mut Findings) {
    for mode in modes.iter().filter_map(Value::as_str).filter(|mode| !ACCESS_MODES.contains(mode)) {
        found.unsupported("spec.accessModes", mode, &ACCESS_MODES);
    }
    if modes.len() > 1 && modes.iter().any(|mode| mode == "ReadWriteOncePod") {
        found.forbidden("spec.accessModes", "may not use ReadWriteOncePod with other access modes");
    }
}

fn volume_mode(new: &Value, found: &mut Findings) {
    let mode = text(new, "spec.volumeMode");
    if !matches!(mode, "" | "Block" | "Filesystem") {
        found.unsupported("spec.volumeMode", mode, &["Block", "Filesystem"]);
    }
}

/// A storage class; most of it stays as it was made.
pub fn storage_class(new: &Value, old: Option<&Value>, found: &mut Findings) {
    if let Some(old) = old {
        if new["parameters"] != old["parameters"] {
            found.forbidden("parameters", "updates to parameters are forbidden.");
        }
        for field in ["provisioner", "reclaimPolicy", "volumeBindingMode"] {
            found.unchanged(field, &new[field], &old[field]);
        }
        return;
    }
    if text(new, "provisioner").is_empty() {
        found.required("provisioner", "");
    }
}
