//! What the API says about itself: which groups, versions and resources it serves, which version of Kubernetes it
//! behaves like, and whether it is well. All of it follows from the resources that are served at the moment.
//!
//! There are two forms of discovery. The old one has a document for every group and version; the aggregated one, which
//! newer clients ask for in their `Accept` header, says everything in two documents. The order of groups and versions
//! matters to clients: for `kubectl get gangs` the first group that has such a resource wins, and in it the first
//! version.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::digest;
use serde_json::{Map, Value, json};

use crate::resource::{Origin, Resource, Version};

mod subresources;
mod versions;

#[cfg(test)]
pub(crate) mod tests;

pub(crate) use subresources::{Subresource, subresources};
pub use versions::newest_first;

/// The version of Kubernetes whose behaviour is copied.
const KUBERNETES: (&str, &str, &str) = ("1", "36", "v1.36.3+trellis");

/// The content type of an aggregated answer, in the only version that Kubernetes 1.36 still serves.
pub const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Groups of Kubernetes in the order in which its own server lists them; groups of custom resources come after them by
/// name.
const GROUPS: [&str; 21] = [
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
];

const ALL_VERBS: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
/// The same verbs; the server of custom resources lists them in this order.
const CUSTOM_VERBS: [&str; 8] = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
/// Namespaces go one by one.
const NAMESPACE_VERBS: [&str; 7] = ["create", "delete", "get", "list", "patch", "update", "watch"];

/// Major and minor version of the Kubernetes whose behaviour is copied.
pub(crate) fn kubernetes() -> (&'static str, &'static str) {
    (KUBERNETES.0, KUBERNETES.1)
}

/// What a client may do with objects of a resource.
pub(crate) fn verbs(resource: &Resource) -> &'static [&'static str] {
    match resource.origin {
        Origin::Custom { .. } => &CUSTOM_VERBS,
        Origin::Virtual => &["create"],
        Origin::BuiltIn if resource.group.is_empty() && resource.plural == "namespaces" => &NAMESPACE_VERBS,
        Origin::BuiltIn => &ALL_VERBS,
    }
}

/// `GET /api`; `address` is where clients outside reach the server.
pub fn versions(address: &str) -> Value {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    })
}

/// `GET /apis`
pub fn groups(resources: &[Arc<Resource>]) -> Value {
    let groups: Vec<Value> =
        group_names(resources).into_iter().filter_map(|name| about_group(resources, name)).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `GET /apis/GROUP`, if there is such a group.
pub fn group(resources: &[Arc<Resource>], group: &str) -> Option<Value> {
    let mut answer = about_group(resources, group).filter(|_| !group.is_empty())?;
    answer["kind"] = "APIGroup".into();
    answer["apiVersion"] = "v1".into();
    Some(answer)
}

/// A short name for the version in which objects are stored.
fn storage_hash(resource: &Resource) -> String {
    // Events of both groups are stored as those of the core group.
    let group = if resource.group == "events.k8s.io" { "" } else { &resource.group };
    // Definitions are still stored as they were in the beginning.
    let storage = if resource.group == "apiextensions.k8s.io" { "v1beta1" } else { &resource.storage };
    let text = format!("{group}/{storage}/{}", resource.kind);
    BASE64.encode(&digest::digest(&digest::SHA256, text.as_bytes()).as_ref()[..8])
}

/// `GET /apis/GROUP/VERSION`, or `GET /api/v1` for the empty group, if anything is served there.
pub fn resources(resources: &[Arc<Resource>], group: &str, version: &str) -> Option<Value> {
    let mut entries = Vec::new();
    for (resource, version) in served_in(resources, group, version) {
        let mut own = entry(&resource.plural, resource, &resource.kind, verbs(resource));
        if !matches!(resource.origin, Origin::Virtual) {
            own["storageVersionHash"] = storage_hash(resource).into();
        }
        entries.push(own);
        for sub in subresources(resource, version) {
            let mut entry = entry(&format!("{}/{}", resource.plural, sub.name), resource, &sub.kind, sub.verbs);
            if let Some((group, version)) = sub.group_version {
                entry["group"] = group.into();
                entry["version"] = version.into();
            }
            entries.push(entry);
        }
    }
    if entries.is_empty() {
        return None;
    }
    let group_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    let mut answer = json!({"kind": "APIResourceList", "groupVersion": group_version, "resources": entries});
    // The real server leaves it out for the core group, which is older than the field.
    if !group.is_empty() {
        answer["apiVersion"] = "v1".into();
    }
    Some(answer)
}

/// `GET /api` (`core`) or `GET /apis` for clients that want it all in one answer.
pub fn aggregated(resources: &[Arc<Resource>], core: bool) -> Value {
    let names = if core { vec![""] } else { group_names(resources) };
    let items: Vec<Value> = names.into_iter().map(|name| aggregated_group(resources, name)).collect();
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items})
}

