//! What the API says about itself: discovery, OpenAPI, version, health. Computed from the resources, and kept until those change.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use http::header::{ACCEPT, CACHE_CONTROL, ETAG, HeaderValue, IF_NONE_MATCH, LOCATION, VARY};
use http::{Method, Response};
use serde_json::Value;

use crate::api::Api;
use crate::builtin;
use crate::discovery;
use crate::http::answer;
use crate::http::body::Body;
use crate::http::path::Route;
use crate::openapi;
use crate::status::Status;

/// Documents that were computed, for the table of resources of this generation.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    kept: Mutex<(u64, HashMap<String, Bytes>)>,
}

impl Documents {
    /// Answers a request that is not for objects.
    pub(crate) fn answer(
        &self,
        api: &Api,
        route: &Route,
        head: &http::request::Parts,
    ) -> Result<Response<Body>, Status> {
        let path = head.uri.path();
        if head.method != Method::GET && !matches!(route, Route::Groups | Route::Group(_)) {
            return Err(Status::method_not_allowed());
        }
        let header =
            |name| head.headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).unwrap_or_default();
        let table = api.registry.table();
        let resources = &table.resources;
        let kept = |key: &str, make: &dyn Fn() -> Option<Value>| self.kept(table.generation, key, make);
        let plain = |text: Bytes| answer::text(200, text, answer::JSON, &[]);
        match route {
            Route::Health => healthy(api, path, head.uri.query().unwrap_or_default()),
            Route::CoreVersions | Route::Groups => match discovery::accepts_aggregated(header(ACCEPT)) {
                Some(form) => {
                    let core = *route == Route::CoreVersions;
                    let text = kept(&format!("{core} aggregated"), &|| Some(discovery::aggregated(resources, core)));
                    let text = text.unwrap_or_default();
                    let etag = discovery::etag(&text);
                    let same = discovery::unchanged(header(IF_NONE_MATCH), &etag);
                    Ok(tagged(text, form, &etag, same))
                }
                None if *route == Route::CoreVersions => Ok(plain(discovery::versions("127.0.0.1").to_string().into())),
                None => Ok(plain(kept(path, &|| Some(discovery::groups(resources))).unwrap_or_default())),
            },
            Route::Group(group) => {
                Ok(kept(path, &|| discovery::group(resources, group)).map_or_else(answer::nowhere, plain))
            }
            Route::Resources(group, version) => {
                let found = kept(path, &|| discovery::resources(resources, group, version));
                let built_in = || resources.iter().any(|resource| resource.group == *group && !resource.is_custom());
                match found {
                    Some(text) => Ok(plain(text)),
                    None if built_in() => Err(Status::no_such_path()),
                    None => Ok(answer::nowhere()),
                }
            }
            Route::OpenApiIndex => {
                let text = kept(path, &|| Some(openapi::index(resources))).unwrap_or_default();
                Ok(answer::text(200, text, "text/plain; charset=utf-8", &[]))
            }
            Route::OpenApi(group, version) => {
                let query = head.uri.query().unwrap_or_default();
                let make = || openapi::document(resources, builtin::components(), group, version);
                let asked =
                    form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == "hash").map(|(_, hash)| hash);
                let Some(hash) = openapi::hash(resources, group, version) else {
                    let mut response = answer::text(404, Bytes::new(), answer::JSON, &[]);
                    response.headers_mut().remove(http::header::CONTENT_TYPE);
                    return Ok(response);
                };
                if let Some(place) = asked.as_deref().and_then(|asked| openapi::moved(resources, group, version, asked))
                {
                    return Ok(moved(&place));
                }
                let same = header(IF_NONE_MATCH).contains(&hash);
                let mut response =
                    tagged(kept(path, &make).unwrap_or_default(), answer::JSON, &format!("\"{hash}\""), same);
                if asked.is_some() {
                    // The address has the hash of the content in it: it never changes.
                    response
                        .headers_mut()
                        .insert(CACHE_CONTROL, HeaderValue::from_static("public, immutable, max-age=31536000"));
                }
                Ok(response)
            }
            Route::Version => Ok(plain(discovery::version().to_string().into())),
            Route::Resource(_) | Route::Nowhere(_) => Err(Status::no_such_path()),
        }
    }

    /// A document that was computed before, or is now.
    fn kept(&self, generation: u64, key: &str, make: &dyn Fn() -> Option<Value>) -> Option<Bytes> {
        let lock = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = lock();
        if kept.0 == generation
            && let Some(text) = kept.1.get(key)
        {
            return Some(text.clone());
        }
        drop(kept);
        let text = Bytes::from(make()?.to_string());
        let mut kept = lock();
        if kept.0 < generation {
            *kept = (generation, HashMap::new());
        }
        if kept.0 == generation {
            kept.1.insert(key.to_owned(), text.clone());
        }
        Some(text)
    }
}

fn healthy(api: &Api, path: &str, query: &str) -> Result<Response<Body>, Status> {
    const TEXT: &str = "text/plain; charset=utf-8";
    if path.starts_with("/readyz") && !api.is_ready() {
        return Ok(answer::text(503, "starting", TEXT, &[]));
    }
    let text = discovery::healthy(path, query.contains("verbose")).ok_or_else(Status::no_such_path)?;
    Ok(answer::text(200, text, TEXT, &[]))
}

fn moved(place: &str) -> Response<Body> {
    let mut response = answer::text(301, Bytes::new(), "text/plain; charset=utf-8", &[]);
    if let Ok(place) = HeaderValue::from_str(place) {
        response.headers_mut().insert(LOCATION, place);
    }
    response
}

fn tagged(text: Bytes, content_type: &str, etag: &str, same: bool) -> Response<Body> {
    let (code, text) = if same { (304, Bytes::new()) } else { (200, text) };
    let mut response = answer::text(code, text, content_type, &[]);
    if let Ok(etag) = HeaderValue::from_str(etag) {
        response.headers_mut().insert(ETAG, etag);
    }
    response.headers_mut().insert(VARY, HeaderValue::from_static("Accept"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public"));
    response
}
