//! What is refused of the volumes of pods.

use serde_json::Value;

use super::Findings;
use super::container::{FILE_PATHS, field_path, resource_path};
use crate::builtin::names;
use crate::builtin::quantity::Quantity;
use crate::builtin::reach::{at, list, text};

/// The kinds of volumes, in the order in which a server looks at them, with the name by which it tells a second one.
const KINDS: [(&str, &str); 30] = [
    ("emptyDir", "emptyDir"),
    ("hostPath", "hostPath"),
    ("gitRepo", "gitRepo"),
    ("gcePersistentDisk", "gcePersistentDisk"),
    ("awsElasticBlockStore", "awsElasticBlockStore"),
    ("secret", "secret"),
    ("nfs", "nfs"),
    ("iscsi", "iscsi"),
    ("glusterfs", "glusterfs"),
    ("flocker", "flocker"),
    ("persistentVolumeClaim", "persistentVolumeClaim"),
    ("rbd", "rbd"),
    ("cinder", "cinder"),
    ("cephfs", "cephFS"),
    ("quobyte", "quobyte"),
    // Spelled so by the server.
    ("downwardAPI", "downwarAPI"),
    ("fc", "fc"),
    ("flexVolume", "flexVolume"),
    ("configMap", "configMap"),
    ("azureFile", "azureFile"),
    ("vsphereVolume", "vsphereVolume"),
    ("photonPersistentDisk", "photonPersistentDisk"),
    ("portworxVolume", "portworxVolume"),
    ("azureDisk", "azureDisk"),
    ("storageos", "storageos"),
    ("projected", "projected"),
    ("scaleIO", "scaleIO"),
    ("csi", "csi"),
    ("ephemeral", "ephemeral"),
    ("image", "image"),
];

/// Fields of volumes that have to be there.
const NEEDED: &[(&str, &[&str])] = &[
    ("hostPath", &["path"]),
    ("secret", &["secretName"]),
    ("configMap", &["name"]),
    ("persistentVolumeClaim", &["claimName"]),
    ("nfs", &["server", "path"]),
    ("iscsi", &["targetPortal", "iqn"]),
    ("csi", &["driver"]),
    ("image", &["reference"]),
];

/// All volumes of a pod.
pub fn all(pod: &Value, found: &mut Findings) {
    let mut names: Vec<&str> = Vec::new();
    for (index, volume) in list(pod, "spec.volumes").iter().enumerate() {
        let path = format!("spec.volumes[{index}]");
        let before = found.faults.len();
        source(volume, &path, found);
        let name = text(volume, "name");
        found.label(&format!("{path}.name"), name);
        if names.contains(&name) {
            found.duplicate(&format!("{path}.name"), name);
        }
        if found.faults.len() == before {
            names.push(name);
        }
    }
}

fn source(volume: &Value, path: &str, found: &mut Findings) {
    let mut first = true;
    for (kind, told) in KINDS {
        let given = &volume[kind];
        if given.is_null() {
            continue;
        }
        if !first {
            found.forbidden(&format!("{path}.{told}"), "may not specify more than 1 volume type");
            continue;
        }
        first = false;
        let path = format!("{path}.{kind}");
        let needed = NEEDED.iter().find(|(known, _)| *known == kind).map_or(&[][..], |(_, needed)| needed);
        for field in needed.iter().filter(|field| text(given, field).is_empty()) {
            found.required(&format!("{path}.{field}"), "");
        }
        detail(kind, given, &path, found);
    }
    if first {
        found.required(path, "must specify a volume type");
    }
}

fn detail(kind: &str, given: &Value, path: &str, found: &mut Findings) {
    match kind {
        "emptyDir" if Quantity::of(at(given, "sizeLimit")).is_some_and(Quantity::is_negative) => {
            found.forbidden(&format!("{path}.sizeLimit"), "SizeLimit field must be a valid resource quantity");
        }
        "hostPath" => {
            no_steps_back(text(given, "path"), &format!("{path}.path"), found);
            let types =
                ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];
            let kind = text(given, "type");
            if !types.contains(&kind) {
                found.unsupported(&format!("{path}.type"), kind, &types);
            }
        }
        "nfs" if !text(given, "path").starts_with('/') => {
            found.invalid(&format!("{path}.path"), text(given, "path"), "must be an absolute path");
        }
        "ephemeral" if given["volumeClaimTemplate"].is_null() => {
            found.required(&format!("{path}.volumeClaimTemplate"), "");
        }
        "secret" | "configMap" | "downwardAPI" | "projected" => {
            mode(&given["defaultMode"], &format!("{path}.defaultMode"), found);
            if kind == "downwardAPI" {
                files(given, path, found);
            } else {
                items(given, path, found);
            }
            for (index, source) in list(given, "sources").iter().enumerate() {
                projection(source, &format!("{path}.sources[{index}]"), found);
            }
        }
        _ => {}
    }
}

