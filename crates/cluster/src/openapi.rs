//! OpenAPI v3: for every version of every group a document with the schemas of its kinds and the requests that it
//! takes.
//!
//! kubectl reads the schemas for `explain` and for the merge keys of `apply`, and the requests to find out whether the
//! server validates fields itself. Documents follow from the resources that are served and from the definitions that
//! built-in kinds share; they are made when somebody asks, and kept by the caller for as long as the resources stay the
//! same.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::discovery::{self, group_names, served_in, version_names};
use crate::resource::Resource;

mod hash;
mod paths;
mod schemas;

#[cfg(test)]
mod tests;

pub use hash::hash;

/// `GET /openapi/v3`: where the documents are. The hash in an address changes whenever the document does, so that
/// clients may keep what they have read under it for ever.
pub fn index(resources: &[Arc<Resource>]) -> Value {
    let mut paths = Map::new();
    for group in std::iter::once("").chain(group_names(resources)) {
        for version in version_names(resources, group) {
            let hash = hash(resources, group, version).unwrap_or_default();
            paths.insert(path(group, version), json!({"serverRelativeURL": address(group, version, &hash)}));
        }
    }
    json!({"paths": paths})
}

/// `GET /openapi/v3/apis/GROUP/VERSION`, or `GET /openapi/v3/api/v1` for the empty group, if anything is served there.
///
/// `components` are the definitions that built-in kinds refer to, by name.
pub fn document(
    resources: &[Arc<Resource>],
    components: &BTreeMap<String, Value>,
    group: &str,
    version: &str,
) -> Option<Value> {
    let served = served_in(resources, group, version);
    if served.is_empty() {
        return None;
    }
    let mut schemas = schemas::Schemas::new(components);
    let mut paths = Map::new();
    for (resource, version) in served {
        let kind = schemas.add_kind(resource, version);
        paths::add(&mut paths, &mut schemas, resource, version, &kind);
    }
    let (major, minor) = discovery::kubernetes();
    Some(json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": format!("{major}.{minor}")},
        "paths": paths,
        "components": {
            "schemas": schemas.finish(),
            "securitySchemes": {"BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}},
        },
    }))
}

/// Where a client finds the document that it asked for under an old hash: the answer is 301 with this as its
/// `Location`.
///
/// Nothing if the hash is right, if none was given, or if there is no such document.
pub fn moved(resources: &[Arc<Resource>], group: &str, version: &str, asked: &str) -> Option<String> {
    let hash = hash(resources, group, version).filter(|hash| !asked.is_empty() && hash != asked)?;
    Some(address(group, version, &hash))
}

fn address(group: &str, version: &str, hash: &str) -> String {
    format!("/openapi/v3/{}?hash={hash}", path(group, version))
}

/// `apis/GROUP/VERSION` or `api/v1`.
pub fn path(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}