/// Whether an `Accept` header asks for an aggregated answer, and the content type of that answer.
///
/// The real server takes the aggregated form wherever in the list it stands and whatever its weight.
pub fn accepts_aggregated(accept: &str) -> Option<&'static str> {
    accept
        .split(',')
        .any(|clause| {
            let mut parts = clause.split(';').map(str::trim);
            let json = matches!(parts.next(), Some("application/json" | "application/*" | "*/*"));
            let parameters: Vec<&str> = parts.collect();
            json && ["g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList"]
                .iter()
                .all(|want| parameters.contains(want))
        })
        .then_some(AGGREGATED)
}

/// The `ETag` header of an aggregated answer with this body, quotes included.
pub fn etag(body: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA512, body);
    format!("\"{}\"", hex(digest.as_ref()))
}

/// Upper case, as the real server writes hashes.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |text, byte| text + &format!("{byte:02X}"))
}

/// Whether a client that sent this `If-None-Match` header has the document already, so that the answer is 304 without a
/// body.
///
/// Like the real server for discovery it compares the whole header: neither lists nor weak tags count.
pub fn unchanged(if_none_match: &str, etag: &str) -> bool {
    if_none_match == etag
}

/// `GET /version`
pub fn version() -> Value {
    let (major, minor, full) = KUBERNETES;
    let machine = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    json!({
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": "35",
        "gitVersion": full,
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{machine}", std::env::consts::OS),
    })
}

/// The text answer of `/healthz`, `/livez` and `/readyz` of a server that is well; `path` may name the one check that
/// there is (`/livez/ping`).
pub fn healthy(path: &str, verbose: bool) -> Option<String> {
    let mut parts = path.trim_matches('/').split('/');
    let name = parts.next().filter(|name| ["healthz", "livez", "readyz"].contains(name))?;
    match (parts.next(), parts.next()) {
        (None, _) if verbose => Some(format!("[+]ping ok\n{name} check passed\n")),
        (None, _) | (Some("ping"), None) => Some("ok".to_owned()),
        _ => None,
    }
}

/// `GET /`: where to look further.
pub fn paths(resources: &[Arc<Resource>]) -> Value {
    let mut paths: Vec<String> =
        ["/api", "/api/v1", "/apis", "/apis/", "/healthz", "/healthz/ping", "/livez", "/livez/ping"]
            .into_iter()
            .chain(["/openapi/v3", "/openapi/v3/", "/readyz", "/readyz/ping", "/version"])
            .map(str::to_owned)
            .collect();
    for group in group_names(resources) {
        paths.push(format!("/apis/{group}"));
        paths.extend(version_names(resources, group).into_iter().map(|version| format!("/apis/{group}/{version}")));
    }
    paths.sort_unstable();
    json!({"paths": paths})
}

/// The names of all groups but the core group, in the order in which clients should look into them.
pub(crate) fn group_names(resources: &[Arc<Resource>]) -> Vec<&str> {
    let mut names: Vec<&str> = resources
        .iter()
        .filter(|resource| !resource.group.is_empty() && resource.versions.iter().any(|version| version.served))
        .map(|resource| resource.group.as_str())
        .collect();
    names.sort_unstable_by_key(|name| (GROUPS.iter().position(|group| group == name).unwrap_or(GROUPS.len()), *name));
    names.dedup();
    names
}