fn projection(source: &Value, path: &str, found: &mut Findings) {
    for kind in ["secret", "configMap"] {
        let given = &source[kind];
        if !given.is_null() {
            let path = format!("{path}.{kind}");
            if text(given, "name").is_empty() {
                found.required(&format!("{path}.name"), "");
            }
            items(given, &path, found);
        }
    }
    let token = &source["serviceAccountToken"];
    if !token.is_null() {
        let path = format!("{path}.serviceAccountToken");
        if let Some(seconds) = token["expirationSeconds"].as_i64() {
            if seconds < 600 {
                found.invalid(
                    &format!("{path}.expirationSeconds"),
                    seconds,
                    "may not specify a duration less than 10 minutes",
                );
            } else if seconds > 1 << 32 {
                found.invalid(
                    &format!("{path}.expirationSeconds"),
                    seconds,
                    "may not specify a duration larger than 2^32 seconds",
                );
            }
        }
        if text(token, "path").is_empty() {
            // A server tells this of the volume, not of its source.
            let volume = path.split(".sources[").next().unwrap_or_default().to_owned();
            found.required(&format!("{volume}.path"), "");
        }
    }
}

fn items(given: &Value, path: &str, found: &mut Findings) {
    for (index, item) in list(given, "items").iter().enumerate() {
        let path = format!("{path}.items[{index}]");
        for field in ["key", "path"].iter().filter(|field| text(item, field).is_empty()) {
            found.required(&format!("{path}.{field}"), "");
        }
        let (field, inner) = (format!("{path}.path"), text(item, "path"));
        if inner.starts_with('/') {
            found.invalid(&field, inner, "must be a relative path");
        }
        no_steps_back(inner, &field, found);
        if inner.starts_with("..") && !inner.starts_with("../") && inner != ".." {
            found.invalid(&field, inner, "must not start with '..'");
        }
        mode(&item["mode"], &format!("{path}.mode"), found);
    }
}

/// Files that show fields of the pod. A server tells their faults without saying which.
fn files(given: &Value, path: &str, found: &mut Findings) {
    for file in list(given, "items") {
        if text(file, "path").is_empty() {
            found.required(&format!("{path}.path"), "");
        }
        no_steps_back(text(file, "path"), &format!("{path}.path"), found);
        let (fields, resources) = (&file["fieldRef"], &file["resourceFieldRef"]);
        match (fields.is_null(), resources.is_null()) {
            (true, true) => found.required(path, "one of fieldRef and resourceFieldRef is required"),
            (true, false) if text(resources, "containerName").is_empty() => {
                found.required(&format!("{path}.resourceFieldRef.containerName"), "");
            }
            (true, false) => resource_path(text(resources, "resource"), &format!("{path}.resourceFieldRef"), found),
            (false, other) => {
                field_path(text(fields, "fieldPath"), FILE_PATHS, &format!("{path}.fieldRef"), found);
                if !other {
                    let detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
                    found.invalid(path, "resource", detail);
                }
            }
        }
        mode(&file["mode"], &format!("{path}.mode"), found);
    }
}

fn mode(value: &Value, field: &str, found: &mut Findings) {
    if let Some(mode) = value.as_i64().filter(|mode| !(0..=0o777).contains(mode)) {
        found.invalid(field, mode, "must be a number between 0 and 0777 (octal), both inclusive");
    }
}

fn no_steps_back(path: &str, field: &str, found: &mut Findings) {
    if path.split('/').any(|part| part == "..") {
        found.invalid(field, path, "must not contain '..'");
    }
}

/// What is wrong with a key of data.
pub fn data_key(key: &str, field: &str, found: &mut Findings) {
    found.each(field, key, names::config_key(key));
}
