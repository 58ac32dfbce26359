//! Bodies: objects read from requests, and the answers' bytes.

use std::convert::Infallible;

use bytes::Bytes;
use futures::Stream;
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use serde_json::Value;

use super::media::Content;
use crate::json::{self, words};
use crate::protobuf;
use crate::status::Status;
use crate::yaml;

/// The largest body that is read.
pub const LIMIT: usize = 3 * 1024 * 1024;

/// So much beyond that is read and thrown away.
const PASSED_OVER: usize = 4 * LIMIT;

/// The body of an answer.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// A body that is there as a whole.
pub fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).boxed_unsync()
}

/// A body that comes piece by piece.
pub fn stream(pieces: impl Stream<Item = Bytes> + Send + 'static) -> Body {
    use futures::StreamExt;
    StreamBody::new(pieces.map(|piece| Ok(Frame::data(piece)))).boxed_unsync()
}

/// Reads the body of a request, up to [`LIMIT`].
pub async fn collect<B>(body: B) -> Result<Bytes, Status>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut body = std::pin::pin!(body);
    match http_body_util::Limited::new(body.as_mut(), LIMIT).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => {
            // Whoever is still sending would not hear the answer, so what comes is read, within bounds, and thrown away.
            let mut rest = http_body_util::Limited::new(body, PASSED_OVER);
            while let Some(Ok(_)) = rest.frame().await {}
            Err(Status::too_large(format!("Request entity too large: limit is {LIMIT}")))
        }
        Err(error) => Err(Status::bad_request(error.to_string())),
    }
}

/// An object that a request brings, with the paths of fields that stand there twice. `kind` is what is expected.
pub fn decode(bytes: &[u8], content: Content, api_version: &str, kind: &str) -> Result<(Value, Vec<String>), Status> {
    match content {
        Content::Json => json(bytes, kind),
        Content::Yaml => {
            let value = yaml::read(bytes, false).map_err(Status::bad_request)?;
            Ok((value, Vec::new()))
        }
        Content::Protobuf => protobuf::decode(bytes, api_version, kind).map(|value| (value, Vec::new())),
    }
}

fn json(bytes: &[u8], kind: &str) -> Result<(Value, Vec<String>), Status> {
    let why = match json::read(bytes) {
        Ok((value @ Value::Object(_), twice)) => return Ok((value, twice)),
        Ok((Value::Null, _)) => return Ok((Value::Object(serde_json::Map::new()), Vec::new())),
        Ok((value, _)) => format!(
            "json: cannot unmarshal {} into Go value of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; \
             Kind string \"json:\\\"kind,omitempty\\\"\" }}",
            words::type_of(&value)
        ),
        Err(error) => words::fault(bytes).unwrap_or_else(|| error.to_string()),
    };
    let why = format!("couldn't get version/kind; json parse error: {why}");
    Err(unrecognized(bytes, kind, &why))
}

/// What is said of a body that cannot be an object of a kind.
pub(crate) fn unrecognized(bytes: &[u8], kind: &str, why: &str) -> Status {
    let shown = protobuf::summary(bytes);
    Status::bad_request(format!("the object provided is unrecognized (must be of type {kind}): {why} ({shown})"))
}
