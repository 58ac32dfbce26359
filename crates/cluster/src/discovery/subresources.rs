//! Which subresources a resource has, what kind they answer with, and what a client may do with them.

use crate::resource::{Resource, Version};

/// A subresource as discovery and OpenAPI describe it.
#[derive(Debug)]
pub(crate) struct Subresource {
    /// `status`
    pub name: &'static str,
    /// Group and version of the kind, where it is at home in another group than the resource.
    pub group_version: Option<(&'static str, &'static str)>,
    /// The kind that it takes and answers with.
    pub kind: String,
    /// What a client may do.
    pub verbs: &'static [&'static str],
}

const SAME_OBJECT: &[&str] = &["get", "patch", "update"];
const CREATE: &[&str] = &["create"];
const STREAM: &[&str] = &["create", "get"];
const PROXY: &[&str] = &["create", "delete", "get", "patch", "update"];

/// In the order of the real server: by name for built-in kinds, status before scale for custom ones.
pub(crate) fn subresources(resource: &Resource, version: &Version) -> Vec<Subresource> {
    let has = &version.subresources;
    let mut names = Vec::new();
    names.extend(has.status.then_some("status"));
    names.extend(has.scale.is_some().then_some("scale"));
    if !resource.is_custom() {
        names.extend(&has.others);
        names.sort_unstable();
        names.dedup();
    }
    names.into_iter().map(|name| describe(&resource.kind, name)).collect()
}

fn describe(kind: &str, name: &'static str) -> Subresource {
    let own = |verbs: &'static [&'static str]| (None, kind.to_owned(), verbs);
    let (group_version, kind, verbs) = match name {
        "scale" => (Some(("autoscaling", "v1")), "Scale".to_owned(), SAME_OBJECT),
        "eviction" => (Some(("policy", "v1")), "Eviction".to_owned(), CREATE),
        "token" => (Some(("authentication.k8s.io", "v1")), "TokenRequest".to_owned(), CREATE),
        "binding" => (None, "Binding".to_owned(), CREATE),
        "attach" => (None, format!("{kind}AttachOptions"), STREAM),
        "exec" => (None, format!("{kind}ExecOptions"), STREAM),
        "portforward" => (None, format!("{kind}PortForwardOptions"), STREAM),
        "proxy" => (None, format!("{kind}ProxyOptions"), PROXY),
        "log" => own(&["get"]),
        "finalize" => own(&["update"]),
        _ => own(SAME_OBJECT),
    };
    Subresource { name, group_version, kind, verbs }
}
