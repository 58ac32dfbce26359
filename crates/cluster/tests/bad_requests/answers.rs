//! What every answer has to be.

use std::time::Duration;

use bytes::Bytes;
use http::Response;
use http_body_util::BodyExt as _;
use serde_json::Value;
use trellis_cluster::http::body::Body;

/// No watch is followed for longer than this; time does not really pass.
const PATIENCE: Duration = Duration::from_hours(1);

/// Answers of 500 and above that a real server gives as well, by a part of their message.
const EXPECTED: [&str; 18] = [
    "resourceVersion should not be set on objects to be created",
    // Applied configurations that do not fit the type.
    "failed to create typed patch object",
    // Configurations applied to the scale of custom objects.
    "failed to create manager for existing fields",
    // Strategic merge patches with directives that make no sense.
    "unknown patch type",
    "list element types are not identical",
    "does not contain declared merge key",
    "merging lists cannot yet be specified in the patch",
    "unable to find api field in struct",
    "expected a []interface {}, but received a",
    "expected a map[string]interface {}, but received a",
    "expected slice or array type, but got",
    "is not a map",
    // Bindings to something else than a node.
    "target.kind: Unsupported value",
    "target.name: Required value",
    // Webhook configurations name a service that nobody runs.
    "failed calling webhook",
    // Lists of a version that is yet to come.
    "Too large resource version",
    // Watches from a version that is none.
    "resourceVersion: Invalid value",
    // Not as a real server: what needs containers that run.
    "is not available: the nodes of this cluster are simulated",
];

/// Reads an answer to its end, or a watch as long as patience lasts.
pub async fn whole(answer: Response<Body>, watched: bool) -> Response<Bytes> {
    let (head, mut body) = answer.into_parts();
    if !watched {
        let collected = body.collect().await.map(http_body_util::Collected::to_bytes);
        return Response::from_parts(head, collected.unwrap_or_default());
    }
    let mut bytes = Vec::new();
    let reading = async {
        while let Some(Ok(frame)) = body.frame().await {
            bytes.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
        }
    };
    // A watch that goes on longer is as good as any.
    let _ = tokio::time::timeout(PATIENCE, reading).await;
    Response::from_parts(head, bytes.into())
}

/// The status, if the answer is in order.
pub fn judge(answer: &Response<Bytes>, method: &str) -> Result<u16, String> {
    let code = answer.status().as_u16();
    let content = answer.headers().get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let text = std::str::from_utf8(answer.body()).map_err(|error| format!("{code}: {error}"))?;
    let start: String = text.chars().take(300).collect();
    match content.split(';').next().unwrap_or_default() {
        "application/json" => judge_json(code, text)?,
        "application/yaml" => {
            drop(serde_saphyr::from_str::<Value>(text).map_err(|error| format!("{code}: {error}: {start}"))?);
        }
        "text/plain" if plain(code, text) => {}
        // What documents that are not there have.
        "" if code == 404 && text.is_empty() => {}
        other => return Err(format!("{code} {other:?}: {start}")),
    }
    if code >= 500 && !EXPECTED.iter().any(|part| text.contains(part)) {
        return Err(format!("{code} to {method}: {}", message(text)));
    }
    Ok(code)
}

fn judge_json(code: u16, text: &str) -> Result<(), String> {
    let mut values = Vec::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        values
            .push(value.map_err(|error| format!("{code}: {error} in {}", text.chars().take(300).collect::<String>()))?);
    }
    let [status] = &values[..] else {
        // The events of a watch, or nothing, which 304 says.
        let events = values.iter().all(|value| value["type"].is_string() && value["object"].is_object());
        return if events && code == 200 || code == 304 {
            Ok(())
        } else {
            Err(format!("{code}: {} values", values.len()))
        };
    };
    if code < 400 {
        return if status.is_object() { Ok(()) } else { Err(format!("{code}: no object: {status}")) };
    }
    let whole = status["kind"] == "Status" && status["status"] == "Failure" && status["code"] == code;
    let said = status["message"].as_str().is_some_and(|message| !message.is_empty());
    if whole && said { Ok(()) } else { Err(format!("{code}: not a whole status: {status}")) }
}

/// Texts that are not JSON: what health checks and unknown paths get.
fn plain(code: u16, text: &str) -> bool {
    match code {
        404 => text == "404 page not found\n" || text.is_empty(),
        301 => text.is_empty(),
        400 => text == "400 Bad Request",
        200 => text == "ok" || text.ends_with("check passed\n") || serde_json::from_str::<Value>(text).is_ok(),
        _ => false,
    }
}

/// The message of a status without what differs from request to request.
fn message(text: &str) -> String {
    let status: Value = serde_json::from_str(text).unwrap_or_default();
    let message = status["message"].as_str().unwrap_or(text);
    message
        .split(['(', '[', ':', '"'])
        .next()
        .unwrap_or_default()
        .chars()
        .filter(|c| !c.is_ascii_digit())
        .take(160)
        .collect()
}
