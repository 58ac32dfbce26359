//! The number of replicas of whatever has one: through `/scale`, as any client reads and writes it.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{Method, Request};
use serde_json::Value;

use crate::api::Api;
use crate::http::body;
use crate::user::User;

/// Why there is no scale to be had.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) code: u16,
    pub(super) message: String,
}

/// Where a scale is.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// The resource as messages name it: `gangs.example.com`.
    pub(super) resource: String,
    /// Whether objects of this resource have a scale.
    pub(super) exists: bool,
    path: String,
}

/// Where the scale of an object is; nothing if there is no such kind. Without a version, any that is served will do.
pub(super) fn place(
    api: &Api,
    group: &str,
    version: Option<&str>,
    kind: &str,
    namespace: &str,
    name: &str,
) -> Option<Place> {
    let table = api.registry.table();
    let resource = table.of_kind(group, kind)?;
    let found =
        resource.versions.iter().find(|served| served.served && version.is_none_or(|name| served.name == name))?;
    let root = if group.is_empty() { "/api".to_owned() } else { format!("/apis/{group}") };
    let within = if resource.namespaced { format!("/namespaces/{namespace}") } else { String::new() };
    let shown = if group.is_empty() { resource.plural.clone() } else { format!("{}.{group}", resource.plural) };
    Some(Place {
        resource: shown,
        exists: found.subresources.scale.is_some(),
        path: format!("{root}/{}{within}/{}/{name}/scale", found.name, resource.plural),
    })
}

/// Group and version of an `apiVersion`.
pub(super) fn split(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// The scale at a place.
pub(super) async fn get(api: &Api, controller: &str, place: &Place) -> Result<Value, Failure> {
    ask(api, controller, place, Method::GET, Bytes::new()).await
}

/// Puts a scale in the place of the one that it was made from.
pub(super) async fn put(api: &Api, controller: &str, place: &Place, scale: &Value) -> Result<Value, Failure> {
    ask(api, controller, place, Method::PUT, Bytes::from(scale.to_string())).await
}

async fn ask(api: &Api, controller: &str, place: &Place, method: Method, body: Bytes) -> Result<Value, Failure> {
    let request = Request::builder()
        .method(method)
        .uri(&place.path)
        .header(USER_AGENT, super::objects::MANAGER)
        .header(CONTENT_TYPE, "application/json")
        .body(body);
    let failed = |code: u16, message: String| Failure { code, message };
    let request = request.map_err(|error| failed(500, error.to_string()))?;
    let user = User::service_account("kube-system", controller);
    let answer = api.handle(&user, request).await;
    let code = answer.status().as_u16();
    let bytes = body::collect(answer.into_body()).await.map_err(|status| failed(status.code, status.message))?;
    let value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    if code < 300 {
        return Ok(value);
    }
    Err(failed(
        code,
        value["message"].as_str().unwrap_or("the server could not find the requested resource").to_owned(),
    ))
}
