//! Objects of any kind, as JSON: created on an API server as strictly as it can be, with every warning it gives.

use crate::{Error, Result};
use http::Request;
use kube::Client;
use kube::api::{ApiResource, GroupVersionKind};
use kube::client::Body;
use kube::discovery::{Scope, pinned_kind};
use serde_json::Value;

/// What the server answered to a request that it accepted.
#[derive(Debug)]
pub struct Answer {
    /// The object as the server has it now.
    pub object: Value,
    /// Contents of the `Warning` headers.
    pub warnings: Vec<String>,
}

/// Where objects of a kind live.
#[derive(Debug)]
pub struct Collection {
    resource: ApiResource,
    scope: Scope,
}

impl Collection {
    /// Asks the server for the kind of an object.
    pub async fn of(client: &Client, object: &Value) -> Result<Self> {
        let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
        let api_version = text("apiVersion");
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        let kind = GroupVersionKind::gvk(group, version, &text("kind"));
        let (resource, capabilities) = pinned_kind(client, &kind)
            .await
            .map_err(|error| Error::Refused(format!("the server does not know {}: {error}", kind.kind)))?;
        Ok(Self { resource, scope: capabilities.scope })
    }

    fn url(&self, object: &Value) -> String {
        let resource = &self.resource;
        let root = if resource.group.is_empty() { "/api" } else { "/apis" };
        match (&self.scope, object["metadata"]["namespace"].as_str()) {
            (Scope::Namespaced, namespace) => format!(
                "{root}/{}/namespaces/{}/{}",
                resource.api_version,
                namespace.unwrap_or("default"),
                resource.plural
            ),
            (Scope::Cluster, _) => format!("{root}/{}/{}", resource.api_version, resource.plural),
        }
    }
}

/// Creates an object. Unknown and duplicate fields are refused by the server, not dropped.
pub async fn create(client: &Client, object: &Value) -> Result<Answer> {
    let url = Collection::of(client, object).await?.url(object) + "?fieldValidation=Strict";
    let request = Request::post(url).header(http::header::CONTENT_TYPE, "application/json");
    let body = serde_json::to_vec(object).map_err(|error| Error::Refused(error.to_string()))?;
    send(client, request.body(Body::from(body)), object).await
}

/// Reads an object back.
pub async fn read(client: &Client, object: &Value) -> Result<Answer> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let url = format!("{}/{name}", Collection::of(client, object).await?.url(object));
    send(client, Request::get(url).body(Body::empty()), object).await
}

async fn send(client: &Client, request: http::Result<Request<Body>>, object: &Value) -> Result<Answer> {
    let what = format!("{} {}", object["kind"], object["metadata"]["name"]);
    let cannot = |error: String| Error::Refused(format!("{what}: {error}"));
    let request = request.map_err(|error| cannot(error.to_string()))?;
    let response = client.send(request).await.map_err(|error| cannot(error.to_string()))?;
    let warnings = response.headers().get_all(http::header::WARNING).iter();
    let warnings = warnings.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect();
    let status = response.status();
    let body = response.into_body().collect_bytes().await.map_err(|error| cannot(error.to_string()))?;
    let object: Value = serde_json::from_slice(&body).map_err(|error| cannot(error.to_string()))?;
    if status.is_success() { Ok(Answer { object, warnings }) } else { Err(cannot(object["message"].to_string())) }
}
