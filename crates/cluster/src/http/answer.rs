//! Answers: objects, refusals and streams, with their headers.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue, WARNING};
use http::{Response, StatusCode};
use serde_json::Value;

use super::body::{self, Body};
use super::media::Encoding;
use crate::status::Status;

/// The type of JSON answers.
pub const JSON: &str = "application/json";

/// An answer that is JSON text already.
pub fn text(code: u16, text: impl Into<Bytes>, content_type: &str, warnings: &[String]) -> Response<Body> {
    finish(code, body::full(text), content_type, warnings)
}

/// An answer with a value.
pub fn value(code: u16, value: &Value, encoding: Encoding, warnings: &[String]) -> Response<Body> {
    match encoding {
        Encoding::Json => text(code, value.to_string(), JSON, warnings),
        Encoding::Yaml => {
            let yaml = serde_saphyr::to_string(value).unwrap_or_default();
            text(code, yaml, "application/yaml", warnings)
        }
    }
}

/// A refusal.
pub fn refusal(status: &Status, warnings: &[String]) -> Response<Body> {
    let mut response = text(status.code, status.to_json().to_string(), JSON, warnings);
    let wait = status.details.as_ref().and_then(|details| details["retryAfterSeconds"].as_i64());
    if let Some(Ok(seconds)) = wait.map(|seconds| HeaderValue::from_str(&seconds.to_string())) {
        response.headers_mut().insert(http::header::RETRY_AFTER, seconds);
    }
    response
}

/// What a real server says where not even a group is.
pub fn nowhere() -> Response<Body> {
    text(404, "404 page not found\n", "text/plain; charset=utf-8", &[])
}

/// An answer with any body.
pub fn finish(code: u16, body: Body, content_type: &str, warnings: &[String]) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    if let Ok(content_type) = HeaderValue::from_str(content_type) {
        headers.insert(CONTENT_TYPE, content_type);
    }
    headers.insert(HeaderName::from_static("cache-control"), HeaderValue::from_static("no-cache, private"));
    for warning in warnings {
        let quoted = warning.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(header) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
            headers.append(WARNING, header);
        }
    }
    response
}