/// The versions that are served in a group, the preferred one first.
pub(crate) fn version_names<'a>(resources: &'a [Arc<Resource>], group: &str) -> Vec<&'a str> {
    let mut names: Vec<&str> = resources
        .iter()
        .filter(|resource| resource.group == group)
        .flat_map(|resource| &resource.versions)
        .filter(|version| version.served)
        .map(|version| version.name.as_str())
        .collect();
    names.sort_unstable_by(|a, b| newest_first(a, b));
    names.dedup();
    names
}

/// What is served in a version of a group, by name.
pub(crate) fn served_in<'a>(
    resources: &'a [Arc<Resource>],
    group: &str,
    version: &str,
) -> Vec<(&'a Resource, &'a Version)> {
    let mut served: Vec<(&Resource, &Version)> = resources
        .iter()
        .filter(|resource| resource.group == group)
        .filter_map(|resource| Some((resource.as_ref(), resource.served(version)?)))
        .collect();
    served.sort_unstable_by_key(|(resource, _)| resource.plural.as_str());
    served
}

fn about_group(resources: &[Arc<Resource>], group: &str) -> Option<Value> {
    let versions: Vec<Value> = version_names(resources, group)
        .into_iter()
        .map(|version| json!({"groupVersion": format!("{group}/{version}"), "version": version}))
        .collect();
    let preferred = versions.first()?.clone();
    Some(json!({"name": group, "versions": versions, "preferredVersion": preferred}))
}

/// One line of an `APIResourceList`. Only resources proper have a singular and the other names.
fn entry(name: &str, resource: &Resource, kind: &str, verbs: &[&str]) -> Value {
    let proper = name == resource.plural;
    let mut entry = json!({
        "name": name,
        "singularName": if proper { resource.singular.as_str() } else { "" },
        "namespaced": resource.namespaced,
        "kind": kind,
        "verbs": verbs,
    });
    if proper {
        add_names(&mut entry, resource);
    }
    entry
}

fn add_names(entry: &mut Value, resource: &Resource) {
    for (key, names) in [("shortNames", &resource.short_names), ("categories", &resource.categories)] {
        if !names.is_empty() {
            entry[key] = names.as_slice().into();
        }
    }
}

fn aggregated_group(resources: &[Arc<Resource>], group: &str) -> Value {
    let versions: Vec<Value> = version_names(resources, group)
        .into_iter()
        .map(|name| {
            let entries: Vec<Value> = served_in(resources, group, name)
                .into_iter()
                .map(|(resource, version)| aggregated_entry(resource, version))
                .collect();
            json!({"version": name, "resources": entries, "freshness": "Current"})
        })
        .collect();
    let mut metadata = Map::new();
    if !group.is_empty() {
        metadata.insert("name".to_owned(), group.into());
    }
    json!({"metadata": metadata, "versions": versions})
}

fn aggregated_entry(resource: &Resource, version: &Version) -> Value {
    // Group and version stay empty for built-in kinds that are at home in the group where they are served.
    let own = if resource.is_custom() { (resource.group.as_str(), version.name.as_str()) } else { ("", "") };
    let response =
        |(group, version): (&str, &str), kind: &str| json!({"group": group, "version": version, "kind": kind});
    let mut entry = json!({
        "resource": resource.plural,
        "responseKind": response(own, &resource.kind),
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular,
        "verbs": verbs(resource),
    });
    add_names(&mut entry, resource);
    let subs: Vec<Value> = subresources(resource, version)
        .into_iter()
        .map(|sub| {
            let response = response(sub.group_version.unwrap_or(own), &sub.kind);
            json!({"subresource": sub.name, "responseKind": response, "verbs": sub.verbs})
        })
        .collect();
    if !subs.is_empty() {
        entry["subresources"] = subs.into();
    }
    entry
}
